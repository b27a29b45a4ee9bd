"""More programs of decompose_models.py, of architectures that others lack: noise taken away by a network with skips, a graph,
an encoder that follows another one, memories of experience, experts that are one tensor, weights that are computed, states that
are carried on, optimizers of the program's own, a cache that is a buffer.
"""

import copy
import math

import torch
import torch.nn.functional as F
from decompose_inference import say
from tensors import Told
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


def late(step, steps):
    return step >= steps - 2


def train(told, steps, batch, loss_of, after=lambda: None, keep=()):
    """The loop in the order of most programs: gradients are dropped after the step."""
    for step in range(steps):
        given = batch()
        loss = loss_of(*given)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(*given, *keep), loss=loss)
        loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(*given, *keep), result=loss)
        for optimizer in told.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        after()
        if late(step, steps):
            told.at(f"step{step}", inputs=(*given, *keep), result=loss)


# ---- pictures ----

class Denoiser(nn.Module):
    """Blocks with norms, the time by sines, two halvings and skips."""

    class Block(nn.Module):
        def __init__(self, inside, outside):
            super().__init__()
            self.norm, self.a = nn.GroupNorm(4, inside), nn.Conv2d(inside, outside, 3, padding=1)
            self.b, self.time = nn.Conv2d(outside, outside, 3, padding=1), nn.Linear(64, outside)
            self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

        def forward(self, x, t):
            y = self.a(F.silu(self.norm(x))) + self.time(t)[:, :, None, None]
            return self.b(F.silu(y)) + self.skip(x)

    def __init__(self, width=24):
        super().__init__()
        block = self.Block
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList([block(width, width), block(width, 2 * width)])
        self.middle = block(2 * width, 2 * width)
        self.up = nn.ModuleList([block(4 * width, width), block(2 * width, width)])
        self.last = nn.Conv2d(width, 3, 3, padding=1)
        self.register_buffer("waves", torch.exp(-math.log(10000) * torch.arange(32) / 32))

    def forward(self, x, t):
        angles = t[:, None] * self.waves
        t = torch.cat([angles.sin(), angles.cos()], 1)
        x, seen = self.first(x), []
        for block in self.down:
            x = block(x, t)
            seen.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, t)
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), seen.pop()], 1), t)
        return self.last(x)


def diffusion(steps):
    """An average of its weights follows the model; clipped gradients, AdamW."""
    model = Denoiser()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
    photos = torch.rand(400, 3, 32, 32)

    def batch():
        x, t = photos[torch.randint(0, 400, (16,))] * 2 - 1, torch.randint(0, 1000, (16,))
        noise, a = torch.randn_like(x), kept[t].float().view(-1, 1, 1, 1)
        return a.sqrt() * x + (1 - a).sqrt() * noise, t, noise

    @torch.no_grad()
    def follow():
        for mean, now in zip(average.parameters(), model.parameters()):
            mean.mul_(0.99).add_(now, alpha=0.01)

    def loss_of(x, t, noise):
        return F.mse_loss(model(x, t), noise)

    train(Told([model, average], [optimizer]), steps, batch, loss_of, follow, keep=[kept, photos])


def momentum_encoder(steps):
    """Two views of each picture, an encoder that follows the other one without gradients, a queue; SGD with momentum."""
    def made():
        return nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1),
                             nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 64))

    query, key = made(), made()
    key.load_state_dict(query.state_dict())
    key.requires_grad_(False)
    queue, at = F.normalize(torch.randn(64, 2048), dim=0), 0
    optimizer = torch.optim.SGD(query.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
    told = Told([query, key], [optimizer])
    for step in range(steps):
        pictures = torch.rand(24, 3, 32, 32)
        one, two = pictures + 0.1 * torch.randn_like(pictures), pictures.flip(3)
        q = F.normalize(query(one), dim=1)
        with torch.no_grad():
            for mean, now in zip(key.parameters(), query.parameters()):
                mean.lerp_(now, 0.01)
            k = F.normalize(key(two), dim=1)
        scores = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.clone()], 1) / 0.2
        loss = F.cross_entropy(scores, torch.zeros(24, dtype=torch.long))
        if late(step, steps):
            told.at(f"forward{step}", inputs=(pictures, one, two, queue), loss=loss, results=(q, k, scores))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue[:, at:at + 24] = k.T
        at = (at + 24) % 2016
        if late(step, steps):
            told.at(f"step{step}", inputs=(pictures, one, two, queue), results=(loss, q, k, scores))


