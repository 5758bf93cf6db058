"""Lesson 15: from the tokens of a real encoder to a search, judged by loops and by torch's cosines."""

import torch
import torch.nn.functional as F

from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import always, equivariant, invariant, rows_are_apart
from course_lib.pretrained import minilm

# mean_pool


def mean_by_loop(hidden, mask):
    means = [vectors[real].mean(0) for vectors, real in zip(hidden, mask, strict=True)]
    return torch.stack([mean / torch.linalg.vector_norm(mean) for mean in means])


def make_texts(generator, B, T, D):
    mask = torch.rand(B, T, generator=generator) < 0.6
    mask[torch.arange(B), torch.randint(T, (B,), generator=generator)] = True
    return torch.randn(B, T, D, generator=generator), mask


MEAN_POOL = Exercise(
    lesson="15",
    asked="the mean over the real tokens of each text, brought to length 1: (B, D).",
    verified=minilm.mean_pool,
    oracle=mean_by_loop,
    examples=(
        (torch.tensor([[[3.0, 8.0], [3.0, 0.0], [0.0, -9.0]]]), torch.tensor([[True, True, False]])),
        (torch.tensor([[[1.0, 0.0], [5.0, 8.0], [0.0, 2.0]], [[6.0, 1.0], [2.0, 5.0], [4.0, 6.0]]]),
         torch.tensor([[True, True, True], [False, True, True]])),
    ),
    sizes=((2, 4, 3), (3, 5, 7), (4, 4, 4), (3, 3, 2), (1, 6, 3), (2, 1, 3), (1, 1, 2)),
    square_size=(2, 4, 3),
    make=make_texts,
    extremes=((torch.tensor([[[3000.0, 0.0], [5000.0, 8000.0]]]), torch.tensor([[True, False]])),),
    calls=lambda generator: [Call((torch.tensor([[[0.002, 0.008], [0.004, 0.0]]]), torch.tensor([[True, True]])),
                                  "a mean of length 0.005")],
    properties=(
        ("What stands at padding changes the result.",
         invariant(make_texts, (3, 4, 5), lambda hidden, mask: (hidden + 7 * ~mask[..., None], mask))),
        ("A text changes the vector of another text.", rows_are_apart(make_texts, (3, 4, 5))),
        ("The vectors are not of length 1.",
         always(make_texts, (3, 4, 5), lambda out, *args: (out.norm(dim=-1) - 1).abs().max() < 1e-4)),
        ("The tokens in another order give another mean.",
         invariant(make_texts, (3, 4, 5), lambda hidden, mask: (hidden.flip(1), mask.flip(1)))),
    ),
)


# cosine_search


def sorted_by_torch(query, vectors, k):
    return F.cosine_similarity(vectors, query[None], dim=-1).argsort(descending=True)[:k]


def make_search(generator, N, D, k):
    lengths = torch.rand(N, 1, generator=generator) * 3 + 0.2
    return torch.randn(D, generator=generator), torch.randn(N, D, generator=generator) * lengths, k


COSINE_SEARCH = Exercise(
    lesson="15",
    asked="the numbers of the k rows with the largest cosine to the query, the largest first: (k,) int64.",
    verified=minilm.cosine_search,
    oracle=sorted_by_torch,
    examples=(
        (torch.tensor([1.0, 2.0]), torch.tensor([[4.0, 0.0], [-3.0, -6.0], [1.0, 1.5], [0.0, 9.0], [0.2, 0.1]]), 3),
        (torch.tensor([0.0, 2.0, 1.0]), torch.tensor([[5.0, 5.0, 5.0], [0.0, 0.2, 0.0], [1.0, 0.0, 1.0],
                                                      [0.0, -8.0, 1.0]]), 2),
    ),
    sizes=((6, 3, 2), (7, 4, 5), (5, 2, 3), (4, 4, 4), (3, 5, 3), (3, 3, 1), (1, 3, 1)),
    square_size=(6, 4, 2),
    make=make_search,
    grows=(0, 1),  # there are no more rows to find than there are
    extremes=((torch.tensor([3000.0, 4000.0]), torch.tensor([[9000.0, 0.0], [60.0, 90.0], [0.0, 7000.0]]), 2),),
    calls=lambda generator: [
        Call((torch.tensor([1.0, 0.0]), torch.tensor([[5.0, 0.1], [1.0, 0.015], [0.01, 0.0001], [3.0, 0.015],
                                                      [0.0, 1.0]]), 4), "cosines that are nearly the same"),
        Call(make_search(torch.Generator().manual_seed(0), 66, 67, 66), "sixty-six rows")],
    properties=(
        ("A vector's length changes its position in the list.",
         invariant(make_search, (5, 3, 3), lambda query, rows, k: (query, rows * torch.arange(1, 6)[:, None], k))),
        ("With k = N, not every row is named just once.",
         always(make_search, (5, 3, 5), lambda out, *args: sorted(out.flatten().tolist()) == list(range(5)))),
        ("A longer list does not begin like a shorter one.",
         equivariant(make_search, (6, 3, 4), lambda query, vectors, k: (query, vectors, 2), lambda out: out[:2])),
    ),
)

EXERCISES = (MEAN_POOL, COSINE_SEARCH)
