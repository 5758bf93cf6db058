"""Right answers of lesson 12 in other people's styles."""

from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical


def shift_by_loop(ids):
    inputs, targets = torch.zeros_like(ids[:, 1:]), torch.zeros_like(ids[:, 1:])
    for t in range(ids.shape[1] - 1):
        inputs[:, t] = ids[:, t]
        targets[:, t] = ids[:, t + 1]
    return inputs, targets


def shift_by_windows(ids):
    inputs, targets = ids.unfold(1, 2, 1).unbind(-1)
    return inputs, targets


def probs_by_counter(ids, vocab_size, alpha=0.0):
    tokens = ids.tolist()
    pairs = Counter(zip(tokens, tokens[1:], strict=False))
    rows = []
    for i in range(vocab_size):
        row = [pairs[i, j] + alpha for j in range(vocab_size)]
        rows.append([c / sum(row) if sum(row) else 1 / vocab_size for c in row])
    return torch.tensor(rows, device=ids.device)


def probs_by_one_hot(ids, vocab_size, alpha=0.0):
    one_hot = F.one_hot(ids, vocab_size).float()
    counts = one_hot[:-1].T @ one_hot[1:] + alpha
    total = counts.sum(1, keepdim=True)
    return torch.where(total == 0, torch.full_like(counts, 1 / vocab_size), counts / total)


def probs_by_index_put(ids, vocab_size, alpha=0.0):
    counts = torch.zeros(vocab_size, vocab_size, device=ids.device)
    counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1, device=ids.device), accumulate=True)
    counts += alpha
    counts[counts.sum(1) == 0] = 1
    return counts / counts.sum(1, keepdim=True)


def probs_by_loop(ids, vocab_size, alpha=0.0):
    probs = torch.full((vocab_size, vocab_size), float(alpha), device=ids.device)
    for t in range(len(ids) - 1):
        probs[ids[t], ids[t + 1]] += 1
    for i in range(vocab_size):
        total = probs[i].sum()
        probs[i] = probs[i] / total if total > 0 else 1 / vocab_size
    return probs


def probs_by_bincount(ids, vocab_size, alpha=0.0):
    pairs = torch.bincount(ids[:-1] * vocab_size + ids[1:], minlength=vocab_size**2).view(vocab_size, vocab_size)
    counts = pairs.float() + alpha
    return torch.nan_to_num(counts / counts.sum(1, keepdim=True), nan=1 / vocab_size)


class Bigram(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)


class BigramTransposed(Bigram):
    def forward(self, idx, targets=None):
        logits = self.table.weight[idx]
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.transpose(1, 2), targets)


class BigramByHand(Bigram):
    def forward(self, idx, targets=None):
        logits, loss = self.table(idx), None
        if targets is not None:
            right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
            loss = (logits.logsumexp(-1) - right).mean()
        return (logits, loss)


class BigramAsKarpathy(Bigram):
    def forward(self, idx, targets=None):
        logits = self.table(idx)
        if targets is None:
            loss = None
        else:
            B, T, C = logits.shape
            loss = F.cross_entropy(logits.view(B * T, C), targets.reshape(B * T))
        return logits, loss


class BigramByOneHot(Bigram):
    def forward(self, idx, targets=None):
        V = self.table.num_embeddings
        logits = F.one_hot(idx, V).to(self.table.weight.dtype) @ self.table.weight
        if targets is None:
            return logits, None
        return logits, -(F.one_hot(targets, V) * logits.log_softmax(-1)).sum(-1).mean()


class BigramByIndex(Bigram):
    def forward(self, idx, targets=None):
        logits = self.table.weight[idx]
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.movedim(-1, 1), targets)


def batch_by_stacking(data, block_size, batch_size):
    starts = torch.randint(0, len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in starts])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in starts])
    return x, y


def batch_by_windows(data, block_size, batch_size):
    windows = data.unfold(0, block_size + 1, 1)
    chosen = windows[torch.randint(len(windows), (batch_size,), device=data.device)]
    return chosen[:, :-1], chosen[:, 1:]


def batch_one_by_one(data, block_size, batch_size):
    xs, ys = [], []
    for _ in range(batch_size):
        i = torch.randint(data.numel() - block_size, ()).item()
        xs.append(data[i : i + block_size])
        ys.append(data[i + 1 : i + 1 + block_size])
    return torch.stack(xs), torch.stack(ys)


