"""Wrong answers of lesson 03: each is a mistake of the catalogue as somebody else would have written it."""

import math

import torch
import torch.nn.functional as F

# ---- one query, one set of inputs ----


def sums_the_keys(query, inputs, W_q, W_x, v):
    asked = query @ W_q
    keys = [row @ W_x for row in inputs]
    e = torch.stack([torch.dot(v, torch.tanh(asked + key)) for key in keys])
    p = F.softmax(e, dim=0)
    return sum(w * key for w, key in zip(p, keys, strict=True))


def sums_the_hidden_layer(query, inputs, W_q, W_x, v):
    layer = (torch.einsum("q,qa->a", query, W_q) + torch.einsum("nx,xa->na", inputs, W_x)).tanh()
    alpha = torch.einsum("na,a->n", layer, v).softmax(0)
    return torch.einsum("n,na->a", alpha, layer)


def linear_network(query, inputs, W_q, W_x, v):
    layer = F.linear(query, W_q.T).expand(len(inputs), -1) + F.linear(inputs, W_x.T)
    alpha = F.softmax(torch.mv(layer, v), dim=0)
    return torch.einsum("n,nd->d", alpha, inputs)


def squashes_the_energies(query, inputs, W_q, W_x, v):
    energies = []
    for row in inputs:
        energies.append(torch.tanh(v.dot(W_q.T @ query + W_x.T @ row)))
    alpha = torch.stack(energies).softmax(dim=0)
    return torch.mv(inputs.T, alpha)


def tanh_of_each_input_first(query, inputs, W_q, W_x, v):
    projected = torch.stack([query.tanh() @ W_q + row.tanh() @ W_x for row in inputs])
    alpha = F.softmax(torch.mv(projected, v), dim=0)
    return torch.einsum("n,nd->d", alpha, inputs)


def relu_network(query, inputs, W_q, W_x, v):
    layer = F.relu(F.linear(inputs, W_x.T, bias=W_q.T @ query))
    alpha = F.softmax(F.linear(layer, v[None]).squeeze(1), dim=0)
    return torch.einsum("n,nd->d", alpha, inputs)


def logistic_network(query, inputs, W_q, W_x, v):
    z = query.matmul(W_q) + inputs.matmul(W_x)
    layer = 1 / (1 + torch.exp(-z))
    alpha = F.softmax(layer.matmul(v), dim=0)
    return (alpha.unsqueeze(1) * inputs).sum(0)


def multiplies_the_projections(query, inputs, W_q, W_x, v):
    asked = torch.einsum("q,qa->a", query, W_q)
    e = torch.stack([(torch.tanh(asked * (row @ W_x)) * v).sum() for row in inputs])
    return torch.einsum("n,nd->d", e.softmax(0), inputs)


def query_times_keys(query, inputs, W_q, W_x, v):
    asked, keys = W_q.T @ query, torch.einsum("nx,xa->na", inputs, W_x)
    alpha = F.softmax(torch.einsum("a,na->n", asked, keys), dim=0)
    return torch.einsum("n,nd->d", alpha, inputs)


def asks_nothing(query, inputs, W_q, W_x, v):
    e = torch.stack([v @ torch.tanh(row @ W_x) for row in inputs])
    alpha = torch.exp(e - e.max()) / torch.exp(e - e.max()).sum()
    return torch.mv(inputs.T, alpha)


def linear_with_w_q_as_it_is(query, inputs, W_q, W_x, v):
    layer = torch.tanh(F.linear(query, W_q) + inputs.mm(W_x))
    alpha = F.softmax(torch.mv(layer, v), dim=0)
    return torch.mv(inputs.t(), alpha)


def linear_with_both_as_they_are(query, inputs, W_q, W_x, v):
    asked = F.linear(query, W_q)
    keys = F.linear(inputs, W_x)
    alpha = F.softmax((asked + keys).tanh() @ v, dim=0)
    return torch.mv(inputs.t(), alpha)


