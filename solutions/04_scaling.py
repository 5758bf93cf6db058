# %% [markdown]
# # 04 · Versions 1 and 2: the dot product, and its scale
#
# *75 minutes: reading 31, predicting 9, writing 35 · needs lesson 03 · four exercises*
#
# **At the end you can**
#
# - write a softmax that survives any scores;
# - replace version 0's scoring network by a dot product, and say what you pay for it;
# - predict when a softmax hardly learns, and measure it;
# - derive the $\sqrt{d}$ of the 2017 paper, and say what it does and does not do;
# - write a test that tells version 2 from everything that only looks like it.

# %%
import torch

from course_lib import check, claim, predict
from course_lib.attention import additive_attention
from course_lib.display import instruments, plots
from course_lib.display.drawings import scaling as draw
from course_lib.display.drawings.one_query import one_query

torch.set_num_threads(1)

# %% [markdown]
# ## One number first
#
# You would like **a warm drink**. Four things stand on the table. Each is described
# by four numbers: how *warm*, how *liquid*, how *sweet* and how *hard* it is. What you
# would like is written in the same four numbers.

# %%
things = ["tea", "soup", "ice cream", "stone"]
inputs = torch.tensor(
    [[2.0, 2, 0, 0], [2, 1, 0, 0], [-2, 0, 2, 0], [0, -1, 0, 2]]
)  # X: (N, D) = (4, 4)
query = torch.tensor([2.0, 2, 0, 0])  # q: (D,)

# %% [markdown]
# Version 0 would now ask a small network: *how well does tea suit this query?*
# Is there a way to get a score with nothing to train?
#
# Lesson 02 compared two words by their **dot product**: multiply them feature by
# feature, and add up. A query and a thing can be compared in the same way.

# %% tags=["predict"]
predict(
    "By the dot product, what is tea's score for the query (2, 2, 0, 0)?",
    {
        8: True,
        16: "You multiplied the two products. A dot product adds them.",
        4: "That is the first feature alone. The second one counts as well.",
        6: "Multiply feature by feature before you add.",
    },
    concept="C030",
    within=0.1,
)

# %%
scores = inputs @ query  # e = X q: (N,)
dict(zip(things, scores.tolist(), strict=True))

# %% tags=["claim"]
# The proof
claim("tea scores 2 · 2 + 2 · 2 = 8", scores[0] == 2 * 2 + 2 * 2)
claim("the stone scores below 0", scores[3] < 0)

# %% [markdown] name="softmax"
# ## From scores to weights
#
# Scores can be any numbers. Weights are positive and sum to 1. Since lesson 01
# `torch.softmax` has turned one into the other. You now write it yourself.
#
# Raise Euler's number, 2.718…, to each score, so that everything becomes positive. Then
# divide by the sum, so that it all sums to 1. This is the **softmax**. A score that
# goes into one is also called a **logit**.
#
# $$
# a_i = \mathrm{softmax}(e)_i = \frac{\exp(e_i)}{\sum_{j=1}^{N} \exp(e_j)}
# $$
#
# For the scores 0 and 1, the powers are 1 and 2.72, their sum is 3.72, and the weights
# are 0.27 and 0.73. Do the same to 1,000 and 1,001.

# %%
e = torch.tensor([1000.0, 1001.0])
torch.exp(e), torch.exp(e) / torch.exp(e).sum()

# %% [markdown]
# `inf` is a number too large for the computer (an *overflow*), and `inf / inf` is
# `nan`: not a number. One such weight spoils everything computed after it.
#
# There is a way out. Subtract the same number $m$ from every score:
#
# $$
# \frac{\exp(e_i - m)}{\sum_j \exp(e_j - m)}
# = \frac{\exp(e_i)\,/\exp(m)}{\sum_j \exp(e_j)\,/\exp(m)}
# = \frac{\exp(e_i)}{\sum_j \exp(e_j)}
# $$
#
# No weight changes. So you may choose $m$, and one choice makes overflow impossible.

# %% [markdown]
# ### Exercise 1: `softmax`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write the softmax from `exp`, a maximum and a sum. It works on the last axis, however
# many axes come before it, and it has to survive scores of ±10,000. A score of −∞ means
# *not this one*: its weight is 0.
#
# <details><summary>Hint 1: a question</summary>
#
# Which number can you subtract so that the largest power becomes exactly 1? The maxima
# of an axis are `x.amax(dim=-1)`. What does `keepdim=True` add to them?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the largest score of each row, kept as an axis of length 1
# 2. the powers of what is left when it is subtracted
# 3. the powers, divided by their sum over the same axis
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import softmax

# %%
softmax = check(softmax).verified

# %% [markdown]
# From here on `softmax` is your own function, as soon as the card says *right*. Ask it
# for the weights of the four things, and for their mixture.

# %%
weights = softmax(scores)  # a: (N,)
mixture = weights @ inputs  # c: (D,)
print("weights:", [round(w, 3) for w in weights.tolist()])
print("mixture:", [round(m, 3) for m in mixture.tolist()])

# %%
plots.show(
    one_query(things, query, inputs, scores, weights, None, mixture,
              asks="a warm drink", formula="x · q"),
    "tea-one-query",
)

