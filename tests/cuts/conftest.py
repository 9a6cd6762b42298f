"""Few programs for the tests of this room: one takes seconds to compile and milliseconds to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jaxbn.cuts import solve
from jaxbn.runtime.shapes import PrunedShape, pruned_shape

ROWS, TERMS, CELLS, WEIGHT = 4096, 16, 128, 12_000
"""Smaller problems are padded to a bucket of these; padding is neutral (tests/cuts/test_buckets.py)."""


def shared_shape(n_rows: int, n_terms: int, n_cells: int, total_weight: int) -> PrunedShape:
    """The bucket that most problems of these tests share."""
    return pruned_shape(max(n_rows, ROWS), max(n_terms, TERMS), max(n_cells, CELLS), max(total_weight, WEIGHT))


@pytest.fixture(autouse=True, scope="package")
def _few_programs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "pruned_shape", shared_shape)
        yield


@pytest.fixture
def buckets_of_users(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PrunedShape]:
    """The buckets as they are outside these tests."""
    monkeypatch.setattr(solve, "pruned_shape", pruned_shape)
    return pruned_shape
