"""Memory of Python programs, against what is known of them: to the byte when every block is recorded."""

import collections
import json
import pathlib
import re
import subprocess

import pytest

from pythons import (every_debug_build, every_python, line_of, name_of, pythons, script,
                     version)

PYTHON = 5  # TRACE_BY_PYTHON
DEBUG_EXTRA = 24  # what the debug hooks add to a block: two words before, one after


@pytest.fixture
def blocks(run, build, tmp_path, sanitized):
    """blocks(*command) -> what it printed, totals, and {(origin, bytes): (allocs, live)}"""

    def once(command, how, status, **kw):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--no-names", *how, "-f", "-o", trace, *command, timeout=180, **kw)
        assert done.returncode == status, done.stderr
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", "-i", trace], check=True,
                              capture_output=True, text=True, timeout=60).stdout.splitlines()
        totals, infos = json.loads(said[0]), map(json.loads, said[1:])
        kinds = collections.defaultdict(lambda: (0, 0))
        for i in infos:
            allocs, live = kinds[i["origin"], i["bytes"]]
            kinds[i["origin"], i["bytes"]] = allocs + i["allocs"], live + i["live"]
        return done.stdout, totals, kinds

    def call(*command, how=("--exact",), status=0, **kw):
        for _ in range(3):  # on a machine with other work the collector may fall behind
            text, totals, kinds = once(command, how, status, **kw)
            if totals["losses"] == 0 or sanitized:
                return text, totals, kinds
        pytest.fail(f"{totals['losses']} events were lost, three times")

    return call


@pytest.fixture
def lines(run, build, tmp_path, sanitized):
    """lines(*command) -> what it printed, and what `sites` says of each line of its script"""

    def once(command, how, status, **kw):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--no-names", *how, "-f", "-o", trace, *command, timeout=300, **kw)
        assert done.returncode == status, done.stderr
        said = run("report", trace, "sites", "--limit", "100000", "-f", "json", timeout=180)
        assert said.returncode == 0, said.stderr
        totals = subprocess.run([build / "tests" / "unit" / "heap_totals", trace], check=True,
                                capture_output=True, text=True, timeout=60)
        losses = json.loads(totals.stdout)["losses"]
        return done.stdout, json.loads(said.stdout)["tables"]["sites"]["rows"], losses

    def call(*command, how=("--exact",), status=0, **kw):
        name = next(pathlib.Path(c).name for c in command if c.endswith(".py"))
        for _ in range(3):  # on a machine with other work the collector may fall behind
            text, rows, losses = once(command, how, status, **kw)
            if losses == 0 or sanitized:
                break
        else:
            pytest.fail(f"{losses} events were lost, three times")
        at = re.compile(rf"\(.*/{re.escape(name)}:(\d+)\)$")
        found = [(at.search(row["site"]), row) for row in rows]
        return text, {int(match[1]): row for match, row in found if match}

    return call


# All of them on two interpreters: each run takes its time.
MODES_OF = [(python, mode) for python in pythons()
            for mode in ("", "debug", "pymalloc", "malloc", "malloc_debug", "mimalloc",
                         "mimalloc_debug")
            if mode in ("", "debug") or python in (pythons()[0], pythons()[-1])
            if "mimalloc" not in mode or version(python) >= (3, 13)]


@pytest.mark.parametrize("python, mode", MODES_OF, ids=lambda p: name_of(p) if "/" in p else p)
def test_every_function_to_the_byte(blocks, python, mode, monkeypatch):
    """Each block once, whether pools or malloc serve it, with debug hooks between or not."""
    monkeypatch.setenv("PYTHONMALLOC", mode)
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    _, _, own = blocks(python, script("pyfamily.py"), "quiet")
    text, _, kinds = blocks(python, script("pyfamily.py"), "calls")
    extra = DEBUG_EXTRA if "debug" in mode else 0
    truth = [tuple(map(int, line.split())) for line in text.splitlines()]
    assert len(truth) == 4
    for size, allocs, alive in truth:
        more = [tuple(a - b for a, b in zip(kinds[origin, size + extra], own[origin, size + extra]))
                for origin in range(PYTHON + 1)]
        assert more == [(0, 0)] * PYTHON + [(allocs, alive)], f"blocks of {size} bytes, by origin"


@every_python
def test_arenas_are_no_blocks_and_no_mappings(blocks, python):
    code = "x = [bytes(200) for i in range(20000)]; import os; os._exit(0)"
    _, totals, kinds = blocks(python, "-c", code)
    allocs, live = kinds[PYTHON, 233]
    assert 20000 <= live <= allocs <= 20050  # the interpreter wants a few of this size itself
    assert totals["arenas"] >= 4
    assert totals["unknown"] == 0


