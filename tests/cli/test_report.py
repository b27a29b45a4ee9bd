"""tidemark report: traces with known numbers (make_run_trace.c), checked to the number."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from running import PATIENCE, until

MIB = 1 << 20
QUARTER = MIB // 4
MS = 1_000_000
RESOURCE_COLUMNS = (
    "time,cpu_percent,cpu_percent_global,rss_mb,vms_mb,vms_global_mb,swap_used_mb,read_count,"
    "read_count_global,read_mb,read_mb_global,write_count,write_count_global,write_mb,"
    "write_mb_global"
)
QUESTIONS = ["summary", "processes", "timeline", "resources", "lines", "functions", "waits"]
FORMATS = ["text", "json", "csv"]


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    """traces(kind) -> the path of a trace of that kind"""
    folder = tmp_path_factory.mktemp("traces")

    def make(kind):
        path = folder / f"{kind}.tide"
        if not path.exists():
            tool = build / "tests" / "unit" / "make_run_trace"
            subprocess.run([tool, kind, path], check=True, timeout=60)
        return path

    return make


@pytest.fixture
def report(run, traces):
    """report(kind, *words) -> CompletedProcess that ended with 0"""

    def call(kind, *words, **kw):
        done = run("report", traces(kind), *words, **kw)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done

    return call


@pytest.fixture
def tables(report):
    """tables(kind, question) -> the whole JSON object"""
    return lambda kind, question="summary": json.loads(report(kind, question, "-f", "json").stdout)


def facts(answer, table="facts"):
    return answer["tables"][table]["values"]


def parse_resource_log(text):
    """As py-resource-monitor's own reader does it: ({global: int}, {column: numbers})"""
    lines = text.splitlines()
    machine = {pair.split(":")[0]: int(pair.split(":")[1]) for pair in lines[1].split(",")}
    names = lines[2].split(",")
    rows = [line.split(",") for line in lines[3:]]
    columns = {}
    for i, name in enumerate(names):
        convert = float if name == "time" or name.startswith("cpu_percent") else int
        columns[name] = [convert(row[i]) for row in rows]
    return machine, columns


def origin_of(path):
    """The clock origins of a trace: CLOCK_MONOTONIC and CLOCK_REALTIME in ns"""
    return struct.unpack_from("<QQ", path.read_bytes(), 16)


# ---- summary


