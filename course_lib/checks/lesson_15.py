"""Lesson 15: what real models are made of, judged by torch.nn.functional and, for rotations, by complex numbers."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import llama
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.pretrained import minilm

# mean_pool


def mean_by_loop(hidden, mask):
    means = [vectors[real].mean(0) for vectors, real in zip(hidden, mask, strict=True)]
    return torch.stack([mean / torch.linalg.vector_norm(mean) for mean in means])


def unit(x):
    return F.normalize(x, dim=-1)


def summed(hidden, mask):
    """The sum over real tokens: of the mean, only its length is different."""
    return (hidden * mask[..., None]).sum(1)


def mean(hidden, mask):
    return summed(hidden, mask) / mask.sum(1, keepdim=True)


def pools_over_padding(hidden, mask):
    """Padding was counted in the mean. What would the same text give in a longer batch?"""
    return unit(hidden.mean(1))


def mask_inverted(hidden, mask):
    """The mean is that of the padding. Which value does the mask have at a real token?"""
    return unit(summed(hidden, ~mask))


def first_token(hidden, mask):
    """Only the first place was taken. BERT's own classifier does that; what is asked for here?"""
    return unit(hidden[:, 0])


def last_place(hidden, mask):
    """Only the last place was taken, which may be padding. How many tokens should have a say?"""
    return unit(hidden[:, -1])


def marks_left_out(hidden, mask):
    """The first and the last place were left out. [CLS] and [SEP] are real tokens to this mask: who decides what
    counts?"""
    return unit(summed(hidden[:, 1:-1], mask[:, 1:-1]))


def cut_by_the_count(hidden, mask):
    """The first n places were taken, n being the number of real tokens. What if padding stands on the left?"""
    return unit(summed(hidden, torch.arange(mask.shape[1], device=mask.device) < mask.sum(1, keepdim=True)))


def maximum(hidden, mask):
    """The largest number of each channel was kept: that is max-pooling, as in lesson 10. What is asked for here?"""
    return unit(hidden.masked_fill(~mask[..., None], torch.finfo(hidden.dtype).min).amax(1))


def not_brought_to_length_one(hidden, mask):
    """The mean is right and was returned as it is. Which length should every vector have?"""
    return mean(hidden, mask)


def sum_not_mean(hidden, mask):
    """This is the sum over the real tokens, as long as it happens to be. Which length should every vector have?"""
    return summed(hidden, mask)


def divided_by_all_places(hidden, mask):
    """The sum over the real tokens was divided by T, and its length was left as it is. Which length is asked for?"""
    return summed(hidden, mask) / mask.shape[1]


def tokens_brought_to_length_one(hidden, mask):
    """Every token was brought to length 1 before the mean, so that long and short ones count alike. What should be of
    length 1: a token or a text?"""
    return unit(summed(unit(hidden), mask))


def tokens_of_length_one_only(hidden, mask):
    """The tokens were brought to length 1, and their mean was not. How long is a mean of vectors of length 1?"""
    return mean(unit(hidden), mask)


def length_by_sum_of_values(hidden, mask):
    """The mean was divided by the sum of its absolute values. What does Euclid call a length?"""
    return F.normalize(mean(hidden, mask), p=1, dim=-1)


def divided_by_the_square(hidden, mask):
    """The mean was divided by the sum of its squares. Which step is missing between the squares and the length?"""
    out = mean(hidden, mask)
    return out / (out * out).sum(-1, keepdim=True)


def by_the_largest(hidden, mask):
    """The mean was divided by its largest absolute value. Is its Euclidean length 1 then?"""
    return F.normalize(mean(hidden, mask), p=torch.inf, dim=-1)


def length_over_the_batch(hidden, mask):
    """The lengths were taken down the batch, channel by channel. Along which axis does a text's own vector lie?"""
    return F.normalize(mean(hidden, mask), dim=0)


def one_length_for_all(hidden, mask):
    """All texts were divided by one and the same length. Does a neighbour in the batch then change a text's vector?"""
    out = mean(hidden, mask)
    return out / out.norm()


def softmax_of_the_mean(hidden, mask):
    """The mean went through a softmax. That makes numbers that sum to one; what makes a vector of length 1?"""
    return torch.softmax(mean(hidden, mask), -1)


def over_the_batch(hidden, mask):
    """The mean runs over the batch. Which axis holds the tokens of one text?"""
    return unit((hidden * mask[..., None]).sum(0))


def over_the_channels(hidden, mask):
    """The mean runs over the channels, so that one number a token is left. Which axis should vanish?"""
    return unit((hidden * mask[..., None]).sum(2))


def keeps_an_axis(hidden, mask):
    """The result has an axis of 1 in the middle. Which shape does the contract name?"""
    return unit(mean(hidden, mask))[:, None]


def make_texts(generator, B, T, D):
    mask = torch.rand(B, T, generator=generator) < 0.6
    mask[torch.arange(B), torch.randint(T, (B,), generator=generator)] = True
    return torch.randn(B, T, D, generator=generator), mask


def lengths_are_one(output, generator):
    return torch.allclose(output(*make_texts(generator, 3, 4, 5)).norm(dim=-1), torch.ones(3), atol=1e-4)


def padding_says_nothing(output, generator):
    hidden, mask = make_texts(generator, 3, 4, 5)
    return torch.allclose(output(hidden, mask), output(hidden + 7 * ~mask[..., None], mask), atol=1e-4)


def order_says_nothing(output, generator):
    hidden, mask = make_texts(generator, 3, 4, 5)
    return torch.allclose(output(hidden, mask), output(hidden.flip(1), mask.flip(1)), atol=1e-4)


def texts_are_apart(output, generator):
    hidden, mask = make_texts(generator, 3, 4, 5)
    other = torch.cat([hidden[:1], 2 * hidden[1:] + 1])
    return torch.allclose(output(hidden, mask)[0], output(other, mask)[0], atol=1e-4)


