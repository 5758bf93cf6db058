# %% [markdown]
# # 14 · The general-purpose view, and a claims audit
#
# *110 minutes · needs lesson 13 · four exercises*
#
# **At the end you can**
#
# - write a convolution, a recurrence, an average and a fully connected layer as one and the same thing: a pattern of
#   who listens to whom, and how strongly;
# - say which patterns stay the same and which depend on the data, and set the weights of attention heads by hand;
# - read layers as message passing on graphs, attention among them, and cut edges out of a graph;
# - feed one and the same encoder with sets, series, graphs and pictures;
# - tell true sentences about Transformers from those that are false or too simple, by running sixteen of them.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, mine
from course_lib.display import plots
from course_lib.training import fit, shuffled

torch.set_num_threads(1)

# %% [markdown]
# ## Five people in a row
#
# Ann, Ben, Cleo, Dan and Eve sit in a row. Each has a number: some piece of news. Then comes one round of listening,
# and everyone has a new number, mixed from what they heard.
#
# Most layers you know are such a round. They differ in one thing: **who listens to whom, and how strongly.**

# %%
people = ["Ann", "Ben", "Cleo", "Dan", "Eve"]
T = len(people)
news = torch.tensor([8.0, 0, 4, 0, 2], dtype=torch.float64)  # (T,)
kernel = torch.tensor([0.5, 0.25, 0.125], dtype=torch.float64)  # left neighbour, oneself, right neighbour
dict(zip(people, news.tolist(), strict=True))

# %% [markdown]
# ## One number first
#
# The first rule: everybody takes **half of what the left neighbour has, a quarter of their own, and an eighth of what
# the right neighbour has**. That is a convolution with the kernel (½, ¼, ⅛). **Before you run the cell**, work out
# Ben's new number, and Cleo's.

# %%
ben, cleo = 0.5 * 8 + 0.25 * 0 + 0.125 * 4, 0.5 * 0 + 0.25 * 4 + 0.125 * 0
by_torch = F.conv1d(news[None, None], kernel[None, None], padding=1)[0, 0]  # (T,)
by_hand_as_by_torch = (ben, cleo) == tuple(by_torch[1:3].tolist())
assert by_hand_as_by_torch
dict(zip(people, by_torch.tolist(), strict=True))

# %% [markdown] name="pattern-of-connections"
# ## Who listens to whom
#
# A round that only multiplies and adds is a matrix: $\text{new} = M \cdot \text{old}$. Row $t$ holds what person t
# hears. How do you read $M$ off a layer whose inside you do not know?
#
# Let one person speak at a time. If only Ann has a 1 and all others 0, what comes out is **column** Ann. With one
# channel for each speaker, all five experiments are one call.

# %%
def read_off(layer):
    """The pattern (T, T) of a layer that mixes positions: (T, D) -> (T, D), every channel alike."""
    return layer(torch.eye(T, dtype=torch.float64))


def convolution(x):
    return F.conv1d(x.T[:, None], kernel[None, None], padding=1)[:, 0].T  # (T, D)


M = read_off(convolution)
the_table_does_what_the_layer_does = torch.allclose(M @ news, by_torch, rtol=0, atol=1e-12)
assert the_table_does_what_the_layer_does
M

# %% [markdown]
# Every row holds the kernel, one seat further each time, cut off at the ends. **Shared weights** look like this: three
# numbers serve five people, and would serve five thousand. Zeros say that nobody hears further than one seat.

# %% [markdown]
# ### Exercise 1: `convolution_pattern`
#
# ★☆☆ · 10 minutes · about 4 lines
#
# Write the table of a convolution from its kernel, for any length. A loop is welcome; begin it with
# `kernel.new_zeros(T, T)`, which has the kernel's dtype and device.
#
# <details><summary>Hint 1: a question</summary>
#
# Position t hears position s. Which of the K weights is that, if the middle one belongs to s = t?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. for every t and s, the index in the kernel
# 2. the kernel's number there, where such an index exists
# 3. zero everywhere else
#
# </details>

# %% tags=["exercise"]
from course_lib.message_passing import convolution_pattern

# %%
conv_pattern = check(convolution_pattern).verified

# %% [markdown] name="general-case"
# ## The general case
#
# A fully connected layer over the five **positions** has one free number for each pair. Put your table into the weights
# of `nn.Linear(5, 5)`. **Predict:** does it do what the convolution does: exactly, nearly, or not at all?

# %%
torch.manual_seed(0)
full = nn.Linear(T, T, bias=False, dtype=torch.float64)
as_it_comes = full.weight.detach().clone()
with torch.no_grad():
    full.weight.copy_(conv_pattern(kernel, T))
x = torch.randn(T, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)  # four channels of news
a_convolution_is_a_special_fully_connected_layer = torch.allclose(full(x.T).T, convolution(x), rtol=0, atol=1e-12)
assert a_convolution_is_a_special_fully_connected_layer
print("free numbers:", full.weight.numel(), "for the layer,", kernel.numel(), "for the convolution")

# %% [markdown]
# It *is* the convolution now, and any other table would fit as well: the general case contains all others. The price is
# $T^2$ numbers, for one $T$ only: a sixth person would need another layer. A special case says beforehand what the
# connections look like. Such a statement is called a **prior**, or an inductive bias. Where it is true, it saves
# examples. Where it is false and fixed, more examples do not help.
#
# ## A whisper
#
# The second rule. Ann tells Ben. Ben keeps a share of it, his gate a, adds his own news, tells Cleo, and so on. That is
# a **recurrence**, with $h_0 = x_0$ and then
#
# $$
# h_t = a_t \cdot h_{t-1} + x_t
# $$
#
# **Predict**, with all gates $a = ½$: how much of Ann's news reaches Eve?

# %%
def recurrence(x, gates):
    """The loop: (T, D) -> (T, D)."""
    h = [x[0]]
    for t in range(1, T):
        h.append(gates[t] * h[-1] + x[t])
    return torch.stack(h)


halves = torch.full((T,), 0.5, dtype=torch.float64)
of_ann_in_eve = read_off(lambda x: recurrence(x, halves))[4, 0].item()
a_sixteenth_arrives = of_ann_in_eve == 0.5**4
assert a_sixteenth_arrives
of_ann_in_eve

# %% [markdown] name="recurrence-as-pattern"
# ### Exercise 2: `recurrence_pattern`
#
# ★★☆ · 15 minutes · about 3 lines
#
# The table of a recurrence whose gates may all be different. If you loop, begin with `gates.new_zeros(T, T)`.
#
# <details><summary>Hint 1: a question</summary>
#
# Ann's news is in h_0. Write down h_3 without h_2, h_1 and h_0. Which gates stand before x_0, and which before x_2?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# Either entry by entry: the product of the gates after s, up to and including t; of no gates at all it is 1.
#
# Or row by row: what does row t have to do with row t − 1?
#
# </details>

# %% tags=["exercise"]
from course_lib.message_passing import recurrence_pattern

# %%
rec_pattern = check(recurrence_pattern).verified

# %% [markdown]
# Four layers, four tables. `as_it_comes` is a fully connected layer before training; in an average, everybody hears
# everybody equally.

# %%
average = torch.full((T, T), 1 / T, dtype=torch.float64)
four_tables = {"fully connected": as_it_comes, "convolution": conv_pattern(kernel, T),
               "recurrence": rec_pattern(halves), "average": average}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.5), layout="constrained")
for axis, (name, pattern) in zip(axes, four_tables.items(), strict=True):
    plots.heat_map(axis, pattern, people, people, name, limit=1)
    axis.set(xlabel="is heard")
axes[0].set_ylabel("listens")
plots.show(figure, "Four tables, five people each. Fully connected: numbers of both signs everywhere. Convolution: "
                   "0.25 on the diagonal, 0.5 to its left, 0.12 to its right. Recurrence: a lower triangle, 1 on the "
                   "diagonal and half of it with every step away. Average: 0.20 in all squares.")

# %%
layers = {"convolution": convolution, "recurrence": lambda x: recurrence(x, halves),
          "average": lambda x: x.mean(0, keepdim=True).expand_as(x)}
off = {name: (four_tables[name] @ x - layer(x)).abs().max().item() for name, layer in layers.items()}
each_layer_is_its_table = max(off.values()) < 1e-12
assert each_layer_is_its_table
print("free numbers:", {"fully connected": T * T, "convolution": 3, "recurrence": 1, "average": 0})

# %% [markdown] name="static-dynamic"
# ## And attention?
#
# Attention has such a table, too: its weights. Now give each layer two different evenings of news, and compare.
# **Predict:** which of the tables are the same on both evenings?

