"""tidemark report on allocations: traces with known numbers (make_heap_trace.c), to the byte."""

import csv
import io
import json
import os
import math
import subprocess

import pytest

MIB = 1 << 20
MS = 1_000_000
QUESTIONS = [
    "summary",
    "peak",
    "leaks",
    "temporary",
    "sites",
    "tree",
    "histogram",
    "threads",
    "processes",
    "timeline",
    "lines",
    "functions",
    "waits",
]
PEAK = 10_000 + 4 * 64 + 3 * MIB + 32


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    """traces(kind) -> the path of a trace of that kind"""
    folder = tmp_path_factory.mktemp("traces")

    def make(kind, maker="make_heap_trace"):
        path = folder / f"{maker}-{kind}.tide"
        if not path.exists():
            tool = build / "tests" / "unit" / maker
            subprocess.run([tool, kind, path], check=True, timeout=60)
        return path

    return make


@pytest.fixture
def report(run, traces):
    """report(kind, *words) -> what was written"""

    def call(kind, *words, **kw):
        done = run("report", traces(kind), *words, **kw)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    return call


@pytest.fixture
def ask(report):
    """ask(kind, *words) -> (facts, rows by table, the whole object)"""

    def call(kind, *words):
        said = json.loads(report(kind, *words, "-f", "json"))
        tables = said["tables"]
        facts = tables.get("facts", {}).get("values", {})
        return facts, {name: t["rows"] for name, t in tables.items() if "rows" in t}, said

    return call


def total(rows, column):
    return sum(row[column] for row in rows)


def test_peak_adds_up(ask):
    facts, tables, said = ask("exact", "peak")
    assert said["health"] is None
    assert facts == {"peak_heap": PEAK, "basis": "exact", "blocks": 18, "time": 3000 * MS}
    rows = tables["peak"]
    assert total(rows, "bytes") == PEAK and total(rows, "blocks") == 18
    assert [(r["bytes"], r["blocks"], r["site"]) for r in rows] == [
        (3 * MIB, 3, "load (load.c:20)"),
        (10_000, 10, "load (load.c:20)"),
        (256, 4, "inner (inner.h:5) [inlined]"),
        (32, 1, "0x7f0000 [guessed]"),
    ]
    assert rows[0]["error_percent"] is None and rows[0]["processes"] is None


def test_stacks_in_json(ask):
    _, tables, said = ask("exact", "peak")
    assert said["tables"]["peak"]["units"]["stack"] == "stack"
    frame = {"function": None, "file": None, "line": None, "module": None, "address": None}
    app = {"module": "/opt/app"}
    assert tables["peak"][2]["stack"] == [
        {**frame, **app, "function": "inner", "file": "inner.h", "line": 5, "address": 0x300}
        | {"inlined": True},
        {**frame, **app, "function": "parse", "file": "parse.c", "line": 30, "address": 0x300},
        {**frame, **app, "function": "main", "file": "main.c", "line": 10, "address": 0x100},
    ]
    assert tables["peak"][3]["stack"] == [
        {**frame, "address": 0x7F0000, "guessed": True},
        {**frame, "cut": True},
    ]


def test_stacks_in_csv(report):
    rows = list(csv.DictReader(io.StringIO(report("exact", "peak", "-f", "csv"))))
    assert rows[1]["stack"] == "xmalloc (util.c:7);load (load.c:20);main (main.c:10)"
    assert sum(int(r["bytes"]) for r in rows) == PEAK


def test_stacks_in_text(report):
    lines = report("exact", "peak", env={"LC_ALL": "C.UTF-8", "COLUMNS": "100"}).splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["9.8", "KiB"])
    assert lines[at + 1 : at + 3] == ["    load (load.c:20)", "    main (main.c:10)"]
    assert lines[at + 3] == "    … 1 more; --native shows whole stacks"
    lines = report("exact", "peak", "--native", env={"LC_ALL": "C.UTF-8", "COLUMNS": "100"}).splitlines()
    at = lines.index("    xmalloc (util.c:7)")
    assert lines[at + 1 : at + 3] == ["    load (load.c:20)", "    main (main.c:10)"]


