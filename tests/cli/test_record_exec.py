"""`tidemark record` and the programs that its programs start: with what environment, of what kind."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from running import NOBODY

HELD = 777  # bytes of malloc(3) that "starts child" leaves
WAYS = ["execve", "vfork", "execvpe", "execv", "execvp", "execl", "execlp", "execle", "fexecve",
        "execveat", "null", "posix_spawn", "posix_spawnp"]


@pytest.fixture
def program(build):
    """program(name) -> the path of a program of tests/targets/record"""
    return lambda name: str(build / "tests" / "targets" / "record" / name)


@pytest.fixture
def both(run, build, tmp_path):
    """both(*command) -> its run without the tool, with it, and the totals of the trace"""

    def call(*command, how=("--exact",), **kw):
        plain = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60,
                               stdin=subprocess.DEVNULL, **kw)
        done = run("record", "-q", "--no-names", *how, "-f", "-o", tmp_path / "t.tide", *command, **kw)
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", tmp_path / "t.tide"],
                              check=True, capture_output=True, text=True, timeout=60)
        return plain, done, json.loads(said.stdout)

    return call


@pytest.fixture
def same(both):
    """same(*command) -> the totals of its trace; its words and status are as without the tool"""

    def call(*command, **kw):
        plain, done, said = both(*command, **kw)
        assert (done.returncode, done.stdout, done.stderr) == (
            plain.returncode, plain.stdout, plain.stderr)
        return said

    return call


@pytest.fixture
def held(build, tmp_path):
    """held() -> whether a stack of the trace holds the 777 bytes, not more and not less"""

    def call():
        said = subprocess.run([build / "tests" / "unit" / "heap_totals", "-s", tmp_path / "t.tide"],
                              check=True, capture_output=True, text=True, timeout=60).stdout
        return any(f"x {HELD}:" in line or line.split(":")[0].endswith(f"x {HELD}")
                   for line in said.splitlines())

    return call


@pytest.fixture
def reason(run, tmp_path):
    """reason(name) -> why the report says that the process of this name was not recorded"""

    def call(name):
        told = json.loads(run("report", tmp_path / "t.tide", "processes", "-f", "json").stdout)
        rows = [r for r in told["tables"]["processes"]["rows"] if r["name"] == name[:15]]
        assert rows, told
        return rows[-1]["recorded"]

    return call


@pytest.mark.parametrize("way", WAYS)
def test_children_without_our_environment(same, program, way):
    said = same(program("starts"), way, program("starts"), "child", "a", "b")
    assert said["live_bytes"] % 1024 == HELD, said


@pytest.mark.parametrize("way", WAYS)
def test_children_that_cannot_be_started(both, program, way):
    plain, done, _ = both(program("starts"), way, "/no/such/file")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode != 0


@pytest.mark.parametrize("command", [
    ["env", "-i", "{starts}", "child", "a"],
    ["sh", "-c", "unset LD_PRELOAD TIDEMARK_RING; env -u LD_PRELOAD {starts} child a"],
    ["sh", "-c", "LD_PRELOAD= TIDEMARK_RING= exec {starts} child a"],
    ["/usr/bin/python3", "-c", "import subprocess; subprocess.run(['{starts}', 'child'], env=dict())"],
    ["/usr/bin/python3", "-c", "import os; os.execve('{starts}', ['{starts}', 'child'], dict())"],
    ["/usr/bin/python3", "-c", "import os; os.system('{starts} child a')"],
    ["/usr/bin/python3", "-c", "import os; print(os.popen('{starts} child a').read())"],
    ["perl", "-e", "%ENV = (); exec '{starts}', 'child'"],
    ["perl", "-e", "%ENV = (); system '{starts} child; true'"],
], ids=["env", "unset", "empty", "subprocess", "os.execve", "system", "popen", "perl", "perl-system"])
def test_programs_that_change_the_environment(same, program, command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    said = same(*[word.replace("{starts}", program("starts")) for word in command])
    held = [allocation % 1024 for allocation in (said["live_bytes"],)]
    assert said["processes"] >= 2 or held == [HELD]


def test_search_goes_by_the_path(both, program, tmp_path):
    """A file that cannot be run is passed over, a script without a first line goes to the shell."""
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "thing").write_text("no")
    (tmp_path / "two" / "thing").write_text("echo script $#\n")
    (tmp_path / "two" / "thing").chmod(0o755)
    path = ":".join(str(tmp_path / name) for name in ("one", "nowhere", "two", "three"))
    for way in ("execvpe", "posix_spawnp"):
        plain, done, _ = both(program("starts"), way, "thing", "child",
                              env=dict(os.environ, PATH=path))
        assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert "script 1" in both(program("starts"), "execvpe", "thing", "child",
                              env=dict(os.environ, PATH=path))[1].stdout


def test_an_environment_at_the_limit(both, program):
    """What just fits without our variables is started without them."""
    code = ("import os, sys, subprocess\n"
            "big = {f'V{i}': 'x' * 131000 for i in range(15)}\n"
            "left = 2097152 - 15 * (131000 + 6) - 4096\n"
            "def size(n): return subprocess.run([sys.argv[1], 'child'], env=dict(big, W='y' * n),"
            " stdout=subprocess.DEVNULL).returncode\n"
            "low, high = 0, left\n"
            "while high - low > 1:\n"
            "    middle = (low + high) // 2\n"
            "    try:\n"
            "        size(middle); low = middle\n"
            "    except OSError as e: high = middle\n"
            "print('most', low)\n")
    plain, done, _ = both("/usr/bin/python3", "-c", code, program("starts"), how=())
    assert done.returncode == plain.returncode == 0, done.stderr
    # Nothing but the two words of the vector may differ: where the stack begins is chosen by chance.
    most = [int(p.stdout.split()[1]) for p in (plain, done)]
    assert abs(most[0] - most[1]) <= 64


def test_what_a_program_sees(run, tmp_path):
    """Four variables more, documented, and one where OpenCL is installed; what was to be loaded before stays after ours.
    Who is started without those by which programs find a listener does without them."""
    env = {"PATH": os.environ["PATH"], "A": "1"}
    done = run("record", "-q", "-f", "-o", tmp_path / "t.tide", "env", env=env)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    found = {"OPENCL_LAYERS"} if os.path.exists("/etc/OpenCL/vendors") else set()
    assert set(seen) - set(env) == {
        "LD_PRELOAD", "TIDEMARK_RING", "NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64"} | found
    done = run("record", "-q", "-f", "-o", tmp_path / "t.tide", "env", "-i", "A=2", "env", env=env)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert set(seen) == {"A", "LD_PRELOAD", "TIDEMARK_RING"}


def test_a_recording_inside_a_recording(run, program, build, tmp_path, sanitized):
    if sanitized:
        pytest.skip("the sanitized tool is dynamic and has its own malloc")
    inner = tmp_path / "inner.tide"
    run("record", "-q", "--exact", "-f", "-o", tmp_path / "t.tide", build / "tidemark", "record", "-q",
        "--exact", "-f", "-o", inner, program("starts"), "child")
    totals = subprocess.run([build / "tests" / "unit" / "heap_totals", inner], check=True,
                            capture_output=True, text=True).stdout
    assert json.loads(totals)["live_bytes"] % 1024 == HELD


# ---- programs of other kinds

HOLDER = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { char *volatile p = malloc(777); p[0] = 1; puts("held"); usleep(300000); return 5; }
"""


