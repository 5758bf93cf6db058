"""Who listens to whom, and how strongly: layers as patterns and as messages."""

import torch


def convolution_pattern(kernel, T):
    """Write a convolution as a pattern of connections, the same weights everywhere.

    kernel:  (K,)    one weight per neighbour, from the leftmost to the rightmost;
                     K is odd
    T:       int     number of positions
    returns: (T, T)  the M for which M @ x slides the kernel along x (T,), zeros beyond
                     both ends: position t takes in kernel[k] * x[t + k - K // 2],
                     summed over k; dtype and device of the kernel

    As in torch's conv1d, the kernel is not turned round (a cross-correlation).
    """
    K, position = len(kernel), torch.arange(T, device=kernel.device)
    # Which of the K weights connects t to s, (T, T)
    k = position - position[:, None] + K // 2
    return torch.where((k >= 0) & (k < K), kernel[k.clamp(0, K - 1)], 0)  # (T, T)


def recurrence_pattern(gates):
    """Write a recurrence as a pattern of connections, through every gate on the way.

    gates:   (T,)    any finite numbers, zero and negative ones included
    returns: (T, T)  the M for which h = M @ x (T,) is what the loop makes that begins
                     with h[0] = x[0] and goes on with
                     h[t] = gates[t] * h[t - 1] + x[t];
                     gates[0] has nothing to let through

    Gates that depend on the data: Dao and Gu 2024, arXiv:2405.21060, section 3.2
    (semiseparable matrices).
    """
    t = torch.arange(len(gates), device=gates.device)
    # The gate that h meets at t after s, (T, T)
    passed = torch.where(t[:, None] > t, gates[:, None], 1)
    return passed.cumprod(dim=0).tril()  # (T, T)


def message_passing(x, adjacency, message, update):
    """One step on a graph: every node hears others, and makes something new of the sum.

    x:         (N, D)       one node per row
    adjacency: (N, N) bool  True at [i, j] where node i hears node j; node i hears
                            itself only where [i, i] is True
    message:   callable     message(receiver, sender), rows (..., D) of x for both
                            -> (..., M); axes in front broadcast
    update:    callable     update(x, gathered), (..., D) and (..., M) -> (..., U)
    returns:   (N, U)       row i is update(x[i], sum of message(x[i], x[j]) over all j
                            that i hears); a node that hears nobody gathers zeros

    Gilmer et al. 2017, arXiv:1704.01212, equations 1 and 2.
    """
    messages = message(x[:, None], x[None])  # (N, N, M), from j to i at [i, j]
    gathered = (adjacency[..., None] * messages).sum(dim=1)  # (N, M)
    return update(x, gathered)  # (N, U)


def attention_on_graph(x, adjacency, W_q, W_k, W_v):
    """Version 5 along the edges of a graph: a node attends only to those it hears.

    x:         (N, D_x)
    adjacency: (N, N) bool  True at [i, j] where node i hears node j; node i hears
                            itself only where [i, i] is True
    W_q:       (D_x, D_k)   makes queries      (weights are stored as in, out)
    W_k:       (D_x, D_k)   makes keys
    W_v:       (D_x, D_v)   makes values
    returns:   (N, D_v)     row i is version 5 over the nodes that i hears,
                            softmax(q_i K^T / sqrt(D_k)) V; a node that hears nobody
                            gets zeros, as an empty sum does

    Vaswani et al. 2017, arXiv:1706.03762, equation 1; on graphs: Dwivedi and Bresson
    2021, arXiv:2012.09699.
    """
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[-1] ** 0.5  # (N, N)
    scores = scores.masked_fill(~adjacency, torch.finfo(scores.dtype).min)
    # Rows of zeros where nobody is heard, (N, N)
    weights = torch.softmax(scores, dim=-1) * adjacency
    return weights @ (x @ W_v)  # (N, D_v)
