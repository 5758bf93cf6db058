"""A card says what is true of an answer that no mistake fits, and says first what helps most."""

import pickle
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from course_lib import attention, check, decoding, training
from course_lib.checks import EXERCISES
from course_lib.checks.engine import asking, naming
from course_lib.checks.engine.asking import Call, Reply, ask
from course_lib.checks.engine.comparing import alike, compare
from course_lib.checks.engine.diagnosing import property_holds
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.mistakes import ByHand
from course_lib.checks.engine.pairs import pairs
from course_lib.checks.engine.questioning import questions
from course_lib.checks.notebook.card import AND_MORE, as_html, card_rows
from course_lib.display.markup import typeset
from tests.second_spellings import lesson_11


def attend(query, key, value, mask=None, drop=0.0, scale=None):
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return F.dropout(scores.softmax(-1), drop) @ value


def test_an_answer_in_which_chance_is_at_work_is_told_so():
    """Dropout that stays on was told that the order of the keys changes the result."""
    result = check(lambda q, k, v, mask=None: attend(q, k, v, mask, drop=0.3), "scaled_dot_product_attention")
    assert result.mistake == "changes-by-chance"
    assert "Asked the same question three times, it gave three answers" in result.message
    assert "order" not in result.message.split("Example")[0]


def test_a_weight_that_nobody_sets_is_told_where_it_makes_three_answers():
    """Positions that are learned were told that dropout is on."""
    verified = EXERCISES["LanguageModel"].verified

    class LearnsItsPositions(verified):
        def __init__(self, vocab_size, d_model, *others):
            super().__init__(vocab_size, d_model, *others)
            self.places = torch.nn.Embedding(128, d_model)

        def forward(self, ids):
            x = self.table(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
            mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril()
            for block in self.blocks:
                x = block(x, mask)
            return self.out(self.norm(x))

    result = check(LearnsItsPositions, "LanguageModel", record=False)
    assert result.mistake == "weights-of-its-own"
    assert "places.weight is a weight that the docstring does not name" in result.message.replace("`", "")


def test_an_error_of_ones_own_that_is_a_value_error_is_one():
    """patchify by a library whose errors are RuntimeErrors of its own was refused."""
    class SizeError(ValueError):
        pass

    def patchify(images, p):
        if images.shape[-1] % p or images.shape[-2] % p:
            raise SizeError("no")
        return F.unfold(images, p, stride=p).transpose(1, 2)

    assert check(patchify, record=False).passed


def test_a_recursion_without_an_end_refuses_nothing():
    """Python's RecursionError is a RuntimeError, and counted as the refusal of sizes that do not divide."""
    def patchify(images, p):
        if images.shape[-1] % p or images.shape[-2] % p:
            return patchify(images, p)
        return F.unfold(images, p, stride=p).transpose(1, 2)

    result = check(patchify, record=False)
    assert not result.passed and "here, and it raised RecursionError." in result.message


def test_a_loop_without_an_end_is_told_in_words_of_the_learner_s(monkeypatch):
    """“It raised TookTooLong”, which is a name of the checks' own."""
    def patchify(images, p):
        while images.shape[-1] % p or images.shape[-2] % p:
            pass
        return F.unfold(images, p, stride=p).transpose(1, 2)

    monkeypatch.setattr(asking, "SECONDS", 0.5)
    assert "here, and it did not end." in check(patchify, record=False).message


def test_of_what_is_nearly_right_no_size_is_blamed():
    """"Right without a mask, wrong with one" of a layer whose norms have another eps."""
    class Rounds(EXERCISES["DecoderLayer"].verified):
        def forward(self, *args):
            return super().forward(*args) * (1 + 2e-4)

    verdict = judge(EXERCISES["DecoderLayer"], Rounds)
    assert not verdict.named and len(verdict.seen) == 1 and verdict.seen[0].startswith("Nearly right: no number is off "
                                                                                      "by more than 0.02 %.")


def nearly(returned):
    """What an answer returned, its numbers off by a little more than a check allows."""
    if isinstance(returned, tuple):
        return tuple(map(nearly, returned))
    return returned * (1 + 4e-5) if isinstance(returned, torch.Tensor) and returned.is_floating_point() else returned


ROUNDED = """weighted_sum additive_attention attention_query_matrix cross_attention layer_norm sinusoidal_positions
shift_matrix masked_cross_entropy top_p_probs rollout recurrence_pattern rms_norm SwiGLU attend_with_cache
ablate_head""".split()


@pytest.mark.parametrize("name", ROUNDED)
def test_what_is_nearly_right_is_told_no_mistake_that_is_none(name):
    """"The base is 10000", "it overflows", "the same tensor came back twice", or two that undo each other, of digits
    that were lost: replies with these are nearly those of the right answer, too.
    """
    verified = EXERCISES[name].verified
    if isinstance(verified, type):
        answer = type(name, (verified,), {"forward": lambda self, *args: nearly(verified.forward(self, *args))})
    else:
        def answer(*args):
            return nearly(verified(*args))
    verdict = judge(EXERCISES[name], answer)
    assert verdict.status == "wrong" and not verdict.named


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-3])
@pytest.mark.parametrize("name", ["SublayerConnection", "EncoderLayer", "DecoderLayer", "Block"])
def test_norms_of_another_library_are_told_by_their_eps(name, eps):
    """"Wrong where d_ff is 7", and right where it is 5."""
    class Other(EXERCISES[name].verified):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            for part in self.children():
                if isinstance(part, torch.nn.LayerNorm):
                    part.eps = eps

    verdict = judge(EXERCISES[name], Other)
    assert [m.name for m in verdict.mistakes] == ["another-eps"] and verdict.besides is None


