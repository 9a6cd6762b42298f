"""The sections of the page, each a function from the network to HTML."""

from __future__ import annotations

import itertools
import math
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbn import __version__
from jaxbn.drawing import svg as figures
from jaxbn.drawing.missing import dependences, missing_in
from jaxbn.drawing.posterior import agreement, arc_rows, cut_rows
from jaxbn.evaluation.compare import SCORES, scores_in_words
from jaxbn.inputs import checks
from jaxbn.inputs.later import pd
from jaxbn.inputs.table import Table
from jaxbn.model.inference.questions import Chances, is_small
from jaxbn.model.words import NOT_CUT, count_states, cuts_in_words, is_cut, state_texts, worth
from jaxbn.structure.constraints import mask_of

if TYPE_CHECKING:
    from jaxbn.drawing.report import Link
    from jaxbn.model.bayesnet import BayesNet
    from jaxbn.posterior.results import Posterior

MOST_ROWS = 200  # rows of a conditional table that the page shows; the model file has all
MOST_LINKS = 5  # links that the page names in words, the strongest
MOST_LEVELS = 40  # levels of a group that the page shows
LEGEND = (
    '<span class="key bars"></span>data <span class="key density"></span>the network '
    '<span class="when-asked"><span class="key before"></span>before anything was known </span>'
    '<span class="key cut"></span>cut, or what is known'
)


def summary(net: BayesNet) -> str:
    """What the network is, in a sentence."""
    arcs = sum(map(len, net.parents.values()))
    kinds = f"{len(net.binnings)} continuous, {len(net.levels)} discrete"
    if net.groupings:
        kinds += f", {len(net.groupings)} of them with grouped levels"
    text = f"{len(net.names)} variables ({kinds}), {arcs} arc{'s' * (arcs != 1)}"
    if net.n_rows:
        text += f", fitted to {net.n_rows:,} rows"
    if found := worth(net):
        text += f", {found}"
    return text + "."


def links(net: BayesNet, found: Sequence[Link]) -> str:
    """What depends most on what, in words."""
    rows = "".join(
        f'<li><button type="button" data-choose="{net.names.index(each.child)}" disabled>{escape(each.parent)} – '
        f"{escape(each.child)}</button> {escape(each.words)}</li>"
        for each in found[:MOST_LINKS]
    )
    if not rows:
        return ""
    note = "" if is_small(net) else _note("Approximate, from rows drawn from the network; net.query is exact.")
    return _section("What depends most on what", f'<ol class="links">{rows}</ol>{note}')


def network(
    net: BayesNet,
    dropped: Sequence[str],
    strengths: Mapping[tuple[str, str], float] | None,
    drawn: Posterior | None = None,
    directions: figures.Directions = "class",
) -> str:
    """The network drawn, with the tools to ask it, and which tables were dropped."""
    note = (
        "An arrow points from parent to child; the rows do not tell the direction of a line. Shaded variables are "
        "discrete as given; the others were cut into bins."
    )
    if drawn is not None:
        strengths = drawn.strengths
        note += " The percentage at an arrow or line is its posterior probability."
    elif strengths:
        note += " The percentage at an arrow or line is the share of resamples that have it."
    tools = (files("jaxbn.drawing.report") / "tools.html").read_text(encoding="utf-8")
    every = checks.one_of("directions", directions, ("class", "all")) == "all"
    switch = (
        f'<input type="checkbox" id="directions"{" checked" * every}><label for="directions"> arrows on all arcs, even '
        "where another direction fits the rows as well</label>"
        if len(net.compelled) < len(net.arcs)
        else ""
    )
    stage = (
        f'<div class="stage"><div class="panel scroll drawing">{figures.network_svg(net, strengths)}</div>'
        '<aside id="chosen" class="panel" aria-label="The chosen variable" hidden></aside></div>'
    )
    return _section("Network", f"{tools}{_left_out(net, dropped)}{switch}{stage}{_note(note)}")


