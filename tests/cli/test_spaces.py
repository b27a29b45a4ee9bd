"""Memory of devices beside the host's: each question is about one space, and none is added to another.

The trace is that of tests/unit/make_space_trace.c: its head lists what is allocated when.
"""

import json
import shutil
import subprocess

import pagedata
import pytest
from serving import serving

MIB = 1 << 20


@pytest.fixture(scope="module")
def trace(build, tmp_path_factory):
    path = tmp_path_factory.mktemp("spaces") / "spaces.tide"
    subprocess.run([build / "tests" / "unit" / "make_space_trace", path], check=True, timeout=60)
    return path


@pytest.fixture
def ask(run, trace):
    """ask(question, *options) -> its tables: rows, or values of facts"""

    def call(*arguments):
        done = run("report", trace, *arguments, "-f", "json")
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        return {name: t.get("rows", t.get("values")) for name, t in tables.items()}

    return call


@pytest.mark.parametrize("question", ["spaces", "summary"])
def test_all_spaces_stand_side_by_side(ask, question):
    rows = {row["space"]: row for row in ask(question)["spaces"]}
    assert list(rows) == ["host", "gpu:0", "gpu:1", "gpu-host"]
    assert {name: row["peak"] for name, row in rows.items()} == {
        "host": 10000, "gpu:0": 11 * MIB, "gpu:1": 3 * MIB, "gpu-host": 4 * MIB}
    assert rows["gpu:0"]["live_end"] == 2 * MIB and rows["gpu:1"]["live_end"] == 0
    assert rows["gpu:0"]["failed"] == 2 and rows["host"]["failed"] is None
    assert rows["gpu-host"]["kind"] == "host, pinned"


def test_what_was_asked_for_in_vain_has_its_line(ask):
    (failed,) = ask("spaces")["failed"]
    assert (failed["space"], failed["asked_for"], failed["times"]) == ("gpu:0", 65536 * MIB, 2)
    assert (failed["call"], failed["status"]) == ("gpuAlloc", "2")
    assert failed["site"].startswith("train")


def test_launches_are_counted_by_line(ask):
    (launched,) = ask("spaces")["launches"]
    assert (launched["launches"], launched["call"]) == (123, "square")


@pytest.mark.parametrize("space, peak", [("gpu:0", 11), ("gpu:1", 3), ("gpu-host", 4)])
def test_the_peak_of_one_space_is_exact_though_the_host_is_sampled(ask, space, peak):
    tables = ask("peak", "--space", space)
    assert tables["facts"]["peak_heap"] == peak * MIB
    assert tables["facts"]["basis"] == "exact"
    assert sum(row["bytes"] for row in tables["peak"]) == peak * MIB


def test_the_question_and_the_list_of_spaces_agree(ask):
    for row in ask("spaces")["spaces"]:
        facts = ask("peak", "--space", row["space"])["facts"]
        assert (facts["peak_heap"], facts["time"]) == (row["peak"], row["peak_time"])


def test_leaks_of_one_space(ask):
    tables = ask("leaks", "--space", "gpu:0")
    assert tables["facts"]["alive"] == 2 * MIB
    assert [row["site"].split()[0] for row in tables["leaks"]] == ["train"]
    assert ask("leaks", "--space", "gpu:1")["facts"]["alive"] == 0


def test_every_question_about_allocations_is_about_the_space(ask):
    assert {row["allocated"] for row in ask("sites", "--space", "gpu:0")["sites"]} == {8 * MIB, 3 * MIB}
    assert ask("tree", "--space", "gpu:0")["tree"][0]["bytes"] == 11 * MIB
    assert max(row["live_heap"] or 0 for row in ask("timeline", "--space", "gpu:0")["timeline"]) == 11 * MIB
    assert {row["line"]: row["at_peak"] for row in ask("lines", "--space", "gpu:0")["lines"]} == {
        20: 8 * MIB, 30: 3 * MIB}
    assert ask("temporary", "--space", "gpu:0")["temporary"][0]["blocks"] == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")
@pytest.mark.parametrize("shown", ["host", "gpu:0", "gpu-host"])
def test_a_page_of_one_space_has_the_others_beside_it(ask, run, trace, tmp_path, shown):
    out = tmp_path / "page.html"
    done = run("report", trace, "--space", shown, "-f", "html", "-o", out)
    assert done.returncode == 0, done.stderr
    meta = pagedata.Page(out.read_text(), "a").meta
    asked = {row["space"]: row for row in ask("spaces")["spaces"]}
    assert [space["name"] for space in meta["spaces"] if space["shown"]] == [shown]
    assert meta["peak_heap"]["bytes"] == asked[shown]["peak"]
    assert [(space["name"], space["kind"], space["peak"], space["time"] * 1000, space["alive"], space["allocations"])
            for space in meta["spaces"]] == [
        (name, row["kind"], row["peak"], row["peak_time"], row["live_end"], row["allocations"])
        for name, row in asked.items()]
    for space in meta["spaces"]:
        curve = [row["heap_most"] for row in ask("curve", "--space", space["name"])["curve"]]
        assert space["hi"] == ([] if space["shown"] else curve) and max(curve) == space["peak"]