def autoencoder(steps):
    """A variational one: noise in the middle of the model, convolutions that are transposed, RAdam."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.read = nn.Sequential(nn.Conv2d(1, 24, 4, 2, 1), nn.ELU(), nn.Conv2d(24, 48, 4, 2, 1), nn.ELU(),
                                      nn.Flatten(), nn.Linear(48 * 49, 64))
            self.write = nn.Sequential(nn.Linear(32, 48 * 49), nn.Unflatten(1, (48, 7, 7)),
                                       nn.ConvTranspose2d(48, 24, 4, 2, 1), nn.ELU(), nn.ConvTranspose2d(24, 1, 4, 2, 1))

        def forward(self, x):
            mean, spread = self.read(x).chunk(2, 1)
            return self.write(mean + torch.randn_like(mean) * (0.5 * spread).exp()), mean, spread

    model = Model()

    def loss_of(x):
        y, mean, spread = model(x)
        return (F.binary_cross_entropy_with_logits(y, x, reduction="sum")
                - 0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum()) / len(x)

    train(Told([model], [torch.optim.RAdam(model.parameters())]), steps, lambda: (torch.rand(40, 1, 28, 28),), loss_of)


# ---- graphs and sequences ----

class Layer(nn.Module):
    """What neighbours say, weighed by attention."""

    def __init__(self, inside, outside):
        super().__init__()
        self.turn, self.score = nn.Linear(inside, outside, bias=False), nn.Linear(2 * outside, 1, bias=False)

    def forward(self, x, edges):
        h = self.turn(x)
        weight = F.leaky_relu(self.score(torch.cat([h[edges[0]], h[edges[1]]], 1))).exp()
        total = torch.zeros(len(x), 1).index_add(0, edges[1], weight)
        return torch.zeros_like(h).index_add(0, edges[1], h[edges[0]] * weight) / (total[edges[1].max()] + total + 1e-6)


def graph(steps):
    """All of a graph in each step; only some nodes have labels; Adamax."""
    first, second = Layer(48, 64), Layer(64, 64)
    model = nn.ModuleList([first, second, nn.Linear(64, 10)])
    nodes, edges = torch.randn(800, 48), torch.randint(0, 800, (2, 3000))
    labels, known = torch.randint(0, 10, (800,)), torch.rand(800) < 0.3

    def loss_of():
        x = F.dropout(F.elu(first(nodes, edges)), 0.3)
        return F.cross_entropy(model[2](F.elu(second(x, edges)))[known], labels[known])

    train(Told([model], [torch.optim.Adamax(model.parameters())]), steps, lambda: (), loss_of,
          keep=[nodes, edges, labels, known])


class Routed(nn.Module):
    """The two best of eight experts, whose weights are two tensors."""

    def __init__(self, width=96, count=8):
        super().__init__()
        self.gate = nn.Linear(width, count, bias=False)
        self.up = nn.Parameter(torch.randn(count, width, 2 * width) / 10)
        self.down = nn.Parameter(torch.randn(count, 2 * width, width) / 14)

    def forward(self, x):
        chances = self.gate(x).softmax(-1)
        weight, where = chances.topk(2, -1)
        mixed = torch.zeros_like(chances).scatter(1, where, weight / weight.sum(-1, keepdim=True))
        y = torch.einsum("nd,edh->enh", x, self.up)
        y = torch.einsum("enh,ehd->end", F.silu(y), self.down)
        return torch.einsum("end,ne->nd", y, mixed), (chances.mean(0) ** 2).sum()


def routed(steps):
    """A mixture of experts with a second loss; Adafactor."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.out = nn.Embedding(700, 96), nn.Linear(96, 700)
            self.layers, self.norm = nn.ModuleList([Routed(), Routed()]), nn.LayerNorm(96)

        def forward(self, tokens):
            x, balance = self.words(tokens).flatten(0, 1), 0
            for layer in self.layers:
                y, more = layer(self.norm(x))
                x, balance = x + y, balance + more
            return self.out(x), balance

    model = Model()

    def loss_of(x, y):
        logits, balance = model(x)
        return F.cross_entropy(logits, y.flatten()) + 0.01 * balance

    train(Told([model], [torch.optim.Adafactor(model.parameters())]), steps,
          lambda: (torch.randint(0, 700, (16, 32)), torch.randint(0, 700, (16, 32))), loss_of)