def _left_out(net: BayesNet, dropped: Sequence[str]) -> str:
    """Which tables are too large for the page, and what is approximate without them."""
    if not dropped:
        return ""
    sizes = ", ".join(f"{name} ({net.tables[name].size:,} entries)" for name in dropped)
    gone, ancestors = mask_of(map(net.names.index, dropped)), net.network.structure.ancestors
    blind = [name for name, own in zip(net.names, ancestors, strict=True) if own & gone]
    words = (
        f"Tables left out because they are too large for this page: {sizes}. Answers about {', '.join(blind)}, and "
        "those with one of these known, are approximate, from rows drawn from the network; net.query is exact."
    )
    return f'<p class="note" id="left-out">{escape(words)}</p>'


def variables(net: BayesNet, table: Table | None, chances: Chances) -> str:
    """Every variable: cuts over histogram and density, or levels; the page's script turns them into live cards."""
    cards = "".join(_variable(net, name, i, table, chances) for i, name in enumerate(net.names))
    order = (
        '<p id="ordering" hidden><label for="order">Order: </label><select id="order">'
        '<option value="table">as in the data</option><option value="change">most changed first</option></select></p>'
    )
    legend = f'<div class="legend"><p class="note">{LEGEND}</p>{order}</div>'
    return f'<section id="variables">\n<h2>Variables</h2>\n{legend}<div class="variables">{cards}</div>\n</section>'


def posterior(found: Posterior | None) -> str:
    """How probable arcs and cuts are."""
    if found is None:
        return ""
    arcs = _table(("arc", "probability", "in either direction"), arc_rows(found), numbers=(1, 2))
    cuts = _table(("variable", "bins", "most probable cuts"), cut_rows(found))
    grid = f" Cuts on a grid: {', '.join(found.on_grid)}." if found.on_grid else ""
    note = f"From {len(found.draws)} networks drawn from the posterior of cuts and arcs. {agreement(found)}{grid}"
    return _section("How probable", f"{_note(note)}{arcs}{cuts}")


def groups(net: BayesNet) -> str:
    """The groups of every variable whose levels were merged."""
    rows = [
        (name, str(len(group)), checks.few([*map(str, group)], MOST_LEVELS, "…"))
        for name, grouping in net.groupings.items()
        for group in grouping.groups
    ]
    return _section("Groups of levels", _table(("variable", "size", "levels"), rows, numbers=(1,))) if rows else ""


def scores(found: pd.DataFrame | None, notes: str) -> str:
    """Held-out log-likelihood of each method."""
    if found is None:
        return ""
    rows = scores_in_words(found)
    picture = figures.scores_svg([row[0] for row in rows], found["mean"].tolist(), found["standard_error"].tolist())
    body = _table(SCORES, rows, numbers=(1, 2, 3))
    note = (
        "Cross-validated, in original units; higher is better. The structure is fixed, cuts and tables are found "
        "without the held-out rows."
    )
    return _section("Held-out log-likelihood", f"{picture}{body}{_note(note)}{_note(notes)}")


def tables(net: BayesNet) -> str:
    """The conditional tables, folded away."""
    return _section("Conditional tables", "".join(_conditional(net, name) for name in net.names))


def missing(net: BayesNet, table: Table | None) -> str:
    """Where entries are missing, and where that is a state, what it depends on."""
    parts = []
    if table is not None and (where := missing_in(table)):
        rows = [(name, f"{int(gone.sum()):,}", f"{gone.mean():.1%}") for name, gone in where.items()]
        parts.append(_table(("column", "missing entries", "of all rows"), rows, numbers=(1, 2)))
        lacking = int(np.logical_or.reduce(list(where.values())).sum())
        parts.append(_note(f"{lacking:,} of {table.n_rows:,} rows lack an entry."))
    if found := dependences(net):
        depends = [
            (each.column, f"{each.share:.1%}", each.neighbour or "nothing", f"{each.least:.1%}", f"{each.most:.1%}")
            for each in found
        ]
        parts.append(_table(("column", "missing", "depends on", "at least", "at most"), depends, numbers=(1, 3, 4)))
        parts.append(_note("How often a column is missing, and by the states of each neighbour in the network."))
    return _section("Missing entries", "".join(parts)) if parts else ""


