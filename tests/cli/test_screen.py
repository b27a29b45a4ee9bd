"""What somebody sees who asks nothing: the first screen; and that every table fits the terminal."""
import json
import os
import re
import shutil
import subprocess

import pytest

from tracemaker import END, PROCESS, PROCESS_END, SAMPLE, Trace, record, varint

PYTHON = """\
import json
kept = []
def work(n):
    return [bytearray(1000) for _ in range(n)]
def burn():
    return sum(i * i for i in range(300000))
for i in range(30):
    kept.append(work(1000))
    burn()
    json.dumps(list(range(1000)))
"""

BUSY = """\
import mmap
kept_for_a_long_time_by_this_program, more, still_more, others = [], [], [], []
def remember_what_was_made_in_this_turn(n):
    kept_for_a_long_time_by_this_program.append([bytearray(1000) for _ in range(n)])
for i in range(40):
    remember_what_was_made_in_this_turn(300)
    more.append(bytearray(50000))
    still_more.append(bytearray(40000))
    others.append(bytearray(30000))
    for _ in range(300):
        mmap.mmap(-1, 1 << 20).close()
    for _ in range(20):
        bytearray(1 << 20)
    sum(i * i for i in range(20000))
    max(i * i for i in range(20000))
"""

CXX = r"""
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace a_namespace_with_a_long_name {
template <typename Key, typename Value> struct table_of_everything {
    std::map<Key, std::vector<Value>> inside;
    void remember(const Key &key, int n) {
        inside[key] = std::vector<Value>(n, Value("a text that is too long for its small buffer"));
    }
};
}
int main() {
    auto *t = new a_namespace_with_a_long_name::table_of_everything<std::string, std::string>;
    for (int i = 0; i < 200; i++)
        t->remember("a key that is long as well, number " + std::to_string(i), 100);
    return t->inside.size() == 0;
}
"""


@pytest.fixture(scope="module")
def traces(tidemark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen")
    (folder / "app.py").write_text(PYTHON)
    (folder / "app.cc").write_text(CXX)
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    subprocess.run([compiler, "-g", "-O0", "-o", folder / "app", folder / "app.cc"], check=True)
    for name, command in (("python", ["/usr/bin/python3", "app.py"]), ("cxx", ["./app"])):
        subprocess.run([tidemark, "record", "-q", "--exact", "-o", folder / f"{name}.tide", *command], cwd=folder,
                       check=True)
    return lambda name: folder / f"{name}.tide"


def at(columns):
    return {**os.environ, "COLUMNS": str(columns), "LC_ALL": "C.UTF-8"}


def test_the_first_screen_says_it_all(run, traces):
    screen = run("report", traces("python"), env=at(80)).stdout.splitlines()[:24]
    text = "\n".join(screen)
    assert re.search(r"^'/usr/bin/python3 app.py' ran for .*; the heap peaked at 3\d\.\d MiB \(exact\) after", " ".join(screen[:4]))
    memory = text[text.index("memory at the peak"):text.index("cpu time")]
    assert re.search(r"^ *3\d\.\d MiB +\d\d\.\d % +app\.py:4 +return \[bytearray", memory, re.M)
    assert "app.py:6" in text[text.index("cpu time"):]
    assert "Ask next: " in text


def test_long_findings_leave_room_for_the_rest(run, tmp_path):
    """Those that do not fit into 24 lines are left to 'findings', which the last line names."""
    prog, trace = tmp_path / "busy.py", tmp_path / "busy.tide"
    prog.write_text(BUSY)
    assert run("record", "-q", "--exact", "-o", trace, "/usr/bin/python3", prog).returncode == 0
    for columns in (80, 100, 200):
        screen = run("report", trace, env=at(columns)).stdout.splitlines()[:24]
        assert any(line.startswith("- ") for line in screen)
        assert any(line.startswith("Ask next: findings,") for line in screen), columns


def test_without_allocations_it_asks_about_cpu_time(run, tmp_path):
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--cpu-only", "-o", trace, "/usr/bin/python3", "-c",
               "sum(i * i for i in range(3000000))").returncode == 0
    said = run("report", trace, env=at(80)).stdout
    assert "Ask next: findings, lines, functions, cpu, waits, processes, timeline." in said


def test_it_names_what_grows(run, traces):
    text = " ".join(run("report", traces("python"), env=at(80)).stdout.split())
    assert re.search(r"still grew, most of it from .*\(app\.py:4\), by .*; ask 'leaks'", text)


def test_every_table_fits(run, traces):
    asked = [None, "summary", "lines", "functions", "cpu", "copies", "waits", "peak", "leaks", "temporary", "sites",
             "tree", "histogram", "threads", "regions", "resident", "processes", "timeline", "overview"]
    for name in "python", "cxx":
        for question in asked:
            for columns in 80, 100, 200:
                done = run("report", traces(name), *[question] * bool(question), env=at(columns))
                if question == "resident" and "no sample of resident memory" in done.stderr:
                    continue  # nobody found the time to look before it ended
                assert done.returncode == 0
                assert not [line for line in done.stdout.splitlines() if len(line) > columns], (name, question)


def sites(run, trace, question="peak"):
    return json.loads(run("report", trace, question, "-f", "json").stdout)["tables"][question]["rows"]


