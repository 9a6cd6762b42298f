"""What is known of each data set, from ``data/catalogue.toml``: columns, kinds, target, source, the paper's structures.

Columns are in UCI's order, so that the n-th column is the n-th letter of the paper: A, B, C, …
A structure is written in those letters, close to how the paper writes it: figures as arcs, ``"B>C C>DE"``
(B to C; C to D and E), the table of further data sets as a list of parents, ``"-,A,BE"`` (of A, of B, of C).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from string import ascii_uppercase

Structure = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue.

    Attributes:
        columns: names in UCI's order, separated by blanks.
        discrete: letters of the discrete columns; the others are continuous.
        target: name of the column UCI means to be predicted.
        source: citation.
        structures: name of a structure -> arcs or list of parents, in letters.
        log_likelihood: name of a structure -> what the paper has for it, Bayesian and MDL.
    """

    columns: str
    discrete: str
    target: str
    source: str
    structures: Mapping[str, str]
    log_likelihood: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def letters(self) -> dict[str, str]:
        """Letter of the paper -> column name."""
        return dict(zip(ascii_uppercase, self.columns.split(), strict=False))

    @property
    def continuous(self) -> tuple[str, ...]:
        """Names of the continuous columns, in column order."""
        return tuple(name for letter, name in self.letters.items() if letter not in self.discrete)

    def structure(self, name: str) -> Structure:
        """The named structure as ``{child: parents}`` in column names, parents in column order."""
        text = self.structures[name]
        in_letters = _from_arcs(text, "".join(self.letters)) if ">" in text else _from_parents(text)
        return {self.letters[child]: tuple(self.letters[p] for p in parents) for child, parents in in_letters.items()}


def _from_arcs(text: str, letters: str) -> dict[str, str]:
    """Parents of every letter from arcs such as ``"B>C C>DE"``."""
    parents: dict[str, set[str]] = {letter: set() for letter in letters}
    for group in text.split():
        tails, heads = group.split(">")
        for head in heads:
            parents[head] |= set(tails)
    return {child: "".join(sorted(of_child)) for child, of_child in parents.items()}


def _from_parents(text: str) -> dict[str, str]:
    """Parents of the first letters from a list such as ``"-,A,BE"``; letters beyond the list are left out."""
    return {
        child: "".join(sorted(of_child.strip("-")))
        for child, of_child in zip(ascii_uppercase, text.split(","), strict=False)
    }


_TEXT = files("jaxbn.datasets").joinpath("data/catalogue.toml").read_text("utf-8")
CATALOGUE: dict[str, Entry] = {name: Entry(**fields) for name, fields in tomllib.loads(_TEXT).items()}
