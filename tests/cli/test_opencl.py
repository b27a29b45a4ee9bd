"""OpenCL for real: whatever device this machine has, PoCL's on the CPU at the least; skipped where none is.

What tests/targets/devices/cl_user.c allocates is in its head.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

MIB = 1 << 20
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def programs(build, tmp_path_factory):
    """programs(way) -> the program that comes to OpenCL that way"""
    folder = build / "tests" / "targets" / "devices"
    os.environ.setdefault("POCL_CACHE_DIR", str(tmp_path_factory.mktemp("pocl")))
    plain = subprocess.run([folder / "cl_looked_up", "buffers"], check=False, timeout=60)
    if plain.returncode == 3:
        pytest.skip("there is no OpenCL device: tools/setup check installs PoCL")
    assert plain.returncode == 0

    def call(way):
        path = folder / f"cl_{way}"
        if not path.exists():
            pytest.skip("OpenCL's headers were not there when the programs were built")
        return path

    return call


@pytest.fixture
def recorded(run, tmp_path):
    """recorded(*command, how=()) -> tables of the question spaces, a function that asks others, and the output"""

    def call(*command, how=(), code=0):
        trace = tmp_path / "opencl.tide"
        done = run("record", *how, "-o", trace, *command, timeout=300)
        assert done.returncode == code, done.stderr

        def ask(*question):
            said = run("report", trace, *question, "-f", "json")
            assert said.returncode == 0, said.stderr
            tables = json.loads(said.stdout)["tables"]
            return {name: t.get("rows", t.get("values")) for name, t in tables.items()}

        return ask("spaces"), ask, done.stdout

    return call


def by_space(tables):
    return {row["space"]: (row["peak"], row["live_end"], row["allocations"])
            for row in tables["spaces"] if row["space"] != "host"}


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
@pytest.mark.parametrize("way", ["linked", "looked_up"])
def test_buffers_live_until_the_library_says_so_and_a_leak_has_its_line(programs, recorded, way, how):
    tables, ask, _ = recorded(programs(way), "buffers", how=how)
    # a part of a buffer and one over memory of the host are no new memory
    assert by_space(tables) == {"opencl:0": (8 * MIB, 3 * MIB, 3)}
    leaks = ask("leaks", "--space", "opencl:0")["leaks"]
    assert [(row["bytes"], row["site"].split()[0]) for row in leaks] == [(3 * MIB, "leak")]


def test_images_have_the_size_that_the_library_says_and_svm_its_own_space(programs, recorded):
    tables, _, said = recorded(programs("looked_up"), "images")
    image, shared = said.split()[:2]
    found = by_space(tables)
    if image == "1":
        peak, live, count = found.pop("opencl:0")
        assert peak >= 64 * 64 * 4 and (live, count) == (0, 1)
    if shared == "1":
        assert found.pop("opencl-svm") == (256 << 10, 0, 1)
    assert not found


@pytest.mark.parametrize("what, asked", [("refused", 1 << 50), ("none", 0)])
def test_what_was_refused_is_told_whether_the_program_asks_or_not(programs, recorded, what, asked):
    tables, _, _ = recorded(programs("looked_up"), what)
    (failed,) = tables["failed"]
    assert (failed["asked_for"], failed["call"], failed["status"]) == (asked, "clCreateBuffer", "-61")


@pytest.mark.parametrize("way", ["linked", "looked_up"])
def test_kernels_have_the_bytes_of_what_they_were_given(programs, recorded, way):
    tables, _, _ = recorded(programs(way), "kernels", how=("--launches",))
    kernels = {row.pop("kernel"): row for row in tables["kernels"]}
    first, then = MIB + (64 << 10) + 2 * MIB, (64 << 10) + 2 * MIB
    assert kernels["add"] == {
        "launches": 40, "given": 30 * first + 10 * then, "given_each": (30 * first + 10 * then) // 40,
        # what the device may only write is not read, though the kernel would
        "may_read": 30 * (first - 2 * MIB) + 10 * (64 << 10), "may_write": 40 * 2 * MIB}
    # a number is no object, and nothing of the kernel that was released is left
    assert kernels["fill"] == {
        "launches": 5, "given": 10 * MIB, "given_each": 2 * MIB, "may_read": 0, "may_write": 10 * MIB}
    assert all(row["site"].startswith("launch") for row in tables["launches"])


def test_kernels_are_not_counted_unless_that_is_asked_for(programs, recorded):
    tables, _, _ = recorded(programs("looked_up"), "kernels")
    assert "kernels" not in tables and "launches" not in tables
    assert by_space(tables) == {"opencl:0": (7 * MIB, 3 * MIB, 3)}


def loader():
    found = subprocess.run(["/sbin/ldconfig", "-p"], check=False, capture_output=True, text=True, timeout=60).stdout
    paths = [line.split(" => ")[1] for line in found.splitlines() if "libOpenCL.so.1 " in line and " => " in line]
    if not paths or b"OPENCL_LAYERS" not in pathlib.Path(paths[0]).read_bytes():
        pytest.skip("the loader of OpenCL that is installed has no layers")
    return paths[0]


@pytest.fixture
def another(tmp_path, monkeypatch):
    """A loader under a name that is nobody's: only it itself finds us"""
    shutil.copy(loader(), tmp_path / "libmine.so")
    monkeypatch.setenv("CL_LOADER", str(tmp_path / "libmine.so"))
    monkeypatch.setenv("OCL_ICD_VENDORS", os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors"))


def test_a_loader_under_another_name_tells_us_as_a_layer(programs, recorded, another):
    tables, ask, _ = recorded(programs("looked_up"), "buffers")
    assert by_space(tables) == {"opencl:0": (8 * MIB, 3 * MIB, 3)}
    leaks = ask("leaks", "--space", "opencl:0")["leaks"]
    assert [row["bytes"] for row in leaks] == [3 * MIB]


def test_kernels_are_known_to_a_layer(programs, recorded, another):
    tables, _, _ = recorded(programs("looked_up"), "kernels", how=("--launches",))
    assert {row["kernel"]: (row["launches"], row["may_write"]) for row in tables["kernels"]} == {
        "add": (40, 80 * MIB), "fill": (5, 10 * MIB)}


def test_a_layer_of_somebody_else_is_left_alone(programs, recorded, another, monkeypatch):
    monkeypatch.setenv("OPENCL_LAYERS", "/nowhere/layer.so")
    tables, _, _ = recorded(programs("looked_up"), "buffers")
    assert "spaces" not in tables or by_space(tables) == {}


@pytest.mark.parametrize("layers", [None, "/nowhere/layer.so"], ids=["with a layer", "without one"])
def test_nothing_counts_twice_though_there_are_two_ways(programs, recorded, monkeypatch, layers):
    if layers:
        monkeypatch.setenv("OPENCL_LAYERS", layers)
    tables, _, _ = recorded(programs("linked"), "kernels", how=("--launches",))
    assert by_space(tables) == {"opencl:0": (7 * MIB, 3 * MIB, 3)}
    assert {row["kernel"]: row["launches"] for row in tables["kernels"]} == {"add": 40, "fill": 5}


# fill and the host use what they are given: what waste() of cl_user.c plants, and what of it is none
WASTE = {("early allocation", "make_early"): 7 * MIB, ("late free", "make_late"): 6 * MIB,
         ("unused", "make_unused"): 5 * MIB}


def wasted(tables):
    """{(pattern, who made it): fall} without what was only idle, and that by who used it before and after"""
    rows = tables["inefficient"]
    idle = {(row["used_before"], row["used_after"]): row["fall"] for row in rows if row["pattern"] == "idle"}
    return {(row["pattern"], row["stack"][1]["function"]): row["fall"] for row in rows
            if row["pattern"] != "idle"}, idle


@pytest.mark.parametrize("way", ["linked", "looked_up"])
@pytest.mark.parametrize("how", [(), ("--exact",), ("--launches",)], ids=["sampled", "exact", "with launches"])
def test_kernels_and_the_host_tell_which_buffers_are_wasted(programs, recorded, way, how):
    _, ask, _ = recorded(programs(way), "waste", how=("--accesses", *how))
    tables = ask("inefficient", "--space", "opencl:0")
    assert (tables["facts"]["peak"], tables["facts"]["accesses_elsewhere"]) == (26 * MIB, 0)
    found, idle = wasted(tables)
    assert found == WASTE
    # a part that is used is a use of the whole; what is mapped is in use
    assert idle == {("fill", "fill"): MIB, ("clCreateBuffer", "(read by the host)"): MIB}


def test_a_layer_tells_the_same(programs, recorded, another):
    _, ask, _ = recorded(programs("looked_up"), "waste", how=("--accesses",))
    assert wasted(ask("inefficient", "--space", "opencl:0"))[0] == WASTE


def test_accesses_of_a_device_are_none_of_the_host(programs, recorded):
    _, ask, _ = recorded(programs("looked_up"), "waste", how=("--accesses",))
    assert "accesses" not in ask("inefficient")["facts"]


def test_without_the_option_nothing_is_said_of_uses(programs, recorded):
    _, ask, _ = recorded(programs("looked_up"), "waste")
    tables = ask("inefficient", "--space", "opencl:0")
    assert not tables.get("inefficient") and "accesses" not in tables["facts"]


def test_pyopencl_tells_what_it_wastes(programs, recorded, tmp_path):
    found = subprocess.run([PYTHON, "-c", "import pyopencl"], check=False, capture_output=True, timeout=60)
    if found.returncode:
        pytest.skip("python3-pyopencl is not installed")
    script = tmp_path / "waste.py"
    script.write_text("import numpy as np\n"
                      "import pyopencl as cl\n"
                      "context = cl.Context(cl.get_platforms()[0].get_devices()[:1])\n"
                      "queue = cl.CommandQueue(context)\n"
                      "program = cl.Program(context, 'kernel void one(global float *a)'\n"
                      "                              '{ a[get_global_id(0)] = 1; }').build()\n"
                      "def make(size):\n"
                      "    return cl.Buffer(context, cl.mem_flags.READ_WRITE, size)\n"
                      "unused = make(7 << 20)\n"
                      "late = make(6 << 20)\n"
                      "program.one(queue, (1024,), None, late)\n"
                      "for _ in range(5):\n"
                      "    now = make(2 << 20)\n"
                      "    program.one(queue, (1024,), None, now)\n"
                      "    host = np.empty(1024, np.float32)\n"
                      "    cl.enqueue_copy(queue, host, now)\n"
                      "    now.release()\n"
                      "late.release()\n"
                      "unused.release()\n")
    _, ask, _ = recorded(PYTHON, script, how=("--accesses",))
    tables = ask("inefficient", "--space", "opencl:0")
    lines = {(row["pattern"], tuple(f["line"] for f in row["stack"] if str(f.get("file", "")).endswith("waste.py"))): row["fall"]
             for row in tables["inefficient"] if row["pattern"] != "redundant"}
    assert lines == {("unused", (8, 9)): 7 * MIB, ("late free", (8, 10)): 2 * MIB}
    assert tables["facts"]["peak"] == 15 * MIB


def test_pyopencl_by_line(programs, recorded, tmp_path):
    found = subprocess.run([PYTHON, "-c", "import pyopencl"], check=False, capture_output=True, timeout=60)
    if found.returncode:
        pytest.skip("python3-pyopencl is not installed")
    script = tmp_path / "buffers.py"
    script.write_text("import pyopencl as cl\n"
                      "context = cl.Context(cl.get_platforms()[0].get_devices()[:1])\n"
                      "def keep():\n"
                      "    return cl.Buffer(context, cl.mem_flags.READ_WRITE, 5 << 20)\n"
                      "kept = keep()\n"
                      "for _ in range(8):\n"
                      "    cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)\n"
                      "import os\n"
                      "os._exit(0)\n")
    tables, ask, _ = recorded(PYTHON, script)
    assert by_space(tables) == {"opencl:0": (6 * MIB, 5 * MIB, 9)}
    lines = {row["line"]: row["allocated"] for row in ask("lines", "--space", "opencl:0")["lines"]
             if row["allocated"]}
    assert lines == {4: 5 * MIB, 7: 8 * MIB}


def test_clpeak_unchanged(programs, recorded):
    if not shutil.which("clpeak"):
        pytest.skip("clpeak is not installed")
    tables, ask, said = recorded("clpeak", "--kernel-latency", how=("--launches", "--accesses"))
    assert programs and "Kernel launch latency" in said
    peak, live, count = by_space(tables)["opencl:0"]
    assert peak > 0 and live == 0 and count >= 1
    assert all(row["launches"] > 0 and row["call"] != "clEnqueueNDRangeKernel" for row in tables["launches"])
    assert tables["launches"]
    # each launch uses what it is given, and every buffer is used
    wasted = ask("inefficient", "--space", "opencl:0")
    assert wasted["facts"]["accesses"] >= sum(row["launches"] for row in tables["launches"])
    assert "unused" not in {row["pattern"] for row in wasted["inefficient"]}
