"""What Sphinx is told: theme, notebooks, link previews, equations without JavaScript, and links that leave the site."""

import posixpath
from html import escape
from pathlib import Path

import ziamath
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from course_lib.display import style
from course_lib.staff import site
from course_lib.staff.formulas import trouble
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.site import machine, preview
from course_lib.staff.site.mending import mended

HERE = Path(__file__).parent
INK = {"color-brand-primary": style.ACCENT, "color-brand-content": style.ACCENT, "color-brand-visited": style.WEIGHT,
       "color-problematic": "#a1243f"}
ON_DARK = {"color-brand-primary": "#5cc3d8", "color-brand-content": "#5cc3d8", "color-brand-visited": "#d29bc9",
           "color-problematic": "#f08a9f", "color-foreground-muted": "#9ca0a5",
           **{machine.variable(colour)[2:]: dark for colour, dark in machine.ON_DARK.items()}}
SIDEBAR = ("brand", "search", "scroll-start", "navigation", "repository", "scroll-end")

SETTINGS = {
    "project": "Transformers from Version 0",
    "project_copyright": "the authors of Transformers from Version 0 · code MIT, prose and figures CC BY 4.0",
    "html_title": "Transformers from Version 0",
    "html_theme": "furo",
    "html_theme_options": {"light_css_variables": INK, "dark_css_variables": ON_DARK},
    "html_sidebars": {"**": [f"sidebar/{part}.html" for part in SIDEBAR]},
    "html_context": {"repository": f"https://github.com/{site.REPOSITORY}"},
    "templates_path": [str(HERE / "templates")],
    "html_static_path": [str(HERE / "static")],
    "html_css_files": ["course.css"],
    "html_js_files": ["course.js"],
    "html_search_scorer": str(HERE / "search.js"),
    "html_favicon": str(HERE / "static/favicon.svg"),
    "html_math_renderer": "drawn",
    "highlight_language": "none",  # where a text names no language
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_sphinx": False,
    "extensions": ["myst_nb", "sphinx_copybutton", "sphinxext.opengraph", "course_lib.staff.site.rendering"],
    "copybutton_selector": "article div.highlight:not(.cell_output *, .highlight-diff *) > pre",  # what one would run
    "ogp_site_url": site.ADDRESS,
    "ogp_image": preview.NAME,
    "ogp_image_alt": preview.SAYS,
    "ogp_custom_meta_tags": ['<meta name="twitter:card" content="summary_large_image" />'],
    "nb_execution_mode": "off",
    "myst_enable_extensions": ["dollarmath"],
    "myst_dmath_allow_space": False,  # 3 $ and 4 $ are prices
    "myst_dmath_allow_digits": False,
    "myst_heading_anchors": 4,
}
log = logging.getLogger(__name__)


def setup(app):
    """Sphinx calls this."""
    ziamath.config.svg2 = False  # every drawing by itself: glyphs that drawings share would have one size
    app.add_html_math_renderer("drawn", (_inline_equation, None), (_displayed_equation, None))
    app.add_post_transform(BeyondTheSite)
    app.connect("html-page-context", lambda app, name, template, context, tree: context.update(mended=mended))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline_equation(writer, node):
    writer.body.append(_drawn(node, inline=True))
    raise nodes.SkipNode


def _displayed_equation(writer, node):
    writer.body.append(f'<div class="equation">{_drawn(node, inline=False)}</div>\n')
    raise nodes.SkipNode


def _drawn(node, inline):
    """An equation as a drawing in the colour of the text; who cannot see it hears its LaTeX."""
    latex = node.astext()
    unknown = trouble(latex)
    try:
        drawing = ziamath.Latex(latex, size=17 if inline else 20, color="currentColor", inline=inline)
    except Exception as error:  # the library names its errors in many ways
        unknown = unknown or str(error) or type(error).__name__
    if unknown:
        log.warning("the equation %s cannot be read: %s", latex, unknown, location=node)
        return ""
    return (f'<span role="img" aria-label="{escape(latex)}" style="vertical-align:{drawing.getyofst():.1f}px">'
            f'{drawing.svg()}</span>')


class BeyondTheSite(SphinxPostTransform):
    """Links to files that are no page: a solution has its lesson's, other files of the repository are on GitHub."""

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
            return posixpath.relpath(lesson, posixpath.dirname(page) or ".") + ".html" + hash + anchor
        return site.on_github(path) + hash + anchor if (ROOT / path).exists() else None
