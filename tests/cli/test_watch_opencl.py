"""Buffers of OpenCL that are watched: which kernel or command changed them (tests/targets/devices/cl_watched.c)."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def program(build, tmp_path_factory):
    os.environ.setdefault("POCL_CACHE_DIR", str(tmp_path_factory.mktemp("pocl")))
    path = build / "tests" / "targets" / "devices" / "cl_watched"
    if not path.exists():
        pytest.skip("OpenCL's headers were not there when the programs were built")
    if subprocess.run([path], check=False, timeout=60).returncode == 3:
        pytest.skip("there is no OpenCL device: tools/setup check installs PoCL")
    return path


@pytest.fixture
def watched(run, tmp_path, program):
    """watched(what, ...) -> rows of blocks by name, rows of changes; its output is in .said"""

    def call(*what, how=("--accesses",)):
        path = tmp_path / "t.tide"
        done = run("record", "-q", "--force", *how, "-o", path, program, *what, timeout=300)
        assert done.returncode == 0, done.stderr
        call.said = done.stdout
        done = run("report", path, "watch", "-f", "json")
        assert done.returncode == 0, done.stderr
        call.tables = json.loads(done.stdout)["tables"]
        return {row["name"]: row for row in call.tables["watched"]["rows"]}, call.tables["changes"]["rows"]

    return call


SCRIPT = """
import numpy as np, pyopencl as cl, tidemark
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
one = cl.Program(context, "kernel void one(global float *a) { a[get_global_id(0)] = 1; }").build().one
b = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
cl.enqueue_copy(queue, b, np.zeros(1024, np.float32))
with tidemark.watch(b, "weights"):
    one(queue, (8,), None, b)                       # line 9
    one(queue, (8,), None, b)
    one(queue, (16,), None, b)                      # line 11
one(queue, (32,), None, b)
queue.finish()
"""


def who(changes):
    return [(row["name"], row["by"], row["declared"]) for row in changes]


@pytest.mark.parametrize("how", [("--accesses",), ("--launches",), ("--accesses", "--exact")], ids=" ".join)
def test_every_change_has_the_kernel_or_command_that_made_it(watched, program, how):
    alone = subprocess.run([program, "order"], check=True, capture_output=True, text=True, timeout=60)
    blocks, changes = watched("order", how=how)
    assert watched.said == alone.stdout == "77 0 9\n"
    # what writes what was there, what leaves it and what is not given it have no row; a part of it is it
    assert who(changes) == [
        ("w", "clEnqueueWriteBuffer", "yes"), ("w", "add_one", "yes"), ("w", "add_one", "yes"),
        ("w", "sneak", "no"),  # which declares it const
        ("w", "clEnqueueUnmapMemObject", "yes")]
    assert [frame["function"] for frame in changes[1]["stack"]][:3] == ["launch_in", "launch", "order"]
    w, other = blocks["w"], blocks["other"]
    assert (w["bytes"], w["changes"], w["commands"], w["unknown"]) == (4096, 5, 7, 0)
    assert (w["first_by"], w["first"]) == ("clEnqueueWriteBuffer", changes[0]["time"])
    assert (other["changes"], other["commands"], other["first_by"]) == (0, 1, None)
    assert w["writes"] is None and w["looked_at_only"] == "it is on a device"


def test_nobody_waits_for_a_look_though_a_kernel_waits_for_its_own_thread(watched):
    _, changes = watched("waits")
    assert who(changes) == [("w", "add_one", "yes")] * 2


def test_what_knows_no_order_is_not_charged_alone(watched):
    blocks, changes = watched("queues")
    assert (blocks["w"]["commands"], blocks["w"]["unknown"]) == (3, 0)
    assert changes and {row["by"] for row in changes} == {"add_one, or one beside or before it"}


@pytest.mark.parametrize("what, ended", [("released", "it was freed"), ("ended", None)])
def test_it_ends_with_the_buffer_and_when_that_is_said(watched, what, ended):
    blocks, changes = watched(what)
    assert who(changes) == [("w", "add_one", "yes")]
    assert blocks["w"]["ended"] == ended and blocks["w"]["to"] >= changes[0]["time"]


def test_what_cannot_be_read_is_counted_and_said(watched):
    blocks, changes = watched("unread")
    assert (blocks["w"]["commands"], blocks["w"]["unknown"], blocks["w"]["changes"]) == (2, 2, None)
    assert not changes and "could not be read" in watched.tables["watched"]["note"]


def test_looks_that_would_take_too_much_memory_are_not_made(watched):
    blocks, _ = watched("large")
    assert (blocks["w"]["commands"], blocks["w"]["unknown"]) == (8, 8)


def test_there_is_an_end_to_how_many_are_watched(watched):
    blocks, _ = watched("many")
    assert [name for name, row in blocks.items() if row["ended"]] == ["q"]
    assert blocks["q"]["ended"] == "not watched: 16 others of devices were"


def test_without_the_arguments_of_kernels_it_says_what_to_do(watched):
    blocks, changes = watched("order", how=())
    assert not changes and "record with --accesses" in blocks["w"]["ended"]


def test_a_forked_child_watches_its_own_memory(watched):
    blocks, _ = watched("forks")
    assert blocks["w"]["commands"] == 0 and blocks["child's"]["writes"] == 1


def test_buffers_of_pyopencl_have_the_line_that_changed_them(run, program, tmp_path):
    if subprocess.run([PYTHON, "-c", "import pyopencl"], check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("python3-pyopencl is not installed")
    (tmp_path / "p.py").write_text(SCRIPT, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run("record", "-q", "--accesses", "-o", tmp_path / "t.tide", PYTHON, tmp_path / "p.py", env=env, timeout=300)
    assert program and done.returncode == 0, done.stderr
    rows = json.loads(run("report", tmp_path / "t.tide", "watch", "-f", "json").stdout)["tables"]["changes"]["rows"]
    lines = [[f["line"] for f in row["stack"] if str(f.get("file", "")).endswith("p.py")][0] for row in rows]
    # It builds from a binary of its own, of whose arguments the library says nothing: that is not known, not "yes".
    assert [row[:2] for row in who(rows)] == [("weights", "one")] * 2 and lines == [9, 11]
    assert {row["declared"] for row in rows} <= {"yes", None}


def test_the_recording_itself_has_no_frees_of_blocks_that_nobody_saw(run, program, tmp_path):
    def unseen(what):
        done = run("record", "-q", "--force", "--accesses", "--exact", "-o", tmp_path / "t.tide", program, what, timeout=300)
        assert done.returncode == 0, done.stderr
        return "never seen alive" in run("report", tmp_path / "t.tide").stdout

    assert unseen("queues") == unseen("none")


def test_a_program_that_is_not_recorded_is_as_it_was(program):
    for what in ("order", "waits", "queues", "released"):
        subprocess.run([program, what], check=True, stdout=subprocess.DEVNULL, timeout=60)
