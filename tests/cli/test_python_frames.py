"""Lines of Python in the stacks of `tidemark record`, on every CPython that this machine has."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import pytest

from pythons import build_of, builds, every_free_threaded, name_of, pythons

MIB = 1 << 20


@pytest.fixture(params=[*pythons(), *builds("d")], ids=name_of)
def python(request):
    """(path, version) of an interpreter"""
    return request.param, build_of(request.param)[0]


@pytest.fixture
def big(run, tmp_path):
    """big(command...) -> the stacks of the blocks of at least 8 MiB at the peak, by size in MiB"""

    def call(*command, how=()):
        trace = tmp_path / "t.tide"
        done = run("record", "-q", *how, "-f", "-o", trace, *command, timeout=180)
        assert done.returncode == 0, done.stderr
        said = run("report", trace, "peak", "--limit", "1000", "-f", "json", timeout=180)
        assert said.returncode == 0, said.stderr
        rows = json.loads(said.stdout)["tables"]["peak"]["rows"]
        return {row["bytes"] // MIB: row for row in rows if row["bytes"] >= 8 * MIB}

    return call


def python_frames(row):
    """(function, base name of the file, line), innermost first"""
    return [(f["function"], os.path.basename(f["file"]), f["line"])
            for f in row["stack"] if f.get("python")]


def write(folder, name, text):
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


NESTED = """\
keep = []
def leaf(size):
    keep.append(
        bytearray(size << 20))
def middle(size):
    leaf(size)
class Thing:
    def method(self):
        return sorted([1], key=lambda v: middle(9) or v)
Thing().method()
"""


@pytest.mark.parametrize("how", [(), ("--exact",)], ids=["sampled", "exact"])
def test_each_line_stands_in_its_place(big, python, tmp_path, how):
    path, version = python
    program = write(tmp_path, "nested.py", NESTED)
    row = big(path, program, how=how)[9]
    plain = version < (3, 11)
    assert python_frames(row) == [
        ("leaf", "nested.py", 4),
        ("middle", "nested.py", 6),
        ("<lambda>" if plain else "Thing.method.<locals>.<lambda>", "nested.py", 9),
        ("method" if plain else "Thing.method", "nested.py", 9),
        ("<module>", "nested.py", 10)]
    assert row["site"] == f"leaf ({program}:4)"
    names = [f["function"] for f in row["stack"]]
    assert "_PyEval_EvalFrameDefault" not in names
    method = next(i for i, f in enumerate(row["stack"]) if f["line"] == 9 and f.get("python"))
    assert not row["stack"][method + 1].get("python")  # sorted() is between the lambda and method
    assert names[-1] == "_start"


CASES = '''\
import functools, sys
keep = []
def grab(size):
    keep.append(bytearray(size << 20))
def numbers():
    yield 1
    grab(11)
    yield 2
class Odd:
    grab(12)
    value = [grab(size) for size in (13,)]
def wrap(f):
    @functools.wraps(f)
    def inner(*a):
        return f(
            *a)
    return inner
@wrap
def decorated():
    grab(14)
async def coroutine():
    async def deeper():
        grab(15)
    await deeper()
def failing():
    try:
        raise ValueError("x")
    except ValueError:
        grab(16)
    finally:
        grab(17)
def größe():
    grab(18)
class Init:
    def __init__(self):
        grab(19)
    def __del__(self):
        grab(20)
list(numbers())
decorated()
try:
    coroutine().send(None)
except StopIteration:
    pass
failing()
größe()
for _ in range(40):
    made = Init.__new__(Init)
Init()
exec(compile("\\n\\ngrab(21)", "<odd \\U0001f40d name>", "exec"))
list(map(lambda v: grab(v), [22]))
eval("grab(23)")
'''


def test_all_kinds_of_functions(big, python, tmp_path):
    path, version = python
    program = write(tmp_path, "fälle.py", CASES.replace("grab(20)", "keep.append(None)"))
    rows = big(path, program)
    stacks = {size: python_frames(row) for size, row in rows.items()}
    qualified = version >= (3, 11)
    line = {number: text for number, text in enumerate(program.read_text("utf-8").split("\n"), 1)}

    def check(size, *functions):
        """The innermost frame is grab; then come these, each at a line that mentions what it calls."""
        frames = stacks[size]
        assert frames[0][0] == "grab" and line[frames[0][2]].strip().startswith("keep.append")
        assert [f[0] for f in frames[1:]] == [f if qualified else f.split(".")[-1] for f in functions]
        return frames[1:]

    assert check(11, "numbers", "<module>")[0][2] == 7
    assert check(12, "Odd", "<module>")[0][2] == 10
    inlined = version >= (3, 12)
    assert check(13, *[] if inlined else ["Odd.<listcomp>"], "Odd", "<module>")[0][2] == 11
    assert [f[2] for f in check(14, "decorated", "wrap.<locals>.inner", "<module>")][:2] == [20, 15]
    assert [f[2] for f in check(15, "coroutine.<locals>.deeper", "coroutine", "<module>")][:2] == \
        [23, 24]
    assert check(16, "failing", "<module>")[0][2] == 29
    assert check(17, "failing", "<module>")[0][2] == 31
    assert check(18, "größe", "<module>")[0][1:] == ("fälle.py", 33)
    assert check(19, "Init.__init__", "<module>")[0][2] == 36
    assert check(21, "<module>", "<module>")[0][1:] == ("<odd \U0001f40d name>", 3)
    assert check(22, "<lambda>", "<module>")[0][2] == line_of(line, "list(map(")
    assert check(23, "<module>", "<module>")[0][1:] == ("<string>", 1)


def line_of(lines, start):
    return next(number for number, text in lines.items() if text.startswith(start))


DEEP = """\
import sys
sys.setrecursionlimit(5000)
keep = []
def down(n):
    if n:
        return down(n - 1)
    keep.append(bytearray(9 << 20))
