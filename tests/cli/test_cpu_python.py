"""CPU time of Python programs that measure themselves: by function, and as Python, native, system."""

import json
import re
import textwrap

from pythons import every_python

POINTS = 12  # of all time; with 200 samples and more, that is above three standard deviations

PROGRAM = """
    import hashlib, os, time

    def loop(n):
        s = 0.0
        for i in range(n):
            s = s * 0.5 + i
        return s

    def digest(n):
        for i in range(n):
            hashlib.sha256(BUFFER).digest()

    def order(n):
        for i in range(n):
            sorted(NUMBERS)

    def zeros(n):
        for i in range(n):
            os.readv(FD, [ROOM])

    BUFFER = bytes(1 << 20)
    NUMBERS = [(i * 7919) % 100003 / 7 for i in range(100000)]
    ROOM = bytearray(1 << 20)
    FD = os.open("/dev/zero", os.O_RDONLY)

    for function, n in ((loop, 20000), (digest, 1), (order, 1), (zeros, 10)):
        start = now = time.thread_time()
        while now - start < 0.35:
            function(n)
            now = time.thread_time()
        print(function.__name__, int((now - start) * 1e9))
"""


@every_python
def test_each_function_and_what_it_does(run, tmp_path, python):
    (tmp_path / "phases.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--cpu-only", "-f", "-o", trace, python, tmp_path / "phases.py",
               timeout=180)
    assert done.returncode == 0, done.stderr
    truth = {name: int(ns) for name, ns in re.findall(r"^(\w+) (\d+)$", done.stdout, re.M)}
    whole = sum(truth.values())
    said = run("report", trace, "cpu", "-f", "json", "--limit", "100000", timeout=180)
    functions = {row["function"].split(" (")[0]: row
                 for row in json.loads(said.stdout)["tables"]["functions"]["rows"]
                 if row["module"] is None}
    for name, kind in (("loop", "python"), ("digest", "native"), ("order", "native"),
                       ("zeros", "system")):
        row = functions[name]
        assert abs(row["total"] - truth[name]) / whole * 100 < POINTS, name
        assert row[kind] > 0.7 * row["total"], name
    assert functions["loop"]["self"] > 0.7 * functions["loop"]["total"]


SAME = """
    import time

    def operator(x):
        x + x

    def method(x):
        x.__add__(x)

    def repeat(x):
        b"x" * len(x)

    X = bytes(1 << 20)
    for function in (operator, method, repeat):
        begun = time.thread_time()
        while time.thread_time() - begun < 0.4:
            function(X)
"""


@every_python
def test_the_same_native_code_is_native_however_python_calls_it(run, tmp_path, python):
    (tmp_path / "same.py").write_text(textwrap.dedent(SAME), encoding="utf-8")
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--cpu-only", "-o", trace, python, tmp_path / "same.py", timeout=180)
    assert done.returncode == 0, done.stderr
    said = run("report", trace, "functions", "-f", "json", timeout=180)
    rows = {r["function"]: r for r in json.loads(said.stdout)["tables"]["functions"]["rows"]}
    for name in ("operator", "method", "repeat"):
        row = rows[name]
        assert row["python"] < 0.15 * (row["cpu"] - row["system"]) + 10e6, name
