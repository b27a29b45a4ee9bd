"""The report page in a real browser: tests/web/*.test.mjs, each run by Node's own test runner."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from serving import serving
from test_serve import GROWING, start_live

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEB = ROOT / "web"
FILES = sorted(path.name for path in (ROOT / "tests" / "web").glob("*.test.mjs"))


@pytest.fixture(scope="module")
def node():
    """The path of Node, where all is there that the tests need."""
    found = shutil.which("node") or shutil.which("nodejs")
    if not found:
        pytest.skip("Node is not installed")
    for package in ("esbuild", "playwright-core"):
        if not (WEB / "node_modules" / package).is_dir():
            pytest.skip(f"{package} is not installed: tools/setup web")
    return found


@pytest.fixture(scope="module")
def chromium():
    """The path of a Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    pytest.skip("chromium is not installed")


@pytest.fixture(scope="module")
def browser(node, chromium):
    """What a test needs to find the one browser that all of them use."""
    environment = {**os.environ, "CHROMIUM": chromium}
    with subprocess.Popen([node, ROOT / "tests" / "web" / "start.mjs"], env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        assert address.startswith("ws://"), "no browser could be started"
        yield {**environment, "TIDEMARK_BROWSER": address}
        server.stdin.close()
        server.wait(timeout=60)


@pytest.fixture(scope="module")
def template(node, tmp_path_factory):
    """The page without data, bundled from web/ as it is now."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    done = subprocess.run([node, WEB / "build.mjs", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path


def test_the_bundle_is_small_and_holds_no_way_to_make_html_of_text(template):
    text = template.read_text()
    assert template.stat().st_size < 200_000
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                "XMLHttpRequest", "WebSocket", "http://", "https://"):
        assert way not in text, way
    assert text.count("<!--DATA-->") == 1
    assert text.count("fetch(") == 1  # of a page that is served; one from a file has no address to ask, and no leave to
    assert "connect-src" not in text


def test_the_list_of_packages_names_no_host(node):
    text = (WEB / "package-lock.json").read_text()
    assert "http" not in text and "resolved" not in text


@pytest.mark.parametrize("name", FILES)
def test_in_a_browser(name, node, browser, template):
    done = subprocess.run([node, "--test", "--test-reporter=spec", f"tests/web/{name}"], cwd=ROOT,
                          env={**browser, "TIDEMARK_PAGE": str(template)}, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def firefox(node):
    """What a test needs to start Firefox."""
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    if not found:
        pytest.skip("Firefox is not installed: tools/setup firefox")
    options = "--experimental-websocket"
    if subprocess.run([node, options, "-e", "new WebSocket"], capture_output=True, text=True, check=False,
                      timeout=60).stderr.count("WebSocket is not defined"):
        pytest.skip("this Node.js has no WebSocket: Firefox cannot be told anything")
    return {**os.environ, "FIREFOX": found, "NODE_OPTIONS": options, "MOZ_CRASHREPORTER_DISABLE": "1"}


@pytest.mark.parametrize("name", [name for name in FILES if name != "sites.test.mjs"])  # that one needs no browser
def test_in_firefox(name, node, firefox, template):
    done = subprocess.run([node, "--test", "--test-reporter=spec", f"tests/web/{name}"], cwd=ROOT,
                          env={**firefox, "TIDEMARK_PAGE": str(template)}, capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


# Pages that the tool wrote, of real recordings


@pytest.fixture
def seen(run, node, browser, tmp_path):
    """seen(*args) -> what a browser saw in the page that the tool wrote when asked so"""

    def call(*args):
        path = tmp_path / "page.html"
        done = run(*args, "-f", "html", "-o", path)
        if "when tidemark was built" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        assert path.stat().st_size < 5_000_000
        look = subprocess.run([node, ROOT / "tests" / "web" / "real.mjs", path], capture_output=True, text=True,
                              env=browser, timeout=300, check=False)
        assert look.returncode == 0, look.stderr
        found = json.loads(look.stdout)
        assert found.get("error") is None and found["noise"] == []
        assert found["requests"] == 1 and found["owned"] is None and found["images"] == 0
        return found

    return call


@pytest.fixture
def recorded(run, tmp_path):
    """recorded(code, *options) -> the trace of a Python program"""

    def call(code, *options, name="prog.py"):
        program = tmp_path / name
        program.write_text(code)
        trace = tmp_path / "x.tide"
        done = run("record", *options, "-o", trace, "--", "/usr/bin/python3", program)
        assert done.returncode == 0, done.stderr
        return trace

    return call


HOLD = """
kept = []
def load(n):
    return [bytes(1000 + i % 7) for i in range(n)]
for i in range(20):
    part = load(2000)
    kept.append(bytes(50000))
    del part
"""


def test_the_peak_of_the_page_is_that_of_the_report_to_the_byte(run, recorded, seen):
    trace = recorded(HOLD, "--exact")
    told = json.loads(run("report", trace, "peak", "-f", "json").stdout)
    page = seen("report", trace)
    assert page["totals"]["peak"] == told["tables"]["facts"]["values"]["peak_heap"]
    assert page["wrongEdges"] == 0
    assert page["views"][0] == "flame" and "leaks" in page["views"]


def test_a_sampled_recording_has_a_page_that_says_so(recorded, seen):
    page = seen("report", recorded(HOLD, "--sample", "16KiB"))
    assert page["meta"]["sampled"] is True and page["totals"]["peak"] > 0
    assert page["wrongEdges"] == 0


def test_each_process_of_a_tree_has_its_own_memory_in_the_page(run, seen, tmp_path):
    trace = tmp_path / "tree.tide"
    code = "x = [bytes(2000) for _ in range(3000)]"
    done = run("record", "--exact", "-o", trace, "--", "sh", "-c",
               f"/usr/bin/python3 -c '{code}'; /usr/bin/python3 -c '{code}'; true")
    assert done.returncode == 0, done.stderr
    page = seen("report", trace)
    large = [bytes_ for bytes_ in page["byProcess"] if bytes_ > 5_000_000]
    assert len(large) == 2


def test_a_recorded_run_without_allocations_has_a_page_of_its_processes(run, seen, tmp_path):
    trace = tmp_path / "run.tide"
    assert run("run", "--record", trace, "--", "sleep", "0.05").returncode == 0
    page = seen("report", trace)
    assert page["measures"] == [] and page["views"][0] == "processes"


def test_a_trace_that_was_cut_has_a_page_of_what_is_left(run, recorded, seen, tmp_path):
    trace = recorded(HOLD, "--exact")
    cut = tmp_path / "cut.tide"
    cut.write_bytes(trace.read_bytes()[: trace.stat().st_size * 2 // 3])
    seen("report", cut)


def test_names_of_a_hostile_program_stay_text(recorded, seen):
    name = "<img src=x onerror=window.owned=1>.py"
    page = seen("report", recorded(HOLD, "--exact", name=name))
    assert "onerror" in page["text"]


def test_two_recordings_are_compared_in_one_page(recorded, seen, tmp_path):
    first = tmp_path / "first.tide"
    recorded(HOLD, "--exact").rename(first)
    second = recorded(HOLD.replace("bytes(50000)", "bytes(90000)"), "--exact")
    page = seen("diff", first, second)
    assert page["views"][0] == "change"
    assert page["headline"].startswith("The peak went from")


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="sqlite3 is not installed")
def test_the_page_names_the_same_sites_with_the_same_bytes_as_the_report(run, seen, tmp_path):
    trace = tmp_path / "sqlite.tide"
    words = ("CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
             "INSERT INTO t SELECT i, printf('word %d', i) FROM n; CREATE INDEX x ON t(b);")
    assert run("record", "--exact", "-o", trace, "--", "sqlite3", ":memory:", words).returncode == 0
    told = json.loads(run("report", trace, "sites", "-f", "json").stdout)["tables"]["sites"]["rows"]
    page = seen("report", trace)
    for row in told[:3]:
        assert [row["site"].split(" (")[0], row["allocated"]] in page["sites"], page["sites"]


# Pages that are served


@pytest.fixture
def look(node, request):
    """look(address, how, whose) -> a process whose lines say what a browser saw there"""

    def call(address, how, whose="browser"):
        return subprocess.Popen([node, ROOT / "tests" / "web" / "served.mjs", address, how], text=True,
                                env=request.getfixturevalue(whose), stdout=subprocess.PIPE)

    return call


def said(process):
    line = process.stdout.readline()
    assert line, "the browser said nothing"
    return json.loads(line)


def check_manners(process, requests):
    last = said(process)
    assert last["noise"] == [] and last["foreign"] == [] and last["asked"] >= requests
    assert process.wait(timeout=120) == 0


@pytest.mark.parametrize("whose", ["browser", "firefox"])
def test_a_narrow_window_of_a_served_page_is_told_finer_with_the_same_sums(tidemark, recorded, look, whose):
    with serving(tidemark, recorded(HOLD, "--exact")) as server, look(server.address, "closer", whose) as process:
        seen_there = said(process)
        coarse, fine, finest, whole = (seen_there[k] for k in ("coarse", "fine", "finest", "whole"))
        check_manners(process, 4)
    assert not coarse["finer"] and coarse["inside"] == 6 and coarse["extent"] == [0, coarse["end"]]
    assert fine["finer"] and fine["inside"] > 20 and fine["window"] == coarse["window"]
    assert fine["extent"][0] < fine["window"][0] < fine["window"][1] < fine["extent"][1]
    sums = ("peak", "end", "kept", "allocated", "temporary", "allocations", "cpu", "waits", "mapped", "copied")
    assert [fine["totals"][name] for name in sums] == [coarse["totals"][name] for name in sums]
    assert fine["values"] == coarse["values"] and fine["run"]["peak"] == coarse["run"]["peak"]
    assert "shown closer" in fine["closer"]
    assert finest["extent"][1] - finest["extent"][0] < 0.5 * (fine["extent"][1] - fine["extent"][0])
    assert not whole["finer"] and whole["whole"] and whole["quiet"] == coarse["quiet"] and whole["closer"] == ""


def test_a_page_follows_a_recording_up_to_its_end(tidemark, look, run, tmp_path):
    trace = tmp_path / "live.tide"
    process, server = start_live(tidemark, trace, "/usr/bin/python3", "-c", GROWING)
    with process, look(server.address, "live") as browser_process:
        assert process.stdout.readline() == "ready\n"
        first = said(browser_process)
        assert first["live"] == "recording …" and first["whole"] and first["run"]["peak"] < 40_000_000
        process.stdin.write("40000000\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        process.stdin.close()
        last = said(browser_process)
        assert process.wait(timeout=120) == 3
        check_manners(browser_process, 3)
    told = json.loads(run("report", trace, "peak", "-f", "json").stdout)
    assert last["live"] == "has ended" and last["run"]["peak"] == told["tables"]["facts"]["values"]["peak_heap"]
    assert last["whole"] and last["end"] > first["end"]  # the window is still the whole run
