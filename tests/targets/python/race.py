"""Four native threads that pass blocks to each other through realloc; none is left."""

import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
library.race.argtypes = [ctypes.c_uint64, ctypes.c_uint64]


def work(k):
    library.race(40_000, k + 1)  # race


threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("done")
