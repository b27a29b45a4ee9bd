"""The question lines on recordings of real Python programs: Debian's CPython, exact, blocks so large
that nothing else comes near."""

import json
import os
import re
import subprocess
import textwrap

import pytest

MIB = 1 << 20
PYTHON = "/usr/bin/python3"
SLACK = 256 << 10  # what an object has beside its bytes, and what else a line does


@pytest.fixture
def record(run, tmp_path):
    """record(command...) -> the path of a trace"""

    def call(*command, how=("--exact",), **kw):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", *how, "-f", "-o", trace, *command, timeout=180, **kw)
        assert done.returncode == 0, done.stderr
        return trace

    return call


@pytest.fixture
def lines(run):
    """lines(trace, *words) -> large rows by (base name of the file, line)"""

    def call(trace, *words):
        done = run("report", trace, "lines", "-f", "json", *words, timeout=180)
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["tables"]["lines"]["rows"]
        return {(os.path.basename(r["file"]), r["line"]): r for r in rows if r["allocated"] >= MIB}

    return call


def write(folder, name, text, coding="utf-8"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(textwrap.dedent(text).encode(coding))
    return path


def near(value, mib):
    return 0 <= value - mib * MIB <= SLACK


PROGRAM = """\
    import json
    import helper

    def keep():
        return [bytearray(4 << 20) for _ in range(3)]

    def churn():
        for _ in range(5):
            bytearray(2 << 20)

    kept = keep()
    churn()
    text = helper.load(8)
    exec("more = bytearray(16 << 20)")
"""


@pytest.fixture
def program(tmp_path):
    write(tmp_path, "helper.py", """\
        def load(n):
            return bytearray(n << 20)
    """)
    return write(tmp_path, "main.py", PROGRAM)


def test_every_line_has_what_it_allocated(record, lines, program):
    rows = lines(record(PYTHON, program))
    assert {k for k in rows if k[1]} - {("main.py", 1)} == {  # without what the import took
        ("main.py", 5), ("main.py", 9), ("helper.py", 2), ("main.py", 14)}
    kept, churned = rows["main.py", 5], rows["main.py", 9]
    assert near(kept["allocated"], 12) and near(kept["at_peak"], 12)
    assert near(churned["allocated"], 10) and churned["at_peak"] < MIB
    assert near(rows["helper.py", 2]["allocated"], 8)
    assert near(rows["main.py", 14]["allocated"], 16)  # the text of exec has no file: its caller pays
    assert kept["function"] == "keep"
    assert kept["text"] == "    return [bytearray(4 << 20) for _ in range(3)]"
    curve = [b for _, b in kept["memory"]]
    assert near(max(curve), 12) and curve[0] < MIB


def test_the_source_is_kept(record, run, program, tmp_path):
    trace = record(PYTHON, program)
    program.unlink()
    (tmp_path / "helper.py").unlink()
    text = run("report", trace, env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "120"}).stdout
    assert re.search(r" 12Mi +12Mi .*5▸     return \[bytearray\(4 << 20\)", text, re.M), text
    assert re.search(r"^.* 4[ ▸] def keep\(\):$", text, re.M)
    assert re.search(r" 8\.0Mi +8\.0Mi .*2▸     return bytearray\(n << 20\)$", text, re.M)


def test_functions(record, run, program):
    done = run("report", record(PYTHON, program), "functions", "-f", "json")
    rows = {r["function"]: r for r in json.loads(done.stdout)["tables"]["functions"]["rows"]
            if r["file"] and (r["file"] == str(program) or r["function"] == "load")}
    assert near(rows["keep"]["total_allocated"], 12)
    assert near(rows["load"]["allocated"], 8)
    assert rows["<module>"]["total_allocated"] > (12 + 10 + 8 + 16) * MIB
    assert rows["keep"]["line"] == 4


def test_a_program_in_site_packages(record, lines, tmp_path):
    folder = tmp_path / "lib" / "python3.11" / "site-packages" / "tool"
    write(folder, "__init__.py", "")
    write(folder, "deep.py", "def f():\n    return bytearray(4 << 20)\n")
    main = write(folder, "__main__.py", "from tool.deep import f\nx = f()\ny = bytearray(2 << 20)\n")
    for command in [[main], ["-m", "tool"]]:
        rows = lines(record(PYTHON, *command, env={**os.environ, "PYTHONPATH": str(folder.parent)}))
        assert near(rows["__main__.py", 2]["allocated"], 4)  # a package is no file of the program
        assert near(rows["__main__.py", 3]["allocated"], 2)


