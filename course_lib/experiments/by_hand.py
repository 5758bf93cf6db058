"""Lesson 14: attention whose weights are set by hand, and the weights of attention on a graph."""

import torch
import torch.nn.functional as F

CIRCLE = 32  # places on the circle of positions


def beside(conv, kind, turned, x):
    """How far three heads are from a convolution with a kernel of three.

    conv:    nn.Conv1d(4, out, 3, padding=1), in float64; out is at most 12
    kind:    the class of the attention, 12 wide with three heads
    turned:  turned(step, angle) -> (2, 2), the rotation of a place; `...` as long as it is not written
    x:       (T, 4), T of at most 30
    returns: the largest difference, or `...`
    """
    angle = 2 * torch.pi / CIRCLE
    turns = [turned(step, angle) for step in (-1, 0, 1)]
    if any(turn is ... for turn in turns):
        return ...
    heads, T = kind(12, 3).double().requires_grad_(False), len(x)
    for parameter in heads.parameters():
        parameter.zero_()
    for h, turn in enumerate(turns):
        rows, C_out = slice(4 * h, 4 * h + 4), conv.out_channels
        heads.W_q.weight[4 * h : 4 * h + 2, 4:6] = 1e4 * turn.double()  # this place, moved by a step: a spike
        heads.W_k.weight[4 * h : 4 * h + 2, 4:6] = torch.eye(2).double()  # the key: this place
        heads.W_v.weight[rows, :4] = torch.eye(4).double()  # the value: the content
        heads.W_o.weight[:C_out, rows] = conv.weight[:, :, h]  # the kernel
    heads.W_o.bias[: conv.out_channels] = conv.bias
    place = angle * torch.arange(-1, T + 1).double()  # the padding: a token without content at each end
    tokens = torch.cat([F.pad(x, (0, 0, 1, 1)), place.cos()[:, None], place.sin()[:, None],
                        torch.zeros(T + 2, 6).double()], 1)  # (T + 2, 12)
    out = heads(tokens[None], tokens[None], tokens[None])[0, 1:-1, : conv.out_channels]
    return (out - conv(x.T[None])[0].T).abs().max().item()


def weights_of(attend, x, graph, W_q, W_k):
    """The weights (T, T) of attention on a graph: with the values 1, 0, 0, … they are what comes out.

    attend: attend(x, adjacency, W_q, W_k, W_v), the course's or a learner's
    """
    T, D = x.shape
    eye, zeros = torch.eye(T, dtype=x.dtype), torch.zeros(T, W_q.shape[1], dtype=x.dtype)
    return attend(torch.cat([x, eye], 1), graph, torch.cat([W_q, zeros]), torch.cat([W_k, zeros]),
                  torch.cat([torch.zeros(D, T, dtype=x.dtype), eye]))
