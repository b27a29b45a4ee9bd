"""Two questions of one trace never contradict each other: the same total is the same number wherever it stands,
parts add up to it, and nothing that lived at a time is above the peak."""

import json
import subprocess

import pytest

PYTHON = "/usr/bin/python3"
CHURN = """
import os, sys, threading
kept = []
def work(n):
    for i in range(n):
        kept.append(bytearray(40_000))
        [bytes(3000) for _ in range(40)]
        bytearray(300_000)
threads = [threading.Thread(target=work, args=(60,)) for _ in range(3)]
children = [os.fork() or (work(n), os._exit(0)) for n in (40, 120)]
for t in threads: t.start()
for t in threads: t.join()
for c in children: os.waitpid(c, 0)
"""
CXX = r"""
#include <map>
#include <string>
#include <thread>
#include <vector>
static std::map<int, std::string> table;
static void churn(int n) { for (int i = 0; i < n; i++) std::vector<char> v(i % 5000 + 1); }
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 20000; i++) table[i] = std::string(100, 'x');
    for (int i = 0; i < 3; i++) threads.emplace_back(churn, 30000);
    for (auto &t : threads) t.join();
}
"""
WAYS = {"sampled": [], "finely": ["--sample", "16KiB"], "hybrid": ["--exact=32KiB"], "exact": ["--exact"]}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "churn.py").write_text(CHURN)
    (folder / "app.cc").write_text(CXX)
    subprocess.run(["c++", "-g", "-O1", "-pthread", "-o", folder / "app", folder / "app.cc"], check=True)
    makefile = "all: a b c\n" + "".join(f"{x}:\n\tc++ -c -o {folder}/{x}.o {folder}/app.cc\n" for x in "abc")
    (folder / "Makefile").write_text(makefile)
    return {"python": [PYTHON, folder / "churn.py"], "c++": [folder / "app"],
            "make": ["make", "-s", "-j2", "-B", "-f", folder / "Makefile"]}


class Answers:
    def __init__(self, run, trace):
        self.run, self.trace = run, trace

    def ask(self, question, *more):
        done = self.run("report", self.trace, question, "-f", "json", *more, timeout=180)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]

    def facts(self, question):
        return self.ask(question)["facts"]["values"]

    def rows(self, question, *more, table=None):
        return self.ask(question, *more).get(table or question, {"rows": []})["rows"]


def total(rows, column):
    return sum(row[column] or 0 for row in rows)


def same(one, other, parts):
    """Each part of a sampled sum is rounded by itself."""
    return abs(one - other) <= len(parts) + 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", ["python", "c++", "make"])
def test_every_question_tells_the_same(run, programs, tmp_path, program, way):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "-o", trace, *WAYS[way], *programs[program], timeout=300)
    assert done.returncode == 0, done.stderr
    a = Answers(run, trace)
    facts, all_rows = a.facts("summary"), ("--limit", "1000000")
    peak, allocated = facts["peak_heap"], facts["heap_allocated"]
    assert a.facts("peak")["peak_heap"] == a.facts("lines")["peak_heap"] == peak > 0

    rows = a.rows("peak", *all_rows)
    assert same(total(rows, "bytes"), peak, rows)
    rows = a.rows("sites", *all_rows)
    assert same(total(rows, "allocated"), allocated, rows) and same(total(rows, "at_peak"), peak, rows)
    rows = [row for row in a.rows("tree", *all_rows) if row["depth"] == 0]
    assert same(total(rows, "bytes"), peak, rows)
    for scope in ([], ["--all"]):
        rows = a.rows("lines", *scope, table="files")
        assert same(total(rows, "allocated"), allocated, rows)
        assert same(total(rows, "cpu"), a.facts("lines")["cpu"] or 0, rows)
    rows = a.rows("threads")
    assert same(total(rows, "allocated"), allocated, rows)

    rows = a.rows("processes")
    assert same(total(rows, "heap_allocated"), allocated, rows)
    assert max(row["peak_heap"] or 0 for row in rows) <= peak <= total(rows, "peak_heap") + len(rows)

    leaks = a.ask("leaks", *all_rows)
    rows = leaks["leaks"]["rows"] + leaks.get("left_out", {"rows": []})["rows"]
    alive = leaks["facts"]["values"]["alive"]
    assert same(total(rows, "bytes"), alive, rows)
    assert alive in (facts["alive_at_end"], facts.get("alive_before_end"))

    curve = [row["heap_most"] for row in a.rows("curve")]
    assert (peak if way == "exact" else 0.9 * peak) <= max(curve) <= peak
    assert max(row["live_heap"] or 0 for row in a.rows("timeline")) <= peak
    for part in ("20%", "60%", "90%"):
        assert total(a.rows("peak", "--at", part, *all_rows), "bytes") <= peak + 2
