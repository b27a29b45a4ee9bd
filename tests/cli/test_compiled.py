"""Tensors of compiled code (torch.compile) are named by the kernel that they are made for; those of JAX as far as its frames go."""

import json
import os
import re
import shutil

import pytest

import tensormaker
from pythons import needs_jax, needs_torch, jax_python, torch_python

# As Inductor writes it, shortened.
SOURCE = """\
def call(self, args):
    buf0 = empty_strided_cpu((8, 32, 128), (4096, 128, 1), torch.float32)
    buf1 = empty_strided_cpu((8, 32, 1), (32, 1, 256), torch.float32)
    buf2 = buf1; del buf1  # reuse
    cpp_fused_embedding_native_layer_norm_0(buf2, primals_2, buf0)
    buf6 = empty_strided_cpu((256, 512), (512, 1), torch.float32)
    # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm, buf6]
    extern_kernels.addmm(primals_6, reinterpret_tensor(buf0, (256, 128), (128, 1), 0), alpha=1, out=buf6)
    buf7 = empty_strided_cuda((8, ), (1, ), torch.float32)
    buf8 = reinterpret_tensor(buf7, (8, 1), (1, 1), 0); del buf7  # reuse
    buf71 = buf6
    triton_poi_fused_gelu_3.run(buf8, 256, stream=stream0)
    buf9 = empty_strided_cpu((256, 512), (512, 1), torch.float32)
    return (buf0, )
"""


@pytest.fixture
def ops(run):
    """ops(trace) -> its rows by operator, and the note"""

    def ask(path):
        done = run("report", path, "ops", "-f", "json", "--limit", "1000")
        assert done.returncode == 0, done.stderr
        table = json.loads(done.stdout)["tables"]["ops"]
        return {row["op"]: row for row in table["rows"]}, table.get("note")

    return ask


@pytest.mark.parametrize("line, name", [
    (2, "fused_embedding_native_layer_norm "), (3, "fused_embedding_native_layer_norm "), (6, "addmm "), (9, "fused_gelu "),
    (13, ""), (999, "")])
def test_a_buffer_is_named_by_the_kernel_that_it_is_made_for(ops, tmp_path, line, name):
    path = tensormaker.make(tmp_path / "t.tide", f"a=compiled/{line}/5000 -a", source=SOURCE)
    rows, _ = ops(path)
    assert list(rows) == [f"inductor {name}cfwt.py:{line}"]
    row = rows[f"inductor {name}cfwt.py:{line}"]
    assert row["phase"] == "forward" and row["module"] == "Net" and row["line"] == "Net.forward (/srv/app/train.py:20)"


def test_without_the_text_the_line_alone_is_named(ops, tmp_path):
    rows, _ = ops(tensormaker.make(tmp_path / "t.tide", "a=compiled/6/5000 -a"))
    assert list(rows) == ["inductor cfwt.py:6"]


@pytest.mark.parametrize("source", ["buf0", "buf0 = ", "buf0 = f(\nbuf0", " = \n", "buf0 = f()\nbuf0 = buf0\nbuf0(", "buf0 = f()\n(buf0",
                                    "buf0 = f()\nx.y z(buf0)", "buf0 = f()\nfused_(buf0)", "#\n#"])
def test_text_that_is_not_as_expected_names_nothing_wrong(ops, tmp_path, source):
    rows, _ = ops(tensormaker.make(tmp_path / "t.tide", "a=compiled/1/5000 -a", source=source))
    assert len(rows) == 1 and re.fullmatch(r"inductor (\w+ )?cfwt\.py:1", *rows)


def test_frames_of_jax_say_that_it_is_a_tensor_and_no_more(ops, run, tmp_path):
    path = tensormaker.make(tmp_path / "t.tide", "a=xla/x/50000 b=xla/x/60000 -a")
    rows, note = ops(path)
    assert [(row["op"], row["kind"], row["allocated"]) for row in rows.values()] == [(None, "other tensors", 110000)]
    assert note.startswith("Frames of JAX name no operator")


COMPILED = """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64))
model, optimizer = torch.compile(net), torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(48, 64)
    model(x).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def first_call(lines):
    """The first line that does something with the buffer that the first one makes."""
    buffer = re.match(r" *(\w+) = empty_strided_cpu", lines[0])[1]
    for line in lines[1:]:
        alias = re.match(rf" *(\w+) = (?:reinterpret_tensor\()?{buffer}\b", line)
        if alias:
            buffer = alias[1]
        elif re.search(rf"^ *[\w.]+\(.*\b{buffer}\b", line):
            return line
    raise AssertionError(buffer)


@needs_torch
@pytest.mark.skipif(not shutil.which("g++"), reason="there is no C++ compiler, which torch.compile needs")
def test_a_compiled_model_forward_and_backward(run, ops, tmp_path):
    script, trace = tmp_path / "p.py", tmp_path / "t.tide"
    script.write_text(COMPILED, encoding="utf-8")
    env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torchinductor_test"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = run("record", "-q", "--exact=4096", "-o", trace, torch_python(), script, env=env, timeout=1200)
    assert done.returncode == 0, done.stderr
    rows, _ = ops(trace)
    inductor = {op: row for op, row in rows.items() if (op or "").startswith("inductor ")}
    assert {row["phase"] for row in inductor.values()} == {"forward", "backward"}
    sources = {path.name: path.read_text(encoding="utf-8").splitlines()
               for path in (tmp_path / "torchinductor_test").rglob("*.py")}
    for op, row in inductor.items():
        _, kernel, file, line = re.split(r"[ :]", op)
        assert kernel in first_call(sources[file][int(line) - 1:])
    assert any("addmm" in op for op in inductor) and any("gelu" in op for op in inductor)
    unnamed = sum(row["allocated"] for op, row in rows.items() if not op)
    assert unnamed <= 4 * 5056  # the states of random numbers, which compiling saves, are made by no operator


JAX = """
import jax, jax.numpy as jnp
step = jax.jit(lambda w, x: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w))
w, x = jnp.ones((300, 500)), jnp.ones((64, 300))
for _ in range(5):
    w = step(w, x)
print(w.nbytes, float(w.sum()))
"""


@needs_jax
def test_arrays_of_jax_are_tensors(run, ops, tmp_path):
    script, trace = tmp_path / "p.py", tmp_path / "t.tide"
    script.write_text(JAX, encoding="utf-8")
    done = run("record", "-q", "-o", trace, jax_python(), script, timeout=1200)
    assert done.returncode == 0, done.stderr
    rows, note = ops(trace)
    assert set(rows) == {None} and note.startswith("Frames of JAX")
    assert rows[None]["kind"] == "other tensors" and rows[None]["allocated"] >= 5 * 600000
