"""-f scalene: what Scalene's viewer is given, and, where it is installed, what it says to it."""

import json
import subprocess

import pytest

WORK = "/home/u/lib/python-tools/work.py"
MAIN = "/usr/lib/python3/dist-packages/app/main.py"
REALS = ["n_cpu_percent_python", "n_cpu_percent_c", "n_sys_percent", "n_core_utilization",
         "n_gpu_percent", "n_gpu_avg_memory_mb", "n_gpu_peak_memory_mb", "n_malloc_mb", "n_mallocs",
         "n_avg_mb", "n_peak_mb", "n_growth_mb", "n_usage_fraction", "n_python_fraction",
         "n_copy_mb_s"]
PLACES = ["start_region_line", "end_region_line", "start_outermost_loop", "end_outermost_loop"]


@pytest.fixture(scope="module")
def profiles(build, tidemark, tmp_path_factory):
    """profiles(kind) -> the path of a profile of a trace of make_lines_trace"""
    folder = tmp_path_factory.mktemp("profiles")

    def make(kind):
        trace, profile = folder / f"{kind}.tide", folder / f"{kind}.json"
        maker = build / "tests" / "unit" / "make_lines_trace"
        subprocess.run([maker, kind, trace], check=True, timeout=60)
        subprocess.run([tidemark, "report", trace, "-f", "scalene", "-o", profile], check=True,
                       timeout=60)
        return profile

    return make


@pytest.fixture
def scalene(build):
    """The programs of a virtual environment that has Scalene."""
    folder = build / "viewers" / "bin"
    if not (folder / "scalene").exists():
        pytest.skip("Scalene is not installed: tools/setup viewers")
    return folder


@pytest.mark.parametrize("kind", ["python", "native", "cpu"])
def test_the_schema(profiles, kind):
    said = json.loads(profiles(kind).read_text())
    for key in ["alloc_samples", "elapsed_time_sec", "start_time_absolute", "start_time_perf",
                "growth_rate", "max_footprint_mb", "max_footprint_python_fraction",
                "native_allocations_mb"]:
        assert said[key] >= 0, key
    for key in ["stacks", "memory_stacks", "combined_stacks", "combined_stacks_timeline"]:
        assert said[key] == []
    assert said["gpu"] is False and said["gpu_device"] == "" and said["async_profile"] is False
    assert said["memory"] is (kind != "cpu")
    assert isinstance(said["program"], str) and isinstance(said["entrypoint_dir"], str)
    for file in said["files"].values():
        assert set(file) == {"percent_cpu_time", "lines", "functions", "leaks", "imports"}
        for row in file["lines"] + file["functions"]:
            assert all(row[key] >= 0 for key in REALS)
            assert row["n_avg_mb"] <= row["n_peak_mb"] and row["n_usage_fraction"] <= 1
            assert row["lineno"] >= 1 and isinstance(row["line"], str)
        assert all(row[key] == row["lineno"] for row in file["lines"] for key in PLACES)


def test_the_numbers(profiles):
    said = json.loads(profiles("python").read_text())
    work = said["files"][WORK]
    assert work["percent_cpu_time"] == pytest.approx(1000 / 12)
    assert [row["lineno"] for row in work["lines"]] == list(range(1, 13))
    six = work["lines"][5]
    assert six["line"] == "        keep.append(json.loads(text))\n"
    assert six["n_cpu_percent_python"] == pytest.approx(350 / 12)
    assert six["n_cpu_percent_c"] == pytest.approx(50 / 12)
    assert (six["n_malloc_mb"], six["n_mallocs"], six["n_peak_mb"]) == (10, 10, 10)
    assert six["n_python_fraction"] == 1
    assert six["n_copy_mb_s"] == pytest.approx(8, rel=0.01)
    assert len(six["memory_samples"]) == 100
    assert work["lines"][11]["line"] == "\treturn 1 if n \\u003c 2 else n * fact(n - 1)\n"
    assert [(f["line"], f["lineno"]) for f in work["functions"]] == [
        ("loop", 3), ("fact", 11), ("<lambda>", 5)]
    assert (said["max_footprint_fname"], said["max_footprint_lineno"]) == (WORK, 6)
    assert said["max_footprint_mb"] == pytest.approx(13, abs=0.001)
    assert said["program"] == "app/main.py" and said["entrypoint_dir"] == "app"
    assert said["args"] == ["python3", "app/main.py"]
    assert said["elapsed_time_sec"] == pytest.approx(1)


def test_it_is_for_lines(run, profiles):
    trace = profiles("python").with_suffix(".tide")
    done = run("report", trace, "peak", "-f", "scalene")
    assert done.returncode == 2
    assert "the format scalene is made for the question lines, not for peak" in done.stderr


@pytest.mark.parametrize("kind", ["python", "native", "cpu"])
def test_scalene_takes_it(profiles, scalene, kind):
    code = (
        "import json, sys; from scalene.scalene_json import ScaleneJSONSchema; "
        "print(*ScaleneJSONSchema(**json.load(open(sys.argv[1]))).files)"
    )
    done = subprocess.run([scalene / "python3", "-c", code, profiles(kind)], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (WORK if kind != "native" else "/src/a.c") in done.stdout.split()


def test_scalene_shows_it(profiles, scalene, tmp_path):
    done = subprocess.run([scalene / "scalene", "view", "--cli", profiles("python")],
                          capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "work.py: % of time = 83.33%" in " ".join(done.stdout.split())
    assert "loop" in done.stdout and "fact" in done.stdout
