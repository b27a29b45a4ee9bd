"""Sampled recordings of programs whose allocations are known: peaks, leaks and their errors are honest.

What is asked here would be wrong by far more without what is tested: chance alone does not fail it.
"""

import json
import os
import random
import subprocess
import sys

import pytest

from tracemaker import (ALLOC, END, FACT, FREE, MARK, PROCESS, PROCESS_END, STRING, THREAD, THREAD_END, Trace,
                        record)

PYTHON = os.path.realpath(sys.executable)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def facts(run):
    """facts(trace, question) -> its facts"""

    def call(trace, question):
        done = run("report", trace, question, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]["facts"]["values"]

    return call


@pytest.fixture
def known(tmp_path_factory):
    """known(kind) -> a command of bench/inputs/known.c, which says what it has allocated"""
    program = tmp_path_factory.mktemp("known") / "known"
    subprocess.run(["cc", "-O1", "-o", program, f"{ROOT}/bench/inputs/known.c"], check=True)
    return lambda kind: [program, kind]


def sampled_trace(path, events):
    """events: (address, bytes, weight in thousandths) per moment: -address frees it, 0 is when an interpreter began to end"""
    rows = [record(PROCESS, 1, 0, 100, 1, 0), record(THREAD, 1, 1, 100)]
    for address, size, weight in events:
        if address > 0:
            rows.append(record(ALLOC, 1, address, size, 0, 0, weight, step=1000))
        elif not address:
            rows.append(record(MARK, 1, 6, 0, 0, step=1000))
        else:
            rows.append(record(FREE, 1, -address, 0, 15, step=1000))
    rows += [record(THREAD_END, 1, step=1), record(PROCESS_END, 1, 1, 0, step=1), record(END)]
    trace = Trace().add([record(STRING, 1, tail=b"recorded"), record(FACT, 0, 0, 1, tail=b"sampled")])
    for i in range(0, len(rows), 20000):
        trace.add(rows[i:i + 20000], i * 1000, min(i + 20000, len(rows)) * 1000)
    return trace.write(path)


def test_the_peak_of_mere_churn_is_not_the_largest_of_its_estimates(facts, tmp_path):
    """100 blocks live at any time, of which chance takes one in twenty: each stands for 20."""
    dice = random.Random(7)
    alive, events, live, largest = [], [], 0, 0
    for i in range(200_000):
        if len(alive) == 100:
            address, sampled = alive.pop(dice.randrange(100))
            if sampled:
                events.append((-address, 0, 0))
                live -= 20_000
        sampled = dice.random() < 1 / 20
        address = 4096 + i * 16
        alive.append((address, sampled))
        if sampled:
            events.append((address, 1000, 20_000))
            live += 20_000
            largest = max(live, largest)
    said = facts(sampled_trace(tmp_path / "t.tide", events), "summary")
    error = said["peak_heap"] * said["peak_heap_error_percent"] / 100
    assert largest > 250_000 and said["peak_heap"] < 200_000
    assert abs(said["peak_heap"] - 100_000) < 2 * error


def test_the_peak_of_growth_is_the_sum_of_its_samples(facts, tmp_path):
    said = facts(sampled_trace(tmp_path / "t.tide", [(4096 * i, 1000, 20_000) for i in range(1, 300)]),
                 "peak")
    assert said["peak_heap"] == 299 * 20_000


def test_blocks_that_stand_for_themselves_are_exact_at_the_peak(facts, tmp_path):
    """Weight 0: every block of its size was recorded, as is said of a limit."""
    events = [(4096 * i, 1_000_000, 0) for i in range(1, 300)]
    assert facts(sampled_trace(tmp_path / "t.tide", events), "peak")["peak_heap"] == 299_000_000


def test_a_peak_is_no_less_than_what_was_exact_at_any_time(facts, tmp_path):
    """A block that was recorded each, and later, when it is gone, one that stands for 2,000 by chance."""
    events = [(4096, 1_000_000, 0), (-4096, 0, 0), (8192, 1000, 2_000_000), (-8192, 0, 0)]
    said = facts(sampled_trace(tmp_path / "t.tide", events), "peak")
    assert 1_000_000 <= said["peak_heap"] < 1_500_000