def test_an_answer_that_is_wrong_the_same_way_each_time_is_not_told_of_chance():
    """Whoever uses no randomness and is told of dropout looks for it in vain."""
    assert "three times" not in check(lambda q, k, v, mask=None: attend(q, k, v, mask, scale=0.37),
                                      "scaled_dot_product_attention").message


def nearly_unscaled(query, inputs):
    """No scale; and where there are as many inputs as numbers in each, something else as well."""
    besides = 0.01 * inputs[:, 0] if len(inputs) == len(query) else 0.0
    return F.softmax(inputs @ query + besides, 0) @ inputs


def test_the_closest_mistake_is_told_with_how_close_it_is():
    """Nothing said of an answer that does in nine calls of ten what a known mistake does."""
    verdict = judge(EXERCISES["scaled_dot_product_attention_single"], nearly_unscaled)
    assert not verdict.mistakes and verdict.closest.mistake.name == "no-scale" == verdict.mistake
    assert 3 <= verdict.closest.same < verdict.closest.wrong
    message = check(nearly_unscaled, "scaled_dot_product_attention_single").message
    assert re.search(r"Closest mistake +\d+ of your \d+ wrong results are those of this mistake\.\n +The scores were",
                     message)


def test_two_mistakes_that_say_most_of_it_are_told_with_how_close_they_are():
    """Nothing said of two well-known mistakes, since a third thing is wrong where none is left."""
    def top_p_probs(logits, p):
        probs, order = torch.softmax(logits, -1).sort(-1, descending=True)
        kept = probs.masked_fill(probs.cumsum(-1) > p, 0)
        return torch.zeros_like(kept).scatter(-1, order, kept)

    verdict = judge(EXERCISES["top_p_probs"], top_p_probs)
    assert [m.name for m in verdict.named] == ["one-too-few", "no-renormalisation"] and verdict.mistake == "one-too-few"
    assert verdict.closest.wrong // 2 < verdict.closest.same < verdict.closest.wrong
    assert "wrong results are those of these two made at once.\n" in dict(card_rows(verdict))["Closest mistakes"]


def test_a_mistake_that_alone_does_nothing_is_found_beside_another():
    """The maximum left out, which changes no weight, and a sum over the wrong axis, which it changes."""
    def softmax(scores):
        return scores.exp() / scores.exp().sum(0)

    named = {m.name for m in judge(EXERCISES["softmax"], softmax).together}
    assert named == {"overflows", "sum-over-the-first-axis"}


def test_a_mistake_that_says_nothing_of_other_arguments_is_not_told_alone():
    """“Divided after the softmax” to whoever forgets to renormalise what top-k leaves, as if that were all."""
    def next_token_probs(logits, temperature=1.0, top_k=None):
        probs = torch.softmax(logits, -1) / temperature
        if top_k is not None and top_k < logits.shape[-1]:
            probs = probs.masked_fill(probs < probs.topk(top_k, -1).values[:, -1:], 0)
        return probs

    verdict = judge(EXERCISES["next_token_probs"], next_token_probs)
    assert [m.name for m in verdict.mistakes] == ["temperature-after-softmax"]
    assert dict(card_rows(verdict))["And besides"].startswith("With `top_k`, something else may be")


