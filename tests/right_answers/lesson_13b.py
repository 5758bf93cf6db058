"""Right answers of lesson 13b in other people's styles."""

import functools

import torch


def rollout_by_multi_dot(patterns):
    """One chain of matrices for each picture."""
    L, B, H, T, _ = patterns.shape
    steps = (patterns.mean(2) + torch.eye(T).to(patterns)) / 2  # (L, B, T, T)
    out = []
    for b in range(B):
        chain = [steps[layer, b] for layer in reversed(range(L))]
        out.append(chain[0] if L == 1 else torch.linalg.multi_dot(chain))
    return torch.stack(out)


def rollout_as_the_paper(patterns):
    """Averaged, the identity added, each row brought back to a sum of one where it had one."""
    result = None
    for layer in patterns:
        a = layer.mean(dim=1)
        a = a + torch.eye(a.size(-1), device=a.device, dtype=a.dtype)
        a = a / a.sum(dim=-1, keepdim=True)
        result = a if result is None else torch.bmm(a, result)
    return result


def rollout_by_reduce(patterns):
    skip = torch.eye(patterns.shape[-1], dtype=patterns.dtype, device=patterns.device)
    steps = [(layer.mean(1) + skip) * 0.5 for layer in patterns]
    return functools.reduce(lambda below, above: above @ below, steps)


def rollout_from_above(patterns):
    """From the last layer down: what of each token below is in the tokens at the end."""
    skip = torch.eye(patterns.shape[-1], dtype=patterns.dtype, device=patterns.device)
    out = skip.expand(patterns.shape[1], -1, -1)
    for layer in patterns.flip(0):
        out = 0.5 * out + 0.5 * out @ layer.mean(1)
    return out


def rollout_without_an_identity(patterns):
    """A layer adds to a half of what is there."""
    mixed = torch.diag_embed(torch.ones_like(patterns[0, :, 0, :, 0]))
    for layer in patterns:
        mixed = (mixed + torch.einsum("bhts,bsr->btr", layer, mixed) / layer.shape[1]) / 2
    return mixed


def rollout_by_loops(patterns):
    """A picture at a time, a head at a time."""
    pictures = []
    for b in range(patterns.shape[1]):
        mixed = torch.eye(patterns.shape[-1]).to(patterns)
        for layer in range(patterns.shape[0]):
            total = 0
            for h in range(patterns.shape[2]):
                total = total + patterns[layer, b, h]
            mixed = mixed / 2 + (total / patterns.shape[2]) @ mixed / 2
        pictures.append(mixed)
    return torch.stack(pictures)


RIGHT_ANSWERS = {
    "rollout": {
        "multi_dot": rollout_by_multi_dot,
        "paper": rollout_as_the_paper,
        "reduce": rollout_by_reduce,
        "from above": rollout_from_above,
        "without an identity": rollout_without_an_identity,
        "loops": rollout_by_loops,
    },
}
