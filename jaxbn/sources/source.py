"""Sources of rows: what each engine does with a task, and which engine a user's object belongs to.

A task looks at the rows of a part (``of``) and puts the answers of two parts together (``merge``); both are pure, and
answers are small. That is all an engine is asked for, so the engine may retry lost parts itself.
"""

from __future__ import annotations

import contextvars
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from itertools import chain
from os import PathLike, cpu_count, fspath
from pathlib import Path
from typing import Any, Protocol, TypeVar

import jax

from jaxbn.inputs.later import pa
from jaxbn.inputs.table_files import is_parquet, memory_of, parquet_dataset
from jaxbn.runtime import limits
from jaxbn.runtime.memory import available
from jaxbn.runtime.processes import gathered, several
from jaxbn.sources.counting import Batches

BATCH_ROWS = 2**16  # few enough that the codes of all columns, once for each thread, take little memory
SHARE = 0.5  # a file is read batch by batch if learning from it in memory would take a larger share of what is free
LEARNING = 6  # learning takes this many times the table's memory
PART = 2**40  # rows of a part are numbered from this many times its number on
FAN = 8  # answers that are put together at a time

Answer = TypeVar("Answer")


class Task(Protocol[Answer]):
    """What is asked of the rows."""

    def of(self, batches: Batches) -> Answer: ...  # noqa: D102

    def merge(self, one: Answer, other: Answer) -> Answer: ...  # noqa: D102


class RowCount:
    """The task of counting rows."""

    def of(self, batches: Batches) -> int:  # noqa: D102
        return sum(batch.num_rows for _, batch in batches)

    def merge(self, one: int, other: int) -> int:  # noqa: D102
        return one + other


class Source:
    """Rows that need not be in memory."""

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        """The answer for all rows; `watch` is told how many have been seen, where rows are seen here."""
        raise NotImplementedError

    def n_rows(self) -> int:
        """Rows, by a pass if the engine does not know them."""
        return self.ask(RowCount())

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """What a function makes of frames of these rows, as the engine has it."""
        raise NotImplementedError


@dataclass(frozen=True)
class OnBatches:
    """A task on batches that a function changes first, with the numbers of their first rows; it can be pickled."""

    task: Any
    change: Callable[[int, Any], tuple[int, Any]]

    def of(self, batches: Batches) -> Any:
        """The answer for what the function makes of the batches of a part."""
        return self.task.of(self.change(first, batch) for first, batch in batches)

    def merge(self, one: Any, other: Any) -> Any:
        """The answer for both parts."""
        return self.task.merge(one, other)


@dataclass(frozen=True)
class ArrowSource(Source):
    """Batches of Arrow on this machine, made again for each pass; threads take them in turns."""

    batches: Callable[[], Iterable[Any]]
    count: Callable[[], int] | None = None  # of the rows, where that is known without a pass
    native: Callable[[Any], Any] = lambda reader: reader  # turns a reader into a table of the engine

    def n_rows(self) -> int:
        """Rows, by a pass if there is no other way."""
        return super().n_rows() if self.count is None else int(self.count())

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        """The answer for all rows; `watch` is told how many have been seen."""
        # Reading is sequential, behind a lock, and so is the numbering of rows; what is done with a batch is not. About
        # as many batches are in memory as there are threads. Which thread has which batch is left to chance: a task's
        # answers must not depend on it, so `merge` adds up, or keeps row numbers to sort by.
        release_unused()
        every, lock = self._numbered(watch), threading.Lock()

        def taken() -> tuple[int, Any] | None:
            with lock:
                return next(every, None)

        threads = min(cpu_count() or 1, 8)
        with ThreadPoolExecutor(threads) as pool:  # each with a copy of the context, which holds the time limit
            asked = [pool.submit(contextvars.copy_context().run, task.of, iter(taken, None)) for _ in range(threads)]
            answers = [each.result() for each in asked]
        limits.check()
        release_unused()
        return reduce(task.merge, answers)

    def _numbered(self, watch: Callable[[int], None]) -> Iterator[tuple[int, Any]]:
        first = 0
        for large in self.batches():
            for start in range(0, large.num_rows, BATCH_ROWS):
                if limits.over():  # threads end with what they have, and `ask` raises in the caller's
                    return
                batch = large.slice(start, BATCH_ROWS)
                yield first, batch
                first += batch.num_rows
                watch(first)

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """What a function makes of the frames of all batches, as the engine has it."""
        frames = (function(batch.to_pandas()) for _, batch in self._numbered(lambda rows: None))
        made = (pa.RecordBatch.from_pandas(frame, preserve_index=False) for frame in frames)
        head = next(made, None)
        if head is None:
            limits.check()
            raise ValueError("the source has no rows; pass at least one row")
        every = chain([head], (batch.cast(head.schema) for batch in made))
        return self.native(pa.RecordBatchReader.from_batches(head.schema, every))


