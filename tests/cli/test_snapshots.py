"""`snapshots`: allocator, process and devices on one row, at each moment that was named."""

import csv
import io
import json
import pathlib
import subprocess
import sys
import textwrap

import pytest

import tracemaker as tm

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MS = 1_000_000
RSS, CPU, THREADS, DEVICE_USED, DEVICE_OURS = 1, 10, 15, 160, 164


def pairs(*numbers):
    return b"".join(map(tm.varint, numbers))


@pytest.fixture
def trace(tmp_path):
    """Two marks and a region of process 1 at 10, 30, 50 and 60 ms; a snapshot of all at 70 ms."""
    t = tm.Trace()
    texts = ["cold", "warm", "work", "all", "gpu:0", "pool:p", "reserved:p"]
    t.add([tm.record(tm.STRING, i + 1, tail=text.encode()) for i, text in enumerate(texts)]
          + [tm.record(tm.FRAME, 1, 0, 1, 4096), tm.record(tm.STACK, 1, 0, 1)]
          + [tm.record(tm.SPACE, 1, 5, 0), tm.record(tm.SPACE, 2, 6, 3), tm.record(tm.SPACE, 3, 7, 4)])
    t.add([
        tm.record(tm.PROCESS, 1, 0, 77, 0, 0, 1),
        tm.record(tm.THREAD, 1, 1, 77),
        tm.record(tm.ALLOC, 1, 4096, 1000, 1, 0, 0, step=1 * MS),
        tm.record(tm.SAMPLE, 2, 1, tail=pairs(RSS, 5000, CPU, 7, THREADS, 2), step=8 * MS),  # 9 ms
        tm.record(tm.MARK, 1, 0, 1, 4, step=1 * MS),  # 10 ms: cold
        tm.record(tm.SPACE_ALLOC, 1, 1, 300, 1, 1, 0, step=1 * MS),
        tm.record(tm.SPACE_ALLOC, 1, 2, 4096, 1, 3, 0),
        tm.record(tm.SPACE_ALLOC, 1, 3, 100, 1, 2, 0),
        tm.record(tm.ALLOC, 1, 8192, 500, 1, 0, 0),
        tm.record(tm.FREE, 1, 4096, 0, step=9 * MS),
        tm.record(tm.MARK, 1, 0, 2, 9, step=10 * MS),  # 30 ms: warm
        tm.record(tm.SAMPLE, 4, 1, tail=pairs(DEVICE_USED, 9000, DEVICE_OURS, 400), step=1 * MS),
        tm.record(tm.SAMPLE, 2, 1, tail=pairs(RSS, 6000, CPU, 9)),  # 31 ms: nearer than that of 9 ms
        tm.record(tm.SPACE_FREE, 1, 1, 1),
        tm.record(tm.REGION, 1, 1, 3, 0, step=19 * MS),  # 50 ms
        tm.record(tm.REGION_END, 1, 1, step=10 * MS),  # 60 ms
        tm.record(tm.SAMPLE, 0, 0, tail=pairs(RSS, 8000), step=9 * MS),
        tm.record(tm.MARK, 0, 5, 4, 0, step=1 * MS),  # 70 ms
        tm.record(tm.END, step=10 * MS),
    ], 0, 80 * MS)
    return t.write(tmp_path / "t.tide")


def rows_of(run, path, *options):
    done = run("report", path, "snapshots", "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"]["snapshots"]["rows"]


def test_a_row_has_allocator_process_and_devices(run, trace):
    cold, warm, begins, ends, every = rows_of(run, trace)
    assert [cold[k] for k in ("time", "name", "kind", "pid")] == [10 * MS, "cold", "mark", 77]
    assert [cold[k] for k in ("live_heap", "blocks", "allocated", "rss", "cpu", "threads")] == [
        1000, 1, 1000, 5000, 7, 2]
    assert [warm[k] for k in ("live_heap", "allocated", "device_allocated")] == [500, 1500, 300]
    assert [warm[k] for k in ("pool_reserved", "pool_used")] == [4096, 100]
    assert (begins["kind"], begins["name"], begins["device_allocated"]) == ("region begins", "work", 0)
    assert [ends[k] for k in ("kind", "name", "device_used", "device_ours")] == [
        "region ends", "work", 9000, 400]
    assert [every[k] for k in ("kind", "name", "pid", "live_heap", "rss")] == [
        "snapshot", "all", None, 500, 8000]


def test_the_sample_nearest_to_a_moment_counts_and_is_said(run, trace):
    cold, warm, begins = rows_of(run, trace)[:3]
    assert (cold["measured"], cold["rss"]) == (9 * MS, 5000)
    assert (warm["measured"], warm["rss"], warm["threads"]) == (31 * MS, 6000, 2)
    assert begins["measured"] == 31 * MS


def test_what_is_absent_is_not_zero(run, trace):
    cold = rows_of(run, trace)[0]
    assert all(cold[k] is None for k in ("pool_reserved", "pool_used", "pss", "device_allocated",
                                         "device_used", "device_ours"))
    done = run("report", trace, "snapshots", "-f", "csv")
    first = next(csv.DictReader(io.StringIO(done.stdout)))
    assert first["device_used"] == "" and first["live_heap"] == "1000"


def test_a_stretch_and_a_limit(run, trace):
    assert [r["name"] for r in rows_of(run, trace, "--from", "0.02", "--to", "0.055")] == [
        "warm", "work"]
    done = run("report", trace, "snapshots", "--limit", "2")
    assert "The first; 3 more came later." in done.stdout


def test_a_program_without_named_moments_is_told_how(run, tmp_path):
    path = tmp_path / "t.tide"
    assert run("record", "-q", "-o", path, "true").returncode == 0
    assert "has named no moment" in run("report", path, "snapshots").stdout


@pytest.mark.parametrize("how", ["--exact", "--sample=16KiB"])
def test_a_snapshot_is_measured_at_once(tidemark, run, tmp_path, how):
    path, script = tmp_path / "t.tide", tmp_path / "p.py"
    script.write_text(textwrap.dedent("""
        import tidemark, time
        big = b"x" * 40_000_000
        time.sleep(1)
        del big
        tidemark.snapshot("now")
        time.sleep(2)
        """))
    subprocess.run([tidemark, "record", "-q", how, "--interval", "10s", "-o", path, sys.executable, script],
                   check=True, timeout=120, env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"})
    (row,) = rows_of(run, path)
    assert row["name"] == "now" and row["time"] < row["measured"] < row["time"] + 1900 * MS
    assert 0 < row["rss"] < 40_000_000 and row["live_heap"] < 40_000_000 < row["allocated"] * 1.2
