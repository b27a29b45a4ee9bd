"""The CPythons of this machine: Debian's always, pyenv's where found. What tests of Python run on."""

import functools
import os
import pathlib
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "targets" / "python"
OLDEST = (3, 9)


@functools.lru_cache(maxsize=None)
def version(python):
    """(3, 11) of an interpreter; None where it cannot be run."""
    try:
        said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"],
                              capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(map(int, said.stdout.split()))


@functools.lru_cache(maxsize=None)
def pythons():
    """The path of one interpreter per version and build, Debian's first."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found = [pathlib.Path("/usr/bin/python3"), *sorted(root.glob("versions/3.*/bin/python3"))]
    return [str(p) for p in found if p.exists() and (version(str(p)) or (0,)) >= OLDEST]


def name_of(python):
    place = "debian" if python.startswith("/usr/") else "pyenv"
    return f"{place}-{'.'.join(map(str, version(python)))}"


every_python = pytest.mark.parametrize("python", pythons(), ids=name_of)


def script(name):
    """The path of a script of tests/targets/python."""
    return str(SCRIPTS / name)


def line_of(name, mark):
    """The number of the one line of a script that ends with the comment `# mark`."""
    lines = (SCRIPTS / name).read_text(encoding="utf-8").splitlines()
    found = [i for i, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1, f"{name} has {len(found)} lines marked {mark}"
    return found[0]
