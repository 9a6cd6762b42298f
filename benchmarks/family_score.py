"""Which prior the tables of families should have: false links, lost links and directions by Dirichlet weights.

From the project's root: ``python benchmarks/family_score.py networks triangles bins cuts``. The codes are fixed, so
that only the score of a family differs; the search is the package's own, exact up to 20 columns. Priors:

- ``1``, ``1/2``, ``1/4``: this weight for every cell of a family's table;
- ``S = …``: S / (cells of the table), BDeu, which is the same for all members of an equivalence class;
- ``quotient``: P(child | parents) = evidence of the joint table / evidence of the parents' table, all weights 1, which
  is the same for all members too, but no probability;
- ``best``: of the weights, and of the S, the one with the highest score of the whole network.

Parts: ``networks`` of the literature (BIF files that ship with pgmpy), ``triangles`` (two independent numbers and their
common effect, binned), ``bins`` (mixed networks of ``simulated.py``, 8 bins of equal frequency), ``cuts`` (the same in
the bins that ``jaxbn.learn`` found).
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

HERE = Path(__file__).resolve().parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

import jaxbn  # noqa: E402
from benchmarks.peers.markdown import table  # noqa: E402
from benchmarks.simulated import HELD_OUT, MAX_PARENTS, mixed_network, peers_table  # noqa: E402
from benchmarks.structure import case_of  # noqa: E402
from jaxbn.counts.codes import Column  # noqa: E402
from jaxbn.scores.evidence import ARC_CHARGE  # noqa: E402
from jaxbn.scores.set_scores import SetScores  # noqa: E402
from jaxbn.structure.constraints import Rules  # noqa: E402
from jaxbn.structure.equivalence import Parents, class_distance  # noqa: E402
from jaxbn.structure.exact import exact_structure  # noqa: E402
from jaxbn.structure.orders import order_structure  # noqa: E402

Codes = dict[str, NDArray[np.integer]]
Case = tuple[str, Codes, Parents, int]  # what it is, columns, the true parents, most parents
WEIGHTS = {"1": 1.0, "1/2": 0.5, "1/4": 0.25}
SIZES = (1, 2, 4, 10, 30, 100)
QUOTIENT = "quotient"


class Weighted(SetScores):
    """Family scores with other weights; every family is counted by itself."""

    def __init__(self, columns: Sequence[Column], weight: Callable[[int, int], float] | None) -> None:
        self.weight = weight  # of a cell, by the numbers of parent configurations and of states; None: quotient
        self._seen: dict[tuple[int, ...], int] = {}
        super().__init__(columns, arc_charge=ARC_CHARGE)

    def count(self, *_: object) -> None:
        """Nothing is counted in advance."""

    count_sets = count

    def family(self, child: int, parents: Sequence[int]) -> int:
        """The score of a family, in units."""
        key = (child, *sorted(parents))
        if key not in self._seen:
            self._seen[key] = self.units(self._evidence(child, key[1:])) + self.prior(child, parents)
        return self._seen[key]

    def grown(self, child: int, parents: Sequence[int]) -> NDArray[np.int64]:
        """With each further column."""
        others = (tuple({*parents, c}) for c in range(self.n_columns))
        return np.array([0 if child in some else self.family(child, some) for some in others])

    def _evidence(self, child: int, parents: Sequence[int]) -> float:
        cell, q, r = np.zeros(self.n_rows, np.int64), 1, self.n_states[child]
        for p in parents:
            cell, q = cell * self.n_states[p] + self.columns[p].codes, q * self.n_states[p]
        contexts = np.unique(cell, return_counts=True)[1]
        cells = np.unique(cell * r + self.columns[child].codes, return_counts=True)[1]
        if self.weight is None:
            return _joint(cells, q * r, self.n_rows) - _joint(contexts, q, self.n_rows)
        w = self.weight(q, r)
        of_contexts = (gammaln(r * w) - gammaln(r * w + contexts)).sum()
        return float(of_contexts + (gammaln(w + cells) - gammaln(w)).sum())


def _joint(counts: NDArray[np.int64], n_cells: int, n_rows: int) -> float:
    return float(gammaln(counts + 1).sum() + gammaln(n_cells) - gammaln(n_cells + n_rows))


def best_parents(codes: Codes, weight: Callable[[int, int], float] | None, most: int) -> tuple[Parents, float]:
    """The best structure and its score."""
    names = list(codes)
    packed = [np.unique(codes[name], return_inverse=True)[1].astype(np.int32) for name in names]
    columns = [Column(i, found, int(found.max()) + 1) for i, found in enumerate(packed)]
    scores, rules = Weighted(columns, weight), Rules(tuple(names), most, {}, frozenset())
    rules = rules.of_columns(dict(zip(names, columns, strict=True)))
    found = exact_structure(scores, rules) if len(names) <= 20 else order_structure(scores, rules, seed=0)
    return {names[i]: tuple(names[p] for p in parents) for i, parents in enumerate(found.parents)}, found.score


def networks(rows: Sequence[int], seeds: int) -> Iterator[Case]:
    """Asia, Child and Insurance, drawn some times; the first draw is that of `structure.py`."""
    import pgmpy

    folder = next(Path(pgmpy.__file__).parent.rglob("asia.bif.gz")).parent
    for name, n, seed in itertools.product(("asia", "child", "insurance"), rows, range(20, 20 + seeds)):
        case = case_of(name, n, folder, seed)
        yield f"{name}, {n:,} rows", case.columns, case.parents, case.max_parents


def triangles(rows: Sequence[int], seeds: int) -> Iterator[Case]:
    """Two independent numbers and what they add up to, bent or not, with much noise or little, in 4 or 8 bins."""
    for n, bins, noise, bent in itertools.product(rows, (4, 8), (0.4, 1.0), (False, True)):
        for seed in range(seeds):
            rng = np.random.default_rng([n, bins, int(10 * noise), seed])
            x, y = rng.normal(size=(2, n))
            z = (np.sin(2 * x) + np.sin(2 * y) if bent else x + y) + noise * rng.normal(size=n)
            at = np.arange(1, bins) / bins
            codes = {name: np.digitize(v, np.quantile(v, at)) for name, v in zip("xyz", (x, y, z), strict=True)}
            yield f"triangles, {n:,} rows", codes, {"x": (), "y": (), "z": ("x", "y")}, 2


def mixed(rows: Sequence[int], seeds: int, *, learned: bool) -> Iterator[Case]:
    """The networks of `simulated.py` in plain bins, or in those of `jaxbn.learn`."""
    for n, seed in itertools.product(rows, range(seeds)):
        data, truth = mixed_network(12, n + HELD_OUT, seed)
        data = data[:n].reset_index(drop=True)  # the rows of `simulated.py`
        if learned:
            net = jaxbn.learn(data, progress=False)
            for name, binning in net.binnings.items():
                data[name] = binning(data[name].to_numpy())
        codes = data if learned else peers_table(data)
        found = {name: np.unique(codes[name].to_numpy(), return_inverse=True)[1] for name in codes}
        yield f"{'learned' if learned else 'plain'} bins, {n:,} rows", found, truth, MAX_PARENTS


def compare(cases: Iterator[Case]) -> str:
    """A table of all priors: links found and false, distance of the class, score, in the mean."""
    priors: dict[str, Callable[[int, int], float] | None] = {
        name: lambda q, r, w=w: w  # type: ignore[misc]
        for name, w in WEIGHTS.items()
    }
    priors |= {f"S = {s}": lambda q, r, s=s: s / (q * r) for s in SIZES}  # type: ignore[misc]
    priors[QUOTIENT] = None
    rows: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for label, codes, truth, most in cases:
        found = {}
        for name, weight in priors.items():
            parents, score = best_parents(codes, weight, most)
            distance = class_distance(parents, truth)
            found[name] = (distance.found, distance.false, distance.distance, score)
        for kind, names in {"best weight": WEIGHTS, "best S": [f"S = {s}" for s in SIZES]}.items():
            found[kind] = max((found[name] for name in names), key=lambda row: row[-1])
        for name, row in found.items():
            rows[label, name].append(row)
    lines = []
    for (label, name), some in rows.items():
        links, false, distance, score = np.mean(some, axis=0)
        lines.append([label, name, len(some), f"{links:.2f}", f"{false:.2f}", f"{distance:.2f}", f"{score:.1f}"])
    return table(("data", "weights", "tables", "links", "false", "distance", "score"), lines)


def main() -> None:
    """Read the command line and print a table for each part."""
    parts = {
        "networks": networks,
        "triangles": triangles,
        "bins": lambda rows, seeds: mixed(rows, seeds, learned=False),
        "cuts": lambda rows, seeds: mixed(rows, seeds, learned=True),
    }
    parser = argparse.ArgumentParser(description="Dirichlet weights of family scores beside each other.")
    parser.add_argument("parts", nargs="*", default=list(parts), choices=list(parts))
    parser.add_argument("--rows", type=int, nargs="+", default=[500])
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    for part in options.parts:
        print(compare(parts[part](options.rows, options.seeds)), flush=True)


if __name__ == "__main__":
    main()
