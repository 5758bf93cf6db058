# %% [markdown]
# # 10 · The encoder, and text classification
#
# *75 minutes: reading 30, predicting 10, writing 35 · needs lessons 08 and 09 · four
# exercises*
#
# **At the end you can**
#
# - write the encoder layer of the 2017 paper, and a classifier of whole texts on top;
# - turn the vectors of a text into one, without falling into the padding trap;
# - write the loop that keeps the best epoch, and ask the test data once;
# - say what a bag of words, n-grams and an encoder can know about a sentence, and
#   which of them still knows it where training never went.

# %%
import torch
from torch import nn

from course_lib import check, claim, intervene, mine, predict
from course_lib.display import plots
from course_lib.display.drawings import classifier as draw
from course_lib.display.drawings import encoder

torch.set_num_threads(1)

# %% [markdown]
# ## One number first
#
# Two guests write about the same house. The first one liked it, the second did not.
#
# > *the garden was dreadful but the room was brilliant*
# >
# > *the garden was brilliant but the room was dreadful*
#
# Let "brilliant" count 3, "dreadful" −2 and every other word 0. What is the sum of
# each review?

# %%
review = "the garden was dreadful but the room was brilliant".split()
twin = "the garden was brilliant but the room was dreadful".split()
worth = {"brilliant": 3, "dreadful": -2}
[sum(worth.get(word, 0) for word in words) for words in (review, twin)]

# %% [markdown]
# They are **twins**, as in lesson 09: the same words, the opposite meaning. A sum of
# words, a mean, a maximum: whatever does not look at order gives both the same.
#
# So this is the question of the lesson: **what must happen to a sentence so that one
# vector can say what it means?** It seems that something has to happen to the *words*,
# before anybody adds them up: an opinion has to take in what stands around it. You have
# written all the parts for that. When they are put together, we also ask which of them
# the answer needed.

# %% [markdown] name="encoder"
# ## The encoder
#
# The **encoder** is the left half of figure 1 of the paper: $N = 6$ *identical* layers,
# one on top of the other. Each layer has two **sublayers**. In the first one, self-
# attention, every token attends to all tokens. In the second one, a feed-forward
# network, every token is transformed on its own. What goes into a layer and what comes
# out have one shape, $(B, T, d_{model})$. That is why layers can be stacked.

# %% tags=["predict"]
predict(
    "Six identical layers, with your multi-head attention of lesson 06. When training "
    "is over, how many different modules W_q does the stack hold?",
    {
        1: "Then one layer would run six times. Identical means built alike, and each "
        "layer has weights that learn by themselves.",
        6: (True, "Built alike, with weights of their own: one W_q in each layer."),
        12: "A layer has two sublayers, but only one of them is attention.",
        18: "Those are W_q, W_k and W_v of all layers. How many are W_q?",
        48: "In the paper each head has its own. In your module all heads share one "
        "W_q: each takes its own slice of it.",
    },
    concept="C101",
    within=0.1,
)

# %%
plots.show(encoder(), "encoder")

# %% [markdown]
# Read it from the bottom up. The thick line is the **residual stream**: the vectors,
# one per token, that all skip connections pass along. A sublayer reads from it, its
# answer is added to it, and a norm follows. You wrote this in lesson 08:
# `SublayerConnection`. For one layer, that is
#
# $$
# \underset{(B,\,T,\,d)}{h} = \mathrm{LayerNorm}_1(x + \mathrm{MultiHead}(x, x, x))
# \qquad
# \underset{(B,\,T,\,d)}{y} = \mathrm{LayerNorm}_2(h + \mathrm{FFN}(h))
# $$
#
# One token on paper. It comes in as $x = (5, 1)$. The attention says $(0, 2)$, and
# afterwards the feed-forward network says $(0, 3)$. With two numbers a fresh layer
# norm is simple: the larger one becomes nearly 1, the smaller one nearly −1. (The card
# of exercise 1 shows such numbers with all their digits.)

# %% tags=["predict"]
predict(
    "x = (5, 1), the attention says (0, 2), the feed-forward network says (0, 3). What "
    "leaves the layer?",
    {
        "(5, 6)": "That is the sum of all three. A norm follows each of the two "
        "additions.",
        "(1, −1)": "That is what leaves the first norm. The second sublayer adds "
        "(0, 3) to it, and not to x.",
        "(−1, 1)": (
            True,
            "(5, 1) + (0, 2) = (5, 3), which the norm makes (1, −1). Plus (0, 3) it "
            "is (1, 2), and the norm makes (−1, 1).",
        ),
        "(1, 2)": "One norm is missing: the last one.",
    },
    concept="C102",
)

# %%
SublayerConnection = mine("SublayerConnection")
first, second = SublayerConnection(2), SublayerConnection(2)
x = torch.tensor([5.0, 1.0])  # (d_model,)
h = first(x, lambda x: torch.tensor([0.0, 2.0]))
y = second(h, lambda h: torch.tensor([0.0, 3.0]))
h.detach().round().tolist(), y.detach().round().tolist()

# %% [markdown]
# The second addition is to $h$: $(1, -1) + (0, 3) = (1, 2)$, and the norm makes
# $(-1, 1)$ of it.
#
# ### Exercise 1: `EncoderLayer`
#
# ★☆☆ · 8 minutes · about 2 lines
#
# The constructor is finished: your attention of lesson 06, your feed-forward network of
# lesson 08, two norms, one dropout for both sublayers. Write `forward`. Try pre-norm on
# purpose, too, and read what the check answers.
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the five parts has to be told who may see whom? And which x does the second
# sublayer read?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. x asks x about x
# 2. dropout on what comes back; add x; the first norm; from here on this is x
# 3. the feed-forward network
# 4. dropout on what comes back; add x; the second norm
#
# </details>

# %%
MultiHeadAttention, FeedForward = mine("MultiHeadAttention"), mine("FeedForward")

# %% tags=["exercise"]
from course_lib.transformer import EncoderLayer

# %%
EncoderLayer = check(EncoderLayer).verified

# %% [markdown]
# Six of them make a stack. A list that repeats *one* layer makes something else:

# %%
stack = nn.ModuleList(EncoderLayer(32, 4, 64) for _ in range(6))
repeated = nn.ModuleList([EncoderLayer(32, 4, 64)] * 6)
for layers in (stack, repeated):
    print(len({layer.self_attn.W_q for layer in layers}), "different W_q")

# %% [markdown]
# ## Further: the same layer in two other ways
#
# First with something that is yours: two `SublayerConnection`s, around the same
# attention and the same feed-forward network.

# %%
torch.manual_seed(0)
layer = EncoderLayer(d_model=32, num_heads=4, d_ff=64)
first, second = SublayerConnection(32), SublayerConnection(32)
first.norm, second.norm = layer.norm1, layer.norm2
x, real = torch.randn(2, 7, 32), torch.arange(7) < torch.tensor([[7], [4]])  # (B, T)
mask = real[:, None]  # (B, 1, T)
h = first(x, lambda x: layer.self_attn(x, x, x, mask))  # (B, T, d_model)
y = second(h, layer.ff)  # (B, T, d_model)

