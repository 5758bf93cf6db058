"""The picture of the primer: what is computed goes to the right, and slopes come back."""

from course_lib.display import style
from course_lib.display.diagrams import Sheet


def backward():
    """w² + 2w at w = 3: the numbers forward, and the gradient backward."""
    sheet = Sheet(760, 230)
    w, square, double, total = (sheet.box(*at) for at in (
        (70, 105, 60, 44, "w"), (290, 50, 110, 44, "w²"), (290, 160, 110, 44, "2 w"), (500, 105, 70, 44, "+")))
    for middle, up, number in ((square, -14, "9"), (double, 14, "6")):
        for start, end, passes, right in ((w, middle, "3", -14), (middle, total, number, 8)):
            sheet.arrow((start.right, start.y), (end.left, end.y))
            sheet.text((start.right + end.left) / 2 + right, (start.y + end.y) / 2 + up, passes)
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
