"""Family scores from sums over sets: the definition, both counters, and what is remembered when columns change."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from jaxbn.counts import host
from jaxbn.counts.device import DeviceCounter
from jaxbn.counts.host import HostCounter
from jaxbn.runtime import devices
from jaxbn.scores import set_scores
from jaxbn.scores.evidence import ARC_CHARGE
from jaxbn.scores.families import family_score
from jaxbn.scores.set_scores import SetScores, _counted_with
from jaxbn.structure.constraints import mask_of
from tests.helpers.coded_columns import coded, random_columns
from tests.reference.structure import k2_score

COUNTERS = [HostCounter, DeviceCounter]


@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize("counter", COUNTERS)
def test_scores_are_those_of_the_definition(counter: type, weight: float) -> None:
    rng = np.random.default_rng(0)
    columns = random_columns(rng, 7, 300)
    scores = SetScores(columns, weight=weight, counter=counter)
    for child in range(7):
        for k in range(4):
            for parents in combinations([i for i in range(7) if i != child], k):
                expected = k2_score([c.codes for c in columns], child, parents, weight)
                assert family_score(columns[child], [columns[p] for p in parents], weight) == pytest.approx(expected)
                assert scores.nats(scores.family(child, parents)) == pytest.approx(expected, abs=1e-8)


def test_counters_agree_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = random_columns(np.random.default_rng(1), 9, 2000, most_states=9)
    bases = [base for k in range(5) for base in combinations(range(9), k)][::5]
    on_host, device = (SetScores(columns, counter=counter) for counter in COUNTERS)
    expected = [on_host.sums(base, r).tolist() for base in bases for r in (1, 3)]
    assert expected == [device.sums(base, r).tolist() for base in bases for r in (1, 3)]
    monkeypatch.setenv("JAXBN_BATCH_BYTES", "1")
    assert devices.batch_bytes() == 1
    small = SetScores(columns, counter=DeviceCounter)
    small.count(bases)
    assert expected == [small.sums(base, r).tolist() for base in bases for r in (1, 3)]
    monkeypatch.setattr(host, "MOST_COUNTED", 300)
    in_blocks = SetScores(columns, counter=HostCounter)
    assert expected == [in_blocks.sums(base, r).tolist() for base in bases for r in (1, 3)]
    monkeypatch.setattr(host, "INDICATOR_BYTES", 0)
    one_by_one = SetScores(columns, counter=HostCounter)
    assert expected == [one_by_one.sums(base, r).tolist() for base in bases for r in (1, 3)]


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_family_grown_by_every_column(counter: type) -> None:
    columns = random_columns(np.random.default_rng(6), 8, 250, most_states=6)
    whole = SetScores(columns)
    for parents in [(), (1,), (2, 5), (1, 2, 3, 4, 6, 7)]:
        grown = SetScores(columns, counter=counter).grown(0, parents)
        for other in set(range(1, 8)) - set(parents):
            assert grown[other] == whole.family(0, (other, *parents))


@pytest.mark.parametrize("counter", COUNTERS)
def test_sets_with_far_more_cells_than_rows(counter: type) -> None:
    """Cells of one row each, which cost something unless their weight is 1."""
    rng = np.random.default_rng(2)
    columns = [coded(rng.integers(0, 40, 200)) for _ in range(10)]
    scores = SetScores(columns, weight=0.5, counter=counter)
    expected = k2_score([c.codes for c in columns], 0, range(1, 10), 0.5)
    assert scores.nats(scores.family(0, range(1, 10))) == pytest.approx(expected, abs=1e-8)
    assert scores.family(0, range(1, 10)) == scores.family(0, range(9, 0, -1))


def test_families_one_by_one_are_those_of_sets_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_scores, "COUNTS_KEPT", 1000)
    for n_rows in (300, 25):  # with more cells than rows too
        columns = random_columns(np.random.default_rng(0), 6, n_rows)
        scores = SetScores(columns, arc_charge=ARC_CHARGE)
        for child in range(6):
            for k in range(5):
                for parents in combinations([i for i in range(6) if i != child], k):
                    assert scores.single(child, mask_of(parents)) == scores.family(child, parents)


def test_only_sets_with_a_changed_column_are_counted_again() -> None:
    rng = np.random.default_rng(3)
    columns = random_columns(rng, 6, 100)
    counted: list[tuple[tuple[int, ...], int]] = []

    class Watched(HostCounter):
        def sums(self, asked, tables):  # type: ignore[no-untyped-def]
            counted.extend((base, len(columns)) for base, columns in asked)
            return super().sums(asked, tables)

    scores = SetScores(columns, counter=Watched)
    bases = [base for k in range(3) for base in combinations(range(6), k)]
    scores.count(bases, [1])
    assert counted == [(base, 6) for base in bases]
    counted.clear()
    changed = coded(rng.integers(0, 5, 100))
    scores.show([*columns[:2], changed, *columns[3:]])
    scores.count(bases, [1])
    assert sorted(counted) == sorted((base, 6 if 2 in base else 1) for base in bases)
    again = SetScores([*columns[:2], changed, *columns[3:]])
    assert [scores.sums(base, 1).tolist() for base in bases] == [again.sums(base, 1).tolist() for base in bases]
    counted.clear()
    scores.show(columns)
    scores.count([base for base in bases if 2 in base], [1])
    assert counted == []


def test_the_prior_is_half_for_each_parent_and_one_over_the_number_of_sets() -> None:
    columns = random_columns(np.random.default_rng(4), 6, 50)
    plain, prior = SetScores(columns), SetScores(columns, arc_charge=ARC_CHARGE)
    for k in range(4):
        parents = tuple(range(1, 1 + k))
        difference = prior.nats(prior.family(0, parents) - plain.family(0, parents))
        assert difference == pytest.approx(-math.log(2**k * math.comb(5, k)), abs=1e-9)


def test_columns_of_another_table_are_refused() -> None:
    columns = random_columns(np.random.default_rng(5), 3, 20)
    with pytest.raises(ValueError, match="new SetScores"):
        SetScores(columns).show(columns[:2])


@pytest.mark.parametrize("counter", COUNTERS)
def test_sets_counted_once_are_known_from_every_base(counter: type) -> None:
    rng = np.random.default_rng(8)
    columns = random_columns(rng, 7, 400, most_states=12)
    columns[3] = coded(np.zeros(400, int))
    members = [0, 1, 2, 4, 5, 6]
    scores = SetScores(columns, counter=counter)
    for changed in (None, 2):
        if changed is not None:
            columns[changed] = coded(rng.integers(0, 5, 400))
            scores.show(columns)
        for size in (1, 2, 3):
            scores.count_sets(members, size)
        scores.count_sets(members, 4, [1])
        whole = SetScores(columns)
        for k in range(4):
            for base in combinations(members, k):
                for r in scores._cardinalities if k < 3 else [1]:
                    assert scores._current(scores._key(base), r)
                    assert scores.sums(base, r).tolist() == whole.sums(base, r).tolist()


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("shift", [0, 1], ids=["as many cells as states", "other cells"])
def test_a_copy_whose_tables_are_mostly_empty_is_counted_rightly(counter: type, shift: int) -> None:
    rows = np.arange(240)
    x, y = coded(rows % 60), coded(np.where(rows % 60 < 30, rows % 60, (rows % 60 + shift * (rows // 120)) % 60))
    columns = [x, y, coded(rows % 3)]
    grown = SetScores(columns, counter=counter).grown(0, (1,))
    expected = k2_score([column.codes for column in columns], 0, (1, 2))
    assert SetScores(columns).nats(int(grown[2])) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("n", "size", "n_bases"), [(7, 1, 1), (7, 2, 6), (7, 3, 9), (7, 4, 12), (7, 5, 15), (30, 4, 1710)]
)
def test_each_set_is_counted_once_by_few_bases(n: int, size: int, n_bases: int) -> None:
    counted = _counted_with(n, size)
    bases = list(combinations(range(n), size - 1))
    sets = [tuple(sorted((*base, int(i)))) for base, own in zip(bases, counted, strict=True) for i in own]
    assert sorted(sets) == list(combinations(range(n), size))
    assert sum(len(own) > 0 for own in counted) == n_bases
