# %% [markdown]
# # 13b · Where a Vision Transformer looks
#
# *75 minutes: reading 27, predicting 14, writing 34 · needs lesson 13 · one exercise*
#
# **At the end you can**
#
# - say what the positions of a trained model know of the grid;
# - draw attention over a picture, head by head, and follow it through all layers;
# - test a map by leaving out what it says does not matter, with controls;
# - let a word look at a picture, and say what its attention does *not* prove.

# %%
import torch
import torch.nn.functional as F

from course_lib import check, claim, intervene, mine, predict, shipped
from course_lib.display import instruments, plots
from course_lib.display.drawings import gaze as draw

torch.set_num_threads(1)

# %% [markdown] name="again"
# ## Your ViT, trained
#
# Lesson 13 trained it on 1,347 digits for 45 epochs. The course ships the weights of such a
# training. They go into *your* class.

# %% tags=["nbval-ignore-output"]
from course_lib.experiments import digits

Model, cut = mine("ViT"), mine("patchify")
model = shipped.vision_transformer(Model)
training, test = digits.halves(seed=0)
right = digits.accuracy(model, *test)
print(f"of {len(test[1])} unseen digits it reads {right:.1%}")

# %% [markdown] name="positions"
# ## Does it know the grid?
#
# Nobody told the model that patch 6 lies below patch 2. All it has is one row of numbers per place,
# and the rows began at random. For models that were trained on millions of photos, the paper (figure
# 7) shows that rows of neighbours point in similar directions after training: the grid has been
# *found*. Ours has seen 1,347 digits.
#
# We take the cosine of each row with each other one, after subtracting their mean, the part that all
# share.

# %% tags=["predict"]
predict(
    "In our model, the rows of neighbouring places are …",
    {
        "hardly more alike than those of far ones": (
            True,
            "Rows only have to tell places apart, and random ones do. Who is near whom "
            "may be told by the pictures, if there are enough of them.",
        ),
        "clearly more alike: it found the grid": "It reads 99 of 100 digits. Does it "
        "need to know who is near whom for that?",
        "less alike: neighbours must be told apart": "All places must be told apart. "
        "Is that harder for neighbours?",
        "equal": "Then two patches with equal ink would be one and the same token.",
    },
    concept="C126",
)

# %%
def likeness(rows):
    """The cosine of each row with each other one, after subtracting their mean."""
    rows = F.normalize(rows - rows.mean(0), dim=-1)
    return rows @ rows.T  # (N, N)


# %%
looks = shipped.photo_looks()  # what a ViT for photos made of two of them
ours = likeness(model.embed.pos[0, 1:].detach())  # (16, 16), without the class token
real = likeness(looks.positions)  # (256, 256)
rows = {"ours, 4 × 4": (ours, (0, 5, 6, 10, 15)),
        "photos, 16 × 16": (real, (0, 40, 136, 180, 255))}
plots.show(draw.alike(rows), "alike")

# %% [markdown]
# Below, for comparison: **ViT-S/14**, twelve layers, six heads, 384 wide, 22 million parameters.
# Others have trained it to find what a photo is *of*
# ([jgo_saliency](https://github.com/julesGoueffon/jgo_saliency)); its parts are those of DINOv2
# ([Oquab et al. 2023](https://arxiv.org/abs/2304.07193)), which saw 142 million photos. There the
# grid is in the rows, and nobody put it there.
#
# Then what are our rows good for?

# %% tags=["predict"]
predict(
    "A ViT for digits whose random rows are *never trained*, beside one that has none "
    "at all:",
    {
        "the first reads as well as ours, the second far worse": (
            True,
            "Places have to be told apart; how, does not matter. Without rows a "
            "picture is a bag of patches.",
        ),
        "both read about as well as ours": "Without rows, does it matter to the model "
        "where a patch is?",
        "both read far worse": "What is it that a trained row can do, and a random row "
        "cannot?",
        "the first far worse, the second as well as ours": "Which of the two can tell "
        "two places apart?",
    },
    concept="C126",
)

# %%
from course_lib.experiments.stored import stored

without = {}
for row in stored("13b-without"):
    without.setdefault((row["what"], row["epochs"]), []).append(row["right"])
