"""Stored results: as they were measured or not at all, made anew without starting over, and compared with today."""

import re
import types
from statistics import median

import pytest
import torch

from course_lib.experiments import scaling, slopes, stored, tables
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.tables import ResultsError
from course_lib.staff.lesson_text import ROOT, lesson_stems, read_lesson

CALLS = []


def measure(kind, seed):
    """Counts its calls; the third of a first run is where somebody stops it."""
    CALLS.append((kind, seed))
    if len(CALLS) == 3:
        raise KeyboardInterrupt
    return {"right": seed / 3, "steps": 10 * seed}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """An experiment of four points in a folder of its own."""
    CALLS.clear()
    points = grid(kind=["a b"], seed=[1, 2]) + grid(seed=[1, 2], kind=["ä"])
    plan = Plan("a toy", 2, points, measure, {"right": 0.1}, tuple(grid(kind=["ä", "a b"], seed=[1])))
    module = types.SimpleNamespace(PLANS={"00-toy": plan})
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    monkeypatch.setattr(stored, "MODULES", {"00-toy": "toy"})
    monkeypatch.setattr(stored.importlib, "import_module", lambda name: module)
    return tmp_path / "00-toy.tsv"


@pytest.fixture
def made(toy):
    CALLS.extend([None] * 3)
    stored.make("00-toy")
    CALLS.clear()
    return toy


def refused(name="00-toy"):
    """The sentence with which results are refused."""
    with pytest.raises(ResultsError) as caught:
        stored.stored(name)
    said = str(caught.value)
    assert "\n" not in said and len(said) < 300
    return said


def test_every_file_holds_the_points_of_its_plan_in_their_order():
    """A plan that was changed after its file was made, and a lesson that looks for points which are not there."""
    for name in stored.MODULES:
        plan, rows = stored.plan_of(name), stored.stored(name)
        assert [{what: row[what] for what in plan.points[0]} for row in rows] == plan.points
        assert all(side in plan.points for side in plan.sides) and set(plan.near) <= set(rows[0])
        head = tables.read(tables.FOLDER / f"{name}.tsv")[0]
        assert head["made by"].endswith(f"stored {name}") and "torch" in head["with"] and "minutes" in head["took"]


def test_numbers_are_numbers(made):
    """Texts that a lesson cannot add up, or a seed 1.0 that no point has."""
    assert stored.stored("00-toy")[2] == {"kind": "ä", "seed": 1, "right": 0.3333, "steps": 10}


def test_line_ends_of_another_system_change_nothing(made):
    """A checkout on Windows, where no file would be as it was written."""
    before = stored.stored("00-toy")
    made.write_bytes(made.read_bytes().replace(b"\n", b"\r\n"))
    assert stored.stored("00-toy") == before


def test_an_unknown_name_is_refused_with_those_there_are():
    """A KeyError, or the path of a file that nobody knows."""
    assert "'04-scalling'" in refused("04-scalling") and "04-scaling" in refused("04-scalling")


@pytest.mark.parametrize("damage", [
    lambda content: content.replace(b"0.3333", b"0.9333", 1), lambda content: content[:-4],
    lambda content: content.replace(b"checksum", b"chekcsum"), lambda content: b"",
    lambda content: b"\xff\xfe" + content])
def test_a_damaged_file_is_refused(made, damage):
    """A number that somebody mended by hand, half a file, no head, no file, no text."""
    made.write_bytes(damage(made.read_bytes()))
    assert "stored 00-toy` makes it" in refused()


def test_a_missing_file_is_refused(toy):
    """A traceback of the operating system."""
    assert "cannot be read" in refused()


def test_a_stopped_run_goes_on_where_it_was(toy, capsys):
    """Hours that are lost, or a file that lacks points."""
    with pytest.raises(KeyboardInterrupt):
        stored.make("00-toy")
    part = toy.with_suffix(".part")
    part.write_text(part.read_text(encoding="utf-8") + '["{\\"kind', encoding="utf-8")  # stopped while it wrote
    stored.make("00-toy")
    assert CALLS == [("a b", 1), ("a b", 2), ("ä", 1), ("ä", 1), ("ä", 2)]
    assert len(stored.stored("00-toy")) == 4 and not part.exists()
    assert "4 of 4 points to go, about 2 min on" in (said := capsys.readouterr().out)
    assert "2 of 4 points to go, about 1 min on" in said