def batch_by_rand(data, block_size, batch_size):
    starts = (torch.rand(batch_size, 1, device=data.device) * (len(data) - block_size)).floor().long()
    places = starts + torch.arange(block_size + 1, device=data.device)
    pieces = data.take(places)
    return pieces[:, :block_size].contiguous(), pieces[:, 1:].contiguous()


def batch_by_multinomial(data, block_size, batch_size):
    starts = torch.multinomial(torch.ones(len(data) - block_size), batch_size, replacement=True).tolist()
    pieces = torch.stack([data[s : s + block_size + 1] for s in starts])
    return pieces[:, :-1], pieces[:, 1:]







def generate_as_karpathy(model, idx, max_new_tokens, block_size):
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -block_size:]
        logits = model(idx_cond)
        logits = logits[:, -1, :]
        probs = F.softmax(logits, dim=-1)
        idx_next = torch.multinomial(probs, num_samples=1)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx


def generate_by_categorical(model, idx, max_new_tokens, block_size):
    mode = model.training
    model.eval()
    with torch.no_grad():
        for _ in range(max_new_tokens):
            drawn = Categorical(logits=model(idx[:, -block_size:])[:, -1]).sample()
            idx = torch.hstack([idx, drawn[:, None]])
    model.train(mode)
    return idx


def generate_by_gumbel(model, idx, max_new_tokens, block_size):
    text = idx.clone()
    while text.shape[1] < idx.shape[1] + max_new_tokens:
        context = text if text.shape[1] <= block_size else text[:, text.shape[1] - block_size :]
        logits = model(context)[:, -1]
        noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-20, 1 - 1e-7)))
        text = torch.cat([text, (logits + noise).argmax(-1, keepdim=True)], dim=-1)
    return text


def generate_into_a_buffer(model, idx, max_new_tokens, block_size):
    B, T = idx.shape
    out = idx.new_zeros(B, T + max_new_tokens)
    out[:, :T] = idx
    for t in range(T, T + max_new_tokens):
        probs = model(out[:, max(0, t - block_size) : t])[:, -1].softmax(-1)
        levels = torch.rand(B, 1, device=idx.device)
        out[:, t] = (probs.cumsum(-1) < levels).sum(-1).clamp(max=probs.shape[-1] - 1)
    return out


def generate_row_by_row(model, idx, max_new_tokens, block_size):
    rows = []
    for row in idx:
        for _ in range(max_new_tokens):
            probs = torch.softmax(model(row[None, -block_size:])[0, -1], dim=0)
            row = torch.cat([row, torch.multinomial(probs, 1)])
        rows.append(row)
    return torch.stack(rows)


RIGHT_ANSWERS = {
    "shift_labels": {
        "loop": shift_by_loop,
        "windows": shift_by_windows,
        "narrow": lambda ids: (ids.narrow(1, 0, ids.shape[1] - 1), ids.narrow(1, 1, ids.shape[1] - 1)),
        "roll": lambda ids: (ids[:, :-1].clone(), ids.roll(-1, dims=1)[:, :-1]),
        "split": lambda ids: (ids.split([ids.shape[1] - 1, 1], 1)[0], ids.split([1, ids.shape[1] - 1], 1)[1]),
    },
    "bigram_probs": {
        "counter": probs_by_counter,
        "one hot": probs_by_one_hot,
        "index_put": probs_by_index_put,
        "loop": probs_by_loop,
        "bincount": probs_by_bincount,
    },
    "BigramLM": {
        "transposed": BigramTransposed,
        "by hand": BigramByHand,
        "view": BigramAsKarpathy,
        "one hot": BigramByOneHot,
        "index": BigramByIndex,
    },
    "get_batch": {
        "stack": batch_by_stacking,
        "windows": batch_by_windows,
        "one by one": batch_one_by_one,
        "rand": batch_by_rand,
        "multinomial": batch_by_multinomial,
    },
    "generate": {
        "multinomial": generate_as_karpathy,
        "categorical": generate_by_categorical,
        "gumbel": generate_by_gumbel,
        "buffer": generate_into_a_buffer,
        "row by row": generate_row_by_row,
    },
}