MEAN_POOL = Exercise(
    name="mean_pool",
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
    by_hand=(pools_over_padding, mask_inverted, first_token, last_place, marks_left_out, cut_by_the_count, maximum,
              not_brought_to_length_one, sum_not_mean, divided_by_all_places, tokens_brought_to_length_one,
              tokens_of_length_one_only, length_by_sum_of_values, divided_by_the_square, by_the_largest,
              length_over_the_batch, one_length_for_all, softmax_of_the_mean, over_the_batch, over_the_channels,
              keeps_an_axis),
    properties=(
        ("What stands at padding changes the result.", padding_says_nothing),
        ("A text changes the vector of another text.", texts_are_apart),
        ("The vectors are not of length 1.", lengths_are_one),
        ("The tokens in another order give another mean.", order_says_nothing),
    ),
)


# cosine_search


def cosines(query, vectors):
    return F.cosine_similarity(vectors, query[None], dim=-1)


def sorted_by_torch(query, vectors, k):
    return cosines(query, vectors).argsort(descending=True)[:k]


def dot_product(query, vectors, k):
    """The largest dot products were found: a long vector wins although it points elsewhere. What has to be divided
    out?"""
    return (vectors @ query).topk(k).indices


def nearest_by_distance(query, vectors, k):
    """The vectors nearest to the query were found. Two vectors of one direction and different lengths are far apart:
    does a cosine mind?"""
    return (vectors - query).norm(dim=-1).topk(k, largest=False).indices


def least_alike(query, vectors, k):
    """The least alike were found. Is a large cosine much or little likeness?"""
    return cosines(query, vectors).topk(k, largest=False).indices


def worst_first(query, vectors, k):
    """These are the right rows, in the wrong order. Which of them should be named first?"""
    return cosines(query, vectors).topk(k).indices.flip(0)


def by_row_number(query, vectors, k):
    """These are the right rows, sorted by their number. What should decide their order?"""
    return cosines(query, vectors).topk(k).indices.sort().values


def absolute_value(query, vectors, k):
    """The sign of the cosine was dropped: the very opposite of the query counts as alike. What does a cosine of -1
    say?"""
    return cosines(query, vectors).abs().topk(k).indices


def returns_vectors(query, vectors, k):
    """These are the vectors themselves. The numbers of their rows are asked for: what would you look a text up
    with?"""
    return vectors[cosines(query, vectors).topk(k).indices]


def only_the_best(query, vectors, k):
    """One row number came back. How many does k ask for?"""
    return cosines(query, vectors).topk(1).indices


def all_of_them(query, vectors, k):
    """All rows came back, in the right order. How many does k ask for?"""
    return cosines(query, vectors).argsort(descending=True)


def skips_the_best(query, vectors, k):
    """The first of them was left out. That would be right for a query that is one of the vectors; is this one?"""
    return cosines(query, vectors).argsort(descending=True)[1 : k + 1]


def ranks(query, vectors, k):
    """These are places in a ranking. Which row is most alike, and not: which place has row 0?"""
    return cosines(query, vectors).argsort(descending=True).argsort()[:k]


def channels_brought_to_length_one(query, vectors, k):
    """Every channel was brought to length 1 over all vectors. Along which axis does one vector lie?"""
    return (F.normalize(vectors, dim=0) @ query).topk(k).indices


def divided_by_the_square_of_the_length(query, vectors, k):
    """The dot products were divided by the squared lengths of the vectors: short ones win. What is missing before
    the division?"""
    return (vectors @ query / vectors.square().sum(-1)).topk(k).indices


def length_by_absolute_values(query, vectors, k):
    """The vectors were divided by the sum of their absolute values. Which length is in a cosine?"""
    return (F.normalize(vectors, p=1, dim=-1) @ query).topk(k).indices


def mean_taken_off(query, vectors, k):
    """The mean of each vector was taken off first: that is a correlation. What does a cosine compare?"""
    return cosines(query - query.mean(), vectors - vectors.mean(-1, keepdim=True)).topk(k).indices


def make_search(generator, N, D, k):
    lengths = torch.rand(N, 1, generator=generator) * 3 + 0.2
    return torch.randn(D, generator=generator), torch.randn(N, D, generator=generator) * lengths, k


def length_says_nothing(output, generator):
    query, vectors, k = make_search(generator, 5, 3, 3)
    lengths = torch.rand(5, 1, generator=generator) + 0.1
    return torch.equal(output(query, vectors, k), output(query, vectors * lengths, k))


def every_row_once(output, generator):
    found = output(*make_search(generator, 5, 3, 5))
    return sorted(found.flatten().tolist()) == list(range(5))


def a_longer_list_begins_like_a_short_one(output, generator):
    query, vectors, _ = make_search(generator, 6, 3, 3)
    return torch.equal(output(query, vectors, 2), output(query, vectors, 4)[:2])


COSINE_SEARCH = Exercise(
    name="cosine_search",
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
    extremes=((torch.tensor([3000.0, 4000.0]), torch.tensor([[9000.0, 0.0], [60.0, 90.0], [0.0, 7000.0]]), 2),),
    calls=lambda generator: [Call((torch.tensor([1.0, 0.0]), torch.tensor(
        [[5.0, 0.1], [1.0, 0.015], [0.01, 0.0001], [3.0, 0.015], [0.0, 1.0]]), 4), "cosines that are nearly the same")],
    by_hand=(dot_product, nearest_by_distance, least_alike, worst_first, by_row_number, absolute_value,
              returns_vectors, only_the_best, all_of_them, skips_the_best, ranks,
              channels_brought_to_length_one, divided_by_the_square_of_the_length, length_by_absolute_values,
              mean_taken_off),
    properties=(
        ("A vector's length changes its place in the list.", length_says_nothing),
        ("With k = N, not every row is named just once.", every_row_once),
        ("A longer list does not begin like a shorter one.", a_longer_list_begins_like_a_short_one),
    ),
)


