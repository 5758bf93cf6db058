# %% [markdown]
# # 08 · The connecting wires: skip connection, layer norm, feed-forward
#
# *110 minutes · needs lesson 07 · three exercises*
#
# **At the end you can**
#
# - measure what a deep stack of attention loses, and which part of it a skip connection saves;
# - write layer norm from nothing, and tell it from batch norm by one experiment;
# - write the feed-forward network, and say why its hidden layer is wide;
# - join all pieces to a block, and predict what happens when the norm changes its place.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, mine
from course_lib.display import plots
from course_lib.training import fit

torch.set_num_threads(1)

# %% [markdown]
# ## What broke: attention upon attention
#
# Version 6 is complete. Lesson 02 saw what untrained mixing makes of words when it is done again and again. That
# attention had no weights. Does version 6 do the same?
#
# Take five words, each a random vector, and six layers, each with its own random weights. Query, key and value are the
# same words.

# %%
MultiHeadAttention = mine("MultiHeadAttention")  # your own, from lesson 06
D = 32
words = "Jane visits Africa in September".split()
torch.manual_seed(0)
x = torch.randn(1, 5, D)  # (B, T, D)
six = [MultiHeadAttention(D, 4) for _ in range(6)]
f"{sum(p.numel() for layer in six for p in layer.parameters()):,} random weights"

# %% [markdown]
# Two helpers. The first makes attention a function of one argument. The second hands the words from layer to layer, and
# keeps all states. How a layer is *wired* to the next is what this lesson is about. The first wiring is the plainest.

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
# How alike are two words? Their **cosine similarity** tells (lesson 02): the cosine of the angle between their vectors.
# We take all pairs of two different words, and the mean. **Predict** this number before the first layer, and after the
# sixth.

# %%
def likeness(x):
    """The mean cosine over all pairs of different positions: 1 where all vectors point the same way."""
    unit = F.normalize(x[0].detach(), dim=-1)  # (T, D)
    return (unit @ unit.T)[~torch.eye(5, dtype=torch.bool)].mean().item()


alike = [likeness(state) for state in through(x, six, plain)]
strangers_become_copies = abs(alike[0]) < 0.25 and alike[6] > 0.9999
assert strangers_become_copies
print("likeness after 0 to 6 layers:", [round(a, 3) for a in alike])

# %% [markdown]
# After six layers no one can tell Jane from September. A seventh layer could not either, even with the best weights.
#
# Attention mixes words, so it is the first suspect. A mask (lesson 07) with which each word sees only itself takes the
# mixing away, and leaves all matrices. The second suspect is the bias: each layer adds the same vector to all words.
# **Predict** the likeness after six layers with both, with one of them, and with neither. And with weights $\sqrt{3}$
# times as large? (Why $\sqrt{3}$, you see below.)

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
suspects = {"both": (None, 1), "mixing alone": (None, 0), "biases alone": (only_itself, 1), "neither": (only_itself, 0)}
alike, larger = ({name: [after_six(*suspect, seed, scale) for seed in range(5)] for name, suspect in suspects.items()}
                 for scale in (1, 3**0.5))
either_one_makes_copies = all(min(alike[name]) > 0.99 for name in ("both", "mixing alone", "biases alone"))
without_both_words_stay_apart = max(alike["neither"]) < 0.6
with_larger_weights_only_mixing_does = max(larger["biases alone"]) < 0.6 and min(larger["mixing alone"]) > 0.99
assert either_one_makes_copies
assert without_both_words_stay_apart
assert with_larger_weights_only_mixing_does
for name in suspects:
    print(f"{name:13}" + "  or".join(f" {min(five):5.2f} to {max(five):4.2f}" for five in (alike[name], larger[name])))

# %% [markdown]
# With PyTorch's weights (left) either one is enough. With weights $\sqrt{3}$ times as large (right) biases alone no
# longer do it; mixing still does. That words become copies is called **rank collapse**. Dong and colleagues proved it
# for stacks of attention alone, with bounded weights: the differences shrink even faster than exponentially with depth
# ([arXiv:2103.03404](https://arxiv.org/abs/2103.03404)). What could be done?

# %% [markdown] name="skip-connection"
# ## The skip connection
#
# Let each layer *add* what it says to what it was given. The whole change is one plus sign:
#
# | part | plain | skip connection |
# |---|---|---|
# | **inputs** | x (B, T, D) | x (B, T, D), which also goes around the layer (the road) |
# | **what the layer learns** | the new x | what to **add** to x |
# | **outputs** | f(x) (B, T, D) | x + f(x) (B, T, D): f must keep the shape |
#
# He and colleagues brought it to very deep networks for images in 2015
# ([arXiv:1512.03385](https://arxiv.org/abs/1512.03385)). It is also called a **residual connection**: f learns the
# residual, what is left to be done. The vectors that run along the road, and to which each layer adds, are the
# **residual stream**.
#
# **Predict:** take the state after the sixth layer, minus x. What is it, in terms of what the six layers said?

# %%
def skip(x, sublayer):
    return x + sublayer(x)


states = through(x, six, skip)
said = [layer(state, state, state) for layer, state in zip(six, states[:6], strict=True)]
the_output_is_x_plus_all_that_was_said = torch.allclose(states[6], x + sum(said), atol=1e-5)
assert the_output_is_x_plus_all_that_was_said
print("likeness after 0 to 6 layers:", [round(likeness(state), 2) for state in states])

# %% [markdown]
# Each layer reads the sum of everything before it: layer 6 reads Jane as she came in, plus the outputs of layers 1 to
# 5. What came in stays in the sum, unless a layer takes it away. After six layers these words are still far from being
# copies.

# %% [markdown] name="gradients"
# ## Does the gradient come back?
#
# The loss is computed at the top, and its gradient is passed down layer by layer. In place of a loss we take one
# number: the dot product of Jane's output and a random vector of length 1. How long is its gradient at the five inputs?
#
# That depends on the first weights. A vector that passes PyTorch's `nn.Linear` becomes about $\sqrt{3}$ times shorter
# (without the bias). Glorot and Bengio proposed weights $\sqrt{3}$ times as large, known as "Xavier"
# ([2010](https://proceedings.mlr.press/v9/glorot10a.html)): a square matrix of them keeps the length. `nn.Transformer`
# begins nearly so.
#
# In each layer a word passes two such matrices, $W_v$ and $W_o$. **On paper:** by which factor do 24 plain layers
# change a word or a gradient, with PyTorch's weights and with Xavier's? **Predict:** with skips, does it shrink, stay
# or grow?

# %%
def quiet_layer():
    return MultiHeadAttention(D, 4)


def loud_layer():
    """Loud: its output has a larger norm, as its weights are √3 times as large."""
    layer = MultiHeadAttention(D, 4)
    for weight in (p for p in layer.parameters() if p.dim() > 1):
        nn.init.xavier_uniform_(weight)
    return layer


# %%
DEPTHS = [1, 2, 4, 8, 16, 24]


def arriving(wire, new_layer, mask=None):
    """The norm of the gradient of Jane's output, at all inputs, for each depth and three random stacks: (6, 3)."""
    lengths = torch.empty(6, 3)
    for seed in range(3):
        torch.manual_seed(seed)
        layers, direction = [new_layer() for _ in range(24)], F.normalize(torch.randn(D), dim=0)
        start = x.clone().requires_grad_()
        states = through(start, layers, wire, mask)
        for i, depth in enumerate(DEPTHS):
            jane = states[depth][0, 0] @ direction
            lengths[i, seed] = torch.autograd.grad(jane, start, retain_graph=True)[0].norm()
    return lengths


# %% [markdown]
# Two wirings and two starts make four curves. The fifth is a control: the plain stack, where each word sees only
# itself.