@pytest.fixture
def compiled(tmp_path):
    """compiled(name, *flags) -> a program that holds 777 bytes and ends with 5; skips if it cannot"""

    def call(name, *flags, cc="cc", source=HOLDER):
        if not shutil.which(cc):
            pytest.skip(f"{cc} is not installed")
        (tmp_path / "holder.c").write_text(source)
        made = subprocess.run([cc, "-o", tmp_path / name, tmp_path / "holder.c", *flags],
                              capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"{cc} {' '.join(flags)} cannot be linked here")
        return str(tmp_path / name)

    return call


KINDS = [
    ("asan", "cc", ["-fsanitize=address"], "it is built with a sanitizer"),
    ("tsan", "cc", ["-fsanitize=thread"], "it is built with a sanitizer"),
    ("lsan", "cc", ["-fsanitize=leak"], "it is built with a sanitizer"),
    ("clang-asan", "clang", ["-fsanitize=address"], "it is built with a sanitizer"),
    ("clang-msan", "clang", ["-fsanitize=memory"], "it is built with a sanitizer"),
    ("musl", "musl-gcc", [], "its libc is not glibc"),
    ("static", "cc", ["-static"], "it is statically linked"),
]


@pytest.mark.parametrize("through", ["directly", "sh", "env"])
@pytest.mark.parametrize("name, cc, flags, why", KINDS, ids=[kind[0] for kind in KINDS])
def test_programs_that_cannot_be_entered(same, compiled, reason, name, cc, flags, why, through):
    made = compiled(name, *flags, cc=cc)
    command = {"directly": [made], "sh": ["sh", "-c", f"{made}; exit $?"],
               "env": ["env", "-i", "ASAN_OPTIONS=detect_leaks=0", "LSAN_OPTIONS=detect_leaks=0",
                       made]}[through]
    same(*command, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0",
                            LSAN_OPTIONS="detect_leaks=0"))
    assert reason(name).startswith(why)