def by_c(n):
    return sorted([n], key=lambda v: by_c(v - 1) if v else keep.append(bytearray(13 << 20)))
def top():
    down(900)
    by_c(150)
top()
"""


@pytest.mark.parametrize("depth", [64, 1024])
def test_both_ends_of_deep_recursion(big, python, tmp_path, depth):
    path, _ = python
    if path in builds("d"):
        pytest.skip("a debug build has other limits, and more native frames outside than are kept")
    rows = big(path, write(tmp_path, "deep.py", DEEP), how=("--depth", str(depth)))
    for size, inner, line in [(9, "down", 7), (13, "<lambda>", 9)]:
        stack = rows[size]["stack"]
        assert len([f for f in stack if f["module"] or f.get("python")]) <= 2 * depth + 2
        frames = python_frames(rows[size])
        assert frames[0][0].endswith(inner) and frames[0][2] == line
        assert [f[0] for f in frames[-2:]] == ["top", "<module>"]
        gaps = [f for f in stack if f.get("elided")]
        assert len(gaps) == (1 if depth == 64 or size == 13 or len(frames) < 900 else 0)


THREADS = """\
import threading
keep = []
def grab(size):
    keep.append(bytearray(size << 20))
def body(size):
    grab(size)
threads = [threading.Thread(target=body, args=(size,)) for size in (9, 10, 11)]
for t in threads:
    t.start()
for t in threads:
    t.join()
"""


def test_threads_have_their_own(big, python, tmp_path):
    rows = big(python[0], write(tmp_path, "threads.py", THREADS)).values()
    assert sum(row["bytes"] // MIB for row in rows) == 30  # by one native way or, adapted, by two
    assert sum(row["blocks"] for row in rows) == 3
    for row in rows:
        frames = python_frames(row)
        assert frames[:2] == [("grab", "threads.py", 4), ("body", "threads.py", 6)]
        assert frames[-1][1] == "threading.py"


NATIVE = """\
#include <stdlib.h>
#include <string.h>
void *native_grab(size_t size)
{
    void *p = malloc(size);
    memset(p, 1, size);
    return p;
}
void native_twice(void (*callback)(void))
{
    callback();
    __asm__ volatile("");
}
"""

CTYPES = """\
import ctypes, sys
native = ctypes.CDLL(sys.argv[1])
native.native_grab.argtypes = [ctypes.c_size_t]
native.native_grab.restype = ctypes.c_void_p
def callback():
    native.native_grab(9 << 20)
def caller():
    native.native_twice(made)
made = ctypes.CFUNCTYPE(None)(callback)
caller()
"""


@pytest.fixture(scope="module")
def native_library(tmp_path_factory):
    """A library that allocates, and that calls back."""
    folder = tmp_path_factory.mktemp("native")
    source = write(folder, "native.c", NATIVE)
    subprocess.run(["cc", "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-o",
                    folder / "libnative.so", source], check=True)
    return folder / "libnative.so"


def has_ctypes(path):
    return not subprocess.run([path, "-c", "import ctypes"], capture_output=True,
                              check=False).returncode


def test_native_frames_stand_between(big, python, tmp_path, native_library):
    if not has_ctypes(python[0]):
        pytest.skip("this interpreter was built without ctypes")
    row = big(python[0], write(tmp_path, "calls.py", CTYPES), native_library)[9]
    names = [f["function"] for f in row["stack"]]
    order = [names.index(name) for name in
             ("native_grab", "callback", "native_twice", "caller", "<module>")]
    assert order == sorted(order)
    assert python_frames(row) == [("callback", "calls.py", 6), ("caller", "calls.py", 8),
                                  ("<module>", "calls.py", 10)]
    assert row["site"].startswith("callback (") and "calls.py:6)" in row["site"]


EMBED = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*start)(void) = (void (*)(void))dlsym(h, "Py_Initialize");
    int (*run)(const char *) = (int (*)(const char *))dlsym(h, "PyRun_SimpleString");
    start();
    return run("def grab():\n    return bytearray(9 << 20)\nkept = grab()\n");
}
"""