# %%
gradient = {"skip, Xavier": arriving(skip, loud_layer), "skip, PyTorch": arriving(skip, quiet_layer),
            "plain, Xavier": arriving(plain, loud_layer), "plain, PyTorch": arriving(plain, quiet_layer),
            "plain, PyTorch, no mixing": arriving(plain, quiet_layer, only_itself)}
figure, axis = plt.subplots(figsize=(5.6, 3.6))
for (name, lengths), style in zip(gradient.items(), ["o-", "o--", "s-", "s--", "x:"], strict=True):
    axis.semilogy(DEPTHS, lengths.median(dim=1).values, style[1:], label=name)
    axis.semilogy(DEPTHS, lengths, style[0], color=axis.lines[-1].get_color(), alpha=0.6, markersize=4)
axis.set(xlabel="layers", ylabel="norm of the gradient")
axis.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
plots.show(figure, "The gradient's norm over 1 to 24 layers, logarithmic, three stacks each. Skip with Xavier rises "
                   "from about 1 to more than 10,000, with PyTorch's weights it stays between 0.9 and 3. Plain with "
                   "Xavier stays between 0.1 and 2. With PyTorch's weights plain falls on a straight line to about "
                   "1e-12, with mixing and without.")

# %%
last = {name: lengths[-1] for name, lengths in gradient.items()}
plain_fades = last["plain, PyTorch"].max().item() < 1e-9
it_fades_without_mixing_as_well = last["plain, PyTorch, no mixing"].max().item() < 1e-9
plain_does_not_fade_with_xavier = last["plain, Xavier"].min().item() > 1e-4
skips_keep_a_quiet_gradient = 0.5 < gradient["skip, PyTorch"].min().item() < gradient["skip, PyTorch"].max().item() < 6
skips_explode_with_xavier = last["skip, Xavier"].min().item() > 300
assert plain_fades
assert it_fades_without_mixing_as_well
assert plain_does_not_fade_with_xavier
assert skips_keep_a_quiet_gradient
assert skips_explode_with_xavier
print(f"on paper, plain, PyTorch: {(1 / 3) ** 24:.0e}")
{name: f"{lengths.median():.0e}" for name, lengths in last.items()}

# %% [markdown]
# With PyTorch's weights the plain gradient shrinks to 1/3 in each layer, $(1/\sqrt{3})^2$. Mixing has no part in it:
# the control fades alike. That is a vanishing gradient (lesson 04). With weights that keep the length it does not fade.
# A plain stack needs a scale that is just right.
#
# With a skip, the slope of one layer is 1 plus that of f. Where f is small, the product of all these factors stays near
# 1. Where f is as large as x, the product grows with every layer: an **exploding gradient**. So a skip protects from
# layers that are too quiet, not from loud ones.

# %% [markdown] name="residual-position"
# ## A claim to test: "residuals carry position"
#
# *"The residual connections carry the position of each word up through the stack."* Take one word, five times. Each
# place adds a random vector of its own (lesson 09 finds better ones). Now only the place tells the five apart.
#
# We measure two things after six random layers: the likeness of the positions, and whether a **reader** finds the
# place. Our reader is a linear map from an output to its place. It is fitted by least squares on 1,000 such sentences,
# each made of another random word, and tested on 1,000 more. Chance is 0.2. **Predict** both: plain, with skips, and
# plain where each word sees only itself.

# %%
def positions(wire, new_layer, mask, seed):
    """The likeness after six random layers, and the share of places that a reader finds."""
    torch.manual_seed(seed)
    layers = [new_layer() for _ in range(6)]
    start = torch.randn(2000, 1, D) + torch.randn(1, 5, D)  # a word five times
    with torch.no_grad():
        out = through(start, layers, wire, mask)[-1].double()
    centred = (out - out.mean((0, 1))) / out.std((0, 1))  # (2000, 5, D)
    place = torch.eye(5).double().repeat(1000, 1)  # (5000, 5)
    reader = torch.linalg.lstsq(centred[:1000].flatten(0, 1), place, driver="gelsd").solution
    right = (centred[1000:] @ reader).argmax(-1) == torch.arange(5)
    return sum(likeness(out[i : i + 1]) for i in range(20)) / 20, right.float().mean().item()


# %%
settings = {"plain, PyTorch": (plain, quiet_layer, None), "plain, Xavier": (plain, loud_layer, None),
            "plain, PyTorch, no mixing": (plain, quiet_layer, only_itself),
            "skip, PyTorch": (skip, quiet_layer, None), "skip, Xavier": (skip, loud_layer, None)}
read = {name: [positions(*setting, seed) for seed in range(3)] for name, setting in settings.items()}
for name, three in read.items():
    alike, right = zip(*three, strict=True)
    print(f"{name:26}likeness {sum(alike) / 3:.2f}   reader", *(f"{share:.2f}" for share in right))

# %%
plain_quiet, plain_loud, unmixed, skip_quiet, skip_loud = read.values()
plain_positions_are_one = all(alike > 0.99 and right < 0.25 for alike, right in plain_quiet + plain_loud)
unmixed_places_are_found = min(right for _, right in unmixed) > 0.9
skips_keep_positions_apart = all(alike < 0.9 and right > 0.95 for alike, right in skip_quiet)
after_loud_layers_alike_but_found = all(alike > 0.9 and right > 0.9 for alike, right in skip_loud)
assert plain_positions_are_one
assert unmixed_places_are_found
assert skips_keep_positions_apart
assert after_loud_layers_alike_but_found

# %% [markdown]
# So a skip does carry position. At both scales the reader finds the places with skips, even where the words are nearly
# alike. Without skips it is no better than chance, even with Xavier's weights, whose gradient arrives. Where nothing is
# mixed it needs no skips: what loses the place is the mixing.
#
# But does it carry *position*? **Predict:** the same word five times, no place added. What do the skips do?

# %%
one_word = torch.randn(1, 1, D).expand(1, 5, D)
nameless = through(one_word, six, skip)[-1]
skips_make_no_position = torch.allclose(nameless, nameless[:, :1].expand_as(nameless), atol=1e-5)
assert skips_make_no_position
round(likeness(nameless), 4)

# %% [markdown]
# **Verdict: true, and less special than it sounds.** A skip carries whatever came in. What never came in, it cannot
# carry.

# %% [markdown] name="depth-sweep"
# ## What training makes of it
#
# Random stacks are only the start of training. Perhaps training repairs them? We need a task in which the order of the
# words does not matter. Here is one: *does my word stand twice in this sentence?*

# %%
vocabulary = "Jane visits Africa in September Paris loves sleeps".split()


def sentences(how_many, seed):
    """Sentences of five random words, and for each word whether it has a twin."""
    ids = torch.randint(8, (how_many, 5), generator=torch.Generator().manual_seed(seed))  # (B, T)
    return ids, ((ids[:, :, None] == ids[:, None, :]).sum(-1) > 1).long()  # (B, T) each


ids, twin = sentences(1000, 99)
{f"{place}: {vocabulary[i]}": bool(t) for place, (i, t) in enumerate(zip(ids[0], twin[0], strict=True), 1)}

# %% [markdown]
# A net that always says *no* is right more often than not. That is the line to beat.

# %%
never = 1 - twin.float().mean().item()
most_words_have_no_twin = 0.5 < never < 0.65
assert most_words_have_no_twin
round(never, 2)

# %% [markdown]
# To answer, a word has to look at the others **and** still know itself. Does one layer learn that in a hundred steps of
# training? Do more layers?

# %%
class Layer(nn.Module):
    """One layer of attention on a wire."""

    def __init__(self, wire):
        super().__init__()
        self.attention, self.wire = MultiHeadAttention(D, 2), wire

    def forward(self, x):
        return self.wire(x, asks_itself(self.attention))


# %% [markdown]
# Around the layers: an embedding below, and two logits per word above. (`scale` stays at 1 until the last experiment of
# the lesson.)

