"""The data of a report page, read as docs/PAGE.md says, and the same numbers from a replay of the trace's events."""

import base64
import collections
import dataclasses
import json
import pathlib
import re
import struct
import sys
import zlib
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
import tide  # noqa: E402
from test_together import Formers, Mapped  # noqa: E402

ALIVE = 1 << 30


def varints(data: bytes) -> list[int]:
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            out.append(value)
            value = shift = 0
    assert shift == 0
    return out


def columns(data: bytes) -> list[list[int]]:
    count = struct.unpack_from("<I", data)[0]
    sizes = struct.unpack_from(f"<{count}I", data, 4)
    at, out = 4 + 4 * count, []
    for size in sizes:
        out.append(varints(data[at : at + size]))
        at += size
    assert at == len(data)
    return out


def sums(deltas: list[int]) -> list[int]:
    out, total = [], 0
    for delta in deltas:
        total += delta
        out.append(total)
    return out


@dataclasses.dataclass
class Entry:
    leaf: int
    birth: int
    death: int
    with_process: bool
    count: int
    size: int


def data_in(html: str, which: str = "a") -> bytes:
    found = re.search(rf'<script type="application/octet-stream" id="tide-{which}">([A-Za-z0-9+/=]*)</script>', html)
    assert found, "the page has no data"
    return base64.b64decode(found[1])


class Page:
    """One recording of a page."""

    def __init__(self, of: str | bytes, which: str = "a") -> None:
        """Of a page, or of the data alone, as it is served."""
        blob = zlib.decompress(data_in(of, which) if isinstance(of, str) else of, -15)
        assert blob[:4] == b"TPG1"
        count = struct.unpack_from("<I", blob, 4)[0]
        at, self.sections = 8 + 8 * count, {}
        for i in range(count):
            name, size = struct.unpack_from("<4sI", blob, 8 + 8 * i)
            self.sections[name.decode()] = blob[at : at + size]
            at += size
        assert at == len(blob)
        self.meta: dict[str, Any] = json.loads(self.sections["META"])
        self.source = json.loads(self.sections["SRCE"])
        self.strings = self.sections["STRS"].decode().split("\0")
        self.read_tree()
        self.read_heap()

    def read_tree(self) -> None:
        frames = columns(self.sections["FRMS"])
        self.frames = [(self.strings[f], self.strings[p], line, self.strings[m], kind) for f, p, line, m, kind in zip(*frames)]
        ups, numbers = columns(self.sections["NODE"])
        self.parents, path = [], []
        for i, up in enumerate(ups):
            if up:
                del path[-up:]
            self.parents.append(path[-1] if path else -1)
            path.append(i)
        self.node_frames = [n - 1 for n in numbers]
        files, lines, python = columns(self.sections["LINE"])
        self.lines = [(self.strings[f], line, bool(p)) for f, line, p in zip(files, lines, python)]

    def read_heap(self) -> None:
        node, thread, line, count, size, labels, site = columns(self.sections["LEAF"])
        self.sites = [n - 1 for n in site]  # frames of what was folded away; -1: none
        self.leaves = list(zip(sums(node), thread, line, labels))
        births, lives, counts, extra = columns(self.sections["HEAP"])
        self.entries, at, more = [], 0, iter(extra)
        unit = 1000 if self.meta["sampled"] else 1
        for leaf, (n, one) in enumerate(zip(count, size)):
            birth = 0
            for i in range(at, at + n):
                birth += births[i]
                life = lives[i]
                death = ALIVE if not life else birth + (life - 1) // 2
                size_of = one * counts[i] // unit if one else next(more)
                self.entries.append(Entry(leaf, birth, death, bool(life) and life % 2 == 0, counts[i], size_of))
            at += n
        assert at == len(births) and next(more, None) is None

    def cells(self) -> int:
        return len(self.meta["grid"]["t"])

    def rows(self, section: str) -> list[tuple[int, ...]]:
        first, *rest = columns(self.sections[section])
        return list(zip(sums(first), *rest))

    def live(self, edge: int) -> int:
        return sum(e.size for e in self.entries if e.birth <= edge < e.death)

    def stack(self, leaf: int) -> list[str]:
        """The functions of a leaf, the innermost first."""
        node, out = self.leaves[leaf][0], []
        while node > 0:
            out.append(self.frames[self.node_frames[node]][0])
            node = self.parents[node]
        return out


