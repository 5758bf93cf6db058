# %% [markdown]
# # 14 · The general-purpose view
#
# *75 minutes: reading 20, predicting 10, writing 45 · needs lesson 10 · four exercises*
#
# **At the end you can**
#
# - write a convolution, a recurrence, an average and a fully connected layer as one and the same
#   thing: a table of who listens to whom, and how strongly;
# - say which tables stay the same and which depend on the data;
# - set the weights of attention heads by hand, so that they are a convolution;
# - read layers as message passing on graphs, attention among them, and cut edges out of a graph.
#
# Lesson 14b is the second sitting: one class for everything, what it hands over, and an audit of
# sixteen sentences about Transformers.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, intervene, mine, predict
from course_lib.display import plots
from course_lib.display.drawings.graph import graph as draw_graph

torch.set_num_threads(1)

# %% [markdown]
# ## Five people in a row
#
# Ann, Ben, Cleo, Dan and Eve sit in a row. Each has a number: some piece of news. Then comes one
# round of listening, and everyone has a new number, mixed from what they heard. Most layers you know
# are such a round. They differ in one thing: **who listens to whom, and how strongly.**

# %%
people = ["Ann", "Ben", "Cleo", "Dan", "Eve"]
T = len(people)
news = torch.tensor([8.0, 0, 4, 0, 2], dtype=torch.float64)  # (T,)
kernel = torch.tensor([0.5, 0.25, 0.125], dtype=torch.float64)
dict(zip(people, news.tolist(), strict=True))

# %% [markdown]
# The first rule: everybody takes **half of what the left neighbour has, a quarter of their own, and
# an eighth of what the right neighbour has**. That is a convolution with the kernel (½, ¼, ⅛).

# %% tags=["predict"]
predict(
    "Ben's new number?",
    {
        4.5: (True, "½ · 8 from Ann, ¼ · 0 of his own, ⅛ · 4 from Cleo."),
        3: "That is the kernel the other way round: an eighth of the left one.",
        4: "That is Ann's part. Ben has another neighbour.",
        1.5: "Who sits left of Ben, and what do they have?",
    },
    concept="C132",
    within=0.01,
)

# %%
by_torch = F.conv1d(news[None, None], kernel[None, None], padding=1)[0, 0]  # (T,)
dict(zip(people, by_torch.tolist(), strict=True))

# %% [markdown] name="pattern-of-connections"
# ## Who listens to whom
#
# A round that only multiplies and adds is a matrix: $\text{new} = M \cdot \text{old}$. Row $t$ holds
# what person $t$ hears. How do you read $M$ off a layer whose inside you do not know?
#
# Let one person speak at a time. If only Ann has a 1 and all others 0, what comes out is **column**
# Ann. With one channel for each speaker, all five experiments are one call.

# %%
def read_off(layer):
    """The table (T, T) of a layer that mixes positions, (T, D) -> (T, D)."""
    return layer(torch.eye(T, dtype=torch.float64))


def convolution(x):
    return F.conv1d(x.T[:, None], kernel[None, None], padding=1)[:, 0].T  # (T, D)


M = read_off(convolution)
M

# %% [markdown]
# Every row holds the kernel, one seat further each time, cut off at the ends. **Shared weights** look
# like this: three numbers serve five people, and would serve five thousand. Zeros say that nobody
# hears further than one seat.
#
# ### Exercise 1: `convolution_pattern`
#
# ★☆☆ · 8 minutes · about 4 lines
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
# A fully connected layer over the five **positions**, `nn.Linear(5, 5)`, has one free number for each
# pair. Put your table into its weights.

# %% tags=["predict"]
predict(
    "What is that layer now?",
    {
        "the convolution, to the last digit": (
            True,
            "A linear layer is its matrix. Any table fits, so every layer that only "
            "multiplies and adds is a special case of it.",
        ),
        "nearly the convolution": "What else is in a linear layer without bias, beside "
        "its matrix?",
        "a fully connected layer: it cannot share weights": "It need not share them. "
        "May some of its 25 numbers be equal?",
        "a convolution with a window of five": "How many of the 25 numbers are zero?",
    },
    concept="C132",
)

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
full = nn.Linear(T, T, bias=False, dtype=torch.float64)
as_it_comes = full.weight.detach().clone()
with torch.no_grad():
    full.weight.copy_(conv_pattern(kernel, T))
