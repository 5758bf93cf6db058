"""Lesson 05, versions 3 to 5: queries, keys and values, judged by torch's own attention."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise


def torch_attention(queries, keys, values, **options):
    """torch's attention: (M, D), (N, D), (N, Dv) -> (M, Dv), scaled by √D."""
    return F.scaled_dot_product_attention(queries[None], keys[None], values[None], **options)[0]


def the_same_three(queries, inputs):
    """Version 3: queries (M, D), and the inputs (N, D) as keys and as values."""
    return queries, inputs, inputs


def from_two_sources(queries, inputs, W_k, W_v):
    """Version 4: queries (M, D_q), keys (N, D_q), values (N, D_v)."""
    return queries, inputs @ W_k, inputs @ W_v


def from_one_source(x, W_q, W_k, W_v):
    """Version 5: queries (N, D_k), keys (N, D_k), values (N, D_v)."""
    return x @ W_q, x @ W_k, x @ W_v


def scores_of(queries, keys):
    return queries @ keys.T / queries.shape[-1] ** 0.5


def weights_of(queries, keys):
    return torch.softmax(scores_of(queries, keys), -1)


def mistakes_of(roles):
    """The mistakes all three versions share. `roles(*args)` gives the right queries, keys and values."""

    def no_scale(*args):
        """The scores were not divided by the root of the width, so the weights are sharper than they should be.
        How large does a dot product of D numbers get?"""
        return torch_attention(*roles(*args), scale=1.0)

    def scale_by_the_width(*args):
        """The scores were divided by the width itself instead of its root. Their variance grows like the width: by
        which factor does their standard deviation grow?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries, keys, values, scale=1 / queries.shape[-1])

    def scale_by_the_number_of_inputs(*args):
        """The scores were divided by the root of how many inputs there are. What makes a dot product large is the
        width of the two vectors: which axis is that?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries, keys, values, scale=len(keys) ** -0.5)

    def multiplies(*args):
        """The scores were multiplied by the root of the width, which makes a large spread larger still. Which
        operation undoes a growth?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries, keys, values, scale=queries.shape[-1] ** 0.5)

    def scales_the_weights(*args):
        """The division came after the softmax, so the weights no longer sum to one. What has to be scaled, scores or
        weights?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries, keys, values, scale=1.0) / queries.shape[-1] ** 0.5

    def scales_twice(*args):
        """The scores were divided, and the weights once more, so they no longer sum to one. Which of the two
        divisions is the right one?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries, keys, values) / queries.shape[-1] ** 0.5

    def hard_coded_8(*args):
        """The scores were divided by 8, which is right for a width of 64 only. Where can the width be read off?"""
        return torch_attention(*roles(*args), scale=1 / 8)

    def softmax_over_queries(*args):
        """The softmax ran down the columns: the queries competed for each input. Which sums have to be one, those of
        the rows or those of the columns?"""
        queries, keys, values = roles(*args)
        return torch.softmax(scores_of(queries, keys), 0) @ values

    def softmax_over_everything(*args):
        """One softmax ran over the whole table of scores, so all weights together sum to one. Each query needs
        weights of its own: along which axis do they sum to one?"""
        queries, keys, values = roles(*args)
        scores = scores_of(queries, keys)
        return torch.softmax(scores.flatten(), 0).view_as(scores) @ values

    def no_softmax(*args):
        """The scores were used as weights as they are. What makes numbers positive, with a sum of one?"""
        queries, keys, values = roles(*args)
        return scores_of(queries, keys) @ values

    def sigmoid(*args):
        """Each score went through a sigmoid by itself. The weights of one query have to compete and sum to one:
        which function does that?"""
        queries, keys, values = roles(*args)
        return torch.sigmoid(scores_of(queries, keys)) @ values

    def divides_by_the_sum(*args):
        """The scores were divided by their sum, without the exponential, so a negative score makes a negative weight.
        What does softmax do before it divides?"""
        queries, keys, values = roles(*args)
        scores = scores_of(queries, keys)
        return scores / scores.sum(-1, keepdim=True) @ values

    def sums_lie_the_wrong_way(*args):
        """The exponentials were divided by their row sums, but the sums lay along the wrong axis: torch lined them up
        with the columns. Which option of `sum` keeps the axis?"""
        queries, keys, values = roles(*args)
        scores = scores_of(queries, keys)
        exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
        return exponentials / exponentials.sum(-1) @ values

    def overflows(*args):
        """With large scores the exponential becomes infinite, and infinity divided by infinity is NaN. What may be
        subtracted from a row of scores without changing a weight?"""
        queries, keys, values = roles(*args)
        exponentials = torch.exp(scores_of(queries, keys))
        return exponentials / exponentials.sum(-1, keepdim=True) @ values

    def no_transpose(*args):
        """The second factor of the scores stands upright: rows were multiplied with columns of single features. Two
        vectors meet in a score, each a row of its table: what has to be turned?"""
        queries, keys, values = roles(*args)
        return torch.softmax(queries @ keys / queries.shape[-1] ** 0.5, -1) @ values

    def reshapes_instead_of_transposing(*args):
        """The table was brought to the right shape with view or reshape. That deals the numbers out anew, row by
        row; nothing is turned. Which operation turns rows into columns?"""
        queries, keys, values = roles(*args)
        scores = queries @ keys.reshape(keys.shape[1], keys.shape[0]) / queries.shape[-1] ** 0.5
        return torch.softmax(scores, -1) @ values

    def row_by_row(*args):
        """Query 1 was compared with input 1 only, query 2 with input 2, and so on. Every query asks every input: how
        many scores is that?"""
        queries, keys, values = roles(*args)
        return torch.softmax((queries * keys).sum(-1) / queries.shape[-1] ** 0.5, -1)[:, None] * values

    def cosine(*args):
        """The vectors were brought to length one before they were compared: that is a cosine. Which product leaves
        the lengths as they are?"""
        queries, keys, values = roles(*args)
        return weights_of(F.normalize(queries, dim=-1), F.normalize(keys, dim=-1)) @ values

    def takes_the_opposite(*args):
        """The scores have the wrong sign: what fits a query least has got the largest weight. Where does the minus
        come from?"""
        queries, keys, values = roles(*args)
        return torch_attention(-queries, keys, values)

    def takes_the_largest(*args):
        """Only the input with the largest score was kept for each query. Should the second best count for nothing?"""
        queries, keys, values = roles(*args)
        return values[(queries @ keys.T).argmax(-1)]

    def averages(*args):
        """Every input counts the same here. Where do the scores enter?"""
        queries, _, values = roles(*args)
        return values.mean(0, keepdim=True).repeat(len(queries), 1)

    def only_the_first_query(*args):
        """All rows of the result are the same: the weights of the first query were used for every query. Which row
        of weights belongs to which row of the result?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries[:1], keys, values).repeat(len(queries), 1)

    def one_average_query(*args):
        """All rows of the result are the same: the queries were averaged into one before they asked. How many
        questions are there?"""
        queries, keys, values = roles(*args)
        return torch_attention(queries.mean(0, keepdim=True), keys, values).repeat(len(queries), 1)

    def adds_up_the_queries(*args):
        """The results of all queries were added up: one vector is left. How many rows has the answer to be?"""
        return torch_attention(*roles(*args)).sum(0)

    def lies_on_its_side(*args):
        """The result is right but lies on its side: each query has a column. What is a row to be?"""
        return torch_attention(*roles(*args)).T

    def one_long_row(*args):
        """The results of all queries stand in one long row. `torch.cat` joins ends; what stacks rows?"""
        return torch_attention(*roles(*args)).flatten()

    def sees_only_the_past(*args):
        """Query 1 saw input 1 only, query 2 the first two, and so on. Who is to be seen by whom?"""
        return torch_attention(*roles(*args), is_causal=True)

    def returns_weights(*args):
        """These are the weights, one for each query and input. What have they still to mix?"""
        queries, keys, _ = roles(*args)
        return weights_of(queries, keys)

    def returns_scores(*args):
        """These are the scores, one for each query and input. Which two steps are still missing?"""
        queries, keys, _ = roles(*args)
        return scores_of(queries, keys)

    return (no_scale, scale_by_the_width, scale_by_the_number_of_inputs, multiplies, scales_the_weights, scales_twice,
            hard_coded_8, softmax_over_queries, softmax_over_everything, no_softmax, sigmoid, divides_by_the_sum,
            sums_lie_the_wrong_way, overflows, no_transpose, reshapes_instead_of_transposing, row_by_row, cosine,
            takes_the_opposite, takes_the_largest, averages, only_the_first_query, one_average_query,
            adds_up_the_queries, lies_on_its_side, one_long_row, sees_only_the_past, returns_weights, returns_scores)


