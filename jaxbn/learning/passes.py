"""Passes over the variables of a network, each coded again given the others (docs/maths.md, "The network loop")."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from jaxbn.counts.codes import Column
from jaxbn.cuts.methods import NO_RATE, Method, Rate
from jaxbn.inputs.graph import Parents, children_of, markov_blanket, topological_order
from jaxbn.learning.questions import Cut, Learner
from jaxbn.scores.coded_table import CodedTable, Coding, Columns, Start, largest_cardinality, same_coding


class Settled(NamedTuple):
    """The result of discretizing a network."""

    columns: dict[str, Column]
    binnings: dict[str, Coding]
    passes: int
    converged: bool
    trace: tuple[float, ...] = ()  # of the evidence, where that is the objective

    @property
    def start(self) -> Start:
        """The start of a further discretization."""
        return Start(self.columns, self.binnings)


def discretize_steps(
    data: CodedTable,
    parents: Parents,
    priority: Sequence[str],
    start: Start,
    options: Method,
    grid: int | None = None,
    refinements: int = 1,
) -> Learner[Settled]:
    """Passes from a start until one changes nothing.

    The variables are visited in the reverse of a topological order, ties broken by `priority`. With a `grid` cuts are
    searched among that many quantile positions only, refined around what was found there.
    """
    start = data.fitting(start, parents)
    columns, binnings = dict(start.columns), dict(start.binnings)
    visits = visiting_order(parents, priority, binnings.keys() - data.given)
    done, changed = 0, True
    while changed and done < options.limit:
        done, changed = done + 1, False
        for name in visits:
            own_rate = NO_RATE if name in data.grouped else options.prior_rate
            binning = yield cut_question(name, parents, columns, own_rate, data.grid(name, grid), refinements)
            changed |= not same_coding(binning, binnings[name])
            binnings[name], columns[name] = binning, data.coded(name, binning)
    return Settled(columns, binnings, done, not changed)


def visiting_order(
    parents: Parents, priority: Sequence[str], coded: Container[str], *, isolated: bool = False
) -> list[str]:
    """The coded variables that have neighbours, or all of them, leaves first."""
    order = topological_order({name: parents[name] for name in priority})
    near = {parent for found in parents.values() for parent in found} | {name for name in order if parents[name]}
    return [name for name in reversed(order) if name in coded and (isolated or name in near)]


def questions_ahead(
    name: str, later: Sequence[str], parents: Parents, quiet: bool, question: Callable[[str], Cut]
) -> Cut:
    """The question for a variable, with the questions for later ones that no earlier answer can change.

    If nothing has changed in this pass yet (`quiet`), probably nothing will: then all later questions are included.
    """
    chosen, touched = [], {name}
    for other in later:
        if quiet or not touched.intersection(markov_blanket(parents, other)):
            chosen.append(question(other))
        touched.add(other)
    return question(name)._replace(ahead=tuple(chosen))


def cut_question(
    name: str, parents: Parents, columns: Columns, rate: Rate, grid: int | None = None, refinements: int = 1
) -> Cut:
    """The question for one variable, given the current columns of the others."""

    def sort(names: Sequence[str]) -> tuple[Column, ...]:
        # in a fixed order, so that equal questions have equal keys in the solver's cache
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
    return Cut(name, sort(parents[name]), tuple(children), float(number), grid, refinements)
