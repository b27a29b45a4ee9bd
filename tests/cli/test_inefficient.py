"""Memory that is held while nobody needs it: lives whose waste is known by construction, and a program that tells
what it reads and writes.

A life is written as in tensormaker.py; sizes are chosen so that every sum is of one set of tensors alone.
"""

import json
import os
import pathlib
import subprocess

import pytest

import tensormaker
from pythons import needs_torch, torch_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def ask(run, tmp_path):
    """ask(life or trace, option...) -> facts, {(pattern, op): row}"""

    def call(life, *options):
        path = tensormaker.make(tmp_path / "t.tide", life) if isinstance(life, str) else life
        done = run("report", path, "inefficient", "-f", "json", *options)
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["tables"]
        return tables["facts"]["values"], {(row["pattern"], row["op"]): row for row in tables["inefficient"]["rows"]}

    return call


def life(text):
    """NAME:BYTES is a tensor of an operator of its own, of that name."""
    return " ".join(f"{w.split(':')[0]}=other/{w.split(':')[0]}/{w.split(':')[1]}" if ":" in w else w
                    for w in text.split())


# Whose peak falls by how much: (what happens, {(pattern, of whom): fall}).
VECTORS = [
    # a is allocated by op a, and used after b has come and gone: 5000 + 3000 at the peak.
    ("[a a:5000 ] [b b:3000 >b -b ] [c <a ] -a", {("early allocation", "a"): 3000}),
    # Nothing happens in between: not early.
    ("[a a:5000 ] [b ] [c <a ] -a b:9000 <b -b", {}),
    # The operator that allocates it writes it: a result that is kept is not early. It is idle at the peak.
    ("[a a:5000 >a ] [b b:3000 >b -b ] [c <a ] -a", {("idle", "a"): 3000}),
    # Used for the last time before b is there.
    ("a:5000 [p <a ] [b b:3000 >b -b ] -a", {("late free", "a"): 3000}),
    ("a:5000 [p <a ] -a [b b:3000 >b -b ]", {}),
    # The operator needs its argument until it ends, also while it allocates its result.
    ("a:5000 >a [p <a b:3000 >b ] -a <b -b", {}),
    # One that is late, but not at the peak, is without effect.
    ("a:5000 >a -a b:10 >b c:10 >c -c -b", {}),
    # Of a step before.
    ("a:5000 >a | b:3000 >b -b | -a", {("over-long life", "a"): 3000}),
    # Never freed, and not used in the second step.
    ("a:5000 >a | b:3000 >b -b |", {("over-long life", "a"): 3000}),
    # Never freed and used until the end: the end of a program frees nothing late.
    ("a:5000 >a b:3000 >b -b <a", {("idle", "a"): 3000}),
    # An offset within a block is of that block; two at once in one tick are told apart by address.
    ("( a:5000 >a b:3000 -b -a )", {("unused", "b"): 3000, ("late free", "a"): 3000}),
    # What an operator has for itself is not unused.
    ("( a:5000 >a [p <a t:700 -t b:300 >b ] -a <b -b )", {}),
    # Before the window nothing is known, and after it neither.
    ("a:5000 b:100 -b ( c:50 >c -c ) d:7000 -d -a", {}),
    # In the window it is: a could be elsewhere while c is there.
    ("a:5000 ( c:500 >c -c ) -a", {("idle", "a"): 500}),
    # Without a window, what is not told of at all is not judged.
    ("a:5000 b:3000 >b -b -a", {}),
]


@pytest.mark.parametrize("text, expected", VECTORS, ids=[str(i) for i in range(len(VECTORS))])
def test_by_how_much_the_peak_would_fall(ask, text, expected):
    facts, rows = ask(life(text))
    assert {key: row["fall"] for key, row in rows.items() if row["pattern"] != "redundant"} == expected
    assert all(row["basis"].startswith("accesses") for row in rows.values())


def test_what_does_not_lower_the_peak_is_counted(ask):
    facts, rows = ask(life("a:5000 >a -a b:10 >b c:10 >c -c -b"))
    assert facts["without_effect"] == 1 and not rows