# Version 3


def scale_by_the_number_of_queries(queries, inputs):
    """The scores were divided by the root of how many queries there are. With more questions, would each of them
    become less sure of its answer?"""
    return torch_attention(queries, inputs, inputs, scale=len(queries) ** -0.5)


def inputs_ask(queries, inputs):
    """The two parts were swapped: each input has asked the queries. Who asks, and what is mixed?"""
    return torch_attention(inputs, queries, queries)


def inputs_mix_the_queries(queries, inputs):
    """The weights are right, but they were turned over to mix the queries. What does a question want: other
    questions?"""
    return weights_of(queries, inputs).T @ queries


def adds_the_queries(queries, inputs):
    """The queries were added to the result. A query only decides the weights: what is mixed?"""
    return queries + torch_attention(queries, inputs, inputs)


def softmax_over_features(queries, inputs):
    """The products were not added up over the features before the softmax, so every feature got weights of its own.
    How many scores has one query for one input?"""
    products = queries[:, None] * inputs / queries.shape[-1] ** 0.5
    return (torch.softmax(products, 1) * inputs).sum(1)


def normalises_the_inputs(queries, inputs):
    """The inputs went through a softmax before they were mixed. What is to sum to one, the inputs or their
    weights?"""
    return weights_of(queries, inputs) @ torch.softmax(inputs, -1)


