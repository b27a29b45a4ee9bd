"""Real programs say and return the same, recorded or not: the short form of tools/stability."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load():
    loader = importlib.machinery.SourceFileLoader("stability", str(ROOT / "tools" / "stability"))
    spec = importlib.util.spec_from_loader("stability", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


stability = load()
QUICK = {"sqlite", "perl"}
LONG = {"python", "openssl"}  # only in tools/stability itself


@pytest.mark.parametrize("name", [name for name in stability.WORKLOADS if name not in LONG])
def test_the_same_with_and_without(build, monkeypatch, sanitized, name):
    if sanitized and name not in QUICK:
        pytest.skip("the library is never sanitized, and the tool is slow then")
    monkeypatch.setitem(stability.SCALE, "of", 0.15)
    monkeypatch.setattr(stability, "TIMEOUT", 180)
    try:
        for mode, wrong in stability.compare(name, build, stability.MODES):
            assert wrong is None, f"{mode}:\n{wrong}"
    except stability.Skip as why:
        pytest.skip(str(why))