def test_a_limit_keeps_the_sum(ask):
    _, tables, _ = ask("exact", "peak", "--limit", "1")
    assert len(tables["peak"]) == 2
    assert total(tables["peak"], "bytes") == PEAK
    assert tables["peak"][1]["site"] == "(3 smaller ones)"
    assert tables["peak"][1]["stack"] is None


def test_other_moments(ask):
    assert ask("exact", "peak", "--at", "end")[0]["live_heap"] == 3288
    assert ask("exact", "peak", "--at", "2500ms")[0]["live_heap"] == 10_256
    assert ask("exact", "leaks", "--at", "2500ms")[0]["alive"] == 10_256
    facts, tables, _ = ask("exact", "peak", "--from", "4s", "--to", "6500ms")
    assert facts["peak_heap"] == 10_288 == total(tables["peak"], "bytes")


def test_leaks(ask):
    facts, tables, _ = ask("exact", "leaks")
    assert facts == {"alive": 3288, "basis": "exact", "blocks": 17, "growing": 0,
                     "growing_stacks": 0, "moment": "the end of each process"}
    rows = tables["leaks"]
    assert total(rows, "bytes") == 3288
    columns = ["bytes", "trend", "grown_last_quarter", "first", "last"]
    assert [tuple(r[c] for c in columns) for r in rows] == [
        (2000, "steady", 0, 1000 * MS, 1000 * MS),
        (1000, "unclear", 300, 6000 * MS, 7500 * MS),
        (256, "steady", 0, 2000 * MS, 2000 * MS),
        (32, "grew once", 0, 3000 * MS, 3000 * MS),
    ]


@pytest.mark.parametrize("kind, ages", [
    # of 2000 bytes two are left of ten from 1 s, and a free of one was taken back at 7 s
    ("exact", [(2000, 7000, 7000), (1000, 2000, 2000), (256, 6000, 6000), (32, 5000, 5000)]),
    # of two samples from 1 s and 2 s the first was freed
    ("sampled", [(MIB, 1500, 1500), (5000, 2000, 2000)]),
])
def test_ages_of_what_is_alive(ask, kind, ages):
    rows = ask(kind, "leaks")[1]["leaks"]
    assert [(r["bytes"], round(r["median_age"] / MS), round(r["oldest_age"] / MS))
            for r in rows] == ages


def test_temporary(ask):
    _, tables, said = ask("exact", "temporary")
    (row,) = tables["temporary"]
    assert (row["blocks"], row["bytes"], row["blocks_allocated"]) == (5, 320, 9)
    assert row["percent"] == 100 and abs(row["temporary_percent"] - 500 / 9) < 1e-9
    assert said["tables"]["temporary"]["note"].startswith("Exact.")
    _, tables, _ = ask("exact", "temporary", "--temporary", "4")
    assert [(r["blocks"], r["bytes"]) for r in tables["temporary"]] == [(5, 320), (1, 1000)]


def test_sites(ask):
    _, tables, _ = ask("exact", "sites")
    rows = {r["site"]: r for r in tables["sites"]}
    load = rows["load (load.c:20)"]
    assert load["allocated"] == 10_000 + 3 * MIB and load["blocks"] == 13 and load["stacks"] == 2
    assert load["at_peak"] == 10_000 + 3 * MIB
    assert load["alive"] == 2000 and load["blocks_alive"] == 2
    assert load["freed"] == 8000 + 3 * MIB and load["blocks_freed"] == 11
    assert (load["smallest"], load["largest"]) == (1000, MIB)
    assert load["module"] == "/opt/app"
    assert rows["inner (inner.h:5) [inlined]"]["temporary_blocks"] == 5
    assert rows["main (main.c:10)"]["half_lived_less_than"] is None
    assert rows["inner (inner.h:5) [inlined]"]["half_lived_less_than"] == 65536
    assert total(tables["sites"], "allocated") == 10_000 + 9 * 64 + 3 * MIB + 1000 + 32


