"""`tidemark diff`: two builds of one program, and two moments of one run; contents are known.

The traces are those of tests/unit/make_alloc_trace.c: its head lists what is allocated when.
"""

import csv
import io
import json
import subprocess

import pytest

MIB = 1 << 20
MAPPED, UNMAPPED = 16 * 4096, 4096  # by main itself, in both


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    for name in ("old", "new"):
        maker = build / "tests" / "unit" / "make_alloc_trace"
        subprocess.run([maker, folder / f"{name}.tide", name], check=True, timeout=60)
    return folder / "old.tide", folder / "new.tide"


@pytest.fixture
def diff(run):
    """diff(*arguments) -> totals and rows"""

    def call(*arguments):
        done = run("diff", "-f", "json", *arguments)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["question"] == "diff"
        tables = answer["tables"]
        return tables["totals"]["values"], tables["stacks"]["rows"]

    return call


def names(rows):
    return [row["site"].split()[0] for row in rows]


def test_two_builds_are_matched_by_names(diff, traces):
    totals, rows = diff(*traces)
    assert names(rows) == ["inflate", "load", "parse"]
    inflate, load, parse = rows
    assert (inflate["peak_a"], inflate["peak_b"], inflate["peak_change"]) == (2 * MIB, 3 * MIB, MIB)
    assert (load["peak_a"], load["peak_b"], load["peak_change"]) == (10000, 5000, -5000)
    assert (parse["peak_change"], parse["leaked_change"]) == (0, 90 * 64)
    assert (parse["leaked_a"], parse["leaked_b"]) == (640, 6400)
    assert totals["peak_change"] == MIB - 5000
    assert totals["allocated_a"] == 2 * MIB + 10000 + 6400 + 500 + MAPPED
    assert totals["leaked_change"] == 90 * 64
    assert all(row["error"] is None for row in rows)


def test_what_it_is_sorted_by(diff, traces):
    assert names(diff(*traces, "--by", "leaked")[1])[0] == "parse"
    assert names(diff(*traces, "--by", "allocated")[1])[:2] == ["inflate", "load"]


def test_the_order_of_the_traces_is_the_sign(diff, traces):
    there, back = diff(*traces)[1], diff(*reversed(traces))[1]
    assert [r["peak_change"] for r in there] == [-r["peak_change"] for r in back]


def test_a_trace_equals_itself(diff, traces):
    totals, rows = diff(traces[0], traces[0])
    assert rows == [] and totals["peak_change"] == 0


def test_two_moments_of_one_trace(diff, traces):
    totals, rows = diff(traces[0], "--from", "1", "--to", "3")
    assert {r["site"].split()[0]: r["live_change"] for r in rows} == {
        "inflate": 2 * MIB,
        "parse": 6400,
        "main": MAPPED - UNMAPPED,
    }
    assert (totals["live_a"], totals["live_b"]) == (10000, 2 * MIB + 16400 + MAPPED - UNMAPPED)
    totals, rows = diff(traces[0], "--from", "50%")
    assert totals["live_b"] == 640 + 500 + MAPPED - UNMAPPED
    assert rows[0]["live_change"] == -2 * MIB


def test_a_limit(diff, traces):
    assert len(diff(*traces, "--limit", "1")[1]) == 1


def test_text_and_csv(run, traces):
    done = run("diff", *traces)
    assert done.returncode == 0
    assert "+1.0 MiB" in done.stdout and "-4.9 KiB" in done.stdout
    done = run("diff", *traces, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["peak_change"] for row in rows] == [str(MIB), "-5000", "0"]


def test_an_output_file(run, traces, tmp_path):
    out = tmp_path / "diff.txt"
    assert run("diff", *traces, "-o", out).returncode == 0
    assert "inflate" in out.read_text()
    done = run("diff", *traces, "-o", traces[1])
    assert done.returncode == 2 and "trace itself" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name two traces"),
        (["{old}"], "name a second trace"),
        (["{old}", "{new}", "--from", "1"], "two moments of one trace"),
        (["{old}", "{new}", "{old}"], "two traces at a time"),
        (["{old}", "--from", "9"], "after the end"),
        (["{old}", "--from", "3", "--to", "1"], "no time between"),
        (["{old}", "{new}", "--by", "size"], "size"),
    ],
)
def test_what_makes_no_sense_is_refused(run, traces, arguments, sentence):
    old, new = traces
    done = run("diff", *[word.format(old=old, new=new) for word in arguments])
    assert done.returncode == 2 and sentence in done.stderr
    assert done.stdout == ""


def test_traces_that_cannot_be_compared(run, traces, tmp_path):
    done = run("diff", traces[0], tmp_path / "none.tide")
    assert done.returncode == 1 and "No such file" in done.stderr
    seen = tmp_path / "seen.tide"
    assert run("run", "-q", "--record", seen, "true").returncode == 0
    done = run("diff", traces[0], seen)
    assert done.returncode == 1 and "the second trace holds no allocations" in done.stderr


BEFORE = """\
import time
def work(n):
    total = 0
    for i in range(n):
        total += i * i % 7  # work
    return total
def same():
    return sum(i for i in range(1000000))  # same
def rest(s):
    time.sleep(s)  # rest
work({n}); same(); rest({s})
"""


