"""Where it goes wrong in a learner's code: the line is told, and never another one."""

import difflib
import functools
import importlib
import inspect
import linecache
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check
from course_lib.checks import EXERCISES
from course_lib.checks.engine import judging, locating
from course_lib.checks.engine.asking import ask, undisturbed
from course_lib.checks.engine.comparing import compare
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.mistakes import ByHand, run_beside
from course_lib.checks.engine.pairs import pairs
from course_lib.checks.engine.questioning import questions
from course_lib.checks.notebook.card import as_html, card_rows
from course_lib.checks.notebook.where import where_rows
from tests.marked_answers import DOUBLE, FALSE, KNOWN, ODD, every_column_of_a_row

EVERY = 8  # of the mistakes of one exercise, so that all are asked in half a minute
ELSEWHERE = {  # the edit stands in no line that is told: a value of the right way is used for something else
    "no-positions", "mask-with-one-axis-too-many", "masks-in-the-first-layer-only", "no-skip-connection",
    "one-frequency", "cosine-and-sine-exchanged", "first-block-alone", "nothing", "mask-without-a-head-axis",
    "attention-is-lost"}
LOCATED = ["soft_max_pool", "scaled_dot_product_attention", "layer_norm", "MultiHeadAttention", "EncoderLayer",
           "sinusoidal_positions", "rms_norm", "masked_cross_entropy", "message_passing", "patchify"]


def located(name, answer):
    """The Locateds of an answer, with whatever error the search raises: a card would do without it."""
    exercise = EXERCISES[name]
    with undisturbed():
        failures = [f for call in questions(exercise) if (f := compare(truth(exercise, call), ask(answer, call), call))]
        return locating.locate(exercise, answer, failures)


def written(mistake, name):
    """The answer of a mistake, with the source that is looked into its own."""
    return run_beside(EXERCISES[name].verified, mistake.source, f"<{mistake.name}, looked into>")


def lines_of(located):
    return {line for one in located for line in one.lines}


def edited(right, wrong):
    """The numbers of the lines of a wrong answer that are not those of the right one, and of what stands where some
    are missing."""
    found = set()
    for kind, _, _, start, end in difflib.SequenceMatcher(
            None, right.splitlines(), wrong.splitlines(), autojunk=False).get_opcodes():
        if kind != "equal":
            found |= set(range(start + 1, end + 1)) or {start, start + 1}
    return found


@pytest.mark.parametrize("name", EXERCISES)
def test_the_line_of_a_mistake_is_among_those_that_are_told(name):
    """A line that is right, and told to be wrong: nobody believes the second card."""
    mistakes = [m for m in EXERCISES[name].mistakes if not isinstance(m, ByHand)]
    told = {m.name: (lines, edited(m.right, m.source)) for m in mistakes[::EVERY]
            if (lines := lines_of(located(name, written(m, name))))}
    assert [m for m, (lines, edit) in told.items() if not lines & edit and m not in ELSEWHERE] == []


@pytest.mark.parametrize("name", LOCATED)
def test_most_mistakes_are_found_in_one_line(name):
    """A search that is never wrong since it never says anything."""
    mistakes = [m for m in EXERCISES[name].mistakes if not isinstance(m, ByHand)][1::3]
    lines = [lines_of(located(name, written(m, name))) for m in mistakes]
    assert sum(map(bool, lines)) > 0.6 * len(lines)
    assert sum(len(of_one) == 1 for of_one in lines) > 0.4 * len(lines)


def marked(answer):
    """The lines of an answer that are marked as wrong."""
    lines, start = inspect.getsourcelines(answer)
    return {start + i for i, line in enumerate(lines) if line.rstrip().endswith("#!")}


@pytest.mark.parametrize("answer", ODD, ids=lambda a: a.__name__)
def test_of_a_mistake_that_nobody_wrote_down_the_line_is_told(answer):
    """A search that finds what is in the catalogue, and nothing that is not."""
    verdict = judge(EXERCISES[ODD[answer]], answer, look_inside=True)
    assert verdict.status == "wrong"
    assert marked(answer) <= lines_of(verdict.located) and len(lines_of(verdict.located)) <= 4


@pytest.mark.parametrize("answer", DOUBLE, ids=lambda a: a.__name__)
def test_of_two_mistakes_that_nobody_wrote_down_one_is_told_at_least(answer):
    """A card without a name and without a place, for the learner who needs one most."""
    verdict = judge(EXERCISES[DOUBLE[answer]], answer, look_inside=True)
    assert verdict.status == "wrong"
    assert marked(answer) & lines_of(verdict.located)


@pytest.mark.parametrize("answer", KNOWN, ids=lambda a: a.__name__)
def test_a_known_mistake_has_its_name_or_its_line(answer):
    """The name of another mistake, or a line with which nothing is wrong, where there is no name."""
    name, mistakes = KNOWN[answer]
    verdict = judge(EXERCISES[name], answer, look_inside=True)
    assert verdict.status == "wrong"
    assert {m.name for m in (*verdict.mistakes, *verdict.together)} == mistakes
    assert mistakes or marked(answer) <= lines_of(verdict.located)


