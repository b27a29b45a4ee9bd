/* guarded - programs that check themselves while they watch their memory: each must do the same
 * with and without it.
 *
 *   guarded reads      the kernel writes into watched memory, in many ways
 *   guarded handler    a handler of SIGSEGV of its own, before and after the watch; and for a stack
 * that overflows guarded trap       a handler of SIGTRAP, and breakpoints guarded masked threads
 * and handlers that block all signals write guarded threads    eight threads write and read, while
 * marks are made guarded fork       children of fork and vfork write guarded remap      memory that
 * is freed, moved, unmapped and mapped anew while it is watched guarded die        ends by SIGSEGV
 *   guarded bad        what cannot be watched
 *   guarded plain      nothing of the kernel's is changed before the first watch
 *   guarded confined   gives up the right to change the rights of memory
 *   guarded long       writes for two seconds, and prints what it has then
 */
#include "tidemark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define BYTES (32u * PAGE)

#define MUST(that)                                                                                 \
    do {                                                                                           \
        if (!(that)) {                                                                             \
            printf("line %d: %s, errno %d\n", __LINE__, #that, errno);                             \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

static unsigned char *memory(void)
{
    unsigned char *m = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(m != MAP_FAILED);
    return m;
}

/* ---- reads ---- */

static unsigned char *block;
static unsigned int wave;
static void *volatile nowhere = (void *)8;
static volatile int depth_most = 1 << 30;

/* A file of bytes that are never those of the time before. */
static int file_of(void)
{
    FILE *f = tmpfile();
    int fd;

    MUST(f);
    wave++;
    for (unsigned int i = 0; i < BYTES; i++)
        fputc((int)((i * 7 + wave) & 255), f);
    fflush(f);
    fd = dup(fileno(f));
    fclose(f);
    MUST(fd >= 0 && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static void check(unsigned int at, unsigned int bytes)
{
    for (unsigned int i = 0; i < bytes; i++)
        MUST(block[at + i] == (unsigned char)((i * 7 + wave) & 255));
    tidemark_mark("again", wave); /* all pages are closed for the next one */
}

static void read_files(void)
{
    struct iovec two[2] = {{block + 100, 5000}, {block + 5100, 20000}};
    int fd = file_of();
    FILE *f;

    MUST(read(fd, block + 100, 60000) == 60000);
    check(100, 60000);
    fd = file_of();
    MUST(pread(fd, block + 100, 60000, 0) == 60000);
    check(100, 60000);
    fd = file_of();
    MUST(readv(fd, two, 2) == 25000);
    check(100, 25000);
    fd = file_of();
    MUST(preadv(fd, two, 2, 0) == 25000);
    check(100, 25000);
    f = fdopen(file_of(), "r");
    MUST(fread(block + 5, 1, 50000, f) == 50000);
    check(5, 50000);
    fd = file_of();
    MUST(syscall(SYS_read, fd, block + 100, 60000) == 60000);
    check(100, 60000);
    fd = file_of();
    MUST(syscall(SYS_readv, fd, two, 2) == 25000);
    check(100, 25000);
}

static void *send_all(void *given)
{
    const int *ends = given;
    unsigned char *m = malloc(BYTES);

    for (unsigned int i = 0; i < BYTES; i++)
        m[i] = (unsigned char)((i * 7 + wave) & 255);
    usleep(20000); /* the other thread waits in the kernel */
    MUST(send(ends[1], m, 40000, 0) == 40000);
    free(m);
    return NULL;
}

static void receive(int how)
{
    struct iovec piece = {block + 9000, 40000};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    struct mmsghdr messages[1] = {{.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}}};
    pthread_t thread;
    int ends[2];

    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    wave++;
    MUST(pthread_create(&thread, NULL, send_all, ends) == 0);
    if (how == 0)
        MUST(recv(ends[0], block + 9000, 40000, MSG_WAITALL) == 40000);
    else if (how == 1)
        MUST(recvmsg(ends[0], &message, 0) == 40000);
    else if (how == 2)
        MUST(recvmmsg(ends[0], messages, 1, 0, NULL) == 1 && messages[0].msg_len == 40000);
    else
        MUST(recvfrom(ends[0], block + 9000, 40000, 0, NULL, NULL) == 40000);
    pthread_join(thread, NULL);
    check(9000, 40000);
}

static void read_others(void)
{
    struct iovec here = {block + 50, 20000}, there = {block + 60000, 20000};
    struct stat *s = (struct stat *)(block + 2 * PAGE);
    int *waiting = (int *)(block + 3 * PAGE), *ends = (int *)(block + 4 * PAGE);

    memset(block + 60000, 9, 20000);
    tidemark_mark("closed", 0);
    MUST(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 20000 && block[60] == 9);
    tidemark_mark("closed", 1);
    MUST(getrandom(block + 5000, 9000, 0) == 9000);
    tidemark_mark("closed", 2);
    MUST(stat("/", s) == 0 && S_ISDIR(s->st_mode));
    tidemark_mark("closed", 3);
    MUST(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3);
    tidemark_mark("closed", 4);
    MUST(ioctl(ends[0], FIONREAD, waiting) == 0 && *waiting == 3);
    tidemark_mark("closed", 5);
    MUST(read(ends[0], nowhere, 3) == -1 && errno == EFAULT); /* as it always was */
}

static int reads(void)
{
    block = memory();
    tidemark_watch(block + 10, BYTES - 20, "block");
    read_files();
    for (int how = 0; how < 4; how++)
        receive(how);
    read_others();
    return 0;
}

/* ---- handlers ---- */

static sigjmp_buf back;
static volatile sig_atomic_t caught, on_other_stack;
static char other_stack[65536];

static void jump(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    caught++;
    on_other_stack = (char *)&info >= other_stack &&
                     (char *)&info < other_stack + sizeof(other_stack);
    if (block)
        block[5 * PAGE + (unsigned int)caught]++; /* a guarded page, inside of the handler */
    siglongjmp(back, 1);
}

static void mend(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    caught++;
    MUST(mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1)), PAGE,
                  PROT_READ | PROT_WRITE) == 0);
}

static int deeper(int n)
{
    volatile char room[4096];

    room[0] = (char)n;
    return n < depth_most ? deeper(n + 1) + room[0] : 0;
}

static void set(void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = flags}, now;

    sigaddset(&a.sa_mask, SIGUSR1);
    MUST(sigaction(SIGSEGV, &a, NULL) == 0 && sigaction(SIGSEGV, NULL, &now) == 0);
    MUST(now.sa_sigaction == handler && sigismember(&now.sa_mask, SIGUSR1));
    MUST((now.sa_flags & ~0x04000000) == flags); /* SA_RESTORER is libc's */
}

