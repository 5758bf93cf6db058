# %% [markdown]
# # 08 · The connecting wires: skip connection, layer norm, feed-forward
#
# *130 minutes: reading 55, predicting 30, writing 45 · needs lesson 07 · three exercises ·
# two sittings of 65 and 65 minutes*
#
# **At the end you can**
#
# - measure what a deep stack of attention loses, and what a skip connection saves;
# - write layer norm from nothing, and tell it from batch norm by one experiment;
# - write the feed-forward network, and say why its hidden layer is wide;
# - join all pieces to a block, put the norm in either place, and open a trained stream.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, intervene, mine, predict, shipped
from course_lib.display import plots
from course_lib.display.drawings import wires as draw

torch.set_num_threads(1)

# %% [markdown]
# ## What broke: attention upon attention
#
# Version 6 is complete. Lesson 02 saw what untrained mixing makes of words when it is done
# again and again. That attention had no weights. Does version 6 do the same?
#
# Take five words, each a random vector, and six layers, each with its own random weights.
# Query, key and value are the same words.

# %%
MultiHeadAttention = mine("MultiHeadAttention")  # your own, from lesson 06
D = 32
words = "Jane visits Africa in September".split()
torch.manual_seed(0)
x = torch.randn(1, 5, D)  # (B, T, D)
six = [MultiHeadAttention(D, 4) for _ in range(6)]

# %% [markdown]
# Two helpers. The first makes attention a function of one argument. The second hands the
# words from layer to layer, and keeps all states. How a layer is *wired* to the next is what
# this lesson is about. The first wiring is the plainest.

# %%
def asks_itself(layer, mask=None):
    return lambda x: layer(x, x, x, mask)


def plain(x, sublayer):
    return sublayer(x)


def through(x, layers, wire, mask=None):
    """The words before the first layer, and after each."""
    states = [x]
    for layer in layers:
        states.append(wire(states[-1], asks_itself(layer, mask)))
    return states


# %% [markdown]
# How alike are two words? Their **cosine similarity** tells (lesson 02): the cosine of the
# angle between their vectors. We take the mean over all pairs of two different words.

# %%
def likeness(x):
    """The mean cosine over all pairs of different positions: 1 where all are alike."""
    unit = F.normalize(x[0].detach(), dim=-1)  # (T, D)
    return (unit @ unit.T)[~torch.eye(len(unit), dtype=torch.bool)].mean().item()


print("before the first layer:", round(likeness(x), 2))

# %% tags=["predict"]
predict(
    "After six plain layers of attention, the likeness of the words is …",
    {
        "above 0.99": (
            True,
            "Each layer mixes mixtures. Nobody can tell Jane from September any more.",
        ),
        "near 0, as at the start": "Random weights turn the words. And what does "
        "mixing do to their differences?",
        "near 0.5": "That may be so after one layer. There are six.",
        "below 0": "Can five words all point away from each other?",
    },
    concept="C074",
)

# %%
alike = [likeness(state) for state in through(x, six, plain)]
[round(a, 3) for a in alike]

# %% [markdown]
# A seventh layer could not tell them apart either, even with the best weights. That words
# become copies is called **rank collapse**. Dong and colleagues proved it for stacks of
# attention alone, with bounded weights ([arXiv:2103.03404](https://arxiv.org/abs/2103.03404)).
#
# Is it the mixing? There is a second suspect: each layer's **bias** adds the same vector to
# all words. With a mask by which each word sees only itself there is no mixing. We measure
# with both, with one, and with neither, five random stacks each. And once more with weights
# $\sqrt{3}$ times as large (why $\sqrt{3}$, you see below).

# %%
only_itself = torch.eye(5, dtype=torch.bool)


def after_six(mask, biases, seed, scale):
    """The likeness of five random words after six random layers."""
    torch.manual_seed(seed)
    start, layers = torch.randn(1, 5, D), [MultiHeadAttention(D, 4) for _ in range(6)]
    with torch.no_grad():
        for values in (p for layer in layers for p in layer.parameters()):
            values *= scale if values.dim() > 1 else biases
    return likeness(through(start, layers, plain, mask)[-1])


# %%
suspects = {"mixing and biases": (None, 1), "mixing alone": (None, 0),
            "biases alone": (only_itself, 1), "neither": (only_itself, 0)}
small, large = ({name: [after_six(*suspect, seed, scale) for seed in range(5)]
                 for name, suspect in suspects.items()} for scale in (1, 3**0.5))
for name in suspects:
    print(f"{name:18}", *(f"{min(five):5.2f} to {max(five):.2f}"
                          for five in (small[name], large[name])))

# %% [markdown]
# With PyTorch's first weights (left) either one is enough. With larger weights (right)
# biases alone no longer do it; mixing still does. So what could be done?

# %% tags=["claim"]
# The proof
claim("six plain layers make strangers into copies",
      alike[6] > 0.999 and alike[0] < 0.25)
claim("mixing alone does it at both scales, biases alone at one, without both nothing",
      min(small["mixing alone"] + large["mixing alone"] + small["biases alone"]) > 0.99
      and max(large["biases alone"] + small["neither"]) < 0.6)

# %% [markdown] name="skip-connection"
# ## The skip connection
#
# Let each layer *add* what it says to what it was given.
#
# ### Yours: one plus sign
#
# `plain(x, sublayer)` hands on what the sublayer says. Write the wire that adds it
# to x: `lambda x, sublayer: …`.

# %% tags=["yours"]
skip = lambda x, sublayer: x + sublayer(x)  # yours: a function of x and sublayer
intervene(
    "a sublayer that says 3 of a word that is 2 makes it 5, and is asked once",
    skip,
    run=lambda wire: wire(torch.tensor(2.0), lambda x: x + 1).item(),
    holds=lambda result: result == 5,
    among=callable,
    shows="the word becomes {result:g}",
    otherwise="What went in is still there, and what was said is added.",
)


# %%
def skip(x, sublayer):
    return x + sublayer(x)


states = through(x, six, skip)
said = [layer(state, state, state)
        for layer, state in zip(six, states[:6], strict=True)]

# %% tags=["predict"]
predict(
    "The state after the sixth layer, minus x. What is it?",
    {
        "the sum of what all six layers said": (
            True,
            "Each layer added its own. So layer 6 reads Jane as she came in, plus all "
            "that layers 1 to 5 said.",
        ),
        "what the sixth layer said": "That is the state after the sixth minus the one "
        "after the fifth.",
        "zero: x is carried through": "It is carried, and something is added to it.",
        "six times x, and what was said": "Each layer adds to the state. x is in once.",
    },
    concept="C074",
)

# %%
print("difference:", round((states[6] - x - sum(said)).abs().max().item(), 4))
print("likeness:  ", [round(likeness(state), 2) for state in states])

# %% [markdown]
# What came in stays in the sum, unless a layer takes it away. And after six layers the words
# are still far from being copies.
#
# He and colleagues brought the **skip connection** to very deep networks for images in 2015
# ([arXiv:1512.03385](https://arxiv.org/abs/1512.03385)). It is also called a **residual
# connection**: f learns the *residual*, what is left to be done. What runs along, and to
# which each layer adds, is the **residual stream**. Here it is drawn thick. You will meet the
# two on the right below.

# %%
plots.show(draw.streams(), "streams")

# %% tags=["claim"]
# The proof
claim("with skips the output is x plus all that was said",
      torch.allclose(states[6], x + sum(said), atol=1e-5))
