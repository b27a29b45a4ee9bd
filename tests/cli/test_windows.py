"""Windows: only some steps are recorded with stacks, and what lives is right all the same.

The numbers are those of tests/targets/record/windows.c, whose head lists what is allocated when.
"""

import subprocess
import textwrap

import pytest

WARM, KEEP, CHURN, CHILD = 100000, 10000, 50000, 7000
BEFORE, OUTSIDE = "(before the window)", "(outside of the windows)"


@pytest.fixture
def program(build):
    return build / "tests" / "targets" / "record" / "windows"


@pytest.fixture
def recorded(run, program, tmp_path):
    """recorded(option..., words of the program) -> the trace, and what was said"""

    def call(*options, words=("30",)):
        path = tmp_path / "t.tide"
        done = run("record", "-f", "-o", path, *options, program, *words)
        assert done.returncode == 0, done.stderr
        return path, done.stderr

    return call


def by_function(rows, value):
    """Sums by the program's innermost function; what libc has for its threads is not its own."""
    sums = {}
    for row in rows:
        name = row["site"] if row["site"].startswith("(") else row["site"].split(" ")[0]
        if name in (BEFORE, OUTSIDE, "warm", "keep", "churn", "child_keeps"):
            sums[name] = sums.get(name, 0) + row[value]
    return sums


def sites(ask, path, value="alive"):
    return by_function(ask(path, "sites", "--native")["tables"]["sites"]["rows"], value)


@pytest.mark.parametrize("how", ["--exact", "--exact=4KiB"])
def test_blocks_of_other_steps_are_known_by_size(recorded, ask, how):
    path, _ = recorded(how, "--steps", "10-20")
    assert sites(ask, path) == {
        BEFORE: 2 * WARM + 9 * KEEP, "keep": 11 * KEEP, "churn": 0, OUTSIDE: 10 * KEEP}
    assert sites(ask, path, "allocated") == {
        BEFORE: 4 * WARM + 9 * (KEEP + CHURN), "keep": 11 * KEEP, "churn": 11 * CHURN,
        OUTSIDE: 10 * (KEEP + CHURN)}


@pytest.mark.parametrize("how", ["--exact", "--exact=4KiB"])
def test_what_lives_is_the_same_with_and_without_windows(recorded, ask, how):
    """Steps, live sums and the peak do not depend on where stacks are looked for."""
    columns = "step", "allocated", "freed", "heap_after", "heap_change"

    def told(path):
        steps = ask(path, "steps")["tables"]["steps"]["rows"]
        peak = ask(path, "peak")["tables"]["facts"]["values"]["peak_heap"]
        return [[row.get(c) for c in columns] for row in steps], peak

    whole = told(recorded(how)[0])
    assert whole[0][14][4] == KEEP - 2 * WARM
    assert told(recorded(how, "--steps", "10-20")[0]) == whole
    assert told(recorded(how, "--steps", "3,16-17,29-")[0]) == whole


def test_several_windows_and_one_from_the_start(recorded, ask):
    path, _ = recorded("--exact", "--steps", "1-3,7,29-")
    alive = sites(ask, path)
    assert alive == {"warm": 2 * WARM, "keep": 6 * KEEP, "churn": 0, OUTSIDE: 24 * KEEP}


def test_growth_is_judged_in_the_window(recorded, ask):
    path, _ = recorded("--exact", "--steps", "10-20")
    table = ask(path, "leaks", "--per-step")["tables"]["per_step"]
    assert by_function(table["rows"], "growth_per_step") == {"keep": KEEP}
    assert table["note"].endswith("over the 11 steps of the longest window.")


def test_too_short_a_window_says_so(recorded, ask):
    path, _ = recorded("--exact", "--steps", "10-12")
    table = ask(path, "leaks", "--per-step")["tables"]["per_step"]
    assert not table["rows"] and table["note"].startswith("3 steps of one window are too few")


def test_threads_follow_their_process(recorded, ask):
    path, _ = recorded("--exact", "--steps", "10-20", words=("30", "threads"))
    alive = sites(ask, path)
    assert (alive["keep"], alive[OUTSIDE]) == (22 * KEEP, 20 * KEEP)


