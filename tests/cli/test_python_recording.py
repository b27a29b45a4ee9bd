"""A Python program that records itself: tidemark.record and tidemark.start(path)."""

import json
import os
import pathlib
import re
import runpy
import subprocess

import pytest
from pythons import every_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"
MIB = 1 << 20
TIDE = runpy.run_path(str(ROOT / "docs" / "tide.py"))


@pytest.fixture
def program(tidemark, tmp_path):
    """program(code) -> its end; the tool is known to it, its folder is tmp_path"""

    def call(code, python=PYTHON, before=(), **env):
        script = tmp_path / "program.py"
        script.write_text(code, encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1",
               "TIDEMARK": tidemark, **env}
        return subprocess.run([*before, python, script], env=env, cwd=tmp_path, text=True,
                              capture_output=True, timeout=120, check=False)

    return call


@pytest.fixture
def allocated(run, tmp_path):
    """allocated(trace) -> bytes by line of program.py"""

    def call(trace):
        done = run("report", tmp_path / trace, "sites", "--limit", "10000", "-f", "json")
        assert done.returncode == 0, done.stderr
        out = {}
        for row in json.loads(done.stdout)["tables"]["sites"]["rows"]:
            line = re.search(r"program\.py:(\d+)", row["site"])
            if line:
                out[int(line[1])] = out.get(int(line[1]), 0) + row["allocated"]
        return out

    return call


def names_of(path):
    records = list(TIDE["read"](path.read_bytes()))
    return {r["string"]: r["text"] for r in records if r["kind"] == "STRING"}, records


CODE = """
import threading, tidemark
def make_big():
    return bytearray(50 << 20)
def make_small():
    return list(map(str, range(100000)))
def make_other():
    return bytearray(40 << 20)
go, done, stop = threading.Event(), threading.Event(), threading.Event()
def worker():
    while not stop.is_set():
        go.wait(); go.clear()
        kept.append(bytearray(7 << 20))
        done.set()
kept = []
thread = threading.Thread(target=worker); thread.start()
before = make_other()
for turn in range(2):
    with tidemark.record(f"{turn}.tide", exact=True) as r:
        assert r.recorded and tidemark.recording()
        big = make_big()
        small = make_small()
        go.set(); done.wait(); done.clear()
    assert not tidemark.recording()
    after = make_other()
stop.set(); go.set(); thread.join()
"""


@every_python
def test_what_is_allocated_meanwhile_and_nothing_else(program, allocated, python):
    done = program(CODE, python)
    assert (done.returncode, done.stderr) == (0, "")
    for trace in ("0.tide", "1.tide"):
        lines = allocated(trace)
        assert 50 * MIB <= lines[4] < 51 * MIB
        assert 7 * MIB <= lines[13] < 8 * MIB  # of a thread that was there before
        assert 10 * MIB <= lines[6] < 30 * MIB  # of Python itself: texts, numbers, the list as it grows
        assert 8 not in lines


def test_start_and_stop(program, allocated, tmp_path):
    done = program("""
import tidemark
tidemark.start("a.tide", exact=True)
try:
    tidemark.start("b.tide")
except tidemark.RecordingError as error:
    print(error)
tidemark.pause()
hidden = bytearray(20 << 20)
tidemark.start()
shown = bytearray(10 << 20)
tidemark.stop()
tidemark.stop()
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("a.tide is being recorded; stop() ends that\n")
    lines = allocated("a.tide")
    assert 9 not in lines and 10 * MIB <= lines[11] < 11 * MIB
    assert [p.name for p in tmp_path.glob("*.tide")] == ["a.tide"]


def test_inside_another_recording_it_is_a_region(program, tmp_path, tidemark):
    code = """
import tidemark
left = tidemark.region("left open").__enter__()
with tidemark.record("inner.tide") as r:
    assert tidemark.recording() and not r.recorded
with tidemark.region("after"):
    pass
"""
    done = program(code, before=[tidemark, "record", "-q", "-f", "-o", tmp_path / "outer.tide"])
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "inner.tide").exists()
    names, records = names_of(tmp_path / "outer.tide")
    assert [names[r["name"]] for r in records if r["kind"] == "REGION"] == [
        "left open", "inner.tide", "after"]


def test_regions_and_exceptions(program, tmp_path):
    done = program("""
import tidemark
try:
    with tidemark.record("t.tide"):
        with tidemark.region("whole"):
            pass
        left = tidemark.region("left").__enter__()
        raise KeyError("mine")
except KeyError as error:
    print(error)
left.__exit__()
with tidemark.record("u.tide"):
    left.__enter__()
    left.__exit__()
""")
    assert (done.returncode, done.stdout) == (0, "'mine'\n"), done.stderr
    names, records = names_of(tmp_path / "t.tide")
    assert [names[r["name"]] for r in records if r["kind"] == "REGION"] == ["whole", "left"]
    names, records = names_of(tmp_path / "u.tide")
    assert [names[r["name"]] for r in records if r["kind"] == "REGION"] == ["left"]


def test_a_forked_child_does_not_end_it(program, allocated):
    done = program("""
import os, tidemark
with tidemark.record("t.tide", exact=True):
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        late = bytearray(20 << 20)
    else:
        mine = bytearray(11 << 20)
if not child:
    os._exit(0)
""")
    assert done.returncode == 0, done.stderr
    lines = allocated("t.tide")
    assert 20 * MIB <= lines[7] < 21 * MIB and 11 * MIB <= lines[9] < 12 * MIB


def test_the_tool_is_no_part_of_the_recording(program, run, tmp_path):
    done = program("import tidemark, time\nwith tidemark.record('t.tide', interval='10ms'):\n"
                   "    time.sleep(0.3)\n")
    assert done.returncode == 0, done.stderr
    told = json.loads(run("report", tmp_path / "t.tide", "processes", "-f", "json").stdout)
    assert len(told["tables"]["processes"]["rows"]) == 1


def refused(program, code, words, **env):
    done = program("import tidemark\ntry:\n    tidemark.start(" + code + ")\n"
                   "except tidemark.RecordingError as error:\n    print(error)\n"
                   "assert not tidemark.recording()\n", **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1 and words in done.stdout, done.stdout


def test_what_cannot_be(program, tmp_path):
    refused(program, "'t.tide'", "$TIDEMARK is '/nowhere', which is not a program", TIDEMARK="/nowhere")
    refused(program, "'/nowhere/t.tide'", "/nowhere/t.tide")
    refused(program, "'t.tide', sample='3'", "is too small")
    refused(program, "'t.tide', nonsense=True", "nonsense")
    assert not list(tmp_path.glob("*.tide"))


@pytest.mark.skipif(any(os.path.exists(f"{p}/tidemark") for p in ("/usr/bin", "/usr/local/bin")),
                    reason="tidemark is installed")
def test_no_tool(program):
    refused(program, "'t.tide'", "'tidemark' is not found: put it into a folder of PATH",
            TIDEMARK="", PATH="/nowhere", HOME="/nowhere")
