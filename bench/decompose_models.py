"""Programs of deep learning that know what each of their tensors is: decompose_models.py MODEL STEPS [attach]

They are for bench/decompose, and no rule of src/model was made on them before their errors were first measured.
As in tests/targets/python/tensors.py, which has the walk over what is true, each prints a line of JSON at named
moments: {moment: {kind: bytes}}.
"""

import copy
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", *p) for p in
                (("python",), ("tests", "targets", "python"))]

import decompose_judged  # noqa: E402
import decompose_kinds  # noqa: E402
import decompose_tasks  # noqa: E402
import decompose_ways  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from decompose_inference import fixed_cache, growing_cache  # noqa: E402
from decompose_more import adapters, chunks, experts, policy, recomputed, vision  # noqa: E402
from decompose_other import (autoencoder, buffered_cache, by_hand, carried, diffusion, graph, lion, lora,  # noqa: E402
                             momentum_encoder, replay, routed, waves)
from tensors import Told  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint_sequential  # noqa: E402


def loop(told, steps, batch, loss_of, after=lambda step: None, keep=(), look=True, computed=False, **options):
    """Three moments in each of the last two steps. What a model has computed is an activation, also as a target."""
    for step in range(steps):
        late = step >= steps - 2
        x, y = batch()
        given = () if computed else (y,)
        for optimizer in told.optimizers:
            optimizer.zero_grad(**options)
        loss = loss_of(x, y)
        if late and look:
            told.at(f"forward{step}", inputs=(x, *given, *keep), loss=loss, result=y)
        loss.backward()
        if late:
            told.at(f"backward{step}", inputs=(x, *given, *keep), results=(loss, y))
        for optimizer in told.optimizers:
            optimizer.step()
        after(step)
        if late:
            told.at(f"step{step}", inputs=(x, *given, *keep), results=(loss, y))


# ---- convolutions ----

class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.na, self.nb = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.na(self.a(x)), inplace=True)
        return F.relu(x + self.nb(self.b(y)))


def resnet(width=40, blocks=3):
    return nn.Sequential(nn.Conv2d(3, width, 7, 2, 3), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                         nn.MaxPool2d(3, 2, 1), *[Residual(width) for _ in range(blocks)], nn.AdaptiveAvgPool2d(4),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(width * 16, 100))


def images(count=24, side=48):
    """Bytes that are normalized, as a program does it by itself."""
    raw = torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8)
    return (raw.float() / 255 - 0.45) / 0.22, torch.randint(0, 100, (count,))


def momentum(steps):
    """Residual blocks, SGD with momentum, pictures that are computed before they are used."""
    model = resnet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    loop(Told([model], [optimizer]), steps, images, lambda x, y: F.cross_entropy(model(x), y),
         lambda step: schedule.step())


def channels(steps):
    """The same in another memory format, with Adagrad and its foreach way."""
    model = resnet(32).to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adagrad(model.parameters(), foreach=True)
    loop(Told([model], [optimizer]), steps,
         lambda: (torch.randn(16, 3, 48, 48).to(memory_format=torch.channels_last), torch.randint(0, 100, (16,))),
         lambda x, y: F.cross_entropy(model(x), y))


def sequential(steps):
    """Activation checkpointing of parts of a sequence."""
    model = resnet(32, 4)
    optimizer = torch.optim.RMSprop(model.parameters(), centered=True)
    loop(Told([model], [optimizer]), steps, lambda: (torch.randn(16, 3, 48, 48), torch.randint(0, 100, (16,))),
         lambda x, y: F.cross_entropy(checkpoint_sequential(model, 3, x, use_reentrant=False), y), look=False)


def mixed(steps):
    """Mixed precision on convolutions, with a scaler."""
    model = resnet(32)
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)

    def loss_of(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(x).float(), y)

    loop(Told([model], [optimizer]), steps, images, loss_of)


def halved(steps):
    """All of a model in bfloat16, moved after it was made."""
    model = nn.Sequential(nn.Linear(300, 700), nn.SiLU(), nn.LayerNorm(700), nn.Linear(700, 64)).to(torch.bfloat16)
    optimizer = torch.optim.Adam(model.parameters())
    loop(Told([model], [optimizer]), steps,
         lambda: (torch.randn(128, 300).to(torch.bfloat16), torch.randn(128, 64).to(torch.bfloat16)),
         lambda x, y: F.mse_loss(model(x), y))


