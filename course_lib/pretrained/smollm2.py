"""SmolLM2, a real language model of 135 million parameters: the Llama architecture with trained weights."""

from functools import cache

import torch

from course_lib.data import fetch
from course_lib.llama import Llama

# What a part of a block is called in the file.
NAMES = {
    "norm1": "attn_norm",
    "W_q.weight": "attn_q",
    "W_k.weight": "attn_k",
    "W_v.weight": "attn_v",
    "W_o.weight": "attn_output",
    "norm2": "ffn_norm",
    "ff.gate.weight": "ffn_gate",
    "ff.up.weight": "ffn_up",
    "ff.down.weight": "ffn_down",
}


def load(**parts):
    """Get SmolLM2-135M-Instruct with its real weights, in eval mode; 4 bits a weight in the file, float32 here.

    parts:   a learner's own rms_norm, apply_rope, grouped_query_attention, SwiGLU, by name
    returns: Llama
    raises:  course_lib.data.Missing, in one sentence, where the weights cannot be had

    Ben Allal et al. 2025, arXiv:2502.02737.
    """
    from gguf import dequantize

    stored = {tensor.name: tensor for tensor in _read(fetch("smollm2")).tensors}
    layers = sum(name.endswith("attn_norm.weight") for name in stored)
    names = {"embed.weight": "token_embd.weight", "norm": "output_norm.weight"}
    for i in range(layers):
        names |= {f"blocks.{i}.{ours}": f"blk.{i}.{theirs}.weight" for ours, theirs in NAMES.items()}
    state = {ours: torch.from_numpy(dequantize(stored[theirs].data, stored[theirs].tensor_type).copy())
             for ours, theirs in names.items()}
    model = Llama(49152, 576, 9, 3, 1536, layers, base=100000.0, **parts)
    model.load_state_dict(state)
    return model.eval()


def load_tokenizer():
    """Get the tokenizer of SmolLM2: `encode(text).ids`, and `decode(ids)`.

    returns: tokenizers.Tokenizer, of byte pairs
    raises:  course_lib.data.Missing, in one sentence, where it cannot be had
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    fields = _read(fetch("smollm2")).fields
    tokens, merges, types = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges", "token_type"))
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)},
                                     [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    control = 3  # the kind of token that no text is cut into
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)
                                  for token, kind in zip(tokens, types, strict=True) if kind == control])
    return tokenizer


@cache
def _read(path):
    """The file, open; to find one's way in it takes some seconds."""
    from gguf import GGUFReader

    return GGUFReader(path)