# %%
def attention_weights(x):
    """Version 5 with nothing trained: x is query and key."""
    return torch.softmax(x @ x.T / x.shape[1] ** 0.5, dim=1)  # (T, T)


evenings = [1.2 * torch.randn(T, 4, generator=torch.Generator().manual_seed(s), dtype=torch.float64) for s in (1, 2)]
patterns = [attention_weights(evening) for evening in evenings]
figure, axes = plt.subplots(1, 3, figsize=(10.4, 3.6), layout="constrained")
for axis, name, pattern in zip(axes, ("convolution, both evenings", "attention, evening 1", "attention, evening 2"),
                               (four_tables["convolution"], *patterns), strict=True):
    plots.heat_map(axis, pattern, people, people, name, limit=1)
    axis.set(xlabel="is heard")
axes[0].set_ylabel("listens")
plots.show(figure, "Three tables. The convolution's is the same on both evenings. Attention gives large weights in "
                   "different squares on the two evenings, and its rows sum to one.")

# %%
def explains(table, layer):
    """Does one and the same table say what a layer does on both evenings?"""
    return all(torch.allclose(table @ evening, layer(evening), rtol=0, atol=1e-12) for evening in evenings)


static_patterns_stay = all(explains(four_tables[name], layer) for name, layer in layers.items())
attention_changes = not explains(patterns[0], lambda x: attention_weights(x) @ x)
weights_move_by_more_than_a_third = (patterns[0] - patterns[1]).abs().max().item() > 1 / 3
assert static_patterns_stay
assert attention_changes
assert weights_move_by_more_than_a_third
{**{name: explains(four_tables[name], layer) for name, layer in layers.items()}, "attention": not attention_changes}

# %% [markdown]
# The three fixed layers are explained by one table for all evenings. Attention is not: on evening 1 Ann hears Ben above
# all, on evening 2 herself. Nobody has trained anything in between; the *news* is different.
#
# **Static** connections are learned in training and then stay as they are. **Dynamic** connections are worked out anew
# for every input; what is learned is *how* to work them out.
#
# | part | fully connected | convolution | recurrence | attention |
# |---|---|---|---|---|
# | **inputs** | x (T, D) | x (T, D) | x (T, D) | x (T, D) |
# | **similarity** | none: M is learned | none: the distance | none: gates | $\boldsymbol{x W_q\, (x W_k)^\top}$ |
# | **outputs** | M x, M static | M x, M static | M x, M static | M x, **M dynamic** |
#
# Does a recurrence have to be static? Let the gates depend on the news: $a_t = \mathrm{sigmoid}(x_t \cdot w)$.

