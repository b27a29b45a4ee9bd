"""More programs of decompose_models.py: bags of words, a recurrent network over packed sequences, neighbours whose messages are
added up, pictures from noise by transposed convolutions, masked pictures, a scan over time, rays, volumes, triplets, and what
a program keeps of its results.
"""

import torch
import torch.nn.functional as F
from decompose_other import late, train
from tensors import Told
from torch import nn


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.EmbeddingBag(5000, 64, mode="mean"), nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 30))

    def forward(self, words, begins):
        return self.out(self.words(words, begins))


def bags(steps):
    """Words of texts of many lengths, one after the other; Adam."""
    model = Bags()

    def batch():
        lengths = torch.randint(5, 60, (128,))
        return torch.randint(0, 5000, (int(lengths.sum()),)), lengths.cumsum(0) - lengths, torch.randint(0, 30, (128,))

    train(Told([model], [torch.optim.Adam(model.parameters())]), steps, batch,
          lambda words, begins, y: F.cross_entropy(model(words, begins), y))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.gru, self.out = nn.Embedding(1000, 64), nn.GRU(64, 96, 2, bidirectional=True), nn.Linear(192, 12)

    def forward(self, words, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.out(torch.cat([h[-1], h[-2]], 1))


def packed(steps):
    """A GRU in both directions over packed sequences; AdamW with amsgrad."""
    model = Packed()

    def batch():
        return torch.randint(0, 1000, (40, 32)), torch.randint(10, 41, (32,)), torch.randint(0, 12, (32,))

    train(Told([model], [torch.optim.AdamW(model.parameters(), amsgrad=True)]), steps, batch,
          lambda words, lengths, y: F.cross_entropy(model(words, lengths), y))


class Messages(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.said, self.own = nn.Linear(inside, outside), nn.Linear(inside, outside)

    def forward(self, x, edges):
        said = self.said(x)[edges[0]]
        heard = torch.zeros(len(x), said.shape[1]).scatter_add_(0, edges[1][:, None].expand_as(said), said)
        count = torch.zeros(len(x)).index_add_(0, edges[1], torch.ones(edges.shape[1])).clamp(min=1)
        return F.relu(self.own(x) + heard / count[:, None])


class Molecules(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.out = nn.ModuleList([Messages(32, 64), Messages(64, 64), Messages(64, 64)]), nn.Linear(64, 1)

    def forward(self, x, edges, of):
        for layer in self.layers:
            x = layer(x, edges)
        return self.out(torch.zeros(64, 64).index_add(0, of, x))


def messages(steps):
    """Small graphs put together to one; messages are added up by scatter; Adam."""
    model = Molecules()

    def batch():
        return torch.randn(1200, 32), torch.randint(0, 1200, (2, 5000)), torch.randint(0, 64, (1200,)), torch.randn(64, 1)

    train(Told([model], [torch.optim.Adam(model.parameters())]), steps, batch,
          lambda x, edges, of, y: F.mse_loss(model(x, edges, of), y))


def pictures(steps):
    """Transposed convolutions against convolutions, spectral norms, two Adams."""
    made = nn.Sequential(nn.ConvTranspose2d(64, 64, 4), nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1),
                         nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
    norm = nn.utils.parametrizations.spectral_norm
    judge = nn.Sequential(norm(nn.Conv2d(3, 32, 4, 2, 1)), nn.LeakyReLU(0.2), norm(nn.Conv2d(32, 64, 4, 2, 1)),
                          nn.LeakyReLU(0.2), nn.Flatten(), norm(nn.Linear(1024, 1)))
    first, second = torch.optim.Adam(judge.parameters(), betas=(0.0, 0.9)), torch.optim.Adam(made.parameters(), betas=(0.0, 0.9))
    told = Told([made, judge], [first, second])
    for step in range(steps):
        real, noise = torch.rand(32, 3, 16, 16) * 2 - 1, torch.randn(32, 64, 1, 1)
        fake = made(noise)
        loss = F.relu(1 - judge(real)).mean() + F.relu(1 + judge(fake.detach())).mean()
        first.zero_grad()
        loss.backward()
        first.step()
        loss = -judge(fake).mean()
        if late(step, steps):
            told.at(f"forward{step}", inputs=(real, noise), loss=loss, result=fake)
        second.zero_grad()
        loss.backward()
        second.step()
        if late(step, steps):
            told.at(f"step{step}", inputs=(real, noise), result=fake)


class Masked(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.patch, self.back = nn.Linear(48, width), nn.Linear(width, 48)
        self.places, self.token = nn.Parameter(torch.randn(1, 64, width)), nn.Parameter(torch.zeros(1, 1, width))
        layer = dict(dim_feedforward=256, batch_first=True, norm_first=True, dropout=0.0)
        self.inner = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, **layer), 2, enable_nested_tensor=False)
        self.outer = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, **layer), 1, enable_nested_tensor=False)

    def forward(self, x):
        order = torch.rand(x.shape[:2]).argsort(1)
        kept = order[:, :16, None].expand(-1, -1, self.places.shape[2])
        h = self.inner((self.patch(x) + self.places).gather(1, kept))
        full = self.token.expand(len(x), 64, -1).scatter(1, kept, h)
        return self.back(self.outer(full + self.places))


