"""What would lower the peak of tensors: lives whose answers are worked out by hand, with accesses and without."""

import json

import pytest

import tensormaker


@pytest.fixture
def asked(run, tmp_path):
    """asked(life or trace, option...) -> the tables of what-if: facts, ideas, together, and its notes"""

    def call(life, *options):
        path = tensormaker.make(tmp_path / "t.tide", life) if isinstance(life, str) else life
        done = run("report", path, "what-if", "-f", "json", "--limit", "200", *options)
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        found = {name: t["rows"] if t["shape"] != "facts" else t["values"] for name, t in tables.items()}
        return found | {"verdict": tables["together"]["note"], "note": tables["ideas"]["note"]}

    return call


def falls(tables):
    """{idea: its largest fall}, of whole kinds"""
    found = {}
    for r in tables["ideas"]:
        if not r["module"] and not r["line"] and r["fall"] > found.get(r["idea"], 0):
            found[r["idea"]] = r["fall"]
    return found


def life(text):
    """NAME:BYTES is a tensor of an operator of its own, of that name."""
    return " ".join(f"{w.split(':')[0]}=other/{w.split(':')[0]}/{w.split(':')[1]}" if ":" in w else w
                    for w in text.split())


FIRST, LAST, AWAY = "allocated at first use", "freed at last use", "elsewhere while not in use"

# (what happens, {idea: fall of the peak}), of what accesses tell; types are left out.
USES = [
    # a is there early, while b comes and goes: 5000 + 3000 at the peak, 5000 without.
    ("( [a a:5000 ] [b b:3000 >b -b ] [c <a ] -a )", {FIRST: 3000, AWAY: 3000}),
    # Written by the operator that made it: between two uses it could only be elsewhere.
    ("( [a a:5000 >a ] [b b:3000 >b -b ] [c <a ] -a )", {AWAY: 3000}),
    # Used for the last time before b is there.
    ("( a:5000 [p <a ] [b b:3000 >b -b ] -a )", {LAST: 3000, AWAY: 3000}),
    # Nobody uses it at all: as if it were never allocated.
    ("( a:5000 [b b:3000 >b -b ] -a )", {LAST: 5000, AWAY: 5000}),
    # The new peak is elsewhere: c alone has 6000 of 8000.
    ("( c:6000 >c -c a:5000 >a b:3000 >b -b -a )", {LAST: 2000, AWAY: 2000}),
    # All is in use when the peak is.
    ("( a:5000 >a [p <a b:3000 >b ] -a <b -b )", {}),
    # Two peaks of one height, each with a tensor of another kind that is held in vain: see below.
    ("( a:5000 >a b:3000 >b -b -a c:5000 >c d:3000 >d -d -c )", {}),
    # Outside of the window nothing is claimed.
    ("a:5000 >a b:3000 -b -a ( c:10 >c -c )", {}),
    ("a:5000 b:3000 -b -a ( c:10 >c -c )", {}),
]


@pytest.mark.parametrize("text, expected", USES, ids=[str(i) for i in range(len(USES))])
def test_what_accesses_tell(asked, text, expected):
    tables = asked(life(text))
    assert {k: v for k, v in falls(tables).items() if "bytes" not in k} == expected


def test_what_is_known_by_some_accesses_alone_is_at_least_so_much(asked):
    whole = asked(life("( a:5000 [p <a ] [b b:3000 >b -b ] -a )"))
    part = asked(life("u:700 a:5000 [p <a ] [b b:3000 >b -b ] -a -u"))
    bases = [{r["basis"] for r in t["ideas"] if r["idea"] == LAST} for t in (whole, part)]
    assert bases == [{"exact, by accesses"}, {"at least: by the accesses that were told"}]
    assert falls(part)[LAST] == 3000


# A step of training: the peak is in the optimizer's (state, gradients and its own), or in the forward phase.
MODEL = "w=build/empty/400000 b=build/empty/4000 "
STEP = ("x=other/randn/100000@11 h=forward/addmm/{h}@20 y=forward/relu/60000 l=other/nll_loss/8000@12 "
        "d=backward/mm/60000 g=backward/mm/400000 gb=backward/sum/4000 -d -y -h {m} s=optimizer/sqrt/{s}@13 -s -g -gb -x -l ")
STATE = "m=optimizer/zeros_like/800000@13"


def train(h, s, steps=4):
    return MODEL + STEP.format(h=h, s=s, m=STATE) + STEP.format(h=h, s=s, m="") * (steps - 1)


def test_without_accesses_it_is_what_phases_prove_and_says_so(asked):
    """1,200,000 of activations in the forward phase beside model, state and input: the peak is where gradients come"""
    tables = asked(train(h=1200000, s=9000))
    # w b x h y l d g gb and the state m
    peak = 404000 + 100000 + 1200000 + 60000 + 8000 + 60000 + 404000 + 800000
    assert tables["facts"]["tensors_peak"] == peak
    assert "record --accesses" in tables["note"]
    rest = 404000 + 100000 + 8000 + 404000 + 9000 + 800000  # in the optimizer's step
    assert falls(tables)["elsewhere between steps"] == 800000
    assert falls(tables)["computed again for gradients"] == falls(tables)[AWAY] <= 1260000
    assert not {FIRST, LAST} & set(falls(tables))
    assert peak - rest >= falls(tables)["elsewhere between steps"]


