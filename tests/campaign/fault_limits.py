"""Every limit of a shell, small: the command runs as it does without the recorder, which records what it
can or says in a sentence why not."""

import resource

from harness import Case, Skip, become_nobody, fault, limit, need_root

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

LIMITS = {
    "fsize": (resource.RLIMIT_FSIZE, [0, 512, 64 * KIB, MIB, GIB]),
    "stack": (resource.RLIMIT_STACK, [64 * KIB, 256 * KIB]),
    "data": (resource.RLIMIT_DATA, [MIB, 4 * MIB, 64 * MIB]),
    "nofile": (resource.RLIMIT_NOFILE, [8, 12, 24, 64]),
    "as": (resource.RLIMIT_AS, [32 * MIB, 128 * MIB, GIB]),
    "core": (resource.RLIMIT_CORE, [0]),
    "memlock": (resource.RLIMIT_MEMLOCK, [0]),
    "sigpending": (resource.RLIMIT_SIGPENDING, [0, 1]),
    "msgqueue": (resource.RLIMIT_MSGQUEUE, [0]),
}
VARIANTS = {f"{name}-{amount}": (which, amount)
            for name, (which, amounts) in LIMITS.items() for amount in amounts}


@fault("limit", VARIANTS)
def limited(case: Case) -> None:
    before = limit(*case.variant)
    what = case.dice.choice([("work", 2, 2000), ("fork", 4, 300, 0), ("spawn", 3, 300, 0)])
    plain = case.run(case.subject(*what), before)
    recorded = case.run(case.recorder(case.subject(*what)), before)
    case.same_end(plain, recorded, may_fail=True)
    if not recorded.err:
        case.compare()


@fault("limit-processes", {str(n): n for n in (0, 1, 8)})
def processes(case: Case) -> None:
    """Root is not limited so: as somebody else."""
    need_root()

    def before() -> None:
        limit(resource.RLIMIT_NPROC, case.variant)()
        become_nobody()

    try:
        plain = case.run(case.subject("work", 2, 2000), before)
        recorded = case.run(case.recorder(case.subject("work", 2, 2000)), before)
    except BlockingIOError:
        raise Skip("this user has other processes, and may not start one more") from None
    case.same_end(plain, recorded, may_fail=True)
    if not recorded.err:
        case.compare()
