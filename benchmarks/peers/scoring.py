"""The common yardsticks, in NumPy and pandas alone: whatever a peer answers is scored here and nowhere else.

Conditional tables have α = 1 and cover every bin and every level: no probability is zero, no row is ever left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lgamma

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Parents = Mapping[str, Sequence[str]]
_LOG_GAMMA = np.vectorize(lgamma, otypes=[float])


def coded(values: Floats, edges: Sequence[float]) -> Codes:
    """Number of the left-closed bin of each value."""
    return np.searchsorted(np.asarray(edges, float), values, side="right")


def log_widths(edges: Sequence[float], low: float, high: float) -> Floats:
    """ln width of each bin between the smallest and the largest value."""
    inner = np.clip(np.asarray(edges, float), low, high)
    widths = np.diff(np.concatenate([[low], inner, [high]]))
    return np.log(np.maximum(widths, np.finfo(float).tiny))


def in_bins(
    frame: pd.DataFrame, cuts: Mapping[str, Sequence[float]]
) -> tuple[dict[str, Codes], dict[str, int], Floats]:
    """Every column as codes, cut or by its levels; numbers of states; and ln density of each row inside its bins."""
    codes, cards, densities = {}, {}, np.zeros(len(frame))
    for name, column in frame.items():
        if name in cuts:
            values, edges = column.to_numpy(float), cuts[name]
            codes[name], cards[name] = coded(values, edges), len(edges) + 1
            densities -= log_widths(edges, values.min(), values.max())[codes[name]]
        else:
            levels, codes[name] = np.unique(column, return_inverse=True)
            cards[name] = len(levels)
    return codes, cards, densities


def same_cuts(ours: Sequence[float], theirs: Sequence[float], rtol: float) -> bool:
    """Whether the cuts are the same, up to the last digits."""
    return len(ours) == len(theirs) and bool(np.allclose(ours, theirs, rtol=rtol))


def column_scores(
    training: tuple[Floats, Codes], held_out: tuple[Floats, Codes], edges: Sequence[float]
) -> dict[str, float]:
    """Mean ln P(class | bin) and ln p(column | class) of held-out rows; the density is uniform inside a bin."""
    (values, codes), (new_values, new_codes) = training, held_out
    n_bins, n_classes = len(edges) + 1, int(codes.max()) + 1
    counts = np.ones((n_bins, n_classes))
    np.add.at(counts, (coded(values, edges), codes), 1)
    low, high = min(values.min(), new_values.min()), max(values.max(), new_values.max())
    cells = coded(new_values, edges), new_codes
    of_class = np.log(counts / counts.sum(1, keepdims=True))[cells]
    of_column = np.log(counts / counts.sum(0))[cells] - log_widths(edges, low, high)[cells[0]]
    return {"class_score": float(of_class.mean()), "column_score": float(of_column.mean())}


def paper_objective(values: Floats, codes: Codes, edges: Sequence[float], rate: float) -> float:
    """The paper's cost of cuts of a column with one parent (lower is better), by its definition."""
    distinct = np.unique(values)
    gaps = np.diff(distinct) / (distinct[-1] - distinct[0])
    after = np.unique(np.searchsorted(distinct, edges, side="left")) - 1  # the distinct value before each cut
    after = after[(after >= 0) & (after < len(gaps))]
    bins = np.searchsorted(distinct[after + 1], values, side="right")
    n_classes = int(codes.max()) + 1
    counts = np.zeros((len(after) + 1, n_classes))
    np.add.at(counts, (bins, codes), 1)
    of_cuts = -np.log(np.expm1(rate * gaps[after])).sum()
    of_bins = (_LOG_GAMMA(counts.sum(1) + n_classes) - lgamma(n_classes) - _LOG_GAMMA(counts + 1).sum(1)).sum()
    return float(rate + of_cuts + of_bins)


def family_counts(columns: Mapping[str, Codes], child: str, parents: Sequence[str], cards: Mapping[str, int]) -> Floats:
    """How often each state of the child meets each configuration of the parents [configurations, states]."""
    configuration = np.zeros(len(columns[child]), np.int64)
    n_configurations = 1
    for name in parents:
        configuration = configuration * cards[name] + columns[name]
        n_configurations *= cards[name]
    cell = configuration * cards[child] + columns[child]
    return np.bincount(cell, minlength=n_configurations * cards[child]).reshape(-1, cards[child]).astype(float)


def family_score(columns: Mapping[str, Codes], child: str, parents: Sequence[str], cards: Mapping[str, int]) -> float:
    """ln of the K2 evidence of a child given its parents; configurations without a row add nothing."""
    counts = family_counts(columns, child, parents, cards)
    counts = counts[counts.sum(1) > 0]
    r = cards[child]
    return float((lgamma(r) - _LOG_GAMMA(counts.sum(1) + r) + _LOG_GAMMA(counts + 1).sum(1)).sum())


def k2_score(columns: Mapping[str, Codes], parents: Parents) -> float:
    """ln P(data | structure), by the cardinalities that were observed."""
    cards = {name: len(np.unique(codes)) for name, codes in columns.items()}
    packed = {name: np.unique(codes, return_inverse=True)[1] for name, codes in columns.items()}
    return sum(family_score(packed, child, parents.get(child, ()), cards) for child in columns)


def k2_search(columns: Mapping[str, Codes], order: Sequence[str], max_parents: int) -> dict[str, tuple[str, ...]]:
    """K2: each variable in turn takes the predecessor that raises its score most, while one does."""
    cards = {name: len(np.unique(codes)) for name, codes in columns.items()}
    packed = {name: np.unique(codes, return_inverse=True)[1] for name, codes in columns.items()}
    found: dict[str, tuple[str, ...]] = {}
    for i, child in enumerate(order):
        parents: tuple[str, ...] = ()
        best = family_score(packed, child, parents, cards)
        while len(parents) < max_parents:
            tried = {p: family_score(packed, child, (*parents, p), cards) for p in order[:i] if p not in parents}
            winner = max(tried, key=tried.__getitem__, default=None)
            if winner is None or tried[winner] <= best:
                break
            parents, best = (*parents, winner), tried[winner]
        found[child] = parents
    return found


def row_densities(
    training: Mapping[str, Codes], held_out: Mapping[str, Codes], parents: Parents, cards: Mapping[str, int]
) -> Floats:
    """ln P of each held-out row of codes, tables with α = 1 from the training rows."""
    total = np.zeros(len(next(iter(held_out.values()))))
    for child in training:
        of_child = list(parents.get(child, ()))
        tables = family_counts(training, child, of_child, cards) + 1
        tables /= tables.sum(1, keepdims=True)
        configuration = np.zeros(len(total), np.int64)
        for name in of_child:
            configuration = configuration * cards[name] + held_out[name]
        total += np.log(tables[configuration, held_out[child]])
    return total


def arcs_as_parents(arcs: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parents of every name; an arc that closes a cycle, or is given twice, is refused."""
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for tail, head in arcs:
        if tail in parents[head]:
            raise ValueError(f"arc {tail} -> {head} is given twice")
        parents[head] += (tail,)
    left = dict(parents)
    while left:
        free = [name for name, of_name in left.items() if not any(p in left for p in of_name)]
        if not free:
            raise ValueError(f"arcs among {sorted(left)} close a cycle")
        for name in free:
            del left[name]
    return parents