# %%
w = torch.randn(4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
gated = [rec_pattern(torch.sigmoid(evening @ w)) for evening in evenings]  # (T, T) each
gates_from_data_make_it_dynamic = (gated[0] - gated[1]).abs().max().item() > 1 / 3
the_loop_agrees = torch.allclose(gated[0] @ evenings[0], recurrence(evenings[0], torch.sigmoid(evenings[0] @ w)))
assert gates_from_data_make_it_dynamic
assert the_loop_agrees
{"of Ann's news in Eve": [round(pattern[4, 0].item(), 3) for pattern in gated]}

# %% [markdown]
# Gates of LSTM and GRU do this, and so do newer layers such as Mamba: causal and dynamic. How much arrives of old news
# is the product of the gates on the way; attention compares each pair by itself ([Dao and Gu
# 2024](https://arxiv.org/abs/2405.21060)). What a gate has shut out is gone for everybody after it. Attention can
# always ask Ann herself.

# %% [markdown] name="convolution-from-heads"
# ## Can attention become a convolution?
#
# Attention decides by content. Can it be made to look at the **place** alone? Set the weights by hand: one head looks
# one step left, one at its own place, one to the right, and `W_o` holds the kernel.
#
# Position p becomes a point on a circle of 32 places: cosine and sine of the angle $p \cdot 2\pi / 32$. A query turned
# by one step points to its right neighbour (the rotations of lesson 09). A large factor makes the softmax a spike. The
# padding of the convolution becomes two more tokens without content, one at each end. Six zeros fill up the width of
# 12.

# %%
MultiHeadAttention = mine("MultiHeadAttention")
C_in, C_out, steps = 4, 6, (-1, 0, 1)
torch.manual_seed(0)
conv = nn.Conv1d(C_in, C_out, 3, padding=1, dtype=torch.float64).requires_grad_(False)
heads = MultiHeadAttention(12, 3).double().requires_grad_(False)  # three heads, each 4 wide
angle = torch.arange(-1, T + 1, dtype=torch.float64) * 2 * torch.pi / 32  # (T + 2,), the ends included
padded = F.pad(x, (0, 0, 1, 1))  # (T + 2, C_in)
tokens = torch.cat([padded, angle.cos()[:, None], angle.sin()[:, None], torch.zeros(T + 2, 6)], 1)  # (T + 2, 12)
tuple(tokens.shape)

# %%
for p in heads.parameters():
    p.zero_()
for h, step in enumerate(steps):
    turn = torch.tensor(step * 2 * torch.pi / 32, dtype=torch.float64)
    rotation = torch.stack([turn.cos(), -turn.sin(), turn.sin(), turn.cos()]).view(2, 2)
    heads.W_q.weight[4 * h:4 * h + 2, 4:6] = 1e4 * rotation  # the query: this place, moved by `step`
    heads.W_k.weight[4 * h:4 * h + 2, 4:6] = torch.eye(2, dtype=torch.float64)  # the key: this place
    heads.W_v.weight[4 * h:4 * h + 4, :4] = torch.eye(4, dtype=torch.float64)  # the value: the content
    heads.W_o.weight[:C_out, 4 * h:4 * h + 4] = conv.weight[:, :, h]  # (C_out, C_in), the kernel
heads.W_o.bias[:C_out] = conv.bias

# %% [markdown]
# **Predict:** is this attention `nn.Conv1d` up to rounding, or only roughly?

# %%
out = heads(tokens[None], tokens[None], tokens[None])[0, 1:-1, :C_out]  # (T, C_out), without the two ends
difference = (out - conv(x.T[None])[0].T).abs().max().item()
three_heads_are_a_convolution = difference < 1e-10
assert three_heads_are_a_convolution
print("largest difference below 1e-10:", difference < 1e-10)

# %% [markdown]
# It is, up to rounding. One head for each step of the kernel is enough, and two numbers for a place. Thirty people and
# two ends fill this circle. Cordonnier, Loukas and Jaggi proved it in 2020 for pictures
# ([arXiv:1911.03584](https://arxiv.org/abs/1911.03584), theorem 1). So attention **can** be a convolution.
#
# The proof says that such weights *exist*. Whether training finds them is another question. And they are expensive:
# where `nn.Conv1d` visits three neighbours, each head works out a whole table, to put a single 1 into each row.

# %% [markdown] name="message-passing"
# ## The row becomes a graph
#
# Sitting in a row was an assumption, too. Let friendships decide instead: five nodes, and an edge from j to i wherever
# i hears j. One step for all nodes at once:
#
# 1. each neighbour sends a **message**, made from both ends of the edge;
# 2. the messages to a node are **added up**;
# 3. the node makes its **update** from what it was and what it gathered.
#
# This is *message passing*, and most networks on graphs are made of it
# ([Gilmer et al. 2017](https://arxiv.org/abs/1704.01212), equations 1 and 2).

# %% [markdown]
# ### Exercise 3: `message_passing`
#
# ★★☆ · 15 minutes · about 3 lines
#
# <details><summary>Hint 1: a question</summary>
#
# The messages of all pairs are a table with a vector in each square. What shape has it, and over which axis is the sum?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. all messages at once: give x an extra axis in one place for the receivers, in another for the senders
# 2. zero where there is no edge
# 3. sum over the senders
# 4. one call of `update`
#
# Or two loops, over i and j. What has a node gathered that hears nobody?
#
# </details>

# %% tags=["exercise"]
from course_lib.message_passing import message_passing

# %%
pass_messages = check(message_passing).verified

# %% [markdown]
# **The row is a graph:** a chain. Let each node know its place. The message is the sender's number, times ½ from the
# left, ¼ from oneself, ⅛ from the right. **Predict:** what does Ben gather?

# %%
place = torch.arange(T, dtype=torch.float64)
chain = (place - place[:, None]).abs() <= 1  # (T, T), neighbours and oneself
with_places = torch.stack([place, news], 1)  # (T, 2)


def by_distance(receiver, sender):
    return kernel[(sender - receiver)[..., 0].long().clamp(-1, 1) + 1, None] * sender[..., 1:]


on_the_chain = pass_messages(with_places, chain, by_distance, lambda x, gathered: gathered)[:, 0]  # (T,)
a_step_on_the_chain_is_a_convolution = torch.allclose(on_the_chain, by_torch, rtol=0, atol=1e-12)
assert a_step_on_the_chain_is_a_convolution
dict(zip(people, on_the_chain.tolist(), strict=True))

# %% [markdown] name="rounds"
# 4.5, as at the start: one step is the convolution.
#
# **A recurrent network** passes messages, too: from left to right, one edge per round. `nn.RNN` computes
# $h_t = \tanh(W_{ih}\, x_t + W_{hh}\, h_{t-1} + b)$. Let a node be $x_t$ and its state, zeros at first. How many rounds
# until Eve's state is right?

# %%
torch.manual_seed(0)
rnn = nn.RNN(4, 3, dtype=torch.float64).requires_grad_(False)
W_in, W_rec, bias = rnn.weight_ih_l0.T, rnn.weight_hh_l0.T, rnn.bias_ih_l0 + rnn.bias_hh_l0
left_to_right = torch.diag(torch.ones(T - 1), -1).bool()  # t hears t - 1
right_states = rnn(x)[0]  # (T, 3)
nodes, first_right = torch.cat([x, torch.zeros(T, 3)], 1), {}  # (T, 4 + 3)
for turn in range(1, T + 1):
    nodes = pass_messages(nodes, left_to_right, lambda receiver, sender: sender[..., 4:] @ W_rec,
                          lambda x, heard: torch.cat([x[..., :4], torch.tanh(x[..., :4] @ W_in + bias + heard)], -1))
    is_right = torch.isclose(nodes[:, 4:], right_states, rtol=0, atol=1e-12).all(1)
    first_right |= {p: turn for p, right in zip(people, is_right, strict=True) if right and p not in first_right}

# %%
a_recurrence_needs_a_round_for_each_step = list(first_right.values()) == [1, 2, 3, 4, 5]
assert a_recurrence_needs_a_round_for_each_step
first_right

# %% [markdown]
# The first round makes Ann's state right, each further one the next person's. So a recurrence is message passing on a
# very thin graph: T − 1 edges, and news has to cross all of them from one end to the other. How many rounds does the
# complete graph need?

# %% [markdown] name="complete-graph"
# ## Attention is a step on the complete graph
#
# Everybody hears everybody. The softmax divides by a sum over all, which no sender knows. So send two things: the
# exponential of the score, and the value times it. The update divides one sum by the other.

# %%
generator = torch.Generator().manual_seed(4)
W_q, W_k, W_v = torch.randn(3, 4, 4, generator=generator, dtype=torch.float64) / 2
everybody = torch.ones(T, T, dtype=torch.bool)


def loud(receiver, sender):
    scores = ((receiver @ W_q) * (sender @ W_k)).sum(-1, keepdim=True) / 4**0.5
    return torch.cat([scores.exp(), scores.exp() * (sender @ W_v)], -1)  # (..., 1 + 4)


def divide(x, gathered):
    return gathered[..., 1:] / gathered[..., :1]


step = pass_messages(x, everybody, loud, divide)  # (T, 4)
judge = F.scaled_dot_product_attention((x @ W_q)[None], (x @ W_k)[None], (x @ W_v)[None])[0]
attention_is_a_step_on_the_complete_graph = torch.allclose(step, judge, rtol=0, atol=1e-12)
assert attention_is_a_step_on_the_complete_graph
dict(zip(people, [round(value, 3) for value in step[:, 0].tolist()], strict=True))

# %% [markdown]
# The two sums are the numerator and the denominator of a softmax. Nothing in attention goes beyond "send, add, update":
# all its power is in the message, which depends on **both** ends of the edge.
#
# Read it the other way round: a Transformer is a network on the graph with all edges, and finds their weights by
# itself. If you *do* know the edges, you can give them: as a mask. Which edges did the masks of lesson 07 cut?
#
# ### Exercise 4: `attention_on_graph`
#
# ★★☆ · 15 minutes · about 5 lines
#
# <details><summary>Hint 1: a question</summary>
#
# Your version 5 has a table of scores. What does lesson 07 do to those that must not count? What does a softmax make of
# a row in which *none* may count, and what is asked for?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. scores as in version 5
# 2. hide those without an edge, before the softmax
# 3. softmax; then see to the nodes that hear nobody
# 4. mix the values
#
# </details>

# %% tags=["exercise"]
from course_lib.message_passing import attention_on_graph

# %%
graph_attention = check(attention_on_graph).verified

# %%
from course_lib.display.drawings.graph import graph as draw_graph

causal = torch.ones(T, T).tril().bool()
three_graphs, tables = {"everybody": everybody, "only the past": causal, "the chain": chain}, {}
for name, graph in three_graphs.items():
    eye = torch.eye(T, dtype=torch.float64)  # with the values 1, 0, 0, ... the output is the table of weights
    known = torch.cat([x, eye], 1)  # (T, 4 + T)
    zeros = torch.zeros(T, 4, dtype=torch.float64)
    tables[name] = graph_attention(known, graph, torch.cat([W_q, zeros]), torch.cat([W_k, zeros]),
                                   torch.cat([torch.zeros(4, T, dtype=torch.float64), eye]))  # (T, T)
plots.show(draw_graph(tables, people), "Three graphs of five people on a ring; an arrow leads from "
           "each sender to whoever hears, and a bow is a person's own news. Everybody: arrows both ways between all. "
           "Only the past: arrows lead from those earlier in the row to those later, and Ann has her bow alone. The "
           "chain: arrows both ways, between neighbours in the row alone.")

# %%
all_edges_give_version_5 = torch.allclose(graph_attention(x, everybody, W_q, W_k, W_v), judge, rtol=0, atol=1e-12)
as_torch_with_a_causal_mask = torch.allclose(
    graph_attention(x, causal, W_q, W_k, W_v), F.scaled_dot_product_attention(
        (x @ W_q)[None], (x @ W_k)[None], (x @ W_v)[None], is_causal=True)[0], rtol=0, atol=1e-12)
assert all_edges_give_version_5
assert as_torch_with_a_causal_mask
{name: int(graph.sum()) for name, graph in three_graphs.items()}

# %% [markdown] name="equivariance"
# ## What is left when all edges are there?
#
# Change seats: does everybody take their result along? With P for the new order of the rows, that is f(P x) = P f(x).
# Lesson 02 called it **permutation equivariance**.
#
# **Predict** for each layer and an encoder: of all 120 ways to seat five people, in how many does everybody get the
# same as before?

# %%
from itertools import permutations

EncoderLayer = mine("EncoderLayer")
torch.manual_seed(0)
encoder = nn.Sequential(EncoderLayer(4, 2, 8), EncoderLayer(4, 2, 8)).double().requires_grad_(False)
seatings = torch.tensor(list(permutations(range(T))))  # (120, T)


def unmoved(layer):
    """In how many seatings everybody gets what they got before."""
    return sum(torch.allclose(layer(x[seats]), layer(x)[seats], rtol=0, atol=1e-12) for seats in seatings)


table = {"fully connected": lambda x: as_it_comes @ x, **layers, "RNN": lambda x: rnn(x)[0],
         "attention": lambda x: graph_attention(x, everybody, W_q, W_k, W_v), "encoder": lambda x: encoder(x[None])[0]}
counts = {name: unmoved(layer) for name, layer in table.items()}
counts

# %%
attention_knows_no_seats = counts["attention"] == counts["encoder"] == counts["average"] == 120
the_others_know_one_seating_only = all(counts[name] == 1 for name in ("fully connected", "convolution",
                                                                     "recurrence", "RNN"))
assert attention_knows_no_seats
assert the_others_know_one_seating_only
{"everybody takes their result along": [name for name, seatings in counts.items() if seatings == 120]}

# %% [markdown]
# On the complete graph nobody has a place. That is the one prior about connections that attention keeps. So order is a
# choice: leave positions out for a set, add them for a sentence. The average is equivariant, too, but it gives
# everybody the same. Attention gives each their own answer.

# %% [markdown] name="anything"
# ## Anything tokenised in, tokenised out
#
# An encoder needs vectors, as many as you like. So *one* class is enough for everything that can be cut into pieces.
# Only the first layer differs: how a piece becomes a vector.

# %%
class Reader(nn.Module):
    """Tokens of any kind in, one answer per token out; `into` turns tokens into vectors (B, T, d_model)."""

    def __init__(self, into, d_out, d_model=32, num_layers=2):
        super().__init__()
        self.into = into
        self.layers = nn.ModuleList(EncoderLayer(d_model, 4, 2 * d_model) for _ in range(num_layers))
        self.out = nn.Linear(d_model, d_out)

    def forward(self, tokens, mask=None):
        x = self.into(tokens)  # (B, T, d_model)
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(x)  # (B, T, d_out)


# %%
from course_lib.vision import patchify

kinds = {
    "words": (nn.Embedding(1000, 32), torch.randint(1000, (2, 7))),
    "a picture, in patches": (nn.Linear(4, 32), patchify(torch.randn(2, 1, 8, 8), 2)),
    "points in space": (nn.Linear(3, 32), torch.randn(2, 20, 3)),
    "a time series, in windows": (nn.Linear(5, 32), torch.randn(2, 60).unfold(1, 5, 5)),
    "a graph, edges as mask": (nn.Linear(6, 32), torch.randn(2, 9, 6), torch.rand(9, 9) < 0.5),
}
shapes = {name: (tuple(tokens.shape), tuple(Reader(into, 5)(tokens, *mask).shape))
          for name, (into, tokens, *mask) in kinds.items()}
for name, (tokens, answers) in shapes.items():
    print(f"{name:26} {tokens!s:12} -> {answers}")

# %%
one_class_reads_them_all = all(out == (*tokens[:2], 5) for tokens, out in shapes.values())
assert one_class_reads_them_all
len(shapes), "kinds of tokens, one class"

# %% [markdown]
# The pieces differ in number and in width, and each kind has its own way in. After that, all is the same code.
#
# Does it also *learn* from them? Three tasks with nothing in common, one recipe: the same class, sizes, learning rate
# and 150 steps.
#
# - **A set:** seven numbers in no order. Point at the middle one, the median.
# - **A series:** sixteen values of a wave of any frequency and phase. Predict the next one.
# - **A graph:** ten people, of whom some know a secret. For each of them: does anybody they hear know it?

# %%
def train(model, loss, data, steps=150, rate=3e-3, seed=0):
    """Adam, a rate that falls to nearly nothing, batches of 32 or fewer."""
    size = min(32, len(data[0]))
    batches = shuffled(*data, batch_size=size, epochs=-(-steps // (len(data[0]) // size)), seed=seed)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    fit(model, loss, [batch for batch, _ in zip(batches, range(steps), strict=False)], optimizer, schedule)
    return model.eval().requires_grad_(False)


def reader(d_in, d_out=1, seed=0):
    torch.manual_seed(seed)
    return Reader(nn.Linear(d_in, 32), d_out)


# %%
def sets(n, seed):
    x = torch.randn(n, 7, generator=torch.Generator().manual_seed(seed))
    return x, x.argsort(1)[:, 3]  # (n, 7), and which of them is the middle one (n,)


def point(model, x, middle):
    return F.cross_entropy(model(x[..., None])[..., 0], middle)


fresh, middle = sets(1000, seed=99)
pointer = train(reader(1), point, sets(4800, seed=0))
right = (pointer(fresh[..., None])[..., 0].argmax(1) == middle).float().mean().item()
the_set_is_read = right > 0.85
assert the_set_is_read
print("points at the median in more than 85 of 100 new sets:", the_set_is_read)

# %% [markdown]
# The series comes in four windows of four values, each with its place beside it. A graph comes as its edges, in the
# mask.

# %%
from course_lib.positions import sinusoidal_positions


def waves(n, seed):
    """Waves with 0.3 to 2.5 radians a step: 16 values in windows (n, 4, 4 + 8), and the 17th (n,)."""
    generator = torch.Generator().manual_seed(seed)
    step, phase = torch.rand(2, n, 1, generator=generator)
    values = torch.sin((0.3 + 2.2 * step) * torch.arange(17) + 2 * torch.pi * phase)  # (n, 17)
    places = sinusoidal_positions(4, 8).expand(n, -1, -1)  # (n, 4, 8)
    return torch.cat([values[:, :16].unfold(1, 4, 4), places], 2), values[:, 16]


def secrets(n, seed):
    """Who knows a secret (n, 10, 1), who hears whom (n, 10, 10), and who hears somebody that knows (n, 10)."""
    generator = torch.Generator().manual_seed(seed)
    hears, knows = (torch.rand(n, 10, k, generator=generator) < 0.3 for k in (10, 1))
    return knows.float(), hears, (hears & knows.mT).any(2).float()


# %%
new_waves, then = waves(1000, seed=99)
seer = train(reader(12), lambda model, x, y: F.mse_loss(model(x)[:, -1, 0], y), waves(4800, seed=0))
wave_error = (F.mse_loss(seer(new_waves)[:, -1, 0], then) / then.var()).item()
knows, hears, informed = secrets(500, seed=99)
gossip = train(reader(1), lambda model, x, mask, y: F.binary_cross_entropy_with_logits(model(x, mask)[..., 0], y),
               secrets(4800, seed=0))
graph_right = ((gossip(knows, hears)[..., 0] > 0) == (informed > 0)).float().mean().item()
print("wave: less than a tenth of the variance is left:", wave_error < 0.1)
print("graph: right for more than 97 of 100 people:", graph_right > 0.97)

# %%
the_series_is_read = wave_error < 0.1
the_graph_is_read = graph_right > 0.97 > informed.mean().item() + 0.2
assert the_series_is_read
assert the_graph_is_read
{"set": the_set_is_read, "series": the_series_is_read, "graph": the_graph_is_read}

# %% [markdown]
# One training of each shows that it can be done, not how often it works. Somebody has to cut the data into tokens, and
# to say in which sense order matters (the wave got places, the set did not).
#
# What came *after* 2017 went this way: pictures in patches ([Dosovitskiy et al.
# 2021](https://arxiv.org/abs/2010.11929)), pictures, sound and point clouds by one design ([Jaegle et al.
# 2021](https://arxiv.org/abs/2103.03206)), games and a robot arm by one set of weights ([Reed et al.
# 2022](https://arxiv.org/abs/2205.06175)).

# %% [markdown] name="scales"
# ## Does it scale with data?
#
# Back to the set of seven numbers. How many examples does it take to learn which is the middle one? Three networks get
# 32, 128 and 512 sets, three times each, with other examples and other first weights:
#
# - the encoder, which knows no seats;
# - the same encoder, and each number comes with its seat: it can tell the seats apart, so the prior is gone;
# - a network with two hidden layers of 64 that reads the seven numbers as one vector: the general case. It gets four
#   times as many steps.
#
# **Predict** the three curves: the share of new sets they get right.

# %%
def share_right(answer):
    return (answer.argmax(1) == middle).float().mean().item()


def with_seats(x):
    return torch.cat([x[..., None], torch.eye(7).expand(len(x), 7, 7)], 2)  # (n, 7, 1 + 7)


def of_vector(seed, d_in=7):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 7))


rivals = {"encoder": (lambda seed: reader(1, seed=seed), lambda x: x[..., None], 120),
          "encoder with seats": (lambda seed: reader(8, seed=seed), with_seats, 120),
          "fully connected": (of_vector, lambda x: x, 480)}

# %%
def learned_from(n, seed, new_model, tokens, steps):
    """Train on n sets; the share of new sets whose middle it finds."""
    def answer(model, x):
        return model(tokens(x)).flatten(1)  # (B, 7)

    model = train(new_model(seed), lambda model, x, y: F.cross_entropy(answer(model, x), y), sets(n, seed=1 + seed),
                  steps=steps, seed=seed)
    return share_right(answer(model, fresh))


numbers = [32, 128, 512]
curves = {name: torch.tensor([[learned_from(n, seed, *rival) for seed in range(3)] for n in numbers])
          for name, rival in rivals.items()}  # (3 numbers, 3 seeds) each

# %%
def draw_curves(x, curves, names, guessing, alt):
    """A dot for each training, and a line through the means."""
    figure, axis = plt.subplots(figsize=(6.6, 3), layout="constrained")
    for (name, curve), style in zip(curves.items(), ("o-", "^:", "s--"), strict=True):
        line, = axis.semilogx(x, curve.mean(1), style[1:], label=name)
        axis.semilogx(x, curve, style[0], color=line.get_color(), alpha=0.5)
    axis.axhline(guessing, color="black", linewidth=0.8, label="guessing")
    axis.set(xlabel=names[0], ylabel=names[1], ylim=(0, 1.05))
    axis.set_xticks(x, [f"{n:,}" for n in x])
    axis.minorticks_off()
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    plots.show(figure, alt)


# %%
draw_curves(numbers, curves, ("sets in training", "middle found in new sets"), 1 / 7,
            "Share of new sets whose middle is found, over the number of sets in training, three dots for each "
            "network. The encoder begins near 0.9 and ends near 1. With seats it rises from below a half at 32 sets "
            "to 0.9 at 512. The fully connected network begins at guessing and ends near 0.4.")

# %%
encoders, seated, full_curve = curves.values()
more_data_helps_all = all((curve[2].mean() > curve[0].mean() + 0.02).item() for curve in curves.values())
seats_cost_examples = (encoders[0].min() > seated[0].max() + 0.1).item()
thirty_two_sets_without_seats_beat_512_in_a_vector = (encoders[0].min() > full_curve[2].max() + 0.1).item()
assert more_data_helps_all
assert seats_cost_examples
assert thirty_two_sets_without_seats_beat_512_in_a_vector
more_data_helps_all, seats_cost_examples, thirty_two_sets_without_seats_beat_512_in_a_vector

# %% [markdown]
# All three improve as data grows. And the one prior that is left is worth a lot *where it is true*: a set has no order.
# The control is the encoder with seats: the same layers, as many steps, and with 32 sets it is far behind. With 512
# sets most of the gap is closed. The fully connected network needs more sets still.
#
# **Predict** the share for two more rivals: the encoder with seats on 32 sets, if every batch deals the seats anew, at
# random; and the fully connected network on 512 sets, if it reads the 49 comparisons $x_i > x_j$ instead of the seven
# numbers.

# %%
def dealt_seats(x):
    return torch.cat([x[..., None], torch.eye(7)[torch.randperm(7)].expand(len(x), 7, 7)], 2)  # (n, 7, 1 + 7)


def comparisons(x):
    return (x[:, :, None] > x[:, None]).float().flatten(1)  # (n, 49)


two_more = ((32, lambda seed: reader(8, seed=seed), dealt_seats, 120),
            (512, lambda seed: of_vector(seed, 49), comparisons, 480))
dealt, compared = (torch.tensor([learned_from(n, seed, *rival) for seed in range(3)]) for n, *rival in two_more)
dealt_seats_do_little_harm = dealt.min() > seated[0].max() + 0.2 and dealt.mean() > encoders[0].mean() - 0.08
comparisons_do_without_sharing = (compared.min() > full_curve[2].max() + 0.3).item()
assert dealt_seats_do_little_harm
assert comparisons_do_without_sharing
round(dealt.mean().item(), 1), round(compared.mean().item(), 1)

# %% [markdown]
# Both find about nine of ten. To change examples in a way that must not change the answer is **data augmentation**: it
# teaches a symmetry that is not built in. And given the comparisons, a network can do without weights shared by all
# seats.
#
# For language, loss falls as a power of model size, data and computation over many orders of magnitude ([Kaplan et al.
# 2020](https://arxiv.org/abs/2001.08361)). Three points on a toy task cannot show that.

# %% [markdown] name="transfer"
# ## Can it be used again?
#
# **Transfer:** train on a task with plenty of labels, keep what was learned, go on with another task that has few.
#
# - The task with plenty: sentences of five words out of sixteen. For every word: *does it stand here twice?*
# - The task with few: one label per sentence: *does any word stand here twice?*
#
# Three starts: from scratch, from a model that can do the first task, and from layers that can find the **median** of
# numbers. **Predict:** does the start change how many labels it takes, how many steps, and how many answers are right
# in the end? And does it help to have learned just *anything*?

# %% tags=["given"]
from course_lib.experiments.transfer import words


# %%
def of_words(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x)[..., 0], y)


