"""What each process of a tree has used is what the kernel says at its end, not what was sampled last."""

import json
import os

import pytest
from running import need_root
from tracemaker import END, PROCESS, PROCESS_END, SAMPLE, Trace, record, varint

MS = 1_000_000
TICK = 10 * MS  # the longest that the scheduler's account of who runs may be behind
PROGRAM = r"""
import os, resource, sys, threading, time

def spin(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        pass

def child(ms, threads):
    others = [threading.Thread(target=spin, args=(ms,)) for _ in range(threads)]
    for t in others:
        t.start()
    spin(ms)
    for t in others:
        t.join()
    used = resource.getrusage(resource.RUSAGE_SELF)
    os.write(1, b"%d %d %d\n" % (os.getpid(), (used.ru_utime + used.ru_stime) * 1e9, used.ru_minflt))
    os._exit(0)

for threads in (0, 0, 3, 0, 2):
    if not os.fork():
        child(40, threads)
    os.wait()
"""


def processes(run, trace):
    return json.loads(run("report", trace, "processes", "-f", "json").stdout)["tables"]["processes"]["rows"]


@need_root
def test_a_short_process_has_what_it_used_at_its_end(run, tmp_path):
    trace, program = tmp_path / "t.tide", tmp_path / "p.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = run("record", "-q", "-o", trace, "--interval", "60s", "/usr/bin/python3", program, timeout=120)
    assert done.returncode == 0, done.stderr
    said = {int(pid): (int(ns), int(faults)) for pid, ns, faults in
            (line.split() for line in done.stdout.splitlines())}
    rows = processes(run, trace)
    assert len(said) == 5
    for pid, (ns, faults) in said.items():
        row = next(r for r in rows if r["pid"] == pid)
        assert row["cpu"] >= ns - TICK, (pid, row)
        assert row["cpu_user"] + row["cpu_system"] == row["cpu"]
        assert faults <= row["minor_faults"] <= faults + 200
    facts = json.loads(run("report", trace, "summary", "-f", "json").stdout)["tables"]["facts"]["values"]
    children = sum(r["cpu"] for r in rows if r["pid"] in said)
    assert children <= facts["cpu"] + TICK
    assert sum(r["minor_faults"] for r in rows) == pytest.approx(facts["minor_faults"], rel=0.02)


LEADER_FIRST = r"""
import ctypes, os, threading, time

def go_on(leader):
    while True:  # until it is a zombie, whatever of its process goes on
        with open(f"/proc/self/task/{leader}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                break
    held = bytearray(48 << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
    os.write(1, b"%d %d\n" % (os.getpid(), time.process_time_ns()))
    os._exit(0)

if not os.fork():
    threading.Thread(target=go_on, args=(threading.get_native_id(),)).start()
    ctypes.CDLL(None).syscall(60, 0)
os.wait()
"""


@need_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of a system call")
def test_a_process_ends_with_the_last_of_its_threads(run, tmp_path):
    """Its first one may end long before."""
    trace, program = tmp_path / "t.tide", tmp_path / "p.py"
    program.write_text(LEADER_FIRST, encoding="utf-8")
    done = run("record", "-q", "-o", trace, "--interval", "60s", "/usr/bin/python3", program, timeout=120)
    assert done.returncode == 0, done.stderr
    pid, ns = map(int, done.stdout.split())
    (row,) = (r for r in processes(run, trace) if r["pid"] == pid)
    assert row["cpu"] >= ns - TICK
    assert row["peak_rss"] > 48 << 20


def test_nothing_used_is_not_what_a_process_can_have_used(run, tmp_path):
    """Read before its first tick, and never again."""
    metrics = {1: 1 << 20, 10: 0, 11: 0, 12: 0, 13: 0, 14: 0}
    tail = b"".join(varint(n) + varint(v) for n, v in metrics.items())
    events = [record(PROCESS, 1, 0, 100, 1, 0), record(SAMPLE, 2, 1, tail=tail, step=1000),
              record(PROCESS_END, 1, 1, 0, step=1), record(END)]
    (row,) = processes(run, Trace().add(events, 0, 1001).write(tmp_path / "t.tide"))
    assert row["peak_rss"] == 1 << 20
    assert [row[k] for k in ("cpu", "cpu_user", "cpu_system", "minor_faults")] == [None] * 4
    assert row["major_faults"] == 0
