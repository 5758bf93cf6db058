"""Wrong answers of lesson 05: each is a mistake of the catalogue as somebody else would have written it."""

import math

import torch
import torch.nn.functional as F

# ---- version 3: many queries ----


def torch_attention_without_scale(queries, inputs):
    return F.scaled_dot_product_attention(queries[None], inputs[None], inputs[None], scale=1).squeeze(0)


def divides_each_score_by_the_width(queries, inputs):
    d = inputs.size(-1)
    out = []
    for q in queries:
        s = torch.stack([torch.dot(q, row) for row in inputs]) / d
        out.append(torch.einsum("n,nd->d", F.softmax(s, dim=0), inputs))
    return torch.stack(out)


def takes_the_length_for_the_width(queries, inputs):
    d_k = len(inputs)
    s = torch.einsum("md,nd->mn", queries, inputs) / math.sqrt(d_k)
    return torch.einsum("mn,nd->md", F.softmax(s, dim=1), inputs)


def weights_over_the_root_of_d(queries, inputs):
    s = torch.einsum("md,nd->mn", queries, inputs)
    return torch.einsum("mn,nd->md", F.softmax(s, dim=1).div(math.sqrt(queries.size(1))), inputs)


def softmax_down_the_queries(queries, inputs):
    s = torch.mm(inputs, queries.t()).div(math.sqrt(queries.size(1)))
    p = F.softmax(s, dim=1)
    return torch.einsum("nm,nd->md", p, inputs)


def softmax_of_the_flat_table(queries, inputs):
    s = torch.einsum("md,nd->mn", queries, inputs) / math.sqrt(queries.size(1))
    p = F.softmax(s.reshape(-1), dim=0).reshape(s.shape)
    return torch.einsum("mn,nd->md", p, inputs)


def dot_products_as_factors(queries, inputs):
    scale = queries.size(1) ** -0.5
    return torch.stack([sum(torch.dot(q, row) * scale * row for row in inputs) for q in queries])


def sums_over_rows_lie_flat(queries, inputs):
    e = torch.exp(torch.einsum("md,nd->mn", queries, inputs) / math.sqrt(queries.size(1)))
    p = e / torch.einsum("mn->m", e)
    return torch.einsum("mn,nd->md", p, inputs)


def forgets_to_turn_the_inputs(queries, inputs):
    s = torch.mm(queries, inputs) / math.sqrt(queries.size(1))
    return torch.mm(F.softmax(s, dim=1), inputs)


def inputs_viewed_the_other_way(queries, inputs):
    n, d = inputs.shape
    keys = inputs.contiguous().view(d, n)
    return torch.mm(F.softmax(torch.mm(queries, keys) / d**0.5, dim=1), inputs)


def one_input_for_each_query(queries, inputs):
    s = (queries * inputs).sum(dim=-1) / math.sqrt(queries.size(-1))
    p = F.softmax(s, dim=0)
    return p.unsqueeze(-1) * inputs


def cosines(queries, inputs):
    s = F.cosine_similarity(queries.unsqueeze(1), inputs.unsqueeze(0), dim=2)
    return torch.einsum("mn,nd->md", F.softmax(s / math.sqrt(queries.size(1)), dim=1), inputs)


def roles_exchanged(queries, inputs):
    return F.scaled_dot_product_attention(inputs[None], queries[None], queries[None])[0]


def adds_what_was_asked(queries, inputs):
    attended = [F.softmax(inputs @ q / math.sqrt(len(q)), dim=0) @ inputs + q for q in queries]
    return torch.stack(attended)


def best_input_of_each_query(queries, inputs):
    winners = [torch.stack([torch.dot(q, row) for row in inputs]).argmax() for q in queries]
    return torch.stack([inputs[i] for i in winners])


def forgets_to_use_q(queries, inputs):
    first = queries[0]
    rows = [F.softmax(torch.mv(inputs, first) / math.sqrt(len(first)), dim=0) @ inputs for _ in queries]
    return torch.stack(rows)


def total_over_the_queries(queries, inputs):
    total = torch.zeros_like(inputs[0])
    for q in queries:
        total = total + F.softmax(torch.mv(inputs, q) / math.sqrt(len(q)), dim=0) @ inputs
    return total


def one_column_for_each_query(queries, inputs):
    columns = [F.softmax(torch.mv(inputs, q) / math.sqrt(len(q)), dim=0) @ inputs for q in queries]
    return torch.stack(columns, dim=1)


