"""More programs of decompose_models.py, by other ways of training: gradients of each sample by torch.func, gradients of inputs, two
gradients for a step, optimizers within the backward phase, averages by torch's own class, ranks, graphs that are packed by hooks,
beams whose cache is put in another order.
"""

import functools
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from decompose_other import late, train
from tensors import Told
from torch import nn


def small(inside=64, width=192, outside=16):
    return nn.Sequential(nn.Linear(inside, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, outside))


def each_sample(steps):
    """Gradients of each sample by vmap, clipped, with noise added; the parameters are changed by hand."""
    from torch.func import functional_call, grad, vmap
    model = small()
    told, names = Told([model], []), dict(model.named_parameters())

    def loss_of(values, x, y):
        return F.cross_entropy(functional_call(model, values, (x[None],)), y[None])

    for step in range(steps):
        x, y = torch.randn(32, 64), torch.randint(0, 16, (32,))
        grads = vmap(grad(loss_of), in_dims=(None, 0, 0))({n: p.detach() for n, p in names.items()}, x, y)
        if late(step, steps):
            told.at(f"grads{step}", inputs=(x, y), gradients=grads.values())
        with torch.no_grad():
            for n, p in names.items():
                norm = grads[n].flatten(1).norm(dim=1).clamp(min=1).view(-1, *[1] * p.dim())
                p -= 0.1 * (grads[n] / norm).mean(0)
        del grads, norm
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y))


def physics(steps):
    """An equation's residual by gradients of gradients for the inputs; Adam."""
    model = nn.Sequential(nn.Linear(2, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))

    def loss_of(x, u):
        x.requires_grad_(True)
        du = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
        ddu = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)[0][:, 0]
        return F.mse_loss(du[:, 1], 0.1 * ddu) + F.mse_loss(model(x)[:, 0], u)

    train(Told([model], [torch.optim.Adam(model.parameters())]), steps,
          lambda: (torch.rand(2048, 2), torch.rand(2048)), loss_of)


def adversary(steps):
    """Inputs that are moved along their own gradients before each step; SGD with momentum and weight decay."""
    model = nn.Sequential(nn.Conv2d(3, 24, 3, 2), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 48, 3, 2), nn.BatchNorm2d(48),
                          nn.ReLU(), nn.Flatten(), nn.Linear(48 * 49, 20))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    told = Told([model], [optimizer])
    for step in range(steps):
        x, y = torch.rand(16, 3, 32, 32), torch.randint(0, 20, (16,))
        moved = x.clone().requires_grad_(True)
        gradient, = torch.autograd.grad(F.cross_entropy(model(moved), y), moved)
        moved = (x + 0.03 * gradient.sign()).clamp(0, 1).detach()
        del gradient
        loss = F.cross_entropy(model(moved), y)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(x, y, moved), loss=loss)
        optimizer.zero_grad()
        loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(x, y, moved))
        optimizer.step()
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y, moved))


def sharpness(steps):
    """Weights are moved to where the loss is high, and back, with gradients in both places; Adam."""
    model = small(width=256)
    optimizer = torch.optim.Adam(model.parameters())
    told = Told([model], [optimizer])
    for step in range(steps):
        x, y = torch.randn(128, 64), torch.randint(0, 16, (128,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            moves = [p.grad * (0.05 / norm) for p in model.parameters()]
            for p, move in zip(model.parameters(), moves):
                p += move
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(x, y), loss=loss, results=moves)
        loss.backward()
        with torch.no_grad():
            for p, move in zip(model.parameters(), moves):
                p -= move
        del moves, move
        optimizer.step()
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y))


def in_backward(steps):
    """An optimizer for each parameter, which steps in the backward phase and drops the gradient at once."""
    model = small(width=256)
    optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}

    def stepped(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(stepped)
    told = Told([model], list(optimizers.values()))
    for step in range(steps):
        x, y = torch.randn(128, 64), torch.randint(0, 16, (128,))
        loss = F.cross_entropy(model(x), y)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(x, y), loss=loss)
        loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(x, y))


def averaged(steps):
    """torch's own average of weights, autocast to bfloat16, three batches for a step, clipped, a schedule; AdamW."""
    model = nn.Sequential(nn.Linear(96, 256), nn.LayerNorm(256), nn.SiLU(), nn.Dropout(0.1), nn.Linear(256, 256), nn.LayerNorm(256),
                          nn.SiLU(), nn.Linear(256, 24))
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=steps + 1)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    told = Told([model, mean], [optimizer])
    for step in range(steps):
        for part in range(3):
            x, y = torch.randn(96, 96), torch.randint(0, 24, (96,))
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(x), y) / 3
            if late(step, steps):
                told.at(f"forward{step}.{part}", inputs=(x, y), loss=loss)
            loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(x, y))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        mean.update_parameters(model)
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y))


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow, self.norm = nn.Conv1d(40, 96, 5, 2, 2), nn.BatchNorm1d(96)
        self.lstm, self.out = nn.LSTM(96, 96, 2, bidirectional=True, batch_first=True, dropout=0.1), nn.Linear(192, 30)

    def forward(self, x):
        h, _ = self.lstm(F.relu(self.norm(self.narrow(x))).transpose(1, 2))
        return self.out(h).log_softmax(-1).transpose(0, 1)


