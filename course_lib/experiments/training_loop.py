"""Lessons 11 and 12: a training loop that the learner writes, rehearsed on a tiny model, and then run."""

import time
import warnings
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.data.vocabulary import BOS
from course_lib.display.live import progress_bar
from course_lib.targets import masked_cross_entropy, shift_right

SLOW = 3  # times the course's own code


def train(model, batches, optimizer, schedule, loss_of):
    """The course's own loop: one step for each batch; yields the loss of each."""
    for src, labels in batches:
        loss = loss_of(model, src, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss


def train_next_token(model, batches, optimizer, schedule, loss_of):
    """The same for a language model, with the gradient clipped."""
    for x, y in batches:
        loss = loss_of(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        yield loss


def losses_of(loop, model, batches, optimizer, schedule, says="learning French"):
    """Run a loop over all batches, with a progress bar: the loss of each step, (steps,)."""
    steps = loop(model, batches, optimizer, schedule)
    bar = progress_bar(steps, desc=says, unit="step", total=len(batches))
    return torch.tensor([loss.item() for loss in bar])


class Rehearsal(NamedTuple):
    """Is a loop right, and what does it do?"""

    right: bool
    says: str

    def __str__(self):
        return self.says


class _Tiny(nn.Module):
    """A model with a number for each pair of tokens, at hand for one step at a time."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.linspace(-1, 1, 36).sin().view(6, 6))

    def forward(self, *given):
        return self.table[given[-1]]


class _Noted(torch.optim.SGD):
    """Gradient descent that notes with which gradient and rate it was asked for a step."""

    def __init__(self, model):
        super().__init__(model.parameters(), lr=1.0)
        self.model, self.gradients, self.rates = model, [], []

    def step(self, closure=None):
        gradient = self.model.table.grad
        self.gradients.append(None if gradient is None else gradient.clone())
        self.rates.append(self.param_groups[0]["lr"])
        return super().step(closure)


def rehearse(loop):
    """Run a learner's loop over sentences for three batches of a tiny model.

    loop:    loop(model, batches, optimizer, schedule), yields the loss of each step
    returns: a Rehearsal; `...` where the loop still yields three dots; it never raises
    """
    labels = torch.tensor([[3, 4, 5, 2], [5, 3, 2, 0]])
    return _rehearsed(loop, (labels, labels),
                      lambda model: masked_cross_entropy(model(labels, shift_right(labels, BOS)), labels))


def rehearse_next_token(loop):
    """The same for a loop over pieces of a text, each with its next tokens."""
    x, y = torch.tensor([[3, 4, 5, 2], [5, 3, 2, 0]]), torch.tensor([[4, 5, 2, 1], [3, 2, 0, 0]])
    return _rehearsed(loop, (x, y), lambda model: F.cross_entropy(model(x).flatten(0, 1), y.flatten()))


def _rehearsed(loop, batch, loss_of):
    """Three times the same batch; loss_of(model) is what each should cost."""
    model = _Tiny()
    optimizer = _Noted(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    before, yielded = model.table.detach().clone(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own word on the order of two lines: ours comes below
        try:
            for loss in loop(model, [batch] * 3, optimizer, schedule):
                if loss is ...:
                    return ...
                yielded.append(loss)
        except Exception as error:  # whatever a learner's loop may do
            return Rehearsal(False, f"it stops ({type(error).__name__}: {str(error).partition(chr(10))[0]})")
    return _judged(model, optimizer, schedule, before, yielded, loss_of)


def _judged(model, optimizer, schedule, before, yielded, loss_of):
    """What the three steps came to, beside those of the course's loop."""
    steps, moved = len(optimizer.gradients), not torch.equal(before, model.table)
    if len(yielded) != 3:
        return Rehearsal(False, f"of three batches it should yield three losses, and it yields {len(yielded)}")
    if steps == 0:
        return Rehearsal(False, "optimizer.step() is never called: no weight changes")
    if steps != 3:
        return Rehearsal(False, f"for three batches it makes {steps} steps")
    if not moved or optimizer.gradients[0] is None or not optimizer.gradients[0].any():
        return Rehearsal(False, "at the first step there is no gradient: backward() comes before the step, "
                                "and zero_grad() before backward()")
    if schedule.last_epoch != 3:
        return Rehearsal(False, f"for three batches the schedule moves {schedule.last_epoch} times: "
                                "without it the rate stays where it is")
    if optimizer.rates != [1, 1 / 2, 1 / 3]:
        return Rehearsal(False, f"the rates of the steps are {optimizer.rates}: "
                                "the schedule moves on after the step, not before it")
    if _piles_up(optimizer.gradients, before, loss_of):
        return Rehearsal(False, "at the second step the gradient of the first is still in it: "
                                "what has to be set to zero before backward()?")
    return Rehearsal(True, "three steps, each with the gradient of its own batch and its own rate")


def _piles_up(gradients, before, loss_of):
    """Is the second gradient another one than that of its own batch?"""
    model = _Tiny()
    with torch.no_grad():
        model.table.copy_(before - gradients[0])  # where the first step, at a rate of 1, has led
    loss_of(model).backward()
    return not torch.allclose(gradients[1], model.table.grad, atol=1e-5)


def quick_enough(yours, courses, batch):
    """Does a training step of yours take at most SLOW times as long as one of the course's?

    yours, courses: functions of a batch that make a model and run one step, in one go
    """
    return _seconds(yours, batch) <= SLOW * _seconds(courses, batch)


def _seconds(step, batch):
    """Processor time, the smaller of two."""
    times = []
    for _ in range(2):
        start = time.process_time()
        step(*batch)
        times.append(time.process_time() - start)
    return min(times)