# %%
class TwinFinder(nn.Module):
    """Words to vectors, through all layers, to two logits per word."""

    def __init__(self, layers, scale):
        super().__init__()
        self.embedding, self.layers, self.out = nn.Embedding(8, D), nn.Sequential(*layers), nn.Linear(D, 2)
        self.scale = scale

    def forward(self, ids):
        return self.out(self.layers(self.scale * self.embedding(ids)))  # (B, T, 2)


# %% [markdown]
# A hundred steps of training, each on 32 new sentences, then a test on 1,000 others. The learning rate may rise over
# the first steps (`warm_up`); for now it does not.

# %%
def loss_of(model, ids, twin):
    return F.cross_entropy(model(ids).flatten(0, 1), twin.flatten())


def hits(make_layers, seed, rate=3e-3, warm_up=1, scale=1.0):
    """Train a finder, and return its share of right answers."""
    torch.manual_seed(seed)
    model = TwinFinder(make_layers(), scale)
    optimizer = torch.optim.Adam(model.parameters(), rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / warm_up))
    fit(model, loss_of, [sentences(32, 1000 * seed + step) for step in range(100)], optimizer, schedule, seed=seed)
    with torch.no_grad():
        return (model(ids).argmax(-1) == twin).float().mean().item()


# %% [markdown]
# **Predict:** one, three and eight layers, each without and with skips. Three seeds for each. Which is the worst of the
# six, and which the best?

# %%
def attention_only(wire, depth):
    return lambda: [Layer(wire) for _ in range(depth)]


depths = [1, 3, 8]
found = {wire.__name__: [[hits(attention_only(wire, depth), seed, rate=2e-3) for seed in range(3)] for depth in depths]
         for wire in (plain, skip)}


# %%
def right_over(what, at, found, title, alt):
    """One line through the medians, and a mark for each seed."""
    figure, axis = plt.subplots(figsize=(5.6, 3.4))
    for (name, results), style in zip(found.items(), ["s--", "o-", "^:", "d-.", "v-"], strict=False):
        axis.plot(at, [sorted(r)[1] for r in results], style[1:], label=name)
        axis.plot(at, results, style[0], color=axis.lines[-1].get_color())
    axis.axhline(never, color="grey", linewidth=1, label="always “no”")
    if what != "layers":
        axis.set_xscale("log")
        axis.minorticks_off()
    axis.set(xlabel=what, ylabel="right answers", ylim=(0.45, 1.02), title=title)
    axis.set_xticks(at, [f"{value:.3g}" for value in at])
    axis.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
    plots.show(figure, alt)


# %%
right_over("layers", depths, found, "attention only",
           "Right answers over 1, 3 and 8 layers, three seeds each. With skips they rise from about 0.7 to more than "
           "0.95. Plain they fall from about 0.7 to the line of always saying no, at 0.57.")

# %%
middle = {name: [sorted(seeds)[1] for seeds in results] for name, results in found.items()}
with_skips_depth_helps = middle["skip"][2] > middle["skip"][0] + 0.05
plain_depth_harms = middle["plain"][2] < middle["plain"][0]
at_eight_layers_skips_decide = middle["skip"][2] > middle["plain"][2] + 0.15
assert with_skips_depth_helps
assert plain_depth_harms
assert at_eight_layers_skips_decide
worst = min((middle[name][i], name, depths[i]) for name in middle for i in range(3))
print("the worst of the six:", *worst[1:], "layers")

# %% [markdown]
# Eight plain layers could do nearly all that one can: seven need only pass the words on. Training does not find that.
# With a skip, a layer passes the words on by adding nothing. He and colleagues saw the same with images: a deeper plain
# network had a larger error on the very images it was trained on. They did not think that vanishing gradients were the
# cause (section 4.1).
#
# Is it the depth, or the scale of the first weights? We trained eight layers at five scales and three learning rates,
# and stored the results in a file, which names the command that makes it. Scale 1 is PyTorch's, $\sqrt{3}$ is Xavier's.
# For each scale you see the best of the three rates. **Predict:** where do plain layers learn, and where do layers with
# skips?

# %%
from course_lib.experiments.stored import stored

scales = [0.25, 0.5, 1, 3**0.5, 3]
measured = {}
for row in stored("08-scales"):
    measured.setdefault((row["wire"], row["scale"], row["rate"], row["steps"]), []).append(row["right"])


def at_the_best_rate(wire):
    """For each scale, the right answers of three seeds, at the learning rate that suits it."""
    runs = [[sorted(measured[wire, scale, rate, 100]) for rate in (0.001, 0.002, 0.005)] for scale in scales]
    return [max(by_rate, key=lambda seeds: seeds[1]) for by_rate in runs]


# %%
by_scale = {wire: at_the_best_rate(wire) for wire in ("plain", "skip")}
right_over("scale of the first weights", scales, by_scale, "eight layers of attention",
           "Right answers over the scale of the weights, three seeds each. Plain: 0.57 up to scale 1, 0.66 at 1.73, "
           "0.55 at 3. Skip: from 0.9 at 0.25 to 0.97 at 1, then 0.63 at 1.73 and 0.54 at 3.")

# %%
_, quiet_plain, default_plain, xavier_plain, _ = by_scale["plain"]
*small_skips, xavier_skip, _ = by_scale["skip"]
plain_learns_a_little_at_one_scale = max(quiet_plain + default_plain) < 0.6 < min(xavier_plain)
skips_learn_at_all_small_scales = min(map(min, small_skips)) > 0.8
with_xavier_they_learn_little = max(xavier_skip) < 0.75
the_stored_runs_come_out_again = abs(found["skip"][2][0] - measured["skip", 1, 0.002, 100][0]) < 0.1
assert plain_learns_a_little_at_one_scale
assert skips_learn_at_all_small_scales
in_1000_steps_they_learn_more = min(measured["skip", 3**0.5, 0.001, 1000]) > max(xavier_skip) + 0.05
assert with_xavier_they_learn_little
assert in_1000_steps_they_learn_more
assert the_stored_runs_come_out_again

# %% [markdown]
# **Both.** Plain layers need a scale that is just right, and even there these learn little. Layers with skips still
# learn with weights four times smaller. With larger ones they learn slowly: at $\sqrt{3}$, a thousand steps bring the
# three seeds to 0.84, 0.84 and 0.98 (stored, too).

# %% [markdown]
# ## What broke now: the sum grows
#
# Skips add and add. You saw it in the gradient; the words do the same. Let a layer say as much as it is given: the same
# variance, and independent of it. **On paper:** by which factor does the variance grow in one layer? In 24 layers? And
# the standard deviation?

# %%
torch.manual_seed(4)
stream = torch.randn(1000, 64)
for layer in range(1, 25):
    stream = stream + stream @ torch.randn(64, 64) / 8  # 64 products, divided by √64: as large as the stream
    if layer % 8 == 0:
        print(f"after {layer:2} layers: {2 ** (layer // 2):4} on paper, {stream.std():4.0f} measured")
the_variance_doubles = 0.7 < stream.std().item() / 2**12 < 1.4
assert the_variance_doubles

# %% [markdown] name="layer-norm"
# ## Layer norm: back to the same size, every time
#
# Large numbers make sharp softmaxes, and sharp softmaxes have no slope (lesson 04). What bounds the sum?
#
# A standard step of statistics: subtract the mean, divide by the standard deviation. Each word does this with its own
# numbers. **One word by hand.** Jane is (1, 1, 5, 5).
#
# 1. $\mu$, the mean: 3
# 2. the deviations: −2, −2, 2, 2
# 3. $\sigma^2$, the mean of their squares: 4, so $\sigma = 2$
# 4. $(x - \mu) / \sigma$: −1, −1, 1, 1

