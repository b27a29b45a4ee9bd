"""Many arrays that are dropped at once, and one that stays."""

import sys

import numpy

kept = numpy.empty(3_000_000)  # kept
for _ in range(30_000):
    numpy.empty(1 << 15)  # churn
print(kept.nbytes, 30_000 * (8 << 15))
sys.stdout.flush()
