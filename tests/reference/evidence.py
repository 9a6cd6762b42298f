"""The evidence of the table in original units, by definition (docs/maths.md, "The evidence in original units").

F(graph, policies) = sum over all i of ln P(X*_i | Pa*_i), with Dirichlet weights of one half
                     - sum over continuous i of [ sum over bins of n ln width - ln P(cuts of i) ]

where each of the m - 1 gaps is a cut with probability pi, of density b (1 - pi)^(b - 1) / (1 - 2^-b) on [0, 1/2], b the
whole number nearest to the square root of m.

Conventions beyond those of ``cuts.py`` and ``network.py``:

- k is the number of bins that hold a row, m the number of distinct values of positive weight; a bin's width runs
  between its edges, and the outer bins end at the minimum and maximum of the rows of positive weight.
- A constant variable has one bin and no width: both of its terms are 0.
- ``min_width`` is the smallest width a bin may have; None is no limit, and a single bin is always allowed. Midpoints
  are rounded, so a bin is wide enough from ``min_width * (1 - 1e-9)`` on: on a regular grid the bin of one value is
  just one step wide, and its fate must not hang on the last bit.
- The equal-width start is brought to midpoints, which leaves its codes as they are: F of the start is then among the
  values a visit maximises over, so it cannot fall. Where that start breaks ``min_width`` a single bin takes its place.
- A visit replaces a policy only where F rises by more than rounding, so that ties cannot go round in circles.

Ties. The layered program keeps the least k and then the leftmost last cut; the enumeration the fewest cuts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from scipy.special import gammaln, logsumexp

from .cuts import Problem, bins_of, cardinality, cost_matrix, joint_code, midpoints, prepare, running_counts
from .network import (
    Columns,
    Parents,
    best_new_parent,
    bin_widths,
    blanket,
    density_term,
    discrete_codes,
    equal_width_codes,
    initial_bin_count,
    k2_family_score,
    k2_score,
    visiting_order,
    whole_bounds,
)

SLACK = 1e-9

WEIGHT = 0.5
"""The Dirichlet weight a of every cell in F."""


def family_evidence(child: np.ndarray, configuration: np.ndarray, weights: np.ndarray, a: float = WEIGHT) -> float:
    """ln P(child | configuration) under Dirichlet(a, ..., a); a configuration nobody shows adds 0."""
    r = cardinality(child)
    score = 0.0
    for j in np.unique(configuration):
        rows = configuration == j
        counts = [weights[rows & (child == k)].sum() for k in np.unique(child[rows])]
        score += gammaln(a * r) - gammaln(a * r + sum(counts))
        score += sum(gammaln(a + count) - gammaln(a) for count in counts)
    return float(score)


@cache
def choice_cost(n_bins: int, n_distinct: int) -> float:
    """Minus the log probability of k - 1 given cuts, the integral of pi^(k - 1) (1 - pi)^(m - k) times the density.

    That is an incomplete beta function at 1/2: a sum of binomials, by integration by parts.
    """
    b = int(math.sqrt(n_distinct) + 0.5)
    n = n_distinct + b - 1
    log_combs = [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in range(n_bins, n + 1)]
    log_integral = float(logsumexp(log_combs)) - n * math.log(2) - math.log(n_bins) - log_combs[0]
    return -(log_integral + math.log(b) - math.log(1 - 2.0**-b))


def evidence_cost(values, parents, children, cuts, weights=None) -> float:
    """-F of one variable's policy as far as it depends on it: its own family, its children's, widths and choice.

    ``cuts`` are the ascending interior edges.
    """
    problem = prepare(values, parents, children, weights)
    bins = bins_of(problem.values, cuts)
    evidence = family_evidence(bins, problem.factors[0].outcome, problem.weights)
    for child in problem.factors[1:]:
        configuration = joint_code([bins, child.context], len(bins))
        evidence += family_evidence(child.outcome, configuration, problem.weights)
    m = len(problem.distinct)
    if m > 1:
        widths = bin_widths(cuts, problem.distinct[0], problem.distinct[-1])
        evidence -= float(problem.weights @ np.log(widths[bins]))
    return choice_cost(cardinality(bins), m) - evidence


def wide_enough(widths: np.ndarray, min_width: float | None) -> np.ndarray:
    """Which bins may be used, see the top of this file."""
    return widths >= (min_width or 0.0) * (1 - SLACK)


def is_allowed(cuts: np.ndarray, distinct: np.ndarray, min_width: float | None) -> bool:
    """Whether a policy keeps to ``min_width``."""
    return len(cuts) == 0 or bool(wide_enough(bin_widths(cuts, distinct[0], distinct[-1]), min_width).all())


def enumerate_evidence(
    values, parents=(), children=(), *, weights=None, min_width: float | None = None
) -> tuple[float, np.ndarray]:
    """The least -F of all 2^(m-1) policies, and its edges."""
    distinct = prepare(values, parents, children, weights).distinct
    candidates = midpoints(distinct)
    best, best_cuts = math.inf, candidates[:0]
    for n_cuts in range(len(distinct)):
        for chosen in itertools.combinations(range(len(candidates)), n_cuts):
            cuts = candidates[list(chosen)]
            if not is_allowed(cuts, distinct, min_width):
                continue
            cost = evidence_cost(values, parents, children, cuts, weights)
            if cost < best:
                best, best_cuts = cost, cuts
    return best, best_cuts


def interval_widths(distinct: np.ndarray) -> np.ndarray:
    """Width of the bin of the distinct values u..v, entry [u, v], where u <= v [m, m]."""
    ends = np.array([distinct[0], *midpoints(distinct), distinct[-1]])
    return ends[None, 1:] - ends[:-1, None]


def parent_part(problem: Problem, a: float = WEIGHT) -> np.ndarray:
    """n ln width - sum_j [ln Gamma(N_j + a) - ln Gamma(a)] of every interval; +inf where v < u [m, m]."""
    m = len(problem.distinct)
    counts = running_counts(problem.factors[0].outcome, problem)  # [m + 1, configurations]
    width = interval_widths(problem.distinct)
    matrix = np.full((m, m), np.inf)
    for u in range(m):
        inside = counts[u + 1 :] - counts[u]
        matrix[u, u:] = -(gammaln(inside + a) - gammaln(a)).sum(axis=1)
        if m > 1:
            matrix[u, u:] += inside.sum(axis=1) * np.log(width[u, u:])
    return matrix


def child_part(problem: Problem, kind: str = "bayesian") -> np.ndarray:
    """Sum over the children of h, or of E for the kind "mdl", of every interval; +inf where v < u [m, m]."""
    return cost_matrix(problem._replace(factors=problem.factors[1:]), kind, WEIGHT)


def charge(problem: Problem, a: float = WEIGHT) -> np.ndarray:
    """A(k) = sum_j [ ln Gamma(ak + N_j) - ln Gamma(ak) ] + the price of the choice, for k = 1..m [m]."""
    m = len(problem.distinct)
    totals = running_counts(problem.factors[0].outcome, problem)[-1]
    k = a * np.arange(1, m + 1)
    choice = np.array([choice_cost(n_bins, m) for n_bins in range(1, m + 1)])
    return (gammaln(k[:, None] + totals) - gammaln(k)[:, None]).sum(axis=1) + choice


def interval_costs(problem: Problem, min_width: float | None = None) -> np.ndarray:
    """c of every interval; +inf where v < u and where the bin is too narrow, unless it is the only one [m, m]."""
    costs = parent_part(problem) + child_part(problem)
    whole = costs[0, -1]
    costs[~wide_enough(interval_widths(problem.distinct), min_width)] = np.inf
    costs[0, -1] = whole
    return costs


def layered_evidence(
    values, parents=(), children=(), *, weights=None, min_width: float | None = None
) -> tuple[float, np.ndarray]:
    """The least -F, A(k) + sum of c, by the dynamic program over the number of bins k, and its edges."""
    problem = prepare(values, parents, children, weights)
    m = len(problem.distinct)
    c, a = interval_costs(problem, min_width), charge(problem)
    layer = c[0]  # least cost of the distinct values 0..v in k bins
    last_cuts = np.zeros((m + 1, m), dtype=int)
    best, best_k = a[0] + layer[-1], 1
    for k in range(2, m + 1):
        first = k - 2  # before it there are too few values for k - 1 bins
        candidates = (
            layer[first:-1, None] + c[first + 1 :, first + 1 :]
        )  # the last cut lies after distinct value u [u, v]
        last_cuts[k, first + 1 :] = first + np.argmin(candidates, axis=0)
        layer = np.append(np.full(first + 1, np.inf), candidates.min(axis=0))
        if a[k - 1] + layer[-1] < best:
            best, best_k = a[k - 1] + layer[-1], k
    cuts, v = [], m - 1
    for k in range(best_k, 1, -1):
        v = int(last_cuts[k, v])
        cuts.append(v)
    return float(best), midpoints(problem.distinct)[cuts[::-1]]


def codes_of(columns: Columns, continuous: Sequence[str], policies: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Codes of every column, in the table's order."""
    discrete = discrete_codes(columns, continuous)
    return {n: discrete[n] if n in discrete else bins_of(columns[n], policies[n]) for n in columns}


