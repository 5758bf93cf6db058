"""One question to an answer: call it with these tensors, and note all that can be seen from outside.

Nothing here, nor in the judge, looks into the source, the globals or the closure of an answer: `locating` alone does,
for a learner's own check. A Call is plain data and so is a Reply: an answer in another process can be asked the same
way.
"""

import contextlib
import copy
import inspect
import io
import linecache
import random
import re
import traceback
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from course_lib.checks.engine.device_probe import LostDevice, pretend_inputs_are_on_a_gpu
from course_lib.checks.engine.identities import attentions, fill_with_identities, is_of_attention
from course_lib.checks.engine.memory_probe import AtMost
from course_lib.checks.engine.own_names import TURNED, by_own_names, registered
from course_lib.checks.engine.time_limit import HAD, time_limit

SECONDS = 10  # for one call: slow is not wrong, but somebody waits
NUMBERS = 10**7  # in one result: an expanded tensor costs nothing until it is copied
LETTERS = 10_000  # of what an answer prints
LONG = 1_000  # letters of an error's message
# Errors after which nobody waits for more: the next call would last as long.
ENDS = "TookTooLong", "NotImplementedError", "MemoryError", "TooLarge"
looking_on = contextlib.nullcontext  # surrounds what an answer does; a grader puts its own here
DTYPES = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64, torch.complex64, torch.complex128}  # of which any two can be compared


@dataclass(frozen=True, eq=False)
class Call:
    """What is asked: arguments by position, and the circumstances.

    A function is called with args. A module is first built with `build`, given `weights` by name and put
    in train or eval mode.
    """

    args: tuple
    special: str = ""  # what is unusual about this call, in a learner's words
    gradients: bool = False  # also ask for the gradients of a fixed mix of the outputs
    strided: bool = False  # hand over the same values with unusual strides
    on_gpu: bool = False  # behave as if the arguments were on a GPU
    twice: bool = False  # call it again, write over what comes back, and see that the first result stays
    before: tuple = ()  # what a module is called with first, before it gets the weights
    earlier: tuple = ()  # tuples of arguments that it is called with before this, without gradients, same weights
    must_raise: tuple = ()  # names of errors, one of which is the right answer
    build: tuple | None = None
    weights: dict | None = None
    own_names: dict | None = None  # what a module calls its weights; what is not in it is found by its shape
    squares_turned: bool | None = None  # do square matrices without a layer stand the other way round?
    layout: str = ""  # instead of by name, identities go into all weights of attention, packed so
    heads: int = 0  # of that attention
    train: bool = False
    at_most: int = 0  # fewer numbers than these may be held at once, without gradients; 0: any
    seed: int = 0  # of torch's random state, for what is drawn at random

    def in_float64(self):
        """The same question with twice the precision: what the truth is computed from."""
        return replace(self, args=_map_float(self.args, torch.Tensor.double),
                       before=_map_float(self.before, torch.Tensor.double),
                       earlier=tuple(_map_float(args, torch.Tensor.double) for args in self.earlier),
                       weights=self.weights and {k: w.double() for k, w in self.weights.items()},
                       strided=False, on_gpu=False)

    @property
    def dtype(self):
        """The floating-point type of the arguments; float32 where none of them is floating."""
        floats = [t for t in (*self.args, *(self.weights or {}).values()) if _is_float(t)]
        return floats[0].dtype if floats else torch.float32


@dataclass(frozen=True)
class Reply:
    """What came back. `form` is "tensor", "tuple" or, in words, the wrong kind of thing that was returned."""

    outputs: tuple = ()
    form: str = ""
    args_after: tuple = ()
    gradients: dict | None = None  # by argument position or weight name; None where nothing arrives
    parameters: tuple = ()  # names of a module's registered parameters; with `own_names`, in the order of the weights
    error: tuple | None = None  # (type, message)
    printed: str = ""
    where: str = ""  # the line of the answer that raised the error


def ask(candidate, call, seconds=None, build=None):
    """Put `call` to `candidate`, a function or a module class, in this process; it is stopped after so many seconds.

    By default after SECONDS, and what had less than half of them of a processor is asked once more: the first call of
    a day may read half of a library from the disk. build(class, call) makes the module; by default `built` does.
    """
    reply = _ask(candidate, call, seconds or SECONDS, build)
    starved = seconds is None and reply.error and reply.error[0] == "TookTooLong" and HAD in reply.error[1]
    return _ask(candidate, call, SECONDS, build) if starved else reply


def _ask(candidate, call, seconds, build):
    asked, stdout = _Asked(candidate, call), _Beginning()
    with undisturbed(call.seed), contextlib.redirect_stdout(stdout):
        try:
            with time_limit(seconds):
                return asked.reply(stdout, build)
        except KeyboardInterrupt:  # somebody who does not want to wait
            raise
        except BaseException as error:  # SystemExit and TookTooLong are no Exceptions
            return Reply(error=(_kind(error, call.must_raise), one_line(error)), parameters=asked.parameters,
                         printed=stdout.getvalue(), where=_where(error, asked.candidate))


