"""Results for people, on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from jaxbn.cuts.binning import Binning
    from jaxbn.groups.grouping import Grouping
    from jaxbn.learning.discretize import Discretization
    from jaxbn.model.bayesnet import BayesNet

WIDE = 120  # characters of a line where there is no terminal


def network(net: BayesNet) -> None:
    """A line for each variable: parents, number of states, cuts."""
    rows = []
    from jaxbn.model.words import count_states, cuts_in_words, is_cut, worth

    for name, found in net.parents.items():
        binning = net.binnings.get(name)
        if name in net.groupings:
            states = (count_states(net, name), groups(net.groupings[name]))
        elif binning is None:
            states = (count_states(net, name), _few(net.levels[name]))
        else:
            states = (count_states(net, name), cuts_in_words(net, name, " ") if is_cut(net, name) else "")
        rows.append((name, ", ".join(found), *states))
    table(("variable", "parents", "states", "cuts or levels"), rows)
    arcs = sum(map(len, net.parents.values()))
    say(f"{arcs} arc{'s' * (arcs != 1)}, {net.n_rows:,} rows" + (f", {words}" if (words := worth(net)) else ""))


def discretization(found: Discretization) -> None:
    """A line for each variable that was cut or grouped."""
    table(("variable", "states", "cuts"), [_coded(n, p) for n, p in found.codings.items()])
    say(f"{found.passes} passes, {'converged' if found.converged else 'not converged: raise --max-passes'}")


def scores(found: pd.DataFrame) -> None:
    """A line for each method."""
    rows = [
        (str(method).replace("_", " "), f"{row['mean']:.3f}", f"{row['standard_error']:.3f}", f"{row['bins']:.1f}")
        for method, row in found.iterrows()
    ]
    table(("method", "log-likelihood a row", "standard error", "mean bins"), rows, numbers=(1, 2, 3))


def posterior(found: pd.Series, labels: Sequence[str]) -> None:
    """A line for each state, with a bar."""
    rows = [(label, f"{p:.4f}", "█" * round(30 * p)) for label, p in zip(labels, found.tolist(), strict=True)]
    table((", ".join(map(str, found.index.names)), "probability", ""), rows, numbers=(1,))


def consensus(graph: nx.DiGraph, word: str, threshold: float) -> None:
    """The arcs that networks agree on, and by what."""
    arcs = ", ".join(f"{parent} -> {child}" for parent, child in graph.edges) or "no arc"
    say(f"consensus, {word} above {threshold:g}: {arcs}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> None:
    """A table as wide as the terminal, or as ``WIDE`` where there is none."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, title in enumerate(head):
        made.add_column(Text(title), justify="right" if i in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    _console().print(made)


def say(line: str) -> None:
    """A line of the result."""
    sys.stdout.write(line + "\n")


def _coded(name: str, binning: Binning | Grouping) -> tuple[str, str, str]:
    from jaxbn.groups.grouping import Grouping

    if isinstance(binning, Grouping):
        return name, f"{binning.n_groups} group{'s' * (binning.n_groups != 1)}", groups(binning)
    return name, *_cuts(binning)


def groups(grouping: Grouping) -> str:
    """The groups in words."""
    return " | ".join(grouping.labels)


def _cuts(binning: Binning) -> tuple[str, str]:
    from jaxbn.cuts.words import cut_words

    if not binning.is_cut:
        return "not cut", ""
    return f"{binning.n_bins} bin{'s' * (binning.n_bins != 1)}", cut_words(binning, " ")


def _few(levels: Sequence[Any], most: int = 8) -> str:
    return " ".join(str(level) for level in levels[:most]) + (" …" if len(levels) > most else "")


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
