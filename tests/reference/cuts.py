"""Cuts of one continuous variable, by definition (docs/maths.md, "The paper's objective" and "Description length").

Conventions shared by every function here:

- ``values`` are 1-D floats; ``parents`` is a sequence of 1-D integer codes; ``children`` is a sequence of
  ``(codes, (spouse codes, ...))``; ``weights`` are non-negative integers, and rows of weight 0 are dropped first.
- A policy is its ascending interior ``edges``, each the midpoint ``(a + b) / 2`` of two consecutive distinct values.
- K of a variable is the number of distinct codes in the rows of positive weight; the joint parents' K is the product
  of the parents' own, so that a configuration nobody shows still counts.
- No parents: the joint configuration is one state (K = 1), so the factor costs 0.
- A constant variable has one bin and no gap: the prior term is 0 (not L), and the cost is the h of all rows.

Ties. Both programs keep the first minimum found with a strict ``<``. Algorithm 1 tries the last cut from left to right
and "no cut" last, so of equal costs the leftmost last cut wins; the MDL program tries k = 1, 2, ... and, for a given k,
the leftmost last cut.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

Codes = np.ndarray
Child = tuple[Codes, Sequence[Codes]]


class Factor(NamedTuple):
    """One Dirichlet-multinomial factor of h (docs/maths.md, "The paper's objective").

    Attributes:
        context: code of the context of each row [n].
        outcome: code of the outcome of each row [n].
        n_states: K, the number of states of the outcome.
    """

    context: np.ndarray
    outcome: np.ndarray
    n_states: int


class Problem(NamedTuple):
    """One variable and its Markov blanket, rows of positive weight only, sorted by value.

    Attributes:
        values: ascending values [n].
        distinct: ascending distinct values u_1 < ... < u_m [m].
        level: index of each row's value among the distinct ones [n].
        weights: positive integers [n].
        factors: the parents' factor first, then one per child.
        n_parent_states: K of the joint parents.
        spouse_states: for each child, the product of its spouses' cardinalities.
    """

    values: np.ndarray
    distinct: np.ndarray
    level: np.ndarray
    weights: np.ndarray
    factors: list[Factor]
    n_parent_states: int
    spouse_states: list[int]


def cardinality(codes: Codes) -> int:
    """Number of distinct codes observed."""
    return len(np.unique(codes))


def joint_code(columns: Sequence[Codes], n_rows: int) -> np.ndarray:
    """One integer per row naming its joint configuration; all 0 where there is no column."""
    if not columns:
        return np.zeros(n_rows, dtype=np.int64)
    return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(n_rows)


def prepare(values, parents=(), children=(), weights=None) -> Problem:
    """Drop the rows of weight 0, sort by value, and code contexts and outcomes.

    Raises:
        ValueError: if no row has a positive weight.
    """
    values = np.asarray(values, dtype=np.float64)
    weights = np.ones(len(values), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    order = np.argsort(values, kind="stable")
    rows = order[weights[order] > 0]
    if len(rows) == 0:
        raise ValueError("no row has a positive weight")
    parents = [np.asarray(codes)[rows] for codes in parents]
    children = [(np.asarray(codes)[rows], [np.asarray(s)[rows] for s in spouses]) for codes, spouses in children]

    n_parent_states = math.prod(cardinality(codes) for codes in parents)
    factors = [Factor(np.zeros(len(rows), dtype=np.int64), joint_code(parents, len(rows)), n_parent_states)]
    for codes, spouses in children:
        factors.append(Factor(joint_code(spouses, len(rows)), codes, cardinality(codes)))
    distinct, level = np.unique(values[rows], return_inverse=True)
    spouse_states = [math.prod(cardinality(codes) for codes in spouses) for _, spouses in children]
    return Problem(values[rows], distinct, level, weights[rows], factors, n_parent_states, spouse_states)


def factor_counts(factor: Factor, weights: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, list[int]]]:
    """For each context seen in the rows: its weight n_c and the weights n_{c,o} of its outcomes."""
    for context in np.unique(factor.context[rows]):
        in_context = rows & (factor.context == context)
        outcomes = np.unique(factor.outcome[in_context])
        counts = [int(weights[in_context & (factor.outcome == outcome)].sum()) for outcome in outcomes]
        yield sum(counts), counts


def interval_cost(problem: Problem, rows: np.ndarray) -> float:
    """h of an interval given as a mask of rows (docs/maths.md, "The paper's objective")."""
    cost = 0.0
    for factor in problem.factors:
        k = factor.n_states
        for total, counts in factor_counts(factor, problem.weights, rows):
            cost += gammaln(total + k) - gammaln(k) - sum(gammaln(count + 1) for count in counts)
    return float(cost)


def interval_entropy(problem: Problem, rows: np.ndarray) -> float:
    """E of an interval given as a mask of rows: -sum n_{c,o} ln(n_{c,o} / n_c)."""
    cost = 0.0
    for factor in problem.factors:
        for total, counts in factor_counts(factor, problem.weights, rows):
            cost -= sum(count * math.log(count / total) for count in counts)
    return cost


def bins_of(values: np.ndarray, edges: Sequence[float]) -> np.ndarray:
    """Bin of each value, left-closed (paper section 2.1): the number of edges at or below it."""
    return (np.asarray(values)[:, None] >= np.asarray(edges, dtype=np.float64)[None, :]).sum(axis=1)


def cut_weights(distinct: np.ndarray, rate: float) -> np.ndarray:
    """w_t = -ln(exp(L g_t) - 1) for each gap g_t [m - 1]."""
    return -np.log(np.expm1(rate * np.diff(distinct) / (distinct[-1] - distinct[0])))


def policy_cost(values, edges, parents=(), children=(), *, rate: float, weights=None) -> float:
    """Cost of a policy as L + sum of w_t over the cuts + sum of h over the intervals."""
    problem = prepare(values, parents, children, weights)
    bins = bins_of(problem.values, edges)
    cost = sum(interval_cost(problem, bins == b) for b in np.unique(bins))
    if len(problem.distinct) == 1:
        return cost
    is_cut = np.diff(bins_of(problem.distinct, edges)) > 0
    return rate + float(cut_weights(problem.distinct, rate)[is_cut].sum()) + cost


def log_multinomial(counts: Sequence[int]) -> float:
    """ln (n! / (n_1! n_2! ...)) from exact integers."""
    return math.log(math.factorial(sum(counts))) - sum(math.log(math.factorial(count)) for count in counts)


def objective(values, edges, parents=(), children=(), *, rate: float, weights=None) -> float:
    """The paper's equation for the log-inverse of P(policy) P(data | policy), as printed (its eq:opt_prob)."""
    problem = prepare(values, parents, children, weights)
    distinct = problem.distinct
    bins = bins_of(problem.values, edges)
    span = distinct[-1] - distinct[0]
    cost = 0.0
    previous_end = None
    for b in np.unique(bins):
        rows = bins == b
        start, end = problem.values[rows].min(), problem.values[rows].max()
        if previous_end is not None:
            cost -= math.log(1 - math.exp(-rate * (start - previous_end) / span))
        if span > 0:
            cost += rate * (end - start) / span
        previous_end = end
        for factor in problem.factors:
            states = factor.n_states
            for total, counts in factor_counts(factor, problem.weights, rows):
                cost += math.log(math.comb(total + states - 1, states - 1)) + log_multinomial(counts)
    return float(cost)


