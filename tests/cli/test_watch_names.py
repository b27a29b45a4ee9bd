"""record --watch NAME: parameters and buffers of models are watched without a change to the program."""

import json
import subprocess

import pytest

from pythons import needs_torch, torch_python

MODEL = """
import sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.norm = nn.LazyLinear(width), nn.BatchNorm1d(width)
    def forward(self, x):
        return torch.relu(self.norm(self.a(x)))     # line 11
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(64), Block(4096)])
        self.head = nn.Linear(4096, 8)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
net, x = Net(), torch.randn(8, 32)
net(x)                                              # lazy layers come to be
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net(x).pow(2).mean().backward()
    optimizer.step()                                # line 26
    optimizer.zero_grad()
with torch.no_grad():
    net.blocks[1].a.weight[100:101].mul_(0.5)       # line 29
print(sum(p.double().sum().item() for p in net.parameters()))
print(torch.nn.Module.__call__ is torch.nn.Module._wrapped_call_impl, "_tidemark" in sys.modules)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "p.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


@pytest.fixture
def recorded(run, tmp_path):
    """recorded(options, command...) -> the ended command; its answer is in .tables"""

    def call(options, *command):
        path = tmp_path / "t.tide"
        done = run("record", "-q", "--force", "-o", path, *options, *command, timeout=600)
        assert done.returncode == 0, done.stderr
        answer = run("report", path, "watch", "-f", "json")
        assert answer.returncode == 0, answer.stderr
        done.tables = json.loads(answer.stdout)["tables"]
        return done

    return call


def line_of(row):
    return int(row["site"].rsplit(":", 1)[-1].rstrip(")"))


@needs_torch
def test_who_writes_to_tensors_that_are_named(recorded, script):
    alone = subprocess.run([torch_python(), script], capture_output=True, text=True, check=True, timeout=300)
    done = recorded(["--watch", "Net.blocks.1.a.weight", "--watch", "blocks.1.norm.running_*"], torch_python(), script)
    assert done.stdout == alone.stdout and "--watch" not in done.stderr
    blocks = {row["name"]: row for row in done.tables["watched"]["rows"]}
    assert {name: row["bytes"] for name, row in blocks.items()} == {
        "Net.blocks.1.a.weight": 4 * 64 * 4096, "Net.blocks.1.norm.running_mean": 4 * 4096,
        "Net.blocks.1.norm.running_var": 4 * 4096}
    writes = [(row["name"], row["op"], row["declared"], line_of(row)) for row in done.tables["writes"]["rows"]]
    weight = [row[1:] for row in writes if row[0] == "Net.blocks.1.a.weight"]
    assert set(weight) == {("add__Tensor", "yes", 26), ("mul__Tensor", "yes", 29)}
    halved = next(row for row in done.tables["writes"]["rows"] if row["op"] == "mul__Tensor")
    assert 4 * 64 * 100 <= halved["offset"] < 4 * 64 * 101
    # A schema of batch_norm does not say that it writes, though it does.
    assert all(op == "native_batch_norm" and declared is None and line == 11
               for name, op, declared, line in writes if "running" in name)
    assert {name for name, *_ in writes if "running" in name} == {"Net.blocks.1.norm.running_mean",
                                                                  "Net.blocks.1.norm.running_var"}


@needs_torch
def test_a_name_that_no_model_has_is_said(recorded, script):
    done = recorded(["--watch", "Net.bocks.1.a.weight", "--watch", "head.weight"], torch_python(), script)
    said = [line for line in done.stderr.splitlines() if line.startswith("tidemark: ")]  # PyTorch warns as well
    assert len(said) == 1 and said[0].startswith("tidemark: --watch Net.bocks.1.a.weight: no model of PyTorch")
    note = done.tables["watched"]["note"]
    assert note.startswith("Asked for with --watch, but not found: Net.bocks.1.a.weight; Net, which was called, has Net.blocks.0.a.weight,")
    assert [row["name"] for row in done.tables["watched"]["rows"]] == ["Net.head.weight"]


def test_without_pytorch_it_is_said_as_well(recorded):
    done = recorded(["--watch", "a.b"], "true")
    assert done.stderr.startswith("tidemark: --watch a.b: no model") and done.stderr.count("\n") == 1
    assert done.tables["watched"]["note"] == "Asked for with --watch, but not found: a.b; no model of PyTorch was called."


@pytest.mark.parametrize("names, sentence", [
    ([""], "--watch: it takes the name of a tensor"),
    (["a\nb"], "--watch: it takes the name of a tensor"),
    (["x" * 128], "a name for --watch has at most 127 bytes"),
    ([f"n{i}" for i in range(33)], "too many names are given to --watch"),
    (["x" * 120 + str(i) for i in range(9)], "too many names are given to --watch"),
])
def test_names_that_cannot_be_are_refused(run, tmp_path, names, sentence):
    words = [word for name in names for word in ("--watch", name)]
    done = run("record", "-o", tmp_path / "t.tide", *words, "true")
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "t.tide").exists()
