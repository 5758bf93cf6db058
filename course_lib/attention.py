"""Attention, version by version: pure functions, a few lines from each to the next.

Read it from top to bottom: it is the story the lessons tell. Every function mixes the
rows of a matrix with weights that sum to one; what changes from version to version is
how the weights are found.
"""

import torch
import torch.nn.functional as F
from torch import nn


def softmax(scores):
    """Turn any scores into positive weights with sum one, the largest for the largest.

    scores:  (..., N)  of any size; a score of -inf gives weight 0, as long as
                       another one of its row is finite
    returns: (..., N)  exp(scores) / sum of exp(scores), over the last axis;
                       exact however large the scores are

    Bridle 1990, "Probabilistic interpretation of feedforward classification network
    outputs", in Neurocomputing, NATO ASI Series 68.
    """
    largest = scores.amax(dim=-1, keepdim=True)  # (..., 1)
    # From 0 to 1: it cannot overflow, and the factor exp(largest) cancels.
    e = torch.exp(scores - largest)  # (..., N)
    return e / e.sum(dim=-1, keepdim=True)  # (..., N)


def weighted_sum(weights, x):
    """Mix N vectors into one, each counted with its own weight.

    weights: (N,)    one weight per vector; used as they are, whatever they sum to
    x:       (N, D)  the vectors, one per row
    returns: (D,)    sum_n weights[n] * x[n]
    """
    return weights @ x  # (D,)


def soft_max_pool(x, beta):
    """Pool N inputs channel by channel, anywhere between their mean and their maximum.

    x:       (N, D)  one input per row, one channel per column
    beta:    float   finite, 0 or larger: 0 gives the mean, and the larger beta,
                     the nearer the result is to the maximum
    returns: (D,)    sum_n weights[n, d] * x[n, d]; each channel has weights of its own:
                     column d of the weights is the softmax over n of beta * x[n, d]
    """
    weights = torch.softmax(beta * x, dim=0)  # (N, D), every column sums to one
    return (weights * x).sum(dim=0)  # (D,)


def reweight(x):
    """Let every token of a sentence take in those it resembles, with nothing trained.

    x:       (T, D)  one vector per token
    returns: (T, D)  row t is sum_s weights[t, s] * x[s], where weights[t] is the
                     softmax of the dot products of x[t] with every row of x, itself
                     included; nothing is scaled
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
    returns: (D_x,)      sum_n weights[n] * inputs[n], where weights is the softmax
                         over n of v . tanh(query W_q + inputs[n] W_x)

    Bahdanau, Cho and Bengio 2015, arXiv:1409.0473, section 3.1 and appendix A.1.2.
    """
    hidden = torch.tanh(query @ W_q + inputs @ W_x)  # (N, D_a)
    weights = torch.softmax(hidden @ v, dim=-1)  # (N,)
    return weights @ inputs  # (D_x,)


