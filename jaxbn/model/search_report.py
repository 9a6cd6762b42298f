"""How a network was found, for those who have to defend it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SearchReport:
    """What is known about a learned network.

    Attributes:
        method: what chose the cuts.
        search: ``"exact"``, ``"orders"`` or ``"k2"``.
        runs: runs that were finished, from different starts or orders; 0 where the first ones were ended early.
        seconds: how long the search took.
        criterion: what the runs were compared by; with ``method="evidence"`` it is F, the log evidence of the table.
        proved: whether no structure within the constraints has a higher score for these cuts.
        gap: nats by which another structure could be better for these cuts, over the families that were looked at;
            None where nothing is known.
        finished: False where Ctrl-C or the time limit ended the search.
        cuts_proved: whether each variable's cuts are proved the best given the rest; False where they are the best that
            refining a grid down to single rows found.
        sample: rows that the runs saw, where the table has too many; the last steps saw all of them.
        rows: rows of a source that is not in memory, None for a table. What is said about arcs and cuts is about these:
            the arcs are the best of the families that came near on the sample, the cuts lie between its values.
        passes: how often a source was read.
        families: families that the arcs were chosen from, counted on all rows of a source; 0 where they are those of
            the sample.
        never: arcs (parent, child) that constraints rule out, between variables that the network links: the range of
            ``net.effect`` leaves out equivalent networks that have one. None where there are none.

    Example:
        >>> print(SearchReport("evidence", "exact", 8, 2.5, -10035.2, True, 0.0))
        best of 8 runs in 2.5 s; its arcs are proved the best for its cuts
    """

    method: str
    search: str
    runs: int
    seconds: float
    criterion: float
    proved: bool = False
    gap: float | None = None
    finished: bool = True
    cuts_proved: bool = True
    sample: int | None = None
    rows: int | None = None
    passes: int | None = None
    families: int | None = None
    never: tuple[tuple[str, str], ...] | None = None

    def __str__(self) -> str:
        runs = {0: "an unfinished run", 1: "one run"}.get(self.runs, f"best of {self.runs} runs")
        text = f"{runs} in {self.seconds:.2g} s" if self.seconds < 10 else f"{runs} in {self.seconds:.0f} s"
        text += "" if self.sample is None else f" on a sample of {self.sample:,} rows"
        text += "" if self.finished else ", ended early"
        if self.rows is not None:
            chosen = f"the best of {self.families} families that came near" if self.families else "those of the sample"
            return (
                f"{text}; in {self.passes} passes over all {self.rows:,} rows its arcs are {chosen}, its cuts refined"
            )
        if self.proved:
            text += "; its arcs are proved the best for its cuts"
            return text if self.cuts_proved else f"{text}, which were refined to single rows on a grid"
        if self.gap is not None:
            better = "" if self.gap < 0.05 else f" by more than {self.gap:,.1f} nats"
            return f"{text}; over the families looked at, no arcs are better for its cuts{better}"
        return f"{text}; K2 does not say how far from the best its arcs are" if self.search == "k2" else text

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them.

        Example:
            >>> SearchReport("evidence", "exact", 8, 2.5, -10035.2, True, 0.0).as_dict()["proved"]
            True
        """
        return asdict(self)
