# %% [markdown]
# # 10 · The encoder, and text classification
#
# *80 minutes · needs lesson 09 · one exercise*
#
# **At the end you can**
#
# - put attention, wires and positions together to an encoder, and load its weights into PyTorch's own;
# - turn the vectors of a sentence into one, without falling into the padding trap;
# - train a classifier by the classic recipe, keep its best epoch in a file, and test what you load from there;
# - say what a bag of words, n-grams and an encoder can know about a sentence, and measure it.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, mine
from course_lib.display import plots
from course_lib.training import fit, shuffled

torch.set_num_threads(1)

# %% [markdown]
# ## One number first
#
# Two guests write about the same house. The first one liked it, the second one did not.
#
# > *the garden was dreadful but the room was brilliant*
# >
# > *the garden was brilliant but the room was dreadful*
#
# Let "brilliant" count 3, "dreadful" −2 and every other word 0. **Work out** the sum of each review.

# %%
review = "the garden was dreadful but the room was brilliant".split()
twin = "the garden was brilliant but the room was dreadful".split()
worth = {"brilliant": 3, "dreadful": -2}
sums = [sum(worth.get(word, 0) for word in words) for words in (review, twin)]
both_sums_are_one = sums == [1, 1]
assert both_sums_are_one
sums

# %% [markdown]
# The two are **twins**, as in lesson 09: the same words, the opposite meaning. A sum of words, a mean, a maximum:
# whatever does not look at the order gives twins the same.
#
# So the question of this lesson: **what must happen to a sentence so that one vector can say what it means?**
#
# Something has to happen to the *words*, before anybody adds them up. "brilliant" has to find out that it stands after
# "but", and "dreadful" that it stands before. You have all the parts for that.

# %% [markdown] name="encoder"
# ## The encoder
#
# Figure 1 of the paper, left half. It is **N identical layers**, one on top of the other. Each layer has **two
# sublayers**, and around each of them run a skip connection and a norm:
#
# ```
# token numbers   (B, T)
#       │         embedding · √d_model, plus positions
#       x         (B, T, d_model)
#       │
#       │    ┌─────────────────────────────────────────────────────────────┐
#       ├────┤  x = norm1(x + dropout(self-attention(x)))   look around    │
#       │    │  x = norm2(x + dropout(feed-forward(x)))     think          │  N times
#       │    └─────────────────────────────────────────────────────────────┘
#       x         (B, T, d_model)   one vector for each token, in its context
# ```
#
# The paper has N = 6. *Identical* means built alike. **Predict:** do the layers share their weights?

# %% [markdown]
# One layer on paper. A token is x = (1, 3). About it the attention says (4, 0), and later the feed-forward network
# says (0, 4). What leaves the layer? A norm of two different numbers always gives 1 and −1: the larger one gets the 1.

# %%
def norm(a, b):
    """Mean 0 and standard deviation 1, for two numbers."""
    mean, std = (a + b) / 2, abs(a - b) / 2
    return (a - mean) / std, (b - mean) / std


# %%
after_attention = norm(1 + 4, 3 + 0)  # norm1 of (5, 3)
after_feed_forward = norm(after_attention[0] + 0, after_attention[1] + 4)  # norm2 of (1, 3)
the_layer_gives_minus_one_and_one = after_attention == (1, -1) and after_feed_forward == (-1, 1)
assert the_layer_gives_minus_one_and_one
after_attention, after_feed_forward

# %% [markdown]
# Note what the second sum adds to: not the (1, 3) that came in, but the (1, −1) that norm1 made of it.
#
# | | version 6 | encoder layer |
# |---|---|---|
# | **inputs** | query (B, Tq, d), key, value (B, Tk, d), mask | **x (B, T, d)**, mask |
# | **similarity** | in each head: query W_q · (key W_k)ᵀ / √d_head | the same, with **x in all three places** |
# | **outputs** | scores, weights (B, H, Tq, Tk), result (B, Tq, d) | scores, weights (B, H, T, T), **x (B, T, d)** |
#
# What goes in and what comes out have one shape. That is why layers can be stacked.

# %% [markdown]
# ### Exercise: `EncoderLayer`
#
# ★☆☆ · 10 minutes · about 2 lines
#
# The constructor is finished. It is made of *your* attention and *your* feed-forward network, from lessons 06 and 08.
# Write `forward`.
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the five parts has to be told who may see whom? And which x does the second sublayer read?
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
MultiHeadAttention = mine("MultiHeadAttention")
FeedForward = mine("FeedForward")

# %% tags=["exercise"]
from course_lib.transformer import EncoderLayer

# %%
Layer = check(EncoderLayer).verified

# %% [markdown] name="as-in-torch"
# ## Is it the real thing?
#
# PyTorch has this layer as `nn.TransformerEncoderLayer`. We put *your* weights into it. Its names differ a little, and
# it keeps W_q, W_k and W_v as one matrix, one below the other. So here is, for each of its names, where the numbers
# are in your layer. We shall need that twice: for weights, and for their gradients.

# %%
in_torch = {}
for of in ("weight", "bias"):
    in_torch[f"self_attn.in_proj_{of}"] = [f"self_attn.W_{i}.{of}" for i in "qkv"]
    in_torch[f"self_attn.out_proj.{of}"] = [f"self_attn.W_o.{of}"]
    for part in ("linear1", "linear2", "norm1", "norm2"):
        in_torch[f"{part}.{of}"] = [("ff." if "linear" in part else "") + f"{part}.{of}"]
in_torch["self_attn.in_proj_weight"], in_torch["linear1.weight"], in_torch["norm1.weight"]