claim("with skips the words are no copies after six layers", likeness(states[6]) < 0.8)

# %% [markdown] name="gradients"
# ## Does the gradient come back?
#
# The loss is computed at the top, and its gradient is passed down layer by layer. In place
# of a loss we take one number: the dot product of Jane's output and a random vector of
# length 1. How long is its gradient at the five inputs?
#
# That depends on the first weights. A vector that passes PyTorch's `nn.Linear` becomes about
# $\sqrt{3}$ times shorter (without the bias). With weights $\sqrt{3}$ times as large, known
# as "Xavier" (Glorot and Bengio, [2010](https://proceedings.mlr.press/v9/glorot10a.html)), a
# square matrix keeps the length. In each layer a word passes two matrices: $W_v$ and $W_o$.

# %%
def new_layer(scale):
    """Attention whose first weights are PyTorch's, times a scale."""
    layer = MultiHeadAttention(D, 4)
    with torch.no_grad():
        for weight in (p for p in layer.parameters() if p.dim() > 1):
            weight *= scale
    return layer


# %%
DEPTHS = [1, 2, 4, 8, 16, 24]


def arriving(wire, scale, mask=None):
    """The gradient's norm at all inputs, for each depth and three stacks: (6, 3)."""
    lengths = torch.empty(6, 3)
    for seed in range(3):
        torch.manual_seed(seed)
        layers = [new_layer(scale) for _ in range(24)]
        direction = F.normalize(torch.randn(D), dim=0)
        start = x.clone().requires_grad_()
        states = through(start, layers, wire, mask)
        for i, depth in enumerate(DEPTHS):
            jane = states[depth][0, 0] @ direction
            (slope,) = torch.autograd.grad(jane, start, retain_graph=True)
            lengths[i, seed] = slope.norm()
    return lengths


# %% tags=["predict"]
predict(
    "24 plain layers with PyTorch's weights, once with attention, and once with a mask "
    "by which each word sees only itself. The gradient fades …",
    {
        "in both": (
            True,
            "A third is left in each layer, with attention or without. Mixing has no "
            "part in it.",
        ),
        "only with attention": "Which numbers multiply the gradient where nothing is "
        "mixed?",
        "only without attention": "Attention takes means. Does that make slopes grow?",
        "in neither": "Two matrices per layer, and each makes it 1.7 times shorter.",
    },
    concept="C075",
)

# %% tags=["predict"]
predict(
    "And with skips, and weights √3 times as large? Over 24 layers the gradient …",
    {
        "grows more than a hundredfold": (
            True,
            "The slope of a layer is 1 plus that of f. Where f is as large as x, the "
            "product grows with each layer.",
        ),
        "stays near 1, as skips let it through": "They let it through, and each layer "
        "adds to it. How much, with these weights?",
        "fades, but more slowly": "The slope of x + f(x) has a 1 in it, for ever.",
    },
    concept="C075",
)

# %%
gradient = {"skip, weights × √3": arriving(skip, 3**0.5), "skip": arriving(skip, 1),
            "plain, weights × √3": arriving(plain, 3**0.5), "plain": arriving(plain, 1),
            "plain, no mixing": arriving(plain, 1, only_itself)}
plots.show(draw.gradients(DEPTHS, gradient), "gradients")

# %% [markdown]
# With PyTorch's weights the plain gradient shrinks to a third in each layer,
# $(1/\sqrt{3})^2$: a vanishing gradient (lesson 04). With weights that keep the length it
# does not fade. A plain stack needs a scale that is just right.
#
# With a skip and small weights the product of all slopes stays near 1. With larger weights it
# is an **exploding gradient**. So a skip protects from layers that say too little, and not
# from those that say too much.

# %% tags=["claim"]
# The proof
last = {name: lengths[-1] for name, lengths in gradient.items()}
claim("plain, it fades at PyTorch's scale, with mixing and without, and not at √3",
      max(last["plain"].max(), last["plain, no mixing"].max()) < 1e-9
      and last["plain, weights × √3"].min() > 1e-4)
claim("skips keep it near 1 with small weights, and let it explode with larger ones",
      0.5 < gradient["skip"].min() < gradient["skip"].max() < 6
      and last["skip, weights × √3"].min() > 300)

# %% [markdown] name="residual-position"
# ## A claim to test: "residuals carry position"
#
# *"The residual connections carry the position of each word up through the stack."* Take one
# word, five times. Each place adds a random vector of its own (lesson 09 finds better ones).
# Now only the place tells the five apart.
#
# After six random layers a **reader** has to say the place. It is a matrix, fitted by least
# squares on 1,000 such sentences, each made of another random word, and tested on 1,000
# more. Chance is 0.2.

# %%
def places_found(wire, scale, mask, seed):
    """The share of places that a matrix finds after six random layers."""
    torch.manual_seed(seed)
    layers = [new_layer(scale) for _ in range(6)]
    start = torch.randn(2000, 1, D) + torch.randn(1, 5, D)  # a word five times
    with torch.no_grad():
        out = through(start, layers, wire, mask)[-1].double()
    centred = (out - out.mean((0, 1))) / out.std((0, 1))  # (2000, 5, D)
    place = torch.eye(5).double().repeat(1000, 1)  # (5000, 5)
    known = centred[:1000].flatten(0, 1)  # (5000, D)
    reader = torch.linalg.lstsq(known, place, driver="gelsd").solution
    right = (centred[1000:] @ reader).argmax(-1) == torch.arange(5)
    return right.float().mean().item()


# %% tags=["predict"]
predict(
    "Plain layers lose the place, and layers with skips keep it. Plain layers in which "
    "each word sees only itself …",
    {
        "keep it, too": (
            True,
            "What loses the place is the mixing. A skip repairs that, and where "
            "nothing is mixed nothing needs repair.",
        ),
        "lose it: there is no skip": "Each place went in as a vector of its own. Who "
        "should mix it with another?",
        "lose it: nobody sees the others": "Does a word need them, to know its place?",
    },
    concept="C076",
)

# %% tags=["nbval-ignore-output"]
settings = {"plain": (plain, 1, None), "plain, weights × √3": (plain, 3**0.5, None),
            "plain, no mixing": (plain, 1, only_itself),
            "skip": (skip, 1, None), "skip, weights × √3": (skip, 3**0.5, None)}
found = {name: [places_found(*setting, seed) for seed in range(3)]
         for name, setting in settings.items()}
for name, three in found.items():
    print(f"{name:20}", [round(share, 2) for share in three])

# %% [markdown]
# **Verdict: true, and less special than it sounds.** A skip carries position, as it carries
# all that came in. What never came in, it cannot carry.

# %% tags=["claim"]
# The proof
claim("without skips the reader guesses, with skips it finds the place",
      max(found["plain"] + found["plain, weights × √3"]) < 0.25
      and min(found["skip"] + found["skip, weights × √3"]) > 0.9)
claim("where nothing is mixed no skip is needed", min(found["plain, no mixing"]) > 0.9)

# %% [markdown] name="depth-sweep"
# ## What training makes of it
#
# Random stacks are only the start of training. Perhaps training repairs them? We need a task
# in which the order of the words does not matter: *does my word occur twice in this
# sentence?* To answer, a word has to look at the others **and** still know itself.

# %%
from course_lib.experiments import wires

vocabulary = "Jane visits Africa in September Paris loves sleeps".split()
ids, twin = wires.sentences(1000, 99)  # (B, T) each
never = 1 - twin.float().mean().item()  # right answers of one who always says no
print([f"{vocabulary[i]}: {bool(t)}" for i, t in zip(ids[0], twin[0], strict=True)])
print("always saying no is right:", round(never, 2))

