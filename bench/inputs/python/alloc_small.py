"""Many small lists, dicts and strings, some of which are kept: hardly anything but allocations.

    alloc_small.py [SCALE]
"""

import sys

COUNT = int(400_000 * float(sys.argv[1] if len(sys.argv) > 1 else 1))


def make_list(i):
    return [i, i + 1, i + 2, float(i)]


def make_dict(i):
    return {"id": i, "name": "n%d" % i, "tags": make_list(i)}


def make_text(i):
    return "-".join(str(j) for j in range(i % 8))


def churn(count):
    total = 0
    for i in range(count):
        total += len(make_text(i)) + len(make_list(i))
    return total


def keep(count):
    kept = []
    for i in range(count):
        kept.append(make_dict(i))
        if i % 3 == 0 and i > 1000:
            kept[i - 1000] = None
    return kept


sum_of_all = churn(COUNT)
dicts = keep(COUNT // 2)
sum_of_all += sum(1 for one in dicts if one)
del dicts
sum_of_all += churn(COUNT // 2)
print(sum_of_all)
