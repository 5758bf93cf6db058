"""The measurement of speed: that like is compared with like. How fast anything is, no test says."""

import json
import math
import time

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import MultiHeadAttention
from course_lib.language_model import LongLanguageModel
from course_lib.staff.bench import __main__ as bench
from course_lib.staff.bench import account, budgets
from course_lib.staff.bench import contenders as who
from course_lib.staff.bench.matmuls import PRODUCTS, Bare, Factors, flops, with_backward
from course_lib.staff.bench.measure import medians, operations, peak_bytes, ratio, rounds
from course_lib.staff.lesson_text import lesson_stems, number_of
from course_lib.transformer import LongTransformer

CPU = torch.device("cpu")
SMALL = who.Size(d_model=32, num_heads=4, d_ff=48, num_layers=2, vocab=40, patch=4, classes=10)
EXTRAS = [name for name in who.EXTRAS if name not in who.absent()]


def counted(call):
    """The operations of all matrix products that torch runs."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        call()
    return counter.get_total_flops()


def found(kind, extras=(), dtype=torch.float64):
    return who.contenders(kind, SMALL, 2, 17, CPU, dtype, extras)


def plain(kind):
    """Whose products are counted: the course's; LongTransformer has wider heads, for what is padding."""
    return who.TEXTBOOK if kind == "transformer" else who.OURS


@pytest.mark.parametrize("kind", who.KINDS)
def test_the_bare_products_have_the_operations_of_the_model(kind):
    """A projection forgotten or counted twice: a model that looks slower, or faster, than its products."""
    products = PRODUCTS[kind](SMALL, 2, 17)
    contenders = found(kind)
    assert flops(products) == counted(contenders[who.BARE].forward) == counted(contenders[plain(kind)].forward)


@pytest.mark.parametrize("kind", ["attention", "mha", "encoder", "lm", "transformer"])
def test_backwards_there_are_three_for_each_product(kind):
    """A backward pass that is compared with a forward one."""
    products = PRODUCTS[kind](SMALL, 2, 17)
    contenders = found(kind)
    assert flops(with_backward(products)) == 3 * flops(products) == counted(contenders[who.BARE].forward_and_backward)
    assert 3 * flops(products) == counted(contenders[plain(kind)].forward_and_backward)


def test_a_bare_product_has_its_shape():
    """Factors the wrong way round."""
    assert Bare([(3, 4, 5, 6)], Factors(CPU, torch.float32))().shape == (3, 4, 6)


@pytest.mark.parametrize("kind", who.KINDS)
def test_contenders_compute_the_same(kind):
    """Weights under wrong names, a norm elsewhere, a mask that one of them does not have."""
    contenders = found(kind, EXTRAS)
    assert {who.OURS, "torch.nn", who.BARE} <= set(contenders)
    who.compare(contenders, torch.float64)


@pytest.mark.parametrize("kind", who.KINDS)
def test_what_is_compiled_is_timed_after_it_was_compared(kind):
    """A compiled model that is another one, or that nobody compiled."""
    compiled = []

    def compiler(graph, inputs):
        compiled.append(graph)
        return graph.forward

    contenders = who.contenders(kind, SMALL, 2, 17, CPU, torch.float64, (), compiler)
    who.compare(contenders, torch.float64)
    contenders[who.COMPILED].forward_and_backward()
    assert len(compiled) >= 2  # without gradients, and with


def test_one_that_cannot_be_compiled_is_left_out():
    """A machine without a C++ compiler: a traceback in the middle of a measurement."""
    def compiler(graph, inputs):
        raise OSError("no g++")

    contenders = who.contenders("mha", SMALL, 2, 17, CPU, torch.float64, (), compiler)
    fits, left_out = bench.fitting(contenders, CPU)
    assert who.OURS in fits and who.COMPILED not in fits and "no g++" in left_out[who.COMPILED]


def no_room(*_):
    raise torch.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize("place, name", [((Factors, "__missing__"), who.BARE),
                                         ((who.TextbookMHA, "forward"), who.TEXTBOOK)])
def test_what_does_not_fit_is_left_out_alone(place, name, monkeypatch, capsys):
    """A whole length without numbers, since one of its contenders keeps every score."""
    monkeypatch.setattr(*place, no_room)
    arguments = ["--quick", "--only", "mha", "--lengths", "16", "--no-extras", "--seconds", "0", "--profile"]
    assert bench.main(arguments) == 0
    out, err = capsys.readouterr()
    assert f"mha, T = 16: {name} is left out, it needs more memory than there is" in err
    assert f"| {name} |" not in out and f"| {who.OURS} |" in out and "| torch.nn |" in out