def speech(steps):
    """Convolution, LSTM in both directions, CTC; Adam with decoupled schedules."""
    model = Speech()

    def loss_of(x, y):
        out = model(x)
        return F.ctc_loss(out, y, torch.full((12,), out.shape[0]), torch.full((12,), 20))

    train(Told([model], [torch.optim.Adam(model.parameters())]), steps,
          lambda: (torch.randn(12, 40, 200), torch.randint(1, 30, (12, 120))), lambda x, y: loss_of(x, y[:, :20]))


class Coupling(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width // 2, 128), nn.ReLU(), nn.Linear(128, width))
        self.register_buffer("order", torch.randperm(width))

    def forward(self, x):
        kept, moved = x[:, self.order].chunk(2, 1)
        scale, shift = self.net(kept).chunk(2, 1)
        return torch.cat([kept, moved * scale.tanh().exp() + shift], 1), scale.tanh().sum(1)


def flow(steps):
    """A normalizing flow of couplings; its result is a likelihood; Adamax."""
    layers = nn.ModuleList([Coupling() for _ in range(6)])

    def loss_of(x):
        whole = 0
        for layer in layers:
            x, one = layer(x)
            whole = whole + one
        return (0.5 * x.square().sum(1) - whole).mean()

    train(Told([layers], [torch.optim.Adamax(layers.parameters())]), steps, lambda: (torch.randn(256, 64),), loss_of)


def packed_graph(steps):
    """What a graph keeps is packed to half the bytes by hooks, and unpacked for gradients; NAdam."""
    model = small(width=256)
    optimizer = torch.optim.NAdam(model.parameters())
    told, held = Told([model], [optimizer]), []
    lasting = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def pack(t):
        if t.untyped_storage().data_ptr() in lasting or t.dtype != torch.float32:
            return t
        held.append(t.to(torch.bfloat16))
        return held[-1], t.dtype

    for step in range(steps):
        x, y = torch.randn(256, 64), torch.randint(0, 16, (256,))
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda p: p if isinstance(p, torch.Tensor) else p[0].to(p[1])):
            loss = F.cross_entropy(model(x), y)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(x, y), result=loss, results=held)
        held.clear()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y))


class Both(Told):
    """Of two ranks that hold the same."""

    def sums(self, **known):
        return {kind: 2 * held for kind, held in super().sums(**known).items()}

    def at(self, moment, **known):
        dist.barrier()
        if dist.get_rank() == 0:
            super().at(moment, **known)
        dist.barrier()


def ranks(steps):
    """Two ranks with DistributedDataParallel over gloo, whose buckets hold the gradients; AdamW."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), WORLD_SIZE="2")
    child = os.fork()
    os.environ["RANK"] = "0" if child else "1"
    dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=2)
    model = small(width=256)
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.zero_grad = functools.partial(optimizer.zero_grad, set_to_none=False)  # else none is seen in the buckets
    told, parallel = Both([model], [optimizer]), nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    train(told, steps, lambda: (torch.randn(128, 64), torch.randint(0, 16, (128,))), lambda x, y: F.cross_entropy(parallel(x), y))
    dist.barrier()
    if child:
        os.waitpid(child, 0)
    os._exit(0)


class Decoder(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.words, self.qkv = nn.Embedding(300, width), nn.Linear(width, 3 * width)
        self.up, self.out = nn.Linear(width, width), nn.Linear(width, 300)

    def forward(self, word, cache):
        q, k, v = self.qkv(self.words(word)).unsqueeze(1).chunk(3, -1)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        return self.out(F.gelu(self.up(F.scaled_dot_product_attention(q, k, v))))[:, 0], (k, v)


@torch.no_grad()
def beams(steps):
    """A search by beams: after each word the cache is put into the order of those that are followed."""
    model = Decoder().eval()
    told, cache = Told([model], []), None
    word, score = torch.zeros(8, dtype=torch.long), torch.zeros(8)
    for step in range(4 * steps):
        out, cache = model(word, cache)
        all_of = score[:, None] + out.log_softmax(-1)
        score, best = all_of.flatten().topk(8)
        cache = tuple(t.index_select(0, best // 300) for t in cache)
        word = best % 300
        if step >= 4 * steps - 2:
            told.at(f"word{step}", cache=cache, results=(out, all_of))


MODELS = [each_sample, physics, adversary, sharpness, in_backward, averaged, speech, flow, packed_graph, ranks, beams]
