"""The table of each task, with what there is to say before it."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.compare import expanded, times_as_long
from benchmarks.peers.jobs import Row
from benchmarks.peers.markdown import failed, number, ratio, seconds, table
from benchmarks.peers.tasks import cuts, density, structure, use

LIMITS = ", ".join(f"{label} up to {n:,} rows" for label, n in cuts.MOST_ROWS.items())

CUTS = f"""## 1. Cuts of one column given a class of four states

Scores are means over {cuts.HELD_OUT_ROWS:,} held-out rows, higher is better. The paper's cost (L =
{cuts.RATE:g}) is better where lower; it says nothing of the methods that aim at something else, but none may be
below jaxbn's. Asked within their limits: {LIMITS}. bnlearn and jaxbn solve the same problem; Orange, Khiops,
optbinning and ruptures solve others (greedy splits; the MODL criterion; a program over the bins of a tree,
which it gives up where a class has no row in some of them; squared deviations of the class as indicators, ln n
a cut); astropy and scikit-learn do not look at the class. Khiops's times include its start-up, stated as the
time of a fit of 50 rows."""

FIXED = """## 2. Auto MPG, the paper's structure, all five continuous columns

392 rows. Each continuous column has one parent here, so bnlearn's port should find the same cuts (with two or
more parents it does not). It goes through the columns from the last to the first whatever the graph, and the
passes can settle on several sets of cuts, each the best given the rest; so the columns are handed over parents
first. The last column is the fit to the same rows, in original units; held-out figures are in task 4."""

STRUCTURE = f"""## 3. Structure of discrete columns

Random sparse networks, 2 to 4 levels, at most {structure.MAX_PARENTS} parents for everyone. The K2 score
(higher is better) of every structure is computed by one NumPy scorer. K2 is told the true order where that is
said, the others are told nothing. pyAgrum and pgmpy climb by the K2 score; PyBNesian, which has none, by the
Bayesian Dirichlet score of weight 1."""

DENSITY = f"""## 4. Held-out log-likelihood of a row, in original units

Mean of the same ten folds ± standard error; (bins a column on average); time of all ten folds, warm where it
was repeated (Orange's and Khiops's is that of their cuts alone). Bold: best of the line. Supervised cuts are
given the data set's target as the class, a continuous one in {density.CLASS_BINS} bins of equal frequency of
all rows. Learned: jaxbn learns cuts and structure together in every fold, from {density.ORDERS} random orders;
after the cuts of Orange and Khiops K2 takes the best of {density.ORDERS} random orders; PyBNesian climbs by its
information criterion, discrete columns being categories (a conditional linear-Gaussian network: no discrete
column may depend on a continuous one); in brackets what it is worth with one part in n + 1 of a uniform
distribution mixed in, which tames rows that a Gaussian finds all but impossible. Where it gives a row no finite
density that figure stands alone, with the number of such rows: none is dropped. Densities of bins can profit
from values that repeat (rounded columns), those of linear-Gaussian networks cannot."""

USE = f"""## 5. A fitted network in use

Ten columns, handed over as a BIF file. Probabilities of one column given all others for {use.ROWS:,} rows, row
by row where a program has nothing better (times are scaled where fewer rows were asked), and one query given
two columns, the seven others summed out. The errors are against sums written out in NumPy."""

FOOTPRINT = """## 6. Import and installation

