"""Counts by the definition, holes too; sums on the host, on a device and on a mesh, the same to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter as Tally
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

from jaxbn.counts import device, host
from jaxbn.counts.codes import Column, cells, compact, joint
from jaxbn.counts.device import Deferred, DeviceCounter, counts_at, counts_of_sets, tables_of
from jaxbn.counts.host import Counts, HostCounter, counts_of
from jaxbn.kernels.counting import MOST_PRODUCT
from jaxbn.runtime import devices

STATES = (2, 3, 5, 1, 9, 40, 300)
SETS = [some for k in range(5) for some in combinations(range(len(STATES)), k)][::3]
TABLES = [np.append(0, np.random.default_rng(k).integers(0, 10**9, 200 * 700)) for k in range(3)]


def columns(n_rows: int, *, holes: float = 0.0) -> list[Column]:
    """Columns of many sizes, one of them a copy of another."""
    rng = np.random.default_rng(n_rows)
    codes = [rng.integers(0, k, n_rows) for k in STATES]
    codes[4] = codes[5] % 9
    lacking = [rng.random(n_rows) < holes for _ in STATES]
    return [Column(i, np.where(lacking[i], -1, c).astype(np.int32), STATES[i]) for i, c in enumerate(codes)]


def by_definition(some: list[Column], members: tuple[int, ...]) -> dict[tuple, int]:
    found: Tally = Tally()
    for row in range(len(some[0].codes)):
        key = tuple(int(some[i].codes[row]) for i in members)
        if min(key, default=0) >= 0:
            found[key] += 1
    return dict(found)


def counted(some: list[Column], members: tuple[int, ...]) -> Counts:
    return counts_of([(some[i].codes, some[i].n_states) for i in members])


def as_dict(counts: Counts) -> dict[tuple, int]:
    keys = zip(*(axis.tolist() for axis in np.unravel_index(counts.cell, counts.shape)), strict=True)
    return dict(zip(keys, counts.count.tolist(), strict=True))


@pytest.mark.parametrize(("n_rows", "holes"), [(1, 0.0), (150, 0.0), (150, 0.2)])
def test_counts_are_those_of_the_definition(n_rows: int, holes: float) -> None:
    some = columns(n_rows, holes=holes)
    for members in SETS[1:]:
        counts = counted(some, members)
        assert as_dict(counts) == by_definition(some, members)
        assert (np.diff(counts.cell) > 0).all()
        assert counts.cell.dtype == counts.count.dtype == np.int64


def sums_of(counter: Any, bases: Sequence[tuple[int, ...]], columns: NDArray[np.intp]) -> list[NDArray[np.int64]]:
    return counter.sums([(base, columns) for base in bases], TABLES)


@pytest.mark.parametrize("kind", [HostCounter, DeviceCounter])
def test_sums_are_those_over_the_counts(kind: type) -> None:
    check_sums(kind(columns(40)), columns(40))


@pytest.mark.parametrize(("limit", "value"), [("AS_LONG_AS", 0), ("AS_LONG_AS", 2**40), ("INDICATOR_BYTES", 0)])
def test_sums_are_the_same_by_any_indicators(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By those of the columns asked for, by those of all columns, and by none."""
    monkeypatch.setattr(host, limit, value)
    check_sums(HostCounter(columns(40)), columns(40))


def check_sums(counter: Any, some: list[Column]) -> None:
    asked = np.array([5, 0, 2, 6])
    for base, sums in zip(SETS, sums_of(counter, SETS, asked), strict=True):
        for column, found in zip(asked.tolist(), sums.T, strict=True):
            counts = list(by_definition(some, tuple(dict.fromkeys((*base, column)))).values())
            assert found.tolist() == [table[counts].sum() for table in TABLES]
    family, without = counter.family_sums((0, 2), 1, TABLES, asked)
    assert family.tolist() == sums_of(counter, [(0, 2, 1)], asked)[0][0].tolist()
    assert without.tolist() == sums_of(counter, [(0, 2)], asked)[0].tolist()


@pytest.mark.parametrize(("distinct", "alone"), [(60, 0), (6000, 1000), (100_000, 4500)])
def test_rows_alone_in_their_cells_are_counted_apart(distinct: int, alone: int) -> None:
    """None, some and most of the rows are alone: what they add is the same, however they are left out."""
    rng = np.random.default_rng(distinct)
    codes = [rng.integers(0, distinct, 5000), rng.integers(0, 3, 5000), rng.integers(0, 7, 5000)]
    columns = [Column(i, c.astype(np.int32), int(c.max()) + 1) for i, c in enumerate(codes)]
    counter = HostCounter(columns)
    assert counter._base((0, 1)).n_single >= alone
    asked, sets = np.array([2, 1]), [(0,), (0, 1)]
    on_host, on_device = sums_of(counter, sets, asked), sums_of(DeviceCounter(columns), sets, asked)
    assert np.array_equal(on_host, on_device)


def test_a_set_with_more_cells_than_can_be_numbered() -> None:
    rng = np.random.default_rng(0)
    wide = [Column(i, rng.integers(0, 60, 80).astype(np.int32) % 50, 50) for i in range(12)]
    base, asked = tuple(range(11)), np.arange(12)
    assert np.array_equal(sums_of(HostCounter(wide), [base], asked), sums_of(DeviceCounter(wide), [base], asked))
    with pytest.raises(ValueError, match=r"50 x 50 x .* states has 2\^62 cells or more; ask for fewer columns"):
        counted(wide, tuple(range(12)))


