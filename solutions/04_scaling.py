# %% [markdown]
# # 04 · Versions 1 and 2: the dot product, and its scale
#
# *75 minutes: reading 30, predicting 10, writing 35 · needs lesson 03 · four exercises*
#
# **At the end you can**
#
# - write a softmax that survives large scores;
# - replace version 0's scoring network by a dot product, and say what you pay for it;
# - predict when hardly any gradient passes a softmax, and measure it;
# - derive the $\sqrt{d}$ of the 2017 paper, say why it is not $d$, and what it does not do;
# - write a test that tells version 2 from the usual mistakes.

# %%
import torch

from course_lib import check, claim, intervene, predict
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
# (Each question is answered by a button. Cells that begin with *The proof* are folded:
# they test what was said.)
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
        10: (True, "Feature by feature: 3 · 2 + 2 · 2."),
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
# there are only two features, so that arrows can show them. Tea's arrow is twice as long
# as soup's, nearly. Is there a direction in which soup wins all the same? Drag the tip of
# the query, or select it and use the arrow keys. (The picture calls the four things
# *keys*. Lesson 05 explains why.)

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
# direction, and of these the long ones before the short ones. Soup wins where the query
# points down to the right, away from tea. Now stretch the query with the slider under
# the picture, and watch the weights.

# %% tags=["claim"]
# The proof
asked = attention_v1(cold_and_sweet, inputs)
claim("a query for cold and sweet gets ice cream",
      torch.allclose(asked, inputs[2], atol=0.01))
down_right = softmax(flat @ torch.tensor([4.0, -2.0]))
claim("down to the right, soup gets more than tea", down_right[1] > 2 * down_right[0])
largest = [softmax(flat @ (s * flat[0])).max() for s in (1, 4, 16)]
claim("a longer query gives sharper weights", largest[0] < largest[1] < largest[2])

# %% [markdown] name="shared-width"
# ## What it costs