@pytest.mark.parametrize("answer", FALSE, ids=lambda a: a.__name__)
def test_a_line_with_which_nothing_is_wrong_is_not_told_alone(answer):
    """The line that makes an empty table, where a loop fills it too early or nothing does; the one before a padding."""
    found = located(FALSE[answer], answer)
    assert not found or marked(answer) <= lines_of(found)


def test_what_a_loop_has_made_is_not_called_right():
    """"`allowed` is right so far", of a table that is True all over, since such a one is on the right way as well."""
    rows = dict(card_rows(judge(EXERCISES["causal_mask"], every_column_of_a_row, look_inside=True)))
    assert "allowed[row, :] = True" in rows["Where"] and "right so far" not in rows["Where"]


def test_of_what_is_kept_from_another_call_no_line_is_told():
    """The line behind it, since the first call of a second run keeps what is right."""
    def mixes_with_a_default(q, k, v, mask=None, kept={}):  # noqa: B006  that is the mistake
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = kept.setdefault(q.shape, scores.masked_fill(~mask, -1e30))
        return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)) @ v

    verdict = judge(EXERCISES["scaled_dot_product_attention"], mixes_with_a_default, look_inside=True)
    assert not lines_of(verdict.located) and "keep from one call" in dict(card_rows(verdict))["Where"]


def test_of_two_mistakes_both_lines_are_told():
    """The first of two places alone, with the promise that the rest is right."""
    one, other = (next(m for m in EXERCISES["layer_norm"].mistakes if m.name == name)
                  for name in ("variance-over-positions", "beta-before-gamma"))
    both, = pairs(EXERCISES["layer_norm"].verified, one, other)
    found = located("layer_norm", both.answer)
    assert [len(one.lines) for one in found] == [1, 1]
    assert lines_of(found) == edited(one.right, both.source)
    rows = dict(card_rows(judge(EXERCISES["layer_norm"], both.answer, look_inside=True)))
    assert "in both places" in rows["And where"] and "both" not in rows["Where"]


def odd(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=-1)
    weights = weights.clamp(max=0.7)
    return torch.bmm(weights, value)


def test_a_mistake_that_nobody_thought_of_is_found_in_code_that_is_written_otherwise():
    """"Not one result is right, whatever the sizes", and no place to begin."""
    message = check(odd, "scaled_dot_product_attention").message
    assert "weights = weights.clamp(max=0.7)" in message
    assert ("What goes in, `weights`, is right. What comes out of the line, `weights.clamp(max=0.7)`, is not what the "
            "rest of your code needs. With another value there, it gives the right result.") in message


