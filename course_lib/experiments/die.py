"""Lesson 07: what a guesser of the rolls of a die learns under each mask, and what it says when it writes."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.experiments.plan import Plan, grid
from course_lib.masks import causal_mask
from course_lib.training import fit

T = 6  # rolls that are given


class Guesser(nn.Module):
    """One layer of attention that says the next roll at each place: (B, t) rolls to (B, t, 6) logits.

    attention: attention(query, key, value, mask), the first three (B, t, D)
    mask:      (T, T) bool, True = may attend, or None
    wires:     with biases, and with the parts of lesson 08: norms, a skip connection and a feed-forward network
    """

    def __init__(self, attention, mask, wires=False, D=16):
        super().__init__()
        self.attention, self.mask, self.wires = attention, mask, wires
        self.faces, self.places = nn.Embedding(6, D), nn.Embedding(T, D)
        self.W_q, self.W_k, self.W_v = (nn.Linear(D, D, bias=wires) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(2))
        self.inner = nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D))
        self.W_o = nn.Linear(D, 6, bias=wires)

    def forward(self, rolls):
        t = rolls.shape[1]
        x = self.faces(rolls) + self.places.weight[:t]  # (B, t, D)
        mask = None if self.mask is None else self.mask[:t, :t]
        read = self.norms[0](x) if self.wires else x
        found = self.attention(self.W_q(read), self.W_k(read), self.W_v(read), mask)
        if not self.wires:
            return self.W_o(found)
        x = x + found
        return self.W_o(x + self.inner(self.norms[1](x)))


def rows(how_many, seed):
    """Rolls of a fair die, faces 0 to 5: (how_many, T + 1)."""
    return torch.randint(6, (how_many, T + 1), generator=torch.Generator().manual_seed(seed))


def _losses(guesser, rolls):
    """The loss at each place, (B, T): each is asked for the roll that follows."""
    return F.cross_entropy(guesser(rolls[:, :-1]).mT, rolls[:, 1:], reduction="none")


def train(attention, mask, wires=False, steps=600, seed=0):
    """A guesser, trained with Adam on 32 new rows at every step."""
    torch.manual_seed(seed)
    guesser = Guesser(attention, mask, wires)
    batches = ((rolls,) for rolls in rows(32 * steps, seed).split(32))
    adam = torch.optim.Adam(guesser.parameters(), lr=0.01 if wires else 0.03)
    fit(guesser, lambda guesser, rolls: _losses(guesser, rolls).mean(), batches, adam)
    return guesser.eval()


@torch.no_grad()
def as_in_training(guesser, seed=99):
    """On 2,000 new rows, given whole, at each of the T places: the share of hits, and the loss."""
    rolls = rows(2000, seed)
    hits = guesser(rolls[:, :-1]).argmax(-1) == rolls[:, 1:]
    return hits.float().mean(0), _losses(guesser, rolls).mean(0)


@torch.no_grad()
def when_it_writes(guesser, given, seed=99):
    """On the same rows, the loss at each of the T places, where it is given only what exists before roll t.

    given: given(rolls, t) -> (B, at least 1) of the rolls (B, T + 1); it is asked for rolls[:, t]
    """
    rolls = rows(2000, seed)
    return torch.stack([F.cross_entropy(guesser(given(rolls, t))[:, -1], rolls[:, t]) for t in range(1, T + 1)])


def zeros_afterwards(query, key, value, mask):
    """Attention that hides after the softmax: what is masked has its share in the denominator."""
    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) * mask @ value


def ways(attend, causal):
    """Five ways to hide the future, or not: {name: (attention, mask)}.

    attend: attend(query, key, value, mask); causal: causal(T), a causal mask
    """
    too_far = causal(T + 1)[1:, :T]  # one place further to the right
    return {"no mask": (attend, None), "causal mask": (attend, causal(T)), "one place too far": (attend, too_far),
            "zeros afterwards": (zeros_afterwards, causal(T)), "next roll hidden": (attend, causal(T) | ~too_far)}


def _measure(way, wires, steps, seed):
    guesser = train(*ways(scaled_dot_product_attention, causal_mask)[way], bool(wires), steps, seed)
    hits, losses = (at_each[:-1].mean().item() for at_each in as_in_training(guesser))
    writing = when_it_writes(guesser, lambda rolls, t: rolls[:, :t]).mean().item()
    return {"hits": hits, "loss": losses, "writing": writing}


WAYS = ("no mask", "causal mask", "one place too far", "zeros afterwards", "next roll hidden")
PLANS = {"07-die": Plan(
    about="guessing rolls of a die with five ways to hide the future, plain and with the parts of lesson 08: hits and "
          "loss at the first five places, as in training; loss when it writes",
    minutes=6, measure=_measure, points=grid(way=WAYS, wires=(0, 1), steps=(120, 600, 3000), seed=range(3)),
    near={"hits": 0.1, "loss": 0.1},
    sides=tuple(dict(way=way, wires=0, steps=600, seed=0) for way in WAYS[:2]))}
