"""What a learner ends with, and who watches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxbn.learning.passes import Settled
from jaxbn.scores.coded_table import Coding


class Learned(NamedTuple):
    """A structure with its policies."""

    order: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]  # in order of addition
    policies: dict[str, Coding]
    score: float  # ln P(D* | G)
    criterion: float  # what restarts are compared by
    trace: tuple[float, ...] = ()  # of the evidence, where that is the objective


Watcher = Callable[[int, dict[str, tuple[str, ...]], Settled], None]
"""Called after every variable and every arc: variables done, parents so far, the current discretization."""
