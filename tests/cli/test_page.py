"""The report page: its data equals a replay of every event, and no trace, however odd or hostile, breaks it."""

import collections
import json
import os
import shutil
import subprocess

import pagedata
import pytest
import tracemaker as make

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")

THREADS = """
import json, os, threading
def work(n):
    for _ in range(n):
        json.loads(json.dumps(list(range(50))))
threads = [threading.Thread(target=work, args=(40,)) for _ in range(3)]
[t.start() for t in threads]
child = os.fork()
if not child:
    work(20)
    os._exit(0)
[t.join() for t in threads]
os.waitpid(child, 0)
kept = [bytes(1000 + i) for i in range(500)]
"""

SHELL = """
for i in 1 2 3; do (head -c 20000 /dev/zero | sort | uniq -c | wc -l) & done; wait
ls -l / | sort | head -3; expr 1 + 1; cat /etc/passwd | tr a b | tail -1
"""

SQL = """
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000)
insert into t select x, hex(randomblob(8)) from c;
select count(*), max(b) from t group by a % 7;
"""

PROGRAMS = {
    "one process": ["sqlite3", ":memory:", SQL],
    "threads and a fork": ["/usr/bin/python3", "-c", THREADS],
    "many processes": ["sh", "-c", SHELL],
    "git": ["git", "--version"],
}


@pytest.fixture
def page(run, tmp_path):
    """page(trace) -> its data"""

    def write(trace, which="a", *options):
        out = tmp_path / "page.html"
        done = run("report", trace, "-f", "html", "-o", out, *options)
        assert done.returncode == 0, done.stderr
        return pagedata.Page(out.read_text(), which)

    return write


def record(run, trace, command, *options):
    done = run("record", "-q", "-f", *options, "-o", trace, *command)
    assert done.returncode == 0, done.stderr
    return trace


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_window_equals_a_replay_of_the_events(run, page, tmp_path, program):
    trace = record(run, tmp_path / "t.tide", PROGRAMS[program], "--exact")
    data = page(trace)
    assert pagedata.check(data, pagedata.Replay(trace)) >= 50
    assert not data.meta["sampled"]


def facts_of(run, trace, question):
    said = json.loads(run("report", trace, question, "-f", "json").stdout)
    return next(t["values"] for t in said["tables"].values() if "values" in t)