# %% [markdown]
# Eight layers of attention are trained for a hundred steps, at five scales of their first
# weights. We stored that, each with the best of three learning rates. Scale 1 is PyTorch's.

# %%
from course_lib.experiments.stored import compare, stored

scales = [0.25, 0.5, 1, 3**0.5, 3]
measured = {}
for row in stored("08-scales"):  # six minutes of training, done once
    at = (row["wire"], row["scale"], row["rate"], row["steps"])
    measured |= {at: [*measured.get(at, []), row["right"]]}


def best_rate(wire):
    """For each scale, the right answers of three seeds, at the rate that suits it."""
    rates = (0.001, 0.002, 0.005)
    return [max((sorted(measured[wire, scale, rate, 100]) for rate in rates),
                key=lambda three: three[1]) for scale in scales]


# %% tags=["predict"]
predict(
    "In a hundred steps, where do plain layers learn it? And layers with skips?",
    {
        "plain hardly anywhere; skips if small": (
            True,
            "Plain layers stay below 0.7 everywhere. Skips learn up to scale 1, and "
            "lose it as the weights get larger.",
        ),
        "plain at scale √3; skips everywhere": "There the plain gradient arrives. And "
        "what did skips do with large weights?",
        "neither: a hundred steps are few": "Few, and enough for some.",
        "both, at every scale": "Would training find that seven layers need only hand "
        "on the words?",
    },
    concept="C075",
)

# %%
by_scale = {wire: best_rate(wire) for wire in ("plain", "skip")}
plots.show(draw.over_scales(scales, by_scale, never), "scales")

# %%
def after_1000(wire, scale):
    """The right answers of all seeds and rates that were stored."""
    return sorted(share for rate in (0.001, 0.002)
                  for share in measured.get((wire, scale, rate, 1000), []))


longer = {"plain, 1": after_1000("plain", 1), "plain, √3": after_1000("plain", 3**0.5),
          "skip, 1": after_1000("skip", 1), "skip, √3": after_1000("skip", 3**0.5)}
longer

# %% [markdown]
# After ten times the steps plain layers have still not passed 0.72. A plain layer that has to
# hand on a word must learn the identity; with a skip it only has to say nothing. He and
# colleagues saw the same with images: a deeper plain network had a larger error on the very
# images it was trained on (section 4.1).
#
# ### Yours: too much of a good thing
#
# Skips are no cure for everything. Find a scale with which eight layers *with skips* learn
# little in a hundred steps.

# %% tags=["yours", "nbval-ignore-output"]
my_scale = 3.0  # yours: a number from 0.1 to 4
intervene(
    "eight layers with skips stay below 0.75",
    my_scale,
    run=lambda scale: wires.train("skip", scale, 0.002, 0, 100)["right"],
    holds=lambda right: right < 0.75,
    among=lambda scale: 0.1 <= scale <= 4,
    shows="with a scale of {choice:g} {result:.2f} are right",
    otherwise="Look at the picture: on which side do skips fail?",
)

# %% tags=["claim"]
# The proof
claim("plain layers stay below 0.75 at every scale, after 100 steps and after 1,000",
      max(map(max, by_scale["plain"])) < 0.7
      and max(longer["plain, 1"] + longer["plain, √3"]) < 0.75
      and min(longer["skip, √3"]) > 0.8)
claim("layers with skips learn at small scales, and little at large ones in 100 steps",
      min(map(min, by_scale["skip"][:3])) > 0.8
      and max(map(max, by_scale["skip"][3:])) < 0.75)
claim("both kinds, trained again, come out as they are stored",
      not compare("08-scales"))

# %% [markdown] name="sum-grows"
# ## What broke now: the sum grows
#
# Skips add and add. Let a layer say as much as it is given: the same variance, and
# independent of it.

# %% tags=["predict"]
predict(
    "By which factor does the standard deviation of the stream grow in 24 such layers?",
    {
        "4,096": (True, "The variance doubles in each layer: 2 to the 24. Its root is "
                  "2 to the 12."),
        "24": "So it is if each layer adds as much as the *first* was given.",
        "about 5": "That is the root of 24: as if each said as much as the first was "
        "given.",
        "1: they are independent": "They do not cancel. Their variances add.",
    },
    concept="C077",
)

# %%
torch.manual_seed(4)
stream = torch.randn(1000, 64)
for layer in range(1, 25):
    stream = stream + stream @ torch.randn(64, 64) / 8  # 64 products, divided by √64
    if layer % 8 == 0:
        print(f"{layer:2} layers: {2 ** (layer // 2):4} on paper, {stream.std():4.0f}")

# %% [markdown]
# Large numbers make sharp softmaxes, and sharp softmaxes have no slope (lesson 04). What
# bounds the sum?

# %% [markdown] name="layer-norm"
# ## Layer norm: back to the same size, every time
#
# A standard step of statistics: subtract the mean, divide by the standard deviation. Each
# word does this with its own numbers. **One word by hand.** Jane is (1, 1, 5, 5).
#
# 1. $\mu$, the mean: 3
# 2. the deviations: −2, −2, 2, 2
# 3. $\sigma^2$, the mean of their squares: 4, so $\sigma = 2$
# 4. $(x - \mu) / \sigma$: −1, −1, 1, 1
#
# Two learned vectors come last, a **gain** $g$ and a **bias** $b$, one number per feature
# ($\gamma$ and $\beta$ in other books; `gamma` and `beta` here):
#
# $$
# \mathrm{LN}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot g + b
# $$
#
# This is **layer norm**, by Ba, Kiros and Hinton
# ([arXiv:1607.06450](https://arxiv.org/abs/1607.06450)).

# %%
sentence = torch.tensor([[1.0, 1, 5, 5],  # Jane
                         [0, 4, 0, 4],  # visits
                         [3, 3, 7, 3],  # Africa
                         [2, 2, 2, 2],  # in
                         [0, 0, 8, 0]])  # September
jane = sentence[0]  # (D,)

# %% tags=["predict"]
predict(
    "The small ε is 0.00001. What would “in”, (2, 2, 2, 2), give without it?",
    {
        "not a number": (True, "Its deviations are 0 and so is σ: 0 / 0."),
        "zeros": "With ε it does: 0 / √ε. And without?",
        "ones": "What is left of a 2, after the mean is taken off?",
        "infinity": "So it is for a number other than 0, divided by 0.",
    },
    concept="C077",
)

# %%
by_hand = (sentence - sentence.mean(1, keepdim=True))
by_hand = by_hand / (by_hand**2).mean(1, keepdim=True) ** 0.5
{word: [round(number, 2) for number in row]
 for word, row in zip(words, by_hand.tolist(), strict=True)}

# %% [markdown]
# ### Exercise 1: `layer_norm`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write it from scratch, for any number of axes before the last. Try it wrong on purpose, too:
# take `x.var(-1, keepdim=True)` as it is, or leave out ε, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# x is (B, T, D). How many means are there, and which shape must they have so that they can be
# taken off x?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the mean of each position, its axis kept (`keepdim=True`)
# 2. the deviations from it
# 3. the mean of their squares, its axis kept, too
# 4. divide, stretch, shift
#
# </details>

# %% tags=["exercise"]
from course_lib.layers import layer_norm

# %%
norm = check(layer_norm).verified

