"""tidemark report leaks: until when a program worked, and that what it freed by then is no leak."""

import json
import pathlib

import pytest

from pythons import name_of, pythons

MIB = 1 << 20
HOW = pytest.mark.parametrize("how", [["--exact"], []], ids=["exact", "sampled"])
EACH = pytest.mark.parametrize("python", pythons(), ids=name_of)

FREED = """
import time
def work():
    return len([bytes(1000000) for i in range(120)])
work()
if "sleep" in TAIL:
    time.sleep(0.3)
x, end = 0.0, time.monotonic() + 0.3
while time.monotonic() < end:
    x = x + 1.0
"""

KEPT = """
import time
kept = [bytes(1000000) for i in range(120)]
time.sleep(0.1)
"""

EXECS = """
import os
kept = [bytes(1000000) for i in range(120)]
os.execv("/bin/true", ["true"])
"""


@pytest.fixture
def facts(run, tmp_path):
    """facts(how, *command) -> the facts of leaks, those of the summary, and the rows of leaks"""

    def call(how, *command):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", *how, "-f", "-o", trace, *command, timeout=180)
        assert done.returncode == 0, done.stderr
        leaks = json.loads(run("report", trace, "leaks", "-f", "json").stdout)["tables"]
        summary = json.loads(run("report", trace, "summary", "-f", "json").stdout)["tables"]
        return leaks["facts"]["values"], summary["facts"]["values"], leaks["leaks"]["rows"]

    return call


def check_agreement(leaks, summary):
    """Both questions speak of one moment, and the summary names the other, too, if it differs."""
    assert leaks["alive"] == summary.get("alive_before_end", summary["alive_at_end"])
    assert leaks["blocks"] == summary.get("blocks_alive_before_end", summary["blocks_alive_at_end"])


@HOW
@EACH
@pytest.mark.parametrize("tail", ["sleep", "count"])
def test_what_was_freed_before_an_idle_end_is_no_leak(facts, python, how, tail):
    leaks, summary, rows = facts(how, python, "-c", f"TAIL = {tail!r}\n{FREED}")
    assert leaks["moment"].startswith("when the interpreter began to end")
    assert leaks["alive"] < 20 * MIB and leaks["growing"] == 0
    check_agreement(leaks, summary)


@HOW
@EACH
def test_what_the_interpreter_frees_when_it_ends_was_kept(facts, python, how):
    leaks, summary, rows = facts(how, python, "-c", KEPT)
    # its size is above the distance of samples, so nearly every block is a sample
    assert leaks["alive"] == pytest.approx(120e6, rel=0.3) and leaks["alive"] > 100e6
    check_agreement(leaks, summary)


GROWS = """
import time
kept = []
for i in range(200):
    kept.append(bytes(100000))
    time.sleep(0.002)
"""


def test_the_first_screen_says_of_which_moment_its_leaks_are(run, tmp_path):
    trace = tmp_path / "t.tide"
    run("record", "-q", "--exact", "-o", trace, "/usr/bin/python3", "-c", GROWS, timeout=60)
    screen = json.loads(run("report", trace, "-f", "json").stdout)["tables"]
    leaks = json.loads(run("report", trace, "leaks", "-f", "json").stdout)["tables"]["facts"]["values"]
    said = [row["what"] for row in screen["findings"]["rows"] if row["look_at"] == "leaks"]
    assert leaks["growing"] > screen["facts"]["values"]["alive_at_end"]  # nearly all was freed at the end
    assert leaks["alive"] == screen["facts"]["values"]["alive_before_end"]
    assert " of what was alive before the interpreter ended still grew" in said[0]


@HOW
def test_what_a_program_held_at_an_exec_is_no_leak(facts, how):
    leaks, summary, rows = facts(how, "/usr/bin/python3", "-c", EXECS)
    assert leaks["alive"] < 10 * MIB
    check_agreement(leaks, summary)
    assert leaks["ended_by_exec"] > 100e6


def test_a_program_that_leaves_without_its_interpreter_ending(facts):
    leaks, _, _ = facts(["--exact"], "/usr/bin/python3", "-c", KEPT + "import os; os._exit(0)")
    assert leaks["moment"] == "the end of each process"
    assert leaks["alive"] > 120e6


STEPS = """
import tidemark
kept = [bytes(1000000) for i in range(30)]
tidemark.snapshot("before")
kept.extend(bytes(1000000) for i in range(90))
"""


def test_of_a_stretch_it_is_what_was_alive_at_its_end(run, tmp_path):
    trace, package = tmp_path / "t.tide", pathlib.Path(__file__).parents[2] / "python"
    run("record", "-q", "--exact", "-o", trace, "/usr/bin/env", f"PYTHONPATH={package}", "/usr/bin/python3", "-c",
        STEPS + "import os; os._exit(0)", timeout=60)
    [alive, whole] = [json.loads(run("report", trace, "leaks", *words, "-f", "json").stdout)["tables"]["facts"]["values"]
                      for words in (["--to", "before"], [])]
    assert 30e6 < alive["alive"] < 50e6
    assert alive["moment"] == "the end of this stretch, or of a process that ended before"
    assert whole["alive"] > 120e6 and whole["moment"] == "the end of each process"


FORKS = """
import os
for _ in range(3):
    if os.fork() == 0:
        kept = bytes(20000000)
        os._exit(0)
    os.wait()
"""


def test_what_several_processes_left_was_not_there_at_one_time(facts):
    leaks, _, _ = facts(["--exact"], "/usr/bin/python3", "-c", FORKS)
    assert leaks["alive"] > 60e6 and leaks["moment"].endswith("each at its own end, added up")
