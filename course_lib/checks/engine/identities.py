"""Fill a module's weights with identities, whatever it calls them and however it packs them.

Multi-head attention may keep its four d x d matrices as they are, stacked in one, cut by head, or as einsum likes
them. With the identity for each and 0 for every bias, all of these have to give the same: attention of the heads.
"""

import re

import torch

LAYOUTS = ("one matrix after the other", "head by head")
WEIGHT = re.compile(r"^(.*\.)?W_[qkvo]\.(weight|bias)$")
BIAS = re.compile(r"(^|\.)(b[^.]*|[^.]*(bias|_b))(\.\*)?$")  # four biases in one, (4, 2), are as large as a matrix


def is_of_attention(name):
    """Is it one of the weights of multi-head attention, by the course's names?"""
    return bool(WEIGHT.match(name))


def attentions(names):
    """Where multi-head attention stands in a module, as the course's names of its weights begin: "", "self_attn."."""
    return list(dict.fromkeys(found[1] or "" for found in map(WEIGHT.match, names) if found))


def with_identities(weights):
    """The weights of a module by the course's names, with identities and zeros in those of attention."""
    return {name: weight if not is_of_attention(name) else torch.eye(len(weight)).to(weight) if weight.dim() == 2
            else torch.zeros_like(weight) for name, weight in (weights or {}).items()}


@torch.no_grad()
def fill_with_identities(module, width, num_heads, layout):
    """Set every parameter of a module.

    width:  d, the size of the matrices
    layout: one of LAYOUTS: how a parameter that holds several matrices puts them side by side
    raises: ValueError where a parameter holds no whole number of d x d matrices
    """
    alike = {}
    for name, parameter in module.named_parameters():
        alike.setdefault(re.sub(r"\d+", "*", name), []).append(parameter)
    for name, group in alike.items():
        matrices = sum(p.numel() for p in group) / width**2
        if all(p.dim() == 1 or p.numel() < width for p in group) or matrices < 1 or BIAS.search(name):
            for p in group:
                p.zero_()
        elif matrices != int(matrices) or len({p.shape for p in group}) > 1:
            raise ValueError(f"{name} holds no whole number of {width} x {width} matrices")
        else:
            _fill(group, int(matrices), width, num_heads, layout)


def _fill(group, matrices, width, num_heads, layout):
    """`matrices` identities, spread over a group of parameters of one shape."""
    shape, d_head = tuple(group[0].shape), width // num_heads
    eye = torch.eye(width, dtype=group[0].dtype)
    if len(group) > 1 and group[0].numel() < width**2:  # a parameter for each head
        axis = 0 if shape[-1] == width else 1
        for i, p in enumerate(group):
            p.copy_(eye.narrow(axis, i % num_heads * d_head, d_head))
    elif len(shape) == 2 and shape[0] != shape[1]:
        parts = [eye] * matrices
        if layout == LAYOUTS[1]:
            parts = [block for block in eye.split(d_head) for _ in range(matrices)]
        stacked = torch.cat(parts)  # (matrices * width, width)
        for p in group:
            p.copy_(stacked if shape[0] > shape[1] else stacked.T)
    else:
        for p in group:
            p.copy_(_in_axes(eye, shape, width, num_heads, d_head))


def _in_axes(eye, shape, width, num_heads, d_head):
    """The identity with its second axis cut into heads, its axes in the order that a shape tells."""
    if shape[-2:] == (width, width):
        return eye.expand(shape)
    cut = eye.unflatten(1, (num_heads, d_head))  # (width, heads, d_head)
    sizes = {"d": width, "h": num_heads, "e": d_head}
    for order in ("dhe", "hde", "hed", "edh", "ehd", "deh"):
        if shape[-3:] == tuple(sizes[axis] for axis in order):
            return cut.permute(*("dhe".index(axis) for axis in order)).expand(shape)
    raise ValueError(f"a parameter of shape {shape} holds no identity")
