"""Who is measured: for each kind of model the course's, others that compute the same, and the bare matrix products."""

import importlib
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.fused import fused_attention
from course_lib.language_model import LongLanguageModel
from course_lib.staff.bench import others
from course_lib.staff.bench.matmuls import PRODUCTS, Bare, Factors, with_backward
from course_lib.transformer import EncoderLayer, LongTransformer, Transformer
from course_lib.vision import ViT

OURS, TEXTBOOK, COMPILED, BARE = "course_lib", "course_lib, textbook", "course_lib, compiled", "bare matmuls"
OTHER = " (another model)"  # the end of the name of what has the same sizes and computes something else
EXTRAS = {"transformers": "transformers", "timm": "timm", "vit-pytorch": "vit_pytorch"}


class Size(NamedTuple):
    """The widths of a model."""

    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_layers: int = 2
    vocab: int = 1000
    patch: int = 16
    classes: int = 1000


class Different(Exception):
    """A contender computes something else: the message is one sentence."""


class Contender:
    """Something that can be called forwards, and forwards and backwards.

    run:     () -> the output
    module:  holds the parameters; None where there are none
    inputs:  tensors that get a gradient, too
    """

    def __init__(self, run, module=None, inputs=()):
        self.run, self.module, self.inputs = run, module, inputs
        self.gradient = None

    @torch.no_grad()
    def forward(self):
        return self.run()

    def clear(self):
        """Forget the gradients."""
        for leaf in [*(self.module.parameters() if self.module else ()), *self.inputs]:
            leaf.grad = None

    def forward_and_backward(self):
        self.clear()
        out = self.run()
        if self.gradient is None:
            self.gradient = torch.ones_like(out)
        out.backward(self.gradient)

    def mode(self, training):
        if self.module is not None:
            self.module.train(training)


class BareContender(Contender):
    """The matrix products alone; backwards there are three for each."""

    def __init__(self, products, device, dtype):
        factors = Factors(device, dtype)
        self.forward, self.forward_and_backward = Bare(products, factors), Bare(with_backward(products), factors)
        self.module, self.inputs = None, ()


