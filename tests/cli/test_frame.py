"""The frame: which command is meant, help, version, manual pages, completion, failed output."""

import os
import shutil
import signal
import subprocess

import pytest

COMMANDS = ["run", "record", "attach", "detach", "pause", "resume", "snapshot", "report", "diff", "serve", "devices",
            "import", "completion", "man", "help"]


def need(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def test_version(run):
    assert run("-V").stdout == "0.1.0\n"
    assert run("--version").stdout == "tidemark 0.1.0\n"
    for command in COMMANDS:
        assert run(command, "--version").stdout == "tidemark 0.1.0\n"


def test_no_arguments_is_a_usage_error(run):
    done = run()
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Usage: tidemark ")


def test_help_lists_every_command(run):
    for arguments in (["--help"], ["-h"], ["help"]):
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        for command in COMMANDS:
            assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(run, command):
    long, brief = run(command, "--help"), run(command, "-h")
    assert (long.returncode, brief.returncode) == (0, 0)
    assert long.stdout.startswith(f"Usage: tidemark {command} [OPTIONS]")
    assert "\nOptions:\n" in brief.stdout and "\nExit status:\n" not in brief.stdout
    assert "\nExit status:\n" in long.stdout and "\nExamples:\n" in long.stdout
    assert len(brief.stdout) < len(long.stdout)
    assert run("help", command).stdout == long.stdout


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_80_columns(run, command):
    text = run(*([command] if command else []), "--help").stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_usage_errors_name_the_help(run):
    done = run("report", "--no-such-option")
    assert done.returncode == 2
    assert done.stderr == ("tidemark: unknown option '--no-such-option'; "
                           "see 'tidemark report --help'\n")
    done = run("completion", "tcsh")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    done = run("help", "nothing")
    assert done.returncode == 2 and "there is no command 'nothing'" in done.stderr
    assert run("--helpp").returncode == 2


def test_options_of_the_target_are_its_own(run):
    echo = ["sh", "-c", 'echo "$*"', "sh"]
    assert run(*echo, "--help").stdout.startswith("--help\n")
    assert run("run", *echo, "-V", "--nope").stdout.startswith("-V --nope\n")
    assert run("--", *echo, "-h", "--").stdout.startswith("-h --\n")


def test_double_dash_runs_a_program_called_like_a_command(run, tmp_path):
    program = tmp_path / "report"
    program.write_text("#!/bin/sh\necho mine \"$@\"\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = run("--", "report", "x", env={**os.environ, "PATH": path})
    assert done.stdout.startswith("mine x\n")


def test_plain_words_are_run(run):
    assert run("sh", "-c", "exit 7").returncode == 7
    assert run("run", "sh", "-c", "exit 7").returncode == 7


def test_full_disk(run):
    with open("/dev/full", "w") as full:
        done = run("help", "run", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == ("tidemark: cannot write to standard output: "
                           "No space left on device\n")


def test_closed_pipe(run):
    read, write = os.pipe()
    os.close(read)
    # As a shell starts us: the default disposition, under which a write to the pipe would kill.
    done = run("help", "run", stdout=write, stderr=subprocess.PIPE, restore_signals=True)
    os.close(write)
    assert done.returncode == 128 + signal.SIGPIPE  # as a shell knows it of other programs
    assert done.stderr == ""


def sigpipe_of_target(tidemark, ignored):
    script = "trap '' PIPE; " if ignored else ""
    script += f"'{tidemark}' grep SigIgn: /proc/self/status"
    done = subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=30, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("SigIgn:"))
    return bool(int(line.split()[1], 16) >> 12 & 1)


def test_target_gets_the_sigpipe_that_we_got(tidemark):
    assert sigpipe_of_target(tidemark, ignored=False) is False
    assert sigpipe_of_target(tidemark, ignored=True) is True


# ---- manual pages ----


@pytest.mark.parametrize("page", [None, *COMMANDS])
def test_manual_page_renders_without_warnings(run, tmp_path, page):
    need("man")
    roff = run("man", *([page] if page else []))
    assert roff.returncode == 0
    path = tmp_path / "page.1"
    path.write_text(roff.stdout)
    shown = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(path)], capture_output=True, text=True,
        timeout=60, check=True, env={**os.environ, "MANWIDTH": "80", "MAN_KEEP_FORMATTING": ""})
    assert shown.stderr == ""
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
        assert section in shown.stdout