def release_unused() -> None:
    """Give memory that is free back to the system: a pass would otherwise add to what learning had used before."""
    for pool in (pa.default_memory_pool(), pa.system_memory_pool()):  # the second trims the heap of C
        pool.release_unused()


# --- rows that several processes hold


@dataclass(frozen=True)
class DaskSource(Source):
    """A Dask DataFrame: a task for each partition, and a tree of sums."""

    frame: Any

    def n_rows(self) -> int:
        """Rows of all partitions."""
        return len(self.frame)

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        """The answer for all rows; workers that are lost are replaced by Dask."""
        dask: Any = import_module("dask")

        limits.check()
        asked = dask.delayed(task, pure=True)
        answers = [dask.delayed(_of_frame)(asked, i, part) for i, part in enumerate(self.frame.to_delayed())]
        while len(answers) > 1:
            answers = [dask.delayed(_merged)(asked, answers[i : i + FAN]) for i in range(0, len(answers), FAN)]
        return dask.compute(answers[0])[0]

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """The frames that a function makes of the partitions, as a Dask DataFrame."""
        return self.frame.map_partitions(function, meta=function(self.frame.head(5, npartitions=-1)).iloc[:0])


@dataclass(frozen=True)
class SparkSource(Source):
    """A PySpark DataFrame: ``mapInArrow`` for each partition, and sums of their answers on the executors."""

    frame: Any

    def n_rows(self) -> int:
        """Rows of all partitions."""
        return int(self.frame.count())

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        """The answer for all rows; executors that are lost are replaced by Spark."""
        limits.check()
        # one small answer for each partition, then `FAN` sums of these: little comes to the driver, however many there
        # are
        answers = self.frame.mapInArrow(partial(_of_partition, task), "answer binary")
        summed = answers.repartition(FAN).mapInArrow(partial(_of_answers, task), "answer binary")
        return reduce(task.merge, (pickle.loads(row.answer) for row in summed.collect()))

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """The frames that a function makes of batches, as a PySpark DataFrame."""
        schema = self.frame.sparkSession.createDataFrame(function(self.frame.limit(5).toPandas())).schema
        return self.frame.mapInPandas(lambda frames: map(function, frames), schema)


@dataclass(frozen=True)
class SharedSource(Source):
    """A source of which each process of ``jax.distributed`` has a shard: all of them get the whole answer."""

    own: Source

    def ask(self, task: Task[Answer], watch: Callable[[int], None] = lambda rows: None) -> Answer:
        """The answer for the rows of all processes."""
        start = jax.process_index() * PART
        answer = self.own.ask(OnBatches(task, lambda first, batch: (start + first, batch)), watch)
        return reduce(task.merge, map(pickle.loads, gathered(pickle.dumps(answer))))


def _of_frame(task: Task[Answer], number: int, frame: Any) -> Answer:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return task.of(_numbered(number, table.to_batches(BATCH_ROWS) if table.num_rows else ()))


def _merged(task: Task[Answer], answers: list[Answer]) -> Answer:
    return reduce(task.merge, answers)


def _of_partition(task: Task[Any], batches: Iterable[Any]) -> Iterator[Any]:
    context: Any = import_module("pyspark").TaskContext.get()
    yield _pickled(task.of(_numbered(context.partitionId(), batches)))


def _of_answers(task: Task[Any], batches: Iterable[Any]) -> Iterator[Any]:
    answers = [pickle.loads(each) for batch in batches for each in batch.column(0).to_pylist()]
    if answers:
        yield _pickled(reduce(task.merge, answers))


