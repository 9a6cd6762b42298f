"""What setting a variable does, over all directions that the rows leave open, and what a prediction rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from jaxbn.cuts.shapes.inside import SLIVER
from jaxbn.cuts.shapes.scores import Floats, Lean
from jaxbn.inputs.columns import Level
from jaxbn.inputs.later import pd
from jaxbn.inputs.units import NUMBER, from_numbers
from jaxbn.model.inference.questions import joint
from jaxbn.model.queries import check_targets, states
from jaxbn.structure.equivalence import parent_sets

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

MEANS = np.linspace(-4.0, 4.0, 321)  # where normal scores may lie in a context
HALVINGS = 16  # of the interval in which their scale is searched
TINY = 1e-300


def effect(net: BayesNet, cause: str, outcome: str, level: Level | None) -> pd.DataFrame:
    """The mean of the outcome where the cause is set, see ``BayesNet.effect``.

    All members of an equivalence class have the same joint distribution. Where the cause has the parents Z in a member,
    setting it gives the mean Σ_z P(z) E(outcome | cause, z) (Maathuis, Kalisch and Bühlmann 2009): of a member nothing
    else matters, so that all of them are covered by the sets that can be the parents.
    """
    check_targets(net, [cause, outcome], {})
    never = () if net.search is None else net.search.never or ()
    means = [mean_where_set(net, cause, outcome, level, found) for found in open_parents(net, cause, never)]
    columns = {"mean": means[0], "low": np.min(means, axis=0), "high": np.max(means, axis=0)}
    return pd.DataFrame(in_units(net, outcome, columns), index=states(net, cause))


def open_parents(net: BayesNet, cause: str, never: Collection[tuple[str, str]] = ()) -> list[frozenset[str]]:
    """The sets that are the parents of a variable in some equivalent network without arcs of `never`, its own first."""
    own = frozenset(net.parents[cause])
    return [own, *(found for found in parent_sets(net.cpdag(), cause, never) if found != own)]


def mean_where_set(
    net: BayesNet, cause: str, outcome: str, level: Level | None, parents: frozenset[str] | None = None
) -> Floats:
    """The mean of the outcome, a number, for each level or bin of the cause; its parents are the network's, or these.

    A level acts as its group does.
    """
    check_targets(net, [cause, outcome], {})
    chosen, worth = net.parents[cause] if parents is None else parents, _worth(net, outcome, level)
    if outcome in chosen:
        means = np.full(net.cardinalities[cause], joint(net, [outcome], {}) @ worth)
    else:
        chances = joint(net, [*sorted(chosen), cause, outcome], {})
        chances = chances.reshape(-1, *chances.shape[-2:])  # [states of the parents, of the cause, of the outcome]
        context, together = chances.sum(axis=(1, 2)), chances.sum(axis=2)
        means = np.full(together.shape, np.nan)  # of what never occurs nothing is known
        some = together > 0
        given = chances[some] / together[some][:, None]
        means[some] = (given * _inside_bins(net, outcome, given, together[some], worth)).sum(axis=-1)
        means = np.asarray(context[context > 0] @ means[context > 0])
    return means[net.group_codes[cause]] if cause in net.groupings else means


def with_drawn_tables(net: BayesNet, rng: np.random.Generator) -> BayesNet:
    """The network with tables drawn from their posterior, Dirichlet in each context; the fitted ones are its mean."""
    tables = {}
    for name, table in net.tables.items():
        # Gamma numbers over their sum are a Dirichlet draw. A fitted table times the rows and weights of its contexts
        # has N + w, the parameters of its posterior.
        rows = net.counts[name].sum(axis=-1, keepdims=True) if name in net.counts else 0.0
        gammas = rng.standard_gamma(table * (rows + net.weight(name) * table.shape[-1]))
        tables[name] = np.maximum(gammas, np.finfo(float).tiny)
        tables[name] /= tables[name].sum(axis=-1, keepdims=True)
    return replace(net, tables=tables)


def in_units(net: BayesNet, outcome: str, columns: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Means of the outcome in the units of its column."""
    unit = net.binnings[outcome].unit if outcome in net.binnings else NUMBER
    return {name: from_numbers(values, unit) for name, values in columns.items()}


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
    return np.asarray(np.bincount(net.group_codes[outcome], worth * net.shares[outcome]), np.float64)


def _inside_bins(net: BayesNet, outcome: str, chances: Floats, weights: Floats, worth: Floats) -> Floats:
    """The mean of the outcome in each of its states, where each is as probable as some contexts say [contexts, states].

    Bins that a cause makes more probable are not all that it does: inside of them, values move as well. Let the normal
    scores of the whole column be N(μ, σ²) in a context. The chances of its bins tell μ; σ, the same in all contexts,
    is such that all scores together have the variance 1, as they do. Bins keep their chances, and inside of each values
    are those of N(μ, σ²) that lie there (docs/maths.md, "Fitted tables"). Contexts have weights, and `worth` is the
    mean in each state by itself.
    """
    inside = net.inside(outcome) if outcome in net.binnings and net.binnings[outcome].shape is not None else None
    if inside is None or len(worth) < 2 or inside.measures.min() < SLIVER * inside.measures.sum():
        return worth
    shares, parts = weights / weights.sum(), (inside.column_ends[:-1], inside.column_ends[1:])
    ends = ndtri(inside.column_ends)

    def likeliest(scale: float) -> Floats:
        """μ of each context."""
        logs = np.log(np.maximum(np.diff(ndtr((ends - MEANS[:, None]) / scale), axis=1), TINY))
        return np.asarray(MEANS[(chances @ logs.T).argmax(axis=1)])

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        scale = (low + high) / 2
        means = likeliest(scale)
        wide = scale**2 + shares @ (means - shares @ means) ** 2 > 1
        low, high = (low, scale) if wide else (scale, high)
    leaning = Lean(np.broadcast_to(means[:, None], chances.shape), np.full(chances.shape, scale), TINY, *parts)
    return inside.means_by(leaning)


def influence(net: BayesNet, target: str, given: Mapping[str, Any]) -> pd.DataFrame:
    """How much each known value moves the target, see ``BayesNet.influence``."""
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
        without = net.query(target, {other: v for other, v in given.items() if other != name})
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