def test_what_a_pth_file_runs_is_not_what_was_typed(record, lines, tmp_path):
    """Both have no file. The one is run before the program, by a file beside installed packages."""
    home = tmp_path / "home"
    version = subprocess.run([PYTHON, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"], check=True,
                             capture_output=True, text=True).stdout.strip()
    write(home, f"lib/{version}/site-packages/boot.pth",
          "import sys; exec('try:\\n sys.kept = bytearray(9 << 20)\\nexcept Exception: pass')\n")
    trace = record(PYTHON, "-c", "import sys\nkept = bytearray(5 << 20), len(sys.kept)",
                   env={**os.environ, "PYTHONUSERBASE": str(home)})
    found = lines(trace)
    assert set(found) == {("<string>", 2), ("(the standard library)", None)}
    assert near(found["<string>", 2]["allocated"], 5)
    assert found["(the standard library)", None]["allocated"] > 9 * MIB


@pytest.mark.parametrize("words", [["-c"], []])
def test_what_was_typed(record, lines, words):
    text = "x = 1\ny = bytearray(4 << 20)\n"
    trace = record(PYTHON, *words, *([text] if words else []), **({} if words else {"input": text, "stdin": None}))
    rows = lines(trace)
    name = "<string>" if words else "<stdin>"
    assert near(rows[name, 2]["allocated"], 4)
    assert rows[name, 2]["text"] is None


@pytest.mark.parametrize(
    "cookie, coding, shown",
    [
        ("# a comment", "utf-8", "'ü'"),
        ("# -*- coding: latin-1 -*-", "latin-1", "'ü'"),
        ("# vim: set fileencoding=iso-8859-1 :", "latin-1", "'ü'"),
        ("# coding: cp437", "cp437", "'?'"),  # not known to us: nothing wrong is shown
    ],
)
def test_codings(record, lines, tmp_path, cookie, coding, shown):
    path = write(tmp_path, "prog.py", f"{cookie}\nx = (bytearray(4 << 20), 'ü')\n", coding)
    assert lines(record(PYTHON, path))["prog.py", 2]["text"] == f"x = (bytearray(4 << 20), {shown})"


def test_line_ends(record, lines, tmp_path):
    path = write(tmp_path, "prog.py", "x = 1\r\n\r\ny = bytearray(4 << 20)\r\n")
    assert lines(record(PYTHON, path))["prog.py", 3]["text"] == "y = bytearray(4 << 20)"


def test_odd_paths(record, lines, tmp_path):
    path = write(tmp_path, "überschüsse und mehr.py", "y = bytearray(4 << 20)\n")
    rows = lines(record(PYTHON, path))
    assert rows[path.name, 1]["text"] == "y = bytearray(4 << 20)"


def test_a_large_file_has_its_lines_alone(record, lines, run, tmp_path):
    path = write(tmp_path, "prog.py", "# " + "x" * 70 + "\n")
    path.write_text("# long\n" * 300_000 + "y = bytearray(4 << 20)\n", encoding="utf-8")
    trace = record(PYTHON, path)
    assert lines(trace)["prog.py", 300_001]["text"] == "y = bytearray(4 << 20)"
    assert trace.stat().st_size < MIB
    assert "# long" not in run("report", trace).stdout


def test_a_program_in_site_packages_that_another_program_runs(record, lines, tmp_path):
    main = write(tmp_path / "lib" / "python3.11" / "site-packages", "tool.py",
                 "x = bytearray(4 << 20)\n")
    starter = write(tmp_path, "start.sh", f"#!/bin/sh\n{PYTHON} {main}\ntrue\n")
    starter.chmod(0o755)
    assert near(lines(record(starter))["tool.py", 1]["allocated"], 4)


def test_every_process_of_a_tree(record, lines, tmp_path):
    path = write(tmp_path, "prog.py", """\
        import subprocess, sys
        if len(sys.argv) > 1:
            y = bytearray(4 << 20)
        else:
            for _ in range(3):
                subprocess.run([sys.executable, __file__, "child"], check=True)
            z = bytearray(8 << 20)
    """)
    rows = lines(record(PYTHON, path))
    assert near(rows["prog.py", 3]["allocated"], 12)
    assert near(rows["prog.py", 7]["allocated"], 8)


def test_the_trace_opens_in_scalene(record, run, program, tmp_path, build):
    folder = build / "viewers" / "bin"
    if not (folder / "scalene").exists():
        pytest.skip("Scalene is not installed: tools/setup viewers")
    profile = tmp_path / "p.json"
    assert run("report", record(PYTHON, program), "-f", "scalene", "-o", profile).returncode == 0
    done = subprocess.run([folder / "scalene", "view", "--cli", profile], capture_output=True,
                          text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Memory usage" in done.stdout


ROADS = """\
    def leaf():
        return bytearray(4096)

    def left(bits, depth):
        return (right if bits & 1 else left)(bits >> 1, depth - 1) if depth else leaf()

    def right(bits, depth):
        return (right if bits & 1 else left)(bits >> 1, depth - 1) if depth else leaf()

    kept = [left(number, 12) for number in range(3000)]
    for _ in range(5):
        kept += [left(number, 12) for number in range(100)]
"""


def test_stacks_that_are_new_for_long_and_some_that_come_again_are_told_apart(record, run, tmp_path):
    """Whoever remembers stacks may give up looking for what was new thousands of times in a row."""
    trace = record(PYTHON, write(tmp_path, "roads.py", ROADS))
    done = run("report", trace, "peak", "-f", "collapsed", timeout=180)
    assert done.returncode == 0, done.stderr
    held = {}
    for line in done.stdout.splitlines():
        road = re.findall(r"(left|right) \(\S*roads\.py:", line)
        if "leaf (" in line:
            number = sum(1 << bit for bit, way in enumerate(road[1:]) if way == "right")
            assert len(road) == 13
            held[number] = held.get(number, 0) + int(line.rsplit(" ", 1)[1])
    each = held[2999]
    assert each > 4096
    assert held == {number: each * (6 if number < 100 else 1) for number in range(3000)}