def test_what_no_longer_comes_out_is_told(made, monkeypatch, capsys):
    """A comparison that cannot fail, one that runs one side alone, and one that fails for a digit."""
    plan = stored.plan_of("00-toy")
    CALLS.extend([None] * 3)
    assert stored.main(["--compare"]) == 0 and stored.main(["--compare", "--all"]) == 0
    for kind in ("ä", "a b"):
        for by, status in ((0.32, 0), (0.34, 1)):  # the two seeds are 1/3 apart
            other = plan._replace(
                measure=lambda kind, seed, by=by, off=kind: {"right": seed / 3 + by * (kind == off), "steps": 1})
            monkeypatch.setattr(stored, "plan_of", lambda name, other=other: other)
            assert stored.main(["--compare"]) == stored.main(["00-toy", "--compare", "--all"]) == status
    assert "right was 0.3333 and is 0.6733, which is more than 0.33 apart" in capsys.readouterr().out
    assert stored.main(["99-none", "--compare"]) == 2 and "99-none" in capsys.readouterr().err


def test_a_second_run_may_be_off_by_what_the_seeds_differ_and_no_more(made):
    """A tolerance of a factor of 3, under which another experiment comes out alike."""
    plan, rows = stored.plan_of("00-toy"), stored.stored("00-toy")
    assert stored.room_of(plan, rows, plan.sides[0], "right") == pytest.approx(1 / 3, abs=1e-3)
    alike = [row | {"right": 0.5} for row in rows]
    assert stored.room_of(plan, alike, plan.sides[0], "right") == 0.1, "where no seed differs, the resolution"


def test_the_two_sides_of_each_comparison_are_told_apart_by_more_than_a_second_run_may_be_off():
    """A live link that comes out alike whichever side is run."""
    for name in stored.MODULES:
        plan, rows = stored.plan_of(name), stored.stored(name)
        sides = [stored.row_of(rows, side) for side in plan.sides]
        if len(sides) == 1:
            assert len(plan.near) > 1, name
            continue
        room = {what: max(stored.room_of(plan, rows, side, what) for side in plan.sides) for what in plan.near}
        apart = [what for what in plan.near if abs(sides[0][what] - sides[1][what]) > room[what]]
        assert bool(apart) == plan.apart, (name, apart)


@pytest.mark.parametrize("name", ["04-scaling", "04-scorers"])
def test_a_point_comes_out_again(name):
    """Results that no code makes any more."""
    torch.set_num_threads(1)
    assert stored.compare(name) == []


@pytest.mark.parametrize("width", [16, 64])
def test_the_scale_is_a_start_and_a_step_size(width):
    """With gradient descent, version 1 gives version 2's numbers if W starts √d times smaller and the rate is r / d."""
    small, scaled = (scaling.train(version, "gradient descent", width, rate, seed=3, steps=20)
                     for version, rate in ((scaling.VERSIONS[1], 10 / width), ("version 2", 10)))
    assert small["error"] == pytest.approx(scaled["error"], rel=1e-6)


def test_the_product_of_slopes_is_the_gradient_through_all_steps():
    """Factors in the wrong order, or a step left out."""
    torch.manual_seed(0)
    cell = torch.nn.RNNCell(8, 32)
    xs = torch.randn(5, 8)

    def last(state):
        for x in xs:
            state = cell(x, state)
        return state

    whole = torch.autograd.functional.jacobian(last, torch.zeros(32))
    factor = torch.linalg.matrix_norm(whole, 2).item()
    assert slopes.over_time("tanh", 0, steps=5)[-1] == pytest.approx(factor, rel=1e-4)


def named(stem, kinds=("code", "markdown")):
    """The text of a lesson's cells and of the drawings that it imports."""
    cells = [cell.source for cell in read_lesson(stem).cells if cell.kind in kinds]
    imports = re.compile(r"from course_lib\.display\.drawings import (\w+)")
    drawings = {found for cell in cells for found in imports.findall(cell)}
    files = [ROOT / "course_lib" / "display" / "drawings" / f"{name}.py" for name in drawings]
    return "\n".join(cells + [file.read_text(encoding="utf-8") for file in files if file.exists()])


@pytest.mark.parametrize("stem", [stem for stem in lesson_stems() if any(
    cell.source.startswith("# The proof") for cell in read_lesson(stem).cells)])
def test_every_row_of_a_stored_file_is_drawn_or_named_and_the_strongest_is_drawn(stem):
    """Two contrary controls in a file, and in no figure; or the rival that wins, in the text alone."""
    sittings = [sitting for sitting in lesson_stems() if sitting[:2] == stem[:2]]
    text, code = ("\n".join(named(sitting, kinds) for sitting in sittings)
                  for kinds in (("code", "markdown"), ("code",)))
    for name in re.findall(r'stored\("([\w-]+)"\)', named(stem)):
        plan, rows = stored.plan_of(name), stored.stored(name)
        words = [column for column, value in plan.points[0].items() if isinstance(value, str)]
        for column in words:
            values = dict.fromkeys(row[column] for row in rows)
            assert not [value for value in values if value not in text], (name, column)
            for measured in plan.near:
                best = min if re.search("error|wrong|loss", measured) else max
                strongest = best(values, key=lambda value, column=column, measured=measured: median(
                    row[measured] for row in rows if row[column] == value))
                assert strongest in code, (name, strongest)
