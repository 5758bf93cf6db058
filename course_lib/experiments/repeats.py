"""Lesson 17: rows that repeat, read by small models of attention alone, and what becomes of them part by part."""

from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import attention_patterns
from course_lib.circuits import ablate_head, attention_scores_by_pattern, run
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.todays_parts import RotaryAttention
from course_lib.language_model import LanguageModel
from course_lib.llama import LlamaBlock
from course_lib.masks import causal_mask
from course_lib.training import fit

V, T, STEPS = 64, 32, 800


def repeating(rows, seed, shortest=6, longest=16):
    """Rows of T tokens that say the same again and again after n of them, all n different.

    returns: ids (rows, T), and n (rows, 1), drawn from shortest to longest
    """
    generator = torch.Generator().manual_seed(seed)
    n = torch.randint(shortest, longest + 1, (rows, 1), generator=generator)
    order = torch.rand(rows, V, generator=generator).argsort(1)
    return order.gather(1, torch.arange(T) % n), n


def again(n):
    """Which of the T - 1 next tokens were said before: bool (rows, T - 1)."""
    return torch.arange(1, T) >= n + 1


def surprise(logits, ids):
    """-log p of every next token: (rows, T - 1)."""
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")


class Silent(nn.Module):
    """In the place of a feed-forward network: it says nothing."""

    def forward(self, x):
        """(B, T, D) -> zeros of the same shape"""
        return torch.zeros_like(x)


def attention_only(Model=LanguageModel, layers=2, width=64, heads=4, norms=False):
    """A language model of attention alone: no feed-forward networks, and no layer norms unless asked for.

    Model: the class to take, the course's or a learner's
    """
    model = Model(V, width, heads, 1, layers)
    for block in model.blocks:
        block.ff = Silent()
        block.norm2 = nn.Identity()
        block.norm1 = block.norm1 if norms else nn.Identity()
    model.norm = model.norm if norms else nn.Identity()
    with torch.no_grad():
        model.table.weight.mul_(0.3)
    return model


@torch.no_grad()
def that_opens(Model):
    """A learner's class if its heads can be seen and cut as the course's can; otherwise the course's, which is said."""
    torch.manual_seed(0)
    known, ids, silent = attention_only(), repeating(2, 0)[0], {0: torch.zeros_like}
    try:
        own = attention_only(Model)
        own.load_state_dict(known.state_dict())
        off = max((run(own, ids, edits)[0] - run(known, ids, edits)[0]).abs().max().item() for edits in ({}, silent))
    except Exception:  # whatever was written
        off = float("inf")
    if off < 1e-4:
        return Model
    print(f"Your {Model.__name__} cannot be opened here: what its heads say has to go through self.W_o(...). "
          "The course's is run.")
    return LanguageModel


class OtherPositions(LanguageModel):
    """A language model with positions of another kind: a table that is learned, or none."""

    def __init__(self, *sizes, learned=False):
        super().__init__(*sizes)
        self.places = nn.Parameter(0.3 * torch.randn(T, sizes[1]), requires_grad=learned)
        if not learned:
            self.places.data.zero_()

    def forward(self, ids):
        """(B, T) -> logits (B, T, V)"""
        x = self.table(ids) + self.places[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, causal_mask(ids.shape[1]))
        return self.out(self.norm(x))


def rotary():
    """Two layers without positions, whose queries and keys are turned."""
    model = attention_only(OtherPositions)
    for block in model.blocks:
        block.self_attn = RotaryAttention(LlamaBlock(64, 4, 4, 1, 1e4, {}))
    return model


class Evenly(nn.Module):
    """An attention that always looks evenly at all that came: its weights are fixed, all else is trained."""

    def __init__(self, of):
        super().__init__()
        self.W_v, self.W_o, self.num_heads = of.W_v, of.W_o, of.num_heads

    def forward(self, query, key, value, mask):
        """The mean of the values that the mask lets through: (B, T, D) -> (B, T, D)"""
        weights = mask / mask.sum(-1, keepdim=True)
        return self.W_o(weights @ self.W_v(value))


def looking_evenly(block):
    """Two layers, one of which looks evenly."""
    model = attention_only()
    model.blocks[block].self_attn = Evenly(model.blocks[block].self_attn)
    return model


