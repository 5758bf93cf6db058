"""The same code on a GPU: CPU and CUDA agree, nothing waits in secret, nothing minds where the notebook works.

What asks for a device runs on the CPU, too, so that the test itself is tested on every machine.
"""

import copy
import warnings
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib import check
from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.checks import EXERCISES
from course_lib.checks.engine.questioning import questions
from course_lib.classifier import EncoderClassifier
from course_lib.language_model import LanguageModel, LongLanguageModel
from course_lib.llama import Llama
from course_lib.staff.bench.measure import operations
from course_lib.training import fit
from course_lib.transformer import EncoderLayer, LongTransformer, Transformer
from course_lib.vision import ViT
from tests import prepared_python

ROOT = Path(__file__).parents[1]

needs_cuda = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
on_cuda = pytest.mark.parametrize("device", [pytest.param("cuda", marks=needs_cuda)])
everywhere = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])

IDS = torch.randint(1, 50, (2, 24), generator=torch.Generator().manual_seed(0))
PADDED = torch.where(torch.arange(24) < torch.tensor([[24], [19]]), IDS, 0)
VECTORS = torch.randn(2, 24, 64, generator=torch.Generator().manual_seed(0))
IMAGES = torch.randn(2, 1, 16, 16, generator=torch.Generator().manual_seed(0))
# Each model, what it is called with, and how many attentions are in it.
MODELS = {
    "encoder layer": (lambda: EncoderLayer(64, 4, 128), (VECTORS,), 1),
    "classifier": (lambda: EncoderClassifier(50, 64, 4, 128, 2, 3), (PADDED,), 2),
    "Transformer": (lambda: Transformer(50, 50, 64, 4, 128, 2), (PADDED, PADDED), 6),
    "long Transformer": (lambda: LongTransformer(50, 50, 64, 4, 128, 2), (PADDED, PADDED), 6),
    "language model": (lambda: LanguageModel(50, 64, 4, 128, 2), (IDS,), 2),
    "long language model": (lambda: LongLanguageModel(50, 64, 4, 128, 2), (IDS,), 2),
    "ViT": (lambda: ViT(16, 4, 1, 10, 64, 4, 128, 2), (IMAGES,), 2),
    "Llama": (lambda: Llama(50, 64, 4, 2, 128, 2), (IDS,), 0),  # a textbook attention
}


def made(name, device="cpu", dtype=torch.float32):
    """A model with the same weights each time, and its arguments."""
    torch.manual_seed(0)
    make, arguments, _ = MODELS[name]
    return make().to(device, dtype), [a.to(device, dtype if a.is_floating_point() else a.dtype) for a in arguments]


def answer(model, arguments):
    """The output and the gradient of every parameter, in float64 on the CPU."""
    out = model(*arguments)
    gradients = torch.autograd.grad(out.float().square().mean(), list(model.parameters()), allow_unused=True)
    return [t.detach().cpu().double() for t in (out, *gradients) if t is not None]


def furthest(one, other):
    """The largest difference between two lists of tensors, measured by the largest number in them."""
    largest = max(b.abs().max() for b in other)
    return max(((a - b).abs().max() / largest).item() for a, b in zip(one, other, strict=True))


@everywhere
@pytest.mark.parametrize("dtype, of_output, of_gradients", [(torch.float32, 1e-5, 1e-5), (torch.bfloat16, 0.03, 0.2)])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_the_same_everywhere(name, dtype, of_output, of_gradients, device):
    """A tensor made on the CPU, or a type that is not the model's: eight bits a number, and a stack of roundings."""
    exact, there = answer(*made(name, dtype=torch.float64)), answer(*made(name, device, dtype))
    assert furthest(there[:1], exact[:1]) < of_output
    assert furthest(there[1:], exact[1:]) < of_gradients


@pytest.mark.parametrize("name", MODELS)
def test_other_weights_are_further_away_than_any_rounding(name):
    """Tolerances that everything keeps to."""
    model, arguments = made(name)
    exact = answer(model, arguments)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-1)
    changed = answer(model, arguments)
    assert furthest(changed[:1], exact[:1]) > 0.1 and furthest(changed[1:], exact[1:]) > 0.2


class Ops(TorchDispatchMode):
    """The names of what is run, and how often a tensor of the CPU is brought to another device, or a number back."""

    def __init__(self):
        super().__init__()
        self.names, self.copies = [], 0

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        out = op(*args, **(kwargs or {}))
        self.names.append(str(op))
        if "_to_copy" in str(op) or "copy_" in str(op) or "_local_scalar_dense" in str(op):
            devices = {t.device.type for t in (*args, out) if isinstance(t, torch.Tensor)}
            self.copies += len(devices) > 1 or "_local_scalar_dense" in str(op)
        return out


@everywhere
@pytest.mark.parametrize("name", MODELS)
def test_attention_is_fused(name, device):
    """A mask or a layout that torch has no fused kernel for, and quietly keeps all scores instead."""
    model, arguments = made(name, device, torch.bfloat16 if device == "cuda" else torch.float32)
    with Ops() as ops:
        model(*arguments)
    fused = [op for op in ops.names if "_scaled_dot_product_" in op and "backward" not in op]
    assert len(fused) == MODELS[name][2], set(ops.names)


