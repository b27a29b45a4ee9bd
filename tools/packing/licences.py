"""Which foreign code is linked into the programs, and under which terms: asked of the linker itself.

Each static library that a link uses belongs to a package of the distribution, whose copyright file says
what holds. A library that nobody has looked at yet fails, so that nothing is shipped unread.
"""

import json
import pathlib
import re
import shlex
import subprocess

# By source package: its name for others, its terms as they concern us, and what follows from them.
KNOWN = {
    "elfutils": ("elfutils (libdw, libelf)", "LGPL-3.0-or-later or GPL-2.0-or-later",
                 "tidemark-resolve can be linked again with another one: see relink/README"),
    "binutils": ("libiberty (the demangler)", "LGPL-2.0-or-later with an exception for linking", ""),
    "glibc": ("GNU C library", "LGPL-2.1-or-later",
              "the sources of tidemark, with which it can be linked again, come with each release"),
    "gcc-12": ("libgcc", "GPL-3.0 with the GCC runtime library exception", ""),
    "gcc-13": ("libgcc", "GPL-3.0 with the GCC runtime library exception", ""),
    "gcc-14": ("libgcc", "GPL-3.0 with the GCC runtime library exception", ""),
    "zlib": ("zlib", "Zlib", ""),
    "xz-utils": ("liblzma", "public domain", ""),
    "bzip2": ("bzip2", "bzip2-1.0.6", ""),
    "libzstd": ("Zstandard", "BSD-3-Clause", ""),
    "jansson": ("Jansson", "MIT", ""),
    "fonts-dejavu": ("DejaVu Sans (the font of -f png)", "Bitstream Vera, and public domain", ""),
    "libiberty": ("libiberty (the demangler)", "LGPL-2.0-or-later with an exception for linking", ""),
}

COMMON = ("GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3")  # what the copyright files refer to


class Unknown(Exception):
    """A sentence about what cannot be shipped."""


def link_command(build, target):
    said = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", target], check=True,
                          capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if f"-o {target} " in line][-1]


def archives(build, target):
    """The archives of the system that are linked into a program."""
    said = subprocess.run(f"{link_command(build, target)} -Wl,--trace -o /dev/null", shell=True, check=True,
                          cwd=build, capture_output=True, text=True).stdout
    found = {pathlib.Path(m) for m in re.findall(r"^\(?(/[^)\n]*\.a)\)?", said, re.M)}
    return sorted({path.resolve() for path in found})


def package_of(path):
    """(package, version, source package) that a file is of."""
    for name in (path, pathlib.Path(str(path).removeprefix("/usr"))):
        said = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False).stdout
        if said:
            package = said.split(": ")[0].split(",")[0]
            show = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\t${source:Package}", package],
                                  check=True, capture_output=True, text=True).stdout
            version, source = show.split("\t")
            return package.split(":")[0], version, source
    raise Unknown(f"{path} is linked in and of no package: its licence is not known")


def fonts(build):
    """The font that was put into the tool."""
    options = json.loads((pathlib.Path(build) / "meson-info" / "intro-buildoptions.json").read_text(encoding="utf-8"))
    return [pathlib.Path(o["value"]) for o in options if o["name"] == "font" and pathlib.Path(o["value"]).exists()]


def linked(build, targets):
    """{source package: (package, version)} of all that is linked into these programs."""
    found = {}
    for target in targets:
        for path in archives(build, target) + (fonts(build) if target == "tidemark" else []):
            package, version, source = package_of(path)
            if source not in KNOWN:
                raise Unknown(f"{path} (of {source}) is linked in, and tools/packing/licences.py does not "
                              "know its licence: read it, and add it there")
            found[source] = (package, version)
    return found


def relinkable(build, target, out):
    """Our own part of a program as one object, to be linked with other versions of the libraries."""
    words = shlex.split(link_command(build, target))
    ours = [w for w in words if not w.startswith(("-", "/")) and w.endswith((".o", ".a"))]
    subprocess.run(["ld", "-r", "--gc-sections", "--entry=main", "-o", out.resolve(), "--start-group", *ours,
                    "--end-group"], cwd=build, check=True)
    subprocess.run(["strip", "--strip-debug", out], check=True)


RELINK = """To link tidemark-resolve with another elfutils than the one inside it, on a system with the
static libraries (on Debian: libdw-dev libelf-dev liblzma-dev libbz2-dev zlib1g-dev libiberty-dev):

    gcc -static -no-pie -o tidemark-resolve tidemark-resolve.o \\
        -ldw -lelf -llzma -lbz2 -lz -liberty

and put it in the place of the one in lib/tidemark. Without -static it uses the shared libraries.
"""


def third_party(found, bundled):
    """The list of all foreign code, as text."""
    lines = ["# What is inside besides tidemark", "",
             "tidemark itself is under the MIT licence (LICENSE). Linked into its programs, as built from the",
             "named packages of Debian or Ubuntu, whose sources those distributions keep:", "",
             "| what | licence | package | |", "|---|---|---|---|"]
    for source, (_, version) in sorted(found.items()):
        name, licence, note = KNOWN[source]
        lines.append(f"| {name} | {licence} | {source} {version} | {note} |")
    for name, licence in bundled:
        lines.append(f"| {name} | {licence} | | in the page of `report --html` and alike |")
    lines += ["", "Their full terms are in the files beside this one. libtidemark.so, which enters other",
              "programs, holds code of tidemark and libgcc alone.", ""]
    return "\n".join(lines)


def bundled_in_page(root):
    """(name, licence) of what the page brings along, as its lock file says."""
    lock = root / "web" / "package-lock.json"
    if not lock.exists():
        return []
    packages = json.loads(lock.read_text(encoding="utf-8")).get("packages", {})
    return sorted((f"{path.rpartition('node_modules/')[2]} {p['version']}", p.get("license", "see its package"))
                  for path, p in packages.items() if path and not p.get("dev"))


def write(root, build, folder):
    """Fill a folder with the terms of everything, and with what is needed to link again."""
    found = linked(build, ["tidemark", "tidemark-resolve", "tidemark-devices"])
    (folder / "relink").mkdir(parents=True)
    (folder / "LICENSE").write_bytes((root / "LICENSE").read_bytes())
    (folder / "THIRD-PARTY.md").write_text(third_party(found, bundled_in_page(root)), encoding="utf-8")
    for source, (package, _) in found.items():
        text = pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()
        (folder / f"{source}.copyright").write_bytes(text)
    for name in COMMON:
        (folder / name).write_bytes(pathlib.Path("/usr/share/common-licenses", name).read_bytes())
    relinkable(build, "tidemark-resolve", folder / "relink" / "tidemark-resolve.o")
    (folder / "relink" / "README").write_text(RELINK, encoding="utf-8")
    return found