def test_two_mistakes_at_once_are_both_told():
    """A learner who has made two of the best known mistakes, and reads that nothing is right."""
    def both(query, inputs):
        return F.softmax(torch.mv(inputs, query), 0) / len(inputs) ** 0.5 @ inputs

    verdict = judge(EXERCISES["scaled_dot_product_attention_single"], both)
    assert {m.name for m in verdict.named} == {"scale-by-n", "scales-the-weights"} and not verdict.mistakes
    rows = dict(card_rows(verdict))
    assert {rows["One cause"], rows["And another"]} == {m.says for m in verdict.named}


@pytest.mark.parametrize("number, told", [(11.3, "11.3"), (2.37, "2.37"), (100, "100"), (8, "8")])
def test_a_number_that_nobody_wrote_down_is_found_and_told(number, told):
    """A mistake that is known for 8, and not for 11.3."""
    verdict = judge(EXERCISES["scaled_dot_product_attention_single"],
                    lambda query, inputs: torch.softmax(torch.mv(inputs, query) / number, 0) @ inputs)
    assert [m.name for m in verdict.mistakes] == ["fixed-scale"]
    assert f"divided by {told}, whatever the width is" in verdict.mistakes[0].says


@pytest.mark.parametrize("bottom", [-7.0, -37.5, -300.0])
def test_the_number_is_that_of_the_answer_and_no_other(bottom):
    """A number on the card that the learner never wrote."""
    def hides_a_little(query, key, value, mask=None):
        scores = torch.einsum("bik,bjk->bij", query, key) / query.shape[-1] ** 0.5
        return torch.softmax(scores if mask is None else scores.masked_fill(~mask, bottom), -1) @ value

    (named,) = judge(EXERCISES["scaled_dot_product_attention"], hides_a_little).mistakes
    lowest, _, highest = named.says.split("The masked score is ")[1].split(" below zero")[0].partition(" to ")
    assert named.name == "not-negative-enough" and float(lowest) <= -bottom <= float(highest or lowest)


def test_a_number_has_a_sentence_with_a_place_for_it_and_an_edit():
    """`{c}` on a card."""
    for exercise in EXERCISES.values():
        for mistake in exercise.mistakes:
            assert "{c}" not in mistake.says and "HOLE" not in getattr(mistake, "source", "")


def nothing_but(number, result):
    """A result with one number in every place."""
    if isinstance(result, tuple):
        return tuple(nothing_but(number, part) for part in result)
    return torch.full_like(result, number) if isinstance(result, torch.Tensor) else type(result)(number)


FUNCTIONS = [e for e in EXERCISES.values() if not isinstance(e.verified, type) and e.name not in ("beam_search",)]


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda e: e.name)
@pytest.mark.parametrize("number", [0, 1])
def test_an_answer_that_gives_one_number_alone_is_told_so(exercise, number):
    """Two mistakes at once, which together come to 0, on the card of a learner who returned zeros."""
    rows = dict(card_rows(judge(exercise, lambda *args: nothing_but(number, exercise.verified(*args)))))
    assert "One cause" not in rows and "Closest mistake" not in rows
    assert "Likely cause" in rows or re.search(
        r"Every number that it gives is|It returns the same whatever it is called with", rows["What we see"])


def test_behind_a_mistake_that_has_a_name_another_one_is_told():
    """The first of two mistakes, and the second only once that is mended."""
    def pool_what_is_hidden(x, mask):
        low = x.new_zeros(x.shape).masked_fill(mask[:, :, None], -torch.inf)
        return (x + low).max(1)[0]

    verdict = judge(EXERCISES["max_over_real_tokens"], pool_what_is_hidden)
    assert [m.name for m in verdict.together] == ["mask-inverted", "nothing-for-an-empty-text"]