def test_types_suit_kinds(asked):
    """What is trained stays in two bytes; the state of optimizers may have one; buffers are left alone."""
    tables = asked(train(h=80000, s=400000))
    types = {(r["kind"], r["idea"]): (r["fall"], r["basis"]) for r in tables["ideas"] if "bytes" in r["idea"]}
    assert types["parameters", "in half the bytes"][0] == 202000
    assert types["optimizer state", "in a quarter of the bytes"][0] == 600000
    assert "scales" in types["optimizer state", "in a quarter of the bytes"][1]
    assert types["optimizer state", "in half the bytes"] == (400000, "exact, if they are float32 now")
    assert ("parameters", "in a quarter of the bytes") not in types


def test_a_model_that_is_not_trained_may_have_parameters_of_one_byte(asked):
    tables = asked(MODEL + "x=other/randn/9000@11 h=forward/addmm/9000 -h -x " * 4)
    types = {(r["kind"], r["idea"]): r["fall"] for r in tables["ideas"]}
    assert types["parameters", "in a quarter of the bytes"] == 303000


def test_a_type_can_be_asked_for(asked, run, tmp_path):
    tables = asked(train(h=80000, s=400000), "--dtype", "grad=12.5%", "--dtype", "temporaries=50")
    found = {(r["kind"], r["idea"]): r["fall"] for r in tables["ideas"]}
    assert found["gradients", "in 12.5 % of the bytes"] == 404000 - 50500
    assert found["temporaries", "in half the bytes"] == 200000
    path = tensormaker.make(tmp_path / "t.tide", MODEL)
    for wrong in ("weights=25%", "p=x", "parameters", "parameters=0%", "parameters=200%", "=50%"):
        done = run("report", path, "what-if", "--dtype", wrong)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--dtype" in done.stderr


# ---- together ----

def test_ideas_do_not_count_twice(asked):
    """State that is elsewhere is not smaller as well: after the first of both the second has nothing left."""
    text = train(h=1200000, s=9000)
    tables = asked(text)
    peaks = [r["peak_then"] for r in tables["together"]]
    assert peaks == sorted(peaks, reverse=True) and len(peaks) >= 3
    assert sum(r["fall"] for r in tables["together"]) == tables["facts"]["tensors_peak"] - peaks[-1]
    assert all(r["fall"] <= r["at_peak"] for r in tables["together"])


def test_one_sentence_says_what_to_do(asked):
    text = train(h=1200000, s=9000)
    peak = asked(text)["facts"]["tensors_peak"]
    assert asked(text, "--fits-in", "1GB")["verdict"] == "The tensors fit into 953.7 MiB as they are: 2.9 MiB."
    tables = asked(text, "--fits-in", str(peak - 100000))
    row, = tables["together"]
    assert row["peak_then"] <= peak - 100000
    assert tables["verdict"].startswith(f"The tensors fit into 2.8 MiB with {row['kind']} ")
    assert row["idea"] in tables["verdict"] and tables["verdict"].endswith("MiB at the least.")
    tables = asked(text, "--fits-in", "100KB")
    assert tables["verdict"].startswith("The tensors do not fit into 97.7 KiB: with ")
    assert tables["verdict"].endswith("and nothing else that is known lowers it.")


def test_the_plan_is_no_larger_than_it_must_be(asked):
    """Two modules hold activations while gradients are computed: the smaller one is enough."""
    step = ("h=forward/addmm/900000 ~h=activations:net.0 y=forward/relu/300000 ~y=activations:net.1 l=other/sum/9000 "
            "g=backward/mm/400000 d=backward/mm/2000000 -d -y -h o=other/o/10 -o -g -l ")
    text = MODEL + step * 4
    tables = asked(text)
    whole = tables["facts"]["tensors_peak"]
    assert whole == 404000 + 1200000 + 9000 + 400000 + 2000000
    rows = {r["module"]: r["at_peak"] for r in tables["ideas"] if r["module"] and r["kind"] == "activations"}
    assert (rows["net.0"], rows["net.1"]) == (900000, 300000)
    assert falls(tables)["computed again for gradients"] == 1209000  # all that lives from the forward phase on
    row, = asked(text, "--fits-in", str(whole - 250000))["together"]
    assert (row["kind"], row["idea"], row["module"]) == ("activations", "computed again for gradients", "net.1")
    assert row["peak_then"] == whole - 300000


def test_two_peaks_of_one_height_need_two_ideas(asked):
    """Neither lowers the peak by itself: temporaries have one of the peaks, inputs the other."""
    two = life("( a:5000 >a b:3000 >b -b -a c:5000 >c d:3000 >d -d -c )")
    tables = asked(two, "--fits-in", "6000")
    assert not falls(tables) and len(tables["together"]) == 2
    assert tables["facts"]["tensors_peak"] == 8000
    assert tables["together"][-1]["peak_then"] <= 6000


def test_what_is_all_of_a_kind_is_one_idea(asked):
    """All activations are of one module: what the kind gives is not said again of it."""
    step = "x=other/randn/1000@11 h=forward/addmm/80000@12 q=forward/relu/8 p=forward/mul/7000 -p g=backward/mm/400 -q -h -g -x "
    rows = asked("w=build/empty/400 " + 4 * step)["ideas"]
    assert [(r["fall"], r["module"], r["line"]) for r in rows if r["idea"] == AWAY] == [(6608, None, None)]
