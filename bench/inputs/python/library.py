"""Many small allocations from very many stacks: parse, compile, encode and decode the standard library.

    library.py FILES    as many of its files
"""

import ast
import collections
import io
import json
import os
import re
import sys
import sysconfig
import tokenize


def sources(most):
    folder = sysconfig.get_path("stdlib")
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    for name in names[:most]:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            yield name, file.read()


def main(most):
    words = collections.Counter()
    kept = []
    for name, text in sources(most):
        tree = ast.parse(text)
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
        words.update(names)
        kept.append({"name": name, "names": names[:200], "lines": text.splitlines()[:50]})
        json.loads(json.dumps([{"name": n, "at": i} for i, n in enumerate(names)]))
        list(tokenize.generate_tokens(io.StringIO(text).readline))
        re.findall(r"[A-Za-z_]\w*", text)
        compile(tree, name, "exec")
    print(len(words), len(kept))


main(int(float(sys.argv[1])))
