"""What a step of training costs outside of a window, and within one: record this program.

    build/tidemark record -q --no-names -o /tmp/x.tide [--exact] python bench/window_cost.py [ROUNDS]

Each round has four steps of one process in turn: paused (nothing new is recorded), outside of a window, within one, and
outside again. CPU time of the thread; the ratios are medians over rounds, to the paused step of the same round.
"""

import sys
import time

import torch

import tidemark

WIDTH = 128


def make():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [torch.nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, batch_first=True) for _ in range(3)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 10))
    return model, torch.optim.AdamW(model.parameters())


def step(model, optimizer):
    began = time.thread_time()
    inputs, targets = torch.randn(4, 16, WIDTH), torch.randint(0, 10, (64,))
    loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return time.thread_time() - began


def rounds(count):
    made = make()
    for i in range(count):
        tidemark.pause()
        paused = step(*made)
        tidemark.resume()
        tidemark.stop()
        outside = step(*made)
        tidemark.start()
        within = step(*made)
        tidemark.stop()
        again = step(*made)
        if i > 5:
            yield outside / paused, within / paused, again / paused


def main():
    found = list(rounds(int(sys.argv[1]) if len(sys.argv) > 1 else 80))
    for name, ratios in zip(("outside", "within", "outside again"), zip(*found)):
        ratios = sorted(ratios)
        print(f"{name}: {ratios[len(ratios) // 2]:.3f}")


main()