def end_to_end(queries, inputs):
    rows = [F.softmax(torch.mv(inputs, q) / math.sqrt(len(q)), dim=0) @ inputs for q in queries]
    return torch.cat(rows)


def quotients_of_exponentials(queries, inputs):
    rows = []
    for q in queries:
        e = [torch.exp(torch.dot(q, row) / math.sqrt(len(q))) for row in inputs]
        rows.append(sum(w * row for w, row in zip(e, inputs, strict=True)) / sum(e))
    return torch.stack(rows)


# ---- version 4: keys and values ----


def plain_products_with_the_keys(queries, inputs, W_k, W_v):
    k, v = F.linear(inputs, W_k.t()), F.linear(inputs, W_v.t())
    return torch.stack([torch.mv(v.T, F.softmax(torch.mv(k, q), dim=0)) for q in queries])


def root_of_the_width_of_the_inputs(queries, inputs, W_k, W_v):
    k = torch.einsum("nx,xq->nq", inputs, W_k)
    v = torch.einsum("nx,xv->nv", inputs, W_v)
    d = inputs.size(-1)
    return F.scaled_dot_product_attention(queries[None], k[None], v[None], scale=1 / math.sqrt(d))[0]


def root_of_the_width_of_the_values(queries, inputs, W_k, W_v):
    k, v = torch.mm(inputs, W_k), torch.mm(inputs, W_v)
    s = torch.einsum("mq,nq->mn", queries, k) / math.sqrt(v.size(1))
    return torch.einsum("mn,nv->mv", F.softmax(s, dim=1), v)


def queries_compete_for_keys(queries, inputs, W_k, W_v):
    k, v = torch.mm(inputs, W_k), torch.mm(inputs, W_v)
    s = torch.einsum("nq,mq->nm", k, queries) / math.sqrt(k.size(1))
    return torch.einsum("nm,nv->mv", F.softmax(s, dim=-1), v)


def keys_not_turned(queries, inputs, W_k, W_v):
    k, v = torch.mm(inputs, W_k), torch.mm(inputs, W_v)
    p = F.softmax(torch.mm(queries, k) / math.sqrt(k.size(1)), dim=1)
    return torch.mm(p, v)


def keys_reshaped(queries, inputs, W_k, W_v):
    k, v = torch.mm(inputs, W_k), torch.mm(inputs, W_v)
    p = F.softmax(torch.mm(queries, k.reshape(k.size(1), k.size(0))) / math.sqrt(k.size(1)), dim=1)
    return torch.mm(p, v)


def no_keys_at_all(queries, inputs, W_k, W_v):
    rows = []
    for q in queries:
        p = F.softmax(torch.mv(inputs, q) / math.sqrt(q.numel()), dim=0)
        rows.append(torch.einsum("n,nv->v", p, inputs @ W_v))
    return torch.stack(rows)


def neither_of_the_matrices(queries, inputs, W_k, W_v):
    return F.scaled_dot_product_attention(queries[None], inputs[None], inputs[None])[0]


def names_of_k_and_v_exchanged(queries, inputs, W_k, W_v):
    v, k = inputs @ W_k, inputs @ W_v
    return F.scaled_dot_product_attention(queries.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)).squeeze(0)


def values_out_of_keys(queries, inputs, W_k, W_v):
    k = torch.einsum("nx,xq->nq", inputs, W_k)
    v = torch.einsum("nq,qv->nv", k, W_v)
    s = torch.einsum("mq,nq->mn", queries, k) / math.sqrt(k.size(1))
    return torch.einsum("mn,nv->mv", F.softmax(s, dim=1), v)


def two_linear_layers(queries, inputs, W_k, W_v):
    k, v = F.linear(inputs, W_k), F.linear(inputs, W_v)
    return F.scaled_dot_product_attention(queries[None], k[None], v[None])[0]


def weighs_the_keys_and_adds_them(queries, inputs, W_k, W_v):
    rows = []
    for q in queries:
        keys = [row @ W_k for row in inputs]
        p = F.softmax(torch.stack([torch.dot(q, key) for key in keys]) / math.sqrt(len(q)), dim=0)
        rows.append(sum(w * key for w, key in zip(p, keys, strict=True)))
    return torch.stack(rows)


def leaves_out_the_values(queries, inputs, W_k, W_v):
    rows = []
    for q in queries:
        p = F.softmax(torch.einsum("nx,xq,q->n", inputs, W_k, q) / math.sqrt(len(q)), dim=0)
        rows.append(torch.mv(inputs.T, p))
    return torch.stack(rows)


