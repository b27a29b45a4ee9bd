/* A timer's handler that maps memory, and jumps out of whatever it interrupted; a handler on its
 * own stack that allocates when it is raised; fibers that allocate.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

static sigjmp_buf back;
static volatile sig_atomic_t jumps, ticks, armed;

/* It may not allocate: it may have interrupted malloc. Only jumps out of plain loops. */
static void on_timer(int sig)
{
    void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)sig;
    if (p != MAP_FAILED)
        munmap(p, 4096);
    ticks++;
    if (armed && ticks % 3 == 0) {
        jumps++;
        siglongjmp(back, 1);
    }
}

static void *volatile from_handler;

static void on_raised(int sig)
{
    (void)sig;
    from_handler = malloc(4321);
}

static ucontext_t home, fiber[2];

static void run_fiber(int which)
{
    for (int i = 0; i < 50; i++) {
        char *volatile p = malloc((size_t)(64 + which));

        p[0] = 1;
        swapcontext(&fiber[which], &home);
        free(p);
    }
}

int main(void)
{
    struct itimerval every = {{0, 700}, {0, 700}}, never = {0};
    struct sigaction act = {.sa_handler = on_timer},
                     raised = {.sa_handler = on_raised, .sa_flags = SA_ONSTACK};
    stack_t alt = {.ss_sp = mmap(NULL, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                   .ss_size = 65536};
    char *stacks[2];
    int loops = 0;

    sigaction(SIGALRM, &act, NULL);
    sigaltstack(&alt, NULL);
    sigaction(SIGUSR1, &raised, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 300; i++)
        free(malloc(10)); /* the timer may interrupt our records; no jump here */
    while (jumps < 100) {
        if (sigsetjmp(back, 1) == 0) {
            armed = 1;
            for (;;) /* jumps out of the record of an mmap */
                munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
        }
        armed = 0;
        free(malloc(20));
        loops++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    raise(SIGUSR1);
    for (int f = 0; f < 2; f++) {
        stacks[f] = mmap(NULL, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        getcontext(&fiber[f]);
        fiber[f].uc_stack.ss_sp = stacks[f];
        fiber[f].uc_stack.ss_size = 65536;
        fiber[f].uc_link = &home;
        makecontext(&fiber[f], (void (*)(void))run_fiber, 1, f);
    }
    for (int i = 0; i < 51; i++)
        for (int f = 0; f < 2; f++)
            swapcontext(&home, &fiber[f]);
    printf("loops %d\n", loops);
    return 0;
}
