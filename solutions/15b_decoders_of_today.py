# %% [markdown]
# # 15b · A decoder of today, on your parts
#
# *90 minutes: reading 24, predicting 18, writing 48 · needs lessons 09, 12 and 15 · five exercises*
#
# **At the end you can**
#
# - write the four parts in which decoders of today differ from 2017, and say what each is for;
# - bring weights from one layout of rotary positions to the other;
# - run a real language model on your parts, and find out what a wrong one costs;
# - tell a head that looks at the right place from one that is needed.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, data, intervene, mine, predict
from course_lib.display import plots
from course_lib.display.drawings import llama as draw

torch.set_num_threads(1)

# %% [markdown] name="today"
# ## What has changed since 2017
#
# MiniLM and the reader of reactions are encoders as in 2017. What about a language model of 2024?
# **SmolLM2** has 30 blocks. Around them nothing is new: a table of tokens, pre-norm blocks, a causal
# mask, the next token (lesson 12). Inside a block four parts are different. This is called the
# **Llama** architecture.

# %%
plots.show(draw.blocks(), "two-blocks")

# %% [markdown]
# | part | 2017 | today |
# |---|---|---|
# | norm | layer norm | **RMSNorm** |
# | positions | sinusoids, added once | **RoPE**: queries and keys are turned, in every block |
# | feed-forward | two matrices, ReLU between | **SwiGLU**: three matrices, one is a gate |
# | heads | each its own keys and values | **grouped queries**: several share one head of keys and values |
#
# You write all four. Then the real model runs on yours.

# %% [markdown] name="rms-norm"
# ## RMSNorm: a norm with less in it
#
# Layer norm subtracts the mean, divides by the standard deviation, and then has a gain and a bias. What
# of that is needed? RMSNorm keeps the division and the gain $g$. It divides by the *root* of the *mean*
# of the *squares*.
#
# $$
# \mathrm{RMSNorm}(x) = \frac{x}{\sqrt{\frac{1}{D} \sum_i x_i^2 + \varepsilon}} \cdot g
# $$
#
# By hand, for (1, 7): the squares are 1 and 49, their mean is 25, the root is 5. So (0.2, 1.4).

# %% [markdown]
# ### Exercise 1: `rms_norm`
#
# ★☆☆ · 5 minutes · about 1 line
#
# <details><summary>Hint 1: a question</summary>
#
# The mean of (..., D) along the last axis has the shape (...). What keeps an axis of 1, so that x can
# be divided by it?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. squares; their mean along the last axis
# 2. plus eps; then the root
# 3. x divided by that, times the gain
#
# </details>

# %% tags=["exercise"]
from course_lib.llama import rms_norm

# %%
norm = check(rms_norm).verified

# %% tags=["predict"]
predict(
    "10 is added to every number of x; or every number is multiplied by 100. What do "
    "the two norms notice?",
    {
        "RMSNorm notices the 10, neither the 100": (
            True,
            "Layer norm subtracts the mean, and with it the 10. Both divide by a "
            "size, and with it by the 100.",
        ),
        "neither notices anything": "What does RMSNorm do about the mean?",
        "RMSNorm notices both": "By what does it divide?",
        "layer norm notices the 10, RMSNorm the 100": "Which of the two subtracts "
        "the mean?",
    },
    concept="C144",
)

# %%
generator = torch.Generator().manual_seed(0)
x, ones = torch.randn(4, 8, generator=generator), torch.ones(8)
centred = x - x.mean(-1, keepdim=True)
inputs = {"x": x, "x + 10": x + 10, "100 x": 100 * x, "x - mean": centred}
for name, vectors in inputs.items():
    for norm_name, out in {"layer norm": F.layer_norm(vectors, (8,)),
                           "RMSNorm": norm(vectors, ones)}.items():
        print(f"{norm_name:10} of {name:8}", [round(z, 2) for z in out[0, :5].tolist()])

# %% [markdown]
# Where the mean is 0 the two are the same. Both forget the *size*, and that seems to be what training
# needs ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467) found models as good, and faster).

# %% tags=["claim"]
# The proof
claim("layer norm does not notice the 10, RMSNorm does",
      torch.allclose(F.layer_norm(x + 10, (8,)), F.layer_norm(x, (8,)), atol=1e-4)
      and not torch.allclose(norm(x + 10, ones), norm(x, ones), atol=0.1))
claim("both forget the size",
      torch.allclose(norm(100 * x, ones), norm(x, ones), atol=1e-3))
claim("with mean 0 they agree",
      torch.allclose(norm(centred, ones), F.layer_norm(x, (8,)), atol=1e-5))

# %% [markdown] name="rotary"
# ## RoPE: turn, do not add
#
# In lesson 09 a position was *added* to a word. That lesson ended with an idea: turn the **queries and
# keys themselves** (**rotary positions**). For a pair of numbers at place $t$, by an angle of $t$
# radians, counter-clockwise:
#
# $$
# \begin{pmatrix} x' \\ y' \end{pmatrix} =
# \begin{pmatrix} \cos t & -\sin t \\ \sin t & \cos t \end{pmatrix}
# \begin{pmatrix} x \\ y \end{pmatrix}
# $$

