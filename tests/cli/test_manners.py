"""What is asked for in nearly the right way: run what is meant, keep what is there, name what is near."""
import os
import subprocess
import sys

import pytest

PROGRAM = "import sys\nprint(sys.argv, sys.executable)\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("command", ["record", "run"])
def test_a_python_file_is_run_with_python(run, folder, command):
    done = run(command, "app.py", "one", "two", cwd=folder)
    assert done.returncode == 0
    assert "tidemark: 'app.py' is run with python3\n" in done.stderr
    assert "['app.py', 'one', 'two']" in done.stdout


def test_its_first_line_says_which(run, folder):
    (folder / "other").symlink_to(sys.executable)
    (folder / "app.py").write_text(f"#!{folder}/other -B\n{PROGRAM}")
    done = run("record", "app.py", cwd=folder)
    assert f"is run with {folder}/other -B\n" in done.stderr and "['app.py']" in done.stdout


def test_an_interpreter_that_is_not_here_is_not_asked_for(run, folder):
    (folder / "app.py").write_text(f"#!/nowhere/python9\n{PROGRAM}")
    done = run("record", "app.py", cwd=folder)
    assert done.returncode == 0 and "is run with python3\n" in done.stderr


def test_what_the_kernel_can_run_it_runs(run, folder):
    (folder / "app.py").write_text(f"#!{sys.executable}\n{PROGRAM}")
    (folder / "app.py").chmod(0o755)
    assert "is run with" not in run("record", "./app.py", cwd=folder).stderr
    path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    assert "is run with" not in run("record", "app.py", cwd=folder, env=path).stderr


def test_without_a_first_line_it_is_no_shell_script(run, folder):
    (folder / "app.py").chmod(0o755)
    assert "['./app.py']" in run("record", "./app.py", cwd=folder).stdout


def test_quiet_says_nothing_of_it(run, folder):
    assert run("record", "-q", "app.py", cwd=folder).stderr == ""


def test_a_trace_that_is_there_is_kept(run, tmp_path):
    assert run("record", "-o", "a.tide", "true", cwd=tmp_path).returncode == 0
    before = (tmp_path / "a.tide").read_bytes()
    done = run("record", "-o", "a.tide", "sh", "-c", "exit 3", cwd=tmp_path)
    assert done.returncode == 3
    assert ("tidemark: 'a.tide' is there already and is kept (--force overwrites it); "
            "this recording goes to 'a.2.tide'\n") in done.stderr
    assert "see 'tidemark report a.2.tide'" in done.stderr
    assert (tmp_path / "a.tide").read_bytes() == before
    assert "sh -c" in run("report", "a.2.tide", cwd=tmp_path).stdout


@pytest.mark.parametrize("words", [["record", "-o"], ["run", "--record"]])
def test_force_overwrites(run, tmp_path, words):
    (tmp_path / "a.tide").write_text("something of mine")
    done = run(*words, "a.tide", "--force", "true", cwd=tmp_path)
    assert done.returncode == 0 and "goes to" not in done.stderr
    assert run("report", "a.tide", cwd=tmp_path).returncode == 0
    assert os.listdir(tmp_path) == ["a.tide"]


def test_an_empty_file_is_there_to_be_written(run, tmp_path):
    (tmp_path / "a.tide").touch()
    assert "goes to" not in run("record", "-o", "a.tide", "true", cwd=tmp_path).stderr
    assert os.listdir(tmp_path) == ["a.tide"]


def test_a_command_that_cannot_start_leaves_no_trace(run, tmp_path):
    for words in (["record"], ["record", "-o", "a.tide"], ["run", "--record", "a.tide"]):
        assert run(*words, "./nothing", cwd=tmp_path).returncode == 127
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("typed, meant", [("reprot", "report"), ("recrod", "record"), ("dif", "diff")])
def test_a_command_of_ours_is_suggested(run, typed, meant):
    done = run(typed, "x.tide")
    assert done.returncode == 127
    assert done.stderr.endswith(f"(did you mean 'tidemark {meant}'?)\n")
    assert "did you mean" not in run("run", typed).stderr


@pytest.mark.parametrize("typed, meant", [("leak", "leaks"), ("line", "lines"), ("tre", "tree"), ("cppu", "cpu")])
def test_a_question_is_suggested(run, tmp_path, typed, meant):
    run("record", "-o", "a.tide", "true", cwd=tmp_path)
    done = run("report", "a.tide", typed, cwd=tmp_path)
    assert done.returncode == 2 and f"(did you mean '{meant}'?)" in done.stderr


def test_a_reader_that_has_seen_enough_is_not_told(tidemark, tmp_path):
    subprocess.run([tidemark, "record", "-o", "a.tide", "true"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(["bash", "-c", f"{tidemark} report a.tide resources -f json | head -c 1"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert done.stdout == "{" and done.stderr == ""
