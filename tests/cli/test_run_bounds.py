"""The bounds of a tree's peak hold for random trees, at random moments, by every method."""

import json
import random
import subprocess

import pytest
from running import MIB, NOBODY

TOGETHER = ("par", "chain", "threadfork")  # all hold their memory at one moment; else one at a time
PROGRAM = 3 * MIB  # what a process holds beside it, at most


def check(told_by, tree, dice):
    mode = dice.choice(TOGETHER + ("seq", "stagger", "orphan"))
    count, mib = dice.randint(1, 10), dice.choice((1, 4, 8, 16))
    hold = dice.choice((0, 3, 10, 40, 90, 110))
    interval = dice.choice(("1", "3", "10", "50", "100", "60s"))
    how = dice.choice(((), (), ("--exact",)))
    told = told_by("--interval", interval, *how, tree, mode, str(count), str(mib), str(hold))
    truth = (count if mode in TOGETHER else 1) * mib * MIB
    least, most = told["peak_rss_lower_bytes"], told["peak_rss_upper_bytes"]
    what = f"{mode} {count} {mib} {hold} every {interval} {how}: {told['peak_basis']}"
    assert least <= truth + (count + 2) * PROGRAM, what
    assert most is None or truth <= most, what
    assert most is None or least <= most, what
    assert told["peak_rss_exact"] == (least == most), what


@pytest.mark.parametrize("seed", range(30))
def test_random_trees(result, target, seed):
    check(result, target("tree"), random.Random(seed))


@pytest.mark.parametrize("seed", range(100, 115))
def test_random_trees_of_another_user(public, seed):
    """Without privilege --exact goes by ptrace."""
    place = public("tree")

    def told_by(*words):
        done = subprocess.run([*NOBODY, place / "tidemark", "run", "-j", *words], check=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60, cwd="/")
        return json.loads(done.stdout)

    check(told_by, place / "tree", random.Random(seed))