class _Asked:
    """A candidate with what a call hands to it. A class becomes a module, which stays known where it then fails."""

    def __init__(self, candidate, call):
        self.candidate, self.call, self.parameters, self.turned = candidate, call, (), set()
        args = tuple(_copy(a, call.strided) for a in call.args)
        self.leaves = {i: a for i, a in enumerate(args) if call.gradients and _is_float(a)}
        for leaf in self.leaves.values():
            leaf.requires_grad_()
        # A copy of each leaf goes in: writing into it is then seen as a change of the argument, not as a torch error.
        self.args = tuple(a.clone(memory_format=torch.preserve_format) if i in self.leaves else a
                          for i, a in enumerate(args))

    def reply(self, stdout, build):
        """The Reply; whatever goes wrong on the way is raised."""
        call = self.call
        with pretend_inputs_are_on_a_gpu() if call.on_gpu else contextlib.nullcontext() as gpu:
            if call.build is not None:
                self.build(gpu, build)
                if call.must_raise:  # it was to refuse these sizes at once
                    return Reply((), "a module", parameters=self.parameters)
            outputs, form = self.outputs(gpu)
        if gpu and any(gpu.on_host(t) for t in outputs):
            raise LostDevice("the result is on the CPU although the arguments are not")
        gradients = self.gradients(outputs) if call.gradients else None
        return Reply(tuple(t.detach().clone() for t in outputs), form, tuple(_detached(a) for a in self.args),
                     gradients, self.parameters, None, stdout.getvalue())

    def build(self, gpu, build):
        """Make the class a module."""
        with gpu.on_the_cpu() if gpu else contextlib.nullcontext():
            self.candidate = (build or built)(self.candidate, self.call)
        if gpu:
            gpu.move(self.candidate)
        parameters = dict(self.candidate.named_parameters())
        self.parameters = tuple(parameters)
        if self.call.own_names is not None:
            names = by_own_names(self.call.weights, parameters, self.call.own_names, self.call.squares_turned)
            self.parameters = tuple(names.values())
            parameters = {name: parameters[registered(own)] for name, own in names.items()}
            self.turned = {name for name, own in names.items() if own.endswith(TURNED)}
        self.leaves |= parameters if self.call.gradients else {}

    def outputs(self, gpu):
        """The tensors that come back, and in which form. What an answer keeps of earlier calls is on the CPU and has no
        gradient."""
        with torch.no_grad(), gpu.on_the_cpu() if gpu else contextlib.nullcontext():
            for args in self.call.earlier:
                self.called([_copy(a, False) for a in args])
        outputs, form = _read(self.called(self.args))
        if self.call.twice:
            outputs = _after_writing_over(_read(self.called(self.args))[0], outputs)
        return outputs, form

    def gradients(self, outputs):
        """Gradients of the outputs, those of weights in the shapes that the weights were given in."""
        found, weights = _gradients(outputs, self.leaves), self.call.weights or {}
        return {name: g if g is None or name not in weights else
                g.T if name in self.turned else g.reshape(weights[name].shape) for name, g in found.items()}

    def called(self, args):
        """What the answer gives for some arguments."""
        with looking_on():
            if not self.call.at_most:
                return self.candidate(*args)
            with torch.no_grad(), AtMost(self.call.at_most):
                return self.candidate(*args)


class NoOutput(Exception):
    """An answer gave no tensor to look at."""


class TooLarge(Exception):
    """A result has more numbers than anybody asked for."""


class _Beginning(io.StringIO):
    """Keeps the beginning of what is printed, whoever closes it."""

    def write(self, text):
        super().write(_printable(text[: max(0, LETTERS - self.tell())]))
        return len(text)

    def close(self):
        pass


class UnregisteredWeight(AttributeError):
    """A module does not have one of the weights its exercise names."""


