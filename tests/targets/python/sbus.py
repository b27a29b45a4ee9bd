"""A fault of the program's own: the page behind the end of a file that was cut."""

import mmap
import tempfile

f = tempfile.TemporaryFile()
f.truncate(8192)
m = mmap.mmap(f.fileno(), 8192)
f.truncate(0)
print("touch", flush=True)
print(m[4096])
