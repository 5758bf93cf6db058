"""Lesson 10, the loop that keeps the best epoch: judged with a model of one number, which only counts its epochs."""

import torch
from torch import nn

from course_lib import training
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise


class Counter(nn.Module):
    """A model of one number."""

    def __init__(self):
        super().__init__()
        self.count = nn.Parameter(torch.zeros(()))

    def __repr__(self):
        return "a model with one weight, which is 0"


class AddOne:
    """One epoch of training, in place, as an optimizer does it; it wants to be told which one it is."""

    def __init__(self):
        self.epochs = 0

    def __repr__(self):
        return "adds 1 to the weight"

    def __call__(self, model, epoch):
        if epoch != self.epochs:
            raise ValueError(f"train_epoch was told that this is epoch {epoch}, and it is epoch {self.epochs}")
        self.epochs += 1
        with torch.no_grad():
            model.count += 1


class LookUp:
    """The accuracy of a model: what the data say of its weight. Who asks the test again gets more than there is."""

    def __init__(self, test):
        self.test, self.tested = test, 0

    def __repr__(self):
        return "data[w - 1], where w is the weight, and 0 before training; and 1 more for each time the test was " \
               "asked before"

    def __call__(self, model, data):
        before = self.tested
        self.tested += data == self.test
        right = data[int(model.count) - 1] if model.count > 0 else 0.0
        return right + (before if data == self.test else 0)


def by_looking(model, train_epoch, accuracy, validation, test, epochs):
    """The weight is the number of the epoch: nothing has to be trained to know what comes out."""
    history = list(validation[:epochs])
    best = history.index(max(history))
    with torch.no_grad():
        model.count.fill_(best + 1)
    return torch.tensor(history, dtype=torch.float64), torch.tensor(test[best]).double()


def with_data(validation, test):
    return Counter(), AddOne(), LookUp(test), validation, test, len(validation)


def make(generator, epochs):
    """All accuracies differ; the best epoch is neither the first nor the last where there are three or more."""
    validation, test = (torch.randperm(97, generator=generator)[: 2 * epochs] + 2).div(100).view(2, -1).tolist()
    if epochs > 2:
        validation[int(torch.randint(1, epochs - 1, (1,), generator=generator))] = 0.995
    return with_data(tuple(validation), tuple(test))


def more_calls(generator):
    """Where the best epochs are equal, the first counts; models that only get better, only worse, or nothing right."""
    return [
        Call(with_data((0.5, 0.9, 0.7, 0.9, 0.6), (0.1, 0.2, 0.3, 0.4, 0.5)), "two epochs that are best"),
        Call(with_data((0.8, 0.8, 0.8), (0.7, 0.6, 0.5)), "epochs that are all alike"),
        Call(with_data((0.2, 0.4, 0.6), (0.3, 0.1, 0.2)), "each epoch better than the one before"),
        Call(with_data((0.6, 0.4, 0.2), (0.3, 0.1, 0.2)), "each epoch worse than the one before"),
        Call(with_data((0.6, 0.3, 0.5, 0.4), (0.1, 0.2, 0.3, 0.4)), "better than the one before, and not the best"),
        Call(with_data((0.0, 0.0), (0.3, 0.1)), "epochs without any right answer: accuracies of 0"),
    ]


EXERCISES = (
    Exercise(
        lesson="10",
        asked="train for so many epochs and note the validation accuracy after each; at the end the model has the "
        "weights of the best epoch, the first of several: (history (epochs,), test accuracy with these weights). The "
        "test is asked once.",
        verified=training.keep_the_best,
        oracle=by_looking,
        examples=(with_data((0.5, 0.9, 0.7), (0.4, 0.8, 0.6)),),
        sizes=((4,), (6,), (3,), (9,), (2,), (1,)),
        make=make,
        calls=more_calls,
    ),
)
