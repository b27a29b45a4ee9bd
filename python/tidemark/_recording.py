"""Recording of this process by itself: `with tidemark.record("out.tide"):`.

The tool is started beside us as the collector (`tidemark attach --self-loading`, see tidemark.h); we
load its library, join, and leave at the end. The library stays loaded, idle.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys

from . import _recorder
from ._region import region

_BUSY = 1
_REFUSALS = {  # enum tidemark_join_error
    1: "this process is already recorded",
    2: "the tool gave no ring that can be joined",
    3: "the kernel is too old: Linux 4.14 is needed",
    4: "the ring cannot be opened, or this process holds another version of tidemark",
    5: "there is no room in the ring",
}


class RecordingError(RuntimeError):
    """This process cannot be recorded; the text says why, in one sentence."""


class ToolNotFound(RecordingError):
    """The program `tidemark` is not where it is looked for."""


def find_tool():
    """The path of the tool: $TIDEMARK, else of PATH, else where things are installed."""
    named = os.environ.get("TIDEMARK")
    if named:
        found = shutil.which(named)
        if not found:
            raise ToolNotFound(f"$TIDEMARK is {named!r}, which is not a program that can be run")
        return found
    library = _library_in_process()
    folders = [os.path.dirname(library), os.path.join(os.path.dirname(library), "../../bin")]
    folders = folders if library else []
    folders += [os.path.join(sys.prefix, "bin"), "/usr/local/bin", "/usr/bin",
                os.path.expanduser("~/.local/bin")]
    found = shutil.which("tidemark") or shutil.which("tidemark", path=os.pathsep.join(folders))
    if not found:
        raise ToolNotFound("the program 'tidemark' is not found: put it into a folder of PATH, or "
                           "its path into the environment variable TIDEMARK")
    return os.path.realpath(found)


def _library_in_process():
    """The path of a library of tidemark that is loaded already; else the empty text."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            found = re.search(r"\s(/\S*/libtidemark\.so)$", line)
            if found:
                return found.group(1)
    return ""


def _load(path):
    """The library. PyDLL: the allocators of Python are changed by a thread that holds the GIL."""
    try:
        library = ctypes.PyDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        library.tidemark_join.argtypes = [ctypes.c_char_p]
        library.tidemark_leave.restype = None
    except (OSError, AttributeError) as error:
        raise RecordingError(f"the library of tidemark cannot be loaded: {error}") from None
    return library


def is_recorded():
    """Is this process recorded now, whoever began it? The calls of this package then reach that."""
    path = _library_in_process()
    if not path or _load(path).tidemark_join(b"") != _BUSY:  # no ring: only asked, not joined
        return False
    if _recorder.api is None:
        _recorder.api = _recorder.find(path)
    return True


class record:
    """Record this process into a trace while a block of code runs.

    with tidemark.record("out.tide"):               allocations sampled
    with tidemark.record("out.tide", exact=True):   every allocation

    The other options are those of `tidemark attach`: sample="64KiB", depth=, interval=; names=False
    ends sooner, without the names of native functions. In a process that is recorded already (by
    `tidemark record`, or by a block around this one) only a region of that name is marked, and
    `recorded` is false. What was allocated before is not known.
    """

    def __init__(self, path, *, exact=False, names=True, **options):
        self.path = os.path.abspath(os.fspath(path))
        self.recorded = False
        flags = {"exact": exact, "no-names": not names, **options}
        self._options = []
        for name, value in flags.items():
            name = "--" + name.replace("_", "-")
            if value is True:
                self._options.append(name)
            elif value is not None and value is not False:
                self._options += [name, str(value)]
        self._region = self._tool = self._library = self._process = None

    def __enter__(self):
        if self._process is not None:
            raise RecordingError("this recording has begun already; make another object")
        self._process = os.getpid()
        if is_recorded():
            self._region = region(os.path.basename(self.path)).__enter__()
            return self
        ring, library = self._start_tool()
        try:
            self._join(_library_in_process() or library, ring)
        except BaseException:
            self._tool.kill()
            self._tool.communicate()
            _remove(self.path)
            raise
        self.recorded = True
        return self

    def __exit__(self, *_exception):
        if self._process != os.getpid():
            return  # a forked child has come here, too: the recording is its parent's
        if self._region:
            self._region.__exit__()
        elif self._tool:
            self._library.tidemark_leave()
            _recorder.api = None
            self._end_tool()

    def _start_tool(self):
        words = [find_tool(), "attach", "--self-loading", "-q", "--force", "-o", self.path, *self._options,
                 str(os.getpid())]
        try:
            # A session of its own: Ctrl-C is for us, and the trace is ended by us.
            self._tool = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise RecordingError(f"{words[0]} cannot be started: {error.strerror}") from None
        said = self._tool.stdout.readline().split()
        if len(said) != 2:
            self._tool.kill()
            raise RecordingError(self._last_words())
        return said[0], os.fsdecode(said[1])

    def _join(self, library, ring):
        self._library = _load(library)
        api = _recorder.find(library)
        if api is None:
            raise RecordingError(f"{library} is older than this package: reinstall both")
        refused = self._library.tidemark_join(ring)
        if refused:
            raise RecordingError(_REFUSALS.get(refused, "the library of tidemark refuses and gives no reason"))
        _recorder.api = api

    def _end_tool(self):
        if self._tool.poll() is None:
            self._tool.send_signal(signal.SIGINT)
        said = self._last_words()
        if self._tool.returncode:
            raise RecordingError(said)

    def _last_words(self):
        """Wait for its end; what it has said, as one sentence."""
        said = self._tool.communicate()[1].decode("utf-8", "replace").strip().splitlines()
        text = said[-1] if said else f"the tool ended with status {self._tool.returncode}"
        return text.replace("tidemark: ", "", 1)


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass
