"""Memory that was asked for in vain: every call is in the trace with its size and line, and `oom` tells what
was held then, or when a program was killed."""

import json
import os
import pathlib
import subprocess

import pytest

import tensormaker as tm
from pythons import needs_torch, torch_python
from running import until

TIB, MIB = 1 << 40, 1 << 20


@pytest.fixture
def refused(run, target, tmp_path):
    """refused(how, *options) -> the trace of a program that was refused memory, or killed"""

    def call(how, *options, status=0):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--no-cpu", *options, "-o", trace, target("record/refused"), how)
        assert done.returncode == status, done.stderr
        return trace

    return call


@pytest.mark.parametrize("options", [[], ["--exact"], ["--exact=4KiB"]])
def test_every_way_to_ask_in_vain_is_told(refused, ask, options):
    tables = ask(refused("each", *options), "spaces")["tables"]
    rows = tables["failed"]["rows"]
    calls = {r["call"] for r in rows}
    assert calls == {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "mmap", "mremap"}
    for row in rows:
        assert (row["space"], row["asked_for"], row["times"], row["status"]) == ("host", TIB, 1, "12")
        assert row["site"].startswith("ask_to_move (" if row["call"] == "mremap" else "ask_each (")
    assert tables["spaces"]["rows"][0]["failed"] == 7


def test_a_failed_realloc_leaves_its_block_alive(refused, ask):
    rows = ask(refused("each", "--exact"), "leaks", "--at", "peak")["tables"]["facts"]["values"]
    assert rows["alive"] >= 100 * MIB


def test_thousands_of_failures_are_counted_and_not_all_told(refused, ask, run):
    trace = refused("often")
    (row,) = ask(trace, "spaces")["tables"]["failed"]["rows"]
    assert (row["call"], row["times"]) == ("malloc", 4000)  # one in a thousand tells of those before it
    assert os.path.getsize(trace) < 1 * MIB


def test_a_pause_tells_nothing(refused, ask):
    assert "failed" not in ask(refused("each", "--start-paused"), "spaces")["tables"]


# ---- oom ----

def facts(answer):
    return answer["tables"]["facts"]["values"]


@pytest.mark.parametrize("options", [[], ["--exact"], ["--exact=4KiB"]])
def test_what_was_held_when_memory_was_refused_is_told_though_all_was_freed_since(refused, ask, options):
    answer = ask(refused("each", *options), "oom")
    told = facts(answer)
    assert told["what"] == "an allocation was refused" and told["process"] == "refused"
    assert told["asked_for"] == TIB and told["call"] == "mmap" and told["site"].startswith("ask_each (")
    held = answer["tables"]["held"]["rows"]
    assert (held[0]["bytes"], held[0]["blocks"]) == (100 * MIB, 5) and held[0]["site"].startswith("hold (")
    assert told["live_heap"] >= 100 * MIB
    largest = answer["tables"]["largest"]["rows"]
    assert [r["bytes"] for r in largest[:5]] == 5 * [20 * MIB]
    if options == ["--exact=4KiB"]:
        assert [r["bytes"] for r in answer["tables"]["latest"]["rows"]][1:] == 9 * [10000]
    assert len(answer["tables"]["refused"]["rows"]) == 7


@pytest.mark.parametrize("how, signal, what", [("kill", 9, "SIGKILL"), ("abort", 6, "SIGABRT")])
@pytest.mark.parametrize("options", [[], ["--exact"]])
def test_what_was_held_when_a_process_was_killed(refused, ask, how, signal, what, options):
    answer = ask(refused(how, *options, status=128 + signal), "oom")
    assert facts(answer)["what"] == f"a process ended by {what}"
    assert answer["tables"]["held"]["rows"][0]["bytes"] == 100 * MIB
    assert [r["bytes"] for r in answer["tables"]["largest"]["rows"][:5]] == 5 * [20 * MIB]


def test_a_program_that_had_enough_is_said_to_have_had(refused, run):
    done = run("report", refused("well"), "oom")
    assert done.returncode == 0 and "Memory did not run out: no allocation was refused" in done.stdout


def test_refused_memory_deserves_a_look_and_enough_of_it_does_not(refused, ask):
    rows = ask(refused("each"), "findings")["tables"]["findings"]["rows"]
    (row,) = [r for r in rows if r["kind"] == "refused"]
    assert row["evidence"].startswith("7 allocations failed for lack of memory, the largest of 1.0 TiB in ask_")
    assert row["look_at"] == "oom" and row["severity"] == 2  # the program went on
    rows = ask(refused("well", "-f"), "findings")["tables"]["findings"]["rows"]
    assert not [r for r in rows if r["kind"] in ("refused", "killed")]


