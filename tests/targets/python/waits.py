"""Wait in known ways and say for how long: each thread for one cause, and the main thread for two."""

import json
import os
import select
import subprocess
import threading
import time

truth = {}
lock = threading.Lock()
lock.acquire()


def timed(name, wait):
    start = time.perf_counter()
    wait()
    truth[name] = time.perf_counter() - start


def sleeper():
    timed("sleep", lambda: time.sleep(0.7))  # sleep


def poller():
    ends = os.pipe()
    timed("poll", lambda: select.select([ends[0]], [], [], 0.5))  # poll


def reader():
    ends = os.pipe()
    threading.Timer(0.6, os.write, (ends[1], b"x")).start()
    timed("io", lambda: os.read(ends[0], 1))  # io


def locker():
    timed("lock", lambda: lock.acquire())  # lock


def parent():
    child = subprocess.Popen(["sleep", "0.5"])
    timed("child", lambda: os.waitpid(child.pid, 0))  # child


threads = [threading.Thread(target=f) for f in (sleeper, poller, reader, locker, parent)]
for t in threads:
    t.start()
time.sleep(0.8)
lock.release()
for t in threads:
    t.join()
print(json.dumps(truth))