# %% tags=["predict"]
predict(
    "Query and key are both (1, 0). The query stands at place 3, the key at place 1: "
    "their dot product is cos 2. And at places 103 and 101?",
    {
        "cos 2 as well": (
            True,
            "Both are turned by 100 radians more, and what is between them stays. "
            "Only the difference of the places is left.",
        ),
        "cos 102": "By which angle does the query stand away from the key?",
        "cos 204": "Angles of two arrows are subtracted, when they are compared.",
        "nearly 0: they are far along": "Does turning change the length of an arrow?",
    },
    concept="C145",
)

# %%
def turned(t):
    """(1, 0), turned by t radians."""
    t = torch.tensor(float(t), dtype=torch.float64)
    return torch.stack([t.cos(), t.sin()])


near, far = turned(3) @ turned(1), turned(103) @ turned(101)
round(near.item(), 6), round(far.item(), 6)

# %% [markdown]
# A head has $d$ numbers, so $d/2$ pairs. The first pair turns by 1 radian per place, the others ever more
# slowly: pair $i$ by $\text{base}^{-2i/d}$. These are the clock hands of lesson 09. Values are not
# turned: what a word says does not depend on its place.

# %% [markdown]
# ### Exercise 2: `apply_rope`
#
# ★★☆ · 14 minutes · about 6 lines
#
# <details><summary>Hint 1: a question</summary>
#
# A turn by the angle a takes (1, 0) to (cos a, sin a). Where does it take (0, 1)? And so (x, y)?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. places 0 to T − 1 and d/2 frequencies, on the device of x: one angle for each place and pair,
#    (T, d/2)
# 2. `x[..., 0::2]` has the first numbers of all pairs, `x[..., 1::2]` the second ones
# 3. turn them: two new halves, each made of both old ones
# 4. put the two halves back in turn: `torch.stack` with a new last axis, then `flatten`
#
# </details>

# %% tags=["exercise"]
from course_lib.llama import apply_rope

# %%
rope = check(apply_rope).verified

# %% [markdown]
# One query and one key, 16 wide, are put at all of 12 places. These are all their scores, once with
# sinusoids added, once with RoPE.

# %%
generator = torch.Generator().manual_seed(3)
q, k = torch.randn(2, 16, generator=generator)
waves = mine("sinusoidal_positions")(12, 16)  # (12, 16)
added = (q + waves) @ (k + waves).T / 16**0.5  # (12, 12)
rotated = rope(q.expand(12, 16)) @ rope(k.expand(12, 16)).T / 16**0.5  # (12, 12)
two = {"sinusoids added": added, "RoPE": rotated}
figure = plots.panels(two, range(12), range(12), wide=2, kind="score", numbers=False,
                      labels=("place of the key", "place of the query"))
plots.show(figure, "two-tables")

# %%
def uneven(scores):
    """The largest difference within a diagonal, of all diagonals."""
    T = len(scores)
    diagonals = [scores.diagonal(i) for i in range(1 - T, T)]
    return max((diagonal.max() - diagonal.min()).item() for diagonal in diagonals)


{name: round(uneven(scores), 3) for name, scores in two.items()}

# %% [markdown]
# With RoPE the score is the same along a diagonal: the turns by $a$ and by $b$ leave an angle of
# $a - b$.
#
# **A claim that is often read:** *"with RoPE, tokens that are far apart get smaller scores."* (Section
# 3.4.3 of the paper has an upper bound that falls.) Take the friendliest case, query and key all ones;
# and 300 random pairs of query and key.

# %% tags=["predict"]
predict(
    "How many of 300 random pairs, at distances 0 to 199, have their largest score "
    "at distance 0?",
    {
        "fewer than ten": (
            True,
            "The bound holds for the sum of all turns, not for a given query and "
            "key. A head can learn which distance it likes.",
        ),
        "nearly all": "What is the score of a pair whose dot product is negative at "
        "distance 0?",
        "about a half": "If 200 distances had equal chances: how many of 300?",
        "none": "One in 200 by chance alone, and a little more.",
    },
    concept="C145",
)

# %%
all_ones = torch.ones(200, 64)
by_distance = rope(all_ones) @ rope(all_ones)[0] / 64  # (200,), at distance 0, 1, 2 ...
plots.show(draw.over_distance(by_distance), "over-distance")

# %%
rising = (by_distance.diff() > 0).float().mean()
q, k = torch.randn(2, 300, 1, 64, generator=generator)
nearest_best = (rope(q.expand(-1, 200, -1)) * k).sum(-1).argmax(1) == 0  # (300,)
print(f"all ones: it rises at {rising:.0%} of the steps; "
      f"random: {nearest_best.sum()} of 300 are best at distance 0")

# %% [markdown]
# **Verdict: true of a bound, not of a score.** The curve falls on the whole, and rises at two steps in
# five.
#
# And your `shift_matrix` of lesson 09? It turns pairs (sin, cos), so it turns the other way: RoPE at
# place $t$ is the matrix for $-t$.

# %%
shift = mine("shift_matrix")
x = torch.randn(10, 16, generator=generator)
by_matrix = torch.stack([shift(-t, 16) @ x[t] for t in range(10)])  # (10, 16)

# %% tags=["claim"]
# The proof
claim("the score of two turned arrows is the cosine of the distance",
      abs(near - torch.tensor(2.0).double().cos()) < 1e-12 and abs(far - near) < 1e-12)
claim("with RoPE the distance is all, with added waves the place counts, too",
      uneven(rotated) < 1e-4 < 0.5 < uneven(added))