def test_who_used_it_before_and_after(ask):
    _, rows = ask(life("[a a:5000 >a ] [b b:3000 >b -b ] [c <a ] -a"))
    assert (rows["idle", "a"]["used_before"], rows["idle", "a"]["used_after"]) == ("a", "c")
    assert "at most" in rows["idle", "a"]["basis"]


def test_blocks_of_one_stack_are_one_row(ask):
    facts, rows = ask(life("a:5000 >a a:5000 >a b:3000 >b -b -a -a"))
    row = rows["late free", "a"]
    assert (row["blocks"], row["bytes"], row["at_peak"]) == (2, 10000, 10000)
    assert facts["peak"] == 13000 and row["fall"] == 8000  # one of them remains


def test_the_new_peak_may_be_elsewhere(ask):
    _, rows = ask(life("c:6000 >c -c a:5000 >a b:3000 >b -b -a"))
    assert rows["late free", "a"]["fall"] == 2000


def test_rows_are_ranked_by_it(ask):
    _, rows = ask(life("( u:200 l:5000 >l b:3000 >b -b -l -u )"))
    assert [row["pattern"] for row in rows.values()] == ["late free", "unused"]


# Without accesses.

STEP = ("x=other/rand/10 f=forward/mm/400 g=backward/mm/1000 -f t=optimizer/mul/50 -t "
        "{0}h=forward/mm/4000 -h{1} -x ")


def test_gradients_that_are_kept_are_told_by_stacks_alone(ask):
    kept = "w=build/empty/1000 " + STEP.format("", " -g") * 3
    facts, rows = ask(kept)
    assert "accesses" not in facts
    assert facts["tensors_peak"] == 1000 + 10 + 1000 + 4000
    row = rows["over-long life", "mm"]
    assert (row["basis"], row["blocks"], row["fall"]) == ("stacks", 3, 1000)
    freed = "w=build/empty/1000 " + STEP.format("-g ", "") * 3
    assert ("over-long life", "mm") not in ask(freed)[1]


def test_what_is_freed_and_made_again_at_once_costs_time_alone(ask):
    _, rows = ask("k=other/zeros/10 " + "a=other/mm/4000 -a " * 5)
    row = rows["redundant", "mm"]
    assert (row["blocks"], row["bytes"], row["fall"]) == (4, 16000, 0)
    assert row["basis"] == "stacks: time, not memory"


def test_without_accesses_it_says_so(run, tmp_path):
    path = tensormaker.make(tmp_path / "t.tide", "a=other/mm/4000 -a")
    done = run("report", path, "inefficient")
    assert done.returncode == 0 and "The trace has no accesses" in done.stdout
    assert "Stacks alone prove no waste" in done.stdout


# A program that tells what it reads and writes: tests/targets/record/accesses.c.

MIB = 1 << 20


@pytest.fixture(scope="module")
def recorded(build, tidemark, tmp_path_factory):
    """recorded(how) -> its trace"""

    def call(how):
        path = tmp_path_factory.mktemp("accesses") / "t.tide"
        program = build / "tests" / "targets" / "record" / "accesses"
        subprocess.run([tidemark, "record", "-q", how, "-o", path, program], check=True, timeout=120)
        return path

    return call


