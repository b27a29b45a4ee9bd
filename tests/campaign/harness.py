"""What the faults of the campaign share: a case, which runs the subject plainly and recorded, and the
promises that are checked of every one.

A fault is a function of a Case in a fault_*.py of this folder:

    @fault("limit", variants={"files": ..., ...})
    def limit(case): ...

Each of its variants is run with a seed; whatever it leaves to chance it draws from case.dice. What
is wrong it says with case.demand(); what cannot be tried here, with Skip.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

PATIENCE_S = 60.0  # for whatever should have ended
HEADER_BYTES = 64  # of a trace: nothing of the recording is in them
LOG_BYTES = 64 * 32768  # struct truth_log
TOOL_MEMORY_BYTES = 1 << 30  # what no program may make the recorder take
ENDS_WELL = (0, 7)  # how the subject exits when all is as it should be
NOTHING_LOST = "nothing was lost"
PR_SET_CHILD_SUBREAPER = 36

libc = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """The fault cannot be tried here; says why."""


class Broken(Exception):
    """A promise was not kept; says which."""


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str  # FAULT, or FAULT:VARIANT
    run: Callable[[Case], None]
    variant: Any


FAULTS: dict[str, Fault] = {}


def fault(name: str, variants: dict[str, Any] | None = None) -> Callable[..., Any]:
    """Lists a function as one fault, or as one per variant, whose value is case.variant then."""

    def list_it(run: Callable[[Case], None]) -> Callable[[Case], None]:
        for variant, value in (variants or {"": None}).items():
            full = f"{name}:{variant}" if variant else name
            FAULTS[full] = Fault(full, run, value)
        return run

    return list_it


def load_faults() -> dict[str, Fault]:
    folder = pathlib.Path(__file__).parent
    sys.path.insert(0, str(folder))
    for path in sorted(folder.glob("fault_*.py")):
        importlib.import_module(path.stem)
    return FAULTS


@dataclasses.dataclass
class Truth:
    """What the subject's books say: at least and at most so many, for one call of each thread may
    have been under way when it ended."""

    allocs: tuple[int, int]
    frees: tuple[int, int]
    bytes: tuple[int, int]
    books: int


@dataclasses.dataclass
class Figures:
    """What a case was about, for the sums of the campaign."""

    deaths: int = 0
    allocations: int = 0  # that were made while a recorder was there
    lost_said: int = 0
    lost_silently: int = 0
    invented: int = 0

    def add(self, other: Figures) -> None:
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


@dataclasses.dataclass
class Outcome:
    status: int  # negative: killed by a signal itself
    out: bytes
    err: str


def as_a_shell_would() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def adopt_orphans() -> None:
    """Whatever loses its parent becomes our child, so that nothing is left unseen."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as f:
        return [int(pid) for pid in f.read().split()]


def state_of(pid: int) -> str:
    """The letter of its state; empty: it is gone."""
    with contextlib.suppress(OSError, IndexError):
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    return ""


def until(happens: Callable[[], Any], what: str, patience: float = PATIENCE_S) -> Any:
    deadline = time.monotonic() + patience
    while True:
        value = happens()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Broken(f"waited in vain for {what}")
        time.sleep(0.002)


