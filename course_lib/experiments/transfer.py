"""Lesson 14b: what layers that were trained on one task are worth to another, over the labels and the steps it gets."""

from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit, shuffled
from course_lib.transformer import EncoderLayer

# The parts of a model that a start hands over; everything else begins at random
PARTS = {"from scratch": (), "from the median": ("layers",), "from the words": ("layers", "into"),
         "only their layers": ("layers",), "only their vectors": ("into",),
         "their layers, vectors like theirs": ("layers",), "from scratch, renamed": ()}
# The model of the words as it is, without a label: what one answer for the sentence is made of its five
AS_IT_IS = {"the largest answer": lambda answers: answers.amax(1),
            "the sum of the answers": lambda answers: answers.sum(1)}


class Reader(nn.Module):
    """Tokens of any kind in, one answer per token out; `into` turns tokens into vectors (B, T, 32)."""

    Layer = EncoderLayer  # a learner's own may stand here

    def __init__(self, into, answers=1):
        super().__init__()
        self.into = into
        self.layers = nn.ModuleList(self.Layer(32, 4, 64) for _ in range(2))
        self.out = nn.Linear(32, answers)

    def forward(self, tokens, mask=None):
        x = self.into(tokens)  # (B, T, 32)
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(x)  # (B, T, answers)


def new_reader(into, seed, *sizes, kind=Reader):
    """A new Reader, the course's or a learner's, whose `into` has these sizes and is 32 wide."""
    torch.manual_seed(seed)
    return kind(into(*sizes, 32))


def beside(kind):
    """How far the answers of a learner's Reader are from the course's with the same weights; `...` without any."""
    torch.manual_seed(0)
    own = kind(nn.Linear(3, 32), 5)
    known = Reader(nn.Linear(3, 32), 5)
    known.load_state_dict(own.state_dict())
    tokens, mask = torch.randn(2, 6, 3), torch.ones(6, 6).tril().bool()
    pairs = [(own(*given), known(*given)) for given in ((tokens,), (tokens, mask))]
    return ... if pairs[0][0] is ... else max((one - other).abs().max().item() for one, other in pairs)


def train(model, loss, data, steps, rate, seed):
    """Adam, a rate that falls to nearly nothing, batches of 32; the model in eval mode."""
    batches = shuffled(*data, batch_size=32, epochs=-(-steps // (len(data[0]) // 32)), seed=seed)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    fit(model, loss, [batch for batch, _ in zip(batches, range(steps), strict=False)], optimizer, schedule)
    return model.eval().requires_grad_(False)


def sets(n, seed):
    """Seven numbers (n, 7), and which of them is the middle one (n,)."""
    x = torch.randn(n, 7, generator=torch.Generator().manual_seed(seed))
    return x, x.argsort(1)[:, 3]


def words(n, seed):
    """Sentences (n, 5), and for each word whether it stands there twice (n, 5)."""
    x = torch.randint(16, (n, 5), generator=torch.Generator().manual_seed(seed))
    return x, ((x[:, :, None] == x[:, None]).sum(2) > 1).float()


def of_sets(model, x, middle):
    return F.cross_entropy(model(x[..., None])[..., 0], middle)


def of_words(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x)[..., 0], y)


def of_sentence(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x)[..., 0].sum(1), y)


@cache
def trained(task, seed):
    """A model that can do the task with plenty of labels, "median" or "words", trained until it gets no better."""
    if task == "median":
        return train(new_reader(nn.Linear, seed, 1), of_sets, sets(4800, seed), 1000, 3e-3, seed)
    return train(new_reader(nn.Embedding, seed, 16), of_words, words(9600, seed), 1000, 3e-3, seed)


def of_renamed(generator):
    """The loss of a sentence whose sixteen words have been given each other's names, anew in every batch."""
    return lambda model, x, y: of_sentence(model, torch.randperm(16, generator=generator)[x], y)


def vectors_like(vectors, generator):
    """Random vectors with the mean and the covariance of these (16, 32)."""
    return vectors.mean(0) + torch.randn(16, 16, generator=generator) @ (vectors - vectors.mean(0)) / 4


def share_right(answers):
    """Of a thousand new sentences, by the sign of one answer for each (1000,)."""
    return ((answers > 0) == (words(1000, 99)[1].amax(1) > 0)).float().mean().item()


def transferred(start, labels, steps, seed):
    """Hand the parts over, train on labelled sentences, and ask about a thousand new ones."""
    if start in AS_IT_IS:
        return {"right": share_right(AS_IT_IS[start](trained("words", seed)(words(1000, 99)[0])[..., 0]))}
    generator = torch.Generator().manual_seed(seed)
    model = new_reader(nn.Embedding, 3 + seed, 16)
    for part in PARTS[start]:
        giver = trained("median" if start == "from the median" else "words", seed)
        getattr(model, part).load_state_dict(getattr(giver, part).state_dict())
    if start == "their layers, vectors like theirs":
        model.into.weight.data.copy_(vectors_like(trained("words", seed).into.weight.detach(), generator))
    x, y = words(labels, 500 + seed)
    loss = of_renamed(generator) if start == "from scratch, renamed" else of_sentence
    train(model, loss, (x, y.amax(1)), steps, 2e-3, seed)
    return {"right": share_right(model(words(1000, 99)[0])[..., 0].sum(1))}


THREE, SEEDS = list(PARTS)[:3], range(3)
PLANS = {"14b-transfer": Plan(
    about="right on new sentences, by the start, the number of labelled sentences, the steps, and the seed",
    minutes=12,
    points=grid(start=THREE, labels=[64, 256, 1024, 4096], steps=[100, 300, 1000], seed=SEEDS)
    + grid(start=THREE, labels=[64, 256, 1024], steps=[2000, 5000], seed=SEEDS)
    + grid(start=list(PARTS)[3:5], labels=[256, 1024], steps=[100, 1000], seed=SEEDS)
    + grid(start=list(PARTS)[5:6], labels=[256], steps=[1000], seed=SEEDS)
    + grid(start=list(PARTS)[6:], labels=[32, 64], steps=[1000], seed=SEEDS)
    + grid(start=list(AS_IT_IS), labels=[0], steps=[0], seed=SEEDS),
    measure=transferred, near={"right": 0.02},
    sides=tuple(grid(start=["from scratch", "from the words"], labels=[256], steps=[300], seed=[SEEDS[0]])))}
