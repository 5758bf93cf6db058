"""Tests of other people's code: each tells right from wrong, by calling it."""

import torch
import torch.nn.functional as F


def is_version_2(attend):
    """Find out whether a function computes version 2, by calling it.

    attend:  attend(query (D,), inputs (N, D)) -> (D,), for any N and D
    returns: bool, True where its answer to what you ask is that of version 2: softmax
             over n of (inputs[n] . query) / sqrt(D), and with these weights the sum of
             the inputs; rounding does not matter
    """
    query = torch.tensor([3.0, -1.0, 2.0])
    inputs = torch.tensor(
        [
            [1.0, 0.0, 0.0],
            [0.0, 2.0, 1.0],
            [1.0, 1.0, 1.0],
            [0.0, 0.0, 2.0],
            [2.0, 1.0, 0.0],
        ]
    )
    weights = torch.softmax(inputs @ query / 3**0.5, dim=0)  # (N,) = (5,), D = 3
    return torch.allclose(attend(query, inputs), weights @ inputs, atol=1e-5)


def hides_the_future(attend):
    """Find out whether self-attention hides what comes after a token, by calling it.

    attend:  attend(x (T, D)) -> (T, D), for any T and D;
             it may mix the past as it likes
    returns: bool, True where row t is the same whatever comes after row t,
             and even if nothing does
    """
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    whole = attend(x)  # (T, D)
    return all(
        torch.allclose(attend(x[: t + 1])[t], whole[t], atol=1e-5) for t in range(6)
    )


def is_token_mean(loss):
    """Find out whether a loss is the mean over a batch's real tokens, by calling it.

    loss:    loss(logits (B, T, V), targets (B, T), pad_id) -> scalar;
             it may be anything
    returns: bool, True where it gives the mean of -log softmax(logits)[target] over the
             positions where the target is not pad_id, all of them counted alike, and
             for large logits, too; rounding does not matter
    """
    targets = torch.tensor([[3, 1, 0, 2], [2, 0, 4, 4]])  # 4 fills up; 0 is a word
    for strength in (1.0, 200.0):
        logits = strength * torch.randn(
            2, 4, 5, generator=torch.Generator().manual_seed(0)
        )
        expected = F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=4
        )
        if not torch.allclose(loss(logits, targets, 4), expected, rtol=1e-4):
            return False
    return True


def is_equivariant(layer):
    """Find out whether a layer is permutation equivariant, by calling it.

    layer:   layer(x (T, D)) -> (T, D), for any T and D
    returns: bool, True where everybody takes their result along, whatever the new order
             of the rows: layer(P x) = P layer(x) for every permutation P; rounding does
             not matter
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 3, generator=generator)
    whole = layer(x)  # (T, D)
    for _ in range(50):
        order = torch.randperm(5, generator=generator)
        if not torch.allclose(layer(x[order]), whole[order], atol=1e-5):
            return False
    return True
