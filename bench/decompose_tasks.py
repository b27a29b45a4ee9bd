"""More programs of decompose_models.py, of tasks that others lack: speech by a transducer, pictures by a transformer that noise is taken
away with, experts with room for so many, a penalty by functional calls, experience in lists, a queue that is joined anew, weights that are
rounded, an ensemble in one call, parameters in parts, words that a small model guesses for a large one.
"""

import copy
import math
import random

import torch
import torch.nn.functional as F
from decompose_inference import say
from decompose_other import late, train
from tensors import Told
from torch import nn


class Transducer(nn.Module):
    def __init__(self, words=40, width=96):
        super().__init__()
        self.hear = nn.LSTM(40, width, 2, batch_first=True)
        self.table, self.guess = nn.Embedding(words, width), nn.LSTM(width, width, batch_first=True)
        self.join = nn.Linear(width, words)

    def forward(self, sound, text):
        heard, _ = self.hear(sound)
        said, _ = self.guess(F.pad(self.table(text), (0, 0, 1, 0)))
        return self.join(torch.tanh(heard[:, :, None] + said[:, None])).log_softmax(-1)


def transducer(steps):
    """A loss that is a sum over all paths through a lattice, written out row by row; AdamW, clipped."""
    model = Transducer()
    told = Told([model], [torch.optim.AdamW(model.parameters())])

    def loss_of(sound, text):
        scores = model(sound, text)
        blank, emit = scores[..., 0], scores[:, :, :-1].gather(3, text[:, None, :, None].expand(-1, scores.shape[1], -1, 1))[..., 0]
        rows = [F.pad(emit[:, 0].cumsum(1), (1, 0))]
        for at in range(1, scores.shape[1]):
            stay, row = rows[-1] + blank[:, at - 1], []
            for word in range(stay.shape[1]):
                row.append(torch.logaddexp(stay[:, word], row[-1] + emit[:, at, word - 1]) if word else stay[:, 0])
            rows.append(torch.stack(row, 1))
        return -(rows[-1][:, -1] + blank[:, -1, -1]).mean()

    train(told, steps, lambda: (torch.randn(64, 24, 40), torch.randint(1, 40, (64, 8))), loss_of,
          lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0))