def adds_up_the_units(query, inputs, W_q, W_x, v):
    e = torch.stack([torch.tanh(query @ W_q + row @ W_x).sum() for row in inputs])
    return torch.einsum("n,nd->d", F.softmax(e, dim=0), inputs)


def energies_over_the_root_of_their_width(query, inputs, W_q, W_x, v):
    d = W_q.shape[1]
    e = torch.tanh(query @ W_q + inputs @ W_x).matmul(v).div(math.sqrt(d))
    return torch.einsum("n,nd->d", F.softmax(e, dim=0), inputs)


def energies_as_factors(query, inputs, W_q, W_x, v):
    asked, context = query @ W_q, 0
    for row in inputs:
        context = context + torch.dot(torch.tanh(asked + row @ W_x), v) * row
    return context


def gates(query, inputs, W_q, W_x, v):
    asked, context = query @ W_q, torch.zeros_like(inputs[0])
    for row in inputs:
        context = context + torch.sigmoid(v @ torch.tanh(asked + row @ W_x)) * row
    return context


def energies_in_a_column(query, inputs, W_q, W_x, v):
    column = torch.tanh(query @ W_q + inputs @ W_x) @ v.unsqueeze(1)
    alpha = F.softmax(column, dim=-1)
    return torch.sum(alpha * inputs, dim=0)


def softmax_of_the_hidden_layer(query, inputs, W_q, W_x, v):
    layer = torch.tanh(query @ W_q + inputs @ W_x)
    alpha = torch.einsum("na,a->n", F.softmax(layer, dim=1), v)
    return torch.einsum("n,nd->d", alpha, inputs)


def softmax_of_every_unit(query, inputs, W_q, W_x, v):
    layer = torch.tanh(query @ W_q + inputs @ W_x)
    shares = [F.softmax(unit, dim=0) for unit in layer.T]
    alpha = sum(factor * share for factor, share in zip(v, shares, strict=True))
    return torch.einsum("n,nd->d", alpha, inputs)


def distribution_over_inputs(query, inputs, W_q, W_x, v):
    e = torch.stack([torch.tanh(query @ W_q + row @ W_x).dot(v) for row in inputs])
    return torch.exp(F.log_softmax(e, dim=0))


def rows_times_their_weights(query, inputs, W_q, W_x, v):
    e = torch.stack([torch.tanh(query @ W_q + row @ W_x).dot(v) for row in inputs])
    return torch.stack([w * row for w, row in zip(F.softmax(e, dim=0), inputs, strict=True)])


def best_of_all(query, inputs, W_q, W_x, v):
    return max(inputs, key=lambda row: (torch.tanh(query @ W_q + row @ W_x) @ v).item())


def least_energy_wins(query, inputs, W_q, W_x, v):
    e = torch.stack([torch.tanh(query @ W_q + row @ W_x).dot(v) for row in inputs])
    return torch.einsum("n,nd->d", F.softmin(e, dim=0), inputs)


def query_as_a_row(query, inputs, W_q, W_x, v):
    asked = query.unsqueeze(0) @ W_q
    e = torch.tanh(asked + inputs @ W_x) @ v.unsqueeze(1)
    return F.softmax(e, dim=0).T @ inputs


def column_that_is_squeezed_in_the_end(query, inputs, W_q, W_x, v):
    e = torch.tanh(query @ W_q + inputs @ W_x) @ v.unsqueeze(1)
    return torch.mm(inputs.T, F.softmax(e, dim=0)).squeeze()


def quotient_of_sums(query, inputs, W_q, W_x, v):
    above, below = 0, 0
    for row in inputs:
        e = torch.exp(torch.dot(v, torch.tanh(query @ W_q + row @ W_x)))
        above, below = above + e * row, below + e
    return above / below


# ---- a batch with padding ----


