"""What nobody but its user may read, what a program may not make root open, and who is believed."""

import os
import pathlib
import re
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile

import pytest

from running import NOBODY, PATIENCE, need_mounts, need_root, start

FIXTURES = (start,)

SECRET = "the text of a file of root"
EVIL = """
import sys, time
names = {{}}
exec(compile("def take(n):\\n    return [bytearray(1000) for _ in range(n)]\\n", {path!r}, "exec"), names)
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[1])
while True:
    kept = names["take"](500)
    own = bytearray(5000)
    if time.monotonic() > end:
        break
    time.sleep(0.002)
"""


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def one_sentence(text):
    return re.fullmatch(r"tidemark: [^\n]+\n", text)


# ---- who may read a trace ----


@pytest.mark.parametrize("words", [("record", "-q", "-o"), ("run", "-q", "--record")])
def test_a_trace_is_for_its_user_alone(run, tmp_path, words):
    trace = tmp_path / "t.tide"
    trace.touch(mode=0o666)
    os.chmod(trace, 0o666)
    for _ in range(2):
        assert run(*words, trace, "true").returncode == 0
        assert mode(trace) == 0o600
        trace.unlink()


def test_a_report_is_for_no_more_people_than_its_trace(run, tmp_path):
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "-f", "-o", trace, "true").returncode == 0
    for number in (0o600, 0o644):
        os.chmod(trace, number)
        out = tmp_path / f"{number}.csv"
        assert run("report", trace, "processes", "-f", "csv", "-o", out,
                   preexec_fn=lambda: os.umask(0o22)).returncode == 0
        assert mode(out) == number