# %% tags=["claim"]
# The proof
claim("an encoder layer is two of your SublayerConnections",
      torch.allclose(y, layer(x, mask), atol=1e-6))

# %% [markdown]
# Then with PyTorch's own `nn.TransformerEncoderLayer`. It keeps $W_q$, $W_k$ and $W_v$
# as one matrix, one below the other; `translated` gives your weights its names. A fresh
# norm has gain 1 and bias 0, and two swapped norms would not be noticed, so every
# weight gets some noise first. In torch's `src_key_padding_mask`, True means *ignore*:
# the mask is inverted with `~`.

# %%
from course_lib.experiments.torch_layer import gradients, translated

theirs = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
with torch.no_grad():
    for weight in layer.parameters():
        weight.add_(0.1 * torch.randn(weight.shape))
theirs.load_state_dict(translated(dict(layer.named_parameters())))
ours, other = layer(x, mask), theirs(x, src_key_padding_mask=~real)
our_slopes, slopes = translated(gradients(layer, ours)), gradients(theirs, other)
len(slopes), tuple(other.shape)

# %% tags=["claim"]
# The proof
largest = max(g.abs().max() for g in slopes.values())
claim("forward and all gradients are PyTorch's", torch.allclose(ours, other, atol=1e-5)
      and all(torch.allclose(our_slopes[name], slopes[name], atol=1e-5 * largest)
              for name in slopes))

# %% [markdown]
# A trap for stacks: `nn.TransformerEncoder(theirs, 6)` *copies* the layer, so that all
# six begin with the **same** random numbers. Its documentation asks you to initialize
# them yourself.

# %% [markdown] name="pooling"
# ## From many vectors to one
#
# A text of $T$ tokens leaves the encoder as $T$ vectors, and a classifier wants one.
# The classic choice is **max pooling**: in each feature, the largest number of all
# tokens. (*Max over time*, in [Collobert et al.
# 2011](https://arxiv.org/abs/1103.0398).) From $x$ of shape $(B, T, D)$ it makes $c$ of
# shape $(B, D)$:
#
# $$
# c_{b, j} = \max_{t\ \mathrm{real\ in}\ b} \; x_{b, t, j}
# $$
#
# By hand: in one feature, the two tokens of a text hold −2 and −5. Its batch has longer
# texts, so it gets two positions of padding, and there the feature happens to hold 0
# and −1.

# %% tags=["predict"]
predict(
    "Tokens −2 and −5, padding 0 and −1. Somebody takes the maximum of all four "
    "positions. By how much is it too large?",
    {
        2: (True, "The largest token is −2, and padding's 0 wins over it."),
        0: "Does a maximum know which places are padding? The mask went to the "
        "attention, and to nobody else.",
        5: "The right result is the largest of the tokens. Which one is that?",
        1: "Padding holds two numbers. Which one is the largest of all four?",
        -2: "That is the right maximum. How far above it is the other one?",
    },
    concept="C105",
    within=0.1,
)

# %%
feature = torch.tensor([-2.0, -5, 0, -1])  # (T,)
is_real = torch.tensor([True, True, False, False])
feature[is_real].amax().item(), feature.amax().item()

# %% [markdown]
# The 0 belongs to no token. This is the **padding trap**: a mask has kept padding out
# of the attention, and the pooling lets it in again. So pooling needs the mask, too.
#
# ### Exercise 2: `max_over_real_tokens`
#
# ★☆☆ · 6 minutes · about 3 lines
#
# Let padding never win, wherever it stands. A text without any real token gets zeros:
# such a text can stand in a batch, and its infinities can make NaN of the gradients of
# all weights.
#
# <details><summary>Hint 1: a question</summary>
#
# Which number is smaller than every number a token can have? (−∞ is allowed on the
# way.) And which shape must a mask (B, T) get before it fits vectors (B, T, D)?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a third axis for the mask, so that it says the same for all features of a token
# 2. fill padding with a number that never wins (`masked_fill`), and take the maximum
#    over the tokens
# 3. where no token was real, what was filled in is all that is left: put zeros there
#
# </details>

# %% tags=["exercise"]
from course_lib.classifier import max_over_real_tokens

# %%
max_over_real_tokens = check(max_over_real_tokens).verified

# %% [markdown] name="transformer-encoder"
# ## From token numbers to logits
#
# Now everything between token numbers and a verdict. Number 0 is padding.
#
# 1. Embeddings. They begin with a standard deviation of $1/\sqrt{d_{model}}$, so times
#    $\sqrt{d_{model}}$ they are about as large as the sinusoidal positions that are
#    added to them (lesson 09). Dropout follows.
# 2. $N$ encoder layers. There is no causal mask: nothing has to be guessed, so each
#    token may look to both sides. Only padding is hidden.
# 3. Max pooling over real tokens, and a linear layer on top: the classification head.
#
# $$
# \underset{(B,\,\mathrm{classes})}{\mathrm{logits}} =
# W \max_{t\ \mathrm{real}} \mathrm{Encoder}\left(\sqrt{d}\, E_{ids} + P\right)_t + b
# $$
#
# The maximum is taken in each feature by itself. With two classes there are two logits,
# and the larger one is the verdict.

# %% [markdown]
# ### Exercise 3: `EncoderClassifier`
#
# ★★☆ · 13 minutes · about 7 lines
#
# The constructor is finished; your own layers, masks, positions and pooling are at
# hand. Write `forward`. (It keeps no `d_model`: that is the last axis of the
# embeddings.)
#
# <details><summary>Hint 1: a question</summary>
#
# Padding has to be kept out at two places. Which two, and which shape does each of them
# want its mask in?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the mask from the token numbers, with the constructor's `pad_id`: (B, 1, T)
# 2. embeddings times √d_model, plus positions of the same type and device (`.to(x)`);
#    dropout on the sum
# 3. through every layer, each with the mask
# 4. the maximum over the real tokens: the pooling wants the mask as (B, T)
# 5. the head, and nothing after it
#
# </details>

# %%
padding_mask_from_ids = mine("padding_mask_from_ids")  # (ids, pad_id) -> (B, 1, T)
sinusoidal_positions = mine("sinusoidal_positions")  # numbers T, d -> a table (T, d)

# %% tags=["exercise"]
from course_lib.classifier import EncoderClassifier

# %%
EncoderClassifier = check(EncoderClassifier).verified

# %% [markdown] name="padding-trap"
# Watch a fresh model: two words, padded to 2, 5, 10 and 25 positions. It is one text,
# so it has to get the same logits (we print the first). Beside it, the trap: the same
# weights, but the maximum is taken over all positions. For that we stop your model
# before its pooling: `token_vectors` runs its embeddings and its layers, and returns
# one vector for each token.

# %%
from course_lib.experiments.twins import entering, token_vectors

