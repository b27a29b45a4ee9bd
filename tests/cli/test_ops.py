"""Operators with their beginning and end (record --ops): what they did by construction, a stand-in for PyTorch in every
Python, and PyTorch itself where it is installed."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import tensormaker
from pythons import NO_TORCH, every_python, torch_python

PYTHON = "/usr/bin/python3"


@pytest.fixture
def ask(run, tmp_path):
    """ask(life or trace, option...) -> facts, their note, {op: row of calls}"""

    def call(life, *options):
        path = tensormaker.make(tmp_path / "t.tide", life) if isinstance(life, str) else life
        done = run("report", path, "ops", "-f", "json", "--limit", "1000", *options)
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        rows = tables["calls"]["rows"] if "calls" in tables else []
        return tables["facts"]["values"], tables["facts"].get("note"), {row["op"]: row for row in rows}

    return call


# (what happens, {operator: (calls, above_entry, own, allocated, freed)})
VECTORS = [
    ("%a x=other/mm/1000 %b y=other/mm/500 -y % -x z=other/mm/300 %",
     {"a": (1, 1500, 1300, 1800, 1500), "b": (1, 500, 500, 500, 500)}),
    # one in itself: of its name once, but two calls
    ("%a x=other/mm/1000 %a y=other/mm/500 % %", {"a": (2, 1500, 1500, 1500, 0)}),
    # what was there before is not above its beginning, and what it frees of that lowers nothing
    ("x=other/mm/9000 %a -x y=other/mm/500 %", {"a": (1, 0, 500, 500, 9000)}),
    # the most of one call, not of all
    ("%a x=other/mm/700 % %a y=other/mm/200 % %c %", {"a": (2, 700, 900, 900, 0), "c": (1, 0, 0, 0, 0)}),
    # ends without a beginning are nothing
    ("% % %a x=other/mm/10 % % y=other/mm/5", {"a": (1, 10, 10, 10, 0)}),
    # and what does not end counts as far as it came
    ("%a x=other/mm/10 %b y=other/mm/20", {"a": (1, 30, 10, 30, 0), "b": (1, 20, 20, 20, 0)}),
]


@pytest.mark.parametrize("life, expected", VECTORS, ids=[str(i) for i in range(len(VECTORS))])
def test_what_an_operator_did_from_its_beginning_to_its_end(ask, life, expected):
    facts, _, rows = ask(life)
    names = ("calls", "above_entry", "own", "allocated", "freed")
    assert {op: tuple(row[name] for name in names) for op, row in rows.items()} == expected
    assert facts["op_calls"] == sum(row[0] for row in expected.values())
    assert facts["op_calls_unended"] == (2 if life.endswith("/20") else 0)


def test_operators_of_a_stretch_of_time(ask):
    facts, _, rows = ask("%a x=other/mm/700 % %b y=other/mm/200 %", "--from", "3.5ms")
    assert set(rows) == {"b"} and facts["op_calls"] == 2


def test_others_are_summed_as_far_as_they_add_up(run, tmp_path):
    path = tensormaker.make(tmp_path / "t.tide", "%a x=other/mm/700 % %b y=other/mm/200 % %b % %c %")
    done = run("report", path, "ops", "-f", "json", "--limit", "1")
    rest = json.loads(done.stdout)["tables"]["calls"]["rows"][1]
    assert (rest["op"], rest["calls"], rest["own"], rest["allocated"]) == ("(2 smaller ones)", 3, 200, None)


def test_a_trace_without_them_has_no_such_table(ask):
    facts, note, rows = ask("x=other/mm/1000 -x")
    assert not rows and "op_calls" not in facts and note is None


# ---- recording


@pytest.mark.parametrize("how, why", [(("--exact",), b"--exact=4KiB"), (("--cpu-only",), b"--cpu-only")])
def test_what_keeps_no_order_is_refused(run, tmp_path, how, why):
    done = run("record", "--ops", *how, "-o", tmp_path / "x.tide", "true", text=False)
    assert done.returncode == 125 or done.returncode == 2
    assert why in done.stderr and done.stderr.count(b"\n") == 1 and not (tmp_path / "x.tide").exists()


def test_another_listener_is_not_silenced(run, tmp_path, monkeypatch):
    monkeypatch.setenv("INTEL_LIBITTNOTIFY64", "/opt/vtune/lib.so")
    done = run("record", "--ops", "-o", tmp_path / "x.tide", "true")
    assert done.returncode != 0 and "INTEL_LIBITTNOTIFY64, which is set to '/opt/vtune/lib.so'" in done.stderr
    assert run("record", "-q", "-o", tmp_path / "x.tide", "true").returncode == 0


def test_a_program_without_pytorch_says_so_in_the_answer(run, ask, tmp_path):
    assert run("record", "-q", "--ops", "-o", tmp_path / "x.tide", PYTHON, "-c", "pass").returncode == 0
    _, note, rows = ask(tmp_path / "x.tide")
    assert not rows and "no process has loaded PyTorch" in note


def test_what_is_said_of_an_option_is_no_mark_of_the_program(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
    code = "import tidemark; tidemark.mark('tidemark: --ops: why'); tidemark.mark('mine')"
    done = run("record", "-q", "-o", tmp_path / "x.tide", PYTHON, "-c", code)
    assert done.returncode == 0, done.stderr
    for question, table in (("snapshots", "snapshots"), ("steps", "marks")):
        rows = json.loads(run("report", tmp_path / "x.tide", question, "-f", "json").stdout)["tables"][table]["rows"]
        assert [row["name"] for row in rows] == ["mine"], question


# A torch that has PyTorch's names, and tells what becomes of its profiler.
STAND_IN = """
import ctypes, os, sys
assert __spec__._initializing
said = []
ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libtorch_python.so"))
for _ in range(1000):
    pass
