"""What PyTorch's operators read and write, for `tidemark report FILE inefficient`.

    import tidemark.torch
    with tidemark.torch.accesses():
        train_a_few_steps()

Needs PyTorch 2.1 or later. Each operator costs some microseconds more, so a few steps are enough. The
kernels of a compiled model are no operators: their accesses are not seen.
"""

from . import _recorder

READ, WRITE, ALL, SOME = 1, 2, 4, 8  # include/tidemark.h


class accesses:
    """As long as the block lasts, tell every operator with what it reads and writes."""

    def __init__(self):
        self._mode = None

    def __enter__(self):
        if _recorder.api:
            self._mode = _mode()
            self._mode.__enter__()
            _recorder.api.access(None, 0, ALL, None)
        return self

    def __exit__(self, *exception):
        if self._mode:
            _recorder.api.access(None, 0, SOME, None)
            mode, self._mode = self._mode, None
            mode.__exit__(*exception)


class _Operator:
    """What the schema of an operator says, once for all its calls."""

    def __init__(self, func):
        schema = func._schema
        self.name = _recorder.text(func.__name__.replace(".", "_").removesuffix("_default"))
        self.written = {
            key
            for i, a in enumerate(schema.arguments)
            if a.alias_info is not None and a.alias_info.is_write
            for key in (i, a.name)
        }
        # A view has the memory of its argument, and reads nothing of it.
        self.view = any(
            r.alias_info is not None and not r.alias_info.is_write for r in schema.returns
        )
        self.fills = "empty" not in func.__name__


def _tensors(value, torch):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, torch)


def _tell(tensor, kind, name):
    try:
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError):  # it has none: sparse, or of no device
        return
    if address:
        _recorder.api.access(address, size, kind, name)


def _mode():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    known = {}

    def tell_arguments(operator, values):
        for key, value in values:
            kind = READ | WRITE if key in operator.written else READ
            for tensor in _tensors(value, torch):
                _tell(tensor, kind, operator.name)

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            operator = known.get(func)
            if operator is None:
                operator = known[func] = _Operator(func)
            if operator.view:
                return func(*args, **kwargs)
            _recorder.api.begin(operator.name)
            try:
                result = func(*args, **kwargs)
                tell_arguments(operator, enumerate(args))
                tell_arguments(operator, kwargs.items())
                if operator.fills:
                    for tensor in _tensors(result, torch):
                        _tell(tensor, WRITE, operator.name)
            finally:
                _recorder.api.finish()
            return result

    return Mode()