# rms_norm


def torch_rms_norm(x, gain, eps=1e-5):
    return F.rms_norm(x, x.shape[-1:], gain, eps)


def mean_square(x):
    return x.square().mean(-1, keepdim=True)


def layer_norm(x, gain, eps=1e-5):
    """The mean was taken off: this is layer norm. What is left out in an RMSNorm?"""
    return F.layer_norm(x, x.shape[-1:], gain, None, eps)


def by_the_deviation(x, gain, eps=1e-5):
    """x was divided by its standard deviation, and that measures from the mean. From where does a root mean square
    measure?"""
    return x / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() * gain


def sum_of_squares(x, gain, eps=1e-5):
    """The squares were summed, so that vectors come out with length 1. What does the M in RMS stand for?"""
    return x / (x.square().sum(-1, keepdim=True) + eps).sqrt() * gain


def no_root(x, gain, eps=1e-5):
    """x was divided by its mean square. What does the R in RMS stand for?"""
    return x / (mean_square(x) + eps) * gain


def multiplied(x, gain, eps=1e-5):
    """x was multiplied by its root mean square: large vectors get larger still. Which operation makes sizes alike?"""
    return x * (mean_square(x) + eps).sqrt() * gain


def eps_outside_the_root(x, gain, eps=1e-5):
    """eps was added after the root. To what does the contract add it?"""
    return x / (mean_square(x).sqrt() + eps) * gain


def eps_as_a_floor(x, gain, eps=1e-5):
    """eps was used as a lower bound of the mean square. The contract adds it, always."""
    return x / mean_square(x).clamp_min(eps).sqrt() * gain


def eps_for_zeros_only(x, gain, eps=1e-5):
    """eps was not added: x was brought to one and the same size, however small it was. To what does the contract add
    eps?"""
    return x / mean_square(x).clamp_min(1e-24).sqrt() * gain


def no_eps(x, gain, eps=1e-5):
    """eps was never used. What is 0 / 0, for a vector of zeros?"""
    return x / mean_square(x).sqrt() * gain


def fixed_eps(x, gain, eps=1e-5):
    """eps is always 1e-5 here. MiniLM has 1e-12: where should the number come from?"""
    return torch_rms_norm(x, gain, 1e-5)


def no_gain(x, gain, eps=1e-5):
    """The gain was never used. How could the network turn a channel up?"""
    return torch_rms_norm(x, torch.ones_like(gain), eps)


def gain_added(x, gain, eps=1e-5):
    """The gain was added. What is a gain to an amplifier?"""
    return torch_rms_norm(x, torch.ones_like(gain), eps) + gain


def one_plus_gain(x, gain, eps=1e-5):
    """The result was multiplied by 1 + gain, as some models do whose gains begin at 0. What does this contract
    say?"""
    return torch_rms_norm(x, 1 + gain, eps)


def gain_before_the_norm(x, gain, eps=1e-5):
    """x was multiplied by the gain before its size was measured. Can a gain of 2 in all channels do anything then?"""
    return torch_rms_norm(x * gain, torch.ones_like(gain), eps)


def gain_squared(x, gain, eps=1e-5):
    """The gain was applied twice. Once is enough."""
    return torch_rms_norm(x, gain * gain, eps)


def over_axis_0(x, gain, eps=1e-5):
    """The mean runs over axis 0, so that the rows of a batch change each other. Which number means the last axis?"""
    return x / (x.square().mean(0, keepdim=True) + eps).sqrt() * gain


def over_axis_1(x, gain, eps=1e-5):
    """The mean runs over axis 1, which is the last one only in a matrix. Which number always means the last axis?"""
    return x / (x.square().mean(1, keepdim=True) + eps).sqrt() * gain


def one_size_for_all(x, gain, eps=1e-5):
    """One root mean square was taken over everything. How many positions may there be, and does each get its own?"""
    return x / (x.square().mean() + eps).sqrt() * gain


def mean_absolute_value(x, gain, eps=1e-5):
    """x was divided by the mean of its absolute values. What is taken of each number in a mean *square*?"""
    return x / (x.abs().mean(-1, keepdim=True) + eps) * gain


def one_fewer(x, gain, eps=1e-5):
    """The sum of squares was divided by D - 1. That is for deviations from a mean that was estimated; is there one
    here?"""
    return x / (x.square().sum(-1, keepdim=True) / (x.shape[-1] - 1) + eps).sqrt() * gain


def square_of_the_mean(x, gain, eps=1e-5):
    """The mean was squared. Which comes first, the square or the mean?"""
    return x / (x.mean(-1, keepdim=True).square() + eps).sqrt() * gain


def axis_not_kept(x, gain, eps=1e-5):
    """The mean lost its axis, so each row is divided by the sizes of other rows, where that is possible at all. What
    does keepdim do?"""
    return x / (x.square().mean(-1) + eps).sqrt() * gain


def make_norm(generator, *size):
    return torch.randn(*size, generator=generator) + 0.5, torch.randn(size[-1], generator=generator) + 0.3


def norm_example(x, gain, *eps):
    return torch.tensor(x), torch.tensor(gain), *eps


def size_says_nothing(output, generator):
    x, gain = make_norm(generator, 4, 6)
    return torch.allclose(output(10 * x, gain), output(20 * x, gain), atol=1e-3)


def mean_square_is_one(output, generator):
    x, _ = make_norm(generator, 4, 6)
    return torch.allclose(output(x, torch.ones(6)).square().mean(-1), torch.ones(4), atol=1e-3)


def places_are_apart(output, generator):
    x, gain = make_norm(generator, 4, 6)
    return torch.allclose(output(x, gain)[0], output(torch.cat([x[:1], 3 * x[1:]]), gain)[0], atol=1e-4)


