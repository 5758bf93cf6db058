"""Mistakes of lesson 14, each as somebody else would make it who never saw the course's own spelling."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# convolution_pattern


def convolution_turned_round(kernel, T):
    K = kernel.numel()
    M = kernel.new_zeros(T, T)
    for t in range(T):
        for k in range(K):
            s = t + K // 2 - k
            if 0 <= s < T:
                M[t, s] = kernel[k]
    return M


def convolution_looks_back_only(kernel, T):
    K = kernel.numel()
    diagonals = [torch.diag_embed(kernel[K - 1 - back].expand(T - back), offset=-back) for back in range(min(K, T))]
    return sum(diagonals)


def convolution_looks_ahead_only(kernel, T):
    rows = [F.pad(kernel, (t, T))[:T] for t in range(T)]
    return torch.stack(rows)


def convolution_one_too_far(kernel, T):
    K, M = len(kernel), kernel.new_zeros(T, T)
    middle = (K + 1) // 2
    for t in range(T):
        for k in range(K):
            if 0 <= t + k - middle < T:
                M[t, t + k - middle] = kernel[k]
    return M


def convolution_goes_round(kernel, T):
    K, M = len(kernel), kernel.new_zeros(T, T)
    for t in range(T):
        for k in range(K):
            M[t, (t + k - K // 2) % T] += kernel[k]
    return M


def convolution_repeats_the_edge(kernel, T):
    K, eye = len(kernel), torch.eye(T, dtype=kernel.dtype)
    padded = F.pad(eye[None], (K // 2, K // 2), mode="replicate")
    return F.conv1d(padded.transpose(0, 1), kernel[None, None]).squeeze(1).T


def convolution_leaves_the_edges_out(kernel, T):
    K, half = len(kernel), len(kernel) // 2
    M = kernel.new_zeros(T, T)
    for t in range(half, T - half):
        M[t, t - half : t - half + K] = kernel
    return M


def convolution_rows_that_fit(kernel, T):
    K = len(kernel)
    M = kernel.new_zeros(max(T - K + 1, 0), T)
    for t, row in enumerate(M):
        row[t : t + K] = kernel
    return M


def convolution_rolled_round(kernel, T):
    row = F.pad(kernel, (0, T))[:T].roll(-(len(kernel) // 2))
    return torch.stack([row.roll(t) for t in range(T)])


def banded(kernel, T):
    """The right matrix: the kernel slid along a row with room on both sides."""
    wide = F.pad(kernel, (T, T))
    start = T + len(kernel) // 2
    return torch.stack([wide[start - t : start - t + T] for t in range(T)])


def convolution_rows_sum_to_one(kernel, T):
    M = banded(kernel, T)
    for t in range(T):
        M[t] = M[t] / M[t].sum()
    return M


def convolution_by_softmax(kernel, T):
    e = kernel.exp()
    return banded(e / e.sum(), T)


def convolution_same_row(kernel, T):
    return F.pad(kernel, (0, T))[:T].repeat(T, 1)


def convolution_only_the_middle(kernel, T):
    return kernel[len(kernel) // 2] * torch.eye(T)


def convolution_by_ones(kernel, T):
    ones = torch.ones(T, T).to(kernel)
    half = len(kernel) // 2
    return ones.triu(-half).tril(half)


def convolution_by_distance(kernel, T):
    half, M = len(kernel) // 2, kernel.new_zeros(T, T)
    for t in range(T):
        for s in range(T):
            if abs(t - s) <= half:
                M[t, s] = kernel[half + abs(t - s)]
    return M


def convolution_always_three(kernel, T):
    M = kernel.new_zeros(T, T)
    for t in range(T):
        for k, weight in enumerate(kernel):
            if 0 <= t - 1 + k < T:
                M[t, t - 1 + k] = weight
    return M


# recurrence_pattern


def by_products(gates, first, last):
    """The matrix of products of gates[first(s) : last(t)], for s up to t."""
    M = torch.zeros(len(gates), len(gates)).to(gates)
    for t in range(len(gates)):
        for s in range(t + 1):
            M[t, s] = gates[first(s, t) : last(s, t)].prod()
    return M


def recurrence_own_gate_too(gates):
    return by_products(gates, lambda s, t: s, lambda s, t: t + 1)


def recurrence_gate_of_the_step_before(gates):
    """Every unit vector is sent through the loop."""
    columns = []
    for unit in torch.eye(len(gates)).to(gates):
        h = [unit[0]]
        for t in range(1, len(gates)):
            h.append(gates[t - 1] * h[-1] + unit[t])
        columns.append(torch.stack(h))
    return torch.stack(columns, dim=1)


def recurrence_a_gate_missing(gates):
    return by_products(gates, lambda s, t: s + 1, lambda s, t: t)


def recurrence_power_of_the_last(gates):
    M = torch.zeros(len(gates), len(gates)).to(gates)
    for t, gate in enumerate(gates):
        for s in range(t + 1):
            M[t, s] = gate ** (t - s)
    return M


def recurrence_power_of_the_first(gates):
    steps = torch.arange(len(gates))
    distance = (steps.unsqueeze(1) - steps).clamp(min=0)
    return torch.tril(gates[0].pow(distance))


def loop_pattern(gates):
    """The right matrix, a row from the one above it."""
    n = len(gates)
    eye = torch.eye(n).to(gates)
    rows = [eye[0]]
    for t in range(1, n):
        rows.append(gates[t] * rows[-1] + eye[t])
    return torch.stack(rows)


def recurrence_turned_over(gates):
    return torch.einsum("ts->st", loop_pattern(gates))


def recurrence_hears_the_future(gates):
    M = torch.ones(len(gates), len(gates)).to(gates)
    for t in range(len(gates)):
        for s in range(t):
            M[t, s] = gates[s + 1 : t + 1].prod()
    return M


def recurrence_by_quotients(gates):
    so_far = torch.cumprod(gates, 0)
    M = torch.outer(so_far, 1 / so_far)
    return torch.where(torch.ones_like(M).tril().bool(), M, 0)


def recurrence_by_logarithms(gates):
    total = torch.cumsum(gates.log(), dim=0)
    difference = total.unsqueeze(1) - total.unsqueeze(0)
    return difference.exp().tril()


def recurrence_own_word_missing(gates):
    return loop_pattern(gates) - torch.eye(len(gates)).to(gates)


def recurrence_one_step_only(gates):
    return torch.diag(gates[1:], -1) + torch.eye(len(gates)).to(gates)


def recurrence_adds_the_gates(gates):
    n = len(gates)
    M = torch.eye(n).to(gates)
    for t in range(n):
        for s in range(t):
            M[t, s] = gates[s + 1 : t + 1].sum()
    return M


def recurrence_rows_to_one(gates):
    return torch.stack([row / row.sum() for row in loop_pattern(gates)])


def recurrence_lets_in_the_rest(gates):
    n = len(gates)
    eye = torch.eye(n).to(gates)
    rows = [eye[0] * (1 - gates[0])]
    for t in range(1, n):
        rows.append(gates[t] * rows[-1] + (1 - gates[t]) * eye[t])
    return torch.stack(rows)


def recurrence_last_row_only(gates):
    weight, row = torch.ones(()).to(gates), []
    for gate in reversed(gates.unbind()):
        row.append(weight)
        weight = weight * gate
    return torch.stack(row[::-1])


def recurrence_inverse(gates):
    return torch.linalg.inv(loop_pattern(gates))


def recurrence_minus_sign(gates):
    step_back = torch.diag_embed(gates[1:], offset=-1)
    return torch.linalg.inv(torch.eye(len(gates)).to(gates) + step_back)


# message_passing


def listen(x, adjacency, message, senders_of):
    """What every node gathers, one node after another."""
    gathered = []
    for i in range(len(x)):
        letters = [message(x[i], x[j]) for j in senders_of(adjacency, i)]
        gathered.append(sum(letters) if letters else torch.zeros_like(message(x[i], x[i])))
    return torch.stack(gathered)


def in_row(adjacency, i):
    return adjacency[i].nonzero().flatten().tolist()


def in_column(adjacency, i):
    return adjacency[:, i].nonzero().flatten().tolist()


def graph_edges_turned_round(x, adjacency, message, update):
    return update(x, listen(x, adjacency, message, in_column))


def graph_arguments_swapped(x, adjacency, message, update):
    return update(x, listen(x, adjacency, lambda receiver, sender: message(sender, receiver), in_row))


def graph_collected_by_the_sender(x, adjacency, message, update):
    to, frm = adjacency.nonzero(as_tuple=True)
    sent = message(x[to], x[frm])
    return update(x, sent.new_zeros(len(x), sent.shape[-1]).index_add(0, frm, sent))


def graph_mean_of_messages(x, adjacency, message, update):
    total = listen(x, adjacency, message, in_row)
    neighbours = adjacency.sum(1).clamp(min=1)
    return update(x, total / neighbours.unsqueeze(1))


def graph_largest_message(x, adjacency, message, update):
    gathered = []
    for i, row in enumerate(adjacency):
        heard = message(x[i].expand_as(x), x)[row]
        gathered.append(heard.amax(0) if len(heard) else heard.sum(0))
    return update(x, torch.stack(gathered))


def graph_mean_over_all_nodes(x, adjacency, message, update):
    messages = message(x[:, None], x[None])
    return update(x, (adjacency.unsqueeze(-1) * messages).mean(dim=1))


def graph_largest_message_or_zero(x, adjacency, message, update):
    messages = message(x[:, None], x[None])
    return update(x, (adjacency.unsqueeze(-1) * messages).amax(dim=1))


def graph_everybody_hears_everybody(x, adjacency, message, update):
    return update(x, listen(x, adjacency, message, lambda adjacency, i: range(len(x))))


def graph_strangers_only(x, adjacency, message, update):
    return update(x, listen(x, torch.logical_not(adjacency), message, in_row))


def graph_always_hears_itself(x, adjacency, message, update):
    return update(x, listen(x, adjacency, message, lambda adjacency, i: {i, *in_row(adjacency, i)}))


def graph_never_hears_itself(x, adjacency, message, update):
    return update(x, listen(x, adjacency, message, lambda adjacency, i: [j for j in in_row(adjacency, i) if j != i]))


def graph_both_ways(x, adjacency, message, update):
    either = torch.maximum(adjacency.int(), adjacency.T.int())
    return update(x, listen(x, either, message, in_row))


def graph_no_update(x, adjacency, message, update):
    return listen(x, adjacency, message, in_row)


def graph_update_swapped(x, adjacency, message, update):
    return torch.stack([update(g, node) for g, node in zip(listen(x, adjacency, message, in_row), x, strict=True)])


def graph_adds_instead(x, adjacency, message, update):
    return x.add(listen(x, adjacency, message, in_row))


def graph_no_message(x, adjacency, message, update):
    return update(x, adjacency.to(x.dtype) @ x)


def graph_one_message_about_the_sum(x, adjacency, message, update):
    heard = torch.stack([x[row].sum(0) for row in adjacency])
    return update(x, message(x, heard))


def graph_sender_alone(x, adjacency, message, update):
    return update(x, torch.einsum("ij,jm->im", adjacency.to(x.dtype), message(x, x)))


def graph_receiver_alone(x, adjacency, message, update):
    return update(x, listen(x, adjacency, lambda receiver, sender: message(receiver, receiver), in_row))


def graph_update_for_each_message(x, adjacency, message, update):
    rows = []
    for i in range(len(x)):
        new = torch.zeros_like(update(x[i], message(x[i], x[i])))
        for j in in_row(adjacency, i):
            new = new + update(x[i], message(x[i], x[j]))
        rows.append(new)
    return torch.stack(rows)


def graph_one_after_another(x, adjacency, message, update):
    nodes = list(x)
    for i in range(len(nodes)):
        gathered = torch.zeros_like(message(nodes[i], nodes[i]))
        for j in in_row(adjacency, i):
            gathered = gathered + message(nodes[i], nodes[j])
        nodes[i] = update(nodes[i], gathered)
    return torch.stack(nodes)


# attention_on_graph


def attend(x, neighbours, W_q, W_k, W_v, scale=None):
    """Node by node, over the list of those that it hears."""
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scale = scale or math.sqrt(W_k.shape[1])
    rows = []
    for i, heard in enumerate(neighbours):
        if not heard:
            rows.append(torch.zeros_like(v[0]))
            continue
        weights = F.softmax(k[heard] @ q[i] / scale, dim=0)
        rows.append(weights @ v[heard])
    return torch.stack(rows)


def heard_by(adjacency):
    return [row.nonzero().flatten().tolist() for row in adjacency]


def nodes_ignore_the_graph(x, adjacency, W_q, W_k, W_v):
    return F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v)


def nodes_invert_the_graph(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(~adjacency), W_q, W_k, W_v)


def nodes_turn_the_graph_round(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency.unbind(1)), W_q, W_k, W_v)


def nodes_hear_both_ways(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency + adjacency.T), W_q, W_k, W_v)


def nodes_hear_themselves(x, adjacency, W_q, W_k, W_v):
    neighbours = [sorted({i, *heard}) for i, heard in enumerate(heard_by(adjacency))]
    return attend(x, neighbours, W_q, W_k, W_v)


def nodes_are_deaf_to_themselves(x, adjacency, W_q, W_k, W_v):
    neighbours = [[j for j in heard if j != i] for i, heard in enumerate(heard_by(adjacency))]
    return attend(x, neighbours, W_q, W_k, W_v)


def nodes_masked_after_the_softmax(x, adjacency, W_q, W_k, W_v):
    scores = torch.einsum("ik,jk->ij", x @ W_q, x @ W_k) / math.sqrt(W_q.shape[1])
    weights = F.softmax(scores, dim=1)
    weights = torch.where(adjacency, weights, torch.zeros_like(weights))
    return torch.mm(weights, x.mm(W_v))


def nodes_with_nothing_left(x, adjacency, W_q, W_k, W_v):
    scores = torch.einsum("ik,jk->ij", x @ W_q, x @ W_k) / math.sqrt(W_q.shape[1])
    weights = F.softmax(scores, dim=1) * adjacency
    weights = F.normalize(weights, p=1, dim=1)
    return weights @ (x @ W_v)


def nodes_with_a_mask_merely_low(x, adjacency, W_q, W_k, W_v):
    scores = (x @ W_q) @ (x @ W_k).t() / W_q.shape[1] ** 0.5
    scores = scores + (1 - adjacency.to(scores.dtype)) * -10000.0
    weights = scores.softmax(-1)
    return (weights * adjacency.any(1, keepdim=True)) @ (x @ W_v)


def nodes_with_scores_of_zero(x, adjacency, W_q, W_k, W_v):
    scores = adjacency * ((x @ W_q) @ (x @ W_k).T) / math.sqrt(W_q.size(-1))
    return nn.Softmax(dim=-1)(scores) @ x @ W_v


def nodes_with_scores_of_zero_but_for_the_lonely(x, adjacency, W_q, W_k, W_v):
    scores = (x @ W_q) @ (x @ W_k).T / W_q.shape[-1] ** 0.5
    weights = torch.where(adjacency, scores, 0).softmax(-1)
    return weights.masked_fill(~adjacency.any(dim=1, keepdim=True), 0) @ (x @ W_v)


def nodes_with_a_mask_low_twice(x, adjacency, W_q, W_k, W_v):
    scores = (x @ W_q) @ (x @ W_k).T / W_q.shape[-1] ** 0.5
    weights = scores.masked_fill(~adjacency, -1e4).softmax(-1) * adjacency
    return weights @ (x @ W_v)


def nodes_mean_for_the_lonely(x, adjacency, W_q, W_k, W_v):
    scores = torch.einsum("id,dk,jk->ij", x, W_q, x @ W_k) / math.sqrt(W_q.size(1))
    scores = torch.where(adjacency, scores, -1e9)
    return nn.Softmax(dim=-1)(scores).matmul(x).matmul(W_v)


def nodes_nan_for_the_lonely(x, adjacency, W_q, W_k, W_v):
    scores = torch.einsum("id,dk,jk->ij", x, W_q, x @ W_k) / math.sqrt(W_q.size(1))
    e = scores.sub(scores.amax(-1, keepdim=True)).exp().mul(adjacency)
    return e / e.sum(dim=-1, keepdim=True) @ x @ W_v


def nodes_soften_down_the_columns(x, adjacency, W_q, W_k, W_v):
    scores = ((x @ W_q) @ (x @ W_k).T / math.sqrt(W_q.shape[1])).masked_fill(~adjacency, -1e30)
    e = (scores - scores.max(0, keepdim=True).values).exp() * adjacency
    return e / e.sum(0, keepdim=True).clamp(min=1e-12) @ (x @ W_v)


def nodes_without_scale(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency), W_q, W_k, W_v, scale=1.0)


def nodes_scaled_by_width(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency), W_q, W_k, W_v, scale=math.sqrt(x.shape[1]))


def nodes_scaled_without_root(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency), W_q, W_k, W_v, scale=W_k.shape[1])


def nodes_with_query_and_key_swapped(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency), W_q=W_k, W_k=W_q, W_v=W_v)


def nodes_with_keys_for_queries(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency), W_k, W_k, W_v)


def nodes_compare_nobody(x, adjacency, W_q, W_k, W_v):
    v = x @ W_v
    return torch.stack([v[row].mean(0) if row.any() else v.new_zeros(v.shape[1]) for row in adjacency])


def nodes_that_do_not_divide(x, adjacency, W_q, W_k, W_v):
    e = torch.exp((x @ W_q) @ (x @ W_k).T / math.sqrt(W_q.shape[1]))
    return torch.einsum("ij,ij,jv->iv", e, adjacency.to(e.dtype), x @ W_v)


def nodes_that_mix_x(x, adjacency, W_q, W_k, W_v):
    return attend(x, heard_by(adjacency), W_q, W_k, torch.eye(x.shape[1]).to(x))


SPELLINGS = {
    "convolution_pattern": {
        "turned-round": convolution_turned_round,
        "looks-back-only": convolution_looks_back_only,
        "looks-ahead-only": convolution_looks_ahead_only,
        "one-too-far": convolution_one_too_far,
        "goes-round": convolution_goes_round,
        "repeats-the-edge": convolution_repeats_the_edge,
        "leaves-the-edges-out": convolution_leaves_the_edges_out,
        "rows-that-fit": convolution_rows_that_fit,
        "rows-sum-to-one": convolution_rows_sum_to_one,
        "softmax-of-the-kernel": convolution_by_softmax,
        "same-row-everywhere": convolution_same_row,
        "only-the-middle": convolution_only_the_middle,
        "which-without-how-strongly": convolution_by_ones,
        "always-three": convolution_always_three,
        "by-distance": convolution_by_distance,
    },
    "recurrence_pattern": {
        "own-gate-too": recurrence_own_gate_too,
        "gate-of-the-step-before": recurrence_gate_of_the_step_before,
        "a-gate-missing": recurrence_a_gate_missing,
        "power-of-the-last": recurrence_power_of_the_last,
        "power-of-the-first": recurrence_power_of_the_first,
        "turned-over": recurrence_turned_over,
        "hears-the-future": recurrence_hears_the_future,
        "quotient-of-products": recurrence_by_quotients,
        "sum-of-logarithms": recurrence_by_logarithms,
        "own-word-missing": recurrence_own_word_missing,
        "one-step-only": recurrence_one_step_only,
        "adds-the-gates": recurrence_adds_the_gates,
        "rows-to-one": recurrence_rows_to_one,
        "last-row-only": recurrence_last_row_only,
        "minus-sign": recurrence_minus_sign,
        "inverse": recurrence_inverse,
        "lets-in-the-rest": recurrence_lets_in_the_rest,
    },
    "message_passing": {
        "edges-turned-round": graph_edges_turned_round,
        "arguments-swapped": graph_arguments_swapped,
        "collected-by-the-sender": graph_collected_by_the_sender,
        "mean-of-messages": graph_mean_of_messages,
        "divided-by-all-nodes": graph_mean_over_all_nodes,
        "largest-message": graph_largest_message,
        "everybody-hears-everybody": graph_everybody_hears_everybody,
        "strangers-only": graph_strangers_only,
        "always-hears-itself": graph_always_hears_itself,
        "never-hears-itself": graph_never_hears_itself,
        "both-ways": graph_both_ways,
        "no-update": graph_no_update,
        "update-swapped": graph_update_swapped,
        "adds-instead": graph_adds_instead,
        "no-message": graph_no_message,
        "one-message-about-the-sum": graph_one_message_about_the_sum,
        "sender-alone": graph_sender_alone,
        "receiver-alone": graph_receiver_alone,
        "update-for-each-message": graph_update_for_each_message,
        "one-after-another": graph_one_after_another,
    },
    "attention_on_graph": {
        "graph-ignored": nodes_ignore_the_graph,
        "graph-inverted": nodes_invert_the_graph,
        "graph-turned-round": nodes_turn_the_graph_round,
        "graph-both-ways": nodes_hear_both_ways,
        "hears-itself": nodes_hear_themselves,
        "deaf-to-itself": nodes_are_deaf_to_themselves,
        "masked-after-the-softmax": nodes_masked_after_the_softmax,
        "nothing-left-for-neighbours": nodes_with_nothing_left,
        "mask-is-merely-low": nodes_with_a_mask_merely_low,
        "scores-of-zero": nodes_with_scores_of_zero,
        "mean-for-the-lonely": nodes_mean_for_the_lonely,
        "nan-for-the-lonely": nodes_nan_for_the_lonely,
        "softmax-down-the-columns": nodes_soften_down_the_columns,
        "no-scale": nodes_without_scale,
        "scale-by-width": nodes_scaled_by_width,
        "scale-without-root": nodes_scaled_without_root,
        "query-and-key-swapped": nodes_with_query_and_key_swapped,
        "keys-for-queries": nodes_with_keys_for_queries,
        "nobody-compared": nodes_compare_nobody,
        "not-divided": nodes_that_do_not_divide,
        "values-not-projected": nodes_that_mix_x,
    },
}