LINKED = r"""
void Py_Initialize(void);
int PyRun_SimpleString(const char *);
int main(void)
{
    Py_Initialize();
    return PyRun_SimpleString("def grab():\n    return bytearray(9 << 20)\nkept = grab()\n");
}
"""


@pytest.mark.parametrize("how", ["dlopen", "linked", "linked-no-pie"])
def test_an_embedded_interpreter(big, tmp_path, how):
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")
    if not library.exists():
        pytest.skip("libpython3.11 is not installed")
    source = write(tmp_path, "embed.c", EMBED if how == "dlopen" else LINKED)
    made = tmp_path / "embed"
    flags = ["-no-pie"] if how.endswith("no-pie") else ["-fPIE", "-pie"]
    link = [] if how == "dlopen" else [library]
    subprocess.run(["cc", *flags, "-o", made, source, *link, "-ldl"], check=True)
    row = big(made, *[library] if how == "dlopen" else [])[9]
    assert python_frames(row) == [("grab", "<string>", 2), ("<module>", "<string>", 3)]
    assert row["stack"][-1]["function"] == "_start"
    assert "main" in [f["function"] for f in row["stack"]]


def test_the_interpreter_is_a_fact(run, python, tmp_path):
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "-f", "-o", trace, python[0], "-c", "bytearray(9 << 20)").returncode == 0
    tool = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tide.py"
    said = subprocess.run(["/usr/bin/python3", tool, trace], capture_output=True, text=True,
                          check=True, timeout=120)
    facts = [json.loads(line) for line in said.stdout.splitlines() if '"FACT"' in line]
    assert ".".join(map(str, python[1])) in [fact["text"] for fact in facts]


def test_native_alone_when_asked(big, python, tmp_path):
    row = big(python[0], write(tmp_path, "nested.py", NESTED), how=("--native",))[9]
    assert not python_frames(row)


INTERRUPTED = """\
import time
class Thing:
    def __init__(self, v):
        self.v = v
    def get(self):
        return self.v
def numbers(n):
    for i in range(n):
        yield Thing(i).get()
def work(n):
    total = sum(numbers(n))
    try:
        raise ValueError(total)
    except ValueError:
        pass
    exec(compile("def f(): return 1\\nf()", "<made>", "exec"), {})
    return sorted(range(50), key=lambda v: -v)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    work(300)
print("done")
"""


