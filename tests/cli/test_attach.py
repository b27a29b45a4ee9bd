"""`tidemark attach`, `detach`, `pause`, `resume` and `snapshot` on programs that already run."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

from running import NOBODY, PATIENCE, need_mounts, need_root, start, status, until

FIXTURES = (start,)

HOOKED = set("malloc free calloc realloc posix_memalign aligned_alloc memalign valloc pvalloc mmap "
             "munmap mremap brk sbrk dlopen dlmopen dlsym dlclose reallocarray mmap64".split())
WAITS = ["sleep", "poll", "ppoll", "select", "epoll", "futex", "semaphore", "receive", "child",
         "spin"]


@pytest.fixture
def program(build):
    """program(name) -> the path of a program of tests/targets/record"""
    return lambda name: str(build / "tests" / "targets" / "record" / name)


class Target:
    """A program that is talked to; it must live until it is told to end."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid

    def say(self, word, answer):
        self.process.stdin.write(word.encode())
        self.process.stdin.flush()
        return self.process.out.find(answer.encode()).group(0).decode()

    def end(self):
        self.process.stdin.close()
        rest = self.process.out.rest()[self.process.out.taken:].decode()
        return self.process.wait(PATIENCE), rest


@pytest.fixture
def target(start):
    """target(*command) -> a Target; kept from the tool that tests use as `start`"""
    return lambda *command, **kw: Target(start(*command, tool=None, **kw))


@pytest.fixture
def totals(build):
    def call(trace):
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", trace], check=True,
                              capture_output=True, text=True, timeout=60)
        return json.loads(said.stdout)

    return call


@pytest.fixture
def attach(start, run, tmp_path, totals):
    """attach(pid) -> the tool once it records; .detach() ends that and gives the trace's totals"""

    def call(pid, *how, exact=True):
        trace = tmp_path / f"{pid}.{time.monotonic_ns()}.tide"
        tool = start("attach", "--no-names", *(["--exact"] if exact else []), *how, "-f", "-o", trace,
                     str(pid))
        tool.err.find(rb"recording process \d+")
        tool.trace = trace

        def detach():
            done = run("detach", str(pid))
            assert done.returncode == 0, done.stderr
            assert tool.wait(PATIENCE) == 0
            return totals(trace)

        tool.detach = detach
        return tool

    return call


def slots(pid):
    """Every address that leads to a hooked function, of all objects: (file, offset, name) -> value"""
    found, bases = {}, {}
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            words = line.split()
            if len(words) == 6 and words[5].startswith("/") and int(words[2], 16) == 0:
                bases.setdefault(words[5], int(words[0].split("-")[0], 16))
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for path, base in bases.items():
            if not os.path.exists(path) or "tidemark" in os.path.basename(path):
                continue
            told = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True).stdout
            kind = subprocess.run(["readelf", "-hW", path], capture_output=True, text=True).stdout
            for line in told.splitlines():
                words = line.split()
                if (len(words) > 4 and words[2] in ("R_X86_64_JUMP_SLOT", "R_X86_64_GLOB_DAT",
                                                    "R_X86_64_JUMP_SLO")
                        and words[4].split("@")[0] in HOOKED):
                    offset = int(words[0], 16)
                    at = offset if "EXEC" in kind else base + offset
                    memory.seek(at)
                    found[path, offset, words[4].split("@")[0]] = int.from_bytes(memory.read(8), "little")
    return found


def rights(pid):
    """The protection of every page that comes from a file other than ours"""
    with open(f"/proc/{pid}/maps") as maps:
        return [line.split()[:3] for line in maps if "/" in line and "tidemark" not in line]


def put_back(before, after):
    """All as it was, but that the loader may have bound what it had not: to libc's own function."""
    libc = next(path for path, _, _ in before if "libc.so" in path)
    told = subprocess.run(["nm", "-D", "--defined-only", libc], capture_output=True, text=True,
                          check=True).stdout
    offsets = {words[2].split("@")[0]: int(words[0], 16) for words in map(str.split, told.splitlines())
               if len(words) == 3}
    bias = {value - offsets[name] for (_, _, name), value in before.items()
            if name == "malloc"}  # bound at its start
    assert len(bias) == 1
    for slot, value in before.items():
        assert after[slot] == value or after[slot] == offsets[slot[2]] + min(bias), slot


