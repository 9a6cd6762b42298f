"""Discretize every continuous variable of a network whose structure is known (design section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jaxbn import checks
from jaxbn.coded import CodedTable, Column, Columns, Start, initial_bins, largest_cardinality
from jaxbn.columns import suggest
from jaxbn.graph import as_parents, check_table_sizes, children_of, markov_blanket, topological_order
from jaxbn.policy import Policy
from jaxbn.table import as_frame, as_table
from jaxbn.variable import METHODS
from jaxbn.work import Cut, Learner, Workshop, run_alone

if TYPE_CHECKING:
    import pandas as pd

Rate = float | Literal["network", "blanket"]
Parents = Mapping[str, Sequence[str]]


class Settled(NamedTuple):
    """What a discretization of a network ends with."""

    columns: dict[str, Column]
    policies: dict[str, Policy]
    passes: int
    converged: bool

    @property
    def start(self) -> Start:
        """The point from which a further discretization can go on."""
        return Start(self.columns, self.policies)


@dataclass(frozen=True, eq=False)
class Discretization:
    """Cuts of all continuous variables of a network.

    Attributes:
        policies: a policy for each continuous variable, in column order.
        passes: passes made over the variables.
        converged: whether the last pass changed no cut.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> jaxbn.discretize(iris.frame, iris.structures["paper"])
        Discretization: 4 continuous variables, 2 passes, converged
          sepal_length    3 bins  5.45 6.15
          sepal_width     3 bins  2.95 3.35
          petal_length    3 bins  2.45 4.75
          petal_width     3 bins  0.8 1.75
    """

    policies: dict[str, Policy]
    passes: int
    converged: bool

    def transform(self, data: Any) -> pd.DataFrame:
        """The data with every continuous column replaced by the codes of its bins, int32; other columns stay.

        Values beyond the range of the original data fall into the outer bins.

        Args:
            data: rows with every continuous variable as a column.

        Returns:
            A new DataFrame [rows, columns of the data].

        Example:
            >>> found = Discretization({"x": Policy([1.0, 2.5])}, passes=1, converged=True)
            >>> found.transform({"x": [0.0, 1.0, 9.0], "kind": ["a", "b", "a"]})["x"].tolist()
            [0, 1, 2]
        """
        frame = as_frame(data)
        for name in self.policies:
            if name not in frame.columns:
                raise ValueError(f"the data has no column {name!r}; {suggest(name, frame)}")
        codes = {
            name: policy(checks.numbers(f"column {name!r}", frame[name])) for name, policy in self.policies.items()
        }
        return frame.assign(**codes)

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        lines = [f"Discretization: {len(self.policies)} continuous variables, {self.passes} passes, {state}"]
        width = max((len(name) for name in self.policies), default=0)
        for name, policy in self.policies.items():
            edges = " ".join(f"{edge:g}" for edge in policy.edges) or "no cuts"
            lines.append(f"  {name:<{width}}  {policy.n_bins:>3} bins  {edges}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from jaxbn.notebook import policies_html

        state = "converged" if self.converged else "not converged"
        return policies_html(self.policies, f"{self.passes} passes, {state}")


def discretize(
    data: Any,
    graph: Any,
    *,
    continuous: Sequence[str] | None = None,
    method: str = "bayesian",
    rate: Rate = "network",
    initial_bins: int | None = None,
    max_passes: int = 10,
    missing: Literal["error", "drop"] = "error",
) -> Discretization:
    """Cut all continuous variables of a network, each given its Markov blanket, until nothing changes.

    A pass visits the variables from the leaves to the roots; each is cut by the exact optimum given the current bins of
    the others. A variable without neighbours keeps its bins of equal width.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph``, or ``(parent, child)`` pairs.
        continuous: the continuous columns; inferred if not given (see ``jaxbn.table.as_table``).
        method: ``"bayesian"`` or ``"mdl"``.
        rate: L of the prior: ``"network"``, the largest cardinality of all variables; ``"blanket"``, that of the Markov
            blanket; or a number.
        initial_bins: bins of the equal-width start; by default the largest cardinality of the discrete variables.
        max_passes: most passes made.
        missing: ``"error"`` or ``"drop"``.

    Returns:
        The policies, the passes made, and whether the last one changed nothing.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.discretize(iris.frame, iris.structures["paper"])
        >>> found.policies["petal_length"].edges.round(2).tolist()
        [2.45, 4.75]
    """
    table = as_table(data, continuous=continuous, missing=missing)
    parents = as_parents(graph, table.names)
    options = check_options(method=method, rate=rate, max_passes=max_passes)
    coded = CodedTable(table)
    start = coded.start(starting_bins(table, initial_bins))
    check_table_sizes(parents, {name: column.n_states for name, column in start.columns.items()})
    steps = discretize_steps(coded, parents, table.names, start, options.rate, options.max_passes)
    found = run_alone(steps, Workshop(coded, options.method))
    return Discretization({n: found.policies[n] for n in table.continuous}, found.passes, found.converged)


class Options(NamedTuple):
    """Checked options of a discretization."""

    method: str
    rate: Rate
    max_passes: int


def check_options(*, method: str, rate: Rate, max_passes: int) -> Options:
    """Refuse what is not an option, by name."""
    checks.one_of("method", method, METHODS)
    if isinstance(rate, str):
        if rate not in ("network", "blanket"):
            raise ValueError(f"rate must be 'network', 'blanket' or a number above zero, got {rate!r}")
    else:
        rate = checks.positive("rate", rate)
    return Options(method, rate, checks.at_least("max_passes", max_passes, 1))


def starting_bins(table: Any, given: int | None) -> int:
    """Bins of the equal-width start."""
    return initial_bins(table) if given is None else checks.at_least("initial_bins", given, 1)


def discretize_steps(
    data: CodedTable, parents: Parents, priority: Sequence[str], start: Start, rate: Rate, max_passes: int
) -> Learner[Settled]:
    """Passes from a start until one changes nothing.

    The variables are visited in the reverse of a topological order, ties broken by `priority`.
    """
    columns, policies = dict(start.columns), dict(start.policies)
    visits = _visits(parents, priority, policies)
    for done in range(max_passes):
        changed = False
        for name in visits:
            policy = yield _cut(name, parents, columns, rate)
            changed |= not np.array_equal(policy.edges, policies[name].edges)
            policies[name], columns[name] = policy, data.coded(name, policy)
        if not changed:
            return Settled(columns, policies, done + 1, True)
    return Settled(columns, policies, max_passes, False)


def _visits(parents: Parents, priority: Sequence[str], continuous: Mapping[str, Any]) -> list[str]:
    """Continuous variables that have neighbours, leaves first."""
    order = topological_order({name: parents[name] for name in priority})
    has_children = {parent for found in parents.values() for parent in found}
    return [name for name in reversed(order) if name in continuous and (parents[name] or name in has_children)]


def _cut(name: str, parents: Parents, columns: Columns, rate: Rate) -> Cut:
    """The question for one variable, given the current columns of the others."""

    def sort(names: Sequence[str]) -> tuple[Column, ...]:
        return tuple(sorted((columns[other] for other in names), key=lambda column: column.key))

    children = [
        (columns[child], sort([other for other in parents[child] if other != name]))
        for child in children_of(parents)[name]
    ]
    children.sort(key=lambda family: (family[0].key, [spouse.key for spouse in family[1]]))
    if rate == "network":
        number = largest_cardinality(columns)
    elif rate == "blanket":
        number = largest_cardinality(columns, markov_blanket(parents, name))
    else:
        number = rate  # type: ignore[assignment]
    return Cut(name, sort(parents[name]), tuple(children), float(number))
