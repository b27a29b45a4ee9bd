"""Names that are kept from one recording to the next: the same as if the files were read anew, for their user
alone, and only where they are wanted."""

import json
import os
import subprocess
import time

import pytest

OF_FILE, GUESSED = 1, 8  # flavours of frames: docs/FORMAT.md


@pytest.fixture
def cache(tmp_path):
    """A cache folder of this test's own; nothing is in it yet."""
    return tmp_path / "cache"


@pytest.fixture
def record(run, cache, tmp_path):
    """record(*words, **kw) -> the trace of a recording that uses that cache"""

    def call(*words, **kw):
        trace = tmp_path / f"{len(list(tmp_path.glob('*.tide')))}.tide"
        env = {**os.environ, "XDG_CACHE_HOME": str(cache), **kw}
        done = run("record", "-q", "-o", trace, *words, env=env)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return trace

    return call


@pytest.fixture
def names(build):
    """names(trace) -> what each address of each file is called"""

    def call(trace):
        dump = subprocess.run([build / "tests/unit/dump", trace], check=True, capture_output=True, text=True)
        text, files, frames, found = {}, {}, {}, {}
        for event in map(json.loads, dump.stdout.splitlines()):
            if event.get("kind") == "STRING":
                text[event["string"]] = event["text"]
            elif event.get("kind") == "MODULE":
                files[event["module"]] = text[event["file"]]
            elif event.get("kind") == "FRAME" and event["flavour"] & ~GUESSED == OF_FILE:
                frames[event["frame"]] = (files[event["process"]], event["address"])
            elif event.get("kind") == "NAME" and event["frame"] in frames:
                name = (event["depth"], text.get(event["function"]), text.get(event["file"]), event["line"])
                found.setdefault(frames[event["frame"]], []).append(name)
        return found

    return call


def kept(cache):
    """What is in the cache, and when it was written."""
    return {path.name: path.stat().st_mtime_ns for path in cache.glob("tidemark/*")}


def test_a_second_recording_has_the_same_names_and_writes_nothing(record, names, target, cache):
    words = ("--exact", "--no-cpu", target("record/leaky"))
    read = names(record("--no-cache", *words))
    assert kept(cache) == {}
    first = names(record(*words))
    written = kept(cache)
    assert any(name.endswith(".names") for name in written)
    again = names(record(*words))
    assert kept(cache) == written
    common = again.keys() & first.keys() & read.keys()
    assert {at: again[at] for at in common} == {at: first[at] for at in common} == {at: read[at] for at in common}
    assert any(name[1] == "main" for at in common for name in read[at])


def test_python_is_named_alike_with_and_without_what_is_kept(record, names, cache):
    words = ("/usr/bin/python3", "-c", "x = [bytearray(100000) for i in range(300)]")
    record(*words)
    kept_names, read = names(record(*words)), names(record("--no-cache", *words))
    both = kept_names.keys() & read.keys()
    assert both
    assert [kept_names[at] for at in both] == [read[at] for at in both]


def test_a_cache_that_cannot_be_written_is_done_without(record, names, target, tmp_path):
    (tmp_path / "file").write_text("")
    words = ("--exact", "--no-cpu", target("record/leaky"))
    without, found = names(record(*words, XDG_CACHE_HOME=str(tmp_path / "file"))), names(record(*words))
    common = without.keys() & found.keys()
    assert any(name[1] == "main" for at in common for name in without[at])
    assert [without[at] for at in common] == [found[at] for at in common]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can record for somebody else")
def test_what_others_may_read_is_not_mixed_with_what_root_may(record, target, cache):
    record("--exact", "setpriv", "--reuid=65534", "--clear-groups", target("record/leaky"))
    assert not any(name.endswith(".names") for name in kept(cache))


CALLS = """#include <stdlib.h>
#define CALL(n) __attribute__((noinline)) void *call_##n(size_t bytes) { char *p = malloc(bytes); p[0] = 1; return p; }
CALL(1) CALL(2) CALL(3)
static void *(*const calls[])(size_t) = {call_1, call_2, call_3};
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        free(calls[atoi(argv[i])](100000));
}
"""


@pytest.fixture
def many_symbols(tmp_path):
    """A program without debug information whose table of symbols is too large to be named as a whole."""
    (tmp_path / "labels.s").write_text(".text\n" + "".join(f"label_{i}: nop\n" for i in range(160_000)) +
                                       '.section .note.GNU-stack,"",%progbits\n')
    (tmp_path / "calls.c").write_text(CALLS)
    program = tmp_path / "many_symbols"
    subprocess.run(["cc", "-O1", "-o", program, tmp_path / "calls.c", tmp_path / "labels.s"], check=True)
    time.sleep(1)  # what is known of a file is kept once its dates tell it from the next one
    return program


def test_of_a_very_large_table_of_symbols_what_was_used_is_kept_and_stays(record, names, many_symbols, cache):
    def called(trace):
        return {name[1] for at, found in names(trace).items() if at[0] == str(many_symbols) for name in found}

    assert {"main", "call_1"} <= called(record("--exact", "--no-cpu", many_symbols, "0"))
    of_first = kept(cache)
    assert sum(path.stat().st_size for path in cache.glob("tidemark/*")) < 8_000_000
    found = called(record("--exact", "--no-cpu", many_symbols, "1", "2"))
    assert {"main", "call_2", "call_3"} <= found and "call_1" not in found
    written = kept(cache)
    assert written != of_first
    trace = record("--exact", "--no-cpu", many_symbols, "0", "1", "2")
    assert {"main", "call_1", "call_2", "call_3"} <= called(trace)
    assert kept(cache) == written
    assert called(record("--exact", "--no-cpu", "--no-cache", many_symbols, "0", "1", "2")) == called(trace)
