"""Discretize every continuous variable of a network whose structure is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import MaxBins, Method, as_method
from jaxbn.cuts.words import cut_words
from jaxbn.groups.grouping import Grouping
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.columns import as_floats
from jaxbn.inputs.frames import in_kind_of
from jaxbn.inputs.graph import MAX_TABLE_CELLS, GraphLike, as_parents, check_max_cells
from jaxbn.inputs.table import DataLike, Missing, as_frame
from jaxbn.inputs.units import NUMBER
from jaxbn.learning.columns import Columns, as_columns
from jaxbn.learning.large import Large
from jaxbn.learning.options import old_keywords
from jaxbn.learning.passes import Passes
from jaxbn.learning.solver import run_alone
from jaxbn.model.observations import bins_of
from jaxbn.runtime import limits
from jaxbn.runtime.deprecated import old_attribute
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import shaped


@dataclass(frozen=True, eq=False)
class Discretization:
    """Cuts of all continuous variables of a network.

    Attributes:
        binnings: a binning for each continuous variable, in column order.
        passes: passes made over the variables.
        converged: whether the last pass changed no cut.
        groupings: groups of the levels of each discrete variable that has many.
        trace: with ``method="evidence"`` the log evidence at the start and after every change; it never falls.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> jaxbn.discretize(iris.frame, iris.structures["paper"], method="bayesian")
        Discretization: 4 continuous variables, 2 passes, converged
          sepal_length    3 bins  5.45 6.15
          sepal_width     3 bins  2.95 3.35
          petal_length    3 bins  2.45 4.75
          petal_width     3 bins  0.8 1.75
    """

    binnings: dict[str, Binning]
    passes: int
    converged: bool
    groupings: dict[str, Grouping] = field(default_factory=dict)
    trace: tuple[float, ...] = ()

    policies = old_attribute("binnings")

    @property
    def codings(self) -> dict[str, Coding]:
        """Binnings and groupings together, as ``fit`` takes them."""
        return {**self.binnings, **self.groupings}

    def transform(self, data: DataLike) -> Any:
        """The data with every continuous or grouped column replaced by the codes of bins or groups, int32.

        Other columns stay. Values beyond the range of the original data fall into the outer bins, and missing ones have
        the code -1.

        Args:
            data: rows with every continuous variable as a column.

        Returns:
            A new DataFrame [rows, columns of the data], of the library that the data are of.

        Example:
            >>> found = Discretization({"x": Binning([1.0, 2.5])}, passes=1, converged=True)
            >>> found.transform({"x": [0.0, 1.0, 9.0], "kind": ["a", "b", "a"]})["x"].tolist()
            [0, 1, 2]
        """
        frame = as_frame(data)
        codes = {}
        for name, coding in self.codings.items():
            if name not in frame.columns:
                raise ValueError(f"the data has no column {name!r}; {suggest(name, frame)}")
            if isinstance(coding, Grouping):
                codes[name] = coding(frame[name], name=name)
            else:
                codes[name] = bins_of(coding, as_floats(name, frame[name], coding.unit))
        return in_kind_of(data, frame.assign(**codes))

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        count = f"{len(self.binnings)} continuous variables"
        count += f", {len(self.groupings)} grouped" if self.groupings else ""
        lines = [f"Discretization: {count}, {self.passes} passes, {state}"]
        width = max((len(name) for name in self.codings), default=0)
        for name, binning in self.binnings.items():
            bins = f"{binning.n_bins:>3} bins  {cut_words(binning, ' ')}" if binning.is_cut else "not cut"
            lines.append(f"  {name:<{width}}  {bins}")
        for name, grouping in self.groupings.items():
            lines.append(f"  {name:<{width}}  {grouping.n_groups:>3} groups of {len(grouping.levels)} levels")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from jaxbn.drawing.notebook import binnings_html

        state = "converged" if self.converged else "not converged"
        return binnings_html(self.codings, f"{self.passes} passes, {state}")


@old_keywords
@limits.within()
def discretize(
    data: DataLike,
    graph: GraphLike,
    *,
    method: str | Method = "evidence",
    max_bins: MaxBins = "auto",
    max_cells: int = MAX_TABLE_CELLS,
    columns: Columns | Mapping[str, str] | None = None,
    missing: Missing = "infer",
) -> Discretization:
    """Cut all continuous variables of a network, each given its Markov blanket, until nothing changes.

    A pass visits the variables from the leaves to the roots; each is cut by the exact optimum given the current bins of
    the others. A variable without neighbours keeps the bins of the start, except with ``"evidence"``: there every
    change raises one number, the evidence of the data in original units, so that the passes always come to an end; they
    begin with the best of three plain starts, unless ``initial_bins`` says otherwise.

    Args:
        data: a DataFrame, or a dict of columns.
        graph: ``{child: [parents]}``, a ``networkx.DiGraph``, or ``(parent, child)`` pairs.
        method: ``"evidence"``, ``"bayesian"`` or ``"mdl"``; with options, ``jaxbn.Evidence(min_width=...)``,
            ``jaxbn.Bayesian(rate=...)`` or ``jaxbn.MDL(...)``.
        max_bins: with ``"evidence"``, most bins of a column: a number, ``{column: number}`` (None there, or alone, for
            no limit); by default 8, which people can read. The optimum is exact under the limit.
        max_cells: most cells of the table of a variable with its parents; bins and groups are few enough for that.
        columns: what is known about columns: ``{"age": "continuous", "grade": "discrete"}``, or ``jaxbn.Columns(...)``.
            Others are inferred, see ``jaxbn.as_table``.
        missing: what to do about missing entries, see ``jaxbn.as_table``. With ``"infer"`` each factor of a variable's
            cost uses the rows that have all of it, and the optimum is exact, see ``jaxbn.discretize_variable``.

    Returns:
        The binnings, the passes made, and whether the last one changed nothing.

    Example:
        >>> iris = jaxbn.datasets.load("iris")
        >>> found = jaxbn.discretize(iris.frame, iris.structures["paper"], method="bayesian")
        >>> found.binnings["petal_length"].cuts.round(2).tolist()
        [2.45, 4.75]
    """
    columns = as_columns(columns)
    large = Large.of(data, missing=missing)
    table, columns = (columns.table(data, missing), columns) if large is None else large.table(columns, missing)
    parents = as_parents(graph, table.names)
    options = as_method(method, max_bins, table.continuous)
    merged, given = columns.merged(table), columns.binnings(table)
    coded = CodedTable(table, merged, check_max_cells(max_cells), options.flat, given=given)
    coded.check_cells(parents)
    passes = Passes(coded, options)
    found = run_alone(passes.settle_best(parents), passes.solver)
    if large is not None and large.is_sampled and options.name == "evidence":
        found = large.refined(coded, parents, found, options)
    binnings, groupings = split_codings(shaped(coded, found.binnings), table.names)
    binnings = {name: binning.in_unit(table.units.get(name, NUMBER)) for name, binning in binnings.items()}
    return Discretization(binnings, found.passes, found.converged, groupings, found.trace)


def split_codings(
    codings: Mapping[str, Coding], names: Sequence[str]
) -> tuple[dict[str, Binning], dict[str, Grouping]]:
    """The binnings and the groupings among some codings, in the order of the names."""
    binnings = {n: c for n in names if isinstance(c := codings.get(n), Binning)}
    return binnings, {n: c for n in names if isinstance(c := codings.get(n), Grouping)}
