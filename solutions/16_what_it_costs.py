# %% [markdown]
# # 16 · What it costs
#
# *90 minutes: reading 31, predicting 22, writing 37 · needs lesson 12b · two exercises*
#
# **At the end you can**
#
# - keep keys and values instead of reading a text again, and say what that saves and costs;
# - compute attention without ever holding all of its scores;
# - say what a training step keeps for its gradients, and trade it for time;
# - count operations and bytes, and say whether a step waits for memory or for arithmetic;
# - give a model's numbers fewer bits, or its tokens a shorter view, and measure what it loses;
# - train on several processes at once, and show that it is the same training.
#
# Everything that is said here about time is a ratio of two things that were measured in one run.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, intervene, mine, predict, shipped
from course_lib.display import plots
from course_lib.display.drawings import costs as draw

torch.set_num_threads(1)

# %% [markdown] name="kv-cache"
# ## Do not read it all again
#
# `generate` hands the model the whole context for each new token. Yet when a token is added,
# not everything is new. Here is lesson 12b's grown model, in your `LanguageModel`:

# %%
GPT, write = mine("LanguageModel"), mine("generate")
writer = shipped.language_model(GPT)
model = writer.model
text = """The value of the attribute is a string, which is returned by the function
that was called with the name of a class."""
context = writer.encode(text)[None]  # (1, T)
tuple(context.shape)

# %% tags=["predict"]
predict(
    "A token is added at the end. Which keys and values of the *earlier* tokens "
    "change, in the second block?",
    {
        "none": (
            True,
            "Behind a causal mask no earlier place sees the new one, in any block. So "
            "their keys and values can be kept: a KV cache.",
        ),
        "all of them: the text has become longer": "What does place 3 see of a token "
        "at place 40?",
        "those of the second block, as it reads the first": "And what does the first "
        "block hand it for an earlier place?",
        "the values alone": "Keys and values are made of the same vectors.",
    },
    concept="C165",
)

# %%
from course_lib.experiments.depth import stream

with torch.no_grad():
    before, after = stream(model, context[:, :-1])[1], stream(model, context)[1]
    block = model.blocks[1]
    keys = [block.self_attn.W_k(block.norm1(x)) for x in (before, after)]
moved = (keys[0] - keys[1][:, :-1]).abs().max().item()
print(f"keys of the second block, with the last token and without: {moved:.6f} apart")
plots.show(draw.strip(["the", "cat", "saw", "the"]), "kv-strip")

# %% [markdown]
# ### Exercise 1: `attend_with_cache`
#
# ★★☆ · 8 minutes · about 5 lines
#
# Keys and values that are kept from step to step make a **KV cache**. Write one step of attention:
# one new token, and what was kept of the others.
#
# <details><summary>Hint 1: a question</summary>
#
# The newest token may see itself and everything before it. Which mask does that need?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. where there is a cache: its keys and the new one side by side, along the axis of tokens; the
#    same for values
# 2. scores of the one query with all keys, divided by √d; softmax; the mixture of the values
# 3. return it, and the pair of grown keys and values
#
# </details>

# %% tags=["exercise"]
from course_lib.cache import attend_with_cache

# %%
step = check(attend_with_cache).verified

# %% [markdown]
# `WithCache` wraps a model, keeps a pair for each block, and asks your function where one token
# is new. Its logits, token by token, beside those of one whole pass:

# %% tags=["nbval-ignore-output"]
from course_lib.cache import WithCache

cached = WithCache(model, step)
with torch.no_grad():
    anew = model(context)[0]  # (T, V)
T = context.shape[1]
kept = torch.cat([cached(context[:, : t + 1])[0] for t in range(T)])  # (T, V)
print(f"largest difference of logits: {(anew - kept).abs().max().item():.6f}")

