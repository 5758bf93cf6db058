"""The learner's own training loop: rehearsed, and told what is wrong with it."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.data.vocabulary import BOS
from course_lib.experiments import training_loop
from course_lib.targets import shift_right


def loss_of(model, src, labels):
    return F.cross_entropy(model(src, shift_right(labels, BOS)).transpose(1, 2), labels, ignore_index=0)


RIGHT = """
        loss = loss_of(model, src, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss"""


def loop(body):
    """A loop with this body, as a learner may have written it."""
    names = {"loss_of": loss_of}
    exec("def train(model, batches, optimizer, schedule):\n    for src, labels in batches:" + body, names)
    return names["train"]


def without(line):
    return RIGHT.replace(f"\n        {line}", "")


@pytest.mark.parametrize("body", [
    RIGHT, RIGHT.replace("zero_grad()", "zero_grad(set_to_none=False)"),
    without("optimizer.zero_grad()").replace("schedule.step()", "schedule.step()\n        optimizer.zero_grad()"),
    RIGHT.replace("optimizer.zero_grad()", "model.zero_grad()")])
def test_a_right_loop_is_right(body):
    """A style that is right and is sent back."""
    assert training_loop.rehearse(loop(body)).right


def test_the_course_s_own_loop_is_right():
    """A stand-in that would not pass."""
    assert training_loop.rehearse(lambda *given: training_loop.train(*given, loss_of)).right


@pytest.mark.parametrize("body, says", [
    (without("optimizer.zero_grad()"), "the gradient of the first is still in it"),
    (without("optimizer.step()"), "optimizer.step() is never called"),
    (without("loss.backward()"), "there is no gradient"),
    (without("schedule.step()"), "the schedule moves 0 times"),
    (RIGHT.replace("loss.backward()\n", "loss.backward()\n        optimizer.zero_grad()\n"), "there is no gradient"),
    (without("schedule.step()").replace("loss.backward()", "loss.backward(); schedule.step()"),
     "the schedule moves on after the step"),
    (RIGHT.replace("optimizer.step()", "optimizer.step(); optimizer.step()"), "it makes 6 steps"),
    (RIGHT.replace("yield loss", "pass\n    yield loss"), "three losses, and it yields 1"),
    (RIGHT.replace("(model, src", "(model, source"), "it stops (NameError: name 'source' is not defined)"),
    (RIGHT.replace("yield loss", "pass"), "it stops (TypeError: 'NoneType' object is not iterable)")])
def test_a_wrong_loop_is_told_what_is_wrong(body, says):
    """“It does not learn”, and no word on which line it is."""
    rehearsal = training_loop.rehearse(loop(body))
    assert not rehearsal.right and says in str(rehearsal), rehearsal


def test_a_loop_that_is_not_written_is_no_wrong_one():
    """A learner who has not begun, accused."""
    assert training_loop.rehearse(loop("\n        loss = ...\n        yield loss")) is ...


def test_losses_are_those_of_the_steps():
    """A loop that is run twice, or not to its end."""
    model = torch.nn.Linear(1, 1)
    found = training_loop.losses_of(lambda *_: iter([torch.tensor(3.0), torch.tensor(2.0)]), model, [1, 2], None, None)
    assert found.tolist() == [3, 2]