# %% tags=["predict"]
predict(
    "The query loses a feature: 3 numbers now. The inputs still have 4. Version 1 …",
    {
        "raises an error": (
            True,
            "Each feature of the query needs its partner in the input. A dot "
            "product does not pad.",
        ),
        "compares the first three features": "Nothing says which features belong "
        "together.",
        "counts the missing feature as 0": "A dot product does not pad: nobody gave "
        "that number.",
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
# at all. (Lesson 05 puts one back.) In return, it needs no hidden layer, and is several
# times faster; the first *Further* measures that.
#
# Is it as good? Let both learn a small dictionary: eight words with an entry each, and
# one question, which entry belongs to this word? Each network gets the learning rate
# that suits it, on three seeds of its own, and is then measured with five others.

# %% tags=["predict"] name="quality"
predict(
    "A dot product in the place of version 0's network. Wrong answers after 300 steps, "
    "with vectors of 16 numbers and of 256:",
    {
        "few at 16, and few at 256": "So it is with version 0. The dot product has "
        "nothing to train between query and input, and it shows at one of the widths.",
        "few at 16, many at 256": (
            True,
            "So the paper of 2017 says, too. Why wide vectors do harm is the question "
            "of this lesson.",
        ),
        "many at 16, few at 256": "More numbers say more about a word. But something "
        "else grows with the width.",
    },
    concept="C031",
)

# %%
late = [row for row in stored("04-scorers") if row["steps"] == 300]
plots.show(draw.by_scorer(late, ("additive", "dot")), "two-scorers")

# %% [markdown]
# Section 3.2.1 of [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762) cites
# such a measurement, by Britz and colleagues on real translation
# ([arXiv:1703.03906](https://arxiv.org/abs/1703.03906)): for narrow vectors both do
# equally well, for wide ones additive attention wins over the plain dot product. The
# authors *suspect* why: large scores. The rest of this lesson tests their suspicion.

# %% tags=["claim"]
# The proof
try:
    refused = not len(attention_v1(short, inputs))
except RuntimeError:
    refused = out.shape == (4,)
claim("version 1 needs one width for both, and version 0 does not", refused)
shares = draw.chosen(late)  # {(score, width): five shares of right answers}
claim("at 16 both are right for more than 90 of 100, at 256 the dot product is not",
      min(shares["additive", 16] + shares["dot", 16] + shares["additive", 256]) > 0.9
      > max(shares["dot", 256]))

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
        "nears 1/10": (
            True,
            "Ten scores that hardly differ share evenly. Small scores turn the "
            "volume down.",
        ),
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

# %% [markdown] name="std-100"
# And with more than ten? Here are 1,000 scores, drawn with a standard deviation of 100,
# and the very same scores divided by theirs. An even share would be 0.001 for each.

# %% tags=["predict"]
predict(
    "Softmax of the 1,000 *divided* scores: how many of the weights are at least a "
    "tenth of an even share?",
    {
        "all but a few dozen": (
            True,
            "A tenth of the mean weight is a score about 1.8 below 0, and at a "
            "standard deviation of 1 few scores are as low as that.",
        ),
        "about a half": "A score of 0, in the middle, gets 0.6 of an even share. How "
        "low must one be for a tenth?",
        "about a hundred": "So it would be with a few large leads. At a standard "
        "deviation of 1 the largest score leads by a factor of 20 or so, no more.",
        "fewer than ten": "That is the scores as drawn: there the largest leads the "
        "next, typically by about twenty, and each unit is a factor of 2.7.",
    },
    concept="C035",
)

# %%
wide = 100 * torch.randn(1000, generator=torch.Generator().manual_seed(0))
scaled = wide / wide.std(correction=0)
spike, spread = softmax(wide), softmax(scaled)
plots.show(draw.histograms(wide, scaled, spike, spread), "std-100")
(spike > 1e-4).sum(), (spread > 1e-4).sum()

# %% tags=["claim"]
# The proof
claim("at 0.1 the ten weights are nearly even", largest[0.1].max() < 0.15)
claim("at 100 one weight is above 0.999 in more than 80 % of all draws",
      (largest[100.0] > 0.999).float().mean() > 0.8)
claim("of 1,000 scores as drawn fewer than 10 get a tenth of an even share, divided "
      "more than 900 do", (spike > 1e-4).sum() < 10 and (spread > 1e-4).sum() > 900)

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
        "about a millionth of it": (
            True,
            "Slopes multiply: half of a half of a half …, twenty times.",
        ),
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
# where $\delta_{ij}$ is 1 if $i = j$ and 0 otherwise. Where does it come from? Take two
# scores. The first weight is $a_1 = \exp(e_1) / S$ with $S = \exp(e_1) + \exp(e_2)$. Raise
# $e_1$ by a hundredth. Then $\exp(e_1)$ grows by a hundredth of itself, which alone would
# raise $a_1$ by a hundredth of $a_1$. But $\exp(e_1)$ is a part of $S$, the share $a_1$ of
# it. So $S$ grows by $a_1$ hundredths of itself, and that takes $a_1 \cdot a_1$ hundredths
# away again. What is left, per unit of $e_1$, is $a_1 - a_1 a_1 = a_1 (1 - a_1)$. Raise
# $e_2$ instead: the numerator stays, $S$ grows by the share $a_2$, and the slope is
# $-a_1 a_2$.
#
# Two even weights, ½ and ½, have slopes of ¼ and −¼: move a score, and the weights move.
# For a peak, $a = (1, 0)$, all four slopes are 0: move a score a little, and nothing
# happens. A function that has gone flat in this way is saturated. The noun is
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
claim("at 100 they are gone, in a typical draw, at 1 they are not",
      slopes(100 * draws).median() < 1e-12 and slopes(draws).median() > 0.3)

# %% [markdown] name="cross-entropy"
# ## A claim that is often read
#
# *"If you do not normalise the scores, softmax with cross-entropy sends back a gradient
# for the peak only."*
#
# A classifier gives each class a score, and a softmax makes probabilities $p$ of them.
# The **cross-entropy** is the loss $-\ln p_3$, if class 3 is the right one: 0 where
# $p_3 = 1$, and without limit as $p_3$ nears 0. Its slope at $p_3$ is $-1/p_3$. Let the
# classifier give class 0 a score of 100 and the nine others 0. It is sure, and wrong.

# %% tags=["predict"]
predict(
    "The gradient of the cross-entropy at the ten scores is …",
    {
        "nearly 0 everywhere": "The softmax alone has no slope there. But the "
        "logarithm has an enormous one, and the two are multiplied.",
        "1 at class 0, and nearly 0 at all others": "That is the claim. But raising "
        "the score of class 3 would lower the loss just as much.",
        "1 at class 0, −1 at class 3, and nearly 0 at all others": (
            True,
            "Push down what is believed and wrong, push up what is right: p − y.",
        ),
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

# %% [markdown]
# **Verdict: false.** The logarithm undoes the exponential:
# $-\ln p_3 = \ln \sum_j \exp(e_j) - e_3$. The slope of the first part at $e_j$ is
# $p_j$, and the second part adds −1 at the right class. So the gradient is $p - y$,
# where $y$ is 1 for the right class and 0 elsewhere. It is large wherever the
# classifier is wrong, if softmax and logarithm are computed as one, as `cross_entropy`
# does. (In two steps $p_3$ is rounded to 0 first, and the gradient is `nan`.)
#
# **Behind attention there is no logarithm.** There the softmax feeds a weighted sum and
# further layers. Take the same ten scores as attention scores over ten inputs, the rows
# of `torch.eye(10)`. Input 3 is wanted, and attention looks at input 0. Below is what
# arrives at the scores with two losses: the squared distance to input 3, and, as a
# control, minus the logarithm of the third feature of the output, which here is the
# weight of input 3. (In 64 bits, where exp(−100) is still a number.)

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
# With the logarithm 1.4 arrives: $p - y$ is $(1, 0, 0, -1, 0, \ldots)$, and
# $\sqrt{1^2 + 1^2} = \sqrt 2$. So a peak harms only where no logarithm follows the
# softmax. And only the *scores* get nothing: the inputs get a gradient as well, because
# they are mixed.

# %% tags=["claim"]
# The proof
claim("with the squared distance, nothing arrives at the scores",
      arrives["squared distance"] < 1e-20)
claim("with the logarithm, √2 arrives", abs(arrives["minus logarithm"] - 2**0.5) < 1e-6)

# %% [markdown] name="variance-of-dot-product"
# ## Where would large scores come from?
#
# From width. Query and input hold $d$ numbers each, drawn anew for each pair, with a
# variance of 1. Their dot product is a sum of $d$ products.

# %% tags=["predict"]
predict(
    "From width 64 to width 256: the standard deviation of the dot products becomes …",
    {
        "4 times as large": "So it would if all products pulled the same way. Drawn "
        "independently, some are positive and some negative, and much cancels.",
        "2 times as large": (True, "Variances add up: the variance is 4 times as "
        "large."),
        "16 times as large": "That is the factor squared. Does a sum of four times as "
        "many numbers spread further than four times as far?",
        "the same": "So it is with a *mean* of many numbers, or nearly: it even "
        "shrinks. This is a sum.",
    },
    concept="C037",
)

# %% [markdown]
# Now derive it. The numbers are drawn **independently**:
# knowing one says nothing about another. All have mean 0 and variance 1, so the mean of
# their squares is 1. Of independent numbers, the mean of a product is the product of
# the means. So each product $q_i x_i$ has mean 0, and the mean of its square is
# $1 \cdot 1 = 1$: its variance is 1, too. And variances of independent numbers add up:
#
# $$
# \mathrm{Var}(q \cdot x) = \sum_{i=1}^{d} \mathrm{Var}(q_i x_i) = d
# \qquad\text{so the standard deviation is } \sqrt{d}
# $$

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
        "grows": (
            True,
            "Half the lead of tea over soup: the weights move towards each other.",
        ),
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

# %% [markdown] name="why-not-d"
# ## Why $\sqrt{d}$, and not $d$?
#
# Here are both instruments again, with switches that were hidden before. Give the query
# many features, and take the division away: what becomes of the weights?

# %%
instruments.show("query-among-keys", "instrument-query-among-keys", names=things,
                 keys=flat, query=[0.4, 0.65], axes=["warm", "liquid"])

# %%
instruments.show("softmax-and-scale", "instrument-softmax-and-scale", scores=ten)

# %% [markdown]
# If large scores do harm, why not divide by more? Take eight random inputs and one
# random query, a thousand times over, at growing width, and divide the scores by 1, by
# $\sqrt d$, by $3\sqrt d$ and by $d$. Two things can be lost: the slopes, and the
# difference between the weights. For that we take the standard deviation of the eight
# weights: 0 if all are 1/8, and 0.33 for a peak.

# %% tags=["predict"]
predict(
    "At width 1,024, all scores divided by d = 1,024 and not by 32. The softmax …",
    {
        "is saturated: a peak": "It saturates where scores are large. These are 32 "
        "times smaller than those of version 2.",
        "weighs all inputs nearly alike": (
            True,
            "Scores of about 1/32 are nearly the same number: whatever the query asks, "
            "it gets the mean.",
        ),
        "does about what it does with √d": "The largest score was a little above 1, "
        "and is now a little above 1/32. Think of the volume knob.",
    },
    concept="C037",
)

# %%
g = torch.Generator().manual_seed(3)
divisors = {"1": lambda d: 1, "√d": lambda d: d**0.5, "3 √d": lambda d: 3 * d**0.5,
            "d": lambda d: d}
left, unequal = {by: [] for by in divisors}, {by: [] for by in divisors}
for d in widths:
    q, x = torch.randn(1000, d, 1, generator=g), torch.randn(1000, 8, d, generator=g)
    raw = (x @ q)[..., 0]  # (1000, 8)
    for by, divisor in divisors.items():
        left[by].append(slopes(raw / divisor(d)))  # (1000,)
        unequal[by].append(softmax(raw / divisor(d)).std(-1, correction=0))
plots.show(draw.divisors(widths, left, unequal), "divisors")

# %% [markdown]
# | divided by | slopes, in a typical query | differences between the weights |
# |---|---|---|
# | 1 | gone at large width | there: one input gets all |
# | $d$ | there | gone at large width: every query gets the mean |
# | $\sqrt d$ | there, at every width | there, at every width |
# | $3\sqrt d$ | there, at every width | there, at every width, but small |
#
# So the *power* of $d$ is no matter of taste: only a divisor that grows like $\sqrt d$
# keeps both. The *factor* in front of it is a choice. The 1 of the paper starts the
# scores with a standard deviation of 1, in the middle between even weights and a peak.
# (All this is for numbers of variance 1. Vectors of *length* 1 have small scores as
# they are: divided, they would give nearly even weights.)

# %% tags=["claim"]
# The proof
typical = {by: torch.stack(left[by]).median(1).values for by in divisors}  # (widths,)
between = {by: torch.stack(unequal[by]).median(1).values for by in divisors}
claim("divided by √d, typical slopes and differences stay from width 4 to 1,024",
      typical["√d"].min() > 0.3 and 0.08 < between["√d"][1:].min()
      and between["√d"].max() < 0.12)
claim("undivided, the slopes of a typical softmax are gone at 1,024",
      typical["1"][-1] < 1e-4)
claim("divided by d, the weights of a typical softmax are even at 1,024",
      between["d"][-1] < 0.01)

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

# %% [markdown]
# <details><summary>What the three impostors do (look after you have caught them)</summary>
#
# One always divides by 2: right for four features, and for no other number. One does not
# divide. One divides by the root of the number of *inputs*, which is four here, too.
# Those without letters are no harder, but there are more of them: a mixture that is not
# quite one, a result that is right in its first feature alone, scores of vectors that
# were brought to length 1.
#
# </details>

# %% tags=["claim"]
# The proof
answers = [suspect(query, inputs) for suspect in lined_up]
agree = [torch.allclose(a, attention_v2(query, inputs), atol=1e-5) for a in answers]
claim("for the warm drink four of the five agree, and two are version 2",
      sum(agree) == 4 and sum(map(is_right, lined_up)) == 2)

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
# In the function below, two lines are the network: `scores =`, which divides or does
# not, and `found =`, which mixes. Five networks are compared: versions 1 and 2; one
# divided by $d$; and version 1 with a $W$ that begins $\sqrt d$ times smaller, or at 0.

# %% tags=["given"]
from course_lib.experiments.scaling import train

# %% [markdown]
# ### Yours: a learning rate
#
# Train version 1 at width 256, for 100 steps of gradient descent. Is there a rate at
# which it learns the task? Change the number and run the cell, as often as you like.

# %% tags=["yours", "nbval-ignore-output"]
rate = 1.0  # yours: a learning rate, between 0.001 and 100
intervene(
    "a rate with which version 1 is wrong in fewer than 2 % of all queries",
    rate,
    run=lambda rate: train("version 1", "gradient descent", 256, rate, 0)["wrong"],
    holds=lambda wrong: wrong < 0.02,
    among=lambda rate: 0.001 <= rate <= 100,
    shows="rate {choice:g}: wrong in {result:.1%} of all queries",
    otherwise="Go up and down in steps of 4: too small learns slowly, too large jumps.",
)

# %% [markdown]
# One rate might just suit one of the five. So each network was trained with 6 to 8
# rates. Three seeds choose the rate, and five others count wrong answers with it, to
# 10,000 fresh queries. That takes minutes, so the results are stored, with the command
# that makes them (`course_lib/experiments/results/04-scaling.tsv`).

# %% tags=["predict"]
predict(
    "Width 256, 100 steps, each at its best rate. Which of the five are wrong in more "
    "than 1 of 1,000 queries?",
    {
        "version 1 alone": (
            True,
            "The four others have one thing in common: their scores begin small.",
        ),
        "all but version 2": "Dividing by d, or starting small, makes the first scores "
        "small as well. What else would they need?",
        "version 1 and the one divided by d": "Divided by d, all weights begin even. "
        "But even weights have slopes, and training makes W as large as it has to be.",
        "none: each has its best rate": "A rate decides how far a step goes. It cannot "
        "choose where the first one begins.",
    },
    concept="C039",
)

# %%
rows = stored("04-scaling")
at_best = draw.best_rates(rows)  # {(steps, loss, optimizer, width, version): five rows}
plots.show(draw.wrong_answers(at_best, "squared error"), "training")

# %% [markdown]
# Version 1 is behind with both optimizers, and it is behind *less*, the longer it is
# trained: wrong in 3 to 13 of 1,000 after 100 steps, and on average in fewer than 1
# after 1,000. (For the one that begins at 0 a very large rate was chosen here, and one
# of its ten long trainings is less exact than those of version 1.)
#
# Is it behind *because* its softmax is saturated, and most queries have no slopes? That
# is what the paper suspects. As a control we take a loss that cannot saturate: the
# cross-entropy of the attention scores, whose gradient is $p - y$. The data and the
# first $W$ stay, and the rates are chosen anew.

# %% tags=["predict"]
predict(
    "Trained with cross-entropy, whose gradient does not need the softmax's slopes: "
    "after 100 steps, version 1 is wrong …",
    {
        "about as seldom as version 2": "So it would be, if missing slopes were the "
        "whole reason. Something else about the start is wrong, too.",
        "less often, not as seldom as version 2": (
            True,
            "Missing slopes are a part of the reason. Scores that begin large and "
            "wrong also have far to go.",
        ),
        "about as often as before": "The loss has changed what arrives at the scores. "
        "With Adam, does that make no difference?",
    },
    concept="C039",
)

# %%
plots.show(draw.wrong_answers(at_best, "cross-entropy"), "training-cross-entropy")

# %% [markdown]
# One of the five is version 2 in disguise: the one whose $W$ begins 16 times smaller.

# %% tags=["predict"]
predict(
    "Version 1, W begins 16 times smaller, learning rate 256 times smaller. Compared "
    "with version 2 at width 256, after 100 steps of gradient descent, its error is …",
    {
        "larger: nothing holds the scores down": "Its scores begin as those of version "
        "2, and each step changes them by the same amount.",
        "of the same size, but another number": "A factor in front of the scores and a "
        "factor inside W are the same product, in every step. What could differ?",
        "the same number, up to rounding": (
            True,
            "A factor in front of W and the same factor inside W are one product, at "
            "the start and in every step.",
        ),
    },
    concept="C039",
)

# %% tags=["nbval-ignore-output"]
small_start = "version 1, W √d times smaller"
one = train("version 2", "gradient descent", 256, rate=16.0, seed=0)
other = train(small_start, "gradient descent", 256, rate=16.0 / 256, seed=0)
{version: f"{each['error']:.7f}" for version, each in
 {"version 2": one, small_start: other}.items()}

# %% [markdown]
# Why 256, and not 16? The small $W$ has gradients 16 times larger (in version 2 each
# passes a division by 16), and its numbers have only 1/16 as far to go: 16 · 16. Under
# Adam, whose steps do not grow with the gradient, the factor is 16. Here is all of it
# in one table:
#
# | claim | control | result at width 256 | verdict |
# |---|---|---|---|
# | wide vectors need a scale | five starts, each at its best rate | version 1 alone is behind | to begin small helps |
# | because slopes are missing | a loss that cannot saturate | fewer mistakes, still the most | a part of the reason |
# | the division does it | a small $W$, zeros, division by $d$ | about as good as $\sqrt d$ | one way to begin small |
#
# **What this task does not show** is why $\sqrt d$ and not $d$: here division by $d$
# learns as well. There is only one matrix, and training makes it as large as it likes.
# The reason for $\sqrt d$ is the one above: it keeps slopes *and* differences at the
# start, whatever comes before and after.

# %% tags=["claim"]
# The proof
from course_lib.experiments.stored import compare


def wrong(version, steps=100, loss="squared error", width=256):
    """Wrong answers of 1,000, of five trainings with either optimizer."""
    return [1000 * row["wrong"] for by in ("gradient descent", "Adam")
            for row in at_best[steps, loss, by, width, version]]


begun_small = [v for v in draw.COLOURS if v != "version 1"]
claim("after 100 steps version 1 is wrong more often than each of the four that begin "
      "small", min(wrong("version 1")) > 2 > 10 * max(
          max(wrong(v)) for v in begun_small))
mean = lambda each: sum(each) / len(each)
claim("after 1,000 steps it is wrong in fewer than 1 of 1,000 queries, on average",
      mean(wrong("version 1", 1000)) < 1)
claim("with a loss that cannot saturate version 1 is wrong less often, and more often "
      "than version 2, on average", mean(wrong("version 2", 100, "cross-entropy"))
      < mean(wrong("version 1", 100, "cross-entropy")) < mean(wrong("version 1")))
claim("a smaller W and a smaller rate do the same as the division",
      abs(one["error"] - other["error"]) < 1e-5 * one["error"])
claim("versions 1 and 2, trained again, come out as they are stored",
      not compare("04-scaling"))

# %% [markdown] name="in-a-trained-model"
# ## $\sqrt{d}$ in a trained model
#
# The course comes with the translator of lesson 11, trained: from small French, a
# made-up language of 229 words, to English. It has six attentions. Each consists of
# four **heads**, smaller attentions side by side (lesson 06), whose queries and keys
# are 32 wide. So all scores are divided by $\sqrt{32} = 5.7$. Nothing below trains it
# again.

# %%
from course_lib import shipped
from course_lib.experiments import looking, opened

translator = shipped.translator()
translator.translate("Jane visite l'Afrique en septembre.")

# %% tags=["predict"]
predict(
    "In the trained translator we leave out all divisions: every score is 5.7 times as "
    "large. How many of 50 new sentences, all right before, stay right?",
    {
        "nearly all": (
            True,
            "Training has made large scores wherever a peak is wanted. Larger ones are "
            "peaks in the same places.",
        ),
        "about a half": "A trained softmax says which word to look at. Do larger "
        "scores change *which* is the largest?",
        "none, or nearly none": "That is how it would begin to *learn* badly. It has "
        "learned already: where it looks is decided.",
    },
    concept="C038",
)

# %% tags=["nbval-ignore-output"]
pairs = opened.new_pairs(50)
undivided = looking.right(opened.with_divisor(translator, 1), pairs)
looking.right(translator, pairs), undivided

# %%
before, after = (opened.score_spreads(model, translator, pairs)
                 for model in (opened.before_training(translator), translator.model))
plots.show(draw.head_spreads(before, after), "head-spreads")

# %% [markdown]
# Each dot is a head. Before training the scores have a standard deviation below 1, and
# no softmax is saturated. Training then made them larger in *every* attention, up to 6
# where the last layer of the decoder looks at the French words. There the largest weight
# is typically above 0.95, in each head. So the scale does not keep a trained network from
# making a peak. It sees to it that a network begins where it can still learn which peak
# to make.

# %% [markdown]
# ### Yours: a divisor
#
# Without the division nearly nothing is lost. Can you spoil the translator at all by
# dividing its scores by another number?

# %% tags=["yours", "nbval-ignore-output"]
divisor = 100  # yours: a number above 0; √32 = 5.7 is what it was trained with
intervene(
    "a divisor with which the translator loses at least 10 of the 50 sentences",
    divisor,
    run=lambda number: looking.right(opened.with_divisor(translator, number), pairs),
    holds=lambda still_right: still_right <= 40,
    among=lambda number: number > 0,
    shows="divided by {choice:g}, {result} of 50 are right",
    otherwise="It stands that. Which way makes the weights even, so that it looks "
    "everywhere at once?",
)

# %% tags=["claim"]
# The proof
claim("without any division at least 45 of 50 sentences stay right", undivided >= 45)
claim("training makes the scores of every attention spread further", all(
    after[name].median() > before[name].median() for name in after))
peaks = opened.largest_weights(translator, pairs)["decoder.1.cross_attn"]  # (heads,)
claim("where it looks at the French words the largest weight is typically above 0.95",
      peaks.min() > 0.95)

# %% [markdown]
# ## Further: what a dot product buys, and the fourth way to score
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

# %% tags=["claim"]
# The proof
claim("version 1 is more than twice as fast", slower > 2)

# %% [markdown]
# And the dictionary of "What it costs"? Four ways of scoring learned it: besides the
# two, the dot product divided by $\sqrt{d}$, and a plain one whose queries begin
# $\sqrt{d}$ times smaller. Here after 100 steps, where those that will be right need not
# be yet.

# %%
scorers = stored("04-scorers-early")  # after 100 steps
plots.show(draw.by_scorer(scorers), "four-scorers")

# %% [markdown]
# Three of the four solve it at every width, or miss a few in a hundred. The plain dot
# product does not, and the same dot product with smaller queries does. So what fails at
# large width is not the dot product, but scores that begin too large.

# %% tags=["claim"]
# The proof
at = draw.chosen(scorers)  # {(score, width): five shares of right answers}
claim("three of the four solve it at every width, the plain dot product does not",
      all(min(at[score, d]) > 0.95 for d in (16, 64, 256)
          for score in ("additive", "scaled dot", "dot, queries √d times smaller"))
      and max(at["dot", 256]) < 0.8)

# %% [markdown] name="rates"
# ## Further: why divide, then?
#
# If a smaller start does the same, why do most models divide? Here is the error of
# three networks over the learning rate, after 100 steps of gradient descent with the
# squared error.

# %%
swept = [row for row in rows if row["optimizer"] == "gradient descent"
         and row["loss"] == "squared error" and row["width"] != 64
         and row["steps"] == 100 and row["version"] in draw.DASHES]
plots.show(draw.over_rates(swept, title="width {}"), "rates")

# %% [markdown]
# With the division, the width need not enter the learning rate: 16 is best at both
# widths, and at 64. With the small $W$ the best rate is $d$ times smaller, as the
# identity says: 1, ¼ (at 64) and 1⁄16. (Under Adam the identity says $\sqrt{d}$ times. The rates that we tried
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
tuned = {(d, version): at_best[100, "squared error", "gradient descent", d, version]
         for d in (16, 64, 256) for version in ("version 2", small_start)}
best = {key: rows[0]["rate"] for key, rows in tuned.items()}
claim("with gradient descent version 2 has one best rate at all widths, and a small W "
      "one that is d times smaller",
      all(best[d, small_start] * d == best[d, "version 2"] == best[16, "version 2"]
          for d in (16, 64, 256)))

# %% [markdown] name="not-for-stability"
# ## Further: is it there for stability?
#
# *"$\sqrt{d}$ is there for numerical stability."* This is often read.
#
# Take a softmax without the maximum, `exp(e) / exp(e).sum()`, and give it two scores
# that are 1 apart, as they are and divided by $\sqrt{16} = 4$. Then take **half
# precision**, numbers of 16 bits, whose largest is 65,504: take the dot product of two
# vectors of 64 numbers, each 33.

# %%
for top in (100, 200, 340, 1000):
    e = torch.tensor([float(top), top - 1])
    for how, s in {"as they are:": e, "divided:": e / 4}.items():
        weights = (torch.exp(s) / torch.exp(s).sum()).tolist()
        print(f"{top:5} {how:12}", [round(weight, 3) for weight in weights])

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


two = [torch.tensor([float(top), top - 1]) for top in (100, 200, 340)]
claim("at 100, 200 and 340 only the divided ones are numbers",
      all(naive(e).isnan().any() and not naive(e / 4).isnan().any() for e in two))
claim("in half precision the product overflows, and divided first it does not",
      (q * x).sum().isinf() and (q / 8 * x).sum().isfinite())

# %% tags=["predict", "later"]
predict(
    "A layer has keys and queries of width 64. You widen both to 1,024 and forget to "
    "change the divisor 8. At the start of training, its weights …",
    {
        "are nearly peaks": (
            True,
            "The scores spread by 32, and are divided by 8: a standard deviation of 4, "
            "and most of the weight is on one input.",
        ),
        "are nearly even": "That would be a divisor that is too large. Scores of width "
        "1,024 have a standard deviation of 32.",
        "are as before": "The scores spread four times as far as at width 64.",
    },
    concept="C037",
)

# %% tags=["predict", "later"]
predict(
    "Softmax of 2, 1 and 0 gives 0.67, 0.24 and 0.09. What does softmax of 102, 101 "
    "and 100 give?",
    {
        "0.67, 0.24 and 0.09": (True, "Only differences count, and these are the "
        "same."),
        "a third each, nearly": "The scores are alike in *ratio*. Softmax looks at "
        "their differences.",
        "1, 0 and 0": "That is what 100 times the *spread* would do. Here 100 is "
        "added.",
    },
    concept="C034",
)

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
#   every width. Divided by less than that power, slopes vanish; divided by more, all
#   weights become even. The factor in front is a choice.
# - In training what counts is to begin small. A smaller start with a smaller learning
#   rate does the same as the division. A trained model hardly notices it.
# - The division is not there against overflow (see *Further*).
#
# **Think about it.** A colleague trains with the scores divided by $\sqrt d$, and then
# ships the model in a library that does not divide. Which one change to the weights
# makes the two agree?
#
# <details><summary>An answer</summary>
#
# Divide $W_q$ (or $W_k$, but not both) by $\sqrt d$, its bias as well. The library's
# scores are then the colleague's. In the same way a version 1 with a smaller $W$ was
# version 2 in disguise.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section
# 3.2.1; its footnote 4 gives the variance argument in two lines.
#
# **Next.** One query at a time is slow, and the inputs play two parts at once: they are
# compared and they are mixed. Lesson 05 turns many queries into one matrix, and then
# separates the two jobs.
