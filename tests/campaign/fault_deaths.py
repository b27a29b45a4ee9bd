"""The program ends at any moment, in any way, while its threads allocate: all that they did until then
is in the trace, and the recorder ends as the program did."""

from harness import Case, fault

ENDS = {"kill": 137, "term": 143, "segv": 139, "abort": 134, "_exit": 3, "exit_group": 4,
        "quick_exit": 5, "return": 6}


def die(case: Case, how: str) -> None:
    threads = case.dice.choice([1, 1, 2, 3, 4, 8])
    wait_us = int(case.dice.expovariate(1 / 15000))
    p = case.run(case.recorder(case.subject("die", threads, wait_us, how)))
    case.figures.deaths += 1
    case.demand(p.status == ENDS[how], f"exit status {p.status}, not {ENDS[how]}; {p.err!r}")
    case.demand(p.out == b"dying\n", f"the program said {p.out!r}")
    case.one_sentence(p.err)


@fault("death", {how: how for how in ENDS})
def death(case: Case) -> None:
    die(case, case.variant)
    case.compare(all_of_it=True)


@fault("sampled-death", {how: how for how in ENDS})
def sampled_death(case: Case) -> None:
    case.mode = []
    die(case, case.variant)
    case.compare()