# %%
sentence = torch.tensor([[1.0, 1, 5, 5],  # Jane
                         [0, 4, 0, 4],  # visits
                         [3, 3, 7, 3],  # Africa
                         [2, 2, 2, 2],  # in
                         [0, 0, 8, 0]])  # September
dict(zip(words, sentence.tolist(), strict=True))

# %%
jane = sentence[0]  # (D,)
mean = jane.mean()
sigma = ((jane - mean) ** 2).mean() ** 0.5
by_hand_it_is_minus_and_plus_one = ((jane - mean) / sigma).tolist() == [-1, -1, 1, 1]
assert by_hand_it_is_minus_and_plus_one
mean.item(), sigma.item(), ((jane - mean) / sigma).tolist()

# %% [markdown]
# Must every word then have spread 1 for ever? No: two learned vectors come last, a **gain** $g$ and a **bias** $b$, one
# number per feature ($\gamma$ and $\beta$ in other books; `gamma` and `beta` here):
#
# $$
# \mathrm{LN}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot g + b
# $$
#
# This is layer norm, by Ba, Kiros and Hinton ([arXiv:1607.06450](https://arxiv.org/abs/1607.06450)). The small
# $\varepsilon$ (0.00001) is for words such as *in*. **Before you go on:** what would *in*, (2, 2, 2, 2), give without
# it?

# %% [markdown]
# ### Exercise 1: `layer_norm`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write it from scratch, for any number of axes before the last. Try it wrong on purpose, too: take
# `x.var(-1, keepdim=True)` as it is, or leave out ε, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# x is (B, T, D). How many means are there, and which shape must they have so that they can be taken off x?
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
# From here on `norm` is your own function as soon as the card says *right*. Here is the whole sentence, with gain 1
# and bias 0. **Predict:** which two words become the same?

# %%
features = ["1", "2", "3", "4"]
one, zero = torch.ones(4), torch.zeros(4)
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
for axis, values, title in zip(axes, [sentence, norm(sentence, one, zero)], ["before", "after"], strict=True):
    plots.heat_map(axis, values, words, features, title)
    axis.set(xlabel="feature", ylabel="word")
plots.show(figure, "Five words of four numbers before and after layer norm. Jane becomes -1, -1, 1, 1; visits -1, 1, "
                   "-1, 1; Africa and September both -0.58, -0.58, 1.73, -0.58; in becomes four zeros.")

# %%
yours_is_torch_s = torch.allclose(norm(x, torch.full((D,), 2.0), torch.ones(D)),
                                  F.layer_norm(x, (D,), torch.full((D,), 2.0), torch.ones(D)), atol=1e-5)
africa_and_september_are_one = torch.allclose(*norm(sentence, one, zero)[[2, 4]], atol=1e-5)
assert yours_is_torch_s
assert africa_and_september_are_one
{word: [round(v, 2) for v in norm(sentence[i], one, zero).tolist()] for i, word in ((2, "Africa"), (4, "September"))}

# %% [markdown]
# Africa, (3, 3, 7, 3), and September, (0, 0, 8, 0), both have the third feature above the others. The step is 4 in one
# and 8 in the other, and it starts from 3 and from 0. After the norm they are equal.
#
# **Predict:** what becomes of 10 · Jane + 3? And which gain and bias would turn Jane back into (1, 1, 5, 5)?

# %%
shouting_and_lifting_change_nothing = torch.allclose(norm(10 * jane + 3, one, zero), norm(jane, one, zero), atol=1e-4)
gain_and_bias_can_undo_it = torch.allclose(norm(jane, sigma * one, mean * one), jane, atol=1e-4)
assert shouting_and_lifting_change_nothing
assert gain_and_bias_can_undo_it
print("with gain 2 and bias 3:", [round(v, 3) for v in norm(jane, 2 * one, 3 * one).tolist()])

# %% [markdown]
# Layer norm forgets the scale of a word, and its level. It keeps the pattern. Gain σ and bias μ undo the norm, for
# Jane. But the same gain and bias serve all words: they set how much each *feature* counts, not how large each word is.

# %% [markdown] name="row-wise"
# ## How many means?
#
# **Predict:** does Jane's result change when she stands alone, or when the five words come in reverse order? And how
# many numbers are there to learn?

# %%
gain, bias = torch.tensor([1.0, 2, 1, 0.5]), torch.tensor([0.0, 0, 1, 0])
together = norm(sentence, gain, bias)  # (T, D)
alone = torch.stack([norm(word, gain, bias) for word in sentence])  # word by word
each_word_is_normalised_by_itself = torch.allclose(together, alone)
rows_follow_their_words = torch.allclose(norm(sentence.flip(0), gain, bias), together.flip(0))
assert each_word_is_normalised_by_itself
assert rows_follow_their_words
print("Jane alone:", [round(v, 2) for v in alone[0].tolist()], "  numbers to learn:", len(gain) + len(bias))

# %% [markdown]
# For (B, T, D) your function took B · T means: each word uses its own. But all share the same gain and bias, here eight
# numbers, for sentences of any length. The same weights, **row by row**: feed-forward below works like that, too.

# %% [markdown] name="batch-norm"
# ## A claim to test: "Add & Norm is like batch norm"
#
# Batch norm is older (Ioffe and Szegedy, [arXiv:1502.03167](https://arxiv.org/abs/1502.03167)). It, too, subtracts a
# mean and divides by a standard deviation. Only the **axis** differs:
#
# | x (B, T, D) | layer norm | batch norm |
# |---|---|---|
# | **inputs of one mean** | the D features of one word | one feature of all B · T words |
# | **how many means** | B · T | D |
# | **outputs** | (B, T, D) | (B, T, D) |

# %%
def normalised(x, axes):
    """Mean 0 and variance 1 over these axes."""
    deviation = x - x.mean(axes, keepdim=True)
    return deviation / ((deviation**2).mean(axes, keepdim=True) + 1e-5) ** 0.5


axes_of = {"layer norm": (2,), "batch norm": (0, 1)}
ann = torch.tensor([[4.0, 0, 1, 3], [0, 2, 6, 0], [1, 5, 5, 1], [0, 3, 0, 1], [7, 0, 2, 3]])  # Ann reads books at home
batch = torch.stack([sentence, ann])  # (B, T, D) = (2, 5, 4)
{name: f"{batch.mean(axes).numel()} means" for name, axes in axes_of.items()}

# %% [markdown]
# Two lines of our own, and two axes. Are they what PyTorch calls by these names?

# %%
by_torch = F.batch_norm(batch.transpose(1, 2), None, None, training=True).transpose(1, 2)  # it wants (B, D, T)
one_is_torch_s_layer_norm = torch.allclose(normalised(batch, (2,)), F.layer_norm(batch, (4,)), atol=1e-5)
the_other_is_torch_s_batch_norm = torch.allclose(normalised(batch, (0, 1)), by_torch, atol=1e-5)
assert one_is_torch_s_layer_norm
assert the_other_is_torch_s_batch_norm
{name: [round(v, 1) for v in normalised(batch, axes)[0, 0].tolist()] for name, axes in axes_of.items()}  # Jane

# %% [markdown]
# **The neighbour test.** Sentence 0 is Jane's, sentence 1 is Ann's. We leave Jane's as it is, and multiply Ann's by
# ten. **Predict** for both norms: what happens to Jane's sentence?

# %%
louder_ann = torch.stack([sentence, 10 * ann])
moved = {name: (normalised(louder_ann, axes) - normalised(batch, axes))[0].abs() for name, axes in axes_of.items()}
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
for axis, (name, change) in zip(axes, moved.items(), strict=True):
    plots.heat_map(axis, change, words, features, f"change by {name}", limit=2.2)
    axis.set(xlabel="feature", ylabel="word in sentence 0")
