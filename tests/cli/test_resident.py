"""What is resident where, and what the summary finds odd, of programs that are known."""

import json

import pytest

MIB = 1 << 20


@pytest.fixture
def ask(run, build, tmp_path):
    """ask(how, question, *options) -> the tables of a recording of oddities"""

    def call(how, question, *options, turn=0):
        trace = tmp_path / f"{how}{turn}.tide"
        if not trace.exists():
            program = str(build / "tests" / "targets" / "record" / "oddities")
            done = run("record", "-q", "--no-names", "--exact", "-f", "-o", trace, program, how,
                       timeout=180)
            assert done.returncode == 0, done.stderr
        done = run("report", trace, question, *options, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]

    return call


def parts(tables):
    top = {r["part"]: r for r in tables["parts"]["rows"] if r["depth"] == 0}
    rss = tables["facts"]["values"]["rss"]
    assert sum(r["resident"] for r in top.values() if r["resident"] is not None) == rss
    return top


def test_stacks_of_threads_are_told(ask):
    for turn in range(3):  # on a busy machine no look may fall into the time when all are in use
        top = parts(ask("stacks", "resident", turn=turn))
        stacks = next(r for name, r in top.items() if "stacks" in name)
        if "5" in stacks["part"] and (stacks["resident"] or 0) >= 4 * MIB:
            break
    assert "5" in stacks["part"]
    assert 4 * MIB <= stacks["resident"] < 6 * MIB
    assert not any("rest" in name for name in top)


@pytest.mark.parametrize("how, blocks, maps", [("heap", 24, 4), ("maps", 4, 24)])
def test_every_place_is_told(ask, how, blocks, maps):
    """Of the two largest places one is looked through, the other is what remains."""
    tables = ask(how, "resident", "--at", "2s")
    top = parts(tables)
    found = {name: r["resident"] / MIB for name, r in top.items() if r["resident"] is not None}
    expected = {"live heap": blocks, "anonymous mappings": maps, "stacks": 1, "data of programs": 3}
    for word, mib in expected.items():
        seen = [n for name, n in found.items() if word in name]
        assert len(seen) == 1 and mib - 0.05 <= seen[0] <= mib + 0.6, (word, found)
    # The file may be in memory; libc, our library and its buffers are there, too.
    assert 3 <= sum(n for name, n in found.items() if "files" in name or "shared" in name) < 7


def test_what_the_allocator_keeps_is_told(ask):
    tables = ask("fragmented", "resident", "--at", "end")
    top = parts(tables)
    assert 1000 * 1024 <= top["live heap"]["asked_for"] < 2 * MIB
    assert 60 * MIB <= top["allocator slack"]["resident"] < 90 * MIB
    assert all(r["how"] for r in top.values())


def test_the_largest_moment_is_nearly_all_live(ask):
    tables = ask("fragmented", "resident")
    rss = tables["facts"]["values"]["rss"]
    assert rss >= 0.9 * tables["facts"]["values"].get("largest_rss_of_a_sample", rss)
    parts(tables)


WORDS = {
    "leaky": "alive at the end",
    "churning": "freed before the next",
    "thrashing": "minor faults",
    "fragmented": "fragmentation",
}


@pytest.mark.parametrize("how", ["clean", "relay", *WORDS])
def test_what_is_odd_and_nothing_else(ask, how):
    said = [r["what"] for r in ask(how, "summary")["findings"]["rows"]]
    found = {name for name, words in WORDS.items() if any(words in line for line in said)}
    assert found == {how} & set(WORDS), said
    if how == "clean":
        assert said == []
