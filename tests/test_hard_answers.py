"""Answers that are hard to judge: wrong ones which look right, and cards that might say what is not true of them."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook.card import as_text, card_rows
from course_lib.language_model import BigramLM
from course_lib.transformer import Transformer
from course_lib.vision import PatchEmbedding


def card(name, answer):
    """The status and the card of an answer."""
    verdict = judge(EXERCISES[name], answer)
    return verdict.status, " ".join(as_text(card_rows(verdict)).split())


class Heads(MultiHeadAttention):
    """Version 6 in steps, right as it stands."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in self.projected(query, key, value))
        scores = self.masked(q @ k.mT / self.d_head**0.5, mask)
        return self.W_o((torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2))

    def projected(self, query, key, value):
        return self.W_q(query), self.W_k(key), self.W_v(value)

    def masked(self, scores, mask):
        return scores if mask is None else scores.masked_fill(~self.for_heads(mask), -1e30)

    def for_heads(self, mask):
        return mask[:, None] if mask.dim() == 3 else mask


class KeepsItsMemory(Heads):
    def projected(self, query, key, value):
        if not hasattr(self, "memory"):
            self.memory = self.W_k(key), self.W_v(value)
        return self.W_q(query), *self.memory


class KeepsItsMask(Heads):
    def masked(self, scores, mask):
        self.first = getattr(self, "first", mask) if mask is not None else None
        return super().masked(scores, self.first)


class FusesItsWeights(Heads):
    def projected(self, query, key, value):
        if not hasattr(self, "fused"):
            self.fused = torch.cat([self.W_q.weight, self.W_k.weight, self.W_v.weight])
        q, k, v = self.fused.chunk(3)
        return query @ q.T + self.W_q.bias, key @ k.T + self.W_k.bias, value @ v.T + self.W_v.bias


class KeepsItsMaskOfTheFuture(Transformer):
    def forward(self, src, tgt):
        if not hasattr(self, "future"):
            self.future = tgt.new_ones(tgt.shape[1], tgt.shape[1]).tril().bool()
        source, x = self.embed(src, self.src_embed), self.embed(tgt, self.tgt_embed)
        for layer in self.encoder:
            source = layer(source, (src != self.pad_id)[:, None])
        for layer in self.decoder:
            x = layer(x, source, (tgt != self.pad_id)[:, None] & self.future, (src != self.pad_id)[:, None])
        return self.out(x)


class KeepsItsLoss(BigramLM):
    loss = None

    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        self.loss = self.loss if loss is None else loss
        return logits, self.loss


@pytest.mark.parametrize(("name", "keeps"), [
    ("MultiHeadAttention", KeepsItsMemory), ("MultiHeadAttention", KeepsItsMask),
    ("MultiHeadAttention", FusesItsWeights), ("Transformer", KeepsItsMaskOfTheFuture), ("BigramLM", KeepsItsLoss)])
def test_a_module_that_keeps_something_of_its_first_call_is_found(name, keeps):
    """A cache that is right in the first training step and in no other."""
    assert judge(EXERCISES["MultiHeadAttention"], Heads).status == "right"
    status, said = card(name, keeps)
    assert status == "wrong" and "what did it keep" in said


class MaskOnTheCPU(Heads):
    def masked(self, scores, mask):
        if mask is None:
            return scores
        hidden = torch.zeros(mask.shape).masked_fill(~mask, -1e30)
        return scores + (hidden[:, None] if hidden.dim() == 3 else hidden)


class ScaleOnTheCPU(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.scale = torch.sqrt(torch.FloatTensor([self.d_head]))

    def masked(self, scores, mask):
        return super().masked(scores * self.d_head**0.5 / self.scale.to(scores.dtype), mask)


class TableInABuffer(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.register_buffer("root", torch.tensor([float(self.d_head)]).sqrt(), persistent=False)

    def masked(self, scores, mask):
        return super().masked(scores * self.d_head**0.5 / self.root, mask)


def on_the_cpu(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -1e30)
    return (torch.softmax(scores, -1) @ value).cpu()


def a_mask_of_its_own(query, key, value, mask=None):
    mask = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool) if mask is None else mask
    return torch.softmax((query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask, -1e30), -1) @ value


@pytest.mark.parametrize(("name", "answer"), [
    ("MultiHeadAttention", MaskOnTheCPU), ("MultiHeadAttention", ScaleOnTheCPU),
    ("scaled_dot_product_attention", on_the_cpu), ("scaled_dot_product_attention", a_mask_of_its_own)])
def test_every_way_through_an_answer_is_tried_on_a_gpu(name, answer):
    """Code that fails on a GPU as soon as there is a mask, or none."""
    assert judge(EXERCISES[name], answer).mistake == "cpu-only"


def test_what_a_module_keeps_in_a_buffer_is_on_the_gpu_with_it():
    """A right answer refused for a table that `module.to("cuda")` moves."""
    assert judge(EXERCISES["MultiHeadAttention"], TableInABuffer).status == "right"


def needs_its_mask(query, key, value, mask):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -1e30), -1) @ value


def another_default(ids, pad_id=1):
    return (ids != pad_id)[:, None]


@pytest.mark.parametrize(("name", "answer"), [
    ("scaled_dot_product_attention", needs_its_mask), ("padding_mask_from_ids", another_default)])
def test_a_default_is_part_of_what_is_asked(name, answer):
    """An answer that the next lesson calls without the argument that has a default."""
    status, said = card(name, answer)
    assert status == "wrong" and "only what has no default" in said


