"""A native block that grows by realloc to 64 MiB, which stay."""

import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])
library.grow.restype = ctypes.c_void_p
p = library.grow(64)  # grown
print(64 << 20)
sys.stdout.flush()
os._exit(0)
