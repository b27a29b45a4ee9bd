"""What is said to be whole is whole: every program that was started is accounted for."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

import filters
import pytest
from running import NOBODY, PATIENCE, need_mounts, need_root, start

FIXTURES = (start,)

SECCOMP_ENOSYS = r"""
import ctypes, os, struct, sys
number, error, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7FFF0000)]
text = b"".join(struct.pack("HBBI", *c) for c in code)
space = ctypes.create_string_buffer(text)
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(len(code), ctypes.addressof(space))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(command[0], command)
"""
PIDFD_OPEN = 434
PPOLL, GETRANDOM = 271, 318


@pytest.fixture
def record(run, tmp_path):
    """record(*command) -> what the report's summary says, as JSON; the exit code is checked"""

    def call(*command, code=0, before=(), tool=None, **kw):
        trace = tmp_path / "t.tide"
        words = ["record", "-q", "--exact", "--no-names", "-f", "-o", trace, *command]
        if before or tool:
            tool = tool or run.__closure__[0].cell_contents
            done = subprocess.run([*before, tool, *map(os.fspath, words)], timeout=90,
                                  capture_output=True, text=True, check=False, **kw)
        else:
            done = run(*words, **kw)
        assert done.returncode == code, done.stderr
        said = json.loads(run("report", trace, "-f", "json").stdout)
        said["allocations"] = said["tables"]["facts"]["values"].get("allocations")
        return said

    return call


def line(said):
    return said["coverage"]["line"]


def reasons(said):
    return {m["reason"]: m["processes"] for m in said["coverage"]["missing"]}


def test_static_programs_too_short_to_be_seen(record, target):
    said = record("sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do {target('static_nop')}; done")
    assert reasons(said) == {"it is statically linked": 8}
    assert "8 processes could not be recorded" in said["health"]
    assert said["coverage"]["programs"] == {"started": 9, "reached": 1}
    assert "nothing was lost" not in line(said)


def test_each_short_program_has_the_reason_that_was_said_of_it(record, target, tmp_path):
    """Whoever looks at them may be late for any; the sums are the same."""
    m32 = tmp_path / "other"
    elf = bytearray(pathlib.Path(target("static_nop")).read_bytes())
    elf[4] = 1  # said to be of a 32-bit machine, which is enough for us, but not for the kernel
    m32.write_bytes(elf)
    m32.chmod(0o755)
    sanitized = tmp_path / "sanitized"
    subprocess.run(["cc", "-x", "c", "-shared-libgcc", "-fsanitize=address", "-o", sanitized, "-"],
                   input="int main(void) { return 0; }", text=True, check=True)
    script = f"for i in 1 2 3 4; do {target('static_nop')}; {sanitized}; {m32}; done 2>/dev/null; exit 0"
    said = record("sh", "-c", script)
    why = reasons(said)
    assert why["it is statically linked"] == 4
    assert why["it is a 32-bit program or one for another processor"] == 4
    # Each looks for leaks in a process of its own, which is seen or not, and is no program that was started.
    assert 4 <= why["it is built with a sanitizer, which must be the first to hook malloc"] <= 8
    assert len(why) == 3
    assert said["coverage"]["programs"] == {"started": 13, "reached": 1}


def test_the_command_itself_is_accounted_for(record, target):
    said = record(target("static_nop"))
    assert reasons(said) == {"it is statically linked": 1}
    assert said["coverage"]["programs"] == {"started": 1, "reached": 0}


def test_each_way_to_start_a_program_is_counted(record):
    program = (
        "import os, subprocess\n"
        "subprocess.run(['true'])\n"
        "os.system('exec true')\n"
        "os.popen('exec true').close()\n"
        "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\n"
        "if not os.fork(): os.execv('/bin/true', ['true'])\n"
        "os.wait()\n"
        "try: os.execv('/nonexistent', ['x'])\n"
        "except OSError: pass\n"
    )
    said = record("/usr/bin/python3", "-c", program)
    # os.system and os.popen: a shell each, which becomes true
    assert said["coverage"]["programs"] == {"started": 8, "reached": 8}
    assert said["health"] is None
    assert re.search("; nothing (else )?was lost$", line(said))  # but lines of a stack that was just changing


