"""What an event loop waits for belongs to the lines that await it, not to the one that started the loop."""

import json

import pytest

from pythons import name_of, pythons, version

NEWEST = (3, 13)  # whose tasks are read

PROGRAM = """\
import asyncio, socket, threading, time
async def nap():
    await asyncio.sleep(1)  # nap
async def locked(lock):
    async with lock:  # lock
        await asyncio.sleep(0.3)  # held
async def numbers():
    for n in range(2):
        await asyncio.sleep(0.4)  # generator
        yield n
async def consume():
    async for n in numbers(): pass
async def blocking():
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 1)  # executor
async def receive():
    a, b = socket.socketpair()
    a.setblocking(False)
    timer = threading.Timer(1, lambda: b.send(b"x")); timer.start()
    await asyncio.get_running_loop().sock_recv(a, 1)  # socket
    a.close(); b.close()
async def main():
    lock = asyncio.Lock()
    await nap()
    await asyncio.gather(locked(lock), locked(lock), locked(lock))
    await consume()
    await asyncio.create_task(blocking())
    await receive()
    await asyncio.gather(*[asyncio.sleep(1) for _ in range(5)])  # gathered
asyncio.run(main())  # loop
"""

SERVER = """\
import asyncio
async def serve(reader, writer):
    while await reader.readline():  # serve
        writer.write(b"x\\n")
    writer.close()
async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(3):
        await asyncio.sleep(0.5)  # client
        writer.write(b"x\\n")
        await reader.readline()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*[client(port) for _ in range(100)])
    server.close()
asyncio.run(main())  # loop
"""


def read_pythons():
    return [p for p in pythons() if version(p) <= NEWEST]


