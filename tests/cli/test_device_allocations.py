"""Memory of devices, recorded from inside: by doubles of the vendors' libraries, whose documented functions
work over memory of the host, and by a real OpenCL where one is installed (test_opencl.py). The programs are in
tests/targets/devices; their heads say what they allocate.
"""

import json
import os
import subprocess

import pytest

from running import PATIENCE, start

FIXTURES = (start,)

MIB = 1 << 20
WAYS = ["linked", "linked_now", "looked_up"]


@pytest.fixture
def recorded(run, build, tmp_path):
    """recorded(program, *arguments, how=()) -> tables of the question spaces, and a function that asks others"""

    def call(*command, how=()):
        folder = build / "tests" / "targets" / "devices"
        trace = tmp_path / "devices.tide"
        trace.unlink(missing_ok=True)
        paths = os.environ | {"LD_LIBRARY_PATH": str(folder)}
        done = run("record", *how, "-o", trace, folder / command[0], *command[1:], env=paths, timeout=300)
        assert done.returncode == 0, done.stderr

        def ask(*question):
            said = run("report", trace, *question, "-f", "json")
            assert said.returncode == 0, said.stderr
            tables = json.loads(said.stdout)["tables"]
            return {name: t.get("rows", t.get("values")) for name, t in tables.items()}

        return ask("spaces"), ask

    return call


def by_space(tables):
    return {row["space"]: (row["peak"], row["live_end"], row["allocations"])
            for row in tables.get("spaces", []) if row["space"] != "host"}


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
@pytest.mark.parametrize("program", WAYS)
def test_every_way_to_a_function_is_seen(recorded, program, how):
    tables, ask = recorded(f"cuda_{program}", "ways", how=how)
    assert by_space(tables) == {"cuda:0": (6 * MIB, 0, 3)}
    rows = ask("peak", "--space", "cuda:0")["peak"]
    assert sorted(row["bytes"] for row in rows) == [MIB, 2 * MIB, 3 * MIB]
    assert all(row["site"].startswith("ways") for row in rows)


@pytest.mark.parametrize("program", WAYS)
def test_each_kind_of_memory_is_in_its_space_and_a_leak_has_its_line(recorded, program):
    tables, ask = recorded(f"cuda_{program}", "kinds")
    assert by_space(tables) == {
        "cuda:0": (14 * MIB, 5 * MIB, 5), "cuda-managed": (2 * MIB, 0, 1), "cuda-host": (6 * MIB, 0, 1)}
    leaks = ask("leaks", "--space", "cuda:0")["leaks"]
    assert [(row["bytes"], row["site"].split()[0]) for row in leaks] == [(5 * MIB, "leak")]
    assert {row["call"]: row["allocated"] for row in tables["calls"]} == {
        "cuMemAllocPitch_v2": MIB, "cuMemAllocManaged": 2 * MIB, "cuMemAllocAsync": 3 * MIB,
        "cuMemAllocFromPoolAsync": 4 * MIB, "cuMemHostAlloc": 6 * MIB, "cuArrayCreate_v2": MIB,
        "cuMemAlloc_v2": 5 * MIB}


@pytest.mark.parametrize("program", WAYS)
def test_a_block_of_a_pool_is_on_the_device_of_the_pool(recorded, program):
    tables, _ = recorded(f"cuda_{program}", "pools")
    assert by_space(tables) == {"cuda:1": (2 * MIB, 0, 1), "cuda:0": (MIB, 0, 1)}
    assert [row["asked_for"] for row in tables["failed"]] == [65536 * MIB]


def test_physical_memory_counts_once_however_often_it_is_mapped(recorded):
    tables, _ = recorded("cuda_linked", "physical")
    # the first lives by a mapping while the second is made, though it was released before
    assert by_space(tables) == {"cuda:1": (10 * MIB, 0, 2)}


def test_what_ends_with_a_context_is_no_leak(recorded):
    tables, _ = recorded("cuda_looked_up", "contexts")
    assert by_space(tables) == {"cuda:1": (4 * MIB, 0, 1), "cuda:0": (2 * MIB, 0, 2)}


