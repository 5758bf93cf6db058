"""Lesson 09: the smallest network that can use positions, one layer of attention over words that have them."""

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention


class Reader(nn.Module):
    """One layer of attention over words with positions added; answers at each place.

    table: fixed positions (n, d), never trained; None: 96 learned rows
    """

    def __init__(self, words, answers, heads, table=None, d=32):
        super().__init__()
        self.embed = nn.Embedding(words, d)
        self.attend = MultiHeadAttention(d, heads)
        self.positions = nn.Embedding(96, d)
        if table is not None:
            self.positions = nn.Embedding.from_pretrained(table)
        self.answer = nn.Linear(d, answers)

    def forward(self, ids, mask=None, start=0):
        places = start + torch.arange(ids.shape[1])
        x = self.embed(ids) + self.positions(places)  # (B, T, d): X + PE
        return self.answer(x + self.attend(x, x, x, mask))  # (B, T, answers)


def trained_parameters(reader):
    """Those that training may change: not the numbers of a fixed table."""
    return [p for p in reader.parameters() if p.requires_grad]
