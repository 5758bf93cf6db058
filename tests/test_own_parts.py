"""What stands on multi-head attention is right on a student's own, too, whatever its weights are called."""

import inspect

import pytest

from course_lib.attention import MultiHeadAttention
from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import ask
from course_lib.checks.engine.judging import _right_in_some_layout, judge
from course_lib.checks.engine.questioning import questions
from tests.right_answers import RIGHT_ANSWERS

OWN = {name: answer for name, answer in RIGHT_ANSWERS["MultiHeadAttention"].items()
       if judge(EXERCISES["MultiHeadAttention"], answer).other_layout}
STAND_ON_IT = [name for name, exercise in EXERCISES.items() if exercise.heads and name != "MultiHeadAttention"]
# With other names nothing says which attention is which; and a norm behind attention whose weights are identities makes
# the same of an input that dropout has made larger.
NOT_SEEN = {"attentions-swapped", "drops-twice", "no-dropout-on-source-embeddings", "drops-embeddings-twice",
            "dropped-twice-or-not-scaled"}


def standing_on(attention, module):
    """A class like `module` that makes its attention of another class."""
    def __init__(self, *sizes):
        module.__init__(self, *sizes)
        for part in list(self.modules()):
            for name, child in list(part.named_children()):
                if isinstance(child, MultiHeadAttention):
                    setattr(part, name, attention(child.W_q.in_features, child.num_heads))

    return type(module.__name__, (module,), {"__init__": __init__})


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("name", STAND_ON_IT)
def test_it_is_right_on_an_attention_of_one_s_own(name, own):
    verdict = judge(EXERCISES[name], standing_on(OWN[own], EXERCISES[name].verified))
    assert verdict.status == "right" and verdict.other_layout


@pytest.mark.parametrize("name", STAND_ON_IT)
def test_its_mistakes_are_wrong_there_too(name):
    """Whoever packs three matrices in one is not asked the half of it."""
    exercise, own = EXERCISES[name], OWN["packed, with other names"]
    passed = {mistake.name for mistake in exercise.mistakes if inspect.isclass(mistake.answer)
              and _right_in_some_layout(questions(exercise), exercise, standing_on(own, mistake.answer), ask)}
    assert passed <= NOT_SEEN


class Doubled(OWN["packed, with other names"]):
    def mixed(self, q, k, v, mask):
        return 2 * super().mixed(q, k, v, mask)


@pytest.mark.parametrize("name", STAND_ON_IT)
def test_a_wrong_attention_below_is_wrong(name):
    verdict = judge(EXERCISES[name], standing_on(Doubled, EXERCISES[name].verified))
    assert verdict.status == "wrong"
