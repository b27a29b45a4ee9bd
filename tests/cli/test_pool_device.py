"""PyTorch on a device with a pool: an extension of ours (tests/targets/torch) whose pool takes pieces of a driver, cuts
tensors out of them and tells MSTX of each, as Ascend's does. Every question of tensors is asked of it as of the host."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from pythons import needs_torch, torch_python

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets" / "torch"
POOL, STEPS, KEPT = "pool:pool:0", 8, 64 << 10
FOLDERS = "import torch.utils.cpp_extension as c; print(*c.include_paths(), c.TORCH_LIB_PATH, sep='\\n')"

pytestmark = needs_torch


@pytest.fixture(scope="module")
def train(tidemark, build, tmp_path_factory):
    """train(word...) -> (the trace of a model that was trained there, what it said it held at its end)"""
    if not shutil.which("c++"):
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("pooled")
    *headers, libraries = subprocess.run([torch_python(), "-W", "ignore", "-c", FOLDERS], check=True, capture_output=True, text=True,
                                         timeout=300).stdout.splitlines()
    extension = folder / "pool_device.so"
    subprocess.run(["c++", "-std=c++20", "-O1", "-g1", "-fPIC", "-shared", *(f"-I{h}" for h in headers), "-o", extension,
                    TARGETS / "pool_device.cpp", f"-L{libraries}", "-lc10", "-ltorch_cpu", "-ldl"], check=True, timeout=900)
    doubles = str(build / "tests" / "targets" / "devices")

    def call(*words):
        trace = folder / "-".join(["t", *words])
        done = subprocess.run([tidemark, "record", "-q", "-o", trace, torch_python(), "-W", "ignore", TARGETS / "on_pool.py", extension, *words],
                              capture_output=True, text=True, check=False, timeout=900, env={**os.environ, "LD_LIBRARY_PATH": doubles})
        assert done.returncode == 0, done.stderr
        return trace, json.loads(done.stdout)

    return call


@pytest.fixture(scope="module")
def trained(train):
    return train()


@pytest.fixture
def ask(run, trained):
    """ask(question, *words) -> its tables of the pool by name; of facts a dictionary"""
    def call(*words, space=POOL, trace=trained[0]):
        done = run("report", trace, *words, "--space", space, "-f", "json", timeout=300)
        assert done.returncode == 0, done.stderr
        return {name: table.get("rows", table.get("values")) for name, table in json.loads(done.stdout)["tables"].items()}

    return call


def test_what_tensors_of_a_pool_are_for_to_the_byte(ask, trained):
    held = {row["kind"]: row["bytes"] for row in ask("decompose")["kinds"]}
    for kind in ("parameters", "gradients", "optimizer state"):
        assert held[kind] == trained[1][kind], kind
    assert held["framework"] == held["other"] == held["workspace"] == 0
    assert sum(held.values()) == ask("peak")["facts"]["peak_heap"]


def test_operators_of_a_pool_s_tensors(ask):
    tables = ask("ops")
    rows = tables["ops"]
    assert {row["op"] for row in rows} == {"empty_memory_format", "empty_strided"}
    assert {"forward", "backward", "optimizer", "build"} <= {row["phase"] for row in rows}
    assert sum(row["allocated"] for row in rows) == tables["facts"]["allocated"]


def test_what_grows_in_a_pool_from_step_to_step(ask):
    row, = ask("leaks", "--per-step")["per_step"]
    assert row["growth_per_step"] == KEPT and row["site"].startswith("keep (")
    assert len(ask("steps")["steps"]) == STEPS


def test_pieces_that_a_pool_takes_are_no_tensors(ask):
    assert sum(row["bytes"] for row in ask("peak", space="ascend:0")["peak"]) > 0
    assert not [row for row in ask("ops", space="ascend:0").get("ops", []) if row["allocated"]]


def test_in_which_pieces_the_rest_of_a_pool_is(ask, run, trained):
    tables = ask("fragmentation")
    pool, = tables["pools"]
    spaces = json.loads(run("report", trained[0], "spaces", "-f", "json").stdout)["tables"]["pools"]["rows"]
    assert pool["reserved"] == spaces[0]["reserved_peak"] and pool["used"] == spaces[0]["used_peak"]
    assert pool["free"] == pool["reserved"] - pool["used"] == sum(row["free"] for row in tables["segments"])
    assert 0 < pool["largest_free"] <= pool["free"] and pool["requested"] is None
    done = run("report", trained[0], "fragmentation", "--space", "ascend:0")
    assert done.returncode == 1 and "pool:NAME" in done.stderr


def test_what_a_device_s_pool_held_when_the_device_had_no_more(ask, run, train):
    """By kind to the byte, though it was given back since, and in which pieces the rest of the pool was"""
    trace, held = train("refused")
    tables = ask("oom", trace=trace)
    facts = tables["facts"]
    assert facts["what"] == "an allocation was refused" and facts["space"] == "ascend:0" and facts["asked_for"] >= 1 << 45
    kinds = {row["kind"]: row["bytes"] for row in tables["kinds"]}
    for kind in ("parameters", "gradients", "optimizer state"):
        assert kinds[kind] == held[kind], kind
    assert sum(kinds.values()) == facts["live_heap"]
    pool, = tables["pools"]
    at = str(facts["time"] / 1e9)
    assert (pool["pool"], pool["used"]) == (POOL, facts["live_heap"])
    assert pool["free"] == pool["reserved"] - pool["used"] and 0 < pool["largest_free"] <= pool["free"]
    assert ask("fragmentation", "--at", at, trace=trace)["pools"] == [pool]
    words = " ".join(run("report", trace, "oom").stdout.split())
    assert f"--space ascend:0 asks about it, and about the tensors there --space {POOL}." in words


def test_what_would_lower_the_peak_of_a_pool(ask):
    tables = ask("what-if", "--fits-in", "1MB")
    falls = {(row["idea"], row["kind"]): row["fall"] for row in tables["ideas"] if not row["module"] and not row["line"]}
    assert falls["in half the bytes", "parameters"] > 0
    assert tables["facts"]["tensors_peak"] == ask("peak")["facts"]["peak_heap"]
    assert tables["together"][-1]["peak_then"] < tables["facts"]["tensors_peak"]
