"""What the tensors of a PyTorch program are for, by its own word.

    tidemark.torch.attach(model, optimizer)

Hooks of PyTorch then tell parameters, gradients, optimizer state, buffers, inputs and what autograd keeps for
gradients, each by where its memory is and by the module that it belongs to; `tidemark report FILE decompose`
takes that before what it would read from stacks. In a program that is not recorded nothing is done, and
PyTorch is not even imported.
"""

import functools
import threading
import weakref

from . import _recorder
from ._accesses import accesses, build
from ._dumps import dumps

__all__ = ["accesses", "attach", "build", "dumps"]

_LEAST = 1024  # bytes: smaller tensors are hardly ever recorded each, and telling them would cost as much
_KEPT = b"kept for gradients"


class _Calls(threading.local):
    """Of a thread: the paths of the modules that are being called, and the hooks that are on meanwhile."""

    def __init__(self):
        self.paths, self.hooks = [], None


class _Telling:
    """One attach(): the hooks, and what they have told."""

    def __init__(self, compiling=None):
        self._compiling = compiling  # whether the call of a module is one that torch.compile looks at: its code shall stay as it is
        self._handles = []
        self._told = {}  # (whose, which) -> where it was when it was told
        self._names = {}  # id of a parameter -> the module that it is in
        self._watched = set()  # ids of parameters whose gradients are told
        self._calls = _Calls()

    # ---- telling

    def _tell(self, tensor, what, name):
        try:
            storage = tensor.untyped_storage()
            at = storage.data_ptr()
        except (RuntimeError, NotImplementedError):  # it has no memory: sparse, fake, not made yet
            return
        if at and storage.nbytes() >= _LEAST and _recorder.api:
            _recorder.api.describe(at, what, name)

    def _tell_new(self, key, tensor, what, name):
        """Only if it is not where it was: most tensors of a model stay for ever."""
        try:
            at = tensor.data_ptr()
        except (RuntimeError, NotImplementedError):
            return
        if self._told.get(key) != at:
            self._told[key] = at
            self._tell(tensor, what, name)

    # ---- models

    def add_model(self, model, name):
        owned = []  # of each module, which the program may drop: its path, and the names of what it has, as that may be replaced
        for path, module in model.named_modules():
            path = _recorder.text(f"{name}.{path}" if path else name)
            self._handles += [
                module.register_forward_pre_hook(functools.partial(self._enter, path)),
                module.register_forward_hook(self._leave, always_call=True),
            ]
            owned.append((weakref.ref(module), path, tuple(module._parameters), tuple(module._buffers)))
            for parameter in module.parameters(recurse=False):
                self._names[id(parameter)] = path
        self._handles.append(model.register_forward_pre_hook(
            functools.partial(self._begin, owned), prepend=True, with_kwargs=True))
        self._tell_owned(owned)
        self._watch_gradients(model.parameters())

    def _tell_parameters(self, parameters):
        for parameter in parameters:
            self._tell_new(id(parameter), parameter, b"parameters", self._names.get(id(parameter)))

    def _tell_owned(self, owned):
        for held, path, parameters, buffers in owned:
            module = held()
            if module is not None:
                self._tell_of(module._parameters, parameters, b"parameters", path)
                self._tell_of(module._buffers, buffers, b"buffers", path)

    def _tell_of(self, things, keys, what, path):
        for key in keys:
            tensor = things.get(key)
            if tensor is not None:
                self._tell_new((id(things), key), tensor, what, path)

    def _watch_gradients(self, parameters):
        for parameter in parameters:
            if parameter.requires_grad and parameter.is_leaf and id(parameter) not in self._watched:
                self._watched.add(id(parameter))
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._accumulated))

    def _accumulated(self, parameter):
        if parameter.grad is not None:
            self._tell(parameter.grad, b"gradients", self._names.get(id(parameter)))

    def _begin(self, owned, _module, args, kwargs):
        if self._compiling():
            return
        self._tell_owned(owned)  # it may have been moved, or filled lazily
        for tensor in _tensors((args, kwargs)):
            if tensor.grad_fn is None:
                self._tell(tensor, b"inputs", None)

    def _enter(self, path, _module, _args):
        if self._compiling():
            return
        calls = self._calls
        if not calls.paths:
            calls.hooks = self._watch_graph()
        calls.paths.append(path)

    def _leave(self, *_call):
        if self._compiling():
            return
        calls = self._calls
        if calls.paths:
            calls.paths.pop()
        if not calls.paths and calls.hooks:
            calls.hooks.__exit__()
            calls.hooks = None

    # ---- what autograd keeps

    def _watch_graph(self):
        """The hooks for it, which are on from here; None where others are, as of checkpoints, or may not be."""
        import torch

        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
        if top is None or top(False) is not None:
            return None
        hooks = torch.autograd.graph.saved_tensors_hooks(self._kept, _same)
        try:
            hooks.__enter__()
        except RuntimeError:  # torch.func has forbidden them
            return None
        return hooks

    def _kept(self, tensor):
        """Of a view of a parameter, too: what that is was told before, and stays."""
        path = self._calls.paths[-1] if self._calls.paths else None
        if tensor.grad_fn is not None:
            self._tell(tensor, b"activations", path)
        elif not tensor.requires_grad:
            self._tell(tensor, _KEPT, path)
        return tensor.detach()  # itself, it would hold the graph, and the graph it

    # ---- optimizers

    def count_steps(self, optimizer):
        """Each of its steps ends one of the program's; of several optimizers the last."""
        self._handles.append(optimizer.register_step_post_hook(lambda *_call: _step()))

    def add_optimizer(self, optimizer):
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self._tell_parameters(parameters)
        self._watch_gradients(parameters)
        self._handles.append(optimizer.register_step_post_hook(self._stepped))
        self._stepped(optimizer)

    def _stepped(self, optimizer, *_call):
        for parameter, state in optimizer.state.items():
            name = self._names.get(id(parameter))
            for key, value in state.items():
                if hasattr(value, "untyped_storage"):
                    self._tell_new((id(parameter), key), value, b"optimizer state", name)

    # ---- the end

    def detach(self):
        """Take all hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.detach()


def _step():
    import tidemark

    tidemark.step("optimizer")


def _same(tensor):
    return tensor


def _tensors(thing):
    """All that are in what a module was called with."""
    if hasattr(thing, "untyped_storage"):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            yield from _tensors(one)
    elif isinstance(thing, dict):
        yield from _tensors(tuple(thing.values()))


def attach(*things, name=None, steps=False):
    """Tell what the tensors of these models and optimizers are for, from now on.

    attach(model, optimizer), or any number of each: attach(maker, judge, first, second). A model is called
    after its class, or as `name` says. What it gives has detach(), and may stand in a `with`. Call it after
    the model was made, or moved to where it stays, and before its first step. With `steps`, each step of
    the last of the optimizers is a step of the program, for those who do not call tidemark.step().
    """
    if not _recorder.api:
        return _Telling()
    import torch

    telling = _Telling(torch.compiler.is_compiling)
    for thing in things:
        if isinstance(thing, torch.nn.Module):
            telling.add_model(thing, name or type(thing).__name__)
        elif isinstance(thing, torch.optim.Optimizer):
            telling.add_optimizer(thing)
        else:
            raise TypeError(f"tidemark.torch.attach takes models and optimizers, not {type(thing).__name__}")
    optimizers = [thing for thing in things if isinstance(thing, torch.optim.Optimizer)]
    if steps and not optimizers:
        raise TypeError("tidemark.torch.attach(steps=True) takes an optimizer, whose steps it tells")
    if steps:
        telling.count_steps(optimizers[-1])
    return telling
