"""Methods about rows, for sources that need not fit in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from jaxbn.inputs.later import pd
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
