"""Mistakes of lesson 12, each as somebody else would make it who never saw the course's own spelling."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

# shift_labels


def shift_swapped(ids):
    T = ids.shape[1]
    targets = ids.narrow(1, 0, T - 1)
    inputs = ids.narrow(1, 1, T - 1)
    return inputs, targets


def shift_both_the_beginning(ids):
    without_last = torch.stack(list(ids.unbind(1))[:-1], dim=1)
    return without_last, without_last.clone()


def shift_both_the_end(ids):
    inputs, targets = torch.empty_like(ids[:, 1:]), torch.empty_like(ids[:, 1:])
    for t in range(1, ids.shape[1]):
        inputs[:, t - 1] = ids[:, t]
        targets[:, t - 1] = ids[:, t]
    return inputs, targets


def shift_by_two(ids):
    T = ids.size(1)
    here = torch.arange(max(T - 2, 0), device=ids.device)
    return ids.index_select(1, here), ids.index_select(1, here + 2)


def shift_rolled(ids):
    return ids, torch.cat((ids[:, 1:], ids[:, :1]), dim=1)


def shift_rolled_and_cut(ids):
    x = ids[:, :-1]
    y = torch.cat([ids[:, -1:], ids[:, :-2]], dim=1)
    return x, y


def shift_inputs_keep_the_last(ids):
    columns = ids.unbind(dim=1)
    return torch.stack(columns, dim=1), torch.stack(columns[1:], dim=1)


def shift_targets_keep_the_first(ids):
    x = ids.detach().clone()[:, : ids.size(1) - 1]
    y = ids.detach().clone()
    return x, y


def shift_along_the_batch(ids):
    first, last = 0, len(ids) - 1
    return ids[first:last], ids[first + 1:]


def shift_adds_one(ids):
    inputs = ids[:, :-1]
    return inputs, inputs.add(1)


def shift_only_the_last(ids):
    T = ids.shape[-1]
    context, answer = ids.split([T - 1, 1], dim=-1)
    return context, answer


def shift_zeros_at_the_end(ids):
    return ids, F.pad(ids[:, 1:], (0, 1), value=0)


def shift_stacked(ids):
    return ids.unfold(1, 2, 1).permute(2, 0, 1)


def shift_flattened(ids):
    stream = ids.flatten()
    return stream[:-1], stream[1:]


def shift_by_two_at_one_end(ids):
    return ids[:, :-1], ids[:, 2:]


def shift_adds_one_everywhere(ids):
    return ids, ids + 1


def shift_only_the_last_as_a_number(ids):
    return ids[:, :-1], ids[:, -1]


def shift_stacked_in_pairs(ids):
    return torch.stack([ids[:, :-1], ids[:, 1:]], dim=-1)


# bigram_probs


def counts_by_loop(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for here, after in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        counts[here, after] += 1
    return counts


def rows_of(counts):
    """The rows divided by their sums, and what is unknown shared out."""
    rows = [row / row.sum() if row.sum() > 0 else torch.ones(len(row)) / len(row) for row in counts]
    return torch.stack(rows)


def probs_transposed(ids, vocab_size, alpha=0.0):
    counts = torch.full((vocab_size, vocab_size), float(alpha))
    for t in range(1, len(ids)):
        counts[ids[t], ids[t - 1]] += 1
    return rows_of(counts)


def probs_columns_sum_to_one(ids, vocab_size, alpha=0.0):
    counts = counts_by_loop(ids, vocab_size) + alpha
    totals = counts.sum(dim=0)
    probs = counts / totals
    probs[:, totals == 0] = 1 / vocab_size
    return probs


def probs_all_sum_to_one(ids, vocab_size, alpha=0.0):
    one_hot = torch.eye(vocab_size)[ids]
    joint = torch.einsum("ti,tj->ij", one_hot[:-1], one_hot[1:]) + alpha
    if joint.sum() == 0:
        return torch.full_like(joint, 1 / vocab_size)
    return joint / joint.sum()


def probs_are_counts(ids, vocab_size, alpha=0.0):
    counts = torch.zeros(vocab_size, vocab_size)
    counts.index_put_((ids[:-1], ids[1:]), torch.tensor(1.0), accumulate=True)
    return counts.add_(alpha)


def probs_nan_where_unseen(ids, vocab_size, alpha=0.0):
    counts = counts_by_loop(ids, vocab_size)
    return torch.stack([(row + alpha) / (row + alpha).sum() for row in counts])


def probs_zeros_where_unseen(ids, vocab_size, alpha=0.0):
    counts = counts_by_loop(ids, vocab_size) + alpha
    return F.normalize(counts, p=1, dim=1)


def probs_around_the_end(ids, vocab_size, alpha=0.0):
    counts = torch.full((vocab_size, vocab_size), float(alpha))
    for i in range(len(ids)):
        counts[ids[i - 1], ids[i]] += 1
    return rows_of(counts)


def probs_alpha_ignored(ids, vocab_size, alpha=0.0):
    one_hot = F.one_hot(ids, vocab_size).float()
    return rows_of(one_hot[:-1].T @ one_hot[1:])


def probs_always_plus_one(ids, vocab_size, alpha=0.0):
    table = torch.ones(vocab_size, vocab_size)
    table.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1), accumulate=True)
    return table / table.sum(1, keepdim=True)


def probs_alpha_after_dividing(ids, vocab_size, alpha=0.0):
    probs = rows_of(counts_by_loop(ids, vocab_size))
    for i in range(vocab_size):
        for j in range(vocab_size):
            probs[i, j] += alpha
    return probs


def probs_alpha_on_the_counts_only(ids, vocab_size, alpha=0.0):
    counts = counts_by_loop(ids, vocab_size)
    probs = torch.full((vocab_size, vocab_size), 1 / vocab_size)
    for i, row in enumerate(counts):
        if row.any():
            probs[i] = (row + alpha) / row.sum()
    return probs


def probs_each_pair_once(ids, vocab_size, alpha=0.0):
    tokens = ids.tolist()
    counts = torch.full((vocab_size, vocab_size), float(alpha))
    for i, j in set(zip(tokens, tokens[1:], strict=False)):
        counts[i, j] += 1
    return rows_of(counts)


def probs_by_all_occurrences(ids, vocab_size, alpha=0.0):
    counts = counts_by_loop(ids, vocab_size)
    probs = torch.empty_like(counts)
    for i in range(vocab_size):
        occurs = (ids == i).sum() + alpha * vocab_size
        probs[i] = (counts[i] + alpha) / occurs if occurs > 0 else 1 / vocab_size
    return probs


def probs_both_directions(ids, vocab_size, alpha=0.0):
    counts = torch.full((vocab_size, vocab_size), float(alpha))
    for a, b in zip(ids, ids[1:], strict=False):
        counts[a, b] += 1
        counts[b, a] += 1
    return rows_of(counts)


def probs_two_apart(ids, vocab_size, alpha=0.0):
    counts = torch.full((vocab_size, vocab_size), float(alpha))
    for t in range(len(ids) - 2):
        counts[ids[t], ids[t + 2]] += 1
    return rows_of(counts)


def probs_every_other_pair(ids, vocab_size, alpha=0.0):
    counts = torch.full((vocab_size, vocab_size), float(alpha))
    for t in range(0, len(ids) - 1, 2):
        counts[ids[t], ids[t + 1]] += 1
    return rows_of(counts)


def probs_by_softmax(ids, vocab_size, alpha=0.0):
    return F.softmax(counts_by_loop(ids, vocab_size) + alpha, dim=-1)


def probs_transposed_in_the_end(ids, vocab_size, alpha=0.0):
    return rows_of(counts_by_loop(ids, vocab_size) + alpha).T


def probs_columns_by_hand(ids, vocab_size, alpha=0.0):
    counts = counts_by_loop(ids, vocab_size) + alpha
    return counts / counts.sum(dim=0)


# BigramLM


class Bigram(nn.Module):
    """The table, and a loss that each of the classes below spells for itself."""

    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.table(idx)
        return logits, None if targets is None else self.loss(logits, targets, idx)

    def loss(self, logits, targets, idx):
        picked = logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1))
        return -picked.mean()


class BigramShiftsAgain(Bigram):
    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets[:, 1:])


class BigramPredictsItself(Bigram):
    def loss(self, logits, targets, idx):
        return super().loss(logits, idx, idx)


class BigramShiftsItsInputs(Bigram):
    def loss(self, logits, targets, idx):
        following = idx[:, 1:]
        return super().loss(logits[:, : following.shape[1]], following, idx)


class BigramSums(Bigram):
    def loss(self, logits, targets, idx):
        one_hot = F.one_hot(targets, logits.shape[-1])
        return -(logits.log_softmax(-1) * one_hot).sum()


class BigramSumsOverTime(Bigram):
    def loss(self, logits, targets, idx):
        steps = [F.cross_entropy(logits[:, t], targets[:, t]) for t in range(idx.shape[1])]
        return sum(steps)


class BigramOneLossAPlace(Bigram):
    def loss(self, logits, targets, idx):
        return torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None]).squeeze(-1)


class BigramFlatLogits(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.table(idx)
        if targets is None:
            loss = None
        else:
            B, T, C = logits.shape
            logits = logits.view(B * T, C)
            targets = targets.reshape(B * T)
            loss = F.cross_entropy(logits, targets)
        return logits, loss


class BigramTurnedLogits(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits, loss = self.table(idx), None
        if targets is not None:
            logits = logits.permute(0, 2, 1)
            loss = nn.CrossEntropyLoss()(logits, targets)
        return logits, loss


class BigramViewedLogits(Bigram):
    def loss(self, logits, targets, idx):
        B, T, C = logits.size()
        return nn.CrossEntropyLoss()(logits.reshape(B, C, T), targets)


class BigramGivesProbabilities(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        probs = F.softmax(self.table(idx), dim=-1)
        if targets is None:
            return probs, None
        return probs, F.nll_loss(probs.log().flatten(0, 1), targets.flatten())


class BigramSoftmaxBeforeTheLoss(Bigram):
    def loss(self, logits, targets, idx):
        probs = logits.exp() / logits.exp().sum(-1, keepdim=True)
        return nn.CrossEntropyLoss()(probs.movedim(-1, 1), targets)


class BigramNLLOfLogits(Bigram):
    def loss(self, logits, targets, idx):
        return nn.NLLLoss()(logits.transpose(1, 2), targets)


class BigramReadsColumns(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = F.one_hot(idx, self.table.num_embeddings).to(self.table.weight.dtype) @ self.table.weight.T
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.transpose(1, 2), targets)


class BigramLastPlaceOnly(Bigram):
    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits[:, -1, :], targets[:, -1])


class BigramPerplexity(Bigram):
    def loss(self, logits, targets, idx):
        return torch.exp(super().loss(logits, targets, idx))


class BigramIgnoresToken0(Bigram):
    def loss(self, logits, targets, idx):
        criterion = nn.CrossEntropyLoss(ignore_index=0)
        return criterion(logits.flatten(0, 1), targets.flatten())


class BigramZeroForNone(Bigram):
    def forward(self, idx, targets=None):
        loss = torch.tensor(0.0)
        logits = self.table(idx)
        if targets is not None:
            loss = self.loss(logits, targets, idx)
        return logits, loss


class BigramLogitsAlone(Bigram):
    def forward(self, idx, targets=None):
        if targets is None:
            return self.table(idx)
        return super().forward(idx, targets)


class BigramNeverALoss(Bigram):
    def forward(self, idx, targets=None):
        return self.table.weight[idx]


class BigramLossFirst(Bigram):
    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return loss, logits


class BigramNumberZeroForNone(Bigram):
    def forward(self, idx, targets=None):
        loss = 0
        if targets is not None:
            loss = self.loss(self.table(idx), targets, idx)
        return self.table(idx), loss


class BigramOneLossAToken(Bigram):
    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")


# get_batch


def pieces(data, starts, length):
    return torch.stack([data[s : s + length] for s in starts])


def batch_last_start_never(data, block_size, batch_size):
    free = len(data) - block_size - 1
    ix = (torch.rand(batch_size) * free).long().tolist()
    return pieces(data, ix, block_size), pieces(data, [i + 1 for i in ix], block_size)


def batch_first_start_never(data, block_size, batch_size):
    ix = torch.randint(low=1, high=len(data) - block_size, size=(batch_size,))
    return pieces(data, ix, block_size), pieces(data, ix + 1, block_size)


def batch_start_beyond_the_last(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size + 1, (batch_size,))
    return pieces(data, ix, block_size), pieces(data, ix + 1, block_size)


def batch_start_anywhere(data, block_size, batch_size):
    ix = torch.randint(0, data.numel(), (batch_size,))
    return pieces(data, ix, block_size), pieces(data, ix + 1, block_size)


def batch_range_is_one_short(data, block_size, batch_size):
    last_start = len(data) - block_size - 1
    windows = data.unfold(0, block_size + 1, 1)[torch.randint(0, last_start, (batch_size,))]
    return windows[:, :-1], windows[:, 1:]


def batch_one_for_all(data, block_size, batch_size):
    start = torch.randint(0, len(data) - block_size, ()).item()
    x = data[start : start + block_size].repeat(batch_size, 1)
    y = data[start + 1 : start + block_size + 1].repeat(batch_size, 1)
    return x, y


def batch_from_the_beginning(data, block_size, batch_size):
    window = data[: block_size + 1].expand(batch_size, -1)
    return window[:, :-1].clone(), window[:, 1:].clone()


def batch_seeds_itself(data, block_size, batch_size):
    dice = torch.Generator().manual_seed(1337)
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=dice)
    return pieces(data, ix, block_size), pieces(data, ix + 1, block_size)


def batch_multiples_of_the_block(data, block_size, batch_size):
    blocks = data[: (len(data) - 1) // block_size * block_size].view(-1, block_size)
    following = data[1:][: blocks.numel()].view(-1, block_size)
    which = torch.randint(len(blocks), (batch_size,))
    return blocks[which], following[which]


def batch_without_replacement(data, block_size, batch_size):
    equal = torch.ones(len(data) - block_size)
    ix = torch.multinomial(equal, batch_size, replacement=False)
    return pieces(data, ix, block_size), pieces(data, ix + 1, block_size)


def batch_sorted_places(data, block_size, batch_size):
    ix = sorted(torch.randint(len(data) - block_size, (batch_size,)).tolist())
    return pieces(data, ix, block_size), pieces(data, [i + 1 for i in ix], block_size)


def batch_rounds(data, block_size, batch_size):
    ix = torch.empty(batch_size).uniform_(0, len(data) - block_size - 1).round().int()
    return pieces(data, ix, block_size), pieces(data, ix + 1, block_size)


def batch_targets_are_the_inputs(data, block_size, batch_size):
    x = pieces(data, torch.randint(len(data) - block_size, (batch_size,)), block_size)
    return x, x.clone()


def batch_targets_and_inputs_swapped(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    y = pieces(data, ix, block_size)
    x = pieces(data, ix + 1, block_size)
    return x, y


def batch_targets_drawn_anew(data, block_size, batch_size):
    def draw(shift):
        return pieces(data[shift:], torch.randint(len(data) - block_size, (batch_size,)), block_size)

    return draw(0), draw(1)


def batch_targets_rolled(data, block_size, batch_size):
    x = pieces(data, torch.randint(len(data) - block_size, (batch_size,)), block_size)
    return x, torch.cat([x[:, 1:], x[:, :1]], dim=1)


def batch_one_target_a_piece(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return pieces(data, ix, block_size), torch.stack([data[i + block_size] for i in ix])


def batch_one_token_short(data, block_size, batch_size):
    window = pieces(data, torch.randint(len(data) - block_size, (batch_size,)), block_size)
    return window.narrow(1, 0, block_size - 1), window.narrow(1, 1, block_size - 1)


def batch_pieces_stand_upright(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix], dim=1)
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix], dim=1)
    return x, y


def windows(data, starts, block_size):
    """Pieces by index, as the docstring's author makes them."""
    places = starts[:, None] + torch.arange(block_size)
    return data[places], data[places + 1]


