"""tidemark record --reachable: blocks that something points to are told from those that are lost."""

import json
import re

import pytest

from running import PATIENCE, start

FIXTURES = (start,)


@pytest.fixture
def leaks(run, tmp_path):
    """leaks(*command) -> the facts and rows of a recording with --reachable"""

    def call(*command, options=("--no-default-suppressions",)):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--exact", "--reachable", "-f", "-o", trace, *command, timeout=180)
        assert done.returncode == 0, done.stderr
        said = run("report", trace, "leaks", "-f", "json", "--limit", "1000000", *options)
        tables = json.loads(said.stdout)["tables"]
        return tables["facts"]["values"], tables["leaks"]["rows"]

    return call


def test_lost_and_reachable_blocks_are_told_apart(leaks, target):
    facts, rows = leaks(target("record/lost"))
    lost = {r["bytes"] // r["blocks"]: r["lost_blocks"] for r in rows}
    for size, blocks in ((101, 1), (1000, 20), (2002, 1), (3003, 1), (4004, 1), (5005, 1),
                         (9009, 1), (9119, 1), (9229, 1)):
        assert lost[size] == 0, size
    assert lost[6006] == 2 and lost[7007] == 1 and lost[8008] == 1
    assert facts["lost"] == 2 * 6006 + 7007 + 8008


def test_python_loses_nothing_but_what_c_lost(leaks):
    """Objects in a cycle, in a list, in a dict; and memory that ctypes forgot: a word that is left over
    somewhere may still name one block of it."""
    code = """
import ctypes, gc
gc.disable()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
for i in range(4):
    libc.malloc(54321)
kept = [bytearray(3000) for i in range(100)]
d = {i: str(i) * 10 for i in range(1000)}
"""
    facts, rows = leaks("/usr/bin/python3", "-c", code)
    forgotten, = [r["lost_blocks"] for r in rows if r["bytes"] == 4 * 54321]
    assert forgotten >= 3
    assert facts["lost"] - forgotten * 54321 < facts["alive"] / 20
    kept = [r for r in rows if r["bytes"] >= 300000]
    assert kept and all(r["lost"] == 0 for r in kept)


def test_without_the_option_nothing_is_said(run, target, tmp_path):
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--exact", "-f", "-o", trace, target("record/lost")).returncode == 0
    tables = json.loads(run("report", trace, "leaks", "-f", "json").stdout)["tables"]
    assert "lost" not in tables["facts"]["values"]
    assert {r["lost"] for r in tables["leaks"]["rows"]} == {None}


def test_it_needs_exact(run, tmp_path):
    done = run("record", "--reachable", "-f", "-o", tmp_path / "t.tide", "/bin/true")
    assert done.returncode == 2 and "--reachable needs --exact" in done.stderr
    assert not (tmp_path / "t.tide").exists()


# Of a process that stands still meanwhile

KEPT = (101, 1000, 2002, 3003, 4004, 5005, 9009, 9119, 9229, 9339)


@pytest.fixture
def lost(run):
    """lost(trace, *options) -> how many blocks of each size are lost, and the facts"""

    def call(trace, *options):
        said = run("report", trace, "leaks", "-f", "json", "--limit", "1000000",
                   "--no-default-suppressions", *options)
        tables = json.loads(said.stdout)["tables"]
        rows = {}
        for r in tables["leaks"]["rows"]:
            size = r["bytes"] // r["blocks"]
            rows[size] = rows.get(size, 0) + r["lost_blocks"]
        return rows, tables["facts"]["values"]

    return call


def go_on(process, answer):
    process.stdin.write(b"x")
    process.stdin.flush()
    process.out.find(answer)


def check(rows, dropped):
    assert {size: rows[size] for size in KEPT} == {size: int(size == 101 and dropped) for size in KEPT}
    assert (rows[6006], rows[7007], rows[8008]) == (2, 1, 1)


def test_an_attached_process_is_looked_at_when_it_is_left(start, run, target, tmp_path, lost):
    """What is pointed to from memory of before the attach is not lost."""
    trace = tmp_path / "t.tide"
    process = start(target("record/lost"), "wait", tool=None)
    process.out.find(b"1")
    tool = start("attach", "--exact", "--reachable", "--no-names", "-o", trace, str(process.pid))
    tool.err.find(rb"recording process")
    go_on(process, b"2")
    assert run("detach", str(process.pid)).returncode == 0
    assert tool.wait(PATIENCE) == 0
    assert re.search(rb"process \d+ was stopped for [\d.]+ .?s to find", tool.err.rest())
    rows, facts = lost(trace)
    check(rows, dropped=False)
    assert facts["lost"] == 2 * 6006 + 7007 + 8008 and facts["lost_as_of"] > 0
    go_on(process, b"3")
    process.stdin.close()
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("how", ["attach", "record"])
def test_each_snapshot_looks_anew(start, run, target, tmp_path, lost, how):
    trace = tmp_path / "t.tide"
    words = [target("record/lost"), "wait"]
    if how == "attach":
        process = start(*words, tool=None)
        process.out.find(b"1")
        tool = start("attach", "--exact", "--reachable", "--no-names", "-o", trace, str(process.pid))
        tool.err.find(rb"recording process")
    else:
        process = tool = start("record", "--exact", "--reachable", "--no-names", "-o", trace, *words)
        process.out.find(b"1")
    go_on(process, b"2")
    pid = process.pid if how == "attach" else child_of(process.pid)
    first = float(run("snapshot", "--name", "first", str(pid)).stdout)
    go_on(process, b"3")
    second = float(run("snapshot", "--name", "second", str(pid)).stdout)
    process.stdin.close()
    assert process.wait(PATIENCE) == 0 and tool.wait(PATIENCE) == 0
    rows, facts = lost(trace, "--at", f"{first}s")
    check(rows, dropped=False)
    assert facts["lost_as_of"] == round(first * 1e9)
    rows, facts = lost(trace, "--at", f"{second}s")
    check(rows, dropped=True)
    rows, facts = lost(trace)  # it ended by _exit: the last look is that of the snapshot
    check(rows, dropped=True)
    assert facts["lost_as_of"] == round(second * 1e9)
    assert tool.err.rest().count(b"was stopped for") == 2


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return int(f.read().split()[0])


def test_threads_that_wait_go_on_after_a_look(start, run, target, tmp_path):
    """Every way of waiting; none of them ends early or with EINTR."""
    process = start(target("record/attachee"), tool=None)
    go_on(process, rb"interrupted 0 early 0\n")
    tool = start("attach", "--exact", "--reachable", "--no-names", "-q", "-o", tmp_path / "t.tide",
                 str(process.pid))
    for _ in range(10):
        done = run("snapshot", str(process.pid))
        while done.returncode:  # it is about to be recorded
            done = run("snapshot", str(process.pid))
    go_on(process, rb"interrupted 0 early 0\n")
    assert run("detach", str(process.pid)).returncode == 0
    assert tool.wait(PATIENCE) == 0 and tool.err.rest() == b""
    go_on(process, rb"interrupted 0 early 0\n")
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
