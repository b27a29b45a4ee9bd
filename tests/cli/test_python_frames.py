"""Lines of Python in the stacks of `tidemark record`, on every CPython that this machine has."""

import json
import os
import pathlib
import subprocess
import textwrap

import pytest

MIB = 1 << 20


def interpreters():
    """Debian's, and those of pyenv from 3.9 on."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found = [pathlib.Path("/usr/bin/python3"), *sorted(root.glob("versions/3.*/bin/python3"))]
    for path in found:
        if path.exists():
            said = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:3])"],
                                  capture_output=True, text=True, check=False, timeout=60)
            version = tuple(map(int, said.stdout.split()))
            if version >= (3, 9):
                owner = "system" if path.parts[1] == "usr" else "pyenv"
                yield pytest.param((str(path), version), id=f"{owner}-{'.'.join(map(str, version))}")


@pytest.fixture(params=interpreters())
def python(request):
    """(path, version) of an interpreter"""
    return request.param


@pytest.fixture
def big(run, tmp_path):
    """big(command...) -> the stacks of the blocks of at least 8 MiB at the peak, by size in MiB"""

    def call(*command, how=()):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", *how, "-o", trace, *command, timeout=180)
        assert done.returncode == 0, done.stderr
        said = run("report", trace, "peak", "--limit", "1000", "-f", "json", timeout=180)
        assert said.returncode == 0, said.stderr
        rows = json.loads(said.stdout)["tables"]["peak"]["rows"]
        return {row["bytes"] // MIB: row for row in rows if row["bytes"] >= 8 * MIB}

    return call


def python_frames(row):
    """(function, base name of the file, line), innermost first"""
    return [(f["function"], os.path.basename(f["file"]), f["line"])
            for f in row["stack"] if f.get("python")]


def write(folder, name, text):
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


NESTED = """\
keep = []
def leaf(size):
    keep.append(
        bytearray(size << 20))
def middle(size):
    leaf(size)
class Thing:
    def method(self):
        return sorted([1], key=lambda v: middle(9) or v)
Thing().method()
"""


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
def test_each_line_stands_in_its_place(big, python, tmp_path, how):
    path, version = python
    program = write(tmp_path, "nested.py", NESTED)
    row = big(path, program, how=how)[9]
    plain = version < (3, 11)
    assert python_frames(row) == [
        ("leaf", "nested.py", 4),
        ("middle", "nested.py", 6),
        ("<lambda>" if plain else "Thing.method.<locals>.<lambda>", "nested.py", 9),
        ("method" if plain else "Thing.method", "nested.py", 9),
        ("<module>", "nested.py", 10)]
    assert row["site"] == f"leaf ({program}:4)"
    names = [f["function"] for f in row["stack"]]
    assert "_PyEval_EvalFrameDefault" not in names
    method = next(i for i, f in enumerate(row["stack"]) if f["line"] == 9 and f.get("python"))
    assert not row["stack"][method + 1].get("python")  # sorted() is between the lambda and method
    assert names[-1] == "_start"