def test_contexts_are_the_table_without_its_last_column() -> None:
    counts = counted(columns(200), (0, 4, 2))
    above = counts.table.sum(axis=-1)
    assert counts.of_contexts.tolist() == above[above > 0].tolist()


def test_joint_codes_are_compact_and_in_the_order_of_the_cells() -> None:
    some = columns(300)
    chosen = [(c.codes, c.n_states) for c in some]
    numbers, n_cells = cells(chosen[4:7], 300)
    assert n_cells == 9 * 40 * 300
    assert numbers.tolist() == np.ravel_multi_index([c for c, _ in chosen[4:7]], (9, 40, 300)).tolist()
    assert joint(chosen[4:7], 300)[0].tolist() == np.unique(numbers, return_inverse=True)[1].tolist()
    assert joint(chosen * 5, 300)[1] == len({tuple(row) for row in np.stack([c for c, _ in chosen]).T.tolist()})
    assert joint([], 4)[0].tolist() == [0] * 4
    assert compact(np.array([5, 5]))[1] == 1


def at_positions(some: list[Column], *, by_device: bool) -> list:
    """Rows by cell and group of three problems, in orders of their own."""
    rng, found = np.random.default_rng(0), []
    sets = [[(0, 1), (2,)], [(4, 0, 2)], [(5,), (3,), (1, 4)]]
    orders = [rng.permutation(len(some[0].codes)) for _ in sets]
    places = [
        np.append(0, np.sort(rng.choice(np.arange(1, n), k, replace=False))) for n, k in [(700, 6), (700, 1), (700, 31)]
    ]
    positions = [np.append(each, 700) for each in places]
    problems = []
    for order, at, own in zip(orders, positions, sets, strict=True):
        group = np.repeat(np.arange(len(at) - 1), np.diff(at))
        tables = [counted(some, members).table for members in own]
        terms = [Deferred([some[i] for i in m], table, order) for m, table in zip(own, tables, strict=True)]
        problems.append((at, terms))
        counts, first = np.zeros((400, 32), np.int64), 0
        for members in own:
            cell, n_cells = joint([(some[i].codes, some[i].n_states) for i in members], 700)
            np.add.at(counts, (first + cell[order], group), 1)
            first += n_cells
        found.append(counts.tolist())
    return np.asarray(counts_at(problems, 400, 32))[:3].tolist() if by_device else found


def answers(kind: type = DeviceCounter) -> list:
    """Everything that a counter answers, for a comparison across processes."""
    some = columns(700)
    sums = [own.tolist() for own in sums_of(kind(some), SETS, np.arange(len(STATES)))]
    by_device = kind is DeviceCounter
    sets = [members for members in SETS[1:] if np.prod([STATES[i] for i in members]) <= MOST_PRODUCT]
    tables = [counted(some, members).table for members in sets]
    if by_device:
        tables = tables_of([[some[i] for i in members] for members in sets])
    return [sums, [table.tolist() for table in tables], at_positions(some, by_device=by_device)]


def test_a_device_counts_what_the_host_does() -> None:
    assert answers() == answers(HostCounter)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_sets_are_counted_where_that_is_quickest(holes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete sets of few cells by a device, all others by the host: the same counts, in the order of the sets."""
    some, asked = [*columns(700)[:3], *columns(700, holes=holes)[3:]], []
    sets = [[some[i] for i in members] for members in SETS[1:]]
    on_host = counts_of_sets(sets)
    monkeypatch.setenv(devices.AS_ACCELERATOR, "1")
    monkeypatch.setattr(device, "FEWEST_ROWS", 0)
    monkeypatch.setattr(device, "tables_of", lambda sets: asked.extend(sets) or tables_of(sets))
    for found, expected in zip(counts_of_sets(sets), on_host, strict=True):
        assert found.shape == expected.shape
        assert found.cell.tolist() == expected.cell.tolist()
        assert found.count.tolist() == expected.count.tolist()
    assert 0 < len(asked) < len(sets)


def test_codes_that_are_not_looked_at_are_those_of_the_host() -> None:
    some, rng = columns(300), np.random.default_rng(0)
    order, members = rng.permutation(300), [some[i] for i in (4, 2, 0)]
    codes, n_cells = joint([(c.codes, c.n_states) for c in members], 300)
    deferred = Deferred(members, counted(some, (4, 2, 0)).table, order)
    assert deferred.counts.tolist() == np.bincount(codes, minlength=n_cells).tolist()
    assert deferred[[250, 3, 3]].tolist() == codes[order][[250, 3, 3]].tolist()
    assert deferred[:7].tolist() == codes[order][:7].tolist()
    assert "array" not in vars(deferred)
    assert np.asarray(deferred).tolist() == codes[order].tolist()
    assert deferred[:7].tolist() == codes[order][:7].tolist()
    assert (np.int64(3) + deferred).tolist() == (codes[order] + 3).tolist()
    assert np.bincount(deferred, np.arange(300)).tolist() == np.bincount(codes[order], np.arange(300)).tolist()


def test_eight_devices_count_what_the_host_does(tmp_path: Path) -> None:
    assert len(jax.devices()) == 1
    env = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    by_path = "import runpy, sys; sys.path.insert(0, '.'); runpy.run_path(sys.argv[2], run_name='__main__')"
    command = [sys.executable, "-c", by_path, str(tmp_path / "out"), __file__]  # whatever else is called tests
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env=env, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    n_devices, found = json.loads((tmp_path / "out").read_text())
    assert n_devices == 8
    assert found == answers(HostCounter)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps([len(jax.devices()), answers()]))
