"""Does every link of a built site lead somewhere? Links to other sites are listed, and not followed."""

from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit


class _Page(HTMLParser):
    """The links and anchors of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("href", "src") and value and not (tag == "use" or value.startswith("data:")):
                self.links.add(value)
            elif key in ("id", "name") and value:
                self.anchors.add(value)


def _read(folder):
    return {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def broken(folder):
    """One sentence for each link of a built site that leads nowhere."""
    lines, pages = [], _read(folder)
    for path, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if not (url.scheme or url.netloc) and not _arrives(url, path, pages):
                lines.append(f"{path.relative_to(folder).as_posix()}: its link to {link} leads nowhere")
    return lines


def _arrives(url, path, pages):
    target = (path.parent / unquote(url.path)).resolve() if url.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    return not url.fragment or target not in pages or unquote(url.fragment) in pages[target].anchors


def external(folder):
    """Every address outside a built site, with a page that links to it."""
    found = {}
    for path, page in _read(folder).items():
        for link in page.links:
            if urlsplit(link).scheme in ("http", "https"):
                found.setdefault(urldefrag(link).url, set()).add(path.relative_to(folder).as_posix())
    return [f"{link}  ({min(pages)}{f' and {len(pages) - 1} more' * (len(pages) > 1)})"
            for link, pages in sorted(found.items())]
