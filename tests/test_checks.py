"""Every check rejects its classic mistakes by name, accepts right answers in any style, and never raises."""

import contextlib
import random
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from course_lib import check
from course_lib.checks import EXERCISES
from course_lib.checks.engine import asking, judging
from course_lib.checks.engine.asking import ask
from course_lib.checks.engine.comparing import compare, differences, most_telling
from course_lib.checks.engine.diagnosing import property_holds
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.judging import _broken_statistics, judge
from course_lib.checks.engine.questioning import questions
from tests.right_answers import RIGHT_ANSWERS
from tests.right_answers.lesson_06 import Packed
from tests.table_of_checks import as_known, row

MISTAKES = [(name, way) for name, exercise in EXERCISES.items() for one in exercise.mistakes for way in one.ways]
name_of = lambda value: value if isinstance(value, str) else value.name  # noqa: E731


@pytest.mark.parametrize("name", EXERCISES)
def test_the_course_s_own_implementation_is_right(name):
    """A stand-in that its own check rejects would teach the error."""
    verdict = judge(EXERCISES[name], EXERCISES[name].verified)
    assert verdict.status == "right", verdict.failure


@pytest.mark.parametrize("name", ["weighted_sum", "reweight", "softmax", "cross_attention", "layer_norm"])
def test_an_answer_that_does_nothing_is_told_so(name):
    """Two classic mistakes at once can come to the same; a learner who has only begun has made neither."""
    verdict = judge(EXERCISES[name], lambda x, *_: x)
    assert verdict.seen and verdict.seen[0].startswith("It gives back `") and not (verdict.mistake or verdict.together)


FUNCTIONS = [name for name, exercise in EXERCISES.items() if exercise.build is None
             and any(isinstance(a, torch.Tensor) and a.is_floating_point() for a in questions(exercise)[0].args)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_that_is_changed_is_told_that_alone_where_the_values_are_right(name):
    """In place, and told that another base was raised to the scores, since a rounded e is nearly right."""
    def in_place(*args):
        out = EXERCISES[name].verified(*args)
        for argument in args:
            if isinstance(argument, torch.Tensor) and argument.is_floating_point() and not argument.requires_grad:
                argument += 1
                break
        return out

    verdict = judge(EXERCISES[name], in_place)
    assert verdict.status == "wrong" and verdict.failure.cause == "changes-arguments"
    assert {m.name for m in verdict.named} <= {"in-place", "changes-the-logits"}


def test_an_in_place_softmax_is_not_told_another_base():
    """As above, where gradients fail as well."""
    def softmax(scores):
        scores -= scores.amax(-1, keepdim=True)
        return scores.exp() / scores.exp().sum(-1, keepdim=True)

    verdict = judge(EXERCISES["softmax"], softmax)
    assert verdict.mistake == "changes-arguments" and not verdict.named


@pytest.mark.parametrize("name", ["is_version_2", "hides_the_future", "is_token_mean", "is_equivariant"])
def test_a_test_of_code_that_only_counts_is_found_in_grading(name):
    """Everybody is asked in one order: a learner counts, and has the answers from the cards."""
    exercise = EXERCISES[name]
    rights = [truth(exercise, call).outputs[0].item() for call in questions(exercise)]
    for seed in range(1, 6):
        counted = iter(rights + [False] * 50)
        assert judge(exercise, lambda _: next(counted), seed).status == "wrong"  # noqa: B023  called at once


def test_a_stand_in_that_is_checked_is_not_called_the_learner_s_own():
    """A lesson rebinds the name: the check cell alone, run again after a wrong answer, would say that it is right."""
    reweight = check(lambda x: x, "reweight").verified
    result = check(reweight)
    assert result.passed and "this is the course's own, which stands in for yours" in result.message
    assert "Later cells" not in result.message


@pytest.mark.parametrize(("name", "style"), [(n, style) for n, styles in RIGHT_ANSWERS.items() for style in styles])
def test_a_right_answer_is_accepted_in_any_style(name, style):
    """A learner who is right and told otherwise stops trusting the card."""
    result = check(RIGHT_ANSWERS[name][style], name)
    assert result.passed, result.message


def test_every_exercise_is_tried_in_at_least_five_styles():
    """An exercise without other people's right answers may accept its author's style only."""
    for name in EXERCISES:
        assert len(RIGHT_ANSWERS.get(name, {})) >= 5, name


@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=name_of)
def test_a_classic_mistake_is_rejected_by_its_name(name, mistake, monkeypatch):
    """A mistake that passes, or is taken for another one, gets the wrong explanation."""
    monkeypatch.setattr(judging, "locate", lambda *_: ())  # where it goes wrong is looked for elsewhere
    result = check(mistake.answer, name)
    assert not result.passed
    assert result.mistake == mistake.name
    assert all(part in result.message for part in mistake._says.split("{c}")), "its number may not be known so well"
    assert "\n  Or" not in result.message


