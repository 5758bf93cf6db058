"""The engine under the checks, on what no exercise of the lessons uses yet: modules, and answers in another process."""

import multiprocessing
import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.checks import EXERCISES, suspects
from course_lib.checks.engine.asking import Call, Reply, ask
from course_lib.checks.engine.comparing import alike
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.questioning import questions
from course_lib.checks.engine.time_limit import Allowance


class FeedForward(nn.Module):
    """Two linear maps with a ReLU and dropout between them."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear2(self.dropout(F.relu(self.linear1(x))))


def by_hand(w, build, x):
    kept = 0.0 if build[2:] == (1.0,) else 1.0  # dropout 1.0 is only ever asked for in train mode
    hidden = kept * F.relu(F.linear(x, w["linear1.weight"], w["linear1.bias"]))
    return F.linear(hidden, w["linear2.weight"], w["linear2.bias"])


class no_relu(FeedForward):
    """The ReLU is missing."""

    def forward(self, x):
        return self.linear2(self.linear1(x))


class dropout_always_on(FeedForward):
    """Dropout is active in eval mode."""

    def forward(self, x):
        return self.linear2(F.dropout(F.relu(self.linear1(x)), self.dropout.p))


class dropout_forgotten(FeedForward):
    """Dropout is not active in train mode."""

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


def make(generator, d_model, d_ff):
    return (torch.randn(2, 3, d_model, generator=generator),)


def with_dropout(generator):
    """In eval mode dropout does nothing; at 1.0 in train mode only the last bias is left."""
    weights = {n: torch.randn(p.shape, generator=generator) for n, p in FeedForward(3, 5).named_parameters()}
    x = make(generator, 3, 5)
    return [Call(x, "dropout in eval mode", build=(3, 5, 0.5), weights=weights),
            Call(x, "dropout 1.0 in train mode", build=(3, 5, 1.0), weights=weights, train=True)]


EXERCISE = Exercise(
    lesson="none", asked="", verified=FeedForward, oracle=by_hand, examples=(),
    sizes=((3, 5), (5, 3), (4, 4), (1, 1)), make=make, build=lambda d_model, d_ff: (d_model, d_ff),
    by_hand=(no_relu, dropout_always_on, dropout_forgotten), calls=with_dropout)


class Hidden(FeedForward):
    """A weight in a plain list is no registered parameter."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff, dropout)
        self.layers = [self.linear1]
        del self.linear1

    def forward(self, x):
        return self.linear2(F.relu(self.layers[0](x)))


class Detached(FeedForward):
    """No gradient reaches the first layer."""

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)).detach())


class Einsum(FeedForward):
    """Right, in another style."""

    def forward(self, x):
        hidden = torch.einsum("btd,fd->btf", x, self.linear1.weight) + self.linear1.bias
        return self.dropout(hidden.clamp_min(0)) @ self.linear2.weight.T + self.linear2.bias


@pytest.mark.parametrize("right", [FeedForward, Einsum])
def test_a_right_module_is_right(right):
    """Weights that never arrive, or a mode that is never set."""
    verdict = judge(EXERCISE, right)
    assert verdict.status == "right", verdict.failure


@pytest.mark.parametrize("wrong", EXERCISE.mistakes)
def test_a_mistaken_module_is_named(wrong):
    """A module check that looks at shapes only."""
    assert judge(EXERCISE, wrong.answer).mistake == wrong.name


@pytest.mark.parametrize(("wrong", "mistake"), [(Hidden, "missing-weight"), (Detached, "cuts-gradient")])
def test_weights_must_be_registered_and_train(wrong, mistake):
    """A model whose weights the optimizer never sees."""
    assert judge(EXERCISE, wrong).mistake == mistake


class CutsAWeight(FeedForward):
    """A gradient that reaches the input while one weight stays as it was made."""

    def forward(self, x):
        return self.linear2(self.dropout(F.relu(F.linear(x, self.linear1.weight.detach(), self.linear1.bias))))


def test_a_gradient_that_does_not_reach_a_weight_is_seen():
    """A layer that never learns under a check that looks at inputs only."""
    assert judge(EXERCISE, CutsAWeight).mistake == "cuts-gradient"


def test_every_weight_is_asked_for_its_gradient():
    """A gradient probe that looks at arguments only."""
    call = next(c for c in questions(EXERCISE) if c.gradients)
    assert {k for k in ask(FeedForward, call).gradients if isinstance(k, str)} == {
        "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"}