# %%
def translated(values):
    """Tensors under our names -> the same under torch's."""
    return {theirs: torch.cat([values[ours] for ours in names]) for theirs, names in in_torch.items()}


# %% [markdown]
# A fresh norm has gain 1 and offset 0, and two swapped norms would not be noticed. So every weight gets some noise
# first. Two sentences of 7 and 4 tokens. **Predict:** in torch's `src_key_padding_mask`, what does True mean?

# %%
torch.manual_seed(0)
ours, theirs = Layer(32, 4, 64), nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
with torch.no_grad():
    for weight in ours.parameters():
        weight.add_(0.1 * torch.randn(weight.shape))
theirs.load_state_dict(translated(dict(ours.named_parameters())))

# %%
x, wish = torch.randn(2, 7, 32), torch.randn(2, 7, 32)  # (B, T, d_model)
real = torch.arange(7) < torch.tensor([[7], [4]])  # (B, T), True = a real token
said, torch_said = ours(x, real[:, None]), theirs(x, src_key_padding_mask=~real)  # (B, T, d_model) each
forward_is_torch_s = (said - torch_said).abs().max().item() < 1e-5
assert forward_is_torch_s
forward_is_torch_s, tuple(said.shape)

# %% [markdown]
# In torch, True in that mask means *ignore*: the mask has to be turned round with ~. Values may agree by luck. Do the
# gradients agree as well, for all sixteen weights of your layer?

# %%
def gradients(module, out):
    """The gradient of one and the same number, for every weight of the module."""
    names, weights = zip(*module.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad((out * wish).sum(), weights), strict=True))


# %%
from_ours, from_torch = gradients(ours, said), gradients(theirs, torch_said)
as_theirs, largest = translated(from_ours), max(g.abs().max().item() for g in from_torch.values())
gap = max((as_theirs[name] - from_torch[name]).abs().max().item() for name in from_torch)
gradients_are_torch_s = gap < 1e-5 * largest
assert gradients_are_torch_s
len(from_ours), len(from_torch), gradients_are_torch_s

# %% [markdown]
# Now a stack. `nn.TransformerEncoder` takes one layer and copies it. **Predict:** with what weights do its three
# layers begin, and with what weights do three of yours?

# %%
torch.manual_seed(1)
stack = nn.ModuleList(Layer(32, 4, 64) for _ in range(3))
torch_stack = nn.TransformerEncoder(theirs, 3, enable_nested_tensor=False)
first, second = (layer.linear1.weight for layer in torch_stack.layers[:2])
torch_layers_begin_as_copies = torch.equal(first, second) and first is not second
ours_begin_apart = not torch.equal(stack[0].ff.linear1.weight, stack[1].ff.linear1.weight)
assert torch_layers_begin_as_copies
assert ours_begin_apart
torch_layers_begin_as_copies, ours_begin_apart

# %% [markdown]
# No layer shares its weights with another one: each learns by itself. But torch's layers all begin at the **same**
# random numbers. (Its documentation says so, and asks you to initialise them yourself.) We load ours.

# %%
for layer, torch_layer in zip(stack, torch_stack.layers, strict=True):
    torch_layer.load_state_dict(translated(dict(layer.named_parameters())))
deep = x
for layer in stack:
    deep = layer(deep, real[:, None])  # (B, T, d_model), the same shape after every layer
torch_deep = torch_stack(x, src_key_padding_mask=~real)
the_stack_is_torch_s = (deep - torch_deep).abs().max().item() < 1e-5
assert the_stack_is_torch_s
tuple(deep.shape)

# %% [markdown]
# And the gradient, on its long way down to the first layer?

# %%
in_their_first_layer = gradients(torch_stack, torch_deep)["layers.0.linear1.weight"]
in_our_first_layer = gradients(stack, deep)["0.ff.linear1.weight"]
gap = (in_our_first_layer - in_their_first_layer).abs().max().item()
so_is_its_gradient_down_to_layer_1 = gap < 1e-5 * in_their_first_layer.abs().max().item()
assert so_is_its_gradient_down_to_layer_1
tuple(in_our_first_layer.shape), so_is_its_gradient_down_to_layer_1

# %% [markdown] name="transformer-encoder"
# ## From token numbers to vectors in context
#
# Around the stack there are three things left: embedding, positions, and the mask that hides padding. Token number 0
# is padding. The embedding starts small, with a standard deviation of 1/√d_model, so that √d_model brings words to the
# height of the positions (lesson 09).
#
# The encoder has no decoder's mask: each token may look to both sides, since nothing has to be guessed.

# %%
padding_mask_from_ids = mine("padding_mask_from_ids")
sinusoidal_positions = mine("sinusoidal_positions")


