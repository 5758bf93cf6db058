"""Wrong answers of lesson 04: each is a mistake of the catalogue as somebody else would have written it."""

import math

import torch
import torch.nn.functional as F

# ---- softmax ----


def shares(powers):
    return powers / powers.sum(-1, keepdim=True)


def powers_as_they_are(scores):
    p = math.e ** scores
    return torch.einsum("...n,...->...n", p, 1 / p.sum(-1))


def largest_of_all_taken_off(scores):
    p = (scores - torch.amax(scores)).exp()
    return torch.div(p, torch.sum(p, -1, True))


def smallest_taken_off(scores):
    return shares((scores - scores.min(-1, keepdim=True)[0]).exp())


def centred(scores):
    return shares((scores - scores.mean(-1)[..., None]).exp())


def up_to_eighty(scores):
    return shares(torch.minimum(scores, torch.full_like(scores, 80.0)).exp())


def one_sum_for_all(scores):
    p = torch.exp(scores - scores.max(-1, keepdim=True).values)
    total = 0
    for value in p.flatten():
        total = total + value
    return p / total


def torch_along_the_first_axis(scores):
    return F.softmax(scores, dim=0)


def torch_along_axis_one(scores):
    return scores.softmax(1)


def torch_down_the_columns(scores):
    return F.softmax(scores.mT, dim=-1).mT


def sums_without_their_axis(scores):
    p = torch.exp(scores - scores.max(-1, keepdim=True).values)
    return torch.div(p, torch.sum(p, -1))


def nothing_keeps_its_axis(scores):
    p = torch.exp(scores - torch.max(scores, -1)[0])
    return p / torch.sum(p, -1)


def one_at_the_top(scores):
    p = torch.exp(scores.double() - scores.double().max(-1, keepdim=True)[0])
    return (p / p.max(-1, keepdim=True)[0]).to(scores.dtype)


def torch_to_the_power_of_ten(scores):
    return torch.softmax(scores * math.log(10), dim=-1)


def softmin(scores):
    return F.softmin(scores, dim=-1)


def sigmoids(scores):
    return torch.sigmoid(scores)


def log_probabilities(scores):
    return F.log_softmax(scores, -1)


def probabilities_of_probabilities(scores):
    return F.softmax(F.softmax(scores, -1), -1)


def tempered(scores):
    return F.softmax(scores / math.sqrt(scores.size(-1)), -1)


def shares_of_the_scores(scores):
    return torch.stack([row / sum(row) for row in scores.reshape(-1, scores.shape[-1])]).reshape(scores.shape)


def hardly_more_than_the_sum(scores):
    p = torch.exp(scores - scores.max(-1, keepdim=True).values)
    return p / p.sum(-1, keepdim=True).add(1e-8)


# ---- version 1 ----


def torch_attention_with_its_scale(query, inputs):
    return F.scaled_dot_product_attention(query.unsqueeze(0), inputs, inputs).squeeze(0)


def cosine_similarity_of_each_input(query, inputs):
    sim = F.cosine_similarity(inputs, query.unsqueeze(0), dim=1)
    return torch.einsum("n,nd->d", F.softmax(sim, dim=0), inputs)


def scores_times_inputs(query, inputs):
    out = torch.zeros_like(query)
    for row in inputs:
        out = out + torch.dot(query, row) * row
    return out


def independent_gates(query, inputs):
    out = 0
    for row in inputs:
        out = out + row / (1 + torch.exp(-(query * row).sum()))
    return out


def shares_without_exponential(query, inputs):
    s = torch.stack([torch.dot(row, query) for row in inputs])
    return torch.mv(inputs.T, s / s.sum())


def scores_as_a_column(query, inputs):
    column = torch.mm(inputs, query[:, None])
    p = F.softmax(column, dim=1)
    return (p * inputs).sum(dim=0)


def softmax_of_every_feature(query, inputs):
    p = F.softmax(query[None, :] * inputs, dim=0)
    return torch.einsum("nd,nd->d", p, inputs)


def probabilities(query, inputs):
    return F.log_softmax(torch.mv(inputs, query), dim=0).exp()


def weighted_rows(query, inputs):
    p = F.softmax(torch.stack([row.dot(query) for row in inputs]), dim=0)
    return torch.stack([w * row for w, row in zip(p, inputs, strict=True)], dim=0)


def every_input_alike(query, inputs):
    return torch.mean(inputs, axis=0)