sizes = dict(vocab_size=41, d_model=64, num_heads=4, d_ff=128, num_layers=2)
torch.manual_seed(2)
fresh = EncoderClassifier(**sizes, num_classes=2).eval()
text = torch.tensor([[7, 2]])  # (1, T)
padded = [nn.functional.pad(text, (0, more)) for more in (0, 3, 8, 23)]

# %%
with torch.no_grad():
    yours = [fresh(ids)[0, 0].item() for ids in padded]
    read = [token_vectors(fresh, ids) for ids in padded]  # (1, T, d_model) each
    trap = [fresh.head(x.amax(1))[0, 0].item() for x in read]
print("over the real tokens:", [f"{logit:.2f}" for logit in yours])
print("over all positions:  ", [f"{logit:.2f}" for logit in trap])

# %% [markdown]
# In the trap, what a text means depends on the longest text in its batch. Nothing
# raises an error, and a trained model may not show it. (Keras' `GlobalMaxPooling1D` has
# this trap; `GlobalAveragePooling1D` takes a mask.)

# %% tags=["claim"]
# The proof
claim("over real tokens a text keeps its logit, however far it is padded",
      max(abs(logit - yours[0]) for logit in yours) < 1e-5)
claim("over all positions the logit of a fresh model moves with the padding",
      max(abs(logit - trap[0]) for logit in trap) > 1e-3)

# %% [markdown] name="twins"
# ## A task that no bag of words can solve
#
# In most reviews, single words tell much, and a good score says little about order. So
# we write reviews in which order is everything. There are three forms:
#
# | form | what counts |
# |---|---|
# | *the A was X but the B was Y* | Y |
# | *although the A was X the B was Y* | Y |
# | *the A was X although the B was Y* | X |
#
# One of X and Y is a good word, the other a bad one, and each review comes with its
# twin, where the two are swapped: a **minimal pair**. (A test made of such pairs is
# also called a *contrast set*.) After an opinion there may stand nothing, two words
# (*this time*) or four (*as we had feared*), and after a thing *in this house* or *that
# we had booked*.

# %%
import random

from course_lib.experiments.twins import one_pair, split_of_twins

for text, label in one_pair(random.Random(3)):
    print(label, text)

# %% [markdown]
# 1 means good, 0 bad: do you agree with both? We draw 2,000 pairs to learn from, 500 to
# choose the best epoch, and 1,000 to test: the **training split**, the **validation
# split** and the test split. No review occurs twice, and twins stay together.

# %%
splits = split_of_twins(0)  # (texts, labels) each
[len(texts) for texts, _ in splits]

# %% [markdown]
# A bag of words gives both twins the same answer: right for one, wrong for the other.
# That is one half by construction.
#
# A rival that knows some order counts **n-grams**: strings of up to $n$ neighbouring
# words, such as *was dreadful but*. Logistic regression does the rest: one weight for
# each n-gram; their sum, squeezed between 0 and 1, is the probability of a good review.
# Between X and its *but* there are at most four other words.

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.twins import fitted

right = {n: fitted(n, splits[0]) for n in (1, 2, 3, 4, 5, 6)}
for n in right:
    print(f"n-grams of up to {n}: {right[n](splits[2]):.2f}")
print(f"{right[6].features:,} different ones of up to 6 words")

# %% [markdown]
# With up to six words (X, four others, *but*) it is right: an honest rival.

# %% tags=["claim"]
# The proof
claim("for a linear classifier, n-grams of up to five words are not enough, six are",
      max(right[n](splits[2]) for n in right if n < 6) < 0.93 < right[6](splits[2]))

# %% [markdown] name="keep-the-best"
# ## Keep the best
#
# One pass over all training texts is an **epoch**. The last one need not be the best: a
# model may begin to learn its training texts by heart, which is called **overfitting**.
# So after each epoch we ask the validation texts, and keep the weights of the best
# epoch. Kept weights are a **checkpoint**. The **test** texts are asked once, at the
# end: the best of many results is a little too good, by chance. (Above we asked six
# n-grams at once, and chose none.)
#
# `model.state_dict()` is a dict: for each name, one of the model's tensors. An
# optimizer changes the weights step by step.

# %% tags=["predict"]
predict(
    "After epoch 2: best = model.state_dict(). Then the training goes on to epoch 6. "
    "Which weights does best hold then?",
    {
        "those of epoch 2": "It would, if the dict held copies. What is written into a "
        "tensor is seen by everybody who holds this tensor.",
        "those before epoch 1": "At epoch 2 these were already gone: every step has "
        "written over them.",
        "those of epoch 6": (
            True,
            "The dict holds the model's own tensors. The optimizer goes on writing "
            "into them.",
        ),
    },
    concept="C106",
)

# %%
import copy

tiny = nn.Linear(1, 1)
nn.init.constant_(tiny.weight, 2.0)  # "epoch 2"
best, copied = tiny.state_dict(), copy.deepcopy(tiny.state_dict())
nn.init.constant_(tiny.weight, 6.0)  # "epoch 6", in place, as an optimizer does it
best["weight"].item(), copied["weight"].item()

# %% [markdown]
# This mistake raises no error, and its results look fine: they are those of the last
# epoch. Nobody writes into a deep copy.
#
# ### Exercise 4: `keep_the_best`
#
# ★★☆ · 8 minutes · about 4 lines
#
# The loop stands. Write what it does with a better epoch, and what has to be done when
# it is over. What trains and what measures are handed in as functions, so that the loop
# fits every model.
#
# <details><summary>Hint 1: a question</summary>
#
# With which of the earlier accuracies do you have to compare the newest one? And which
# weights does the model have when the loop is over?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. if the newest accuracy is larger than every one before (the first one always is,
#    even if it is 0): a deep copy of the weights, not the dict alone
# 2. after the loop: the kept weights, back into the model (`load_state_dict`)
# 3. only then the accuracy on the test data
#
# </details>

# %% tags=["exercise"]
from course_lib.training import keep_the_best

# %%
keep_the_best = check(keep_the_best).verified

# %% [markdown]
# Now train. The **logits** are the two scores before a softmax. The loss is the
# **cross-entropy**: −ln of the probability that the softmax gives to the right class. A
# model that always says ½ has a loss of $-\ln ½ = 0.69$. The optimizer is RMSprop, which
# divides each step by the recent size of that weight's gradients. The five lines of
# every training stand in `train_epoch`; elsewhere `fit` runs them for you.

# %%
from course_lib.display.live import progress_bar
from course_lib.experiments.twins import accuracy, as_tensors
from course_lib.training import shuffled

training, validation, test = map(as_tensors, splits)  # ids (texts, T), labels
torch.manual_seed(0)
model = EncoderClassifier(**sizes, num_classes=2)
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.001)


