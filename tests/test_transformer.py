"""The Transformer and its layers against torch's own, with the same weights; decoding against exhaustive search."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import attention_patterns
from course_lib.decoding import beam_search, greedy_decode
from course_lib.positions import sinusoidal_positions
from course_lib.targets import masked_cross_entropy, shift_right
from course_lib.transformer import DecoderLayer, EncoderLayer, LongTransformer, Transformer

PAIRS = {"norm1": "norm1", "norm2": "norm2", "norm3": "norm3", "linear1": "ff.linear1", "linear2": "ff.linear2",
         "self_attn.out_proj": "self_attn.W_o", "multihead_attn.out_proj": "cross_attn.W_o"}


def torchs(ours, theirs):
    """Our weights in torch's layer, all of them moved away from their initial values first."""
    with torch.no_grad():
        for p in ours.parameters():
            p.add_(0.1 * torch.randn_like(p))
        for their_name, our_name in PAIRS.items():
            if hasattr(theirs, their_name.split(".")[0]):
                theirs.get_submodule(their_name).load_state_dict(ours.get_submodule(our_name).state_dict())
        for attn in ("self_attn", "multihead_attn"):
            if hasattr(theirs, attn):
                mine = getattr(ours, "self_attn" if attn == "self_attn" else "cross_attn")
                their = getattr(theirs, attn)
                their.in_proj_weight.copy_(torch.cat([mine.W_q.weight, mine.W_k.weight, mine.W_v.weight]))
                their.in_proj_bias.copy_(torch.cat([mine.W_q.bias, mine.W_k.bias, mine.W_v.bias]))
    return theirs


def whole(dtype):
    """Our Transformer, and torch's with the same weights and without the norms that the paper does not have."""
    torch.manual_seed(0)
    ours = Transformer(11, 13, 16, 4, 24, 3, dropout=0.3).to(dtype)
    theirs = nn.Transformer(16, 4, 3, 3, 24, 0.0, batch_first=True, dtype=dtype)
    theirs.encoder.norm = theirs.decoder.norm = None
    for mine, their in zip([*ours.encoder, *ours.decoder], [*theirs.encoder.layers, *theirs.decoder.layers],
                           strict=True):
        torchs(mine, their)
    return ours.eval(), theirs


def by_torch(ours, theirs, src, tgt):
    def embedded(ids, table):
        return table(ids) * 4 + sinusoidal_positions(ids.shape[1], 16).to(table.weight)

    future = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
    out = theirs(embedded(src, ours.src_embed), embedded(tgt, ours.tgt_embed), tgt_mask=future,
                 src_key_padding_mask=src == 0, tgt_key_padding_mask=tgt == 0, memory_key_padding_mask=src == 0)
    return ours.out(out)


SRC = torch.tensor([[3, 5, 2, 9, 1, 4], [7, 7, 1, 0, 0, 0]])
TGT = torch.tensor([[1, 4, 12, 6], [1, 9, 0, 0]])


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_the_transformer_is_torchs(dtype, error):
    """A residual, norm, mask or layer that is not where the paper has it; a gradient that is cut."""
    ours, theirs = whole(dtype)
    mine, reference = ours(SRC, TGT), by_torch(ours, theirs, SRC, TGT)
    assert mine.shape == (2, 4, 13) and torch.allclose(mine, reference, rtol=0, atol=error)
    shared = [ours.src_embed.weight, ours.tgt_embed.weight, ours.out.weight]
    for got, expected in zip(*(torch.autograd.grad(out.square().sum(), shared) for out in (mine, reference)),
                             strict=True):
        assert torch.allclose(got, expected, rtol=0, atol=error * max(1, float(expected.abs().max())))


LONG_SRC = torch.tensor([[3, 5, 2, 9, 1], [0, 7, 0, 1, 0], [2, 4, 6, 0, 0]])
LONG_TGT = torch.tensor([[1, 4, 12, 6, 3, 2], [1, 0, 0, 9, 5, 0], [0, 0, 7, 8, 0, 3]])


def said_and_gradients(Model, dtype):
    """What a model says where it sees more than padding, and the gradients of all its weights, in float64."""
    torch.manual_seed(0)
    state = Transformer(11, 13, 16, 4, 24, 2, 0.3).state_dict()
    model = Model(11, 13, 16, 4, 24, 2, 0.3).to(dtype).eval()
    model.load_state_dict(state)
    said = model(LONG_SRC, LONG_TGT)
    assert said.isfinite().all()
    said = said[(LONG_TGT != 0).cumsum(1) > 0]
    return [t.double() for t in (said, *torch.autograd.grad(said.square().sum(), [*model.parameters()]))]


def test_the_one_for_long_sequences_is_the_same():
    """Padding that is seen in front or in between, a future that is seen, weights that do not fit, gradients cut."""
    short, long = (said_and_gradients(Model, torch.float64) for Model in (Transformer, LongTransformer))
    for got, expected in zip(long, short, strict=True):
        assert torch.allclose(got, expected, rtol=0, atol=1e-12 * max(1, float(expected.abs().max())))


def test_the_one_for_long_sequences_is_as_exact_in_float32():
    """A number added to hide a key that swallows the digits of the others."""
    truth = said_and_gradients(Transformer, torch.float64)

    def errors(Model):
        pairs = zip(said_and_gradients(Model, torch.float32), truth, strict=True)
        return [float((got - true).abs().max()) for got, true in pairs]

    short, long = errors(Transformer), errors(LongTransformer)
    assert long[0] < 1e-6 and max(long) <= 4 * max(short)


