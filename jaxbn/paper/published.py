"""Figures published in the paper (Chen, Wheeler and Kochenderfer, JAIR 59, 2017), from ``published.toml``."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from string import ascii_uppercase
from typing import NamedTuple

from jaxbn.datasets._loader import CATALOGUE


class Fixed(NamedTuple):
    """One table of cuts for a given structure, or of numbers of bins, by the paper's letters."""

    where: str
    dataset: str
    structure: str
    bayesian: dict[str, list[float]] | dict[str, int]
    mdl: dict[str, list[float]] | dict[str, int] | None


def _cuts(text: str) -> dict[str, list[float]]:
    """Cuts of each variable, as in ``"A 1.5 2 | B"``."""
    return {letter: [float(cut) for cut in cuts] for letter, *cuts in map(str.split, text.split("|"))}


_FIGURES = tomllib.loads(files("jaxbn.paper").joinpath("published.toml").read_text("utf-8"))

FIXED = tuple(Fixed(**{**each, **{m: _cuts(each[m]) for m in ("bayesian", "mdl")}}) for each in _FIGURES["fixed"])
_LETTERS = _FIGURES["housing_bins"].pop("letters")
_BINS = {method: dict(zip(_LETTERS, bins, strict=True)) for method, bins in _FIGURES["housing_bins"].items()}
HOUSING = Fixed("Table 5", "housing", "paper", **_BINS)
LEARNED_BINS = {n: dict(zip(ascii_uppercase, bins, strict=False)) for n, bins in _FIGURES["learned_bins"].items()}
LOG_LIKELIHOOD = {
    (name, key): value for name, entry in CATALOGUE.items() for key, value in entry.log_likelihood.items()
}
SYNTHETIC_SIZES = tuple(range(150, 751, 50))
SYNTHETIC_LOG_LIKELIHOOD: dict[str, list[float]] = _FIGURES["synthetic"]["log_likelihood"]
SYNTHETIC_EDGES: dict[str, list[float]] = _FIGURES["synthetic"]["edges"]
IRIS_ACCURACY: float = _FIGURES["single"]["iris_accuracy"]
APPENDIX_A: dict[str, float] = _FIGURES["single"]["appendix_a"]
SLIPS: list[str] = _FIGURES["slips"]["list"]
