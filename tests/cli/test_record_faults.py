"""`tidemark record` where the program, its recorder or its surroundings fail: the program goes on."""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

import pytest

from running import need_mounts, need_root, start

FIXTURES = (start,)

CHILDREN, BLOCKS = 5, 200
ALLOCATORS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]


@pytest.fixture
def program(build):
    """program(name) -> the path of a program of tests/targets/record"""
    return lambda name: str(build / "tests" / "targets" / "record" / name)


@pytest.fixture
def recorded(run, build, tmp_path):
    """recorded(*command, how=...) -> its run under `record`, and the totals of the trace"""

    def call(*command, how=("--exact",), **kw):
        done = run("record", "-q", "--no-names", *how, "-f", "-o", tmp_path / "t.tide", *command, **kw)
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", tmp_path / "t.tide"],
                              check=True, capture_output=True, text=True, timeout=60)
        return done, json.loads(said.stdout)

    return call


@pytest.fixture
def reason(run, tmp_path):
    """reason(name) -> why the report says that the process of this name was not recorded"""

    def call(name):
        told = json.loads(run("report", tmp_path / "t.tide", "processes", "-f", "json").stdout)
        rows = [r for r in told["tables"]["processes"]["rows"] if r["name"] == name[:15]]
        assert rows, told
        return rows[-1]["recorded"]

    return call


# Children that have no way to the ring


@pytest.mark.parametrize("how", ["no-files", "laden", "locked", pytest.param("chroot", marks=need_root),
                                 pytest.param("user=65534", marks=need_root)])
def test_a_child_is_recorded_that_could_not_open_the_ring(recorded, program, tmp_path, how):
    if how == "chroot":
        how = f"chroot={tmp_path}"
    done, said = recorded(program("cut_off"), how, str(CHILDREN), str(BLOCKS))
    if how == "locked" and done.returncode == 105:
        pytest.skip("memory cannot be locked here")
    assert (done.returncode, done.stdout) == (0, "0 failed\n")
    assert said["allocs"] >= BLOCKS * (1 + 2 * CHILDREN)
    assert (said["processes"], said["losses"]) == (1 + CHILDREN, 0)


@need_root
@pytest.mark.parametrize("how", [("--sample", "1KiB"), ()], ids=["sampled", "by default"])
def test_a_sampled_child_lives_on_as_another_user(recorded, program, how):
    done, said = recorded(program("cut_off"), "user=65534", str(CHILDREN), "20000", how=how)
    assert (done.returncode, done.stdout) == (0, "0 failed\n")
    assert said["processes"] == 1 + CHILDREN


def test_a_thread_without_a_ring_is_counted_once(recorded, program):
    done, said = recorded(program("cut_off"), "no-room", str(CHILDREN), "5000")
    assert (done.returncode, done.stdout) == (0, "0 failed\n")
    assert said["losses"] == CHILDREN


@need_root
def test_a_child_without_a_proc_is_known_by_its_pid(recorded, run, program, tmp_path):
    recorded(program("cut_off"), f"chroot={tmp_path}", str(CHILDREN), str(BLOCKS))
    told = json.loads(run("report", tmp_path / "t.tide", "processes", "-f", "json").stdout)
    rows = told["tables"]["processes"]["rows"]
    assert [row["pid"] for row in rows if not row["pid"]] == []
    assert {row["recorded"] for row in rows} == {"exact"}


# A recorder that is dead, or slow


@pytest.mark.parametrize("reaped", [True, False], ids=["reaped", "a zombie"])
@pytest.mark.parametrize("how", [["--exact"], [], ["--sample", "1KiB"]],
                         ids=["exact", "by default", "sampled"])
def test_children_and_threads_go_on_when_the_recorder_was_killed(
        start, program, tmp_path, how, reaped):
    p = start("record", "-q", *how, "-f", "-o", tmp_path / "t.tide", program("cut_off"), "wait", "20",
              "60000")
    p.out.find(rb"ready\n")
    p.kill()
    if reaped:
        p.wait()
    p.stdin.write(b"x")
    p.stdin.flush()
    assert p.out.find(rb"(\d+) failed\n")[1] == b"0"


