"""The best cuts of one continuous variable given its Markov blanket."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jaxbn.counts.codes import joint
from jaxbn.cuts.binning import Binning
from jaxbn.cuts.blanket import Factor, checked_child, factors_at
from jaxbn.cuts.by_number.charged import Charged, solve_charged
from jaxbn.cuts.evidence import evidence_problem
from jaxbn.cuts.methods import MAX_BINS, METHODS, check_options
from jaxbn.cuts.problem import ENTROPY, Rows, Solution, dirichlet_terms
from jaxbn.cuts.shapes.base_density import column_shapes
from jaxbn.cuts.shapes.shape import Shape
from jaxbn.cuts.solve import solve
from jaxbn.cuts.sorted_values import Ordered, cut_costs, sort_values
from jaxbn.inputs import checks
from jaxbn.runtime import limits

SHAPE_GRID = 512
"""Positions on which shapes are compared; with the best one, cuts are then placed among all rows or down to these."""


class Request(NamedTuple):
    """One variable to discretize, everything in ascending order of its values, weights positive."""

    ordered: Ordered
    factors: Sequence[Factor]
    rate: float
    weights: NDArray[np.int32] | None = None
    min_width: float = 0.0
    most_bins: int | None = None  # no limit if not given
    shapes: tuple[Shape, ...] = ()  # with "evidence", candidates, of which the best is taken; none means flat


@limits.within()
def discretize_variable(
    values: ArrayLike,
    parents: Sequence[ArrayLike] = (),
    children: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]] = (),
    *,
    rate: float | None = None,
    method: str = "evidence",
    weights: ArrayLike | None = None,
    min_width: float | None = None,
    max_bins: int | Literal["auto"] | None = "auto",
    shape: Literal["auto", "flat"] | None = None,
    missing: Literal["infer", "error"] = "error",
) -> Binning:
    """Cut one continuous variable into the best intervals given its Markov blanket. The optimum is exact.

    Args:
        values: the variable, floats [n].
        parents: codes of each parent, non-negative integers [n].
        children: for each child its codes [n] and the codes of its other parents, ``(codes, (spouse, ...))``.
        rate: L > 0, the expected number of cuts of the prior (needed by ``"bayesian"``): the larger, the more bins.
        method: ``"bayesian"`` (Chen, Wheeler and Kochenderfer 2017), ``"mdl"`` (Friedman and Goldszmidt 1996), or
            ``"evidence"``, the evidence of the data in original units.
        weights: how often each row counts, non-negative integers [n]; all one if not given.
        min_width: with ``"evidence"``, the smallest width of a bin, e.g. the step to which the values are recorded;
            no limit if not given. A single bin is always allowed.
        max_bins: with ``"evidence"``, most bins; by default 8, which people can read, and None for no limit.
        shape: with ``"evidence"``, how values are distributed inside bins: ``"auto"``, as the whole column is (see
            ``jaxbn.discretize``), or ``"flat"``, evenly.
        missing: ``"error"`` refuses missing entries. With ``"infer"`` they are NaN, or -1 as a code: a row that lacks
            the value is left out, and one that lacks a member of a factor (a child with its other parents, or the
            parents) adds nothing there; for ``"evidence"``, rows that lack a parent are one more configuration.

    Returns:
        The binning; its ``cost`` is the full objective: for ``"bayesian"`` L + Σ w over cuts + Σ h over intervals, for
        ``"evidence"`` minus the part of the log evidence that depends on the cuts.
        w is the prior cost of a cut, h the cost of an interval (docs/maths.md).
        A variable with one distinct value has one bin, and its cost is h alone.

    Raises:
        ValueError: values that are not finite, lengths that differ, negative codes or weights, a rate that is not
            positive; the message names the argument.
        TypeError: strings where numbers belong.

    Example:
        >>> import numpy as np
        >>> x = np.concatenate([np.linspace(0, 1, 50), np.linspace(1.1, 2, 50)])
        >>> species = np.repeat([0, 1], 50)
        >>> discretize_variable(x, parents=[species]).cuts.round(3).tolist()
        [1.05]
    """
    options = rate, method, weights, min_width, max_bins, shape, missing
    return best_binnings([variable_request(values, parents, children, *options)], method)[0]


def variable_request(
    values: ArrayLike,
    parents: Sequence[ArrayLike],
    children: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]],
    rate: float | None = None,
    method: str = "evidence",
    weights: ArrayLike | None = None,
    min_width: float | None = None,
    max_bins: int | Literal["auto"] | None = "auto",
    shape: Literal["auto", "flat"] | None = None,
    missing: Literal["infer", "error"] = "error",
) -> Request:
    """The arguments of ``discretize_variable``, checked, in ascending order of the values."""
    holes = checks.one_of("missing", missing, ("infer", "error")) == "infer"
    column = checks.numbers("values", values, holes=holes)
    n = len(column)
    check = checks.holed_integers if holes else checks.integers
    parent_codes = [check(f"parents[{i}]", codes, n) for i, codes in enumerate(parents)]
    families = [checked_child(i, child, n, check) for i, child in enumerate(children)]
    counts = checks.row_weights(weights, n)
    checks.one_of("method", method, tuple(METHODS))
    if method == "bayesian" and rate is None:
        raise checks.ArgumentError(
            "rate", "is missing; the bayesian method needs L > 0, for example the largest cardinality of the blanket"
        )
    options = {
        "rate": rate,
        "min_width": min_width or None,  # 0 is no limit
        "max_bins": None if max_bins == "auto" else max_bins,
        "shape": shape,
    }
    check_options(method, {argument: value for argument, value in options.items() if value is not None})
    number = checks.positive("rate", rate) if rate is not None else 1.0
    narrowest = checks.positive("min_width", min_width) if min_width else 0.0
    most = (MAX_BINS if max_bins == "auto" else max_bins) if method == "evidence" else None
    flat = method != "evidence" or checks.one_of("shape", shape or "auto", ("auto", "flat")) == "flat"

    kept = np.flatnonzero(~np.isnan(column) if counts is None else ~np.isnan(column) & (counts > 0))
    if not len(kept):
        raise checks.ArgumentError("weights", "are zero where there is a value; at least one such row must count")
    ordered = sort_values(column[kept])
    rows = kept[ordered.order]
    factors = factors_at(parent_codes, families, rows)
    row_weights = None if counts is None or (counts[rows] == 1).all() else counts[rows].astype(np.int32)
    shapes = () if flat else column_shapes(ordered, row_weights)
    most = None if most is None else checks.at_least("max_bins", most, 1)
    return Request(ordered, factors, number, row_weights, narrowest, most, shapes)


def best_binnings(
    requests: Sequence[Request], method: str, grid: int | None = None, refinements: int = 1
) -> list[Binning]:
    """The best binning for each request, many at once.

    With a grid, cuts are sought only at this many quantiles of the gaps between distinct values, then, at most
    `refinements` times, at as many positions around the cuts found. Without a grid, or with fewer gaps than that, the
    optimum is exact.
    """
    requests = [_without_repeats(request) for request in requests]
    if method == "bayesian":
        problems = [_bayesian_rows(request) for request in requests]
        solutions = solve(problems, grid=grid, refinements=refinements)
        for i, request in enumerate(requests):
            if request.most_bins is not None and len(solutions[i].cuts) >= request.most_bins:
                solutions[i] = _with_few_bins(problems[i], request.most_bins, grid, refinements)
    elif method == "mdl":
        solutions = solve_charged([_description_length(request) for request in requests], grid, refinements)
    else:
        return _by_evidence(requests, grid, refinements)
    return [_binning(r.ordered, found, method) for r, found in zip(requests, solutions, strict=True)]


def _by_evidence(requests: Sequence[Request], grid: int | None, refinements: int) -> list[Binning]:
    """The best binning of each variable over all its shapes."""
    if grid is None or refinements > 1:
        requests = _with_best_shapes(requests)
    charged = [problem for request in requests for problem in _evidence_problems(request, grid)]
    solutions, binnings = iter(solve_charged(charged, grid, refinements)), []
    for request in requests:
        tried = [(next(solutions), shape) for shape in request.shapes or (None,)]
        solution, shape = min(tried, key=lambda pair: pair[0].cost)
        binnings.append(replace(_binning(request.ordered, solution, "evidence"), shape=shape))
    return binnings


def _with_best_shapes(requests: Sequence[Request]) -> list[Request]:
    """Choose shapes on a coarse grid: these differ in cost by far more than the grid loses."""
    open_ones = {i: r for i, r in enumerate(requests) if len(r.shapes) > 1 and r.ordered.n_distinct > 2 * SHAPE_GRID}
    found = zip(open_ones.items(), _by_evidence(list(open_ones.values()), SHAPE_GRID, 1), strict=True)
    chosen = {i: request._replace(shapes=(binning.shape,)) for (i, request), binning in found}  # type: ignore[arg-type]
    return [chosen.get(i, request) for i, request in enumerate(requests)]


def _evidence_problems(request: Request, grid: int | None) -> list[Charged]:
    """The problem with each shape. They share their terms, so that the costs of cells are computed once."""
    most = min((bound for bound in (grid, request.most_bins) if bound is not None), default=None)
    given = request.ordered, request.factors, request.weights, request.min_width, most
    first, *others = (evidence_problem(*given, shape) for shape in request.shapes or (None,))
    return [first, *(each._replace(rows=replace(each.rows, terms=first.rows.terms)) for each in others)]


def _bayesian_rows(request: Request) -> Rows:
    """The paper's objective: L + Σ w over cuts + Σ h over intervals; a constant variable has no gap to charge for."""
    values = request.ordered.values
    first_cost = request.rate if values[-1] > values[0] else 0.0
    costs = cut_costs(values, request.rate)
    can_cut = np.append(np.isfinite(costs[:-1]), False)
    return Rows(can_cut, dirichlet_terms(request.factors), request.weights, None, costs, first_cost)