@pytest.mark.parametrize("name", EXERCISES)
def test_no_seed_changes_a_verdict(name):
    """The grader draws its own seed; a verdict that depends on it is a lottery."""
    found = row(name, seeds=(1, 2), asks=as_known)
    assert found.perfect, found


def _an_argument_answers(call, reply):
    tensors = [a for a in call.args if isinstance(a, torch.Tensor) and a.is_floating_point()]
    return any(a.shape == out.shape and (a - out).abs().max() < 0.02 * a.abs().max()
               for a in tensors for out in reply.outputs)


@pytest.mark.parametrize("name", EXERCISES)
def test_grading_asks_for_sizes_that_no_table_holds(name):
    """An answer for small arguments alone passes; or the large ones fit no right answer."""
    exercise = EXERCISES[name]
    for seed in range(1, 5):
        large = [c for c in questions(exercise, seed) if c.special == "sizes up to seventy"]
        assert all(truth(exercise, call).error is None for call in large)
        assert not any(_an_argument_answers(call, truth(exercise, call)) for call in large), "x"
        assert large or any(map(callable, exercise.make(torch.Generator(), *exercise.sizes[0])))
    assert not [c for c in questions(exercise) if c.special == "sizes up to seventy"], "a learner sees small examples"


@pytest.mark.parametrize("name", EXERCISES)
def test_properties_hold_for_right_answers(name):
    """A property that a right answer breaks would accuse a wrong one of the wrong thing."""
    for _, holds, *_ in EXERCISES[name].properties:
        for seed in range(20):
            assert property_holds(holds, EXERCISES[name], EXERCISES[name].verified, seed, ask)


@pytest.mark.parametrize("name", EXERCISES)
def test_every_property_is_broken_by_a_mistake(name):
    """A sentence that no answer can ever get: of the properties that large values stay finite, none could fail."""
    exercise = EXERCISES[name]
    for says, holds, *_ in exercise.properties:
        assert any(all(not property_holds(holds, exercise, mistake.answer, seed, ask) for seed in range(3))
                   for mistake in exercise.mistakes), says
    drawn = [m for m in exercise.mistakes * bool(exercise.statistics)
             if judge(exercise, m.answer).failure.kind == "statistics"]
    broken = {says for mistake in drawn for says in set.intersection(
        *(set(_broken_statistics(exercise, mistake.answer, seed, ask)) for seed in range(3)))}
    assert [says for says, _ in exercise.statistics if says not in broken] == []


def attend(q, x):
    return torch.softmax(x @ q, 0) @ x


