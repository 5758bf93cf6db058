# %% [markdown]
# # 04 · Versions 1 and 2: the dot product, and its scale
#
# *65 minutes · needs lesson 03 · three exercises*
#
# **At the end you can**
#
# - replace version 0's scoring network by a dot product, and say what you pay for the speed;
# - predict when a softmax goes blind, and measure it;
# - derive the √d of the 2017 paper, and show what training loses without it;
# - write a test that tells version 2 from everything that only looks like it.

# %%
import time

import matplotlib.pyplot as plt
import torch

from course_lib import check
from course_lib.attention import additive_attention
from course_lib.display import plots
from course_lib.training import fit

torch.set_num_threads(1)

# %% [markdown]
# ## One number first
#
# You feel like **a warm drink**. Four things stand on the table. Each is described by four numbers:
# how *warm*, how *liquid*, how *sweet* and how *hard* it is. Your wish is written in the same four numbers.

# %%
things = ["tea", "soup", "ice cream", "stone"]
inputs = torch.tensor([[2.0, 2, 0, 0], [2, 1, 0, 0], [-2, 0, 2, 0], [0, -1, 0, 2]])  # (N, D) = (4, 4)
query = torch.tensor([2.0, 2, 0, 0])  # (D,)

# %% [markdown]
# Version 0 would now ask a small network: *how well does tea answer this wish?*
# Is there a way to get a score with nothing to train?
#
# Lesson 02 compared words by their dot product: multiply feature by feature, and add up. Why not compare a wish and a
# thing in the same way? **Before you run the cell**, work out tea's score on paper.

# %%
tea_score = 2 * 2 + 2 * 2 + 0 * 0 + 0 * 0
tea_is_eight = tea_score == (inputs[0] @ query).item() == 8
assert tea_is_eight
tea_score

# %% [markdown]
# All four dot products at once are one matrix product.

# %%
scores = inputs @ query  # (N,)
dict(zip(things, scores.tolist(), strict=True))

# %% [markdown]
# Then everything goes on as in version 0: softmax turns scores into weights, and the weights mix the inputs.

# %%
weights = torch.softmax(scores, dim=0)  # (N,)
mixture = weights @ inputs  # (D,)
tea_and_soup_share_everything = (weights[:2].sum() > 0.999).item()
assert tea_and_soup_share_everything
print("weights:", [round(w, 3) for w in weights.tolist()])
print("mixture:", [round(m, 3) for m in mixture.tolist()])

# %% [markdown] name="version-1"
# ## Version 1
#
# | | version 0 | version 1 |
# |---|---|---|
# | **inputs** | query (D_q,), inputs (N, D_x) | query (D,), inputs (N, D) |
# | **similarity** | v · tanh(query W_q + inputs W_x) | **inputs · query** |
# | **outputs** | scores (N,), weights (N,), mixture (D_x,) | scores (N,), weights (N,), mixture (D,) |
#
# One line has changed. The feed-forward network is gone, and with it `W_q`, `W_x` and `v`.
# Luong and colleagues tried this in 2015 ([arXiv:1508.04025](https://arxiv.org/abs/1508.04025), equation 8, "dot").

# %% [markdown]
# ### Exercise 1: `dot_product_attention`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write version 1 for any query and any inputs. The docstring is the whole contract.
#
# <details><summary>Hint 1: a question</summary>
#
# How many scores do you need, and how many does `inputs @ query` give?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one score for each input
# 2. weights from the scores: positive, and one in sum
# 3. the sum of all inputs, each times its weight
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import dot_product_attention

# %%
attention_v1 = check(dot_product_attention).verified

# %% [markdown]
# From here on `attention_v1` is your own function as soon as the card says *right*.
# Ask it for something cold and sweet.

# %%
cold_and_sweet = torch.tensor([-2.0, 0, 2, 0])
dessert = attention_v1(cold_and_sweet, inputs)
it_brings_the_ice_cream = torch.allclose(dessert, inputs[2], atol=0.01)
assert it_brings_the_ice_cream
print("mixture:", [round(m) for m in dessert.tolist()], " ice cream:", inputs[2].tolist())

# %% [markdown] name="shared-width"
# ## What it costs: one width for both
#
# Version 0 took a query with 3 numbers and inputs with 4: `W_q` and `W_x` brought them to a common width.
# **Predict:** what does version 1 do with them?