def test_a_process_without_steps_follows_the_one_that_tells_them(recorded, ask):
    path, _ = recorded("--exact", "--steps", "10-20", words=("30", "fork"))
    alive = sites(ask, path)
    assert alive["child_keeps"] == 11 * CHILD
    assert alive["keep"] == 11 * KEEP
    assert alive[BEFORE] == 2 * WARM + 9 * KEEP + 9 * CHILD


def test_the_program_says_when(recorded, ask):
    path, said = recorded("--exact", "--deferred", words=("30", "say"))
    assert "never" not in said
    assert sites(ask, path) == {
        BEFORE: 2 * WARM + 9 * KEEP, "keep": 11 * KEEP, "churn": 0, OUTSIDE: 10 * KEEP}


def test_a_start_ends_a_pause(recorded, ask):
    path, _ = recorded("--exact", "--start-paused", words=("30", "say"))
    alive = sites(ask, path)
    assert (alive["keep"], alive[OUTSIDE]) == (11 * KEEP, 10 * KEEP)


def test_steps_that_never_come(recorded, run, ask):
    path, said = recorded("--exact", "--steps", "40-50")
    assert said.count("only 30 steps were reported, and none of --steps 40-50 was reached") == 1
    assert "without any stacks, as none of the steps 40-50 was reached" in " ".join(
        run("report", path, "sites").stdout.split())
    assert sites(ask, path) == {BEFORE: 2 * WARM + 30 * KEEP}
    _, said = recorded("--exact", "--steps", "4", words=("9", "say"))
    assert said.count("the program reported no step") == 1
    _, said = recorded("--exact", "--deferred")
    assert said.count("tidemark.start() was never called") == 1


@pytest.mark.parametrize("text", ["0-4", "5-3", "5,", ",5", "5,x", "-", "5--7", "+5", " 5", "",
                                  "99999999999999999999", ",".join(["3"] * 33)])
def test_what_are_no_steps(run, text):
    done = run("record", "--steps", text, "true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_samples_are_as_many_in_windows_and_outside(tidemark, ask, tmp_path):
    """Drawing goes on outside: estimates of all are right within their errors."""
    path, script = tmp_path / "t.tide", tmp_path / "p.py"
    script.write_text(textwrap.dedent("""
        import tidemark
        kept = []
        for i in range(60):
            kept.append([bytes(3000) for _ in range(200)])
            tidemark.step()
        """))
    subprocess.run([tidemark, "record", "-q", "--sample", "16KiB", "--steps", "20-39", "-o", path,
                    "python3", script], check=True, timeout=120,
                   env={"PYTHONPATH": "python", "PATH": "/usr/bin:/bin"})
    rows = ask(path, "steps", "--limit", "60")["tables"]["steps"]["rows"]
    true = 18 * 200 * 3033
    for part in (rows[1:19], rows[20:38], rows[40:58]):  # before, in and after the window: an error of 4 %
        assert abs(sum(row["allocated"] for row in part) - true) < true * 0.2


def test_a_program_of_python(tidemark, ask, run, tmp_path):
    path, script = tmp_path / "t.tide", tmp_path / "p.py"
    script.write_text(textwrap.dedent("""
        import tidemark
        before = bytearray(300000)
        tidemark.start()
        inside = bytearray(400000)
        tidemark.stop()
        after = bytearray(500000)
        tidemark.mark("now")
        """))
    subprocess.run([tidemark, "record", "-q", "--exact", "--deferred", "-o", path, "python3", script],
                   check=True, timeout=120, env={"PYTHONPATH": "python", "PATH": "/usr/bin:/bin"})
    rows = ask(path, "peak", "--at", "now")["tables"]["peak"]["rows"]
    inside = [r for r in rows if r["site"].endswith("p.py:5)")]
    assert inside[0]["bytes"] == 400001
    assert {r["site"] for r in rows if r["bytes"] > 250000} - {inside[0]["site"]} == {BEFORE, OUTSIDE}