for (what, epochs), each in without.items():
    print(f"{epochs:3} epochs, without {what:21}",
          " ".join(f"{share:.1%}" for share in each))

# %% tags=["claim"]
# The proof
def margin(cosines):
    """How much more alike neighbours are than other pairs of places, on average."""
    place, side = torch.arange(len(cosines)), round(len(cosines) ** 0.5)
    steps = sum((of[:, None] - of).abs() for of in (place // side, place % side))
    return (cosines[steps == 1].mean() - cosines[steps > 1].mean()).item()


claim("in our rows the grid is hardly to be seen, in those for photos it is",
      margin(ours) < 0.15 < 0.5 < margin(real))
mean = {key: sum(each) / len(each) for key, each in without.items()}
worse = {(what, n): mean["nothing", n] - mean[what, n]
         for what in ("learning of positions", "positions") for n in (20, 100)}
claim("random rows that are never trained do as well, within a point and a half",
      all(abs(worse["learning of positions", n]) < 0.015 for n in (20, 100)))
claim("without rows it is ten points behind, after five times the epochs as well",
      all(worse["positions", n] > 0.1 for n in (20, 100)))

# %% [markdown] name="attention-maps"
# ## Where does it look?
#
# The row of the class token says how much of each patch goes into the answer, layer by layer and
# head by head. About four of the sixteen patches of a digit have no ink at all.

# %% tags=["predict"]
predict(
    "Do the heads look at ink, or at paper?",
    {
        "some at ink alone, two half at paper": (
            True,
            "Heads divide the work. That there is *no* ink at a place says something, "
            "too: a three is an eight with less.",
        ),
        "all of them at ink, where the digit is": "Does an empty place tell nothing "
        "about a digit?",
        "all of them evenly, at every patch": "Then no head would have learned what to "
        "look for.",
        "all of them mostly at paper, the ground": "Four in sixteen patches are paper. "
        "Is that where digits differ most?",
    },
    concept="C129",
)

# %%
from course_lib.experiments import gaze

patterns = gaze.maps(model, test[0])  # (L, B, H, N + 1, N + 1) = (2, 450, 4, 17, 17)
tuple(patterns.shape)

# %% tags=["nbval-ignore-output"]
blank = (cut(test[0], 2) == test[0].min()).all(-1)  # (B, N)
shares = patterns[:, :, :, 0, 1:]  # (L, B, H, N), the class token asks
on_paper = (shares * blank[:, None]).sum(-1).mean(1) / shares.sum(-1).mean(1)  # (L, H)
print(f"{blank.float().mean():.0%} of all patches are paper. Attention on paper:")
for layer, row in enumerate(on_paper.tolist(), 1):
    heads = [f"head {h} {share:4.0%}" for h, share in enumerate(row, 1)]
    print(f"  layer {layer}:", "  ".join(heads))

# %% [markdown]
# See for yourself. Each square's area is a share. One digit after the other, layer by layer, head
# by head:

# %%
def seen(i, rollouts=()):
    """A digit and its maps, for the instrument."""
    ink = (test[0][i] - test[0].min()) / (test[0].max() - test[0].min())
    layers = {}
    for n, pattern in enumerate(patterns):
        layers[f"layer {n + 1}"] = {f"head {h}": rows[0]
                                    for h, rows in enumerate(pattern[i], 1)}
        if rollouts:
            layers[f"layer {n + 1}"]["rollout"] = rollouts[n][i]
    return 1 - ink, layers


# %% tags=["nbval-ignore-output"]
labels = test[1].tolist()
four = {f"a {digit}": labels.index(digit) for digit in (7, 3, 8, 4)}
pictures = {name: seen(i) for name, i in four.items()}
instruments.show("picture", "instrument-digits", start=(0, 0), pictures=pictures)

# %% tags=["claim"]
# The proof
claim("a head of each layer looks at ink alone, or nearly",
      on_paper.min(1).values.max() < 0.1)
claim("two heads give paper far more than its share of the patches",
      (on_paper > 1.5 * blank.float().mean()).sum() == 2)

# %% [markdown] name="rollout"
# ## Through all layers
#
# A map of one layer is half the story. In layer 2 a patch is no longer just a patch: in layer 1 it
# has taken in others. Abnar and Zuidema ([2020](https://arxiv.org/abs/2005.00928)) follow the shares
# through all layers, and call it attention **rollout**. With $A_l$ for the mean of the heads in layer
# $l$, and half of each token coming from itself, for the skip connection:
#
# $$R = \left(\tfrac12 A_L + \tfrac12 I\right) \cdots \left(\tfrac12 A_2 + \tfrac12 I\right)
# \left(\tfrac12 A_1 + \tfrac12 I\right)$$
#
# By hand: in layer 1, token A takes 0.2 from patch P, and the class token takes nothing from P. In
# layer 2 the class token takes 0.5 from A, and none from P.

# %% tags=["predict"]
predict(
    "How much of P is in the class token at the end?",
    {
        0.025: (True, "Half of 0.2 is in A, and half of 0.5 of A is in the class "
                "token: 0.1 · 0.25."),
        0.1: "That is 0.2 · 0.5. And the half of each token that comes from itself?",
        0.05: "One of the two layers has its half now. And the other?",
        0.35: "Shares along one way are multiplied: a part of a part.",
    },
    concept="C175",
    within=0.001,
)

# %% [markdown]
# ### Exercise 1: `rollout`
#
# ★★☆ · 8 minutes · about 4 lines
#
# All layers at once: `patterns` has shape (L, B, H, T, T).
#
# <details><summary>Hint 1: a question</summary>
#
# Row $t$ of a layer's table says what goes into token $t$. What has to stand on the left, the table
# of the first layer or that of the last?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. begin with the identity: before any layer, each token is all of itself
# 2. for each layer: the mean over heads, half of it, and half of the identity
# 3. multiply what you have by it, from the left
#
# </details>

# %% tags=["exercise"]
from course_lib.rollout import rollout

# %%
follow = check(rollout).verified

# %% tags=["nbval-ignore-output"]
layer_1 = torch.tensor([[1.0, 0, 0], [0, 0.8, 0.2], [0, 0, 1]])  # class token, A, P
layer_2 = torch.tensor([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]])
by_hand = follow(torch.stack([layer_1, layer_2])[:, None, None])[0]  # (3, 3)
print("of class token, A and P in the class token:",
      [round(share, 3) for share in by_hand[0].tolist()])

# %% tags=["nbval-ignore-output"]
through = follow(patterns)  # (B, N + 1, N + 1)
so_far = [follow(patterns[:1])[:, 0], through[:, 0]]
pictures = {name: seen(i, so_far) for name, i in four.items()}
instruments.show("picture", "instrument-rollout", start=(1, 4), pictures=pictures)

# %% tags=["claim"]
# The proof
claim("0.2 of a half, and 0.5 of a half of that, are 0.025",
      abs(by_hand[0, 2] - 0.025) < 1e-6)
claim("a row of a rollout sums to one",
      torch.allclose(through.sum(-1), torch.ones(()), atol=1e-5))

# %% [markdown] name="drop-patches"
# ## Does it matter where it looks?
#
# A map is easy to believe (lesson 03). So test it: leave out eight of the sixteen patches of each
# test digit, the ones with the **least** rollout, or those with the **most**. White paint would not
# do: white says *no ink here*. A mask does it: no token may look at what is left out.
#
# ### Yours: the mask
#
# `gone` (B, 16) is True where a patch is left out. Attention wants a mask (B, 1, 17), True where a
# token may be seen, and nobody leaves out the class token. Write `lambda gone: …`.

# %%
generator = torch.Generator().manual_seed(0)
half_gone = torch.rand(len(test[0]), 16, generator=generator) < 0.5  # (B, N)


# %%
def under(mask):
    """The test accuracy when all layers get this mask."""
    x = model.embed(test[0])
    for layer in model.layers:
        x = layer(x, mask)
    return (model.head(x[:, 0]).argmax(-1) == test[1]).float().mean().item()


# %% tags=["yours", "nbval-ignore-output"]
mask_of = lambda gone: F.pad(~gone, (1, 0), value=True)[:, None]  # yours: a function

intervene(
    "no token looks at what is left out",
    mask_of,
    run=lambda mask_of: under(mask_of(half_gone)),
    holds=lambda share: share == gaze.accuracy_without(model, half_gone, *test),
    among=lambda mask_of: mask_of(half_gone).shape == (len(half_gone), 1, 17),
    shows="without a random half, {result:.1%} are right",
    otherwise="True means: may be seen. Which index has the class token?",
)

# %% [markdown]
# Three controls do not look at this picture at all: patches **at random**; **one map for all**, the
# mean rollout of the training pictures; and the **variance** of each patch over the training
# pictures, which needs no model.

# %% tags=["predict"]
predict(
    "Eight patches are left out of each digit, those with the least rollout, or by the "
    "variance. Still right:",
    {
        "more than 90 of 100 by either": (
            True,
            "Half the patches can go, if one knows which. And to know that, one need "
            "not look at the digit: its margin will do.",
        ),
        "more than 90 by the rollout, about 60 by the variance": "About 60 is what "
        "random patches leave. Where do digits have their strokes?",
        "about 60 by either": "So much is left when the eight are chosen at random.",
        "fewer than 30 by either": "That happens without the eight that matter *most*.",
    },
    concept="C129",
)

# %%
left_out = {}
for row in stored("13b-left-out"):
    both = row["without the least"], row["without the most"]
    left_out.setdefault(row["measure"], {}).setdefault(row["many"], []).append(both)
plots.show(draw.left_out(left_out, right), "left-out")

# %% [markdown]
# With eight patches gone the controls are a point or two behind: most of what the rollout knows is
# where digits have their strokes, not where *this* digit has them. What it knows of this digit shows
# with twelve gone: there it is ten points ahead on average, and ahead in 19 of twenty trainings.
#
# ### Yours: without looking
#
# Choose eight patches, the same for all digits, without which more than 93 of 100 are still right.
# Patches are numbered 1 to 16, like words on a page.

# %%
def still_right(gone):
    """The test accuracy when the same patches are left out of all digits."""
    left_out = torch.isin(torch.arange(1, 17), torch.tensor(list(gone)))
    return gaze.accuracy_without(model, left_out.expand(len(test[0]), -1), *test)


# %% tags=["yours", "nbval-ignore-output"]
gone = {1, 5, 9, 13, 4, 8, 12, 16}  # yours: eight different numbers from 1 to 16

intervene(
    "without these eight, for all digits, more than 93 of 100 are right",
    gone,
    run=still_right,
    holds=lambda share: share > 0.93,
    among=lambda gone: len(set(gone)) == 8 and set(gone) <= set(range(1, 17)),
    shows="{result:.1%} are right",
    otherwise="Where do digits hardly have ink, all of them?",
)

# %% [markdown]
# So a good score in such a test is no proof that a map knows *this* picture: the control is. And
# paper? With the patches that have no ink gone, and with as many others at random:

# %%
paper = stored("13b-paper")
for row in paper:
    print(f"{row['blank']:.1f} per digit: without paper {row['without paper']:.1%},",
          f"without as many at random {row['without as many']:.1%}")

# %% tags=["claim"]
# The proof
def least(measure, many):
    """The accuracies of twenty trainings without what matters least by a measure."""
    return torch.tensor([both[0] for both in left_out[measure][many]])


own, every = (least(name, 8).mean() for name in ("rollout", "rollout, one map for all"))
claim("eight patches can go when rollout or variance chooses them",
      min(own, least("variance, no model", 8).mean()) > 0.9)
claim("random ones cost far more", least("at random", 8).mean() < 0.75)
claim("with eight gone, one map for all digits is less than three points worse",
      own - every < 0.03)
claim("with twelve gone, the digit's own is ahead in more than four of five trainings",
      (least("rollout", 12) > least("rollout, one map for all", 12)).sum() > 16)
claim("the last layer alone is a poorer guide",
      least("last layer", 8).mean() < own - 0.03)
claim("without paper fewer are right than with it, more than without random patches",
      all(row["without as many"] < row["without paper"] < row["with all"]
          for row in paper))

# %% [markdown] name="photos"
# ## Photos
#
# Digits are small. Here is the ViT for photos from above. Its maps of two photos (scikit-learn's, a
# pagoda and a flower) ship with the course: 16 × 16 patches, twelve layers, six heads. Four layers
# are in the instrument, and the rollout up to each of them.

# %% tags=["predict"]
predict(
    "In its last layer, what do the six heads look at?",
    {
        "five at the thing, one at everything else": (
            True,
            "It was trained to find the thing. Five heads share that, each in its way: "
            "rim, heart, roofs. One takes the background.",
        ),
        "all six at the thing": "It has to find the thing. Does the background help?",
        "each at a part of the photo of its own": "Heads are told apart by what they "
        "look for, not by places.",
        "all six everywhere: the last layer averages": "What would the class token "
        "learn from an even mixture?",
    },
    concept="C129",
)

# %%
LAYERS = (1, 5, 9, 12)


def photo(image, heads, rollouts=None):
    """A photo and its maps, (L, H, N + 1), for the instrument."""
    layers = {}
    for n in LAYERS:
        layers[f"layer {n}"] = {f"head {h + 1}": row
                                for h, row in enumerate(heads[n - 1])}
        if rollouts is not None:
            layers[f"layer {n}"]["rollout"] = rollouts[n - 1]
    return image, layers


# %% tags=["nbval-ignore-output"]
pictures = {name: photo(looks.images[name], looks.heads[name], looks.rollouts[name])
            for name in looks.images}
instruments.show("picture", "instrument-picture", start=(3, 0), pictures=pictures)

# %% [markdown]
# Turn to the rollout, layer by layer. On two layers it was the better guide. On twelve it shows one
# patch, and hardly anything else.

# %% tags=["predict"]
predict(
    "Where does that one patch come from? (The instrument knows.)",
    {
        "from one head of the first layer": (
            True,
            "Head 6 of layer 1: all its weight is on one patch. Rollout takes the mean "
            "of the heads, and carries it through all layers.",
        ),
        "from the last layer": "Look at the rollout of layer 1.",
        "from all heads, a little of each": "Whose weight on one patch is near 1?",
        "from the skip connections": "They keep half of each token where it is.",
    },
    concept="C175",
)

# %%
def largest(shares):
    """The largest patch's part of all that is on patches."""
    return (shares[1:].max() / shares[1:].sum()).item()


# %%
for name in looks.images:
    top = looks.heads[name][0, 5, 1:].max()
    print(f"{name}: layer 1, head 6 gives one patch {top:.2f}; the largest patch of",
          f"the rollout has {largest(looks.rollouts[name][-1]):.1%},",
          f"without layer 1 {largest(looks.above[name]):.1%}")

# %% [markdown]
# Leave out that one layer, and the spot is gone. Rollout knows how much is *looked at*, not what is
# taken from there. A tool has to be tested where it is used.
#
# On patches of 14 × 14, templates can be read: here are sixteen main directions of its 384 (the
# first right singular vectors of the matrix).

# %%
plots.show(draw.templates(looks.templates), "templates")

# %% tags=["claim"]
# The proof
grid = looks.heads["flower"][-1][:, 1:].unflatten(-1, (16, 16))  # (H, 16, 16)
middle = grid[:, 4:12, 4:12].sum((1, 2)) / grid.sum((1, 2))
claim("five heads give the flower, the middle quarter, more than twice its share",
      (middle > 0.5).sum() == 5)
claim("one head gives it less than half its share", middle.min() < 0.125)
claim("one head of layer 1 makes the spot of the rollout",
      all(looks.heads[name][0, 5, 1:].argmax() == looks.rollouts[name][-1][1:].argmax()
          and largest(looks.rollouts[name][-1]) > 5 * largest(looks.above[name])
          for name in looks.images))

# %% [markdown] name="real-vit"
# ## The real one, in your code
#
# The maps above were computed once. With its weights you can do it yourself: they go into *your*
# `PatchEmbedding` and *your* `MultiHeadAttention`. They have 90 MB, and you are asked once whether to
# fetch them. Without them the lesson is complete.

# %% tags=["nbval-ignore-output"]
from course_lib import data
from course_lib.pretrained import vit

PHOTO = None  # a photo of your own, such as "cat.jpg"
eyes = None
if data.offer("vit"):
    eyes = vit.load(mine("PatchEmbedding"), mine("MultiHeadAttention"))

# %% tags=["nbval-ignore-output"]
if eyes is not None:
    import numpy as np
    from PIL import Image

    photos = shipped.photographs()
    if PHOTO is not None:
        own = torch.from_numpy(np.array(Image.open(PHOTO).convert("RGB")))
        photos["yours"] = own.permute(2, 0, 1) / 255
    now = gaze.maps(eyes, vit.prepare(photos.values()))  # (L, B, H, N + 1, N + 1)
    same = all((now[:, b, :, 0] - looks.heads[name]).abs().max() < 0.01
               for b, name in enumerate(looks.images))
    print("your code gives the maps that ship:", same)

# %% tags=["nbval-ignore-output"]
if eyes is not None:
    images = shipped.squared(photos.values())
    pictures = {name: photo(images[b], now[:, b, :, 0])
                for b, name in enumerate(photos)}
    instruments.show("picture", "instrument-your-photos", pictures=pictures)

# %% [markdown] name="across-modalities"
# ## A word looks at a picture
#
# Queries need not come from where keys and values come from. In lesson 11 they came from another
# language. They may come from another *kind of thing*: a **word** asks, a **picture** answers. This
# is **cross-attention across modalities**.
#
# Our task: nine different digits on one canvas, and a word. The answer is a drawing, 64 numbers, of
# the digit that the word asks for, as it is written on this canvas.

# %%
from course_lib.experiments import canvases

Embedding, Attention = mine("PatchEmbedding"), mine("MultiHeadAttention")
canvas, word, cell = canvases.canvases(*test, 400, seed=0)  # digits never seen
asks = [f"show me the {canvases.WORDS[w]}" for w in word[:5]]
plots.show(draw.requests(canvas[:5, 0], asks), "requests")

# %% [markdown]
# A patch is a whole digit here: nine tokens (the class token is left out), and a feed-forward
# network works on each.
#
# ### Yours: the word asks
#
# Write the last line of `forward`. `self.words` is a table of ten vectors, one per word.
# `self.look(query, key, value)` is your attention with one head, `self.out` makes 64 numbers of
# what it gives.

# %% tags=["yours", "nbval-ignore-output"]
class ShowMe(canvases.Asked):
    """A word and a canvas in, the digit that the word asks for out, as 64 numbers."""

    Embedding, Attention = Embedding, Attention

    def forward(self, canvas, word):
        x = self.cells(canvas)[:, 1:]  # (B, 9, d)
        x = x + self.think(x)
        x = self.out(self.look(self.words(word)[:, None], x, x))[:, 0]  # yours: (B, 64)
        return x


intervene(
    "the word asks, the picture answers",
    ShowMe,
    run=canvases.beside,
    holds=lambda off: off < 1e-4,
    shows="the largest difference from the course's is {result:.5f}",
    otherwise="Who asks? Who is asked, and who delivers?",
)

# %% [markdown]
# It is trained on the pixels of its drawings, for 800 steps. Nobody ever says *where* the digit is.

# %% tags=["predict"]
predict(
    "With digits that it never saw, the word's largest weight is on the right one …",
    {
        "on more than nine of ten canvases": (
            True,
            "To draw *this* seven it has to take its pixels from *this* seven: nowhere "
            "else is what it needs.",
        ),
        "on about one of nine: nobody told it where": "Could it draw this seven "
        "without looking at it?",
        "on about half of them": "Half of the drawings would be of other digits. Would "
        "the loss let it stay so?",
        "never: it looks at all and mixes": "What would a mixture of nine digits look "
        "like?",
    },
    concept="C131",
)

# %%
from course_lib.experiments.own import right_or

Mine = right_or(canvases.Asked, ShowMe, canvases.beside)
show_me = canvases.trained("draw", training, kind=Mine)
weights = canvases.looks(show_me, canvas, word)  # (B, 9)
there = (weights.argmax(-1) == cell).float().mean().item()

# %%
with torch.no_grad():
    drawn = show_me(canvas[:5], word[:5]).reshape(-1, 8, 8)
plots.show(draw.requests(canvas[:5, 0], asks, weights, drawn), "drawn")

# %% [markdown]
# A fine story: *attention shows where the answer is*. Test it with another question about the same
# canvases. The model has to **name the cell**, a number from 0 to 8. Nothing else changes.

# %% tags=["predict"]
predict(
    "Twenty trainings of 4,000 steps, and each gets 98 of 100 right. The largest "
    "weight is on the digit asked for …",
    {
        "in some trainings always, in others never": (
            True,
            "It can look at the digit, or at the eight others, and name the cell that "
            "is missing. Both work; chance decides which it learns.",
        ),
        "always: it has to find the digit": "Nine cells, and it looks at eight of "
        "them. What does it know of the ninth?",
        "never: pixels do not say where they are": "What is added to each of the nine "
        "tokens?",
        "on about half of the canvases each time": "Would a model that has found one "
        "way change it from canvas to canvas?",
    },
    concept="C176",
)

# %%
from course_lib.display.drawings.classifier import seeds

tasks = {}
for row in stored("13b-asked"):
    if row["steps"] == 4000:
        both = row["looks there"], row["right"]
        tasks.setdefault(row["task"], []).append(both)
looked = {task: [x for x, _ in each] for task, each in tasks.items()}
plots.show(seeds(looked, "largest weight on the digit asked for"), "two-tasks")

# %%
shares = {"look at it": [share for x, share in tasks["name the cell"] if x > 0.9],
          "never do so": [share for x, share in tasks["name the cell"] if x < 0.1]}
are_right = {who: torch.tensor(each).mean().item() for who, each in shares.items()}
for who, each in shares.items():
    print(f"{len(each):2} {who:11} and are right in {are_right[who]:.1%}")

# %% tags=["claim"]
# The proof
claim("to draw, it looks at the digit", there > 0.9)
claim("so do all twenty longer trainings", min(x for x, _ in tasks["draw"]) > 0.9)
claim("to name the cell, some trainings look at it and some never do",
      min(map(len, shares.values())) > 1 and sum(map(len, shares.values())) == 20)
claim("those that never look at it are right just as often",
      abs(are_right["never do so"] - are_right["look at it"]) < 0.01)

# %% [markdown]
# Same data, same network, same question; equally good answers, opposite maps. A map says what *this*
# model does, not what the question needs.
#
# ## Summary
#
# - A trained table of positions may know the grid, or not: after 142 million photos it does, after
#   1,347 digits it does not, and need not.
# - The class token's row says where it looks. Heads divide the work: ink and paper, or the thing
#   and all else.
# - Rollout follows the shares through all layers. One head that looks at a single patch can fill it.
# - Leaving patches out tests a map. A map that is the same for all pictures may do as well, so test
#   that, too.
# - A query may come from words, and keys and values from a picture. What the weights show depends on
#   what the answer needs, and sometimes on chance.
#
# **Think about it.** A doctor is shown a map of where a network looked in an X-ray, and trusts its
# verdict more. Which two controls of this lesson would you ask for first?
#
# <details><summary>An answer</summary>
#
# *One map for all*: is this map any different from the mean map of all X-rays? If not, it says
# nothing about this patient. And *leaving out*: does the verdict change when what it looked at is
# masked, and does it stay when as much of the rest is? Even then the map shows what was used, not
# that it was used rightly.
#
# </details>
#
# **In the papers.** [Dosovitskiy et al. 2021](https://arxiv.org/abs/2010.11929), figure 7 (templates,
# positions, distances) and appendix D.4 (kinds of positions). Rollout: [Abnar and Zuidema
# 2020](https://arxiv.org/abs/2005.00928), section 3. Single patches that draw attention in large
# ViTs: [Darcet et al. 2024](https://arxiv.org/abs/2309.16588), *Vision Transformers need registers*.
#
# **Next.** The same block has now read words and pictures, and nothing in it knew which. Lesson 14
# asks what kind of machine that is.