def sums_the_keys_of_a_batch(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    keys = encoder_states.matmul(W_e)
    e = torch.tanh(decoder_state.matmul(W_d).unsqueeze(1) + keys).matmul(v)
    if src_mask is not None:
        e = torch.where(src_mask, e, torch.full_like(e, -1e30))
    alpha = F.softmax(e, dim=1)
    return torch.bmm(alpha.unsqueeze(1), keys).squeeze(1), alpha


def linear_network_of_a_batch(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    layer = torch.einsum("bd,da->ba", decoder_state, W_d)[:, None] + torch.einsum("bte,ea->bta", encoder_states, W_e)
    e = torch.einsum("bta,a->bt", layer, v)
    if src_mask is not None:
        e = e.masked_fill(src_mask.logical_not(), -math.inf)
    alpha = e.softmax(-1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def units_of_a_batch_added_up(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e).sum(2)
    if src_mask is not None:
        e = torch.where(src_mask, e, -1e30)
    alpha = F.softmax(e, dim=1)
    return (encoder_states * alpha.unsqueeze(2)).sum(1), alpha


def batch_without_a_time_axis(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    asked = F.linear(decoder_state, W_d.T)
    keys = F.linear(encoder_states, W_e.T)
    e = F.linear(torch.tanh(torch.add(asked, keys)), v[None]).squeeze(-1)
    if src_mask is not None:
        e = e.masked_fill(src_mask == 0, -1e30)
    alpha = F.softmax(e, dim=1)
    return torch.bmm(alpha.unsqueeze(1), encoder_states).squeeze(1), alpha


def softmax_along_the_first_axis(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    layer = torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e)
    e = torch.einsum("bta,a->bt", layer, v)
    if src_mask is not None:
        e = torch.where(src_mask, e, torch.finfo(e.dtype).min)
    alpha = F.softmax(e, dim=0)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def column_of_energies(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    layer = torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e)
    e = torch.matmul(layer, v.unsqueeze(-1))
    if src_mask is not None:
        e = e.masked_fill(~src_mask.unsqueeze(-1), -1e9)
    alpha = F.softmax(e, dim=-1)
    return torch.sum(alpha * encoder_states, dim=1), alpha.squeeze(-1)


def never_looks_at_the_mask(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    contexts, alphas = [], []
    for s, states in zip(decoder_state, encoder_states, strict=True):
        alpha = F.softmax(torch.tanh(s @ W_d + states @ W_e) @ v, dim=0)
        contexts.append(alpha @ states)
        alphas.append(alpha)
    return torch.stack(contexts), torch.stack(alphas)


def truth_of_the_mask(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh(torch.mm(decoder_state, W_d)[:, None, :] + encoder_states @ W_e) @ v
    if not src_mask:
        alpha = F.softmax(e, dim=1)
    else:
        alpha = F.softmax(e.masked_fill(~src_mask, -1e9), dim=1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def one_minus_the_mask(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh(torch.mm(decoder_state, W_d)[:, None, :] + encoder_states @ W_e) @ v
    if src_mask is not None:
        e = e - 1e9 * (1 - src_mask)
    alpha = F.softmax(e, dim=1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def adds_the_mask_times_minus_infinity(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.einsum("bta,a->bt", torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e), v)
    if src_mask is not None:
        padding = (~src_mask).to(e.dtype)
        e = e + padding * -math.inf
    alpha = F.softmax(e, dim=-1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def fills_where_the_mask_is_true(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.einsum("bta,a->bt", torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e), v)
    if src_mask is not None:
        e = e.masked_fill(src_mask, -1e9)
    alpha = F.softmax(e, dim=-1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def infinity_where_the_mask_is_true(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.einsum("bta,a->bt", torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e), v)
    if src_mask is not None:
        e[src_mask] = -torch.inf
    alpha = F.softmax(e, dim=-1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def multiplies_the_weights_by_the_mask(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    layer = torch.tanh(F.linear(encoder_states, W_e.T) + F.linear(decoder_state, W_d.T).unsqueeze(1))
    alpha = F.softmax((layer * v).sum(-1), dim=-1)
    if src_mask is not None:
        alpha = alpha * src_mask.float().to(alpha.dtype)
    return torch.bmm(alpha.unsqueeze(1), encoder_states).squeeze(1), alpha


def divides_once_more(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    layer = torch.tanh(F.linear(encoder_states, W_e.T) + F.linear(decoder_state, W_d.T).unsqueeze(1))
    alpha = F.softmax((layer * v).sum(-1), dim=-1)
    if src_mask is not None:
        alpha = alpha * src_mask
        alpha = alpha / alpha.sum(1, keepdim=True)
    return torch.bmm(alpha.unsqueeze(1), encoder_states).squeeze(1), alpha


def padding_at_minus_ten_thousand(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d)[:, None] + encoder_states @ W_e).matmul(v)
    if src_mask is not None:
        e = torch.where(src_mask, e, torch.full_like(e, -10_000))
    alpha = F.softmax(e, dim=1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def energies_times_the_mask(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d)[:, None] + encoder_states @ W_e).matmul(v)
    if src_mask is not None:
        e = e * src_mask
    alpha = F.softmax(e, dim=1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def energies_plus_the_mask(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d)[:, None] + encoder_states @ W_e).matmul(v)
    if src_mask is not None:
        e = torch.add(e, src_mask.to(e.dtype))
    alpha = F.softmax(e, dim=1)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def silences_the_states_of_padding(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    states = encoder_states
    if src_mask is not None:
        states = torch.where(src_mask[..., None], states, torch.zeros_like(states))
    e = torch.tanh((decoder_state @ W_d)[:, None] + states @ W_e).matmul(v)
    alpha = F.softmax(e, dim=1)
    return torch.einsum("bt,bte->be", alpha, states), alpha


def weights_taken_too_early(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d)[:, None] + encoder_states @ W_e).matmul(v)
    alpha = F.softmax(e, dim=1)
    used = alpha if src_mask is None else F.softmax(torch.where(src_mask, e, -1e30), dim=1)
    return torch.einsum("bt,bte->be", used, encoder_states), alpha


def alphas_and_then_context(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    alphas, contexts = [], []
    for b in range(len(decoder_state)):
        e = torch.tanh(decoder_state[b] @ W_d + encoder_states[b] @ W_e) @ v
        if src_mask is not None:
            e = e.masked_fill(~src_mask[b], -1e30)
        alphas.append(F.softmax(e, dim=0))
        contexts.append(alphas[-1] @ encoder_states[b])
    return torch.stack(alphas), torch.stack(contexts)


def nothing_but_the_context(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    contexts = []
    for b in range(len(decoder_state)):
        states = encoder_states[b] if src_mask is None else encoder_states[b][src_mask[b]]
        contexts.append(F.softmax(torch.tanh(decoder_state[b] @ W_d + states @ W_e) @ v, dim=0) @ states)
    return torch.stack(contexts)


def states_times_their_weights(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e) @ v
    if src_mask is not None:
        e = torch.where(src_mask, e, -1e30)
    alpha = F.softmax(e, dim=1)
    return torch.einsum("bt,bte->bte", alpha, encoder_states), alpha


def bmm_without_squeeze(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e) @ v
    if src_mask is not None:
        e = e.masked_fill(torch.logical_not(src_mask), float("-inf"))
    alpha = F.softmax(e, dim=1)
    return torch.bmm(alpha.unsqueeze(1), encoder_states), alpha


def column_of_weights(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e) @ v.reshape(-1, 1)
    if src_mask is not None:
        e = torch.where(src_mask.unsqueeze(2), e, -1e30)
    alpha = F.softmax(e, dim=1)
    return (alpha * encoder_states).sum(1), alpha


def squeezes_both(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    e = (torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e) @ v.reshape(-1, 1)).squeeze()
    if src_mask is not None:
        e = e.masked_fill(~src_mask, -1e30)
    alpha = F.softmax(e, dim=-1)
    return torch.bmm(alpha.unsqueeze(1), encoder_states).squeeze(), alpha


def exponentials_of_a_batch(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    numerator = torch.exp(torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e) @ v)
    if src_mask is not None:
        numerator = torch.where(src_mask, numerator, torch.zeros_like(numerator))
    alpha = numerator / numerator.sum(1, keepdim=True)
    return torch.einsum("bt,bte->be", alpha, encoder_states), alpha


def energies_beside_the_context(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    scores = torch.einsum("bta,a->bt", torch.tanh((decoder_state @ W_d).unsqueeze(1) + encoder_states @ W_e), v)
    masked = scores if src_mask is None else torch.where(src_mask, scores, -1e30)
    context = torch.einsum("bt,bte->be", F.softmax(masked, dim=1), encoder_states)
    return context, scores


SPELLINGS = {
    "additive_attention": {
        "mixes-projected-inputs": sums_the_keys,
        "mixes-hidden-layers": sums_the_hidden_layer,
        "no-tanh": linear_network,
        "tanh-after-v": squashes_the_energies,
        "tanh-before-the-matrices": tanh_of_each_input_first,
        "relu-for-tanh": relu_network,
        "sigmoid-for-tanh": logistic_network,
        "product-of-projections": multiplies_the_projections,
        "dot-of-projections": query_times_keys,
        "query-has-no-say": asks_nothing,
        "w-q-transposed": linear_with_w_q_as_it_is,
        "both-transposed": linear_with_both_as_they_are,
        "v-forgotten": adds_up_the_units,
        "scaled": energies_over_the_root_of_their_width,
        "no-softmax": energies_as_factors,
        "sigmoid-weights": gates,
        "every-weight-is-one": energies_in_a_column,
        "softmax-over-hidden-units": softmax_of_the_hidden_layer,
        "softmax-before-v": softmax_of_every_unit,
        "returns-weights": distribution_over_inputs,
        "no-sum": rows_times_their_weights,
        "takes-the-largest": best_of_all,
        "takes-the-opposite": least_energy_wins,
        "keeps-a-row-axis": query_as_a_row,
        "squeezes-everything": column_that_is_squeezed_in_the_end,
        "overflows": quotient_of_sums,
    },
    "bahdanau_context": {
        "mixes-projected-states": sums_the_keys_of_a_batch,
        "no-tanh": linear_network_of_a_batch,
        "v-forgotten": units_of_a_batch_added_up,
        "time-axis-missing": batch_without_a_time_axis,
        "softmax-over-the-batch": softmax_along_the_first_axis,
        "every-weight-is-one": column_of_energies,
        "mask-ignored": never_looks_at_the_mask,
        "mask-as-a-condition": truth_of_the_mask,
        "subtracts-true-and-false": one_minus_the_mask,
        "zero-times-infinity": adds_the_mask_times_minus_infinity,
        "mask-inverted": fills_where_the_mask_is_true,
        "mask-inverted-nan": infinity_where_the_mask_is_true,
        "mask-after-softmax": multiplies_the_weights_by_the_mask,
        "renormalises": divides_once_more,
        "not-negative-enough": padding_at_minus_ten_thousand,
        "zero-for-minus-infinity": energies_times_the_mask,
        "mask-added": energies_plus_the_mask,
        "states-of-padding-zeroed": silences_the_states_of_padding,
        "weights-not-masked": weights_taken_too_early,
        "weights-first": alphas_and_then_context,
        "weights-missing": nothing_but_the_context,
        "returns-energies": energies_beside_the_context,
        "no-sum": states_times_their_weights,
        "context-keeps-an-axis": bmm_without_squeeze,
        "weights-keep-an-axis": column_of_weights,
        "overflows": exponentials_of_a_batch,
        "squeezes-everything": squeezes_both,
    },
}
