"""Fixtures for tests that run the built tool as a user would."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import tensormaker

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = (ROOT / os.environ.get("TIDEMARK_BUILD", "build")).resolve()
# What the tool keeps from one recording to the next is not the business of who runs the tests; what `tools/setup`
# has put there is (pythons.py).
os.environ.setdefault("TIDEMARK_CACHES", os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache"))
os.environ["XDG_CACHE_HOME"] = str(BUILD / "tests" / "cache")


@pytest.fixture(scope="session")
def build():
    """The build folder; small programs with known behaviour are in its tests/targets."""
    return BUILD


@pytest.fixture(scope="session")
def sanitized():
    """Whether the tool was built with sanitizers: its own memory and speed then say nothing."""
    return os.environ.get("TIDEMARK_SANITIZED") == "1"


@pytest.fixture(scope="session")
def tidemark():
    """The path of the built tool."""
    return str(BUILD / "tidemark")


@pytest.fixture
def target():
    """target(name) -> the path of a program of tests/targets"""
    return lambda name: str(BUILD / "tests" / "targets" / name)


@pytest.fixture
def run(tidemark):
    """run(*args, **kw) -> CompletedProcess of the tool, with text output and a timeout"""

    def call(*args, **kw):
        kw.setdefault("timeout", 60)
        kw.setdefault("text", True)
        kw.setdefault("stdin", subprocess.DEVNULL)
        if "stdout" not in kw and "stderr" not in kw and "capture_output" not in kw:
            kw["capture_output"] = True
        return subprocess.run([tidemark, *map(os.fspath, args)], check=False, **kw)

    return call


@pytest.fixture
def ask(run):
    """ask(trace, *question) -> the JSON of the answer"""

    def call(trace, *question):
        done = run("report", trace, *question, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def asked(ask, tmp_path):
    """asked(trace or life, question, *options) -> the tables of the answer; a life is text for tensormaker"""

    def call(of, *words):
        path = of if isinstance(of, pathlib.Path) else tensormaker.make(tmp_path / "life.tide", of)
        return {name: t.get("rows", t.get("values")) for name, t in ask(path, *words)["tables"].items()}

    return call


@pytest.fixture
def result(run):
    """result(*args) -> what --json said, the exit code checked"""

    def call(*args, code=0, **kw):
        done = run("run", "-j", *args, **kw)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def sampled(tidemark):
    """sampled(*args) -> what `run --json` says where the kernel gives no exit records: in a network of our own,
    if it would give them"""

    def call(*args, code=0):
        words = [tidemark, "run", "-j", *map(os.fspath, args)]
        test = subprocess.run([tidemark, "run", "-j", "-o", "/dev/stderr", "true"], check=True, capture_output=True)
        if json.loads(test.stderr)["peak_method"] != "sampled":
            words = ["unshare", "--net", *words]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stderr
        told = json.loads(done.stdout)
        assert told["peak_method"] == "sampled"
        return told

    return call


@pytest.fixture
def public(tidemark, target):
    """public(*targets) -> a folder that everybody may read, with the tool (library: and what it puts into
    programs) and these targets"""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-test-"))
    folder.chmod(0o755)

    def call(*targets, library=False):
        shutil.copy(tidemark, folder / "tidemark")
        if library:
            shutil.copy(pathlib.Path(tidemark).parent / "libtidemark.so", folder)
        for name in targets:
            shutil.copy(target(name), folder / pathlib.Path(name).name)
        return folder

    yield call
    shutil.rmtree(folder)
