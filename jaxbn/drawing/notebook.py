"""What a notebook shows for a network, a binning or a discretization: a table, and a picture where there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.words import cut_words
from jaxbn.drawing import svg as figures
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import few
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.words import count_states, cuts_in_words, state_texts

MOST_ROWS = 60


def network_html(net: BayesNet) -> str:
    """The network drawn, and a line for each variable."""
    rows = [(name, ", ".join(net.parents[name]), count_states(net, name), _states(net, name)) for name in net.names]
    picture = f'<div style="overflow-x:auto">{figures.network_svg(net)}</div>'
    title = f"{len(net.names)} variables, {sum(map(len, net.parents.values()))} arcs, {net.n_rows:,} rows"
    table = html_table(("variable", "parents", "states", "cuts or levels"), rows)
    return f"<div><p><b>BayesNet</b>: {title}</p>{picture}{table}</div>"


def binning_html(binning: Binning) -> str:
    """The cuts on a line, where the range is known, and in words."""
    if not binning.is_cut:
        return f"<div><p><b>Binning</b>: {cut_words(binning)}</p></div>"
    ends = np.array([binning.lower, binning.upper])
    picture = ""
    if np.isfinite(ends).all() and ends[0] < ends[1]:
        edges = np.array([min(ends[0], binning.cuts[0]), *binning.cuts, max(ends[1], binning.cuts[-1])])
        picture = figures.variable_svg(edges, None, None, "a variable", binning.unit)
    cost = f", cost {binning.cost:.3f}" if np.isfinite(binning.cost) else ""
    words = f"{binning.n_bins} bin{'s' * (binning.n_bins != 1)}, {escape(binning.method)}{cost}"
    return f'<div style="max-width:24em"><p><b>Binning</b>: {words}</p>{picture}<p>{cut_words(binning)}</p></div>'


def binnings_html(binnings: Mapping[str, Binning | Grouping], title: str) -> str:
    """A line for each variable."""
    rows = [
        (n, str(p.n_bins), few(p.labels, 8, "…", " | ") if isinstance(p, Grouping) else cut_words(p))
        for n, p in binnings.items()
    ]
    return f"<div><p><b>Discretization</b>: {escape(title)}</p>{html_table(('variable', 'bins', 'cuts'), rows)}</div>"


def _states(net: BayesNet, name: str) -> str:
    if name in net.binnings:
        return cuts_in_words(net, name)
    return few(state_texts(net, name), 8, "…", " | " if name in net.groupings else ", ")


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts, the first rows of it."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"

    more = f"<p>… {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    body = "".join(line(row, "td") for row in rows[:MOST_ROWS])
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>{more}"