CALM = r"\w interrupted 0 early 0\n"


@pytest.mark.parametrize("name", ["attachee", "attachee_holes"])
def test_known_allocations_of_threads_that_wait(target, program, attach, name):
    attachee = target(program(name))
    attachee.say("x", CALM)
    for _ in range(3):
        tool = attach(attachee.pid)
        attachee.say("a", CALM)
        attachee.say("a", CALM)
        said = tool.detach()
        assert (said["allocs"], said["frees"]) == (2 * 110, 2 * 50)
        assert said["live_bytes"] == 2 * (50 * 1000 + 10 * 5000)
        assert (said["unknown"], said["losses"], said["complete"]) == (0, 0, True)
        assert said["threads"] >= 2
        attachee.say("a", CALM)  # unseen
    tool = attach(attachee.pid)
    attachee.say("f", CALM)  # 3 * 3 * 50 blocks and 20 more that no recording knows
    said = tool.detach()
    assert (said["allocs"], said["unknown"]) == (0, 470)
    assert attachee.end() == (0, "")


def test_a_child_is_recorded_too(target, program, attach):
    attachee = target(program("attachee"))
    attachee.say("x", CALM)
    tool = attach(attachee.pid)
    attachee.say("c", CALM)
    said = tool.detach()
    assert (said["processes"], said["live_bytes"]) == (2, 77777)
    assert attachee.end()[0] == 0


def test_a_thread_that_never_rests(target, program, attach):
    attachee = target(program("attachee"), "spin")
    attachee.say("x", CALM)
    for _ in range(3):
        tool = attach(attachee.pid)
        attachee.say("a", CALM)
        said = tool.detach()
        assert said["allocs"] >= 110
        attachee.say("x", CALM)
    assert attachee.end()[0] == 0


@pytest.mark.parametrize("how", WAITS)
def test_every_way_of_waiting_goes_on(target, program, run, tmp_path, totals, how):
    attachee = target(program("attachee"), "alone", how)
    allocs = 0
    for _ in range(4):
        trace = tmp_path / "t.tide"
        done = run("attach", "-q", "--no-names", "--exact", "--duration", "320ms", "-f", "-o", trace,
                   str(attachee.pid))
        assert (done.returncode, done.stderr) == (0, "")
        allocs += totals(trace)["allocs"]
    assert allocs >= 1
    assert attachee.end() == (0, "interrupted 0 early 0\n")


@pytest.mark.parametrize("name", ["attachee", "attachee_holes"])
def test_everything_is_put_back(target, program, attach, name):
    attachee = target(program(name))
    attachee.say("a", CALM)
    before, pages = slots(attachee.pid), rights(attachee.pid)
    assert len(before) > 5
    tool = attach(attachee.pid)
    attachee.say("a", CALM)
    during = slots(attachee.pid)
    assert rights(attachee.pid) == pages
    tool.detach()
    put_back(before, slots(attachee.pid))
    assert rights(attachee.pid) == pages
    changed = {slot for slot in before if before[slot] != during[slot]}
    assert len(changed) > 5
    assert any("libc.so" in path for path, _, _ in changed)
    assert attachee.end()[0] == 0


def test_python(target, attach):
    code = "import sys, json\nkept = []\nfor line in sys.stdin:\n    exec(line)\n    print('did', flush=True)\n"
    python = target("/usr/bin/python3", "-c", code)
    python.say("kept.append(bytearray(1000000))\n", "did\n")
    for _ in range(2):
        tool = attach(python.pid)
        python.say("kept.append(bytearray(5000000)); kept.append(json.loads('[1, 2, 3]' * 1))\n", "did\n")
        python.say("import decimal, ctypes\n", "did\n")  # libraries that come meanwhile
        python.say("del kept[0]\n", "did\n")
        said = tool.detach()
        assert 5000000 <= said["live_bytes"] < 9000000 and said["unknown"] >= 1
        python.say("kept.append(bytearray(3000000))\n", "did\n")
    assert python.end()[0] == 0


