"""Every function of the interpreter's allocators, called by hand: pyfamily.py calls|quiet.

Prints one line per size: SIZE allocations alive. With "quiet" it does not call them: what the
interpreter itself asks for in these sizes.
"""

import collections
import ctypes
import sys

api = ctypes.pythonapi
SMALL, MIDDLE, LARGE, HUGE = 471, 509, 40_013, 3_000_017
FAIL = (1 << 62) - 1
allocs, alive = collections.Counter(), collections.Counter()


def functions(domain):
    found = {}
    for name, arguments in (("Malloc", 1), ("Calloc", 2), ("Realloc", 2), ("Free", 1)):
        f = getattr(api, f"{domain}_{name}")
        pointer = name in ("Realloc", "Free")
        f.argtypes = [ctypes.c_void_p if pointer and i == 0 else ctypes.c_size_t
                      for i in range(arguments)]
        f.restype = None if name == "Free" else ctypes.c_void_p
        found[name] = f
    return found


def note(size, by):
    alive[size] += by
    if by > 0:
        allocs[size] += by


def use(f):
    for size in (SMALL, MIDDLE, LARGE, HUGE):
        blocks = [f["Malloc"](size) for _ in range(50)] + [f["Calloc"](1, size) for _ in range(30)]
        note(size, 80)
        for p in blocks[::2]:
            f["Free"](p)
            note(size, -1)
    # From pool to malloc, on to a larger one, and back; a block that stays is the same size again.
    p = f["Realloc"](None, SMALL)
    note(SMALL, 1)
    for before, size in ((SMALL, LARGE), (LARGE, HUGE), (HUGE, MIDDLE), (MIDDLE, SMALL),
                         (SMALL, SMALL)):
        p = f["Realloc"](p, size)
        note(before, -1)
        note(size, 1)
    assert f["Realloc"](p, FAIL) is None  # and p lives on
    assert f["Malloc"](FAIL) is None and f["Calloc"](FAIL, 1) is None
    f["Free"](None)
    assert f["Malloc"](0) != f["Malloc"](0)


for domain in ("PyMem", "PyObject") if sys.argv[1] == "calls" else ():
    use(functions(domain))
for size in sorted(allocs):
    print(size, allocs[size], alive[size])
