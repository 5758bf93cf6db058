"""Right answers of lesson 02 in other people's styles."""

import torch
import torch.nn.functional as F

from tests.right_answers.loops import mix

RIGHT_ANSWERS = {
    "reweight": {
        "loop": lambda x: torch.stack([mix(torch.stack([a @ b for b in x]), x) for a in x]),
        "einsum": lambda x: torch.einsum("ts,sd->td", torch.einsum("td,sd->ts", x, x).softmax(1), x),
        "built-in": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0).squeeze(0),
        "by hand": lambda x: (lambda e: e / e.sum(1, keepdim=True) @ x)(
            torch.exp(x @ x.T - (x @ x.T).amax(1, keepdim=True))),
        "columns": lambda x: (x.T @ torch.softmax(x @ x.T, dim=0)).T,
        "logarithms": lambda x: (x @ x.T).log_softmax(-1).exp().matmul(x),
    },
}
