"""Any number of threads gives the same answers, in order; errors and the end of the time reach the caller."""

from __future__ import annotations

import os
import threading

import numpy as np
import pandas as pd
import pytest

import jaxbn
from jaxbn.counts.host import HostCounter
from jaxbn.runtime import limits, threads
from jaxbn.runtime.threads import THREADS, in_threads, n_threads
from tests.helpers.coded_columns import random_columns


@pytest.fixture(params=["1", "2", "8"])
def several(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv(THREADS, request.param)
    return int(request.param)


def test_answers_come_in_the_order_of_the_questions(several: int) -> None:
    assert n_threads() == several
    assert in_threads(lambda x: x * x, range(1000)) == [x * x for x in range(1000)]
    assert in_threads(lambda x: x, []) == []


@pytest.mark.usefixtures("several")
def test_questions_inside_a_question_are_answered_by_its_own_thread() -> None:
    def inner(x: int) -> tuple[int, bool]:
        here = threading.get_ident()
        return x, all(other == here for other in in_threads(lambda _: threading.get_ident(), range(5)))

    assert in_threads(inner, range(20)) == [(x, True) for x in range(20)]


def test_an_error_is_raised_and_the_next_call_works(several: int) -> None:
    def work(x: int) -> int:
        if x == 7:
            raise ValueError("seven")
        return x

    with pytest.raises(ValueError, match="seven"):
        in_threads(work, range(100))
    assert in_threads(abs, range(-3, 0)) == [3, 2, 1]


def test_the_end_of_the_time_is_seen_in_threads(several: int) -> None:
    with limits.within(0.0), pytest.raises(limits.TimeIsUpError):
        in_threads(lambda _: limits.check(), range(20))


@pytest.mark.parametrize("given", ["0", "-1", "two", ""])
def test_a_number_of_threads_that_is_none_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, given)
    with pytest.raises(ValueError, match="JAXBN_THREADS must be a whole number above zero"):
        n_threads()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen on this system")
def test_threads_are_as_many_as_the_cores_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(THREADS, raising=False)
    cores = os.sched_getaffinity(0)
    try:
        for chosen in (cores, {min(cores)}):
            os.sched_setaffinity(0, chosen)
            threads._cores.cache_clear()
            assert 1 <= n_threads() <= len(chosen)
        threads._cores.cache_clear()
        monkeypatch.setattr("loky.cpu_count", lambda: 3)  # as in a container that grants so many
        assert n_threads() == 3
    finally:
        os.sched_setaffinity(0, cores)
        threads._cores.cache_clear()


def test_counters_answer_the_same(several: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MANY_ROWS", 0)
    columns = random_columns(np.random.default_rng(0), 6, 9000)
    bases, tables = [(0,), (1, 2), (0, 3, 4), (), (5, 2)], [np.arange(9001) ** 2]
    asked = [(base, np.arange(6)) for base in bases]
    expected = [HostCounter(columns).sums([each], tables)[0].tolist() for each in asked]
    assert [found.tolist() for found in HostCounter(columns).sums(asked, tables)] == expected


def test_a_network_is_the_same_whatever_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=9000)
    y = np.abs(x) + 0.5 * rng.normal(size=9000)
    kind = np.array(list("abcd"))[np.digitize(y + rng.normal(size=9000), [0, 1, 2])]
    frame = pd.DataFrame({"x": x, "y": y, "z": y * x + rng.normal(size=9000), "kind": kind})
    found = []
    for number in ("1", "2", "8"):
        monkeypatch.setenv(THREADS, number)
        net = jaxbn.learn(frame, progress=False, restarts=2)
        found.append((net.parents, {n: b.cuts.tolist() for n, b in net.binnings.items()}, net.search.criterion))
    assert found[0] == found[1] == found[2]