class Activated(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.act = nn.Hardswish()

    def forward(self, x):
        return self.linear2(self.inner(x))

    def inner(self, x):
        hidden = self.linear1(x)
        return self.act(hidden)


def test_a_wrong_part_is_told_where_it_is_called_and_where_it_is_made():
    """A line of `forward` that is as it should be, where the mistake stands in `__init__`."""
    (found,) = located("FeedForward", Activated)
    assert [text.strip() for text in found.lines.values()] == ["self.act = nn.Hardswish()", "return self.act(hidden)"]


def scaled_by_the_number_of_inputs(query, inputs):
    d = inputs.size(0)
    scores = inputs @ query / math.sqrt(d)
    return F.softmax(scores, dim=0) @ inputs


def test_a_size_is_in_doubt_with_the_line_that_uses_it():
    """The line that divides, which is as it should be, where the width was read off the wrong axis."""
    (found,) = located("scaled_dot_product_attention_single", scaled_by_the_number_of_inputs)
    assert [text.strip().split()[0] for text in found.lines.values()] == ["d", "scores"]


def over_again(weights, x):
    total = torch.zeros(x.shape[-1]).to(x)
    for n in range(1, len(x)):
        total = total + weights[n] * x[n]
    return total


def test_of_a_loop_all_of_its_lines_are_in_doubt():
    """One of them, taken at random."""
    (found,) = located("weighted_sum", over_again)
    assert [text.strip() for text in found.lines.values()][1:] == [
        "for n in range(1, len(x)):", "total = total + weights[n] * x[n]"]


def too_early(scores):
    largest = scores.amax(dim=-1, keepdim=True)
    e = torch.exp(scores - largest)
    return e


def test_a_right_value_that_is_not_yet_the_result_is_told_so():
    """A line that is right, and told to be wrong, since the result is."""
    message = check(too_early, "softmax").message
    assert "What is returned, `e`, is right so far, but not yet what is asked for." in message


def doubled(function):
    @functools.wraps(function)
    def inner(*args):
        return 2 * function(*args)
    return inner


def as_it_is(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner


@torch.no_grad()
@as_it_is
def decorated(scores):
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    e = e.clamp(min=0.1)  #!
    return e / e.sum(dim=-1, keepdim=True)


@doubled
def right_inside(scores):
    return torch.softmax(scores, dim=-1)


def test_under_a_decorator_the_line_is_told_unless_the_decorator_is_wrong():
    """No line for whoever writes `@torch.no_grad()`; one that is right, where the decorator doubles what it returns."""
    assert lines_of(located("softmax", decorated)) == marked(decorated)
    assert located("softmax", right_inside) == ()
    assert located("softmax", as_it_is(right_inside)) == ()
    assert located("softmax", as_it_is(too_early)) == ()


def test_what_has_no_source_or_ends_by_no_means_gets_no_place():
    """An error of the course's own, in the place of a card."""
    shadows = {"F": F, "torch": torch}
    exec("def layer_norm(x, gamma, beta, eps=1e-5):\n    return x", shadows)
    assert located("layer_norm", shadows["layer_norm"]) == ()
    assert located("layer_norm", lambda x, gamma, beta, eps=1e-5: x * gamma) == ()


def unusual(weights, /, x=None, *, also: int = 0):
    parts = []
    if also:
        parts.append()
    total: torch.Tensor = weights @ x
    parts.append(total + 1)
    return parts[0]


def test_code_that_is_written_unusually_gets_a_card():
    """An error of the course's own for an argument before `/`, or a list that nothing is appended to."""
    assert "parts.append(total + 1)" in check(unusual, "weighted_sum").message


def test_a_long_result_that_is_right_so_far_has_a_whole_sentence():
    """"What is returned, , is right so far": its name is too long to be quoted."""
    ((_, text),) = where_rows([locating.Located({3: "    return x"}, "", ("x" * 50,))])
    assert text.endswith("What is returned is right so far, but not yet what is asked for.")


def test_what_is_right_in_one_round_of_a_loop_alone_is_not_said_to_be_right():
    """"What goes in, `b(x)`, is right. What comes out, `b(x)`, is not": of two blocks the first is right."""
    ((_, text),) = where_rows([locating.Located({3: "for b in blocks: x = norm(b(x))"}, "b(x)", ("mask", "b(x)"))])
    assert "What goes in, `mask`, is right. What comes out of the line, `b(x)`, is not" in text
    ((_, text),) = where_rows([locating.Located({3: "for b in blocks: x = norm(b(x))"}, "b(x)", ("b(x)",))])
    assert "What goes in" not in text


def test_a_search_that_fails_costs_no_card(monkeypatch):
    """An error of the course's own in the place of a card."""
    monkeypatch.setattr(locating, "traced", lambda *_: 1 / 0)
    assert "Where" not in dict(check(odd, "scaled_dot_product_attention").rows)


def test_a_search_that_runs_out_of_time_tells_nothing(monkeypatch):
    """A line that is told since nobody had time to try the others."""
    assert judge(EXERCISES["scaled_dot_product_attention"], odd, look_inside=True).located
    monkeypatch.setattr(judging, "SEARCH", 0)
    assert not judge(EXERCISES["scaled_dot_product_attention"], odd, look_inside=True).located


def test_lines_that_have_changed_since_are_not_read(tmp_path, monkeypatch):
    """The line that stands there now, in the place of the one that was run."""
    path = tmp_path / "own.py"
    path.write_text("def weighted_sum(weights, x):\n    wrong = weights @ x + 1\n    return wrong\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own")
    assert lines_of(located("weighted_sum", own.weighted_sum)) == {2}
    path.write_text("def weighted_sum(weights, x):\n    return weights @ x * 2 + weights\n")
    linecache.checkcache()
    assert located("weighted_sum", own.weighted_sum) == ()


def test_a_right_answer_is_not_looked_into():
    """Time spent on code that nobody asks about, in each check."""
    assert located("layer_norm", EXERCISES["layer_norm"].verified) == ()


def test_where_the_cause_is_known_the_place_is_folded():
    """Whoever reads the line first does not read the question."""
    exercise = EXERCISES["scaled_dot_product_attention_single"]
    named = next(m for m in exercise.mistakes if m.name == "wrong-axis").answer
    for answer, name, folded in ((named, exercise.name, True), (odd, "scaled_dot_product_attention", False)):
        html = as_html(card_rows(judge(EXERCISES[name], answer, look_inside=True)), "wrong")
        assert ("<summary>Where in your code</summary>" in html) is folded
        assert ">Where</th>" in html


def test_the_code_of_an_answer_is_left_as_it_was():
    """A global that its second run has changed."""
    seen = []

    def layer_norm(x, gamma, beta, eps=1e-5):
        seen.append(1)
        return x * gamma + beta

    check(layer_norm)
    assert "__seen__" not in layer_norm.__globals__
    assert layer_norm(torch.ones(2), 1.0, 0.0).tolist() == [1, 1]