def _pickled(answer: Any) -> Any:
    return pa.RecordBatch.from_pydict({"answer": pa.array([pickle.dumps(answer)], pa.binary())})


def _numbered(part: int, batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    first = part * PART
    for batch in batches:
        yield first, batch
        first += batch.num_rows


# --- which engine an object belongs to


def as_source(data: Any) -> Source | None:
    """The source that an object is, None for tables in memory.

    DuckDB relations, PyArrow datasets, functions that make a ``RecordBatchReader``, Polars LazyFrames, Dask and PySpark
    DataFrames, and files and folders that are too large to learn from in memory. Nothing is imported that the object
    has not imported.
    """
    if hasattr(data, "ask") and hasattr(data, "n_rows"):
        return data
    if isinstance(data, str | PathLike):
        return _large_file(Path(fspath(data)))
    library = type(data).__module__.split(".")[0].lstrip("_")
    kind = type(data).__name__
    if library == "duckdb" and kind == "DuckDBPyRelation":
        return _of_duckdb(data)
    if library == "pyarrow" and hasattr(data, "scanner"):
        return _of_dataset(data)
    if library == "pyarrow" and kind == "RecordBatchReader":
        raise TypeError(
            "a RecordBatchReader can be read once, and learning takes several passes; pass a function that makes it"
        )
    if library == "polars" and kind == "LazyFrame":
        return _of_polars(data)
    if library in ("dask", "dask_expr", "pyspark") and kind == "DataFrame":
        return SparkSource(data) if library == "pyspark" else DaskSource(data)
    return ArrowSource(data) if callable(data) and not isinstance(data, type) else None


def _of_dataset(data: Any) -> ArrowSource:
    return ArrowSource(lambda: _batches_of(data), data.count_rows)


def _batches_of(data: Any) -> Iterator[Any]:
    """The batches of a dataset. PyArrow's own scan holds whole groups of rows, a million each in most files."""
    from pyarrow.parquet import ParquetFile

    ahead = {"batch_size": BATCH_ROWS, "batch_readahead": 2}
    try:
        fragments = data.get_fragments()
    except ValueError:  # one with a filter shows none
        yield from data.to_batches(fragment_readahead=1, **ahead)
        return
    for fragment in fragments:
        if getattr(fragment, "row_groups", None) is None or not fragment.physical_schema.equals(data.schema):
            yield from fragment.to_batches(schema=data.schema, **ahead)
        else:
            with fragment.open() as file:
                groups = [group.id for group in fragment.row_groups]
                yield from ParquetFile(file).iter_batches(BATCH_ROWS, row_groups=groups)


def _large_file(path: Path) -> ArrowSource | None:
    """A file or folder of Parquet, or a text table, that is too large to learn from in memory."""
    free = available()
    if not path.exists() or free is None or LEARNING * memory_of(path) <= SHARE * free:
        return None
    if several():
        raise ValueError(
            f"{str(path)!r} is too large to learn from in memory, and there are several processes; hand each of them a "
            "shard of its own, such as pyarrow.dataset.dataset([files of this process])"
        )
    if is_parquet(path):
        return _of_dataset(parquet_dataset(path))
    import pyarrow.csv

    convert = pyarrow.csv.ConvertOptions(null_values=["", "?", "NA", "NaN", "null"], strings_can_be_null=True)
    return ArrowSource(lambda: pyarrow.csv.open_csv(path, convert_options=convert))


def _of_duckdb(relation: Any) -> ArrowSource:
    duckdb: Any = import_module("duckdb")

    def batches() -> Any:
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # name before DuckDB 1.4
        return read(BATCH_ROWS)

    def table(reader: Any) -> Any:  # by a connection of its own: that of the relation is busy while rows are read
        return duckdb.from_arrow(reader, connection=duckdb.connect())

    return ArrowSource(batches, lambda: relation.count("*").fetchall()[0][0], table)


def _of_polars(lazy: Any) -> ArrowSource:
    polars: Any = import_module("polars")

    def batches() -> Iterator[Any]:
        for frame in lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield from frame.to_arrow().to_batches()

    def count() -> int:
        return int(lazy.select(polars.len()).collect().item())

    return ArrowSource(batches, count, lambda reader: polars.from_arrow(reader.read_all()).lazy())