# %%
short_query = query[:3]  # (3,)
mixed = additive_attention(short_query, inputs, torch.ones(3, 5), torch.ones(4, 5), torch.ones(5))
version_0_takes_any_widths = mixed.shape == (4,)
assert version_0_takes_any_widths
try:
    attention_v1(short_query, inputs)
    version_1_needs_one_width = False
except RuntimeError as error:
    version_1_needs_one_width = True
    print("version 1:", str(error).split("(")[0])
assert version_1_needs_one_width

# %% [markdown] name="trade-off"
# ## What it buys: speed and memory
#
# Score 300 queries against 300 inputs, everything 64 wide. Version 0 needs a hidden layer for **every pair**.
# Version 1 needs one number for every pair. How many numbers is that, and how long does it take?

# %%
M = N = 300
D = 64
queries, many = torch.randn(M, D), torch.randn(N, D)
W_q, W_x, v = torch.randn(D, D) / 8, torch.randn(D, D) / 8, torch.randn(D) / 8


def additive_scores():
    hidden = torch.tanh((queries @ W_q)[:, None] + (many @ W_x)[None])  # (M, N, D)
    return hidden @ v, hidden.numel()  # (M, N)


def dot_scores():
    scores = queries @ many.T  # (M, N)
    return scores, scores.numel()


