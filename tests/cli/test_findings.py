"""Findings: what programs of various kinds are told, and what they are not told."""
import json
import os
import shutil
import subprocess

import pytest
import tracemaker as make

PYTHON = "/usr/bin/python3"


@pytest.fixture
def findings(tidemark, run, tmp_path):
    def of(command, *options, files=()):
        for name, text in dict(files).items():
            (tmp_path / name).write_text(text)
        subprocess.run([tidemark, "record", "-q", *options, "-o", tmp_path / "x.tide", *command], cwd=tmp_path, check=True,
                       stdout=subprocess.DEVNULL)
        said = json.loads(run("report", tmp_path / "x.tide", "findings", "-f", "json").stdout)
        return said["tables"]["findings"]["rows"]
    return of


def kinds(rows):
    return [row["kind"] for row in rows]


# Each block is of another stack, so no stack holds enough to be judged.
PATHS = """\
import random
held = []
def left(bits, n):
    return keep() if n == 0 else (left if bits & 1 else right)(bits >> 1, n - 1)
def right(bits, n):
    return keep() if n == 0 else (left if bits & 1 else right)(bits >> 1, n - 1)
def keep():
    held.append(bytearray(2000))
random.seed(7)
for i in range(3000):
    left(random.getrandbits(14), 14)
    sum(range(3000))
"""


def test_a_line_that_grows_through_many_stacks(findings):
    rows = findings([PYTHON, "app.py"], "--exact", files={"app.py": PATHS})
    grows = [row for row in rows if row["kind"] == "grows"]
    assert [(os.path.basename(row["file"]), row["line"]) for row in grows] == [("app.py", 8)]
    assert "none of which is judged to grow by itself" in grows[0]["evidence"]
    assert grows[0]["look_at"] == "sites"


def test_a_line_whose_blocks_come_and_go_does_not_grow(findings):
    text = PATHS.replace("held.append(bytearray(2000))", "held.append(bytearray(2000)); len(held) < 600 or held.pop(0)")
    assert "grows" not in kinds(findings([PYTHON, "app.py"], "--exact", files={"app.py": text}))


def test_imports_are_told_apart(findings):
    app = "import os, sys; sys.path.insert(0, os.path.abspath('lib/python3/site-packages'))\nfrom big import y\nx = bytearray(16 << 20)\n"
    package = f"mkdir -p lib/python3/site-packages && mv big.py lib/python3/site-packages && exec {PYTHON} app.py"
    rows = findings(["sh", "-c", package], "--exact", files={"app.py": app, "big.py": "y = bytearray(30 << 20)\n"})
    held = [row for row in rows if row["kind"] == "held"]
    assert [(row["line"], "It imports" in row["advice"]) for row in held] == [(3, False), (2, True)]
    assert held[1]["severity"] == 2  # though it holds more than half


def test_short_lived_objects_of_python_are_nothing_odd(findings):
    text = "for i in range(40000):\n    x = [str(i), {'a': i}, (i, i + 1)]\n    y = len(x) * 1000\n"
    rows = findings([PYTHON, "app.py"], "--exact", files={"app.py": text})
    assert not [row for row in rows if row["kind"] == "churn" and row["look_at"] == "temporary"]


LEAKS = """\
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int processes = atoi(argv[1]);
    long bytes = atol(argv[2]);

    (void)argc;
    for (int i = 1; i < processes; i++)
        if (fork() == 0)
            break;
    memset(malloc(bytes), 1, bytes);
    while (wait(NULL) > 0)
        ;
    return 0;
}
"""


@pytest.fixture(scope="module")
def leaks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaks")
    (folder / "leaks.c").write_text(LEAKS)
    subprocess.run([shutil.which("cc"), "-O0", "-g", "-o", folder / "leaks", folder / "leaks.c"], check=True)
    return folder / "leaks"


def test_what_little_many_processes_leave_is_nobodys_leak(findings, leaks):
    assert "leak" not in kinds(findings([leaks, "40", "60000"], "--exact"))


def test_one_process_of_several_that_leaks_is_named(findings, leaks):
    leak, = [row for row in findings([leaks, "2", "3000000"], "--exact") if row["kind"] == "leak"]
    assert "2.9 MiB were alive when leaks (" in leak["evidence"] and "100 % of its peak" in leak["evidence"]


@pytest.mark.parametrize(("end", "leaks"), [([1, 0], True), ([0, 0], True), ([4, 0], False), ([2, 9], False), (None, False)],
                         ids=["exited", "gone", "outlived the recording", "killed", "no end"])
def test_only_who_has_ended_has_freed_too_little(run, tmp_path, end, leaks):
    definitions = [make.record(make.STRING, 1, tail=b"app"), make.record(make.MODULE, 1, 1, 0),
                   make.record(make.FRAME, 1, 1, 1, 4096), make.record(make.STACK, 1, 0, 1)]
    events = [make.record(make.PROCESS, 1, 0, 100, 5, 0, 1, 1, step=1000), make.record(make.THREAD, 1, 1, 100, 1),
              make.record(make.ALLOC, 1, 4096, 3 << 20, 1, 0, 1000, step=10**9)]
    if end:
        events += [make.record(make.PROCESS_END, 1, *end, step=10**9), make.record(make.END)]
    trace = make.Trace().add(definitions).add(events, 1000, 2 * 10**9).write(tmp_path / "t.tide")
    done = run("report", trace, "findings", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert ("leak" in kinds(json.loads(done.stdout)["tables"]["findings"]["rows"])) == leaks


def test_what_an_interpreter_leaves_is_no_leak(findings):
    text = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\nlibc.malloc(ctypes.c_size_t(8 << 20))\n"
    rows = findings([PYTHON, "app.py"], "--exact", files={"app.py": text})
    assert "leak" not in kinds(rows) and "held" in kinds(rows)