def test_the_site_is_the_programs_own(run, traces):
    largest = sites(run, traces("python"))[0]
    assert largest["site"].endswith("app.py:4)")
    largest = sites(run, traces("cxx"))[0]
    assert largest["site"].startswith("a_namespace_with_a_long_name::table_of_everything<")
    assert "app.cc:" in largest["site"]


def test_a_tree_begins_with_the_program(run, traces):
    assert sites(run, traces("cxx"), "tree")[0]["function"].startswith("main")
    assert sites(run, traces("python"), "tree")[0]["function"].startswith("<module>")
    whole = run("report", traces("python"), "tree", "--native", env=at(200)).stdout
    assert re.search(r"PyEval|_PyEval|Py_RunMain", whole)


def test_whole_stacks_are_there_on_request(run, traces):
    short = run("report", traces("python"), "peak", "--limit", "1", env=at(80)).stdout
    assert "more; --native shows whole stacks" in short
    whole = run("report", traces("python"), "peak", "--limit", "1", "--native", env=at(80)).stdout
    assert " more" not in whole and len(whole.splitlines()) > len(short.splitlines())


def test_collapsed_stacks_have_the_lines_of_python(run, traces):
    said = run("report", traces("python"), "-f", "collapsed").stdout
    assert re.search(r"<module> \(.*app\.py:8\);.*work \(.*app\.py:4\)", said)


@pytest.mark.parametrize("lower, upper, said, fact", [
    (1 << 30, 1 << 30, "1.0 GiB (exact)", "1.0 GiB (exact)"),
    (1 << 30, 2 << 30, "1.0 GiB or more", "1.0 GiB or more, at most 2.0 GiB"),
    (1 << 30, None, "1.0 GiB or more", "at least 1.0 GiB"),
    (None, 1 << 30, None, "at most 1.0 GiB"),
])
def test_the_peak_is_as_sure_in_the_sentence_as_among_the_facts(run, tmp_path, lower, upper, said, fact):
    """Of a process that outlives the command the most is not known; of one that is smaller than its launcher the
    least."""
    known = [(192, lower), (193, upper), (196, 0)]
    pairs = b"".join(varint(metric) + varint(value) for metric, value in known if value is not None)
    events = [record(PROCESS, 1, 0, 100, 1, 0), record(SAMPLE, 0, 0, tail=pairs, step=1000),
              record(PROCESS_END, 1, 1, 0, step=1), record(END)]
    trace = Trace().add(events, 0, 1001).write(tmp_path / "t.tide")
    sentence = run("report", trace).stdout.split("\n\n")[0]
    assert not sentence.startswith("This trace is not whole")
    assert ("resident memory peaked at" in sentence) == (said is not None)
    assert said is None or said in " ".join(sentence.split())
    assert re.search(rf"^peak rss +{re.escape(fact)}$", run("report", trace, "summary").stdout, re.M)


def test_nobody_is_told_to_record_what_was_recorded_in_vain(run, target, tmp_path):
    """No code can be put into a program that is linked statically."""
    for words, told in ((["run", "--record"], True), (["record", "-o"], False)):
        trace = tmp_path / f"{words[0]}.tide"
        assert run(*words, trace, target("static_nop")).returncode == 0
        done = run("report", trace)
        assert ("'tidemark record' shows which lines" in done.stdout) == told
        assert "Ask next: processes, timeline" in done.stdout


def test_what_a_library_s_thread_maps_stands_among_the_lines(run, build, tmp_path):
    """The caller's line has 20 MB; 40 MB are of a thread that works for nobody."""
    prog, trace = tmp_path / "prog.py", tmp_path / "t.tide"
    prog.write_text("""\
import ctypes, sys, time
held = bytearray(20 << 20)
pool = ctypes.CDLL(sys.argv[1])
pool.pool_holds(40 << 20)
time.sleep(0.2)
""")
    package = tmp_path / "lib" / "python3.11" / "site-packages"
    package.mkdir(parents=True)
    library = shutil.copy(build / "tests" / "targets" / "record" / "pool.so", package)
    assert run("record", "-q", "-o", trace, shutil.which("python3"), prog, library).returncode == 0
    rows = json.loads(run("report", trace, "overview", "-f", "json").stdout)["tables"]["memory_at_the_peak"]["rows"]
    at_peak = {r["where"]: r["at_peak"] for r in rows}
    assert at_peak["prog.py:2"] >= 20 << 20
    (workers,) = [bytes for where, bytes in at_peak.items() if where.startswith("(")]
    assert 40 << 20 <= workers < 41 << 20


def test_modules_that_one_module_imports_are_told_apart(run, tmp_path):
    """Each of them is called "<module>"."""
    for name, size in ("one", 6), ("two", 4):
        (tmp_path / f"{name}.py").write_text(f"kept = bytearray({size} << 20)\n")
    (tmp_path / "app.py").write_text("import one\nimport two\n")
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--exact", "-o", trace, "/usr/bin/python3", tmp_path / "app.py").returncode == 0
    rows = json.loads(run("report", trace, "tree", "-f", "json").stdout)["tables"]["tree"]["rows"]
    found = {row["function"]: (row["depth"], row["bytes"] >> 20) for row in rows if row["bytes"] >= 4 << 20}
    assert found.pop("<module> (app.py)")[0] == 0
    assert found == {"<module> (one.py)": (1, 6), "<module> (two.py)": (1, 4)}
