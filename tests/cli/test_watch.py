"""Memory that is watched: who changed it, the first time and every time (tests/targets/record/watches.c)."""

import json
import os
import pathlib
import struct
import subprocess

import pytest

import tensormaker
from pythons import needs_torch, torch_python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"


@pytest.fixture
def watched(run, tmp_path):
    """watched(command...) -> rows of the blocks by name, rows of the changes"""

    def call(*command):
        path = tmp_path / "t.tide"
        env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run("record", "-q", "--force", "-o", path, *command, env=env, timeout=600)
        assert done.returncode == 0, done.stderr
        done = run("report", path, "watch", "-f", "json")
        assert done.returncode == 0, done.stderr
        call.tables = json.loads(done.stdout)["tables"]
        return {row["name"]: row for row in call.tables["watched"]["rows"]}, call.tables["changes"]["rows"]

    return call


# What happens, and who changed what, after what, whether that was declared.
VECTORS = [
    ("@a [p *a ]", [("a", "p", "begin of p", None)]),
    ("@a ( [p >a *a ] )", [("a", "p", "begin of p", "yes")]),
    ("@a ( [p >b *a ] )", [("a", "p", "begin of p", "no")]),
    ("@a ( [p >a ] [q *a ] )", [("a", "q", "begin of q", "no")]),  # p has written it before q
    ("@a [p [q ] *a ]", [("a", "p", "end of q", None)]),
    ("@a [p ] !m *a", [("a", None, "mark m", None)]),
    ("@a *a /a *a @a *a", [("a", None, None, None)] * 2),  # what is not watched has no changes
    ("@a @b [p *b ] *a", [("b", "p", "begin of p", None), ("a", None, "end of p", None)]),
]


