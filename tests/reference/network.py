"""The network loop, K2 and the likelihood, by definition (docs/maths.md, "The network loop", "K2" and "Evaluation").

The visiting order. A pass visits the continuous variables in the *reverse of the smallest topological order*: build
a topological order by taking, again and again, the earliest variable in ``priority`` all of whose parents have been
taken; then walk it backwards. ``priority`` is the order of the table's columns for a fixed structure. For K2 it is
the given order of the variables, which is itself topological, so there a pass is simply that order backwards.

Columns are a mapping from name to array in the table's column order; those not named in ``continuous`` are discrete,
of any sortable values. ``parents`` maps a child to the tuple of its parents; a name left out has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import gammaln

from .cuts import algorithm_1, bins_of, cardinality, joint_code, mdl_program

Columns = Mapping[str, np.ndarray]
Codes = dict[str, np.ndarray]
Parents = Mapping[str, Sequence[str]]


def visiting_order(priority: Sequence[str], parents: Parents) -> list[str]:
    """Reverse of the smallest topological order of all variables, see the top of this file."""
    taken: list[str] = []
    while len(taken) < len(priority):
        ready = [name for name in priority if name not in taken and set(parents.get(name, ())) <= set(taken)]
        if not ready:
            raise ValueError("the graph has a cycle")
        taken.append(ready[0])
    return taken[::-1]


def discrete_codes(columns: Columns, continuous: Sequence[str]) -> Codes:
    """Integer codes of the discrete columns."""
    return {name: np.unique(col, return_inverse=True)[1] for name, col in columns.items() if name not in continuous}


def initial_bin_count(columns: Columns, continuous: Sequence[str]) -> int:
    """k of the start: largest cardinality of the discrete variables, else round(ln(variables) + 1)."""
    discrete = [cardinality(col) for name, col in columns.items() if name not in continuous]
    return max(discrete) if discrete else round(math.log(len(columns)) + 1)


def equal_width_codes(values: np.ndarray, k: int) -> np.ndarray:
    """min(floor((x - min) / ((max - min) / k)), k - 1), computed just so; a constant column is all 0."""
    values = np.asarray(values, dtype=np.float64)
    lowest, highest = values.min(), values.max()
    if lowest == highest:
        return np.zeros(len(values), dtype=np.int64)
    return np.minimum(np.floor((values - lowest) / ((highest - lowest) / k)), k - 1).astype(np.int64)


def equal_width_edges(values: np.ndarray, k: int) -> np.ndarray:
    """Interior edges min + (max - min) / k * i; a constant column has none."""
    lowest, highest = float(np.min(values)), float(np.max(values))
    if lowest == highest:
        return np.empty(0)
    return lowest + (highest - lowest) / k * np.arange(1, k)


def equal_frequency_edges(values: np.ndarray, k: int) -> np.ndarray:
    """For i = 1 … k - 1 the midpoint after the smallest value that i n / k values do not exceed, each edge once."""
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    reached = np.cumsum(counts)
    places = {int(np.argmax(reached * k >= i * len(values))) for i in range(1, k)}
    return np.array([(distinct[j] + distinct[j + 1]) / 2 for j in sorted(places) if j + 1 < len(distinct)])


def blanket(name: str, parents: Parents) -> tuple[tuple[str, ...], list[tuple[str, tuple[str, ...]]]]:
    """Parents of a variable, and its children each with the spouses: the child's other parents."""
    children = [
        (child, tuple(other for other in of_child if other != name))
        for child, of_child in parents.items()
        if name in of_child
    ]
    return tuple(parents.get(name, ())), children


def prior_rate(rate: str | float, name: str, codes: Codes, parents: Parents) -> float:
    """L of the prior: "network" looks at every variable, the target included; "blanket" at the Markov blanket."""
    if rate == "network":
        return float(max(cardinality(column) for column in codes.values()))
    if rate == "blanket":
        own_parents, children = blanket(name, parents)
        members = {*own_parents, *(child for child, _ in children), *(s for _, spouses in children for s in spouses)}
        return float(max(cardinality(codes[member]) for member in members))
    return float(rate)


def cut_one(name: str, columns: Columns, codes: Codes, parents: Parents, rate: str | float, method: str) -> np.ndarray:
    """Edges of one variable given the current codes of the others."""
    own_parents, children = blanket(name, parents)
    parent_codes = [codes[p] for p in own_parents]
    child_codes = [(codes[child], [codes[s] for s in spouses]) for child, spouses in children]
    if method == "mdl":
        return mdl_program(columns[name], parent_codes, child_codes)[1]
    return algorithm_1(columns[name], parent_codes, child_codes, rate=prior_rate(rate, name, codes, parents))[1]