def projects_all_three(queries, inputs, W_k, W_v):
    q, k, v = torch.mm(queries, W_k), torch.mm(inputs, W_k), torch.mm(inputs, W_v)
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def distribution_of_each_query(queries, inputs, W_k, W_v):
    rows = [F.softmax((inputs @ W_k) @ q / math.sqrt(len(q)), dim=0) for q in queries]
    return torch.stack(rows)


def closest_key_decides(queries, inputs, W_k, W_v):
    k, v = torch.mm(inputs, W_k), torch.mm(inputs, W_v)
    best = torch.einsum("mq,nq->mn", queries, k).argmax(dim=1)
    return torch.stack([v[i] for i in best])


# ---- version 5: self-attention ----


def plain_products_of_tokens(x, W_q, W_k, W_v):
    q, k, v = (F.linear(x, W.T)[None] for W in (W_q, W_k, W_v))
    return F.scaled_dot_product_attention(q, k, v, scale=1.0)[0]


def root_of_the_width_of_x(x, W_q, W_k, W_v):
    q, k, v = (torch.einsum("td,de->te", x, W) for W in (W_q, W_k, W_v))
    d_model = x.shape[1]
    p = F.softmax(torch.einsum("te,se->ts", q, k) / math.sqrt(d_model), dim=-1)
    return torch.einsum("ts,se->te", p, v)


def no_root(x, W_q, W_k, W_v):
    q, k, v = (torch.einsum("td,de->te", x, W) for W in (W_q, W_k, W_v))
    return F.scaled_dot_product_attention(q[None], k[None], v[None], scale=1 / k.size(1)).squeeze(0)


def columns_sum_to_one(x, W_q, W_k, W_v):
    q, k, v = (torch.einsum("td,de->te", x, W) for W in (W_q, W_k, W_v))
    columns = [F.softmax(torch.mv(q, key) / math.sqrt(len(key)), dim=0) for key in k]
    return torch.stack(columns, dim=1) @ v


def keys_times_queries(x, W_q, W_k, W_v):
    q, k, v = (torch.einsum("td,de->te", x, W) for W in (W_q, W_k, W_v))
    rows = []
    for key in k:
        p = F.softmax(torch.stack([torch.dot(key, query) for query in q]) / math.sqrt(len(key)), dim=0)
        rows.append(p @ v)
    return torch.stack(rows)


def one_matrix_for_two(x, W_q, W_k, W_v):
    q = k = torch.mm(x, W_q)
    v = torch.mm(x, W_v)
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def tokens_as_queries(x, W_q, W_k, W_v):
    k, v = torch.mm(x, W_k), torch.mm(x, W_v)
    s = torch.stack([torch.stack([torch.dot(token, key) for key in k]) for token in x])
    return torch.mm(F.softmax(s / math.sqrt(k.size(1)), dim=1), v)


def untrained(x, W_q, W_k, W_v):
    return F.scaled_dot_product_attention(x[None], x[None], x[None])[0]


def matrices_in_another_order(x, W_q, W_k, W_v):
    q, v, k = (torch.mm(x, W) for W in (W_q, W_k, W_v))
    return torch.mm(F.softmax(torch.mm(q, k.t()) / math.sqrt(k.size(1)), dim=1), v)


def three_linear_layers(x, W_q, W_k, W_v):
    q, k, v = F.linear(x, W_q), F.linear(x, W_k), F.linear(x, W_v)
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def a_chain_of_projections(x, W_q, W_k, W_v):
    x = torch.mm(x, W_q)
    queries = x
    x = torch.mm(x, W_k)
    keys = x
    x = torch.mm(x, W_v)
    return torch.mm(F.softmax(torch.mm(queries, keys.t()) / math.sqrt(keys.size(1)), dim=1), x)


def attention_over_the_tokens_themselves(x, W_q, W_k, W_v):
    q, k = torch.mm(x, W_q), torch.mm(x, W_k)
    return torch.stack([torch.mv(x.T, F.softmax(torch.mv(k, one) / math.sqrt(len(one)), dim=0)) for one in q])


def keys_handed_over_twice(x, W_q, W_k, W_v):
    q, k = torch.mm(x, W_q)[None], torch.mm(x, W_k)[None]
    return F.scaled_dot_product_attention(q, k, k)[0]