# %% [markdown]
# From here on `norm` is your own function as soon as the card says *right*. Here is the whole
# sentence, with gain 1 and bias 0.

# %% tags=["predict"]
predict(
    "Two of the five words become the same. Which two?",
    {
        "Africa and September": (
            True,
            "Both have the third feature above the others. The norm forgets the level "
            "and the scale of a word, and keeps its pattern.",
        ),
        "Jane and Africa": "Which features of Jane are above her mean? And of Africa?",
        "visits and in": "“in” has no feature above its mean.",
        "Jane and visits": "Both are −1 and 1. In the same places?",
    },
    concept="C077",
)

# %%
one, zero = torch.ones(4), torch.zeros(4)
both = {"before": sentence, "after": norm(sentence, one, zero)}
plots.show(plots.panels(both, words, ["1", "2", "3", "4"],
                        labels=("feature", "word")), "before-and-after")

# %% [markdown]
# ### Yours: undo it
#
# Which gain and which bias turn Jane back into (1, 1, 5, 5)?

# %% tags=["yours"]
undo = (2.0, 3.0)  # yours: one gain and one bias, for all four features
intervene(
    "with this gain and bias Jane is (1, 1, 5, 5) again",
    undo,
    run=lambda pair: [round(v, 2) for v in
                      norm(jane, pair[0] * one, pair[1] * one).tolist()],
    holds=lambda result: result == [1, 1, 5, 5],
    among=lambda pair: len(pair) == 2,
    shows="Jane is {result}",
    otherwise="After the norm she is −1, −1, 1, 1. What was taken off, and by what was "
    "she divided?",
)

# %% [markdown]
# Gain σ and bias μ undo the norm, for Jane. But the same gain and bias serve all words: they
# set how much each *feature* counts, not how large each word is.

# %% tags=["claim"]
# The proof
claim("your norm is torch's", torch.allclose(
    norm(x, torch.full((D,), 2.0), torch.ones(D)),
    F.layer_norm(x, (D,), torch.full((D,), 2.0), torch.ones(D)), atol=1e-5))
claim("Africa and September become one, and ten times Jane plus 3 is Jane",
      torch.allclose(*norm(sentence, one, zero)[[2, 4]], atol=1e-5)
      and torch.allclose(norm(10 * jane + 3, one, zero), norm(jane, one, zero),
                         atol=1e-4))
claim("when each layer says as much as it is given, the variance doubles",
      0.7 < stream.std() / 2**12 < 1.4)

# %% [markdown] name="row-wise"
# ## How many means?

# %% tags=["predict"]
predict(
    "A batch (B, T, D) = (2, 5, 4). How many means does layer norm take, and how many "
    "numbers does it learn?",
    {
        "10 means, 8 numbers": (
            True,
            "Each of the ten words uses its own mean. All share gains and biases.",
        ),
        "4 means, 8 numbers": "That is one mean per feature, over all the words.",
        "10 means, 80 numbers": "Then a sentence of 6 words would have no gains.",
        "2 means, 8 numbers": "One for each sentence? Then Jane would change with her "
        "sentence.",
    },
    concept="C078",
)

# %%
gain, bias = torch.tensor([1.0, 2, 1, 0.5]), torch.tensor([0.0, 0, 1, 0])
together = norm(sentence, gain, bias)  # (T, D)
alone = torch.stack([norm(word, gain, bias) for word in sentence])  # word by word
print("Jane in her sentence:", [round(v, 2) for v in together[0].tolist()])
print("Jane alone:          ", [round(v, 2) for v in alone[0].tolist()])

# %% [markdown]
# Each word by itself, all with the same weights, **row by row**. Feed-forward below works
# like that, too.

# %% [markdown] name="batch-norm"
# ## A claim to test: "Add & Norm is like batch norm"
#
# **Batch norm** is older (Ioffe and Szegedy,
# [arXiv:1502.03167](https://arxiv.org/abs/1502.03167)). It, too, subtracts a mean and divides
# by a standard deviation. Only the **axis** differs: layer norm takes the mean over the D
# features of one word, batch norm takes it for one feature, over all B · T words.

# %%
def normalised(x, axes):
    """Mean 0 and variance 1 over these axes."""
    deviation = x - x.mean(axes, keepdim=True)
    return deviation / ((deviation**2).mean(axes, keepdim=True) + 1e-5) ** 0.5


# %% [markdown]
# ### Yours: the two axes
#
# `normalised(batch, axes)` can be either. Which axes of (B, T, D) make it layer norm, and
# which batch norm? Axes are counted from 0.

# %%
ann = torch.tensor([[4.0, 0, 1, 3], [0, 2, 6, 0], [1, 5, 5, 1],  # Ann reads books
                    [0, 3, 0, 1], [7, 0, 2, 3]])  # at home
batch = torch.stack([sentence, ann])  # (B, T, D) = (2, 5, 4)
by_torch = [F.layer_norm(batch, (4,)),
            F.batch_norm(batch.mT, None, None, training=True).mT]  # it wants (B, D, T)

# %% tags=["yours"]
axes = ((2,), (0, 1))  # yours: the axes of layer norm, then those of batch norm
intervene(
    "the first gives torch's layer norm, the second torch's batch norm",
    axes,
    run=lambda pair: [torch.allclose(normalised(batch, each), theirs, atol=1e-5)
                      for each, theirs in zip(pair, by_torch, strict=True)],
    holds=all,
    among=lambda pair: len(pair) == 2 and all(set(each) <= {0, 1, 2} for each in pair),
    shows="layer norm: {result[0]}, batch norm: {result[1]}",
    otherwise="Over which axes does each take its mean?",
)

# %% [markdown]
# **The neighbour test.** Sentence 0 is Jane's, sentence 1 is Ann's. We leave Jane's as it is,
# and multiply Ann's by ten.

# %% tags=["predict"]
predict(
    "What happens to Jane's sentence?",
    {
        "batch norm changes it, layer norm does not": (
            True,
            "The mean of batch norm goes over both sentences.",
        ),
        "both change it: both take off a mean": "Over which numbers does each take it?",
        "neither changes it: it was not touched": "And the mean that is taken off?",
        "layer norm changes it, batch norm does not": "Whose mean has Ann in it?",
    },
    concept="C079",
)

# %%
louder_ann = torch.stack([sentence, 10 * ann])
moved = {name: (normalised(louder_ann, axis) - normalised(batch, axis))[0].abs()
         for name, axis in (("layer norm", (2,)), ("batch norm", (0, 1)))}
plots.show(plots.panels(moved, words, ["1", "2", "3", "4"],
                        labels=("feature", "word of sentence 0")), "neighbour")

# %% [markdown]
# **Verdict: false.** With batch norm, what becomes of a sentence depends on who else is in
# the batch. "Add & norm" in the picture of the Transformer means layer norm.

# %% [markdown] name="batch-norm-drawbacks"
# ## Three prices of batch norm
#
# For images batch norm has served well: a batch holds thousands of pixels for each mean. Here
# it has three prices.
#
# **1. Training and test.** At test time there may be no batch. So batch norm keeps *running
# averages* of the means and variances that it saw in training, and uses those.

# %%
flat = batch.flatten(0, 1)  # (10, 4), ten words
modules = {"batch norm": nn.BatchNorm1d(4), "layer norm": nn.LayerNorm(4)}
apart = {name: (module.train()(flat) - module.eval()(flat)).abs().max().item()
         for name, module in modules.items()}
{name: round(largest, 2) for name, largest in apart.items()}  # train against eval

