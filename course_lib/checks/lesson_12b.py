"""Lesson 12b, which tokens may be drawn: judged by sorting one row at a time, and adding up by hand."""

import torch

from course_lib import language_model
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import always

# --- next_token_probs --------------------------------------------------------------------------------------------


def probs_by_sorting(logits, temperature=1.0, top_k=None):
    """Row by row: sort, keep the first top_k, exponentials of what is kept over their sum."""
    rows = []
    for row in logits:
        order = row.argsort(descending=True)[: len(row) if top_k is None else top_k]
        kept = torch.softmax(row[order] / temperature, 0)
        rows.append(torch.zeros_like(row).index_put((order,), kept))
    return torch.stack(rows)


def make_logits(generator, B, V, *how):
    """Logits without ties, however they are rounded: well apart, in an order of its own for each row."""
    order = torch.rand(B, V, generator=generator).argsort(-1).float()
    return 4 * order / V - 1.5 + 0.1 * torch.rand(B, V, generator=generator) / V, *how


def hotter_is_flatter(output, generator):
    logits, = make_logits(generator, 3, 5)
    return bool((output(logits, 2.0).amax(-1) < output(logits, 0.5).amax(-1)).all())


NEXT_TOKEN_PROBS = Exercise(
    lesson="12b",
    asked="$softmax(logits / temperature)$ over the tokens; where `top_k` is given, only the `top_k` largest logits "
    "of each row keep a probability, the others get exactly 0, and the rows still sum to one.",
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
    properties=(
        ("A row does not sum to one.",
         always(make_logits, (3, 5, 0.7, 2), lambda out, *args: (out.sum(-1) - 1).abs().max() < 1e-4)),
        ("With top_k = 2 it is not two tokens in each row that are left.",
         always(make_logits, (3, 5, 1.0, 2), lambda out, *args: ((out > 0).sum(-1) == 2).all()), "top_k"),
        ("A higher temperature does not flatten the probabilities.", hotter_is_flatter, "temperature"),
    ),
)


# --- top_p_probs ------------------------------------------------------------------------------------------------


def nucleus_by_adding_up(logits, p):
    """Row by row: the most probable tokens one after the other, until what they hold is p or more."""
    rows = []
    for row in torch.softmax(logits, -1):
        held, kept = 0.0, []
        for i in row.argsort(descending=True).tolist():
            if held >= p and p < 1:
                break
            kept.append(i)
            held += row[i].item()
        rows.append(torch.zeros_like(row).index_put((torch.tensor(kept),), row[kept] / row[kept].sum()))
    return torch.stack(rows)


def make_nucleus(generator, B, V, p):
    """Logits without ties, and in each row no sum near p, so that rounding decides nothing."""
    rows = []
    while len(rows) < B:
        order = torch.rand(V, generator=generator).argsort().float()
        spread = 3 + 4 * torch.rand((), generator=generator)
        row = spread * order / V - 1.5 + 0.3 * torch.rand(V, generator=generator) / V
        sums = torch.softmax(row, -1).sort(descending=True).values.cumsum(-1)
        if p == 1 or (sums - p).abs().min() > 2e-3:
            rows.append(row)
    return torch.stack(rows), p


def shortest_beginning(out, logits, p):
    """As many tokens are left as are needed: without the last of them the sum would be below p."""
    sums = torch.softmax(logits.double(), -1).sort(descending=True).values.cumsum(-1)
    return ((out > 0).sum(-1) == 1 + (sums < p).sum(-1)).all()


def the_most_probable_stays(out, logits, p):
    return (out.argmax(-1) == logits.argmax(-1)).all()


def other_rules_keep_others(generator):
    """Rows where a threshold on each token, a tail of weight p, and losing what is small keep other tokens."""
    rows = ((0.2, 0.4, 0.35, 0.25), (0.3, 0.24, 0.5, 0.26), (0.6, 0.22, 0.3, 0.2, 0.28), (1.0, 0.004, 0.99, 0.006))
    return [*(Call((torch.tensor([probs]).log(), p)) for p, *probs in rows), Call(make_nucleus(generator, 3, 67, 0.8))]


TOP_P_PROBS = Exercise(
    lesson="12b",
    asked="of $softmax(logits)$, sorted by falling probability, the shortest beginning whose sum is at least p keeps "
    "its probabilities, divided by their sum; all other tokens get exactly 0: (B, V), in the order of the logits.",
    verified=language_model.top_p_probs,
    oracle=nucleus_by_adding_up,
    examples=(
        (torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.6),
        (torch.tensor([[0.1, 0.6, 0.3], [0.25, 0.35, 0.4]]).log(), 0.7),
        (torch.tensor([[0.1, 0.6, 0.3]]).log(), 0.05),
    ),
    sizes=((3, 7, 0.8), (2, 5, 0.5), (4, 6, 0.93), (5, 3, 0.3), (4, 4, 0.7), (2, 9, 1.0), (3, 5, 0.01), (1, 6, 0.75),
           (3, 1, 0.5), (1, 1, 1.0)),
    square_size=(3, 5, 0.77),
    make=make_nucleus,
    extremes=((torch.tensor([[1000.0, 998, 999, 0], [-30000, -29999, -30001, -30004]]), 0.8),),
    calls=other_rules_keep_others,
    grows=(0,),  # among many tokens hardly a row has no sum near p
    properties=(
        ("A row does not sum to one.",
         always(make_nucleus, (3, 6, 0.8), lambda out, *args: (out.sum(-1) - 1).abs().max() < 1e-4)),
        ("It is not the shortest beginning that is left.", always(make_nucleus, (4, 8, 0.8), shortest_beginning)),
        ("At p = 1 a token has lost its probability.",
         always(make_nucleus, (2, 6, 1.0), lambda out, *args: (out > 0).all())),
        ("The most probable token is not the most probable any more.",
         always(make_nucleus, (4, 6, 0.05), the_most_probable_stays)),
    ),
)
EXERCISES = (NEXT_TOKEN_PROBS, TOP_P_PROBS)
