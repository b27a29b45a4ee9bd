"""Lines with known memory: memtruth.py [SCALE]. Prints LINE-MARK allocated alive blocks-alive for each.

Each counted line makes bytes or bytearrays alone, into lists that are long enough already: what it
asks for is known to the byte.
"""

import os
import sys

SCALE = int(sys.argv[1]) if len(sys.argv) > 1 else 1
SMALL, LARGE = 100_000 * SCALE, 400 * SCALE
small, large = [None] * SMALL, [None] * LARGE


def keep_small():
    for i in range(SMALL):
        small[i] = bytes(40)  # small


def churn():
    for _ in range(LARGE):
        bytearray(100_000)  # churn


def grow(buffer):
    for _ in range(200):
        buffer.extend(piece)  # grow


def leak():
    for i in range(LARGE):
        large[i] = bytes(50_000)  # leak


piece = bytes(10_000 * SCALE)
grown = bytearray(1)
keep_small()
churn()
grow(grown)
leak()
one = sys.getsizeof(small[0])
print("small", SMALL * one, SMALL * one, SMALL)
print("churn", LARGE * sys.getsizeof(bytearray(100_000)), 0, 0)
print("grow", None, grown.__alloc__(), 1)
print("leak", LARGE * sys.getsizeof(large[0]), LARGE * sys.getsizeof(large[0]), LARGE)
sys.stdout.flush()
os._exit(0)  # nothing is freed