def batch_indexed_beyond_the_last(data, block_size, batch_size):
    return windows(data, torch.randint(len(data) - block_size + 1, (batch_size,)), block_size)


def batch_indexed_anywhere(data, block_size, batch_size):
    return windows(data, torch.randint(len(data), (batch_size,)), block_size)


def batch_first_half_of_the_places(data, block_size, batch_size):
    free = len(data) - block_size
    return windows(data, torch.randint(max(1, free // 2), (batch_size,)), block_size)


def batch_one_target_in_a_column(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return pieces(data, ix, block_size), torch.stack([data[i + block_size : i + block_size + 1] for i in ix])


# next_token_probs


def kept(logits, top_k):
    """True at the top_k largest of each row, by sorting."""
    if top_k is None or top_k >= logits.shape[-1]:
        return torch.ones_like(logits, dtype=torch.bool)
    rank = logits.argsort(-1, descending=True).argsort(-1)
    return rank < top_k


def next_times_temperature(logits, temperature=1.0, top_k=None):
    hot = logits * temperature
    e = torch.exp(hot - hot.max(-1, keepdim=True).values) * kept(logits, top_k)
    return e / e.sum(-1, keepdim=True)


def next_without_temperature(logits, temperature=1.0, top_k=None):
    return F.softmax(torch.where(kept(logits, top_k), logits, -torch.inf), dim=-1)


def next_temperature_after_softmax(logits, temperature=1.0, top_k=None):
    probs = logits.masked_fill(~kept(logits, top_k), -torch.inf).softmax(-1)
    return probs / temperature


def next_without_top_k(logits, temperature=1.0, top_k=None):
    return nn.Softmax(dim=1)(logits.div(temperature))


def next_top_k_not_shared_out(logits, temperature=1.0, top_k=None):
    probs = torch.softmax(logits / temperature, -1)
    if top_k is None:
        return probs
    best = probs.topk(min(top_k, probs.shape[-1]), dim=-1)
    return torch.zeros_like(probs).scatter(-1, best.indices, best.values)


def next_zero_for_minus_infinity(logits, temperature=1.0, top_k=None):
    return F.softmax(logits * kept(logits, top_k) / temperature, dim=-1)


def next_keeps_the_smallest(logits, temperature=1.0, top_k=None):
    logits = logits / temperature
    if top_k is not None:
        order = logits.argsort(dim=-1)
        dropped = order[:, top_k:]
        logits = logits.scatter(-1, dropped, -torch.inf)
    return logits.softmax(-1)


def next_one_too_many(logits, temperature=1.0, top_k=None):
    return next_without_temperature(logits / temperature, top_k=None if top_k is None else top_k + 1)


def next_one_too_few(logits, temperature=1.0, top_k=None):
    if top_k is not None and top_k < logits.size(-1):
        threshold = torch.sort(logits, dim=-1, descending=True).values[:, top_k - 1].unsqueeze(-1)
        logits = torch.where(logits > threshold, logits, float("-inf"))
    return torch.softmax(logits / temperature, dim=-1)


def next_threshold_for_all_rows(logits, temperature=1.0, top_k=None):
    if top_k is not None and top_k < logits.size(-1):
        threshold = logits.topk(top_k).values.min()
        logits = logits.masked_fill(logits < threshold, float("-inf"))
    return torch.softmax(logits / temperature, dim=-1)


def next_only_the_kept(logits, temperature=1.0, top_k=None):
    if top_k is not None:
        logits = logits.sort(dim=-1, descending=True).values[:, :top_k]
    return torch.softmax(logits / temperature, dim=-1)


def next_too_large_a_k(logits, temperature=1.0, top_k=None):
    if top_k is None:
        return torch.softmax(logits / temperature, dim=-1)
    values, indices = torch.topk(logits, top_k)
    filtered = torch.full_like(logits, float("-inf")).scatter_(1, indices, values)
    return torch.softmax(filtered / temperature, dim=-1)


def next_softmax_over_the_batch(logits, temperature=1.0, top_k=None):
    scores = torch.where(kept(logits, top_k), logits, float("-inf")) / temperature
    e = (scores - scores.amax(dim=0)).exp()
    return e / e.sum(dim=0)


def next_bare_exponentials_over_the_batch(logits, temperature=1.0, top_k=None):
    scores = torch.where(kept(logits, top_k), logits, float("-inf")) / temperature
    e = scores.exp()
    return e / e.sum(dim=0)


def next_log_probs(logits, temperature=1.0, top_k=None):
    scores = torch.where(kept(logits, top_k), logits, float("-inf")) / temperature
    return scores - scores.logsumexp(-1, keepdim=True)


def next_all_or_nothing(logits, temperature=1.0, top_k=None):
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


def next_overflowing(logits, temperature=1.0, top_k=None):
    e = (logits / temperature).exp() * kept(logits, top_k)
    return torch.einsum("bv,b->bv", e, 1 / e.sum(-1))


# generate


@torch.no_grad()
def write_greedily(model, idx, max_new_tokens, block_size):
    text = idx.clone()
    for _ in range(max_new_tokens):
        best = model(text[:, -block_size:])[:, -1].max(dim=-1, keepdim=True).indices
        text = torch.hstack([text, best])
    return text


@torch.no_grad()
def write_uniformly(model, idx, max_new_tokens, block_size):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -block_size:])[:, -1, :]
        idx = torch.cat([idx, torch.multinomial((logits > -torch.inf).float(), 1)], dim=1)
    return idx


@torch.no_grad()
def write_too_sharp(model, idx, max_new_tokens, block_size):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -block_size:])[:, -1, :] / 0.7
        idx = torch.cat([idx, Categorical(logits=logits).sample()[:, None]], dim=1)
    return idx


