"""40 MB kept, then a signal to itself: crash.py SIGNAL."""

import os
import sys

kept = [None] * 4000
for i in range(4000):
    kept[i] = bytes(10_000)  # kept
print(4000 * sys.getsizeof(kept[0]), flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
