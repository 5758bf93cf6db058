"""What the theme's HTML lacks for those who use a screen reader."""

import re

SWITCHES = re.compile(r'(?:<input type="checkbox" class="sidebar-toggle"[^>]*>\s*){2}')
NO_WORDS = re.compile(r'<th class="head([^"]*)">(?:<p></p>)?</th>')


def mended(html):
    """The body of a page: switches within a landmark, captions with a level, folds with the name that is seen, and no
    empty heading of a table.

    raises: ValueError where the theme has changed and has no such switches
    """
    html, found = SWITCHES.subn(r'<nav class="switches" aria-label="Menus">\g<0></nav>', html, count=1)
    if not found:
        raise ValueError("the theme's page.html has no two switches of its menus: mend site/mending.py")
    html = html.replace('role="heading">', 'role="heading" aria-level="2">')
    html = html.replace('<summary aria-label="Toggle hidden content">', "<summary>")  # its words are its name
    html = html.replace('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">')
    return NO_WORDS.sub(r'<td class="head\1"></td>', html)
