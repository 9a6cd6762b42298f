"""The page: what goes into it, and how it is written."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from jaxbn import __version__
from jaxbn.drawing.chances import chances_of
from jaxbn.drawing.missing import rows_of
from jaxbn.drawing.report import sections
from jaxbn.drawing.report.explorer import payload
from jaxbn.drawing.report.links import most_linked, strongest
from jaxbn.drawing.svg import Directions
from jaxbn.inputs.table import Table, as_frame
from jaxbn.runtime.files import write_text

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet
    from jaxbn.posterior.results import Posterior

SCRIPTS = ("inference", "known", "lines", "numbers", "drawing", "cards", "tables", "explorer")
"""Files of the page's script, in the order in which they build on each other."""


def report(
    net: BayesNet,
    data: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Bayesian network",
    scores: pd.DataFrame | None = None,
    notes: str = "",
    options: Mapping[str, Any] | None = None,
    strengths: Mapping[tuple[str, str], float] | None = None,
    posterior: Posterior | None = None,
    directions: Directions = "class",
) -> str:
    """A page about a network that opens offline in any browser, and answers questions there.

    Whoever reads it clicks what is known of some variables, and sees how all the others follow, as ``net.query`` has
    them: the page carries the tables and computes by itself. Beside that it shows structure, cuts, tables and scores.

    Args:
        net: the network.
        data: the rows it was learned from, or others with the same columns: the histograms, and what was inferred about
            the columns. A ``Table`` keeps the reasons of the inference.
        path: file to write, replaced in one step; none is written without it.
        title: heading of the page.
        scores: held-out log-likelihood by method, as ``jaxbn.compare`` returns it.
        notes: a sentence on the scores, such as a published figure.
        options: what the network was made with, such as the seed.
        strengths: share of resamples that have an arc, by (parent, child).
        posterior: what ``jaxbn.sample_posterior`` drew from the same rows: how probable each arc and cut is. The
            probabilities of arcs take the place of ``strengths``.
        directions: which arcs are arrows, see ``BayesNet.plot``; the page has a switch.

    Returns:
        The page as text.

    Example:
        >>> import jaxbn
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> page = jaxbn.report(net, data, title="Sizes")
        >>> "<h1>Sizes</h1>" in page, "src=" in page
        (True, False)
    """
    table = None if data is None else _table(net, data)
    chances = chances_of(net)
    found = strongest(net, chances)
    parts = [
        sections.links(net, found),
        sections.network(net, strengths, posterior, directions),
        sections.variables(net, table, chances),
        sections.posterior(posterior),
        sections.groups(net),
        sections.scores(scores, notes),
        sections.tables(net),
        sections.missing(net, table),
        sections.columns(net, table),
        sections.making(net, options or {}),
    ]
    folder = files("jaxbn.drawing.report")
    script = "".join((folder / "script" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    page = Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        version=escape(__version__),
        style=(folder / "style.css").read_text(encoding="utf-8").strip(),
        summary=escape(sections.summary(net)),
        sections="\n".join(part for part in parts if part),
        data=payload(net, table, first=most_linked(found)),
        script=script,
        fingerprint=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    if path is not None:
        write_text(path, page)
    return page


def _table(net: BayesNet, data: Any) -> Table:
    table = data if isinstance(data, Table) else rows_of(net, as_frame(data))
    absent = [name for name in net.names if name not in table.names]
    if absent:
        raise ValueError(
            f"the data lacks column(s) {', '.join(map(repr, absent))} of the network; pass all its columns"
        )
    return table
