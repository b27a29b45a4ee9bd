"""--limit and --fail-if: what ends a job of CI, and what is said then."""

import pytest

KEEPS = "kept = [bytearray(100000) for i in range(100)]"


@pytest.fixture
def record(run, tmp_path):
    def call(*words, code=KEEPS, name="t.tide"):
        return run("record", "-q", "--exact", "--force", "-o", tmp_path / name, *words, "/usr/bin/python3", "-c", code)

    return call


def test_nothing_is_said_within_the_limits(record):
    done = record("--limit", "peak=1G", "--limit", "leak=100M", "--limit", "growth=1T/s", "--limit",
                  "allocations=1000000000")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("limit, said", [
    ("peak=5M", "the peak is "), ("leak=5M", "one line keeps 9."), ("allocations=100", " allocations, above 100")])
def test_a_limit_that_is_broken_names_the_lines(record, limit, said):
    done = record("--limit", limit)
    assert done.returncode == 1
    assert done.stderr.startswith("tidemark: limit broken: ") and said in done.stderr
    if not limit.startswith("allocations"):
        assert "> (<string>:1)" in done.stderr


def test_every_limit_that_is_broken_is_said(record):
    done = record("--limit", "peak=5M", "--limit", "leak=5M", "--limit", "allocations=1")
    assert done.stderr.count("limit broken") == 3


def test_the_commands_own_failure_comes_first(record):
    assert record("--limit", "peak=1K", code="raise SystemExit(7)").returncode == 7


@pytest.mark.parametrize("limit", ["", "peak", "peak=", "peak=x", "speed=3", "allocations=1.5", "growth=1/m",
                                   "peak=" + "9" * 100])
def test_a_wrong_limit_is_refused_before_anything_runs(run, tmp_path, limit):
    done = run("record", "--limit", limit, "touch", tmp_path / "ran")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert not (tmp_path / "ran").exists()


def test_run_knows_the_peak_alone(run):
    assert run("run", "-q", "--limit", "peak=1K", "true").returncode == 1
    assert run("run", "-q", "--limit", "peak=1G", "true").returncode == 0
    done = run("run", "--limit", "leak=1M", "true")
    assert done.returncode == 2 and "tidemark record --limit leak=1M" in done.stderr


@pytest.fixture
def pair(record, tmp_path):
    record(name="a.tide")
    record(name="b.tide", code=KEEPS.replace("range(100)", "range(200)"))
    return tmp_path / "a.tide", tmp_path / "b.tide"


def test_conditions_of_a_comparison(run, pair):
    a, b = pair
    done = run("diff", "--fail-if", "peak>+5%", a, b)
    assert done.returncode == 1 and "peak>+5% holds: peak was " in done.stderr
    assert run("diff", "--fail-if", "peak>+5%", b, a).returncode == 0
    assert run("diff", "--fail-if", "peak>+1000%", "--fail-if", "leaked>+100M", a, b).returncode == 0
    assert run("diff", "--fail-if", "peak>+1000%", "--fail-if", "allocated>+1M", a, b).returncode == 1
    assert run("diff", "--fail-if", "peak>1M", a, a).returncode == 1


@pytest.mark.parametrize("condition", ["", "peak", "peak>", ">5%", "peak>5%", "peak>+x%", "peak>+nan%", "speed>+5%",
                                       "peak<5%", "x" * 40 + ">+1"])
def test_a_wrong_condition_is_refused(run, pair, condition):
    done = run("diff", f"--fail-if={condition}", *pair)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
