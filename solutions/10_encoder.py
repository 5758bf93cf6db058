# %% [markdown]
# # 10 · The encoder, and text classification
#
# *75 minutes: reading 31, predicting 9, writing 35 · needs lessons 08 and 09 · four
# exercises*
#
# **At the end you can**
#
# - write the encoder layer of the 2017 paper, and a classifier of whole texts on top;
# - turn the vectors of a text into one, without falling into the padding trap;
# - write the loop that keeps the best epoch, and ask the test data once;
# - say what a bag of words, runs of words and an encoder can know about a sentence, and
#   which of them still knows it where training never went.

# %%
import torch
from torch import nn

from course_lib import check, claim, mine, predict
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
# vector can say what it means?** Something has to happen to the *words*, before anybody
# adds them up. "brilliant" has to find out that it stands after "but". You have written
# all the parts for that.

# %% [markdown] name="encoder"
# ## The encoder
#
# The **encoder** is the left half of figure 1 of the paper: $N = 6$ *identical* layers,
# one on top of the other. Each layer has two **sublayers**. In the first one, self-
# attention, every token looks around. In the second one, a feed-forward network, every
# token thinks for itself. What goes into a layer and what comes out have one shape,
# $(B, T, d_{model})$. That is why layers can be stacked.

# %% tags=["predict"]
predict(
    "Six identical layers. When training is over, how many different matrices W_q "
    "does the stack hold?",
    {
        1: "Then one layer would run six times. Identical means built alike, and each "
        "layer has weights that learn by themselves.",
        6: True,
        12: "A layer has two sublayers, but only one of them is attention.",
        48: "Eight heads share one W_q: each takes its own slice of it.",
    },
    concept="C101",
    within=0.1,
)

# %%
plots.show(encoder(), "encoder")

# %% [markdown]
# Read it from the bottom up. The thick line is the **residual stream**. A sublayer
# reads from it, and its answer is added to it; then comes a norm. You wrote exactly
# this in lesson 08: `SublayerConnection`. For one layer, that is
#
# $$
# \underset{(B,\,T,\,d)}{h} = \mathrm{LayerNorm}_1(x + \mathrm{MultiHead}(x, x, x))
# \qquad
# \underset{(B,\,T,\,d)}{y} = \mathrm{LayerNorm}_2(h + \mathrm{FFN}(h))
# $$
#
# One token on paper. It comes in as $x = (5, 1)$. The attention says $(0, 2)$, and
# afterwards the feed-forward network says $(0, 3)$. With two numbers a fresh layer
# norm is simple: the larger one becomes 1, the smaller one −1.

