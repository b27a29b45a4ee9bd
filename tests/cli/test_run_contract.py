"""`tidemark run` as a drop-in for peak-mem: options, conflicts, shapes, baselines, exit codes."""

import csv
import io
import json
import os
import re

import pytest

SIZE = r"\d+\.\d (?:KiB|MiB|GiB|TiB)|\d+ B"
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"
BOUND = (rf"Peak is (?:exact|at least (?:{SIZE})|at least (?:{SIZE}) and at most (?:{SIZE})): "
         r"\S[^\n]*\n")

OLD_KEYS = ["command", "peak_rss_bytes", "peak_vsz_bytes", "duration_ms", "exit_code",
            "threshold_exceeded", "timestamp"]
NEW_KEYS = {"signal", "execution_time", "return_code", "memory_usage", "peak_rss_exact",
            "peak_rss_lower_bytes", "peak_rss_upper_bytes", "peak_basis", "peak_method",
            "min_rss_bytes", "avg_rss_bytes", "peak_pss_bytes", "process_count", "outlived",
            "oom_killed", "cpu_user_seconds", "cpu_system_seconds", "minor_faults",
            "major_faults", "cgroup_peak_bytes", "alerts"}
CSV_HEADER = ("command,peak_rss_bytes,peak_vsz_bytes,duration_ms,exit_code,threshold_exceeded,"
              "timestamp")
COMPARED_HEADER = ("baseline_command,baseline_rss_bytes,baseline_vsz_bytes,baseline_duration_ms,"
                   "current_command,current_rss_bytes,current_vsz_bytes,current_duration_ms,"
                   "rss_diff_bytes,rss_diff_percent,vsz_diff_bytes,vsz_diff_percent,"
                   "duration_diff_ms,duration_diff_percent,regression_detected")


def without_bound(text):
    """The report without the line that says what the peak is, which must be there once."""
    rest, found = re.subn(BOUND, "", text)
    assert found == 1, text
    return rest


def one_sentence(done, code):
    """The tool failed with this code, said one sentence, and had nothing else to say."""
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(r"tidemark: [^\n]+\n", done.stderr), done.stderr
    return done.stderr


# ---- text ----


def test_text_report(run):
    done = run("run", "--", "sleep", "0.3")
    assert (done.returncode, done.stderr) == (0, "")
    shape = (rf"Command: sleep 0\.3\nPeak memory usage: (?:{SIZE}) \(RSS\) / (?:{SIZE}) \(VSZ\)\n"
             r"Exit code: 0\nDuration: (\d+\.\d)s\n")
    found = re.fullmatch(shape, without_bound(done.stdout))
    assert found, done.stdout
    assert float(found[1]) >= 0.3


def test_text_report_without_the_word_run(run):
    assert run("true").stdout.startswith("Command: true\nPeak memory usage: ")
    assert run("-q", "--", "true").stdout.strip().isdigit()


