"""New rows and observations, in original units, as codes and weights of a fitted network's states."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.words import rounded
from jaxbn.inputs.checks import suggest
from jaxbn.inputs.columns import MISSING, as_floats, encode
from jaxbn.inputs.states import with_signs
from jaxbn.inputs.table import as_frame
from jaxbn.model.notices import tell_far

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet

Unknown = Literal["error", "missing"]


def encode_rows(net: BayesNet, data: Any, *, unknown: Unknown, optional: Iterable[str] = ()) -> NDArray[np.int32]:
    """Codes of new rows, one column a variable, -1 where an entry is missing.

    Args:
        net: the fitted network.
        data: what ``as_table`` accepts; columns that are not variables are ignored.
        unknown: what to do with levels that were not fitted, see ``encode``.
        optional: variables whose column may be absent, which is the same as missing in every row.

    Returns:
        int32 codes [rows, variables], variables in the order of ``net.names``.
    """
    frame = with_signs(as_frame(data), net.names)
    absent = [name for name in net.names if name not in frame.columns and name not in set(optional)]
    if absent:
        raise ValueError(
            f"the data lacks column(s) {', '.join(map(repr, absent))}; add them, filled with NaN where not known"
        )
    codes = np.full((len(frame), len(net.names)), MISSING, np.int32)
    for i, name in enumerate(net.names):
        if name not in frame.columns:
            continue
        if name in net.policies:
            values = as_floats(name, frame[name])
            tell_far(net, name, values)
            codes[:, i] = np.where(np.isnan(values), MISSING, net.policies[name](values))
        else:
            found = encode(frame[name], net.levels[name], name=name, unknown=unknown)
            codes[:, i] = np.append(net.group_codes[name], MISSING)[found] if name in net.groupings else found
    return codes


def observation_weights(net: BayesNet, given: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Weight of each state of each observed variable: P(what is given | state), up to a factor.

    Returns:
        float64 [cardinality] for each name; a single 1 among zeros where the state is known.
    """
    weights = {}
    for name, value in given.items():
        if name not in net.parents:
            raise ValueError(
                f"what is given names {name!r}, which is not a variable of the network; {suggest(name, net.parents)}"
            )
        weigh = _weigh_continuous if name in net.policies else _weigh_discrete
        weights[name] = weigh(net, name, value)
    return weights


def as_weights(name: str, value: Any) -> list[tuple[Any, float]] | None:
    """States and their likelihoods, if that is what is given: a mapping, or a Series as ``query`` answers."""
    import pandas as pd

    if not isinstance(value, Mapping | pd.Series):
        return None
    found = [(state, float(weight)) for state, weight in value.items()]
    if not all(0 <= weight < math.inf for _, weight in found) or not any(weight for _, weight in found):
        raise ValueError(
            f"the likelihoods given for {name!r} are {dict(found)!r}; pass numbers of at least 0, some of them above it"
        )
    return found


