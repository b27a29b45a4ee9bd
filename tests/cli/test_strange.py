"""Programs that allocate in unusual ways, whose answer is known by construction, recorded in every way: peak and lines
are the truth in each of them."""

import json
import subprocess

import pytest

MIB = 1 << 20
WAYS = {"sampled": [], "finely": ["--sample", "16KiB"], "hybrid": ["--exact=4K"], "exact": ["--exact"]}

JUMPS = """
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
static jmp_buf at;
static char *volatile all[64];
static volatile int ticks;
static void on(int number) { ticks += number; }
__attribute__((noinline)) static void jumps(int i)
{
    all[i] = memset(malloc(1 << 20), 1, 1 << 20); /* 16 */
    longjmp(at, 1);
}
int main(int argc, char **argv)
{
    struct itimerval often = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, on);
    setitimer(ITIMER_REAL, &often, NULL);
    for (volatile int i = 0; i < 16; i++)
        if (!setjmp(at))
            jumps(i);
    for (int i = 0; i < 4 && argc > 1; i++) {
        void *plugin = dlopen(argv[1], RTLD_NOW);
        all[20 + i] = ((char *(*)(size_t))dlsym(plugin, "plugin_make"))(1 << 20);
        dlclose(plugin);
    }
    return 0;
}
"""
PLUGIN = """
#include <stdlib.h>
#include <string.h>
char *plugin_make(size_t n)
{
    return memset(malloc(n), 1, n); /* 4 */
}
"""
MAPS = """
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    char *all = mmap(NULL, 256 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *shared;
    int fd = memfd_create("x", 0);
    for (size_t i = 0; i < 20; i++) {
        if (mprotect(all + (i << 20), 1 << 20, PROT_READ | PROT_WRITE)) /* 20 */
            return 1;
        memset(all + (i << 20), 1, 1 << 20);
    }
    if (ftruncate(fd, 12 << 20))
        return 1;
    shared = mmap(NULL, 12 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* 12 */
    memset(shared, 1, 12 << 20);
    return 0;
}
"""
GROWS = """
#include <stdlib.h>
#include <string.h>
char *volatile kept, *volatile other;
int main(void)
{
    for (size_t n = 0; n < 32u << 20; n += 65536) {
        kept = realloc(kept, n + 65536); /* 32 */
        memset(kept + n, 1, 65536);
    }
    other = malloc(5 << 20); /* 5 */
    memset(other, 1, 5 << 20);
    return 0;
}
"""
PROGRAMS = {"jumps": (JUMPS, {"16": 16, "4": 4}), "maps": (MAPS, {"20": 20, "12": 12}),
            "grows": (GROWS, {"32": 32, "5": 5})}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strange")
    (folder / "plugin.c").write_text(PLUGIN)
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", folder / "plugin.so", folder / "plugin.c"], check=True)
    for name, (source, _) in PROGRAMS.items():
        (folder / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", "-o", folder / name, folder / f"{name}.c", "-ldl"],
                       check=True)
    return folder


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_lines_have_what_they_asked_for(run, built, tmp_path, program, way):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "-o", trace, *WAYS[way], built / program, built / "plugin.so", timeout=120)
    assert done.returncode == 0, done.stderr

    def ask(question):
        return json.loads(run("report", trace, question, "-f", "json").stdout)["tables"]

    truth = PROGRAMS[program][1]
    found = {}
    for row in ask("lines")["lines"]["rows"]:
        for mark in truth:
            if f"/* {mark} */" in (row["text"] or ""):
                found[mark] = row["at_peak"]
    assert found == {mark: pytest.approx(size * MIB, rel=0.02) for mark, size in truth.items()}
    peak = ask("peak")["facts"]["values"]["peak_heap"]
    assert peak == pytest.approx(sum(truth.values()) * MIB, rel=0.05)
