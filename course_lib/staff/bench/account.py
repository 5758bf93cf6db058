"""Why does multi-head attention take longer than its bare products? Each of its operations alone, beside its products.

    python -m course_lib.staff.bench.account [--length 512] [--threads 1] [--seconds 20]
"""

import argparse
import sys

import torch
import torch.nn.functional as F

from course_lib.staff.bench import contenders as who
from course_lib.staff.bench.matmuls import Bare, Factors, attention, with_backward
from course_lib.staff.bench.measure import medians, rounds

CPU = torch.device("cpu")


def parts(size, T):
    """{(operation, is it of the backward pass): (how often, torch's kernel, the bare products it has to do)}."""
    d, heads = size.d_model, (1, T, size.num_heads, size.d_model // size.num_heads)
    x, W, b = (torch.randn(*shape).requires_grad_() for shape in ((T, d), (d, d), (d,)))
    q, k, v = (torch.randn(heads).transpose(1, 2).requires_grad_() for _ in range(3))  # (1, H, T, d_head)
    y, out = F.linear(x, W, b), F.scaled_dot_product_attention(q, k, v)
    dy, another, dout = torch.randn(T, d), torch.randn(T, d), torch.randn(heads).transpose(1, 2)

    def backward(of, inputs, gradient):
        return lambda: torch.autograd.grad(of, inputs, gradient, retain_graph=True)

    projection, scores = [(1, T, d, d)], attention(size, 1, T)
    return {
        ("projection, bias included", False): (4, lambda: F.linear(x, W, b), projection),
        ("fused attention", False): (1, lambda: F.scaled_dot_product_attention(q, k, v), scores),
        ("projection: gradients of input and weight", True): (4, backward(y, (x, W), dy), gradients(projection)),
        ("projection: gradient of the bias", True): (4, backward(y, (b,), dy), []),
        ("three gradients of the input added up", True): (2, lambda: dy + another, []),
        ("fused attention: gradients", True): (1, backward(out, (q, k, v), dout), gradients(scores)),
    }


def gradients(products):
    """The products of the backward pass alone."""
    return [p for product in products for p in with_backward([product])[1:]]


def account(size, T, seconds):
    """Markdown: each operation alone, their sums, and at once the model and its products, in ms."""
    operations, factors = parts(size, T), Factors(CPU, torch.float32)
    found = who.contenders("mha", size, 1, T, CPU, torch.float32, ())
    calls = {}
    for part, (_, call, products) in operations.items():
        calls[part, "torch"] = call
        calls[part, "bare"] = Bare(products, factors) if products else lambda: None
    for name in (who.OURS, who.BARE):
        calls[name, False], calls[name, True] = found[name].forward, found[name].forward_and_backward
    taken = medians(rounds(calls, CPU, 8, seconds))
    title = f"T = {T:,}, threads: {torch.get_num_threads()}, ms"
    lines = [f"| {title} | how often | torch's operation | bare products | × |", "|---|---|---|---|---|"]
    both = {False: [0.0, 0.0], True: [0.0, 0.0]}  # forward; forward and backward
    for (name, is_backward), (times, _, products) in operations.items():
        ms = [times * taken[(name, is_backward), side] * 1e3 for side in ("torch", "bare")]
        lines.append(line(name, times, ms[0], ms[1] if products else 0))
        for direction in {is_backward, True}:
            both[direction] = [before + more for before, more in zip(both[direction], ms, strict=True)]
    for direction, column in ((False, "forward"), (True, "forward and backward")):
        lines.append(line(f"sum, {column}", "", *both[direction]))
        at_once = (taken[name, direction] * 1e3 for name in (who.OURS, who.BARE))
        lines.append(line(f"MultiHeadAttention at once, {column}", "", *at_once))
    return "\n".join(lines)


def line(name, times, kernel, bare):
    """A row of the table."""
    return f"| {name} | {times} | {kernel:.2f} | " + (f"{bare:.2f} | {kernel / bare:.2f} |" if bare else "none | |")


def main(arguments=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.bench.account",
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=512, metavar="T")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), metavar="N")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S")
    options = parser.parse_args(arguments)
    if options.length < 1 or options.threads < 1:
        parser.error("a length and a number of threads are at least 1")
    torch.set_num_threads(options.threads)
    print(account(who.Size(), options.length, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
