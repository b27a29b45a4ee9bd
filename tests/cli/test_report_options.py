"""Options of `report` that narrow a question, on a trace of allocations whose contents are known.

The trace is that of tests/unit/make_alloc_trace.c, "old": its head lists what is allocated when.
"""

import collections
import csv
import io
import json
import subprocess

import pytest

MIB = 1 << 20
LOAD, INFLATE, PARSE, NAMELESS = 1000, MIB, 64, 100
MAPPED = 15 * 4096  # by main, of which a page was unmapped


@pytest.fixture(scope="module")
def trace(build, tmp_path_factory):
    path = tmp_path_factory.mktemp("alloc") / "old.tide"
    maker = build / "tests" / "unit" / "make_alloc_trace"
    subprocess.run([maker, path, "old"], check=True, timeout=60)
    return path


@pytest.fixture
def ask(run, trace):
    """ask(question, *options) -> the tables of the answer as JSON"""

    def call(question, *options, file=trace):
        done = run("report", file, question, "-f", "json", *options)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        return {name: t.get("rows", t.get("values")) for name, t in answer["tables"].items()}

    return call


def bytes_by_site(rows):
    sums = collections.Counter()
    for row in rows:
        sums[row["site"].split()[0]] += row["bytes"]
    sums.pop("main", None)  # what it maps: see test_mapped.py
    return dict(sums)


# A stretch of time and a moment of it.


def test_the_peak_of_the_whole_run(ask):
    rows = ask("peak")["peak"]
    assert bytes_by_site(rows) == {"inflate": 2 * INFLATE, "load": 10 * LOAD, "parse": 100 * PARSE}


@pytest.mark.parametrize("to", ["2", "2s", "2000ms", "33.4%", "0.0334m"])
def test_the_peak_up_to_a_time(ask, to):
    rows = ask("peak", "--to", to)["peak"]
    assert bytes_by_site(rows) == {"inflate": 2 * INFLATE, "load": 10 * LOAD}


def test_the_peak_from_a_time_on_has_what_was_alive_before(ask):
    rows = ask("peak", "--from", "4")["peak"]
    expected = {"load": 10 * LOAD + 5 * NAMELESS, "parse": 10 * PARSE}
    assert bytes_by_site(rows) == expected


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("1", {"load": 10 * LOAD}),
        ("peak", {"inflate": 2 * INFLATE, "load": 10 * LOAD, "parse": 100 * PARSE}),
        ("end", {"parse": 10 * PARSE, "load": 5 * NAMELESS}),
        ("97%", {"parse": 10 * PARSE, "load": 5 * NAMELESS}),
        ("100%", {}),  # its process has ended
        ("3550ms", {"load": 10 * LOAD, "parse": 100 * PARSE}),
    ],
)
def test_a_moment(ask, at, expected):
    assert bytes_by_site(ask("peak", "--at", at)["peak"]) == expected


def test_what_was_allocated_in_a_stretch(ask):
    rows = ask("sites", "--from", "1", "--to", "3")["sites"]
    allocated = {r["site"].split()[0]: r["allocated"] for r in rows if r["allocated"]}
    assert allocated == {"inflate": 2 * INFLATE, "parse": 100 * PARSE, "main": 16 * 4096}


@pytest.mark.parametrize("question", ["timeline", "resources"])
def test_the_samples_of_a_stretch(ask, question):
    assert len(ask(question)[question]) == 6
    rows = ask(question, "--from", "1", "--to", "3")[question]
    assert len(rows) == 2
    assert len(ask(question, "--from", "5")[question]) == 1


def test_later_chunks_are_not_read(run, trace, tmp_path):
    """A stretch of time needs no byte of what is after it: the last chunks may be broken."""
    data = bytearray(trace.read_bytes())
    starts, at = [], 64
    while at + 40 <= len(data):
        starts.append((at, data[at + 4]))
        at += 40 + int.from_bytes(data[at + 8 : at + 12], "little")
    events = [at for at, kind in starts if kind == 2]
    assert len(events) >= 6
    for at in events[4:-1]:
        data[at + 40 + 12] ^= 0xFF
    broken = tmp_path / "broken.tide"
    broken.write_bytes(data)
    whole = json.loads(run("report", broken, "peak", "-f", "json").stdout)
    assert "damaged" in whole["health"] or "not read" in whole["health"]
    part = json.loads(run("report", broken, "peak", "-f", "json", "--to", "2").stdout)
    assert part["health"] is None or "damaged" not in part["health"]
    rows = part["tables"]["peak"]["rows"]
    assert bytes_by_site(rows) == {"inflate": 2 * INFLATE, "load": 10 * LOAD}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--from", "soon"], "'soon' is not a time"),
        (["--from", "7"], "after the end of the recording"),
        (["--from", "3", "--to", "2"], "no time between"),
        (["--to", "0"], "no time between"),
        (["--at", "later"], "'later' is not a time"),
        (["--at", "1", "--from", "2"], "not between"),
        (["--limit", "0"], "--limit must be a number of at least 1"),
        (["--limit", "x"], "--limit must be a number of at least 1"),
        (["--temporary", "16"], "--temporary must be a number from 1 to 15"),
    ],
)
def test_what_makes_no_sense_is_refused(run, trace, options, sentence):
    done = run("report", trace, "peak", *options)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


def test_a_limit_of_rows_keeps_the_sum(ask):
    whole = sum(row["bytes"] for row in ask("peak")["peak"])
    rows = ask("peak", "--limit", "1")["peak"]
    assert rows[0]["bytes"] == 2 * INFLATE
    assert len(rows) == 2 and sum(row["bytes"] for row in rows) == whole


