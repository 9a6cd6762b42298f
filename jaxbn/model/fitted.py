"""What a fitted network consists of, checked when it is put together; how it is saved, exported and drawn."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning, same_number
from jaxbn.cuts.evidence import WEIGHT
from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.shapes.recording import Recording
from jaxbn.groups.grouping import Grouping, check_shares
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.columns import Level
from jaxbn.inputs.graph import as_parents, markov_blanket, to_networkx, topological_order
from jaxbn.inputs.later import nx, pd
from jaxbn.model.inference.network import Network, network, positions
from jaxbn.model.lines.line import Line
from jaxbn.model.search_report import SearchReport
from jaxbn.runtime.deprecated import old_attribute
from jaxbn.scores.tables import k2_score
from jaxbn.structure.equivalence import Comparison, Cpdag, class_of, compare_graphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbn.model.bayesnet import BayesNet

Alpha = float | Literal["auto"]  # Dirichlet weight of each cell of the tables, or weights that follow from their counts


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """The parts of a network; ``BayesNet`` says what each of them is."""

    parents: dict[str, tuple[str, ...]]
    binnings: dict[str, Binning]
    levels: dict[str, tuple[Level, ...]]
    tables: dict[str, NDArray[np.float64]]
    bounds: dict[str, tuple[float, float]]
    score: float = float("nan")
    n_rows: int = 0
    alpha: Alpha = 1.0
    groupings: dict[str, Grouping] = field(default_factory=dict)
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    trace: tuple[float, ...] = ()
    search: SearchReport | None = None
    em_trace: tuple[float, ...] = ()
    lines: dict[str, Line] = field(default_factory=dict)
    counts: dict[str, NDArray[Any]] = field(default_factory=dict)
    level_counts: dict[str, NDArray[Any]] = field(default_factory=dict)

    # what was worked out already: ``inside``, ``queries.states``, and ``lines.rows.state_scores`` as far as lines ask
    _inside: dict[str, InsideBins] = field(default_factory=dict, init=False)
    shown_states: dict[str, pd.Index] = field(default_factory=dict, init=False)
    state_scores: dict[str, NDArray[np.float64]] = field(default_factory=dict, init=False)

    policies = old_attribute("binnings")
    edges = old_attribute("bin_edges")

    def __post_init__(self) -> None:
        for name, grouping in self.groupings.items():
            check_shares(name, grouping, self.levels.get(name, ()), self.shares.get(name))
        for name in self.parents:
            if (name in self.binnings) == (name in self.levels):
                raise ValueError(f"variable {name!r} needs either a binning or levels, and not both")
            if name not in self.tables:
                raise ValueError(f"variable {name!r} has no table")
        tables = {}
        for name, found in self.parents.items():
            shape = tuple(self.cardinalities[v] for v in (*found, name))
            table = np.array(self.tables[name], np.float64)
            if table.shape != shape or not np.allclose(table.sum(axis=-1), 1.0) or (table < 0).any():
                raise ValueError(f"the table of {name!r} must be probabilities of shape {shape}, got {table.shape}")
            table.setflags(write=False)
            tables[name] = table
        object.__setattr__(self, "tables", tables)
        for name in self.binnings:
            check_edges(name, self.bin_edges(name))
        topological_order(self.parents)

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, in column order."""
        return tuple(self.parents)

    @cached_property
    def cardinalities(self) -> dict[str, int]:
        """Number of bins, groups or levels of each variable."""
        coded = self.codings
        return {n: coded[n].n_bins if n in coded else len(self.levels[n]) for n in self.parents}

    @cached_property
    def network(self) -> Network:
        """Parents and tables by position, variables in the order of ``names``."""
        return network(positions(self.parents), [self.tables[name] for name in self.names])

    @property
    def codings(self) -> dict[str, Binning | Grouping]:
        """Binnings and groupings together, as ``fit`` takes them."""
        return {**self.binnings, **self.groupings}

    @cached_property
    def group_codes(self) -> dict[str, NDArray[np.int32]]:
        """Code of the group of each level of a grouped variable, [levels]."""
        return {name: grouping(self.levels[name], name=name) for name, grouping in self.groupings.items()}

    @property
    def graph(self) -> nx.DiGraph:
        """The structure as a ``networkx.DiGraph``."""
        return to_networkx(self.parents)

    @property
    def nodes(self) -> tuple[str, ...]:
        """All variables, in column order: the same as ``names``."""
        return self.names

    @property
    def arcs(self) -> tuple[tuple[str, str], ...]:
        """All arcs as (parent, child), in column order of the children.

        Example:
            >>> net.arcs
            (('kind', 'size'),)
        """
        return tuple((parent, child) for child, found in self.parents.items() for parent in found)

    @property
    def compelled(self) -> tuple[tuple[str, str], ...]:
        """The arcs that all equivalent graphs have: those whose direction the rows can tell, if the links are right.

        Example:
            >>> data = {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}
            >>> jaxbn.fit(data, {"c": ["a", "b"], "a": ["d"]}, {}).compelled
            (('a', 'c'), ('b', 'c'))
        """
        directed = self.cpdag().directed
        return tuple(arc for arc in self.arcs if arc in directed)

    @cached_property
    def arc_gains(self) -> dict[tuple[str, str], float]:
        """How much each arc is worth: the nats that the evidence of the rows loses without it, all cuts as they are.

        Empty for networks that were not fitted to rows.

        Example:
            >>> net = jaxbn.fit({"a": [0, 1] * 10, "b": [0, 1] * 10, "c": [0, 0, 1, 1] * 5}, {"b": ["a", "c"]}, {})
            >>> {arc: round(gain, 1) for arc, gain in net.arc_gains.items()}
            {('a', 'b'): 11.1, ('c', 'b'): -2.1}
        """
        found = {}
        for child, counts in self.counts.items():
            whole = k2_score(counts, WEIGHT) if self.parents[child] else 0.0
            for i, parent in enumerate(self.parents[child]):
                found[parent, child] = whole - k2_score(counts.sum(axis=i), WEIGHT)
        return found

    def cpdag(self) -> Cpdag:
        """The equivalence class of the structure: compelled arcs and links that may point either way.

        Example:
            >>> sorted(map(sorted, net.cpdag().undirected))
            [['kind', 'size']]
        """
        return class_of(self.parents)

    def compare(self, other: Any) -> Comparison:
        """How the structure differs from another over the same variables: links added, removed and turned.

        Args:
            other: a network, or a graph as ``fit`` takes it.

        Example:
            >>> found = net.compare({"kind": ["size"]})
            >>> found.turned, found.distance, found.class_distance
            ((('kind', 'size'),), 1, 0)
        """
        if isinstance(other, Fitted) and set(other.names) != set(self.names):
            raise ValueError(
                f"the networks have different variables ({', '.join(sorted(set(self.names) ^ set(other.names)))} "
                "in one of them only); compare networks of the same columns"
            )
        return compare_graphs(self.parents, as_parents(other, self.names))

    def weight(self, name: str) -> float:
        """The Dirichlet weight of a cell of a variable's table; with ``alpha="auto"``, on average.

        Example:
            >>> jaxbn.fit({"a": [0, 1], "b": [0, 1]}, {"b": ["a"]}, {}, alpha={"b": 0.5}).weight("b")
            0.5
        """
        check_variable(self, name)
        return self.alphas.get(name, 1.0 if self.alpha == "auto" else self.alpha)

    def markov_blanket(self, name: str) -> tuple[str, ...]:
        """Parents, children and the children's other parents of a variable, in column order.

        Given these, the variable is independent of all others.

        Example:
            >>> data = {"a": [0, 1], "b": [0, 1], "c": [0, 1], "d": [0, 1]}
            >>> jaxbn.fit(data, {"c": ["a", "b"], "d": ["c"]}, {}).markov_blanket("a")
            ('b', 'c')
        """
        check_variable(self, name)
        return markov_blanket(self.parents, name)

    def __eq__(self, other: object) -> bool:
        """Whether two networks are the same; the trace and the search that found them do not count."""
        if not isinstance(other, Fitted):
            return NotImplemented
        arrays = ((self.tables, other.tables), (self.shares, other.shares))
        plain = ("binnings", "levels", "bounds", "n_rows", "alpha", "alphas", "groupings", "lines")
        return (
            list(self.parents.items()) == list(other.parents.items())
            and all(getattr(self, name) == getattr(other, name) for name in plain)
            and same_number(self.score, other.score)
            and all(a.keys() == b.keys() and all(np.array_equal(a[n], b[n]) for n in a) for a, b in arrays)
        )

    def __hash__(self) -> int:
        return hash((tuple(self.parents.items()), self.n_rows, self.alpha))

    def bin_edges(self, name: str) -> NDArray[np.float64]:
        """All edges of a continuous variable, the outer ones included, float64 [bins + 1].

        Example:
            >>> net.bin_edges("size").tolist()
            [1.0, 4.5, 9.0]
        """
        if name not in self.binnings:
            raise ValueError(f"{name!r} is not a continuous variable of the network; {suggest(name, self.binnings)}")
        low, high = self.bounds[name]
        return np.array([low, *self.binnings[name].cuts, high])

    def inside(self, name: str) -> InsideBins:
        """How the values of a continuous variable are distributed inside its bins.

        Example:
            >>> net.inside("size").means.tolist()
            [2.75, 6.75]
        """
        if name not in self._inside:
            self._inside[name] = InsideBins(self.bin_edges(name), self.binnings[name].shape)
        return self._inside[name]

    @property
    def recording(self) -> dict[str, Recording]:
        """How each continuous variable was recorded: the step of its values, and the digits that are preferred.

        Example:
            >>> print(jaxbn.learn(jaxbn.datasets.load("iris").frame, restarts=1).recording["petal_width"])
            step 0.1
        """
        return {name: self.inside(name).recording for name in self.binnings}

    # --- files and pictures, made in later subpackages

    @property
    def _net(self) -> BayesNet:
        return cast("BayesNet", self)

    def state_labels(self, name: str) -> tuple[str, ...]:
        """Names of a variable's states in exported networks: unique, a letter, then letters, digits and underscores.

        Example:
            >>> net.state_labels("size")
            ('below_4_5', 'from_4_5_or_more')
        """
        from jaxbn.formats.record import state_labels

        check_variable(self._net, name)
        return state_labels(self._net, name)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the format that the ending of the file says; ``jaxbn.read`` reads it back.

        ``.json`` (as ``save``), ``.bif``, ``.xml`` (or ``.xmlbif``, ``.bifxml``: XMLBIF), ``.xdsl`` (GeNIe), ``.net``
        (Hugin), ``.uai``. Other programs see names and states reduced to letters, digits and underscores; a comment,
        which they skip, has the original ones, the cuts and whatever else such files cannot hold.

        Example:
            >>> net.write("net.net")
            >>> jaxbn.read("net.net") == net
            True
        """
        from jaxbn.formats.read import write

        write(self._net, path)

    def to_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the BIF format; names and states are reduced to letters, digits and underscores.

        ``jaxbn.read_bif`` restores the original ones.

        Example:
            >>> net.to_bif("net.bif")
            >>> jaxbn.read_bif("net.bif").names
            ('kind', 'size')
        """
        from jaxbn.formats.read import write

        write(self._net, path, ".bif")

    def to_pgmpy(self) -> Any:
        """The network as a ``pgmpy.models.DiscreteBayesianNetwork``; states are named by ``state_labels``.

        Example:
            >>> model = net.to_pgmpy()  # doctest: +SKIP
            >>> model.get_cpds("size")  # doctest: +SKIP
        """
        from jaxbn.formats.read import to_pgmpy

        return to_pgmpy(self._net)

    def to_pyagrum(self, bins: Literal["ranges", "labels"] = "ranges") -> Any:
        """The network as a ``pyagrum.BayesNet``; states are named by ``state_labels``.

        Args:
            bins: ``"ranges"`` makes pyAgrum's discretized variables of bins, which take numbers as evidence, written as
                text: whole numbers are positions to pyAgrum. ``"labels"`` names bins by words, as all of pyAgrum's
                writers of files need it.

        Example:
            >>> model = net.to_pyagrum()  # doctest: +SKIP
            >>> pyagrum.getPosterior(model, target="species", evs={"body_mass_g": "5200"})  # doctest: +SKIP
        """
        from jaxbn.formats.read import to_pyagrum

        return to_pyagrum(self._net, bins)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        strengths: Mapping[tuple[str, str], float] | None = None,
        directions: Literal["class", "all"] = "class",
    ) -> Axes:
        """Draw the network with matplotlib: a box for each variable with its number of bins, discrete ones shaded.

        Args:
            ax: axes to draw on; new ones by default.
            strengths: share of resamples that have an arc, by (parent, child), written at the arcs; at a line the
                sum of both directions.
            directions: ``"class"`` draws an arrow where all equivalent networks have it in this direction
                (``net.compelled``), and a line where the rows cannot tell; ``"all"`` draws arrows only.

        Example:
            >>> net.plot().figure.savefig("network.svg")  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_network

        return plot_network(self._net, ax, strengths=strengths, directions=directions)

    def plot_influence(self, target: str, given: Mapping[str, Any] | None = None, ax: Axes | None = None) -> Axes:
        """Draw what ``influence`` tells, on new axes by default: a bar for each known value, the most missed on top.

        Example:
            >>> net.plot_influence("mpg", {"weight": 2500, "cylinders": 4})  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_influence

        return plot_influence(self._net, target, given, ax)

    def _repr_html_(self) -> str:
        from jaxbn.drawing.notebook import network_html

        return network_html(self._net)


def check_variable(net: Fitted, name: str) -> None:
    """Refuse a name that is not a variable's."""
    if name not in net.parents:
        raise ValueError(f"{name!r} is not a variable of the network; {suggest(name, net.parents)}")


def check_edges(name: str, edges: NDArray[np.float64]) -> None:
    """Refuse bins that no value can fall into; a bin that holds the largest value alone has no width, but is one."""
    low, high = float(edges[0]), float(edges[-1])
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"the bounds of {name!r} must be two finite numbers in ascending order, got {(low, high)}")
    if len(edges) > 2 and not (low < edges[1] and edges[-2] <= high):
        raise ValueError(
            f"the cuts of {name!r} run from {edges[1]:g} to {edges[-2]:g} but its values from {low:g} to {high:g}, so "
            f"an outer bin would hold nothing; drop the cuts outside or pass bounds={{{name!r}: (low, high)}}"
        )