def test_what_a_program_in_c_tells(run, recorded):
    done = run("report", recorded("--exact=4K"), "inefficient", "-f", "json")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    facts = tables["facts"]["values"]
    assert (facts["accesses"], facts["accesses_elsewhere"]) == (6, 1)
    assert 0 <= facts["peak"] - 31 * MIB < MIB
    rows = [(row["pattern"], row["fall"] // MIB, row["used_before"], row["used_after"])
            for row in tables["inefficient"]["rows"]]
    assert rows == [("idle", 4, "load", "store"), ("late free", 2, "load", None),
                    ("early allocation", 1, None, "store")]


def test_accesses_need_addresses(run, recorded):
    done = run("report", recorded("--exact"), "inefficient")
    assert done.returncode == 0 and "record with --exact=4K" in done.stdout
    assert "far as accesses show" not in done.stdout


def test_where_no_access_is_to_known_memory_stacks_prove_what_they_prove(ask):
    """A recording with --exact alone keeps no addresses. The next forward phase has the peak."""
    late = "w=build/empty/400000 g=build/empty/9000 " + (
        "x=other/randn/100000 ( h=forward/addmm/900000 <_ ) y=other/sum/8000 d=backward/mul/8500 -g -h "
        "g=backward/mm/400000 -d -y s=optimizer/sqrt/9000@13 -s -x n=other/randn/9000 -n ") * 5
    facts, rows = ask(late)
    assert facts["accesses"] == facts["accesses_elsewhere"] == 5
    assert rows["over-long life", "mm"]["fall"] == 400000 - 9000  # in the first step g has 9,000
    assert rows["over-long life", "mm"]["basis"] == "stacks"


def test_the_marks_of_another_tool_are_understood(run, build, tmp_path):
    folder, trace = build / "tests" / "targets" / "devices", tmp_path / "t.tide"
    done = run("record", "-q", "--exact=4K", "-o", trace, folder / "says_user", "memscope",
               env=os.environ | {"LD_LIBRARY_PATH": str(folder)}, timeout=120)
    assert done.returncode == 0, done.stderr

    def table(question, name):
        return json.loads(run("report", trace, question, "-f", "json").stdout)["tables"][name]

    assert [row["region"] for row in table("regions", "regions")["rows"]] == ["torch._ops.aten.add.Tensor"]
    assert [row["name"] for row in table("steps", "marks")["rows"]] == ["memscope-other"]
    assert table("inefficient", "facts")["values"]["accesses"] == 1
    row, = (row for row in table("inefficient", "inefficient")["rows"] if row["fall"])
    assert (row["pattern"], row["fall"]) == ("late free", MIB)
    assert row["used_before"] == "torch._ops.aten.add.Tensor"


# PyTorch itself: TIDEMARK_TORCH names an interpreter that has it.

TORCH = """
import tidemark, tidemark.torch, torch
kept = torch.empty(3_000_000)             # never written
x = torch.ones(1_000_000)
with tidemark.torch.accesses():
    y = x.mul(2)                          # 4 MB, used once more, before the peak
    z = y.view(1000, 1000).sum(1)
    held = x.add(1)                       # used before the peak and after it
    big = torch.ones(20_000_000)
    big.add_(1)
    del big
    y = None
    held.sub_(z[0])
"""


@needs_torch
def test_what_operators_of_pytorch_read_and_write(run, tmp_path):
    script, trace = tmp_path / "p.py", tmp_path / "t.tide"
    script.write_text(TORCH, encoding="utf-8")
    done = run("record", "-q", "--exact=4K", "-o", trace, torch_python(), script,
               env=os.environ | {"PYTHONPATH": str(ROOT / "python")}, timeout=600)
    assert done.returncode == 0, done.stderr
    done = run("report", trace, "inefficient", "-f", "json", "--limit", "100")
    rows = {(row["pattern"], row["used_before"], row["used_after"]): row["fall"]
            for row in json.loads(done.stdout)["tables"]["inefficient"]["rows"]}
    assert rows["idle", None, None] == 12_000_000  # kept
    assert rows["late free", "sum_dim_IntList", None] == 4_000_000  # y
    assert rows["idle", "add_Tensor", "sub__Tensor"] == 4_000_000  # held
    assert not any(pattern == "early allocation" for pattern, _, _ in rows)


# The same without a line in the program: what is built for this PyTorch tells it, or else a mode of Python.
PLAIN = TORCH.replace("import tidemark, tidemark.torch, torch", "import sys, threading, torch").replace(
    "with tidemark.torch.accesses():\n", "if True:\n") + """
assert not [name for name in sys.modules if "tidemark" in name]
t = threading.Thread(target=lambda: torch.ones(5_000_000).neg_()); t.start(); t.join()
"""


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """{way: a folder for XDG_CACHE_HOME}: with what was built for PyTorch, and without"""
    built, empty = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("empty")
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(built)}
    done = subprocess.run([torch_python(), "-W", "ignore", "-c", "import tidemark.torch; tidemark.torch.build()"], env=env,
                          check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return {"built": built, "mode": empty}


@needs_torch
@pytest.mark.parametrize("way", ["built", "mode"])
def test_accesses_of_pytorch_without_a_line_in_the_program(run, tmp_path, caches, way):
    script, trace = tmp_path / "p.py", tmp_path / "t.tide"
    script.write_text(PLAIN, encoding="utf-8")
    done = run("record", "-q", "--accesses", "-o", trace, torch_python(), "-W", "ignore", script,
               env=os.environ | {"XDG_CACHE_HOME": str(caches[way])}, timeout=900)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("report", trace, "inefficient", "-f", "json", "--limit", "100")
    rows = {(row["pattern"], row["used_before"], row["used_after"]): row["fall"]
            for row in json.loads(done.stdout)["tables"]["inefficient"]["rows"]}
    assert rows["unused", None, None] == 12_000_000  # kept
    assert rows["late free", "sum_dim_IntList", None] == 4_000_000  # y
    assert rows["idle", "add_Tensor", "sub__Tensor"] == 4_000_000  # held
    assert not any(pattern == "early allocation" for pattern, _, _ in rows)
    assert ("TorchDispatchMode" in done.stdout) == (way == "mode")  # a note says so


@needs_torch
def test_waste_that_is_planted_in_a_training_loop(run, tmp_path, caches):
    """Each by what the peak would fall; a loop without has nothing of the kind but what it truly holds too long, and little of that."""
    falls = {}
    for which in ("PLANTED", "PLAIN"):
        trace = tmp_path / which
        done = run("record", "-q", "--accesses", "-o", trace, torch_python(), "-W", "ignore",
                   ROOT / "tests" / "targets" / "python" / "planted.py", which,
                   env=os.environ | {"XDG_CACHE_HOME": str(caches["built"])}, timeout=900)
        assert (done.returncode, done.stderr) == (0, "")
        tables = json.loads(run("report", trace, "inefficient", "-f", "json", "--limit", "100").stdout)["tables"]
        falls[which] = [(row["pattern"], row["fall"]) for row in tables["inefficient"]["rows"] if row["pattern"] != "idle"]
    assert {("unused", 3 * MIB), ("early allocation", 5 * MIB)} <= set(falls["PLANTED"])
    assert {7 * MIB, 9 * MIB} <= {fall for pattern, fall in falls["PLANTED"] if pattern in ("late free", "over-long life")}
    assert not [row for row in falls["PLAIN"] if row[0] in ("unused", "early allocation")]
    assert max(fall for _, fall in falls["PLAIN"]) < 3 * MIB  # gradients and inputs, until the next step


@needs_torch
def test_a_built_library_that_others_may_write_is_not_loaded(run, tmp_path, caches):
    cache = tmp_path / "cache" / "tidemark"
    cache.mkdir(parents=True)
    (built,) = (caches["built"] / "tidemark").glob("*.so")
    (cache / built.name).write_bytes(built.read_bytes())
    (cache / built.name).chmod(0o777)
    code = "import torch, tidemark._accesses as a; print(a.shim(torch))"
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(cache.parent)}
    done = subprocess.run([torch_python(), "-W", "ignore", "-c", code], env=env, check=True, capture_output=True,
                          text=True, timeout=300)
    assert done.stdout == "None\n"


@needs_torch
def test_a_compiler_that_cannot_build_it_is_quoted(tmp_path):
    code = "import tidemark.torch; tidemark.torch.build('/bin/false')"
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([torch_python(), "-W", "ignore", "-c", code], env=env, check=False, capture_output=True,
                          text=True, timeout=300)
    assert "the compiler could not build" in done.stderr and not list(tmp_path.rglob("*.so"))


def test_without_a_recording_pytorch_is_not_even_imported(tmp_path):
    code = "import sys, tidemark.torch\nwith tidemark.torch.accesses(): pass\nassert 'torch' not in sys.modules"
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(["/usr/bin/python3", "-c", code], env=env, check=True, timeout=60)