class Modulated(nn.Module):
    """A block of a transformer that is scaled and shifted by what time it is."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.by = heads, nn.Linear(width, 6 * width)
        self.one, self.two = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x, t):
        a, b, c, d, e, f = self.by(F.silu(t))[:, None].chunk(6, -1)
        q, k, v = self.qkv(self.one(x) * (1 + a) + b).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + c * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + f * self.mlp(self.two(x) * (1 + d) + e)


class Patches(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.cut, self.put = nn.Conv2d(4, width, 2, 2), nn.Linear(width, 16)
        self.places = nn.Parameter(torch.randn(1, 64, width) * 0.02)
        self.time = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList([Modulated(width) for _ in range(3)])

    def forward(self, x, t):
        angles = t[:, None] * torch.exp(-math.log(1000) * torch.arange(32) / 32)
        t = self.time(torch.cat([angles.cos(), angles.sin()], -1))
        x = self.cut(x).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x, t)
        return self.put(x)


def flows(steps):
    """A straight way from noise to pictures; an average of its weights is a dict of tensors; AdamW."""
    model = Patches()
    average = {name: value.detach().clone() for name, value in model.state_dict().items()}
    told = Told([model, list(average.values())], [torch.optim.AdamW(model.parameters(), 1e-4)])
    latents = torch.randn(300, 4, 16, 16)

    def batch():
        x, t = latents[torch.randint(0, 300, (24,))], torch.rand(24)
        noise = torch.randn_like(x)
        at = t[:, None, None, None]
        return (1 - at) * x + at * noise, t, noise - x

    def loss_of(x, t, speed):
        return (model(x, t) - speed.unfold(2, 2, 2).unfold(3, 2, 2).permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)).square().mean()

    @torch.no_grad()
    def follow():
        for name, value in model.state_dict().items():
            average[name].lerp_(value, 0.01)

    train(told, steps, batch, loss_of, follow, keep=[latents])


class Roomy(nn.Module):
    """Each of six experts has room for so many tokens; the others go by."""

    def __init__(self, width=96, experts=6):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) / width ** 0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) / width ** 0.5)

    def forward(self, x):
        flat = x.flatten(0, 1)
        scores = self.gate(flat).softmax(-1)
        best, which = scores.max(-1)
        chosen = F.one_hot(which, scores.shape[1])
        place = (chosen.cumsum(0) * chosen).sum(1) - 1
        room = flat.shape[0] // scores.shape[1]
        fits = place < room
        to = (which * room + place)[fits]
        taken = flat.new_zeros(scores.shape[1] * room, flat.shape[1]).index_copy(0, to, flat[fits])
        given = torch.bmm(F.relu(torch.bmm(taken.view(scores.shape[1], room, -1), self.up)), self.down).flatten(0, 1)
        back = torch.zeros_like(flat).index_put((fits.nonzero()[:, 0],), given[to] * best[fits, None])
        self.loss = (scores.mean(0) * chosen.float().mean(0)).sum() * scores.shape[1]
        return x + back.view_as(x)


def capacity(steps):
    """Experts whose loads are balanced by a second loss; gradients are dropped before the next ones; Adam and SGD by turns."""
    model = nn.Sequential(nn.Embedding(500, 96), Roomy(), nn.LayerNorm(96), Roomy(), nn.Linear(96, 500))
    told = Told([model], [torch.optim.Adam(model.parameters())])
    for step in range(steps):
        text = torch.randint(0, 500, (16, 33))
        out = model(text[:, :-1])
        loss = F.cross_entropy(out.flatten(0, 1), text[:, 1:].flatten()) + 0.01 * sum(m.loss for m in model if isinstance(m, Roomy))
        if late(step, steps):
            told.at(f"forward{step}", inputs=[text], loss=loss, result=out)
        model.zero_grad()
        loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=[text], results=(loss, out))
        told.optimizers[0].step()
        if late(step, steps):
            told.at(f"step{step}", inputs=[text], results=(loss, out))


def penalty(steps):
    """Two models that are called by their parameters in dicts, a penalty by torch.func; the program's own gradients; two RMSprops."""
    from torch.func import functional_call, grad, vmap
    write = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 256), nn.Tanh())
    judge = nn.Sequential(nn.Linear(256, 192), nn.LeakyReLU(0.2), nn.Linear(192, 96), nn.LeakyReLU(0.2), nn.Linear(96, 1))
    own = [{n: p.detach().clone().requires_grad_() for n, p in m.named_parameters()} for m in (write, judge)]
    del write, judge
    shells = [nn.Sequential(nn.Linear(32, 128, device="meta"), nn.ReLU(), nn.Linear(128, 256, device="meta"), nn.Tanh()),
              nn.Sequential(nn.Linear(256, 192, device="meta"), nn.LeakyReLU(0.2), nn.Linear(192, 96, device="meta"),
                            nn.LeakyReLU(0.2), nn.Linear(96, 1, device="meta"))]
    optimizers = [torch.optim.RMSprop(values.values(), 1e-4) for values in own]
    told = Told([list(values.values()) for values in own], optimizers)

    def score(values, x):
        return functional_call(shells[1], values, (x,)).squeeze(-1)

    noise = ()
    for step in range(steps):
        real = torch.randn(64, 256)
        with torch.no_grad():
            made = functional_call(shells[0], own[0], (torch.randn(64, 32),))
        mixed = made.lerp(real, torch.rand(64, 1))
        slope = vmap(grad(lambda x: score(own[1], x[None])[0]))(mixed)
        loss = score(own[1], made).mean() - score(own[1], real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()
        if late(step, steps):
            told.at(f"forward{step}", inputs=(real, *noise), loss=loss, results=(made, mixed), gradients=[slope])
        for p, g in zip(own[1].values(), torch.autograd.grad(loss, list(own[1].values()))):
            p.grad = g
        if late(step, steps):
            told.at(f"backward{step}", inputs=(real, *noise), results=(made, mixed), gradients=[slope])
        optimizers[1].step()
        optimizers[1].zero_grad()
        noise = torch.randn(64, 32),
        fooled = -score(own[1], functional_call(shells[0], own[0], noise)).mean()
        for p, g in zip(own[0].values(), torch.autograd.grad(fooled, list(own[0].values()))):
            p.grad = g
        del g, p
        optimizers[0].step()
        optimizers[0].zero_grad()
        if late(step, steps):
            told.at(f"step{step}", inputs=(real, *noise), results=(made, mixed, loss, fooled), gradients=[slope])


def listed_replay(steps):
    """Experience in lists of Python, an actor and two judges with followers; batches are copied out of it; three Adams."""
    def net(inside, outside):
        return nn.Sequential(nn.Linear(inside, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, outside))

    actor, judges = net(24, 4), [net(28, 1) for _ in range(2)]
    followers = copy.deepcopy([actor, *judges])
    optimizers = [torch.optim.Adam(m.parameters(), 3e-4) for m in (actor, *judges)]
    told = Told([actor, *judges, *followers], optimizers)
    seen, state = [], [0.0] * 24
    for step in range(steps):
        for _ in range(20):
            with torch.no_grad():
                act = [a + random.gauss() for a in actor(torch.tensor(state)).tolist()]
            now = [0.9 * value + random.gauss() for value in state]
            seen.append((state, act, now, [sum(now)]))
            state = now
        s, a, n, r = map(torch.tensor, zip(*random.choices(seen, k=256)))
        with torch.no_grad():
            then = torch.cat([n, followers[0](n).tanh()], 1)
            want = r + 0.99 * torch.minimum(followers[1](then), followers[2](then))
        both = torch.cat([s, a], 1)
        loss = sum(F.mse_loss(judge(both), want) for judge in judges)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(s, a, n, r, both), loss=loss, results=(then, want))
        loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(s, a, n, r, both), results=(then, want))
        for optimizer in optimizers[1:]:
            optimizer.step()
            optimizer.zero_grad()
        wish = -judges[0](torch.cat([s, actor(s).tanh()], 1)).mean()
        wish.backward()
        optimizers[0].step()
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.no_grad():
            for slow, fast in zip(followers, (actor, *judges)):
                for p, q in zip(slow.parameters(), fast.parameters()):
                    p.mul_(0.995).add_(q, alpha=0.005)
        if late(step, steps):
            told.at(f"step{step}", inputs=(s, a, n, r, both), results=(then, want))


