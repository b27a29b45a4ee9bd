"""A peak of three times 30 MiB, after 200 short-lived MiB; 6 MiB are left. Prints LINE-MARK at-peak alive."""

import os
import sys

MIB = 1 << 20
kept = [None]


def churn():
    for _ in range(200):
        bytearray(MIB)


def peak():
    a = bytearray(30 * MIB)  # a
    b = bytearray(30 * MIB)  # b
    c = bytearray(30 * MIB)  # c
    return len(a) + len(b) + len(c)


def leak():
    kept[0] = bytearray(6 * MIB)  # left


churn()
assert peak() == 90 * MIB
leak()
for mark, size, alive in (("a", 30, 0), ("b", 30, 0), ("c", 30, 0), ("left", 6, 1)):
    whole = sys.getsizeof(bytearray(size * MIB))
    print(mark, 0 if alive else whole, whole if alive else 0)
sys.stdout.flush()
os._exit(0)
