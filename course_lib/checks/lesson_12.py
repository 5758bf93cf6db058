"""Lesson 12, language models: judged by loops over single tokens, and what is drawn by its frequencies."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import language_model
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise, random_weights


def some_ids(generator, *shape, below=50):
    return torch.randint(below, shape, generator=generator)


# shift_labels


def pairs_by_loop(ids):
    """Each token with the one after it, one at a time."""
    places = range(ids.shape[1] - 1)
    inputs = [[row[t] for t in places] for row in ids.tolist()]
    targets = [[row[t + 1] for t in places] for row in ids.tolist()]
    shape = len(ids), ids.shape[1] - 1
    return torch.tensor(inputs, dtype=ids.dtype).reshape(shape), torch.tensor(targets, dtype=ids.dtype).reshape(shape)


def swapped(ids):
    """Inputs and targets changed places: this model would learn to say what came before. Which of the two has lost its
    last token?"""
    return ids[:, 1:], ids[:, :-1]


def both_the_beginning(ids):
    """The targets are the inputs themselves. What could a model learn by repeating what it sees?"""
    return ids[:, :-1], ids[:, :-1]


def both_the_end(ids):
    """Both are the tokens after the first one. What is the first token good for, if no input has it?"""
    return ids[:, 1:], ids[:, 1:]


def shifted_by_two(ids):
    """The targets are two places on. How far ahead is the *next* token?"""
    return ids[:, :-2], ids[:, 2:]


def rolled(ids):
    """The targets were rolled, so the last place is told to predict the first token of the sentence. Does anything
    follow the last token?"""
    return ids, ids.roll(-1, dims=1)


def rolled_and_cut(ids):
    """The targets begin with the last token of the sentence: they were rolled to the right, or cut at the wrong end.
    Which token follows the first one?"""
    return ids[:, :-1], ids.roll(1, dims=1)[:, :-1]


def inputs_keep_the_last(ids):
    """The inputs still have their last token, and no target belongs to it. How long are the inputs?"""
    return ids, ids[:, 1:]


def targets_keep_the_first(ids):
    """The targets still have the first token, which nothing comes before. How long are the targets?"""
    return ids[:, :-1], ids


def along_the_batch(ids):
    """The shift went along the first axis: the target of a sentence became the next *sentence*. Which axis is time?"""
    return ids[:-1], ids[1:]


def adds_one(ids):
    """The targets are the token numbers plus one. What is to grow by one, the number of the token or its place?"""
    return ids[:, :-1], ids[:, :-1] + 1


def only_the_last(ids):
    """Only the last token became a target. How many pairs does a sentence of T tokens hold?"""
    return ids[:, :-1], ids[:, -1:]


def zeros_at_the_end(ids):
    """The missing last target was filled up with 0, which is a token like any other. Which input should go
    instead?"""
    return ids, torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], 1)


def stacked(ids):
    """Inputs and targets were stacked into one tensor. A pair is asked for: `return inputs, targets`."""
    return torch.stack([ids[:, :-1], ids[:, 1:]])


def flattened(ids):
    """The sentences were joined into one before the shift, so the end of one predicts the beginning of the next.
    What should the batch axis keep apart?"""
    return ids.flatten()[None, :-1], ids.flatten()[None, 1:]


SHIFT_LABELS = Exercise(
    name="shift_labels",
    lesson="12",
    asked="a pair (inputs, targets), both (B, T - 1): targets[:, t] is the token that follows inputs[:, t].",
    verified=language_model.shift_labels,
    oracle=pairs_by_loop,
    examples=((torch.tensor([[7, 2, 9, 4]]),), (torch.tensor([[7, 2, 9], [3, 8, 1]]),)),
    sizes=((4, 6), (3, 5), (5, 3), (4, 4), (1, 5), (3, 2), (1, 2)),
    make=lambda generator, B, T: (some_ids(generator, B, T),),
    by_hand=(swapped, both_the_beginning, both_the_end, shifted_by_two, rolled, rolled_and_cut, inputs_keep_the_last,
              targets_keep_the_first, along_the_batch, adds_one, only_the_last, zeros_at_the_end, stacked, flattened),
)


# bigram_probs


def probs_by_loop(ids, vocab_size, alpha=0.0):
    """Go through the text, count each pair by hand, divide each row by its sum."""
    counts = [[float(alpha)] * vocab_size for _ in range(vocab_size)]
    tokens = ids.tolist()
    for first, second in zip(tokens, tokens[1:], strict=False):
        counts[first][second] += 1
    rows = [[c / sum(row) for c in row] if sum(row) else [1 / vocab_size] * vocab_size for row in counts]
    return torch.tensor(rows)


def pair_counts(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    return counts.index_put((ids[:-1], ids[1:]), torch.ones(max(len(ids) - 1, 0)), accumulate=True)


def to_probs(counts):
    total = counts.sum(1, keepdim=True)
    return torch.where(total > 0, counts / total.clamp(min=1e-30), 1 / len(counts))


def transposed(ids, vocab_size, alpha=0.0):
    """Rows and columns are swapped: row i holds what came *before* i. Which of a pair chooses the row?"""
    return to_probs(pair_counts(ids, vocab_size).T + alpha)


def columns_sum_to_one(ids, vocab_size, alpha=0.0):
    """The columns sum to one. For what follows token i, which numbers belong together?"""
    return to_probs((pair_counts(ids, vocab_size) + alpha).T).T


def all_sum_to_one(ids, vocab_size, alpha=0.0):
    """All entries together sum to one: these are shares of all pairs. What should each *row* sum to?"""
    counts = pair_counts(ids, vocab_size) + alpha
    return counts / counts.sum().clamp(min=1e-30)


def returns_counts(ids, vocab_size, alpha=0.0):
    """These are the counts. What turns a row of counts into probabilities?"""
    return pair_counts(ids, vocab_size) + alpha


def nan_where_unseen(ids, vocab_size, alpha=0.0):
    """A token that was never followed by anything has a row of 0 / 0. What does the contract want there?"""
    counts = pair_counts(ids, vocab_size) + alpha
    return counts / counts.sum(1, keepdim=True)


def zeros_where_unseen(ids, vocab_size, alpha=0.0):
    """A token that was never followed by anything got a row of zeros, which does not sum to one. What can you say
    about a successor you never saw?"""
    counts = pair_counts(ids, vocab_size) + alpha
    return counts / counts.sum(1, keepdim=True).clamp(min=1e-30)


def itself_where_unseen(ids, vocab_size, alpha=0.0):
    """A token that was never followed by anything is said to follow itself. What would be fair to all tokens?"""
    counts = pair_counts(ids, vocab_size) + alpha
    return torch.where(counts.sum(1, keepdim=True) > 0, to_probs(counts), torch.eye(vocab_size))


def around_the_end(ids, vocab_size, alpha=0.0):
    """The last token was paired with the first one. Does the text go round in a circle?"""
    return to_probs(pair_counts(torch.cat([ids, ids[:1]]), vocab_size) + alpha)


def alpha_ignored(ids, vocab_size, alpha=0.0):
    """alpha makes no difference. What is it added to?"""
    return to_probs(pair_counts(ids, vocab_size))


def always_plus_one(ids, vocab_size, alpha=0.0):
    """Every count has one added to it, whatever alpha is. Where should the third argument go?"""
    return to_probs(pair_counts(ids, vocab_size) + 1)


def alpha_after_dividing(ids, vocab_size, alpha=0.0):
    """alpha was added to the probabilities, which then no longer sum to one. Is it added before or after dividing?"""
    return to_probs(pair_counts(ids, vocab_size)) + alpha


def alpha_on_the_counts_only(ids, vocab_size, alpha=0.0):
    """The counts have alpha added and their sum has not: the rows sum to more than one. Of what is the sum taken?"""
    counts = pair_counts(ids, vocab_size)
    return torch.where(counts.sum(1, keepdim=True) > 0, (counts + alpha) / counts.sum(1, keepdim=True).clamp(min=1e-30),
                       1 / vocab_size)


def alpha_once_a_row(ids, vocab_size, alpha=0.0):
    """The row sum grew by alpha once. By how much does it grow if each of V counts does?"""
    counts = pair_counts(ids, vocab_size)
    total = counts.sum(1, keepdim=True) + alpha
    return torch.where(total > 0, (counts + alpha) / total.clamp(min=1e-30), 1 / vocab_size)


def alpha_where_seen(ids, vocab_size, alpha=0.0):
    """alpha was added only to pairs that occur. Which pairs needed it?"""
    counts = pair_counts(ids, vocab_size)
    return to_probs(counts + alpha * (counts > 0))


def alpha_where_unseen(ids, vocab_size, alpha=0.0):
    """alpha was added only to pairs that never occur. Which counts does the contract add it to?"""
    counts = pair_counts(ids, vocab_size)
    return to_probs(counts + alpha * (counts == 0))


def each_pair_once(ids, vocab_size, alpha=0.0):
    """A pair counts once, however often it occurs. `counts[first, second] += 1` with whole tensors does that: when
    an index is there twice, does the second one count?"""
    return to_probs((pair_counts(ids, vocab_size) > 0) + torch.tensor(float(alpha)))


def each_pair_once_and_nan(ids, vocab_size, alpha=0.0):
    """Two things at once: a pair counts once, however often it occurs, and a row without any count is 0 / 0. First
    the counts: when an index is there twice, does `counts[first, second] += 1` add the second one?"""
    counts = (pair_counts(ids, vocab_size) > 0) + torch.tensor(float(alpha))
    return counts / counts.sum(1, keepdim=True)


def divided_by_all_occurrences(ids, vocab_size, alpha=0.0):
    """A row was divided by how often its token occurs. The last token of the text occurs, too: what follows it?"""
    counts = pair_counts(ids, vocab_size) + alpha
    total = (torch.bincount(ids, minlength=vocab_size) + alpha * vocab_size)[:, None]
    return torch.where(total > 0, counts / total.clamp(min=1e-30), 1 / vocab_size)


def ignores_the_first(ids, vocab_size, alpha=0.0):
    """Every row is the same: how often each token follows anything. What should row i depend on?"""
    return to_probs((pair_counts(ids, vocab_size).sum(0) + alpha).expand(vocab_size, vocab_size))


def two_apart(ids, vocab_size, alpha=0.0):
    """Tokens two places apart were counted. How far apart is a token from its successor?"""
    counts = torch.zeros(vocab_size, vocab_size)
    counts.index_put_((ids[:-2], ids[2:]), torch.ones(max(len(ids) - 2, 0)), accumulate=True)
    return to_probs(counts + alpha)


def every_other_pair(ids, vocab_size, alpha=0.0):
    """Only every other pair was counted: the text was cut into twos. In a b c, how many pairs are there?"""
    counts = torch.zeros(vocab_size, vocab_size)
    first, second = ids[:-1:2], ids[1::2]
    counts.index_put_((first, second), torch.ones(len(second)), accumulate=True)
    return to_probs(counts + alpha)


def both_directions(ids, vocab_size, alpha=0.0):
    """Each pair was counted in both directions. Does "a" follow "b" because "b" follows "a"?"""
    counts = pair_counts(ids, vocab_size)
    return to_probs(counts + counts.T + alpha)


def softmax_of_counts(ids, vocab_size, alpha=0.0):
    """The counts went through a softmax. How much likelier should a pair be that occurs twice as often?"""
    return torch.softmax(pair_counts(ids, vocab_size) + alpha, 1)


def only_what_occurs(ids, vocab_size, alpha=0.0):
    """The table is as large as the largest token of the text asks for. Which argument says how large it is?"""
    return to_probs(pair_counts(ids, int(ids.max()) + 1) + alpha)


def rows_sum_to_one(output, generator):
    return torch.allclose(output(some_ids(generator, 20, below=4), 5, 0.5).sum(1), torch.ones(5), atol=1e-4)


def make_text(generator, T, V, alpha=None):
    ids = some_ids(generator, T, below=V)
    return (ids, V) if alpha is None else (ids, V, alpha)


def a_rare_pair_among_many_tokens(generator):
    """A token seen once among a hundred, after one that is seen 300 times."""
    return [Call((torch.tensor([7] * 300 + [60, 31]), 100), "a long text and a large vocabulary")]


BIGRAM_PROBS = Exercise(
    name="bigram_probs",
    lesson="12",
    asked="P[i, j] = (how often j comes right after i, plus alpha), divided by the sum of row i; a row of which "
    "nothing is known is uniform: (V, V), float.",
    verified=language_model.bigram_probs,
    oracle=probs_by_loop,
    examples=(
        (torch.tensor([0, 1, 0, 1, 1, 2, 0, 1]), 3),
        (torch.tensor([0, 0, 1, 0, 0, 2]), 3),
        (torch.tensor([0, 1, 0, 1, 1]), 3, 0.5),
    ),
    sizes=((12, 5), (30, 4), (9, 6), (20, 3, 0.5), (7, 4, 1.0), (5, 5), (4, 4, 2), (2, 3), (1, 3), (1, 2, 0.5), (3, 1)),
    make=make_text,
    calls=a_rare_pair_among_many_tokens,
    by_hand=(transposed, columns_sum_to_one, all_sum_to_one, returns_counts, nan_where_unseen, zeros_where_unseen,
              itself_where_unseen, around_the_end, alpha_ignored, always_plus_one, alpha_after_dividing,
              alpha_on_the_counts_only, alpha_once_a_row, alpha_where_seen, alpha_where_unseen, each_pair_once,
              each_pair_once_and_nan, divided_by_all_occurrences, ignores_the_first, two_apart, every_other_pair,
              both_directions, softmax_of_counts, only_what_occurs),
    properties=(("A row does not sum to one.", rows_sum_to_one),),
)


# BigramLM


def looked_up(w, build, idx, targets=None):
    """One row of the table for each token; torch's own negative log-likelihood of one token at a time."""
    table = w["table.weight"]
    logits = torch.stack([torch.stack([table[i] for i in row]) for row in idx.tolist()])
    if targets is None:
        return logits, None
    each = [-torch.log_softmax(table[i], 0)[j]
            for i, j in zip(idx.flatten().tolist(), targets.flatten().tolist(), strict=True)]
    return logits, torch.stack(each).mean()


