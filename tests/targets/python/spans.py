"""Regions with known lengths and known memory."""

import time

import tidemark

kept = []

for _ in range(4):
    with tidemark.region("load"):
        kept.append(bytearray(16 << 20))
        with tidemark.region("parse"):
            time.sleep(0.05)
with tidemark.region("work"):
    scratch = bytearray(64 << 20)
    time.sleep(0.3)
    del scratch
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass
time.sleep(0.1)
never = tidemark.region("never")
never.__enter__()