def unet(steps):
    """Noise is taken away from pictures: a schedule that lasts, skips, and NAdam."""
    down, middle, up = nn.Conv2d(3, 48, 4, 2, 1), nn.Conv2d(48, 48, 3, 1, 1), nn.ConvTranspose2d(96, 3, 4, 2, 1)
    model = nn.ModuleList([down, middle, up])
    schedule = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 2000), 0)
    optimizer = torch.optim.NAdam(model.parameters())

    def batch():
        x, noise, t = torch.rand(20, 3, 40, 40), torch.randn(20, 3, 40, 40), torch.randint(0, 2000, (20,))
        a = schedule[t].view(-1, 1, 1, 1)
        return a.sqrt() * x + (1 - a).sqrt() * noise, noise

    def loss_of(x, noise):
        a = F.silu(down(x))
        b = F.silu(middle(a))
        return F.mse_loss(up(torch.cat([a, b], 1)), noise)

    loop(Told([model], [optimizer]), steps, batch, loss_of, keep=[schedule])


# ---- sequences ----

def encoder(steps):
    """PyTorch's own transformer, with dropout, a mask, and the fused AdamW."""
    layer = nn.TransformerEncoderLayer(80, 4, 320, dropout=0.1, batch_first=True, norm_first=True)
    words, body, head = nn.Embedding(900, 80), nn.TransformerEncoder(layer, 3), nn.Linear(80, 900)
    model = nn.ModuleList([words, body, head])
    mask = nn.Transformer.generate_square_subsequent_mask(48)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    loop(Told([model, words, body, head, layer], [optimizer]), steps,  # `layer` is copied, and stays
         lambda: torch.randint(0, 900, (2, 16, 48)).unbind(),
         lambda x, y: F.cross_entropy(head(body(words(x), mask, is_causal=True)).flatten(0, 1), y.flatten()),
         keep=[mask])


def translate(steps):
    """Two recurrent networks and attention; gradients are clipped; Adadelta."""
    words, read, write, out = nn.Embedding(600, 64), nn.GRU(64, 80, bidirectional=True, batch_first=True), \
        nn.GRU(64, 160, batch_first=True), nn.Linear(320, 600)
    model = nn.ModuleList([words, read, write, out])
    optimizer = torch.optim.Adadelta(model.parameters())

    def loss_of(x, y):
        seen, _ = read(words(x))
        made, _ = write(words(y))
        weights = torch.softmax(made @ seen.transpose(1, 2), -1)
        return F.cross_entropy(out(torch.cat([made, weights @ seen], -1)).flatten(0, 1), y.flatten())

    loop(Told([model, words, read, write, out], [optimizer]), steps,
         lambda: (torch.randint(0, 600, (20, 24)), torch.randint(0, 600, (20, 20))), loss_of,
         lambda step: nn.utils.clip_grad_norm_(model.parameters(), 1.0))


def accumulate(steps):
    """Gradients of four batches, zeroed and not freed; SGD with Nesterov's momentum."""
    model = nn.Sequential(nn.EmbeddingBag(2000, 96), nn.Linear(96, 500), nn.GELU(), nn.Linear(500, 50))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8, nesterov=True)
    told = Told([model], [optimizer])
    for step in range(steps):
        for part in range(4):
            x, y = torch.randint(0, 2000, (64, 30)), torch.randint(0, 50, (64,))
            loss = F.cross_entropy(model(x), y) / 4
            if step >= steps - 2:
                told.at(f"forward{step}.{part}", inputs=(x, y), loss=loss)
            loss.backward()
        optimizer.step()
        told.at(f"step{step}", inputs=(x, y), result=loss)
        optimizer.zero_grad(set_to_none=False)


# ---- several models ----

def generator(steps):
    """A generator of pictures and its judge, a penalty on gradients of gradients, two optimizers."""
    maker = nn.Sequential(nn.Linear(64, 48 * 49), nn.Unflatten(1, (48, 7, 7)), nn.ConvTranspose2d(48, 24, 4, 2, 1),
                          nn.BatchNorm2d(24), nn.ReLU(), nn.ConvTranspose2d(24, 1, 4, 2, 1), nn.Tanh())
    judge = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 48, 4, 2, 1), nn.LeakyReLU(0.2),
                          nn.Flatten(), nn.Linear(48 * 49, 1))
    first = torch.optim.Adam(maker.parameters(), betas=(0.5, 0.9), foreach=True)
    second = torch.optim.Adam(judge.parameters(), betas=(0.5, 0.9))
    told = Told([maker, judge], [first, second])
    for step in range(steps):
        late = step >= steps - 2
        real, noise = torch.rand(32, 1, 28, 28), torch.randn(32, 64)
        second.zero_grad()
        fake = maker(noise).detach()
        between = (0.5 * real + 0.5 * fake).requires_grad_()
        slope, = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
        loss = judge(fake).mean() - judge(real).mean() + 10 * ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()
        loss.backward()
        second.step()
        del slope, between, fake, loss  # whose graph holds `between` and its gradient
        if late:
            told.at(f"judged{step}", inputs=(real, noise))
        first.zero_grad()
        loss = -judge(maker(noise)).mean()
        if late:
            told.at(f"forward{step}", inputs=(real, noise), loss=loss)
        loss.backward()
        first.step()
        if late:
            told.at(f"step{step}", inputs=(real, noise))


