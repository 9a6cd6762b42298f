"""Families one by one have the scores of the definition, and those of sets of columns to the last bit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from jaxbn.scores import single_families
from jaxbn.scores.parent_prior import log_parent_prior
from jaxbn.scores.set_scores import SetScores
from jaxbn.scores.single_families import SingleFamilies
from jaxbn.structure.arc_rules import mask_of
from tests.helpers.coded_columns import random_columns
from tests.reference.structure import k2_score


@pytest.mark.parametrize(("n_rows", "kept"), [(300, 2**24), (25, 2**24), (60, 100)])
def test_scores_are_those_of_the_definition(n_rows: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more cells than rows too, and with no memory for the cells of other sets."""
    monkeypatch.setattr(single_families, "MOST_KEPT", kept)
    columns = random_columns(np.random.default_rng(0), 6, n_rows)
    single, sets = SingleFamilies(columns), SetScores(columns, parent_prior=True)
    for child in range(6):
        for k in range(5):
            for parents in combinations([i for i in range(6) if i != child], k):
                expected = k2_score([c.codes for c in columns], child, parents) + log_parent_prior(6, k)
                assert single.nats(child, mask_of(parents)) == pytest.approx(expected, abs=1e-8)
                assert single.units(child, mask_of(parents)) == sets.family(child, parents)
