"""Models in PyTorch that say what each of their tensors is: tensors.py MODEL [STEPS [attach]]

At named moments of the last steps it prints a line of JSON: {moment: {kind: bytes}}, by walking the objects of
Python: parameters, their gradients, the state of optimizers, buffers, inputs, and what the graph has saved. Only
storages that are recorded each count (LEAST bytes and more). tests/cli/test_tensors.py compares `decompose`. With
`attach` tidemark is told of them, too.
"""

import json
import sys

import tidemark
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

LEAST = 4096
ATTACHED = "attach" in sys.argv[3:]
torch.manual_seed(0)
torch.set_num_threads(1)


def saved_by(loss):
    """The tensors that the graph of a loss keeps."""
    seen, todo, found = set(), [loss.grad_fn] if loss is not None else [], []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            if name.startswith("_saved_") and "sym" not in name:
                try:
                    value = getattr(node, name)
                except RuntimeError:  # it was freed
                    continue
                found += [x for x in (value if isinstance(value, (tuple, list)) else (value,))
                          if isinstance(x, torch.Tensor)]
        if hasattr(node, "saved_tensors"):  # a function in Python
            try:
                found += [x for x in node.saved_tensors if isinstance(x, torch.Tensor)]
            except RuntimeError:
                pass
        todo += [following for following, _ in node.next_functions]
    return found


class Told:
    """What is true at a moment: the first kind that a storage is told of counts."""

    def __init__(self, models, optimizers):
        self.models, self.optimizers = models, optimizers
        if ATTACHED:
            tidemark.torch.attach(*(m for m in models if isinstance(m, nn.Module)), *optimizers)

    def kinds(self, inputs=(), loss=None, cache=(), result=None, results=(), state=(), gradients=()):
        parameters = [p for m in self.models for p in (m.parameters() if isinstance(m, nn.Module) else m)]
        states = [v for o in self.optimizers for s in o.state.values() for v in s.values()]
        wanted = [t for t in inputs if isinstance(t, torch.Tensor) and t.is_leaf]
        return [("parameters", parameters), ("gradients", [*(p.grad for p in (*parameters, *wanted)), *gradients]),
                ("optimizer state", [*states, *state]),
                ("buffers", [b for m in self.models if isinstance(m, nn.Module) for b in m.buffers()]),
                ("inputs", inputs), ("kv cache", cache), ("activations", [loss, result, *results, *saved_by(loss)])]

    def sums(self, **known):
        sums, seen = {}, set()
        for kind, tensors in self.kinds(**known):
            for t in tensors:
                if not isinstance(t, torch.Tensor):
                    continue
                storage = t.untyped_storage()
                if storage.nbytes() >= LEAST and storage.data_ptr() not in seen:
                    seen.add(storage.data_ptr())
                    sums[kind] = sums.get(kind, 0) + storage.nbytes()
        return sums

    def at(self, moment, **known):
        sums = self.sums(**known)
        tidemark.snapshot(moment)
        print(json.dumps({moment: sums}), flush=True)


def train(told, batch, loss_of, steps, before=lambda: None, look=True):
    """The usual loop, with moments in its last two steps. To look at what a graph has saved may compute it again."""
    for step in range(steps):
        inputs = batch()
        for optimizer in told.optimizers:
            optimizer.zero_grad()
        loss = loss_of(*inputs)
        late = step >= steps - 2
        if late and look:
            told.at(f"forward{step}", inputs=inputs, loss=loss)
        loss.backward()
        before()
        if late:
            told.at(f"backward{step}", inputs=inputs, result=loss)
        for optimizer in told.optimizers:
            optimizer.step()
        if late:
            told.at(f"step{step}", inputs=inputs, result=loss)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(200, 300), nn.Tanh(), nn.Linear(300, 250), nn.GELU(),
                                    nn.LayerNorm(250), nn.Linear(250, 20))

    def forward(self, x):
        return self.layers(x)


def classes(count, width, kinds):
    return lambda: (torch.randn(count, width), torch.randint(0, kinds, (count * 8,))[:count])


def mlp(steps):
    model = Mlp()
    optimizer = torch.optim.RMSprop(model.parameters(), momentum=0.5)
    train(Told([model], [optimizer]), classes(160, 200, 20), lambda x, y: F.cross_entropy(model(x), y), steps)


def cnn(steps):
    """Norms with buffers, plain SGD, which allocates nothing."""
    model = nn.Sequential(nn.Conv2d(3, 24, 5, 2), nn.BatchNorm2d(24), nn.ELU(), nn.Conv2d(24, 48, 3, groups=2),
                          nn.GroupNorm(4, 48), nn.SiLU(), nn.AvgPool2d(2), nn.Conv2d(48, 40, 3), nn.Flatten(),
                          nn.LazyLinear(30))
    model(torch.zeros(1, 3, 40, 40))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    train(Told([model], [optimizer]), lambda: (torch.rand(16, 3, 40, 40), torch.randint(0, 30, (16,))),
          lambda x, y: F.cross_entropy(model(x), y), steps)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, again=None, width=96, length=40, words=700):
        super().__init__()
        self.again = again
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        self.register_buffer("scale", torch.linspace(0.9, 1.1, length).unsqueeze(1) * torch.ones(length, width))
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(3)])
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = (self.words(tokens) + self.places) * self.scale
        for block in self.blocks:
            x = block(x) if self.again is None else checkpoint(block, x, use_reentrant=self.again)
        return self.head(x)


def language(model):
    return lambda x, y: F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def tokens():
    return torch.randint(0, 700, (24, 40)), torch.randint(0, 700, (24, 40))


