"""Which claims of the lessons fall when their seeds are moved, or on another processor? Exit status 1 where one does.

    python -m course_lib.staff.seeds                                  all lessons, 5 seeds, every arithmetic
    python -m course_lib.staff.seeds 11 13 --seeds 3 --cpus here      two lessons, 3 seeds, this processor as it is
    python -m course_lib.staff.seeds 11 --save runs.jsonl             keep what every claim compared, run by run; what
                                                                      the file holds already is not run again

The first seeds are the lessons' own; then every seed that is set moves by 1000, by 2000, and so on. Other processors
are imitated by the settings that torch, MKL and oneDNN read when they start: each run is a process of its own.
"Room" is a claim's mean distance from falling, divided by the standard deviation of that distance, over all runs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from tqdm import tqdm

from course_lib.staff.lesson_text import lesson_stems, number_of

STEP = 1000  # lessons loop over seeds 0, 1, 2, ...: moved by less, two runs would share some
NARROW = 3  # standard deviations
SETTINGS = ("ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
CPUS = {"here": (), "default": ("default", "SSE4_2", "SSE41"), "avx2": ("avx2", "AVX2", "AVX2"),
        "avx512": ("avx512", "AVX512", "AVX512_CORE")}  # from the oldest to the newest


def main(arguments=None):
    """Run, and print two tables: what fell, and what held with little room."""
    options = _options(arguments)
    stems, can = {number_of(stem): stem for stem in lesson_stems()}, imitable()
    if refusal := _refusal(options, stems, can):
        print(refusal, file=sys.stderr)
        return 2
    cpus = options.cpus or [cpu for cpu in can if cpu != "here"]
    chosen = [stems[number] for number in options.lessons or stems]
    variants = [(stem, seed, cpu) for seed in range(options.seeds) for cpu in cpus for stem in chosen]
    try:
        results = _kept(options.save)
        for variant, result in _all([v for v in variants if v not in results], options.at_once):
            results[variant] = result
            if options.save and result["claims"]:  # a run that died is run again next time
                _keep(options.save, variant, result)
    except (OSError, ValueError) as error:
        print(f"{options.save}: {error}", file=sys.stderr)
        return 2
    return int(report({variant: results[variant] for variant in variants}) > 0)


def _kept(path):
    """{variant: what its run said} of a file of earlier runs; empty where there is no file yet."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {tuple(variant): result for variant, result in map(json.loads, file)}


def _keep(path, variant, result):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps([variant, result]) + "\n")


def imitable():
    """The names of the processors that this one can imitate: an older one's instructions, and its own."""
    import torch

    newest = torch.backends.cpu.get_cpu_capability().lower()
    names = list(CPUS)
    return names[: names.index(newest if newest in names else "default") + 1]


def report(results):
    """Print both tables of {(stem, seed, cpu): what a run said}; how many claims fell."""
    falls, narrow = fallen(results), little_room(results)
    print("| claim | line | falls | where |\n|---|---|---|---|" if falls else "Every claim held.")
    for (stem, line, name), where in sorted(falls.items()):
        runs = sum(variant[0] == stem for variant in results)
        print(f"| {name} | {stem}.py:{line} | {len(where)} of {runs} | {', '.join(where)} |")
        for spread in spreads(results, stem, name):
            print(f"| | | | {spread} |")
    if narrow:
        print("\nHeld, with little room:\n\n| lesson | claim: what it compares | room |\n|---|---|---|")
        for room, stem, text in narrow:
            print(f"| {stem} | {text} | {room:.1f} |")
    claims = {(stem, line) for (stem, _, _), run in results.items() for line in run["claims"]}
    print(f"\n{len(falls)} of {len(claims)} claims fell, in {len(results)} runs.")
    return len(falls)


def fallen(results):
    """{(stem, line, claim): the variants in which it fell}; a cell that raises is a claim that fell."""
    falls = {}
    for (stem, seed, cpu), run in results.items():
        for line, (name, held) in run["claims"].items():
            if not held:
                falls.setdefault((stem, int(line), name), []).append(f"seed {seed} {cpu}")
        for line, error in run["raised"].items():
            falls.setdefault((stem, int(line), error), []).append(f"seed {seed} {cpu}")
    return falls


def little_room(results):
    """[(room, stem, "claim: comparison with its spread")] of what varies, held everywhere, and has little room."""
    rooms = {}
    for (stem, _, _), run in results.items():
        for key, (_, _, room) in run["compared"].items():
            rooms.setdefault((stem, key), []).append(room)
    narrow = []
    for (stem, key), values in rooms.items():
        spread = statistics.pstdev(values)
        if spread > 1e-9 and min(values) >= 0 and statistics.mean(values) < NARROW * spread:
            narrow += [(statistics.mean(values) / spread, stem, _spread(results, stem, key))]
    return sorted(narrow)


def spreads(results, stem, name):
    """One text for each comparison of a claim: what stood on its two sides, from the smallest to the largest."""
    keys = {key for variant, run in results.items() if variant[0] == stem for key in run["compared"]}
    return [_spread(results, stem, key) for key in sorted(keys) if key.startswith(name + ": ")]


def _spread(results, stem, key):
    seen = [run["compared"][key] for variant, run in results.items() if variant[0] == stem and key in run["compared"]]
    left, right, _ = zip(*seen, strict=True)
    return f"{key}: {_range(left)} against {_range(right)}".replace("|", "\\|")


def _range(values):
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} … {high}"


def _all(variants, at_once):
    """(variant, what its run said), as they come."""
    with ThreadPoolExecutor(at_once) as pool:
        waiting = {pool.submit(run_one, *variant): variant for variant in variants}
        for done in tqdm(as_completed(waiting), total=len(waiting), unit="run", mininterval=5):
            yield waiting[done], done.result()


def run_one(stem, seed, cpu, results=None):
    """What one process says; one that dies has said nothing, and that is noted at line 1.

    results: the folder from which it reads what is stored; None for the course's own
    """
    environment = os.environ | {"MPLBACKEND": "agg"} | dict(zip(SETTINGS, CPUS[cpu], strict=False))
    done = subprocess.run([sys.executable, "-m", "course_lib.staff.seeds.one", stem, str(STEP * seed),
                           *filter(None, [results])],
                          env=environment, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"claims": {}, "compared": {}, "raised": {"1": f"the run died: {last}"}, "seconds": 0.0}


def _refusal(options, stems, can):
    """What cannot be run, in one line; nothing where all of it can."""
    if unknown := sorted(set(options.lessons) - set(stems)):
        return f"there is no lesson {', '.join(unknown)}: the lessons are {min(stems)} to {max(stems)}"
    if options.seeds < 1:
        return f"--seeds {options.seeds}: at least 1, the lessons' own"
    if unknown := sorted(set(options.cpus) - set(can)):
        return f"--cpus {','.join(unknown)}: this processor can be {', '.join(can)}"
    return ""


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.seeds", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", metavar="NN", help="such as 04; all lessons without one")
    parser.add_argument("--seeds", type=int, default=5, metavar="K", help="how many, with the lessons' own (5)")
    parser.add_argument("--cpus", type=lambda text: text.split(","), default=[], metavar="A,B",
                        help=f"of {', '.join(CPUS)} (all but here that this processor can imitate)")
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), metavar="N", help="processes at a time")
    parser.add_argument("--save", metavar="FILE", help="add what each run said, a line of JSON each")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
