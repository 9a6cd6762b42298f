"""Rows drawn from a network, given what is known and what is set; rows in files and sources, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.shapes.scores import Lean
from jaxbn.inputs import checks
from jaxbn.inputs.later import pd
from jaxbn.inputs.table_files import PARQUET
from jaxbn.inputs.units import from_numbers
from jaxbn.model.inference.network import draw_states
from jaxbn.model.inference.questions import draw_codes
from jaxbn.model.lines.rows import by_lines, lean
from jaxbn.model.observations import as_members, as_range, as_weights, level_weights, observation_weights
from jaxbn.model.queries import decode, weighed_by_ranges
from jaxbn.runtime import limits
from jaxbn.runtime.files import PathLike, replacing
from jaxbn.runtime.memory import Method, check_room
from jaxbn.sources.source import as_source

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

BATCH = 2**18  # rows of a file that are drawn at a time


def intervened(net: BayesNet, do: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[BayesNet, Mapping[str, Any]]:
    """The network in which variables are set, each at one state without arcs into it, and all that is known then."""
    if not do:
        return net, given
    parents, tables, shares = dict(net.parents), dict(net.tables), dict(net.shares)
    for name, weight in observation_weights(net, do).items():
        if name in given:
            raise ValueError(f"{name!r} is both set by do and given; leave it out of one of them")
        chosen = level_weights(net, name, do[name]) if name in net.groupings else weight
        if np.count_nonzero(chosen) != 1:
            raise ValueError(f"do sets {name!r} to {do[name]!r}, which is not one state; set a single value or level")
        parents[name], tables[name] = (), (weight > 0).astype(np.float64)
        if name in net.groupings:
            inside = net.group_codes[name] == int(np.flatnonzero(weight)[0])
            shares[name] = np.where(inside, chosen, net.shares[name])
    acted = {name: line.where_set(do) for name, line in net.lines.items() if name not in do}
    lines = {name: line for name, line in acted.items() if line is not None}
    return replace(net, parents=parents, tables=tables, shares=shares, lines=lines), {**given, **do}


def sample(net: BayesNet, n: int, seed: int | np.random.Generator, given: Mapping[str, Any]) -> pd.DataFrame:
    """Rows drawn from the network, see ``BayesNet.sample``."""
    checks.at_least("n", n, 0)
    widest = max(net.cardinalities.values(), default=1)
    check_room(8 * n * (3 * len(net.names) + 3 * widest), f"drawing {n:,} rows", "draw fewer at a time")
    rng = np.random.default_rng(seed)
    codes = draw_codes(net, n, rng, observation_weights(net, given), weighed_by_ranges(net, given))
    values: dict[str, Any] = {}
    for name in by_lines(net):
        own = codes[:, net.names.index(name)]
        found = lean(net, name, codes, values, own)
        if name in given:
            values[name] = _known(net, name, given[name], own, rng, found)
        elif name in net.binnings:
            values[name] = net.inside(name).draw(own, rng, lean=found)
        else:
            values[name] = decode(net, name, own, rng)
    shown = {n: from_numbers(values[n], net.binnings[n].unit) if n in net.binnings else values[n] for n in net.names}
    return pd.DataFrame(shown)


class InFiles:
    """What can be saved, and draws rows into files."""

    sample: Callable[..., Any]

    def save(self, path: PathLike) -> None:
        """Write it as JSON, which ``jaxbn.load`` reads back bit for bit.

        Example:
            >>> net.save("net.json")
            >>> jaxbn.load("net.json") == net
            True
        """
        from jaxbn.formats.json_file import save

        save(self, path)  # type: ignore[arg-type]

    def sample_to(self, path: PathLike, n: int, seed: int = 0, **options: Any) -> None:
        """Draw rows into a file, 262,144 at a time, so that they need not fit in memory.

        Up to so many rows, they are those of ``sample``. The file is replaced in one step when all are drawn.

        Args:
            path: the file: Parquet if its name ends in ``.parquet``, else CSV.
            n: rows.
            seed: of the draws.
            **options: further ones of ``sample``, such as ``given``.

        Example:
            >>> net.sample_to("rows.parquet", 1000)
            >>> len(jaxbn.as_table("rows.parquet").values["size"])
            1000
        """
        checks.at_least("n", n, 0)
        rng, to_parquet = np.random.default_rng(seed), Path(path).suffix.lower() in PARQUET
        with limits.within(), replacing(path) as draft, ExitStack() as stack:
            writer: Any = None
            for first in range(0, max(n, 1), BATCH):
                limits.check()
                rows = self.sample(min(BATCH, n - first), rng, **options)
                if not to_parquet:
                    rows.to_csv(draft, mode="a", header=first == 0, index=False, lineterminator="\n")
                    continue
                import pyarrow.parquet

                table = pyarrow.Table.from_pandas(rows, writer and writer.schema, preserve_index=False)
                if writer is None:
                    writer = stack.enter_context(pyarrow.parquet.ParquetWriter(draft, table.schema))
                writer.write_table(table)


def _known(
    net: BayesNet, name: str, value: Any, codes: NDArray[np.int64], rng: np.random.Generator, leaning: Lean | None
) -> Any:
    """Values of a variable of which something is known, inside their states."""
    if name not in net.binnings:
        shares = net.shares[name] * level_weights(net, name, value) if name in net.groupings else None
        return decode(net, name, codes, rng, shares)
    parts = as_weights(name, value)
    if parts is not None:  # of each row one of the parts that its bin may come from
        weights = np.array([weight * observation_weights(net, {name: part})[name] for part, weight in parts])
        chosen, found = draw_states(weights.T[codes], rng.random(len(codes))), np.empty(len(codes))
        for k, (part, _) in enumerate(parts):
            mine = chosen == k
            found[mine] = _known(net, name, part, codes[mine], rng, leaning and leaning.take(mine))
        return found
    span = as_range(net, name, value)
    if span is None:
        members = as_members(net, name, value)
        return members[draw_states(net.binnings[name](members) == codes[:, None], rng.random(len(codes)))]
    return net.inside(name).draw(codes, rng, *span, leaning)


def in_batches(method: Method) -> Method:
    """A method whose first argument are rows, also for sources that need not fit in memory.

    Of these it gives what the engine calls a table: a Dask or PySpark DataFrame, a DuckDB relation, a Polars LazyFrame,
    and else a ``pyarrow.RecordBatchReader``, which writers of Arrow take.
    """

    @wraps(method)
    def answered(self: Any, data: Any, *given: Any, **options: Any) -> Any:
        source = as_source(data)
        if source is None:
            return method(self, data, *given, **options)
        return source.mapped(partial(_of_batch, self, method.__name__, given, options))

    return answered  # type: ignore[return-value]


def _of_batch(net: Any, method: str, given: tuple[Any, ...], options: dict[str, Any], frame: Any) -> Any:
    """What a method of a network says of a batch, as a frame that every engine can hold."""
    found = getattr(net, method)(frame, *given, **options)
    if isinstance(found, np.ndarray):
        found = pd.DataFrame({method: found})
    found = found.to_frame() if isinstance(found, pd.Series) else found
    found = found.set_axis([str(name) for name in found.columns], axis=1)
    intervals = [name for name in found if any(isinstance(value, pd.Interval) for value in found[name].head(1))]
    return found.astype(dict.fromkeys(intervals, str))
