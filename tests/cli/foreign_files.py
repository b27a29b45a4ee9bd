"""Files of other tools whose contents are known: memory snapshots of PyTorch, dumps of MindStudio MemScope.

    python3 foreign_files.py FOLDER     writes one of each kind there, as tests/fuzz/corpus/import has them
"""

import os
import pathlib
import pickle
import sqlite3
import sys

START_US = 1_700_000_000_000_000
FORWARD = [("??", 0, "c10::cuda::CUDACachingAllocator::malloc"), ("/app/model.py", 12, "forward"),
           ("/app/train.py", 40, "main"), ("/app/train.py", 60, "<module>")]
BACKWARD = [("/app/model.py", 20, "backward"), ("/app/train.py", 41, "main"), ("/app/train.py", 60, "<module>")]
MIB = 1 << 20


def frames(of):
    return [{"filename": file, "line": line, "name": name} for file, line, name in of]


def event(action, addr, size, us, of=(), stream=0):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": START_US + us,
            "frames": frames(of)}


def segment(address, size, blocks, device=0):
    return {"device": device, "address": address, "total_size": size, "stream": 0, "segment_type": "large",
            "allocated_size": 0, "active_size": 0, "requested_size": 0, "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [], "blocks": blocks}


def block(address, size, requested, state="active_allocated", of=()):
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": frames(of)}


def snapshot():
    """Device 0 peaks at 1 MiB + 4096 + 1000 + 300 bytes after 2 µs: 300 of a block that its history only frees,
    1000 of one that it does not know. Device 2 has a block of 7 bytes, and no history."""
    history = [
        event("segment_alloc", 0x7f0000000000, 2 * MIB, 0, FORWARD),
        event("alloc", 0x7f0000000000, MIB, 1, FORWARD),
        event("alloc", 0x7f0000100000, 4096, 2, BACKWARD),
        event("free_requested", 0x7f0000100000, 4096, 3),
        event("free_completed", 0x7f0000100000, 4096, 4),
        event("free_requested", 0x7f00f0000000, 300, 4),
        event("free_completed", 0x7f00f0000000, 300, 5),
        event("alloc", 0x7f0000200000, 512, 3_000_000, BACKWARD, stream=0x55aa),
        dict(event("oom", 0, 1 << 34, 3_000_001), device_free=5),
    ]
    segments = [
        segment(0x7f0000000000, 2 * MIB, [block(0x7f0000000000, MIB, MIB, of=FORWARD),
                                          block(0x7f0000100000, MIB, 0, "inactive")]),
        segment(0x7f1000000000, 4 * MIB, [block(0x7f1000000000, 1024, 1000, of=BACKWARD),
                                          block(0x7f1000000400, 4 * MIB - 1024, 0, "inactive")]),
        segment(0x7f2000000000, 2 * MIB, [block(0x7f2000000000, 512, 7)], device=2),
    ]
    return {"segments": segments, "device_traces": [history, [], []], "allocator_settings": {"max_split_size": -1},
            "external_annotations": []}


class Calling:
    """What a pickle that does harm is made of."""

    def __reduce__(self):
        return os.system, ("true",)


COLUMNS = ["ID", "Event", "Event Type", "Name", "Timestamp(ns)", "Process Id", "Thread Id", "Device Id", "Ptr",
           "Attr", "Call Stack(Python)", "Call Stack(C)"]
START_NS = START_US * 1000
STACK = "/app/model.py(12): forward\n/app/train.py(60): <module>\n"


def memscope_rows(pid=77):
    """Out of order, as its dumps are. The pool's blocks are in 2 MiB of the driver; 4096 bytes of the driver are
    nobody's pool. `copy` leaks 1000 bytes, and 512 of `view` are freed. The peak is 4096 + 1000 + 512."""
    def row(number, name, kind, what, *rest, tid=77, ptr=None, **attributes):
        where = "N/A" if ptr is None else f"0x{ptr:016x}"
        text = "{" + ",".join(f"{k}:{v}" for k, v in attributes.items()) + "}" if attributes else ""
        return [number, name, kind, what, START_NS + number * 1000, pid, tid, 0, where, text, *(rest or ("", ""))]

    return [
        row(2, "OP_LAUNCH", "ATEN_START", "aten.copy"),
        row(4, "OP_LAUNCH", "ATEN_END", "aten.copy"),
        row(5, "OP_LAUNCH", "ATEN_START", "aten.view"),
        row(6, "MALLOC", "PTA", "N/A", STACK, "", ptr=0x1000400, allocation_id=3, addr="0x1000400", size=512,
            total=2 * MIB, used=1512),
        row(8, "FREE", "PTA", "N/A", ptr=0x1000400, allocation_id=3, addr="0x1000400", size=512, total=2 * MIB,
            used=1000),
        row(9, "OP_LAUNCH", "ATEN_END", "aten.view"),
        row(1, "MALLOC", "HAL", "N/A", ptr=0x1000000, allocation_id=1, addr="0x1000000", size=2 * MIB),
        row(3, "MALLOC", "PTA", "N/A", ptr=0x1000000, allocation_id=2, addr="0x1000000", size=1000, total=2 * MIB,
            used=1000),
        row(7, "MALLOC", "HAL", "N/A", ptr=0x9000000, allocation_id=4, addr="0x9000000", size=4096),
        row(10, "SYSTEM", "STEP", "1"),
    ]


def write_csv(path, rows, columns=tuple(COLUMNS)):
    def quoted(value):
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text

    path.write_text("\n".join(",".join(map(quoted, row)) for row in [columns, *rows]) + "\n")


def write_db(path, rows, columns=tuple(COLUMNS), table="memscope_dump", page=512):
    """Small pages, so that there are inner ones and rows that go on in others."""
    kinds = {"ID", "Timestamp(ns)", "Process Id", "Thread Id"}
    made = ", ".join(f'"{name}" {"INTEGER" if name in kinds else "TEXT"}' for name in columns)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA page_size = {page}")
        db.execute(f"CREATE TABLE {table} ({made})")
        db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(columns))})", rows)
    db.close()


def main(folder):
    for protocol in 2, 4, 5:
        (folder / f"torch_{protocol}.pickle").write_bytes(pickle.dumps(snapshot(), protocol))
    (folder / "segments.pickle").write_bytes(pickle.dumps(snapshot()["segments"], 4))
    (folder / "calling.pickle").write_bytes(pickle.dumps({"segments": [Calling()]}, 4))
    (folder / "itself.pickle").write_bytes(b"\x80\x02]q\x00h\x00a.")
    write_csv(folder / "memscope.csv", memscope_rows())
    write_db(folder / "memscope.db", memscope_rows())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
