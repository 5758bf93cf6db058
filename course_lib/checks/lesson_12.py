"""Lesson 12, language models: judged by loops over single tokens, and what is drawn by its frequencies."""

import math

import torch
from torch import nn

from course_lib import language_model
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import invariant


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


SHIFT_LABELS = Exercise(
    lesson="12",
    asked="a pair (inputs, targets), both (B, T - 1): `targets[:, t]` is the token that follows `inputs[:, t]`.",
    verified=language_model.shift_labels,
    oracle=pairs_by_loop,
    examples=((torch.tensor([[7, 2, 9, 4]]),), (torch.tensor([[7, 2, 9], [3, 8, 1]]),)),
    sizes=((4, 6), (3, 5), (5, 3), (4, 4), (1, 5), (3, 2), (1, 2)),
    make=lambda generator, B, T: (some_ids(generator, B, T),),
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


def rows_sum_to_one(output, generator):
    return torch.allclose(output(some_ids(generator, 20, below=4), 5, 0.5).sum(1), torch.ones(5), atol=1e-4)


def make_text(generator, T, V, alpha=None):
    ids = some_ids(generator, T, below=V)
    return (ids, V) if alpha is None else (ids, V, alpha)


def a_rare_pair_among_many_tokens(generator):
    """A token seen once among a hundred, after one that is seen 300 times."""
    return [Call((torch.tensor([7] * 300 + [60, 31]), 100), "a long text and a large vocabulary")]


BIGRAM_PROBS = Exercise(
    lesson="12",
    asked="`P[i, j]` is how often j comes right after i, plus alpha, divided by the sum of row i; a row of which "
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


def make_idx(generator, V, B, T, without=False):
    """Token 0 is always among them."""
    idx, targets = some_ids(generator, B, T, below=V), some_ids(generator, B, T, below=V)
    idx[-1, 0] = 0
    return (idx,) if without else (idx, targets)


def table(rows):
    return {"table.weight": torch.tensor(rows)}


TINY = table([[0.0, 2.0, -1.0], [1.0, 0.0, 3.0], [-2.0, 1.0, 0.0]])
BIGRAM_LM = Exercise(
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
)


# perplexity


def perplexity_by_loop(logits, targets, pad_id=None):
    """torch's own log-softmax of one position at a time; the mean of those that count; its exponential."""
    each = [-torch.log_softmax(row, 0)[target] for text, of_text in zip(logits, targets.tolist(), strict=True)
            for row, target in zip(text, of_text, strict=True) if target != pad_id]
    return torch.stack(each).mean().exp()


def make_targets(generator, B, T, V, pad_id=None):
    """Texts of unequal length where there is padding; without, token 0 is one like any other."""
    logits, targets = 2 * torch.randn(B, T, V, generator=generator), some_ids(generator, B, T, below=V)
    if pad_id is None:
        targets[-1, -1] = 0
        return logits, targets
    lengths = torch.randint(1, T + 1, (B, 1), generator=generator)
    lengths[0] = max(1, T - 1)
    targets = torch.where(targets == pad_id, (targets + 1) % V, targets)
    return logits, targets.masked_fill(torch.arange(T) >= lengths, pad_id), pad_id


def knowing_nothing_is_a_choice_among_all(output, generator):
    return abs(output(torch.zeros(2, 3, 8), torch.ones(2, 3, dtype=torch.int64)).item() - 8) < 1e-3


def two_and_eight_make_four(output, generator):
    """The geometric mean: a choice of two and one of eight are as hard as two of four."""
    logits = torch.full((1, 2, 8), -math.inf)
    logits[0, 0, :2], logits[0, 1] = 0.0, 0.0
    return abs(output(logits, torch.tensor([[1, 5]])).item() - 4) < 1e-3


def one_great_surprise_among_many():
    """In 39 positions all is nearly sure; in one a token comes whose probability float32 takes for 0."""
    logits = torch.tensor([[20.0, 0, 0]]).repeat(40, 1)
    logits[7] = torch.tensor([0.0, 120, -10])
    return logits[None], torch.zeros(1, 40, dtype=torch.int64)


THREE = torch.tensor([[[0.0, 1, 2], [3, 0, 1], [0, 2, 0]], [[1.0, 0, 0], [0, 3, 1], [2, 0, 1]]])
PERPLEXITY = Exercise(
    lesson="12",
    asked="exp of the mean of $-log softmax(logits)[target]$, natural logarithm, over all targets that are not "
    "`pad_id`: a scalar tensor.",
    verified=language_model.perplexity,
    oracle=perplexity_by_loop,
    examples=(
        (torch.zeros(1, 2, 3), torch.tensor([[1, 2]])),
        (THREE, torch.tensor([[1, 0, 1], [0, 0, 2]])),
        (THREE, torch.tensor([[1, 2, -100], [2, -100, -100]]), -100),
    ),
    sizes=((3, 5, 7), (2, 6, 4, 3), (4, 3, 6, 0), (5, 4, 9, -100), (4, 4, 4), (4, 4, 4, 2), (3, 1, 5), (2, 3, 5, 99),
           (1, 1, 2)),
    square_size=(2, 3, 16),
    make=make_targets,
    extremes=((torch.tensor([[[1000.0, 998, -1000], [-2000, 2000, 2001]], [[3000, 1000, 2999], [0, 5, 4]]]),
               torch.tensor([[1, 1], [2, 2]])), one_great_surprise_among_many()),
    properties=(
        ("Eight tokens that are equally probable do not give 8.", knowing_nothing_is_a_choice_among_all),
        ("A choice of two and a choice of eight do not give 4.", two_and_eight_make_four),
        ("Adding 3 to all logits changes it.",
         invariant(make_targets, (2, 3, 5), lambda logits, targets: (logits + 3, targets))),
        ("Other logits at a padded position change it.",
         invariant(make_targets, (2, 4, 5, 0), lambda logits, targets, pad_id: (
             logits * (1 + (targets[..., None] == pad_id)), targets, pad_id)), "pad_id"),
    ),
)


# get_batch


def the_only_piece(data, block_size, batch_size):
    """Where there is one place to begin, or where all pieces are the same, chance decides nothing."""
    tokens = data.tolist()
    x, y = tokens[:block_size], tokens[1 : block_size + 1]
    return torch.tensor([x] * batch_size), torch.tensor([y] * batch_size)


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
    """Of the draws between the ends, each of the six places has a sixth within .045: four standard errors of 1,200."""
    drawn = places(draw, 1600)
    counts = drawn.bincount(minlength=12)[1:7]
    return bool((counts / counts.sum() - 1 / 6).abs().max() < 0.045) or drawn.unique().numel() == 1


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
    lesson="12",
    asked="x and y, both `(batch_size, block_size)`: pieces of the data from random positions, and the same pieces "
    "moved on by one token; every position from 0 to `N - block_size - 1` is equally probable, for each piece anew.",
    verified=language_model.get_batch,
    oracle=the_only_piece,
    examples=((torch.tensor([7, 2, 9, 4]), 3, 1), (torch.tensor([7, 2, 9, 4, 4]), 4, 2),
              (torch.tensor([5, 5, 5, 5, 5, 5, 5, 5]), 3, 2)),
    sizes=((5, 3), (3, 6), (7, 2), (4, 4), (1, 4), (4, 1), (1, 1)),
    make=one_place_to_begin,
    statistics=(
        ("A row of x is no piece of the data, or its row of y is not that piece moved on by one.", are_pieces),
        ("In 150 draws the first position did not come up once.", first_comes_up),
        ("In 150 draws the last position where a piece can begin did not come up once.", last_comes_up),
        ("In 150 draws pieces began at multiples of block_size only.", beside_the_blocks),
        ("The first position came up far less often than the others.", fair(0)),
        ("The last position where a piece can begin came up far less often than the others.", fair(7)),
        ("Of the positions between the first and the last, one comes up far more or far less often than others.",
         uniform_within),
        ("The pieces of a batch begin at the same position far too often.", not_all_alike),
        ("The pieces of a batch follow one another far too often.", not_in_line),
        ("In 20 batches of 4 from 8 positions hardly any position came up twice in a batch.", some_places_twice),
        ("The pieces of a batch are in the order of their positions.", in_no_order),
        ("The pieces of a batch begin at the same positions once more, in the same order.", nothing_comes_again),
        ("The same seed of torch gave another batch.", same_seed_same_batch),
        ("Another seed of torch gave the same batch.", other_seed_other_batch),
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


SHARES = (0.5, 0.3, 0.15, 0.05)


def texts(draw, rows, steps, seed=0, model=None):
    """What is written after two zeros, (rows, steps)."""
    begun = torch.zeros(rows, 2, dtype=torch.long)
    return draw(model or Unsure(*SHARES), begun, steps, 8, seed=seed)[:, 2:]


def not_always_the_most_probable(draw, generator):
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
    """A statistic of how often the most probable of a hundred tokens comes up. Its standard error is .029."""
    def holds(draw, generator):
        shares = shares_of(draw, 300, ONE_AND_MANY)
        return shares is None or bool(tells(shares[0]))

    return holds


not_too_often = of_the_half(lambda share: share < 0.62)
not_too_rarely = of_the_half(lambda share: share > 0.38 or share <= 0.06)


def unlikely_ones_come_up(draw, generator):
    """The twelve least probable tokens come up 17 times in 500 draws; another sentence is on the most probable."""
    shares = shares_of(draw, 500, ONE_AND_MANY)
    return shares is None or bool(shares[-12:].sum() > 0) or abs(shares[0] - 0.5) > 0.12


def frequencies(draw, generator):
    """Every share within .07 for 1,000 draws, more than four standard errors; the largest has its own sentences."""
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
    lesson="12",
    asked="the text with `max_new_tokens` more: each drawn from the softmax of `model(context)[:, -1]`, for each row "
    "by itself; the context is the last `block_size` tokens of what is written by then, or all of it if it is "
    "shorter.",
    verified=language_model.generate,
    oracle=written_on,
    examples=((Sure(10), torch.tensor([[1, 2]]), 1, 8), (Sure(10), torch.tensor([[3, 1, 4]]), 3, 4),
              (Sure(10), torch.tensor([[9, 1, 4, 2], [2, 7, 1, 8]]), 2, 3),
              (Sure(10), torch.tensor([[1, 2, 5]]), 3, 3)),
    sizes=((11, 2, 4, 3, 5), (7, 2, 6, 4, 3), (13, 3, 2, 5, 4), (9, 1, 3, 2, 8), (6, 4, 1, 3, 2), (8, 2, 5, 3, 1),
           (3, 3, 3, 3, 3), (7, 2, 4, 0, 3), (7, 1, 1, 1, 1)),
    make=make_beginning,
    extremes=((Sure(7, 1000.0), torch.tensor([[3, 1, 4], [1, 5, 2]]), 3, 4),),
    statistics=(
        ("It wrote nothing but the most probable token, 100 times.", not_always_the_most_probable),
        ("The tokens come up equally often, whatever their probabilities are.", not_alike),
        ("The most probable token comes up more often than its probability says.", not_too_often),
        ("The most probable token comes up less often than its probability says.", not_too_rarely),
        ("The least probable tokens never come up.", unlikely_ones_come_up),
        ("The tokens do not come up as often as their probabilities say.", frequencies),
        ("The rows of a batch get the same tokens far too often.", rows_draw_by_themselves),
        ("A row repeats its token far too often.", steps_draw_by_themselves),
        ("The same seed of torch gave another text.", same_seed_same_text),
        ("Another seed of torch gave the same text.", other_seed_other_text),
        ("A model that was in train mode is left in eval mode.", stays_in(True)),
        ("A model that was in eval mode is left in train mode.", stays_in(False)),
    ),
)
EXERCISES = (SHIFT_LABELS, BIGRAM_PROBS, PERPLEXITY, BIGRAM_LM, GET_BATCH, GENERATE)
