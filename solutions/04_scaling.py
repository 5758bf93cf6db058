# %% [markdown]
# # 04 · Versions 1 and 2: the dot product, and its scale
#
# *75 minutes: reading 33, predicting 9, writing 33 · needs lesson 03 · four exercises*
#
# **At the end you can**
#
# - write a softmax that survives large scores;
# - replace version 0's scoring network by a dot product, and say what you pay for it;
# - predict when hardly any gradient passes a softmax, and measure it;
# - derive the $\sqrt{d}$ of the 2017 paper, and say what it does and does not do;
# - write a test that tells version 2 from the usual mistakes.

# %%
import torch

from course_lib import check, claim, predict
from course_lib.display import instruments, plots
from course_lib.display.drawings import scaling as draw
from course_lib.display.drawings.one_query import one_query
from course_lib.experiments.stored import stored

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
query = torch.tensor([3.0, 2, 0, 0])  # q: (D,)

# %% [markdown]
# (Answer each question with a button, or write your choice as `guess=…`. Cells that
# begin with *The proof* are folded: they test what was said.)
#
# Version 0 would now ask a small network: *how well does tea suit this query?*
# Is there a way to get a score with nothing to train?
#
# Lesson 02 compared two words by their **dot product**: multiply them feature by
# feature, and add up. A query and a thing can be compared in the same way.

# %% tags=["predict"]
predict(
    "By the dot product, what is tea's score for the query (3, 2, 0, 0)?",
    {
        10: True,
        9: "You added query and tea. A dot product multiplies, feature by feature.",
        6: "That is the first feature alone. The second one counts as well.",
        4: "That is the second feature alone. The first one counts as well.",
        24: "You multiplied the two products. A dot product adds them.",
        20: "You multiplied two sums. Multiply feature by feature, and then add.",
        8: "That is soup's score. Tea is the row above it.",
    },
    concept="C030",
    within=0.1,
)

# %%
scores = inputs @ query  # e = X q: (N,)
dict(zip(things, scores.tolist(), strict=True))

# %% tags=["claim"]
# The proof
claim("tea scores 3 · 2 + 2 · 2 = 10", scores[0] == 3 * 2 + 2 * 2)
claim("the stone scores below 0", scores[3] < 0)

# %% [markdown] name="softmax"
# ## From scores to weights
#
# Scores can be any numbers. Weights are never negative, and sum to 1. Since lesson 01
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
# No weight changes: with $m = 1000$ you are back at the scores 0 and 1, and at 0.27 and
# 0.73. So you may choose $m$, and for one choice no power can overflow.

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
# From here on `softmax` is your own function, as soon as the card says *right*. The
# next cell asks it for the weights of the four things, and for their mixture.

# %%
weights = softmax(scores)  # a: (N,)
mixture = weights @ inputs  # c: (D,), called y in lesson 03
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
# ([arXiv:1508.04025](https://arxiv.org/abs/1508.04025), equation 8, "dot"). The mixture
# $c$ is their **context vector**.

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
# The next cell asks for something cold and sweet. Then turn a query yourself. Here
# there are only two features, so that arrows can show them. Drag the tip of the query,
# or select it and use the arrow keys. (The picture calls the four things *keys*. Lesson
# 05 explains why.)

# %%
cold_and_sweet = torch.tensor([-2.0, 0, 2, 0])
[round(m, 1) for m in attention_v1(cold_and_sweet, inputs).tolist()]

# %%
flat = torch.tensor([[1.0, 1.0], [1.0, 0.5], [-1.0, 0.9], [0.1, -1.2]])  # (N, 2)
start = {"query": [0.4, 0.65], "axes": ["warm", "liquid"], "widths": False}
instruments.show("query-among-keys", "instrument-query-among-keys",
                 names=things, keys=flat, **start)

# %% [markdown]
# The weight goes to the arrows with the largest dot products: those near the query's
# direction, and of these the long ones before the short ones. Now stretch the query
# with the slider under the picture, and watch the weights.