def mutual_information(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    """I(A, B) = sum P(a,b) ln(P(a,b) / (P(a) P(b))) with the empirical probabilities (paper, discussion)."""
    n = weights.sum()
    information = 0.0
    for value_a, value_b in {(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)}:
        p_a, p_b = weights[a == value_a].sum() / n, weights[b == value_b].sum() / n
        p_ab = weights[(a == value_a) & (b == value_b)].sum() / n
        information += p_ab * math.log(p_ab / (p_a * p_b))
    return float(information)


def binary_entropy(p: float) -> float:
    """H(p) = -p ln p - (1 - p) ln(1 - p), with 0 ln 0 = 0."""
    return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)


def mdl_penalty(problem: Problem, n_bins: int) -> float:
    """The first three terms of the paper's MDL equation (its eqn:MDL), which depend on the number of bins alone.

    n is the total weight. |Pa_X| is 1 where X has no parent; |Pa_Xj| is X's bins times the spouses' cardinalities.
    With one distinct value the choice of k - 1 out of m - 1 cuts is empty and costs 0.
    """
    parameters = problem.n_parent_states * (n_bins - 1)
    for factor, spouses in zip(problem.factors[1:], problem.spouse_states, strict=True):
        parameters += n_bins * spouses * (factor.n_states - 1)
    m = len(problem.distinct)
    choice = (m - 1) * binary_entropy((n_bins - 1) / (m - 1)) if m > 1 else 0.0
    return 0.5 * math.log(problem.weights.sum()) * parameters + math.log(n_bins) + choice