def winner_takes_it_all(query, inputs):
    return max(inputs, key=lambda row: torch.dot(row, query).item())


def mix_and_residual(query, inputs):
    p = F.softmax(torch.einsum("d,nd->n", query, inputs), dim=0)
    return query + torch.einsum("n,nd->d", p, inputs)


def row_of_weights(query, inputs):
    scores = query.view(1, -1) @ inputs.T
    return F.softmax(scores, dim=1) @ inputs


def row_of_weights_squeezed(query, inputs):
    scores = torch.mm(query.view(1, -1), inputs.t())
    return torch.mm(F.softmax(scores, dim=1), inputs).squeeze()


def inputs_against_themselves(query, inputs):
    scores = torch.stack([torch.dot(row, row) for row in inputs])
    return torch.einsum("n,nd->d", F.softmax(scores, dim=0), inputs)


def exponentials_in_a_loop(query, inputs):
    e = torch.stack([torch.exp(row @ query) for row in inputs])
    return sum(w * row for w, row in zip(e, inputs, strict=True)) / e.sum()


# ---- version 2 ----


def torch_attention_with_scale_one(query, inputs):
    q, kv = query.view(1, 1, 1, -1), inputs[None, None]
    return F.scaled_dot_product_attention(q, kv, kv, scale=1.0).flatten()


def divides_by_the_width(query, inputs):
    p = F.softmax(torch.stack([torch.dot(row, query) / query.numel() for row in inputs]), dim=0)
    return torch.mv(inputs.T, p)


def divides_by_the_root_of_the_first_size(query, inputs):
    d_k = inputs.size(0)
    scores = torch.einsum("nd,d->n", inputs, query) / math.sqrt(d_k)
    return torch.einsum("n,nd->d", F.softmax(scores, dim=0), inputs)


def power_before_the_division(query, inputs):
    scores = torch.einsum("nd,d->n", inputs, query)
    scores = scores / inputs.shape[1] ** 1 / 2
    return torch.einsum("n,nd->d", F.softmax(scores, dim=0), inputs)


def half_the_width(query, inputs):
    scale = query.shape[0] ** 1 / 2
    scores = torch.einsum("nd,d->n", inputs, query).div(scale)
    return torch.einsum("n,nd->d", F.softmax(scores, dim=0), inputs)


def times_the_root(query, inputs):
    q, kv = query[None], inputs
    return F.scaled_dot_product_attention(q, kv, kv, scale=math.sqrt(query.numel()))[0]


def scale_of_one_half_of_the_product(query, inputs):
    q = query / inputs.size(1) ** 0.25
    return torch.einsum("n,nd->d", F.softmax(torch.mv(inputs, q), dim=0), inputs)


def weights_over_the_root(query, inputs):
    p = F.softmax(torch.mv(inputs, query), dim=0) / math.sqrt(query.numel())
    return torch.einsum("n,nd->d", p, inputs)


def shrinks_the_inputs_for_good(query, inputs):
    inputs = inputs / math.sqrt(inputs.shape[-1])
    scores = torch.stack([torch.dot(query, row) for row in inputs])
    return torch.mv(inputs.T, F.softmax(scores, dim=0))


def z_scores(query, inputs):
    s = torch.mv(inputs, query)
    return torch.mv(inputs.T, F.softmax(s / torch.std(s), dim=0))


def width_of_the_paper(query, inputs):
    d_k = 64
    s = torch.mv(inputs, query) / math.sqrt(d_k)
    return torch.mv(inputs.T, F.softmax(s, dim=0))


def scaled_cosine(query, inputs):
    q = F.normalize(query, dim=0)
    k = F.normalize(inputs, dim=1)
    s = torch.einsum("d,nd->n", q, k) / math.sqrt(len(q))
    return torch.einsum("n,nd->d", F.softmax(s, dim=0), inputs)


def scaled_scores_times_inputs(query, inputs):
    out = 0
    for row in inputs:
        out = out + row * (torch.dot(query, row) * query.numel() ** -0.5)
    return out


def scaled_gates(query, inputs):
    scale = query.numel() ** -0.5
    return sum(torch.sigmoid(scale * torch.dot(query, row)) * row for row in inputs)


def scaled_column(query, inputs):
    column = torch.einsum("nd,de->ne", inputs, query[:, None]) / math.sqrt(len(query))
    return torch.einsum("ne,nd->d", F.softmax(column, dim=-1), inputs)


