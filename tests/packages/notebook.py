"""%load_ext tidemark and a cell of %%tidemark, as a notebook would run them."""

import sys

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "tidemark")
shell.run_cell_magic("tidemark", "", "rows = [str(i) * 30 for i in range(40000)]\n")
sys.exit(0 if len(shell.user_ns["rows"]) == 40000 else 1)
