"""New rows and observations, in original units, as codes and weights of a fitted network's states."""

from __future__ import annotations

import math
import numbers
import sys
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.binning import Binning
from jaxbn.cuts.words import rounded, short_numbers
from jaxbn.inputs.checks import few, mapping, suggest
from jaxbn.inputs.columns import MISSING, as_floats, encode
from jaxbn.inputs.later import pd
from jaxbn.inputs.states import with_signs
from jaxbn.inputs.table import as_frame
from jaxbn.inputs.units import NUMBER, Unit, in_words, to_number
from jaxbn.model.fitted import Fitted

Unknown = Literal["error", "missing"]
FAR = 1.0  # values further outside the fitted range than this multiple of its width are pointed out


def frame_of(net: Fitted, data: Any, target: str | None = None) -> pd.DataFrame:
    """New rows, with signs of missing entries and parts of dates where these are variables; without the target."""
    return with_signs(as_frame(data).drop(columns=[] if target is None else target, errors="ignore"), net.names)


def encode_frame(
    net: Fitted, frame: pd.DataFrame, unknown: Unknown, optional: Collection[str] = ()
) -> NDArray[np.int32]:
    """Codes of new rows, one column a variable in the order of ``net.names``, -1 where an entry is missing.

    Columns that are not variables are ignored; those of `optional` variables may be absent, which is the same as
    missing in every row.
    """
    absent = [name for name in net.names if name not in frame.columns and name not in optional]
    if absent:
        raise ValueError(
            f"the data lacks column(s) {', '.join(map(repr, absent))}; add them, filled with NaN where not known"
        )
    codes = np.full((len(frame), len(net.names)), MISSING, np.int32)
    for i, name in enumerate(net.names):
        if name not in frame.columns:
            continue
        if name in net.binnings:
            values = as_floats(name, frame[name], net.binnings[name].unit)
            tell_far(net, name, values)
            codes[:, i] = bins_of(net.binnings[name], values)
        else:
            found = encode(frame[name], net.levels[name], name=name, unknown=unknown)
            codes[:, i] = np.append(net.group_codes[name], MISSING)[found] if name in net.groupings else found
    return codes