static void fault_and_return(void)
{
    caught = 0;
    for (int i = 0; i < 50; i++)
        if (!sigsetjmp(back, 1))
            *(volatile int *)8 = 1;
    MUST(caught == 50);
}

static int handler(void)
{
    stack_t other = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
    unsigned char *closed = memory();
    struct sigaction now;

    block = memory();
    set(jump, SA_SIGINFO);
    tidemark_watch(block, BYTES, "block");
    fault_and_return();
    MUST(!on_other_stack && block[5 * PAGE + 50] == 1);
    set(jump, SA_SIGINFO | SA_NODEFER); /* once more, now that it is watched */
    fault_and_return();
    MUST(sigaltstack(&other, NULL) == 0);
    set(jump, SA_SIGINFO | SA_ONSTACK);
    if (!sigsetjmp(back, 1))
        exit(deeper(0));
    MUST(on_other_stack);
    set(mend, SA_SIGINFO);
    caught = 0;
    MUST(mprotect(closed, BYTES, PROT_READ) == 0);
    for (unsigned int i = 0; i < BYTES; i += PAGE)
        closed[i] = 1, block[i]++;
    MUST(caught == BYTES / PAGE);
    MUST(signal(SIGSEGV, SIG_IGN) == (sighandler_t)(void *)mend);
    raise(SIGSEGV); /* is ignored */
    block[9 * PAGE]++;
    MUST(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
    MUST(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    block[10 * PAGE]++;
    return 0;
}

static void count(int number)
{
    (void)number;
    caught++;
}

static int trap(void)
{
    block = memory();
    MUST(signal(SIGTRAP, count) == SIG_DFL);
    tidemark_watch(block, BYTES, "block");
    for (unsigned int i = 0; i < 100; i++) {
        block[i * 50]++;
        raise(SIGTRAP);
#ifdef __x86_64__
        __asm__ volatile("int3");
#else
        raise(SIGTRAP);
#endif
        tidemark_mark("again", i);
    }
    MUST(caught == 200);
    return 0;
}

/* ---- masks ---- */

static void write_there(int number)
{
    (void)number;
    block[7 * PAGE + (unsigned int)caught++] = 5;
}

static void *blocked(void *unused)
{
    sigset_t all, now;

    (void)unused;
    sigfillset(&all);
    MUST(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    MUST(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
    MUST(sigismember(&now, SIGSEGV) && sigismember(&now, SIGTRAP) && sigismember(&now, SIGINT));
    for (unsigned int i = 0; i < BYTES; i += 100)
        block[i] = 3;
    MUST(pthread_sigmask(SIG_UNBLOCK, &all, &now) == 0 && sigismember(&now, SIGSEGV));
    MUST(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && !sigismember(&now, SIGSEGV));
    return NULL;
}

static int masked(void)
{
    struct sigaction a = {.sa_handler = write_there}, now;
    sigset_t all, one;
    pthread_t thread;

    block = memory();
    sigfillset(&a.sa_mask);
    MUST(sigaction(SIGUSR1, &a, NULL) == 0); /* set before, with all signals blocked */
    tidemark_watch(block, BYTES, "block");
    MUST(sigaction(SIGUSR1, NULL, &now) == 0 && sigismember(&now.sa_mask, SIGSEGV));
    raise(SIGUSR1);
    tidemark_mark("again", 0);
    MUST(sigaction(SIGUSR2, &a, NULL) == 0); /* and after */
    MUST(sigaction(SIGUSR2, NULL, &now) == 0 && sigismember(&now.sa_mask, SIGSEGV));
    raise(SIGUSR2);
    tidemark_mark("again", 1);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    MUST(sigprocmask(SIG_BLOCK, &one, NULL) == 0);
    raise(SIGUSR1);
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    MUST(sigsuspend(&all) == -1 && errno == EINTR);
    MUST(caught == 3);
    MUST(pthread_create(&thread, NULL, blocked, NULL) == 0 && pthread_join(thread, NULL) == 0);
    return 0;
}

/* ---- threads ---- */

#define THREADS 8u
#define ROUNDS 4000u

static _Atomic unsigned int sums[THREADS];

static void *work(void *given)
{
    unsigned int me = (unsigned int)(uintptr_t)given, x = me * 7919 + 1;

    for (unsigned int i = 0; i < ROUNDS; i++) {
        unsigned int at = (x = x * 1103515245u + 12345u) >> 8;

        at = at % (BYTES / THREADS) * THREADS + me; /* bytes of its own on pages of all */
        block[at]++;
        sums[me]++;
        if (i % 256 == 0)
            tidemark_mark("now", i);
    }
    return NULL;
}

static int threads(void)
{
    pthread_t all[THREADS];
    unsigned int sum[THREADS] = {0};

    block = memory();
    tidemark_watch(block, BYTES, "block");
    for (unsigned int i = 0; i < THREADS; i++)
        MUST(pthread_create(&all[i], NULL, work, (void *)(uintptr_t)i) == 0);
    for (unsigned int i = 0; i < THREADS; i++)
        MUST(pthread_join(all[i], NULL) == 0);
    for (unsigned int i = 0; i < BYTES; i++)
        sum[i % THREADS] += block[i]; /* none comes near 256 */
    for (unsigned int i = 0; i < THREADS; i++)
        MUST(sum[i] == ROUNDS && sums[i] == ROUNDS);
    return 0;
}

/* ---- children ---- */

static int children(void)
{
    int status, fd;
    pid_t child;

    block = memory();
    tidemark_watch(block, BYTES, "block");
    block[0] = 1;
    for (int i = 0; i < 3; i++) {
        child = fork();
        if (!child) {
            fd = file_of();
            MUST(read(fd, block + PAGE, 9000) == 9000);
            for (unsigned int k = 0; k < BYTES; k += 300)
                block[k] = 2;
            tidemark_mark("child", 1);
            block[5] = 3;
            _exit(block[300] == 2 && block[5] == 3 ? 7 : 8);
        }
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
        MUST(block[0] == 1 && block[300] == 0);
    }
    child = vfork();
    if (!child) {
        block[2 * PAGE] = 9; /* its parent's memory */
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0 && block[2 * PAGE] == 9);
    tidemark_mark("parent", 1);
    block[3 * PAGE] = 4;
    return 0;
}

/* ---- memory that goes ---- */

static int remap(void)
{
    unsigned char *m = memory(), *at;

    tidemark_watch(m, BYTES, "unmapped");
    MUST(munmap(m, BYTES) == 0);
    at = mmap(m, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    tidemark_mark("later", 0);
    MUST(at == m && read(file_of(), at, BYTES) == (ssize_t)BYTES);
    memset(at, 1, BYTES);
    tidemark_watch(at, BYTES, "moved");
    at[PAGE] = 7;
    at = mremap(m, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
    MUST(at != MAP_FAILED && at[PAGE] == 7 && at[0] == 1);
    memset(at, 2, 2 * BYTES);
    m = malloc(BYTES * 8);
    memset(m, 3, BYTES * 8);
    tidemark_watch(m, BYTES * 8, "grown");
    m[PAGE * 3] = 9;
    m = realloc(m, BYTES * 16);
    MUST(m && m[PAGE * 3] == 9 && m[BYTES * 8 - 1] == 3);
    tidemark_watch(m + 100, BYTES * 8, "freed"); /* not from its beginning */
    m[PAGE * 3] = 1;
    free(m);
    m = malloc(BYTES * 16);
    tidemark_mark("later", 1);
    MUST(read(file_of(), m, BYTES) == (ssize_t)BYTES);
    memset(m, 4, BYTES * 16);
    at = memory();
    tidemark_watch(at, BYTES, "closed");
    MUST(mprotect(at, BYTES, PROT_NONE) == 0 && mprotect(at, BYTES, PROT_READ | PROT_WRITE) == 0);
    at[1] = 1;
    MUST(read(file_of(), at, BYTES) == (ssize_t)BYTES);
    tidemark_mark("later", 2);
    return 0;
}

static int bad(void)
{
    static char many[70][8];
    char here[5 * PAGE];
    unsigned char *m = memory();

    memset(here, 0, sizeof(here));
    tidemark_watch(NULL, 10, "nothing");
    tidemark_watch((void *)12345, 10, "nowhere");
    tidemark_watch((void *)~(uintptr_t)5, 100, "beyond");
    tidemark_watch(m, 0, "empty");
    MUST(mprotect(m, BYTES, PROT_READ) == 0);
    tidemark_watch(m, BYTES, "constant");
    tidemark_watch(here, sizeof(here), "stack");
    tidemark_watch_how(memory(), BYTES, "looks", TIDEMARK_WATCH_LOOKS);
    here[2 * PAGE] = 1;
    for (int i = 0; i < 70; i++)
        tidemark_watch(many[i], 8, "many");
    tidemark_mark("end", 0);
    return here[2 * PAGE] - 1;
}

static int die(void)
{
    block = memory();
    tidemark_watch(block, BYTES, "block");
    block[PAGE] = 1;
    *(volatile int *)8 = 1;
    return 0;
}

/* ---- nobody watches; and the recorder may die ---- */

struct kernel_action { /* of the system call itself */
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

static void *kernels_handler(int number)
{
    struct kernel_action a = {0};

    MUST(syscall(SYS_rt_sigaction, number, NULL, &a, 8) == 0);
    return a.handler;
}

static int plain(void)
{
    block = memory();
    tidemark_mark("before", 0);
    MUST(!kernels_handler(SIGSEGV) && !kernels_handler(SIGTRAP));
    tidemark_watch_how(block, BYTES, "looks", TIDEMARK_WATCH_LOOKS);
    MUST(!kernels_handler(SIGSEGV) && !kernels_handler(SIGTRAP));
    if (tidemark_recorder()) {
        tidemark_watch(block, BYTES, "guarded");
        MUST(kernels_handler(SIGSEGV) && kernels_handler(SIGTRAP));
    }
    return 0;
}

static int confined(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

    block = memory();
    tidemark_watch(block, BYTES, "block");
    block[1] = 1;
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    memset(block, 2, BYTES);
    tidemark_mark("later", 0);
    return block[BYTES - 1] - 2;
}

static int long_run(void)
{
    struct timespec from, now;
    unsigned int sum = 0, rounds = 0;

    block = memory();
    tidemark_watch(block, BYTES, "block");
    puts("begun");
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        for (unsigned int i = 0; i < BYTES; i += 1000)
            block[i]++;
        tidemark_mark("round", rounds++);
        free(malloc(100000));
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - from.tv_sec < 3);
    MUST(read(file_of(), block, 5000) == 5000);
    memset(block, 0, 5000);
    for (unsigned int i = 5000; i < BYTES; i += 1000)
        sum += block[i] == (unsigned char)rounds;
    printf("%u\n", sum);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = {{"reads", reads},   {"handler", handler},   {"trap", trap},
               {"masked", masked}, {"threads", threads},   {"fork", children},
               {"remap", remap},   {"die", die},           {"bad", bad},
               {"plain", plain},   {"confined", confined}, {"long", long_run}};

    for (size_t i = 0; argc == 2 && i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(argv[1], all[i].name) == 0)
            return all[i].run();
    return 2;
}