Import: best of three processes, without the start of Python. Size: site-packages with everything the program
needs (jaxbn: its source and the distributions it requires)."""


def of_cuts(rows: list[Row]) -> str:
    lines: list[list[Any]] = []
    for name in dict.fromkeys(row["data"] for row in rows):
        best = cuts.truth(name)
        scores = number(best["class_score"], 4), number(best["column_score"], 4)
        lines.append([name, "", "*the distribution itself*", *[""] * 5, *scores, ""])
        lines += [_of_cut(rows, row) for row in rows if row["data"] == name]
    header = (
        "data", "rows", "program", "first", "warm", "times as long", "MB", "bins", "ln P(class given bin)",
        "ln p(column given class)", "the paper's cost",
    )  # fmt: skip
    return f"{CUTS}\n\n{table(header, lines)}"


def _of_cut(rows: list[Row], row: Row) -> list[Any]:
    head = [row["data"], f"{row['rows']:,}", row["label"]]
    if "failure" in row:
        return [*head, *failed(row, 8)]
    apart = f" (start-up {seconds(row['start_up'])})" if "start_up" in row else ""
    scores = number(row["class_score"], 4), number(row["column_score"], 4), number(row["objective"], 1)
    return [*head, *_times(rows, row, "cuts", apart), row["bins"], *scores]


def _times(rows: list[Row], row: Row, task: str, apart: str = "") -> list[str]:
    """First and warm time, ratio, memory."""
    long = ratio(times_as_long(task, rows, row))
    return [seconds(row["first"]), seconds(row["seconds"]) + apart, long, f"{row['megabytes']:,.0f}"]


def of_fixed(rows: list[Row]) -> str:
    lines: list[list[Any]] = []
    for row in rows:
        if "failure" in row:
            lines.append([row["label"], *failed(row, 7)])
        else:
            quality = row["cuts"], row["as_published"], number(row["score"])
            lines.append([row["label"], *_times(rows, row, "fixed"), *quality])
    header = ("program", "first", "warm", "times as long", "MB", "cuts", "of the paper's cuts", "mean ln p(row)")
    return f"{FIXED}\n\n{table(header, lines)}"


def of_structure(rows: list[Row]) -> str:
    lines: list[list[Any]] = []
    for row in rows:
        head = [row["columns"], f"{row['rows']:,}", row["label"]]
        if "failure" in row:
            lines.append([*head, *failed(row, 8)])
            continue
        scores = number(row["score"], 1), number(row["score"] - row["true_score"], 1)
        arcs = f"{row['found_arcs']} of {row['true_arcs']} ({row['found_links']})", row["arcs"]
        lines.append([*head, *_times(rows, row, "structure"), *scores, *arcs])
    header = (
        "columns", "rows", "program", "first", "warm", "times as long", "MB", "K2 score",
        "minus that of the true structure", "true arcs found (either way round)", "arcs",
    )  # fmt: skip
    return f"{STRUCTURE}\n\n{table(header, lines)}"


def of_density(rows: list[Row]) -> str:
    parts = [DENSITY]
    for kind, title in ((density.GIVEN, "With the paper's structure"), (density.LEARNED, "With a learned structure")):
        own = [row for row in expanded(rows) if row["structure"] == kind]
        labels = [label for label in dict.fromkeys(row["label"] for row in own) if label != "everyone"]
        lines = [
            _of_data_set({row["label"]: row for row in own if row["data"] == name}, name, labels)
            for name in dict.fromkeys(row["data"] for row in own)
        ]
        parts.append(f"### {title}\n\n{table(('data', 'rows', *labels), lines)}")
    return "\n\n".join(parts)


def _of_data_set(found: dict[str, Row], name: str, labels: list[str]) -> list[str]:
    if "everyone" in found:
        return [name, "", *failed(found["everyone"], len(labels))]
    best = max((row["score"] for row in found.values() if "score" in row), default=0.0)
    n_rows = next(iter(found.values()))["rows"]
    return [name, f"{n_rows:,}", *[_of_density(found.get(label), best) for label in labels]]


def _of_density(row: Row | None, best: float) -> str:
    if row is None:
        return ""
    if "score" not in row:
        return row.get("failure", "")
    score = f"{row['score']:.2f}"
    text = (f"**{score}**" if row["score"] >= best - 0.005 else score) + f" ± {row['error']:.2f}"
    text += f" ({row['bins']:.1f})" if "bins" in row else ""
    text += f" [{row['mixed_score']:.2f}]" if "mixed_score" in row else ""
    text += f", {row['impossible_rows']} rows without a density" if row.get("impossible_rows") else ""
    return f"{text}; {seconds(row['seconds'])}"


def of_use(rows: list[Row]) -> str:
    lines: list[list[Any]] = []
    for row in rows:
        head = [row["what"], row["label"], f"{row['rows']:,}"]
        if "failure" in row:
            lines.append([*head, *failed(row, 6)])
            continue
        first, warm, *others = _times(rows, row, "use")
        lines.append([*head, first, warm, seconds(row.get("per_100k")), *others, f"{row['difference']:.0e}"])
    header = (
        "what", "program", "rows asked", "first", "warm", "warm, 100,000 rows", "times as long", "MB",
        "largest error of a probability",
    )  # fmt: skip
    return f"{USE}\n\n{table(header, lines)}"


def of_footprint(rows: list[Row]) -> str:
    lines: list[list[Any]] = []
    for row in rows:
        head = [row["label"], row.get("version", "")]
        if "failure" in row:
            lines.append([*head, *failed(row, 3)])
        else:
            lines.append([*head, seconds(row["import"]), f"{row['megabytes']:,.0f}", seconds(row.get("install"))])
    header = ("program", "version", "import", "MB installed", "making the environment")
    return f"{FOOTPRINT}\n\n{table(header, lines)}"
