"""Lesson 14: patterns judged by torch's convolution and by a loop, steps on graphs by loops over their edges."""

import torch
import torch.nn.functional as F

from course_lib import message_passing as graphs
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise


# ---- convolution_pattern -------------------------------------------------------------------------------------------
def slide(kernel, T, padding=None):
    """torch's conv1d of the T unit vectors: column s is what position s alone causes."""
    units = torch.eye(T, dtype=kernel.dtype)[:, None]  # (T, 1, T)
    return F.conv1d(units, kernel[None, None], padding=len(kernel) // 2 if padding is None else padding)[:, 0].T


def by_steps(kernel, T, weight_of):
    """A pattern from what connects t to s: weight_of(s - t), a position in the kernel or None."""
    rows = [[weight_of(s - t) for s in range(T)] for t in range(T)]
    zero = kernel.sum() * 0
    return torch.stack([torch.stack([zero if k is None or not 0 <= k < len(kernel) else kernel[k] for k in row])
                        for row in rows])


def turned_round(kernel, T):
    """The kernel lies the wrong way round, or rows and columns are swapped. Row t is what position t hears: which of
    its weights belongs to the neighbour on the left?"""
    return slide(kernel.flip(0), T)


def looks_back_only(kernel, T):
    """The last weight stands on the diagonal, so every position hears itself and the past. Which weight of the kernel
    belongs to the position itself?"""
    return by_steps(kernel, T, lambda step: step + len(kernel) - 1)


def looks_ahead_only(kernel, T):
    """The first weight stands on the diagonal, so every position hears itself and what follows. How far to the left
    does a kernel of width K reach?"""
    return by_steps(kernel, T, lambda step: step)


def one_too_far(kernel, T):
    """The whole band lies one column off. Which index has the middle of three weights, counted from zero?"""
    return by_steps(kernel, T, lambda step: step + len(kernel) // 2 + 1)


def goes_round(kernel, T):
    """What leaves at one end comes in at the other. What should the first position hear from its left?"""
    shifts = range(-(len(kernel) // 2), len(kernel) // 2 + 1)
    return sum(weight * torch.eye(T, dtype=kernel.dtype).roll(step, 1)
               for step, weight in zip(shifts, kernel, strict=True))


def repeats_the_edge(kernel, T):
    """Beyond the ends the outermost value was heard again. What stands there according to the contract?"""
    M, half = torch.zeros(T, T, dtype=kernel.dtype), len(kernel) // 2
    for t in range(T):
        for k in range(len(kernel)):
            M[t, min(max(t + k - half, 0), T - 1)] += kernel[k]
    return M


def leaves_the_edges_out(kernel, T):
    """Where part of the kernel hangs over an end, the whole row is zero. Which of its weights are still of use?"""
    M, half = slide(kernel, T).clone(), len(kernel) // 2
    for t in range(T):
        if t < half or t + half >= T:
            M[t] = 0
    return M


def rows_that_fit(kernel, T):
    """There is a row only where the whole kernel fits. As many positions come out as go in: what is beyond the ends
    counts as zero."""
    M, half = slide(kernel, T), len(kernel) // 2
    return M[half:T - half]


def rows_sum_to_one(kernel, T):
    """Every row was divided by its sum. Do the weights of a convolution have to sum to one?"""
    M = slide(kernel, T)
    return M / M.sum(1, keepdim=True)


def softmax_of_the_kernel(kernel, T):
    """The kernel went through a softmax. Those weights belong to attention: a convolution takes its own as they
    are."""
    return slide(torch.softmax(kernel, 0), T)


def same_row_everywhere(kernel, T):
    """The kernel lies in the same place in every row. What should happen to it as t grows?"""
    row = torch.cat([kernel, kernel.new_zeros(T)])[:T]
    return row.expand(T, T).clone()


def only_the_middle(kernel, T):
    """Only the diagonal is filled: every position hears itself. Where are its neighbours?"""
    return torch.diag(kernel[len(kernel) // 2].expand(T))


def which_without_how_strongly(kernel, T):
    """The pattern says who is heard, by ones, and not how strongly. Where do the kernel's numbers come in?"""
    return slide(torch.ones_like(kernel), T)


def by_distance(kernel, T):
    """The weight depends on the distance alone, so left and right count the same. Is the kernel symmetric?"""
    return by_steps(kernel, T, abs)


def always_three(kernel, T):
    """The middle of the kernel was taken to be index 1, which it is for three weights only. Where is it for K?"""
    return by_steps(kernel, T, lambda step: step + 1)


def make_kernel(generator, K, T):
    return torch.randn(K, generator=generator), T


def one_row_is_the_kernel(output, generator):
    kernel, T = make_kernel(generator, 3, 6)
    M = output(kernel, T)
    return all(torch.allclose(M[t, t - 1:t + 2], kernel, atol=1e-4) for t in range(1, 5))


def nobody_hears_far(output, generator):
    M = output(*make_kernel(generator, 3, 6))
    return bool((M.triu(2) == 0).all() and (M.tril(-2) == 0).all())


def is_linear_in_the_kernel(output, generator):
    kernel, T = make_kernel(generator, 3, 6)
    return torch.allclose(output(2 * kernel, T), 2 * output(kernel, T), atol=1e-4)


# ---- recurrence_pattern --------------------------------------------------------------------------------------------
def run_the_loop(gates):
    """The recurrence itself, run on the T unit vectors at once: column s is what x[s] alone causes."""
    x = torch.eye(len(gates), dtype=gates.dtype)
    h = [x[0]]
    for t in range(1, len(gates)):
        h.append(gates[t] * h[-1] + x[t])
    return torch.stack(h)


def products(gates, first, last):
    """The pattern whose entry at [t, s], s <= t, is the product of gates[first(t, s):last(t, s)]."""
    T, zero = len(gates), gates.sum() * 0
    return torch.stack([torch.stack([gates[first(t, s):last(t, s)].prod() if s <= t else zero for s in range(T)])
                        for t in range(T)])


def steps(gates):
    """How many steps lie between s and t, and where s is not later than t."""
    t = torch.arange(len(gates))
    return (t[:, None] - t).clamp(min=0), (t[:, None] >= t).to(gates.dtype)


def own_gate_too(gates):
    """The gate at s was counted, too. Which gate does x[s] meet first, once it is in h?"""
    return products(gates, lambda t, s: s, lambda t, s: t + 1)


def gate_of_the_step_before(gates):
    """h[t - 1] was let through by gates[t - 1]. Which gate stands between h[t - 1] and h[t]?"""
    return products(gates, lambda t, s: s, lambda t, s: t)


def a_gate_missing(gates):
    """The last gate on the way, the one at t, is missing. Through which gates does x[s] pass to reach h[t]?"""
    return products(gates, lambda t, s: s + 1, lambda t, s: max(t, s + 1))


def slice_ends_too_early(gates):
    """The products run over gates[s:t], and s ends before t. A slice leaves its end out: which gates lie after s, up to
    and including t, and what is the product of none?"""
    return gate_of_the_step_before(gates) - torch.eye(len(gates), dtype=gates.dtype)


def power_of_the_last(gates):
    """The gate at t was raised to the number of steps. That is right if all gates are the same: are they?"""
    many, heard = steps(gates)
    return gates[:, None] ** many * heard


def power_of_the_one_at_s(gates):
    """The gate at s was raised to the number of steps. Are the gates after it the same?"""
    many, heard = steps(gates)
    return gates ** many * heard


def power_of_the_first(gates):
    """One gate was used for all steps: gates[0], which has nothing to let through. Where are the others?"""
    many, heard = steps(gates)
    return gates[0] ** many * heard


def turned_over(gates):
    """Rows and columns are swapped: the past hears the future. Row t is what h[t] hears."""
    return run_the_loop(gates).T


def hears_the_future(gates):
    """Above the diagonal stand ones: a position hears those that come after it. What can h[t] know of them?"""
    T = len(gates)
    return run_the_loop(gates) + torch.ones(T, T, dtype=gates.dtype).triu(1)


def quotient_of_products(gates):
    """One running product was divided by another. It is the same thing as long as no gate is zero: what is 0 / 0?"""
    running = gates.cumprod(0)
    return (running[:, None] / running).tril()


def zeros_made_tiny(gates):
    """One running product was divided by another, and gates of zero were made tiny numbers for it. How many small
    factors does it take until the product itself is zero, and what is 0 / 0?"""
    running = torch.where(gates == 0, 1e-12, gates).cumprod(0)
    return (running[:, None] / running).tril()


def sum_of_logarithms(gates):
    """The product was taken as the exponential of a sum of logarithms. What is the logarithm of a negative gate?"""
    running = gates.log().cumsum(0)
    return (running[:, None] - running).exp().tril()


def own_word_missing(gates):
    """The diagonal is zero: x[t] itself does not arrive. Look at the last term of the recurrence."""
    return run_the_loop(gates) - torch.eye(len(gates), dtype=gates.dtype)


def one_step_only(gates):
    """Only neighbours are connected. h[t - 1] has something of x[t - 2] in it: where does that go?"""
    return torch.eye(len(gates), dtype=gates.dtype) + torch.diag(gates[1:], -1)


def adds_the_gates(gates):
    """The gates on the way were added. Work out by hand what two gates of 1/2 leave of x."""
    running = gates.cumsum(0)
    return (running[:, None] - running).tril() + torch.eye(len(gates), dtype=gates.dtype)


def rows_to_one(gates):
    """Every row was divided by its sum. Does the recurrence divide by anything?"""
    M = run_the_loop(gates)
    return M / M.sum(1, keepdim=True)


def lets_in_the_rest(gates):
    """x[t] was let in with the weight 1 - gates[t]. That is another recurrence: which weight has x[t] in this one?"""
    enters = torch.cat([gates.new_ones(1), 1 - gates[1:]])
    return run_the_loop(gates) * enters


def last_row_only(gates):
    """This is what the last state hears, (T,). Every state has a row of its own."""
    return run_the_loop(gates)[-1]


def minus_sign(gates):
    """Every second power has the wrong sign. Solved for x, the recurrence reads x[t] = h[t] - gates[t] * h[t - 1]: is
    your matrix the inverse of that, or of the one with a plus?"""
    return run_the_loop(-gates)


def inverse(gates):
    """This matrix makes x from h. The other way is asked for: h from x."""
    return torch.eye(len(gates), dtype=gates.dtype) - torch.diag(gates[1:], -1)


def make_gates(generator, T):
    return (torch.randn(T, generator=generator),)


def nearly_closed_gates(generator):
    """The product of all these gates is zero in float32, or is zero indeed."""
    return [Call((torch.full((40,), 0.03),), "40 gates of 0.03"), Call((torch.zeros(8),), "8 gates of 0")]


def the_past_alone_is_heard(output, generator):
    return bool((output(*make_gates(generator, 6)).triu(1).abs() < 1e-4).all())


def own_word_counts_once(output, generator):
    return torch.allclose(output(*make_gates(generator, 6)).diagonal(), torch.ones(6), atol=1e-4)


def a_closed_gate_forgets(output, generator):
    gates = make_gates(generator, 6)[0]
    gates[3] = 0
    return bool((output(gates)[3:, :3].abs() < 1e-4).all())


# ---- what messages and updates the checks use ----------------------------------------------------------------------
class Says:
    """A callable that a card can show: two arguments, and what it makes of them in words."""

    def __init__(self, words, function):
        self.words, self.function = words, function

    def __call__(self, first, second):
        return self.function(first, second)

    def __repr__(self):
        return self.words


def both(receiver, sender):
    return receiver + 10 * sender


def product(receiver, sender):
    return receiver * sender**2 - sender


def one_number(receiver, sender):
    return (receiver**2 * sender).sum(-1, keepdim=True) + 1


def ten_senders(receiver, sender):
    return 10 * sender


def squared_receiver(receiver, sender):
    return receiver**2


def new_and_old(x, gathered):
    return gathered - 100 * x


def new_with_old(x, gathered):
    return gathered * 2 + x.sum(-1, keepdim=True) ** 2


BOTH = Says("receiver + 10 * sender", both)
PRODUCT = Says("receiver * sender**2 - sender", product)
ONE_NUMBER = Says("(receiver**2 * sender).sum(-1, keepdim=True) + 1", one_number)
NEW_AND_OLD = Says("gathered - 100 * x", new_and_old)
NEW_WITH_OLD = Says("gathered * 2 + x.sum(-1, keepdim=True) ** 2", new_with_old)


def one_way_streets(generator, N):
    """A random graph in which somebody hears nobody (where there are others), and somebody hears themselves."""
    adjacency = torch.rand(N, N, generator=generator) < 0.5
    if N > 2:
        adjacency[0, 1:3] = True
        adjacency[1, 0] = adjacency[0, 0] = False
        adjacency[1, 1] = adjacency[2, 0] = True
        adjacency[-1] = False
    return adjacency


# ---- message_passing -----------------------------------------------------------------------------------------------
def edge_by_edge(x, adjacency, message, update):
    """One edge after the other; nobody's new value is seen before the end."""
    nothing = torch.zeros_like(message(x[0], x[0]))
    out = []
    for i in range(len(x)):
        gathered = nothing
        for j in range(len(x)):
            if adjacency[i, j]:
                gathered = gathered + message(x[i], x[j])
        out.append(update(x[i], gathered))
    return torch.stack(out)


def all_messages(x, message):
    return message(x[:, None], x[None])


def edges_turned_round(x, adjacency, message, update):
    """The edges point the wrong way: node i got messages from those that hear i. What does True at [i, j] say?"""
    return edge_by_edge(x, adjacency.T, message, update)


def arguments_swapped(x, adjacency, message, update):
    """`message` got the sender first. Who comes first according to the contract?"""
    return edge_by_edge(x, adjacency, lambda receiver, sender: message(sender, receiver), update)


def collected_by_the_sender(x, adjacency, message, update):
    """Each message was added up where it came from. Over which of the two node axes does the sum run?"""
    return update(x, (adjacency[..., None] * all_messages(x, message)).sum(0))


def mean_of_messages(x, adjacency, message, update):
    """The messages were averaged. A sum is asked for: what does it tell a node that the mean does not?"""
    degree = adjacency.sum(1, keepdim=True).clamp(min=1)
    return update(x, (adjacency[..., None] * all_messages(x, message)).sum(1) / degree)


def largest_message(x, adjacency, message, update):
    """Only the largest message counted. What is asked for is their sum."""
    messages = all_messages(x, message)
    loudest = messages.masked_fill(~adjacency[..., None], -torch.inf).amax(1)
    return update(x, torch.where(adjacency.any(1, keepdim=True), loudest, 0))


def everybody_hears_everybody(x, adjacency, message, update):
    """The graph was not looked at: all nodes hear all nodes. What is `adjacency` for?"""
    return edge_by_edge(x, torch.ones_like(adjacency), message, update)


def strangers_only(x, adjacency, message, update):
    """The nodes listen to everybody except those they are connected to. What does True mean here?"""
    return edge_by_edge(x, ~adjacency, message, update)


def always_hears_itself(x, adjacency, message, update):
    """Every node got a message from itself. When does a node hear itself?"""
    return edge_by_edge(x, adjacency | torch.eye(len(x), dtype=torch.bool), message, update)


def never_hears_itself(x, adjacency, message, update):
    """Edges from a node to itself were left out. What does the contract say about [i, i]?"""
    return edge_by_edge(x, adjacency & ~torch.eye(len(x), dtype=torch.bool), message, update)


def both_ways(x, adjacency, message, update):
    """Every edge was used in both directions. Does j hear i because i hears j?"""
    return edge_by_edge(x, adjacency | adjacency.T, message, update)


def no_update(x, adjacency, message, update):
    """This is what was gathered. What has `update` to say to it?"""
    return edge_by_edge(x, adjacency, message, lambda x, gathered: gathered)


def update_swapped(x, adjacency, message, update):
    """`update` got what was gathered first, and x second. What is the order in the contract?"""
    return edge_by_edge(x, adjacency, message, lambda x, gathered: update(gathered, x))


def adds_instead(x, adjacency, message, update):
    """What was gathered was added to x, and `update` was not called. Who decides what becomes of the two?"""
    return edge_by_edge(x, adjacency, message, lambda x, gathered: x + gathered)


def no_message(x, adjacency, message, update):
    """The senders themselves were added up, and `message` was not called. What does a sender say to this receiver?"""
    return update(x, adjacency.to(x.dtype) @ x)


def one_message_about_the_sum(x, adjacency, message, update):
    """The senders were added up first, and `message` was called once with their sum. Is the message of a sum the sum
    of the messages?"""
    return update(x, message(x, adjacency.to(x.dtype) @ x))


def sender_alone(x, adjacency, message, update):
    """The message does not know who receives it: the sender's row was given twice. What is the first argument for?"""
    return edge_by_edge(x, adjacency, lambda receiver, sender: message(sender, sender), update)


def receiver_alone(x, adjacency, message, update):
    """The receiver's row was given twice: nobody heard anything of anybody else."""
    return edge_by_edge(x, adjacency, lambda receiver, sender: message(receiver, receiver), update)


def update_for_each_message(x, adjacency, message, update):
    """`update` was called for every message, and the results were added up. How often is it called for a node?"""
    return edge_by_edge(x, adjacency, lambda receiver, sender: update(receiver, message(receiver, sender)),
                        lambda x, gathered: gathered)


def left_as_they_were(x, adjacency, message, update):
    """A node that hears nobody was left out: its row is zero. `update` is called for it, too, with zeros gathered."""
    return edge_by_edge(x, adjacency, message, update) * adjacency.any(1, keepdim=True)


def one_after_another(x, adjacency, message, update):
    """The nodes were updated one after another, so the later ones heard what the earlier ones had become. Whose values
    does a step go by: the old ones or the new ones?"""
    x = x.clone()
    nothing = torch.zeros_like(message(x[0], x[0]))
    for i in range(len(x)):
        x[i] = update(x[i], sum((message(x[i], sender) for sender in x[adjacency[i]]), nothing))
    return x


def make_step(generator, N, D):
    return torch.randn(N, D, generator=generator), one_way_streets(generator, N), PRODUCT, NEW_WITH_OLD


def names_do_not_matter(output, generator):
    x, adjacency, *rest = make_step(generator, 5, 3)
    order = torch.randperm(5, generator=generator)
    moved = output(x[order], adjacency[order][:, order], *rest)
    return torch.allclose(moved, output(x, adjacency, *rest)[order], atol=1e-3)


def strangers_are_not_heard(output, generator):
    x, adjacency, *rest = make_step(generator, 5, 3)
    adjacency[2, 1] = False
    louder = x.clone()
    louder[1] *= 3
    return torch.allclose(output(louder, adjacency, *rest)[2], output(x, adjacency, *rest)[2], atol=1e-3)


def step(x, adjacency, message=BOTH, update=NEW_AND_OLD):
    return torch.tensor(x), torch.tensor(adjacency), message, update


def other_messages(generator):
    """A message of another width; and what only one end decides has an axis of size one where the other end stands."""
    x, adjacency, _, update = make_step(generator, 4, 3)
    return [Call(step([[1.0, 2.0, 0.0], [-1.0, 3.0, 2.0], [2.0, 1.0, 1.0], [4.0, 0.0, -2.0]],
                      [[False, True, True, False], [True, True, False, True], [False] * 4, [True] * 4],
                      ONE_NUMBER, NEW_WITH_OLD)),
            Call((x, adjacency, Says("10 * sender", ten_senders), update),
                 "a message that the sender alone decides"),
            Call((x, adjacency, Says("receiver**2", squared_receiver), update),
                 "a message that the receiver alone decides")]


# ---- attention_on_graph --------------------------------------------------------------------------------------------
def torch_among_neighbours(x, adjacency, W_q, W_k, W_v):
    """torch's attention, one node at a time, over those it hears and nobody else."""
    query, key, value = x @ W_q, x @ W_k, x @ W_v
    rows = [F.scaled_dot_product_attention(query[None, i:i + 1], key[None, heard], value[None, heard])[0, 0]
            if heard.any() else query.sum() * 0 + torch.zeros(W_v.shape[1], dtype=x.dtype)
            for i, heard in enumerate(adjacency)]
    return torch.stack(rows)


def variant(x, adjacency, W_q, W_k, W_v, scale=None, empty=0.0):
    """Attention with a mask and a scale; rows that hear nobody get `empty` times what the softmax of nothing gives."""
    query, key, value = x @ W_q, x @ W_k, x @ W_v
    scores = query @ key.T * (W_k.shape[1] ** -0.5 if scale is None else scale)
    weights = torch.softmax(scores.masked_fill(~adjacency, torch.finfo(scores.dtype).min), -1)
    heard = adjacency.any(1, keepdim=True).to(x.dtype)
    return (weights * (heard + (1 - heard) * empty)) @ value


def graph_ignored(x, adjacency, W_q, W_k, W_v):
    """Every node attends to every node. What is `adjacency` for?"""
    return variant(x, torch.ones_like(adjacency), W_q, W_k, W_v)


def graph_inverted(x, adjacency, W_q, W_k, W_v):
    """The nodes attend to everybody except those they are connected to. True means: is heard."""
    return variant(x, ~adjacency, W_q, W_k, W_v)


def graph_turned_round(x, adjacency, W_q, W_k, W_v):
    """The edges point the wrong way. Who hears whom where [i, j] is True?"""
    return variant(x, adjacency.T, W_q, W_k, W_v)


def graph_both_ways(x, adjacency, W_q, W_k, W_v):
    """Every edge was used in both directions. Does j hear i because i hears j?"""
    return variant(x, adjacency | adjacency.T, W_q, W_k, W_v)


def hears_itself(x, adjacency, W_q, W_k, W_v):
    """Every node attends to itself, too. Many papers do so: what does this contract say?"""
    return variant(x, adjacency | torch.eye(len(x), dtype=torch.bool), W_q, W_k, W_v)


def deaf_to_itself(x, adjacency, W_q, W_k, W_v):
    """No node attends to itself, even where there is an edge from it to itself."""
    return variant(x, adjacency & ~torch.eye(len(x), dtype=torch.bool), W_q, W_k, W_v)


def masked_after_the_softmax(x, adjacency, W_q, W_k, W_v):
    """The graph came after the softmax alone, so the weights along the edges no longer sum to one. Who took a share
    before?"""
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    return (torch.softmax(scores, -1) * adjacency) @ (x @ W_v)


def nothing_left_for_neighbours(x, adjacency, W_q, W_k, W_v):
    """What the softmax gave to strangers was taken away after it. Where their scores are far above those of the
    neighbours, it gave them everything, and nothing is left. Which score has to go into the softmax for a stranger?"""
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    weights = torch.softmax(scores, -1) * adjacency
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30) @ (x @ W_v)


def mask_is_merely_low(x, adjacency, W_q, W_k, W_v):
    """The scores of strangers were made low, and those of neighbours can be lower still. Which number is below all
    others?"""
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    weights = torch.softmax(scores.masked_fill(~adjacency, -1e4), -1)
    return weights * adjacency.any(1, keepdim=True) @ (x @ W_v)


def scores_of_zero(x, adjacency, W_q, W_k, W_v):
    """Where there is no edge, the score is 0. Which weight does a softmax give to a score of 0?"""
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    return torch.softmax(scores * adjacency, -1) @ (x @ W_v)


def mean_for_the_lonely(x, adjacency, W_q, W_k, W_v):
    """A node that hears nobody got the mean of all values. What is the sum over no nodes at all?"""
    return variant(x, adjacency, W_q, W_k, W_v, empty=1.0)


def nan_for_the_lonely(x, adjacency, W_q, W_k, W_v):
    """A node that hears nobody is NaN: a softmax over nothing but minus infinity. What does the contract say of it?"""
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    return torch.softmax(scores.masked_fill(~adjacency, -torch.inf), -1) @ (x @ W_v)


def own_value_for_the_lonely(x, adjacency, W_q, W_k, W_v):
    """A node that hears nobody kept its own value. An empty sum is asked for."""
    lonely = ~adjacency.any(1, keepdim=True)
    return variant(x, adjacency, W_q, W_k, W_v) + lonely * (x @ W_v)


def softmax_down_the_columns(x, adjacency, W_q, W_k, W_v):
    """The softmax ran over the nodes that ask. Whose weights are to sum to one?"""
    scores = ((x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5)
    weights = torch.softmax(scores.masked_fill(~adjacency, torch.finfo(scores.dtype).min), 0) * adjacency
    return weights @ (x @ W_v)


def no_scale(x, adjacency, W_q, W_k, W_v):
    """The scores were not divided by √D_k. Lesson 04 measured what that costs."""
    return variant(x, adjacency, W_q, W_k, W_v, scale=1.0)


def scale_by_width(x, adjacency, W_q, W_k, W_v):
    """The scores were divided by √D_x, the width of x. What is multiplied and added up in a score is D_k wide."""
    return variant(x, adjacency, W_q, W_k, W_v, scale=x.shape[1] ** -0.5)


def scale_without_root(x, adjacency, W_q, W_k, W_v):
    """The scores were divided by D_k instead of its root."""
    return variant(x, adjacency, W_q, W_k, W_v, scale=1 / W_k.shape[1])


def query_and_key_swapped(x, adjacency, W_q, W_k, W_v):
    """Queries and keys have changed places: the one who is asked does the asking."""
    return variant(x, adjacency, W_k, W_q, W_v)


def keys_for_queries(x, adjacency, W_q, W_k, W_v):
    """The keys were used as queries, too, and W_q not at all."""
    return variant(x, adjacency, W_k, W_k, W_v)


def nobody_compared(x, adjacency, W_q, W_k, W_v):
    """Every node hears all its neighbours alike. That is a graph convolution: what do queries and keys change?"""
    return variant(x, adjacency, 0 * W_q, W_k, W_v)


def not_divided(x, adjacency, W_q, W_k, W_v):
    """The exponentials were not divided by their sum."""
    scores = (x @ W_q) @ (x @ W_k).T / W_k.shape[1] ** 0.5
    return (scores.exp() * adjacency) @ (x @ W_v)


def values_not_projected(x, adjacency, W_q, W_k, W_v):
    """x itself was mixed. What is W_v for?"""
    return variant(x, adjacency, W_q, W_k, torch.eye(x.shape[1], dtype=x.dtype))


def make_nodes(generator, N, D_x, D_k, D_v):
    x, W_q, W_k, W_v = (torch.randn(*shape, generator=generator)
                        for shape in ((N, D_x), (D_x, D_k), (D_x, D_k), (D_x, D_v)))
    return x, one_way_streets(generator, N), W_q, W_k, W_v


def nodes(x, adjacency, W_q, W_k, W_v):
    return tuple(torch.tensor(part) for part in (x, adjacency, W_q, W_k, W_v))


def complete(generator, N=5):
    x, _, *weights = make_nodes(generator, N, 3, 4, 2)
    return x, torch.ones(N, N, dtype=torch.bool), *weights


def weights_sum_to_one(output, generator):
    x, adjacency, W_q, W_k, W_v = complete(generator)
    ones = torch.ones(5, 1)
    out = output(torch.cat([x[:, :2], ones], 1), adjacency, W_q, W_k, torch.eye(3)[:, 1:])
    return torch.allclose(out[:, 1:], ones, atol=1e-4)


def order_of_nodes_is_free(output, generator):
    x, adjacency, *weights = make_nodes(generator, 5, 3, 4, 2)
    order = torch.randperm(5, generator=generator)
    moved = output(x[order], adjacency[order][:, order], *weights)
    return torch.allclose(moved, output(x, adjacency, *weights)[order], atol=1e-4)


def no_edge_no_news(output, generator):
    x, adjacency, *weights = make_nodes(generator, 5, 3, 4, 2)
    adjacency[2, 1], adjacency[2, 3] = False, True
    louder = x.clone()
    louder[1] += 1
    return torch.allclose(output(louder, adjacency, *weights)[2], output(x, adjacency, *weights)[2], atol=1e-4)


EXERCISES = (
    Exercise(
        name="convolution_pattern",
        lesson="14",
        asked="the (T, T) matrix M for which M @ x is x with the kernel slid along it: the kernel's middle weight on "
        "the diagonal, its other weights beside it in their order, zeros elsewhere.",
        verified=graphs.convolution_pattern,
        oracle=slide,
        examples=((torch.tensor([1.0, 2.0, 4.0]), 4), (torch.tensor([1.0, 0.0, 3.0, -2.0, 5.0]), 3)),
        sizes=((5, 7), (3, 6), (7, 3), (5, 5), (7, 2), (5, 1), (3, 1), (1, 3), (1, 1)),
        make=make_kernel,
        by_hand=(turned_round, looks_back_only, looks_ahead_only, one_too_far, goes_round, repeats_the_edge,
                  leaves_the_edges_out, rows_that_fit, rows_sum_to_one, softmax_of_the_kernel, same_row_everywhere,
                  only_the_middle, which_without_how_strongly, by_distance, always_three),
        properties=(
            ("A row in the middle does not hold the kernel as it is.", one_row_is_the_kernel),
            ("Somebody hears a position that lies beyond the kernel.", nobody_hears_far),
            ("A kernel twice as large does not give a pattern twice as large.", is_linear_in_the_kernel),
        ),
    ),
    Exercise(
        name="recurrence_pattern",
        lesson="14",
        asked="the (T, T) matrix M for which M @ x is what the loop h[t] = gates[t] * h[t - 1] + x[t] makes, beginning "
        "with h[0] = x[0].",
        verified=graphs.recurrence_pattern,
        oracle=run_the_loop,
        examples=((torch.tensor([7.0, 2.0, 3.0]),), (torch.tensor([5.0, 0.5, 0.0, -2.0]),)),
        sizes=((5,), (7,), (2,), (1,)),
        make=make_gates,
        calls=nearly_closed_gates,
        by_hand=(own_gate_too, gate_of_the_step_before, a_gate_missing, slice_ends_too_early, power_of_the_last,
                  power_of_the_one_at_s, power_of_the_first, turned_over, hears_the_future, quotient_of_products,
                  zeros_made_tiny, sum_of_logarithms, own_word_missing, one_step_only, adds_the_gates, rows_to_one,
                  lets_in_the_rest, last_row_only, minus_sign, inverse),
        properties=(
            ("A state hears positions that come after it.", the_past_alone_is_heard),
            ("A state does not hear its own position with the weight 1.", own_word_counts_once),
            ("Something of what was said before gets through a gate of zero.", a_closed_gate_forgets),
        ),
    ),
    Exercise(
        name="message_passing",
        lesson="14",
        asked="for every node i, update(x[i], the sum of message(x[i], x[j]) over all j with adjacency[i, j]): (N, U).",
        verified=graphs.message_passing,
        oracle=edge_by_edge,
        examples=(
            step([[1.0], [2.0], [4.0]], [[False, True, True], [True, False, False], [False, False, True]]),
            step([[1.0, 0.0], [2.0, 3.0]], [[False, True], [False, False]]),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        make=make_step,
        calls=other_messages,
        by_hand=(edges_turned_round, arguments_swapped, collected_by_the_sender, mean_of_messages, largest_message,
                  everybody_hears_everybody, strangers_only, always_hears_itself, never_hears_itself, both_ways,
                  no_update, update_swapped, adds_instead, no_message, one_message_about_the_sum, sender_alone,
                  receiver_alone, update_for_each_message, left_as_they_were, one_after_another),
        properties=(
            ("With the nodes in another order, the results are not just in another order.", names_do_not_matter),
            ("A node hears somebody it is not connected to.", strangers_are_not_heard),
        ),
    ),
    Exercise(
        name="attention_on_graph",
        lesson="14",
        asked="version 5 in which node i attends to the nodes j with adjacency[i, j] and to nobody else; zeros for a "
        "node that hears nobody: (N, D_v).",
        verified=graphs.attention_on_graph,
        oracle=torch_among_neighbours,
        examples=(
            nodes([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]],
                  [[False, True, True], [True, False, False], [False, False, True]],
                  [[2.0], [1.0]], [[1.0], [-1.0]], [[1.0, 0.0], [0.0, 3.0]]),
            nodes([[1.0, 2.0], [3.0, 0.0]], [[False, True], [False, False]],
                  [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]], [[1.0], [2.0]]),
        ),
        sizes=((5, 3, 4, 2), (3, 7, 2, 5), (4, 4, 4, 4), (1, 3, 2, 5), (3, 1, 1, 1), (1, 1, 1, 1)),
        square_size=(5, 3, 4, 2),
        make=make_nodes,
        extremes=(nodes([[40.0, 0.0], [0.0, 40.0], [40.0, 40.0]],
                        [[True, True, True], [True, True, False], [False] * 3],
                        [[1.5], [0.0]], [[1.0], [0.0]], [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]),
                  nodes([[10.0, 1.0], [-10.0, 3.0]], [[False, True], [True, False]],
                        [[20.0], [0.0]], [[20.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]])),
        by_hand=(graph_ignored, graph_inverted, graph_turned_round, graph_both_ways, hears_itself, deaf_to_itself,
                  masked_after_the_softmax, nothing_left_for_neighbours, mask_is_merely_low, scores_of_zero,
                  mean_for_the_lonely, nan_for_the_lonely, own_value_for_the_lonely, softmax_down_the_columns,
                  no_scale, scale_by_width, scale_without_root, query_and_key_swapped, keys_for_queries,
                  nobody_compared, not_divided, values_not_projected),
        properties=(
            ("On the complete graph a feature that is 1 in every value does not stay 1.", weights_sum_to_one),
            ("With the nodes in another order, the results are not just in another order.", order_of_nodes_is_free),
            ("A node hears somebody it is not connected to.", no_edge_no_news),
        ),
    ),
)
