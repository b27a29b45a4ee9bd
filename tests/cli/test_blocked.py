"""Why threads wait: causes, lines and times against what the program measured of itself."""

import json
import pathlib
import runpy

import pytest

from pythons import every_python, line_of, script

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TIDE = runpy.run_path(str(ROOT / "docs" / "tide.py"))
CAUSES = {"sleep": {1, 2}, "poll": {2}, "io": {3}, "lock": {4}, "child": {7}}  # 3.9 sleeps by select


def waits_of(trace, file):
    """{(line of this file, cause): seconds}, by the innermost line of it."""
    records = list(TIDE["read"](trace.read_bytes()))
    text = {r["string"]: r["text"] for r in records if r["kind"] == "STRING"}
    line = {r["frame"]: r["line"] for r in records
            if r["kind"] == "NAME" and text.get(r["file"], "").endswith(file)}
    parent = {s: (p, f) for r in records if r["kind"] == "STACKS" for s, p, f in r["stacks"]}
    out = {}
    for r in records:
        if r["kind"] != "WAIT":
            continue
        stack, where = r["stack"], 0
        while stack and not where:
            stack, frame = parent[stack]
            where = line.get(frame, 0)
        out[where, r["cause"]] = out.get((where, r["cause"]), 0) + r["ns"] / 1e9
    return out


@every_python
@pytest.mark.parametrize("how", ["sampled", "exact"])
def test_causes_lines_and_times(run, tmp_path, python, how):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", *(["--exact"] if how == "exact" else []), "-f", "-o", trace, python,
               script("waits.py"), timeout=180)
    assert done.returncode == 0, done.stderr
    truth, waits = json.loads(done.stdout), waits_of(trace, "waits.py")
    for name, seconds in truth.items():
        found = sum(s for (line, cause), s in waits.items()
                    if line == line_of("waits.py", name) and cause in CAUSES[name])
        assert found == pytest.approx(seconds, rel=0.1, abs=0.08), (name, waits)


def test_waiting_for_the_interpreter(run, tmp_path):
    trace, program = tmp_path / "t.tide", tmp_path / "gil.py"
    program.write_text("""
import threading
def spin(n):
    s = 0
    for i in range(n):
        s = (s * 3 + i) & 65535
threads = [threading.Thread(target=spin, args=(4_000_000,)) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
""", encoding="utf-8")
    done = run("record", "-q", "-f", "-o", trace, "/usr/bin/python3", program, timeout=180)
    assert done.returncode == 0, done.stderr
    waits = waits_of(trace, "gil.py")
    gil = sum(s for (line, cause), s in waits.items() if cause == 5 and line in (5, 6))
    other = sum(s for (line, cause), s in waits.items() if cause in (1, 2, 3) and line in (5, 6))
    assert gil > 10 * other
    assert gil > 0.1


def test_no_time_is_told_twice(run, tmp_path):
    """More threads than CPUs: the scheduler accounts for their stay in its queue only afterwards."""
    trace, program = tmp_path / "t.tide", tmp_path / "crowd.py"
    program.write_text("""
import hashlib, os, threading, time
waited, buffer = [], bytes(1 << 20)
def digest(n):
    wall, cpu = time.perf_counter(), time.thread_time()
    for i in range(n):
        hashlib.sha256(buffer).digest()
    waited.append(time.perf_counter() - wall - (time.thread_time() - cpu))
threads = [threading.Thread(target=digest, args=(60,)) for _ in range(8 * os.cpu_count())]
for t in threads: t.start()
for t in threads: t.join()
print(sum(waited))
""", encoding="utf-8")
    done = run("record", "-q", "--cpu-only", "-f", "-o", trace, "/usr/bin/python3", program, timeout=180)
    assert done.returncode == 0, done.stderr
    waits = waits_of(trace, "crowd.py")
    told = sum(s for (line, cause), s in waits.items() if line in range(5, 9))
    assert told < 1.1 * float(done.stdout) + 0.1, waits


@every_python
def test_a_forked_child_that_only_waits_waits_on_its_line(run, tmp_path, python):
    trace, program = tmp_path / "t.tide", tmp_path / "forks.py"
    program.write_text("""
import os, time
total = sum(range(2_000_000))
if not os.fork():
    time.sleep(0.4)
    os._exit(0)
os.wait()
""", encoding="utf-8")
    done = run("record", "-q", "-f", "-o", trace, python, program, timeout=60)
    assert done.returncode == 0, done.stderr
    waits = waits_of(trace, "forks.py")
    assert sum(s for (line, cause), s in waits.items()
               if line == 5 and cause in CAUSES["sleep"]) > 0.25, waits
