"""tidemark report leaks: what libraries keep on purpose is left out, counted, and shown on request."""

import json
import shutil
import subprocess

import pytest

CXX = shutil.which("g++") or shutil.which("clang++")
SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <iostream>
int main() { std::cerr << "hello\\n"; std::printf("hello\\n"); void *volatile p = std::malloc(12345); return !p; }
"""


@pytest.fixture
def leaks(run):
    def call(trace, *options):
        said = run("report", trace, "leaks", "-f", "json", *options)
        assert said.returncode == 0, said.stderr
        tables = json.loads(said.stdout)["tables"]
        return tables["facts"]["values"], tables["leaks"]["rows"], tables.get("left_out", {})

    return call


@pytest.mark.skipif(not CXX, reason="there is no C++ compiler")
def test_a_cxx_program_has_its_own_leak_alone(run, leaks, tmp_path):
    (tmp_path / "a.cc").write_text(SOURCE)
    subprocess.run([CXX, "-g", "-O0", "-o", tmp_path / "a", tmp_path / "a.cc"], check=True)
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--exact", "-f", "-o", trace, tmp_path / "a").returncode == 0
    facts, rows, left = leaks(trace)
    assert [r["bytes"] for r in rows] == [12345]
    what = {r["what"]: r for r in left["rows"]}
    assert what["C++: the reserve for exceptions"]["bytes"] > 70000
    assert what["stdio: buffers of files"]["blocks"] == 1
    assert facts["left_out"] == sum(r["bytes"] for r in left["rows"])
    assert facts["alive"] == facts["left_out"] + 12345

    facts, rows, left = leaks(trace, "--no-default-suppressions")
    assert len(rows) == 3 and sum(r["bytes"] for r in rows) == facts["alive"]
    assert left == {} and "left_out" not in facts


@pytest.mark.skipif(not CXX, reason="there is no C++ compiler")
def test_what_is_left_out_was_alive_all_the_same(run, leaks, tmp_path):
    (tmp_path / "a.cc").write_text("#include <string>\nint main(int n, char **) { return std::string(99 + n, 'x').empty(); }\n")
    subprocess.run([CXX, "-g", "-O0", "-o", tmp_path / "a", tmp_path / "a.cc"], check=True)
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--exact", "-f", "-o", trace, tmp_path / "a").returncode == 0
    facts, rows, left = leaks(trace)
    assert not rows and facts["alive"] == facts["left_out"] == sum(r["bytes"] for r in left["rows"]) > 70000
    text = " ".join(run("report", trace, "leaks").stdout.split())
    assert "Nothing else was alive at the end" in text and "Nothing was" not in text


def test_python_shows_the_program_and_not_its_start(run, leaks, tmp_path):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--exact", "-f", "-o", trace, "/usr/bin/python3", "-c",
               "import json\nkept = [bytes(1000) for i in range(10000)]")
    assert done.returncode == 0
    facts, rows, left = leaks(trace)
    what = {r["what"]: r for r in left["rows"]}
    assert what["Python: the start of the interpreter"]["bytes"] > 100000
    assert what["Python: the code of imported modules"]["bytes"] > 10000
    assert rows[0]["bytes"] > 10e6
    assert facts["alive"] == facts["left_out"] + sum(r["bytes"] for r in rows)