class RefusesTooLate(Heads):
    def __init__(self, d_model, num_heads):
        nn.Module.__init__(self)
        self.num_heads, self.d_head = num_heads, d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def projected(self, query, key, value):
        if query.shape[-1] != self.num_heads * self.d_head:
            raise ValueError("the heads do not divide d_model")
        return super().projected(query, key, value)


def test_what_a_constructor_has_to_refuse_it_refuses_at_once():
    """A model of impossible sizes, found out at its first batch."""
    assert judge(EXERCISES["MultiHeadAttention"], RefusesTooLate).mistake == "no-error"


class Misspelt(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def foward(self, query, key, value, mask=None):
        return query


class CallsItsLayers(Transformer):
    def forward(self, src, tgt):
        return self.out(self.encoder(self.embed(src, self.src_embed)))


def of_whole_numbers(query, inputs):
    return torch.softmax((inputs @ query).long(), 0) @ inputs


def says_not_yet(query, inputs):
    if inputs.dim() != 1:
        raise NotImplementedError("later")


@pytest.mark.parametrize(("name", "answer", "words"), [
    ("MultiHeadAttention", Misspelt, "no method `forward`"), ("Transformer", CallsItsLayers, "with a `for` loop"),
    ("dot_product_attention", of_whole_numbers, "whole numbers")])
def test_what_torch_does_not_implement_is_no_unanswered_exercise(name, answer, words):
    """A learner who is told that nothing was answered, after an hour's work."""
    status, said = card(name, answer)
    assert status == "wrong" and words in said
    assert card("dot_product_attention", says_not_yet)[0] == "unanswered"


def table(kind):
    """causal_mask, in a tensor that is no table."""
    def answer(T):
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        return {"sparse": mask.to_sparse, "meta": lambda: mask.to("meta"),
                "nested": lambda: torch.nested.nested_tensor([mask.float()], layout=torch.jagged)}[kind]()
    return answer


@pytest.mark.parametrize("kind", ["sparse", "meta", "nested"])
def test_a_result_that_is_no_table_of_numbers_has_a_card(kind):
    """A traceback out of the check itself."""
    status, said = card("causal_mask", table(kind))
    assert status == "wrong" and f"It returned a {kind} tensor instead of one tensor" in said


class SparseGradients(BigramLM):
    def __init__(self, vocab_size):
        super().__init__(vocab_size)
        self.table = nn.Embedding(vocab_size, vocab_size, sparse=True)


class Convolution(PatchEmbedding):
    """As most libraries have it: the patches' linear map is a convolution."""

    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__(image_size, patch_size, in_channels, d_model)
        self.proj = nn.Conv2d(in_channels, d_model, patch_size, patch_size)

    def forward(self, images):
        tokens = self.proj(images).flatten(2).mT
        return torch.cat([self.cls.expand(len(tokens), -1, -1), tokens], 1) + self.pos


def numpy_says(attend):
    q, x = torch.randn(3, generator=torch.Generator().manual_seed(0)), torch.eye(3)[:, [1, 2, 0]] * 3
    expected = torch.softmax(x @ q / 3**0.5, 0) @ x
    return np.abs(attend(query=q, inputs=x).numpy() - expected.numpy()).max() < 1e-5


def test_right_answers_of_another_kind_are_right():
    """Honest ways to write it, refused for what nobody asked."""
    assert judge(EXERCISES["BigramLM"], SparseGradients).status == "right"
    assert judge(EXERCISES["PatchEmbedding"], Convolution).status == "right"
    said = card("is_version_2", numpy_says)[1]
    assert "unexpected keyword" not in said and "instead of True or False" not in said


class TiesItsTables(Transformer):
    def __init__(self, src_vocab, tgt_vocab, *rest, **others):
        super().__init__(src_vocab, tgt_vocab, *rest, **others)
        self.out.weight = self.tgt_embed.weight


class TrainsItsScale(Heads):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.gain = nn.Parameter(torch.ones(1))

    def projected(self, query, key, value):
        return self.W_q(query) * self.gain, self.W_k(key), self.W_v(value)


class DropsWhileTraining(Heads):
    def projected(self, query, key, value):
        return super().projected(F.dropout(query, 0.5, self.training), key, value)


def float32_on_the_way(query, key, value, mask=None):
    return needs_its_mask(query.float(), key.float(), value.float(), mask).to(query.dtype)


def brackets(dec_state, enc_states, W_s, W_h, v, src_mask=None):
    return [*EXERCISES["bahdanau_context"].verified(dec_state, enc_states, W_s, W_h, v, src_mask)]


@pytest.mark.parametrize(("name", "answer", "words"), [
    ("Transformer", TiesItsTables, "one and the same parameter"),
    ("MultiHeadAttention", TrainsItsScale, "It also trains `gain`"),
    ("MultiHeadAttention", DropsWhileTraining, "ordinary calls are right; what is not: train mode"),
    ("scaled_dot_product_attention", float32_on_the_way, "float64 keeps 16"),
    ("bahdanau_context", brackets, "without brackets")])
def test_a_card_says_what_is_true(name, answer, words):
    """A sentence that sends a learner to look in the wrong place."""
    status, said = card(name, answer)
    assert status == "wrong" and words in said, said
    assert "it is right; with it" not in said


def test_keys_and_values_of_different_lengths_are_refused():
    """torch's fused attention reads beyond the end of the values, and the kernel dies."""
    attention, x = MultiHeadAttention(4, 2), torch.zeros(1, 3, 4)
    with pytest.raises(ValueError, match="3 keys and 2 values"):
        attention(x, x, x[:, :2])
