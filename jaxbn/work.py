"""Work asked for by the learners and done in batches, with what was done before remembered.

A learner is a generator: it yields a `Cut` or a list of `Family` and is sent back the policy or the scores. Many run
side by side, so that what they ask for at the same time is computed together. An answer depends on the question
alone, so the results do not depend on how many run together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from jaxbn.coded import CodedTable, Column
from jaxbn.factors import factors_of
from jaxbn.kernels.scores import family_scores
from jaxbn.kernels.shapes import bucket
from jaxbn.policy import Policy
from jaxbn.variable import Request, best_policies

SCORE_BYTES = 128 * 2**20
"""Memory a batch of families may take."""


class Cut(NamedTuple):
    """A question: the best policy of a variable given its blanket. Members are sorted by key: order does not matter."""

    name: str
    parents: tuple[Column, ...]
    children: tuple[tuple[Column, tuple[Column, ...]], ...]
    rate: float

    @property
    def key(self) -> tuple[Any, ...]:
        """What the answer depends on."""
        children = tuple((child.key, tuple(s.key for s in spouses)) for child, spouses in self.children)
        return self.name, tuple(p.key for p in self.parents), children, self.rate


class Family(NamedTuple):
    """A question: the K2 score of a child with some parents."""

    child: Column
    parents: tuple[Column, ...]

    @property
    def key(self) -> tuple[int, ...]:
        """What the answer depends on."""
        return self.child.key, *sorted(parent.key for parent in self.parents)


Question = Cut | list[Family]
Result = TypeVar("Result")
Learner = Generator[Question, Any, Result]


@dataclass
class Workshop:
    """Answers questions about one table."""

    data: CodedTable
    method: str
    policies: dict[tuple[Any, ...], Policy] = field(default_factory=dict)
    scores: dict[tuple[int, ...], float] = field(default_factory=dict)

    def answer(self, question: Question) -> Any:
        """The answer if it is known, else None."""
        if isinstance(question, Cut):
            return self.policies.get(question.key)
        known = [self.scores.get(family.key) for family in question]
        return None if any(score is None for score in known) else known

    def work_out(self, questions: Sequence[Question]) -> None:
        """Find and remember the answers to some questions, each kind in one batch."""
        cuts = {q.key: q for q in questions if isinstance(q, Cut) and q.key not in self.policies}
        found = best_policies([self.request(cut) for cut in cuts.values()], self.method)
        self.policies.update(zip(cuts, found, strict=True))
        families = {f.key: f for q in questions if not isinstance(q, Cut) for f in q if f.key not in self.scores}
        self.scores.update(zip(families, score_families(list(families.values())), strict=True))

    def request(self, cut: Cut) -> Request:
        """The question as rows in ascending order of the variable's values."""
        ordered = self.data.ordered[cut.name]
        factors = factors_of(
            [parent.codes[ordered.order] for parent in cut.parents],
            [
                (child.codes[ordered.order], [s.codes[ordered.order] for s in spouses])
                for child, spouses in cut.children
            ],
            len(ordered.values),
        )
        return Request(ordered, factors, cut.rate)


def run_alone(learner: Learner[Result], workshop: Workshop) -> Result:
    """Run one learner to its end."""
    return next(run_together([lambda: learner], workshop, 1))[1]


def run_together(
    learners: Sequence[Callable[[], Learner[Result]]], workshop: Workshop, at_once: int
) -> Iterator[tuple[int, Result]]:
    """Run learners side by side, at most `at_once` of them; yields (number, result) as each one ends."""
    waiting = list(enumerate(learners))[::-1]
    running: dict[int, tuple[Learner[Result], Question | None]] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            number, make = waiting.pop()
            running[number] = (make(), None)
        for number, (learner, question) in list(running.items()):
            try:
                running[number] = (learner, drive(learner, question, workshop))
            except StopIteration as end:
                del running[number]
                yield number, end.value
        workshop.work_out([question for _, question in running.values() if question is not None])


def drive(learner: Learner[Any], question: Question | None, workshop: Workshop) -> Question:
    """Let a learner go on until it asks something that is not known yet."""
    question = next(learner) if question is None else learner.send(workshop.answer(question))
    while (known := workshop.answer(question)) is not None:
        question = learner.send(known)
    return question


def score_families(families: Sequence[Family]) -> list[float]:
    """K2 scores, computed in batches of similar size."""
    groups: dict[tuple[int, int], list[int]] = {}
    sizes = [_size(family) for family in families]
    for i, (n_configurations, n_cells) in enumerate(sizes):
        groups.setdefault((bucket(n_configurations, 64, 8), bucket(n_cells, 512, 8)), []).append(i)
    scores = np.empty(len(families))
    for (n_configurations, n_cells), members in groups.items():
        n = len(families[members[0]].child.codes)
        most = max(1, SCORE_BYTES // (8 * (n_cells + n_configurations) + 12 * n))
        step = max(size for size in (1, 8, 64) if size <= most)
        for first in range(0, len(members), step):
            chunk = members[first : first + step]
            size = next(s for s in (1, 8, 64) if s >= len(chunk))
            scores[chunk] = _score_batch([families[i] for i in chunk], size, n_configurations, n_cells)
    return [float(score) for score in scores]


def _size(family: Family) -> tuple[int, int]:
    n_configurations = int(np.prod([p.n_states for p in family.parents], dtype=np.int64))
    return n_configurations, n_configurations * family.child.n_states


def _score_batch(families: Sequence[Family], size: int, n_configurations: int, n_cells: int) -> NDArray[np.float64]:
    n = len(families[0].child.codes)
    rows = bucket(n, 512)
    configuration = np.full((size, rows), n_configurations, np.int32)
    child = np.zeros((size, rows), np.int32)
    n_states = np.ones(size, np.int32)
    for i, family in enumerate(families):
        code: NDArray[np.int32] = np.zeros(n, np.int32)
        for parent in family.parents:
            code = code * np.int32(parent.n_states) + parent.codes
        configuration[i, :n], child[i, :n], n_states[i] = code, family.child.codes, family.child.n_states
    most_states = bucket(int(n_states.max()), 64)
    with jax.enable_x64(True):
        scores = family_scores(
            jnp.asarray(configuration),
            jnp.asarray(child),
            jnp.asarray(n_states),
            jnp.asarray(gammaln(np.maximum(np.arange(rows + most_states + 1), 1))),
            n_cells=n_cells,
            n_configurations=n_configurations,
        )
        return np.asarray(scores)[: len(families)]
