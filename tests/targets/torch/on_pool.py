"""Trains a model on the device of pool_device.cpp: on_pool.py LIBRARY [refused]. Each step keeps 64 KiB for ever.

At the end it prints what it holds by kind, as JSON; tensors are as large as the pool makes them. `refused`: then it asks for more
than there is, in vain, and gives all of it back.
"""

import json
import sys
import types

import torch
from torch import nn

torch.ops.load_library(sys.argv[1])
torch.utils.rename_privateuse1_backend("pooled")
torch._register_device_module("pooled", types.SimpleNamespace(
    is_available=lambda: True, is_initialized=lambda: True, _is_in_bad_fork=lambda: False, device_count=lambda: 1,
    current_device=lambda: 0, get_amp_supported_dtype=lambda: [], manual_seed_all=lambda seed: None))
torch.manual_seed(0)
torch.set_num_threads(1)
kept = []


def keep():
    kept.append(torch.empty(16384, device="pooled"))


def main(last=None):
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 64)).to("pooled")
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    for _ in range(8):
        inputs, wanted = torch.randn(128, 256).to("pooled"), torch.randn(128, 64).to("pooled")
        loss = (model(inputs) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep()
    kinds = {
        "parameters": list(model.parameters()),
        "gradients": [p.grad for p in model.parameters()],
        "optimizer state": [v for s in optimizer.state.values() for v in s.values() if v.device.type == "pooled"],
        "inputs": [inputs, wanted],
        "kept": kept,
    }
    print(json.dumps({kind: sum((t.untyped_storage().nbytes() + 511) // 512 * 512 for t in tensors)
                      for kind, tensors in kinds.items()}))
    if last:
        last()


def ask_in_vain():
    try:
        torch.empty(1 << 45, device="pooled")
    except RuntimeError:
        kept.clear()


main(*map({"refused": ask_in_vain}.get, sys.argv[2:]))
