"""tidemark record --exact=SIZE: blocks of at least SIZE to the byte, smaller ones within their error."""

import json
import os
import re
import subprocess
import sys

import pytest

PYTHON = os.path.realpath(sys.executable)
WORDS = "blocks of {} and more exactly, smaller ones sampled"


@pytest.fixture
def both(run, target, tmp_path):
    """both(limit, rounds) -> the trace, and what the program said of itself by name"""

    def call(limit, rounds, *how):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--no-cpu", f"--exact={limit}", *how, "-o", trace,
                   target("record/both_sizes"), limit, str(rounds))
        assert done.returncode == 0, done.stderr
        said = {w[0]: list(map(int, w[1:])) for w in map(str.split, done.stderr.splitlines())}
        assert set(said) == {"main", "one", "two", "child"}
        return trace, said

    return call


def records(trace):
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, f"{here}/../../docs/tide.py", trace], check=True,
                          capture_output=True, text=True)
    return map(json.loads, done.stdout.splitlines())


@pytest.mark.parametrize("limit", ["4096", "1024", "65536"])
def test_large_blocks_are_counted_to_the_byte_in_threads_children_and_reallocs(both, limit):
    trace, said = both(limit, 3000)
    alive, of = {}, {}
    counts, sums = {0: 0, 1: 0}, {0: 0, 1: 0}
    for r in records(trace):
        if r["kind"] == "THREAD":
            of[r["thread"]] = r["process"]
        elif r["kind"] == "ALLOC":
            whole = r["weight"] == 0
            assert whole == (r["bytes"] >= int(limit))
            counts[whole] += 1
            sums[whole] += r["bytes"] * (1 if whole else r["weight"] / 1000)
            alive[of[r["thread"]], r["address"]] = r["bytes"] if whole else 0
        elif r["kind"] == "FREE":
            alive.pop((of[r["thread"]], r["address"]), None)
        assert r["kind"] != "LOSS" or r["what"] == 7
    assert (counts[1], sums[1]) == tuple(sum(s[i] for s in said.values()) for i in (0, 1))
    assert sum(alive.values()) == sum(s[4] for s in said.values())


def test_no_free_is_missed_when_threads_keep_more_blocks_than_are_marked_at_first(run, target, tmp_path):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-cpu", "--exact=4K", "-o", trace, target("record/many_kept"))
    assert done.returncode == 0, done.stderr
    count, size = map(int, done.stderr.split())
    alive = {}
    for r in records(trace):
        if r["kind"] == "ALLOC" and r["bytes"] == size:
            alive[r["address"]] = r["bytes"]
        elif r["kind"] == "FREE":
            alive.pop(r["address"], None)
        assert r["kind"] != "LOSS" or r["what"] == 7
    assert len(alive) == count


def test_reports_add_both_parts_and_say_how_each_is_known(both, ask):
    trace, said = both("4096", 3000)
    large, small = (sum(s[i] for s in said.values()) for i in (1, 3))
    facts = ask(trace, "summary")["tables"]["facts"]["values"]
    error = facts["heap_allocated_error_percent"] / 100 * facts["heap_allocated"]
    assert 0 < error < small / 2
    assert abs(facts["heap_allocated"] - large - small) < 5 * error
    assert facts["heap_allocated_basis"].startswith(WORDS.format("4.0 KiB") + ", ±")
    said_all = ask(trace, "histogram")
    rows = [r for r in said_all["tables"]["sizes"]["rows"] if r["from"] >= 4096]
    assert sum(r["bytes"] for r in rows) == large
    assert {(r["error_percent"], r["blocks_error_percent"]) for r in rows} == {(None, None)}
    assert said_all["coverage"]["exact_from"] == 4096
    assert WORDS.format("4.0 KiB") in said_all["coverage"]["line"]
    leaks = ask(trace, "leaks")["tables"]["facts"]["values"]
    kept = sum(s[4] for s in said.values())
    assert leaks["alive"] >= kept and WORDS.format("4.0 KiB") in leaks["basis"]
    for row in ask(trace, "processes")["tables"]["processes"]["rows"]:
        assert row["recorded"] == WORDS.format("4.0 KiB")


PROGRAM = """
import os
kept, large, small = [], 0, 0
def work():
    for i in range(2000):
        kept.append(bytes(5000 + i))              # large
        b = bytearray(3000)
        b.extend(bytes(20000))                    # across the limit
        del b
        x = [str(j) * 3 for j in range(200)]      # small
work()
if os.fork():
    os.wait()
else:
    kept.clear()
    work()
    os._exit(0)
"""


def test_large_blocks_of_python_are_counted_to_the_byte(run, ask, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    sizes, lines = [], []
    for how in ("--exact=4KiB", "--exact"):
        trace = tmp_path / f"t{how}.tide"
        done = run("record", "-q", "--no-cpu", how, "-o", trace, PYTHON, "-S", tmp_path / "p.py",
                   env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"})
        assert done.returncode == 0, done.stderr
        rows = ask(trace, "histogram")["tables"]["sizes"]["rows"]
        # larger ones may be of the interpreter's own maps of its arenas, wherever the kernel put these
        sizes.append([(r["blocks"], r["bytes"], r["alive"]) for r in rows if 4096 <= r["from"] < 65536])
        lines.append({r["line"]: r["allocated"] for r in ask(trace, "lines")["tables"]["lines"]["rows"]
                      if r["file"].endswith("p.py")})
    assert sizes[0] == sizes[1] and sizes[0][0][0] >= 4000
    small = PROGRAM.split("\n").index("        x = [str(j) * 3 for j in range(200)]      # small") + 1
    assert lines[0][small] == pytest.approx(lines[1][small], rel=0.5)


@pytest.mark.parametrize("size, words", [
    ("4X", "4X"), ("-1", "-1"), ("100", "--exact=1KiB or more"), ("0", "--exact=1KiB or more"),
])
@pytest.mark.parametrize("command", ["record", "attach"])
def test_a_size_that_is_none_is_an_error(run, command, size, words):
    done = run(command, f"--exact={size}", "true" if command == "record" else "1")
    assert done.returncode == 2 and words in done.stderr
    assert done.stderr.startswith("tidemark: ") and done.stderr.count("\n") <= 2


def test_every_block_leaves_nothing_to_sample(run):
    done = run("record", "--exact", "--sample", "1MiB", "true")
    assert done.returncode == 2 and "--exact=SIZE" in done.stderr


def test_small_blocks_are_sampled_as_finely_as_is_asked_for(both):
    trace, said = both("4096", 3000, "--sample", "16KiB")
    small = sum(s[3] for s in said.values())
    samples = sum(r["kind"] == "ALLOC" and r["weight"] > 0 for r in records(trace))
    assert samples == pytest.approx(small / 16384, rel=0.3)


def test_too_many_large_blocks_raise_the_limit_and_that_is_said(run, ask, target, tmp_path):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-cpu", "--exact=4KiB", "-o", trace, target("record/both_sizes"), "4096",
               "150000", timeout=120)
    assert done.returncode == 0, done.stderr
    truth = {w[0]: list(map(int, w[1:])) for w in map(str.split, done.stderr.splitlines())}
    said = ask(trace, "summary")
    assert re.search(r"\(at times only of \d+\.0 KiB and more: there were too many\)",
                     said["coverage"]["line"])
    assert said["coverage"]["lost_events"] == 0
    facts = said["tables"]["facts"]["values"]
    error = facts["heap_allocated_error_percent"] / 100 * facts["heap_allocated"]
    assert abs(facts["heap_allocated"] - sum(t[1] + t[3] for t in truth.values())) < 5 * error
