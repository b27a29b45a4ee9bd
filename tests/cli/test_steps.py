"""Steps, marks and labels: what a program says of its work is told again, to the byte.

The numbers are those of tests/targets/record/stepper.c, whose head lists what is allocated when.
"""

import json
import os
import pathlib
import subprocess

import pytest

from pythons import every_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STEPS = 12
KEEP, CACHE, HAND_ON, CHURN = 100, 300, 7000, 50000
THREADS = 1000 + 2000 + 3000


@pytest.fixture(scope="module", params=["--exact", "--sample=1KiB"], ids=["exact", "sampled"])
def traces(request, build, tidemark, tmp_path_factory):
    return recorded(build, tidemark, tmp_path_factory, request.param)


@pytest.fixture(scope="module")
def trace(build, tidemark, tmp_path_factory):
    return recorded(build, tidemark, tmp_path_factory, "--exact")


def recorded(build, tidemark, tmp_path_factory, how):
    path = tmp_path_factory.mktemp("steps") / "t.tide"
    program = build / "tests" / "targets" / "record" / "stepper"
    subprocess.run([tidemark, "record", "-q", how, "-o", path, program], check=True, timeout=120)
    return path


def answer(run, path, question, *options):
    done = run("report", path, question, "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def ask(run, trace):
    def call(question, *options, file=trace):
        tables = answer(run, file, question, *options)["tables"]
        return {name: t.get("rows", t.get("values")) for name, t in tables.items()}

    return call


@pytest.fixture
def refused(run, trace):
    """refused(option...) -> why"""

    def call(*options):
        done = run("report", trace, "peak", *options)
        assert done.returncode == 2 and not done.stdout
        return done.stderr

    return call


def function_of(row):
    """The function of the program that a row is of: hold() does it for others."""
    names = [frame["function"] for frame in row["stack"]]
    return names[1] if names[0] == "hold" else names[0]


def by_function(rows, key="bytes"):
    out = {}
    for row in rows:
        out[function_of(row)] = out.get(function_of(row), 0) + row[key]
    return out


def of_program(rows):
    """Without what libc keeps for threads."""
    own = {"main", "keep", "cache", "hand_on", "churn", "work"}
    return {name: bytes for name, bytes in by_function(rows).items() if name in own}


# The question `steps`.


def test_every_step_has_its_memory(ask):
    rows = [row for row in ask("steps")["steps"] if row["loop"] == "train"]
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for row in rows[1:]:
        step = row["step"]
        allocated = KEEP + HAND_ON + CHURN + CACHE * (step <= 3)
        assert row["heap_change"] == row["allocated"] - row["freed"]
        assert row["heap_after"] == rows[step - 2]["heap_after"] + row["heap_change"]
        if step == 5:
            assert row["allocated"] >= allocated + THREADS
            assert row["heap_change"] >= KEEP + THREADS
        else:
            assert (row["allocated"], row["freed"]) == (allocated, HAND_ON + CHURN)
            assert row["heap_most"] == rows[step - 2]["heap_after"] + allocated - HAND_ON
            assert row["from"] <= row["heap_most_time"] <= row["from"] + row["length"]
        assert rows[step - 2]["heap_after"] - HAND_ON <= row["heap_least"] <= rows[step - 2]["heap_after"]
        assert row["from"] == rows[step - 2]["from"] + rows[step - 2]["length"]


def test_the_first_step_has_all_that_came_before(ask):
    first = next(row for row in ask("steps")["steps"] if row["loop"] == "train")
    assert first["allocated"] == 1000 + KEEP + CACHE + HAND_ON + CHURN
    assert first["heap_after"] == 1000 + KEEP + CACHE + HAND_ON


def test_a_loop_is_told_in_one_row(ask):
    loops = {row["loop"]: row for row in ask("steps")["loops"]}
    assert loops["train"]["steps"] == STEPS and loops["own"]["steps"] == 2
    assert loops["train"]["pid"] != loops["own"]["pid"]
    assert loops["train"]["total"] >= STEPS * loops["train"]["mean"] > 0
    assert loops["own"]["heap_change"] == 4444 + 2222


def test_what_grows_in_every_step_is_told_from_what_does_not(ask):
    rows = {function_of(row): row for row in ask("steps")["growth"] if row["loop"] == "train"}
    assert (rows["keep"]["trend"], rows["keep"]["growth_per_step"]) == ("growing", KEEP)
    assert (rows["keep"]["held_first"], rows["keep"]["held_last"]) == (KEEP, STEPS * KEEP)
    assert rows["keep"]["grew_in"] == STEPS - 1
    assert rows["cache"]["trend"] == "grew once" and rows["cache"]["held_last"] == 3 * CACHE
    assert "hand_on" not in rows and "churn" not in rows
    assert ask("steps")["growth"][0]["stack"][1]["function"] == "keep"


def test_marks_and_snapshots_have_the_heap_of_their_moment(ask):
    marks = ask("steps")["marks"]
    assert [(m["name"], m["kind"], m["value"]) for m in marks] == [
        ("warm", "snapshot", None), ("eval", "mark", 6), ("eval", "mark", 9)]
    assert marks[0]["heap"] == 1000 + 3 * KEEP + 3 * CACHE + HAND_ON


def test_of_a_sampled_recording_the_error_is_told(run, tmp_path, build):
    path = tmp_path / "t.tide"
    done = run("record", "-q", "--sample=1KiB", "-o", path,
               build / "tests" / "targets" / "record" / "stepper")
    assert done.returncode == 0, done.stderr
    tables = answer(run, path, "steps")["tables"]
    rows = [row for row in tables["steps"]["rows"] if row["loop"] == "train"]
    assert len(rows) == STEPS
    for row in rows[1:]:
        if row["step"] == 5:
            continue
        expected = KEEP + CACHE * (row["step"] <= 3)
        error = row["heap_change_error"] or 0
        assert abs(row["heap_change"] - expected) <= 6 * error + expected


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_every_format_writes_it(run, trace, form):
    done = run("report", trace, "steps", "-f", form)
    assert done.returncode == 0 and "train" in done.stdout and "warm" in done.stdout


def test_a_program_without_steps_is_told_how_to_have_some(run, tmp_path, target):
    path = tmp_path / "t.tide"
    assert run("record", "-q", "-o", path, "true").returncode == 0
    done = run("report", path, "steps")
    assert done.returncode == 0 and "tidemark.h" in done.stdout


# Moments by their names.


def test_at_a_name_is_what_was_held_then(ask):
    held = {"main": 1000, "keep": 3 * KEEP, "cache": 3 * CACHE, "hand_on": HAND_ON}
    assert of_program(ask("peak", "--at", "warm")["peak"]) == held
    assert of_program(ask("leaks", "--at", "warm")["leaks"]) == held
    assert of_program(ask("peak", "--at", "step:3")["peak"]) == held
    assert of_program(ask("peak", "--at", "train:3")["peak"]) == held


def test_between_two_names_is_what_happened_there(ask):
    rows = ask("sites", "--from", "train:6", "--to", "train:7")["sites"]
    sites = {row["site"].split()[0]: row for row in rows}
    assert sites["churn"]["allocated"] == CHURN and sites["hand_on"]["allocated"] == HAND_ON
    assert sites["hold"]["allocated"] == KEEP


@pytest.mark.parametrize("steps, count", [("7", 1), ("train:6..7", 2), ("9..12", 4)])
def test_steps_are_a_stretch_of_time(ask, steps, count):
    rows = ask("sites", "--step", steps)["sites"]
    sites = {row["site"].split()[0]: row for row in rows}
    assert sites["churn"]["allocated"] == count * CHURN
    assert len(ask("steps", "--step", steps)["steps"]) == count


def test_two_named_moments_are_compared(run, trace):
    done = run("diff", trace, "--from", "train:9", "--to", "train:11", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert '"keep"' in done.stdout and '"cache"' not in done.stdout


def test_a_name_that_is_not_there_is_refused_with_the_nearest(refused):
    assert "did you mean 'warm'?" in refused("--at", "wram")
    assert "train, warm, eval and own" in refused("--at", "nothing-like-it")
    assert "not 3" in refused("--at", "eval#3")
    assert "value 7" in refused("--at", "eval:7")
    assert "number 77" in refused("--at", "step:77")
    assert "1 to 12" in refused("--step", "7..99")
    assert "name the loop" in refused("--step", "1")
    assert "'nope'" in refused("--step", "nope:1")
    assert "not a step" in refused("--step", "seven")
    assert "end before" in refused("--step", "9..7")
    assert "cannot be" in refused("--step", "7", "--from", "1")
    assert "not a label" in refused("--label", "=x")


def test_of_several_of_a_name_it_is_said_which_is_meant(run, trace):
    first = answer(run, trace, "peak", "--at", "eval")
    assert "first of 2" in first["asked"] and "eval#2" in first["asked"]
    assert answer(run, trace, "peak", "--at", "eval#2")["asked"] is None
    assert answer(run, trace, "peak", "--at", "warm")["asked"] is None


# Where a block was allocated.


def test_allocated_in_one_step_and_alive_after_another(ask):
    rows = ask("leaks", "--born-in", "7", "--at", "step:9")["leaks"]
    assert of_program(rows) == {"keep": KEEP}
    rows = ask("leaks", "--born-in", "7", "--at", "step:7")["leaks"]
    assert of_program(rows) == {"keep": KEEP, "hand_on": HAND_ON}
    rows = ask("leaks", "--born-in", "train:2..4", "--at", "step:9")["leaks"]
    assert of_program(rows) == {"keep": 3 * KEEP, "cache": 2 * CACHE}


def test_all_steps_together_are_all_there_is(ask):
    whole = of_program(ask("leaks", "--at", "step:12")["leaks"])
    steps = {}
    for step in range(1, STEPS + 1):
        rows = ask("leaks", "--born-in", f"train:{step}", "--at", "step:12")["leaks"]
        for name, held in of_program(rows).items():
            steps[name] = steps.get(name, 0) + held
    whole["work"] -= whole["work"] - steps["work"]  # a child's own step is none of its parent's
    assert steps == whole


@pytest.mark.parametrize("labels, held", [
    (["worker"], THREADS), (["worker=w2"], 2000), (["phase=load"], 3600), (["phase=sort"], 1800),
    (["worker=w3", "phase=load"], 1800), (["phase=forked"], 4444 + 2222), (["worker=w4"], 0)])
def test_threads_have_labels_of_their_own(ask, labels, held):
    options = [word for label in labels for word in ("--label", label)]
    assert of_program(ask("leaks", *options)["leaks"]).get("work", 0) == held


def test_a_child_goes_on_in_the_step_it_was_forked_in(ask):
    rows = ask("leaks", "--born-in", "train:8")["leaks"]
    assert of_program(rows) == {"keep": KEEP, "work": 4444}
    rows = ask("leaks", "--born-in", "own:2", "--label", "phase=forked")["leaks"]
    assert of_program(rows) == {"work": 2222}


def test_what_was_asked_stands_in_the_answer(run, trace):
    asked = answer(run, trace, "peak", "--born-in", "7", "--label", "phase")["asked"]
    assert asked == "Only allocations in step 7 under phase are counted."
    assert asked in run("report", trace, "peak", "--born-in", "7", "--label", "phase").stdout


def test_totals_do_not_depend_on_steps(run, traces):
    """Blocks of all contexts together are those of a reader that knows none."""
    rows = answer(run, traces, "sites")["tables"]["sites"]["rows"]
    churn = [row for row in rows if row["site"].startswith("churn")]
    assert len(churn) == 1
    assert abs(churn[0]["allocated"] - STEPS * CHURN) <= STEPS * CHURN // 100


# Why functions have no name.


def test_a_function_without_a_name_is_explained(run, tmp_path):
    """A library without symbols: said below the answers that show it, and nowhere else."""
    (tmp_path / "lib.c").write_text("""
#include <stdlib.h>
void *kept[10];
static __attribute__((noinline)) void inner(int i) { kept[i] = malloc(1000); __asm__ volatile(""); }
void outer(void) { for (int i = 0; i < 10; i++) inner(i); __asm__ volatile(""); }
""", encoding="utf-8")
    (tmp_path / "main.c").write_text("void outer(void); int main(void) { outer(); return 0; }",
                                     encoding="utf-8")
    library, program, path = tmp_path / "libbare.so", tmp_path / "main", tmp_path / "t.tide"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-s", "-o", library, tmp_path / "lib.c"],
                   check=True, timeout=60)
    subprocess.run(["cc", "-g", "-o", program, tmp_path / "main.c", library], check=True, timeout=60)
    assert run("record", "-q", "--exact", "-o", path, program).returncode == 0
    why = answer(run, path, "peak")["unnamed"]
    assert len(why) == 1 and "libbare.so has no debug information here" in why[0]
    assert answer(run, path, "leaks")["unnamed"] == why
    said = run("report", path, "peak").stdout.replace("\n", " ")  # with the folder's name shortened, where it is long
    assert why[0].partition("libbare.so")[2] in said and "libbare.so" in said
    assert answer(run, path, "timeline")["unnamed"] == []


# Python.


PROGRAM = """
import threading, tidemark
held, done = [], threading.Event()

def keep():
    held.append(bytearray(20000))  # KEEP

def other():
    with tidemark.label("who", "other"):
        for i in range(3):
            keep()
    done.set()

for i in range(1, 11):
    with tidemark.label("phase", "forward"):
        keep()
        with tidemark.label("phase", "inner"):
            keep()
    if i == 4:
        threading.Thread(target=other).start()
        done.wait()
    tidemark.step()
    if i == 5:
        tidemark.snapshot("half")
"""


def kept(rows):
    """Blocks of the line that keeps."""
    return sum(row["blocks"] for row in rows if any(
        frame["function"] == "keep" and (frame["file"] or "").endswith("program.py")
        for frame in row["stack"]))


@every_python
def test_python_says_the_same(run, tmp_path, python):
    script, path = tmp_path / "program.py", tmp_path / "t.tide"
    script.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run("record", "-q", "--exact", "-o", path, python, script, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr

    def blocks(*options):  # large ones come first
        tables = answer(run, path, "leaks", "--limit", "500", *options)["tables"]
        rows = tables["leaks"]["rows"]
        return kept([row for row in rows if row["bytes"] >= 20000 * row["blocks"]])

    assert blocks("--at", "half") == 5 * 2 + 3
    assert blocks("--at", "step:10") == 10 * 2 + 3
    assert blocks("--born-in", "4", "--at", "step:9") == 2 + 3
    assert blocks("--born-in", "5..7", "--at", "step:9") == 3 * 2
    assert blocks("--label", "phase=forward", "--at", "step:10") == 10
    assert blocks("--label", "phase=inner", "--at", "step:10") == 10
    assert blocks("--label", "who", "--at", "step:10") == 3
    assert blocks("--label", "who", "--label", "phase", "--at", "step:10") == 0
    growth = answer(run, path, "steps")["tables"]["growth"]["rows"]
    largest = [row for row in growth if row["trend"] == "growing" and row["growth_per_step"] >= 20000]
    assert largest and all(
        any(frame["function"] == "keep" for frame in row["stack"]) for row in largest)
