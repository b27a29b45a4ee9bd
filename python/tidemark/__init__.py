"""What a Python program may tell tidemark about itself.

Run the program with `tidemark record python app.py`, or let it record a part of itself. When it is
not recorded, every call here does nothing and costs next to nothing, so the calls may stay in the
program.

    with tidemark.region("load"): ...     a named span; also as a decorator
    @tidemark.profile                     the report shows these functions alone
    tidemark.step()                       an iteration ended: `tidemark report FILE steps`
    tidemark.mark("warm", 3)              a named moment, with a number
    with tidemark.label("phase", "fit"):  whose work it is: `tidemark report FILE --label phase=fit`
    tidemark.describe(t, "kv cache")      what a tensor is for: `tidemark report FILE decompose`
    tidemark.torch.attach(model, opt)     the same of all that a model of PyTorch has
    tidemark.rank(1, 4)                   which rank this process is, where no launcher says it
    tidemark.snapshot("warm")             a moment to ask for with `tidemark report FILE --at warm`
    tidemark.watch(tensor, "weights")     who changes it: `tidemark report FILE watch`
    tidemark.pause(), tidemark.resume()   stop recording this process, and go on
    tidemark.start(), tidemark.stop()     look for stacks only here, in `tidemark record --deferred`
    with tidemark.record("out.tide"): ... record this process itself, for as long
    tidemark.start("out.tide")            the same, until tidemark.stop()
    with tidemark.torch.accesses(): ...   what PyTorch's operators read and write (import tidemark.torch)
    with tidemark.torch.dumps(...): ...   what an operator has made, around those that follow
    %load_ext tidemark                    in a notebook: %tidemark and %%tidemark
"""

import importlib

from . import _recorder
from ._describe import describe
from ._label import label
from ._recording import RecordingError, ToolNotFound, record
from ._region import region
from ._watch import watch

__all__ = [
    "RecordingError",
    "ToolNotFound",
    "describe",
    "label",
    "mark",
    "pause",
    "profile",
    "rank",
    "record",
    "recording",
    "region",
    "resume",
    "snapshot",
    "start",
    "step",
    "stop",
    "watch",
]
__version__ = "0.1.0"

_steps = 0
_started = None


def recording():
    """Is this program recorded?"""
    return _recorder.api is not None


def mark(name, value=0):
    """A named moment, with a number that is not negative."""
    if _recorder.api:
        _recorder.api.mark(_recorder.text(name), value)


def step(name="step", number=None):
    """A step of a loop ends here (an iteration, a request, an epoch)."""
    global _steps
    if not _recorder.api:
        return
    _steps += 1
    _recorder.api.step(_recorder.text(name), _steps if number is None else number)


def profile(function):
    """Restrict the report to this function, and to others that are decorated so."""
    code = getattr(function, "__code__", None) or getattr(function, "__func__", function).__code__
    if _recorder.api:
        name = getattr(code, "co_qualname", code.co_name)
        _recorder.api.profiled(
            _recorder.text(code.co_filename), code.co_firstlineno, _recorder.text(name)
        )
    return function


def pause():
    """Record nothing more of this process, but for frees of what was recorded."""
    if _recorder.api:
        _recorder.api.pause()


def resume():
    """Go on recording this process."""
    if _recorder.api:
        _recorder.api.resume()


def start(path=None, **options):
    """Record this process into a trace from now on, as `record` does.

    No path: a window begins in a recording that runs. Outside of windows blocks are known by size
    alone, and what lives is right all the same. A pause ends, too.
    """
    global _started
    if path is None:
        if _recorder.api:
            _recorder.api.start()
        return
    if _started:
        raise RecordingError(f"{_started.path} is being recorded; stop() ends that")
    _started = record(path, **options).__enter__()


def stop():
    """End what start(path) began, and wait until the trace is whole; else end the window."""
    global _started
    if _started:
        ended, _started = _started, None
        ended.__exit__()
    elif _recorder.api:
        _recorder.api.stop()


def rank(number, world=0):
    """This process is that rank of a distributed program, of so many (0: not known).

    What launchers put into the environment, as torchrun and mpirun do, is known without it.
    """
    if _recorder.api:
        _recorder.api.rank(number, world)


def snapshot(name="snapshot"):
    """A moment whose live memory can be asked for later."""
    if _recorder.api:
        _recorder.api.snapshot(_recorder.text(name))


def __getattr__(name):
    """tidemark.torch, without an import of its own."""
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(ipython):
    """%load_ext tidemark"""
    from . import _notebook

    _notebook.load(ipython)