@pytest.fixture
def polled(run, tmp_path):
    """polled(python, program) -> the time in poll of each line, by the word at its end"""

    def call(python, program):
        (tmp_path / "app.py").write_text(program)
        done = run("record", "-q", "-o", tmp_path / "t.tide", python, tmp_path / "app.py")
        assert done.returncode == 0, done.stderr
        done = run("report", tmp_path / "t.tide", "waits", "-f", "json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["tables"]["waits"]["rows"]
        return {row["text"].split("# ")[1]: row["poll"] for row in rows
                if row["text"] and "# " in row["text"]}

    return call


@pytest.mark.parametrize("python", read_pythons(), ids=name_of)
def test_waiting_belongs_to_the_line_that_awaits(polled, python):
    waits = polled(python, PROGRAM)
    whole = sum(waits.values())
    for line in ("nap", "lock", "held", "generator", "executor", "socket", "gathered"):
        assert waits.get(line, 0) > whole / 50, (line, waits)
    assert waits.get("loop", 0) < whole / 10, waits


def test_many_tasks_share_the_time_of_their_loop(polled):
    """100 wait for a line and 100 sleep: about half each, and no longer than the loop itself waits."""
    waits = polled("/usr/bin/python3", SERVER)
    whole = sum(waits.values())
    assert waits["serve"] > whole / 4 and waits["client"] > whole / 4
    assert waits.get("loop", 0) < whole / 10, waits


TOGETHER = """\
import asyncio
async def timed(seconds):
    await asyncio.wait_for(asyncio.sleep(seconds), 9)  # timed
async def nap(seconds):
    await asyncio.sleep(seconds)  # nap
async def main():
    tasks = [asyncio.ensure_future(timed(0.4)) for _ in range(3)]
    tasks[0].add_done_callback(lambda task: None)
    await asyncio.wait(tasks)  # wait
    await asyncio.gather(asyncio.gather(timed(0.4), timed(0.4)), asyncio.gather(nap(0.4), nap(0.4)))  # gather
    if hasattr(asyncio, "TaskGroup"):
        async with asyncio.TaskGroup() as group:  # group
            group.create_task(nap(0.4))
            group.create_task(nap(0.4))
asyncio.run(main())  # loop
"""


@pytest.mark.parametrize("python", read_pythons(), ids=name_of)
def test_who_awaits_several_leaves_the_time_to_them(polled, python):
    """Also where the inner task has no line of the program, as in wait_for up to 3.11."""
    waits = polled(python, TOGETHER)
    whole = sum(waits.values())
    assert waits["timed"] > whole * 0.4 and waits["nap"] > whole * 0.15, waits
    assert sum(waits.get(line, 0) for line in ("wait", "gather", "group", "loop")) < whole / 10, waits


ENDED = """\
import asyncio
async def early():
    await asyncio.sleep(0.05)  # early
async def main():
    kept = [asyncio.create_task(early()) for _ in range(5)]
    await asyncio.gather(*kept)
    await asyncio.sleep(1)  # late
asyncio.run(main())  # loop
"""


@pytest.mark.parametrize("python", read_pythons(), ids=name_of)
def test_tasks_that_have_ended_and_are_kept_wait_no_more(polled, python):
    waits = polled(python, ENDED)
    assert waits["late"] > sum(waits.values()) * 0.8, waits


# As trio's: a loop in trio/_core/_run.py whose runner has all tasks, which know the nursery that they are of.
TRIO = """\
import select, time, types
from trio._core._entry_queue import EntryQueue
class Nursery:
    def __init__(self, parent):
        self._parent_task = parent
        self._children = set()
    async def _nested_child_finished(self):
        while self._children:
            await switch(1)
    async def __aenter__(self):
        return self
    async def __aexit__(self, *of):
        await self._nested_child_finished()
    def start_soon(self, function):
        spawn(function, self)
class Task:
    __slots__ = ("_parent_nursery", "coro", "name", "wake")
class Runner:
    __slots__ = ("io_manager", "main_task", "tasks", "now")
@types.coroutine
def switch(seconds):
    yield seconds
async def sleep(seconds):
    await switch(seconds)
def spawn(function, nursery):
    task = Task()
    task._parent_nursery, task.coro, task.name, task.wake = nursery, function(), "task", 0
    the.tasks.add(task)
    if nursery:
        nursery._children.add(task)
    return task
def step(task):
    the.now = task
    try:
        task.wake = time.monotonic() + task.coro.send(None)
    except StopIteration:
        the.tasks.discard(task)
        if task._parent_nursery:
            task._parent_nursery._children.discard(task)
            task._parent_nursery._parent_task.wake = 0
def run(function):
    global the
    runner = the = Runner()
    runner.io_manager, runner.tasks = select.poll(), set()
    main = runner.main_task = spawn(function, None)
    spawn(EntryQueue().task, None)
    while main in runner.tasks:
        due = [t for t in runner.tasks if t.wake <= time.monotonic()]
        for task in due:
            step(task)
        timeout = 0 if due else min(t.wake for t in runner.tasks) - time.monotonic()
        runner.io_manager.poll(max(0, timeout * 1000 + 1))
"""

QUEUE = """\
class EntryQueue:
    async def task(self):
        from trio._core._run import sleep
        while True:
            await sleep(60)
"""

NURSERY = """\
import sys
sys.path.insert(0, sys.path[0] + "/lib/python3.11/site-packages")
from trio._core._run import Nursery, run, sleep
import trio._core._run as core
async def nap():
    await sleep(1)  # nap
async def child():
    await sleep(1)  # child
async def main():
    await nap()
    async with Nursery(core.the.now) as nursery:  # nursery
        nursery.start_soon(child)
        nursery.start_soon(child)
run(main)  # loop
"""


@pytest.mark.parametrize("python", read_pythons(), ids=name_of)
def test_tasks_of_trio_wait_in_their_own_lines(polled, tmp_path, python):
    core = tmp_path / "lib" / "python3.11" / "site-packages" / "trio" / "_core"
    core.mkdir(parents=True)
    (core / "__init__.py").touch()
    (core.parent / "__init__.py").touch()  # the real one may be installed as well
    (core / "_run.py").write_text(TRIO)
    (core / "_entry_queue.py").write_text(QUEUE)
    waits = polled(python, NURSERY)
    whole = sum(waits.values())
    assert waits["nap"] > whole / 4 and waits["child"] > whole / 4, waits
    assert waits.get("loop", 0) + waits.get("nursery", 0) < whole / 10, waits