# %% [markdown] name="version-1"
# ## Version 1
#
# | part | version 0 | version 1 |
# |---|---|---|
# | **inputs** | query $q$, inputs $X$ | query $q$, inputs $X$ |
# | **similarity** | $e = \tanh(q W_q + X W_x)\, v$ | $\boldsymbol{e = X q}$ |
# | **outputs** | scores $e$, weights $a$, mixture $c$ | the same |
#
# One line has changed. The feed-forward network is gone, and with it $W_q$, $W_x$ and
# $v$. With the shapes below the letters, version 1 is
#
# $$
# \underset{(N,)}{e} = \underset{(N,\,D)}{X}\;\underset{(D,)}{q}
# \qquad
# \underset{(N,)}{a} = \mathrm{softmax}(e)
# \qquad
# \underset{(D,)}{c} = \underset{(N,)}{a}\;\underset{(N,\,D)}{X}
# $$
#
# Luong and colleagues tried this in 2015
# ([arXiv:1508.04025](https://arxiv.org/abs/1508.04025), equation 8, "dot").

# %% [markdown]
# ### Exercise 2: `dot_product_attention`
#
# ★☆☆ · 7 minutes · about 3 lines
#
# Write version 1 for any query and any inputs. The docstring says exactly what goes in
# and what comes out. Your `softmax` is at hand.
#
# <details><summary>Hint 1: a question</summary>
#
# How many scores do you need, and how many does `inputs @ query` give?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one score for each input
# 2. weights from the scores: positive, and 1 in sum
# 3. the sum of all inputs, each times its weight
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import dot_product_attention

# %%
attention_v1 = check(dot_product_attention).verified

# %% [markdown]
# Ask your function for something cold and sweet. Then turn a query yourself: in the
# picture below, features are only two, so that arrows can show them. Drag the tip of
# the query, or select it and use the arrow keys. (It calls the four things *keys*, by
# which they are compared: the field's word, from lesson 05 on.)

# %%
cold_and_sweet = torch.tensor([-2.0, 0, 2, 0])
[round(m, 1) for m in attention_v1(cold_and_sweet, inputs).tolist()]

# %%
flat = torch.tensor([[1.0, 1.0], [1.0, 0.5], [-1.0, 0.9], [0.1, -1.2]])  # (N, 2)
start = {"query": [0.7, 1.15], "axes": ["warm", "liquid"]}
instruments.show("query-among-keys", "instrument-query-among-keys",
                 names=things, keys=flat, **start)

# %% [markdown]
# A query that points *between* two arrows takes from both. Now make it longer, without
# turning it, and watch the weights.

# %% tags=["claim"]
# The proof
asked = attention_v1(cold_and_sweet, inputs)
claim("who asks for cold and sweet gets ice cream",
      torch.allclose(asked, inputs[2], atol=0.01))
decided = [softmax(flat @ (s * flat[0])).max() for s in (1, 4, 16)]
claim("a longer query is more decided", decided[0] < decided[1] < decided[2])

# %% [markdown] name="shared-width"
# ## What it costs

# %% tags=["predict"]
predict(
    "The query loses a feature: 3 numbers now. The inputs still have 4. Version 1 …",
    {
        "raises an error": True,
        "compares the first three features": "Nothing says which features belong "
        "together. A dot product pairs them one by one, and one has no partner.",
        "counts the missing feature as 0": "torch never fills in a number that "
        "nobody gave.",
    },
    concept="C032",
)

# %%
short = query[:3]  # (3,)
try:
    print("version 1:", attention_v1(short, inputs))
except RuntimeError as error:
    print("version 1:", str(error).split("(")[0])
W_q, W_x, v = torch.ones(3, 5), torch.ones(4, 5), torch.ones(5)
out = additive_attention(short, inputs, W_q, W_x, v)
print("version 0:", tuple(out.shape))

# %% [markdown]
# In lesson 03 a query of 2 numbers met inputs of 3: version 0 has $W_q$ and $W_x$, and
# brings both to one width. Version 1 has no matrix at all. (Lesson 05 puts one back.)

# %% tags=["claim"]
# The proof
claim("version 0 takes a query of 3 and inputs of 4", out.shape == (4,))
try:
    refused = not len(attention_v1(short, inputs))
except RuntimeError:
    refused = True
claim("version 1 needs one width for both", refused)

# %% [markdown] name="trade-off"
# ## What it buys: memory and speed
#
# Let 300 queries meet 300 inputs, all of width 32. Version 0 puts a hidden layer, here
# of 64 numbers, between **every query and every input**.

# %% tags=["predict"]
predict(
    "While it scores, version 1 holds one number per pair. How many times as many "
    "does version 0 hold?",
    {
        64: True,
        32: "That is the width of the vectors. What is held per pair is the hidden "
        "layer.",
        128: "The two projections are made once per query and once per input. Per "
        "pair, there is one hidden layer.",
        300: "That is the number of inputs. Both versions score all of them.",
        2: "Per pair, version 0 holds a whole hidden layer.",
    },
    concept="C031",
)

# %%
from torch.utils.benchmark import Timer

queries, many = torch.randn(300, 32), torch.randn(300, 32)
W_q, W_x, v = torch.randn(32, 64) / 8, torch.randn(32, 64) / 8, torch.randn(64) / 8


