"""Right answers of lesson 17 in other people's styles."""

import torch
import torch.nn.functional as F


def patterns_by_loop(weights, ids):
    B, H, T, _ = weights.shape
    total, count = weights.new_zeros(3, H), [0, 0, 0]
    for b in range(B):
        for q in range(T):
            copies = [k for k in range(q) if ids[b, k] == ids[b, q]]
            for kind, places in enumerate(([q - 1] if q > 0 else [], copies, [k + 1 for k in copies])):
                if places:
                    count[kind] += 1
                    total[kind] = total[kind] + weights[b, :, q, places].sum(dim=-1)
    return torch.stack([total[i] / count[i] if count[i] else total[i] for i in range(3)])


def patterns_by_where(weights, ids):
    T = ids.size(1)
    q, k = torch.arange(T, device=ids.device)[:, None], torch.arange(T, device=ids.device)[None]
    one_back = (q == k + 1)[None].repeat(len(ids), 1, 1)
    copy = ids.unsqueeze(2).eq(ids.unsqueeze(1)).logical_and(k < q)
    follows = torch.zeros_like(copy)
    follows[:, :, 1:] = copy[:, :, :-1]
    out = []
    for mask in (one_back, copy, follows):
        each = torch.where(mask[:, None], weights, torch.zeros_like(weights)).sum(-1)  # (B, H, T)
        any_ = mask.any(2)[:, None].expand_as(each)
        n = any_[:, 0].sum()
        out.append(each.sum(dim=(0, 2)) / (n if n > 0 else 1))
    return torch.stack(out)


def patterns_by_selecting(weights, ids):
    T = ids.shape[1]
    copy = torch.tril(ids[:, :, None] == ids[:, None, :], -1)
    diagonal = torch.eye(T, dtype=torch.bool, device=ids.device)
    one_back = torch.cat([torch.zeros_like(diagonal[:1]), diagonal[:-1]])
    follows = torch.cat([torch.zeros_like(copy[..., :1]), copy[..., :-1]], dim=-1)
    rows = []
    for mask in (one_back.expand(len(ids), T, T), copy, follows):
        spent = (weights * mask[:, None].to(weights.dtype)).sum(-1).transpose(1, 2)  # (B, T, H)
        chosen = spent[mask.any(-1)]  # (n, H)
        rows.append(chosen.mean(0) if len(chosen) else weights.sum((0, 2, 3)) * 0)
    return torch.stack(rows)


def patterns_by_nan(weights, ids):
    T = ids.shape[1]
    place = torch.arange(T, device=ids.device)
    copy = (ids[:, :, None] == ids[:, None]) & (place[None, :] < place[:, None])
    kinds = [(place[:, None] - place == 1).expand(len(ids), T, T), copy, F.pad(copy[:, :, : T - 1], (1, 0))]
    means = [(weights * kind[:, None]).sum(-1).masked_fill(~kind.any(-1)[:, None], float("nan")).nanmean((0, 2))
             for kind in kinds]
    return torch.nan_to_num(torch.stack(means))


def patterns_by_diagonal(weights, ids):
    B, H, T, _ = weights.shape
    first = weights.diagonal(-1, 2, 3).mean((0, 2)) if T > 1 else weights.new_zeros(H)
    rest = []
    same = (ids[:, :, None] == ids[:, None]).tril(-1)
    for moved in (0, 1):
        kind = same.roll(moved, -1) if moved else same  # the last column of `same` is empty, so nothing comes round
        rest.append((weights * kind[:, None]).sum((0, 2, 3)) / kind.any(-1).sum().clamp(min=1))
    return torch.stack([first, *rest])


def ablated_by_mask(said, head, mean=False):
    others = (torch.arange(said.shape[2], device=said.device) != head)[:, None]
    instead = said.mean(dim=(0, 1), keepdim=True) if mean else torch.zeros_like(said)
    return torch.where(others, said, instead)


def ablated_by_stack(said, head, mean=False):
    heads = list(said.unbind(2))
    own = heads[head]
    heads[head] = own.flatten(0, 1).mean(0).expand_as(own) if mean else torch.zeros_like(own)
    return torch.stack(heads, 2)


