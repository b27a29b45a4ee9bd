"""A program that filters its system calls is attached to: whatever the filter punishes, and however, the
program goes on. It is recorded, or left alone in a sentence."""

import errno
import time

import sieve
from harness import Case, Skip, fault, need_root, until

PUNISHMENTS = {"kill": 0x80000000, "kill-thread": 0, "trap": 0x00030000, "pretend": 0x00050000,
               "trace": 0x7FF00000, "refuse": sieve.ERRNO | errno.EPERM,
               "any": None}


@fault("confined", PUNISHMENTS)
def confined(case: Case) -> None:
    """Any calls of the kernel, many or few, but none that the program makes without us."""
    need_root()
    table = sieve.numbers()
    names = [name for name in sorted(table) if name not in sieve.OF_PROGRAMS]
    punished = case.dice.sample(names, case.dice.choice((1, 3, 30, len(names) // 2, len(names))))
    actions = list(filter(None, PUNISHMENTS.values())) if case.variant is None else [case.variant]
    before = sieve.put_on([(table[name], case.dice.choice(actions)) for name in punished])
    program = case.start(case.subject("last", 3), before)
    until(lambda: program.poll() is not None or case.log_words()[2], "the subject to begin")
    if program.poll() is not None:
        raise Skip("the program itself cannot live so")
    tool = case.start([str(case.tool), "attach", "-q", "--no-names", *case.mode, "-o",
                       str(case.trace), str(program.pid)])
    until(lambda: tool.poll() is not None or program.poll() is not None or case.trace.exists(),
          "the trace of an attached program")
    time.sleep(case.dice.expovariate(1 / 0.05))
    if tool.poll() is None:
        tool.terminate()
    ended = case.finish(tool)
    case.demand(program.poll() is None, f"the program has died; punished: {punished}")
    case.stop_subject()
    went_on = case.finish(program)
    case.demand(went_on.status == 7, f"the program: {went_on}; punished: {punished}")
    case.one_sentence(ended.err)
    case.demand(ended.status in (0, 126) or ended.status == -15, f"attach: {ended}")