def test_tree(ask, report):
    _, tables, _ = ask("exact", "tree")
    assert [(r["depth"], r["function"], r["bytes"], r["self"]) for r in tables["tree"]] == [
        (0, "main", PEAK - 32, 0),
        (1, "load", 10_000 + 3 * MIB, 10_000 + 3 * MIB),
        (1, "parse", 256, 0),
        (2, "inner", 256, 256),
        (0, "[not followed further]", 32, 0),
        (1, "0x7f0000 [guessed]", 32, 32),
    ]
    _, tables, _ = ask("exact", "tree", "--native")
    assert [(r["depth"], r["function"], r["bytes"], r["self"]) for r in tables["tree"]] == [
        (0, "main", PEAK - 32, 0),
        (1, "load", 10_000 + 3 * MIB, 3 * MIB),
        (2, "xmalloc", 10_000, 10_000),
        (1, "parse", 256, 0),
        (2, "inner", 256, 256),
        (0, "[not followed further]", 32, 0),
        (1, "0x7f0000 [guessed]", 32, 32),
    ]
    _, tables, _ = ask("exact", "tree", "--inverted")
    assert [(r["depth"], r["function"], r["bytes"]) for r in tables["tree"]][:3] == [
        (0, "load", 10_000 + 3 * MIB),
        (1, "main", 10_000 + 3 * MIB),
        (0, "inner", 256),
    ]
    assert "xmalloc" in report("exact", "tree", "--native")
    assert "xmalloc" not in report("exact", "tree")


def test_histogram(ask):
    _, tables, _ = ask("exact", "histogram")
    rows = {r["from"]: r for r in tables["sizes"]}
    assert sorted(rows) == [32, 64, 512, MIB]
    assert rows[64]["to"] == 127 and rows[64]["blocks"] == 19 and rows[64]["bytes"] == 576 + 1000
    assert rows[64]["most_by"] == "main (main.c:10)"  # which called what has no name
    assert rows[512]["at_peak"] == 10_000 and rows[512]["alive"] == 2000
    assert total(tables["sizes"], "at_peak") == PEAK
    assert total(tables["lifetimes"], "blocks") == 16
    # this trace does not say how long a tick was
    assert tables["lifetimes"][0] == {"from": 0, "to": None, "blocks": 8, "percent": 50,
                                      "lived": "within one tick"}
    assert tables["lifetimes"][1]["lived"].endswith(" and more")


def test_short_lives_are_known_to_a_tick(run, tmp_path):
    """Blocks that live for a part of a millisecond are not said to live for some microseconds."""
    trace = tmp_path / "t.tide"
    code = "import time\nfor i in range(200):\n    x = bytearray(5000)\n    time.sleep(0.0004)\n"
    for how in (["--exact"], []):
        done = run("record", "-q", *how, "-f", "-o", trace, "/usr/bin/python3", "-c", code)
        assert done.returncode == 0, done.stderr
        said = json.loads(run("report", trace, "histogram", "-f", "json").stdout)["tables"]
        first = said["lifetimes"]["rows"][0]
        if how:
            assert first["lived"].startswith("within one tick (< ") and first["to"] > 400_000
            assert "known to a tick" in said["lifetimes"]["note"]
        else:  # samples have times of their own
            assert "tick" not in first["lived"] and "tick" not in said["lifetimes"]["note"]
        trace.unlink()


def test_counts_of_samples_have_errors_of_their_own(run, tmp_path):
    """Of many small blocks there are few samples beside those of a few large ones."""
    trace = tmp_path / "t.tide"
    code = "x = [bytearray(1 << 20) for i in range(300)]\ny = [str(i) for i in range(100000)]\n"
    done = run("record", "-q", "-f", "-o", trace, "/usr/bin/python3", "-c", code)
    assert done.returncode == 0, done.stderr
    facts = json.loads(run("report", trace, "summary", "-f", "json").stdout)
    facts = facts["tables"]["facts"]["values"]
    assert facts["allocations_error_percent"] > 2 * facts["heap_allocated_error_percent"]
    sizes = json.loads(run("report", trace, "histogram", "-f", "json").stdout)["tables"]["sizes"]
    large = [r for r in sizes["rows"] if r["from"] >= MIB]
    assert large[0]["blocks_error_percent"] is None or large[0]["blocks_error_percent"] < 20