def ablated_by_cat(said, head, mean=False):
    own = said[:, :, head : head + 1]
    new = own.mean(1, keepdim=True).mean(0, keepdim=True).expand_as(own) if mean else own * 0
    return torch.cat([said[:, :, :head], new, said[:, :, head + 1 :]], dim=2)


def ablated_with_if(said, head, mean=False):
    result = said.detach().clone() if not said.requires_grad else said.clone()
    if mean:
        average = said[:, :, head, :].sum(dim=(0, 1)) / (said.size(0) * said.size(1))
        result[:, :, head, :] = average
    else:
        result[:, :, head, :] = 0.0
    return result


def ablated_by_index(said, head, mean=False):
    index = torch.tensor([head], device=said.device)
    new = said[:, :, [head]].mean(dim=(0, 1), keepdim=True).expand(len(said), said.shape[1], 1, -1) if mean \
        else torch.zeros_like(said[:, :, [head]])
    return said.index_copy(2, index, new)


def patched_by_loop(said, other, head, place):
    out = said.clone()
    for b, t in enumerate(place):
        out[b, t, head] = other[b, t, head]
    return out


def patched_by_where(said, other, head, place):
    B, T, H, _ = said.shape
    here = (torch.arange(T, device=said.device) == place[:, None])[:, :, None, None]
    this = (torch.arange(H, device=said.device) == head)[:, None]
    return torch.where(here & this, other, said)


def patched_by_one_hot(said, other, head, place):
    at = F.one_hot(place, said.shape[1]).to(said)[:, :, None, None]
    at = at * F.one_hot(torch.tensor(head, device=said.device), said.shape[2]).to(said)[:, None]
    return said * (1 - at) + other * at


def patched_by_scatter(said, other, head, place):
    index = place[:, None, None].expand(-1, 1, said.shape[-1])
    one = said[:, :, head].scatter(1, index, other[:, :, head].gather(1, index))
    return torch.cat([said[:, :, :head], one[:, :, None], said[:, :, head + 1 :]], 2)


def patched_by_list(said, other, head, place):
    out = torch.clone(said)
    rows = list(range(said.shape[0]))
    out[rows, place.tolist(), head, :] = other[rows, place.tolist(), head, :]
    return out


def attribution_by_loop(said, W_o, W_U, answers):
    H, d = said.shape[2:]
    out = []
    for h in range(H):
        written = said[:, :, h] @ W_o[:, h * d : (h + 1) * d].T
        logits = written @ W_U.T
        out.append(logits.gather(2, answers.unsqueeze(2)).squeeze(2) - logits.mean(2))
    return torch.stack(out, dim=2)


def attribution_backwards(said, W_o, W_U, answers):
    direction = W_U[answers] - W_U.mean(dim=0, keepdim=True)
    asked = (direction @ W_o).unflatten(-1, said.shape[2:])  # what each head would have to say
    return (said * asked).sum(-1)


def attribution_centred_first(said, W_o, W_U, answers):
    centred = W_U - W_U.mean(0, keepdim=True)
    per_head = W_o.view(W_o.shape[0], said.shape[2], said.shape[3]) if W_o.is_contiguous() \
        else W_o.reshape(W_o.shape[0], said.shape[2], said.shape[3])
    logits = torch.einsum("bthi,dhi,vd->bthv", said, per_head, centred)
    return torch.take_along_dim(logits, answers[:, :, None, None], dim=-1)[..., 0]


def attribution_by_linear(said, W_o, W_U, answers):
    B, T, H, d = said.shape
    spread = torch.zeros(B, T, H, H, d, dtype=said.dtype, device=said.device)
    for h in range(H):
        spread[:, :, h, h] = said[:, :, h]
    logits = F.linear(F.linear(spread.flatten(-2), W_o), W_U)
    index = answers[:, :, None, None].expand(B, T, H, 1)
    return (logits.gather(-1, index) - logits.mean(-1, keepdim=True)).squeeze(-1)


def attribution_by_one_hot(said, W_o, W_U, answers):
    wanted = F.one_hot(answers, len(W_U)).to(said) - 1 / len(W_U)
    direction = wanted @ W_U
    written = torch.stack([said[:, :, h] @ part.T for h, part in enumerate(W_o.split(said.shape[-1], 1))], 2)
    return torch.matmul(written, direction[..., None])[..., 0]


