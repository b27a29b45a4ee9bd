"""What is known of devices from inside and from outside, together: a double of CUDA whose memory is on the virtual device
that the double of NVML shows (tests/doubles). None of this ran on a real device.
"""

import json
import os

import pytest

from test_devices import put_cards, world

FIXTURES = (world,)

MIB = 1 << 20
PYTHON = "/usr/bin/python3"


@pytest.fixture
def recorded(run, build, tmp_path, world):
    """recorded(*command, how=()) -> a function that asks, with a device that is read every 20 ms"""

    def call(*command, how=("--device", "nvidia"), words=()):
        folder = build / "tests" / "targets" / "devices"
        world(*words)
        trace = tmp_path / "joins.tide"
        env = os.environ | {"LD_LIBRARY_PATH": f"{os.environ['LD_LIBRARY_PATH']}:{folder}"}
        done = run("record", "--interval", "20", *how, "-o", trace, *command, env=env, timeout=300)
        assert done.returncode == 0, done.stderr

        def ask(*question):
            said = run("report", trace, *question, "-f", "json")
            assert said.returncode == 0, said.stderr
            tables = json.loads(said.stdout)["tables"]
            return {name: t.get("rows", t.get("values")) for name, t in tables.items()}

        ask.text = lambda *question: run("report", trace, *question).stdout
        ask.scalene = lambda: json.loads(run("report", trace, "-f", "scalene").stdout)
        return ask

    return call


def test_a_space_and_its_device_are_one_row_each_with_its_basis(recorded, build):
    ask = recorded(build / "tests" / "targets" / "devices" / "cuda_linked", "seen")
    (row,) = ask("spaces")["on_devices"]
    assert (row["space"], row["device"], row["total"]) == ("cuda:0", "nvidia:0", 8 << 30)
    # the driver takes 16 MiB for itself
    assert (row["allocated_peak"], row["ours_peak"], row["used_peak"]) == (100 * MIB, 116 * MIB, 116 * MIB)
    assert (row["allocated_basis"], row["ours_basis"], row["used_basis"]) == (
        "exact, by calls", "sampled, NVML, driver double", "sampled, NVML, driver double")


def test_a_device_that_cuda_counts_otherwise_is_that_of_its_number(recorded, build, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")  # the program's 0 is another than that which is read
    ask = recorded(build / "tests" / "targets" / "devices" / "cuda_linked", "seen")
    assert "on_devices" not in ask("spaces")


def test_without_a_device_from_outside_there_is_no_such_row(recorded, build):
    ask = recorded(build / "tests" / "targets" / "devices" / "cuda_linked", "ways", how=("--device", "none"))
    assert "on_devices" not in ask("spaces")


@pytest.mark.parametrize("vendor, space, device, allocated", [
    ("hip", "hip:0", "drm:0", 5 * MIB), ("ze", "level-zero:0", "drm:1", 3 * MIB)])
def test_what_has_other_numbers_is_joined_by_its_place_on_the_bus(recorded, build, world, vendor, space, device,
                                                                  allocated):
    put_cards(world.root)
    ask = recorded(build / "tests" / "targets" / "devices" / "others_user", vendor, how=("--device", "drm"))
    (row,) = ask("spaces")["on_devices"]  # the other device of the double is not among the cards
    assert (row["space"], row["device"], row["allocated_peak"]) == (space, device, allocated)
    assert (row["used_peak"], row["total"]) == ((3 << 30, 16 << 30) if device == "drm:0" else (None, None))


@pytest.mark.parametrize("visible, joined", [("", ["hip:0"]), ("HIP_VISIBLE_DEVICES=1 ", [])])
def test_processes_that_mean_two_devices_by_one_number_are_not_joined(recorded, build, world, visible, joined):
    put_cards(world.root)
    user = build / "tests" / "targets" / "devices" / "others_user"
    tables = recorded("sh", "-c", f"{user} hip; {visible}{user} hip", how=("--device", "drm"))("spaces")
    assert [row["space"] for row in tables.get("on_devices", [])] == joined
    assert {row["space"]: row["allocations"] for row in tables["spaces"] if row["kind"] == "device"} == {
        "hip:0": 2, "hip:1": 2}


SCRIPT = """import ctypes, mmap, os, struct, time
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
pointer = ctypes.c_ulonglong()

def allocate(mib):
    cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(mib << 20))
    return pointer.value

def launch():
    parameters = (ctypes.c_void_p * 1)()
    for _ in range(100):
        cuda.cuLaunchKernel(ctypes.c_void_p(4096), 1, 2, 3, 4, 5, 6, 8, None, parameters, None)

for i in range(3):
    cuda.cuMemFree_v2(ctypes.c_ulonglong(allocate(7)))
kept = allocate(5)
with open(os.environ["VIRTUAL_DEVICE"], "rb") as file:
    seen = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
asked = lambda: struct.unpack_from("I", seen)[0]
end, until = time.monotonic() + 50, asked() + 60
while asked() < until and time.monotonic() < end:
    launch()
"""


def test_lines_have_time_launches_and_memory_of_devices_with_their_basis(recorded, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    ask = recorded(PYTHON, script, how=("--device", "nvidia", "--launches"))
    tables = ask("lines")
    lines = {row["line"]: row for row in tables["lines"] if row["file"].endswith("train.py")}
    memory, launches = lines[10], lines[16]
    assert (memory["device_allocated"], memory["device_most"], memory["launches"]) == (26 * MIB, 7 * MIB, 0)
    assert launches["launches"] > 0 and launches["launches"] == tables["facts"]["launches"]
    # the virtual device is busy all the time, and what is launched pays for it
    assert tables["facts"]["device_time"] > 0
    assert launches["device_time"] > 0.5 * tables["facts"]["device_time"]
    assert "by launches" in tables["facts"]["device_time_basis"]
    assert tables["facts"]["device_memory_basis"].startswith("exact")
    assert "device" in ask.text("lines")
    said = ask.scalene()
    scalene = {line["lineno"]: line for file in said["files"].values() for line in file["lines"]}
    assert said["gpu"] and scalene[16]["n_gpu_percent"] > 50 and scalene[10]["n_gpu_peak_memory_mb"] == 7


def test_lines_without_a_device_have_no_such_columns(recorded, tmp_path):
    script = tmp_path / "plain.py"
    script.write_text("kept = [bytearray(1 << 20) for _ in range(40)]\n")
    ask = recorded(PYTHON, script, how=("--device", "none"))
    tables = ask("lines")
    assert tables["lines"] and not any("device" in column for row in tables["lines"] for column in row)
    assert not any("device" in fact for fact in tables["facts"])
