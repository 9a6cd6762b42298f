"""K2 scores of many families, in batches of similar size; rows that do not fit one device are split over all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.kernels.family_scores import ROWS, family_scores, sharded_family_scores
from jaxbn.runtime.devices import batch_bytes, batch_plan
from jaxbn.runtime.shapes import bucket
from jaxbn.scores.tables import family_counts, k2_score

ROW_BYTES = 12
"""Working memory of a row of a family, in bytes."""

MANY_ROWS = 4096
"""More rows are padded to a multiple of this, fewer to a power of two."""


class Column(NamedTuple):
    """One variable as codes without gaps. Two columns are equal if and only if their keys are."""

    key: int
    codes: NDArray[np.int32]  # [n], -1 where an entry is missing
    n_states: int  # distinct codes observed
    declared: int = 0  # states that a table of the variable has, if these are more: levels and bins without a row

    @property
    def size(self) -> int:
        """States that a table of the variable has."""
        return max(self.n_states, self.declared)

    def taken(self, rows: Any) -> NDArray[np.signedinteger]:
        """The codes of some rows, in as few bits as they need: then more of a long column fits in the cache."""
        return self.codes.astype(narrow(self.n_states))[rows]


def narrow(n_states: int) -> np.dtype[np.signedinteger]:
    """The smallest type for so many codes and -1.

    Example:
        >>> narrow(128), narrow(129)
        (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(n_states, 1))


class Family(NamedTuple):
    """A question: the K2 score of a child with some parents."""

    child: Column
    parents: tuple[Column, ...]

    @property
    def key(self) -> tuple[int, ...]:
        """What the answer depends on."""
        return self.child.key, *sorted(parent.key for parent in self.parents)


class _Shape(NamedTuple):
    """Sizes of a compiled program."""

    rows: int
    cells: int

    @property
    def n_bytes(self) -> int:
        """Memory of one family at work."""
        return 16 * self.cells + ROW_BYTES * self.rows


def score_families(families: Sequence[Family]) -> list[float]:
    """K2 scores, computed in batches of similar size that fit in memory."""
    groups: dict[_Shape, list[int]] = defaultdict(list)
    for i, family in enumerate(families):
        groups[_shape(family)].append(i)
    scores = np.empty(len(families))
    for shape, members in groups.items():
        first = 0
        for count, size in batch_plan(len(members), shape.n_bytes, n_devices=1):
            chosen = members[first : first + count]
            scores[chosen] = _score_batch([families[i] for i in chosen], size, shape)
            first += count
    return [float(score) for score in scores]


def _shape(family: Family) -> _Shape:
    n_cells = int(np.prod([column.n_states for column in (family.child, *family.parents)], dtype=np.int64))
    n = len(family.child.codes)
    return _Shape(bucket(n, 512) if n <= MANY_ROWS else -(-n // MANY_ROWS) * MANY_ROWS, bucket(n_cells, 512, 8))


def _score_batch(families: Sequence[Family], size: int, shape: _Shape) -> NDArray[np.float64]:
    cell = np.full((size, shape.rows), shape.cells, np.int32)
    n_states = np.ones(size, np.int32)
    for i, family in enumerate(families):
        _fill(cell[i, : len(family.child.codes)], family)
        n_states[i] = family.child.n_states
    log_gamma = _log_gamma(shape.rows + bucket(int(n_states.max()), 64) + 1)
    with jax.enable_x64(True):
        return np.asarray(_scores(cell, n_states, log_gamma, shape))[: len(families)]


def _fill(cell: NDArray[np.int32], family: Family) -> None:
    """The joint code of parents and child, the child's changing fastest."""
    cell[:] = 0
    for column in (*family.parents, family.child):
        cell *= np.int32(column.n_states)
        cell += column.codes


@lru_cache(maxsize=8)
def _log_gamma(length: int) -> NDArray[np.float64]:
    """Ln Γ at the whole numbers; entry 0 is not used."""
    return np.asarray(gammaln(np.maximum(np.arange(length), 1)))


def _scores(
    cell: NDArray[np.int32], n_states: NDArray[np.int32], log_gamma: NDArray[np.float64], shape: _Shape
) -> Array:
    """On one device, or with the rows split over all devices if they are too many for one."""
    devices = jax.local_devices()
    if len(devices) == 1 or ROW_BYTES * shape.rows <= batch_bytes():
        return family_scores(cell, n_states, log_gamma, n_cells=shape.cells)
    while shape.rows % len(devices):  # rows are a multiple of a large power of two, or one themselves
        devices = devices[:-1]
    mesh = Mesh(np.array(devices), (ROWS,))
    split = NamedSharding(mesh, PartitionSpec(None, ROWS))  # type: ignore[no-untyped-call]
    return sharded_family_scores(mesh, shape.cells)(jax.device_put(cell, split), n_states, log_gamma)


def first_best(scores: Sequence[float]) -> int:
    """The highest score; of equal ones, up to rounding, the first."""
    top = max(scores)
    return next(i for i, score in enumerate(scores) if score >= top - tolerance(top))


def tolerance(score: float) -> float:
    """The least that an arc must gain: more than rounding."""
    return 1e-11 * (1 + abs(score))


def family_score(child: Column, parents: Sequence[Column]) -> float:
    """The score of a family, always the same to the last bit; rounding in a batch depends on the batch's size.

    It is that of the rows that have the child; those that lack a parent are one more configuration.
    """
    shape = [column.n_states for column in (*parents, child)]
    codes = [column.codes for column in (*parents, child)]
    if min((int(column.min(initial=0)) for column in codes), default=0) >= 0:
        return k2_score(family_counts(codes[-1], codes[:-1], shape))
    known = codes[-1] >= 0
    lacks = known & np.logical_or.reduce([column < 0 for column in codes[:-1]], initial=False)
    has = known & ~lacks
    counts = family_counts(codes[-1][has], [column[has] for column in codes[:-1]], shape)
    apart = np.bincount(codes[-1][lacks], minlength=shape[-1])
    return k2_score(np.concatenate([counts.reshape(-1, shape[-1]), apart[None]]))
