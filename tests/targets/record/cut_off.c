/* Forks after it has cut itself off from what a recording needs, and allocates in the children.
 *   cut_off HOW CHILDREN BLOCKS [COMMAND... | shell COMMAND]
 * HOW: no-files (no descriptor is left), laden (nor is one, and it is large, so that to end takes
 * its children a while), no-room (hardly an address is left), chroot=FOLDER, user=ID, locked (all
 * memory, also what comes), wait (for a byte from standard input), nothing. Each child allocates
 * BLOCKS blocks of 100 bytes in its first thread and as many in a second, and frees them; with a
 * command, it becomes that, or has a shell run it, twice. Prints how many did not end well.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int blocks;

static void *allocate(void *unused)
{
    for (int i = 0; i < blocks; i++) {
        char *volatile p = malloc(100);

        p[0] = 1;
        free(p);
    }
    return unused;
}

static int allocate_in_second(void)
{
    pthread_attr_t small;
    pthread_t second;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    return pthread_create(&second, &small, allocate, NULL) || pthread_join(second, NULL);
}

static void become_large(void)
{
    size_t bytes = (size_t)512 << 20;
    char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED || madvise(room, bytes, MADV_NOHUGEPAGE) < 0)
        exit(106);
    memset(room, 1, bytes);
}

static void cut_off(const char *how)
{
    struct rlimit few = {0};
    char byte, line[256];
    unsigned long pages = 0;
    FILE *f;

    if (strcmp(how, "laden") == 0)
        become_large();
    if (strcmp(how, "no-files") == 0 || strcmp(how, "laden") == 0) {
        getrlimit(RLIMIT_NOFILE, &few);
        few.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &few);
    } else if (strcmp(how, "no-room") == 0) {
        f = fopen("/proc/self/statm", "r");
        if (!f || !fgets(line, sizeof(line), f) || sscanf(line, "%lu", &pages) != 1)
            exit(104);
        fclose(f);
        few.rlim_cur = few.rlim_max = pages * 4096 + 400000;
        setrlimit(RLIMIT_AS, &few);
    } else if (strcmp(how, "locked") == 0) {
        if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
            exit(105);
        allocate_in_second();
    } else if (strncmp(how, "chroot=", 7) == 0) {
        if (chroot(how + 7) < 0 || chdir("/") < 0)
            exit(101);
    } else if (strncmp(how, "user=", 5) == 0) {
        if (setresgid(atoi(how + 5), atoi(how + 5), atoi(how + 5)) < 0 ||
            setresuid(atoi(how + 5), atoi(how + 5), atoi(how + 5)) < 0)
            exit(102);
    } else if (strcmp(how, "wait") == 0) {
        write(STDOUT_FILENO, "ready\n", 6);
        read(STDIN_FILENO, &byte, 1);
    }
}

static int child(char **command)
{
    if (*command && strcmp(*command, "shell") == 0)
        return system(command[1]) || pclose(popen(command[1], "r"));
    if (*command) {
        execvp(command[0], command);
        return 1;
    }
    allocate(NULL);
    return allocate_in_second();
}

int main(int argc, char **argv)
{
    int failed = 0, status;

    if (argc < 4)
        return 103;
    blocks = atoi(argv[3]);
    allocate(NULL);
    cut_off(argv[1]);
    for (int i = atoi(argv[2]); i > 0; i--) {
        pid_t pid = fork();

        if (!pid)
            _exit(child(argv + 4));
        waitpid(pid, &status, 0);
        failed += status != 0;
    }
    printf("%d failed\n", failed);
    return failed != 0;
}
