"""Lesson 03, version 0 alone and in a decoder: energies by a loop, then torch's own attention."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise


def by_loop(query, inputs, W_q, W_x, v):
    """One input after the other through torch's linear layers, then torch's attention: v asks the hidden layers."""
    hidden = torch.stack([torch.tanh(F.linear(query, W_q.T) + F.linear(row, W_x.T)) for row in inputs])  # (N, D_a)
    return F.scaled_dot_product_attention(v[None, None], hidden[None], inputs[None], scale=1.0)[0, 0]


def hidden_of(query, inputs, W_q, W_x):
    return torch.tanh(query @ W_q + inputs @ W_x)


def energies_of(query, inputs, W_q, W_x, v):
    return hidden_of(query, inputs, W_q, W_x) @ v


def mix(energies, inputs):
    return torch.softmax(energies, 0) @ inputs


def mixes_projected_inputs(query, inputs, W_q, W_x, v):
    """The projected inputs were mixed, inputs W_x. The projection is for scoring only: what is mixed are the inputs
    as they came in."""
    return mix(energies_of(query, inputs, W_q, W_x, v), inputs @ W_x)


def mixes_hidden_layers(query, inputs, W_q, W_x, v):
    """The hidden layers were mixed. They only serve to find the energies: which tensor holds what is searched?"""
    return mix(energies_of(query, inputs, W_q, W_x, v), hidden_of(query, inputs, W_q, W_x))


def no_tanh(query, inputs, W_q, W_x, v):
    """The tanh is missing. Without it the query adds the same number to all N energies, and softmax does not notice:
    whatever is asked, the weights stay the same."""
    return mix((query @ W_q + inputs @ W_x) @ v, inputs)


def tanh_after_v(query, inputs, W_q, W_x, v):
    """The tanh came after v, around the finished energy. It belongs around the hidden layer: how many numbers has
    that layer for each input?"""
    return mix(torch.tanh((query @ W_q + inputs @ W_x) @ v), inputs)


def tanh_before_the_matrices(query, inputs, W_q, W_x, v):
    """The tanh was applied to query and inputs before they were projected. Then the query adds the same number to
    every energy, and softmax does not notice. First project and add, then tanh."""
    return mix((torch.tanh(query) @ W_q + torch.tanh(inputs) @ W_x) @ v, inputs)


def sigmoid_for_tanh(query, inputs, W_q, W_x, v):
    """The hidden layer went through a sigmoid. Version 0 uses tanh, which can also be negative."""
    return mix(torch.sigmoid(query @ W_q + inputs @ W_x) @ v, inputs)


def relu_for_tanh(query, inputs, W_q, W_x, v):
    """The hidden layer went through a ReLU. Version 0 uses tanh, which can also be negative and never exceeds 1."""
    return mix(torch.relu(query @ W_q + inputs @ W_x) @ v, inputs)


def product_of_projections(query, inputs, W_q, W_x, v):
    """The two projections were multiplied. This version is called additive: what happens to them before the tanh?"""
    return mix(torch.tanh((query @ W_q) * (inputs @ W_x)) @ v, inputs)


def dot_of_projections(query, inputs, W_q, W_x, v):
    """The energy is the dot product of the two projections: tanh and v were not used. Dot products come with version
    1; version 0 adds."""
    return mix((inputs @ W_x) @ (query @ W_q), inputs)


def difference_of_projections(query, inputs, W_q, W_x, v):
    """One projection was subtracted from the other. They have to be added; a minus sign, where one is needed, is
    learned in the matrices."""
    return mix(torch.tanh(inputs @ W_x - query @ W_q) @ v, inputs)


def query_has_no_say(query, inputs, W_q, W_x, v):
    """The weights do not depend on the query: it was left out, or it was added outside the tanh, where softmax
    cancels it. Its projection belongs inside the tanh, beside that of the input."""
    return mix(torch.tanh(inputs @ W_x) @ v, inputs)


def query_not_projected(query, inputs, W_q, W_x, v):
    """The query was added without its projection. Which matrix brings it from width D_q to the common width D_a?"""
    return mix(torch.tanh(query + inputs @ W_x) @ v, inputs)


def inputs_not_projected(query, inputs, W_q, W_x, v):
    """The inputs were added without their projection. Which matrix brings them from width D_x to the common width
    D_a?"""
    return mix(torch.tanh(query @ W_q + inputs) @ v, inputs)


def W_q_transposed(query, inputs, W_q, W_x, v):
    """W_q was used lying on its side. It is stored as (D_q, D_a), in times out: the query stands to its left."""
    return mix(torch.tanh(W_q @ query + inputs @ W_x) @ v, inputs)


def W_x_transposed(query, inputs, W_q, W_x, v):
    """W_x was used lying on its side. It is stored as (D_x, D_a), in times out: no transpose is needed."""
    return mix(torch.tanh(query @ W_q + inputs @ W_x.T) @ v, inputs)


def both_transposed(query, inputs, W_q, W_x, v):
    """Both matrices were used lying on their sides, as torch.nn.Linear stores them. Here they are stored in times
    out: no transpose is needed."""
    return mix(torch.tanh(W_q @ query + inputs @ W_x.T) @ v, inputs)


def matrices_exchanged(query, inputs, W_q, W_x, v):
    """The two matrices were exchanged: W_q is for the query, W_x for the inputs."""
    return mix(torch.tanh(query @ W_x + inputs @ W_q) @ v, inputs)


def v_forgotten(query, inputs, W_q, W_x, v):
    """The hidden units were added up as they are. Each has its own weight in v: how does v make one number of
    them?"""
    return mix(hidden_of(query, inputs, W_q, W_x).sum(-1), inputs)


def scaled(query, inputs, W_q, W_x, v):
    """The energies were divided by a root of the width. Scaling comes with version 2; version 0 takes them as they
    are."""
    return mix(energies_of(query, inputs, W_q, W_x, v) / v.shape[0] ** 0.5, inputs)


def no_softmax(query, inputs, W_q, W_x, v):
    """The energies were used as weights as they are. They have to go through a softmax first, so that they are
    positive and sum to one."""
    return energies_of(query, inputs, W_q, W_x, v) @ inputs


def sigmoid_weights(query, inputs, W_q, W_x, v):
    """Each energy went through a sigmoid by itself. The weights have to compete and sum to one: that takes a
    softmax."""
    return torch.sigmoid(energies_of(query, inputs, W_q, W_x, v)) @ inputs


def divides_by_the_sum(query, inputs, W_q, W_x, v):
    """The energies were divided by their sum, without the exponential. A negative energy then gives a negative
    weight: use a softmax."""
    energies = energies_of(query, inputs, W_q, W_x, v)
    return energies / energies.sum() @ inputs


def every_weight_is_one(query, inputs, W_q, W_x, v):
    """Every input got the weight 1, so they were just added up: the softmax shared among other numbers, such as one
    energy alone, or the hidden units of one input. Who are the N that have to share?"""
    return torch.softmax(energies_of(query, inputs, W_q, W_x, v)[:, None], -1)[:, 0] @ inputs


def softmax_over_hidden_units(query, inputs, W_q, W_x, v):
    """The softmax ran over the hidden units of each input. First v makes one energy of them, then the N energies
    share."""
    return torch.softmax(hidden_of(query, inputs, W_q, W_x), -1) @ v @ inputs


def softmax_before_v(query, inputs, W_q, W_x, v):
    """The softmax came before v: every hidden unit got weights of its own. First v makes one energy for each input,
    then the N energies share."""
    return torch.softmax(hidden_of(query, inputs, W_q, W_x), 0) @ v @ inputs


def returns_weights(query, inputs, W_q, W_x, v):
    """These are the weights, (N,). They still have to mix the inputs into one vector (D_x,)."""
    return torch.softmax(energies_of(query, inputs, W_q, W_x, v), 0)


def returns_energies(query, inputs, W_q, W_x, v):
    """These are the energies, (N,). Softmax and the weighted sum are still missing."""
    return energies_of(query, inputs, W_q, W_x, v)


def no_sum(query, inputs, W_q, W_x, v):
    """Each input was multiplied by its weight, but they were not added up: (N, D_x) instead of (D_x,)."""
    return torch.softmax(energies_of(query, inputs, W_q, W_x, v), 0)[:, None] * inputs


def averages(query, inputs, W_q, W_x, v):
    """Every input counts the same here. The weights have to come from the energies."""
    return inputs.mean(0)


def takes_the_largest(query, inputs, W_q, W_x, v):
    """Only the input with the largest energy was kept. That is a hard search; softmax makes it soft, and lets every
    input count by its share."""
    return inputs[energies_of(query, inputs, W_q, W_x, v).argmax()]


def takes_the_opposite(query, inputs, W_q, W_x, v):
    """The energies have the wrong sign: the inputs that fit worst got the largest weights."""
    return mix(-energies_of(query, inputs, W_q, W_x, v), inputs)


def keeps_a_row_axis(query, inputs, W_q, W_x, v):
    """The result is a matrix with one row, (1, D_x). A vector (D_x,) is asked for."""
    return mix(energies_of(query, inputs, W_q, W_x, v), inputs)[None]


def squeezes_everything(query, inputs, W_q, W_x, v):
    """squeeze() without an axis takes away every axis of length 1: of inputs that are 1 wide, more goes than was meant.
    Which axis did you want to lose?"""
    return mix(energies_of(query, inputs, W_q, W_x, v), inputs)[None].squeeze()


def overflows(query, inputs, W_q, W_x, v):
    """With large energies the exponential becomes infinite, and infinity divided by infinity is NaN. Use
    torch.softmax, or subtract the largest energy first: that changes no weight."""
    weights = torch.exp(energies_of(query, inputs, W_q, W_x, v))
    return weights / weights.sum() @ inputs


def make(generator, N, D_q, D_x, D_a):
    shapes = (D_q,), (N, D_x), (D_q, D_a), (D_x, D_a), (D_a,)
    query, inputs, W_q, W_x, v = (torch.randn(shape, generator=generator) for shape in shapes)
    return query, inputs, W_q / D_q**0.5, W_x / D_x**0.5, 2 * v


def weights_sum_to_one(output, generator):
    query, inputs, W_q, W_x, v = make(generator, 5, 2, 3, 4)
    return abs(output(query, torch.cat([inputs[:, :2], torch.ones(5, 1)], 1), W_q, W_x, v)[-1] - 1) < 1e-4


def order_is_free(output, generator):
    query, inputs, *weights = make(generator, 5, 2, 3, 4)
    return torch.allclose(output(query, inputs.flip(0), *weights), output(query, inputs, *weights), atol=1e-4)


def stays_within_the_inputs(output, generator):
    query, inputs, *weights = make(generator, 5, 2, 3, 4)
    out = output(query, inputs, *weights)
    return bool((out <= inputs.amax(0) + 1e-4).all() and (out >= inputs.amin(0) - 1e-4).all())


def depends_on_the_query(output, generator):
    query, inputs, *weights = make(generator, 5, 2, 3, 4)
    return not torch.allclose(output(query, inputs, *weights), output(-query, inputs, *weights), atol=1e-4)


# ---- the same in a batch, with padding, and with the weights returned ----


def by_torch(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    """One sentence after the other, its padding cut out; torch's attention mixes states and one-hot vectors."""
    contexts, weights = [], []
    for b, states in enumerate(encoder_states):
        real = torch.arange(len(states)) if src_mask is None else src_mask[b].nonzero()[:, 0]
        hidden = torch.tanh(F.linear(decoder_state[b], W_d.T) + F.linear(states[real], W_e.T))
        places = torch.eye(len(states), dtype=v.dtype)[real]
        values = torch.cat([states[real], places], -1)[None]
        out = F.scaled_dot_product_attention(v[None, None], hidden[None], values, scale=1.0)[0, 0]
        contexts.append(out[: states.shape[-1]])
        weights.append(out[states.shape[-1] :])
    return torch.stack(contexts), torch.stack(weights)


