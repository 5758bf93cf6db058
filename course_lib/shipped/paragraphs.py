"""Paragraphs of the lessons, and questions that each belong to one of them: something to search through."""

from course_lib.shipped.things import read


def paragraphs():
    """(texts, questions): [(lesson, paragraph)] of lessons 01 to 10, and [(question, its lesson)]."""
    texts = read("paragraphs")[1]
    return [tuple(pair) for pair in texts["paragraphs"]], [tuple(pair) for pair in texts["asked"]]
