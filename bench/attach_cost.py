"""What tidemark.torch.attach costs a step: tidemark record --exact=4K -o /tmp/x.tide PYTHON bench/attach_cost.py [ROUNDS]

Pairs of steps of one process, in random order: with its hooks, and without. CPU time of the thread; the median of
the ratios of pairs, and the same where both steps are without hooks.
"""

import os
import random
import statistics
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", *p) for p in
                (("python",), ("tests", "targets", "python"))]

import tensors  # noqa: E402
import tidemark  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


def mlp():
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    x, y = torch.randn(128, 512), torch.randint(0, 10, (128,))
    return model, torch.optim.Adam(model.parameters()), lambda: F.cross_entropy(model(x), y)


def transformer():
    model = tensors.Transformer(width=128)
    x, y = torch.randint(0, 700, (24, 40)), torch.randint(0, 700, (24, 40))
    return model, torch.optim.AdamW(model.parameters()), lambda: F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def timed(optimizer, loss_of):
    began = time.thread_time_ns()
    optimizer.zero_grad()
    loss_of().backward()
    optimizer.step()
    return time.thread_time_ns() - began


def pair(model, optimizer, loss_of, attached):
    """The ratio of a step with hooks to one without, whichever comes first."""
    took = {}
    for hooked in random.sample([True, False], 2):
        telling = tidemark.torch.attach(model, optimizer) if hooked and attached else None
        timed(optimizer, loss_of)  # what is new is told
        took[hooked] = timed(optimizer, loss_of)
        if telling:
            telling.detach()
    return took[True] / took[False]


def main():
    assert tidemark.recording(), __doc__
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for made in (mlp, transformer):
        things = made()
        for _ in range(5):
            timed(*things[1:])
        ratios = [[pair(*things, attached) for _ in range(rounds)] for attached in (True, False)]
        print(made.__name__, *(f"{statistics.median(r):.3f}" for r in ratios), flush=True)


if __name__ == "__main__":
    main()
