"""How many numbers does an answer hold at once? Counted as torch makes and drops tensors, on any machine alike."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class HoldsTooMuch(RuntimeError):
    """An answer holds more numbers at once than it needs."""


class AtMost(TorchDispatchMode):
    """Within the block, raise HoldsTooMuch where tensors that were made in it hold `most` numbers or more at once.

    What a kernel of torch needs inside of itself is not seen; nor are the arguments, which were there before.
    """

    def __init__(self, most):
        super().__init__()
        self.most, self.now = most, 0
        self.held = {}  # address of a storage: how many tensors use it

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # or torch's compiler is imported, which takes a second

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._hold(tensor, before)
        return result

    def _hold(self, tensor, before):
        storage = tensor.untyped_storage()
        address, numbers = storage._cdata, storage.nbytes() // tensor.element_size()
        if address not in self.held:
            if address in before:  # a view of an argument
                return
            self.held[address], self.now = 0, self.now + numbers
        self.held[address] += 1
        weakref.finalize(tensor, self._let_go, address, numbers)
        if self.now >= self.most:
            raise HoldsTooMuch(f"it holds {self.now:,} numbers at once, and fewer than {self.most:,} are enough")

    def _let_go(self, address, numbers):
        self.held[address] -= 1
        if not self.held[address]:
            del self.held[address]
            self.now -= numbers
