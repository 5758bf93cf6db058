"""Real weights that are fetched if the learner says so: asked once, with two buttons, and remembered."""

from html import escape

from course_lib.data.assets import ASSETS, Missing, fetch
from course_lib.display.live import somebody_is_looking
from course_lib.upkeep import remembered

FILE = "fetching.json"  # {name: was it to be fetched?}


def offer(name, again=False):
    """The path of real weights, or None where they are not here; who has never said whether to fetch them is asked.

    name:  one of ASSETS
    again: forget what was said before, and ask
    raises: Missing, in one sentence, where there is no asset of this name

    In an open notebook two buttons ask, once; what was said is remembered beside the notebook. Elsewhere nobody is
    asked, and nothing is fetched.
    """
    if name not in ASSETS:
        raise Missing(f"there is no asset {name!r}; there are {', '.join(ASSETS)}")
    said = {} if again else remembered.read(FILE, lambda value: isinstance(value, bool))
    try:
        path = fetch(name, download=said.get(name, False))
    except Missing as missing:
        _explain(name, said.get(name), missing)
        return None
    print(f"{name} is here.")
    return path


def _explain(name, said, missing):
    """Why there are no weights, and what to do; or the question."""
    megabytes = ASSETS[name].megabytes
    if said:
        print(f"{name} was to be fetched: {missing}. The lesson goes on without it.")
    elif said is None and somebody_is_looking() and _asked(name, megabytes):
        return
    else:
        print(f"{name} is not here, and the lesson goes on without it. "
              f"`data.fetch({name!r})` in a cell fetches it, once, {megabytes:.0f} MB.")


def _asked(name, megabytes):
    """Show the question; False where no widget can be shown."""
    try:
        import ipywidgets
    except ImportError:
        return False
    from IPython.display import display

    print(f"{name} is not here, and the lesson goes on without it. Two buttons ask whether to fetch it.")
    says = ipywidgets.HTML(f"<strong>Fetch {name}, once, {megabytes:.0f} MB?</strong>")
    yes, no = (ipywidgets.Button(description=words, layout={"width": "auto"}) for words in ("Fetch it", "Not now"))

    def answered(button):
        yes.disabled = no.disabled = True
        known = remembered.read(FILE, lambda value: isinstance(value, bool))
        remembered.write(FILE, known | {name: button is yes})
        if button is no:
            says.value = f"As you like. <code>data.offer({name!r}, again=True)</code> asks again."
            return
        says.value = f"Fetching {megabytes:.0f} MB …"
        try:
            fetch(name)
        except Missing as missing:
            says.value = f"It did not work: {escape(str(missing))}."
        else:
            says.value = f"{name} is here. Run the lesson from this cell on once more."

    for button in (yes, no):
        button.on_click(answered)
    display(ipywidgets.VBox([says, ipywidgets.HBox([yes, no])]))
    return True