def test_summary_facts(tables):
    values = facts(tables("full"))
    assert {key: values[key] for key in values if key != "started"} == {
        "command": "make all",
        "outcome": "exited with 2",
        "exit_status": 2,
        "duration": 500 * MS,
        "peak_rss_at_least": 265 * QUARTER,
        "peak_rss_at_most": 303 * QUARTER,
        "peak_basis": "sums of the kernel's marks",
        # without the first, which may have met the loader
        "rss_min": 71 * QUARTER,
        "rss_average": (166 + 265 + 71) * QUARTER // 3,
        "peak_vsz": 325 * QUARTER,
        "peak_pss": 60 * MIB,
        "cgroup_peak": 77 * MIB,
        "cpu": 250 * MS,
        "cpu_user": 200 * MS,
        "cpu_system": 50 * MS,
        "cpu_percent": 50,
        "minor_faults": 1234567,
        "major_faults": 8,
        "read_bytes": 13 * QUARTER,
        "write_bytes": 26 * QUARTER,
        "processes": 3,
        "machine_used_min": 3900 * MIB,
        "machine_used_average": 4050 * MIB,
        "machine_used_peak": 4200 * MIB,
        "machine_total": 8 << 30,
        "machine_cpus": 4,
        "machine_name": "tide",
        "machine_kernel": "6.1",
        "samples": 4,
        "samples_late": 0,
        "interval": 100 * MS,
        "mode": "processes sampled",
        "recorded_by": "9.8.7",
        "alerts": 1,
        "losses": 1,
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", values["started"])


def test_summary_tables(tables):
    answer = tables("full")
    assert answer["question"] == "summary"
    assert "1 loss recorded: a process was too short to be seen (12)" in answer["health"]
    rows = answer["tables"]["processes"]["rows"]
    assert [
        (r["depth"], r["name"], r["pid"], r["peak_rss"], r["cpu"], r["from"], r["to"], r["ended"])
        for r in rows
    ] == [
        (0, "make", 100, 43 * QUARTER, 70 * MS, 0, 500 * MS, "exited with 2"),
        (1, "cc", 101, 240 * QUARTER, 100 * MS, 150 * MS, 350 * MS, "exited with 0"),
        (1, "ld", 102, 28 * QUARTER, 40 * MS, 250 * MS, 450 * MS, "killed by signal 9 (SIGKILL)"),
    ]
    points = answer["tables"]["timeline"]["rows"]
    assert [(p["time"], p["rss"], p["pss"], p["processes"], p["cpu_percent"]) for p in points] == [
        (100 * MS, 42 * QUARTER, None, 1, 50),
        (200 * MS, 166 * QUARTER, None, 2, 30),
        (300 * MS, 265 * QUARTER, None, 3, 90),
        (400 * MS, 71 * QUARTER, None, 2, 40),
    ]
    (alert,) = answer["tables"]["alerts"]["rows"]
    assert alert == {
        "time": 300 * MS,
        "pid": 101,
        "name": "cc",
        "metric": "rss",
        "limit": 40 * MIB,
        "value": 60 * MIB,
        "text": "the tree crossed 40 MiB",
    }
    (loss,) = answer["tables"]["losses"]["rows"]
    assert (loss["count"], loss["bytes"], loss["pid"]) == (12, 4096, 102)


def test_json_describes_itself(tables):
    for question in QUESTIONS:
        for name, table in tables("full", question)["tables"].items():
            if table["shape"] == "facts":
                assert list(table["units"]) == list(table["values"]), name
            else:
                for row in table["rows"]:
                    assert list(row) == list(table["units"]), name


def test_summary_keys_are_the_same_for_every_trace(tables):
    keys = {kind: list(facts(tables(kind))) for kind in ["full", "open", "instant", "nothing"]}
    assert len({tuple(k) for k in keys.values()}) == 1


def test_summary_text(report):
    text = report("full", env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80"}).stdout
    lines = text.splitlines()
    assert lines[0].startswith("This trace is not whole: 1 loss recorded")
    assert re.search(r"^peak rss +66\.2 MiB or more, at most 75\.8 MiB$", text, re.M)
    assert re.search(r"^minor faults +1,234,567$", text, re.M)
    assert re.search(r"^ *100 +10\.8 MiB .* make ", text, re.M)
    assert re.search(r"^ *101 +60\.0 MiB .* ├─ cc ", text, re.M)
    assert re.search(r"^ *102 +7\.0 MiB +40 ms +250 ms +450 ms +└─ ld +killed by", text, re.M)
    assert "rss: largest 66.2 MiB at 300 ms" in text
    assert "█" in text
    assert "\033" not in text


def test_text_without_utf8(report):
    text = report("full", env={**os.environ, "LC_ALL": "C", "COLUMNS": "80"}).stdout
    assert text.isascii()
    assert re.search(r" \|- cc ", text)
    assert re.search(r" `- ld ", text)


def test_exact_peak_is_called_exact(report):
    assert re.search(r"^peak rss +1\.0 MiB \(exact\)$", report("instant").stdout, re.M)


def test_recording_without_an_end(report, tables):
    text = report("open").stdout
    assert text.startswith("This trace is not whole: it has no end: still being recorded")
    assert re.search(r"^peak rss +at least 66\.2 MiB$", text, re.M)
    values = facts(tables("open"))
    assert values["peak_rss_at_least"] == 265 * QUARTER
    assert values["peak_rss_at_most"] is None
    assert values["outcome"] is None
    assert values["cpu"] == 210 * MS
    assert values["peak_vsz"] == 325 * QUARTER


def test_large_trees_are_cut_by_peak(report, tables):
    table = tables("wide")["tables"]["processes"]
    shown = {row["pid"] for row in table["rows"]}
    assert len(shown) == 40
    assert table["note"].startswith("61 smaller processes are left out")
    # the 34 largest grandchildren need 4 children and the root; the child 1062 is the 40th
    assert {1000, 1072, 1082, 1092, 1101} <= shown
    assert 1002 not in shown
    depths = {row["pid"]: row["depth"] for row in table["rows"]}
    assert depths[1000] == 0 and depths[1092] == 1 and depths[1101] == 2
    assert len(tables("wide", "processes")["tables"]["processes"]["rows"]) == 101


# ---- processes


def test_processes(report):
    rows = list(csv.DictReader(io.StringIO(report("full", "processes", "-f", "csv").stdout)))
    cc = rows[1]
    assert (cc["depth"], cc["name"], cc["pid"], cc["parent_pid"]) == ("1", "cc", "101", "100")
    assert cc["command"] == 'a, "b"'
    assert int(cc["peak_rss"]) == 240 * QUARTER
    assert int(cc["peak_vsz"]) == 204 * QUARTER
    assert int(cc["cpu"]) == 100 * MS
    assert (cc["read_count"], cc["write_count"]) == ("4", "8")
    assert (cc["minor_faults"], cc["major_faults"]) == ("12", "2")
    assert (cc["voluntary_switches"], cc["involuntary_switches"]) == ("16", "20")
    assert rows[2]["read_count"] == ""  # not known is empty, never 0
    assert rows[0]["parent_pid"] == ""


def test_a_metric_without_a_column_of_its_own_is_shown_where_it_was_measured(run, tmp_path, tables):
    trace = tmp_path / "t.tide"
    program = f"x = b'x' * {64 << 20}; import time; time.sleep(0.5)"
    assert run("run", "--record", trace, "--", "/usr/bin/python3", "-c", program).returncode == 0
    table = json.loads(run("report", trace, "processes", "-f", "json").stdout)["tables"]["processes"]
    row = table["rows"][0]
    assert 64 << 20 < row["peak_rss_anon"] <= row["peak_rss"]
    assert "peak_rss_anon" not in tables("exec", "processes")["tables"]["processes"]["rows"][0]


def test_counters_go_on_over_exec(tables):
    first, second = tables("exec", "processes")["tables"]["processes"]["rows"]
    assert (first["cpu"], second["cpu"]) == (40 * MS, 30 * MS)
    assert (first["read_count"], second["read_count"]) == (10, 5)
    assert first["ended"] == "became another program (exec)"
    assert second["ended"] == "killed, out of memory"
    rows = tables("exec", "timeline")["tables"]["timeline"]["rows"]
    assert [r["cpu"] for r in rows] == [40 * MS, 70 * MS]
    assert [r["cpu_percent"] for r in rows] == [40, 30]
    assert [r["read_count"] for r in rows] == [10, 15]
    values = facts(tables("exec"))
    assert values["cpu"] == 70 * MS
    assert values["processes"] == 1


# ---- timeline


def test_timeline(report):
    rows = list(csv.DictReader(io.StringIO(report("full", "timeline", "-f", "csv").stdout)))
    assert [int(r["time"]) for r in rows] == [100 * MS, 200 * MS, 300 * MS, 400 * MS]
    assert [int(r["rss"]) for r in rows] == [n * QUARTER for n in (42, 166, 265, 71)]
    assert [int(r["vsz"]) for r in rows] == [n * QUARTER for n in (81, 281, 325, 121)]
    assert [int(r["swap"]) for r in rows] == [n * QUARTER for n in (1, 2, 2, 1)]
    assert [float(r["cpu_percent"]) for r in rows] == [50, 30, 90, 40]
    assert [int(r["read_count"]) for r in rows] == [10, 14, 14, 14]
    assert [int(r["write_bytes"]) for r in rows] == [n * QUARTER for n in (12, 26, 26, 26)]
    assert [int(r["threads"]) for r in rows] == [2, 4, 4, 2]
    assert [int(r["processes"]) for r in rows] == [1, 2, 3, 2]
    assert [int(r["machine_used"]) for r in rows] == [n * MIB for n in (4000, 4100, 4200, 3900)]
    assert [r["machine_cpu_percent"] for r in rows] == ["", "25.000", "75.000", "25.000"]
    assert [int(r["machine_swap_used"]) for r in rows] == [30 * MIB] * 4
    assert [r["pss"] for r in rows] == [""] * 4


def test_timeline_has_every_sample(tables):
    rows = tables("long", "timeline")["tables"]["timeline"]["rows"]
    assert len(rows) == 20000
    assert rows[12344]["rss"] == 1000 * MIB


def test_thinned_timeline_keeps_the_peak(tables):
    rows = tables("long")["tables"]["timeline"]["rows"]
    assert 256 <= len(rows) <= 512
    peak = max(rows, key=lambda row: row["rss"])
    assert peak["rss"] == 1000 * MIB
    assert peak["time"] == 123450 * MS
    gaps = [b["time"] - a["time"] for a, b in zip(rows, rows[1:])]
    assert max(gaps) <= 2 * 64 * 10 * MS


@pytest.mark.parametrize("width", [40, 80, 132])
def test_chart_shows_a_short_peak(report, width):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": str(width)}
    text = report("long", "timeline", env=env).stdout
    chart = text.splitlines()[1:16]
    assert "rss: largest 1000.0 MiB at 2 m 03 s" in text
    assert max(map(len, text.splitlines())) <= width
    top = next(line for line in chart if line.startswith("1000 MiB"))
    assert top.count("█") == 1
    # at 123.45 s of 200 s
    column = top.index("█") - top.index("┤") - 1
    room = width - top.index("┤") - 1
    assert abs(column - 123.45 / 200 * room) <= 1.5


def test_chart_uses_the_terminal(tidemark, traces):
    """A real terminal of 50 columns: its width is used, and colours unless NO_COLOR says not."""
    for no_colour in (False, True):
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        env |= {"LC_ALL": "C.UTF-8", "TERM": "xterm"} | ({"NO_COLOR": "1"} if no_colour else {})
        command = [tidemark, "report", traces("full"), "timeline"]
        with subprocess.Popen(command, stdout=side, env=env) as child:
            os.close(side)
            data = b""
            try:
                while piece := os.read(main, 65536):
                    data += piece
            except OSError:
                pass
            os.close(main)
            assert child.wait(timeout=30) == 0
        text = data.decode()
        assert ("\033[" in text) != no_colour
        plain = re.sub("\033\\[[0-9;]*m", "", text).replace("\r", "")
        chart = [line for line in plain.splitlines() if "┤" in line or "└" in line]
        assert max(map(len, chart)) == 50


# ---- resources


def test_resource_log(report, traces):
    text = report("full", "-f", "resource-log").stdout
    machine, columns = parse_resource_log(text)
    assert text.splitlines()[2] == RESOURCE_COLUMNS
    assert machine == {
        "logger_process_pid": -1,
        "cpu_count": 4,
        "vm_total_mb": 8192,
        "vm_available_mb": 5000,
        "swap_total_mb": 100,
        "swap_free_mb": 70,
    }
    mono, _ = origin_of(traces("full"))
    assert columns.pop("time") == [pytest.approx((mono + ms * MS) / 1e9, abs=1e-9)
                                   for ms in (100, 200, 300, 400)]
    assert columns == {
        "cpu_percent": [50, 30, 90, 40],
        "cpu_percent_global": [25, 25, 75, 25],  # the first: since the machine started
        "rss_mb": [10, 10 + 30, 10 + 50 + 5, 10 + 7],  # rounded down per process
        "vms_mb": [20, 20 + 50, 20 + 51 + 10, 20 + 10],
        "vms_global_mb": [4000, 4100, 4200, 3900],
        "swap_used_mb": [30, 30, 30, 30],
        "read_count": [10, 14, 14, 14],  # what ended stays in the sum
        "read_count_global": [7100, 7200, 7300, 7400],
        "read_mb": [1, 2, 2, 2],
        "read_mb_global": [900, 900, 900, 900],
        "write_count": [20, 28, 28, 28],
        "write_count_global": [8100, 8200, 8300, 8400],
        "write_mb": [3, 6, 6, 6],
        "write_mb_global": [800, 800, 800, 800],
    }


def test_resource_log_of_what_is_not_known(report):
    _, columns = parse_resource_log(report("exec", "-f", "resource-log").stdout)
    assert columns["vms_global_mb"] == [-1, -1]
    assert all(value != value for value in columns["cpu_percent_global"])  # nan
    machine, columns = parse_resource_log(report("instant", "-f", "resource-log").stdout)
    assert machine["cpu_count"] == 4
    assert columns["time"] == []


def test_first_cpu_use_of_a_process_that_ran_before(report, tables):
    """It had burned 5 s in 10 s; the second was found with 3 s on its clock."""
    _, columns = parse_resource_log(report("found", "-f", "resource-log").stdout)
    assert columns["cpu_percent"][0] == pytest.approx(50, abs=0.2)
    assert columns["cpu_percent"][1:] == [30, 50]
    values = facts(tables("found"))
    assert values["cpu"] == 80 * MS
    assert values["watched_pids"] == "100"


def test_resources_csv_is_one_table(report):
    assert report("full", "resources", "-f", "csv").stdout.splitlines()[0] == RESOURCE_COLUMNS


# ---- traces that lack something


@pytest.mark.parametrize("kind", ["full", "open", "instant", "nothing", "odd", "exec", "found"])
def test_every_question_answers(report, kind):
    for question in QUESTIONS:
        for name in FORMATS:
            text = report(kind, question, "-f", name, errors="replace").stdout
            assert text
            if name == "json":
                assert json.loads(text)["question"] == question


def test_instant_command(report, tables):
    values = facts(tables("instant"))
    assert values["samples"] == 0
    assert values["rss_min"] is None and values["cpu"] is None
    assert values["exit_status"] == 0
    text = report("instant").stdout
    assert "The trace holds no sample of the tree." in text
    assert re.search(r"^rss min +n/a$", text, re.M)


def test_hostile_names_do_not_steer_the_terminal(report, tables):
    raw = report("odd", text=False).stdout
    assert b"\033" not in raw and b"\302\233" not in raw
    assert b"?[31mred ?x" in raw
    rows = tables("odd", "processes")["tables"]["processes"]["rows"]
    assert [(row["depth"], row["peak_rss"]) for row in rows] == [(0, None), (0, 5)]


@pytest.mark.parametrize("seed", range(40))
def test_well_formed_nonsense(report, seed):
    """Records that decode, about anything, with any number: every question still answers."""
    for question in QUESTIONS:
        own = {"resources": ["resource-log"], "lines": ["scalene"]}.get(question, [])
        for name in [*FORMATS, *own]:
            text = report(f"random-{seed}", question, "-f", name, errors="replace").stdout
            if name in ("json", "scalene"):
                json.loads(text)


def test_cut_anywhere(run, traces, tmp_path):
    """Whatever is left of a trace is reported on, or refused with a sentence; never a crash."""
    data = traces("full").read_bytes()
    piece = tmp_path / "cut.tide"
    for size in [0, 1, 7, 8, 63, 64, 65, *range(80, len(data), 61)]:
        piece.write_bytes(data[:size])
        done = run("report", piece)
        assert done.returncode in (0, 1), (size, done.stderr)
        if done.returncode == 0:
            assert done.stdout.startswith("This trace is not whole: "), size
        else:
            assert done.stderr.startswith("tidemark: ") and done.stderr.count("\n") == 1


# ---- what the tool itself recorded


def test_report_agrees_with_run(run, target, tmp_path):
    trace = tmp_path / "run.tide"
    done = run("run", "-j", "--interval", "20ms", "--record", trace, "--", "sh", "-c",
               f"{target('hold')} 40 < /dev/null; sleep 0.3; exit 3")
    assert done.returncode == 3
    result = json.loads(done.stdout[done.stdout.index("{"):])
    answer = json.loads(run("report", trace, "-f", "json").stdout)
    values = facts(answer)
    assert answer["health"] is None or "in time" in answer["health"]  # a busy machine
    assert answer["coverage"] is None  # nothing was recorded from inside
    assert values["peak_rss_at_least"] == result["peak_rss_lower_bytes"]
    assert values["peak_rss_at_most"] == result["peak_rss_upper_bytes"]
    assert values["peak_basis"] == result["peak_basis"]
    assert values["rss_min"] == result["min_rss_bytes"]
    assert values["rss_average"] == pytest.approx(result["avg_rss_bytes"], abs=1)
    assert values["peak_vsz"] == result["peak_vsz_bytes"]
    assert values["processes"] == result["process_count"]
    assert values["minor_faults"] == result["minor_faults"]
    assert values["exit_status"] == 3
    assert values["outcome"] == "exited with 3"
    assert values["duration"] / MS == pytest.approx(result["duration_ms"], abs=100)
    assert values["command"] == result["command"]
    rows = answer["tables"]["timeline"]["rows"]
    assert len(rows) == values["samples"] >= 10
    assert max(row["cpu_percent"] for row in rows if row["cpu_percent"] is not None) < 1000
    _, columns = parse_resource_log(run("report", trace, "-f", "resource-log").stdout)
    assert len(columns["time"]) == len(rows)
    assert columns["read_count"] == sorted(columns["read_count"])
    assert all(value >= 0 for value in columns["vms_global_mb"])


def ask_health(run, trace):
    return json.loads(run("report", trace, "-f", "json").stdout)["health"]


def test_report_while_recording(tidemark, run, tmp_path):
    trace = tmp_path / "run.tide"
    command = [tidemark, "run", "-q", "--interval", "50ms", "--record", trace, "--", "sleep", "600"]

    def has_ten_samples():
        done = run("report", trace, "-f", "json")
        return done.returncode == 0 and facts(json.loads(done.stdout))["samples"] >= 10

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            until(has_ten_samples, "ten samples in the trace")
            text = run("report", trace).stdout
        finally:
            child.terminate()
            child.wait(timeout=PATIENCE)
    # The chunk that is just being written may be cut off as well.
    assert re.match("This trace is not whole: (its last chunk is cut off; )?it has no end: still being "
                    "recorded", " ".join(text.split()))
    assert "still running" in text
    # Of a busy machine the finished trace says that samples came late, and nothing else.
    assert re.fullmatch(r"This trace is not whole: 1 loss recorded: samples that could not be taken in "
                        r"time( \(\d+\))?\.|None", str(ask_health(run, trace)))


# ---- the command line


def test_output_file(run, traces, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("older")
    out.chmod(0o640)
    link = tmp_path / "link.csv"
    link.symlink_to(out)
    done = run("report", traces("full"), "timeline", "-f", "csv", "-o", link)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.read_text().startswith("time,rss")
    assert link.is_symlink()
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.csv", "out.csv"]


def test_output_to_stdout_and_special_files(run, traces):
    plain = run("report", traces("full"), "-f", "json").stdout
    assert run("report", traces("full"), "-f", "json", "-o", "-").stdout == plain
    assert run("report", traces("full"), "-f", "json", "-o", "/dev/null").returncode == 0
    assert not os.path.isfile("/dev/null")


def test_a_failed_report_leaves_the_older_one(run, tmp_path):
    broken = tmp_path / "broken.tide"
    broken.write_bytes(b"no trace")
    out = tmp_path / "out.txt"
    out.write_text("older")
    done = run("report", broken, "-o", out)
    assert done.returncode == 1
    assert out.read_text() == "older"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.tide", "out.txt"]


def test_the_trace_is_not_its_own_output(run, traces):
    before = traces("full").read_bytes()
    done = run("report", traces("full"), "-o", traces("full"))
    assert done.returncode == 2 and "is the trace itself" in done.stderr
    assert traces("full").read_bytes() == before


def test_full_disk(run, traces):
    with open("/dev/full", "w") as full:
        done = run("report", traces("full"), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    done = run("report", traces("full"), "-o", "/dev/full")
    assert done.returncode == 1
    assert "cannot write '/dev/full': No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "name the trace"),
        (["no-such.tide"], 1, "no-such.tide"),
        (["/dev/null"], 1, "/dev/null"),
        (["TRACE", "weather"], 2, "processes, timeline, devices, resources"),
        (["TRACE", "-f", "xml"], 2, "resource-log"),
        (["TRACE", "timeline", "-f", "resource-log"], 2, "made for the question resources"),
        (["TRACE", "timeline", "more"], 2, "more"),
        (["TRACE", "-o", "/no/such/folder/x"], 1, "/no/such/folder/x"),
        (["TRACE", "-o", "/"], 1, "directory"),
        (["TRACE", "--wrong"], 2, "wrong"),
    ],
)
def test_wrong_use(run, traces, words, code, sentence):
    done = run("report", *[traces("full") if w == "TRACE" else w for w in words])
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("tidemark: ") and done.stderr.count("\n") == 1
    assert sentence in done.stderr