claim("even the friendliest score rises at a third of the steps or more",
      by_distance.argmax() == 0 and rising > 0.33)
claim("few random pairs like the nearest best", nearest_best.sum() < 15)
claim("RoPE is the shift matrix of lesson 09",
      torch.allclose(rope(x), by_matrix, atol=1e-4))

# %% [markdown] name="two-layouts"
# ## Two layouts
#
# Which two numbers make a pair? Yours are neighbours, (2i, 2i + 1), as in the paper and in Meta's code
# of Llama. In GPT-NeoX ([Black et al. 2022](https://arxiv.org/abs/2204.06745)) and in Hugging Face's
# Llama it is (i, i + d/2). Both are RoPE. Here is the other one: each pair is a complex number, and
# multiplying turns it.

# %% tags=["given"]
from course_lib.experiments.real_writer import halves

# %% [markdown]
# Each number of a query comes from one row of $W_q$. So weights that were trained with one layout need
# their rows in another order for the other.

# %% tags=["predict"]
predict(
    "A head of 8 numbers. `halves` pairs row 0 with row 4. In which order must the "
    "rows stand so that such pairs become neighbours?",
    {
        "0 4 1 5 2 6 3 7": (
            True,
            "Row 0 and row 4, its partner; then row 1 and row 5; and so on.",
        ),
        "0 2 4 6 1 3 5 7": "That is the way back: it brings neighbours apart.",
        "4 5 6 7 0 1 2 3": "Are 4 and 5 partners?",
        "7 6 5 4 3 2 1 0": "Who stands beside row 0?",
    },
    concept="C146",
)

# %% [markdown]
# ### Exercise 3: `halves_to_neighbours`
#
# ★★☆ · 8 minutes · about 2 lines
#
# Bring a projection of several heads over.
#
# <details><summary>Hint 1: a question</summary>
#
# The rows of one head are two halves. As a table of two rows and d/2 columns: how is it read now, and
# how should it be read?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. split the axis of the rows into heads, halves and what is left
# 2. exchange halves and what is left
# 3. back to the old shape
#
# </details>

# %% tags=["exercise"]
from course_lib.llama import halves_to_neighbours

# %%
brought_over = check(halves_to_neighbours).verified

# %% [markdown]
# Random weights are enough to test it: two heads of 8, all scores of 12 tokens, right with `halves`.

# %%
x = torch.randn(12, 16, generator=generator)
W_q, W_k = torch.randn(2, 16, 16, generator=generator) / 4


def scores_of_heads(W_q, W_k, turn):
    """The scores of two heads of 8: (2, 12, 12)."""
    q, k = ((x @ W.T).unflatten(-1, (2, 8)).transpose(0, 1) for W in (W_q, W_k))
    return turn(q) @ turn(k).transpose(-2, -1) / 8**0.5


should_be = scores_of_heads(W_q, W_k, halves)

# %% tags=["predict"]
predict(
    "Your apply_rope gives the same scores …",
    {
        "only with W_q and W_k brought over, per head": (
            True,
            "Query and key are compared number by number, so both need the same "
            "order; and pairs are made within a head.",
        ),
        "with W_q brought over, W_k as it was": "Which numbers of the key meet "
        "those of the query?",
        "with the same rows: RoPE is RoPE": "Pair 0 turns fastest. Which numbers "
        "are in it?",
        "with both brought over as one head of 16": "Where does the second head "
        "begin?",
    },
    concept="C146",
)

# %%
ways = {"the same rows": (W_q, W_k), "W_q brought over": (brought_over(W_q, 2), W_k),
        "both brought over": (brought_over(W_q, 2), brought_over(W_k, 2)),
        "both, as one head of 16": (brought_over(W_q, 1), brought_over(W_k, 1))}
off = {way: (scores_of_heads(*maps, rope) - should_be).abs().max().item()
       for way, maps in ways.items()}
{way: f"off by {gap:.4f}" for way, gap in off.items()}

# %% [markdown]
# The classic trap when weights move from one program to another: all shapes fit. Hugging Face's
# [script](https://github.com/huggingface/transformers/tree/main/src/transformers/models/llama) reorders
# the rows of Meta's Llama. GGUF is the file format of SmolLM2 below; the
# [script](https://github.com/ggml-org/llama.cpp/blob/master/convert_hf_to_gguf.py) that makes such files
# puts Llama's rows back, as your function does.

# %% tags=["claim"]
# The proof
others = [gap for way, gap in off.items() if way != "both brought over"]
claim("both layouts are right with their own rows", off["both brought over"] < 1e-4)
claim("every other way is far off", min(others) > 0.3)

# %% [markdown] name="gate"
# ## SwiGLU: a gate
#
# In the old feed-forward network a hidden number is a weighted sum of $x$, and ReLU cuts it off at 0.
# Here there are two such sums: one says *what*, the other *how much of it may pass*. The two are
# multiplied.
#
# $$
# \mathrm{SwiGLU}(x) = \big(\mathrm{silu}(x W_{\text{gate}}) \cdot x W_{\text{up}}\big) W_{\text{down}},
# \qquad \mathrm{silu}(z) = z \cdot \mathrm{sigmoid}(z)
# $$
#
# By hand: what = 3 and gate = 2. The gate is 2 · sigmoid(2) = 1.76, so 5.28 comes through. With a gate of
# −2 it is −0.72.

