"""CPU sampling against programs that know where their CPU time went, and that use signals."""

import json
import os
import re
import shutil
import subprocess

import pytest

POINTS = 12  # of all time; with 400 samples and more, that is above five standard deviations


@pytest.fixture
def program(build):
    """program(name) -> the path of a program of tests/targets/record"""
    return lambda name: str(build / "tests" / "targets" / "record" / name)


@pytest.fixture
def record(run, tmp_path):
    """record(*command, how=()) -> what the command did; its trace is t.tide"""

    def call(*command, how=()):
        return run("record", "-q", "--cpu-interval", "4ms", *how, "-f", "-o", tmp_path / "t.tide",
                   *command, timeout=180)

    return call


@pytest.fixture
def cpu(run, tmp_path):
    """cpu() -> the answer to the question cpu: facts, and functions by name"""

    def call():
        done = run("report", tmp_path / "t.tide", "cpu", "-f", "json", "--limit", "1000")
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        by_name = {}
        for row in tables.get("functions", {"rows": []})["rows"]:
            by_name.setdefault(row["function"], row)
        return tables.get("cpu", {}).get("values"), by_name

    return call


def truth(text):
    return {name: int(ns) for name, ns in re.findall(r"^(\w+) (\d+)$", text, re.M)}


def close(row, ns, whole):
    return abs(row["total"] - ns) / whole * 100 < POINTS


def test_each_function_has_its_time(record, cpu, program):
    done = record(program("burns"))
    assert done.returncode == 0
    spent = truth(done.stderr)
    whole = sum(spent.values())
    facts, functions = cpu()
    for name in ("hot", "cold", "kernel", "copies", "pooled"):
        assert close(functions[name], spent[name], whole), name
    assert functions["hot"]["self"] > functions["hot"]["total"] / 2
    assert functions["main"]["self"] < functions["main"]["total"] / 2
    assert abs(facts["sampled"] - whole) < whole / 10
    assert abs(facts["sampled"] - facts["used"]) < whole / 10


def test_what_the_time_is_spent_in(record, cpu, program):
    spent = truth(record(program("burns")).stderr)
    whole = sum(spent.values())
    facts, functions = cpu()
    assert facts["python"] == 0
    assert abs(facts["system"] - spent["kernel"]) / whole * 100 < POINTS
    assert abs(facts["copying"] - spent["copies"]) / whole * 100 < POINTS
    assert functions["kernel"]["system"] > functions["kernel"]["total"] / 2
    assert functions["copies"]["copying"] > functions["copies"]["total"] / 2
    assert functions["hot"]["native"] > functions["hot"]["total"] / 2
    assert functions["hot"]["copying"] == 0


@pytest.mark.parametrize("how", [("--exact",), ("--cpu-only",)])
def test_in_every_mode(record, cpu, program, how):
    spent = truth(record(program("burns"), how=how).stderr)
    _, functions = cpu()
    assert close(functions["hot"], spent["hot"], sum(spent.values()))


def test_a_forked_child(record, cpu, program):
    spent = truth(record(program("burns"), "fork").stderr)
    facts, functions = cpu()
    assert close(functions["hot"], spent["hot"], sum(spent.values()))
    assert abs(facts["sampled"] - sum(spent.values())) < sum(spent.values()) / 10


def test_a_thread_that_blocks_all_signals(record, cpu, program):
    spent = truth(record(program("burns"), "masked").stderr)
    _, functions = cpu()
    assert close(functions["pooled"], spent["pooled"], sum(spent.values()))


