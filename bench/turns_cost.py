#!/usr/bin/python3
"""What the default recording costs a step, told within one process: bench/turns_cost.py PYTHON [LOOP ...] [--rounds N] [-- OPTION ...]

Two processes of one program differ by some percent in all their steps, so bench/training_cost.py shows nothing of less. Here both steps of
a pair are of one recorded process: one with the recorder's hooks, one with the malloc family past them (bench/turns.c). Before each is a
step that is not timed, so that what is freed in a step is what was made in the same way. CPU time of the thread; the median of the
ratios of pairs, in random order, and its standard error; and the same of pairs where both are past the hooks. What this leaves
out: samples of CPU time, which both have, and the recorder's own time. OPTIONs are those of `tidemark record`.
"""

import ctypes
import os
import random
import statistics
import subprocess
import tempfile
import time

from training_cost import BUILD, LOOPS, ROOT, arguments, made

CYCLE = {"generate": 10}  # steps of one whole text


def timed(step, count, past, turn):
    turn(past)
    for _ in range(count):
        step()
    began = time.thread_time_ns()
    for _ in range(count):
        step()
    return time.thread_time_ns() - began


def serve(loop, rounds):
    step, count = made(loop), CYCLE.get(loop, 2)
    turn = ctypes.CDLL(None).turns_past
    for _ in range(6):
        timed(step, count, 0, turn)
    for ways in ((0, 1), (1, 1)):
        found = []
        for _ in range(rounds):
            order = random.sample([0, 1], 2)
            took = {i: timed(step, count, ways[i], turn) for i in order}
            found.append(took[0] / took[1])
        spread = statistics.quantiles(found, n=4)
        error = 1.25 * (spread[2] - spread[0]) / 1.35 / rounds ** 0.5
        print(f"{statistics.median(found):.4f} +- {error:.4f}", end="  " if ways[1] != ways[0] else "\n", flush=True)
    turn(0)


def main():
    asked, options = arguments(__doc__, starts=2)
    if asked.serve:
        return serve(asked.loops[0], asked.rounds)
    path = os.pathsep.join(str(ROOT / p) for p in ("python", "tests/targets/python", "bench"))
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "turns.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, ROOT / "bench" / "turns.c", "-ldl"], check=True)
        record = [BUILD / "tidemark", "record", "-q", "--force", "-o", os.path.join(folder, "t.tide"), *options]
        first = ["sh", "-c", f'LD_PRELOAD="{library}:$LD_PRELOAD" exec "$@"', "sh"]
        for loop in asked.loops or LOOPS:
            for _ in range(asked.starts):
                print(f"{loop:12} ", end="", flush=True)
                subprocess.run([*record, *first, asked.python, os.path.abspath(__file__), asked.python, loop, "--serve", "--rounds", str(asked.rounds)],
                               env=os.environ | {"PYTHONPATH": path}, check=True)
    return None


if __name__ == "__main__":
    main()