def attend_in_batch(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


def not_yet(q, x):
    raise NotImplementedError


def writes_into_its_argument(q, x):
    x -= 0 * x + 1
    return attend(q, x + 1)


def float32_inside(q, x):
    return attend(q.float(), x.float()).to(x.dtype)


COUNT = [0]


def keeps_state(q, x):
    COUNT[0] += 1
    last = sum(1 + len(call.earlier) for call in questions(EXERCISES["dot_product_attention"]))
    return attend(q, x) * (1 if COUNT[0] < last else 2)


def reads_memory_as_it_lies(q, x):
    return attend(q, x.as_strided(x.shape, (x.shape[1], 1)))


@pytest.mark.parametrize(("answer", "mistake", "words"), [
    (writes_into_its_argument, "changes-arguments", "changed its argument `inputs`"),
    (lambda q, x: attend(q.detach(), x), "cuts-gradient", "No gradient reaches `query`"),
    (lambda q, x: attend(q, x.detach()), "cuts-gradient", "No gradient reaches `inputs`"),
    (lambda q, x: torch.softmax((x @ q).detach(), 0) @ x, "cuts-gradient", "gradient"),
    (lambda q, x: torch.softmax(x.detach() @ q, 0) @ x, "cuts-gradient", "gradient for `inputs` is not"),
    (lambda q, x: torch.tensor(attend(q, x).tolist(), dtype=q.dtype, device=q.device), "cuts-gradient", "No gradient"),
    (lambda q, x: attend(q, x) + torch.zeros(len(q)), "cpu-only", "On a GPU this would fail"),
    (lambda q, x: attend(q, x).float(), "wrong-dtype", "float32 instead of float64"),
    (float32_inside, None, "float64"),
    (lambda q, x: attend(q, x).half(), "wrong-dtype", "float16 instead of float32"),
    (lambda q, x: attend(q, x).detach().numpy(), "leaves-torch", "a numpy array instead of one tensor"),
    (lambda q, x: None, "returns-nothing", "Is the `return` missing?"),
    (lambda q, x: attend(q, x).tolist(), "leaves-torch", "a list instead of one tensor"),
    (lambda q, x: (attend(q, x), x @ q), None, "a tuple of 2 tensors instead of one tensor"),
    (lambda q, x: 1 / 0, None, "It raised ZeroDivisionError: division by zero"),
    (lambda q: q, None, "It raised TypeError"),
    (lambda q, x: exit(), None, "It raised SystemExit (in line "),
    (keeps_state, None, "the first call once more"),
    (reads_memory_as_it_lies, None, "arguments not contiguous in memory"),
    (lambda q, x: attend(q[:3], x[:, :3]), None, "Its shape is (3,) instead of (4,)"),
    (lambda q, x: torch.softmax((x @ q)[:, None] * 3, 1)[:, 0] @ x * 2, None, "does not stay 1"),
    (lambda q, x: attend(q, x) * 3, None, "does not stay 1"),
    (lambda q, x: torch.tensor([1.0, 2.0, 3.0, 4.0]), None, "does it use a variable of the notebook?"),
    (lambda q, x: torch.softmax(x @ q.flip(0) / 7, 0) @ x, None, "What failed"),
])
def test_what_no_value_shows_is_found_and_said(answer, mistake, words):
    """Right numbers are not enough: gradients, dtypes, devices, arguments and state are part of the contract."""
    COUNT[0] = 0
    result = check(answer, "dot_product_attention")
    assert not result.passed
    assert result.mistake == mistake, result.message
    assert words in result.message


def all_scores_at_once(query, key, value, block):
    return torch.softmax(query @ key.T / query.shape[-1] ** 0.5, dim=-1) @ value


def all_blocks_in_a_list(query, key, value, block):
    scores = [query @ k.T / query.shape[-1] ** 0.5 for k in key.split(block)]
    return torch.softmax(torch.cat(scores, dim=1), dim=-1) @ value


@pytest.mark.parametrize("answer", [all_scores_at_once, all_blocks_in_a_list])
def test_right_numbers_that_hold_all_scores_are_told_so(answer):
    """Attention that was to be read block by block, and is right because it is the textbook's."""
    result = check(answer, "online_softmax_attention")
    assert result.mistake == "holds-too-much"
    assert "numbers at once, and fewer than 5,400 are enough" in result.message


def test_a_cache_that_was_handed_in_is_not_written_to():
    """A tuple of tensors that nobody compared before and after."""
    def overwrites(q, k, v, cache=None):
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            cache[0].zero_()
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v, (k, v)

    result = check(overwrites, "attend_with_cache")
    assert result.mistake == "changes-arguments" and "changed its argument `cache`" in result.message


def test_of_an_error_the_card_says_in_which_line_it_was_raised():
    """A learner who reads only the message looks for the line in twenty of them."""

    def reweight(x):
        scores = x @ x.T
        weights = torch.softmax(scores, -1)
        return weights @ x.T

    message = check(reweight).message
    assert "It raised RuntimeError: " in message and ", `return weights @ x.T`)" in message


def test_an_error_without_words_is_told_all_the_same():
    """`check` raised what the message of the learner's own exception raises."""

    class Wordless(Exception):
        def __str__(self):
            return 1 / 0

    def reweight(x):
        raise Wordless

    assert "It raised Wordless: its message cannot be made, that raises ZeroDivisionError" in check(reweight).message


def test_an_answer_that_never_ends_is_stopped_and_told_so(monkeypatch):
    """A notebook that hangs until somebody finds the stop button; even where every Exception is caught."""
    monkeypatch.setattr(asking, "SECONDS", 0.3)
    calls = []

    def reweight(x):
        calls.append(x)
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    result = check(reweight)
    assert result.mistake == "endless" and "did not end within 0.3 seconds" in result.message
    assert len(calls) == 2  # once more, since it slept
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_answer_that_waited_for_the_disk_is_asked_once_more(monkeypatch):
    """“Is there a loop that never ends?”, of a right answer that used a library for the first time this day."""
    monkeypatch.setattr(asking, "SECONDS", 0.3)
    waits = [1]

    def reweight(x):
        time.sleep(waits.pop() if waits else 0)
        return torch.softmax(x @ x.T, -1) @ x

    assert check(reweight).passed


def test_an_answer_that_is_wrong_first_and_endless_later_gets_its_card(monkeypatch):
    """The engine compared as many replies as it had wanted to hear, and `check` raised ValueError."""
    monkeypatch.setattr(asking, "SECONDS", 0.3)

    def reweight(x):
        while len(x) == 3:
            time.sleep(0.01)
        return 3 * x

    result = check(reweight)
    assert not result.passed and "expected" in result.message


def test_a_tensor_that_says_it_equals_everything_does_not(recwarn):
    """A subclass of Tensor whose comparisons are all true was right."""

    class Agreeable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return torch.tensor(True)

    result = check(lambda x: torch.zeros(len(x), x.shape[1]).as_subclass(Agreeable), "reweight")
    assert not result.passed and "expected" in result.message


def test_a_result_that_is_too_large_to_copy_is_not_copied():
    """A tensor of 10**12 numbers that was expanded from one takes no memory until somebody copies it."""
    result = check(lambda x: torch.zeros(1).expand(10**6, 10**6), "reweight")
    assert not result.passed and "its result has 1,000,000,000,000 numbers" in result.message


def test_of_what_an_answer_prints_the_beginning_is_kept():
    """Printing in an endless loop filled the memory."""

    def chatty(x):
        for _ in range(300):
            print("word " * 100_000)
        return x

    assert len(asking.ask(chatty, asking.Call((torch.ones(1),))).printed) == asking.LETTERS


def test_a_right_gradient_of_a_large_result_is_right():
    """In float32 the mix of many outputs is off by more than the tolerance, and a right answer cut gradients."""
    x = torch.randn(300, 400, generator=torch.Generator().manual_seed(0))
    call = asking.Call((x,), gradients=True)
    single, double = ask(torch.sin, call), ask(torch.sin, call.in_float64())
    assert compare(double, single, call) is None


class Unscaled(Packed):
    def mixed(self, q, k, v, mask):
        return super().mixed(q * q.shape[-1] ** 0.5, k, v, mask)


class ScaledByTheModel(Packed):
    def mixed(self, q, k, v, mask):
        return super().mixed(q / self.heads**0.5, k, v, mask)


class MaskUpsideDown(Packed):
    def mixed(self, q, k, v, mask):
        return super().mixed(q, k, v, None if mask is None else ~mask)


class OverTheQueries(Packed):
    def mixed(self, q, k, v, mask):
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -2) @ v


