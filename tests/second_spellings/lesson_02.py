"""Wrong answers of lesson 02: each is a mistake of the catalogue as somebody else would have written it."""

import math

import torch
import torch.nn.functional as F


def torch_attention_as_it_comes(x):
    tokens = x.unsqueeze(0)
    return F.scaled_dot_product_attention(tokens, tokens, tokens).squeeze(0)


def cosine_similarities(x):
    sim = F.cosine_similarity(x[:, None, :], x[None, :, :], dim=-1)
    return torch.einsum("ts,sd->td", F.softmax(sim, dim=1), x)


def softmax_down_the_columns(x):
    sim = torch.einsum("id,jd->ij", x, x)
    attn = F.softmax(sim, dim=0)
    return torch.stack([sum(attn[i, j] * x[j] for j in range(len(x))) for i in range(len(x))])


def three_factors(x):
    gram = x.T @ x
    return x @ gram


def sigmoids_of_dot_products(x):
    rows = []
    for query in x:
        gates = torch.sigmoid(torch.stack([torch.dot(query, key) for key in x]))
        rows.append(gates @ x)
    return torch.stack(rows)


def shares_of_the_plain_sum(x):
    rows = []
    for query in x:
        s = torch.mv(x, query)
        rows.append(torch.mv(x.T, s / s.sum()))
    return torch.stack(rows)


def denominator_without_its_axis(x):
    scores = torch.mm(x, x.t())
    numerator = torch.exp(scores - scores.max())
    denominator = torch.einsum("ts->t", numerator)
    return torch.einsum("ts,sd->td", numerator / denominator, x)


def bare_exponentials_and_a_denominator_without_its_axis(x):
    numerator = torch.exp(torch.mm(x, x.t()))
    denominator = torch.einsum("ts->t", numerator)
    return torch.einsum("ts,sd->td", numerator / denominator, x)


def unit_vectors_from_the_beginning(x):
    lengths = x.pow(2).sum(-1, keepdim=True).sqrt()
    unit = x / lengths
    attn = F.softmax(torch.einsum("td,sd->ts", unit, unit), dim=-1)
    return torch.einsum("ts,sd->td", attn, unit)


def features_meet_features(x):
    sim = torch.einsum("ti,tj->ij", x, x)
    return torch.einsum("ij,tj->ti", F.softmax(sim, dim=-1), x)


def writes_over_its_copy(x):
    y = x.clone()
    for t in range(y.shape[0]):
        p = torch.softmax(torch.mv(y, y[t]), dim=0)
        y[t] = torch.mv(y.T, p)
    return y


def all_the_other_tokens(x):
    rows = []
    for t in range(len(x)):
        others = torch.cat([x[:t], x[t + 1:]])
        p = F.softmax(others @ x[t], dim=0)
        rows.append(p @ others)
    return torch.stack(rows)


def diagonal_at_minus_infinity(x):
    scores = torch.einsum("td,sd->ts", x, x)
    scores.fill_diagonal_(-math.inf)
    return F.softmax(scores, dim=1) @ x


def map_of_attention(x):
    return torch.stack([F.softmax(torch.mv(x, token), dim=0) for token in x])


def same_average_everywhere(x):
    t = x.shape[0]
    return torch.ones(t, t, dtype=x.dtype, device=x.device).div(t).mm(x)


def nearest_token(x):
    best = torch.einsum("td,sd->ts", x, x).max(dim=1).indices
    return torch.stack([x[i] for i in best])


def plus_the_residual(x):
    out = x.clone()
    for t, query in enumerate(x):
        out[t] += F.softmax(x @ query, dim=0) @ x
    return out


def lower_triangle_only(x):
    rows = []
    for t in range(len(x)):
        seen = x[:t + 1]
        rows.append(F.softmax(seen @ x[t], dim=0) @ seen)
    return torch.stack(rows)


def minus_the_distance(x):
    return F.softmax(-torch.cdist(x, x), dim=-1) @ x


def one_maximum_for_the_table(x):
    sim = torch.einsum("td,sd->ts", x, x)
    numerator = torch.exp(sim - sim.max())
    return (numerator / numerator.sum(1, keepdim=True)) @ x


def minus_the_diagonal(x):
    rows = []
    for query in x:
        e = torch.exp(x @ query - query @ query)
        rows.append((e / e.sum()) @ x)
    return torch.stack(rows)


def plain_exponentials(x):
    rows = []
    for query in x:
        e = torch.stack([torch.exp((query * key).sum()) for key in x])
        rows.append(sum(p * token for p, token in zip(e, x, strict=True)) / e.sum())
    return torch.stack(rows)


def squeezed_batch(x):
    batch = x.unsqueeze(0)
    attn = F.softmax(torch.bmm(batch, batch.transpose(1, 2)), dim=-1)
    return torch.bmm(attn, batch).squeeze()


SPELLINGS = {
    "reweight": {
        "scaled": torch_attention_as_it_comes,
        "cosine": cosine_similarities,
        "wrong-axis": softmax_down_the_columns,
        "no-softmax": three_factors,
        "sigmoid": sigmoids_of_dot_products,
        "divides-by-the-sum": shares_of_the_plain_sum,
        "divides-columns": denominator_without_its_axis,
        "mixes-unit-vectors": unit_vectors_from_the_beginning,
        "one-token-after-another": writes_over_its_copy,
        "without-itself": all_the_other_tokens,
        "hides-itself-with-infinity": diagonal_at_minus_infinity,
        "returns-weights": map_of_attention,
        "averages": same_average_everywhere,
        "takes-the-largest": nearest_token,
        "adds-the-input": plus_the_residual,
        "causal": lower_triangle_only,
        "distance": minus_the_distance,
        "one-number-subtracted-from-all": one_maximum_for_the_table,
        "its-own-score-subtracted": minus_the_diagonal,
        "overflows": plain_exponentials,
        "squeezes-everything": squeezed_batch,
        "mixes-features": features_meet_features,
    },
}

UNNAMED = {
    "reweight": {
        "divides-columns": (
            bare_exponentials_and_a_denominator_without_its_axis,
            "it overflows, too; of a table that is the same when turned, its columns may as well have been summed",
            "wrong-axis", "overflows",
        ),
    },
}
