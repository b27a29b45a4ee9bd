"""Some faults of tools/campaign, and that it can fail: the rest of them has a stage of its own."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def campaign(build, sanitized):
    if sanitized:
        pytest.skip("the recorder's memory and speed are those of a sanitizer then")

    def call(*args):
        return subprocess.run([ROOT / "tools" / "campaign", "--seed", "1", "--rounds", "1", *args],
                              capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "TIDEMARK_BUILD": str(build)})

    return call


@pytest.mark.parametrize("fault", ["death:kill", "sampled-death:segv", "children:prefork", "exec-chain",
                                   "collector-signalled:term"])
def test_a_fault_harms_and_loses_nothing(campaign, fault):
    done = campaign("--only", fault)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("1 passed, 0 failed\n")


def test_a_recorder_that_breaks_a_promise_is_found(campaign, tmp_path, tidemark):
    """One that loses the exit code of the command."""
    tool = tmp_path / "tidemark"
    tool.write_text(f'#!/bin/sh\n{tidemark} "$@"\n[ "$1" = record ] && exit 0\nexit $?\n')
    tool.chmod(0o755)
    done = campaign("--only", "death:_exit", "--tool", str(tool))
    assert done.returncode == 1
    assert "FAILED death:_exit: exit status 0, not 3" in done.stdout
    assert "tools/campaign --only death:_exit --seed 1 --rounds 1" in done.stdout


def test_a_trace_that_lacks_something_in_silence_is_found(campaign, tmp_path, tidemark):
    """One that records another program instead, which makes none of the allocations."""
    tool, other = tmp_path / "tidemark", tmp_path / "subject"
    shutil.copy("/bin/true", other)
    tool.write_text('#!/bin/bash\n[ "$1" = record ] || exec ' + tidemark + ' "$@"\n'
                    f'{tidemark} "${{@:1:7}}" -- {other}; shift 8; "$@"\n')
    tool.chmod(0o755)
    for _ in range(8):  # it may die before it has allocated anything
        done = campaign("--only", "death:_exit", "--tool", str(tool))
        if done.returncode:
            break
    assert done.returncode == 1
    assert "FAILED death:_exit: 0 allocs of " in done.stdout
    assert "in the trace, and it says 'recorded: 1 of 1 process" in done.stdout


def test_every_fault_of_the_bounded_list_exists(campaign):
    listed = set(campaign("--list").stdout.split())
    lines = (ROOT / "tests" / "campaign" / "bounded").read_text().splitlines()
    names = {line.split()[0] for line in lines if line and not line.startswith("#")}
    assert names and names <= listed