def additive_scores():
    hidden = torch.tanh((queries @ W_q)[:, None] + (many @ W_x)[None])
    return hidden @ v, hidden.numel()  # (300, 300), from (300, 300, 64)


def dot_scores():
    e = queries @ many.T
    return e, e.numel()  # (300, 300)


# %%
def seconds(call):
    """The median time of a call."""
    timer = Timer(call, globals=globals())
    return timer.blocked_autorange(min_run_time=0.2).median


numbers = additive_scores()[1], dot_scores()[1]
slower = seconds("additive_scores()") / seconds("dot_scores()")
print(f"numbers held: {numbers[0]:,} against {numbers[1]:,}")
print(f"version 0 takes {slower:.0f} times as long")

# %% tags=["claim"]
# The proof
claim("version 0 holds 64 times as many numbers", numbers[0] == 64 * numbers[1])
claim("version 1 is more than twice as fast", slower > 2)

# %% [markdown]
# Faster and smaller, then. Is it as good? Vaswani and colleagues report the catch in
# section 3.2.1 of [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762): for
# narrow vectors both do equally well, but for wide ones additive attention wins over
# the plain dot product. Something goes wrong with width. The rest of this lesson finds
# out what, and measures it at the end.

# %% [markdown] name="softmax-and-spread"
# ## A softmax has a volume knob
#
# How far numbers lie from their mean has a name. The **variance** is the mean of their
# squared distances from the mean, and the **standard deviation** is its square root:
# what a distance typically is. (`std` divides the sum by N − 1 instead of N, which
# makes a small difference for few numbers.) Take ten scores of standard deviation 1,
# and multiply all ten by the same factor. Their order stays the same.

# %% tags=["predict"]
predict(
    "All ten scores are multiplied by 100. The largest of the ten weights …",
    {
        "stays as it is": "Softmax does not know the scale of its scores by itself: "
        "differences go into the exponential as they are.",
        "nears 1": True,
        "nears 1/10": "That is what *small* factors do: the differences vanish.",
    },
    concept="C034",
)

# %%
ten = torch.randn(10, generator=torch.Generator().manual_seed(4))
ten = ten / ten.std()  # standard deviation 1
instruments.show("softmax-and-scale", "instrument-softmax-and-scale", scores=ten)

# %% [markdown]
# Move the knob. Two numbers below the bars sum up what you see. The **entropy** says
# over how many scores the weights are spread: 0 bits for one peak, $\log_2 10 = 3.32$
# bits when ten scores share evenly. The other number, and the square table, are about
# learning. We come to them in a moment.
#
# Ten scores may be an accident: two of them could be nearly equal. So draw 1,000 times
# ten.

# %%
draws = torch.randn(1000, 10, generator=torch.Generator().manual_seed(5))
draws = draws / draws.std(-1, keepdim=True)  # (draws, scores)
largest = {by: softmax(by * draws).amax(-1) for by in (0.1, 1.0, 10.0, 100.0)}
{by: f"{weights.median():.3f}" for by, weights in largest.items()}

# %% tags=["claim"]
# The proof
claim("at 0.1 the ten weights are nearly even", largest[0.1].max() < 0.15)
claim("at 100 one weight is above 0.999 in more than 80 % of all draws",
      (largest[100.0] > 0.999).float().mean() > 0.8)

# %% [markdown] name="std-100"
# ## A thousand scores with a standard deviation of 100
#
# Now 1,000 scores drawn from a normal distribution with mean 0 and standard deviation
# 100. Beside them, the very same scores divided by their standard deviation.

# %% tags=["predict"]
predict(
    "Softmax of the 1,000 scores as drawn: how many weights are above 0.0001?",
    {
        "about 1,000": "That is the scaled ones. Here the largest score leads the next "
        "by several units, and each unit is a factor of 2.7.",
        "about 100": "A score 10 behind the largest has a weight 22,000 times smaller. "
        "How many lie within 10 of the largest?",
        "fewer than 10": True,
    },
    concept="C035",
)

# %%
wide = 100 * torch.randn(1000, generator=torch.Generator().manual_seed(0))
scaled = wide / wide.std()
plots.show(draw.two_spreads(wide, scaled, softmax), "std-100")

# %%
spike, spread = softmax(wide), softmax(scaled)
print(f"weights above 0.0001: {(spike > 1e-4).sum()} as drawn, "
      f"{(spread > 1e-4).sum()} scaled")

# %% tags=["claim"]
# The proof
claim("as drawn, fewer than 10 weights are above 0.0001", (spike > 1e-4).sum() < 10)
claim("scaled, no weight is above 0.05", spread.max() < 0.05)

# %% [markdown] name="vanishing-gradient"
# ## Why a peak is slow to learn
#
# A peak may even be the right answer. The trouble is what happens when it is wrong.
#
# Training moves each number of a network's matrices by its **gradient**: how much the
# loss would change if the number changed a little. On its way back the gradient is
# multiplied by the slope of every step it passes. Where many slopes are below 1, the
# product is nearly nothing, and what lies at the beginning hardly learns. This is a
# **vanishing gradient**.

