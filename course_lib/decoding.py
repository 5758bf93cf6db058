"""Decoding: from the logits of the next token to whole sentences."""

import torch


@torch.no_grad()
def greedy_decode(model, src, bos_id, eos_id, max_len, pad_id=0):
    """Write a target for each source, always with the most probable next token.

    model:   model(src, ys) -> logits (B, t, V), for the t tokens written so far
    src:     (B, Ts) integers
    bos_id:  the token each target begins with
    eos_id:  the token that ends it, and is kept;
             a finished target is filled up with pad_id
    max_len: the largest number of tokens, bos included
    returns: (B, L) integers, L <= max_len: it stops as soon as all are finished
    """
    ys = torch.full_like(src[:, :1], bos_id)  # (B, 1)
    finished = torch.zeros_like(ys, dtype=torch.bool)  # (B, 1)
    while ys.shape[1] < max_len and not finished.all():
        best = model(src, ys)[:, -1].argmax(dim=-1, keepdim=True)  # (B, 1)
        best = best.masked_fill(finished, pad_id)
        ys = torch.cat([ys, best], dim=1)  # (B, t + 1)
        finished = finished | (best == eos_id)
    return ys


@torch.no_grad()
def beam_search(step_fn, bos_id, eos_id, beam_size, max_len):
    """Write one target, with several beginnings kept open at a time.

    step_fn:   step_fn(prefixes) -> logits (K, V) of the next token,
               for K prefixes (K, t) of one length
    bos_id:    the token every prefix begins with
    eos_id:    the token that ends a hypothesis, and is kept
    beam_size: how many candidates survive each step, those that end included
    max_len:   the largest number of tokens, bos included;
               a hypothesis cut there counts as finished
    returns:   (tokens, score): the finished hypothesis with the largest sum of
               log-probabilities, as a list of integers and a float;
               the length is not normalised

    Sutskever, Vinyals and Le 2014, arXiv:1409.3215, section 3.2.
    """
    open_, finished = [([bos_id], 0.0)], []
    while open_ and len(open_[0][0]) < max_len:
        logits = step_fn(torch.tensor([tokens for tokens, _ in open_]))  # (K, V)
        scores = (
            torch.log_softmax(logits, dim=-1).cpu()
            + torch.tensor([[score] for _, score in open_])
        )  # (K, V)
        best = scores.flatten().topk(min(beam_size, scores.numel()))
        candidates = [
            (open_[i // scores.shape[1]][0] + [i % scores.shape[1]], score)
            for i, score in zip(
                best.indices.tolist(), best.values.tolist(), strict=True
            )
        ]
        finished += [c for c in candidates if c[0][-1] == eos_id]
        open_ = [c for c in candidates if c[0][-1] != eos_id]
    return max(finished + open_, key=lambda hypothesis: hypothesis[1])
