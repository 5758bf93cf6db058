"""Wrong answers of lesson 01: each is a mistake of the catalogue as somebody else would have written it."""

import torch
import torch.nn.functional as F


def softmax_of_the_plain_column(x, beta):
    pooled = []
    for column in x.unbind(dim=1):
        p = F.softmax(column, dim=0)
        pooled.append(torch.dot(p, column))
    return torch.stack(pooled)


def beta_as_a_temperature(x, beta):
    temperature = beta
    p = F.softmax(x / temperature, dim=0)
    return torch.einsum("nd,nd->d", p, x)


def softmax_of_each_row(x, beta):
    p = torch.stack([F.softmax(beta * row, dim=-1) for row in x])
    return torch.sum(p * x, 0)


def flattened_softmax(x, beta):
    p = F.softmax((x * beta).flatten(), dim=0).view_as(x)
    return p.mul(x).sum(0)


def scores_as_they_are(x, beta):
    n, d = x.shape
    out = torch.zeros(d, dtype=x.dtype, device=x.device)
    for i in range(n):
        out = out + (beta * x[i]) * x[i]
    return out


def scores_over_their_sum(x, beta):
    scores = beta * x
    p = scores / scores.sum(dim=0)
    return torch.einsum("nd,nd->d", p, x)


def exponentials_without_a_denominator(x, beta):
    return torch.einsum("nd,nd->d", torch.exp(x * beta), x)


def sigmoid_gate(x, beta):
    gate = 1 / (1 + torch.exp(-beta * x))
    return (gate * x).sum(dim=0)


def softmax_and_then_beta(x, beta):
    p = beta * F.softmax(x, dim=0)
    return (p.T.unsqueeze(1) @ x.T.unsqueeze(2)).flatten()


def pools_the_scaled_numbers(x, beta):
    z = x * beta
    pooled = [torch.dot(column.softmax(0), column) for column in z.T]
    return torch.stack(pooled)


def largest_of_every_column(x, beta):
    return torch.stack([max(column) for column in x.T])


def softmin(x, beta):
    p = F.softmin(beta * x, dim=0)
    return (x * p).sum(dim=0)


def smooth_maximum(x, beta):
    return torch.logsumexp(beta * x, dim=0) / beta


def scores_by_the_root_of_the_width(x, beta):
    d = x.size(-1)
    p = F.softmax(beta * x / d**0.5, dim=0)
    return torch.einsum("nd,nd->d", p, x)


def only_the_distribution(x, beta):
    columns = [F.softmax(beta * c, dim=0) for c in x.T]
    return torch.stack(columns, dim=1)


def products_left_as_they_are(x, beta):
    log_p = F.log_softmax(beta * x, dim=0)
    return log_p.exp().mul(x)


def sum_along_the_last_axis(x, beta):
    p = F.softmax(beta * x, 0)
    return torch.einsum("nd,nd->n", p, x)


def mean_of_the_products(x, beta):
    p = F.softmax(beta * x, dim=0)
    return torch.mean(p * x, axis=0)


def transposed_weights_times_x(x, beta):
    p = F.softmax(beta * x, dim=0)
    return torch.einsum("ni,nj->ij", p, x)


def exponentials_by_hand(x, beta):
    n, d = x.shape
    out = []
    for j in range(d):
        e = [torch.exp(beta * x[i, j]) for i in range(n)]
        out.append(sum(e[i] / sum(e) * x[i, j] for i in range(n)))
    return torch.stack(out)


def safe_with_one_maximum(x, beta):
    z = beta * x
    z = z - torch.max(z)
    numerator = z.exp()
    p = numerator / numerator.sum(0, keepdim=True)
    return torch.einsum("nd,nd->d", p, x)


def squeezed_at_the_end(x, beta):
    p = F.softmax(beta * x, dim=0)
    return torch.bmm(p.T[:, None, :], x.T[:, :, None]).squeeze()


SPELLINGS = {
    "soft_max_pool": {
        "ignores-beta": softmax_of_the_plain_column,
        "divides-by-beta": beta_as_a_temperature,
        "wrong-axis": softmax_of_each_row,
        "softmax-over-everything": flattened_softmax,
        "no-softmax": scores_as_they_are,
        "divides-by-the-sum": scores_over_their_sum,
        "not-normalised": exponentials_without_a_denominator,
        "sigmoid": sigmoid_gate,
        "beta-after-the-softmax": softmax_and_then_beta,
        "mixes-the-scores": pools_the_scaled_numbers,
        "hard-max": largest_of_every_column,
        "takes-the-smallest": softmin,
        "log-sum-exp": smooth_maximum,
        "scaled-by-root-d": scores_by_the_root_of_the_width,
        "returns-weights": only_the_distribution,
        "no-sum": products_left_as_they_are,
        "sums-the-channels": sum_along_the_last_axis,
        "averages-the-products": mean_of_the_products,
        "product-of-matrices": transposed_weights_times_x,
        "overflows": exponentials_by_hand,
        "one-number-subtracted-from-all": safe_with_one_maximum,
        "squeezes-everything": squeezed_at_the_end,
    },
}
