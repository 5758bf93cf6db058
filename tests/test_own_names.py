"""A right module is right under whatever names it has for its weights, and no mistake hides behind other names."""

import inspect
import itertools
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check
from course_lib.attention import MultiHeadAttention
from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.own_names import by_own_names
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_positions

CLASSES = [name for name, exercise in EXERCISES.items() if inspect.isclass(exercise.verified)]
EVERY = 4  # of the mistakes of one exercise
# With other names nothing says which matrix of an attention is which, nor which way round one stands.
NOT_SEEN = {"swaps-W-k-and-W-v", "weights-not-transposed"}


def renamed(module):
    """A class like `module` with other names for all that is registered in it."""
    def __init__(self, *sizes):
        nn.Module.__init__(self)
        inside = module(*sizes)
        object.__setattr__(self, "inside", inside)  # it is not registered
        for name, part in inside.named_children():
            self.add_module(f"my_{name}", part)
        for name, weight in inside.named_parameters(recurse=False):
            self.register_parameter(f"my_{name}", weight)

    def forward(self, *args):
        self.inside.training = self.training
        return self.inside(*args)

    return type(module.__name__, (nn.Module,), {"__init__": __init__, "forward": forward})


class FromTheRight(nn.Module):
    """As a formula has it."""

    def __init__(self, linear):
        super().__init__()
        self.W = nn.Parameter(linear.weight.detach().T.clone())
        self.b = None if linear.bias is None else nn.Parameter(linear.bias.detach().clone())

    def forward(self, x):
        return x @ self.W if self.b is None else x @ self.W + self.b


class CalledWeight(FromTheRight):
    """As a formula has it, named as torch names it."""

    def __init__(self, linear):
        super().__init__(linear)
        self.weight, self.bias = self.W, self.b
        del self.W, self.b

    def forward(self, x):
        return x @ self.weight if self.bias is None else x @ self.weight + self.bias


class LikeALayer(nn.Module):
    """As torch has it, and named as a transposed matrix is."""

    def __init__(self, linear):
        super().__init__()
        self.T = nn.Parameter(linear.weight.detach().clone())
        self.b = None if linear.bias is None else nn.Parameter(linear.bias.detach().clone())

    def forward(self, x):
        return F.linear(x, self.T, self.b)


def bare(module, product=FromTheRight):
    """A class like `module` in which no layer is linear: a matrix and a bias are multiplied and added by hand."""
    def __init__(self, *sizes):
        module.__init__(self, *sizes)
        for whose in list(self.modules()):
            for name, part in list(whose.named_children()):
                if isinstance(part, nn.Linear):
                    setattr(whose, name, product(part))

    return type(module.__name__, (module,), {"__init__": __init__})


class Net(nn.Module):
    """As many write it."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)


class Backwards(nn.Module):
    """The second layer is registered first."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.down, self.up, self.p = nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff), dropout

    def forward(self, x):
        return self.down(F.dropout(self.up(x).relu(), self.p, self.training))


class GPT(nn.Module):
    """As its authors name it, the last norm first."""

    class Block(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, dropout):
            super().__init__()
            self.ln_1, self.attn = nn.LayerNorm(d_model), MultiHeadAttention(d_model, num_heads)
            self.ln_2, self.mlp, self.drop = nn.LayerNorm(d_model), Net(d_model, d_ff, dropout), nn.Dropout(dropout)

        def forward(self, x, mask):
            y = self.ln_1(x)
            x = x + self.drop(self.attn(y, y, y, mask))
            return x + self.drop(self.mlp(self.ln_2(x)))

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.ln_f, self.lm_head = nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size)
        self.wte, self.drop = nn.Embedding(vocab_size, d_model), nn.Dropout(dropout)
        self.h = nn.ModuleList(self.Block(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))

    def forward(self, ids):
        x = self.wte(ids)
        x = self.drop(x + sinusoidal_positions(*x.shape[1:]).to(x))
        for block in self.h:
            x = block(x, causal_mask(ids.shape[1]).to(ids.device))
        return self.lm_head(self.ln_f(x))