# %%
def train_epoch(model, epoch):
    """Every training text once, in a new order."""
    batches = shuffled(*training, batch_size=64, seed=epoch)
    for ids, labels in progress_bar(batches, desc=f"epoch {epoch + 1}"):
        logits = model.train()(ids)  # 1. what does it say? (dropout is on)
        loss = nn.functional.cross_entropy(logits, labels)  # 2. how wrong is that?
        optimizer.zero_grad()  # 3. forget the last gradients
        loss.backward()  # 4. a gradient for each weight
        optimizer.step()  # 5. move each weight a little


history, tested = keep_the_best(model, train_epoch, accuracy, validation, test, 6)
print(f"test: {tested:.2f}")
rivals = {n: right[n](splits[1]) for n in (3, 5, 6)}
plots.show(draw.epochs(history, rivals), "twins-epochs")

# %% [markdown]
# (`accuracy` calls `model.eval()` before it asks: dropout is off then.) The six-grams
# are at the top as well: on this test nobody is ahead.
#
# The checkpoint would vanish with the notebook, so it goes into a file. A file of weights
# is a list of names and numbers. It does not say how to *build* the model: the
# constructor's arguments are kept beside them. (In Keras, `get_config` is for that.)

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.runs import checkpoints

folder = TemporaryDirectory()  # it vanishes with the notebook
path = Path(folder.name) / "twins.pt"
checkpoints.save(model, path, **sizes)
again = EncoderClassifier(**sizes, num_classes=2)  # fresh random weights
before = accuracy(again, validation)
checkpoints.load(again, path)

# %% tags=["claim"]
# The proof
claim("the encoder is right for more than 97 of 100 twins", tested > 0.97)
claim("the file gives a new model the same answers",
      accuracy(again, validation) == accuracy(model, validation) > before)

# %% [markdown] name="without-attention"
# ## Was it the attention?
#
# The test is solved. By which part? Take the attention away and leave all the rest:
# embeddings, positions, feed-forward networks, norms, the maximum. No word knows of
# another one then.

# %% tags=["given"]
from course_lib.experiments.gaps import WithoutAttention

# %% tags=["predict"]
predict(
    "An encoder without attention is trained in the same way, on the same texts. Its "
    "accuracy on the test is …",
    {
        "one half: it has become a bag of words": "Each word still carries its place. "
        "So what goes in differs between twins.",
        "two thirds: what the places tell": "In two of three forms the later opinion "
        "counts. That is what a *mean* over words and places gets.",
        "nearly 1": (
            True,
            "A maximum can drown one word by another: an “although” in the middle "
            "hides what Y says.",
        ),
    },
    concept="C105",
)

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
without = WithoutAttention(**sizes, num_classes=2)
optimizer = torch.optim.RMSprop(without.parameters(), lr=0.001)
_, its_test = keep_the_best(without, train_epoch, accuracy, validation, test, 6)
print(f"test: {its_test:.2f}")

# %% [markdown]
# One training is one draw, so here are more of them, and a control: the same network once
# more, with a *mean* over its words in the place of the maximum.

# %%
from course_lib.experiments.stored import compare, stored

ablated = [row for row in stored("10-silent") if row["epochs"] == 6]
with_it = [row for row in stored("10-gaps")
           if row["model"] == "encoder" and row["epochs"] == 6]
on_the_test = {name: [row["test"] for row in with_it + ablated if row["model"] == of]
               for name, of in {
                   "encoder": "encoder",
                   "no attention, a maximum": "encoder without attention",
                   "no attention, a mean": "encoder without attention, a mean"}.items()}
plots.show(draw.seeds(on_the_test, "accuracy on the test", chance=True), "no-attention")

# %% [markdown]
# So on this task attention is not needed. Who does it, then? The last row says it: the
# maximum. A mean adds up one share for each word at its place, and no such sum can say:
# *Y counts, unless there is an "although" in the middle*. A maximum can: an *although* in
# the middle writes so large a number into the features of Y that Y's words are no longer
# seen, and X's are what is left. (This is how it *can* be done. We have not looked into
# the features. Five times the epochs change neither row.)
#
# What does attention do, if the verdict does not need it? It writes into the *words*:
# see the last section. And ask this of every model: a part that is famous, and there,
# need not be what does the work.

# %% tags=["claim"]
# The proof
silent, mean = (on_the_test[f"no attention, a {pooling}"]
                for pooling in ("maximum", "mean"))
claim("without attention an encoder is right for more than 97 of 100 twins, too",
      min(silent) > 0.97)
claim("without attention, and with a mean, it gets about two thirds",
      0.6 < min(mean) and max(mean) < 0.72)
claim("the one trained here comes out as the stored ones do",
      abs(its_test - on_the_test["no attention, a maximum"][0]) < 0.02)

# %% [markdown] name="longer-gaps"
# ## Where training never went
#
# Many solve the test. But how? We ask about reviews that no training had, though
# each word is known:
#
# - **longer gaps**: six to forty words between X and what follows. In training there
#   were at most four. (To be right on what is longer than in training is called **length
#   generalization**.)
# - **four words in front**: usual reviews, after *as we had feared*.
#
# Two more rivals join in. *Pairs in order* is a logistic regression again: which word
# stands somewhere before which other one? And a recurrent network, a **GRU** (lesson
# 03), reads from both ends, with a maximum over its states as the encoder has it, and
# half of the encoder's parameters. It is the strongest rival we know.

# %%
from course_lib.experiments.shifted import moved
from course_lib.experiments.twins import with_a_gap

longer = {gap: with_a_gap(gap, seed=1) for gap in (6, 9, 12)}  # 500 pairs each
front = moved(splits[2])  # (texts, labels)
min(longer[6][0], key=len), front[0][5]

# %% tags=["predict"]
predict(
    "Gaps of six to twelve words. Who falls below three of four?",
    {
        "the six-grams alone": (
            True,
            "A string of six words cannot hold X and “but” with six words between "
            "them.",
        ),
        "six-grams and pairs in order": "Pairs in order count at any distance: X "
        "before “but” stays X before “but”.",
        "six-grams and the GRU": "It has to carry X, or what “but” says, over more "
        "steps. Two or three forms are easily carried.",
        "all four": "Nobody has seen such gaps. But must one have seen a gap to be "
        "right about what stands on both sides of it?",
    },
    concept="C103",
)

# %% tags=["predict"]
predict(
    "Usual reviews, with four known words in front. Who falls below three of four?",
    {
        "the six-grams alone": "Strings of neighbours stand wherever they stand.",
        "the encoder alone": (
            True,
            "Its words carry the numbers of their places, and all places are others "
            "now.",
        ),
        "the encoder and the GRU": "The GRU reads in order, but counts no places.",
        "none of the four": "The order of the words is the same. But which numbers are "
        "added to them before your encoder compares them?",
    },
    concept="C103",
)

# %% tags=["nbval-ignore-output"]
print("                six-grams   your encoder")
for name, reviews in {f"{gap} words": longer[gap] for gap in longer}.items():
    yours = accuracy(model, as_tensors(reviews))
    print(f"{name:15} {right[6](reviews):9.2f}   {yours:12.2f}")
