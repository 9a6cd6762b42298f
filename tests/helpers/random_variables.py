"""Random variables with a Markov blanket, as arguments of `discretize_variable` and of the reference alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.reference import cuts

RATES = (0.05, 0.7, 3.0, 20.0, 300.0)


def random_variable(
    seed: int,
    n: int,
    *,
    n_parents: int,
    spouses: tuple[int, ...] = (),
    n_values: int | None = None,
    weighted: bool = False,
) -> dict[str, Any]:
    """A variable whose blanket follows some hidden intervals of it, with noise.

    Args:
        seed: of the random numbers.
        n: number of rows.
        n_parents: number of parents.
        spouses: for each child its number of spouses.
        n_values: at most so many distinct values, at uneven distances; a continuous variable if not given.
        weighted: whether rows have weights 0 to 3.
    """
    rng = np.random.default_rng(seed)
    if n_values is None:
        values = rng.normal(size=n) ** 3
    else:
        values = np.sort(rng.normal(size=n_values) ** 3)[rng.integers(0, n_values, n)]
    hidden = np.searchsorted(np.sort(rng.choice(values, rng.integers(1, 7))), values, side="right")

    def codes() -> np.ndarray:
        levels = int(rng.integers(1, 5))
        noise = rng.integers(0, levels, n)
        return np.where(rng.random(n) < rng.random(), hidden * int(rng.integers(1, 4)) % levels, noise)

    variable: dict[str, Any] = {
        "values": values,
        "parents": [codes() for _ in range(n_parents)],
        "children": [(codes(), [codes() for _ in range(count)]) for count in spouses],
    }
    if weighted:
        weights = rng.integers(0, 4, n)
        weights[rng.integers(n)] = 1
        variable["weights"] = weights
    return variable


@st.composite
def variables(draw: st.DrawFn, sizes: st.SearchStrategy[int], most_values: int | None = None) -> dict[str, Any]:
    """Up to three parents, up to three children with up to two spouses each, repeated values or not, weights or not."""
    n = draw(sizes)
    repeats = [st.sampled_from([2, 5, 40])] if most_values is None else [st.integers(1, most_values)]
    return random_variable(
        draw(st.integers(0, 2**32 - 1)),
        n,
        n_parents=draw(st.integers(0, 3)),
        spouses=tuple(draw(st.lists(st.integers(0, 2), max_size=3))),
        n_values=draw(st.one_of(*repeats, *([] if most_values else [st.none()]))),
        weighted=draw(st.booleans()),
    )


def subset(variable: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """The variable in some of its rows, perhaps repeated, in their order."""
    chosen = {
        "values": variable["values"][rows],
        "parents": [codes[rows] for codes in variable["parents"]],
        "children": [(codes[rows], [s[rows] for s in spouses]) for codes, spouses in variable["children"]],
    }
    return chosen | ({"weights": variable["weights"][rows]} if "weights" in variable else {})


def method_options(method: str, rate: float = 4.0) -> dict[str, Any]:
    """What ``discretize_variable`` is told for a method; the rate is for ``"bayesian"`` alone."""
    return {"method": method, "rate": rate} if method == "bayesian" else {"method": method}


def reference_cost(variable: dict[str, Any], method: str, rate: float) -> float:
    """The optimum by the reference's dynamic programs."""
    if method == "mdl":
        return cuts.mdl_program(**variable)[0]
    return cuts.algorithm_1(**variable, rate=rate)[0]


def cost_of_edges(variable: dict[str, Any], edges: np.ndarray, method: str, rate: float) -> float:
    """The printed objective of a binning, from the definition."""
    if method == "mdl":
        return cuts.mdl_objective(edges=edges, **variable)
    return cuts.objective(edges=edges, **variable, rate=rate)
