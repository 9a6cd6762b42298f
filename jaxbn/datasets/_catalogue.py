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
    """One data set of the catalogue."""

    columns: str  # names in UCI's order, separated by blanks
    discrete: str  # letters of these columns; the others are continuous
    target: str  # the column UCI means to be predicted
    source: str  # citation
    structures: Mapping[str, str]  # arcs or a list of parents, in letters, by name
    log_likelihood: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # the paper's, Bayesian and MDL

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
        if ">" in text:
            groups = [group.split(">") for group in text.split()]
            found = {child: {p for tails, heads in groups if child in heads for p in tails} for child in self.letters}
        else:  # letters beyond the list are left out
            found = dict(zip(ascii_uppercase, (set(each.strip("-")) for each in text.split(",")), strict=False))
        return {self.letters[child]: tuple(self.letters[p] for p in sorted(own)) for child, own in found.items()}


_TEXT = files("jaxbn.datasets").joinpath("data/catalogue.toml").read_text("utf-8")
CATALOGUE: dict[str, Entry] = {name: Entry(**fields) for name, fields in tomllib.loads(_TEXT).items()}