# %% [markdown]
# **2. Small batches.** The statistics are estimated from the batch. Put Jane into 300
# batches, each with other random words, and see how far her result varies.

# %%
generator = torch.Generator().manual_seed(5)
sizes = [2, 4, 8, 16, 32, 64, 128]


def spread(axis, size):
    """The standard deviation of Jane's result over 300 random batches."""
    others = 2.5 * torch.randn(300, size - 1, 4, generator=generator) + 2.5
    batches = torch.cat([jane.expand(300, 1, 4), others], dim=1)  # (300, size, D)
    return normalised(batches, axis)[:, 0].std(dim=0).mean().item()


# %% tags=["predict"]
predict(
    "How many times as many words must a batch have, so that Jane varies half as much?",
    {
        "about four times": (
            True,
            "The error of a mean falls with the root of the number.",
        ),
        "about twice": "So it would be if the error fell with the number. It falls "
        "with its root.",
        "it always varies as much": "A mean over more words is a better estimate.",
        "about 16 times": "That would be a quarter.",
    },
    concept="C080",
)

# %%
varies = {"batch norm": [spread(1, size) for size in sizes],
          "layer norm": [spread(2, size) for size in sizes]}
print("words:     ", sizes)
for name, values in varies.items():
    print(f"{name}:", [round(v, 2) for v in values])

# %% [markdown]
# And with a batch of one, as when words come one by one (*online*)? A lone word is its own
# mean, and nothing is left of it: PyTorch raises an error.
#
# **3. Sentences of many lengths.** In a recurrent network batch norm keeps a mean and a
# variance for *every time step* (a reason for layer norm: Ba and colleagues, section 3.1).

# %%
four = torch.randn(4, 5, 4, generator=generator)  # (B, T, D)
real = torch.arange(5) < torch.tensor([5, 4, 2, 2])[:, None]  # a padding mask
at_place = [four[real[:, t], t] for t in range(5)]  # the words that stand at each place
by_time_step = [normalised(here, 0) for here in at_place]

# %% tags=["predict"]
predict(
    "Four sentences have 5, 4, 2 and 2 words. What does batch norm make of place 5?",
    {
        "zeros": (
            True,
            "One word stands there. It is its own mean. And for a place 6 in a test "
            "there is no mean at all.",
        ),
        "what it makes of the others": "Over how many words is the mean of that place?",
        "numbers near 1 and −1": "So it would be with two words there.",
    },
    concept="C080",
)

# %%
[len(here) for here in at_place], by_time_step[4].tolist()

# %% [markdown]
# In short, layer norm does the same in training and in test, in any batch, at any place. A
# decoder that writes one word at a time (lesson 11) needs just that. These cells show how
# batch norm works; none shows that it makes a training worse.

# %% tags=["claim"]
# The proof
claim("layer norm treats each word by itself", torch.allclose(together, alone)
      and torch.allclose(norm(sentence.flip(0), gain, bias), together.flip(0)))
claim("layer norm does not hear the neighbour, batch norm does",
      moved["layer norm"].max() == 0 and moved["batch norm"].min() > 0.01)
claim("batch norm differs in training and test, and a lone word becomes nothing",
      apart["batch norm"] > 0.5 and apart["layer norm"] == 0
      and not by_time_step[4].any())
claim("four times as many words halve what batch norm varies by; layer norm is steady",
      max(varies["layer norm"]) < 1e-5
      and 1.6 < varies["batch norm"][2] / varies["batch norm"][4] < 2.4)

# %% [markdown]
# *A good place for a break. The second sitting adds what attention cannot do, and joins all
# pieces.*

# %% [markdown] name="a-word-alone"
# ## What is still missing: a word by itself
#
# Attention moves things between words. Can it also make something of what it has brought?
# Take a sentence of **one** word: it can only look at itself.
#
# A function f is linear, up to a constant, if f(a + b) + f(0) = f(a) + f(b) for all a and b.
# If not, it is **non-linear**.

# %% tags=["predict"]
predict(
    "Six layers of attention with skips, on one word. Do they pass that test?",
    {
        "yes: they are linear": (
            True,
            "With one word the softmax is always 1, and what is left is matrices.",
        ),
        "no: a softmax is non-linear": "It is. What does it give for a single score?",
        "no: six layers are deep": "A product of six matrices is one matrix.",
    },
    concept="C082",
)

# %%
a, b = torch.randn(2, 1, 1, D, generator=generator)  # two sentences of one word


def two_sides(f):
    """Both sides of the test: the same for a linear function, up to a constant."""
    return f(a + b) + f(0 * a), f(a) + f(b)


sides = two_sides(lambda word: through(word, six, skip)[-1])
[[round(v, 2) for v in side.flatten()[:6].tolist()] for side in sides]

# %% [markdown]
# Attention's softmax decides *where to look*. Nothing decides *what to make of it*.

# %% [markdown] name="feed-forward"
# ## The feed-forward network
#
# So each word gets a small network: out to a hidden layer, a switch, and back. Such a switch
# is called an **activation function**: a non-linear function that is applied to each number
# by itself. Here it is $\max(0, h)$, called **ReLU**: a positive number passes, a negative one
# becomes 0.
#
# $$
# \mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2
# $$
#
# ### Yours: bend a line
#
# One number in, two hidden, one out. With $W_1 = (1, -1)$ and $b_1 = (0, 0)$ the hidden
# numbers are max(0, x) and max(0, −x). Find weights for a V with its tip at x = 2, at
# height −1: the distance from 2, less 1.

# %%
line = torch.linspace(-2, 6, 81)[:, None]  # (81, 1)


def small_network(W_1, b_1, W_2, b_2):
    """The hidden numbers (81, 2), and the output (81,)."""
    W_1, b_1, W_2 = (torch.tensor(part).float() for part in ([W_1], b_1, W_2))
    hidden = (line @ W_1 + b_1).clamp(min=0)
    return hidden, hidden @ W_2 + b_2


def at(out, *places):
    """The output at some x, rounded."""
    return [round(out[10 * (place + 2)].item(), 2) for place in places]


# %% tags=["yours"]
V = ([1.0, -1.0], [-2.0, 2.0], [1.0, 1.0], -1.0)  # yours: W_1, b_1, W_2 and b_2
intervene(
    "at −1, 1, 2, 3 and 5 the output is 2, 0, −1, 0 and 2",
    V,
    run=lambda four: at(small_network(*four)[1], -1, 1, 2, 3, 5),
    holds=lambda heights: heights == [2, 0, -1, 0, 2],
    among=lambda four: [len(part) for part in four[:3]] == [2, 2, 2],
    shows="the output is {result}",
    otherwise="Where is x − 2 zero? And 2 − x? What do both add up to?",
)

# %%
hidden, out = small_network([1.0, -1.0], [-2.0, 2.0], [1.0, 1.0], -1.0)
plots.show(draw.bends(line, hidden, out), "bends")

# %% [markdown]
# No linear map can bend like that, and **one** hidden number cannot either: it is flat on one
# side of its switch.

# %% [markdown]
# ### Exercise 2: `FeedForward`
#
# ★☆☆ · 10 minutes · about 2 lines
#
# The layers stand ready in `__init__`; write `forward`. Dropout sets some hidden numbers to
# zero while training, and nothing otherwise; `self.dropout` knows when.
#
# <details><summary>Hint 1: a question</summary>
#
# `nn.Linear` works on the last axis and leaves all others alone. Do you need a loop over
# words?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the first layer: d_model to d_ff
# 2. the ReLU
# 3. dropout of hidden numbers
# 4. the second layer: back to d_model
#
# </details>