def test_a_peak_is_no_less_than_what_lived_before_an_interpreter_ended(facts, tmp_path):
    """As many blocks live at any time, and one more at the end, when an interpreter frees them all."""
    dice = random.Random(3)
    alive, events = [], []
    for address in range(4096, 4096 * 3000, 4096):
        if len(alive) == 200:
            events.append((-alive.pop(dice.randrange(200)), 0, 0))
        alive.append(address)
        events.append((address, 1000, 20_000))
    events += [(4096 * 4000, 1000, 20_000), (0, 0, 0)] + [(-address, 0, 0) for address in alive]
    trace = sampled_trace(tmp_path / "t.tide", events)
    assert facts(trace, "leaks")["alive"] == 201 * 20_000 <= facts(trace, "peak")["peak_heap"]


def test_no_stretch_peaks_higher_than_the_run(run, facts, tmp_path):
    """Six rounds that hold the same, of which each is estimated by itself."""
    dice = random.Random(4)
    events = []
    for i in range(6):
        held = [(1 << 20) + (i * 1000 + k) * 16 for k in range(1000) if dice.random() < 1 / 10]
        events += [(address, 1000, 10_000) for address in held]
        events += [(-address, 0, 0) for address in held]
    trace = sampled_trace(tmp_path / "t.tide", events)
    whole = facts(trace, "peak")["peak_heap"]
    parts = []
    for i in range(10):
        span = ["--from", f"{i * len(events) // 10}us", "--to", f"{(i + 1) * len(events) // 10}us"]
        said = run("report", trace, "peak", "-f", "json", *span)
        assert said.returncode == 0, said.stderr
        tables = json.loads(said.stdout)["tables"]
        parts.append(tables["facts"]["values"]["peak_heap"])
        assert sum(row["bytes"] for row in tables["peak"]["rows"]) == parts[-1]
    assert max(parts) <= whole and max(parts) > 0.9 * whole


def test_no_process_peaks_higher_than_all_of_them(run, tmp_path):
    """One that grows, of which nothing is by chance; and one that churns after it, and is reduced."""
    dice = random.Random(7)
    rows = [record(PROCESS, 1, 0, 100, 1, 0), record(PROCESS, 2, 0, 200, 1, 0),
            record(THREAD, 1, 1, 100), record(THREAD, 2, 2, 200)]
    rows += [record(ALLOC, 1, 4096 * i, 1000, 0, 0, 20_000, step=1000) for i in range(1, 16)]
    rows += [record(FREE, 1, 4096 * i, 0, 15, step=1000) for i in range(1, 16)]
    alive = []
    for i in range(100_000):
        if len(alive) == 100:
            address, sampled = alive.pop(dice.randrange(100))
            if sampled:
                rows.append(record(FREE, 2, address, 0, 15, step=100))
        alive.append((4096 + i * 16, dice.random() < 1 / 20))
        if alive[-1][1]:
            rows.append(record(ALLOC, 2, alive[-1][0], 1000, 0, 0, 20_000, step=100))
    rows += [record(THREAD_END, 1, step=1), record(THREAD_END, 2), record(PROCESS_END, 1, 1, 0, step=1),
             record(PROCESS_END, 2, 1, 0), record(END)]
    trace = Trace().add([record(STRING, 1, tail=b"recorded"), record(FACT, 0, 0, 1, tail=b"sampled")])
    trace = trace.add(rows, 0, 2_000_000_000).write(tmp_path / "t.tide")

    def peak(*more):
        said = run("report", trace, "peak", "-f", "json", *more)
        assert said.returncode == 0, said.stderr
        tables = json.loads(said.stdout)["tables"]
        assert tables["peak"]["rows"][0]["bytes"] == tables["facts"]["values"]["peak_heap"]
        return tables["facts"]["values"]["peak_heap"]

    whole, grown, churned = peak(), peak("--process", "100"), peak("--process", "200")
    assert grown == 300_000 and 50_000 < churned < 200_000
    assert grown <= whole < 1.01 * grown


