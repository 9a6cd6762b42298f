"""Learning from tables with missing entries: held-out likelihood and arcs, against what people do instead.

    python benchmarks/missing.py learning [--folds 10 --some 5] [--shares 0.05,0.1,0.2,0.4] [--kinds random,dependent]
    python benchmarks/missing.py arcs [--rows 5000] [--columns 12] [--seeds 5]
    python benchmarks/missing.py time --rows 1000000 --columns 7

`learning`: entries of the training rows are removed, completely at random ("random") or depending on another column
("dependent": only where that column lies above its median, or is not its most frequent level). A network is learned
from what is left, with `missing="infer"`, from the complete rows alone ("drop"), after filling in median and mode
("simple") or by scikit-learn's IterativeImputer ("iterative"), and from the table before entries were removed ("full").
"bins" is the network of "infer", its tables fitted to bins instead of numbers. Ten folds, or five of tables with more
than 500 rows. `--folder` keeps the scores of single folds, and a run that was stopped goes on from there.
Columns are dequantised first, unless `--recorded` is given: every value is moved by a uniform draw from the step to
which its column is recorded (Theis et al. 2016). Recorded values have no density: the closer cuts lie around them, the
better, without end, and an imputer that puts values between them lets cuts lie closer.
The held-out rows are complete; the outer edges of densities are those of all the data. JAXBN_DATA names the directory
of the data set that is not in the package. Figures are in NOTES.md.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import jaxbn
from jaxbn.inputs.table import as_table

DATA = (
    "iris", "seeds", "wine", "glass", "liver_disorders", "auto_mpg", "heart", "ilpd", "housing", "banknote",
)  # fmt: skip
METHODS = ("full", "infer", "bins", "drop", "simple", "iterative")
MANY_ROWS = 500


def prepared(name: str, *, recorded: bool = False) -> tuple[pd.DataFrame, list[str]]:
    """A data set with discrete columns as categories, which know all levels, and its continuous columns."""
    found = jaxbn.datasets.load(name)
    continuous = list(found.continuous)
    frame = found.frame.astype({column: "category" for column in found.frame if column not in continuous})
    if not recorded:
        rng = np.random.default_rng(0)
        for column, step in steps_of(frame, continuous).items():
            frame[column] += rng.uniform(-step / 2, step / 2, len(frame))
    return frame, continuous


def removed(frame: pd.DataFrame, share: float, kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """The frame without a share of its entries."""
    chances = np.full(frame.shape, share)
    if kind == "dependent":
        for i in range(frame.shape[1]):
            other = frame[frame.columns[(i + 1) % frame.shape[1]]]
            above = other > other.median() if other.dtype.kind == "f" else other != other.mode()[0]
            chances[:, i] = np.where(above, share / max(float(above.mean()), share), 0.0)
        gone = rng.random(frame.shape) < chances
        gone &= rng.permuted(np.tile(np.arange(frame.shape[1]), (len(frame), 1)), axis=1) < (frame.shape[1] + 1) // 2
    else:
        gone = rng.random(frame.shape) < chances
    return frame.mask(gone)


def simple(frame: pd.DataFrame, continuous: Sequence[str]) -> pd.DataFrame:
    """Median and mode."""
    return frame.fillna({n: frame[n].median() if n in continuous else frame[n].mode()[0] for n in frame.columns})


def iterative(frame: pd.DataFrame, continuous: Sequence[str]) -> pd.DataFrame:
    """IterativeImputer, which keeps to each column's range; codes of discrete columns are rounded to the nearest."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    numbers = frame.copy()
    for name in frame.columns:
        if name not in continuous:
            numbers[name] = frame[name].cat.codes.where(frame[name].notna(), np.nan).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = {"min_value": numbers.min().to_numpy(), "max_value": numbers.max().to_numpy()}
        filled = IterativeImputer(random_state=0, **ends).fit_transform(numbers.to_numpy(float))
    result = frame.copy()
    for i, name in enumerate(frame.columns):
        if name in continuous:
            result[name] = filled[:, i]
        else:
            codes = np.clip(filled[:, i].round(), 0, len(frame[name].cat.categories) - 1).astype(int)
            result[name] = pd.Categorical.from_codes(codes, dtype=frame[name].dtype)
    return result