def test_sqlite3_that_waits_for_input(target, attach):
    if not shutil.which("sqlite3"):
        pytest.skip("sqlite3 is not installed")
    query = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) "
             "select sum(length(printf('%0100d', i))) from n;\n")
    shell = target("sqlite3", "-batch", ":memory:")
    shell.say("create table t(a); select 'made';\n", "made\n")
    for _ in range(2):
        tool = attach(shell.pid)
        shell.say(query, "300000\n")
        shell.say("insert into t values (zeroblob(2000000)); select 'put';\n", "put\n")
        said = tool.detach()
        assert said["allocs"] > 100 and said["live_bytes"] > 1000000
        shell.say(query, "300000\n")
    shell.say("select count(*) from t;\n", "2\n")
    assert shell.end()[0] == 0


def test_redis_that_serves(target, attach, tmp_path):
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    socket = tmp_path / "s"
    server = target("redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                    "--daemonize", "no", cwd=tmp_path)

    def ask(*words):
        done = subprocess.run(["redis-cli", "-s", socket, *words], capture_output=True, text=True,
                              timeout=PATIENCE)
        return done.stdout.strip()

    until(lambda: ask("ping") == "PONG", "redis to answer")
    for _ in range(2):
        tool = attach(server.pid)
        for i in range(20):
            assert ask("set", f"k{i}", "x" * 10000) == "OK"
        assert ask("get", "k7") == "x" * 10000
        said = tool.detach()
        assert said["allocs"] > 100
        assert ask("ping") == "PONG"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0


def test_plugins_that_come_later(target, program, attach):
    """Loaded by a caller whose own search path counts, by RTLD_DEEPBIND, and in a namespace."""
    code = ("import sys, ctypes, os\n"
            "for line in sys.stdin:\n    exec(line)\n    print('did', flush=True)\n")
    python = target("/usr/bin/python3", "-c", code)
    tool = attach(python.pid)
    plugin = program("plugin.so")
    python.say(f"deep = ctypes.CDLL({plugin!r}, mode=os.RTLD_LAZY | os.RTLD_DEEPBIND)\n", "did\n")
    python.say("deep.plugin_alloc(7000001)\n", "did\n")
    python.say("c = ctypes.CDLL(None); c.dlmopen.restype = c.dlsym.restype = ctypes.c_void_p; "
               f"h = c.dlmopen(-1, {plugin!r}.encode(), 2)\n", "did\n")
    python.say("ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(c.dlsym(ctypes.c_void_p(h), "
               "b'plugin_alloc'))(11000001)\n", "did\n")
    said = tool.detach()
    assert 18000002 <= said["live_bytes"] < 22000000
    assert python.end()[0] == 0


def test_pause_and_resume(target, program, attach, run, totals):
    attachee = target(program("attachee"))
    attachee.say("x", CALM)
    tool = attach(attachee.pid)
    attachee.say("a", CALM)
    assert run("pause", str(attachee.pid)).returncode == 0
    attachee.say("a", CALM)  # the blocks that live on are not seen
    attachee.say("f", CALM)  # but the deaths of those before
    assert run("resume", str(attachee.pid)).returncode == 0
    taken = run("snapshot", "--name", "after", str(attachee.pid))
    assert re.fullmatch(r"\d+\.\d{6}\n", taken.stdout)
    attachee.say("a", CALM)
    said = tool.detach()
    assert said["allocs"] == 2 * 110
    assert said["live_bytes"] == 50 * 1000 + 2 * 10 * 5000
    assert said["unknown"] == 50 + 50 + 20  # freed at once, by 'f', and from before
    assert said["marks"] == 3
    text = run("report", tool.trace).stdout
    assert "the recording was paused for" in text
    assert "never seen alive" not in text
    at = run("report", tool.trace, "peak", "-f", "json", "--at", taken.stdout.strip())
    assert at.returncode == 0, at.stderr
    rows = json.loads(at.stdout)["tables"]["peak"]["rows"]
    named = run("report", tool.trace, "peak", "-f", "json", "--at", "after")
    assert json.loads(named.stdout)["tables"]["peak"]["rows"] == rows
    marks = run("report", tool.trace, "steps", "-f", "json")
    mark = json.loads(marks.stdout)["tables"]["marks"]["rows"][0]
    assert mark["name"] == "after" and mark["heap"] == sum(row["bytes"] for row in rows)
    assert [row["bytes"] for row in rows] == [10 * 5000]
    assert attachee.end()[0] == 0


def test_recording_that_starts_paused(start, run, program, tmp_path, totals):
    trace = tmp_path / "t.tide"
    tool = start("record", "-q", "--no-names", "--exact", "--start-paused", "-f", "-o", trace,
                 program("attachee"))
    child = pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children")

    def say():
        tool.stdin.write(b"a")
        tool.stdin.flush()
        tool.out.find(CALM.encode())

    say()
    pid = child.read_text().split()[0]
    assert run("resume", pid).returncode == 0
    say()
    done = run("detach", pid)
    assert done.returncode == 1 and "record" in done.stderr
    tool.stdin.close()
    assert tool.wait(PATIENCE) == 0
    said = totals(trace)
    assert said["allocs"] == 110
    assert "the recording was paused for" in run("report", trace).stdout


def test_a_target_that_is_killed(target, program, attach, totals):
    attachee = target(program("attachee"))
    tool = attach(attachee.pid)
    attachee.say("a", CALM)
    os.kill(attachee.pid, signal.SIGKILL)
    assert tool.wait(PATIENCE) == 0
    assert totals(tool.trace)["live_bytes"] == 100000
    attachee.process.wait(PATIENCE)


@pytest.mark.parametrize("exact", [True, False])
def test_a_recorder_that_is_killed(target, program, attach, run, exact):
    attachee = target(program("attachee"), "spin")
    attachee.say("x", CALM)
    before = slots(attachee.pid)
    tool = attach(attachee.pid, exact=exact)
    tool.kill()
    tool.wait(PATIENCE)
    attachee.say("a", CALM)
    assert run("detach", str(attachee.pid)).returncode == 0  # puts back what it could not
    put_back(before, slots(attachee.pid))
    said = attach(attachee.pid).detach()
    assert said["complete"]
    attachee.say("a", CALM)
    assert attachee.end()[0] == 0


def test_interrupt_ends_it_in_good_order(target, program, attach, totals):
    attachee = target(program("attachee"))
    tool = attach(attachee.pid)
    attachee.say("a", CALM)
    tool.send_signal(signal.SIGINT)
    assert tool.wait(PATIENCE) == 0
    said = totals(tool.trace)
    assert (said["complete"], said["allocs"]) == (True, 110)
    assert attachee.end()[0] == 0


def test_names_are_in_the_trace(target, program, run, tmp_path, start):
    attachee = target(program("attachee"))
    attachee.say("x", CALM)
    trace = tmp_path / "t.tide"
    tool = start("attach", "--exact", "-f", "-o", trace, str(attachee.pid))
    tool.err.find(rb"recording")
    attachee.say("a", CALM)
    assert run("detach", str(attachee.pid)).returncode == 0
    told = run("report", trace, "sites", "-f", "json").stdout
    assert "obey" in told and "worker" in told and "attachee.c" in told
    assert attachee.end()[0] == 0


def test_a_program_that_loads_it_itself(target, start, tmp_path, totals):
    code = ("import sys, ctypes\n"
            "for line in sys.stdin:\n    exec(line)\n    print('did', flush=True)\n")
    python = target("/usr/bin/python3", "-c", code)
    trace = tmp_path / "t.tide"
    tool = start("attach", "--self-loading", "--no-names", "--exact", "-f", "-o", trace, str(python.pid))
    ring, library = tool.out.find(rb"(\S+) (\S+)\n").group(0).decode().split()
    python.say(f"lib = ctypes.CDLL({library!r}, mode=2)\n", "did\n")
    python.say(f"assert lib.tidemark_join({ring!r}.encode()) == 0\n", "did\n")
    python.say(f"assert lib.tidemark_join({ring!r}.encode()) == 1\n", "did\n")  # already
    python.say("kept = bytearray(6000000)\n", "did\n")
    python.say("lib.tidemark_leave()\n", "did\n")
    python.say("more = bytearray(6000000)\n", "did\n")
    tool.send_signal(signal.SIGINT)
    assert tool.wait(PATIENCE) == 0
    assert 6000000 <= totals(trace)["live_bytes"] < 9000000
    assert python.end()[0] == 0


# What cannot be


def refused(run, tmp_path, pid, code, words, *how):
    done = run("attach", *how, str(pid), cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert re.fullmatch(r"tidemark: [^\n]+\n", done.stderr), done.stderr
    assert words in done.stderr
    assert not list(tmp_path.glob("*.tide"))


def test_no_such_process(run, tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    refused(run, tmp_path, gone.pid, 127, "there is no process")
    assert run("detach", str(gone.pid)).returncode == 1


@pytest.mark.parametrize("words", [(), ("x",), ("1", "2"), ("--duration", "0", "1"),
                                   ("--exact", "--sample", "1MiB", "1")])
def test_wrong_words(run, tmp_path, words):
    done = run("attach", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"tidemark: [^\n]+\n", done.stderr), done.stderr


def test_a_static_program(run, tmp_path, target):
    source = tmp_path / "s.c"
    source.write_text("#include <unistd.h>\nint main(void){char c;return (int)read(0,&c,1);}\n")
    subprocess.run(["cc", "-static", "-o", tmp_path / "s", source], check=True)
    waits = target(tmp_path / "s")
    refused(run, tmp_path, waits.pid, 126, "statically linked")
    assert waits.end()[0] == 0


def test_one_that_is_recorded_already(run, tmp_path, target, program, attach, start):
    attachee = target(program("attachee"))
    tool = attach(attachee.pid)
    folder = tmp_path / "other"
    folder.mkdir()
    refused(run, folder, attachee.pid, 126, "already being recorded")
    attachee.say("a", CALM)
    assert tool.detach()["allocs"] == 110
    assert attachee.end()[0] == 0
    done = run("pause", str(os.getpid()))
    assert done.returncode == 1 and "not being recorded" in done.stderr


def test_one_that_is_traced(run, tmp_path, target, program):
    attachee = target(program("attachee"))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(0x4206, attachee.pid, None, None) == 0  # PTRACE_SEIZE
    refused(run, tmp_path, attachee.pid, 126, f"traced by process {os.getpid()}")
    attachee.process.kill()
    attachee.process.wait()


def test_one_that_is_stopped(run, tmp_path, target, program):
    attachee = target(program("attachee"))
    os.kill(attachee.pid, signal.SIGSTOP)
    until(lambda: status(attachee.pid, "State").startswith("T"), "it to stop")
    refused(run, tmp_path, attachee.pid, 126, "kill -CONT")
    os.kill(attachee.pid, signal.SIGCONT)
    attachee.say("a", r"a interrupted \d+ early \d+\n")  # by the stop itself: see signal(7)
    assert attachee.end()[0] == 0


@need_root
def test_one_of_another_user(run, tmp_path, target, program, attach, public, build):
    """Root may enter it; another user may not."""
    folder = public()
    shutil.copy(program("attachee"), folder / "attachee")
    theirs = target(*NOBODY, folder / "attachee")
    theirs.say("x", CALM)
    tool = attach(theirs.pid)
    theirs.say("a", CALM)
    assert tool.detach()["allocs"] == 110
    theirs.say("x", CALM)
    assert theirs.end()[0] == 0
    ours = target(program("attachee"))
    done = subprocess.run([*NOBODY, folder / "tidemark", "attach", str(ours.pid)], text=True,
                          capture_output=True, cwd="/")
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)
    assert "another user" in done.stderr
    assert ours.end()[0] == 0


@need_root
def test_root_with_less_than_its_target_has_is_not_told_to_be_root(tidemark, target, program):
    """As in a container without the right to trace."""
    theirs = target(program("attachee"))
    theirs.say("x", CALM)
    done = subprocess.run(["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", tidemark, "attach",
                           str(theirs.pid)], text=True, capture_output=True, cwd="/")
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)
    assert "outside the container" in done.stderr and "as root" not in done.stderr
    theirs.say("x", CALM)
    assert theirs.end()[0] == 0


@need_root
@need_mounts
def test_one_that_does_not_see_our_files(target, tmp_path, build, totals, program, start):
    """In a mount namespace where the library is hidden: it gets a copy without a name."""
    tool = tmp_path / "tool"
    tool.mkdir()
    for name in ("tidemark", "libtidemark.so"):
        shutil.copy(build / name, tool / name)
    hidden = target("unshare", "-m", "sh", "-c",
                    f"mount -t tmpfs none {tool} && exec {program('attachee')}")
    hidden.say("x", CALM)
    recorder = start("attach", "--no-names", "--exact", "-f", "-o", tmp_path / "t.tide", str(hidden.pid),
                     tool=tool / "tidemark")
    recorder.err.find(rb"recording process|tidemark: .*\n")
    hidden.say("a", CALM)
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(PATIENCE) == 0, recorder.err.rest()
    assert totals(tmp_path / "t.tide")["allocs"] == 110
    assert hidden.end()[0] == 0


# Where the process sees other files or other pids than we do


def inner(outer):
    """The process that unshare or chroot has started"""
    folder = f"/proc/{outer}/task/{outer}/children"
    return int(until(lambda: pathlib.Path(folder).read_text(), "it to fork").split()[0])


@need_root
@need_mounts
@pytest.mark.parametrize("spaces", ["-p", "-pn", "-Urpnim"])
def test_one_with_pids_of_its_own(target, program, attach, run, spaces):
    """And with a network of its own, in which nothing of ours is seen, as in a container."""
    inside = target("unshare", spaces, "-f", "--mount-proc", program("attachee"))
    inside.say("x", CALM)
    pid = inner(inside.pid)
    for _ in range(3):
        tool = attach(pid)
        inside.say("a", CALM)
        inside.say("c", CALM)
        said = tool.detach()
        assert (said["allocs"], said["frees"], said["losses"]) == (111, 50, 0)
        assert said["complete"]
        assert said["processes"] == 2
        told = json.loads(run("report", tool.trace, "processes", "-f", "json").stdout)
        pids = [row["pid"] for row in told["tables"]["processes"]["rows"]]
        assert pid in pids and len(pids) == 2 and None not in pids  # a child of no time as well
        inside.say("a", CALM)  # unseen
    assert not [line for line in open(f"/proc/{pid}/maps") if "/memfd:tidemark-entering" in line]
    assert not [fd for fd in os.listdir(f"/proc/{pid}/fd")
                if "tidemark" in os.readlink(f"/proc/{pid}/fd/{fd}")]
    tool = attach(pid)
    tool.kill()
    tool.wait(PATIENCE)
    inside.say("a", CALM)
    assert run("detach", str(pid)).returncode == 0
    assert attach(pid).detach()["complete"]
    inside.say("a", CALM)
    assert inside.end()[0] == 0


def make_root(folder, file):
    """A folder to chroot into, with a program and its libraries and nothing else"""
    told = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    for path in [file, *re.findall(r"(/\S+) \(", told)]:
        to = folder / os.path.realpath(path).lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
        link = folder / path.lstrip("/")
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, link)


