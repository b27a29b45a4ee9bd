"""A loop without calls whose lines differ only in how many multiplications they make.

split.py LOOPS runs it. split.py truth prints {"line": percent} in JSON, from the CPU time of loops that
have one of the lines each, the least of many rounds; "0" is the loop itself, its first and last line.
"""

import json
import sys
import time


def work(n):
    a = 1.0000001
    x = y = z = 1.0
    i = 0
    while i < n:
        x = a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a  # line x
        y = a*a*a*a*a*a*a*a*a*a*a  # line y
        z = a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a  # line z
        i += 1
    return x, y, z


def alone(statement):
    """The loop of work() with one line in it."""
    made = {}
    exec(f"def f(n):\n a = 1.0000001\n i = 0\n while i < n:\n  {statement}\n  i += 1", made)
    return made["f"]


def truth():
    with open(__file__, encoding="utf-8") as source:
        lines = {number: line.strip() for number, line in enumerate(source, 1) if "# line " in line[-10:]}
    loops = {0: alone("pass"), **{number: alone(line) for number, line in lines.items()}}
    least = dict.fromkeys(loops, 1e9)
    for _ in range(300):
        for number, loop in loops.items():
            start = time.thread_time()
            loop(4000)
            least[number] = min(least[number], time.thread_time() - start)
    each = {number: t - least[0] if number else t for number, t in least.items()}
    print(json.dumps({number: 100 * t / sum(each.values()) for number, t in each.items()}))


if sys.argv[1] == "truth":
    truth()
else:
    work(int(sys.argv[1]))