def test_what_a_device_refuses_is_told_with_what_was_asked(recorded):
    tables, _ = recorded("cuda_linked", "refused")
    (failed,) = tables["failed"]
    assert (failed["asked_for"], failed["status"], failed["space"]) == (65536 * MIB, "2", "cuda:0")
    assert failed["call"] == "cuMemAlloc_v2" and failed["site"].startswith("refused")


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
def test_blocks_that_threads_hand_to_each_other_are_freed_once(recorded, how):
    tables, _ = recorded("cuda_linked", "threads", how=how)
    (row,) = (row for row in tables["spaces"] if row["space"] == "cuda:0")
    assert (row["live_end"], row["allocations"], row["bytes"]) == (0, 6400, 6400 << 16)
    # 400 places and four threads that have one more in hand
    assert 400 << 16 <= row["peak"] <= 408 << 16


def test_a_forked_child_has_memory_of_its_own(recorded):
    tables, _ = recorded("cuda_linked", "fork")
    assert by_space(tables) == {"cuda:0": (3 * MIB, MIB, 2)}


@pytest.mark.parametrize("program", WAYS)
def test_launches_are_counted_where_that_is_asked_for(recorded, program):
    # the double refuses what does not arrive as it was sent: some of it is on the stack
    tables, _ = recorded(f"cuda_{program}", "launches", how=("--launches",))
    assert [(row["launches"], row["call"]) for row in tables["launches"]] == [(1000, "kernel_of_tests")]
    assert tables["launches"][0]["site"].startswith("launches")
    tables, _ = recorded(f"cuda_{program}", "launches")
    assert "launches" not in tables


def test_blocks_of_an_allocator_that_pytorch_is_given(recorded):
    tables, _ = recorded("cuda_looked_up", "plugged")
    assert by_space(tables) == {"cuda:0": (3 * MIB, MIB, 2)}
    assert [row["asked_for"] for row in tables["failed"]] == [65536 * MIB]


@pytest.mark.parametrize("program", ["linked", "linked_now"])
def test_a_process_that_ran_before_is_recorded_from_the_attach_on(start, run, build, tmp_path, program):
    folder = build / "tests" / "targets" / "devices"
    trace = tmp_path / "attached.tide"
    target = start(folder / f"cuda_{program}", "talks", tool=None,
                   env=os.environ | {"LD_LIBRARY_PATH": str(folder)})
    target.out.find(b"ready")

    def say():
        target.stdin.write(b"more\n")
        target.stdin.flush()
        target.out.find(b"ready")

    say()
    tool = start("attach", "-o", trace, str(target.pid))
    tool.err.find(rb"recording process \d+")
    say()
    say()
    assert run("detach", str(target.pid)).returncode == 0
    assert tool.wait(PATIENCE) == 0
    say()  # the program goes on
    target.stdin.close()
    assert target.wait(PATIENCE) == 0
    rows = json.loads(run("report", trace, "spaces", "-f", "json").stdout)["tables"]["spaces"]["rows"]
    assert [(row["peak"], row["allocations"]) for row in rows if row["space"] == "cuda:0"] == [(2 * MIB, 2)]


def test_hip(recorded):
    tables, ask = recorded("others_user", "hip")
    assert by_space(tables) == {"hip:1": (3 * MIB, 0, 1), "hip-managed": (2 * MIB, 0, 1),
                                "hip-host": (4 * MIB, 0, 1), "hip:0": (5 * MIB, 5 * MIB, 1)}
    assert [(row["asked_for"], row["status"]) for row in tables["failed"]] == [(65536 * MIB, "2")]
    assert ask("leaks", "--space", "hip:0")["leaks"][0]["site"].startswith("hip")