# %% tags=["predict"]
predict(
    "A gradient passes twenty steps, and each has a slope of 0.5. What arrives?",
    {
        "a half of it": "One step leaves a half. The next one leaves a half of that.",
        "about a tenth of it": "Slopes multiply: 0.5 · 0.5 · 0.5 …, twenty times.",
        "about a millionth of it": True,
    },
    concept="C033",
)

# %% [markdown]
# Steps are layers, or the words of a sentence that a recurrent network reads one by
# one. Below, a state of 32 numbers goes through up to 50 steps, and we measure how much
# a small change at the beginning changes the end. First the new state replaces the old
# one; then, as in a **gate** of lesson 03, nine tenths of the old state are kept.
# `gain` says how large the matrix of a step is: at 0.5 it halves a typical state.

# %%
def arriving(steps, gain, kept=0.0):
    """How large the gradient is after `steps` steps; without any step it is 1."""
    g = torch.Generator().manual_seed(0)
    W = gain * torch.randn(32, 32, generator=g) / 32**0.5
    start = state = torch.randn(32, generator=g, requires_grad=True)
    for _ in range(steps):
        state = kept * state + (1 - kept) * torch.tanh(state @ W)
    (slopes,) = torch.autograd.grad(state.sum(), start)
    return slopes.norm().item() / 32**0.5


# %%
lengths = [1, 5, 10, 20, 50]
through = {"gain 0.5": [arriving(n, 0.5) for n in lengths],
           "gain 0.5, nine tenths kept": [arriving(n, 0.5, kept=0.9) for n in lengths]}
print(f"{'steps':27}", *(f"{n:8}" for n in lengths))
for name, sizes in through.items():
    print(f"{name:27}", *(f"{size:8.1e}" for size in sizes))

# %% tags=["claim"]
# The proof
plain_steps, kept_steps = through.values()
claim("a slope of a half, twenty times, is less than a millionth", 0.5**20 < 1e-6)
claim("after 50 steps less than a billionth arrives", plain_steps[-1] < 1e-9)
claim("where nine tenths are kept, ten million times as much arrives",
      kept_steps[-1] > 1e7 * plain_steps[-1])

# %% [markdown]
# So much for the product. Now one of its factors: the softmax. It takes N scores to N
# weights, so it has N × N slopes. A table of all slopes is called a **Jacobian**:
#
# $$
# J_{ij} = \frac{\partial a_i}{\partial e_j} = a_i\,(\delta_{ij} - a_j)
# $$
#
# where $\delta_{ij}$ is 1 if $i = j$ and 0 otherwise. (It follows from the quotient
# rule; the proof below compares it with torch.) Even weights have slopes: for two
# weights of ½ each, $J_{11} = ½ \cdot (1 - ½) = ¼$. For a peak, $a = (1, 0)$, all four
# are 0. A function that has gone flat in this way is **saturated**; the state is
# **saturation**.

# %%
def jacobian(a):
    """All slopes of a softmax whose weights are a: (..., N) -> (..., N, N)."""
    return torch.diag_embed(a) - a[..., :, None] * a[..., None, :]


jacobian(torch.tensor([0.5, 0.5])), jacobian(torch.tensor([1.0, 0.0]))

# %% [markdown]
# How large is the whole table? Its Frobenius norm, the root of the sum of all squares,
# says so in one number: the second bar of the instrument above. Here it is for 1,000
# draws of ten scores at each standard deviation.

# %%
def slopes(scores):
    """The norm of the Jacobian of each row's softmax: (..., N) -> (...)."""
    return jacobian(softmax(scores)).flatten(-2).norm(dim=-1)


{by: f"{slopes(by * draws).median():.2g}" for by in (0.1, 1, 10, 100)}

# %% tags=["claim"]
# The proof
by_torch = torch.autograd.functional.jacobian(lambda e: torch.softmax(e, 0), ten)
claim("the formula is the Jacobian that torch finds by itself",
      torch.allclose(jacobian(softmax(ten)), by_torch, atol=1e-6))
claim("at a standard deviation of 1 there are slopes to learn from",
      0.3 < slopes(draws).median() < 0.4)
claim("at 100 they are gone, in a typical draw", slopes(100 * draws).median() < 1e-12)

# %% [markdown] name="cross-entropy"
# ## A claim that is often read
#
# *"If you do not normalise the scores, softmax with cross-entropy sends back a gradient
# for the peak only."*
#
# The **cross-entropy** is the loss $-\ln p$, where $p$ is the probability that the
# softmax gave to the right class. Its slope is $-1/p$. Let a classifier give class 0 a
# score of 100 and nine other classes 0. Class 0 is wrong; class 3 is right.

# %% tags=["predict"]
predict(
    "The gradient of the cross-entropy at the ten scores is …",
    {
        "nearly 0 everywhere": "The softmax alone has no slope there. But the "
        "logarithm has an enormous one, and the two are multiplied.",
        "large at class 0 alone": "That is the claim. The right class asks for more, "
        "too: look at its own entry.",
        "large at class 0 and at class 3": True,
    },
    concept="C036",
)

# %%
logits = torch.tensor([100.0] + [0.0] * 9, requires_grad=True)
loss = torch.nn.functional.cross_entropy(logits, torch.tensor(3))
loss.backward()
[round(g, 3) for g in logits.grad.tolist()]