# %%
class TransformerEncoder(nn.Module):
    """Token numbers in, one vector in context for each token out."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.d_model = d_model
        self.embed = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embed.weight, std=d_model**-0.5)
        self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)

    def positions(self, T):
        return sinusoidal_positions(T, self.d_model)  # (T, d_model)

    def forward(self, ids):
        x = self.embed(ids) * self.d_model**0.5  # (B, T, d_model)
        x = self.dropout(x + self.positions(ids.shape[1]).to(x))
        mask = padding_mask_from_ids(ids)  # (B, 1, T)
        for layer in self.layers:
            x = layer(x, mask)
        return x  # (B, T, d_model)


# %% [markdown]
# The constructor's arguments are worth keeping. A file of weights is a list of names and numbers, and does not say how
# to build the model they belong to. In Keras, each layer of your own has a method `get_config` for that: it returns
# the arguments of the constructor, and they are saved in the same file. In torch, keep them in a dict, and save it
# beside the weights. We shall do so below, with the sizes of our experiment: 40 words and padding are 41 numbers.

# %%
config = dict(vocab_size=41, d_model=64, num_heads=4, d_ff=128, num_layers=2)
encoder = TransformerEncoder(**config)
ids = torch.tensor([[5, 3, 8, 8, 1], [7, 2, 0, 0, 0]])  # (B, T), 0 = padding
vectors = encoder(ids)  # (B, T, d_model)
the_same_token_twice_gives_two_vectors = not torch.allclose(vectors[0, 2], vectors[0, 3], atol=0.1)
assert the_same_token_twice_gives_two_vectors
tuple(ids.shape), tuple(vectors.shape)

# %% [markdown] name="pooling"
# ## From many vectors to one
#
# A sentence of T tokens gives T vectors, and a classifier wants one. The classic choice is **max-pooling**: in each
# channel, the largest number of all tokens.
#
# By hand: in one channel, the two tokens of a sentence have −2 and −5. Beside longer sentences it gets two places of
# padding, and there the channel happens to hold 0. **Predict** both maxima, of the tokens and of all places.

# %%
channel, is_real = torch.tensor([-2.0, -5.0, 0.0, 0.0]), torch.tensor([True, True, False, False])
of_the_tokens = channel[is_real].max().item()
of_all_places = channel.max().item()
padding_wins = of_all_places > of_the_tokens == -2
assert padding_wins
of_the_tokens, of_all_places

# %% [markdown]
# The 0 comes from nobody. This is the **padding trap**: the mask has kept padding out of the attention, and the
# pooling lets it in again. So pooling needs a mask, too. What is smaller than every number a token can have?

# %%
def max_over_real_tokens(x, real):
    """x (B, T, d), real (B, T) bool -> (B, d)."""
    return x.masked_fill(~real[..., None], float("-inf")).amax(dim=1)


max_over_real_tokens(channel[None, :, None], is_real[None])  # (B, d) = (1, 1)

# %% [markdown]
# Now the whole classifier: encoder, pooling, and a **head** of two parts. Dropout sets half of the pooled numbers to
# zero while training, so that no verdict may hang on one channel alone. A linear layer then turns what is left into
# one number.

# %%
class Classifier(nn.Module):
    """Yes or no for a whole text: one logit, larger than 0 means yes."""

    def __init__(self, encoder, dropout=0.5):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(encoder.d_model, 1)

    def pool(self, x, ids):
        return max_over_real_tokens(x, ids != 0)

    def forward(self, ids):
        x = self.encoder(ids)  # (B, T, d_model)
        return self.out(self.dropout(self.pool(x, ids)))[:, 0]  # (B,)


# %% [markdown] name="padding-trap"
# Now the same two words, padded to 2, 5, 10 and 25 places. It is one sentence, so it should get one logit. A second
# classifier has the same weights and pools over all places. **Predict** both rows.

# %%
class PoolsOverPadding(Classifier):
    """The padding trap."""

    def pool(self, x, ids):
        return x.amax(dim=1)  # all places, padding included


# %%
torch.manual_seed(2)
careful, trapped = Classifier(encoder).eval(), PoolsOverPadding(encoder).eval()
trapped.load_state_dict(careful.state_dict())
padded = [F.pad(torch.tensor([[7, 2]]), (0, T - 2)) for T in (2, 5, 10, 25)]  # (1, T) each
with torch.no_grad():
    steady, moved = ([model(ids).item() for ids in padded] for model in (careful, trapped))

# %%
over_real_tokens_it_stays = max(abs(logit - steady[0]) for logit in steady) < 1e-5
over_all_places_it_moves = max(abs(logit - moved[0]) for logit in moved) > 1e-3
without_padding_they_agree = abs(steady[0] - moved[0]) < 1e-6
assert over_real_tokens_it_stays
assert over_all_places_it_moves
assert without_padding_they_agree
print("over the real tokens:", [round(logit, 2) for logit in steady])
print("over all places:     ", [round(logit, 2) for logit in moved])

# %% [markdown]
# In the trap, what a text means depends on the longest text it shares a batch with. By how much depends on the weights:
# with others that we drew, the logit moved by 0.01, and by 0.4. Nothing raises an error, and training may hide it.
# Keras' `GlobalMaxPooling1D` pools over all places; only its sister for averages takes a mask.

# %% [markdown] name="classic-recipe"
# ## The classic recipe
#
# A well-known model of this kind reads film reviews: François Chollet, *Deep Learning with Python*, second edition,
# section 11.4. The task is IMDB: 25,000 reviews to learn from, 25,000 to test, half of them positive.
#
# | | classic recipe | ours below |
# |---|---|---|
# | **vocabulary** | the 20,000 most frequent words | 40 words |
# | **width, heads, feed-forward, layers** | 256, 2 heads, 32, 1 layer | 64, 4 heads, 128, 2 layers |
# | **positions** | none; in a second model learned ones | sinusoids |
# | **pooling** | maximum | maximum over real tokens |
# | **head** | dropout 0.5, linear to one number, sigmoid | the same |
# | **loss** | binary cross-entropy | the same |
# | **optimizer** | RMSprop, learning rate 0.001 | the same |
# | **epochs** | 20, the best one kept | 10, the best one kept |
#
# How large is it? In Keras, `MultiHeadAttention(num_heads=2, key_dim=256)` makes each head 256 wide (lesson 06). So
# the two heads together are 512 wide. **Work out** the parameters of W_q: 256 · 512 weights, and a bias.

# %%
from course_lib import attention


class KerasAttention(attention.MultiHeadAttention):
    """Multi-head attention with heads of any width: key_dim is the width of one head."""

    def __init__(self, d_model, num_heads, key_dim):
        super().__init__(d_model, num_heads)
        self.d_head, inner = key_dim, num_heads * key_dim
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, inner) for _ in range(3))
        self.W_o = nn.Linear(inner, d_model)


# %% [markdown]
# `W_o` brings 512 numbers back to 256. For comparison we build a layer of our own kind, too: two heads that share 256.

# %%
def size(*modules):
    return sum(p.numel() for module in modules for p in module.parameters())


classic, slim = Layer(256, 2, 32), Layer(256, 2, 32)
classic.self_attn = KerasAttention(256, 2, 256)
tuple(classic(torch.randn(1, 5, 256)).shape), size(classic.self_attn.W_q)

# %% [markdown]
# The forward pass did not have to change. Now the whole model: embedding, one layer, and a head with 256 weights and a
# bias. **Predict:** which of the three has the most parameters? And is our kind of layer half as large?

# %%
embedding, head = nn.Embedding(20_000, 256), nn.Linear(256, 1)
the_classic_layer_has_543_776 = size(classic) == 543_776
in_our_convention_it_has_280_864 = size(slim) == 280_864
the_classic_model_has_5_664_033 = size(embedding, classic, head) == 5_120_000 + 543_776 + 257 == 5_664_033
assert the_classic_layer_has_543_776
assert in_our_convention_it_has_280_864
assert the_classic_model_has_5_664_033

# %%
print(f"layer {size(classic):,} (with heads of 128: {size(slim):,}), model {size(embedding, classic, head):,}")
print(f"share of the embedding: {size(embedding) / size(embedding, classic, head):.0%}")

# %% [markdown]
# Nine tenths of this Transformer are a table of words. And its feed-forward network is *narrower* than the model: 32
# against 256, where the paper has four times the width.

# %% [markdown] name="twins"
# ## A task that cannot be cheated
#
# In a film review, single words tell much, whatever their order. A good score there says little about what an encoder
# makes of order. So we write reviews where order is **all**. Three forms, ten things, eight good words and eight bad:
#
# | form | what counts |
# |---|---|
# | *the A was X but the B was Y* | Y |
# | *although the A was X the B was Y* | Y |
# | *the A was X although the B was Y* | X |
#
# Some words may stand between: *in this house*, *as we had feared*. One of X and Y is good, the other one bad, and
# each review comes with its twin, where they have changed places.

# %%
import random

THINGS = "room garden view bath bed breakfast coffee pool staff price".split()
GOOD = "brilliant lovely excellent charming delightful superb pleasant wonderful".split()
BAD = "dreadful awful horrible shabby terrible miserable dirty poor".split()
FORMS = ["the {a} was {x} but the {b} was {y}", "although the {a} was {x} the {b} was {y}",
         "the {a} was {x} although the {b} was {y}"]
len(THINGS), len(GOOD), len(BAD)


# %% [markdown]
# The next function draws a form, two things and two opinions, fills the form in, and once more with the opinions in
# each other's place.

# %%
def one_pair(rng):
    """Two reviews with the same words, and their labels: 1 where the opinion that counts is good."""
    form = rng.randrange(3)
    a, b = (f"{thing} {rng.choice(['', 'in this house', 'that we had booked'])}" for thing in rng.sample(THINGS, 2))
    after_x, after_y = (rng.choice(["", "this time", "as we had feared"]) for _ in range(2))
    good, bad = rng.choice(GOOD), rng.choice(BAD)
    pair = []
    for x, y in ((good, bad), (bad, good)):
        text = FORMS[form].format(a=a, b=b, x=f"{x} {after_x}", y=f"{y} {after_y}")
        pair.append((" ".join(text.split()), float((x if form == 2 else y) == good)))
    return pair


# %% [markdown]
# One pair. Do you agree with both labels?

# %%
dict(one_pair(random.Random(3)))

# %% [markdown]
# 2,000 pairs to train, 500 to choose the best epoch, 1,000 to test. No review occurs twice, and twins stay together:
# if one were in training and the other in the test, remembering the first would do harm.

# %%
rng, seen, splits = random.Random(0), set(), []
for pairs in (2000, 500, 1000):
    split = []
    while len(split) < 2 * pairs:
        pair = one_pair(rng)
        if pair[0][0] not in seen:
            seen |= {text for text, _ in pair}
            split += pair
    splits.append(split)

# %%
texts, labels = zip(*[zip(*split, strict=True) for split in splits], strict=True)
half_of_the_labels_are_1 = all(sum(of_split) == len(of_split) / 2 for of_split in labels)
assert half_of_the_labels_are_1
{name: len(of_split) for name, of_split in zip(("training", "validation", "test"), texts, strict=True)}

# %% [markdown]
# ### What a bag of words can know
#
# **Predict** the accuracy on the test reviews of the best classifier there is, if it may see which words occur, and
# how often, but not where.

# %%
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

bag = CountVectorizer()
counts, test_counts = bag.fit_transform(texts[0]), bag.transform(texts[2])  # (reviews, words)
twins_have_one_bag = (test_counts[::2] != test_counts[1::2]).nnz == 0
assert twins_have_one_bag
test_counts.shape

# %%
bag_of_words = LogisticRegression().fit(counts, labels[0]).score(test_counts, labels[2])
a_bag_of_words_is_right_in_exactly_half = bag_of_words == 0.5
assert a_bag_of_words_is_right_in_exactly_half
len(bag.vocabulary_), bag_of_words

# %% [markdown]
# Exactly one half, and no training can change it. Twins have the same counts, so they get the same answer, and it is
# right for just one of them.
#
# ### What n-grams can know
#
# An n-gram is a run of n neighbours, such as *"was dreadful but"*. A bag of n-grams knows some order: as far as its
# window reaches. **Predict:** from which n on can all of our reviews be told apart?

# %%
by_n, features = {}, {}
for n in range(1, 7):
    grams = CountVectorizer(ngram_range=(1, n))
    counted = grams.fit_transform(texts[0])
    fitted = LogisticRegression(max_iter=1000).fit(counted, labels[0])
    by_n[n], features[n] = fitted.score(grams.transform(texts[2]), labels[2]), len(grams.vocabulary_)
features

# %%
up_to_five_words_are_not_enough = max(by_n[n] for n in range(1, 6)) < 0.93
six_words_are = by_n[6] > 0.98
single_words_are_40_features = features[1] == 40
up_to_six_are_hundreds_of_times_as_many = features[6] > 300 * features[1]
assert up_to_five_words_are_not_enough
assert six_words_are
assert single_words_are_40_features
assert up_to_six_are_hundreds_of_times_as_many

# %%
figure, axis = plt.subplots(figsize=(5.4, 3.2))
bars = axis.bar(list(by_n), list(by_n.values()), color="#9d8ec7")
axis.bar_label(bars, [f"{count:,}" for count in features.values()], padding=2)
axis.axhline(0.5, linestyle=":", color="black")
axis.set(xlabel="longest n-gram (above each bar: how many features)", ylabel="accuracy", ylim=(0, 1.12))
plots.show(figure, "Accuracy of n-grams on the test reviews: 0.5 for single words, nearly 0.7 for two and three, about "
                   "0.85 for four and five, and nearly 1 for six. The features grow from 40 to more than 14,000.")

# %% [markdown]
# An honest rival: with a window of six words it is right nearly every time. Between X and its *but* there are at most
# four other words, and six take in everything. The price: more than 14,000 features for a language of 40 words. And one
# word more between X and *but* would be out of reach again. An encoder has no window.

# %% [markdown]
# ## Two encoders
#
# Words become numbers, from 1 on; 0 fills up. The first encoder is the one from above. The second one differs in one
# line: it has no positions.

# %%
number = {word: i for i, word in enumerate(sorted(bag.vocabulary_), 1)}


def to_ids(reviews):
    """Texts -> token numbers (B, T), padded with 0 to the longest."""
    rows = [torch.tensor([number[word] for word in review.split()]) for review in reviews]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


to_ids(["the garden was dreadful", "the room"])


# %% [markdown]
# And the blind one. It inherits everything else.

# %%
class WithoutPositions(TransformerEncoder):
    """The same encoder, blind to order."""

    def positions(self, T):
        return torch.zeros(T, self.d_model)  # the only change


# %%
training, validation, test = ((to_ids(t), torch.tensor(y)) for t, y in zip(texts, labels, strict=True))
tuple(training[0].shape), len(number)

# %% [markdown]
# Nothing is trained yet. **Predict:** how much do the logits of twins differ, with and without positions? We ask all
# 1,000 pairs of the test. (Dropout has to be off for that: eval mode.)

# %%
@torch.no_grad()
def logits_of(model, ids):
    """In eval mode, without gradients: (B,)."""
    return model.eval()(ids)


# %%
torch.manual_seed(0)
apart = {}
for kind in (TransformerEncoder, WithoutPositions):
    logits = logits_of(Classifier(kind(**config)), test[0])  # (B,)
    apart[kind] = (logits[::2] - logits[1::2]).abs()  # (pairs,)
{kind.__name__: round(gaps.median().item(), 2) for kind, gaps in apart.items()}

# %%
without_positions_twins_are_one = apart[WithoutPositions].max().item() < 1e-5
with_positions_they_are_two = apart[TransformerEncoder].median().item() > 1e-3
assert without_positions_twins_are_one
assert with_positions_they_are_two
without_positions_twins_are_one, with_positions_they_are_two

# %% [markdown]
# The blind one is a bag of words, for any weights. We train it all the same, to be fair.
#
# The loss is **binary cross-entropy**: −ln of the probability that the model gives to the right answer. **One
# number:** what is it for a model that says 0 to everything, that is, one half?

# %%
def loss_of(model, ids, label):
    return F.binary_cross_entropy_with_logits(model(ids), label)


def accuracy(model, ids, label):
    return ((logits_of(model, ids) > 0) == (label > 0.5)).float().mean().item()


# %%
no_idea = F.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([0.0, 1.0])).item()
no_idea_costs_0_69 = round(no_idea, 2) == 0.69
assert no_idea_costs_0_69
round(no_idea, 2)

# %% [markdown] name="keep-the-best"
# ## Keep the best
#
# The last epoch need not be the best one. So after each epoch we ask the **validation** reviews, and whenever the
# answer is better than ever before, the weights go into a file, with the config beside them. At the end we load that
# file, and only then are the **test** reviews asked, once.
#
# **Predict:** why not choose the best epoch by the test reviews?

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.runs import checkpoints

folder = TemporaryDirectory()  # it vanishes with the notebook; for a file to keep, choose one of your own


# %% [markdown]
# One epoch is one call of `fit`: every training review once, in a new order. The optimizer is made once, before the
# loop, because it remembers things: RMSprop divides each step by the size that the gradients of that weight had
# lately.

# %%
def train(model, path, config, training, validation, epochs):
    """Train by the classic recipe; keep the best epoch in a file; return the validation accuracy of every epoch."""
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.001)
    history = []
    for epoch in range(epochs):
        batches = shuffled(*training, batch_size=64, seed=epoch)
        fit(model, loss_of, batches, optimizer, seed=epoch, progress=f"epoch {epoch + 1} of {epochs}")
        history.append(accuracy(model, *validation))
        if history.index(max(history)) == epoch:  # better than all before
            checkpoints.save(model, path, **config)
    return history


# %% [markdown]
# It takes about half a minute. (If your code has loops and it takes too long, write `from course_lib.transformer
# import EncoderLayer as Layer` at the top of the cell, just for this training.)

# %%
histories, files = {}, {}
for name, kind in {"with positions": TransformerEncoder, "without positions": WithoutPositions}.items():
    torch.manual_seed(0)
    files[name] = Path(folder.name) / f"{name}.pt"
    histories[name] = train(Classifier(kind(**config)), files[name], config, training, validation, epochs=10)
list(histories)

# %% [markdown] name="reload-and-test"
# Now load what was kept. The new models are built from the config, with fresh random weights, and the file replaces
# them. Do they answer the validation reviews just as they did in their best epoch?

# %%
models = {}
for name, kind in {"with positions": TransformerEncoder, "without positions": WithoutPositions}.items():
    models[name] = Classifier(kind(**config))
    saved_config = checkpoints.load(models[name], files[name])
saved_config

# %%
the_config_came_back = saved_config == config
the_best_epoch_came_back = accuracy(models["with positions"], *validation) == max(histories["with positions"])
assert the_config_came_back
assert the_best_epoch_came_back
the_config_came_back, the_best_epoch_came_back

# %% [markdown]
# And now the test, once. **Predict** both accuracies.

# %%
tested = {name: accuracy(model, *test) for name, model in models.items()}
the_encoder_is_right_in_95_of_100 = tested["with positions"] > 0.95
without_positions_it_is_right_in_half = abs(tested["without positions"] - 0.5) < 0.02
assert the_encoder_is_right_in_95_of_100
assert without_positions_it_is_right_in_half
the_encoder_is_right_in_95_of_100, without_positions_it_is_right_in_half

# %%
figure, axis = plt.subplots(figsize=(6, 3.4))
for (name, history), style, colour in zip(histories.items(), ("o-", "s--"), ("#46327e", "#777777"), strict=True):
    axis.plot(range(1, len(history) + 1), history, style, color=colour, label=f"encoder {name}")
    axis.plot(history.index(max(history)) + 1, max(history), "*", markersize=15, color="black")
axis.axhline(by_n[5], linestyle=":", color="black", label="n-grams of up to five words, on the test reviews")
axis.set(xlabel="epoch (★ is kept)", ylabel="accuracy", title="on the validation reviews", ylim=(0.4, 1.05))
axis.legend(fontsize=8, loc="center right")
plots.show(figure, "Accuracy over ten epochs. The encoder with positions stays near 0.5 at first, then climbs to "
                   "nearly 1, above the line of the n-grams of up to five words. The encoder without positions stays "
                   "at 0.5. A star marks the epoch that was kept of each.")

# %% [markdown]
# Look at the first epochs: for a while there is nothing, and then it goes fast. Loss and accuracy tell you little
# about how near a model is to the idea it needs.
#
# A checkpoint is only as good as the file. **Predict:** what happens when half of it is missing, or when it belongs to
# a model of another width?

# %%
half = Path(folder.name) / "half.pt"
whole = files["with positions"].read_bytes()
half.write_bytes(whole[: len(whole) // 2])
narrow = Classifier(TransformerEncoder(**config | {"d_model": 32}))
refused = []
for model, path in ((models["with positions"], half), (narrow, files["with positions"])):
    try:
        checkpoints.load(model, path)
    except checkpoints.CheckpointError as error:
        refused.append(str(error).replace(str(path), path.name))
print("\n".join(refused))

# %% [markdown]
# Both are refused, in one sentence. And the model that should have taken the half file: has it become half a model?

# %%
a_wrong_file_is_refused_and_the_model_stays = len(refused) == 2 and (
    accuracy(models["with positions"], *test) == tested["with positions"])
assert a_wrong_file_is_refused_and_the_model_stays
len(refused), a_wrong_file_is_refused_and_the_model_stays

# %% [markdown] name="representation"
# ## What the encoder has written into the words
#
# The classifier asked one question: *is the guest content?* But the encoder gives a vector to **every token**, and
# what is in it can be asked in other ways. Put any head on it: one for each token (*which words are names?*), one for
# two sentences (*do they say the same?*), or a decoder, in lesson 11. The encoder makes a **representation**, and
# heads are cheap.
#
# A new question, for a single word: *is this the opinion that counts?* Nobody has trained for it. We freeze the
# encoder and fit one logistic regression on the vectors of the opinion words. **Predict** its accuracy on the word
# vectors before the encoder, and on those after it.

# %%
opinions = torch.tensor([number[word] for word in GOOD + BAD])
good_ones = torch.tensor([number[word] for word in GOOD])
len(opinions), len(good_ones)


# %% [markdown]
# Every review has two opinion words, and one of them counts: the good one in a good review, the bad one in a bad
# review.

# %%
@torch.no_grad()
def opinion_vectors(make_vectors, ids, label):
    """The vectors of all opinion words, and for each whether it is the one that counts."""
    is_opinion = torch.isin(ids, opinions)  # (B, T), two in each review
    counts = torch.isin(ids, good_ones) == (label[:, None] > 0.5)  # good in a good review, bad in a bad one
    return make_vectors(ids)[is_opinion].numpy(), counts[is_opinion].numpy()


# %%
trained, probed = models["with positions"].encoder.eval(), {}
for name, make_vectors in {"before": trained.embed, "after": trained}.items():
    seen, unseen = (opinion_vectors(make_vectors, ids[:1000], label[:1000]) for ids, label in (training, test))
    probed[name] = LogisticRegression(max_iter=1000).fit(*seen).score(*unseen)
before_the_encoder_a_word_knows_nothing = probed["before"] == 0.5
after_it_the_word_knows_whether_it_counts = probed["after"] > 0.9
assert before_the_encoder_a_word_knows_nothing
assert after_it_the_word_knows_whether_it_counts
probed["before"], after_it_the_word_knows_whether_it_counts

# %% [markdown]
# One half before, exactly: the word is the same vector, whether it counts or not. And nearly always right after it.
#
# Here is the answer to the question of this lesson. Before the encoder, "brilliant" is the same vector in both twins.
# After it, the vector says *brilliant, and it counts*. Then even a maximum over words can tell the twins apart.
#
# Where did the words look for that? `attention_patterns` works out the weights of all heads for our first review. We
# show the rows of the two opinions. **Predict:** which word does each of them have to find first? (Your maps are those
# of this seed. Another seed finds another way.)

# %%
patterns = attention.attention_patterns(models["with positions"], to_ids([" ".join(review)]))
at = [review.index("dreadful"), review.index("brilliant")]
{path: tuple(weights.shape) for path, weights in patterns.items()}

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for axis, (layer, weights) in zip(axes, enumerate(patterns.values(), 1), strict=True):  # (1, H, T, T)
    rows = weights[0][:, at].flatten(0, 1)  # (H * 2, T)
    names = [f"head {h}: {review[t]}" for h in range(1, 5) for t in at]
    plots.heat_map(axis, rows, names, review, title=f"layer {layer}", limit=1.0)
    axis.set_xlabel("is asked")
axes[0].set_ylabel("asks")
plots.show(figure, "Two tables, one for each layer: for each of the four heads the attention weights of dreadful and "
                   "of brilliant on the nine words of the review. Each row sums to one; heads and layers look to "
                   "different words.")

# %% [markdown]
# A map of one review is an anecdote. Over 400 test reviews: how much weight do opinions give to "but" or "although",
# in the head of layer 1 that gives most? An even share would be one part in T.

# %%
ids = test[0][:400]
connects = torch.isin(ids, torch.tensor([number["but"], number["although"]]))  # (B, T)
in_layer_1 = next(iter(attention.attention_patterns(models["with positions"], ids).values()))  # (B, H, T, T)
on_it = (in_layer_1 * connects[:, None, None]).sum(-1).transpose(1, 2)[torch.isin(ids, opinions)]  # (opinions, H)
even_share = (1 / (ids != 0).sum(1)).mean().item()
a_head_asks_for_the_connecting_word = on_it.mean(0).max().item() > 2 * even_share
assert a_head_asks_for_the_connecting_word
len(on_it), a_head_asks_for_the_connecting_word

# %% [markdown]
# More than twice an even share. But a weight is no proof that anything hangs on it (lesson 03). So change the word and
# look: *the garden was dreadful **but** the room was brilliant*, *the garden was dreadful **although** the room was
# brilliant*. **Predict** what happens to the verdicts.

# %%
with_but = [text for text in texts[2] if " but " in text]
before, after = (logits_of(models["with positions"], to_ids(reviews)) > 0
                 for reviews in (with_but, [text.replace(" but ", " although ") for text in with_but]))
turned_round = (before != after).float().mean().item()
one_word_turns_nine_verdicts_in_ten = turned_round > 0.9
assert one_word_turns_nine_verdicts_in_ten
len(with_but), one_word_turns_nine_verdicts_in_ten

# %% [markdown] name="real-reviews"
# ## The same code on real reviews
#
# Do real texts need an encoder? If you like, find out: 12,752 snippets of film reviews, each with a verdict, *fresh*
# or *rotten*. Set `REAL_REVIEWS = True`: it fetches 9 MB once, and trains for about a minute. Where they cannot be
# had, one sentence says why, and the lesson goes on.

# %% tags=["nbval-ignore-output"]
from course_lib import data

REAL_REVIEWS = False  # True: fetch them, and train

snippets = []
if REAL_REVIEWS:
    try:
        snippets, verdicts = data.reviews()
    except data.Missing as missing:
        print(missing)
print(f"{len(snippets):,} real reviews")

# %% [markdown]
# One split: 10,000 to train, 1,000 to validate, the rest to test. The rival is *TF-IDF with logistic regression*:
# counts of words and of pairs of neighbours, where rare ones count more (lesson 01). **Predict** who wins.

# %% tags=["nbval-ignore-output"]
def word_counts_on_real(texts, y, n=10_000):
    """Test accuracy of TF-IDF and logistic regression, fitted on the first n texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    grams = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    fitted = LogisticRegression(C=4, max_iter=1000).fit(grams.fit_transform(texts[:n]), y[:n])
    return fitted.score(grams.transform(texts[11_000:]), y[11_000:])