def carried(steps):
    """A language model whose states go on from batch to batch, without their graph; Rprop, clipped."""
    words, body, out = nn.Embedding(500, 96), nn.LSTM(96, 128, 2, dropout=0.2), nn.Linear(128, 500)
    model = nn.ModuleList([words, body, out])
    optimizer = torch.optim.Rprop(model.parameters())
    told = Told([model], [optimizer])
    text, state = torch.randint(0, 500, (25 * (steps + 1), 20)), None
    for step in range(steps):
        x, y = text[25 * step:25 * step + 25], text[25 * step + 1:25 * step + 26]
        seen, state = body(words(x), state)
        loss = F.cross_entropy(out(seen).flatten(0, 1), y.flatten())
        if late(step, steps):
            told.at(f"forward{step}", inputs=(text,), loss=loss, results=(seen, *state))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        state = [s.detach() for s in state]
        if late(step, steps):
            told.at(f"step{step}", inputs=(text,), results=(loss, seen, *state))


def waves(steps):
    """Dilated convolutions whose weights are computed from two others at each call; Nesterov."""
    layers = nn.ModuleList([weight_norm(nn.Conv1d(32, 64, 3, dilation=2 ** i, padding=2 ** i)) for i in range(4)])
    first, out = nn.Conv1d(1, 32, 1), nn.Conv1d(32, 128, 1)
    model = nn.ModuleList([layers, first, out])

    def loss_of(x, y):
        h = first(x)
        for layer in layers:
            a, b = layer(h).chunk(2, 1)
            h = h + torch.tanh(a) * torch.sigmoid(b)
        return F.cross_entropy(out(h), y)

    train(Told([model], [torch.optim.SGD(model.parameters(), 0.01, 0.9, nesterov=True)]), steps,
          lambda: (torch.randn(8, 1, 500), torch.randint(0, 128, (8, 500))), loss_of)


def lora(steps):
    """Low ranks beside the frozen projections of a transformer, with dropout; a scaler, autocast, two batches for a step."""
    class Low(nn.Module):
        def __init__(self, layer, rank=8):
            super().__init__()
            self.layer = layer
            self.a = nn.Parameter(torch.empty(rank, layer.in_features))
            self.b = nn.Parameter(torch.zeros(layer.out_features, rank))
            nn.init.kaiming_uniform_(self.a)

        def forward(self, x):
            return self.layer(x) + F.dropout(x, 0.1) @ self.a.T @ self.b.T

    words, body, head = nn.Embedding(600, 128), nn.ModuleList(), nn.Linear(128, 600)
    for _ in range(3):
        body.append(nn.ModuleList([nn.LayerNorm(128), nn.Linear(128, 384), nn.Linear(128, 128)]))
    model = nn.ModuleList([words, body, head]).requires_grad_(False)
    for block in body:
        block[1], block[2] = Low(block[1]), Low(block[2])
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.01, 0.9)
    scaler, told = torch.amp.GradScaler("cpu"), Told([model], [optimizer])

    def loss_of(x, y):
        h = words(x)
        for norm, project, out in body:
            q, k, v = project(norm(h)).view(8, 32, 3, 4, 32).permute(2, 0, 3, 1, 4)
            h = h + out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return F.cross_entropy(head(h).flatten(0, 1), y.flatten())

    for step in range(steps):
        for part in range(2):
            x, y = torch.randint(0, 600, (8, 32)), torch.randint(0, 600, (8, 32))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = loss_of(x, y) / 2
            if late(step, steps):
                told.at(f"forward{step}.{part}", inputs=(x, y), loss=loss)
            scaler.scale(loss).backward()
            if late(step, steps):
                told.at(f"backward{step}.{part}", inputs=(x, y), result=loss)
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y), result=loss)


# ---- experience, and steps of the program's own ----

class Memory:
    """What was seen, overwritten from the beginning once it is full."""

    def __init__(self, room=4000):
        self.before, self.after = torch.zeros(room, 24), torch.zeros(room, 24)
        self.acted, self.paid = torch.zeros(room, dtype=torch.long), torch.zeros(room)
        self.room, self.at = room, 0

    def add(self, before, acted, paid, after):
        self.before[self.at], self.acted[self.at], self.paid[self.at], self.after[self.at] = before, acted, paid, after
        self.at = (self.at + 1) % self.room

    def draw(self, count):
        i = torch.randint(0, max(self.at, count), (count,))
        return self.before[i], self.acted[i], self.paid[i], self.after[i]


