"""Questions whose numbers may be any: how they are drawn, what is right, and which thoughts lead elsewhere.

What is right is computed by the verified implementation wherever there is one.
"""

import hashlib
import math
import random
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch

from course_lib.attention import MultiHeadAttention, softmax
from course_lib.language_model import next_token_probs
from course_lib.masks import causal_mask
from course_lib.positions import binary_positions
from course_lib.predictions.question import NEAR, Question

DRAWS = 1000  # at most, until the answers to a question all differ
EXACT = 0.4  # how near a whole number has to be
FAMILIES = {}  # key: Family


class Family(NamedTuple):
    """One question for all, with other numbers for each.

    text: the question, with the names of its numbers in braces
    draw: takes a random.Random; gives ({name: number}, [(answer, what is said to it)]), the right answer first
    """

    key: str
    lesson: str
    concept: str
    text: str
    draw: Callable


@cache
def variant(family, student, term=""):
    """The Question that a student is asked: the same each time, and with other numbers in another term.

    raises: ValueError where no draw gives answers that differ
    """
    chance = random.Random(hashlib.sha256(f"{term}\n{family.key}\n{student}".encode()).digest())
    for _ in range(DRAWS):
        numbers, answers = family.draw(chance)
        answers = [(float(answer), says) for answer, says in answers]
        within = EXACT if all(answer.is_integer() for answer, _ in answers) else None
        if _are_apart([answer for answer, _ in answers], within):
            return Question(family.text.format(**numbers), dict(answers), answers[0][0], family.concept, within)
    raise ValueError(f"{family.key}: of {DRAWS} draws none has answers that differ: mend its function")


def _are_apart(answers, within):
    """Is nobody told the thought behind another number, even if they round?"""
    return all(b - a > 2 * (within or 1.5 * NEAR * max(abs(a), abs(b))) for a, b in pairwise(sorted(answers)))


def _asks(lesson, concept, text):
    def keep(draw):
        key = draw.__name__.replace("_", "-")
        FAMILIES[key] = Family(key, lesson, concept, text, draw)
        return draw
    return keep


@_asks("02", "C017", "The scores of three keys are {a}, {b} and {c}. What is the weight of the first one, to three "
                     "digits?")
def weight(chance):
    scores = chance.sample([0.5, 1, 1.5, 2, 2.5, 3, 4], 3)
    e = [math.exp(score) for score in scores]
    return dict(zip("abc", scores, strict=True)), [
        (softmax(torch.tensor(scores, dtype=torch.float64))[0], "exp of its score, divided by the sum of all three."),
        (scores[0] / sum(scores), "That is its share of the scores. Softmax takes exp of each first."),
        (e[0], "That is exp of its score, divided by nothing."),
        (e[0] / (e[1] + e[2]), "That is divided by the sum of the two others.")]


@_asks("03", "C028", "A sentence of {source} words is translated into one of {target}. How often is the small network "
                     "of version 0 evaluated, one energy at a time?")
def energies(chance):
    source, target = chance.randint(6, 19), chance.randint(6, 19)
    return {"source": source, "target": target}, [
        (source * target, "Once for each pair of a word to write and a word to look at."),
        (source + target, "That adds the lengths. Each word that is written looks at every word of the source."),
        (source, "That is once for each word of the source. All are asked anew for each word that is written."),
        (target, "That is once for each word that is written. Each of them looks at every word of the source.")]


@_asks("04", "C030", "What is the score of the key {key} for the query {query}, by version 1?")
def dot_product(chance):
    query = [chance.choice([-2, 1, 2, 3]) for _ in range(4)]
    key = [chance.choice([-3, -1, 2, 4]) for _ in range(4)]
    return {"query": tuple(query), "key": tuple(key)}, [
        (torch.tensor(query) @ torch.tensor(key), "Feature by feature, and then the sum."),
        (sum(query) * sum(key), "You multiplied two sums. Multiply feature by feature, and then add."),
        (sum(query) + sum(key), "You added all numbers. A dot product multiplies, feature by feature."),
        (query[0] * key[0], "That is the first feature alone.")]


@_asks("04", "C038", "Query and key have {d} numbers each, and their dot product is {product}. What is their score in "
                     "version 2?")
def scale(chance):
    d, product = chance.choice([16, 64, 144, 256, 400]), chance.randint(11, 97)
    return {"d": d, "product": product}, [
        (product / math.sqrt(d), "Divided by √d: the spread of a dot product grows with the root of the width."),
        (product / d, "That is divided by d. The spread of a dot product grows with √d."),
        (product, "That is version 1: nothing was divided."),
        (product * math.sqrt(d), "That is multiplied by √d. Wide vectors have large products already.")]


@_asks("06", "C060", "Multi-head attention with d_model = {d} and {heads} heads, without biases. How many numbers do "
                     "its matrices hold?")