@pytest.mark.parametrize("text, expected", VECTORS, ids=[str(i) for i in range(len(VECTORS))])
def test_a_change_belongs_to_what_lies_between_two_looks(run, tmp_path, text, expected):
    path = tensormaker.make(tmp_path / "t.tide", "a=other/mm/5000 b=other/mm/300 " + text)
    done = run("report", path, "watch", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"]["changes"]["rows"]
    assert [(row["name"], row["by"], row["after"], row["declared"]) for row in rows] == expected


# The same of writes, which are met before an operator tells of its accesses: who, where, how often, declared.
WRITES = [
    ("@a [p ^a ]", [("a", "p", 5, 1, None)]),
    ("@a ( [p ^a >a ] )", [("a", "p", 5, 1, "yes")]),
    ("@a ( [p >a ^a ] )", [("a", "p", 5, 1, "yes")]),
    ("@a ( [p ^a >b ] [q >a ] )", [("a", "p", 5, 1, "no")]),
    ("@a ( [p ^a ^a >a ] [p ^a ] )", [("a", "p", 5, 2, "yes"), ("a", "p", 5, 1, "no")]),
    ("@a ^a /a ^a", [("a", None, 5, 1, None)]),  # what is not watched has no writes
    ("@a @b [p ^b ] ^a", [("b", "p", 5, 1, None), ("a", None, 5, 1, None)]),
    ("^a", []),
]


@pytest.mark.parametrize("text, expected", WRITES, ids=[str(i) for i in range(len(WRITES))])
def test_a_write_is_declared_by_what_is_told_around_it(run, tmp_path, text, expected):
    path = tensormaker.make(tmp_path / "t.tide", "a=other/mm/5000 b=other/mm/300 " + text)
    done = run("report", path, "watch", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"]["writes"]["rows"]
    assert [(row["name"], row["by"], row["offset"], row["times"], row["declared"]) for row in rows] == expected


def test_what_the_recorder_tells_is_nothing_that_the_program_has_said(run, tmp_path):
    path = tensormaker.make(tmp_path / "t.tide", "a=other/mm/5000 @a !said +4096 *a")
    rows = json.loads(run("report", path, "watch", "-f", "json").stdout)["tables"]["changes"]["rows"]
    assert [row["after"] for row in rows] == ["mark said"]


def test_every_change_has_who_made_it(watched, build):
    blocks, changes = watched(build / "tests" / "targets" / "record" / "watches")
    assert [(c["name"], c["by"], c["after"]) for c in changes] == [
        ("first", "fill", "begin of fill"), ("first", None, "mark between")]
    assert all(c["declared"] is None for c in changes)  # the program tells no accesses
    assert [frame["function"] for frame in changes[0]["stack"]][1] == "fill"
    first = blocks["first"]
    assert (first["bytes"], first["changes"], first["first_by"]) == (10000, 2, "fill")
    assert first["first"] == changes[0]["time"] and first["to"] >= changes[1]["time"]


def test_what_does_not_change_and_what_is_gone(watched, build):
    blocks, _ = watched(build / "tests" / "targets" / "record" / "watches")
    assert (blocks["second"]["changes"], blocks["second"]["ended"]) == (0, None)
    assert (blocks["third"]["changes"], blocks["third"]["ended"]) == (0, "it was freed")


@pytest.mark.parametrize("options, dead", [
    (["--exact"], ["elsewhere", "freed", "small"]), (["--exact=4K"], ["elsewhere", "freed"]), (["--exact=64K"], []),
    (["--sample=64K"], [])], ids=["exact", "hybrid", "larger", "sample"])
def test_what_was_freed_before_it_was_watched_is_told_where_all_blocks_of_its_size_are_known(watched, build, options, dead):
    blocks, _ = watched(*options, "--", build / "tests" / "targets" / "record" / "watches_dead")
    was = "it was freed before it was watched"
    assert set(blocks) == {"freed", "elsewhere", "reused", "copied", "inside", "mapped", "living", "still", "small"}
    assert sorted(name for name, row in blocks.items() if row["ended"] == was) == dead
    assert (blocks["living"]["ended"], blocks["still"]["ended"]) == ("it was freed", None)
    note = watched.tables["watched"].get("note") or ""
    assert note.startswith(f"{len(dead)} of these had been freed before") == bool(dead), note


BUFFERS = """
import array, tidemark
a, b = array.array("d", range(1000)), bytearray(5000)
held = tidemark.watch(a, "numbers")
with tidemark.watch(b, "bytes"):
    with tidemark.region("load"):
        a[500] = -1.0
    with tidemark.region("other"):
        pass
    tidemark.mark("m")
    b[4999] = 1
    tidemark.step()
b[0] = 1
tidemark.step()
held.stop()
try:
    tidemark.watch(b"constant", "x")
except ValueError as error:
    assert "can be written" in str(error)
else:
    raise SystemExit(3)
"""


def test_buffers_of_python_are_watched(watched, tmp_path):
    script = tmp_path / "p.py"
    script.write_text(BUFFERS, encoding="utf-8")
    blocks, changes = watched(PYTHON, script)
    assert [(c["name"], c["by"], c["after"]) for c in changes] == [
        ("numbers", "load", "begin of load"), ("bytes", None, "mark m")]
    assert [(name, row["bytes"], row["changes"]) for name, row in blocks.items()] == [
        ("numbers", 8000, 1), ("bytes", 5000, 1)]
    lines = [frame["line"] for frame in changes[1]["stack"] if (frame["file"] or "").endswith("p.py")]
    assert lines == [12]  # where the look was made: step()


def test_without_a_recording_nothing_is_watched():
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import tidemark\nwith tidemark.watch(bytearray(8), 'x'): pass\ntidemark.watch(3, 'y').stop()"
    subprocess.run([PYTHON, "-c", code], env=env, check=True, timeout=60)


def test_a_program_that_watches_nothing_is_told_how(run, tmp_path):
    path = tmp_path / "t.tide"
    assert run("record", "-q", "-o", path, "true").returncode == 0
    done = run("report", path, "watch")
    assert done.returncode == 0 and "tidemark_watch" in done.stdout


TORCH = """
import ctypes, tidemark, tidemark.torch, torch
w = torch.ones(10000)
tidemark.watch(w, "w")
with tidemark.torch.accesses():
    x = w.add(1)                    # reads it
    w.mul_(2)                       # declares that it writes
    with tidemark.region("behind its back"):
        ctypes.memset(w.data_ptr() + 20000, 0, 4)
    x.sub_(1)
"""


@needs_torch
def test_an_operator_declares_what_it_writes(watched, tmp_path):
    script = tmp_path / "p.py"
    script.write_text(TORCH, encoding="utf-8")
    _, changes = watched(torch_python(), script)
    assert [(c["by"], c["declared"]) for c in changes] == [("mul__Tensor", "yes"), ("behind its back", "no")]
    writes = [(w["by"], w["declared"]) for w in watched.tables["writes"]["rows"]]
    assert set(writes) == {("mul__Tensor", "yes"), ("behind its back", "no")} and writes[-1][1] == "no"


# ---- writes that are met where they are made ----

def explained(tables, name):
    """Every change of a block that is guarded as a whole has a write between the look before it and its own."""
    before = 0
    writes = [w["time"] for w in tables["writes"]["rows"] if w["name"] == name]
    for change in (c for c in tables["changes"]["rows"] if c["name"] == name):
        assert any(before <= time <= change["time"] for time in writes), change
        before = change["time"]


MODES = ["reads", "handler", "trap", "masked", "threads", "fork", "remap", "bad", "plain", "confined"]


@pytest.mark.parametrize("options", [[], ["--exact"], ["--sample=64K"]], ids=["default", "exact", "sample"])
@pytest.mark.parametrize("mode", MODES)
def test_a_program_does_the_same_while_it_is_watched(run, build, tmp_path, mode, options):
    program = build / "tests" / "targets" / "record" / "guarded"
    alone = subprocess.run([program, mode], capture_output=True, timeout=120)
    assert (alone.returncode, alone.stdout) == (0, b""), alone.stdout
    done = run("record", "-q", *options, "-o", tmp_path / "t.tide", program, mode, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_what_the_kernel_writes_is_told_with_the_call(watched, build):
    blocks, _ = watched("--", build / "tests" / "targets" / "record" / "guarded", "reads")
    rows = watched.tables["writes"]["rows"]
    calls = [row["instruction"].split(", called in ")[0].removesuffix("64") for row in rows]
    files = ["read", "pread", "readv", "preadv", "fread", "read", "readv"]
    sockets = ["recv", "recvmsg", "recvmmsg", "recvfrom"]
    assert calls[:11] == files + sockets
    assert [calls[i] for i in range(11, len(calls)) if ", called" in rows[i]["instruction"]] == [
        "process_vm_readv", "getrandom", "stat", "pipe", "ioctl"]
    assert [(row["offset"], row["to"]) for row in rows[:3]] == [(90, 60090), (90, 60090), (90, 25090)]
    assert blocks["block"]["looked_at_only"] is None
    explained(watched.tables, "block")


def test_each_write_has_its_instruction_and_its_byte(watched, build):
    blocks, changes = watched("--", build / "tests" / "targets" / "record" / "guarded", "trap")
    rows = watched.tables["writes"]["rows"]
    assert [(row["offset"], row["to"], row["times"]) for row in rows] == [(i * 50, i * 50 + 1, 1) for i in range(100)]
    assert {row["stack"][0]["function"] for row in rows} == {"trap"}
    source = (ROOT / "tests/targets/record/guarded.c").read_text(encoding="utf-8").splitlines()
    assert {source[row["stack"][0]["line"] - 1].strip() for row in rows} == {"block[i * 50]++;"}
    assert (blocks["block"]["writes"], blocks["block"]["changes"], len(changes)) == (100, 100, 100)
    assert blocks["block"]["first"] == rows[0]["time"]
    explained(watched.tables, "block")


def test_threads_and_children_and_masks(watched, build):
    program = build / "tests" / "targets" / "record" / "guarded"
    blocks, _ = watched("--", program, "threads")
    rows = watched.tables["writes"]["rows"]
    assert len({row["tid"] for row in rows}) > 1 and {row["stack"][0]["function"] for row in rows} == {"work"}
    assert blocks["block"]["writes"] >= sum(row["times"] for row in rows) > 100
    blocks, _ = watched("--", program, "fork")
    assert [row["offset"] for row in watched.tables["writes"]["rows"]] == [0, 8192, 12288]  # of the parent alone
    watched("--", program, "masked")
    rows = watched.tables["writes"]["rows"]
    assert [row["stack"][0]["function"] for row in rows][:4] == ["write_there"] * 3 + ["blocked"]


def test_what_cannot_be_guarded_is_told_with_the_reason(watched, build):
    program = build / "tests" / "targets" / "record" / "guarded"
    blocks, _ = watched("--", program, "bad")
    for name in ("nothing", "nowhere", "beyond", "empty"):
        assert (blocks[name]["ended"], blocks[name]["writes"]) == ("it could not be read", None)
    assert blocks["constant"]["looked_at_only"] == "it cannot be written"
    assert (blocks["stack"]["looked_at_only"], blocks["stack"]["changes"]) == ("it is on a stack", 1)
    assert blocks["looks"]["looked_at_only"] == "as asked for"
    many = [row for row in watched.tables["watched"]["rows"] if row["name"] == "many"]
    assert {row["looked_at_only"] for row in many} == {"no page lies wholly in it", None}
    assert sum(row["ended"] == "not watched: 64 others were" for row in many) == 70 - (64 - 3)
    blocks, _ = watched("--", program, "remap")
    assert {name: row["ended"] for name, row in blocks.items()} == {
        "unmapped": "it was freed", "moved": "it was freed", "grown": "it was freed", "freed": "it was freed", "closed": None}
    assert "rights" in blocks["closed"]["looked_at_only"]


def test_who_dies_of_a_fault_does_so(run, build, tmp_path):
    path = tmp_path / "t.tide"
    done = run("record", "-q", "-o", path, build / "tests" / "targets" / "record" / "guarded", "die")
    assert done.returncode == 128 + 11
    tables = json.loads(run("report", path, "watch", "-f", "json").stdout)["tables"]
    assert [row["offset"] for row in tables["writes"]["rows"]] == [4096]


def test_the_death_of_the_recorder_harms_nobody(build, tmp_path):
    command = [build / "tidemark", "record", "-q", "-o", tmp_path / "t.tide",
               build / "tests" / "targets" / "record" / "guarded", "long"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as recorder:
        assert recorder.stdout.readline() == "begun\n"
        recorder.kill()
        assert recorder.stdout.read() == "127\n"


PYTHON_WRITES = """
import array, tidemark
b = bytearray(100000)
held = tidemark.watch(b, "bytes")
b[50000] = 1                            # line 5
tidemark.mark("m")
with open("/proc/self/exe", "rb", buffering=0) as f:
    assert f.readinto(b) == 100000      # line 8
tidemark.mark("m")
b[60000:60004] = b"abcd"                # line 10
held.stop()
b[50000] = 2
with tidemark.watch(b, "looks", looks_only=True):
    b[50001] = 3
"""


def test_lines_of_python_write(watched, tmp_path):
    script = tmp_path / "p.py"
    script.write_text(PYTHON_WRITES, encoding="utf-8")
    blocks, _ = watched(PYTHON, script)
    rows = watched.tables["writes"]["rows"]
    lines = [next(f["line"] for f in row["stack"] if (f["file"] or "").endswith("p.py")) for row in rows]
    told = [(line, row["offset"]) for line, row in zip(lines, rows)]
    assert told[:2] == [(5, 50000), (8, 0)] and {line for line, _ in told[2:]} == {10}
    assert {offset for _, offset in told[2:]} <= {60000, 60001, 60002}  # four bytes are two copies, in some libc
    assert rows[1]["to"] == 100000 and rows[1]["instruction"].startswith("read, called in")
    assert (blocks["looks"]["writes"], blocks["looks"]["changes"]) == (None, 1)
    explained(watched.tables, "bytes")


NUMPY = """
import numpy as np, tidemark
a = np.zeros(100000)
held = tidemark.watch(a, "a")
a += 1                                  # line 5
a[70000] = 3                            # line 6
np.add(a, 1, out=a)                     # line 7
assert a.sum() == 200000 + 2
b = np.fromfile("/dev/zero", np.uint8, 10)
"""


def test_arrays_of_numpy_are_watched(watched, tmp_path):
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode:
        pytest.skip("there is no numpy")
    script = tmp_path / "p.py"
    script.write_text(NUMPY, encoding="utf-8")
    watched(PYTHON, script)
    rows = watched.tables["writes"]["rows"]
    lines = [next(f["line"] for f in row["stack"] if (f["file"] or "").endswith("p.py")) for row in rows]
    assert sorted(set(lines)) == [5, 6, 7] and lines == sorted(lines)
    assert [row["offset"] for line, row in zip(lines, rows) if line == 6] == [560000]


TORCH_WRITES = """
import ctypes, sys, torch
import tidemark
torch.set_num_threads(1)
torch.manual_seed(0)
w = torch.randn(200, 300, requires_grad=True)
x, y = torch.randn(64, 200), torch.randn(64, 300)
if sys.argv[1:]:
    held = tidemark.watch(w, "w")
for i in range(3):
    ((x @ w - y) ** 2).mean().backward()
    with torch.no_grad():
        w.sub_(w.grad, alpha=0.1)       # line 13
        w.grad = None
v = torch.as_strided(w.detach(), (3,), (1,), 10000)
v.fill_(0)                              # line 16
torch.add(w.detach(), 1, out=w.detach())  # line 17
ctypes.memset(w.data_ptr() + 20000, 0, 4)  # line 18
print(w.double().sum().item())
"""


@needs_torch
def test_a_training_loop_is_the_same_and_its_operators_are_named(run, watched, tmp_path):
    script = tmp_path / "p.py"
    script.write_text(TORCH_WRITES, encoding="utf-8")
    python = torch_python()
    env = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    alone = subprocess.run([python, script], env=env, capture_output=True, text=True, timeout=300)
    assert alone.returncode == 0, alone.stderr
    done = run("record", "-q", "-o", tmp_path / "o.tide", python, script, "watch", env=env, timeout=600)
    assert done.stdout == alone.stdout
    rows = json.loads(run("report", tmp_path / "o.tide", "watch", "-f", "json").stdout)["tables"]["writes"]["rows"]
    told = [(row["op"], row["declared"], row["site"].rsplit(":", 1)[-1].rstrip(")")) for row in rows]
    assert told[:3] == [("sub__Tensor", "yes", "13")] * 3
    assert ("fill__Scalar", "yes", "16") in told and ("add_out", "yes", "17") in told
    assert told[-1] == (None, None, "18") and rows[-1]["offset"] == 20000
    assert next(row["offset"] for row in rows if row["op"] == "fill__Scalar") == 40000


CHECKSUMS = """
from tidemark._dumps import checksum
print(checksum(b""), checksum(b"a"), checksum(b"123456789"), checksum(bytes(16)))
"""


def test_hashes_are_those_of_memscope():
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([PYTHON, "-c", CHECKSUMS], env=env, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["0000000000000000", "856176de4cff4e76", "b86883e6fa710a9f", "f1a9d99093e793c0"]


DUMPS = """
import sys, torch
import tidemark.torch
x = torch.ones(4)
for full, folder in ((False, sys.argv[1]), (True, sys.argv[2])):
    with tidemark.torch.dumps("aten.mul.Tensor", "torch._ops.aten.sub.Tensor", folder, full_content=full):
        for i in range(2):
            y = x * 3
            y.add_(1)
            z = y - 1
            x.exp()
"""


@needs_torch
def test_outputs_are_dumped_around_every_operator(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    script = tmp_path / "p.py"
    script.write_text(DUMPS, encoding="utf-8")
    hashes, contents = tmp_path / "hashes", tmp_path / "contents"
    subprocess.run([torch_python(), script, hashes, contents], env=env, check=True, timeout=300)
    head, *rows = (hashes / "watch.csv").read_text().splitlines()
    assert head == "Tensor info,Check data sum" and len(rows) == 10
    names = [row.split(",")[0].split("/")[1] for row in rows]
    assert names[:5] == [
        "aten.mul.Tensor_0-aten.mul.Tensor_0_after.bin",
        "aten.add_.Tensor_0-aten.mul.Tensor_0_before.bin", "aten.add_.Tensor_0-aten.mul.Tensor_0_after.bin",
        "aten.sub.Tensor_0-aten.mul.Tensor_0_before.bin", "aten.sub.Tensor_0-aten.mul.Tensor_0_after.bin"]
    sums = [row.split(",")[1] for row in rows]
    assert sums[0] == sums[1] != sums[2] == sums[3] == sums[4] and sums[5:] == sums[:5]
    files = {path.name.split(".", 1)[1]: path.read_bytes() for path in contents.iterdir()}
    assert len(files) == 10 and files[names[0]] == struct.pack("4f", *[3] * 4) and files[names[4]] == struct.pack("4f", *[4] * 4)
