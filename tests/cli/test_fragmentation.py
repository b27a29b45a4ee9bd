"""What pools have reserved, and in which pieces the rest is: snapshots of PyTorch whose segments are known, and a
program with an allocator of its own (tests/targets/record/arenas.c)."""

import json
import pickle
import subprocess

import pytest
from foreign_files import MIB, block, segment, snapshot

KIB = 1 << 10


@pytest.fixture
def ask(run):
    """ask(trace, *words) -> facts, pools by name, segments by address"""

    def call(trace, *words):
        done = run("report", trace, "fragmentation", "-f", "json", *words)
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        return (tables["facts"]["values"], {row["pool"]: row for row in tables["pools"]["rows"]},
                {row["address"]: row for row in tables["segments"]["rows"]})

    return call


@pytest.fixture
def imported(run, tmp_path):
    def call(what):
        path, trace = tmp_path / "s.pickle", tmp_path / "s.tide"
        path.write_bytes(pickle.dumps(what, 4))
        done = run("import", path, "-o", trace)
        assert done.returncode == 0, done.stderr
        return trace

    return call


def numbers(row, *names):
    return tuple(row[name] for name in names)


WHAT = ("reserved", "used", "requested", "free", "largest_free")


def test_segments_of_a_snapshot_are_told_as_they_were(ask, imported):
    facts, pools, segments = ask(imported(snapshot()))
    assert facts["basis"].startswith("exact")
    assert numbers(segments[0x7f0000000000], *WHAT) == (2 * MIB, MIB, MIB, MIB, MIB)
    assert numbers(segments[0x7f1000000000], *WHAT) == (4 * MIB, 1024, 1000, 4 * MIB - 1024, 4 * MIB - 1024)
    assert numbers(segments[0x7f2000000000], "blocks", *WHAT) == (1, 2 * MIB, 512, 7, 2 * MIB - 512, 0)
    assert numbers(pools["device 0"], "segments", *WHAT) == (
        2, 6 * MIB, MIB + 1024, MIB + 1000, 5 * MIB - 1024, 4 * MIB - 1024)
    assert pools["device 2"]["segments"] == 1


def test_what_is_not_in_the_largest_piece_is_scattered(ask, imported):
    # Four of eight pieces of 1 MiB are free, none beside another.
    pieces = [block(0x10000000 + i * MIB, MIB, MIB - 100, "inactive" if i % 2 else "active_allocated")
              for i in range(8)]
    _, pools, _ = ask(imported({"segments": [segment(0x10000000, 8 * MIB, pieces)], "device_traces": [[]]}))
    assert numbers(pools["device 0"], *WHAT) == (8 * MIB, 4 * MIB, 4 * (MIB - 100), 4 * MIB, MIB)
    assert pools["device 0"]["scattered"] == 75


def test_what_waits_for_its_stream_is_used(ask, imported):
    pieces = [block(0x10000000, MIB, 1000, "active_pending_free"), block(0x10100000, MIB, 0, "inactive")]
    _, pools, _ = ask(imported({"segments": [segment(0x10000000, 2 * MIB, pieces)], "device_traces": [[]]}))
    assert numbers(pools["device 0"], "used", "requested") == (MIB, 1000)


@pytest.fixture
def recorded(build, tidemark, tmp_path):
    def call(how):
        path = tmp_path / "t.tide"
        program = build / "tests" / "targets" / "record" / "arenas"
        subprocess.run([tidemark, "record", "-q", "-f", how, "-o", path, program], check=True, timeout=120)
        return path

    return call


def test_arenas_of_a_program_have_their_gaps(ask, recorded):
    facts, pools, segments = ask(recorded("--exact=4K"), "--at", "now")
    assert facts["basis"].endswith("at most so much is free")
    rows = sorted((numbers(row, "blocks", *WHAT) for row in segments.values()), reverse=True)
    assert rows == [(2, MIB, None, 384 * KIB, 640 * KIB, 384 * KIB), (1, MIB, None, 64 * KIB, 960 * KIB, 960 * KIB)]
    assert numbers(pools["arenas"], "segments", *WHAT) == (2, 2 * MIB, None, 448 * KIB, 1600 * KIB, 960 * KIB)
    assert all("main" in row["site"] or "map" in row["site"] for row in segments.values())


def test_without_addresses_only_segments_are_known(ask, recorded):
    facts, pools, segments = ask(recorded("--exact"), "--at", "now")
    assert "--exact=4K" in facts["basis"]
    assert numbers(pools["arenas"], "segments", *WHAT) == (2, 2 * MIB, None, None, None, None)


def test_of_arenas_with_small_blocks_no_content_is_claimed(ask, run, tmp_path):
    path = tmp_path / "t.tide"
    code = "xs = [str(i) for i in range(400000)]"
    assert run("record", "-q", "--exact=4K", "-o", path, "/usr/bin/python3", "-c", code).returncode == 0
    _, pools, _ = ask(path)
    row, = pools.values()
    assert row["reserved"] >= 16 * MIB and numbers(row, "used", "requested", "largest_free") == (None, None, None)


def test_a_program_without_pools_is_told_so(run, tmp_path):
    path = tmp_path / "t.tide"
    assert run("record", "-q", "--exact", "-o", path, "ls").returncode == 0
    done = run("report", path, "fragmentation")
    assert done.returncode == 0 and "No pool is known" in done.stdout


def test_where_memory_ran_out_in_a_snapshot(run, imported):
    """Its own word of it, with what was live then, and the pools of each device as they were when it was written"""
    trace = imported(snapshot())
    tables = json.loads(run("report", trace, "oom", "-f", "json").stdout)["tables"]
    facts = tables["facts"]["values"]
    assert (facts["what"], facts["asked_for"]) == ("an allocation was refused", 1 << 34)
    pools = json.loads(run("report", trace, "fragmentation", "-f", "json").stdout)["tables"]["pools"]["rows"]
    assert tables["pools"]["rows"] == pools and len(pools) == 2
    assert "when the imported file was written" in tables["pools"]["note"]
