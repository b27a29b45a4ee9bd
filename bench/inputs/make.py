#!/usr/bin/python3
"""Make the inputs of bench/record: big.json (13 MB) and gen.c (160 functions). Usage: make.py DIR"""

import json
import pathlib
import random
import sys

out = pathlib.Path(sys.argv[1])
dice = random.Random(7)

rows = [{
    "id": i,
    "name": f"user-{dice.randrange(10**6):06d}",
    "tags": [f"t{dice.randrange(300)}" for _ in range(dice.randrange(6))],
    "score": dice.random() * 100,
    "nested": {"a": dice.randrange(1000), "b": [dice.randrange(9) for _ in range(4)], "c": None},
} for i in range(95000)]
(out / "big.json").write_text(json.dumps(rows))

lines = ["int printf(const char *, ...);", "void *calloc(unsigned long, unsigned long);",
         "void free(void *);", "struct s { int a, b; double c; char d[16]; };"]
for i in range(160):
    lines.append(f"static int f{i}(struct s *p, int n) {{ int r = {i};")
    lines.append("  for (int i = 0; i < n; i++) {")
    for j in range(12):
        a, b = dice.randrange(100), dice.randrange(1, 9)
        lines.append(f"  if ((p[i].a + {a}) % {b + 1} == {j % (b + 1)}) "
                     f"r += p[i].b * {b} + (int)(p[i].c * {a}.5);")
        lines.append(f"  else {{ p[i].d[{j}] = (char)(r >> {b % 7}); r ^= {a}; }}")
    called = f"f{dice.randrange(i)}(p, n / 2)" if i else "0"
    lines.append(f"  }} return n > 3 ? r + {called} : r; }}")
lines.append("int main(void) { struct s *p = calloc(64, sizeof *p); int r = 0;")
lines += [f"  r += f{i}(p, 8);" for i in range(160)]
lines.append('  printf("%d\\n", r); free(p); return 0; }')
(out / "gen.c").write_text("\n".join(lines) + "\n")
