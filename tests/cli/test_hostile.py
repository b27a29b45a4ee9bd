"""Files that change or lie while they are read."""

import os
import stat
import subprocess

import pytest

GIB = 1 << 30


@pytest.fixture
def trace(run, build, tmp_path):
    path = tmp_path / "t.tide"
    program = str(build / "tests" / "targets" / "record" / "crash")
    assert run("record", "-q", "--no-names", "--exact", "-f", "-o", path, program, "exit").returncode == 0
    return path


def maps(pid, path):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            return str(path) in f.read()
    except OSError:
        return False


def test_a_trace_that_is_cut_while_it_is_read(build, trace):
    whole = trace.read_bytes()
    for _ in range(8):  # it may be read sooner than we can cut it
        trace.write_bytes(whole)
        os.truncate(trace, GIB)  # zeros that are looked through for a chunk
        with subprocess.Popen([build / "tidemark", "report", trace], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as reader:
            while reader.poll() is None and not maps(reader.pid, trace):
                pass
            os.truncate(trace, 100)
            _, said = reader.communicate(timeout=60)
        if reader.returncode:
            break
    assert reader.returncode == 1
    assert said.count("\n") == 1 and "became shorter" in said


def test_debuginfod_is_asked_only_on_request(run, build, tmp_path):
    asked = tmp_path / "asked"
    finder = tmp_path / "debuginfod-find"
    finder.write_text(f"#!/bin/sh\necho \"$@\" >> {asked}\nexit 1\n")
    finder.chmod(finder.stat().st_mode | stat.S_IXUSR)
    env = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}",
               DEBUGINFOD_URLS="http://localhost:1/")
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, build / "tests" / "targets" / "record" / "crash"],
                   check=True)
    words = ["record", "-q", "--exact", "-f", "-o", tmp_path / "t.tide"]
    assert run(*words, bare, "exit", env=env).returncode == 0
    assert not asked.exists()
    assert run(*words, "--debuginfod", bare, "exit", env=env).returncode == 0
    assert "debuginfo" in asked.read_text()


def test_names_that_nobody_wants_are_not_asked_for(run):
    done = run("record", "--no-names", "--debuginfod", "true")
    assert done.returncode == 2 and "debuginfod" in done.stderr
