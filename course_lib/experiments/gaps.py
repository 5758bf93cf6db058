"""Lesson 10: gaps that are longer than any in training; encoders with and without a window, and rivals."""

from functools import partial

import torch
from torch import nn

from course_lib.classifier import EncoderClassifier, max_over_real_tokens
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.shifted import moved
from course_lib.experiments.twins import (
    accuracy,
    as_tensors,
    entering,
    fitted,
    split_of_twins,
    token_vectors,
    trained,
    with_a_gap,
)


class Windowed(EncoderClassifier):
    """The same encoder, but a token attends to no more than `width` words on
    either side."""

    width = 3

    def forward(self, ids):
        t = torch.arange(ids.shape[1])
        near = (t[:, None] - t).abs() <= self.width  # (T, T)
        x = token_vectors(self, ids, near=near)  # near: the only change
        return self.head(max_over_real_tokens(x, ids != self.pad_id))


class WithoutAttention(EncoderClassifier):
    """The same encoder, trained and asked with nothing coming out of its attention."""

    def forward(self, ids):
        x = entering(self, ids)  # (B, T, d_model)
        for layer in self.layers:
            x = layer.norm1(x)  # the attention would be added here
            x = layer.norm2(x + layer.dropout(layer.ff(x)))
        return self.head(self.pooled(x, ids != self.pad_id))

    def pooled(self, x, real):
        """From one vector per word, (B, T, d_model), to one: (B, d_model)."""
        return max_over_real_tokens(x, real)


class WithoutAttentionMean(WithoutAttention):
    """The same once more, with the mean of its words in the place of the maximum."""

    def pooled(self, x, real):
        return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True)


class BothWays(nn.Module):
    """The encoder's strongest rival: a recurrent network that reads from both ends, and a maximum over all words. It
    knows no positions, and has half of the encoder's parameters."""

    def __init__(self, vocab_size, num_classes, hidden=48, **_):
        super().__init__()
        self.embed, self.pad_id = nn.Embedding(vocab_size, 64), 0
        self.gru = nn.GRU(64, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, num_classes)

    def forward(self, ids):
        real = ids != self.pad_id  # (B, T)
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), real.sum(1), batch_first=True,
                                                   enforce_sorted=False)
        read = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]  # (B, T, 2 hidden)
        return self.head(max_over_real_tokens(read, real[:, : read.shape[1]]))


def windowed(width, **sizes):
    """A Windowed encoder of this width."""
    model = Windowed(**sizes)
    model.width = width
    return model


def ordered_pairs(text, within=None):
    """The features of a rival that is no network: which word stands before which
    other one, at any distance or within so many words."""
    words = text.split()
    return {(a, b) for i, a in enumerate(words)
            for b in words[i + 1 : None if within is None else i + 1 + within]}


ENCODERS = {"encoder": EncoderClassifier, "GRU from both ends": BothWays,
            "encoder that sees three words on either side": partial(windowed, 3)}
RIVALS = {"runs of up to six words": 6, "pairs in order, at any distance": ordered_pairs}
WIDER = {f"encoder that sees {name} words on either side": partial(windowed, width)
         for name, width in (("four", 4), ("eight", 8))}
SILENT = {"encoder without attention": WithoutAttention,
          "encoder without attention, a mean": WithoutAttentionMean}
NEAR = {"pairs in order, within eight words": partial(ordered_pairs, within=8)}
GAPS = (0, 2, 4, 6, 7, 8, 9, 10, 11, 12, 24, 40)


def measure(model, seed, epochs=6):
    """Train one of all these on reviews with gaps of up to four words, and ask it about longer ones, and about usual
    ones with four words in front."""
    training, validation, test = split_of_twins(seed)
    asked = {"test": test} | {f"gap {gap}": with_a_gap(gap, seed) for gap in GAPS} | {"four in front": moved(test)}
    if model in RIVALS | NEAR:
        right = fitted((RIVALS | NEAR)[model], training)
        return {name: right(split) for name, split in asked.items()}
    of = trained((ENCODERS | WIDER | SILENT)[model], as_tensors(training), as_tensors(validation), seed, epochs)
    return {name: accuracy(of, as_tensors(split)) for name, split in asked.items()}


PLANS = {
    "10-gaps": Plan(
        about="accuracy on twin reviews whose gaps are longer than any in training: two encoders and two rivals",
        minutes=8, points=grid(model=[*ENCODERS, *RIVALS], seed=range(5), epochs=[6])
        + grid(model=["encoder", "GRU from both ends"], seed=range(5, 15), epochs=[6])
        + grid(model=["encoder that sees three words on either side"], seed=range(5, 10), epochs=[6])
        + grid(model=["encoder", "GRU from both ends"], seed=range(3), epochs=[30]), measure=measure,
        near={"gap 6": 0.02, "gap 9": 0.02, "four in front": 0.02},
        sides=tuple(grid(model=["encoder", "GRU from both ends"], seed=[0], epochs=[6]))),
    "10-silent": Plan(
        about="accuracy on twin reviews of encoders without attention, with a maximum over their words and with a mean",
        minutes=6, points=grid(model=[*SILENT], seed=range(5), epochs=[6])
        + grid(model=[*SILENT], seed=range(3), epochs=[30]), measure=measure,
        near={"test": 0.02, "four in front": 0.02}, sides=tuple(grid(model=[*SILENT], seed=[0], epochs=[6]))),
    "10-windows": Plan(
        about="accuracy on twin reviews with longer gaps: encoders with wider windows, and pairs within eight words",
        minutes=6, points=grid(model=[*WIDER, *NEAR], seed=range(10)), measure=measure,
        near={"gap 6": 0.02, "gap 12": 0.02},
        sides=tuple(grid(model=["encoder that sees four words on either side", *NEAR], seed=[0])), apart=False),
}
