"""What record --ops and --accesses cost a step: tidemark record --ops --exact=4K -o /tmp/x.tide PYTHON bench/ops_cost.py [ROUNDS]

Pairs of steps of one process, in random order: with operators, or accesses, and without. CPU time of the thread; the
median of the ratios of pairs, its standard error, and the same where both steps are without. Accesses are told by
what tidemark.torch.build() has built, and by a TorchDispatchMode.
"""

import random
import statistics
import sys

from attach_cost import mlp, timed, transformer

import tidemark
import torch
from tidemark import _accesses


class Ops:
    """PyTorch's ITT ranges, by what the recorder has switched on."""

    def __init__(self):
        self._autograd, p = torch._C._autograd, torch.autograd.profiler
        self._config = p.ProfilerConfig(p.ProfilerState.ITT, False, False, False, False, False, p._ExperimentalConfig())

    def __enter__(self):
        self._autograd._enable_profiler(self._config, set())

    def __exit__(self, *_exception):
        self._autograd._disable_profiler()


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_exception):
        pass


class Mode(_accesses.accesses):
    def __enter__(self):
        kept, _accesses._loaded[:] = _accesses._loaded[:], [None]
        super().__enter__()
        _accesses._loaded[:] = kept


def pair(things, made):
    took = {}
    for hooked in random.sample([True, False], 2):
        with made() if hooked else Nothing():
            timed(*things)
            took[hooked] = timed(*things)
    return took[True] / took[False]


def main():
    assert tidemark.recording(), __doc__
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    ways = {"control": Nothing, "ops": Ops, "accesses by mode": Mode}
    if _accesses.shim(torch):
        ways["accesses, built"] = _accesses.accesses
    torch._C._autograd._disable_profiler()  # it is on
    for model in (mlp, transformer):
        things = model()[1:]
        for _ in range(5):
            timed(*things)
        ratios = {way: [] for way in ways}
        for _ in range(rounds):
            for way in random.sample(list(ways), len(ways)):
                ratios[way].append(pair(things, ways[way]))
        for way, all_of in ratios.items():
            spread = statistics.quantiles(all_of, n=4)
            error = 1.25 * (spread[2] - spread[0]) / 1.35 / len(all_of) ** 0.5
            print(f"{model.__name__:12} {way:18} {statistics.median(all_of):.3f} +- {error:.3f}", flush=True)
    Ops().__enter__()  # as it was found


if __name__ == "__main__":
    main()
