"""A page on this machine on which a person decides: all who answered alike together, points and words typed once.

    python -m course_lib.staff.grade hand -o ../report

It reads the report's own database and writes `overrides.csv` and `decisions.csv` beside it. It ends with Ctrl-C, and
then all tables and pages of the report are written again.
"""

import secrets
from collections import defaultdict
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from course_lib.staff.grade.decisions import REQUESTS, as_decided, decide
from course_lib.staff.grade.markup import called, code, columns, field, name_of, page, shown, tag, verdict_in_words
from course_lib.staff.grade.policy import PolicyError, by_id, everybody, requests
from course_lib.staff.grade.similar import but_for_names
from course_lib.staff.grade.tables import in_scope, number, rows

LONGEST = 1 << 20  # bytes of a form


@dataclass(frozen=True)
class Kind:
    """Answers to one exercise with one verdict and mistake: `alike` are lists of rows, the same code in each."""

    exercise: str
    verdict: str
    mistake: str
    alike: tuple

    @property
    def name(self):
        return f"{self.verdict} {self.mistake}".strip()

    @property
    def rows(self):
        return [row for group in self.alike for row in group]


class Desk:
    """What the page shows and takes, without the network."""

    def __init__(self, report, connection, settings):
        self.report, self.connection, self.settings = report, connection, settings
        self.by = ""  # who decides, as they have typed it last

    def kinds(self):
        """All Kinds, by exercise in the order of the course, the most frequent first; who handed nothing in is one."""
        found = defaultdict(list)
        for row in rows(self.connection, self.as_decided()):
            found[row.exercise, row.verdict, row.mistake].append(row)
        codes = {(student, exercise): source or "" for student, exercise, source in
                 self.connection.execute("SELECT student, exercise, code FROM verdict")}
        kinds = []
        for (exercise, verdict, mistake), of_kind in found.items():
            alike = defaultdict(list)
            for row in of_kind:
                alike[but_for_names(codes.get((row.student, exercise), ""))].append(row)
            kinds.append(Kind(exercise, verdict, mistake, tuple(sorted(alike.values(), key=len, reverse=True))))
        order = {exercise: i for i, exercise in enumerate(in_scope(self.connection))}
        return sorted(kinds, key=lambda kind: (order.get(kind.exercise, len(order)), -len(kind.rows), kind.name))

    def as_decided(self):
        """The Settings, with all that a person has decided so far as `overrides`."""
        return as_decided(self.report, self.connection, self.settings)

    def first_page(self):
        decided, kinds = self.as_decided().overrides, self.kinds()
        lines = [[tag("th", tag("a", kind.exercise, href=_address(kind)), scope="row"),
                  tag("td", verdict_in_words(kind.verdict), " ", kind.mistake.replace("-", " ")),
                  tag("td", len(kind.rows), class_="number"), tag("td", len(kind.alike), class_="number"),
                  tag("td", sum((row.student, row.exercise) in decided for row in kind.rows), class_="number")]
                 for kind in kinds]
        names = ["Exercise", "Verdict", "Students", "Different answers", "Decided by hand"]
        return page("By hand", tag("h1", "By hand"), *self._requests(kinds, decided),
                    tag("h2", "Kinds of answers"), columns("All who answered alike, together", names, lines,
                                                           "list fold"), forms="'self'")

    def _requests(self, kinds, decided):
        """What students ask to have looked at again."""
        where = {(row.student, row.exercise): kind for kind in kinds for row in kind.rows}
        names = by_id(everybody(self.connection, self.settings))
        asked = [(names.get(student, student), exercise, says) for student, exercise, says in
                 requests(self.report / REQUESTS)]
        lines = [[tag("th", name_of(student), scope="row"),
                  tag("td", tag("a", exercise, href=f"{_address(where[student, exercise])}?only={quote(student)}")
                      if (student, exercise) in where else exercise),
                  tag("td", shown(says, 2000), class_="said"),
                  tag("td", "decided" if (student, exercise) in decided else "open")]
                 for student, exercise, says in asked]
        return [tag("h2", "Asked to look again"), columns("The lines of requests.csv", [
            "Student", "Exercise", "What they say", "State"], lines, "list fold")] if lines else []

    def kind(self, exercise, name, only=""):
        """The Kind with this name, perhaps of one student alone; None where there is no such any more."""
        kind = next((k for k in self.kinds() if (k.exercise, k.name) == (exercise, name)), None)
        if kind and only:
            alike = [[row for row in group if row.student == only] for group in kind.alike]
            kind = replace(kind, alike=tuple(filter(None, alike)))
        return kind if kind and kind.alike else None

    def page_of(self, exercise, name, only="", said=""):
        """The page of one kind, with a form; None where there is no such kind any more."""
        kind = self.kind(exercise, name, only)
        if kind is None:
            return None
        about, decided = everybody(self.connection, self.settings), self.as_decided().overrides
        most = kind.rows[0].max_points
        parts = [part for i, group in enumerate(kind.alike) for part in self._group(i, group, about, decided)]
        fields = [
            tag("p", tag("label", f"Points, of {number(most)} (nothing: as it was judged): ",
                         field(name="points", inputmode="decimal", size=6))),
            tag("p", tag("label", "Why; the students read it: ", field(name="reason", size=60))),
            tag("p", tag("label", "Your name: ", field(name="by", value=self.by, size=30))),
            tag("p", tag("button", "Decide for all that are ticked"))]
        form = tag("form", *parts, *fields, method="post", action="")
        return page(f"{exercise}: {name}", tag("p", tag("a", "All kinds of answers", href="../")),
                    tag("h1", tag("code", exercise)), tag("p", verdict_in_words(kind.verdict), " ",
                                                          kind.mistake.replace("-", " ")),
                    *[tag("p", said, class_="notice", role="status")] * bool(said), form, forms="'self'")

    def _group(self, i, group, about, decided):
        """All who wrote the same, with the code of the first."""
        found = self.connection.execute("SELECT code FROM verdict WHERE student = ? AND exercise = ?",
                                        (group[0].student, group[0].exercise)).fetchone()
        names = []
        for row in group:
            names += [name_of(called(row.student, about.get(row.student))),
                      f" {number(row.points)}", " by hand" * ((row.student, row.exercise) in decided), ", "]
        how_many = f"{len(group)} student{'s' * (len(group) > 1)}"
        box = field(type="checkbox", name="alike", value=i, checked="")
        return [tag("h2", tag("label", box, f" {how_many}")),
                tag("p", *names[:-1]), tag("p", shown(group[0].reason, 500), class_="soft"),
                code((found or ("",))[0] or "")]

    def decide(self, exercise, name, only, form):
        """Take what was typed on the page of a kind; returns a sentence."""
        kind = self.kind(exercise, name, only)
        if kind is None:
            return "Nobody has such an answer any more."
        chosen = {int(i) for i in form.get("alike", ()) if i.isdigit()}
        students = [row.student for i, group in enumerate(kind.alike) if i in chosen for row in group]
        typed, reason, by = (" ".join(form.get(key, [""])[0].split()) for key in ("points", "reason", "by"))
        self.by = by or self.by
        points = _points(typed)
        wrong = "Tick at least one." if not students else "Points are a number from 0 on." if points is False else \
            "Say why: the students read it." if points is not None and not reason else "" if by else "Say who you are."
        if wrong:
            return f"Nothing was changed. {wrong}"
        n = decide(self.report, self.connection, self.settings, exercise, students, points, reason, by)
        return f"Decided for {n} student{'s' * (n != 1)}."


