"""Named spans of a program: `with region("load"):` and `@region`."""

import functools
import inspect

from . import _recorder


class region:
    """A named span of the program, on the timeline of its memory and CPU time.

    with tidemark.region("load"):     a span of the code below it
    @tidemark.region                  each call of the function, named after it
    @tidemark.region("load")          the same with a name of your choice

    A generator's span is from its first value to its end, a coroutine's from its first step to its
    last. Spans may overlap in any way, and one may end in another thread than it began in.
    """

    __slots__ = ("name", "_open")

    def __new__(cls, name):
        if callable(name):
            return _wrap(name, name.__qualname__)
        self = super().__new__(cls)
        self.name = _recorder.text(name)
        self._open = []  # one object may be entered again before it is left
        return self

    def __enter__(self):
        api = _recorder.api
        self._open.append((api, api.open(self.name) if api else 0))
        return self

    def __exit__(self, *_exception):
        api, number = self._open.pop()
        if api and api is _recorder.api:  # still the same recording
            api.close(number)

    def __call__(self, function):
        return _wrap(function, self.name.decode("utf-8"))


def _wrap(function, name):
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, name)
    elif inspect.iscoroutinefunction(function):

        async def wrapper(*args, **kwargs):
            with region(name):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        def wrapper(*args, **kwargs):
            with region(name):
                return (yield from function(*args, **kwargs))

    else:

        def wrapper(*args, **kwargs):
            with region(name):
                return function(*args, **kwargs)

    return functools.wraps(function)(wrapper)


def _async_generator(function, name):
    """As `yield from` would do it, which does not exist for these."""

    async def wrapper(*args, **kwargs):
        with region(name):
            inner = function(*args, **kwargs)
            step = inner.__anext__()
            try:
                while True:
                    try:
                        value = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # thrown in from outside: it is for `inner`
                        step = inner.athrow(error)
                    else:
                        step = inner.asend(sent)
            finally:
                await inner.aclose()

    return wrapper