def interval_overlap(edges: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Share of each bin that lies in [low, high]; an interval beyond the outer edges falls into the outer bin.

    Example:
        >>> interval_overlap(np.array([0.0, 2.0, 4.0]), 1.0, 4.0).tolist()
        [0.5, 1.0]
        >>> interval_overlap(np.array([0.0, 2.0, 4.0]), 8.0, 9.0).tolist()
        [0.0, 1.0]
    """
    share = np.zeros(len(edges) - 1)
    if high <= edges[0] or low >= edges[-1]:
        share[0 if high <= edges[0] else -1] = 1.0
        return share
    covered = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    widths = np.diff(edges)
    share = covered / np.where(widths > 0, widths, 1.0)
    atoms = (widths == 0) & (covered == 0)  # a bin without width lies in the interval or does not
    return np.asarray(np.where(atoms, 1.0, np.clip(share, 0.0, 1.0)), np.float64)


def _weigh_continuous(net: BayesNet, name: str, value: Any) -> NDArray[np.float64]:
    policy = net.policies[name]
    parts = as_weights(name, value)
    if parts is not None:
        return np.asarray(sum(weight * _weigh_continuous(net, name, part) for part, weight in parts), np.float64)
    span = as_range(net, name, value)
    if span is not None:
        nearest = min(max(net.bounds[name][0], span[0]), span[1])  # to the fitted range
        tell_far(net, name, np.array([nearest]))
        return interval_overlap(net.edges(name), *span)
    values = np.array(as_members(name, value))
    tell_far(net, name, values)
    # A value counts with its density, P(bin) over the bin's width; if all values lie in one bin the width cancels.
    density = np.bincount(policy(values), minlength=policy.n_bins).astype(np.float64)
    widths = np.diff(net.edges(name))
    if np.count_nonzero(density) > 1:
        atoms = (density > 0) & (widths == 0)  # a density counts for nothing beside an atom
        density = np.where(atoms, density, 0.0) if atoms.any() else density / np.where(widths > 0, widths, 1.0)
    return density


def as_range(net: BayesNet, name: str, value: Any) -> tuple[float, float] | None:
    """The ends of an interval of a continuous variable, if that is what is given; one without length is a value."""
    import pandas as pd

    if not (isinstance(value, pd.Interval) or (isinstance(value, tuple) and len(value) == 2)):
        return None
    low, high = _ends(net, name, value) if isinstance(value, pd.Interval) else value
    low = -math.inf if low is None else _number(name, low, finite=False)
    high = math.inf if high is None else _number(name, high, finite=False)
    if low > high:
        raise ValueError(f"the value given for {name!r} is ({low!r}, {high!r}), whose ends are swapped")
    return (low, high) if low < high else None


def as_members(name: str, value: Any) -> list[float]:
    """The numbers that are given for a continuous variable: one, or several of which one is right."""
    if isinstance(value, tuple) and len(value) == 2:
        value = value[0]  # an interval without length
    return [_number(name, v) for v in _members(name, getattr(value, "left", value))]


def _ends(net: BayesNet, name: str, interval: pd.Interval) -> tuple[float, float]:
    """The ends of an interval; those of a bin as an answer shows it are the bin's own, to the last digit."""
    edges = net.policies[name].edges.tolist()
    exact = dict(zip(rounded(edges, among=net.bounds[name]), edges, strict=True))
    return exact.get(interval.left, interval.left), exact.get(interval.right, interval.right)


def _weigh_discrete(net: BayesNet, name: str, value: Any) -> NDArray[np.float64]:
    weights = level_weights(net, name, value)
    if name in net.groupings:  # P(one of these levels | group)
        return np.asarray(np.bincount(net.group_codes[name], weights * net.shares[name]), np.float64)
    return weights


def level_weights(net: BayesNet, name: str, value: Any) -> NDArray[np.float64]:
    """1 for each level of a discrete variable that agrees with what is known of it, or its likelihood, [levels]."""
    import pandas as pd

    parts = as_weights(name, value)
    if parts is not None:
        return np.asarray(sum(weight * level_weights(net, name, part) for part, weight in parts), np.float64)
    levels = net.levels[name]
    weights = np.zeros(len(levels))
    if isinstance(value, str | int | float) and value in levels:
        weights[levels.index(value)] = 1.0
        return weights
    if isinstance(value, pd.Interval):
        members = [v for v in levels if isinstance(v, int | float) and v in value]
        if not members:
            raise ValueError(f"the value given for {name!r}: no level lies in {value}; {suggest(value, levels)}")
    else:
        members = _members(name, value, tuples=True)
    codes = encode(members, levels, name=name)
    if (codes == MISSING).any():
        raise ValueError(f"the value given for {name!r} is missing ({value!r}); leave the name out")
    weights[codes] = 1.0
    return weights


def _members(name: str, value: Any, *, tuples: bool = False) -> list[Any]:
    if isinstance(value, Set | list | np.ndarray) or (tuples and isinstance(value, tuple)):
        members = list(np.atleast_1d(value)) if isinstance(value, np.ndarray) else list(value)
        if not members:
            raise ValueError(f"the value given for {name!r} is empty; leave the name out")
        return members
    return [value]


def _number(name: str, value: Any, *, finite: bool = True) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.number):
        raise TypeError(
            f"the value given for {name!r} must be a number, an interval (low, high) or a set of numbers, got "
            f"{value!r}; {name!r} is continuous"
        )
    number = float(value)
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ValueError(f"the value given for {name!r} is {value!r}; leave the name out if it is not known")
    return number
