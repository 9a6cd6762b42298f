"""Exact inference in a fitted network: which tables matter, what is known, what is summed out.

Shapes: B rows, K states of the kept variable. Missing entries have code -1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.model.contraction import BYTES, MAX_MEMORY, contract, plan

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

Family = tuple[str, ...]  # parents first, the child last: the axes of its table
ROWS = ("rows",)  # the axis of a batch of rows; a tuple, so that no variable's name equals it


def ancestors(parents: Mapping[str, Sequence[str]], names: Iterable[str]) -> set[str]:
    """The names and all their ancestors; the tables of all other variables are summed out to 1.

    Example:
        >>> sorted(ancestors({"a": (), "b": ("a",), "c": ("b",)}, ["b"]))
        ['a', 'b']
    """
    found: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += parents[name]
    return found


def joint(
    net: BayesNet, targets: Sequence[str], weights: Mapping[str, NDArray[np.float64]], max_memory: float = MAX_MEMORY
) -> NDArray[np.float64]:
    """P(targets | what is given).

    Args:
        net: the fitted network.
        targets: variables to keep.
        weights: P(what is given | state) of each observed variable, up to a factor, [cardinality] each.
        max_memory: refuse when one array would take more bytes than this.

    Returns:
        float64 [*cardinalities of the targets], which sums to 1.
    """
    known = {name: int(np.argmax(w)) for name, w in weights.items() if np.count_nonzero(w) == 1}
    axes: list[Family] = [(name,) for name in weights if name not in known]
    arrays = [weights[name] for (name,) in axes]
    relevant = ancestors(net.parents, [*targets, *weights])
    for family in _families(net, relevant):
        axes.append(tuple(name for name in family if name not in known))
        arrays.append(net.tables[family[-1]][tuple(known.get(name, slice(None)) for name in family)])
    peaks = [array.max() for array in arrays]  # taken out so that the product of many small factors does not underflow
    route = plan(axes, tuple(targets), net.cardinalities, max_memory)
    result = contract(route, [array / (peak or 1.0) for array, peak in zip(arrays, peaks, strict=True)])
    total = result.sum()
    if not total > 0:
        raise ValueError(f"what is given on {', '.join(map(repr, weights))} has probability 0 under the network")
    return np.asarray(result / total, np.float64)


def row_log_joint(
    net: BayesNet, codes: NDArray[np.int32], keep: str | None = None, max_memory: float = MAX_MEMORY
) -> NDArray[np.float64]:
    """Log P(observed entries) of each row, the missing ones summed out; with ``keep``, for each state of that variable.

    Rows are grouped by which entries are missing; tables without a missing entry are looked up, the others contracted
    for the whole group at once. With ``keep`` the tables that cancel in its posterior are left out.

    Args:
        net: the fitted network.
        codes: [B, variables], -1 where missing.
        keep: a variable whose own codes are disregarded.
        max_memory: bytes that one array may take; groups are split to stay below it.

    Returns:
        float64 [B], or [B, K] with ``keep``.
    """
    absent = codes == MISSING
    kept: Family = () if keep is None else (keep,)
    if keep is not None:
        absent[:, net.names.index(keep)] = True
    result = np.zeros((len(codes), *(net.cardinalities[name] for name in kept)))
    for pattern, rows in _groups(absent):
        hidden = {name for name, gone in zip(net.names, pattern, strict=True) if gone}
        column = dict(zip(net.names, codes[rows].T, strict=True))
        result[rows] = _group_log_joint(net, column, hidden, kept, max_memory)
    return result


def _group_log_joint(
    net: BayesNet, column: Mapping[str, NDArray[np.int32]], hidden: set[str], kept: Family, max_memory: float
) -> NDArray[np.float64]:
    relevant = ancestors(net.parents, [name for name in net.names if name not in hidden or name in kept])
    families = _families(net, relevant)
    if kept:
        families = _linked(families, hidden, kept[0])
    unknown = hidden - set(kept)
    n_rows = len(column[net.names[0]])
    total = np.zeros((n_rows, *(net.cardinalities[name] for name in kept)))
    with np.errstate(divide="ignore"):  # a network read from elsewhere may hold zeros; ln 0 = -inf is the right answer
        for family in families:
            if unknown.isdisjoint(family):
                total += _gather(np.log(net.tables[family[-1]]), family, hidden, column)
        tangled = [family for family in families if not unknown.isdisjoint(family)]
        if tangled:
            total += _log_sum_out(net, tangled, column, hidden, kept, max_memory)
    return total


def _log_sum_out(
    net: BayesNet,
    families: Sequence[Family],
    column: Mapping[str, NDArray[np.int32]],
    hidden: set[str],
    kept: Family,
    max_memory: float,
) -> NDArray[np.float64]:
    """Log of the product of the families' tables with everything hidden but ``kept`` summed out, [B] or [B, K]."""
    batched = [not hidden.issuperset(family) for family in families]
    axes = [
        (*[ROWS] * batch, *(name for name in family if name in hidden))
        for family, batch in zip(families, batched, strict=True)
    ]
    sizes: dict[Any, int] = {ROWS: 1, **net.cardinalities}
    route = plan(axes, (*[ROWS] * any(batched), *kept), sizes, max_memory)
    step = max(1, int(max_memory / (4 * BYTES * route.largest)))  # about two operands and a result live at a time
    parts = []
    for start in range(0, len(column[net.names[0]]), step):
        part = {name: codes[start : start + step] for name, codes in column.items()}
        arrays = [_gather(net.tables[family[-1]], family, hidden, part) for family in families]
        peaks = [
            array.max(axis=tuple(range(1, array.ndim))) if b else 1.0 for array, b in zip(arrays, batched, strict=True)
        ]
        scaled = [_divide(array, peak) for array, peak in zip(arrays, peaks, strict=True)]
        log_peaks = np.asarray(sum(np.log(peak) for peak in peaks))
        logs = np.log(contract(route, scaled))
        parts.append(logs + (log_peaks[:, None] if kept and log_peaks.ndim else log_peaks))
    return np.concatenate(parts) if any(batched) else parts[0]