# %% tags=["claim"]
# The proof
asked = attention_v1(cold_and_sweet, inputs)
claim("a query for cold and sweet gets ice cream",
      torch.allclose(asked, inputs[2], atol=0.01))
largest = [softmax(flat @ (s * flat[0])).max() for s in (1, 4, 16)]
claim("a longer query gives sharper weights", largest[0] < largest[1] < largest[2])

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
from course_lib.attention import additive_attention

short = query[:3]  # (3,)
try:
    print("version 1:", attention_v1(short, inputs))
except RuntimeError as error:
    print("version 1 refuses:", str(error).splitlines()[0])
W_q, W_x, v = torch.ones(3, 5), torch.ones(4, 5), torch.ones(5)
out = additive_attention(short, inputs, W_q, W_x, v)
print("version 0:", tuple(out.shape))

# %% [markdown]
# Version 0 has $W_q$ and $W_x$, and brings both to one width. Version 1 has no matrix
# at all. (Lesson 05 puts one back.) In return, it needs no hidden layer, and is much
# faster; the first *Further* below measures that. Is it as good?
#
# Section 3.2.1 of [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762) cites
# a measurement: for narrow vectors both do equally well, but for wide ones additive
# attention wins over the plain dot product. The authors *suspect* why. The rest of this
# lesson tests their suspicion.

# %% tags=["claim"]
# The proof
claim("version 0 takes a query of 3 and inputs of 4", out.shape == (4,))
try:
    refused = not len(attention_v1(short, inputs))
except RuntimeError:
    refused = True
claim("version 1 needs one width for both", refused)

# %% [markdown] name="softmax-and-spread"
# ## A softmax has a volume knob
#
# How far do numbers typically lie from their mean? The **variance** is the mean of
# their squared distances from the mean, and the **standard deviation** is its square
# root. Take ten scores of standard deviation 1, and multiply all ten by the same
# factor. Their order stays the same.

# %% tags=["predict"]
predict(
    "All ten scores are divided by 100. The largest of the ten weights …",
    {
        "stays as it is": "Only the differences of the scores count, and these "
        "become 100 times as small.",
        "nears 0": "All ten weights sum to 1. Can the largest of them be near 0?",
        "nears 1/10": True,
        "nears 1": "That is what *large* factors do: the differences grow.",
    },
    concept="C034",
)

# %%
ten = torch.randn(10, generator=torch.Generator().manual_seed(4))
ten = ten / ten.std(correction=0)  # standard deviation 1
instruments.show("softmax-and-scale", "instrument-softmax-and-scale",
                 scores=ten, widths=False)

# %% [markdown]
# Move the knob. The **entropy** says over how many scores the weights are spread: 0
# bits for one peak, $\log_2 10 = 3.32$ bits when ten scores share evenly. The square
# table and the last number are about learning. We come to them in a moment.
#
# Ten scores may be an accident: two of them could be nearly equal. So draw 1,000 times
# ten, and take the **median** of the largest weight: half of the draws lie above it.

# %%
draws = torch.randn(1000, 10, generator=torch.Generator().manual_seed(5))
draws = draws / draws.std(-1, correction=0, keepdim=True)  # (draws, scores)
largest = {by: softmax(by * draws).amax(-1) for by in (0.1, 1.0, 10.0, 100.0)}
{by: f"{weights.median():.3f}" for by, weights in largest.items()}

# %% tags=["claim"]
# The proof
claim("at 0.1 the ten weights are nearly even", largest[0.1].max() < 0.15)
claim("at 100 one weight is above 0.999 in more than 80 % of all draws",
      (largest[100.0] > 0.999).float().mean() > 0.8)

