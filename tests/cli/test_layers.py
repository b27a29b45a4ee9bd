"""tools/check_layers finds what it is for: circles of modules, and ways around the door to the system."""

import importlib.machinery
import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def layers():
    loader = importlib.machinery.SourceFileLoader("check_layers", str(ROOT / "tools" / "check_layers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
    loader.exec_module(module)
    return module


def including(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


def test_modules_that_include_each_other_are_found(layers):
    texts = {"inject/a.h": "", "inject/a.c": including("inject/a.h", "inject/b.h"),
             "inject/b.h": "", "inject/b.c": including("inject/b.h", "inject/c.h"),
             "inject/c.h": including("inject/a.h")}
    [breach] = layers.check_cycles(texts)
    assert breach.endswith("inject/a -> inject/b -> inject/c -> inject/a")
    texts["inject/c.h"] = ""
    assert not list(layers.check_cycles(texts))


def test_a_header_that_a_module_shares_with_its_kin_is_a_part_of_it(layers):
    texts = {"procs/tree.h": "", "procs/tree_inner.h": including("procs/tree.h"),
             "procs/tree.c": including("procs/tree.h", "procs/tree_inner.h"),
             "procs/tree_claim.c": including("procs/tree_inner.h")}
    assert not list(layers.check_cycles(texts))
    texts["procs/tree_inner.c"] = ""  # with code of its own it is a module like any other
    assert list(layers.check_cycles(texts))


@pytest.mark.parametrize("line", [
    "#include <linux/netlink.h>", "#include <sys/prctl.h>", "#include <sys/signalfd.h>",
    'fd = open("/proc/self/statm", O_RDONLY);', 'mount = "/sys/fs/cgroup";', "prctl(1);",
    "fd = syscall(SYS_pidfd_open, pid, 0);", "socket(AF_NETLINK, 0, 0);"])
def test_what_only_linux_has_is_named_behind_the_door_alone(layers, line):
    assert list(layers.check_system("watch/watch.c", line))
    assert list(layers.check_system("platform/platform.h", line))
    assert not list(layers.check_system("platform/linux_self.c", line))
    assert not list(layers.check_system("watch/watch.c", f"/* {line} */"))


ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FOLDERS = sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_architecture_names_each_folder(folder):
    assert len(re.findall(rf"^    src/{folder}/ +\S", ARCHITECTURE, re.M)) == 1
    assert re.search(rf"^\| {folder} \| ", ARCHITECTURE, re.M)


def test_the_architecture_says_of_each_header_what_is_checked(layers):
    assert not list(layers.check_architecture(ARCHITECTURE))
    for other in (ARCHITECTURE.replace("| serve | base |", "| serve | base; model |"),
                  ARCHITECTURE.replace("questions/table.h; ", "questions; "),
                  ARCHITECTURE.replace("| serve | base |\n", ""), ""):
        assert other != ARCHITECTURE
        assert list(layers.check_architecture(other))
