"""CUDA's own runtime library, shared and static: what it looks up in the driver goes through the recorder.

It cannot allocate on a driver of ours, as it needs tables of the driver that nobody documents: only its look-ups
are real, and what it answers is the same with and without the recorder.
"""

import glob
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "targets/cudart"


def toolkit():
    nvcc = shutil.which("nvcc")
    folders = [pathlib.Path(nvcc).resolve().parents[1]] if nvcc else []
    folders += map(pathlib.Path, glob.glob("/usr/local/cuda*"))
    for folder in folders:
        for at in folder / "lib64", folder / "targets/x86_64-linux/lib":
            if (at / "libcudart.so").exists():
                return at
    return None


CUDA = toolkit()


@pytest.fixture
def program(tmp_path):
    """program(kind) -> a program that has the runtime, and a driver beside it"""
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", SOURCES / "driver.c", "-o", tmp_path / "libcuda.so.1",
                    "-Wl,-soname,libcuda.so.1", "-ldl"], check=True)

    def call(kind):
        runtime = {"shared": ["-L", CUDA, "-lcudart", f"-Wl,-rpath,{CUDA}"],
                   "static": [CUDA / "libcudart_static.a", "-ldl", "-lrt", "-lpthread"]}[kind]
        if kind == "static" and not runtime[0].exists():
            pytest.skip("the toolkit of CUDA has no static runtime")
        subprocess.run(["gcc", SOURCES / "user.c", "-o", tmp_path / kind, *runtime], check=True)
        return tmp_path / kind

    return call


@pytest.mark.skipif(not CUDA, reason="the toolkit of CUDA is not installed")
@pytest.mark.parametrize("kind", ["shared", "static"])
def test_look_ups_of_the_runtime(program, tidemark, run, tmp_path, kind):
    path, said, names = program(kind), [], []
    for recorder in [], [tidemark, "record", "-q", "-o", tmp_path / "t.tide"]:
        log = tmp_path / f"names{len(recorder)}"
        paths = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "LOOKED_UP": str(log)}
        done = subprocess.run([*recorder, path], env=paths, capture_output=True, text=True, check=True, timeout=120)
        said.append((done.stdout, done.stderr))
        names.append(log.read_text().split())
    assert said[0] == said[1] and said[0][0].startswith("801 ")
    assert names[0] == names[1] and {"cuMemAlloc", "cuMemFree", "cuLaunchKernel"} <= set(names[0])
    assert "nothing was lost" in " ".join(run("report", tmp_path / "t.tide").stdout.split())
