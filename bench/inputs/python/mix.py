"""Phases in the interpreter, in native code and in the kernel, which measure themselves.

Prints {"function": [seconds, seconds in the kernel]} in JSON. mix.py SECONDS: of CPU time, each phase.
"""

import hashlib
import json
import os
import resource
import sys
import time
import zlib

BUFFER = os.urandom(1 << 20)
NUMBERS = [(i * 7919) % 100003 / 7 for i in range(100000)]
ROOM = bytearray(1 << 20)
ZEROS = os.open("/dev/zero", os.O_RDONLY)


def python_loop(end):
    s = 0.0
    while time.thread_time() < end:
        for i in range(100000):
            s = s * 0.5 + i


def native_library(end):
    while time.thread_time() < end:
        hashlib.sha256(BUFFER).digest()


def native_builtin(end):
    while time.thread_time() < end:
        sorted(NUMBERS)


def native_module(end):
    while time.thread_time() < end:
        zlib.compress(BUFFER, 6)


def system_read(end):
    while time.thread_time() < end:
        for _ in range(20):
            os.readv(ZEROS, [ROOM])


def both_stat(end):
    while time.thread_time() < end:
        for _ in range(1000):
            os.stat("/usr/bin/env")


def in_kernel():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_stime


truth = {}
for phase in (python_loop, native_library, native_builtin, native_module, system_read, both_stat):
    start, kernel = time.thread_time(), in_kernel()
    phase(start + float(sys.argv[1]))
    truth[phase.__name__] = [time.thread_time() - start, in_kernel() - kernel]
print(json.dumps(truth))
