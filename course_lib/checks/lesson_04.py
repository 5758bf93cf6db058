"""Lesson 04, versions 1 and 2: both judged by torch's own attention, with and without its scale."""

import torch
import torch.nn.functional as F

from course_lib import attention, proofs
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.suspects import line_up


def torch_attention(query, inputs, scale):
    """torch's attention with a single query and the inputs as keys and values."""
    return F.scaled_dot_product_attention(query[None, None], inputs[None], inputs[None], scale=scale)[0, 0]


def unscaled(query, inputs):
    return torch_attention(query, inputs, 1.0)


def by_root_d(query, inputs):
    return torch_attention(query, inputs, query.shape[0] ** -0.5)


def mistakes_with(scale):
    """The mistakes both versions share. They divide the scores by `scale(D)`, as the right answer does."""

    def scores_of(query, inputs):
        return inputs @ query / scale(query.shape[0])

    def cosine(query, inputs):
        """The vectors were brought to length one before the dot product: that is cosine similarity. The dot
        product itself is asked for."""
        return torch.softmax(F.normalize(inputs, dim=-1) @ F.normalize(query, dim=-1), 0) @ inputs

    def distance(query, inputs):
        """The scores are distances. The dot product is asked for: it grows where two vectors agree."""
        return torch.softmax(-(inputs - query).norm(dim=-1) / scale(query.shape[0]), 0) @ inputs

    def no_softmax(query, inputs):
        """The scores were used as weights as they are. They have to go through a softmax first, so that they
        are positive and sum to one."""
        return scores_of(query, inputs) @ inputs

    def sigmoid(query, inputs):
        """Each score went through a sigmoid by itself. The weights have to compete and sum to one: that takes
        a softmax."""
        return torch.sigmoid(scores_of(query, inputs)) @ inputs

    def divides_by_the_sum(query, inputs):
        """The scores were divided by their sum, without the exponential. A negative score then gives a negative
        weight: use a softmax."""
        scores = scores_of(query, inputs)
        return scores / scores.sum() @ inputs

    def wrong_axis(query, inputs):
        """Every input got the weight 1, so they were just added up: the softmax ran along another axis than that of
        the N scores. How many numbers does your softmax see at once, and whose are they?"""
        return torch.softmax(scores_of(query, inputs)[:, None], -1)[:, 0] @ inputs

    def softmax_over_features(query, inputs):
        """Products were not summed over D before the softmax: every feature got weights of its own. A dot product
        is one number for each input."""
        return (torch.softmax(inputs * query / scale(query.shape[0]), 0) * inputs).sum(0)

    def returns_weights(query, inputs):
        """These are the weights, (N,). They still have to mix the inputs into one vector (D,)."""
        return torch.softmax(scores_of(query, inputs), 0)

    def returns_scores(query, inputs):
        """These are the scores, (N,). Softmax and the weighted sum are still missing."""
        return scores_of(query, inputs)

    def no_sum(query, inputs):
        """Each input was multiplied by its weight, but they were not added up: (N, D) instead of (D,)."""
        return torch.softmax(scores_of(query, inputs), 0)[:, None] * inputs

    def averages(query, inputs):
        """Every input counts the same here. The weights have to come from the scores."""
        return inputs.mean(0)

    def takes_the_largest(query, inputs):
        """Only the input with the largest score was kept. Softmax lets every input count, each by its share."""
        return inputs[(inputs @ query).argmax()]

    def takes_the_opposite(query, inputs):
        """The scores have the wrong sign: the inputs least like the query got the largest weights."""
        return torch.softmax(-scores_of(query, inputs), 0) @ inputs

    def adds_the_query(query, inputs):
        """The query was added to the result. It only decides the weights; what is mixed are the inputs."""
        return query + torch.softmax(scores_of(query, inputs), 0) @ inputs

    def mixes_the_query(query, inputs):
        """The weights went to the query instead of the inputs: since they sum to one, just the query comes out."""
        return query * torch.softmax(scores_of(query, inputs), 0).sum()

    def keeps_a_row_axis(query, inputs):
        """The result is a matrix with one row, (1, D). A vector (D,) is asked for."""
        return (torch.softmax(scores_of(query, inputs), 0) @ inputs)[None]

    def squeezes_everything(query, inputs):
        """squeeze() without an axis takes away every axis of length 1: of inputs that are 1 wide, more goes than was
        meant. Which axis did you want to lose?"""
        return (torch.softmax(scores_of(query, inputs), 0) @ inputs)[None].squeeze()

    def ignores_the_query(query, inputs):
        """The inputs were scored by themselves: the result is the same whatever the query asks."""
        return torch.softmax(inputs.sum(-1) / scale(query.shape[0]), 0) @ inputs

    def overflows(query, inputs):
        """With large scores the exponential becomes infinite, and infinity divided by infinity is NaN. Use
        torch.softmax, or subtract the largest score first: that changes no weight."""
        weights = torch.exp(scores_of(query, inputs))
        return weights / weights.sum() @ inputs

    return (cosine, distance, no_softmax, sigmoid, divides_by_the_sum, wrong_axis, softmax_over_features,
            returns_weights, returns_scores, no_sum, averages, takes_the_largest, takes_the_opposite, adds_the_query,
            mixes_the_query, keeps_a_row_axis, squeezes_everything, ignores_the_query, overflows)


