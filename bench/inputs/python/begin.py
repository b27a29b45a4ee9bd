"""Says when its first statement ran."""
import time

print("begins", time.clock_gettime_ns(time.CLOCK_MONOTONIC))