RMS_NORM = Exercise(
    name="rms_norm",
    lesson="15",
    asked="every vector along the last axis divided by √(mean of its squares + eps), then times the gain.",
    verified=llama.rms_norm,
    oracle=torch_rms_norm,
    examples=(
        norm_example([[1.0, 7.0], [0.0, 4.0], [3.0, -3.0]], [1.0, 2.0]),
        norm_example([[1.0, 7.0, 0.0, 0.0]], [1.0, 2.0, 1.0, 3.0]),
        norm_example([[[2.0, 1.0], [0.0, 4.0]], [[1.0, 1.0], [5.0, 1.0]], [[1.0, 0.0], [3.0, 1.0]]], [1.0, 2.0]),
        norm_example([3.0, 4.0, 0.0], [1.0, 2.0, 1.0]),
        norm_example([[0.0, 0.0], [1.0, 7.0]], [1.0, 2.0]),
        norm_example([[0.001, 0.002]], [1.0, 2.0]),
        norm_example([[1.0, 7.0]], [1.0, 2.0], 2.0),
    ),
    sizes=((3, 5), (2, 3, 4), (2, 5, 3, 6), (7,), (4, 4), (3, 3, 3), (1, 4), (3, 1), (1, 1)),
    square_size=(2, 3, 4),
    make=make_norm,
    extremes=(norm_example([[30000.0, 40000.0]], [1.0, 2.0]),),
    by_hand=(layer_norm, by_the_deviation, sum_of_squares, no_root, multiplied, eps_outside_the_root, eps_as_a_floor,
              eps_for_zeros_only, no_eps, fixed_eps, no_gain, gain_added, one_plus_gain, gain_before_the_norm,
              gain_squared, over_axis_0, over_axis_1, one_size_for_all, mean_absolute_value, one_fewer,
              square_of_the_mean, axis_not_kept),
    properties=(
        ("A vector twice as long gives another result.", size_says_nothing),
        ("With a gain of 1 the mean square of the result is not 1.", mean_square_is_one),
        ("A position changes the result of another one.", places_are_apart),
    ),
)


# apply_rope


def complex_turn(x, base=10000.0):
    """Each pair is a complex number, and turning is multiplying by e^(i angle)."""
    return turned(x, torch.arange(x.shape[-2]), frequencies(x.shape[-1], base))


def frequencies(d, base):
    return torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)


def turned(x, place, frequency):
    """Pairs of neighbours turned by place times frequency; place (T,) and frequency (d/2,) are on the CPU."""
    angle = place.double()[:, None] * frequency
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)


def waves(x, base):
    """cos and sin, each (T, d/2), in the dtype of x."""
    angle = torch.arange(x.shape[-2])[:, None] * frequencies(x.shape[-1], base)
    return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


def woven(even, odd):
    return torch.stack([even, odd], -1).flatten(-2)


def halves_as_pairs(x, base=10000.0):
    """Number i was paired with number i + d/2. Many programs do that, with weights stored to match; which pairs does
    this contract name?"""
    a, b = x.chunk(2, -1)
    cos, sin = waves(x, base)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def clockwise(x, base=10000.0):
    """The pairs were turned the other way round. Where does (1, 0) go in a counter-clockwise turn by 1 radian: up or
    down?"""
    return turned(x, -torch.arange(x.shape[-2]), frequencies(x.shape[-1], base))


def places_from_1(x, base=10000.0):
    """Places are counted from 1. By how much should the first row be turned? (Scores would be the same, but the row
    is not.)"""
    return turned(x, torch.arange(x.shape[-2]) + 1, frequencies(x.shape[-1], base))


def half_the_exponent(x, base=10000.0):
    """Pair i turns by base^(-i/d). In the contract the exponent has a 2: which numbers does `arange(0, d, 2)` count?"""
    return turned(x, torch.arange(x.shape[-2]), frequencies(x.shape[-1], base) ** 0.5)


def twice_the_exponent(x, base=10000.0):
    """Pair i turns by base^(-4i/d). Was d/2 put in the place of d?"""
    return turned(x, torch.arange(x.shape[-2]), frequencies(x.shape[-1], base) ** 2)


