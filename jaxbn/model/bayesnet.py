"""The fitted network: structure, cuts and conditional tables, and what can be asked of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.policy import Policy
from jaxbn.groups.grouping import Grouping, check_shares
from jaxbn.inputs.columns import Level, suggest
from jaxbn.inputs.graph import to_networkx, topological_order
from jaxbn.model import queries as answers
from jaxbn.model.contraction import MAX_MEMORY
from jaxbn.model.observations import Unknown

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class BayesNet:
    """A discrete Bayesian network over binned continuous and discrete variables.

    Made by ``fit`` or ``learn``, or read by ``load``. Values outside the fitted range fall into the outer bins.

    Attributes:
        parents: parents of every variable, in column order.
        policies: cuts of the continuous variables.
        levels: levels of the discrete variables.
        tables: P(variable | parents), float64 [*cardinalities of the parents, own cardinality].
        bounds: (smallest, largest) value of each continuous variable, the outer edges of its density.
        score: ln P(D*|G), the K2 score of the coded data the network was fitted to; NaN if it was not fitted.
        n_rows: rows it was fitted to.
        alpha: Dirichlet weight of each cell of the tables.
        alphas: weights of the tables that have their own, by child.
        trace: how the evidence rose while the network was learned with ``method="evidence"``; it is not saved.
        groupings: groups of the discrete variables whose levels were merged; their tables are over groups.
        shares: P(level | its group) for each level of these variables.

    Example:
        >>> from jaxbn.model.fit import fit
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> net.tables["size"].tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        >>> net
        BayesNet: 2 variables (1 continuous), 1 arc, fitted to 4 rows, score -5.60
          kind             2 levels
          size <- kind     2 bins
    """

    parents: dict[str, tuple[str, ...]]
    policies: dict[str, Policy]
    levels: dict[str, tuple[Level, ...]]
    tables: dict[str, NDArray[np.float64]]
    bounds: dict[str, tuple[float, float]]
    score: float = float("nan")
    n_rows: int = 0
    alpha: float = 1.0
    groupings: dict[str, Grouping] = field(default_factory=dict)
    shares: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    trace: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, grouping in self.groupings.items():
            check_shares(name, grouping, self.levels.get(name, ()), self.shares.get(name))
        tables = {}
        for name, found in self.parents.items():
            if (name in self.policies) == (name in self.levels):
                raise ValueError(f"variable {name!r} needs either a policy or levels, and not both")
            if name not in self.tables:
                raise ValueError(f"variable {name!r} has no table")
            shape = tuple(self.cardinalities[v] for v in (*found, name))
            table = np.array(self.tables[name], np.float64)
            if table.shape != shape or not np.allclose(table.sum(axis=-1), 1.0) or (table < 0).any():
                raise ValueError(f"the table of {name!r} must be probabilities of shape {shape}, got {table.shape}")
            table.setflags(write=False)
            tables[name] = table
        object.__setattr__(self, "tables", tables)
        for name in self.policies:
            check_edges(name, self.edges(name))
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

    @property
    def codings(self) -> dict[str, Policy | Grouping]:
        """Policies and groupings together, as ``fit`` takes them."""
        return {**self.policies, **self.groupings}

    @cached_property
    def group_codes(self) -> dict[str, NDArray[np.int32]]:
        """Code of the group of each level of a grouped variable, [levels]."""
        return {name: grouping(self.levels[name], name=name) for name, grouping in self.groupings.items()}

    @property
    def graph(self) -> nx.DiGraph:
        """The structure as a ``networkx.DiGraph``."""
        return to_networkx(self.parents)

    def edges(self, name: str) -> NDArray[np.float64]:
        """All edges of a continuous variable, the outer ones included, float64 [bins + 1].

        Example:
            >>> from jaxbn.model.fit import fit
            >>> fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]}).edges("x").tolist()
            [0.0, 2.0, 4.0]
        """
        if name not in self.policies:
            raise ValueError(f"{name!r} is no continuous variable of the network; {suggest(name, self.policies)}")
        low, high = self.bounds[name]
        return np.array([low, *self.policies[name].edges, high])

    def state_labels(self, name: str) -> tuple[str, ...]:
        """Names of a variable's states in exported networks, unique, letters, digits and underscores only.

        Example:
            >>> from jaxbn.model.fit import fit
            >>> fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [0.5, 2.0]}).state_labels("x")
            ('below_0_5', '0_5_to_2', 'from_2')
        """
        from jaxbn.formats.labels import state_labels

        return state_labels(self, name)

    def log_likelihood(
        self, data: Any, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> NDArray[np.float64]:
        """Log density of each row in original units.

        ln P(codes) minus ln width of the bin of each continuous value, plus ln P(level | group) of each grouped one.
        Missing entries (NaN, None) are integrated out exactly. A bin without width (of a constant column, or of a cut
        at the largest value) is an atom: it contributes its probability alone.

        Args:
            data: rows with every variable as a column; other columns are ignored.
            unknown: levels that were not fitted: ``"error"``, or ``"missing"`` to treat them as missing.
            max_memory: bytes that one array may take.

        Returns:
            float64 [rows].

        Example:
            >>> from jaxbn.model.fit import fit
            >>> net = fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]})
            >>> np.exp(net.log_likelihood({"x": [0.5, 3.0, None]})).round(6).tolist()
            [0.3, 0.2, 1.0]
        """
        return answers.log_likelihood(self, data, unknown, max_memory)

    def query(
        self, targets: str | Sequence[str], evidence: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> pd.Series:
        """Exact posterior of one or several variables.

        Args:
            targets: a variable, or several for their joint distribution.
            evidence: what is known, in original units: a value or level; a set or list of them; for a continuous
                variable also an interval ``(low, high)`` (None: open) or a ``pandas.Interval``, weighed by the share of
                each bin that it covers. What lies outside the fitted range falls into the outer bin.
            max_memory: refuse with a MemoryError when one array would take more bytes than this.

        Returns:
            Probabilities, which sum to 1, indexed by level or left-closed interval; a MultiIndex for several targets.
            Levels of a grouped variable share the probability of their group.

        Example:
            >>> from jaxbn.model.fit import fit
            >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
            >>> net = fit(data, [("kind", "size")], {"size": [4.5]})
            >>> net.query("kind", {"size": 1.5})
            kind
            a    0.75
            b    0.25
            Name: probability, dtype: float64
            >>> float(net.query("size", {"kind": "b"})[8.0])
            0.75
        """
        return answers.query(self, targets, evidence or {}, max_memory)

    def density(
        self, target: str, evidence: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior density of a continuous variable: its edges [bins + 1] and the density inside each bin [bins].

        Example:
            >>> from jaxbn.model.fit import fit
            >>> edges, density = fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]}).density("x")
            >>> edges.tolist(), density.tolist()
            ([0.0, 2.0, 4.0], [0.3, 0.2])
        """
        return answers.density(self, target, evidence or {}, max_memory)

    def predict_proba(
        self, data: Any, target: str, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> pd.DataFrame:
        """Posterior of one variable for every row, given all the others.

        Missing entries and absent columns are summed out exactly; the target's own column, if there, is not looked at.

        Args:
            data: rows; columns that are no variables are ignored.
            target: the variable to predict.
            unknown: levels that were not fitted: ``"error"``, or ``"missing"`` to treat them as missing.
            max_memory: bytes that one array may take.

        Returns:
            Probabilities [rows, states], columns as in the index of ``query``, rows as in ``data``.

        Example:
            >>> from jaxbn.model.fit import fit
            >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
            >>> net = fit(data, [("kind", "size")], {"size": [4.5]})
            >>> net.predict_proba({"size": [1.5, None]}, "kind")
            kind     a     b
            0     0.75  0.25
            1     0.50  0.50
        """
        return answers.predict_proba(self, data, target, unknown, max_memory)

    def predict(
        self, data: Any, target: str, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> pd.Series:
        """Most probable level, or interval, of one variable for every row; see ``predict_proba``.

        Example:
            >>> from jaxbn.model.fit import fit
            >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
            >>> fit(data, [("kind", "size")], {"size": [4.5]}).predict({"size": [1.5, 8.0]}, "kind").tolist()
            ['a', 'b']
        """
        return answers.predict(self, data, target, unknown, max_memory)

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> pd.DataFrame:
        """Draw rows in original units: parents first, then a value inside its bin, uniformly, or a level of its group.

        Example:
            >>> from jaxbn.model.fit import fit
            >>> fit({"x": [0.0, 1.0, 4.0], "up": [True, False, True]}, {}, {"x": [2.0]}).sample(2).dtypes.tolist()
            [dtype('float64'), dtype('bool')]
        """
        return answers.sample(self, n, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network as JSON, which ``jaxbn.load`` reads back bit for bit.

        Example:
            >>> import tempfile
            >>> import jaxbn
            >>> net = jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     net.save(f"{folder}/net.json")
            ...     jaxbn.load(f"{folder}/net.json").tables["x"].tolist()
            [0.6, 0.4]
        """
        from jaxbn.formats.json_file import save

        save(self, path)

    def to_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the BIF format; names and states are reduced to letters, digits and underscores.

        ``jaxbn.read_bif`` restores the original ones.

        Example:
            >>> import tempfile
            >>> import jaxbn
            >>> net = jaxbn.fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     net.to_bif(f"{folder}/net.bif")
            ...     jaxbn.read_bif(f"{folder}/net.bif").names
            ('the x',)
        """
        from jaxbn.formats.bif import write_bif

        write_bif(self, path)

    def to_pgmpy(self) -> Any:
        """The network as a ``pgmpy.models.DiscreteBayesianNetwork``; states are named by ``state_labels``.

        Example:
            >>> model = net.to_pgmpy()  # doctest: +SKIP
            >>> model.get_cpds("size")  # doctest: +SKIP
        """
        from jaxbn.formats.export import to_pgmpy

        return to_pgmpy(self)

    def to_pyagrum(self) -> Any:
        """The network as a ``pyagrum.BayesNet``; states are named by ``state_labels``.

        Example:
            >>> model = net.to_pyagrum()  # doctest: +SKIP
            >>> model.cpt("size")  # doctest: +SKIP
        """
        from jaxbn.formats.export import to_pyagrum

        return to_pyagrum(self)

    def plot(self, ax: Axes | None = None, *, strengths: Mapping[tuple[str, str], float] | None = None) -> Axes:
        """Draw the network with matplotlib: a box for each variable with its number of bins, discrete ones shaded.

        Args:
            ax: axes to draw on; new ones by default.
            strengths: share of resamples that have an arc, by (parent, child), written at the arcs.

        Example:
            >>> net.plot().figure.savefig("network.svg")  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_network

        return plot_network(self, ax, strengths=strengths)

    def __repr__(self) -> str:
        return answers.describe(self)

    def _repr_html_(self) -> str:
        from jaxbn.drawing.notebook import network_html

        return network_html(self)


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
