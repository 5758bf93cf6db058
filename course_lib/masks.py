"""Masks: who may see whom. Everywhere, True means "may attend" or "is a real token"."""

import torch


def causal_mask(T):
    """Keep a token from seeing those that come after it.

    T:       number of tokens
    returns: (T, T) bool, True where j <= i: query i may attend to key j;
             a new tensor each time

    Vaswani et al. 2017, arXiv:1706.03762, section 3.2.3.
    """
    return torch.ones(T, T, dtype=torch.bool).tril()


def padding_mask(lengths, max_len=None):
    """Mark the real tokens of sentences that were filled up on the right to one length.

    lengths: (B,) integers, the number of real tokens of each sentence
    max_len: T; the longest length where it is None
    returns: (B, T) bool on the device of lengths,
             True at the first lengths[b] positions
    """
    T = int(lengths.max()) if max_len is None else max_len
    return torch.arange(T, device=lengths.device) < lengths[:, None]  # (B, T)


def padding_mask_from_ids(ids, pad_id=0):
    """Mark the real tokens in a batch of token numbers, ready for attention.

    ids:     (B, T) integers
    pad_id:  the number that stands for padding
    returns: (B, 1, T) bool, True where the key is a real token;
             the middle axis is broadcast over the queries
    """
    return (ids != pad_id)[:, None, :]  # (B, 1, T)