@need_root
@pytest.mark.parametrize("proc", [True, False])
def test_one_in_a_root_of_its_own(target, program, attach, tmp_path, proc):
    """With /proc the library comes as a memfd, without by a file that is gone afterwards."""
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    make_root(root, program("attachee"))
    if proc:
        (root / "proc").mkdir()
        command = ["unshare", "-m", "sh", "-c", f"mount -t proc none {root}/proc && "
                   f"exec chroot {root} {program('attachee')}"]
    else:
        command = ["chroot", root, program("attachee")]
    inside = target(*command)
    inside.say("x", CALM)
    for _ in range(2):
        tool = attach(inside.pid)
        inside.say("a", CALM)
        said = tool.detach()
        assert (said["allocs"], said["losses"], said["complete"]) == (110, 0, True)
        inside.say("a", CALM)
    assert not list(root.rglob("libtidemark*"))
    assert inside.end()[0] == 0


# When we do not get to the end


def helpers(tool):
    try:
        folder = pathlib.Path(f"/proc/{tool}/task/{tool}/children")
        return [int(word) for word in folder.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


@pytest.mark.parametrize("how", [(), ("spin",)])
def test_a_tool_that_is_killed_while_it_enters(target, program, start, attach, tmp_path, how):
    """At whatever moment, and with the one that enters for it: the borrowed thread finds back."""
    attachee = target(program("attachee"), *how)
    attachee.say("x", CALM)
    for i in range(16):
        tool = start("attach", "--exact", "--no-names", "-f", "-o", tmp_path / "k.tide",
                     str(attachee.pid))
        time.sleep(i * 0.003)  # wherever it is then
        for pid in [*helpers(tool.pid), tool.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        tool.wait(PATIENCE)
        attachee.say("a", CALM)
        if i % 5 == 4:
            attachee.say("f", CALM)
    said = attach(attachee.pid).detach()
    assert said["complete"]
    assert attachee.end()[0] == 0


def test_a_tool_that_is_told_to_end_while_it_enters(target, program, start, tmp_path):
    """A thread that holds the loader's lock makes it wait; it obeys, and nobody stands still."""
    freed = tmp_path / "freed"
    code = ("import ctypes, os, sys, threading, time\n"
            "f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)\n"
            "@f\ndef visit(*a):\n    print('held', flush=True)\n"
            f"    while not os.path.exists({str(freed)!r}): time.sleep(0.01)\n    return 1\n"
            "libc = ctypes.CDLL(None)\n"
            "threading.Thread(target=lambda: libc.dl_iterate_phdr(visit, None)).start()\n"
            "for line in sys.stdin:\n    print('did', flush=True)\n")
    python = target("/usr/bin/python3", "-c", code)
    python.process.out.find(rb"held")
    python.say("x\n", "did\n")
    tool = start("attach", "--no-names", "-f", "-o", tmp_path / "t.tide", str(python.pid))
    until(lambda: "tidemark-entering" in open(f"/proc/{python.pid}/maps").read(), "it to enter")
    tool.send_signal(signal.SIGTERM)
    assert tool.wait(PATIENCE) in (126, -signal.SIGTERM, 0)  # 0: by the thread that holds it, which may
    if tool.returncode == 126:
        assert re.fullmatch(rb"tidemark: [^\n]+\n", tool.err.rest())
    assert status(python.pid, "TracerPid") == "0"
    freed.touch()
    python.say("x\n", "did\n")
    assert python.end()[0] == 0


def test_a_call_that_meets_a_fault_is_the_last(target, run, tmp_path):
    """Its dlopen is broken: the process goes on, and is not entered again."""
    source = tmp_path / "s.c"
    source.write_text("#include <unistd.h>\nvoid *dlopen(const char *f, int n)\n"
                      "{ *(volatile int *)8 = n; return (void *)f; }\n"
                      "int main(void) { char c; while (read(0, &c, 1) == 1) write(1, &c, 1); "
                      "return 0; }\n")
    subprocess.run(["cc", "-rdynamic", "-o", tmp_path / "s", source], check=True)
    broken = target(tmp_path / "s")
    broken.say("a", "a")
    refused(run, tmp_path, broken.pid, 126, "cannot be attached to again")
    broken.say("b", "b")
    refused(run, tmp_path, broken.pid, 126, "an earlier attempt")
    broken.say("c", "c")
    assert broken.end()[0] == 0


def test_it_waits_for_a_thread_that_is_long_in_the_allocator(target, attach, tmp_path):
    """Nobody is borrowed there; when it comes out, it is."""
    (tmp_path / "slow.c").write_text(
        "#include <stddef.h>\nextern void *__libc_malloc(size_t);\nvolatile int go;\n"
        "void *malloc(size_t n) { if (n == 12345) while (!go) ; return __libc_malloc(n); }\n")
    (tmp_path / "main.c").write_text(
        "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nextern volatile int go;\n"
        "static void on(int n) { go = 1; }\n"
        "int main(void) { char c; signal(SIGUSR1, on);\n"
        "  while (read(0, &c, 1) == 1) { write(1, &c, 1); free(malloc(c == 'l' ? 12345 : 9)); "
        "write(1, \"done\", 4); }\n  return 0; }\n")
    subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", tmp_path / "libslow.so",
                    tmp_path / "slow.c"], check=True)
    subprocess.run(["cc", "-O1", "-w", "-fno-builtin", "-o", tmp_path / "main", tmp_path / "main.c",
                    tmp_path / "libslow.so", f"-Wl,-rpath,{tmp_path}"], check=True)
    slow = target(tmp_path / "main")
    slow.say("l", "l")
    timer = threading.Timer(4, os.kill, (slow.pid, signal.SIGUSR1))
    timer.start()
    tool = attach(slow.pid)
    slow.process.out.find(b"done")
    slow.say("a", "adone")
    assert tool.detach()["allocs"] >= 1
    timer.join()
    assert slow.end()[0] == 0


