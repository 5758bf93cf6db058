"""A real reader of chemical reactions: one encoder layer of lesson 10, applied twelve times, with trained weights."""

import json
import re
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load as read_file
from torch import nn

from course_lib.pretrained.minilm import GeluFeedForward
from course_lib.shipped.things import ShippedError, path_of, whole
from course_lib.transformer import EncoderLayer

NAME = "reactions.safetensors"
FILE = path_of(NAME)
D_EMBED, D_MODEL, NUM_HEADS, D_FF, DEPTH, VOCAB, MAX_LEN = 128, 256, 8, 512, 12, 591, 256
EPS = 1e-12  # of every layer norm

# What a part of the encoder layer is called in the file.
NAMES = {
    "self_attn.W_q": "attention.query",
    "self_attn.W_k": "attention.key",
    "self_attn.W_v": "attention.value",
    "self_attn.W_o": "attention.dense",
    "norm1": "attention.LayerNorm",
    "ff.linear1": "ffn",
    "ff.linear2": "ffn_output",
    "norm2": "full_layer_layer_norm",
}
LAYER = "albert.encoder.albert_layer_groups.0.albert_layers.0"
AROUND = {"words": "albert.embeddings.word_embeddings", "positions": "albert.embeddings.position_embeddings",
          "types": "albert.embeddings.token_type_embeddings", "norm": "albert.embeddings.LayerNorm",
          "wider": "albert.encoder.embedding_hidden_mapping_in", "narrower": "predictions.dense",
          "last_norm": "predictions.LayerNorm"}
# Atoms of two letters, atoms with more than a name in brackets, bonds, branches, rings.
TOKEN = re.compile(r"\[[^]]+]|Br|Cl|>>|[BCNOPSFIbcnops]|[().=#+\-\\/:~@?*$]|%\d\d|\d")


class ReactionReader(nn.Module):
    """An ALBERT that has learned to guess hidden tokens of reactions: what an atom becomes, nobody told it.

    layer: the class of its one layer: the course's EncoderLayer, or a learner's

    Lan et al. 2020 ("ALBERT"), arXiv:1909.11942; Schwaller et al. 2021, doi:10.1126/sciadv.abe4166.
    """

    def __init__(self, layer=EncoderLayer):
        super().__init__()
        self.words = nn.Embedding(VOCAB, D_EMBED)
        self.positions = nn.Embedding(MAX_LEN, D_EMBED)
        self.types = nn.Embedding(2, D_EMBED)  # first or second text; there is only a first one here
        self.norm = nn.LayerNorm(D_EMBED, EPS)
        self.wider = nn.Linear(D_EMBED, D_MODEL)
        self.layer = layer(D_MODEL, NUM_HEADS, D_FF)
        self.layer.ff = GeluFeedForward(D_MODEL, D_FF)
        self.layer.norm1.eps = self.layer.norm2.eps = EPS
        self.narrower = nn.Linear(D_MODEL, D_EMBED)
        self.last_norm = nn.LayerNorm(D_EMBED, EPS)
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def embed(self, ids):
        """What the layer gets at first: ids (B, T) -> (B, T, 256)."""
        place = torch.arange(ids.shape[1], device=ids.device)
        return self.wider(self.norm(self.words(ids) + self.positions(place) + self.types.weight[0]))

    def forward(self, ids, mask=None):
        """Read reactions.

        ids:     (B, T), T at most 256
        mask:    (B, T) bool, True at real tokens; None where all are
        returns: (B, T, 256), one vector per token
        """
        x = self.embed(ids)  # (B, T, 256)
        for _ in range(DEPTH):
            x = self.layer(x, None if mask is None else mask[:, None])  # (B, T, 256)
        return x

    def guess(self, ids, mask=None):
        """Logits of what stands at each place, (B, T, 591); what is hidden is [MASK] in ids."""
        x = self.last_norm(F.gelu(self.narrower(self(ids, mask))))  # (B, T, 128)
        return x @ self.words.weight.T + self.bias


def load(layer=EncoderLayer, names=NAMES):
    """Get the reader with its real weights, in eval mode; 16 bits per weight in the file, float32 here.

    layer:   the class of its layer, with the attributes of lesson 10: self_attn, ff,
             norm1, norm2
    names:   what each part of the layer is called in the file, {ours: theirs}
    returns: ReactionReader
    raises:  ShippedError for names that are not those of the file, or whose numbers have
             another shape
    """
    stored = read_file(whole(NAME))
    if set(names) != set(NAMES) or set(names.values()) != set(NAMES.values()):
        raise ShippedError(f"each of {', '.join(NAMES)} needs one of {', '.join(NAMES.values())}, each once")
    names = AROUND | {f"layer.{ours}": f"{LAYER}.{theirs}" for ours, theirs in names.items()}
    state = {f"{ours}.{of}": stored[f"{theirs}.{of}"].float() for ours, theirs in names.items()
             for of in ("weight", "bias") if f"{theirs}.{of}" in stored}
    model = ReactionReader(layer)
    try:
        model.load_state_dict(state | {"bias": stored["predictions.bias"].float()})
    except RuntimeError as error:
        raise ShippedError(f"the weights do not fit: {str(error).splitlines()[1].strip()}") from None
    return model.eval()


@cache
def vocabulary():
    """All tokens the reader knows, in the order of their numbers."""
    data = whole(NAME)
    length = int.from_bytes(data[:8], "little")
    return tuple(json.loads(data[8 : 8 + length])["__metadata__"]["vocabulary"].split("\n"))


def tokens(reaction):
    """A reaction as the reader's tokens, with the two marks around it.

    raises: ShippedError for signs that are none of a reaction, and where it is too long
    """
    found = TOKEN.findall(reaction)
    if "".join(found) != reaction or not found:
        left = TOKEN.sub("", reaction) or "nothing"
        raise ShippedError(f"{reaction!r} is no reaction: {left!r} is no atom, bond, branch or ring; "
                           "an example is CCO.CC(=O)O>>CCOC(C)=O")
    if len(found) > MAX_LEN - 2:
        raise ShippedError(f"the reaction has {len(found)} tokens, and there is room for {MAX_LEN - 2}: shorten it")
    return ["[CLS]", *found, "[SEP]"]


def numbers(found):
    """Tokens as their numbers, (1, T); one it has never met becomes [UNK]."""
    known = {token: i for i, token in enumerate(vocabulary())}
    return torch.tensor([[known.get(token, known["[UNK]"]) for token in found]])


def reference():
    """What Hugging Face's ALBERT makes of three reactions with these weights: what the reader has to reproduce.

    returns: list of dict: "reaction"; "ids", its tokens; "first" and "last", their
             vectors (256,) after the last layer

    `python -m course_lib.staff.reference_vectors` made them.
    """
    rows = json.loads(Path(__file__).with_name("reactions_reference.json").read_text(encoding="utf-8"))
    return [row | {name: torch.tensor(row[name]) for name in ("first", "last")} for row in rows]
