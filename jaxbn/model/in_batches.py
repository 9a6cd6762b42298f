"""Questions about every row of a source: answered batch by batch, as the engine's own table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from jaxbn.sources.source import as_source

Method = TypeVar("Method", bound=Callable[..., Any])


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
        return source.mapped(_Answer(self, method.__name__, given, options))

    return answered  # type: ignore[return-value]


@dataclass(frozen=True)
class _Answer:
    """A method of a network on a batch, as a frame; workers get it by pickle."""

    net: Any
    method: str
    given: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, frame: Any) -> Any:
        import pandas as pd

        found = getattr(self.net, self.method)(frame, *self.given, **self.options)
        if isinstance(found, np.ndarray):
            found = pd.DataFrame({self.method: found})
        found = found.to_frame() if isinstance(found, pd.Series) else found
        found = found.set_axis([str(name) for name in found.columns], axis=1)
        intervals = [name for name in found if any(isinstance(value, pd.Interval) for value in found[name].head(1))]
        return found.astype(dict.fromkeys(intervals, str))
