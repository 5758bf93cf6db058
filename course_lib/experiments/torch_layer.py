"""Lesson 10: the course's encoder layer beside PyTorch's: whose weight is whose, and the gradients of both."""

import torch

IN_TORCH = {}  # a name in nn.TransformerEncoderLayer -> the names of the same numbers in EncoderLayer, in their order
for _of in ("weight", "bias"):
    IN_TORCH[f"self_attn.in_proj_{_of}"] = [f"self_attn.W_{i}.{_of}" for i in "qkv"]
    IN_TORCH[f"self_attn.out_proj.{_of}"] = [f"self_attn.W_o.{_of}"]
    for _part in ("linear1", "linear2", "norm1", "norm2"):
        IN_TORCH[f"{_part}.{_of}"] = [f"ff.{_part}.{_of}" if "linear" in _part else f"{_part}.{_of}"]


def translated(values):
    """Tensors under the names of an EncoderLayer -> the same under torch's."""
    return {theirs: torch.cat([values[ours] for ours in names]) for theirs, names in IN_TORCH.items()}


def gradients(module, out):
    """The gradient of one and the same scalar, made of out, for every weight of a module: {name: tensor}."""
    names, weights = zip(*module.named_parameters(), strict=True)
    total = (out * torch.linspace(-1, 1, out.numel()).view(out.shape)).sum()
    return dict(zip(names, torch.autograd.grad(total, weights), strict=True))
