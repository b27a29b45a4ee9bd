"""Memory that programs map themselves: which line has it, of which kind it is, and what of it is resident."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

MIB = 1 << 20
MODES = {"exact": ["--exact"], "sampled": [], "both": ["--exact=64K"]}

# What each function of the target has at the end, in MiB: private memory and shared memory.
MAPPED = {"anonymous_24": 24, "opened_14": 14, "placed_10": 10, "reserved_512": 9, "moved_18": 18,
          "holes_8": 8, "break_7": 7}
SHARED = {"shared_20": 20, "memory_file_16": 16, "segment_5": 5}


@pytest.fixture
def record(run, target, tmp_path):
    """record(mode, *words) -> the trace of a run of the target"""

    def call(mode, *words):
        trace = tmp_path / f"{mode}.tide"
        done = run("record", "-q", "--no-cpu", *MODES[mode], "-f", "-o", trace,
                   target("record/mapper"), *words, timeout=180)
        assert done.returncode == 0, done.stderr
        return trace

    return call


@pytest.fixture
def ask(run):
    """ask(trace, question, *options) -> the tables of the answer"""

    def call(trace, *question):
        done = run("report", trace, *question, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]

    return call


def by_site(rows, column, site="site"):
    """The bytes of a column by the function's name, in MiB, where they are whole ones."""
    found = {}
    for row in rows:
        name = row[site].split(" ")[0]
        found[name] = found.get(name, 0) + (row[column] or 0)
    return {name: n // MIB for name, n in found.items() if n >= MIB}


@pytest.mark.parametrize("mode", MODES)
def test_every_kind_is_memory_of_the_line_that_took_it(record, ask, tmp_path, mode):
    trace = record(mode, "kinds", tmp_path / "file")
    every = {**MAPPED, **SHARED}
    for row in ask(trace, "leaks")["leaks"]["rows"]:  # the end of the program
        name = row["site"].split(" ")[0]
        assert name not in every or row["bytes"] == every[name] * MIB, row
    sites = ask(trace, "sites")["sites"]["rows"]
    assert by_site(sites, "alive") == every
    assert by_site(sites, "mapped_at_peak") == by_site(sites, "at_peak")
    top = ask(trace, "tree", "--at", "end")["tree"]["rows"]
    assert sum(every.values()) * MIB <= max(r["bytes"] for r in top) < (sum(every.values()) + 1) * MIB
    lines = ask(trace, "lines")["lines"]["rows"]
    assert sum(r["mapped_at_peak"] for r in lines) == sum(r["at_peak"] for r in lines) - \
        ask(trace, "peak")["facts"]["values"]["peak_heap_allocated"]


def test_the_parts_add_up_and_no_two_questions_contradict(record, ask, run, tmp_path):
    trace = record("exact", "kinds", tmp_path / "file")
    facts = ask(trace, "summary")["facts"]["values"]
    peak = ask(trace, "peak")
    assert facts["peak_heap"] == peak["facts"]["values"]["peak_heap"]
    for part in ("allocated", "mapped", "shared"):
        assert facts[f"peak_heap_{part}"] == peak["facts"]["values"][f"peak_heap_{part}"]
    assert facts["peak_heap"] == sum(facts[f"peak_heap_{p}"] for p in ("allocated", "mapped", "shared"))
    assert facts["peak_heap"] == sum(r["bytes"] for r in peak["peak"]["rows"])
    assert facts["peak_heap_mapped"] + facts["peak_heap_shared"] == \
        sum(r["mapped"] for r in peak["peak"]["rows"])
    assert facts["most_mapped_of_files"] == 12 * MIB
    assert facts["most_reserved_addresses"] >= (1024 - 24 + 512) * MIB
    alive = ask(trace, "leaks")["facts"]["values"]["alive"]
    assert facts["alive_at_end"] == alive
    assert max(r["live_heap"] for r in ask(trace, "timeline")["timeline"]["rows"]) == facts["peak_heap"]
    text = run("report", trace).stdout
    assert "heap and mappings peaked at" in text.replace("\n", " ")
    assert "reservations by what was seen resident" in text.replace("\n", " ")


def parts_of(tables):
    top = {r["part"]: r for r in tables["parts"]["rows"] if r["depth"] == 0}
    assert sum(r["resident"] for r in top.values() if r["resident"] is not None) == \
        tables["facts"]["values"]["rss"]
    return top


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_resident_is_what_is_really_there(record, ask, tmp_path, mode):
    trace = record(mode, "kinds", tmp_path / "file")
    tables = ask(trace, "resident", "--at", "2s", "--limit", "20")
    parts_of(tables)
    assert "looked at" in tables["facts"]["values"]["pages"]
    rows = [r for r in tables["parts"]["rows"] if r["depth"] == 1]
    seen = {(r["kind"], r["part"].split(" ")[0]): r["resident"] // MIB for r in rows}
    expected = {"anonymous_24": 6, "opened_14": 0, "placed_10": 0, "reserved_512": 9, "moved_18": 0,
                "holes_8": 0, "break_7": 0}
    assert {name: n for (kind, name), n in seen.items() if kind == "mapped" and name in MAPPED} == expected
    assert {name: n for (kind, name), n in seen.items() if kind == "shared" and name in SHARED} == \
        {"shared_20": 0, "memory_file_16": 0, "segment_5": 0}
    if ("file", "file_12") in seen:  # where the folder is memory itself, it is shared memory
        assert seen["file", "file_12"] == 3


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_untouched_pages_of_large_blocks_are_not_resident(record, ask, mode):
    tables = ask(record(mode, "large"), "resident", "--at", "2s")
    parts_of(tables)
    rows = {r["part"].split(" ")[0]: r for r in tables["parts"]["rows"]}
    assert rows["blocks_40"]["asked_for"] == 40 * MIB
    assert 10 * MIB <= rows["blocks_40"]["resident"] <= 10.5 * MIB
    assert rows["blocks_40"]["how"] == "by page"
    assert rows["anonymous_24"]["resident"] == 6 * MIB


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_where_pages_may_not_be_looked_at_it_is_said(public, run):
    folder = public("record/mapper", library=True)
    trace = folder / "t.tide"
    os.chmod(folder, 0o777)
    done = subprocess.run([folder / "tidemark", "record", "-q", "--no-cpu", "--exact", "-f", "-o", trace,
                           folder / "mapper", "hidden"], check=False, capture_output=True, text=True,
                          timeout=180, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 0, done.stderr
    done = run("report", trace, "resident", "--at", "2s", "-f", "json")
    tables = json.loads(done.stdout)["tables"]
    assert tables["facts"]["values"]["pages"].startswith("not looked at")
    parts_of(tables)


def test_an_object_counts_once_however_often_it_is_mapped(record, ask):
    trace = record("exact", "two")
    facts = ask(trace, "peak")["facts"]["values"]
    assert facts["peak_heap_shared"] == 16 * MIB
    assert facts["peak_heap_mapped"] == 24 * MIB


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_an_allocator_of_the_program_is_not_counted_twice(record, ask, mode):
    facts = ask(record(mode, "own"), "peak", "--at", "2s")["facts"]["values"]
    assert facts["live_heap_mapped"] == 0
    assert 6 * MIB <= facts["live_heap"] < 7 * MIB


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_maps_of_several_threads_at_one_address(record, ask, mode):
    """The kernel gives an address that one thread has unmapped to the next at once."""
    facts = ask(record(mode, "threads"), "summary")["facts"]["values"]
    sites = ask(record(mode, "threads"), "sites")["sites"]["rows"]
    assert by_site(sites, "alive") == {"anonymous_24": 24}
    assert 24 * MIB <= facts["peak_heap_mapped"] <= 28 * MIB


def python(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    return script


@pytest.mark.parametrize("mode", MODES)
def test_mmap_and_shared_memory_of_python(run, ask, tmp_path, mode):
    script = python(tmp_path, """\
        import mmap
        from multiprocessing.shared_memory import SharedMemory
        MIB = 1 << 20
        a = mmap.mmap(-1, 60 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        b = mmap.mmap(-1, 45 * MIB)
        c = SharedMemory(create=True, size=30 * MIB)
        d = [bytearray(MIB // 8) for i in range(80)]
        c.close(); c.unlink()
        del d
        b.close()
        """)
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-cpu", *MODES[mode], "-o", trace, sys.executable, script, timeout=180)
    assert done.returncode == 0, done.stderr
    rows = [r for r in ask(trace, "lines")["lines"]["rows"] if r["line"]]
    held = {r["line"]: (r["at_peak"] or 0) // MIB for r in rows if r["file"].endswith("script.py")}
    assert {n: held.get(n) for n in (4, 5, 6)} == {4: 60, 5: 45, 6: 30}
    assert held[7] <= 10
    mapped = {r["line"]: (r["mapped_at_peak"] or 0) // MIB for r in rows if r["file"].endswith("script.py")}
    assert {n: mapped[n] for n in (4, 5, 6, 7)} == {4: 60, 5: 45, 6: 30, 7: 0}
    facts = ask(trace, "peak")["facts"]["values"]
    assert (facts["peak_heap_mapped"] // MIB, facts["peak_heap_shared"] // MIB) == (60, 75)


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_arenas_of_python_are_not_counted_beside_their_blocks(run, ask, tmp_path, mode):
    script = python(tmp_path, "x = [str(i) + 'y' * 40 for i in range(400000)]\n")
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-cpu", *MODES[mode], "-o", trace, sys.executable, script, timeout=180)
    assert done.returncode == 0, done.stderr
    facts = ask(trace, "summary")["facts"]["values"]
    assert facts["peak_heap"] > 25 * MIB
    assert facts.get("peak_heap_mapped", 0) < MIB


GROWS = """\
import mmap, time
def reserve(kib):
    m = mmap.mmap(-1, kib << 10, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    for at in range(0, kib << 10, 4096):
        m[at] = 1
    return m
kept = [bytearray(20 + i % 50) for i in range(200_000)]
many = [reserve(256) for _ in range(400)]
time.sleep(0.15)
more = reserve(100 << 10)
time.sleep(3)
"""


def test_what_is_touched_of_a_reservation_is_seen_while_it_is_there(run, ask, tmp_path):
    """Although a look costs so much that it is made rarely: growth is not waited for."""
    (tmp_path / "grows.py").write_text(GROWS)
    done = run("record", "-q", "--exact", "--no-cpu", "-o", tmp_path / "t.tide", sys.executable, tmp_path / "grows.py")
    assert done.returncode == 0, done.stderr
    assert ask(tmp_path / "t.tide", "summary")["facts"]["values"]["peak_heap_mapped"] >= 195 * MIB


POOL = """
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *next;
__attribute__((noinline)) char *mi_reserve_os_memory_ex2(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    __asm__ volatile("" ::: "memory");
    return at;
}
__attribute__((noinline)) void *pool_get(size_t bytes)
{
    if (!next)
        next = mi_reserve_os_memory_ex2((size_t)1 << 30);
    char *block = next;
    next += bytes;
    return memset(block, 1, bytes);
}
"""
POOL_USER = """
import ctypes, mmap, time
pool = ctypes.CDLL("{library}")
pool.pool_get.argtypes = [ctypes.c_size_t]
def first():
    pool.pool_get(1000)
def most():
    pool.pool_get(24 << 20)
def own():
    return mmap.mmap(-1, 12 << 20)
first()
most()
kept = own()
time.sleep(1.5)
"""


def test_an_arena_inside_of_a_library_is_of_no_line(run, ask, tmp_path):
    """Who asked first made it, and has no more of it than others: its line would be a wrong answer."""
    (tmp_path / "pool.c").write_text(POOL)
    library = tmp_path / "libpoolish.so.3"
    subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", "-o", library, tmp_path / "pool.c"], check=True)
    (tmp_path / "app.py").write_text(POOL_USER.format(library=library))
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "-o", trace, sys.executable, tmp_path / "app.py").returncode == 0
    lines = {row["text"]: row["allocated"] or 0 for row in ask(trace, "lines")["lines"]["rows"]}
    assert 12 * MIB <= lines["    return mmap.mmap(-1, 12 << 20)"] < 13 * MIB
    assert lines.get("    pool.pool_get(1000)", 0) < MIB and lines.get("    pool.pool_get(24 << 20)", 0) < MIB
    files = {row["file"]: row["allocated"] for row in ask(trace, "lines")["files"]["rows"]}
    assert 24 * MIB <= files["(arena of libpoolish)"] < 25 * MIB
    sites = by_site(ask(trace, "leaks")["leaks"]["rows"], "bytes")
    assert sites["(arena"] == 24 and sites["own"] == 12
    assert "(arena of libpoolish)" in run("report", trace).stdout
