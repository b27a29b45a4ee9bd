"""%tidemark and %%tidemark: record while a statement or a cell runs, then show it with what each of
its lines cost."""

import ast
import os
import shutil
import sys
import tempfile

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import display

from . import _recording
from ._annotated import Annotated, Usage
from ._region import region

_FLAGS = ("exact", "cpu-only", "no-cpu")  # of the recording
_VALUES = ("sample", "cpu-interval")


@magics_class
class _Magics(Magics):
    _busy = False

    @line_cell_magic
    def tidemark(self, line, cell=None):
        """Record what a statement or the cell costs, line by line.

        %tidemark [options] statement
        %%tidemark [options]

        -o FILE              keep the trace, for `tidemark report FILE`
        --exact              record every allocation, not a sample of them
        --sample SIZE        record one allocation per SIZE bytes on average
        --cpu-only           record no allocations
        --no-cpu             record no CPU time
        --cpu-interval TIME  CPU time between two samples
        --all                show lines of other files, too, not only this cell's
        """
        __tracebackhide__ = True  # of what the cell raises, show the cell
        options, statement = self.parse_options(
            line, "o:", "all", *_FLAGS, *(f"{name}=" for name in _VALUES), posix=False)
        if self._busy:
            raise UsageError("a cell is being recorded; %tidemark cannot be used inside it")
        if cell is not None and statement.strip():
            raise UsageError(f"%%tidemark takes options alone, not {statement.strip()!r}")
        code = _Code(self.shell, statement if cell is None else cell, is_cell=cell is not None)
        if not code:
            raise UsageError("give a statement, or write %%tidemark at the top of a cell")
        self._busy = True
        try:
            return self._record(code, options)
        finally:
            self._busy = False

    def _record(self, code, options):
        __tracebackhide__ = True
        if _recording.is_recorded():
            print("tidemark: this process is recorded already; a region is marked in that trace",
                  file=sys.stderr)
            with region(code.label):
                return code.run()
        folder = None if options.get("o") else tempfile.mkdtemp(prefix="tidemark-")
        path = os.path.join(folder, "cell.tide") if folder else os.path.expanduser(options["o"])
        how = {name: True for name in _FLAGS if name in options}
        how.update((name, options[name]) for name in _VALUES if name in options)
        try:
            return self._record_to(path, code, how, names=not folder, everything="all" in options)
        finally:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    def _record_to(self, path, code, how, names, everything):
        __tracebackhide__ = True
        recording = _recording.record(path, names=names, **how)
        try:
            tool = _recording.find_tool()
            recording.__enter__()
        except _recording.RecordingError as error:
            raise UsageError(str(error)) from None
        usage = Usage()
        try:
            return code.run()
        finally:
            usage.end()
            try:
                recording.__exit__()
                display(Annotated(tool, path, code.name, code.text, usage, everything))
            except _recording.RecordingError as error:  # the cell has run, whatever becomes of this
                print(f"tidemark: {error}", file=sys.stderr)


class _Code:
    """What the user wrote, compiled under the name that the shell gives to it, and run."""

    def __init__(self, shell, text, is_cell):
        self.shell, self.is_cell = shell, is_cell
        self.label = text.strip().split("\n")[0]
        changed = shell.transform_cell(text)
        try:
            number = len(shell.history_manager.input_hist_raw) - 1  # of the cell that runs
            self.name = shell.compile.cache(changed, number, raw_code=text)
            tree = shell.transform_ast(shell.compile.ast_parse(changed, self.name))
        except SyntaxError as error:
            raise error.with_traceback(None)
        same = text.count("\n") == changed.rstrip("\n").count("\n") + text.endswith("\n")
        self.text = text if same else changed
        self._parts = list(self._compiled(tree.body))

    def __bool__(self):
        return bool(self._parts)

    def _compiled(self, nodes):
        """As the shell shows values: by default of the last expression; a statement returns it."""
        shown = {"all": nodes, "none": []}.get(self.shell.ast_node_interactivity, nodes[-1:])
        for node in nodes:
            if isinstance(node, ast.Expr) and node in shown:
                mode = "single" if self.is_cell else "eval"
                tree = ast.Interactive([node]) if self.is_cell else ast.Expression(node.value)
            else:
                mode, tree = "exec", ast.Module([node], [])
            yield mode, self.shell.compile(tree, self.name, mode)

    def run(self):
        __tracebackhide__ = True
        value = None
        for mode, code in self._parts:
            if mode == "eval":
                value = eval(code, self.shell.user_global_ns, self.shell.user_ns)
            else:
                exec(code, self.shell.user_global_ns, self.shell.user_ns)
        return value


def load(ipython):
    """%load_ext tidemark"""
    ipython.register_magics(_Magics)
