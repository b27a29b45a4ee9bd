"""`tidemark attach` to processes that filter their system calls: whatever the filter does, they live."""

import pathlib
import re
import shutil
import struct
import subprocess

import pytest

import filters
from filters import ALLOW, DOCKER, KILL, KILL_THREAD, LOG, NOTIFY, PRETEND, REFUSE, TRACE, TRAP
from running import NOBODY, PATIENCE, need_root, start, status, until
from test_attach import Target, attach, program, refused, target, totals

FIXTURES = (start, attach, program, target, totals, Target)
TABLE = (pathlib.Path(__file__).parents[2] / "src" / "attach" / "confined.c").read_text()
NEEDED = sorted(set(re.findall(r"^    MUST\((\w+),", TABLE, re.M)))
OPTIONAL = sorted(set(re.findall(r"^    (?:MAY|SURE)\((\w+)\)", TABLE, re.M)))
# What the program itself does meanwhile, and libc when threads and processes begin and end.
OWN = """read write exit exit_group nanosleep clock_nanosleep futex mmap munmap mprotect madvise brk clone
clone3 rt_sigprocmask set_robust_list rseq wait4 getrandom restart_syscall prctl""".split()

pytestmark = need_root


@pytest.fixture
def confined(target, program, tmp_path):
    """confined(default, rules, how) -> a Target behind that filter; or (None, program)"""

    def call(default, rules, how="all"):
        path = tmp_path / "filter"
        path.write_bytes(rules if default is None else filters.program(default, rules))
        made = target(program("confined"), path, how)
        made.process.out.find(b"ready\n")
        return made

    return call


def recorded(one, attach):
    """It is recorded exactly, is let go, and lives."""
    one.say("a", "a done\n")
    tool = attach(one.pid)
    one.say("a", "a done\n")
    one.say("t", "t done\n")
    one.say("f", "f done\n")
    said = tool.detach()
    assert said["allocs"] - said["frees"] >= 50 + 10
    assert (said["losses"], said["unknown"]) == (0, 0)
    one.say("a", "a done\n")
    assert one.end()[0] == 0
    return said


def test_the_filter_of_containers_is_no_obstacle(confined, attach):
    one = confined(ALLOW, {name: REFUSE for name in DOCKER})
    said = recorded(one, attach)
    assert said["complete"] is True


def test_a_filter_that_only_logs(confined, attach):
    recorded(confined(LOG, {}), attach)


@pytest.mark.parametrize("action", [KILL, KILL_THREAD, TRAP, NOTIFY, PRETEND, REFUSE, TRACE])
def test_nothing_optional_is_tried_that_could_be_punished(confined, attach, action):
    punished = {name: action for name in OPTIONAL if name not in OWN}
    one = confined(ALLOW, punished)
    recorded(one, attach)


@pytest.mark.parametrize("action", [KILL, REFUSE])
def test_a_wait_is_not_gone_on_with_by_a_call_that_ends_it(confined, attach, action):
    one = confined(ALLOW, {"restart_syscall": action})
    for _ in range(3):
        tool = attach(one.pid)
        one.say("a", "a done\n")
        tool.detach()
    assert one.end()[0] == 0


def test_all_that_is_done_in_there_is_known(confined, attach):
    """Who lets through what is listed and what the program needs, and kills for the rest, is recorded."""
    recorded(confined(KILL, {name: ALLOW for name in {*NEEDED, *OPTIONAL, *OWN}}), attach)


def test_what_is_needed_is_enough(confined, attach):
    recorded(confined(KILL, {name: ALLOW for name in {*NEEDED, *OWN}}), attach)


@pytest.mark.parametrize("name", [name for name in NEEDED if name not in OWN])
def test_without_what_is_needed_it_is_left_alone(confined, run, tmp_path, name):
    one = confined(ALLOW, {name: KILL})
    refused(run, tmp_path, one.pid, 126, f"may not make the system call {name}")
    assert status(one.pid, "TracerPid") == "0"
    one.say("a", "a done\n")
    assert one.end()[0] == 0


