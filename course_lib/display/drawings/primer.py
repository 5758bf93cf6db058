"""The picture of the primer: what is computed goes to the right, and slopes come back."""

from course_lib.display import style
from course_lib.display.diagrams import Sheet


def backward():
    """w² + 2w at w = 3: the numbers forward, and the gradient backward."""
    sheet = Sheet(760, 230)
    w, square, double, total = (sheet.box(*at) for at in (
        (70, 105, 60, 44, "w"), (290, 50, 110, 44, "w²"), (290, 160, 110, 44, "2 w"), (500, 105, 70, 44, "+")))
    for to, name in ((square, "3"), (double, "3")):
        sheet.arrow((w.right, w.y), (to.left, to.y), name="")
        sheet.text((w.right + to.left) / 2 - 14, (w.y + to.y) / 2 - 14 * (1 if to is square else -1), name)
    for of, name in ((square, "9"), (double, "6")):
        sheet.arrow((of.right, of.y), (total.left, total.y))
        sheet.text((of.right + total.left) / 2 + 8, (of.y + total.y) / 2 - 14 * (1 if of is square else -1), name)
    sheet.arrow((total.right, total.y), (640, total.y))
    sheet.text(655, total.y, "15", bold=True, anchor="start")
    sheet.text(290, 16, "slope 2 w = 6", 13, style.ACCENT, bold=True)
    sheet.text(290, 196, "slope 2", 13, style.ACCENT, bold=True)
    sheet.text(500, 68, "slope 1", 13, style.ACCENT, bold=True)
    sheet.arrow((655, 216), (60, 216), colour=style.ACCENT)
    sheet.text(70, 150, "gradient", 13, style.ACCENT, bold=True)
    sheet.text(70, 168, "6 + 2 = 8", 13, style.ACCENT, bold=True)
    sheet.text(700, 198, "backward", 13, style.ACCENT)
    return sheet.svg()
