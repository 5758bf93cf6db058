"""Real data and trained weights: extras that are fetched once, or a clear sentence where they cannot be had."""

from course_lib.data.assets import Missing, fetch
from course_lib.data.film_reviews import imdb, reviews
from course_lib.data.offered import offer

__all__ = ["Missing", "fetch", "imdb", "offer", "reviews"]