def weights_turned_round(x, W_q, W_k, W_v):
    q, k, v = (torch.mm(x, W) for W in (W_q, W_k, W_v))
    p = F.softmax(torch.einsum("te,se->ts", q, k) / math.sqrt(k.size(1)), dim=1)
    return torch.einsum("ts,tv->sv", p, v)


def built_in_causal(x, W_q, W_k, W_v):
    q, k, v = (torch.mm(x, W)[None] for W in (W_q, W_k, W_v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)[0]


def keys_in_a_reshape(x, W_q, W_k, W_v):
    q, k, v = (torch.mm(x, W) for W in (W_q, W_k, W_v))
    p = F.softmax(torch.mm(q, k.reshape(-1, len(k))) / math.sqrt(k.size(1)), dim=1)
    return torch.mm(p, v)


def with_a_residual(x, W_q, W_k, W_v):
    q, k, v = (torch.mm(x, W)[None] for W in (W_q, W_k, W_v))
    return x + F.scaled_dot_product_attention(q, k, v)[0]


def all_tokens_but_this_one(x, W_q, W_k, W_v):
    q, k, v = (torch.mm(x, W) for W in (W_q, W_k, W_v))
    rows = []
    for t in range(len(x)):
        others = [s for s in range(len(x)) if s != t]
        p = F.softmax(k[others] @ q[t] / math.sqrt(k.size(1)), dim=0)
        rows.append(p @ v[others])
    return torch.stack(rows)


SPELLINGS = {
    "attention_query_matrix": {
        "no-scale": torch_attention_without_scale,
        "scale-by-the-width": divides_each_score_by_the_width,
        "scale-by-the-number-of-inputs": takes_the_length_for_the_width,
        "scales-the-weights": weights_over_the_root_of_d,
        "softmax-over-queries": softmax_down_the_queries,
        "softmax-over-everything": softmax_of_the_flat_table,
        "no-softmax": dot_products_as_factors,
        "no-transpose": forgets_to_turn_the_inputs,
        "reshapes-instead-of-transposing": inputs_viewed_the_other_way,
        "row-by-row": one_input_for_each_query,
        "cosine": cosines,
        "inputs-ask": roles_exchanged,
        "adds-the-queries": adds_what_was_asked,
        "takes-the-largest": best_input_of_each_query,
        "only-the-first-query": forgets_to_use_q,
        "adds-up-the-queries": total_over_the_queries,
        "lies-on-its-side": one_column_for_each_query,
        "one-long-row": end_to_end,
        "overflows": quotients_of_exponentials,
        "sums-lie-the-wrong-way": sums_over_rows_lie_flat,
    },
    "cross_attention": {
        "no-scale": plain_products_with_the_keys,
        "scale-by-d-x": root_of_the_width_of_the_inputs,
        "scale-by-d-v": root_of_the_width_of_the_values,
        "softmax-over-queries": queries_compete_for_keys,
        "no-transpose": keys_not_turned,
        "reshapes-instead-of-transposing": keys_reshaped,
        "compares-inputs": no_keys_at_all,
        "version-3": neither_of_the_matrices,
        "swaps-the-matrices": names_of_k_and_v_exchanged,
        "values-from-keys": values_out_of_keys,
        "turned-matrices": two_linear_layers,
        "mixes-keys": weighs_the_keys_and_adds_them,
        "mixes-inputs": leaves_out_the_values,
        "projects-the-queries": projects_all_three,
        "returns-weights": distribution_of_each_query,
        "takes-the-largest": closest_key_decides,
    },
    "self_attention": {
        "no-scale": plain_products_of_tokens,
        "scale-by-token-width": root_of_the_width_of_x,
        "scale-by-the-width": no_root,
        "softmax-over-queries": columns_sum_to_one,
        "keys-ask": keys_times_queries,
        "keys-from-w-q": one_matrix_for_two,
        "raw-queries": tokens_as_queries,
        "uses-no-matrix": untrained,
        "swaps-w-k-and-w-v": matrices_in_another_order,
        "turned-w": three_linear_layers,
        "one-after-another": a_chain_of_projections,
        "mixes-the-tokens": attention_over_the_tokens_themselves,
        "mixes-the-keys": keys_handed_over_twice,
        "turned-weights": weights_turned_round,
        "sees-only-the-past": built_in_causal,
        "reshapes-instead-of-transposing": keys_in_a_reshape,
        "adds-x": with_a_residual,
        "without-itself": all_tokens_but_this_one,
    },
}