def scaled(query, inputs):
    """The scores were divided by √D. That is version 2; version 1 takes the dot products as they are."""
    return by_root_d(query, inputs)


def no_scale(query, inputs):
    """The scores were not divided by √D, so the weights are sharper than they should be, and more so the wider
    the vectors. How large does a dot product of D numbers get?"""
    return unscaled(query, inputs)


def scale_by_d(query, inputs):
    """The scores were divided by D instead of √D. Their variance grows like D: by which factor does their
    standard deviation grow?"""
    return torch_attention(query, inputs, 1 / query.shape[0])


def scale_by_n(query, inputs):
    """The scores were divided by √N, the number of inputs. What makes a dot product large is its width D."""
    return torch_attention(query, inputs, len(inputs) ** -0.5)


def half_of_d(query, inputs):
    """The scores were divided by D / 2: `len(query)**1/2` is a half of len(query), since a power comes before a
    division. How does the exponent stay in one piece?"""
    return torch_attention(query, inputs, 2 / query.shape[0])


def twice_d(query, inputs):
    """The scores were divided by D and then by 2: in `scores / D**1/2` the power comes first, and it is D ** 1. How
    does the exponent stay in one piece?"""
    return torch_attention(query, inputs, 1 / (2 * query.shape[0]))


def multiplies(query, inputs):
    """The scores were multiplied by √D, which makes a large spread larger still. They have to be divided."""
    return torch_attention(query, inputs, query.shape[0] ** 0.5)


def fourth_root(query, inputs):
    """The scores were divided by the fourth root of D. Where the root is spread over two factors, both have
    to be divided: the query and the inputs."""
    return torch_attention(query, inputs, query.shape[0] ** -0.25)


def scales_the_weights(query, inputs):
    """The division by √D came after the softmax: the weights no longer sum to one. Scale the scores."""
    return unscaled(query, inputs) / query.shape[0] ** 0.5


def scales_twice(query, inputs):
    """The weights are right, but every number of the result is √D times too small. Was it divided once more, or were
    the inputs made smaller for the scores, and then mixed as well?"""
    return by_root_d(query, inputs) / query.shape[0] ** 0.5


def standardises(query, inputs):
    """The scores were divided by their own standard deviation. The scale is the constant √D: sure scores are to
    stay sure, and flat ones flat."""
    scores = inputs @ query
    return torch.softmax(scores / scores.std(unbiased=False).clamp_min(1e-9), 0) @ inputs


def hard_coded_8(query, inputs):
    """The scores were divided by 8, which is √D for D = 64 only. Take the width from the query itself."""
    return torch_attention(query, inputs, 1 / 8)


def make(generator, N, D):
    return torch.randn(D, generator=generator), torch.randn(N, D, generator=generator)