def test_a_textbook_attention_is_not_taken_for_a_fused_one():
    """A test of fusion that everything passes."""
    q = torch.randn(2, 4, 8, 16)
    with Ops() as ops:
        scaled_dot_product_attention(q, q, q)
    assert not [op for op in ops.names if "_scaled_dot_product_" in op]


@pytest.mark.parametrize("name, copies", [("encoder layer", 0), ("long language model", 0), ("ViT", 0),
                                          ("long Transformer", 0), ("Transformer", 3), ("language model", 2)])
def test_a_pass_brings_nothing_to_the_device(name, copies):
    """A copy in every pass, for which the GPU has to wait; seen on a device that only does as if.

    Transformer and language model, as a textbook prints them, make positions and causal masks on the CPU.
    """
    model, arguments = made(name, "meta")
    model(*arguments)  # what is kept is brought there once
    with Ops() as ops:
        model(*arguments)
    assert ops.copies == copies


def loss_of(model, *arguments):
    return model(*arguments).float().square().mean()


def unobserved(batch, device, steps=3):
    """A few batches; from the second on, waiting for the GPU is an error."""
    yield batch
    if device == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(steps - 1):
            yield batch
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")


@everywhere
@pytest.mark.parametrize("name", ["encoder layer", "language model", "long Transformer", "ViT"])
def test_training_does_not_wait_for_the_gpu(name, device):
    """A loss that is read, or a tensor that is copied, in every step: the GPU stands still meanwhile."""
    model, batch = made(name, device)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step)
    losses = fit(model, loss_of, unobserved(batch, device), optimizer, schedule, clip=1.0)
    assert losses.shape == (3,) and losses[-1] < losses[0]


@on_cuda
def test_a_loop_that_waits_is_noticed(device):
    """A guard that guards nothing."""
    def reads_its_loss(model, *arguments):
        loss = loss_of(model, *arguments)
        assert loss.item() >= 0
        return loss

    model, batch = made("ViT", device)
    with pytest.raises(RuntimeError, match="synchroniz"):
        fit(model, reads_its_loss, unobserved(batch, device), torch.optim.Adam(model.parameters()))


@everywhere
@pytest.mark.parametrize("name", MODELS)
def test_a_compiled_model_is_the_same(name, device):
    """Python inside a model that torch.compile cannot follow, or follows to something else.

    In a process of its own, for torch.compile depends on all that other tests have imported and called before.
    """
    call = f"from tests.test_gpu import compare_with_compiled; compare_with_compiled({name!r}, {device!r})"
    done = prepared_python.run(ROOT, "-c", call)
    assert done.returncode == 0, done.stderr


def compare_with_compiled(name, device):
    """Raise where a compiled model does not compute what it computes uncompiled."""
    model, arguments = made(name, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a cache is followed to the function behind it
        compiled = torch.compile(copy.deepcopy(model), fullgraph=True,
                                 backend="inductor" if device == "cuda" else "eager")
        assert furthest(answer(compiled, arguments), answer(model, arguments)) < 1e-3


@on_cuda
def test_memory_on_the_gpu_grows_with_the_length(device):
    """A matrix of T by T: twice the length takes four times the memory."""
    from course_lib.staff.bench.measure import peak_bytes

    attention = MultiHeadAttention(64, 4).to(device, torch.bfloat16)

    def peak(T):
        x = torch.randn(1, T, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
        return peak_bytes(lambda: F.mse_loss(attention(x, x, x), x).backward(), torch.device(device))

    peak(1024)
    assert peak(32768) < 2.5 * peak(16384)


def to(device, value):
    return value.to(device) if isinstance(value, torch.Tensor) else value


@on_cuda
@pytest.mark.parametrize("name", [n for n, e in EXERCISES.items() if e.build is None])
def test_cpu_and_cuda_agree(name, device):
    """A tensor made on the CPU inside a function that was given others."""
    exercise = EXERCISES[name]
    for call in questions(exercise):
        if not call.special and any(isinstance(a, torch.Tensor) for a in call.args):
            there = exercise.verified(*(to("cuda", a) for a in call.args))
            here = exercise.verified(*call.args)
            there, here = [t if isinstance(t, tuple) else (t,) for t in (there, here)]
            for one, other in zip(there, here, strict=True):
                assert one.device.type == "cuda"
                torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)


@on_cuda
@pytest.mark.parametrize("name", EXERCISES)
def test_a_check_passes_where_the_default_device_is_the_gpu(name, device):
    """A notebook that begins with torch.set_default_device("cuda")."""
    torch.set_default_device("cuda")
    try:
        assert check(EXERCISES[name].verified, name).passed
    finally:
        torch.set_default_device("cpu")


@everywhere
def test_a_profile_has_the_time_of_what_ran_there(device):
    """Kernels that no name is given to, or time of the CPU that is shown as the GPU's."""
    a = torch.randn(300, 300, device=device)
    spent = operations(lambda: a @ a, torch.device(device))
    assert all(seconds >= 0 for seconds in spent.values()) and sum(spent.values()) > 0
    assert ("aten::mm" in spent) == (device == "cpu")
