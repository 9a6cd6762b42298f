"""Groups of levels are visited as often as enumeration over all partitions says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import jaxbn
from jaxbn.cuts.blanket import factors_of
from jaxbn.groups.grouping import Grouping
from jaxbn.groups.levels import all_partitions, draw_groups
from jaxbn.groups.merging import Visits
from jaxbn.inputs.table import as_table
from jaxbn.learning.options import in_objects
from jaxbn.posterior.chain import Chain
from jaxbn.scores.coded_table import CodedTable
from tests.helpers.coded_columns import numbered_rules
from tests.reference import groups as reference
from tests.reference.posterior import log_prior_of_parents

LEVELS = ("a", "b", "c", "d", "unseen")
RNG = np.random.default_rng(3)
CODES = RNG.integers(4, size=30).astype(np.int32)
PARENT = RNG.integers(2, size=30).astype(np.int32)
CHILD = np.where(RNG.random(30) < 0.7, CODES // 2, RNG.integers(2, size=30)).astype(np.int32)
SPOUSE = RNG.integers(2, size=30).astype(np.int32)
PARTITIONS = list(reference.set_partitions(4))


def partition_of(grouping: Grouping) -> tuple[int, ...]:
    """The group of each observed level, numbered in order of appearance."""
    codes = grouping(LEVELS)[:4].tolist()
    numbers = {code: i for i, code in enumerate(dict.fromkeys(codes))}
    return tuple(numbers[code] for code in codes)


def chances(**blanket) -> dict[tuple[int, ...], float]:
    """The probability of each partition of the observed levels."""
    logs = np.array([reference.evidence(CODES, dict(enumerate(p)), **blanket) for p in PARTITIONS])
    return dict(zip(PARTITIONS, np.exp(logs - logsumexp(logs)), strict=True))


def within(values: np.ndarray, exact: float, label: object = "") -> None:
    """The mean of a chain's values, 0 or 1, is within 4 standard errors of the exact one.

    They are those of batch means, and no less than those of independent values: what is rare may not have been drawn.
    """
    batches = values[: len(values) // 20 * 20].reshape(20, -1).mean(axis=1)
    error = max(batches.std(ddof=1) / np.sqrt(20), np.sqrt(exact * (1 - exact) / len(values)))
    assert abs(values.mean() - exact) <= 4 * error, (label, values.mean(), exact, error)


@pytest.mark.parametrize("most", [10, 2])
def test_partitions_are_drawn_by_their_probabilities(most: int) -> None:
    factors = factors_of([PARENT], [(CHILD, [SPOUSE])], 30)
    expected = chances(parents=[PARENT], children=[(CHILD, [SPOUSE])])
    expected = {p: chance for p, chance in expected.items() if max(p) < most}
    total = sum(expected.values())
    now, seen, rng = Grouping((LEVELS,)), [], np.random.default_rng(0)
    for _ in range(6000):
        now = draw_groups(LEVELS, CODES, factors, now, most, rng)
        seen.append(partition_of(now))
    assert set(seen) <= set(expected)
    for partition, chance in expected.items():
        within(np.array([float(each == partition) for each in seen]), chance / total, partition)


def test_each_step_is_in_detailed_balance() -> None:
    """One level at a time, from every partition: the weights of its places are those of the partitions they make."""
    problem = all_partitions(CODES, factors_of([PARENT], [(CHILD, [SPOUSE])], 30), 4)
    logs = {p: reference.evidence(CODES, dict(enumerate(p)), [PARENT], [(CHILD, [SPOUSE])]) for p in PARTITIONS}
    for partition in PARTITIONS:
        for unit in range(4):
            visits, rows = Visits(problem, np.array(partition), 4), problem.rows_of(unit)
            visits.groups.add(partition[unit], rows, -1)
            weights = visits.weights(partition[unit], visits.groups.gains(rows))
            found: dict[tuple[int, ...], float] = {}
            for place in np.flatnonzero(np.isfinite(weights)):
                moved = [int(place) if i == unit else g for i, g in enumerate(partition)]
                numbers = {g: i for i, g in enumerate(dict.fromkeys(moved))}
                reached = tuple(numbers[g] for g in moved)
                assert reached not in found  # every partition has one place only
                found[reached] = weights[place]
            expected = np.array([logs[p] for p in found])
            np.testing.assert_allclose(
                np.array(list(found.values())) - logsumexp(list(found.values())),
                expected - logsumexp(expected),
                atol=1e-9,
            )
            same = [p for p in PARTITIONS if _without(p, unit) == _without(partition, unit)]
            assert set(found) == set(same)


def _without(partition: tuple[int, ...], unit: int) -> tuple[int, ...]:
    rest = [g for i, g in enumerate(partition) if i != unit]
    numbers = {g: i for i, g in enumerate(dict.fromkeys(rest))}
    return tuple(numbers[g] for g in rest)


def test_groups_and_arcs_together_agree_with_enumeration() -> None:
    """A grouped column and another: no arc, or either direction, with every partition."""
    frame = pd.DataFrame({"kind": np.array(LEVELS)[CODES], "y": CHILD.astype(str)})
    chain = Chain(CodedTable(as_table(frame), ("kind",)), numbered_rules([2, 2], max_parents=1), 512)
    graphs = {(0, 0): ([], []), (2, 0): ([CHILD], []), (0, 1): ([], [(CHILD, [])])}
    logs = {}
    for graph, (parents, children) in graphs.items():
        for p in PARTITIONS:
            value = reference.evidence(CODES, dict(enumerate(p)), parents, children)
            value += 0 if children else reference.k2_evidence(CHILD, [], np.ones(30, int))
            logs[graph, p] = value + log_prior_of_parents(2, int(graph != (0, 0)))
    total = logsumexp(list(logs.values()))
    state = chain.begin({"kind": (), "y": ("kind",)}, {"kind": Grouping((("a", "b"), ("c", "d")))})
    rng, seen = np.random.default_rng(1), []
    for _ in range(4000):
        (state,) = chain.sweep([state], [rng])
        key = state.graph, partition_of(Grouping((*state.codings["kind"].groups, ("unseen",))))
        seen.append(key)
        if len(seen) < 50:
            assert abs(chain.log_target(state) - logs[key]) < 1e-9
    for key, log in logs.items():
        if np.exp(log - total) > 0.002:
            within(np.array([float(each == key) for each in seen]), float(np.exp(log - total)), key)


def test_draws_have_groups_of_their_own(tmp_path) -> None:
    rng = np.random.default_rng(0)
    town = rng.integers(12, size=300)
    heat = rng.normal(size=300) + (town % 3) * 0.6
    frame = pd.DataFrame({"town": [f"t{i:02d}" for i in town], "heat": heat})
    options = {"group": ["town"], "draws": 12, "chains": 2, "burn_in": 2, "progress": False}
    found = jaxbn.sample_posterior(frame, **in_objects(options))
    assert len({draw.groupings["town"].groups for draw in found.draws}) > 1
    pairs = found.groups.set_index(["level", "other"])["probability"]
    alike = [p for (a, b), p in pairs.items() if (int(a[1:]) - int(b[1:])) % 3 == 0]
    unlike = [p for (a, b), p in pairs.items() if (int(a[1:]) - int(b[1:])) % 3]
    assert np.mean(alike) > np.mean(unlike) + 0.2
    assert "town: " in repr(found)
    varies = len({draw.groupings["town"].n_groups for draw in found.draws}) > 1
    assert ("groups of town" in found.diagnostics.index) == varies
    assert "groups</td>" in found._repr_html_()
    assert found.networks[0].groupings == found.draws[0].groupings
    chance = found.average.predict_proba(frame[:3], "town")
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert Counter(chance.columns) == Counter(sorted(set(frame["town"])))
    file = tmp_path / "draws.json"
    jaxbn.sample_posterior(frame, **in_objects({**options, "draws": 4, "checkpoint": file}))
    assert jaxbn.sample_posterior(frame, **in_objects({**options, "checkpoint": file})).draws == found.draws
