"""Traces of any content, written from docs/FORMAT.md: for readers that must stand everything.

A chunk is one zstd frame; its bytes are compressed by libzstd, so that a bomb is as small as a
recorder could have made it.
"""

import ctypes
import struct

CHUNK_MOST = 4 << 20
(STRING, FACT, PROCESS, PROCESS_END, THREAD, THREAD_END, SAMPLE, DEVICE, MAP, UNMAP, FRAME, NAME,
 STACK, ALLOC, FREE, CPU, WAIT, REGION, REGION_END, MARK, LABEL, SOURCE, LOSS, ALERT, END, INFOS,
 BATCH, MODULE, MMAP, MUNMAP, STACKS, COPY, CONTEXT, UNREACHED, INFO_CONTEXT) = range(1, 36)
SPACE, SPACE_ALLOC, SPACE_FREE, SPACE_FAILED = range(37, 41)
DESCRIBED, ACCESS, POOL, WATCH, OP, OP_END, STARTED = range(42, 49)
TIMED = {PROCESS, PROCESS_END, THREAD, THREAD_END, SAMPLE, MAP, UNMAP, ALLOC, FREE, CPU, WAIT, REGION,
         REGION_END, MARK, LABEL, LOSS, ALERT, END, BATCH, MMAP, MUNMAP, COPY, UNREACHED, SPACE_ALLOC,
         SPACE_FREE, SPACE_FAILED,
         DESCRIBED, ACCESS, POOL, WATCH, OP, OP_END, STARTED}


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def record(kind, *fields, tail=b"", step=0):
    """One record; `step`: ns after the one before it in its chunk."""
    payload = (varint(step * 2) if kind in TIMED else b"") + b"".join(map(varint, fields)) + tail
    return varint(kind) + varint(len(payload)) + payload


def compress(raw):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compress.restype = zstd.ZSTD_compressBound.restype = ctypes.c_size_t
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(raw)))
    out = ctypes.create_string_buffer(room)
    n = zstd.ZSTD_compress(out, ctypes.c_size_t(room), raw, ctypes.c_size_t(len(raw)), 3)
    return out.raw[:n]


class Trace:
    """Add records, then write the file."""

    def __init__(self):
        self.chunks = []

    def add(self, records, first_ns=0, last_ns=0):
        """One chunk of records that are all definitions or all events."""
        records = list(records)
        raw = b"".join(records)
        assert len(raw) <= CHUNK_MOST
        kind = 2 if records and records[0][0] in TIMED else 1
        packed = compress(raw)
        self.chunks.append(struct.pack("<IBBHIIIIQQ", 0x4b4e4854, kind, 1, 0, len(packed), len(raw),
                                       len(records), len(self.chunks), first_ns, last_ns) + packed)
        return self

    def write(self, path):
        head = struct.pack("<8sHHIQQ16s16x", b"\x89TIDE\r\n\n", 1, 1, 64, 0, 10**18, b"i" * 16)
        path.write_bytes(head + b"".join(self.chunks))
        return path