def test_a_recorder_that_is_killed_leaves_all_but_the_last_second(start, run, tmp_path):
    """The trace has what was allocated before as soon as it has samples of the second after."""
    code = "kept = [bytearray(100000) for _ in range(100)]; import time; time.sleep(0.3); print('made', flush=True); time.sleep(60)"
    trace = tmp_path / "t.tide"
    p = start("record", "-q", "--exact", "--no-names", "-f", "-o", trace, "/usr/bin/python3", "-c", code)
    p.out.find(rb"made\n")

    def facts():
        done = run("report", trace, "summary", "-f", "json")
        return json.loads(done.stdout)["tables"]["facts"]["values"] if done.returncode == 0 else {}

    made = facts().get("duration") or 0
    while ((said := facts()).get("duration") or 0) <= made:  # until it is written for the first time after that
        time.sleep(0.05)
    p.kill()
    assert said["heap_allocated"] > 10_000_000
    leaks = json.loads(run("report", trace, "leaks", "-f", "json").stdout)["tables"]["facts"]["values"]
    assert leaks["moment"].startswith("the last that was recorded")  # nobody saw it end


def test_a_recorder_that_is_stopped_for_long_loses_nothing(
        start, build, program, tmp_path):
    p = start("record", "-q", "--no-names", "--exact", "-f", "-o", tmp_path / "t.tide", program("cut_off"),
              "wait", "2", "150000")
    p.out.find(rb"ready\n")
    os.kill(p.pid, signal.SIGSTOP)
    p.stdin.write(b"x")
    p.stdin.flush()
    time.sleep(2.5)  # longer than anybody waits for a recorder that is only slow
    os.kill(p.pid, signal.SIGCONT)
    p.out.find(rb"0 failed\n")
    assert p.wait(60) == 0
    said = json.loads(subprocess.run(
        [build / "tests" / "unit" / "heap_totals", tmp_path / "t.tide"], check=True,
        capture_output=True, text=True, timeout=60).stdout)
    assert said["allocs"] >= 150000 * 5
    assert said["frees"] >= 150000 * 5


# Programs that cannot have the library


@pytest.fixture
def jail(program, tmp_path):
    """A folder that a program can have as its root, with a shell and a program of ours"""
    folder = tmp_path / "jail"
    for name, at in [("/bin/sh", "bin/sh"), (program("whole_family"), "bin/whole_family")]:
        needs = re.findall(r"(/[^ ]+) \(", subprocess.run(
            ["ldd", name], capture_output=True, text=True, check=True).stdout)
        for path in [name, *needs]:
            to = folder / (at if path == name else path.lstrip("/"))
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
    (folder / "proc").mkdir()
    return folder


@need_root
@pytest.mark.parametrize("command", [
    ["/bin/whole_family", "2"], ["/bin/sh", "-c", "/bin/whole_family 2; :"],
    ["shell", "/bin/whole_family 2; :"]], ids=["a program", "a shell", "by system and popen"])
