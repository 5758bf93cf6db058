"""Attention rollout: how much of each token is in each other one at the end."""

import torch


def rollout(patterns):
    """Follow the shares of attention through all layers, half of each for the skip.

    patterns: (L, B, H, T, T)  attention weights of L layers, the first one first;
                               a row belongs to a token that asks
    returns:  (B, T, T)        row t: how much of each token of the embedding is in
                               token t after the last layer; a layer is half the mean of
                               its heads and half the identity, which is the skip
                               connection; dtype and device of patterns

    Abnar and Zuidema 2020, arXiv:2005.00928, section 3.
    """
    skip = torch.eye(patterns.shape[-1], dtype=patterns.dtype, device=patterns.device)
    mixed = skip
    for weights in patterns:  # (B, H, T, T)
        step = 0.5 * weights.mean(dim=1) + 0.5 * skip  # (B, T, T)
        mixed = step @ mixed
    return mixed
