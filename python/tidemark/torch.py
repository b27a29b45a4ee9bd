"""What the tensors of a PyTorch program are for, by its own word.

    tidemark.torch.attach(model, optimizer)

Hooks of PyTorch then tell parameters, gradients, optimizer state, buffers, inputs and what autograd keeps for
gradients, each by where its memory is and by the module that it belongs to; `tidemark report FILE decompose`
takes that before what it would read from stacks. In a program that is not recorded nothing is done, and
PyTorch is not even imported.
"""

import functools

from . import _recorder
from ._accesses import accesses  # noqa: F401
from ._describe import address

_LEAST = 1024  # bytes: smaller tensors are hardly ever recorded each, and telling them would cost as much
_KEPT = b"kept for gradients"


class _Telling:
    """One attach(): the hooks, and what they have told."""

    def __init__(self):
        self._handles = []
        self._told = {}  # (whose, which) -> where it was when it was told
        self._names = {}  # id of a parameter -> the module that it is in
        self._watched = set()  # ids of parameters whose gradients are told
        self._modules = []  # the paths of those that are being called

    # ---- telling

    def _tell(self, tensor, what, name):
        at = address(tensor)
        if at and tensor.untyped_storage().nbytes() >= _LEAST and _recorder.api:
            _recorder.api.describe(at, what, name)

    def _tell_new(self, key, tensor, what, name):
        """Only if it is not where it was: most tensors of a model stay for ever."""
        at = address(tensor)
        if self._told.get(key) != at:
            self._told[key] = at
            self._tell(tensor, what, name)

    # ---- models

    def add_model(self, model, name):
        for path, module in model.named_modules():
            path = _recorder.text(f"{name}.{path}" if path else name)
            self._handles += [
                module.register_forward_pre_hook(functools.partial(self._enter, path)),
                module.register_forward_hook(self._leave, always_call=True),
            ]
            for parameter in module.parameters(recurse=False):
                self._names[id(parameter)] = path
        self._handles.append(model.register_forward_pre_hook(
            functools.partial(self._begin, model), prepend=True, with_kwargs=True))
        self._tell_model(model)
        self._watch_gradients(model.parameters())

    def _tell_parameters(self, parameters):
        for parameter in parameters:
            self._tell_new(id(parameter), parameter, b"parameters", self._names.get(id(parameter)))

    def _tell_model(self, model):
        self._tell_parameters(model.parameters())
        for path, buffer in model.named_buffers():
            self._tell_new((id(model), path), buffer, b"buffers", None)

    def _watch_gradients(self, parameters):
        for parameter in parameters:
            if parameter.requires_grad and parameter.is_leaf and id(parameter) not in self._watched:
                self._watched.add(id(parameter))
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._accumulated))

    def _accumulated(self, parameter):
        if parameter.grad is not None:
            self._tell(parameter.grad, b"gradients", self._names.get(id(parameter)))

    def _begin(self, model, _module, args, kwargs):
        self._tell_model(model)  # it may have been moved, or filled lazily
        for tensor in _tensors((args, kwargs)):
            if tensor.grad_fn is None:
                self._tell(tensor, b"inputs", None)

    def _enter(self, path, _module, _args):
        self._modules.append(path)

    def _leave(self, *_call):
        if self._modules:
            self._modules.pop()

    # ---- what autograd keeps

    def keep_watch(self, graph):
        self._hooks = graph.saved_tensors_hooks(self._kept, lambda tensor: tensor)
        self._hooks.__enter__()

    def _kept(self, tensor):
        if tensor.grad_fn is not None or not tensor.requires_grad:  # else it is a parameter
            self._tell(tensor, _KEPT, self._modules[-1] if self._modules else None)
        return tensor

    # ---- optimizers

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
        if self._handles and hasattr(self, "_hooks"):
            self._hooks.__exit__(None, None, None)
        self._handles = []

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.detach()


def _tensors(thing):
    """All that are in what a module was called with."""
    if hasattr(thing, "untyped_storage"):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            yield from _tensors(one)
    elif isinstance(thing, dict):
        yield from _tensors(tuple(thing.values()))


def attach(*things, name=None):
    """Tell what the tensors of these models and optimizers are for, from now on.

    attach(model, optimizer), or any number of each: attach(maker, judge, first, second). A model is called
    after its class, or as `name` says. What it gives has detach(), and may stand in a `with`. Call it in
    the thread that trains, after the model was made and before its first step.
    """
    telling = _Telling()
    if not _recorder.api:
        return telling
    import torch

    for thing in things:
        if isinstance(thing, torch.nn.Module):
            telling.add_model(thing, name or type(thing).__name__)
        elif isinstance(thing, torch.optim.Optimizer):
            telling.add_optimizer(thing)
        else:
            raise TypeError(f"tidemark.torch.attach takes models and optimizers, not {type(thing).__name__}")
    if any(isinstance(thing, torch.nn.Module) for thing in things):
        telling.keep_watch(torch.autograd.graph)
    return telling