def distilled(steps):
    """A teacher without gradients, a student, and an average of its weights."""
    teacher = nn.Sequential(nn.Linear(200, 800), nn.ReLU(), nn.Linear(800, 64)).requires_grad_(False).eval()
    student = nn.Sequential(nn.Linear(200, 150), nn.ReLU(), nn.Linear(150, 64))
    average = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters())

    def follow(_step):
        with torch.no_grad():
            for a, b in zip(average.parameters(), student.parameters()):
                a.lerp_(b, 0.01)

    def batch():
        x = torch.randn(160, 200)
        with torch.no_grad():
            return x, teacher(x).softmax(-1)

    loop(Told([teacher, student, average], [optimizer]), steps, batch,
         lambda x, y: F.kl_div(student(x).log_softmax(-1), y, reduction="batchmean"), follow, computed=True)


def loaded(steps):
    """Weights from a file, some of them frozen, with validation between steps."""
    def made():
        return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 40))

    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"decompose-{os.getpid()}.pt")
    torch.save(made().state_dict(), path)
    with torch.device("meta"):
        model = made()
    model.load_state_dict(torch.load(path), assign=True)
    os.remove(path)
    model[0].requires_grad_(False)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])

    @torch.no_grad()
    def validate(_step):
        for _ in range(2):
            F.cross_entropy(model(torch.randn(80, 256)), torch.randint(0, 40, (80,)))

    loop(Told([model], [optimizer]), steps, lambda: (torch.randn(100, 256), torch.randint(0, 40, (100,))),
         lambda x, y: F.cross_entropy(model(x), y), validate)


class Contrast(nn.Module):
    """A queue of keys, which is a buffer that is written to."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 96))
        self.register_buffer("queue", F.normalize(torch.randn(96, 1024), dim=0))
        self.at = 0

    def forward(self, x):
        q = F.normalize(self.body(x), dim=1)
        k = F.normalize(self.body(x + 0.1 * torch.randn_like(x)), dim=1).detach()
        scores = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone()], 1) / 0.07
        self.queue[:, self.at:self.at + len(x)] = k.T
        self.at = (self.at + len(x)) % 1024
        return scores


def contrast(steps):
    model = Contrast()
    optimizer = torch.optim.Adamax(model.parameters())
    loop(Told([model], [optimizer]), steps, lambda: (torch.randn(128, 128), torch.zeros(128, dtype=torch.long)),
         lambda x, y: F.cross_entropy(model(x), y))


class Squash(torch.autograd.Function):
    """A function of the program's own."""

    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g / (1 + x.abs()) ** 2


def searched(steps):
    """LBFGS, which calls the model many times in a step, and a function with a gradient of its own."""
    model = nn.Sequential(nn.Linear(90, 300), nn.Linear(300, 40))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=5)
    told = Told([model], [optimizer])
    x, y = torch.randn(200, 90), torch.randn(200, 40)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model[1](Squash.apply(model[0](x))), y)
        loss.backward()
        return loss

    for step in range(steps):
        optimizer.step(closure)
        if step >= steps - 2:
            states = [t for s in optimizer.state.values() for v in s.values() if isinstance(v, list) for t in v]
            told.at(f"step{step}", inputs=(x, y), state=states)


def workers(steps):
    """Batches from two other processes, by shared memory."""
    data = torch.utils.data.TensorDataset(torch.randn(3200, 150), torch.randint(0, 20, (3200,)))
    loader = iter(torch.utils.data.DataLoader(data, batch_size=100, shuffle=True, num_workers=2))
    model = nn.Sequential(nn.Linear(150, 400), nn.PReLU(), nn.BatchNorm1d(400), nn.Linear(400, 20))
    optimizer = torch.optim.RAdam(model.parameters())
    loop(Told([model], [optimizer]), steps, lambda: next(loader), lambda x, y: F.cross_entropy(model(x), y),
         keep=data.tensors)


# ---- inference ----

@torch.inference_mode()
def served(steps):
    """Pictures one batch after the other; only the model lasts."""
    model = resnet().eval()
    told = Told([model], [])
    for step in range(steps):
        x, _ = images(8)
        y = model(x)
        if step >= steps - 3:
            told.at(f"batch{step}", inputs=[x], result=y)


MODELS = [momentum, channels, sequential, mixed, halved, unet, encoder, translate, accumulate, generator, distilled,
          loaded, contrast, searched, workers, fixed_cache, growing_cache, served, vision, recomputed, adapters,
          experts, policy, chunks, diffusion, momentum_encoder, autoencoder, graph, routed, carried, waves, lora, replay, lion,
          by_hand, buffered_cache, *decompose_kinds.MODELS, *decompose_ways.MODELS,
          *decompose_tasks.MODELS, *decompose_judged.MODELS]

if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(*(m.__name__ for m in MODELS))
    else:
        {m.__name__: m for m in MODELS}[sys.argv[1]](int(sys.argv[2]))