def test_a_program_that_ends_before_the_library_begins(record, tmp_path):
    source = tmp_path / "dies.c"
    source.write_text("#include <signal.h>\n#include <unistd.h>\n"
                      "static void die(void) { kill(getpid(), SIGKILL); }\n"
                      "__attribute__((section(\".preinit_array\"), used)) void (*first)(void) = die;\n"
                      "int main(void) { return 0; }\n")
    subprocess.run(["cc", "-o", tmp_path / "dies", source], check=True)
    said = record("sh", "-c", f"{tmp_path}/dies; exit 0")
    assert said["coverage"]["programs"] == {"started": 2, "reached": 1}
    assert "1 process could not be recorded" in said["health"]
    assert "nothing was lost" not in line(said)


UNKNOWN = "whether programs were started unseen is not known: "


@pytest.mark.parametrize("way", ["inline-fork", "inline-vfork", "inline-clone3"])
@pytest.mark.parametrize("program", ["static_nop", "nop"])
def test_programs_started_by_system_calls_that_nobody_sees(record, target, way, program):
    """They may be too short to be seen, and it is never said that nothing was lost."""
    said = record(target("record/raw_calls"), way, "3", target(program))
    assert "nothing was lost" not in line(said)
    assert said["health"] or UNKNOWN in line(said)
    assert said["coverage"]["programs"] == {"started": 1, "reached": 1}
    assert (said["allocations"] or 0) == (0 if way == "inline-vfork" else 30)


@pytest.mark.parametrize("way", ["libc-fork", "libc-clone3"])
def test_programs_started_by_libcs_syscall_are_counted(record, target, way):
    said = record(target("record/raw_calls"), way, "3", target("nop"))
    assert said["coverage"]["programs"] == {"started": 4, "reached": 4}
    assert said["health"] is None and said["allocations"] == 30
    said = record(target("record/raw_calls"), way, "3", target("static_nop"))
    assert said["coverage"]["programs"] == {"started": 4, "reached": 1}
    assert reasons(said) == {"it is statically linked": 3}


def test_a_program_that_comes_uncounted_hides_none_that_did_not_come(record, target):
    """A static program's child comes by itself; the two static ones are missed all the same."""
    said = record("sh", "-c", f"{target('static_nop')}; {target('static_nop')}; "
                              f"{target('record/raw_calls')} inline-fork 2 {target('nop')}")
    assert said["coverage"]["programs"] == {"started": 4, "reached": 2}
    assert reasons(said) == {"it is statically linked": 2}


def test_ordinary_programs_are_not_suspected(record):
    for program in ("env", "make", "git", "perl", "bash", "cc"):
        if shutil.which(program):
            assert line(record(program, "--version")).endswith("nothing was lost"), program


def test_a_program_that_the_loader_is_told_to_run(record, target):
    loader = "/lib64/ld-linux-x86-64.so.2"
    if not os.path.exists(loader):
        pytest.skip("the loader is elsewhere")
    for command in ([loader, target("nop")], ["sh", "-c", f"{loader} {target('nop')}; true"]):
        said = record(*command)
        assert "nothing was lost" in line(said), command


def allocations_of(run, trace, name):
    said = json.loads(run("report", trace, "processes", "-f", "json").stdout)
    return sum(r["allocations"] or 0 for r in said["tables"]["processes"]["rows"] if r["name"] == name)


ELSEWHERE = {
    "another user": NOBODY,
    "su": ["su", "-s", "/bin/sh", "nobody", "-c", 'exec "$0" "$@"'],
    "a pid namespace": ["unshare", "-pf", "--mount-proc"],
    "a user namespace": ["unshare", "-Urpf", "--mount-proc"],
    "no /proc": ["unshare", "-m", "sh", "-c", 'umount -l /proc; exec "$0" "$@"'],
    "another root": ["unshare", "-m", "sh", "-c",
                     'mount -t tmpfs none /mnt && mkdir /mnt/r && mount --rbind / /mnt/r && '
                     'umount -l /mnt/r/proc; exec chroot /mnt/r "$0" "$@"'],
}


@need_root
@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_program_that_the_memorys_path_does_not_lead_to(record, run, public, tmp_path, where):
    """It is of another user, or sees another /proc, or none, and is given the memory all the same."""
    folder = public("record/crowd", library=True)
    words = [*ELSEWHERE[where], folder / "crowd", "3", "200", "processes"]
    plain = subprocess.run(words, capture_output=True, check=False)
    if plain.returncode:
        pytest.skip(f"not possible here: {plain.stderr}")
    said = record(*words, tool=folder / "tidemark")
    assert said["health"] is None and line(said).endswith("nothing was lost")
    assert allocations_of(run, tmp_path / "t.tide", "crowd") == 601


