#!/usr/bin/python3
"""What the default recording costs a step: bench/training_cost.py PYTHON [LOOP ...] [--rounds N] [-- OPTION ...]

PYTHON has PyTorch. Each loop runs in two processes at once, one of them recorded, which make a step each in turn, in random order: CPU
time of all threads of the process. Two processes of one program differ by some percent in all their steps (where their memory happens to
be), so they are started several times: the mean over these of the median of the ratios of pairs, with its standard error; the same of two
processes of which neither is recorded; the recorder's own CPU time in percent of the steps'; and what the trace took a minute beyond 40 bytes for
each tensor. OPTIONs are those of `tidemark record`.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TIDEMARK_BUILD", ROOT / "build"))
LOOPS = ("mlp", "cnn", "transformer", "generate")
WARM = 12


# ---- a loop, which makes a step for each line that it reads

def made(loop):
    import torch
    import torch.nn.functional as F
    from attach_cost import mlp, transformer
    from decompose_inference import Decoder, Growing
    from torch import nn

    torch.set_num_threads(1)
    if loop == "generate":
        model, state = Decoder().eval(), {}

        @torch.no_grad()
        def step():
            if not state or state["caches"][0].k.shape[2] > 96:
                state.update(caches=[Growing() for _ in model.layers], tokens=torch.randint(0, 800, (4, 20)))
            for _ in range(8):
                state["tokens"] = model(state["tokens"], state["caches"]).argmax(-1)

        return step
    if loop == "cnn":
        model = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1),
                              nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 64, 100))
        x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 100, (16,))
        optimizer, loss_of = torch.optim.SGD(model.parameters(), 0.01, 0.9), lambda: F.cross_entropy(model(x), y)
    else:
        _, optimizer, loss_of = {"mlp": mlp, "transformer": transformer}[loop]()

    def train():
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return train


def serve(loop):
    step = made(loop)
    for _ in range(WARM):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.process_time_ns()
        step()
        print(time.process_time_ns() - began, flush=True)


# ---- two of them

def start(python, loop, record):
    command = [*record, python, os.path.abspath(__file__), python, loop, "--serve"]
    path = os.pathsep.join(str(ROOT / p) for p in ("python", "tests/targets/python", "bench"))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=os.environ | {"PYTHONPATH": path})
    assert process.stdout.readline() == "ready\n", command
    return process


def step_of(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def cpu_ns(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e9 / os.sysconf("SC_CLK_TCK")


def end(process):
    process.stdin.close()
    process.wait()


def tensors_of(trace):
    done = subprocess.run([BUILD / "tidemark", "report", trace, "ops", "-f", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["tables"]["facts"]["values"]["tensors"]


def compare(python, loop, rounds, options, trace):
    """The medians of both ratios, the recorder's share of CPU time, and bytes of the trace: a minute and a tensor."""
    record = [BUILD / "tidemark", "record", "-q", "--force", "-o", trace, *options]
    plain, other, recorded = start(python, loop, ()), start(python, loop, ()), start(python, loop, record)
    size, began, used, steps = os.path.getsize(trace), time.monotonic(), cpu_ns(recorded.pid), 0
    ratios = ([], [])
    for _ in range(rounds):
        took = {p: step_of(p) for p in random.sample([plain, other, recorded], 3)}
        ratios[0].append(took[recorded] / took[plain])
        ratios[1].append(took[other] / took[plain])
        steps += took[recorded]
    used, seconds = cpu_ns(recorded.pid) - used, time.monotonic() - began
    time.sleep(0.5)
    size = os.path.getsize(trace) - size
    for process in (plain, other, recorded):
        end(process)
    tensors = tensors_of(trace) * rounds / (rounds + WARM)
    return [*map(statistics.median, ratios), 100 * used / steps, (size - 40 * tensors) * 60 / seconds / 1e6, size / max(tensors, 1)]


def mean(values):
    return f"{statistics.mean(values):.3f} +- {statistics.stdev(values) / len(values) ** 0.5:.3f}"


def arguments(description, starts):
    """What was asked for, and the options of `record` behind "--"."""
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    asked = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("python")
    asked.add_argument("loops", nargs="*")
    asked.add_argument("--rounds", type=int, default=60)
    asked.add_argument("--starts", type=int, default=starts)
    asked.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return asked.parse_args(own), options


def main():
    asked, options = arguments(__doc__, starts=5)
    if asked.serve:
        return serve(asked.loops[0])
    print(f"{'loop':12} {'recorded':>18} {'neither':>18} {'recorder':>9} {'a minute':>10} {'a tensor':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for loop in asked.loops or LOOPS:
            trace = os.path.join(folder, "t.tide")
            rows = [compare(asked.python, loop, asked.rounds, options, trace) for _ in range(asked.starts)]
            one, two, recorder, minute, tensor = zip(*rows)
            print(f"{loop:12} {mean(one):>18} {mean(two):>18} {statistics.mean(recorder):7.1f} % {statistics.mean(minute):7.2f} MB "
                  f"{statistics.mean(tensor):7.0f} B", flush=True)
    return None


if __name__ == "__main__":
    main()
