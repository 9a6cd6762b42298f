"""Columns of codes as the searches for structures take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

import numpy as np

from jaxbn.counts.codes import Column
from jaxbn.inputs.graph import MAX_TABLE_CELLS
from jaxbn.structure.constraints import Rules

_KEYS = count()


def coded(codes: np.ndarray) -> Column:
    """A column with a key of its own; codes are made dense."""
    distinct, dense = np.unique(codes, return_inverse=True)
    return Column(next(_KEYS), dense.astype(np.int32), len(distinct))


def random_columns(rng: np.random.Generator, n_columns: int, n_rows: int, *, most_states: int = 4) -> list[Column]:
    """Columns that depend on one to three others before them, with noise; sometimes a copy or a constant."""
    columns: list[np.ndarray] = []
    for i in range(n_columns):
        states = int(rng.integers(2, most_states + 1))
        kind = rng.random()
        if kind < 0.04:
            columns.append(np.zeros(n_rows, int))
        elif kind < 0.08 and i:
            columns.append((columns[rng.integers(i)] + 1) % states)
        else:
            chosen = rng.choice(i, min(i, int(rng.integers(0, 4))), replace=False) if i else []
            signal = sum((columns[j] for j in chosen), np.zeros(n_rows, int)) * int(rng.integers(1, 3))
            noise = rng.integers(0, states, n_rows)
            columns.append(np.where(rng.random(n_rows) < 0.35, noise, signal % states))
    order = rng.permutation(n_columns)
    return [coded(columns[i]) for i in order]


def numbered_rules(
    n_states: Sequence[int],
    *,
    max_parents: int,
    required: Mapping[int, Iterable[int]] | None = None,
    forbidden: Iterable[tuple[int, int]] = (),
    max_cells: int | None = None,
    sizes: Sequence[int] | None = None,
) -> Rules:
    """Rules for columns by number."""
    names = tuple(map(str, range(len(n_states))))
    needed = {names[child]: tuple(names[p] for p in parents) for child, parents in (required or {}).items()}
    banned = frozenset((names[parent], names[child]) for parent, child in forbidden)
    counts = tuple(map(int, n_states)), tuple(map(int, sizes or n_states))
    return Rules(names, max_parents, needed, banned, max_cells or MAX_TABLE_CELLS, *counts)