import types
def module(name, **names):
    m = types.ModuleType("torch." + name)
    m.__dict__.update(names)
    sys.modules["torch." + name] = m
    return m
profiler = module("profiler", itt=module("profiler.itt", is_available=lambda: {itt}))
p = module("autograd.profiler", ProfilerState=types.SimpleNamespace(ITT="itt"), _ExperimentalConfig=lambda: None,
           ProfilerConfig=lambda state, *more: state,
           _prepare_profiler=lambda config, what: said.append("prepare"),
           _enable_profiler=lambda config, what: said.append(config), _disable_profiler=lambda: said.append("off"))
autograd = module("autograd", profiler=p)
assert not said  # not before it is complete
"""
USER = """
import threading, torch
for _ in range(1000):
    pass
p = torch.autograd.profiler
t = threading.Thread(target=lambda: torch.said.append("in a thread")); t.start(); t.join()
p._prepare_profiler("mine", set()); p._enable_profiler("mine", set()); p._disable_profiler()
assert "_tidemark" not in dir(torch) and "start" not in globals() and type(torch.__spec__).__name__ == "ModuleSpec"
print(*torch.said)
"""


@pytest.fixture
def stand_in(tmp_path):
    """stand_in(itt) -> the environment of a program that will import it"""

    def make(itt):
        folder = tmp_path / "lib" / "torch"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(STAND_IN.replace("{itt}", str(itt)), encoding="utf-8")
        source = tmp_path / "empty.c"
        source.write_text("int nothing;\n", encoding="utf-8")
        subprocess.run([shutil.which("cc"), "-shared", "-o", folder / "libtorch_python.so", source], check=True)
        return os.environ | {"PYTHONPATH": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1"}

    return make


@every_python
def test_its_profiler_is_switched_on_once_it_is_complete_and_makes_way(run, stand_in, tmp_path, python):
    done = run("record", "-q", "--ops", "-o", tmp_path / "x.tide", python, "-c", USER, env=stand_in(True), timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[0] == "itt itt in a thread off off prepare mine off itt"


def test_nothing_runs_unless_it_is_asked_for(run, stand_in, tmp_path):
    done = run("record", "-q", "-o", tmp_path / "x.tide", PYTHON, "-c", USER, env=stand_in(True), timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[0] == "in a thread prepare mine off"


def test_one_without_itt_is_named(run, ask, stand_in, tmp_path):
    done = run("record", "-q", "--ops", "-o", tmp_path / "x.tide", PYTHON, "-c", USER, env=stand_in(False), timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    _, note, rows = ask(tmp_path / "x.tide")
    assert not rows and "built without ITT" in note


# ---- PyTorch itself

TRAIN = """
import sys, threading, torch
from torch import nn
import torch.nn.functional as F
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10))
x, y = torch.randn(64, 128), torch.randint(0, 10, (64,))
optimizer = torch.optim.Adam(model.parameters())
def steps():
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
def work():
    steps()
    big = torch.ones(1 << 20)
    big.neg().neg()
t = threading.Thread(target=work)
"""
MINE = TRAIN + """
with torch.profiler.profile() as mine:
    steps()
assert any(e.key == "aten::addmm" for e in mine.key_averages())
work()
"""
TRUTH = TRAIN + """
import json
with torch.profiler.profile() as mine:
    work()
print(json.dumps({e.key: e.count for e in mine.key_averages()}))
"""

needs_torch = pytest.mark.skipif(not torch_python(), reason=NO_TORCH)


@needs_torch
@pytest.mark.parametrize("then", ["work()", "t.start(); t.join()"], ids=["main thread", "another thread"])
def test_every_operator_of_pytorch_counts(run, ask, tmp_path, then):
    script = tmp_path / "train.py"
    script.write_text(TRUTH, encoding="utf-8")
    truth = json.loads(subprocess.run([torch_python(), "-W", "ignore", script], check=True, capture_output=True,
                                      text=True, timeout=300).stdout)
    script.write_text(TRAIN + then + "\n", encoding="utf-8")
    done = run("record", "-q", "--ops", "-o", tmp_path / "x.tide", torch_python(), "-W", "ignore", script, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    facts, _, rows = ask(tmp_path / "x.tide")
    ours = {op: row["calls"] for op, row in rows.items()}
    assert facts["op_calls_unended"] == 0
    # to build a model takes operators as well, and none of these
    for op in ("aten::addmm", "aten::mm", "AddmmBackward0", "aten::relu", "Optimizer.step#Adam.step", "aten::neg",
               "aten::addcdiv_", "aten::cross_entropy_loss"):
        assert ours[op] == truth[op], op
    assert all(ours[op] >= count for op, count in truth.items() if op.startswith("aten::"))
    # two results of 4 MiB, of which the first is needed by the second
    assert (rows["aten::neg"]["own"], rows["aten::neg"]["above_entry"]) == (8 << 20, 4 << 20)


@needs_torch
def test_a_program_that_profiles_itself_does_so_undisturbed(run, ask, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(MINE, encoding="utf-8")
    done = run("record", "-q", "--ops", "-o", tmp_path / "x.tide", torch_python(), "-W", "ignore", script, timeout=600)
    assert done.returncode == 0, done.stderr
    _, _, rows = ask(tmp_path / "x.tide")
    assert rows["aten::relu"]["calls"] == 4  # while it was at it, none was told
