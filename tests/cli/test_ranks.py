"""Which rank of a distributed program a process is: by the environment of its launcher, by what it sets there itself,
and by its own word; --rank, and ranks compared."""

import json
import os
import pathlib
import subprocess

import pytest

from pythons import needs_torch, torch_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEEP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def held(size):
    libc.malloc(ctypes.c_size_t(size))
"""
# Two processes as a launcher starts them, one of which has a child.
LAUNCHED = KEEP + """
import subprocess
if len(sys.argv) > 1:
    held((1 + int(os.environ["RANK"])) << 20)
    if os.environ["RANK"] == "1" and os.fork() == 0:
        held(5 << 20)
        os._exit(0)
    os.environ["RANK"] == "1" and os.wait()
else:
    for rank in "01":
        subprocess.run([sys.executable, __file__, "worker"], check=True,
                       env={**os.environ, "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "SECRET": "hunter2"})
"""
SET_LATER = KEEP + """
os.environ["RANK"] = "3"
os.environ["WORLD_SIZE"] = "a word"
held(1 << 20)
"""
TOLD = KEEP + """
import tidemark
tidemark.rank(7, 8)
held(1 << 20)
"""


@pytest.fixture
def recorded(tidemark, tmp_path):
    """recorded(program, **environment) -> its trace"""

    def record(text, **environment):
        script, trace = tmp_path / "program.py", tmp_path / "program.tide"
        script.write_text(text)
        subprocess.run([tidemark, "record", "-q", "--exact", "-o", trace, "/usr/bin/python3", script], check=True,
                       timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment})
        return trace

    return record


@pytest.fixture
def ask(run):
    def tables(trace, *words):
        done = run("report", trace, *words, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]

    return tables


def ranks(tables):
    return [(row["rank"], row["local_rank"], row["world_size"]) for row in tables["processes"]["rows"]]


def test_processes_of_a_launcher_have_their_ranks(run, recorded, ask):
    trace = recorded(LAUNCHED)
    assert sorted(filter(any, map(lambda r: [x is not None and x + 1 for x in r], ranks(ask(trace, "processes"))))) == [
        [1, 1, 3], [2, 2, 3], [2, 2, 3]]
    assert "rank" in run("report", trace, "processes").stdout
    assert b"hunter2" not in trace.read_bytes()


def test_a_question_is_about_one_rank_and_what_it_has_started(recorded, ask):
    trace = recorded(LAUNCHED)
    for rank, sizes in ("0", {1 << 20}), ("1", {2 << 20, 5 << 20}):
        tables = ask(trace, "histogram", "--rank", rank)
        assert json.dumps(tables) != json.dumps(ask(trace, "histogram"))
        rows = ask(trace, "leaks", "--rank", rank)["leaks"]["rows"]
        assert sizes <= {row["bytes"] for row in rows}, rows


def test_two_ranks_are_compared(run, recorded):
    done = run("diff", recorded(LAUNCHED), "--rank", "0", "--rank", "1", "-f", "json")
    answer = json.loads(done.stdout)
    change = answer["tables"]["totals"]["values"]["peak_change"]
    assert abs(change - (6 << 20)) < 1 << 18 and "rank 1" in answer["asked"]


def test_what_a_program_sets_itself_counts_if_it_is_a_number(recorded, ask):
    assert ranks(ask(recorded(SET_LATER, SLURM_PROCID="9", SLURM_NTASKS="12"), "processes")) == [(3, None, 12)]


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK",
                                      "SLURM_PROCID"])
def test_other_launchers_are_known(recorded, ask, variable):
    assert ranks(ask(recorded(KEEP + "held(1 << 20)", **{variable: "4"}), "processes")) == [(4, None, None)]


def test_the_word_of_the_program_is_the_strongest(recorded, ask):
    assert ranks(ask(recorded(TOLD, RANK="1", WORLD_SIZE="2"), "processes")) == [(7, None, 8)]


GONE = """
import ctypes, os, sys
environ = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ")
gone, kept = (ctypes.c_void_p * 2)(1, 0), environ.value
environ.value = ctypes.addressof(gone)
child = os.fork()
if not child:
    held = [bytes(1 << 16) for _ in range(100)]
    os._exit(0)
environ.value = kept
sys.exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.parametrize("how", ["--exact", "--sample=64KiB"])
def test_an_environment_that_is_gone_is_not_read(run, ask, tmp_path, how):
    """As in a shell, which frees the words of its environment before it makes the next."""
    (tmp_path / "p.py").write_text(GONE)
    done = run("record", "-q", how, "-o", tmp_path / "t.tide", "/usr/bin/python3", tmp_path / "p.py",
               env={**os.environ, "RANK": "3"})
    assert done.returncode == 0, done.stderr
    assert ranks(ask(tmp_path / "t.tide", "processes")) == [(3, None, None)] * 2


@pytest.mark.parametrize("words, says", [(["--rank", "x"], "is not a rank"), (["--rank", "9"], "has no rank 9"),
                                         (["--rank", "0", "--process", "1"], "--process")])
def test_a_rank_that_is_not_there_is_refused(run, recorded, words, says):
    done = run("report", recorded(LAUNCHED), "peak", *words)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_where_nobody_has_a_rank_it_is_said(run, recorded):
    done = run("report", recorded(KEEP + "held(1 << 20)"), "peak", "--rank", "0")
    assert done.returncode == 2 and "no process of this trace says which rank it is" in done.stderr


# It leaves without Python's end: a thread of gloo may still hold what it was given then, and aborts the process when it
# asks for the interpreter to give that back (plain ones do as well, see bench/RESULTS.md; pytorch/pytorch#190489).
TRAINING = """
import os, torch, torch.nn as nn, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
net = nn.parallel.DistributedDataParallel(nn.Linear(256, 512))
optimizer, kept = torch.optim.Adam(net.parameters()), []
for step in range(4):
    out = net(torch.randn(64, 256))
    if dist.get_rank() == 1:
        kept.append(out.detach().repeat(16, 4))
    optimizer.zero_grad()
    out.sum().backward()
    optimizer.step()
dist.destroy_process_group()
os._exit(0)
"""


@needs_torch
def test_ranks_of_torchrun_are_compared_by_operator(run, tidemark, tmp_path):
    script, trace = tmp_path / "train.py", tmp_path / "train.tide"
    script.write_text(TRAINING)
    done = subprocess.run([tidemark, "record", "-q", "-o", trace, torch_python(), "-m", "torch.distributed.run",
                           "--standalone", "--nproc-per-node", "2", script], timeout=300, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    done = run("diff", trace, "--rank", "0", "--rank", "1", "--per-op", "-f", "json")
    rows = json.loads(done.stdout)["tables"]["ops"]["rows"]
    changes = [row["change"] for row in rows]  # a rank may make a bucket of its gradients once more than the other
    assert changes[:4] == [64 * 16 * 512 * 4 * 4] * 4 and all(c < 1 << 20 for c in changes[4:])
    loops = json.loads(run("report", trace, "steps", "-f", "json").stdout)["tables"]["loops"]["rows"]
    assert sorted((row["rank"], row["steps"]) for row in loops) == [(0, 4), (1, 4)]
