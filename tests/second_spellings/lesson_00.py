"""Wrong answers of lesson 00: each is a mistake of the catalogue as somebody else would have written it."""

import torch
import torch.nn.functional as F


def running_total_over_the_count(weights, x):
    total = 0
    for w, row in zip(weights, x, strict=True):
        total = total + w * row
    return total / len(x)


def adds_row_after_row(weights, x):
    result = torch.zeros_like(x[0])
    for row in x:
        result = result + row
    return result


def formula_of_a_weighted_average(weights, x):
    numerator = (weights.unsqueeze(1) * x).sum(0)
    denominator = weights.sum()
    return numerator / denominator


def shares_by_softmax(weights, x):
    return torch.einsum("n,nd->d", F.softmax(weights, dim=0), x)


def list_of_scaled_rows(weights, x):
    scaled = [w * row for w, row in zip(weights, x, strict=True)]
    return torch.stack(scaled)


def einsum_that_keeps_n(weights, x):
    return torch.einsum("n,nd->n", weights, x)


def two_loops_and_one_number(weights, x):
    n, d = x.shape
    s = 0.0
    for i in range(n):
        for j in range(d):
            s += weights[i] * x[i, j]
    return s


def weights_on_both_sides(weights, x):
    weighted = torch.diag(weights) @ x
    return weights @ weighted


def row_with_the_best_weight(weights, x):
    best = 0
    for i in range(1, len(weights)):
        if weights[i] > weights[best]:
            best = i
    return x[best]


def range_one_too_short(weights, x):
    n = x.size(0)
    out = torch.zeros(x.size(1), dtype=x.dtype, device=x.device)
    for i in range(0, n - 1):
        out += weights[i] * x[i]
    return out


def matrix_times_vector(weights, x):
    return torch.mv(x, weights)


def broadcast_without_thinking(weights, x):
    products = torch.mul(x, weights)
    return products.sum(dim=0)


def return_inside_the_loop(weights, x):
    total = torch.zeros_like(x[0])
    for i, row in enumerate(x):
        total = total + weights[i] * row
        return total


def row_matrix_times_matrix(weights, x):
    return torch.mm(weights.reshape(1, -1), x)


def bmm_and_squeeze(weights, x):
    w = weights.view(1, 1, -1)
    return torch.bmm(w, x.unsqueeze(0)).squeeze()


SPELLINGS = {
    "weighted_sum": {
        "mean": running_total_over_the_count,
        "ignores-weights": adds_row_after_row,
        "normalises-weights": formula_of_a_weighted_average,
        "softmaxes-weights": shares_by_softmax,
        "no-sum": list_of_scaled_rows,
        "sums-features": einsum_that_keeps_n,
        "sums-everything": two_loops_and_one_number,
        "squared-weights": weights_on_both_sides,
        "takes-the-largest": row_with_the_best_weight,
        "forgets-the-last": range_one_too_short,
        "swaps-the-factors": matrix_times_vector,
        "misses-an-axis": broadcast_without_thinking,
        "only-the-first": return_inside_the_loop,
        "keeps-a-row-axis": row_matrix_times_matrix,
        "squeezes-everything": bmm_and_squeeze,
    },
}
UNNAMED = {}