def joined_queue(steps):
    """A queue of keys that is joined anew in each step, and its oldest are dropped; SGD with momentum."""
    model = nn.Sequential(nn.Conv2d(3, 32, 5, 2), nn.ReLU(), nn.Conv2d(32, 48, 5, 2), nn.ReLU(), nn.Flatten(), nn.Linear(48 * 25, 96))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9)
    told, queue = Told([model], [optimizer]), F.normalize(torch.randn(512, 96), dim=1)
    for step in range(steps):
        pictures = torch.rand(32, 3, 32, 32)
        q = F.normalize(model(pictures), dim=1)
        with torch.no_grad():
            k = F.normalize(model(pictures.flip(2)), dim=1)
        scores = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.1
        loss = F.cross_entropy(scores, torch.zeros(32, dtype=torch.long))
        if late(step, steps):
            told.at(f"forward{step}", inputs=(pictures,), loss=loss, results=(q, k, scores, queue))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue = torch.cat([queue, k])[-512:]
        if late(step, steps):
            told.at(f"step{step}", inputs=(pictures,), results=(q, k, scores, loss, queue))


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, scale):
        ratio = w / scale
        ctx.save_for_backward(ratio.abs() <= 127)
        return ratio.round().clamp(-127, 127) * scale

    @staticmethod
    def backward(ctx, g):
        inside, = ctx.saved_tensors
        return g * inside, None


class RoundedLinear(nn.Linear):
    """Weights and what comes in are rounded to 8 bits; ranges are watched."""

    def __init__(self, inside, outside):
        super().__init__(inside, outside)
        self.register_buffer("most", torch.ones(inside))

    def forward(self, x):
        if self.training:
            self.most.mul_(0.9).add_(0.1 * x.detach().abs().amax(0))
        scale = self.weight.detach().abs().amax(1, keepdim=True) / 127
        return F.linear(Rounded.apply(x, self.most / 127), Rounded.apply(self.weight, scale), self.bias)


def rounded(steps):
    """Training that knows of 8 bits, then the weights themselves are packed to them; Adam."""
    model = nn.Sequential(RoundedLinear(1200, 256), nn.ReLU(), RoundedLinear(256, 256), nn.ReLU(), RoundedLinear(256, 40))
    told = Told([model], [torch.optim.Adam(model.parameters())])
    train(told, steps, lambda: (torch.randn(96, 1200), torch.randint(0, 40, (96,))), lambda x, y: F.cross_entropy(model(x), y))
    small = [(m.weight.detach() * 100).round().to(torch.int8) for m in model if isinstance(m, nn.Linear)]
    told.models.append(small)
    told.at("kept")


