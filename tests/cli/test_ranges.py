"""What programs say of themselves to other tools, with no change to them: ranges and marks of NVTX, ITT, ROCTX and
MSTX become regions and marks, and ranges that are steps end as steps.
"""

import json
import os
import subprocess

import pytest

PYTHON = "/usr/bin/python3"


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
    """installed(package) -> a folder with it, from PyPI; skips where that cannot be had"""

    def call(package):
        folder = build / "tests" / "cache" / "pypi"
        if not (folder / package).exists():
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


@pytest.mark.parametrize("variable", ["NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64"])
def test_another_tool_that_listens_already_is_left_alone(run, tmp_path, variable):
    done = run("record", "-o", tmp_path / "x.tide", "sh", "-c", f"echo ${variable}",
               env=os.environ | {variable: "/opt/other.so"})
    assert done.stdout == "/opt/other.so\n"