encoder_in_front = accuracy(model, as_tensors(front))
print(f"four in front   {right[6](front):9.2f}   {encoder_in_front:12.2f}")

# %% [markdown]
# One training is one draw, so here are fifteen encoders, fifteen GRUs, and five of the
# others: a dot is a training, a line joins the medians.

# %%
gaps = [row for row in stored("10-gaps") if row["epochs"] == 6]
rivals = ("GRU from both ends", "pairs in order, at any distance",
          "runs of up to six words")
plots.show(draw.reach(gaps, ("encoder", *rivals)), "twins-gaps")

# %%
names = {"encoder": "encoder", "GRU from both ends": "GRU from both ends",
         "pairs in order, at any distance": "pairs in order",
         "runs of up to six words": "six-grams"}
in_front = {label: [row["four in front"] for row in gaps if row["model"] == name]
            for name, label in names.items()}
plots.show(draw.seeds(in_front, "accuracy, four words in front", chance=True), "front")

# %% [markdown]
# | what is new | six-grams | pairs in order | GRU | encoder |
# |---|---|---|---|---|
# | 6 to 12 words after X | fall | right | right, or nearly | right, or nearly |
# | 24 and 40 words | fall | right | a third is below 0.9 | half are below 0.9 |
# | 4 words in front | right | right | right | **falls, with every seed** |
#
# So this is the verdict, and it is not what one would like to print: on reviews like
# these an encoder is nowhere ahead of a GRU with half of its parameters, and a logistic
# regression on the right pairs is right everywhere. The encoder alone is lost where
# others notice nothing, with its attention and without. (Five times the epochs change
# nothing: the best epoch on the validation texts is among the first.) Why is it lost?

# %% tags=["claim"]
# The proof
def of(model, *columns):
    """Accuracies of all trainings of a model, in these columns."""
    return [row[name] for row in gaps if row["model"] == model for name in columns]


to_12 = [f"gap {gap}" for gap in range(6, 13)]
encoders, grus = (torch.tensor([of(model, gap) for gap in (*to_12, "gap 24", "gap 40")])
                  for model in ("encoder", "GRU from both ends"))  # (gaps, trainings)
claim("with gaps of 6 to 12 words six-grams are below 0.75, a typical GRU above 0.95",
      max(of("runs of up to six words", *to_12)) < 0.75
      < 0.95 < grus[:7].median(1).values.min())
claim("a typical encoder is above 0.95 there, and nowhere ahead of the GRU",
      encoders[:7].median(1).values.min() > 0.95
      and (encoders.median(1).values <= grus.median(1).values + 0.005).all())
below = [(model[7:] < 0.9).double().mean() for model in (encoders, grus)]
claim("with 24 and 40 words half the encoders are below 0.9, and a third of the GRUs",
      0.4 < below[0] < 0.65 and 0.2 < below[1] < 0.45)
claim("four words in front, and every encoder is below 0.75, all others above 0.95",
      max(in_front["encoder"]) < 0.75 < 0.95 < min(
          sum((in_front[name] for name in in_front if name != "encoder"), [])))
claim("encoder and GRU, trained again, come out as they are stored",
      not compare("10-gaps"))

# %% [markdown] name="positions-decide"
# ## Is it the words, or their places?
#
# With four words in front two things have changed: the words are there, and all others
# stand four places further on. An **intervention** changes one thing and leaves the rest
# as it is. Your encoder's positions can be set by hand: all words of a usual review some
# places on, with nothing in front.
#
# ### Yours: how far on?

# %% tags=["yours", "nbval-ignore-output"]
from course_lib.experiments.asked import accuracy_at
from course_lib.experiments.shifted import short_enough

usual, t = short_enough(splits[2]), torch.arange(25)  # reviews of at most 21 words
places = 2  # yours: 1, 2, 3 or 4
intervene(
    "so many places on, and your encoder is wrong more than once in ten; one place "
    "less, and it is not",
    places,
    run=lambda n: [accuracy_at(t[n - less :][:21], model, usual) for less in (0, 1)],
    holds=lambda share: share[0] < 0.9 <= share[1],
    among=(1, 2, 3, 4),
    shows="{choice} places on: {result[0]:.2f}; one less: {result[1]:.2f}",
)

# %% [markdown]
# And the other way round: four words in front, at the free places 21 to 24, and all
# others at their old ones. Here are sixty encoders; in the last two rows only some of
# the words are moved.

# %%
asked = stored("10-asked")
rows = {"four words in front": "words in front",
        "all places + 4, nothing in front": "positions + 4",
        "four words, and old places": "words in front, old positions",
        "X and although + 4": "first opinion and although + 4",
        "all other words + 4": "all others + 4"}
shifted = {label: [row[name] for row in asked] for label, name in rows.items()}
plots.show(draw.seeds(shifted, "accuracy", chance=True), "twins-shifted")

# %% [markdown]
# The places do it, and not those of all words: to move X and *although* is enough. So
# the encoders tell X from Y, and an *although* in front from one in the middle, by
# **absolute position**. In training X stood at places 3 to 8, and Y at 8 to 20, counted
# from 0. Four places on, X stands where Y used to be. An encoder whose training has
# *other* remarks in front of half of its reviews is right here, with each of five seeds.
# (Lesson 15b has positions that know distances alone.)

# %% tags=["claim"]
# The proof
some = ("positions + 4", "first opinion and although + 4")
claim("moved places alone are enough, those of X and although, with every seed",
      max(row[name] for row in asked for name in some) < 0.85)
claim("four words at free places, and all others where they were, change nothing",
      max(abs(row["words in front, old positions"] - row["usual"]) for row in asked)
      < 0.02)
trained = {how: [row["moved"] for row in stored("10-shifted") if row["training"] == how]
           for how in ("as usual", "with remarks")}
claim("an encoder whose training has remarks in front is right, with every seed",
      max(trained["as usual"]) < 0.85 < 0.95 < min(trained["with remarks"]))

# %% [markdown] name="what-it-has-learned"
# ## Which words does it read?
#
# A test cannot say *how* a model is right. Write another word in the place of *but*, in
# all test reviews that have one, and count the verdicts that change.
#
# ### Yours: a word for *but*

# %% tags=["yours", "nbval-ignore-output"]
from course_lib.experiments.asked import flipped
from course_lib.experiments.twins import WORDS

word = "although"  # yours: any of the 40 words of the reviews, such as "garden"
intervene(
    "a word in the place of “but” that changes more than 9 of 10 verdicts",
    word,
    run=lambda word: flipped(model, splits[2][0], "but", word),
    holds=lambda share: share > 0.9,
    among=[other for other in WORDS if other != "but"],
    shows="“{choice}” changes {result:.2f} of the verdicts",
    otherwise="After which word does the *other* opinion count?",
)

# %% [markdown]
# With *although* the other opinion counts, so a model that is right has to change its
# verdict. Does that show that it reads *but*? Only with a **control**: *the* in the place
# of *but* says nothing about either opinion.