def ensemble(steps):
    """Eight models in one call by torch.func; their parameters are stacked; one AdamW for all."""
    from torch.func import functional_call, stack_module_state, vmap
    models = [nn.Sequential(nn.Linear(48, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 12)) for _ in range(8)]
    values, buffers = stack_module_state(models)
    shell = copy.deepcopy(models[0]).to("meta")
    del models
    optimizer = torch.optim.AdamW(values.values())
    told = Told([list(values.values())], [optimizer])

    def loss_of(x, y):
        out = vmap(lambda v, b: functional_call(shell, (v, b), (x,)), randomness="different")(values, buffers)
        return F.cross_entropy(out.flatten(0, 1), y.repeat(8))

    train(told, steps, lambda: (torch.randn(256, 48), torch.randint(0, 12, (256,))), loss_of)


class Parted(nn.Module):
    """A layer whose parameters are kept in parts: they are put together for a call, and dropped after it."""

    class Whole(torch.autograd.Function):
        @staticmethod
        def forward(ctx, part, others, shape):
            ctx.count = part.numel()
            return torch.cat([part, *others])[:math.prod(shape)].view(shape)

        @staticmethod
        def backward(ctx, g):
            return g.flatten()[:ctx.count].clone(), None, None

    def __init__(self, inside, outside, ranks=2):
        super().__init__()
        whole = nn.Linear(inside, outside)
        self.shape, parts = (outside, inside), whole.weight.detach().flatten().chunk(ranks)
        self.part, self.bias = nn.Parameter(parts[0].clone()), nn.Parameter(whole.bias.detach().clone())
        self.others = [p.clone() for p in parts[1:]]

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(
            lambda x: F.linear(x, self.Whole.apply(self.part, self.others, self.shape), self.bias), x, use_reentrant=False)


def sharded(steps):
    """Parameters in parts, put together again to compute gradients; Adam on the parts, clipped."""
    import torch.utils.checkpoint  # noqa: F401
    model = nn.Sequential(Parted(160, 400), nn.GELU(), Parted(400, 400), nn.GELU(), Parted(400, 30))
    others = [p for m in model if isinstance(m, Parted) for p in m.others]
    optimizer = torch.optim.Adam(model.parameters())
    told = Told([model, others], [optimizer])
    for step in range(steps):
        x, y = torch.randn(64, 160), torch.randint(0, 30, (64,))
        out = model(x)
        F.cross_entropy(out, y).backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(x, y), results=(out,))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y), results=(out,))


class Speaker(nn.Module):
    def __init__(self, width, layers, words=400, heads=4):
        super().__init__()
        self.heads, self.words, self.head = heads, nn.Embedding(words, width), nn.Linear(width, words)
        self.qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(layers)])
        self.out = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])

    def forward(self, text, cache):
        x, new = self.words(text), []
        for at, (qkv, out) in enumerate(zip(self.qkv, self.out)):
            q, k, v = qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            if cache:
                k, v = torch.cat([cache[at][0], k], 2), torch.cat([cache[at][1], v], 2)
            new.append((k, v))
            x = x + out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return self.head(x), new


@torch.inference_mode()
def guesses(steps):
    """A small model guesses four words, a large one judges them; what was wrong is cut off from both caches."""
    small, large = Speaker(64, 1).eval(), Speaker(192, 4).eval()
    told = Told([small, large], [])
    start = torch.randint(0, 400, (4, 24))
    _, few = small(start[:, :-1], None)
    _, many = large(start[:, :-1], None)
    last, length = start[:, -1:], 23
    for step in range(3 * steps):
        words = [last]
        for _ in range(4):
            out, few = small(words[-1], few)
            words.append(out[:, -1].argmax(-1, keepdim=True))
        out, many = large(torch.cat(words[:-1], 1), many)
        length += 1 + step % 3
        few, many = ([(say(k[:, :, :length].clone(), "kv cache"), say(v[:, :, :length].clone(), "kv cache")) for k, v in c]
                     for c in (few, many))
        last = out[:, step % 3:step % 3 + 1].argmax(-1)
        if step >= 3 * steps - 3:
            told.at(f"word{step}", inputs=[start], cache=[t for c in (few, many) for pair in c for t in pair], result=out)


MODELS = [transducer, flows, capacity, penalty, listed_replay, joined_queue, rounded, ensemble, sharded, guesses]