class Bigram(nn.Module):
    """What the mistakes share."""

    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.logits(idx)
        return logits, None if targets is None else self.loss(logits, targets, idx)

    def logits(self, idx):
        return self.table(idx)

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class shifts_again(Bigram):
    """The loss compares the logits of a place with the target of the next place. The caller has shifted the targets:
    which target belongs to place t?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())


class inputs_as_targets(Bigram):
    """The loss asks each token to predict itself. Which argument holds what comes next?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits.flatten(0, 1), idx.flatten())


class inputs_shifted_as_targets(Bigram):
    """The targets were made of idx, and the last of them is missing. What is handed over as `targets`?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), idx[:, 1:].flatten())


class summed(Bigram):
    """The loss is a sum over all places: twice the text would give twice the loss. What makes it a mean?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")


class summed_over_time(Bigram):
    """The loss was summed over the places of a sentence, and the mean taken over sentences only. Over how many
    tokens is the mean?"""

    def loss(self, logits, targets, idx):
        return super().loss(logits, targets, idx) * targets.shape[1]


class one_loss_a_place(Bigram):
    """There is one loss for each place. What is left to do, to get one number?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


class flat_logits(Bigram):
    """With targets the logits came back flattened, (B * T, V). Cross-entropy may want them so: what shape does the
    caller want?"""

    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return (logits, loss) if targets is None else (logits.flatten(0, 1), loss)


class turned_logits(Bigram):
    """With targets the logits came back as (B, V, T). Cross-entropy may want them so: what shape does the caller
    want?"""

    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return (logits, loss) if targets is None else (logits.transpose(1, 2), loss)


class viewed_logits(Bigram):
    """(B, T, V) was made (B, V, T) by `view` or `reshape` for the loss, which mixes up places and vocabulary. Which
    operation swaps two axes?"""

    def loss(self, logits, targets, idx):
        B, T, V = logits.shape
        return F.cross_entropy(logits.reshape(B, V, T), targets)


class probabilities(Bigram):
    """Probabilities came back as logits. Softmax is part of the loss, and of sampling: is it part of the model?"""

    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return torch.softmax(logits, -1), loss


class softmax_before_the_loss(Bigram):
    """The logits went through a softmax before F.cross_entropy, which has one of its own. What does it expect?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(torch.softmax(logits, -1).flatten(0, 1), targets.flatten())