# %% tags=["predict"]
predict(
    "“The garden was dreadful the the room was brilliant”: “the” in the place of "
    "“but”. How many verdicts change, in most of sixty encoders?",
    {
        "nearly all": "That is what “although” does: it says that the other opinion "
        "counts. Does “the” say so?",
        "about half, the clue is gone": "It is, if “but” was the clue. Is there "
        "another word by which the three forms can be told apart?",
        "none, or nearly none": (
            True,
            "Most never look at “but”. They look for an “although” in the middle.",
        ),
    },
    concept="C103",
)

# %%
edits = [("but", "although"), ("but", "the"), ("although", "the")]
changes = {f"“{word}” → “{other}”": [row[f"{word} to {other}"] for row in asked]
           for word, other in edits}
plots.show(draw.seeds(changes, "share of verdicts that change"), "twins-flips")

# %% [markdown]
# With 50 of 60, what the encoder says does not depend on *but*. Their rule is: **Y
# counts, unless an *although* stands in the middle.** The ten others read *but* as
# well. All are right on the test, and no score tells them apart. A rule that serves the
# training data, and is not the one that was
# meant, is called a **shortcut**. Without its control, *although* for *but* would have
# looked like a proof.

# %% tags=["claim"]
# The proof
claim("although in the place of but changes nearly all verdicts of all who are right",
      min(row["but to although"] for row in asked if row["usual"] > 0.98) > 0.9)
claim("the in its place changes fewer than 1 in 20, with more than half of the seeds",
      sum(row["but to the"] < 0.05 for row in asked) > len(asked) / 2)

# %% [markdown] name="representation"
# ## What the encoder has written into the words
#
# The encoder gives a vector to **every token**. Before it, a word is one row of a
# table. After it, it is a **contextual embedding**: a vector of this word *in this
# sentence*. Any output layer can be put on such a **representation**: one for each
# token (*which words are names?*), one for two texts, or a decoder, in lesson 11.
#
# A new question, about a single word: *is this the opinion that counts?* The encoder is
# frozen: its weights are not trained any more. Only a logistic regression is fitted, on
# the vectors of the opinion words. This is called **probing**.
#
# A row of the table alone must give one half: each word counts in exactly one of two
# twins. But what *enters* the first layer also has its position.

# %% tags=["predict"]
predict(
    "The probe reads the vectors that enter the first layer: embedding and position. "
    "Its accuracy on new twins is about …",
    {
        "one half": "That is the row of the table. A position tells X from Y most of "
        "the time: how often is Y the one that counts?",
        "two thirds": (
            True,
            "In two of three forms the later opinion counts, and the position says "
            "which one is later.",
        ),
        "one": "To be always right, a word must know which of the three forms it "
        "stands in. Can it, before it has looked at any other word?",
    },
    concept="C103",
)

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.asked import probed

some = [part[:1000] for part in training]
untrained = EncoderClassifier(**sizes, num_classes=2).eval()
readers = {"embedding row": model.embed,
           "what enters layer 1": lambda ids: entering(model, ids),
           "untrained encoder": lambda ids: token_vectors(untrained, ids),
           "your encoder": lambda ids: token_vectors(model, ids)}
probes = {name: probed(read, some, test) for name, read in readers.items()}
{name: f"{share:.2f}" for name, share in probes.items()}

# %% [markdown]
# In two of the three forms the later opinion counts, so the position is worth nearly ⅔.
# An untrained encoder adds nothing to it. A probe needs such a control: only what is read
# better than there has been written by training.

# %%
rows = {"embedding row": "embedding", "what enters layer 1": "entering",
        "untrained encoder": "untrained", "trained encoder": "trained"}
probed_in = {name: [row[f"probe {key}"] for row in asked]
             for name, key in rows.items()}
plots.show(draw.seeds(probed_in, "accuracy of the probe", chance=True), "twins-probes")

# %% [markdown]
# In most trained encoders it can be read almost perfectly from the word itself whether it
# counts. A probe shows what *can be read* from a vector, and not that the model uses it.
# For that you need an intervention.

# %% tags=["claim"]
# The proof
claim("what enters layer 1 and an untrained encoder both tell some, and not all",
      all(0.55 < probes[name] < 0.75 for name in list(probes)[1:3]))
claim("after the encoder a word knows whether it counts, better than before it",
      probes["your encoder"] > probes["untrained encoder"] + 0.05)
claim("training adds something with every seed",
      all(row["probe trained"] > row["probe untrained"] + 0.05 for row in asked))

# %% [markdown] name="classic-recipe"
# ## The classic recipe, on real reviews
#
# A well-known model of this kind reads film reviews: F. Chollet, *Deep Learning with
# Python*, second edition, section 11.4. One encoder layer, no positions, a maximum, and
# 5.7 million parameters. We trained it on 10,000 short film reviews of up to 40 words
# each, 58 % of them good, with three seeds, each with another split, for 10 of the
# recipe's 20 epochs.
#
# Its rival is **TF-IDF** of lesson 01 with logistic regression: counts of single words,
# where rare words weigh more. No order, no attention, some seconds of training.

# %% tags=["predict"]
predict(
    "Test accuracy on the film reviews: the recipe's best epoch against TF-IDF of "
    "single words. The recipe is …",
    {
        "ahead by ten percentage points or more": "So one would expect of 5.7 million "
        "parameters. But does a recipe without positions see the order of words?",
        "within three percentage points": (
            True,
            "Without positions it cannot see the order of words either, so it knows "
            "little that counts do not.",
        ),
        "behind by ten percentage points or more": "It can learn which single words "
        "are good or bad, and so do what counts do. What would cost it so much?",
    },
    concept="C104",
)

# %%
film = stored("10-recipe")
plots.show(draw.recipe(film), "recipe-epochs")

# %%
for name in dict.fromkeys(row["model"] for row in film):
    best, last = ([row[epoch] for row in film if row["model"] == name]
                  for epoch in ("best", "last"))
    print(f"{name}, on the test: {sum(best) / len(best):.3f}"
          + f", last epoch {sum(last) / len(last):.3f}" * (name == "recipe"))

# %% [markdown]
# The recipe is at its best after one or two epochs. After ten it knows its training
# texts by heart, and is worse on the test: **here** your loop pays. (Its head has a
# **dropout** of 0.5: in training each number is set to 0 half of the time.)
# Counting single words does as well, and with pairs of words about a point better,
# which is within chance: on the 1,752 test reviews a standard error is about a point.
# (The recipe was made for 25,000 *long* reviews. We have not tried these.)

# %% tags=["claim"]
# The proof
recipe, pairs_counted, counted_words = (
    [row for row in film if row["model"] == name]
    for name in dict.fromkeys(row["model"] for row in film))
claim("its last epoch knows the training texts by heart",
      all(row["fitted"] > 0.99 for row in recipe))