class TextbookMHA(MultiHeadAttention):
    """Version 6 word for word: it keeps every score."""

    def forward(self, x):
        q, k, v = (W(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
        return self.W_o(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def absent():
    """{what of the extras cannot be imported: why}."""
    why = {}
    for name, module in EXTRAS.items():
        try:
            importlib.import_module(module)
        except Exception as error:  # a half-installed package can raise anything
            why[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return why


def contenders(kind, size, B, T, device, dtype, extras=tuple(EXTRAS), compiler=None):
    """{name: Contender}, all of them with the same weights and called with the same inputs.

    extras:   which of the libraries in EXTRAS are there
    compiler: a backend of torch.compile, by which the course's runs once more
    """
    torch.manual_seed(0)
    found = KINDS[kind](size, B, T, device, dtype, extras)
    if compiler:
        torch.compiler.reset()  # what was compiled for other sizes is not looked through
        ours = found[OURS]
        found[COMPILED] = Contender(torch.compile(ours.run, backend=compiler, dynamic=False), ours.module, ours.inputs)
    found[BARE] = BareContender(PRODUCTS[kind](size, B, T), device, dtype)
    return found


def compare(found, dtype):
    """Refuse whoever does not compute what course_lib computes, in evaluation and in training."""
    allowed = {torch.float64: 1e-10, torch.float32: 1e-4}.get(dtype, 5e-2)
    for training in (False, True):
        for contender in found.values():
            contender.mode(training)
        expected = found[OURS].forward().double()
        for name, contender in found.items():
            if name != BARE and not name.endswith(OTHER):
                got = contender.forward().double()
                error = (got - expected).abs().max() / expected.abs().max() if got.shape == expected.shape else 1.0
                if not error <= allowed:
                    raise Different(f"{name} does not compute what {OURS} computes: it is off by {float(error):.1e} "
                                    f"of the largest number, and {allowed:.0e} is allowed")


def _attention(size, B, T, device, dtype, extras):
    shape = (B, T, size.num_heads, size.d_model // size.num_heads)
    q, k, v = (torch.randn(shape, device=device, dtype=dtype).transpose(1, 2).requires_grad_() for _ in range(3))
    calls = {OURS: fused_attention, TEXTBOOK: scaled_dot_product_attention, "torch.nn": F.scaled_dot_product_attention}
    return {name: Contender(lambda call=call: call(q, k, v), None, (q, k, v)) for name, call in calls.items()}


def _with_vectors(calls, size, B, T, device, dtype):
    """Contenders of {name: (module, module -> x -> output)} that read vectors (B, T, d_model)."""
    x = torch.randn(B, T, size.d_model, device=device, dtype=dtype, requires_grad=True)
    return {name: Contender(lambda m=m, call=call: call(m, x), m, (x,)) for name, (m, call) in
            ((name, (module.to(device, dtype), call)) for name, (module, call) in calls.items())}


def _with_tokens(modules, device, dtype, run):
    return {name: Contender(lambda m=m, name=name: run(name, m), m)
            for name, m in ((name, module.to(device, dtype)) for name, module in modules.items())}


def _mha(size, B, T, device, dtype, extras):
    ours = MultiHeadAttention(size.d_model, size.num_heads)
    textbook = TextbookMHA(size.d_model, size.num_heads)
    textbook.load_state_dict(ours.state_dict())
    calls = {OURS: (ours, lambda m, x: m(x, x, x)), TEXTBOOK: (textbook, nn.Module.__call__),
             "torch.nn": (others.torch_mha(ours, size), lambda m, x: m(x, x, x, need_weights=False)[0])}
    if "transformers" in extras:
        calls["transformers"] = others.marian_mha(ours, size), lambda m, x: m(x)[0]
    if "timm" in extras:
        calls["timm"] = others.timm_mha(ours, size), nn.Module.__call__
    return _with_vectors(calls, size, B, T, device, dtype)


def _encoder(size, B, T, device, dtype, extras):
    ours = EncoderLayer(size.d_model, size.num_heads, size.d_ff)
    calls = {OURS: (ours, nn.Module.__call__), "torch.nn": (others.torch_encoder(ours, size), nn.Module.__call__)}
    if "transformers" in extras:
        calls["transformers"] = others.marian_encoder(ours, size), lambda m, x: m(x, None)
    return _with_vectors(calls, size, B, T, device, dtype)


def _transformer(size, B, T, device, dtype, extras):
    sizes = (size.vocab, size.vocab, size.d_model, size.num_heads, size.d_ff, size.num_layers)
    ours, textbook = LongTransformer(*sizes), Transformer(*sizes)
    textbook.load_state_dict(ours.state_dict())
    modules = {OURS: ours, TEXTBOOK: textbook, "torch.nn": others.TorchTransformer(ours, size)}
    if "transformers" in extras:
        modules["transformers"] = others.marian(ours, size, T)
    src, tgt = torch.randint(1, size.vocab, (2, B, T), device=device)
    src[:, -max(T // 8, 1):] = tgt[:, -max(T // 8, 1):] = 0  # padding, as in every real batch

    def run(name, m):
        if name == "transformers":
            return m(input_ids=src, attention_mask=(src != 0).long(), decoder_input_ids=tgt,
                     decoder_attention_mask=(tgt != 0).long(), use_cache=False).logits
        return m(src, tgt)

    return _with_tokens(modules, device, dtype, run)


def _vit(size, B, T, device, dtype, extras):
    side = size.patch * round((T - 1) ** 0.5)
    ours = ViT(side, size.patch, 3, size.classes, size.d_model, size.num_heads, size.d_ff, size.num_layers)
    modules = {OURS: ours, "torch.nn": others.TorchViT(ours, size)}
    if "timm" in extras:
        modules["timm"] = others.timm_vit(ours, size, side)
    if "vit-pytorch" in extras:
        modules["vit-pytorch" + OTHER] = others.vit_pytorch_vit(size, side)
    images = torch.randn(B, 3, side, side, device=device, dtype=dtype)
    return _with_tokens(modules, device, dtype, lambda name, m: m(images))


def _lm(size, B, T, device, dtype, extras):
    ours = LongLanguageModel(size.vocab, size.d_model, size.num_heads, size.d_ff, size.num_layers)
    modules = {OURS: ours, "torch.nn": others.TorchLM(ours, size)}
    if "transformers" in extras:
        modules["transformers"] = others.gpt2(ours, size, T)
    ids = torch.randint(size.vocab, (B, T), device=device)

    def run(name, m):
        return m(ids, use_cache=False).logits + ours.out.bias if name == "transformers" else m(ids)

    return _with_tokens(modules, device, dtype, run)


KINDS = {"attention": _attention, "mha": _mha, "encoder": _encoder, "transformer": _transformer, "vit": _vit,
         "lm": _lm}
