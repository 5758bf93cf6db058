"""Which version the library has, which one the notebook was built from, and a word where the two differ."""

VERSION = "0.1.0"
SOURCE = "https://github.com/transformers-from-version-0/course"  # where this version lies, as the tag v0.1.0
_of_the_notebook = VERSION


def built_from(version):
    """Note which version a notebook was built from, and print where it is another than the library's."""
    global _of_the_notebook
    _of_the_notebook = version
    if says := mismatch():
        print(says)


def mismatch():
    """One sentence where the notebook and the library are of different versions, else ""."""
    if _of_the_notebook == VERSION:
        return ""
    return (f"This notebook is from version {_of_the_notebook} of the course, and the library is {VERSION}: "
            "`python3 start.py update` brings both to the newest, and keeps your answers.")
