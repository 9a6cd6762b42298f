"""The Indian Liver Patient data set, which is not in the package: found in a directory or downloaded from UCI.

UCI serves one table in several forms (with or without a header, either line end), so the checksum is that of the
values, not of the bytes.
"""

from __future__ import annotations

import csv
import hashlib
import os
from io import StringIO
from pathlib import Path
from urllib.request import urlopen

from jaxbn.datasets._catalogue import CATALOGUE
from jaxbn.runtime.files import write_text

DIRECTORY_VARIABLE = "JAXBN_DATA"
FILE_NAME = "ilpd.csv"
URLS = (
    "https://archive.ics.uci.edu/static/public/225/data.csv",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/00225/Indian%20Liver%20Patient%20Dataset%20(ILPD).csv",
)
VALUES_SHA256 = "7a7e6313ae63f0d9016432605414f7e428bb907ed4a8e8c4f41dd53a6f102daf"
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
    lines = [CATALOGUE["ilpd"].columns.split(), *rows]
    return "".join(",".join(line) + "\n" for line in lines)


def _rows(text: str) -> list[list[str]]:
    """Rows of cells without the header, numbers in their shortest form, missing ones empty."""
    rows = [[_plain(cell.strip()) for cell in row] for row in csv.reader(StringIO(text)) if row]
    return rows[1:] if rows and not rows[0][0].isdigit() else rows


def _plain(cell: str) -> str:
    try:
        return f"{float(cell):.12g}".replace("nan", "")
    except ValueError:
        return cell


def _digest(rows: list[list[str]]) -> str:
    return hashlib.sha256("\n".join(",".join(row) for row in rows).encode()).hexdigest()