def hide(energies, src_mask):
    return energies if src_mask is None else energies.masked_fill(~src_mask, float("-inf"))


def batch_hidden(s, h, W_d, W_e):
    return torch.tanh((s @ W_d)[:, None] + h @ W_e)


def finish(energies, h, mask, weigh=lambda e: torch.softmax(e, -1)):
    weights = weigh(hide(energies, mask))
    return torch.einsum("bt,bth->bh", weights, h), weights


def batch_mistakes():
    """Mistakes of a decoder's attention; s is the decoder's state, h the encoder's states."""

    def mixes_projected_states(s, h, W_d, W_e, v, mask=None):
        """The projected states were mixed, encoder_states W_e. The projection is for scoring only: the context is a
        mix of the states as they came in."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h @ W_e, mask)

    def no_tanh(s, h, W_d, W_e, v, mask=None):
        """The tanh is missing. Without it the decoder's state adds the same number to all T energies, and softmax
        does not notice: the decoder would look at the same places in every step."""
        return finish(((s @ W_d)[:, None] + h @ W_e) @ v, h, mask)

    def tanh_after_v(s, h, W_d, W_e, v, mask=None):
        """The tanh came after v, around the finished energy. It belongs around the hidden layer, which has A numbers
        for each token."""
        return finish(torch.tanh(((s @ W_d)[:, None] + h @ W_e) @ v), h, mask)

    def sigmoid_for_tanh(s, h, W_d, W_e, v, mask=None):
        """The hidden layer went through a sigmoid. Version 0 uses tanh, which can also be negative."""
        return finish(torch.sigmoid((s @ W_d)[:, None] + h @ W_e) @ v, h, mask)

    def relu_for_tanh(s, h, W_d, W_e, v, mask=None):
        """The hidden layer went through a ReLU. Version 0 uses tanh, which can also be negative and never exceeds
        1."""
        return finish(torch.relu((s @ W_d)[:, None] + h @ W_e) @ v, h, mask)

    def product_of_projections(s, h, W_d, W_e, v, mask=None):
        """The two projections were multiplied. This attention is called additive: what happens to them before the
        tanh?"""
        return finish(torch.tanh((s @ W_d)[:, None] * (h @ W_e)) @ v, h, mask)

    def state_has_no_say(s, h, W_d, W_e, v, mask=None):
        """The weights do not depend on the decoder's state: it was left out, or it was added outside the tanh, where
        softmax cancels it. Its projection belongs inside the tanh."""
        return finish(torch.tanh(h @ W_e) @ v, h, mask)

    def state_not_projected(s, h, W_d, W_e, v, mask=None):
        """The decoder's state was added without its projection. Which matrix brings it from width H_d to the common
        width A?"""
        return finish(torch.tanh(s[:, None] + h @ W_e) @ v, h, mask)

    def W_d_transposed(s, h, W_d, W_e, v, mask=None):
        """W_d was used lying on its side. It is stored as (H_d, A), in times out: no transpose is needed."""
        return finish(torch.tanh((s @ W_d.T)[:, None] + h @ W_e) @ v, h, mask)

    def W_e_transposed(s, h, W_d, W_e, v, mask=None):
        """W_e was used lying on its side. It is stored as (H_e, A), in times out: no transpose is needed."""
        return finish(torch.tanh((s @ W_d)[:, None] + h @ W_e.T) @ v, h, mask)

    def both_transposed(s, h, W_d, W_e, v, mask=None):
        """Both matrices were used lying on their sides, as torch.nn.Linear stores them. Here they are stored in
        times out: no transpose is needed."""
        return finish(torch.tanh((s @ W_d.T)[:, None] + h @ W_e.T) @ v, h, mask)

    def matrices_exchanged(s, h, W_d, W_e, v, mask=None):
        """The two matrices were exchanged: W_d is for the decoder's state, W_e for the encoder's states."""
        return finish(torch.tanh((s @ W_e)[:, None] + h @ W_d) @ v, h, mask)

    def v_forgotten(s, h, W_d, W_e, v, mask=None):
        """The hidden units were added up as they are. Each has its own weight in v."""
        return finish(batch_hidden(s, h, W_d, W_e).sum(-1), h, mask)

    def scaled(s, h, W_d, W_e, v, mask=None):
        """The energies were divided by a root of the width. Scaling comes with version 2; version 0 takes them as
        they are."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v / v.shape[0] ** 0.5, h, mask)

    def time_axis_missing(s, h, W_d, W_e, v, mask=None):
        """The decoder's states, (B, A), were added to (B, T, A) without an axis for T: torch lined up sentence b with
        token b. Which index gives them shape (B, 1, A)?"""
        return finish(torch.tanh(s @ W_d + h @ W_e) @ v, h, mask)

    def one_state_for_all(s, h, W_d, W_e, v, mask=None):
        """The first sentence's decoder state was used for the whole batch. Each sentence has its own."""
        return finish(batch_hidden(s[:1], h, W_d, W_e) @ v, h, mask)

    def softmax_over_the_batch(s, h, W_d, W_e, v, mask=None):
        """The softmax ran over the batch: sentences competed with each other. Each sentence shares out its weights
        among its own T tokens."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask, lambda e: torch.softmax(e, 0))

    def softmax_over_everything(s, h, W_d, W_e, v, mask=None):
        """One softmax was taken over all tokens of all sentences. The weights of each sentence have to sum to one."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask, lambda e: torch.softmax(e.flatten(), 0).view_as(e))

    def every_weight_is_one(s, h, W_d, W_e, v, mask=None):
        """Every state got the weight 1, so they were just added up: the softmax shared among other numbers, such as
        one energy alone, or the hidden units of one token. Who are the T that have to share?"""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, None, torch.ones_like)

    def no_softmax(s, h, W_d, W_e, v, mask=None):
        """The energies were used as weights as they are. They have to go through a softmax first, so that they are
        positive and sum to one."""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies * mask, h, None, lambda e: e)

    def sigmoid_weights(s, h, W_d, W_e, v, mask=None):
        """Each energy went through a sigmoid by itself. The weights have to compete and sum to one: that takes a
        softmax."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask, torch.sigmoid)

    def mask_ignored(s, h, W_d, W_e, v, mask=None):
        """The mask was not used: padding gets weight. Where must it stop padding, before or after the softmax?"""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, None)

    def mask_as_a_condition(s, h, W_d, W_e, v, mask=None):
        """`if src_mask:` asks a whole tensor of answers for one answer. What is to be found out is whether there is a
        mask at all: is it None?"""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask if mask else None)

    def subtracts_true_and_false(s, h, W_d, W_e, v, mask=None):
        """True and False cannot be subtracted from a number: torch refuses `1 - src_mask`. Which sign turns a mask
        round, so that it is True at padding?"""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies + (1 - mask) * -1e9, h, None)

    def zero_times_infinity(s, h, W_d, W_e, v, mask=None):
        """The mask was multiplied by minus infinity and added. At real tokens that is zero times infinity, which is
        NaN. masked_fill or torch.where write minus infinity at padding alone."""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies + ~mask * float("-inf"), h, None)

    def mask_inverted(s, h, W_d, W_e, v, mask=None):
        """The mask was read the wrong way round: only padding got weight. True marks the real tokens."""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies.masked_fill(mask, -1e9), h, None)

    def mask_inverted_nan(s, h, W_d, W_e, v, mask=None):
        """The mask was read the wrong way round: only padding got weight, and a sentence without padding got NaN. True
        marks the real tokens."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, None if mask is None else ~mask)

    def mask_after_softmax(s, h, W_d, W_e, v, mask=None):
        """The weights of padding were set to zero after the softmax, and what is left no longer sums to one. What can
        be done to the energies before the softmax?"""
        weights = torch.softmax(batch_hidden(s, h, W_d, W_e) @ v, -1)
        return finish(weights if mask is None else weights * mask, h, None, lambda w: w)

    def infinity_after_the_softmax(s, h, W_d, W_e, v, mask=None):
        """The weights of padding became minus infinity, after the softmax. A weight that is to vanish is 0; which
        number, and where, becomes a 0 through the softmax?"""
        return finish(hide(torch.softmax(batch_hidden(s, h, W_d, W_e) @ v, -1), mask), h, None, lambda w: w)

    def renormalises(s, h, W_d, W_e, v, mask=None):
        """Padding was struck out after its exponentials had been taken, and the rest was divided by its sum. On paper
        this is right. But where padding has a far larger energy, all real tokens round to zero, and 0 / 0 is NaN. What
        if padding never took part?"""
        weights = torch.softmax(batch_hidden(s, h, W_d, W_e) @ v, -1)
        weights = weights if mask is None else weights * mask
        return finish(weights / weights.sum(-1, keepdim=True), h, None, lambda w: w)

    def not_negative_enough(s, h, W_d, W_e, v, mask=None):
        """The energy of padding is a negative number, but not far enough down: where the real energies are lower
        still, padding wins. Which number is below every energy that can occur?"""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies.masked_fill(~mask, -100.0), h, None)

    def zero_for_minus_infinity(s, h, W_d, W_e, v, mask=None):
        """The energies of padding were set to zero. The exponential of zero is 1, so padding still gets weight. Which
        energy has an exponential of zero?"""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies * mask, h, None)

    def mask_added(s, h, W_d, W_e, v, mask=None):
        """The mask was added to the energies: real tokens gained 1, and padding kept its weight almost entirely. Which
        number has to be added at padding, so that nothing is left of it?"""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies if mask is None else energies + mask, h, None)

    def states_of_padding_zeroed(s, h, W_d, W_e, v, mask=None):
        """The encoder states of padding were set to zero, but they still take part in the softmax and take weight
        from the real tokens."""
        h = h if mask is None else h * mask[..., None]
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, None)

    def weights_not_masked(s, h, W_d, W_e, v, mask=None):
        """The context is right, but the weights that came with it were taken before the mask: padding has weight in
        them. Both results have to come from the same weights."""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies, h, mask)[0], torch.softmax(energies, -1)

    def returns_energies(s, h, W_d, W_e, v, mask=None):
        """The second result holds the energies before the softmax. The weights are asked for."""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies, h, mask)[0], energies

    def returns_masked_energies(s, h, W_d, W_e, v, mask=None):
        """The second result holds the energies after masking, before the softmax. The weights are asked for."""
        energies = batch_hidden(s, h, W_d, W_e) @ v
        return finish(energies, h, mask)[0], hide(energies, mask)

    def weights_first(s, h, W_d, W_e, v, mask=None):
        """Both results are right, and in the wrong order: the context comes first, then the weights."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)[::-1]

    def weights_missing(s, h, W_d, W_e, v, mask=None):
        """Only the context was returned. The weights are asked for, too: context, weights."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)[0]

    def context_missing(s, h, W_d, W_e, v, mask=None):
        """Only the weights were returned. The context is asked for, too: context, weights."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)[1]

    def no_sum(s, h, W_d, W_e, v, mask=None):
        """Each state was multiplied by its weight, but they were not added up over T: (B, T, H_e) instead of
        (B, H_e)."""
        weights = finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)[1]
        return weights[..., None] * h, weights

    def context_keeps_an_axis(s, h, W_d, W_e, v, mask=None):
        """The context has shape (B, 1, H_e): the axis that helped in the matrix product is still there. (B, H_e) is
        asked for."""
        context, weights = finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)
        return context[:, None], weights

    def weights_keep_an_axis(s, h, W_d, W_e, v, mask=None):
        """The weights have shape (B, T, 1): the axis that the product with v left is still there. (B, T) is asked
        for."""
        context, weights = finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)
        return context, weights[..., None]

    def squeezes_everything(s, h, W_d, W_e, v, mask=None):
        """squeeze() without an axis takes away every axis of length 1: with one sentence in the batch, or one token,
        more goes than was meant. Say which axis, as in squeeze(1)."""
        context, weights = finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask)
        return context.squeeze(), weights.squeeze()

    def averages(s, h, W_d, W_e, v, mask=None):
        """Every token counts the same here. The weights have to come from the energies."""
        return finish(torch.zeros_like(h[..., 0]), h, mask)

    def takes_the_largest(s, h, W_d, W_e, v, mask=None):
        """Only the state with the largest energy was kept. That is a hard search; softmax makes it soft, and lets
        every real token count by its share."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask,
                      lambda e: F.one_hot(e.argmax(-1), e.shape[-1]).to(e.dtype))

    def takes_the_opposite(s, h, W_d, W_e, v, mask=None):
        """The energies have the wrong sign: the tokens that fit worst got the largest weights."""
        return finish(-(batch_hidden(s, h, W_d, W_e) @ v), h, mask)

    def one_number_subtracted_from_all(s, h, W_d, W_e, v, mask=None):
        """The largest energy of the whole batch was subtracted before the exponential. A sentence far below it becomes
        all zeros, and zero divided by zero is NaN. Whose largest energy should each sentence lose?"""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask,
                      lambda e: torch.exp(e - e.max()) / torch.exp(e - e.max()).sum(-1, True))

    def overflows(s, h, W_d, W_e, v, mask=None):
        """With large energies the exponential becomes infinite, and infinity divided by infinity is NaN. Use
        torch.softmax, or subtract each sentence's largest energy first: that changes no weight."""
        return finish(batch_hidden(s, h, W_d, W_e) @ v, h, mask, lambda e: torch.exp(e) / torch.exp(e).sum(-1, True))

    return tuple(locals().values())