class nll_of_logits(Bigram):
    """F.nll_loss was asked with logits. It only picks a number and turns its sign: what does it need to be given?"""

    def loss(self, logits, targets, idx):
        return F.nll_loss(logits.flatten(0, 1), targets.flatten())


class columns(Bigram):
    """A token chose a *column* of the table. What does an Embedding look up?"""

    def logits(self, idx):
        return self.table.weight.T[idx]


class last_place_only(Bigram):
    """The loss counts the last place only. How many predictions does a sentence of T tokens make?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits[:, -1], targets[:, -1])


class mean_of_the_past(Bigram):
    """The logits of a place depend on the tokens before it, too. How many tokens does a bigram model see?"""

    def logits(self, idx):
        x = self.table(idx)
        return x.cumsum(1) / torch.arange(1, idx.shape[1] + 1, device=idx.device)[:, None]


class in_bits(Bigram):
    """The loss is in bits, as its logarithm has base 2. Which base does cross-entropy have in torch?"""

    def loss(self, logits, targets, idx):
        return super().loss(logits, targets, idx) / math.log(2)


class perplexity(Bigram):
    """The exponential of the loss came out, which is the perplexity. What is the loss?"""

    def loss(self, logits, targets, idx):
        return super().loss(logits, targets, idx).exp()


class token_0_is_padding(Bigram):
    """Targets that are 0 do not count. Here token 0 is a token like the others: who said it is padding?"""

    def loss(self, logits, targets, idx):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)


class zero_for_none(Bigram):
    """Without targets the loss came out as the number 0: that says "perfect". What does the contract say instead?"""

    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return logits, torch.zeros((), dtype=logits.dtype, device=logits.device) if loss is None else loss


class logits_alone(Bigram):
    """Without targets only the logits came back. How many results does the caller always expect?"""

    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return logits if targets is None else (logits, loss)


class never_a_loss(Bigram):
    """Only the logits came back, with targets or without. What else is asked for?"""

    def forward(self, idx, targets=None):
        return self.logits(idx)


class loss_first(Bigram):
    """The loss came first and the logits second. What order does the contract have?"""

    def forward(self, idx, targets=None):
        return super().forward(idx, targets)[::-1]


def make_idx(generator, V, B, T, without=False):
    """Token 0 is always among them."""
    idx, targets = some_ids(generator, B, T, below=V), some_ids(generator, B, T, below=V)
    idx[-1, 0] = 0
    return (idx,) if without else (idx, targets)


def table(rows):
    return {"table.weight": torch.tensor(rows)}


TINY = table([[0.0, 2.0, -1.0], [1.0, 0.0, 3.0], [-2.0, 1.0, 0.0]])
BIGRAM_LM = Exercise(
    name="BigramLM",
    lesson="12",
    asked="logits (B, T, V), for each token its row of the table; with targets also their mean cross-entropy, without "
    "targets None: always a pair.",
    verified=language_model.BigramLM,
    oracle=looked_up,
    examples=(
        Call((torch.tensor([[0, 2]]),), build=(3,), weights=TINY),
        Call((torch.tensor([[0, 2]]), torch.tensor([[2, 1]])), build=(3,), weights=TINY),
        Call((torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.tensor([[1, 2, 1], [1, 0, 2]])), build=(3,), weights=TINY),
    ),
    sizes=((7, 2, 5), (5, 4, 3), (6, 3, 2, True), (3, 3, 3), (4, 1, 6), (4, 6, 2), (2, 1, 2), (1, 2, 3)),
    make=make_idx,
    build=lambda V, *_: (V,),
    extremes=(),
    calls=lambda generator: [Call(make_idx(generator, 5, 2, 4), "large values", build=(5,), weights={
        n: 1000 * w for n, w in random_weights(language_model.BigramLM(5), generator).items()})],
    by_hand=(shifts_again, inputs_as_targets, inputs_shifted_as_targets, summed, summed_over_time, one_loss_a_place,
              flat_logits, turned_logits, viewed_logits, probabilities, softmax_before_the_loss, nll_of_logits, columns,
              last_place_only, mean_of_the_past, in_bits, perplexity, token_0_is_padding, zero_for_none, logits_alone,
              never_a_loss, loss_first),
)


# get_batch


def the_only_piece(data, block_size, batch_size):
    """Where there is one place to begin, or where all pieces are the same, chance decides nothing."""
    tokens = data.tolist()
    x, y = tokens[:block_size], tokens[1 : block_size + 1]
    return torch.tensor([x] * batch_size), torch.tensor([y] * batch_size)


def pieces(data, starts, block_size, ahead=1):
    """x and y for given places; where a piece would run over the end, they cannot be stacked."""
    if max(starts) + ahead + block_size <= len(data):
        places = torch.tensor(starts, device=data.device)[:, None] + torch.arange(block_size, device=data.device)
        return data[places], data[places + ahead]
    x = torch.stack([data[s : s + block_size] for s in starts])
    return x, torch.stack([data[s + ahead : s + ahead + block_size] for s in starts])


def random_starts(data, block_size, batch_size):
    return torch.randint(len(data) - block_size, (batch_size,)).tolist()


def last_start_never(data, block_size, batch_size):
    """The last place where a piece can begin is never drawn: its end is off by one. With N tokens and block_size
    inputs, each with a token after it, where does the last piece begin?"""
    N = len(data) - block_size
    return pieces(data, torch.randint(N - 1, (batch_size,)).tolist() if N > 1 else [0] * batch_size, block_size)


def first_start_never(data, block_size, batch_size):
    """No piece ever begins at the very first token. What is the smallest place?"""
    N = len(data) - block_size
    starts = torch.randint(1, N, (batch_size,)).tolist() if N > 1 else [0] * batch_size
    return pieces(data, starts, block_size)


def start_beyond_the_last(data, block_size, batch_size):
    """A piece can begin where no token is left for its last target. What comes after the last token of the data?"""
    starts = torch.randint(len(data) - block_size + 1, (batch_size,))
    return pieces(data, starts.tolist(), block_size)


def start_anywhere(data, block_size, batch_size):
    """A piece can begin at any token, even so near the end that it is cut short. How many tokens must follow its
    beginning?"""
    return pieces(data, torch.randint(len(data), (batch_size,)).tolist(), block_size)


def range_is_one_short(data, block_size, batch_size):
    """The range to draw from is one too small: where there is a single place to begin, it is empty. Does the end that
    torch.randint is given count as drawn?"""
    return pieces(data, torch.randint(len(data) - block_size - 1, (batch_size,)).tolist(), block_size)


def one_for_all(data, block_size, batch_size):
    """All pieces of a batch begin at the same place: one number was drawn instead of one a piece. What size does the
    draw need?"""
    return pieces(data, torch.randint(len(data) - block_size, (1,)).tolist() * batch_size, block_size)


def neighbours(data, block_size, batch_size):
    """One place was drawn, and the pieces of a batch begin one after the other from there. Should one piece know of
    another?"""
    N = len(data) - block_size
    first = int(torch.randint(N, (1,)))
    return pieces(data, [(first + b) % N for b in range(batch_size)], block_size)


def from_the_beginning(data, block_size, batch_size):
    """Nothing is drawn: every batch begins with the first tokens of the data. What should differ from batch to
    batch?"""
    N = len(data) - block_size
    return pieces(data, [b % N for b in range(batch_size)], block_size)


def seeds_itself(data, block_size, batch_size):
    """torch's random seed changes nothing. Either a seed is set inside the function, or the draw is made by `random` or
    numpy and not by torch. Who decides the seed?"""
    torch.manual_seed(1)
    return pieces(data, random_starts(data, block_size, batch_size), block_size)


def multiples_of_the_block(data, block_size, batch_size):
    """Pieces begin only at multiples of block_size. In how many places can a piece begin?"""
    blocks = (len(data) - 1) // block_size
    return pieces(data, (torch.randint(blocks, (batch_size,)) * block_size).tolist(), block_size)


def without_replacement(data, block_size, batch_size):
    """Places were drawn without replacement, so a batch can be no larger than the number of places. What does the
    contract say?"""
    starts = torch.randperm(len(data) - block_size)[:batch_size]
    return pieces(data, starts.tolist(), block_size)


def without_replacement_while_it_lasts(data, block_size, batch_size):
    """As long as there are enough places, none was drawn twice for one batch. Is the second piece allowed to begin
    where the first one does?"""
    N = len(data) - block_size
    starts = torch.cat([torch.randperm(N) for _ in range(-(-batch_size // N))])[:batch_size]
    return pieces(data, starts.tolist(), block_size)


def sorted_places(data, block_size, batch_size):
    """The places were sorted, so the first piece of a batch tends to come from the beginning of the data. What should a
    row say about where it comes from?"""
    return pieces(data, sorted(random_starts(data, block_size, batch_size)), block_size)


def first_half_of_the_places(data, block_size, batch_size):
    """Pieces begin in the first half of the data only. What is the range of the draw?"""
    return pieces(data, (torch.rand(batch_size) * (len(data) - block_size) / 2).long().tolist(), block_size)


def favours_some_places(data, block_size, batch_size):
    """Some places are drawn far more often than others. What does "uniformly" mean?"""
    both = torch.rand(batch_size, 2).mean(1)
    return pieces(data, (both * (len(data) - block_size)).long().tolist(), block_size)


def rounds(data, block_size, batch_size):
    """The first and the last place are drawn half as often as the others: a random number was rounded to the nearest
    place. Which operation gives every place an equal share?"""
    starts = (torch.rand(batch_size) * (len(data) - block_size - 1)).round().long()
    return pieces(data, starts.tolist(), block_size)


def targets_are_the_inputs(data, block_size, batch_size):
    """x and y are the same. What should a place predict?"""
    return pieces(data, random_starts(data, block_size, batch_size), block_size, ahead=0)


def targets_and_inputs_swapped(data, block_size, batch_size):
    """x is ahead of y. Which of the two is moved on by one token?"""
    return pieces(data, random_starts(data, block_size, batch_size), block_size)[::-1]


def targets_drawn_anew(data, block_size, batch_size):
    """The targets come from places drawn for themselves. To which piece do they have to belong?"""
    return (pieces(data, random_starts(data, block_size, batch_size), block_size)[0],
            pieces(data, random_starts(data, block_size, batch_size), block_size)[1])


def targets_rolled(data, block_size, batch_size):
    """Within each piece the targets were rolled, so the last place is told to predict the first token. Which token
    of the data comes after a piece?"""
    x, _ = pieces(data, random_starts(data, block_size, batch_size), block_size)
    return x, x.roll(-1, dims=1)


def one_target_a_piece(data, block_size, batch_size):
    """y holds one token a piece, the one after it. How many predictions does a piece of block_size tokens make?"""
    x, y = pieces(data, random_starts(data, block_size, batch_size), block_size)
    return x, y[:, -1]


def one_token_short(data, block_size, batch_size):
    """The pieces are one token short: a piece was cut to block_size first and shifted afterwards. How many tokens of
    the data does a piece need, its last target included?"""
    x, _ = pieces(data, random_starts(data, block_size, batch_size), block_size)
    return x[:, :-1], x[:, 1:]


def pieces_stand_upright(data, block_size, batch_size):
    """The pieces lie along the second axis: (block_size, batch_size). Which axis comes first?"""
    x, y = pieces(data, random_starts(data, block_size, batch_size), block_size)
    return x.T, y.T


def sizes_swapped(data, block_size, batch_size):
    """block_size pieces of batch_size tokens came back. Which of the two arguments is the length of a piece?"""
    return pieces(data, random_starts(data, batch_size, block_size), batch_size)


NUMBERED = 100 * torch.arange(12)  # each token tells its place


def starts_of(draw, block_size, batch_size, seed=0):
    """Where the pieces of a batch from NUMBERED begin, after a look at whether they are pieces."""
    x, y = draw(NUMBERED, block_size, batch_size, seed=seed)
    starts = x[:, 0] // 100
    expected = (starts[:, None] + torch.arange(block_size)) * 100
    return starts if x.equal(expected) and y.equal(expected + 100) else None


def are_pieces(draw, generator):
    return all(starts_of(draw, 4, 60, seed) is not None for seed in range(5))


def places(draw, batch_size, seed=0):
    """Where pieces of 4 begin in the 12 tokens: 8 places, in the order they are drawn."""
    return (draw(NUMBERED, 4, batch_size, seed=seed)[0][:, 0] // 100).clamp(0, 11)


def first_comes_up(draw, generator):
    drawn = places(draw, 150)
    return drawn.min() == 0 or drawn.unique().numel() == 1


def last_comes_up(draw, generator):
    drawn = places(draw, 150)
    return drawn.max() == 7 or drawn.unique().numel() == 1


def beside_the_blocks(draw, generator):
    drawn = places(draw, 150)
    return bool((drawn % 4 > 0).any()) or drawn.unique().numel() == 1


def uniform_within(draw, generator):
    """Each of the six places between within .035 of an eighth, for 1,600 draws: more than four standard errors."""
    drawn = places(draw, 1600)
    shares = drawn.bincount(minlength=12) / 1600
    return bool((shares[1:7] - 1 / 8).abs().max() < 0.035) or drawn.unique().numel() == 1


def fair(place):
    """Does this place come up about as often as it should, or (another sentence) never?"""
    def holds(draw, generator):
        drawn = places(draw, 1600)
        share = (drawn == place).float().mean()
        return bool(share > 0.09 or share < 0.01) or drawn.unique().numel() == 1

    return holds


def gaps(draw):
    """From one piece of a batch to the next: 0 in an eighth of the cases where they are independent, 1 in a ninth."""
    return torch.cat([places(draw, 300, seed).diff() for seed in range(3)])


def not_all_alike(draw, generator):
    return bool((gaps(draw) == 0).float().mean() < 0.25)


def not_in_line(draw, generator):
    return bool((gaps(draw) == 1).float().mean() < 0.25)


def some_places_twice(draw, generator):
    """Of all batches of 4 from 8 places 59 % have a place twice: fewer than 2 in 20 is one chance in two million."""
    drawn = torch.stack([places(draw, 4, seed) for seed in range(20)])
    twice = int((drawn.sort(1).values.diff() == 0).any(1).sum())
    return twice > 1 or bool((drawn == drawn[0]).all())


def in_no_order(draw, generator):
    drawn = places(draw, 30)
    return drawn.unique().numel() == 1 or not bool((drawn.diff() >= 0).all())


def nothing_comes_again(draw, generator):
    """A place and one some pieces later are the same in an eighth of the cases; .6 is eight standard errors above."""
    drawn = places(draw, 60)
    return all((drawn[:-later] == drawn[later:]).float().mean() < 0.6 for later in range(2, 31))


def same_seed_same_batch(draw, generator):
    return places(draw, 30, 1).equal(places(draw, 30, 1))


def other_seed_other_batch(draw, generator):
    return not places(draw, 30, 1).equal(places(draw, 30, 2))


def one_place_to_begin(generator, block_size, batch_size):
    return some_ids(generator, block_size + 1), block_size, batch_size


GET_BATCH = Exercise(
    name="get_batch",
    lesson="12",
    asked="x and y, both (batch_size, block_size): pieces of the data from random places, and the same pieces moved on "
    "by one token; every place from 0 to N - block_size - 1 is equally likely, for each piece anew.",
    verified=language_model.get_batch,
    oracle=the_only_piece,
    examples=((torch.tensor([7, 2, 9, 4]), 3, 1), (torch.tensor([7, 2, 9, 4, 4]), 4, 2),
              (torch.tensor([5, 5, 5, 5, 5, 5, 5, 5]), 3, 2)),
    sizes=((5, 3), (3, 6), (7, 2), (4, 4), (1, 4), (4, 1), (1, 1)),
    make=one_place_to_begin,
    by_hand=(last_start_never, first_start_never, start_beyond_the_last, start_anywhere, range_is_one_short,
              one_for_all, neighbours, from_the_beginning, seeds_itself, multiples_of_the_block, without_replacement,
              without_replacement_while_it_lasts, sorted_places, first_half_of_the_places, favours_some_places,
              rounds, targets_are_the_inputs, targets_and_inputs_swapped, targets_drawn_anew, targets_rolled,
              one_target_a_piece, one_token_short, pieces_stand_upright, sizes_swapped),
    statistics=(
        ("A row of x is no piece of the data, or its row of y is not that piece moved on by one.", are_pieces),
        ("In 150 draws the first place did not come up once.", first_comes_up),
        ("In 150 draws the last place where a piece can begin did not come up once.", last_comes_up),
        ("In 150 draws pieces began at multiples of block_size only.", beside_the_blocks),
        ("The first place came up far less often than the others.", fair(0)),
        ("The last place where a piece can begin came up far less often than the others.", fair(7)),
        ("The places are not equally likely: of 1,600 draws from 8 places, one is far from an eighth.", uniform_within),
        ("The pieces of a batch begin at the same place far too often.", not_all_alike),
        ("The pieces of a batch follow one another far too often.", not_in_line),
        ("In 20 batches of 4 from 8 places hardly any place came up twice in a batch: they were not drawn for each "
         "piece anew.", some_places_twice),
        ("The pieces of a batch are in the order of their places.", in_no_order),
        ("The pieces of a batch begin at the same places once more, in the same order.", nothing_comes_again),
        ("The same seed of torch gave another batch. The draw does not come from torch's random state: use "
         "`torch.randint`, not `random`, numpy or a generator of your own.", same_seed_same_batch),
        ("Another seed of torch gave the same batch. The draw does not come from torch's random state, or a seed is "
         "set inside the function.", other_seed_other_batch),
    ),
)


# next_token_probs


def probs_by_sorting(logits, temperature=1.0, top_k=None):
    """Row by row: sort, keep the first top_k, exponentials of what is kept over their sum."""
    rows = []
    for row in logits:
        order = row.argsort(descending=True)[: len(row) if top_k is None else top_k]
        kept = torch.softmax(row[order] / temperature, 0)
        rows.append(torch.zeros_like(row).index_put((order,), kept))
    return torch.stack(rows)


def keep_largest(logits, top_k):
    """-inf for all but the top_k largest of each row."""
    if top_k is None:
        return logits
    smallest = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
    return logits.masked_fill(logits < smallest, -math.inf)


def temperature_multiplies(logits, temperature=1.0, top_k=None):
    """The logits were multiplied by the temperature. Should a higher temperature sharpen the choice or flatten it?"""
    return torch.softmax(keep_largest(logits, top_k) * temperature, -1)


def temperature_ignored(logits, temperature=1.0, top_k=None):
    """The temperature makes no difference. Where does it act, before or after the softmax?"""
    return torch.softmax(keep_largest(logits, top_k), -1)


def temperature_after_softmax(logits, temperature=1.0, top_k=None):
    """The probabilities were divided by the temperature, so they no longer sum to one. What should be divided?"""
    return torch.softmax(keep_largest(logits, top_k), -1) / temperature


def softmax_of_divided_probs(logits, temperature=1.0, top_k=None):
    """A softmax was taken of probabilities. How many softmaxes does it need?"""
    return torch.softmax(keep_largest(torch.softmax(logits, -1), top_k) / temperature, -1)


def root_of_temperature(logits, temperature=1.0, top_k=None):
    """The logits were divided by the root of the temperature. Where does the contract have a root?"""
    return torch.softmax(keep_largest(logits, top_k) / temperature**0.5, -1)


def top_k_ignored(logits, temperature=1.0, top_k=None):
    """top_k makes no difference. What should a token get that is not among the top_k?"""
    return torch.softmax(logits / temperature, -1)


def top_k_not_shared_out(logits, temperature=1.0, top_k=None):
    """What the dropped tokens had was not shared out: the rows sum to less than one. What is missing at the end?"""
    probs = torch.softmax(logits / temperature, -1)
    return probs * (keep_largest(logits, top_k) > -math.inf)


def zero_for_minus_infinity(logits, temperature=1.0, top_k=None):
    """The dropped logits were set to 0. What is exp(0), and what logit gives a probability of 0?"""
    kept = keep_largest(logits, top_k)
    return torch.softmax(torch.where(kept > -math.inf, kept, 0.0) / temperature, -1)


def dropped_are_merely_low(logits, temperature=1.0, top_k=None):
    """The dropped logits were made low, and those that are kept can be lower still. Which logit gives a probability of
    0, whatever the others are?"""
    kept = keep_largest(logits, top_k)
    return torch.softmax(torch.where(kept > -math.inf, kept, -1e4) / temperature, -1)


def keeps_the_smallest(logits, temperature=1.0, top_k=None):
    """The top_k *smallest* logits were kept. Which end of the sorted row is wanted?"""
    return torch.softmax(-keep_largest(-logits, top_k) / temperature, -1) if top_k is None else torch.softmax(
        torch.where(keep_largest(-logits, top_k) > -math.inf, logits, -math.inf) / temperature, -1)


def one_too_many(logits, temperature=1.0, top_k=None):
    """One token too many is left in each row. Is the threshold the top_k-th largest, or the one after it?"""
    return torch.softmax(keep_largest(logits, None if top_k is None else top_k + 1) / temperature, -1)


def one_too_few(logits, temperature=1.0, top_k=None):
    """One token too few is left in each row. Is the top_k-th largest itself among those to keep?"""
    return torch.softmax(keep_largest(logits, None if top_k is None else max(top_k - 1, 1)) / temperature, -1)


def threshold_for_all_rows(logits, temperature=1.0, top_k=None):
    """All rows were cut at one threshold. Whose top_k largest are to be kept?"""
    if top_k is None:
        return torch.softmax(logits / temperature, -1)
    smallest = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1].max()
    kept = logits.masked_fill((logits < smallest) & (logits < logits.amax(-1, keepdim=True)), -math.inf)
    return torch.softmax(kept / temperature, -1)


def first_row_decides(logits, temperature=1.0, top_k=None):
    """All rows kept the places that are largest in the first row. Does every text have the same next tokens?"""
    if top_k is None:
        return torch.softmax(logits / temperature, -1)
    dropped = keep_largest(logits, top_k)[:1] == -math.inf
    return torch.softmax(logits.masked_fill(dropped, -math.inf) / temperature, -1)


def first_columns(logits, temperature=1.0, top_k=None):
    """The first top_k columns were kept, whatever is in them. Which tokens are the likeliest?"""
    if top_k is None:
        return torch.softmax(logits / temperature, -1)
    beyond = torch.arange(logits.shape[-1], device=logits.device) >= top_k
    return torch.softmax(logits.masked_fill(beyond, -math.inf) / temperature, -1)


def only_the_kept(logits, temperature=1.0, top_k=None):
    """The rows are top_k wide, sorted by size: nobody can tell which token is which. What is the shape asked for?"""
    if top_k is None:
        return torch.softmax(logits / temperature, -1)
    return torch.softmax(logits.topk(min(top_k, logits.shape[-1]), dim=-1).values / temperature, -1)


def too_large_a_k(logits, temperature=1.0, top_k=None):
    """It fails where top_k is larger than the vocabulary. What should be kept then?"""
    if top_k is not None:
        logits = logits.masked_fill(logits < logits.topk(top_k, dim=-1).values[:, -1:], -math.inf)
    return torch.softmax(logits / temperature, -1)


def softmax_over_the_batch(logits, temperature=1.0, top_k=None):
    """The softmax ran down the columns, over the texts. Which axis holds the tokens to choose from?"""
    return torch.softmax(keep_largest(logits, top_k) / temperature, 0)


def log_probs(logits, temperature=1.0, top_k=None):
    """Logarithms of probabilities came back. What sums to one?"""
    return torch.log_softmax(keep_largest(logits, top_k) / temperature, -1)


def all_or_nothing(logits, temperature=1.0, top_k=None):
    """The likeliest token got everything. What are temperature and softmax for?"""
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


def equal_shares(logits, temperature=1.0, top_k=None):
    """The tokens that are kept got equal shares. What do their logits say?"""
    kept = (keep_largest(logits, top_k) > -math.inf).to(logits.dtype)
    return kept / kept.sum(-1, keepdim=True)


def no_exponential(logits, temperature=1.0, top_k=None):
    """The logits were divided by their sum. Which function makes numbers positive and lets them sum to one?"""
    kept = torch.where(keep_largest(logits, top_k) > -math.inf, logits / temperature, 0.0)
    return kept / kept.sum(-1, keepdim=True)


def overflowing(logits, temperature=1.0, top_k=None):
    """Large logits give NaN: their exponentials are infinite. Which function of torch is safe from that?"""
    powers = torch.exp(keep_largest(logits, top_k) / temperature)
    return powers / powers.sum(-1, keepdim=True)


def make_logits(generator, B, V, *how):
    """Logits without ties, however they are rounded: well apart, in an order of its own for each row."""
    order = torch.rand(B, V, generator=generator).argsort(-1).float()
    return 4 * order / V - 1.5 + 0.1 * torch.rand(B, V, generator=generator) / V, *how


def probs_sum_to_one(output, generator):
    logits, = make_logits(generator, 3, 5)
    return torch.allclose(output(logits, 0.7, 2).sum(-1), torch.ones(3), atol=1e-4)


def two_are_left(output, generator):
    logits, = make_logits(generator, 3, 5)
    return bool(((output(logits, 1.0, 2) > 0).sum(-1) == 2).all())


def hotter_is_flatter(output, generator):
    logits, = make_logits(generator, 3, 5)
    return bool((output(logits, 2.0).amax(-1) < output(logits, 0.5).amax(-1)).all())


NEXT_TOKEN_PROBS = Exercise(
    name="next_token_probs",
    lesson="12",
    asked="softmax(logits / temperature) over the tokens; where top_k is given, only the top_k largest logits of each "
    "row keep a probability, the others get exactly 0, and the rows still sum to one.",
    verified=language_model.next_token_probs,
    oracle=probs_by_sorting,
    examples=(
        (torch.tensor([[2.0, 0.0, 1.0, -1.0]]),),
        (torch.tensor([[2.0, 0.0, 1.0, -1.0]]), 0.5),
        (torch.tensor([[2.0, 0.0, 1.0, -1.0], [0.0, 5.0, 3.0, 4.0]]), 1.0, 2),
    ),
    sizes=((3, 7), (2, 5, 2.0), (4, 6, 0.5, 3), (2, 4, 0.02), (2, 3, 1.0, 5), (5, 4, 3.0, 4), (4, 4, 0.7, 1),
           (1, 6, 1.5, 2), (3, 1), (1, 1, 2.0, 1)),
    square_size=(3, 5, 0.7, 2),
    make=make_logits,
    extremes=((torch.tensor([[1000.0, 998.0, -1000.0, 0.0], [-30000.0, -29999.0, -30001.0, -30004.0]]), 2.0, 3),),
    calls=lambda generator: [Call(make_logits(generator, 3, 6, 0.7, 2), "gradients with top_k", gradients=True)],
    by_hand=(temperature_multiplies, temperature_ignored, temperature_after_softmax, softmax_of_divided_probs,
              root_of_temperature, top_k_ignored, top_k_not_shared_out, zero_for_minus_infinity,
              dropped_are_merely_low, keeps_the_smallest, one_too_many, one_too_few, threshold_for_all_rows,
              first_row_decides, first_columns, only_the_kept, too_large_a_k, softmax_over_the_batch, log_probs,
              all_or_nothing, equal_shares, no_exponential, overflowing),
    properties=(
        ("A row does not sum to one.", probs_sum_to_one),
        ("With top_k = 2 it is not two tokens in each row that are left.", two_are_left),
        ("A higher temperature does not flatten the probabilities.", hotter_is_flatter),
    ),
)


# generate


class Sure(nn.Module):
    """A model that is sure of the next token: the sum of all tokens it sees, each times its place, modulo V."""

    def __init__(self, V, surest=0.0):
        super().__init__()
        self.V, self.surest = V, surest

    def __repr__(self):
        largest = f", with logits of {self.surest:.0f}" if self.surest else ""
        return f"a model sure that the next token is (1 · 1st token + 2 · 2nd + 3 · 3rd + …) modulo {self.V}{largest}"

    def forward(self, context):
        places = torch.arange(1, context.shape[1] + 1, device=context.device)
        chosen = (context * places).cumsum(1) % self.V  # (B, t)
        tokens = torch.arange(self.V, device=context.device)
        return torch.where(tokens == chosen[..., None], self.surest, -1e4)


class Unsure(nn.Module):
    """A model with the same probabilities at all times. It is never copied, so that its mode can be looked at."""

    def __init__(self, *shares):
        super().__init__()
        self.shares, self.logits = shares, torch.tensor(shares).log()

    def __repr__(self):
        shares = str(self.shares) if len(self.shares) < 9 else f"{self.shares[0]:.3g} to {self.shares[-1]:.3g}"
        return f"a model that gives the next token the probabilities {shares}, whatever came before"

    def __deepcopy__(self, memo):
        return self

    def forward(self, context):
        return self.logits.to(context.device).expand(*context.shape, -1)


def written_on(model, idx, max_new_tokens, block_size):
    """Row by row and token by token, the surest token each time: for a model that is sure, chance decides nothing."""
    rows = []
    for row in idx.tolist():
        for _ in range(max_new_tokens):
            logits = model(torch.tensor([row[max(len(row) - block_size, 0):]], device=idx.device))
            row = [*row, int(logits[0, -1].argmax())]
        rows.append(row)
    return torch.tensor(rows)


@torch.no_grad()
def loop(model, idx, max_new_tokens, block_size, context=None, pick=None):
    """What the mistakes share: `context` cuts the text, `pick` chooses a token by the logits."""
    context = context or (lambda idx: idx[:, -block_size:])
    pick = pick or (lambda logits: torch.multinomial(torch.softmax(logits[:, -1], -1), 1))
    for _ in range(max_new_tokens):
        idx = torch.cat([idx, pick(model(context(idx)))], 1)
    return idx


def greedy(model, idx, max_new_tokens, block_size):
    """The likeliest token was taken every time. What happens to a token that has three chances in ten?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: logits[:, -1].argmax(-1, keepdim=True))