x = torch.randn(T, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
apart = (full(x.T).T - convolution(x)).abs().max().item()
print(f"{full.weight.numel()} free numbers, not {kernel.numel()}; apart by {apart:.0e}")

# %% [markdown]
# The general case contains all others. The price is $T^2$ numbers, for one $T$ only: a sixth person
# would need another layer. A special case says beforehand what the connections look like. Such a
# statement is called a **prior**, or an inductive bias. Where it is true, it saves examples. Where it
# is false and fixed, more examples do not help. (Lesson 14b measures both.)

# %% tags=["claim"]
# The proof
claim("the table does what the convolution does",
      torch.allclose(M @ news, by_torch, rtol=0, atol=1e-12))
claim("a convolution is a special fully connected layer", apart < 1e-12)

# %% [markdown] name="recurrence-as-pattern"
# ## A whisper
#
# The second rule. Ann tells Ben. Ben keeps a share of it, his gate $a$, adds his own news, tells
# Cleo, and so on. That is a **recurrence**, with $h_0 = x_0$ and then
#
# $$h_t = a_t \cdot h_{t-1} + x_t$$

# %% tags=["predict"]
predict(
    "All gates are ½. How much of Ann's news is in what Eve says?",
    {
        0.0625: (True, "It passes four gates: Ben's, Cleo's, Dan's and Eve's. "
                 "½ · ½ · ½ · ½."),
        0.5: "That is what passes one gate. How many are on the way?",
        0.03125: "Five people, but does Ann's news pass a gate of her own?",
        0.125: "Has Eve no gate?",
    },
    concept="C132",
    within=0.001,
)

# %%
def recurrence(x, gates):
    """The loop: (T, D) -> (T, D)."""
    h = [x[0]]
    for t in range(1, T):
        h.append(gates[t] * h[-1] + x[t])
    return torch.stack(h)


halves = torch.full((T,), 0.5, dtype=torch.float64)
whispered = read_off(lambda x: recurrence(x, halves))
whispered[:, 0].tolist()  # of Ann's news, in everybody

# %% [markdown]
# ### Exercise 2: `recurrence_pattern`
#
# ★★☆ · 10 minutes · about 3 lines
#
# The table of a recurrence whose gates may all be different. If you loop, begin with
# `gates.new_zeros(T, T)`.
#
# <details><summary>Hint 1: a question</summary>
#
# Ann's news is in h_0. Write down h_3 without h_2, h_1 and h_0. Which gates stand before x_0, and
# which before x_2?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# Either entry by entry: the product of the gates after s, up to and including t; of no gates at all
# it is 1.
#
# Or row by row: what does row t have to do with row t − 1?
#
# </details>

# %% tags=["exercise"]
from course_lib.message_passing import recurrence_pattern

# %%
rec_pattern = check(recurrence_pattern).verified

# %% [markdown]
# Four layers, four tables. The fully connected one is as it comes, before training; in an average,
# everybody hears everybody equally.

# %%
tables = {"fully connected": as_it_comes, "convolution": conv_pattern(kernel, T),
          "recurrence": rec_pattern(halves),
          "average": torch.full((T, T), 1 / T, dtype=torch.float64)}
names = ("is heard", "listens")
figure = plots.panels(tables, people, people, limit=1, wide=4, labels=names)
plots.show(figure, "four-tables")

# %%
layers = {"convolution": convolution, "recurrence": lambda x: recurrence(x, halves),
          "average": lambda x: x.mean(0, keepdim=True).expand_as(x)}
off = {name: (tables[name] @ x - layer(x)).abs().max().item()
       for name, layer in layers.items()}

# %% tags=["claim"]
# The proof
claim("a sixteenth of Ann's news reaches Eve", whispered[4, 0] == 0.5**4)
claim("each of the three layers is its table", max(off.values()) < 1e-12)

# %% [markdown] name="static-dynamic"
# ## And attention?
#
# Attention has such a table, too: its weights. Now give each layer two different evenings of news.

# %% tags=["predict"]
predict(
    "Which tables are the same on both evenings?",
    {
        "all but that of attention": (
            True,
            "Those three were fixed before any news came. Attention works its table "
            "out from the news.",
        ),
        "all of them": "What is softmax(Q Kᵀ) made of?",
        "only that of the average": "Does a kernel, or a gate that was fixed, know "
        "what the news is?",
        "none": "Look at your two functions. Which of their arguments is the news?",
    },
    concept="C133",
)

# %%
def attention_weights(x):
    """Version 5 with nothing trained: x is query and key, (T, D) -> (T, T)."""
    return torch.softmax(x @ x.T / x.shape[1] ** 0.5, dim=1)


def evening(seed):
    generator = torch.Generator().manual_seed(seed)
    return 1.2 * torch.randn(T, 4, generator=generator, dtype=torch.float64)


evenings = [evening(1), evening(2)]
patterns = [attention_weights(one) for one in evenings]
shown = {f"attention, evening {n}": pattern for n, pattern in enumerate(patterns, 1)}
figure = plots.panels(shown, people, people, "weight", labels=names)
plots.show(figure, "two-evenings")

# %% [markdown]
# **Static** connections are learned in training and then stay as they are. **Dynamic** connections
# are worked out anew for every input; what is learned is *how* to work them out.
#
# | part | fully connected | convolution | recurrence | attention |
# |---|---|---|---|---|
# | **inputs** | x (T, D) | x (T, D) | x (T, D) | x (T, D) |
# | **similarity** | none: M is learned | none: the distance | none: gates | $x W_q\, (x W_k)^\top$ |
# | **outputs** | M x, M static | M x, M static | M x, M static | M x, **M dynamic** |
#
# ### Yours: a recurrence that listens
#
# Does a recurrence have to be static? Give it gates that depend on the news: five numbers between 0
# and 1, made of `x` (5, 4).

# %%
def changes(gates_of):
    """How far the table of the recurrence moves from one evening to the other."""
    gates = [gates_of(one) for one in evenings]
    if gates[0] is ...:
        return gates[0]
    one, other = (rec_pattern(each) for each in gates)
    return (one - other).abs().max().item()


# %% tags=["yours", "nbval-ignore-output"]
def gates_of(x):
    """The gates of an evening, (T, D) -> (T,)."""
    gates = torch.sigmoid(x[:, 0] - x[:, 1] + 2 * x[:, 2])  # yours: (T,)
    return gates


intervene(
    "its table moves by more than a third from one evening to the other",
    gates_of,
    run=changes,
    holds=lambda moved: moved > 1 / 3,
    shows="it moves by {result:.2f}",
    otherwise="What keeps a number between 0 and 1? And what makes it depend on x?",
)

# %% [markdown]
# Gates of LSTM and GRU do this, and so do newer layers such as Mamba: causal and dynamic. How much
# arrives of old news is the product of the gates on the way; attention compares each pair by itself
# ([Dao and Gu 2024](https://arxiv.org/abs/2405.21060)). What a gate has shut out is gone for
# everybody after it. Attention can always ask Ann herself.

# %% tags=["claim"]
# The proof
def explains(table, layer):
    """Does one and the same table say what a layer does on both evenings?"""
    return all(torch.allclose(table @ one, layer(one), rtol=0, atol=1e-12)
               for one in evenings)


claim("one table explains each of the three layers on all evenings",
      all(explains(tables[name], layer) for name, layer in layers.items()))
claim("no table of an evening explains attention on another",
      not explains(patterns[0], lambda x: attention_weights(x) @ x))

# %% [markdown] name="convolution-from-heads"
# ## Can attention become a convolution?
#
# Attention decides by content. Can it be made to look at the **place** alone? Position $p$ becomes a
# point on a circle of 32 places: cosine and sine of the angle $p \cdot 2\pi / 32$. A query that is
# turned by one step points to its right neighbour (the rotations of lesson 09). A large factor makes
# the softmax a spike.

# %% tags=["predict"]
predict(
    "How many heads does it take to be a convolution with a kernel of three?",
    {
        3: (True, "One head looks one step left, one at its own place, one to the "
            "right. W_o holds the kernel, a slice per head."),
        1: "A head's weights sum to one and are positive. Can it hear the left and the "
        "right one apart?",
        5: "One per person? What does a head of a convolution depend on: the place, or "
        "the step?",
        9: "A kernel of 3 × 3, on a picture, would take as many.",
    },
    concept="C132",
    within=0,
)

# %% [markdown]
# ### Yours: turn the query
#
# A layer with three heads is set by hand: keys are the places, values the content, and `W_o` holds
# the kernel of an `nn.Conv1d`. What is missing are the queries. Write the matrix (2, 2) that turns a
# place by `step` places, where `angle` is the angle of one step.

# %%
from course_lib.experiments import by_hand

MultiHeadAttention = mine("MultiHeadAttention")
torch.manual_seed(0)
conv = nn.Conv1d(4, 6, 3, padding=1, dtype=torch.float64).requires_grad_(False)

# %% tags=["yours", "nbval-ignore-output"]
def turned(step, angle):
    """The rotation of a place (cos, sin) by so many steps: (2, 2)."""
    c, s = torch.tensor(step * angle).cos(), torch.tensor(step * angle).sin()
    rotation = torch.tensor([[c, -s], [s, c]])  # yours: (2, 2)
    return rotation


intervene(
    "three heads are the convolution",
    turned,
    run=lambda turned: by_hand.beside(conv, MultiHeadAttention, turned, x),
    holds=lambda off: off < 1e-8,
    shows="the largest difference from nn.Conv1d is {result:.1e}",
    otherwise="A step to the right adds to the angle of (cos, sin).",
)

# %% [markdown]
# Up to rounding, on rows that fit on the circle. Cordonnier, Loukas and Jaggi proved it in 2020 for
# pictures ([arXiv:1911.03584](https://arxiv.org/abs/1911.03584), theorem 1). So attention **can** be
# a convolution. The proof says that such weights *exist*. Whether training finds them is another
# question. And they are expensive: where `nn.Conv1d` visits three neighbours, each head works out a
# whole table, to put a single 1 into each row.

# %% [markdown] name="message-passing"
# ## The row becomes a graph
#
# Sitting in a row was an assumption, too. Let friendships decide instead: five nodes, and an edge
# from j to i wherever i hears j. One step for all nodes at once:
#
# 1. each neighbour sends a **message**, made from both ends of the edge;
# 2. the messages to a node are **added up**;
# 3. the node makes its **update** from what it was and what it gathered.
#
# Judea Pearl named this **message passing** in the 1980s, for beliefs on graphs; networks that learn
# their messages are made of it, too ([Gilmer et al. 2017](https://arxiv.org/abs/1704.01212),
# equations 1 and 2).
#
# ### Exercise 3: `message_passing`
#
# ★★☆ · 11 minutes · about 3 lines
#
# <details><summary>Hint 1: a question</summary>
#
# The messages of all pairs are a table with a vector in each square. What shape has it, and over
# which axis is the sum?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. all messages at once: give x an extra axis in one place for the receivers, in another for the
#    senders
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

# %% [markdown] name="rounds"
# **A recurrent network** passes messages, too: from left to right, along one edge after the other.
# `nn.RNN` computes
#
# $$h_t = \tanh(W_{ih}\, x_t + W_{hh}\, h_{t-1} + b)$$
#
# Let each node be $x_t$ and its state, zeros at first, and let *all* nodes update in every round.

# %% tags=["predict"]
predict(
    "After how many rounds is Eve's state what nn.RNN says?",
    {
        5: (True, "The first round makes Ann's state right, each further one the next "
            "person's. News has to cross every edge from one end to the other."),
        4: "Four edges. But Ann's own state has to be made first.",
        1: "Everybody updates at once. But from what did Dan's state come?",
        2: "Eve hears Dan. Was Dan's state right after the first round?",
    },
    concept="C134",
    within=0,
)

# %%
torch.manual_seed(0)
rnn = nn.RNN(4, 3, dtype=torch.float64).requires_grad_(False)
W_in, W_rec = rnn.weight_ih_l0.T, rnn.weight_hh_l0.T
bias = rnn.bias_ih_l0 + rnn.bias_hh_l0
chain = torch.diag(torch.ones(T - 1), -1).bool()  # t hears t - 1


def heard(receiver, sender):
    return sender[..., 4:] @ W_rec


def update(node, sum_of_heard):
    state = torch.tanh(node[..., :4] @ W_in + bias + sum_of_heard)
    return torch.cat([node[..., :4], state], -1)


# %%
nodes, first_right = torch.cat([x, torch.zeros(T, 3)], 1), {}  # (T, 4 + 3)
for turn in range(1, T + 1):
    nodes = pass_messages(nodes, chain, heard, update)
    right = torch.isclose(nodes[:, 4:], rnn(x)[0], rtol=0, atol=1e-12).all(1)
    for person in [p for p, so in zip(people, right, strict=True) if so]:
        first_right.setdefault(person, turn)
first_right

# %% tags=["claim"]
# The proof
claim("a recurrence needs a round for each step",
      list(first_right.values()) == [1, 2, 3, 4, 5])

# %% [markdown] name="complete-graph"
# ## Attention is a step on the complete graph
#
# Everybody hears everybody, in one round. The softmax divides by a sum over all. No sender knows it.

# %% tags=["predict"]
predict(
    "What must each sender send, so that adding up and one update make attention?",
    {
        "the exponential of the score, and the value times it": (
            True,
            "One sum is the denominator of the softmax, the other its numerator times "
            "the values. The update divides.",
        ),
        "the softmax weight times the value": "That would do. But can a sender know "
        "what all the others' scores are?",
        "the score and the value": "Sums of scores and sums of values: what is left of "
        "who belongs to which?",
        "the value, and the receiver weighs it": "Messages are added up on the way. "
        "Can the receiver still tell them apart?",
    },
    concept="C134",
)

# %% [markdown]
# ### Yours: the message
#
# `receiver` and `sender` are rows of $x$, with axes in front. The message has five numbers here: one
# for the denominator, four for the numerator.

# %%
generator = torch.Generator().manual_seed(4)
W_q, W_k, W_v = torch.randn(3, 4, 4, generator=generator, dtype=torch.float64) / 2
everybody = torch.ones(T, T, dtype=torch.bool)
judge = F.scaled_dot_product_attention(*((x @ W)[None] for W in (W_q, W_k, W_v)))[0]


def divide(node, gathered):
    """The update: (T, 1 + 4) -> (T, 4)."""
    return gathered[..., 1:] / gathered[..., :1]


# %% tags=["yours", "nbval-ignore-output"]
def message(receiver, sender):
    """From the sender to the receiver: (..., 4) each -> (..., 1 + 4)."""
    score = ((receiver @ W_q) * (sender @ W_k)).sum(-1, keepdim=True) / 4**0.5
    sent = torch.cat([score.exp(), score.exp() * (sender @ W_v)], -1)  # yours: (..., 5)
    return sent


intervene(
    "one step on the complete graph is torch's attention",
    message,
    run=lambda message: (
        ... if message(x, x) is ... else
        (pass_messages(x, everybody, message, divide) - judge).abs().max().item()),
    holds=lambda off: off < 1e-12,
    shows="the largest difference from torch is {result:.1e}",
    otherwise="What is the denominator of a softmax, and what stands above it?",
)

# %% [markdown]
# Nothing in attention goes beyond "send, add, update": all its power is in the message, which depends
# on **both** ends of the edge. Read the other way round: a Transformer is a network on the graph with
# all edges, and finds their weights by itself. If you *do* know the edges, you can give them, as a
# mask.
#
# ### Exercise 4: `attention_on_graph`
#
# ★★☆ · 10 minutes · about 5 lines
#
# <details><summary>Hint 1: a question</summary>
#
# Your version 5 has a table of scores. What does lesson 07 do to those that must not count? What does
# a softmax make of a row in which *none* may count, and what is asked for?
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
causal = torch.ones(T, T).tril().bool()
near = (torch.arange(T) - torch.arange(T)[:, None]).abs() <= 1
graphs = {"everybody": everybody, "only the past": causal, "neighbours": near}
weights = {name: by_hand.weights_of(graph_attention, x, graph, W_q, W_k)
           for name, graph in graphs.items()}
plots.show(draw_graph(weights, people), "three-graphs")

# %% tags=["claim"]
# The proof
claim("with all edges it is version 5",
      torch.allclose(graph_attention(x, everybody, W_q, W_k, W_v), judge, atol=1e-12))
q, k, v = ((x @ W)[None] for W in (W_q, W_k, W_v))
claim("with edges from the past alone it is torch's causal attention", torch.allclose(
    graph_attention(x, causal, W_q, W_k, W_v),
    F.scaled_dot_product_attention(q, k, v, is_causal=True)[0], atol=1e-12))

# %% [markdown] name="equivariance"
# ## What is left when all edges are there?
#
# Change seats: does everybody take their result along? With $P$ for the new order of the rows, that
# is $f(P x) = P f(x)$. Lesson 02 called it **permutation equivariance**. There are 120 ways to seat
# five people.

# %% tags=["predict"]
predict(
    "In how many of them does everybody get the same from an *encoder* without "
    "positions, two layers, not trained?",
    {
        120: (True, "On the complete graph nobody has a place. Norms and feed-forward "
              "networks work on each token alone."),
        1: "So it is for a convolution or a recurrence: they know the seats. Where "
        "would an encoder keep them?",
        24: "One person fixed? Which one is special to an encoder?",
        60: "Every second way? Think of two people who change seats: who notices?",
    },
    concept="C134",
    within=0,
)

# %%
from itertools import permutations

EncoderLayer = mine("EncoderLayer")
torch.manual_seed(0)
encoder = nn.Sequential(EncoderLayer(4, 2, 8), EncoderLayer(4, 2, 8))
encoder = encoder.double().requires_grad_(False)
seatings = torch.tensor(list(permutations(range(T))))  # (120, T)


def unmoved(layer):
    """In how many seatings everybody gets what they got before."""
    return sum(torch.allclose(layer(x[seats]), layer(x)[seats], rtol=0, atol=1e-12)
               for seats in seatings)


# %%
rounds = {"fully connected": lambda x: as_it_comes @ x, **layers,
          "RNN": lambda x: rnn(x)[0], "encoder": lambda x: encoder(x[None])[0],
          "attention": lambda x: graph_attention(x, everybody, W_q, W_k, W_v)}
counts = {name: unmoved(layer) for name, layer in rounds.items()}
counts

# %% tags=["claim"]
# The proof
claim("attention, the encoder and the average know no seats",
      counts["attention"] == counts["encoder"] == counts["average"] == 120)
others = ("fully connected", "convolution", "recurrence", "RNN")
claim("the others know one seating only", {counts[name] for name in others} == {1})

# %% [markdown]
# That is the one prior about connections that attention keeps. So order is a choice: leave positions
# out for a set, add them for a sentence. The average is equivariant, too, but it gives everybody the
# same. Attention gives each their own answer.
#
# ## Summary
#
# - A layer that mixes positions is a table of who listens to whom, and how strongly. Fully connected:
#   any table, for one length. Convolution and recurrence: tables with few free numbers.
# - Those tables are static. Attention works its table out anew for every input: it is dynamic. So is
#   a recurrence whose gates depend on the data.
# - Attention heads with weights set by hand are a convolution, on rows that fit on their circle.
# - An attention layer is one step of message passing on the complete graph. A mask takes edges away.
# - Without positions an encoder is permutation equivariant.
#
# **Think about it.** A graph network on the molecules of a drug hears along chemical bonds only, a
# Transformer hears from all atoms. Which of the two needs more layers to know of a far atom, and which
# needs more examples?
#
# <details><summary>An answer</summary>
#
# Along bonds, news needs a round for each bond on the way, so the graph network needs as many layers
# as the molecule is long. The Transformer hears at once, but is not told which atoms are bound: it
# has to learn that from examples, or be given it, as a mask or added to its scores.
#
# </details>
#
# **In the papers.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 4 (table 1
# compares layers by their connections). Convolution from heads: [Cordonnier et al.
# 2020](https://arxiv.org/abs/1911.03584). Graphs: [Gilmer et al.
# 2017](https://arxiv.org/abs/1704.01212), [Dwivedi and Bresson
# 2021](https://arxiv.org/abs/2012.09699). Relations as biases: [Battaglia et al.
# 2018](https://arxiv.org/abs/1806.01261). Pearl's message passing: *Reverend Bayes on inference
# engines*, 1982.
#
# **Next.** Lesson 14b: one class reads everything, hands over what it has learned, and sixteen
# sentences are put to the test.