# %% [markdown] name="vanishing-gradient"
# ## Why a peak is slow to learn
#
# A peak may even be the right answer. The trouble is what happens when it is wrong.
#
# Training moves each number of a network's matrices by its **gradient**: how much the
# loss would change if the number changed a little. On its way back the gradient is
# multiplied by the slope (the derivative) of every step it passes.

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
# Where most slopes are well below 1, and none makes up for it, nearly nothing arrives:
# here $0.5^{20} = 0.00000095$.
# That is a **vanishing gradient**. Even a single step can do it, if its slope is nearly
# 0. The softmax is such a step: it takes N scores to N weights, so it has N × N slopes.
# A table of all slopes is called a **Jacobian**:
#
# $$
# J_{ij} = \frac{\partial a_i}{\partial e_j} = a_i\,(\delta_{ij} - a_j)
# $$
#
# where $\delta_{ij}$ is 1 if $i = j$ and 0 otherwise. Even weights have slopes: for two
# weights of ½ each, $J_{11} = ½ \cdot (1 - ½) = ¼$. For a peak, $a = (1, 0)$, all four
# are 0. Where a function has gone flat in this way, it is saturated. The noun is
# **saturation**.

# %%
def jacobian(a):
    """All slopes of a softmax whose weights are a: (..., N) -> (..., N, N)."""
    return torch.diag_embed(a) - a[..., :, None] * a[..., None, :]


jacobian(torch.tensor([0.5, 0.5])), jacobian(torch.tensor([1.0, 0.0]))

# %% [markdown]
# Its Frobenius norm, the root of the sum of all squares, puts the whole table into one
# number: the one beside the knob. Here is its median over the 1,000 draws.

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
# softmax gives to the right class. Its slope is $-1/p$. Let a classifier give class 0 a
# score of 100 and nine other classes 0. Class 0 is wrong; class 3 is right.

