"""Everything at once: what comes and goes, starts programs and is interrupted, all at the same moment; also while
the recorder stands still or dies."""

import signal
import sys
import time
from collections.abc import Callable

from harness import NOTHING_LOST, Case, children, fault, state_of, until

WAYS = {"watched": None, "stopped": signal.SIGSTOP, "killed": signal.SIGKILL}
MODES = {"": ["--exact"], "-sampled": []}

STARTER = """
import os, subprocess, sys, threading
wrong = []

def refused(start):
    try:
        start()
    except FileNotFoundError:
        return 0
    return 1

def forked():
    pid = os.fork()
    if pid == 0:
        try:
            os.execv("/nowhere/nobody", ["nobody"])
        except FileNotFoundError:
            os._exit(5)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) - 5

WAYS = [lambda: subprocess.run(["sh", "-c", "exit 4"]).returncode - 4,
        lambda: sum(refused(lambda: subprocess.run(["nobody-is-called-so"])) for _ in range(5)),
        lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)[1],
        lambda: sum(refused(lambda: os.posix_spawn("/nowhere/nobody", ["nobody"], {})) for _ in range(5)),
        forked, lambda: os.system("exit 3") - (3 << 8)]

def one(number):
    for i in range(len(WAYS)):
        if WAYS[(number + i) % len(WAYS)]():
            wrong.append((number + i) % len(WAYS))

threads = [threading.Thread(target=one, args=(i,)) for i in range(int(sys.argv[1]))]
[t.start() for t in threads]
[t.join() for t in threads]
print(wrong)
sys.exit(7)
"""


def weather(case: Case, command: Callable[[], list[str]]) -> None:
    """Plainly and recorded, with something that happens to the recorder at any moment of it."""
    how, case.mode = case.variant
    plain = case.run(command())
    p = case.start(case.recorder(command()))
    if how:
        time.sleep(case.dice.random())
        if p.poll() is None:
            p.send_signal(how)
    if how == signal.SIGSTOP:
        time.sleep(case.dice.random() * 2)
        p.send_signal(signal.SIGCONT)
    recorded = case.finish(p)
    if how != signal.SIGKILL or recorded.status >= 0:
        case.same_end(plain, recorded)
    else:
        until(lambda: case.said(p, 0).out == plain.out, "the program to say what it says plainly")
        until(lambda: all(state_of(pid) in ("", "Z") for pid in children()), "the program's end")


VARIANTS = {way + name: (how, mode) for way, how in WAYS.items() for name, mode in MODES.items()}


@fault("storm", VARIANTS)
def storm(case: Case) -> None:
    case.names |= {"sh", "dash", "bash"}
    how = case.variant[0]
    what = (case.dice.randint(6, 200), case.dice.randint(1, 3), case.dice.randint(1, 200))
    weather(case, lambda: case.subject("storm", *what))
    if how != signal.SIGKILL:
        case.compare(all_of_it=True)


@fault("alarms", VARIANTS)
def alarms(case: Case) -> None:
    what = (case.dice.randint(100, 2000), case.dice.randint(0, 100))
    weather(case, lambda: case.subject("alarms", *what))
    if case.variant[0] != signal.SIGKILL:
        case.compare(all_of_it=True)


@fault("starters", {"exact": (None, ["--exact"]), "sampled": (None, []), "hybrid": (None, ["--exact=4K"]),
                    "stopped": (signal.SIGSTOP, []), "killed": (signal.SIGKILL, ["--exact"])})
def starters(case: Case) -> None:
    """Threads of Python that start programs: each start tells the line that it is from, in the child after vfork."""
    script = case.folder / "starter.py"
    script.write_text(STARTER)
    threads = str(case.dice.randint(1, 16))
    weather(case, lambda: [sys.executable, str(script), threads])
    if case.variant[0] != signal.SIGKILL:
        line = case.report()["coverage"]["line"]
        case.demand(NOTHING_LOST in line, f"{line!r}")