# %% [markdown]
# ### Exercise 4: `SwiGLU`
#
# ★☆☆ · 5 minutes · about 1 line
#
# <details><summary>Hint 1: a question</summary>
#
# Three matrices lead from d_model to d_ff or back. Which of them sees a product?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. two views of x, both (..., d_ff)
# 2. the nonlinearity on one of them, times the other
# 3. back to d_model
#
# </details>

# %% tags=["exercise"]
from course_lib.llama import SwiGLU

# %%
Gated = check(SwiGLU).verified

# %% tags=["predict"]
predict(
    "SmolLM2 is 576 wide. An old network with 4 · 576 hidden numbers has two "
    "matrices; SwiGLU has three. How many hidden numbers has it, for as many weights?",
    {
        "1,536": (True, "Three matrices in the place of two: the hidden layer is "
            "two thirds as wide, 8/3 of the model. That is what SmolLM2 has."),
        "2,304": "So it was with two matrices.",
        "1,152": "That would be right for four matrices.",
        "768": "Are there three times as many matrices?",
    },
    concept="C147",
)

# %%
passed = 3.0 * F.silu(torch.tensor([2.0, -2.0]))  # by hand: 5.28 and −0.72
old = 2 * 576 * (4 * 576)
f"{old // (3 * 576):,}", sum(w.numel() for w in Gated(576, 1536).parameters()) == old

# %% [markdown]
# ### Yours: multiply
#
# What is a gate good for? A ReLU network is made of straight pieces, so it can only approach the
# *product of two inputs*. A gate can do better. Note that $\mathrm{silu}(z) - \mathrm{silu}(-z) = z$. Find
# weights for two hidden numbers that give $u \cdot z$ for the input $(z, u)$. The last layer adds the two
# hidden numbers up.

# %%
def multiplied(weights):
    """The largest error of u · z over 1,000 inputs."""
    if ... in weights:
        return ...
    net = Gated(2, 2).double()
    rows = [torch.tensor(matrix, dtype=torch.float64) for matrix in weights]
    net.gate.weight, net.up.weight = (nn.Parameter(matrix) for matrix in rows)
    net.down.weight = nn.Parameter(torch.tensor([[1.0, 1.0], [0.0, 0.0]]).double())
    inputs = 5 * torch.randn(1000, 2, dtype=torch.float64, generator=generator)
    return (net(inputs)[:, 0] - inputs.prod(1)).abs().max().item()


# %% tags=["yours", "nbval-ignore-output"]
weights = [[1, 0], [-1, 0]], [[0, 1], [0, -1]]  # yours: gate, up, (2, 2) each

intervene(
    "two hidden numbers multiply exactly",
    weights,
    run=multiplied,
    holds=lambda error: error < 1e-10,
    among=lambda weights: len(weights) == 2,
    shows="the largest error is {result:.1e}",
    otherwise="The gates should be z and −z. What has to be multiplied with each?",
)

# %% [markdown]
# $$
# \mathrm{silu}(z) \cdot u + \mathrm{silu}(-z) \cdot (-u) = u \cdot z
# $$
#
# Exactly, for all numbers. Why gates work better, Shazeer ([2020](https://arxiv.org/abs/2002.05202)) does
# not say: *"we attribute their success, as all else, to divine benevolence."*

# %% tags=["claim"]
# The proof
claim("5.28 comes through, or −0.72",
      torch.allclose(passed, torch.tensor([5.28, -0.72]), atol=0.01))
claim("8/3 as wide as the model, it has as many weights",
      old == 3 * 576 * 1536 == sum(w.numel() for w in Gated(576, 1536).parameters()))

# %% [markdown] name="grouped-queries"
# ## Grouped queries: sharing keys and values
#
# A decoder that writes keeps the keys and values of all tokens so far (the cache of lesson 16). SmolLM2
# has 30 blocks, 9 heads of width 64. With a key and a value for each head that is 30 · 9 · 64 · 2 = 34,560
# numbers per token: a text of 8,192 tokens would need 566 MB, more than twice as much as the model
# itself. And each new token has to read all of it. So nine heads **ask**, and three **are asked**:

# %%
plots.show(draw.shared_heads(), "shared-heads")

# %% [markdown]
# | part | version 6 | grouped queries |
# |---|---|---|
# | **inputs** | in each head: query, key, value (B, H, T, d) | query (B, H, T, d), **key, value (B, G, T, d)** |
# | **similarity** | query h · key h $/ \sqrt{d}$ | query h · **key ⌊h · G / H⌋** $/ \sqrt{d}$ |
# | **outputs** | scores, weights (B, H, T, T), result (B, H, T, d) | the same shapes |

# %% [markdown]
# ### Exercise 5: `grouped_query_attention`
#
# ★★☆ · 10 minutes · about 6 lines
#
# The heads are split already, and you need not merge them. The causal mask must be on the query's
# device (lesson 07).
#
# <details><summary>Hint 1: a question</summary>
#
# `repeat` turns heads a, b into a, b, a, b. `repeat_interleave` turns them into a, a, b, b. Which one do
# neighbours need?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. each head of keys and of values H / G times
# 2. scores, divided by the root of the width of a head
# 3. nobody sees what comes later; softmax; the weighted sum
#
# </details>

# %%
causal_mask = mine("causal_mask")

