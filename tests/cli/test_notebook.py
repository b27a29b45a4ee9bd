"""%tidemark and %%tidemark in a real kernel: nbclient and ipykernel of PyPI, in an environment of
their own in the build folder."""

import fcntl
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"
PACKAGES = ["nbclient==0.10.2", "ipykernel==6.29.5", "ipython==8.31.0"]
MIB = 1 << 20

# Runs in that environment: cells as JSON in, their outputs as JSON out.
CLIENT = """
import json, sys, nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(text) for text in json.load(sys.stdin)]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
json.dump([cell.outputs for cell in book.cells], sys.stdout)
"""


@pytest.fixture(scope="session")
def environment(build):
    """The interpreter of a virtual environment with a kernel; made once, kept in the build folder."""
    folder = build / "notebook"
    made = folder / "made"
    python = folder / "bin" / "python"
    with open(build / "notebook.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several suites may run at once
        if not made.exists() or made.read_text("utf-8") != " ".join(PACKAGES):
            done = subprocess.run([PYTHON, "-m", "venv", "--clear", folder], check=False,
                                  capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip("python3-venv is not installed")
            done = subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=False,
                                  capture_output=True, text=True, timeout=600)
            if done.returncode:
                pytest.skip(f"no kernel from PyPI: {done.stderr.strip().splitlines()[-1]}")
            made.write_text(" ".join(PACKAGES), "utf-8")
    return str(python)


@pytest.fixture
def cells(environment, tidemark, tmp_path):
    """cells(*texts) -> of each the list of its outputs"""
    def call(*texts, tool=tidemark, before=()):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TIDEMARK": tool,
               "PYTHONDONTWRITEBYTECODE": "1", "IPYTHONDIR": str(tmp_path / "ipython"),
               "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "NO_COLOR": "1"}
        done = subprocess.run([*before, environment, "-c", CLIENT], input=json.dumps(texts), env=env,
                              cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def shown(outputs, kind="text/plain"):
    """What the magic has displayed."""
    found = [o["data"][kind] for o in outputs if o["output_type"] == "display_data"]
    assert len(found) == 1, outputs
    return found[0]


def value(outputs):
    return [o["data"]["text/plain"] for o in outputs if o["output_type"] == "execute_result"]


def said(outputs):
    return "".join(o["text"] for o in outputs if o["output_type"] == "stream")


def raised(outputs):
    return [o for o in outputs if o["output_type"] == "error"]


def number(text):
    amount, unit = text.split()
    scale = {"µs": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KiB": 1024, "MiB": MIB, "GiB": MIB << 10}
    return float(amount) * scale[unit]


def table(outputs):
    """{line number: {column: seconds or bytes}}; the columns of a table are right-aligned"""
    lines = shown(outputs).split("\n\n", 1)[1].split("\n")
    heads = [(m.group(), m.end()) for m in re.finditer(r"\S+", lines[0])]
    out = {}
    for line in lines[1:]:
        at = 0
        row = {}
        for head, end in heads:
            row[head] = line[at:end].strip()
            at = end
        if row.pop("line") and (mark := re.match(r".*?(\d+)$", line[:heads[-1][1]])):
            out[int(mark.group(1))] = {k: number(v) for k, v in row.items() if v}
    return out


BURN = """def burn():
    s = 0
    for i in range(4000000):
        s += i * i
    return s
"""


def test_costs_land_on_their_lines(cells):
    first = f"%%tidemark\n{BURN}kept = bytearray(50 << 20)\nburn()\nseven = 7\n"
    second = "%%tidemark --exact\nother = bytearray(30 << 20)\nseven + 1"
    _, one, two, after = cells("%load_ext tidemark", first, second, "len(kept) + seven, burn() > 0")
    rows = table(one)
    cpu = sum(r.get("CPU", 0) for r in rows.values())
    assert rows[3].get("CPU", 0) + rows[4]["CPU"] > 0.7 * cpu
    assert rows[4]["Python"] > 0
    assert rows[6]["alloc"] == rows[6]["live"] == 50 * MIB
    assert "alloc" not in rows.get(8, {})
    rows = table(two)
    assert rows[1]["alloc"] == rows[1]["peak"] == rows[1]["live"] == 30 * MIB
    assert not any(r.get("alloc", 0) > MIB for n, r in rows.items() if n != 1)
    assert "(exact)" in shown(two)
    assert value(two) == ["8"]
    assert value(after) == [f"({50 * MIB + 7}, True)"]


def test_totals(cells):
    _, out = cells("%load_ext tidemark", "%%tidemark\nkept = bytearray(80 << 20)")
    text = shown(out)
    elapsed, cpu = re.search(r"elapsed (\S+ \S+), CPU (\S+ \S+) \(user", text).groups()
    assert 0 < number(cpu) and 0 < number(elapsed)
    peak, growth = re.search(r"peak (\S+ \S+), growth \+(\S+ \S+)", text).groups()
    assert number(peak) > number(growth) > 79 * MIB  # its pages are all touched
    allocated, heap = re.search(r"allocated (\S+ \S+), peak (\S+ \S+),", text).groups()
    assert 80 * MIB <= number(heap) <= number(allocated) < 90 * MIB


def test_html(cells):
    _, out = cells("%load_ext tidemark", "%%tidemark --cpu-only\ntext = '<b>&'\nlen(text)")
    page = shown(out, "text/html")
    assert "&lt;b&gt;&amp;" in page and "<b>" not in page
    assert page.count("<tr") == page.count("</tr>") == 3  # the heading and two lines
    assert "<script" not in page and "http" not in page


def test_what_the_cell_raises(cells):
    text = "%%tidemark\nkept = bytearray(20 << 20)\n1 / 0\nnever = 1"
    _, out, after = cells("%load_ext tidemark", text, "len(kept), 'never' in globals()")
    assert table(out)[1]["alloc"] == 20 * MIB
    error, = raised(out)
    assert error["ename"] == "ZeroDivisionError"
    assert "1 / 0" in "".join(error["traceback"])
    assert "_notebook.py" not in "".join(error["traceback"])
    assert value(after) == [f"({20 * MIB}, False)"]
    _, out = cells("%load_ext tidemark", "%%tidemark\nif:\n")
    assert raised(out)[0]["ename"] == "SyntaxError"


def test_threads(cells):
    text = f"""%%tidemark --exact
import threading
{BURN}
kept = []
def work():
    kept.append(bytearray(11 << 20))
    burn()
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""
    _, out = cells("%load_ext tidemark", text)
    rows = table(out)
    assert rows[10]["alloc"] == rows[10]["live"] == 33 * MIB
    cpu = sum(r.get("CPU", 0) for r in rows.values())
    assert rows[4].get("CPU", 0) + rows[5]["CPU"] > 0.7 * cpu


def test_threads_from_before_the_cell(cells):
    early = """import threading
go, done = threading.Event(), threading.Event()
def work():
    go.wait()
    kept.append(bytearray(9 << 20))
    done.set()
kept = []
thread = threading.Thread(target=work)
thread.start()"""
    _, _, out = cells("%load_ext tidemark", early,
                      "%%tidemark --exact --all\ngo.set()\nthread.join()")
    assert re.search(r"9\.0 MiB .*:5  kept\.append|9\.0 MiB .*:5$", shown(out), re.M), shown(out)


def test_a_statement(cells):
    _, out, quiet, kept = cells("%load_ext tidemark", "%tidemark sum(range(1000)) + 1",
                                "%tidemark x = bytearray(10 << 20)", "y = %tidemark len(x)\ny")
    assert value(out) == ["499501"]
    assert "sum(range(1000)) + 1" in shown(out)
    assert value(quiet) == [] and table(quiet)[1]["alloc"] == 10 * MIB
    assert value(kept) == [str(10 * MIB)]


def test_the_trace_can_be_kept(cells, run, tmp_path):
    trace = tmp_path / "kept.tide"
    cells("%load_ext tidemark", f"%%tidemark -o {trace}\nx = bytearray(10 << 20)")
    done = run("report", trace, "peak")
    assert done.returncode == 0 and "10.0 MiB" in done.stdout
    assert not list(tmp_path.glob("tidemark-*"))


def test_what_is_refused(cells, tmp_path):
    _, nested, option, nothing, words, place = cells(
        "%load_ext tidemark", "%%tidemark\n%tidemark 1\n", "%%tidemark --nonsense\n1", "%tidemark",
        "%%tidemark x = 1\n2", "%%tidemark -o /nowhere/t.tide\n3")
    assert "a cell is being recorded; %tidemark cannot be used inside it" in said(nested)
    assert "--nonsense not recognized" in said(option)
    assert "give a statement" in said(nothing)
    assert "options alone" in said(words)
    assert "/nowhere/t.tide" in said(place) and not value(place)
    _, out, after = cells("%load_ext tidemark", "%%tidemark\nx = 1", "'x' in globals()",
                          tool="/nowhere")
    assert said(out).count("\n") <= 2 and "$TIDEMARK is '/nowhere'" in said(out)
    assert value(after) == ["False"]


def test_a_kernel_that_is_recorded(cells, tidemark, tmp_path):
    _, out = cells("%load_ext tidemark", "%%tidemark\n6 * 7",
                   before=[tidemark, "record", "-q", "-f", "-o", tmp_path / "all.tide"])
    assert value(out) == ["42"]
    assert "is recorded already; a region is marked" in said(out)