def uniform(model, idx, max_new_tokens, block_size):
    """Among the tokens that are not impossible, each came up equally often. What do the logits say?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: torch.multinomial(
        (torch.softmax(logits[:, -1], -1) > 1e-9).float(), 1))


def too_sharp(model, idx, max_new_tokens, block_size):
    """Likely tokens came up even more often than their probabilities say. Is a temperature or a top_k left over, or
    what else was done to the logits? From what exactly is a token drawn?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: torch.multinomial(
        torch.softmax(2 * logits[:, -1], -1), 1))


def too_flat(model, idx, max_new_tokens, block_size):
    """Likely tokens came up less often than their probabilities say. Is a temperature left over, or what else was done
    to the logits? From what exactly is a token drawn?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: torch.multinomial(
        torch.softmax(logits[:, -1] / 1.3, -1), 1))


def the_end_is_cut_off(model, idx, max_new_tokens, block_size):
    """The least likely tokens never came up, all others as often as they should. Is a top_k or a top_p left over, which
    the contract does not ask for?"""
    def pick(logits):
        probs, order = torch.softmax(logits[:, -1], -1).sort(-1, descending=True)
        kept = probs.masked_fill(probs.cumsum(-1) - probs > 0.95, 0)
        return order.gather(1, torch.multinomial(kept, 1))

    return loop(model, idx, max_new_tokens, block_size, pick=pick)


def drawn_by_exponentials(model, idx, max_new_tokens, block_size):
    """The exponentials of the logits were the chances, and those of large logits are infinite. Which function gives the
    same chances for logits of any size?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: torch.multinomial(logits[:, -1].exp(), 1))