def test_where_the_course_does_not_fit_it_is_said(monkeypatch, capsys):
    """Numbers of others alone, or a traceback; or targets that are met where nothing was measured."""
    monkeypatch.setattr(MultiHeadAttention, "forward", no_room)
    monkeypatch.setattr(bench.who, "Size", lambda: SMALL)
    assert bench.main(["--only", "mha", "--lengths", "16", "--no-extras", "--seconds", "0"]) == 0
    out, err = capsys.readouterr()
    assert "mha, T = 16: left out, course_lib needs more memory than there is" in err
    assert "Nothing was compared, so no target is met or missed." in out and "All" not in out


@pytest.mark.parametrize("kind", who.KINDS)
def test_a_contender_that_computes_something_else_is_refused(kind):
    """A comparison that lets everything pass."""
    contenders = found(kind)
    right = contenders["torch.nn"].run
    contenders["torch.nn"].run = lambda: right() * 1.001
    with pytest.raises(who.Different, match="torch.nn does not compute what course_lib computes"):
        who.compare(contenders, torch.float64)
    contenders["torch.nn"].run = lambda: right()[:1]
    with pytest.raises(who.Different, match="torch.nn"):
        who.compare(contenders, torch.float64)


def test_one_that_is_different_in_training_only_is_refused():
    """A dropout left on: another network is timed than was compared."""
    contenders = found("encoder")
    contenders["torch.nn"].module.dropout1.p = 0.5
    with pytest.raises(who.Different, match="torch.nn"):
        who.compare(contenders, torch.float64)


def test_memory_is_the_peak_and_not_the_sum():
    """What was given back in between is counted, or what was there before."""
    before = torch.ones(1000, 1000)

    def call():
        first = before + 1  # 4 MB
        del first
        second = before + 2  # 4 MB
        return second + before  # 4 MB, while the second is still there

    assert 8_000_000 <= peak_bytes(call, CPU) < 8_100_000


def growth(call_at, T):
    """How many times as much memory the double length takes."""
    with torch.no_grad():
        one, two = (peak_bytes(lambda n=n: call_at(n), CPU) for n in (T, 2 * T))
    return two / one


def test_memory_grows_with_the_length_where_nobody_asks_for_weights():
    """A matrix of T by T that somebody keeps: twice the length takes four times the memory."""
    torch.manual_seed(0)
    language, translator = LongLanguageModel(40, 32, 4, 64, 1), LongTransformer(40, 40, 32, 4, 64, 1)
    attention, textbook = MultiHeadAttention(32, 4), who.TextbookMHA(32, 4)
    vectors = {n: torch.randn(1, n, 32) for n in (2048, 4096)}
    ids = {n: torch.arange(n)[None] % 40 for n in vectors}  # 0 is padding, and stands everywhere
    for n in ids:
        language(ids[n]), translator(ids[n], ids[n])  # what is kept from call to call is kept
    assert growth(lambda n: attention(vectors[n], vectors[n], vectors[n]), 2048) < 2.5
    assert growth(lambda n: language(ids[n]), 2048) < 2.5
    assert growth(lambda n: translator(ids[n], ids[n]), 2048) < 2.5
    assert growth(lambda n: textbook(vectors[n]), 2048) > 3.5


def test_everybody_is_called_as_often_and_in_turn():
    """One contender that is measured while the machine is quiet, and another while it is not."""
    called = []
    taken = rounds({name: lambda name=name: called.append(name) for name in "abc"}, CPU, 5, 0)
    assert set(taken) == set("abc") and all(seconds > 0 for times in taken.values() for seconds in times)
    assert medians({"a": [3, 1, 2]}) == {"a": 2}
    order = [called[i : i + 3] for i in range(0, len(called), 3)]
    assert len(order) == 6 and all(sorted(one) == list("abc") for one in order)
    assert len({tuple(one) for one in order[1:]}) > 1


@pytest.mark.parametrize("n", [8, 20, 300])
def test_the_interval_of_a_ratio_holds_what_many_rounds_would_give(n):
    """An interval so narrow that chance alone misses a target, or so wide that nothing ever does."""
    torch.manual_seed(n)
    held = 0
    for theirs in torch.empty(1000, n).exponential_().add(1).tolist():  # the busy machine is never too quick
        low, _, high = ratio([1.5 * t if i % 2 else 1.3 * t for i, t in enumerate(theirs)], theirs)
        assert 1.29 < low and high < 1.51
        low, _, high = ratio(theirs, [1.0] * n)
        held += low <= 1 + math.log(2) <= high
    assert 970 <= held < 1000


