"""For record --watch: parameters and buffers of models, watched by their names from the first call of their model on."""

import fnmatch
import weakref

from . import _recorder

_MOST = 64  # can be watched at once
_SHOWN = 6  # names of a model that has none of those that are looked for
_WRAPPERS = ("module", "_orig_mod")  # what DistributedDataParallel and torch.compile call what they wrap


class Named:
    """Who looks at each model when it is first called, until all names were met; `quietly` calls what may fail."""

    def __init__(self, torch, patterns, say, quietly):
        self._class, self._say, self._patterns = torch.nn.Module, say, patterns
        self._call, self._missing = torch.nn.Module.__call__, set(patterns)
        self._seen, self._watched, self._hints = weakref.WeakSet(), 0, 0

        def __call__(module, *arguments, **keywords):
            if module not in self._seen:
                quietly("--watch", self._look, module)
            return self._call(module, *arguments, **keywords)

        self._class.__call__ = __call__

    def _look(self, module):
        """The outermost module is a model; a lazy one has nothing to be watched yet, and is looked at again."""
        model = _unwrapped(module)
        name, missing = type(model).__name__, set(self._missing)
        tensors = [(f"{name}.{path}", t) for path, t in (*model.named_parameters(), *model.named_buffers())]
        for path, tensor in tensors:
            self._offer(path, tensor, missing)
        lazy = any(hasattr(t, "materialize") for _, t in tensors)
        self._seen.update(m for m in module.modules() if m is not module or not lazy)
        if not self._missing:
            self._class.__call__ = self._call
        elif self._missing == missing and self._hints < _SHOWN:
            self._hints += 1
            names = ", ".join(path for path, _ in tensors[:_SHOWN])
            more = f" and {len(tensors) - _SHOWN} more" if len(tensors) > _SHOWN else ""
            self._say("--watch", f"{name}, which was called, has {names or 'no tensors'}{more}")

    def _offer(self, path, tensor, missing):
        found = {p for p in missing if _fits(p, path)}
        if not found or hasattr(tensor, "materialize"):
            return
        self._missing -= found
        if tensor.device.type != "cpu":
            self._say("--watch", f"{path} is on {tensor.device}, and only memory of the host can be watched")
        elif self._watched < _MOST:
            self._watched += 1
            _watch(tensor, path)


def _unwrapped(module):
    children = dict(module.named_children())
    while len(children) == 1 and next(iter(children)) in _WRAPPERS:
        module, = children.values()
        children = dict(module.named_children())
    return module


def _fits(pattern, path):
    """As in base/dotted.c: the class of the model may be left out."""
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path.partition(".")[2], pattern)


def _watch(tensor, name):
    """Unlike tidemark.watch it keeps nothing alive: that the memory is freed ends it."""
    if tensor.is_contiguous():
        at, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
    else:
        storage = tensor.untyped_storage()
        at, size = storage.data_ptr(), storage.nbytes()
    _recorder.api.watch_how(at, size, _recorder.text(name), 0)