@every_python
@pytest.mark.parametrize("options", [["-X", "dev"], ["-X", "tracemalloc"]], ids=lambda o: o[1])
def test_other_layers_stay(blocks, python, options):
    """What the program wraps around the allocators works as without us."""
    code = ("import tracemalloc, sys\n"
            "started = tracemalloc.is_tracing()\n"
            "tracemalloc.start()\n"
            "before = tracemalloc.get_traced_memory()[0]\n"
            "x = [bytes(467) for i in range(1000)]\n"
            "after = tracemalloc.get_traced_memory()[0]\n"
            "tracemalloc.stop()\n"
            "y = [bytes(467) for i in range(1000)]\n"
            "del y\n"
            "print(started, after - before > 500 * 1000, sys.getsizeof(x[0]))\n")
    plain = subprocess.run([python, *options, "-c", code], capture_output=True, text=True,
                           check=True, timeout=60)
    text, _, kinds = blocks(python, *options, "-c", code)
    assert text == plain.stdout
    size = 500 + (DEBUG_EXTRA if "dev" in options else 0)
    allocs, live = kinds[PYTHON, size]
    assert 2000 <= allocs <= 2020 and live <= 20  # the interpreter may want a few of this size


def truths(text):
    """Lines of numbers behind a mark"""
    found = [line.split() for line in text.splitlines()]
    return {mark: [None if n == "None" else int(n) for n in numbers] for mark, *numbers in found}


@every_python
@pytest.mark.parametrize("name", ["memtruth.py", "arena_blame.py"])
def test_lines_to_the_byte(lines, python, name):
    text, found = lines(python, script(name))
    for mark, numbers in truths(text).items():
        row = found[line_of(name, mark)]
        assert [row["alive"], row["blocks_alive"]] == numbers[1:], mark
        if numbers[0] is not None:  # the interpreter may make a frame or cache for the line itself
            assert 0 <= row["allocated"] - numbers[0] <= 2048, mark


@every_python
@pytest.mark.parametrize("name, scale", [("memtruth.py", "4"), ("arena_blame.py", "1")])
def test_lines_sampled(lines, python, name, scale):
    """One block per 16 KiB: some 400 to 5000 samples a line; six standard errors are allowed."""
    text, found = lines(python, script(name), scale, how=("--sample", "16KiB"))
    truth = truths(text)
    for mark, (allocated, alive, _) in truth.items():
        row = found[line_of(name, mark)]
        error = 6 * (16384 * max(allocated or alive, 1)) ** 0.5
        if allocated is not None:
            assert abs(row["allocated"] - allocated) <= error, mark
        assert abs(row["alive"] - alive) <= error, mark


@pytest.mark.parametrize("python, mode", [m for m in MODES_OF if m[1]],
                         ids=lambda p: name_of(p) if "/" in p else p)
def test_lines_sampled_whatever_serves_them(lines, python, mode, monkeypatch):
    """The same when other allocators, or debug hooks, stand beneath."""
    monkeypatch.setenv("PYTHONMALLOC", mode)
    text, found = lines(python, script("memtruth.py"), "4", how=("--sample", "16KiB"))
    extra = DEBUG_EXTRA if "debug" in mode else 0
    for mark, (allocated, alive, blocks) in truths(text).items():
        row = found[line_of("memtruth.py", mark)]
        error = 6 * (16384 * max(allocated or alive, 1)) ** 0.5
        assert abs(row["alive"] - alive - extra * blocks) <= error, mark
        if allocated is not None:
            assert abs(row["allocated"] - allocated - extra * blocks) <= error, mark


@every_debug_build
def test_debug_builds_to_the_byte(lines, python):
    text, found = lines(python, script("memtruth.py"))
    for mark, (_, alive, blocks) in truths(text).items():
        row = found[line_of("memtruth.py", mark)]
        assert [row["alive"], row["blocks_alive"]] == [alive + DEBUG_EXTRA * blocks, blocks], mark


@every_python
def test_peak_by_line(lines, python):
    text, found = lines(python, script("peak.py"))
    for mark, (at_peak, alive) in truths(text).items():
        row = found[line_of("peak.py", mark)]
        assert (row["at_peak"], row["alive"]) == (at_peak, alive), mark


