"""Traces that somebody made to do harm: by numbers, by sizes, by what their texts hold."""

import csv
import io
import json
import os
import resource
import subprocess

import pytest

from tracemaker import (ALERT, ALLOC, BATCH, CONTEXT, COPY, CPU, DEVICE, END, FACT, FRAME, FREE, INFOS,
                        INFO_CONTEXT, LABEL, LOSS, MAP, MARK, MMAP, MODULE, MUNMAP, NAME, PROCESS,
                        PROCESS_END, REGION, REGION_END, SAMPLE, SOURCE, STACK, STACKS, STRING, THREAD,
                        THREAD_END, TIMED, UNMAP, UNREACHED, WAIT, Trace, record, varint)

PATIENCE = 60
HUGE = 1 << 62
QUESTIONS = ("lines", "functions", "waits", "cpu", "peak", "leaks", "sites", "tree", "copies")
FIELDS = {STRING: 1, FACT: 3, PROCESS: 7, PROCESS_END: 3, THREAD: 7, THREAD_END: 1, SAMPLE: 2, DEVICE: 4,
          MAP: 7, UNMAP: 3, FRAME: 4, NAME: 5, STACK: 3, ALLOC: 7, FREE: 4, CPU: 4, WAIT: 4, REGION: 4,
          REGION_END: 2, MARK: 5, LABEL: 3, SOURCE: 2, LOSS: 4, ALERT: 4, END: 0, INFOS: 3, BATCH: 3,
          MODULE: 3, MMAP: 6, MUNMAP: 3, STACKS: 2, COPY: 4, CONTEXT: 3, UNREACHED: 3,
          INFO_CONTEXT: 4}
MIB = 1 << 20


def beginning(function=b"f", file=b"/x.py", line=1):
    """A process with a thread, a module, a native frame (1) and a line of Python (2), as stacks 1 and 2."""
    return Trace().add([
        record(STRING, 1, tail=function), record(STRING, 2, tail=file), record(MODULE, 1, 2, 1),
        record(FRAME, 1, 1, 1, 100), record(NAME, 1, 0, 1, 2, 7), record(FRAME, 2, 4, 1, 1),
        record(NAME, 2, 0, 1, 2, line), record(STACK, 1, 0, 1), record(STACK, 2, 0, 2),
        record(SOURCE, 2, 1, tail=b"first"),
    ]).add([record(PROCESS, 1, 0, 5, 1, 0, 1, 1), record(THREAD, 1, 1, 5, 1)])


def costs(trace, *stacks):
    """Every kind of cost at each of the stacks."""
    events = []
    for i, stack in enumerate(stacks, 1):
        events += [record(CPU, 1, stack, 1000000, 1, step=1000), record(WAIT, 1, stack, 1000, 1),
                   record(ALLOC, 1, i << 12, 4096, stack, 0), record(COPY, 1, stack, 1000, 1000)]
    return trace.add(events, 0, 1000 * len(stacks) + 1)


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))


@pytest.mark.parametrize("form", ["scalene", "text", "csv", "json"])
def test_a_line_of_any_number_ends(run, tmp_path, form):
    trace = costs(beginning(line=HUGE).add([
        record(FRAME, 3, 4, 1, 1), record(NAME, 3, 0, 1, 2, 3), record(STACK, 3, 0, 3)]), 2, 3)
    done = run("report", trace.write(tmp_path / "t.tide"), "lines", "--all", "-f", form,
               timeout=PATIENCE, preexec_fn=limited)
    assert done.returncode == 0 and len(done.stdout) < 100000
    assert str(HUGE) in done.stdout


def test_a_stack_millions_deep_is_no_work(run, tmp_path):
    depth, trace = 8_000_000, beginning()
    for first in range(3, depth, 1_000_000):
        trace.add([record(STACKS, first, 1_000_000, tail=(varint(0) + varint(1)) * 1_000_000)])
    path = costs(trace, *range(depth - 3000, depth)).write(tmp_path / "t.tide")
    assert path.stat().st_size < 100_000
    for question in QUESTIONS:
        done = run("report", path, question, timeout=PATIENCE, preexec_fn=limited)
        assert done.returncode == 0 and len(done.stdout) < MIB


def test_a_stack_that_is_lengthened_afterwards_is_no_work(run, tmp_path):
    """Parents that are defined after their children, and again: depths must stay what they were."""
    trace, stacks = beginning(), 400_000
    trace.add([record(STACK, n, n - 1, 1) for n in range(stacks, 3, -1)])
    trace.add([record(STACK, n, n - 1, 1) for n in range(4, stacks)])
    path = costs(trace, *range(stacks - 3000, stacks)).write(tmp_path / "t.tide")
    for question in QUESTIONS:
        assert run("report", path, question, timeout=PATIENCE, preexec_fn=limited).returncode == 0


