"""tidemark record --copies and report copies: programs that copy known amounts on known lines."""

import csv
import io
import json

import pytest

from pythons import line_of, script

MIB = 1 << 20
TRUTH = 1280 * MIB
PYTHON = "/usr/bin/python3"


@pytest.fixture
def record(run, tmp_path):
    """record(*words) -> (what it printed, the trace)"""

    def call(*words):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "-f", "-o", trace, *words, timeout=180)
        assert done.returncode == 0, done.stderr
        return done.stdout, trace

    return call


@pytest.fixture
def copies(record, run):
    """copies(*words) -> (facts, rows, the trace)"""

    def call(*words):
        trace = record(*words)[1]
        said = run("report", trace, "copies", "-f", "json")
        assert said.returncode == 0, said.stderr
        tables = json.loads(said.stdout)["tables"]
        return tables["facts"]["values"], tables["copies"]["rows"], trace

    return call


def check(row, truth):
    """Within five standard errors, which are as large as the samples make them at most."""
    assert 0 < row["error_percent"] < 120 * row["samples"] ** -0.5
    assert abs(row["bytes"] - truth) < 5 * row["error_percent"] / 100 * truth
    assert row["per_second"] > 0


@pytest.mark.parametrize("program", ["copies", "copies_fortified"])
def test_a_line_of_c(copies, target, program):
    facts, rows, _ = copies("--copies", target(f"record/{program}"), "much")
    assert "much" in rows[0]["site"] and "copies.c" in rows[0]["site"]
    check(rows[0], TRUTH)
    little = [r for r in rows if "little" in r["site"]]
    assert sum(r["bytes"] for r in little) < TRUTH / 10
    assert facts["copied"] == sum(r["bytes"] for r in rows)
    assert facts["basis"].startswith("sampled, ±")


def test_an_object_that_is_loaded_later(copies, target):
    _, rows, _ = copies("--copies", target("record/copies"), "later",
                        target("record/copylib.so"))
    assert "copy_much" in rows[0]["site"]
    check(rows[0], TRUTH)


def test_a_line_of_python(copies):
    _, rows, _ = copies("--copies", PYTHON, script("copies.py"))
    assert f"copies.py:{line_of('copies.py', 'COPY')}" in rows[0]["site"]
    check(rows[0], TRUTH)


@pytest.mark.parametrize("how", [["--copies"], ["--copies", "--exact"], ["--copies", "--cpu-only"]])
def test_copies_are_right(record, target, how):
    assert record(*how, target("record/copies"), "family")[0] == "right\n"


def test_nothing_without_the_option(copies, target):
    """But for the CPU time, which needs none."""
    facts, rows, _ = copies("--cpu-interval", "1ms", target("record/copies"), "much")
    assert "copied" not in facts
    assert all(r["bytes"] is None for r in rows)
    assert "much" in rows[0]["site"] and rows[0]["copying"] > 0


def test_a_trace_without_any(run, record, target):
    _, trace = record("--no-cpu", target("record/copies"), "family")
    text = run("report", trace, "copies").stdout
    assert "record --copies" in text


def test_text_and_csv(copies, run, target):
    _, rows, trace = copies("--copies", target("record/copies"), "much")
    text = run("report", trace, "copies").stdout
    assert "much" in text and "GiB" in text
    table = run("report", trace, "copies", "-f", "csv").stdout
    first = next(csv.DictReader(io.StringIO(table[table.index("bytes,percent"):])))
    assert int(first["bytes"]) == rows[0]["bytes"]