def test_nothing_sampled_is_less_than_something(run, tmp_path):
    trace = tmp_path / "t.tide"
    code = "import os\nx = [bytearray(1 << 20) for i in range(300)]\ndel x\nos._exit(0)"
    done = run("record", "-q", "-f", "-o", trace, "/usr/bin/python3", "-c", code)
    assert done.returncode == 0, done.stderr
    said = run("report", trace, "peak", "--at", "1us").stdout
    assert "no sample, so less than " in said and "±0.0" not in said


def test_threads(ask):
    _, tables, _ = ask("exact", "threads")
    assert [(r["thread"], r["tid"], r["blocks"], r["blocks_freed"]) for r in tables["threads"]] == [
        ("first", 100, 23, 13),
        ("second", 101, 10, 3),
    ]
    assert tables["threads"][0]["process"] == "app" and tables["threads"][0]["to"] is None


def test_summary(ask, report):
    facts, tables, _ = ask("exact", "summary")
    assert facts["peak_heap"] == PEAK and facts["peak_heap_basis"] == "exact"
    assert facts["allocations"] == 33 and facts["alive_at_end"] == 3288
    assert facts["allocations_recorded"] == "1 process exactly"
    assert facts["heap_allocated_basis"] == "exact"
    assert abs(facts["temporary_percent"] - 500 / 33) < 1e-9
    assert total(tables["peak_sites"], "bytes") == PEAK
    assert [r["what"] for r in tables["findings"]] == [
        "1 free of blocks never seen alive: they are older than the recording, or their records "
        "were lost"
    ]
    assert max(r["live_heap"] for r in tables["timeline"]) == PEAK
    assert "peak sites" in report("exact", "summary")


def test_several_processes(ask):
    facts, tables, _ = ask("two", "peak")
    assert facts["peak_heap"] == 7300 == total(tables["peak"], "bytes")
    assert facts["basis"].startswith("exact, to a tick")
    assert tables["peak"][1]["processes"] == 2
    _, tables, _ = ask("two", "processes")
    assert [(r["name"], r["peak_heap"], r["alive_at_end"], r["recorded"]) for r in
            tables["processes"]] == [("parent", 1000, 300, "exact"), ("child", 7000, 500, "exact")]
    assert tables["processes"][1]["held_most_at_peak"] == "main (main.c:10)"
    _, tables, _ = ask("two", "timeline")
    live = [r["live_heap"] for r in tables["timeline"]]
    assert live[:6] == [500, 1500, 1500, 2000, 2300, 7300]
    assert live[6] == 2300  # both end in that millisecond, which they begin alive


def test_samples_say_their_error(ask):
    facts, tables, _ = ask("sampled", "peak")
    assert facts["peak_heap"] == 10_000 + MIB and facts["basis"] == "sampled, ±0.8 %"
    assert tables["peak"][0]["error_percent"] is None
    square = 4e7 / 10_000**2  # and two samples more that might have been
    assert abs(tables["peak"][1]["error_percent"] - (square * (1 + 2 * square)) ** 0.5 * 100) < 1e-9
    facts, _, _ = ask("sampled", "summary")
    assert facts["temporary_percent"] is None and facts["allocations"] == 11
    _, tables, said = ask("sampled", "temporary")
    assert tables["temporary"] == [] and "older version" in said["tables"]["temporary"]["note"]
    _, tables, _ = ask("sampled", "processes")
    assert tables["processes"][0]["recorded"] == "sampled"


