"""Lesson 17: what is asked of a trained model of attention alone, and of the translator that ships."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import attention_patterns
from course_lib.circuits import attention_scores_by_pattern, hooked, run
from course_lib.data import small_french
from course_lib.data.vocabulary import BOS, PAD
from course_lib.experiments.opened import attentions, new_pairs
from course_lib.experiments.repeats import V, repeating, right_and_loss
from course_lib.targets import shift_right

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+#"


def in_signs(ids):
    """Tokens (T,) as a list of signs, one for each of the 64."""
    return [SIGNS[i] for i in ids.tolist()]


def contrasts(rows, seed):
    """Rows of 24 whose last token A stood there once before, with B behind it; and the same with one token exchanged.

    returns: clean (rows, 24), {"A exchanged": ids, "B exchanged": ids} with a new token in the place of the first A or
             B, and the places of the first B (rows,)
    """
    ids, n = repeating(rows, seed, 12, 16)
    ids, row, place = ids[:, :24].clone(), torch.arange(rows), 24 - n[:, 0]
    draw = torch.rand(rows, V, generator=torch.Generator().manual_seed(seed + 1))
    new = draw.scatter(1, ids, 0).argmax(1)  # a token that is not in the row
    others = {}
    for name, at in (("A exchanged", place - 1), ("B exchanged", place)):
        others[name] = ids.clone()
        others[name][row, at] = new
    return ids, others, place


def rewritten(model, block, head, constant):
    """The same function, written otherwise: a head always says a constant more, and W_o's bias takes it off again.

    constant: (d,)
    """
    model = copy.deepcopy(model)
    attention = model.blocks[block].self_attn
    more = torch.zeros(attention.num_heads, len(constant))
    more[head] = constant
    with torch.no_grad():
        attention.W_v.bias += more.flatten()  # weights sum to one: so much more is said of every token
        attention.W_o.bias -= attention.W_o.weight @ more.flatten()
    return model


@torch.no_grad()
def shuffling(model, ids, block, heads, seed=0):
    """Edits under which the weights of these heads are shuffled, for each query among all that it may see."""
    attention, kept = model.blocks[block].self_attn, []
    hook = attention.W_v.register_forward_hook(lambda *seen: kept.append(seen[-1]))
    weights = list(attention_patterns(model, ids).values())[block]  # (B, H, T, T)
    hook.remove()
    v = kept[-1].unflatten(-1, (attention.num_heads, -1))  # (B, T, H, d)
    T = ids.shape[1]
    draw = torch.rand(weights.shape, generator=torch.Generator().manual_seed(seed))
    order = draw.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), 2.0).argsort(-1)
    shuffled = torch.einsum("bhqk,bkhd->bqhd", weights.gather(-1, order), v)

    def edit(said):
        said = said.clone()
        said[:, :, heads] = shuffled[:, :, heads]
        return said

    return {block: edit}


def readable(stream, tokens, new_stream, new_tokens, steps=1500):
    """How often a linear layer, trained on one stream (n, D), reads these tokens off a new one."""
    torch.manual_seed(0)
    reader = nn.Linear(stream.shape[-1], V)
    optimizer = torch.optim.Adam(reader.parameters(), 0.02)
    for _ in range(steps):
        drawn = torch.randint(len(stream), (256,))
        loss = F.cross_entropy(reader(stream[drawn]), tokens[drawn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (reader(new_stream).argmax(-1) == new_tokens).float().mean().item()


# Which English words belong together
KINDS = {
    "do, does, did, not": {"do", "does", "did", "not"},
    "verbs": {w for verb in small_french.VERBS.values() for w in (verb.english, verb.english_he, verb.english_past)},
    "adjectives": {adjective.english for adjective in small_french.ADJECTIVES.values()},
    "nouns": {w for nouns in (small_french.THINGS, small_french.PEOPLE) for noun in nouns.values()
              for w in (noun.english, noun.english_plural)},
    "the, a, this, two …": set("the a an this that these those two three".split()),
    "in, at, to": {"in", "at", "to"},
}


class Read:
    """New pairs of sentences, as the translator reads them; which of its words are wrong with which heads silent."""

    def __init__(self, translator, many=300):
        self.model, pairs = translator.model, new_pairs(many)
        self.source = translator.french.encode([pair.french for pair in pairs])
        self.target = translator.english.encode([pair.english for pair in pairs])
        self.attentions = attentions(self.model)
        numbers = translator.english.ids
        self.where = {kind: torch.isin(self.target, torch.tensor([numbers[w] for w in words if w in numbers]))
                      for kind, words in KINDS.items()}
        self.where["all words"] = self.target != PAD

    @torch.no_grad()
    def wrong(self, edits=None):
        """The share of wrong words of each kind, each after the right words before it; edits: {attention: edit}."""
        with hooked(self.attentions, edits or {}):
            logits = self.model(self.source, shift_right(self.target, BOS))
        wrong = logits.argmax(-1) != self.target
        return {kind: wrong[where].float().mean().item() for kind, where in self.where.items()}

    @torch.no_grad()
    def looks(self):
        """Weights of every attention, {name: (B, H, Tq, Tk)}."""
        return attention_patterns(self.model, self.source, shift_right(self.target, BOS))


def strip(model, ids, n, row, ablate_head):
    """What the instrument residual-strip shows of a row, read with every set of heads silent.

    ids, n:      rows that repeat, over which losses are measured
    row:         (T,) the tokens that are shown
    ablate_head: the learner's
    """
    attention = model.blocks[0].self_attn
    H = attention.num_heads

    def without(cut):
        """Edits that silence the heads of a number's bits, those of block 1 lowest."""
        def edit(block):
            def change(said):
                for head in range(H):
                    if cut >> (H * block + head) & 1:
                        said = ablate_head(said, head)
                return said
            return change
        return {0: edit(0), 1: edit(1)}

    def seen(block, cut):
        """For each head of a block: the two places that each token looks at most, with percents, and what it writes."""
        W_o, W_U = model.blocks[block].self_attn.W_o.weight, model.out.weight
        with hooked({0: attention}, without(cut)):
            weights = list(attention_patterns(model, row[None]).values())[block][0]  # (H, T, T)
        _, said = run(model, row[None], {0: without(cut)[0]})
        written = torch.einsum("thi,dhi->htd", said[block][0], W_o.unflatten(1, (H, -1)))
        most = weights.topk(2, dim=-1)
        looks = torch.stack([most.indices, (100 * most.values).round().long()], -1)  # (H, T, 2, 2)
        says = (written @ (W_U - W_U.mean(0)).T).argmax(-1)  # (H, T)
        return [looks.tolist(), ["".join(in_signs(tokens)) for tokens in says]]

    costs = [right_and_loss(model, ids, n, without(cut)) for cut in range(2 ** (2 * H))]
    return {"tokens": in_signs(row), "first": seen(0, 0), "second": [seen(1, cut) for cut in range(2**H)],
            "costs": costs}


