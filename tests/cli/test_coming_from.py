"""docs/COMING-FROM.md: every command that it names is run."""

import os
import pathlib
import pickle
import re
import shlex
import subprocess

import pytest
from foreign_files import memscope_rows, snapshot, write_csv, write_db

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "COMING-FROM.md").read_text()
ROWS = [line.split(" | ", 1)[1] for line in PAGE.splitlines() if line.startswith("| `") or line.startswith("| its ")]
COMMANDS = sorted({command for row in ROWS for command in re.findall(r"`(tidemark [^`]*)`", row)})


@pytest.fixture(scope="module")
def place(tidemark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("coming")
    (folder / "app.py").write_text("kept = [str(i) for i in range(20000)]\n")
    subprocess.run([tidemark, "record", "-q", "--exact", "-o", "x.tide", "/usr/bin/python3", "app.py"], cwd=folder,
                   check=True, timeout=120)
    (folder / "snapshot.pickle").write_bytes(pickle.dumps(snapshot()))
    write_csv(folder / "memscope_dump.csv", memscope_rows())
    write_db(folder / "memscope_dump.db", memscope_rows())
    return folder


def test_there_are_commands():
    assert len(COMMANDS) > 35


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_works(tidemark, place, command):
    words = shlex.split(command)[1:]
    waiter = None
    if "PID" in words:
        waiter = subprocess.Popen(["sleep", "1.5"])
        words[words.index("PID")] = str(waiter.pid)
    if "CMD" in words:
        at = words.index("CMD")
        words[at:at + 1] = ["/usr/bin/python3", "app.py"]
    if words[0] in ("run", "record", "attach") and "--record" in words or words[0] in ("record", "attach"):
        words.insert(1, "--force")
        if "--record" not in words:
            words[1:1] = ["-o", "made.tide"]
        else:
            words[words.index("--record") + 1] = "made.tide"
    if "--compare-baseline" in words:
        subprocess.run([tidemark, "run", "--baseline-dir", place / "b", "--save-baseline", "b", "true"], cwd=place,
                       capture_output=True, check=True, timeout=60)
        words[1:1] = ["--regression-threshold", "100000"]
    if "baseline" in " ".join(words):
        words[1:1] = ["--baseline-dir", os.fspath(place / "b")]
    done = subprocess.run([tidemark, *words], cwd=place, capture_output=True, text=True, timeout=120, check=False)
    if waiter:
        waiter.kill()
        waiter.wait()
    if "tidemark was built without" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode in ((0, 137, 143) if waiter else (0,)), done.stderr


def test_a_link_named_peak_mem_is_peak_mem(tidemark, place):
    """Its first word is a command to run, and never one of ours."""
    link = place / "peak-mem"
    if not link.exists():
        link.symlink_to(tidemark)
    (place / "report").write_text("#!/bin/sh\necho ran $*\n")
    (place / "report").chmod(0o755)
    path = {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([link, "report", "x.tide"], cwd=place, env=path, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.stdout.startswith("ran x.tide\nCommand: report x.tide\nPeak memory usage: ")
    done = subprocess.run([link, "-q", "true"], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > 0
    assert subprocess.run([link, "--interval", "1.5", "true"], capture_output=True, timeout=60,
                          check=False).returncode == 2