class Convolution(nn.Module):
    """Patches by a convolution, as vision libraries make them."""

    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__()
        if image_size % patch_size:
            raise ValueError("a patch does not fit")
        self.conv = nn.Conv2d(in_channels, d_model, patch_size, patch_size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos_embed = nn.Parameter(torch.zeros(1, (image_size // patch_size) ** 2 + 1, d_model))

    def forward(self, images):
        patches = self.conv(images).flatten(2).transpose(1, 2)
        return torch.cat([self.cls_token.expand(len(images), -1, -1), patches], 1) + self.pos_embed


class ByHand(nn.Module):
    """Matrices as the formula has them."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.W_1, self.b_1 = nn.Parameter(torch.randn(d_model, d_ff)), nn.Parameter(torch.zeros(d_ff))
        self.W_2, self.b_2 = nn.Parameter(torch.randn(d_ff, d_model)), nn.Parameter(torch.zeros(d_model))
        self.p = dropout

    def forward(self, x):
        return F.dropout((x @ self.W_1 + self.b_1).relu(), self.p, self.training) @ self.W_2 + self.b_2


class NoBias(ByHand):
    """Wrong, by hand."""

    def forward(self, x):
        return F.dropout((x @ self.W_1).relu(), self.p, self.training) @ self.W_2 + self.b_1.sum() + self.b_2


class NoDropout(Net):
    """Wrong, and by other names."""

    def forward(self, x):
        return self.net[3](self.net[0](x).relu())


class OneMore(Net):
    """It trains what nobody asked for."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff, dropout)
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return self.net(x) * self.gain


class Lazy(nn.Module):
    """Widths that are known after the first call."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1, self.linear2, self.dropout = nn.LazyLinear(d_ff), nn.LazyLinear(d_model), nn.Dropout(dropout)

    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x).relu()))


@pytest.mark.parametrize("name", CLASSES)
def test_it_is_right_under_other_names(name):
    """A right answer is refused, since somebody called a layer fc1."""
    verdict = judge(EXERCISES[name], renamed(EXERCISES[name].verified))
    assert verdict.status == "right" and verdict.other_layout and not verdict.is_used


@pytest.mark.parametrize(("name", "product"), [
    *itertools.product(CLASSES, [FromTheRight, LikeALayer]),
    *((name, CalledWeight) for name in CLASSES if name != "MultiHeadAttention")])  # by its own names, it is a mistake
def test_it_is_right_without_a_linear_layer(name, product):
    """A matrix that is multiplied from the right stands the other way round; of a square one nothing says so."""
    assert judge(EXERCISES[name], bare(EXERCISES[name].verified, product)).status == "right"


@pytest.mark.parametrize(("answer", "name"), [
    (Net, "FeedForward"), (ByHand, "FeedForward"),
    (Backwards, "FeedForward"), (GPT, "LanguageModel"), (Convolution, "PatchEmbedding")])
def test_it_is_right_as_others_write_it(answer, name):
    assert judge(EXERCISES[name], answer).status == "right"


@pytest.mark.parametrize("answer", [NoDropout, OneMore, NoBias], ids=lambda a: a.__name__)
def test_what_is_wrong_is_wrong_under_other_names(answer):
    verdict = judge(EXERCISES["FeedForward"], answer)
    assert verdict.status == "wrong" and verdict.mistake == "missing-weight"


@pytest.mark.parametrize("dressed", [renamed, bare, partial(bare, product=LikeALayer)])
@pytest.mark.parametrize("name", CLASSES)
def test_no_mistake_hides_behind_other_names(name, dressed):
    """A mistake is right as soon as nobody knows its weights."""
    mistakes = [m for m in EXERCISES[name].mistakes if inspect.isclass(m.answer)][::EVERY]
    assert mistakes
    passed = {m.name for m in mistakes if judge(EXERCISES[name], dressed(m.answer)).status == "right"}
    assert passed <= NOT_SEEN


def test_later_cells_use_the_course_s_names():
    """A lesson that looks into a weight by its name, and finds none."""
    result = check(Net, "FeedForward", record=False)
    assert result.passed and result.verified is EXERCISES["FeedForward"].verified
    assert "yours has others" in result.message


def test_a_lazy_layer_is_told_in_one_sentence():
    result = check(Lazy, "FeedForward", record=False)
    assert "its linear1.weight has no shape before the module is called" in result.message


def test_parts_are_found_by_their_shapes_in_order():
    """Two norms that change places, or a bias that is taken for a gain."""
    def weights(*names):
        sizes = {"norm": {"weight": (4,), "bias": (4,)}, "line": {"weight": (4, 8), "bias": (4,)}}
        return {f"{n}.{what}": torch.zeros(size) for n in names for what, size in sizes[n.rstrip("123")].items()}

    course = weights("norm1", "line", "norm2") | {"cls": torch.zeros(1, 4)}
    own = {"a.bias": torch.zeros(4), "a.weight": torch.zeros(4), "token": torch.zeros(1, 4)}
    own |= weights("line3", "norm3")
    assert by_own_names(course, own, {}) == {
        "norm1.weight": "a.weight", "norm1.bias": "a.bias", "line.weight": "line3.weight", "line.bias": "line3.bias",
        "norm2.weight": "norm3.weight", "norm2.bias": "norm3.bias", "cls": "token"}
    known = {"norm1.weight": "norm3.weight", "norm1.bias": "norm3.bias"}
    assert by_own_names(course, own, known)["norm2.weight"] == "a.weight"
    with pytest.raises(ValueError, match="other weights"):
        by_own_names(course, own | {"more": torch.zeros(1, 4)}, {})


def test_a_matrix_without_a_layer_may_stand_the_other_way_round():
    """A square one is multiplied from the right, and one that fits as it is stays so."""
    course = {"line.weight": torch.zeros(8, 4), "line.bias": torch.zeros(8), "table.weight": torch.zeros(9, 4),
              "square.weight": torch.zeros(4, 4)}
    own = {"b": torch.zeros(8), "E": torch.zeros(9, 4), "S": torch.zeros(4, 4), "W": torch.zeros(4, 8)}
    assert by_own_names(course, own, {}) == {
        "line.weight": "W.T.", "line.bias": "b", "table.weight": "E", "square.weight": "S.T."}
    assert by_own_names(course, own, {"square.weight": "S.T."})["square.weight"] == "S.T."


def test_the_innermost_come_first():
    gain = torch.zeros(4)
    assert by_own_names({"blocks.0.norm.weight": gain, "norm.weight": gain},
                        {"ln_f.weight": gain, "h.0.ln.weight": gain}, {}) == {
        "blocks.0.norm.weight": "h.0.ln.weight", "norm.weight": "ln_f.weight"}
