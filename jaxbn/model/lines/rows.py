"""What lines say of rows: how values lean inside their bins, and what that adds to their log density."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.scores import Floats, Kind, Lean, Part
from jaxbn.inputs.columns import MISSING
from jaxbn.model.fitted import Fitted
from jaxbn.model.lines.line import Integers, Line
from jaxbn.model.observations import Unknown, encode_frame, frame_of, numbers_of


def lean(
    net: Fitted, name: str, codes: Integers, values: Mapping[str, Floats], own: Integers | None = None,
    scores: Sequence[Floats] | None = None,
) -> Lean | None:  # fmt: skip
    """How the values of a variable lean inside their bins, given those of others; None if it has no line.

    Codes are [rows, variables], -1 where missing, and values NaN there. Without its `own` bins [rows] it is the lean in
    all of them, [rows, bins]. `scores` are those of the numbers that its line follows, where they are known already.
    """
    if name not in net.lines:
        return None
    line, size = net.lines[name], net.cardinalities[name]
    if scores is None:
        scores = [part_of(net, n, codes, values, line.ruler).mean for n in line.numbers]
    if own is None:
        own, scores, codes = np.arange(size), [score[:, None] for score in scores], codes[:, None]
    cells, ruler = cells_of(net, name, codes), net.inside(name).rulers[line.ruler]
    if line.column:
        cells, bins = np.broadcast_arrays(cells, np.maximum(own, 0))  # what is missing is nowhere in particular
    else:
        cells, bins = np.where(cells == MISSING, MISSING, cells * size + own), own

    def by(line: Line, scores: Sequence[Floats]) -> Lean:
        states, spread = scores_of_states(net, name, line.children, codes, own)
        return line.lean(cells, [*scores, *states], ruler.ends(bins), spread, ruler)

    found, size = by(line, scores), len(line.parents)
    if line.by_parents is None or not any(np.isnan(score).any() for score in scores[size:]):
        return found
    other, lacking = by(line.by_parents, scores[:size]), np.isnan(sum(scores[size:]))
    mean, scale, off = (np.where(lacking, *each) for each in zip(other[:3], found[:3], strict=True))
    return found._replace(mean=mean, scale=scale, off=off)


def lean_of_rows(net: Fitted, data: Any, target: str, unknown: Unknown) -> Lean | None:
    """How the target leans inside each of its bins, given the other columns, [rows, bins]."""
    if target not in net.lines:
        return None
    frame = frame_of(net, data, target)
    values = numbers_of(net, frame, net.lines[target].numbers)
    return lean(net, target, encode_frame(net, frame, unknown, optional=net.names), values)


def by_lines(net: Fitted) -> list[str]:
    """All variables, those with lines last and after those whose numbers they follow."""
    order = TopologicalSorter({name: net.lines[name].numbers for name in net.names if name in net.lines}).static_order()
    return [name for name in net.names if name not in net.lines] + [name for name in order if name in net.lines]


def log_ratios(net: Fitted, codes: Integers, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """What the lines add to the log density of each value [rows]; nothing where an entry that one needs is missing."""
    codes = codes.astype(np.intp, order="F")  # columns one after the other are faster to look up
    needed = {(name, line.ruler) for own, line in net.lines.items() for name in (own, *line.numbers)}
    parts = {each: part_of(net, each[0], codes, values, each[1]) for each in needed}
    found = {}
    for name, line in net.lines.items():
        scores = [parts[other, line.ruler].mean for other in line.numbers]
        leaning = lean(net, name, codes, values, codes[:, net.names.index(name)], scores)
        assert leaning is not None
        part = parts[name, line.ruler]
        found[name] = np.where(np.isnan(part.mean), 0.0, leaning.log_ratio(part))
    return found


def range_ratios(net: Fitted, name: str, low: float, high: float) -> Floats:
    """How much more probable a range is inside each bin, given the parents' bins, than without the line.

    The shape is that of the variable's table. Where parents and children lie inside their bins is summed out, as if the
    places of different ones did not depend on each other.
    """
    line, inside, shape = net.lines[name].of_parents, net.inside(name), net.tables[name].shape
    if line is None:
        return np.ones(shape)
    cells, ruler = np.arange(net.tables[name].size), inside.rulers[line.ruler]
    *context, own = np.unravel_index(cells, shape)
    begin, end = (each[own] for each in inside.part(low, high))
    scores, spread = [np.zeros(len(cells)) for _ in line.children], [np.ones(len(cells)) for _ in line.children]
    for parent in reversed(line.parents):
        states = context[net.parents[name].index(parent)]
        mean, variance = net.inside(parent).rulers[line.ruler].moments()
        scores.insert(0, mean[states])
        spread.insert(0, variance[states])
    if line.column:
        cells = cells // shape[-1]
        begin, end = inside.of_column(begin, own), inside.of_column(end, own)
    part = Part(ruler.score(begin), ruler.score(end), end - begin, begin)  # whose mean is not asked for
    return np.exp(line.lean(cells, scores, ruler.ends(own), spread, ruler).log_ratio(part)).reshape(shape)


def part_of(net: Fitted, name: str, codes: Integers, values: Mapping[str, Floats], ruler: Kind) -> Part:
    """The part of its bin, or column, that each value of a variable stands for [rows]; its mean is NaN without one."""
    own, part = codes[:, net.names.index(name)], net.inside(name).rulers[ruler].part
    known = (own != MISSING) & ~np.isnan(values[name])
    if known.all():
        return part(values[name], own)
    found = part(np.where(known, values[name], 0.0), np.where(known, own, 0))
    return found._replace(mean=np.where(known, found.mean, np.nan))


def cells_of(net: Fitted, name: str, codes: Integers) -> NDArray[np.int64]:
    """The states of a variable's parents as one number [...], -1 where one is missing."""
    found, gone = np.zeros(codes.shape[:-1], np.int64), np.zeros(codes.shape[:-1], bool)
    for parent in net.parents[name]:
        states = codes[..., net.names.index(parent)]
        found = found * net.cardinalities[parent] + states
        gone |= states == MISSING
    return np.where(gone, MISSING, found)


