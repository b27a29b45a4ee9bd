"""More programs of decompose_models.py, written after the rules that they are judged by: low ranks that are merged, then words by the
merged model; graphs that are put elsewhere; compiled code; a teacher that is the average of its pupil, over many cuts of a picture from
loaders within loaders; an encoder whose keys stay while a decoder's grow.
"""

import copy

import torch
import torch.nn.functional as F
from decompose_inference import say
from decompose_other import late, train
from decompose_tasks import Speaker
from tensors import Told
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Low(nn.Module):
    def __init__(self, layer, rank=16):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, layer.in_features) / 50)
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + F.linear(F.linear(x, self.a), self.b)

    @torch.no_grad()
    def merged(self):
        self.layer.weight = nn.Parameter(self.layer.weight + self.b @ self.a, requires_grad=False)
        return self.layer


def merged(steps):
    """Low ranks are trained and merged into the weights; the merged model then writes with a cache that grows; AdamW."""
    model = Speaker(128, 3)
    model.requires_grad_(False)
    model.qkv = nn.ModuleList([Low(layer) for layer in model.qkv])
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    told = Told([model], [optimizer])

    def loss_of(text):
        return F.cross_entropy(model(text[:, :-1], None)[0].flatten(0, 1), text[:, 1:].flatten())

    train(told, steps, lambda: (torch.randint(0, 400, (8, 65)),), loss_of)
    model.qkv = nn.ModuleList([layer.merged() for layer in model.qkv])
    told.optimizers.clear()
    del optimizer
    text, cache = torch.randint(0, 400, (8, 20)), None
    with torch.inference_mode():
        for word in range(3 * steps):
            out, cache = model(text, cache)
            say([t for pair in cache for t in pair], "kv cache")
            text = out[:, -1:].argmax(-1)
            if word >= 3 * steps - 2:
                told.at(f"word{word}", inputs=[text], cache=[t for pair in cache for t in pair], result=out)


def offloaded(steps):
    """What a graph keeps is copied elsewhere by torch's own hooks, and copied back for gradients; SGD with momentum, three batches for a step."""
    model = nn.Sequential(nn.Linear(120, 300), nn.SiLU(), nn.LayerNorm(300), nn.Linear(300, 300), nn.SiLU(), nn.Linear(300, 25))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9)
    told, held = Told([model], [optimizer]), []
    lasting = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def pack(t):
        if t.untyped_storage().data_ptr() in lasting:
            return t
        there = torch.empty(t.shape, dtype=t.dtype)
        there.copy_(t)
        held.append(there)
        return there

    for step in range(steps):
        for part in range(3):
            x, y = torch.randn(128, 120), torch.randint(0, 25, (128,))
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.clone() if t.data_ptr() not in lasting else t):
                loss = F.cross_entropy(model(x), y) / 3
            if late(step, steps):
                told.at(f"forward{step}.{part}", inputs=(x, y), result=loss, results=held)
            held.clear()
            loss.backward()
        if late(step, steps):
            told.at(f"backward{step}", inputs=(x, y), result=loss)
        optimizer.step()
        optimizer.zero_grad()
        if late(step, steps):
            told.at(f"step{step}", inputs=(x, y), result=loss)


class Sizes(Dataset):
    """Pictures in several cuts, each normalized where it is read."""

    def __init__(self):
        self.pictures = torch.randint(0, 256, (200, 3, 40, 40), dtype=torch.uint8)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, at):
        x = (self.pictures[at].float() / 255 - 0.5) / 0.25
        return x[:, 4:36, 4:36], x[:, 8:40, 0:32].flip(2), x[:, 12:28, 12:28], x[:, 0:16, 20:36]


class Again(IterableDataset):
    """A loader within another one's data: as often as it is asked for."""

    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        while True:
            yield from self.inner