# %% tags=["exercise"]
from course_lib.layers import FeedForward

# %%
FFN = check(FeedForward).verified

# %% [markdown]
# `FFN` is your own class from here on. Does it pass the test that attention passed?

# %%
torch.manual_seed(6)
feed_forward = FFN(D, 4 * D)
bent_sides = two_sides(feed_forward)
[[round(v, 2) for v in side.flatten()[:6].tolist()] for side in bent_sides]

# %% [markdown] name="position-wise"
# ## Who notices?
#
# We change one word, *Africa*, and look whose result changes.

# %%
new_africa = x.clone()
new_africa[0, 2] = torch.randn(D, generator=generator)


def who_notices(layer):
    """The words whose result changes when Africa changes."""
    change = (layer(new_africa) - layer(x))[0].abs().amax(-1)  # (T,)
    return [word for word, c in zip(words, change.tolist(), strict=True) if c > 1e-5]


# %% tags=["predict"]
predict(
    "In attention, and in feed-forward, who notices that “Africa” has changed?",
    {
        "all five words, and Africa alone": (
            True,
            "Attention moves things between words. Feed-forward makes something new of "
            "each word, and moves nothing.",
        ),
        "all five words in both": "How would Jane's feed-forward get to see Africa?",
        "Africa alone in both": "Jane's mixture has some of Africa in it.",
        "Africa alone, and all five words": "Which of the two takes sums over words?",
    },
    concept="C084",
)

# %%
notice = {"attention": who_notices(asks_itself(six[0])),
          "feed-forward": who_notices(feed_forward)}
notice

# %% [markdown]
# One network, the same weights at every place, and each word alone in it: the paper calls it
# **position-wise**.

# %% tags=["claim"]
# The proof
claim("on one word attention is linear, and feed-forward is not",
      torch.allclose(*sides, atol=1e-4)
      and not torch.allclose(*bent_sides, atol=0.05))
claim("two hidden numbers make a V",
      torch.allclose(out, (line[:, 0] - 2).abs() - 1, atol=1e-5))
claim("in attention all notice, in feed-forward one word does",
      notice == {"attention": words, "feed-forward": ["Africa"]})

# %% [markdown] name="expand"
# ## Why so wide?
#
# In the paper the hidden layer is **four times** as wide as the word: 512, 2,048, 512. Why
# not 512 throughout?
#
# Every hidden number is one switch. A V such as |x| takes two of them. And a product, which
# says *both*: large where both are large?
#
# $$
# x y = \frac{(x + y)^2 - (x - y)^2}{4}
# $$
#
# It is a difference of two squares. A square is a curve, which switches can only follow in
# straight pieces: the more switches, the closer. So products need a wide layer. We stored
# trainings of networks with hidden layers 2 to 16 times as wide as the word. One task is the
# product of each of eight numbers with its neighbour, the other is |x| of each.

# %% tags=["predict"]
predict(
    "In 300 steps products gain little beyond four times as wide. And in 3,000?",
    {
        "wider is still better": (
            True,
            "The error falls to about a third with each doubling.",
        ),
        "again, four is enough": "For an exact square no finite number of switches is.",
        "wider is worse: they overfit": "Each batch here is new. There is nothing to "
        "learn by heart.",
        "two are enough": "Two switches per number make a V. Is a square a V?",
    },
    concept="C083",
)

# %%
width_rows = stored("08-width")
plots.show(draw.widths(width_rows), "widths")


# %%
def errors(task, times, steps):
    """The stored errors of ten seeds, the smallest first."""
    asked = {"task": task, "times": times, "steps": steps}
    return sorted(row["error"] for row in width_rows if asked.items() <= row.items())


print("|x| with two for each:", [round(e, 2) for e in errors("|x|", 2, 3000)])

# %% [markdown]
# Two hidden numbers per feature can make |x|, yet seven seeds of ten miss it; with four all
# find it. So the width serves the training, too. **Four is a choice and no law**: in the
# paper's table 3, rows (C), half the width translates worse, and twice the width better.

# %% tags=["predict"]
predict(
    "In a block of the paper's size, which has more weights?",
    {
        "feed-forward: two thirds": (
            True,
            "Two matrices of 512 × 2,048 against four of 512 × 512.",
        ),
        "attention: two thirds": "It has four matrices. How large are they?",
        "both about the same": "Count: 4 · 512 · 512, and 2 · 512 · 2,048.",
    },
    concept="C083",
)

# %%
weights_of = {"attention": MultiHeadAttention(512, 8), "feed-forward": FFN(512, 2048)}
counts = {name: sum(p.numel() for p in module.parameters())
          for name, module in weights_of.items()}
counts

# %% tags=["claim"]
# The proof
claim("products: in few steps the gain slows beyond four, in many it does not",
      errors("products", 4, 300)[5] / errors("products", 8, 300)[5] < 2
      and errors("products", 4, 3000)[5] / errors("products", 8, 3000)[5] > 3)
claim("|x|: two hidden numbers can do it, some seeds miss it; with four all find it",
      errors("|x|", 2, 3000)[0] < 1e-5 < 0.1 < errors("|x|", 2, 3000)[-1]
      and errors("|x|", 4, 3000)[-1] < 1e-5)
claim("feed-forward has two thirds of a block's weights",
      abs(counts["feed-forward"] / sum(counts.values()) - 2 / 3) < 0.01)
claim("widths of two and four, trained again, come out as they are stored",
      not compare("08-width"))

# %% [markdown] name="add-and-norm"
# ## Add & norm
#
# Now we join the wires. Attention and feed-forward are called **sublayers**, and the paper
# wraps each alike: **add** what it says to x, then **norm** the sum. The whole machine does
# this thirty times: six encoder layers with two sublayers each, six decoder layers with three.

# %% [markdown]
# ### Exercise 3: `SublayerConnection`
#
# ★★☆ · 10 minutes · about 1 line
#
# `forward` takes the same two arguments as `plain` and `skip` above: x, and a callable that
# keeps the shape. That may be feed-forward as it is, or attention as `asks_itself(layer)`
# makes it. Dropout falls on what the sublayer says, never on x.
#
# <details><summary>Hint 1: a question</summary>
#
# Read the formula LayerNorm(x + Dropout(sublayer(x))) from the inside out. What happens first,
# and what last?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. ask the sublayer, once, with x as it came
# 2. dropout on its answer
# 3. add x
# 4. the norm of the sum
#
# </details>

# %% tags=["exercise"]
from course_lib.layers import SublayerConnection

# %%
AddNorm = check(SublayerConnection).verified

# %% [markdown]
# With yours, a block of the encoder: attention, then feed-forward, each wrapped, with a gain
# and bias of its own. Lesson 10 will use it.

# %%
class Block(nn.Module):
    """Attention, then feed-forward, each on a wire of the given kind."""

    def __init__(self, wire):
        super().__init__()
        self.attention, self.feed_forward = MultiHeadAttention(D, 2), FFN(D, 2 * D)
        self.wires = nn.ModuleList([wire(D), wire(D)])

    def forward(self, x):
        x = self.wires[0](x, asks_itself(self.attention))
        return self.wires[1](x, self.feed_forward)


# %% [markdown]
# With the norm last, words and gradients cannot grow from block to block. Three stacks of 24
# layers with add & norm and weights × √3; after them the three of above, with skips alone:

