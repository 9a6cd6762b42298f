"""What probabilities are worth: of cuts whose place is known, and of arcs and bins of networks drawn from the prior."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from scipy.special import comb
from scipy.stats import chi2

import jaxbn
from jaxbn.cuts.evidence import choice_cost
from jaxbn.datasets.synthetic import table6
from jaxbn.inputs.graph import to_networkx

TRUE_CUTS = (2.0, 3.0, 4.0, 4.5, 5.0, 6.0)
VALUES = 8
"""Distinct values of a continuous column: 0, 1, …, with cuts between them."""


def coverage(tables: int, n_rows: int = 800, draws: int = 1000) -> None:
    """For each true cut: how often the fewest gaps that hold the cut nearest to it with 90 % contain it."""
    hits, sizes = [], []
    for seed in range(tables):
        rows = table6(n_rows, seed)
        distinct = np.unique(rows["X"])
        binnings = jaxbn.cut_posterior(rows["X"], parents=[rows["P1"], rows["P2"]]).sample(draws, seed)
        for true in TRUE_CUTS:
            nearest = [p.cuts[np.abs(p.cuts - true).argmin()] for p in binnings if len(p.cuts)]
            region = smallest_region(np.searchsorted(distinct, nearest).tolist(), 0.9)
            hits.append(int(np.searchsorted(distinct, true)) in region)
            sizes.append(len(region))
    by_cut, width = (np.reshape(each, (tables, -1)).mean(axis=0) for each in (hits, sizes))
    print(
        f"{tables} tables of {n_rows} rows; share in which the 90 % region has the true cut, and its mean size in gaps"
    )
    for true, share, size in zip(TRUE_CUTS, by_cut, width, strict=True):
        print(f"| {true} | {share:.2f} | {size:.1f} |")
    print(f"all: {np.mean(hits):.3f}")


def smallest_region(gaps: list[int], share: float) -> set[int]:
    """The fewest gaps that together have so large a share."""
    region: set[int] = set()
    reached = 0
    for gap, count in Counter(gaps).most_common():
        if reached >= share * len(gaps):
            break
        region.add(gap)
        reached += count
    return region


class Simulated(NamedTuple):
    """A table drawn from the prior, and what it was drawn with."""

    frame: pd.DataFrame
    bins: dict[str, int]
    parents: dict[str, tuple[str, ...]]  # without arcs from or to a column in one bin, which say nothing


def from_prior(rng: np.random.Generator, continuous: int, discrete: int, n_rows: int) -> Simulated:
    """A network from the prior over arcs and cuts, tables from Dirichlet(1, …, 1), and rows from it.

    Inside a bin a value has the chance of the width that is its own: half as much at the ends. Tables in which a value
    or a level does not occur are drawn again; as that depends on the rows alone, probabilities stay calibrated.
    """
    names = [*(f"x{i}" for i in range(continuous)), *(f"y{i}" for i in range(discrete))]
    while True:
        parents = graph_from_prior(rng, names)
        bin_of = {name: cuts_from_prior(rng) for name in names[:continuous]}
        states = {name: int(bin_of[name].max()) + 1 if name in bin_of else 3 for name in names}
        codes: dict[str, np.ndarray] = {}
        while len(codes) < len(names):  # parents first
            for name in names:
                if name not in codes and all(p in codes for p in parents[name]):
                    codes[name] = drawn_codes(rng, n_rows, states[name], [(codes[p], states[p]) for p in parents[name]])
        columns = {n: values_in(rng, bin_of[n], c) if n in bin_of else c.astype(str) for n, c in codes.items()}
        frame = pd.DataFrame({name: columns[name] for name in names})
        if all(frame[name].nunique() == (VALUES if name in bin_of else 3) for name in names):
            said = {n: tuple(p for p in parents[n] if states[n] > 1 and states[p] > 1) for n in names}
            return Simulated(frame, {name: states[name] for name in bin_of}, said)


def graph_from_prior(rng: np.random.Generator, names: list[str], most: int = 3) -> dict[str, tuple[str, ...]]:
    """Parents by the prior 2^-k / C(N - 1, k) of a set of k, drawn until there is no cycle."""
    k = np.arange(min(most, len(names) - 1) + 1)
    weights = 0.5**k  # of all sets of k together
    while True:
        parents = {}
        for name in names:
            others = [other for other in names if other != name]
            chosen = rng.choice(others, int(rng.choice(k, p=weights / weights.sum())), replace=False)
            parents[name] = tuple(str(p) for p in chosen)
        if nx.is_directed_acyclic_graph(to_networkx(parents)):
            return parents


def cuts_from_prior(rng: np.random.Generator) -> np.ndarray:
    """The bin of each value, from the prior over cuts."""
    k = np.arange(1, VALUES + 1)
    weights = np.exp(-choice_cost(VALUES, k)) * comb(VALUES - 1, k - 1)
    bins = int(rng.choice(k, p=weights / weights.sum()))
    cuts = np.sort(rng.choice(VALUES - 1, bins - 1, replace=False)) + 1
    return np.searchsorted(cuts, np.arange(VALUES), side="right")


def drawn_codes(
    rng: np.random.Generator, n_rows: int, n_states: int, parents: list[tuple[np.ndarray, int]]
) -> np.ndarray:
    """A column given its parents' codes and numbers of states, by a table from Dirichlet(1, …, 1)."""
    configuration, n = np.zeros(n_rows, int), 1
    for codes, states in parents:
        configuration, n = configuration * states + codes, n * states
    summed = np.cumsum(rng.dirichlet(np.ones(n_states), n), axis=1)[configuration]
    return np.minimum((summed < rng.random(n_rows)[:, None]).sum(axis=1), n_states - 1)


