/* cgroup: versions 1 and 2, over folders that look like the kernel's. */
#include "check.h"
#include "platform/linux_cgroup.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char mount[] = "/tmp/tidemark-cgroup-XXXXXX";
static const int ours[2] = {4711, 4712};

static void put(const char *name, const char *text)
{
    char path[256];
    FILE *out;

    snprintf(path, sizeof(path), "%s/%s", mount, name);
    for (char *s = path + sizeof(mount); *s; s++)
        if (*s == '/') {
            *s = '\0';
            mkdir(path, 0777);
            *s = '/';
        }
    out = fopen(path, "w");
    if (CHECK(out != NULL)) {
        fputs(text, out);
        fclose(out);
    }
}

static void test_unified_alone(void)
{
    struct cgroup c;

    put("run.scope/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n");
    put("run.scope/memory.peak", "73400320\n");
    put("run.scope/cgroup.procs", "4711\n4712\n");
    cgroup_open(&c, mount, "1:name=systemd:/x\n0::/run.scope\n", ours);
    /* a plain file took the "reset" as its contents, which the kernel's does not */
    put("run.scope/memory.peak", "73400320\n");
    CHECK_EQ(cgroup_peak(&c), 73400320);
    CHECK_EQ(cgroup_kills(&c), 0);
    put("run.scope/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 5\n");
    CHECK_EQ(cgroup_kills(&c), 3);
    cgroup_close(&c);
}

static void test_unified_shared(void)
{
    struct cgroup c;

    put("session/memory.events", "oom_kill 7\n");
    put("session/memory.peak", "100\n");
    put("session/cgroup.procs", "1\n4711\n");
    cgroup_open(&c, mount, "0::/session\n", ours);
    CHECK_EQ(cgroup_peak(&c), ABSENT); /* others' memory is in it */
    put("session/memory.events", "oom_kill 8\n");
    CHECK_EQ(cgroup_kills(&c), 1);
    cgroup_close(&c);
}

static void test_version_one(void)
{
    struct cgroup c;

    put("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    cgroup_open(&c, mount, "4:memory:/job\n3:cpu:/\n0::/\n", ours);
    CHECK_EQ(cgroup_peak(&c), ABSENT);
    CHECK_EQ(cgroup_kills(&c), 0);
    put("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    CHECK_EQ(cgroup_kills(&c), 1);
    cgroup_close(&c);
}

static void test_none(void)
{
    struct cgroup c;

    cgroup_open(&c, mount, "0::/not/there\n", ours);
    CHECK_EQ(cgroup_kills(&c), ABSENT);
    CHECK_EQ(cgroup_peak(&c), ABSENT);
    cgroup_open(&c, mount, "", ours);
    CHECK_EQ(cgroup_kills(&c), ABSENT);
    cgroup_open(&c, mount, "garbage without colons", ours);
    CHECK_EQ(cgroup_kills(&c), ABSENT);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"version 2, alone in the group: peak and kills", test_unified_alone},
        {"version 2, shared: kills only", test_unified_shared},
        {"version 1: kills", test_version_one},
        {"no group, or nonsense", test_none},
    };
    char command[64];
    int failed;

    if (!mkdtemp(mount))
        return 1;
    failed = check_run(tests, sizeof(tests) / sizeof(tests[0]));
    snprintf(command, sizeof(command), "rm -rf %s", mount);
    return system(command) || failed;
}
