"""Products of tables, summed out along an opt_einsum path; refused if an intermediate would not fit in memory."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.runtime.memory import in_words

MAX_MEMORY = 2e9  # bytes
BYTES = 8  # of a float64
THOROUGH_REPEATS = 16

Axes = tuple[Hashable, ...]


class Plan(NamedTuple):
    """How to contract factors of given axes."""

    equation: str
    path: Sequence[tuple[int, ...]]
    largest: int  # cells of the largest array, inputs and result included


def plan(factors: Sequence[Axes], keep: Axes, sizes: Mapping[Any, int], max_memory: float = MAX_MEMORY) -> Plan:
    """Find a contraction path whose intermediates fit in memory.

    Args:
        factors: the axes of each factor; an axis is any hashable name.
        keep: axes of the result; all others are summed out.
        sizes: length of each axis.
        max_memory: bytes that one array may take.

    Raises:
        MemoryError: even the best path found needs more, with the size and the remedy.

    Example:
        >>> plan([("a",), ("a", "b")], ("b",), {"a": 2, "b": 3}).largest
        6
    """
    inputs = max((math.prod(sizes[axis] for axis in axes) for axes in factors), default=1)
    for thorough in (False, True):  # the second search takes a second; it is worth that where the first does not fit
        equation, path, largest = _path(factors, keep, sizes, thorough)
        largest = max(largest, inputs)
        if largest * BYTES <= max_memory:
            return Plan(equation, path, largest)
    raise MemoryError(
        f"this query needs an array of {largest:,} numbers, {in_words(largest * BYTES)}, more than max_memory = "
        f"{in_words(max_memory)}; ask for fewer targets at a time, give more that is known, or raise max_memory"
    )


def contract(plan: Plan, arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Multiply the factors and sum out what the plan does not keep.

    Example:
        >>> p = plan([("a",), ("a", "b")], ("b",), {"a": 2, "b": 2})
        >>> contract(p, [np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]])]).tolist()
        [0.75, 0.25]
    """
    import opt_einsum

    return np.asarray(opt_einsum.contract(plan.equation, *arrays, optimize=plan.path, backend="numpy"), np.float64)


def _path(
    factors: Sequence[Axes], keep: Axes, sizes: Mapping[Any, int], thorough: bool
) -> tuple[str, Sequence[tuple[int, ...]], int]:
    import opt_einsum

    axes = dict.fromkeys(axis for factor in (*factors, keep) for axis in factor)
    symbol = {axis: opt_einsum.get_symbol(i) for i, axis in enumerate(axes)}
    terms = ["".join(symbol[axis] for axis in factor) for factor in factors]
    equation = ",".join(terms) + "->" + "".join(symbol[axis] for axis in keep)
    shapes = [tuple(sizes[axis] for axis in factor) for factor in factors]
    state = random.getstate()  # the thorough search seeds the global generator, which is the user's
    try:
        search = opt_einsum.RandomGreedy(max_repeats=THOROUGH_REPEATS) if thorough else "auto"
        path, info = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize=search)
    finally:
        random.setstate(state)
    return equation, path, int(info.largest_intermediate)
