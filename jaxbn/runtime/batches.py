"""Many small problems at once: batches of one shape that fit in memory, spread over the devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np
from numpy.typing import NDArray

from jaxbn.runtime import limits
from jaxbn.runtime.devices import batch_plan, run_batch

Fields = TypeVar("Fields", bound=tuple[Any, ...])
Found = TypeVar("Found", bound=tuple[Any, ...])


class Batch(NamedTuple, Generic[Fields]):
    """Problems of one shape."""

    fields: Fields  # a named tuple of arrays with a leading batch axis [B, ...]
    shared: tuple[Any, ...]  # further arguments of the program


class Answers(NamedTuple, Generic[Fields, Found]):
    """The answers to a batch."""

    first: int  # number of the first problem
    fields: Fields
    found: Found  # a named tuple of arrays with a leading batch axis


def in_batches(
    count: int,
    bytes_each: int,
    make: Callable[[int, int], Batch[Fields]],
    program: Callable[..., Found],
    *,
    one_size: bool = False,
) -> Iterator[Answers[Fields, Found]]:
    """Run a batched program on any number of problems of one shape, in batches that fit in memory.

    The batches are spread over the devices; while one is computed the arrays of the next are made.

    Args:
        count: number of problems.
        bytes_each: memory of each at work.
        make: makes the problems from one number up to, not including, another.
        program: what solves a batch, compiled.
        one_size: whether all batches have one size, so that the program is compiled once.
    """
    first, pending = 0, None
    for n_problems, batch_size in batch_plan(count, bytes_each, one_size=one_size):
        limits.check()
        fields, shared = make(first, first + n_problems)
        with jax.enable_x64(True):
            filled = jax.tree.map(partial(_filled, batch_size=batch_size), fields)
            running = run_batch(program, filled, *shared)
        if pending is not None:
            yield _fetched(*pending)
        first, pending = first + n_problems, (first, n_problems, fields, running)
    if pending is not None:
        yield _fetched(*pending)


def _filled(array: NDArray[Any], batch_size: int) -> NDArray[Any]:
    """The array with its first problem repeated up to the size of the batch."""
    missing = batch_size - len(array)
    return np.concatenate([array, np.repeat(array[:1], missing, axis=0)]) if missing else array


def _fetched(first: int, count: int, fields: Fields, running: Found) -> Answers[Fields, Found]:
    with jax.enable_x64(True):
        return Answers(first, fields, jax.tree.map(lambda array: np.asarray(array)[:count], running))
