"""Attention that reads its keys block by block, and never holds all of its scores."""

import torch


def online_softmax_attention(query, key, value, block):
    """Attention that reads its keys block by block, and keeps no score.

    query:   (Tq, d)
    key:     (Tk, d)
    value:   (Tk, dv)
    block:   how many keys are read at a time; the last block may be shorter
    returns: (Tq, dv), softmax(query key^T / sqrt(d)) value; besides (Tq, block) scores
             it only holds, per query, the largest score so far, the sum of
             exp(score - largest), and the sum of exp(score - largest) * value

    Milakov and Gimelshein 2018, arXiv:1805.02867, algorithm 3; Dao et al. 2022,
    arXiv:2205.14135, algorithm 1.
    """
    largest = query.new_full((len(query), 1), -torch.inf)  # (Tq, 1)
    total = query.new_zeros(len(query), 1)  # (Tq, 1)
    mixed = query.new_zeros(len(query), value.shape[-1])  # (Tq, dv)
    for k, v in zip(key.split(block), value.split(block), strict=True):
        scores = query @ k.T / query.shape[-1] ** 0.5  # (Tq, block)
        new = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        shrink = (largest - new).exp()  # (Tq, 1)
        weights = (scores - new).exp()  # (Tq, block)
        total = shrink * total + weights.sum(dim=-1, keepdim=True)
        mixed = shrink * mixed + weights @ v
        largest = new
    return mixed / total  # (Tq, dv)