def of_sentence(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x)[..., 0].sum(1), y)


torch.manual_seed(0)
word_reader = train(Reader(nn.Embedding(16, 32), 1), of_words, words(9600, seed=0), steps=300)
new_sentences, twice = words(1000, seed=99)
known = ((word_reader(new_sentences)[..., 0] > 0) == (twice > 0)).float().mean().item()
the_first_task_is_learned = known > 0.95
assert the_first_task_is_learned
the_first_task_is_learned

# %%
def fine_tuned(start, n, steps):
    """Layers (and, where they fit, words) from `start`, a new last layer; steps on n labels; right on new ones."""
    torch.manual_seed(3)
    model = Reader(nn.Embedding(16, 32), 1)
    for part in ("layers", "into"):
        if start and [p.shape for p in getattr(start, part).parameters()] == [
                p.shape for p in getattr(model, part).parameters()]:
            getattr(model, part).load_state_dict(getattr(start, part).state_dict())
    x, y = words(n, seed=500)
    train(model, of_sentence, (x, y.amax(1)), steps=steps, rate=2e-3)
    return ((model(new_sentences)[..., 0].sum(1) > 0) == (twice.amax(1) > 0)).float().mean().item()


# %%
starts = {"from scratch": None, "from the median": pointer, "from the words": word_reader}
today = {name: fine_tuned(start, n=256, steps=300) for name, start in starts.items()}

