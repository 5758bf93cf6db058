"""Mistakes of lesson 17, each as somebody else would make it who never saw the course's own spelling."""

import torch


def tables(ids, copies_before=True, after=1):
    """The three tables, as lists of places for each row and query."""
    T = ids.shape[1]
    same = ids.unsqueeze(-1) == ids.unsqueeze(-2)
    if copies_before:
        same = torch.tril(same, diagonal=-1)
    one = torch.zeros(T, T, dtype=torch.bool, device=ids.device)
    for q in range(1, T):
        one[q, q - 1] = True
    behind = torch.zeros_like(same)
    if after > 0:
        behind[..., after:] = same[..., :-after]
    elif after < 0:
        behind[..., :after] = same[..., -after:]
    return one.expand_as(same), same, behind


def mean_over(weights, kinds, count=None):
    rows = []
    for kind in kinds:
        spent = (weights * kind.unsqueeze(1).to(weights)).sum(-1)
        n = kind.any(dim=-1).sum().item() if count is None else count
        rows.append(spent.sum(2).sum(0) / max(1, n))
    return torch.stack(rows)


def looks_forward(weights, ids):
    one, same, behind = tables(ids)
    return mean_over(weights, (one.transpose(1, 2), same, behind))


def both_ways(weights, ids):
    T = ids.shape[1]
    same = (ids[:, None, :] == ids[:, :, None]) & ~torch.eye(T, dtype=torch.bool, device=ids.device)
    one, _, _ = tables(ids)
    behind = torch.cat([torch.zeros_like(same[..., :1]), same[..., :-1]], -1)
    return mean_over(weights, (one, same, behind))


def what_stood_before(weights, ids):
    return mean_over(weights, tables(ids, after=-1))


def copy_for_follower(weights, ids):
    return mean_over(weights, tables(ids, after=0)[:2] + (tables(ids)[1],))


def every_query(weights, ids):
    return mean_over(weights, tables(ids), ids.shape[0] * ids.shape[1])


def row_by_row(weights, ids):
    means = [mean_over(weights[b : b + 1], tables(ids[b : b + 1])) for b in range(len(ids))]
    return sum(means) / len(means)


def turned_over(weights, ids):
    return mean_over(weights.transpose(-1, -2), tables(ids))


def per_head_first(weights, ids):
    return mean_over(weights, tables(ids)).t()


def total(weights, ids):
    return mean_over(weights, tables(ids), 1)


def counts_the_top(weights, ids):
    top = weights == weights.amax(-1, keepdim=True)
    return mean_over(top.to(weights), tables(ids))


def divides_by_places(weights, ids):
    return torch.stack([(weights * kind[:, None].to(weights)).sum((0, 2, 3)) / kind.sum().clamp_min(1)
                        for kind in tables(ids)])


def nan_where_none(weights, ids):
    return torch.stack([(weights * kind[:, None].to(weights)).sum((0, 2, 3)) / kind.any(-1).sum()
                        for kind in tables(ids)])


# ablate_head


def changes_its_argument(said, head, mean=False):
    said[:, :, head] = said[:, :, head].mean(dim=(0, 1)) if mean else torch.zeros_like(said[:, :, head])
    return said


def zeros_always(said, head, mean=False):
    keep = torch.ones(said.shape[2], device=said.device, dtype=said.dtype)
    keep[head] = 0
    return said * keep[None, None, :, None]


def each_text_its_mean(said, head, mean=False):
    new = torch.clone(said)
    new[:, :, head, :] = said[:, :, head, :].mean(dim=1).unsqueeze(1) if mean else 0.0
    return new


def each_place_its_mean(said, head, mean=False):
    new = torch.clone(said)
    if mean:
        new[:, :, head, :] = torch.mean(said[:, :, head, :], dim=0, keepdim=True)
    else:
        new[:, :, head, :].zero_()
    return new