def _divide(array: NDArray[np.float64], peak: Any) -> NDArray[np.float64]:
    """The array over each row's largest entry, which keeps products of many tables from underflowing."""
    peak = np.where(np.asarray(peak) > 0, peak, 1.0)
    return np.asarray(array / peak.reshape(-1, *[1] * (array.ndim - 1)) if peak.ndim else array, np.float64)


def _gather(
    table: NDArray[np.float64], family: Family, hidden: Collection[str], column: Mapping[str, NDArray[np.int32]]
) -> NDArray[np.float64]:
    """The table at each row's observed entries, [B, *hidden]; the table itself where all of the family is hidden."""
    seen = [name for name in family if name not in hidden]
    if not seen:
        return table
    front = np.moveaxis(table, [family.index(name) for name in seen], range(len(seen)))
    flat = front.reshape(-1, *front.shape[len(seen) :])
    return np.take(flat, np.ravel_multi_index([column[name] for name in seen], front.shape[: len(seen)]), axis=0)


def _families(net: BayesNet, names: Collection[str]) -> list[Family]:
    return [(*net.parents[name], name) for name in net.names if name in names]


def _linked(families: Sequence[Family], hidden: set[str], start: str) -> list[Family]:
    """Families that share a hidden variable with ``start``, directly or through others."""
    reached, size = {start}, 0
    while len(reached) > size:
        size = len(reached)
        reached |= {name for family in families if not reached.isdisjoint(family) for name in family if name in hidden}
    return [family for family in families if not reached.isdisjoint(family)]


def _groups(absent: NDArray[np.bool_]) -> Iterable[tuple[NDArray[np.bool_], NDArray[Any]]]:
    """Each pattern of missing entries with the positions of its rows."""
    if not len(absent):
        return
    if (absent == absent[0]).all():
        yield absent[0], np.arange(len(absent))
        return
    _, first, where = np.unique(np.packbits(absent, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(where.ravel(), kind="stable")
    starts = np.searchsorted(where.ravel()[order], np.arange(len(first) + 1))
    for i, row in enumerate(first):
        yield absent[row], order[starts[i] : starts[i + 1]]