SMALL = """
void _start(void) { __asm__ volatile("mov $1, %eax; mov $5, %ebx; int $0x80"); }
"""


def test_a_32_bit_program(same, compiled):
    made = compiled("small", "-m32", "-nostdlib", "-static", source=SMALL)
    same("sh", "-c", f"{made}; exit $?")
    same("env", "-i", made)


def test_a_sanitizer_that_is_loaded_by_hand(same, compiled):
    """LD_PRELOAD=libasan.so is for the first place, which we leave to it."""
    made = compiled("plain")
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not pathlib.Path(asan).is_absolute():
        pytest.skip("libasan is not installed")
    asan = str(pathlib.Path(asan).resolve())
    options = {"LD_PRELOAD": asan, "ASAN_OPTIONS": "detect_leaks=0"}
    same("sh", "-c", f"LD_PRELOAD={asan} ASAN_OPTIONS=detect_leaks=0 {made}; exit $?")
    same(made, env=dict(os.environ, **options))


CLOCK = """
#include <stdlib.h>
#include <unistd.h>
int clock_gettime(int clock, long *now) {
    free(malloc(1000)); now[0] = 1; now[1] = 0; return write(2, "asked\\n", 6) - 6 + 0 * clock; }
"""


def test_a_library_that_tells_another_time_is_not_asked(both, compiled):  # as libfaketime does, which allocates
    command = ["env", "LD_PRELOAD=" + compiled("clock.so", "-shared", "-fPIC", source=CLOCK), compiled("holder")]
    for how in [], ["--exact"]:
        plain, done, _ = both(*command, how=how)
        assert (done.returncode, done.stdout, done.stderr) == (5, plain.stdout, plain.stderr)


OWN = """
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static char heap[1 << 20]; static size_t used;
void *malloc(size_t n) { used = (used + 15) & ~(size_t)15; used += n; return heap + used - n; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memmove(q, p, n); return q; }
int main(void) {
    char *volatile p = malloc(777);
    char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1; puts("held"); munmap(m, 1 << 20); return 5; }
"""


def test_a_malloc_inside_the_program(same, compiled, reason):
    said = same(compiled("own", source=OWN))
    assert (said["maps"], said["unmaps"]) == (1, 1)  # what it takes from the kernel is there
    assert "tidemark.h" in reason("own")


ALLOCATORS = ["libjemalloc", "libtcmalloc_minimal", "libmimalloc"]


def library(name):
    found = sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(f"{name}.so.?*"))
    if not found:
        pytest.skip(f"{name} is not installed")
    return str(found[0])


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize("how", ["linked", "loaded", "inherited"])
def test_allocators_in_libraries(same, compiled, held, name, how, sanitized):
    path = library(name)
    if how == "linked":
        same(compiled("holder", "-Wl,--no-as-needed", path))
    elif how == "loaded":
        same("env", f"LD_PRELOAD={path}", compiled("holder"))
    elif sanitized:
        pytest.skip("the sanitized tool does not take another allocator")
    else:
        same(compiled("holder"), env=dict(os.environ, LD_PRELOAD=path))
    assert held()


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize("how", [("--exact",), ("--sample", "64KiB")], ids=["exact", "sampled"])
def test_every_function_over_another_allocator(both, program, name, how):
    plain, done, said = both("env", f"LD_PRELOAD={library(name)}", program("family"), how=how)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert said["unknown"] == 0