def numbers_of(net: Fitted, frame: pd.DataFrame, names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Continuous columns as numbers, NaN where missing; an absent column is missing in every row."""
    return {
        name: as_floats(name, frame[name], net.binnings[name].unit)
        if name in frame.columns
        else np.full(len(frame), np.nan)
        for name in names
    }


def bins_of(binning: Binning, values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Codes of a continuous column, -1 where missing."""
    absent = np.isnan(values)
    return np.where(absent, MISSING, binning(values)).astype(np.int32) if absent.any() else binning(values)


def as_given(given: Any, argument: str = "given") -> Mapping[str, Any]:
    """What is given by name, a Series too, such as a row of a frame; nothing for None."""
    return mapping(argument, dict(given) if isinstance(given, pd.Series) else given, "{variable: value}")


def observation_weights(net: Fitted, given: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Weight of each state of each observed variable: P(what is given | state), up to a factor.

    Where the state is known it is a single 1 among zeros.
    """
    weights = {}
    for name, value in given.items():
        if name not in net.parents:
            raise ValueError(
                f"what is given names {name!r}, which is not a variable of the network; {suggest(name, net.parents)}"
            )
        weights[name] = level_weights(net, name, value)
        if name in net.groupings:  # P(one of these levels | group)
            weights[name] = np.bincount(net.group_codes[name], weights[name] * net.shares[name]).astype(np.float64)
    return weights


def as_weights(name: str, value: Any) -> list[tuple[Any, float]] | None:
    """States and their likelihoods, if that is what is given: a mapping, or a Series as ``query`` answers."""
    if not isinstance(value, Mapping | pd.Series):
        return None
    found = [(state, float(weight)) for state, weight in value.items()]
    if not all(0 <= weight < math.inf for _, weight in found) or not any(weight for _, weight in found):
        raise ValueError(
            f"the likelihoods given for {name!r} are {dict(found)!r}; pass numbers of at least 0, some of them above it"
        )
    return found


def _weigh_bins(net: Fitted, name: str, value: Any) -> NDArray[np.float64]:
    binning, span = net.binnings[name], as_range(net, name, value)
    if span is not None:
        nearest = min(max(net.bounds[name][0], span[0]), span[1])  # to the fitted range
        tell_far(net, name, np.array([nearest]))
        return net.inside(name).shares(*span)
    values = as_members(net, name, value)
    tell_far(net, name, values)
    # A value counts with its density, P(bin) times that inside the bin; if all lie in one bin that of the bin cancels.
    codes, inside = binning(values), net.inside(name)
    counts = np.bincount(codes, minlength=binning.n_bins).astype(np.float64)
    if np.count_nonzero(counts) == 1:
        return counts
    atoms = (counts > 0) & (inside.measures == 0)  # a density counts for nothing beside an atom
    if atoms.any():
        return np.where(atoms, counts, 0.0)
    return np.asarray(np.bincount(codes, np.exp(inside.log_density(values, codes)), binning.n_bins), np.float64)


def as_numbers(net: Fitted, name: str, value: Any) -> NDArray[np.float64] | None:
    """The numbers of which one is right, if that is what is given: neither likelihoods, an interval nor levels."""
    if name in net.levels or as_weights(name, value) is not None or as_range(net, name, value) is not None:
        return None
    return as_members(net, name, value)


def as_range(net: Fitted, name: str, value: Any) -> tuple[float, float] | None:
    """The ends of an interval of a continuous variable, if that is what is given; one without length is a value.

    The label of a bin stands for the bin.
    """
    labels = net.binnings[name].labels
    if isinstance(value, str) and value in labels:
        edges, place = (-math.inf, *net.binnings[name].cuts.tolist(), math.inf), labels.index(value)
        return edges[place], edges[place + 1]
    if not (isinstance(value, pd.Interval) or (isinstance(value, tuple) and len(value) == 2)):
        return None
    low, high = _ends(net, name, value) if isinstance(value, pd.Interval) else value
    low, high = _in_order(name, low, high, net.binnings[name].unit)
    return (low, high) if low < high else None


def as_members(net: Fitted, name: str, value: Any) -> NDArray[np.float64]:
    """The numbers that are given for a continuous variable: one, or several of which one is right."""
    if isinstance(value, tuple) and len(value) == 2:
        value = value[0]  # an interval without length
    unit = net.binnings[name].unit
    return np.array([_number(name, v, unit) for v in _members(name, getattr(value, "left", value))])


def _ends(net: Fitted, name: str, interval: pd.Interval) -> tuple[float, float]:
    """The ends of an interval; those of a bin as an answer shows it are the bin's own, to the last digit."""
    edges = net.binnings[name].cuts.tolist()
    exact = dict(zip(rounded(edges, among=net.bounds[name]), edges, strict=True))
    return exact.get(interval.left, interval.left), exact.get(interval.right, interval.right)


def level_weights(net: Fitted, name: str, value: Any) -> NDArray[np.float64]:
    """The weight of each level, or bin, of a variable by what is given: 1 or 0, or its likelihood, [levels]."""
    parts = as_weights(name, value)
    if parts is not None:
        return np.asarray(sum(weight * level_weights(net, name, part) for part, weight in parts), np.float64)
    if name in net.binnings:
        return _weigh_bins(net, name, value)
    levels = net.levels[name]
    weights = np.zeros(len(levels))
    if isinstance(value, str | int | float) and value in levels:
        weights[levels.index(value)] = 1.0
        return weights
    span = _span_of_levels(name, levels, value)
    if span is not None:
        members = [v for v in levels if isinstance(v, int | float) and v in span]
        if not members:
            raise ValueError(f"the value given for {name!r}: no level lies in {value}; {suggest(value, levels)}")
    else:
        members = _members(name, value, tuples=True)
    codes = encode(members, levels, name=name)
    if (codes == MISSING).any():
        raise ValueError(f"the value given for {name!r} is missing ({value!r}); leave the name out")
    weights[codes] = 1.0
    return weights


def _span_of_levels(name: str, levels: Sequence[Any], value: Any) -> pd.Interval | None:
    """The interval that is given, if it is one: a pair is where all levels are numbers, and both ends belong to it."""
    pair = isinstance(value, tuple) and len(value) == 2 and all(v is None or isinstance(v, numbers.Real) for v in value)
    if not pair or not all(type(v) in (int, float) for v in levels):
        return value if isinstance(value, pd.Interval) else None
    return pd.Interval(*_in_order(name, value[0], value[1], NUMBER), closed="both")


def _in_order(name: str, low: Any, high: Any, unit: Unit) -> tuple[float, float]:
    """The ends of an interval as numbers, infinite where it is open."""
    ends = (
        -math.inf if low is None else _number(name, low, unit, finite=False),
        math.inf if high is None else _number(name, high, unit, finite=False),
    )
    if ends[0] > ends[1]:
        raise ValueError(f"the value given for {name!r} is ({low!r}, {high!r}), whose ends are swapped")
    return ends


def _members(name: str, value: Any, *, tuples: bool = False) -> list[Any]:
    if isinstance(value, Set | list | np.ndarray) or (tuples and isinstance(value, tuple)):
        members = list(np.atleast_1d(value)) if isinstance(value, np.ndarray) else list(value)
        if not members:
            raise ValueError(f"the value given for {name!r} is empty; leave the name out")
        return members
    return [value]


def _number(name: str, value: Any, unit: Unit, *, finite: bool = True) -> float:
    if unit.kind != "number":
        value = to_number(name, value, unit)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.number):
        raise TypeError(
            f"the value given for {name!r} must be a number, an interval (low, high) or a set of numbers, got "
            f"{value!r}; {name!r} is continuous"
        )
    number = float(value)
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ValueError(f"the value given for {name!r} is {value!r}; leave the name out if it is not known")
    return number


# --- what a network says once about the data it is asked with


def tell_once(net: Fitted, about: Hashable, message: str) -> None:
    """Warn, but never twice about the same thing for the same network; the line named is the caller's own."""
    told = net.__dict__.setdefault("_told", set())
    if about not in told:
        told.add(about)
        warn_caller(message)


def warn_caller(message: str) -> None:
    """Warn; the line named is the one that called the package."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "jaxbn":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=depth)


def tell_far(net: Fitted, name: str, values: NDArray[np.float64]) -> None:
    """Point out values of a continuous variable far outside the range it was fitted to; NaN is ignored."""
    low, high = net.bounds[name]
    reach = FAR * (high - low)
    far = values[(values < low - reach) | (values > high + reach)]
    if not (0 < reach < np.inf and len(far)):
        return
    unit = net.binnings[name].unit
    ends = " to ".join(short_numbers([low, high], unit=unit))
    count = f"a value of {name!r} lies" if len(far) == 1 else f"{len(far)} values of {name!r} lie"
    tell_once(
        net,
        ("far", name),
        f"{count} far outside the range the network was fitted to, {ends}: {in_words(far[0], unit)}, which counts as "
        "the outermost bin; are these the units of the fitted data?",
    )


def tell_absent(net: Fitted, names: Sequence[str]) -> None:
    """Point out variables without a column in the data."""
    if names:
        shown = few([*map(repr, names)], 12)
        tell_once(
            net,
            ("absent", tuple(names)),
            f"the data lacks {shown} of the network: what is not there is summed out, as if missing in every row",
        )