# %% tags=["exercise"]
from course_lib.llama import grouped_query_attention

# %%
grouped = check(grouped_query_attention).verified

# %% tags=["predict"]
predict(
    "Three groups in the place of nine. What becomes smaller?",
    {
        "the cache, and W_k and W_v": (
            True,
            "Three heads of keys and values are made and kept. Scores are still "
            "computed for each of nine queries.",
        ),
        "the number of scores": "How many queries ask?",
        "the width of the output": "Its shape is that of the queries.",
        "everything, to a third": "Nine heads still look. At how many tokens?",
    },
    concept="C148",
)

# %%
from course_lib.llama import LlamaBlock

blocks = {G: LlamaBlock(576, 9, G, 1536, 1e5, {"SwiGLU": Gated}) for G in (9, 3, 1)}
kept = {G: 30 * (b.W_k.out_features + b.W_v.out_features) for G, b in blocks.items()}
for G, numbers in kept.items():
    print(f"G = {G}: {numbers:6,} numbers per token, "
          f"{numbers * 2 * 8192 / 1e6:.0f} MB for 8,192 tokens of 16-bit numbers")

# %%
q = torch.randn(1, 6, 5, 8, generator=generator)  # (B, H, T, d)
k, v = torch.randn(2, 1, 6, 5, 8, generator=generator)  # (B, H, T, d) each
version_6 = F.scaled_dot_product_attention(q, k, v, is_causal=True)
one_group = grouped(q, k[:, :1], v[:, :1])
shared = F.scaled_dot_product_attention(
    q, k[:, :1].expand_as(q), v[:, :1].expand_as(q), is_causal=True)

# %% [markdown]
# With $G = H$ it is your version 6. With $G = 1$ all heads share one head of keys and values:
# **multi-query attention** (Shazeer 2019). In between, you choose how much memory a token may cost.

# %% tags=["claim"]
# The proof
claim("three groups keep a third, as on paper",
      kept[9] == 3 * kept[3] == 9 * kept[1] == 34_560)
claim("with a group for each head it is version 6",
      torch.allclose(grouped(q, k, v), version_6, atol=1e-5))
claim("with one group it is multi-query attention",
      torch.allclose(one_group, shared, atol=1e-5))

# %% [markdown] name="parts-trained"
# ## Your four parts, trained
#
# Before the large model a small one, with random weights. Ten different symbols, out of 16, are said
# twice. The second half can be known by a look back at the right place.

# %% tags=["given"]
from course_lib.experiments.copies import said_twice

# %%
said_twice(1, 10, seed=0)

# %% [markdown]
# Three models of two blocks, 32 wide: one with the four new parts; the same without RoPE; and lesson
# 12's, with the parts of 2017. The loss is that of the second half. Each was trained five times (stored
# in `course_lib/experiments/results/15b-copies.tsv`); yours is trained now.

# %% tags=["predict"]
predict(
    "After 200 steps, which of them copy?",
    {
        "the new parts and those of 2017": (
            True,
            "Both know where a token stands. Without RoPE and without sinusoids "
            "only the mask tells places apart, and 200 steps are too few for that.",
        ),
        "only the new parts": "Lesson 09 looked one place back with sinusoids. Why "
        "not ten?",
        "all three": "How should a model without places look ten back?",
        "none: two blocks are too few": "How many looks back does it take?",
    },
    concept="C149",
)

# %%
from course_lib.experiments.copies import copied, second_half, small_llama, train
from course_lib.experiments.stored import stored

parts = {"rms_norm": norm, "apply_rope": rope, "grouped_query_attention": grouped,
         "SwiGLU": Gated}
torch.manual_seed(0)
small = small_llama(**parts)
loss_of_yours = train(small, seed=0, steps=200)

# %%
steps, runs = range(20, 201, 20), {}
for row in stored("15b-copies"):
    losses = {step: row[f"loss at {step}"] for step in (*steps, 1000)}
    runs.setdefault(row["model"], []).append(losses)
shown = ("your four parts", "without RoPE", "the parts of 2017")
early = {name: [{step: run[step] for step in steps} for run in runs[name]]
         for name in shown}
yours = {step: loss_of_yours[step - 10 : step].mean().item() for step in steps}
plots.show(draw.copying(early, yours), "copying")

# %% [markdown]
# The new parts are most often earlier. Are they better? Two rivals, five trainings each: the parts of
# 2017 at another learning rate; and the new parts with the other model's table of tokens, whose numbers
# are of size 1, not $32^{-1/2}$.

# %% tags=["predict"]
predict(
    "What do these two trainings say about new parts against old ones?",
    {
        "nothing: rate and start decide the race": (
            True,
            "With the other start the new parts do not copy in 200 steps. With the "
            "other rate the old ones are as fast. After 1,000 steps all four copy.",
        ),
        "the new parts are better either way": "Look at them with the other table.",
        "the old parts are better either way": "Look at them at the rate of before.",
        "RoPE makes it faster by about a half": "It may, in the race of before. Is "
        "anything else different between those models?",
    },
    concept="C149",
)

# %%
for step in (100, 200, 1000):
    print(f"after {step} steps")
    for name, each in runs.items():
        print(f"    {name:26} {[round(run[step], 2) for run in each]}")

# %% [markdown]
# Five times the budget levels the race: all copy but the model without places, which is on its way. (It
# has the causal mask, and that tells places apart, in the end.)
#
# RoPE knows distances only. Does the model copy *twelve* symbols as well as ten?

