"""decompose --over-time: what tensors are for at many moments is what decompose --at says of each of them."""

import csv
import os
import pathlib
import subprocess

import pytest

import tensormaker
from pythons import needs_torch, torch_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = "w=build/empty/400000 b=build/empty/4000 "
STEP = ("x=other/randn/100000@11 h=forward/addmm/80000 t=forward/mul/80000 -t y=forward/relu/60000 "
        "loss=other/nll_loss/8000@12 d=backward/mm/60000 g=backward/mm/400000 gb=backward/sum/4000 -d -h -y "
        "s=optimizer/sqrt/{scratch}@13 -s -g -gb -x -loss | ")
STATE = ("x=other/randn/100000@11 h=forward/addmm/80000 g=backward/mm/400000 -h m=optimizer/zeros_like/400000@13 "
         "-g -x | ")
LIFE = MODEL + STATE + "".join(STEP.format(scratch=size) for size in (400000, 500000, 300000, 400000))
KINDS = ["parameters", "gradients", "optimizer state", "activations", "inputs", "buffers", "kv cache", "temporaries",
         "other tensors", "workspace", "framework", "other", "outside of the windows"]


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def by_kind(row):
    return {kind: row[kind.replace(" ", "_")] for kind in KINDS if row[kind.replace(" ", "_")]}


def same_as_each(asked, trace, rows, *words):
    """Every row is what --at has of its time."""
    assert rows
    for row in rows:
        at = asked(trace, "decompose", "--at", seconds(row["time"]), *words)
        assert by_kind(row) == {r["kind"]: r["bytes"] for r in at["kinds"] if r["bytes"]}, row
        assert row["heap"] == at["facts"]["live_heap"] == sum(by_kind(row).values())


@pytest.mark.parametrize("words", [[], ["--limit", "7"], ["--per-step"], ["--step", "3"], ["--from", "50%"]])
def test_a_row_is_what_is_said_of_its_moment(asked, words):
    same_as_each(asked, LIFE, asked(LIFE, "decompose", "--over-time", *words)["over_time"])


def test_the_peak_is_one_of_the_moments(asked):
    rows = asked(LIFE, "decompose", "--over-time")["over_time"]
    peak = asked(LIFE, "decompose")["facts"]
    assert max((r["heap"], -r["time"]) for r in rows) == (peak["peak_heap"], -peak["time"])


def test_a_step_is_told_at_its_own_peak(asked):
    rows = asked(LIFE, "decompose", "--over-time", "--per-step")["over_time"]
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        own = asked(LIFE, "decompose", "--step", str(row["step"]))
        assert by_kind(row) == {r["kind"]: r["bytes"] for r in own["kinds"] if r["bytes"]}
    assert [row["temporaries"] for row in rows[1:]] == [400000, 500000, 300000, 400000]


def test_of_many_steps_a_row_is_the_highest_of_several(asked):
    rows = asked(LIFE, "decompose", "--over-time", "--per-step", "--limit", "3")["over_time"]
    assert [row["step"] for row in rows] == [2, 3, 5]


def test_modules_add_up_at_each_moment(asked):
    tables = asked(LIFE, "decompose", "--over-time", "--by", "module")
    for row in tables["over_time"]:
        here = [m for m in tables["modules_over_time"] if m["time"] == row["time"]]
        assert sum(m["bytes"] for m in here) == row["heap"]
        for kind, size in by_kind(row).items():
            assert sum(m["bytes"] for m in here if m["kind"] == kind) == size
    assert {m["module"] for m in tables["modules_over_time"] if m["kind"] == "activations"} >= {"Net"}


def test_it_is_drawn_and_written_for_a_spreadsheet(run, tmp_path):
    path = tensormaker.make(tmp_path / "life.tide", LIFE)
    text = run("report", path, "decompose", "--over-time", env={**os.environ, "COLUMNS": "80"}).stdout
    assert "optimizer state" in text and max(map(len, text.splitlines())) <= 80
    table = run("report", path, "decompose", "--over-time", "--per-step", env={**os.environ, "COLUMNS": "80"}).stdout
    assert "temporaries" in table and max(map(len, table.splitlines())) <= 80
    rows = list(csv.DictReader(run("report", path, "decompose", "--over-time", "-f", "csv").stdout.splitlines()))
    assert int(rows[-1]["heap"]) == sum(int(rows[-1][k.replace(" ", "_")]) for k in KINDS)


def test_without_steps_or_tensors_it_says_so(run, build, tmp_path):
    life = MODEL + "x=other/randn/100000 h=forward/addmm/80000 "
    path = tensormaker.make(tmp_path / "life.tide", life)
    assert "has no steps" in run("report", path, "decompose", "--over-time", "--per-step").stdout
    trace = tmp_path / "plain.tide"
    subprocess.run([build / "tests" / "unit" / "make_heap_trace", "exact", trace], check=True)
    assert "no tensors" in " ".join(run("report", trace, "decompose", "--over-time").stdout.split())


def test_one_moment_or_many(run, tmp_path):
    path = tensormaker.make(tmp_path / "life.tide", LIFE)
    done = run("report", path, "decompose", "--over-time", "--at", "end")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@needs_torch
@pytest.mark.parametrize("way", [["--sample=64K"], []])
def test_a_real_model_over_time_is_what_each_moment_has(run, asked, tidemark, tmp_path, way):
    trace = tmp_path / "model.tide"
    script = ROOT / "tests" / "targets" / "python" / "tensors.py"
    subprocess.run([tidemark, "record", "-q", *way, "-o", trace, torch_python(), script, "cnn", "5"], check=True,
                   capture_output=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    same_as_each(asked, trace, asked(trace, "decompose", "--over-time", "--limit", "3")["over_time"])
    same_as_each(asked, trace, asked(trace, "decompose", "--over-time", "--per-step", "--limit", "3")["over_time"])