WAYS: dict[str, Callable[[pd.DataFrame, pd.DataFrame, Sequence[str]], pd.DataFrame]] = {
    "full": lambda full, holed, continuous: full,
    "infer": lambda full, holed, continuous: holed,
    "bins": lambda full, holed, continuous: holed,
    "drop": lambda full, holed, continuous: holed.dropna(ignore_index=True),
    "simple": lambda full, holed, continuous: simple(holed, continuous),
    "iterative": lambda full, holed, continuous: iterative(holed, continuous),
}


def steps_of(frame: pd.DataFrame, continuous: Sequence[str]) -> dict[str, float]:
    """The step to which each continuous column is recorded: the largest that all its differences are multiples of."""
    steps = {}
    for name in continuous:
        values = frame[name].to_numpy()
        digits = next(d for d in range(-3, 12) if np.allclose(values, np.round(values, d), rtol=0, atol=1e-9))
        whole = np.unique(np.round(values * 10.0**digits).astype(np.int64))
        steps[name] = max(int(np.gcd.reduce(np.diff(whole))), 1) * 10.0**-digits
    return steps


@dataclass
class Fold:
    """Rows to learn from, before and after entries were removed, and complete ones to judge by."""

    training: pd.DataFrame
    holed: pd.DataFrame
    held_out: pd.DataFrame
    continuous: Sequence[str]
    bounds: dict[str, tuple[float, float]]
    networks: dict[str, jaxbn.BayesNet] = field(default_factory=dict)

    def score(self, way: str) -> float:
        """Mean log-likelihood of held-out rows under the network of a way."""
        rows = WAYS[way](self.training, self.holed, self.continuous)
        if len(rows) < 2 or any(rows[name].nunique() < 1 for name in rows.columns):
            return -np.inf
        table = as_table(rows, continuous=self.continuous, missing="infer")
        learner = "infer" if way == "bins" else way
        if learner not in self.networks:
            self.networks[learner] = jaxbn.learn(table, progress=False)
        net = self.networks[learner]
        net = jaxbn.fit(table, net.parents, net.codings, bounds=self.bounds, inside_bins=way != "bins")
        return float(net.log_likelihood(self.held_out).mean())