# %% [markdown]
# The encoder gets the first 40 words of each review. Number 0 is padding, 1 is any word outside the vocabulary.
# Nothing else is new: `Classifier`, `train` and `checkpoints.load` are those from above.

# %% tags=["nbval-ignore-output"]
def encoder_on_real(texts, y, T=40):
    """Test accuracy of a small encoder that learns from scratch, by the classic recipe."""
    words = CountVectorizer(max_features=19_998).fit(texts[:10_000])
    lines = [words.build_analyzer()(text)[:T] or ["?"] for text in texts]
    rows = [torch.tensor([words.vocabulary_.get(word, -1) + 2 for word in line]) for line in lines]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)  # (B, T)
    config = dict(vocab_size=20_000, d_model=64, num_heads=4, d_ff=128, num_layers=1)
    model, path = Classifier(TransformerEncoder(**config)), Path(folder.name) / "real.pt"
    train(model, path, config, (ids[:10_000], y[:10_000]), (ids[10_000:11_000], y[10_000:11_000]), epochs=5)
    checkpoints.load(model, path)
    return accuracy(model, ids[11_000:], y[11_000:])


# %% tags=["nbval-ignore-output"]
if snippets:
    order = torch.randperm(len(snippets), generator=torch.Generator().manual_seed(0))
    mixed, y = [snippets[i] for i in order], verdicts[order].float()
    torch.manual_seed(0)
    word_counts, small_encoder = word_counts_on_real(mixed, y), encoder_on_real(mixed, y)
    both_beat_the_majority = min(word_counts, small_encoder) > 0.68 > y.mean().item() + 0.1
    word_counts_hold_their_own = word_counts > small_encoder - 0.01
    assert both_beat_the_majority
    assert word_counts_hold_their_own
    print(f"word counts: {word_counts:.2f}   encoder from scratch: {small_encoder:.2f}")