# What is said of one that ran before


def test_what_was_there_before_is_called_so(target, attach, run):
    code = ("import sys\nold = [bytearray(100000) for _ in range(300)]\nprint('made', flush=True)\n"
            "for line in sys.stdin:\n    exec(line)\n    print('did', flush=True)\n")
    python = target("/usr/bin/python3", "-c", code)
    python.process.out.find(rb"made")
    tool = attach(python.pid)
    python.say("new = bytearray(2000000)\n", "did\n")
    python.say("import time; time.sleep(0.3)\n", "did\n")  # some samples
    tool.detach()
    told = {name: run("report", tool.trace, name).stdout
            for name in ("summary", "resident", "leaks", "peak", "lines", "overview")}
    assert re.search(r"heap since +the attach", told["summary"]) and re.search(r"heap since +the attach", told["lines"])
    assert "was recorded for" in told["overview"] and "what was allocated since peaked at" in " ".join(told["overview"].split())
    assert re.search(r"^since +the attach", told["peak"], re.M)
    basis = re.search(r"^peak basis (.*?)^rss min", told["summary"], re.M | re.S).group(1)
    assert "since the attach" in " ".join(basis.split())
    assert "fragmentation" not in told["summary"]
    parts = run("report", tool.trace, "resident", "-f", "json").stdout
    assert re.search(r'"(the rest: )?from before the attach, (and )?allocator slack', parts)
    assert re.search(r"^since +the attach", told["leaks"], re.M)
    assert all("since the attach" in " ".join(text.split()) for text in told.values())
    assert python.end()[0] == 0