def crops(steps):
    """A teacher that is an average of its pupil, a centre that follows its words, cuts of two sizes; AdamW, clipped."""
    def made():
        return nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.GroupNorm(4, 32), nn.GELU(), nn.Conv2d(32, 64, 3, 2, 1), nn.GELU(),
                             nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1024))

    pupil = made()
    teacher = copy.deepcopy(pupil).requires_grad_(False)
    optimizer = torch.optim.AdamW(pupil.parameters(), 1e-3)
    told, centre = Told([pupil, teacher], [optimizer]), torch.zeros(1, 1024)
    data = Sizes()
    loader = iter(DataLoader(Again(DataLoader(data, 16, shuffle=True)), batch_size=None))
    for step in range(steps):
        cuts = next(loader)
        with torch.no_grad():
            wanted = [((teacher(x) - centre) / 0.05).softmax(-1) for x in cuts[:2]]
        said = [pupil(x) for x in cuts]
        loss = sum(-(w * (s / 0.1).log_softmax(-1)).sum(-1).mean() for i, w in enumerate(wanted) for j, s in enumerate(said) if i != j)
        if late(step, steps):
            told.at(f"forward{step}", inputs=(*cuts, data.pictures), loss=loss, results=(*wanted, *said, centre))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(pupil.parameters(), 3.0)
        if late(step, steps):
            told.at(f"backward{step}", inputs=(*cuts, data.pictures), results=(loss, *wanted, *said, centre))
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), pupil.parameters()):
                slow.lerp_(fast, 0.01)
            centre = 0.9 * centre + 0.1 * torch.cat(wanted).mean(0, keepdim=True)
        if late(step, steps):
            told.at(f"step{step}", inputs=(*cuts, data.pictures), results=(loss, *wanted, *said, centre))


def compiled(steps):
    """A compiled model with a residual, its loss outside of it; Adam with foreach."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.mid, self.out = nn.Linear(80, 256), nn.Linear(256, 256), nn.Linear(256, 20)

        def forward(self, x):
            x = F.gelu(self.inside(x))
            return self.out(x + F.gelu(self.mid(x)))

    model = Net()
    fast = torch.compile(model)
    told = Told([model], [torch.optim.Adam(model.parameters(), foreach=True)])
    train(told, steps, lambda: (torch.randn(256, 80), torch.randint(0, 20, (256,))), lambda x, y: F.cross_entropy(fast(x), y))


class Writer(nn.Module):
    """A layer of a decoder that looks at itself and at what was read."""

    def __init__(self, width=128):
        super().__init__()
        self.own, self.read, self.ask = nn.Linear(width, 3 * width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, source, cache):
        q, k, v = self.own(x).chunk(3, -1)
        if cache is None:
            cache = {"read": self.read(source)}
        else:
            k, v = torch.cat([cache["k"], k], 1), torch.cat([cache["v"], v], 1)
        x = x + F.scaled_dot_product_attention(q, k, v)
        x = x + F.scaled_dot_product_attention(self.ask(x), *cache["read"].chunk(2, -1))
        return x + self.down(F.gelu(self.up(x))), {"read": cache["read"], "k": k, "v": v}


@torch.no_grad()
def summary(steps):
    """Texts are read once and told by four beams, whose caches are ordered anew; what was said of all texts is kept."""
    words, reads = nn.Embedding(500, 128), nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 2).eval()
    layers, head = nn.ModuleList([Writer() for _ in range(2)]), nn.Linear(128, 500)
    told, kept = Told([words, reads, layers, head], []), []
    for step in range(steps):
        text = torch.randint(0, 500, (4, 60))
        source = reads(words(text)).repeat_interleave(4, 0)
        last, score, caches = torch.zeros(16, 1, dtype=torch.long), torch.zeros(16), [None] * len(layers)
        for word in range(12):
            x = words(last)
            for at, layer in enumerate(layers):
                x, caches[at] = layer(x, source, caches[at])
            out = head(x[:, -1]).log_softmax(-1)
            score, best = (score[:, None] + out).view(4, -1).topk(4)
            order = (best // 500 + 4 * torch.arange(4)[:, None]).flatten()
            score, last = score.flatten(), (best % 500).view(16, 1)
            caches = [{name: t.index_select(0, order) for name, t in c.items()} for c in caches]
            if step >= steps - 2 and word in (5, 11):
                told.at(f"text{step}.{word}", inputs=[text], cache=[say(t, "kv cache") for c in caches for t in c.values()],
                        results=(source, x, out, *kept))
        kept.append(x.squeeze(1).clone())


MODELS = [merged, offloaded, crops, compiled, summary]
