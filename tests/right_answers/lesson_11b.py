"""Right answers of lesson 11b in other people's styles."""

import heapq
import math

import torch
import torch.nn.functional as F


def beam_with_a_heap(step_fn, bos_id, eos_id, beam_size, max_len):
    open_, finished = [(0.0, [bos_id])], []
    for _ in range(max_len - 1):
        candidates = []
        for score, tokens in open_:
            log_p = torch.log_softmax(step_fn(torch.tensor([tokens]))[0], -1)
            candidates += [(score + p, tokens + [v]) for v, p in enumerate(log_p.tolist())]
        best = heapq.nlargest(beam_size, candidates)
        finished += [c for c in best if c[1][-1] == eos_id]
        open_ = [c for c in best if c[1][-1] != eos_id]
        if not open_:
            break
    score, tokens = max(finished + open_)
    return tokens, score


def beam_in_tensors(step_fn, bos_id, eos_id, beam_size, max_len):
    """Prefixes and scores as tensors."""
    prefixes, scores = torch.tensor([[bos_id]]), torch.zeros(1)
    best_tokens, best_score = None, -float("inf")
    while len(prefixes) and prefixes.shape[1] < max_len:
        total = scores[:, None] + step_fn(prefixes).log_softmax(-1)
        top, where = total.flatten().sort(descending=True)
        top, where = top[:beam_size], where[:beam_size]
        prefixes = torch.cat([prefixes[where // total.shape[1]], (where % total.shape[1])[:, None]], 1)
        ended = prefixes[:, -1] == eos_id
        for tokens, score in zip(prefixes[ended], top[ended], strict=True):
            if score > best_score:
                best_tokens, best_score = tokens.tolist(), score.item()
        prefixes, scores = prefixes[~ended], top[~ended]
    for tokens, score in zip(prefixes, scores, strict=True):
        if score > best_score:
            best_tokens, best_score = tokens.tolist(), score.item()
    return best_tokens, best_score


def beam_that_stops_when_nothing_can_change(step_fn, bos_id, eos_id, beam_size, max_len):
    """Sums only fall: once the best finished one is ahead of every open one, the search is over."""
    open_, finished = [(0.0, (bos_id,))], []
    while open_ and len(open_[0][1]) < max_len:
        if finished and max(finished)[0] >= max(open_)[0]:
            break
        logits = step_fn(torch.tensor([list(tokens) for _, tokens in open_])).double()
        log_p = logits - torch.logsumexp(logits, 1, keepdim=True)
        candidates = sorted(((score + log_p[k, v].item(), tokens + (v,)) for k, (score, tokens) in enumerate(open_)
                             for v in range(logits.shape[1])), reverse=True)[:beam_size]
        finished += [c for c in candidates if c[1][-1] == eos_id]
        open_ = [c for c in candidates if c[1][-1] != eos_id]
    score, tokens = max(finished + open_)
    return list(tokens), float(score)


def beam_over_probabilities(step_fn, bos_id, eos_id, beam_size, max_len):
    """Products of probabilities in double precision, and one logarithm at the end."""
    beam, finished = {(bos_id,): 1.0}, {}
    for _ in range(1, max_len):
        grown = {}
        for tokens, p in beam.items():
            share = torch.softmax(step_fn(torch.tensor([tokens])).double(), -1)[0]
            grown |= {(*tokens, v): p * q for v, q in enumerate(share.tolist())}
        kept = sorted(grown, key=grown.get)[-beam_size:]
        finished |= {tokens: grown[tokens] for tokens in kept if tokens[-1] == eos_id}
        beam = {tokens: grown[tokens] for tokens in kept if tokens[-1] != eos_id}
    everything = finished | beam
    best = max(everything, key=everything.get)
    return list(best), math.log(everything[best])


def beam_that_is_filled_up(step_fn, bos_id, eos_id, beam_size, max_len):
    """Candidates that end leave room for others; whatever comes of those is behind the one that ended."""
    open_, finished = [([bos_id], 0.0)], []
    while open_ and len(open_[0][0]) < max_len:
        log_p = F.log_softmax(step_fn(torch.tensor([tokens for tokens, _ in open_])), dim=1).tolist()
        every = sorted((([*tokens, v], score + p) for (tokens, score), row in zip(open_, log_p, strict=True)
                        for v, p in enumerate(row)), key=lambda h: -h[1])
        finished += [h for h in every[:beam_size] if h[0][-1] == eos_id]
        open_ = [h for h in every if h[0][-1] != eos_id][:beam_size]
    return max(finished + open_, key=lambda h: h[1])


def beam_of_fixed_width(step_fn, bos_id, eos_id, beam_size, max_len):
    """Always beam_size rows; those that are not there, or have ended, have a score of minus infinity."""
    prefixes, scores = torch.full((beam_size, 1), bos_id), torch.full((beam_size,), -math.inf)
    scores[0] = 0.0
    finished = []
    while prefixes.shape[1] < max_len and scores.isfinite().any():
        total = scores[:, None] + step_fn(prefixes).log_softmax(-1)
        scores, where = total.flatten().topk(beam_size)
        prefixes = torch.cat([prefixes[where // total.shape[1]], (where % total.shape[1])[:, None]], 1)
        ended = (prefixes[:, -1] == eos_id) & scores.isfinite()
        finished += zip(scores[ended].tolist(), prefixes[ended].tolist(), strict=True)
        scores = scores.masked_fill(ended, -math.inf)
    score, tokens = max([*finished, *zip(scores.tolist(), prefixes.tolist(), strict=True)])
    return tokens, score


RIGHT_ANSWERS = {
    "beam_search": {
        "with a heap": beam_with_a_heap,
        "in tensors": beam_in_tensors,
        "stops when nothing can change": beam_that_stops_when_nothing_can_change,
        "over probabilities": beam_over_probabilities,
        "filled up": beam_that_is_filled_up,
        "of fixed width": beam_of_fixed_width,
    },
}
