"""The questions lines, functions and waits: traces with known numbers (make_lines_trace.c), and the
source that `record` keeps."""

import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess

import pytest

MIB = 1 << 20
MS = 1_000_000
MAIN = "/srv/app/main.py"
WORK = "/home/u/lib/python-tools/work.py"
EXTRA = "/usr/src/app/extra.py"
LIBRARY = "(the standard library)"
IDLE = "(threads without work)"
TOTALS = ["cpu", "python", "native", "system", "waiting", "allocated", "blocks", "at_peak", "alive",
          "copied", "copy_time"]


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")

    def make(kind):
        path = folder / f"{kind}.tide"
        if not path.exists():
            subprocess.run([build / "tests" / "unit" / "make_lines_trace", kind, path], check=True,
                           timeout=60)
        return path

    return make


@pytest.fixture
def report(run, traces):
    def call(kind, *words, **kw):
        kw.setdefault("env", {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "120"})
        done = run("report", traces(kind), *words, **kw)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    return call


@pytest.fixture
def ask(report):
    """ask(kind, question, *words) -> tables by name: rows, or a dictionary of facts"""

    def call(kind, question, *words):
        tables = json.loads(report(kind, question, *words, "-f", "json"))["tables"]
        return {n: t["values"] if t["shape"] == "facts" else t["rows"] for n, t in tables.items()}

    return call


@pytest.fixture
def lines(ask):
    """lines(kind, *words) -> rows by (file, line)"""
    return lambda kind, *words: {(r["file"], r["line"]): r for r in ask(kind, "lines", *words)["lines"]}


# ---- lines