# Version 4


def scale_by_d_x(queries, inputs, W_k, W_v):
    """The scores were divided by the root of D_x, the width of the inputs. Which two vectors meet in a score, and how
    wide are they?"""
    return torch_attention(queries, inputs @ W_k, inputs @ W_v, scale=inputs.shape[-1] ** -0.5)


def scale_by_d_v(queries, inputs, W_k, W_v):
    """The scores were divided by the root of D_v, the width of the values. Do values take part in a score?"""
    return torch_attention(queries, inputs @ W_k, inputs @ W_v, scale=W_v.shape[-1] ** -0.5)


def mixes_keys(queries, inputs, W_k, W_v):
    """The keys were mixed. Keys are what is compared: what is delivered?"""
    return torch_attention(queries, inputs @ W_k, inputs @ W_k)


def mixes_inputs(queries, inputs, W_k, W_v):
    """The raw inputs were mixed, as in version 3. Which matrix has had nothing to do?"""
    return torch_attention(queries, inputs @ W_k, inputs)


def compares_inputs(queries, inputs, W_k, W_v):
    """The queries were compared with the raw inputs, as in version 3. Are they of the same width, and which matrix
    has had nothing to do?"""
    return weights_of(queries, inputs) @ (inputs @ W_v)


def version_3(queries, inputs, W_k, W_v):
    """Neither matrix was used: the raw inputs were compared and mixed, as in version 3. What are the two new
    arguments for?"""
    return weights_of(queries, inputs) @ inputs


def compares_values(queries, inputs, W_k, W_v):
    """The queries were compared with the values. What is the other thing made from the inputs for?"""
    return weights_of(queries, inputs @ W_v) @ (inputs @ W_v)


def swaps_the_matrices(queries, inputs, W_k, W_v):
    """W_k made the values and W_v the keys. Which of the two is as wide as the queries?"""
    return weights_of(queries, inputs @ W_v) @ (inputs @ W_k)


def values_from_keys(queries, inputs, W_k, W_v):
    """The values were made from the keys. From what are both made?"""
    keys = inputs @ W_k
    return torch_attention(queries, keys, keys @ W_v)


def projects_the_queries(queries, inputs, W_k, W_v):
    """W_k went to the queries as well. In this version they arrive ready: what does W_k turn into keys?"""
    return weights_of(queries @ W_k, inputs @ W_k) @ (inputs @ W_v)


def turned_matrices(queries, inputs, W_k, W_v):
    """The matrices were turned over before use, as for the weight of an nn.Linear, or by F.linear. Here they are stored
    (in, out): which axis meets the inputs?"""
    return weights_of(queries, inputs @ W_k.T) @ (inputs @ W_v.T)


def tanh_on_the_keys(queries, inputs, W_k, W_v):
    """The keys went through a tanh, as in version 0. Where did versions 1 and 2 leave the scoring network?"""
    return torch_attention(queries, torch.tanh(inputs @ W_k), inputs @ W_v)


