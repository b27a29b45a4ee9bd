"""What the tests of running programs share: processes that are talked to, terminals, other users.

Nothing here waits for a length of time: it waits for something to happen, at most PATIENCE.
"""

import fcntl
import os
import pty
import re
import select
import struct
import signal
import subprocess
import termios
import time

import pytest

PATIENCE = 40
MIB = 1 << 20
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

need_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can set this up")
need_mounts = pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0,
    reason="no mount namespaces here")


def until(happens, what):
    """Wait until happens() is true; its value."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = happens()
        if value:
            return value
        time.sleep(0.01)
    pytest.fail(f"waited in vain for {what}")


class Talk:
    """Reads one descriptor as it is written, by line or until a pattern; keeps all in .seen"""

    def __init__(self, fd):
        self.fd, self.seen, self.taken, self.ended = fd, b"", 0, False

    def more(self):
        ready, _, _ = select.select([self.fd], [], [], PATIENCE)
        if not ready:
            pytest.fail(f"nothing more came after {self.seen!r}")
        try:
            got = os.read(self.fd, 65536)
        except OSError:  # a terminal whose other side is closed
            got = b""
        self.seen += got
        self.ended = not got

    def find(self, pattern):
        """Wait for the pattern after what was found before; the match."""
        while True:
            match = re.compile(pattern, re.S).search(self.seen, self.taken)
            if match:
                self.taken = match.end()
                return match
            if self.ended:
                pytest.fail(f"{pattern!r} never came: {self.seen!r}")
            self.more()

    def rest(self):
        while not self.ended:
            self.more()
        return self.seen


def as_a_shell_would():
    """Signals that whoever started the tests ignores (nohup, a background job) act again."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def start(tidemark):
    """start(*args, **kw) -> Popen of the tool with pipes, and Talk as .out and .err"""
    begun = []

    def call(*args, tool=tidemark, **kw):
        for stream in ("stdin", "stdout", "stderr"):
            kw.setdefault(stream, subprocess.PIPE)
        before = kw.pop("before", [])
        kw.setdefault("preexec_fn", as_a_shell_would)
        p = subprocess.Popen([*before, *([tool] if tool else []), *map(os.fspath, args)], **kw)
        begun.append(p)
        p.out = Talk(p.stdout.fileno()) if p.stdout else None
        p.err = Talk(p.stderr.fileno()) if p.stderr else None
        return p

    yield call
    for p in begun:
        if p.poll() is None:
            p.kill()
        p.wait(PATIENCE)
        for stream in (p.stdin, p.stdout, p.stderr):
            if stream:
                stream.close()


@pytest.fixture
def terminal():
    """terminal(args, rows, columns) -> Popen on a terminal of its own, with Talk as .tty"""
    begun = []

    def call(args, rows=24, columns=80, **kw):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

        def own():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        for stream in ("stdin", "stdout", "stderr"):
            kw.setdefault(stream, slave)
        p = subprocess.Popen([*map(os.fspath, args)], preexec_fn=own, **kw)
        os.close(slave)
        p.tty, p.master = Talk(master), master
        p.type = lambda keys: os.write(master, keys)
        begun.append(p)
        return p

    yield call
    for p in begun:
        if p.poll() is None:
            p.kill()
        os.close(p.master)
        p.wait(PATIENCE)


def status(pid, key):
    """A value of /proc/PID/status; None: no such process."""
    try:
        with open(f"/proc/{pid}/status") as f:
            found = [line.split(":")[1].strip() for line in f if line.startswith(key + ":")]
            return found[0] if found else None
    except (FileNotFoundError, ProcessLookupError):
        return None


def takes(pid, signal):
    """Whether a signal sent now would reach the program rather than kill it."""
    masks = [int(status(pid, key) or "0", 16) for key in ("SigBlk", "SigCgt")]
    return any(mask >> (signal - 1) & 1 for mask in masks)


def watching(pid):
    """Wait until the tool at pid has taken charge of its signals."""
    until(lambda: takes(pid, 2), "the tool to take its signals")


def attached(tool, pid):
    """Wait until the tool has opened the process that it was told to watch, and sleeps."""
    def keeps():
        folder = f"/proc/{tool}/fd"
        links = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
        return any(f"/{pid}/" in link for link in links) and status(tool, "State").startswith("S")

    watching(tool)
    until(keeps, f"the tool to open process {pid}")


class Screen:
    """A terminal: its rows, the lines that left it at the top, a scrolling region, a cursor."""

    TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b([78D])|(.)", re.S)

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.gone, self.lines = [], [""] * rows
        self.top, self.bottom = 0, rows - 1
        self.row = self.column = 0
        self.saved = 0, 0

    def down(self):
        """Line feed: at the bottom of the region its lines move up."""
        if self.row == self.bottom:
            first = self.lines.pop(self.top)
            if self.top == 0:
                self.gone.append(first)
            self.lines.insert(self.bottom, "")
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def put(self, char):
        if self.column >= self.columns:
            self.column = 0
            self.down()
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
        self.column += 1

    def erase(self, letter, number):
        line = self.lines[self.row]
        if letter == "J" and number == 0:
            self.lines[self.row:] = [line[:self.column]] + [""] * (self.rows - self.row - 1)
        elif letter == "K":
            kept = {0: line[:self.column], 1: " " * self.column + line[self.column:], 2: ""}
            self.lines[self.row] = kept[number]
        else:
            raise AssertionError(f"the screen does not know ESC[{number}{letter}")

    def control(self, argument, letter):
        numbers = [int(n or 0) for n in argument.split(";")] if argument[:1] != "?" else []
        step = max(numbers[0], 1) if numbers else 1
        if letter in "ABEF":
            self.row += -step if letter in "AF" else step
            self.column = 0 if letter in "EF" else self.column
        elif letter in "CD":
            self.column += step if letter == "C" else -step
        elif letter == "G":
            self.column = step - 1
        elif letter == "H":
            self.row, self.column = step - 1, max(*numbers[1:], 1, 1) - 1
        elif letter == "r":
            self.top, self.bottom = step - 1, (numbers[1] if len(numbers) > 1 else self.rows) - 1
            self.row = self.column = 0
        elif letter in "JK":
            self.erase(letter, numbers[0])
        elif letter not in "mhl":
            raise AssertionError(f"the screen does not know ESC[{argument}{letter}")
        self.row = min(max(self.row, 0), self.rows - 1)
        self.column = min(max(self.column, 0), self.columns)

    def feed(self, text):
        for argument, letter, single, char in self.TOKEN.findall(text):
            if letter:
                self.control(argument, letter)
            elif single == "7":
                self.saved = self.row, self.column
            elif single == "8":
                self.row, self.column = self.saved
            elif char == "\r":
                self.column = 0
            elif char == "\n" or single == "D":
                self.down()
            elif char >= " ":
                self.put(char)
        return self

    def text(self):
        """Every line from the beginning, without the empty ones at the end."""
        return "\n".join(line.rstrip() for line in self.gone + self.lines).rstrip("\n").split("\n")