def state_scores(table: Floats) -> Floats:
    """The mean normal score of each state among those that a table lets one expect, [..., states].

    Example:
        >>> state_scores(np.array([[0.5, 0.5], [0.1, 0.9]])).round(3).tolist()
        [[-0.798, 0.798], [-1.755, 0.195]]
    """
    ends = np.cumsum(table, axis=-1)
    ends = np.concatenate([np.zeros_like(ends[..., :1]), ends / ends[..., -1:]], axis=-1)
    part = Part.of(ends[..., :-1], ends[..., 1:])
    return np.where(part.share > 0, part.mean, 0.0)


def scores_of_states(
    net: Fitted, name: str, children: tuple[str, ...], codes: Integers, own: Integers
) -> tuple[list[Floats], list[Floats]]:
    """Scores of the states of each child, given its parents and the bin of one, 0 where missing.

    And the variance that is expected of those that are missing, 1 if a parent is; empty if all are known.
    """
    found, spread = list[Floats](), list[Floats]()
    for child in children:
        if child not in net.state_scores:
            net.state_scores[child] = state_scores(net.tables[child])
        scores = net.state_scores[child]
        states = (own if n == name else codes[..., net.names.index(n)] for n in (*net.parents[child], child))
        *context, state = np.broadcast_arrays(*states)
        lacking = np.any([each == MISSING for each in context], axis=0)
        missing = lacking | (state == MISSING)
        found.append(scores[(*context, state)])
        spread.append(np.zeros(state.shape))
        if missing.any():
            # the score to be expected, being the mean of a standard normal number; what is not known becomes variance
            found[-1][missing] = 0.0
            expected = (net.tables[child] * scores**2).sum(axis=-1)[tuple(context)]
            spread[-1] = np.where(lacking, 1.0, np.where(missing, expected, 0.0))
    return found, spread if any(each.any() for each in spread) else []