class Case:
    def __init__(self, fault_: Fault, seed: int, build: pathlib.Path, tool: pathlib.Path) -> None:
        self.variant = fault_.variant
        self.dice = random.Random(f"{fault_.name} {seed}")
        self.build, self.tool = build, tool
        self.programs = build / "tests" / "campaign"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="campaign-"))
        self.folder.chmod(0o777)
        self.trace = self.folder / "t.tide"
        self.figures = Figures()
        self.began: list[subprocess.Popen[bytes]] = []
        self.strays = self.left_behind()
        self.names = {"subject", "tidemark", "exe", ""}  # that may be in the trace; "": not known
        self.mode = ["--exact"]
        self.log = self.new_log()

    # What is run.

    def new_log(self) -> pathlib.Path:
        path = self.folder / f"log{len(list(self.folder.glob('log*')))}"
        with open(path, "wb") as f:
            f.truncate(LOG_BYTES)
        path.chmod(0o666)
        return path

    def subject(self, *args: object) -> list[str]:
        self.log = self.new_log()
        return [str(self.programs / "subject"), str(self.log), *map(str, args)]

    def recorder(self, command: list[str], *options: str) -> list[str]:
        return [str(self.tool), "record", "-q", "--no-names", *self.mode, *options, "-f", "-o",
                str(self.trace), "--", *command]

    def start(self, command: list[str], before: Callable[[], None] | None = None,
              **kw: Any) -> subprocess.Popen[bytes]:
        """Its output and its errors go to files: orphans may go on writing to them."""

        def prepare() -> None:
            as_a_shell_would()
            if before:
                before()

        number = len(self.began)
        with open(self.folder / f"out{number}", "wb") as out, \
                open(self.folder / f"err{number}", "wb") as err:
            kw.setdefault("cwd", self.folder)
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 start_new_session=True, preexec_fn=prepare, **kw)
        self.began.append(p)
        return p

    def finish(self, p: subprocess.Popen[bytes]) -> Outcome:
        try:
            status = p.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Broken(f"it did not end within {PATIENCE_S:.0f} s: "
                         f"{' '.join(map(str, p.args))}") from None  # type: ignore[arg-type]
        return self.said(p, status)

    def said(self, p: subprocess.Popen[bytes], status: int) -> Outcome:
        number = self.began.index(p)
        return Outcome(status, (self.folder / f"out{number}").read_bytes(),
                       (self.folder / f"err{number}").read_text(errors="replace"))

    def run(self, command: list[str], before: Callable[[], None] | None = None,
            **kw: Any) -> Outcome:
        return self.finish(self.start(command, before, **kw))

    def started(self) -> None:
        """Wait until the subject is at work."""
        until(lambda: self.log_words()[2], "the subject to begin")

    def log_words(self) -> tuple[int, ...]:
        with open(self.log, "rb") as f:
            return struct.unpack("8Q", f.read(64))

    def stop_subject(self) -> None:
        with open(self.log, "r+b") as f:
            f.seek(24)
            f.write(struct.pack("Q", 1))

    # What is promised.

    def demand(self, kept: object, promise: str) -> None:
        if not kept:
            raise Broken(promise)

    def truth(self) -> Truth:
        count = min(self.log_words()[0], LOG_BYTES // 64 - 1)
        with open(self.log, "rb") as f:
            f.seek(64)
            words = struct.unpack(f"{count * 8}Q", f.read(count * 64))
        total = [sum(words[i::8]) for i in range(6)]
        return Truth((total[1], total[0]), (total[3], total[2]), (total[5], total[4]), count)

    def same_end(self, plain: Outcome, recorded: Outcome, may_fail: bool = False) -> None:
        """The command did as it does without a recorder. may_fail: the recorder cannot work here; it
        may say so, but the command runs all the same."""
        status = plain.status if plain.status >= 0 else 128 - plain.status
        if status not in ENDS_WELL or b"cannot give up" in plain.out:
            raise Skip(f"the program itself does not work so: {status}, {plain.out[-80:]!r}")
        self.demand(recorded.status >= 0, f"the recorder died of signal {-recorded.status}")
        self.demand(recorded.out == plain.out,
                    f"the program said {recorded.out[-200:]!r}, plainly {plain.out[-200:]!r}; "
                    f"exit status {recorded.status}; {recorded.err[-300:]!r}")
        if may_fail and recorded.status == 125:
            self.demand(recorded.err, "exit status 125 without a sentence")
        else:
            self.demand(recorded.status == status,
                        f"exit status {recorded.status}, plainly {status}; {recorded.err[-300:]!r}")
        self.one_sentence(recorded.err.replace(plain.err, "", 1))

    def one_sentence(self, err: str) -> None:
        lines = err.splitlines()
        self.demand(len(lines) <= 1, f"more than a sentence: {err[-600:]!r}")
        self.demand(all(line.startswith("tidemark: ") for line in lines),
                    f"not a sentence of the recorder: {err[-300:]!r}")

    def report(self, question: str = "summary", trace: pathlib.Path | None = None) -> Any:
        done = subprocess.run([self.tool, "report", str(trace or self.trace), question, "-f", "json"],
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.demand(done.returncode == 0, f"report ends with {done.returncode}: "
                    f"{done.stderr.decode(errors='replace')[-300:]!r}")
        return json.loads(done.stdout)

    def tally(self) -> dict[str, Any]:
        done = subprocess.run([self.programs / "tally", self.trace], capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.demand(done.returncode == 0, f"the trace cannot be read: {done.stderr[-300:]!r}")
        tally: dict[str, Any] = json.loads(done.stdout)
        return tally

    def compare(self, all_of_it: bool = False, said: bool = False) -> None:
        """The trace against the books. all_of_it: nothing may be missing; said: what was lost was
        told in another way already. A report that says nothing at all claims to be whole."""
        answer, tally, truth = self.report(), self.tally(), self.truth()
        line = (answer["coverage"] or {}).get("line") or answer["health"] or NOTHING_LOST
        foreign = set(tally["names"]) - self.names
        self.demand(not foreign, f"other people's processes are in the trace: {sorted(foreign)}")
        self.figures.allocations += truth.allocs[0]
        if self.mode != ["--exact"]:
            self.compare_sampled(tally, truth, line, said)
            return
        for what in ("allocs", "frees", "bytes"):
            least, most = getattr(truth, what)
            got = tally[what]
            if got > most and what == "allocs":
                self.figures.invented += got - most
            self.demand(got <= most, f"{got} {what} in the trace, the program made {most}; {line!r}")
            if got >= least:
                continue
            silent = NOTHING_LOST in line and not said
            if what == "allocs":
                setattr(self.figures, "lost_silently" if silent else "lost_said", least - got)
            self.demand(not silent, f"{got} {what} of {least} in the trace, and it says {line!r}")
            self.demand(not all_of_it, f"{got} {what} of {least} in the trace: {line!r}")

    def each_is_known(self) -> None:
        """Every process is one row, by the pid that the kernel knows it by."""
        rows = self.report("processes")["tables"]["processes"]["rows"]
        nameless = [r["name"] for r in rows if not r["pid"]]
        self.demand(not nameless, f"nobody knows which processes these were: {nameless}")

    def compare_sampled(self, tally: dict[str, Any], truth: Truth, line: str, said: bool) -> None:
        """An estimate is within six of its standard errors (the mean is 512 KiB, and may have
        doubled some times), or a loss is said."""
        mean = 512 << 10
        most = truth.bytes[1]
        slack = 6 * (most * mean * 4) ** 0.5 + 8 * mean
        got = tally["sampled_bytes"]
        self.demand(got <= most + slack, f"{got} bytes estimated of {most}; {line!r}")
        self.demand(got >= truth.bytes[0] - slack or NOTHING_LOST not in line or said,
                    f"{got} bytes estimated of {most}, and it says {line!r}")

    def left_behind(self) -> set[str]:
        """What a recorder might leave: by its name, as others work here, too."""
        found = set()
        for folder in ("/dev/shm", "/tmp", tempfile.gettempdir()):
            with contextlib.suppress(OSError):
                found |= {f"{folder}/{name}" for name in os.listdir(folder) if "tidemark" in name
                          and not name.startswith("tidemark-test")}
        return found

    def memory_is_bounded(self) -> None:
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.demand(peak < TOOL_MEMORY_BYTES, f"something took {peak >> 20} MiB")

    # The end of it.

    def orphans(self, patience: float = 5.0) -> list[int]:
        """Who is still there when everybody should have ended, zombies of ours collected."""
        ours = {p.pid for p in self.began if p.returncode is None}
        deadline = time.monotonic() + patience
        while True:
            left = []
            for pid in children():
                if pid in ours:
                    continue
                if state_of(pid) == "Z":
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)
                else:
                    left.append(pid)
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.01)

    def check_end(self) -> None:
        left = [f"{pid} ({command_of(pid)})" for pid in self.orphans()]
        self.demand(not left, f"left running: {', '.join(left)}")
        new = {name for name in self.left_behind() - self.strays if of_nobody(name)}
        self.demand(not new, f"left behind: {sorted(new)}")

    def close(self) -> None:
        for p in self.began:
            if p.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(p.pid, signal.SIGCONT)
                    os.kill(p.pid, signal.SIGKILL)
                p.wait()
        for _ in range(3):
            for pid in self.orphans(0.1):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()
    return "gone"


def of_nobody(name: str) -> bool:
    """Whether a file that is named after a process is no longer of any."""
    numbers = re.findall(r"\d+", name.rpartition("/")[2])
    return not any(state_of(int(number)) for number in numbers)


# What faults prepare their commands with.

def need_root() -> None:
    if os.geteuid() != 0:
        raise Skip("only root can set this up")


def limit(which: int, amount: int) -> Callable[[], None]:
    def prepare() -> None:
        _, hard = resource.getrlimit(which)
        least = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(which, (least, least))

    return prepare


def become_nobody() -> None:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def unshare(flags: int) -> None:
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that take the processors."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for p in loops:
            p.kill()
            p.wait()
