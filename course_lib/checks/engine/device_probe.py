"""Would this code work on a GPU? Asked on a machine that has none.

On a GPU, a tensor made without `device=` is on the CPU, and mixing it with the arguments fails. Here everything
is on the CPU, so we keep a list of the tensors that would not be on the GPU and raise where torch would. `x.device` is
"cpu:0" for the others. A literal `device="cpu"` is told from `device=x.device.type` by its being another object.
"""

import contextlib
import sys

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

FACTORIES = {torch.zeros, torch.ones, torch.empty, torch.full, torch.tensor, torch.arange, torch.linspace, torch.eye,
             torch.rand, torch.randn, torch.randint, torch.randperm, torch.from_numpy, torch.as_tensor, torch.Tensor,
             torch.tril_indices, torch.triu_indices, torch.logspace, torch.asarray, torch.normal, torch.scalar_tensor}
CONVERSIONS = {torch.tensor, torch.as_tensor, torch.asarray}  # of a tensor: they stay where it is
NUMPY = {torch.Tensor.numpy, torch.Tensor.__array__}
INDEXING = {torch.Tensor.__getitem__, torch.Tensor.__setitem__}  # an index may stay on the CPU
MOVES = {torch.Tensor.to, torch.Tensor.type_as, torch.Tensor.cuda}
COPIES = {torch.Tensor.copy_}
DEVICE = torch.Tensor.device.__get__
CPU = sys.intern("cpu")  # the one object that every literal "cpu" is; x.device.type is another one
HOST, GPU = torch.device("cpu"), torch.device("cpu", 0)


class LostDevice(RuntimeError):
    """The answer leaves the device of its arguments."""


@contextlib.contextmanager
def pretend_inputs_are_on_a_gpu():
    """Within the block, raise LostDevice where the same code would fail for arguments on a GPU."""
    with _Pretence() as pretence:
        yield pretence


class _Pretence(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self._host = {}  # id -> tensor: kept alive, so that no id is used twice
        self._on_the_cpu = False

    @contextlib.contextmanager
    def on_the_cpu(self):
        """Within the block all is on the CPU: a module is made, or asked there first."""
        self._on_the_cpu = True
        try:
            yield
        finally:
            self._on_the_cpu = False

    def move(self, module):
        """What `module.to("cuda")` does: parameters and buffers go, other tensors stay."""
        for tensor in (*module.parameters(), *module.buffers()):
            self._host.pop(id(tensor), None)

    def on_host(self, tensor):
        return id(tensor) in self._host

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._on_the_cpu:
            return self._on_host(func(*args, **kwargs))
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        host = [t for t in tensors if self.on_host(t)]
        device = [t for t in tensors if not self.on_host(t)]
        if func in NUMPY and device:
            raise LostDevice("numpy cannot read a tensor that is on a GPU")
        if func == DEVICE:
            return HOST if host else GPU
        if any(t.dim() > 0 for t in host) and device and func not in INDEXING | COPIES | MOVES:
            raise LostDevice("a tensor made without device= meets one that is on the device of the arguments")
        result = func(*args, **kwargs)
        names_the_cpu = any(a is CPU or isinstance(a, torch.device) and a == HOST for a in (*args, *kwargs.values()))
        if func is torch.Tensor.cpu or (func is torch.Tensor.to and names_the_cpu):
            return self._on_host(result.view_as(result))  # another object: the one that it was stays where it is
        made_on_host = func in FACTORIES and (
            names_the_cpu or (kwargs.get("device") is None and not (device and func in CONVERSIONS)))
        stays_on_host = host and not device
        if func is torch.Tensor.__getitem__:
            made_on_host, stays_on_host = False, self.on_host(args[0])
        moved = func in MOVES and (device or any(isinstance(a, torch.device | str) for a in (*args, *kwargs.values())))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                if moved:
                    self._host.pop(id(tensor), None)  # .to() may hand back the very same tensor
                elif made_on_host or stays_on_host:
                    self._host[id(tensor)] = tensor
        return result

    def _on_host(self, result):
        self._host |= {id(t): t for t in tree_leaves(result) if isinstance(t, torch.Tensor)}
        return result
