"""Packages: what tools/package makes of an installed tree. What they do where they are installed is tried by
tools/check_packages, in systems of their own."""

import base64
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from packing import licences, wheel  # noqa: E402


@pytest.fixture
def package():
    """tools/package as a module"""
    pytest.importorskip("tomllib", reason="packages are made with Python 3.11 or later")
    loader = importlib.machinery.SourceFileLoader("package", str(ROOT / "tools" / "package"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("package", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def made(tmp_path, package):
    """A wheel of an installed tree with four small files, opened"""
    stage, terms = tmp_path / "stage", tmp_path / "terms"
    for name in ("bin/tidemark", "lib/tidemark/libtidemark.so", "lib/tidemark/tidemark-resolve",
                 "lib/tidemark/tidemark-devices"):
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / name).write_text(name)
        (stage / name).chmod(0o755)
    terms.mkdir()
    (terms / "LICENSE").write_text("terms")
    project = {**package.read_project(), "entry-points": {"pytest11": {"tidemark": "tidemark.plugin"}}}
    return zipfile.ZipFile(wheel.make(ROOT, stage, terms, project, (2026, 1, 1, 0, 0, 0), tmp_path))


def one(made, ending):
    found = [n for n in made.namelist() if n.endswith(ending)]
    assert len(found) == 1, made.namelist()
    return found[0]


def test_versions_agree(package):
    assert re.fullmatch(r"\d+\.\d+\.\d+", package.read_project()["version"])


def test_a_wheel_lists_each_file_with_its_hash(made):
    listed = dict(line.split(",", 1) for line in made.read(one(made, "RECORD")).decode().splitlines())
    assert set(listed) == set(made.namelist())
    for name, said in listed.items():
        if name.endswith("RECORD"):
            continue
        data = made.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert said == f"sha256={digest},{len(data)}"


def test_a_wheel_has_its_parts_where_the_tool_looks_for_them(made):
    command = one(made, ".data/scripts/tidemark")
    assert made.getinfo(command).external_attr >> 16 & 0o111
    for name in ("libtidemark.so", "tidemark-resolve", "tidemark-devices"):
        assert f".data/data/lib/tidemark/{name}" in one(made, name)
    modules = {p.name for p in (ROOT / "python" / "tidemark").glob("*.py")}
    assert {n.removeprefix("tidemark/") for n in made.namelist() if n.startswith("tidemark/")} >= modules


def test_a_wheel_says_for_whom_it_is(made):
    assert "py3-none-manylinux_2_17_x86_64" in pathlib.Path(made.filename).name
    assert "Tag: py3-none-manylinux_2_17_x86_64" in made.read(one(made, ".dist-info/WHEEL")).decode()
    metadata = made.read(one(made, "METADATA")).decode()
    assert "Requires-Python: >=" in metadata and 'Requires-Dist: ipython; extra == "notebook"' in metadata
    assert "[pytest11]\ntidemark = tidemark.plugin\n" in made.read(one(made, "entry_points.txt")).decode()


def test_the_same_tree_makes_the_same_bytes(package, tmp_path):
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "file").write_text("x")
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    first = package.pack(tmp_path / "tree", 1, tmp_path / "a").read_bytes()
    os.utime(tmp_path / "tree" / "sub" / "file", (5, 5))
    assert package.pack(tmp_path / "tree", 1, tmp_path / "b").read_bytes() == first


def test_code_under_unknown_terms_is_not_shipped(monkeypatch):
    monkeypatch.setattr(licences, "archives", lambda build, target: [pathlib.Path("/usr/lib/x.a")])
    monkeypatch.setattr(licences, "package_of", lambda path: ("x-dev", "1", "surprise"))
    with pytest.raises(licences.Unknown, match="surprise"):
        licences.linked("build", ["tidemark"])


def test_without_proc_the_command_runs_and_one_sentence_says_why(tidemark, tmp_path, sanitized):
    if sanitized:
        pytest.skip("a sanitizer needs /proc itself")
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("only root can have a namespace without /proc")
    done = subprocess.run(["unshare", "-m", "sh", "-c", 'umount -l /proc; exec "$0" "$@"', tidemark, "record", "-o",
                           tmp_path / "x.tide", "sh", "-c", "echo runs; exit 7"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout) == (7, "runs\n")
    assert done.stderr.count("\n") == 1 and "mount /proc" in done.stderr