# %% [markdown]
# On our machine word counts reach 0.77 and the encoder 0.75, where saying *fresh* to everything gives 0.56. It has
# 10,000 short texts to learn English from. And counts of words and pairs come as far without any attention: our twins
# were written so that order is all, real reviews were not.
#
# Would an encoder do better that has **read before**? MiniLM is one: six layers like yours, with real weights, trained
# by others on a billion pairs of texts. It stays frozen. Each review becomes the mean of its token vectors, 384
# numbers, and the same small head stands on top. (What is inside, lesson 15 opens.)
#
# **Predict:** who wins with all 10,000 labels, and who with 200? Set `PRETRAINED = True`: it fetches 84 MB once, and
# reads for about two minutes.

# %% tags=["nbval-ignore-output"]
PRETRAINED = False  # True: fetch MiniLM, and read all reviews with it

vectors = None
if snippets and PRETRAINED:
    from course_lib.pretrained import minilm

    try:
        vectors = minilm.sentence_vectors(minilm.load(), minilm.load_tokenizer(), mixed)  # (12752, 384)
    except data.Missing as missing:
        print(missing)
print("read by MiniLM:", vectors is not None)

# %% tags=["nbval-ignore-output"]
if vectors is not None:
    print("labels  word counts  frozen MiniLM")
    for n in (200, 500, 2_000, 10_000):
        head = LogisticRegression(max_iter=2000).fit(vectors[:n], y[:n])
        frozen, counted = head.score(vectors[11_000:], y[11_000:]), word_counts_on_real(mixed, y, n)
        print(f"{n:6,}  {counted:11.2f}  {frozen:13.2f}")
        if n == 200:
            few_labels_are_enough_for_one_who_has_read = frozen > counted + 0.04
            assert few_labels_are_enough_for_one_who_has_read