def example(query, inputs):
    return torch.tensor(query), torch.tensor(inputs)


def weights_sum_to_one(output, generator):
    query, inputs = make(generator, 5, 3)
    return abs(output(query, torch.cat([inputs[:, :2], torch.ones(5, 1)], 1))[-1] - 1) < 1e-4


def order_is_free(output, generator):
    query, inputs = make(generator, 5, 3)
    return torch.allclose(output(query, inputs.flip(0)), output(query, inputs), atol=1e-4)


def stays_within_the_inputs(output, generator):
    query, inputs = make(generator, 5, 3)
    out = output(query, inputs)
    return bool((out <= inputs.amax(0) + 1e-4).all() and (out >= inputs.amin(0) - 1e-4).all())


def depends_on_the_query(output, generator):
    query, inputs = make(generator, 5, 3)
    return not torch.allclose(output(query, inputs), output(-query, inputs), atol=1e-4)


PROPERTIES = (
    ("A feature that is 1 in every input does not stay 1: the result is no weighted average.", weights_sum_to_one),
    ("The order of the inputs changes the result.", order_is_free),
    ("The result lies outside the range of the inputs: it is not a mix of them.", stays_within_the_inputs),
    ("The result does not depend on the query.", depends_on_the_query),
)
SHARED = dict(
    lesson="04",
    examples=(
        example([2.0, 0.0, 0.0, 0.0], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0]]),
        example([1.0, 2.0, 0.0, -1.0], [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0], [2.0, 0.0, -1.0, 0.0]]),
    ),
    sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
    square_size=(5, 4),
    make=make,
    extremes=(example([60.0, 0.0, 20.0, 0.0], [[0.0, 9.0, 30.0, 4.0], [40.0, 1.0, 0.0, 2.0], [40.0, 5.0, 0.0, 3.0]]),),
    properties=PROPERTIES,
)
# --- is_version_2 -----------------------------------------------------------------------------------------------


def version_2(query, inputs):
    return torch.softmax(inputs @ query / len(query) ** 0.5, 0) @ inputs


def scales_both(query, inputs):
    scores = (inputs.double() / len(query) ** 0.25) @ (query.double() / len(query) ** 0.25)
    return (torch.softmax(scores, 0) @ inputs.double()).to(inputs.dtype)


def one_at_a_time(query, inputs):
    scores = [(x * query).sum() / len(query) ** 0.5 for x in inputs]
    e = [torch.exp(s - max(scores)) for s in scores]
    return sum(w * x for w, x in zip(e, inputs, strict=True)) / sum(e)


def exponentials(scores):
    return torch.exp(scores - scores.max())


def of_unit_vectors(query, inputs):
    scores = F.normalize(inputs, dim=1) @ F.normalize(query, dim=0)
    return torch.softmax(scores / len(query) ** 0.5, 0) @ inputs


def with_scores(of_scores):
    return lambda query, inputs: of_scores(inputs @ query, *inputs.shape) @ inputs


NOT_VERSION_2 = {
    "no scale": with_scores(lambda s, N, D: torch.softmax(s, 0)),
    "by D": with_scores(lambda s, N, D: torch.softmax(s / D, 0)),
    "by the root of N": with_scores(lambda s, N, D: torch.softmax(s / N**0.5, 0)),
    "always by 2": with_scores(lambda s, N, D: torch.softmax(s / 2, 0)),
    "after the softmax": with_scores(lambda s, N, D: torch.softmax(s, 0) / D**0.5),
    "no softmax": with_scores(lambda s, N, D: s / D**0.5),
    "all alike": with_scores(lambda s, N, D: torch.full_like(s, 1 / N)),
    "the best one": with_scores(lambda s, N, D: (torch.arange(N, device=s.device) == s.argmax()).to(s.dtype)),
    "a sum": with_scores(lambda s, N, D: N * torch.softmax(s / D**0.5, 0)),
    "always by 8": with_scores(lambda s, N, D: torch.softmax(s / 8, 0)),
    "cosine": of_unit_vectors,
    "a little less": with_scores(lambda s, N, D: exponentials(s / D**0.5) / (exponentials(s / D**0.5).sum() + 0.03)),
    "channels turned round": lambda query, inputs: version_2(query, inputs).roll(1),
    "one channel": lambda query, inputs: torch.where(torch.arange(len(query)) < 1, version_2(query, inputs),
                                                     2 * version_2(query, inputs) + 1),
    "not a number": lambda query, inputs: version_2(query, inputs) * float("nan"),
}
LINED_UP = line_up(one_at_a_time, NOT_VERSION_2["always by 2"], NOT_VERSION_2["no scale"], scales_both,
                   NOT_VERSION_2["by the root of N"], version_2, *list(NOT_VERSION_2.values())[:2],
                   *list(NOT_VERSION_2.values())[4:])