def scaled_probabilities(query, inputs):
    s = [torch.dot(row, query) / math.sqrt(len(query)) for row in inputs]
    return F.softmax(torch.stack(s), dim=0)


def scaled_scores(query, inputs):
    return torch.stack([torch.dot(row, query) / math.sqrt(len(query)) for row in inputs])


def scaled_exponentials(query, inputs):
    above, below = 0, 0
    for row in inputs:
        e = torch.exp(torch.dot(row, query) / math.sqrt(len(query)))
        above, below = above + e * row, below + e
    return above / below


def scaled_row_of_weights(query, inputs):
    s = torch.mm(query[None], inputs.t()).div(math.sqrt(query.numel()))
    return torch.mm(F.softmax(s, dim=-1), inputs)


# ---- a test of version 2 ----


def reference(query, inputs):
    """Version 2, as the tests below want it."""
    return F.scaled_dot_product_attention(query[None], inputs, inputs)[0]


def drawn(n, d):
    """A query and n inputs, d wide."""
    generator = torch.Generator().manual_seed(3)
    return torch.randn(d, generator=generator), torch.randn(n, d, generator=generator)


def looks_at_the_shape(attend):
    query, inputs = drawn(6, 5)
    return tuple(attend(query, inputs).shape) == (5,)


def looks_at_one_input(attend):
    query, inputs = drawn(1, 5)
    return torch.allclose(attend(query, inputs), reference(query, inputs), atol=1e-5)


def asks_with_zeros(attend):
    inputs = drawn(4, 3)[1]
    query = torch.zeros(3)
    return bool(torch.isclose(attend(query, inputs), reference(query, inputs), atol=1e-5).all())


def feature_of_ones(attend):
    query, inputs = drawn(5, 3)
    inputs[:, 0] = 1.0
    return abs(attend(query, inputs)[0].item() - 1) < 1e-4


def square_example(attend):
    query, inputs = drawn(5, 5)
    return (attend(query, inputs) - reference(query, inputs)).abs().max().item() < 1e-4


def four_channels(attend):
    query = torch.tensor([1.0, 0.5, -1.0, 2.0])
    inputs = torch.tensor([[1.0, 2.0, 0.0, 0.5], [0.0, 1.0, -1.0, 1.0], [-1.0, 0.0, 0.5, 0.0]])
    expected = F.softmax(torch.mv(inputs, query) / 2, dim=0) @ inputs
    return torch.allclose(attend(query, inputs), expected, atol=1e-5)


def one_channel(attend):
    query, inputs = torch.tensor([2.0]), torch.tensor([[1.0], [0.5], [-1.0]])
    return torch.allclose(attend(query, inputs), reference(query, inputs), atol=1e-5)


def sixty_four_channels(attend):
    query, inputs = drawn(10, 64)
    return torch.allclose(attend(query, inputs), reference(query, inputs), atol=1e-5)


def normalised_vectors(attend):
    query, inputs = drawn(6, 3)
    query, inputs = query / query.norm(), inputs / inputs.norm(dim=1, keepdim=True)
    return torch.allclose(attend(query, inputs), reference(query, inputs), atol=1e-5)


def tolerance_of_a_twentieth(attend):
    query, inputs = drawn(6, 3)
    return torch.allclose(attend(query, inputs), reference(query, inputs), atol=0.05)


def tolerance_of_a_hundredth(attend):
    query, inputs = drawn(6, 3)
    return (attend(query, inputs) - reference(query, inputs)).abs().max().item() < 0.01


def any_for_all(attend):
    query, inputs = drawn(6, 3)
    return bool(torch.isclose(attend(query, inputs), reference(query, inputs), atol=1e-5).any())


def compares_the_sums(attend):
    query, inputs = drawn(6, 3)
    return abs(attend(query, inputs).sum().item() - reference(query, inputs).sum().item()) < 1e-4


def looks_for_a_large_difference(attend):
    query, inputs = drawn(6, 3)
    for got, expected in zip(attend(query, inputs), reference(query, inputs), strict=True):
        if abs(got.item() - expected.item()) > 1e-4:
            return False
    return True


def query_a_hundred_times_as_long(attend):
    query, inputs = drawn(6, 3)
    return torch.allclose(attend(100 * query, inputs), reference(100 * query, inputs), atol=1e-4)


