"""Targets: what a decoder is given, what it should say, and how wrong it was."""

import torch
import torch.nn.functional as F


def shift_right(labels, bos_id):
    """Make the decoder's input for teacher forcing: the right words, one place later.

    labels:  (B, T) integers, what the decoder should say
    bos_id:  the token that begins every sentence
    returns: (B, T) like labels: bos_id in front, the last label dropped; a new tensor
    """
    return torch.cat(
        [torch.full_like(labels[:, :1], bos_id), labels[:, :-1]], dim=1
    )  # (B, T)


def masked_cross_entropy(logits, targets, pad_id=0):
    """How surprised a model is by the right tokens, padding aside.

    logits:  (B, T, V)
    targets: (B, T) integers, the right token at each position;
             at least one is not padding
    pad_id:  the target that does not count
    returns: scalar, the mean of -log softmax(logits)[target] over all positions
             whose target is not pad_id
    """
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)