def a_single_number(said, head, mean=False):
    new = said.clone()
    new[:, :, head] = torch.full_like(new[:, :, head], said[:, :, head].mean().item() if mean else 0.0)
    return new


def keeps_only_it(said, head, mean=False):
    new = torch.zeros_like(said) + (said.mean((0, 1), keepdim=True) if mean else 0)
    new[:, :, head] = said[:, :, head]
    return new


def the_way_about(said, head, mean=False):
    new = said.clone()
    if not mean:
        new[:, :, head] = said[:, :, head].mean(dim=(0, 1))
    else:
        new[:, :, head] = 0
    return new


def over_all_heads(said, head, mean=False):
    new = said.clone()
    new[:, :, head] = said.mean(dim=(0, 1, 2)) if mean else 0
    return new


# patch


def whole_token(said, other, head, place):
    new = said.clone()
    for b in range(len(said)):
        new[b, place[b]] = other[b, place[b]]
    return new


def whole_head(said, other, head, place):
    heads = list(said.unbind(2))
    heads[head] = other[:, :, head]
    return torch.stack(heads, 2)


def crosswise(said, other, head, place):
    new = said.clone()
    for t in place.tolist():
        new[:, t, head] = other[:, t, head]
    return new


def writes_into_said(said, other, head, place):
    for b, t in enumerate(place.tolist()):
        said[b, t, head] = other[b, t, head]
    return said


def the_other_run(said, other, head, place):
    new = other.clone()
    for b, t in enumerate(place.tolist()):
        new[b, t, head] = said[b, t, head]
    return new


def from_place_on(said, other, head, place):
    new = said.clone()
    for b, t in enumerate(place.tolist()):
        new[b, t:, head] = other[b, t:, head]
    return new


def nothing_lands(said, other, head, place):
    new = said.clone()
    for b, t in enumerate(place.tolist()):
        new[b, t][head].clone().copy_(other[b, t, head])
    return new


def sums_both(said, other, head, place):
    new = said.clone()
    for b, t in enumerate(place.tolist()):
        new[b, t, head] = new[b, t, head] + other[b, t, head]
    return new


# direct_logit_attribution


def heads_of(said, W_o):
    return torch.stack([said[:, :, h] @ part.T for h, part in enumerate(W_o.split(said.shape[3], 1))], 2)


def answers_logit(said, W_o, W_U, answers):
    logits = heads_of(said, W_o) @ W_U.T
    return logits.gather(-1, answers[..., None, None].expand(*logits.shape[:3], 1)).squeeze(-1)


def adds_the_heads(said, W_o, W_U, answers):
    logits = said.flatten(2) @ W_o.T @ W_U.T
    return logits.gather(-1, answers[..., None]).squeeze(-1) - logits.mean(-1)


def log_softmaxes(said, W_o, W_U, answers):
    logp = torch.log_softmax(heads_of(said, W_o) @ W_U.T, dim=-1)
    return torch.take_along_dim(logp, answers[:, :, None, None], -1)[..., 0]


def swaps_axes(said, W_o, W_U, answers):
    logits = heads_of(said, W_o) @ W_U.T
    shares = logits.gather(-1, answers[..., None, None].expand(*logits.shape[:3], 1)).squeeze(-1) - logits.mean(-1)
    return shares.transpose(1, 2)


def turned_sign(said, W_o, W_U, answers):
    logits = heads_of(said, W_o) @ W_U.T
    return logits.mean(-1) - logits.gather(-1, answers[..., None, None].expand(*logits.shape[:3], 1)).squeeze(-1)


def lengths(said, W_o, W_U, answers):
    return heads_of(said, W_o).pow(2).sum(-1).sqrt()


def interleaved(said, W_o, W_U, answers):
    H, d = said.shape[2:]
    written = torch.stack([said[:, :, h] @ W_o[:, h::H].T for h in range(H)], 2)
    return (written * (W_U[answers] - W_U.mean(0))[:, :, None]).sum(-1)


# compose


