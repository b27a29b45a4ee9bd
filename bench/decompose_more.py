"""More programs of decompose_models.py, of kinds that others lack: several batches for a step with checkpoints and mixed
precision, adapters in another dtype, experts, sparse gradients, what a policy collects, a cache that grows by pieces.
"""

import torch
import torch.nn.functional as F
from decompose_inference import say
from tensors import Told
from torch import nn
from torch.utils.checkpoint import checkpoint


class Patches(nn.Module):
    """A vision transformer: parameters that are no layers, a token that is expanded."""

    def __init__(self, width=96, blocks=3):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 8, 8)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 37, width) * 0.02)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, norm_first=True)
                                     for _ in range(blocks)])
        self.head = nn.Linear(width, 50)
        self.checkpointed = False

    def forward(self, x):
        x = self.cut(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(x[:, 0])


def pictures(count=12):
    return torch.randn(count, 3, 48, 48), torch.randint(0, 50, (count,))


def pieces(told, steps, batches, loss_of, look=True):
    """Several batches for each step, whose gradients add up; clipped."""
    optimizer, = told.optimizers
    for step in range(steps):
        late = step >= steps - 2
        optimizer.zero_grad()
        for i in range(batches):
            x, y = pictures()
            loss = loss_of(x, y) / batches
            if late and look:
                told.at(f"forward{step}.{i}", inputs=(x, y), loss=loss)
            loss.backward()
            if late:
                told.at(f"backward{step}.{i}", inputs=(x, y), result=loss)
        nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
        optimizer.step()
        if late:
            told.at(f"step{step}", inputs=(x, y), result=loss)


def vision(steps):
    """Three batches for a step, bfloat16 by autocast, clipped gradients, AdamW."""
    model = Patches()

    def loss_of(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(x).float(), y)

    pieces(Told([model], [torch.optim.AdamW(model.parameters())]), steps, 3, loss_of)


def recomputed(steps):
    """The same with every block checkpointed, two batches for a step, Adam."""
    model = Patches(blocks=4)
    model.checkpointed = True
    pieces(Told([model], [torch.optim.Adam(model.parameters())]), steps, 2,
           lambda x, y: F.cross_entropy(model(x), y), look=False)


class Adapted(nn.Module):
    """A frozen layer in bfloat16 beside a small one in float32."""

    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False).to(torch.bfloat16)
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x.to(torch.bfloat16)).float() + self.up(self.down(x))


def adapters(steps):
    """Adapters beside frozen layers of another dtype; only they have gradients."""
    model = nn.Sequential(Adapted(nn.Linear(256, 768), 24), nn.GELU(), Adapted(nn.Linear(768, 256), 24), nn.LayerNorm(256),
                          nn.Linear(256, 40))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    told = Told([model], [optimizer])
    for step in range(steps):
        x, y = torch.randn(96, 256), torch.randint(0, 40, (96,))
        loss = F.cross_entropy(model(x), y)
        if step >= steps - 2:
            told.at(f"forward{step}", inputs=(x, y), loss=loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= steps - 2:
            told.at(f"step{step}", inputs=(x, y), result=loss)


class Experts(nn.Module):
    """Each row goes to one of four layers."""

    def __init__(self, width=160):
        super().__init__()
        self.words = nn.Embedding(900, width, sparse=True)
        self.gate = nn.Linear(width, 4)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
                                      for _ in range(4)])
        self.out = nn.Linear(width, 60)

    def forward(self, tokens):
        x = self.words(tokens).mean(1)
        weight, where = self.gate(x).softmax(-1).max(-1)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (where == i).nonzero().flatten()
            if len(rows):
                y = y.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return self.out(x + y)


def experts(steps):
    """Two optimizers for one model: a sparse one for its embedding, and Adam with foreach for the rest."""
    model = Experts()
    sparse = torch.optim.SparseAdam([model.words.weight])
    dense = torch.optim.Adam([p for n, p in model.named_parameters() if n != "words.weight"], foreach=True)
    told = Told([model], [sparse, dense])
    for step in range(steps):
        x, y = torch.randint(0, 900, (200, 12)), torch.randint(0, 60, (200,))
        for optimizer in (sparse, dense):
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if step >= steps - 2:
            told.at(f"forward{step}", inputs=(x, y), loss=loss)
        loss.backward()
        for optimizer in (sparse, dense):
            optimizer.step()
        model.words.weight.grad = None  # its memory is that of two tensors
        if step >= steps - 2:
            told.at(f"step{step}", inputs=(x, y), result=loss)


def policy(steps):
    """What a model has done without gradients is what it learns from: a store that is filled in every step."""
    actor = nn.Sequential(nn.Linear(40, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 6))
    critic = nn.Sequential(nn.Linear(40, 300), nn.Tanh(), nn.Linear(300, 1))
    first, second = torch.optim.Adam(actor.parameters()), torch.optim.RMSprop(critic.parameters())
    told = Told([actor, critic], [first, second])
    seen, acted, paid = torch.zeros(128, 16, 40), torch.zeros(128, 16, dtype=torch.long), torch.zeros(128, 16)
    for step in range(steps):
        state = torch.randn(16, 40)
        with torch.no_grad():
            for t in range(128):
                seen[t] = state
                acted[t] = actor(state).argmax(-1)
                state = state * 0.9 + torch.randn(16, 40) * 0.1
                paid[t] = state.mean(-1)
        value = critic(seen.flatten(0, 1)).flatten()
        gain = (paid.flatten() - value).detach()
        loss = -(F.log_softmax(actor(seen.flatten(0, 1)), -1).gather(1, acted.flatten()[:, None]).flatten() * gain).mean()
        loss = loss + F.mse_loss(value, paid.flatten())
        if step >= steps - 2:
            told.at(f"forward{step}", inputs=(seen, acted, paid, state), loss=loss, results=(value, gain))
        for optimizer in (first, second):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (first, second):
            optimizer.step()
        if step >= steps - 2:
            told.at(f"step{step}", inputs=(seen, acted, paid, state), results=(loss, value, gain))


@torch.inference_mode()
def chunks(steps):
    """Generation with a cache that grows by pieces of sixteen tokens."""
    width = 128
    words, project, head = nn.Embedding(500, width), nn.Linear(width, 3 * width), nn.Linear(width, 500)
    model = nn.ModuleList([words, project, head]).eval()
    told = Told([model], [])
    cache, used = say(torch.zeros(2, 8, 16, width), "kv cache"), 0
    token = torch.randint(0, 500, (8, 1))
    for step in range(8 * steps):
        q, k, v = model[1](model[0](token)).chunk(3, -1)
        if used == cache.shape[2]:
            cache = say(torch.cat([cache, torch.zeros(2, 8, 16, width)], 2), "kv cache")
        cache[0, :, used], cache[1, :, used] = k[:, 0], v[:, 0]
        used += 1
        y = F.scaled_dot_product_attention(q, cache[0, :, :used], cache[1, :, :used])
        token = model[2](y).argmax(-1)
        if step >= 8 * steps - 3:
            told.at(f"token{step}", cache=[cache], results=(q, y))