# %% [markdown]
# That was 256 labels and 300 steps. Each start was also trained for 100 to 2,000 steps on 64 to 4,096 labels, three
# times, first task included. That takes five minutes. The results are stored, and today's have to agree with them to
# 0.08.

# %%
from course_lib.experiments.stored import stored

rights = {}  # (start, labels, steps): three seeds
for row in stored("14-transfer"):
    rights.setdefault((row["start"], row["labels"], row["steps"]), []).append(row["right"])
rights = {point: torch.tensor(each) for point, each in rights.items()}
today_agrees = all(rights[name, 256, 300].min() - 0.08 < right < rights[name, 256, 300].max() + 0.08
                   for name, right in today.items())
assert today_agrees
today_agrees

# %% [markdown]
# First the labels. Each start gets 1,000 steps. With up to 1,024 labels, another 1,000 steps move no mean by as much as
# 0.02.

# %%
labels = [64, 256, 1024, 4096]
by_labels = {name: torch.stack([rights[name, n, 1000] for n in labels]) for name in starts}  # (4, 3) each
draw_curves(labels, by_labels, ("labelled sentences", "right on new sentences"), twice.amax(1).mean(),
            "Share right after 1,000 steps, over 64 to 4,096 labels, three dots for each start. From scratch and from "
            "the median rise together, from below 0.6 to nearly 1. From the words is above both up to 1,024 labels: "
            "0.7 at 64, more than 0.9 at 256. At 4,096 labels all are nearly 1.")

# %%
scratch, unrelated, related = by_labels.values()
all_have_stopped_rising = max(abs(rights[name, n, 2000].mean() - rights[name, n, 1000].mean())
                              for name in starts for n in labels[:3]) < 0.02
a_related_start_helps = (related[:3].min(1).values > scratch[:3].max(1).values).all().item()
a_quarter_of_the_labels_will_do = (related[:3].mean(1) > scratch[1:].mean(1) - 0.02).all().item()
with_many_labels_all_are_equal = min(curve[3].min() for curve in by_labels.values()) > 0.98
an_unrelated_start_does_not = ((unrelated - scratch).mean(1).abs() < 0.05).all().item()
assert all_have_stopped_rising
assert a_related_start_helps
assert a_quarter_of_the_labels_will_do
assert with_many_labels_all_are_equal
assert an_unrelated_start_does_not
{"related start helps": a_related_start_helps, "unrelated start helps": not an_unrelated_start_does_not}

# %% [markdown]
# Now 100, 300, 1,000 and 2,000 steps, with 1,024 labels: the means of three trainings.

# %%
by_steps = {name: torch.stack([rights[name, 1024, n] for n in (100, 300, 1000, 2000)]) for name in starts}
scratch, unrelated, related = by_steps.values()
a_hundred_steps_do_for_a_thousand = (related[0].mean() > scratch[2].mean() - 0.02).item()
scratch_never_overtakes = all(rights["from the words", n, steps].mean() > rights["from scratch", n, steps].mean()
                              for name, n, steps in rights if name == "from scratch")
assert a_hundred_steps_do_for_a_thousand
assert scratch_never_overtakes
{name: [round(mean, 2) for mean in each.mean(1).tolist()] for name, each in by_steps.items()}

# %% [markdown]
# Of these three, the related start needs about a quarter of the labels or, with 1,024 labels, a tenth of the steps.
# With equal labels and steps the start from scratch never overtakes it; with 4,096 labels it has caught up. The
# median gains nothing. And the related start is not free: the first task had 9,600 labelled sentences.
#
# **Predict** the share right for two more rivals:
#
# - the model of the first task as it is, no label of the second: take the largest of its five outputs, or their sum;
# - from scratch, 32 labels; in every batch the sixteen words swap names at random.

