"""Measure the course's code beside torch.nn, other libraries, and bare matrix products of the same size.

    python -m course_lib.staff.bench                                       everything, on the CPU: 45 minutes on 2 cores
    python -m course_lib.staff.bench --quick                               small sizes: does it work?
    python -m course_lib.staff.bench --only mha,lm --lengths 32,512        some of it
    python -m course_lib.staff.bench --only mha --lengths 512 --profile    and which operations the time goes to
    python -m course_lib.staff.bench --device cuda --json r.json --plot r.png

All contenders of a row block are called in turn, in a new order each round, and compared round by round: a busy
machine slows all of them. On one thread (--threads 1) the processor's time is taken, which other programs hardly
change. Contenders whose outputs differ are refused. Memory is what tensors take at most beyond what was there before:
on the CPU by torch's profiler, on a GPU by torch's own count.
"""

import argparse
import json
import platform
import sys
import warnings

import torch
from torch._dynamo.exc import TorchDynamoException

from course_lib.staff.bench import contenders as who
from course_lib.staff.bench.matmuls import PRODUCTS, flops
from course_lib.staff.bench.measure import matmul_peak, medians, operations, peak_bytes, ratio, rounds

QUICK = who.Size(d_model=64, num_heads=4, d_ff=128, num_layers=1, vocab=100, patch=4, classes=10)
SIZES = {"cpu": {}, "cuda": {"transformer": who.Size(num_layers=6),  # the base model of 2017, and ViT-B/16
                             "vit": who.Size(d_model=768, num_heads=12, d_ff=3072, num_layers=12)}}
LENGTHS = {"cpu": [32, 128, 512, 1024, 2048, 4096], "cuda": [32, 128, 512, 2048, 8192, 16384, 32768, 65536]}
AT_MOST = {kind: 1.00 if kind == "mha" else 1.05 for kind in who.KINDS}  # times the fastest other
TOLD = 0.10  # an interval that is wider tells nothing
COLUMNS = ["forward", "forward and backward"]


