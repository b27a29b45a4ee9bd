"""--process: questions about one process of several, such as one rank.

The numbers are those of tests/targets/record/windows.c with `fork`: a parent with steps, and a child without.
"""

import json

import pytest

WARM, KEEP, CHURN, CHILD = 100000, 10000, 50000, 7000


@pytest.fixture(params=["--exact", "--exact=4KiB"])
def trace(request, run, build, tmp_path):
    path = tmp_path / "t.tide"
    done = run("record", "-q", request.param, "-o", path,
               build / "tests" / "targets" / "record" / "windows", "12", "fork")
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def ask(run, trace):
    def call(*words):
        done = run("report", trace, *words, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def pids(ask):
    """Of the parent, and of the child."""
    rows = ask("processes")["tables"]["processes"]["rows"]
    return [row["pid"] for row in rows]


def test_allocations_are_those_of_one(ask, pids):
    def alive(*options):
        rows = ask("sites", *options)["tables"]["sites"]["rows"]
        sums = {}
        for row in rows:
            name = row["site"].split(" ")[0]
            sums[name] = sums.get(name, 0) + row["alive"]
        return {name: sums[name] for name in ("warm", "keep", "child_keeps") if name in sums}

    parent, child = pids
    assert alive("--process", str(parent)) == {"warm": 4 * WARM, "keep": 12 * KEEP}
    assert alive("--process", str(child)) == {"child_keeps": 12 * CHILD}
    assert alive() == {"warm": 4 * WARM, "keep": 12 * KEEP, "child_keeps": 12 * CHILD}


def test_peaks_and_steps_are_those_of_one(ask, pids):
    parent, child = pids
    peak = {pid: ask("peak", "--process", str(pid))["tables"]["facts"]["values"]["peak_heap"]
            for pid in pids}
    assert peak[child] >= 12 * CHILD and peak[parent] >= 4 * WARM + 11 * KEEP + CHURN
    assert peak[child] < 4 * WARM
    assert [r["steps"] for r in ask("steps", "--process", str(parent))["tables"]["loops"]["rows"]] == [12]
    assert not ask("steps", "--process", str(child))["tables"]["loops"]["rows"]
    (row,) = ask("leaks", "--per-step", "--process", str(parent))["tables"]["per_step"]["rows"]
    assert row["growth_per_step"] == KEEP and row["site"].startswith("keep")


def test_an_answer_says_whose_it_is(ask, pids):
    said = ask("peak", "--process", str(pids[1]))["asked"]
    assert said == f"Allocations, steps and CPU time are those of process {pids[1]} alone."


@pytest.mark.parametrize("text, why", [("x", "not a process"), ("0", "not a process"), ("-3", "not a process"),
                                       ("999999999", "this trace has no process")])
def test_what_is_no_process_of_it(run, trace, text, why):
    done = run("report", trace, "peak", "--process", text)
    assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1


def test_steps_of_another_process_are_not_its_own(run, trace, pids):
    assert run("report", trace, "peak", "--process", str(pids[0]), "--step", "5").returncode == 0
    done = run("report", trace, "peak", "--process", str(pids[1]), "--step", "5")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
