"""A wheel out of an installed tree: the command, its library and helper, and the Python package.

The command starts without an interpreter, and looks for its parts in ../lib/tidemark, so one wheel serves
every version of Python, and nothing is built where it is installed.
"""

import base64
import hashlib
import zipfile

EXECUTABLE = 0o100755 << 16
PLAIN = 0o100644 << 16
PLATFORM = "manylinux_2_17_x86_64"
OLD_NAME = "manylinux2014_x86_64"  # of the same, for pip before 20.3


class Wheel:
    def __init__(self, path, distribution, time):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.distribution, self.time, self.record = distribution, time, []

    def add(self, name, data, mode=PLAIN):
        data = data.encode() if isinstance(data, str) else data
        info = zipfile.ZipInfo(name, self.time)
        info.external_attr, info.compress_type = mode, zipfile.ZIP_DEFLATED
        self.file.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def add_tree(self, prefix, folder):
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            self.add(f"{prefix}/{path.relative_to(folder)}", path.read_bytes(),
                     EXECUTABLE if path.stat().st_mode & 0o100 else PLAIN)

    def close(self):
        name = f"{self.distribution}.dist-info/RECORD"
        self.record.append(f"{name},,")
        self.file.writestr(zipfile.ZipInfo(name, self.time), "\n".join(self.record) + "\n")
        self.file.close()


def metadata(project, readme):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}",
             "License: MIT, and others: see licenses/THIRD-PARTY.md"]
    lines += [f"Classifier: {c}" for c in project.get("classifiers", [])]
    lines += [f"Requires-Dist: {need}" for need in project.get("dependencies", [])]
    for extra, needs in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def entry_points(project):
    groups = dict(project.get("entry-points", {}))
    if project.get("scripts"):
        groups["console_scripts"] = project["scripts"]
    return "".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items())
                   for group, names in groups.items())


def make(root, stage, licences, project, time, out):
    """Write the wheel into `out`, and give its path."""
    distribution = f"{project['name']}-{project['version']}"
    path = out / f"{distribution}-py3-none-{PLATFORM}.{OLD_NAME}.whl"
    wheel = Wheel(path, distribution, time)
    wheel.add_tree("tidemark", root / "python" / "tidemark")
    data = f"{distribution}.data"
    wheel.add(f"{data}/scripts/tidemark", (stage / "bin" / "tidemark").read_bytes(), EXECUTABLE)
    # No manual pages, which `tidemark help` has: pip would leave their folders behind.
    wheel.add_tree(f"{data}/data/lib/tidemark", stage / "lib" / "tidemark")
    info = f"{distribution}.dist-info"
    wheel.add(f"{info}/METADATA", metadata(project, (root / "README.md").read_text(encoding="utf-8")))
    wheel.add(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: tools/package\nRoot-Is-Purelib: false\n"
              f"Tag: py3-none-{PLATFORM}\nTag: py3-none-{OLD_NAME}\n")
    if entry_points(project):
        wheel.add(f"{info}/entry_points.txt", entry_points(project))
    wheel.add_tree(f"{info}/licenses", licences)
    wheel.close()
    return path
