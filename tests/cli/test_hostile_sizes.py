"""What an answer costs is bounded by the size of the trace: families of traces that multiply."""

import json
import subprocess

import pytest

from test_hostile_traces import beginning, costs
from tracemaker import (ALLOC, BATCH, COPY, CPU, FACT, FRAME, INFOS, MARK, MODULE, NAME, PROCESS, PROCESS_END,
                        REGION, REGION_END, SAMPLE, SOURCE, STACK, STACKS, STRING, THREAD, WAIT, Trace,
                        record, varint)

EVERY = "1000000000"


def deep_and_many():
    """Stacks that share all but their last frame: every row is 3,000 frames."""
    trace, deep = beginning(), 3000
    trace.add([record(STACKS, 3, deep, tail=(varint(0) + varint(1)) * deep)])
    trace.add([record(FRAME, n, 1, 1, n) for n in range(3, 403)])
    trace.add([record(STACK, deep + n, deep, n) for n in range(3, 403)])
    return costs(trace, *range(deep + 3, deep + 403))


def a_long_name_in_many_rows():
    """One text of 1 MiB, which every function, file, process, thread and region is called by."""
    trace = Trace().add([record(STRING, 1, tail=b"x" * (1 << 20)), record(MODULE, 1, 1, 1)])
    rows = 1_000
    trace.add([r for n in range(1, rows) for r in (
        record(FRAME, n, 4 if n % 2 else 1, 1, n), record(NAME, n, 0, 1, 1, n), record(STACK, n, 0, n))])
    trace.add([record(PROCESS, n, 0, n, 1, 0, 1, 1) for n in range(1, rows)]
              + [record(THREAD, n, n, n, 1) for n in range(1, rows)])
    trace.add([record(REGION, 1, n, 1, 0, step=1000) for n in range(1, rows)]
              + [record(REGION_END, 1, n, step=1000) for n in range(1, rows)], 0, 1 << 40)
    return costs(trace, *range(1, 40))


def one_long_row_among_many():
    """A column is as wide as its widest cell: one long name must not pad all the others."""
    trace = beginning().add([record(STRING, 9, tail=b"y" * 60_000)])
    return trace.add([record(PROCESS, n, 0, n, 9 if n == 2 else 1, 0, 1, 1) for n in range(2, 20_000)])


def processes_and_lines():
    """Each process holds memory of a line of its own, and ends."""
    trace, count = beginning(), 6_000
    trace.add([r for n in range(3, count) for r in (
        record(FRAME, n, 4, 1, n), record(NAME, n, 0, 1, 2, n), record(STACK, n, 0, n))])
    trace.add([record(PROCESS, n, 0, n, 1, 0, 1, 1) for n in range(3, count)]
              + [record(THREAD, n, n, n, 1) for n in range(3, count)])
    trace.add([record(ALLOC, n, 4096, 100, n, 0, step=1000) for n in range(3, count)], 0, 1 << 40)
    return trace.add([record(PROCESS_END, n, 1, 0, step=1000) for n in range(3, count)], 1 << 40, 1 << 41)


def infos_far_apart():
    """Each process defines one info, of a number that leaves many out."""
    trace = beginning().add([record(PROCESS, n, 0, n, 1, 0, 1, 1) for n in range(2, 20_000)])
    return trace.add([record(INFOS, n, n, 0, tail=varint(64) + varint(2) + varint(0), step=1000)
                      for n in range(2, 20_000)]
                     + [record(BATCH, n, 1, 0, tail=b"\x03\x01\x00\x01\x01\x04\x00", step=1000)
                        for n in range(2, 20_000)], 0, 1 << 40)


def spans_around_everything():
    """Regions that last from the first to the last of many samples of memory."""
    trace, count = beginning(), 12_000
    begin = [record(REGION, 1, n, 1, 0, step=1) for n in range(1, count)]
    ticks = [record(SAMPLE, 0, 0, tail=varint(1) + varint(n), step=1000) for n in range(count)]
    heap = [record(ALLOC, 1, n << 12, 64, 1, 0, step=1) for n in range(1, count)]
    end = [record(REGION_END, 1, n, step=1) for n in range(1, count)]
    return trace.add(begin + ticks + heap + end, 0, 1 << 40)


