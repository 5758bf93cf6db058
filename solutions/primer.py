# %% [markdown]
# # A little PyTorch
#
# *30 minutes: reading 11, predicting 4, writing 15 · needs Python and a matrix product · six
# small tasks*
#
# **At the end you can** read the PyTorch that lesson 00 takes for granted: shapes, axes,
# the matrix product, softmax, gradients, modules, and the five lines of a training step.
#
# Five questions come first. If you answer all of them, go on to
# [lesson 00](00_big_picture.ipynb). Each reply names the section to read.

# %%
import torch

from course_lib import intervene, predict, primer
from course_lib.display import plots
from course_lib.display.drawings import primer as draw

torch.set_num_threads(1)

# %% tags=["predict"]
predict(
    "A tensor of shape (4, 7, 7) goes through a softmax with dim=-1. What sums to 1?",
    {
        "each of the 4 tables": "That would be a softmax over both last axes. See "
        "*Softmax*.",
        "each row of each table": (
            True,
            "dim=-1 is the last axis: 4 · 7 rows of seven numbers, each with sum 1.",
        ),
        "each column of each table": "That is dim=-2. See *Axes*.",
        "all of it": "Softmax runs along one axis, and leaves the others alone. See "
        "*Softmax*.",
    },
)

# %% tags=["predict"]
predict(
    "What is the shape of torch.ones(5, 2, 3) @ torch.ones(3, 4)?",
    {
        "(5, 2, 4)": (
            True,
            "The inner 3 vanishes. The axis in front, 5, is a batch: five products.",
        ),
        "(2, 4)": "The axis in front does not go away. See *The matrix product*.",
        "(5, 3, 4)": "The inner sizes are the 3 on both sides, and they vanish. See "
        "*The matrix product*.",
        "an error: 3 axes and 2": "Axes in front are a batch, and are repeated where "
        "they are missing. See *The matrix product*.",
    },
)

# %% tags=["predict"]
predict(
    "x has shape (2, 3). What does x + torch.tensor([1.0, 2.0]) give?",
    {
        "1 added to the first row, 2 to the second": "Shapes are lined up from the "
        "*right*, and 3 meets 2. See *Broadcasting*.",
        "an error": (
            True,
            "Lined up from the right, 3 meets 2, and neither is 1. With a shape of (2, "
            "1) it would work.",
        ),
        "1 and 2 added to the first two columns": "PyTorch does not fill up what is "
        "missing. See *Broadcasting*.",
    },
)

# %% tags=["predict"]
predict(
    "How many numbers are trained in torch.nn.Linear(3, 2)?",
    {
        6: "Those are the weight's. See *Modules* for the others.",
        8: (True, "A weight of 2 · 3 numbers, and a bias of 2."),
        5: "3 numbers go in, and 2 come out. Each output has a weight for each input. "
        "See *Modules*.",
        9: "The bias has one number for each *output*. See *Modules*.",
        1: "It is one module, and keeps a weight and a bias. See *Modules*.",
    },
    within=0.4,
)

# %% tags=["predict"]
predict(
    "A training loop leaves out optimizer.zero_grad(). Its tenth step follows …",
    {
        "the gradient of the tenth loss alone": "backward() *adds* to what is there. "
        "See *A training step*.",
        "the sum of ten gradients": (
            True,
            "backward() adds to .grad, and nobody has taken the old ones away.",
        ),
        "nothing: it is an error": "No error, and that makes it hard to find. See *A "
        "training step*.",
    },
)

# %% [markdown]
# ## Tensors
#
# A **tensor** is a box of numbers with a shape and a type. Integers count and point; floats
# are computed with.

# %%
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
x.shape, x.dtype, torch.tensor([1, 2]).dtype

# %%
x[0], x[:, 0], x.T.shape  # the first row, the first column, rows and columns exchanged

# %% [markdown]
# `.item()` makes a Python number of a tensor that holds one, and `.tolist()` a list of any.
# Negative places count from the end.

# %%
x[1, 2].item(), x[-1].tolist(), torch.zeros(2, 3).shape, torch.arange(4)

# %% [markdown]
# ### Yours: a column
#
# Replace the three dots by an expression with `x` that gives its last column, (3, 6), as a
# vector. Then run the cell, as often as you like.

# %% tags=["yours"]
column = x[:, -1]  # yours: an expression with x
intervene("the last column of x", column, **primer.COLUMN)

# %% [markdown]
# ## Axes
#
# Most mistakes in this course are mistakes of shape. An operation along an axis takes that
# axis away: `dim=0` goes down the rows, `dim=1` or `dim=-1` along each row.

# %%
x.sum(dim=0), x.max(dim=0).values, x.sum().item(), x.numel()  # numel: how many numbers

# %% [markdown]
# The course names its axes: B for the sentences of a batch, T for the words of one, D for
# the numbers of a word. `(B, T, D)` at the end of a line is the shape of what it makes.
#
# `argsort` gives the places of the numbers in order, from the smallest or, as here, from the
# largest. Then new axes and other shapes:

# %%
torch.tensor([3.0, 5.0, 1.0]).argsort(descending=True).tolist()