def test_a_name_that_nobody_chose_touches_no_file(build, tmp_path):
    """Links wait at every name that the next pids would give."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    script = f"""
        for i in $(seq 0 300); do ln -s victim true.$(($$ + i)).tide; done
        exec {build / 'tidemark'} record -q true
    """
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True, timeout=PATIENCE)
    assert victim.read_text() == "mine"
    made = [p for p in tmp_path.glob("true.*.2.tide") if not p.is_symlink()]
    assert len(made) == 1 and mode(made[0]) == 0o600


@need_root
def test_what_belongs_to_another_user_is_not_written(run, tmp_path):
    victim, link, theirs = tmp_path / "victim", tmp_path / "link", tmp_path / "theirs"
    victim.write_text("mine")
    link.symlink_to(victim)
    os.lchown(link, 65534, 65534)
    theirs.write_text("theirs")
    os.chown(theirs, 65534, 65534)
    for path in (link, theirs):
        done = run("record", "-f", "-o", path, "touch", tmp_path / "ran")
        assert done.returncode == 125 and "another user" in done.stderr
    assert victim.read_text() == "mine" and not (tmp_path / "ran").exists()


def test_a_link_of_our_own_is_followed(run, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "t.tide")
    assert run("record", "-q", "-o", tmp_path / "link", "true").returncode == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "t.tide").stat().st_size > 64


def test_secrets_are_left_out_of_all_command_lines(run, tmp_path):
    trace = tmp_path / "t.tide"
    inner = "sleep 0.01; env TOKEN=hunter1 sleep 0.3; sh -c 'sleep 0.2; : --password hunter2'"
    for redact, kept in (([], True), (["--redact"], False), (["--redact=all"], False)):
        for words in (["record", "-q", "--no-names", *redact, "-o"],
                      ["run", "-q", *redact, "--record"]):
            trace.unlink(missing_ok=True)
            assert run(*words, trace, "sh", "-c", inner, "x", "--api-key=hunter3").returncode == 0
            said = run("report", trace, "processes", "-f", "json").stdout + run("report", trace).stdout
            assert ("hunter" in said) == kept
            assert ("sleep 0.3" in said) == (redact != ["--redact=all"])


# ---- a recorder never ends a job ----


def test_a_full_disk_lets_the_command_run(run, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full],
                      check=False, capture_output=True).returncode:
        pytest.skip("no mounts here")
    try:
        (full / "fill").write_bytes(bytes(4096))
        for words in (["record", "-q", "-o"], ["run", "-q", "--record"]):
            done = run(*words, full / "t.tide", "sh", "-c", "echo ran; exit 7")
            assert done.returncode == 7 and done.stdout.startswith("ran")
            assert one_sentence(done.stderr) and "recorded" in done.stderr
            assert not (full / "t.tide").exists()
    finally:
        subprocess.run(["umount", full], check=True)


@pytest.mark.parametrize("count", [4, 5])
def test_a_lack_of_descriptors_lets_the_command_run(tidemark, tmp_path, count):
    """Of the recorder's first few one is missing; the command itself needs only one."""
    words = ["prlimit", f"--nofile={count}:{count}", tidemark, "record", "--mute", "-o",
             tmp_path / "t.tide", "sh", "-c", "echo loud; exit 7"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 7 and done.stdout == ""
    assert one_sentence(done.stderr) and "Too many open files; 'sh' runs without" in done.stderr
    assert not (tmp_path / "t.tide").exists()


def test_what_was_asked_for_wrongly_is_an_error_before_anything_runs(run, tmp_path):
    for path in ("/nonexistent/x.tide", tmp_path, "/proc/x.tide"):
        done = run("record", "-o", path, "touch", tmp_path / "ran")
        assert done.returncode == 125 and one_sentence(done.stderr)
        assert not (tmp_path / "ran").exists()


def test_a_pipe_without_a_reader_is_not_waited_for(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run("record", "-o", tmp_path / "pipe", "true", timeout=PATIENCE)
    assert done.returncode == 125 and "nobody reads" in done.stderr and one_sentence(done.stderr)


def test_a_command_that_cannot_start_removes_no_device(run, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make a device")
    os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    assert run("record", "-o", tmp_path / "null", "no-such-command").returncode == 127
    assert (tmp_path / "null").exists()


@pytest.mark.parametrize("harm, word", [("rm t.tide", "removed"), ("mv other t.tide", "replaced"),
                                        ("truncate -s 10 t.tide", "shorter")])
def test_a_trace_that_vanishes_is_said(run, tmp_path, harm, word):
    (tmp_path / "other").write_text("other")
    done = run("record", "-o", "t.tide", "sh", "-c", f"{harm}; exit 7", cwd=tmp_path)
    assert done.returncode == 7 and word in done.stderr and one_sentence(done.stderr)


# ---- files that a program names ----


@pytest.fixture
def secret():
    """A file of root, and a program of Python that says it came from there, for everybody to run."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-test-"))
    folder.chmod(0o755)
    path, program = folder / "secret.py", folder / "evil.py"
    path.write_text(f"{SECRET}\n{SECRET}\n")
    path.chmod(0o600)
    program.write_text(EVIL.format(path=str(path)))
    program.chmod(0o644)
    yield path, program
    shutil.rmtree(folder)


def lines_of(run, trace):
    return run("report", trace, "lines", "--all", "-f", "json").stdout


@need_root
def test_roots_attach_copies_no_file_that_the_program_may_not_read(run, start, tmp_path, secret):
    path, program = secret
    victim = start(*NOBODY, sys.executable, program, "60", tool=None)
    victim.out.find(b"ready")
    trace = tmp_path / "t.tide"
    done = run("attach", "-q", "--exact", "--duration", "1", "-f", "-o", trace, str(victim.pid))
    assert done.returncode == 0, done.stderr
    said = lines_of(run, trace)
    assert str(path) in said and SECRET not in said
    assert "evil.py" in said and "own = bytearray" in said  # what it may read is there
    path.chmod(0o644)
    assert run("attach", "-q", "--exact", "--duration", "1", "-f", "-o", trace,
               str(victim.pid)).returncode == 0
    assert SECRET in lines_of(run, trace)


@need_root
def test_root_sees_the_source_of_roots_own_programs(run, tmp_path, secret):
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "--exact", "-f", "-o", trace, sys.executable, secret[1], "0").returncode == 0
    assert SECRET in lines_of(run, trace)


@need_root
def test_a_program_that_gives_up_root_has_its_files_read_so(run, tmp_path, secret):
    """It was root when it began, and names the file when it no longer is."""
    path, program = secret
    trace, dropper = tmp_path / "t.tide", program.parent / "dropper.py"
    dropper.write_text("import os, runpy, sys\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
                       f"sys.argv = ['evil.py', '1.5']\nrunpy.run_path({str(program)!r})\n")
    dropper.chmod(0o644)
    assert run("record", "-q", "--exact", "-f", "-o", trace, sys.executable, dropper).returncode == 0
    assert SECRET not in lines_of(run, trace)


@need_root
@need_mounts
def test_source_is_read_in_the_files_that_the_program_sees(run, start, tmp_path, secret):
    """In its mount namespace another file has that name."""
    path, program = secret
    path.chmod(0o644)
    inner = tmp_path / "inner.py"
    inner.write_text("what the program sees\n" * 2)
    victim = start("unshare", "-m", "sh", "-c",
                   f"mount --bind {inner} {path} && exec {sys.executable} {program} 60", tool=None)
    victim.out.find(b"ready")
    trace = tmp_path / "t.tide"
    done = run("attach", "-q", "--exact", "--duration", "1", "-f", "-o", trace, str(victim.pid))
    assert done.returncode == 0, done.stderr
    said = lines_of(run, trace)
    assert "what the program sees" in said and SECRET not in said


def test_a_name_that_is_a_pipe_or_a_device_is_not_waited_for(run, tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    for name in (tmp_path / "pipe.py", "/dev/zero", "/proc/self/mem"):
        program = tmp_path / "evil.py"
        program.write_text(EVIL.format(path=str(name)))
        done = run("record", "-q", "--exact", "--no-names", "-f", "-o", tmp_path / "t.tide", sys.executable,
                   program, "0")
        assert done.returncode == 0 and done.stderr == ""


# ---- who answers ----


def squat(pid):
    """Take the name of a recorder's socket, as any user can."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(f"\0tidemark-{pid}")
    s.listen(8)
    return s


def test_a_recording_whose_name_is_taken_says_so(build, tmp_path):
    """A process takes the name before it becomes the recorder: its descriptor stays open."""
    script = ("import os, socket, sys\n"
              "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
              "s.bind('\\0tidemark-%d' % os.getpid()); s.listen(1); s.set_inheritable(True)\n"
              "os.execv(sys.argv[1], sys.argv[1:])\n")
    done = subprocess.run([sys.executable, "-c", script, build / "tidemark", "record", "-q", "-o",
                           tmp_path / "t.tide", "true"], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 0
    assert "another process already listens under this" in done.stderr and one_sentence(done.stderr)


@pytest.mark.parametrize("command", ["pause", "resume", "snapshot", "detach"])
def test_an_impostor_is_not_believed(run, command):
    """It has the name of a process that is no recorder of ours; it would answer, or wait for ever."""
    with subprocess.Popen(["sleep", "60"]) as other:
        impostor = squat(other.pid)
        done = run(command, str(other.pid), timeout=PATIENCE)
        other.kill()
        impostor.close()
    assert done.returncode == 1 and "is not being recorded" in done.stderr


def test_an_answer_steers_no_terminal(run):
    """A process may answer for itself. It says what it wants; it is shown clean, and not waited for."""
    script = ("import os, socket\n"
              "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
              "s.bind('\\0tidemark-%d' % os.getpid()); s.listen(1); print('ready', flush=True)\n"
              "c, _ = s.accept(); c.recv(100); c.send(b'ok \\x1b]0;PWNED\\x07\\xe2\\x80\\xae\\xff')\n"
              "c.recv(100)\n")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as liar:
        liar.stdout.readline()
        done = run("snapshot", str(liar.pid), timeout=PATIENCE)
        liar.kill()
    assert done.stdout == "?]0;PWNED???\n"


# ---- what reads the bytes of others ----


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def test_the_reader_of_foreign_files_has_nothing_that_it_does_not_need(build):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen([build / "tidemark-resolve"], stdin=theirs) as helper:
        assert ours.recv(100) == b"ready"
        status = status_of(helper.pid)
        limits = open(f"/proc/{helper.pid}/limits", encoding="utf-8").read()
        ours.close()
        theirs.close()
    assert status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) & ~0b110 == 0 and int(status["CapPrm"], 16) & ~0b110 == 0
    if "Seccomp" in status:
        assert status["Seccomp"] == "2"
    assert re.search(r"Max file size +0 ", limits)


def test_a_helper_that_cannot_start_is_said(build, run, tmp_path):
    for name in ("tidemark", "libtidemark.so"):
        shutil.copy(build / name, tmp_path / name)
    helper = tmp_path / "tidemark-resolve"
    program = build / "tests" / "targets" / "record" / "crash"
    for text, word in (("#!/bin/sh\nexit 127\n", "library"), ("#!/bin/sh\nexit 1\n", "ends as soon"),
                       ("#!/nowhere\n", "cannot start"), (None, "not beside")):
        if text:
            helper.write_text(text)
            helper.chmod(0o755)
        else:
            helper.unlink()
        done = subprocess.run([tmp_path / "tidemark", "record", "-q", "--exact", "-f", "-o",
                               tmp_path / "t.tide", program, "exit"], capture_output=True, text=True,
                              check=False, timeout=PATIENCE)
        assert done.returncode == 0
        assert "have no names" in done.stderr and word in done.stderr and one_sentence(done.stderr)


@need_root
@need_mounts
def test_names_are_found_without_a_dev_null(build, run, tmp_path):
    program, trace = build / "tests" / "targets" / "record" / "crash", tmp_path / "t.tide"
    done = subprocess.run(["unshare", "-m", "sh", "-c",
                           f"mount -t tmpfs none /dev && {build / 'tidemark'} record -q --exact "
                           f"-o {trace} {program} exit"], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == ""
    assert "crash.c" in run("report", trace, "sites", "-f", "json").stdout


@pytest.mark.parametrize("how", ["signal", "silence"])
def test_a_helper_that_dies_of_a_file_is_said(build, tmp_path, how):
    """SIGBUS, as of a file that is cut while it is mapped."""
    for name in ("tidemark", "libtidemark.so"):
        shutil.copy(build / name, tmp_path / name)
    helper, program = tmp_path / "tidemark-resolve", build / "tests" / "targets" / "record" / "crash"
    helper.write_text(f"#!{sys.executable}\nimport os, signal, socket\ns = socket.socket(fileno=0)\n"
                      "s.send(b'ready')\ns.recv(200000)\n" +
                      ("os.kill(os.getpid(), signal.SIGBUS)\n" if how == "signal" else ""))
    helper.chmod(0o755)
    done = subprocess.run([tmp_path / "tidemark", "record", "-q", "--exact", "-f", "-o", tmp_path / "t.tide",
                           program, "exit"], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 0
    assert "could not be read to its end" in done.stderr and one_sentence(done.stderr)


BOMB = """
#include <stdlib.h>
void *take(size_t n) { return malloc(n); }
int main(void) { return take(5000) == NULL; }
"""


def lie_about_sizes(path):
    """Say of each compressed section that it holds a TiB."""
    data = bytearray(path.read_bytes())
    table, = struct.unpack_from("<Q", data, 0x28)
    count, = struct.unpack_from("<H", data, 0x3c)
    changed = 0
    for at in range(table, table + count * 64, 64):
        flags, _, offset = struct.unpack_from("<QQQ", data, at + 8)
        if flags & 0x800:  # SHF_COMPRESSED
            struct.pack_into("<Q", data, offset + 8, 1 << 40)
            changed += 1
    path.write_bytes(data)
    return changed


def test_debug_information_that_lies_about_its_size_costs_nothing(run, tmp_path):
    source, program = tmp_path / "bomb.c", tmp_path / "bomb"
    source.write_text(BOMB)
    subprocess.run(["cc", "-g", "-gz=zlib", "-O0", "-o", program, source], check=True)
    if not lie_about_sizes(program):
        pytest.skip("this compiler does not compress")
    done = run("record", "-q", "--exact", "-f", "-o", tmp_path / "t.tide", program, timeout=PATIENCE)
    assert done.returncode == 0
    assert "take" in run("report", tmp_path / "t.tide", "sites", "-f", "json").stdout  # by its symbol
