"""MiniLM, a real sentence encoder: a stack of lesson 10's encoder layers with trained weights."""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.data import fetch
from course_lib.layers import FeedForward
from course_lib.transformer import EncoderLayer

D_MODEL, NUM_HEADS, D_FF, NUM_LAYERS, VOCAB, MAX_LEN = 384, 12, 1536, 6, 30522, 512
EPS = 1e-12  # of every layer norm

# What a part of an encoder layer is called in the file.
NAMES = {
    "self_attn.W_q": "attention.self.query",
    "self_attn.W_k": "attention.self.key",
    "self_attn.W_v": "attention.self.value",
    "self_attn.W_o": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "ff.linear1": "intermediate.dense",
    "ff.linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


class GeluFeedForward(FeedForward):
    """A feed-forward network with a smoother nonlinearity than ReLU.

    Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """

    def forward(self, x):
        """Linear, GELU, dropout, linear: (..., d_model) -> (..., d_model)."""
        return self.linear2(self.dropout(F.gelu(self.linear1(x))))


class MiniLM(nn.Module):
    """A BERT of six layers that makes one vector of a sentence, so that sentences of like meaning are near each other.

    layer: the class of its layers: the course's EncoderLayer, or a learner's

    Devlin et al. 2019, arXiv:1810.04805; Reimers and Gurevych 2019, arXiv:1908.10084;
    Wang et al. 2020, arXiv:2002.10957.
    """

    def __init__(self, layer=EncoderLayer):
        super().__init__()
        self.words = nn.Embedding(VOCAB, D_MODEL)
        self.positions = nn.Embedding(MAX_LEN, D_MODEL)
        self.types = nn.Embedding(2, D_MODEL)  # first or second text; there is only a first one here
        self.norm = nn.LayerNorm(D_MODEL, EPS)
        self.layers = nn.ModuleList(layer(D_MODEL, NUM_HEADS, D_FF) for _ in range(NUM_LAYERS))
        for block in self.layers:
            block.ff = GeluFeedForward(D_MODEL, D_FF)
            block.norm1.eps = block.norm2.eps = EPS

    def forward(self, ids, mask=None):
        """Read texts.

        ids:     (B, T), T at most 512
        mask:    (B, T) bool, True at real tokens; None where all are
        returns: (B, T, 384), one vector per token
        """
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(place) + self.types.weight[0])  # (B, T, 384)
        for block in self.layers:
            x = block(x, None if mask is None else mask[:, None])  # (B, T, 384)
        return x


def load(layer=EncoderLayer):
    """Get MiniLM with its real weights, in eval mode.

    layer:   the class of its layers, with the attributes of lesson 10: self_attn, ff,
             norm1, norm2
    returns: MiniLM
    raises:  course_lib.data.Missing, in one sentence, where the weights cannot be had
    """
    from safetensors.torch import load_file

    stored = load_file(fetch("minilm") / "model.safetensors")
    names = {"words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
             "types": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm"}
    for i in range(NUM_LAYERS):
        names |= {f"layers.{i}.{ours}": f"encoder.layer.{i}.{theirs}" for ours, theirs in NAMES.items()}
    state = {f"{ours}.{of}": stored[f"{theirs}.{of}"] for ours, theirs in names.items() for of in ("weight", "bias")
             if f"{theirs}.{of}" in stored}
    model = MiniLM(layer)
    model.load_state_dict(state)
    return model.eval()


def reference():
    """What Hugging Face's BERT makes of three sentences with these weights: what MiniLM has to reproduce.

    returns: list of dict: "sentence"; "ids", its tokens; "first" and "last", their
             vectors (384,) after the last layer

    `python -m course_lib.staff.reference_vectors` made them.
    """
    rows = json.loads(Path(__file__).with_name("minilm_reference.json").read_text())
    return [row | {name: torch.tensor(row[name]) for name in ("first", "last")} for row in rows]


def load_tokenizer():
    """Get the tokenizer of MiniLM: `encode_batch(texts)` gives pieces of words with `ids` and `attention_mask`.

    returns: tokenizers.Tokenizer, which cuts after 128 tokens and fills up to the
             longest text
    raises:  course_lib.data.Missing, in one sentence, where it cannot be had
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(fetch("minilm") / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    return tokenizer


def mean_pool(hidden, mask):
    """Make one vector of length 1 per text: its direction says what the text is about.

    hidden:  (B, T, D)    one vector per token
    mask:    (B, T) bool  True at real tokens, which may stand anywhere;
                          each text has at least one
    returns: (B, D)       the mean over the real tokens of each text,
                          divided by its own Euclidean length

    Reimers and Gurevych 2019, arXiv:1908.10084, section 3, "MEAN".
    """
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # (B, D)
    return F.normalize(mean, dim=-1)  # (B, D)


def cosine_search(query, vectors, k):
    """Find the k vectors whose direction is most like a query's, however long they are.

    query:   (D,)    not all zeros
    vectors: (N, D)  no row all zeros
    k:       int     from 1 to N
    returns: (k,)    int64, row numbers, the largest cosine first
    """
    alike = F.normalize(vectors, dim=-1) @ F.normalize(query, dim=-1)  # (N,)
    return alike.topk(k).indices  # (k,)


@torch.no_grad()
def sentence_vectors(model, tokenizer, texts, batch_size=64, pool=mean_pool):
    """Make one vector of length 1 of each text: the mean over its real tokens. A dot product then says how alike.

    model:      MiniLM, or one that is called like it
    tokenizer:  from load_tokenizer
    texts:      list of str
    batch_size: texts that are read at a time; texts of like length are read together
    pool:       mean_pool, or a learner's own
    returns:    (N, 384), in the order of the texts
    """
    device = next(model.parameters()).device
    encodings = tokenizer.encode_batch(list(texts))
    lengths = torch.tensor([sum(encoding.attention_mask) for encoding in encodings])  # (N,)
    out = torch.empty(len(texts), D_MODEL)
    for chosen in lengths.argsort().split(batch_size):
        longest = lengths[chosen].max()
        ids = torch.tensor([encodings[i].ids[:longest] for i in chosen], device=device)  # (B, T)
        real = torch.arange(longest, device=device) < lengths[chosen].to(device)[:, None]  # (B, T)
        out[chosen] = pool(model(ids, real), real).cpu()  # (B, 384)
    return out
