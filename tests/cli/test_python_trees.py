"""Python programs of many processes: all of them in one trace, each with what it held."""

import json
import random
import re
import signal
import subprocess
import time

import pytest

from pythons import every_python, line_of, name_of, pythons, script
from running import start

FIXTURES = (start,)

BLOCK = 7_000_033
WAYS = ["fork", "spawn", "forkserver", "process", "terminate", "futures", "subprocess", "exec",
        "threads", "server"]


@pytest.fixture
def holders(run, build, tmp_path):
    """holders(*command, how) -> what it printed, {process: blocks of BLOCK bytes}, all processes"""

    def exact(trace):
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", "-i", trace], check=True,
                              capture_output=True, text=True, timeout=60).stdout.splitlines()
        totals, found = json.loads(said[0]), {}
        assert totals["complete"]
        for info in map(json.loads, said[1:]):
            if info["bytes"] == BLOCK:
                found[info["process"]] = found.get(info["process"], 0) + info["allocs"]
        return found

    def call(*command):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--no-names", "--exact", "-f", "-o", trace, *command, timeout=180)
        assert done.returncode == 0, done.stderr
        said = run("report", trace, "processes", "-f", "json", timeout=60)
        assert said.returncode == 0, said.stderr
        return done.stdout, exact(trace), json.loads(said.stdout)

    return call


# All ways on one interpreter, those that differ most on all of them: starting processes takes time.
WAYS_OF = [(python, way) for python in pythons() for way in WAYS
           if python == pythons()[0] or way in ("fork", "threads")]


@pytest.mark.parametrize("python, way", WAYS_OF, ids=lambda p: name_of(p) if "/" in p else p)
def test_every_process_is_there(holders, python, way):
    plain = subprocess.run([python, script("trees.py"), way], capture_output=True, text=True,
                           check=True, timeout=120)
    text, found, _ = holders(python, script("trees.py"), way)
    count = int(text)
    if way != "futures":  # there the number of workers with work is up to chance
        assert text == plain.stdout
    assert len(found) == count, f"{found} of {count}"
    if way not in ("fork", "spawn", "forkserver", "futures"):
        assert set(found.values()) == {1}


@pytest.mark.parametrize("way", ["fork", "spawn", "subprocess"])
def test_sampled_children(run, tmp_path, way):
    python = pythons()[0]
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-names", "--sample", "64KiB", "-f", "-o", trace, python,
               script("trees.py"), way, timeout=180)
    assert done.returncode == 0, done.stderr
    said = json.loads(run("report", trace, "sites", "--limit", "10000", "-f", "json").stdout)
    rows = [row for row in said["tables"]["sites"]["rows"]
            if re.search(r"(trees\.py|<string>):\d+\)$", row["site"]) and row["largest"] == BLOCK]
    seen = sum(row["allocated"] for row in rows)
    assert abs(seen - int(done.stdout) * BLOCK) < 0.02 * seen  # such blocks are surely sampled


def test_killed_at_any_moment(start, run, tmp_path):
    """Whenever it is killed, what it had recorded can be read."""
    chance = random.Random(7)
    code = ("import os\n"
            "kept = [bytes(5000) for i in range(4000)]\n"
            "print('go', os.getpid(), flush=True)\n"
            "while True:\n    x = [bytes(5000) for i in range(1000)]\n")
    for i in range(6):
        trace = tmp_path / f"{i}.tide"
        p = start("record", "-q", "--no-names", *(["--exact"] if i % 2 else []), "-f", "-o", trace,
                  pythons()[0], "-c", code)
        pid = int(p.out.find(rb"go (\d+)\n")[1])
        time.sleep(chance.random() / 5)
        subprocess.run(["kill", "-KILL", str(pid)], check=True)
        p.out.rest()
        assert p.wait(60) == 128 + signal.SIGKILL
        said = run("report", trace, "leaks", "-f", "json", timeout=60)
        assert said.returncode == 0, said.stderr
        rows = json.loads(said.stdout)["tables"]["leaks"]["rows"]
        assert any("<string>:2" in row["site"] for row in rows)


# ---- programs that a profiler has broken before ----


@pytest.fixture
def same(run, tmp_path):
    """same(name, *args) -> the trace, after checking that it behaves as without us"""

    def call(python, name, *args, how=(), stderr=True):
        plain = subprocess.run([python, script(name), *args], capture_output=True, text=True,
                               check=False, timeout=120)
        trace = tmp_path / f"{name}.tide"
        done = run("record", "-q", "--no-names", *how, "-f", "-o", trace, python, script(name), *args,
                   timeout=180)
        status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        assert (done.returncode, done.stdout) == (status, plain.stdout)
        assert not stderr or done.stderr == plain.stderr
        return trace, done.stdout

    return call


MODES = pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])


@every_python
@pytest.mark.parametrize("name", ["dead.py", "eintr.py", "sbus.py"])
def test_behaves_as_without_us(same, build, python, name):
    how = ("--exact",) if python == pythons()[0] else ()
    same(python, name, str(build / "tests" / "targets" / "python" / "pynative.so"), how=how)


@MODES
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_a_crash_keeps_everything(same, run, number, how):
    trace, text = same(pythons()[0], "crash.py", str(int(number)), how=how)
    said = json.loads(run("report", trace, "sites", "--limit", "10000", "-f", "json").stdout)
    line = line_of("crash.py", "kept")
    rows = [row for row in said["tables"]["sites"]["rows"] if f"crash.py:{line})" in row["site"]]
    alive = sum(row["alive"] for row in rows)
    if how:
        assert alive == int(text)
    else:
        assert abs(alive - int(text)) < 0.6 * int(text)  # some 80 samples


@MODES
def test_a_native_block_that_grows(same, run, build, how):
    trace, text = same(pythons()[0], "regrow.py",
                       str(build / "tests" / "targets" / "python" / "pynative.so"), how=how)
    said = json.loads(run("report", trace, "leaks", "-f", "json", "--limit", "1000").stdout)
    rows = said["tables"]["leaks"]["rows"]
    line = line_of("regrow.py", "grown")
    grown = [row for row in rows if any(f.get("python") and f["line"] == line for f in row["stack"] or [])
             and row["bytes"] >= 1 << 20]
    assert [row["bytes"] for row in grown] == [int(text)]
