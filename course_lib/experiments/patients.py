"""Lesson 11: small Transformers that write six digits backwards, and in which one thing is missing."""

import torch
from torch import nn

from course_lib.data.vocabulary import BOS, EOS
from course_lib.decoding import greedy_decode
from course_lib.experiments.plan import Plan, grid
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_positions
from course_lib.targets import masked_cross_entropy, shift_right
from course_lib.training import fit, shuffled
from course_lib.transformer import Transformer

SKIPS = {"encoder attention": "memory1", "encoder feed-forward": "memory2", "decoder self-attention": "x1",
         "cross-attention": "x2", "decoder feed-forward": "x3"}


class Patient(nn.Module):
    """A small Transformer in which one thing may be missing: the mask, the scale, all skips or the skips of one kind.

    missing: "nothing", "mask", "scale", "scale, small start", "skips", or "skip: " and a name of SKIPS
    """

    def __init__(self, missing):
        super().__init__()
        self.missing, self.whole = missing, Transformer(14, 14, 32, 2, 64, 2)
        self.loud = 16**0.5 if missing.startswith("scale") else 1.0  # undoes the division by the root of d_head
        self.cut = set(SKIPS.values()) if missing == "skips" else {SKIPS.get(missing.removeprefix("skip: "))}

    def vectors(self, ids, table):
        return table(ids) * 32**0.5 + sinusoidal_positions(ids.shape[1], 32)

    def add(self, name, norm, x, says):
        return norm(says if name in self.cut else x + says)

    def forward(self, src, tgt):
        mask = causal_mask(tgt.shape[1]) | torch.tensor(self.missing == "mask")
        memory, x = self.vectors(src, self.whole.src_embed), self.vectors(tgt, self.whole.tgt_embed)
        for layer in self.whole.encoder:
            memory = self.add("memory1", layer.norm1, memory, layer.self_attn(self.loud * memory, memory, memory))
            memory = self.add("memory2", layer.norm2, memory, layer.ff(memory))
        for layer in self.whole.decoder:
            x = self.add("x1", layer.norm1, x, layer.self_attn(self.loud * x, x, x, mask))
            x = self.add("x2", layer.norm2, x, layer.cross_attn(self.loud * x, memory, memory))
            x = self.add("x3", layer.norm3, x, layer.ff(x))
        return self.whole.out(x)


def measure(missing, seed):
    """Train a patient as in the lesson, let it write 100 rows, and say how it went."""
    digits = torch.randint(4, 14, (12_900, 6), generator=torch.Generator().manual_seed(0))
    backwards = torch.cat([digits.flip(1), torch.full((len(digits), 1), EOS)], 1)  # (12900, 7), 100 of them to test
    torch.manual_seed(seed)
    patient = Patient(missing)
    for parameter in patient.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    if missing == "scale, small start":
        with torch.no_grad():
            for name, parameter in patient.named_parameters():
                if "W_q" in name:
                    parameter /= 16**0.5

    def loss(patient, src, labels):
        return masked_cross_entropy(patient(src, shift_right(labels, BOS)), labels)

    optimizer = torch.optim.Adam(patient.parameters(), lr=4e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=200, pct_start=0.1,
                                                   anneal_strategy="linear", cycle_momentum=False)
    batches = shuffled(digits[100:], backwards[100:], batch_size=64, seed=seed)
    curve = fit(patient, loss, batches, optimizer, schedule, progress="a patient")
    said = greedy_decode(patient.eval(), digits[:100], BOS, EOS, 8)[:, 1:]
    right = (said == backwards[:100]).all(1).float().mean().item() if said.shape[1] == 7 else 0.0
    return {"first 120": curve[:120].mean().item(), "last 20": curve[-20:].mean().item(), "right": right}


MISSING = ["nothing", "scale", "scale, small start", "mask", "skips", *(f"skip: {name}" for name in SKIPS)]
PLANS = {"11-patients": Plan(
    about="six digits backwards: mean loss of the first 120 and the last 20 of 200 steps, share written right, "
          "without the mask, the scale, or skips",
    minutes=3, points=grid(missing=MISSING, seed=range(3)), measure=measure,
    near={"first 120": 0.02, "last 20": 0.005}, sides=tuple(grid(missing=["nothing", "skips"], seed=[0])))}