def last_pair_by_the_base(x, base=10000.0):
    """The exponents run from 0 to 1, so the last pair turns by 1/base. Does `linspace` include its end, and what is
    2i/d for the last pair?"""
    frequency = base ** -torch.linspace(0, 1, x.shape[-1] // 2, dtype=torch.float64)
    return turned(x, torch.arange(x.shape[-2]), frequency)


def faster_and_faster(x, base=10000.0):
    """The angles grow from pair to pair. Is the exponent of the base positive or negative?"""
    return turned(x, torch.arange(x.shape[-2]), 1 / frequencies(x.shape[-1], base))


def slowest_first(x, base=10000.0):
    """The frequencies are in reverse order. Which pair turns fastest: the first or the last?"""
    return turned(x, torch.arange(x.shape[-2]), frequencies(x.shape[-1], base).flip(0))


def one_frequency(x, base=10000.0):
    """All pairs turn by the same angle. What does the i in base^(2i/d) do?"""
    return turned(x, torch.arange(x.shape[-2]), torch.ones(x.shape[-1] // 2))


def base_ignored(x, base=10000.0):
    """The base is always 10,000 here. SmolLM2 has 100,000: where should the number come from?"""
    return complex_turn(x)


def degrees(x, base=10000.0):
    """The angle was taken for degrees. What do torch.sin and torch.cos expect?"""
    return turned(x, torch.arange(x.shape[-2]) * torch.pi / 180, frequencies(x.shape[-1], base))


def place_as_a_share(x, base=10000.0):
    """The places were divided by T. Does a token then turn less in a longer text?"""
    T = x.shape[-2]
    return turned(x, torch.arange(T) / T, frequencies(x.shape[-1], base))


def places_along_the_first_axis(x, base=10000.0):
    """Rows were turned by their number on the first axis, which is T in a matrix only. Which axis holds the places of
    (B, H, T, d)?"""
    return complex_turn(x.transpose(0, -2), base).transpose(0, -2)


def places_along_axis_1(x, base=10000.0):
    """Rows were turned by their number on axis 1: that is the head in (B, H, T, d). Counted from the end, which axis
    holds the places?"""
    return complex_turn(x.transpose(1, -2), base).transpose(1, -2)


def waves_added(x, base=10000.0):
    """Sines and cosines were added to x, as in 2017. What is done to a pair here?"""
    cos, sin = waves(x, base)
    return x + woven(sin, cos)


def waves_multiplied(x, base=10000.0):
    """One number of a pair was multiplied by the cosine, the other one by the sine. How many products does a turn
    take?"""
    cos, sin = waves(x, base)
    return woven(x[..., 0::2] * cos, x[..., 1::2] * sin)


def cosine_only(x, base=10000.0):
    """Both numbers of a pair were multiplied by the cosine, so a pair gets shorter. What does a turn leave as it
    is?"""
    cos, _ = waves(x, base)
    return woven(x[..., 0::2] * cos, x[..., 1::2] * cos)


def cosine_and_sine_exchanged(x, base=10000.0):
    """Sine and cosine were exchanged. What are they at place 0, where nothing should move?"""
    cos, sin = waves(x, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return woven(even * sin - odd * cos, even * cos + odd * sin)


def mirrored(x, base=10000.0):
    """Both signs are plus: that is no turn. Is every pair as long as it was before?"""
    cos, sin = waves(x, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return woven(even * cos + odd * sin, even * sin + odd * cos)


def half_a_pair(x, base=10000.0):
    """Only the first number of each pair was changed. Where does the second one go?"""
    cos, sin = waves(x, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return woven(even * cos - odd * sin, odd)


def reads_what_it_wrote(x, base=10000.0):
    """The second number of a pair was made from the new first one. Which first number does the contract take?"""
    cos, sin = waves(x, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    even = even * cos - odd * sin
    return woven(even, even * sin + odd * cos)


def not_woven_together(x, base=10000.0):
    """All first numbers come first here, then all second ones. In which order did they come in?"""
    cos, sin = waves(x, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], -1)


def make_rope(generator, *size):
    return (torch.randn(*size, generator=generator),)


def rope_calls(generator):
    """Other bases; judged in float32 only, since angles in float32 are as right as needed."""
    return [Call((torch.randn(2, 3, 5, 6, generator=generator), 100000.0)),
            Call((torch.randn(4, 8, generator=generator), 50.0))]


def lengths_stay(output, generator):
    (x,) = make_rope(generator, 2, 5, 6)
    pairs = lambda t: t.unflatten(-1, (-1, 2)).norm(dim=-1).sort(-1).values  # noqa: E731
    return torch.allclose(pairs(output(x)), pairs(x), atol=1e-4)


def place_0_stays(output, generator):
    (x,) = make_rope(generator, 2, 5, 6)
    return torch.allclose(output(x)[:, 0], x[:, 0], atol=1e-4)


def scores_depend_on_the_distance(output, generator):
    q, k = torch.randn(2, 6, generator=generator)
    scores = output(q.expand(5, 6)) @ output(k.expand(5, 6)).T
    return all(torch.allclose(s, s[:1].expand_as(s), atol=1e-3) for s in (scores.diagonal(i) for i in range(-3, 4)))


APPLY_ROPE = Exercise(
    name="apply_rope",
    lesson="15",
    asked="each pair (x[t, 2i], x[t, 2i+1]) turned counter-clockwise by t / base**(2i/d) radians.",
    verified=llama.apply_rope,
    oracle=complex_turn,
    examples=(
        (torch.tensor([[1.0, 2.0, 3.0, 0.0], [1.0, 0.0, 0.0, 2.0]]), 100.0),
        (torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 2.0, 1.0]]),),
        (torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]]),),
    ),
    sizes=((2, 3, 5, 4), (5, 6), (2, 4, 8), (4, 4), (4, 4, 4, 4), (66, 2), (3, 2), (1, 2)),
    square_size=(2, 3, 1, 4),
    make=make_rope,
    calls=rope_calls,
    extremes=((torch.tensor([[1000.0, 2000.0], [3000.0, 1000.0]]),),),
    by_hand=(halves_as_pairs, clockwise, places_from_1, half_the_exponent, twice_the_exponent, last_pair_by_the_base,
              faster_and_faster, slowest_first, one_frequency, base_ignored, degrees, place_as_a_share,
              places_along_the_first_axis, places_along_axis_1, waves_added, waves_multiplied, cosine_only,
              cosine_and_sine_exchanged, mirrored, half_a_pair, reads_what_it_wrote, not_woven_together),
    properties=(
        ("At place 0 the vector is changed.", place_0_stays),
        ("The pairs change their lengths: that is no turn.", lengths_stay),
        ("The score of two tokens depends on more than their distance.", scores_depend_on_the_distance),
    ),
)


# SwiGLU


def torch_swiglu(w, build, x):
    gate, up = F.linear(x, w["gate.weight"]), F.linear(x, w["up.weight"])
    return F.linear(F.silu(gate) * up, w["down.weight"])


