"""A trained Transformer, opened: where its heads look, what they carry, write and read."""

from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F


def attention_scores_by_pattern(weights, ids):
    """How much each head looks at three kinds of place: one number per kind and head.

    weights: (B, H, T, T)  attention of one layer, query by key
    ids:     (B, T)        the tokens that were read
    returns: (3, H)  the weight that a query spends on all places of a kind, as a mean
             over the queries of the batch that have such a place; 0 where none has.
             The kinds: the place just before the query; earlier places with the same
             token as the query; places just after one of those

    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", and Olsson
    et al. 2022, arXiv:2209.11895, for the third ("induction").
    """
    place = torch.arange(weights.shape[-1], device=ids.device)
    before = place[:, None] - 1 == place  # (T, T)
    same = (ids[:, :, None] == ids[:, None]) & (place[:, None] > place)  # (B, T, T)
    after = F.pad(same, (1, 0))[..., :-1]  # (B, T, T), one key to the right
    kinds = torch.stack([before.expand_as(same), same, after])  # (3, B, T, T)
    spent = torch.einsum("bhqk,nbqk->nh", weights, kinds.to(weights))
    have_one = kinds.any(-1).sum((1, 2))  # (3,)
    return spent / have_one.clamp(min=1)[:, None]


def ablate_head(said, head, mean=False):
    """Silence one head: what it said is replaced, everywhere.

    said:    (B, T, H, d)  what the heads of one attention say, before W_o; it stays
             as it is
    head:    which one, counted from 0
    mean:    False: zeros take its place. True: what it says on average over all
             tokens of the batch, (d,), at every place
    returns: (B, T, H, d)  all other heads as they were
    """
    out = said.clone()
    out[:, :, head] = said[:, :, head].mean((0, 1)) if mean else 0
    return out


def patch(said, other, head, place):
    """Put what a head said in another run into this one, at one place of each row.

    said:    (B, T, H, d)  what the heads of one attention say, before W_o
    other:   (B, T, H, d)  what they say in the other run; both stay as they are
    head:    which one, counted from 0
    place:   (B,) integers, the place in each row, counted from 0
    returns: (B, T, H, d)  said, but at these places with other's vector (d,) of
             this head

    Zhang and Nanda 2023, arXiv:2309.16042, section 2 ("activation patching").
    """
    row = torch.arange(len(said), device=said.device)
    out = said.clone()
    out[row, place, head] = other[row, place, head]
    return out


def direct_logit_attribution(said, W_o, W_U, answers):
    """What each head adds to the logit of the answer, on the direct way to the logits.

    said:    (B, T, H, d)  what the heads of one attention say, before W_o
    W_o:     (D, H * d)    weight of its output projection, head after head in a row
    W_U:     (V, D)        weight of the last layer: residual stream to logits
    answers: (B, T) integers below V
    returns: (B, T, H)  how much the head's part of the residual stream raises the logit
             of the answer, minus how much it raises a logit on average over all V

    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
    """
    by_head = W_o.unflatten(1, said.shape[2:])  # (D, H, d)
    written = torch.einsum("bthi,dhi->bthd", said, by_head)  # (B, T, H, D)
    direction = W_U[answers] - W_U.mean(0)  # (B, T, D)
    return torch.einsum("bthd,btd->bth", written, direction)


def compose(W_q, W_k, W_v, W_o, num_heads):
    """How much the keys of each later head are made of what each earlier head writes.

    W_q, W_k:  (H * d, D)  weights of a later attention, as nn.Linear holds them:
               q = W_q x, head after head
    W_v, W_o:  (H * d, D) and (D, H * d), weights of an earlier attention
    num_heads: H, of both; a head has d neighbouring rows of W_q, W_k and W_v, and as
               many columns of W_o
    returns:   (H, H)  row: later head, column: earlier head;
               |W_QK W_OV| / (|W_QK| |W_OV|) in Frobenius norms, where
               W_QK = W_q^T W_k of the later head and W_OV = W_o W_v of the earlier
               one, each (D, D)

    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"
    ("K-composition").
    """
    q, k, v = (W.unflatten(0, (num_heads, -1)) for W in (W_q, W_k, W_v))  # (H, d, D)
    o = W_o.unflatten(1, (num_heads, -1)).transpose(0, 1)  # (H, D, d)
    W_QK, W_OV = q.transpose(1, 2) @ k, o @ v  # (H, D, D) each
    size = torch.linalg.matrix_norm
    both = size(W_QK[:, None] @ W_OV)  # (H, H)
    return both / (size(W_QK)[:, None] * size(W_OV))


@contextmanager
def hooked(attentions, edits):
    """While this is open, see or change what heads say on the way to W_o.

    attentions: {key: attention}, each with num_heads and W_o
    edits:      {key: edit}; edit gets what the heads of this attention say, (B, T, H, d), and
                returns what is to be used in its place
    yields:     {key: (B, T, H, d)}, what was used in the last run of each attention
    """
    said = {}

    def between(key, attention):
        def change(_, given):
            heads = given[0].unflatten(-1, (attention.num_heads, -1))  # (B, T, H, d)
            said[key] = edits[key](heads) if key in edits else heads
            return (said[key].flatten(-2),)

        return attention.W_o.register_forward_pre_hook(change)

    with ExitStack() as hooks:  # whatever an edit raises, no hook stays behind
        for key, attention in attentions.items():
            hooks.callback(between(key, attention).remove)
        yield said


@torch.no_grad()
def run(model, ids, edits=None):
    """Run a language model, and see or change what its heads say on the way to W_o.

    model:   with blocks, each with an attention self_attn
    ids:     (B, T) integers
    edits:   {block: edit}, blocks counted from 0; edit: (B, T, H, d) -> the same shape
    returns: logits (B, T, V), and what the heads of each block said, as it was used: a
             list of (B, T, H, d)
    """
    attentions = {i: block.self_attn for i, block in enumerate(model.blocks)}
    with hooked(attentions, edits or {}) as said:
        logits = model(ids)
    return logits, [said[i] for i in attentions]
