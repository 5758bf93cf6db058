"""Lesson 13b: nine digits on a canvas and a word that asks for one of them: draw it, or name its place."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention, attention_patterns
from course_lib.experiments.digits import halves
from course_lib.experiments.plan import Plan, grid
from course_lib.layers import FeedForward
from course_lib.training import fit
from course_lib.vision import PatchEmbedding, patchify

WORDS = "zero one two three four five six seven eight nine".split()


def canvases(images, labels, n, seed):
    """n canvases of nine different digits, a word for one of them, and its cell.

    returns: (n, 1, 24, 24); (n,), the number of the word; (n,), the cell from 0 to 8, row by row
    """
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.rand(n, 10, generator=generator).argsort(1)[:, :9]  # (n, 9), which digit in which cell
    sorted_by_kind, count = labels.argsort(stable=True), labels.bincount()
    chosen = (count.cumsum(0) - count)[kinds] + (torch.rand(n, 9, generator=generator) * count[kinds]).long()
    cells = images[sorted_by_kind[chosen], 0].unflatten(1, (3, 3))  # (n, 3, 3, 8, 8)
    canvas = cells.transpose(2, 3).reshape(n, 1, 24, 24)
    cell = torch.randint(9, (n,), generator=generator)
    return canvas, kinds[torch.arange(n), cell], cell


class Asked(nn.Module):
    """A word looks at the nine digits of a canvas, and answers: with 64 pixels, or with 9 logits.

    answers: the width of the answer
    """

    Embedding, Attention = PatchEmbedding, MultiHeadAttention  # a learner's own may stand here

    def __init__(self, answers, d_model=64):
        super().__init__()
        self.words = nn.Embedding(10, d_model)
        self.cells = self.Embedding(24, 8, 1, d_model)
        self.think = FeedForward(d_model, 2 * d_model)
        self.look = self.Attention(d_model, num_heads=1)
        self.out = nn.Linear(d_model, answers)

    def forward(self, canvas, word):
        """(B, 1, 24, 24) and (B,) -> (B, answers)."""
        x = self.cells(canvas)[:, 1:]  # (B, 9, d_model), without the class token
        x = x + self.think(x)
        query = self.words(word)[:, None]  # (B, 1, d_model)
        return self.out(self.look(query, x, x))[:, 0]


def beside(kind):
    """How far the answers of a learner's Asked are from the course's with the same weights; `...` as long as it has
    none.
    """
    torch.manual_seed(0)
    model, known = kind(64), Asked(64)
    known.load_state_dict(model.state_dict())
    canvas, word = torch.randn(4, 1, 24, 24), torch.tensor([3, 1, 4, 1])
    answers = model(canvas, word)
    return answers if answers is ... else (answers - known(canvas, word)).abs().max().item()


def wanted(canvas, cell):
    """The pixels of the digit that was asked for, (B, 64)."""
    return patchify(canvas, 8)[torch.arange(len(cell)), cell]


LOSSES = {"draw": lambda model, canvas, word, cell: F.mse_loss(model(canvas, word), wanted(canvas, cell)),
          "name the cell": lambda model, canvas, word, cell: F.cross_entropy(model(canvas, word), cell)}
ANSWERS = {"draw": 64, "name the cell": 9}


def trained(task, training, steps=800, seed=0, kind=Asked):
    """A model after training on canvases that are made anew at every step, in eval mode."""
    torch.manual_seed(seed)
    model = kind(ANSWERS[task])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps, pct_start=0.2,
                                                   cycle_momentum=False)
    made = (canvases(*training, 64, 10_000 * seed + step) for step in range(steps))
    fit(model, LOSSES[task], made, optimizer, schedule)
    return model.eval()


@torch.no_grad()
def right(task, model, canvas, word, cell):
    """How often the answer is right: of a drawing, whether it is nearer to the digit asked for than to the others."""
    answers = model(canvas, word)
    if task == "draw":
        answers = -(answers[:, None] - patchify(canvas, 8)).square().mean(-1)  # (B, 9)
    return (answers.argmax(-1) == cell).float().mean().item()


def looks(model, canvas, word):
    """The weights of the word over the nine cells, (B, 9)."""
    return attention_patterns(model, canvas, word)["look"][:, 0, 0]


def measured(task, steps, seed):
    """Train, and ask about 400 canvases of digits that were never seen: right answers, and where the word looks."""
    training, test = halves(seed)
    model = trained(task, training, steps, seed)
    canvas, word, cell = canvases(*test, 400, seed=seed)
    weights = looks(model, canvas, word)
    return {"right": right(task, model, canvas, word, cell),
            "looks there": (weights.argmax(-1) == cell).float().mean().item(),
            "weight there": weights[torch.arange(len(cell)), cell].mean().item()}


PLANS = {"13b-asked": Plan(
    about="a word looks at nine digits, to draw the one it names or to name its cell: right answers, and whether its "
          "largest weight is there",
    minutes=11, measure=measured, near={"right": 0.02, "looks there": 0.02},
    sides=tuple(grid(task=["draw", "name the cell"], steps=[800], seed=[0])),
    points=grid(task=list(ANSWERS), steps=[800, 4000], seed=range(20)), apart=False)}