# %%
largest, summed = rights["the largest answer", 0, 0], rights["the sum of the answers", 0, 0]
as_they_stand, renamed = rights["from scratch", 64, 1000], rights["from scratch, renamed", 32, 1000]
largest_today = ((word_reader(new_sentences)[..., 0].amax(1) > 0) == (twice.amax(1) > 0)).float().mean()
no_label_beats_256 = (largest > torch.stack([rights["from the words", n, 1000] for n in (64, 256)])).all().item()
the_sum_loses_it = (summed.max() < 0.65 < 0.95 < min(largest.min(), largest_today)).item()
renaming_replaces_labels = (renamed.min() > 0.98 > as_they_stand.max() + 0.3).item()
assert no_label_beats_256
assert the_sum_loses_it
assert renaming_replaces_labels
{"largest, no label": round(largest.mean().item(), 2), "sum, no label": round(summed.mean().item(), 2),
 "scratch, 64 labels": round(as_they_stand.mean().item(), 2), "renamed, 32": round(renamed.mean().item(), 2)}

# %% [markdown]
# The model of the words could already do the second task. Without one label (**zero-shot**) the largest of its five
# outputs is right for 0.99, more than after fine-tuning on 256 labels. Their sum is right for 0.59. Fine-tuning used a
# sum, and a new last layer: both threw an answer away, and labels had to buy it back.
#
# From scratch, 64 labels stay near guessing. Swap the names, and 32 are enough: it is data augmentation again, and it
# says that names do not matter.
#
# The start from the words hands over two things: its layers, and its vectors for the sixteen words. **Predict:** would
# one of the two be enough? Or the layers, with random vectors of the same mean and covariance as the trained ones?

# %%
handed = {"nothing": "from scratch", "vectors": "only their vectors", "layers": "only their layers",
          "layers, random vectors": "their layers, vectors like theirs", "both": "from the words"}
ends = {name: rights[start, 256, 1000] for name, start in handed.items()}
neither_is_enough = max(ends["vectors"].max(), ends["layers"].max()) < ends["both"].min() - 0.05
layers_alone_help_a_little = (ends["layers"].min() > ends["nothing"].max()).item()
random_vectors_are_between = (ends["layers"].max() < ends["layers, random vectors"].min()
                              and ends["layers, random vectors"].max() < ends["both"].min()).item()
assert neither_is_enough
assert layers_alone_help_a_little
assert random_vectors_are_between
{name: round(each.mean().item(), 2) for name, each in ends.items()}

# %% [markdown]
# Neither. The layers alone help a little, the vectors alone hardly at all. Layers and random vectors, spread like the
# trained ones, close nearly half of the gap between layers alone and both.
#
# How much another task can use of a large model has to be measured in the same way, rivals included. Lesson 15 puts the
# weights of one into your code.

# %% [markdown] name="foresee"
# ## Why did few foresee it?
#
# One design for pictures, sound and text: the pieces were there. Weights that depend on the data: *fast weights* in
# 1992 ([Schlag et al. 2021](https://arxiv.org/abs/2102.11174) compare them with attention). Attention: Bahdanau and
# colleagues in 2014, as a remedy for long sentences in one task. Message passing on graphs got its name in 2017, the
# year of the Transformer. Three things spoke against joining them on the complete graph.
#
# **It looked wasteful.** A convolution needs 3 connections per token, the complete graph T.

# %%
picture = torch.zeros(1, 3, 224, 224)
tokens_in = {"a sentence of 50 words": 50, "224 × 224 pixels": picture[0, 0].numel(),
             "the same in patches of 16 × 16": patchify(picture, 16).shape[1]}
for name, n in tokens_in.items():
    print(f"{name:32} {3 * n:>9,} connections of a convolution, {n * n:>13,} pairs")
sentence, pixels, patches = tokens_in.values()
patches_bring_a_picture_near_a_long_text = patches < 4 * sentence and pixels > 1000 * sentence
assert patches_bring_a_picture_near_a_long_text

# %% [markdown]
# **It looked like a step back.** Convolution had won by building knowledge *in*. Richard Sutton's answer, in
# [The Bitter Lesson](http://www.incompleteideas.net/IncIdeas/BitterLesson.html) (2019): what wins in the long run are
# general methods that make use of more computation. That is an observation about the past, not a theorem. Our 32
# sets say the opposite for *small* data: there the true prior won.
#
# **It looked like a translation paper.** Its authors did hope for more: section 7 names pictures, sound and video. Days
# later some of them published one model for pictures, speech and text
# ([Kaiser et al. 2017](https://arxiv.org/abs/1706.05137)). Section 7 also expects *"local, restricted attention"*. The
# Vision Transformer did without; others brought it back ([Liu et al. 2021](https://arxiv.org/abs/2103.14030)).
#
# Sort what you have seen into what follows **by algebra** (a fully connected pattern contains a convolution;
# equivariance) and what was found **by trying** (that it trains; that it goes on improving). Which of the two could
# have been foreseen on paper?

# %% [markdown]
# ## The audit
#
# So much for what holds by algebra and what was found by trying. Now to what people *say*.
#
# Sixteen sentences about Transformers, all in circulation. For each: **predict, run, verdict.** Below each list, write
# `True` or `False` in place of `None`, which means no prediction. A prediction counts only if it was made before its
# verdict, so run the cells in order. The reason is folded below each cell.

# %%
guesses, verdicts = {}, {}


def predict(**yours):
    """Keep predictions of claims that have no verdict yet."""
    guesses.update({claim: guess for claim, guess in yours.items() if claim not in verdicts})


def verdict(claim, holds):
    """Keep what the experiment says, and show it beside the prediction."""
    verdicts[claim] = holds = bool(holds)
    yours = guesses.get(claim)
    beside = "no prediction" if yours is None else "as you predicted" if yours == holds else "you predicted otherwise"
    print(f"{claim}: {holds} ({beside})")


predict(it_rains=True)  # an example
verdict("it_rains", False)
guesses.clear()
verdicts.clear()

# %% [markdown]
# ### Softmax and scale
#
# | name | claim |
# |---|---|
# | `only_the_peak` | "With softmax and cross-entropy, only the largest logit gets a gradient." |
# | `root_d_is_stability` | "The √d is there for numerical stability." |
# | `large_number` | "To mask a key, set its score to a large number." |
# | `max_is_attention` | "Max-pooling is attention with a very sharp softmax." |

# %%
predict(only_the_peak=None, root_d_is_stability=None, large_number=None, max_is_attention=None)
print("predictions so far:", sum(guess is not None for guess in guesses.values()))

# %% [markdown]
# **1.** One sure and wrong classifier: logit 100 for class 0, while class 3 is right.

# %%
logits = torch.tensor([100.0] + [0.0] * 9, requires_grad=True)
F.cross_entropy(logits, torch.tensor(3)).backward()
the_gradient_is_p_minus_y = torch.allclose(logits.grad, logits.detach().softmax(0) - F.one_hot(torch.tensor(3), 10))
assert the_gradient_is_p_minus_y
verdict("only_the_peak", (logits.grad.abs() > 1e-6).sum() == 1)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# The gradient is p − y. What *does* vanish is the slope of the softmax itself, and that bites inside attention, where
# no logarithm follows (lesson 04).
#
# </details>
#
# **2.** Scores of 2,000 and 1,999, in float32. Divide by $\sqrt{16}$. Then, instead, subtract the larger one.

# %%
scores = torch.tensor([2000.0, 1999.0])
scaled_only, shifted_only = (s.exp() / s.exp().sum() for s in (scores / 16**0.5, scores - scores.max()))
one_is_nan_and_one_the_softmax = (bool(scaled_only.isnan().all())
                                  and torch.allclose(shifted_only, scores.softmax(0)))
assert one_is_nan_and_one_the_softmax
verdict("root_d_is_stability", scaled_only.isfinite().all())

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# Subtracting is for stability. $\sqrt{d}$ is for the **variance** of a dot product: it keeps the softmax where it has
# slopes (lesson 04).
#
# </details>
#
# **3.** Three scores. The third key is padding. Put a billion in its place, then minus a billion.

# %%
large, large_negative = (torch.tensor([1.0, 2.0, fill]).softmax(0)[2].item() for fill in (1e9, -1e9))
one_of_them_is_0_and_one_is_1 = {large, large_negative} == {0, 1}
assert one_of_them_is_0_and_one_is_1
verdict("large_number", large == 0)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# A large **negative** number. With −∞ a row without any key is NaN, and you have to decide what it should be
# (lesson 07; exercise 4 decided for zero).
#
# </details>
#
# **4.** Two inputs, (1, 0) and (0, 1). Their maximum, channel by channel, is (1, 1). Does a mixture of the two reach
# it?