def test_programs_that_cannot_see_the_library_do_not_complain(recorded, program, jail, command):
    done, _ = recorded(program("cut_off"), f"chroot={jail}", "1", "10", *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 failed\n", "")


@need_root
@pytest.mark.parametrize("command", [
    ["/bin/whole_family", "2"], ["/bin/whole_family", "300000"], ["/bin/sh", "-c", "exit 0"],
    ["shell", "exit 0"]], ids=["a short program", "a longer one", "a shell", "by system and popen"])
def test_why_a_program_with_another_root_is_not_recorded(recorded, run, tmp_path, program, jail, command):
    """However short it is: what starts it knows that it will not see the library."""
    recorded(program("cut_off"), f"chroot={jail}", "1", "10", *command)
    said = json.loads(run("report", tmp_path / "t.tide", "-f", "json").stdout)["coverage"]["missing"]
    assert len(said) == 1 and "a different root directory" in said[0]["reason"]
    assert said[0]["processes"] >= 1 + (command[0] == "shell")  # what forks it may be seen before it is that


@need_root
@need_mounts
def test_a_program_with_another_root_is_recorded_where_it_has_a_proc(
        recorded, reason, program, jail):
    made = f"mount -t proc none {jail}/proc && exec \"$@\""
    done, _ = recorded("unshare", "-m", "sh", "-c", made, "sh", program("cut_off"),
                       f"chroot={jail}", "1", "10", "/bin/sh", "-c", "/bin/whole_family 20; :")
    if done.returncode and "mount" in done.stderr:
        pytest.skip("no proc can be mounted here")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 failed\n", "")
    assert reason("whole_family") == "exact"


def version_hash(name):
    """As the loader has it for the names of versions."""
    h = 0
    for byte in name.encode():
        h = (h << 4) + byte
        high = h & 0xf0000000
        h = (h ^ high >> 24) & ~high
    return struct.pack("<I", h)


@pytest.fixture
def old_program(build, tmp_path):
    """A program whose loader and libc lack the version that the library needs"""
    if not shutil.which("cc"):
        pytest.skip("no compiler is installed")
    said = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    loader = pathlib.Path(re.search(r"(/\S*/ld-linux\S+)", said)[1])
    for path in [loader, pathlib.Path(re.search(r"=> (\S+/libc\.so\.6)", said)[1])]:
        data = path.read_bytes()
        data = data.replace(b"GLIBC_2.17\0", b"GLIBC_2.99\0")
        data = data.replace(version_hash("GLIBC_2.17"), version_hash("GLIBC_2.99"))
        (tmp_path / path.name).write_bytes(data)
        (tmp_path / path.name).chmod(0o755)
    source = tmp_path / "old.c"
    source.write_text("#include <stdio.h>\n#include <stdlib.h>\n"
                      "#include <unistd.h>\n"
                      "int main(void) { usleep(300000); return puts(calloc(1, 9) ? \"old\" : \"\") < 0; }\n")
    subprocess.run(["cc", "-o", tmp_path / "old_one", source,
                    f"-Wl,--dynamic-linker={tmp_path / loader.name}", f"-Wl,-rpath,{tmp_path}"],
                   check=True)
    plain = subprocess.run([tmp_path / "old_one"], capture_output=True, text=True, check=False)
    if plain.stdout != "old\n":
        pytest.skip("the libc of this machine cannot be made older")
    return tmp_path / "old_one", tmp_path / loader.name


def test_a_program_with_an_older_libc_runs_and_the_report_says_why_it_is_not_recorded(
        recorded, reason, old_program):
    done, _ = recorded(old_program[0])
    assert (done.returncode, done.stdout, done.stderr) == (0, "old\n", "")
    assert "older than glibc 2.17" in reason("old_one")


@pytest.mark.parametrize("how", ["a child", "by its loader", "by system and popen"])
def test_a_child_with_an_older_libc_runs(recorded, program, old_program, how):
    command = {"a child": [old_program[0]], "by its loader": [old_program[1], old_program[0]],
               "by system and popen": ["shell", f"{old_program[0]} >&2; :"]}[how]
    done, said = recorded(program("cut_off"), "nothing", "1", "10", *command)
    assert done.returncode == 0
    assert "old\n" in done.stdout + done.stderr
    assert "GLIBC" not in done.stderr
    assert said["processes"] >= 1


# What the hooks count


@pytest.fixture(params=["", "own_allocator", *ALLOCATORS])
def allocator(program, monkeypatch, request):
    """An allocator that programs have from now on, by name; "": libc's"""
    library = request.param
    if library == "own_allocator":
        monkeypatch.setenv("LD_PRELOAD", program("own_allocator.so"))
    elif library:
        said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
        found = re.search(rf"=> (\S+/{re.escape(library)})", said.stdout)
        if not found:
            pytest.skip(f"{library} is not installed")
        monkeypatch.setenv("LD_PRELOAD", found[1])
    return library


UNTOUCHED = """
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    const char *error = dlerror();
    return error ? puts(error), 1 : 0;
}
"""


def test_what_we_look_for_in_an_allocator_is_no_event_of_the_program(recorded, program, tmp_path,
                                                                     monkeypatch):
    """A name that it does not have must not be asked for by dlsym, which allocates then."""
    if not shutil.which("cc"):
        pytest.skip("no compiler is installed")
    (tmp_path / "untouched.c").write_text(UNTOUCHED)
    subprocess.run(["cc", "-o", tmp_path / "untouched", tmp_path / "untouched.c"], check=True)
    monkeypatch.setenv("LD_PRELOAD", program("own_allocator.so"))
    done, said = recorded(tmp_path / "untouched")
    assert (done.returncode, done.stdout) == (0, "")
    assert said["allocs"] == 0


def test_one_call_of_the_program_is_one_event_with_any_allocator(recorded, program, allocator):
    base = recorded(program("whole_family"), "0")[1]
    done, said = recorded(program("whole_family"), "1000")
    assert done.returncode == 0
    assert said["allocs"] - base["allocs"] == 9000
    assert said["frees"] - base["frees"] == 9000
    assert said["bytes"] - base["bytes"] == 8 * 64000 + 32000
    assert said["live_bytes"] == base["live_bytes"]
    assert said["unknown"] == base["unknown"]


NEWS = """
#include <cstdlib>
#include <new>
struct alignas(64) wide { char bytes[64]; };
static void *volatile kept;
int main(int argc, char **argv)
{
    for (int i = atoi(argv[1]); i > 0; i--) {
        if (argc > 2) {
            try { kept = ::operator new((size_t)1 << 62); return 1; } catch (std::bad_alloc &) {}
        }
        char *several = new char[100]; kept = several; delete[] several;
        wide *one = new wide; kept = one; delete one;
        int *quiet = new (std::nothrow) int; kept = quiet; delete quiet;
    }
}
"""


@pytest.fixture
def news(tmp_path):
    """A program that calls three kinds of new and delete"""
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler is installed")
    (tmp_path / "news.cc").write_text(NEWS)
    subprocess.run(["c++", "-O1", "-Wl,-z,lazy", "-o", tmp_path / "news", tmp_path / "news.cc"],
                   check=True)
    return tmp_path / "news"


def test_operators_of_an_allocator_are_recorded(recorded, news, allocator):
    base = recorded(news, "0")[1]
    done, said = recorded(news, "1000")
    assert (done.returncode, done.stderr) == (0, "")
    assert said["allocs"] - base["allocs"] == 3000
    assert said["bytes"] - base["bytes"] == 168000
    assert said["live_bytes"] == base["live_bytes"]
    assert said["unknown"] == base["unknown"]


def test_operators_that_throw_leave_the_thread_recorded(recorded, news, allocator):
    if allocator == "libmimalloc.so.2":
        pytest.skip("it ends the program where it should throw")
    base = recorded(news, "0")[1]
    done, said = recorded(news, "100", "huge")
    assert (done.returncode, done.stderr) == (0, "")
    assert 300 <= said["allocs"] - base["allocs"] <= 400  # and what is thrown, if malloc gave it


def test_an_attached_allocator_of_its_own_is_counted_once(
        start, build, program, tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", program("own_allocator.so"))
    p = start("1000", "wait", tool=program("whole_family"))
    p.out.find(rb"ready\n")
    monkeypatch.delenv("LD_PRELOAD")
    recorder = start("attach", "--exact", "-f", "-o", tmp_path / "t.tide", str(p.pid))
    recorder.err.find(rb"attached|recording")
    p.stdin.write(b"x")
    p.stdin.flush()
    assert p.wait(60) == 0
    assert recorder.wait(60) == 0
    said = json.loads(subprocess.run(
        [build / "tests" / "unit" / "heap_totals", tmp_path / "t.tide"], check=True,
        capture_output=True, text=True, timeout=60).stdout)
    assert (said["allocs"], said["live_bytes"]) == (9000, 0)


@pytest.mark.parametrize("how", [(), ("--sample", "1KiB"), ("--exact",)],
                         ids=["by default", "sampled", "exact"])
def test_allocations_that_fail_leave_nothing_behind(recorded, program, how):
    done, said = recorded(program("whole_family"), "1000", "huge", how=how)
    assert done.returncode == 0
    assert said["sampled_blocks"] < 30000  # 33,000,000 where a failed one pays for the next
    if how == ("--exact",):
        assert 1000 <= said["allocs"] < 1010


def test_cpu_time_is_sampled_where_dlsym_allocates(recorded, run, program, tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", program("busy_dlsym.so"))
    done, _ = recorded(program("burns"))
    assert done.returncode == 0
    told = json.loads(run("report", tmp_path / "t.tide", "functions", "-f", "json").stdout)
    assert any(row.get("cpu") for row in told["tables"]["functions"]["rows"]), told
