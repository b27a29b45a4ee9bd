"""Watching the content of memory."""

import ctypes

from . import _recorder


class watch:
    """From now on, tell when the content of a tensor or of a buffer changes, and after what.

    tidemark.watch(tensor, "weights")          until stop(), or the end
    with tidemark.watch(array, "table"): ...   until the end of the block

    It is looked at where regions begin and end, at steps and marks: `tidemark report FILE watch` tells the
    first change and all others. What is watched is kept alive meanwhile.
    """

    __slots__ = ("_address", "_object")

    def __init__(self, value, name):
        self._address = None
        if not _recorder.api:
            return
        self._address, size, self._object = _memory_of(value)
        _recorder.api.watch(self._address, size, _recorder.text(name))

    def stop(self):
        """Watch it no longer."""
        if self._address is not None and _recorder.api:
            _recorder.api.unwatch(self._address)
        self._address = self._object = None

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.stop()


def _memory_of(value):
    """Its address, its bytes, and what keeps it alive."""
    if hasattr(value, "data_ptr"):
        if str(value.device) != "cpu" or not value.is_contiguous():
            raise ValueError("only a contiguous tensor in the host's memory can be watched")
        return value.data_ptr(), value.numel() * value.element_size(), value
    view = memoryview(value)
    if view.readonly or not view.c_contiguous:
        raise ValueError("only a buffer that can be written, in one piece, can be watched")
    return ctypes.addressof(ctypes.c_char.from_buffer(view)), view.nbytes, view
