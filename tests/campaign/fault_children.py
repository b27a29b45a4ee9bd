"""Servers and shells: children in every way, chains of exec, numbers of processes that come again."""

from harness import NOTHING_LOST, Case, fault, need_root


@fault("children", {kind: kind for kind in ("fork", "vfork", "spawn", "prefork", "daemon")})
def children(case: Case) -> None:
    what = (case.variant, case.dice.randint(1, 60), case.dice.randint(0, 800), 0)
    plain = case.run(case.subject(*what))
    recorded = case.run(case.recorder(case.subject(*what)))
    case.same_end(plain, recorded)
    case.compare(all_of_it=case.variant != "daemon")


@fault("exec-chain")
def chain(case: Case) -> None:
    what = ("exec", case.dice.randint(1, 40), case.dice.randint(0, 500))
    recorded = case.run(case.recorder(case.subject(*what)))
    case.demand(recorded.out == b"the end of the chain\n", f"{recorded}")
    case.demand(recorded.status == 7, f"{recorded}")
    case.compare(all_of_it=True)


@fault("pids-again")
def pids_again(case: Case) -> None:
    """In a pid namespace of its own each child gets the number of the one before."""
    need_root()
    what = ("reuse", case.dice.randint(5, 60), case.dice.randint(10, 300), 0)
    inside = ["unshare", "-pf", "--mount-proc", "--kill-child"]
    plain = case.run([*inside, *case.subject(*what)])
    recorded = case.run([*inside, *case.recorder(case.subject(*what))])
    case.same_end(plain, recorded)
    case.compare(all_of_it=True)


@fault("raw-calls", {way: way for way in ("inline-fork", "inline-vfork", "inline-clone3", "libc-fork",
                                          "libc-clone3")})
def raw_calls(case: Case) -> None:
    """Programs that are started by system calls alone: what nobody saw is not said to be whole."""
    targets = case.build / "tests" / "targets"
    program = case.dice.choice(["nop", "static_nop"])
    command = [str(targets / "record" / "raw_calls"), case.variant, str(case.dice.randint(1, 20)),
               str(targets / program)]
    case.names |= {"raw_calls", program}
    plain = case.run(command)
    recorded = case.run(case.recorder(command))
    case.same_end(plain, recorded)
    line = case.report()["coverage"]["line"]
    whole = program == "nop" and case.variant.startswith("libc")
    case.demand(whole or NOTHING_LOST not in line, f"{program} by {case.variant}: {line!r}")