def _description_length(request: Request) -> Charged:
    """The minimum description length of Friedman and Goldszmidt, as the paper prints it (docs/maths.md).

    Its penalty depends on the number of intervals alone. |Pa_X| is 1 where X has no parents; |Pa_Xj| is X's bins times
    the spouses' configurations.
    """
    ordered, (own, *children), weights = request.ordered, request.factors, request.weights
    rows = Rows(ordered.can_cut, dirichlet_terms(request.factors, ENTROPY), weights)
    k = np.arange(1, ordered.n_distinct + 1, dtype=np.float64)
    parameters = float(own.n_states) * (k - 1)
    for child in children:
        parameters = parameters + k * float(child.context_states) * (child.n_states - 1)
    gaps = ordered.n_distinct - 1
    p = (k - 1) / max(gaps, 1)
    entropy = -(p * np.log(np.where(p > 0, p, 1)) + (1 - p) * np.log(np.where(p < 1, 1 - p, 1)))
    penalty = 0.5 * np.log(rows.total) * parameters + np.log(k) + gaps * entropy
    marginal = sum(_outcome_entropy(factor, weights) for factor in request.factors)
    return Charged(rows, penalty[: request.most_bins], -marginal)


def _outcome_entropy(factor: Factor, weights: NDArray[np.int32] | None) -> float:
    """The marginal n H(outcome): as n I = n H(outcome) - E, it turns E into the printed mutual information."""
    outcomes = factor.outcome
    if factor.lacking:
        known = outcomes >= 0
        outcomes, weights = outcomes[known], None if weights is None else weights[known]
    counts = np.bincount(outcomes, weights=weights).astype(np.float64)
    counts = counts[counts > 0]
    return float(-(counts * np.log(counts / counts.sum())).sum())


