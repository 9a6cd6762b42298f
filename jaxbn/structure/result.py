"""What a search for a structure returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Structure:
    """A structure over columns 0 to N - 1, and what is known about it."""

    parents: tuple[tuple[int, ...], ...]  # of every column, ascending
    score: float  # ln P(codes | structure), with the prior over parent sets where it was asked for
    bound: float  # no structure of the families in question scores more
    proved: bool  # whether no structure within the constraints scores more
    families: int  # scored families that the bound speaks of
    finished: bool = True  # whether the search ended by itself

    @property
    def gap(self) -> float:
        """What another structure of the families in question might score more, in nats."""
        return max(self.bound - self.score, 0.0)