def built(cls, call):
    """The module of a call: constructed, with our weights by name, in its mode."""
    with looking_on():
        module = cls(*call.build)
    module, dtype = module.train(call.train), call.dtype
    if any(t.dtype != dtype for t in chain(module.parameters(), module.buffers())):  # `to` takes long
        module = module.to(dtype)
    for name, parameter in module.named_parameters():
        if parameter.is_meta:
            raise UnregisteredWeight(f"its {name} is on the meta device, where a tensor holds no numbers")
        if is_lazy(parameter):
            raise UnregisteredWeight(f"its {name} has no shape before the module is called: give both widths")
    if call.before:
        with looking_on():
            module(*(_copy(a, False) for a in call.before))
    weights = call.weights or {}
    own, names = dict(module.named_parameters(remove_duplicate=False)), {}
    if call.own_names is not None:
        found = by_own_names(weights, own, call.own_names, call.squares_turned)
        own = {name: own[registered(mine)] for name, mine in found.items()}
        weights = {name: weight.T if found[name].endswith(TURNED) else weight for name, weight in weights.items()}
    if call.layout:
        for whose in attentions(weights):
            width = len(weights[f"{whose}W_q.weight"])
            fill_with_identities(module.get_submodule(whose.rstrip(".")), width, call.heads, call.layout)
        weights = {name: weight for name, weight in weights.items() if not is_of_attention(name)}
    with torch.no_grad():
        for name, weight in weights.items():
            if name not in own:
                raise UnregisteredWeight(f"it has no registered parameter named {name}")
            mine = own[name]
            if names.setdefault(id(mine), name) != name:
                raise UnregisteredWeight(f"its {name} and {names[id(mine)]} are one and the same parameter")
            folded = mine.dim() > weight.dim() and mine.numel() == weight.numel()  # such as a convolution's
            if mine.shape != weight.shape and not folded:
                raise UnregisteredWeight(f"its {name} has shape {tuple(mine.shape)}, not {tuple(weight.shape)}")
            mine.copy_(weight.reshape(mine.shape) if folded else weight)
    return module


def _gradients(outputs, leaves):
    """Gradients of a fixed, uneven mix of all outputs, so that no two entries can cancel unseen."""
    outputs = [t for t in outputs if t.requires_grad]
    if not outputs:
        return dict.fromkeys(leaves)
    total = sum((t * _uneven(t).to(t.dtype)).sum() for t in outputs)
    trained = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    found = torch.autograd.grad(total, list(trained.values()), allow_unused=True)
    dense = (g if g is None or g.layout is torch.strided else g.to_dense() for g in found)
    return dict.fromkeys(leaves) | dict(zip(trained, dense, strict=True))


@torch.no_grad()
def _after_writing_over(second, first):
    """What is left of the first result when somebody writes into the second one."""
    before = [t.clone() for t in second]
    for t in second:
        with contextlib.suppress(RuntimeError):  # a tensor expanded from a smaller one cannot be written to
            t.copy_(~t if t.dtype == torch.bool else t + 1)
    left = tuple(t.clone() for t in first)
    for t, old in zip(second, before, strict=True):
        with contextlib.suppress(RuntimeError):
            t.copy_(old)
    return left


def _uneven(t):
    return torch.arange(t.numel(), dtype=torch.float64).mul(1.7).add(0.3).cos().reshape(t.shape)


def _read(returned):
    """What was returned: the tensors to compare, and the form they came in; of what is no answer, the form alone."""
    if isinstance(returned, torch.Tensor):
        return ((), f"a {_odd(returned)} tensor") if _odd(returned) else ((_plain(returned),), "tensor")
    if isinstance(returned, bool | np.bool_):
        return (torch.tensor(bool(returned)),), "True or False"
    if isinstance(returned, tuple):
        return _read_tuple(returned)
    names = {type(None): "None", np.ndarray: "a numpy array", list: "a list", float: "a Python number",
             int: "a Python number"}
    return (), names.get(type(returned), f"an object of type {type(returned).__name__}")


def _read_tuple(returned):
    """The same of a tuple. A None beside a tensor is a second result that is not there."""
    if _is_tensor_and_pair(returned):
        return _read_tuple((returned[0], *returned[1]))[0], "a tuple of a tensor and a pair of tensors"
    if returned and all(isinstance(t, torch.Tensor) for t in returned):
        odd = next(filter(None, map(_odd, returned)), "")
        return ((), f"a tuple with a {odd} tensor") if odd else (tuple(map(_plain, returned)), "tuple")
    if _is_tensor_and_none(returned):
        return (_plain(returned[0]),), "a tuple of a tensor and None"
    if _is_tokens_and_score(returned):
        tokens, score = returned
        return (torch.tensor(tokens, dtype=torch.int64), torch.tensor(float(score))), \
            "a tuple of a list of integers and a float"
    return (), f"a tuple that holds {' and '.join(type(t).__name__ for t in returned) or 'nothing'}"


def _is_tensor_and_pair(returned):
    """What a step with a cache gives: a result, and the keys and values for the next step."""
    return len(returned) == 2 and isinstance(returned[0], torch.Tensor) and isinstance(returned[1], tuple | list) \
        and len(returned[1]) == 2 and all(isinstance(t, torch.Tensor) and not _odd(t) for t in returned[1]) \
        and not _odd(returned[0])


def _is_tensor_and_none(returned):
    """What a model gives that was asked for a loss, and not given targets."""
    return len(returned) == 2 and returned[1] is None and isinstance(returned[0], torch.Tensor) \
        and not _odd(returned[0])