def test_a_peak_from_before_is_not_one_since(target, attach, run):
    """Memory that was given back before anybody attached; time that was used, and faults, as well."""
    code = ("import sys, time\nold = bytearray(300 << 20)\ndel old\n"
            "while time.process_time() < 1: pass\nprint('made', flush=True)\n"
            "for line in sys.stdin:\n    exec(line)\n    print('did', flush=True)\n")
    python = target("/usr/bin/python3", "-c", code)
    python.process.out.find(rb"made")
    tool = attach(python.pid)
    python.say("new = bytearray(20 << 20)\n", "did\n")
    python.say("import time; time.sleep(0.3)\n", "did\n")  # some samples
    tool.detach()
    assert b"peak RSS since the attach at least" in tool.err.rest()
    said = json.loads(run("report", tool.trace, "summary", "-f", "json").stdout)["tables"]
    facts, process = said["facts"]["values"], said["processes"]["rows"][0]
    assert 20 << 20 < facts["peak_rss_at_least"] < 100 << 20
    assert facts["peak_rss_at_most"] > 300 << 20  # it is not known that it was not as high again
    assert "since the attach" in facts["peak_basis"]
    assert process["peak_rss"] < 100 << 20 and facts["peak_vsz"] < 200 << 20
    assert facts["cpu"] < 0.9e9 and facts["minor_faults"] < 300 * 256
    assert python.end()[0] == 0


def test_a_peak_since_is_the_kernels_own(target, attach, run):
    """One that no sample saw: higher than ever before, so the kernel's mark has moved."""
    code = ("import sys\nprint('made', flush=True)\n"
            "for line in sys.stdin:\n    exec(line)\n    print('did', flush=True)\n")
    python = target("/usr/bin/python3", "-c", code)
    python.process.out.find(rb"made")
    tool = attach(python.pid)
    python.say("new = bytearray(200 << 20); del new\n", "did\n")
    tool.detach()
    facts = json.loads(run("report", tool.trace, "summary", "-f", "json").stdout)
    facts = facts["tables"]["facts"]["values"]
    assert 200 << 20 < facts["peak_rss_at_least"] == facts["peak_rss_at_most"]
    assert "has moved since the attach" in facts["peak_basis"]
    assert python.end()[0] == 0