# %% tags=["predict"]
predict(
    "Without a cache the 400th token costs a pass over 400 tokens. With it …",
    {
        "a pass over one token, and 400 keys to look at": (
            True,
            "Projections and feed-forward run for one token alone. Only the scores "
            "still grow with what was written.",
        ),
        "a pass over one token, whatever was written": "How many keys does its query "
        "meet?",
        "half as much: keys and values are two of three": "Do the earlier tokens need "
        "their queries, or their feed-forward?",
        "as much: attention is quadratic": "How many *new* rows of scores are there?",
    },
    concept="C165",
)

# %%
from course_lib.experiments.costs import in_turn


def written(reader, count=192):
    torch.manual_seed(0)
    return write(reader, context[:, :4], count, 256)


same = torch.equal(written(model), written(WithCache(model, step)))
took = in_turn({"anew": lambda: written(model),
                "kept": lambda: written(WithCache(model, step))}, 2)
print("the same text:", same)

# %% tags=["nbval-ignore-output"]
print(f"192 tokens: reading anew takes {took['anew'] / took['kept']:.1f} times as long")

# %% [markdown] name="grouped"
# ### What it costs
#
# The price is memory: two vectors for each token, in each block. In large models the cache is
# what limits how many texts can be written at once. **Grouped-query attention** (lesson 15b) lets
# several query heads share one head of keys and values. SmolLM2 has 9 query heads in 3 groups.

# %% tags=["predict"]
predict(
    "Nine query heads share three heads of keys and values. Compared with nine of "
    "each, what is a third?",
    {
        "the cache, and not the scores": (
            True,
            "Each query still meets every key of its group: as many scores as before. "
            "Only what has to be kept and read from memory is less.",
        ),
        "the scores, and not the cache": "How many queries are there, and how many "
        "keys does each meet?",
        "both": "Does a query meet fewer tokens?",
        "neither: keys are shared, not dropped": "How many keys of a token are kept?",
    },
    concept="C166",
)

# %%
def cache_bytes(tokens, layers, kv_heads, d_head, bytes_each=2):
    """Keys and values of a text."""
    return 2 * tokens * layers * kv_heads * d_head * bytes_each


for name, heads in {"nine heads": 9, "three groups": 3, "one for all": 1}.items():
    megabytes = cache_bytes(8192, 30, heads, 64) / 1e6
    print(f"{name:13} {megabytes:6.0f} MB for 8,192 tokens")

# %%
from course_lib.llama import grouped_query_attention

q, k = torch.randn(1, 9, 5, 4), torch.randn(1, 3, 5, 4)
shared = grouped_query_attention(q, k, k)
thrice = k.repeat_interleave(3, 1)
repeated = grouped_query_attention(q, thrice, thrice)

# %% tags=["claim"]
# The proof
claim("a token that is added changes no earlier key", moved < 1e-4)
claim("with the cache, each step gives what one pass gives",
      (anew - kept).abs().max() < 1e-3)
claim("the same text comes sooner", same and took["anew"] > 1.3 * took["kept"])
claim("sharing keys is repeating them, and keeping a third",
      torch.allclose(shared, repeated, atol=1e-5)
      and 3 * cache_bytes(100, 30, 3, 64) == cache_bytes(100, 30, 9, 64))

# %% [markdown] name="online-softmax"
# ## Never hold all the scores
#
# A novel has about 100,000 tokens. The scores of one head: 100,000² numbers, 40 gigabytes. But
# scores are only a step on the way to the output. A weight is an exponential divided by the
# *sum* of all of them. So must all scores be there at once?
#
# By hand: mix the values 10, 20 and 60 with the scores 0, 1 and 2, one after the other. Keep three
# numbers: the largest score so far, the sum of $e^{\text{score} - \text{largest}}$, and the sum
# of that times the value.

