"""The trace format: two readers that know nothing of each other agree, and FORMAT.md is complete."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TIDEMARK_BUILD", ROOT / "build"))
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.tide"))
HEADER_BYTES = 64


def find_dump() -> str:
    for path in (BUILD / "dump", BUILD / "tests" / "unit" / "dump", BUILD / "tests" / "dump"):
        if path.is_file():
            return str(path)
    pytest.fail(f"there is no dump program in {BUILD}")


def c_reader(path: Path, *stretch: int) -> tuple[list[str], dict[str, object]]:
    command = [find_dump(), str(path), *map(str, stretch)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), json.loads(done.stderr)


def python_reader(path: Path) -> list[str]:
    command = [sys.executable, str(ROOT / "docs" / "tide.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def lines_of(golden: Path) -> list[str]:
    return golden.with_suffix(".jsonl").read_text(encoding="ascii").splitlines()


def test_there_are_golden_traces() -> None:
    assert [path.stem for path in GOLDEN] == ["ended", "heap", "kinds", "run"]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_both_readers_give_what_is_expected(golden: Path) -> None:
    expected = lines_of(golden)
    lines, health = c_reader(golden)
    assert lines == expected
    assert python_reader(golden) == expected
    assert health == {
        "complete": golden.stem == "ended",
        "cut": False,
        "damaged": 0,
        "damaged_bytes": 0,
    }


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_both_readers_agree_on_cut_traces(golden: Path, tmp_path: Path) -> None:
    data, expected = golden.read_bytes(), lines_of(golden)
    sizes = range(HEADER_BYTES + 8, len(data), max(1, len(data) // 12))
    for size in sizes:
        cut = tmp_path / "cut.tide"
        cut.write_bytes(data[:size])
        lines, health = c_reader(cut)
        assert lines == expected[: len(lines)], size
        assert python_reader(cut) == lines, size
        assert not health["complete"] and health["damaged"] == 0


@pytest.mark.skipif(not shutil.which("zstd"), reason="needs the zstd program")
def test_a_large_cut_chunk_is_read_in_part_by_both(tmp_path: Path) -> None:
    """Two blocks of zstd: the first one survives a cut in the second."""
    golden = ROOT / "tests" / "golden" / "ended.tide"
    header = golden.read_bytes()[:72]
    record = bytes([20, 5, 2, 1, 0, 0])  # MARK 1 ns later: thread 1, mark_kind 0, name 0
    raw = (record + bytes([7])) * 30000
    packed = subprocess.run(
        ["zstd", "-q", "-1", "--check", f"--stream-size={len(raw)}", "-c"],
        input=raw,
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    chunk = b"THNK" + bytes([2, 1, 0, 0])
    for number in (len(packed), len(raw), 30000, 0):
        chunk += number.to_bytes(4, "little")
    chunk += (1).to_bytes(8, "little") + (30000).to_bytes(8, "little")
    path = tmp_path / "large.tide"
    path.write_bytes(header + chunk + packed)
    assert len(c_reader(path)[0]) == 30000
    path.write_bytes(header + chunk + packed[:-5])
    lines, health = c_reader(path)
    assert 10000 < len(lines) < 30000
    assert health["cut"] is True
    assert python_reader(path) == lines


def test_a_stretch_of_time() -> None:
    golden = ROOT / "tests" / "golden" / "run.tide"
    first, last = 1_000_000_000, 4_500_000_000
    expected = [
        line
        for line in lines_of(golden)
        if first <= json.loads(line).get("time_ns", first) <= last
    ]
    assert c_reader(golden, first, last)[0] == expected


# FORMAT.md says what format.h and its list of metrics say.

FORMAT_H = (ROOT / "src" / "trace" / "format.h").read_text(encoding="utf-8")
METRIC_LIST_H = (ROOT / "src" / "trace" / "metric_list.h").read_text(encoding="utf-8")
FORMAT_MD = (ROOT / "docs" / "FORMAT.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    table = [line for line in FORMAT_MD.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def structs() -> dict[str, list[str]]:
    found = re.findall(r"struct trace_(\w+) \{\s*uint64_t ([^;]+);\s*\};", FORMAT_H)
    return {name.upper(): re.split(r",\s*", fields) for name, fields in found}


def test_every_kind_and_field_is_described() -> None:
    kinds = re.findall(r"X\((\w+), (\d+), ([01]), (\d+), (NONE|BYTES|PAIRS)\)", FORMAT_H)
    assert len(kinds) >= 31
    described = {row[1]: row for row in rows() if len(row) == 6}
    for name, number, timed, count, tail in kinds:
        fields = structs().get(name, [])
        assert len(fields) == int(count), name
        row = described[f"`{name}`"]
        assert row[0] == number
        assert row[2] == ("yes" if timed == "1" else "no"), name
        assert re.findall(r"`(\w+)`", row[3]) == fields, name
        text = name.lower() if name in ("STACKS", "INFOS", "BATCH") else "text"
        assert row[4] == {"NONE": "–", "BYTES": text, "PAIRS": "pairs"}[tail], name


def test_the_table_of_metrics_is_that_of_the_list() -> None:
    table = subprocess.run([ROOT / "tools" / "metric_table"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r'^ *X\(\w+, (\d+), "(\w+)", \w+, [01]\)', METRIC_LIST_H, re.M)
    assert len(listed) >= 40
    assert re.findall(r"^\| (\d+) \| `(\w+)` \|", table, re.M) == listed
    assert table in FORMAT_MD, "run tools/metric_table --write"


def test_every_subject_is_described() -> None:
    numbers = re.findall(r"TRACE_OF_\w+ = (\d+)", FORMAT_H)
    assert len(numbers) >= 7
    described = {row[0].split()[0] for row in rows() if len(row) == 2 and row[0][:1].isdigit()}
    assert described == set(numbers)


@pytest.mark.parametrize(
    ("enum", "field", "kind"),
    [
        ("flavour", "flavour", "FRAME"),
        ("origin", "origin", "INFOS"),
        ("mmap_kind", "mmap_kind", "MMAP"),
        ("lost", "what", "LOSS"),
        ("born", "born", "PROCESS"),
        ("end", "end", "PROCESS_END"),
    ],
)
def test_every_value_is_described(enum: str, field: str, kind: str) -> None:
    body = re.search(rf"enum trace_{enum} \{{(.*?)\}};", FORMAT_H, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    row = next(
        r for r in rows() if len(r) == 3 and f"`{field}`" in r[0] and f"`{kind}`" in r[1]
    )
    number = -1
    for name, value in re.findall(r"(TRACE_\w+)(?: = (\d+))?", body):
        number = int(value) if value else number + 1
        assert re.search(rf"\b{number}\b", row[2]), name


def test_the_example_of_a_batch() -> None:
    tail = re.search(r"tail `([0-9a-f ]+)`, `([0-9a-f ]+)`,\n`([0-9a-f ]+)` \(11 bytes\)", FORMAT_MD)
    sys.path.insert(0, str(ROOT / "docs"))
    import tide

    events = tide.batch({"time_ns": 5000, "span_ns": 1000}, bytes.fromhex(" ".join(tail.groups())))
    assert list(events) == [
        ("alloc", 4000, 7, 1),
        ("alloc", 4000, 7, 2),
        ("unfree", 4000, 7, 1, 0, 15),
    ]


@pytest.mark.parametrize("struct", ["header", "chunk"])
def test_every_byte_of_the_headers_is_described(struct: str) -> None:
    body = re.search(rf"struct trace_{struct} \{{(.*?)\n\}};", FORMAT_H, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    sizes = {"unsigned char": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8}
    described = {row[2]: row for row in rows() if len(row) == 4}
    offsets = {(row[2], row[0], row[1]) for row in rows() if len(row) == 4}
    offset = 0
    for kind, names in re.findall(r"(unsigned char|uint\d+_t) ([^;]+);", body):
        for name in re.split(r",\s*", names):
            field, count = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", name).groups()
            size = sizes[kind] * int(count or 1)
            assert f"`{field}`" in described, field
            assert (f"`{field}`", str(offset), str(size)) in offsets, field
            offset += size
    assert offset == {"header": 64, "chunk": 40}[struct]


def test_the_example_is_the_golden_trace() -> None:
    dump = re.findall(r"^[0-9a-f]{2}  ((?:[0-9a-f]{2} ?)+)$", FORMAT_MD, re.M)
    golden = ROOT / "tests" / "golden" / "ended.tide"
    assert bytes.fromhex(" ".join(dump)) == golden.read_bytes()
    assert golden.with_suffix(".jsonl").read_text(encoding="ascii") in FORMAT_MD
