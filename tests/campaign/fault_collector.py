"""The recorder dies, is stopped, starves or gets no memory: the program goes on as if it were not there,
and so do the children that it has afterwards."""

import os
import resource
import signal
import time

from harness import HEADER_BYTES, Case, Skip, busy_loops, fault, until

FORKS = b"0 children harmed\n"


def moment(case: Case) -> None:
    """Some time after the program's start: mostly at once, sometimes late."""
    time.sleep(case.dice.expovariate(1 / case.dice.choice([0.005, 0.02, 0.2])))


def orphaned(case: Case, reap: bool, kind: str) -> None:
    """Kill the recorder while the program is under way, which is not to know: at once, or when some of
    the trace has been written."""
    late = case.dice.random() < 0.4
    pause_us = (2500000 if late else 200000) if kind == "prefork" else 6000
    p = case.start(case.recorder(case.subject(kind, 300 if late else 60, 200, pause_us)))
    case.started()
    if late:
        until(lambda: case.trace.stat().st_size > HEADER_BYTES or p.poll() is not None,
              "the first chunk")
    time.sleep(case.dice.expovariate(1 / 0.02))
    os.kill(p.pid, signal.SIGKILL)
    if reap:
        p.wait(60)
    until(lambda: case.said(p, 0).out, "the program's last word")
    if p.wait(60) != -signal.SIGKILL:
        raise Skip("the recording was over before the recorder could be killed")
    case.figures.deaths += 1
    case.orphans(30.0)
    case.demand(case.said(p, 0).out == FORKS, f"the program said {case.said(p, 0).out!r}")
    case.one_sentence(case.said(p, 0).err)


@fault("collector-killed", {f"{kind}-{how}": (kind, how == "reaped")
                            for kind in ("fork", "vfork", "spawn", "prefork", "daemon")
                            for how in ("reaped", "zombie")})
def killed(case: Case) -> None:
    kind, reap = case.variant
    case.mode = case.dice.choice([["--exact"], ["--exact"], [], ["--sample", "1KiB"]])
    orphaned(case, reap, kind)
    case.compare()


@fault("collector-signalled", {"term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP,
                               "quit": signal.SIGQUIT})
def signalled(case: Case) -> None:
    """The recorder hands the signal on: the program dies of it, and the trace is whole."""
    p = case.start(case.recorder(case.subject("last", case.dice.randint(1, 4))))
    case.started()
    moment(case)
    os.kill(p.pid, case.variant)
    ended = case.finish(p)
    case.figures.deaths += 1
    case.demand(ended.status == 128 + case.variant, f"exit status {ended.status}: {ended.err!r}")
    case.one_sentence(ended.err)
    case.compare(all_of_it=True)


@fault("collector-stopped")
def stopped(case: Case) -> None:
    p = case.start(case.recorder(case.subject("last", case.dice.randint(1, 4))))
    case.started()
    os.kill(p.pid, signal.SIGSTOP)
    time.sleep(case.dice.uniform(0.1, 2.5))
    os.kill(p.pid, signal.SIGCONT)
    time.sleep(0.1)
    case.stop_subject()
    ended = case.finish(p)
    case.demand(ended.status == 7 and ended.out == b"lasted\n", f"{ended}")
    case.one_sentence(ended.err)
    case.compare()


@fault("collector-starved")
def starved(case: Case) -> None:
    with busy_loops(2 * (os.cpu_count() or 1)):
        p = case.start(case.recorder(case.subject("work", 4, 100000)), lambda: None)
        os.sched_setscheduler(p.pid, os.SCHED_IDLE, os.sched_param(0))
        ended = case.finish(p)
    case.demand(ended.status == 7 and ended.out == b"worked\n", f"{ended}")
    case.one_sentence(ended.err)
    case.compare()


@fault("collector-without-memory")
def without_memory(case: Case) -> None:
    """From some moment on it gets no more: it may give up with a sentence, not take the program along."""
    p = case.start(case.recorder(case.subject("fork", 30, 400, 3000)))
    case.started()
    moment(case)
    with open(f"/proc/{p.pid}/statm") as f:
        pages = int(f.read().split()[0])
    room = case.dice.choice([0, 64 << 10, 1 << 20])
    resource.prlimit(p.pid, resource.RLIMIT_AS, (pages * 4096 + room,) * 2)
    ended = case.finish(p)
    until(lambda: case.said(p, 0).out, "the program's last word")
    case.demand(case.said(p, 0).out == FORKS, f"the program said {case.said(p, 0).out!r}")
    case.demand(ended.status == 0, f"the recorder ended with {ended.status}: {ended.err!r}")
    case.one_sentence(ended.err)
    case.compare(said=bool(ended.err))