def keeps(compute):
    """A function that computes once for every shape, and hands out the same tensor ever after."""
    kept = {}
    return lambda x: x * kept.setdefault(x.shape, compute(x))


def test_what_is_kept_from_a_call_without_gradients_is_found():
    """A table that is filled while a model is evaluated, and then cuts the gradient in training."""
    x = torch.tensor([1.0, 2.0])
    call = Call((x,), gradients=True, earlier=((x,),))
    assert torch.equal(ask(lambda x: x * (2 * x), call).gradients[0], ask(lambda x: 2 * x**2, call).gradients[0])
    assert not torch.equal(ask(keeps(lambda x: 2 * x), call).gradients[0], ask(lambda x: 2 * x**2, call).gradients[0])


def test_what_is_kept_from_a_call_on_the_cpu_is_found_on_a_gpu():
    """A mask that is made once, on the CPU, and meets arguments on a GPU later."""
    x = torch.tensor([1.0, 2.0])
    call = Call((x,), on_gpu=True, earlier=((x,),))
    assert ask(lambda x: x * torch.ones_like(x), call).error is None
    assert ask(keeps(torch.ones_like), call).error[0] == "LostDevice"


def test_a_result_that_is_kept_and_handed_out_again_is_found():
    """A cached mask that one caller writes into and the next one reads."""
    kept = torch.ones(2, 2, dtype=torch.bool).tril()
    call = Call((2,), twice=True)
    assert not torch.equal(ask(lambda T: kept, call).outputs[0], kept)
    assert torch.equal(kept, torch.ones(2, 2, dtype=torch.bool).tril()), "the check itself leaves no trace"
    assert torch.equal(ask(lambda T: kept.clone(), call).outputs[0], kept)


@pytest.mark.parametrize(("answer", "lost"), [
    (lambda x: x + torch.zeros(2), True),
    (lambda x: x + torch.zeros(2, device="cpu"), True),
    (lambda x: x + torch.zeros(2, device=x.device.type), False),
    (lambda x: x + torch.zeros(2, device=torch.device("cpu")), True),
    (lambda x: x.to(torch.device("cpu")), True),
    (lambda x: x + torch.rand(2, generator=torch.Generator(device=x.device), device=x.device), False),
    (lambda x: x + x.to("cpu").clone(), True),
    (lambda x: x + torch.zeros(2, device=x.device), False),
    (lambda x: x + torch.zeros_like(x), False),
    (lambda x: x + torch.zeros(2).to(x), False),
    (lambda x: x + torch.zeros(2).to(x.device), False),
    (lambda x: x + torch.zeros(2, dtype=torch.float64).to(x.dtype), True),
    (lambda x: x + x.new_tensor([1.0, 2.0]), False),
    (lambda x: x * torch.tensor(2.0), False),
    (lambda x: x[torch.tensor([1, 0])], False),
    (lambda x: torch.arange(x.max().int()) + x, True),
    (lambda x: torch.from_numpy(x.numpy()), True),
    (lambda x: torch.tensor(x.tolist()), True),
    (lambda x: torch.tensor(x.tolist(), device=x.device), False),
    (lambda x: torch.where(torch.tensor([True, False]), x, 0.0), True),
    (lambda x: torch.cat([torch.ones(1), x]), True),
    (lambda x: torch.ones(2, 2) @ x, True),
])
def test_code_that_would_fail_on_a_gpu_is_told_from_code_that_would_not(answer, lost):
    """A learner who is right on the CPU and meets the error on the first GPU; or the other way round."""
    reply = ask(answer, Call((torch.tensor([2.0, 2.0]),), on_gpu=True))
    assert (reply.error is not None and reply.error[0] == "LostDevice") == lost, reply.error


def test_a_list_of_integers_with_a_float_is_a_reply():
    """A search that returns tokens and a score could not be compared; a tensor in their place would be taken."""
    reply = ask(lambda: ([1, 4, 2], -0.5), Call(()))
    assert [o.tolist() for o in reply.outputs] == [[1, 4, 2], -0.5] and "a list of integers and a float" in reply.form
    assert ask(lambda: ([], 0.0), Call(())).outputs[0].dtype == torch.int64
    for wrong, words in ((([1], torch.zeros(())), "list and Tensor"), (([torch.tensor(1)], 0.5), "list and float")):
        assert ask(lambda wrong=wrong: wrong, Call(())).form == f"a tuple that holds {words}"


