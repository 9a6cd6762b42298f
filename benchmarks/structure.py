"""Structures for tables that are discrete already: jaxbn's searches beside those of its peers.

From the project's root: ``python benchmarks/structure.py``. Rows are drawn from networks of the literature (BIF files
that ship with pgmpy) and from random networks. Everyone gets the same rows and may use as many parents as the
generating structure has; all graphs are scored by the same K2 score and held against the generating one as equivalence
classes. Every row is written to ``results/structure.json`` at once; a run that was stopped goes on where it was. The
page is ``structure_results.md``.

Times are processor seconds, all threads together, of the search alone: other work may run beside it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

import jaxbn  # noqa: E402
from benchmarks import structure_page  # noqa: E402
from benchmarks.peers.environments import Environment, default_directory, make  # noqa: E402
from benchmarks.peers.jobs import Job, Row, run  # noqa: E402
from benchmarks.peers.scoring import Codes, arcs_as_parents, k2_score  # noqa: E402
from benchmarks.peers.tasks.structure import draw  # noqa: E402
from jaxbn.runtime.files import write_text  # noqa: E402
from jaxbn.structure.equivalence import class_distance  # noqa: E402

NETWORKS = (
    "asia", "random 10", "sachs", "child", "insurance", "alarm", "random 50", "hailfinder", "hepar2", "win95pts",
    "random 100",
)  # fmt: skip
"""Of the literature and random ones, few columns first: who is too slow for few is not asked about many."""

ROWS = (500, 5_000, 50_000)
PEERS = ("pyagrum", "pgmpy", "pybnesian", "causallearn", "pomegranate")
RESULTS = HERE / "results" / "structure.json"
PAGE = HERE / "structure_results.md"
EXACT_COLUMNS = 20


@dataclass(frozen=True)
class Case:
    """Rows, and the structure they were drawn from; columns of one observed state are left out of both."""

    network: str
    columns: dict[str, Codes]
    parents: dict[str, tuple[str, ...]]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    @property
    def max_parents(self) -> int:
        """Of the generating structure."""
        return max(map(len, self.parents.values()))


@dataclass(frozen=True)
class Search:
    """A search, and the most columns it is asked about."""

    peer: str
    label: str
    options: dict[str, Any]
    columns: int = 1000


SEARCHES = (
    Search("pyagrum", "pyAgrum hill climbing", {"search": "hill climbing", "threads": 1}),
    Search("pyagrum", "pyAgrum tabu", {"search": "tabu", "threads": 1}),
    Search("jaxbn", "jaxbn exact", {"search": "exact"}, columns=EXACT_COLUMNS),
    Search("jaxbn", "jaxbn orders, first", {"search": "orders", "options": {"starts": 1, "patience": 0}}),
    Search("jaxbn", "jaxbn orders", {"search": "orders"}),
    Search("pybnesian", "PyBNesian hill climbing (BDe)", {"task": "structure"}),
    Search("pgmpy", "pgmpy hill climbing", {"task": "structure"}),
    Search("causallearn", "causal-learn BOSS (BDeu)", {"search": "BOSS"}),
    Search("causallearn", "causal-learn GRaSP (BDeu)", {"search": "GRaSP"}),
    Search("pomegranate", "pomegranate exact (MDL)", {"search": "exact"}, columns=12),
)


def case_of(network: str, n_rows: int, bif: Path, seed: int = 20) -> Case:
    """Rows of a network by name, or of a random one by its number of columns."""
    if network.startswith("random"):
        columns, parents = draw(int(network.split()[1]), n_rows, seed)
    else:
        net = jaxbn.read_bif(unpacked(bif / f"{network}.bif.gz"))
        drawn = net.sample(n_rows, seed)
        columns = {name: np.unique(drawn[name].to_numpy(str), return_inverse=True)[1] for name in drawn}
        parents = dict(net.parents)
    packed = {name: np.unique(codes, return_inverse=True)[1] for name, codes in columns.items()}
    kept = {name: codes for name, codes in packed.items() if codes.max() > 0}
    return Case(network, kept, {name: tuple(p for p in parents[name] if p in kept) for name in kept})


def unpacked(path: Path) -> Path:
    plain = Path(tempfile.gettempdir()) / f"jaxbn_{path.stem}"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


def jobs(case: Case, folder: Path, timeout: float) -> Iterator[Job]:
    """All searches of one case."""
    path = folder / f"{case.network.replace(' ', '_')}_{case.n_rows}.csv"
    pd.DataFrame(case.columns).to_csv(path, index=False)
    about = {"network": case.network, "rows": case.n_rows, "columns": len(case.columns), "limit": case.max_parents}
    score = _scorer(case)
    for search in SEARCHES:
        if len(case.columns) <= search.columns:
            request = {"task": "search", "data": str(path), "max_parents": case.max_parents} | search.options
            yield Job("structure", search.peer, search.label, about, request, score, 10 * timeout, timeout)


def _scorer(case: Case) -> Any:
    true_score = k2_score(case.columns, case.parents)
    true_arcs = sum(map(len, case.parents.values()))

    def score(answer: dict[str, Any]) -> Row:
        parents = arcs_as_parents(answer["arcs"], list(case.columns))
        found = k2_score(case.columns, parents)
        if "score" in answer and not np.isclose(answer["score"], found, rtol=1e-9, atol=1e-5):
            raise ValueError(f"its own score {answer['score']} is not {found}")
        kept = {name: answer[name] for name in ("gap", "families", "cpu_all") if name in answer}
        return kept | {
            "above": found - true_score,
            "score": found,
            "true_arcs": true_arcs,
            "arcs": len(answer["arcs"]),
            "most_parents": max(map(len, parents.values())),
            **class_distance(parents, case.parents)._asdict(),
        }

    return score


def main() -> None:
    """Read the command line, ask everyone, write the page."""
    options = _options()
    rows: dict[str, Row] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.page_only:
        environments = {peer: make(peer, options.environments) for peer in PEERS}
        with tempfile.TemporaryDirectory() as folder:
            for job in _wanted(options, environments, Path(folder)):
                if job.key not in rows or options.again:
                    slow = _too_slow(job, rows)
                    rows[job.key] = slow if slow else run(job, environments)
                    write_text(RESULTS, json.dumps(rows, indent=1) + "\n")
                    print(structure_page.line(rows[job.key]), flush=True)
    PAGE.write_text(structure_page.page(sorted(rows.values(), key=_place)))


def _place(row: Row) -> tuple[int, int]:
    """Where a row stands on the page, whenever it was found."""
    return NETWORKS.index(row["network"]), [search.label for search in SEARCHES].index(row["label"])


def _wanted(options: argparse.Namespace, environments: dict[str, Environment], folder: Path) -> Iterator[Job]:
    bif = options.bif or _bif_folder(environments["pgmpy"])
    for n_rows in options.rows:
        for network in options.network:
            for job in jobs(case_of(network, n_rows, bif), folder, options.timeout):
                if options.peer is None or job.peer in options.peer:
                    yield job


def _too_slow(job: Job, rows: dict[str, Row]) -> Row | None:
    """The row of a search that had no answer in time for a table with no more rows and no more columns."""
    for row in rows.values():
        smaller = row["rows"] <= job.about["rows"] and row["columns"] <= job.about["columns"]
        if row["label"] == job.label and "timeout" in row and row["timeout"] >= (job.processor or 0) and smaller:
            about = {"key": job.key, "task": job.task, "peer": job.peer, "label": job.label, **job.about}
            over = f"not asked: over {row['timeout']:.0f} s on {row['network']} with {row['rows']:,} rows"
            return about | {"failure": over}
    return None


def _bif_folder(pgmpy: Environment) -> Path:
    if pgmpy.python is None:
        raise SystemExit(f"pgmpy brings the networks and did not install: {pgmpy.error}; name their folder by --bif")
    return next(Path(pgmpy.python).parents[1].glob("lib/python*/site-packages/pgmpy/utils/example_models"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Structures: jaxbn beside its peers.")
    parser.add_argument("--environments", type=Path, default=default_directory(), help="where peers are installed")
    parser.add_argument("--bif", type=Path, help="folder of *.bif.gz; by default pgmpy's own")
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--peer", nargs="+", choices=["jaxbn", *PEERS], help="these programs only")
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="processor seconds a search may take, reading and repeats included"
    )
    parser.add_argument("--again", action="store_true", help="ask again where an answer is known")
    parser.add_argument("--page-only", action="store_true", help="write the page from the results that are there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
