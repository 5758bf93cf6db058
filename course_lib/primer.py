"""The tasks of the primer: what is right, and what whoever makes one of the usual slips is told."""

import torch

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def task(right, slips, run=torch.as_tensor):
    """What `intervene` takes besides the goal and the choice.

    right: the result that is asked for
    slips: {sentence: a result that earns it}
    run:   from the choice to the result
    """
    return {"run": run, "holds": lambda result: _same(result, right), "shows": "you get {result}",
            "otherwise": lambda choice, result: _says(result, right, slips)}


def _same(a, b):
    return a.shape == b.shape and torch.allclose(a.double(), b.double())


def _says(result, right, slips):
    for sentence, slip in slips.items():
        if _same(result, slip):
            return sentence
    if result.shape != right.shape:
        return f"Its shape is {tuple(result.shape)}, and {tuple(right.shape)} is asked for."
    return "The shape is right, and the numbers are others."


COLUMN = task(X[:, -1], {
    "That is the last row: the first place in the brackets is the row.": X[-1],
    "Right numbers, but still a table of one column: -1 takes the axis away, and -1: keeps it.": X[:, -1:],
    "That is all but the last column: the colon stands on the other side.": X[:, :-1],
    "That is the first column.": X[:, 0]})

MEANS = task(X.mean(dim=1), {
    "That is the mean of each column: dim=0 takes the rows away.": X.mean(dim=0),
    "That is one mean of all six numbers: say along which axis.": X.mean(),
    "Right numbers, but keepdim keeps the axis that should go.": X.mean(dim=1, keepdim=True),
    "That is the sum of each row.": X.sum(dim=1)})


def mixture(x):
    """Weights whose mixture of the rows of x, (2, 3), is asked for."""
    return task(torch.tensor([3.25, 4.25, 5.25]), {
        "The other way round: the first weight belongs to the first row.": torch.tensor([0.75, 0.25]) @ x,
        "That is the mean. It has to lie nearer to the second row.": torch.tensor([0.5, 0.5]) @ x},
        lambda weights: torch.tensor(weights, dtype=torch.float) @ x)


def lowest(x):
    """What to subtract from x, (2, 3), so that each row begins at 0."""
    return task(torch.tensor([[0.0, 1, 2], [0, 1, 2]]), {
        "That adds. The numbers are subtracted already: give them as 1 and 4.": x + torch.tensor([[1.0], [4.0]]),
        "The first row begins with 1, and the second with 4.": x - torch.tensor([[4.0], [1.0]])},
        lambda by: x - by)


def _gradient(w):
    w = torch.tensor(float(w), requires_grad=True)
    (w**2 + 2 * w).backward()
    return w.grad


FLAT = {"run": _gradient, "holds": lambda slope: slope.abs() < 1e-6, "shows": "the gradient at {choice} is {result:g}",
        "otherwise": lambda w, slope: "There the sum is 0, and its slope is not." if w in (0, -2) else
        "It rises there: go to the left." if slope > 0 else "It falls there: go to the right."}


def rate(train):
    """A learning rate; train(rate) -> where twenty steps end."""
    return {"run": train, "holds": lambda w: abs(w - 5) <= 0.01, "among": lambda rate: rate > 0,
            "shows": "it ends at {result:.3g}",
            "otherwise": lambda rate, w: "Each step leaps over 5 and lands farther off: take a smaller one."
            if rate >= 1 else "It leaps to and fro over 5: take a smaller one." if rate > 0.5 else
            "It creeps: take a larger one."}