def test_hip_in_several_dimensions_and_of_pools(recorded):
    tables, _ = recorded("others_user", "shapes", how=("--launches",))
    assert by_space(tables) == {"hip:0": (16 * MIB, 0, 4), "hip:1": (3 * MIB, 0, 1)}
    assert {row["call"]: row["allocated"] for row in tables["calls"]} == {
        "hipMalloc3D": 2 * MIB, "hipMalloc3DArray": 4 * MIB, "hipMallocMipmappedArray": 9 * MIB, "hipArrayCreate": MIB,
        "hipMallocAsync": 3 * MIB}
    assert [(row["call"], row["asked_for"]) for row in tables["failed"]] == [("hipMalloc3D", 65536 * MIB)]
    assert [(row["launches"], row["call"]) for row in tables["launches"]] == [(20, "hip_of_tests")]


def test_level_zero(recorded):
    tables, _ = recorded("others_user", "ze")
    assert by_space(tables) == {
        "level-zero:0": (3 * MIB, 0, 1), "level-zero-shared": (2 * MIB, 0, 1),
        "level-zero-host": (4 * MIB, 0, 1), "level-zero:1": (5 * MIB, 5 * MIB, 1)}
    assert [row["status"] for row in tables["failed"]] == [str(0x70000003)]


def test_images_of_level_zero_have_the_sizes_of_their_dimensions(recorded):
    tables, ask = recorded("others_user", "images")
    assert by_space(tables) == {"level-zero:0": (4 * MIB, 2 * MIB, 4)}
    assert {(row["allocated"], row["call"]) for row in tables["calls"]} == {(10 * MIB, "zeImageCreate")}
    assert ask("leaks", "--space", "level-zero:0")["leaks"][0]["site"].startswith("images")


def test_level_zero_names_what_is_launched(recorded):
    tables, _ = recorded("others_user", "ze", how=("--launches",))
    assert [(row["launches"], row["call"]) for row in tables["launches"]] == [(30, "ze_of_tests")]


def test_ascend_with_pages_and_modules(recorded):
    tables, _ = recorded("others_user", "hal")
    assert by_space(tables) == {"ascend:2": (4 * MIB, 0, 2), "ascend-host": (4 * MIB, 0, 1),
                                "ascend-svm": (2 * MIB, 0, 1), "ascend:0": (5 * MIB, 5 * MIB, 1)}
    assert {(row["space"], row["call"]) for row in tables["calls"]} == {
        ("ascend:2", "halMemAlloc, huge pages, module 7"), ("ascend:2", "halMemCreate, giant pages, module 9"),
        ("ascend-host", "halMemAlloc, module 3"), ("ascend-svm", "halMemAlloc, module 3"),
        ("ascend:0", "halMemAlloc, module 3")}


def test_launches_of_ascend_count_once_though_acl_comes_to_the_runtime(recorded):
    tables, _ = recorded("others_user", "acl", how=("--launches",))
    assert {row["kernel"]: row["launches"] for row in tables["kernels"]} == {
        "add_custom": 40, "rtKernelLaunch": 2, "Cast": 3}
    # of which objects these had as arguments nothing is known
    assert all(row["given"] is None and row["may_write"] is None for row in tables["kernels"])
    tables, _ = recorded("others_user", "acl")
    assert "kernels" not in tables


def test_a_program_without_a_device_has_the_hosts_memory_alone(recorded, build):
    tables, _ = recorded(build / "tests" / "targets" / "nop")
    assert by_space(tables) == {}


def test_a_recording_that_is_paused_counts_no_device_memory(run, build, tmp_path):
    folder = build / "tests" / "targets" / "devices"
    trace = tmp_path / "paused.tide"
    done = run("record", "--start-paused", "-o", trace, folder / "cuda_linked", "ways",
               env=os.environ | {"LD_LIBRARY_PATH": str(folder)})
    assert done.returncode == 0, done.stderr
    assert "all memory of this trace is the host's" in " ".join(run("report", trace, "spaces").stdout.split())


def test_a_program_is_the_same_with_and_without_us(run, build, tmp_path):
    folder = build / "tests" / "targets" / "devices"
    env = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    for what in ("ways", "kinds", "physical", "contexts", "refused", "threads", "launches", "fork"):
        plain = subprocess.run([folder / "cuda_linked", what], env=env, check=False, timeout=60)
        done = run("record", "-o", tmp_path / f"{what}.tide", folder / "cuda_linked", what, env=env)
        assert plain.returncode == done.returncode == 0, done.stderr
