"""A training loop that ends in the middle of a step: ends.py HOW PHASE

HOW: kill (by SIGKILL), abort, or group, which takes memory until the kernel kills it. PHASE: forward, backward or step, after which
it does so. Just before that it prints what its tensors are, as JSON: {kind: bytes}, by walking its objects (tensors.py).
"""

import json
import mmap
import os
import signal
import sys

import tensors
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, WORDS, STEPS = 1200, 96, 5


class Reader(nn.Module):
    """Words in two directions, with a norm that has buffers, and what is tied together"""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(2000, WORDS)
        self.both = nn.GRU(WORDS, 160, num_layers=2, batch_first=True, bidirectional=True)
        self.wide = nn.Linear(320, WIDTH)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        h, _ = self.both(self.words(x))
        h = F.gelu(self.norm(self.wide(h[:, -1])))
        return self.out(h) @ self.words.weight.t()


def take_all():
    """Pages of nobody's heap, until there are no more"""
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 16 << 20))
        for at in range(0, 16 << 20, mmap.PAGESIZE):
            kept[-1][at] = 1


ENDS = {"kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "abort": os.abort, "group": take_all}


def main(how, phase):
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters())
    told = tensors.Told([model], [optimizer])

    def end(step, now, **known):
        if (step, now) == (STEPS - 1, phase):
            print(json.dumps(told.sums(**known)), flush=True)
            ENDS[how]()

    for step in range(STEPS):
        inputs = torch.randint(0, 2000, (64, 24)), torch.randint(0, 2000, (64 * 8,))[:64]
        if step % 2 == 0:  # gradients of two batches are added up
            optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs[0]), inputs[1])
        end(step, "forward", inputs=inputs, loss=loss)
        loss.backward()
        end(step, "backward", inputs=inputs, result=loss)
        optimizer.step()
        end(step, "step", inputs=inputs, result=loss)


main(*sys.argv[1:])
