/* procfs: the kernel's texts, real ones of ourselves and hostile ones. */
#include "check.h"
#include "platform/linux_procfs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_names(void)
{
    struct proc_reading r = {0};
    static const char odd[] =
        "7 (a) R 1 ((b)) S 12 1 1 0 -1 0 100 200 3 0 5 6 0 0 20 0 4 0 99 8192 2";

    CHECK_EQ(proc_parse_stat(odd, &r), 0);
    CHECK_STR(r.name, "a) R 1 ((b)");
    CHECK_EQ(r.state, 'S');
    CHECK_EQ(r.ppid, 12);
    CHECK_EQ(r.minor_faults, 100);
    CHECK_EQ(r.child_minor_faults, 200);
    CHECK_EQ(r.threads, 4);
    CHECK_EQ(r.start_ticks, 99);
    CHECK_EQ(r.vsz, 8192);
    CHECK(!r.ending);
    CHECK_EQ(proc_parse_stat("7 (x) R 1 1 1 0 -1 4194308 100", &r), 0);
    CHECK(r.ending);
}

static void test_broken(void)
{
    static const char *const broken[] = {"",      "7",      "7 (", "7 ()",
                                         "7 (x)", "7 (x) ", ")(",  "7 )x( R 1"};
    struct proc_reading r = {0};

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        CHECK(proc_parse_stat(broken[i], &r) < 0);
    CHECK_EQ(proc_parse_stat("7 (a-name-that-is-much-longer-than-the-kernel-allows) R", &r), 0);
    CHECK_EQ(strlen(r.name), sizeof(r.name) - 1);
}

static void test_status(void)
{
    struct proc_reading r = {0};

    proc_parse_status(
        "Name:\tVmRSS:\t 77 kB\nTgid:\t42\nVmPeak:\t 8 kB\nVmSize:\t 4 kB\nVmHWM:\t 2 kB\n"
        "VmRSS:\t 1 kB\n"
        "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n",
        &r);
    CHECK_EQ(r.tgid, 42);
    CHECK_EQ(r.vsz_peak, 8192);
    CHECK_EQ(r.vsz, 4096);
    CHECK_EQ(r.rss_peak, 2048);
    CHECK_EQ(r.rss, 1024);
    CHECK_EQ(r.swap, ABSENT); /* not told is not zero */
    CHECK_EQ(r.waited, 5);
    CHECK_EQ(r.forced, 6);
    proc_parse_status("Name:\tkthreadd\nState:\tZ\n", &r);
    CHECK_EQ(r.rss, ABSENT);
    CHECK_EQ(r.waited, ABSENT);
}

static void test_ourselves(void)
{
    const size_t size = 32 << 20;
    struct proc_reading before = {0}, after = {0};
    char io[512];
    struct proc p;
    char *memory;

    CHECK_EQ(proc_open(&p, getpid(), true), 0);
    CHECK_EQ(proc_read_stat(&p, &before), 0);
    CHECK_EQ(proc_read_status(&p, &before), 0);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, size);
    munmap(memory, size);
    CHECK_EQ(proc_read_stat(&p, &after), 0);
    CHECK_EQ(proc_read_status(&p, &after), 0);
    proc_read_details(&p, &after);
    CHECK(after.rss_peak >= before.rss + size - (1 << 20)); /* gone, but the mark stays */
    CHECK(after.rss < before.rss + size / 2);
    CHECK(after.vsz_peak >= before.vsz + size);
    CHECK(after.minor_faults > before.minor_faults);
    CHECK(after.cpu_ns != ABSENT && after.cpu_ns > 0);
    CHECK(proc_read_io(&p, io, sizeof(io)) && strstr(io, "syscr: ") != NULL);
    CHECK_EQ(after.image, before.image);
    CHECK_EQ(after.ppid, getppid());
    proc_close(&p);
}

static int seen;

static void visit(int pid, void *context)
{
    seen += pid == *(int *)context;
}

static void test_children_and_end(void)
{
    struct proc_reading r = {0};
    struct proc us, child;
    int pid = fork();

    if (!pid) {
        pause();
        _exit(0);
    }
    CHECK_EQ(proc_open(&us, getpid(), true), 0);
    CHECK_EQ(proc_open(&child, pid, true), 0);
    proc_children(&us, 1, visit, &pid);
    CHECK_EQ(seen, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK(proc_read_stat(&child, &r) < 0); /* the kept descriptor knows that it is gone */
    proc_close(&child);
    proc_close(&us);
}

/* It is asked for when nothing else is left of the process. */
static void test_a_zombie_that_ignored(void)
{
    struct proc_reading r = {0};
    siginfo_t info;
    struct proc p;

    for (int ignores = 0; ignores < 2; ignores++) {
        int pid = fork();

        if (!pid) {
            signal(SIGCHLD, ignores ? SIG_IGN : SIG_DFL);
            _exit(0);
        }
        CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        CHECK_EQ(proc_open(&p, pid, false), 0);
        CHECK_EQ(proc_read_stat(&p, &r), 0);
        CHECK_EQ(r.state, 'Z');
        CHECK_EQ(r.ignores_children, ignores);
        waitpid(pid, NULL, 0);
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"names may hold anything", test_names},
        {"broken stat texts", test_broken},
        {"status, with lines missing", test_status},
        {"our own marks", test_ourselves},
        {"children, and a process that is gone", test_children_and_end},
        {"a zombie tells that it ignored its children", test_a_zombie_that_ignored},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