@pytest.fixture(scope="module")
def timed(tidemark, tmp_path_factory):
    """Two versions of a program: one line of the second takes eight times as long, and one waits longer."""
    traces = []
    for name, n, s, more in (("old", 1000000, 0.1, ""), ("new", 8000000, 1.5, "# a line more\n")):
        folder = tmp_path_factory.mktemp(name)
        (folder / "app.py").write_text(more + BEFORE.format(n=n, s=s))
        subprocess.run([tidemark, "record", "-q", "-o", folder / "t.tide", "/usr/bin/python3",
                        folder / "app.py"], check=True, timeout=120)
        traces.append(folder / "t.tide")
    return traces


def compared(run, *arguments):
    done = run("diff", "-f", "json", *arguments)
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    lines = {row["text"].split("# ")[1]: row for row in tables["lines"]["rows"]
             if row["text"] and "# " in row["text"]}
    return tables["totals"]["values"], lines


def test_the_line_that_became_slower_is_named_with_its_error(run, timed):
    totals, lines = compared(run, *timed)
    assert totals["cpu_change"] == totals["cpu_b"] - totals["cpu_a"] > 0
    work = lines["work"]
    assert work["verdict"] == "slower" and (work["line_a"], work["line_b"]) == (5, 6)
    assert work["cpu_change"] == work["cpu_b"] - work["cpu_a"] > 2 * work["cpu_error"] > 0
    assert lines["rest"]["verdict"].endswith("waits longer")
    assert lines["rest"]["waiting_change"] > 2 * lines["rest"]["waiting_error"]
    _, lines = compared(run, *reversed(timed))
    assert lines["work"]["verdict"] == "faster" and lines["rest"]["verdict"].endswith("waits less")


def test_lines_of_a_file_with_another_name_are_the_same_lines(run, timed, tmp_path):
    (tmp_path / "renamed.py").write_text(BEFORE.format(n=1000000, s=0.1))
    renamed = tmp_path / "t.tide"
    assert run("record", "-q", "-o", renamed, "/usr/bin/python3", tmp_path / "renamed.py").returncode == 0
    _, lines = compared(run, timed[0], renamed)
    for text in ("work", "same", "rest"):
        assert lines[text]["line_a"] == lines[text]["line_b"] and lines[text]["file"].endswith("/renamed.py")
    assert lines["work"]["cpu_a"] > 0 < lines["work"]["cpu_b"]


def test_a_line_whose_text_was_changed_is_one_line(run, timed, tmp_path):
    edited = BEFORE.format(n=1000000, s=0.1).replace("total += i * i % 7", "total += i * i % 11")
    (tmp_path / "app.py").write_text(edited.replace("return sum(i for i in range(1000000))", "[None] * 3; return max(set(range(2000000)))"))
    changed = tmp_path / "t.tide"
    assert run("record", "-q", "-o", changed, "/usr/bin/python3", tmp_path / "app.py").returncode == 0
    done = run("diff", "-f", "json", timed[0], changed)
    rows = {row["text"]: row for row in json.loads(done.stdout)["tables"]["lines"]["rows"] if row["text"]}
    work = rows["total += i * i % 11  # work"]
    assert work["line_a"] == work["line_b"] == 5 and work["cpu_a"] > 0 < work["cpu_b"]
    assert "total += i * i % 7  # work" not in rows
    gone = rows["return sum(i for i in range(1000000))  # same"]  # another statement is in its place
    assert gone["line_a"] == 8 and gone["line_b"] is None and gone["cpu_b"] == 0


def test_what_python_kept_has_leaked_though_it_was_freed_at_the_end(diff, run, tmp_path):
    traces = []
    for n in (2, 5):
        traces.append(tmp_path / f"{n}.tide")
        kept = f"kept = [bytearray(1 << 20) for _ in range({n})]"
        assert run("record", "-q", "--exact", "-o", traces[-1], "/usr/bin/python3", "-c", kept).returncode == 0
    totals, _ = diff(*traces)
    assert totals["leaked_change"] == pytest.approx(3 << 20, rel=0.01)
    for side, trace in zip("ab", traces):
        said = json.loads(run("report", trace, "leaks", "-f", "json").stdout)["tables"]["facts"]["values"]
        assert totals[f"leaked_{side}"] == said["alive"]


def test_a_run_compared_with_itself_has_no_verdict(run, timed):
    totals, lines = compared(run, timed[0], timed[0])
    assert totals["cpu_change"] == totals["waiting_change"] == 0
    assert {row["verdict"] for row in lines.values()} == {"unclear"}


def test_lines_are_sorted_by_what_is_asked_for(run, timed):
    for by, column in (("cpu", "cpu_change"), ("waiting", "waiting_change")):
        done = run("diff", "-f", "csv", *timed, "--by", by)
        table = done.stdout.split("# lines\n")[1].split("\n\n")[0]
        rows = [row for row in csv.DictReader(io.StringIO(table)) if row["function"]]
        changes = [abs(int(row[column])) for row in rows]
        assert changes == sorted(changes, reverse=True) and len(changes) > 1


def test_recordings_of_time_alone_are_compared(run, tmp_path):
    for name in ("a.tide", "b.tide"):
        run("record", "-q", "--cpu-only", "-o", tmp_path / name, "/usr/bin/python3", "-c",
            "sum(i for i in range(3000000))")
    done = run("diff", tmp_path / "a.tide", tmp_path / "b.tide")
    assert done.returncode == 0, done.stderr
    assert "cpu change" in done.stdout