def compose_by_loop(W_q, W_k, W_v, W_o, num_heads):
    d = len(W_q) // num_heads
    rows = [slice(h * d, h * d + d) for h in range(num_heads)]
    out = []
    for later in rows:
        W_QK = W_q[later].T @ W_k[later]
        for earlier in rows:
            W_OV = W_o[:, earlier] @ W_v[earlier]
            out.append((W_QK @ W_OV).norm() / (W_QK.norm() * W_OV.norm()))
    return torch.stack(out).view(num_heads, num_heads)


def compose_by_einsum(W_q, W_k, W_v, W_o, num_heads):
    D = W_q.shape[1]
    q, k, v = (W.reshape(num_heads, -1, D) for W in (W_q, W_k, W_v))
    o = W_o.reshape(D, num_heads, -1)
    qk = torch.einsum("hix,hiy->hxy", q, k)
    ov = torch.einsum("xhi,hiy->hxy", o, v)
    frobenius = lambda m: (m**2).sum((-2, -1)).sqrt()  # noqa: E731
    return frobenius(torch.einsum("bxy,ayz->baxz", qk, ov)) / torch.outer(frobenius(qk), frobenius(ov))


def compose_by_scaling_first(W_q, W_k, W_v, W_o, num_heads):
    qk = [a.T @ b for a, b in zip(W_q.chunk(num_heads), W_k.chunk(num_heads), strict=True)]
    ov = [a @ b for a, b in zip(W_o.chunk(num_heads, 1), W_v.chunk(num_heads), strict=True)]
    qk, ov = ([m / torch.linalg.norm(m) for m in group] for group in (qk, ov))
    return torch.stack([torch.stack([torch.linalg.norm(b @ a) for a in ov]) for b in qk])


def compose_by_traces(W_q, W_k, W_v, W_o, num_heads):
    q, k, v = (torch.stack(W.split(len(W) // num_heads)) for W in (W_q, W_k, W_v))
    o = torch.stack(W_o.split(W_o.shape[1] // num_heads, dim=1))
    qk, ov = q.mT @ k, o @ v
    inner = torch.einsum("byx,byz,axw,azw->ba", qk, qk, ov, ov)  # squares of the norms of the products
    return (inner / (qk.pow(2).sum((1, 2))[:, None] * ov.pow(2).sum((1, 2)))).clamp(min=0).sqrt()


def compose_flat(W_q, W_k, W_v, W_o, num_heads):
    D = W_q.size(-1)
    W_QK = torch.bmm(W_q.reshape(num_heads, -1, D).transpose(1, 2), W_k.reshape(num_heads, -1, D))
    W_OV = torch.bmm(W_o.T.reshape(num_heads, -1, D).transpose(1, 2), W_v.reshape(num_heads, -1, D))
    both = torch.matmul(W_QK.unsqueeze(1), W_OV.unsqueeze(0)).flatten(2).norm(dim=2)
    return both / W_QK.flatten(1).norm(dim=1).unsqueeze(1) / W_OV.flatten(1).norm(dim=1).unsqueeze(0)


RIGHT_ANSWERS = {
    "attention_scores_by_pattern": {
        "loop": patterns_by_loop, "where": patterns_by_where, "selecting the queries": patterns_by_selecting,
        "nanmean": patterns_by_nan, "diagonal and roll": patterns_by_diagonal},
    "ablate_head": {
        "a mask": ablated_by_mask, "unbind and stack": ablated_by_stack, "cat": ablated_by_cat,
        "if and else": ablated_with_if, "index_copy": ablated_by_index},
    "patch": {
        "loop": patched_by_loop, "where": patched_by_where, "one-hot": patched_by_one_hot,
        "gather and scatter": patched_by_scatter, "lists": patched_by_list},
    "direct_logit_attribution": {
        "loop over heads": attribution_by_loop, "from the answer back": attribution_backwards,
        "centred first": attribution_centred_first, "one head at a time through the layers": attribution_by_linear,
        "one-hot": attribution_by_one_hot},
    "compose": {
        "loop": compose_by_loop, "einsum": compose_by_einsum, "scaled first": compose_by_scaling_first,
        "traces": compose_by_traces, "bmm": compose_flat},
}