def test_a_none_beside_a_tensor_is_a_reply():
    """A model without targets has no loss: the logits beside the None would go unseen."""
    reply = ask(lambda: (torch.ones(2), None), Call(()))
    assert reply.form == "a tuple of a tensor and None" and torch.equal(reply.outputs[0], torch.ones(2))
    assert ask(lambda: (None, None), Call(())).outputs == ()


@pytest.mark.parametrize("name", ["is_version_2", "hides_the_future", "is_token_mean", "is_equivariant"])
def test_a_card_names_no_letter_that_the_learner_does_not_have(name):
    """A card that speaks of implementation I where the learner has five, A to E."""
    own = {str(suspect) for suspect in suspects(name)}
    assert own == {f"implementation {letter}" for letter in "ABCDE"}
    asked = {str(call.args[0]) for call in questions(EXERCISES[name])}
    assert asked == own | {"an implementation without a letter"}


def draw(p):
    return torch.bernoulli(p).long()


def always_one(p):
    """It does not draw at all."""
    return torch.ones_like(p).long()


def the_same_for_all(p):
    """One draw is shared."""
    return torch.bernoulli(p[0]).expand(p.shape).long()


def share(draw, generator):
    return abs(draw(torch.full((2000,), 0.3)).float().mean() - 0.3) < 0.06


def rows_differ(draw, generator):
    return draw(torch.full((50,), 0.5)).unique().numel() == 2


def seeds_matter(draw, generator):
    p = torch.full((50,), 0.5)
    return len({tuple(draw(p, seed=seed).tolist()) for seed in range(20)}) > 1


DRAWS = Exercise(
    lesson="12", asked="", verified=draw, oracle=lambda p: p.long(),
    examples=((torch.tensor([1.0, 1.0]),),), sizes=((3,), (1,)), make=lambda generator, n: (torch.ones(n, 1),),
    by_hand=(always_one, the_same_for_all), properties=(),
    statistics=(("Not three in ten are drawn.", share), ("All rows are the same.", rows_differ),
                ("Another seed does not change it.", seeds_matter)))


def test_what_is_drawn_is_judged_by_its_frequencies():
    """A check of random answers that compares drawn numbers, or one that looks at shapes only."""
    assert judge(DRAWS, draw).status == "right"
    assert judge(DRAWS, lambda p: (torch.rand_like(p) < p).long()).status == "right"
    assert judge(DRAWS, lambda p: torch.ones_like(p).long()).mistake == "always-one"
    assert judge(DRAWS, lambda p: (torch.rand(1, device=p.device) < p).long()).mistake == "the-same-for-all"
    too_many = judge(DRAWS, lambda p: (torch.rand_like(p) < p + 0.2).long())
    assert too_many.status == "wrong" and too_many.mistake is None and too_many.failure.says == DRAWS.statistics[0][0]


def _worker(pipe):
    def attend(query, inputs):
        return torch.softmax(inputs @ query, 0) @ inputs

    torch.set_num_threads(1)
    while (call := pipe.recv()) is not None:
        pipe.send(ask(attend, call))


def test_an_answer_in_another_process_gets_the_same_verdict():
    """A check that reads the answer's source or globals could not be used by a grader."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_worker, args=(there,))
    process.start()

    def ask_over_the_pipe(_, call):
        here.send(call)
        return here.recv()

    try:
        right = judge(EXERCISES["dot_product_attention"], None, ask=ask_over_the_pipe)
        wrong = judge(EXERCISES["scaled_dot_product_attention_single"], None, ask=ask_over_the_pipe)
    finally:
        here.send(None)
        process.join(10)
    assert right.status == "right"
    assert wrong.mistake == "no-scale"


@pytest.mark.parametrize("number", [0.0, 0.5, 1.0, float("inf"), -float("inf")])
def test_nan_is_like_no_number(number):
    """Weights of one half passed for NaN, and clamped scores for scores that overflow."""
    nan, other = (Reply((torch.tensor([value, 2.0]),), "tensor") for value in (float("nan"), number))
    assert alike(nan, nan) and alike(other, other) and not alike(nan, other) and not alike(other, nan)


def test_what_is_allowed_is_work_and_not_waiting():
    """A mistake that is not named, since another notebook has the processor; or a search without an end."""
    allowed = Allowance(0.2)
    time.sleep(0.3)
    assert not allowed.is_over()
    time.sleep(0.4)
    assert allowed.is_over()
    allowed, began = Allowance(0.2), time.thread_time()
    while not allowed.is_over():
        pass
    assert time.thread_time() - began < 0.3