def make_batch(generator, B, T, H_d, H_e, A):
    """Sentences of all lengths from 1 to T: padding stands at their ends."""
    shapes = (B, H_d), (B, T, H_e), (H_d, A), (H_e, A), (A,)
    s, h, W_d, W_e, v = (torch.randn(shape, generator=generator) for shape in shapes)
    lengths = torch.arange(T, T - B, -1).clamp_min(1)
    return s, h, W_d / H_d**0.5, W_e / H_e**0.5, 2 * v, torch.arange(T) < lengths[:, None]


def weights_of_a_sentence_sum_to_one(output, generator):
    _, weights = output(*make_batch(generator, 3, 5, 2, 4, 6))
    return torch.allclose(weights.sum(1), torch.ones(3), atol=1e-4)


def padding_weighs_nothing(output, generator):
    *args, mask = make_batch(generator, 3, 5, 2, 4, 6)
    return bool((output(*args, mask)[1][~mask].abs() < 1e-6).all())


def the_context_is_the_weighted_sum(output, generator):
    _, states, *_ = args = make_batch(generator, 3, 5, 2, 4, 6)
    context, weights = output(*args)
    return torch.allclose(context, (weights[..., None] * states).sum(1), atol=1e-4)


def a_batch_is_its_sentences(output, generator):
    s, h, W_d, W_e, v, mask = make_batch(generator, 3, 5, 2, 4, 6)
    alone = output(s[1:2], h[1:2], W_d, W_e, v, mask[1:2])
    return all(torch.allclose(all_[1:2], one, atol=1e-4)
               for all_, one in zip(output(s, h, W_d, W_e, v, mask), alone, strict=True))