def values_in(rng: np.random.Generator, bin_of: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """A value of each row's bin."""
    widths = np.where(np.isin(np.arange(VALUES), [0, VALUES - 1]), 0.5, 1.0)
    found = np.empty(len(codes))
    for code in np.unique(codes):
        inside = widths * (bin_of == code)
        found[codes == code] = rng.choice(VALUES, int((codes == code).sum()), p=inside / inside.sum())
    return found


def draws_of(table: Simulated, draws: int, thin: int = 2) -> jaxbn.Posterior:
    """Draws of one chain that begins with no arcs and no cuts."""
    start = jaxbn.fit(table.frame, {}, {name: [] for name in table.bins})
    options = {"draws": draws, "chains": 1, "burn_in": 10, "thin": thin, "continuous": list(table.bins)}
    return jaxbn.sample_posterior(table.frame, start=start, progress=False, **options)


def calibration(tables: int, n_rows: int = 200) -> None:
    """Tables of x and y from the prior: ranks of the number of bins of x, and of the arc, among 39 draws."""
    rng = np.random.default_rng(0)
    ranks: dict[str, list[int]] = {"number of bins": [], "an arc": []}
    for _ in range(tables):
        table = from_prior(rng, 1, 1, n_rows)
        found = draws_of(table, 39)
        drawn = np.array([draw.binnings["x0"].n_bins for draw in found.draws])
        ranks["number of bins"].append(rank(table.bins["x0"], drawn, rng))
        arcs_drawn = np.array([sum(map(len, draw.parents.values())) for draw in found.draws])
        ranks["an arc"].append(rank(sum(map(len, table.parents.values())), arcs_drawn, rng))
    for name, found_ranks in ranks.items():
        counts = np.bincount(np.array(found_ranks) * 10 // 40, minlength=10)
        statistic = float(((counts - tables / 10) ** 2 / (tables / 10)).sum())
        print(
            f"{name}, {tables} tables: ranks in tenths {counts.tolist()}, chi-squared p = {chi2.sf(statistic, 9):.3f}"
        )


def rank(true: int, drawn: np.ndarray, rng: np.random.Generator) -> int:
    """How many draws are smaller; equal ones by chance."""
    return int((drawn < true).sum() + rng.integers((drawn == true).sum() + 1))


def arcs(tables: int, draws: int, n_rows: int = 200) -> None:
    """Arcs by the probability they are said to have: how many are there, of networks of five columns."""
    rng = np.random.default_rng(1)
    said: dict[str, list[tuple[float, bool]]] = {"as it points": [], "in either direction": []}
    for _ in range(tables):
        table = from_prior(rng, 3, 2, n_rows)
        for row in draws_of(table, draws, thin=1).arcs.to_dict("records"):
            there = row["from"] in table.parents[row["to"]]
            said["as it points"].append((row["probability"], there))
            if row["from"] < row["to"]:
                either = there or row["to"] in table.parents[row["from"]]
                said["in either direction"].append((row["strength"], either))
    print(f"{tables} networks of 5 columns, {n_rows} rows, {draws} draws each")
    print("| arc | said to have | pairs | mean said | there | standard error |", "|---|---|---|---|---|---|", sep="\n")
    for kind, pairs in said.items():
        chance, there = np.array(pairs, float).T
        for low, high in ((0, 0.05), (0.05, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 0.85), (0.85, 0.95), (0.95, 1.01)):
            inside = (chance >= low) & (chance < high)
            n, share = int(inside.sum()), float(there[inside].mean()) if inside.any() else float("nan")
            error = np.sqrt(max(share * (1 - share), 1e-9) / max(n, 1))
            mean = float(chance[inside].mean()) if inside.any() else float("nan")
            print(f"| {kind} | {low:g} to {min(high, 1):g} | {n} | {mean:.3f} | {share:.3f} | {error:.3f} |")