def mdl_objective(values, edges, parents=(), children=(), *, weights=None) -> float:
    """The paper's MDL equation as printed (its eqn:MDL), with mutual informations from the definition.

    I(X, no parents) is 0: one configuration carries no information.
    """
    problem = prepare(values, parents, children, weights)
    bins = bins_of(problem.values, edges)
    information = mutual_information(bins, problem.factors[0].outcome, problem.weights)
    for factor in problem.factors[1:]:
        parent_configuration = joint_code([bins, factor.context], len(bins))
        information += mutual_information(factor.outcome, parent_configuration, problem.weights)
    return mdl_penalty(problem, cardinality(bins)) - float(problem.weights.sum()) * information


def midpoints(distinct: np.ndarray) -> np.ndarray:
    """The candidate edges: midpoints of consecutive distinct values [m - 1]."""
    return (distinct[:-1] + distinct[1:]) / 2


def enumerate_best(
    values, parents=(), children=(), *, rate: float | None = None, method: str = "bayesian", weights=None
) -> tuple[float, np.ndarray]:
    """Best of all 2^(m-1) policies by the printed objective; fewest cuts first, the first minimum wins.

    Returns:
        The cost and the edges.
    """
    distinct = prepare(values, parents, children, weights).distinct
    candidates = midpoints(distinct)
    best, best_edges = math.inf, candidates[:0]
    for n_cuts in range(len(candidates) + 1):
        for chosen in itertools.combinations(range(len(candidates)), n_cuts):
            edges = candidates[list(chosen)]
            if method == "mdl":
                cost = mdl_objective(values, edges, parents, children, weights=weights)
            else:
                cost = objective(values, edges, parents, children, rate=rate, weights=weights)
            if cost < best:
                best, best_edges = cost, edges
    return best, best_edges


def running_counts(codes: np.ndarray, problem: Problem) -> np.ndarray:
    """Weight of each distinct code among the first t distinct values, t = 0..m [m + 1, codes]."""
    names, column = np.unique(codes, return_inverse=True)
    counts = np.zeros((len(problem.distinct) + 1, len(names)), dtype=np.int64)
    np.add.at(counts, (problem.level + 1, column), problem.weights)
    return counts.cumsum(axis=0)


def cost_matrix(problem: Problem, kind: str, a: float = 1.0) -> np.ndarray:
    """H or E of every interval of distinct values: entry [u, v] covers u..v, +inf where v < u [m, m].

    Kind "bayesian" gives h with the Dirichlet weight a, "mdl" gives E. Contexts and cells that nobody shows add 0 to
    both, so only observed ones are counted.
    """
    m, n = len(problem.distinct), int(problem.weights.sum())
    matrix = np.full((m, m), np.inf)
    for u in range(m):
        matrix[u, u:] = 0.0
    for factor in problem.factors:
        contexts = running_counts(factor.context, problem)
        cells = running_counts(joint_code([factor.context, factor.outcome], len(problem.level)), problem)
        if kind == "bayesian":
            k = a * factor.n_states
            of_context = gammaln(np.arange(n + 1) + k) - gammaln(k)
            of_cell = gammaln(a) - gammaln(np.arange(n + 1) + a)
        else:
            counts = np.arange(n + 1)
            of_context = counts * np.log(np.maximum(counts, 1))
            of_cell = -of_context
        for u in range(m):
            matrix[u, u:] += of_context[contexts[u + 1 :] - contexts[u]].sum(axis=1)
            matrix[u, u:] += of_cell[cells[u + 1 :] - cells[u]].sum(axis=1)
    return matrix