# %% tags=["nbval-ignore-output"]
longer = said_twice(1, 12, seed=999)
with torch.no_grad():
    guesses = small(longer)[0, 12:-1].argmax(-1)  # (11,)
print("it should say          ", longer[0, 13:].tolist())
print("it says                ", guesses.tolist())
print("what stood ten before  ", longer[0, 3:-10].tolist())

# %% [markdown]
# It goes on naming the symbol **ten before** the next one. It has learned a distance, and not *"look for
# where this was said before, and say what followed"*. As long as there are ten symbols, both rules give
# the same. So train on rows of five to eleven symbols, where no single distance fits (three trainings
# each, 1,500 steps):

# %%
right_of = {}
for row in stored("15b-lengths"):
    for n in (12, 16, 3):
        right_of.setdefault((row["trained"], n), []).append(row[f"of {n}"])
for (trained_on, n), each in right_of.items():
    print(f"{trained_on:28} of {n:2}: {[round(share, 2) for share in each]}")

# %% [markdown]
# About seven of ten are right, at a length that was never trained. But it holds only near the trained
# lengths, and a model *without* RoPE does about as well. Here RoPE made learning quick, not general.

# %% tags=["claim"]
# The proof
MIXED, UNTURNED = "five to eleven", "five to eleven, without RoPE"
at_end = {name: [run[200] for run in each] for name, each in runs.items()}
by_100 = {name: sum(run[100] < 1 for run in each) for name, each in runs.items()}
claim("your parts learn to copy today",
      second_half(small, said_twice(200, 10, seed=999_999)) < 0.5)
claim("all ten have learned it", max(at_end[shown[0]] + at_end[shown[2]]) < 0.1)
later = {name: [run[1000] for run in each] for name, each in runs.items()}
claim("without RoPE none has, and after 1,000 steps none quite",
      min(at_end[shown[1]]) > 2 and min(later[shown[1]]) > 0.1)
claim("from the other start the four parts have not, and after 1,000 steps all have",
      min(at_end["four parts, table of 2017"]) > 2
      and max(later["four parts, table of 2017"]) < 0.01)
claim("at another rate 2017 is about as fast",
      by_100["2017, rate 0.01"] >= by_100["your four parts"])
claim("on twelve it fails, and says what stood ten before",
      copied(small, 12) < 0.2 and copied(small, 12, back=10) > 0.8)
claim("changing lengths teach most of twelve, with RoPE and without",
      max(right_of["always ten", 12]) < 0.05
      and min(right_of[MIXED, 12] + right_of[UNTURNED, 12]) > 0.5)

# %% [markdown] name="the-real-one"
# ## The real one
#
# Now 135 million numbers that others trained, on two trillion tokens of text ([Ben Allal et al.
# 2025](https://arxiv.org/abs/2502.02737)). The file stores most of them with four bits each. It has 93 MB,
# so this cell asks once whether to fetch it. Without it you see what was measured.

# %% tags=["nbval-ignore-output"]
SMOLLM2 = data.offer("smollm2")

# %%
from course_lib.experiments import real_writer
from course_lib.pretrained import smollm2

if SMOLLM2:
    writer, speaker = smollm2.load(**parts), smollm2.load_tokenizer()

# %% tags=["nbval-ignore-output"]
if SMOLLM2:
    probable = real_writer.next_token(writer, speaker, "The capital of France is")
    for place in probable.topk(4).indices.tolist():
        print(f"{speaker.decode([place])!r:9} {probable[place]:.2f}")

# %% [markdown]
# *The capital of France is* goes in, and **" Paris" comes out, with 0.77**. Does that prove that all parts
# are right? One wrong part at a time is put into all blocks:
#
# - layer norm in the place of RMSNorm;
# - RoPE with places counted from 1, not from 0;
# - RoPE with halves as pairs, and the rows as they are;
# - no RoPE;
# - the shared heads given out as 1, 2, 3, 1, 2, 3 …, not as 1, 1, 1, 2, 2, 2 ….

# %% tags=["predict"]
predict(
    "With which of the five does it still say Paris?",
    {
        "with all but the heads": (
            True,
            "With layer norm it is even surer, and without RoPE Paris still comes "
            "first. It is an easy word for whoever has read *France*.",
        ),
        "with none: trained numbers need their parts": "How many words does it take "
        "to know that one?",
        "with the places from 1 only": "They change nothing at all. But is a "
        "capital a question of order?",
        "with all five": "Which of them hands every query the wrong keys?",
    },
    concept="C146",
)

# %%
cost, sure = {}, {}
for row in stored("15b-parts"):
    cost[row["part"]] = row["bits, short texts"], row["bits, all as one"]
    sure[row["part"]] = row["p of Paris"], row["capitals"]
whole = cost["nothing wrong"]
rows = {part: (sure[part][0], short - whole[0], long - whole[1])
        for part, (short, long) in cost.items()}
plots.show(draw.wrong_parts(rows), "wrong-parts")

# %% [markdown]
# With halves as pairs it still says Paris, and knows nine of ten capitals, as many as with the right
# parts. But on five texts of 17 to 26 tokens that costs half a bit per token, and on the same five as
# one text of 108 tokens 2.6 bits. Counting from 1 changes *nothing*, since only distances count. **One
# pretty answer is an anecdote.** Compare all logits with a reference, on texts that are long enough.
#
# ### Yours: which wrong part?
#
# Which of the wrong parts would a test on short texts miss most easily? Choose one that costs at least
# four times as much per token on the long text as on the short ones.

