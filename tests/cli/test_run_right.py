"""`tidemark run` where its kind is often wrong: spikes, trees, signals, terminals, other users."""

import json
import os
import pathlib
import random
import re
import resource
import signal
import string
import subprocess
import sys
import textwrap

import pytest
from running import (MIB, NOBODY, PATIENCE, Screen, attached, need_mounts,  # noqa: F401
                     need_root, start, status, terminal, until, watching)

__all__ = ["start", "terminal"]  # fixtures that pytest finds here

SLACK = 4 * MIB  # what a small C program has beside the memory that it was told to touch
SPIKE = 64  # MiB; more than the launcher has, sanitized or not: what is below its mark cannot be told


def as_nobody(*words, **kw):
    kw.setdefault("timeout", 60)
    return subprocess.run([*NOBODY, *map(os.fspath, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, cwd="/", **kw)


# ---- one process: exact whatever the interval ----


@pytest.mark.parametrize("name", ["nop", "static_nop"])
def test_an_instant_command_has_a_peak(result, target, name, sanitized):
    told = result(target(name))
    if sanitized or name == "static_nop":  # as small as its launcher, which hides its mark and says so
        assert told["peak_rss_exact"] or "launcher" in told["peak_basis"]
    else:
        assert told["peak_rss_exact"] is True
    assert 0 < told["peak_rss_bytes"] and (sanitized or told["peak_rss_bytes"] < SLACK)
    assert told["peak_vsz_bytes"] is None or told["peak_vsz_bytes"] > 0  # gone before it was asked


TINY = r"""
static char room[1 << 16];
static long call(long number, long a, long b)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}
void _start(void)
{
    long time[2] = {0, 250000000};
    call(35, (long)time, 0); /* nanosleep */
    for (unsigned int i = 0; i < sizeof(room); i += 4096)
        ((volatile char *)room)[i] = 1;
    call(231, 0, 0); /* exit_group */
}
"""


def test_a_command_smaller_than_its_launcher(result, sampled, tmp_path):
    """What it grew by after it was last looked at is hidden by the launcher's own mark, and that is said."""
    (tmp_path / "tiny.c").write_text(TINY)
    subprocess.run(["cc", "-O1", "-static", "-nostdlib", "-fno-stack-protector", "-o", tmp_path / "tiny",
                    tmp_path / "tiny.c"], check=True)
    told = sampled("--interval", "60s", tmp_path / "tiny")
    assert told["peak_rss_exact"] is False and "launcher" in told["peak_basis"]
    assert told["peak_rss_lower_bytes"] <= told["peak_rss_upper_bytes"]
    exact = result("--exact", tmp_path / "tiny")
    assert exact["peak_rss_exact"] is True and exact["peak_rss_bytes"] < MIB // 4


@pytest.mark.parametrize("spike", [(5, 30, 30), (0, 0, 0), (0, 150, 0), (0, 0, 150), (5, 90, 210)])
@pytest.mark.parametrize("interval", ["100", "60s"])
def test_spikes_are_caught(result, target, spike, interval):
    hold, before, after = map(str, spike)
    told = result("--interval", interval, target("spike"), str(SPIKE), hold, before, after)
    assert SPIKE * MIB <= told["peak_rss_bytes"] < SPIKE * MIB + SLACK
    assert told["peak_rss_exact"] is True
    assert told["peak_rss_lower_bytes"] == told["peak_rss_upper_bytes"] == told["peak_rss_bytes"]


def test_text_says_exact(run, target):
    assert "\nPeak is exact: " in run("run", target("spike"), str(SPIKE)).stdout


def test_memory_before_an_exec_counts(result, target):
    told = result(target("execer"), "32", target("nop"))
    assert 32 * MIB <= told["peak_rss_bytes"] < 32 * MIB + SLACK


def test_peak_of_a_killed_command(result, target):
    told = result("sh", "-c", f"exec {target('execer')} 32 /bin/sh -c 'kill -9 $$'", code=137)
    assert 32 * MIB <= told["peak_rss_bytes"] < 32 * MIB + SLACK


def test_peak_vsz_is_the_peak(result, target):
    told = result(target("vsz"), "1024", "32", "250")
    assert told["peak_vsz_bytes"] >= 1024 * MIB
    assert 32 * MIB <= told["peak_rss_bytes"] < 32 * MIB + SLACK


def test_a_large_launcher_is_not_counted(tidemark, target):
    """exec hands the high-water mark of the launcher on; it is not the command's."""
    code = ("import subprocess, sys\nblock = bytearray(b'x') * (200 << 20)\n"
            "sys.stdout.write(subprocess.run(sys.argv[1:], capture_output=True, text=True).stdout)")
    words = [tidemark, "run", "-j", target("spike"), str(SPIKE)]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True,
                          text=True, timeout=60, check=True)
    assert SPIKE * MIB <= json.loads(done.stdout)["peak_rss_bytes"] < SPIKE * MIB + SLACK


def test_nothing_waits_for_the_next_sample(run):
    """With an interval longer than the time limit, this ends only if the command's end is seen."""
    done = run("run", "--interval", "600s", "sleep", "0.1", timeout=PATIENCE)
    assert done.returncode == 0


# ---- trees ----


@pytest.mark.parametrize("mode", ["par", "autoreap", "chain", "threadfork"])
def test_trees_are_summed(result, target, mode):
    told = result("--interval", "10", target("tree"), mode, "4", "16", "400")
    assert 64 * MIB <= told["peak_rss_lower_bytes"] < 64 * MIB + 5 * SLACK
    assert told["process_count"] == 5
    assert told["peak_rss_bytes"] == told["peak_rss_lower_bytes"]
    if mode != "autoreap":  # whose end nobody is told of
        assert told["peak_rss_upper_bytes"] >= told["peak_rss_lower_bytes"]


def test_orphans_count(result, target):
    told = result("--interval", "10", target("tree"), "orphan", "1", "32", "400")
    assert 32 * MIB <= told["peak_rss_bytes"] < 32 * MIB + 3 * SLACK
    assert told["process_count"] in (2, 3)  # the one between may be too short-lived


def test_a_daemon_outlives_the_command(start, target, tmp_path):
    with open(tmp_path / "alive", "w") as alive:
        p = start("run", "-j", "-o", tmp_path / "report", target("tree"), "daemon", "1", "32",
                  "15000", stdout=alive, stdin=subprocess.DEVNULL, stderr=alive)
    assert p.wait(PATIENCE) == 0
    told = json.loads((tmp_path / "report").read_text())
    assert told["outlived"] == 1
    assert told["peak_rss_bytes"] >= 32 * MIB
    holders = subprocess.run(["pgrep", "-f", f"{target('tree')} daemon"], capture_output=True,
                             text=True, check=False, timeout=30).stdout.split()
    assert len(holders) == 1
    os.kill(int(holders[0]), signal.SIGKILL)


def test_no_children_watches_one(result, target):
    told = result("--no-children", "--interval", "10", target("tree"), "par", "4", "16", "200")
    assert told["peak_rss_bytes"] < SLACK
    assert told["process_count"] == 1


@pytest.mark.parametrize("interval", ["10", "100", "60s"])
def test_bounds_hold_where_peaks_do_not_meet(result, target, interval):
    """At any moment one child at most has its 64 MiB, but every mark says 64."""
    told = result("--interval", interval, target("tree"), "stagger", "4", str(SPIKE), "30")
    assert SPIKE * MIB <= told["peak_rss_lower_bytes"] < SPIKE * MIB + 5 * SLACK
    if told["peak_rss_upper_bytes"] is not None:
        assert told["peak_rss_upper_bytes"] >= SPIKE * MIB
    assert told["peak_rss_exact"] is (told["peak_rss_lower_bytes"] == told["peak_rss_upper_bytes"])


@pytest.mark.parametrize("mode", ["par", "chain", "autoreap"])
@pytest.mark.parametrize("how", [[], ["--exact"]])
def test_bounds_hold_for_what_lives_between_samples(result, target, mode, how):
    told = result("--interval", "60s", *how, target("tree"), mode, "8", "8", "0")
    assert told["peak_rss_lower_bytes"] < 64 * MIB + 9 * SLACK
    assert told["peak_rss_upper_bytes"] is None or told["peak_rss_upper_bytes"] >= 64 * MIB
    if how:
        assert told["process_count"] == 9
        assert told["peak_rss_upper_bytes"] < 64 * MIB + 9 * SLACK


def test_a_tree_is_bounded_closely_where_the_kernel_tells_of_every_end(result, sampled, target):
    """Sixteen processes of 8 MiB, one after the other: unseen ones might have lived at once, known ones did not."""
    words = ("--interval", "60s", target("tree"), "chain", "16", "8", "0")
    told, without = result(*words), sampled(*words)
    assert without["peak_rss_upper_bytes"] is None or without["peak_rss_upper_bytes"] >= told["peak_rss_lower_bytes"]
    if told["peak_method"] == "sampled":
        pytest.skip("the kernel gives no exit records here")
    assert told["process_count"] == 17
    assert told["peak_rss_upper_bytes"] <= 16 * (8 * MIB + SLACK) + SLACK


def test_a_network_of_its_own_gets_no_records_and_no_proof_from_them(tidemark, target):
    done = subprocess.run(["unshare", "--net", tidemark, "run", "-j", "--exact", target("tree"), "par", "4", "8", "0"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    if "unshare" in done.stderr:
        pytest.skip("no network of one's own here")
    told = json.loads(done.stdout)
    assert (told["peak_method"], told["process_count"]) == ("ptrace", 5)
    assert told["peak_rss_upper_bytes"] >= 4 * 8 * MIB


def test_bounds_say_what_they_take_of_the_unseen(sampled, target):
    """Of a process that nobody saw it is not known whether it ignored SIGCHLD."""
    told = sampled("--interval", "60s", "sh", "-c", '"$@"; true', "sh", target("tree"), "autoreap", "8",
                  "8", "0")
    upper, basis = told["peak_rss_upper_bytes"], told["peak_basis"]
    assert upper is None or upper >= 64 * MIB or "unseen between samples, if each was waited for" in basis


def test_no_bound_where_sigchld_was_ignored_after_the_last_sample(sampled, target):
    """Only its zombie tells: its children left nothing, and its own mark is all that was seen."""
    told = sampled("--interval", "60s", target("tree"), "late", "8", "8", "300")
    assert told["peak_rss_upper_bytes"] is None
    assert not told["peak_rss_exact"]
    assert "SIGCHLD" in told["peak_basis"]


def test_a_launcher_that_ignores_sigchld(tidemark, target):
    """The command's end is told all the same, and the command inherits what we did."""
    words = [tidemark, "run", "-j", "-o", "/dev/stderr", "grep", "SigIgn", "/proc/self/status"]
    code = ("import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
            "os.execv(sys.argv[1], sys.argv[1:])")
    for how in ([], ["--exact"]):
        done = subprocess.run([sys.executable, "-c", code, *words[:2], *how, *words[2:]],
                              capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert int(done.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1
        told = json.loads(done.stderr)
        assert told["exit_code"] == 0
        assert (told["peak_rss_upper_bytes"] is None) == (told["peak_method"] == "sampled")


def test_text_names_the_bounds(run, target):
    out = run("run", "--interval", "100", target("tree"), "stagger", "4", "16", "30").stdout
    assert re.search(r"^Peak is at least [\d.]+ MiB(?: and at most [\d.]+ [MG]iB)?: .+$", out, re.M)


# ---- --exact and --pss ----


def check_exact(told, method):
    assert told["peak_method"] == method
    assert told["process_count"] == 11
    assert 16 * MIB <= told["peak_rss_lower_bytes"] <= told["peak_rss_upper_bytes"]
    assert told["peak_rss_lower_bytes"] < 16 * MIB + 11 * SLACK


SEQUENCE = ["seq", "10", "16", "0"]


@need_root
def test_exact_by_taskstats(result, target):
    check_exact(result("--exact", "--interval", "60s", target("tree"), *SEQUENCE), "taskstats")


def test_exact_by_ptrace(public):
    folder = public("tree")
    done = as_nobody(folder / "tidemark", "run", "-j", "--exact", "--interval", "60s",
                     folder / "tree", *SEQUENCE)
    assert done.returncode == 0, done.stderr
    check_exact(json.loads(done.stdout), "ptrace")


@pytest.mark.parametrize("words, processes", [
    (["threads", "50"], 1), (["forks", "50"], 51), (["tree", "threadfork", "3", "4", "50"], 4),
    (["tree", "autoreap", "3", "4", "50"], 4), (["tree", "orphan", "1", "4", "50"], 3)])
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_exact_sees_every_process(public, user, words, processes):
    folder = public(words[0])
    call = [folder / "tidemark", "run", "-j", "--exact", folder / words[0], *words[1:]]
    done = as_nobody(*call) if user == "nobody" else subprocess.run(
        call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["process_count"] == processes


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_exact_changes_no_outcome(public, user):
    folder = public()
    for words, code in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
                        (["sh", "-c", "(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 5"], 5),
                        (["sh", "-c", "trap 'exit 4' USR1; kill -USR1 $$"], 4)):
        call = [folder / "tidemark", "run", "-q", "--exact", *words]
        done = as_nobody(*call) if user == "nobody" else subprocess.run(
            call, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, words


def test_pss_of_a_copied_tree(result, target):
    told = result("--pss", "--interval", "20", target("tree"), "cow", "8", "64", "800")
    assert told["peak_pss_bytes"] == pytest.approx(64 * MIB, rel=0.05)
    assert told["peak_rss_bytes"] > 8 * 64 * MIB


# ---- the command sees what it would have seen ----


@pytest.fixture
def state(tidemark, target, tmp_path):
    """state(options) -> what the target `state` inherited; options None: without the tool"""

    def prepare():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGUSR2, signal.SIGWINCH])
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
        os.nice(3)
        os.umask(0o027)

    def call(options, hands=()):
        out = tmp_path / "state"
        words = [target("state"), "one", "two words", ""]
        if options is not None:
            words = [tidemark, "run", "-o", tmp_path / "report", *options, *words]
        with open(out, "wb") as f:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL,
                           preexec_fn=prepare, pass_fds=hands, timeout=60, check=True,
                           env={"A": "1", "PATH": os.environ["PATH"], "LANG": "C", "X": "y=z"})
        return out.read_text().splitlines()

    return call


@pytest.mark.parametrize("options", [
    [], ["-v"], ["--no-children"], ["--pss"], ["--timeline", "TMP/t"], ["--record", "TMP/r.tide"],
    ["-w"], ["-t", "1T"], ["--exact"]])
def test_the_command_inherits_what_it_would_have(state, tmp_path, options):
    if options == ["--exact"] and os.geteuid() != 0:
        pytest.skip("traced: TracerPid must differ")
    options = [option.replace("TMP", str(tmp_path)) for option in options]
    assert state(options) == state(None)


def test_the_command_keeps_the_descriptors_it_was_handed(state, tmp_path):
    with open(tmp_path / "mine", "w") as mine:
        plain = state(None, hands=[mine.fileno()])
        assert f"fd{mine.fileno()} {tmp_path / 'mine'}" in plain
        assert state([], hands=[mine.fileno()]) == plain


def test_stdin_passes_through(run):
    done = run("run", "-o", "/dev/null", "cat", stdin=None, input="some\ntext\n")
    assert done.stdout == "some\ntext\n"


def test_arguments_that_are_no_text(tidemark):
    done = subprocess.run([tidemark.encode(), b"run", b"-j", b"printf", b"%s\\n", b"\xff\xfe\xc3"],
                          capture_output=True, timeout=60, check=True)
    assert done.stdout.startswith(b"\xff\xfe\xc3\n{")
    told = json.loads(done.stdout.split(b"\n", 1)[1].decode("utf-8"))
    assert told["command"].startswith("printf %s\\n ")


def test_a_setuid_program(public, tmp_path):
    folder = public("state", "spike")
    for name in ("state", "spike"):
        (folder / name).chmod(0o4755)
    if "euid 0" not in as_nobody(folder / "state").stdout:
        pytest.skip("setuid has no effect on this file system")
    done = as_nobody(folder / "tidemark", "run", folder / "state")
    assert done.returncode == 0
    assert "uid 65534\neuid 0\n" in done.stdout
    done = as_nobody(folder / "tidemark", "run", "-j", folder / "spike", str(SPIKE), "5", "150",
                     "150")
    told = json.loads(done.stdout)
    assert SPIKE * MIB <= told["peak_rss_bytes"] < SPIKE * MIB + SLACK


# ---- signals ----

FORWARDED = ["HUP", "INT", "INT", "QUIT", "USR1", "USR2", "ALRM", "WINCH", "TERM", "TERM"]


@pytest.mark.parametrize("options", [[], ["--exact"]])
def test_every_signal_is_forwarded(start, target, tmp_path, options):
    p = start("run", *options, "-o", tmp_path / "report", target("sigs"), str(len(FORWARDED)),
              start_new_session=True)
    p.out.find(rb"ready (\d+)\n")
    watching(p.pid)
    for name in FORWARDED:
        p.send_signal(getattr(signal, "SIG" + name))
        assert p.out.find(rb"got (\w+)\n")[1].decode() == name
    assert p.wait(PATIENCE) == 0
    assert "Exit code: 0" in (tmp_path / "report").read_text()


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1"])
def test_death_by_a_forwarded_signal(start, target, tmp_path, name):
    number = getattr(signal, "SIG" + name)
    p = start("run", "-o", tmp_path / "report", target("hold"), "4", start_new_session=True)
    pid = int(p.out.find(rb"ready (\d+)\n")[1])
    watching(p.pid)
    p.send_signal(number)
    assert p.wait(PATIENCE) == 128 + number
    assert status(pid, "State") is None
    assert f"Killed by signal: {int(number)} (SIG{name})" in (tmp_path / "report").read_text()


def test_no_orphan_is_left_behind(start, target, tmp_path):
    """The pipe ends only when every process that could write to it is gone."""
    hold = f"{target('hold')} 4 <&3 &"  # a shell gives its background jobs no stdin by itself
    script = f"exec 3<&0; {hold} {hold} wait"
    r, w = os.pipe()
    p = start("run", "-o", tmp_path / "report", "sh", "-c", script, stdin=r, start_new_session=True)
    os.close(r)
    p.out.find(rb"ready")
    watching(p.pid)
    p.send_signal(signal.SIGTERM)
    assert p.wait(PATIENCE) == 143
    try:
        p.out.rest()
    finally:
        os.close(w)  # what is left behind sees its stdin end


def test_keys_reach_the_command_once(terminal, tidemark, target):
    """The terminal sends to both; a tool that forwards too would double it."""
    p = terminal([tidemark, "run", target("sigs"), "6"])
    p.tty.find(rb"ready")
    watching(p.pid)
    for key, name in ((b"\x03", b"INT"), (b"\x03", b"INT"), (b"\x1c", b"QUIT")):
        p.type(key)
        assert p.tty.find(rb"got (\w+)")[1] == name
        p.send_signal(signal.SIGUSR1)  # what comes next is this, not the same again
        assert p.tty.find(rb"got (\w+)")[1] == b"USR1"
    p.tty.find(rb"Exit code: 0")
    assert p.wait(PATIENCE) == 0


def test_job_control(terminal, tidemark, target, tmp_path):
    p = terminal(["bash", "--norc", "--noprofile", "-i"], env={**os.environ, "PS1": "$ "})
    command = f"{tidemark} run -o {tmp_path}/report {target('hold')} 4"
    p.type(f"stty -echo; PS1='$ '\n{command}\n".encode())
    pid = int(p.tty.find(rb"ready (\d+)\r\n")[1])
    p.type(b"\x1a")
    p.tty.find(rb"Stopped")
    assert until(lambda: status(pid, "State").startswith("T"), "the command to stop")
    p.type(b"fg\n")
    until(lambda: status(pid, "State").startswith("S"), "the command to go on")
    p.type(b"\x04")
    until(lambda: status(pid, "State") is None, "the command to end")
    p.type(b"echo code=$?; exit\n")
    assert p.tty.find(rb"code=(\d+)")[1] == b"0"
    assert "Exit code: 0" in (tmp_path / "report").read_text()


# ---- where the report goes ----


def test_output_file(run, tmp_path):
    for option, text in (("-v", "Command: echo"), ("-j", "{\n"), ("-c", "command,"), ("-q", "")):
        done = run("run", option, "-o", tmp_path / "report", "echo", "hello")
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
        assert (tmp_path / "report").read_text().startswith(text)


def test_output_file_is_overwritten(run, tmp_path):
    (tmp_path / "report").write_text("x" * 100000)
    run("run", "-q", "-o", tmp_path / "report", "true")
    assert (tmp_path / "report").read_text().strip().isdigit()


def test_report_fd(tidemark, tmp_path):
    with open(tmp_path / "report", "w+") as report:
        fd = report.fileno()
        done = subprocess.run([tidemark, "run", "-q", "--report-fd", str(fd), "echo", "hello"],
                              pass_fds=[fd], capture_output=True, text=True, timeout=60,
                              check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
        report.seek(0)
        assert report.read().strip().isdigit()


def test_report_fd_that_is_not_open(run, tmp_path):
    done = run("run", "--report-fd", "77", "touch", tmp_path / "ran")
    assert done.returncode in (2, 125) and done.stderr.count("\n") == 1
    assert not (tmp_path / "ran").exists()


def test_report_on_stderr(run):
    done = run("run", "-q", "--report-fd", "2", "echo", "hello")
    assert done.stdout == "hello\n" and done.stderr.strip().isdigit()


def test_mute(run, tmp_path):
    script = f"echo out; echo err >&2; echo ran > {tmp_path}/f"
    done = run("run", "-q", "--mute", "sh", "-c", script)
    assert re.fullmatch(r"\d+\n", done.stdout)
    assert done.stderr == ""
    assert (tmp_path / "f").read_text() == "ran\n"


def test_report_comes_after_the_commands_output(run):
    lines = run("run", "sh", "-c", "echo one; echo two").stdout.splitlines()
    assert lines[:3] == ["one", "two", "Command: sh -c echo one; echo two"]


def test_full_disk_loses_nothing(run):
    done = run("run", "-o", "/dev/full", "sh", "-c", "exit 0")
    assert done.returncode == 125
    assert "No space left on device" in done.stderr
    assert "Peak memory usage: " in done.stderr + done.stdout


def test_closed_pipe(tidemark):
    r, w = os.pipe()
    os.close(r)
    done = subprocess.run([tidemark, "run", "true"], stdout=w, stderr=subprocess.PIPE, text=True,
                          timeout=60, check=False)
    os.close(w)
    assert done.returncode == 0  # the command's own
    assert done.stderr == ""


@need_root
@need_mounts
def test_recording_on_a_full_disk(tidemark, tmp_path):
    """In a mount namespace of its own, so that the machine sees nothing of it."""
    script = ('mount -t tmpfs -o size=8k none "$1" && head -c 4096 /dev/zero > "$1/filler" && '
              'exec "$2" run --interval 1 --record "$1/r.tide" sh -c "sleep 0.5; exit 3" sh "$3"')
    long = "".join(random.Random(1).choices(string.ascii_letters, k=8000))  # more than is left, packed, too
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", tmp_path, tidemark, long],
                          capture_output=True, text=True, timeout=60, check=False)
    assert "\nExit code: 3\n" in done.stdout
    assert done.returncode == 3
    assert "r.tide" in done.stderr and "No space left on device" in done.stderr


def test_recording_and_report_at_once(run, tmp_path, target):
    done = run("run", "-j", "--record", tmp_path / "r.tide", "--timeline", tmp_path / "t.csv", "-o",
               tmp_path / "report", target("spike"), "16", "50")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "r.tide").read_bytes().startswith(b"\x89TIDE\r\n\n")
    assert json.loads((tmp_path / "report").read_text())["exit_code"] == 0


# ---- thresholds ----

ALERT = (rb"tidemark: threshold of 16\.0 MiB exceeded after [\d.]+ s: total of \d+ process(?:es)? "
         rb"is [\d.]+ MiB, largest (\S+) \(PID (\d+)\) with [\d.]+ MiB\n")


def after_output(out):
    """The report, behind whatever the command wrote."""
    return json.loads(out[out.index(b"{"):])


def test_alert_at_the_moment_of_crossing(start, target):
    p = start("run", "-j", "-t", "16MiB", "--interval", "20", target("hold"), "32")
    pid = p.out.find(rb"ready (\d+)\n")[1]
    assert p.err.find(ALERT).groups() == (b"hold", pid)  # while the command still runs
    p.stdin.close()
    assert p.wait(PATIENCE) == 1
    told = after_output(p.out.rest())
    assert told["threshold_exceeded"] is True
    assert len(told["alerts"]) == 1
    assert p.err.rest().count(b"threshold of") == 1


def test_alert_for_a_spike_that_no_sample_saw(run, target):
    done = run("run", "-t", "16MiB", "--interval", "60s", target("spike"), "32", "5", "100", "100")
    assert done.returncode == 1
    assert done.stderr.startswith("tidemark: threshold of 16.0 MiB exceeded")


def test_threshold_kills_politely(start, target):
    p = start("run", "-j", "-t", "16MiB", "--on-threshold", "kill", "--interval", "20", "sh", "-c",
              f"{target('hold')} 32; exit 3")
    assert p.wait(PATIENCE) == 1
    told = after_output(p.out.rest())
    assert (told["threshold_exceeded"], told["signal"]) == (True, 15)


def test_threshold_kills_what_ignores(start, target):
    p = start("run", "-j", "-t", "16MiB", "--on-threshold", "kill", "--interval", "20",
              target("ignorer"), "32", "2")
    assert p.wait(PATIENCE) == 1
    out = p.out.rest()  # ends only when the children are gone, too
    told = after_output(out)
    assert (told["threshold_exceeded"], told["signal"], told["outlived"]) == (True, 9, 0)
    pids = re.findall(rb"(?:ready|child) (\d+)\n", out)
    assert len(pids) == 3
    assert [status(int(pid), "State") for pid in pids] == [None] * 3


# ---- processes that already run ----


def held(start, target, mib):
    p = start(target("hold"), mib, tool=None)
    p.out.find(rb"ready")
    return p


def test_pid_until_it_ends(start, target):
    command = held(start, target, "16")
    p = start("run", "-j", "--pid", str(command.pid))
    attached(p.pid, command.pid)
    command.stdin.close()
    assert p.wait(PATIENCE) == 0
    told = json.loads(p.out.rest())
    assert (told["exit_code"], told["command"]) == (None, f"{target('hold')} 16")
    assert 16 * MIB <= told["peak_rss_bytes"] < 16 * MIB + SLACK
    assert command.wait(PATIENCE) == 0


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_pid_until_interrupted(start, target, name):
    command = held(start, target, "16")
    p = start("run", "--pid", str(command.pid))
    attached(p.pid, command.pid)
    p.send_signal(getattr(signal, "SIG" + name))
    assert p.wait(PATIENCE) == 0
    assert f"Command: {target('hold')} 16\n".encode() in p.out.rest()
    assert command.poll() is None  # it was watched, not ours to end


def test_several_pids(start, target):
    commands = [held(start, target, "16") for _ in range(2)]
    p = start("run", "-j", "--interval", "20", "--pid", ",".join(str(c.pid) for c in commands))
    attached(p.pid, commands[1].pid)
    p.send_signal(signal.SIGINT)
    assert p.wait(PATIENCE) == 0
    told = json.loads(p.out.rest())
    assert told["process_count"] == 2
    assert 32 * MIB <= told["peak_rss_bytes"] < 32 * MIB + 2 * SLACK


def test_pid_with_its_tree(start, target):
    p = start("sh", "-c", f"{target('hold')} 16; true", tool=None)
    p.out.find(rb"ready")
    watch = start("run", "-j", "--interval", "20", "--pid", str(p.pid))
    attached(watch.pid, p.pid)
    watch.send_signal(signal.SIGINT)
    assert watch.wait(PATIENCE) == 0
    assert json.loads(watch.out.rest())["peak_rss_bytes"] >= 16 * MIB


def test_pid_that_is_gone(run):
    p = subprocess.Popen(["true"])
    p.wait()
    done = run("run", "--pid", str(p.pid))
    assert (done.returncode, done.stdout) == (125, "")
    assert re.fullmatch(rf"tidemark: [^\n]*{p.pid}[^\n]*\n", done.stderr)


def test_pid_that_is_not_ours(public, start, target):
    folder = public()
    command = held(start, target, "1")
    done = as_nobody(folder / "tidemark", "run", "--pid", str(command.pid), timeout=30)
    assert (done.returncode, done.stdout) == (125, "")
    assert re.fullmatch(rf"tidemark: [^\n]*{command.pid}[^\n]*\n", done.stderr)


# ---- the live view ----

LINES = [f"line {i} of the command" for i in range(1, 7)]
SPEAK = "for i in 1 2 3 4 5 6; do echo \"line $i of the command\"; sleep 0.25; done"


def watched(terminal, tidemark, rows=24, columns=80, script=SPEAK, **kw):
    words = [tidemark, "run", "-w", "--interval", "50", "sh", "-c", script]
    p = terminal(words, rows, columns, **kw)
    raw = p.tty.rest()
    assert p.wait(PATIENCE) == 0
    return raw


def environment(**changes):
    kept = {key: value for key, value in os.environ.items()
            if key not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", **changes}


@pytest.mark.parametrize("rows, columns", [(24, 80), (24, 40), (24, 24), (8, 80), (7, 24)])
def test_watch_leaves_the_commands_lines_alone(terminal, tidemark, rows, columns):
    raw = watched(terminal, tidemark, rows, columns, env=environment())
    assert b"\x1b[" in raw  # it did draw
    text = Screen(rows, columns).feed(raw.decode()).text()
    assert text[:6] == LINES
    assert text[6].startswith("Command: sh -c for i")  # nothing of the view stays
    assert "Exit code: 0" in text


def test_watch_below_what_was_there(terminal, tidemark):
    """Begun at the bottom of the screen, by a shell that has written before."""
    command = "seq 31 34; sleep 0.4; seq 35 60"
    script = f"seq 30; {tidemark} run -w --interval 50 sh -c '{command}'; echo end"
    p = terminal(["sh", "-c", script], 10, 40, env=environment())
    text = Screen(10, 40).feed(p.tty.rest().decode()).text()
    assert text[:60] == [str(i) for i in range(1, 61)]
    assert text[60].startswith("Command: ") and text[-1] == "end"


def test_watch_on_a_tiny_terminal(terminal, tidemark):
    raw = watched(terminal, tidemark, 2, 10, env=environment())
    assert Screen(2, 10).feed(raw.decode()).text()


def test_watch_with_lines_that_end_late(terminal, tidemark):
    script = "printf 'half a '; sleep 0.4; echo line; sleep 0.3; printf 'no end'"
    raw = watched(terminal, tidemark, script=script, env=environment())
    text = Screen(24, 80).feed(raw.decode()).text()
    assert text[0] == "half a line"
    assert text[1].startswith("no end")


def test_watch_without_colour(terminal, tidemark):
    raw = watched(terminal, tidemark, env=environment(NO_COLOR="1"))
    assert not re.search(rb"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|38;5)[0-9;]*m", raw)


def test_watch_without_utf8(terminal, tidemark):
    raw = watched(terminal, tidemark, env=environment(LANG="C", LC_ALL="C"))
    assert all(byte < 0x80 for byte in raw)


def test_watch_keeps_stdout_clean(terminal, tidemark, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        watched(terminal, tidemark, stdout=out, env=environment())
    text = (tmp_path / "out").read_text()
    assert "\x1b" not in text
    assert text.splitlines()[:6] == LINES and text.splitlines()[6].startswith("Command: ")


def test_watch_without_a_terminal(run):
    done = run("run", "-w", "--interval", "20", "sleep", "2.5")
    assert "\x1b" not in done.stderr + done.stdout and "\r" not in done.stderr
    duration = float(re.search(r"^Duration: ([\d.]+)s", done.stdout, re.M)[1])
    assert 1 <= len(done.stderr.splitlines()) <= duration + 1


# ---- out of memory ----


@need_root
@need_mounts
@pytest.mark.parametrize("count, named", [(5, ", out of memory"), (4, "")])
def test_an_oom_kill_is_named(start, tidemark, count, named):
    """The kernel's counter is played by a file, in a mount namespace of its own."""
    groups = dict(line.rstrip("\n").split(":")[1:] for line in open("/proc/self/cgroup"))
    v1 = "memory" in groups
    folder = "/sys/fs/cgroup" + ("/memory" + groups["memory"] if v1 else groups.get("", "/"))
    counter = folder + ("/memory.oom_control" if v1 else "/memory.events")
    setup = ('mount -t tmpfs none /sys/fs/cgroup && mkdir -p "$1" && echo "oom_kill 4" > "$2" && '
             'shift 2 && exec "$@"')
    command = f"read go; echo 'oom_kill {count}' > {counter}; kill -9 $$"
    p = start("unshare", "-m", "sh", "-c", setup, "sh", folder, counter, tidemark, "run", "-t", "1",
              "sh", "-c", command, tool=None)
    p.err.find(rb"threshold of 1 B exceeded")  # so a sample was taken
    p.stdin.write(b"go\n")
    p.stdin.close()
    assert p.wait(PATIENCE) == 1
    assert "Killed by signal: 9 (SIGKILL)" + named in p.out.rest().decode().splitlines()


def test_a_real_oom_kill(tidemark, target, tmp_path):
    """In a group below $TIDEMARK_TEST_CGROUP: a folder of the memory controller that is ours."""
    above = os.environ.get("TIDEMARK_TEST_CGROUP")
    if not above:
        pytest.skip("TIDEMARK_TEST_CGROUP names no control group that the test may use")
    group = pathlib.Path(above) / f"tidemark-test-{os.getpid()}"
    group.mkdir()
    try:
        limit = group / "memory.max"
        (limit if limit.exists() else group / "memory.limit_in_bytes").write_text(str(64 * MIB))
        script = 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"'
        done = subprocess.run(["sh", "-c", script, "sh", group, tidemark, "run", "-j",
                               target("spike"), "256", "1000"],
                              capture_output=True, text=True, timeout=60, check=False)
    finally:
        until(lambda: (group / "cgroup.procs").read_text() == "", "the group to be empty")
        group.rmdir()
    assert done.returncode == 137
    told = json.loads(done.stdout)
    assert (told["oom_killed"], told["signal"]) == (True, 9)
    assert told["peak_rss_bytes"] > 32 * MIB


@pytest.mark.parametrize("how", ["result", "sampled"])
def test_the_cpu_time_of_children_that_nobody_waits_for_counts(request, how):
    """The kernel adds it to nobody's: what each of them used is added up."""
    code = textwrap.dedent("""\
        import os, signal, time
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for i in range(3):
            if os.fork() == 0:
                while time.process_time() < 0.4:
                    pass
                os._exit(0)
        try:
            os.wait()
        except ChildProcessError:
            pass
        """)
    told = request.getfixturevalue(how)("/usr/bin/python3", "-c", code)
    assert 1.0 < told["cpu_user_seconds"] + told["cpu_system_seconds"] < 2.0