@torch.no_grad()
def looked_over(model, vocabulary, rows=32, n=12, seed=0):
    """The largest of each kind of score, of any head of a language model, on random tokens that are said twice."""
    drawn = torch.rand(rows, vocabulary, generator=torch.Generator().manual_seed(seed)).argsort(1)[:, :n]
    ids = drawn.repeat(1, 2)
    scores = [attention_scores_by_pattern(weights, ids) for weights in attention_patterns(model, ids).values()]
    return torch.stack(scores, 1)  # (3, blocks, H)


def dictionary(stream, entries=256, steps=1000, price=1.0):
    """A sparse autoencoder: each vector of a stream (n, D) as a sum of few out of many entries.

    returns: a function from vectors (m, D) to how much of each entry is in them (m, entries), and the share of the
             stream's variance that is explained
    """
    torch.manual_seed(0)
    middle, size = stream.mean(0), stream.std()
    x = (stream - middle) / size
    read, write = nn.Linear(x.shape[1], entries), nn.Linear(entries, x.shape[1])
    optimizer = torch.optim.Adam([*read.parameters(), *write.parameters()], 3e-3)
    for _ in range(steps):
        batch = x[torch.randint(len(x), (512,))]
        much = torch.relu(read(batch))
        long = write.weight.norm(dim=0)  # an entry that is written large counts as much: it is not free to be small
        loss = (write(much) - batch).square().sum(-1).mean() + price * (much * long).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        left = (write(torch.relu(read(x))) - x).square().sum() / (x - x.mean(0)).square().sum()
    return torch.no_grad()(lambda vectors: torch.relu(read((vectors - middle) / size))), 1 - left.item()


def best_single(numbers, tokens):
    """How well single numbers tell a token: for each of the 64, the best correlation of any column; their mean."""
    there = F.one_hot(tokens, V).float()
    centred = [table - table.mean(0) for table in (numbers, there)]
    numbers, there = (table / table.norm(dim=0).clamp(min=1e-9) for table in centred)
    return (there.T @ numbers).abs().amax(1).mean().item()