# %% tags=["yours"]
part = "halves as pairs"  # yours: one of the wrong parts, in quotation marks

intervene(
    "it costs at least four times as much on the long text",
    part,
    run=lambda part: (rows[part][1], rows[part][2]),
    holds=lambda bits: bits[1] > 4 * bits[0] > 0.1,
    among=[name for name in rows if name != "nothing wrong"],
    shows="{choice}: {result[0]:.1f} bits on short texts, {result[1]:.1f} on long ones",
    otherwise="Look at the right half of the figure: short and long bar side by side.",
)

# %% tags=["nbval-ignore-output"]
if SMOLLM2:
    print({name: round(value, 2) for name, value in
           real_writer.tried(writer, speaker, "halves as pairs").items()})
    rows_back = [W for block in writer.blocks for W in (block.W_q, block.W_k)]
    for W in rows_back:  # the way back: rows for halves, and then halves as pairs
        order = brought_over(torch.arange(len(W.weight))[:, None], len(W.weight) // 64)
        W.weight.data = W.weight.data[order[:, 0].argsort()]
    print({name: round(value, 2) for name, value in
           real_writer.tried(writer, speaker, "halves as pairs").items()})
    writer = smollm2.load(**parts)

# %% [markdown]
# (With the weights, these lines print two rows: the wrong layout, and then the same layout with its own
# rows, brought back by your function. The second is as good as yours.)
#
# The model is fine-tuned on conversations. Asked *"What is the capital of France?"* it writes *"The
# capital of France is Paris."* Asked *"In one sentence: what does attention do in a Transformer?"* it is
# fluent, and says little. Ask it about your town:

# %% tags=["nbval-ignore-output"]
talk = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
if SMOLLM2:
    ids = speaker.encode(talk.format("What is the capital of France?")).ids
    with torch.no_grad():
        while speaker.id_to_token(ids[-1]) != "<|im_end|>" and len(ids) < 60:
            ids.append(writer(torch.tensor([ids]))[0, -1].argmax().item())
    print(speaker.decode(ids))

# %% [markdown] name="fetched"
# ## Who fetches Paris?
#
# The logit lens of lesson 12: behind each block, ask the last norm and the table what would come next. As
# a probability " Paris" comes with the last block. Its **rank** among 49,152 tokens rises earlier, and in
# block 24 there is a head that spends 0.9 of its weight, at *is*, on *France*. It was cut, and so were the
# eight others of that block, one at a time.

# %% tags=["predict"]
predict(
    "Without that head, what comes out in the end?",
    {
        "Paris, with 0.14 in the place of 0.77": (
            True,
            "The rank no longer jumps in block 24, and later blocks make up for a "
            "part of it. No other head of the block changes the answer by 0.03.",
        ),
        "another word: nobody else fetches it": "30 blocks, 270 heads. Was it the "
        "only one that could?",
        "Paris, with 0.77: one of 270 is not missed": "So it is with its eight "
        "neighbours.",
        "Paris, even surer": "That was the layer norm.",
    },
    concept="C178",
)

# %%
read = {(row["head"], row["block"]): row for row in stored("15b-lens")}
behind = range(20, 31)
ranks = {name: [read[head, block]["rank of Paris"] for block in behind]
         for name, head in (("all heads", 0), ("without head 5 of block 24", 5))}
plots.show(draw.read_off(behind, ranks), "read-off")
print([round(read[head, 30]["p of Paris"], 2) for head in range(10)])

# %% [markdown]
# The lens shows when something can be *read off*. When it is *known* is another question.
#
# ## Looked at, and missed
#
# Fifty random tokens are said twice. In the second half, what should a head look at? At the token *after*
# the first copy: what followed then follows now. Such a head is called an **induction head** ([Olsson et
# al. 2022](https://arxiv.org/abs/2209.11895)). Head 7 of block 19 gives that place 0.9 of its weight.
#
# Is it needed? That is a question about all 270. Each was cut, alone; as a rival, its output was replaced
# by noise of equal length; and the same was asked on prose, where hardly anything is said twice.

# %% tags=["predict"]
predict(
    "Is the head that costs most on the second half the one that looks most at the "
    "token after the copy?",
    {
        "no: the costliest never looks there": (
            True,
            "It looks one back, at every place, and writes down which token stood "
            "there. That is what the other one looks for.",
        ),
        "yes: it looks there, so it is needed": "Lesson 03 had weights that were "
        "not needed. Here is another case.",
        "yes, and the next ones look there, too": "Look at the dots on the right, "
        "near the floor.",
        "no: none of the 270 is missed": "Some cost several units of loss.",
    },
    concept="C178",
)

# %%
cuts = {(row["block"], row["head"]): row for row in stored("15b-heads")}
dots = {which: (row["after the copy"], row["loss without"])
        for which, row in cuts.items()}
named = [which for which, (looks, costs) in dots.items() if costs > 3 or looks > 0.55]
plots.show(draw.looked_and_missed(dots, named), "looked-and-missed")

# %%
for block, head in [(17, 1), (19, 7), (18, 5), (18, 6)]:
    row = cuts[block, head]
    print(f"{block}.{head}: cut {row['loss without']:4.1f}, noise "
          f"{row['loss with noise']:4.1f}, prose {row['loss on prose without']:4.1f}; "
          f"after the copy {row['after the copy']:.2f}, one back "
          f"{row['on the token before']:.2f}")

# %% [markdown]
# Head 1 of block 17 writes down which token stood before; head 7 of block 19 looks for a place whose token
# before is the present one. Two heads, one **circuit**; the second half is found only by asking all. Heads
# 18.5 and 18.6 look at the right place, and are not missed. On prose the two of the circuit cost nothing.
# And some heads of the first blocks, which look at neither place, cost more than 19.7.
#
# ### Yours: is zero nothing?
#
# A cut writes zeros. Is that the same as a head that has nothing to say? Another way to silence it: at
# every place, what it says **on average** over the text. Find a head of which the cut costs more than 1,
# and its mean in its place less than 0.1: all that is missed of it is a constant.

# %%
ways = {which: (row["loss without"], row["loss with its mean"])
        for which, row in cuts.items()}
[(which, round(cut, 1)) for which, (cut, _) in ways.items() if cut > 1]

# %% tags=["yours"]
head = (2, 9)  # yours: (block, head), both counted from 1

intervene(
    "it is missed, and its mean would do",
    head,
    run=lambda head: ways[head],
    holds=lambda costs: costs[0] > 1 and costs[1] < 0.1,
    among=ways,
    shows="{choice}: cut {result[0]:.2f}, with its mean {result[1]:.2f}",
    otherwise="ways[2, 6] are the two costs of head 6 of block 2: look at those above.",
)

# %% [markdown]
# There are four such heads, all in the first two blocks, and two of them do *harm*: with their mean the
# loss is lower by 0.7. The two of the circuit are missed either way, by 5.6 and 1.9. A cut by zeros asks
# two things at once: is what the head says needed, and are the later layers used to its saying
# something? (The average is over the whole text, later tokens included. A real model could not know it.)

# %% tags=["claim"]
# The proof
writes, looks_for = cuts[17, 1], cuts[19, 7]
costliest = max(dots, key=lambda which: dots[which][1])
claim("it still says Paris with four of five wrong parts",
      [part for part in rows if rows[part][0] < 0.2] == ["heads in turn"])
claim("halves as pairs cost more than four times as much on a long text",
      rows["halves as pairs"][2] > 4 * rows["halves as pairs"][1] > 1)
claim("counting from 1 changes nothing",
      max(map(abs, rows["places from 1"][1:])) < 1e-3)
claim("of block 24 only head 5 is missed",
      [h for h in range(1, 10) if read[h, 30]["p of Paris"] < 0.7] == [5])
claim("the costliest head never looks after the copy, it looks one back",
      costliest == (17, 1) and writes["after the copy"] < 0.05
      and writes["on the token before"] > 0.8)
claim("two that look there are not missed",
      all(dots[18, head][0] > 0.5 and dots[18, head][1] < 0.3 for head in (5, 6)))
claim("four heads are missed as zeros, and not as their mean",
      [which for which, (cut, mean) in sorted(ways.items()) if mean < 0.1 < 1 < cut]
      == [(1, 9), (2, 5), (2, 8), (2, 9)])
claim("the two of the circuit are missed either way",
      min(*ways[17, 1], *ways[19, 7]) > 1.5)
claim("on prose neither of the circuit is missed",
      max(row["loss on prose without"] for row in (writes, looks_for)) < 0.05)

# %% [markdown]
# ## Summary
#
# - RMSNorm forgets the size only. RoPE turns queries and keys, so that a score knows the distance alone;
#   its layout has to fit the rows of the file. SwiGLU can multiply. Grouped queries make the cache
#   smaller.
# - A race of parts says nothing as long as start and learning rate decide it.
# - A wrong part can leave the pretty answer as it was. What it costs shows over long texts, and beside a
#   reference.
# - The head that looks at the right place and the head that is needed may be two. Ask all of them, with a
#   rival, and on another text.
#
# **Think about it.** A layout of RoPE that did not fit the file left " Paris" on top, and no check of
# shapes can find it. In a model without a reference, say your own: how would you notice?
#
# <details><summary>An answer</summary>
#
# Move a text by ten places: with the right layout no score changes, with any consistent one neither; so
# that is no test. But the loss over the length is one. It should fall as more of a text has been read.
# Under the wrong layout it rises. A curve that a theory forbids is a reference, too.
#
# </details>
#
# **In the papers.** RMSNorm: [Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467), equation 4.
# RoPE: [Su et al. 2021](https://arxiv.org/abs/2104.09864), equations 15 and 34; what slow and fast pairs
# do in a real model: [Barbero et al. 2024](https://arxiv.org/abs/2410.06205). SwiGLU: [Shazeer
# 2020](https://arxiv.org/abs/2002.05202), equation 6. Grouped queries: [Ainslie et al.
# 2023](https://arxiv.org/abs/2305.13245), section 2.2. Llama: [Touvron et al.
# 2023](https://arxiv.org/abs/2302.13971), section 2.2. Much weight on the first token: [Xiao et al.
# 2023](https://arxiv.org/abs/2309.17453).
#
# **Next.** What all of this costs, in memory and in time, and how it is made to cost less: lesson 16.
