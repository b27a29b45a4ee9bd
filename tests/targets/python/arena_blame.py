"""first() fills arenas and then drops 15 of 16 objects, second() makes as many that reuse their room.

An allocator's arenas cannot say who owns what: the first line needed them, the second one lives there.
Prints LINE-MARK allocated alive blocks-alive.
"""

import os
import sys

N = 160_000
one = [None] * N
two = [None] * (N * 15 // 16)


def first():
    for i in range(N):
        one[i] = bytes(40)  # first
    for i in range(N):
        if i % 16:
            one[i] = None


def second():
    for i in range(len(two)):
        two[i] = bytes(40)  # second


first()
second()
each = sys.getsizeof(two[0])
print("first", N * each, N // 16 * each, N // 16)
print("second", len(two) * each, len(two) * each, len(two))
sys.stdout.flush()
os._exit(0)