def softmax_on_the_keys(queries, inputs, W_k, W_v):
    """The keys went through a softmax of their own. What has to sum to one?"""
    return torch_attention(queries, torch.softmax(inputs @ W_k, -1), inputs @ W_v)


def adds_the_queries_to_values(queries, inputs, W_k, W_v):
    """The queries were added to the result. A query only decides the weights: what is mixed? And could the widths
    always be added?"""
    return queries + torch_attention(queries, inputs @ W_k, inputs @ W_v)


# Version 5


def scale_by_token_width(x, W_q, W_k, W_v):
    """The scores were divided by the root of D_x, the width of the tokens. Which two vectors meet in a score, and how
    wide are they?"""
    return torch_attention(x @ W_q, x @ W_k, x @ W_v, scale=x.shape[-1] ** -0.5)


def scale_by_value_width(x, W_q, W_k, W_v):
    """The scores were divided by the root of D_v, the width of the values. Do values take part in a score?"""
    return torch_attention(x @ W_q, x @ W_k, x @ W_v, scale=W_v.shape[-1] ** -0.5)


def keys_from_w_q(x, W_q, W_k, W_v):
    """The keys were made with W_q, like the queries: every relation is then mutual. What is W_k for?"""
    return torch_attention(x @ W_q, x @ W_q, x @ W_v)


def queries_from_w_k(x, W_q, W_k, W_v):
    """The queries were made with W_k, like the keys: every relation is then mutual. What is W_q for?"""
    return torch_attention(x @ W_k, x @ W_k, x @ W_v)


def keys_ask(x, W_q, W_k, W_v):
    """Queries and keys were swapped: the table of scores lies on its side. Row t has to hold the scores of the
    question that token t asks: which factor gives the rows?"""
    return torch_attention(x @ W_k, x @ W_q, x @ W_v)


def turned_weights(x, W_q, W_k, W_v):
    """The weights were turned over after the softmax: each token gave out what it had to take in. Which sums are one
    in the product with the values, those of the rows?"""
    return weights_of(x @ W_q, x @ W_k).T @ (x @ W_v)


def mixes_the_keys(x, W_q, W_k, W_v):
    """The keys were mixed. Keys are what is compared: what is delivered?"""
    return torch_attention(x @ W_q, x @ W_k, x @ W_k)


def mixes_the_queries(x, W_q, W_k, W_v):
    """The queries were mixed. A query is what a token wants: what does a token deliver?"""
    return torch_attention(x @ W_q, x @ W_k, x @ W_q)


def mixes_the_tokens(x, W_q, W_k, W_v):
    """The raw tokens were mixed. Which matrix has had nothing to do?"""
    return torch_attention(x @ W_q, x @ W_k, x)


def raw_queries(x, W_q, W_k, W_v):
    """The raw tokens asked, as in version 4. Which matrix has had nothing to do?"""
    return weights_of(x, x @ W_k) @ (x @ W_v)


def raw_keys(x, W_q, W_k, W_v):
    """The raw tokens were compared with the queries. Which matrix has had nothing to do?"""
    return weights_of(x @ W_q, x) @ (x @ W_v)


def uses_no_matrix(x, W_q, W_k, W_v):
    """No matrix was used: that is the untrained attention of lesson 02, scaled. What are the three views of x?"""
    return torch_attention(x, x, x)


def swaps_w_k_and_w_v(x, W_q, W_k, W_v):
    """W_k made the values and W_v the keys. Which of the two has to be as wide as the queries?"""
    return weights_of(x @ W_q, x @ W_v) @ (x @ W_k)


def turned_w(x, W_q, W_k, W_v):
    """The matrices were turned over before use, as for the weight of an nn.Linear, or by F.linear. Here they are stored
    (in, out): which axis meets the tokens?"""
    return weights_of(x @ W_q.T, x @ W_k.T) @ (x @ W_v.T)


def one_after_another(x, W_q, W_k, W_v):
    """Each projection was made from the result of the one before. From what are all three made?"""
    queries = x @ W_q
    keys = queries @ W_k
    return weights_of(queries, keys) @ (keys @ W_v)


