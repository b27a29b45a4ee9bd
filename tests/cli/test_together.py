"""The peak of several processes: one replay of the trace by its times, which every question agrees with.

The replay here is an own one, by docs/tide.py: events in the order of time, those of one time in the order
of the trace, and a process ends after all events of its time, or when what it became by exec(2) begins.
"""

import collections
import importlib.util
import json
import pathlib
import shutil
import subprocess

import pytest

from tracemaker import ALLOC, END, FACT, FREE, PROCESS, PROCESS_END, STRING, THREAD, Trace
from tracemaker import record as made

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MAKEFILE = """\
all: {objects}
%.o: %.c
\tcc -O1 -c -o $@ $<
"""
SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
struct s {{ int a[{n}]; }};
static int compare(const void *a, const void *b) {{ return *(const int *)a - *(const int *)b; }}
int f{n}(struct s *s) {{ qsort(s->a, {n}, sizeof(int), compare); return printf("%d", s->a[0]); }}
"""


@pytest.fixture(scope="module")
def tide():
    spec = importlib.util.spec_from_file_location("tide", ROOT / "docs" / "tide.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Mapped:
    """What processes have mapped of memory that counts, page by page: compilers map theirs themselves."""

    def __init__(self):
        self.processes, self.pages = {}, collections.defaultdict(set)

    def take(self, record):
        """The process of a record, and by how much that changes: first what goes, then what comes."""
        if record["kind"] == "THREAD":
            self.processes[record["thread"]] = record["process"]
        if record["kind"] not in ("MMAP", "MUNMAP"):
            return None, []
        process, first = self.processes[record["thread"]], record["address"] // 4096
        touched = set(range(first, first + -(-record["bytes"] // 4096)))
        gone = touched & self.pages[process]
        counts = record["kind"] == "MMAP" and record["mmap_kind"] in (0, 2, 5) and \
            (record["protection"] or record["mmap_kind"] == 2)
        self.pages[process] = self.pages[process] - gone | (touched if counts else set())
        return process, [-4096 * len(gone), 4096 * len(touched) if counts else 0]


class Formers:
    """What processes were before exec(2)."""

    def __init__(self):
        self.was = {}

    def take(self, record):
        if record["kind"] == "PROCESS" and record["born"] == 3 and record["parent"]:
            self.was[record["process"]] = record["parent"]

    def of(self, process, known):
        """The last of them that is known, or None."""
        process = self.was.get(process)
        while process and process not in known:
            process = self.was.get(process)
        return process


def without_formers(events, formers):
    known, over, out = {process for _, process, _ in events}, set(), []
    for time, process, change in events:
        former = formers.of(process, known)
        if process in over:
            continue
        if former and former not in over and change is not None:
            out.append((time, former, None))
            over.add(former)
        out.append((time, process, change))
    return out


def events_of(tide, trace):
    """All events as (time, process, bytes; None: it ends), in the order of time."""
    sizes, events, ends, last, mapped, formers = {}, [], {}, collections.Counter(), Mapped(), Formers()
    for record in tide.read(trace.read_bytes()):
        formers.take(record)
        process, changes = mapped.take(record)
        for change in filter(None, changes):
            last[process] = max(last[process], record["time_ns"])
            events.append((last[process], process, change))
        process = record.get("process")
        if record["kind"] == "INFOS":
            sizes.update(((process, info), size) for info, size, *_ in record["infos"])
        elif record["kind"] == "PROCESS_END":
            ends.setdefault(process, record["time_ns"])  # how it ended may be told later
        elif record["kind"] == "BATCH":
            for what, time, _, info, *_ in record["batch"]:
                last[process] = max(last[process], time)
                bytes_ = sizes.get((process, info), 0)
                events.append((last[process], process, -bytes_ if what == "free" else bytes_))
    ended = [(max(ends[p], last[p]), p, None) for p in last if p in ends]
    return without_formers(sorted(events + ended, key=lambda e: (e[0], e[2] is None)), formers)


def replay(events):
    """The largest sum of what lives, when that was, and the largest of each process."""
    live, own, total, best = collections.Counter(), collections.Counter(), 0, (0, 0)
    for time, process, change in events:
        change = -live[process] if change is None else change
        live[process] += change
        total += change
        own[process] = max(own[process], live[process])
        if total > best[0]:
            best = total, time
    return best, own


def ask(run, trace, question, *options):
    done = run("report", trace, question, "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"]


@pytest.fixture(scope="module")
def built(tidemark, tmp_path_factory):
    """A build of some dozen processes, two at a time, recorded exactly."""
    if not shutil.which("make") or not shutil.which("cc"):
        pytest.skip("no make, or no compiler")
    folder = tmp_path_factory.mktemp("built")
    for n in range(1, 9):
        (folder / f"f{n}.c").write_text(SOURCE.format(n=n))
    objects = " ".join(f"f{n}.o" for n in range(1, 9))
    (folder / "Makefile").write_text(MAKEFILE.format(objects=objects))
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", folder / "t.tide", "make", "-s",
                    "-j2"], cwd=folder, check=True, timeout=240)
    return folder / "t.tide"


def test_every_question_has_the_peak_of_a_replay_by_times(run, tide, built):
    (peak, when), own = replay(events_of(tide, built))
    assert len(own) > 16
    facts = ask(run, built, "peak")["facts"]["values"]
    assert (facts["peak_heap"], facts["time"]) == (peak, when)
    facts = ask(run, built, "summary")["facts"]["values"]
    assert (facts["peak_heap"], facts["peak_heap_time"]) == (peak, when)
    rows = ask(run, built, "timeline")["timeline"]["rows"]
    assert max(row["live_heap"] or 0 for row in rows) == peak
    many = ("--limit", "1000000")
    assert sum(row["bytes"] for row in ask(run, built, "peak", *many)["peak"]["rows"]) == peak
    assert sum(row["at_peak"] for row in ask(run, built, "sites", *many)["sites"]["rows"]) == peak
    tree = ask(run, built, "tree", *many)["tree"]["rows"]
    assert sum(row["bytes"] for row in tree if row["depth"] == 0) == peak
    assert sum(row["self"] for row in tree) == peak


def test_the_peak_of_each_process_is_that_of_its_own_events(run, tide, built):
    _, own = replay(events_of(tide, built))
    rows = ask(run, built, "processes")["processes"]["rows"]
    assert sorted(row["peak_heap"] or 0 for row in rows) == sorted(
        list(own.values()) + [0] * (len(rows) - len(own)))


def test_a_process_begins_with_its_first_event_and_ends_after_its_last(run, tide, built):
    spans = {}
    for time, process, change in events_of(tide, built):
        first, _ = spans.get(process, (time, time))
        spans[process] = first, time if change is not None else spans[process][1]
    rows = ask(run, built, "processes")["processes"]["rows"]
    begins = sorted(row["from"] for row in rows)
    assert all(begin <= first for begin, first in zip(begins, sorted(f for f, _ in spans.values())))


def test_an_end_is_noticed_between_two_samples(run, tmp_path):
    """One after the other, never two alive: nor in the trace, though samples are ten seconds apart."""
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--exact", "--interval", "10s", "-o", trace, "sh", "-c",
               "ls -l /usr/bin > /dev/null; sleep 1; ls -l /usr/bin > /dev/null; sleep 1; true")
    assert done.returncode == 0, done.stderr
    rows = ask(run, trace, "processes")["processes"]["rows"]
    (_, end), (begin, _) = sorted((row["from"], row["to"]) for row in rows if row["name"] == "ls")
    assert end < begin


def test_a_process_ends_when_it_is_first_said_to_though_how_is_told_later(run, tmp_path):
    """Its end was seen, and the kernel told only after the other process had more: the two never lived together."""
    events = [made(PROCESS, 1, 0, 100, 1, 0), made(PROCESS, 2, 1, 200, 1, 2), made(THREAD, 1, 1, 100),
              made(THREAD, 2, 2, 200), made(ALLOC, 2, 4096, 1_000_000, 0, 0, 0, step=1000),
              made(PROCESS_END, 2, 0, 0, step=1000), made(ALLOC, 1, 4096, 2_000_000, 0, 0, 0, step=1000),
              made(PROCESS_END, 2, 1, 0, step=1000), made(FREE, 1, 4096, 0, 15, step=1000),
              made(PROCESS_END, 1, 1, 0, step=300_000_000), made(END)]
    trace = Trace().add([made(STRING, 1, tail=b"recorded"), made(FACT, 0, 0, 1, tail=b"sampled")])
    trace = trace.add(events, 0, 400_000_000).write(tmp_path / "t.tide")
    for question in ("peak", "summary"):
        said = json.loads(run("report", trace, question, "-f", "json").stdout)["tables"]["facts"]["values"]
        assert said["peak_heap"] == 2_000_000
    curve = json.loads(run("report", trace, "curve", "-f", "json").stdout)["tables"]["curve"]["rows"]
    assert max(row["heap_most"] for row in curve) == 2_000_000
