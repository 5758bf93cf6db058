"""Lesson 17: what is inside a trained Transformer, judged by loops, by masks and by what linear layers give."""

import torch
import torch.nn.functional as F

from course_lib import circuits
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import always, equivariant, invariant, sensitive

# attention_scores_by_pattern


def by_looking_at_each_query(weights, ids):
    """For each query and kind a list of places; what is spent there, over the number of lists that are not empty."""
    B, H, T, _ = weights.shape
    kinds = [lambda row, q: [q - 1] if q else [],
             lambda row, q: [k for k in range(q) if row[k] == row[q]],
             lambda row, q: [k + 1 for k in range(q) if row[k] == row[q]]]
    rows, scores = ids.tolist(), []
    for places in kinds:
        spent, queries = 0 * weights[0, :, 0, 0], 0  # (H,)
        for b in range(B):
            for q in range(T):
                if there := places(rows[b], q):
                    spent, queries = spent + weights[b, :, q, there].sum(-1), queries + 1
        scores.append(spent / max(queries, 1))
    return torch.stack(scores)


def make_patterns(generator, B, H, T):
    """Rows of an attention that may look everywhere, and tokens of which many come again."""
    return (torch.randn(B, H, T, T, generator=generator).softmax(-1),
            torch.randint(max(2, T // 2), (B, T), generator=generator))


def looks(*rows):
    return torch.tensor(rows)[None, None]


def rows_of_unlike_lengths(generator):
    """In one row nothing comes again, in the other all: a mean of means is another number."""
    weights = torch.randn(2, 2, 6, 6, generator=generator).softmax(-1)
    ids = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1]])
    return [Call((weights, ids), "one row without repeats, and one that is all repeats"),
            Call((weights[:1], ids[:1]), "no token comes again"),
            Call((weights, ids + 100), "large token numbers")]


def heads_about(weights, ids):
    return weights.flip(1), ids


ONE_BACK = looks([1.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0], [0, 0, 1.0, 0, 0], [0, 0, 0, 1.0, 0])
ON_WHAT_FOLLOWED = looks([1.0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.75, 0, 0.25, 0],
                         [0.125, 0, 0.5, 0, 0.375])
BY_PATTERN = Exercise(
    lesson="17",
    asked="(3, H): on the place before the query, on earlier places with the query's token, on places just after one "
    "of those. For each kind the weights on all such places are added up for a query, and the mean is over all queries "
    "of the batch that have one; 0 where none has.",
    verified=circuits.attention_scores_by_pattern,
    oracle=by_looking_at_each_query,
    examples=((ON_WHAT_FOLLOWED, torch.tensor([[3, 5, 7, 3, 5]])), (ONE_BACK, torch.tensor([[1, 2, 1, 1, 2]]))),
    sizes=((2, 3, 5), (1, 2, 6), (3, 2, 4), (2, 4, 7), (4, 1, 3), (3, 3, 3), (1, 1, 2), (1, 1, 1)),
    square_size=(2, 3, 4),
    make=make_patterns,
    calls=rows_of_unlike_lengths,
    properties=(
        ("The heads in another order do not take their numbers along.",
         equivariant(make_patterns, (2, 3, 6), heads_about, lambda out: out.flip(1))),
        ("A share is above 1 or below 0.",
         always(make_patterns, (2, 2, 6), lambda out, *_: (out[:1] >= 0).all() and (out <= 1 + 1e-4).all())),
    ),
)

# ablate_head


def blended(said, head, mean=False):
    """A mask picks what stays; of what comes in its place, the mean is a sum over a count."""
    B, T, H, d = said.shape
    average = sum(row[:, head].sum(0) for row in said) / (B * T) if mean else torch.zeros(d).to(said)
    keep = F.one_hot(torch.tensor(head), H).to(said)[:, None]  # (H, 1)
    return said * (1 - keep) + keep * average