def test_a_thread_names_who_started_it(record, program, build, tmp_path):
    record(program("burns"))
    said = subprocess.run([build / "tests" / "unit" / "dump", tmp_path / "t.tide"], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    threads = [line for line in said.splitlines() if '"kind": "THREAD"' in line]
    creators = [int(re.findall(r": (\d+)}$", line)[0]) for line in threads]
    assert len(creators) == 2
    assert creators[0] == 0
    assert creators[1] > 0


def test_descriptors_are_the_programs_own(record, cpu, program):
    done = record(program("burns"), "dup")
    assert done.stdout == "next 3\nnext 4\n"
    assert cpu()[1]["hot"]["total"] > 0


@pytest.mark.parametrize("how", [(), ("raw",)])
def test_a_signal_on_its_way_does_not_kill_the_next_program(record, program, how):
    done = record(program("storm"), "1000", *how, how=("--cpu-only", "--no-names"))
    assert (done.returncode, done.stdout) == (0, "survived\n")


def test_children_that_reset_all_signals(record, cpu, program):
    done = record(program("burns"), "resets")
    assert (done.returncode, done.stdout) == (0, "survived\n")
    assert cpu()[1]["pooled"]["total"] > 0


def test_a_program_that_uses_all_signals(record, program):
    plain = subprocess.run([program("waits_all")], capture_output=True, text=True, timeout=60,
                           check=True)
    done = record(program("waits_all"))
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert "others 0" in plain.stdout


@pytest.mark.parametrize("name", ["cut_waits", "cut_waits_fortified"])
def test_a_sample_ends_no_wait(record, program, name):
    plain = subprocess.run([program(name)], capture_output=True, text=True, timeout=60, check=True)
    done = record(program(name))
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    if done.stderr == "samples 0\n":
        pytest.skip("the kernel does not tell a process its timers (/proc/self/timers)")
    assert plain.stdout.count("whole, in time, errno kept; a signal: Interrupted") == 12


def test_nor_does_one_that_meets_a_stop(record, program):
    command = [program("cut_waits"), "stops"]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    done = record(*command)
    assert (done.returncode, done.stdout) == (0, plain.stdout)


@pytest.mark.skipif(not shutil.which("setarch"), reason="no setarch here")
def test_an_old_kernel_ends_calls_for_samples(run, program, tmp_path, tidemark):
    old = ["setarch", os.uname().machine, "--uname-2.6"]
    if subprocess.run([*old, tidemark, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("nothing runs on a kernel whose version is feigned")
    trace = tmp_path / "t.tide"
    for how, samples in (["-q"], False), ([], False), (["--cpu-interval", "10ms"], True):
        done = subprocess.run([*old, tidemark, "record", *how, "-f", "-o", trace, program("burns")],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0
        assert ("CPU time is not sampled: before Linux 5.9" in done.stderr) == (not how)
        said = run("report", trace, "cpu").stdout
        assert ("holds no CPU samples" in said) == (not samples)


def test_none_is_asked_for(record, run, program, tmp_path):
    trace = tmp_path / "t.tide"
    run("record", "-q", "--no-cpu", "-f", "-o", trace, program("burns"), "masked")
    done = run("report", trace, "cpu")
    assert "holds no CPU samples" in done.stdout


def test_no_allocations_are_asked_for(record, run, program, tmp_path):
    record(program("family"), how=("--cpu-only",))
    assert "holds no allocations: it was recorded with --cpu-only" in run("report", tmp_path / "t.tide", "peak").stdout


def test_stacks_for_a_flame_graph(record, run, program, tmp_path):
    record(program("burns"), "masked")
    lines = run("report", tmp_path / "t.tide", "cpu", "-f", "collapsed").stdout.splitlines()
    assert any(re.fullmatch(r".*in_thread;pooled \d+", line) for line in lines)


@pytest.mark.parametrize("words, said", [
    (("--cpu-interval", "0.1ms"), "out of range"),
    (("--no-cpu", "--cpu-interval", "10ms"), "--no-cpu"),
    (("--cpu-only", "--exact"), "--exact"),
    (("--cpu-only", "--no-cpu"), "--no-cpu"),
])
def test_options_that_make_no_sense(run, words, said):
    done = run("record", *words, "true")
    assert done.returncode == 2
    assert said in done.stderr
