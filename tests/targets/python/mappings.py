"""Memory from the kernel: mappings.py grown|reserved|file. None of it is heap; what is grown is memory.

grown: 8 MiB that mremap makes 64 MiB; reserved: 8 GiB, never touched, beside 32 MiB of heap; file:
512 MiB of a file, of which 16 MiB are read: most memory is resident then.
"""

import mmap
import sys
import tempfile
import time

PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
NORESERVE = 0x4000


def grown():
    m = mmap.mmap(-1, 8 << 20, flags=PRIVATE)
    m.resize(64 << 20)
    for i in range(0, 64 << 20, 4096):
        m[i] = 1
    return m


def reserved():
    return mmap.mmap(-1, 8 << 30, flags=PRIVATE | NORESERVE), bytearray(b"x") * (32 << 20)


def file():
    f = tempfile.TemporaryFile()
    f.truncate(512 << 20)
    m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    return m, sum(m[i] for i in range(0, 16 << 20, 4096))


kept = {"grown": grown, "reserved": reserved, "file": file}[sys.argv[1]]()
time.sleep(0.5)  # so that it is seen from outside
print("mapped")