def total_evidence(
    columns: Columns, continuous: Sequence[str], parents: Parents, policies: Mapping[str, np.ndarray]
) -> float:
    """F of the whole table; ``policies`` maps each continuous name to its edges."""
    codes = codes_of(columns, continuous, policies)
    edges = {name: policies[name] for name in continuous}
    choice = sum(choice_cost(cardinality(codes[name]), cardinality(columns[name])) for name in continuous)
    return k2_score(codes, parents, WEIGHT) + density_term(columns, edges, whole_bounds(columns, continuous)) - choice


def arcs_charge(parents: Parents, n_rows: int, arc_gain: float = 0.01) -> float:
    """Minus the log prior of the arcs where a structure of numbers is searched by F.

    For p parents of N, p (ln 2 + 0.01 n) + ln C(N - 1, p). Every arc counts, also one from or to a variable of a single
    bin.
    """
    each = math.log(2) + arc_gain * n_rows
    return sum(len(found) * each + math.log(math.comb(len(parents) - 1, len(found))) for found in parents.values())


def gain_by_other_cuts(
    name: str, columns: Columns, continuous: Sequence[str], parents: Parents, policies: Mapping[str, np.ndarray]
) -> float:
    """How much F would rise with the best cuts of one variable, everything else fixed."""
    codes = codes_of(columns, continuous, policies)
    own, children = blanket(name, parents)
    neighbours = [codes[p] for p in own], [(codes[c], [codes[s] for s in spouses]) for c, spouses in children]
    best, _ = layered_evidence(columns[name], *neighbours)
    return evidence_cost(columns[name], *neighbours, policies[name]) - best


