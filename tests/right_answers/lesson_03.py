"""Right answers of lesson 03 in other people's styles."""

import torch
import torch.nn.functional as F

from tests.right_answers.loops import mix


def one_by_one(q, x, W_q, W_x, v):
    energies = []
    for row in x:
        hidden = torch.tanh(sum(q[i] * W_q[i] for i in range(len(q))) + sum(row[j] * W_x[j] for j in range(len(row))))
        energies.append((v * hidden).sum())
    return mix(torch.stack(energies), x)


def side_by_side(q, x, W_q, W_x, v):
    """Query and input side by side through one tall matrix: Luong's "concat"."""
    both = torch.cat([q.expand(len(x), -1), x], dim=1)
    return torch.softmax(torch.tanh(both @ torch.cat([W_q, W_x])) @ v, 0) @ x


def columns(q, x, W_q, W_x, v):
    hidden = torch.tanh(W_q.t().mv(q).unsqueeze(1) + W_x.t() @ x.t())  # (D_a, N)
    return (x.t() @ torch.softmax(v[None] @ hidden, dim=1).t())[:, 0]


def tanh_by_exponentials(q, x, W_q, W_x, v):
    """tanh(z) is 2 sigmoid(2 z) - 1."""
    hidden = 2 * torch.sigmoid(2 * (q @ W_q + x @ W_x)) - 1
    energies = (hidden * v).sum(-1)
    weights = torch.exp(energies - energies.max())
    return (weights[:, None] * x).sum(0) / weights.sum()


def sentence_by_sentence(s, h, W_d, W_e, v, mask=None):
    contexts, weights = [], []
    for b in range(len(h)):
        energies = []
        for t in range(h.shape[1]):
            energy = torch.tanh(s[b] @ W_d + h[b, t] @ W_e) @ v
            energies.append(energy if mask is None or mask[b, t] else energy - float("inf"))
        w = torch.softmax(torch.stack(energies), 0)
        contexts.append(sum(w[t] * h[b, t] for t in range(h.shape[1])))
        weights.append(w)
    return torch.stack(contexts), torch.stack(weights)


def padding_cut_out(s, h, W_d, W_e, v, mask=None):
    mask = torch.ones_like(h[..., 0], dtype=torch.bool) if mask is None else mask
    weights = torch.zeros_like(h[..., 0])
    for b in range(len(h)):
        real = h[b][mask[b]]
        weights[b, mask[b]] = torch.softmax(torch.tanh(s[b] @ W_d + real @ W_e) @ v, 0)
    return torch.bmm(weights.unsqueeze(1), h).squeeze(1), weights


def einsums(s, h, W_d, W_e, v, mask=None):
    hidden = torch.einsum("bd,da->ba", s, W_d).unsqueeze(1) + torch.einsum("bte,ea->bta", h, W_e)
    energies = torch.einsum("bta,a->bt", hidden.tanh(), v)
    if mask is not None:
        energies = torch.where(mask, energies, torch.full_like(energies, -1e9))
    weights = energies.softmax(1)
    return torch.einsum("bt,bte->be", weights, h), weights


def functional(s, h, W_d, W_e, v, mask=None):
    hidden = torch.tanh(F.linear(s, W_d.T)[:, None, :].expand(-1, h.size(1), -1) + F.linear(h, W_e.T))
    energies = F.linear(hidden, v[None]).squeeze(2)
    if mask is not None:
        energies = energies + torch.zeros_like(energies).masked_fill(mask.logical_not(), float("-inf"))
    weights = F.softmax(energies, dim=1)
    return (weights.unsqueeze(-1) * h).sum(dim=1), weights


def exponentials_by_hand(s, h, W_d, W_e, v, mask=None):
    """From each real energy the largest real one is subtracted; exponentials by hand, and none for padding."""
    energies = torch.tanh((s @ W_d).unsqueeze(1) + h @ W_e) @ v
    real = torch.ones_like(energies, dtype=torch.bool) if mask is None else mask
    largest = energies.masked_fill(~real, -torch.inf).amax(1, keepdim=True)
    exponentials = torch.exp((energies - largest).masked_fill(~real, -torch.inf))
    weights = exponentials / exponentials.sum(1, keepdim=True)
    return (weights[:, None] @ h).squeeze(1), weights


def log_sum_exp(s, h, W_d, W_e, v, mask=None):
    energies = torch.tanh((s @ W_d).unsqueeze(1) + h @ W_e) @ v
    energies = energies if mask is None else energies.where(mask, torch.finfo(energies.dtype).min)
    weights = torch.exp(energies - energies.logsumexp(1, keepdim=True))
    return (weights[..., None] * h).sum(1), weights


def built_in(s, h, W_d, W_e, v, mask=None):
    """torch's attention, asked by v; the weights come from one-hot values."""
    hidden = torch.tanh((s @ W_d)[:, None] + h @ W_e)
    places = torch.eye(h.shape[1], dtype=h.dtype, device=h.device).expand(len(h), -1, -1)
    allowed = None if mask is None else mask[:, None]
    query = v.expand(len(h), 1, -1)
    return tuple(F.scaled_dot_product_attention(query, hidden, values, attn_mask=allowed, scale=1.0)[:, 0]
                 for values in (h, places))


RIGHT_ANSWERS = {
    "additive_attention": {
        "loop": one_by_one,
        "side by side": side_by_side,
        "columns": columns,
        "by exponentials": tanh_by_exponentials,
        "einsum": lambda q, x, W_q, W_x, v: torch.einsum(
            "n,nd->d", torch.einsum("na,a->n", (q @ W_q + torch.einsum("nd,da->na", x, W_x)).tanh(), v).softmax(0), x),
        "linear layers": lambda q, x, W_q, W_x, v: F.softmax(
            F.linear(torch.tanh(F.linear(q, W_q.T)[None] + F.linear(x, W_x.T)), v[None]), dim=0).squeeze(1) @ x,
    },
    "bahdanau_context": {
        "loop": sentence_by_sentence,
        "padding cut out": padding_cut_out,
        "einsum": einsums,
        "functional": functional,
        "exponentials by hand": exponentials_by_hand,
        "log-sum-exp": log_sum_exp,
        "built-in": built_in,
    },
}