def test_on_one_thread_what_others_do_meanwhile_is_not_counted():
    """A ratio that says how busy a shared machine was."""
    threads = torch.get_num_threads()
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            assert (rounds({"a": lambda: time.sleep(0.05)}, CPU, 1, 0)["a"][0] < 0.05) == (n == 1)
    finally:
        torch.set_num_threads(threads)


def test_the_table_has_a_row_for_each_and_the_json_holds_the_numbers(tmp_path, capsys):
    """A contender that is lost on the way to the table."""
    files = tmp_path / "r.json", tmp_path / "r.png"
    assert bench.main(["--quick", "--only", "mha,vit", "--no-extras", "--threads", "1", "--seconds", "0",
                       "--rounds", "1", "--json", str(files[0]), "--plot", str(files[1])]) == 0
    report = json.loads(files[0].read_text())
    out = capsys.readouterr().out
    expected = {("mha", T, name) for T in (16, 64) for name in (who.OURS, who.TEXTBOOK, "torch.nn", who.BARE)}
    expected |= {("vit", T, name) for T in (17, 65) for name in (who.OURS, "torch.nn", who.BARE)}
    assert {(r["kind"], r["T"], r["contender"]) for r in report["rows"]} == expected
    assert all(f"| {kind} | {T} | 1 | {name} |" in out for kind, T, name in expected)
    assert all(r[f"{c}, seconds"] > 0 for r in report["rows"] for c in bench.COLUMNS)
    assert files[1].read_bytes().startswith(b"\x89PNG")


def row(contender, seconds, times=1.0, spread=0.01, kind="mha", T=512):
    numbers = {"seconds": seconds, "bytes": 1, "flops per second": 1,
               "course_lib takes times": (times - spread, times, times + spread)}
    return {"kind": kind, "T": T, "B": 1, "contender": contender} | {
        f"{column}, {what}": value for column in bench.COLUMNS for what, value in numbers.items()}


def test_a_target_that_is_missed_is_said():
    """A summary that is always content, or one that takes chance for slowness."""
    def said(times, spread=0.01, **other):
        return bench.verdict({"rows": [row(who.OURS, 1.0, **other), row("slow", 9.0, 0.1, **other),
                                       row("torch.nn", 1.0, times, spread, **other),
                                       row("x" + who.OTHER, 0.1, 10.0, **other), row(who.COMPILED, 0.1, 10.0, **other),
                                       row(who.BARE, 0.1, 10.0, **other)]})

    assert said(0.9) == said(1.005) == said(1.04, kind="lm") == "All 2 targets are met."
    assert said(1.02).splitlines()[0] == ("missed: mha, T = 512, forward: 1.02 (1.01 to 1.03) times torch.nn, "
                                          "at most 1.00")
    assert said(1.02).count("missed") == said(1.07, kind="lm").count("at most 1.05") == 2
    assert said(1.3, 0.2).count("missed") == said(1.0, 0.06).count("not told") == 2
    assert "--seconds" in said(1.0, 0.06) and "All" not in said(1.0, 0.06)


@pytest.mark.parametrize("rows", [[], [row(who.OURS, 1.0)], [row(who.OURS, 1.0), row(who.COMPILED, 0.5),
                                                              row(who.BARE, 1.0)], [row("torch.nn", 1.0)]])
def test_where_nothing_was_compared_no_target_is_met(rows):
    """"All targets are met." below an empty table."""
    assert bench.verdict({"rows": rows}) == "Nothing was compared, so no target is met or missed."


def test_the_ratios_are_to_the_fastest_other_and_to_the_bare_products():
    """A ratio to ourselves, or to a model that computes something else."""
    rows = [row(who.OURS, 2.0), row("slow", 4.0, 0.5), row("torch.nn", 1.0, 2.0), row(who.BARE, 0.8, 2.5),
            row("x" + who.OTHER, 0.1, 20.0), row(who.TEXTBOOK, 0.1, 20.0)]
    assert bench.ratios({"rows": rows}).count("| 2000.00 | 2.00 (1.99 to 2.01) torch.nn | 2.50 |") == 2
    assert bench.ratios({"rows": [rows[0], rows[3], rows[4]]}).count("| 2000.00 | no other fits | 2.50 |") == 2
    assert bench.ratios({"rows": [rows[0], rows[2]]}).count("torch.nn | do not fit |") == 2


def test_a_profile_says_what_was_run(capsys):
    """Time that is nobody's, or that is counted for what calls and for what is called."""
    a = torch.randn(1000, 1000)
    spent = operations(lambda: (a @ a).relu(), CPU)
    assert {"aten::mm", "aten::relu", "aten::clamp_min"} <= set(spent) and max(spent, key=spent.get) == "aten::mm"
    assert spent["aten::mm"] > 4 * spent["aten::matmul"]  # which calls it
    assert bench.main(["--quick", "--only", "mha", "--no-extras", "--seconds", "0", "--rounds", "1", "--profile"]) == 0
    said = capsys.readouterr().out
    assert "| mha, T = 64, forward, ms | course_lib | bare matmuls |" in said
    assert "_scaled_dot_product" in said and "| aten::bmm | 0.00 |" in said


