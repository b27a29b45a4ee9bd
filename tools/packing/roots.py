"""Bare systems to try packages in: made once by debootstrap, and used through a layer that is thrown away."""

import os
import pathlib
import shutil
import subprocess
import tempfile

SCRIPTS = pathlib.Path("/usr/share/debootstrap/scripts")
# name: (suite, the suite whose script makes it where debootstrap is older than it)
SYSTEMS = {
    "Debian 11": ("bullseye", "sid"),
    "Debian 12": ("bookworm", "sid"),
    "Debian 13": ("trixie", "sid"),
    "Ubuntu 16.04": ("xenial", "gutsy"),
    "Ubuntu 18.04": ("bionic", "gutsy"),
    "Ubuntu 20.04": ("focal", "gutsy"),
    "Ubuntu 26.04": ("resolute", "gutsy"),
}
ENVIRONMENT = ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root", "LC_ALL=C.UTF-8",
               "DEBIAN_FRONTEND=noninteractive"]
# In namespaces of its own, with a /proc that is true there.
ENTER = 'mount -t proc proc "$1/proc" && cd / && shift && exec "$@"'


class Unavailable(Exception):
    """Why a system cannot be had here."""


def make(name, folder):
    """The bare system of that name below `folder`: with an interpreter, and without a compiler."""
    suite, script = SYSTEMS[name]
    root = folder / suite
    if (folder / f"{suite}.done").exists():
        return root
    if os.geteuid() != 0:
        raise Unavailable("only root can make and enter a bare system")
    if not shutil.which("debootstrap"):
        raise Unavailable("debootstrap is not installed: tools/setup packages")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    ubuntu = script == "gutsy"
    command = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv",
               f"--components={'main,universe' if ubuntu else 'main'}", suite, root]
    if not (SCRIPTS / suite).exists() or os.environ.get("TIDEMARK_MIRROR"):
        command += [os.environ.get("TIDEMARK_MIRROR", ""), SCRIPTS / script]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        shutil.rmtree(root, ignore_errors=True)
        said = done.stdout.strip().splitlines()[-1:] or ["without a word"]
        raise Unavailable(f"debootstrap of {suite} failed: {said[0]}")
    (folder / f"{suite}.done").touch()
    return root


class Layer:
    """A bare system that may be changed: `path` is its root."""

    def __init__(self, base):
        self.base = base

    def __enter__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-root-"))
        self.path = self.work / "root"
        for part in ("upper", "inner", "root"):
            (self.work / part).mkdir()
        done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                               f"lowerdir={self.base},upperdir={self.work}/upper,workdir={self.work}/inner",
                               self.path], capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(self.work)
            raise Unavailable(f"a layer over it cannot be mounted: {done.stderr.strip()}")
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)
        shutil.rmtree(self.work, ignore_errors=True)

    def run(self, *command, timeout=120):
        return run_in(self.path, [*ENVIRONMENT, *command], timeout)

    def files(self, *places):
        """All files and folders below these places."""
        return sorted(str(p) for place in places for p in (self.path / place).rglob("*"))


def command_in(root, command):
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", str(root),
            "chroot", str(root), *map(str, command)]


def run_in(root, command, timeout=120):
    """A command inside of a root, in namespaces of its own."""
    return subprocess.run(command_in(root, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