INNOCENT = {"A", "D", "F"}


def some_vectors(N, D, strength):
    generator = torch.Generator().manual_seed(N + 10 * D)
    return strength * torch.randn(D, generator=generator), torch.randn(N, D, generator=generator)


def agrees(attend, N, D, strength=3.0, wanted=version_2, atol=1e-4):
    """Does it give what version 2 gives, for one random query and N random inputs?"""
    query, inputs = some_vectors(N, D, strength)
    return torch.allclose(attend(query, inputs), wanted(query, inputs), atol=atol)


def difference(attend):
    """By how much does it miss what version 2 gives, number by number?"""
    query, inputs = some_vectors(5, 3, 1.0)
    return attend(query, inputs) - version_2(query, inputs)


def only_the_shape(attend):
    """Your test looks at no number: it lets every implementation through that returns a vector of the right shape.
    What should the numbers be?"""
    return attend(torch.ones(3), torch.ones(5, 3)).shape == (3,)


def accuses_everybody(attend):
    """Your test finds everybody wrong, the right ones among them. Does it compare with the right result, and does it
    forgive rounding?"""
    return False


def a_single_input(attend):
    """You ask about a single input. A softmax over one score is 1, whatever the scale: how many inputs does it take
    before the scale matters?"""
    return agrees(attend, 1, 3)


def a_query_of_zeros(attend):
    """The scores of your example are all equal, so all weights are equal with any scale. Which query would give
    different scores?"""
    return agrees(attend, 5, 3, strength=0.0)


def the_weights_sum_to_one(attend):
    """You test that the weights sum to one. That is necessary, but wrong weights can sum to one as well. Do you
    compare any numbers with those of version 2?"""
    inputs = torch.ones(5, 3)
    inputs[:, 1] = torch.arange(5.0)
    return abs(attend(torch.tensor([1.0, 2, 3]), inputs)[0].item() - 1) < 1e-4


def as_many_inputs_as_channels(attend):
    """Your example has as many inputs as channels, N = D. Who divides by the root of the wrong one of the two goes
    unnoticed: how should N and D be chosen?"""
    return agrees(attend, 3, 3)


def width_four(attend):
    """Your inputs are 4 wide, and the root of 4 is 2. Who always divides by 2 is right there, and there only: which
    width would show it?"""
    return agrees(attend, 5, 4)


def width_one(attend):
    """Your inputs are 1 wide, and the root of 1 is 1: with a scale, without one, or divided by D itself, it is all the
    same. Which width would show it?"""
    return agrees(attend, 5, 1)


def width_sixty_four(attend):
    """Your inputs are 64 wide, and the root of 64 is 8. Who always divides by 8 is right there, and there only: which
    width would show it?"""
    return agrees(attend, 5, 64, strength=1.0)


def unit_vectors(attend):
    """All your vectors have length one. Who brings them to length one first goes unnoticed: which query, which inputs
    would show it?"""
    query, inputs = some_vectors(5, 3, 1.0)
    query, inputs = F.normalize(query, dim=0), F.normalize(inputs, dim=1)
    return torch.allclose(attend(query, inputs), version_2(query, inputs), atol=1e-5)