def test_manual_page_has_every_option(run):
    page = run("man", "run").stdout
    listed = [word.rstrip(",") for line in run("run", "-h").stdout.splitlines()
              for word in line.split()[:3] if line.startswith("  ") and word.startswith("--")]
    assert len(listed) > 5
    for option in listed:
        name = option.split("[")[0].split("=")[0]
        assert "\\fB" + name.replace("-", "\\-") + "\\fR" in page


# ---- completion ----


def complete(tidemark, *words, rc="", cwd=None):
    """What a real bash offers for the last word."""
    script = rc + """
eval "$("$TIDEMARK" completion bash)" || exit 9
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
COMP_TYPE=9
_tidemark
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words], capture_output=True, text=True,
        timeout=60, env={**os.environ, "TIDEMARK": tidemark}, cwd=cwd, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    return [line.rstrip() for line in done.stdout.splitlines() if line]


def test_bash_registers(run):
    script = run("completion", "bash").stdout + "\ncomplete -p tidemark\n"
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                          timeout=60, check=True)
    assert done.stdout == "complete -F _tidemark tidemark\n"
    assert done.stderr == ""


def test_bash_commands(tidemark):
    assert complete(tidemark, "tidemark", "") == COMMANDS
    assert "report" in complete(tidemark, "tidemark", "rep")
    assert "uname" in complete(tidemark, "tidemark", "unam")
    assert complete(tidemark, "tidemark", "help", "re") == ["record", "resume", "report"]
    assert complete(tidemark, "tidemark", "completion", "") == ["bash", "zsh", "fish"]


def test_bash_options(tidemark, run):
    offered = complete(tidemark, "tidemark", "run", "--")
    listed = [word for line in run("run", "-h").stdout.splitlines()
              for word in line.split()[:2] if word.startswith("--")]
    assert {word.split("[")[0] for word in listed} <= set(offered)
    assert complete(tidemark, "tidemark", "--vers") == ["--version"]
    assert complete(tidemark, "tidemark", "report", "--hel") == ["--help"]


def test_bash_program_and_its_words(tidemark, tmp_path):
    (tmp_path / "some-file").touch()
    assert "uname" in complete(tidemark, "tidemark", "run", "unam")
    assert complete(tidemark, "tidemark", "run", "cat", "some-", cwd=tmp_path) == ["some-file"]
    assert complete(tidemark, "tidemark", "--", "cat", "some-", cwd=tmp_path) == ["some-file"]
    assert complete(tidemark, "tidemark", "cat", "--hel") == []


def test_bash_files(tidemark, tmp_path):
    (tmp_path / "a b.tide").touch()
    assert complete(tidemark, "tidemark", "report", "a", cwd=tmp_path) == ["a b.tide"]
    assert complete(tidemark, "tidemark", "report", "a b.tide", "proc") == ["processes"]
    assert complete(tidemark, "tidemark", "report", "--format", "sc") == ["scalene"]
    assert complete(tidemark, "tidemark", "report", "--format", "=", "sc") == ["scalene"]
    assert complete(tidemark, "tidemark", "report", "--format", "=") == [
        "text", "json", "csv", "jsonl", "markdown", "sql", "sqlite", "resource-log", "collapsed", "pprof",
        "speedscope", "perfetto", "scalene", "heaptrack", "massif", "torch-snapshot", "memscope", "html", "svg",
        "png"]
    assert complete(tidemark, "tidemark", "run", "--record", "a", cwd=tmp_path) == ["a b.tide"]
    assert complete(tidemark, "tidemark", "run", "--record", "=", "a",
                    cwd=tmp_path) == ["a b.tide"]


def test_bash_with_the_completions_of_others(tidemark):
    library = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(library):
        pytest.skip("bash-completion is not installed")
    rc = f"shopt -s extglob progcomp; . {library}\n"
    offered = complete(tidemark, "tidemark", "run", "unam", rc=rc)
    assert "uname" in offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_script_is_understood(run, tmp_path, shell):
    need(shell)
    script = tmp_path / "script"
    script.write_text(run("completion", shell).stdout)
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, timeout=60,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")


def fish(run, tmp_path, line):
    need("fish")
    script = tmp_path / "tidemark.fish"
    script.write_text(run("completion", "fish").stdout)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
        capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, "HOME": str(tmp_path)})
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


def test_fish_offers(run, tmp_path):
    assert set(COMMANDS) <= set(fish(run, tmp_path, "tidemark "))
    assert fish(run, tmp_path, "tidemark report --hel") == ["--help"]
    assert fish(run, tmp_path, "tidemark completion z") == ["zsh"]
    assert "--record" in fish(run, tmp_path, "tidemark --rec")
    assert "uname" in fish(run, tmp_path, "tidemark run unam")