plots.show(figure, "How much Jane's sentence changes when Ann's is multiplied by ten. Layer norm: zero in all twenty "
                   "squares. Batch norm: every square changes, some by more than 1.")

# %%
layer_norm_does_not_hear_the_neighbour = moved["layer norm"].max().item() == 0
batch_norm_does = moved["batch norm"].min().item() > 0.01 and moved["batch norm"].max().item() > 1
assert layer_norm_does_not_hear_the_neighbour
assert batch_norm_does
{name: round(change.max().item(), 2) for name, change in moved.items()}

# %% [markdown]
# **Verdict: false.** With batch norm, what becomes of a sentence depends on who else is in the batch. With layer norm
# it never does. "Add & norm" in the picture of the Transformer means layer norm.
#
# For images batch norm has served well: a batch holds thousands of pixels for each mean. Why is it not used here?

# %% [markdown] name="batch-norm-drawbacks"
# ## Three prices of batch norm
#
# **1. Training and test.** At test time there may be no batch. So batch norm keeps *running averages* of the means and
# variances that it saw in training, and uses those. **Predict** for both norms: does the same input give the same
# result in train and eval mode?

# %%
flat = batch.flatten(0, 1)  # (10, 4), ten words
modules = {"batch norm": nn.BatchNorm1d(4), "layer norm": nn.LayerNorm(4)}
apart = {name: (m.train()(flat) - m.eval()(flat)).abs().max().item() for name, m in modules.items()}
only_batch_norm_changes_in_test = apart["batch norm"] > 0.5 and apart["layer norm"] == 0
the_average_moved_by_a_tenth = torch.allclose(modules["batch norm"].running_mean, 0.1 * flat.mean(0))
assert only_batch_norm_changes_in_test
assert the_average_moved_by_a_tenth
{name: [kept for kept, _ in m.named_buffers()] for name, m in modules.items()}  # kept besides weights

# %% [markdown]
# Only batch norm gives two results. After one batch, its running mean has gone a tenth of the way to the batch's mean.
# Even after many, each training batch has a mean of its own.
#
# **2. Small batches.** The statistics are estimated from the batch. Put Jane into many batches, among random other
# words, and see how far her result wobbles. **Predict:** how many times as large must a batch be to halve the wobble?

# %%
generator = torch.Generator().manual_seed(5)
sizes = [2, 4, 8, 16, 32, 64, 128]


def wobble(axis, size):
    """The standard deviation of Jane's result over 300 random batches."""
    others = 2.5 * torch.randn(300, size - 1, 4, generator=generator) + 2.5
    batches = torch.cat([jane.expand(300, 1, 4), others], dim=1)  # (300, size, D)
    return normalised(batches, axis)[:, 0].std(dim=0).mean().item()


# %%
wobbles = {"batch norm": [wobble(1, size) for size in sizes], "layer norm": [wobble(2, size) for size in sizes]}
figure, axis = plt.subplots(figsize=(5, 3))
for (name, values), style in zip(wobbles.items(), ["s--", "o-"], strict=True):
    axis.semilogx(sizes, values, style, label=name)
axis.set_xticks(sizes, sizes)
axis.minorticks_off()
axis.set(xlabel="words in the batch", ylabel="wobble of Jane")
axis.legend()
plots.show(figure, "The wobble of Jane's result over the number of words in the batch, from 2 to 128. Batch norm: from "
                   "about 0.8 down to about 0.1. Layer norm: zero throughout.")

# %%
layer_norm_never_wobbles = max(wobbles["layer norm"]) < 1e-5
four_times_the_words_halve_it = 1.6 < wobbles["batch norm"][2] / wobbles["batch norm"][4] < 2.4
assert layer_norm_never_wobbles
assert four_times_the_words_halve_it

# %% [markdown]
# Four times as many words halve the wobble. **Predict:** what can a batch of one give, as when words come one by one
# (*online*)?

# %%
try:
    modules["batch norm"].train()(jane[None])
    a_batch_of_one_fails = False
except ValueError as error:
    a_batch_of_one_fails = True
    print(str(error).split(",")[0])
assert a_batch_of_one_fails

# %% [markdown]
# PyTorch refuses.
#
# **3. Sentences of many lengths.** In a recurrent network batch norm keeps a mean and a variance for
# *every time step* (a reason for layer norm: Ba and colleagues, section 3.1). Four sentences have 5, 4, 2 and 2 words:
# how many words stand at place 5? **Predict** what batch norm makes of that place, and of place 6.

# %%
four = torch.randn(4, 5, 4, generator=generator)  # (B, T, D)
real = torch.arange(5) < torch.tensor([5, 4, 2, 2])[:, None]  # (B, T), a padding mask as in lesson 07
at_place = [four[real[:, t], t] for t in range(5)]  # the words that stand there
by_time_step = [normalised(here, 0) for here in at_place]  # a mean and a variance for each
a_lone_word_becomes_nothing = torch.equal(by_time_step[4], torch.zeros(1, 4))
assert a_lone_word_becomes_nothing
[len(here) for here in at_place], by_time_step[4][0].tolist()

# %% [markdown]
# A lone word is its own mean, and all that is left is zero. For place 6 there is no mean at all. Layer norm needs only
# the one word.
#
# In short, layer norm does the same thing in training and in test, in any batch, at any place. A decoder that writes
# one word at a time (lesson 11) needs just that. These cells show how batch norm works; none shows that it makes a
# training worse.

# %% [markdown] name="a-word-alone"
# ## What is still missing: a word by itself
#
# Attention moves things between words. Can it also make something of what it has brought? Take a sentence of **one**
# word: it can only look at itself.
#
# A function f is linear, up to a constant, if f(a + b) + f(0) = f(a) + f(b) for all a and b. If not, it is
# **non-linear**. **Predict:** do six layers of attention, with skips, pass that test?

# %%
a, b = torch.randn(2, 1, 1, D, generator=generator)  # two sentences of one word


def two_sides(f):
    """Both sides of the test: the same for a linear function, up to a constant."""
    return f(a + b) + f(0 * a), f(a) + f(b)


left_side, right_side = two_sides(lambda word: through(word, six, skip)[-1])
on_one_word_attention_is_linear = torch.allclose(left_side, right_side, atol=1e-4)
assert on_one_word_attention_is_linear
for side in (left_side, right_side):
    print([round(v, 2) for v in side.flatten()[:6].tolist()])

# %% [markdown] name="feed-forward"
# ## The feed-forward network
#
# They do. With one word the softmax is always 1, and what is left is matrices. Attention's softmax decides *where to
# look*. Nothing decides *what to make of it*.
#
# So each word gets a small network: out to a hidden layer, a switch, and back. The field calls such a switch an
# **activation function**: a non-linear function that is applied to each number by itself. Here it is $\max(0, h)$,
# called **ReLU**: a positive number passes, a negative one becomes 0.
#
# $$
# \mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2
# $$
#
# **One number first:** one number in, two hidden, one out. $W_1 = (1, -1)$, $b_1 = (-2, 2)$, $W_2 = (1, 1)$,
# $b_2 = -1$. **On paper:** what comes out for $x = -1$? And for 2? Which well-known function is it?

# %%
W_1, b_1 = torch.tensor([[1.0, -1.0]]), torch.tensor([-2.0, 2.0])  # (1, 2), (2,)
W_2, b_2 = torch.tensor([[1.0], [1.0]]), torch.tensor([-1.0])  # (2, 1), (1,)
number = torch.tensor([[-1.0]])
before_the_switch = number @ W_1 + b_1  # (1, 2)
hidden = before_the_switch.clamp(min=0)  # max(0, ...)
out = hidden @ W_2 + b_2  # (1, 1)
minus_one_becomes_two = out.item() == 2
assert minus_one_becomes_two
before_the_switch.tolist(), hidden.tolist(), out.item()