claim("on the test, with every seed, the best epoch beats the last one",
      all(row["best"] > row["last"] + 0.01 for row in recipe))
claim("it is within three percentage points of TF-IDF of words", all(
    abs(a["best"] - b["best"]) < 0.03
    for a, b in zip(recipe, counted_words, strict=True)))

# %% [markdown]
# ## Further: windows
#
# Why is an encoder right at long gaps? A tempting explanation, if one has not yet tried
# it without attention: attention has no window, so it reaches from X to *but*, however
# far apart they are. Then an encoder *with* a
# window should fall. What a token
# can know of after some layers is its **receptive field**: with three words on either
# side in each layer, two layers make it six on either side.

# %% tags=["given"]
from course_lib.experiments.gaps import Windowed

# %%
windowed = Windowed(**sizes, num_classes=2)
[sum(p.numel() for p in one.parameters()) for one in (model, windowed)]

# %% [markdown]
# It has as many weights. We trained encoders with windows of three, four and eight
# words on either side, and a rival that is no network: logistic regression on *ordered
# pairs*, which word stands at most eight words before which other one.

# %%
shown = ("encoder that sees three words on either side",
         "encoder that sees four words on either side",
         "encoder that sees eight words on either side")
near_pairs = "pairs in order, within eight words"
gaps = gaps + stored("10-windows")
plots.show(draw.reach(gaps, ("encoder", *shown, near_pairs)), "twins-windows")

# %% [markdown]
# On the whole a narrow window is worse: at a gap of 12 the medians are 0.83, 0.86 and
# 0.98 with three, four and eight words, and 1.00 without a window. With the narrowest
# one alone, we would have believed the explanation. But look closer.
#
# - Four words on either side make a receptive field of eight, and at a gap of six,
#   *but* is seven words away: in reach. Three of ten fall below 0.9 all the same. And
#   five others are above 0.9 at 24 and 40, where no token reaches from X to *but*.
# - With 24 and 40 words, those that see eight do no worse than those that see all.
# - The ordered pairs are right at every gap, though they see only eight words. For
#   there is a rule that needs no more: what follows *but* counts, and what follows
#   *although* does not. From such a word to the next opinion it is never more than
#   eight words.
#
# So nobody has to reach from X to *but*. What is left: a window of three or four words
# makes this encoder worse at gaps of six to twelve.

# %% tags=["claim"]
# The proof
from statistics import median

three, four, eight, near, free = ([row for row in gaps if row["model"] == name]
                                  for name in (*shown, near_pairs, "encoder"))
at = {gap: [median(row[gap] for row in rows) for rows in (three, four, eight, free)]
      for gap in ("gap 12", "gap 24", "gap 40")}
claim("the medians at a gap of 12 are lower with three and four words than with more",
      max(at["gap 12"][:2]) < min(at["gap 12"][2:]) - 0.05)
claim("with 24 and 40 words the median is no lower with eight words than with all",
      all(at[gap][2] > at[gap][3] - 0.02 for gap in ("gap 24", "gap 40")))
claim("four words on either side: some are below 0.9 at 6, some above it at 24",
      min(row["gap 6"] for row in four) < 0.9 < max(row["gap 24"] for row in four))
claim("pairs within eight words are right at every gap", all(
    row[gap] > 0.98 for row in near for gap in row if gap.startswith("gap")))

# %% [markdown]
# ## Further: the recipe in numbers, and real reviews
#
# | part | classic recipe, as trained here | yours, above |
# |---|---|---|
# | **vocabulary** | the 20,000 most frequent words | 40 words |
# | **width, heads, feed-forward, layers** | 256, 2, 32, 1 | 64, 4, 128, 2 |
# | **width of a head** | 256 | 16 |
# | **embeddings** | as they are, no positions | · √d, sinusoids added |
# | **pooling, head** | maximum, dropout 0.5, one logit | maximum, two logits |
# | **loss** | binary cross-entropy | cross-entropy of two classes |
# | **optimizer** | RMSprop, rate 0.001 | the same |
# | **epochs** | 10, the best one kept (the book: 20) | 6, the best one kept |
#
# The recipe as trained here differs from the book's in more than the epochs: it hides
# padding in the attention and in the pooling, which the book's first model does not,
# and it chooses by validation accuracy instead of validation loss.
#
# One logit $z$ with binary cross-entropy is two logits $(0, z)$ with cross-entropy. In
# Keras each head may have any width, here 256; so both together are 512 wide, and $W_o$
# brings 512 numbers back to 256.

# %% tags=["predict"]
predict(
    "Nine tenths of the recipe's 5.7 million parameters are in …",
    {
        "the attention": "Four matrices of 256 · 512 numbers. Work it out, and compare "
        "with the vocabulary.",
        "the feed-forward network": "256 · 32 and back: it is narrower than the model, "
        "where the paper has four times the width.",
        "the table of embeddings": (
            True,
            "20,000 words of 256 numbers are 5.1 million.",
        ),
    },
    concept="C104",
)

# %%
from course_lib.experiments.recipe import KerasAttention


def size(module):
    return sum(p.numel() for p in module.parameters())


wide = KerasAttention(256, num_heads=2, key_dim=256)
[tuple(part.weight.shape) for part in (wide.W_q, wide.W_k, wide.W_v, wide.W_o)]

# %% tags=["given"]
from course_lib.experiments.recipe import ClassicRecipe

# %%
classic = ClassicRecipe(vocab_size=20_000)
parts = {"embeddings": classic.embed, "attention": wide,
         "feed-forward": classic.layers[0].ff, "everything": classic}
{name: f"{size(part):,}" for name, part in parts.items()}

# %% tags=["claim"]
# The proof
claim("the classic model has 5,664,033 parameters", size(classic) == 5_664_033)
claim("nine tenths of them are a table of words",
      0.9 < size(classic.embed) / size(classic) < 0.91)

# %% [markdown]
# Now train the recipe for one epoch on our twins.

# %% tags=["predict"]
predict(
    "The recipe without positions, trained on twins: its accuracy on the test is …",
    {
        "one half": (
            True,
            "A maximum over vectors without positions is the same for both twins.",
        ),
        "between 0.6 and 0.9, as with short n-grams": "Pairs of neighbours see who "
        "stands beside whom. What does attention without positions see?",
        "above 0.95, as above": "What told the encoder above “dreadful … but” from "
        "“but … dreadful”? Find it in the table.",
    },
    concept="C104",
)

# %%
from course_lib.experiments.recipe import recipe_accuracy, recipe_loss
from course_lib.training import fit

torch.manual_seed(0)
blind = ClassicRecipe(vocab_size=41)
optimizer = torch.optim.RMSprop(blind.parameters(), lr=0.001)
fit(blind, recipe_loss, shuffled(*training, batch_size=64), optimizer)
print(f"{recipe_accuracy(blind, test):.2f}")

# %% [markdown]
# In our twins, order is everything, and the recipe does not see order: by construction
# it gives both twins the same answer, as a bag of words does.

