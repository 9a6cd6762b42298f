"""The checked arguments of a search for a network: for ``learn``, and for every resample of ``bootstrap``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import Method
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS
from jaxbn.inputs.table import Table
from jaxbn.learning.checkpoint import fingerprint
from jaxbn.learning.columns import Columns
from jaxbn.learning.discretize import first_bins
from jaxbn.learning.k2 import K2Runs, given_order, random_orders
from jaxbn.learning.learned import Learned, Watcher
from jaxbn.learning.options import K2, Orders, Search, search_name
from jaxbn.learning.questions import Learner
from jaxbn.learning.turn_runs import TurnRuns, begin_at, runs_for
from jaxbn.model.bayesnet import BayesNet
from jaxbn.scores.coded_table import CodedTable
from jaxbn.structure.constraints import Constraints, Rules, as_constraints
from jaxbn.structure.search import ArcSearch


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

    options: Method
    rules: Rules
    search: str
    k2: K2
    orders: Orders
    restarts: int
    seed: int
    merged: tuple[str, ...]
    given: Mapping[str, Binning]
    begin: BayesNet | None = None

    @classmethod
    def checked(
        cls,
        table: Table,
        method: Method,
        *,
        columns: Columns,
        seed: int,
        search: Search = "auto",
        constraints: Constraints | None = None,
        max_parents: int = 3,
        max_cells: int = MAX_TABLE_CELLS,
        restarts: int | None = None,
    ) -> Plan:
        """The plan of some options of ``learn``."""
        rules = as_constraints(constraints).rules(table, max_parents, max_cells)
        if rules.links and method.name != "evidence":
            rest = f", got method {method.name!r}; leave it out, or put arcs into required or forbidden"
            raise ArgumentError("links", "is for ", Mention("method", "evidence"), rest)
        name = search_name(search)
        k2 = search if isinstance(search, K2) else K2()
        if restarts is None:
            restarts = 1 if name == "k2" else runs_for(table.n_rows, len(table.names))
        checks.at_least("restarts", restarts, 1)
        if k2.order is not None:
            k2 = replace(k2, order=given_order(k2.order, table, rules))
            if restarts > 1:
                rest = " there is one run; leave one of them out"
                raise ArgumentError("restarts", f"is {restarts}, but with ", Mention("order"), rest)
        if k2.warm_start and method.name == "evidence":
            users = (Mention("method", "bayesian"), " or ", Mention("method", "mdl"))
            raise ArgumentError("warm_start", "is for ", *users, ", got True with method 'evidence'; leave it out")
        if method.initial is not None and name != "k2":
            raise ArgumentError(
                "initial",
                "is for ",
                Mention("search", "k2"),
                f", got {method.initial!r} with search={name!r}, which begins with bins of both kinds; leave it out",
                value=method.initial,
            )
        orders = search if isinstance(search, Orders) else Orders()
        checks.at_least("seed", seed, 0)
        return cls(
            method, rules, name, k2, orders, restarts, seed, columns.merged(table), columns.binnings(table)
        )  # fmt: skip

    def coded(self, table: Table) -> CodedTable:
        """A table as the runs see it."""
        return CodedTable(table, self.merged, self.rules.max_cells, self.options.flat, given=self.given)

    def runs(self, data: CodedTable, stream: int | np.random.Generator | None = None) -> Runs:
        """The runs on a table; `stream` takes the place of the seed."""
        seed = self.seed if stream is None else stream
        data.check_cells(self.rules.start)
        if self.search == "k2":
            start = first_bins(data, self.options)
            given = self.k2.order
            orders = random_orders(self.rules, self.restarts, seed) if given is None else [tuple(given)]
            return K2Runs(data, start, orders, self.rules, self.options, self.k2.warm_start)
        number = int(seed.integers(2**31)) if isinstance(seed, np.random.Generator) else seed
        prior = self.options.name == "evidence"
        limits = self.orders.starts, self.orders.patience
        arcs = ArcSearch(data.names, self.rules, self.search, parent_prior=prior, seed=number, orders=limits)
        begin = None if self.begin is None else begin_at(self.begin, data, self.rules)
        return TurnRuns(data, arcs, self.options, self.restarts, number, begin)

    def described(self, table: Table) -> dict[str, Any]:
        """What the runs depend on, as JSON can hold it."""
        return {
            "columns": list(table.names),
            "continuous": list(table.continuous),
            "rows": table.n_rows,
            "data": fingerprint(table),
            "search": self.search,
            "max_parents": self.rules.max_parents,
            "required": {n: list(p) for n, p in self.rules.required.items()},
            "forbidden": sorted(map(list, self.rules.forbidden)),
            "max_cells": self.rules.max_cells,
            "merge_levels": list(self.merged),
            "warm_start": bool(self.k2.warm_start),
            "orders": [self.orders.starts, self.orders.patience],
            **({"cuts": _cuts(self.given)} if self.given else {}),
            **({"links": self.rules.listed_links} if self.rules.links else {}),
            **({} if self.begin is None else {"start": [self.begin.arcs, _cuts(self.begin.binnings)]}),
            **self.options.described(),
        }


def _cuts(binnings: Mapping[str, Binning]) -> dict[str, list[float]]:
    return {name: binning.cuts.tolist() for name, binning in binnings.items()}


def all_runs(runs: Runs, watch: Watcher) -> Learner[Learned]:
    """Every run of a table one after the other, the best of them finished: for tables that are themselves many."""
    found: dict[int, Learned] = {}
    for numbers in runs.rounds():
        for number in numbers:
            found[number] = yield from runs.learner(number, dict(found), watch)
    best = max(found.values(), key=lambda learned: learned.criterion)
    return (yield from runs.finish(best, watch))
