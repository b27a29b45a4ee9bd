"""A few of CPython's own test files, recorded at the closest interval: every test ends as without us.
tools/python_suite is the long form."""

import os
import subprocess
import sys

import pytest

from conftest import ROOT
from pythons import every_python, name_of, pythons

FILES = ["test_signal.WakeupSignalTests", "test_signal.PendingSignalsTests", "test_gc", "test_mmap",
         "test_generators"]


def with_tests():
    """An interpreter that has its tests: Debian's where they are installed, or else the newest."""
    for python in [*pythons()[:1], *reversed(pythons()[1:])]:
        asked = subprocess.run([python, "-c", "import test.test_signal"], capture_output=True,
                               check=False, timeout=60)
        if asked.returncode == 0:
            return python
    pytest.skip("no CPython here has its own tests (libpython3.N-testsuite)")


def test_its_own_tests_end_the_same_way(build, sanitized):
    if sanitized:
        pytest.skip("takes too long with sanitizers")
    python = with_tests()
    done = subprocess.run([sys.executable, ROOT / "tools" / "python_suite", "-b", build, python, *FILES],
                          capture_output=True, text=True, check=False, timeout=600,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, f"{name_of(python)}:\n{done.stdout}{done.stderr}"
    assert done.stdout.endswith(f"{len(FILES)} passed, 0 failed, 0 skipped\n"), done.stdout


@every_python
@pytest.mark.parametrize("allocator", ["debug", "malloc_debug", "mimalloc", "mimalloc_debug"])
def test_its_other_allocators(run, tmp_path, python, allocator):
    """Samples fall anywhere, also where it changes its allocators for a moment while it starts."""
    environment = {**os.environ, "PYTHONMALLOC": allocator}
    plain = subprocess.run([python, "-c", "pass"], env=environment, capture_output=True, check=False)
    for _ in range(6):
        done = run("record", "-q", "--no-names", "--no-cpu", "--sample", "8KiB", "-o",
                   tmp_path / "t.tide", python, "-c", "pass", env=environment)
        assert done.returncode == plain.returncode, done.stderr