def _points(typed):
    """A number, None for nothing, False for what is no number."""
    try:
        points = float(typed.replace(",", ".")) if typed else None
    except ValueError:
        return False
    return points if points is None or 0 <= points < 1e6 else False


def _address(kind):
    return f"{quote(kind.exercise, safe='')}/{quote(kind.name, safe='')}"


def serve(desk, port=0):
    """A server that only this machine, and only who knows its address, can ask; the caller lets it run."""
    secret = secrets.token_urlsafe(16)

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            where = self.where()
            self.reply(desk.first_page if where == [""] else
                       lambda: desk.page_of(*where, self.only()) if where and len(where) == 2 else None)

        def do_POST(self):
            where, length = self.where(), self.headers.get("Content-Length", "")
            if not where or len(where) != 2 or not length.isdigit() or int(length) > LONGEST:
                self.reply(lambda: None)
                return
            form = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"))
            self.reply(lambda: self.after(desk.decide(*where, self.only(), form), *where))

        def after(self, said, *where):
            return desk.page_of(*where, self.only(), said) or page("By hand", tag("p", said), tag(
                "p", tag("a", "All kinds of answers", href="../")))

        def only(self):
            return parse_qs(urlsplit(self.path).query).get("only", [""])[0]

        def where(self):
            """What stands behind the secret in the address, in parts; None where somebody else asks."""
            parts = urlsplit(self.path).path.split("/")
            known = self.headers.get("Host") in (f"127.0.0.1:{self.server.server_port}",
                                                 f"localhost:{self.server.server_port}")
            return [unquote(part) for part in parts[2:]] if known and len(parts) > 2 and secrets.compare_digest(
                parts[1].encode(), secret.encode()) else None

        def reply(self, made):
            try:
                text = made()
            except PolicyError as error:  # a table that a person has edited meanwhile
                text = page("By hand", tag("p", str(error)))
            data = (text or "There is no such page.").encode("utf-8", "backslashreplace")
            self.send_response(200 if text else 404)
            self.send_header("Content-Type", f"text/{'html' if text else 'plain'}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", port), Page)
    return server, f"http://127.0.0.1:{server.server_port}/{secret}/"
