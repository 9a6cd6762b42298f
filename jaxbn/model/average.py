"""The average of many networks: a mixture that is asked as one network is.

Each network's answer weighs what it gives to what is known. Networks have bins of their own; answers about a continuous
variable are over the bins between the cuts of all. Shapes: M networks, B rows, U bins between all cuts of a variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from jaxbn.cuts.shapes.inside import InsideBins
from jaxbn.cuts.words import bin_words
from jaxbn.inputs import checks
from jaxbn.inputs.columns import Level
from jaxbn.inputs.later import pd
from jaxbn.inputs.table import as_frame
from jaxbn.inputs.units import from_numbers
from jaxbn.model import queries
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.effects import in_units, mean_where_set, open_parents, with_drawn_tables
from jaxbn.model.inference.questions import log_chance
from jaxbn.model.lines.rows import lean_of_rows
from jaxbn.model.observations import Unknown, as_given, as_numbers, observation_weights
from jaxbn.model.rows.sampling import InFiles
from jaxbn.runtime.deprecated import old_keywords
from jaxbn.runtime.memory import MAX_MEMORY, within_memory


@dataclass(frozen=True, repr=False)
class AverageNet(InFiles):
    """Many networks over the same variables, each with the same weight: their average density.

    Made by ``jaxbn.sample_posterior`` or ``jaxbn.bootstrap`` (``.average``), or read by ``jaxbn.load``. An average of
    networks is not a network: it has no arcs or cuts of its own, but it answers as one does. What a network says counts
    by the probability it gives to what is known, so the answers are those of the averaged density. The examples of its
    methods are about the average of the example below.

    Attributes:
        networks: the networks.
        never: arcs (parent, child) that none may have, where arcs point as rows and such constraints say; None where
            they are known to be right, or nothing is known of it.

    Example:
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> nets = [jaxbn.fit(data, {"size": ["kind"]}, {"size": [cut]}) for cut in (4.5, 8.0)]
        >>> average = jaxbn.AverageNet(nets)
        >>> average
        AverageNet: 2 networks of 2 variables (1 continuous), fitted to 4 rows
    """

    networks: tuple[BayesNet, ...]
    never: frozenset[tuple[str, str]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "networks", tuple(self.networks))
        if not self.networks:
            raise checks.ArgumentError("networks", "is empty; an average needs at least one network")
        first = self.networks[0]
        for i, net in enumerate(self.networks):
            if (net.names, net.levels, net.bounds) != (first.names, first.levels, first.bounds):
                raise checks.ArgumentError(
                    "networks",
                    f"must have the same variables, levels and bounds, but network {i} differs from the first; "
                    "fit all of them to the same rows",
                )

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, in column order."""
        return self.networks[0].names

    @within_memory
    def log_likelihood(
        self, data: Any, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> NDArray[np.float64]:
        """Log of the average density of each row in original units, float64 [rows]; see ``BayesNet.log_likelihood``.

        Example:
            >>> np.exp(average.log_likelihood({"kind": ["a"], "size": [1.5]})).round(4).tolist()  # of 0.1071 and 0.0536
            [0.0804]
        """
        frame = as_frame(data)
        logs = [net.log_likelihood(frame, unknown=unknown) for net in self.networks]
        return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))

    @within_memory
    def predict_proba(
        self, data: Any, target: str, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> pd.DataFrame:
        """Probabilities of one variable for every row, given all the others; see ``BayesNet.predict_proba``.

        The bins of a continuous target are those between the cuts of all networks.

        Example:
            >>> average.predict_proba({"size": [1.5]}, "kind").round(3).to_numpy().tolist()
            [[0.692, 0.308]]
        """
        found = [net.predict_proba(data, target, unknown=unknown) for net in self.networks]
        weights = self._weights_of_rows(data, target, unknown)
        each = zip(weights, found, self.networks, strict=True)
        chances = sum(weight[:, None] * (own.to_numpy() @ self._shares(net, target)) for weight, own, net in each)
        chances = np.minimum(chances, 1.0)  # by rounding alone it can be more
        return pd.DataFrame(chances, index=found[0].index, columns=self._states(target))

    @old_keywords({"give": "returns"}, {})
    @within_memory
    def predict(
        self, data: Any, target: str, *, returns: queries.Returns = "state", unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> pd.Series | pd.DataFrame:  # fmt: skip
        """The most probable level of one variable for every row; of a continuous one the interval of highest density.

        For a continuous variable, `returns` may be ``"mean"``, ``"median"``, a quantile or a list of them.

        Example:
            >>> average.predict({"size": [1.5, 8.5]}, "kind").tolist()
            ['a', 'b']
        """
        queries.quantile_levels(returns)  # refuses others
        continuous = target in self.networks[0].binnings
        if continuous and isinstance(returns, str) and returns == "mean":  # of each network by its own bins and lines
            found = [net.predict_proba(data, target, unknown=unknown) for net in self.networks]
            means = [
                queries.means(net.inside(target), each.to_numpy(), lean_of_rows(net, data, target, unknown))
                for net, each in zip(self.networks, found, strict=True)
            ]
            mean = (self._weights_of_rows(data, target, unknown).T * np.column_stack(means)).sum(axis=1)
            unit = self.networks[0].binnings[target].unit
            return pd.Series(from_numbers(mean, unit), index=found[0].index, name=target)
        chances = self.predict_proba(data, target, unknown=unknown)
        # Between the cuts of all networks there is the shape of the first: those of draws are the same.
        inside = InsideBins(self._edges(target), self.networks[0].binnings[target].shape) if continuous else None
        if not (isinstance(returns, str) and returns == "state"):
            return queries.points(self.networks[0], chances, target, returns, inside=inside)
        heights = chances.to_numpy()
        if inside is not None:
            widths = np.diff(inside.edges)
            heights = heights / np.where(widths > 0, widths, np.inf)
        return pd.Series(chances.columns.take(heights.argmax(axis=1)), index=chances.index, name=target)

    @within_memory
    def query(
        self, targets: str | Sequence[str], given: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> pd.Series:
        """Probabilities of one or several variables given some others; see ``BayesNet.query``.

        Example:
            >>> average.query("size").round(3).tolist()  # below 4.5, from 4.5 to 8, from 8 on
            [0.406, 0.351, 0.243]
        """
        given = as_given(given)
        wanted = queries.listed_targets(targets)
        total: Any = 0.0
        for weight, net in zip(self._weights(given), self.networks, strict=True):
            chances = net.query(wanted, given).to_numpy().reshape([len(queries.states(net, n)) for n in wanted])
            for axis, name in enumerate(wanted):
                chances = np.moveaxis(np.tensordot(chances, self._shares(net, name), (axis, 0)), -1, axis)
            total = total + weight * chances
        return queries.as_series(np.asarray(total), [self._states(name) for name in wanted])

    @within_memory
    def density(
        self, target: str, given: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Density of a continuous variable: the edges of all networks [bins + 1] and the density between [bins].

        Example:
            >>> edges, density = average.density("size")
            >>> edges.tolist(), density.round(3).tolist()
            ([1.0, 4.5, 8.0, 9.0], [0.116, 0.1, 0.243])
        """
        found = [net.density(target, given) for net in self.networks]
        edges = np.unique(np.concatenate([own for own, _ in found]))
        middles = (edges[1:] + edges[:-1]) / 2
        total = np.zeros(len(middles))
        for weight, (own, heights) in zip(self._weights(as_given(given)), found, strict=True):
            total += weight * heights[np.searchsorted(own, middles, side="right") - 1]
        return edges, total

    @within_memory
    def effect(
        self,
        cause: str,
        outcome: str,
        *,
        level: Level | None = None,
        coverage: float = 0.9,
        seed: int | np.random.Generator = 0,
        max_memory: float = MAX_MEMORY,
    ) -> pd.DataFrame:
        """The mean of a variable where another one is set; see ``BayesNet.effect`` for when it may be believed.

        Each network answers by its arcs as they point. For the range its tables are drawn from their posterior, so that
        it tells of few rows too. The range of an average from ``sample_posterior`` is also over all directions that
        rows and constraints leave open in each network: chains may hold to one of them for long.

        Returns:
            A row for each level of the cause, or each bin between the cuts of all networks: the ``mean`` over
            the networks, and ``low`` and ``high``, between which the share `coverage` of them lies.

        Example:
            >>> nets = [jaxbn.fit(data, graph, {"size": [4.5]}) for graph in ({"size": ["kind"]}, {"kind": ["size"]})]
            >>> jaxbn.AverageNet(nets).effect("kind", "size")["mean"].tolist()
            [4.25, 5.25]
        """
        if not (isinstance(coverage, int | float | np.floating) and 0 < coverage <= 1):
            raise checks.ArgumentError("coverage", f"must be a share above 0, at most 1, not {coverage!r}")
        rng = np.random.default_rng(seed)
        means, lows, highs = [], [], []
        for net in self.networks:
            own: Any = slice(None)
            if cause in net.binnings:  # of each bin between all cuts, by the network's own bin around it
                own = net.binnings[cause](self._edges(cause)[:-1])
            means.append(mean_where_set(net, cause, outcome, level)[own])
            other = with_drawn_tables(net, rng)
            sets = [None] if self.never is None else open_parents(net, cause, self.never)
            members = [mean_where_set(other, cause, outcome, level, each)[own] for each in sets]
            lows.append(np.min(members, axis=0))
            highs.append(np.max(members, axis=0))
        low, high = np.quantile(lows, (1 - coverage) / 2, axis=0), np.quantile(highs, (1 + coverage) / 2, axis=0)
        columns = {"mean": np.mean(means, axis=0), "low": low, "high": high}
        return pd.DataFrame(in_units(self.networks[0], outcome, columns), index=self._states(cause))

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> pd.DataFrame:
        """Draw rows in original units: a network by chance for each, then a row from it.

        Example:
            >>> len(average.sample(5))
            5
        """
        checks.at_least("n", n, 0)
        rng = np.random.default_rng(seed)
        chosen = rng.integers(len(self.networks), size=n)
        parts = [net.sample(int((chosen == m).sum()), rng) for m, net in enumerate(self.networks)]
        rows = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
        # rows are there network by network: the rank of each choice is the place of its row among them
        order = np.argsort(np.argsort(chosen, kind="stable"), kind="stable")
        return rows.iloc[order].reset_index(drop=True)

    def __repr__(self) -> str:
        first = self.networks[0]
        count = f"{len(self.networks)} network{'s' * (len(self.networks) != 1)}"
        variables = f"{len(self.names)} variable{'s' * (len(self.names) != 1)} ({len(first.binnings)} continuous)"
        return f"AverageNet: {count} of {variables}, fitted to {first.n_rows} rows"

    def _weights_of_rows(self, data: Any, target: str, unknown: Unknown) -> NDArray[np.float64]:
        """The weight of each network in each row: its density of the row without the target [M, B]."""
        frame = as_frame(data)
        hidden = {name: np.nan for name in self.names if name == target or name not in frame.columns}
        frame = frame.assign(**hidden)
        logs = np.array([net.log_likelihood(frame, unknown=unknown) for net in self.networks])
        return np.asarray(softmax(logs, axis=0))

    def _weights(self, given: Mapping[str, Any]) -> NDArray[np.float64]:
        """The weight of each network [M] given some variables: a value counts by its density, a range by its chance."""
        if not given:
            return np.full(len(self.networks), 1 / len(self.networks))
        logs = np.array([_log_given(net, given) for net in self.networks])
        if not np.isfinite(logs).any():
            raise ValueError(f"what is given on {', '.join(map(repr, given))} has probability 0 under all networks")
        return np.asarray(softmax(logs))

    def _edges(self, name: str) -> NDArray[np.float64]:
        """The edges of all networks together [U + 1], the outer ones included."""
        low, high = self.networks[0].bounds[name]
        inner = np.unique(np.concatenate([net.binnings[name].cuts for net in self.networks]))
        return np.array([low, *inner, high])

    def _states(self, name: str) -> pd.Index:
        """Levels, or the intervals between all cuts."""
        first = self.networks[0]
        if name not in first.binnings:
            return queries.states(first, name)
        inner, unit = self._edges(name)[1:-1], first.binnings[name].unit
        if unit.kind != "number":
            return pd.Index(bin_words(inner.tolist(), *first.bounds[name], unit), name=name)
        return queries.intervals(first, name, inner)

    def _shares(self, net: BayesNet, name: str) -> NDArray[np.float64]:
        """How a network's probability of each of its states is shared among the common ones [own states, U]."""
        if name not in net.binnings:
            return np.eye(len(net.levels[name]))
        edges, own = self._edges(name), net.inside(name)
        of = net.binnings[name](edges[:-1])
        shares = np.zeros((len(own.measures), len(of)))
        shares[of, np.arange(len(of))] = np.diff(own.below(edges))
        totals = shares.sum(axis=1, keepdims=True)
        atoms = (totals == 0) & (np.arange(len(own.measures))[:, None] == of)  # bins without measure are as they are
        shares = np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), atoms)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _log_given(net: BayesNet, given: Mapping[str, Any]) -> float:
    """The log probability of what is given; of numbers in one bin, their log density."""
    weights = observation_weights(net, given)
    for name, value in given.items():
        numbers = as_numbers(net, name, value)
        if numbers is not None and np.count_nonzero(weights[name]) == 1:
            density = np.exp(net.inside(name).log_density(numbers, net.binnings[name](numbers)))
            weights[name] = weights[name] * float(density.mean())
    return log_chance(net, weights)
