"""Of a stretch of time (--step, --from, --to) the questions about tensors judge lives as the whole recording shows them: what
something is for, and when it was needed last, is known by what comes after the stretch as well."""

import pytest

MODEL = "w=build/empty/400000 b=build/empty/4000 "
# The step ends where the optimizer's frames do: the gradients are freed in the next one, as zero_grad does.
STEP = ("x=other/randn/100000@11 -g{before} h=forward/addmm/900000@20 y=forward/relu/60000@21 l=other/nll_loss/8000@12 "
        "g{now}=backward/mm/400000 -y -h s=optimizer/sqrt/50000@13 -s -x -l ")
STATE = ("x=other/randn/100000@11 h=forward/addmm/900000@20 g0=backward/mm/400000 -h m=optimizer/zeros_like/400000@13 -x ")
LIFE = MODEL + STATE + "| " + "".join(STEP.format(before=i, now=i + 1) + "| " for i in range(5))


def of_kinds(tables):
    return {r["kind"]: (r["blocks"], r["allocated"], r["at_peak"]) for r in tables["ops"]}


def test_what_a_step_allocates_has_the_kinds_that_the_whole_run_shows(asked):
    """The third of six: nothing of the next one is read as long as lives end with the step."""
    assert of_kinds(asked(LIFE, "ops", "--by", "kind", "--step", "3")) == {
        "activations": (3, 968000, 968000), "gradients": (1, 400000, 400000), "inputs": (1, 100000, 100000),
        "temporaries": (1, 50000, 0), "parameters": (0, 0, 404000), "optimizer state": (0, 0, 400000)}


def test_the_first_half_of_a_step_is_judged_by_the_second(asked):
    """Up to the loss: that gradients are computed with what is held comes later."""
    half = LIFE.replace("l=other/nll_loss/8000@12 g3=", "l=other/nll_loss/8000@12 !lost g3=")
    rows = of_kinds(asked(half, "ops", "--by", "kind", "--from", "step:3", "--to", "lost"))
    assert rows["activations"][:2] == (3, 968000) and rows["inputs"][:2] == (1, 100000)
    assert rows["optimizer state"] == (0, 0, 400000)


@pytest.mark.parametrize("step", [2, 3, 4, 6])
def test_the_peak_of_a_step_is_the_same_for_every_question(asked, step):
    """Parameters, state, input, activations, gradients; the gradients of the step before are gone by then."""
    peak = 404000 + 400000 + 100000 + 968000 + 400000
    ops = asked(LIFE, "ops", "--step", str(step))["facts"]
    kinds = asked(LIFE, "decompose", "--step", str(step))
    assert ops["peak_heap"] == ops["tensors_at_peak"] == kinds["facts"]["peak_heap"] == peak
    assert asked(LIFE, "what-if", "--step", str(step))["facts"]["tensors_peak"] == peak
    assert asked(LIFE, "inefficient", "--step", str(step))["facts"]["tensors_peak"] == peak
    by_kind = {k: v[2] for k, v in of_kinds(asked(LIFE, "ops", "--by", "kind", "--step", str(step))).items() if v[2]}
    assert by_kind == {r["kind"]: r["bytes"] for r in kinds["kinds"] if r["bytes"]}


def test_the_first_step_up_to_its_loss_is_judged_by_what_follows(asked):
    """No step before it tells what its tensors are for."""
    half = LIFE.replace("h=forward/addmm/900000@20 g0", "h=forward/addmm/900000@20 !lost g0")
    rows = of_kinds(asked(half, "ops", "--by", "kind", "--to", "lost"))
    assert {kind: row[1] for kind, row in rows.items()} == {"parameters": 404000, "inputs": 100000, "activations": 900000}
    assert asked(half, "what-if", "--to", "lost")["facts"]["tensors_peak"] == 1404000
    falls = {(r["idea"], r["kind"]): r["fall"] for r in asked(half, "what-if", "--to", "lost")["ideas"]}
    assert falls["in half the bytes", "activations"] == 450000


def test_what_would_lower_the_peak_of_a_step_is_that_of_the_whole_run(asked):
    """Every step is like the others, so each idea lowers the peak of one as it does that of all."""
    def ideas(*words):
        return {(r["idea"], r["kind"], r["module"], r["line"]): r["fall"] for r in asked(LIFE, "what-if", *words)["ideas"]}
    whole = ideas()
    assert whole and ideas("--step", "3") == whole
    assert whole["computed again for gradients", "activations", None, None] > 0


# Gradients live on while the next step's activations come: the peak is there.
LATE = MODEL + STATE + "| " + "".join(
    STEP.format(before=i, now=i + 1).replace(f"-g{i} ", "").replace("l=other", f"q{i}=other/neg/50000 -q{i} -g{i} l=other") + "| "
    for i in range(5))


def test_gradients_that_are_kept_too_long_are_told_of_the_step_that_pays_for_them(asked):
    whole, = [r for r in asked(LATE, "inefficient")["inefficient"] if r["pattern"] == "over-long life"]
    for step in (2, 4, 6):
        row, = [r for r in asked(LATE, "inefficient", "--step", str(step))["inefficient"] if r["pattern"] == "over-long life"]
        assert (row["fall"], row["at_peak"]) == (whole["fall"], 400000)
        assert row["blocks"] <= 2  # that of the step before, and its own, which the next one frees


def test_what_is_wasted_in_other_steps_is_not_told_of_this_one(asked):
    """An operator of the second step that frees and allocates again at once, and a block that nobody uses in the third."""
    again = "r=other/neg/7000@40 -r r=other/neg/7000@40 -r r=other/neg/7000@40 -r "
    life = "( " + LIFE.replace("y=forward/relu", again + "y=forward/relu", 1).replace(
        "g3=backward", "u=other/zeros/9000@41 -u g3=backward") + ")"
    def found(*words):
        return {(r["pattern"], r["op"]) for r in asked(life, "inefficient", "--limit", "100", *words)["inefficient"]}
    assert {("redundant", "neg"), ("unused", "zeros")} <= found()
    assert ("redundant", "neg") in found("--step", "2") and ("unused", "zeros") not in found("--step", "2")
    assert ("redundant", "neg") not in found("--step", "4") and ("unused", "zeros") in found("--step", "4")


# x is used for the last time in the step that made it, and freed two steps later.
USED = ("( " + "".join(f"[a a{i}=other/a/5000 >a{i} ] [b b=other/b/3000 >b -b ] [c <a{i} ] " + (f"-a{i - 2} " if i > 1 else "") + "| "
                       for i in range(6)) + ")")


def test_a_use_after_the_step_counts(asked):
    """The last use of what the second step makes is in the third: within the second it is not held in vain."""
    late = USED.replace("[c <a1 ] ", "", 1).replace("[c <a2 ] ", "[c <a2 <a1 ] ", 1)
    for words in (("--step", "2"), ("--from", "step:1", "--to", "step:2")):
        rows = asked(late, "inefficient", *words)["inefficient"]
        assert "unused" not in {r["pattern"] for r in rows}
        # only a0 is held longer than it is needed: all that the peak of the step could lose
        assert [r["at_peak"] for r in rows if r["pattern"] == "over-long life"] == [5000]


def test_operators_that_tell_of_themselves_are_those_of_the_step(asked):
    life = "".join(f"%linear a{i}=other/addmm/9000 % -a{i} | " for i in range(4))
    calls, = asked(life, "ops", "--step", "2")["calls"]
    assert (calls["op"], calls["calls"], calls["own"]) == ("linear", 1, 9000)
