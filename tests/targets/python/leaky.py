"""leaky.py CASE: hold memory in ways that are easily confused. At its end Python frees all of it.

cache   57 MiB are kept, all in the first third of the time
leak    57 MiB are kept, evenly over the time
both    as leak, and beside it ten times as much that another line allocates and drops
"""
import sys
import time

STEPS, BLOCKS, BLOCK = 300, 48, 4096  # about 57 MiB
kind = sys.argv[1]
kept = []
ring = [None] * 64


def keep(blocks):
    for _ in range(blocks):
        kept.append(bytearray(BLOCK))  # KEEP


def churn(step):
    for i in range(10 * BLOCKS):
        ring[(step * 7 + i) % 64] = bytearray(BLOCK)  # CHURN


for step in range(STEPS):
    if kind == "cache" and step < STEPS // 3:
        keep(3 * BLOCKS)
    if kind in ("leak", "both"):
        keep(BLOCKS)
    if kind in ("cache", "both"):
        churn(step)
    time.sleep(0.005)
print(len(kept) * BLOCK)
