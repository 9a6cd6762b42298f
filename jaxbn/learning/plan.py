"""The checked arguments of a search for a network: for ``learn``, and for every resample of ``bootstrap``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.methods import Evidence, Method
from jaxbn.inputs import checks
from jaxbn.inputs.checks import ArgumentError, Mention
from jaxbn.inputs.graph import MAX_TABLE_CELLS
from jaxbn.inputs.table import Table
from jaxbn.learning.checkpoint import cuts_of, described
from jaxbn.learning.columns import Columns
from jaxbn.learning.k2 import K2Runs
from jaxbn.learning.options import K2, Orders, Search, search_name
from jaxbn.learning.passes import Learned
from jaxbn.learning.turns import TurnRuns, runs_for
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.fit import fit
from jaxbn.model.fitted import Alpha
from jaxbn.model.lines.line import Lines
from jaxbn.runtime import limits
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.evidence import arc_charge, shaped
from jaxbn.structure.constraints import Constraints, Rules, as_constraints

Runs = TurnRuns | K2Runs
"""Numbered runs on one table, in rounds; the best is finished at the end."""


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
    lines: Lines = "auto"

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
            rest = f", got {method.initial!r} with search={name!r}, which begins with bins of both kinds; leave it out"
            raise ArgumentError("initial", "is for ", Mention("search", "k2"), rest, value=method.initial)
        orders = search if isinstance(search, Orders) else Orders()
        checks.at_least("seed", seed, 0)
        known = columns.merged(table), columns.binnings(table)
        return cls(method, rules, name, k2, orders, restarts, seed, *known)

    def arc_charge(self, table: Table, n_rows: int | None = None) -> float:
        """Nats that an arc costs a priori in a table, or in the rows it is a sample of; 0 without a prior over arcs."""
        if not isinstance(self.options, Evidence) or self.search == "k2":
            return 0.0
        return arc_charge(n_rows or table.n_rows, bool(table.continuous), self.options.arc_gain)

    def coded(self, table: Table) -> CodedTable:
        """A table as the runs see it."""
        return CodedTable(table, self.merged, self.rules.max_cells, self.options.flat, given=self.given)

    def runs(self, data: CodedTable, stream: int | np.random.Generator | None = None) -> Runs:
        """The runs on a table; `stream` takes the place of the seed."""
        seed = self.seed if stream is None else stream
        data.check_cells(self.rules.start)
        if self.search == "k2":
            return K2Runs(data, self, seed)
        return TurnRuns(data, self, int(seed.integers(2**31)) if isinstance(seed, np.random.Generator) else seed)

    def network(self, data: CodedTable, learned: Learned) -> BayesNet:
        """The fitted network of a learned structure; its score is that of the codes it was learned with."""
        parents = {name: list(learned.parents[name]) for name in data.names}
        codings = {**learned.binnings, **data.given}
        with limits.grace() if limits.over() else nullcontext(), limits.ending_early() as shaping:
            codings = shaped(data, codings)
        data.flat = data.flat or shaping.early  # no time to find shapes
        alpha: Alpha = "auto" if self.options.name == "evidence" else 1.0
        fitted = partial(fit, data.table, parents, codings, alpha=alpha, inside_bins=True, lines=self.lines)
        with limits.grace() if limits.over() else nullcontext(), limits.ending_early() as ending:
            net = fitted()
        if ending.early:
            with limits.grace():
                net = fitted()
        if data.table.holes:  # score and trace are those of a completion; `net.em_trace` is that of what was observed
            return net
        score = net.score if math.isnan(learned.score) else learned.score
        return replace(net, score=score, trace=learned.trace)

    def described(self, table: Table) -> dict[str, Any]:
        """What the runs depend on, as JSON can hold it."""
        return {
            **described(table, self.rules, self.merged, self.given),
            "search": self.search,
            # runs of K2 are known by their orders
            **({} if self.search == "k2" else {"seed": self.seed}),
            "warm_start": bool(self.k2.warm_start),
            "orders": [self.orders.starts, self.orders.patience],
            **({} if self.begin is None else {"start": [self.begin.arcs, cuts_of(self.begin.binnings)]}),
            **self.options.described(),
        }


def given_order(order: Sequence[str], table: Table, rules: Rules) -> tuple[str, ...]:
    """An order that names every column once, with the parents of required arcs first."""
    names = [str(name) for name in order]
    for name in names:
        checks.known_name("order", name, table.names)
        if names.count(name) > 1:
            raise ArgumentError("order", f"names {name!r} {names.count(name)} times; name every column once")
    missing = [name for name in table.names if name not in names]
    if missing:
        raise ArgumentError("order", f"leaves out {', '.join(map(repr, missing))}; name every column once")
    for child, found in rules.required.items():
        for parent in found:
            if names.index(parent) > names.index(child):
                why = f"has {child!r} before {parent!r}, but the arc {parent!r} -> {child!r} is required"
                raise ArgumentError("order", f"{why}; exchange them")
    return tuple(names)
