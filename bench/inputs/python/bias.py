"""The same work with and without a call: bias.py CALLS INLINE prints {"function": seconds} in JSON."""

import json
import sys
import time


def do_work(x, i):
    return (x >> 2) | (i & x)


def with_calls(n):
    x = 0
    for i in range(n):
        x = x | do_work(x, i)
    return x


def inline(n):
    x = 0
    for i in range(n):
        x = x | (x >> 2) | (i & x)
    return x


truth = {}
for function, count in ((with_calls, sys.argv[1]), (inline, sys.argv[2])):
    start = time.thread_time()
    function(int(count))
    truth[function.__name__] = time.thread_time() - start
print(json.dumps(truth))