# %%
line = torch.linspace(-2, 6, 81)[:, None]  # (81, 1)
switches = (line @ W_1 + b_1).clamp(min=0)  # (81, 2)
bent = (switches @ W_2 + b_2)[:, 0]  # (81,)
figure, axis = plt.subplots(figsize=(5.4, 3.2))
for i, style in enumerate([":", "--"]):
    axis.plot(line, switches[:, i], style, label=f"hidden number {i + 1}")
axis.plot(line, bent, label="output")
axis.set(xlabel="x", ylabel="value")
axis.legend()
plots.show(figure, "Two hidden numbers over x from -2 to 6: the first is zero up to 2 and rises from there, the second "
                   "falls to zero at 2. Their sum less 1 is a V with its tip at x = 2, at height -1.")

# %%
it_is_the_distance_from_2_less_1 = torch.allclose(bent, (line[:, 0] - 2).abs() - 1, atol=1e-5)
assert it_is_the_distance_from_2_less_1
{x: round(bent[10 * (x + 2)].item(), 2) for x in (-2, 0, 2, 4, 6)}

# %% [markdown]
# The distance from 2, less 1. No linear map can bend like that, and **one** hidden number cannot either: it is flat on
# one side of its switch.

# %% [markdown]
# ### Exercise 2: `FeedForward`
#
# ★☆☆ · 10 minutes · about 2 lines
#
# The layers stand ready in `__init__`; write `forward`. Dropout sets some hidden numbers to zero while training, and
# nothing otherwise; `self.dropout` knows when.
#
# <details><summary>Hint 1: a question</summary>
#
# `nn.Linear` works on the last axis and leaves all others alone. Do you need a loop over words?
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
# `FFN` is your own class from here on. If yours loops over the words, it is right, and some cells below take minutes.
#
# Does it pass the test that attention passed?

# %%
torch.manual_seed(6)
think = FFN(D, 4 * D)
left_side, right_side = two_sides(think)
feed_forward_is_not_linear = (left_side - right_side).abs().max().item() > 0.05
assert feed_forward_is_not_linear
for side in (left_side, right_side):
    print([round(v, 2) for v in side.flatten()[:6].tolist()])

# %% [markdown] name="position-wise"
# ## Who notices?
#
# **Predict:** if only *Africa* changes, which words notice, in a feed-forward layer and in attention?

# %%
new_africa = x.clone()
new_africa[0, 2] = torch.randn(D, generator=generator)


def who_notices(layer):
    """The words whose result changes when Africa changes."""
    change = (layer(new_africa) - layer(x))[0].abs().amax(-1)  # (T,)
    return [word for word, c in zip(words, change.tolist(), strict=True) if c > 1e-5]


# %%
only_africa_notices = who_notices(think) == ["Africa"]
in_attention_everybody_notices = who_notices(asks_itself(six[0])) == words
assert only_africa_notices
assert in_attention_everybody_notices
{"feed-forward": who_notices(think), "attention": who_notices(asks_itself(six[0]))}

# %% [markdown]
# One network, the same weights at every place, and each word alone in it: the paper calls it **position-wise**. So the
# two halves of a Transformer layer share the work: attention moves things between words; feed-forward makes something
# new of each word, and moves nothing.

# %% [markdown] name="expand"
# ## Why so wide?
#
# In the paper the hidden layer is **four times** as wide as the word: 512, 2,048, 512. Why not 512 throughout?
#
# Give the network something to do that takes more than adding: for eight numbers, the product of each with its
# neighbour. A product says *both*: it is large where both are. **Predict:** how does the error fall as the
# hidden layer grows from 4 to 64?

# %%
def products(x):
    return x * x.roll(1, dims=-1)


def error(d_ff, seed):
    """Train a network on products; return its mean squared error at the end. Guessing 0 gives 1."""
    torch.manual_seed(seed)
    model = FFN(8, d_ff)
    generator = torch.Generator().manual_seed(seed)
    batches = [(x, products(x)) for x in torch.randn(300, 128, 8, generator=generator)]
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = fit(model, lambda model, x, y: F.mse_loss(model(x), y), batches, optimizer, seed=seed)
    return losses[-20:].mean().item()


# %%
times_wider = [0.5, 1, 2, 4, 8]
errors = [sorted(error(int(8 * times), seed) for seed in range(3)) for times in times_wider]
figure, axis = plt.subplots(figsize=(5.4, 3.2))
axis.semilogx(times_wider, errors, "o", color="C0")
axis.semilogx(times_wider, [e[1] for e in errors], "C0-")
axis.set_xticks(times_wider, ["½", "1", "2", "4", "8"])
axis.minorticks_off()
axis.set(xlabel="d_ff / d_model", ylabel="error", ylim=(0, 1))
plots.show(figure, "Error over the width of the hidden layer, three seeds each: 0.9 at half the width of the word, "
                   "0.75 at the same, 0.35 at twice, about 0.1 at four times and a little less at eight times.")

# %%
_, same, _, four_times, _ = (e[1] for e in errors)
four_times_as_wide_mends_most = four_times < same / 3
assert four_times_as_wide_mends_most
{times: round(e[1], 2) for times, e in zip(times_wider, errors, strict=True)}

# %% [markdown]
# Every hidden number is one switch. A V such as |x| takes two of them, and no finite number makes an exact square. A
# product is a difference of two squares, $xy = ((x + y)^2 - (x - y)^2) / 4$, so it needs more. But why does the curve
# flatten at four? We stored trainings of 300 and of 3,000 steps, with a rate that falls to zero, for products and for
# |x|. **Predict:** does the gain slow beyond four again in 3,000 steps? And is twice the width enough for |x|?

# %%
longer = {}
for row in stored("08-width"):
    longer.setdefault((row["task"], row["steps"]), {}).setdefault(row["times"], []).append(row["error"])
middle = {run: {times: sorted(seeds)[1] for times, seeds in widths.items()} for run, widths in longer.items()}
few, many = middle["products", 300], middle["products", 3000]
in_few_steps_the_gain_slows = few[4] / few[8] < few[2] / few[4] / 1.5
in_many_it_does_not = many[4] / many[8] > many[2] / many[4]
two_per_number_can_do_it = min(longer["|x|", 3000][2]) < 1e-5
two_seeds_miss_it = sorted(longer["|x|", 3000][2])[1] > 0.1
four_per_number_are_enough_for_all = max(longer["|x|", 3000][4]) < 1e-5
assert in_few_steps_the_gain_slows
assert in_many_it_does_not
assert two_per_number_can_do_it
assert two_seeds_miss_it
assert four_per_number_are_enough_for_all
for (task, steps), widths in longer.items():
    print(f"{task:9}{steps:5} steps", *(f"  {times}x: {sorted(e)[1]:.3f}" for times, e in widths.items()))
print("|x| at 2x, 3,000 steps:", [round(e, 3) for e in longer["|x|", 3000][2]])

# %% [markdown]
# In a short training the gain slows beyond four; with ten times the steps it does not. And two hidden numbers per
# feature can make |x|, yet two seeds in three miss it; at four all find it. So the width serves the training, too. Four
# is a choice and no law: in the paper's table 3, rows (C), half the width translates worse and twice the width better.
#
# **Guess** which has more weights in a block of the paper's size, attention or feed-forward.

# %%
weights_of = {"attention": MultiHeadAttention(512, 8), "feed-forward": FFN(512, 2048)}
counts = {name: sum(p.numel() for p in module.parameters()) for name, module in weights_of.items()}
feed_forward_has_two_thirds = abs(counts["feed-forward"] / sum(counts.values()) - 2 / 3) < 0.01
assert feed_forward_has_two_thirds
{name: f"{count:,}" for name, count in counts.items()}

