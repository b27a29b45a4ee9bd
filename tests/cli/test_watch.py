"""Memory that is watched: who changed it, the first time and every time (tests/targets/record/watches.c)."""

import json
import os
import pathlib
import subprocess

import pytest

import tensormaker

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"


@pytest.fixture
def watched(run, tmp_path):
    """watched(command...) -> rows of the blocks by name, rows of the changes"""

    def call(*command):
        path = tmp_path / "t.tide"
        env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run("record", "-q", "-o", path, *command, env=env, timeout=600)
        assert done.returncode == 0, done.stderr
        done = run("report", path, "watch", "-f", "json")
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        return {row["name"]: row for row in tables["watched"]["rows"]}, tables["changes"]["rows"]

    return call


# What happens, and who changed what, after what, whether that was declared.
VECTORS = [
    ("@a [p *a ]", [("a", "p", "begin of p", None)]),
    ("@a ( [p >a *a ] )", [("a", "p", "begin of p", "yes")]),
    ("@a ( [p >b *a ] )", [("a", "p", "begin of p", "no")]),
    ("@a ( [p >a ] [q *a ] )", [("a", "q", "begin of q", "no")]),  # p has written it before q
    ("@a [p [q ] *a ]", [("a", "p", "end of q", None)]),
    ("@a [p ] !m *a", [("a", None, "mark m", None)]),
    ("@a *a /a *a @a *a", [("a", None, None, None)] * 2),  # what is not watched has no changes
    ("@a @b [p *b ] *a", [("b", "p", "begin of p", None), ("a", None, "end of p", None)]),
]


@pytest.mark.parametrize("text, expected", VECTORS, ids=[str(i) for i in range(len(VECTORS))])
def test_a_change_belongs_to_what_lies_between_two_looks(run, tmp_path, text, expected):
    path = tensormaker.make(tmp_path / "t.tide", "a=other/mm/5000 b=other/mm/300 " + text)
    done = run("report", path, "watch", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"]["changes"]["rows"]
    assert [(row["name"], row["by"], row["after"], row["declared"]) for row in rows] == expected


def test_every_change_has_who_made_it(watched, build):
    blocks, changes = watched(build / "tests" / "targets" / "record" / "watches")
    assert [(c["name"], c["by"], c["after"]) for c in changes] == [
        ("first", "fill", "begin of fill"), ("first", None, "mark between")]
    assert all(c["declared"] is None for c in changes)  # the program tells no accesses
    assert [frame["function"] for frame in changes[0]["stack"]][1] == "fill"
    first = blocks["first"]
    assert (first["bytes"], first["changes"], first["first_by"]) == (10000, 2, "fill")
    assert first["first"] == changes[0]["time"] and first["to"] >= changes[1]["time"]


def test_what_does_not_change_and_what_is_gone(watched, build):
    blocks, _ = watched(build / "tests" / "targets" / "record" / "watches")
    assert (blocks["second"]["changes"], blocks["second"]["ended"]) == (0, None)
    assert (blocks["third"]["changes"], blocks["third"]["ended"]) == (0, "it was freed")


BUFFERS = """
import array, tidemark
a, b = array.array("d", range(1000)), bytearray(5000)
held = tidemark.watch(a, "numbers")
with tidemark.watch(b, "bytes"):
    with tidemark.region("load"):
        a[500] = -1.0
    with tidemark.region("other"):
        pass
    tidemark.mark("m")
    b[4999] = 1
    tidemark.step()
b[0] = 1
tidemark.step()
held.stop()
try:
    tidemark.watch(b"constant", "x")
except ValueError as error:
    assert "can be written" in str(error)
else:
    raise SystemExit(3)
"""


def test_buffers_of_python_are_watched(watched, tmp_path):
    script = tmp_path / "p.py"
    script.write_text(BUFFERS, encoding="utf-8")
    blocks, changes = watched(PYTHON, script)
    assert [(c["name"], c["by"], c["after"]) for c in changes] == [
        ("numbers", "load", "begin of load"), ("bytes", None, "mark m")]
    assert [(name, row["bytes"], row["changes"]) for name, row in blocks.items()] == [
        ("numbers", 8000, 1), ("bytes", 5000, 1)]
    lines = [frame["line"] for frame in changes[1]["stack"] if (frame["file"] or "").endswith("p.py")]
    assert lines == [12]  # where the look was made: step()


def test_without_a_recording_nothing_is_watched():
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import tidemark\nwith tidemark.watch(bytearray(8), 'x'): pass\ntidemark.watch(3, 'y').stop()"
    subprocess.run([PYTHON, "-c", code], env=env, check=True, timeout=60)


def test_a_program_that_watches_nothing_is_told_how(run, tmp_path):
    path = tmp_path / "t.tide"
    assert run("record", "-q", "-o", path, "true").returncode == 0
    done = run("report", path, "watch")
    assert done.returncode == 0 and "tidemark_watch" in done.stdout


TORCH = """
import ctypes, tidemark, tidemark.torch, torch
w = torch.ones(1000)
tidemark.watch(w, "w")
with tidemark.torch.accesses():
    x = w.add(1)                    # reads it
    w.mul_(2)                       # declares that it writes
    with tidemark.region("behind its back"):
        ctypes.memset(w.data_ptr(), 0, 4)
    x.sub_(1)
"""


@pytest.mark.skipif("TIDEMARK_TORCH" not in os.environ, reason="TIDEMARK_TORCH names no interpreter with PyTorch")
def test_an_operator_declares_what_it_writes(watched, tmp_path):
    script = tmp_path / "p.py"
    script.write_text(TORCH, encoding="utf-8")
    _, changes = watched(os.environ["TIDEMARK_TORCH"], script)
    assert [(c["by"], c["declared"]) for c in changes] == [("mul__Tensor", "yes"), ("behind its back", "no")]