def stops_at_token_0(model, idx, max_new_tokens, block_size):
    """Writing stopped when token 0 came up. Here it is a token like the others: who said it is the end?"""
    with torch.no_grad():
        for _ in range(max_new_tokens):
            token = torch.multinomial(torch.softmax(model(idx[:, -block_size:])[:, -1], -1), 1)
            idx = torch.cat([idx, token], 1)
            if (token == 0).all():
                break
    return idx


def one_draw_for_all_rows(model, idx, max_new_tokens, block_size):
    """All rows got the same draw. Do the texts of a batch know of each other?"""
    def pick(logits):
        level = torch.rand(1, 1, device=logits.device)
        below = torch.softmax(logits[:, -1], -1).cumsum(-1) < level
        return below.sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)

    return loop(model, idx, max_new_tokens, block_size, pick=pick)


def one_draw_for_all_steps(model, idx, max_new_tokens, block_size):
    """A row got the same draw at every step. Is a die thrown once for the whole text, or once a token?"""
    level = torch.rand(len(idx), 1, device=idx.device)

    def pick(logits):
        below = torch.softmax(logits[:, -1], -1).cumsum(-1) < level
        return below.sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)

    return loop(model, idx, max_new_tokens, block_size, pick=pick)


def sets_a_seed(model, idx, max_new_tokens, block_size):
    """torch's random seed changes nothing. Either a seed is set inside the function, or the draw is made by `random` or
    numpy and not by torch. Who decides the seed?"""
    torch.manual_seed(7)
    return loop(model, idx, max_new_tokens, block_size)


