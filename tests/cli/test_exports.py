"""Formats for other tools, each read by a real reader where it is installed."""

import itertools
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import zlib
from xml.etree import ElementTree

import pytest
import tracemaker as make

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = """
import json
def load(count):
    return [json.loads('{"a": [%d, 2, 3]}' % i) for i in range(count)]
kept = load(5000)
"""


@pytest.fixture(scope="module")
def trace(tidemark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    (folder / "app.py").write_text(PYTHON)
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", folder / "t.tide", "/usr/bin/python3", "app.py"],
                   cwd=folder, check=True, timeout=120)
    return folder / "t.tide"


@pytest.fixture(scope="module")
def peak(tidemark, trace):
    said = subprocess.run([tidemark, "report", trace, "peak", "--limit", "1000000", "-f", "json"], check=True,
                          capture_output=True, timeout=120).stdout
    return json.loads(said)["tables"]["peak"]["rows"]


def skip_if_missing(run, trace, name):
    """What needs a library that was not there when the tool was built says so."""
    done = run("report", trace, "-f", name, "-o", "/dev/null")
    if done.returncode and "tidemark was built without" in done.stderr:
        pytest.skip(done.stderr.strip())


def export(run, trace, name, *words):
    done = run("report", trace, *words, "-f", name)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_collapsed_stacks_add_up(run, trace, peak):
    lines = export(run, trace, "collapsed").splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == sum(row["bytes"] for row in peak)


def test_the_interpreters_frames_are_left_out_unless_they_are_asked_for(run, trace):
    plain, native = export(run, trace, "collapsed"), export(run, trace, "collapsed", "--native")
    assert "load (" in plain and ";_PyEval_EvalFrameDefault;" not in plain
    assert "_PyEval_EvalFrameDefault" in native or "libpython" in native or "python3" in native
    assert len(native) > len(plain)


def test_speedscope(run, trace, peak):
    said = json.loads(export(run, trace, "speedscope"))
    frames = said["shared"]["frames"]
    assert all(frame["name"] for frame in frames)
    by_name = {profile["name"]: profile for profile in said["profiles"]}
    assert by_name["bytes"]["unit"] == "bytes"
    for name in "bytes", "blocks":
        profile = by_name[name]
        total = sum(row[name] for row in peak)
        assert profile["endValue"] == total == sum(profile["weights"])
        assert len(profile["weights"]) == len(profile["samples"])
        assert all(0 <= i < len(frames) for sample in profile["samples"] for i in sample)
    assert any(frames[i]["name"] == "load" and frames[i]["line"] == 4
               for sample in by_name["bytes"]["samples"] for i in sample)


def test_pprof(tidemark, trace, peak, tmp_path):
    go = shutil.which("go")
    if not go or subprocess.run([go, "tool", "-n", "pprof"], capture_output=True, check=False).returncode:
        pytest.skip("go tool pprof is not installed")
    profile = tmp_path / "peak.pb"
    subprocess.run([tidemark, "report", trace, "-f", "pprof", "-o", profile], check=True, timeout=60)

    def pprof(*words):
        return subprocess.run([go, "tool", "pprof", *words, profile], check=True, capture_output=True, text=True,
                              timeout=120, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}).stdout

    raw = pprof("-raw")
    assert "bytes/bytes[dflt] blocks/count" in raw
    values = [list(map(int, found)) for found in re.findall(r"^ +(\d+) +(\d+): ", raw, re.M)]
    assert [sum(column) for column in zip(*values)] == [sum(row[n] for row in peak) for n in ("bytes", "blocks")]
    assert re.search(r"app\.py:4", pprof("-top", "-lines", "-cum", "-nodecount=100000"))
    assert "accounting for 0," in pprof("-top", "-diff_base", profile)