def bahdanau_context(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    """Version 0 at work: what a decoder reads of each source before it writes a word.

    decoder_state:  (B, H_d)     the decoder's state before the word
    encoder_states: (B, T, H_e)  the encoder's states, one per source token
    W_d:            (H_d, A)     projects the decoder state (weights stored as in, out)
    W_e:            (H_e, A)     projects each encoder state
    v:              (A,)         turns the hidden layer into one number
    src_mask:       (B, T) bool  True at real tokens, False at padding;
                                 None where all are real
    returns:        context (B, H_e), the weighted sum of the encoder states, and
                    weights (B, T); padding has weight 0 and each row sums to one
                    (every sentence has a real token)

    Bahdanau, Cho and Bengio 2015, arXiv:1409.0473, equations 5 and 6.
    """
    hidden = torch.tanh(
        (decoder_state @ W_d)[:, None] + encoder_states @ W_e
    )  # (B, T, A)
    energies = hidden @ v  # (B, T)
    if src_mask is not None:
        energies = energies.masked_fill(~src_mask, torch.finfo(energies.dtype).min)
    weights = torch.softmax(energies, dim=-1)  # (B, T)
    context = (weights[:, None] @ encoder_states)[:, 0]  # (B, H_e)
    return context, weights


def dot_product_attention(query, inputs):
    """Version 1: the dot product scores each input; nothing is left to train.

    query:   (D,)
    inputs:  (N, D)  as wide as the query
    returns: (D,)    sum_n weights[n] * inputs[n], where weights is the softmax over n
                     of inputs[n] . query

    Luong, Pham and Manning 2015, arXiv:1508.04025, equation 8, "dot".
    """
    scores = inputs @ query  # (N,)
    weights = torch.softmax(scores, dim=-1)  # (N,)
    return weights @ inputs  # (D,)


def scaled_dot_product_attention_single(query, inputs):
    """Version 2: version 1 with scores that keep their spread as vectors grow wider.

    query:   (D,)
    inputs:  (N, D)  as wide as the query
    returns: (D,)    sum_n weights[n] * inputs[n], where weights is the softmax over n
                     of (inputs[n] . query) / sqrt(D)

    Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1, equation 1, for one query.
    """
    scores = inputs @ query / query.shape[-1] ** 0.5  # (N,), scaled: the only change
    weights = torch.softmax(scores, dim=-1)  # (N,)
    return weights @ inputs  # (D,)


def attention_query_matrix(queries, inputs):
    """Version 3: many queries at once, as the rows of a matrix.

    queries: (M, D)
    inputs:  (N, D)  as wide as the queries
    returns: (M, D)  softmax(queries inputs^T / sqrt(D)) inputs;
                     row m is version 2 for queries[m]

    Vaswani et al. 2017, arXiv:1706.03762, equation 1, with inputs as keys and values.
    """
    scores = queries @ inputs.T / queries.shape[-1] ** 0.5  # (M, N)
    weights = torch.softmax(scores, dim=-1)  # (M, N), every row sums to one
    return weights @ inputs  # (M, D)


def cross_attention(queries, inputs, W_k, W_v):
    """Version 4: inputs are compared as keys and mixed as values, two views of them.

    queries: (M, D_q)
    inputs:  (N, D_x)
    W_k:     (D_x, D_q)  makes keys, as wide as the queries (weights stored as in, out)
    W_v:     (D_x, D_v)  makes values, as wide as you like
    returns: (M, D_v)    softmax(queries keys^T / sqrt(D_q)) values

    Vaswani et al. 2017, arXiv:1706.03762, equation 1 and section 3.2.3,
    "encoder-decoder attention".
    """
    keys, values = inputs @ W_k, inputs @ W_v  # (N, D_q), (N, D_v)
    scores = queries @ keys.T / queries.shape[-1] ** 0.5  # (M, N)
    weights = torch.softmax(scores, dim=-1)  # (M, N)
    return weights @ values  # (M, D_v)


def self_attention(x, W_q, W_k, W_v):
    """Version 5: queries, keys and values are three views of the same tokens.

    x:       (N, D_x)
    W_q:     (D_x, D_k)  makes queries      (weights are stored as in, out)
    W_k:     (D_x, D_k)  makes keys
    W_v:     (D_x, D_v)  makes values
    returns: (N, D_v)    softmax(x W_q (x W_k)^T / sqrt(D_k)) x W_v;
                         every token sees every token

    Vaswani et al. 2017, arXiv:1706.03762, equation 1 and section 3.2.3,
    "self-attention".
    """
    return cross_attention(x @ W_q, x, W_k, W_v)  # version 4, asked by its own inputs


def scaled_dot_product_attention(query, key, value, mask=None):
    """Versions 3 to 5 in a batch, with a mask that says who may see whom.

    query:   (B, Tq, d)
    key:     (B, Tk, d)
    value:   (B, Tk, dv)
    mask:    bool, broadcastable to (B, Tq, Tk); True = may attend; None where all may
    returns: (B, Tq, dv)  softmax(query key^T / sqrt(d)) value.
             A masked key has weight 0. A query that may attend to no key gets zeros.

    Vaswani et al. 2017, arXiv:1706.03762, equation 1; masking: section 3.2.3.
    """
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (B, Tq, Tk)
    if mask is not None:
        # The smallest finite number, not -inf: a row of -inf alone has no softmax.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (B, Tq, Tk)
    if mask is not None:
        # Zeros for a row with no key left, where all had the same weight.
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value  # (B, Tq, dv)


class MultiHeadAttention(nn.Module):
    """Version 6: several attentions side by side, each in a subspace of its own.

    d_model:   width of queries, keys, values and outputs
    num_heads: number of heads; each is d_head = d_model / num_heads wide
    raises:    ValueError where num_heads does not divide d_model

    Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
    """

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(
                f"d_model = {d_model} cannot be split "
                f"into {num_heads} heads of equal width"
            )
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        """Project, split into heads, attend in each, put them side by side, project.

        query:   (B, Tq, d_model)
        key:     (B, Tk, d_model)
        value:   (B, Tk, d_model)
        mask:    bool (Tq, Tk), (B, Tq, Tk) or (B, 1, Tk), the same for all heads;
                 True = may attend. A masked key gets no weight; a query that may
                 attend to no key gets none of the values.
        returns: (B, Tq, d_model)
        """
        if key.shape[1] != value.shape[1]:
            raise ValueError(
                f"there are {key.shape[1]} keys and {value.shape[1]} values: "
                "each key needs its value"
            )
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]  # (B, 1, Tq, Tk), the same for all heads
        heads = (self.num_heads, self.d_head)  # blank: project, split, attend with this mask, join, project
        q = self.W_q(query).unflatten(-1, heads).transpose(1, 2)  # (B, H, Tq, d_head)  # blank
        k = self.W_k(key).unflatten(-1, heads).transpose(1, 2)  # (B, H, Tk, d_head)  # blank
        v = self.W_v(value).unflatten(-1, heads).transpose(1, 2)  # (B, H, Tk, d_head)  # blank
        # torch's scaled_dot_product_attention gives what the one above gives, but never
        # keeps a (Tq, Tk) matrix.
        out = F.scaled_dot_product_attention(q, k, v, mask)  # (B, H, Tq, d_head)  # blank
        return self.W_o(out.transpose(1, 2).flatten(2))  # (B, Tq, d_model)  # blank