def columns(net: BayesNet, table: Table | None) -> str:
    """What each column was taken as, and why."""
    if table is None:
        return ""
    rows = [table.words(name) for name in net.names]
    return _section("Columns", _table(("column", "taken as", "holds", "because"), rows))


def making(net: BayesNet, options: Mapping[str, Any]) -> str:
    """How the network was found, options, seed and versions."""
    listed = {key: value if isinstance(value, list | tuple) else [value] for key, value in options.items()}
    rows = [(str(key), ", ".join(map(str, values))) for key, values in listed.items() if values != [None]]
    rows.append(("prior weight of a table cell", "by evidence" if net.alpha == "auto" else f"{net.alpha:g}"))
    rows += [("jaxbn", __version__), ("Python", platform.python_version())]
    found = "" if net.search is None else f"How the network was found: {net.search}."
    return _section("How it was made", _table(("option", "value"), rows) + _note(found))


def _variable(net: BayesNet, name: str, i: int, table: Table | None, chances: Chances) -> str:
    words, picture = count_states(net, name), ""
    if name in net.binnings:
        picture = _cuts(net, name, table, chances)
        if is_cut(net, name):
            words += f"; cuts: {cuts_in_words(net, name)}"
    else:
        words += f": {checks.few(state_texts(net, name), MOST_LEVELS, '…')}"
    return (
        f'<article class="panel" data-variable="{i}"><h3>{escape(name)}</h3>{picture}'
        f'<p class="note">{escape(words)}</p></article>'
    )


def _cuts(net: BayesNet, name: str, table: Table | None, chances: Chances) -> str:
    """Cuts over histogram and density."""
    edges, density = net.bin_edges(name), None
    if not is_cut(net, name):
        edges = edges[[0, -1]]
    elif (edges[1:] > edges[:-1]).all():
        pieces, of, share = net.inside(name).pieces()
        with np.errstate(over="ignore"):  # widths may be beyond all floats
            density = pieces, chances([name])[of] * share / np.diff(pieces)
    values = None if table is None else table.values[name]
    return figures.variable_svg(edges, density, values, name, net.binnings[name].unit, net.inside(name).recording.step)


def _conditional(net: BayesNet, name: str) -> str:
    found = net.parents[name]
    given = f" given {', '.join(found)}" if found else ""
    if name in net.binnings and not is_cut(net, name):
        return f"<details><summary>{escape(name + given)}</summary>{_note(NOT_CUT)}</details>"
    texts = {v: state_texts(net, v) for v in (*found, name)}
    head = (*found, *texts[name])
    contexts = itertools.product(*(range(net.cardinalities[parent]) for parent in found))
    rows = [
        (*(texts[p][i] for p, i in zip(found, context, strict=True)), *(f"{v:.3f}" for v in net.tables[name][context]))
        for context in itertools.islice(contexts, MOST_ROWS)
    ]
    total = math.prod(net.cardinalities[parent] for parent in found)
    note = _note(f"The first {MOST_ROWS} of {total:,} rows; the model file has all.") if total > MOST_ROWS else ""
    body = _table(head, rows, numbers=range(len(found), len(head)))
    place = net.names.index(name)
    return f'<details data-variable="{place}"><summary>{escape(name + given)}</summary>{body}{note}</details>'


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{body}\n</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> str:
    def cells(row: Sequence[str], tag: str) -> str:
        style = [' class="number"' if i in numbers else "" for i in range(len(row))]
        return "".join(f"<{tag}{style[i]}>{escape(str(cell))}</{tag}>" for i, cell in enumerate(row))

    body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{cells(head, 'th')}</tr></thead>"
    return f'<div class="scroll"><table>{top}<tbody>\n{body}\n</tbody></table></div>'


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>' if text else ""