class HeadsNotTransposed(Packed):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        mixed = self.mixed(q, k, v, None if mask is None or mask.dim() == 2 else mask)
        return self.out(mixed.reshape(query.shape))


class WithoutTheLastLayer(Packed):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        mask = mask if mask is None or mask.dim() == 2 else mask[:, None]
        return self.mixed(q, k, v, mask).transpose(1, 2).flatten(2)


class NothingLearned(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.heads = num_heads

    def forward(self, query, key, value, mask=None):
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (query, key, value))
        mask = mask if mask is None or mask.dim() == 2 else mask[:, None]
        return Packed.mixed(self, q, k, v, mask).transpose(1, 2).flatten(2)


class CutsTheKeys(Packed):
    def mixed(self, q, k, v, mask):
        return super().mixed(q, k.detach(), v, mask)


class OneLayerForKeysAndValues(Packed):
    def project(self, query, key, value):
        q, k, _ = super().project(query, key, value)
        _, as_key, _ = super().project(query, value, value)
        return q, k, as_key


@pytest.mark.parametrize("wrong", [Unscaled, ScaledByTheModel, MaskUpsideDown, OverTheQueries, HeadsNotTransposed,
                                   WithoutTheLastLayer, NothingLearned, CutsTheKeys, OneLayerForKeysAndValues])