def transformer(steps, again=None, **options):
    model = Transformer(again)
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    train(Told([model], [optimizer]), tokens, language(model), steps,
          lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0), look=again is not False)


def checkpointed(steps):
    transformer(steps, again=False)


def reentrant(steps):
    transformer(steps, again=True)


def foreach(steps):
    transformer(steps, foreach=True)


def accumulate(steps):
    """Gradients of three batches for one step."""
    model = Transformer()
    optimizer = torch.optim.NAdam(model.parameters())
    told = Told([model], [optimizer])
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(3):
            inputs = tokens()
            loss = language(model)(*inputs)
            if step >= steps - 2:
                told.at(f"forward{step}.{part}", inputs=inputs, loss=loss)
            loss.backward()
            if step >= steps - 2:
                told.at(f"backward{step}.{part}", inputs=inputs)
        optimizer.step()
        told.at(f"step{step}", inputs=inputs, result=loss)


def mixed(steps):
    """Mixed precision, in a model that was moved."""
    model = Transformer().to(torch.float64).to(torch.float32)
    optimizer = torch.optim.Adam(model.parameters())

    def loss_of(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return language(model)(x, y)

    train(Told([model], [optimizer]), tokens, loss_of, steps)


def adversarial(steps):
    """Two models and two optimizers."""
    maker, judge = Mlp(), nn.Sequential(nn.Linear(20, 400), nn.LeakyReLU(), nn.Linear(400, 1))
    first, second = torch.optim.Adam(maker.parameters()), torch.optim.Adagrad(judge.parameters())
    told = Told([maker, judge], [first, second])
    for step in range(steps):
        noise, real = torch.randn(128, 200), torch.randn(128, 20)
        second.zero_grad()
        loss = judge(maker(noise).detach()).mean() - judge(real).mean()
        loss.backward()
        second.step()
        if step >= steps - 2:
            told.at(f"judged{step}", inputs=(noise, real))
        first.zero_grad()
        loss = -judge(maker(noise)).mean()
        if step >= steps - 2:
            told.at(f"forward{step}", inputs=(noise, real), loss=loss)
        loss.backward()
        first.step()
        if step >= steps - 2:
            told.at(f"step{step}", inputs=(noise, real))


class Adapted(nn.Module):
    """A layer whose weights are frozen, with a small one beside it."""

    def __init__(self, layer, rank=8):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(layer.in_features, rank))
        self.b = nn.Parameter(torch.zeros(rank, layer.out_features))

    def forward(self, x):
        return self.layer(x) + x @ self.a @ self.b


def frozen(steps):
    model = nn.Sequential(Adapted(nn.Linear(300, 500)), nn.ReLU(), Adapted(nn.Linear(500, 350)))
    optimizer = torch.optim.Adamax([p for p in model.parameters() if p.requires_grad])
    train(Told([model], [optimizer]), lambda: (torch.randn(96, 300), torch.randn(96, 350)),
          lambda x, y: F.mse_loss(model(x), y), steps)


def recurrent(steps):
    """A data set in memory and a loader that takes batches from it."""
    data = torch.utils.data.TensorDataset(torch.randn(600, 20, 32), torch.randint(0, 9, (600,)))
    loader = iter(torch.utils.data.DataLoader(data, batch_size=48, shuffle=False))
    model, head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 9)
    optimizer = torch.optim.Adagrad([*model.parameters(), *head.parameters()])
    told = Told([model, head], [optimizer])
    for step in range(steps):
        x, y = next(loader)
        optimizer.zero_grad()
        loss = F.cross_entropy(head(model(x)[0][:, -1]), y)
        if step >= steps - 2:
            told.at(f"forward{step}", inputs=(x, y, *data.tensors), loss=loss)
        loss.backward()
        if step >= steps - 2:
            told.at(f"backward{step}", inputs=(x, y, *data.tensors))
        optimizer.step()
        if step >= steps - 2:
            told.at(f"step{step}", inputs=(x, y, *data.tensors))


def functional(steps):
    """Without a module."""
    weights = [torch.randn(150, 400, requires_grad=True), torch.randn(400, 60, requires_grad=True)]
    optimizer = torch.optim.Adam(weights)
    train(Told([weights], [optimizer]), lambda: (torch.randn(100, 150), torch.randn(100, 60)),
          lambda x, y: ((torch.sigmoid(x @ weights[0]) @ weights[1] - y) ** 2).mean(), steps)


@torch.inference_mode()
def generate(steps):
    """A cache of keys and values that grows by a token in each step."""
    width, heads, layers = 128, 4, 3
    model = nn.ModuleList([nn.ModuleList([nn.Linear(width, 3 * width), nn.Linear(width, width)])
                           for _ in range(layers)])
    words, head = nn.Embedding(500, width), nn.Linear(width, 500)
    told = Told([model, words, head], [])
    cache, token = [None] * layers, torch.randint(0, 500, (4, 16))
    for step in range(steps):
        x = words(token)
        for i, (qkv, out) in enumerate(model):
            q, k, v = qkv(x).view(4, x.shape[1], 3, heads, -1).permute(2, 0, 3, 1, 4)
            if cache[i] is not None:
                k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            cache[i] = (k, v)
            a = F.scaled_dot_product_attention(q, k, v)
            x = x + out(a.transpose(1, 2).reshape(4, x.shape[1], width))
        token = head(x[:, -1:]).argmax(-1)
        del q, k, v, a, x
        if step >= steps - 2:
            told.at(f"token{step}", cache=[t for pair in cache for t in pair])


def leaking(steps):
    """Keeps what it should not: its losses, with their graphs."""
    model, losses = Mlp(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = classes(160, 200, 20)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(F.cross_entropy(model(x), y))


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 6)
