"""Whose work the threads of a library do: programs that burn known CPU time in known threads for known lines.
CPU time is each thread's own, so that a busy machine changes nothing."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from pythons import every_python

MIB = 1 << 20
IDLE = "(threads without work)"


@pytest.fixture
def lines(run, tmp_path):
    """lines(text, python, *words, how=()) -> rows by line of the program, or by what stands for none"""

    def call(text, python, *words, how=()):
        program, trace = tmp_path / "prog.py", tmp_path / "t.tide"
        program.write_text(textwrap.dedent(text))
        env = {**os.environ, "PYTHONPATH": str(tmp_path / "lib" / "python3.11" / "site-packages")}
        done = run("record", "-q", *how, "-o", trace, python, program, *words, timeout=180, env=env)
        assert done.returncode == 0, done.stderr
        done = run("report", trace, "lines", "-f", "json", timeout=180)
        rows = json.loads(done.stdout)["tables"]["lines"]["rows"]
        return {r["line"] or r["file"]: r for r in rows if r["line"] is None or r["file"] == str(program)}

    return call


@pytest.fixture
def library(build):
    return build / "tests" / "targets" / "record" / "pool.so"


def near(row, seconds):
    return abs(row["cpu"] / 1e9 - seconds) < 0.1 + 0.2 * seconds  # the caller alone is half of it at most


def check_workers(lines, library, python, workers):
    rows = lines("""\
        import ctypes, sys, time
        pool = ctypes.CDLL(sys.argv[1])
        workers = int(sys.argv[2])
        pool.pool_start(workers)
        time.sleep(0.3)
        pool.pool_a(1200 // (workers + 1))
        pool.pool_b(600 // (workers + 1))
        """, python, library, str(workers))
    assert near(rows[6], 1.2) and near(rows[7], 0.6)
    assert rows.get(4, {"cpu": 0})["cpu"] < 50e6  # it made the pool, and that is all
    assert rows.get(4, {"waiting": 0})["waiting"] < 50e6
    assert rows[IDLE]["waiting"] > 0


@every_python
def test_workers_belong_to_the_line_that_runs_the_parallel_work(lines, library, python):
    check_workers(lines, library, python, 3)


@pytest.mark.parametrize("workers", [1, 8])
def test_however_many_they_are(lines, library, workers):
    check_workers(lines, library, sys.executable, workers)


def test_two_lines_that_run_parallel_work_at_once(lines, library, build):
    """Each has a library of its own, as two extensions with a libgomp each have."""
    rows = lines("""\
        import ctypes, shutil, sys, threading
        shutil.copy(sys.argv[1], sys.argv[2])
        one, two = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
        one.pool_start(2)
        two.pool_start(2)
        def first():
            one.pool_a(300)
        def second():
            two.pool_b(150)
        threads = [threading.Thread(target=first), threading.Thread(target=second)]
        for t in threads: t.start()
        for t in threads: t.join()
        """, sys.executable, library, build / "tests" / "pool_too.so")
    assert near(rows[7], 0.9) and near(rows[9], 0.45)
    assert rows.get(12, {"cpu": 0})["cpu"] < 50e6


PACKAGE = """\
    import time
    from concurrent.futures import ThreadPoolExecutor

    shared = ThreadPoolExecutor(2)

    def burn(seconds, mib):
        kept = [bytearray(1 << 20) for _ in range(mib)]
        begun = time.thread_time()
        while time.thread_time() - begun < seconds:
            pass
        return kept

    def both(pool, seconds, mib):
        return [f.result() for f in [pool.submit(burn, seconds / 2, mib // 2) for _ in range(2)]]

    def alone(seconds, mib):
        with ThreadPoolExecutor(2) as pool:
            return both(pool, seconds, mib)

    def again(seconds, mib):
        return both(shared, seconds, mib)

    def send(seconds, mib):
        return ThreadPoolExecutor(1).submit(burn, seconds, mib)
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "tasks.py").write_text(textwrap.dedent(PACKAGE))


@every_python
def test_threads_of_a_package_work_for_the_line_that_gave_them_work(lines, package, python):
    rows = lines("""\
        import tasks, time
        a = tasks.alone(0.4, 40)
        b = tasks.burn(0.3, 20)
        c = tasks.again(0.4, 0)
        d = tasks.again(0.8, 0)
        f = tasks.send(0.4, 16)
        time.sleep(0.05)
        f.result()
        """, python)
    assert [near(rows[n], s) for n, s in ((2, 0.4), (3, 0.3), (4, 0.4), (5, 0.8))] == [True] * 4
    sent = sum(rows.get(n, {"cpu": 0})["cpu"] for n in (6, 7, 8))  # who sent it, and who waits for it
    assert near({"cpu": sent}, 0.4)
    for line, mib in ((2, 40), (3, 20), (6, 16)):
        assert abs(rows[line]["at_peak"] - mib * MIB) < 3 * MIB
    assert rows.get("(installed packages)", {"at_peak": 0})["at_peak"] < 3 * MIB


@pytest.mark.parametrize("how", ["spawn", "forkserver", "fork"])
def test_child_processes_work_for_the_line_that_started_them_or_waits(lines, package, how):
    rows = lines("""\
        import multiprocessing, sys
        import tasks
        if __name__ == "__main__":
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                kept = pool.starmap(tasks.burn, [(0.3, 0)] * 4)
        """, sys.executable, how)
    assert near({"cpu": rows.get(4, {"cpu": 0})["cpu"] + rows.get(5, {"cpu": 0})["cpu"]}, 1.2 + 0.1)
    if how != "fork":  # whose children go on in the line that has forked them
        assert rows[5]["cpu"] > 4 * rows.get(4, {"cpu": 0})["cpu"]
    assert "(code without a file)" not in rows or rows["(code without a file)"]["cpu"] < 50e6
    assert rows[IDLE]["waiting"] > 0


def test_exact_memory_of_a_package_s_threads_is_that_of_the_line_that_gave_them_work(lines, package):
    rows = lines("""\
        import tasks, time
        a = tasks.alone(0.2, 40)
        b = tasks.again(0.3, 32)
        c = tasks.again(0.3, 24)
        f = tasks.send(0.2, 16)
        time.sleep(0.05)
        f.result()
        del b
        d = tasks.again(0.3, 8)
        """, sys.executable, how=("--exact",))
    # What a pool gets right after other work is told apart from that to a tick of the recorder alone.
    for lines_, mib in (((2,), 40), ((3, 4), 56), ((5,), 16)):
        assert mib * MIB <= sum(rows[n]["allocated"] for n in lines_) < (mib + 6) * MIB
        assert abs(sum(rows[n]["at_peak"] for n in lines_) - mib * MIB) < 3 * MIB
    assert rows[9]["at_peak"] < MIB
    assert rows.get("(installed packages)", {"allocated": 0})["allocated"] < 3 * MIB


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_exact_memory_of_child_processes_is_that_of_the_line_that_waits_for_them(lines, package, how):
    rows = lines("""\
        import multiprocessing, sys
        import tasks
        if __name__ == "__main__":
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                kept = pool.starmap(tasks.burn, [(0.3, 16)] * 4)
        """, sys.executable, how, how=("--exact",))
    assert rows[5]["allocated"] > 64 * MIB
    assert rows.get("(installed packages)", {"allocated": 0})["allocated"] < 8 * MIB


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
def test_what_child_processes_map_is_that_of_the_line_that_started_them_or_waits(lines, package, tmp_path, how):
    """Also what they map while they import, as OpenBLAS does in the workers of joblib."""
    (tmp_path / "lib" / "python3.11" / "site-packages" / "maps.py").write_text(textwrap.dedent("""\
        import mmap, time
        held = mmap.mmap(-1, 32 << 20)
        for at in range(0, len(held), 4096):
            held[at] = 1
        def rest(seconds):
            time.sleep(seconds)
        """))
    rows = lines("""\
        import multiprocessing, tasks
        def resting():
            import maps
            return maps.rest
        if __name__ == "__main__":
            rest = resting()
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.map(rest, [0.5])
        """, sys.executable, how=how)
    theirs = sum(rows.get(n, {}).get("mapped_at_peak") or 0 for n in (7, 8))
    assert theirs == 32 * MIB
    assert rows.get("(installed packages)", {"at_peak": 0})["at_peak"] < 3 * MIB
    assert rows.get("(the standard library)", {"at_peak": 0})["at_peak"] < 3 * MIB


@every_python
def test_what_an_interpreter_runs_as_it_starts_is_no_line_of_a_program_given_as_text(run, tmp_path, python):
    """Lines of .pth files are in "<string>", as the text of -c is."""
    asked = "import site; print(site.getusersitepackages())"
    env = {**os.environ, "PYTHONUSERBASE": str(tmp_path / "user")}
    site = subprocess.run([python, "-c", asked], env=env, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    os.makedirs(site)
    with open(os.path.join(site, "starts.pth"), "w") as file:
        file.write("import sys; sys.starts = bytearray(9 << 20)\n")
    (tmp_path / "prog.py").write_text(textwrap.dedent("""\
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "import time\\nheld = bytearray(30 << 20)\\ntime.sleep(0.3)"])
        """))
    done = run("record", "-q", "--exact", "-o", tmp_path / "t.tide", python, tmp_path / "prog.py", timeout=180, env=env)
    assert done.returncode == 0, done.stderr
    done = run("report", tmp_path / "t.tide", "lines", "-f", "json")
    rows = json.loads(done.stdout)["tables"]["lines"]["rows"]
    text = {r["line"]: r for r in rows if r["file"] == "<string>"}
    assert 30 * MIB <= text[2]["allocated"] < 31 * MIB
    assert text.get(1, {"allocated": 0})["allocated"] < 5 * MIB


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
def test_each_program_given_as_text_has_lines_of_its_own_and_what_starts_processes_has_none(run, tmp_path, package, how):
    """All of them call their file "<string>"."""
    (tmp_path / "prog.py").write_text(textwrap.dedent("""\
        import multiprocessing, subprocess, sys, tasks
        if __name__ == "__main__":
            for mib in (40, 24, 40):
                subprocess.run([sys.executable, "-c", f"import time\\nheld = bytearray({mib} << 20)\\ntime.sleep(0.2)"])
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                kept = pool.starmap(tasks.burn, [(0.3, 16)] * 2)
        """))
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "lib" / "python3.11" / "site-packages")}
    done = run("record", "-q", *how, "-o", tmp_path / "t.tide", sys.executable, tmp_path / "prog.py", timeout=180, env=env)
    assert done.returncode == 0, done.stderr
    done = run("report", tmp_path / "t.tide", "lines", "-f", "json")
    rows = json.loads(done.stdout)["tables"]["lines"]["rows"]
    held = {(r["file"], r["line"]): r["allocated"] / MIB for r in rows if r["allocated"] > 8 * MIB}
    assert 79 < held["<string>", 2] < 82  # the same text twice
    assert 23 < held["<string 2>", 2] < 26
    typed = {(r["file"], r["line"]) for r in rows if r["file"].startswith("<") and r["line"]}
    assert typed <= {(file, line) for file in ("<string>", "<string 2>") for line in (1, 2, 3)}
    theirs = sum(r["cpu"] for r in rows if (r["file"], r["line"]) in {("<string>", 1), ("<string 2>", 1)})
    started = sum(r["cpu"] for r in rows if r["file"] == str(tmp_path / "prog.py") and r["line"] in (5, 6))
    assert started > 0.4e9
    assert theirs < started / 2


@every_python
def test_processes_belong_to_the_line_that_started_them_whoever_else_waits_meanwhile(lines, package, tmp_path, python):
    """Several at once, by every way to start one, through shells too, while other lines wait for others."""
    with open(tmp_path / "lib" / "python3.11" / "site-packages" / "tasks.py", "a") as file:
        file.write('if __name__ == "__main__":\n    import sys\n    burn(float(sys.argv[1]), 0)\n')
    rows = lines("""\
        import multiprocessing, os, subprocess, sys, tasks
        run = [sys.executable, "-m", "tasks"]
        if __name__ == "__main__":
            one = subprocess.Popen(run + ["0.5"])
            subprocess.run(run + ["0.2"])
            two = subprocess.Popen(run + ["0.3"])
            three = os.posix_spawn(sys.executable, run + ["0.4"], os.environ)
            subprocess.run(["sh", "-c", " ".join(run) + " 0.25; exit 0"])
            subprocess.run(run + ["0.2"], preexec_fn=os.getpid)
            four = multiprocessing.get_context("spawn").Process(target=tasks.burn, args=(0.35, 0))
            four.start()
            subprocess.run(run + ["0.3"])
            four.join(), one.wait(), two.wait(), os.waitpid(three, 0)
        """, python)
    known = {4: 0.5, 5: 0.2, 6: 0.3, 7: 0.4, 8: 0.25, 9: 0.2, 11: 0.35, 12: 0.3}
    took = {n: rows.get(n, {"cpu": 0})["cpu"] / 1e9 for n in known}  # with what it takes to begin
    assert {n: s for n, s in took.items() if not known[n] - 0.1 < s < known[n] + 0.3} == {}
    assert rows.get(13, {"cpu": 0})["cpu"] < 0.1e9


def test_a_program_that_a_line_goes_on_as_is_that_line_s(lines, package, tmp_path):
    with open(tmp_path / "lib" / "python3.11" / "site-packages" / "tasks.py", "a") as file:
        file.write('if __name__ == "__main__":\n    burn(0.3, 0)\n')
    rows = lines("""\
        import os, sys, time
        time.sleep(0.05)
        os.execv(sys.executable, [sys.executable, "-m", "tasks"])
        """, sys.executable)
    assert near(rows[3], 0.35)