def test_weights_of_other_names_do_not_make_a_wrong_attention_right(wrong):
    """What cannot be compared number by number would pass by its shape."""
    assert check(Packed, "MultiHeadAttention").passed
    result = check(wrong, "MultiHeadAttention")
    assert result.mistake == "missing-weight" and "no registered parameter named W_q.weight" in result.message


def test_of_two_results_the_card_says_which_one_is_wrong():
    """A wrong pattern beside a right context, and the learner looks at the wrong line."""
    energies = next(m for m in EXERCISES["bahdanau_context"].mistakes if "holds the energies before" in m.says).answer
    assert "In result 2 of 2, the largest difference is at" in check(energies, "bahdanau_context").message


@pytest.mark.parametrize(("got", "index"), [
    ([1.0, 2.1, 3.5, 4.0], (2,)), ([1.1, 2.1, 3.1, 4.1], (0,)), ([1.0, 9.0, float("nan"), 4.0], (2,)),
    ([1.0, 2.1, 0.0, float("inf")], (3,))])
def test_of_several_wrong_numbers_the_worst_one_is_shown(got, index):
    """The first of them, which is off by little, where another is NaN or far off."""
    expected, got = torch.arange(1.0, 5.0), torch.tensor(got)
    assert most_telling(expected, got, differences(expected, got)) == index


def test_of_whole_numbers_the_first_wrong_one_is_shown():
    """How far a token's number is off says nothing."""
    expected, got = torch.arange(4), torch.tensor([0, 2, 9, 3])
    assert most_telling(expected, got, differences(expected, got)) == (1,)


def unlike_any(model, idx, max_new_tokens, block_size):
    if len(idx) > 1:
        raise ValueError("one text at a time")
    return idx


@pytest.mark.parametrize(("name", "answer"), [
    ("generate", lambda *args: args[0] * 5), ("generate", unlike_any), ("get_batch", lambda *args: args[0] * 5)])
def test_of_what_was_never_drawn_no_frequency_is_told(name, answer):
    """"It wrote nothing but the most probable token, 100 times", of an answer that raises an error."""
    verdict = judge(EXERCISES[name], answer)
    assert verdict.status == "wrong" and not verdict.named
    assert not {says for says, _ in EXERCISES[name].statistics} & set(verdict.seen)


def test_an_unanswered_exercise_is_not_called_wrong():
    """A stub is no mistake."""
    result = check(not_yet, "dot_product_attention")
    assert (result.passed, result.mistake, result.status) == (False, None, "unanswered")
    assert "not answered yet" in result.message


@pytest.mark.parametrize(("answer", "name", "words"), [
    (attend, None, "There is no exercise named 'attend'"),
    (attend, "dot_product_atention", "Did you mean 'dot_product_attention'?"),
    (lambda q, x: q, None, "say which exercise it is for"),
    (3, "reweight", "this is a value (int)"),
    (None, "reweight", "this is a value (NoneType)"),
    (torch.nn.Linear, "reweight", "this is a class"),
    (attend, 7, "There is no exercise named 7"),
])
def test_what_cannot_be_checked_is_said_in_one_sentence(answer, name, words):
    """A traceback out of `check` would look like the learner's fault."""
    result = check(answer, name)
    assert not result.passed and words in result.message and "\n" not in result.message