@pytest.mark.parametrize("seed", [3, 5, 11])
def test_no_question_tells_of_more_than_the_peak(run, facts, tmp_path, seed):
    """Mere churn of 60 blocks, of which few are sampled: what lives by its samples is often above the peak."""
    dice = random.Random(seed)
    alive, events = [], []
    for i in range(60_000):
        if len(alive) == 60:
            address, sampled = alive.pop(dice.randrange(60))
            if sampled:
                events.append((-address, 0, 0))
        address, sampled = 4096 + i * 16, dice.random() < 1 / 30
        alive.append((address, sampled))
        if sampled:
            events.append((address, 1000, 30_000))
    trace = sampled_trace(tmp_path / "t.tide", events)
    said = facts(trace, "summary")
    peak = said["peak_heap"]

    def rows(*question):
        done = run("report", trace, *question, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"][question[0]]["rows"]

    assert said["alive_at_end"] <= peak and facts(trace, "peak")["peak_heap"] == peak
    levels = [row["heap_most"] for row in rows("curve")]
    assert max(levels) == peak and min(levels) < peak
    assert max(row["live_heap"] for row in rows("timeline")) == peak
    assert max(row["peak_heap"] for row in rows("processes")) == peak
    for part in range(5, 100, 5):
        assert sum(row["bytes"] for row in rows("peak", "--at", f"{part}%")) <= peak
    assert 0 < max(live for _, live in facts(trace, "lines")["live_heap"]) <= peak


def test_what_holds_all_of_a_peak_is_no_less_sure_than_the_peak(run, tmp_path):
    """One sample at a time, which stands for far more than there is."""
    events = [event for i in range(1, 300) for event in ((4096 * i, 1000, 2_000_000), (-4096 * i, 0, 0))]
    trace = sampled_trace(tmp_path / "t.tide", events)
    tables = json.loads(run("report", trace, "peak", "-f", "json").stdout)["tables"]
    said = json.loads(run("report", trace, "summary", "-f", "json").stdout)["tables"]["facts"]["values"]
    row, = tables["peak"]["rows"]
    assert row["bytes"] == said["peak_heap"] and 100 < row["error_percent"] <= said["peak_heap_error_percent"]


def test_where_no_sample_was_alive_something_may_have_been(run, facts, tmp_path):
    trace = sampled_trace(tmp_path / "t.tide", [(4096, 1000, 20_000), (-4096, 0, 0)])
    text = " ".join(run("report", trace, "leaks").stdout.split())
    assert "No sample was alive at the end: what was is less than" in text and "Nothing" not in text


@pytest.mark.parametrize("kind", ["churn", "bursts", "hill", "large"])
def test_stated_errors_hold_for_programs_that_know_their_peak(run, facts, known, tmp_path, kind):
    """Of six runs; one may be off by chance."""
    off = 0
    for i in range(6):
        trace = tmp_path / f"{i}.tide"
        done = run("record", "-q", "--no-cpu", "--no-names", "-o", trace, *known(kind))
        assert done.returncode == 0
        allocated, _, peak, *_ = map(int, done.stderr.split())
        said = facts(trace, "summary")
        for value, true, error in ((said["peak_heap"], peak, said["peak_heap_error_percent"]),
                                   (said["heap_allocated"], allocated,
                                    said["heap_allocated_error_percent"])):
            assert value < 3 * true
            off += abs(value - true) > 3 * error / 100 * value + 8192
    assert off <= 2


LEAK = """
kept = []
def leak():
    kept.append(bytearray(40000))
def churn():
    for _ in range({pieces}):
        bytearray(3000000 // {pieces})
for i in range(800):
    leak()
    churn()
"""


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_a_leak_beside_churn_is_growing(run, tmp_path, pieces):
    (tmp_path / "p.py").write_text(LEAK.format(pieces=pieces))
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--no-cpu", "-o", trace, PYTHON, tmp_path / "p.py").returncode == 0
    said = json.loads(run("report", trace, "leaks", "-f", "json").stdout)["tables"]
    row = said["leaks"]["rows"][0]
    assert "leak (" in row["site"] and row["trend"] == "growing"
    assert row["bytes"] == pytest.approx(800 * 40057, rel=0.4)


def test_a_limit_that_moves_for_want_of_room_is_no_framework_that_was_loaded(run, facts, tmp_path):
    """More large blocks than may be recorded each: sampled is what that is."""
    (tmp_path / "p.py").write_text("for _ in range(100_000):\n    bytearray(100_000)\n")
    trace = tmp_path / "t.tide"
    done = run("record", "--no-cpu", "-o", trace, PYTHON, tmp_path / "p.py")
    assert done.returncode == 0 and "was loaded" not in done.stderr
    said = facts(trace, "summary")
    assert said["peak_heap_basis"].startswith("sampled") and said["heap_allocated_basis"].startswith("sampled")
