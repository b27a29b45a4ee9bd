"""diff --per-op: runs of which it is known how they differ, since the second is made from the first. What is shown adds up to
what was allocated and to the change of the peak, whatever the limit."""

import json
import random

import pytest

import tensormaker


@pytest.fixture
def compared(run, tmp_path):
    """compared([lives], word...) -> the tables of `diff --per-op`; their sums were looked at"""

    def call(lives, *words):
        paths = [tensormaker.make(tmp_path / f"{i}.tide", life) for i, life in enumerate(lives)]
        done = run("diff", *paths, "--per-op", *words, "-f", "json")
        assert done.returncode == 0, done.stderr
        tables = {n: t["rows"] if t["shape"] != "facts" else t["values"] for n, t in json.loads(done.stdout)["tables"].items()}
        totals = tables["totals"]
        assert sum(r["change"] for r in tables["ops"]) == totals["allocated_change"]
        for name in ("at_peak", "at_peak_ops"):
            assert sum(r["change"] for r in tables[name]) == totals["tensors_peak_change"], name
        for table in tables.values():
            for r in table if isinstance(table, list) else []:
                assert r["change"] == (r["bytes_b"] or 0) - (r["bytes_a"] or 0)
        return tables

    return call


def life(ops):
    """One after the other, each freed at once: (name, bytes)"""
    return " ".join(f"{n}{i}=other/{n}/{b} -{n}{i}" for i, (n, b) in enumerate(ops))


def parsed(text):
    return [(name, int(size)) for name, size in (word.split(":") for word in text.split())]


def rows(tables):
    return sorted(((r["how"], r["op"], r["bytes_a"], r["bytes_b"]) for r in tables["ops"]), key=str)


