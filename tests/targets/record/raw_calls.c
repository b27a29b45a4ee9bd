/* Starts a program N times by system calls that no library sees, or by syscall(): raw_calls WAY N
 * PROGRAM. WAY: inline-fork, inline-vfork, inline-clone3, libc-fork, libc-clone3; each child
 * allocates 10 times before it becomes PROGRAM, but the one that shares our memory. */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline long raw(long number, long a, long b, long c)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

static void allocate(void)
{
    for (int i = 0; i < 10; i++) {
        void *volatile block = malloc(100);

        free(block);
    }
}

/* After vfork nothing but the exec may be done, in one function with it. */
static long start_vfork(char **argv)
{
    long pid = raw(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0);

    if (!pid) {
        raw(SYS_execve, (long)argv[0], (long)argv, (long)environ);
        raw(SYS_exit_group, 127, 0, 0);
    }
    return pid;
}

static long make_child(const char *way, int libc)
{
    struct clone_args how = {.exit_signal = SIGCHLD};

    if (strstr(way, "clone3"))
        return libc ? syscall(SYS_clone3, &how, sizeof(how))
                    : raw(SYS_clone3, (long)&how, sizeof(how), 0);
    return libc ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : raw(SYS_clone, SIGCHLD, 0, 0);
}

static long start(const char *way, char **argv)
{
    int libc = strncmp(way, "libc", 4) == 0;
    long pid;

    if (strcmp(way, "inline-vfork") == 0)
        return start_vfork(argv);
    pid = make_child(way, libc);
    if (pid)
        return pid;
    allocate();
    if (libc)
        syscall(SYS_execve, argv[0], argv, environ);
    else
        raw(SYS_execve, (long)argv[0], (long)argv, (long)environ);
    raw(SYS_exit_group, 127, 0, 0);
    return -1;
}

int main(int argc, char **argv)
{
    int count = argc > 3 ? atoi(argv[2]) : 0, status, wrong = 0;

    for (int i = 0; i < count; i++) {
        long pid = start(argv[1], argv + 3);

        wrong += pid < 0 || waitpid((pid_t)pid, &status, 0) != pid || status;
    }
    return wrong ? 1 : 0;
}
