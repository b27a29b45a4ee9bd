"""A small transformer that learns to copy, on the CPU: the loop that people train by.

    transformer.py [STEPS]      needs torch
"""

import sys

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
WORDS, WIDTH, LENGTH, BATCH = 512, 128, 64, 16


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(WORDS, WIDTH)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.1, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 4)
        self.head = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.layers(self.embed(words)))


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        words = torch.randint(0, WORDS, (BATCH, LENGTH))
        loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