# %% tags=["predict"]
predict(
    "The gradient of the cross-entropy at the ten scores is …",
    {
        "nearly 0 everywhere": "The softmax alone has no slope there. But the "
        "logarithm has an enormous one, and the two are multiplied.",
        "1 at class 0, and nearly 0 at all others": "That is the claim. But raising "
        "the score of class 3 would lower the loss just as much.",
        "1 at class 0, −1 at class 3, and nearly 0 at all others": True,
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
in_two_steps = -torch.log(softmax(logits)[3])
(lost,) = torch.autograd.grad(in_two_steps, logits)
claim("in two steps, logarithm of softmax, it is nan", lost.isnan().any())

# %% [markdown]
# **Verdict: false.** The logarithm undoes the exponential:
# $-\ln p_3 = \ln \sum_j \exp(e_j) - e_3$. The slope of the first part at $e_j$ is
# $p_j$, and the second part adds −1 at the right class. So the gradient is $p - y$,
# where $y$ is 1 for the right class and 0 elsewhere. It is large wherever the
# classifier is wrong, if softmax and logarithm are computed as one, as `cross_entropy`
# does. In two steps, $p_3$ is rounded to 0, and the gradient at these very scores is
# `nan`.
#
# **Behind attention there is no logarithm.** There the softmax feeds a weighted sum and
# further layers. Take the same ten scores as attention scores over ten inputs, the rows
# of `torch.eye(10)`. Input 3 is wanted, and attention looks at input 0. Below is what
# arrives at the scores with two losses: the squared distance to input 3, and, as a
# control, minus the logarithm of the output's number 3. (In 64 bits, where exp(−100) is
# still a number.)

# %%
e = logits.detach().double().requires_grad_()
wanted = torch.eye(10).double()[3]
output = softmax(e) @ torch.eye(10).double()
two_losses = {"squared distance": ((output - wanted) ** 2).sum(),
              "minus logarithm": -output[3].log()}
arrives = {name: torch.autograd.grad(loss, e, retain_graph=True)[0].norm()
           for name, loss in two_losses.items()}
{name: f"{size:.1e}" for name, size in arrives.items()}

# %% [markdown]
# So a peak harms only where no logarithm follows the softmax. And only
# the *scores* get nothing: the inputs get a gradient as well, because they are mixed.

# %% tags=["claim"]
# The proof
claim("with the squared distance, nothing arrives at the scores",
      arrives["squared distance"] < 1e-20)
claim("with the logarithm, √2 arrives", abs(arrives["minus logarithm"] - 2**0.5) < 1e-6)

# %% [markdown] name="variance-of-dot-product"
# ## Where would large scores come from?
#
# From width. Let query and input hold $d$ numbers each, drawn **independently**:
# knowing one says nothing about another. All have mean 0 and variance 1, so the mean of
# their squares is 1. Of independent numbers, the mean of a product is the product of
# the means. So each product $q_i x_i$ has mean 0, and the mean of its square is
# $1 \cdot 1 = 1$: its variance is 1, too. And variances of independent numbers add up:
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
# Write version 2. Then try it wrong on purpose: divide by D, or divide after the
# softmax, and read what the card says.
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
# Back to the table with the tea. There D is 4. The scores of tea and soup are 10 and 8.

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
sharp, flatter = softmax(scores), softmax(scores / 2)
claim("soup's weight more than doubles", flatter[1] > 2 * sharp[1])
claim("your version 2 mixes with these weights",
      torch.allclose(attention_v2(query, inputs), flatter @ inputs, atol=1e-5))

# %% [markdown]
# ## Slopes at every width
#
# Eight random inputs and one random query, a thousand times over, at growing width. How
# much slope is left in the softmax? We look at the mean and the median of the thousand,
# and at the band in which four fifths of them lie.

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
# With the scale a typical query has nearly the same slopes at every width. Without the
# scale, median and mean part ways. The **median** collapses: at $d = 1024$ the softmax
# of a *typical* query is saturated. The **mean** falls slowly: from 64 on, to about a
# half with each fourfold width, roughly like $1 / \sqrt{d}$. The few queries that still
# have slopes carry the mean. (All this is for numbers of variance 1. The scores of
# vectors of *length* 1 are small as they are: divided, they would give nearly even
# weights.)

# %% tags=["claim"]
# The proof
mean_1 = torch.stack(left["version 1"]).mean(1)  # (widths,)
median_1 = torch.stack(left["version 1"]).median(1).values
median_2 = torch.stack(left["version 2"]).median(1).values
claim("with the scale, a typical softmax has about the same slopes at all widths",
      0.3 < median_2.min() and median_2.max() < 0.4)
claim("without it, a typical softmax has none left at 1,024", median_1[-1] < 1e-4)
ratio = mean_1[-1] / mean_1[3]  # 1,024 against 64: √16 = 4 times
claim("from 64 on the mean falls about like 1/√d", 1 / 6 < ratio < 1 / 2.5)

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
# **An example decides nothing where a mistake happens to give the same number.**
#
# ### Exercise 4: `is_version_2`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Now *you* write the check. Your function gets an implementation, asks it something of
# your choice, and returns True or False. It is tried on the five and on further ones
# that you do not see. It should reject the wrong ones, and no right one. (A test can
# refute, and never prove: for any questions you choose, somebody can write a wrong
# function that answers them. Choose those that a likely mistake would fail.)
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
claim("for the warm drink four of the five agree", sum(agree) == 4)
claim("two of the five are version 2", sum(map(is_right, lined_up)) == 2)
claim("your own version 2 passes", is_right(attention_v2))

# %% [markdown] name="training-with-and-without"
# ## What training makes of it
#
# Slopes are not the goal. What counts is whether a network learns, so we train one.
# Each of eight inputs is a random vector of width $d$. The query is one of the eight,
# multiplied by a fixed orthogonal matrix (it turns or mirrors space) that the network
# does not know. It has to find the way back: a matrix $W$, with which attention returns
# the right input. (A dot product with a trained matrix in it is Luong's "general"
# score.) The loss is the **mean squared error**: the mean, over the features, of the
# squared difference.
#
# The **optimizer** decides what is done with a gradient. Plain **gradient descent**
# takes a step against it, whose length is the gradient times the **learning rate**.
# **Adam** ([arXiv:1412.6980](https://arxiv.org/abs/1412.6980)) divides each step by the
# gradient's usual size, so that small gradients make steps, too.
#
# Three networks are compared: version 1, version 2, and version 1 with a $W$ that
# begins $\sqrt{d}$ times smaller, without any division. In the function below, the four
# lines from `query =` to `found =` are the network. The rest is data and records.

# %% tags=["given"]
from course_lib.experiments.scaling import train

# %% [markdown]
# One learning rate might just suit one of the three. So each was trained with 6 or 8
# rates. Three seeds choose the rate, and five others measure the error with it, on
# 10,000 fresh queries. That takes minutes, so the results are stored, with the command
# that makes them (`course_lib/experiments/results/04-scaling.tsv`).

# %%
rows = stored("04-scaling")
at_best = draw.best_rates(rows)  # {(loss, optimizer, width, version): five rows}
plots.show(draw.over_widths(at_best, "squared error"), "training")
wrong = [1000 * row["wrong"] for by in ("gradient descent", "Adam")
         for row in at_best["squared error", by, 256, "version 1"]]
print(f"version 1, width 256: {min(wrong):.0f} to {max(wrong):.0f} of 1,000 are wrong")

# %% [markdown]
# A line joins the medians of five trainings; a bar spans all five. (Markers stand side
# by side where they would hide each other.) The wider, the further version 1 falls
# behind, with either optimizer. It does learn, though: at width
# 256, after 100 steps, it gives the largest weight to a wrong input in 4 to 14 of 1,000
# queries. (Version 2: in at most 1 of 10,000.)
#
# Is it behind *because* its softmax is saturated, and most queries have no slopes? That
# is what the paper suspects. For comparison we take a loss that cannot saturate: the
# cross-entropy of the attention scores, whose gradient is $p - y$. The data and the
# first $W$ stay, and the rates are chosen anew.

# %% tags=["predict"]
predict(
    "Trained with cross-entropy, whose gradient does not need the softmax's slopes: at "
    "width 256, the error of version 1 is …",
    {
        "about that of version 2": "So it would be, if missing slopes were the whole "
        "reason. They are not: something else about the start is wrong, too.",
        "more than 10 times that of version 2": True,
        "more than 10 times smaller than that of version 2": "Both losses are smallest "
        "for the same W, and version 2 has the better start for either.",
    },
    concept="C039",
)

# %%
plots.show(draw.over_widths(at_best, "cross-entropy"), "training-cross-entropy")

# %% [markdown]
# **The suspicion is half right.** With a loss that cannot saturate, the error of
# version 1 is 3.5 times smaller with gradient descent, and 20 times with Adam. But
# version 2 gains as well: 4 times, and 3.3 times. So version 1 stays 45 times behind
# with gradient descent, where it was 40, and 270 times with Adam, where it was 1,660:
# missing slopes are a part of the reason, with Adam, and not the whole of it. What else
# is there?
#
# The third network has no division either. It differs from version 1 in its start and
# its step size alone.

# %% tags=["predict"]
predict(
    "Version 1, W begins 16 times smaller, learning rate 256 times smaller. Compared "
    "with version 2 at width 256, after 100 steps of gradient descent, its error is …",
    {
        "larger: nothing holds the scores down": "Its scores begin as those of version "
        "2, and each step changes them by the same amount.",
        "of the same size, but another number": "A factor in front of the scores and a "
        "factor inside W are the same product, in every step. What could differ?",
        "the same number, up to rounding": True,
    },
    concept="C039",
)

# %%
small_start = "version 1, W √d times smaller"
one = train("version 2", "gradient descent", 256, rate=8.0, seed=0)
other = train(small_start, "gradient descent", 256, rate=8.0 / 256, seed=0)
one, other

# %% [markdown]
# The first scores of the two are exactly the same. The gradients of the small $W$ are
# $\sqrt{d}$ times larger (in version 2 each passes a division by $\sqrt{d}$), and its
# numbers have only $1/\sqrt{d}$ as far to go. The two factors make $d$.
#
# **What the scale is.** Dividing by $\sqrt{d}$ is the same as another
# **initialization** (how the numbers of $W$ begin) with another learning rate: divided
# by $d$ under gradient descent, and by $\sqrt{d}$ under Adam, whose steps do not grow
# with the gradient. It is not a new ability. At large width, version 1 begins with
# random scores $\sqrt{d}$ times too large: saturated, and with far to go for the steps
# that it can take.

# %% tags=["claim"]
# The proof
from statistics import median

either = ("gradient descent", "Adam")


def times(version, width, loss):
    """How many times the error of version 2, with either optimizer."""
    errors = [{v: median(row["error"] for row in at_best[loss, by, width, v])
               for v in (version, "version 2")} for by in either]
    return [e[version] / e["version 2"] for e in errors]


claim("with either optimizer, at width 256 version 1 is more than 10 times worse",
      min(times("version 1", 256, "squared error")) > 10)
claim("so it is with a loss that cannot saturate",
      min(times("version 1", 256, "cross-entropy")) > 10)
gained = [[median(row["error"] for row in at_best[loss, by, 256, "version 1"])
           for loss in ("squared error", "cross-entropy")] for by in either]
claim("version 1 is more than twice as good with that loss",
      all(squared > 2 * entropy for squared, entropy in gained))
behind = [times("version 1", 256, loss) for loss in ("squared error", "cross-entropy")]
claim("with Adam it has come nearer to version 2, with gradient descent it has not",
      behind[1][1] < behind[0][1] / 2 and behind[1][0] > behind[0][0] / 2)
claim("with a small W it is not",
      max(times(small_start, 256, "squared error")
          + times(small_start, 256, "cross-entropy")) < 3)

# %% tags=["claim"]
# The proof
near = abs(one["error"] - other["error"]) < 1e-5 * one["error"]
claim("a smaller W and a smaller rate do the same as the division", near)
wrong = {v: max(row["wrong"] for by in either
                for row in at_best["squared error", by, 256, v])
         for v in ("version 1", "version 2")}
claim("version 1 learns: it is wrong in fewer than 3 of 100 queries",
      wrong["version 1"] < 0.03)
claim("version 2 is wrong in fewer than 1 of 1,000", wrong["version 2"] < 0.001)
again = train("version 2", "gradient descent", 64, rate=16.0, seed=0)
(was,) = [row["error"] for row in at_best["squared error", "gradient descent", 64,
                                          "version 2"] if row["seed"] == 0]
claim("a stored point, trained again, comes out alike",
      was / 3 < again["error"] < 3 * was)

# %% [markdown] name="quality"
# ## Further: what a dot product buys, and whether it is as good
#
# Let 300 queries meet 300 inputs, all of width 32. Version 0 makes a hidden layer, here
# of 64 numbers, for each of the 90,000 pairs. Version 1 makes one number for each.

# %%
from torch.utils.benchmark import Timer

queries, many = torch.randn(300, 32), torch.randn(300, 32)
W_q, W_x, v = torch.randn(32, 64) / 8, torch.randn(32, 64) / 8, torch.randn(64) / 8


def additive_scores():
    hidden = torch.tanh((queries @ W_q)[:, None] + (many @ W_x)[None])  # (300, 300, 64)
    return hidden @ v  # (300, 300)


def dot_scores():
    return queries @ many.T  # (300, 300)


# %%
additive, dot = (Timer(call, globals=globals()).blocked_autorange(min_run_time=0.2)
                 for call in ("additive_scores()", "dot_scores()"))
slower = additive.median / dot.median
print(f"version 0 takes {slower:.0f} times as long")

# %% [markdown]
# One is a single matrix product. The other sends 5.8 million numbers to memory and
# back, and takes the tanh of each: that costs more than the arithmetic.
#
# Is it as good? The task is a small dictionary: eight words with an entry each, and one
# question, which entry belongs to this word? Four ways of scoring learn it with Adam:
# additive, the plain dot product, the dot product divided by $\sqrt{d}$, and a plain
# one whose queries begin $\sqrt{d}$ times smaller. Three seeds choose the rate, five
# measure.

# %% tags=["predict"]
predict(
    "Width 256, 100 steps: which get more than 95 in 100 answers right?",
    {
        "the additive one alone": "Then no dot product would do. But nothing that a "
        "dot product needs is missing here: only its scores can begin too large.",
        "additive and divided": "The smaller start gives the same first scores as the "
        "division. What is left is a learning rate, and each had its own.",
        "all but the plain dot product": True,
        "all four": "Think of the first scores of the plain one at width 256.",
    },
    concept="C031",
)

# %%
scorers = stored("04-scorers-early")  # after 100 steps
plots.show(draw.by_scorer(scorers), "four-scorers")
late = [row for row in stored("04-scorers")
        if (row["score"], row["width"], row["steps"]) == ("dot", 256, 3000)]
wrong = [100 * (1 - row["right"]) for row in late if row["rate"] in (0.01, 0.03)]
print(f"plain, 3,000 steps: {min(wrong):.0f} to {max(wrong):.0f} of 100 wrong")

# %% [markdown]
# Three of the four solve it at every width, or miss one in a hundred. The plain dot
# product falls behind as it gets wider. But the fourth one is plain, too: begun
# smaller, it solves the task. So what fails at large width is not the dot product, but
# scores that begin too large. (More steps help the plain one slowly. The last line
# above is after 3,000 steps, at its two best rates.)
#
# The measurement that the paper of 2017 cites is by Britz and colleagues
# ([arXiv:1703.03906](https://arxiv.org/abs/1703.03906)): on real translation, a dot
# product without scale keeps up with additive attention at small widths, and not at
# large ones.

# %% tags=["claim"]
# The proof
claim("version 1 is more than twice as fast", slower > 2)
at = draw.chosen(scorers)  # {(score, width): five shares of right answers}
small_query = "dot, queries √d times smaller"
claim("three of the four solve it at every width",
      all(min(at[score, d]) > 0.95 for d in (16, 64, 256)
          for score in ("additive", "scaled dot", small_query)))
claim("the plain dot product falls behind with the width",
      median(at["dot", 16]) > median(at["dot", 64]) > median(at["dot", 256]))
claim("at 256 it misses a fifth of the answers and more", max(at["dot", 256]) < 0.8)

# %% [markdown] name="std-100"
# ## Further: a thousand scores with a standard deviation of 100
#
# Now 1,000 scores drawn from a normal distribution with mean 0 and standard deviation
# 100. Beside them, the very same scores divided by their standard deviation.

# %% tags=["predict"]
predict(
    "Softmax of the 1,000 *divided* scores: how many weights are above 0.0001, a "
    "tenth of their mean?",
    {
        "about 950 or more": True,
        "about 100": "A tenth of the mean is a score about 1.8 below 0. How many of "
        "1,000 lie below that, at a standard deviation of 1?",
        "fewer than 10": "That is the scores as drawn: there the largest leads the "
        "next, typically by about twenty, and each unit is a factor of 2.7.",
    },
    concept="C035",
)

# %%
wide = 100 * torch.randn(1000, generator=torch.Generator().manual_seed(0))
scaled = wide / wide.std(correction=0)
plots.show(draw.two_spreads(wide, scaled, softmax), "std-100")

# %%
spike, spread = softmax(wide), softmax(scaled)
(spike > 1e-4).sum(), (spread > 1e-4).sum()

# %% tags=["claim"]
# The proof
claim("as drawn, fewer than 10 weights are above 0.0001", (spike > 1e-4).sum() < 10)
claim("scaled, no weight is above 0.05", spread.max() < 0.05)

# %% [markdown] name="rates"
# ## Further: why divide, then?
#
# If a smaller start does the same, why do most models divide? Here is the error of the
# three networks over the learning rate, with gradient descent and the squared error.

# %%
swept = [row for row in rows if row["optimizer"] == "gradient descent"
         and row["loss"] == "squared error" and row["width"] != 64]
plots.show(draw.over_rates(swept, title="width {}"), "rates")

# %% [markdown]
# With the division, the width need not enter the learning rate: 16 is best at all three
# widths. With the small $W$ the best rate is $d$ times smaller, as the identity says:
# 1, ¼ and 1⁄16. (Under Adam the identity says $\sqrt{d}$ times. The rates that we tried
# lie a factor of 4 apart, and agree with it as far as they can show.) Nobody has to
# search for it, but somebody has to know it.
#
# This is no law. Our loss is a *mean* over the features. With their *sum*, all
# gradients are $d$ times larger, and every best rate of gradient descent falls as
# $1/d$, that of version 2, too. To keep one rate at every width, Yang and colleagues
# change more, and divide the scores by $d$
# ([arXiv:2203.03466](https://arxiv.org/abs/2203.03466)). And T5 does not divide: its
# queries begin smaller, by the same factor
# ([arXiv:1910.10683](https://arxiv.org/abs/1910.10683)).

# %% tags=["claim"]
# The proof
chosen_rates = {
    (d, version): at_best["squared error", "gradient descent", d, version][0]["rate"]
    for d in (16, 64, 256) for version in ("version 2", small_start)}
claim("with gradient descent version 2 has one best rate at all widths",
      len({chosen_rates[d, "version 2"] for d in (16, 64, 256)}) == 1)
claim("with a small W the best rate is d times smaller",
      all(chosen_rates[d, small_start] * d == chosen_rates[d, "version 2"]
          for d in (16, 64, 256)))

# %% [markdown] name="not-for-stability"
# ## Further: is it there for stability?
#
# *"$\sqrt{d}$ is there for numerical stability."* So one reads.
#
# Take a softmax without the maximum, `exp(e) / exp(e).sum()`, and give it two scores
# that are 1 apart, as they are and divided by $\sqrt{16} = 4$. Then take **half
# precision**, numbers of 16 bits, whose largest is 65,504: take the dot product of two
# vectors of 64 numbers, each 33.

# %%
for top in (100, 200, 340, 1000):
    e = torch.tensor([float(top), top - 1])
    plain, divided = (torch.exp(s) / torch.exp(s).sum() for s in (e, e / 4))
    print(f"{top:5}", "as they are:", plain.tolist(), " divided:", divided.tolist())

# %%
q = x = torch.full((64,), 33.0, dtype=torch.float16)
fused = torch.nn.functional.scaled_dot_product_attention
print("half precision: q · x =", (q * x).sum().item(),
      "   (q / √64) · x =", (q / 8 * x).sum().item())
print("fused attention, not divided:",
      fused(q[None], x[None], x[None], scale=1.0)[0, 0].item())

# %% [markdown]
# **Verdict, in three parts.** It is *not its purpose*: what makes a softmax safe at any
# scores is subtracting the largest, as your own does. It is *no guarantee*: 1,000
# divided by 4 overflows all the same. But *it helps*: in float16 the product itself
# overflows before any softmax sees it, and the product with a query that was divided
# first does not. (PyTorch's fused attention keeps its scores in 32 bits up to the
# softmax: the last line above, undivided and finite.)

# %% tags=["claim"]
# The proof
def naive(e):
    return torch.exp(e) / torch.exp(e).sum()


pairs = [torch.tensor([float(top), top - 1]) for top in (100, 200, 340)]
claim("at 100, 200 and 340 only the divided ones are numbers",
      all(naive(e).isnan().any() and not naive(e / 4).isnan().any() for e in pairs))
claim("your own softmax survives both",
      not softmax(torch.tensor([1000.0, 999.0])).isnan().any())
claim("in half precision the product overflows", (q * x).sum().isinf())
claim("divided first, it does not", (q / 8 * x).sum().isfinite())

# %% [markdown]
# ## Summary
#
# - A softmax subtracts the largest score, raises Euler's number to the rest, and
#   divides by the sum.
# - Version 1 scores with a dot product. Nothing to train, no hidden layer per pair, and
#   one width for query and inputs.
# - A dot product of $d$ independent numbers of variance 1 has standard deviation
#   $\sqrt{d}$.
# - Where the largest score is far ahead, the softmax is a peak, and a peak has no
#   slopes. Slopes multiply, so the scores before it get nothing: the gradient vanishes.
# - Softmax and cross-entropy, computed as one, do not have the problem.
# - Version 2 divides by $\sqrt{d}$: for numbers of variance 1 the spread is about 1 at
#   every width. Undivided scores begin too large: saturated, and far from right. A
#   smaller start with a smaller learning rate does the same.
# - The division is not there against overflow (see *Further*).
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