# %% tags=["predict"]
predict(
    "x = (5, 1), the attention says (0, 2), the feed-forward network says (0, 3). What "
    "leaves the layer?",
    {
        "(5, 6)": "That is the sum of all three. A norm follows each of the two "
        "additions.",
        "(1, −1)": "That is what leaves the first norm. The second sublayer adds "
        "(0, 3) to it, and not to x.",
        "(−1, 1)": True,
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
# $(-1, 1)$ of it. Added to the $(5, 1)$ that came in, it would give $(5, 4)$, and so
# $(1, -1)$.
#
# ### Exercise 1: `EncoderLayer`
#
# ★☆☆ · 8 minutes · about 2 lines
#
# The constructor is finished: your attention of lesson 06, your feed-forward network of
# lesson 08, two norms, one dropout for both sublayers. Write `forward`. Try pre-norm on
# purpose, too, and read the card.
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
# The card has compared your layer with PyTorch's own, `nn.TransformerEncoderLayer`,
# gradients and masks included. Now with something that is yours: two
# `SublayerConnection`s, around the same attention and the same feed-forward network.

# %%
torch.manual_seed(0)
layer = EncoderLayer(d_model=32, num_heads=4, d_ff=64)
first, second = SublayerConnection(32), SublayerConnection(32)
first.norm, second.norm = layer.norm1, layer.norm2
x, real = torch.randn(2, 7, 32), torch.arange(7) < torch.tensor([[7], [4]])  # (B, T)
mask = real[:, None]  # (B, 1, T)

# %%
h = first(x, lambda x: layer.self_attn(x, x, x, mask))  # (B, T, d_model)
y = second(h, layer.ff)  # (B, T, d_model)
stack = nn.ModuleList(EncoderLayer(32, 4, 64) for _ in range(6))
starts = torch.stack([one.self_attn.W_q.weight for one in stack])  # (N, d, d)
tuple(y.shape), tuple(starts.shape)

# %% tags=["claim"]
# The proof
claim("an encoder layer is two of your SublayerConnections",
      torch.allclose(y, layer(x, mask), atol=1e-6))
claim("the layers of a stack begin with weights of their own",
      all(not starts[i].equal(starts[j]) for i in range(6) for j in range(i)))

# %% [markdown]
# ## Further: the same layer in PyTorch
#
# PyTorch calls it `nn.TransformerEncoderLayer`. Its names differ a little, and it keeps
# $W_q$, $W_k$ and $W_v$ as one matrix, one below the other. Here is, for each of its
# names, where the numbers stand in your layer.

# %%
in_torch = {}
for of in ("weight", "bias"):
    in_torch[f"self_attn.in_proj_{of}"] = [f"self_attn.W_{i}.{of}" for i in "qkv"]
    in_torch[f"self_attn.out_proj.{of}"] = [f"self_attn.W_o.{of}"]
    for part in ("linear1", "linear2", "norm1", "norm2"):
        own = f"ff.{part}" if "linear" in part else part
        in_torch[f"{part}.{of}"] = [f"{own}.{of}"]
theirs = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)


# %%
def translated(values):
    """Tensors under our names -> the same under torch's."""
    return {theirs: torch.cat([values[ours] for ours in names])
            for theirs, names in in_torch.items()}


def gradients(module, out):
    """The gradient of one and the same number, for every weight of a module."""
    names, weights = zip(*module.named_parameters(), strict=True)
    total = (out * torch.linspace(-1, 1, out.numel()).view(out.shape)).sum()
    return dict(zip(names, torch.autograd.grad(total, weights), strict=True))


# %% [markdown]
# A fresh norm has gain 1 and offset 0, and two swapped norms would not be noticed. So
# every weight gets some noise first. In torch's `src_key_padding_mask`, True means
# *ignore*: the mask has to be turned round with `~`.

# %%
with torch.no_grad():
    for weight in layer.parameters():
        weight.add_(0.1 * torch.randn(weight.shape))
theirs.load_state_dict(translated(dict(layer.named_parameters())))
ours, torch_s = layer(x, mask), theirs(x, src_key_padding_mask=~real)
mine_go, theirs_go = translated(gradients(layer, ours)), gradients(theirs, torch_s)
len(theirs_go), tuple(torch_s.shape)

# %% tags=["claim"]
# The proof
claim("forward is torch's", torch.allclose(ours, torch_s, atol=1e-5))
largest = max(g.abs().max() for g in theirs_go.values())
claim("so are all gradients", all(
    torch.allclose(mine_go[name], theirs_go[name], atol=1e-5 * largest)
    for name in theirs_go))

# %% [markdown]
# A trap for stacks: `nn.TransformerEncoder(theirs, 6)` *copies* the layer, so that all
# six begin with the **same** random numbers. Its documentation asks you to initialize
# them yourself.

# %% [markdown] name="pooling"
# ## From many vectors to one
#
# A text of $T$ tokens leaves the encoder as $T$ vectors, and a classifier wants one.
# The classic choice is **max pooling**: in each channel, the largest number of all
# tokens. (*Max over time*, in [Collobert et al.
# 2011](https://arxiv.org/abs/1103.0398).)
#
# $$
# \underset{(B,\,D)}{c_{j}} = \max_{t\ \mathrm{real}} \;
# \underset{(B,\,T,\,D)}{x_{t, j}}
# $$
#
# By hand: in one channel, the two tokens of a text hold −2 and −5. Its batch has longer
# texts, so it gets two places of padding, and there the channel happens to hold 0 and
# −1.

# %% tags=["predict"]
predict(
    "Tokens −2 and −5, padding 0 and −1. Somebody takes the maximum of all four "
    "places. By how much is it too large?",
    {
        2: True,
        0: "Does a maximum know which places are padding? The mask went to the "
        "attention, and to nobody else.",
        5: "The right result is the largest of the tokens. Which one is that?",
        1: "Padding holds two numbers. Which one is the largest of all four?",
    },
    concept="C105",
    within=0.1,
)

# %%
channel = torch.tensor([-2.0, -5, 0, -1])  # (T,)
is_real = torch.tensor([True, True, False, False])
channel[is_real].amax().item(), channel.amax().item()

# %% [markdown]
# The 0 comes from nobody. This is the **padding trap**: a mask has kept padding out of
# the attention, and the pooling lets it in again. So pooling needs the mask, too.
#
# ### Exercise 2: `max_over_real_tokens`
#
# ★☆☆ · 6 minutes · about 3 lines
#
# Let padding never win, wherever it stands. A text without any real token gets zeros:
# such a text can stand in a batch, and infinities in the result would make NaN of
# everybody's gradients.
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

# %% tags=["claim"]
# The proof
pooled = max_over_real_tokens(channel[None, :, None], is_real[None])  # (B, D) = (1, 1)
claim("your pooling gives −2, the plain maximum 0",
      pooled == -2 and channel.amax() == 0)

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
# With two classes there are two logits, and the larger one is the verdict.

# %% [markdown]
# ### Exercise 3: `EncoderClassifier`
#
# ★★☆ · 13 minutes · about 7 lines
#
# The constructor is finished; your own layers, masks, positions and pooling are at
# hand. Write `forward`.
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
sinusoidal_positions = mine("sinusoidal_positions")  # (T, d_model) -> (T, d_model)

# %% tags=["exercise"]
from course_lib.classifier import EncoderClassifier

# %%
EncoderClassifier = check(EncoderClassifier).verified

# %% [markdown] name="padding-trap"
# Try it: two words, padded to 2, 5, 10 and 25 places. It is one text, so it has to get
# one logit. Beside it, the trap: the same weights, but the maximum is taken over all
# places. For that we stop your model before its pooling: `token_vectors` runs its
# embeddings and its layers, and returns one vector for each token.

# %%
from course_lib.experiments.twins import token_vectors

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
print("over all places:     ", [f"{logit:.2f}" for logit in trap])

# %% [markdown]
# In the trap, what a text means depends on the longest text in its batch. By how much
# depends on the weights. Nothing raises an error, and training may hide it. (Keras'
# `GlobalMaxPooling1D` pools over all places; only its sister for averages takes a
# mask.)

# %% tags=["claim"]
# The proof
claim("over real tokens a text keeps its logit, however far it is padded",
      max(abs(logit - yours[0]) for logit in yours) < 1e-5)
claim("over all places the logit moves with the padding",
      max(abs(logit - trap[0]) for logit in trap) > 1e-3)
claim("without padding the two agree", abs(yours[0] - trap[0]) < 1e-5)

# %% [markdown] name="twins"
# ## A task that cannot be cheated
#
# In most reviews, single words tell much, whatever their order. A good score there says
# little about what an encoder makes of order. So we write reviews in which order is
# **all**. There are three forms:
#
# | form | what counts |
# |---|---|
# | *the A was X but the B was Y* | Y |
# | *although the A was X the B was Y* | Y |
# | *the A was X although the B was Y* | X |
#
# One of X and Y is a good word, the other a bad one, and each review comes with its
# twin, where they have changed places. Some words may follow: nothing, two (*this
# time*) or four (*as we had feared*).

# %%
import random

from course_lib.experiments.twins import (
    AFTER_OPINIONS,
    AFTER_THINGS,
    BAD,
    FORMS,
    GOOD,
    THINGS,
)

for words in (AFTER_THINGS, AFTER_OPINIONS, FORMS, THINGS, GOOD, BAD):
    print(len(words), "such as:", words[1])

# %% tags=["given"]
from course_lib.experiments.twins import one_pair

# %%
for text, label in one_pair(random.Random(3)):
    print(label, text)

# %% [markdown]
# Do you agree with both labels? We draw 2,000 pairs to learn from, 500 to choose the
# best epoch, and 1,000 to test: the **training split**, the **validation split** and
# the test split. No review occurs twice, and twins stay together.

# %%
from course_lib.experiments.twins import split_of_twins

splits = split_of_twins(0)  # (texts, labels) each
[len(texts) for texts, _ in splits]

# %% [markdown]
# ### What runs of words can know
#
# A bag of words counts which words occur. Twins have the same counts, so they get the
# same answer: right for one of them, wrong for the other. Exactly one half, and no
# training can change it.
#
# A rival that knows some order counts **n-grams**: runs of $n$ neighbours, such as *was
# dreadful but*. Logistic regression does the rest: one weight for each run, their sum,
# a sigmoid. Between X and its *but* there are at most four other words. How long do the
# runs have to be?

# %%
from course_lib.experiments.twins import fitted

right = {n: fitted(n, splits[0]) for n in (1, 2, 3, 4, 5, 6)}
by_n = {n: right[n](splits[2]) for n in right}
plots.show(draw.by_longest_run(by_n), "twins-n-grams")

# %% [markdown]
# With runs of up to six words (X, four others, *but*) it is right nearly every time.
# An honest rival, then: 14,000 features for a language of 40 words, and it solves the
# task. Further down we ask it something harder.

# %% tags=["claim"]
# The proof
claim("a bag of words is right for exactly half of the twins", by_n[1] == 0.5)
claim("runs of up to five words are not enough",
      max(by_n[n] for n in by_n if n < 6) < 0.93)
claim("runs of up to six words are", by_n[6] > 0.98)

# %% [markdown] name="keep-the-best"
# ## Keep the best
#
# One pass over all training texts is an **epoch**. The last epoch need not be the best
# one: a model that goes on learning may begin to learn its training texts by heart,
# which is called **overfitting**. So after each epoch we ask the validation texts, and
# keep the weights of the epoch that was best. Kept weights are a **checkpoint**.
#
# The **test** texts are asked once, at the end. If you choose by them, you have no test
# left: the best of many results is a little too good, by chance.
#
# `model.state_dict()` is a dict: for each name, the model's own tensor. And an
# optimizer changes these tensors *in place*, step by step.

# %% tags=["predict"]
predict(
    "After epoch 2 somebody writes best = model.state_dict(), then trains on to epoch "
    "6. Which weights does best hold then?",
    {
        "those of epoch 2": "It would, if the dict held copies. What is written into a "
        "tensor is seen by everybody who holds this tensor.",
        "those before epoch 1": "Nobody has kept these: every step has written over "
        "them.",
        "those of epoch 6": True,
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
# 1. if the newest accuracy is larger than every one before (the first one always is):
#    a copy of the weights
# 2. after the loop: the kept weights, back into the model (`load_state_dict`)
# 3. only then the accuracy on the test data
#
# </details>

# %% tags=["exercise"]
from course_lib.training import keep_the_best

# %%
keep_the_best = check(keep_the_best).verified

# %% [markdown]
# Now train. The loss is the **cross-entropy** of two classes: −ln of the probability
# that the model gives to the right answer. A model without any idea pays $-\ln ½ =
# 0.69$. The optimizer is RMSprop, which divides each step by the size that the
# gradients of that weight had lately.

# %%
from course_lib.experiments.twins import accuracy, as_tensors, loss_of
from course_lib.training import fit, shuffled

training, validation, test = map(as_tensors, splits)  # ids (texts, T), labels
torch.manual_seed(0)
model = EncoderClassifier(**sizes, num_classes=2)
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.001)


# %%
def train_epoch(model, epoch):
    """Every training text once, in a new order."""
    batches = shuffled(*training, batch_size=64, seed=epoch)
    fit(model, loss_of, batches, optimizer, progress=f"epoch {epoch + 1}")


history, tested = keep_the_best(model, train_epoch, accuracy, validation, test, 6)
plots.show(draw.epochs(history, by_n), "twins-epochs")

# %% [markdown]
# For a while there is nothing, and then it goes fast. Loss and accuracy say little
# about how near a model is to the idea that it needs.
#
# To last, a checkpoint must be written to a file. A file of weights is a list of names
# and numbers. It does not say how to *build* the model, so the constructor's arguments
# are kept beside them. (In Keras, each layer of your own has a method `get_config` for
# that.)

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.runs import checkpoints

folder = TemporaryDirectory()  # it vanishes with the notebook
path = Path(folder.name) / "twins.pt"
checkpoints.save(model, path, **sizes)
again = EncoderClassifier(**sizes, num_classes=2)  # fresh random weights
before = accuracy(again, validation)
config = checkpoints.load(again, path)
config

# %% tags=["claim"]
# The proof
claim("the encoder is right for more than 97 of 100 twins", tested > 0.97)
claim("the model that is left is the best epoch, and no other",
      abs(accuracy(model, validation) - history.max()) < 1e-6)
claim("the file gives a new model the same answers", config == sizes
      and accuracy(again, validation) == accuracy(model, validation) > before)

# %% [markdown] name="longer-gaps"
# ## Further apart than ever in training
#
# Both rivals solve the test. But how? After X there have never been more than four
# words before *but*. Now there are six, seven or nine, put together from phrases that
# training knows, from other places. These reviews are no longer than those of training:
# no word is new, and no position.

# %%
from course_lib.experiments.twins import with_a_gap

longer = {gap: with_a_gap(gap, seed=1) for gap in (6, 7, 9)}  # 500 pairs each
min((text for text in longer[7][0]), key=len)

# %% tags=["predict"]
predict(
    "Six, seven, nine words after X; in training there were at most four. Who is still "
    "right nine times in ten?",
    {
        "runs of six words, and the encoder": "A run of six words that holds both X "
        "and “but” needs no more than four words between them.",
        "the encoder alone": True,
        "neither: nobody has seen such gaps": "Runs have not. But how many steps does "
        "attention need from one word to a far one?",
    },
    concept="C103",
)

# %%
print("words after X   runs up to 6   encoder")
for gap, reviews in longer.items():
    encoder_s = accuracy(model, as_tensors(reviews))
    print(f"{gap:13}   {right[6](reviews):12.1f}   {encoder_s:7.1f}")

# %% [markdown]
# The six-gram model falls far, towards chance. The encoder hardly notices. It has
# learned a relation between two words, whatever stands between them. The runs have
# learned 14,000 strings.
#
# **Is it because attention has no window?** That is an explanation, so it needs a
# control that could refute it. Take the same encoder and give it a window: in each
# layer, a token attends to three words on either side and to no others. Two layers
# reach twice as far: six words. With four words after X, *but* is five places away;
# with six, it is seven. If the explanation is right, it will solve the test, and be
# right less often from a gap of six on. One line changes.

# %% tags=["given"]
from course_lib.experiments.twins import Windowed

# %%
windowed = Windowed(**sizes, num_classes=2)
[sum(p.numel() for p in one.parameters()) for one in (model, windowed)]

# %% [markdown]
# And a rival without a window that is no network: logistic regression on *ordered
# pairs*, which word stands anywhere before which other one. If reach is what matters,
# it should do well. The encoder, the windowed one, the runs and the pairs were each
# trained with five seeds.

# %% tags=["given"]
from course_lib.experiments.twins import ordered_pairs

# %%
sorted(ordered_pairs("dreadful but lovely"))

# %%
from course_lib.experiments.stored import stored

rows = stored("10-gaps")
plots.show(draw.reach(rows), "twins-reach")

# %% [markdown]
# On the whole the control behaves as the explanation says. With a window the same
# network, with the same number of weights, solves the test, and is worse than the free
# one where the gap outgrows its six words: much worse with four of the five seeds, a
# little with the fifth. And the ordered pairs are right from 6 to 12: **what this task
# needs is reach, and attention is one way to have it.**
#
# On the right, the two longest gaps make texts longer than any in training. Their
# positions are new to the encoder, and some of its five trainings fall with the
# windowed ones. Reach without a window is not reach without end.

# %% tags=["claim"]
# The proof
of = {}
for row in rows:
    of.setdefault(row["model"], []).append(row)
free, window, runs, pairs = of.values()
known = [f"gap {gap}" for gap in (0, 2, 4)]
new = [f"gap {gap}" for gap in (6, 7, 8, 9, 10, 11, 12)]
claim("with gaps as in training all four are right", all(
    row[gap] > 0.98 for row in rows for gap in known))
claim("with gaps of 6 to 9 words the encoder is above 0.96 with every seed", all(
    row[gap] > 0.96 for row in free for gap in new[:4]))
claim("with gaps from 6 to 12 the six-gram model is below 0.7 with every seed", all(
    row[gap] < 0.7 for row in runs for gap in new))
claim("at gaps from 6 to 12, with the same seed, the window loses to the encoder", all(
    a[gap] > b[gap] for a, b in zip(free, window, strict=True) for gap in new))
claim("ordered pairs are right from 6 to 12", all(
    row[gap] > 0.99 for row in pairs for gap in new))
claim("beyond the length of training the encoder is no longer safe", any(
    row[gap] < 0.9 for row in free for gap in ("gap 24", "gap 40")))

# %% tags=["claim"]
# The proof
claim("your encoder is above 0.9 with every one of the three gaps", all(
    accuracy(model, as_tensors(reviews)) > 0.9 for reviews in longer.values()))
claim("your six-gram model is below 0.75", all(
    right[6](reviews) < 0.75 for reviews in longer.values()))

# %% [markdown]
# **Has it learned order, then?** One more control. Take the usual test reviews, with
# usual gaps, and put *as we had feared* in front. No word is new, no position is new,
# and nothing between X and *but* has changed. Only, every word now stands four places
# further on.

# %% tags=["predict"]
predict(
    "Usual test reviews with four known words in front. Who is still right nine times "
    "in ten?",
    {
        "both: the order of the words is the same": "It is. But which numbers were "
        "added to the words, before your encoder compared them?",
        "the encoder alone, as with the gaps": "A run of words does not know where in "
        "the text it stands. Does an embedding with its position?",
        "runs of six words alone": True,
    },
    concept="C103",
)

# %%
usual = [pair for pair in zip(*splits[2], strict=True) if len(pair[0].split()) <= 21]
moved = tuple(zip(*[(f"as we had feared {text}", label) for text, label in usual],
                  strict=True))
print(f"runs up to 6: {right[6](moved):.1f}")
print(f"encoder:      {accuracy(model, as_tensors(moved)):.1f}")

# %% [markdown]
# It falls to little more than chance. Your encoder has not learned *order*. It has
# learned **absolute positions**: what a word means beside another one, at the positions
# where both stood in training. What is added to a word says where it stands, and
# nothing tells the network that four positions further on all is as before. Runs of
# words know no positions, so nothing has changed for them.
#
# So each of the two fails where the other one holds: the runs with longer gaps, the
# encoder with everything moved. A test split that is drawn like the training split
# shows neither. (Lesson 15 has positions that know distances alone. And an encoder
# whose training texts also have remarks in front understands them.)

# %% tags=["claim"]
# The proof
claim("four known words in front, and your encoder is below 0.85",
      accuracy(model, as_tensors(moved)) < 0.85)
claim("runs of up to six words do not mind", right[6](moved) > 0.95)

# %% [markdown] name="representation"
# ## What the encoder has written into the words
#
# The classifier asked one question. But the encoder gives a vector to **every token**,
# and what is in it can be asked in other ways. Before the encoder, a word is one row of
# the embedding table, the same in every sentence. After it, it is a **contextual
# embedding**: a vector of this word *in this sentence*. Put any head on it: one for
# each token (*which words are names?*), one for two texts (*do they say the same?*), or
# a decoder, in lesson 11. Such vectors are a **representation**, and heads are cheap.
#
# A new question, about a single word: *is this the opinion that counts?* Nobody has
# trained for it. We freeze the encoder and fit one logistic regression on the vectors
# of the opinion words. This is called **probing**.

# %% tags=["predict"]
predict(
    "A logistic regression reads the vectors of opinion words *before* the encoder, "
    "and says whether each one counts. Its accuracy on new twins is …",
    {
        0.5: True,
        0.75: "Could good words count more often than bad ones? In twins they have "
        "changed places.",
        1: "Each word is one row of a table. Does that row know what stands around it?",
    },
    concept="C103",
    within=0.02,
)

# %%
from sklearn.linear_model import LogisticRegression

from course_lib.experiments.twins import opinion_vectors

readers = {"before": model.embed, "after": lambda ids: token_vectors(model, ids)}
some, probed = [part[:1000] for part in training], {}
for name, read in readers.items():
    probe = LogisticRegression(max_iter=1000).fit(*opinion_vectors(read, some))
    probed[name] = probe.score(*opinion_vectors(read, test))
{name: f"{share:.1f}" for name, share in probed.items()}

# %% [markdown]
# One half before: the word is the same vector, whether it counts or not. Nearly always
# right after. Here is the answer to the question of this lesson. Before the encoder,
# "brilliant" is the same vector in both twins. After it, the vector says *brilliant,
# and it counts*. Then even a maximum over words can tell twins apart.

# %% tags=["claim"]
# The proof
claim("before the encoder a word does not know whether it counts",
      probed["before"] == 0.5)
claim("after the encoder a word knows whether it counts", probed["after"] > 0.9)

# %% [markdown]
# Where did the words look for that? `attention_patterns` works out the weights of all
# heads for our first review. There are 648 of them. We draw those that are large, in
# the rows of the two opinions: an arc goes from the opinion, which asks, to the word
# that is asked.

# %%
from course_lib import attention
from course_lib.experiments.twins import to_ids

patterns = attention.attention_patterns(model, to_ids([" ".join(review)]))
plots.show(draw.arcs(review, ("dreadful", "brilliant"), patterns), "twins-arcs")

# %% [markdown]
# It is tempting to read a story from this. Two warnings. First, these are the arcs of
# *one* training: with another seed they go to other words, and the verdicts are the
# same. Second, a large weight is no proof that anything depends on it (lesson 03).
#
# The proof is to change the word and to look at the verdict. In all test reviews with
# *but*, we write *although* in its place. *The garden was dreadful **although** the
# room was brilliant* means the opposite.

# %%
with_but = [text for text in splits[2][0] if " but " in text]
turned = [text.replace(" but ", " although ") for text in with_but]
with torch.no_grad():
    was, now = (model(to_ids(texts)).argmax(-1) for texts in (with_but, turned))
print(f"{(was != now).float().mean():.1f} of {len(with_but)} verdicts turn round")

# %% tags=["claim"]
# The proof
claim("one small word turns more than nine verdicts in ten",
      (was != now).float().mean() > 0.9)

# %% [markdown] name="classic-recipe"
# ## The classic recipe
#
# A well-known model of this kind reads film reviews: F. Chollet, *Deep Learning with
# Python*, second edition, section 11.4. Its task is IMDB: 25,000 reviews to learn from,
# 25,000 to test, half of them positive.
#
# | part | classic recipe | yours, above |
# |---|---|---|
# | **vocabulary** | the 20,000 most frequent words | 40 words |
# | **width, heads, feed-forward, layers** | 256, 2, 32, 1 | 64, 4, 128, 2 |
# | **width of a head** | 256 | 16 |
# | **positions** | none; in a second model learned ones | sinusoids |
# | **pooling, head** | maximum, dropout 0.5, one logit | maximum, two logits |
# | **loss, optimizer** | binary cross-entropy, RMSprop, rate 0.001 | the same |
# | **epochs** | 20, the best one kept | 6, the best one kept |
#
# One logit $z$ with binary cross-entropy is two logits $(0, z)$ with cross-entropy. The
# dropout of ½ before the head sets half of the pooled numbers to 0 in training, so that
# no verdict depends on one channel alone. In Keras each head may have any width, here
# 256; so both together are 512 wide, and $W_o$ brings 512 numbers back to 256.

# %% tags=["predict"]
predict(
    "Nine tenths of the recipe's 5.7 million parameters are in …",
    {
        "the attention": "Four matrices of 256 · 512 numbers. Work it out, and compare "
        "with the vocabulary.",
        "the feed-forward network": "256 · 32 and back: it is narrower than the model, "
        "where the paper has four times the width.",
        "the table of embeddings": True,
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
# Look at one row of the table again: *positions: none*. Train the recipe for one epoch
# on the twins.

# %% tags=["predict"]
predict(
    "The recipe without positions, trained on twins: its accuracy on the test is …",
    {
        "one half": True,
        "between 0.6 and 0.9, as with short runs": "Runs of two words see who stands "
        "beside whom. What does attention without positions see?",
        "above 0.95, as above": "What told the encoder above “dreadful … but” from "
        "“but … dreadful”? Find it in the table.",
    },
    concept="C104",
)

# %%
from course_lib.experiments.recipe import recipe_accuracy, recipe_loss

torch.manual_seed(0)
blind = ClassicRecipe(vocab_size=41)
optimizer = torch.optim.RMSprop(blind.parameters(), lr=0.001)
fit(blind, recipe_loss, shuffled(*training, batch_size=64), optimizer)
print(f"{recipe_accuracy(blind, test):.2f}")

# %% [markdown]
# Order is all in our twins, and the recipe does not see order: it is a bag of words
# with attention in it. How can it be a classic, then? Real reviews are not twins. We
# trained it on 10,000 short film reviews, of up to 40 words each, with three seeds.
# Beside it stand counts of words and of pairs of neighbours.

# %%
film = stored("10-recipe")
plots.show(draw.recipe(film), "recipe-epochs")

# %% [markdown]
# It is at its best after one or two epochs. Ten epochs later it knows its training
# texts by heart, and new ones less well than before: **this** is where your loop pays.
# Even so, counting words does as well, with no attention at all. Most of what tells a
# verdict is in the words; their order is for the hard cases. What this does not show:
# the recipe was made for 25,000 *long* reviews, and on those it has more to learn from.

# %% tags=["claim"]
# The proof
recipe = [row for row in film if row["model"] == "recipe"]
counts = [row for row in film if "counts" in row["model"]]
claim("on twins the recipe is right in one half",
      abs(recipe_accuracy(blind, test) - 0.5) < 0.01)
claim("its last epoch knows the training texts by heart",
      all(row["fitted"] > 0.99 for row in recipe))
claim("on the test, with every seed, the best epoch beats the last one",
      all(row["best"] > row["last"] + 0.01 for row in recipe))
claim("it is as good as counting, give or take three in a hundred", all(
    abs(a["best"] - b["best"]) < 0.03 for a, b in zip(recipe, counts, strict=True)))

# %% [markdown]
# ## Further: real reviews, and a model that has read before
#
# Train on them yourself? There are 12,752 snippets of film reviews, each with a
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
    print(f"counts:            {counted(film_splits[0])(film_splits[2]):.2f}")

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
    (texts, y), (unseen, y_test) = film_splits[0], film_splits[2]
    print("labels  counts  frozen MiniLM")
    for n in (200, 500, 2_000, 10_000):
        head = LogisticRegression(max_iter=2000).fit(vectors[0][:n], y[:n])
        frozen = head.score(vectors[2], y_test)
        words = counted((texts[:n], y[:n]))((unseen, y_test))
        print(f"{n:6,}  {words:6.2f}  {frozen:13.2f}")

# %% [markdown]
# On our machine, with another draw of the splits:
#
# | labels | counts | frozen MiniLM |
# |---|---|---|
# | 200 | 0.60 | 0.69 |
# | 500 | 0.63 | 0.72 |
# | 2,000 | 0.73 | 0.75 |
# | 10,000 | 0.77 | 0.76 |
#
# With few labels, reading before is worth a lot. With 10,000 the counts have caught up:
# MiniLM was trained to say what a text is *about*, and a verdict is only a part of
# that.
#
# Do you have the folder `aclImdb` of the classic recipe? `data.imdb("aclImdb")` reads
# it. With `ClassicRecipe()` and 600 words per review, it is the classic experiment.
# You will need a GPU.

# %% [markdown]
# ## Summary
#
# - An encoder is $N$ layers, built alike, each with weights of its own: self-attention,
#   then feed-forward, each followed by dropout, the skip connection and a norm.
# - Around it: embeddings · $\sqrt{d_{model}}$, positions, a mask that hides padding.
#   Pool over real tokens: else a text's meaning depends on its neighbours in the batch.
# - Choose by validation, keep a *copy* of the best weights, load it, and test once.
#   Keep the constructor's arguments beside the weights.
# - Twins: a bag of words and an encoder without positions are right in exactly one
#   half. Runs of words see as far as their window. The encoder also solves gaps that it
#   never saw; with a window it does not. But it has learned absolute positions: four
#   words in front confuse it.
# - What the encoder writes into a word can be asked in new ways: a contextual
#   embedding.
# - The classic recipe has 5,664,033 parameters, nine tenths of them in its embeddings.
#   On short film reviews it is no better than counting words.
#
# **Think about it.** Max pooling takes each channel from one token. In which of your
# tasks would a mean be better, and in which one a token of its own, put in front of the
# text, that nobody wrote? (Lesson 13 does that.)
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.1
# and figure 1, left (the encoder), section 3.4 (embeddings), section 5.4 (dropout). The
# recipe: F. Chollet, *Deep Learning with Python*, second edition (2021), section 11.4,
# with its [notebook](https://github.com/fchollet/deep-learning-with-python-notebooks/blob/master/chapter11_part03_transformer.ipynb).
# IMDB: [Maas et al. 2011](https://ai.stanford.edu/~amaas/data/sentiment/). Probing:
# [Alain and Bengio 2016](https://arxiv.org/abs/1610.01644).
#
# **Next.** The encoder reads. Lesson 11 builds the half that writes, and sends Jane to
# Africa in September.
