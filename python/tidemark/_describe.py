"""What memory is for, by the program's own word: `tidemark.describe(tensor, "kv cache")`."""

from . import _recorder


def address(thing):
    """Where the block of memory begins that a tensor or an array lies in; None: that is not known."""
    if hasattr(thing, "untyped_storage"):  # PyTorch: a view begins where its storage does
        return _of_tensor(thing)
    if hasattr(thing, "__array_interface__"):
        while getattr(thing, "base", None) is not None and hasattr(thing.base, "__array_interface__"):
            thing = thing.base
        return thing.__array_interface__["data"][0]
    if hasattr(thing, "unsafe_buffer_pointer"):  # JAX
        return thing.unsafe_buffer_pointer()
    return None


def _of_tensor(tensor):
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # it has no memory: sparse, fake, not made yet
        return None


def describe(thing, what, name=None):
    """Say what a tensor is for: one of the kinds of `decompose`, such as "kv cache", or words of your own.

    A list, tuple or dict stands for all that is in it. `name` is which one it is. What is said holds
    for the memory of the tensor as long as that lives; memory that takes its place is another.
    Returns `thing`.
    """
    if _recorder.api:
        _tell(thing, _recorder.text(what), None if name is None else _recorder.text(name))
    return thing


def _tell(thing, what, name):
    if isinstance(thing, dict):
        thing = thing.values()
    elif not isinstance(thing, (list, tuple)):
        at = address(thing)
        if at:
            _recorder.api.describe(at, what, name)
        elif at is None and not hasattr(thing, "untyped_storage"):
            raise TypeError(f"tidemark.describe takes tensors and arrays, or lists of them, not {type(thing).__name__}")
        return
    for one in thing:
        if one is not None:
            _tell(one, what, name)
