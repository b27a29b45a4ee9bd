"""What an operator has made, dumped around every operator that follows: files and hashes as MindStudio MemScope's.

    import tidemark.torch
    with tidemark.torch.dumps("aten.linear.default", "aten.relu.default", "folder"):
        model(x)

After `start` its outputs are dumped, then before and after every operator up to `end`, whatever device they are on. It
needs no recording. Each is a row of folder/watch.csv with a hash, or with full_content=True a file of its bytes.
"""

import os
import threading

_POLYNOMIAL = 0x42F0E1EBA9EA3693
_ONES = 0xFFFFFFFFFFFFFFFF


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def checksum(data):
    """The hash that MemScope gives: a CRC of 64 bits, of its own kind."""
    crc = _ONES
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return f"{crc ^ _ONES:016x}"


class dumps:
    """See above; `output` is the number of the one output of `start` that is meant, None: all of them."""

    def __init__(self, start, end, folder, full_content=False, output=None):
        self._start, self._end, self._output = _plain(start), _plain(end), output
        self._folder, self._full = os.fspath(folder), full_content
        self._watched, self._calls, self._mode = [], {}, None

    def __enter__(self):
        os.makedirs(self._folder, exist_ok=True)
        if not self._full:
            self._write("watch.csv", b"Tensor info,Check data sum\n")
        self._mode = _mode(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exception):
        mode, self._mode, self._watched = self._mode, None, []
        mode.__exit__(*exception)

    def around(self, func, call):
        """One operator: dump before and after it what is watched."""
        name = _plain(str(func))
        number = self._calls[name] = self._calls.get(name, -1) + 1
        self._dump(name, number, "before")
        result = call()
        if name == self._start and not self._watched:
            self._watched = self._outputs(name, result)
        self._dump(name, number, "after")
        if name == self._end:
            self._watched = []
        return result

    def _outputs(self, name, result):
        results = result if isinstance(result, (list, tuple)) else [result]
        return [
            (name, index, tensor)
            for index, tensor in enumerate(results)
            if hasattr(tensor, "data_ptr") and self._output in (None, index)
        ]

    def _dump(self, op, number, when):
        for name, index, tensor in self._watched:
            data = _content(tensor)
            place = "cpu" if tensor.device.index is None else tensor.device.index
            head = f"{place}_{threading.get_native_id()}"
            tail = f"{op}_{number}-{name}_{index}_{when}.bin"
            if self._full:
                self._write(f"{head}.{tail}".replace("/", "."), data)
            else:
                self._write("watch.csv", f"{head}/{tail},{checksum(data)}\n".encode(), "ab")

    def _write(self, name, data, mode="wb"):
        with open(os.path.join(self._folder, name), mode) as out:
            out.write(data)


def _plain(name):
    return name.removeprefix("torch._ops.")


def _content(tensor):
    import ctypes

    import torch

    with torch.utils._python_dispatch._disable_current_modes():
        here = tensor.detach().cpu().contiguous()
        return ctypes.string_at(here.data_ptr(), here.numel() * here.element_size())


def _mode(dumper):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return dumper.around(func, lambda: func(*args, **(kwargs or {})))

    return Mode()