def parameters(chance):
    heads = chance.choice([2, 4, 8])
    d = heads * chance.randint(3, 12)
    return {"d": d, "heads": heads}, [
        (sum(part.weight.numel() for part in MultiHeadAttention(d, heads).children()),
         "Four matrices of d × d: the heads share their columns."),
        (3 * d * d, "Three matrices: W_o is missing."),
        (4 * d * d * heads, "Each head has d/h columns of a matrix, and no d × d matrix of its own."),
        (4 * d * d // heads, "That is one head's part.")]


@_asks("07", "C071", "A sentence of {n} tokens, and the causal mask. How many pairs of a query and a key may see each "
                     "other?")
def causal(chance):
    n = chance.randint(7, 60)
    return {"n": n}, [
        (causal_mask(n).sum(), "Token t sees t tokens, itself among them: 1 + 2 + … + n."),
        (n * (n - 1) // 2, "That leaves the diagonal out: each token may see itself."),
        (n * n, "That is all pairs, without a mask."),
        (n, "That is the diagonal alone.")]


@_asks("09", "C091", "Positions 0 to {last} as binary numbers, the fastest bit first. How often does the bit that "
                     "weighs {weighs} change on the way down?")
def bits(chance):
    last, column = chance.randint(20, 60), chance.choice([1, 2, 3])
    weighs = 2**column
    return {"last": last, "weighs": weighs}, [
        (binary_positions(last + 1, 8)[:, column].diff().abs().sum(), "It changes at each multiple of its weight."),
        (2 * last // weighs, "That is how often the bit below it changes."),
        (last // (2 * weighs), "That is how often the bit above it changes."),
        (last, "That is each time: so does the bit that weighs 1.")]


@_asks("11b", "C155", "A batch: a sentence of {short} tokens that cost {dear} each, and one of {long} tokens that cost "
                      "{cheap} each. What is the mean loss over tokens?")
def token_mean(chance):
    short, long, dear, cheap = (chance.randint(*ends) for ends in ((2, 4), (7, 12), (4, 7), (1, 2)))
    whole = short * dear + long * cheap
    return {"short": short, "long": long, "dear": dear, "cheap": cheap}, [
        (whole / (short + long), "All losses, divided by the number of all tokens."),
        ((dear + cheap) / 2, "That is the mean over sentences. A short one counts as much as a long one there."),
        (whole / 2, "That is divided by two sentences, not by their tokens."),
        (whole / (2 * long), "That counts the padding as tokens.")]


@_asks("12", "C157", "A text of two tokens. The first was one of {a} equally likely ones, the second one of {b}. Its "
                     "perplexity, to two digits?")
def perplexity(chance):
    a, b = chance.sample([2, 3, 5, 6, 8, 12, 15, 18, 24, 32, 50], 2)
    return {"a": a, "b": b}, [
        (math.exp((math.log(a) + math.log(b)) / 2), "The mean is taken of the logarithms: the root of the product."),
        ((a + b) / 2, "That is the mean of the two. The mean is taken of their logarithms."),
        (a * b, "That is the product: how many texts there were. Perplexity is per token."),
        (a + b, "That is the sum.")]


@_asks("12b", "C160", "The logit of one token is {gap} above that of another. At temperature {t}, how many times as "
                      "probable is it?")
def temperature(chance):
    gap, t = chance.choice([0.5, 1, 1.5, 2, 2.5, 3]), chance.choice([0.5, 0.8, 1.25, 1.5, 2, 2.5, 4])
    one, other = next_token_probs(torch.tensor([[gap, 0.0]], dtype=torch.float64), t)[0]
    return {"gap": gap, "t": t}, [
        (one / other, "exp of the difference, which is divided by the temperature first."),
        (math.exp(gap), "That is temperature 1."),
        (math.exp(gap * t), "That is multiplied by the temperature, not divided."),
        (gap / t, "That is the difference, divided. Of it exp is to be taken.")]


@_asks("13", "C124", "A picture of {side} × {side} pixels, in patches of {patch} × {patch}. How many tokens does a "
                     "Vision Transformer with a class token read?")
def patches(chance):
    patch, rows = chance.choice([4, 8, 14, 16]), chance.randint(3, 16)
    return {"side": patch * rows, "patch": patch}, [
        (rows**2 + 1, "A token for each patch, and the class token."),
        (rows**2, "The class token is missing."),
        (rows, "That is one row of patches."),
        ((patch * rows) ** 2, "That is each pixel. A patch is one token.")]


@_asks("16", "C167", "The largest score was {old}, and now comes a {new}. By what does online softmax multiply what it "
                     "has summed so far, to three digits?")
def online_softmax(chance):
    old, more = chance.randint(-4, 4), chance.choice([0.2, 0.4, 0.5, 0.8, 1, 1.5, 2, 2.5, 3])
    return {"old": old, "new": round(old + more, 1)}, [
        (math.exp(-more), "What was summed was relative to the old maximum: exp(old − new)."),
        (math.exp(more), "That makes it larger. What was summed was divided by too little."),
        (-more, "That is the difference. Of it exp is to be taken."),
        (math.exp(old + more), "That is exp of the new score alone.")]