def make_said(generator, B, T, H, d, *mean):
    return (torch.randn(B, T, H, d, generator=generator) + 1, H // 2, *mean)


SAID = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 10.0]]]])
ABLATE_HEAD = Exercise(
    lesson="17",
    asked="a new (B, T, H, d): zeros at `[:, :, head]`, or with `mean=True` the mean over batch and places of what "
    "stood there, one vector of d numbers for all; everything else as in said, which stays as it is.",
    verified=circuits.ablate_head,
    oracle=blended,
    examples=((SAID, 1), (SAID, 0, True), (SAID, 1, False), (SAID, 1, True)),
    sizes=((2, 3, 4, 5), (3, 2, 5, 4, True), (1, 4, 2, 3, True), (2, 5, 3, 1), (1, 2, 1, 3, True), (3, 3, 3, 3, True),
           (2, 2, 2, 2), (1, 1, 1, 1, True), (1, 1, 1, 1)),
    square_size=(2, 3, 4, 5),
    make=make_said,
    calls=lambda generator: [Call((*make_said(generator, 2, 3, 4, 5)[:1], head, mean), f"head {head} of 4")
                             for head, mean in ((0, True), (3, False))],
    properties=(
        ("What the head said still has a say.",
         invariant(make_said, (2, 3, 4, 5), lambda said, head: (said + 9 * F.one_hot(torch.tensor(head), 4)[:, None],
                                                                head))),
        ("Another head is changed, too.",
         always(make_said, (2, 3, 4, 5, True),
                lambda out, said, head, _: torch.allclose(out[:, :, :head], said[:, :, :head], atol=1e-4))),
    ),
)

# patch


def row_by_row(said, other, head, place):
    rows = []
    for mine, theirs, t in zip(said, other, place.tolist(), strict=True):
        tokens = [torch.stack([theirs[i, h] if (i, h) == (t, head) else mine[i, h] for h in range(mine.shape[1])])
                  for i in range(len(mine))]
        rows.append(torch.stack(tokens))
    return torch.stack(rows)


def make_two_runs(generator, B, T, H, d):
    said, other = torch.randn(2, B, T, H, d, generator=generator)
    return said, other, H // 2, torch.randint(T, (B,), generator=generator)


def edges(generator):
    said, other, head, _ = make_two_runs(generator, 3, 5, 4, 2)
    return [Call((said, other, 0, torch.tensor([0, 4, 0])), "the first head, first and last places"),
            Call((said, other, 3, torch.tensor([2, 2, 2])), "the last head, the same place in every row"),
            Call((*make_two_runs(generator, 2, 67, 2, 2)[:3], torch.tensor([66, 0])), "sixty-seven tokens"),
            Call((*make_two_runs(generator, 2, 3, 67, 2)[:2], 66, torch.tensor([2, 0])), "sixty-seven heads")]


TWO_ROWS = (torch.tensor([[[[1.0], [2.0]], [[3.0], [4.0]]], [[[5.0], [6.0]], [[7.0], [8.0]]]]),
            torch.tensor([[[[-1.0], [-2.0]], [[-3.0], [-4.0]]], [[[-5.0], [-6.0]], [[-7.0], [-8.0]]]]))
PATCH = Exercise(
    lesson="17",
    asked="a new (B, T, H, d): in row b, at `[b, place[b], head]`, the d numbers of other; everything else as in said. "
    "Both stay as they are.",
    verified=circuits.patch,
    oracle=row_by_row,
    examples=((*TWO_ROWS, 1, torch.tensor([0, 1])), (*TWO_ROWS, 0, torch.tensor([1, 1]))),
    sizes=((2, 3, 4, 5), (3, 4, 2, 3), (4, 2, 3, 2), (1, 5, 2, 2), (5, 1, 3, 2), (3, 3, 3, 3), (2, 2, 2, 2),
           (1, 1, 1, 1)),
    square_size=(2, 3, 4, 5),
    make=make_two_runs,
    calls=edges,
    properties=(
        ("What is the same in both runs is changed.",
         always(lambda generator, *size: (lambda said, _, head, place: (said, said.clone(), head, place))(
             *make_two_runs(generator, *size)), (2, 3, 4, 5), lambda out, said, *_: torch.allclose(out, said))),
        ("The other run has no say.", sensitive(make_two_runs, (2, 3, 4, 5), lambda said, other, *where:
                                                (said, other + 1, *where))),
    ),
)

# direct_logit_attribution


def through_the_last_layer(said, W_o, W_U, answers):
    """All other heads are silent: what then comes out of W_o goes on to all logits, one of which is the answer's."""
    H, columns = said.shape[2], []
    for head in range(H):
        alone = said * F.one_hot(torch.tensor(head), H).to(said)[:, None]
        logits = F.linear(F.linear(alone.flatten(2), W_o), W_U)  # (B, T, V)
        logits = logits - logits.mean(-1, keepdim=True)
        columns.append(logits.gather(-1, answers[..., None])[..., 0])
    return torch.stack(columns, -1)


def make_attribution(generator, B, T, H, d, D, V):
    return (torch.randn(B, T, H, d, generator=generator), torch.randn(D, H * d, generator=generator),
            torch.randn(V, D, generator=generator) + 0.5, torch.randint(V, (B, T), generator=generator))


def heads_add_up(out, said, W_o, W_U, answers):
    logits = said.flatten(2) @ W_o.T @ W_U.T
    return torch.allclose(out.sum(-1), (logits - logits.mean(-1, keepdim=True)).gather(-1, answers[..., None])[..., 0],
                          atol=1e-3)


