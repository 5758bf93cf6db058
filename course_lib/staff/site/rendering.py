"""What Sphinx is told: the theme, the notebooks, equations without JavaScript, and links that leave the site."""

import posixpath
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from course_lib.staff import site
from course_lib.staff.lesson_text import ROOT

SETTINGS = {
    "project": "Transformers from Version 0",
    "project_copyright": "the authors of Transformers from Version 0 · code MIT, prose and figures CC BY 4.0",
    "html_title": "Transformers from Version 0",
    "html_theme": "furo",
    "html_static_path": [str(Path(__file__).parent / "static")],
    "html_css_files": ["course.css"],
    "html_math_renderer": "mathml",
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_sphinx": False,
    "extensions": ["myst_nb", "course_lib.staff.site.rendering"],
    "nb_execution_mode": "off",
    "myst_enable_extensions": ["dollarmath"],
    "myst_heading_anchors": 4,
}
log = logging.getLogger(__name__)


def setup(app):
    """Sphinx calls this."""
    app.add_html_math_renderer("mathml", (_equation, None), (_displayed_equation, None))
    app.add_post_transform(BeyondTheSite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _equation(writer, node, block=False):
    """An equation as MathML, which browsers draw themselves."""
    try:
        writer.body.append(tex2mathml(node.astext(), as_block=block))
    except MathError as error:
        log.warning("the equation %s cannot be read: %s", node.astext(), error, location=node)
    raise nodes.SkipNode


def _displayed_equation(writer, node):
    writer.body.append('<div class="math">')
    try:
        _equation(writer, node, block=True)
    finally:
        writer.body.append("</div>\n")


class BeyondTheSite(SphinxPostTransform):
    """Links to files that are no page: a solution has its lesson's page, other files of the repository are on GitHub."""

    default_priority = 8  # before MyST gives them up

    def run(self, **_):
        for node in list(self.document.findall(addnodes.pending_xref)):
            target = node.get("reftarget", "")
            if node["reftype"] == "myst" and node["refdomain"] != "doc" and not target.startswith("#"):
                words, url = node[0].deepcopy(), self._address(node["refdoc"], *target.partition("#"))
                if url is None:
                    log.warning("its link to %s leads nowhere", target, location=node)
                node.replace_self(nodes.reference("", "", words, refuri=url) if url else words)

    def _address(self, page, target, hash, anchor):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        lesson = path.replace("solutions/", "lessons/", 1).removesuffix(".ipynb")
        if lesson in self.env.all_docs:
            return self.app.builder.get_relative_uri(page, lesson) + hash + anchor
        return site.on_github(path) + hash + anchor if (ROOT / path).exists() else None
