"""What the programs of one variable are given, and what they should find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from jaxbn.cuts import discretize_variable, solve
from jaxbn.cuts.blanket import factors_of
from jaxbn.cuts.by_number import charged
from jaxbn.cuts.evidence import evidence_problem
from jaxbn.cuts.problem import Rows
from jaxbn.cuts.sorted_values import sort_values
from tests.helpers.random_variables import random_variable
from tests.reference.cuts import prepare
from tests.reference.evidence import interval_costs


def close(value: float) -> Any:
    """Equal to 1e-9 relative; a cost may also be a difference that is nearly 0."""
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def gauss(seed: int, n: int = 500) -> dict[str, Any]:
    """Normal, with the mean of its class; a child that says where it is above zero."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    values = rng.normal(size=n) + group
    child = np.where(rng.random(n) < 0.9, values > 0, rng.random(n) < 0.5).astype(int)
    return {"values": values, "parents": [group], "children": [(child, [rng.integers(0, 3, n)])]}


def request_of(problem: dict[str, Any], rate: float = 4.0) -> discretize_variable.Request:
    """The variable in ascending order, as the host plans it."""
    weights = problem.get("weights", np.ones(len(problem["values"]), int))
    kept = np.flatnonzero(weights)
    ordered = sort_values(problem["values"][kept])
    rows = kept[ordered.order]
    factors = factors_of(
        [codes[rows] for codes in problem["parents"]],
        [(codes[rows], [s[rows] for s in spouses]) for codes, spouses in problem["children"]],
        len(rows),
    )
    return discretize_variable.Request(
        ordered, factors, rate, weights[rows].astype(np.int32) if "weights" in problem else None
    )


def task_of(problem: dict[str, Any], rate: float = 4.0) -> Rows:
    return discretize_variable._bayesian_rows(request_of(problem, rate))


def mixed_tasks(count: int) -> list[Rows]:
    blankets = [{"n_parents": 1}, {"n_parents": 3, "spouses": (2, 1)}, {"n_parents": 0, "spouses": (0,)}]
    sizes = [1, 2, 40, 130, 300, 512, 600]
    return [
        task_of(
            random_variable(i, sizes[i % 7], **blankets[i % 3], weighted=i % 2 == 1, n_values=[None, 30][i // 2 % 2])
        )
        for i in range(count)
    ]


def rows_of(problem: dict[str, Any], width: float | None) -> Rows:
    """The rows as the program of one variable is given them."""
    request = request_of(problem)
    return evidence_problem(request.ordered, request.factors, request.weights, width or 0.0).rows


def priced_by_definition(problem: dict[str, Any], width: float | None, price: float) -> float:
    costs = interval_costs(prepare(**problem), width)
    best = np.zeros(len(costs) + 1)
    for t in range(1, len(best)):
        best[t] = (best[:t] + costs[:t, t - 1]).min() + price
    return float(best[-1])


@contextmanager
def prices_and_few_slots() -> Iterator[list[dict[str, bool]]]:
    """The priced, pruned program also where all intervals are costed; what became of the slots in each call."""
    shape_of, advance, more_slots = solve.pruned_shape, solve.advance, solve.with_more_slots
    seen: list[dict[str, bool]] = []

    def small_shape(*args: Any, **kwargs: Any) -> Any:
        sizes = {"width": 16, "recent": 64, "settled": 256}
        return shape_of(*args, **kwargs)._replace(**sizes)

    def spied_advance(problem: Any, state: Any, until: Any, **kwargs: Any) -> Any:
        state = advance(problem, state, until, **kwargs)
        slots = int(state.settled.n_slots)
        doomed = np.isfinite(np.asarray(state.settled.beaten_from)[:, :slots]).any()
        seen.append({"chunks": slots > 32, "doomed": bool(doomed), "more": False})
        return state

    def spied_more_slots(state: Any) -> Any:
        seen.append({"chunks": False, "doomed": False, "more": True})
        return more_slots(state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charged, "FEW_POSITIONS", 2)
        patch.setattr(solve, "FEW_POSITIONS", 0)
        patch.setattr(solve, "pruned_shape", small_shape)
        patch.setattr(solve, "advance", spied_advance)
        patch.setattr(solve, "with_more_slots", spied_more_slots)
        yield seen
