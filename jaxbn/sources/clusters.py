"""Rows that several processes hold: Dask, Spark, or those of ``jax.distributed`` with a shard each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from typing import Any

from jaxbn.inputs.later import pa
from jaxbn.runtime import limits
from jaxbn.runtime.processes import gathered
from jaxbn.sources.source import BATCH_ROWS, Answer, ArrowSource, OnBatches, Source, Task

PART = 2**40  # rows of a part are numbered from this many times its number on
FAN = 8  # answers that are put together at a time


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
        import jax

        answer = self.own.ask(OnBatches(task, partial(_from, jax.process_index() * PART)), watch)
        return reduce(task.merge, map(pickle.loads, gathered(pickle.dumps(answer))))

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """What a function makes of the rows of this process."""
        return self.own.mapped(function)


def shared(source: Source) -> Source:
    """The same source, or, where there are several processes of ``jax.distributed``, all of their shards."""
    import jax

    several = jax.distributed.is_initialized() and jax.process_count() > 1
    return SharedSource(source) if several and isinstance(source, ArrowSource) else source


def _from(start: int, first: int, batch: Any) -> tuple[int, Any]:
    return start + first, batch


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