def test_frames_of_a_thread_that_is_interrupted_anywhere(build, python, tmp_path):
    """Signals without end while frames are made and cleared: the program does not notice."""
    for name, source in [("tidemark", build / "tidemark"),
                         ("libtidemark.so", build / "tests" / "unit" / "libpycheck.so")]:
        shutil.copy(source, tmp_path / name)
    done = subprocess.run([tmp_path / "tidemark", "record", "-q", "--no-names", "-o",
                           tmp_path / "t.tide", python[0], write(tmp_path, "i.py", INTERRUPTED)],
                          capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    said = re.search(r"PYCHECK looks (\d+) python (\d+) calling (\d+) torn (\d+)", done.stderr)
    looks, with_python, calling, torn = map(int, said.groups())
    assert looks > 10 and with_python > looks / 2 and 0 < calling < looks
    assert torn <= 5 + looks / 100


TABLES = """\
import importlib, sys, types
form = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2
def lines(code):
    size = len(code.co_code)
    if form:
        found = {}
        for start, end, line in code.co_lines():
            for at in range(start, end, 2):
                found[at] = line or 0
        return [found.get(at, 0) for at in range(0, size, 2)]
    import dis
    starts = dict(dis.findlinestarts(code))
    out, line = [], code.co_firstlineno
    for at in range(0, size, 2):
        line = starts.get(at, line)
        out.append(line)
    return out
def tell(code):
    table = code.co_linetable if form else code.co_lnotab
    print(form, code.co_firstlineno, len(code.co_code), table.hex() or "-")
    print(*lines(code))
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            tell(const)
for name in ("argparse", "ast", "asyncio.base_events", "inspect", "typing", "dataclasses", "email.message"):
    source = importlib.import_module(name).__file__
    tell(compile(open(source, encoding="utf-8").read(), source, "exec"))
tell(compile("\\n" * 70000 + "x = (1,\\n" + "\\n" * 300 + "y)\\nf(a,\\n b)\\n" + "\\n" * 9000 + "z = [i\\nfor i in q]", "<far>", "exec"))
"""


def test_lines_are_those_of_the_interpreter(build, python, tmp_path):
    """Every instruction of some large modules, by our tables and by the interpreter's own."""
    said = subprocess.run([python[0], write(tmp_path, "tables.py", TABLES)], capture_output=True,
                          text=True, check=True, timeout=120).stdout.splitlines()
    ours = subprocess.run([build / "tests" / "unit" / "line_tables"], input="\n".join(said[::2]) + "\n",
                          capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    assert len(ours) == len(said) // 2 > 300
    for mine, theirs in zip(ours, said[1::2]):
        assert mine.split() == theirs.split()


FAKE = r"""
#include <stdlib.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
const unsigned long Py_Version = VERSION;
uint64_t _PyRuntime[512] = {0x7970677562656478, VERSION, FREE};
char PyCode_Type[8], PyUnicode_Type[8], PyBytes_Type[8];
void *PyGILState_GetThisThreadState(void) { return (void *)8; } /* would fault, if it were read */
int PyCode_Addr2Line(void *code, int at) { return at; }
int _Py_IsFinalizing(void) { return 0; }
#ifdef DEBUG
void _Py_NegativeRefcount(void) {}
#endif
__attribute__((noinline)) void *_PyEval_EvalFrameDefault(void) { return malloc(9 << 20); }
int main(void)
{
    for (int i = 0; i < 5; i++)
        *(volatile char *)_PyEval_EvalFrameDefault() = 1;
    if (!fork())
        return _PyEval_EvalFrameDefault() == NULL;
    wait(NULL);
    return 0;
}
"""


@pytest.mark.parametrize("flags, text", [
    (["-DVERSION=0x030812f0", "-DFREE=0"], "3.8.18 (not read: unknown version)"),
    (["-DVERSION=0x030f00f0", "-DFREE=0"], "3.15.0 (not read: unknown version)"),
    (["-DVERSION=0x030d00f0", "-DFREE=1"],
     "3.13.0 (not read: a free-threaded build, whose own blocks are not recorded)"),
    (["-DVERSION=0x030c00f0", "-DFREE=0", "-DDEBUG"],
     "3.12.0 (not read: a debug build that links its objects)"),
    (["-DVERSION=0x030b02f0", "-DFREE=0"], "3.11.2 (not read: the check against its C API failed)"),
], ids=["old", "new", "free-threaded", "debug", "wrong"])
def test_an_interpreter_that_cannot_be_read_is_named(run, tmp_path, flags, text):
    """Programs that look like one: nothing of them is read, and the trace says why."""
    made, trace = tmp_path / "fake", tmp_path / "t.tide"
    subprocess.run(["cc", "-w", "-O1", "-rdynamic", *flags, "-o", made,
                    write(tmp_path, "fake.c", FAKE)], check=True)
    done = run("record", "-q", "--exact", "-f", "-o", trace, made)
    assert done.returncode == 0, done.stderr
    tool = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tide.py"
    said = subprocess.run(["/usr/bin/python3", tool, trace], capture_output=True, text=True,
                          check=True, timeout=120)
    facts = [json.loads(line) for line in said.stdout.splitlines() if '"FACT"' in line]
    told = [fact["id"] for fact in facts if fact["text"] == text]
    assert told and len(told) == len(set(told))
    assert len(told) == 2  # also of the forked child
    for question in ("summary", "lines", "sites"):
        said = " ".join(run("report", trace, question).stdout.split("\n\n")[0].split())
        assert said == ("This trace is not whole: Python's lines are not read in 2 processes; what it "
                        f"did counts as native code: {text} (2).")


FREE_THREADED = """\
import os, threading
def body(n):
    kept = [bytes(100) for _ in range(n)]
    for i in range(n):
        try:
            raise ValueError(i)
        except ValueError as error:
            kept.append(str(error))
    out.append(len(kept))
out = []
threads = [threading.Thread(target=body, args=(5000,)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
child = os.fork()
if not child:
    body(1000)
    os._exit(7)
print(out, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@every_free_threaded
@pytest.mark.parametrize("how", [("--cpu-interval", "1ms"), ("--exact",)], ids=lambda h: h[0])
def test_a_free_threaded_build_is_unharmed_and_named(run, python, tmp_path, how):
    program, trace = write(tmp_path, "threads.py", FREE_THREADED), tmp_path / "t.tide"
    done = run("record", "-q", *how, "-f", "-o", trace, python, program, timeout=180)
    assert (done.returncode, done.stdout) == (0, "[10000, 10000, 10000, 10000] 7\n"), done.stderr
    said = " ".join(run("report", trace, "lines").stdout.split("\n\n")[0].split())
    assert "Python's lines are not read in " in said and "a free-threaded build" in said