def discretize(
    columns: Columns,
    continuous: Sequence[str],
    parents: Parents,
    *,
    rate: str | float = "network",
    initial_bins: int | None = None,
    initial: str = "width",
    max_passes: int = 10,
    method: str = "bayesian",
    priority: Sequence[str] | None = None,
    start: dict | None = None,
) -> dict:
    """Discretize every continuous variable of a network (docs/maths.md, "The network loop").

    Args:
        columns: the table.
        continuous: names of the continuous columns.
        parents: the structure.
        rate: "network", "blanket" or a number.
        initial_bins: bins of the start; by default `initial_bin_count`.
        initial: what they are equal in, "width" or "frequency".
        max_passes: most passes made.
        method: "bayesian" or "mdl".
        priority: see the top of this file; the column order by default.
        start: an earlier result to continue from instead of plain bins.

    Returns:
        ``edges`` and ``codes`` per name (codes of the discrete columns too), ``passes`` made, whether it ``converged``.
        A variable with an empty blanket keeps the codes of the start.
    """
    k = initial_bin_count(columns, continuous) if initial_bins is None else initial_bins
    if start is None:
        codes = discrete_codes(columns, continuous) | {c: equal_width_codes(columns[c], k) for c in continuous}
        edges = {c: equal_width_edges(columns[c], k) for c in continuous}
        if initial == "frequency":
            edges = {c: equal_frequency_edges(columns[c], k) for c in continuous}
            codes |= {c: bins_of(columns[c], edges[c]) for c in continuous}
    else:
        codes, edges = dict(start["codes"]), dict(start["edges"])
    order = [n for n in visiting_order(priority or list(columns), parents) if n in continuous]
    order = [name for name in order if blanket(name, parents) != ((), [])]
    passes, converged = 0, False
    while not converged and passes < max_passes:
        passes += 1
        converged = True
        for name in order:
            found = cut_one(name, columns, codes, parents, rate, method)
            converged = converged and np.array_equal(found, edges[name])
            edges[name] = found
            codes[name] = bins_of(columns[name], found)
    return {"edges": edges, "codes": codes, "passes": passes, "converged": converged}


def k2_family_score(child: np.ndarray, parents: Sequence[np.ndarray], a: float = 1.0) -> float:
    """g(X, Pa), the score of a family (docs/maths.md, "K2"), a = 1; a parent configuration nobody shows adds 0."""
    r = cardinality(child)
    configuration = joint_code(parents, len(child))
    score = 0.0
    for j in np.unique(configuration):
        counts = np.unique(child[configuration == j], return_counts=True)[1]
        score += gammaln(a * r) - gammaln(a * r + counts.sum()) + (gammaln(a + counts) - gammaln(a)).sum()
    return float(score)


def k2_score(codes: Codes, parents: Parents, a: float = 1.0) -> float:
    """ln P(D* | G), the sum of g over all variables; higher is better."""
    return sum(k2_family_score(codes[name], [codes[p] for p in parents.get(name, ())], a) for name in codes)


def best_new_parent(
    name: str, candidates: Sequence[str], current: Sequence[str], codes: Codes, a: float = 1.0
) -> tuple[float, str | None]:
    """Highest g among the candidates added to the current parents; the earliest of equal ones."""
    best, best_candidate = -math.inf, None
    for candidate in candidates:
        score = k2_family_score(codes[name], [codes[p] for p in (*current, candidate)], a)
        if score > best:
            best, best_candidate = score, candidate
    return best, best_candidate


def learn(
    columns: Columns,
    continuous: Sequence[str],
    order: Sequence[str],
    *,
    max_parents: int = 3,
    max_passes: int = 10,
    rate: str | float = "network",
    method: str = "bayesian",
    warm_start: bool = False,
    initial: str = "width",
) -> dict:
    """K2 and discretization together (docs/maths.md, "K2"), for one order of the variables.

    After every accepted arc all continuous variables are discretized again, from the start or, with
    ``warm_start``, from the current policies (a variable whose blanket and L are unchanged then finds the same cuts
    again). The score to beat is that of the codes before the arc was accepted: it is not recomputed on the new ones.

    Returns:
        ``parents`` in order of addition for every name, ``edges``, ``codes``, and ``score``.
    """
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(columns, ())
    options = {"rate": rate, "method": method, "max_passes": max_passes, "priority": order, "initial": initial}
    state = discretize(columns, continuous, parents, **options)
    for position, name in enumerate(order):
        to_beat = k2_family_score(state["codes"][name], [])
        while len(parents[name]) < max_parents:
            candidates = [other for other in order[:position] if other not in parents[name]]
            score, candidate = best_new_parent(name, candidates, parents[name], state["codes"])
            if candidate is None or not score > to_beat:
                break
            to_beat = score
            parents[name] = (*parents[name], candidate)
            state = discretize(columns, continuous, parents, **options, start=state if warm_start else None)
    score = k2_score(state["codes"], parents)
    return {"parents": parents, "edges": state["edges"], "codes": state["codes"], "score": score}


