"""System calls of native code that does not expect a signal: how many were broken by one?"""

import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])
r, w = os.pipe()
broken = 0
for _ in range(20):
    sum(range(100_000))
    broken += library.wait_for(r, 20) < 0
print("broken", broken)