def too_forgiving(attend):
    """Your test forgives too much: weights that sum to a little less than one pass for rounding. By how much do two
    right ways to add up differ?"""
    return agrees(attend, 5, 3, strength=0.5, atol=0.02)


def far_too_forgiving(attend):
    """Your test forgives far too much: a division by 2 passes where it should be by √3. By how much do two right ways
    to add up differ?"""
    return agrees(attend, 5, 3, strength=0.5, atol=0.1)


def one_number_is_enough(attend):
    """One right number is enough for your test: it lets someone through who is right in one channel only. How many
    numbers does a result have, and how many of them must fit (`any`, `all`)?"""
    return abs(difference(attend)[0].item()) < 1e-4


def numbers_added_up(attend):
    """You compare one number that the whole result gives, its sum or its length. The same numbers in another order give
    the same. Which number belongs to which?"""
    return abs(difference(attend).sum().item()) < 1e-4


def takes_nan_for_right(attend):
    """Your test takes NaN for right. Every comparison with NaN is False, so no difference is ever "too large". Can you
    ask the other way round, whether all differences are small?"""
    return not bool((difference(attend).abs() > 1e-4).any())


def a_loud_query(attend):
    """The scores of your example are so far apart that the best input gets all the weight, whatever the scale. How
    near to each other must scores be for the scale to show?"""
    return agrees(attend, 5, 3, strength=1000.0)


def version_1_for_version_2(attend):
    """You compare with version 1: your test takes who forgets the scale for right, and accuses those who divide by
    √D. Which line of yours is version 2?"""
    return agrees(attend, 5, 3, wanted=NOT_VERSION_2["no scale"])


def every_bit(attend):
    """You ask for equality in every bit. The same sum in another order differs in the last digits, and is right: how
    near is near enough? (`torch.allclose`)"""
    generator = torch.Generator().manual_seed(0)
    query, inputs = torch.randn(33, generator=generator), torch.randn(50, 33, generator=generator)
    return torch.equal(attend(query, inputs), version_2(query, inputs))


def raises_instead(attend):
    """Your test stops with an AssertionError when it finds a wrong implementation. It was to say so: return False."""
    assert agrees(attend, 5, 3)
    return True


EXERCISES = (
    Exercise(
        name="dot_product_attention",
        asked="the dot product of every input with the query, softmax over the N scores, and with these weights the "
        "weighted sum of the inputs: one vector (D,).",
        verified=attention.dot_product_attention,
        oracle=unscaled,
        by_hand=(scaled, scale_by_d, *mistakes_with(lambda D: 1.0)),
        **SHARED,
    ),
    Exercise(
        name="scaled_dot_product_attention_single",
        asked="as version 1, but the scores are divided by √D before the softmax: one vector (D,).",
        verified=attention.scaled_dot_product_attention_single,
        oracle=by_root_d,
        by_hand=(no_scale, scale_by_d, scale_by_n, half_of_d, twice_d, multiplies, fourth_root,
                  scales_the_weights, scales_twice, standardises, hard_coded_8, *mistakes_with(lambda D: D**0.5)),
        **SHARED,
    ),
    Exercise(
        name="is_version_2",
        lesson="04",
        asked="True for every function that computes version 2, whatever its style, and False for every other: five of "
        "them have letters, the check knows more.",
        verified=proofs.is_version_2,
        oracle=lambda attend: attend.letter in INNOCENT,
        examples=tuple((suspect,) for suspect in LINED_UP[:5]),
        sizes=tuple((i,) for i in range(5, len(LINED_UP))),
        make=lambda generator, i: (LINED_UP[i],),
        by_hand=(only_the_shape, accuses_everybody, a_single_input, a_query_of_zeros, the_weights_sum_to_one,
                  as_many_inputs_as_channels, width_four, width_one, width_sixty_four, unit_vectors, too_forgiving,
                  far_too_forgiving, one_number_is_enough, numbers_added_up, takes_nan_for_right, a_loud_query,
                  version_1_for_version_2, every_bit, raises_instead),
    ),
)
