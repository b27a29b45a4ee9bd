"""Is all as it would be without tidemark.torch.attach? Each way of using a model runs twice; prints "the same"."""

import gc
import warnings
import weakref

import tidemark
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
warnings.simplefilter("error")


def made():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(40, 60), nn.ReLU(), nn.BatchNorm1d(60), nn.Tanh(), nn.Linear(60, 30))


def plain(model, x):
    return model(x).pow(2).mean()


def dropped(model, x):
    """A graph that nobody computes gradients with goes when its result does."""
    model(x + 1)
    return model(x).mean()


def penalty(model, x):
    x = x.clone().requires_grad_()
    slope, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return (slope.norm(dim=1) - 1).pow(2).mean()


def inside(model, x):
    """The parts are called under a checkpoint, and the whole is not called at all."""
    for part in model:
        x = checkpoint(part, x, use_reentrant=False)
    return x.exp().mean()


def outside(model, x):
    return checkpoint(model, x, use_reentrant=False).mean()


def functional(model, x):
    """torch.func allows no hooks for what autograd keeps."""
    weights = {name: p.detach() for name, p in model.named_parameters()}
    model.eval()
    found = torch.func.grad(lambda w: torch.func.functional_call(model, w, (x,)).sum())(weights)
    model.train()
    return model(x).mean() * found["0.weight"].sum()


def thrown(model, x):
    try:
        model(x[:, :3])
    except RuntimeError:
        pass
    return model(x).mean()


def compiled(model, x):
    """As one graph: a hook that could not be in it would be an error. What was compiled without hooks is not taken again."""
    torch.compiler.reset()
    return torch.compile(model, backend="eager", fullgraph=True)(x).mean()


def tensors():
    """How many there are."""
    gc.collect()
    return sum(type(thing) in (torch.Tensor, nn.Parameter) for thing in gc.get_objects())


def used(way, attached):
    """What it computes; and how many more tensors there are after its third step than after its first."""
    model, out, counts = made(), [], []
    optimizer = torch.optim.Adam(model.parameters())
    telling = tidemark.torch.attach(model, optimizer) if attached else None
    for step in range(3):
        torch.manual_seed(step)
        loss = way(model, torch.randn(32, 40))
        loss.backward()
        out += [loss.item(), *(p.grad.sum().item() for p in model.parameters() if p.grad is not None)]
        optimizer.step()
        optimizer.zero_grad()
        del loss
        counts.append(tensors())
    if telling:
        telling.detach()
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert torch._C._autograd._top_saved_tensors_default_hooks(False) is None
    return out, counts[-1] - counts[0]


def replaced():
    """What the program drops of its model goes."""
    model = made()
    telling = tidemark.torch.attach(model)
    held = weakref.ref(model[0].weight)
    model[0] = nn.Linear(40, 60)
    model(torch.randn(32, 40))
    gc.collect()
    assert held() is None
    telling.detach()


assert tidemark.recording()
replaced()
for way in (plain, dropped, penalty, inside, outside, functional, thrown, compiled):
    assert used(way, False) == used(way, True), way.__name__
print("the same")
