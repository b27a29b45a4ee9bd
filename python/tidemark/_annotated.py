"""The source of a cell with what each of its lines cost: as text, and as HTML for a notebook."""

import html
import json
import os
import resource
import subprocess
import time

from ._recording import RecordingError

_COLUMNS = [  # of the question `lines`; shown where the trace knows them
    ("cpu", "CPU", "CPU time, sampled"),
    ("python", "Python", "CPU time in Python code"),
    ("native", "native", "CPU time in native code"),
    ("system", "system", "CPU time in the kernel"),
    ("waiting", "wait", "time spent waiting"),
    ("allocated", "alloc", "memory allocated in all"),
    ("at_peak", "peak", "of it alive when the cell's heap was largest"),
    ("alive", "live", "of it alive at the end"),
]
_TIMES = {"cpu", "python", "native", "system", "waiting"}
_OTHERS_MOST = 20


def time_text(ns):
    """3 digits of it: 12.3 ms"""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= size * 0.9995:
            return f"{ns / size:.{2 if ns < 9.995 * size else 1 if ns < 99.95 * size else 0}f} {unit}"
    return f"{ns / 1e3:.0f} µs"


def size_text(size):
    sign, size = "-" * (size < 0), abs(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1023.95:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{sign}{size:.0f} B" if unit == "B" else f"{sign}{size:.1f} {unit}"


class Usage:
    """What the kernel has counted for this process, from now to end()."""

    def __init__(self):
        self._memory = self._read()
        self._began = time.perf_counter_ns()
        self._used = resource.getrusage(resource.RUSAGE_SELF)

    def end(self):
        used = resource.getrusage(resource.RUSAGE_SELF)
        self.elapsed = time.perf_counter_ns() - self._began
        self.user = round((used.ru_utime - self._used.ru_utime) * 1e9)
        self.system = round((used.ru_stime - self._used.ru_stime) * 1e9)
        before, after = self._memory, self._read()
        self.growth = after["VmRSS"] - before["VmRSS"]
        # The mark is of the whole life of the process: it is the cell's if it has moved.
        self.peak_most = after["VmHWM"]
        moved = after["VmHWM"] > before["VmHWM"]
        self.peak_least = self.peak_most if moved else max(before["VmRSS"], after["VmRSS"])

    @staticmethod
    def _read():
        fd = os.open("/proc/self/status", os.O_RDONLY)  # without buffers, which would be recorded
        try:
            words = os.read(fd, 4096).split()
        finally:
            os.close(fd)
        return {key: int(words[words.index(key.encode() + b":") + 1]) << 10
                for key in ("VmRSS", "VmHWM")}


class Annotated:
    """A cell's lines with their costs. `lines` holds them by number, `facts` the whole."""

    def __init__(self, tool, trace, name, text, usage, everything):
        tables = _ask(tool, trace, ["--all"] if everything else ["--only", name])
        rows = tables.get("lines", {}).get("rows", [])
        self.facts = tables.get("facts", {}).get("values") or {}
        self.usage, self.text = usage, text.rstrip("\n").split("\n")
        mine = os.path.realpath(name)
        self.lines = {r["line"]: r for r in rows
                      if r["line"] and os.path.realpath(r["file"]) == mine}
        others = [r for r in rows if r["line"] not in self.lines or self.lines[r["line"]] is not r]
        others.sort(key=lambda r: ((r["cpu"] or 0), (r["allocated"] or 0)), reverse=True)
        self.others = [r for r in others if self._matters(r)][:_OTHERS_MOST]
        self.columns = [c for c in _COLUMNS if any(r[c[0]] is not None for r in rows)]

    def _matters(self, row):
        """Beyond the cell: at least a hundredth of something (to run a cell costs a little, too)."""
        wholes = [("cpu", "cpu"), ("allocated", "heap_allocated"), ("waiting", "waiting")]
        return any((row[c] or 0) * 100 > (self.facts.get(w) or 0) for c, w in wholes if row[c])

    # ---- cells

    def _cell(self, row, column):
        value = row.get(column) if row else None
        if not value:
            return ""
        return time_text(value) if column in _TIMES else size_text(value)

    def _rows(self):
        """(costs, number, text) of each line, then of what is no line of the cell"""
        for number, text in enumerate(self.text, 1):
            yield self.lines.get(number), str(number), text
        for row in self.others:
            place = f"{row['file']}:{row['line']}" if row["line"] else row["file"]
            yield row, "", f"{place}  {(row['text'] or '').strip()}".rstrip()

    def summary(self):
        """What the cell cost as a whole: a few sentences."""
        u, f = self.usage, self.facts
        out = [f"elapsed {time_text(u.elapsed)}, CPU {time_text(u.user + u.system)} "
               f"(user {time_text(u.user)}, system {time_text(u.system)})"]
        peak = size_text(u.peak_most)
        if u.peak_least != u.peak_most:
            peak = f"between {size_text(u.peak_least)} and {peak}"
        growth = "+" * (u.growth >= 0) + size_text(u.growth)
        out.append(f"memory of the process: peak {peak}, growth {growth}")
        if f.get("heap_allocated") is not None:
            out.append(f"heap of the cell: allocated {size_text(f['heap_allocated'])}, peak "
                       f"{size_text(f['peak_heap'])}, alive at the end {size_text(f['alive_at_end'])} "
                       f"({f['heap_allocated_basis']})")
        if f.get("cpu_basis"):
            out.append(f"lines by CPU time: {f['cpu_basis']}")
        return out

    # ---- forms

    def __repr__(self):
        table = [[c[1] for c in self.columns] + ["line", ""]]
        for row, number, text in self._rows():
            table.append([self._cell(row, c[0]) for c in self.columns] + [number, text])
        widths = [max(len(r[i]) for r in table) for i in range(len(table[0]) - 1)]
        lines = ["  ".join([c.rjust(w) for c, w in zip(r, widths)] + [r[-1]]).rstrip()
                 for r in table]
        return "\n".join(self.summary() + [""] + lines)

    def _repr_html_(self):
        most = {c[0]: max([r[c[0]] or 0 for r, _, _ in self._rows() if r] + [1])
                for c in self.columns}
        number = "text-align:right;white-space:nowrap;padding:0 .6em"
        code = "text-align:left;white-space:pre;font-family:monospace;padding:0 .6em"
        out = ["<div>", *(f"<div>{html.escape(s)}</div>" for s in self.summary()),
               "<table style='border-collapse:collapse;font-size:90%'><thead><tr>"]
        out += [f"<th style='{number}' title='{html.escape(c[2])}'>{c[1]}</th>"
                for c in self.columns]
        out.append(f"<th style='{number}'>line</th><th style='{code}'></th></tr></thead><tbody>")
        for row, line, text in self._rows():
            out.append("<tr style='background:transparent'>")
            for name, _, _ in self.columns:
                share = (row[name] or 0) / most[name] if row else 0
                # A tint that lets the theme's own colours through, light or dark.
                tint = f";background:rgba(220,120,20,{0.45 * share:.2f})" if share > 0.02 else ""
                out.append(f"<td style='{number}{tint}'>{self._cell(row, name)}</td>")
            out.append(f"<td style='{number};opacity:.6'>{line}</td>"
                       f"<td style='{code}'>{html.escape(text)}</td></tr>")
        return "".join(out + ["</tbody></table></div>"])


def _ask(tool, trace, scope):
    done = subprocess.run([tool, "report", trace, "lines", "-f", "json", *scope], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RecordingError(said[-1].replace("tidemark: ", "", 1) if said else
                             f"'tidemark report' ended with status {done.returncode}")
    return json.loads(done.stdout)["tables"]
