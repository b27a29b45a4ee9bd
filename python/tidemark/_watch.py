"""Watching the content of memory."""

import ctypes

from . import _recorder

LOOKS, OPENCL = 1, 2  # include/tidemark.h
OPENCL_SINCE = 7


class watch:
    """From now on, tell who writes to a tensor or to a buffer, and when its content has changed.

    tidemark.watch(tensor, "weights")          until stop(), or the end
    with tidemark.watch(array, "table"): ...   until the end of the block

    `tidemark report FILE watch` tells every write to its whole pages (operator, line, byte), as long as they
    are kept from being written to; besides, it is looked at where regions begin and end, at steps and marks.
    A buffer of pyopencl is read back around each kernel and command that may write to it, if
    `tidemark record --accesses` records.
    `looks_only` leaves its pages alone: see include/tidemark.h. What is watched is kept alive meanwhile.
    """

    __slots__ = ("_address", "_object")

    def __init__(self, value, name, looks_only=False):
        self._address = None
        if not _recorder.api:
            return
        how = LOOKS if looks_only else 0
        if hasattr(value, "int_ptr"):  # of pyopencl
            if _recorder.api.version < OPENCL_SINCE:
                return
            self._address, size, self._object, how = value.int_ptr, 0, value, OPENCL
        else:
            self._address, size, self._object = _memory_of(value)
        _recorder.api.watch_how(self._address, size, _recorder.text(name), how)

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