def without_itself(x, W_q, W_k, W_v):
    """Each token left itself out. Every token sees every token: does it see itself?"""
    scores = scores_of(x @ W_q, x @ W_k)
    itself = torch.eye(len(x), dtype=torch.bool, device=x.device)
    return torch.nan_to_num(torch.softmax(scores.masked_fill(itself, float("-inf")), -1)) @ (x @ W_v)


def adds_x(x, W_q, W_k, W_v):
    """The tokens were added to the result. That is a step of its own, and it needs values as wide as the tokens: what
    does version 5 itself return?"""
    return x + torch_attention(x @ W_q, x @ W_k, x @ W_v)


# What is asked


def make_3(generator, M, N, D):
    return torch.randn(M, D, generator=generator), torch.randn(N, D, generator=generator)


def make_4(generator, M, N, D_x, D_q, D_v):
    return (torch.randn(M, D_q, generator=generator), torch.randn(N, D_x, generator=generator),
            torch.randn(D_x, D_q, generator=generator) / D_x**0.5, torch.randn(D_x, D_v, generator=generator))


def make_5(generator, N, D_x, D_k, D_v):
    return (torch.randn(N, D_x, generator=generator), torch.randn(D_x, D_k, generator=generator) / D_x**0.5,
            torch.randn(D_x, D_k, generator=generator), torch.randn(D_x, D_v, generator=generator))


def example(*matrices):
    return tuple(torch.tensor(m, dtype=torch.float32) for m in matrices)


def properties_of(make, size, queries, inputs, values):
    """What holds for every right answer. The arguments say at which position of args things stand."""

    def with_a_constant_value(args):
        args = list(args)
        args[inputs] = torch.cat([args[inputs][:, :-1], torch.ones(len(args[inputs]), 1)], 1)
        if values != inputs:
            args[values] = torch.eye(*args[values].shape).flip(0)  # column 0 picks the constant
        return args

    def weights_sum_to_one(output, generator):
        out = output(*with_a_constant_value(make(generator, *size)))
        constant = out[:, -1] if values == inputs else out[:, 0]
        return torch.allclose(constant, torch.ones_like(constant), atol=1e-4)

    def permuting_inputs(output, generator):
        args = list(make(generator, *size))
        before, order = output(*args), torch.randperm(len(args[inputs]), generator=generator)
        args[inputs] = args[inputs][order]
        return torch.allclose(output(*args), before[order] if queries == inputs else before, atol=1e-4)

    def each_query_alone(output, generator):
        args = list(make(generator, *size))
        together = output(*args)
        args[queries] = args[queries][1:2]
        return torch.allclose(output(*args), together[1:2], atol=1e-4)

    def stays_finite(output, generator):
        return bool(torch.isfinite(output(*(20 * a for a in make(generator, *size)))).all())

    alone = () if queries == inputs else (
        ("A query gets another result when other queries are asked beside it.", each_query_alone),)
    order = ("Permuting the tokens does not just permute the rows of the result." if queries == inputs
             else "The order of the inputs changes the result.")
    return (
        ("A value that is 1 for every input does not come out as 1: this is no weighted average.", weights_sum_to_one),
        (order, permuting_inputs), *alone, ("Large values give NaN or infinity.", stays_finite))


