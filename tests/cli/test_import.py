"""Files of other tools become traces, and traces files of theirs."""

import csv
import itertools
import json
import os
import pathlib
import pickle
import subprocess

import pytest
from foreign_files import (BACKWARD, COLUMNS, FORWARD, MIB, STACK, START_US, Calling, block, event, memscope_rows, segment, snapshot,
                           write_csv, write_db)
from pythons import NO_TORCH, torch_python

DEVICE_PEAK = MIB + 4096 + 1000 + 300


@pytest.fixture
def imported(run, tmp_path):
    """imported(path) -> the trace that it becomes, and what was noted"""

    def call(path):
        trace = tmp_path / (path.name + ".tide")
        done = run("import", path, "-o", trace)
        assert done.returncode == 0, done.stderr
        return trace, done.stderr

    return call


@pytest.fixture
def pickled(tmp_path):
    def call(what, name="s.pickle", protocol=4):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(what, protocol))
        return path

    return call


@pytest.fixture
def ask(run):
    """ask(trace, question, *words) -> its tables by name; of facts a dictionary"""

    def call(trace, question, *words):
        done = run("report", trace, question, "-f", "json", *words)
        assert done.returncode == 0, done.stderr
        return {name: table.get("rows", table.get("values"))
                for name, table in json.loads(done.stdout)["tables"].items()}

    return call


def totals(ask, trace):
    facts = ask(trace, "summary")["facts"]
    return {key: facts[key] for key in ("peak_heap", "heap_allocated", "allocations", "alive_at_end")}