# %%
two = torch.eye(2)
soft_max_pool = mine("soft_max_pool")
per_channel = torch.allclose(soft_max_pool(two, 1000.0), torch.ones(2))  # every channel has weights of its own
mixtures = torch.rand(1000, 2, generator=torch.Generator().manual_seed(0)).softmax(1) @ two  # one set of weights each
one_distribution_cannot = per_channel and mixtures.sum(1).max().item() < 1.001
assert one_distribution_cannot
verdict("max_is_attention", not one_distribution_cannot)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# True for each channel by itself. Attention gives all channels of a head **one** set of weights, and a mixture of the
# two never sums to more than 1 (lesson 01).
#
# </details>
#
# ### What attention is made of
#
# | name | claim |
# |---|---|
# | `square_matrices` | "W_Q, W_K and W_V have to be square matrices." |
# | `three_outputs` | "Multi-head attention concatenates three outputs: query, key and value." |
# | `heads_are_free` | "Heads that divide d_model among them have as many parameters as one head." |
# | `keras_is_torch` | "Keras' `MultiHeadAttention(num_heads=4, key_dim=256)` is torch's `MultiheadAttention(256, 4)`" |

# %%
predict(square_matrices=None, three_outputs=None, heads_are_free=None, keras_is_torch=None)
print("predictions so far:", sum(guess is not None for guess in guesses.values()))

# %% [markdown]
# **5.** Six numbers per word. Make queries and keys three wide and values two wide.

# %%
six_wide = torch.randn(1, 5, 6)
W_q, W_k, W_v = torch.randn(6, 3), torch.randn(6, 3), torch.randn(6, 2)
out = F.scaled_dot_product_attention(six_wide @ W_q, six_wide @ W_k, six_wide @ W_v)
Q, K, V = six_wide @ W_q, six_wide @ W_k, six_wide @ W_v
it_is_attention_all_the_same = torch.allclose(out, torch.softmax(Q @ K.mT / 3**0.5, -1) @ V, atol=1e-5)
assert it_is_attention_all_the_same
verdict("square_matrices", not it_is_attention_all_the_same)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# They need not be. Only `W_q` and `W_k` share a width, since queries and keys meet in a dot product (lesson 05).
#
# </details>
#
# **6.** The sizes of the paper. Cut queries, keys and values into eight pieces, with a softmax for each. Are the eight
# outputs, side by side, what the last matrix gets?

# %%
layer = nn.MultiheadAttention(512, 8, batch_first=True).requires_grad_(False)
tokens = torch.randn(1, 5, 512)
three = F.linear(tokens, layer.in_proj_weight, layer.in_proj_bias).chunk(3, -1)  # (1, 5, 512) each
eight = F.scaled_dot_product_attention(*(each.unflatten(-1, (8, 64)).transpose(1, 2) for each in three))
side_by_side = eight.transpose(1, 2).flatten(2)  # (1, 5, 512)
as_many_outputs_as_heads = torch.allclose(layer.out_proj(side_by_side), layer(tokens, tokens, tokens)[0], atol=1e-5)
assert as_many_outputs_as_heads
verdict("three_outputs", layer.out_proj.in_features == 3 * 512)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# Three is the number of projections. The outputs of h **heads** are concatenated (lesson 06).
#
# </details>
#
# **7.** Count.

# %%
parameters = {h: sum(p.numel() for p in nn.MultiheadAttention(512, h).parameters()) for h in (1, 2, 8, 16)}
one_head_has_four_matrices_with_biases = parameters[1] == 4 * (512 * 512 + 512)
assert one_head_has_four_matrices_with_biases
verdict("heads_are_free", len(set(parameters.values())) == 1)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# True of parameters: here heads cut the matrices, they do not add any. The tables of weights do grow with h (lesson
# 06). Where the width of a head is given instead, as in the next claim, every head adds its own.
#
# </details>
#
# **8.** In Keras, `key_dim` is the width of **one** head.

# %%
def keras(key_dim, heads=4, width=256):
    inner = heads * key_dim  # all heads together
    return 3 * (width * inner + inner) + inner * width + width


torchs = sum(p.numel() for p in nn.MultiheadAttention(256, 4).parameters())
a_quarter_of_the_key_dim_is_torchs = keras(64) == torchs
assert a_quarter_of_the_key_dim_is_torchs
print(f"Keras: {keras(256):,} parameters, torch: {torchs:,}")
verdict("keras_is_torch", keras(256) == torchs)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# `key_dim=64` would be torch's layer (lesson 06).
#
# </details>
#
# ### Position
#
# | name | claim |
# |---|---|
# | `sinusoids_from_0_to_1` | "Sinusoidal positions lie between 0 and 1." |
# | `nearer_is_more_alike` | "Each distance is consistent: the nearer two positions, the larger their dot product." |
# | `shift_is_linear` | "PE(pos + k) is a linear function of PE(pos)." |
# | `residuals_carry_position` | "Residual connections carry position through the layers." |

# %%
predict(sinusoids_from_0_to_1=None, nearer_is_more_alike=None, shift_is_linear=None, residuals_carry_position=None)
print("predictions so far:", sum(guess is not None for guess in guesses.values()))

# %% [markdown]
# **9.** A hundred positions, sixteen wide.

# %%
table = sinusoidal_positions(100, 16)  # (100, 16)
none_is_larger_than_one = table.abs().max().item() <= 1
assert none_is_larger_than_one
verdict("sinusoids_from_0_to_1", table.min().item() >= 0)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# Sine and cosine lie between −1 and 1 (lesson 09).
#
# </details>
#
# **10.** All dot products of two positions. Is a diagonal one number? Do the numbers fall from diagonal to diagonal?

# %%
products = table @ table.T  # (100, 100)
distance_alone_decides = all((products.diagonal(k) - products[0, k]).abs().max() < 1e-4 for k in range(100))
but_not_step_by_step_downwards = bool((products[0].diff() > 0.1).any())
assert distance_alone_decides
assert but_not_step_by_step_downwards
verdict("nearer_is_more_alike", not but_not_step_by_step_downwards)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# The first half is true: only the distance counts. The second is not: the product falls and rises again (lesson 09).
#
# </details>
#
# **11.** Write each pair (cosine, sine) as one complex number. Is moving on by 7 a multiplication by fixed numbers?

# %%
frequency = 10000.0 ** -(torch.arange(0, 16, 2, dtype=torch.float64) / 16)  # (8,), radians a step
hands = torch.exp(1j * torch.arange(1000, dtype=torch.float64)[:, None] * frequency)  # (1000, 8)
moving_on_is_a_turn = (hands[7:] - hands[:-7] * hands[7]).abs().max().item() < 1e-12
the_table_is_the_same = torch.allclose(table, torch.stack([hands.imag, hands.real], -1).flatten(1)[:100].float())
assert moving_on_is_a_turn
assert the_table_is_the_same
verdict("shift_is_linear", moving_on_is_a_turn)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# True: one rotation for each pair. A least-squares fit in float32 misses it, which says something about the fit
# (lesson 09).
#
# </details>
#
# **12.** One word at six places, six random attentions, with and without a skip; as a control, neither attention nor
# skip. From what comes out for 200 words, a linear map learns to tell the places. Can it for 200 other words?