def test_samples_say_what_was_temporary(ask):
    """Four of twelve blocks; each sample's part of the variance of blocks is 4 * 3."""
    facts, _, _ = ask("fates", "summary")
    assert facts["temporary_percent"] == pytest.approx(100 / 3)
    error = ((2 / 3) ** 2 * 12 + (1 / 3) ** 2 * 24) ** 0.5 / 12 * 100
    assert facts["temporary_error_points"] == pytest.approx(error)
    _, tables, said = ask("fates", "temporary")
    (row,) = tables["temporary"]
    assert (row["blocks"], row["bytes"], row["blocks_allocated"]) == (4, 400, 8)
    more = 1 / -math.log(1 - 1 / 4)  # a sample more that might have been, of blocks of this size
    assert row["error_percent"] == pytest.approx((12 + more**2) ** 0.5 / 4 * 100, rel=1e-3)
    assert said["tables"]["temporary"]["note"].startswith("Sampled.")
    assert ask("fates", "threads")[1]["threads"][0]["temporary_blocks"] == 4
    _, tables, said = ask("fates", "temporary", "--temporary", "2")
    assert tables["temporary"] == [] and "--exact" in said["tables"]["temporary"]["note"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_who_was_recorded_is_said_last(ask, report, question):
    line = "recorded: 1 of 1 process, sampled; nothing was lost"
    text = report("sampled", question)
    assert text.endswith(f"\n\n{line}\n") and text.count("recorded: ") == 1
    assert ask("sampled", question)[2]["coverage"]["line"] == line
    assert "nothing was lost" not in report("sampled", question, "-f", "csv")
    text = report("lossy", question, env={**os.environ, "COLUMNS": "1000"})
    assert text.count("statically linked") == (3 if question == "processes" else 1)


def test_without_an_account_nothing_is_proved(ask):
    _, _, said = ask("fates", "summary")
    assert said["health"] is None and said["coverage"]["programs"] is None
    assert said["coverage"]["line"].endswith("is not known")
    assert "nothing was lost" not in said["coverage"]["line"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_missing_is_said_first(ask, question):
    _, tables, said = ask("lossy", question)
    assert said["health"] == (
        "This trace is not whole: 1 loss recorded: a buffer was full (12); "
        "6 processes could not be recorded, 4 of them too short to be seen: "
        "it is statically linked (6)."
    )
    assert said["coverage"] == {
        "processes": 3,
        "recorded": 1,
        "partly": 0,
        "silent": 0,
        "how": "exactly",
        "missing": [{"reason": "it is statically linked", "processes": 6}],
        "losses": 1,
        "pauses": 0,
        "late": 0,
        "exact_from": None,
        "exact_since": None,
        "lost_events": 12,
        "lost_parts": False,
        "at_least": True,
        "programs": {"started": 7, "reached": 1},
        "line": "recorded: 1 of 3 processes, exactly but for 12 lost events; 4 more programs too short to be seen; "
        "the first line says what is missing",
    }
    if question == "processes":
        assert [r["recorded"] for r in tables["processes"]] == ["exact but for 12 lost events"] + [
            "it is statically linked"
        ] * 2


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", range(12))
def test_nonsense_is_survived(run, traces, question, seed):
    done = run("report", traces(f"random-{seed}"), question, "-f", "json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_no_sample_is_not_nothing(run, build, tmp_path):
    """Of a few small blocks there is no sample, and the report says how much that may be."""
    for _ in range(20):  # by chance there may be one
        run("record", "-q", "--no-names", "-f", "-o", tmp_path / "t.tide",
            build / "tests/targets/record/whole_family", "1")
        said = run("report", tmp_path / "t.tide", "leaks").stdout.replace("\n", " ")
        if "holds no allocations" in said:
            break
    assert "no sample was drawn, so there was less than 1.5 MiB of them." in said


@pytest.mark.parametrize("question", QUESTIONS[1:8])
def test_traces_of_run_have_no_allocations(run, traces, question):
    done = run("report", traces("full", "make_run_trace"), question, "-f", "json")
    assert done.returncode == 0, done.stderr
    notes = [t["note"] for t in json.loads(done.stdout)["tables"].values()]
    assert "The trace holds no allocations: 'tidemark record' records them." in notes


def test_traces_of_run_have_no_columns_of_the_heap(run, traces):
    for question in ["summary", "processes", "timeline"]:
        done = run("report", traces("full", "make_run_trace"), question, "-f", "json")
        assert "heap" not in done.stdout


def test_many_events_in_little_memory(run, traces, tidemark, sanitized):
    """4 million events: memory does not grow with them."""
    path = traces("big-4")
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(["/usr/bin/python3", "-c", code, tidemark, "report", path],
                          capture_output=True, text=True, timeout=120, check=True)
    if not sanitized:
        assert int(done.stdout) * 1024 < 32 * MIB + path.stat().st_size