def test_what_else_fails_is_told_where_it_has_no_name():
    """Half of it: the variance is named, and that a GPU would refuse the answer is not said."""
    def by_one_less(x, gamma, beta, eps=1e-5):
        variance = x.var(-1, keepdim=True) + torch.zeros(1)
        return (x - x.mean(-1, keepdim=True)) / (variance + eps).sqrt() * gamma + beta

    exercise = EXERCISES["layer_norm"]
    verdict = judge(exercise, by_one_less)
    assert [m.name for m in verdict.mistakes] == ["unbiased-variance"] and verdict.besides.kind == "device"
    assert "On a GPU this would fail" in dict(card_rows(verdict))["And besides"]
    for mistake in exercise.mistakes:
        assert "And besides" not in dict(card_rows(judge(exercise, mistake.answer)))


def test_dropout_in_another_place_is_told_beside_the_mistake_that_has_a_name():
    """The missing skip alone: with a dropout of 1 both give numbers that are finite and wrong, and not the same."""
    exercise = EXERCISES["SublayerConnection"]

    class DropsTheNorm(exercise.verified):
        def forward(self, x, sublayer):
            return self.dropout(self.norm(sublayer(x)))

    class DropsNothing(exercise.verified):
        def forward(self, x, sublayer):
            return self.norm(sublayer(x))

    class LeavesXOut(exercise.verified):
        def forward(self, x, sublayer):
            return self.norm(self.dropout(sublayer(x)))

    told = [[m.name for m in judge(exercise, answer).named] for answer in (DropsTheNorm, DropsNothing, LeavesXOut)]
    assert told == [["no-skip", "dropout-after-the-norm"], ["no-skip", "dropout-missing"], ["no-skip"]]


def test_dropout_that_nobody_asked_for_is_told_beside_a_mistake():
    """The norms' eps alone: in train mode both give numbers that are finite and wrong, and not the same."""
    class DropsAtOnce(EXERCISES["Block"].verified):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
            super().__init__(d_model, num_heads, d_ff, dropout)
            self.norm1.eps = self.norm2.eps = 1e-6

    verdict = judge(EXERCISES["Block"], DropsAtOnce)
    assert [m.name for m in verdict.named] == ["another-eps"] and verdict.besides.call.special == "train mode"


def test_whoever_trains_another_epoch_than_it_is_fails():
    """Right, though each epoch is called the one after; or numbers from which nobody sees why."""
    def one_too_many(model, train_epoch, accuracy, validation, test, epochs):
        return training.keep_the_best(model, lambda model, epoch: train_epoch(model, epoch + 1), accuracy, validation,
                                      test, epochs)

    rows = dict(card_rows(judge(EXERCISES["keep_the_best"], one_too_many)))
    assert "train_epoch was told that this is epoch 1, and it is epoch 0" in rows["What failed"]


def test_positions_rounded_otherwise_are_no_other_dropout():
    """"Something else is wrong, too", for positions that were float32 before they were float64."""
    exercise = EXERCISES["Transformer"]
    spelling = lesson_11.SPELLINGS["Transformer"]["counts-from-one"]
    assert judge(exercise, spelling).besides is None


def test_whoever_waits_for_two_mistakes_is_told_so(monkeypatch):
    """A cell that runs for two seconds, and nobody knows what for."""
    said = []
    one, other = (next(m for m in EXERCISES["layer_norm"].mistakes if m.name == name)
                  for name in ("variance-over-positions", "beta-before-gamma"))
    both = pairs(EXERCISES["layer_norm"].verified, one, other)[0].answer
    monkeypatch.setattr(naming, "PATIENCE", 1e9)
    judge(EXERCISES["layer_norm"], both, waiting=lambda: said.append("once"))
    monkeypatch.setattr(naming, "PATIENCE", 0)
    judge(EXERCISES["layer_norm"], both, waiting=lambda: said.append("at once"))
    assert said == ["at once"]


MADE = [("LanguageModel", "scaled-embeddings", "no-last-norm"), ("DecoderLayer", "pre-norm", "ignores-the-memory-mask"),
        ("EncoderClassifier", "no-scale-of-embeddings", "mean-of-the-tokens"),
        ("Transformer", "no-target-padding-mask", "padding-in-cross-attention"),
        ("MultiHeadAttention", "scale-by-root-d-model", "no-output-projection")]