@pytest.fixture
def written(run, trace, tmp_path):
    """written(*options) -> the page that is written of the trace"""

    def call(*options):
        out = tmp_path / "page.html"
        done = run("report", trace, *options, "-f", "html", "-o", out)
        assert done.returncode == 0, done.stderr
        return out.read_text()

    return call


@pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")
def test_a_page_has_the_data_of_every_space_and_each_says_what_the_report_says(ask, written):
    html = written()
    first = pagedata.Page(html, "a")
    for place, space in enumerate(first.meta["spaces"]):
        if space["shown"]:
            continue
        name = space["name"]
        beside, alone = pagedata.Page(html, f"a-{place}"), pagedata.Page(written("--space", name), "a")
        assert beside.meta["peak_heap"] == alone.meta["peak_heap"]
        assert beside.meta["peak_heap"]["bytes"] == ask("peak", "--space", name)["facts"]["peak_heap"]
        assert not beside.meta["sampled"] and sum(e.count for e in beside.entries) == space["allocations"]
        assert sorted((e.birth, e.death, e.size) for e in beside.entries) == sorted(
            (e.birth, e.death, e.size) for e in alone.entries)
        assert beside.meta["sentence"] == alone.meta["sentence"] and beside.meta["findings"] == alone.meta["findings"]
        # what the first has for all of them is in it once, and time is no device's
        assert "series" not in beside.meta and "spaces" not in beside.meta
        assert not any(beside.rows(part) for part in ("CPUS", "WAIT", "COPY"))
    assert "tide-a-4" not in html and 'id="tide-a-1"' not in written("--space", "gpu:0")


@pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")
def test_a_space_is_asked_for_over_http_when_it_is_looked_at(tidemark, trace, written):
    html = written()
    with serving(tidemark, trace) as server:
        first = pagedata.Page(server.ask("data?run=0").body)
        for place in range(1, len(first.meta["spaces"])):
            assert server.ask(f"data?run=0&space={place}").body == pagedata.data_in(html, f"a-{place}")
        answer = server.ask("data?run=0&space=9")
        assert answer.status == 500 and b"no memory of that number" in answer.body


@pytest.mark.skipif(shutil.which("node") is None, reason="the page is bundled by Node.js")
def test_two_traces_have_their_spaces_in_one_page(run, trace, tmp_path):
    out = tmp_path / "page.html"
    assert run("diff", trace, trace, "-f", "html", "-o", out).returncode == 0
    html = out.read_text()
    for which in "ab":
        assert pagedata.Page(html, f"{which}-1").meta["peak_heap"]["bytes"] == 11 * MIB


def test_findings_of_a_device_say_nothing_of_time_or_of_what_is_resident(ask):
    for space in ("gpu:0", "gpu:1", "gpu-host"):
        kinds = {row["kind"] for row in ask("findings", "--space", space).get("findings", [])}
        assert not kinds & {"resident", "fragments", "cpu", "waits", "starved", "copies"}


def test_the_host_is_what_is_asked_about_unless_another_is_named(run, trace):
    plain = run("report", trace, "peak").stdout
    assert run("report", trace, "peak", "--space", "host").stdout == plain
    assert "9.8 KiB" in plain and "MiB" not in plain


def test_another_space_is_said_to_be_one(run, trace):
    text = run("report", trace, "peak", "--space", "gpu:0").stdout
    assert "Allocations are those of gpu:0, not of the host." in text


def test_two_moments_of_one_space(run, trace):
    done = run("diff", trace, "--from", "1.5", "--to", "4.5", "--space", "gpu:0", "-f", "json")
    assert done.returncode == 0, done.stderr
    totals = json.loads(done.stdout)["tables"]["totals"]["values"]
    assert (totals["live_a"], totals["live_b"]) == (8 * MIB, 2 * MIB)


def test_a_space_that_is_not_there_is_named_with_those_that_are(run, trace):
    for command in (["report", trace, "peak"], ["diff", trace, trace]):
        done = run(*command, "--space", "gpu:7")
        assert done.returncode == 2
        assert "no memory of 'gpu:7', only that of host, gpu:0, gpu:1 and gpu-host" in done.stderr


def test_a_trace_without_devices_says_so(run, build, tmp_path):
    path = tmp_path / "old.tide"
    subprocess.run([build / "tests" / "unit" / "make_alloc_trace", path, "old"], check=True, timeout=60)
    done = run("report", path, "peak", "--space", "cuda:0")
    assert done.returncode == 2 and "it has the host's alone" in done.stderr
    assert "all memory of this trace is the host's" in " ".join(run("report", path, "spaces").stdout.split())
    assert "spaces" not in json.loads(run("report", path, "summary", "-f", "json").stdout)["tables"]


def test_resident_memory_is_the_hosts_alone(run, trace):
    done = run("report", trace, "resident", "--space", "gpu:0")
    assert done.returncode == 1 and "memory of the host" in done.stderr