# %% [markdown]
# On our machine:
#
# | labels | word counts | frozen MiniLM |
# |---|---|---|
# | 200 | 0.60 | 0.69 |
# | 500 | 0.63 | 0.72 |
# | 2,000 | 0.73 | 0.75 |
# | 10,000 | 0.77 | 0.76 |
#
# With few labels reading before is worth a lot: MiniLM gets nearly as far with 500 labels as counts with 2,000. With
# 10,000 the counts have caught up. MiniLM was trained to say what a text is *about*, and a verdict is only a part of
# that.
#
# Do you have the folder `aclImdb` of the classic recipe? `data.imdb("aclImdb")` reads it: texts and labels to train
# on, then those to test on. With your `KerasAttention`, width 256 and T = 600 it is the classic model. Bring a GPU.

# %% [markdown]
# ## Summary
#
# - An encoder is N layers, built alike, each with weights of its own: self-attention, then feed-forward, each followed
#   by dropout, the skip connection and a norm. Yours equals PyTorch's, gradients and masks included.
# - Around it: embedding · √d_model, positions, and a mask that hides padding. Keep the constructor's arguments beside
#   the weights.
# - Pool over real tokens. Pooling over padding makes a text's meaning depend on its neighbours in the batch.
# - The classic recipe has 5,664,033 parameters, 5,120,000 of them in the embedding.
# - Twins: a bag of words and an encoder without positions are right in exactly one half. n-grams see as far as their
#   window. The encoder with positions is right nearly every time.
# - Choose by validation, keep the best, load it, and test once.
# - What the encoder writes into a word can be asked in new ways: it is a representation, and heads are cheap.
#
# **Think about it.** Max-pooling takes each channel from one token. In which of your tasks would a mean be better, and
# in which one a token of its own, put in front of the sentence, that nobody wrote? (Lesson 13 does that.)
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.1 and figure 1, left (the
# encoder), section 3.4 (embeddings), section 5.4 (dropout on each sublayer and on the sum of embedding and position).
# The recipe: F. Chollet, *Deep Learning with Python*, second edition (2021), section 11.4, with its
# [notebook](https://github.com/fchollet/deep-learning-with-python-notebooks/blob/master/chapter11_part03_transformer.ipynb).
# IMDB: [Maas et al. 2011](https://ai.stanford.edu/~amaas/data/sentiment/). Asking frozen vectors a new question is
# called *probing*: [Alain and Bengio 2016](https://arxiv.org/abs/1610.01644).
#
# **Next.** The encoder reads. Lesson 11 builds the half that writes, and sends Jane to Africa in September.