def files_commands_and_functions_asked_for():
    """Many files, many command lines that might have run them, many functions to be shown."""
    trace, count = Trace(), 4_000
    trace.add([record(STRING, 1, tail=b"f")] + [r for n in range(2, count) for r in (
        record(STRING, n, tail=b"/usr/lib/python3.11/a/%d/encodings/__init__.py" % n),
        record(STRING, count + n, tail=b"python -m m%d" % n),
        record(STRING, 2 * count + n, tail=b"/f%d.py:%d:f" % (n, n)))])
    trace.add([r for n in range(2, count) for r in (
        record(FRAME, n, 4, 1, n), record(NAME, n, 0, 1, n, n), record(STACK, n, 0, n),
        record(SOURCE, n, 1, tail=b"text"))])
    trace.add([record(PROCESS, n, 0, n, 1, count + n, 1, 1) for n in range(2, count)]
              + [record(THREAD, 1, 2, 2, 1)]
              + [record(MARK, 1, 2, 2 * count + n, 0, step=1) for n in range(2, count)], 0, 1 << 40)
    return costs(trace, *range(2, count))


def threads_in_one_deep_stack():
    """The time of every thread is in the same stack, which another deep one has started."""
    trace, deep, threads = beginning(), 3000, 10_000
    trace.add([record(STACKS, 3, deep, tail=(varint(0) + varint(1)) * deep)])
    trace.add([record(THREAD, n, 1, n, 1, 0, 0, 2 + n % deep) for n in range(2, threads)])
    return trace.add([r for n in range(2, threads) for r in (
        record(CPU, n, deep, 1_000_000, 1, step=1000), record(WAIT, n, deep, 1000, 1),
        record(COPY, n, deep, 1000, 1000))], 0, 1 << 40)


def long_facts():
    """Texts that stand where a word is expected, again and again."""
    trace = beginning().add([record(STRING, 9, tail=b"unrecorded"), record(STRING, 8, tail=b"command")])
    trace.add([record(FACT, 0, 0, 8, tail=b"z" * (1 << 20))])
    for n in range(1, 20):
        trace.add([record(FACT, 1, n, 9, tail=b"%d" % n * (1 << 18))])
    return trace.add([record(FACT, 1, n, 9, tail=b"%d" % (n % 40)) for n in range(20, 20_000)])


def a_long_time_in_short_ticks():
    trace = beginning()
    return trace.add([record(SAMPLE, 0, 0, tail=varint(1) + varint(n), step=1 << 40) for n in range(100_000)],
                     0, 1 << 62)


FAMILIES = (deep_and_many, a_long_name_in_many_rows, one_long_row_among_many, processes_and_lines, infos_far_apart,
            spans_around_everything, files_commands_and_functions_asked_for, threads_in_one_deep_stack, long_facts,
            a_long_time_in_short_ticks)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_an_answer_is_bounded_by_the_size_of_its_trace(build, tmp_path, family):
    """Every question of all rows in every format; fuzz_report ends by a signal where one is too large, or slow."""
    path = family().write(tmp_path / "t.tide")
    done = subprocess.run([build / "tests" / "fuzz" / "fuzz_report", path], check=False, capture_output=True,
                          env={"REPLAY_ONCE": "1"})
    assert done.returncode == 0, done.stderr


def test_what_is_left_out_is_said(tidemark, tmp_path):
    path = a_long_name_in_many_rows().write(tmp_path / "t.tide")
    words = [tidemark, "report", path, "processes"]
    text = subprocess.run(words, check=True, capture_output=True).stdout.decode()
    assert "Left out, as a trace of this size cannot have so many of its own: " in text
    left_out = json.loads(subprocess.run(words + ["-f", "json"], check=True, capture_output=True).stdout)["left_out"]
    assert left_out.startswith("Left out") and "ends of long texts" in left_out


def test_of_a_recording_nothing_is_left_out(tidemark, tmp_path):
    """A deep recursion, and thousands of stacks beside it."""
    program = tmp_path / "deep.py"
    program.write_text(
        "import sys\nsys.setrecursionlimit(9000)\nkept = []\n"
        "def f(n):\n    kept.append(bytearray(100))\n    return f(n - 1) if n else None\n"
        "def a(n, p):\n    kept.append(bytearray(100))\n    return (a, b)[p >> n & 1](n - 1, p) if n else None\n"
        "def b(n, p):\n    kept.append(bytearray(100))\n    return (a, b)[p >> n & 1](n - 1, p) if n else None\n"
        "f(1500)\n[a(40, i * 2654435761 % 2**40) for i in range(300)]\n")
    trace = tmp_path / "t.tide"
    subprocess.run([tidemark, "record", "--exact", "-o", trace, "python3", program], check=True, capture_output=True)
    out = subprocess.run([tidemark, "report", trace, "peak", "-f", "json", "--limit", EVERY], check=True,
                         capture_output=True).stdout
    answer = json.loads(out)
    assert answer["left_out"] is None
    assert max(len(row["stack"] or []) for row in answer["tables"]["peak"]["rows"]) > 200
