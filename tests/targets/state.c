/* state - print what a process inherits, one "name value" a line: what a tool that starts it must
 * not have changed. Two runs of it, with and without a tool between, print the same.
 */
#include "target.h"

#include <dirent.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

static void print_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        target_fail("/proc/self/fd");
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], to[300];
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == dirfd(dir))
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[n < 0 ? 0 : n] = '\0';
        printf("fd%d %s\n", fd, to);
    }
    closedir(dir);
}

static void print_status(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[512];
    if (!f)
        target_fail("/proc/self/status");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "SigBlk:", 7) || !strncmp(line, "SigIgn:", 7) ||
            !strncmp(line, "SigCgt:", 7) || !strncmp(line, "Cap", 3) ||
            !strncmp(line, "NoNew", 5) || !strncmp(line, "Seccomp:", 8) ||
            !strncmp(line, "Cpus_allowed:", 13) || !strncmp(line, "TracerPid:", 10) ||
            !strncmp(line, "Groups:", 7))
            fputs(line, stdout);
    fclose(f);
}

static void print_limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)i, &r) == 0)
            printf("limit%d %llu %llu\n", i, (unsigned long long)r.rlim_cur,
                   (unsigned long long)r.rlim_max);
    }
}

int main(int argc, char **argv)
{
    mode_t mask = umask(0);
    int subreaper = 0, death = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    prctl(PR_GET_PDEATHSIG, &death);
    printf("uid %d\neuid %d\n", (int)getuid(), (int)geteuid());
    printf("nice %d\numask %03o\n", getpriority(PRIO_PROCESS, 0), (unsigned)mask);
    printf("subreaper %d\ndeathsig %d\n", subreaper, death);
    printf("dumpable %d\nslack %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK));
    printf("group %s\n", getpgrp() == getpid() ? "own" : "its launcher's");
    printf("argc %d\n", argc);
    for (int i = 1; i < argc; i++)
        printf("arg %s\n", argv[i]);
    for (char **e = environ; *e; e++)
        printf("env %s\n", *e);
    print_fds();
    print_status();
    print_limits();
    return 0;
}