def scale_forgotten_in_the_reference(attend):
    query, inputs = drawn(6, 3)
    expected = torch.mv(inputs.T, F.softmax(torch.mv(inputs, query), dim=0))
    return torch.allclose(attend(query, inputs), expected, atol=1e-5)


def equal_in_every_bit(attend):
    query, inputs = drawn(6, 3)
    return bool((attend(query, inputs) == F.softmax(inputs @ query / 3**0.5, dim=0) @ inputs).all())


def asserts_closeness(attend):
    query, inputs = drawn(6, 3)
    torch.testing.assert_close(attend(query, inputs), reference(query, inputs), atol=1e-5, rtol=1e-4)
    return True


SPELLINGS = {
    "softmax": {
        "overflows": powers_as_they_are,
        "one-maximum-for-all-rows": largest_of_all_taken_off,
        "minimum-taken-off": smallest_taken_off,
        "mean-taken-off": centred,
        "clamped": up_to_eighty,
        "sum-over-everything": one_sum_for_all,
        "first-axis": torch_along_the_first_axis,
        "second-axis": torch_along_axis_one,
        "last-but-one-axis": torch_down_the_columns,
        "sum-loses-its-axis": sums_without_their_axis,
        "both-lose-their-axes": nothing_keeps_its_axis,
        "not-divided": one_at_the_top,
        "another-base": torch_to_the_power_of_ten,
        "smallest-gets-most": softmin,
        "each-by-itself": sigmoids,
        "log-of-the-weights": log_probabilities,
        "softmax-twice": probabilities_of_probabilities,
        "scaled": tempered,
        "no-exponential": shares_of_the_scores,
        "a-small-number-added": hardly_more_than_the_sum,
    },
    "dot_product_attention": {
        "scaled": torch_attention_with_its_scale,
        "cosine": cosine_similarity_of_each_input,
        "no-softmax": scores_times_inputs,
        "sigmoid": independent_gates,
        "divides-by-the-sum": shares_without_exponential,
        "wrong-axis": scores_as_a_column,
        "softmax-over-features": softmax_of_every_feature,
        "returns-weights": probabilities,
        "no-sum": weighted_rows,
        "averages": every_input_alike,
        "takes-the-largest": winner_takes_it_all,
        "adds-the-query": mix_and_residual,
        "keeps-a-row-axis": row_of_weights,
        "squeezes-everything": row_of_weights_squeezed,
        "overflows": exponentials_in_a_loop,
        "ignores-the-query": inputs_against_themselves,
    },
    "scaled_dot_product_attention_single": {
        "no-scale": torch_attention_with_scale_one,
        "scale-by-d": divides_by_the_width,
        "scale-by-n": divides_by_the_root_of_the_first_size,
        "twice-d": power_before_the_division,
        "half-of-d": half_the_width,
        "multiplies": times_the_root,
        "fourth-root": scale_of_one_half_of_the_product,
        "scales-the-weights": weights_over_the_root,
        "scales-twice": shrinks_the_inputs_for_good,
        "fixed-scale": width_of_the_paper,
        "no-softmax": scaled_scores_times_inputs,
        "sigmoid": scaled_gates,
        "wrong-axis": scaled_column,
        "returns-weights": scaled_probabilities,
        "returns-scores": scaled_scores,
        "keeps-a-row-axis": scaled_row_of_weights,
        "overflows": scaled_exponentials,
        "standardises": z_scores,
        "cosine": scaled_cosine,
    },
    "is_version_2": {
        "only-the-shape": looks_at_the_shape,
        "a-single-input": looks_at_one_input,
        "a-query-of-zeros": asks_with_zeros,
        "as-many-inputs-as-channels": square_example,
        "width-four": four_channels,
        "width-one": one_channel,
        "width-sixty-four": sixty_four_channels,
        "unit-vectors": normalised_vectors,
        "too-forgiving": tolerance_of_a_hundredth,
        "far-too-forgiving": tolerance_of_a_twentieth,
        "one-number-is-enough": any_for_all,
        "numbers-added-up": compares_the_sums,
        "takes-nan-for-right": looks_for_a_large_difference,
        "version-1-for-version-2": scale_forgotten_in_the_reference,
        "every-bit": equal_in_every_bit,
        "the-weights-sum-to-one": feature_of_ones,
        "a-loud-query": query_a_hundred_times_as_long,
        "raises-instead": asserts_closeness,
    },
}
