"""What a judge and the process with a student's code say to each other: frames of plain data over a socket.

A frame is two lengths, a header in JSON and raw bytes: the numbers of its tensors. Nothing that is read is ever
executed, imported or unpickled, and no length is believed beyond its limit.
"""

import math
import struct
import time
from json import dumps, loads

import torch

LENGTHS = struct.Struct("<4sIQ")  # a mark, the length of the header, the length of the body
MARK = b"TV0\n"
HEADER_LIMIT, BODY_LIMIT, TENSOR_LIMIT, DIMENSIONS = 1 << 24, 1 << 28, 4096, 16
CONTAINERS = 1 << 21  # lists and objects in a header: each costs the reader some sixty bytes
AT_ONCE, LARGEST = 1 << 16, 1 << 20  # bytes asked of a socket
ITS_OWN = " (its own operator)"  # stands behind the name of an operator that the code has registered itself
UNSEEN = " (whose branches run unseen)"  # and of torch.cond and its like
BUSY = ", while each of its many operations was watched"  # behind what a call says that did not end
DTYPES = {str(t).removeprefix("torch."): t for t in (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool,
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)}


class FrameError(Exception):
    """What came is no frame."""


class Ended(Exception):
    """The other side is gone."""


class Channel:
    """Frames over one socket."""

    def __init__(self, sock):
        self.sock, self._out, self._in = sock, [], bytearray()

    def send(self, say, **fields):
        """Send a frame: what it says, and fields of None, bool, int, float, str, tensors, lists, tuples and dicts.

        raises: TypeError for other values, before anything is sent
        """
        self.put(say, **fields)
        self.flush()

    def put(self, say, **fields):
        """Keep a frame until `flush`."""
        self._out.append(packed(say, fields))

    def flush(self):
        """Send what was kept."""
        out, self._out = b"".join(self._out), []
        if out:
            self.sock.sendall(out)

    def receive(self, deadline=None):
        """Read one frame: (what it says, its fields).

        deadline: on time.monotonic's clock; None waits for ever
        raises:   FrameError for what is no frame, Ended where the other side is gone, TimeoutError after the deadline
        """
        return unpacked(*self.read(deadline))

    def read(self, deadline=None):
        """The header and the body of one frame, as bytes; raises the same."""
        mark, header_length, body_length = LENGTHS.unpack(self._exactly(LENGTHS.size, deadline))
        if mark != MARK or header_length > HEADER_LIMIT or body_length > BODY_LIMIT:
            raise FrameError("the lengths of a frame are out of bounds")
        return self._exactly(header_length, deadline), self._exactly(body_length, deadline)

    def _exactly(self, n, deadline):
        """The next n bytes."""
        while len(self._in) < n:
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                self.sock.settimeout(left)
            try:
                part = self.sock.recv(min(max(n - len(self._in), AT_ONCE), LARGEST))
            except ConnectionError:
                part = b""
            if not part:
                raise Ended
            self._in += part
        found = bytes(self._in[:n])
        del self._in[:n]
        return found


def packed(say, fields):
    """A frame as bytes."""
    tensors = []
    header = dumps({"say": say, "fields": {k: _packed(v, tensors) for k, v in fields.items()},
                    "tensors": [[str(t.dtype).removeprefix("torch."), list(t.shape)] for t in tensors]}).encode()
    body = b"".join(_bytes(t) for t in tensors)
    if len(tensors) > TENSOR_LIMIT or len(header) > HEADER_LIMIT or len(body) > BODY_LIMIT:
        raise TypeError("this is more than a frame can hold")
    return LENGTHS.pack(MARK, len(header), len(body)) + header + body


def unpacked(header, body):
    """What a frame says and its fields; FrameError where it cannot be read."""
    try:
        if header.count(b"[") + header.count(b"{") > CONTAINERS:
            raise ValueError
        header = loads(header)
        tensors = _tensors(header["tensors"], body)
        return _text(header["say"]), {_text(k): _unpacked(v, tensors) for k, v in header["fields"].items()}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError, OverflowError,
            RecursionError) as error:
        raise FrameError(f"a frame cannot be read ({type(error).__name__})") from None


def _packed(value, tensors):
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES.values() or value.dim() > DIMENSIONS:
            raise TypeError("a tensor of this kind cannot be sent")
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_packed(v, tensors) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_packed(k, tensors), _packed(v, tensors)] for k, v in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"an object of type {type(value).__name__} cannot be sent")


def _unpacked(value, tensors):
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a list without its kind")
        return value
    (kind, inside), = value.items()
    if kind == "tensor":
        return tensors[inside] if type(inside) is int and inside >= 0 else tensors[len(tensors)]
    if kind == "dict":
        return {_unpacked(k, tensors): _unpacked(v, tensors) for k, v in inside}
    return {"list": list, "tuple": tuple}[kind](_unpacked(v, tensors) for v in inside)


def _bytes(tensor):
    flat = tensor.detach().cpu().clone(memory_format=torch.contiguous_format).reshape(-1)  # one number keeps any stride
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _tensors(described, body):
    """The tensors of a body, each with memory of its own; their sizes have to fill it exactly."""
    if len(described) > TENSOR_LIMIT:
        raise ValueError("too many tensors")
    tensors, at = [], 0
    for name, shape in described:
        dtype = DTYPES[name]
        if len(shape) > DIMENSIONS or not all(type(n) is int and 0 <= n <= BODY_LIMIT for n in shape):
            raise ValueError("no shape")
        size = math.prod(shape) * dtype.itemsize
        if at + size > len(body):
            raise ValueError("a tensor longer than the body")
        data = torch.frombuffer(bytearray(body[at : at + size]), dtype=torch.uint8) if size else torch.empty(
            0, dtype=torch.uint8)
        tensors.append(data.view(dtype).reshape(shape))
        at += size
    if at != len(body):
        raise ValueError("bytes that belong to no tensor")
    return tensors


def _text(value):
    if not isinstance(value, str):
        raise ValueError("no text")
    return value