def _with_few_bins(rows: Rows, most: int, grid: int | None, refinements: int) -> Solution:
    """Raise the price of a cut by bisection until there are at most `most` bins; near the best, not proved."""
    low, high, best = 0.0, math.inf, None
    while best is None or high - low > 0.01 * high:
        price = max(2 * low, 1.0) if best is None else (low + high) / 2
        (found,) = solve([replace(rows, cut_cost=rows.cut_costs + price)], grid=grid, refinements=refinements)
        if len(found.cuts) < most:
            # the price only limits the bins and is no part of the objective
            high, best = price, replace(found, cost=found.cost - price * (len(found.cuts) + 1))
        else:
            low = price
    return best


def _binning(ordered: Ordered, solution: Solution, method: str) -> Binning:
    values = ordered.values
    return Binning(ordered.edges(solution.cuts), solution.cost, float(values[0]), float(values[-1]), method)


def _without_repeats(request: Request) -> Request:
    """Identical rows become one, with their weights added; only where that leaves at most half of them."""
    ordered, factors, weights = request.ordered, request.factors, request.weights
    n = len(ordered.values)
    # exact, as costs depend on counts alone; but rows with weights need look-ups where others need only ratios
    # (`problem.ratios_fit`), which pays only if they are far fewer
    if n <= 2048 or 2 * ordered.n_distinct > n:
        return request
    value = np.concatenate([[0], np.cumsum(ordered.can_cut[:-1])]).astype(np.int32)
    code, n_codes = joint([(value, ordered.n_distinct), *((f.cell, f.n_cells) for f in factors)], n)
    if 2 * n_codes > n:
        return request
    first = np.empty(n_codes, np.intp)
    first[code] = np.arange(n)
    total = np.bincount(code, weights, n_codes).astype(np.int32)
    return request._replace(ordered=ordered.at(first), factors=[f.at(first) for f in factors], weights=total)