# %%
def places_told(skip, attend, seed):
    """The share of new words whose places a linear map can tell after six layers; 1/6 is guessing."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(400, 1, 64, generator=generator) + torch.randn(6, 64, generator=generator)  # word + place
    for _ in range(6):
        W_q, W_k, W_v = torch.randn(3, 64, 64, generator=generator) / 8
        x = skip * x + (F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v) if attend else x @ W_v)
    x = ((x - x.mean((0, 1))) / x.std((0, 1))).double()  # (400, 6, 64)
    places = torch.eye(6, dtype=torch.float64).repeat(200, 1)  # (1200, 6)
    probe = torch.linalg.lstsq(x[:200].flatten(0, 1), places).solution  # (64, 6)
    return ((x[200:].flatten(0, 1) @ probe).argmax(1) == places.argmax(1)).float().mean().item()


without, with_skip, neither = ([places_told(*which, seed) for seed in range(3)] for which in ((0, 1), (1, 1), (0, 0)))
places_are_lost_without = max(without) < 0.25
places_come_through_with = min(with_skip) > 0.9
places_come_through_without_either = min(neither) > 0.9
assert places_are_lost_without
assert places_come_through_with
assert places_come_through_without_either
verdict("residuals_carry_position", places_are_lost_without and places_come_through_with)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# True. Attention alone makes the tokens more and more alike (**rank collapse**,
# [Dong et al. 2021](https://arxiv.org/abs/2103.03404)). Skips carry whatever came in, position included; what never
# came in they cannot carry (lesson 08).
#
# </details>
#
# ### The whole machine
#
# | name | claim |
# |---|---|
# | `like_batch_norm` | "The norm in *Add & Norm* works like batch norm." |
# | `no_inductive_bias` | "Transformers have no inductive bias." |
# | `always_faster` | "Attention is faster than recurrence." |
# | `one_makes_t` | "In language modelling, one text of T + 1 tokens makes T training samples." |

# %%
predict(like_batch_norm=None, no_inductive_bias=None, always_faster=None, one_makes_t=None)
print("predictions so far:", sum(guess is not None for guess in guesses.values()))

# %% [markdown]
# **13.** Two sentences in a batch, in training. Change the second. Does the first one notice?

# %%
batch = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(0))  # (B, D, T)
louder = batch * torch.tensor([1.0, 10.0])[:, None, None]
norms = {"batch norm": nn.BatchNorm1d(4), "batch norm after training": nn.BatchNorm1d(4).eval(),
         "layer norm": lambda x: F.layer_norm(x.mT, (4,)).mT}
moved = {name: (norm(louder) - norm(batch))[0].abs().max().item() for name, norm in norms.items()}
only_batch_norm_hears_the_neighbour = moved.pop("batch norm") > 0.1 and set(moved.values()) == {0}
assert only_batch_norm_hears_the_neighbour
verdict("like_batch_norm", not only_batch_norm_hears_the_neighbour)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# Layer norm treats every token by itself, always. Batch norm does so only after training, with means and variances that
# it has kept (lesson 08).
#
# </details>
#
# **14.** A layer with no bias about connections would be the fully connected one. Compare it with an encoder, neither
# of them trained: how many of the 120 seatings leave everybody's result alone? And if the same news is told twice, do
# both tellings get the same answer?

# %%
told_twice = encoder(torch.cat([x, x])[None])[0]  # (2 T, 4), a length it has never seen
one_set_of_weights_for_all_places = torch.allclose(told_twice[:T], told_twice[T:], rtol=0, atol=1e-12)
the_encoder_is_equivariant_untrained = counts["encoder"] == 120 and counts["fully connected"] == 1
assert one_set_of_weights_for_all_places
assert the_encoder_is_equivariant_untrained
verdict("no_inductive_bias", not the_encoder_is_equivariant_untrained)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# Equivariance, and one set of weights for every place and any length: that is built in before training. What a
# Transformer does lack is a bias about **near and far**. So the sentence is true of one kind of bias, and false as it
# stands.
#
# </details>
#
# **15.** A layer against a layer, both 64 wide and with all their matrices, on one thread of your processor: attention
# with one head, $W_q$, $W_k$, $W_v$, $W_o$ and its (T, T) table; and `nn.RNN` with $W_{ih}$ and $W_{hh}$. How many
# times as fast is attention, on one text and on 32 at once?

# %%
import time


def fastest(functions, times):
    """The shortest time of each, called in turns: others may be using this machine."""
    taken = [[] for _ in functions]
    for _ in range(times):
        for function, times_of_it in zip(functions, taken, strict=True):
            start = time.perf_counter()
            function()
            times_of_it.append(time.perf_counter() - start)
    return [min(times_of_it) for times_of_it in taken]


# %%
recurrent = nn.RNN(64, 64, batch_first=True).requires_grad_(False)
W_q, W_k, W_v, W_o = (nn.Linear(64, 64).requires_grad_(False) for _ in range(4))


def textbook(x):
    return W_o(torch.softmax(W_q(x) @ W_k(x).mT / 64**0.5, -1) @ W_v(x))  # with its (T, T) table


def lead_of_attention(texts, length, times):
    x_long = torch.randn(texts, length, 64)
    of_rnn, of_attention = fastest([lambda: recurrent(x_long), lambda: textbook(x_long)], times)
    return of_rnn / of_attention


lead = {length: lead_of_attention(1, length, times)
        for length, times in ((128, 20), (512, 10), (2048, 3), (4096, 3))}
lead_with_32_texts = lead_of_attention(32, 128, 10)

# %%
figure, axis = plt.subplots(figsize=(5.4, 3))
axis.loglog(list(lead), list(lead.values()), "o-", label="one text")
axis.loglog([128], [lead_with_32_texts], "s", label="32 texts at once")
axis.legend(fontsize=8)
axis.axhline(1, color="black", linewidth=0.8)
axis.set(xlabel="length T", ylabel="time of RNN / time of attention", ylim=(0.02, 50))
axis.set_xticks(list(lead), list(lead))
axis.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
axis.minorticks_off()
plots.show(figure, "How many times as fast attention is, over the length, both axes logarithmic. The curve begins "
                   "above one at 128 tokens, falls with the length, and ends below one at 4,096. A single square, for "
                   "32 texts of 128 tokens at once, stands below one.")

# %%
attention_leads_on_a_short_text = max(lead[128], lead[512]) > 1
attention_falls_behind_on_a_long_one = lead[4096] < 1
and_on_many_short_ones = lead_with_32_texts < 1
assert attention_leads_on_a_short_text
assert attention_falls_behind_on_a_long_one
assert and_on_many_short_ones
verdict("always_faster", min(lead.values()) > 1)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# Fewer steps one after the other, but $T^2$ products. Where the curves cross depends on the machine, the width, the
# code (lesson 12), and on the batch: with 32 texts at once, attention is behind already at 128 tokens. "In parallel" is
# true at every length; "faster" is not.
#
# </details>
#
# **16.** A causal reader, not trained, and ten words. Is the loss of one masked pass the mean of nine over shorter
# texts?

# %%
torch.manual_seed(0)
writer = Reader(nn.Embedding(16, 32), 16).double().requires_grad_(False)
ten = torch.randint(16, (1, 10), generator=torch.Generator().manual_seed(0))  # T + 1
text, following = ten[:, :-1], ten[:, 1:]  # (1, T) each
at_once = F.cross_entropy(writer(text, torch.ones(9, 9).tril().bool())[0], following[0])
one_by_one = [F.cross_entropy(writer(text[:, :t], torch.ones(t, t).tril().bool())[0, -1:], following[0, t - 1:t])
              for t in range(1, 10)]
one_pass_is_t_passes = abs(at_once - sum(one_by_one) / 9).item() < 1e-12
assert one_pass_is_t_passes
verdict("one_makes_t", one_pass_is_t_passes)

# %% [markdown]
# <details><summary>The reason (first run the cell above)</summary>
#
# True, to rounding: that is what the causal mask buys (lesson 12). But the T samples are not independent: each begins
# with the one before.
#
# </details>
#
# ### Your score

# %%
made = {claim: guess for claim, guess in guesses.items() if guess is not None}
right = [claim for claim, guess in made.items() if guess == verdicts[claim]]
true_claims = [claim for claim, holds in verdicts.items() if holds]
four_of_sixteen_are_true = (len(true_claims), len(verdicts)) == (4, 16)
assert four_of_sixteen_are_true
print(f"predictions: {len(made)} of {len(verdicts)}, right: {len(right)}")
print("true as they stand:", ", ".join(true_claims))

# %% [markdown]
# ## Summary
#
# - A layer that mixes positions is a table of who listens to whom, and how strongly. Fully connected: any table, for
#   one length. Convolution and recurrence: tables with few free numbers.
# - Those tables are static. Attention works its table out anew for every input: it is dynamic.
# - Attention heads with weights set by hand are a convolution, up to rounding, on rows that fit on their circle.
# - An attention layer is one step of message passing on the complete graph. A mask takes edges away.
# - Without positions an encoder is permutation equivariant. It is a bias, and it is worth a lot where it is true. Data
#   augmentation can teach it, too.
# - One class reads sets, series, graphs, pictures and words. A start from a related task saved labels and steps; the
#   related model as it was, or words renamed in every batch, saved more.
# - Of sixteen sentences in circulation, four are true as they stand. A few lines of code settle each.
#
# **Think about it.** Take a sentence about language models that you have read this week. What would the
# few lines be that could show it to be false? If you find none, what does the sentence say?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), sections 4 (table 1 compares layers by
# their connections) and 7. Convolution from heads: [Cordonnier et al. 2020](https://arxiv.org/abs/1911.03584). Graphs:
# [Gilmer et al. 2017](https://arxiv.org/abs/1704.01212), [Dwivedi and Bresson 2021](https://arxiv.org/abs/2012.09699).
# Relations as biases: [Battaglia et al. 2018](https://arxiv.org/abs/1806.01261).
#
# **Next.** Weights that others have trained, in your own code: lesson 15.