def leaves_eval_mode(model, idx, max_new_tokens, block_size):
    """The model was put into eval mode and left there: a training that goes on would go on without dropout. What mode
    was it in before?"""
    model.eval()
    return loop(model, idx, max_new_tokens, block_size)


def leaves_train_mode(model, idx, max_new_tokens, block_size):
    """The model was put into train mode at the end, whatever mode it had been in. How can you find out what it was?"""
    model.eval()
    out = loop(model, idx, max_new_tokens, block_size)
    model.train()
    return out


def context_not_cut(model, idx, max_new_tokens, block_size):
    """The model got the whole text, beyond block_size tokens. How much of it may the model see?"""
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: idx)


def context_is_the_beginning(model, idx, max_new_tokens, block_size):
    """The model got the first block_size tokens, so it stops seeing what it writes. Which end of the text matters?"""
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: idx[:, :block_size])


def context_one_short(model, idx, max_new_tokens, block_size):
    """The context is one token short of block_size. How many tokens may the model see at most?"""
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: idx[:, -max(block_size - 1, 1):])


def context_one_long(model, idx, max_new_tokens, block_size):
    """The context is one token longer than block_size. How many tokens may the model see at most?"""
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: idx[:, -block_size - 1:])


def context_keeps_its_length(model, idx, max_new_tokens, block_size):
    """The context stayed as long as it was at the beginning: each new token pushed an old one out. How many tokens may
    the model see at most?"""
    begun = idx.shape[1]
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: idx[:, -min(block_size, begun):])


