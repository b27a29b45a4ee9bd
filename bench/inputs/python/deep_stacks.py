"""Many different stacks, each 150 Python frames deep.

    deep_stacks.py [STACKS] [DEPTH]

Which of four functions calls the next is drawn at each step, so that stacks have little in common but
their outermost frames. The innermost allocates, and keeps a part of that.
"""

import random
import sys

STACKS = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
DEPTH = int(sys.argv[2]) if len(sys.argv) > 2 else 150
KEPT = []


def work(number):
    rows = [number, float(number), str(number)]
    if not number % 16:
        KEPT.append(rows)
    return len(rows)


def north(path, depth, number):
    return FUNCTIONS[path[depth]](path, depth - 1, number) if depth else work(number)


def east(path, depth, number):
    return FUNCTIONS[path[depth]](path, depth - 1, number) if depth else work(number)


def south(path, depth, number):
    return FUNCTIONS[path[depth]](path, depth - 1, number) if depth else work(number)


def west(path, depth, number):
    return FUNCTIONS[path[depth]](path, depth - 1, number) if depth else work(number)


FUNCTIONS = [north, east, south, west]
TO_FOUR = bytes(byte % 4 for byte in range(256))


def main():
    draw = random.Random(1)
    total = 0
    for number in range(STACKS):
        total += north(draw.randbytes(DEPTH).translate(TO_FOUR), DEPTH - 1, number)
    print(total)


main()
