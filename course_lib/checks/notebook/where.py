"""Where in a learner's code it goes wrong, in words, with the lines themselves: nobody counts them."""

from html import escape

from course_lib.display import markup

WHERE = ("Where", "And where")
MOST = 6  # lines that are shown
SHORT = 40  # letters of an expression that a sentence can hold
REST = "With another value there, it gives the right result."
KEPT = "Run anew, it gives the right result here. What does it keep from one call to the next: a variable of the " \
       "notebook, the default of an argument, an attribute?"


def where_rows(located):
    """The rows (label, text) of some Locateds."""
    if located and not located[0].lines:
        return [(WHERE[0], KEPT)]
    one = REST if located and located[0].wrong else ""
    ends = [one] if len(located) == 1 else ["", "With other values in both places, it gives the right result."]
    return [(label, _words(one, end)) for label, one, end in zip(WHERE, located, ends, strict=False)]


def _words(located, end):
    width = len(str(max(located.lines)))
    indent = min(len(text) - len(text.lstrip()) for text in located.lines.values() if text.strip())
    code = [f"{n:>{width}}  {text[indent:]}" for n, text in located.lines.items() if text.strip()]
    if len(code) > MOST:
        code[MOST // 2 : -MOST // 2] = ["…"]
    sentence = f"{_sentence(located, 'line' if len(code) == 1 else 'lines')} {end}".strip()
    html = f"<code>{escape(chr(10).join(code))}</code>\n{markup.as_html(sentence)}"
    return markup.Both("\n".join([*code, sentence]), html)


def _sentence(located, lines):
    if not located.wrong:
        returned = f", {words}," if (words := _listed(located.inputs)) else ""
        return f"What is returned{returned} is right so far, but not yet what is asked for."
    wrong = f", `{located.wrong}`," if len(located.wrong) <= SHORT else ""
    if len(located.before) == 2:
        one, other = located.before
        return f"`{one}` and `{other}` are right, but each is needed in the place of the other."
    inputs = _listed(words for words in located.inputs if words != located.wrong)  # right the time before, in a loop
    if located.before:
        return (f"{_listed(located.before) or 'What goes in'} is right so far, but not what is needed next: is a step "
                f"missing, or one too many? What comes out{wrong} is not what the rest of your code needs.")
    good = f"What goes in, {inputs}, is right. " if inputs else ""
    return f"{good}What comes out of the {lines}{wrong} is not what the rest of your code needs."


def _listed(words):
    short = [f"`{w}`" for w in words if len(w) <= SHORT][:3]
    return f"{', '.join(short[:-1])} and {short[-1]}" if len(short) > 1 else "".join(short)