# %% tags=["claim"]
# The proof
p, y = softmax(logits.detach()), torch.eye(10)[3]
claim("the gradient is p − y", torch.allclose(logits.grad, p - y, atol=1e-6))
claim("its norm is √2", abs(logits.grad.norm() - 2**0.5) < 1e-6)

# %% [markdown]
# **Verdict: false.** The logarithm undoes the exponential, and the gradient is
# $p - y$, where $p$ now stands for all ten probabilities, and $y$ is 1 for the right
# class and 0 elsewhere: 1 at the wrong peak, and −1 at the right class. Their length
# together is $\sqrt{2}$, as large as it gets. The last softmax of a classifier is safe.
#
# **Inside attention there is no logarithm to the rescue.** There the softmax feeds a
# weighted sum and further layers, and the gradient has to go through the Jacobian. Take
# the same ten scores as attention scores over ten inputs, the rows of `torch.eye(10)`.
# The loss is the squared distance to input 3, and attention looks at input 0.

# %%
e, wanted = logits.detach().clone().requires_grad_(), torch.eye(10)[3]
output = softmax(e) @ torch.eye(10)
((output - wanted) ** 2).sum().backward()
print(f"the output is wrong by {(output - wanted).norm():.2f}, "
      f"and the gradient is {e.grad.norm():.0e}")

# %% tags=["claim"]
# The proof
claim("the output is as far from input 3 as it can be", (output - wanted).norm() > 1.4)
claim("inside attention nothing arrives", e.grad.norm() < 1e-20)

# %% [markdown] name="variance-of-dot-product"
# ## Where would large scores come from?
#
# From width. Let query and input hold $d$ numbers each, drawn **independently**: none
# of them says anything about another. All have mean 0 and variance 1: the mean of their
# squares is 1. Then each product $q_i x_i$ has mean 0, and the mean of its square is $1
# \cdot 1 = 1$, so its variance is 1, too. And variances of independent numbers add up:
#
# $$
# \mathrm{Var}(q \cdot x) = \sum_{i=1}^{d} \mathrm{Var}(q_i x_i) = d
# \qquad\text{so the standard deviation is } \sqrt{d}
# $$

# %% tags=["predict"]
predict(
    "How wide do the vectors have to be for scores with a standard deviation of 16?",
    {
        256: True,
        16: "At d = 16 the *variance* is 16. The standard deviation is its root.",
        4: "You took the root of 16. Which number has 16 as its root?",
        32: "Twice as wide does not double the standard deviation. Variances add up.",
    },
    concept="C037",
)

# %%
g = torch.Generator().manual_seed(2)
widths = [1, 4, 16, 64, 256, 1024]
pairs = [torch.randn(2, 10_000, d, generator=g) for d in widths]
dots = [(q * x).sum(-1) for q, x in pairs]  # (10000,) for each width
stds = [products.std().item() for products in dots]
plots.show(draw.growth(widths, stds), "std-over-width")

# %% tags=["claim"]
# The proof
claim("the standard deviation is √d, within 5 %",
      all(abs(std / d**0.5 - 1) < 0.05 for std, d in zip(stds, widths, strict=True)))
claim("the mean is 0", all(abs(e.mean()) < 0.05 * d**0.5
                           for e, d in zip(dots, widths, strict=True)))

# %% [markdown] name="version-2"
# ## Version 2
#
# Divide by what has grown. (The width is $d$ where we vary it, and $D$ where it is the
# number of columns of $X$.)
#
# | part | version 1 | version 2 |
# |---|---|---|
# | **inputs** | query $q$, inputs $X$ | query $q$, inputs $X$ |
# | **similarity** | $e = X q$ | $\boldsymbol{e = X q \,/ \sqrt{D}}$ |
# | **outputs** | scores $e$, weights $a$, mixture $c$ | the same |
#
# $$
# \underset{(N,)}{e} =
# \frac{\underset{(N,\,D)}{X}\;\underset{(D,)}{q}}{\sqrt{D}}
# \qquad
# a = \mathrm{softmax}(e)
# \qquad
# c = a X
# $$
#
# This is **scaled dot-product attention**, section 3.2.1 of the paper, for one query.

# %% [markdown]
# ### Exercise 3: `scaled_dot_product_attention_single`
#
# ★☆☆ · 3 minutes · about 3 lines
#
# Try it wrong on purpose, too: divide by D, or divide after the softmax, and read what
# the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# Which axis of the query tells you D? Would your line still be right for vectors of
# another width?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# Your answer to exercise 2, with one more operation between step 1 and step 2.
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import scaled_dot_product_attention_single

# %%
attention_v2 = check(scaled_dot_product_attention_single).verified

# %% [markdown]
# Back to the table with the tea. There D is 4. The scores of tea and soup are 8 and 6.

# %% tags=["predict"]
predict(
    "Version 2 halves all scores. Compared with version 1, soup's weight …",
    {
        "stays the same": "Halving all scores halves their differences, and softmax "
        "looks at differences.",
        "is halved, like its score": "Weights are not scores: they always sum to 1. "
        "What one loses, another one gains.",
        "grows": True,
    },
    concept="C038",
)

