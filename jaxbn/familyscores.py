"""K2 scores of many families, in batches of similar size; rows that are too many for one device lie on all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.coded import Column
from jaxbn.devices import batch_bytes, batch_plan
from jaxbn.kernels.scores import family_scores
from jaxbn.kernels.shapes import bucket
from jaxbn.kernels.sharded import ROWS, sharded_family_scores

ROW_BYTES = 12
"""Memory a row of a family takes at work."""


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
    configurations: int
    cells: int

    @property
    def n_bytes(self) -> int:
        """Memory of one family at work."""
        return 8 * (self.cells + self.configurations) + ROW_BYTES * self.rows


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
    n_configurations = int(np.prod([p.n_states for p in family.parents], dtype=np.int64))
    n_cells = n_configurations * family.child.n_states
    return _Shape(bucket(len(family.child.codes), 512), bucket(n_configurations, 64, 8), bucket(n_cells, 512, 8))


def _score_batch(families: Sequence[Family], size: int, shape: _Shape) -> NDArray[np.float64]:
    configuration = np.full((size, shape.rows), shape.configurations, np.int32)
    child = np.zeros((size, shape.rows), np.int32)
    n_states = np.ones(size, np.int32)
    for i, family in enumerate(families):
        n = len(family.child.codes)
        code: NDArray[np.int32] = np.zeros(n, np.int32)
        for parent in family.parents:
            code = code * np.int32(parent.n_states) + parent.codes
        configuration[i, :n], child[i, :n], n_states[i] = code, family.child.codes, family.child.n_states
    log_gamma = gammaln(np.maximum(np.arange(shape.rows + bucket(int(n_states.max()), 64) + 1), 1))
    with jax.enable_x64(True):
        return np.asarray(_scores(configuration, child, n_states, log_gamma, shape))[: len(families)]


def _scores(
    configuration: NDArray[np.int32],
    child: NDArray[np.int32],
    n_states: NDArray[np.int32],
    log_gamma: NDArray[np.float64],
    shape: _Shape,
) -> Array:
    """On one device, or where the rows of one family are too many for it, with the rows split over all."""
    devices = jax.local_devices()
    if len(devices) == 1 or ROW_BYTES * shape.rows <= batch_bytes():
        sizes = {"n_cells": shape.cells, "n_configurations": shape.configurations}
        return family_scores(configuration, child, n_states, log_gamma, **sizes)
    while shape.rows % len(devices):  # rows are a power of two
        devices = devices[:-1]
    mesh = Mesh(np.array(devices), (ROWS,))
    split = NamedSharding(mesh, PartitionSpec(None, ROWS))  # type: ignore[no-untyped-call]
    rows = jax.device_put((configuration, child), split)
    return sharded_family_scores(mesh, shape.cells, shape.configurations)(*rows, n_states, log_gamma)
