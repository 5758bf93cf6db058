"""Lesson 11b: the tree that a beam search goes through, read off what it asks its step function."""

import torch

MORE = 2  # candidates that just missed the beam, at each step


@torch.no_grad()
def traced(beam, step_fn, words, bos_id, eos_id, size, max_len):
    """Run a beam search, the course's or a learner's, and say what it had in hand: the nodes of its tree.

    words:   names of the tokens
    returns: list of (step, word, parent, score, "open", "ended" or "out", does it lie on the way that won?)
    """
    asked = {}

    def noted(prefixes):
        logits = step_fn(prefixes)
        asked.update(zip(map(tuple, prefixes.tolist()), torch.log_softmax(logits.double(), -1).cpu(), strict=True))
        return logits

    tokens, _ = beam(noted, bos_id, eos_id, size, max_len)
    nodes, number, scores = [(0, words[bos_id], None, 0.0, "open", True)], {(bos_id,): 0}, {(bos_id,): 0.0}
    for t in range(1, max_len):
        grown = [(scores[prefix] + p, (*prefix, token)) for prefix, row in asked.items()
                 if len(prefix) == t and prefix in scores for token, p in enumerate(row.tolist())]
        for rank, (score, prefix) in enumerate(sorted(grown, reverse=True)[: size + MORE]):
            kind = "out" if rank >= size else "ended" if prefix[-1] == eos_id else "open"
            if kind != "out":
                number[prefix], scores[prefix] = len(nodes), score
            nodes.append((t, words[prefix[-1]], number[prefix[:-1]], score, kind, list(prefix) == tokens[: t + 1]))
    return nodes
