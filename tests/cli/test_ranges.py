"""What programs say of themselves to other tools, with no change to them: ranges and marks of NVTX, ITT, ROCTX and
MSTX become regions and marks, ranges that are steps end as steps, and pools are spaces.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

PYTHON = "/usr/bin/python3"
MIB = 1 << 20


@pytest.fixture
def recorded(run, build, tmp_path):
    """recorded(*command, env={}) -> regions with their counts, steps by loop, names of marks"""

    def call(*command, env=None):
        folder = build / "tests" / "targets" / "devices"
        trace = tmp_path / "ranges.tide"
        env = os.environ | {"LD_LIBRARY_PATH": str(folder)} | (env or {})
        done = run("record", "-o", trace, *command, env=env, timeout=300)
        assert done.returncode == 0, done.stderr

        def rows(question, table):
            said = run("report", trace, question, "-f", "json")
            assert said.returncode == 0, said.stderr
            return json.loads(said.stdout)["tables"].get(table, {}).get("rows", [])

        return ({row["region"]: row["count"] for row in rows("regions", "regions")},
                [(row["loop"], row["step"]) for row in rows("steps", "steps")],
                [(row["name"], row["value"]) for row in rows("steps", "marks")])

    return call


@pytest.fixture(scope="session")
def installed(build):
    """installed(package, there=package) -> a folder with it, from PyPI; skips where that cannot be had"""

    def call(package, there=None):
        folder = build / "tests" / "cache" / "pypi"
        if not (folder / (there or package)).exists():
            done = subprocess.run(
                [PYTHON, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--retries", "0",
                 "--timeout", "10", "--target", folder, package],
                check=False, capture_output=True, text=True, timeout=120)
            if done.returncode:
                pytest.skip(f"{package} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        return folder

    return call


STEPS = [("train_step", 0), ("train_step", 1), ("train_step", 2)]


def test_nvtx_as_its_header_does_it(recorded, build):
    regions, steps, marks = recorded(build / "tests" / "targets" / "devices" / "nvtx_user")
    assert regions == {"training": 1, "train_step": 3, "forward": 3, "registered": 1}
    assert steps == STEPS
    assert marks == [("done", 42)]


def test_roctx(recorded, build):
    regions, steps, marks = recorded(build / "tests" / "targets" / "devices" / "says_user", "roctx")
    assert regions == {"training": 1, "train_step": 3, "forward": 3}
    assert steps == STEPS
    assert marks == [("done", 0)]


def test_mstx_whose_steps_have_no_numbers(recorded, build):
    regions, steps, marks = recorded(build / "tests" / "targets" / "devices" / "says_user", "mstx")
    assert regions == {"training": 1, "train_step": 3, "forward": 3}
    assert steps == [("train_step", 1), ("train_step", 2), ("train_step", 3)]
    assert marks == [("done", 0)]


def test_the_real_nvtx(recorded, installed, tmp_path):
    folder = installed("nvtx")
    script = tmp_path / "ranges.py"
    script.write_text("import nvtx\n"
                      "for i in range(3):\n"
                      "    with nvtx.annotate(f'train_step {i}'):\n"
                      "        with nvtx.annotate('forward'):\n"
                      "            kept = bytearray(1 << 20)\n"
                      "nvtx.mark('done')\n"
                      "nvtx.end_range(nvtx.start_range('apart'))\n"
                      "nvtx.push_range('ProfilerStep#7')\n"
                      "nvtx.pop_range()\n")
    regions, steps, marks = recorded(PYTHON, script, env={"PYTHONPATH": str(folder)})
    assert regions == {"train_step": 3, "forward": 3, "apart": 1, "ProfilerStep": 1}
    assert sorted(steps) == [("ProfilerStep", 7), *STEPS]
    assert [name for name, _ in marks] == ["done"]


def test_the_real_itt(recorded, installed, tmp_path):
    folder = installed("ittapi")
    script = tmp_path / "tasks.py"
    script.write_text("import ittapi\n"
                      "for i in range(3):\n"
                      "    with ittapi.task(f'train_step {i}'):\n"
                      "        with ittapi.task('forward'):\n"
                      "            kept = bytearray(1 << 20)\n")
    regions, steps, _ = recorded(PYTHON, script, env={"PYTHONPATH": str(folder)})
    assert regions == {"train_step": 3, "forward": 3}
    assert steps == STEPS


def test_primitives_of_onednn_are_no_regions_of_the_program(recorded, installed, tmp_path):
    folder = installed("ittapi")
    script = tmp_path / "tasks.py"
    script.write_text("import ittapi\n"
                      "with ittapi.task('reorder', domain='dnnl::primitive::create'):  # made before we are asked\n"
                      "    pass\n"
                      "with ittapi.task('mine'):\n"
                      "    with ittapi.task('matmul', domain='dnnl::primitive::execute'):\n"
                      "        kept = bytearray(1 << 20)\n")
    regions, _, _ = recorded(PYTHON, script, env={"PYTHONPATH": str(folder)})
    assert regions == {"mine": 1}


# ---- pools ----

@pytest.fixture
def pools(run, build, tmp_path):
    """pools(*command, env={}) -> tables of the question spaces, and a function that asks others"""

    def call(*command, env=None):
        folder = build / "tests" / "targets" / "devices"
        trace = tmp_path / "pools.tide"
        done = run("record", "-o", trace, *command,
                   env=os.environ | {"LD_LIBRARY_PATH": str(folder)} | (env or {}), timeout=300)
        assert done.returncode == 0, done.stderr

        def ask(*question):
            said = run("report", trace, *question, "-f", "json")
            assert said.returncode == 0, said.stderr
            return {name: t.get("rows") for name, t in json.loads(said.stdout)["tables"].items()}

        return ask("spaces"), ask

    return call


# what pool_user and nvtx_pool do; MSTX cannot make a block larger
NVTX_POOL = {"pool": "cache", "reserved_peak": 96 * MIB, "reserved_end": 64 * MIB, "used_peak": 34 * MIB,
             "used_end": 24 * MIB, "unused_end": 40 * MIB}
MSTX_POOL = NVTX_POOL | {"pool": "cache:1", "used_peak": 30 * MIB, "used_end": 20 * MIB, "unused_end": 44 * MIB}


def check_leak(ask, space, bytes, site):
    assert [(row["bytes"], row["site"].split()[0]) for row in ask("leaks", "--space", space)["leaks"]] == [(bytes, site)]


def test_pools_as_nvtx_is_told_of_them(pools, build):
    tables, ask = pools(build / "tests" / "targets" / "devices" / "pool_user", "nvtx")
    assert tables["pools"] == [NVTX_POOL]  # a heap that shows how memory is used is none
    assert {row["space"]: row["kind"] for row in tables["spaces"]} == {
        "host": "host", "reserved:cache": "pool, reserved", "pool:cache": "pool, used"}
    check_leak(ask, "pool:cache", 24 * MIB, "nvtx_leak")


@pytest.mark.parametrize("tool", [{}, {"MSTX_TOOL": "1"}], ids=["alone", "beside another tool"])
def test_pools_as_mstx_is_told_of_them(pools, build, tool):
    tables, ask = pools(build / "tests" / "targets" / "devices" / "pool_user", "mstx", env=tool)
    assert tables["pools"] == [MSTX_POOL]
    check_leak(ask, "pool:cache:1", 20 * MIB, "mstx_regions")


def test_pools_by_the_real_nvtx(pools, installed, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    folder = installed("nvidia-nvtx", "nvidia")
    headers = next(folder.glob("nvidia/*/include/nvtx3/nvToolsExtMem.h")).parent.parent
    program = tmp_path / "nvtx_pool"
    source = pathlib.Path(__file__).parent.parent / "targets" / "devices" / "nvtx_pool.c"
    subprocess.run(["cc", "-g", "-O1", f"-I{headers}", "-o", program, source, "-ldl"], check=True, timeout=120)
    tables, ask = pools(program)
    assert tables["pools"] == [NVTX_POOL]
    check_leak(ask, "pool:cache", 24 * MIB, "nvtx_leak")


@pytest.mark.parametrize("variable", ["NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64"])
def test_another_tool_that_listens_already_is_left_alone(run, tmp_path, variable):
    done = run("record", "-o", tmp_path / "x.tide", "sh", "-c", f"echo ${variable}",
               env=os.environ | {variable: "/opt/other.so"})
    assert done.stdout == "/opt/other.so\n"