# %% tags=["predict"]
predict(
    "The largest score was 0, and now comes a 1. What was summed so far has to be "
    "multiplied by …",
    {
        0.368: (
            True,
            "It was made with the old maximum: each term was e to the score − 0, and "
            "has to become e to the score − 1. That is a factor of 1/e.",
        ),
        2.718: "Then old terms would *grow* when a larger score comes.",
        0.5: "It is an exponential: what is e to −1?",
        1: "Then old and new terms would be measured from different maxima.",
    },
    concept="C167",
    within=0.01,
)

# %%
import math

largest, total, mixed = -math.inf, 0.0, 0.0
for score, value in zip([0, 1, 2], [10, 20, 60], strict=True):
    shrink = math.exp(largest - max(largest, score))
    largest = max(largest, score)
    weight = math.exp(score - largest)
    total, mixed = shrink * total + weight, shrink * mixed + weight * value
    print(f"score {score}: shrink by {shrink:.3f}, sum {total:.3f},",
          f"mean so far {mixed / total:.2f}")

# %% [markdown]
# After each score the mean is right for what was seen so far. Read the keys in blocks instead of
# one by one, for many queries, and it is **online softmax**, the heart of **FlashAttention**.
#
# ### Exercise 2: `online_softmax_attention`
#
# ★★★ · 14 minutes · about 10 lines
#
# The check also counts how many numbers you hold at once.
#
# <details><summary>Hint 1: a question</summary>
#
# How many running maxima are there: one, or one for each query?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. for each query: a maximum of −∞, a sum of 0, a mixture of zeros (Tq, dv)
# 2. for each block of keys and values (`split` also gives a shorter last one): its scores
#    (Tq, block), divided by √d
# 3. the new maximum; the factor by which the old sums shrink; the weights of the block
# 4. both sums; remember the maximum
# 5. at the end, the mixture divided by the sum
#
# </details>

# %% tags=["exercise"]
from course_lib.online_softmax import online_softmax_attention

# %%
in_blocks = check(online_softmax_attention).verified

# %%
generator = torch.Generator().manual_seed(0)
q, k, v = (torch.randn(1000, 16, generator=generator) for _ in range(3))
textbook = (q @ k.T / 16**0.5).softmax(-1) @ v
apart = max((in_blocks(q, k, v, size) - textbook).abs().max().item()
            for size in (7, 64, 1000))
print(f"whatever the size of a block: apart by {apart:.6f}")

# %% tags=["claim"]
# The proof
claim("one score at a time gives the softmax",
      abs(mixed / total - torch.tensor([0.0, 1, 2]).softmax(0)
          @ torch.tensor([10.0, 20, 60])) < 1e-4)
claim("blocks of any size give what the textbook gives", apart < 1e-4)

# %% [markdown] name="kept-for-gradients"
# ## What a training step keeps
#
# For its gradients, autograd keeps what each step has computed, the textbook's T × T weights
# among it. Fused attention keeps one number per row, the logarithm of its sum, and works the
# weights out again. Torch can tell what each of them keeps.

# %% tags=["predict"]
predict(
    "Twice the tokens. What is kept for the gradients of one attention becomes …",
    {
        "4 times as much; fused, twice as much": (
            True,
            "The square of the weights is gone; queries, keys, values, outputs and one "
            "number per row are left. The *operations* still grow with the square.",
        ),
        "twice as much, for both": "How many weights does the textbook keep?",
        "4 times as much, for both": "What does fused attention keep of the weights?",
        "4 times as much; fused, the same": "Queries and outputs grow with the text.",
    },
    concept="C168",
)

# %%
from course_lib.attention import scaled_dot_product_attention
from course_lib.experiments.costs import kept_for_the_gradients

lengths = [256, 512, 1024, 2048]
ways = {"textbook": scaled_dot_product_attention,
        "fused": F.scaled_dot_product_attention}


def megabytes(attend, T):
    q, k, v = (torch.randn(1, 4, T, 16, requires_grad=True) for _ in range(3))
    return kept_for_the_gradients(lambda: attend(q, k, v)) / 1e6