def test_a_sample_belongs_to_its_innermost_line_in_scope(lines):
    rows = lines("python")
    cpu = {key: row["cpu"] // MS for key, row in rows.items()}
    assert cpu == {(WORK, 5): 570, (WORK, 6): 400, (WORK, 12): 30, (MAIN, 7): 175, (EXTRA, 3): 10,
                   (LIBRARY, None): 15, (IDLE, None): 0}
    six = rows[WORK, 6]
    assert (six["python"], six["native"], six["system"]) == (350 * MS, 50 * MS, 0)
    assert six["copy_time"] == 50 * MS
    assert six["copied"] == 8 * MIB  # 4 MiB that stand for two of them
    assert six["cpu_percent"] == pytest.approx(100 / 3)
    assert six["function"] == "loop"
    assert six["text"] == "        keep.append(json.loads(text))"
    assert rows[WORK, 5]["function"] == "loop"  # not the lambda in it


def test_sampled_time_has_its_error(lines):
    assert lines("python")[WORK, 6]["cpu_error_percent"] == pytest.approx(100 / 40**0.5)


def test_a_native_thread_belongs_to_the_line_that_calls_what_it_does(lines):
    row = lines("python")[MAIN, 7]
    assert row["native"] == 150 * MS
    assert row["allocated"] == 3 * MIB + 512  # with what a thread of the library has, which it started
    assert row["copied"] == MIB


def test_a_thread_that_has_nothing_to_do_waits_for_no_line(lines):
    rows = lines("python")
    assert rows[IDLE, None]["waiting"] == 550 * MS
    assert rows[MAIN, 7]["waiting"] == 50 * MS


def test_memory(lines):
    rows = lines("python")
    six = rows[WORK, 6]
    assert [six[k] for k in ("allocated", "blocks", "at_peak", "alive")] == [10 * MIB, 10, 10 * MIB, 4 * MIB]
    assert six["python_percent"] == 100 and rows[MAIN, 7]["python_percent"] < 0.02
    five = rows[WORK, 5]
    assert [five[k] for k in ("allocated", "blocks", "at_peak", "alive")] == [100_000, 1000, 0, 0]
    assert five["allocated_error_percent"] is None  # it is exact


def test_memory_over_time(lines, ask):
    series = lines("python")[WORK, 6]["memory"]
    assert len(series) == 100
    assert series[-1][0] >= 1000 * MS
    at = {round(t / MS): b for t, b in series}
    assert [max(b for t, b in series if t <= ms * MS) for ms in (199, 390, 900)] == [0, 5 * MIB, 10 * MIB]
    assert at[max(at)] == 4 * MIB
    assert max(b for _, b in ask("python", "lines")["facts"]["live_heap"]) == 13 * MIB + 512


@pytest.mark.parametrize("kind", ["python", "native", "cpu", "asked"])
@pytest.mark.parametrize("words", [[], ["--all"], ["--reduced"], ["--limit", "1"],
                                   ["--only", "work"], ["--exclude", "work.py"]])
def test_everything_adds_up(ask, kind, words):
    tables = ask(kind, "lines", *words)
    whole = ask(kind, "lines")["lines"]
    for column in TOTALS:
        expected = [r[column] for r in whole]
        if expected[0] is None:
            continue
        for name in ["lines", "files", "functions"]:
            assert sum(r[column] for r in tables[name]) == sum(expected), (name, column)
    assert tables["facts"]["cpu"] == sum(r["cpu"] for r in whole)


def test_what_was_not_recorded_is_absent(ask):
    for row in ask("cpu", "lines")["lines"]:
        assert row["allocated"] is None and row["memory"] is None
    for row in ask("native", "lines")["lines"]:
        assert row["waiting"] is None and row["copied"] is None


def test_native_lines(lines):
    rows = lines("native")
    cpu = {key: row["cpu"] // MS for key, row in rows.items()}
    assert cpu == {("/src/a.c", 5): 60, ("/src/a.c", 9): 10, ("/src/inl.h", 3): 30,
                   ("(native code without a line of the program)", None): 20}
    assert rows["/src/inl.h", 3]["allocated"] == 300


def test_a_stretch_of_time(ask):
    rows = ask("python", "lines", "--from", "0.5")["lines"]
    assert all(r["cpu"] is None for r in rows)  # none of it was sampled then
    assert sum(r["waiting"] for r in rows) == 1000 * MS


# ---- scope


def test_all_files(lines):
    rows = lines("python", "--all")
    assert rows["/usr/lib/python3.11/json/decoder.py", 355]["cpu"] == 100 * MS
    assert rows["/usr/lib/python3/dist-packages/numpy/core.py", 77]["native"] == 150 * MS
    assert rows["<string>", 2]["cpu"] == 10 * MS
    assert rows["<frozen importlib._bootstrap>", 917]["cpu"] == 15 * MS


def test_only_and_exclude(lines):
    rows = lines("python", "--only", "json/*.py", "--only", "extra")
    assert set(rows) == {("/usr/lib/python3.11/json/decoder.py", 355), (EXTRA, 3), (LIBRARY, None),
                         ("(code that was not asked for)", None), ("(installed packages)", None),
                         ("(code without a file)", None), (IDLE, None)}
    assert rows["(installed packages)", None]["allocated"] == 3 << 20  # two of them by its BLAS
    rows = lines("python", "--exclude", WORK)
    assert not any(file == WORK for file, _ in rows)
    assert rows[MAIN, 7]["cpu"] == 1175 * MS  # its callers pay
    rows = lines("python", "--exclude", "*")
    assert set(rows) == {("(code that was not asked for)", None)}


def test_functions_that_the_program_asks_for(lines):
    rows = lines("asked")
    assert {key for key in rows if key[1]} == {(WORK, 5), (WORK, 6)}
    assert rows["(code that was not asked for)", None]["cpu"] == 40 * MS  # fact and help
    assert rows[WORK, 5]["cpu"] == 570 * MS  # with the lambda that it calls
    assert lines("asked", "--all") == lines("python", "--all")


def test_reduced(lines):
    rows = lines("python", "--reduced")
    assert set(rows) == {(WORK, 5), (WORK, 6), (WORK, 12), (MAIN, 7), ("(1 smaller line)", None),
                         (LIBRARY, None), (IDLE, None)}


def test_limit(lines):
    rows = lines("python", "--limit", "2")
    assert set(rows) == {(WORK, 5), (WORK, 6), ("(3 smaller lines)", None), (LIBRARY, None),
                         (IDLE, None)}


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--all", "--only", "x"], "--only cannot be used with --all"),
        (["--only", ""], "an empty pattern"),
        (["--exclude"], "--exclude needs a value: PATTERN..."),
        (["--reduced", "--reduced"], "--reduced is given twice"),
    ],
)
def test_misuse(run, traces, words, sentence):
    done = run("report", traces("python"), "lines", *words)
    assert done.returncode == 2
    assert sentence in done.stderr


