"""Right answers of lesson 14 in other people's styles."""

import torch
import torch.nn.functional as F


def conv_loop(kernel, T):
    M = kernel.new_zeros(T, T)
    for t in range(T):
        for k in range(len(kernel)):
            s = t + k - len(kernel) // 2
            if 0 <= s < T:
                M[t, s] = kernel[k]
    return M


def conv_by_diagonals(kernel, T):
    M = torch.zeros(T, T, dtype=kernel.dtype, device=kernel.device)
    for k, weight in enumerate(kernel):
        d = k - len(kernel) // 2
        if abs(d) < T:
            M = M + torch.diag(weight.expand(T - abs(d)), d)
    return M


def conv_cut_from_a_strip(kernel, T):
    """Rows of one long padded strip, each one step further to the right."""
    strip = F.pad(kernel, (T, T))
    return torch.stack([strip[T + len(kernel) // 2 - t:][:T] for t in range(T)])


def recurrence_loop(gates):
    M = gates.new_zeros(len(gates), len(gates))
    for t in range(len(gates)):
        for s in range(t + 1):
            M[t, s] = gates[s + 1:t + 1].prod()
    return M


def recurrence_rows(gates):
    eye = torch.eye(len(gates), dtype=gates.dtype, device=gates.device)
    rows = [eye[0]]
    for t in range(1, len(gates)):
        rows.append(gates[t] * rows[-1] + eye[t])
    return torch.stack(rows)


def recurrence_inverse(gates):
    eye = torch.eye(len(gates), dtype=gates.dtype, device=gates.device)
    return torch.linalg.inv(eye - torch.diag(gates[1:], -1))


def recurrence_powers(gates):
    """1 + A + A^2 + ...: direct, by one stop, by two stops, ..."""
    A, eye = torch.diag(gates[1:], -1), torch.eye(len(gates), dtype=gates.dtype, device=gates.device)
    total = power = eye
    for _ in range(len(gates) - 1):
        power = power @ A
        total = total + power
    return total


def passing_loop(x, adjacency, message, update):
    rows = []
    for i in range(len(x)):
        gathered = 0 * message(x[i], x[i])
        for j in range(len(x)):
            if adjacency[i, j]:
                gathered = gathered + message(x[i], x[j])
        rows.append(update(x[i], gathered))
    return torch.stack(rows)


def passing_by_receiver(x, adjacency, message, update):
    return torch.stack([update(x[i], message(x[i].expand_as(x), x)[adjacency[i]].sum(0)) for i in range(len(x))])


def passing_edge_list(x, adjacency, message, update):
    i, j = adjacency.nonzero(as_tuple=True)
    messages = message(x[i], x[j])  # (edges, M)
    gathered = messages.new_zeros(len(x), messages.shape[-1]).index_add(0, i, messages)
    return update(x, gathered)


def passing_einsum(x, adjacency, message, update):
    N, D = x.shape
    messages = message(x[:, None].expand(N, N, D), x[None].expand(N, N, D))
    return update(x, torch.einsum("ij,ijm->im", adjacency.to(x.dtype), messages))


def graph_loop(x, adjacency, W_q, W_k, W_v):
    rows = []
    for i in range(len(x)):
        heard = [j for j in range(len(x)) if adjacency[i, j]]
        if not heard:
            rows.append(0 * (x[i] @ W_v))
            continue
        scores = torch.stack([(x[i] @ W_q) @ (x[j] @ W_k) for j in heard]) / W_q.shape[1] ** 0.5
        weights = torch.softmax(scores, 0)
        rows.append(sum(w * (x[j] @ W_v) for w, j in zip(weights, heard, strict=True)))
    return torch.stack(rows)


def graph_built_in(x, adjacency, W_q, W_k, W_v):
    lonely = ~adjacency.any(1, keepdim=True)
    out = F.scaled_dot_product_attention((x @ W_q)[None], (x @ W_k)[None], (x @ W_v)[None], adjacency | lonely)[0]
    return out.masked_fill(lonely, 0)


def graph_by_messages(x, adjacency, W_q, W_k, W_v):
    """One step of message passing: an exponential, and a value that it is multiplied by."""
    query, key, value = x @ W_q, x @ W_k, x @ W_v
    scores = torch.einsum("id,jd->ij", query, key) / key.shape[1] ** 0.5
    loudest = scores.masked_fill(~adjacency, -1e30).amax(1, keepdim=True).detach()
    strength = torch.where(adjacency, scores - loudest, -torch.inf).exp()  # (N, N)
    total = strength.sum(1, keepdim=True)
    return strength @ value / torch.where(total == 0, 1, total)


def graph_minus_infinity(x, adjacency, W_q, W_k, W_v):
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    hears = adjacency.any(1, keepdim=True)
    weights = torch.softmax(torch.where(adjacency | ~hears, scores, -torch.inf), 1)
    return torch.where(hears, weights @ (x @ W_v), 0)


def conv_by_columns(kernel, T):
    half, columns = len(kernel) // 2, []
    for s in range(T):
        column = kernel.new_zeros(T + 2 * half)
        column = torch.cat([column[:s], kernel.flip(0), column[s + len(kernel):]])
        columns.append(column[half : half + T])
    return torch.stack(columns, dim=1)


def recurrence_by_columns(gates):
    T = len(gates)
    columns = []
    for s in range(T):
        one = torch.ones(1, dtype=gates.dtype, device=gates.device)
        tail = torch.cat([one, gates[s + 1 :]]).cumprod(0)
        columns.append(torch.cat([tail.new_zeros(s), tail]))
    return torch.stack(columns, dim=1)


def passing_with_where(x, adjacency, message, update):
    N = len(x)
    said = message(x[:, None].expand(N, N, -1), x[None].expand(N, N, -1))
    heard = torch.where(adjacency[:, :, None], said, torch.zeros_like(said))
    return update(x, heard.sum(1))


def graph_by_bias(x, adjacency, W_q, W_k, W_v):
    heard = adjacency.any(1, keepdim=True)
    bias = torch.zeros(adjacency.shape, dtype=x.dtype, device=x.device).masked_fill(~adjacency & heard, -torch.inf)
    weights = torch.softmax((x @ W_q) @ (x @ W_k).mT * W_k.shape[1] ** -0.5 + bias, dim=1)
    return torch.where(heard, weights @ (x @ W_v), 0)


def graph_by_logarithms(x, adjacency, W_q, W_k, W_v):
    scores = (x @ W_q @ (x @ W_k).T / W_k.shape[1] ** 0.5).masked_fill(~adjacency, -torch.inf)
    total = scores.logsumexp(1, keepdim=True)
    return (scores - total.masked_fill(total == -torch.inf, 0)).exp() @ (x @ W_v)


RIGHT_ANSWERS = {
    "convolution_pattern": {
        "loop": conv_loop,
        "built-in": lambda kernel, T: F.conv1d(
            torch.eye(T, dtype=kernel.dtype, device=kernel.device)[:, None], kernel[None, None],
            padding=len(kernel) // 2)[:, 0].T,
        "diagonals": conv_by_diagonals,
        "cut from a strip": conv_cut_from_a_strip,
        "columns": conv_by_columns,
    },
    "recurrence_pattern": {
        "loop": recurrence_loop,
        "row by row": recurrence_rows,
        "inverse": recurrence_inverse,
        "powers": recurrence_powers,
        "columns": recurrence_by_columns,
    },
    "message_passing": {
        "loop": passing_loop,
        "receiver by receiver": passing_by_receiver,
        "a list of edges": passing_edge_list,
        "einsum": passing_einsum,
        "where": passing_with_where,
    },
    "attention_on_graph": {
        "loop": graph_loop,
        "built-in": graph_built_in,
        "exponentials": graph_by_messages,
        "minus infinity": graph_minus_infinity,
        "bias": graph_by_bias,
        "logarithms": graph_by_logarithms,
    },
}
