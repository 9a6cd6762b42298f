"""What setting a variable does, over all directions that the rows leave open, and what a prediction rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import Level
from jaxbn.inputs.units import from_numbers
from jaxbn.model.inference.questions import joint
from jaxbn.model.queries import check_targets, states
from jaxbn.model.rows.sampling import draw_rows
from jaxbn.structure.equivalence import parent_sets

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet

DRAWS = 8192
"""Rows drawn for what lines do inside bins: its mean is then off by about a hundredth of the outcome's spread."""


def effect(net: BayesNet, cause: str, outcome: str, level: Level | None) -> pd.DataFrame:
    """The mean of the outcome where the cause is set, see ``BayesNet.effect``.

    All members of an equivalence class have the same joint distribution. Where the cause has the parents Z in a member,
    setting it gives the mean Σ_z P(z) E(outcome | cause, z) (Maathuis, Kalisch and Bühlmann 2009): of a member nothing
    else matters, so that all of them are covered by the sets that can be the parents.
    """
    import pandas as pd

    check_targets(net, [cause, outcome], {})
    own = frozenset(net.parents[cause])
    every = [own, *(found for found in parent_sets(net.cpdag(), cause) if found != own)]
    means = [
        mean_where_set(net, cause, outcome, level, found) + moved_inside_bins(net, cause, outcome, found)
        for found in every
    ]
    columns = {"mean": means[0], "low": np.min(means, axis=0), "high": np.max(means, axis=0)}
    return pd.DataFrame(in_units(net, outcome, columns), index=states(net, cause))


def mean_where_set(
    net: BayesNet, cause: str, outcome: str, level: Level | None, parents: frozenset[str] | None = None
) -> NDArray[np.float64]:
    """The mean of the outcome, a number, for each level or bin of the cause; its parents are the network's, or these.

    A level acts as its group does. What lines do inside bins is left to `moved_inside_bins`.
    """
    check_targets(net, [cause, outcome], {})
    chosen = frozenset(net.parents[cause]) if parents is None else parents
    means = _adjusted(net, cause, outcome, chosen, _worth(net, outcome, level))
    return means[net.group_codes[cause]] if cause in net.groupings else means


def moved_inside_bins(
    net: BayesNet, cause: str, outcome: str, parents: frozenset[str] | None = None
) -> NDArray[np.float64]:
    """How far lines move the mean of the outcome from that of its bins, for each level or bin that the cause is set to.

    By drawn rows. With the network's own parents of the cause, it is set in these rows. With others, they are rows of
    the network, which all members of the class share, weighted so that the cause does not depend on its parents.
    """
    size, own = net.cardinalities[cause], frozenset(net.parents[cause])
    chosen = own if parents is None else parents
    moved = np.zeros(size)
    if outcome in net.lines and outcome not in chosen:
        source = net
        if chosen == own:
            lines = {name: line.without({cause}) for name, line in net.lines.items() if name != cause}
            tables = {**net.tables, cause: np.full(size, 1 / size)}
            source = replace(net, parents={**net.parents, cause: ()}, tables=tables, lines=lines)
        codes, values = draw_rows(source, DRAWS, np.random.default_rng(0), {})
        places = {name: codes[:, i] for i, name in enumerate(net.names)}
        weights = np.ones(DRAWS)
        if chosen != own:
            chances = joint(net, [*sorted(chosen), cause], {})
            states = tuple(places[name] for name in (*sorted(chosen), cause))
            weights = chances.sum(axis=-1)[states[:-1]] / chances[states]
        away = values[outcome] - net.inside(outcome).means[places[outcome]]
        totals = np.bincount(places[cause], weights, size)
        moved = np.bincount(places[cause], weights * away, size) / np.where(totals > 0, totals, 1.0)
    return moved[net.group_codes[cause]] if cause in net.groupings else moved


def with_drawn_tables(net: BayesNet, rng: np.random.Generator) -> BayesNet:
    """The network with tables drawn from their posterior, Dirichlet in each context; the fitted ones are its mean."""
    tables = {}
    for name, table in net.tables.items():
        rows = net.counts[name].sum(axis=-1, keepdims=True) if name in net.counts else 0.0
        gammas = rng.standard_gamma(table * (rows + net.weight(name) * table.shape[-1]))
        tables[name] = np.maximum(gammas, np.finfo(float).tiny)
        tables[name] /= tables[name].sum(axis=-1, keepdims=True)
    return replace(net, tables=tables)