@pytest.mark.parametrize("how", [("--exact",), ()], ids=["exact", "sampled"])
@pytest.mark.parametrize("kind, heap, part, asked", [
    ("grown", 0, "anonymous mappings of the program", 64 << 20),
    ("reserved", 32 << 20, "addresses that are reserved", 8 << 30),
    ("file", 0, "mapped files", 512 << 20)])
def test_mappings_are_apart_from_the_heap(run, tmp_path, how, kind, heap, part, asked):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--no-names", *how, "-f", "-o", trace, pythons()[0], script("mappings.py"),
               kind, timeout=180)
    assert done.returncode == 0, done.stderr
    peak = json.loads(run("report", trace, "peak", "-f", "json").stdout)["tables"]["facts"]["values"]
    assert heap <= peak.get("peak_heap_allocated", peak["peak_heap"]) <= heap + (16 << 20)
    assert peak.get("peak_heap_mapped", 0) == (64 << 20 if kind == "grown" else 0)
    said = json.loads(run("report", trace, "resident", "-f", "json").stdout)
    parts = {row["part"]: row for row in said["tables"]["parts"]["rows"]}
    assert [row["asked_for"] for name, row in parts.items() if part in name] == [asked]
    assert parts["arenas of the program's own allocators"]["asked_for"] > 0


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_blocks_that_threads_pass_on_by_realloc(lines, build, monkeypatch, mode):
    """An address that one thread gives up in realloc may be another's at once: nothing is left."""
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    _, found = lines(pythons()[0], script("race.py"), str(build / "tests/targets/python/pynative.so"),
                     how=("--exact",) if mode == "exact" else ())
    raced = found[line_of("race.py", "race")]
    assert raced["allocated"] > 1 << 30
    assert (raced["alive"], raced["blocks_alive"]) == (0, 0)


def test_numpy(run, tmp_path):
    """Arrays are memory of numpy's module, and of the line that made them."""
    numpy = subprocess.run([pythons()[0], "-c", "import numpy"], capture_output=True, check=False)
    if numpy.returncode:
        pytest.skip("no numpy for the system's Python")
    done = run("record", "-q", "-f", "-o", tmp_path / "t.tide", pythons()[0], script("numpy_churn.py"),
               timeout=180)
    kept, churned = map(int, done.stdout.split())
    said = run("report", tmp_path / "t.tide", "lines", "-f", "json", timeout=180).stdout
    found = {row["line"]: row for row in json.loads(said)["tables"]["lines"]["rows"]
             if row["file"].endswith("numpy_churn.py")}
    assert abs(found[line_of("numpy_churn.py", "kept")]["allocated"] - kept) < 0.05 * kept
    churn = found[line_of("numpy_churn.py", "churn")]
    assert abs(churn["allocated"] - churned) < 0.1 * churned
    assert churn["alive"] == 0


def shared_library_of(python):
    """libpython of an interpreter that has one, and its home"""
    code = ("import sysconfig as s, sys; v = s.get_config_var; "
            "print(v('LIBDIR') + '/' + v('LDLIBRARY'), sys.base_prefix)")
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    library, home = said.stdout.split()
    return (library, home) if library.endswith(".so") and pathlib.Path(library).exists() else None


@every_python
def test_an_interpreter_that_is_loaded_late_and_again(blocks, build, python, monkeypatch):
    found = shared_library_of(python)
    if not found:
        pytest.skip("this interpreter has no shared library")
    monkeypatch.setenv("PYTHONHOME", found[1])
    text, totals, kinds = blocks(str(build / "tests/targets/python/embeds"), found[0], "3",
                                 "x = [bytes(467) for i in range(5000)]")
    assert text == "ended\n"
    allocs, live = kinds[PYTHON, 500]
    assert 15000 <= allocs <= 15100 and live <= 30
    assert totals["arenas"] > 0


@every_python
def test_threads_and_sub_interpreters(blocks, python):
    code = ("import threading\n"
            "try:\n    import _xxsubinterpreters as sub\n"
            "except ImportError:\n    import _interpreters as sub\n"
            "work = 'x = [bytes(467) for i in range(1000)]; del x'\n"
            "def run():\n"
            "    i = sub.create(); sub.run_string(i, work) if hasattr(sub, 'run_string') "
            "else sub.exec(i, work); sub.destroy(i)\n"
            "ts = [threading.Thread(target=exec, args=(work,)) for i in range(4)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]\n"
            "run(); run()\n"
            "print('done')\n")
    text, _, kinds = blocks(python, "-c", code)
    assert text == "done\n"
    allocs, live = kinds[PYTHON, 500]
    assert 6000 <= allocs <= 6100 and live <= 40