def test_sql_makes_a_database_with_the_same_answers(run, trace, peak, tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    database = sqlite3.connect(tmp_path / "t.db")
    database.executescript(export(run, trace, "sql"))
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    held = database.execute("SELECT sum(bytes), sum(blocks) FROM peak").fetchone()
    assert held == (sum(row["bytes"] for row in peak), sum(row["blocks"] for row in peak))
    names = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"fact", "node", "peak", "leaks", "timeline", "processes", "lines"} <= names
    stack = """WITH RECURSIVE up(id, caller, function, line) AS (
        SELECT n.id, n.caller, n.function, n.line FROM peak p JOIN node n ON n.id = p.stack WHERE p.row = 0
        UNION ALL SELECT n.id, n.caller, n.function, n.line FROM node n JOIN up ON n.id = up.caller)
        SELECT function, line FROM up"""
    expected = [(frame["function"], frame["line"]) for frame in peak[0]["stack"]]
    assert database.execute(stack).fetchall() == expected


def test_sql_of_one_question_has_that_alone(run, trace):
    said = export(run, trace, "sql", "peak")
    assert 'CREATE TABLE "peak"' in said and 'CREATE TABLE "leaks"' not in said


def test_sqlite_is_the_database_that_sql_makes(run, trace, tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    skip_if_missing(run, trace, "sqlite")
    done = run("report", trace, "-f", "sqlite", "-o", tmp_path / "t.db")
    assert done.returncode == 0, done.stderr
    made, spoken = sqlite3.connect(tmp_path / "t.db"), sqlite3.connect(":memory:")
    spoken.executescript(export(run, trace, "sql"))
    assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert made.execute("PRAGMA foreign_key_check").fetchall() == []
    assert list(made.iterdump()) == list(spoken.iterdump())


def facts_of(run, trace):
    return json.loads(export(run, trace, "json", "summary"))["tables"]["facts"]["values"]


def test_history_adds_up_to_what_lived_at_each_moment(run, trace):
    sqlite3 = pytest.importorskip("sqlite3")
    database, facts = sqlite3.connect(":memory:"), facts_of(run, trace)
    database.executescript(export(run, trace, "sql", "history"))
    moments = database.execute("SELECT live FROM moments ORDER BY moment").fetchall()
    change = [0] * (len(moments) + 1)
    for born, died, size in database.execute("SELECT born, died, bytes FROM history"):
        change[born] += size
        change[len(moments) if died is None else died] -= size
    assert [live for live, in moments] == list(itertools.accumulate(change[:-1]))
    assert max(live for live, in moments) == facts["peak_heap"]
    assert database.execute("SELECT sum(blocks) FROM history").fetchone() == (facts["allocations"],)


def test_heaptrack_print_reads_the_same_peak_and_counts(run, trace, tmp_path):
    if not shutil.which("heaptrack_print"):
        pytest.skip("heaptrack_print is not installed; tools/setup viewers installs it")
    done = run("report", trace, "-f", "heaptrack", "-o", tmp_path / "heaptrack.data")
    assert done.returncode == 0, done.stderr
    said = subprocess.run(["heaptrack_print", tmp_path / "heaptrack.data"], check=True, capture_output=True, text=True,
                          timeout=120).stdout
    facts = facts_of(run, trace)
    assert f"calls to allocation functions: {facts['allocations']} " in said
    temporary = int(re.search(r"temporary memory allocations: (\d+) ", said)[1])
    assert temporary == pytest.approx(facts["allocations"] * facts["temporary_percent"] / 100, rel=0.02)

    def size(name):
        found = re.search(rf"{name}: ([\d.]+)([BKM])$", said, re.M)
        return float(found[1]) * {"B": 1, "K": 1e3, "M": 1e6}[found[2]] if found else 0

    assert size("peak heap memory consumption") == pytest.approx(facts["peak_heap"], abs=6e3)
    kept = size("total memory leaked") + size("suppressed leaks")  # to two decimals of their units
    assert kept == pytest.approx(facts["alive_at_end"], abs=20 if facts["alive_at_end"] < 900e3 else 20e3)
    assert "app.py:4" in said


def test_ms_print_reads_the_same_peak(run, trace, tmp_path):
    if not shutil.which("ms_print"):
        pytest.skip("ms_print is not installed; tools/setup viewers installs valgrind")
    done = run("report", trace, "-f", "massif", "-o", tmp_path / "massif.out")
    assert done.returncode == 0, done.stderr
    said = subprocess.run(["ms_print", tmp_path / "massif.out"], check=True, capture_output=True, text=True,
                          timeout=120).stdout
    facts = facts_of(run, trace)
    number = re.search(r"(\d+) \(peak\)", said)[1]
    assert re.search(rf"^ *{number} +[\d,]+ +{facts['peak_heap']:,} +{facts['peak_heap']:,} +0 +0$", said, re.M)
    assert f"100.00% ({facts['peak_heap']:,}B) (heap allocation functions)" in said
    assert re.search(r"app\.py:4\)$", said, re.M)


def test_perfetto_draws_samples_of_cpu_time_one_in_the_other(run, tmp_path, tidemark):
    (tmp_path / "busy.py").write_text("import time\ndef busy():\n    end = time.process_time() + 0.6\n"
                                      "    while time.process_time() < end:\n        sum(range(1000))\nbusy()\n")
    subprocess.run([tidemark, "record", "-q", "-o", tmp_path / "t.tide", "/usr/bin/python3", tmp_path / "busy.py"],
                   check=True, timeout=120)
    events = json.loads(export(run, tmp_path / "t.tide", "perfetto"))["traceEvents"]
    spans = sorted((e for e in events if e["ph"] == "X" and e["tid"] >= 1 << 24), key=lambda e: (e["ts"], -e["dur"]))
    samples = json.loads(export(run, tmp_path / "t.tide", "json", "samples"))["tables"]["samples"]["rows"]
    if not samples:
        pytest.skip("no CPU time is sampled on this kernel")
    assert any(span["name"] == "busy" for span in spans)
    ends = []
    for span in spans:
        while ends and ends[-1] <= span["ts"] + 1e-3:
            ends.pop()
        assert not ends or span["ts"] + span["dur"] <= ends[-1] + 1e-3
        ends.append(span["ts"] + span["dur"])
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == \
        {f"CPU samples of {row['tid']}" for row in samples}


REGIONS = """
import time, tidemark
with tidemark.region("a<b"):
    tidemark.mark("m&n")
    time.sleep(1)
"""


@pytest.fixture(scope="module")
def regions(tidemark, tmp_path_factory):
    """A trace with a region and a mark."""
    folder = tmp_path_factory.mktemp("regions")
    (folder / "app.py").write_text(REGIONS)
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", folder / "t.tide", "/usr/bin/python3", "app.py"],
                   cwd=folder, check=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return folder / "t.tide"


def texts_of(svg):
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_svg_names_the_command_the_peak_and_the_regions(run, trace, regions):
    said, facts = export(run, trace, "svg"), facts_of(run, trace)
    texts = texts_of(said)
    assert texts[0] == facts["command"]
    assert any(t == f"peak {facts['peak_heap'] / 2**20:.1f} MiB" for t in texts)
    assert "prefers-color-scheme: dark" in said and "<script" not in said and "http" not in said.replace(
        'xmlns="http://www.w3.org/2000/svg"', "")
    assert {"a<b", "m&n"} <= set(texts_of(export(run, regions, "svg")))


def test_svg_draws_the_highest_point_of_the_heap_at_the_peak(run, trace):
    """The curve's upper end is where the dot is, and both are where the bytes say."""
    root = ElementTree.fromstring(export(run, trace, "svg"))
    space = "{http://www.w3.org/2000/svg}"
    dot = next(root.iter(space + "circle"))
    curve = next(p for p in root.iter(space + "path") if p.get("class") == "HEAP curve")
    ys = [float(y) for y in re.findall(r"(?:[ML][\d.]+ |V)([\d.]+)", curve.get("d"))]
    assert min(ys) == pytest.approx(float(dot.get("cy")), abs=0.2)


def test_svg_writes_the_names_of_marks_above_the_peak(run, tmp_path):
    """Where a mark is at the peak, both could be read."""
    code = "import time, tidemark; kept = bytes(1 << 26); tidemark.mark('m'); del kept; time.sleep(1)"
    done = run("record", "-q", "--exact", "-o", tmp_path / "t.tide", "/usr/bin/python3", "-c", code,
               env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    texts = ElementTree.fromstring(export(run, tmp_path / "t.tide", "svg")).iter("{http://www.w3.org/2000/svg}text")
    at = {"".join(t.itertext()): float(t.get("y")) for t in texts}
    peak = next(y for text, y in at.items() if text.startswith("peak "))
    assert peak - at["m"] > 13  # the height of its letters


def test_svg_of_a_run_has_cpu_and_no_heap(run, tmp_path):
    code = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: sum(range(999))"
    assert run("run", "-q", "--record", tmp_path / "t.tide", "/usr/bin/python3", "-c", code).returncode == 0
    texts = texts_of(export(run, tmp_path / "t.tide", "svg"))
    assert "CPU, 100 % is one core" in texts and "resident (RSS), all processes" in texts
    assert "live heap" not in texts and any(t.startswith("peak ") for t in texts)


def test_svg_takes_no_markup_from_a_name(run, tidemark, tmp_path):
    name = "</text><script>alert(1)</script>&\x1b\"'"
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", tmp_path / "t.tide", "/usr/bin/python3", "-c", "pass", name],
                   check=True, timeout=120)
    said = export(run, tmp_path / "t.tide", "svg")
    assert "<script" not in said and "\x1b" not in said
    assert any("</text><script>alert(1)</script>&" in text for text in texts_of(said))


def test_svg_is_read_by_rsvg(run, trace, tmp_path):
    if not shutil.which("rsvg-convert"):
        pytest.skip("rsvg-convert is not installed; tools/setup viewers installs it")
    (tmp_path / "t.svg").write_text(export(run, trace, "svg"))
    made = subprocess.run(["rsvg-convert", "-w", "640", tmp_path / "t.svg"], check=True, capture_output=True, timeout=120)
    assert made.stdout.startswith(b"\x89PNG") and not made.stderr


def pixels_of(png):
    """Width and rows of a PNG of 8-bit RGB, without a library."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour) == (8, 2)
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        assert struct.unpack(">I", png[at + 8 + size:at + 12 + size])[0] == zlib.crc32(png[at + 4:at + 8 + size])
        at += size + 12
    assert len(zlib.decompress(data)) == height * (3 * width + 1)
    return width, height


def test_png_is_the_same_picture(run, trace, tmp_path):
    skip_if_missing(run, trace, "png")
    assert run("report", trace, "-f", "png", "-o", tmp_path / "t.png").returncode == 0
    width, height = pixels_of((tmp_path / "t.png").read_bytes())
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', export(run, trace, "svg"))
    assert width == 1280 and height == pytest.approx(int(box[2]) * width / int(box[1]), abs=1)


def test_pictures_of_a_trace_with_nothing_in_it_say_so(run, tmp_path):
    make.Trace().write(tmp_path / "t.tide")
    for name in "svg", "png", "heaptrack", "massif", "sqlite", "perfetto":
        skip = run("report", tmp_path / "t.tide", "-f", name, "-o", tmp_path / "out")
        assert skip.returncode == 0 or "was built without" in skip.stderr, skip.stderr
    assert any("no sample and no allocation" in t for t in texts_of(export(run, tmp_path / "t.tide", "svg")))


def test_perfetto(run, trace):
    events = json.loads(export(run, trace, "perfetto"))["traceEvents"]
    assert {event["ph"] for event in events} >= {"C", "M", "X"}
    counters = [event for event in events if event["ph"] == "C" and event["name"] == "rss"]
    rows = json.loads(export(run, trace, "json", "timeline"))["tables"]["timeline"]["rows"]
    assert [event["args"]["rss"] for event in counters] == [row["rss"] for row in rows if row["rss"] is not None]
    assert all(event["dur"] > 0 for event in events if event["ph"] == "X")


def test_perfetto_has_the_regions(run, tidemark, build, tmp_path):
    maker = build / "tests" / "unit" / "make_lines_trace"
    subprocess.run([maker, "python", tmp_path / "t.tide"], check=True, timeout=60)
    spans = json.loads(export(run, tmp_path / "t.tide", "json", "regions"))["tables"]["spans"]["rows"]
    events = json.loads(export(run, tmp_path / "t.tide", "perfetto"))["traceEvents"]
    told = {(event["name"], event["tid"], event["ts"]) for event in events if event["ph"] == "X"}
    assert {(span["region"], span["tid"], span["from"] / 1e3) for span in spans} <= told


def test_jsonl_is_an_object_a_line(run, trace):
    head, *rows = map(json.loads, export(run, trace, "jsonl", "peak").splitlines())
    assert head["schema"] == 1 and head["question"] == "peak" and "nothing was lost" in head["coverage"]
    whole = json.loads(export(run, trace, "json", "peak"))["tables"]
    assert [{k: v for k, v in row.items() if k != "table"} for row in rows if row["table"] == "peak"] == \
        whole["peak"]["rows"]


def test_markdown_is_a_table(run, trace):
    said = export(run, trace, "markdown", "peak")
    assert re.search(r"^\| bytes \| percent \|.*\| site \|$", said, re.M)
    assert re.search(r"^\| [\d.]+ [KM]iB \|.*`load.*app\.py:4\)` \|$", said, re.M)


def test_markdown_begins_as_the_text_does(run, trace_maker):
    """Where nothing was named: the sentence, what deserves a look as a list, and no fact that is not known."""
    said = export(run, trace_maker("load"), "markdown")
    assert said.startswith("### tidemark: `overview`\n") and re.search(r"^`.* ran for .*the heap peaked at .*`$", said, re.M)
    assert re.search(r"^- `odd\.py:\d+ held .*`; ask `peak`$", said, re.M) and "n/a\n" not in said
    assert "**memory at the peak**" in said


def test_markdown_takes_no_markup_from_a_name(run, trace_maker):
    """A name with a backtick and a bar stays one cell."""
    trace = trace_maker("a`b|c<img src=x>")
    rows = [line for line in export(run, trace, "markdown", "peak").splitlines() if "img" in line]
    assert rows
    for line in rows:
        assert line.count("`") % 2 == 0 and "\\|c" in line


@pytest.fixture
def trace_maker(tidemark, tmp_path):
    def make(name):
        source = tmp_path / "odd.py"
        source.write_text(f"def f():\n    return bytearray(1 << 22)\nf.__code__ = f.__code__.replace(co_name={name!r}"
                          f", **({{'co_qualname': {name!r}}} if hasattr(f.__code__, 'co_qualname') else {{}}))\n"
                          "kept = f()\n")
        subprocess.run([tidemark, "record", "-q", "--exact", "--force", "-o", tmp_path / "odd.tide",
                        "/usr/bin/python3", source], check=True, timeout=120)
        return tmp_path / "odd.tide"

    return make


@pytest.mark.parametrize("name", ["pprof", "speedscope", "perfetto", "sql", "jsonl", "markdown", "collapsed", "sqlite",
                                  "heaptrack", "massif", "svg", "png"])
def test_a_full_disk_leaves_no_half_of_a_file(run, trace, tmp_path, name):
    skip_if_missing(run, trace, name)
    done = run("report", trace, "-f", name, "-o", "/dev/full")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    (tmp_path / "old").write_text("old")
    tmp_path.chmod(0o700)
    done = run("report", trace, "-f", name, "-o", tmp_path / "no" / "such")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