def in_units(net: BayesNet, outcome: str, columns: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Means of the outcome in the units of its column."""
    if outcome not in net.binnings:
        return dict(columns)
    return {name: from_numbers(values, net.binnings[outcome].unit) for name, values in columns.items()}


def _worth(net: BayesNet, outcome: str, level: Level | None) -> NDArray[np.float64]:
    """What the mean is taken of, for each state of the outcome's table."""
    if outcome in net.binnings:
        if level is not None:
            raise ValueError(f"{outcome!r} is continuous and has no level {level!r}; leave level out")
        return net.inside(outcome).means
    levels = net.levels[outcome]
    if level is not None and level not in levels:
        raise ValueError(f"{outcome!r} has no level {level!r}; it has {', '.join(map(repr, levels))}")
    if level is None and not all(isinstance(each, int | float) for each in levels):
        raise ValueError(f"{outcome!r} has levels that are no numbers; name one of them, as level={levels[0]!r}")
    worth = np.array([float(each == level) if level is not None else float(each) for each in levels])
    if outcome not in net.groupings:
        return worth
    of_groups = np.zeros(net.cardinalities[outcome])
    np.add.at(of_groups, net.group_codes[outcome], worth * net.shares[outcome])
    return of_groups


def _adjusted(
    net: BayesNet, cause: str, outcome: str, parents: frozenset[str], worth: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The mean of the outcome for each state that the cause is set to, if these are its parents."""
    if outcome in parents:
        return np.full(net.cardinalities[cause], joint(net, [outcome], {}) @ worth)
    chances = joint(net, [*sorted(parents), cause, outcome], {})
    chances = chances.reshape(-1, *chances.shape[-2:])  # [states of the parents, of the cause, of the outcome]
    context, together = chances.sum(axis=(1, 2)), chances.sum(axis=2)
    with np.errstate(invalid="ignore"):  # of what never occurs nothing is known: NaN
        means = (chances @ worth) / together
    return np.asarray(context[context > 0] @ means[context > 0])


def influence(net: BayesNet, target: str, given: Mapping[str, Any]) -> pd.DataFrame:
    """How much each known value moves the target, see ``BayesNet.influence``."""
    import pandas as pd

    check_targets(net, [target], given)
    if not given:
        others = [name for name in net.names if name != target]
        found = [mutual_information(joint(net, [target, name], {})) for name in others]
        frame = pd.DataFrame({"mutual_information": found}, index=pd.Index(others, name="variable"))
        return frame.sort_values("mutual_information", ascending=False, kind="stable")
    nothing, everything = net.query(target), net.query(target, given)
    likeliest = int(everything.to_numpy().argmax())
    rows = []
    for name, value in given.items():
        alone = net.query(target, {name: value})
        rest = {other: v for other, v in given.items() if other != name}
        without = net.query(target, rest)
        pairs = ((alone, nothing), (everything, without))
        changes = [float(now.iloc[likeliest] - before.iloc[likeliest]) for now, before in pairs]
        rows.append((*changes, *(_divergence(now.to_numpy(), before.to_numpy()) for now, before in pairs)))
    columns = ["alone", "left_out", "alone_nats", "left_out_nats"]
    frame = pd.DataFrame(rows, columns=columns, index=pd.Index(list(given), name="variable"))
    frame.attrs["state"] = everything.index[likeliest]
    return frame.sort_values("left_out_nats", ascending=False, kind="stable")


def _divergence(now: NDArray[np.float64], before: NDArray[np.float64]) -> float:
    """Σ now ln (now / before), in nats."""
    some = now > 0
    return max(float(now[some] @ np.log(now[some] / before[some])), 0.0)  # rounding may go below zero


def mutual_information(chances: NDArray[np.float64]) -> float:
    """The mutual information of two variables in nats, by their joint distribution."""
    return _divergence(chances.ravel(), np.outer(chances.sum(axis=1), chances.sum(axis=0)).ravel())
