"""What is written for speedscope and for Perfetto, read by speedscope itself in a real browser."""

import json
import pathlib
import re
import subprocess

import pytest
from test_page_browser import browser, chromium, node

FIXTURES = (browser, chromium, node)
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import time
def load(count):
    return [b"x" * 1000 + str(i).encode() for i in range(count)]
def busy():
    end = time.process_time() + 1
    while time.process_time() < end:
        sum(range(1000))
kept = load(20000)
busy()
"""


@pytest.fixture(scope="module")
def trace(tidemark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("speedscope")
    (folder / "app.py").write_text(PROGRAM)
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", folder / "t.tide", "/usr/bin/python3", "app.py"],
                   cwd=folder, check=True, timeout=120)
    return folder / "t.tide"


@pytest.fixture
def shown(run, build, trace, node, browser, tmp_path):
    """shown(format) -> (what there is to choose from, {function: (total, in percent)}) in speedscope"""
    release = build / "viewers/node_modules/speedscope/dist/release"
    if not release.is_dir():
        pytest.skip("speedscope is not installed: tools/setup viewers")

    def call(name, *words):
        path = tmp_path / "given.json"
        assert run("report", trace, *words, "-f", name, "-o", path).returncode == 0
        done = subprocess.run([node, ROOT / "tests/web/speedscope.mjs", release, path], env=browser, check=False,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        assert not seen["noise"] and "speedscope" in seen["title"]
        functions = [row for row in seen["rows"] if row[1].endswith("%)")]
        return [row[1:] for row in seen["rows"] if row not in functions], \
            {row[2]: (row[0].split(" (")[0], float(re.search(r"([\d.]+)%", row[0]).group(1))) for row in functions}

    return call


def test_memory_in_speedscope(run, trace, shown):
    profiles, functions = shown("speedscope")
    facts = json.loads(run("report", trace, "peak", "-f", "json").stdout)["tables"]["facts"]["values"]
    assert ["bytes", f"{facts['peak_heap'] / (1 << 20):.2f} MB"] in profiles
    assert functions["load"][1] > 80


def test_the_timeline_of_perfetto_in_speedscope(run, trace, shown):
    samples = json.loads(run("report", trace, "samples", "-f", "json").stdout)["tables"]["samples"]["rows"]
    if not samples:
        pytest.skip("no CPU time is sampled on this kernel")
    profiles, _ = shown("perfetto")
    assert {f"CPU samples of {row['tid']}" for row in samples} <= \
        {match.group() for name, *_ in profiles if (match := re.search(r"CPU samples of \d+", name))}
