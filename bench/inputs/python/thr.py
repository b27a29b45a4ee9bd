"""Threads that wait for known reasons while others compete for the interpreter.

Prints {"function": seconds waited} in JSON, and of the two that compete what each did not compute.
"""

import hashlib
import json
import os
import select
import threading
import time

BUFFER = os.urandom(1 << 20)
LOCK = threading.Lock()
waited = {}


def interpreted(n):
    s = 0
    for i in range(n):
        s = (s * 3 + i) & 65535


def native(n):
    for _ in range(n):
        hashlib.sha256(BUFFER).digest()


def sleep():
    time.sleep(1.5)


def poll():
    select.select([os.pipe()[0]], [], [], 1.0)


def lock():
    LOCK.acquire()


def timed(name, function, *words):
    wall, cpu = time.perf_counter(), time.thread_time()
    function(*words)
    waited[name] = time.perf_counter() - wall - (time.thread_time() - cpu)


LOCK.acquire()
threads = [threading.Thread(target=timed, args=words) for words in (
    ("interpreted 1", interpreted, 8_000_000), ("interpreted 2", interpreted, 8_000_000),
    ("native", native, 500), ("sleep", sleep), ("poll", poll), ("lock", lock))]
for thread in threads:
    thread.start()
time.sleep(1.2)
LOCK.release()
for thread in threads:
    thread.join()
print(json.dumps(waited))
