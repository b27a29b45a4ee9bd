"""What runs inside a recorded program that uses PyTorch, for record --ops, --accesses and --watch: its source is in the library,
which runs it once in the interpreter's main thread, while `import torch` is still at work or later.

Nothing of it may be seen by the program: no module of that name, no output, no exception. `TABLE` is where the
recorder's functions are (include/tidemark.h), `OPS`, `ACCESSES` and `WATCH` what was asked for, `SOURCES` the text of modules of
the Python package.
"""

import atexit
import sys
import threading


MODULES = {}


def module(name):
    """One of the package, by its source that is in here: the program need not have it, and never sees it."""
    if name not in MODULES:
        types = type(sys)
        package, made = types("_tidemark"), types("_tidemark." + name)
        package.__path__, made.__package__ = [], "_tidemark"
        package.__dict__.update(MODULES)
        sys.modules["_tidemark"] = package
        try:
            exec(compile(SOURCES[name], "<tidemark>", "exec"), made.__dict__)  # noqa: F821, S102
        finally:
            del sys.modules["_tidemark"]
        MODULES[name] = made
    return MODULES[name]


def recorder():
    made = module("_recorder")
    made.api = made.api or made.Api.from_address(TABLE)  # noqa: F821
    return made


def say(what, why):
    """Into the trace, where the questions look for it."""
    recorder().api.mark(f"tidemark: {what}: {why}".encode(), 0)


# ---- operators, by ITT


class Ops:
    """PyTorch's own ITT ranges of each operator, in every thread that has any. They are a profiler, of which a thread
    has one: where the program wants its own, ours makes way for as long.
    """

    def __init__(self, torch):
        self.torch, self.profiler = torch, torch.autograd.profiler
        self.enable, self.disable = self.profiler._enable_profiler, self.profiler._disable_profiler
        self.here = threading.local()
        self.wrap("_prepare_profiler", self.before)
        self.wrap("_enable_profiler", self.before)
        self.wrap("_disable_profiler", None, self.on)

    def on(self):
        p = self.profiler
        config = p.ProfilerConfig(p.ProfilerState.ITT, False, False, False, False, False, p._ExperimentalConfig())
        self.enable(config, set())
        self.here.on = True

    def before(self):
        if getattr(self.here, "on", False):
            self.here.on = False
            self.disable()

    def wrap(self, name, before=None, after=None):
        real = getattr(self.profiler, name, None)
        if real is None:
            return

        def call(*arguments, **named):
            if before:
                before()
            result = real(*arguments, **named)
            if after:
                after()
            return result

        setattr(self.profiler, name, call)


def start_ops(torch):
    if not torch.profiler.itt.is_available():
        say("--ops", "this PyTorch is built without ITT, by which it tells of its operators")
        return None
    ops = Ops(torch)
    return ops.on, ops.before


# ---- accesses


def start_accesses(torch):
    """By what was built for this PyTorch, in all threads at once; else by a mode in each."""
    api, made = recorder().api, module("_accesses")
    if made.shim(torch):
        telling = made._Shim(made.shim(torch))
        telling.__enter__()
        atexit.register(quietly, "end", telling.leave)
        return None
    say("--accesses", made.SLOW)
    here = threading.local()

    def on():
        here.mode = made._mode()
        here.mode.__enter__()

    api.access(None, 0, made.ALL, None)
    return on, lambda: here.mode.__exit__(None, None, None)


# ---- what is watched by its name


def start_watch(torch):
    recorder()
    module("_named").Named(torch, bytes.fromhex(WATCH).decode("utf-8", "replace").split("\n"), say, quietly)  # noqa: F821


# ---- when


def in_every_thread(begin, end):
    """Now, and in all threads of Python that begin from here on; PyTorch complains where it is not ended."""
    inner = threading.Thread._bootstrap_inner

    def _bootstrap_inner(self):
        quietly("threads", begin)
        try:
            inner(self)
        finally:
            quietly("threads", end)

    threading.Thread._bootstrap_inner = _bootstrap_inner
    begin()
    atexit.register(quietly, "end", end)


def quietly(what, call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:  # whatever it is: the program goes on without
        try:
            say(what, f"{type(error).__name__}: {error}")
        except Exception:
            pass
        return None


def start():
    torch = sys.modules["torch"]
    for name, wanted, begin in (("--ops", OPS, start_ops), ("--accesses", ACCESSES, start_accesses),  # noqa: F821
                                ("--watch", WATCH, start_watch)):  # noqa: F821
        both = quietly(name, begin, torch) if wanted else None
        if both:
            quietly(name, in_every_thread, *both)


def when_imported(spec):
    """The import system says itself when a module is complete: it ends a mark in its spec."""

    class Spec(type(spec)):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "_initializing" and not value and type(self) is Spec:
                self.__class__ = Spec.__base__
                if "torch" in sys.modules:  # else it has failed
                    quietly("start", start)

    spec.__class__ = Spec


def main():
    torch = sys.modules.get("torch")
    spec = getattr(torch, "__spec__", None)
    if torch is None:
        say("start", "PyTorch's libraries are here, but no module torch of Python")
    elif spec is not None and getattr(spec, "_initializing", False):
        when_imported(spec)
    else:
        start()


quietly("start", main)