class Gated(nn.Module):
    """The given constructor, and a forward that a mistake overrides in one place."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down(self.hidden(self.gate(x), self.up(x)))


class views_exchanged(Gated):
    """The switch went over `up`, and `gate` was let through as it is. Which of the two is the gate?"""

    def hidden(self, gate, up):
        return gate * F.silu(up)


class sigmoid_alone(Gated):
    """The gate is a sigmoid: that is the GLU of 2016. By what does a SiLU multiply the sigmoid?"""

    def hidden(self, gate, up):
        return torch.sigmoid(gate) * up


class relu_gate(Gated):
    """The gate is a ReLU. What does silu(z) give for a slightly negative z?"""

    def hidden(self, gate, up):
        return gate.relu() * up


class gelu_gate(Gated):
    """The gate is a GELU: that is GEGLU, from the same paper. Which function does the contract name?"""

    def hidden(self, gate, up):
        return F.gelu(gate) * up


class tanh_gate(Gated):
    """The gate is a tanh. Which function does the contract name?"""

    def hidden(self, gate, up):
        return torch.tanh(gate) * up


class no_switch(Gated):
    """The two views were multiplied as they are. What should happen to the gate first?"""

    def hidden(self, gate, up):
        return gate * up


class infinity_by_infinity(Gated):
    """The sigmoid was written with exp(z) above and below the line, and for a large z both are infinite. How can a
    sigmoid be written with exp(-z)?"""

    def hidden(self, gate, up):
        return gate * gate.exp() / (1 + gate.exp()) * up


class with_biases(Gated):
    """The linear layers have biases. With which argument does the contract make them?"""

    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.gate = nn.Linear(d_model, d_ff)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def hidden(self, gate, up):
        return F.silu(gate) * up


class switch_on_both(Gated):
    """Both views went through the switch. How many gates does a gate need?"""

    def hidden(self, gate, up):
        return F.silu(gate) * F.silu(up)


class switch_on_the_product(Gated):
    """The switch came after the product. What has to be switched before it can be a gate?"""

    def hidden(self, gate, up):
        return F.silu(gate * up)


class added(Gated):
    """The two views were added. Can a gate of 0 then hold anything back?"""

    def hidden(self, gate, up):
        return F.silu(gate) + up


class gate_alone(Gated):
    """Only the gate was used. Where is the view that it should let through?"""

    def hidden(self, gate, up):
        return F.silu(gate)


class up_alone(Gated):
    """Only `up` was used, with the switch on it. Where is its gate?"""

    def hidden(self, gate, up):
        return F.silu(up)


class no_gate(Gated):
    """`up` went straight through to `down`. Who decides how much of it may pass?"""

    def hidden(self, gate, up):
        return up


class gate_for_both(Gated):
    """The gate gates itself: `up` is never used. What are the two factors?"""

    def hidden(self, gate, up):
        return F.silu(gate) * gate


class up_for_both(Gated):
    """`up` gates itself: `gate` is never used. What are the two factors?"""

    def hidden(self, gate, up):
        return F.silu(up) * up


class half_a_sigmoid(Gated):
    """The sigmoid is of the wrong view: this is gate · sigmoid(up) · up. Of which number does silu(z) take the
    sigmoid?"""

    def hidden(self, gate, up):
        return gate * torch.sigmoid(up) * torch.sigmoid(gate)


class softmax_gate(Gated):
    """The gates went through a softmax and compete for one whole. How many of them may be open at once?"""

    def hidden(self, gate, up):
        return torch.softmax(gate, -1) * up


class squared_relu(Gated):
    """The gate is the square of a ReLU. Which function does the contract name?"""

    def hidden(self, gate, up):
        return gate.relu().square() * up


class adds_x(Gated):
    """x was added at the end. Who carries x around a sublayer?"""

    def forward(self, x):
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


class way_back_forgotten(Gated):
    """The hidden numbers were returned, (..., d_ff). Which layer leads back to d_model?"""

    def forward(self, x):
        return F.silu(self.gate(x)) * self.up(x)


class switch_at_the_end(Gated):
    """The switch came last, after `down`. What would the layer be without a switch before it?"""

    def forward(self, x):
        return F.silu(self.down(self.gate(x) * self.up(x)))


class switch_at_the_start(Gated):
    """x itself went through the switch, before the two views. Which number is the gate?"""

    def forward(self, x):
        return self.down(self.gate(F.silu(x)) * self.up(x))


class not_transposed(Gated):
    """The weights were used untransposed, as x @ weight. In which order does nn.Linear keep (in, out)?"""

    def forward(self, x):
        return (F.silu(x @ self.gate.weight) * (x @ self.up.weight)) @ self.down.weight


def make_swiglu(generator, d_model, d_ff, *positions):
    return (2 * torch.randn(*positions, d_model, generator=generator),)


def positions_do_not_meet(output, generator):
    x = torch.randn(2, 4, 3, generator=generator)
    other = torch.cat([x[:, :1], 2 * x[:, 1:]], dim=1)
    return torch.allclose(output(x)[:, 0], output(other)[:, 0], atol=1e-4)


def zero_stays_zero(output, generator):
    return torch.allclose(output(torch.zeros(2, 3)), torch.zeros(2, 3), atol=1e-4)


def is_not_linear(output, generator):
    x = torch.randn(4, 3, generator=generator)
    return not torch.allclose(output(2 * x), 2 * output(x), atol=1e-3)


GATES = {"gate.weight": torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 0.5]]),
         "up.weight": torch.tensor([[0.0, 1.0], [2.0, 0.0], [1.0, -1.0]]),
         "down.weight": torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]])}
SWIGLU = Exercise(
    name="SwiGLU",
    lesson="15",
    asked="down(silu(gate(x)) * up(x)), with silu(z) = z · sigmoid(z); what comes out is as wide as x.",
    verified=llama.SwiGLU,
    oracle=torch_swiglu,
    examples=(
        Call((torch.tensor([[2.0, 3.0], [-1.0, 1.0]]),), build=(2, 3), weights=GATES),
        Call((torch.tensor([2.0, 3.0]),), build=(2, 3), weights=GATES),
    ),
    sizes=((3, 5, 2, 4), (5, 3, 4), (4, 6, 2, 3, 5), (3, 7), (4, 4, 3), (4, 4, 4, 4), (2, 1, 3, 1), (1, 1, 1)),
    square_size=(4, 6, 2, 3),
    build=lambda d_model, d_ff, *positions: (d_model, d_ff),
    make=make_swiglu,
    calls=lambda generator: [Call((torch.tensor([[200.0, 300.0], [-300.0, 200.0]]),), "large values", build=(2, 3),
                                  weights=GATES)],
    by_hand=(views_exchanged, sigmoid_alone, relu_gate, gelu_gate, tanh_gate, no_switch, infinity_by_infinity,
              with_biases, switch_on_both,
              switch_on_the_product, added, gate_alone, up_alone, no_gate, gate_for_both, up_for_both, half_a_sigmoid,
              softmax_gate, squared_relu, adds_x, way_back_forgotten, switch_at_the_end, switch_at_the_start,
              not_transposed),
    properties=(
        ("A position changes the result of another one.", positions_do_not_meet),
        ("Zeros do not give zeros.", zero_stays_zero),
        ("Twice x gives twice the result: no gate is at work.", is_not_linear),
    ),
)


# grouped_query_attention


def torch_grouped(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def in_blocks(query, key):
    return key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)


def taken_in_turn(query, key):
    return key.repeat(1, query.shape[1] // key.shape[1], 1, 1)


def triangle(query):
    return torch.ones(query.shape[-2], query.shape[-2], dtype=torch.bool).tril()


def scores_of(query, key, root=None):
    return query @ key.transpose(-2, -1) / (root or query.shape[-1] ** 0.5)


def attend(query, key, value, root=None):
    """Causal attention in every head, for keys and values that are as many as the queries."""
    scores = scores_of(query, key, root).masked_fill(~triangle(query), -torch.inf)
    return torch.softmax(scores, -1) @ value


def shared_in_turn(query, key, value):
    """Key heads were dealt out in turn, as cards are. Query heads 0 and 1 are neighbours: do they share?"""
    return attend(query, taken_in_turn(query, key), taken_in_turn(query, value))


def values_in_turn(query, key, value):
    """The keys are shared in blocks, and the values in turn. Whose value belongs to a key?"""
    return attend(query, in_blocks(query, key), taken_in_turn(query, value))


def keys_in_turn(query, key, value):
    """The values are shared in blocks, and the keys in turn. Whose key belongs to a value?"""
    return attend(query, taken_in_turn(query, key), in_blocks(query, value))


def first_head_for_all(query, key, value):
    """All query heads read key and value head 0: that is multi-query attention. What are the other G - 1 heads for?"""
    return attend(query, key[:, :1], value[:, :1])


def mean_of_the_heads(query, key, value):
    """Key heads were averaged, and value heads, too. Which of them should query head 0 read?"""
    return attend(query, key.mean(1, keepdim=True), value.mean(1, keepdim=True))


def blocks_in_reverse(query, key, value):
    """The last key head went to the first queries. Which one do query heads 0 to H/G - 1 share?"""
    return attend(query, in_blocks(query, key.flip(1)), in_blocks(query, value.flip(1)))


def nothing_shared(query, key, value):
    """The heads were multiplied as they are, which needs as many key heads as query heads, or one. How often is each
    key head needed?"""
    return attend(query, key, value)


def query_heads_averaged(query, key, value):
    """The query heads of a group were averaged, and G heads came out. How many heads does the contract return?"""
    return attend(query.unflatten(1, (key.shape[1], -1)).mean(2), key, value)


def no_mask(query, key, value):
    """Every token sees every token. What does a model that predicts the next one have to be kept from?"""
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def sees_the_future_only(query, key, value):
    """The mask is inverted: each token sees itself and what comes after it. On which side of the diagonal is the
    past?"""
    scores = scores_of(query, in_blocks(query, key)).masked_fill(~triangle(query).T, -torch.inf)
    return torch.softmax(scores, -1) @ in_blocks(query, value)


def sees_only_what_comes_after(query, key, value):
    """The mask is inverted, and torch's attention was told so: each token sees only what comes after it. What does True
    mean in its `attn_mask`?"""
    return F.scaled_dot_product_attention(query, in_blocks(query, key), in_blocks(query, value),
                                          attn_mask=~triangle(query))


def past_and_present_hidden(query, key, value):
    """The mask is inverted: each token sees only what comes after it, and the last one nothing at all. Which places of
    the scores are to be filled: those of the triangle or the others?"""
    scores = scores_of(query, in_blocks(query, key)).masked_fill(triangle(query), -torch.inf)
    return torch.softmax(scores, -1) @ in_blocks(query, value)


def does_not_see_itself(query, key, value):
    """A token does not see itself, and the first one sees nobody. Does the diagonal belong to the past?"""
    scores = scores_of(query, in_blocks(query, key)).masked_fill(~triangle(query).tril(-1), -torch.inf)
    return torch.softmax(scores, -1) @ in_blocks(query, value)


def sees_one_too_many(query, key, value):
    """Each token also sees the one right after it. Where does the triangle end?"""
    T = query.shape[-2]
    scores = scores_of(query, in_blocks(query, key)).masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(1),
                                                                 -torch.inf)
    return torch.softmax(scores, -1) @ in_blocks(query, value)


def masked_after_the_softmax(query, key, value):
    """The mask came after the softmax, so the weights no longer sum to one. Where does it have to stand?"""
    weights = torch.softmax(scores_of(query, in_blocks(query, key)), -1) * triangle(query)
    return weights @ in_blocks(query, value)


def nothing_left_to_share_out(query, key, value):
    """The mask came after the softmax, and the weights were divided by their sum. Where a later token has by far the
    largest score it got everything, and 0 / 0 is left. Where does the mask have to stand?"""
    weights = torch.softmax(scores_of(query, in_blocks(query, key)), -1) * triangle(query)
    return weights / weights.sum(-1, keepdim=True) @ in_blocks(query, value)


def mask_is_merely_low(query, key, value):
    """Masked scores were made low, and the scores of the past can be lower still. Which number is below all others?"""
    scores = scores_of(query, in_blocks(query, key)).masked_fill(~triangle(query), -1e4)
    return torch.softmax(scores, -1) @ in_blocks(query, value)


def zero_as_mask(query, key, value):
    """Masked scores became 0, and a score of 0 still gets a weight. Which number has an exponential of 0?"""
    scores = scores_of(query, in_blocks(query, key)) * triangle(query)
    return torch.softmax(scores, -1) @ in_blocks(query, value)


def no_scale(query, key, value):
    """The scores were not divided by √d. How large does a dot product of d numbers get?"""
    return attend(query, in_blocks(query, key), in_blocks(query, value), 1.0)


def scale_by_d(query, key, value):
    """The scores were divided by d, at once or by √d twice. Which function of d is the spread of a dot product?"""
    return attend(query, in_blocks(query, key), in_blocks(query, value), float(query.shape[-1]))


def scale_by_d_model(query, key, value):
    """The scores were divided by the root of the width of all heads together. How wide is the dot product of one
    head?"""
    return attend(query, in_blocks(query, key), in_blocks(query, value), (query.shape[1] * query.shape[-1]) ** 0.5)


def softmax_over_queries(query, key, value):
    """The softmax runs down the queries. Whose weights have to sum to one?"""
    scores = scores_of(query, in_blocks(query, key)).masked_fill(~triangle(query), -torch.inf)
    return torch.softmax(scores, -2) @ in_blocks(query, value)


def softmax_over_heads(query, key, value):
    """The softmax runs over the heads, so that heads compete. Which axis holds the keys?"""
    scores = scores_of(query, in_blocks(query, key)).masked_fill(~triangle(query), torch.finfo(query.dtype).min)
    return torch.softmax(scores, 1) @ in_blocks(query, value)


def no_softmax(query, key, value):
    """The scores were used as weights. What makes them positive, with a sum of one?"""
    return (scores_of(query, in_blocks(query, key)) * triangle(query)) @ in_blocks(query, value)


def heads_merged(query, key, value):
    """The heads came back side by side, (B, T, H * d). Who merges them in a block: this function or its caller?"""
    return torch_grouped(query, key, value).transpose(1, 2).flatten(2)


def make_groups(generator, B, H, G, T, d):
    return (torch.randn(B, H, T, d, generator=generator), torch.randn(B, G, T, d, generator=generator),
            torch.randn(B, G, T, d, generator=generator))


def future_is_hidden(output, generator):
    query, key, value = make_groups(generator, 2, 4, 2, 5, 3)
    late = torch.arange(5)[:, None] >= 3
    return torch.allclose(output(query, key, value)[:, :, :3], output(query, key + late, value + 9 * late)[:, :, :3],
                          atol=1e-4)


def weights_sum_to_one(output, generator):
    query, key, value = make_groups(generator, 2, 4, 2, 5, 3)
    return torch.allclose(output(query, key, torch.ones_like(value)), torch.ones(2, 4, 5, 3), atol=1e-4)


def groups_are_apart(output, generator):
    query, key, value = make_groups(generator, 2, 4, 2, 5, 3)
    other = torch.cat([value[:, :1], value[:, 1:] + 9], dim=1)
    return torch.allclose(output(query, key, value)[:, :2], output(query, key, other)[:, :2], atol=1e-4)


# Four query heads, two heads of keys and values; values tell at a glance whose they are.
SMALL_GROUPS = (torch.tensor([[[[1.0], [2.0]], [[0.0], [1.0]], [[2.0], [-1.0]], [[1.0], [3.0]]]]),
                torch.tensor([[[[1.0], [0.0]], [[-1.0], [1.0]]]]),
                torch.tensor([[[[1.0], [2.0]], [[10.0], [20.0]]]]))
GROUPED = Exercise(
    name="grouped_query_attention",
    lesson="15",
    asked="causal softmax(query keyᵀ / √d) value in every one of the H heads; query heads 0 to H/G - 1 read key and "
    "value head 0, the next H/G head 1, and so on.",
    verified=llama.grouped_query_attention,
    oracle=torch_grouped,
    examples=(
        SMALL_GROUPS,
        (torch.tensor([[[[1.0, 0.0], [1.0, 2.0]], [[0.0, 1.0], [2.0, 1.0]]]]),
         torch.tensor([[[[1.0, 2.0], [0.0, 1.0]]]]), torch.tensor([[[[1.0, 0.0], [0.0, 5.0]]]])),
    ),
    sizes=((2, 6, 3, 5, 4), (3, 6, 2, 4, 5), (1, 4, 1, 3, 2), (2, 3, 3, 5, 4), (4, 4, 2, 4, 4), (1, 1, 1, 66, 1),
           (2, 2, 1, 1, 3), (1, 1, 1, 1, 1)),
    square_size=(2, 6, 3, 5, 4),
    make=make_groups,
    extremes=((torch.tensor([[[[40.0], [60.0]], [[50.0], [30.0]]]]), torch.tensor([[[[30.0], [40.0]]]]),
               torch.tensor([[[[1.0], [2.0]]]])),
              (torch.tensor([[[[200.0], [100.0]]]]), torch.tensor([[[[-200.0], [100.0]]]]),
               torch.tensor([[[[1.0], [2.0]]]]))),
    by_hand=(shared_in_turn, values_in_turn, keys_in_turn, first_head_for_all, mean_of_the_heads, blocks_in_reverse,
              nothing_shared, query_heads_averaged, no_mask, sees_the_future_only, sees_only_what_comes_after,
              past_and_present_hidden, does_not_see_itself, sees_one_too_many, masked_after_the_softmax,
              nothing_left_to_share_out, mask_is_merely_low, zero_as_mask, no_scale, scale_by_d, scale_by_d_model,
              softmax_over_queries, softmax_over_heads, no_softmax, heads_merged),
    properties=(
        ("A token sees what comes after it.", future_is_hidden),
        ("The weights do not sum to one.", weights_sum_to_one),
        ("A head of another group changes the result.", groups_are_apart),
    ),
)
EXERCISES = (MEAN_POOL, COSINE_SEARCH, RMS_NORM, APPLY_ROPE, SWIGLU, GROUPED)
