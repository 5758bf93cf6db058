"""Lesson 02, self-attention with nothing trained: `reweight`, judged by torch's own attention."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise


def torch_attention(x):
    """torch's attention of x to itself, unscaled."""
    return F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0)[0]


def scaled(x):
    """The scores were divided by √D. That is a later version of attention: here the dot products are used as
    they are."""
    return torch.softmax(x @ x.T / x.shape[1] ** 0.5, -1) @ x


def cosine(x):
    """The vectors were brought to length one before they were compared: that is cosine similarity. Here the
    dot product itself is asked for, and long vectors get larger scores."""
    unit = x / x.norm(dim=-1, keepdim=True)
    return torch.softmax(unit @ unit.T, -1) @ x


def wrong_axis(x):
    """The softmax ran down the columns of the score matrix, or the weight matrix was used lying on its side. Each
    token needs weights of its own: row t of the scores becomes row t of the weights, and that row sums to one."""
    return torch.softmax(x @ x.T, 0) @ x


def no_softmax(x):
    """The scores were used as weights as they are. They have to go through a softmax first, so that they are
    positive and sum to one."""
    return x @ x.T @ x


def sigmoid(x):
    """Each score went through a sigmoid by itself. The weights of one token have to compete, and sum to one:
    that takes a softmax."""
    return torch.sigmoid(x @ x.T) @ x


def divides_by_the_sum(x):
    """The scores were divided by their sum, without the exponential. A negative score then gives a negative
    weight, and a sum near zero blows everything up: use a softmax."""
    scores = x @ x.T
    return scores / scores.sum(-1, keepdim=True) @ x


def divides_columns(x):
    """The exponentials were divided by their row sums, but the sums lay along the wrong axis: torch lined them up
    with the columns. Keep the axis: sum(-1, keepdim=True)."""
    scores = torch.exp(x @ x.T - (x @ x.T).amax())
    return scores / scores.sum(-1) @ x


def mixes_unit_vectors(x):
    """The vectors were brought to length one, and these shortened vectors were compared and mixed. Compare and mix
    the rows of x as they are."""
    unit = x / x.norm(dim=-1, keepdim=True)
    return torch.softmax(unit @ unit.T, -1) @ unit


def mixes_features(x):
    """Features attended to features: the scores are (D, D) instead of (T, T). Compare the rows of x with each other,
    not its columns."""
    return x @ torch.softmax(x.T @ x, -1)


def one_token_after_another(x):
    """Each token saw the tokens before it as they had become, not as they were. All outputs come from the x that was
    handed in: write them to a new tensor."""
    rows = list(x)
    for t in range(len(rows)):
        now = torch.stack(rows)
        rows[t] = torch.softmax(now @ now[t], 0) @ now
    return torch.stack(rows)


def without_itself(x):
    """The token itself was left out. Each token may look at all tokens, itself included."""
    scores = (x @ x.T).masked_fill(torch.eye(len(x), dtype=torch.bool, device=x.device), float("-inf"))
    return torch.nan_to_num(torch.softmax(scores, -1)) @ x


def hides_itself_with_infinity(x):
    """The token itself was hidden with minus infinity; a token that is alone then has nothing to look at, and gets NaN.
    Each token may look at all tokens: itself, too?"""
    return torch.softmax((x @ x.T).fill_diagonal_(float("-inf")), -1) @ x


def returns_weights(x):
    """These are the weights, (T, T). They still have to mix the rows of x."""
    return torch.softmax(x @ x.T, -1)


def returns_scores(x):
    """These are the scores, (T, T). Softmax and the weighted sum are still missing."""
    return x @ x.T


def averages(x):
    """Every token counts the same here. The weights have to come from the scores."""
    return x.mean(0, keepdim=True).expand_as(x).clone()


def takes_the_largest(x):
    """Only the token with the largest score was kept. Softmax lets every token count, each by its share."""
    return x[(x @ x.T).argmax(-1)]


def adds_the_input(x):
    """The input was added to the result. That is a skip connection and comes in lesson 08; here the weighted sum
    alone is asked for."""
    return x + torch.softmax(x @ x.T, -1) @ x


def only_the_first_query(x):
    """All rows of the output are the same: the weights of one token were used for every token."""
    return (torch.softmax(x @ x[0], -1) @ x).expand_as(x).clone()


