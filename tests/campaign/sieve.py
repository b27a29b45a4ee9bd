"""Filters of system calls, as containers and sandboxes have them."""

from __future__ import annotations

import ctypes
import errno
import pathlib
import re
import struct
from collections.abc import Callable

from harness import Skip, libc

HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h")
X86_64 = 0xC000003E
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NEW_NAMESPACES = 0x7E020000

# What Docker's default profile lets a container call on x86-64, with the capabilities that it has by itself.
DOCKER_ALLOWS = """
    access chdir chmod chown chroot close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
    fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr
    flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64
    getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lchown lgetxattr link linkat
    listxattr llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat mknod mknodat name_to_handle_at
    newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink
    readlinkat readv removexattr rename renameat renameat2 rmdir setxattr stat statfs statx symlink symlinkat
    sync sync_file_range syncfs truncate umask unlink unlinkat utime utimensat utimes write writev

    brk get_robust_list madvise membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mprotect
    mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_vm_readv
    process_vm_writev remap_file_pages set_robust_list shmat shmctl shmdt shmget

    arch_prctl capget capset execve execveat exit exit_group fork getcpu getegid geteuid getgid getgroups getpgid
    getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get
    ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self modify_ldt pidfd_open
    pidfd_send_signal prctl prlimit64 process_mrelease ptrace rseq sched_get_priority_max
    sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
    sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp
    set_thread_area get_thread_area set_tid_address setfsgid setfsuid setgid setgroups setpgid setpriority
    setregid setresgid setresuid setreuid setrlimit setsid setuid sysinfo times uname vfork wait4 waitid

    pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sigaltstack signalfd signalfd4 tgkill tkill

    adjtimex alarm clock_adjtime clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep
    setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
    timerfd_gettime timerfd_settime

    accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
    epoll_wait epoll_wait_old eventfd eventfd2 futex futex_waitv getpeername getrandom getsockname getsockopt
    io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit listen mq_getsetattr mq_notify mq_open
    mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd pipe pipe2 poll ppoll pselect6 recvfrom
    recvmmsg recvmsg select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto setsockopt
    shutdown socketpair splice tee vmsplice
""".split()
VSOCK = 40
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)

# What a program of threads makes itself, and libc for it, from its exec to its end; and Python before.
OF_PROGRAMS = """execve brk arch_prctl mmap munmap mprotect madvise mremap access openat read pread64 close fstat
newfstatat set_tid_address set_robust_list rseq prlimit64 getrandom futex clone clone3 rt_sigprocmask
rt_sigaction exit exit_group write sched_yield clock_gettime nanosleep clock_nanosleep restart_syscall
ftruncate getpid gettid sysinfo sched_getaffinity wait4 getdents64 close_range lseek fcntl dup3""".split()

Rule = tuple[int, int]  # a system call and the error that it ends with; or what else becomes of it


def numbers() -> dict[str, int]:
    """The system calls of this machine by name."""
    for path in HEADERS:
        if pathlib.Path(path).exists():
            found = re.findall(r"#define __NR_(\w+)\s+(\d+)", pathlib.Path(path).read_text())
            return {name: int(number) for name, number in found}
    raise Skip("the numbers of the system calls are not known here")


Code = list[tuple[int, int, int, int]]


def only(number: int, code: Code) -> Code:
    """What is done for this call alone; its first argument is at 16."""
    return [(EQUAL, 0, len(code), number), *code]


def refusing(rules: list[Rule]) -> Code:
    code: Code = []
    for number, error in rules:
        code += only(number, [(RETURN, 0, 0, ERRNO | error)])
    return [*code, (RETURN, 0, 0, ALLOW)]


def docker_code(table: dict[str, int], newest: int) -> Code:
    """Calls above `newest` were not known to it."""
    allow, refuse = (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | errno.EPERM)
    code = only(table["clone"], [(LOAD, 0, 0, 16), (ANY_BIT, 1, 0, NEW_NAMESPACES), allow, refuse])
    code += only(table["socket"], [(LOAD, 0, 0, 16), (EQUAL, 1, 0, VSOCK), allow, refuse])
    code += only(table["personality"], [(LOAD, 0, 0, 16), *(
        one for value in PERSONALITIES for one in ((EQUAL, 0, 1, value), allow)), refuse])
    if newest > table["clone3"]:
        code += only(table["clone3"], [(RETURN, 0, 0, ERRNO | errno.ENOSYS)])
    for name in DOCKER_ALLOWS:
        if table.get(name, newest + 1) <= newest:
            code += only(table[name], [allow])
    return [*code, refuse]


def sieve(rules: Code) -> Callable[[], None]:
    """What puts the filter on a process, for `before`."""
    code: Code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, X86_64), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, 0), *rules]
    return installer(b"".join(struct.pack("HBBI", *one) for one in code))


def put_on(rules: list[Rule]) -> Callable[[], None]:
    """The same of calls and what becomes of them, death perhaps."""
    code: Code = []
    for number, action in rules:
        code += only(number, [(RETURN, 0, 0, action)])
    return sieve([*code, (RETURN, 0, 0, ALLOW)])


def installer(text: bytes) -> Callable[[], None]:
    def install() -> None:
        held = ctypes.create_string_buffer(text, len(text))
        fprog = struct.pack("HxxxxxxP", len(text) // 8, ctypes.addressof(held))
        if libc.prctl(38, ctypes.c_ulong(1), 0, 0, 0) != 0 or \
                libc.prctl(22, ctypes.c_ulong(2), fprog, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")

    return install


def denied(name: str, error: int) -> Callable[[], None]:
    table = numbers()
    if name not in table:
        raise Skip(f"there is no system call {name} here")
    return sieve(refusing([(table[name], error)]))


def docker(newest: str) -> Callable[[], None]:
    """Docker's default profile of the time when this call was the newest that it knew."""
    table = numbers()
    return sieve(docker_code(table, table[newest]))
