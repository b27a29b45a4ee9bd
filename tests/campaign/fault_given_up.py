"""A program gives up what it had (its root folder, its user, its descriptors, a namespace), then starts
threads and children: they live, and what cannot be recorded of them is said."""

from harness import Case, fault

HOWS = ("chroot", "setuid", "caps", "fds", "closefrom", "dumpable", "mountns", "netns", "userns",
        "pidns")


@fault("after", {f"{how}{mode}": (how, mode) for how in HOWS for mode in ("", "-sampled")})
def after(case: Case) -> None:
    how, mode = case.variant
    if mode:
        case.mode = case.dice.choice([[], ["--sample", "1KiB"]])
    calls = case.dice.randint(50, 3000)
    plain = case.run(case.subject("after", how, calls))
    recorded = case.run(case.recorder(case.subject("after", how, calls)))
    case.same_end(plain, recorded)
    if not mode:
        case.compare()
