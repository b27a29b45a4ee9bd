"""The whole recording takes place somewhere odd: in namespaces, as nobody, without capabilities, or it
runs a program as somebody else."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess

from harness import (NOTHING_LOST, Case, Skip, become_nobody, fault, libc, need_root,
                     unshare)

NEWNS, NEWUSER, NEWPID, NEWNET, NEWIPC, NEWUTS = (
    0x20000, 0x10000000, 0x20000000, 0x40000000, 0x8000000, 0x4000000)
SPACES = {"user": NEWUSER, "mount": NEWNS, "net": NEWNET, "ipc": NEWIPC | NEWUTS,
          "user-mount-net": NEWUSER | NEWNS | NEWNET}


def both(case: Case, prefix: list[str], what: tuple[object, ...], all_of_it: bool = False) -> None:
    """The recorder outside of `prefix`, a command that runs the subject somewhere else."""
    if not shutil.which(prefix[0]):
        raise Skip(f"{prefix[0]} is not installed")
    plain = case.run([*prefix, *case.subject(*what)])
    if plain.status != (7 if what[0] == "work" else 0):
        raise Skip(f"{' '.join(prefix)} does not work here: {plain.err[-100:]!r}")
    case.names |= {pathlib.Path(prefix[0]).name, "sh", "bash", "env"}
    recorded = case.run(case.recorder([*prefix, *case.subject(*what)]))
    case.same_end(plain, recorded)
    case.compare(all_of_it)


@fault("within", SPACES)
def within(case: Case) -> None:
    if case.variant & NEWUSER == 0:
        need_root()
    what = case.dice.choice([("work", 2, 2000), ("fork", 4, 300, 0)])
    plain = case.run(case.subject(*what), lambda: unshare(case.variant))
    recorded = case.run(case.recorder(case.subject(*what)), lambda: unshare(case.variant))
    case.same_end(plain, recorded)
    case.compare(all_of_it=True)


PREFIXES = {
    "su": ["su", "nobody", "-s", "/bin/sh", "-c", 'exec "$0" "$@"', "--"],
    "setpriv-user": ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"],
    "setpriv-caps": ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"],
    "unshare-user-pid": ["unshare", "-Urpf", "--mount-proc"],
    "unshare-pid": ["unshare", "-pf", "--mount-proc"],
    "unshare-pids": ["unshare", "-pf", "unshare", "-Urpf", "--mount-proc"],
    "bubblewrap": ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"],
    "unshare-mount": ["unshare", "-m"],
    "unshare-net": ["unshare", "-n"],
    "unshare-all": ["unshare", "-Urmnipf", "--mount-proc"],
    "env-empty": ["env", "-i"],
    "nice": ["nice", "-n", "19"],
    "setsid": ["setsid", "-w"],
    "timeout": ["timeout", "50"],
}


# Where a network or no right to look keeps a program from asking for the memory.
UNREACHED = ("unshare-net", "unshare-all")


@fault("through", {name: (name, prefix) for name, prefix in PREFIXES.items()})
def through(case: Case) -> None:
    need_root()
    name, prefix = case.variant
    what = case.dice.choice([("work", 2, 2000), ("fork", 6, 300, 0), ("spawn", 3, 300, 0)])
    both(case, prefix, what, all_of_it=name not in UNREACHED)
    if name not in UNREACHED:
        case.each_is_known()


@fault("as-nobody")
def as_nobody(case: Case) -> None:
    need_root()
    what = case.dice.choice([("work", 2, 2000), ("fork", 6, 300, 0)])
    plain = case.run(case.subject(*what), become_nobody)
    recorded = case.run(case.recorder(case.subject(*what)), become_nobody)
    case.same_end(plain, recorded)
    case.compare(all_of_it=True)


def new_root(case: Case) -> pathlib.Path:
    """A folder with the subject and what it needs to run, and nothing else."""
    root = case.folder / "root"
    needs = subprocess.run(["ldd", case.programs / "subject"], capture_output=True, text=True,
                           check=True).stdout
    for name in [*re.findall(r"/\S+", needs), str(case.programs / "subject")]:
        place = root / (name[1:] if "/lib" in name else "subject")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, place)
    root.chmod(0o755)
    return root


@fault("into-chroot", {"as-root": [], "as-nobody": ["--userspec=65534:65534"]})
def into_chroot(case: Case) -> None:
    """In the new root neither the library nor /proc is visible."""
    need_root()
    root = new_root(case)
    outcomes = []
    for before in ([], case.recorder([])):
        log = case.new_log()
        case.log = root / log.name
        log.rename(case.log)
        outcomes.append(case.run([*before, "chroot", *case.variant, str(root), "/subject",
                                  f"/{log.name}", "fork", "5", "300", "0"]))
    case.names.add("chroot")
    case.same_end(*outcomes)
    case.compare()


@fault("set-user-id")
def set_user_id(case: Case) -> None:
    """The loader keeps the library out of such a program."""
    need_root()
    program = case.folder / "subject"
    shutil.copy(case.programs / "subject", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o6755)
    shell = ["sh", "-c", '"$0" "$@"; exit $?', str(program)]
    plain = case.run([*shell, *case.subject("work", 2, 500)[1:]], become_someone)
    recorded = case.run(case.recorder([*shell, *case.subject("work", 2, 500)[1:]]), become_someone)
    case.names.add("sh")
    case.same_end(plain, recorded)
    case.compare()


def become_someone() -> None:
    os.setgroups([])
    os.setresgid(12345, 12345, 12345)
    os.setresuid(12345, 12345, 12345)


@fault("static-children")
def static_children(case: Case) -> None:
    """Programs that the library cannot enter, too short to be met by chance: a report that knows
    nothing of them must not say that all was recorded."""
    nop = case.build / "tests" / "targets" / "static_nop"
    count = case.dice.randint(1, 6)
    recorded = case.run(case.recorder(["sh", "-c", f"{nop};" * count + "exit 7"]))
    case.demand(recorded.status == 7, f"{recorded}")
    coverage = case.report()["coverage"]
    case.demand(NOTHING_LOST not in coverage["line"] or coverage["recorded"] < coverage["processes"],
                f"{count} static programs ran, and it says {coverage['line']!r}")


@fault("no-new-privileges")
def no_new_privileges(case: Case) -> None:
    """PR_SET_NO_NEW_PRIVS before the recorder starts."""
    def before() -> None:
        libc.prctl(38, ctypes.c_ulong(1), 0, 0, 0)

    plain = case.run(case.subject("fork", 4, 300, 0), before)
    recorded = case.run(case.recorder(case.subject("fork", 4, 300, 0)), before)
    case.same_end(plain, recorded)
    case.compare(all_of_it=True)