# %%
def seconds(function, times=7):
    """The median time of a call."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[times // 2]


additive_numbers, dot_numbers = additive_scores()[1], dot_scores()[1]
version_0_needs_d_times_the_memory = additive_numbers == D * dot_numbers
assert version_0_needs_d_times_the_memory
times_slower = seconds(additive_scores) / seconds(dot_scores)
version_1_is_faster = times_slower > 2  # by far more as a rule
assert version_1_is_faster
print(f"numbers kept for the scores: {additive_numbers:,} against {dot_numbers:,}")
print(f"version 0 takes {times_slower:.0f} times as long")

# %% [markdown]
# Faster and smaller, then. Is it as good? Vaswani and colleagues report the catch in section 3.2.1 of
# [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762): for narrow vectors both do equally well,
# but **for wide ones additive attention wins over the plain dot product**. Something goes wrong with width.
# The rest of this lesson finds out what, and mends it with one division.

# %% [markdown] name="softmax-and-spread"
# ## A softmax has a volume knob
#
# Take ten scores and multiply all of them by the same factor. Their order stays the same.
# **Predict:** what happens to the weights at a factor of 0.1? At 100?

# %%
ten = torch.randn(10, generator=torch.Generator().manual_seed(4))
ten = ten / ten.std()  # standard deviation exactly 1
factors = [0.1, 1.0, 10.0, 100.0]
figure, axes = plt.subplots(1, 4, figsize=(10, 2.4), sharey=True)
for axis, factor in zip(axes, factors, strict=True):
    axis.bar(range(10), torch.softmax(factor * ten, 0))
    axis.set(title=f"standard deviation {factor:g}", xlabel="score number")
axes[0].set_ylabel("weight")
plots.show(figure, "Softmax of the same ten scores at standard deviations 0.1, 1, 10 and 100: nearly even bars, "
                   "then uneven bars, then one bar with almost everything, then a single bar of height one.")

# %%
largest = [torch.softmax(factor * ten, 0).max().item() for factor in factors]
print("largest weight:", [round(w, 3) for w in largest])

# %% [markdown]
# Ten scores may be lucky: two of them could be nearly equal. So draw ten anew, 1,000 times.

# %%
draws = torch.randn(1000, 10, generator=torch.Generator().manual_seed(5))  # (draws, scores)
draws = draws / draws.std(-1, keepdim=True)
peaks = {factor: torch.softmax(factor * draws, -1).amax(-1) for factor in factors}  # (draws,) each
small_spread_is_nearly_even = peaks[0.1].max().item() < 0.15
large_spread_is_one_peak_and_zeros = (peaks[100.0] > 0.999).float().mean().item() > 0.8
assert small_spread_is_nearly_even
assert large_spread_is_one_peak_and_zeros
print(f"at 100, one weight is above 0.999 in {(peaks[100.0] > 0.999).float().mean():.0%} of all draws")

# %% [markdown] name="std-100"
# ## The experiment: a standard deviation of 100
#
# Now 1,000 scores drawn from a normal distribution with mean 0 and standard deviation 100. Beside them, the very
# same scores divided by 100. Two histograms, two softmaxes. Look at the axes before you look at the shapes.

# %%
wide = 100 * torch.randn(1000, generator=torch.Generator().manual_seed(0))
scaled = wide / wide.std()
figure, axes = plt.subplots(2, 2, figsize=(9, 5), layout="constrained")
for column, (name, values) in enumerate({"as drawn": wide, "divided by their std": scaled}.items()):
    axes[0, column].hist(values, bins=40)
    axes[0, column].set(title=f"scores {name}", xlabel="score", ylabel="how many")
    axes[1, column].plot(torch.softmax(values, 0))
    axes[1, column].set(title=f"softmax of scores {name}", xlabel="score number", ylabel="weight")
plots.show(figure, "Two histograms of the same bell shape, one from about -300 to 400 and one from -3 to 4. Below, "
                   "their softmaxes: one spike of height one and zeros elsewhere, against a thousand small weights "
                   "of which the largest is about 0.03.")

# %%
spike, spread = torch.softmax(wide, 0), torch.softmax(scaled, 0)
one_score_takes_all = spike.max().item() > 0.99
a_thousand_scores_share = spread.max().item() < 0.05
assert one_score_takes_all
assert a_thousand_scores_share
print(f"weights above 0.0001: {(spike > 1e-4).sum()} of 1000 as drawn, {(spread > 1e-4).sum()} of 1000 scaled")

# %% [markdown] name="vanishing-gradient"
# ## Why a spike cannot learn
#
# A spike may even be the right answer. The trouble is what happens when it is wrong.
#
# Training moves a weight by its **gradient**: how much the loss would change if the weight changed a little. On its
# way back the gradient is multiplied by the slope of every step. If one slope is nearly zero, all that arrives is
# nearly zero, and nothing before that step learns. This is called a **vanishing gradient**.
#
# The slopes of a softmax form a matrix, its Jacobian: ∂weight_i / ∂score_j = p_i (δ_ij − p_j).
# Let us check that formula against automatic differentiation.

# %%
def jacobian(p):
    """All slopes of a softmax whose output is p: (..., N) -> (..., N, N)."""
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]


by_torch = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, 0), ten)  # (10, 10)
the_formula_is_right = torch.allclose(jacobian(torch.softmax(ten, 0)), by_torch, atol=1e-6)
assert the_formula_is_right
jacobian(torch.tensor([0.5, 0.5])), jacobian(torch.tensor([1.0, 0.0]))

# %% [markdown]
# Even weights leave slopes to learn from. A spike leaves a matrix of zeros. How large is the matrix on the whole? Its
# Frobenius norm (the root of the sum of squares) tells. We measure it for 1,000 sets of ten scores at each spread.

# %%
draws = torch.randn(1000, 10, generator=torch.Generator().manual_seed(1))


def typical_slope(scores):
    """The median over many softmaxes of the norm of their Jacobian."""
    return jacobian(torch.softmax(scores, -1)).flatten(1).norm(dim=1).median().item()


slopes = {std: typical_slope(std * draws) for std in (0.1, 1, 10, 100)}
slopes_are_healthy_at_std_1 = 0.30 < slopes[1] < 0.40
slopes_are_gone_at_std_100 = slopes[100] < 1e-12
assert slopes_are_healthy_at_std_1
assert slopes_are_gone_at_std_100
print({std: f"{slope:.2f}" for std, slope in slopes.items()})

# %% [markdown] name="cross-entropy"
# ## A claim that is often read, and false
#
# *"If you do not normalise the scores, softmax with cross-entropy sends back a gradient for the peak only."*
#
# **Predict:** a classifier gives class 0 a score of 100 and nine other classes 0. Class 0 is wrong, class 3 is right.
# How large is the gradient at the scores: nearly zero, or not?

# %%
logits = torch.tensor([100.0] + [0.0] * 9, requires_grad=True)
loss = torch.nn.functional.cross_entropy(logits, torch.tensor(3))
loss.backward()
p, y = torch.softmax(logits.detach(), 0), torch.eye(10)[3]
the_gradient_is_p_minus_y = torch.allclose(logits.grad, p - y, atol=1e-6)
its_norm_is_root_two = abs(logits.grad.norm().item() - 2**0.5) < 1e-6
assert the_gradient_is_p_minus_y
assert its_norm_is_root_two
print("gradient:", [round(g, 3) for g in logits.grad.tolist()])

# %% [markdown]
# **Verdict: false.** The logarithm in the cross-entropy undoes the exponential, and the gradient is simply p − y:
# as large as it gets, at the wrong peak *and* at the right class.
#
# So the last softmax of a classifier is safe. **Inside attention there is no logarithm to the rescue:** the softmax
# feeds a weighted sum and further layers, and the gradient has to go through the Jacobian itself.

# %%
scores = logits.detach().clone().requires_grad_()  # the same ten scores, now inside attention
values = torch.eye(10)
output = torch.softmax(scores, 0) @ values
((output - y) ** 2).sum().backward()  # ask for input 3 instead of input 0
inside_attention_nothing_arrives = scores.grad.norm().item() < 1e-20
assert inside_attention_nothing_arrives
print(f"the output is wrong by {(output - y).norm().item():.2f}; the gradient is {scores.grad.norm().item():.0e}")

# %% [markdown] name="variance-of-dot-product"
# ## Where would large scores come from?
#
# From width. Let query and input hold d independent numbers with mean 0 and variance 1. Each product has mean 0
# and variance 1, too. The dot product adds up d of them, and **variances of independent numbers add up**:
#
# mean 0, variance d, standard deviation √d.
#
# **Predict:** how wide do the vectors have to be for scores with a standard deviation of about 16?

# %%
generator = torch.Generator().manual_seed(2)
widths = [1, 4, 16, 64, 256, 1024]
means, stds = [], []
for d in widths:
    q, k = torch.randn(2, 10_000, d, generator=generator)
    dots = (q * k).sum(-1)  # (10000,)
    means.append(dots.mean().item())
    stds.append(dots.std().item())

# %%
the_std_is_root_d = all(abs(std / d**0.5 - 1) < 0.05 for std, d in zip(stds, widths, strict=True))
the_mean_is_zero = all(abs(mean) < 0.05 * d**0.5 for mean, d in zip(means, widths, strict=True))
assert the_std_is_root_d
assert the_mean_is_zero
figure, axis = plt.subplots(figsize=(5, 3.2))
axis.loglog(widths, stds, "o", label="measured, 10,000 pairs")
axis.loglog(widths, [d**0.5 for d in widths], "--", label="√d")
axis.set(xlabel="width d", ylabel="standard deviation of q · k")
axis.legend()
plots.show(figure, "The measured standard deviation of the dot product lies on the line of the square root of d, "
                   "from 1 at d = 1 to 32 at d = 1024.")

# %% [markdown] name="version-2"
# ## Version 2
#
# The cure writes itself: divide by what has grown.
#
# | | version 1 | version 2 |
# |---|---|---|
# | **inputs** | query (D,), inputs (N, D) | query (D,), inputs (N, D) |
# | **similarity** | inputs · query | **inputs · query / √D** |
# | **outputs** | scores (N,), weights (N,), mixture (D,) | scores (N,), weights (N,), mixture (D,) |
#
# This is *scaled dot-product attention*, section 3.2.1 of the paper, for a single query.

# %% [markdown]
# ### Exercise 2: `scaled_dot_product_attention_single`
#
# ★☆☆ · 5 minutes · about 3 lines
#
# Try it wrong on purpose, too: divide by D, or divide after the softmax, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# Which axis of the query tells you D? Would your line still be right for vectors of another width?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# Your answer to exercise 1, with one more operation between step 1 and step 2.
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import scaled_dot_product_attention_single

# %%
attention_v2 = check(scaled_dot_product_attention_single).verified

# %% [markdown]
# Back to the table. D is 4, so the scores are halved. **Predict:** does soup gain or lose?

# %%
sharp = torch.softmax(inputs @ query, 0)
gentle = torch.softmax(inputs @ query / 2, 0)
soup_gains = (gentle[1] > 2 * sharp[1]).item()
yours_mixes_with_the_gentle_weights = torch.allclose(attention_v2(query, inputs), gentle @ inputs)
assert soup_gains
assert yours_mixes_with_the_gentle_weights
print("version 1:", {thing: round(w, 2) for thing, w in zip(things, sharp.tolist(), strict=True)})
print("version 2:", {thing: round(w, 2) for thing, w in zip(things, gentle.tolist(), strict=True)})

# %% [markdown]
# ## Does it hold at every width?
#
# Eight random inputs, one random query, a thousand times over, for growing width. How much slope is left in the
# softmax, with the scale and without?

# %%
generator = torch.Generator().manual_seed(3)
without_scale, with_scale = [], []
for d in widths:
    q, x = torch.randn(1000, d, 1, generator=generator), torch.randn(1000, 8, d, generator=generator)
    raw = (x @ q)[..., 0]  # (1000, 8)
    without_scale.append(typical_slope(raw))
    with_scale.append(typical_slope(raw / d**0.5))

# %%
scaled_slopes_do_not_depend_on_width = min(with_scale[1:]) > 0.3
unscaled_slopes_vanish_with_width = without_scale[-1] < 1e-4
assert scaled_slopes_do_not_depend_on_width
assert unscaled_slopes_vanish_with_width
figure, axis = plt.subplots(figsize=(5, 3.2))
axis.semilogx(widths, with_scale, "o-", label="version 2: divided by √d")
axis.semilogx(widths, without_scale, "s--", label="version 1: as it is")
axis.set(xlabel="width d", ylabel="norm of the Jacobian", ylim=(0, 0.6))
axis.legend()
plots.show(figure, "Norm of the softmax Jacobian over width. Divided by the square root of d it stays near 0.37; "
                   "without, it falls from 0.4 to zero between d = 4 and d = 1024.")

# %% [markdown]
# ## Five functions, and no names
#
# Somebody hands you five functions and says: all of them compute version 2. You cannot read them, but you can call
# them. **Predict:** is one question enough to find out who is right?

# %%
from course_lib.checks import suspects

lined_up = suspects("is_version_2")
for suspect in lined_up:
    print(suspect, [round(number, 2) for number in suspect(query, inputs).tolist()])
agree = [torch.allclose(suspect(query, inputs), attention_v2(query, inputs)) for suspect in lined_up]
four_of_the_five_agree = sum(agree) == 4
assert four_of_the_five_agree

# %% [markdown]
# The query is the one of the soup, and four of the five agree. Does that make them right? There were 4 channels, and 4
# inputs. Ask them something else, 3 channels and 5 inputs. **An example decides nothing where a
# mistake happens to give the same number.**
#
# ### Exercise 3: `is_version_2`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Turn it round: now *you* write the check. Your function gets an implementation, calls it, and returns True or False.
# It is tried on the five and on some that have no letter here. It should let no wrong one through, and accuse no right
# one.
#
# <details><summary>Hint 1: a question</summary>
#
# Which mistakes did the card tell you about in this lesson? For each of them, is there a width, a number of inputs or
# a query for which it gives the right result?
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

# %%
verdicts = {str(suspect): is_right(suspect) for suspect in lined_up}
two_of_five_are_right = sum(verdicts.values()) == 2
your_own_version_2_passes = is_right(attention_v2)
assert two_of_five_are_right
assert your_own_version_2_passes
verdicts

# %% [markdown] name="training-with-and-without"
# ## What training makes of it
#
# Slopes are a means. What counts is whether a network learns, so we train one, with and without the scale.
#
# The task: eight inputs, 256 wide. The query is one of them, turned in space by a fixed rotation the network does not
# know. It has to find the way back, a matrix W, so that attention returns the right input.

# %%
def train(scale, learning_rate, seed, D=256, N=8, batch=32, steps=100):
    """Train W by plain gradient descent; return the mean error of the last ten steps."""
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(D, D, generator=generator))[0]
    model = torch.nn.ParameterList([torch.randn(D, D, generator=generator) / D**0.5])  # W alone

    def batches():
        for _ in range(steps):
            x = torch.randn(batch, N, D, generator=generator)
            yield x, x[torch.arange(batch), torch.randint(N, (batch,), generator=generator)]  # target (batch, D)

    def error(model, x, target):
        scores = x @ (target @ rotation.T @ model[0])[..., None] / scale  # (batch, N, 1)
        out = (torch.softmax(scores, 1) * x).sum(1)  # (batch, D)
        return ((out - target) ** 2).mean()

    errors = fit(model, error, batches(), torch.optim.SGD(model.parameters(), lr=learning_rate))
    return errors[-10:].mean().item()


# %% [markdown]
# One learning rate would prove little: perhaps it just suits one of the two. So each gets six, and three seeds for
# each of those. **Predict:** does the plain version not learn at all?

# %%
rates = [0.3, 1, 3, 10, 30, 100]


def median_errors(scale):
    return [sorted(train(scale, rate, seed) for seed in range(3))[1] for rate in rates]


plain, scaled_by_root_d = median_errors(1.0), median_errors(256**0.5)

# %%
figure, axis = plt.subplots(figsize=(5, 3.2))
axis.loglog(rates, scaled_by_root_d, "o-", label="version 2: divided by √d")
axis.loglog(rates, plain, "s--", label="version 1: as it is")
axis.set(xlabel="learning rate", ylabel="error after 100 steps")
axis.legend()
plots.show(figure, "Error after 100 steps over six learning rates from 0.3 to 100. With the scale it falls below 0.01 "
                   "from learning rate 1 on. Without, it stays above 0.01, is lowest near 3 and passes 0.3 at 100.")

# %%
both_learn_something = min(plain) < 0.2
the_best_with_scale_beats_the_best_without = min(scaled_by_root_d) < min(plain) / 3
with_scale_any_rate_from_1_on_will_do = max(scaled_by_root_d[1:]) < 0.015
without_scale_large_rates_fail = plain[-1] > 0.3
assert both_learn_something
assert the_best_with_scale_beats_the_best_without
assert with_scale_any_rate_from_1_on_will_do
assert without_scale_large_rates_fail
the_best_with_scale_beats_the_best_without, with_scale_any_rate_from_1_on_will_do

# %% [markdown]
# The plain version *does* learn, and it is worth saying so: "it cannot train" would be too strong. But its best is
# several times worse than the best with the scale, and it has a narrow range of learning rates in which it works.
# Division by √d makes the start gentle at **every** width, so nobody has to look for that range.

# %% [markdown] name="not-for-stability"
# ## A second claim to test
#
# *"√d is there for numerical stability."*
#
# **Predict:** write softmax as `exp(s) / exp(s).sum()` and feed it scores of 1,000 and 999, as they are and divided
# by √16 = 4. Which of the two is a number?

# %%
large = torch.tensor([1000.0, 999.0])
naive = [torch.exp(s) / torch.exp(s).sum() for s in (large, large / 4)]
stable = torch.exp(large - large.max()) / torch.exp(large - large.max()).sum()
the_scale_does_not_save_it = all(n.isnan().all() for n in naive)
subtracting_the_largest_does = torch.allclose(stable, torch.softmax(large, 0)) and not stable.isnan().any()
assert the_scale_does_not_save_it
assert subtracting_the_largest_does
print("naive:", naive[0].tolist(), " scaled:", naive[1].tolist(), " largest subtracted:",
      [round(w, 3) for w in stable.tolist()])

# %% [markdown]
# **Verdict: false.** What keeps the exponential from overflowing is subtracting the largest score, which changes no
# weight; `torch.softmax` does it for you. The √d is about **variance**: it keeps the softmax where it has slopes.

# %% [markdown]
# ## Summary
#
# - Version 1 scores with a dot product. Nothing to train, d times less memory, one width for query and inputs.
# - A dot product of d independent numbers of variance 1 has standard deviation √d.
# - A softmax with widely spread scores is a spike, and the slopes of a spike are zero: the gradient vanishes.
# - Version 2 divides by √d, so the spread is about 1 at every width.
# - It is not a matter of overflow, and softmax with cross-entropy does not have the problem.
#
# **Think about it.** The argument assumes that query and inputs are independent. After training they are not: the
# network *wants* some scores to be large. Does the scale keep a trained network from making a spike? Should it?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2.1; its footnote 4 gives the
# variance argument in two lines.
#
# **Next.** One query at a time is slow, and the inputs play two parts at once: they are compared and they are mixed.
# Lesson 05 turns many queries into one matrix, and then pulls the two parts asunder.
