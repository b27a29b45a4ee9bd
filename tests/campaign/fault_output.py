"""The trace cannot be written, or is taken away: one sentence, and the command runs all the same."""

import os
import pathlib
import subprocess
import time

from harness import HEADER_BYTES, Case, Skip, fault, need_root, until


def small_disk(case: Case, kib: int) -> pathlib.Path:
    need_root()
    disk = case.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", disk],
                      capture_output=True, check=False).returncode != 0:
        raise Skip("no file system can be mounted here")
    return disk


@fault("disk-full", {str(kib): kib for kib in (4, 64, 256)})
def disk_full(case: Case) -> None:
    disk = small_disk(case, case.variant)
    try:
        if case.dice.random() < 0.3:  # from the start
            with open(disk / "filler", "wb") as f:
                f.write(bytes(case.variant * 1024 - 4096 * (case.variant > 4)))
        case.trace = disk / "t.tide"
        recorded = case.run(case.recorder(case.subject("fork", 30, 1000, 1000)))
        case.demand(recorded.out == b"0 children harmed\n", f"{recorded}")
        case.demand(recorded.status == 0, f"{recorded}")
        case.one_sentence(recorded.err)
        if case.trace.exists() and case.trace.stat().st_size > 0:
            case.compare(said=bool(recorded.err))
        else:
            case.demand(recorded.err and not case.trace.exists(),
                        f"an empty file is left: {recorded.err!r}")
    finally:
        subprocess.run(["umount", "-l", disk], capture_output=True, check=False)


PLACES = {"no-folder": "nowhere/t.tide", "folder": ".", "full": "/dev/full", "proc": "/proc/t.tide"}


@fault("output", PLACES)
def output(case: Case) -> None:
    """It cannot even be begun: that is said before the command runs, or the command runs unrecorded."""
    case.trace = case.folder / case.variant
    plain = case.run(case.subject("work", 1, 100))
    recorded = case.run(case.recorder(case.subject("work", 1, 100)))
    case.demand(recorded.status in (7, 125), f"{recorded}")
    case.demand(recorded.err, "not a word about the trace")
    case.one_sentence(recorded.err)
    if recorded.status == 7:
        case.demand(recorded.out == plain.out, f"{recorded}")


@fault("output-goes", {how: how for how in ("removed", "replaced", "truncated")})
def output_goes(case: Case) -> None:
    p = case.start(case.recorder(case.subject("last", 2)))
    case.started()
    time.sleep(case.dice.expovariate(1 / 0.05))
    if case.variant == "truncated":
        until(lambda: case.trace.stat().st_size > HEADER_BYTES, "the first chunk")
        os.truncate(case.trace, case.dice.randrange(HEADER_BYTES, case.trace.stat().st_size))
    else:
        case.trace.unlink()
        if case.variant == "replaced":
            case.trace.write_text("somebody's file")
    time.sleep(0.05)
    case.stop_subject()
    ended = case.finish(p)
    case.demand(ended.out == b"lasted\n", f"{ended}")
    case.demand(ended.status == 7, f"{ended}")
    case.one_sentence(ended.err)
    if not ended.err:  # then the report says what is missing
        case.demand(case.variant == "truncated" and case.report()["health"],
                    f"not a word about a trace that was {case.variant}")
    if case.variant == "replaced":
        case.demand(case.trace.read_text() == "somebody's file", "somebody's file was overwritten")


@fault("output-fifo")
def output_fifo(case: Case) -> None:
    """Nobody reads it."""
    os.mkfifo(case.trace)
    recorded = case.run(case.recorder(case.subject("work", 1, 100)))
    case.demand(recorded.status in (7, 125), f"{recorded}")
    case.demand(recorded.err, "not a word about a trace that nobody reads")
    case.one_sentence(recorded.err)


@fault("output-shared")
def output_shared(case: Case) -> None:
    """Several recorders are given the same file, as by mpirun: none of them ends its program."""
    count = case.dice.randint(2, 6)
    commands = [case.subject("work", 1, 3000) for _ in range(count)]
    started = [case.start(case.recorder(command)) for command in commands]
    for p in started:
        ended = case.finish(p)
        case.demand(ended.status == 7 and ended.out == b"worked\n", f"{ended}")
        case.one_sentence(ended.err)
    for trace in case.folder.glob("*.tide"):
        case.report(trace=trace)
