"""`run` on a system of which nothing is known but POSIX (tests/platform): the door holds."""

import json
import signal
import subprocess

import pytest

MIB = 1 << 20


@pytest.fixture
def run_posix(build):
    """run_posix(*args) -> CompletedProcess of `run` linked with tests/platform/posix.c"""
    return lambda *args: subprocess.run(
        [build / "tests" / "platform" / "run_posix", *args], capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=60, check=False)


def test_what_wait_brings_is_told_and_all_else_is_absent(run_posix):
    done = run_posix("-j", "--", "/usr/bin/python3", "-c", f"x = b'x' * {64 * MIB}; sum(range(5_000_000))")
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_code"]) == (0, 0)
    assert 64 * MIB < told["peak_rss_bytes"] < 128 * MIB
    assert not told["peak_rss_exact"] and told["cpu_user_seconds"] > 0
    absent = ["peak_vsz_bytes", "peak_pss_bytes", "cgroup_peak_bytes"]
    assert [told[key] for key in absent] == [None] * 3
    assert set(told["memory_usage"].values()) == {None}


@pytest.mark.parametrize("command, code", [("exit 3", 3), ("kill -9 $$", 128 + signal.SIGKILL)])
def test_the_status_of_the_command_is_passed_on(run_posix, command, code):
    assert run_posix("-q", "--", "sh", "-c", command).returncode == code


def test_a_signal_is_passed_on_to_the_command(build):
    words = ["sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done"]
    with subprocess.Popen([build / "tests" / "platform" / "run_posix", "-q", "--", *words],
                          stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout.readline() == "ready\n"
        tool.send_signal(signal.SIGTERM)
        assert tool.wait(60) == 7


def test_what_the_system_cannot_do_is_refused_by_a_sentence(run_posix):
    done = run_posix("--exact", "--", "true")
    assert (done.returncode, done.stdout) == (125, "")
    assert "--exact is not known on this system; leave it out" in done.stderr
    done = run_posix("--pid", "1")
    assert done.returncode == 125 and done.stderr.count("\n") == 1