TWO, ONE = "two layers", "one layer"
# How each model is made, and from which lengths its rows are drawn.
MODELS = {
    TWO: (attention_only, (6, 16)),
    ONE: (lambda: attention_only(layers=1), (6, 16)),
    "one layer, 128 wide, 8 heads": (lambda: attention_only(layers=1, width=128, heads=8), (6, 16)),
    "one layer, always 11": (lambda: attention_only(layers=1), (11, 11)),
    "two layers, 32 wide": (lambda: attention_only(width=32), (6, 16)),
    "two layers, one head": (lambda: attention_only(heads=1), (6, 16)),
    "two layers, with norms": (lambda: attention_only(norms=True), (6, 16)),
    "two layers, no positions": (lambda: attention_only(OtherPositions), (6, 16)),
    "two layers, learned positions": (lambda: attention_only(lambda *sizes: OtherPositions(*sizes, learned=True)),
                                      (6, 16)),
    "two layers, rotary positions": (rotary, (6, 16)),
    "block 1 looks evenly": (lambda: looking_evenly(0), (6, 16)),
    "block 2 looks evenly": (lambda: looking_evenly(1), (6, 16)),
}


def loss_of(model, ids):
    """The loss of a language model: all next tokens, those of the first copy, too."""
    return surprise(model(ids), ids).mean()


def train(model, seed, steps=STEPS, lengths=(6, 16), every=40):
    """Train on rows that repeat; the loss on what is said again, {step: loss}, before training and after."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), 3e-3), {0: loss_again(model, lengths)}
    for done in range(0, steps, every):
        batches = [(repeating(64, 100_000 * seed + step, *lengths)[0],) for step in range(done, done + every)]
        fit(model, loss_of, batches, optimizer)
        losses[done + every] = loss_again(model, lengths)
    return losses


@torch.no_grad()
def loss_again(model, lengths=(6, 16), rows=200, seed=987_654_321):
    """The mean loss on what is said again, in rows that were never trained on."""
    ids, n = repeating(rows, seed, *lengths)
    return surprise(model(ids), ids)[again(n)].mean().item()


def grown(model, seed):
    """The loss on what is said again after every 40 of 800 steps, and after 4,000."""
    torch.manual_seed(seed)
    make, lengths = MODELS[model]
    losses = train(make(), seed, 5 * STEPS, lengths)
    return {f"loss at {step}": losses[step] for step in (*range(0, STEPS + 1, 40), 5 * STEPS)}


@cache
def trained(seed):
    """A two-layer model after its training, in eval mode."""
    torch.manual_seed(seed)
    model = attention_only()
    train(model, seed, every=STEPS)
    return model.eval().requires_grad_(False)


@torch.no_grad()
def right_and_loss(model, ids, n, edits=None):
    """Of what is said again: the share of right answers, and the loss."""
    logits, _ = run(model, ids, edits)
    right = (logits[:, :-1].argmax(-1) == ids[:, 1:])[again(n)].float().mean().item()
    return right, surprise(logits, ids)[again(n)].mean().item()


def opened(seed, block, head):
    """Where a head, both counted from 1, looks, and the loss and the right answers without it."""
    model, (ids, n) = trained(seed), repeating(200, 987_654_321)
    patterns = list(attention_patterns(model, ids).values())[block - 1]
    before, same, after = attention_scores_by_pattern(patterns, ids)[:, head - 1].tolist()
    right, loss = right_and_loss(model, ids, n, {block - 1: lambda said: ablate_head(said, head - 1)})
    return {"one before": before, "the same": same, "after the same": after, "loss without": loss,
            "right without": right}


LATER = [name for name in MODELS if name not in (TWO, ONE)]
PLANS = {
    "17-grown": Plan(
        about="rows that repeat: the loss on what is said again, of models of attention alone, over 800 steps, and "
              "after 4,000", minutes=45,
        points=grid(model=[TWO, ONE], seed=range(5)) + grid(model=LATER, seed=range(3)), measure=grown,
        near={"loss at 800": 0.02}, sides=tuple(grid(model=[TWO, ONE], seed=[0]))),
    "17-heads": Plan(
        about="twenty two-layer models of attention alone: where each head looks, and what is lost without it",
        minutes=8, points=grid(seed=range(1, 21), block=[1, 2], head=range(1, 5)), measure=opened,
        near={"after the same": 0.02}, sides=tuple(grid(seed=[1], block=[1, 2], head=[1]))),
}