# %% [markdown]
# Train on film reviews yourself? There are 12,752 snippets of film reviews, each with a
# verdict, *fresh* or *rotten*. Set `REAL_REVIEWS = True`: it fetches 9 MB once, and
# trains one epoch of the recipe, which takes about a minute. If the download fails, you
# get a message and the lesson continues.

# %% tags=["nbval-ignore-output"]
from course_lib import data
from course_lib.experiments.recipe import counted, film_reviews, reader_of

REAL_REVIEWS = False  # True: fetch them, and train
film_splits = None
if REAL_REVIEWS:
    try:
        film_splits = film_reviews(0)
    except data.Missing as missing:
        print(missing)
print("real reviews:", film_splits is not None)

# %% tags=["nbval-ignore-output"]
if film_splits:
    read = reader_of(film_splits[0][0])
    real_ids = [(read(texts), labels) for texts, labels in film_splits]
    torch.manual_seed(0)
    classic = ClassicRecipe()
    optimizer = torch.optim.RMSprop(classic.parameters(), lr=0.001)
    fit(classic, recipe_loss, shuffled(*real_ids[0], batch_size=32), optimizer)
    print(f"recipe, one epoch: {recipe_accuracy(classic, real_ids[2]):.2f}")
    print(f"TF-IDF:            {counted(film_splits[0])(film_splits[2]):.2f}")

# %% [markdown]
# Would an encoder do better that has **read before**? MiniLM is one: six layers like
# yours, with real weights, trained by others on a billion pairs of texts. It stays
# frozen. Each review becomes the mean of its token vectors, 384 numbers, and a small
# head stands on top. (Lesson 15 opens it.) Set `PRETRAINED = True` as well: it fetches
# 84 MB once, and reads for about two minutes.

# %% tags=["nbval-ignore-output"]
PRETRAINED = False  # True: fetch MiniLM, and read all reviews with it

vectors = None
if film_splits and PRETRAINED:
    from course_lib.pretrained import minilm

    try:
        reader = minilm.load(), minilm.load_tokenizer()
        vectors = [minilm.sentence_vectors(*reader, texts) for texts, _ in film_splits]
    except data.Missing as missing:
        print(missing)
print("read by MiniLM:", vectors is not None)

# %% tags=["nbval-ignore-output"]
if vectors:
    from sklearn.linear_model import LogisticRegression

    (texts, y), (unseen, y_test) = film_splits[0], film_splits[2]
    print("labels  TF-IDF  frozen MiniLM")
    for n in (200, 500, 2_000, 10_000):
        head = LogisticRegression(max_iter=2000).fit(vectors[0][:n], y[:n])
        frozen = head.score(vectors[2], y_test)
        words = counted((texts[:n], y[:n]))((unseen, y_test))
        print(f"{n:6,}  {words:6.2f}  {frozen:13.2f}")

# %% [markdown]
# On our machine, with another draw of the splits:
#
# | labels | TF-IDF | frozen MiniLM |
# |---|---|---|
# | 200 | 0.60 | 0.69 |
# | 500 | 0.63 | 0.72 |
# | 2,000 | 0.73 | 0.75 |
# | 10,000 | 0.77 | 0.76 |
#
# With few labels, reading before is worth a lot. With 10,000 the counts have caught up.
# This is one draw, and differences of a point or two are within chance.
#
# Do you have the folder `aclImdb` of the classic recipe? `data.imdb("aclImdb")` reads
# it. With `ClassicRecipe()` and 600 words per review, it is the classic experiment.
# You will need a GPU.

# %% tags=["predict", "later"]
predict(
    "Two encoders are right on the same 98 of 100 test sentences. What do you know "
    "about how they read?",
    {
        "they read the same words": "The sixty encoders of lesson 10 had one score, "
        "and not one rule.",
        "little, before one word is exchanged": (
            True,
            "Equal scores, other rules: an intervention with its control tells.",
        ),
        "their probes will agree": "A probe shows what can be read from a vector, not "
        "what the model uses.",
    },
    concept="C103",
)

# %% tags=["predict", "later"]
predict(
    "The validation accuracy is .91, .95, .94, .95 after four epochs. Whose weights "
    "does the model have after keep_the_best?",
    {
        "the second epoch's": (True, "The first of the best ones, kept as a copy."),
        "the fourth epoch's": "It is as good as the second, not better.",
        "a mean of both": "Nobody averages weights here: one copy is loaded.",
    },
    concept="C106",
)

# %% [markdown]
# ## Summary
#
# - An encoder is $N$ layers, built alike, each with weights of its own: self-attention,
#   then feed-forward, each followed by dropout, the skip connection and a norm.
# - Around it: embeddings · $\sqrt{d_{model}}$, positions, a mask that hides padding.
#   Pool over real tokens: else a text's meaning depends on its neighbours in the batch.
# - Choose by validation, keep a *copy* of the best weights, load it, and test once.
# - Twins: a bag of words is right in exactly one half, by construction. Six-grams, pairs
#   in order, a GRU and an encoder all solve the test, and so does an encoder without
#   attention: words that know their places, and a maximum. Six-grams fall with longer gaps;
#   the encoder alone falls with four words in front.
# - Equal scores, other rules: an intervention, beside its control, shows what a model
#   reads. Most encoders read *although* and not *but*, and tell X from Y by absolute
#   position.
# - A probe shows what can be read from a contextual embedding. Ask an untrained
#   encoder, too.
# - On short film reviews the classic recipe is no better than TF-IDF of single words.
#
# **Think about it.** Max pooling takes each feature from one token. For which task
# would a mean be better?
#
# <details><summary>An answer</summary>
#
# Where it matters how *often* something is said: which share of a long review is praise?
# A maximum forgets whether a word was there once or ten times. (A third way is a token of
# its own, put in front of the text, that nobody wrote: lesson 13.)
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.1
# and figure 1, left (the encoder), section 3.4 (embeddings), section 5.4 (dropout). The
# recipe: F. Chollet, *Deep Learning with Python*, second edition (2021), section 11.4,
# with its
# [notebook](https://github.com/fchollet/deep-learning-with-python-notebooks/blob/master/second_edition/chapter11_part03_transformer.ipynb).
# IMDB: [Maas et al. 2011](https://ai.stanford.edu/~amaas/data/sentiment/). Probing:
# [Alain and Bengio 2016](https://arxiv.org/abs/1610.01644), and its controls: [Hewitt
# and Liang 2019](https://arxiv.org/abs/1909.03368). Contrast sets: [Gardner et al.
# 2020](https://arxiv.org/abs/2004.02709). Shortcuts: [Geirhos et al.
# 2020](https://arxiv.org/abs/2004.07780). Max pooling of texts: [Kim
# 2014](https://arxiv.org/abs/1408.5882). Residual stream: [Elhage et al.
# 2021](https://transformer-circuits.pub/2021/framework/index.html).
#
# **Next.** The encoder reads. Lesson 11 builds the half that writes, and translates a
# sentence.
