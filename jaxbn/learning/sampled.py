"""A source looked at once: its rows by a sample in memory and by counts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.methods import Method
from jaxbn.inputs.columns import MAX_INTEGER_LEVELS
from jaxbn.inputs.graph import Parents
from jaxbn.inputs.missing import Missing, refused
from jaxbn.learning.all_rows import AllRows, Standing, refined
from jaxbn.learning.columns import Columns
from jaxbn.learning.passes import Settled
from jaxbn.runtime.memory import in_words
from jaxbn.runtime.progress import Steps
from jaxbn.scores.coded_table import CodedTable
from jaxbn.scores.density import shaped
from jaxbn.sources.clusters import shared
from jaxbn.sources.counting import Coded, Counting
from jaxbn.sources.source import Source, as_source
from jaxbn.sources.survey import Facts, Survey, threshold
from jaxbn.structure.constraints import Constraints

if TYPE_CHECKING:
    import pandas as pd

LOG = logging.getLogger("jaxbn")

SAMPLE = 5 * 10**5
"""Rows of the sample that a network is searched on; no more are read into memory."""


@dataclass(frozen=True)
class Large:
    """A source and what the first pass over it has found."""

    source: Source
    facts: Facts
    progress: bool = False
    drop: tuple[str, ...] = ()  # rows that lack one of these columns are left out

    @classmethod
    def of(cls, data: Any, *, seed: int = 0, progress: bool = False, missing: Missing = "infer") -> Large | None:
        """The source behind some data, after a first pass over it; None for a table in memory."""
        source = as_source(data)
        if source is None:
            return None
        source = shared(source)
        n_rows = source.n_rows()
        task = Survey(threshold(n_rows, SAMPLE), seed)
        with Steps(progress, n_rows, "rows of pass 1") as bar:
            facts = source.ask(task, bar.done)
        lacking = {name: found.missing for name, found in facts.columns.items() if found.missing}
        if missing == "error" and lacking:
            raise refused(lacking, max(lacking.values()), facts.n_rows)
        return cls(source, facts, progress, tuple(facts.columns) if missing == "drop" else ())

    @property
    def is_sampled(self) -> bool:
        """Whether there are rows that are not in the sample."""
        return self.facts.n_sampled < self.facts.n_rows

    def sample(self, columns: Columns) -> tuple[pd.DataFrame, Columns]:
        """The rows of the sample, and what is known about columns.

        Columns of whole numbers are continuous if all rows hold many, also where the sample holds few.
        """
        named, frame = {*(columns.continuous or ()), *(columns.discrete or ())}, self.facts.sample()
        more = [
            name
            for name, column in self.facts.columns.items()
            if name not in named
            and frame[name].dtype.kind in "iuf"
            and column.n_distinct > MAX_INTEGER_LEVELS >= frame[name].nunique()
        ]
        return frame, replace(columns, continuous=[*(columns.continuous or ()), *more]) if more else columns

    def all_rows(self, data: CodedTable, options: Method) -> AllRows:
        """All rows under given arcs; `data` is the sample."""
        passes = itertools.count(2)
        limits = Constraints().rules(data.table, max_cells=data.max_cells)
        return AllRows(self.facts, data, options, limits, lambda asked: self.count(asked, next(passes)), False, True)

    def refined(self, data: CodedTable, parents: Parents, found: Settled, options: Method) -> Settled:
        """A discretization of the sample, refined on all rows by the evidence."""
        rows, trace = self.all_rows(data, options), list[float]()
        first = Standing({name: tuple(parents[name]) for name in data.names}, shaped(data, found.binnings))
        codings = refined(rows, first, lambda now: trace.append(now.value)).codings
        return Settled(data.recoded(codings).columns, codings, found.passes, found.converged, tuple(trace))

    def count(self, requests: Sequence[Sequence[Coded]], number: int) -> list[NDArray[np.int64]]:
        """The counts of one pass."""
        task = Counting.of_requests(requests, drop=self.drop)
        LOG.info("pass %d: %d tables, %s of counts", number, len(requests), in_words(task.n_bytes))
        with Steps(self.progress, self.facts.n_rows, f"rows of pass {number}") as bar:
            return self.source.ask(task, bar.done)