@pytest.mark.parametrize("arguments, says", [
    (["--only", "mha,gru"], "gru: choose from attention,mha"), (["--lengths", "0"], "lengths are numbers from 2 on"),
    (["--threads", "0"], "--threads is at least 1")])
def test_a_wrong_argument_is_told_in_a_sentence(arguments, says, capsys):
    """A KeyError in the middle of a measurement."""
    with pytest.raises(SystemExit):
        bench.main(arguments)
    assert says in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_it_is_said(capsys):
    """A traceback of torch."""
    assert bench.main(["--device", "cuda", "--quick"]) == 1
    assert "--device cpu" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    """A measurement that is lost in a traceback."""
    assert bench.main(["--quick", "--only", "attention", "--no-extras", "--seconds", "0", "--rounds", "1",
                       "--json", str(tmp_path / "no" / "r.json")]) == 1
    assert "r.json cannot be written: No such file or directory" in capsys.readouterr().err


# ---- the account


def test_the_account_leaves_no_product_out():
    """A kernel beside half of its products: a limit that is none."""
    parts, bare = account.parts(SMALL, 17), flops(PRODUCTS["mha"](SMALL, 1, 17))
    assert sum(times * flops(p) for (_, backward), (times, _, p) in parts.items() if not backward) == bare
    assert sum(times * flops(p) for times, _, p in parts.values()) == 3 * bare
    for (name, backward), (_, call, products) in parts.items():
        if not (backward and "attention" in name):  # whose graph is the fused kernel's
            assert counted(call) == flops(products), name


def test_the_sums_of_the_account_are_sums():
    """A backward pass that is left out of the sum, or counted into the forward one."""
    lines = account.account(SMALL, 64, 0).splitlines()[2:]
    table = [[cell.strip() for cell in text.split("|")[1:-1]] for text in lines]
    ms = {name: float(kernel) for name, _, kernel, *_ in table}
    forward, backward = [cells[0] for cells in table[:2]], [cells[0] for cells in table[2:6]]
    assert ms["sum, forward"] == pytest.approx(sum(ms[name] for name in forward), abs=0.02)
    assert ms["sum, forward and backward"] == pytest.approx(sum(ms[name] for name in forward + backward), abs=0.04)
    assert all(ms[f"MultiHeadAttention at once, {column}"] > 0 for column in bench.COLUMNS)


def test_a_wrong_length_is_told_in_a_sentence(capsys):
    """A division by zero after the measurement."""
    with pytest.raises(SystemExit):
        account.main(["--length", "0"])
    assert "are at least 1" in capsys.readouterr().err


# ---- budgets


def test_every_lesson_has_a_budget_and_together_they_take_a_quarter_of_an_hour():
    """A lesson that nobody gave a budget."""
    assert sorted(budgets.SECONDS) == [number_of(stem) for stem in lesson_stems()]
    assert sum(budgets.SECONDS.values()) <= 15 * 60


def test_a_budget_that_is_overdrawn_ends_in_1(monkeypatch, capsys):
    """A table that shows a lesson too slow, and a command that is content."""
    spent = {"import_seconds": lambda: 0.1, "processor_seconds": lambda stem: 1.0, "opening_seconds": lambda stem: 1.0,
             "check_seconds": lambda number: [("reweight", 0.1)]}
    for name, measured in spent.items():
        monkeypatch.setattr(budgets, name, measured)
    assert budgets.main(["--lessons", "02"]) == 0
    assert "Nothing takes too long." in capsys.readouterr().out
    monkeypatch.setattr(budgets, "check_seconds", lambda number: [("reweight", 0.31)])
    assert budgets.main(["--lessons", "02"]) == 1
    out = capsys.readouterr().out
    assert "check of `reweight` | 0.3 | 0.31 | ✗ too long |" in out and "1 of 4 take too long." in out


def test_checks_are_really_run(monkeypatch):
    """A number that was written down and not measured."""
    monkeypatch.setattr("course_lib.checks.engine.judging.judge", lambda *_: time.sleep(0.05))
    assert [name for name, seconds in budgets.check_seconds("02") if seconds >= 0.05] == ["reweight"]


def test_a_lesson_that_is_not_there_is_told(capsys):
    """A table of nothing."""
    assert budgets.main(["--lessons", "99"]) == 1
    assert "there is no lesson 99" in capsys.readouterr().err