def test_a_program_with_rights_of_its_own(public, compiled, build):
    """The loader takes no library into it: it runs as always, and the report says why it is missing."""
    folder = public()
    shutil.copy(build / "libtidemark.so", folder)
    shutil.copy(compiled("holder"), folder / "grants")
    (folder / "grants").chmod(0o4755)
    (folder / "libtidemark.so").chmod(0o755)
    (folder / "out").mkdir()
    (folder / "out").chmod(0o777)
    command = ["sh", "-c", f"{folder}/grants; exit $?"]
    trace = folder / "out" / "t.tide"
    for _ in range(12):  # on a busy machine it may have come and gone between two looks
        done = subprocess.run([*NOBODY, folder / "tidemark", "record", "-q", "--no-names", "-f", "-o", trace,
                               *command], capture_output=True, text=True, check=False, timeout=60,
                              cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (5, "held\n", "")
        said = subprocess.run([folder / "tidemark", "report", trace, "processes", "-f", "json"],
                              capture_output=True, text=True, check=True).stdout
        rows = json.loads(said)["tables"]["processes"]["rows"]
        grants = [row["recorded"] for row in rows if row["name"] == "grants"]
        if grants:
            break
    assert grants == ["it runs with the rights of another user"]


def test_a_file_that_can_be_run_but_not_read(public, program, build):
    folder = public()
    for name in (program("starts"), build / "libtidemark.so"):
        shutil.copy(name, folder)
    (folder / "starts").chmod(0o711)
    (folder / "libtidemark.so").chmod(0o755)
    (folder / "out").mkdir(mode=0o777)
    (folder / "out").chmod(0o777)
    done = subprocess.run([*NOBODY, folder / "tidemark", "record", "-q", "--no-names", "--exact",
                           "-f", "-o", folder / "out" / "t.tide", folder / "starts", "child", "a"],
                          capture_output=True, text=True, check=False, timeout=60, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "words 1 given no last a\n", "")
    totals = subprocess.run([build / "tests" / "unit" / "heap_totals", folder / "out" / "t.tide"],
                            check=True, capture_output=True, text=True).stdout
    assert json.loads(totals)["live_bytes"] % 1024 == HELD


def rows_of(run, trace):
    done = run("report", trace, "processes", "-f", "json")
    return json.loads(done.stdout)["tables"]["processes"]["rows"]


@pytest.mark.parametrize("interval", ["1", "3", "10"])
def test_a_chain_of_the_same_program_is_recorded_whole(run, tmp_path, interval):
    script = tmp_path / "chain"
    script.write_text('[ "$1" = 0 ] && exec sleep 0.05\nexec bash "$0" $(($1 - 1))\n', encoding="utf-8")
    for _ in range(3):  # each exec may fall between two readings of the same moment
        done = run("record", "-q", "--no-names", "--interval", interval, "-f", "-o", tmp_path / "t.tide",
                   "bash", script, "9")
        assert done.returncode == 0, done.stderr
        rows = rows_of(run, tmp_path / "t.tide")
        assert [r["name"] for r in rows] == ["bash"] * 10 + ["sleep"]
        assert {r["recorded"] for r in rows} <= {"sampled", "nothing was allocated"}


def test_children_are_named_by_what_they_ran(run, tmp_path):
    """Most are first seen between fork and exec, and not again."""
    done = run("record", "-q", "--no-names", "--interval", "1", "-f", "-o", tmp_path / "t.tide", "bash", "-c",
               "for i in {1..60}; do /bin/true; done")
    assert done.returncode == 0, done.stderr
    assert [r["name"] for r in rows_of(run, tmp_path / "t.tide")].count("true") == 60


def test_processes_are_called_as_they_were_started(run, tmp_path, build):
    """By the name of the link, however soon they are gone."""
    (tmp_path / "linked").symlink_to(build / "tests" / "targets" / "nop")
    done = run("record", "-q", "--no-names", "-f", "-o", tmp_path / "t.tide", "bash", "-c",
               f"for i in $(seq 40); do {tmp_path}/linked; done", timeout=180)
    assert done.returncode == 0, done.stderr
    names = [r["name"] for r in rows_of(run, tmp_path / "t.tide")]
    assert (names.count("linked"), names.count("nop")) == (40, 0)


def test_children_that_ended_before_they_were_seen_have_ended(run, tmp_path):
    done = run("record", "-q", "--no-names", "-f", "-o", tmp_path / "t.tide", "bash", "-c",
               "for i in {1..30}; do (x=$i); done")
    assert done.returncode == 0, done.stderr
    rows = rows_of(run, tmp_path / "t.tide")
    assert len(rows) == 31 and not [r for r in rows if r["ended"] == "still running"]
