/* jail - see jail.h. The filters are written by hand, so that no library is needed: a list of
 * numbers of system calls, each with what becomes of the call. A call that is refused fails with
 * EPERM, which the program can report, where a death could not be told from a crash.
 */
#include "base/jail.h"

#include "arch/arch.h"
#include "base/count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DATA_MOST ((rlim_t)4 << 30) /* eight times what the namer keeps of its files; a guess */
#define CPU_MOST 900                /* seconds */
#define CAPABILITIES_MOST 63

/* Sanitizers reserve memory beyond any limit, and look for leaks from a process of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

/* ---- capabilities and limits ---- */

static void drop_capabilities(void)
{
    const uint64_t files = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH;
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    uint32_t kept;

    for (int c = 0; c <= CAPABILITIES_MOST; c++)
        if (!(files >> c & 1))
            prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    if (syscall(SYS_capget, &head, data) != 0)
        return;
    kept = data[0].permitted & (uint32_t)files;
    data[0] = (struct __user_cap_data_struct){.effective = kept, .permitted = kept};
    data[1] = (struct __user_cap_data_struct){0};
    syscall(SYS_capset, &head, data);
}

void jail_privileges(void)
{
    const struct rlimit none = {0, 0};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    drop_capabilities();
    setrlimit(RLIMIT_CORE, &none); /* it would hold what was read */
}

static void limit(int resource, rlim_t most)
{
    struct rlimit now;

    if (getrlimit(resource, &now) < 0)
        return;
    now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
    now.rlim_cur = now.rlim_cur < now.rlim_max ? now.rlim_cur : now.rlim_max;
    setrlimit(resource, &now);
}

/* ---- landlock ---- */

#ifdef SYS_landlock_create_ruleset
/* What is listed is refused everywhere, because no rule allows it anywhere. */
static void refuse_by_landlock(uint64_t access)
{
    struct landlock_ruleset_attr what = {.handled_access_fs = access};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &what, sizeof(what.handled_access_fs), 0);

    if (fd < 0)
        return;
    syscall(SYS_landlock_restrict_self, fd, 0);
    close(fd);
}

static void refuse_writing(void)
{
    refuse_by_landlock(
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
        LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
        LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
        LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM);
}

static void refuse_executing(void)
{
    refuse_by_landlock(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                       LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK);
}
#else
static void refuse_writing(void)
{
}
static void refuse_executing(void)
{
}
#endif

/* ---- system calls ---- */

#define NUMBER offsetof(struct seccomp_data, nr)
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n)) /* its low half */
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)(what))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define IF_IS(value, then) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), RETURN(then)
#define IF_BITS(bits, then) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), RETURN(then)
/* A call that is refused if one of its arguments has one of these bits. */
#define UNLESS_BITS(call, argument, bits)                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(ARGUMENT(argument)),                   \
        IF_BITS(bits, REFUSE), RETURN(SECCOMP_RET_ALLOW)
/* Another architecture's numbers mean other calls. */
#define OUR_CALLS_ONLY                                                                             \
    LOAD(offsetof(struct seccomp_data, arch)),                                                     \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),   \
        LOAD(NUMBER)
#define ALLOW(call) IF_IS(call, SECCOMP_RET_ALLOW)
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static void install(struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = {(unsigned short)count, filter};

    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void allow_reading(void)
{
    struct sock_filter filter[] = {
        OUR_CALLS_ONLY,
        ALLOW(SYS_recvfrom),
        ALLOW(SYS_sendto),
        ALLOW(SYS_pread64),
        ALLOW(SYS_read),
        ALLOW(SYS_munmap),
        ALLOW(SYS_brk),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_close),
        ALLOW(SYS_fstat),
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_statx),
        ALLOW(SYS_lseek),
        ALLOW(SYS_faccessat),
        ALLOW(SYS_faccessat2),
        ALLOW(SYS_readlinkat),
        ALLOW(SYS_getcwd),
        ALLOW(SYS_fcntl),
        ALLOW(SYS_write),
        ALLOW(SYS_writev),
        ALLOW(SYS_ppoll),
        ALLOW(SYS_futex),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_clock_gettime),
        ALLOW(SYS_gettimeofday),
        ALLOW(SYS_sysinfo),
        ALLOW(SYS_uname),
        ALLOW(SYS_getpid),
        ALLOW(SYS_gettid),
        ALLOW(SYS_getuid),
        ALLOW(SYS_geteuid),
        ALLOW(SYS_tgkill), /* abort, on itself; without rights on others it reaches nobody else */
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_sigaltstack),
        ALLOW(SYS_sched_yield),
        ALLOW(SYS_sched_getaffinity),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
#ifdef SYS_open
        UNLESS_BITS(SYS_open, 1, WRITES),
        ALLOW(SYS_stat),
        ALLOW(SYS_lstat),
        ALLOW(SYS_access),
        ALLOW(SYS_readlink),
        ALLOW(SYS_poll),
#endif
        UNLESS_BITS(SYS_openat, 2, WRITES),
        UNLESS_BITS(SYS_mmap, 2, PROT_EXEC),
        UNLESS_BITS(SYS_mprotect, 2, PROT_EXEC),
        RETURN(REFUSE),
    };

    install(filter, COUNT(filter));
}

static void refuse_others(void)
{
    struct sock_filter filter[] = {
        OUR_CALLS_ONLY,
        IF_IS(SYS_execve, REFUSE),
        IF_IS(SYS_execveat, REFUSE),
        IF_IS(SYS_socket, REFUSE),
        IF_IS(SYS_socketpair, REFUSE),
        IF_IS(SYS_connect, REFUSE),
        IF_IS(SYS_bind, REFUSE),
        IF_IS(SYS_process_vm_readv, REFUSE),
        IF_IS(SYS_process_vm_writev, REFUSE),
        IF_IS(SYS_setns, REFUSE),
        IF_IS(SYS_unshare, REFUSE),
        IF_IS(SYS_mount, REFUSE),
        IF_IS(SYS_bpf, REFUSE),
        IF_IS(SYS_perf_event_open, REFUSE),
        IF_IS(SYS_keyctl, REFUSE),
#ifdef SYS_fork
        IF_IS(SYS_fork, REFUSE),
        IF_IS(SYS_vfork, REFUSE),
#endif
#ifndef SANITIZED
        IF_IS(SYS_clone, REFUSE),
        IF_IS(SYS_ptrace, REFUSE),
#endif
        IF_IS(SYS_clone3, REFUSE),
        IF_IS(SYS_io_uring_setup, REFUSE),
        UNLESS_BITS(SYS_mmap, 2, PROT_EXEC),
        UNLESS_BITS(SYS_mprotect, 2, PROT_EXEC),
        RETURN(SECCOMP_RET_ALLOW),
    };

    install(filter, COUNT(filter));
}

void jail_reader(void)
{
    jail_privileges();
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, CPU_MOST);
#ifndef SANITIZED
    limit(RLIMIT_DATA, DATA_MOST);
#endif
    refuse_writing();
    allow_reading();
}

void jail_command(void)
{
    jail_privileges();
    refuse_executing();
    refuse_others();
}