def bin_widths(edges: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Widths of the bins; the outer ones end at ``lower`` and ``upper`` [bins]."""
    return np.diff([lower, *edges, upper])


def density_term(columns: Columns, edges: Mapping[str, np.ndarray], bounds: Mapping[str, tuple[float, float]]) -> float:
    """ln p(D | policies, D*): each continuous value is uniform over its bin's width.

    ``bounds`` holds the lower and upper end of each continuous variable. A constant variable (one bin of width 0) has
    no density and adds 0.
    """
    total = 0.0
    for name, cuts in edges.items():
        lower, upper = bounds[name]
        if lower < upper:
            total -= float(np.log(bin_widths(cuts, lower, upper))[bins_of(columns[name], cuts)].sum())
    return total


def whole_bounds(columns: Columns, continuous: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Minimum and maximum of each continuous column."""
    return {name: (float(np.min(columns[name])), float(np.max(columns[name]))) for name in continuous}


def log_probability(
    train: Codes, test: Codes, parents: Parents, n_states: Mapping[str, int], alpha: float = 1.0
) -> np.ndarray:
    """ln P of each test row with posterior-mean tables from the training rows [test rows]."""
    n_test = len(next(iter(test.values())))
    result = np.zeros(n_test)
    for name in test:
        for row in range(n_test):
            same = np.ones(len(train[name]), dtype=bool)
            for parent in parents.get(name, ()):
                same &= train[parent] == test[parent][row]
            count = np.sum(same & (train[name] == test[name][row]))
            result[row] += math.log((alpha + count) / (alpha * n_states[name] + same.sum()))
    return result


def log_likelihood(
    train_codes: Codes,
    test_columns: Columns,
    discrete_test_codes: Codes,
    parents: Parents,
    edges: Mapping[str, np.ndarray],
    bounds: Mapping[str, tuple[float, float]],
    n_levels: Mapping[str, int],
    alpha: float = 1.0,
) -> np.ndarray:
    """ln density of each held-out row (docs/maths.md, "Evaluation") [test rows].

    Args:
        train_codes: codes of every variable in the training rows.
        test_columns: the held-out rows.
        discrete_test_codes: codes of their discrete columns, in the training rows' coding.
        parents: the structure.
        edges: the policies found on the training rows; values outside fall into the outer bins.
        bounds: outer ends of the densities, from the whole table.
        n_levels: declared levels of each discrete variable.
        alpha: Dirichlet parameter of every cell.
    """
    test_codes = discrete_test_codes | {name: bins_of(test_columns[name], cuts) for name, cuts in edges.items()}
    n_states = dict(n_levels) | {name: len(cuts) + 1 for name, cuts in edges.items()}
    result = log_probability(train_codes, test_codes, parents, n_states, alpha)
    for row in range(len(result)):
        result[row] += density_term({name: test_columns[name][[row]] for name in edges}, edges, bounds)
    return result


def cross_validate(
    columns: Columns, continuous: Sequence[str], parents: Parents, fold_of_row: np.ndarray, **options
) -> list[float]:
    """Mean log-likelihood per held-out row, for each fold; the paper's figure is their mean.

    ``fold_of_row`` names the fold each row is held out in; ``options`` go to ``discretize``.
    """
    levels = discrete_codes(columns, continuous)
    n_levels = {name: cardinality(codes) for name, codes in levels.items()}
    bounds = whole_bounds(columns, continuous)
    per_fold = []
    for fold in np.unique(fold_of_row):
        held_out = fold_of_row == fold
        train = {name: column[~held_out] for name, column in (dict(columns) | levels).items()}
        test = {name: column[held_out] for name, column in columns.items()}
        discrete_test = {name: codes[held_out] for name, codes in levels.items()}
        found = discretize(train, continuous, parents, **options)
        train_codes = found["codes"] | {name: train[name] for name in levels}
        rows = log_likelihood(train_codes, test, discrete_test, parents, found["edges"], bounds, n_levels)
        per_fold.append(float(rows.mean()))
    return per_fold
