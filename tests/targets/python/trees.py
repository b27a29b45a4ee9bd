"""Processes that each hold one block of 7,000,033 bytes: trees.py WAY. Prints how many there are.

WAY: fork, spawn, forkserver (a Pool of multiprocessing), process (its Process), terminate (a Pool
that is ended while it works), futures, subprocess, exec, threads (os.fork in threads), server.
"""

import concurrent.futures
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading

BLOCK = 7_000_000
HOLD = f"\n\n\nb = bytes({BLOCK})\nprint(len(b))"


def work(_):
    b = bytes(BLOCK)
    return os.getpid(), len(b)


def pool(way):
    # Each worker does one task, so there are as many workers with a block as tasks.
    with multiprocessing.get_context(way).Pool(2, maxtasksperchild=1) as p:
        done = p.map(work, range(3), 1)
        p.close()
        p.join()
    return len({pid for pid, size in done if size == BLOCK})


def process():
    ps = [multiprocessing.Process(target=work, args=(i,)) for i in range(3)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()
    return sum(p.exitcode == 0 for p in ps)


def stay(ready):
    b = bytes(BLOCK)
    ready.put(len(b))
    signal.pause()


def terminate():
    ready = multiprocessing.SimpleQueue()
    ps = [multiprocessing.Process(target=stay, args=(ready,)) for _ in range(2)]
    for p in ps:
        p.start()
    found = [ready.get() for _ in ps]
    ps[0].terminate()
    ps[1].kill()
    for p in ps:
        p.join()
    with multiprocessing.Pool(2) as p:
        p.apply(abs, (1,))
        p.terminate()
    return len(found)


def futures():
    with concurrent.futures.ProcessPoolExecutor(2) as e:
        done = list(e.map(work, range(6)))
    return len({pid for pid, _ in done})


def by_subprocess():
    return sum(subprocess.check_output([sys.executable, "-c", HOLD]) == b"7000000\n"
               for _ in range(2))


def by_exec():
    """The same process before and after an exec: two programs with a block each."""
    child = os.fork()
    if not child:
        b = bytes(BLOCK)
        os.execv(sys.executable, [sys.executable, "-c", f"b = bytes({len(b)})"])
    return 2 if os.waitpid(child, 0)[1] == 0 else 0


def threads():
    found = []

    def forks():
        child = os.fork()
        if not child:
            b = bytes(BLOCK)
            os._exit(len(b) % 251)
        found.append(os.waitpid(child, 0)[1] >> 8)

    def busy(stop):
        while not stop.is_set():
            [bytes(100) for _ in range(1000)]

    stop = threading.Event()
    noise = [threading.Thread(target=busy, args=(stop,)) for _ in range(2)]
    ts = [threading.Thread(target=forks) for _ in range(6)]
    for t in noise + ts:
        t.start()
    for t in ts:
        t.join()
    stop.set()
    for t in noise:
        t.join()
    return found.count(BLOCK % 251)


def serve(listener):
    """A worker of the server: answers until it is told to end."""
    b = None
    while True:
        peer, _ = listener.accept()
        with peer:
            if peer.recv(16) == b"end":
                os._exit(0)
            b = b or bytes(BLOCK)
            peer.sendall(b"%d %d" % (os.getpid(), len(b)))


def server():
    """As gunicorn does: a socket, workers that are forked and share it, one is replaced."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()

    def fork():
        child = os.fork()
        if not child:
            serve(listener)
        return child

    def ask(what):
        with socket.create_connection(address) as s:
            s.sendall(what)
            return s.recv(64)

    workers = {fork() for _ in range(3)}
    answered = set()
    while len(answered) < 3:
        answered.add(int(ask(b"work").split()[0]))
    lost = workers.pop()
    os.kill(lost, signal.SIGKILL)
    os.waitpid(lost, 0)
    workers.add(fork())
    while not workers <= answered:
        answered.add(int(ask(b"work").split()[0]))
    for _ in workers:
        ask(b"end")
    for w in workers:
        os.waitpid(w, 0)
    return len(answered)


WAYS = {"process": process, "terminate": terminate, "futures": futures,
        "subprocess": by_subprocess, "exec": by_exec, "threads": threads, "server": server}

if __name__ == "__main__":
    way = sys.argv[1]
    print(WAYS[way]() if way in WAYS else pool(way))