@torch.no_grad()
def write_too_flat(model, idx, max_new_tokens, block_size):
    temperature = 1.5
    for _ in range(max_new_tokens):
        logits = model(idx[:, -block_size:])[:, -1, :]
        probs = F.softmax(logits / temperature, dim=-1)
        idx = torch.cat([idx, probs.multinomial(1)], dim=1)
    return idx


@torch.no_grad()
def write_by_exponentials(model, idx, max_new_tokens, block_size):
    for _ in range(max_new_tokens):
        chances = model(idx[:, -block_size:])[:, -1].exp()
        idx = torch.cat([idx, torch.multinomial(chances / chances.sum(-1, keepdim=True), 1)], dim=1)
    return idx


@torch.no_grad()
def write_with_its_own_seed(model, idx, max_new_tokens, block_size):
    dice = torch.Generator().manual_seed(42)
    for _ in range(max_new_tokens):
        probs = model(idx[:, -block_size:])[:, -1].softmax(-1)
        idx = torch.cat([idx, torch.multinomial(probs, 1, generator=dice)], dim=1)
    return idx


class Writer:
    """A model and what it may see at most, in the way of somebody who likes objects."""

    def __init__(self, model, idx, block_size):
        self.model, self.text, self.block_size = model, idx, block_size

    def context(self):
        return self.text[:, -self.block_size:]

    def logits(self):
        return self.model(self.context())[:, -1]

    def write(self, tokens):
        with torch.no_grad():
            for _ in range(tokens):
                self.add(Categorical(logits=self.logits()).sample().unsqueeze(1))
        return self.text

    def add(self, token):
        self.text = torch.cat([self.text, token], dim=1)