def _is_tokens_and_score(returned):
    """What a search gives: token numbers in a list, and a number."""
    return len(returned) == 2 and isinstance(returned[0], list) and all(type(i) is int for i in returned[0]) \
        and isinstance(returned[1], float | int) and type(returned[1]) is not bool


def _odd(tensor):
    """A word for a tensor that does not keep all its numbers in a table, or in an odd dtype; empty for all others."""
    with torch._C.DisableTorchFunctionSubclass():  # a subclass may say anything
        return "nested" if tensor.is_nested else "meta" if tensor.is_meta else \
            "sparse" if tensor.layout is not torch.strided else \
            "" if tensor.dtype in DTYPES else str(tensor.dtype).removeprefix("torch.")


def _plain(tensor):
    """The numbers of a tensor, without what a subclass makes of comparing or printing them."""
    if type(tensor) is not torch.Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            tensor = tensor.as_subclass(torch.Tensor)
    if tensor.numel() > NUMBERS:
        raise TooLarge(f"its result has {tensor.numel():,} numbers, in shape {tuple(tensor.shape)}")
    return tensor


@contextlib.contextmanager
def undisturbed(seed=0):
    """Whatever happens to random states, default dtype and device or gradient mode within the block ends with it."""
    numpy_state, python_state, dtype = np.random.get_state(), random.getstate(), torch.get_default_dtype()
    torch_state, device = torch.get_rng_state(), torch.get_default_device()
    torch.set_default_dtype(torch.float32)
    torch.default_generator.manual_seed(seed)
    try:
        with torch.enable_grad():
            yield
    finally:
        if torch.get_default_device() != device:
            torch.set_default_device(device)
        torch.set_rng_state(torch_state)
        np.random.set_state(numpy_state)
        random.setstate(python_state)
        torch.set_default_dtype(dtype)


def _is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _map_float(args, change):
    return tuple(change(a) if _is_float(a) else _map_float(a, change) if isinstance(a, tuple) else a for a in args)


def _copy(value, strided):
    """A copy of an argument; where strided, one whose elements lie in memory in another order, with gaps."""
    if isinstance(value, tuple):
        return tuple(_copy(part, strided) for part in value)
    if not isinstance(value, torch.Tensor):
        return copy.deepcopy(value)  # a callable that counts its calls begins anew
    if not strided or value.dim() == 0:
        return value.detach().clone()
    gaps = value.detach().movedim(-1, 0).repeat_interleave(2, dim=-1) if value.dim() > 1 \
        else value.detach().repeat_interleave(2)
    return gaps[..., ::2].movedim(0, -1)


def _detached(value):
    if isinstance(value, tuple):
        return tuple(map(_detached, value))
    return value.detach() if isinstance(value, torch.Tensor) else value


def _kind(error, wanted=()):
    """The name of an error's type, or which of those that are wanted it is a special case of; NotImplementedError only
    where the answer itself says `raise`, and not torch."""
    name = "MemoryError" if _is_out_of_memory(error) else type(error).__name__
    if name not in ("NotImplementedError", "RecursionError"):  # of RuntimeError: a blank, and a loop that never ends
        name = next((base.__name__ for base in type(error).__mro__ if base.__name__ in wanted), name)
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    says_so = linecache.getline(frame.f_code.co_filename, line).strip().startswith("raise")
    by_torch = frame.f_globals.get("__name__", "").startswith("torch.") or not says_so and one_line(error)
    return f"torch's {name}" if name == "NotImplementedError" and by_torch else name


def _is_out_of_memory(error):
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or \
        isinstance(error, RuntimeError) and "DefaultCPUAllocator: can't allocate memory" in one_line(error)


def one_line(error):
    """The message of what was raised; empty for a bare `assert`, and for `exit()`, which brings None along."""
    try:
        said = "" if error.args == (None,) else re.sub(r"^\[enforce fail at .*?\. ", "", str(error)[:LETTERS])
        return _printable(" ".join(said.split()))[:LONG]
    except Exception as another:
        return f"its message cannot be made, that raises {type(another).__name__}"


def raised(kind, message=""):
    """What was raised, in words; not everything that is brings a message along."""
    return f"raised {kind}: {message}" if message else f"raised {kind}"


def _printable(text):
    """A text without halves of characters, which cannot be shown."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _where(error, candidate):
    """The last line of the answer's own file, or cell, that an error came through: "line 3, `scores = q @ k`"."""
    of = vars(type(candidate)).values() if isinstance(candidate, torch.nn.Module) else [candidate]
    own = {inspect.unwrap(f).__code__.co_filename for f in of if inspect.isfunction(f)}  # not torch's, of `no_grad`
    lines = [(n, linecache.getline(frame.f_code.co_filename, n).strip())
             for frame, n in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename in own]
    return f"line {lines[-1][0]}, `{lines[-1][1]}`" if lines and lines[-1][1] else ""
