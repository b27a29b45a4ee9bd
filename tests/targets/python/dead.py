"""One thread holds a native lock and allocates under it, another waits for the lock with the GIL."""

import ctypes
import sys
import threading
import time

free, held = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])
t = threading.Thread(target=free.hold_lock)
t.start()
time.sleep(0.05)
held.want_lock()
t.join()
print("done")
