"""The data sets of the paper: what is known of each, from ``data/catalogue.toml``, and its rows.

Columns are in UCI's order, so that the n-th column is the n-th letter of the paper: A, B, C, …
A structure is written in those letters, close to how the paper writes it: figures as arcs, ``"B>C C>DE"``
(B to C; C to D and E), the table of further data sets as a list of parents, ``"-,A,BE"`` (of A, of B, of C).
"""

from __future__ import annotations

import csv
import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from io import StringIO
from pathlib import Path
from string import ascii_uppercase
from urllib.request import urlopen

from jaxbn.inputs.checks import is_number
from jaxbn.inputs.later import pd
from jaxbn.inputs.table_files import Format, read_bytes
from jaxbn.runtime.files import write_text

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


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with what is known of it.

    Attributes:
        name: what :func:`load` was given.
        frame: the rows, columns in UCI's order; continuous columns are float64, discrete ones int64 or text.
        continuous: names of the continuous columns; the others are discrete.
        target: the column UCI means to be predicted, or None.
        source: citation.
        structures: name -> ``{child: (parents, ...)}`` in column names. ``"paper"`` is the fixed structure of Chen,
            Wheeler and Kochenderfer (2017); a column that the paper leaves out is not a key.
        letters: the paper's letter for each column, ``{"A": first column, ...}``.

    Example:
        >>> data = load("iris")
        >>> data.target, data.letters["C"], data.structures["paper"]["petal_length"]
        ('class', 'petal_length', ('class',))
    """

    name: str
    frame: pd.DataFrame
    continuous: tuple[str, ...]
    target: str | None
    source: str
    structures: dict[str, Structure]
    letters: dict[str, str]

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return f"Dataset({self.name!r}, {rows} rows x {columns} columns, {len(self.continuous)} continuous)"


def names() -> list[str]:
    """Names :func:`load` knows.

    Example:
        >>> names()[:3]
        ['auto_mpg', 'wine', 'housing']
    """
    return list(CATALOGUE)


def load(name: str) -> Dataset:
    """Load a data set of the paper.

    All are in the package except ``"ilpd"``, which is read from the directory named by the environment variable
    ``JAXBN_DATA`` or downloaded from UCI once; its four incomplete rows are dropped. Auto MPG comes without the six
    rows that have no horsepower, as in the paper.

    Args:
        name: one of :func:`names`.

    Returns:
        The data set; every call makes a new one, which may be changed freely.

    Raises:
        ValueError: if there is no data set of that name, or the file found for ``"ilpd"`` has other values than UCI's.
        OSError: if ``"ilpd"`` is neither at hand nor can be downloaded.

    Example:
        >>> load("iris")
        Dataset('iris', 150 rows x 5 columns, 4 continuous)
    """
    if name not in CATALOGUE:
        close = get_close_matches(str(name).lower(), CATALOGUE, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        raise ValueError(f"unknown data set {name!r}: {hint}Known names: {', '.join(CATALOGUE)}")
    entry, file = CATALOGUE[name], files("jaxbn.datasets").joinpath("data", f"{name}.csv")
    frame = read_bytes(ilpd_text().encode() if name == "ilpd" else file.read_bytes(), name, Format())
    return Dataset(
        name=name,
        frame=frame.astype(dict.fromkeys(entry.continuous, float)).dropna(ignore_index=True),
        continuous=entry.continuous,
        target=entry.target,
        source=entry.source,
        structures={each: entry.structure(each) for each in entry.structures},
        letters=entry.letters,
    )


# --- the Indian Liver Patient data set, which is not in the package: found in a directory or downloaded from UCI

DIRECTORY_VARIABLE = "JAXBN_DATA"
FILE_NAME = "ilpd.csv"
URLS = (
    "https://archive.ics.uci.edu/static/public/225/data.csv",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/00225/Indian%20Liver%20Patient%20Dataset%20(ILPD).csv",
)
VALUES_SHA256 = "7a7e6313ae63f0d9016432605414f7e428bb907ed4a8e8c4f41dd53a6f102daf"
"""Of the values, not of the bytes: UCI serves one table in several forms (header or not, either line end)."""
TIMEOUT_SECONDS = 30


def ilpd_text() -> str:
    """The data set as CSV with our header, from the named directory, the user's cache or UCI, in this order."""
    named = [Path(folder) / FILE_NAME for folder in [os.environ.get(DIRECTORY_VARIABLE)] if folder]
    cached = _cache_file()
    for path in (*named, cached):
        if path.is_file():
            return _checked(path.read_text(encoding="utf-8-sig"), str(path))
    text = _download(f"{named[0]} does not exist" if named else "now unset")
    cached.parent.mkdir(parents=True, exist_ok=True)
    write_text(cached, text)
    return text


def _cache_file() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("jaxbn") / FILE_NAME


def _download(unset: str) -> str:
    """The first answer that has the right values; an error that names the remedies if there is none."""
    failures = []
    for url in URLS:
        try:
            with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
                return _checked(answer.read().decode("utf-8-sig"), url)
        except (OSError, ValueError) as error:
            failures.append(f"{url}: {error}")
    raise OSError(
        "the data set 'ilpd' is not in the package and could not be fetched. Either put UCI's file as "
        f"{FILE_NAME} into a directory and name that directory in the environment variable {DIRECTORY_VARIABLE} "
        f"({unset}), or connect to the network so that it can be downloaded ({'; '.join(failures)})"
    )


def _checked(text: str, origin: str) -> str:
    """The rows under our header, if their values are UCI's."""
    rows = _rows(text)
    if _digest(rows) != VALUES_SHA256:
        raise ValueError(
            f"{origin} does not hold UCI's values of 'ilpd' ({len(rows)} rows read, checksum mismatch): "
            f"remove it, or replace it by UCI's file ({URLS[0]})"
        )
    return "".join(",".join(line) + "\n" for line in [CATALOGUE["ilpd"].columns.split(), *rows])


def _rows(text: str) -> list[list[str]]:
    """Rows of cells without the header, numbers in their shortest form, missing ones empty."""
    rows = [[_plain(cell.strip()) for cell in row] for row in csv.reader(StringIO(text)) if row]
    return rows[1:] if rows and not rows[0][0].isdigit() else rows


def _plain(cell: str) -> str:
    return f"{float(cell):.12g}".replace("nan", "") if is_number(cell) else cell


def _digest(rows: list[list[str]]) -> str:
    return hashlib.sha256("\n".join(",".join(row) for row in rows).encode()).hexdigest()
