"""The Python package: what a program says of itself reaches the trace, and costs nothing otherwise."""

import json
import os
import pathlib
import runpy
import shutil
import subprocess

import pytest

from pythons import every_python, script

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"
TIDE = runpy.run_path(str(ROOT / "docs" / "tide.py"))


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def told(run, tmp_path):
    """told(code) -> the records of the trace that a program with this code leaves"""

    def call(code, *how, status=0):
        script, trace = tmp_path / "program.py", tmp_path / "t.tide"
        script.write_text(code, encoding="utf-8")
        done = run("record", "-q", *how, "-f", "-o", trace, PYTHON, script, env=environment(), timeout=120)
        assert done.returncode == status, done.stderr
        return list(TIDE["read"](trace.read_bytes()))

    return call


def names_of(records):
    return {r["string"]: r["text"] for r in records if r["kind"] == "STRING"}


def spans(records):
    """Each region: its name, when it began and ended (None: never), its threads."""
    names, out = names_of(records), {}
    for r in records:
        if r["kind"] == "REGION":
            out[r["region"]] = [names[r["name"]], r["time_ns"], None, r["thread"]]
        elif r["kind"] == "REGION_END":
            out[r["region"]][2] = r["time_ns"]
    return list(out.values())


def test_nothing_happens_when_not_recorded(tmp_path):
    script = tmp_path / "p.py"
    script.write_text("""
import tidemark
with tidemark.region("a") as r: pass
@tidemark.region
def f(): return 3
@tidemark.profile
def g(): return 4
tidemark.step(); tidemark.mark("m", 1); tidemark.snapshot(); tidemark.label("k", "v")
tidemark.pause(); tidemark.resume(); tidemark.start(); tidemark.stop()
assert tidemark.describe([1], "anything") == [1]
with tidemark.torch.attach("no model"): pass
import sys
assert "torch" not in sys.modules
assert not tidemark.recording()
print(f() + g(), f.__name__)
""", encoding="utf-8")
    done = subprocess.run([PYTHON, script], env=environment(), capture_output=True, text=True,
                          timeout=60, check=True)
    assert done.stdout == "7 f\n"


def test_regions_close_whatever_happens(told):
    records = told("""
import asyncio, threading, tidemark
assert tidemark.recording()

with tidemark.region("plain"):
    pass
try:
    with tidemark.region("raises"):
        raise ValueError
except ValueError:
    pass

@tidemark.region
def recursive(n):
    return n and recursive(n - 1)
recursive(3)

@tidemark.region("generator")
def numbers():
    for i in range(3):
        yield i
assert list(numbers()) == [0, 1, 2]
left = numbers(); next(left); left.close()

@tidemark.region("coroutine")
async def wait(n):
    await asyncio.sleep(0.01 * n)
    return n

@tidemark.region("stream")
async def stream():
    try:
        got = yield 1
        assert got == 5
        yield 2
    except KeyError:
        yield 9

async def main():
    assert await asyncio.gather(wait(1), wait(2), wait(1)) == [1, 2, 1]
    one = stream(); await one.__anext__(); assert await one.asend(5) == 2; await one.aclose()
    two = stream(); await two.__anext__(); assert await two.athrow(KeyError()) == 9; await two.aclose()
    assert [x async for x in numbers_again()] == [0, 1]

@tidemark.region("again")
async def numbers_again():
    for i in range(2):
        yield i
asyncio.run(main())

same = tidemark.region("same")
with same:
    with same:
        pass
threads = [threading.Thread(target=recursive, args=(0,)) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
""")
    all_spans = spans(records)
    count = {}
    for name, began, ended, _ in all_spans:
        count[name] = count.get(name, 0) + 1
        assert ended is not None and ended >= began, name
    assert count == {"plain": 1, "raises": 1, "recursive": 7, "generator": 2, "coroutine": 3,
                     "stream": 2, "again": 1, "same": 2}
    tasks = [s for s in all_spans if s[0] == "coroutine"]
    assert max(s[1] for s in tasks) < min(s[2] for s in tasks)  # they overlap


def test_marks_steps_and_functions(told):
    records = told("""
import tidemark
tidemark.mark("warm", 7)
for _ in range(3):
    tidemark.step()
tidemark.step("epoch", 41)
@tidemark.profile
def interesting():
    pass
class A:
    @tidemark.profile
    def method(self):
        pass
tidemark.label("tenant", "blue")
tidemark.snapshot("before")
""")
    names = names_of(records)
    marks = [(r["mark_kind"], names[r["name"]], r.get("value")) for r in records if r["kind"] == "MARK"]
    assert (0, "warm", 7) in marks
    assert [m[1:] for m in marks if m[0] == 1] == [("step", 1), ("step", 2), ("step", 3),
                                                   ("epoch", 41)]
    shown = [m[1].rsplit("/", 1)[-1] for m in marks if m[0] == 2]
    assert [s.split(":")[:2] for s in shown] == [["program.py", "7"], ["program.py", "11"]]
    assert shown[0].endswith(":interesting")
    assert any(m[1] == "before" for m in marks)
    assert any(r["kind"] == "LABEL" and names[r["value"]] == "blue" for r in records)


