"""Donors: rows that a missing number may be taken from, and what these tell EM of the bins of missing numbers.

Donors are found in two ways: rows with nearly the same prediction by a regression on all other columns (predictive mean
matching, Little 1988), and nearest neighbours, which help where no regression fits. How many of either kind count, and
how much, is decided by stacking (Wolpert 1992): the weights make the known bins of the column most probable, each row
being left out of its own prediction. The network is not one of these experts, since its cuts and arcs have seen every
row.

Where the network has drawn the bin of a number, the donor is a row of that bin (`matched_donors`). It is still chosen
by its prediction: variables that depend on each other do so within bins too, and values drawn from a bin at random
would blur that, so that the next round of learning would find fewer bins and arcs.

Donors are evidence (`evidence_inside_bins`): a network of bins sees the codes c of a row. Where its numbers lie inside
their bins says more about a missing entry: with x for the row's numbers and levels,

    P(state | x)  ~  P(state | c) P(x | c, state),   so   P(x | c, state)  ~  P(state | x) / P(state | c),

up to a factor that is the same for all states. P(state | x) is estimated from donors, and P(state | c) is
the posterior under the network. Their ratio is the likelihood of each state, with which EM fits tables to all that was
observed, numbers included. Tables change the posterior, and the missing numbers of a row depend on each other; so
evidence and tables are updated in turns, until the posterior with the evidence agrees with the donors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import MISSING
from jaxbn.inputs.graph import Parents, markov_blanket
from jaxbn.model.imputing.ridge import Array, RidgeRegressions, Scale, fit_line, places
from jaxbn.model.imputing.stacking import CELLS, MOST_ROWS, NEAREST, Nearest, Neighbours, likeliest_weights
from jaxbn.model.inference.answers import draw_completions, posteriors
from jaxbn.model.inference.em import Counter, Weight, means
from jaxbn.model.inference.network import Network, draw_states
from jaxbn.model.inference.tasks import Codes, Evidence
from jaxbn.runtime import limits

NEAREST_BY_LINE = (4, 10, 30, 100)  # numbers of rows with the nearest predictions; an expert for each
BLUR = 1e-6  # noise of predictions, in standard deviations of them: it breaks ties between rows that look the same
MOST_COMPARED = 1000  # rows among which nearest neighbours are looked for
MOST_JUDGED = 500  # rows whose bins the experts predict to get their weights
MOST_PREDICTORS = 30  # most columns that a number is predicted from
MOST_STATES = 10  # most states of a discrete column that are distinguished

MOST_ENTRIES = 10**6  # of tables whose numbers are evidence: in larger ones bins are fine
FEW_ENTRIES, TIMES = 50_000, 3  # up to so many entries donors are looked for so many times, with other draws
ROUNDS = 10  # of evidence and tables in turns
LEAST = 1e-12  # lower bound of probabilities in logarithms


class Donors(NamedTuple):
    """Rows that missing entries of a column may be taken from."""

    rows: NDArray[np.intp]  # [holes, donors]
    shares: Array  # how much each of them counts, those of an entry 1 together, [holes, donors]

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """One donor of each entry, by their shares, [holes]."""
        drawn = draw_states(self.shares, rng.random(len(self.shares)))
        return np.take_along_axis(self.rows, drawn[:, None], axis=1)[:, 0]

    def chances(self, codes: Codes, otherwise: Array) -> Array:
        """The donors' shares of the states, [holes, states], from the codes of all rows [rows].

        `otherwise`, chances of the same states, counts as one more donor: donors are few, and a state that none of them
        has is not impossible.
        """
        found = np.zeros(otherwise.shape)
        np.add.at(found, (np.arange(len(found))[:, None], codes[self.rows]), self.shares)
        number = 1 / np.square(self.shares).sum(axis=1, keepdims=True)  # effective number of donors
        return (number * found + otherwise) / (number + 1)


def donors_of(target: Array, features: Array, known: NDArray[np.bool_], bins: Codes) -> Donors:
    """The donors of a column's missing entries, where its bins [n] are -1.

    `features` are the other columns, complete, and `known` says which of their entries are not filled in, [n,
    features]. Whatever the target [n] has where it is missing is not looked at.
    """
    has, holes = np.flatnonzero(bins != MISSING), np.flatnonzero(bins == MISSING)
    rng = np.random.default_rng(0)
    some = rng.permutation(len(has))[:MOST_COMPARED]
    judged = some[:MOST_JUDGED]
    # Each kind of donors: how many count, with an expert for each number; those of known rows, left out themselves, for
    # the weights of the experts; and those of the missing entries.
    line, left_out = fit_line(features[has], target[has])
    said, asked = line(features[has]), features[holes]
    kinds = [(NEAREST_BY_LINE, _by_line(said, left_out[judged], rng, judged), _by_line(said, line(asked), rng))]
    if NEAREST[0] < len(has) <= MOST_ROWS and features.shape[1]:
        alike = Neighbours.of(features[has[some]])
        own_near, near = alike.nearest(known[has[judged]]), alike.nearest(known[holes], asked)
        kinds.append((NEAREST, _all_parts(own_near, some), _all_parts(near, some)))
    right = []  # the probability that each expert gives to the known bins
    for numbers, theirs, _ in kinds:
        hit = bins[has][theirs.rows] == bins[has][judged][:, None]
        right += [(shares * hit).sum(axis=1) for shares in _parts(numbers, theirs.weights)]
    floor = 1 / (len(has) + 1)  # as if one more row were in each bin
    weights = iter(likeliest_weights((np.stack(right) + floor) / (1 + floor * (bins.max() + 1))).tolist())
    found = [
        sum(next(weights) * shares for shares in _parts(numbers, nearest.weights)) for numbers, _, nearest in kinds
    ]
    return Donors(np.hstack([has[nearest.rows] for _, _, nearest in kinds]), np.hstack(found))


def predictors_of(parents: Parents, name: str) -> list[str]:
    """The columns that a value is predicted from: its Markov blanket and then the others, up to a number of them."""
    blanket = list(markov_blanket(parents, name))
    return [*blanket, *(other for other in parents if other != name and other not in blanket)][:MOST_PREDICTORS]


def indicators(codes: Codes, n_states: int) -> Array:
    """Indicators of the most frequent states of a discrete column but the very first, [n, states].

    Example:
        >>> indicators(np.array([2, 1, 2, 2, 0], np.int32), 3).tolist()
        [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    shown = np.argsort(-np.bincount(codes, minlength=n_states), kind="stable")[1:MOST_STATES]
    return (codes[:, None] == shown).astype(np.float64)


def features_of(
    columns: Mapping[str, Array], known: Mapping[str, NDArray[np.bool_]], names: Sequence[str]
) -> tuple[Array, NDArray[np.bool_]]:
    """Some columns [n, K] side by side, and which of their entries are observed, both [n, features]."""
    nothing = np.zeros((len(next(iter(known.values()))), 0))
    shown = [np.repeat(known[name][:, None], columns[name].shape[1], axis=1) for name in names]
    return np.hstack([nothing, *(columns[name] for name in names)]), np.hstack([nothing.astype(bool), *shown])


def matched_donors(
    target: Array, features: Array, known: NDArray[np.int32], drawn: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Predictive mean matching inside bins: for each missing entry a row of its drawn bin with nearly its prediction.

    The bins of the target [n] are -1 where it is missing in `known`, and complete in `drawn`; the features of all other
    columns are complete too, [n, features]. By chance it is the next row above or below. Returns rows [holes].
    """
    has = known >= 0
    guess = RidgeRegressions(has, has).predict(target[:, None], list(features.T), np.arange(len(target)))[:, 0]
    everyone, holes = np.flatnonzero(has), np.flatnonzero(~has)
    everyone = everyone[np.argsort(guess[everyone], kind="stable")]
    # One search for all bins: donors are sorted by bin and then by the rank of their prediction.
    order = np.argsort(known[everyone].astype(np.int16 if drawn.max() < 2**15 else np.int32), kind="stable")
    donors = everyone[order]
    bins = drawn[holes]
    ends = np.searchsorted(known[donors], np.arange(int(drawn.max()) + 2))  # where the donors of each bin begin
    rank = places(guess[everyone], guess[holes])
    place = places(known[donors] * np.int64(len(known)) + order, bins * np.int64(len(known)) + rank)
    place = place - rng.integers(0, 2, len(holes))  # the next one above, or the next one below
    return np.asarray(donors[np.clip(place, ends[bins], ends[bins + 1] - 1)], np.intp)


def _by_line(
    said: Array, wanted: Array, rng: np.random.Generator, themselves: NDArray[np.intp] | None = None
) -> Nearest:
    """The rows with the nearest predictions to wanted ones, none of them its own donor; ties are broken at random."""
    blur = BLUR * (said.std() or 1.0)
    said, wanted = said + blur * rng.random(len(said)), wanted + blur * rng.random(len(wanted))
    order = np.argsort(said)
    own = np.full(len(wanted), -1) if themselves is None else np.argsort(order)[themselves]
    most = max(1, min(NEAREST_BY_LINE[-1], len(order) - (themselves is not None)))
    found, step = np.zeros((len(wanted), most), np.intp), CELLS // NEAREST_BY_LINE[-1]
    for first in range(0, len(wanted), step):
        limits.check()
        part = slice(first, first + step)
        place = places(said[order], wanted[part])[:, None] + np.arange(-most - 1, most + 1)
        inside = np.clip(place, 0, len(order) - 1)
        allowed = (place == inside) & (place != own[part, None])
        apart = np.where(allowed, np.abs(said[order][inside] - wanted[part, None]), np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :most]  # the nearest first
        found[part] = order[np.take_along_axis(inside, nearest, axis=1)]
    return Nearest(found, np.ones(found.shape))


def _all_parts(parts: Iterable[tuple[slice, Nearest]], rows: NDArray[np.intp]) -> Nearest:
    """Neighbours that were found part by part, as one, by their positions in the table: `rows` are those compared."""
    nearest, weights = (np.concatenate(each) for each in zip(*(found for _, found in parts), strict=True))
    return Nearest(rows[nearest], weights)


def _parts(numbers: Sequence[int], weights: Array) -> Iterator[Array]:
    """Shares of donors if only the nearest ones count, for each number of them, [asked, donors]."""
    for number in numbers:
        counted = np.where(np.arange(weights.shape[1]) < number, weights, 0.0)
        yield counted / counted.sum(axis=1, keepdims=True)


# --- donors as evidence


def evidence_inside_bins(
    network: Network, parents: Parents, codes: Codes, values: Mapping[str, Array], alphas: Sequence[Weight]
) -> Evidence:
    """The log-likelihood of a row's numbers given each state of a missing one, up to a constant of each entry.

    The network is fitted to the codes [rows, variables], with Dirichlet weights `alphas`, and `parents` is its
    structure by names; values are the continuous columns, NaN where missing.
    """
    if len(parents) < 2 or len(codes) > MOST_ROWS or codes.size > MOST_ENTRIES:
        return {}
    sizes, absent = network.structure.sizes, codes == MISSING
    told = [i for i, name in enumerate(parents) if name in values and sizes[i] > 1]
    evidence = {i: np.zeros((len(codes), sizes[i])) for i in told if 0 < absent[:, i].sum() < len(codes)}
    if not evidence:
        return {}
    counter = Counter(network.structure, codes, evidence=evidence)
    said = _said(network, parents, codes, values, posteriors(network, codes, evidence, tasks=counter.tasks))
    together = absent[:, list(evidence)].sum(axis=1, keepdims=True)
    for _ in range(ROUNDS):
        for i, chances in posteriors(network, codes, evidence, tasks=counter.tasks).items():
            wanting = np.log(np.maximum(said[i], LEAST) / np.maximum(chances, LEAST))
            evidence[i][absent[:, i]] += wanting / together[absent[:, i]]  # the missing numbers of a row move together
        network = means(network.structure, counter.expected(network).counts, alphas)
    return evidence


def _said(
    network: Network, parents: Parents, codes: Codes, values: Mapping[str, Array], posterior: Mapping[int, Array]
) -> dict[int, Array]:
    """Probabilities of the states of missing numbers by their donors, for each column of `posterior`, [holes, K].

    Other missing entries of a row are filled in by draws, several times, so that their uncertainty counts.
    """
    names = list(parents)
    known = {name: codes[:, i] != MISSING for i, name in enumerate(names)}
    seen = {name: Scale.of(np.sort(column[~np.isnan(column)])).to(column) for name, column in values.items()}
    found = {i: np.zeros(chances.shape) for i, chances in posterior.items()}
    rng = np.random.default_rng(0)
    times = TIMES if codes.size <= FEW_ENTRIES else 1
    for _ in range(times):
        drawn = draw_completions(network, codes, rng)
        columns = {
            name: _numbers(seen[name], codes[:, i], drawn[:, i], rng)
            if name in values
            else indicators(drawn[:, i], network.structure.sizes[i])
            for i, name in enumerate(names)
        }
        for i, chances in posterior.items():
            limits.check()
            own = columns[names[i]]
            features, shown = features_of(columns, known, predictors_of(parents, names[i]))
            donors = donors_of(own[:, 0], features, shown, codes[:, i])
            found[i] += donors.chances(codes[:, i], chances) / times
            own[~known[names[i]]] = own[donors.draw(rng)]
    return found


def _numbers(seen: Array, bins: Codes, drawn: Codes, rng: np.random.Generator) -> Array:
    """A continuous column, with the number of any row in the drawn bin where it is missing, [n, 1]."""
    has, gone = rng.permutation(np.flatnonzero(bins != MISSING)), bins == MISSING
    has = has[np.argsort(bins[has], kind="stable")]
    begin, end = (np.searchsorted(bins[has], drawn[gone], side=side) for side in ("left", "right"))
    empty = begin == end  # no row is in this bin: any row
    rows = has[rng.integers(np.where(empty, 0, begin), np.where(empty, len(has), end))]
    found = seen.copy()
    found[gone] = seen[rows]
    return found[:, None]