def test_the_one_for_long_sequences_is_looked_into():
    """Patterns that show what lies ahead, or padding."""
    short, long = Transformer(11, 13, 16, 4, 24, 1), LongTransformer(11, 13, 16, 4, 24, 1)
    long.load_state_dict(short.state_dict())
    one, other = (attention_patterns(model, SRC, TGT) for model in (short, long))
    assert one.keys() == other.keys()
    assert all(torch.allclose(a, b, rtol=0, atol=1e-6) for a, b in zip(one.values(), other.values(), strict=True))


def test_the_base_model_has_the_papers_size():
    """A layer with a bias too few, or a matrix too many: 65 million in table 3, with one vocabulary of 37,000."""
    layers = EncoderLayer(512, 8, 2048), DecoderLayer(512, 8, 2048)
    each = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    assert each == [sum(p.numel() for p in layer.parameters()) for layer in (
        nn.TransformerEncoderLayer(512, 8, 2048), nn.TransformerDecoderLayer(512, 8, 2048))]
    assert 60e6 < 6 * sum(each) + 37_000 * 512 < 67e6


def test_no_table_limits_the_length():
    """A table of positions that ends."""
    model = Transformer(5, 5, 8, 2, 8, 1).eval()
    with torch.no_grad():
        assert model(torch.ones(1, 3000, dtype=torch.long), torch.ones(1, 2, dtype=torch.long)).isfinite().all()


def test_dropout_one_leaves_the_norms_and_the_last_bias():
    """Dropout that was forgotten in a sublayer, or that touches the skip connection."""
    x, memory = torch.randn(2, 3, 8), torch.randn(2, 4, 8)
    for layer, inputs in ((EncoderLayer(8, 2, 16, 1.0), (x,)), (DecoderLayer(8, 2, 16, 1.0), (x, memory))):
        expected = F.layer_norm(x, (8,))
        for _ in range(2 if len(inputs) == 2 else 1):
            expected = F.layer_norm(expected, (8,))
        assert torch.allclose(layer(*inputs), expected, atol=1e-5)


def test_one_pass_with_teacher_forcing_is_writing_step_by_step():
    """A decoder that gives every step position 0, or that sees its own future."""
    ours, _ = whole(torch.float64)
    at_once = ours(SRC[:1], TGT[:1])
    for t in range(1, 5):
        assert torch.allclose(ours(SRC[:1], TGT[:1, :t])[:, -1], at_once[:, t - 1], rtol=0, atol=1e-12)


def test_labels_are_shifted_right():
    """A decoder that is shown the word it has to guess."""
    labels = torch.tensor([[5, 6, 2], [7, 2, 0]])
    assert shift_right(labels, 1).tolist() == [[1, 5, 6], [1, 7, 2]]
    assert labels.tolist() == [[5, 6, 2], [7, 2, 0]]


def test_padding_does_not_count_in_the_loss():
    """A mean over sentences instead of tokens; padding that dilutes the loss; an overflow."""
    logits, targets = 100 * torch.randn(2, 3, 5), torch.tensor([[1, 2, 3], [4, 0, 0]])
    each = [-F.log_softmax(logits[b, t], -1)[targets[b, t]] for b, t in ((0, 0), (0, 1), (0, 2), (1, 0))]
    assert torch.allclose(masked_cross_entropy(logits, targets), torch.stack(each).mean())


def next_token(prefixes):
    """Logits of the next of four tokens, fixed but different for every prefix."""
    seeds = [sum(token * 7**i for i, token in enumerate(prefix)) for prefix in prefixes.tolist()]
    return torch.stack([torch.randn(4, generator=torch.Generator().manual_seed(seed)) for seed in seeds])


def test_greedy_ends_each_sentence_by_itself():
    """Words after the end; a batch whose first finished sentence stops the others; one step too many."""
    class Model:
        def __call__(self, src, ys):
            logits = torch.zeros(*ys.shape, 6)
            ends = ys.shape[1] >= src[:, 0]  # sentence b ends after src[b, 0] tokens
            logits[:, -1, 4], logits[:, -1, 3] = 1.0, ends * 2.0
            return logits

    src = torch.tensor([[1], [3], [2]])
    assert greedy_decode(Model(), src, 1, 3, 9).tolist() == [[1, 3, 0, 0], [1, 4, 4, 3], [1, 4, 3, 0]]
    assert greedy_decode(Model(), src, 1, 3, 2).tolist() == [[1, 3], [1, 4], [1, 4]]


@pytest.mark.parametrize("max_len", [2, 3, 5])
def test_a_beam_as_wide_as_everything_finds_the_best_of_all(max_len):
    """A score that forgets the earlier tokens, or a finished hypothesis that is lost."""
    def score(tokens):
        return sum(F.log_softmax(next_token(torch.tensor([tokens[:t]])), -1)[0, tokens[t]].item()
                   for t in range(1, len(tokens)))

    every = [[1, *rest] for n in range(1, max_len) for rest in itertools.product(range(4), repeat=n)]
    whole_ones = [t for t in every if 3 not in t[:-1] and (t[-1] == 3 or len(t) == max_len)]
    best = max(whole_ones, key=score)
    tokens, found = beam_search(next_token, 1, 3, 1000, max_len)
    assert tokens == best and found == pytest.approx(score(best), abs=1e-5)


def test_a_beam_of_one_is_greedy():
    """A beam that keeps more than it was told to."""
    class Model:
        def __call__(self, src, ys):
            return next_token(ys)[:, None]

    greedy = greedy_decode(Model(), torch.zeros(1, 1, dtype=torch.long), 1, 3, 6)[0].tolist()
    assert beam_search(next_token, 1, 3, 1, 6)[0] == greedy
