"""Tables of f_r(c) = ln Γ(c + ar) - ln Γ(ar) in whole units, which add up to the same in any order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.cuts.problem import table

SUM_BITS = 49
"""Most bits of a sum over one set; 22 of these and the bits of a tie rule then fit in 63."""

TABLES_KEPT = 2**25
"""Entries of tables of logarithms that are remembered in any case."""


@lru_cache(maxsize=64)
def unit_bits(n_rows: int) -> int:
    """The unit is 2 to the minus this: the smallest with which the score of a family keeps within `SUM_BITS`.

    A sum over n rows is at most ln Γ(2n), as no column has more states than rows and no weight is above 1, and at least
    -n ln 2, as none is below one half (docs/maths.md, "Family scores by sets"). The rest is room for the prior.
    """
    return SUM_BITS - int(gammaln(2 * n_rows + 2) + 64).bit_length()


def count_table(n_rows: int, r: int, weight: float) -> NDArray[np.int64]:
    """f_r at the counts 0 to n, in units."""
    units = np.ldexp(table(weight * r, n_rows + 1), unit_bits(n_rows))
    return np.rint(units, out=units).astype(np.int64)


class CountTables(dict[int, NDArray[np.int64]]):
    """f_r by r, of tables of some rows with a Dirichlet weight a; each is made when it is first asked for.

    Example:
        >>> tables = CountTables(4, 0.5)
        >>> len(tables[2]), len(tables)
        (5, 1)
    """

    def __init__(self, n_rows: int, weight: float) -> None:
        super().__init__()
        self.n_rows, self.weight = n_rows, weight

    def __missing__(self, r: int) -> NDArray[np.int64]:
        self[r] = count_table(self.n_rows, r, self.weight)
        return self[r]

    def keep(self, cardinalities: Sequence[int]) -> None:
        """Forget the others, if they are too large."""
        if len(self) * self.n_rows > TABLES_KEPT:
            for r in self.keys() - set(cardinalities):
                del self[r]