# %% tags=["nbval-ignore-output"]
with_norm = arriving(AddNorm(D), 3**0.5)[-1]  # (3,)
[f"{length:.1g}" for length in (*with_norm, *last["skip, weights × √3"])]

# %% [markdown]
# And are the words still apart at the end? We stack untrained blocks, up to 96.

# %%
torch.manual_seed(7)
blocks = nn.ModuleList(Block(AddNorm) for _ in range(96))


def collapse(blocks):
    """The likeness of the five words after 0 to 96 blocks."""
    with torch.no_grad():
        return {depth: round(likeness(nn.Sequential(*blocks[:depth])(x)), 2)
                for depth in (0, 12, 24, 48, 96)}


# %% tags=["predict"]
predict(
    "After 12 blocks with skips and norms the words are apart. After 96 …",
    {
        "they are copies": (
            True,
            "Each block mixes some more, and x is an ever smaller part of the sum. "
            "Rank collapse is delayed.",
        ),
        "they are apart: skips carry x": "They do. Which part of the sum is it after "
        "192 sublayers?",
        "they are as after 12": "Each block mixes some more.",
    },
    concept="C081",
)

# %%
torch.manual_seed(7)
without_norms = [wires.Block("just add") for _ in range(96)]
copies = {"add & norm": collapse(blocks), "just add": collapse(without_norms)}
copies

# %% [markdown]
# It is not the norm: blocks that only add come to the same. Skips **delay** rank collapse, and
# at these depths do not prevent it.

# %% tags=["claim"]
# The proof
claim("the norm bounds the gradient", 0.03 < with_norm.min() < with_norm.max() < 30
      < last["skip, weights × √3"].min())
claim("skips delay the collapse and do not prevent it, with norms or without",
      max(row[12] for row in copies.values()) < 0.9
      and min(row[96] for row in copies.values()) > 0.98)

# %% [markdown] name="pre-or-post"
# ## Where should the norm stand?
#
# Yours stands **after** the sum: **post-norm**, as in 2017. Later models put it **before** the
# sublayer, on the branch: **pre-norm**. Then nothing at all stands on the stream itself. Both
# are in the drawing of above. A pre-norm stack gets one more norm at its very end.
#
# ### Yours: the other place
#
# Write the pre-norm wire: `lambda x, sublayer, norm: …`.

# %% tags=["yours"]
pre = lambda x, sublayer, norm: x + sublayer(norm(x))  # yours: a function
intervene(
    "the sublayer reads a normed word, and adds to the word as it came",
    pre,
    run=lambda wire: wire(torch.tensor(8.0), lambda x: x + 1, lambda x: x / 4).item(),
    holds=lambda result: result == 11,
    among=callable,
    shows="if the norm divides by 4 and the sublayer adds 1, 8 becomes {result:g}",
    otherwise="8 / 4 + 1 is said. What is it added to?",
)

# %% [markdown]
# Its stream grows only slowly, as each sublayer reads a word of size 1. So what came in stays
# a larger part of it. The 96 blocks again, with this wire:

# %%
torch.manual_seed(7)
collapse([wires.Block("pre-norm") for _ in range(96)])

# %% [markdown]
# Back to the words that occur twice: ten blocks, two learning rates. Xiong and colleagues
# ([arXiv:2002.04745](https://arxiv.org/abs/2002.04745)) trained post-norm stacks with and
# without a **warm-up**, a learning rate that rises over the first steps: here over 50. The
# rival is a wire that only adds, without any norm. Stored, after 100 steps and 500, with three
# seeds, and with ten where the question is decided.

# %% tags=["predict"]
predict(
    "At the larger rate, without a warm-up: which of the three fails with ten blocks?",
    {
        "post-norm": (
            True,
            "Most of its runs stay at “always no”, or near it. A warm-up or a third of "
            "the rate mends that.",
        ),
        "just add: nothing bounds its sum": "With PyTorch's small weights the sum "
        "grows little.",
        "pre-norm: its stream is never normed": "Neither is that of “just add”. Does "
        "that do harm with small weights?",
        "all three: ten blocks are deep": "Two of them have no norm on the stream.",
    },
    concept="C081",
)

# %%
block_rows = stored("08-blocks")
plots.show(draw.of_blocks(block_rows, never), "blocks")


# %%
def right(kind, **settings):
    """The stored shares of right answers, ten blocks at PyTorch's scale."""
    asked = {"kind": kind, "depth": 10, "scale": 1, "rate": 0.003, "warm_up": 1,
             "steps": 100} | settings
    return sorted(row["right"] for row in block_rows if asked.items() <= row.items())


for kind in ("post-norm", "pre-norm", "just add"):
    for steps in (100, 500):
        shares = [round(share, 2) for share in right(kind, steps=steps)]
        print(f"{kind:9} {steps} steps:", shares)

# %% [markdown]
# Of ten post-norm stacks eight fail, and with five times the steps seven still do. So post-norm
# needs small first steps; a warm-up lets you use the larger rate later. The 2017 paper warms up
# for 4,000 steps (section 5.3) and does not say why. And with PyTorch's small weights ten blocks
# that only add learn without any norm. So when does a norm help?
#
# Does it *speed up learning*, as Ba and colleagues found in recurrent networks? Take two
# blocks, and words that come in $\sqrt{32}$ times too large.

# %%
too_large = {kind: [right(kind, depth=2, scale=D**0.5, steps=steps)
                    for steps in (100, 500)]
             for kind in ("post-norm", "pre-norm", "just add", "one norm")}
too_large

# %%
by_scale |= {wire: best_rate(wire)
             for wire in ("post-norm", "pre-norm", "skip, W_o / 4")}
plots.show(draw.over_scales(scales, by_scale, never), "more-scales")

# %% [markdown]
# | | claim | control | result |
# |---|---|---|---|
# | 1 | ten post-norm blocks fail at 0.003 | a third of the rate; a warm-up | most do; both mend it |
# | 2 | deep stacks need a norm | just add | not at PyTorch's scale |
# | 3 | a norm speeds up learning | words of the right size | only if words are too large |
# | 4 | it must be a norm after each sum | one norm above the embeddings | that is enough for 3 |
# | 5 | it must be a norm | $W_o$ divided by 4 | at √3 that does best |
#
# **Verdict: it depends on what comes in.** A norm helps where sizes are wrong: words that are
# too large, weights that are too large. After 500 steps all but *just add* have repaired the
# words that were too large. This course stays with the paper's post-norm. Where a later lesson
# takes pre-norm, it says so.

# %% tags=["claim"]
# The proof
mended = [right("post-norm", steps=steps, **by) for steps in (100, 500)
          for by in ({"warm_up": 50}, {"rate": 0.001})]
claim("most stacks of ten post-norm blocks fail at 0.003, at five times the steps, too",
      max(right("post-norm")[5], right("post-norm", steps=500)[5]) < 0.75)
claim("with a warm-up or a third of the rate none fails", min(map(min, mended)) > 0.85)
claim("pre-norm and just add learn at 0.003",
      min(right("pre-norm", steps=500) + right("just add", steps=500)) > 0.85)
claim("where words are too large a norm speeds learning up, one alone does best",
      max(too_large["just add"][0]) < min(too_large["post-norm"][0])
      and min(too_large["one norm"][0]) > max(too_large["post-norm"][0]))
claim("one norm and none, trained again, come out as they are stored",
      not compare("08-blocks"))