def folds_of(n: int, folds: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Masks of held-out rows."""
    number = np.random.default_rng(seed).permutation(n) % folds
    for fold in range(folds):
        yield number == fold


class Kept:
    """Scores of single folds, in a file of the folder if one is given: what is there is not worked out again."""

    def __init__(self, folder: str | None) -> None:
        self.file = None if folder is None else Path(folder) / "learning.csv"
        self.found: dict[str, tuple[float, float]] = {}
        if self.file is not None and self.file.exists():
            for line in self.file.read_text().splitlines():
                *key, score, seconds = line.split(",")
                self.found[",".join(key)] = float(score), float(seconds)

    def scored(self, key: str, compute: Callable[[], float]) -> tuple[float, float]:
        """A score and the seconds it took."""
        if key not in self.found:
            began = time.perf_counter()
            self.found[key] = compute(), time.perf_counter() - began
            if self.file is not None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with self.file.open("a") as lines:
                    print(key, *self.found[key], sep=",", file=lines)
        return self.found[key]


class Setting(NamedTuple):
    """Which entries are removed, and how rows are held out."""

    kind: str
    share: float
    folds: int
    some: int
    recorded: bool
    split: int = 0


def learning(names: Sequence[str], settings: Sequence[Setting], ways: Sequence[str], kept: Kept) -> None:
    """One line for each setting and data set."""
    heading = " ".join(f"{way:>9}" for way in ways)
    print(f"data kind share folds | {heading} | infer, and bins, - iterative (standard error) | seconds", flush=True)
    for setting, name in itertools.product(settings, names):
        found = np.array(list(scores_of(name, setting, ways, kept)))  # [folds, ways, score and seconds]
        means = " ".join(f"{mean:9.3f}" for mean in found[:, :, 0].mean(axis=0))
        seconds = " ".join(f"{total:.0f}" for total in found[:, :, 1].sum(axis=0))
        words = [f"{name} {setting.kind} {setting.share} {len(found)}", means]
        for way in ("infer", "bins"):
            if {way, "iterative"} <= set(ways):
                ahead = found[:, ways.index(way), 0] - found[:, ways.index("iterative"), 0]
                error = ahead.std(ddof=1) / len(ahead) ** 0.5 if len(ahead) > 1 else float("nan")
                words.append(f"{ahead.mean():+.3f} ({error:.3f})")
        print(" | ".join([*words, seconds]), flush=True)


def scores_of(name: str, setting: Setting, ways: Sequence[str], kept: Kept) -> Iterator[list[tuple[float, float]]]:
    """Of every fold the score of each way, and its seconds."""
    kind, share, folds, some, recorded, split = setting
    frame, continuous = prepared(name, recorded=recorded)
    folds = folds or (5 if len(frame) > MANY_ROWS else 10)
    bounds = {n: (float(frame[n].min()), float(frame[n].max())) for n in continuous}
    for fold, held_out in enumerate(itertools.islice(folds_of(len(frame), folds, split), some)):
        training = frame[~held_out].reset_index(drop=True)
        rng = np.random.default_rng([fold, int(1000 * share), len(kind), *([split] if split else [])])
        holed = removed(training, share, kind, rng).dropna(how="all", ignore_index=True)

        task = Fold(training, holed, frame[held_out], continuous, bounds)
        form = ("recorded" if recorded else "dequantised") + (f" split {split}" if split else "")
        yield [
            kept.scored(
                f"{name},{form},{'' if way == 'full' else f'{kind} {share}'},{fold} of {folds},{way}",
                functools.partial(task.score, way),
            )
            for way in ways
        ]


def arcs(n_rows: int, seeds: int, n_columns: int) -> None:
    """Arcs of simulated networks, whatever their direction: with the full table, and with a fifth of it missing."""
    from simulated import mixed_network

    kept, total = 0, 0
    for seed in range(seeds):
        data, truth = mixed_network(n_columns, n_rows, seed)
        real = {frozenset((child, p)) for child, of_child in truth.items() for p in of_child}
        tables = data, removed(data, 0.2, "random", np.random.default_rng(seed))
        full, holed = ({frozenset(arc) for arc in jaxbn.learn(rows, progress=False).arcs} for rows in tables)
        kept, total = kept + len(full & holed & real), total + len(full & real)
        print(
            f"seed {seed}: {len(real)} true arcs; full table {len(full & real)} of them and {len(full - real)} others; "
            f"with holes {len(holed & real)} and {len(holed - real)}; of those of the full table {len(full & holed)}",
            flush=True,
        )
    print(f"true arcs of the full table that are found with holes: {kept} of {total}, {kept / total:.1%}")


def timing(n_rows: int, n_columns: int) -> None:
    """Seconds of `learn` without and with 10 % of the entries missing, each in the same process after a small run."""
    from simulated import mixed_network

    data, _ = mixed_network(n_columns, n_rows, 0)
    holed = removed(data, 0.1, "random", np.random.default_rng(0))
    seconds = []
    for words, rows in (("full", data), ("10 % missing", holed), ("full", data), ("10 % missing", holed)):
        began = time.perf_counter()
        net = jaxbn.learn(rows, progress=False)
        seconds.append(time.perf_counter() - began)
        print(f"{words}: {seconds[-1]:.1f} s, {sum(map(len, net.parents.values()))} arcs", flush=True)
        if n_rows > 200_000 and len(seconds) == 2:
            break  # what is compiled matters little then
    print(f"{seconds[-1] / seconds[-2]:.2f} times as long with holes", flush=True)


def main() -> None:
    """Read the arguments and run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["learning", "arcs", "time"])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--shares", default="0.05,0.1,0.2,0.4")
    parser.add_argument("--kinds", default="random,dependent")
    parser.add_argument("--folds", type=int, default=0, help="by default 10, or 5 of tables with more than 500 rows")
    parser.add_argument("--some", type=int, default=1000, help="only the first so many of the folds")
    parser.add_argument("--split", type=int, default=0, help="other folds, and other entries that are removed")
    parser.add_argument("--recorded", action="store_true", help="columns as they were recorded, not dequantised")
    parser.add_argument("--folder", help="keep the scores of folds here; a run that was stopped goes on from them")
    parser.add_argument("--ways", default=",".join(METHODS))
    given = parser.parse_args()
    if given.part == "arcs":
        arcs(given.rows, given.seeds, given.columns)
        return
    if given.part == "time":
        timing(given.rows, given.columns)
        return
    settings = [
        Setting(kind, share, given.folds, given.some, given.recorded, given.split)
        for kind in given.kinds.split(",")
        for share in map(float, given.shares.split(","))
        if kind == "random" or share == 0.2
    ]
    learning(given.data.split(","), settings, given.ways.split(","), Kept(given.folder))


if __name__ == "__main__":
    import logging

    logging.getLogger("jaxbn").setLevel(logging.ERROR)
    main()