# %%
for name, e in {"version 1": scores, "version 2": scores / 2}.items():
    shown = zip(things, softmax(e).tolist(), strict=True)
    print(name, {thing: round(weight, 3) for thing, weight in shown})

# %% tags=["claim"]
# The proof
sharp, gentle = softmax(scores), softmax(scores / 2)
claim("soup's weight more than doubles", gentle[1] > 2 * sharp[1])
claim("your version 2 mixes with the gentle weights",
      torch.allclose(attention_v2(query, inputs), gentle @ inputs, atol=1e-5))

# %% [markdown]
# ## Slopes at every width
#
# Eight random inputs, one random query, a thousand times over, at growing width. How
# much slope is left in the softmax? We look at more than one number: the mean and the
# median of the thousand, and the band in which four fifths of them lie.

# %%
g = torch.Generator().manual_seed(3)
left = {"version 1": [], "version 2": []}
for d in widths:
    q, x = torch.randn(1000, d, 1, generator=g), torch.randn(1000, 8, d, generator=g)
    raw = (x @ q)[..., 0]  # (1000, 8)
    left["version 1"].append(slopes(raw))
    left["version 2"].append(slopes(raw / d**0.5))
plots.show(draw.bands(widths, left), "slopes-over-width")

# %% [markdown]
# With the scale the slopes are the same at every width. Without it, read the two lines
# of version 1 separately. The **median** falls off a cliff: at $d = 1024$ the softmax
# of a *typical* query is saturated. The **mean** falls slowly, like $1 / \sqrt{d}$:
# some queries have two scores close together at the top, and those still have slopes.
# They are fewer at each width, but not none. So a network without the scale learns from
# few of its queries. It does not stop learning.

# %% tags=["claim"]
# The proof
mean_1 = torch.stack(left["version 1"]).mean(1)  # (widths,)
median_1 = torch.stack(left["version 1"]).median(1).values
median_2 = torch.stack(left["version 2"]).median(1).values
claim("with the scale, a typical softmax has about the same slopes at all widths",
      0.3 < median_2.min() and median_2.max() < 0.4)
claim("without it, a typical softmax has none left at 1,024", median_1[-1] < 1e-4)
ratio = mean_1[-1] / mean_1[2]  # 1,024 against 16: √64 = 8 times
claim("the mean falls about like 1/√d", 1 / 16 < ratio < 1 / 4)

# %% [markdown]
# ## Five functions, and no names
#
# Somebody hands you five functions and says: all of them compute version 2. You cannot
# read them, but you can call them. Is one question enough to find out who is right?

# %%
from course_lib.checks import suspects

lined_up = suspects("is_version_2")
for suspect in lined_up:
    print(suspect, [round(n, 2) for n in suspect(query, inputs).tolist()])

# %% [markdown]
# You asked for a warm drink, and four of the five agree. Does that make them right?
# There were 4 features and 4 inputs. Ask them something else: 3 features and 5 inputs.
# **An example decides nothing where a mistake happens to give the same number.**
#
# ### Exercise 4: `is_version_2`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Now *you* write the check. Your function gets an implementation, calls it, and returns
# True or False. It is tried on the five and on further ones that you do not see. It
# should let no wrong one through, and accuse no right one.
#
# <details><summary>Hint 1: a question</summary>
#
# Which mistakes did the card tell you about in this lesson? For each of them, is there
# a width, a number of inputs or a query for which it gives the right result?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a query and inputs, of sizes where no two of the mistakes agree
# 2. the right result, worked out from the formula
# 3. near enough? Two right ways to add up differ in the last digits
#
# </details>

# %% tags=["exercise"]
from course_lib.black_box_tests import is_version_2

# %%
is_right = check(is_version_2).verified
{str(suspect): is_right(suspect) for suspect in lined_up}

# %% tags=["claim"]
# The proof
answers = [suspect(query, inputs) for suspect in lined_up]
agree = [torch.allclose(a, attention_v2(query, inputs), atol=1e-5) for a in answers]
claim("on the drinks four of the five agree", sum(agree) == 4)
claim("two of the five are version 2", sum(map(is_right, lined_up)) == 2)
claim("your own version 2 passes", is_right(attention_v2))

# %% [markdown] name="training-with-and-without"
# ## What training makes of it
#
# Slopes are not the goal. What counts is whether a network learns, so we train one.
# Each of eight inputs is a random vector of width $d$. The query is one of the eight,
# turned in space by a fixed rotation that the network does not know. It has to find the
# way back: a matrix $W$, with which attention returns the right input.
#
# The **optimizer** decides what is done with a gradient. Plain **gradient descent**
# takes a step against it, whose length is the gradient times the **learning rate**.
# **Adam** ([arXiv:1412.6980](https://arxiv.org/abs/1412.6980)) divides each step by the
# gradient's usual size, so that small gradients make steps, too.
#
# Three networks are compared: version 1, version 2, and a third one to which we come
# back below, version 1 with a $W$ that begins smaller.

# %%
from course_lib.experiments.scaling import OPTIMIZERS

OPTIMIZERS

# %% tags=["given"]
from course_lib.experiments.scaling import train

