"""Golden vectors of the analyses of deep learning: lives that are written as text (tensormaker.py), with answers that were
worked out by hand. The first seven are those of the prototype that the analyses were tried with; what lowers the peak is in
test_what_if.py and test_inefficient.py.
"""

import json

import pytest

import tensormaker


@pytest.fixture
def ask(run, tmp_path):
    """ask([lives], word...) -> the tables of an answer: rows, or values of facts"""

    def call(lives, *words):
        paths = [tensormaker.make(tmp_path / f"{i}.tide", life) for i, life in enumerate(lives)]
        first = ("diff", *paths) if len(paths) > 1 else ("report", *paths)
        done = run(*first, *words, "-f", "json")
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        return {name: t["rows"] if t["shape"] != "facts" else t["values"] for name, t in tables.items()}

    return call


# ---- which operator is charged: (life, {op: (own, freed, above entry)}) ----

CHARGED = [
    # The innermost; a view gets nothing; what is freed outside is of none.
    ("%linear %t % %addmm a=other/addmm/10000 % % -a", {"linear": (0, 0, 10000), "t": (0, 0, 0), "addmm": (10000, 0, 10000)}),
    # What comes and goes within it is above entry.
    ("z=other/z/7000 %op a=other/op/10000 b=other/op/5000 -a % -b -z", {"op": (15000, 10000, 15000)}),
    # What the next one allocates is not the last one's.
    ("%view % %randn a=other/randn/15360 %", {"view": (0, 0, 0), "randn": (15360, 0, 15360)}),
]


@pytest.mark.parametrize("life, expected", CHARGED, ids=["innermost", "within", "next"])
def test_operators_are_charged_with_what_they_allocate(ask, life, expected):
    rows = {r["op"]: (r["own"], r["freed"], r["above_entry"]) for r in ask([life], "ops")["calls"]}
    assert rows == expected


# ---- steps without marks: operators, one letter each, and how many steps there are ----

FOUND = [("in" + "aLLLLzo" * 5, 5), ("pppp" + "aLLLLLLLLLLLLLLLLLz" + "aLLz" * 6, 7), ("abcdefgh", 0)]


@pytest.mark.parametrize("letters, steps", FOUND, ids=["layers", "warm-up", "none"])
def test_steps_are_found_in_what_repeats(ask, letters, steps):
    life = " ".join(f"t=forward/{c}/8000 -t" for c in letters)
    assert len(ask([life], "steps").get("steps", [])) == steps


def test_an_undeclared_write_is_told_and_a_declared_one_as_such(ask):
    """b changes w, of which it has told that it reads it; c declares its write."""
    life = "w=other/w/8000 ( @w [a <w ] [b <w ^w ] [c >w ^w ] /w )"
    assert {r["by"]: r["declared"] for r in ask([life], "watch")["writes"]} == {"b": "no", "c": "yes"}


# ---- what grows from step to step: (a step by its number, {op: bytes per step}) ----

def steps(count, step):
    return "k=build/empty/4000 " + " ".join(step(i) + " |" for i in range(count))


GROWS = {
    "each step keeps one": (lambda i: f"a{i}=other/keep/5000 t=other/tmp/9000 -t", {"keep": 5000}),
    "each keeps two of one stack": (lambda i: f"a{i}=other/keep/5000 b{i}=other/keep/5000", {"keep": 10000}),
    "two stacks at two rates": (lambda i: f"a{i}=other/p/5000 b{i}=other/q/7000", {"p": 5000, "q": 7000}),
    "half of it is given back": (lambda i: f"a{i}=other/keep/5000 b{i}=other/keep/5000 -a{i}", {"keep": 5000}),
    "nothing is kept": (lambda i: "t=other/tmp/9000 -t", {}),
    "one over each boundary": (lambda i: f"a{i}=other/ema/5000" + (f" -a{i - 1}" if i else ""), {}),
    "a queue of three": (lambda i: f"a{i}=other/queue/5000" + (f" -a{i - 3}" if i >= 3 else ""), {}),
    "a cache that is full after eight": (lambda i: f"a{i}=other/cache/5000" if i < 8 else "t=other/tmp/9000 -t", {}),
    "the first two steps alone": (lambda i: f"a{i}=other/lazy/5000" if i < 2 else "t=other/tmp/9000 -t", {}),
    "all is given back every fifth": (lambda i: f"a{i}=other/saw/5000" + (
        " " + " ".join(f"-a{k}" for k in range(i - 4, i + 1)) if i % 5 == 4 else ""), {}),
}