def context_is_one_token(model, idx, max_new_tokens, block_size):
    """The model saw only the last token. A bigram model needs no more: does this one?"""
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: idx[:, -1:])


def context_never_grows(model, idx, max_new_tokens, block_size):
    """The model saw the text as it was at the beginning, every time. What has been written meanwhile?"""
    begun = idx[:, -block_size:]
    return loop(model, idx, max_new_tokens, block_size, context=lambda idx: begun)


def first_place(model, idx, max_new_tokens, block_size):
    """The logits were taken from the first place of the context. Which place predicts what is not there yet?"""
    return loop(model, idx, max_new_tokens, block_size,
                pick=lambda logits: torch.multinomial(torch.softmax(logits[:, 0], -1), 1))


def place_before_the_last(model, idx, max_new_tokens, block_size):
    """The logits were taken from the place before the last: that one predicts the last token, which is there. Which
    place predicts the next one?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: torch.multinomial(
        torch.softmax(logits[:, max(logits.shape[1] - 2, 0)], -1), 1))


def softmax_down_the_rows(model, idx, max_new_tokens, block_size):
    """The softmax ran over the texts of the batch instead of the tokens. Which axis is V?"""
    return loop(model, idx, max_new_tokens, block_size,
                pick=lambda logits: torch.multinomial(torch.softmax(logits[:, -1], 0), 1))


def softmax_of_probabilities(model, idx, max_new_tokens, block_size):
    """A softmax was taken of probabilities, which makes even impossible tokens likely. How many softmaxes are
    needed?"""
    return loop(model, idx, max_new_tokens, block_size, pick=lambda logits: torch.multinomial(
        torch.softmax(torch.softmax(logits[:, -1], -1), -1), 1))


def only_the_new(model, idx, max_new_tokens, block_size):
    """Only the new tokens came back. What does the result begin with?"""
    return loop(model, idx, max_new_tokens, block_size)[:, idx.shape[1]:]


def only_the_last_block(model, idx, max_new_tokens, block_size):
    """What came back was cut to block_size tokens. That is what the model may see: how long is the text?"""
    return loop(model, idx, max_new_tokens, block_size)[:, -block_size:]


def the_text_is_cut_too(model, idx, max_new_tokens, block_size):
    """The text itself was cut to block_size tokens before each draw, so its beginning is lost. How can the model be
    shown less than the whole text, and the text be kept?"""
    with torch.no_grad():
        for _ in range(max_new_tokens):
            idx = idx[:, -block_size:]
            idx = torch.cat([idx, torch.multinomial(torch.softmax(model(idx)[:, -1], -1), 1)], 1)
    return idx


def one_token_too_many(model, idx, max_new_tokens, block_size):
    """One token too many was written. How often does the loop run?"""
    return loop(model, idx, max_new_tokens + 1, block_size)


def one_token_too_few(model, idx, max_new_tokens, block_size):
    """One token too few was written. How often does the loop run?"""
    return loop(model, idx, max(max_new_tokens - 1, 0), block_size)


def max_is_the_total(model, idx, max_new_tokens, block_size):
    """max_new_tokens was taken for the length of the whole text. What does "new" say?"""
    return loop(model, idx, max(max_new_tokens - idx.shape[1], 0), block_size)


def written_in_front(model, idx, max_new_tokens, block_size):
    """New tokens were put in front of the text. At which end does it go on?"""
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]
            idx = torch.cat([torch.multinomial(torch.softmax(logits, -1), 1), idx], 1)
    return idx


def block_limits_the_text(model, idx, max_new_tokens, block_size):
    """Writing stopped when the text was block_size tokens long. block_size limits what the model sees: does it limit
    what is written?"""
    return loop(model, idx, max(min(max_new_tokens, block_size - idx.shape[1]), 0), block_size)


SHARES = (0.5, 0.3, 0.15, 0.05)


def texts(draw, rows, steps, seed=0, model=None):
    """What is written after two zeros, (rows, steps)."""
    begun = torch.zeros(rows, 2, dtype=torch.long)
    return draw(model or Unsure(*SHARES), begun, steps, 8, seed=seed)[:, 2:]


def not_always_the_likeliest(draw, generator):
    return bool((texts(draw, 20, 5) > 0).any())


def shares_of(draw, rows, shares):
    """How often each token came up; None where all are the same."""
    written = texts(draw, rows, 1, model=Unsure(*shares)).flatten()
    return None if (written == written[0]).all() else written.bincount(minlength=len(shares)) / rows


# One token for one half, 99 for the other: a temperature of 0.8 makes .76 of the half, one of 1.25 makes .29.
ONE_AND_MANY = (0.5, *((148 - i) / 19602 for i in range(99)))


def not_alike(draw, generator):
    shares = shares_of(draw, 200, ONE_AND_MANY)
    return shares is None or bool(shares[0] > 0.06)


def of_the_half(tells):
    """A statistic of how often the likeliest of a hundred tokens comes up. Its standard error is .029."""
    def holds(draw, generator):
        shares = shares_of(draw, 300, ONE_AND_MANY)
        return shares is None or bool(tells(shares[0]))

    return holds


not_too_often = of_the_half(lambda share: share < 0.62)
not_too_rarely = of_the_half(lambda share: share > 0.38 or share <= 0.06)


def unlikely_ones_come_up(draw, generator):
    """The twelve least likely tokens come up 17 times in 500 draws; another sentence speaks of the likeliest."""
    shares = shares_of(draw, 500, ONE_AND_MANY)
    return shares is None or bool(shares[-12:].sum() > 0) or abs(shares[0] - 0.5) > 0.12


def frequencies(draw, generator):
    """Every share within .07 for 1,000 draws, more than four standard errors; the likeliest has its own sentences."""
    shares = shares_of(draw, 1000, SHARES)
    return shares is None or bool((shares - torch.tensor(SHARES)).abs().max() < 0.07 or abs(shares[0] - 0.5) > 0.03)


def rows_draw_by_themselves(draw, generator):
    written = texts(draw, 40, 8)
    alike = (written[0::2] == written[1::2]).float().mean()  # .365 where rows are independent
    return bool(alike < 0.7) or bool((written == 0).all())


def steps_draw_by_themselves(draw, generator):
    written = texts(draw, 40, 8)
    alike = (written[:, 1:] == written[:, :-1]).float().mean()
    return bool(alike < 0.7) or bool((written == written[:1]).all())


def same_seed_same_text(draw, generator):
    return texts(draw, 8, 5, 1).equal(texts(draw, 8, 5, 1))


def other_seed_other_text(draw, generator):
    one = texts(draw, 8, 5, 1)
    return not one.equal(texts(draw, 8, 5, 2)) or bool((one == 0).all())


def stays_in(mode):
    def holds(draw, generator):
        model = Unsure(*SHARES).train(mode)
        texts(draw, 2, 2, model=model)
        return model.training == mode

    return holds


def make_beginning(generator, V, B, T, new, block_size):
    return Sure(V), some_ids(generator, B, T, below=V), new, block_size


GENERATE = Exercise(
    name="generate",
    lesson="12",
    asked="the text with max_new_tokens more: each drawn from the softmax of model(context)[:, -1], for each row by "
    "itself; the context is the last block_size tokens of what is written by then, or all of it if it is shorter.",
    verified=language_model.generate,
    oracle=written_on,
    examples=((Sure(10), torch.tensor([[1, 2]]), 1, 8), (Sure(10), torch.tensor([[3, 1, 4]]), 3, 4),
              (Sure(10), torch.tensor([[9, 1, 4, 2], [2, 7, 1, 8]]), 2, 3),
              (Sure(10), torch.tensor([[1, 2, 5]]), 3, 3)),
    sizes=((11, 2, 4, 3, 5), (7, 2, 6, 4, 3), (13, 3, 2, 5, 4), (9, 1, 3, 2, 8), (6, 4, 1, 3, 2), (8, 2, 5, 3, 1),
           (3, 3, 3, 3, 3), (7, 2, 4, 0, 3), (7, 1, 1, 1, 1)),
    make=make_beginning,
    extremes=((Sure(7, 1000.0), torch.tensor([[3, 1, 4], [1, 5, 2]]), 3, 4),),
    by_hand=(greedy, uniform, too_sharp, too_flat, the_end_is_cut_off, drawn_by_exponentials, stops_at_token_0,
              one_draw_for_all_rows, one_draw_for_all_steps, sets_a_seed, leaves_eval_mode, leaves_train_mode,
              context_not_cut, context_is_the_beginning, context_one_short, context_one_long,
              context_keeps_its_length, context_is_one_token, context_never_grows, first_place, place_before_the_last,
              softmax_down_the_rows, softmax_of_probabilities, only_the_new, only_the_last_block, the_text_is_cut_too,
              one_token_too_many, one_token_too_few, max_is_the_total, written_in_front, block_limits_the_text),
    statistics=(
        ("It wrote nothing but the likeliest token, 100 times.", not_always_the_likeliest),
        ("The tokens come up equally often, whatever their probabilities are.", not_alike),
        ("The likeliest token comes up more often than its probability says.", not_too_often),
        ("The likeliest token comes up less often than its probability says.", not_too_rarely),
        ("The least likely tokens never come up.", unlikely_ones_come_up),
        ("The tokens do not come up as often as their probabilities say.", frequencies),
        ("The rows of a batch get the same tokens far too often: they are not drawn by themselves.",
         rows_draw_by_themselves),
        ("A row repeats its token far too often: the steps are not drawn by themselves.", steps_draw_by_themselves),
        ("The same seed of torch gave another text. The draw does not come from torch's random state: use "
         "`torch.multinomial`, not `random`, numpy or a generator of your own.", same_seed_same_text),
        ("Another seed of torch gave the same text. The draw does not come from torch's random state, or a seed is set "
         "inside the function.", other_seed_other_text),
        ("A model that was in train mode is left in eval mode.", stays_in(True)),
        ("A model that was in eval mode is left in train mode.", stays_in(False)),
    ),
)
EXERCISES = (SHIFT_LABELS, BIGRAM_PROBS, BIGRAM_LM, GET_BATCH, NEXT_TOKEN_PROBS, GENERATE)
