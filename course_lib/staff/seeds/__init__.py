"""Do the lessons' claims hold for other seeds and on other processors? `python -m course_lib.staff.seeds` asks."""