held = {name: [megabytes(attend, T) for T in lengths] for name, attend in ways.items()}
plots.show(draw.held(lengths, held), "held")
growth = {name: mb[-1] / mb[-2] for name, mb in held.items()}
{name: round(times, 1) for name, times in growth.items()}

# %% [markdown]
# The same trade can be made with whole blocks. **Gradient checkpointing** keeps only what goes
# *into* each block, and runs the block once more when its gradients are needed.
#
# ### Yours: checkpoint the blocks
#
# Six blocks of your model, and a text of 128 tokens. Say for each block whether it is
# checkpointed, so that at most half as much is kept.

# %%
from torch.utils.checkpoint import checkpoint

Block = mine("Block")
torch.manual_seed(0)
deep = nn.ModuleList(Block(64, 4, 256) for _ in range(6))
text, runs = torch.randn(4, 128, 64, requires_grad=True), []
for block in deep:
    block.register_forward_pre_hook(lambda *_: runs.append(1))


def through(chosen):
    x = text
    for block, again in zip(deep, chosen, strict=True):
        x = checkpoint(block, x, None, use_reentrant=False) if again else block(x, None)
    return x.sum()


def kept_with(chosen):
    return kept_for_the_gradients(lambda: through(chosen), deep.parameters()) / 1e6


everything = kept_with([False] * 6)

# %% tags=["yours"]
chosen = [True, True, True, True, True, True]  # yours: six times True or False

intervene(
    "at most half as much is kept",
    chosen,
    run=kept_with,
    holds=lambda mb: mb <= everything / 2,
    among=lambda c: len(c) == 6 and all(type(again) is bool for again in c),
    shows="{result:.1f} MB are kept",
    otherwise="Each block that is checkpointed keeps its input alone.",
)

# %%
counted = {}
for name, some in {"plain": [False] * 6, "checkpointed": [True] * 6}.items():
    runs.clear()
    torch.autograd.grad(through(some), text)
    counted[name] = len(runs)
least = kept_with([True] * 6)
print(f"{everything:.1f} MB and {counted['plain']} block runs,",
      f"or {least:.1f} MB and {counted['checkpointed']}")

# %% tags=["claim"]
# The proof
claim("the textbook keeps a square, fused attention a line",
      3.6 < growth["textbook"] < 4.1 and 1.9 < growth["fused"] < 2.1)
claim("with checkpoints each block runs twice, and a tenth is kept",
      counted == {"plain": 6, "checkpointed": 12} and least < everything / 5)

# %% [markdown] name="where-time-goes"
# ## Memory or arithmetic?
#
# A softmax does little with each number. So it is often called **memory-bound**: its numbers take
# longer to arrive than to be worked on. On this processor, too? A small array stays in the
# processor's cache, close to the arithmetic. Whatever waits for memory gets through many more
# numbers per second there. We compare a softmax with plain copying, which has no arithmetic at
# all, and with the exponentials alone.

# %% tags=["predict"]
predict(
    "In the processor's cache, beside copying, a softmax gets through …",
    {
        "less than half as many numbers per second": (
            True,
            "Nothing has to be fetched there, and it is still slower: a maximum, "
            "exponentials, a sum and a division take the time.",
        ),
        "about as many": "So it would be if it only waited for memory, in the cache as "
        "well.",
        "more: its numbers stay where they are": "Copying does not even compute.",
        "about as many, but only outside the cache": "Outside, copying waits. Does a "
        "softmax wait as long?",
    },
    concept="C169",
)

# %%
from course_lib.experiments.costs import rates

work = {"copy": lambda x, room: room.copy_(x),
        "exp": lambda x, room: torch.exp(x, out=room),
        "softmax": lambda x, room: torch.softmax(x, -1, out=room)}
sizes = [2**n for n in (14, 16, 18, 20, 22)]  # how many numbers
speed = rates(work, sizes)
plots.show(draw.rates(sizes, speed), "speeds")

