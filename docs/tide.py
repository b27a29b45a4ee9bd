#!/usr/bin/env python3
"""Print a tidemark trace as JSON, one object per record: python3 tide.py FILE.

A second, independent reader, written from FORMAT.md and kept small so that it can be read as its
example. It needs Python 3.9 and libzstd.so.1. It stops at the first damaged chunk, where
tidemark's own reader goes on to the next one. Fields that are absent in a record are absent here.
"""

import ctypes
import json
import pathlib
import re
import struct
import sys
from collections.abc import Iterator
from typing import Any

MAGIC = b"\x89TIDE\r\n\n"
VERSION = 1
CHUNK_MOST = 4 << 20

# number: (name, has a time, fields, tail)
KINDS: dict[int, tuple[str, bool, str, str]] = {
    1: ("STRING", False, "string", "text"),
    2: ("FACT", False, "subject id key", "text"),
    3: ("PROCESS", True, "process parent pid start_ticks born name command", ""),
    4: ("PROCESS_END", True, "process end status", ""),
    5: ("THREAD", True, "thread process tid name stack_low stack_bytes creator", ""),
    6: ("THREAD_END", True, "thread", ""),
    7: ("SAMPLE", True, "subject id", "pairs"),
    8: ("DEVICE", False, "device vendor name uuid", ""),
    9: ("MAP", True, "process start length offset protection file build_id", ""),
    10: ("UNMAP", True, "process start length", ""),
    11: ("FRAME", False, "frame flavour process address", ""),
    12: ("NAME", False, "frame depth function file line", ""),
    13: ("STACK", False, "stack parent frame", ""),
    14: ("ALLOC", True, "thread address bytes stack origin weight context", ""),
    15: ("FREE", True, "thread address origin later", ""),
    16: ("CPU", True, "thread stack ns cpu_kind", ""),
    17: ("WAIT", True, "thread stack ns cause", ""),
    18: ("REGION", True, "thread region name parent", ""),
    19: ("REGION_END", True, "thread region", ""),
    20: ("MARK", True, "thread mark_kind name value step", ""),
    21: ("LABEL", True, "thread key value", ""),
    22: ("SOURCE", False, "file line", "text"),
    23: ("LOSS", True, "process what count bytes", "text"),
    24: ("ALERT", True, "process metric limit value", "text"),
    25: ("END", True, "", ""),
    26: ("INFOS", False, "process first count", "infos"),
    27: ("BATCH", True, "process events span_ns", "batch"),
    28: ("MODULE", False, "module file build_id", ""),
    29: ("MMAP", True, "thread address bytes stack protection mmap_kind object context", ""),
    30: ("MUNMAP", True, "thread address bytes", ""),
    31: ("STACKS", False, "first count", "stacks"),
    32: ("COPY", True, "thread stack bytes weight", ""),
    33: ("CONTEXT", False, "context process step", "labels"),
    34: ("UNREACHED", True, "process info blocks", ""),
    35: ("INFO_CONTEXT", False, "process context first count", ""),
    36: ("RESIDENT", True, "process address bytes resident stack memory", ""),
    37: ("SPACE", False, "space name space_kind", ""),
    38: ("SPACE_ALLOC", True, "thread block bytes stack space call context address", ""),
    39: ("SPACE_FREE", True, "thread block space later", ""),
    40: ("SPACE_FAILED", True, "thread bytes stack space call status times", ""),
    41: ("LAUNCHES", True, "thread stack call count given read written", ""),
    42: ("DESCRIBED", True, "thread address what name info", ""),
    43: ("ACCESS", True, "thread address bytes access_kind name space", ""),
    44: ("POOL", True, "thread address bytes blocks used largest_free requested", ""),
    45: ("WATCH", True, "thread address watch_kind name bytes stack", ""),
    46: ("OP", True, "thread name", ""),
    47: ("OP_END", True, "thread", ""),
    48: ("STARTED", True, "thread pid stack", ""),
}

# number: name, by the table in FORMAT.md beside this file; without it, metrics keep their numbers.
FORMAT = pathlib.Path(__file__).with_name("FORMAT.md")
FORMAT_TEXT = FORMAT.read_text("utf-8") if FORMAT.exists() else ""
METRIC_ROW = r"^\| (\d+) \| `(\w+)` \| (?:bytes|ns|count|permille) \|"
METRICS = {int(n): name for n, name in re.findall(METRIC_ROW, FORMAT_TEXT, re.M)}


class Buffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


def decompress(packed: bytes, size: int) -> bytes:
    """Decompress a zstd frame, or as much of it as a cut one gives; ValueError when damaged."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_createDStream.restype = ctypes.c_void_p
    zstd.ZSTD_decompressStream.restype = ctypes.c_size_t
    stream = ctypes.c_void_p(zstd.ZSTD_createDStream())
    source = ctypes.create_string_buffer(packed, len(packed))
    target = ctypes.create_string_buffer(size)
    into = Buffer(ctypes.addressof(target), size, 0)
    come = Buffer(ctypes.addressof(source), len(packed), 0)
    before = -1
    try:
        while before < into.pos + come.pos:
            before = into.pos + come.pos
            status = zstd.ZSTD_decompressStream(stream, ctypes.byref(into), ctypes.byref(come))
            if zstd.ZSTD_isError(ctypes.c_size_t(status)):
                raise ValueError("a chunk is damaged")
    finally:
        zstd.ZSTD_freeDStream(stream)
    return target.raw[: into.pos]


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned LEB128 number at `at`, and where it ends; IndexError when it is cut or too large."""
    value = shift = 0
    while shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 and value < 1 << 64:
            return value, at
    raise IndexError("more than 64 bits")


def unzigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def varints(data: bytes, each: int) -> Iterator[list[int]]:
    """Numbers, `each` at a time, up to the end of the data; IndexError where it is cut."""
    at = 0
    while at < len(data):
        group = []
        for _ in range(each):
            number, at = varint(data, at)
            group.append(number)
        yield group


def pairs(tail: bytes) -> Iterator[tuple[object, int]]:
    """The (metric, value) of a SAMPLE; a metric that is not known keeps its number."""
    at = 0
    while at < len(tail):
        metric, at = varint(tail, at)
        value, at = varint(tail, at)
        yield METRICS.get(metric, metric), value


def labels(record: dict[str, Any], tail: bytes) -> Iterator[tuple[int, ...]]:
    """(key, value) of the labels of a CONTEXT, both numbers of strings."""
    for key, value in varints(tail, 2):
        yield key, value


def stacks(record: dict[str, Any], tail: bytes) -> Iterator[tuple[int, ...]]:
    """(stack, parent, frame) of a STACKS record."""
    for stack, (back, frame) in enumerate(varints(tail, 2), record.get("first", 0)):
        if back >= stack:
            raise IndexError("a parent below 0")
        yield stack, stack - 1 - back, frame


def infos(record: dict[str, Any], tail: bytes) -> Iterator[tuple[int, ...]]:
    """(info, bytes, stack, origin) of an INFOS record."""
    stack = 0
    for info, (size, step, origin) in enumerate(varints(tail, 3), record.get("first", 0)):
        stack = (stack + unzigzag(step)) % (1 << 64)
        yield info % (1 << 64), size, stack, origin


def batch(record: dict[str, Any], tail: bytes) -> Iterator[tuple[object, ...]]:
    """(what, time, thread, info) of a BATCH; a free also has its two fates."""
    columns, at = [], 0
    for _ in range(3):
        size, at = varint(tail, at)
        if at + size > len(tail):
            raise IndexError("a column is cut")
        columns.append(tail[at : at + size])
        at += size
    symbols, place, fates = columns[1], 0, iter(columns[2])
    time = record["time_ns"] - record.get("span_ns", 0)
    for thread, step, count in varints(columns[0], 3):
        time = (time + unzigzag(step)) % (1 << 64)
        for _ in range(count):
            symbol, place = varint(symbols, place)
            what = "free" if symbol & 1 else "alloc"
            if symbol == 0:
                what = "unfree"
                symbol, place = varint(symbols, place)
            if what == "alloc":
                yield what, time, thread, symbol >> 1
                continue
            fate = next(fates, None)
            if fate is None or not symbol & 1:
                raise IndexError("a free is not whole")
            yield what, time, thread, symbol >> 1, fate & 15, fate >> 4
    if place < len(symbols) or next(fates, None) is not None:
        raise IndexError("more symbols or fates than events")


def expand(record: dict[str, Any], name: str, tail: bytes) -> None:
    """Add what a tail holds to its record, up to where it is malformed."""
    parts = {"labels": labels, "stacks": stacks, "infos": infos, "batch": batch}
    record[name] = []
    try:
        for item in parts[name](record, tail):
            record[name].append(item)
    except IndexError:
        record["malformed"] = True


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """The records of one decompressed chunk; those of unknown kinds are stepped over."""
    at = time = 0
    while at < len(data):
        try:
            number, at = varint(data, at)
            length, at = varint(data, at)
        except IndexError:
            return
        payload, at = data[at : at + length], at + length
        if at > len(data):
            return  # the record is cut
        if number not in KINDS:
            continue
        name, timed, fields, tail = KINDS[number]
        record: dict[str, Any] = {"kind": name}
        place = 0
        if timed:
            delta, place = varint(payload, 0)
            time = (time + unzigzag(delta)) % (1 << 64)
            record["time_ns"] = time
        for field in fields.split():
            if place < len(payload):
                record[field], place = varint(payload, place)
        if tail == "text":
            record["text"] = payload[place:].decode("utf-8", "surrogateescape")
        elif tail == "pairs":
            record["pairs"] = list(pairs(payload[place:]))
        elif tail:
            expand(record, tail, payload[place:])
        yield record


def read(data: bytes) -> Iterator[dict[str, Any]]:
    """The records of a whole trace; ValueError where it is none, too new or damaged."""
    if len(data) < 64 or data[:8] != MAGIC:
        raise ValueError("not a trace")
    _version, least, at = struct.unpack_from("<HHI", data, 8)
    if least > VERSION:
        raise ValueError(f"needs a reader of version {least}")
    expected = 0
    while at + 40 <= len(data):
        magic, kind, codec, _, stored, raw, _, sequence = struct.unpack_from("<4sBBHIIII", data, at)
        if magic != b"THNK" or raw > CHUNK_MOST or sequence != expected:
            raise ValueError(f"damaged at byte {at}")
        if kind in (1, 2) and codec == 1:
            yield from records(decompress(data[at + 40 : at + 40 + stored], raw))
        at += 40 + stored
        expected += 1


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: tide.py FILE", file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], "rb") as file:
            for record in read(file.read()):
                print(json.dumps(record))
    except (OSError, ValueError) as error:
        print(f"{sys.argv[1]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
