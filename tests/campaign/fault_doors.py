"""Strangers come to the sockets of a recorder, and say nothing, or nonsense; and processes that live for a
few ms in other namespaces are known all the same, by the kernel's word."""

import contextlib
import os
import pathlib
import signal
import socket
import threading
import time

from harness import Case, Skip, fault, need_root, until

SPACES = {"pid": "-p", "net": "-pn", "all": "-Urpnim"}
FORKS = b"0 children harmed\n"


class Strangers:
    """They come to both doors as long as it lasts, and stay for a while."""

    def __init__(self, pid: int, words: bytes):
        self.pid, self.words, self.over, self.came = pid, words, False, 0
        self.thread = threading.Thread(target=self.come)
        self.thread.start()

    def come(self) -> None:
        there: list[socket.socket] = []
        while not self.over:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            there.append(s)
            with contextlib.suppress(OSError):
                s.connect(f"\0tidemark-{self.pid}-{'who' if self.came % 8 else 'ring'}")
                self.came += 1
                if self.words:
                    s.send(self.words)
            if len(there) > 100:
                there.pop(0).close()
        for s in there:
            s.close()

    def leave(self) -> None:
        self.over = True
        self.thread.join()


@fault("doors", {"silent": b"", "short": b"x", "nonsense": bytes(range(16)), "long": bytes(5000)})
def doors(case: Case) -> None:
    need_root()
    case.names |= {"unshare"}
    tool = case.start(case.recorder(["unshare", "-pf", *case.subject("fork", 30, 300, 2000)]))
    strangers = Strangers(tool.pid, case.variant)
    try:
        recorded = case.finish(tool)
    finally:
        strangers.leave()
    case.demand(recorded.status == 0 and recorded.out == FORKS, f"the program: {recorded}")
    case.compare(all_of_it=True)
    case.each_is_known()
    case.memory_is_bounded()


def inner(outer: int) -> int:
    children = pathlib.Path(f"/proc/{outer}/task/{outer}/children")
    return int(until(children.read_text, "unshare to fork").split()[0])


@fault("contained", SPACES)
def contained(case: Case) -> None:
    """Attached to from outside, with children that are over before anybody looks at them."""
    need_root()
    program = case.start(["unshare", case.variant, "-f", "--mount-proc",
                          *case.subject("fork", 60, 400, 5000)])
    with contextlib.suppress(Exception):
        case.started()
    if program.poll() is not None:
        raise Skip("there are no such namespaces here")
    tool = case.start([str(case.tool), "attach", "-q", "--no-names", *case.mode, "-f", "-o",
                       str(case.trace), str(inner(program.pid))])
    until(lambda: tool.poll() is not None or program.poll() is not None or case.trace.exists(),
          "the trace of an attached program")
    time.sleep(case.dice.uniform(0.05, 0.3))
    if tool.poll() is None:
        os.kill(tool.pid, signal.SIGINT)
    case.finish(tool)
    if program.poll() is not None:
        raise Skip("the program was over before the recorder could be signalled")
    went_on = case.finish(program)
    case.demand(went_on.status == 0 and went_on.out == FORKS, f"the program: {went_on}")
    case.each_is_known()