def bias_for_all(said, W_o, W_U, answers):
    """Something that raises all logits alike."""
    return said, W_o, W_U + torch.arange(W_U.shape[1]), answers


ATTRIBUTION = Exercise(
    lesson="17",
    asked="(B, T, H): what head h writes, `said[b, t, h]` through its columns of $W_o$, times (`W_U[answer]` minus "
    "the mean of all rows of $W_U$).",
    verified=circuits.direct_logit_attribution,
    oracle=through_the_last_layer,
    examples=(
        (torch.tensor([[[[1.0], [2.0]]]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
         torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), torch.tensor([[2]])),
        (torch.tensor([[[[1.0], [2.0]], [[3.0], [-1.0]]]]), torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
         torch.tensor([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]), torch.tensor([[0, 1]])),
    ),
    sizes=((2, 3, 4, 5, 6, 7), (1, 4, 2, 3, 5, 9), (3, 2, 3, 2, 4, 5), (2, 2, 1, 4, 3, 6), (1, 5, 4, 1, 2, 3),
           (3, 3, 3, 3, 9, 3), (2, 2, 2, 2, 4, 4), (1, 1, 1, 1, 1, 2)),
    square_size=(2, 3, 4, 5, 6, 7),
    make=make_attribution,
    properties=(
        ("What raises all logits alike is counted.", invariant(make_attribution, (2, 3, 2, 3, 4, 5), bias_for_all,
                                                               atol=1e-3)),
        ("The heads do not add up to the answer's logit minus the mean logit.",
         always(make_attribution, (2, 3, 2, 3, 4, 5), heads_add_up)),
    ),
)

# compose


def one_pair_at_a_time(W_q, W_k, W_v, W_o, num_heads):
    """For each pair, the two matrices; a norm is the root of the sum of squares."""
    d = len(W_q) // num_heads
    size = lambda matrix: matrix.square().sum() ** 0.5  # noqa: E731
    rows = []
    for b in range(num_heads):
        later = slice(b * d, (b + 1) * d)
        W_QK, row = torch.einsum("ix,iy->xy", W_q[later], W_k[later]), []
        for a in range(num_heads):
            earlier = slice(a * d, (a + 1) * d)
            W_OV = torch.einsum("xi,iy->xy", W_o[:, earlier], W_v[earlier])
            row.append(size(torch.einsum("xy,yz->xz", W_QK, W_OV)) / (size(W_QK) * size(W_OV)))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def make_two_attentions(generator, H, d, D):
    q, k, v, o = torch.randn(4, H * d, D, generator=generator) + 0.2
    return q, k, v, o.T.contiguous(), H


def larger(W_q, W_k, W_v, W_o, H):
    return 3 * W_q, 2 * W_k, W_v / 2, 5 * W_o, H


def turned_about(W_q, W_k, W_v, W_o, H):
    """The directions of the residual stream by other names, for both attentions."""
    return W_q.flip(1), W_k.flip(1), W_v.flip(1), W_o.flip(0), H


PLAIN = (torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
         torch.tensor([[1.0, 1.0], [1.0, 0.0]]), torch.tensor([[2.0, 0.0], [1.0, 1.0]]))
COMPOSE = Exercise(
    lesson="17",
    asked="(H, H), row for the later head, column for the earlier one: $|W_QK W_OV| / (|W_QK| |W_OV|)$ in Frobenius "
    "norms, with $W_QK = W_q^T W_k$ of the later head and $W_OV = W_o W_v$ of the earlier one, all (D, D).",
    verified=circuits.compose,
    oracle=one_pair_at_a_time,
    examples=((*PLAIN, 2), (*PLAIN, 1)),
    sizes=((2, 3, 5), (3, 2, 6), (4, 2, 8), (2, 5, 4), (1, 4, 4), (5, 1, 5), (3, 3, 9), (2, 2, 4), (4, 1, 4),
           (1, 2, 3)),
    square_size=(2, 4, 8),
    make=make_two_attentions,
    properties=(
        ("Larger weights give larger numbers.", invariant(make_two_attentions, (2, 3, 6), larger)),
        ("With the directions of the residual stream in another order the numbers change.",
         invariant(make_two_attentions, (2, 3, 6), turned_about)),
        ("A number is above 1, which no product of two matrices is.",
         always(make_two_attentions, (3, 2, 6), lambda out, *_: (out <= 1 + 1e-4).all())),
    ),
)
EXERCISES = (BY_PATTERN, ABLATE_HEAD, PATCH, ATTRIBUTION, COMPOSE)
