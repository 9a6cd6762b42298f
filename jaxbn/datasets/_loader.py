"""Loading a data set by name."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files

from jaxbn.datasets._catalogue import CATALOGUE, Structure
from jaxbn.datasets._ilpd import ilpd_text
from jaxbn.inputs.later import pd
from jaxbn.inputs.table_files import Format, read_bytes


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
