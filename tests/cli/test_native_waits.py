"""Where threads of C programs wait: the whole way from the system call to the thread's first function."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from pythons import every_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "tests" / "targets" / "record" / "waits_native.c"
FLAGS = ["-O0", "-O2", "-O2 -fno-omit-frame-pointer", "-Os -no-pie", "-O3 -fcf-protection"]
CHAINS = {
    "mutex": ["take", "worker_loop", "run_mutex"],
    "condition": ["pop", "run_condition"],
    "poll": ["serve", "run_poll"],
    "read": ["fetch", *["deeper"] * 4, "run_read"],
    "sleep": ["doze", "run_sleep"],
    "room": ["room", "run_room"],
    "semaphore": ["roomy", "run_semaphore"],
    "join": ["join_them", "main"],
}
CAUSE = {"mutex": "lock", "condition": "lock", "poll": "poll", "read": "io", "sleep": "sleep", "room": "io",
         "semaphore": "lock", "join": "lock"}


def build(folder, flags, *, strip=False):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("there is no compiler")
    program = folder / "waits_native"
    subprocess.run([compiler, "-D_GNU_SOURCE", "-w", "-pthread", *flags.split(), "-s" if strip else "-g", "-o", program, SOURCE],
                   check=True, timeout=120)
    return program


def record(run, folder, *command):
    trace = folder / "t.tide"
    done = run("record", "-q", "-f", "-o", trace, *command, timeout=120)
    assert done.returncode == 0, done.stderr
    done = run("report", trace, "waits", "-f", "json")
    assert done.returncode == 0, done.stderr
    return {name: table["rows"] for name, table in json.loads(done.stdout)["tables"].items()}


def functions_of(row):
    return [f.get("function") for f in row["stack"]]


def own(row):
    """The functions of the program itself, from the one that waits outward."""
    named = set(sum(CHAINS.values(), []))
    return [f for f in functions_of(row) if f in named]


@pytest.mark.parametrize("flags", FLAGS)
def test_who_waits_called_from_where(run, tmp_path, flags):
    tables = record(run, tmp_path, build(tmp_path, flags))
    stacks = [row for row in tables["stacks"] if row["waiting"] > 200_000_000]
    for name, chain in CHAINS.items():
        rows = [row for row in stacks if own(row) == chain]
        assert len(rows) == 1, (name, [functions_of(r) for r in stacks])
        assert rows[0][CAUSE[name]] > 0.9 * rows[0]["waiting"], rows[0]
        first = functions_of(rows[0])[-1]
        assert first in ("_start", "clone3", "clone", "__clone3"), rows[0]["stack"]  # nothing is cut
    lines = {row["function"]: row for row in tables["waits"]}
    for name, chain in CHAINS.items():
        assert lines[chain[0]]["waiting"] > 200_000_000, (name, lines)
        assert lines[chain[0]]["file"].endswith("waits_native.c")


def test_a_stack_in_a_program_without_symbols(run, tmp_path):
    tables = record(run, tmp_path, build(tmp_path, "-O2", strip=True))
    depths = sorted(sum(1 for f in row["stack"] if str(f.get("module", "")).endswith("waits_native"))
                    for row in tables["stacks"] if row["waiting"] > 200_000_000)
    wanted = [len(chain) + (name == "join") for name, chain in CHAINS.items()]  # main is below _start
    assert depths == sorted([*wanted, 2]), depths  # and the thread that ends it all


def test_what_calls_it_is_known_where_a_pointer_did(run, tmp_path):
    """A frame of no fixed size that was called by a pointer is cut: nothing proves where it ends."""
    text = SOURCE.read_text(encoding="utf-8")
    program = tmp_path / "by_pointer.c"
    program.write_text(re.sub(r"RUN\(room, room\(9\)\)", "static int (*volatile called)(int) = room;\nRUN(room, called(9))", text),
                       encoding="utf-8")
    built = tmp_path / "by_pointer"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("there is no compiler")
    subprocess.run([compiler, "-D_GNU_SOURCE", "-w", "-pthread", "-O2", "-g", "-o", built, program], check=True, timeout=120)
    rows = [row for row in record(run, tmp_path, built)["stacks"] if "room" in functions_of(row)]
    assert len(rows) == 1
    assert own(rows[0]) in (["room"], ["room", "run_room"])
    if own(rows[0]) == ["room"]:
        assert rows[0]["stack"][-1].get("cut"), rows[0]["stack"]


def test_a_lock_that_is_waited_for_is_found(run, tmp_path):
    """Of all threads that wait, one waits for a lock that somebody holds; others for something to do."""
    record(run, tmp_path, build(tmp_path, "-O1"), "1200000")
    done = run("report", tmp_path / "t.tide", "findings", "-f", "json")
    assert done.returncode == 0, done.stderr
    found = [row for row in json.loads(done.stdout)["tables"]["findings"]["rows"] if row["kind"] == "waits"]
    line = next(n for n, text in enumerate(SOURCE.read_text(encoding="utf-8").splitlines(), 1) if "pthread_mutex_lock(&held);" in text)
    assert len(found) == 1, found
    assert f"waits_native.c:{line}" in found[0]["title"], found


@every_python
def test_native_code_that_waits_below_a_line_of_python(run, tmp_path, python):
    library = tmp_path / "libwaits.so"
    source = tmp_path / "lib.c"
    source.write_text("""#include <time.h>
static __attribute__((noinline)) int inner(int n) { struct timespec t = {0, n}; volatile int r = nanosleep(&t, 0); return r + 1; }
int outer(int n) { return inner(n) + 1; }
""", encoding="utf-8")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("there is no compiler")
    subprocess.run([compiler, "-w", "-O1", "-g", "-shared", "-fPIC", "-o", library, source], check=True, timeout=120)
    program = tmp_path / "waits.py"
    program.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\ndef f():\n    library.outer(500000000)\nf()\n",
                       encoding="utf-8")
    tables = record(run, tmp_path, python, program)
    line = [row for row in tables["waits"] if row["line"] == 4]
    assert len(line) == 1 and line[0]["sleep"] > 300_000_000, tables["waits"]
    stack = [functions_of(row) for row in tables["stacks"] if row["sleep"] > 300_000_000]
    assert len(stack) == 1
    wanted = [f for f in stack[0] if f in ("inner", "outer", "f", "<module>")]
    assert wanted == ["inner", "outer", "f", "<module>"], stack