# ---- functions


def test_functions(ask):
    rows = {r["function"]: r for r in ask("python", "functions")["functions"]}
    assert {n: (r["cpu"] // MS, r["total_cpu"] and r["total_cpu"] // MS) for n, r in rows.items()} == {
        "loop": (950, 970),
        "<lambda>": (20, 20),
        "main": (175, 1185),
        "fact": (30, 30),  # once, however deep it calls itself
        "help": (10, 10),
        "<module>": (0, 1185),
        LIBRARY: (15, None),
        IDLE: (0, None),
    }
    assert rows["main"]["total_allocated"] == 13 * MIB + 100_000 + 512
    assert (rows["main"]["file"], rows["main"]["line"]) == (MAIN, 3)
    assert rows["loop"]["total_at_peak"] == 10 * MIB


# ---- waits


def test_waits(ask):
    tables = ask("python", "waits")
    rows = {(r["file"], r["line"]): r for r in tables["waits"]}
    six = rows[WORK, 6]
    assert (six["waiting"], six["sleep"], six["gil"], six["lock"]) == (400 * MS, 300 * MS, 100 * MS, 0)
    assert six["percent"] == pytest.approx(40)
    assert six["text"] == "keep.append(json.loads(text))"
    assert rows[MAIN, 7]["io"] == 50 * MS
    assert rows[IDLE, None]["lock"] == 550 * MS
    assert [(t["thread"], t["waiting"], t["cpu"]) for t in tables["threads"]] == [
        ("pool", 550 * MS, 5 * MS),
        ("python3", 450 * MS, 1045 * MS),
    ]


def test_no_waits(run, traces):
    done = run("report", traces("native"), "waits")
    assert "The trace holds no waits." in done.stdout


# ---- text


def test_the_annotated_source(report):
    text = report("python")
    assert re.search(r"^ *47\.5 .* 5▸         n = step\(n, key=lambda x: x\)$", text, re.M)
    assert re.search(r"^ *29\.2 +4\.2 +400ms +10Mi +10Mi .*8\.0Mi +6▸ +keep\.append", text, re.M)
    assert re.search(r"^ +⋯$", text, re.M)  # silent lines are left out
    assert re.search(r"^ +11  def fact", text, re.M)  # but for the one beside
    assert re.search(r"^ +2\.5 +12      return 1", text, re.M)  # with its tab
    assert "# übung" not in text and "# the end" not in text
    assert "This file was changed after the recording began." in text
    assert re.search(r"^ +0\.8 +3  \(in help\)$", text, re.M)  # its text is not known
    assert ("Under no line of the program's files: 1.2 % of the CPU time, 55.0 % of the waiting "
            "(the standard library, threads without work); --all shows every file.") in " ".join(text.split())
    assert text.index("\nfunctions\n") > text.index("elsewhere")
    assert "\033" not in text


def test_it_is_the_default_where_there_is_python(report):
    assert report("python").endswith(report("python", "lines"))
    assert "\npeak sites\n" in report("native")  # of the summary
    assert json.loads(report("python", "-f", "json"))["question"] == "summary"


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_the_width_of_the_terminal(report, width):
    text = report("python", env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": str(width)})
    source = [line for line in text.splitlines() if re.search(r"def fact|keep\.app|return 1", line)]
    assert source or width < 60
    if width >= 60:
        assert all(len(line) <= width for line in source)
    assert ("  memory" in text) == (width >= 100)  # the curves go first


def test_ascii(report):
    text = report("python", env={**os.environ, "LC_ALL": "C", "COLUMNS": "120"})
    assert not set("▸⋯█▃") & set(text)
    assert re.search(r"5>         n = step", text)


@pytest.mark.parametrize("colour", [True, False])
def test_colour_on_a_terminal_only(tidemark, traces, colour):
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "" if colour else "1"}
    with subprocess.Popen([tidemark, "report", traces("python")], stdout=child, env=env,
                          stdin=subprocess.DEVNULL) as p:
        os.close(child)
        said = b""
        try:
            while more := os.read(parent, 65536):
                said += more
        except OSError:
            pass
        assert p.wait(60) == 0
    os.close(parent)
    assert (b"\033[1;31m" in said) == colour
    assert (b"\033" in said) == colour


# ---- csv


def test_csv_is_one_table(report):
    rows = list(csv.DictReader(io.StringIO(report("python", "lines", "-f", "csv"))))
    six = next(r for r in rows if r["file"] == WORK and r["line"] == "6")
    assert six["cpu"] == str(400 * MS)
    values = [int(v) for v in six["memory"].split()]
    assert len(values) == 100 and max(values) == 10 * MIB


# ---- the source that a recording keeps


PROGRAM = """#include <stdlib.h>
/* gr\xfcn */
int main(void)
{
    void *kept = malloc(1000);

    return kept == NULL;
}
"""


@pytest.fixture
def compiled(tmp_path):
    """compiled(name) -> a program whose source lies beside it"""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")

    def make(coding="latin-1"):
        source = tmp_path / "prog.c"
        source.write_bytes(PROGRAM.encode(coding))
        os.utime(source, (1, 1))
        subprocess.run(["gcc", "-g", "-O0", "-o", tmp_path / "prog", source], check=True, timeout=60)
        return tmp_path / "prog"

    return make


@pytest.mark.parametrize("coding", ["latin-1", "utf-8"])
def test_the_source_is_in_the_trace(run, compiled, tmp_path, build, coding):
    program, trace = compiled(coding), tmp_path / "t.tide"
    done = run("record", "--exact", "-q", "-f", "-o", trace, program)
    assert done.returncode == 0, done.stderr
    (tmp_path / "prog.c").unlink()
    dump = subprocess.run([build / "tests" / "unit" / "dump", trace], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    assert "/* grün */" in dump or "gr\\u00fcn" in dump
    text = run("report", trace, "lines", env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    assert re.search(r"^ +1\.0Ki .*5▸     void \*kept = malloc\(1000\);$", text, re.M), text
    assert "was changed" not in text


def test_a_file_that_changes_is_named(run, compiled, tmp_path):
    program, trace = compiled(), tmp_path / "t.tide"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nsleep 0.1; touch {tmp_path}/prog.c\n{program}\n")
    script.chmod(0o755)
    done = run("record", "--exact", "-q", "-f", "-o", trace, script)
    assert done.returncode == 0, done.stderr
    assert "This file was changed after the recording began." in run("report", trace, "lines").stdout


def test_without_the_source(run, compiled, tmp_path):
    program, trace = compiled(), tmp_path / "t.tide"
    (tmp_path / "prog.c").unlink()
    assert run("record", "--exact", "-q", "-f", "-o", trace, program).returncode == 0
    rows = json.loads(run("report", trace, "lines", "-f", "json").stdout)["tables"]["lines"]["rows"]
    row = next(r for r in rows if r["line"] == 5)
    assert row["text"] is None and row["allocated"] == 1000
