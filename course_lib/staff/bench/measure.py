"""Times and memory of things that are called in turn, so that a busy moment hits all of them."""

import os
import random
import statistics
import time

import torch
from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler reports its own comings and goings


def rounds(calls, device, at_least, seconds):
    """The seconds of each call in every round: {name: callable} -> {name: [seconds]}.

    All are called once in a round, in a new order each time: `at_least` rounds, and on until `seconds` have passed.
    """
    clock = _cuda_seconds if device.type == "cuda" else _cpu_seconds
    order, taken = random.Random(0), {name: [] for name in calls}
    for call in calls.values():
        call()  # what is only done once is not counted
    end = time.monotonic() + seconds
    while len(next(iter(taken.values()))) < at_least or time.monotonic() < end:
        for name in order.sample(list(calls), len(calls)):
            taken[name].append(clock(calls[name]))
    return taken


def medians(taken):
    """{name: [seconds]} -> {name: the median}."""
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def ratio(ours, theirs):
    """(low, median, high) of how many times as long as theirs ours takes, round by round: two lists of seconds.

    In about 99 of 100 measurements the median of endlessly many rounds lies from low to high, however they are spread:
    how many of n rounds fall below it is a matter of n coins. Fewer than 8 rounds are too few to be so sure.
    """
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    beyond = max(int((len(ratios) - 2.58 * len(ratios) ** 0.5) / 2), 0)
    return ratios[beyond], statistics.median(ratios), ratios[-1 - beyond]


def _cpu_seconds(call):
    # On one thread the processor's time: what other programs take meanwhile is not in it.
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    call()
    return clock() - start


def _cuda_seconds(call):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def peak_bytes(call, device):
    """The most memory that tensors take while something runs, beyond what was taken before.

    On a GPU torch's own count. On the CPU the sum of what torch's profiler sees handed out and given back: the same in
    every run and on every system, but without what libraries under torch keep for themselves.
    """
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


def operations(call, device, times=10):
    """{operation: seconds of one call}, without what it calls itself: torch's operations, on a GPU its kernels."""
    call()
    with profile(activities=[ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU]) as profiler:
        for _ in range(times):
            call()
    kind = "device" if device.type == "cuda" else "cpu"
    return {e.key: getattr(e, f"self_{kind}_time_total") / times / 1e6 for e in profiler.key_averages()}


def matmul_peak(device, dtype, times=30):
    """The most floating-point operations a second that a large matrix product reaches here, in its best try."""
    n = 8192 if device.type == "cuda" else 1024
    clock = _cuda_seconds if device.type == "cuda" else _cpu_seconds
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    return 2 * n**3 / min(clock(lambda: a @ b) for _ in range(times))
