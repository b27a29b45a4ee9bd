"""Labels: what this thread works for."""

import threading

from . import _recorder

_current = threading.local()


class label:
    """From now on this thread works for key = value; None: no longer.

    tidemark.label("request", "42")            until it is changed
    with tidemark.label("phase", "forward"):   until the end of the block; then what was before

    What is allocated meanwhile can be asked for with `tidemark report --label phase=forward`. A
    thread has up to 8 labels at one time.
    """

    __slots__ = ("_key", "_before")

    def __init__(self, key, value=None):
        self._key = None
        if not _recorder.api:
            return
        values = _current.__dict__.setdefault("values", {})
        self._key, self._before = key, values.get(key)
        values[key] = value
        _tell(key, value)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        if self._key is not None and _recorder.api:
            _current.__dict__.setdefault("values", {})[self._key] = self._before
            _tell(self._key, self._before)


def _tell(key, value):
    _recorder.api.label(_recorder.text(key), None if value is None else _recorder.text(value))