def test_verified_is_the_learner_s_own_code_only_when_it_is_right():
    """A stand-in taken for the learner's answer would hide that it is missing."""
    right = RIGHT_ANSWERS["reweight"]["einsum"]
    assert check(right, "reweight").verified is right
    assert check(lambda x: x, "reweight").verified is EXERCISES["reweight"].verified


def test_a_check_disturbs_nothing_in_the_notebook(capsys):
    """A check that moves a random state changes every number after it."""

    def vandal(x):
        torch.manual_seed(1)
        np.random.seed(1)
        random.seed(1)
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        print("noise")
        return x

    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    result = check(vandal, "reweight")
    after = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    assert torch.equal(before[0], after[0]) and before[1:] == after[1:]
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()
    assert torch.get_default_device() == torch.device("cpu")
    assert not result.passed
    assert capsys.readouterr().out.count("noise") == 1, "what it printed is quoted on the card, once"


@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode], ids=lambda a: a.__name__)
def test_a_right_answer_stays_right_in_any_gradient_mode(around):
    """A learner may call check inside a no_grad block."""
    with around():
        assert check(attend, "dot_product_attention").passed


def test_a_card_is_html_that_cannot_be_broken_out_of():
    """An answer may print or raise anything, markup included."""

    def hostile(x):
        raise ValueError("<script>alert(1)</script>")

    result = check(hostile, "reweight")
    from course_lib.checks.notebook.card import as_html

    assert "<script>" not in as_html(result.rows, result.status)
    assert "&lt;script&gt;" in as_html(result.rows, result.status)


@pytest.mark.parametrize(("name", "answer", "words"), [
    ("weighted_sum", lambda w, x: 3 * (w @ x), "Every number is 3 times what it should be."),
    ("weighted_sum", lambda w, x: (w @ x).flip(0), "All the numbers are right, but they stand in other places."),
    ("weighted_sum", lambda w, x: torch.cos(w @ x), "Not one of 7 results is right, whatever the sizes."),
    ("weighted_sum", lambda w, x: w @ x + max(len(w) - 3, 0),
     "Right where `weights.shape[0]` is 3 or less; wrong where it is 4 or more."),
    ("weighted_sum", lambda w, x: w.abs() @ x, "Right where no number of `weights` is negative, and nowhere else."),
    ("weighted_sum", lambda w, x: w @ x + (len(w) == 5), "Right for weights (2,), x (2, 3);"),
    ("self_attention", lambda x, *matrices: EXERCISES["self_attention"].verified(x, *matrices) + (len(x) > 1),
     "Right where `x.shape[0]` is 1; wrong where it is 2 or more."),
    ("reweight", lambda x: EXERCISES["reweight"].verified(x) + (x.shape[0] == x.shape[1]),
     "Right where `x.shape[0]` and `x.shape[1]` differ, and nowhere else."),
    ("scaled_dot_product_attention", lambda q, k, v, mask=None: attend_in_batch(q, k, v) + 1.0 * (mask is not None),
     "Without `mask` it is right; with it, it is not."),
])
def test_where_no_mistake_and_no_property_fits_the_numbers_themselves_are_described(name, answer, words, monkeypatch):
    """A card that says no more than that it is wrong."""
    monkeypatch.setitem(EXERCISES, name, replace(EXERCISES[name], properties=()))
    assert words in check(answer, name).message


@pytest.mark.parametrize(("wrong_with_a_mask", "seen"), [(False, ["one", "two"]), (True, ["of a mask", "one"])])
def test_of_several_broken_properties_two_are_told_and_those_about_an_argument_only_where_it_is_given(
        wrong_with_a_mask, seen, monkeypatch):
    """Four accusations for one error, two of them about masks where there is none."""
    name, never = "scaled_dot_product_attention", lambda output, generator: False
    exercise = replace(EXERCISES[name], properties=(("of a mask", never, "mask"), ("one", never), ("two", never),
                                                    ("three", never)))
    monkeypatch.setitem(EXERCISES, name, exercise)

    def answer(query, key, value, mask=None):
        right = exercise.verified(query, key, value, mask)
        return right + 0.1 * query.sum() if (mask is not None) is wrong_with_a_mask else right

    assert list(judge(exercise, answer).seen) == seen
