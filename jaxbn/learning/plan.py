"""The checked arguments of a search for a network: for ``learn``, and for every resample of ``bootstrap``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.table import Table
from jaxbn.learning.checkpoint import fingerprint
from jaxbn.learning.discretize import starting_bins
from jaxbn.learning.k2_runs import K2Runs, given_order, random_orders
from jaxbn.learning.learned import Learned, Watcher
from jaxbn.learning.options import Options
from jaxbn.learning.questions import Learner
from jaxbn.learning.turn_runs import TurnRuns, runs_for
from jaxbn.scores.coded_table import CodedTable
from jaxbn.structure.constraints import Constraints, as_constraints
from jaxbn.structure.search import SEARCHES, ArcSearch, Search


class Runs(Protocol):
    """Numbered runs on one table, in rounds; the best is finished at the end."""

    @property
    def arcs(self) -> ArcSearch | None: ...  # noqa: D102

    @property
    def n_runs(self) -> int: ...  # noqa: D102

    @property
    def n_steps(self) -> int: ...  # noqa: D102

    @property
    def orders(self) -> Sequence[tuple[str, ...]]: ...  # noqa: D102

    def rounds(self) -> Iterator[range]: ...  # noqa: D102

    def learner(self, number: int, found: Mapping[int, Learned], watch: Watcher) -> Learner[Learned]: ...  # noqa: D102

    def again(self, learned: Learned, watch: Watcher) -> Learner[Learned]: ...  # noqa: D102

    def finish(self, best: Learned, watch: Watcher) -> Learner[Learned]: ...  # noqa: D102


class Plan(NamedTuple):
    """Checked arguments of a search."""

    options: Options
    constraints: Constraints
    search: Search
    order: tuple[str, ...] | None
    restarts: int
    seed: int
    initial_bins: int | None
    grouped: tuple[str, ...]
    given: Mapping[str, Binning]

    @classmethod
    def checked(
        cls,
        table: Table,
        options: Options,
        *,
        grouped: tuple[str, ...],
        given: Mapping[str, Binning] | None = None,
        seed: int,
        initial_bins: int | None,
        search: Search = "auto",
        order: Sequence[str] | None = None,
        restarts: int | None = None,
        **limits: Any,
    ) -> Plan:
        """The plan of some options of ``learn``; `limits` are those of ``as_constraints``."""
        constraints = as_constraints(table, **limits)
        checks.one_of("search", search, SEARCHES)
        if order is not None:
            order = given_order(order, table, constraints)
            if search not in ("auto", "k2"):
                raise ArgumentError("order", "is for ", Mention("search", "k2"), f", got search={search!r} with it")
            if restarts is not None and checks.at_least("restarts", restarts, 1) > 1:
                raise ArgumentError(
                    "restarts",
                    f"is {restarts}, but with ",
                    Mention("order"),
                    " there is one run; leave one of them out",
                )
        if initial_bins is not None:
            checks.at_least("initial_bins", initial_bins, 1)
        if options.warm_start and order is None and search != "k2":
            raise ArgumentError(
                "warm_start", "is for ", Mention("search", "k2"), f", got search={search!r}; leave it out"
            )
        chosen: Search = "k2" if order is not None else search
        if options.initial is not None and chosen != "k2":
            raise ArgumentError(
                "initial",
                "is for ",
                Mention("search", "k2"),
                f", got {options.initial!r} with search={search!r}, which begins with bins of both kinds; leave it out",
                value=options.initial,
            )
        return cls(
            options,
            constraints,
            chosen,
            order,
            _default_restarts(table, chosen) if restarts is None else checks.at_least("restarts", restarts, 1),
            checks.at_least("seed", seed, 0),
            initial_bins,
            grouped,
            given or {},
        )

    def coded(self, table: Table) -> CodedTable:
        """A table as the runs see it."""
        limits = self.constraints.max_cells, self.options.flat
        return CodedTable(table, self.grouped, *limits, given=self.given)

    def runs(self, data: CodedTable, stream: int | np.random.Generator | None = None) -> Runs:
        """The runs on a table; `stream` takes the place of the seed."""
        seed = self.seed if stream is None else stream
        data.check_cells({name: self.constraints.required.get(name, ()) for name in data.names})
        if self.search == "k2":
            start = data.start(starting_bins(data.table, self.initial_bins, self.grouped), self.options.start_kind)
            orders = (
                random_orders(data.table, self.constraints, self.restarts, seed) if self.order is None else [self.order]
            )
            return K2Runs(data, start, orders, self.constraints, self.options)
        number = int(seed.integers(2**31)) if isinstance(seed, np.random.Generator) else seed
        prior = self.options.method == "evidence"
        arcs = ArcSearch(data.names, self.constraints, self.search, parent_prior=prior, seed=number)
        return TurnRuns(data, arcs, self.options, self.restarts, number, self.initial_bins)

    def described(self, table: Table) -> dict[str, Any]:
        """What the runs depend on, as JSON can hold it."""
        return {
            "columns": list(table.names),
            "continuous": list(table.continuous),
            "rows": table.n_rows,
            "data": fingerprint(table),
            "search": self.search,
            "max_parents": self.constraints.max_parents,
            "required": {n: list(p) for n, p in self.constraints.required.items()},
            "forbidden": sorted(map(list, self.constraints.forbidden)),
            "max_cells": self.constraints.max_cells,
            "initial_bins": self.initial_bins,
            "group": list(self.grouped),
            **({"cuts": {name: binning.cuts.tolist() for name, binning in self.given.items()}} if self.given else {}),
            **self.options.described(),
        }


def _default_restarts(table: Table, search: Search) -> int:
    """One order for K2, several starts for the turns."""
    return 1 if search == "k2" else runs_for(table.n_rows, len(table.names))


def all_runs(runs: Runs, watch: Watcher) -> Learner[Learned]:
    """Every run of a table one after the other, the best of them finished: for tables that are themselves many."""
    found: dict[int, Learned] = {}
    for numbers in runs.rounds():
        for number in numbers:
            found[number] = yield from runs.learner(number, dict(found), watch)
    best = max(found.values(), key=lambda learned: learned.criterion)
    return (yield from runs.finish(best, watch))
