"""System calls that are not there: as in containers, sandboxes and old kernels. Whatever the recorder or
its library would like to call may fail; the command runs, and a loss is said."""

import errno
from collections.abc import Callable

import sieve
from harness import Case, fault

OPTIONAL = """pidfd_open memfd_create process_vm_readv process_vm_writev timer_create timer_settime
timer_delete perf_event_open prlimit64 statx membarrier clone3 rseq getrandom signalfd4 ppoll
ptrace sched_getaffinity getrusage madvise close_range pidfd_send_signal sigaltstack socket bind
sendmsg recvmsg socketpair setpriority sched_setscheduler fallocate getdents64 readlinkat
prctl seccomp landlock_create_ruleset kill tgkill sysinfo uname mremap
copy_file_range epoll_create1 eventfd2 sched_setaffinity personality capget
getpriority faccessat2 renameat2 unlink mincore flock""".split()
ERRORS = {"ENOSYS": errno.ENOSYS, "EPERM": errno.EPERM}
WHATS = (("work", 2, 2000), ("fork", 4, 300, 0), ("spawn", 3, 300, 0), ("exec", 2, 300))


def behind(case: Case, before: Callable[[], None]) -> None:
    what = case.dice.choice(WHATS)
    plain = case.run(case.subject(*what), before)
    recorded = case.run(case.recorder(case.subject(*what)), before)
    case.same_end(plain, recorded, may_fail=True)
    if not recorded.err:
        case.compare()


@fault("denied", {f"{name}-{error}": (name, error) for name in OPTIONAL for error in ERRORS})
def denied(case: Case) -> None:
    name, error = case.variant
    behind(case, sieve.denied(name, ERRORS[error]))


@fault("docker", {"today": "futex_waitv", "2020": "statx"})
def docker(case: Case) -> None:
    behind(case, sieve.docker(case.variant))