def write_with_all_the_text(model, idx, max_new_tokens, block_size):
    class SeesAll(Writer):
        def context(self):
            return self.text

    return SeesAll(model, idx, block_size).write(max_new_tokens)


def write_with_the_beginning(model, idx, max_new_tokens, block_size):
    class SeesTheBeginning(Writer):
        def context(self):
            return self.text[:, : self.block_size]

    return SeesTheBeginning(model, idx, block_size).write(max_new_tokens)


def write_with_one_token(model, idx, max_new_tokens, block_size):
    class SeesOne(Writer):
        def context(self):
            return self.text[:, [-1]]

    return SeesOne(model, idx, block_size).write(max_new_tokens)


def write_from_the_first_place(model, idx, max_new_tokens, block_size):
    class AsksTheFirst(Writer):
        def logits(self):
            return self.model(self.context()).select(1, 0)

    return AsksTheFirst(model, idx, block_size).write(max_new_tokens)


def write_from_the_place_before(model, idx, max_new_tokens, block_size):
    class AsksTheOneBefore(Writer):
        def logits(self):
            return self.model(self.context())[:, -2, :]

    return AsksTheOneBefore(model, idx, block_size).write(max_new_tokens)


def write_down_the_rows(model, idx, max_new_tokens, block_size):
    with torch.no_grad():
        for _ in range(max_new_tokens):
            probs = F.softmax(model(idx[:, -block_size:])[:, -1], dim=0)
            idx = torch.hstack([idx, Categorical(probs=probs).sample().view(-1, 1)])
    return idx


