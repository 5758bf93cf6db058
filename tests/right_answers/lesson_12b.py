"""Right answers of lesson 12b in other people's styles."""

import torch
import torch.nn.functional as F


def next_by_loop(logits, temperature=1.0, top_k=None):
    out = torch.zeros_like(logits)
    for b in range(len(logits)):
        k = logits.shape[1] if top_k is None else min(top_k, logits.shape[1])
        values, places = logits[b].topk(k)
        out[b, places] = torch.softmax(values / temperature, 0)
    return out

def next_by_scatter(logits, temperature=1.0, top_k=None):
    values, places = (logits / temperature).topk(min(top_k or logits.shape[-1], logits.shape[-1]))
    return torch.zeros_like(logits).scatter(-1, places, values.softmax(-1))

def next_by_sharing_out(logits, temperature=1.0, top_k=None):
    probs = torch.softmax(logits / temperature, dim=-1)
    if top_k is not None and top_k < probs.shape[-1]:
        threshold = probs.sort(-1, descending=True).values[:, top_k - 1 : top_k]
        probs = torch.where(probs >= threshold, probs, torch.zeros_like(probs))
        probs = probs / probs.sum(-1, keepdim=True)
    return probs

def next_as_nano_gpt(logits, temperature=1.0, top_k=None):
    logits = logits / temperature
    if top_k is not None:
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        logits = logits.clone()
        logits[logits < v[:, [-1]]] = -float("Inf")
    return F.softmax(logits, dim=-1)

def next_by_rank(logits, temperature=1.0, top_k=None):
    rank = logits.argsort(-1, descending=True).argsort(-1)
    keep = rank < (logits.shape[-1] if top_k is None else top_k)
    return (logits / temperature).masked_fill(~keep, float("-inf")).softmax(-1)

def nucleus_by_loop(logits, p):
    out = torch.zeros_like(logits)
    for b, row in enumerate(torch.softmax(logits, -1)):
        held = 0.0
        kept = []
        for i in torch.argsort(row, descending=True).tolist():
            kept.append(i)
            held += float(row[i])
            if held >= p and p < 1:
                break
        total = sum(row[i] for i in kept)
        for i in kept:
            out[b, i] = row[i] / total
    return out


def nucleus_by_masking_logits(logits, p):
    """As most libraries do it: -inf for what goes, and a softmax at the end."""
    ordered, index = torch.sort(logits, descending=True, dim=-1)
    sums = torch.softmax(ordered, dim=-1).cumsum(dim=-1)
    remove = sums >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    if p >= 1:
        remove[:] = False
    remove = torch.zeros_like(remove).scatter(-1, index, remove)
    return torch.softmax(logits.masked_fill(remove, float("-inf")), dim=-1)


def nucleus_by_a_threshold(logits, p):
    """The smallest probability that stays, and all from it on."""
    probs = F.softmax(logits, dim=-1)
    falling = probs.sort(-1, descending=True).values
    needed = (falling.cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    least = falling.gather(-1, needed) if p < 1 else falling[:, -1:]
    kept = torch.where(probs >= least, probs, torch.zeros_like(probs))
    return kept / kept.sum(-1, keepdim=True)


def nucleus_by_what_is_above(logits, p):
    """For each token the sum of all that are more probable, without sorting."""
    probs = F.softmax(logits, dim=-1)
    above = (probs[:, None, :] * (probs[:, None, :] > probs[:, :, None])).sum(-1)  # (B, V)
    kept = probs * (above < p) if p < 1 else probs
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_by_unsorting(logits, p):
    """Sorted, cut, and put back by the inverse of the sort."""
    order = logits.argsort(-1, descending=True)
    probs = torch.softmax(logits.gather(-1, order), -1)
    start = F.pad(probs.cumsum(-1)[:, :-1], (1, 0))
    keep = (start < p) if p < 1 else torch.ones_like(start, dtype=torch.bool)
    cut = torch.where(keep, probs, 0.0)
    return (cut / cut.sum(-1, keepdim=True)).gather(-1, order.argsort(-1))


def nucleus_row_by_row(logits, p):
    """The shortest beginning of each row with searchsorted."""
    rows = []
    for row in logits:
        probs, order = torch.sort(F.softmax(row, 0), descending=True)
        sums = probs.detach().cumsum(0)
        n = len(row) if p == 1 else min(len(row), int(torch.searchsorted(sums, torch.tensor(p).to(sums))) + 1)
        new = torch.zeros_like(row)
        new[order[:n]] = probs[:n] / probs[:n].sum()
        rows.append(new)
    return torch.stack(rows)


def nucleus_from_the_tail(logits, p):
    """The other way round: drop from below as long as enough is left."""
    probs = torch.softmax(logits.double(), -1)
    rising, order = probs.sort(-1)
    left = probs.sum(-1, keepdim=True) - rising.cumsum(-1)  # without this token and all below it
    drop = (left >= p) & (p < 1)
    kept = rising * ~drop
    kept = kept / kept.sum(-1, keepdim=True)
    return torch.empty_like(kept).scatter(-1, order, kept).to(logits.dtype)


RIGHT_ANSWERS = {
    "next_token_probs": {
        "loop": next_by_loop,
        "scatter": next_by_scatter,
        "sharing out": next_by_sharing_out,
        "masking": next_as_nano_gpt,
        "rank": next_by_rank,
    },
    "top_p_probs": {
        "loop": nucleus_by_loop,
        "masked logits": nucleus_by_masking_logits,
        "threshold": nucleus_by_a_threshold,
        "what is above": nucleus_by_what_is_above,
        "unsorted": nucleus_by_unsorting,
        "row by row": nucleus_row_by_row,
        "from the tail": nucleus_from_the_tail,
    },
}