def masked(steps):
    """Pictures of which three quarters are hidden; AdamW, a schedule."""
    model = Masked()
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    train(Told([model], [optimizer]), steps, lambda: (torch.rand(16, 64, 48),), lambda x: F.mse_loss(model(x), x), schedule.step)


class Scan(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inside, self.gate, self.out = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.decay = nn.Parameter(torch.rand(width))
        self.norm = nn.RMSNorm(width)

    def forward(self, x):
        u, g = self.inside(self.norm(x)), torch.sigmoid(self.gate(x))
        h, all_h = torch.zeros_like(u[:, 0]), []
        for t in range(u.shape[1]):
            h = h * torch.sigmoid(self.decay) + u[:, t] * g[:, t]
            all_h.append(h)
        return x + self.out(torch.stack(all_h, 1))


def scan(steps):
    """A state that is carried along a sequence by a loop; SGD with momentum."""
    model = nn.Sequential(nn.Embedding(500, 96), Scan(), Scan(), nn.Linear(96, 500))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def batch():
        text = torch.randint(0, 500, (32, 25))
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    train(Told([model], [optimizer]), steps, batch, lambda x, y: F.cross_entropy(model(x).flatten(0, 1), y.flatten()))


def rays(steps):
    """Colours along rays, which are summed up; places by sines outside of modules; Adam."""
    model = nn.Sequential(nn.Linear(60, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))
    powers = 2.0 ** torch.arange(10)

    def loss_of(origin, way, colour):
        far = torch.linspace(1, 4, 24)
        place = origin[:, None] + way[:, None] * far[:, None]
        angles = (place[..., None] * powers).flatten(-2)
        out = model(torch.cat([angles.sin(), angles.cos()], -1))
        solid = 1 - torch.exp(-F.relu(out[..., 3]) * 0.1)
        weight = solid * torch.cumprod(1 - solid + 1e-6, 1)
        return F.mse_loss((weight[..., None] * out[..., :3].sigmoid()).sum(1), colour)

    train(Told([model], [torch.optim.Adam(model.parameters())]), steps,
          lambda: (torch.randn(512, 3), torch.randn(512, 3), torch.rand(512, 3)), loss_of)


def volumes(steps):
    """Convolutions in three dimensions, norms of instances, Dice's loss; RMSprop."""
    model = nn.Sequential(nn.Conv3d(1, 12, 3, padding=1), nn.InstanceNorm3d(12, affine=True, track_running_stats=True), nn.ELU(),
                          nn.Conv3d(12, 24, 3, 2, 1), nn.ELU(), nn.Upsample(scale_factor=2, mode="trilinear"), nn.Conv3d(24, 2, 1))

    def loss_of(x, y):
        p, t = model(x).softmax(1), F.one_hot(y, 2).permute(0, 4, 1, 2, 3).float()
        return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)

    train(Told([model], [torch.optim.RMSprop(model.parameters())]), steps,
          lambda: (torch.rand(2, 1, 16, 24, 24), torch.randint(0, 2, (2, 16, 24, 24))), loss_of)


def triplets(steps):
    """One network called three times; its results are kept for the hardest of the next step."""
    model = nn.Sequential(nn.Conv2d(1, 16, 5, 2), nn.GELU(), nn.Conv2d(16, 32, 5, 2), nn.GELU(), nn.Flatten(), nn.Linear(512, 128))
    optimizer = torch.optim.Adam(model.parameters())
    told, kept = Told([model], [optimizer]), None
    for step in range(steps):
        a, b = torch.rand(48, 1, 28, 28), torch.rand(48, 1, 28, 28)
        one, two = model(a), model(b)
        other = kept if kept is not None else two.flip(0).detach()
        loss = F.triplet_margin_loss(one, two, other[:48])
        if late(step, steps):
            told.at(f"forward{step}", inputs=(a, b), loss=loss, results=(one, two, kept))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept = one.detach().repeat(2, 1)
        if late(step, steps):
            told.at(f"step{step}", inputs=(a, b), results=(one, two, kept, loss, other))


MODELS = [bags, packed, messages, pictures, masked, scan, rays, volumes, triplets]