# %% [markdown] name="stream-opened"
# ## A trained stream, opened
#
# The course's translator (lesson 11) has two encoder layers and two decoder layers, post-norm:
# ten sublayers in all, and each writes to the stream. How large is each write, beside what it
# reads? And what is lost if one sublayer writes nothing? We ask for the translations of 50
# sentences that it was not trained on. Whole, it has all 50 right.

# %%
from course_lib.experiments import stream as opened

translator = shipped.translator()
sizes = {name: (said.norm(dim=1) / read.norm(dim=1)).mean().item()
         for name, (read, said) in opened.writes(translator).items()}
{name: round(size, 2) for name, size in sizes.items()}

# %% tags=["predict"]
predict(
    "The feed-forward of decoder layer 1 writes most: 1.5 times as much as it reads. "
    "Without it, how many of 50 are right?",
    {
        "all 50": (
            True,
            "Size is no measure of need. The rest of the stack does without it.",
        ),
        "none, or nearly": "So it is for one of the ten. Need it be the largest?",
        "about half": "So it is for another one.",
    },
    concept="C074",
)

# %%
lost = {name: opened.right_without(translator, name) for name in opened.NAMES}
plots.show(draw.what_is_written(list(lost), [sizes[name] for name in lost],
                                list(lost.values()), of=50), "written")

# %% [markdown]
# Without the last cross-attention, which reads the French sentence, none is right, and without
# the attention before it half of them. Each feed-forward can be left out **alone**. Are they of
# no use, then?
#
# ### Yours: not one by one
#
# Name sublayers, none of which costs more than a sentence when it is left out alone, and which
# together cost at least ten.

# %% tags=["yours", "nbval-ignore-output"]
left_out = [name for name in lost if "feed-forward" in name]  # yours: some names
intervene(
    "alone each costs at most one sentence, together at least ten",
    left_out,
    run=lambda names: opened.right_without(translator, *names),
    holds=lambda right: right <= 40,
    among=lambda names: set(names) <= set(lost)
    and min(lost[name] for name in names) >= 49,
    shows="without them {result} of 50 are right",
    otherwise="What does the picture say can be left out alone? Leave out more of it.",
)

# %% [markdown]
# So they are needed, and they stand in for each other. A stream makes that possible: what one
# sublayer does not write, another may. To leave one out alone shows what is lost *without
# it*, and not what it does.
#
# Might it be that "nothing" is simply a strange thing to write? The control: let the
# sublayers write what they write on average, always the same vector.

# %% tags=["nbval-ignore-output"]
means = {name: said.mean(0) for name, (_, said) in opened.writes(translator).items()}
networks = [name for name in lost if "feed-forward" in name]
without = {"nothing": opened.right_without(translator, *networks),
           "their mean": opened.right_without(translator, *networks, instead=means)}
without

# %% [markdown]
# It was not the silence: with their means even fewer are right. What is missing is what they
# say of each word by itself, and a vector for all words is no substitute.

# %% tags=["claim"]
# The proof
largest = max(sizes, key=sizes.get)
claim("the largest write can be left out, and one of the smaller ones cannot",
      lost[largest] >= 49 and lost["decoder 2 cross"] == 0
      and sizes["decoder 2 cross"] < sizes[largest])
claim("each feed-forward can be left out alone, all four together cannot",
      min(lost[name] for name in networks) >= 49 and max(without.values()) <= 40)
claim("with their means in their place fewer are right than with nothing",
      without["their mean"] < without["nothing"])

# %% [markdown] name="missing-piece"
# ## Which piece is missing?
#
# Here is the machine of lesson 00 again. You have built attention, masks, norms, skips and
# feed-forward. Two boxes have lost their name.

# %%
import matplotlib.pyplot as plt

from course_lib.display.drawings import draw_transformer

figure, axes_of_it = plt.subplots(figsize=(9.6, 8.5))
draw_transformer(axes_of_it)
for text in axes_of_it.texts:
    if text.get_text() == "position":
        text.set(text="?", weight="bold", fontsize=15)
    text.set_visible(text.get_text() != "09")
plots.show(figure, "missing-piece")

# %% tags=["predict"]
predict(
    "What do the two boxes add, before the first layer?",
    {
        "where each word stands": (
            True,
            "Attention treats its words as a bag, norm and feed-forward look at one "
            "word at a time, skips carry what is there.",
        ),
        "a mask": "A mask is not added to words, and the encoder needs none for order.",
        "a norm": "Norms stand inside the layers.",
        "the memory of the encoder": "It comes from the left, and only to the decoder.",
    },
    concept="C085",
)

# %% [markdown]
# You can see it without a drawing: read the sentence backwards, through twelve blocks.

# %%
with torch.no_grad():
    twelve = nn.Sequential(*blocks[:12])
    forwards, backwards = twelve(x), twelve(x.flip(1)).flip(1)  # put back in order
print("Jane, forwards: ", [round(v, 2) for v in forwards[0, 0, :4].tolist()])
print("Jane, backwards:", [round(v, 2) for v in backwards[0, 0, :4].tolist()])

# %% [markdown]
# *Jane visits Africa* and *Africa visits Jane* are the same to it. So the place is *added to
# the word* before the first layer, and the skips carry it up: you measured that above.

# %% tags=["claim"]
# The proof
claim("twelve blocks cannot tell forwards from backwards",
      torch.allclose(forwards, backwards, atol=1e-4))

# %% [markdown]
# ## Summary
#
# - Six plain layers make words copies of each other: mixing does it, and at PyTorch's scale
#   biases do it alone. Whether the gradient fades depends on the scale of the weights, with
#   attention or without.
# - A skip connection, x + f(x), lets through whatever came in, position included. Alone it does
#   not bound the sum: with larger weights words and gradients grow.
# - Layer norm brings each word back to mean 0 and spread 1; gain and bias are learned.
# - Batch norm takes its mean over other sentences. It needs running averages, large batches
#   and, in a recurrent network, a mean and a variance per time step.
# - Feed-forward, $\max(0, x W_1 + b_1)\, W_2 + b_2$: ReLU is the bend that attention lacks. The
#   same network at each place, each word alone. Four times as wide is a choice.
# - Post-norm, norm(x + f(x)), is the paper's. It needed smaller first steps than pre-norm,
#   x + f(norm(x)). At small first weights our stacks needed no norm at all.
# - In a trained stream the largest write was not the one that was needed, and sublayers stood
#   in for each other.
# - The block still does not know the order of the words.
#
# **Think about it.** In a pre-norm stack the stream is never normed. Suppose every sublayer
# says as much as the next: how much can the 100th block still change the sum?
#
# <details><summary>An answer</summary>
#
# If their writes are independent, the sum of 99 has a standard deviation of about ten writes.
# So the 100th changes it by a tenth. That is calm, and wasteful: late blocks can do little,
# unless they learn to write more.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): section 3.1
# (residual connections and layer norm), section 3.3 and equation 2 (feed-forward), section 5.4
# (dropout on each sublayer's output), table 3 (width). Skip connections:
# [He et al. 2015](https://arxiv.org/abs/1512.03385). Copies without them:
# [Dong et al. 2021](https://arxiv.org/abs/2103.03404). Layer norm:
# [Ba et al. 2016](https://arxiv.org/abs/1607.06450), equations 3 and 4. Batch norm:
# [Ioffe and Szegedy 2015](https://arxiv.org/abs/1502.03167). Pre-norm:
# [Xiong et al. 2020](https://arxiv.org/abs/2002.04745).
#
# **Next.** Which vectors should the places add? Lesson 09 tries the bad ideas first, and then
# finds waves.