class Replay:
    """Every event of an exact recording in the order of time; see src/model/heap_order.h."""

    def __init__(self, path: pathlib.Path) -> None:
        sizes: dict[tuple[int, int], int] = {}
        events, before, batches, last = [], {}, 0, 0
        self.places: dict[int, int] = {}
        # As src/model/taken_back.h does it: so many batches wait.
        held: collections.deque[dict[tuple[int, int], list[int]]] = collections.deque(maxlen=32)
        gone: set[int] = set()
        self.thread_process: dict[int, int] = {}
        mapped, self.formers = Mapped(), Formers()
        for r in tide.read(path.read_bytes()):
            self.formers.take(r)
            last = max(last, r.get("time_ns", 0))
            owner, changes = mapped.take(r)
            for change in filter(None, changes):
                batches += 1
                before[owner] = max(before.get(owner, 0), r["time_ns"])
                events.append((before[owner], 1, batches, owner, "map", change, 0))
                self.places.setdefault(owner, len(self.places))
            if r["kind"] == "INFOS":
                for info, size, *_ in r["infos"]:
                    sizes.setdefault((r["process"], info), size)
            elif r["kind"] == "BATCH":
                p = r["process"]
                batches += 1
                freed: dict[tuple[int, int], list[int]] = {}
                for what, time, thread, info, *_ in r["batch"]:
                    before[p] = max(before.get(p, 0), time)
                    if what == "free":
                        freed.setdefault((p, info), []).append(len(events))
                    known = next((f[p, info] for f in (freed, *reversed(held)) if f.get((p, info))), None)
                    if what == "unfree" and known:  # that free has never been
                        gone.add(known.pop())
                        continue
                    events.append((before[p], 1, batches, p, what, info, thread))
                held.append(freed)
            elif r["kind"] in ("PROCESS_END", "ALLOC", "FREE", "REGION", "REGION_END", "MARK"):
                batches += 1
                if r["kind"] == "PROCESS_END":
                    events.append((r["time_ns"], 2, batches, r["process"], "end", 0, 0))
            if r["kind"] in ("INFOS", "BATCH", "INFO_CONTEXT"):
                self.places.setdefault(r["process"], len(self.places))
        events = [e for i, e in enumerate(events) if i not in gone]
        events.sort(key=lambda e: e[:3])
        self.last, self.steps = last, [(0, 0, 0, 0)]  # allocated blocks, dead blocks, live bytes, allocated bytes
        self.run(events, sizes)

    def run(self, events: list[Any], sizes: dict[tuple[int, int], int]) -> None:
        held: dict[int, dict[int, int]] = {}
        maps: dict[int, int] = {}  # bytes that a process has mapped
        waiting: list[int] = []
        dead_ones: set[int] = set()
        over: set[int] = set()  # what they became by exec(2) has begun
        born = dead = live = allocated = 0

        def end(process: int) -> None:
            nonlocal dead, live
            dead_ones.add(process)
            live -= maps.pop(process, 0)
            for info, n in held.pop(process, {}).items():
                dead += n
                live -= n * sizes[process, info]
            self.steps.append((born, dead, live, allocated))

        for time, _, _, process, what, info, _ in events:
            if what == "end":
                if process not in self.places or process in over:
                    continue
                if time < self.last - max(self.last // 500, 100_000_000):
                    end(process)
                elif process not in waiting:
                    waiting.append(process)
                continue
            if process in over:
                continue
            former = self.formers.of(process, self.places)
            if former and former not in over:
                if former not in dead_ones or former in waiting:
                    end(former)
                over.add(former)
                waiting[:] = [w for w in waiting if w != former]
            for other in sorted((w for w in waiting if w != process), key=lambda w: self.places.get(w, 0)):
                end(other)
            waiting[:] = [w for w in waiting if w == process]
            if process in dead_ones and process not in waiting:  # it ends after this
                waiting.append(process)
            if what == "map":
                maps[process] = maps.get(process, 0) + info
                live, allocated = live + info, allocated + max(info, 0)
                self.steps.append((born, dead, live, allocated))
                continue
            if (process, info) not in sizes:
                continue
            mine, size = held.setdefault(process, {}), sizes[process, info]
            if what == "alloc":
                mine[info] = mine.get(info, 0) + 1
                born, live, allocated = born + 1, live + size, allocated + size
            elif what == "unfree":
                mine[info] = mine.get(info, 0) + 1
                dead, live = dead - 1, live + size
            elif mine.get(info):
                mine[info] -= 1
                dead, live = dead + 1, live - size
            self.steps.append((born, dead, live, allocated))


def check(page: Page, replay: Replay, windows: int = 200) -> int:
    """Every edge and many windows of a page equal the replay; how many windows there were."""
    n, places = page.cells(), []
    size, gone = [0] * (n + 1), [0] * (n + 1)
    for e in page.entries:
        size[e.birth] += e.size
        if e.death != ALIVE:
            gone[e.death] += e.size
    index: dict[tuple[int, int], list[int]] = {}
    for i, step in enumerate(replay.steps):
        index.setdefault(step[2:], []).append(i)
    heap = page.meta["grid"]["heap"]
    for k, (s, g) in enumerate(zip(sums(size), sums(gone))):
        if k == n:
            break
        least = places[-1] if places else 0
        at = [i for i in index.get((s - g, s), []) if i >= least]
        assert at, f"edge {k}: no later moment of the replay has {s - g} of {s} bytes alive"
        assert heap[k] == s - g, f"edge {k}"
        places.append(at[0])
    quiet, done = page.meta["grid"]["quiet"], 0
    pairs = [(a, b) for i, a in enumerate([-1, *quiet]) for b in quiet[i:]]
    for a, b in pairs[:: max(1, len(pairs) // windows)]:
        first = places[a] if a >= 0 else 0
        most = max(s[2] for s in replay.steps[first : places[b] + 1])
        assert most == max([*heap[max(a, 0) : b + 1]]), f"window {a}..{b}"
        done += 1
    assert max(heap, default=0) == max(s[2] for s in replay.steps)
    return done