def other_masks(generator):
    """No mask at all, None in its place, and real tokens that stand at the end or apart from each other."""
    *args, _ = make_batch(generator, 3, 4, 2, 5, 6)
    apart = torch.tensor([[False, False, True, True], [True, False, False, True], [False, True, True, False]])
    return [Call(tuple(args)), Call((*args, None)), Call((*args, apart))]


SATURATING = (torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]),  # every tanh becomes exactly 1 or -1
              torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, -2.0]]))
STAR = torch.tensor([[2.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
EXERCISES = (
    Exercise(
        name="additive_attention",
        lesson="03",
        asked="an energy v · tanh(query W_q + input W_x) for every input, softmax over the N energies, and with these "
        "weights the weighted sum of the inputs as they came in: one vector (D_x,).",
        verified=attention.additive_attention,
        oracle=by_loop,
        examples=(
            (torch.tensor([1.0, 2.0]), STAR, torch.tensor([[1.0, 0.0], [-1.0, 0.5]]),
             torch.tensor([[1.0, -1.0], [0.0, 1.0]]), torch.tensor([2.0, -1.0])),
            (torch.tensor([1.0]), torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]), torch.tensor([[1.0, -1.0]]),
             torch.tensor([[1.0, 0.0], [-1.0, 0.5], [0.0, 1.0]]), torch.tensor([1.0, 2.0])),
        ),
        sizes=((5, 2, 3, 4), (3, 6, 5, 2), (4, 4, 4, 4), (1, 3, 2, 4), (3, 2, 1, 4), (3, 2, 4, 1), (1, 1, 1, 1)),
        square_size=(5, 4, 4, 4),
        make=make,
        extremes=tuple((torch.tensor([0.0, 20.0]), torch.tensor([[40.0, 0.0], [0.0, 30.0], [-40.0, 2.0]]), *SATURATING,
                        torch.tensor([0.5, high, 0.5])) for high in (600.0, -600.0)),
        by_hand=(mixes_projected_inputs, mixes_hidden_layers, no_tanh, tanh_after_v, tanh_before_the_matrices,
                  sigmoid_for_tanh, relu_for_tanh, product_of_projections, dot_of_projections,
                  difference_of_projections, query_has_no_say, query_not_projected, inputs_not_projected,
                  W_q_transposed, W_x_transposed, both_transposed, matrices_exchanged, v_forgotten, scaled, no_softmax,
                  sigmoid_weights, divides_by_the_sum, every_weight_is_one, softmax_over_hidden_units,
                  softmax_before_v, returns_weights, returns_energies, no_sum, averages, takes_the_largest,
                  takes_the_opposite, keeps_a_row_axis, squeezes_everything, overflows),
        properties=(
            ("A feature that is 1 in every input does not stay 1: the result is no weighted average.",
             weights_sum_to_one),
            ("The order of the inputs changes the result.", order_is_free),
            ("The result lies outside the range of the inputs: it is not a mix of them.", stays_within_the_inputs),
            ("The result does not depend on the query.", depends_on_the_query),
        ),
    ),
    Exercise(
        name="bahdanau_context",
        lesson="03",
        asked="for every sentence the energies v · tanh(decoder_state W_d + encoder_state W_e), softmax over its real "
        "tokens, and the weighted sum of its encoder states: context (B, H_e) and weights (B, T), in this order.",
        verified=attention.bahdanau_context,
        oracle=by_torch,
        examples=(
            (torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.stack([STAR, STAR.flip(0) + 1]),
             torch.tensor([[1.0, 0.0], [-1.0, 0.5]]), torch.tensor([[1.0, -1.0], [0.0, 1.0]]),
             torch.tensor([2.0, -1.0])),
            (torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.stack([STAR, STAR.flip(0) + 1]),
             torch.tensor([[1.0, 0.0], [-1.0, 0.5]]), torch.tensor([[1.0, -1.0], [0.0, 1.0]]),
             torch.tensor([2.0, -1.0]), torch.tensor([[True, True, True], [True, True, False]])),
        ),
        sizes=((2, 5, 3, 4, 6), (3, 4, 6, 5, 2), (4, 4, 4, 4, 4), (1, 4, 2, 3, 5), (3, 1, 2, 4, 5), (2, 3, 4, 1, 5),
               (1, 1, 1, 1, 1)),
        square_size=(2, 5, 4, 4, 4),
        make=make_batch,
        extremes=(
            (torch.tensor([[0.0, 20.0], [0.0, -20.0]]),
             torch.tensor([[[40.0, 0.0], [0.0, 30.0], [-40.0, 2.0]], [[40.0, 0.0], [0.0, -30.0], [-40.0, -2.0]]]),
             *SATURATING, torch.tensor([0.5, 600.0, 0.5])),  # a sentence of energies near 600 and one near -600
            (torch.tensor([[0.0, 20.0], [0.0, -20.0]]),
             torch.tensor([[[40.0, -60.0], [90.0, -60.0], [0.0, 30.0]], [[40.0, 0.0], [90.0, -60.0], [-40.0, -2.0]]]),
             *SATURATING, torch.tensor([500.0, 120000.0, 500.0]),  # real tokens near -120,000, padding at 120,000
             torch.tensor([[True, True, False], [True, True, True]])),
        ),
        calls=other_masks,
        properties=(
            ("The weights of a sentence do not sum to one.", weights_of_a_sentence_sum_to_one),
            ("Padding gets a weight.", padding_weighs_nothing),
            ("The context is not the sum of the encoder states with these weights.", the_context_is_the_weighted_sum),
            ("A sentence alone and the same sentence in a batch give different results.", a_batch_is_its_sentences),
        ),
        by_hand=batch_mistakes(),
    ),
)
