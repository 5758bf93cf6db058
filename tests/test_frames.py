"""Frames between the judge and a student's process: what is sent arrives, and nothing else does any harm."""

import math
import random
import resource
import socket
import threading
import time

import pytest
import torch

from course_lib.checks.engine.asking import Call, ask
from course_lib.staff.grade import frames, lane
from course_lib.staff.grade.frames import Channel, Ended, FrameError, packed, unpacked

VALUES = {"nothing": None, "yes": True, "n": -3, "x": 0.25, "far": float("inf"), "text": "höchst · 'wert'",
          "list": [1, [2, ()]], "dict": {0: None, "W": torch.ones(2)}, "empty": torch.empty(0, 3),
          "scalar": torch.tensor(7), "half": torch.tensor([1.5, 2.5], dtype=torch.bfloat16),
          "turned": torch.arange(6).reshape(2, 3).T, "mask": torch.tensor([[True, False]])}


@pytest.fixture
def ends():
    """Two ends of a socket, each with its channel."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours), Channel(theirs)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(v, other[k]) for k, v in one.items())
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def test_what_is_sent_arrives(ends):
    """A tuple that comes back as a list, or a tensor with another shape."""
    for _ in range(2):
        ends[0].put("some", **VALUES)
    threading.Thread(target=ends[0].flush).start()
    for _ in range(2):
        say, fields = ends[1].receive(time.monotonic() + 10)
        assert say == "some" and same(fields, VALUES)


def test_a_tensor_that_arrives_has_memory_of_its_own(ends):
    """Writing into one tensor of a frame changes another."""
    ends[0].send("two", a=torch.zeros(2), b=torch.zeros(2))
    fields = ends[1].receive()[1]
    fields["a"].add_(1)
    assert fields["b"].tolist() == [0, 0]


def test_what_cannot_be_sent_is_refused_before_anything_is_sent(ends):
    """Half a frame, after which no other can be read."""
    with pytest.raises(TypeError):
        ends[0].send("odd", thing=object())
    ends[0].send("next")
    assert ends[1].receive() == ("next", {})


def test_the_deadline_and_the_end_are_told_apart(ends):
    """A process that has died is waited for until the deadline."""
    with pytest.raises(TimeoutError):
        ends[1].receive(time.monotonic() + 0.05)
    ends[0].sock.sendall(frames.LENGTHS.pack(frames.MARK, 10, 0) + b"half")
    ends[0].sock.close()
    with pytest.raises(Ended):
        ends[1].receive(time.monotonic() + 5)


@pytest.mark.parametrize("lengths", [
    (b"TV1\n", 2, 0), (frames.MARK, 2**32 - 1, 0), (frames.MARK, 2, 2**63), (frames.MARK, 2, frames.BODY_LIMIT + 1)])
def test_no_length_is_believed_beyond_its_limit(ends, lengths):
    """A length of 2**63 bytes, and the judge waits or asks for the memory."""
    ends[0].sock.sendall(frames.LENGTHS.pack(*lengths))
    with pytest.raises(FrameError):
        ends[1].receive(time.monotonic() + 5)


@pytest.mark.parametrize("header", [
    "[]", "3", '{"say": 1, "fields": {}, "tensors": []}', '{"say": "a", "fields": [], "tensors": []}',
    '{"say": "a", "fields": {"x": {"tensor": 0}}, "tensors": []}',
    '{"say": "a", "fields": {"x": {"tensor": -1}}, "tensors": [["float32", [1]]]}',
    '{"say": "a", "fields": {"x": {"exec": "1"}}, "tensors": []}',
    '{"say": "a", "fields": {"x": {"dict": [[{"list": []}, 1]]}}, "tensors": []}',
    '{"say": "a", "fields": {"x": [1]}, "tensors": []}', '{"say": "a", "fields": {}, "tensors": [["float32", [9]]]}',
    '{"say": "a", "fields": {}, "tensors": [["float32", [-1]]]}', '{"say": "a", "fields": {}, "tensors": [["f", [1]]]}',
    '{"say": "a", "fields": {}, "tensors": [["float32", [0]]], "x": ' + "[" * 100_000,
    '{"say": "a", "fields": {"x": ' + '{"list": [' * 5000 + "]}" * 5000 + '}, "tensors": []}',
    '{"say": "a", "fields": {"x": ' + "9" * 5000 + '}, "tensors": []}',
    '{"say": "a", "fields": {}, "tensors": [["uint8", [4096, 4096, 4096, 0]], ["float64", [1e3]]]}',
])
def test_a_header_that_is_no_header_is_refused(header):
    """An exception that the judge does not expect."""
    with pytest.raises(FrameError):
        unpacked(header.encode(), b"\0" * 4)


def test_mutated_frames_fail_cleanly_and_take_no_memory():
    """One of 20,000 frames that are nearly right ends the judge, or fills its memory."""
    chance = random.Random(0)
    frame = packed("done", VALUES)
    head = frames.LENGTHS.size
    length = frames.LENGTHS.unpack(frame[:head])[1]
    header, body = frame[head : head + length], frame[head + length :]
    refused, before = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(20_000):
        part = bytearray(header if i % 4 else body)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(part))
            change = chance.randrange(4)
            if change == 0:
                part[at] = chance.randrange(256)
            elif change == 1:
                del part[at : at + chance.randint(1, 9)]
            elif change == 2:
                part[at:at] = bytes(chance.choices(b'0123456789[]{},":-e', k=chance.randint(1, 9)))
            else:
                part[at : at + 1] = part[max(0, at - 5) : at]
            part = part or bytearray(b"0")
        try:
            unpacked(*(bytes(part), body) if i % 4 else (header, bytes(part)))
        except FrameError:
            refused += 1
    assert refused > 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


ONES = Call((torch.ones(2),))


def asked(said, call=ONES):
    """What a judge hears where a child says this in answer to one call of `abs`, and then that it is done."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(said + packed("done", {}))
        return lane.Child(None, ours, 0).ask(0, "abs", [call], 1, math.inf, set())


def test_a_reply_that_was_heard_before_is_read_as_the_first_one_was():
    """The second student who says the same gets the verdict of another question."""
    reply = ask(torch.abs, ONES)
    fields = vars(reply) | {"args_after": [None], "used": ["abs", 7], "modes": []}
    before = lane._heard.cache_info().hits
    heard = [asked(packed("reply", fields))[0] for _ in range(2)]
    assert lane._heard.cache_info().hits == before + 1
    assert all(same(r.outputs, reply.outputs) and same(r.args_after, ONES.args) for r in heard)
    other = asked(packed("reply", fields | {"outputs": (torch.zeros(2),)}))[0]
    assert same(other.outputs, (torch.zeros(2),))
    twos = Call((torch.full((2,), 2.0),))
    assert same(asked(packed("reply", fields), twos)[0].args_after, twos.args)


@pytest.mark.parametrize("header", [b'{"say": "reply", "say": "done", "fields": {}, "tensors": []}',
                                    b'{"say":"reply", "fields": {}, "tensors": []}',
                                    b'{"say": "reply", "fields": [], "tensors": []}'])
def test_what_begins_like_a_reply_and_is_none_costs_this_answer_only(header):
    """A frame that says two things ends the judge, or is taken for the word that all is done."""
    with pytest.raises(lane.Lost, match="wrote into the channel"):
        asked(frames.LENGTHS.pack(frames.MARK, len(header), 0) + header)