def starting_cuts(values: np.ndarray, k: int, min_width: float | None) -> np.ndarray:
    """The k equal-width bins with their edges at midpoints, or a single bin where they break ``min_width``."""
    distinct, first = np.unique(values, return_index=True)
    cuts = midpoints(distinct)[np.diff(equal_width_codes(values, k)[first]) > 0]
    return cuts if is_allowed(cuts, distinct, min_width) else cuts[:0]


def evidence_passes(
    columns: Columns,
    continuous: Sequence[str],
    parents: Parents,
    *,
    min_width: Mapping[str, float] | None = None,
    initial_bins: int | None = None,
    max_passes: int = 10,
    priority: Sequence[str] | None = None,
    start: Mapping[str, np.ndarray] | None = None,
) -> dict:
    """Gauss-Seidel passes that raise F; every continuous variable is visited, with neighbours or without.

    Args:
        columns: the table.
        continuous: names of the continuous columns.
        parents: the structure.
        min_width: smallest width of a bin for each name; a name left out has no limit.
        initial_bins: bins of the equal-width start; by default those of `starting_bins`.
        max_passes: most passes made.
        priority: see the top of ``network.py``; the column order by default.
        start: edges of each continuous variable to begin with instead of the equal-width start.

    Returns:
        ``edges`` and ``codes`` per name, ``passes`` made, whether it ``converged``, and ``trace``: F at the start and
        after every visit.
    """
    k = initial_bin_count(columns, continuous) if initial_bins is None else initial_bins
    limits = dict.fromkeys(continuous) | dict(min_width or {})
    edges = dict(start) if start is not None else {c: starting_cuts(columns[c], k, limits[c]) for c in continuous}
    order = [name for name in visiting_order(priority or list(columns), parents) if name in continuous]
    trace = [total_evidence(columns, continuous, parents, edges)]
    passes, converged = 0, False
    while not converged and passes < max_passes:
        passes += 1
        converged = True
        for name in order:
            codes = codes_of(columns, continuous, edges)
            own_parents, children = blanket(name, parents)
            neighbours = [codes[p] for p in own_parents], [(codes[c], [codes[s] for s in sp]) for c, sp in children]
            cost, found = layered_evidence(columns[name], *neighbours, min_width=limits[name])
            current = evidence_cost(columns[name], *neighbours, edges[name])
            if cost < current - SLACK * max(1.0, abs(current)):
                edges[name], converged = found, False
            trace.append(total_evidence(columns, continuous, parents, edges))
    codes = codes_of(columns, continuous, edges)
    return {"edges": edges, "codes": codes, "passes": passes, "converged": converged, "trace": trace}


def evidence_k2(columns: Columns, continuous: Sequence[str], order: Sequence[str], *, max_parents=3, **options) -> dict:
    """K2 on F for one order: an arc must raise it, and passes then go on from the current policies.

    With the policies fixed an arc changes F by the child's family score alone; the score to beat is taken anew from the
    current codes each time. ``options`` go to ``evidence_passes``.

    Returns:
        ``parents`` in order of addition for every name, ``edges``, ``codes``, ``score`` (F), and its ``trace`` over all
        visits and arcs.
    """
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(columns, ())
    state = evidence_passes(columns, continuous, parents, priority=order, **options)
    trace = list(state["trace"])
    for position, name in enumerate(order):
        while len(parents[name]) < max_parents:
            codes = state["codes"]
            candidates = [other for other in order[:position] if other not in parents[name]]
            score, candidate = best_new_parent(name, candidates, parents[name], codes, WEIGHT)
            if candidate is None or not score > k2_family_score(codes[name], [codes[p] for p in parents[name]], WEIGHT):
                break
            parents[name] = (*parents[name], candidate)
            state = evidence_passes(columns, continuous, parents, priority=order, start=state["edges"], **options)
            trace += state["trace"]
    return {"parents": parents, "edges": state["edges"], "codes": state["codes"], "score": trace[-1], "trace": trace}
