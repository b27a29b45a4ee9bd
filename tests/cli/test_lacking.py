"""Numbers that may lack something say so, wherever they are shown: never "exact" after a loss."""

import json
import os
import shutil
import subprocess
import sys

import pagedata
import pytest

from running import need_root, start
from tracemaker import ALLOC, END, FRAME, LOSS, PROCESS, PROCESS_END, STACK, STRING, THREAD, Trace, record

FIXTURES = (start,)
LACKS = ("at least", " but for ")


def claims(said):
    """Every text of an answer that claims something of its numbers to be exact"""
    for name, table in said["tables"].items():
        if table["shape"] == "facts":
            yield from ((k, v) for k, v in table["values"].items()
                        if k.endswith("basis") and k not in ("peak_basis", "cpu_basis"))
        if table["note"] and "xact" in table["note"]:
            yield name, table["note"]
        for row in table.get("rows", []):
            yield from ((name, row[c]) for c in ("recorded", "how_known") if row.get(c))


HEAP = ["summary", "peak", "leaks", "temporary", "sites", "tree", "histogram", "lines",
        "processes"]


def check(said, how=LACKS, but=()):
    found = [(k, v) for k, v in claims(said) if v and ("xact" in v or "sampled" in v) and k not in but]
    for key, text in found:
        assert any(h in text for h in how) or "for what was recorded" in text, (key, text)
    return found


@pytest.mark.parametrize("how", [["--exact"], []], ids=["exact", "sampled"])
def test_after_the_recorder_was_killed_numbers_are_bounds(start, ask, build, tmp_path, how):
    p = start("record", "-q", *how, "-o", tmp_path / "t.tide",
              build / "tests" / "targets" / "record" / "cut_off", "wait", "1", "60000")
    p.out.find(rb"ready\n")
    for _ in range(400):  # until it has written what was recorded so far
        if (tmp_path / "t.tide").stat().st_size > 64:
            break
        try:
            p.wait(0.05)
        except subprocess.TimeoutExpired:
            pass
    p.kill()
    p.wait()
    for question in HEAP:
        said = ask(tmp_path / "t.tide", question)
        assert "it has no end" in said["health"]
        assert said["coverage"]["at_least"] is True
        check(said, ("at least",))


def test_lost_events_are_counted_wherever_a_number_is_shown(run, ask, build, tmp_path):
    trace = tmp_path / "t.tide"
    subprocess.run([build / "tests" / "unit" / "make_heap_trace", "lost", trace], check=True)
    for question in HEAP:
        said = ask(trace, question)
        assert said["coverage"]["lost_events"] == 12 and said["coverage"]["at_least"] is False
        assert "exactly but for 12 lost events; " in said["coverage"]["line"]
        for key, text in check(said):
            assert "xact but for 12 lost events" in text, (key, text)
    facts = ask(trace, "peak")["tables"]["facts"]["values"]
    assert facts["basis"] == "exact but for 12 lost events"
    done = run("diff", trace, trace, "-f", "json")
    assert "; exact but for 12 lost events." in json.loads(done.stdout)["tables"]["stacks"]["note"]


@pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")
def test_the_page_says_what_was_lost_beside_each_number(run, build, tmp_path):
    trace = tmp_path / "t.tide"
    subprocess.run([build / "tests" / "unit" / "make_heap_trace", "lost", trace], check=True)
    page = run("report", trace, "-f", "html", "-o", tmp_path / "page.html")
    assert page.returncode == 0, page.stderr
    meta = pagedata.Page((tmp_path / "page.html").read_text()).meta
    said = {f["name"]: f["basis"] for f in meta["facts"]}
    assert said["peak heap"] == said["allocated"] == meta["peak_heap"]["basis"] == "exact but for 12 lost events"


def test_a_buffer_that_was_overwritten_is_no_exact_number(run, ask, target, tmp_path):
    trace = tmp_path / "t.tide"
    done = run("record", "--exact", "-q", "--no-names", "-o", trace, target("record/scribbler"), "words")
    assert done.returncode == 0, done.stderr
    said = ask(trace, "peak")
    assert said["coverage"]["lost_parts"] is True
    assert " but for parts that were lost" in said["tables"]["facts"]["values"]["basis"]


def test_a_child_that_cannot_be_recorded_makes_totals_bounds(run, ask, tmp_path):
    source, program, trace = tmp_path / "s.c", tmp_path / "static", tmp_path / "t.tide"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(9)); return 0; }\n")
    if subprocess.run(["cc", "-static", "-o", program, source], check=False).returncode != 0:
        pytest.skip("nothing can be linked statically here")
    assert run("record", "-q", "--exact", "-o", trace, "sh", "-c", f"{program}; true").returncode == 0
    for question in HEAP:
        check(ask(trace, question), ("at least",), but=["processes"])


@need_root
def test_after_a_full_disk_numbers_are_bounds(run, ask, target, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk],
                      capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        done = run("record", "-q", "--exact", "--no-names", "-o", disk / "t.tide", sys.executable, "-c",
                   "import random\nb = [bytes(random.randrange(5000)) for i in range(400000)]")
        assert "tidemark: " in done.stderr
        said = ask(disk / "t.tide", "peak")
        assert said["coverage"]["at_least"] is True
        assert said["tables"]["facts"]["values"]["basis"].startswith("at least: ")
    finally:
        subprocess.run(["umount", "-l", disk], capture_output=True, check=False)


def test_workers_that_free_what_they_inherited_are_sampled(run, ask, tmp_path):
    trace = tmp_path / "t.tide"
    program = ("import os\n"
               "kept = [bytearray(3000000) for _ in range(20)]\n"
               "if os.fork():\n    os.wait()\nelse:\n    kept.clear(); os._exit(0)\n")
    assert run("record", "-q", "-o", trace, os.path.realpath(sys.executable), "-c",
               program).returncode == 0
    said = ask(trace, "processes")
    assert said["coverage"]["how"] == "sampled"
    rows = said["tables"]["processes"]["rows"]
    assert {r["recorded"] for r in rows} == {"sampled"}
    assert rows[-1]["frees_of_inherited_blocks"] >= 20


def test_stacks_without_their_lines_are_said_at_the_end(run, ask, tmp_path):
    """They are in every sum: no answer is less whole by them."""
    trace = Trace().add([record(STRING, 1, tail=b"app"), record(FRAME, 1, 1, 1, 100), record(STACK, 1, 0, 1)])
    trace.add([record(PROCESS, 1, 0, 5, 1, 0, 1, 1), record(THREAD, 1, 1, 5, 1),
               record(ALLOC, 1, 4096, 1 << 20, 1, 0, 1000, step=1000),
               record(LOSS, 1, 5, 3, 0, tail=b"stacks that were just changing", step=1000),
               record(PROCESS_END, 1, 1, 0, step=1000), record(END)], 0, 3000)
    said = ask(trace.write(tmp_path / "t.tide"), "summary")
    assert said["health"] is None
    assert "; 3 stacks without their Python lines" in said["coverage"]["line"]
    lines = run("report", tmp_path / "t.tide", env={**os.environ, "COLUMNS": "80"}).stdout.splitlines()
    assert "not whole" not in lines[0] and max(map(len, lines)) <= 80