def test_exit_code_passes_through(run):
    done = run("run", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "\nExit code: 7\n" in done.stdout


def test_signal_death_is_named(run):
    done = run("run", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    assert "\nKilled by signal: 9 (SIGKILL)\n" in done.stdout
    assert "Exit code:" not in done.stdout
    done = run("run", "sh", "-c", "kill -TERM $$")
    assert done.returncode == 143
    assert "\nKilled by signal: 15 (SIGTERM)\n" in done.stdout


def test_command_is_joined_by_one_space(run, result):
    assert result("--mute", "echo", "-n", "", "a  b")["command"] == "echo -n  a  b"
    assert "Command: sh -c exit 0\n" in run("run", "sh", "-c", "exit 0").stdout


@pytest.mark.parametrize("unit, shape", [
    ("B", r"\d+ B"), ("KB", r"\d+\.\d KB"), ("MB", r"\d+\.\d MB"), ("GB", r"\d+\.\d GB"),
    ("KiB", r"\d+\.\d KiB"), ("MiB", r"\d+\.\d MiB"), ("GiB", r"\d+\.\d GiB")])
def test_units(run, target, unit, shape):
    out = run("run", "--units", unit, target("spike"), "16").stdout
    assert re.search(rf"^Peak memory usage: {shape} \(RSS\) / {shape} \(VSZ\)$", out, re.M), out


def test_units_do_not_touch_json(result):
    assert isinstance(result("--units", "KB", "true")["peak_rss_bytes"], int)


# ---- verbose ----


def test_verbose_report(run):
    done = run("run", "-v", "sh", "-c", "sleep 0.2; exit 3")
    assert done.returncode == 3
    shape = rf"""Command: sh -c sleep 0\.2; exit 3
Started: \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC
Process ID: (?P<pid>\d+)

Memory Usage:
  Peak RSS: (?:{SIZE}) \((?P<rss>\d+) bytes\)
  Peak VSZ: (?:{SIZE}) \((?P<vsz>\d+) bytes\)

Process Tree: \(2 processes monitored\)
sh \(PID: (?P<root>\d+)\) - Peak: (?:{SIZE})
└── sleep \(PID: \d+\) - Peak: (?:{SIZE})

Performance:
  Duration: 0\.\d{{3}}s
  Samples collected: \d+
  Effective sample interval: \d+ms
  CPU time: \d+\.\d{{3}}s user, \d+\.\d{{3}}s system

Exit Status: 3 \(failed\)

{BOUND}(?:In the tree [^\n]+\n)?
(?:No accelerator was found|Device [^\0]*)\n"""
    found = re.fullmatch(shape, done.stdout)
    assert found, done.stdout
    assert found["pid"] == found["root"]
    assert 0 < int(found["rss"]) < int(found["vsz"])


def test_verbose_tree_is_indented(run, target):
    out = run("run", "-v", "sh", "-c", f"{target('tree')} chain 3 1 150; true").stdout
    tree = out[out.index("Process Tree:"):out.index("\nPerformance:")]
    marks = [line[:line.index("(PID")] for line in tree.splitlines() if "(PID" in line]
    assert [mark.index(mark.strip(" │├└─")) for mark in marks] == [0, 4, 8, 12, 16], tree
    assert "└── tree" in tree


def test_verbose_tree_shows_own_peaks(run, target):
    """One child after another had 24 MiB; at the tree's peak only one of them did."""
    out = run("run", "-v", "--exact", target("tree"), "seq", "3", "24", "30").stdout
    peaks = [float(peak) for peak in re.findall(r"tree \(PID: \d+\) - Peak: ([\d.]+) MiB", out)]
    assert sorted(peak > 24 for peak in peaks) == [False, True, True, True], out


def test_verbose_success_and_no_children(run):
    out = run("run", "-v", "--no-children", "sh", "-c", "true; true").stdout
    assert "\nProcess Tree: (monitoring disabled with --no-children)\n" in out
    assert "\nExit Status: 0 (success)\n" in out


def test_verbose_json(result):
    told = result("-v", "sh", "-c", "sleep 0.2; true")
    assert list(told)[:7] == OLD_KEYS
    assert told["process_tree"]["pid"] == told["main_pid"]
    assert list(told["process_tree"])[:4] == ["pid", "name", "memory", "children"]
    assert list(told["process_tree"]["memory"])[:3] == ["rss_bytes", "vsz_bytes", "timestamp"]
    assert told["process_tree"]["name"] == "sh"
    assert [child["name"] for child in told["process_tree"]["children"]] == ["sleep"]
    assert re.fullmatch(STAMP, told["start_time"]) and told["start_time"] < told["timestamp"]
    assert told["sample_count"] >= 1
    at = list(told).index
    assert at("process_tree") < at("start_time") < at("sample_count") < at("main_pid")
    assert all(at("main_pid") < at(key) for key in NEW_KEYS)


# ---- JSON ----


def test_emit_keys_and_order(run, result):
    done = run("run", "-j", "sleep", "0.3")
    told = json.loads(done.stdout)
    assert list(told)[:7] == OLD_KEYS
    assert set(told) >= NEW_KEYS
    assert not set(told) & {"process_tree", "timeline", "start_time", "sample_count", "main_pid"}
    assert done.stdout.startswith('{\n  "command": "sleep 0.3",\n  "peak_rss_bytes": ')
    assert done.stdout.endswith("}\n") or done.stdout.endswith("}")


def test_emit_values(result):
    told = result("sleep", "0.3")
    assert (told["command"], told["exit_code"], told["threshold_exceeded"]) == (
        "sleep 0.3", 0, False)
    assert 0 < told["peak_rss_bytes"] < told["peak_vsz_bytes"]
    assert told["duration_ms"] >= 300
    assert re.fullmatch(STAMP, told["timestamp"])
    assert (told["signal"], told["return_code"], told["oom_killed"]) == (None, 0, False)
    assert told["execution_time"] >= 0.3
    assert told["peak_rss_exact"] is True
    assert told["peak_rss_lower_bytes"] == told["peak_rss_bytes"] == told["peak_rss_upper_bytes"]
    assert told["peak_method"] in ("sampled", "taskstats") and told["peak_basis"]
    assert 0 < told["min_rss_bytes"] <= told["avg_rss_bytes"] <= told["peak_rss_bytes"]
    assert (told["peak_pss_bytes"], told["process_count"], told["outlived"]) == (None, 1, 0)
    assert told["alerts"] == []
    assert told["minor_faults"] > 0
    assert told["cpu_user_seconds"] >= 0 and told["cpu_system_seconds"] >= 0


def test_emit_memory_usage_is_the_host(result):
    usage = result("sleep", "0.3")["memory_usage"]
    assert list(usage) == ["gpu_peak_gb", "gpu_min_gb", "gpu_avg_gb", "host_peak_gb",
                           "host_min_gb", "host_avg_gb"]
    assert [usage[key] for key in usage if key.startswith("gpu")] == [None] * 3
    with open("/proc/meminfo") as f:
        total = int(f.readline().split()[1]) / 2**20
    assert 0 < usage["host_min_gb"] <= usage["host_avg_gb"] <= usage["host_peak_gb"] < total
    assert all(round(usage[key], 2) == usage[key] for key in usage if key.startswith("host"))


def test_emit_of_a_signal_death(result):
    told = result("sh", "-c", "kill -9 $$", code=137)
    assert (told["exit_code"], told["signal"], told["return_code"]) == (None, 9, -9)
    assert told["oom_killed"] is False


def test_emit_escapes(result):
    assert result("echo", "-n", "")["command"] == "echo -n "
    told = result("sh", "-c", ':', 'a"b\\c\td\ne\x01f', "é")
    assert told["command"] == 'sh -c : a"b\\c\td\ne\x01f é'


# ---- CSV and quiet ----


def test_csv(run):
    done = run("run", "-c", "sleep", "0.2")
    lines = done.stdout.splitlines()
    assert lines[0] == CSV_HEADER
    assert len(lines) == 2
    assert re.fullmatch(rf"sleep 0\.2,\d+,\d+,\d+,0,false,{STAMP}", lines[1])


def test_csv_verbose_is_the_same(run):
    assert run("run", "-c", "-v", "true").stdout.splitlines()[0] == CSV_HEADER


@pytest.mark.parametrize("word, cell", [
    ("plain", "plain"), ("a,b", '"sh -c : a,b"'), ('a"b', '"sh -c : a""b"'),
    ("a\nb", '"sh -c : a\nb"')])
def test_csv_quotes_only_where_needed(run, word, cell):
    out = run("run", "-c", "sh", "-c", ":", word).stdout
    row = list(csv.reader(io.StringIO(out)))[1]
    assert row[0] == f"sh -c : {word}"
    assert len(row) == 7
    body = out.split("\n", 1)[1]
    assert body.startswith((cell if '"' in cell else f"sh -c : {cell}") + ",")


def test_csv_of_a_signal_death_has_no_exit_code(run):
    row = list(csv.DictReader(io.StringIO(run("run", "-c", "sh", "-c", "kill -9 $$").stdout)))[0]
    assert row["exit_code"] == ""


def test_quiet(run):
    done = run("run", "-q", "sleep", "0.1")
    assert re.fullmatch(r"[1-9]\d*\n", done.stdout)
    assert done.stderr == ""


# ---- options ----

FORMATS = ["-j", "-c", "-q", "-w"]


@pytest.mark.parametrize("pair", [(a, b) for i, a in enumerate(FORMATS) for b in FORMATS[i + 1:]]
                         + [("-q", "-v")])
def test_conflicts(run, tmp_path, pair):
    for words in (pair, pair[::-1]):
        one_sentence(run("run", *words, "touch", tmp_path / "ran"), 2)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("words", [
    ["--save-baseline", "a", "--compare-baseline", "b", "true"],
    ["--list-baselines", "true"],
    ["--list-baselines", "--save-baseline", "a"],
    ["--list-baselines", "--compare-baseline", "a"],
    ["--delete-baseline", "a", "true"],
    ["--delete-baseline", "a", "--list-baselines"],
    ["--delete-baseline", "a", "--save-baseline", "b"],
    ["--delete-baseline", "a", "--compare-baseline", "b"],
    ["--pid", "1", "true"]])
def test_conflicts_with_values(run, words):
    one_sentence(run("run", *words), 2)


@pytest.mark.parametrize("words", [
    ["-j", "-j"], ["-q", "--quiet"], ["-t", "1G", "--threshold", "2G"],
    ["--interval", "10", "--interval", "20"], ["--no-children", "--no-children"],
    ["-v", "-v"], ["--units", "B", "--units", "KB"]])
def test_an_option_given_twice(run, words):
    one_sentence(run("run", *words, "true"), 2)


@pytest.mark.parametrize("words", [
    [], ["--"], ["-j"], ["--nope", "true"], ["-Z", "true"], ["-t"], ["--units", "mb", "true"],
    ["--units", "TiB", "true"], ["--regression-threshold", "x", "true"], ["--json=1", "true"],
    ["--on-threshold", "sing", "true"], ["--report-fd", "x", "true"], ["--pid", "abc"],
    ["--pid", "0"], ["--pid", "1,,2"]])
def test_usage_errors(run, words):
    one_sentence(run("run", *words), 2)


def test_long_and_short_spellings(run):
    for words in (["-q"], ["--quiet"], ["-q", "--interval=50"], ["-q", "--interval", "50"],
                  ["-qt1G"], ["-q", "-t", "1G"], ["-q", "-t=1G"], ["-q", "--threshold=1G"]):
        assert run("run", *words, "true").stdout.strip().isdigit(), words


def test_options_after_the_command_are_the_commands(run):
    done = run("run", "sh", "-c", 'echo "$@"; exit 3', "sh", "-j", "--quiet", "--", "-t")
    assert done.returncode == 3
    assert done.stdout.startswith("-j --quiet -- -t\nCommand: sh -c ")
    assert run("run", "--mute", "echo", "--", "-x").stdout.startswith("Command: echo -- -x\n")


@pytest.mark.parametrize("size", ["1", "1B", "1K", "1KB", "1kib", "1 GiB", "1.5G", "2TiB", "1tb",
                                  ".5M", " 12 ", "99999999999999999999", "1.5 kb", "7m"])
def test_sizes_accepted(run, size):
    assert run("run", "-q", "-t", size, "true").returncode in (0, 1)


@pytest.mark.parametrize("size", ["abc", "", "1.5.2G", "1e3", "1XB", "5PB", "1Ki", "-1", "G", ".",
                                  "0x10", "1 2", "nan", "inf", "1G1"])
def test_sizes_rejected(run, tmp_path, size):
    one_sentence(run("run", f"--threshold={size}", "touch", tmp_path / "ran"), 2)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("size, over", [
    ("63MiB", True), ("64000K", True), ("63.9m", True), ("65536KIB", True), (".0625G", True),
    ("0.001TB", False), ("128M", False), ("256000 kb", False), ("1T", False)])
def test_sizes_mean_what_they_say(result, target, size, over):
    told = result("-t", size, target("spike"), "64", code=int(over))
    assert told["threshold_exceeded"] is over


@pytest.mark.parametrize("interval", ["1", "100", "50ms", "0.05s", "1s"])
def test_intervals_accepted(run, interval):
    assert run("run", "-q", "--interval", interval, "true").returncode == 0


@pytest.mark.parametrize("interval", ["0", "1.5", "-5", "", "x", "10x", "0s", "0ms", "nan", "1e3",
                                      "99999999999999999999"])
def test_intervals_rejected(run, interval):
    one_sentence(run("run", f"--interval={interval}", "true"), 2)


def test_interval_sets_the_pace(result):
    slow = result("-v", "--interval", "1s", "sleep", "0.5")["sample_count"]
    fast = result("-v", "--interval", "10ms", "sleep", "0.5")["sample_count"]
    assert slow <= 3 < fast


# ---- exit codes ----


def test_not_found(run):
    done = run("run", "no-such-program-at-all")
    assert done.returncode == 127
    assert done.stdout == ""
    assert done.stderr == ("tidemark: cannot run 'no-such-program-at-all': "
                           "No such file or directory\n")


def test_not_executable(run, tmp_path):
    (tmp_path / "text").write_text("hello\n")
    done = run("run", tmp_path / "text")
    assert done.returncode == 126
    assert done.stderr == f"tidemark: cannot run '{tmp_path}/text': Permission denied\n"
    assert run("run", tmp_path).returncode == 126


def test_a_script_without_an_interpreter_is_the_shells(run, tmp_path):
    """As execvp(3) and env(1) have it."""
    (tmp_path / "script").write_text("echo $0 $1; exit 4\n")
    (tmp_path / "script").chmod(0o755)
    done = run("run", tmp_path / "script", "x")
    assert done.returncode == 4
    assert done.stdout.startswith(f"{tmp_path}/script x\nCommand: ")


def test_not_found_in_other_ways(run, tmp_path):
    assert run("run", tmp_path / "nothing").returncode == 127
    assert run("run", "--exact", "no-such-program-at-all").returncode == 127
    assert run("run", "").returncode == 127
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert run("run", script).returncode in (126, 127)


def test_threshold_exceeded(run):
    done = run("run", "--threshold", "1", "sh", "-c", "exit 7")
    assert done.returncode == 1
    assert "\n\n⚠️  THRESHOLD EXCEEDED\n" in done.stdout
    assert "\nExit code: 7\n" in done.stdout


def test_threshold_not_exceeded(run):
    done = run("run", "--threshold", "1T", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert "THRESHOLD" not in done.stdout and done.stderr == ""


# ---- baselines ----


@pytest.fixture
def based(run, tmp_path):
    """based(*args) -> run with a baseline directory of its own"""
    return lambda *args, **kw: run("run", "--baseline-dir", tmp_path / "base", *args, **kw)


def test_baseline_round_trip(based, tmp_path):
    assert based("--list-baselines").stdout == "No baselines found.\n"
    done = based("--save-baseline", "one", "sleep", "0.1")
    path = tmp_path / "base" / "one.json"
    assert done.returncode == 0
    assert done.stderr == f"Baseline 'one' saved to: {path}\n"
    assert done.stdout.startswith("Command: sleep 0.1\n")
    based("--save-baseline", "also", "true")
    assert based("--list-baselines").stdout == "Saved baselines:\n  also\n  one\n"
    done = based("--delete-baseline", "one")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Baseline 'one' deleted.\n", "")
    assert not path.exists()
    assert based("--list-baselines").stdout == "Saved baselines:\n  also\n"


def test_baseline_file(based, tmp_path):
    told = json.loads(based("-j", "--save-baseline", "one", "sleep", "0.1").stdout)
    kept = json.loads((tmp_path / "base" / "one.json").read_text())
    assert list(kept)[:7] == ["version", "created_at", "command", "peak_rss_bytes",
                              "peak_vsz_bytes", "duration_ms", "metadata"]
    assert {"platform", "arch"} <= set(kept["metadata"])
    assert re.fullmatch(STAMP, kept["created_at"])
    for key in ("command", "peak_rss_bytes", "peak_vsz_bytes", "duration_ms"):
        assert kept[key] == told[key]


@pytest.mark.parametrize("name, file", [
    ("a/b", "a_b"), ("a:b*c?d", "a_b_c_d"), ("../../etc/x", ".._.._etc_x"),
    ('"<>|\\', "_____"), ("a b", "a b"), ("é", "é")])
def test_baseline_names_are_made_safe(based, tmp_path, name, file):
    assert based("--save-baseline", name, "true").returncode == 0
    assert [path.name for path in (tmp_path / "base").iterdir()] == [file + ".json"]
    assert based("-q", "--compare-baseline", name, "true").stdout in ("ok\n", "regression\n")


@pytest.mark.parametrize("name", ["", ".", "..", "..."])
@pytest.mark.parametrize("option", ["--save-baseline", "--compare-baseline"])
def test_bad_baseline_names(based, tmp_path, option, name):
    said = one_sentence(based(option, name, "touch", tmp_path / "ran"), 2)
    assert "nvalid baseline name" in said
    assert not (tmp_path / "ran").exists()


def test_missing_and_corrupt_baselines(based, tmp_path):
    one_sentence(based("--compare-baseline", "none", "touch", tmp_path / "ran"), 125)
    assert based("--delete-baseline", "none").returncode in (1, 125)
    (tmp_path / "base").mkdir(exist_ok=True)
    for text in ("", "{", "[]", "null", '{"version": "1"}', '{"peak_rss_bytes": "x"}', "[" * 9999,
                 '{"version":"1","created_at":"x","command":"x","peak_rss_bytes":-1,'
                 '"peak_vsz_bytes":1,"duration_ms":1,"metadata":{}}'):
        (tmp_path / "base" / "bad.json").write_text(text)
        one_sentence(based("--compare-baseline", "bad", "touch", tmp_path / "ran"), 125)
    assert not (tmp_path / "ran").exists()


def test_unusable_baseline_directory(run, tmp_path):
    (tmp_path / "file").write_text("")
    for directory in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nowhere"):
        said = one_sentence(run("run", "--baseline-dir", directory, "--save-baseline", "a",
                                "touch", tmp_path / "ran"), 125)
        assert os.fspath(directory) in said
    assert not (tmp_path / "ran").exists()


def test_baseline_of_peak_mem_is_read(based, tmp_path):
    """A file as the old tool wrote it."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "old.json").write_text(
        '{\n  "version": "0.1.4",\n  "created_at": "2026-11-15T19:01:12.858733+00:00",\n'
        '  "command": "sleep 0.3",\n  "peak_rss_bytes": 1000000000000,\n'
        '  "peak_vsz_bytes": 3000000,\n  "duration_ms": 405,\n'
        '  "metadata": {\n    "arch": "x86_64",\n    "platform": "linux",\n'
        '    "main_pid": "737"\n  }\n}')
    assert based("-q", "--compare-baseline", "old", "true").stdout == "ok\n"


def write_baseline(tmp_path, rss, vsz=1000, ms=1000):
    (tmp_path / "base").mkdir(exist_ok=True)
    (tmp_path / "base" / "it.json").write_text(json.dumps({
        "version": "1", "created_at": "2026-01-01T00:00:00.000000+00:00", "command": "old one",
        "peak_rss_bytes": rss, "peak_vsz_bytes": vsz, "duration_ms": ms,
        "metadata": {"platform": "linux", "arch": "x86_64"}}))


def test_comparison_text(based, tmp_path):
    write_baseline(tmp_path, 4 << 30, 8 << 30, 100000)
    done = based("--compare-baseline", "it", "sleep", "0.1")
    assert done.returncode == 0
    shape = rf"""Command: sleep 0\.1

Baseline vs Current:
  Peak RSS: 4\.0 GiB → (?:{SIZE}) \(-(?:99\.\d|100\.0)%\)
  Absolute decrease: (?:{SIZE})

  Peak VSZ: 8\.0 GiB → (?:{SIZE}) \(-(?:99\.\d|100\.0)%\)

  Duration: 100\.0s → \d\.\ds \(-\d+\.\d%\)

✅ No regression detected
"""
    assert re.fullmatch(shape, re.sub(BOUND, "", done.stdout)), done.stdout


def test_comparison_text_of_a_regression(based, tmp_path):
    write_baseline(tmp_path, 4096)
    done = based("--compare-baseline", "it", "sh", "-c", "exit 7")
    assert done.returncode == 1
    assert re.search(rf"^  Peak RSS: 4\.0 KiB → (?:{SIZE}) \(\+\d+\.\d%\)\n"
                     rf"  Absolute increase: (?:{SIZE})$", done.stdout, re.M), done.stdout
    assert re.search(r"^❌ REGRESSION DETECTED: Memory usage increased by \d+\.\d%$", done.stdout,
                     re.M)


def test_comparison_json(based, tmp_path):
    write_baseline(tmp_path, 1 << 30, 1 << 40, 100000)
    told = json.loads(based("-j", "--compare-baseline", "it", "sleep", "0.2").stdout)
    assert list(told) == ["baseline", "current", "rss_diff_bytes", "rss_diff_percent",
                          "vsz_diff_bytes", "vsz_diff_percent", "duration_diff_ms",
                          "duration_diff_percent", "regression_detected"]
    assert told["baseline"] == json.loads((tmp_path / "base" / "it.json").read_text())
    now = told["current"]
    assert list(now)[:7] == OLD_KEYS and set(now) >= NEW_KEYS
    assert told["rss_diff_bytes"] == now["peak_rss_bytes"] - (1 << 30)
    assert told["rss_diff_percent"] == pytest.approx(100 * told["rss_diff_bytes"] / 2**30)
    assert told["vsz_diff_bytes"] == now["peak_vsz_bytes"] - (1 << 40)
    assert told["duration_diff_ms"] == now["duration_ms"] - 100000
    assert told["regression_detected"] is False


def test_comparison_csv_and_quiet(based, tmp_path):
    write_baseline(tmp_path, 4096)
    done = based("-c", "--compare-baseline", "it", "true")
    assert done.returncode == 1
    head, row = list(csv.reader(io.StringIO(done.stdout)))
    assert ",".join(head) == COMPARED_HEADER
    assert row[:4] == ["old one", "4096", "1000", "1000"]
    assert (row[4], row[14], len(row)) == ("true", "true", 15)
    assert int(row[8]) == int(row[5]) - 4096
    done = based("-q", "--compare-baseline", "it", "true")
    assert (done.returncode, done.stdout) == (1, "regression\n")
    write_baseline(tmp_path, 1 << 40)
    done = based("-q", "--compare-baseline", "it", "true")
    assert (done.returncode, done.stdout) == (0, "ok\n")


def test_regression_threshold(based, tmp_path, target):
    """64 MiB and a little against 40 MiB: 60 % and a little more."""
    write_baseline(tmp_path, 40 << 20)
    words = ["--compare-baseline", "it", target("spike"), "64"]
    assert based("--regression-threshold", "50", *words).returncode == 1
    assert based("--regression-threshold", "200", *words).returncode == 0
    assert based("--regression-threshold=-90", *words).returncode == 1
    assert based(*words).returncode == 1


def test_baseline_of_zero_is_no_regression(based, tmp_path):
    write_baseline(tmp_path, 0, 0, 0)
    told = json.loads(based("-j", "--compare-baseline", "it", "true").stdout)
    assert (told["rss_diff_percent"], told["regression_detected"]) == (0, False)


def test_threshold_holds_beside_a_baseline(based, tmp_path):
    write_baseline(tmp_path, 1 << 40)
    assert based("-t", "1", "--compare-baseline", "it", "true").returncode == 1


def test_exit_code_beside_a_baseline(based, tmp_path):
    write_baseline(tmp_path, 1 << 40)
    assert based("--compare-baseline", "it", "sh", "-c", "exit 7").returncode == 7
    assert based("--save-baseline", "it", "sh", "-c", "exit 7").returncode == 7


def test_default_baseline_directory(run, tmp_path):
    home = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    assert run("run", "--list-baselines", env=home).stdout == "No baselines found.\n"
    assert run("run", "true", env=home).returncode == 0
    assert not (tmp_path / "home").exists()
    assert run("run", "--save-baseline", "a", "true", env=home).returncode == 0
    assert (tmp_path / "home/.cache/tidemark/baselines/a.json").is_file()
    cache = {**home, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run("run", "--save-baseline", "b", "true", env=cache).returncode == 0
    assert (tmp_path / "cache/tidemark/baselines/b.json").is_file()


# ---- timeline ----


def test_timeline_json(result, tmp_path, target):
    told = result("--timeline", tmp_path / "t.json", "--interval", "20", target("spike"), "16",
                  "200")
    points = json.loads((tmp_path / "t.json").read_text())
    assert len(points) >= 3
    assert all(list(point) == ["rss_bytes", "vsz_bytes", "timestamp"] for point in points)
    assert all(re.fullmatch(STAMP, point["timestamp"]) for point in points)
    stamps = [point["timestamp"] for point in points]
    assert stamps == sorted(stamps)
    assert 16 << 20 < max(point["rss_bytes"] for point in points) <= told["peak_rss_bytes"]
    assert told["timeline"] == points
    at = list(told).index
    assert at("timestamp") < at("timeline") < at("signal")


def test_timeline_csv(run, tmp_path, target):
    assert run("run", "--timeline", tmp_path / "t.csv", "--interval", "20", target("spike"), "16",
               "200").returncode == 0
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "timestamp,rss_bytes,vsz_bytes"
    assert len(lines) >= 4
    assert all(re.fullmatch(rf"{STAMP},\d+,\d+", line) for line in lines[1:])


def test_timeline_sums_the_tree(result, tmp_path, target):
    words = ["--interval", "20", "--timeline", tmp_path / "t.json"]
    tree = [target("tree"), "par", "4", "8", "200"]
    result(*words, *tree)
    assert max(p["rss_bytes"] for p in json.loads((tmp_path / "t.json").read_text())) > 32 << 20
    result("--no-children", *words, *tree)
    assert max(p["rss_bytes"] for p in json.loads((tmp_path / "t.json").read_text())) < 8 << 20


@pytest.mark.parametrize("option", ["-o", "--timeline", "--record"])
def test_unwritable_files_are_found_before_the_command_starts(run, tmp_path, option):
    path = tmp_path / "no" / "such" / "file"
    said = one_sentence(run("run", option, path, "touch", tmp_path / "ran"), 125)
    assert str(path) in said
    assert not (tmp_path / "ran").exists()
