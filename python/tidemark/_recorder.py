"""The recording library as it is loaded in this process: include/tidemark.h, by ctypes.

Nothing here computes anything: each call goes to the function of the same name in the table that the
library exports. `api` is None in a program that is not recorded.
"""

import ctypes


class Api(ctypes.Structure):
    """struct tidemark_api; functions are only added, at the end."""

    _fields_ = [
        ("version", ctypes.c_uint64),
        ("mark", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64)),
        ("step", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64)),
        ("begin", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("finish", ctypes.CFUNCTYPE(None)),
        ("label", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)),
        ("alloc", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)),
        ("free", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("open", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)),
        ("close", ctypes.CFUNCTYPE(None, ctypes.c_uint64)),
        ("profiled", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p)),
        ("pause", ctypes.CFUNCTYPE(None)),
        ("resume", ctypes.CFUNCTYPE(None)),
        ("snapshot", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("describe", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)),
        (
            "access",
            ctypes.CFUNCTYPE(
                None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_char_p
            ),
        ),
        ("watch", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)),
        ("unwatch", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("start", ctypes.CFUNCTYPE(None)),
        ("stop", ctypes.CFUNCTYPE(None)),
        (
            "watch_how",
            ctypes.CFUNCTYPE(
                None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_uint
            ),
        ),
        ("rank", ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)),
    ]


VERSION = 6  # of the table above


def find(library=None):
    """The table of functions, or None: not recorded, or by a library that is too old."""
    try:
        found = Api.in_dll(ctypes.PyDLL(library), "tidemark_api")
    except (OSError, ValueError):
        return None
    return found if found.version >= VERSION else None


api = find()


def text(value):
    """A name as the library takes it."""
    return str(value).encode("utf-8", "replace").replace(b"\0", b"?")
