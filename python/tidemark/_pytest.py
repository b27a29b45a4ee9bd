"""A plugin of pytest: limits of memory for tests, and which tests use most.

    @pytest.mark.tidemark(peak="24 MB", leak="1 MB")   fails a test that holds more at once, or of which one
                                                       line keeps more when it ends
    pytest --tidemark                                  measures every test, and lists the heaviest
    pytest --no-tidemark                               measures none, whatever their marks say

A test is recorded while it runs, exactly, from its call on: memory of its fixtures is not its own. What
native libraries allocate counts, too. A recording takes some tenths of a second.
"""

import gc
import json
import os
import re
import subprocess
import tempfile

import pytest

from ._recording import RecordingError, find_tool, record

_UNITS = {"": 1, "B": 1, "K": 10**3, "KB": 10**3, "KIB": 2**10, "M": 10**6, "MB": 10**6, "MIB": 2**20,
          "G": 10**9, "GB": 10**9, "GIB": 2**30}
_LIMITS = ("peak", "leak")
_PROPERTY = "tidemark"
_PROBLEM = "tidemark problem"
_SHOWN = 10


def parse_size(text):
    """The bytes that "24 MB", "1.5GiB" or a number says."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*", str(text))
    unit = _UNITS.get(found.group(2).upper()) if found else None
    if unit is None:
        raise ValueError(f"{text!r} is not a size: write a number with B, KB, MB, GB, KiB, MiB or GiB")
    return int(float(found.group(1)) * unit)


def _shown(size):
    for unit in "B", "KiB", "MiB":
        if abs(size) < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{size:.0f} B"
        size /= 1024
    return f"{size:.1f} GiB"


def _ask(trace, question):
    """The tables of an answer; none where the trace has nothing to say to it."""
    words = [find_tool(), "report", trace, question, "-f", "json", "--limit", "100000"]
    done = subprocess.run(words, capture_output=True, check=False)
    return json.loads(done.stdout)["tables"] if done.returncode == 0 else {}


def _by_line(rows, column="bytes"):
    """(bytes, line) of the lines of some stacks, the largest first."""
    sums = {}
    for row in rows:
        line = row["site"] or "(no stack)"
        if f"({__file__}:" in line:  # ours is no line of the test
            continue
        sums[line] = sums.get(line, 0) + (row[column] or 0)
    return sorted(((size, line) for line, size in sums.items()), reverse=True)


def _measure(trace):
    """What a recorded test has used, as plain data, so that it crosses from one process to another."""
    facts = _ask(trace, "summary").get("facts", {}).get("values", {})
    held = _by_line(_ask(trace, "peak").get("peak", {}).get("rows", []))
    kept = _by_line(_ask(trace, "leaks").get("leaks", {}).get("rows", []))
    return {"peak": facts.get("peak_heap") or 0, "allocations": facts.get("allocations") or 0,
            "leak": kept[0][0] if kept else 0, "held": held[:5], "kept": kept[:5]}


def _broken(limits, used):
    """A sentence for each limit that a test has broken, with its lines."""
    for name, size in limits.items():
        if used[name] <= size:
            continue
        what = "held up to" if name == "peak" else "kept in one line"
        lines = used["held" if name == "peak" else "kept"]
        listed = "".join(f"\n    {_shown(size)}  {line}" for size, line in lines)
        yield f"the test {what} {_shown(used[name])}, above its limit of {_shown(size)}{listed}"


def _limits(item):
    """Of the closest mark that names one; and what is wrong with them, or None."""
    limits = {}
    for mark in item.iter_markers(_PROPERTY):
        if mark.args or set(mark.kwargs) - set(_LIMITS):
            return {"": 0}, "the mark tidemark takes peak= and leak=, as in tidemark(peak='24 MB')"
        for name, size in mark.kwargs.items():
            try:
                limits.setdefault(name, parse_size(size))
            except ValueError as error:
                return {"": 0}, str(error)
    return limits, None


def pytest_addoption(parser):
    group = parser.getgroup("tidemark", "memory of tests (tidemark)")
    group.addoption("--tidemark", action="store_true", dest="tidemark", default=None,
                    help="Measure the memory of every test, and list the heaviest.")
    group.addoption("--no-tidemark", action="store_false", dest="tidemark",
                    help="Measure no test, whatever its mark says.")


def pytest_configure(config):
    config.addinivalue_line("markers", "tidemark(peak=SIZE, leak=SIZE): fail the test if it holds more memory at once, "
                            "or if one line keeps more when it ends.")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """Put ourselves around the test itself, so that a broken limit is a failure like any other of it."""
    wanted = item.config.getoption("tidemark")
    if wanted or (wanted is None and item.get_closest_marker(_PROPERTY)):
        runtest = item.runtest
        item.runtest = lambda: _run(item, runtest)


def _run(item, runtest):
    limits, problem = _limits(item)
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        trace = os.path.join(folder, "test.tide")
        recording = record(trace, exact=True)
        problem = problem or _tried(recording.__enter__)
        if problem and limits:
            pytest.fail(problem, pytrace=False)
        try:
            runtest()
            gc.collect()  # what only waits to be collected is kept by nobody
        finally:
            problem = problem or _tried(recording.__exit__)
        used = None if problem or not recording.recorded else _measure(trace)
    problem = problem or (None if used else "the memory of a single test is not known where pytest itself is recorded")
    item.user_properties.append((_PROPERTY, used) if used else (_PROBLEM, problem))
    if limits:
        _judge(limits, used, problem)


def _tried(call):
    """Why it could not be done; None: it was."""
    try:
        call()
    except RecordingError as error:
        return f"the memory of the test is not known: {error}"
    return None


def _judge(limits, used, problem):
    """Fail the test that has done all else well."""
    if not used:
        pytest.fail(problem, pytrace=False)
    broken = list(_broken(limits, used))
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)


def _said(terminalreporter, wanted):
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, value in report.user_properties:
                    if name == wanted:
                        yield report.nodeid, value


def _put_problems(terminalreporter):
    problems = [problem for _, problem in _said(terminalreporter, _PROBLEM)]
    for problem in dict.fromkeys(problems):
        count = problems.count(problem)
        which = "1 test was" if count == 1 else f"{count} tests were"
        terminalreporter.line(f"{which} not measured: {problem}")


def pytest_terminal_summary(terminalreporter, config):
    if not config.getoption("tidemark"):
        return
    measured = ((used["peak"], name, used) for name, used in _said(terminalreporter, _PROPERTY))
    rows = sorted(measured, key=lambda row: row[:2], reverse=True)
    terminalreporter.section("tidemark: the tests that held most memory (exact)")
    terminalreporter.line(f"{'peak heap':>10}  {'kept':>10}  {'allocations':>12}  test")
    for peak, name, used in rows[:_SHOWN]:
        terminalreporter.line(f"{_shown(peak):>10}  {_shown(used['leak']):>10}  {used['allocations']:>12,}  {name}")
        for size, line in used["held"][:1]:
            terminalreporter.line(f"{'':38}{_shown(size)} in {line}")
    _put_problems(terminalreporter)