# %% [markdown] name="add-and-norm"
# ## Add & norm
#
# Now we join the wires. Attention and feed-forward are called **sublayers**, and the paper wraps each alike: **add**
# what it says to x, then **norm** the sum. With the norm last, the sum cannot grow from block to block. The whole
# machine does this thirty times: six encoder layers with two sublayers each, six decoder layers with three.

# %% [markdown]
# ### Exercise 3: `SublayerConnection`
#
# ★★☆ · 10 minutes · about 1 line
#
# `forward` takes the same two arguments as `plain` and `skip` above: x, and a callable that keeps the shape. That may
# be feed-forward as it is, or attention as `asks_itself(layer)` makes it. Dropout falls on what the sublayer says,
# never on x.
#
# <details><summary>Hint 1: a question</summary>
#
# Read the formula LayerNorm(x + Dropout(sublayer(x))) from the inside out. What happens first, and what last?
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
# Now a block of the encoder: attention, then feed-forward. Each is wrapped in a wire of its own, with its own gain and
# bias. Everything keeps the shape, so blocks can be stacked.
#
# | part | attention | feed-forward | skip connection | layer norm |
# |---|---|---|---|---|
# | **inputs** | x (B, T, D) | x (B, T, D) | x, f(x) (B, T, D) | x (B, T, D) |
# | **who meets whom** | words meet words | features of one word | nobody | features of one word |
# | **outputs** | (B, T, D) | (B, T, D) | (B, T, D) | (B, T, D) |

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
# Twelve of them, untrained, and Jane's sentence ten times too large. **Predict:** are the words still apart at the end?
# With skips alone, the gradient grew very large in 24 layers with Xavier's weights. **Predict** it with the norm.

# %%
torch.manual_seed(7)
blocks = nn.Sequential(*(Block(AddNorm) for _ in range(12)))
out = blocks(10 * x)  # (B, T, D)
twelve_blocks_keep_words_apart = likeness(out) < 0.9
assert twelve_blocks_keep_words_apart
print(f"likeness {likeness(x):.2f} -> {likeness(out):.2f}")

# %%
with_norm = arriving(AddNorm(D), loud_layer)[-1]  # (3,)
the_norm_bounds_the_gradient = 0.03 < with_norm.min().item() and with_norm.max().item() < 30
assert the_norm_bounds_the_gradient
for name, values in {"add & norm": with_norm, "skip alone": last["skip, Xavier"]}.items():
    print(f"24 layers, {name}:", [f"{v:.1g}" for v in values])

# %% [markdown] name="pre-or-post"
# ## Where should the norm stand?
#
# Yours stands **after** the sum: *post-norm*, as in 2017. Later models put it **before** the sublayer, on the
# branch: *pre-norm*. Then nothing at all stands on the road. It is another class:
#
# | part | post-norm | pre-norm |
# |---|---|---|
# | **inputs** | x, sublayer | x, sublayer |
# | **the sublayer sees** | x | norm(x) |
# | **outputs** | norm(x + sublayer(x)) | x + sublayer(norm(x)) |

# %%
class PreNorm(nn.Module):
    """Norm on the branch; the road around stays as it is."""

    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, sublayer):
        return x + sublayer(self.norm(x))


# %% [markdown]
# A pre-norm stack gets one more norm at its very end: the road itself has never met one. For comparison, a wire that
# only adds.

# %%
class JustAdd(nn.Module):
    """The road alone."""

    def __init__(self, d_model):
        super().__init__()

    def forward(self, x, sublayer):
        return skip(x, sublayer)


def post(depth):
    return lambda: [Block(AddNorm) for _ in range(depth)]


def pre(depth):
    return lambda: [*(Block(PreNorm) for _ in range(depth)), nn.LayerNorm(D)]


def just_add(depth):
    return lambda: [Block(JustAdd) for _ in range(depth)]


# %% [markdown]
# Back to the twins: two blocks and ten, three seeds, a learning rate of 0.003. Xiong and colleagues
# ([arXiv:2002.04745](https://arxiv.org/abs/2002.04745)) trained post-norm and pre-norm stacks with and without a
# **warm-up**, a learning rate that rises over the first steps. So the fourth kind here is post-norm with a rate that
# rises over the first 50 steps. **Predict:** which of the four learn at ten blocks?

# %%
depths = [2, 10]
kinds = {"post-norm": (post, 1), "pre-norm": (pre, 1), "just add": (just_add, 1), "post-norm, warm-up": (post, 50)}
trained = {name: [[hits(kind(depth), seed, warm_up=steps) for seed in range(3)] for depth in depths]
           for name, (kind, steps) in kinds.items()}

# %%
right_over("layers", depths, trained, "blocks of attention and feed-forward",
           "Right answers over 2 and 10 blocks, three seeds each. At 2 blocks all four kinds are near 0.95. At 10 "
           "blocks post-norm falls to 0.57, the line of always saying no. Pre-norm stays near 0.9, just adding near "
           "0.98, and post-norm with warm-up above 0.9.")

# %% [markdown]
# Is it the place of the norm, or the rate? **Predict** ten blocks at a third of this rate, without a warm-up. Xiong and
# colleagues explain the warm-up by large gradients near the output at the start of training. Does our stack have them?
# (And three seeds are few: seven more for post-norm.)

# %%
def gradient_of_blocks(kind, seed):
    """The norm of the gradient of each of ten blocks, before the first step."""
    torch.manual_seed(seed)
    model = TwinFinder(kind(10)(), 1.0)
    loss_of(model, *sentences(32, 1000 * seed)).backward()
    return [sum(p.grad.square().sum() for p in block.parameters()).sqrt().item() for block in model.layers[:10]]


ten = [*trained["post-norm"][1], *(hits(post(10), seed) for seed in range(3, 10))]
print("post-norm at 0.003, ten seeds:", sorted(round(r, 2) for r in ten))
at_a_third = {kind.__name__: [hits(kind(10), seed, rate=1e-3) for seed in range(3)] for kind in (post, pre)}
for name, right in at_a_third.items():
    print(f"{name:5} at 0.001:", [round(r, 2) for r in right])
for kind in (post, pre):
    first, *_, top = gradient_of_blocks(kind, 0)
    print(f"{kind.__name__:5} gradient of block 1: {first:.2f}, of block 10: {top:.2f}")

# %%
(post_2, _), (pre_2, pre_10), (add_2, add_10), (warm_2, warm_10) = trained.values()
shallow_all_work = min(post_2 + pre_2 + add_2 + warm_2) > 0.75
most_deep_post_norm_fails_at_this_rate = sum(right < 0.75 for right in ten) >= 5
deep_pre_norm_still_learns = sorted(pre_10)[1] > sorted(ten)[5] + 0.06
warm_up_saves_post_norm = sorted(warm_10)[1] > sorted(ten)[5] + 0.12
without_a_norm_ten_blocks_learn = min(add_10) > 0.85
at_a_third_of_the_rate_both_learn = min(at_a_third["post"] + at_a_third["pre"]) > 0.9
no_larger_gradient_near_the_output = all(max(g := gradient_of_blocks(post, seed)) < 2 * g[0] for seed in range(3))
assert shallow_all_work
assert most_deep_post_norm_fails_at_this_rate
assert deep_pre_norm_still_learns
assert warm_up_saves_post_norm
assert without_a_norm_ten_blocks_learn
assert at_a_third_of_the_rate_both_learn
assert no_larger_gradient_near_the_output
{name: [round(right, 2) for right in seeds[1]] for name, seeds in trained.items()}

