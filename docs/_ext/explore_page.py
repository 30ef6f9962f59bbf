"""The page of `vegasfluid explore` with runs of three networks, made when the site is built."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from up_to_date import is_up_to_date

import vegasfluid as vf
from vegasfluid.explore.recording import recording
from vegasfluid.explore.server import PAGE
from vegasfluid.explore.single_file import page_with_runs

__all__ = ["MODELS", "setup"]

MODELS = ("weigle_feng_network2", "weigle_feng_network4", "uncertain_office_uplink")
"""Built-in models on the page; the first one is shown at first."""
FOLDER = "_explore"
"""Folder of the page, below that of the others; its files are copied into the site."""
NAME = "explorer.html"
"""Name of the page."""


def save(app: Sphinx) -> None:
    """Save the page if it is missing, or older than the code."""
    page = Path(app.srcdir) / FOLDER / NAME
    if is_up_to_date([page], Path(__file__), *PAGE.iterdir()):
        return
    logging.getLogger("jax").setLevel(logging.WARNING)  # Sphinx would print JAX's INFO messages
    models = {name: vf.read_model(name) for name in MODELS}
    page.write_text(page_with_runs(recording(models, lambda line: None)), encoding="utf-8")


class Explorer(SphinxDirective):
    """Directive `explorer`: the page in a frame, with a link to it below."""

    def run(self) -> list[nodes.Node]:
        """Return the frame and the link, relative to the page that has them."""
        path = "../" * self.env.docname.count("/") + NAME
        frame = (
            f'<iframe class="explorer" src="{path}" title="Explore alpha and beta" loading="lazy">'
            f'</iframe>\n<p class="explorer-link"><a href="{path}">Open it as a page</a></p>'
        )
        return [nodes.raw("", frame, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the making of the page with Sphinx, and make its folder."""
    app.add_directive("explorer", Explorer)
    (Path(app.srcdir) / FOLDER).mkdir(exist_ok=True)  # named in conf.py
    app.connect("builder-inited", save)
    return {"parallel_read_safe": True}
