"""A recorder that attached to a running program dies, is told to end, or leaves: the program goes on,
and so do the children that it has afterwards."""

import os
import signal
import time

from harness import Case, Skip, fault, until

FORKS = b"0 children harmed\n"


@fault("attached", {name: getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGINT")})
def attached(case: Case) -> None:
    program = case.start(case.subject("fork", 60, 400, 5000))
    case.started()
    tool = case.start([str(case.tool), "attach", "-q", "--no-names", *case.mode, "-f", "-o",
                       str(case.trace), str(program.pid)])
    until(lambda: tool.poll() is not None or program.poll() is not None or case.trace.exists(),
          "the trace of an attached program")
    time.sleep(case.dice.expovariate(1 / 0.05))
    if tool.poll() is None:
        os.kill(tool.pid, case.variant)
    ended = case.finish(tool)
    if program.poll() is not None:
        raise Skip("the program was over before the recorder could be signalled")
    case.figures.deaths += 1
    went_on = case.finish(program)
    case.demand(went_on.status == 0 and went_on.out == FORKS, f"the program: {went_on}")
    case.one_sentence(ended.err)
    if case.variant != signal.SIGKILL:
        case.demand(ended.status >= 0 or ended.status == -case.variant, f"attach: {ended}")