@pytest.mark.parametrize("name, one, other", MADE)
def test_two_mistakes_are_looked_for_where_their_effects_add_up(name, one, other):
    """Two of the best known mistakes in a model with a thousand pairs, of which two seconds ask a hundred."""
    exercise = EXERCISES[name]
    edits = [m for m in exercise.mistakes if not isinstance(m, ByHand)]
    made = [next(i for i, m in enumerate(edits) if m.name == name) for name in (one, other)]
    answer = pairs(exercise.verified, *(edits[i] for i in made))[0].answer
    asked = [(call, ask(answer, call)) for call in questions(exercise, 0)]
    telling = [*asked[:1], next((call, r) for call, r in asked if compare(truth(exercise, call), r, call))]
    assert naming._most_likely_first(exercise, edits, telling).index(tuple(sorted(made))) < 30


def test_two_mistakes_may_write_what_is_as_long_as_with_neither():
    """Nothing that ends, and no beginning: with the one it is longer, with the other shorter."""
    def greedy_decode(model, src, bos_id, eos_id, max_len, pad_id=0):
        ys = src.new_full((len(src), 1), bos_id)
        finished = torch.zeros_like(ys, dtype=torch.bool)
        while ys.shape[1] < max_len:
            best = model(src, ys)[:, -1].argmax(-1, keepdim=True).masked_fill(finished, pad_id)
            ys, finished = torch.cat([ys, best], 1), finished | (best == eos_id)
        return ys[:, 1:]

    named = {m.name for m in judge(EXERCISES["greedy_decode"], greedy_decode).together}
    assert named == {"never-stops", "without-bos"}


def test_of_pairs_that_reply_alike_only_what_they_have_in_common_is_told(monkeypatch):
    """Two causes on the card, and one of them picked at random among those that look the same."""
    exercise = EXERCISES["scaled_dot_product_attention_single"]
    scale, root, turned, *_ = exercise.mistakes
    likely = [SimpleNamespace(both=two) for two in ((scale, root), (scale, turned), (root, turned))]
    monkeypatch.setattr(naming, "_behaves_as", lambda mistake, *_: scale in getattr(mistake, "both", ()))
    calls = questions(exercise, 0)
    replies = [ask(scale.answer, call) for call in calls]
    assert naming.together(likely, calls, replies, calls[0]) == (scale,)
    rows = dict(card_rows(replace(judge(exercise, scale.answer), mistakes=(), together=(scale,))))
    assert (rows["One cause"], rows["And another"]) == (scale.says, AND_MORE)


TOUCHING = {
    "embed_tokens": (lambda ids, table: table[ids.flatten() - 1], {"one-long-list", "counts-from-one"}),
    "reweight": (lambda x: torch.softmax(x @ x.T, -1).squeeze(), {"returns-weights", "squeezes-everything"}),
    "weighted_sum": (lambda weights, x: (weights[:, None] * x / len(x)).sum(1), {"mean", "sums-features"})}


@pytest.mark.parametrize("name", TOUCHING)
def test_two_mistakes_that_touch_the_same_words_are_both_told(name):
    """Only mistakes with words between them were ever put together."""
    answer, mistakes = TOUCHING[name]
    assert {m.name for m in judge(EXERCISES[name], answer).together} == mistakes


def test_one_mistake_twice_is_no_pair_and_what_python_warns_of_is_none():
    """“One too few” twice, told to whoever draws every other place; a SyntaxWarning between a learner's lines."""
    def of(exercise, *names):
        return pairs(EXERCISES[exercise].verified,
                     *(next(m for m in EXERCISES[exercise].mistakes if m.name == name) for name in names))

    assert of("get_batch", "last-start-never", "range-is-one-short") == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(of("embed_tokens", "first-sentence-only", "counts-from-one")) == 1  # of two orders


def test_nothing_is_closest_to_an_answer_that_is_nothing_like_it():
    """A name for everything, true or not."""
    assert judge(EXERCISES["scaled_dot_product_attention_single"],
                 lambda q, x: (x * q.cos()).sum(0)).mistake is None


def test_masked_and_unmasked_calls_are_told_apart_by_which_arguments_they_have():
    """`mask=None` handed over counted as a mask, and a mistake with masks alone had no name."""
    given = [naming._given(Call(args)) for args in ((1, 2), (1, 2, None), (1, 2, 3), (1, None, 3))]
    assert given == [(0, 1), (0, 1), (0, 1, 2), (0, 2)]