# Threads that free what others allocate: the collector does not know the order within a tick, and takes frees back.
HANDING_ON = """
#include <pthread.h>
#include <stdlib.h>
static void *box[64];
static void *work(void *arg)
{
    unsigned state = *(unsigned *)arg;

    for (int i = 0; i < 50000; i++) {
        state = state * 1103515245 + 12345;
        free(__atomic_exchange_n(&box[(state >> 16) % 64], malloc(16 + (state >> 8) % 500), __ATOMIC_ACQ_REL));
    }
    return NULL;
}
int main(void)
{
    unsigned seeds[4] = {1, 7, 77, 777};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &seeds[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""


def handing_on(tmp_path):
    source, program = tmp_path / "handing_on.c", tmp_path / "handing_on"
    source.write_text(HANDING_ON)
    subprocess.run(["cc", "-O1", "-pthread", source, "-o", program], check=True)
    return [program]


@pytest.mark.parametrize("program", ["one process", "threads and a fork", "threads that free for each other"])
def test_the_peak_is_that_of_the_question_peak(run, page, tmp_path, program):
    command = PROGRAMS.get(program) or handing_on(tmp_path)
    trace = record(run, tmp_path / "t.tide", command, "--exact")
    data, said = page(trace), facts_of(run, trace, "peak")
    grid = data.meta["grid"]
    assert grid["heap"][grid["peak"]] == data.meta["peak_heap"]["bytes"] == said["peak_heap"]
    assert data.live(grid["peak"]) == said["peak_heap"]
    assert max(live for _, _, live, _ in pagedata.Replay(trace).steps) == said["peak_heap"]
    assert sum(e.size for e in data.entries) == facts_of(run, trace, "summary")["heap_allocated"]


def test_lines_hold_what_the_question_lines_says(run, page, tmp_path):
    script = tmp_path / "app.py"
    script.write_text("kept = []\nfor i in range(300):\n    kept.append(bytes(10000 + i))\nbytearray(1 << 20)\n")
    trace = record(run, tmp_path / "t.tide", ["/usr/bin/python3", script], "--exact")
    data = page(trace)
    peak, held = data.meta["grid"]["peak"], {}
    for e in data.entries:
        if e.birth <= peak < e.death:
            file, line, _ = data.lines[data.leaves[e.leaf][2]]
            held[file, line] = held.get((file, line), 0) + e.size
    said = json.loads(run("report", trace, "lines", "-f", "json").stdout)["tables"]["lines"]["rows"]
    of_script = {(r["file"], r["line"]): r["at_peak"] for r in said if r["file"] == str(script) and r["at_peak"]}
    assert of_script and all(held.get(key) == value for key, value in of_script.items())
    assert {s["file"] for s in data.source} >= {str(script)}


def test_sampled_recordings_fill_the_same_table(run, page, tmp_path):
    trace = record(run, tmp_path / "t.tide", ["/usr/bin/python3", "-c", "x = [bytes(5000) for _ in range(4000)]"],
                   "--sample", "64KiB")
    data, facts = page(trace), facts_of(run, trace, "summary")
    assert data.meta["sampled"]
    assert sum(e.size for e in data.entries) == facts["heap_allocated"]
    assert sum(e.count for e in data.entries) / 1000 == pytest.approx(facts["allocations"], abs=1)
    assert data.meta["peak_heap"]["basis"] == facts["peak_heap_basis"]  # with the same error


QUEUE = 6  # ready to run, but no CPU was free


def test_waits_of_the_page_are_those_of_the_question(run, page, tmp_path):
    code = ("import threading, time\n"
            "def spin():\n    end = time.monotonic() + 0.3\n    while time.monotonic() < end: sum(range(1000))\n"
            "threads = [threading.Thread(target=spin) for _ in range(4)]\n"
            "[t.start() for t in threads]; time.sleep(0.2); [t.join() for t in threads]")
    trace = record(run, tmp_path / "t.tide", ["/usr/bin/python3", "-c", code])
    said = json.loads(run("report", trace, "waits", "-f", "json").stdout)["tables"]["threads"]["rows"]
    rows = page(trace).rows("WAIT")
    for cause in (True, False):
        of_page = sum(us for _, _, sort, us in rows if (sort == QUEUE) == cause)
        of_question = sum(row["queue" if cause else "waiting"] for row in said) / 1000
        assert of_page == pytest.approx(of_question, abs=len(rows) + 1)  # each is cut to microseconds


@pytest.mark.parametrize("how", [["--sample", "64KiB"], ["--exact"]])
def test_the_sentence_and_the_grid_name_the_same_moment(run, page, tmp_path, how):
    """Also where nothing happens for many cells after the peak."""
    code = "import time\nx = [bytearray(1 << 20) for _ in range(40)]\ntime.sleep(1)\nx = 0\ntime.sleep(0.5)"
    data = page(record(run, tmp_path / "t.tide", ["/usr/bin/python3", "-c", code], *how))
    grid = data.meta["grid"]
    assert pagedata.sums(grid["t"])[grid["peak"]] == data.meta["peak_heap"]["time"]
    assert data.meta["duration"] - data.meta["peak_heap"]["time"] > 1.4e6  # it sleeps for 1.5 s after it


def test_the_facts_have_each_version_of_python_once(run, page, tmp_path):
    again = "import subprocess, sys; [subprocess.run([sys.executable, '-c', 'bytes(1 << 20)']) for i in range(2)]"
    data = page(record(run, tmp_path / "t.tide", ["/usr/bin/python3", "-c", again]))
    version = subprocess.check_output(["/usr/bin/python3", "-V"], text=True).split()[1]
    assert [f["value"] for f in data.meta["facts"] if f["name"] == "Python"] == [version]


def test_what_a_process_held_dies_with_it(run, page, tmp_path):
    code = "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', 'x = [bytes(999) for _ in range(9999)]'])\ntime.sleep(0.5)"
    data = page(record(run, tmp_path / "t.tide", ["/usr/bin/python3", "-c", code], "--exact"))
    assert any(e.with_process for e in data.entries)
    assert data.live(data.cells() - 1) < max(data.meta["grid"]["heap"]) / 2


def test_a_run_without_allocations_has_a_page_too(run, page, tmp_path):
    trace = tmp_path / "t.tide"
    assert run("run", "-q", "--record", trace, "sleep", "0.2").returncode == 0
    data = page(trace)
    assert not data.meta["heap"] and not data.entries and data.meta["peak_heap"] is None
    assert data.meta["processes"] and data.meta["peak_rss"]["lower"] > 0


HOSTILE = "</script><img src=x onerror=alert(1)><!--DATA-->\"'\\"


def hostile_trace(path):
    text = HOSTILE.encode()
    names = [make.record(make.STRING, 1, tail=text), make.record(make.STRING, 2, tail=b"\xff\xfe" + text),
             make.record(make.FACT, 0, 0, 3, tail=text), make.record(make.STRING, 3, tail=b"command"),
             make.record(make.MODULE, 1, 1, 0), make.record(make.FRAME, 1, 1, 1, 4096), make.record(make.FRAME, 2, 4, 1, 1),
             make.record(make.NAME, 1, 0, 1, 1, 7), make.record(make.NAME, 2, 0, 1, 1, 7),
             make.record(make.STACK, 1, 0, 1), make.record(make.STACK, 2, 1, 2), make.record(make.SOURCE, 1, 7, tail=text),
             make.record(make.INFOS, 1, 1, 1, tail=make.varint(100) + make.varint(4) + make.varint(0))]
    runs = make.varint(1) + make.varint(0) + make.varint(2)
    symbols = make.varint(2) + make.varint(2)
    batch = b"".join(make.varint(len(c)) + c for c in (runs, symbols, b""))
    events = [make.record(make.PROCESS, 1, 0, 100, 5, 0, 1, 1, step=1000),
              make.record(make.THREAD, 1, 1, 100, 1), make.record(make.REGION, 1, 1, 1, 0, step=1000),
              make.record(make.MARK, 1, 0, 1, 0), make.record(make.BATCH, 1, 2, 0, tail=batch, step=1000),
              make.record(make.LOSS, 1, 1, 1, 1, tail=text), make.record(make.REGION_END, 1, 1, step=10**6),
              make.record(make.END)]
    return make.Trace().add(names).add(events, 1000, 1003000).write(path)


def test_hostile_names_never_become_html(run, page, tmp_path):
    trace = hostile_trace(tmp_path / f"{HOSTILE.replace('/', '_')}.tide")
    data = page(trace)
    assert HOSTILE in data.strings and data.meta["regions"][0]["name"] == HOSTILE
    assert sum(e.size for e in data.entries) == 200
    html = (tmp_path / "page.html").read_text()
    assert "onerror=alert(1)" not in html and html.count("<!--DATA-->") == 0


@pytest.mark.parametrize("part", [0.99, 0.6, 0.2])
def test_a_cut_trace_has_the_page_of_what_is_there(run, page, tmp_path, part):
    trace = record(run, tmp_path / "t.tide", PROGRAMS["one process"], "--exact")
    whole = trace.read_bytes()
    cut = tmp_path / "cut.tide"
    cut.write_bytes(whole[: int(len(whole) * part)])
    data = page(cut)
    assert data.meta["health"] and data.cells() >= 1
    assert all(data.live(k) == bytes_ for k, bytes_ in enumerate(data.meta["grid"]["heap"]))


def test_a_trace_of_nothing_has_one_cell(run, page, tmp_path):
    make.Trace().add([make.record(make.STRING, 1, tail=b"x")]).write(tmp_path / "t.tide")
    data = page(tmp_path / "t.tide")
    assert data.cells() == 1 and not data.entries


def many_stacks(path, chains=1050, depth=100, others=120000):
    """More nodes than a page shows: each chain of calls holds one block of its own, and one stack all others."""
    names = ["part%d" % i for i in range(chains)] + ["call%d" % i for i in range(depth)] + ["keeps%d" % i for i in range(5)]
    first = {name: i + 1 for i, name in enumerate([*names, "most"])}
    definitions = [make.record(make.STRING, n, tail=name.encode()) for name, n in first.items()]
    definitions += [make.record(make.STRING, len(first) + 1, tail=b"/opt/work"), make.record(make.MODULE, 1, len(first) + 1, 0)]
    for n in first.values():
        definitions += [make.record(make.FRAME, n, 1, 1, 16 * n), make.record(make.NAME, n, 0, n)]
    stacks, held = [make.record(make.STACK, 1, 0, first["most"])], [1] * others
    for i in range(chains):
        parent = 0
        for name in [f"part{i}", *[f"call{k}" for k in range(depth)], f"keeps{i % 5}"]:
            stacks.append(make.record(make.STACK, len(stacks) + 1, parent, first[name]))
            parent = len(stacks)
        held.append(parent)
    trace = make.Trace().add(definitions).add(stacks)
    events = [make.record(make.PROCESS, 1, 0, 100, 5, 0, 1, 1, step=1000), make.record(make.THREAD, 1, 1, 100, 1)]
    events += [make.record(make.ALLOC, 1, 4096 * i, 16, stack, 0, 1000, step=10) for i, stack in enumerate(held, 1)]
    return trace.add([*events, make.record(make.END)], 1000, 1000 + 10 * len(held)).write(path)


def test_what_is_folded_keeps_the_function_that_asked(run, page, tmp_path):
    trace = many_stacks(tmp_path / "t.tide")
    data = page(trace)
    assert data.meta["eps"] > 0 and len(data.parents) < 100000
    by_site = collections.Counter()
    for entry in data.entries:
        site = data.sites[entry.leaf]
        by_site[data.frames[site][0] if site >= 0 else data.stack(entry.leaf)[0]] += entry.size
    rows = json.loads(run("report", trace, "sites", "-f", "json").stdout)["tables"]["sites"]["rows"]
    assert by_site == {row["site"]: row["allocated"] for row in rows}
    assert by_site["keeps3"] == 210 * 16


def test_a_thousand_processes_fit(run, page, tmp_path):
    events = []
    for i in range(1, 1001):
        events += [make.record(make.PROCESS, i, max(0, i // 2), 100 + i, i, 2, 1, 1, step=1000),
                   make.record(make.THREAD, i, i, 100 + i, 1),
                   make.record(make.ALLOC, i, 4096, 100 + i, 0, 0, 1000)]
    events += [make.record(make.PROCESS_END, i, 1, 0, step=10**6) for i in range(1, 1001)]
    trace = make.Trace().add([make.record(make.STRING, 1, tail=b"worker")]).add(events, 1000, 1001 * 10**6).write(
        tmp_path / "t.tide")
    data = page(trace)
    assert len(data.meta["processes"]) == len(data.meta["threads"]) == 1000
    assert sum(e.size for e in data.entries) == sum(100 + i for i in range(1, 1001))


def test_what_is_told_late_is_at_its_own_time(run, page, tmp_path):
    """Ends of processes stand before what they did, and what one did before what another did earlier."""
    ms = 10**6
    first = [make.record(make.PROCESS, 1, 0, 101, 1, 0, 1, 1), make.record(make.PROCESS, 2, 1, 102, 2, 2, 1, 1),
             make.record(make.THREAD, 1, 1, 101, 1), make.record(make.THREAD, 2, 2, 102, 1),
             make.record(make.ALLOC, 1, 4096, 100, 0, 0, 1000, step=5 * ms),
             make.record(make.PROCESS_END, 2, 0, 0, step=80 * ms), make.record(make.PROCESS_END, 2, 1, 0),
             make.record(make.PROCESS_END, 1, 0, 0, step=10 * ms), make.record(make.PROCESS_END, 1, 1, 0)]
    child = [make.record(make.ALLOC, 2, 8192, 5000, 0, 0, 1000, step=30 * ms), make.record(make.FREE, 2, 8192, 0, 0, step=20 * ms)]
    parent = [make.record(make.ALLOC, 1, 12288, 1000, 0, 0, 1000, step=20 * ms),
              make.record(make.ALLOC, 1, 16384, 3000, 0, 0, 1000, step=20 * ms),
              make.record(make.FREE, 1, 16384, 0, 0, step=5 * ms), make.record(make.END, step=50 * ms)]
    trace = make.Trace().add([make.record(make.STRING, 1, tail=b"x")]).add(first, 0, 95 * ms)
    trace.add(child, 30 * ms, 50 * ms).add(parent, 20 * ms, 95 * ms).write(tmp_path / "t.tide")
    data = page(tmp_path / "t.tide")
    levels = {t // 1000: heap for t, heap in zip(pagedata.sums(data.meta["grid"]["t"]), data.meta["grid"]["heap"])}
    assert {t: levels.get(t) for t in (5, 20, 30, 40, 45, 50)} == {5: 100, 20: 1100, 30: 6100, 40: 9100, 45: 6100, 50: 1100}
    assert levels[95] == 1100 and max(levels.values()) == 9100


def test_two_traces_are_one_page(run, tmp_path):
    traces = [record(run, tmp_path / f"{i}.tide", PROGRAMS["git"]) for i in range(2)]
    out = tmp_path / "diff.html"
    done = run("diff", *traces, "-f", "html", "-o", out)
    assert done.returncode == 0, done.stderr
    html = out.read_text()
    assert [pagedata.Page(html, which).meta["trace"] for which in "ab"] == ["0.tide", "1.tide"]


def test_record_writes_the_page_as_well(run, tmp_path):
    out = tmp_path / "page.html"
    done = run("record", "--html", out, "-o", tmp_path / "t.tide", "sh", "-c", "exit 3")
    assert done.returncode == 3 and f"the report page is {out}" in done.stderr
    assert pagedata.Page(out.read_text()).meta["command"] == "sh -c exit 3"


def test_a_page_that_cannot_be_written_is_said_before_anything_runs(run, tmp_path):
    done = run("record", "--html", tmp_path / "none" / "page.html", "-o", tmp_path / "t.tide", "touch", tmp_path / "ran")
    assert done.returncode == 125 and "cannot write" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_what_narrows_blocks_is_chosen_in_the_page(run, tmp_path):
    trace = record(run, tmp_path / "t.tide", PROGRAMS["git"])
    done = run("report", trace, "-f", "html", "--at", "1ms", "-o", tmp_path / "page.html")
    assert done.returncode == 1 and "whole recording" in done.stderr and not (tmp_path / "page.html").exists()


def window_sums(data, start, end):
    """What every leaf allocated and kept in a window, its CPU time, its peak, and what lived at its end."""
    allocated, kept = collections.Counter(), collections.Counter()
    for e in data.entries:
        if start < e.birth <= end:
            allocated[data.leaves[e.leaf]] += e.size
            if e.death > end or e.with_process:
                kept[data.leaves[e.leaf]] += e.size
    cpu = sum(row[3] for row in data.rows("CPUS") if start < row[1] <= end)
    return allocated, kept, cpu, max(data.meta["grid"]["heap"][max(start, 0) : end + 1]), data.live(end)


def quiet_moments(data):
    """Edges by their time and level, of those that are alone there."""
    times, heap = pagedata.sums(data.meta["grid"]["t"]), data.meta["grid"]["heap"]
    keys = [(times[e], heap[e]) for e in data.meta["grid"]["quiet"]]
    return {key: e for key, e in zip(keys, data.meta["grid"]["quiet"]) if keys.count(key) == 1}


@pytest.mark.parametrize("how", [["--exact"], ["--sample", "4KiB"]])
@pytest.mark.parametrize("name", ["threads and a fork", "many processes"])
def test_a_finer_stretch_changes_no_sum_of_the_coarse_windows(name, how, run, page, tmp_path):
    trace = tmp_path / "t.tide"
    assert run("record", *how, "-o", trace, "--", *PROGRAMS[name]).returncode == 0
    coarse = page(trace)
    assert coarse.meta["stretch"] is None
    for start, end in ((0.3, 0.5), (0.62, 0.63), (0, 1)):
        fine = page(trace, "a", "--from", f"{start:.0%}", "--to", f"{end:.0%}")
        assert fine.meta["stretch"]["to"] > fine.meta["stretch"]["from"]
        assert len(fine.meta["grid"]["quiet"]) > len(coarse.meta["grid"]["quiet"])
        places = quiet_moments(fine)
        at = {-1: -1} | {e: places[key] for key, e in quiet_moments(coarse).items() if key in places}
        assert len(at) > len(coarse.meta["grid"]["quiet"]) // 2
        ends = sorted(at)
        for first, last in zip(ends[::17], ends[11::13]):
            if first < last:
                assert window_sums(coarse, first, last) == window_sums(fine, at[first], at[last]), (first, last)
        assert all(fine.live(k) == level for k, level in enumerate(fine.meta["grid"]["heap"]))


def test_without_node_the_tool_says_what_was_missing(tmp_path):
    embed = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "embed")
    web = tmp_path / "web"
    web.mkdir()
    (web / "build.mjs").write_text("")
    out = tmp_path / "page.c"
    for node, words in (("none", "Node.js was not found"), ("node", "modules of the page were not installed")):
        subprocess.run([embed, node, web, tmp_path / "page.html", out], check=True)
        assert words in out.read_text() and "page_template_bytes = 0" in out.read_text()


def test_text_json_and_page_have_the_same_findings(run, page, tmp_path):
    script = tmp_path / "app.py"
    script.write_text("kept = [b'x' * (1 << 20) for _ in range(30)]\nmore = [b'x' * (1 << 20) for _ in range(8)]\n")
    trace = record(run, tmp_path / "t.tide", ["/usr/bin/python3", script], "--exact")
    rows = json.loads(run("report", trace, "findings", "-f", "json").stdout)["tables"]["findings"]["rows"]
    held = rows[0]
    assert held["kind"] == "held" and (held["file"], held["line"], held["severity"]) == (str(script), 1, 3)
    assert held["code"].startswith("kept = [") and held["confidence"] == "certain"
    told = page(trace).meta["findings"]
    keys = ("kind", "severity", "title", "evidence", "advice", "confidence", "file", "line", "code", "view", "measure")
    assert [[f[k] for k in keys] for f in told] == [[r[k] for k in keys] for r in rows]
    screen = " ".join(run("report", trace).stdout.split())
    assert held["evidence"] in screen and held["evidence"] in " ".join(run("report", trace, "findings").stdout.split())


def test_a_trace_without_an_end_lasted_until_its_last_record(run, page, tmp_path):
    """All processes that it knows may have ended before."""
    events = [make.record(make.PROCESS, 1, 0, 101, 1, 2, 1, 1, step=1000), make.record(make.THREAD, 1, 1, 101, 1),
              make.record(make.ALLOC, 1, 4096, 100, 0, 0, 1000), make.record(make.PROCESS_END, 1, 1, 0, step=10**8),
              make.record(make.MARK, 1, 0, 0, 1, step=4 * 10**8)]
    make.Trace().add([make.record(make.STRING, 1, tail=b"worker")]).add(events, 1000, 5 * 10**8 + 1000).write(
        tmp_path / "t.tide")
    meta = page(tmp_path / "t.tide").meta
    assert "no end" in meta["health"] and "ran for 500 ms" in meta["sentence"] and meta["duration"] == 500001
