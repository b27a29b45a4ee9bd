"""The CPythons of this machine: Debian's always, pyenv's where found. What tests of Python run on."""

import functools
import json
import os
import pathlib
import re
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "targets" / "python"
OLDEST = (3, 9)

ASK = ("import json, sys, sysconfig; print(json.dumps([list(sys.version_info[:3]), "
       "'t' if sysconfig.get_config_var('Py_GIL_DISABLED') else "
       "'d' if hasattr(sys, 'gettotalrefcount') else '']))")


@functools.lru_cache(maxsize=None)
def build_of(python):
    """((3, 11, 2), "") of an interpreter; "d": a debug build, "t": a free-threaded one. None: neither."""
    try:
        said = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True,
                              timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    version, kind = json.loads(said.stdout)
    return tuple(version), kind


def version(python):
    """(3, 11) of an interpreter"""
    return build_of(python)[0][:2]


@functools.lru_cache(maxsize=None)
def builds(kind):
    """The path of one interpreter per version of a kind of build, Debian's first."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    debian = [p for p in sorted(pathlib.Path("/usr/bin").glob("python3.*"))
              if re.fullmatch(r"python3\.\d+(d|t|-nogil)?", p.name)]
    found = {}
    for path in [pathlib.Path("/usr/bin/python3"), *debian,
                 *sorted(root.glob("versions/3.*/bin/python3"))]:
        build = build_of(str(path)) if path.exists() else None
        if build and build[0] >= OLDEST and build[1] == kind:
            found.setdefault(path.resolve(), str(path))
    return list(found.values())


def pythons():
    """The ordinary builds"""
    return builds("")


def name_of(python):
    place = "debian" if python.startswith("/usr/") else "pyenv"
    return f"{place}-{'.'.join(map(str, version(python)))}{build_of(python)[1]}"


def every(kind, what):
    """A test on each build of a kind, or skipped where there is none."""
    none = pytest.mark.skip(reason=f"this machine has no {what} of CPython")
    return pytest.mark.parametrize(
        "python", [pytest.param(p, id=name_of(p)) for p in builds(kind)]
        or [pytest.param("", marks=none, id="none")])


every_python = every("", "ordinary build")
every_debug_build = every("d", "debug build")
every_free_threaded = every("t", "free-threaded build")


def script(name):
    """The path of a script of tests/targets/python."""
    return str(SCRIPTS / name)


def line_of(name, mark):
    """The number of the one line of a script that ends with the comment `# mark`."""
    lines = (SCRIPTS / name).read_text(encoding="utf-8").splitlines()
    found = [i for i, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1, f"{name} has {len(found)} lines marked {mark}"
    return found[0]


NO_TORCH = ("real models take too long with sanitizers" if os.environ.get("TIDEMARK_SANITIZED") else
            "there is no PyTorch: 'tools/setup torch' installs it, or TIDEMARK_TORCH names a Python that has it")


@functools.lru_cache(maxsize=None)
def torch_python():
    """An interpreter that has PyTorch: $TIDEMARK_TORCH, or that of tools/setup; None: there is none, or no time for it."""
    if os.environ.get("TIDEMARK_SANITIZED"):
        return None
    cache = pathlib.Path(os.environ["TIDEMARK_CACHES"])
    ask = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    for python in (os.environ.get("TIDEMARK_TORCH"), *sorted(cache.glob("tidemark/torch-*/bin/python"), reverse=True)):
        if python and subprocess.run([python, "-c", ask], check=False, capture_output=True).returncode == 0:
            return str(python)
    return None


needs_torch = pytest.mark.skipif(not torch_python(), reason=NO_TORCH)

NO_JAX = "there is no JAX: TIDEMARK_JAX names a Python that has it"


def jax_python():
    """An interpreter that has JAX; None: none is named."""
    return None if os.environ.get("TIDEMARK_SANITIZED") else os.environ.get("TIDEMARK_JAX")


needs_jax = pytest.mark.skipif(not jax_python(), reason=NO_JAX)