EXERCISES = (
    Exercise(
        name="attention_query_matrix",
        lesson="05",
        asked="for each of the M queries what version 2 gives: scaled dot products with all N inputs, softmax over the "
        "inputs, weighted sum of the inputs. One row a query: (M, D).",
        verified=attention.attention_query_matrix,
        oracle=lambda queries, inputs: torch_attention(queries, inputs, inputs),
        examples=(
            example([[2, 0, 0, 0], [0, 2, 0, 2]], [[1, 0, 0, 0], [0, 1, 0, 2], [0, 0, 3, 1]]),
            example([[1, 2, 0, -1], [0, 0, 4, 0], [2, 0, 0, 2]], [[1, 1, 0, 0], [2, 0, -1, 0]]),
        ),
        sizes=((2, 5, 3), (3, 2, 7), (4, 4, 4), (5, 5, 2), (1, 3, 6), (3, 1, 2), (1, 1, 1)),
        square_size=(2, 5, 4),
        make=make_3,
        extremes=(example([[60, 0, 20, 0], [0, 40, 0, 0]], [[40, 1, 0, 2], [40, 5, 0, 3], [0, 9, 30, 4]]),),
        by_hand=(*mistakes_of(the_same_three), scale_by_the_number_of_queries, inputs_ask, inputs_mix_the_queries,
                  adds_the_queries, softmax_over_features, normalises_the_inputs),
        properties=properties_of(make_3, (4, 5, 3), 0, 1, 1),
    ),
    Exercise(
        name="cross_attention",
        lesson="05",
        asked="keys and values from the inputs, each by its own matrix; scaled dot products of queries and keys, "
        "softmax over the inputs, weighted sum of the values. One row a query: (M, D_v).",
        verified=attention.cross_attention,
        oracle=lambda *args: torch_attention(*from_two_sources(*args)),
        examples=(
            example([[2, 0, 0, 1], [0, 2, 0, 0]], [[1, 0], [0, 2], [1, -1]], [[1, 0, 2, 0], [0, 2, 0, -1]],
                    [[1, 0, 3], [0, 2, 1]]),
            example([[1, 0, 0, 2], [0, 3, 0, 0], [0, 0, 1, -1]], [[1, 0, 2, 0, 1], [0, 1, 0, 2, 0]],
                    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, -1, 0, 0]],
                    [[1, 0], [2, 0], [0, 3], [0, 1], [1, 1]]),
        ),
        sizes=((2, 5, 3, 7, 4), (3, 2, 6, 4, 5), (3, 5, 4, 4, 4), (4, 4, 4, 4, 4), (5, 3, 4, 2, 2), (2, 5, 3, 3, 6),
               (1, 3, 2, 4, 5), (3, 1, 2, 5, 4), (1, 1, 1, 1, 1)),
        square_size=(2, 5, 3, 4, 6),
        make=make_4,
        extremes=(example([[60, 0, 20, 0], [0, 40, 0, 0]], [[40, 1, 0], [40, 5, 3], [0, 9, 30]],
                          [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[1, 0], [0, 2], [1, 1]]),),
        by_hand=(*mistakes_of(from_two_sources), scale_by_d_x, scale_by_d_v, mixes_keys, mixes_inputs,
                  compares_inputs, version_3, compares_values, swaps_the_matrices, values_from_keys,
                  projects_the_queries, turned_matrices, tanh_on_the_keys, softmax_on_the_keys,
                  adds_the_queries_to_values),
        properties=properties_of(make_4, (4, 5, 3, 6, 2), 0, 1, 3),
    ),
    Exercise(
        name="self_attention",
        lesson="05",
        asked="queries, keys and values all from x, each by its own matrix; scaled dot products of queries and keys, "
        "softmax over the keys, weighted sum of the values. One row a token: (N, D_v).",
        verified=attention.self_attention,
        oracle=lambda *args: torch_attention(*from_one_source(*args)),
        examples=(
            example([[1, 0], [0, 2], [1, -1]], [[2, 0, 0, 1], [0, 1, 0, 1]], [[1, 0, 2, 0], [0, 2, 0, -1]],
                    [[1, 0, 3], [0, 2, 1]]),
            example([[1, 0, 2], [0, 1, 1]], [[1, 0, 0, 2], [0, 2, 0, 0], [0, 0, 1, 0]],
                    [[0, 1, 0, 0], [1, 0, 0, 1], [1, 0, 2, 0]], [[2, 0, 0, 0, 1], [0, 1, 0, 3, 0], [0, 0, 1, 0, 0]]),
        ),
        sizes=((5, 3, 7, 4), (2, 6, 4, 5), (5, 4, 4, 4), (4, 4, 4, 4), (3, 4, 2, 2), (3, 2, 5, 2), (5, 3, 3, 6),
               (1, 3, 2, 4), (3, 1, 2, 5), (1, 1, 1, 1)),
        square_size=(5, 3, 4, 6),
        make=make_5,
        extremes=(example([[40, 1, 0], [40, 5, 3], [0, 9, 30]], [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]],
                          [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]], [[1, 0], [0, 2], [1, 1]]),),
        by_hand=(*mistakes_of(from_one_source), scale_by_token_width, scale_by_value_width, keys_from_w_q,
                  queries_from_w_k, keys_ask, turned_weights, mixes_the_keys, mixes_the_queries, mixes_the_tokens,
                  raw_queries, raw_keys, uses_no_matrix, swaps_w_k_and_w_v, turned_w, one_after_another,
                  without_itself, adds_x),
        properties=properties_of(make_5, (5, 3, 4, 2), 0, 0, 3),
    ),
)