PYTHON = """
import resource
with open("/proc/self/statm") as f:
    used = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
kept = []
try:
    while True:
        kept.append(bytes(10 << 20))  # here
except MemoryError:
    kept.clear()
"""


def test_a_line_of_python_that_is_refused_memory_is_named(run, ask, tmp_path):
    (tmp_path / "p.py").write_text(PYTHON)
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-cpu", "-o", trace, "/usr/bin/python3", "-S", tmp_path / "p.py")
    assert done.returncode == 0, done.stderr
    answer = ask(trace, "oom")
    line = PYTHON.split("\n").index("        kept.append(bytes(10 << 20))  # here") + 1
    assert f"p.py:{line})" in facts(answer)["site"]
    assert 10 * MIB <= facts(answer)["asked_for"] <= 10 * MIB + 64
    held = answer["tables"]["held"]["rows"][0]
    assert f"p.py:{line})" in held["site"] and held["blocks"] >= 20


LIFE = """
    w=build/empty/4000000 x=other/randn/1000000@11
    a=forward/mm/2000000@12 g=backward/mm/4000000@13 -a s=optimizer/zeros_like/8000000@14
    b=forward/mm/2000000@12 ?forward/mm/64000000@12 -b -x -s -g ?other/full/16@30 c=other/full/500000@31
"""


def made(tmp_path, life=LIFE, **how):
    return tm.make(tmp_path / "made.tide", life, **how)


def test_of_several_refusals_the_one_counts_at_which_most_was_held(ask, tmp_path):
    answer = ask(made(tmp_path, end=1, status=1, ended=True), "oom")
    told = facts(answer)
    assert (told["asked_for"], told["op"], told["phase"]) == (64000000, "mm", "forward")
    assert told["live_heap"] == 19000000
    kinds = {r["kind"]: r["bytes"] for r in answer["tables"]["kinds"]["rows"] if r["bytes"]}
    assert kinds["optimizer state"] == 8000000 and sum(kinds.values()) == 19000000
    assert kinds["activations"] == 2000000  # as those of its stack were, whose gradients came
    assert [r["bytes"] for r in answer["tables"]["largest"]["rows"]] == [8000000, 4000000, 4000000, 2000000, 1000000]
    assert [r["op"] for r in answer["tables"]["latest"]["rows"]] == ["mm", "zeros_like", "mm", "randn", "empty"]
    assert answer["tables"]["latest"]["rows"][1]["kind"] == "optimizer state"
    assert [r["asked_for"] for r in answer["tables"]["refused"]["rows"]] == [16, 64000000]


def test_what_a_step_held_that_never_came_to_its_gradients_are_activations(ask, tmp_path):
    life = "w=build/empty/4000 a=forward/mm/1000@12 g=backward/mm/4000@13 -a b=forward/mul/2000@20 ?forward/mm/9000@21"
    answer = ask(made(tmp_path, life, end=2, status=6, ended=True), "oom")
    assert {r["kind"]: r["bytes"] for r in answer["tables"]["kinds"]["rows"]}["activations"] == 2000
    life = "w=build/empty/4000 b=forward/mul/2000@20 ?forward/mm/9000@21"  # nobody trains
    answer = ask(made(tmp_path, life, end=2, status=6, ended=True), "oom")
    assert {r["kind"]: r["bytes"] for r in answer["tables"]["kinds"]["rows"]}["activations"] == 0


def test_a_kill_for_lack_of_memory_counts_before_all_others(ask, tmp_path):
    answer = ask(made(tmp_path, end=5, ended=True), "oom")
    assert facts(answer)["what"] == "the kernel killed a process for lack of memory"
    assert facts(answer)["live_heap"] == 4500000 and "asked_for" not in facts(answer)
    rows = ask(made(tmp_path, end=5, ended=True), "findings")["tables"]["findings"]["rows"]
    assert rows[0]["evidence"] == "the kernel killed python (100) for lack of memory"


def test_another_moment_can_be_asked_for(ask, tmp_path):
    told = facts(ask(made(tmp_path, end=1, ended=True), "oom", "--at", "0.004"))
    assert told["what"] == "the moment that was asked for" and told["live_heap"] == 7000000


def test_a_trace_that_is_cut_off_is_asked_about_its_end(ask, tmp_path):
    told = facts(ask(made(tmp_path, LIFE.split("?")[0]), "oom"))
    assert told["what"].startswith("the recording has no end") and told["live_heap"] == 19000000


def test_other_formats_have_it_as_well(run, tmp_path):
    done = run("report", made(tmp_path, end=5, ended=True), "oom", "-f", "csv")
    assert done.returncode == 0 and "killed a process for lack of memory" in done.stdout


