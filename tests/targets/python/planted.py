"""A training loop with waste that is planted: planted.py PLAIN|PLANTED. Sizes are told apart by their digits.

PLANTED: `early` is allocated before the forward phase and filled after it; `late` is used before it and freed after the
step; `unused` nobody reads or writes; `stale` is of the step before and used in it alone. So all of them are held in vain while the
model computes, where the peak is. PLAIN has none of it.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
PLANTED = sys.argv[1] == "PLANTED"
MIB = 1 << 18  # of float32
model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.LayerNorm(1024), nn.ReLU(), nn.Linear(1024, 100))
optimizer = torch.optim.Adam(model.parameters())


def train():
    x, y = torch.randn(512, 512), torch.randint(0, 100, (512,))
    if PLANTED:
        unused = torch.empty(3 * MIB)
        early = torch.empty(5 * MIB)
        late = torch.ones(7 * MIB)
        x[0, 0] += late.sum() * 0
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if PLANTED:
        early.zero_()
        assert unused.numel() == 3 * MIB  # which is no access


def main():
    stale = None
    for step in range(5):
        if step:  # so that every step has one: the peak of a step without would bound what is won
            train()
        if PLANTED:
            stale = None
            stale = torch.ones(9 * MIB)
            stale.mul_(2)
    return stale


main()
