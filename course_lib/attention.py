"""Attention, version by version: pure functions, each a few lines longer or shorter than the last.

Read it from top to bottom: it is the story the lessons tell. Every function mixes the rows of a matrix
with weights that sum to one; what changes from version to version is how the weights are found.
"""

import torch


def weighted_sum(weights, x):
    """Mix N vectors into one, each counted with its own weight.

    weights: (N,)    one weight a vector; used as they are, whatever they sum to
    x:       (N, D)  the vectors, one a row
    returns: (D,)    sum_n weights[n] * x[n]
    """
    return weights @ x  # (D,)


def reweight(x):
    """Let every token of a sentence take in the tokens it resembles, with nothing trained.

    x:       (T, D)  one vector a token
    returns: (T, D)  row t is sum_s weights[t, s] * x[s], where weights[t] is the softmax of
                     the dot products of x[t] with every row of x, itself included; nothing is scaled
    """
    scores = x @ x.T  # (T, T)
    weights = torch.softmax(scores, dim=-1)  # (T, T), every row sums to one
    return weights @ x  # (T, D)


def additive_attention(query, inputs, W_q, W_x, v):
    """Version 0: a small network scores each input for the query.

    query:   (D_q,)
    inputs:  (N, D_x)
    W_q:     (D_q, D_a)  projects the query       (weights are stored as in, out)
    W_x:     (D_x, D_a)  projects each input
    v:       (D_a,)      turns the hidden layer into one number
    returns: (D_x,)      sum_n weights[n] * inputs[n], weights = softmax over n of v . tanh(query W_q + inputs[n] W_x)

    Bahdanau, Cho and Bengio 2015, arXiv:1409.0473, section 3.1 and appendix A.1.2.
    """
    hidden = torch.tanh(query @ W_q + inputs @ W_x)  # (N, D_a)
    weights = torch.softmax(hidden @ v, dim=-1)  # (N,)
    return weights @ inputs  # (D_x,)


def dot_product_attention(query, inputs):
    """Version 1: the dot product scores each input for the query, and nothing is left to train.

    query:   (D,)
    inputs:  (N, D)  as wide as the query
    returns: (D,)    sum_n weights[n] * inputs[n], weights = softmax over n of inputs[n] . query

    Luong, Pham and Manning 2015, arXiv:1508.04025, equation 8, "dot".
    """
    scores = inputs @ query  # (N,)
    weights = torch.softmax(scores, dim=-1)  # (N,)
    return weights @ inputs  # (D,)


def scaled_dot_product_attention_single(query, inputs):
    """Version 2: version 1 with scores that keep their spread as the vectors grow wider.

    query:   (D,)
    inputs:  (N, D)  as wide as the query
    returns: (D,)    sum_n weights[n] * inputs[n], weights = softmax over n of (inputs[n] . query) / sqrt(D)

    Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1, equation 1, for a single query.
    """
    scores = inputs @ query / query.shape[-1] ** 0.5  # (N,), scaled: the only change
    weights = torch.softmax(scores, dim=-1)  # (N,)
    return weights @ inputs  # (D,)