def test_a_file_does_not_unpack_to_more_than_its_size_warrants(run, tmp_path):
    """64 MiB and 2,048 times its size are read; here are 400 MiB in some 30 KB."""
    trace = beginning()
    for _ in range(100):
        trace.add([record(0x7f, tail=bytes(4 * MIB - 16))])
    path = trace.write(tmp_path / "t.tide")
    assert path.stat().st_size * 2048 < 300 * MIB
    done = run("report", path, timeout=PATIENCE, preexec_fn=limited)
    assert done.returncode == 0 and "damaged" in done.stdout.splitlines()[0]


def numbers(shape, count, i):
    return {"count": [i] + [i - 1] * (count - 1), "huge": [(1 << 63) + i * 977] * count,
            "rise": [1] * (count - 1) + [i]}[shape][:count]


@pytest.mark.parametrize("shape", ["count", "huge", "rise"])
def test_many_records_of_every_kind_are_bounded_work(build, tmp_path, shape):
    """64 KiB of each; every question of all of it, in every format."""
    tails = {SAMPLE: varint(1) + varint(12345), STRING: b"text", FACT: b"text", SOURCE: b"text",
             LOSS: b"text", ALERT: b"text", INFOS: varint(64) + varint(2) + varint(0),
             STACKS: varint(0) + varint(1), BATCH: b"\x03\x01\x00\x01\x01\x04\x00"}
    trace = beginning()
    for kind, count in FIELDS.items():
        one = len(record(kind, *numbers(shape, count, 3), tail=tails.get(kind, b""))) + 3
        trace.add([record(kind, *numbers(shape, count, i), tail=tails.get(kind, b""), step=1000)
                   for i in range(3, MIB // 16 // one)], 0, HUGE if kind in TIMED else 0)
    path = trace.write(tmp_path / "t.tide")
    done = subprocess.run([build / "tests" / "fuzz" / "fuzz_report", path], check=False,
                          capture_output=True, timeout=8 * PATIENCE)
    assert done.returncode == 0, done.stderr


EVIL = ("\x1b]0;PWNED\x07 \u202egnihton\u202c \u200b\u2066x\u2069 \U000e0041 ".encode()
        + b"\xff\xfe \xc3( \xed\xa0\x80 \x9b1m")
HIDDEN = "\x1b\x07\u202e\u202c\u200b\u2066\u2069\x9b\U000e0041"


@pytest.mark.parametrize("question, form", [
    ("lines", "text"), ("functions", "text"), ("peak", "text"), ("summary", "text"),
    ("processes", "text"), ("lines", "csv"), ("peak", "csv"), ("processes", "csv"),
    ("peak", "collapsed"), ("lines", "json"), ("peak", "json"), ("lines", "scalene")])
def test_texts_of_others_steer_nothing_and_hide_nothing(tidemark, tmp_path, question, form):
    trace = costs(beginning(EVIL, b"/" + EVIL + b".py"), 1, 2)
    trace.add([record(SOURCE, 2, 2, tail=EVIL), record(FACT, 0, 0, 1, tail=EVIL),
               record(STRING, 9, tail=b"command"), record(FACT, 0, 0, 9, tail=EVIL)])
    path = trace.write(tmp_path / "t.tide")
    words = [tidemark, "report", path, question, "-f", form]
    out = subprocess.run(words + (["--all"] if question in ("lines", "functions") else []), check=True,
                         capture_output=True, timeout=PATIENCE, env={**os.environ, "COLUMNS": "400"}).stdout
    text = out.decode()  # it is UTF-8, whatever the trace holds
    assert "PWNED" in text
    assert not [c for c in HIDDEN if c in text]
    if form in ("json", "scalene"):
        assert "\u202egnihton" in json.dumps(json.loads(text), ensure_ascii=False)  # as a code, it is still there


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\uff1d"])
def test_a_cell_is_no_formula(run, tmp_path, first):
    name = f'{first}cmd|"/C calc"!A0'
    path = costs(beginning(name.encode()), 1).write(tmp_path / "t.tide")
    for question in ("peak", "processes"):
        text = run("report", path, question, "-f", "csv").stdout
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row if "calc" in cell]
        assert cells and all(cell.startswith("'" + first) for cell in cells)


def test_negative_numbers_stay_numbers(run, tmp_path):
    more = costs(beginning(), 1, 2).write(tmp_path / "more.tide")
    less = costs(beginning(), 1).write(tmp_path / "less.tide")
    rows = list(csv.reader(io.StringIO(run("diff", more, less, "-f", "csv").stdout)))
    assert any(cell.startswith("-") and int(cell) < 0 for row in rows for cell in row if cell[:1] == "-")