# %% tags=["nbval-ignore-output"]
keeps = {name: rate[-1] / rate[1] for name, rate in speed.items()}
print("of its speed at 256 KiB, at 16 MiB:", {n: f"{x:.0%}" for n, x in keeps.items()})

# %% [markdown]
# On our server, copying loses about half of its speed beyond the cache, and the softmax a fifth
# at most. So *here* a softmax waits for arithmetic. On a GPU, whose arithmetic is far faster than its
# memory, it does wait for memory (Dao et al. 2022, section 2.1), and that is what FlashAttention
# was written for. What it saves on every machine is memory.

# %% tags=["claim"]
# The proof
claim("even in the processor's cache a softmax is less than half as fast as a copy",
      speed["softmax"][1] < speed["copy"][1] / 2)

# %% [markdown] name="what-travels"
# ### What travels
#
# How much does FlashAttention save there? Count what is carried between memory and a small, fast
# store that holds M numbers. The textbook writes its scores, reads them for the softmax, writes
# the weights and reads those: $4\,T^2$ numbers.
#
# Online softmax carries no scores. But its queries have to fit into the store, with their sums,
# their scores and a few keys and values: M / 4d queries, and d keys at a time. And for each block of
# queries, *all* keys and values are carried in.

# %%
def carried(q, k, v, store):
    """Attention, and how many numbers came and went beside a store of so many."""
    d = q.shape[1]
    outputs, numbers = [], 0
    for some in q.split(store // (4 * d)):
        outputs.append(in_blocks(some, k, v, d))
        numbers += some.numel() + k.numel() + v.numel() + outputs[-1].numel()
    return torch.cat(outputs), numbers


out, numbers = carried(q, k, v, store=8192)
print(f"carried {numbers:,}, the textbook {4 * 1000**2 + out.numel() * 4:,}")

# %% tags=["predict"]
predict(
    "The vectors become twice as wide, the store stays. About how many times as many "
    "numbers are carried?",
    {
        4: (
            True,
            "Each vector is twice as long, and half as many queries fit beside it, so "
            "keys and values are carried in twice as often.",
        ),
        2: "So long are the vectors. How many queries fit into the store now?",
        1: "The scores stay as many. Are they carried at all?",
        8: "Queries and keys both grow. Is what travels their product?",
    },
    concept="C187",
    within=0.1,
)

# %%
wide = [torch.cat([x, x], -1) for x in (q, k, v)]  # (1000, 32)
grows = {"twice as wide": carried(*wide, 8192)[1] / numbers,
         "twice the store": carried(q, k, v, 16384)[1] / numbers}
print({name: f"{times:.2f} times" for name, times in grows.items()})

# %% [markdown]
# A little less than 4, and more than a half, since queries and outputs travel once. So what is
# carried grows like $T^2 d^2 / M$ (Dao et al. 2022, theorem 2), and no exact attention
# carries less at every M (their proposition 3). Beside the textbook's $4\,T^2$ it is little as long
# as $d^2$ is far below M: on a GPU 64² beside the 50,000 numbers of 16 bits in 100 kilobytes.

# %% tags=["claim"]
# The proof
claim("in blocks, with a small store, it is the same attention",
      torch.allclose(out, textbook, atol=1e-4))
claim("twice the width carries four times as many, twice the store half as many",
      abs(grows["twice as wide"] - 4) < 0.3
      and abs(grows["twice the store"] - 0.5) < 0.06)

# %% [markdown] name="counted"
# ## Operations and bytes, counted
#
# A product of (T, d) and (d, k) takes $2\,T d k$ operations: each weight is multiplied and added
# once for each token. So a forward pass costs $2N$ operations per token, with $N$ the weights of
# all matrices. (The scores come on top, a few percent here; of fused attention on a CPU torch's
# counter leaves them out.)

# %% tags=["predict"]
predict(
    "A training step, forward and backward, costs how many times a forward pass?",
    {
        3: (True, "For each product forward there are two backward: one for the "
            "gradient of its weights, one for that of its inputs."),
        2: "Forward and backward, once each? What has to be known of each product: the "
        "gradient of its weights *and* that of its inputs.",
        1: "Then learning would be free.",
        10: "Is there anything in it that is done ten times?",
    },
    concept="C172",
    within=0.1,
)

# %%
from course_lib.experiments.costs import operations, this_machine

ids = torch.zeros(1, 64, dtype=torch.int64)
forward = operations(lambda: model(ids))
whole_step = operations(lambda: model(ids).sum().backward())
N = sum(w.numel() for name, w in model.named_parameters()
        if w.dim() > 1 and name != "table.weight")
print(f"{N:,} weights in matrices, {forward // 64:,} operations per token,",
      f"a training step {whole_step / forward:.1f} times as many")

# %% [markdown]
# **Writing** is another matter than reading: for one new token each weight is fetched from memory
# once, 2 bytes in 16 bits, and used for 2 operations. What can machines do per byte that they
# fetch? Yours is measured; the others' figures are NVIDIA's (dense, 16 bits).

# %% tags=["nbval-ignore-output"]
machines = {"this CPU, one thread": this_machine(), "A100, 80 GB": (312e12, 2.039e12),
            "H100 SXM": (989e12, 3.35e12)}
per_byte = {name: ops / fetched for name, (ops, fetched) in machines.items()}
for name, (ops, fetched) in machines.items():
    print(f"{name:21} {ops / 1e12:8.2f} · 10¹² operations/s,",
          f"{fetched / 1e9:6.0f} GB/s: {per_byte[name]:4.0f} per byte")

# %% [markdown]
# ### Yours: keep it busy
#
# An A100 that writes one text at a time does one operation per byte, and could do 153. Texts that
# are written side by side share each weight that was fetched. How many, at least, until it no
# longer waits for memory? (Leave the caches out.)

# %% tags=["yours"]
texts = 154  # yours: a whole number


def limits(texts, name="A100, 80 GB"):
    """What takes longer for one step of writing so many texts, per weight."""
    ops, fetched = machines[name]
    return "arithmetic" if 2 * texts / ops > 2 / fetched else "memory"


intervene(
    "the fewest texts for which arithmetic is the limit",
    texts,
    run=lambda n: (limits(n), limits(n - 1)),
    holds=lambda both: both == ("arithmetic", "memory"),
    among=range(2, 1000),
    shows="with {choice} texts {result[0]} is the limit, with one less {result[1]}",
    otherwise="Each text more adds two operations per weight, and no byte.",
)

# %% tags=["claim"]
# The proof
claim("a pass costs two operations per weight and token, a training step three passes",
      1 <= forward / (2 * N * 64) < 1.1 and 2.9 < whole_step / forward < 3.1)
claim("who writes one text at a time waits for memory, here and on both GPUs",
      min(per_byte.values()) > 1)

# %% [markdown] name="fewer-bits"
# ## Fewer bits for each number
#
# A weight in float32 has 32 bits. **Quantization** stores whole numbers of, say, 8 bits, and one
# scale for each row of a matrix: a quarter of the memory, and a quarter of what has to be
# fetched for each token.

# %% tags=["predict"]
predict(
    "The grown model, its matrices in 8 bits instead of 32. Per character of new text "
    "it needs …",
    {
        "less than 0.01 bits more": (
            True,
            "Rounding moves each weight by less than half a percent of the largest in "
            "its row, now up, now down; sums over a row hardly notice.",
        ),
        "about 0.5 bits more": "Is each weight needed to a tenth of a percent?",
        "four times as many": "Memory and surprise are not the same bits.",
        "exactly as many": "Is anything rounded?",
    },
    concept="C170",
)

# %%
from course_lib.experiments.costs import with_bits
from course_lib.experiments.language import bits_by_reading, manual

new = manual().test[:30_000]
test = writer.encode(new)


def cost(bits):
    """Bits per character of new text, with so many bits for each weight."""
    return bits_by_reading(with_bits(model, bits), test, 512, 32) / len(new)


whole = bits_by_reading(model, test, 512, 32) / len(new)
costs = {bits: cost(bits) for bits in (8, 6, 5, 4, 3, 2)}
plots.show(draw.bits(costs, whole), "fewer-bits")

# %% tags=["nbval-ignore-output"]
print(f"32 bits: {whole:.3f}", {bits: round(c, 3) for bits, c in costs.items()})

# %% [markdown]
# ### Yours: how few?
#
# Find the smallest number of bits that costs less than 0.1 bits per character.

# %% tags=["yours"]
few = 4  # yours: bits for a weight, 3 to 8

intervene(
    "it costs less than 0.1 bits per character, and one bit less would not",
    few,
    run=lambda bits: (cost(bits) - whole, cost(bits - 1) - whole),
    holds=lambda both: both[0] < 0.1 <= both[1],
    among=range(3, 9),
    shows="{choice} bits cost {result[0]:.3f} more, one bit less {result[1]:.3f}",
    otherwise="The curve above turns up somewhere.",
)

# %% tags=["claim"]
# The proof
claim("8 bits cost less than 0.01 bits per character, 2 bits more than 1",
      abs(costs[8] - whole) < 0.01 and costs[2] - whole > 1)

# %% [markdown] name="sliding"
# ## A view that slides
#
# Long contexts cost memory and time. Many models let most of their layers see only the last
# $w$ tokens, a **sliding window**: $T \cdot w$ scores in place of $T^2$, and a cache that stops
# growing. Large models were found to send much attention to the very first token, whatever it is,
# and to break down when it slides out of view. So it is kept as an **attention sink** (Xiao et al.
# 2023). Does our model have one? Contexts of 32 tokens, of which each token sees the last 8.

# %% tags=["predict"]
predict(
    "The last 8 tokens in view, or the last 8 and the very first one, or the last 9. "
    "In this small model …",
    {
        "one token more helps a little, whichever it is": (
            True,
            "No sink is to be seen: what large models do need not be true of a small "
            "one with two blocks. It has to be measured.",
        ),
        "without the first token it breaks down": "So large models do. Two blocks, "
        "and 32 tokens?",
        "the first helps far more than the ninth": "What would this model have stored "
        "there?",
        "8 in place of 32 double its bits": "Which tokens say most about the next one?",
    },
    concept="C171",
)

# %%
from course_lib.experiments.costs import read_with


def view(last, first=0):
    """A mask: each token sees the last ones, itself among them, and the first ones."""
    def mask(T):
        back = torch.arange(T)[:, None] - torch.arange(T)
        return (back >= 0) & ((back < last) | (torch.arange(T) < first))
    return mask


def seen(last, first=0):
    read = read_with(model, view(last, first))
    return bits_by_reading(read, test, 512, 32) / len(new)


views = {"all 32": (32,), "last 16": (16,), "last 8": (8,), "last 8 and first": (8, 1),
         "last 9": (9,), "last 4": (4,)}
needs = {name: seen(*which) for name, which in views.items()}

# %% tags=["nbval-ignore-output"]
print({name: round(bits, 3) for name, bits in needs.items()})

# %% tags=["claim"]
# The proof
claim("a quarter of the view costs less than a tenth more bits",
      needs["all 32"] < needs["last 8"] < 1.1 * needs["all 32"])
claim("the first token is worth no more than the ninth",
      needs["last 9"] - 0.005 < needs["last 8 and first"] < needs["last 8"])

# %% [markdown] name="data-parallel"
# ## Several processes, one training
#
# A batch can be shared out. In **data parallel** training each process has a copy of the model
# and a share of every batch; before each step they average their gradients. Nothing else is
# exchanged. `torchrun` starts the processes; they talk over `gloo` on a CPU, over `NCCL` on GPUs.
#
# The same small training, five steps: on one process, then on two with half a batch each.

# %% tags=["predict"]
predict(
    "The losses of the five steps on two processes, beside those on one:",
    {
        "the same, to rounding": (
            True,
            "The gradient of a mean is the mean of the gradients. So two processes "
            "make the very steps that one would make, in less time.",
        ),
        "lower: two models learn more than one": "How many different models are there "
        "after the first step?",
        "higher: each sees half a batch": "And what is averaged before the step?",
        "the same at first, then they drift apart": "Which step would be the first "
        "that differs?",
    },
    concept="C173",
)

# %%
from course_lib.experiments import many_processes

alone, shared_out = (many_processes.losses(processes) for processes in (1, 2))
print("one process: ", alone)
print("two processes:", shared_out or "they cannot be started here")

# %% tags=["claim"]
# The proof
claim("two processes make the steps that one would make", shared_out is None
      or max(abs(a - b) for a, b in zip(alone, shared_out, strict=True)) < 0.003)

# %% [markdown]
# ## Summary
#
# - Behind a causal mask nothing in the past changes. A KV cache keeps keys and values: a new token
#   costs a pass over one token, and memory for two vectors in each block.
# - Grouped queries make the cache smaller, not the scores.
# - Online softmax reads keys in blocks, with a running maximum and sum: the same numbers, and
#   never all scores at once.
# - Autograd keeps the textbook's square; fused attention a line. Checkpointing keeps less and runs
#   blocks twice.
# - On a CPU a softmax waits for arithmetic, on a GPU for memory. What online softmax carries to and
#   fro grows like $T^2 d^2 / M$, not like $T^2$.
# - A forward pass takes two operations per weight and token, a training step six. Writing one text
#   at a time waits for memory on every machine.
# - Eight bits for a weight cost next to nothing; two ruin the model.
# - A quarter of the view costs this model a few percent, and it has no sink.
# - Data parallel processes average their gradients, and make the steps that one would make.
#
# **Think about it.** A text of 100,000 tokens is summarised, then forgotten. Which of this lesson's
# savings help, and which do not?
#
# <details><summary>An answer</summary>
#
# Reading it is one pass, so the cache saves nothing *while* reading; it is needed to write the
# summary, and it is large: grouped queries and fewer bits make it smaller. Reading needs attention
# that never holds 100,000² scores. Checkpointing is for training alone.
#
# </details>
#
# **In the papers.** The cache, and sharing keys: [Shazeer 2019](https://arxiv.org/abs/1911.02150);
# groups: [Ainslie et al. 2023](https://arxiv.org/abs/2305.13245). Online softmax: [Milakov and
# Gimelshein 2018](https://arxiv.org/abs/1805.02867); attention without the square of memory: [Rabe
# and Staats 2021](https://arxiv.org/abs/2112.05682), and FlashAttention, [Dao et al.
# 2022](https://arxiv.org/abs/2205.14135). Checkpointing: [Chen et al.
# 2016](https://arxiv.org/abs/1604.06174). Operations of a pass and of a step: [Kaplan et al.
# 2020](https://arxiv.org/abs/2001.08361), section 2.1. Eight bits: [Dettmers et al.
# 2022](https://arxiv.org/abs/2208.07339). Sliding windows: [Beltagy et al.
# 2020](https://arxiv.org/abs/2004.05150); sinks: [Xiao et al.
# 2023](https://arxiv.org/abs/2309.17453). GPUs: NVIDIA's data sheets of the A100 (80 GB, SXM) and
# the H100 (SXM).
#
# **Next.** What is inside: a model opened head by head, and proved: lesson 17.
