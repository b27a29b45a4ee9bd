"""Programs with allocators of their own: memory belongs to the line that called one, for every question."""

import json
import subprocess

import pytest

C = r"""
#include <stdlib.h>
#include <string.h>
INLINED void *xmalloc(size_t n)
{
    void *p = malloc(n);
    volatile unsigned int spun = 0;

    while (n == 7 && ++spun < 300000000)
        ; /* its own work */
    return p ? p : (abort(), NULL);
}
INLINED void *pool_alloc(size_t n) { return xmalloc(n); }
static void *volatile kept[3000];
int main(void)
{
    for (int i = 0; i < 1000; i++)
        kept[i] = xmalloc(5000); /* 5000000 */
    for (int i = 1000; i < 3000; i++)
        kept[i] = pool_alloc(1000); /* 2000000 */
    free(xmalloc(7)); /* 7 */
    return 0;
}
"""
CXX = r"""
#include <cstdlib>
#include <vector>
void *operator new(std::size_t n) { return (char *)std::malloc(n + 16) + 16; }
void operator delete(void *p) noexcept { if (p) std::free((char *)p - 16); }
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
struct thing { char bytes[984]; };
int main()
{
    std::vector<thing *> kept;
    kept.reserve(3000);
    for (int i = 0; i < 3000; i++)
        kept.push_back(new thing); // 3000000
    return kept.empty();
}
"""
WAYS = {"c": ("c", C, ["-O0", "-DINLINED=static"]), "c++": ("cc", CXX, ["-O1", "-fno-allocation-dce"]),
        "inlined": ("c", C, ["-O2", "-DINLINED=__attribute__((always_inline)) static inline"])}


@pytest.fixture(params=WAYS)
def known(request, tmp_path):
    """The program, and bytes by the number of the line that asked for them"""
    kind, text, flags = WAYS[request.param]
    source = tmp_path / f"app.{kind}"
    source.write_text(text)
    subprocess.run(["cc" if kind == "c" else "c++", "-g", "-fno-builtin", *flags, "-o", tmp_path / "app", source], check=True)
    lines = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.replace("*/", "").replace("//", "/*").split("/* ")
        if len(words) == 2 and words[1].strip().isdigit():
            lines[number] = int(words[1])
    return tmp_path / "app", lines


def test_memory_belongs_to_the_line_that_called_them(run, known, tmp_path):
    program, lines = known
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "-o", trace, "--exact", program).returncode == 0

    def tables(question):
        done = run("report", trace, question, "-f", "json", "--limit", "100000")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]

    found = tables("lines")["lines"]["rows"]
    for number, size in lines.items():
        row = next(row for row in found if row["line"] == number)
        assert row["allocated"] == size and row["function"].startswith("main")
        if size > 1000:
            assert size * 0.99 <= row["at_peak"] <= size
            sites = [row for row in tables("sites")["sites"]["rows"] if f":{number})" in row["site"]]
            assert sum(row["allocated"] for row in sites) == size
    others = [row for row in found if row["line"] not in lines and row["allocated"]]
    assert sum(row["allocated"] for row in others) < 100_000
    functions = {row["function"]: row for row in tables("functions")["functions"]["rows"]}
    assert functions[next(name for name in functions if name.startswith("main"))]["allocated"] >= sum(lines.values())


def test_time_belongs_to_their_own_lines(run, tmp_path):
    (tmp_path / "app.c").write_text(C)
    subprocess.run(["cc", "-g", "-O0", "-DINLINED=static", "-o", tmp_path / "app", tmp_path / "app.c"], check=True)
    trace = tmp_path / "t.tide"
    assert run("record", "-q", "-o", trace, tmp_path / "app").returncode == 0
    rows = json.loads(run("report", trace, "lines", "-f", "json").stdout)["tables"]["lines"]["rows"]
    spun = next(n for n, line in enumerate(C.split("\n"), 1) if "++spun" in line)
    assert sum(row["cpu"] for row in rows if abs((row["line"] or 0) - spun) < 2) > 0.8 * sum(row["cpu"] for row in rows) > 0
