"""The command; see the package."""

from course_lib.staff.grade import origin

if __name__ == "__main__":
    origin.begin()