def parts(W_q, W_k, W_v, W_o, num_heads):
    q, k, v = (W.chunk(num_heads) for W in (W_q, W_k, W_v))
    return q, k, v, W_o.chunk(num_heads, 1)


def ratio(qk, ov, norm=torch.linalg.norm):
    return torch.stack([torch.stack([norm(b @ a) / (norm(b) * norm(a)) for a in ov]) for b in qk])


def reads_for_queries(*given):
    q, k, v, o = parts(*given)
    return ratio([b.T @ a for a, b in zip(q, k, strict=True)], [a @ b for a, b in zip(o, v, strict=True)])


def not_divided(*given):
    q, k, v, o = parts(*given)
    return torch.stack([torch.stack([torch.norm(a.T @ b @ c @ d) for c, d in zip(o, v, strict=True)])
                        for a, b in zip(q, k, strict=True)])


def columns_are_later(*given):
    q, k, v, o = parts(*given)
    return ratio([a.T @ b for a, b in zip(q, k, strict=True)], [a @ b for a, b in zip(o, v, strict=True)]).T


def largest_stretch(*given):
    q, k, v, o = parts(*given)
    return ratio([a.T @ b for a, b in zip(q, k, strict=True)], [a @ b for a, b in zip(o, v, strict=True)],
                 lambda m: torch.linalg.svdvals(m)[0])


def no_values(*given):
    q, k, v, o = parts(*given)
    return ratio([a.T @ b for a, b in zip(q, k, strict=True)], o)


def only_keys(*given):
    q, k, v, o = parts(*given)
    return ratio(k, [a @ b for a, b in zip(o, v, strict=True)])


def writes_transposed(*given):
    q, k, v, o = parts(*given)
    return ratio([a.T @ b for a, b in zip(q, k, strict=True)], [(a @ b).T for a, b in zip(o, v, strict=True)])


def one_for_all(W_q, W_k, W_v, W_o, num_heads):
    qk, ov = W_q.T @ W_k, W_o @ W_v
    one = torch.norm(qk @ ov) / torch.norm(qk) / torch.norm(ov)
    return one.repeat(num_heads, num_heads)


SPELLINGS = {
    "attention_scores_by_pattern": {
        "one-after": looks_forward, "later-copies-too": both_ways, "before-the-copy": what_stood_before,
        "the-copy-itself": copy_for_follower, "over-all-queries": every_query, "mean-of-means": row_by_row,
        "keys-and-queries-exchanged": turned_over, "heads-first": per_head_first, "sums": total,
        "how-often-the-most": counts_the_top, "per-place": divides_by_places, "not-a-number": nan_where_none,
    },
    "ablate_head": {
        "in-place": changes_its_argument, "never-the-mean": zeros_always, "mean-over-places": each_text_its_mean,
        "mean-over-the-batch": each_place_its_mean, "one-number": a_single_number, "all-the-others": keeps_only_it,
        "the-other-way-round": the_way_about, "mean-of-all-heads": over_all_heads,
    },
    "patch": {
        "all-heads": whole_token, "all-places": whole_head, "every-row-s-places": crosswise,
        "in-place": writes_into_said, "into-the-other": the_other_run, "from-there-on": from_place_on,
        "nothing": nothing_lands, "added": sums_both,
    },
    "direct_logit_attribution": {
        "logit-of-the-answer-alone": answers_logit, "total-only": adds_the_heads, "log-probability": log_softmaxes,
        "heads-before-places": swaps_axes, "negated": turned_sign, "how-much-it-writes": lengths,
        "columns-of-W-o-in-turn": interleaved,
    },
    "compose": {
        "Q-composition": reads_for_queries, "norms-of-all": not_divided, "earlier-heads-in-rows": columns_are_later,
        "spectral-norm": largest_stretch, "without-the-values": no_values, "keys-alone": only_keys,
        "OV-turned": writes_transposed, "all-heads-as-one": one_for_all,
    },
}
UNNAMED = {}
