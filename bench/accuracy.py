"""How right the numbers of a recorded Python program are: against what the programs of inputs/python
measure of themselves. A part of bench/python.

Recorded with the shortest interval between samples: what is asked here is whether they are biased, and
with few samples chance would answer. Errors are in points, percent of the program's CPU time.
"""

import json
import pathlib
import statistics
import subprocess

INPUTS = pathlib.Path(__file__).resolve().parent / "inputs" / "python"
SPLITS = ((1, 9), (3, 7), (5, 5), (7, 3), (9, 1))  # of the loop with calls, and without


def recorded(tidemark, python, scratch, script, *words):
    """Runs a program recorded: what it printed, and ask(question) for the rows of a question."""
    trace = scratch / f"{script}.tide"
    done = subprocess.run([tidemark, "record", "-q", "--cpu-interval", "1ms", "-f", "-o", trace, python,
                           INPUTS / script, *map(str, words)], check=True, text=True, timeout=600,
                          stdout=subprocess.PIPE)

    def ask(question):
        said = subprocess.run([tidemark, "report", trace, question, "-f", "json", "--limit", "100000"],
                              check=True, text=True, timeout=600, stdout=subprocess.PIPE)
        return json.loads(said.stdout)["tables"][question]["rows"]

    return done.stdout, ask


def row(name, text, worst, wanted, unit="points"):
    print(f"{name}: {text}: {worst:.2f}", flush=True)
    return (f"| {name} | {text} | {worst:.1f} {unit} | ≤ {wanted} | "
            f"{'pass' if worst <= wanted else 'MISSED'} |", worst > wanted)


def split(run):
    """Lines of a loop without calls."""
    truth = json.loads(subprocess.run([run.args[1], INPUTS / "split.py", "truth"], check=True, text=True,
                                      stdout=subprocess.PIPE, timeout=600).stdout)
    _, ask = run("split.py", 4_000_000)
    found = {line: 0 for line in truth}
    whole = 0
    for line in ask("lines"):
        if (line["file"] or "").endswith("split.py") and line["function"] == "work":
            key = str(line["line"]) if str(line["line"]) in truth else "0"
            found[key] += line["cpu"]
            whole += line["cpu"]
    found = {line: 100 * t / whole for line, t in found.items()}
    text = ", ".join(f"{found[line]:.1f} for {truth[line]:.1f}" for line in truth)
    return row("split.py, each line", text, max(abs(found[k] - truth[k]) for k in truth), 4)


def bias(run):
    """A function that calls, and one that does the same without."""
    errors, texts = [], []
    for calls, inline in SPLITS:
        said, ask = run("bias.py", calls * 2_000_000, inline * 3_200_000)
        truth = json.loads(said)
        whole = {"with_calls": 0, "inline": 0}
        for f in ask("functions"):
            if f["function"] in whole:
                whole[f["function"]] += f["total_cpu"]
        real, seen = (100 * t["with_calls"] / sum(t.values()) for t in (truth, whole))
        errors.append(abs(seen - real))
        texts.append(f"{seen:.1f} for {real:.1f}")
    return row("bias.py, mean of five splits", ", ".join(texts), statistics.mean(errors), 1.5)


def mix(run):
    """Phases: how long each took, in which kind of code, and in the kernel."""
    said, ask = run("mix.py", 1.5)
    truth = json.loads(said)
    whole = sum(seconds for seconds, _ in truth.values())
    seen = {f: {"python": 0, "native": 0, "system": 0} for f in truth}
    for line in ask("lines"):
        for kind in seen.get(line["function"], ()):
            seen[line["function"]][kind] += 100 * line[kind] / 1e9 / whole
    errors = {}
    for phase, (seconds, kernel) in truth.items():
        kind = {"python": "python", "native": "native"}.get(phase.split("_")[0])
        total, kernel = 100 * seconds / whole, 100 * kernel / whole
        errors[phase + " in all"] = abs(sum(seen[phase].values()) - total)
        errors[phase + " in the kernel"] = abs(seen[phase]["system"] - kernel)
        if kind:
            errors[f"{phase} in {kind} code"] = abs(seen[phase][kind] - (total - kernel))
    name = max(errors, key=errors.get)
    return row("mix.py, python / native / system by phase", f"worst: {name}", errors[name], 2)


def thr(run):
    """Waits by cause. What a thread waited while the interpreter or all CPUs were busy is part of it."""
    said, ask = run("thr.py")
    truth, lines = json.loads(said), ask("waits")
    errors, more = {}, ("gil", "queue")
    for cause in ("sleep", "poll", "lock"):
        seen = sum(line[part] for line in lines if line["function"] == cause for part in (cause, *more))
        errors[cause] = 100 * abs(seen / 1e9 / truth[cause] - 1)
    compete = ("interpreted", "native")
    seen = sum(line[part] for line in lines if line["function"] in compete for part in more)
    real = sum(t for name, t in truth.items() if name.split()[0] in compete)
    errors["gil and queue"] = 100 * abs(seen / 1e9 / real - 1)
    gil = sum(line["gil"] for line in lines if line["function"] in compete) / 1e9
    text = ", ".join(f"{cause} {error:.1f} %" for cause, error in errors.items())
    text, bad = row("thr.py, waits by cause", f"{text}; GIL {gil:.1f} s", max(errors.values()), 5, "%")
    return text, bad or gil == 0


class Run:
    """recorded() with its first arguments"""

    def __init__(self, *args):
        self.args = args

    def __call__(self, script, *words):
        return recorded(*self.args, script, *words)


def measure(tidemark, python, scratch):
    """A table, and whether a limit was missed."""
    rows = [part(Run(tidemark, python, scratch)) for part in (split, bias, mix, thr)]
    head = "| accuracy | seen for true | worst or mean error | wanted | |\n|---|---|---|---|---|\n"
    return head + "\n".join(text for text, _ in rows) + "\n", any(bad for _, bad in rows)
