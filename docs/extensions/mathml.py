"""Equations as MathML, made when the pages are built: browsers show it without a script and without a network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, and make it the default."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def _mathml(tex: str, display: str) -> str:
    """The equation with its source as a tooltip, for those who copy it."""
    made: str = convert(tex, display=display)
    return made.replace("<math ", f'<math aria-label="{escape(tex, quote=True)}" ', 1)