def causal(x):
    """Each token looked only at itself and at those before it. Here every token sees every token."""
    return F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0, is_causal=True)[0]


def distance(x):
    """The scores are distances. The dot product is asked for: it grows where two vectors agree."""
    return torch.softmax(-torch.cdist(x, x), -1) @ x


def sums_instead_of_mixing(x):
    """The weighted vectors were added up over all tokens: one vector is left. There has to be one a token."""
    return (torch.softmax(x @ x.T, -1) @ x).sum(0)


def squeezes_everything(x):
    """squeeze() without an axis takes away every axis of length 1: of a single token, or of tokens 1 wide, more goes
    than was meant. Which axis did you want to lose?"""
    return (torch.softmax(x @ x.T, -1) @ x).squeeze()


def one_number_subtracted_from_all(x):
    """The largest score of the whole table was subtracted before the exponential. A row far below it becomes all zeros,
    and zero divided by zero is NaN. Whose largest score should each row lose?"""
    weights = torch.exp(x @ x.T - (x @ x.T).max())
    return weights / weights.sum(-1, keepdim=True) @ x


def its_own_score_subtracted(x):
    """Each row lost the score of the token with itself before the exponential. That need not be its largest score: next
    to a much longer vector the exponential becomes infinite. Which score is never below another one of its row?"""
    scores = x @ x.T
    weights = torch.exp(scores - scores.diagonal()[:, None])
    return weights / weights.sum(-1, keepdim=True) @ x


def overflows(x):
    """With large scores the exponential becomes infinite, and infinity divided by infinity is NaN. Use
    torch.softmax, or subtract each row's largest score first: that changes no weight."""
    weights = torch.exp(x @ x.T)
    return weights / weights.sum(-1, keepdim=True) @ x


def make(generator, T, D):
    return (torch.randn(T, D, generator=generator),)


def rows_sum_to_one(output, generator):
    x = torch.cat([make(generator, 5, 3)[0], torch.ones(5, 1)], 1)
    return torch.allclose(output(x)[:, -1], torch.ones(5), atol=1e-4)


def permuting_inputs_permutes_outputs(output, generator):
    x, order = make(generator, 5, 3)[0], torch.tensor([2, 0, 4, 1, 3])
    return torch.allclose(output(x[order]), output(x)[order], atol=1e-4)


def stays_within_the_inputs(output, generator):
    x = make(generator, 5, 3)[0]
    out = output(x)
    return bool((out <= x.amax(0) + 1e-4).all() and (out >= x.amin(0) - 1e-4).all())


def large_values_stay_finite(output, generator):
    return bool(torch.isfinite(output(20 * make(generator, 5, 3)[0])).all())


EXERCISES = (
    Exercise(
        name="reweight",
        lesson="02",
        asked="dot products of every row of x with every row, softmax over each row of scores, and with these "
        "weights the weighted sum of the rows of x: shape (T, D).",
        verified=attention.reweight,
        oracle=torch_attention,
        examples=(
            (torch.tensor([[1.0, 0.0], [0.0, 2.0]]),),
            (torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1.0]]),),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        square_size=(5, 4),
        make=make,
        extremes=(
            (torch.tensor([[16.0, 0.0, 3.0], [0.0, 20.0, 3.0], [-12.0, 4.0, 2.0]]),),
            (torch.tensor([[1.0, 0.0], [100.0, 0.0], [0.0, 2.0]]),),  # a short vector beside a long one
        ),
        by_hand=(scaled, cosine, wrong_axis, no_softmax, sigmoid, divides_by_the_sum, divides_columns,
                  mixes_unit_vectors, mixes_features, one_token_after_another, without_itself,
                  hides_itself_with_infinity, returns_weights, returns_scores, averages, takes_the_largest,
                  adds_the_input, only_the_first_query, causal, distance, sums_instead_of_mixing, squeezes_everything,
                  one_number_subtracted_from_all, its_own_score_subtracted, overflows),
        properties=(
            ("A feature that is 1 in every token does not stay 1: these are no weighted averages.", rows_sum_to_one),
            ("Permuting the tokens does not just permute the outputs.", permuting_inputs_permutes_outputs),
            ("An output lies outside the range of its inputs: it is not a mix of them.", stays_within_the_inputs),
            ("Large values give NaN or infinity.", large_values_stay_finite),
        ),
    ),
)
