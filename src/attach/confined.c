/* confined - see confined.h. */
#include "attach/confined.h"

#include "arch/arch.h"
#include "base/count.h"
#include "base/filter.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#ifndef MAP_DENYWRITE
#define MAP_DENYWRITE 0x800
#endif

#define RW (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define OF_FILE (MAP_PRIVATE | MAP_DENYWRITE)

/* Every call that is made for us there, by us (remote.c, hand.c), by libc as it loads the library,
 * and by the library at any time. Those that are NEEDED have to be made; of the others each may be
 * missing, by an error or because it is never tried; those that are made SURELY, or never: a timer
 * that cannot be deleted would send its signal to nobody. Arguments are given where filters are
 * known to look at them; those of a number are its forms.
 */
static const struct form {
    int number;
    enum { NEEDED, OPTIONAL, SURELY, MAKES_FILE } use;
    const char *name;
    unsigned int known;
    uint64_t arguments[6];
} forms[] = {
// clang-format off
#define MUST(name, ...) {SYS_##name, NEEDED, #name, __VA_ARGS__}
#define MAY(name) {SYS_##name, OPTIONAL, #name, 0, {0}}
#define SURE(name) {SYS_##name, SURELY, #name, 0, {0}}
    // clang-format on
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, PROT_NONE, ANONYMOUS | MAP_NORESERVE}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, RW, ANONYMOUS | MAP_NORESERVE}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, RW, ANONYMOUS}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, RW, ANONYMOUS | MAP_FIXED}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, RW, MAP_PRIVATE | MAP_FIXED}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, RW, MAP_SHARED}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, PROT_READ, OF_FILE}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, PROT_READ, OF_FILE | MAP_FIXED}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, PROT_READ | PROT_EXEC, OF_FILE | MAP_FIXED}),
    MUST(mmap, 1 << 2 | 1 << 3, {0, 0, RW, OF_FILE | MAP_FIXED}),
    MUST(mprotect, 1 << 2, {0, 0, PROT_NONE}),
    MUST(mprotect, 1 << 2, {0, 0, PROT_READ}),
    MUST(mprotect, 1 << 2, {0, 0, RW}),
    MUST(munmap, 0, {0}),
    MUST(brk, 0, {0}),
    MUST(openat, 1 << 2, {0, 0, O_RDONLY | O_CLOEXEC}),
    MUST(openat, 1 << 2, {0, 0, O_RDWR | O_CLOEXEC | O_NONBLOCK}),
    MUST(read, 0, {0}),
    MUST(pread64, 0, {0}),
    MUST(fstat, 0, {0}),
    MUST(newfstatat, 0, {0}),
    MUST(close, 0, {0}),
    MUST(futex, 1 << 1, {0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG}),
    MUST(futex, 1 << 1, {0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG}),
    MUST(getpid, 0, {0}),
    MUST(gettid, 0, {0}),
    MUST(madvise, 1 << 2, {0, 0, MADV_WIPEONFORK}),
    MUST(nanosleep, 0, {0}),
    MUST(clock_gettime, 0, {0}),
    MUST(rt_sigreturn, 0, {0}),
    {SYS_openat,
     MAKES_FILE,
     "openat",
     1 << 2 | 1 << 3,
     {0, 0, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700}},
    MAY(memfd_create),
    MAY(ftruncate),
    MAY(socketpair),
    MAY(recvmsg),
    MAY(unlinkat),
    SURE(restart_syscall),
    MAY(futex), /* FUTEX_WAKE_OP among them */
    MAY(getegid),
    MAY(geteuid),
    MAY(getppid),
    MAY(mremap),
    MAY(munlock),
    MAY(prctl),
    MAY(process_vm_readv),
    MAY(readlinkat),
    SURE(rt_sigaction),
    SURE(rt_sigpending),
    SURE(rt_sigprocmask),
    SURE(rt_sigtimedwait),
    MAY(sched_getaffinity),
    SURE(tgkill),
    SURE(timer_create),
    SURE(timer_delete),
    SURE(timer_settime),
#undef MUST
#undef MAY
#undef SURE
};

bool confined_never(const struct confined *c, long call)
{
    return call >= 0 && call < RING_CALLS && c->never[call / 64] >> call % 64 & 1;
}

bool confined_no_cpu(const struct confined *c)
{
    static const short calls[] = {RING_CPU_CALLS};
    bool lacks = false;

    for (int i = 0; i < COUNT(calls); i++)
        lacks |= confined_never(c, calls[i]);
    return lacks;
}

int confined_mode(int pid, int tid)
{
    char path[64], line[256];
    int mode = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Seccomp: %d", &mode) == 1)
            break;
    if (f)
        fclose(f);
    return mode;
}

static void work_out(struct confined *c, const struct sock_filter *program, size_t count)
{
    for (int i = 0; i < COUNT(forms); i++) {
        struct filter_call call = {ARCH_AUDIT, forms[i].number, {0}, forms[i].known};
        enum filter_fate fate;

        memcpy(call.arguments, forms[i].arguments, sizeof(call.arguments));
        fate = filter_fate(program, count, &call);
        if (forms[i].use == NEEDED && fate != FILTER_LETS && !c->lacks)
            c->lacks = forms[i].name;
        if ((forms[i].use == OPTIONAL && fate == FILTER_HARMS) ||
            (forms[i].use == SURELY && fate != FILTER_LETS))
            c->never[forms[i].number / 64] |= 1ull << forms[i].number % 64;
        c->no_files |= forms[i].use == MAKES_FILE && fate == FILTER_HARMS;
    }
}

/* Most threads have the same as the one before them. */
static bool is_known(struct confined *c, const struct sock_filter *program, size_t count)
{
    uint64_t hash = hash_bytes(HASH_START, program, count * sizeof(*program));

    for (unsigned int i = 0; i < c->seen_count && i < CONFINED_SEEN; i++)
        if (c->seen[i] == hash)
            return true;
    c->seen[c->seen_count++ % CONFINED_SEEN] = hash;
    return false;
}

int confined_read(struct confined *c, int tid)
{
    static struct sock_filter program[BPF_MAXINSNS];
    long count;

    for (long i = 0;; i++) {
        count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, NULL);
        if (count < 0 && errno == ENOENT)
            return 0;
        if (count < 0 || count > BPF_MAXINSNS ||
            ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, program) != count)
            return -1;
        c->filters = true;
        if (!is_known(c, program, (size_t)count))
            work_out(c, program, (size_t)count);
    }
}