def replay(steps):
    """A network that acts, one that judges and is copied now and then, and a memory of experience; Adam."""
    def made():
        return nn.Sequential(nn.Linear(24, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4))

    model, judge, memory = made(), made(), Memory()
    judge.load_state_dict(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    told, state = Told([model, judge], [optimizer]), torch.randn(24)
    kept = (memory.before, memory.after, memory.acted, memory.paid)
    for step in range(steps):
        for _ in range(40):
            with torch.no_grad():
                acted = model(state).argmax()
            after = 0.9 * state + 0.1 * torch.randn(24)
            memory.add(state, acted, after.mean(), after)
            state = after
        before, acted, paid, after = memory.draw(256)
        with torch.no_grad():
            wanted = paid + 0.99 * judge(after).max(1).values
        loss = F.smooth_l1_loss(model(before).gather(1, acted[:, None]).flatten(), wanted)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(before, acted, paid, after, *kept), loss=loss, results=(wanted,))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            judge.load_state_dict(model.state_dict())
        if late(step, steps):
            told.at(f"step{step}", inputs=(before, acted, paid, after, *kept), results=(loss, wanted))


class Lion(torch.optim.Optimizer):
    """An optimizer of the program's own, as its class demands it."""

    def __init__(self, parameters, lr=1e-4):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                p.add_((state["mean"] * 0.9 + p.grad * 0.1).sign_(), alpha=-group["lr"])
                state["mean"].lerp_(p.grad, 0.01)


def lion(steps):
    """A network over tables: one embedding for each column, an optimizer of the program's own."""
    columns = nn.ModuleList([nn.Embedding(rows, 24) for rows in (300, 500, 200, 100)])
    body = nn.Sequential(nn.Linear(4 * 24 + 16, 256), nn.Mish(), nn.Dropout(0.2), nn.Linear(256, 128), nn.Mish(),
                         nn.Linear(128, 1))
    model = nn.ModuleList([columns, body])

    def loss_of(words, numbers, y):
        x = torch.cat([*(table(words[:, i]) for i, table in enumerate(columns)), numbers], 1)
        return F.binary_cross_entropy_with_logits(body(x).flatten(), y)

    train(Told([model], [Lion(model.parameters())]), steps,
          lambda: (torch.randint(0, 100, (300, 4)), torch.randn(300, 16), torch.rand(300)), loss_of)


def by_hand(steps):
    """Gradients that are asked for, and a step with momentum that is written out: no optimizer anywhere."""
    model = nn.Sequential(nn.Linear(120, 300), nn.GELU(), nn.Linear(300, 200), nn.GELU(), nn.Linear(200, 30))
    weights = list(model.parameters())
    means, told = [torch.zeros_like(p) for p in weights], Told([model], [])
    for step in range(steps):
        x, y = torch.randn(150, 120), torch.randn(150, 30)
        loss = F.mse_loss(model(x), y)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(x, y), loss=loss, state=means)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for p, mean, g in zip(weights, means, gradients):
                p.sub_(mean.mul_(0.9).add_(g), alpha=0.01)
        del gradients, p, mean, g
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y), result=loss, state=means)


@torch.inference_mode()
def buffered_cache(steps):
    """Generation by a model whose cache is made with it, as buffers, and filled by places; sampling by chance."""
    class Attention(nn.Module):
        def __init__(self, width=128, length=64):
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
            for name in ("keys", "values"):
                self.register_buffer(name, say(torch.zeros(4, length, width), "kv cache"), persistent=False)

        def forward(self, x, places):
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            self.keys.index_copy_(1, places, k)
            self.values.index_copy_(1, places, v)
            end = int(places[-1]) + 1
            return x + self.out(F.scaled_dot_product_attention(q, self.keys[:, :end], self.values[:, :end]))

    words, head = nn.Embedding(700, 128), nn.Linear(128, 700)
    body = nn.ModuleList([Attention() for _ in range(3)])
    told, tokens, at = Told([words, body, head], []), torch.randint(0, 700, (4, 12)), 0
    for step in range(steps):
        x, places = words(tokens), torch.arange(at, at + tokens.shape[1])
        for layer in body:
            x = layer(x, places)
        logits = head(x[:, -1])
        tokens, at = torch.multinomial(logits.softmax(-1), 1), at + tokens.shape[1]
        if late(step, steps):
            told.at(f"token{step}", results=(logits,), cache=[t for layer in body for t in (layer.keys, layer.values)])
