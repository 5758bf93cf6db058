"""Lesson 11: nn.Transformer with the weights of a Transformer of the course's or a learner's, and both asked."""

import torch
from torch import nn

from course_lib.experiments.torch_layer import IN_TORCH
from course_lib.masks import causal_mask

IN_DECODER = dict(IN_TORCH)  # a name in torch's decoder layer -> the names of the same numbers in DecoderLayer
for _of in ("weight", "bias"):
    IN_DECODER[f"multihead_attn.in_proj_{_of}"] = [f"cross_attn.W_{i}.{_of}" for i in "qkv"]
    IN_DECODER[f"multihead_attn.out_proj.{_of}"] = [f"cross_attn.W_o.{_of}"]
    IN_DECODER[f"norm3.{_of}"] = [f"norm3.{_of}"]


def in_torch(ours, num_heads, d_ff):
    """nn.Transformer with the weights of ours, and without the norm that it adds at the end of each stack."""
    N = len(ours.encoder)
    theirs = nn.Transformer(ours.d_model, num_heads, N, N, d_ff, dropout=0.0, batch_first=True)
    theirs.encoder.norm = theirs.decoder.norm = None
    state = {}
    for side, names in (("encoder", IN_TORCH), ("decoder", IN_DECODER)):
        for i, layer in enumerate(getattr(ours, side)):
            values = dict(layer.named_parameters())
            state |= {f"{side}.layers.{i}.{theirs_}": torch.cat([values[name] for name in of_ours])
                      for theirs_, of_ours in names.items()}
    theirs.load_state_dict(state)  # strict: every one of its numbers is replaced
    return theirs.to(ours.out.weight)


def logits_of_both(ours, theirs, src, tgt):
    """The logits of ours, and of torch's layers between our embeddings and our linear map: (B, Tt, V) each.

    In torch's masks True means hidden: the other way round.
    """
    inputs = {}
    hooks = [getattr(ours, side)[0].register_forward_pre_hook(
        lambda _, args, kwargs, side=side: inputs.update({side: args[0] if args else kwargs["x"]}), with_kwargs=True)
        for side in ("encoder", "decoder")]
    our_logits = ours(src, tgt)
    for hook in hooks:
        hook.remove()
    reference = theirs(inputs["encoder"], inputs["decoder"], tgt_mask=~causal_mask(tgt.shape[1]),
                       src_key_padding_mask=src == 0, memory_key_padding_mask=src == 0,
                       tgt_key_padding_mask=tgt == 0)
    return our_logits, ours.out(reference)


def millions(module):
    """How many million numbers a module learns."""
    return sum(p.numel() for p in module.parameters()) / 1e6