# %%
x.reshape(3, 2).shape, x[:, None, :].shape, torch.stack([x, x]).shape, x.amax(dim=0)

# %% [markdown]
# ### Yours: means
#
# The mean of each row of x, shape (2,). `mean` takes a `dim`, too.

# %% tags=["yours"]
means = x.mean(dim=1)  # yours: an expression with x
intervene("the mean of each row", means, **primer.MEANS)

# %% [markdown]
# ## The matrix product
#
# Each entry of `a @ b` is a row of a times a column of b: multiply, then add up. The inner
# sizes must be the same, and vanish. A vector on the left is one row.

# %%
torch.tensor([1.0, 2.0]) @ torch.tensor([10.0, 20.0]), (x @ torch.ones(3, 4)).shape

# %%
torch.tensor([0.5, 0.5]) @ x  # half of each row of x

# %% [markdown]
# That is a **weighted sum**, and the one idea behind attention: an output is a weighted sum
# of inputs.
#
# ### Yours: a mixture
#
# Which two weights make (3.25, 4.25, 5.25) of the rows of x, (1, 2, 3) and (4, 5, 6)?

# %% tags=["yours"]
weights = [0.25, 0.75]  # yours: two numbers
intervene("weights @ x is (3.25, 4.25, 5.25)", weights, **primer.mixture(x))

# %% [markdown]
# ## Broadcasting
#
# **Broadcasting**: two shapes are lined up from the *right*. A size of 1, or an axis that
# is missing, is repeated until it fits.

# %%
x + torch.tensor([10.0, 20.0, 30.0])  # (2, 3) + (3,): to each row

# %%
x * torch.tensor([[1.0], [0.0]])  # (2, 3) * (2, 1): each row by its own number

# %% [markdown]
# ### Yours: one number for each row
#
# Subtract 1 from the first row of x, and 4 from the second, in one subtraction: which
# tensor? Write all its brackets.

# %% tags=["yours"]
lowest = torch.tensor([[1.0], [4.0]])  # yours: torch.tensor(…) with the numbers 1 and 4
intervene("x - lowest is (0, 1, 2) in both rows", lowest, **primer.lowest(x))

# %% [markdown]
# ## Softmax
#
# Any numbers in, weights out: none is negative, and along the axis they add up to 1. The
# largest number gets the largest weight.

# %%
torch.softmax(torch.tensor([0.0, 1.0, 3.0]), dim=-1)

# %% [markdown]
# ## Gradients
#
# PyTorch notes what is done to a tensor that `requires_grad`. `backward()` then goes back
# through these notes, multiplies the slopes it meets, and puts the **gradient** into
# `.grad`: how fast the result changes with each number. This is **backpropagation**.

# %%
w = torch.tensor(3.0, requires_grad=True)
(w**2 + 2 * w).backward()
w.grad

# %%
plots.show(draw.backward(), "primer-backward")

# %% [markdown]
# ### Yours: a flat place
#
# For which w does w² + 2w have a gradient of 0?

# %% tags=["yours"]
start = -1.0  # yours: a number
intervene("the gradient at this w is 0", start, **primer.FLAT)

# %% [markdown]
# ## Modules
#
# A `torch.nn.Module` keeps weights together with the function that uses them.
# `torch.nn.Linear(3, 1)` multiplies with a weight of shape (1, 3) and adds a **bias** of (1,).

# %%
class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)

    def forward(self, x):  # called by scorer(x)
        return torch.softmax(self.linear(x), dim=0)


# %%
torch.manual_seed(0)
scorer = Scorer()
scorer(x).shape, [tuple(weight.shape) for weight in scorer.parameters()]

# %% [markdown]
# New weights are random, as are `torch.rand` and `torch.randn`. `torch.manual_seed(0)`, or a
# `torch.Generator` with a seed, makes the same numbers come each time.
# `torch.set_num_threads(1)` lets PyTorch use one processor.
#
# ## A training step
#
# **Training** is this, repeated: compute a **loss**, get its gradient, take a small step
# against it. An optimizer takes the steps; its **learning rate** says how large they are.
# (Where nothing is trained, `with torch.no_grad():` spares PyTorch its notes.)

# %%
def train(rate, steps=20):
    """Start at 0, and go down (w − 5)²: where do we end?"""
    w = torch.nn.Parameter(torch.tensor(0.0))
    optimizer = torch.optim.SGD([w], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()  # forget the gradient of the step before
        loss = (w - 5) ** 2  # how wrong is it?
        loss.backward()  # the gradient, into w.grad
        optimizer.step()  # w -= rate * w.grad
    return w.item()


round(train(0.01), 2)

# %% [markdown]
# ### Yours: a learning rate
#
# With 0.01 it gets to 1.66 in 20 steps. Find a rate with which it ends within 0.01 of 5.

# %% tags=["yours"]
rate = 0.3  # yours: a number above 0
intervene("after 20 steps w is within 0.01 of 5", rate, **primer.rate(train))

# %% [markdown]
# That is enough for lesson 00. What else is needed is said where it is needed.