def test_nothing_is_recorded_while_paused(told):
    code = """
import tidemark
tidemark.pause()
hidden = bytearray(40 << 20)
tidemark.resume()
shown = bytearray(20 << 20)
"""
    records = told(code, "--exact")
    infos = [i for r in records if r["kind"] == "INFOS" for i in r["infos"]]
    sizes = {i[1] for i in infos}
    assert any(s >> 20 == 20 for s in sizes)
    assert not any(s >> 20 == 40 for s in sizes)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package as pip makes it from the source."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "python", source / "python")
    for name in ("pyproject.toml", "setup.cfg"):
        shutil.copy(ROOT / name, source)
    done = subprocess.run([PYTHON, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
                           "--wheel-dir", source, source], capture_output=True, text=True,
                          timeout=120, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("pip is not installed")
    assert done.returncode == 0, done.stderr
    made, = source.glob("*.whl")
    if made.name.startswith("UNKNOWN"):
        pytest.skip("setuptools is older than pyproject.toml asks for, and reads nothing of it")
    assert made.name.endswith("-py3-none-any.whl")
    return made


@every_python
def test_it_installs(wheel, tmp_path, python):
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
                           "--target", tmp_path, wheel], capture_output=True, text=True,
                          timeout=120, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("pip is not installed")
    assert done.returncode == 0, done.stderr
    code = "import tidemark, tidemark._annotated; print(tidemark.__file__)"
    said = subprocess.run([python, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.startswith(str(tmp_path))


def regions(run, tmp_path, *how):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", *how, "-f", "-o", trace, PYTHON, script("spans.py"), env=environment(),
               timeout=120)
    assert done.returncode == 0, done.stderr
    said = run("report", trace, "regions", "-f", "json")
    assert said.returncode == 0, said.stderr
    tables = {n: t["rows"] for n, t in json.loads(said.stdout)["tables"].items()}
    return {row["region"]: row for row in tables["regions"]}, tables["spans"]


def test_a_report_over_regions(run, tmp_path):
    rows, spans_ = regions(run, tmp_path, "--exact")
    assert {name: row["count"] for name, row in rows.items()} == {
        "load": 4, "parse": 4, "work": 1, "never": 1}
    load, parse, work = rows["load"], rows["parse"], rows["work"]
    assert 200e6 <= parse["total"] <= load["total"]
    assert abs(load["self"] - (load["total"] - parse["total"])) < 1e6
    assert load["mean"] == load["total"] // 4
    assert load["mean"] <= load["p95"] <= load["longest"]
    assert load["heap_change"] == pytest.approx(64 << 20, rel=0.02)
    assert abs(work["heap_change"]) < 2 << 20
    assert work["heap_most"] - (64 << 20) == pytest.approx(64 << 20, rel=0.2)
    assert work["rss_most"] > 64 << 20
    assert rows["never"]["not_ended"] == 1 and rows["never"]["total"] is None
    assert [s["region"] for s in spans_[:3]] == ["load", "parse", "load"]
    assert spans_[1]["inside"] == "load"


def test_regions_of_a_program_that_named_none(run, tmp_path):
    trace = tmp_path / "t.tide"
    run("record", "-q", "-f", "-o", trace, "true")
    said = run("report", trace, "regions")
    assert said.returncode == 0 and "named no regions" in said.stdout


def test_what_is_described_is_told_by_where_it_begins(told):
    """A tensor by its storage, an array by what it is a view of, and all that a list or a dict has."""
    records = told("""
import tidemark

class Tensor:
    def __init__(self, at):
        self.at = at
    def untyped_storage(self):
        return self
    def data_ptr(self):
        return self.at

class Array:
    base = None
    def __init__(self, at):
        self.__array_interface__ = {"data": (at, False)}

view = Array(0x5010)
view.base = Array(0x5000)
assert tidemark.describe(view, "inputs") is view
tidemark.describe({"k": Tensor(0x6000), "v": (Tensor(0x7000), None)}, "kv cache", "layers.0")
tidemark.describe(Tensor(0), "a tensor without memory")
try:
    tidemark.describe("text", "inputs")
except TypeError as error:
    assert "not str" in str(error)
else:
    raise AssertionError
""")
    names = names_of(records)
    assert [(r["address"], names[r["what"]], names.get(r["name"]) or None) for r in records
            if r["kind"] == "DESCRIBED"] == [
        (0x5000, "inputs", None), (0x6000, "kv cache", "layers.0"), (0x7000, "kv cache", "layers.0")]


@pytest.mark.parametrize("how", ["--exact", "--exact=4K"])
def test_what_is_described_is_found_in_every_way_of_recording(told, how):
    """Where blocks have no addresses in the trace, by what they have in common: size and stack."""
    records = told("""
import ctypes, tidemark
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]

class Tensor:
    def __init__(self, at):
        self.data_ptr = lambda: at
    def untyped_storage(self):
        return self

tidemark.describe(Tensor(libc.malloc(123457)), "kv cache")
""", how)
    described = [r for r in records if r["kind"] == "DESCRIBED"]
    assert len(described) == 1
    if how == "--exact":
        sizes = {info: size for r in records if r["kind"] == "INFOS" for info, size, *_ in r["infos"]}
        assert sizes[described[0]["info"]] == 123457
    else:
        made = [r for r in records if r["kind"] == "ALLOC" and r["address"] == described[0]["address"]]
        assert made[-1]["bytes"] == 123457 and described[0]["info"] == 0