TORCH = """
import resource, torch
torch.set_num_threads(1)
net = torch.nn.Linear(1000, 1000)
with open("/proc/self/statm") as f:
    used = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20),) * 2)
kept = []
try:
    while True:
        kept.append(net(torch.ones(2500, 1000)))
except (RuntimeError, MemoryError):
    kept.clear()
"""


@needs_torch
def test_a_model_that_does_not_fit_is_told_by_operator_and_kind(run, ask, tmp_path):
    (tmp_path / "p.py").write_text(TORCH)
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "-o", trace, torch_python(), tmp_path / "p.py", timeout=120)
    assert done.returncode == 0, done.stderr
    answer = ask(trace, "oom")
    assert facts(answer)["asked_for"] == 10000000 and facts(answer)["op"]
    held = next(r for r in answer["tables"]["held"]["rows"] if r["op"] == "addmm")
    assert held["bytes"] == 10000000 * held["blocks"] and held["blocks"] >= 10
    assert sum(r["bytes"] for r in answer["tables"]["kinds"]["rows"]) == facts(answer)["live_heap"]


# ---- a training loop that is ended: what it held by kind, to the byte, as it has said itself just before ----

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENDS = ROOT / "tests" / "targets" / "python" / "ends.py"


KINDS = ("parameters", "gradients", "optimizer state", "inputs", "activations", "kv cache", "temporaries", "other tensors")


def kinds_of(sums):
    """Buffers of a norm are as large as gradients are: by stacks alone they are parameters (docs/DEEP-LEARNING.md)."""
    joined = {**sums, "parameters": sums["parameters"] + sums.get("buffers", 0)}
    return {kind: joined[kind] for kind in KINDS if joined.get(kind)}


def same(said, rows):
    """Is every kind what the program said, to the byte? One in which a tensor below 4 KiB was sampled is within its error."""
    told = kinds_of({r["kind"]: r["bytes"] for r in rows})
    errors = kinds_of({r["kind"]: r["bytes"] * (r["error_percent"] or 0) / 100 for r in rows})
    return told.keys() == said.keys() and all(abs(told[k] - said[k]) <= 3 * errors.get(k, 0) for k in said)


def ended(ask, trace, command):
    """Its status; what the program said it held, {kind: bytes}; what `oom` says, row by row; and what happened"""
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, check=False, timeout=600)
    answer = ask(trace, "oom")
    rows = answer["tables"]["kinds"]["rows"]
    assert sum(r["bytes"] for r in rows) == facts(answer)["live_heap"]
    return done.returncode, kinds_of(json.loads(done.stdout)), rows, facts(answer)["what"]


def loop(tidemark, trace, *how):
    return [tidemark, "record", "-q", "-o", trace, torch_python(), "-W", "ignore", ENDS, *how]


@needs_torch
@pytest.mark.parametrize("how, phase, signal", [("kill", "forward", "SIGKILL"), ("kill", "backward", "SIGKILL"),
                                                ("abort", "forward", "SIGABRT"), ("abort", "step", "SIGABRT")])
def test_what_a_training_loop_held_when_it_was_ended(ask, tidemark, tmp_path, how, phase, signal):
    trace = tmp_path / "t.tide"
    status, said, told, what = ended(ask, trace, loop(tidemark, trace, how, phase))
    assert status == {"kill": 137, "abort": 134}[how] and what == f"a process ended by {signal}"
    assert same(said, told), (said, told)


@needs_torch
def test_what_a_training_loop_held_when_the_kernel_killed_it(ask, tidemark, tmp_path):
    """In a group below $TIDEMARK_TEST_CGROUP: a folder of the memory controller that is ours."""
    above = os.environ.get("TIDEMARK_TEST_CGROUP")
    if not above:
        pytest.skip("TIDEMARK_TEST_CGROUP names no control group that the test may use")
    group, trace = pathlib.Path(above) / f"tidemark-test-{os.getpid()}", tmp_path / "t.tide"
    group.mkdir()
    try:
        limit = group / "memory.max"
        (limit if limit.exists() else group / "memory.limit_in_bytes").write_text(str(1024 * MIB))
        enter = ["sh", "-c", 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"', "sh", group]
        status, said, told, what = ended(ask, trace, enter + loop(tidemark, trace, "group", "forward"))
    finally:
        until(lambda: (group / "cgroup.procs").read_text() == "", "the group to be empty")
        group.rmdir()
    assert status == 137 and what == "the kernel killed a process for lack of memory"
    assert same(said, told), (said, told)