def test_a_refusal_is_an_obstacle_as_well(confined, run, tmp_path):
    one = confined(ALLOW, {"openat": REFUSE})
    refused(run, tmp_path, one.pid, 126, "may not make the system call openat")
    one.say("a", "a done\n")
    assert one.end()[0] == 0


def test_memory_is_never_written_and_executed(confined, attach):
    """As systemd's MemoryDenyWriteExecute has it, but for the death."""
    table = filters.numbers()
    denied = b"".join(struct.pack("HBBI", *one) for one in [
        (0x20, 0, 0, 0), (0x15, 0, 4, table["mmap"]), (0x20, 0, 0, 32), (0x54, 0, 0, 6),
        (0x15, 0, 5, 6), (0x06, 0, 0, KILL),
        (0x15, 0, 3, table["mprotect"]), (0x20, 0, 0, 32), (0x45, 0, 1, 4), (0x06, 0, 0, KILL),
        (0x06, 0, 0, ALLOW)])
    recorded(confined(None, denied), attach)


def test_one_that_may_only_read_and_write(run, tmp_path, target):
    code = ("import ctypes, os\nlibc = ctypes.CDLL(None)\n"
            "os.write(1, b'did')\nassert libc.prctl(22, 1) == 0\nos.read(0, 1)\n"
            "libc.syscall(60, 0)\n")
    python = target("/usr/bin/python3", "-c", code)
    python.process.out.find(rb"did")
    until(lambda: status(python.pid, "Seccomp") == "1", "it to be confined")
    refused(run, tmp_path, python.pid, 126, "may only read and write")
    python.process.stdin.write(b"x")
    python.process.stdin.flush()
    assert python.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("name, action, sampled", [
    ("timer_create", KILL, False), ("timer_create", REFUSE, False), ("timer_delete", REFUSE, False),
    ("process_vm_readv", KILL, True)])
def test_it_is_said_when_cpu_time_cannot_be_sampled(confined, attach, run, name, action, sampled):
    one = confined(ALLOW, {name: action})
    tool = attach(one.pid)
    one.say("a", "a done\n")
    tool.detach()
    assert (b"CPU time is not sampled" in tool.err.rest()) is not sampled
    told = run("report", tool.trace, "summary").stdout
    assert ("CPU time sampled" in told) is sampled, told
    assert one.end()[0] == 0


def test_who_is_confined_meanwhile_is_let_go(confined, attach):
    """What is put back at the end takes calls that its new filter kills for: they are not made."""
    one = confined(ALLOW, {name: KILL for name in (*NEEDED, *OPTIONAL) if name not in OWN}, "later")
    tool = attach(one.pid)
    one.say("a", "a done\n")
    one.say("p", "p done\n")
    one.say("a", "a done\n")
    said = tool.detach()
    assert said["allocs"] == 200
    one.say("a", "a done\n")
    assert one.end()[0] == 0


def test_the_filter_of_any_thread_counts(confined, run, tmp_path):
    """Here the first one has none."""
    one = confined(ALLOW, {"openat": KILL}, "thread")
    assert status(one.pid, "Seccomp") == "0"
    refused(run, tmp_path, one.pid, 126, "may not make the system call openat")
    one.say("a", "a done\n")
    assert one.end()[0] == 0


def test_only_root_may_read_a_filter(target, public, build, tmp_path):
    """Another user cannot know what is let through, and says so."""
    code = ("import ctypes, struct, sys\nlibc = ctypes.CDLL(None)\n"
            "allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
            "program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(allow)))\n"
            "assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0\n"
            "print('did', flush=True)\nsys.stdin.read()\n")
    python = target(*NOBODY, "/usr/bin/python3", "-c", code)
    python.process.out.find(rb"did")
    folder = public()
    shutil.copy(build / "libtidemark.so", folder)
    done = subprocess.run([*NOBODY, folder / "tidemark", "attach", "-o", "/dev/null", str(python.pid)],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 126 and "only root may read" in done.stderr
    assert python.end()[0] == 0
