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


def columns_by_list(ids, table):
    return torch.stack([torch.stack([table[:, i] for i in row.tolist()]) for row in ids])


def gathers_one_list(ids, table):
    return table.index_select(0, ids.reshape(-1).long())


def loop_over_the_first_row(ids, table):
    return torch.stack([table[i] for i in ids[0]])


def places_outside(ids, table):
    return torch.stack([F.embedding(ids[:, t], table) for t in range(ids.shape[1])])


def channels_first(ids, table):
    return F.embedding(ids, table).permute(0, 2, 1)


def from_one_to_v(ids, table):
    return torch.stack([torch.stack([table[int(i) - 1] for i in row]) for row in ids])


def shifted_table(ids, table):
    return F.embedding(ids, table.roll(-1, dims=0))


def number_times_vector(ids, table):
    return torch.einsum("bt,d->btd", ids.to(table.dtype), table[0])


def row_of_the_place(ids, table):
    B, T = ids.shape
    rows = [table[t % len(table)] for t in range(T)]
    return torch.stack([torch.stack(rows)] * B)


def bag(ids, table):
    return torch.stack([sum(table[i] for i in row) for row in ids])


def times_root_d(ids, table):
    return F.embedding(ids, table) * torch.tensor(float(table.shape[-1])).sqrt().to(table)


def unit_vectors(ids, table):
    rows = F.embedding(ids, table)
    return rows / rows.norm(dim=-1, keepdim=True)


def ones_in_rows(ids, table):
    return torch.eye(len(table), dtype=table.dtype)[ids]


SPELLINGS = {
    "embed_tokens": {
        "takes-columns": columns_by_list,
        "one-long-list": gathers_one_list,
        "first-sentence-only": loop_over_the_first_row,
        "axes-in-another-order": places_outside,
        "feature-axis-in-front": channels_first,
        "counts-from-one": from_one_to_v,
        "next-row": shifted_table,
        "number-as-a-quantity": number_times_vector,
        "place-instead-of-token": row_of_the_place,
        "bag-of-words": bag,
        "scaled-by-width": times_root_d,
        "length-one": unit_vectors,
        "one-hot-rows": ones_in_rows,
    },
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