@pytest.mark.parametrize("name", GROWS)
def test_what_grows_from_step_to_step(ask, name):
    step, expected = GROWS[name]
    rows = {r["op"]: round(r["growth_per_step"]) for r in ask([steps(30, step)], "leaks", "--per-step")["per_step"]}
    assert rows == expected


def test_growth_now_and_then_is_growth_and_called_so(ask):
    life = steps(40, lambda i: f"a{i}=other/log/8000" if i % 4 == 3 else "t=other/tmp/9000 -t")
    row, = ask([life], "leaks", "--per-step")["per_step"]
    assert row["op"] == "log" and 1500 <= row["growth_per_step"] <= 2500


def test_growth_that_begins_late_is_growth(ask):
    """The median of all slopes is a little less than that of the end."""
    life = steps(30, lambda i: f"a{i}=other/late/5000" if i >= 10 else "t=other/tmp/9000 -t")
    row, = ask([life], "leaks", "--per-step")["per_step"]
    assert row["op"] == "late" and 4500 <= row["growth_per_step"] <= 5000


def test_too_few_steps_are_said_to_be(run, tmp_path):
    path = tensormaker.make(tmp_path / "t.tide", steps(5, lambda i: f"a{i}=other/keep/5000"))
    done = run("report", path, "leaks", "--per-step")
    assert done.returncode == 0 and "5 steps are too few to tell: it takes 6." in " ".join(done.stdout.split())


# ---- comparison: operators of two runs as "name:bytes", and what differs ----

def ops(text):
    return " ".join(f"{n}{i}=other/{n}/{b} -{n}{i}" for i, (n, b) in enumerate(w.split(":") for w in text.split()))


COMPARED = [
    ("a:5000 b:6000 c:7000", "a:5000 b:6000 c:7000", []),
    # One more is one row, and all that follow are the same.
    ("a:5000 b:6000 c:7000", "a:5000 n:9000 b:6000 c:7000", [("n", None, 9000)]),
    ("a:5000 n:9000 b:6000 c:7000", "a:5000 b:6000 c:7000", [("n", 9000, None)]),
    ("a:5000 b:6000 c:7000", "a:5000 b:8000 c:7000", [("b", 6000, 8000)]),
    # The same name several times: in order.
    ("a:5000 a:5000 a:5000", "a:5000 a:8000 a:5000", [("a", 5000, 8000)]),
    ("a:5000 a:5000", "a:5000 a:5000 a:5000", [("a", None, 5000)]),
    ("a:5000 b:6000", "b:6000 a:5000", [("a", 5000, 5000)]),  # it has moved
    ("a:5000", "b:5000", [("a", 5000, None), ("b", None, 5000)]),
]


@pytest.mark.parametrize("before, after, expected", COMPARED, ids=[str(i) for i in range(len(COMPARED))])
def test_a_change_is_of_the_operator_that_made_it(ask, before, after, expected):
    tables = ask([ops(before), ops(after)], "--per-op")
    rows = sorted(((r["op"], r["bytes_a"], r["bytes_b"]) for r in tables["ops"]), key=str)
    assert rows == sorted(expected, key=str)
    change = sum((b or 0) - (a or 0) for _, a, b in expected)
    assert tables["totals"]["allocated_change"] == change