VECTORS = {
    "the same": ("a:5000 b:6000", "a:5000 b:6000", []),
    "one inserted": ("a:5000 b:6000", "a:5000 n:9000 b:6000", [("added", "n", None, 9000)]),
    "one removed": ("a:5000 n:9000 b:6000", "a:5000 b:6000", [("removed", "n", 9000, None)]),
    "one larger": ("a:5000 b:6000", "a:7000 b:6000", [("larger", "a", 5000, 7000)]),
    "one smaller": ("a:5000 b:6000", "a:4096 b:6000", [("smaller", "a", 5000, 4096)]),
    "one replaced": ("a:5000 b:6000", "a:5000 c:6000", [("removed", "b", 6000, None), ("added", "c", None, 6000)]),
    "one moved to the end": ("n:9000 a:5000 b:6000 c:7000", "a:5000 b:6000 c:7000 n:9000", [("moved", "n", 9000, 9000)]),
    "one moved to the front": ("a:5000 b:6000 c:7000 n:9000", "n:9000 a:5000 b:6000 c:7000", [("moved", "n", 9000, 9000)]),
    "one moved, another inserted": ("n:9000 a:5000 b:6000", "a:5000 x:4096 b:6000 n:9000", [
        ("moved", "n", 9000, 9000), ("added", "x", None, 4096)]),
    "moved and of another size": ("n:9000 a:5000 b:6000", "a:5000 b:6000 n:9500", [
        ("removed", "n", 9000, None), ("added", "n", None, 9500)]),
    "one more of equals": ("m:5000 m:5000", "m:5000 m:5000 m:5000", [("added", "m", None, 5000)]),
    # By name alone every one of them would be another than it was.
    "one more in front of its like": ("m:5000 m:6000 m:7000", "m:4096 m:5000 m:6000 m:7000", [("added", "m", None, 4096)]),
    "one less in front of its like": ("m:4096 m:5000 m:6000 m:7000", "m:5000 m:6000 m:7000", [("removed", "m", 4096, None)]),
    "moved among its like": ("m:5000 m:6000 m:7000", "m:6000 m:7000 m:5000", [("moved", "m", 5000, 5000)]),
    # By name and size one layer would be the next.
    "twice the size": ("m:5000 r:5000 m:10000 r:10000", "m:10000 r:10000 m:20000 r:20000", [
        ("larger", "m", 5000, 10000), ("larger", "r", 5000, 10000), ("larger", "m", 10000, 20000),
        ("larger", "r", 10000, 20000)]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_known_difference_is_told_as_what_it_is(compared, name):
    before, after, expected = VECTORS[name]
    assert rows(compared([life(parsed(before)), life(parsed(after))])) == sorted(expected, key=str)


def test_a_moved_operator_says_from_where_to_where(compared):
    row, = compared([life(parsed("n:9000 a:5000 b:6000")), life(parsed("a:5000 b:6000 n:9000"))])["ops"]
    assert (row["change"], row["number_a"], row["number_b"]) == (0, 1, 3)


@pytest.mark.parametrize("seed", range(6))
def test_changes_in_a_random_run_are_found(compared, seed):
    """Names are told apart here, so that there is one answer."""
    chance = random.Random(seed)
    before = [(f"o{i}", chance.randrange(4096, 90000)) for i in range(200)]
    places = sorted(chance.sample(range(0, 200, 3), 12))  # never side by side
    after, expected = list(before), []
    for i in reversed(places):
        name, size = before[i]
        how = chance.choice(["added", "removed", "larger"])
        if how == "added":
            after.insert(i, (f"n{i}", size))
            expected.append((how, f"n{i}", None, size))
        elif how == "removed":
            del after[i]
            expected.append((how, name, size, None))
        else:
            after[i] = (name, size + 100)
            expected.append((how, name, size, size + 100))
    assert rows(compared([life(before), life(after)])) == sorted(expected, key=str)


def test_one_change_in_the_middle_of_four_thousand_is_one_row(compared):
    before = [(f"o{i % 7}", 4096 + i % 50) for i in range(4000)]
    after = before[:2000] + [("n", 8000)] + before[2000:]
    row, = compared([life(before), life(after)])["ops"]
    assert (row["how"], row["op"], row["number_a"], row["number_b"]) == ("added", "n", None, 2001)


def test_one_more_of_its_like_in_four_thousand_is_one_row(compared):
    before = [("mm", 4096 + i) for i in range(4000)]
    after = before[:2000] + [("mm", 9999)] + before[2000:]
    row, = compared([life(before), life(after)])["ops"]
    assert (row["how"], row["change"], row["number_b"]) == ("added", 9999, 2001)


# ---- what is not shown ----

@pytest.mark.parametrize("limit", [1, 2, 5, 6])
def test_what_is_beyond_the_limit_is_one_row_of_its_sum(compared, limit):
    before = [(f"o{i}", 5000) for i in range(6)]
    tables = compared([life(before), life([(n, b + 100 * (i + 1)) for i, (n, b) in enumerate(before)])],
                      "--limit", str(limit))
    shown = [(r["op"], r["change"]) for r in tables["ops"]]
    assert shown[:limit] == [(f"o{i}", 100 * (i + 1)) for i in range(5, 5 - limit, -1)]
    left = 6 - limit
    assert shown[limit:] == ([(f"({left} smaller one{'s' if left > 1 else ''})", 100 * left * (left + 1) // 2)] if left else [])


def test_what_of_the_peak_is_beyond_the_limit_is_one_row(compared):
    held = " ".join(f"a{i}=other/o{i}/{5000 + 100 * i}" for i in range(6))
    more = " ".join(f"a{i}=other/o{i}/{6000 + 200 * i}" for i in range(6))
    peak = compared([held, more], "--limit", "2")["at_peak_ops"]
    assert [(r["op"], r["change"], r["tensors_b"]) for r in peak] == [
        ("o5", 1500, 1), ("o4", 1400, 1), ("(4 smaller ones)", 4600, 4)]


# ---- the peak ----

def test_the_change_of_the_peak_is_that_of_operators_and_lines(compared):
    before = "w=build/empty/50000@5 h=other/mm/20000@11 y=other/relu/20000@12 -h -y -w"
    after = "w=build/empty/50000@5 h=other/mm/30000@11 y=other/relu/20000@12 z=other/relu/8000@13 -h -y -z -w"
    tables = compared([before, after])
    assert [(r["op"], r["change"], r["tensors_a"], r["tensors_b"]) for r in tables["at_peak_ops"]] == [
        ("mm", 10000, 1, 1), ("relu", 8000, 0, 1)]
    assert ["train.py:11" in tables["at_peak_ops"][0]["line"], "train.py:13" in tables["at_peak_ops"][1]["line"]] == [True, True]
    totals = tables["totals"]
    assert totals["tensors_peak_at_a"].startswith("relu, ") and totals["tensors_peak_at_b"].startswith("relu, ")


def test_lines_that_have_moved_down_are_the_same_lines(compared):
    """Two lines more above: the peak has changed by the one operator alone."""
    before = "w=other/empty/50000@5 h=other/mm/20000@11 y=other/relu/20000@12 -h -y -w"
    after = "w=other/empty/50000@7 h=other/mm/26000@13 y=other/relu/20000@14 -h -y -w"
    row, = compared([before, after])["at_peak_ops"]
    assert (row["op"], row["bytes_a"], row["bytes_b"]) == ("mm", 20000, 26000) and "train.py:13" in row["line"]


def test_a_peak_at_another_operator_is_explained(compared):
    """What lived at the old peak lives at the new one no more."""
    before = "w=other/empty/50000 a=other/big/90000 -a b=other/late/60000 -b -w"
    after = "w=other/empty/50000 a=other/big/10000 -a b=other/late/60000 -b -w"
    tables = compared([before, after])
    assert {r["op"]: r["change"] for r in tables["at_peak_ops"]} == {"big": -90000, "late": 60000}
    assert tables["totals"]["tensors_peak_at_a"].startswith("big, ")
    assert tables["totals"]["tensors_peak_at_b"].startswith("late, ")


# ---- two steps of one trace ----

STEPS = "w=build/empty/50000 " + " ".join(
    f"h=forward/mm/{20000 + (7000 if i == 4 else 0)} y=forward/relu/9000 "
    + ("n=forward/sin/5000 " if i == 4 else "") + f"-h -y {'-n' if i == 4 else ''} |" for i in range(6))


def test_two_steps_of_one_trace_differ_by_what_one_did_more(compared, run, tmp_path):
    tables = compared([STEPS], "--step", "2", "--step", "5")
    assert rows(tables) == [("added", "sin", None, 5000), ("larger", "mm", 20000, 27000)]
    assert {r["op"]: r["change"] for r in tables["at_peak_ops"]} == {"mm": 7000, "sin": 5000}
    for side, step in (("a", "2"), ("b", "5")):
        done = json.loads(run("report", tmp_path / "0.tide", "ops", "--step", step, "-f", "json").stdout)["tables"]["ops"]
        assert sum(r["allocated"] for r in done["rows"]) == tables["totals"][f"allocated_{side}"]
    assert compared([STEPS], "--step", "2", "--step", "3")["ops"] == []


def test_what_is_older_than_the_step_is_the_same_on_lines_that_have_moved(compared):
    """A line more at the top of the program: its parameters are made and held as before."""
    def program(down, size):
        return f"w=build/empty/50000@{5 + down} v=other/rand/40000@{6 + down} " + " ".join(
            f"h=other/mm/{size}@{11 + down} y=other/relu/9000@{12 + down} -h -y |" for _ in range(4))

    row, = compared([program(0, 20000), program(1, 26000)], "--step", "3")["at_peak_ops"]
    assert (row["op"], row["bytes_a"], row["bytes_b"]) == ("mm", 20000, 26000) and "train.py:12" in row["line"]


# ---- several processes ----

def test_ranks_are_compared_each_with_itself_whichever_began_first(compared):
    first = "#0 " + life(parsed("a:5000 b:6000 c:7000")) + " #1 " + life(parsed("x:8000 y:9000"))
    other = "#1 " + life(parsed("x:8000 y:9000")) + " #0 " + life(parsed("a:5000 b:6500 c:7000"))
    assert rows(compared([first, other])) == [("larger", "b", 6000, 6500)]


def test_ranks_that_take_turns_are_compared_each_with_itself(compared):
    """In time they are mixed differently in every run."""
    first = "#0 a=other/a/5000 #1 x=other/x/8000 y=other/y/9000 #0 b=other/b/6000 -a -b #1 -x -y"
    other = "#0 a=other/a/5000 b=other/b/6000 #1 x=other/x/8000 #0 -a -b #1 y=other/y/9000 -x -y"
    assert compared([first, other])["ops"] == []
