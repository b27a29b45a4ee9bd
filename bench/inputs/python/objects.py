"""A program that makes and drops objects, keeps some, and has threads: objects.py SCALE

What it allocates is the same in every run, and grows with SCALE: about 1.6 million blocks for each.
"""

import json
import sys
import threading


def build(count):
    return [{f"key{j}": [str(j)] * 3 for j in range(20)} for _ in range(count)]


def keep(kept, count):
    kept.extend(bytearray(1000) for _ in range(count))


def churn(count):
    total = 0
    for i in range(count):
        total += len(json.loads(json.dumps({"a": [1, 2, 3, {"b": "c" * 50}], "i": i})))
    return total


def work(count):
    churn(count)
    sorted(range(count * 20))


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1
    kept = []
    for _ in range(10):
        build(int(300 * scale))
        keep(kept, int(200 * scale))
        churn(int(1000 * scale))
        threads = [threading.Thread(target=work, args=(int(300 * scale),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