def attention_patterns(model, *inputs):
    """See where every head looks: the weights of each attention in one run of a model.

    model:   a module that holds MultiHeadAttention, the course's or one with the same
             attributes
    inputs:  what the model is called with
    returns: dict, from the path of each attention in the model to its weights
             (B, H, Tq, Tk), in the order they ran; of an attention that runs several
             times, the weights of its last run
    """
    patterns, hooks = {}, []
    for path, module in model.named_modules():
        if all(hasattr(module, part) for part in ("W_q", "W_k", "num_heads")):
            def note(attention, args, kwargs, path=path):
                patterns[path] = _weights(attention, *args, **kwargs)

            hooks.append(module.register_forward_pre_hook(note, with_kwargs=True))
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return patterns


def _weights(attention, query, key, value=None, mask=None):
    """The weights (B, H, Tq, Tk) of a multi-head attention for these arguments."""
    heads = (attention.num_heads, -1)
    q = attention.W_q(query).unflatten(-1, heads).transpose(1, 2)  # (B, H, Tq, d_head)
    k = attention.W_k(key).unflatten(-1, heads).transpose(1, 2)  # (B, H, Tk, d_head)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, H, Tq, Tk)
    # A flag, or a method that is asked with the mask.
    is_causal = getattr(attention, "is_causal", False)
    is_causal = is_causal(mask) if callable(is_causal) else is_causal
    if mask is not None and mask.dim() == 3:
        mask = mask[:, None]  # (B, 1, Tq, Tk), the same for all heads
    if is_causal:  # without being told
        back = torch.ones_like(scores, dtype=torch.bool).tril()  # (B, H, Tq, Tk)
        mask = back if mask is None else back & mask
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    # Zeros where no key is left.
    return weights if mask is None else weights.masked_fill(~mask, 0.0)