def algorithm_1(values, parents=(), children=(), *, rate: float, weights=None) -> tuple[float, np.ndarray]:
    """The paper's Algorithm 1 over distinct values, its slip at v = 1 mended (W[v] for L[v]).

    Returns:
        The cost, equal to the printed objective of the policy, and the edges.
    """
    problem = prepare(values, parents, children, weights)
    distinct = problem.distinct
    m = len(distinct)
    h = cost_matrix(problem, "bayesian")
    if m == 1:
        return float(h[0, 0]), distinct[:0]
    span = distinct[-1] - distinct[0]
    w = np.append(-np.log(-np.expm1(-rate * np.diff(distinct) / span)), 0.0)
    best = np.zeros(m)
    last_cut = np.zeros(m, dtype=int)  # u: the last cut lies after the distinct value u; u = v: no cut
    for v in range(m):
        cut = best[:v] + h[1 : v + 1, v] + rate * (distinct[v] - distinct[1 : v + 1]) / span
        whole = h[0, v] + rate * (distinct[v] - distinct[0]) / span
        candidates = np.append(cut, whole)
        last_cut[v] = int(np.argmin(candidates))
        best[v] = w[v] + candidates[last_cut[v]]
    cuts = []
    v = m - 1
    while last_cut[v] != v:
        v = int(last_cut[v])
        cuts.append(v)
    return float(best[-1]), midpoints(distinct)[cuts[::-1]]


def mdl_program(values, parents=(), children=(), *, weights=None) -> tuple[float, np.ndarray]:
    """Minimum of the printed MDL equation by dynamic programming over the number of bins k.

    n I terms are constants (the entropies of the parents and of each child) minus the sum of E. The search stops when
    no larger k can win: the least penalty among them plus the entropy cost of the finest partition is not below the
    best so far.

    Returns:
        The cost, equal to the printed MDL equation of the policy, and the edges.
    """
    problem = prepare(values, parents, children, weights)
    m = len(problem.distinct)
    e = cost_matrix(problem, "mdl")
    n_information = sum(marginal_entropy(factor.outcome, problem.weights) for factor in problem.factors)
    penalty = np.array([mdl_penalty(problem, k) for k in range(1, m + 1)])
    least_penalty = np.minimum.accumulate(penalty[::-1])[::-1]  # over this and every larger k
    finest = float(np.diag(e).sum())

    layer = e[0].copy()  # least entropy cost of 0..v in k bins
    last_cuts: list[np.ndarray] = []
    best, best_k = penalty[0] + layer[-1], 1
    for k in range(2, m + 1):
        if least_penalty[k - 1] + finest >= best:
            break
        candidates = layer[:-1, None] + e[1:, :]  # the last cut lies after distinct value u [u, v]
        last_cuts.append(np.argmin(candidates, axis=0))
        layer = candidates.min(axis=0)
        if penalty[k - 1] + layer[-1] < best:
            best, best_k = penalty[k - 1] + layer[-1], k
    cuts = []
    v = m - 1
    for k in range(best_k, 1, -1):
        v = int(last_cuts[k - 2][v])
        cuts.append(v)
    return float(best - n_information), midpoints(problem.distinct)[cuts[::-1]]


def marginal_entropy(codes: np.ndarray, weights: np.ndarray) -> float:
    """n times the empirical entropy of a variable, -sum n_o ln(n_o / n)."""
    counts = np.array([weights[codes == code].sum() for code in np.unique(codes)], dtype=float)
    return float(-(counts * np.log(counts / counts.sum())).sum())