def test_the_memory_is_given_to_nobody_else(tidemark, target, tmp_path):
    """Only who descends from the recorder: not another process of the same user, or of root."""
    p = subprocess.Popen([tidemark, "record", "-q", "-o", tmp_path / "t.tide", "sh", "-c",
                          "echo begun; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"begun\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(PATIENCE)
        s.connect(f"\0tidemark-{p.pid}-ring")
        assert socket.recv_fds(s, 1, 1)[:2] == (b"", [])
    p.communicate(b"\n", timeout=PATIENCE)
    assert p.returncode == 0


NOWHERE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void print(int status) { printf("%d/%d ", WEXITSTATUS(status), WTERMSIG(status)); fflush(stdout); }
#define TRY(call) do { if (!fork()) { call; _exit(errno); } wait(&status); print(status); } while (0)
int main(void)
{
    char *argv[] = {"true", NULL}, **bad = (char **)8, *half[] = {"A=1", (char *)8, NULL}, *cut[] = {0, NULL};
    int status;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    cut[0] = pages + 4090;
    for (int i = 0; i < 6; i++) cut[0][i] = 'A';
    TRY(execve("/bin/true", argv, bad));
    TRY(execve("/bin/true", argv, half));
    TRY(execve("/bin/true", argv, cut));
    TRY(execve("/bin/true", bad, NULL));
    TRY(execve((char *)8, argv, environ));
    TRY(execveat(AT_FDCWD, (char *)8, argv, environ, 0));
    TRY(syscall(SYS_execve, (char *)8, bad, bad));
    return 0;
}
"""


def test_what_leads_nowhere_is_an_error_and_no_fault(record, tidemark, tmp_path):
    (tmp_path / "nowhere.c").write_text(NOWHERE)
    subprocess.run(["cc", "-w", "-o", tmp_path / "nowhere", tmp_path / "nowhere.c"], check=True)
    words = [tmp_path / "nowhere"]
    plain = subprocess.run(words, capture_output=True, check=True)
    done = subprocess.run([tidemark, "record", "--exact", "-q", "-o", tmp_path / "t.tide", *words],
                          capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, b"")
    assert plain.stdout == b"14/0 " * 7


@need_root
def test_a_program_that_gets_rights_by_its_file(record, public, run, tmp_path):
    """The loader takes no library from whoever starts it."""
    folder = public("nop", library=True)
    (folder / "nop").chmod(0o4755)
    if subprocess.run([*NOBODY, folder / "nop"], check=False).returncode:
        pytest.skip("not possible here")
    out = folder / "out"
    out.mkdir()
    out.chmod(0o777)
    words = [*NOBODY, folder / "tidemark", "record", "-q", "--exact", "--no-names", "-o", out / "t.tide",
             "sh", "-c", f"{folder}/nop; {folder}/nop; true"]
    done = subprocess.run(words, timeout=90, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(run("report", out / "t.tide", "-f", "json").stdout)
    assert reasons(said) == {"it runs with the rights of another user": 2}
    assert said["coverage"]["programs"] == {"started": 3, "reached": 1}


CONFINED = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    execv(argv[1], argv + 1);
    return 1;
}
"""


def test_a_program_of_one_that_may_not_ask_the_kernel(record, target, tmp_path):
    (tmp_path / "confined.c").write_text(CONFINED)
    subprocess.run(["cc", "-o", tmp_path / "confined", tmp_path / "confined.c"], check=True)
    said = record(tmp_path / "confined", target("nop"))
    (reason,) = reasons(said)
    assert reason.startswith("the library was not loaded into it: ") and "was confined" in reason
    assert said["coverage"]["programs"] == {"started": 2, "reached": 1}
    assert "nothing was lost" not in line(said)


@pytest.mark.parametrize("error", [38, 1])
@pytest.mark.parametrize("way", ["processes", "threads"])
def test_a_kernel_without_pidfds(record, target, error, way):
    before = ["/usr/bin/python3", "-c", SECCOMP_ENOSYS, str(PIDFD_OPEN), str(error)]
    said = record(target("record/crowd"), "3", "200", way, before=before)
    assert said["allocations"] >= 601
    assert line(said).endswith("nothing was lost")


@pytest.mark.parametrize("error", [38, 1])
@pytest.mark.parametrize("number", [PPOLL, GETRANDOM])
def test_calls_that_the_recorder_can_do_without(record, target, number, error):
    before = ["/usr/bin/python3", "-c", SECCOMP_ENOSYS, str(number), str(error)]
    said = record(target("record/crowd"), "3", "200", "processes", before=before)
    assert said["allocations"] == 601
    assert line(said).endswith("nothing was lost")


def test_a_recorder_without_memory_leaves_the_command_its_exit_code(run, target, tidemark, tmp_path,
                                                                     sanitized):
    if sanitized:
        pytest.skip("a sanitizer ends the program itself then")
    words = [tidemark, "record", "--exact", "-q", "-o", tmp_path / "t.tide", "sh", "-c",
             f"prlimit --as=1 --pid $PPID; {target('record/crowd')} 30 20000 processes; exit 7"]
    done = subprocess.run(words, timeout=90, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    # at once, or when it has ended
    assert re.fullmatch("tidemark: out of memory: the (recording ends here|trace lacks).*\n", done.stderr)
    said = json.loads(run("report", tmp_path / "t.tide", "-f", "json").stdout)
    assert "not whole" in said["health"]


@pytest.mark.parametrize("closed", [(2,), (0, 2), (1, 2), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("fault", ["", "prlimit --as=1 --pid $PPID; "])
def test_closed_descriptors_are_not_taken_for_ours(tidemark, run, tmp_path, sanitized, closed, fault):
    """A sentence of the recorder gets neither into the trace nor the memory; the command finds them closed."""
    if sanitized and fault:
        pytest.skip("a sanitizer ends the program itself then")
    look = 'n=; for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && n=$n$i; done; echo "$n" > seen; exit 7'
    script = f"exec '{tidemark}' record --exact --no-names -o t.tide sh -c '{fault}{look}'"
    done = subprocess.run(["sh", "-c", script + "".join(f" {fd}>&-" for fd in closed)], cwd=tmp_path,
                          timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 7
    assert (tmp_path / "seen").read_text().strip() == "".join(str(i) for i in range(3) if i not in closed)
    assert b"tidemark: " not in (tmp_path / "t.tide").read_bytes()
    assert run("report", tmp_path / "t.tide").returncode == 0


@pytest.mark.parametrize("limit", [8, 64, 256])
def test_few_descriptors_and_many_processes(record, target, limit):
    before = ["prlimit", f"--nofile={limit}:{limit}"]
    said = record(target("record/crowd"), "100", "200", "processes", before=before)
    assert said["allocations"] == 20001
    assert line(said).endswith("nothing was lost")


def test_a_look_that_comes_too_late_loses_no_allocation(record, target):
    """A recorder that is stopped for a while has looked too seldom, and has all the same."""
    # It looks again before the command ends.
    script = (f"sleep 0.3; kill -STOP $PPID; (sleep 1; kill -CONT $PPID) & {target('record/crowd')} 3 200 processes; "
              "wait; sleep 1.5")
    said = record("sh", "-c", script)
    assert said["coverage"]["late"] >= 1 and said["coverage"]["losses"] == 0
    assert said["tables"]["facts"]["values"]["samples_late"] == said["coverage"]["late"]
    assert "of the processes came too late" in line(said)
    assert said["health"] is None and line(said).endswith("nothing was lost")


def test_a_pid_namespace_is_not_the_machine(record, target, run, tmp_path):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "--exact", "--no-names", "-f", "-o", trace, target("record/namespaces"))
    if done.returncode == 3:
        pytest.skip("no pid namespaces here")
    said = json.loads(run("report", trace, "processes", "-f", "json").stdout)
    rows = said["tables"]["processes"]["rows"]
    assert [r["allocations"] for r in rows] == [1, 1100, 500]
    assert rows[1]["pid"] > 1 and rows[2]["parent_pid"] == rows[1]["pid"]
    assert said["coverage"]["line"].endswith("nothing was lost")


SPACES = {
    "pid": ["unshare", "-pf"],
    "pid and /proc": ["unshare", "-pf", "--mount-proc"],
    "user": ["unshare", "-Urpf", "--mount-proc"],
    "nested": ["unshare", "-pf", "unshare", "-pf"],
    "nested users": ["unshare", "-Urpf", "--mount-proc", "unshare", "-Urpf", "--mount-proc"],
    "bubblewrap": ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"],
}
FORKS = """import os
for i in range(6):
    pid = os.fork()
    if not pid:
        kept = [bytearray(1000) for i in range(100)]
        os._exit(0)
    os.waitpid(pid, 0)"""
SHORT = {
    "one by one": ["sh", "-c", "for i in 1 2 3 4 5 6; do ls / >/dev/null; done"],
    "at once": ["sh", "-c", "for i in 1 2 3 4 5 6; do ls / >/dev/null & done; wait"],
    "by exec": ["sh", "-c", 'exec sh -c "exec sh -c \\"exec ls /\\""'],
    "forked": ["/usr/bin/python3", "-c", FORKS],
}


@pytest.mark.parametrize("exactly", [[], ["--exact"]], ids=["sampled", "exact"])
@pytest.mark.parametrize("what", SHORT)
@pytest.mark.parametrize("space", SPACES)
def test_a_short_process_of_another_namespace_is_one_row(run, tmp_path, space, what, exactly):
    """By the kernel's word: the one that its exit record names is the one whose ring it is."""
    words, trace = [*SPACES[space], *SHORT[what]], tmp_path / "t.tide"
    if not shutil.which(words[0]) or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("not possible here")
    assert run("record", "-q", *exactly, "--no-names", "-f", "-o", trace, *words).returncode == 0
    said = json.loads(run("report", trace, "processes", "-f", "json").stdout)
    rows = said["tables"]["processes"]["rows"]
    assert all(r["pid"] for r in rows), rows
    assert all(r["parent_pid"] != rows[0]["pid"] for r in rows if r["name"] == "ls"), rows
    recorded = re.match(r"recorded: (\d+) of (\d+) processes", line(said))
    assert recorded[1] == recorded[2] == str(len({r["pid"] for r in rows})), line(said)
    assert line(said).endswith("nothing was lost")


# Besides its blocks, that of puts and the shared memory, which counts once however often it is mapped.
@pytest.mark.parametrize("how, allocations", [("cut", 1002), ("clock", 1002), ("first", 1002),
                                              ("impostor", 2002), ("words", None),
                                              ("searches", None)])
def test_a_program_that_means_harm(run, target, tmp_path, how, allocations):
    trace = tmp_path / "t.tide"
    done = run("record", "--exact", "-q", "--no-names", "-f", "-o", trace, target("record/scribbler"), how)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    said = json.loads(run("report", trace, "-f", "json").stdout)
    values = said["tables"]["facts"]["values"]
    if allocations:
        assert values["allocations"] == allocations and said["health"] is None
    names = {p["name"] for p in said["tables"]["processes"]["rows"]}
    assert how == "words" or names <= {"scribbler", "liar"}  # nobody else's
    assert values["peak_rss_at_least"] < 1 << 27
    liars = [p for p in said["tables"]["processes"]["rows"] if p["name"] == "liar"]
    assert how not in ("first", "impostor") or [p["pid"] for p in liars] == [None]


@pytest.mark.parametrize("limit", ["-f 1000000", "-f 8000", "-f 1000", "-f 1", "-s 64", "-d 400",
                                   "-d 8000", "-v 5000", "-v 20000", "-n 4", "-n 5", "-n 6", "-n 8"])
def test_a_limit_ends_in_a_sentence_and_the_command_runs(tidemark, tmp_path, limit, sanitized):
    if sanitized and limit[:2] in ("-v", "-d", "-s"):
        pytest.skip("a sanitizer needs more")
    script = f"ulimit {limit}; '{tidemark}' record -o t.tide sh -c 'ulimit {limit[:2]}; exit 7'"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, timeout=60, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 7, done.stderr
    unit = 2 if limit.startswith("-f") else 1  # of sh: half a KiB
    assert int(done.stdout) == int(limit.split()[1]) * unit  # its own limit
    assert done.stderr.startswith("tidemark: ")
    assert ("runs without being recorded" in done.stderr) != os.path.exists(tmp_path / "t.tide")


@need_root
def test_no_more_processes_allowed(tidemark, tmp_path):
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if not folder.stat().st_mode & 1:
            pytest.skip("another user cannot come here")
    script = f"ulimit -u 1; exec '{tidemark}' record -o t.tide sh -c 'exit 7'"
    done = subprocess.run([*NOBODY, "bash", "-c", script], cwd=tmp_path, timeout=60,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert "runs without being recorded" in done.stderr
    assert not (tmp_path / "t.tide").exists()


def test_a_trace_that_may_not_grow_keeps_what_came_before(tidemark, run, target, tmp_path):
    script = f"ulimit -f 6000; exec '{tidemark}' record --exact --no-names -o t.tide " \
             f"'{target('record/storm')}' 1"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, timeout=90, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith("tidemark: ") and done.stderr.count("\n") == 1
    assert run("report", tmp_path / "t.tide").returncode == 0


# The programs that one starts which may not pass the library on

NOT_LOADED = "the library was not loaded into it"
STARTS = "for i in range(3): subprocess.run(['/bin/true'], check=True)\n"


def not_loaded(said):
    return sum(count for reason, count in reasons(said).items() if reason.startswith(NOT_LOADED))


def test_programs_that_a_confined_one_starts(record):
    """It has a filter of system calls, which each of them inherits."""
    code = ("import ctypes, struct, subprocess\nlibc = ctypes.CDLL(None)\n"
            "allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
            "program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(allow)))\n"
            "assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0\n" + STARTS)
    said = record("/usr/bin/python3", "-c", code)
    assert said["coverage"]["programs"] == {"started": 4, "reached": 1}
    assert not_loaded(said) == 3, reasons(said)
    assert "3 processes could not be recorded" in said["health"]
    assert "nothing was lost" not in line(said)


@pytest.fixture
def attached(run, start, tmp_path):
    """attached(pid, during) -> what is said of a recording of that process, while during() was done"""

    def call(pid, during):
        trace = tmp_path / "attached.tide"
        tool = start("attach", "--exact", "--no-names", "-o", trace, str(pid))
        tool.err.find(rb"recording process")
        during()
        assert run("detach", str(pid)).returncode == 0
        assert tool.wait(PATIENCE) == 0
        return json.loads(run("report", trace, "-f", "json").stdout)

    return call


DEADLY = {"timer_create": filters.KILL}  # to us alone
OBEYS = """import subprocess, sys
for line in sys.stdin:
    exec(line)
    print('did', flush=True)
"""


def obeyed(python, line):
    def tell():
        python.stdin.write(line.encode() + b"\n")
        python.stdin.flush()
        python.out.find(b"did")

    return tell


@pytest.mark.parametrize("filtered", [False, True])
def test_a_program_that_an_attached_one_starts(start, attached, filtered):
    """It is seen from outside, and why it is not recorded is said; others may never have been seen."""
    if filtered and os.geteuid() != 0:
        pytest.skip("only root may read a filter")
    python = start("/usr/bin/python3", "-c", OBEYS, tool=None,
                   **({"preexec_fn": filters.put_on(filters.ALLOW, DEADLY)} if filtered else {}))
    said = attached(python.pid, obeyed(python, "p = subprocess.Popen(['/bin/sleep', '600'])"))
    assert not_loaded(said) == 1, reasons(said)
    assert "1 process could not be recorded" in said["health"]
    assert "nothing was lost" not in line(said)
    obeyed(python, "p.kill(); p.wait()")()
    python.stdin.close()
    assert python.wait(PATIENCE) == 0


@need_root
@need_mounts
@pytest.mark.parametrize("elsewhere", [False, True])
def test_programs_that_one_starts_which_had_the_library_already(start, attached, build, elsewhere):
    """Loaded by itself, and idle: once it is attached to, it hands the library on; but not where its
    recording has no path that others could be told, and then it counts what it starts."""
    before = ["unshare", "-p", "-f", "--mount-proc"] if elsewhere else []
    python = start("env", f"LD_PRELOAD={build / 'libtidemark.so'}", "/usr/bin/python3", "-c", OBEYS,
                   tool=None, before=before)
    obeyed(python, "import os; del os.environ['LD_PRELOAD']")()
    children = pathlib.Path(f"/proc/{python.pid}/task/{python.pid}/children")
    pid = int(children.read_text().split()[0]) if elsewhere else python.pid
    said = attached(pid, obeyed(python, STARTS))
    assert not_loaded(said) == (3 if elsewhere else 0), reasons(said)
    if elsewhere:
        assert "3 processes could not be recorded" in said["health"]
        assert "nothing was lost" not in line(said)
    python.stdin.close()
    assert python.wait(PATIENCE) == 0
