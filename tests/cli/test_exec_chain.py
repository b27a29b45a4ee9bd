"""Programs that become others by exec(2), one after the other in one process: what one held is gone when the next begins,
however late the recorder notices."""

import json
import subprocess

import pytest

from tracemaker import END, FACT, PROCESS, PROCESS_END, STRING, THREAD, Trace, record

MB = 1_000_000
# Each holds as many MB as it is told. The recorder is stopped while one becomes the next, as a starved one is.
CHAIN = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int megabytes = argc > 1 ? atoi(argv[1]) : 0;
    char *held = malloc((size_t)megabytes * 1000000);
    pid_t recorder = getppid();

    memset(held, 1, (size_t)megabytes * 1000000);
    usleep(20000);
    if (argc < 3)
        return 0;
    if (fork() == 0) {
        usleep(300000);
        kill(recorder, SIGCONT);
        _exit(0);
    }
    kill(recorder, SIGSTOP);
    execv(argv[0], (char *[]){argv[0], argv[2], argc > 3 ? argv[3] : NULL, NULL});
    return 1;
}
"""


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chain")
    (folder / "chain.c").write_text(CHAIN)
    subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-o", folder / "chain", folder / "chain.c"], check=True)
    return folder / "chain"


@pytest.mark.parametrize("way", [["--exact"], ["--exact=4K"], []], ids=["exact", "hybrid", "sampled"])
@pytest.mark.parametrize("sizes", [("30", "20"), ("10", "30", "20")], ids=["falling", "both"])
def test_images_of_one_process_do_not_add_up(run, chain, tmp_path, way, sizes):
    trace = tmp_path / "t.tide"
    done = run("record", "-q", "-o", trace, *way, chain, *sizes, timeout=120)
    assert done.returncode == 0, done.stderr

    def tables(question):
        done = run("report", trace, question, "-f", "json", "--limit", "100000")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["tables"]

    peak = tables("peak")
    assert 30 * MB <= peak["facts"]["values"]["peak_heap"] < 31 * MB
    assert 30 * MB <= sum(row["bytes"] for row in peak["peak"]["rows"]) < 31 * MB
    assert 30 * MB <= max(row["heap_most"] for row in tables("curve")["curve"]["rows"]) < 31 * MB
    live = 0
    for row in tables("events")["events"]["rows"]:
        live = max(live, row["live"])
    assert 30 * MB <= live < 31 * MB
    images = [row for row in tables("processes")["processes"]["rows"] if row["peak_heap"]]
    images = sorted((row for row in images if row["peak_heap"] > 5 * MB), key=lambda row: row["from"])
    assert [row["peak_heap"] // MB for row in images] == [int(size) for size in sizes]
    assert all(one["to"] <= other["from"] for one, other in zip(images, images[1:]))


def test_what_was_launched_has_its_command(run, tmp_path):
    """Nobody read it before it was another program."""
    texts = [record(STRING, 1, tail=b"command"), record(FACT, 0, 0, 1, tail=b"./first one")]
    rows = [record(PROCESS, 1, 0, 100, 1, 0), record(THREAD, 1, 1, 100), record(PROCESS_END, 1, 3, 0, step=9),
            record(PROCESS, 2, 1, 100, 1, 3), record(PROCESS_END, 2, 1, 0, step=9), record(END)]
    trace = Trace().add(texts).add(rows, 0, 18).write(tmp_path / "t.tide")
    done = run("report", trace, "processes", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"]["processes"]["rows"]
    assert [row["command"] for row in rows] == ["./first one", None]
