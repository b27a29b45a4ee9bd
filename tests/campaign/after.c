/* after - a program that gives something up and goes on: its next threads and children cannot do
 * what the first could.
 */
#include "subject.h"
#include "truth.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define THREADS 3
#define CHILDREN 6

/* The folder of the log is the root: nothing of the system is there. */
static int give_up_root(void)
{
    char folder[4096];

    snprintf(folder, sizeof(folder), "%s", truth_path);
    *strrchr(folder, '/') = '\0';
    return chroot(folder) == 0 && chdir("/") == 0 ? 0 : -1;
}

static int give_up_user(void)
{
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0
             ? setresuid(NOBODY, NOBODY, NOBODY)
             : -1;
}

static int give_up_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    return (int)syscall(SYS_capset, &header, none);
}

static int give_up_descriptors(void)
{
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    return 0;
}

static int give_up_files(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    return 0;
}

static int give_up_dumps(void)
{
    return prctl(PR_SET_DUMPABLE, 0);
}

static int give_up_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return -1;
    return mount("none", "/proc", "tmpfs", 0, NULL);
}

static int give_up_net(void)
{
    return unshare(CLONE_NEWNET);
}

static int give_up_users(void)
{
    return unshare(CLONE_NEWUSER);
}

static int give_up_pids(void)
{
    return unshare(CLONE_NEWPID);
}

static const struct {
    const char *how;
    int (*give_up)(void);
} ways[] = {
    {"chroot", give_up_root},     {"setuid", give_up_user},     {"caps", give_up_capabilities},
    {"fds", give_up_descriptors}, {"closefrom", give_up_files}, {"dumpable", give_up_dumps},
    {"mountns", give_up_mounts},  {"netns", give_up_net},       {"userns", give_up_users},
    {"pidns", give_up_pids},
};

/* The first child in a new pid namespace is its init: the others are made there. */
static int in_init(uint64_t calls)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        truth_forked();
        truth_work(calls);
        _exit(subject_fork_all(CHILDREN, calls));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return CHILDREN + 1;
    return WEXITSTATUS(status);
}

int subject_after(char **args)
{
    uint64_t calls = subject_number(args, 1);
    int bad = -1;

    truth_work(calls);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(args[0], ways[i].how) == 0)
            bad = ways[i].give_up();
    if (bad != 0) {
        printf("cannot give up %s here\n", args[0]);
        return 0;
    }
    truth_work(calls);
    if (strcmp(args[0], "pidns") != 0) /* such a process may not start threads */
        truth_work_in_threads(THREADS, calls);
    bad = strcmp(args[0], "pidns") == 0 ? in_init(calls) : subject_fork_all(CHILDREN, calls);
    printf("%d children harmed\n", bad);
    return bad != 0;
}
