"""tidemark record of a program that loads a framework of deep learning: blocks of 4 KiB and more to the byte
from then on, without being asked. A library of its name is all that it takes to be taken for one."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from pythons import needs_torch, torch_python
from running import PATIENCE, start

FIXTURES = (start,)

SAID = "blocks of 4.0 KiB and more were recorded exactly since libtorch_cpu.so was loaded, others sampled"


def records(trace):
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, f"{here}/../../docs/tide.py", trace], check=True,
                          capture_output=True, text=True)
    return map(json.loads, done.stdout.splitlines())


@pytest.fixture
def library(target, tmp_path):
    """library(name) -> an object without meaning, under this name"""

    def call(name):
        path = tmp_path / "lib" / name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(target("record/plugin.so"), path)
        return path

    return call


@pytest.fixture
def both(run, target, tmp_path):
    """both(library, rounds) -> the trace, what the tool said, what the program said of itself by name"""

    def call(library, rounds, *how):
        trace = tmp_path / "t.tide"
        done = run("record", "--no-cpu", *how, "-o", trace, target("record/both_sizes"), "4096", str(rounds),
                   library, timeout=120)
        assert done.returncode == 0, done.stderr
        lines = done.stderr.splitlines()
        said = {w[0]: list(map(int, w[1:])) for w in map(str.split, lines) if w[0] != "tidemark:"}
        assert set(said) == {"main", "one", "two", "child"}
        return trace, [line for line in lines if line.startswith("tidemark:")], said

    return call


def test_every_block_of_4_kib_is_told_once_a_framework_is_loaded(both, library):
    trace, lines, said = both(library("libtorch_cpu.so"), 3000)
    assert sum(SAID in line for line in lines) == 1
    blocks, total, threads, since = 0, 0, {}, {}
    for r in records(trace):
        if r["kind"] == "THREAD":
            threads[r["thread"]] = r["process"]
        elif r["kind"] == "MARK" and r["mark_kind"] == 7:
            assert r["value"] == 4096 and r["name"]
            assert threads[r["thread"]] not in since
            since[threads[r["thread"]]] = r["time_ns"]
        elif r["kind"] == "ALLOC" and threads[r["thread"]] in since:
            assert (r["weight"] == 0) == (r["bytes"] >= 4096)
            blocks += r["weight"] == 0
            total += r["bytes"] if r["weight"] == 0 else 0
    assert len(since) == 2  # the process and its child
    assert (blocks, total) == tuple(sum(s[i] for s in said.values()) for i in (0, 1))


def test_reports_say_since_when(both, library, ask):
    trace, _, said = both(library("libtorch_cpu.so"), 3000)
    words = "blocks of 4.0 KiB and more exactly in 2 processes since libtorch_cpu.so was loaded, others sampled"
    answer = ask(trace, "summary")
    assert words in answer["coverage"]["line"] and answer["coverage"]["how"] == words
    assert answer["coverage"]["exact_from"] is None
    since = answer["coverage"]["exact_since"]
    assert (since["from"], since["processes"], since["library"]) == (4096, 2, "libtorch_cpu.so")
    facts = answer["tables"]["facts"]["values"]
    assert facts["heap_allocated_basis"].startswith(words + ", ±")
    error = facts["heap_allocated_error_percent"] / 100 * facts["heap_allocated"]
    assert abs(facts["heap_allocated"] - sum(s[1] + s[3] for s in said.values())) < 5 * error
    for row in ask(trace, "processes")["tables"]["processes"]["rows"]:
        assert row["recorded"] == words.replace(" in 2 processes", "")


@pytest.mark.parametrize("how", [["--sample", "64KiB"], ["--exact"], ["--exact=32KiB"]])
def test_who_chooses_a_way_gets_it(both, library, ask, how):
    trace, lines, _ = both(library("libtorch_cpu.so"), 300, *how)
    assert not any("libtorch" in line for line in lines)
    coverage = ask(trace, "summary")["coverage"]
    assert coverage["exact_since"] is None and "libtorch" not in coverage["line"]


def test_a_limit_that_rises_where_no_framework_is_names_none(run, ask, tmp_path):
    """Large blocks are recorded each in any program, until they are too many."""
    trace = tmp_path / "t.tide"
    churn = "for i in range(200_000): bytearray(70_000)"
    done = run("record", "--no-cpu", "-o", trace, sys.executable, "-c", churn)
    assert done.returncode == 0 and "was loaded" not in done.stderr
    answer = ask(trace, "summary")
    assert answer["coverage"]["exact_since"] is None
    assert answer["tables"]["facts"]["values"]["heap_allocated_basis"].startswith("sampled, ±")
    assert "was loaded" not in run("report", trace).stdout


@pytest.mark.parametrize("name, known", [
    ("libjax_common.so", True), ("xla_extension.so", True), ("libtensorflow_framework.so.2", True),
    ("libtorch_cpu.so.1", True), ("libtorch_cpux.so", False), ("mylibtorch_cpu.so", False),
])
def test_a_framework_is_known_by_the_name_of_its_library(both, library, ask, name, known):
    trace, lines, _ = both(library(name), 300)
    assert any(f"since {name} was loaded" in line for line in lines) == known
    assert (ask(trace, "summary")["coverage"]["exact_since"] is not None) == known


def test_a_program_that_is_linked_with_one_is_recorded_so_from_its_start(run, ask, library, tmp_path, target,
                                                                         sanitized):
    if sanitized:
        pytest.skip("what is preloaded comes before the sanitizer in the tool itself")
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-cpu", "-o", trace, target("record/both_sizes"), "4096", "300",
               env={**os.environ, "LD_PRELOAD": str(library("libtorch_cpu.so"))})
    assert done.returncode == 0, done.stderr
    said = [list(map(int, w[1:])) for w in map(str.split, done.stderr.splitlines())]
    rows = [r for r in ask(trace, "histogram")["tables"]["sizes"]["rows"] if 4096 <= r["from"] < 65536]
    assert sum(r["bytes"] for r in rows) == sum(s[1] for s in said)


def test_too_many_tensors_raise_the_limit_and_that_is_said(both, library, ask):
    trace, _, said = both(library("libtorch_cpu.so"), 150000)
    coverage = ask(trace, "summary")["coverage"]
    assert re.search(r"was loaded \(at times only of \d+\.0 KiB and more: there were too many\), others sampled",
                     coverage["line"])
    assert coverage["lost_events"] == 0
    facts = ask(trace, "summary")["tables"]["facts"]["values"]
    error = facts["heap_allocated_error_percent"] / 100 * facts["heap_allocated"]
    assert abs(facts["heap_allocated"] - sum(s[1] + s[3] for s in said.values())) < 5 * error


TENSORS = """
import torch
kept = [torch.ones(2000 + i) for i in range(300)]   # 4 bytes each
"""


@needs_torch
def test_tensors_of_pytorch_are_counted_to_the_byte(run, ask, tmp_path):
    (tmp_path / "t.py").write_text(TENSORS)
    trace = tmp_path / "t.tide"
    done = run("record", "--no-cpu", "-o", trace, torch_python(), tmp_path / "t.py", timeout=120)
    assert done.returncode == 0 and SAID in done.stderr
    rows = [r for r in ask(trace, "ops")["tables"]["ops"]["rows"] if r["op"] == "empty_memory_format"]
    assert sum(r["blocks"] for r in rows) == 300
    assert sum(r["allocated"] for r in rows) == sum(4 * (2000 + i) for i in range(300))


LOADED = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
kept = [bytes(6000 + i) for i in range(500)]
print("made", flush=True)
sys.stdin.readline()
"""


def test_who_attaches_to_a_program_with_one_records_so_from_there(start, run, ask, library, tmp_path):
    (tmp_path / "p.py").write_text(LOADED)
    trace = tmp_path / "t.tide"
    program = start("/usr/bin/python3", "-S", tmp_path / "p.py", library("libtorch_cpu.so"), tool=None)
    program.out.find(rb"ready")
    tool = start("attach", "-o", trace, str(program.pid))
    tool.err.find(rb"recording process \d+")
    program.stdin.write(b"\n")
    program.stdin.flush()
    program.out.find(rb"made")
    assert run("detach", str(program.pid)).returncode == 0
    assert tool.wait(PATIENCE) == 0
    assert SAID.encode() in tool.err.rest()
    rows = [r for r in ask(trace, "histogram")["tables"]["sizes"]["rows"] if r["from"] == 4096]
    assert rows[0]["blocks"] >= 500
    line = LOADED.split("\n").index("kept = [bytes(6000 + i) for i in range(500)]") + 1
    held = [r for r in ask(trace, "lines")["tables"]["lines"]["rows"] if r["line"] == line and r["file"].endswith("p.py")]
    assert held[0]["allocated"] >= sum(6000 + i for i in range(500))