def main(arguments=None):
    """Measure and report; the exit status is 1 where a contender is refused or a file cannot be written."""
    options = _options(arguments)
    warnings.filterwarnings("ignore", module="torch")  # nn.Transformer's, on layouts that it takes no fast path for
    torch.set_num_threads(options.threads)
    device, dtype = torch.device(options.device), getattr(torch, options.dtype)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("torch sees no CUDA device here: measure on the CPU with --device cpu", file=sys.stderr)
        return 1
    absent = {} if options.no_extras else who.absent()
    extras = [] if options.no_extras else [name for name in who.EXTRAS if name not in absent]
    for name, why in absent.items():
        print(f"{name} is left out: it cannot be imported ({why}); pip install -e \".[compare,bench]\" brings it",
              file=sys.stderr)
    report = {"machine": machine(device, dtype, options), "rows": []}
    try:
        for kind in options.only:
            for T in lengths_of(kind, options):
                print(f"{kind}, T = {T} ...", file=sys.stderr, flush=True)
                report["rows"] += measured(kind, T, device, dtype, options, extras)
        print(table(report), ratios(report), "" if options.quick else verdict(report), sep="\n\n")
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
        if options.plot:
            plot(report, options.plot)
    except who.Different as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def machine(device, dtype, options):
    """What the numbers were measured on."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or platform.machine()
    return {"device": device.type, "name": name, "threads": options.threads, "torch": torch.__version__,
            "dtype": options.dtype, "matmul_flops_per_second": matmul_peak(device, dtype)}


def lengths_of(kind, options):
    """The lengths of one kind: a ViT reads a square of patches and a class token, one of them a picture of 224."""
    if kind != "vit":
        return options.lengths
    sides = {round(T**0.5) for T in options.lengths if T <= 4096} | (set() if options.quick else {14})
    return sorted(side**2 + 1 for side in sides)


def measured(kind, T, device, dtype, options, extras):
    """The rows of one kind and length, one a contender."""
    size = QUICK if options.quick else SIZES[device.type].get(kind, who.Size())
    B = options.batch or (max(1, 16384 // T) if device.type == "cuda" else 1)
    try:
        compiler = "inductor" if options.compile else None
        found, left_out = fitting(who.contenders(kind, size, B, T, device, dtype, extras, compiler), device)
        who.compare(found, dtype)
        rows = {name: {"kind": kind, "T": T, "B": B, "contender": name} for name in found}
        for column, training in zip(COLUMNS, (False, True), strict=True):
            calls = {}
            for name, contender in found.items():
                contender.mode(training)
                calls[name] = contender.forward_and_backward if training else contender.forward
                rows[name][f"{column}, bytes"] = peak_bytes(calls[name], device)
                contender.clear()
            if options.profile:
                print(spent(f"{kind}, T = {T:,}, {column}", calls, device))
            taken = rounds(calls, device, options.rounds, options.seconds)
            for name, seconds in medians(taken).items():
                rows[name][f"{column}, seconds"] = seconds
                rows[name][f"{column}, {who.OURS} takes times"] = ratio(taken[who.OURS], taken[name])
                work = flops(PRODUCTS[kind](size, B, T)) * (3 if training else 1)
                rows[name][f"{column}, flops per second"] = work / seconds
    except torch.OutOfMemoryError:
        print(f"{kind}, T = {T}: left out, course_lib needs more memory than there is", file=sys.stderr)
        return []
    for name, why in left_out.items():
        print(f"{kind}, T = {T}: {name} is left out, {why}", file=sys.stderr)
    return list(rows.values())


def fitting(found, device):
    """The contenders that run, and of those that do not, {name: why}: memory is too small, or there is no compiler."""
    left_out = {}
    for name, contender in found.items():
        try:
            contender.mode(True)
            contender.forward_and_backward()
            contender.clear()
        except torch.OutOfMemoryError:
            if name == who.OURS:
                raise
            left_out[name] = "it needs more memory than there is"
        except TorchDynamoException as error:
            left_out[name] = "torch.compile fails: " + " ".join(str(error).split()[:20])
    return {name: c for name, c in found.items() if name not in left_out}, left_out


def table(report):
    """The rows as Markdown; behind each time, how many times the fastest it takes, what is compiled not counted."""
    lines = ["| model | T | B | contender | forward ms | × best | MB | forward and backward ms | × best | MB "
             "| tokens / s | of matmul peak |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in report["rows"]:
        cells = [row["kind"], f"{row['T']:,}", str(row["B"]), row["contender"]]
        for column in COLUMNS:
            best = min(other[f"{column}, seconds"] for other in block(report, row) if is_compared(other))
            seconds = row[f"{column}, seconds"]
            cells += [f"{seconds * 1e3:.2f}", f"{seconds / best:.2f}", f"{row[f'{column}, bytes'] / 1e6:.1f}"]
        share = row[f"{COLUMNS[1]}, flops per second"] / report["machine"]["matmul_flops_per_second"]
        cells += [f"{row['B'] * row['T'] / row[f'{COLUMNS[1]}, seconds']:,.0f}", f"{share:.0%}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ratios(report):
    """The course's rows as Markdown, each beside the fastest other that computes the same and the bare products."""
    tables = []
    for column in COLUMNS:
        lines = [f"| {column} | T | ms | × fastest other | × bare matmuls | MB |", "|---|---|---|---|---|---|"]
        for row in ours(report):
            rival, bare = fastest_other(report, row, column), bare_products(report, row)
            cells = [row["kind"], f"{row['T']:,}", f"{row[f'{column}, seconds'] * 1e3:.2f}",
                     f"{times(rival, column)} {rival['contender']}" if rival else "no other fits",
                     f"{middle(bare, column):.2f}" if bare else "do not fit",
                     f"{row[f'{column}, bytes'] / 1e6:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def spent(title, calls, device):
    """Where the time goes, as Markdown: each operation of course_lib beside the same of the bare products, in ms."""
    names = [name for name in (who.OURS, who.BARE) if name in calls]
    columns = [operations(calls[name], device) for name in names]
    totals = [sum(column.values()) for column in columns]
    lines = [f"\n| {title}, ms | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    for name in sorted(set().union(*columns), key=lambda name: -columns[0].get(name, 0)):
        if any(column.get(name, 0) > total / 100 for column, total in zip(columns, totals, strict=True)):
            lines.append(f"| {name} | " + " | ".join(f"{column.get(name, 0) * 1e3:.2f}" for column in columns) + " |")
    return "\n".join([*lines, "| all | " + " | ".join(f"{total * 1e3:.2f}" for total in totals) + " |"])


def ours(report):
    """The rows of course_lib."""
    return [row for row in report["rows"] if row["contender"] == who.OURS]


def fastest_other(report, row, column):
    """Of what others wrote to compute the same, the row of what course_lib is slowest beside; None where none is."""
    others = [r for r in block(report, row) if is_compared(r) and r["contender"] not in (who.OURS, who.TEXTBOOK)]
    return max(others, key=lambda other: middle(other, column), default=None)


def bare_products(report, row):
    """The row of the bare products; None where they were left out."""
    return next((other for other in block(report, row) if other["contender"] == who.BARE), None)


def interval(other, column):
    """(low, median, high): how many times as long as this one course_lib takes."""
    return other[f"{column}, {who.OURS} takes times"]


def middle(other, column):
    """How many times as long as this one course_lib takes."""
    return interval(other, column)[1]


def times(other, column):
    """The same as text, with its interval."""
    low, median, high = interval(other, column)
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def block(report, row):
    """The rows that were measured in turn with this one."""
    return [other for other in report["rows"] if (other["kind"], other["T"]) == (row["kind"], row["T"])]


def is_compared(row):
    """Bare products compute nothing of use, another model something else; what is compiled is no rival of its own."""
    return row["contender"] not in (who.BARE, who.COMPILED) and not row["contender"].endswith(who.OTHER)


def verdict(report):
    """Where course_lib misses a target for sure, and where the rounds do not tell, one a line."""
    compared = [(row, column, fastest_other(report, row, column)) for row in ours(report) for column in COLUMNS]
    compared = [(row, column, rival) for row, column, rival in compared if rival]
    said = []
    for row, column, rival in compared:
        low, _, high = interval(rival, column)
        most = AT_MOST[row["kind"]]
        where = f"{row['kind']}, T = {row['T']:,}, {column}: {times(rival, column)} times {rival['contender']}"
        if low > most:
            said.append(f"missed: {where}, at most {most:.2f}")
        elif high - low > TOLD:
            said.append(f"not told: {where}; measure longer, with --seconds")
    if not compared:
        return "Nothing was compared, so no target is met or missed."
    return "\n".join(said) or f"All {len(compared)} targets are met."


def plot(report, path):
    """Time and memory over length, one column a kind, one line a contender."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(row["kind"] for row in report["rows"]))
    names = list(dict.fromkeys(row["contender"] for row in report["rows"]))
    figure, axes = plt.subplots(2, len(kinds), figsize=(3.4 * len(kinds), 6), squeeze=False, layout="constrained")
    for kind, (time, memory) in zip(kinds, axes.T, strict=True):
        for i, name in enumerate(names):
            rows = [r for r in report["rows"] if r["kind"] == kind and r["contender"] == name]
            style = {"marker": "osv^DxP*"[i % 8], "color": f"C{i}", "label": name}
            time.loglog([r["T"] for r in rows], [r[f"{COLUMNS[1]}, seconds"] for r in rows], **style)
            memory.loglog([r["T"] for r in rows], [max(r[f"{COLUMNS[1]}, bytes"], 1) / 1e6 for r in rows], **style)
        time.set(title=kind, xlabel="T", ylabel="seconds, forward and backward")
        memory.set(xlabel="T", ylabel="peak MB, forward and backward")
    axes[0, 0].legend(fontsize="small")
    figure.savefig(path, dpi=100)


def _options(arguments):
    def names(text):
        unknown = set(text.split(",")) - set(who.KINDS)
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: choose from {','.join(who.KINDS)}")
        return text.split(",")

    def numbers(text):
        if not all(part.isdecimal() and int(part) > 1 for part in text.split(",")):
            raise argparse.ArgumentTypeError(f"{text}: lengths are numbers from 2 on, such as 32,128")
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], help="float32 on the CPU, bfloat16 on a GPU")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), metavar="N")
    parser.add_argument("--only", type=names, default=list(who.KINDS), metavar=",".join(who.KINDS))
    parser.add_argument("--lengths", type=numbers, metavar="32,128,...")
    parser.add_argument("--batch", type=int, metavar="B", help="1 on the CPU; on a GPU 16,384 tokens together")
    parser.add_argument("--seconds", type=float, metavar="S", help="for each block of rows and direction")
    parser.add_argument("--rounds", type=int, metavar="N", help="at least so many")
    parser.add_argument("--quick", action="store_true", help="small sizes, two lengths")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction,
                        help="measure course_lib under torch.compile, too; on a GPU it is the default")
    parser.add_argument("--no-extras", action="store_true", help="only course_lib and torch")
    parser.add_argument("--profile", action="store_true", help="say which operations the time goes to, too")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE.png")
    options = parser.parse_args(arguments)
    if options.threads < 1:
        parser.error("--threads is at least 1")
    options.dtype = options.dtype or ("bfloat16" if options.device == "cuda" else "float32")
    options.lengths = options.lengths or ([16, 64] if options.quick else LENGTHS[options.device])
    options.seconds = options.seconds if options.seconds is not None else (0.2 if options.quick else 6.0)
    options.compile = options.device == "cuda" if options.compile is None else options.compile
    options.rounds = options.rounds or (3 if options.quick else 8)
    return options


if __name__ == "__main__":
    sys.exit(main())