# %% [markdown]
# One learning rate would prove little: perhaps it just suits one of the two versions.
# So each version was trained with 8 to 11 learning rates, five times each, at three
# widths and with both optimizers. That takes a quarter of an hour. The results are
# stored in a small file, with the command that makes it in its first lines.

# %% tags=["predict"]
predict(
    "Width 256, gradient descent, each version at its own best learning rate: after "
    "100 steps, the error of version 1 is …",
    {
        "about that of version 2": "At width 16 it is. Think of the share of queries "
        "that still have slopes at 256.",
        "more than 10 times that of version 2": True,
        "where it began: nothing is learned": "A few of its queries have slopes, and "
        "it learns from those.",
    },
    concept="C039",
)

# %%
from course_lib.experiments.stored import stored

rows = [row for row in stored("04-scaling") if row["steps"] == 100]
by_gradient = [row for row in rows if row["optimizer"] == "gradient descent"]
plots.show(draw.over_rates(by_gradient, title="width {}"), "training-gradient-descent")

# %% [markdown]
# A line joins the medians of five trainings; the band around it holds all five. Look at
# the lowest point of each line: at width 16 the two versions are alike. With the width,
# version 1 falls behind.
#
# Is that the plain optimizer's fault? Here is the same with Adam.

# %%
by_adam = [row for row in rows if row["optimizer"] == "Adam"]
plots.show(draw.over_rates(by_adam, title="width {}"), "training-adam")

# %% [markdown]
# No: with Adam the gap is wider, several hundred times at width 256.
#
# What about the third line? It is version 1, **without** any division, whose $W$ begins
# $\sqrt{d}$ times smaller. Its first scores are exactly those of version 2. Its
# gradients are $\sqrt{d}$ times larger than those of version 2 (there, each passes a
# division by $\sqrt{d}$), and it has only $1/\sqrt{d}$ as far to go.

# %% tags=["predict"]
predict(
    "Version 1, W begins 16 times smaller, learning rate 256 times smaller. Beside "
    "version 2 at width 256, after 100 steps of gradient descent, its error is …",
    {
        "larger: nothing holds the scores down": "Its scores begin as those of version "
        "2, and each step changes them by the same amount.",
        "smaller: it needs no division": "A factor in front of the scores and a factor "
        "inside W are the same product.",
        "the same, up to rounding": True,
    },
    concept="C039",
)

# %%
small_start = "version 1, W √d times smaller"
one = train("version 2", "gradient descent", 256, rate=8.0, seed=0)
other = train(small_start, "gradient descent", 256, rate=8.0 / 256, seed=0)
one, other

# %% [markdown]
# **What the scale is.** Under gradient descent, dividing by $\sqrt{d}$ is the same as
# another **initialization** (how the weights begin) with another learning rate, not a
# new ability. Version 1 is not unable to learn: it begins with scores so far apart that
# few queries teach it anything. Begin with small scores, and it learns as well. And
# with sixteen times as many steps it gets there by itself (in the same file).
#
# So why does everybody divide? Look at where the lines of gradient descent have their
# lowest points. With the division, one learning rate suits all three widths. With the
# small $W$ instead, the best rate moves from width to width, and somebody has to look
# for it each time. With Adam the division does nearly the same: its best rates are a
# factor of 3 apart, those of the small $W$ a factor of 30.

# %% tags=["claim"]
# The proof
from statistics import median


def best(version, width, of):
    """(the smallest median error, its learning rate) of a version at a width."""
    at = [r for r in of if (r["version"], r["width"]) == (version, width)]
    found = {r["rate"]: [s["error"] for s in at if s["rate"] == r["rate"]] for r in at}
    return min((median(errors), rate) for rate, errors in found.items())


both = by_gradient, by_adam
times = {
    (version, d): [best(version, d, of)[0] / best("version 2", d, of)[0] for of in both]
    for version in ("version 1", small_start) for d in (16, 256)
}
claim("with either optimizer, at width 256 version 1 is more than 10 times worse",
      min(times["version 1", 256]) > 10)
claim("at width 256 with a small W it is not", max(times[small_start, 256]) < 2)
claim("at width 16 the two versions are alike", max(times["version 1", 16]) < 2)

# %% tags=["claim"]
# The proof
near = abs(one["error"] - other["error"]) < 1e-6 * one["error"]
claim("a smaller W and a smaller rate do the same as the division", near)
rates = {v: [best(v, d, by_gradient)[1] for d in (16, 64, 256)]
         for v in ("version 2", small_start)}
claim("with gradient descent version 2 has one best rate at all widths",
      len(set(rates["version 2"])) == 1)
claim("with the small W the best rate moves with the width",
      len(set(rates[small_start])) == 3)
late = [row for row in stored("04-scaling") if row["steps"] == 1600
        and row["optimizer"] == "gradient descent"]
claim("in 1,600 steps version 1 catches up",
      best("version 1", 256, late)[0] < 2 * best("version 2", 256, late)[0])
again = train("version 2", "gradient descent", 64, rate=10, seed=0)
(was,) = [r["error"] for r in by_gradient if (r["version"], r["width"], r["rate"],
                                              r["seed"]) == ("version 2", 64, 10, 0)]