@pytest.mark.parametrize("name", ["layer_norm", "scaled_dot_product_attention", "reweight", "sinusoidal_positions"])
def test_nan_breaks_no_property(name):
    """An answer accused of four things because of 0 / 0."""
    def nothing_but_nan(*args):
        shape = EXERCISES[name].verified(*args)
        return torch.full(shape.shape, float("nan"))

    for _, holds, *_ in EXERCISES[name].properties:
        assert property_holds(holds, EXERCISES[name], nothing_but_nan, 0, ask)
    assert judge(EXERCISES[name], nothing_but_nan).status == "wrong"


def test_an_error_in_a_decorated_function_is_found_in_the_learner_s_line():
    """The line of torch's own `no_grad`, which nobody wrote."""
    @torch.no_grad()
    def greedy_decode(model, src, bos_id, eos_id, max_len, pad_id=0):
        return src.no_such_thing

    assert "in line" in check(greedy_decode).message and "`return src.no_such_thing`" in check(greedy_decode).message
    assert decoding.greedy_decode is not greedy_decode


def test_a_changed_argument_hides_no_other_mistake():
    """That `said` was written into, and not that the mean is another one, which the calls before do not show."""
    def the_mean_of_a_row(said, head, mean=False):
        said[:, :, head] = said[:, :, head].mean(1, keepdim=True) if mean else 0.0
        return said

    def a_number_of_its_own(said, head, mean=False):
        said[:, :, head] = 0.9 * said[:, :, head] if mean else 0.0
        return said

    exercise = EXERCISES["ablate_head"]
    assert [m.name for m in judge(exercise, the_mean_of_a_row).together] == ["mean-over-places", "in-place"]
    verdict = judge(exercise, a_number_of_its_own)
    assert verdict.failure.kind == "values" and "changed its argument" in verdict.failure.says


def test_a_changed_argument_is_told_beside_a_wrong_value():
    """A learner who mends the value, and only then hears that the argument was changed all along."""
    def writes_and_is_wrong(weights, x):
        x *= 2
        return weights @ x

    message = check(writes_and_is_wrong, "weighted_sum").message
    assert "expected" in message and "changed its argument `x`" in message


def test_of_gradients_the_missing_one_is_told_first():
    """A wrong gradient of the query was shown, and that none reaches the keys was not."""
    call = Call((torch.ones(2), torch.ones(2)), gradients=True)
    true = ask(lambda a, b: (a * b).sum().exp(), call)
    reply = ask(lambda a, b: (a.detach() * 0.5 + a * 0.5) @ b.detach() * 0 + (a * 0.5 + 0.5).prod().exp() * 0
                + true.outputs[0] + 0 * a.sum(), call)
    assert "No gradient reaches {1}" in compare(true, reply, call).says


class RemembersItsMask(attention.MultiHeadAttention):
    """Keeps the first mask of each shape."""

    def forward(self, query, key, value, mask=None):
        self.masks = getattr(self, "masks", {})
        mask = mask if mask is None else self.masks.setdefault(mask.shape, mask)
        return super().forward(query, key, value, mask)


class KeepsTheLastMask(attention.MultiHeadAttention):
    """Uses the last mask where none is given."""

    last = None

    def forward(self, query, key, value, mask=None):
        self.last = self.last if mask is None else mask
        fits = self.last is not None and self.last.shape[-2:] in ((query.shape[1], key.shape[1]), (1, key.shape[1]))
        return super().forward(query, key, value, self.last if fits else None)


@pytest.mark.parametrize("keeps", [RemembersItsMask, KeepsTheLastMask])
def test_what_a_module_keeps_of_an_argument_is_found(keeps):
    """A cache with the shape as its key is right until the second batch."""
    result = check(keeps, "MultiHeadAttention")
    assert result.mistake == "keeps-state" and "what did it keep of them?" in result.message


def test_a_function_that_keeps_its_first_mask_is_found():
    """The same, in a dict at module level."""
    kept = {}

    def cached(query, key, value, mask=None):
        mask = mask if mask is None else kept.setdefault((mask.shape, query.shape, key.shape), mask)
        return attend(query, key, value, mask)

    result = check(cached, "scaled_dot_product_attention")
    assert not result.passed


def test_expected_and_got_are_told_apart_by_as_many_digits_as_it_takes():
    """Two equal lines, and the sentence that they differ."""
    message = check(lambda w, x: (w @ x) * (1 + 3e-4), "weighted_sum").message
    expected, got = (re.search(rf"{label} +(.+?)   \(", message)[1] for label in ("Expected", "Got"))
    assert expected != got


