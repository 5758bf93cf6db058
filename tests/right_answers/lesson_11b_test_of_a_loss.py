"""Right tests of a loss, in other people's styles."""

import math

import torch
import torch.nn.functional as F

TARGETS = torch.tensor([[2, 4, 1, 3, 1], [3, 1, 1, 1, 1]])  # 1 fills up


def random_logits(seed, strength=1.0):
    return strength * torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(seed))


def against_torch(loss):
    """Torch's own loss, over all real tokens, for logits small and large, with two kinds of padding."""
    for pad_id, strength in ((1, 1.0), (3, 0.5), (1, 300.0)):
        logits = random_logits(pad_id, strength)
        each = F.cross_entropy(logits.flatten(0, 1), TARGETS.flatten(), reduction="none").view(2, 5)
        if not torch.allclose(loss(logits, TARGETS, pad_id), each[TARGETS != pad_id].mean(), rtol=1e-3):
            return False
    return True


def by_hand(loss):
    """Two words at odds of e to 1 and more; with numbers worked out on paper."""
    logits = torch.zeros(2, 3, 4)
    logits[0, 0, 2], logits[0, 1, 3], logits[1, 0, 0] = 1.0, 2.0, 500.0
    ids = torch.tensor([[2, 3, 1], [0, 1, 1]])  # 1 fills up
    first = math.log(1 + 3 / math.e)
    second = math.log(1 + 3 / math.e**2)
    return abs(float(loss(logits, ids, 1)) - (first + second + 0) / 3) < 1e-4


def by_number(loss):
    """In pure Python, with the largest logit taken off."""
    logits, total, count = random_logits(2, 100.0), 0.0, 0
    for row, target in zip(logits.flatten(0, 1).tolist(), TARGETS.flatten().tolist(), strict=True):
        if target != 1:
            top = max(row)
            total += top + math.log(sum(math.exp(z - top) for z in row)) - row[target]
            count += 1
    return math.isclose(float(loss(logits, TARGETS, 1)), total / count, rel_tol=1e-3)


def by_ignoring(loss):
    """ignore_index does the same."""
    wanted = [F.cross_entropy(random_logits(s, z).flatten(0, 1), TARGETS.flatten(), ignore_index=1)
              for s, z in ((0, 1.0), (1, 200.0))]
    got = [loss(random_logits(s, z), TARGETS, 1) for s, z in ((0, 1.0), (1, 200.0))]
    return all(bool((a - b).abs() < 1e-3 * b) for a, b in zip(got, wanted, strict=True))


def by_its_properties(loss):
    """Padding has no say, every token has the same, and a token's share is its own loss."""
    logits = random_logits(5, 150.0)
    other = logits.clone()
    other[TARGETS == 1] += torch.randn(6, generator=torch.Generator().manual_seed(9)) * 50
    flat = logits[TARGETS != 1][None]  # (1, 5, V): the same tokens as one sentence
    one = torch.stack([F.cross_entropy(row, t) for row, t in zip(flat[0], TARGETS[TARGETS != 1], strict=True)])
    return (torch.allclose(loss(other, TARGETS, 1), loss(logits, TARGETS, 1))
            and torch.allclose(loss(flat, TARGETS[TARGETS != 1][None], 1), one.mean(), rtol=1e-3)
            and torch.allclose(loss(logits, TARGETS, 1), one.mean(), rtol=1e-3))


RIGHT_ANSWERS = {"is_token_mean": {f.__name__: f for f in (against_torch, by_hand, by_number, by_ignoring,
                                                          by_its_properties)}}
