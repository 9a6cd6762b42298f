"""Time single questions, most probable states and the reading of files beside pyAgrum, on networks of the literature.

Run from anywhere: ``python benchmarks/inference.py [--questions 60] [alarm hepar2 ...]``. Needs the `export` extra: the
networks are those that pgmpy carries. Each question has one target and five other variables known, at the states of a
row drawn from the network. `new` is the first question of a kind, `again` one whose route is remembered; times are
medians in milliseconds, and answers must agree to 1e-6 (the files have few digits, and pyAgrum normalizes them).
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

NETWORKS = ("alarm", "hepar2", "andes", "water", "barley", "mildew")


def timed(ask: Callable[..., Any], questions: Iterable[Any]) -> tuple[float, list[Any]]:
    """The median time of all questions in milliseconds, and their answers."""
    times, answers = [], []
    for question in questions:
        start = time.perf_counter()
        answers.append(ask(*question))
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times)), answers


def compare(name: str, path: Path, n_questions: int) -> str:
    """One line of the table."""
    import pyagrum

    import jaxbn

    read_other, (other,) = timed(pyagrum.loadBN, [(str(path),)])
    read, (net,) = timed(jaxbn.read_bif, [(path,)])
    rows, rng = net.sample(n_questions), np.random.default_rng(0)
    questions = []
    for i in range(n_questions):
        target, *known = rng.permutation(net.names)[:6].tolist()
        questions.append((target, {variable: rows.loc[i, variable] for variable in known}))

    def posterior(target: str, given: dict[str, str]) -> list[float]:
        return pyagrum.getPosterior(other, target=target, evs=given).tolist()

    new, answers = timed(net.query, questions)
    again, _ = timed(net.query, questions)
    theirs, expected = timed(posterior, questions)
    worst = max(np.abs(a.to_numpy() - b).max() for a, b in zip(answers, expected, strict=True))
    assert worst < 1e-6, worst
    few = questions[:5]
    states, _ = timed(lambda _, given: net.most_probable(given), few)
    states_again, _ = timed(lambda _, given: net.most_probable(given), few)
    return (
        f"{name:8} {len(net.names):5} {new:9.2f} {again:7.2f} {theirs:9.2f} {states:9.2f} {states_again:7.2f} "
        f"{read:9.0f} {read_other:9.0f} {worst:9.1e}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--questions", type=int, default=60)
    options = parser.parse_args()
    found = importlib.util.find_spec("pgmpy")
    if found is None or found.origin is None:
        raise SystemExit("pip install pgmpy pyagrum")
    models = Path(found.origin).parent / "utils" / "example_models"
    print(f"{'':14} {'query':>27} {'most probable':>17} {'read':>19}")
    columns = (
        f"{'new':>9} {'again':>7} {'pyAgrum':>9} {'new':>9} {'again':>7} {'jaxbn':>9} {'pyAgrum':>9} {'differ':>9}"
    )
    print(f"{'network':8} {'nodes':>5} {columns}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks:
            path = Path(folder) / f"{name}.bif"
            path.write_bytes(gzip.decompress((models / f"{name}.bif.gz").read_bytes()))
            print(compare(name, path, options.questions), flush=True)


if __name__ == "__main__":
    main()