def write_from_softmax_of_probabilities(model, idx, max_new_tokens, block_size):
    class SoftmaxTwice(Writer):
        def logits(self):
            return super().logits().softmax(-1)

    return SoftmaxTwice(model, idx, block_size).write(max_new_tokens)


def write_only_the_new(model, idx, max_new_tokens, block_size):
    return Writer(model, idx, block_size).write(max_new_tokens).tensor_split([idx.shape[1]], dim=1)[1]


def write_only_the_last_block(model, idx, max_new_tokens, block_size):
    return Writer(model, idx, block_size).write(max_new_tokens)[:, -block_size:]


def write_and_cut_the_text(model, idx, max_new_tokens, block_size):
    with torch.no_grad():
        for _ in range(max_new_tokens):
            if idx.shape[1] > block_size:
                idx = idx[:, -block_size:]
            probs = F.softmax(model(idx)[:, -1], dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
    return idx


def write_one_too_many(model, idx, max_new_tokens, block_size):
    writer, written = Writer(model, idx, block_size), 0
    while written <= max_new_tokens:
        writer.write(1)
        written += 1
    return writer.text


def write_up_to_a_total(model, idx, max_new_tokens, block_size):
    writer = Writer(model, idx, block_size)
    while writer.text.shape[1] < max_new_tokens:
        writer.write(1)
    return writer.text


def write_and_stay_in_eval_mode(model, idx, max_new_tokens, block_size):
    if isinstance(model, nn.Module):
        model.eval()
    return Writer(model, idx, block_size).write(max_new_tokens)


SPELLINGS = {
    "shift_labels": {
        "swapped": shift_swapped,
        "both-the-beginning": shift_both_the_beginning,
        "both-the-end": shift_both_the_end,
        "shifted-by-two": shift_by_two,
        "rolled": shift_rolled,
        "rolled-and-cut": shift_rolled_and_cut,
        "inputs-keep-the-last": shift_inputs_keep_the_last,
        "targets-keep-the-first": shift_targets_keep_the_first,
        "along-the-batch": shift_along_the_batch,
        "adds-one": shift_adds_one,
        "only-the-last": shift_only_the_last,
        "zeros-at-the-end": shift_zeros_at_the_end,
        "stacked": shift_stacked,
        "flattened": shift_flattened,
    },
    "bigram_probs": {
        "transposed": probs_transposed,
        "columns-sum-to-one": probs_columns_sum_to_one,
        "all-sum-to-one": probs_all_sum_to_one,
        "returns-counts": probs_are_counts,
        "nan-where-unseen": probs_nan_where_unseen,
        "zeros-where-unseen": probs_zeros_where_unseen,
        "around-the-end": probs_around_the_end,
        "alpha-ignored": probs_alpha_ignored,
        "always-plus-one": probs_always_plus_one,
        "alpha-after-dividing": probs_alpha_after_dividing,
        "alpha-on-the-counts-only": probs_alpha_on_the_counts_only,
        "each-pair-once": probs_each_pair_once,
        "divided-by-all-occurrences": probs_by_all_occurrences,
        "both-directions": probs_both_directions,
        "two-apart": probs_two_apart,
        "every-other-pair": probs_every_other_pair,
        "softmax-of-counts": probs_by_softmax,
    },
    "BigramLM": {
        "shifts-again": BigramShiftsAgain,
        "inputs-as-targets": BigramPredictsItself,
        "inputs-shifted-as-targets": BigramShiftsItsInputs,
        "summed": BigramSums,
        "summed-over-time": BigramSumsOverTime,
        "one-loss-a-place": BigramOneLossAPlace,
        "flat-logits": BigramFlatLogits,
        "turned-logits": BigramTurnedLogits,
        "viewed-logits": BigramViewedLogits,
        "probabilities": BigramGivesProbabilities,
        "softmax-before-the-loss": BigramSoftmaxBeforeTheLoss,
        "nll-of-logits": BigramNLLOfLogits,
        "columns": BigramReadsColumns,
        "last-place-only": BigramLastPlaceOnly,
        "perplexity": BigramPerplexity,
        "token-0-is-padding": BigramIgnoresToken0,
        "zero-for-none": BigramZeroForNone,
        "logits-alone": BigramLogitsAlone,
        "never-a-loss": BigramNeverALoss,
        "loss-first": BigramLossFirst,
    },
    "get_batch": {
        "start-beyond-the-last": batch_start_beyond_the_last,
        "start-anywhere": batch_start_anywhere,
        "range-is-one-short": batch_range_is_one_short,
        "last-start-never": batch_last_start_never,
        "one-for-all": batch_one_for_all,
        "seeds-itself": batch_seeds_itself,
        "multiples-of-the-block": batch_multiples_of_the_block,
        "sorted-places": batch_sorted_places,
        "rounds": batch_rounds,
        "targets-are-the-inputs": batch_targets_are_the_inputs,
        "targets-and-inputs-swapped": batch_targets_and_inputs_swapped,
        "targets-drawn-anew": batch_targets_drawn_anew,
        "targets-rolled": batch_targets_rolled,
        "one-target-a-piece": batch_one_target_a_piece,
        "one-token-short": batch_one_token_short,
        "pieces-stand-upright": batch_pieces_stand_upright,
        "always-the-first-piece": batch_from_the_beginning,
    },
    "next_token_probs": {
        "temperature-multiplies": next_times_temperature,
        "temperature-ignored": next_without_temperature,
        "temperature-after-softmax": next_temperature_after_softmax,
        "top-k-ignored": next_without_top_k,
        "top-k-not-shared-out": next_top_k_not_shared_out,
        "zero-for-minus-infinity": next_zero_for_minus_infinity,
        "keeps-the-smallest": next_keeps_the_smallest,
        "one-too-many": next_one_too_many,
        "one-too-few": next_one_too_few,
        "threshold-for-all-rows": next_threshold_for_all_rows,
        "only-the-kept": next_only_the_kept,
        "too-large-a-k": next_too_large_a_k,
        "softmax-over-the-batch": next_softmax_over_the_batch,
        "log-probs": next_log_probs,
        "all-or-nothing": next_all_or_nothing,
        "overflowing": next_overflowing,
    },
    "generate": {
        "greedy": write_greedily,
        "too-sharp": write_too_sharp,
        "too-flat": write_too_flat,
        "drawn-by-exponentials": write_by_exponentials,
        "sets-a-seed": write_with_its_own_seed,
        "context-not-cut": write_with_all_the_text,
        "context-is-the-beginning": write_with_the_beginning,
        "context-is-one-token": write_with_one_token,
        "first-place": write_from_the_first_place,
        "place-before-the-last": write_from_the_place_before,
        "softmax-down-the-rows": write_down_the_rows,
        "softmax-of-probabilities": write_from_softmax_of_probabilities,
        "only-the-new": write_only_the_new,
        "only-the-last-block": write_only_the_last_block,
        "the-text-is-cut-too": write_and_cut_the_text,
        "one-token-too-many": write_one_too_many,
        "max-is-the-total": write_up_to_a_total,
        "leaves-eval-mode": write_and_stay_in_eval_mode,
        "uniform": write_uniformly,
    },
}

UNNAMED = {
    "next_token_probs": {
        "softmax-over-the-batch": (
            next_bare_exponentials_over_the_batch, "it overflows, too", "softmax-over-the-batch", "overflowing",
        ),
    },
    "get_batch": {
        "first-half-of-the-places": (
            batch_first_half_of_the_places,
            "of 4 places a quarter of all neighbours are alike, the very limit: chance decides what breaks",
        ),
    },
}

MISNAMED = {
    "get_batch": {
        "without-replacement": (
            batch_without_replacement, "start-beyond-the-last",
            "an error where the batch is larger than the data; it mentions a size, as that of the other mistake does",
        ),
    },
}