claim("a stored point, trained again, comes out alike",
      was / 3 < again["error"] < 3 * was)

# %% [markdown] name="quality"
# ## Further: is the dot product as good?
#
# Back to the open question: fast and small, but is it as good as version 0? The task is
# a small dictionary: eight words with an entry each, and one question, which entry
# belongs to this word? Versions 0, 1 and 2 learn it with Adam, for 300 steps. The
# learning rate of each is chosen on three seeds, and the result measured on five more.

# %%
scorers = [row for row in stored("04-scorers") if row["steps"] == 300]
plots.show(draw.by_scorer(scorers), "three-scorers")

# %% [markdown]
# The plain dot product is nearly as good as version 0 at width 16, and falls behind as
# it gets wider: what the paper says. Divided by $\sqrt{d}$ it is as good at all three
# widths, for the price of a dot product. With ten times as many steps the plain one
# gets more than 9 in 10 right at width 256 (in the same file): again it is slow, not
# unable. Britz and colleagues measured the same shape on real translation: wide and
# undivided, the dot product falls off, and additive attention does not
# ([arXiv:1703.03906](https://arxiv.org/abs/1703.03906)).

# %% tags=["claim"]
# The proof
at = draw.chosen(scorers)  # {(score, width): shares of right answers}
claim("additive and scaled scores solve it at every width",
      all(min(at[score, d]) > 0.95 for score in ("additive", "scaled dot")
          for d in (16, 64, 256)))
claim("the plain dot product falls behind with the width",
      median(at["dot", 16]) > median(at["dot", 64]) > median(at["dot", 256]))
claim("at 256 it misses a tenth of the answers and more", max(at["dot", 256]) < 0.9)
longer = [row["right"] for row in stored("04-scorers")
          if (row["steps"], row["score"], row["rate"]) == (3000, "dot", 0.01)]
claim("with ten times the steps it gets more than 9 in 10 right", min(longer) > 0.9)

# %% [markdown] name="not-for-stability"
# ## Further: is it there for stability?
#
# *"√d is there for numerical stability."*
#
# Take a softmax without the maximum, `exp(e) / exp(e).sum()`, and give it two scores
# that are 1 apart, as they are and divided by √16 = 4. Then take **half precision**,
# numbers of 16 bits, whose largest is 65,504: let 64 features of 33 meet 64 of 33.

# %%
for top in (100, 200, 340, 1000):
    e = torch.tensor([float(top), top - 1])
    plain, divided = (torch.exp(s) / torch.exp(s).sum() for s in (e, e / 4))
    print(f"{top:5}", "as they are:", plain.tolist(), " divided:", divided.tolist())

# %%
q = x = torch.full((64,), 33.0, dtype=torch.float16)
print("half precision: q · x =", (q * x).sum().item(),
      "   (q / √64) · x =", (q / 8 * x).sum().item())

# %% [markdown]
# **Verdict, in three parts.** It is *not its purpose*: what makes a softmax safe at any
# scores is subtracting the largest, as your own does. It is *no guarantee*: 1,000
# divided by 4 overflows all the same. But *it helps*: where numbers have few bits,
# the product itself overflows before any softmax sees it, and a query that was divided
# first does not. (PyTorch's attention kernels scale before they multiply.)

# %% tags=["claim"]
# The proof
def naive(e):
    return torch.exp(e) / torch.exp(e).sum()


pairs = [torch.tensor([float(top), top - 1]) for top in (100, 200, 340)]
claim("at 100, 200 and 340 only the divided ones are numbers",
      all(naive(e).isnan().any() and not naive(e / 4).isnan().any() for e in pairs))
claim("at 1,000 neither is", naive(torch.tensor([1000.0, 999.0]) / 4).isnan().any())
claim("your own softmax survives both",
      not softmax(torch.tensor([1000.0, 999.0])).isnan().any())
claim("in half precision the product overflows", (q * x).sum().isinf())
claim("divided first, it is 8,712", (q / 8 * x).sum() == 8712)

# %% [markdown]
# ## Summary
#
# - A softmax subtracts the largest score, raises Euler's number to the rest, and
#   divides by the sum.
# - Version 1 scores with a dot product. Nothing to train, no hidden layer per pair, and
#   one width for query and inputs.
# - A dot product of $d$ independent numbers of variance 1 has standard deviation
#   $\sqrt{d}$.
# - A softmax with widely spread scores is a peak, and a peak has no slopes. Slopes
#   multiply, so what lies before it hardly learns: the gradient vanishes.
# - Version 2 divides by $\sqrt{d}$: the spread is about 1 at every width, and so one
#   learning rate suits every width. A smaller $W$ is the same start, and needs another
#   rate at each width.
# - It is not there against overflow, though it helps in half precision. Softmax with
#   cross-entropy does not have the problem.
#
# **Think about it.** The argument assumes that query and inputs are independent. After
# training they are not: the network *learns* to make some scores large. Does the scale
# keep a trained network from making a peak? Should it?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section
# 3.2.1; its footnote 4 gives the variance argument in two lines.
#
# **Next.** One query at a time is slow, and the inputs play two parts at once: they are
# compared and they are mixed. Lesson 05 turns many queries into one matrix, and then
# separates the two jobs.
