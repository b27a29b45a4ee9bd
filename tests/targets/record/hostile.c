/* hostile HOW: what programs do that a library inside them must survive; says "fine" in the end. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void *volatile kept[64];

static void churn(int times)
{
    for (int i = 0; i < times; i++) {
        int at = i % 64;

        free(kept[at]);
        kept[at] = malloc(16 + (size_t)(i * 37 % 9000));
        if (!kept[at])
            abort();
        memset(kept[at], i, 16);
    }
}

/* ---- a handler on a stack of its own allocates, then jumps out of the fault ---- */

static sigjmp_buf back;

static void on_fault(int signal)
{
    churn(10);
    siglongjmp(back, signal);
}

static void faults(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    volatile int caught = 0;

    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    for (int i = 0; i < 3000; i++) {
        if (sigsetjmp(back, 1) == 0)
            *(volatile int *)(uintptr_t)(8 + i * 4096) = 1;
        else
            caught++;
        churn(5);
    }
    if (caught != 3000)
        abort();
}

/* ---- a stack that overflows into its guard, caught on another ---- */

static int deepen(int n)
{
    volatile char here[4096];

    here[0] = (char)n;
    return n < 0 ? 0 : deepen(n + 1) + here[0];
}

static void *overflow(void *unused)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};

    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(back, 1) == 0)
        deepen(0);
    churn(100);
    return unused;
}

static void overflows(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t t;

        pthread_create(&t, NULL, overflow, NULL);
        pthread_join(t, NULL);
    }
}

/* ---- jumps out of a timer's handler, wherever it struck outside of malloc ---- */

static volatile sig_atomic_t outside, jumped;

static void on_timer(int signal)
{
    (void)signal;
    churn(0);
    if (outside) {
        outside = 0;
        jumped++;
        siglongjmp(back, 1);
    }
}

static void jumps(void)
{
    struct sigaction action = {.sa_handler = on_timer};
    struct itimerval timer = {{0, 300}, {0, 300}}, none = {{0, 0}, {0, 0}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (jumped < 500) {
        sigsetjmp(back, 1);
        churn(50);
        outside = 1;
        for (volatile int i = 0; i < 2000; i++)
            ;
        outside = 0;
    }
    setitimer(ITIMER_REAL, &none, NULL);
}

/* ---- fibers: on stacks from malloc and mmap, that allocate and end in any order ---- */

#define FIBERS 50

static ucontext_t whole, fiber[FIBERS];

static void in_fiber(int number)
{
    for (int i = 0; i < 20; i++) {
        churn(number % 7 + 1);
        swapcontext(&fiber[number], &whole);
    }
}

static void fibers(void)
{
    for (int i = 0; i < FIBERS; i++) {
        size_t bytes = 65536;
        void *at = i % 2 ? malloc(bytes)
                         : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0);

        getcontext(&fiber[i]);
        fiber[i].uc_stack.ss_sp = at;
        fiber[i].uc_stack.ss_size = bytes;
        fiber[i].uc_link = &whole;
        makecontext(&fiber[i], (void (*)(void))in_fiber, 1, i);
    }
    for (int round = 0; round < 21; round++)
        for (int i = 0; i < FIBERS; i++)
            swapcontext(&whole, &fiber[i]);
}

/* ---- processes and threads by clone alone ---- */

static int in_clone(void *shared)
{
    (void)shared;
    execl("/bin/true", "true", (char *)NULL);
    return 9;
}

static int in_thread(void *seen)
{
    /* No thread of libc's: only what needs none of its own. */
    *(volatile int *)seen = 1;
    return 0;
}

static void clones(void)
{
    char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int seen = 0;
    int status;

    for (int i = 0; i < 50; i++) {
        pid_t pid = clone(in_clone, stack + (1 << 20), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

        if (waitpid(pid, &status, 0) != pid || status)
            abort();
        churn(20);
        seen = 0;
        pid = clone(in_thread, stack + (1 << 20), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
                    (void *)&seen);
        if (waitpid(pid, &status, 0) != pid || status || !seen)
            abort();
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (!pid) {
            churn(30);
            _exit(7);
        }
        if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
            abort();
    }
}

/* ---- a process that may no longer ask the kernel for anything ---- */

static void say(const char *text)
{
    (void)!write(1, text, strlen(text));
}

/* By hand, as swapcontext asks the kernel for the signal mask. */
static void on_stack_of_its_own(void)
{
    static _Alignas(16) char stack[65536];

    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %0, %%rsp\n\t"
                     "mov $3000, %%edi\n\t"
                     "call *%1\n\t"
                     "mov %%rbx, %%rsp"
                     :
                     : "r"(stack + sizeof(stack)), "r"(churn)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
                       "cc");
}

static void confined(bool strict)
{
    struct sock_filter only[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(only) / sizeof(only[0]), only};

    /* Room for what comes: malloc itself must not ask the kernel, either. */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    free(malloc(100000));
    free(memset(malloc(8 << 20), 1, 8 << 20));
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    free(memset(malloc(8 << 20), 1, 8 << 20));
    churn(200);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0
               : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        abort();
    churn(100000);
    on_stack_of_its_own();
    say("fine\n");
    syscall(SYS_exit, 0);
}

/* ---- a thread whose first allocation is inside pthread_getattr_np, which holds its lock ---- */

static void *looks_at_itself(void *unused)
{
    pthread_attr_t attr;

    if (pthread_getattr_np(pthread_self(), &attr))
        abort();
    pthread_attr_destroy(&attr);
    churn(20);
    return unused;
}

static void looks(void)
{
    for (int i = 0; i < 300; i++) {
        pthread_t t;

        pthread_create(&t, NULL, looks_at_itself, NULL);
        pthread_join(t, NULL);
    }
}

/* ---- allocation before main, after it, and in destructors of threads ---- */

static pthread_key_t key;

static void last_words(void *value)
{
    churn(3);
    free(value);
}

static void *with_value(void *unused)
{
    pthread_setspecific(key, malloc(100));
    churn(10);
    return unused;
}

static void at_end(void)
{
    churn(100);
}

static void ends(void)
{
    pthread_key_create(&key, last_words);
    atexit(at_end);
    for (int i = 0; i < 200; i++) {
        pthread_t t;

        pthread_create(&t, NULL, with_value, NULL);
        pthread_join(t, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "faults"))
        faults();
    else if (!strcmp(how, "overflows"))
        overflows();
    else if (!strcmp(how, "jumps"))
        jumps();
    else if (!strcmp(how, "fibers"))
        fibers();
    else if (!strcmp(how, "clones"))
        clones();
    else if (!strcmp(how, "looks"))
        looks();
    else if (!strcmp(how, "ends"))
        ends();
    else if (!strcmp(how, "strict") || !strcmp(how, "filter"))
        confined(how[0] == 's');
    else
        return 2;
    puts("fine");
    return 0;
}