def refused(run, path, *parts):
    done = run("import", path, "-o", path.with_suffix(".none.tide"))
    assert done.returncode == 1 and done.stdout == "", done.stdout
    assert done.stderr.startswith("tidemark: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(part in done.stderr for part in parts), done.stderr
    assert not path.with_suffix(".none.tide").exists()


# ---- snapshots of PyTorch ----


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_snapshot_has_its_sizes_stacks_and_times(imported, pickled, ask, protocol):
    trace, noted = imported(pickled(snapshot(), protocol=protocol))
    assert noted == ""
    rows = ask(trace, "processes")["processes"]
    assert {row["name"]: row["peak_heap"] for row in rows} == {"device 0": DEVICE_PEAK, "device 2": 7}
    peak = ask(trace, "peak", "--native")["peak"]
    largest = peak[0]
    assert largest["bytes"] == MIB and largest["site"] == "forward (/app/model.py:12)"
    assert [(f.get("file"), f.get("line") or 0, f["function"]) for f in largest["stack"]][1:] == FORWARD[1:]
    events = ask(trace, "events")["events"]
    assert [row["time"] for row in events if row["bytes"] == 4096] == [2000, 4000]
    assert events[-1]["time"] == 3_000_000_000


def test_what_is_older_than_the_history_is_there_when_it_begins(imported, pickled, ask):
    trace, _ = imported(pickled(snapshot()))
    events = ask(trace, "events")["events"]
    before = sorted(row["bytes"] for row in events if row["time"] == 0 and row["event"] == "alloc")
    assert before == [7, 300, 1000]
    assert totals(ask, trace)["alive_at_end"] == MIB + 1000 + 512 + 7


def test_reserved_segments_are_told_of_each_device(imported, pickled, ask):
    uses = ask(imported(pickled(snapshot()))[0], "devices")["uses"]
    assert {row["process"]: row["used_peak"] for row in uses} == {"device 0": 6 * MIB, "device 2": 2 * MIB}


def test_segments_that_grow_are_not_counted_twice(imported, pickled, ask):
    base = 0x7f0000000000
    grown = dict(segment(base, 6 * MIB, [block(base, 512, 512)]), is_expandable=True)
    history = [event("segment_map", base + 2 * MIB, 4 * MIB, 1), event("segment_unmap", base + 6 * MIB, 2 * MIB, 2),
               event("alloc", base, 512, 3)]
    uses = ask(imported(pickled({"segments": [grown], "device_traces": [history]}))[0], "devices")["uses"]
    assert uses[0]["used_peak"] == 8 * MIB


TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"
POOL = ("??", 0, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long)")
CALLED = [(TORCH + "nn/modules/module.py", 1789, "_call_impl"), ("/app/train.py", 12, "<module>")]
PHASES = {
    "build": [(TORCH + "nn/modules/linear.py", 106, "__init__"), ("/app/train.py", 5, "<module>")],
    "forward": [(TORCH + "nn/modules/linear.py", 125, "forward"), *CALLED],
    "backward": [(TORCH + "autograd/graph.py", 979, "_engine_run_backward"), ("/app/train.py", 13, "<module>")],
    "optimizer": [(TORCH + "optim/adam.py", 147, "step"), ("/app/train.py", 14, "<module>")],
}


@pytest.mark.parametrize("native", [[], [POOL]], ids=["stacks of Python", "and of C++"])
def test_what_tensors_of_a_snapshot_are_for(imported, pickled, ask, native):
    """Its functions have no names of classes, as those of real snapshots."""
    history, at = [], itertools.count(0x7f0000000000, MIB)

    def born(phase, size):
        address = next(at)
        history.append(event("alloc", address, size, len(history), native + PHASES[phase]))
        return address

    def died(address, size):
        history.extend(event(f"free_{what}", address, size, len(history)) for what in ("requested", "completed"))

    born("build", 1 * MIB)
    for step in range(4):
        activation, of_it = born("forward", 2 * MIB), born("backward", 1024)
        if not step:
            born("backward", 1 * MIB)
        died(activation, 2 * MIB)
        died(of_it, 1024)
        if not step:
            born("optimizer", 4 * MIB)
    trace, _ = imported(pickled({"segments": [], "device_traces": [history]}))
    kinds = {row["kind"]: row["bytes"] for row in ask(trace, "decompose")["kinds"] if row["bytes"] > 1024}
    assert kinds == {"parameters": MIB, "gradients": MIB, "optimizer state": 4 * MIB, "activations": 2 * MIB}
    assert {row["phase"] for row in ask(trace, "ops")["ops"]} == set(PHASES)


@pytest.mark.parametrize("native", [[], [POOL]], ids=["stacks of Python", "and of C++"])
def test_steps_of_a_snapshot_are_found_and_what_grows_by_them(imported, pickled, ask, native):
    history, at = [], itertools.count(0x7f0000000000, MIB)

    def lives(phase, size, dies=True):
        address = next(at)
        history.append(event("alloc", address, size, 1000 * len(history), native + PHASES[phase]))
        for what in ("requested", "completed") if dies else ():
            history.append(event(f"free_{what}", address, size, 1000 * len(history)))

    lives("build", MIB, dies=False)
    for _ in range(9):
        lives("forward", 5 * 4096, dies=False)
        lives("backward", MIB)
        lives("optimizer", MIB)
    trace, _ = imported(pickled({"segments": [], "device_traces": [history]}))
    loop, = ask(trace, "steps")["loops"]
    assert (loop["steps"], loop["found_by"]) == (9, "the optimizer's frames")
    grown, = ask(trace, "leaks", "--per-step")["per_step"]
    assert (grown["growth_per_step"], grown["pace"]) == (5 * 4096, "steady")
    assert ask(trace, "decompose", "--step", "4")["kinds"]


def test_a_failure_to_allocate_is_a_moment(imported, pickled, run):
    trace, _ = imported(pickled(snapshot()))
    done = run("report", trace, "peak", "--at", f"out of memory: {1 << 34} bytes asked for")
    assert done.returncode == 0, done.stderr


def test_what_a_snapshot_does_not_tell_is_absent(imported, pickled, run):
    said = run("report", imported(pickled(snapshot()))[0], "summary").stdout
    for name in "peak rss", "cpu user", "exit status", "machine total":
        assert any(line.startswith(name + " ") and line.endswith(" n/a") for line in said.splitlines()), name
    assert "imported from a PyTorch memory snapshot" in " ".join(said.split())


def test_every_question_can_be_asked(imported, pickled, run):
    trace, _ = imported(pickled(snapshot()))
    for question in "findings", "lines", "functions", "leaks", "sites", "tree", "histogram", "threads", "timeline", "page":
        done = run("report", trace, question)
        assert done.returncode == 0 and done.stderr == "", question


def test_lines_and_streams_have_their_names(imported, pickled, run):
    trace, _ = imported(pickled(snapshot()))
    assert "stream 0x55aa" in run("report", trace, "threads").stdout
    lines = run("report", trace, "lines", "-f", "csv").stdout
    assert "/app/model.py,12" in lines and "/app/model.py,20" in lines


def test_a_list_of_segments_without_times_says_so(imported, pickled, ask):
    trace, noted = imported(pickled(snapshot()["segments"]))
    assert "no times" in noted
    assert totals(ask, trace)["peak_heap"] == MIB + 1000 + 7


def test_nothing_of_a_pickle_is_called(run, pickled, tmp_path):
    class Harm:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/harmed",)

    for protocol in 2, 4:
        refused(run, pickled({"segments": [Harm()]}, protocol=protocol), "would call code")
    assert not (tmp_path / "harmed").exists()
    refused(run, pickled({"segments": [Calling()]}), "STACK_GLOBAL")


def test_a_pickle_that_is_none_of_these_is_one_sentence(run, pickled, tmp_path):
    refused(run, pickled({"a": 1}), "not a memory snapshot")
    whole = pickle.dumps(snapshot(), 4)
    for size in 3, 100, len(whole) - 1:
        (tmp_path / "cut.pickle").write_bytes(whole[:size])
        refused(run, tmp_path / "cut.pickle", "cut")
    (tmp_path / "odd.pickle").write_bytes(b"\x80\x04\x8f.")  # a set
    refused(run, tmp_path / "odd.pickle", "0x8f")
    (tmp_path / "text.pickle").write_bytes(b"hello")
    refused(run, tmp_path / "text.pickle", "not a file that can be imported", "MemScope")
    refused(run, pathlib.Path(tmp_path / "absent"), "cannot read")
    refused(run, tmp_path, "cannot read")


@pytest.mark.parametrize("size", [-1, 2 ** 60])
def test_sizes_that_no_memory_has_are_refused(run, pickled, size):
    base = 0x7f0000000000
    history = [event("segment_alloc", base, MIB, 1), event("alloc", base, 512, 2)]
    for segments, events in (([segment(base, size, [block(base, 512, 512)])], history),
                             ([segment(base, MIB, [block(base, size, size)])], history),
                             ([], [history[0], event("alloc", base, size, 2)])):
        refused(run, pickled({"segments": segments, "device_traces": [events]}), "sizes that no memory has")


def test_a_pickle_cannot_take_more_than_its_size_allows(run, tmp_path):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(b"\x80\x02" + b"]" * 8_000_000 + b".")
    refused(run, path, "more memory")
    # A list that a million events share, and one that holds itself.
    path.write_bytes(b"\x80\x02]q\x00h\x00a.")
    refused(run, path, "not a memory snapshot")


# ---- dumps of MemScope ----


def check_memscope(ask, trace):
    assert totals(ask, trace) == {"peak_heap": 4096 + 1000 + 512, "heap_allocated": 4096 + 1000 + 512, "allocations": 3,
                                  "alive_at_end": 4096 + 1000}
    leaks = {row["site"]: row["bytes"] for row in ask(trace, "leaks")["leaks"]}
    assert leaks["aten.copy"] == 1000
    assert ask(trace, "devices")["uses"][0]["used_peak"] == 2 * MIB
    viewed = next(row for row in ask(trace, "peak", "--native")["peak"] if row["bytes"] == 512)
    assert [f["function"] for f in viewed["stack"]] == ["aten.view", "forward", "<module>"]
    assert [row["count"] for row in ask(trace, "regions")["regions"]] == [1, 1]


def test_a_csv_dump_gives_the_right_answers(imported, ask, tmp_path):
    write_csv(tmp_path / "m.csv", memscope_rows())
    trace, noted = imported(tmp_path / "m.csv")
    assert noted == ""
    check_memscope(ask, trace)


@pytest.mark.parametrize("page", [512, 4096])
def test_a_database_gives_the_same(imported, ask, tmp_path, page):
    write_db(tmp_path / "m.db", memscope_rows(), page=page)
    trace, _ = imported(tmp_path / "m.db")
    check_memscope(ask, trace)


def test_a_large_database_is_read_whole(imported, ask, tmp_path):
    rows = [[i, "MALLOC", "PTA", "N/A", 10 ** 18 + i, 7, 7, 0, hex(i * 4096), f"{{allocation_id:{i},size:100}}", "x" * (i % 3000), ""]
            for i in range(1, 5001)]
    write_db(tmp_path / "m.db", rows, page=1024)
    assert totals(ask, imported(tmp_path / "m.db")[0])["peak_heap"] == 500_000


def test_sums_and_pairs_that_do_not_hold_are_noted(imported, tmp_path):
    rows = memscope_rows()
    rows[3][9] = rows[3][9].replace("used:1512", "used:9999")
    rows.append([99, "FREE", "PTA", "N/A", START_US * 1000 + 99000, 77, 77, 0, "0x5000", "{allocation_id:88,size:5}", "", ""])
    write_csv(tmp_path / "m.csv", rows)
    with (tmp_path / "m.csv").open("a") as out:
        out.write("100,MALLOC,PTA,N/A,17")
    _, noted = imported(tmp_path / "m.csv")
    assert "running sums of the file that are not those of its own events: 2" in noted
    assert "frees of blocks that the file does not tell of: 1" in noted
    assert "rows that make no sense (the last may be cut) and were left out: 1" in noted


def test_a_free_after_the_recording_leaves_the_block_alive(imported, ask, tmp_path):
    rows = memscope_rows()
    rows.append([99, "FREE", "PTA", "N/A", START_US * 1000 + 99000, 77, 77, 0, f"0x{0x1000000:016x}",
                 "{allocation_id:2,size:1000,used:0,shadow:true}", "", ""])
    write_csv(tmp_path / "m.csv", rows)
    assert totals(ask, imported(tmp_path / "m.csv")[0])["alive_at_end"] == 4096 + 1000


def test_another_version_is_one_sentence(run, tmp_path):
    write_csv(tmp_path / "m.csv", [], ["ID", "Event", "Name"])
    refused(run, tmp_path / "m.csv", "another version of MemScope")
    write_db(tmp_path / "m.db", [], [*COLUMNS[:11], "Stack"])
    refused(run, tmp_path / "m.db", "another version of MemScope")
    write_db(tmp_path / "n.db", [], table="other")
    refused(run, tmp_path / "n.db", "no table 'memscope_dump'")
    write_csv(tmp_path / "e.csv", [])
    refused(run, tmp_path / "e.csv", "no allocation")
    cut = tmp_path / "cut.db"
    write_db(tmp_path / "w.db", memscope_rows())
    cut.write_bytes((tmp_path / "w.db").read_bytes()[:1024])
    refused(run, cut, "damaged or cut")


# ---- the other way, and back ----


@pytest.fixture(scope="module")
def recorded(tidemark, tmp_path_factory):
    """An exact recording of a program that allocates and keeps a few blocks, and of its child."""
    build = pathlib.Path(tidemark).parent
    trace = tmp_path_factory.mktemp("import") / "t.tide"
    subprocess.run([build / "tests/unit/make_alloc_trace", trace, "old"], check=True, timeout=60)
    return trace


def test_a_stack_of_both_languages_is_one(imported, ask, tmp_path):
    """What C++ did for a line of Python is within it: the tensor and its operator are known, and what is no tensor."""
    torch = "/opt/torch/lib/libtorch_cpu.so"
    native = {11: f"/opt/torch/lib/libc10.so(c10::alloc_cpu(unsigned long)) [0x91]\n{torch}(at::_ops::mm::call(at::Tensor const&)) [0x7]\n",
              12: "/usr/lib/libpython3.11.so(new_arena) [0x1]\n"}
    rows = [row[:] for row in memscope_rows() if row[0] in (3, 7)]
    for row, number in zip(rows, native):
        row[0], row[2], row[10], row[11] = number, "HOST", STACK, native[number]
    write_csv(tmp_path / "b.csv", rows)
    trace, _ = imported(tmp_path / "b.csv")
    assert [(row["op"], row["allocated"]) for row in ask(trace, "ops")["ops"]] == [("mm", 1000)]
    assert [[f["function"] for f in row["stack"]] for row in ask(trace, "peak", "--native")["peak"]] == [
        ["new_arena", "forward", "<module>"], ["c10::alloc_cpu(unsigned long)", "at::_ops::mm::call(at::Tensor const&)", "forward", "<module>"]]


@pytest.mark.parametrize("name, ending", [("torch-snapshot", "pickle"), ("memscope", "csv")])
def test_what_is_written_and_imported_again_has_the_same_totals(run, ask, imported, pickled, recorded, tmp_path, name, ending):
    for trace in recorded, imported(pickled(snapshot(), "a.pickle"))[0]:
        path = tmp_path / f"again.{ending}"
        done = run("report", trace, "-f", name, "-o", path)
        assert done.returncode == 0, done.stderr
        again, noted = imported(path)
        assert noted == ""
        was, now = totals(ask, trace), totals(ask, again)
        if trace == recorded:  # it has mapped memory, of which a part goes: the rest is another block then
            was.pop("allocations"), now.pop("allocations")
            was.pop("heap_allocated"), now.pop("heap_allocated")
        assert now == was
        again.unlink()


def test_a_snapshot_that_is_written_is_plain_data(run, imported, pickled, tmp_path):
    trace, _ = imported(pickled(snapshot(), "a.pickle"))
    assert run("report", trace, "-f", "torch-snapshot", "-o", tmp_path / "b.pickle").returncode == 0
    told = pickle.loads((tmp_path / "b.pickle").read_bytes())
    history = told["device_traces"][0]
    assert len(told["device_traces"]) == 3 and told["device_traces"][1] == []
    assert sum(e["size"] for e in history if e["action"] == "alloc") == MIB + 4096 + 1000 + 300 + 512
    assert history[2]["time_us"] == START_US
    largest = next(e for e in history if e["action"] == "alloc" and e["size"] == 4096)
    assert largest["frames"] == [{"filename": f, "line": n, "name": x} for f, n, x in BACKWARD]
    assert sum(b["size"] for s in told["segments"] for b in s["blocks"]) == MIB + 1000 + 512 + 7


def test_torch_reads_the_snapshot(run, imported, pickled, tmp_path):
    python = torch_python() or pytest.skip(NO_TORCH)
    found = subprocess.run([python, "-c", "import importlib.util as u; print(u.find_spec('torch').origin)"], check=True,
                           capture_output=True, text=True, timeout=60)
    viewer = pathlib.Path(found.stdout.strip()).parent / "cuda" / "_memory_viz.py"
    trace, _ = imported(pickled(snapshot(), "a.pickle"))
    path = tmp_path / "b.pickle"
    assert run("report", trace, "-f", "torch-snapshot", "-o", path).returncode == 0

    def view(*words):
        return subprocess.run([python, "-B", viewer, *words], check=True, capture_output=True, text=True, timeout=300,
                              cwd=tmp_path).stdout

    assert "segments: 4" in view("stats", path)
    assert "TOTAL MEM: " in view("trace", path)
    view("trace_plot", path, "-o", tmp_path / "plot.html")
    view("segment_plot", path, "-o", tmp_path / "segments.html")
    assert (tmp_path / "plot.html").stat().st_size and (tmp_path / "segments.html").stat().st_size


def test_a_dump_that_is_written_keeps_both_invariants(run, recorded, tmp_path):
    path = tmp_path / "m.csv"
    assert run("report", recorded, "-f", "memscope", "-o", path).returncode == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    used, alive = {}, {}
    for row in sorted(rows, key=lambda r: int(r["ID"])):
        attributes = dict(part.split(":") for part in row["Attr"].strip("{}").split(","))
        pool, size = (row["Process Id"], row["Device Id"]), int(attributes["size"])
        used[pool] = used.get(pool, 0) + (size if row["Event"] == "MALLOC" else -size)
        assert used[pool] == int(attributes["used"])
        assert (alive.pop(attributes["allocation_id"], None) is None) == (row["Event"] == "MALLOC")
        if row["Event"] == "MALLOC":
            alive[attributes["allocation_id"]] = row
    assert not alive and rows[0]["Device Id"] == "cpu"


@pytest.mark.parametrize("blocks, depth", [(40, 900), (9000, 50)], ids=["all have room", "they have not"])
def test_every_row_of_a_dump_has_a_stack_if_not_a_whole_one(run, imported, pickled, tmp_path, blocks, depth):
    deep = [("/app/deep.py", line, "recurse_into_it") for line in range(900)]
    frames, history = event("alloc", 0, 0, 0, deep)["frames"], []
    for i in range(blocks):
        history.append({**event("alloc", 0x7f0000000000 + i * MIB, 4096, i), "frames": frames})
    trace, _ = imported(pickled({"segments": [], "device_traces": [history]}))
    done = run("report", trace, "-f", "memscope", "-o", tmp_path / "d.csv")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "d.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Event"] == "MALLOC"]
    assert {row["Call Stack(Python)"].count("\n") for row in rows} == {depth} and len(rows) == blocks
    assert rows[-1]["Call Stack(Python)"].startswith("/app/deep.py(0): recurse_into_it\n")