def test_of_a_large_result_the_place_of_the_difference_is_shown():
    """The first four numbers, all of them right."""
    def wrong_at_the_end(n, d):
        table = EXERCISES["sinusoidal_positions"].verified(n, d).clone()
        table[-1, -1] += 1 if n * d > 30 else 0
        return table

    message = check(wrong_at_the_end, "sinusoidal_positions").message
    expected, got = (re.search(rf"{label} +(.+)", message)[1] for label in ("Expected", "Got"))
    assert expected != got and " at [" in expected


@pytest.mark.parametrize(("one", "other", "same"), [
    (("RuntimeError", "mat1 and mat2 shapes cannot be multiplied"), ("RuntimeError", "The size of tensor a"), True),
    (("AttributeError", "'NoneType' object has no attribute 'reshape'"),
     ("AttributeError", "'NoneType' object has no attribute 'view'"), True),
    (("AttributeError", "'NoneType' object has no attribute 'reshape'"),
     ("AttributeError", "'Tensor' object has no attribute 'shapes'"), False)])
def test_what_an_error_is_about(one, other, same):
    """An attribute named `reshape` was taken for a matter of shapes."""
    assert alike(Reply(error=one), Reply(error=other)) is same


def test_the_cause_stands_below_the_headline_and_the_exercise_is_folded():
    """A card whose first three lines say what the learner knows already."""
    result = check(lambda q, x: F.softmax(x @ q, 0) @ x, "scaled_dot_product_attention_single")
    labels = [label for label, _ in result.rows]
    assert labels[1] == "Likely cause" and labels.index("Example") < labels.index("Expected") < labels.index("Asked")
    html = as_html(result.rows, result.status)
    assert html.index("Likely cause") < html.index("<details>") < html.index("Asked")
    assert re.search("<mark [^>]+><b>0.8808</b></mark>", html) and "<mark>" not in result.message
    assert "Allowed" not in labels, "what is far off is not a matter of tolerance"


def test_a_card_is_the_same_in_another_process():
    """The grader's lanes hand rows on; words with an HTML of their own could not be read there."""
    result = check(lambda q, x: F.softmax(x @ q, 0) @ x, "scaled_dot_product_attention_single")
    again = pickle.loads(pickle.dumps(result.rows))
    assert again == result.rows and as_html(again, result.status) == as_html(result.rows, result.status)


def test_what_is_asked_is_typeset_and_typed():
    """Dollars in a terminal; `W_q^T` and the names of variables as mathematics in a notebook."""
    result = check(lambda *args: torch.zeros(1), "compose")
    assert "W_QK = W_q^T W_k of the later head" in result.message and "$" not in result.message
    assert "<i>W</i><sub><i>q</i></sub><sup>T</sup> <i>W</i><sub><i>k</i></sub>" in as_html(result.rows, result.status)
    for exercise in EXERCISES.values():
        html = re.sub("<code>.*?</code>", "", typeset(exercise.asked).html)
        assert not set("_^$`") & set(html), exercise.name
    assert typeset("$10000^(2i / d)$").html == "10000<sup>2<i>i</i> / <i>d</i></sup>"


def test_the_tolerance_is_told_where_it_matters():
    """A learner who is off by a rounding wants to know how many are allowed."""
    assert "Allowed" in check(lambda w, x: (w @ x) * (1 + 1e-4), "weighted_sum").message


def test_behind_a_wrong_dtype_the_thought_is_told():
    """"float32 instead of int64" to somebody who returned similarities: an invitation to cast."""
    def similarities(query, vectors, k):
        norms = vectors.norm(dim=-1) * query.norm()
        return ((vectors @ query) / norms).sort(descending=True).values[:k]

    result = check(similarities, "cosine_search")
    assert result.mistake == "returns-similarities" and "Likely cause" in result.message
    strict = check(lambda T, device=None: torch.ones(T, T, device=device).tril(-1), "causal_mask")
    assert strict.mistake == "strict-lower" and "float32 instead of bool" in strict.message


def test_a_mistake_is_told_although_a_dtype_is_wrong_as_well():
    """Inputs and targets exchanged, one of them made a float: "not one of 9 results is right"."""
    result = check(lambda ids: (ids[:, 1:], ids[:, :-1].float()), "shift_labels")
    assert result.mistake == "swapped" and AND_MORE in result.message
