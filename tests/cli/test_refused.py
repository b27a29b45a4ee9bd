"""Memory that was asked for in vain: every call is in the trace with its size and line, and `oom` tells what
was held then, or when a program was killed."""

import json
import os

import pytest

TIB, MIB = 1 << 40, 1 << 20


@pytest.fixture
def ask(run):
    def call(trace, *question):
        done = run("report", trace, *question, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


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
    assert {r["call"] for r in rows} == {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "mmap"}
    for row in rows:
        assert (row["space"], row["asked_for"], row["times"], row["status"]) == ("host", TIB, 1, "12")
        assert row["site"].startswith("ask_each (")
    assert tables["spaces"]["rows"][0]["failed"] == 6


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