@pytest.mark.parametrize(("most", "blocks"), [(None, []), (5, []), (6, [90]), (15, [90])])
def test_what_counts_as_temporary(ask, most, blocks):
    options = ["--temporary", str(most)] if most else []
    assert [row["blocks"] for row in ask("temporary", *options)["temporary"]] == blocks


def test_the_tree_from_both_ends(ask):
    def roots(rows):
        return {row["function"]: row["bytes"] for row in rows if row["depth"] == 0}

    whole = 2 * INFLATE + 10 * LOAD + 100 * PARSE + MAPPED
    assert roots(ask("tree")["tree"]) == {"main": whole}
    assert roots(ask("tree", "--inverted")["tree"]) == {
        "main": MAPPED,
        "inflate": 2 * INFLATE,
        "load": 10 * LOAD,
        "parse": 100 * PARSE,
    }


# Suppressions.


def test_suppressed_leaks_are_left_out_and_counted(ask, tmp_path):
    assert bytes_by_site(ask("leaks")["leaks"]) == {
        "parse": 10 * PARSE,
        "load": 5 * NAMELESS,  # which called what has no name
    }
    known = tmp_path / "known.supp"
    known.write_text("# known leaks\nleak:^nothing$\nleak:libz.so\n")
    tables = ask("leaks", "--suppressions", known)
    assert bytes_by_site(tables["leaks"]) == {"parse": 10 * PARSE}
    assert tables["facts"]["alive"] == 10 * PARSE + MAPPED
    assert tables["suppressed"] == [
        {"bytes": 5 * NAMELESS, "blocks": 5, "stacks": 1, "pattern": "libz.so"}
    ]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("^main$", []),
        ("main.c", []),
        ("app-1$", []),
        ("^parse$", ["main", "load"]),
        ("par*", ["main", "load"]),
        ("^arse", ["main", "parse", "load"]),
    ],
)
def test_suppressions_match_any_frame(ask, tmp_path, pattern, left):
    known = tmp_path / "known.supp"
    known.write_text(f"leak:{pattern}\n")
    rows = ask("leaks", "--suppressions", known)["leaks"]
    assert [row["site"].split()[0] for row in rows] == left


def test_a_wrong_suppression_is_named(run, trace, tmp_path):
    known = tmp_path / "known.supp"
    known.write_text("leak:fine\nrace:other\n")
    done = run("report", trace, "leaks", "--suppressions", known)
    assert done.returncode == 1 and "line 2" in done.stderr
    done = run("report", trace, "leaks", "--suppressions", tmp_path / "none")
    assert done.returncode == 1 and "No such file" in done.stderr


# Collapsed stacks.


def test_collapsed_stacks(run, trace):
    done = run("report", trace, "-f", "collapsed")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "main 61440",
        "main;load 10000",
        "main;load;inflate 2097152",
        "main;parse 6400",
    ]
    done = run("report", trace, "leaks", "-f", "collapsed")
    assert sorted(done.stdout.splitlines()) == [
        "main 61440",
        "main;load;libz.so.1.2+0x1500 500",
        "main;parse 640",
    ]


def test_collapsed_stacks_need_stacks(run, trace):
    done = run("report", trace, "timeline", "-f", "collapsed")
    assert done.returncode == 2 and "needs stacks" in done.stderr
    assert done.stdout == ""


# What the resident memory consists of.


def parts(ask, *options):
    tables = ask("resident", *options)
    top = {r["part"]: r["resident"] for r in tables["parts"] if r["depth"] == 0}
    sites = {r["part"].split()[0]: r["resident"] for r in tables["parts"] if r["depth"] == 1}
    assert sum(b for b in top.values() if b is not None) == tables["facts"]["rss"]
    if sites:
        assert sum(sites.values()) == top["live heap"] + top.get("anonymous mappings of the program", 0)
    return tables, top, sites


def test_the_parts_add_up_to_the_largest_rss(ask):
    tables, top, sites = parts(ask)
    heap = 2 * INFLATE + 10 * LOAD + 100 * PARSE
    assert tables["facts"]["at"] == 2_700_000_000
    assert tables["facts"]["rss"] == 5_000_000 + 3 * MIB + 8192
    assert top["live heap"] == heap
    assert top["mapped files"] == 3 * MIB
    assert next(b for name, b in top.items() if "shared" in name) == 8192
    assert next(b for name, b in top.items() if "rest" in name) == 5_000_000 - heap - MAPPED
    assert sites == {"inflate": 2 * INFLATE, "load": 10 * LOAD, "parse": 100 * PARSE, "main": MAPPED}
    mapped = next(r for r in tables["parts"] if "mappings" in r["part"])
    assert mapped["asked_for"] == mapped["resident"] == MAPPED
    assert all(row["how"] for row in tables["parts"])


def test_a_heap_that_is_not_all_resident_is_cut_to_what_is(ask):
    tables, top, sites = parts(ask, "--at", "1.6")
    assert tables["facts"]["at"] == 1_700_000_000
    assert top["live heap"] == 1_000_000
    row = next(r for r in tables["parts"] if r["part"] == "live heap")
    assert row["asked_for"] == 2 * INFLATE + 10 * LOAD and "bound" in row["how"]
    assert 0 < sites["load"] < 10 * LOAD


def test_the_parts_at_other_moments(ask):
    assert parts(ask, "--at", "end")[0]["facts"]["at"] == 5_700_000_000
    assert parts(ask, "--at", "peak")[0]["facts"]["at"] == 2_700_000_000
    assert parts(ask, "--from", "3")[0]["facts"]["at"] == 3_700_000_000
    tables, _, sites = parts(ask, "--limit", "1")
    assert list(sites) == ["inflate", "(2", "main"]  # smaller ones, and of mappings


def test_resident_as_csv(run, trace):
    done = run("report", trace, "resident", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["part"] == "live heap" and rows[0]["resident"] == "2113552"
