"""Generation of text with caches of keys and values: programs of decompose_models.py."""

import tidemark
import torch
import torch.nn.functional as F
from tensors import ATTACHED, Told
from torch import nn


def say(tensors, what):
    """Where the program itself would say it."""
    return tidemark.describe(tensors, what) if ATTACHED else tensors


class Attention(nn.Module):
    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        k, v = cache(k, v)
        return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, width))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(800, 128), nn.Linear(128, 800)
        self.layers = nn.ModuleList([Attention() for _ in range(4)])

    def forward(self, tokens, caches):
        x = self.words(tokens)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache)
        return self.head(x[:, -1:])


class Fixed:
    """A cache that is allocated whole."""

    def __init__(self):
        self.k, self.v, self.length = torch.zeros(4, 4, 96, 32), torch.zeros(4, 4, 96, 32), 0
        say((self.k, self.v), "kv cache")

    def __call__(self, k, v):
        end = self.length + k.shape[2]
        self.k[:, :, self.length:end], self.v[:, :, self.length:end] = k, v
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]


class Growing:
    """A cache that is put together anew for every token."""

    k = v = None

    def __call__(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], 2)
        self.v = v if self.v is None else torch.cat([self.v, v], 2)
        say((self.k, self.v), "kv cache")
        return self.k, self.v


@torch.no_grad()
def decode(steps, kind):
    model = Decoder().eval()
    told = Told([model], [])
    caches = [kind() for _ in model.layers]
    tokens = torch.randint(0, 800, (4, 20))
    for step in range(steps):
        tokens = model(tokens, caches).argmax(-1)
        if step >= steps - 3:
            told.at(f"token{step}", cache=[t for c in caches for t in (c.k, c.v)])


def fixed_cache(steps):
    decode(steps, Fixed)


def growing_cache(steps):
    decode(steps, Growing)
