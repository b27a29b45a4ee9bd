"""What PyTorch's operators read and write, for `tidemark report FILE inefficient`.

    import tidemark.torch
    with tidemark.torch.accesses():
        train_a_few_steps()

Needs PyTorch 2.1 or later. Each operator costs some microseconds more, so a few steps are enough; after

    python3 -c 'import tidemark.torch; tidemark.torch.build()'

which takes a C++ compiler and half a minute, once for each version of PyTorch, it is less than one. The
kernels of a compiled model are no operators: their accesses are not seen.
"""

import ctypes
import os
import stat
import subprocess
import tempfile

from . import _recorder

READ, WRITE, ALL, SOME = 1, 2, 4, 8  # include/tidemark.h
SHIM = 2  # another number for another _accesses.cpp
SLOW = ("told by a TorchDispatchMode, which makes steps a third slower and more; "
        "tidemark.torch.build() of the Python package builds what is faster")

_loaded = []  # the built library, or None, once it was looked for
_depth = 0  # of accesses() that use it


class accesses:
    """As long as the block lasts, tell every operator with what it reads and writes."""

    def __init__(self):
        self._mode = None

    def __enter__(self):
        if _recorder.api:
            self._mode = _mode_or_shim()
            self._mode.__enter__()
            self._mode.tells or _recorder.api.access(None, 0, ALL, None)
        return self

    def __exit__(self, *exception):
        if self._mode:
            self._mode.tells or _recorder.api.access(None, 0, SOME, None)
            mode, self._mode = self._mode, None
            mode.__exit__(*exception)


# ---- the built library


def _path(torch):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "tidemark", f"torch-accesses-{SHIM}-{torch.__version__}-{os.uname().machine}.so")


def _is_ours(path):
    """Nobody else may have put there what is loaded into this program."""
    try:
        file = os.stat(path)
    except OSError:
        return False
    return file.st_uid == os.geteuid() and not file.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def shim(torch):
    """The library that was built for this PyTorch; None: there is none, or it cannot be loaded."""
    if not _loaded:
        path, library = _path(torch), None
        if _is_ours(path):
            try:
                library = ctypes.PyDLL(path)
                library.tidemark_accesses_start.argtypes = [ctypes.c_void_p]
            except (OSError, AttributeError):
                library = None
        _loaded.append(library)
    return _loaded[0]


def build(compiler=None):
    """Build it for the PyTorch of this interpreter, and say where it is."""
    import torch

    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_accesses.cpp")
    root = os.path.dirname(os.path.abspath(torch.__file__))
    include, libraries = os.path.join(root, "include"), os.path.join(root, "lib")
    path = _path(torch)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        made = os.path.join(folder, "made.so")
        done = subprocess.run(
            [compiler or os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-O2", "-DNDEBUG", "-std=c++20",
             "-fvisibility=hidden", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}", "-isystem", include,
             "-isystem", os.path.join(include, "torch", "csrc", "api", "include"), "-o", made, source,
             "-L" + libraries, "-Wl,-rpath," + libraries, "-ltorch_cpu", "-lc10"],
            check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the compiler could not build {source} for PyTorch {torch.__version__}:\n{done.stderr}")
        os.chmod(made, 0o755)
        os.replace(made, path)
    _loaded.clear()
    return path


class _Shim:
    """As a mode is: of all threads, as long as anybody wants it."""

    tells = True

    def __init__(self, library):
        self._library = library

    def __enter__(self):
        global _depth
        _depth += 1
        if _depth == 1:
            self._library.tidemark_accesses_start(ctypes.addressof(_recorder.api))

    def __exit__(self, *_exception):
        global _depth
        _depth -= 1
        if not _depth:
            self._library.tidemark_accesses_stop(0)

    def leave(self):
        """At the end of the program, which has accessed all that it will."""
        self._library.tidemark_accesses_stop(1)


def _mode_or_shim():
    import torch

    library = shim(torch)
    return _Shim(library) if library else _mode()


# ---- a mode of Python


class _Operator:
    """What the schema of an operator says, once for all its calls."""

    def __init__(self, func):
        schema = func._schema
        self.name = _recorder.text(func.__name__.replace(".", "_").removesuffix("_default"))
        self.kinds = [self._kind(a) for a in schema.arguments]  # by place
        self.named = {a.name: kind for a, kind in zip(schema.arguments, self.kinds) if kind}
        # A view has the memory of its argument, and reads nothing of it.
        self.view = any(
            r.alias_info is not None and not r.alias_info.is_write for r in schema.returns
        )
        self.fills = "empty" not in func.__name__

    @staticmethod
    def _kind(argument):
        """0: it has no tensors."""
        if "Tensor" not in str(argument.type):
            return 0
        return READ | WRITE if argument.alias_info is not None and argument.alias_info.is_write else READ


def _teller(torch):
    """A function that tells of all tensors in a value. What it calls is looked up here, once: that costs as much as the call."""
    access, tensor_type, tensors = _recorder.api.access, torch.Tensor, torch.Tensor.untyped_storage

    def tell(value, kind, name):
        if isinstance(value, tensor_type):
            try:
                storage = tensors(value)
                address = storage.data_ptr()
                if address:
                    access(address, storage.nbytes(), kind, name)
            except (RuntimeError, NotImplementedError):  # it has none: sparse, or of no device
                pass
        elif isinstance(value, (list, tuple)):
            for item in value:
                tell(item, kind, name)

    return tell


def _mode():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    known, tell = {}, _teller(torch)
    begin, finish = _recorder.api.begin, _recorder.api.finish

    class Mode(TorchDispatchMode):
        tells = False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            operator = known.get(func)
            if operator is None:
                operator = known[func] = _Operator(func)
            if operator.view:
                return func(*args, **kwargs) if kwargs else func(*args)
            name = operator.name
            begin(name)
            try:
                result = func(*args, **kwargs) if kwargs else func(*args)
                for kind, value in zip(operator.kinds, args):
                    if kind:
                        tell(value, kind, name)
                for key in kwargs or ():
                    if key in operator.named:
                        tell(kwargs[key], operator.named[key], name)
                if operator.fills:
                    tell(result, WRITE, name)
            finally:
                finish()
            return result

    return Mode()
