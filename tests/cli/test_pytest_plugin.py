"""The plugin of pytest: limits of tests, and the list of the heaviest."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = """
import unittest
import pytest
kept = []

@pytest.mark.tidemark(peak="1 MB")
def test_holds_much():
    assert len(bytearray(5_000_000))

@pytest.mark.tidemark(peak="10 MB", leak="1MiB")
def test_holds_and_frees():
    assert len(bytearray(5_000_000))

@pytest.mark.tidemark(leak="1MiB")
def test_keeps():
    kept.append(bytearray(5_000_000))

def test_has_no_mark():
    assert [str(i) for i in range(10000)]

class TestOld(unittest.TestCase):
    @pytest.mark.tidemark(peak="1 MB")
    def test_of_unittest(self):
        self.assertTrue(bytearray(5_000_000))
"""


@pytest.fixture
def tested(tidemark, tmp_path):
    """tested(text, words) -> what pytest says to these tests"""

    def call(text, *words, tool=tidemark, before=()):
        (tmp_path / "test_x.py").write_text(text)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TIDEMARK": str(tool),
                       "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([*before, "/usr/bin/python3", "-m", "pytest", "-p", "tidemark._pytest", "-p",
                               "no:cacheprovider", "-rA", "test_x.py", *words], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, check=False, timeout=300).stdout

    return call


def outcomes(said):
    return {name: result for result, name in re.findall(r"^(PASSED|FAILED|ERROR) test_x\.py::(\S+)", said, re.M)}


def test_limits_of_tests(tested):
    said = tested(TESTS)
    assert outcomes(said) == {"test_holds_much": "FAILED", "test_holds_and_frees": "PASSED", "test_keeps": "FAILED",
                              "test_has_no_mark": "PASSED", "TestOld::test_of_unittest": "FAILED"}
    assert re.search(r"held up to 4\.8 MiB, above its limit of 976\.6 KiB\n +4\.8 MiB  test_holds_much \(.*test_x\.py:8\)",
                     said)
    assert re.search(r"kept in one line 4\.8 MiB, above its limit of 1\.0 MiB\n +4\.8 MiB  test_keeps", said)


def test_the_heaviest_tests_are_listed(tested):
    said = tested(TESTS, "--tidemark")
    rows = re.findall(r"^ *([\d.]+ \w+) +([\d.]+ \w+) +([\d,]+)  test_x\.py::(\S+)$", said, re.M)
    assert {row[3] for row in rows} >= {"test_has_no_mark", "test_holds_and_frees"}
    assert rows[0][0] == "4.8 MiB" and rows[-1][3] == "test_has_no_mark"


def test_what_the_plugin_itself_allocates_is_no_line_of_a_test(tested):
    assert "_pytest.py:" not in tested(TESTS)


def test_why_nothing_is_listed_is_said(tested, tmp_path):
    said = tested(TESTS, "--tidemark", "-k", "no_mark", tool=tmp_path / "none")
    assert outcomes(said) == {"test_has_no_mark": "PASSED"}
    assert re.search(r"^1 test was not measured: .*none", said, re.M)


def test_it_can_be_switched_off(tested):
    assert set(outcomes(tested(TESTS, "--no-tidemark")).values()) == {"PASSED"}


def test_a_test_that_fails_by_itself_fails_as_ever(tested):
    said = tested("import pytest\n@pytest.mark.tidemark(peak=1)\ndef test_it():\n    assert 0, 'own'\n")
    assert "AssertionError: own" in said and "limit" not in said


@pytest.mark.parametrize("mark", ["peak='1 MX'", "peak=''", "3", "speed=4", "leak=None"])
def test_a_wrong_mark_fails_the_test_in_a_sentence(tested, mark):
    said = tested(f"import pytest\n@pytest.mark.tidemark({mark})\ndef test_it():\n    pass\n")
    assert outcomes(said) == {"test_it": "FAILED"}
    assert "is not a size" in said or "takes peak= and leak=" in said
    assert "During handling" not in said


def test_a_limit_that_cannot_be_judged_is_no_pass(tested, tidemark, tmp_path):
    said = tested(TESTS, tool="/nonexistent/tidemark")
    assert outcomes(said)["test_holds_and_frees"] == "FAILED" and outcomes(said)["test_has_no_mark"] == "PASSED"
    assert "is not a program that can be run" in said
    said = tested(TESTS, before=(tidemark, "record", "-q", "-o", tmp_path / "all.tide"))
    assert outcomes(said)["test_holds_and_frees"] == "FAILED"
    assert "not known where pytest itself is recorded" in said


def test_a_test_runs_once_where_nothing_can_be_recorded(tested, tmp_path):
    said = tested(f"def test_it():\n    open({str(tmp_path / 'runs')!r}, 'a').write('x')\n", "--tidemark",
                  tool="/nonexistent/tidemark")
    assert outcomes(said) == {"test_it": "PASSED"} and (tmp_path / "runs").read_text() == "x"