# %% [markdown]
# At a rate of 0.003 most stacks of ten post-norm blocks learn little or nothing, unless the first steps are small; two
# of these ten get through. At 0.001 they learn without a warm-up, as well as pre-norm. So post-norm needs small first
# steps; a warm-up lets you use the larger rate later. In our small stack we do not see the large gradients near the
# output. The 2017 paper warms up for 4,000 steps (section 5.3) and does not say why.
#
# With PyTorch's small weights, ten blocks that only add learn at 0.003 without any norm: here it is the norm after each
# sum that makes most deep stacks fail. So when does a norm help? This course stays with the paper's post-norm. Where a
# later lesson takes pre-norm, it says so.
#
# Eight layers with skips learned little with Xavier's weights. **Predict:** does the norm mend that? Does it help to
# divide $W_o$ by 4 at the start, with no norm? (Again stored: attention only, each at its best learning rate.)

# %%
by_scale |= {wire: at_the_best_rate(wire) for wire in ("post-norm", "pre-norm", "skip, W_o / 4")}
right_over("scale of the first weights", scales, by_scale, "eight layers of attention",
           "As before, with three more lines. At scale 1 all are near 0.96. At 1.73 the skip with W_o / 4 is at 0.97, "
           "pre-norm at 0.91, post-norm at 0.76, the skip alone at 0.63. At 3 pre-norm is at 0.71, post-norm at 0.67, "
           "W_o / 4 at 0.60, the skip at 0.54. At 0.25 the skip is at 0.90, W_o / 4 at 0.85, the norms near 0.8.")

# %%
xavier, small = ({wire: seeds[i] for wire, seeds in by_scale.items()} for i in (3, 0))
both_norms_do_better_with_xavier = max(xavier["skip"]) < min(xavier["post-norm"]) < min(xavier["pre-norm"])
a_smaller_W_o_does_best = min(xavier["skip, W_o / 4"]) > max(xavier["pre-norm"])
at_3_the_norms_do_better = max(by_scale["skip, W_o / 4"][4]) < min(by_scale["post-norm"][4] + by_scale["pre-norm"][4])
small_weights_need_no_norm = min(small["skip"]) > max(small["post-norm"] + small["pre-norm"])
assert both_norms_do_better_with_xavier
assert a_smaller_W_o_does_best
assert at_3_the_norms_do_better
assert small_weights_need_no_norm
{wire: [round(right, 2) for right in seeds] for wire, seeds in xavier.items()}

# %% [markdown]
# Partly. With pre-norm, Xavier's weights do little harm; with post-norm they still do much in a hundred steps. A
# smaller $W_o$ does best there, without a norm; at scale 3 the norms do better. Where the weights begin small, a norm
# does not help here.

# %% [markdown]
# ### Does the norm speed up learning?
#
# Ba and colleagues found so in recurrent networks. Take two blocks. The paper multiplies its embeddings by
# $\sqrt{d_\text{model}}$ (section 3.4). That suits numbers of about $1 / \sqrt{d_\text{model}}$; PyTorch's embeddings
# begin with numbers of about 1 (lesson 09), so copying the formula makes them too large. We try both: as they are, and
# times $\sqrt{32}$. **Predict** the right answers for add & norm, for just add, and for just add with a single norm,
# right above the embeddings.

# %%
def one_norm():
    return [nn.LayerNorm(D), *just_add(2)()]


large = {name: [sorted(hits(kind, seed, scale=scale) for seed in range(3)) for scale in (1, D**0.5)]
         for name, kind in {"add & norm": post(2), "just add": just_add(2), "one norm, then add": one_norm}.items()}

# %%
(norm_small, norm_large), (add_small, add_large), (_, one_large) = large.values()
at_size_1_the_norm_is_not_needed = add_small[1] > norm_small[1] - 0.05
at_a_large_size_add_and_norm_does_better = min(norm_large) > max(add_large) + 0.08
one_norm_does_best = min(one_large) > max(norm_large)
assert at_size_1_the_norm_is_not_needed
assert at_a_large_size_add_and_norm_does_better
assert one_norm_does_best
{name: [[round(right, 2) for right in seeds] for seeds in results] for name, results in large.items()}

# %% [markdown]
# **Verdict: it depends on what comes in.** Where all sizes happen to be right, two small blocks learn as well without a
# norm. Where the words are too large, one norm right above the embeddings repairs it completely, better than a norm
# after every sum. In a post-norm stack the large words pass one attention before they meet a norm.

# %% [markdown] name="missing-piece"
# ## Which piece is missing?
#
# Here is the machine of lesson 00 again. You have built attention, masks, norms, skips and feed-forward. Two boxes have
# lost their name. **Guess** it.

# %%
from course_lib.display.drawings import draw_transformer

figure, axes = plt.subplots(figsize=(9.6, 8.5))
draw_transformer(axes)
for text in axes.texts:
    if text.get_text() == "position":
        text.set(text="?", weight="bold", fontsize=15)
    text.set_visible(text.get_text() != "09")
plots.show(figure, "The Transformer as a block diagram, encoder and decoder. On either side a box marked with a "
                   "question mark is added to the embedding of the words, before the first layer.")

# %% [markdown]
# A clue: read the sentence backwards, through twelve blocks. **Predict:** what changes for Jane?

# %%
backwards = blocks(x.flip(1)).flip(1)  # read from September to Jane, and put back in order
the_blocks_cannot_tell = torch.allclose(backwards, blocks(x), atol=1e-4)
assert the_blocks_cannot_tell
print("Jane, forwards: ", [round(v, 2) for v in blocks(x)[0, 0, :4].tolist()])
print("Jane, backwards:", [round(v, 2) for v in backwards[0, 0, :4].tolist()])

# %% [markdown]
# <details><summary>The answer</summary>
#
# **Position.** Attention treats its words as a bag; norm and feed-forward look at one word at a time; skips carry what
# is there. Nothing in the block knows who stands where. *Jane visits Africa* and *Africa visits Jane* are the same to
# it. So the place is *added to the word* before the first layer, and the skips carry it up: you measured that above.
#
# </details>

# %% [markdown]
# ## Summary
#
# - Six plain layers make words copies of each other: mixing does it, and at PyTorch's scale biases do it alone. Whether
#   the gradient fades depends on the scale of the weights, with attention or without.
# - A skip connection, x + f(x), lets through whatever came in, position included, and learns at every small scale that
#   we tried. Alone it does not bound the sum: with larger weights numbers and gradients grow, and training is slow.
# - Layer norm brings each word back to mean 0 and spread 1; gain and bias are learned. After the sum, it bounds
#   the sum.
# - Batch norm takes its mean over other sentences. It needs running averages, large batches and, in a recurrent
#   network, a mean and a variance per time step.
# - Feed-forward, $\max(0, x W_1 + b_1)\, W_2 + b_2$: ReLU is the bend that attention lacks. The same network at each
#   place, each word alone. Wider hidden layers learn more, and four times is a choice.
# - Post-norm, norm(x + f(x)), is the paper's. It needed smaller first steps than pre-norm, x + f(norm(x)). At small
#   first weights our deep stack needed no norm at all.
# - The block still does not know the order of the words.
#
# **Think about it.** In a pre-norm stack the road is never normalised. Suppose every sublayer says as much as the next:
# how much can the 100th block still change the sum? Is that a fault or a virtue?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): section 3.1 (residual connections and layer
# norm), section 3.3 and equation 2 (feed-forward), section 5.4 (dropout on each sublayer's output), table 3 (width).
# Skip connections: [He et al. 2015](https://arxiv.org/abs/1512.03385). Copies without them:
# [Dong et al. 2021](https://arxiv.org/abs/2103.03404). Layer norm:
# [Ba et al. 2016](https://arxiv.org/abs/1607.06450), equations 3 and 4. Batch norm:
# [Ioffe and Szegedy 2015](https://arxiv.org/abs/1502.03167). Pre-norm:
# [Xiong et al. 2020](https://arxiv.org/abs/2002.04745).
#
# **Next.** Which vectors should the places add? Lesson 09 tries the bad ideas first, and then finds waves.
