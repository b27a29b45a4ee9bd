"""Memory of Python programs, against what is known of them: to the byte when every block is recorded."""

import collections
import json
import subprocess

import pytest

from pythons import every_python, script

PYTHON = 5  # TRACE_BY_PYTHON
DEBUG_EXTRA = 24  # what the debug hooks add to a block: two words before, one after


@pytest.fixture
def blocks(run, build, tmp_path, sanitized):
    """blocks(*command) -> what it printed, totals, and {(origin, bytes): (allocs, live)}"""

    def once(command, how, status, **kw):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", "--no-names", *how, "-o", trace, *command, timeout=180, **kw)
        assert done.returncode == status, done.stderr
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", "-i", trace], check=True,
                              capture_output=True, text=True, timeout=60).stdout.splitlines()
        totals, infos = json.loads(said[0]), map(json.loads, said[1:])
        sorts = collections.defaultdict(lambda: (0, 0))
        for i in infos:
            allocs, live = sorts[i["origin"], i["bytes"]]
            sorts[i["origin"], i["bytes"]] = allocs + i["allocs"], live + i["live"]
        return done.stdout, totals, sorts

    def call(*command, how=("--exact",), status=0, **kw):
        for _ in range(3):  # on a machine with other work the collector may fall behind
            text, totals, sorts = once(command, how, status, **kw)
            if totals["losses"] == 0 or sanitized:
                return text, totals, sorts
        pytest.fail(f"{totals['losses']} events were lost, three times")

    return call


MODES = ["", "pymalloc", "malloc", "debug", "malloc_debug"]


@every_python
@pytest.mark.parametrize("mode", MODES)
def test_every_function_to_the_byte(blocks, python, mode, monkeypatch):
    """Each block once, whether pools or malloc serve it, with debug hooks between or not."""
    monkeypatch.setenv("PYTHONMALLOC", mode)
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    _, _, own = blocks(python, script("pyfamily.py"), "quiet")
    text, _, sorts = blocks(python, script("pyfamily.py"), "calls")
    extra = DEBUG_EXTRA if "debug" in mode else 0
    truth = [tuple(map(int, line.split())) for line in text.splitlines()]
    assert len(truth) == 4
    for size, allocs, alive in truth:
        more = [tuple(a - b for a, b in zip(sorts[origin, size + extra], own[origin, size + extra]))
                for origin in range(PYTHON + 1)]
        assert more == [(0, 0)] * PYTHON + [(allocs, alive)], f"blocks of {size} bytes, by origin"


@every_python
def test_arenas_are_no_blocks_and_no_mappings(blocks, python):
    code = "x = [bytes(200) for i in range(20000)]; import os; os._exit(0)"
    _, totals, sorts = blocks(python, "-c", code)
    allocs, live = sorts[PYTHON, 233]
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
    text, _, sorts = blocks(python, *options, "-c", code)
    assert text == plain.stdout
    size = 500 + (DEBUG_EXTRA if "dev" in options else 0)
    allocs, live = sorts[PYTHON, size]
    assert 2000 <= allocs <= 2020 and live <= 20  # the interpreter may want a few of this size
