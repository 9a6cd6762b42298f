"""F of a network where entries are missing: the evidence of what was observed.

It is approximated as by Cheeseman and Stutz (1996), found the most accurate of the quick ways by Chickering and
Heckerman (1997):

    ln P(observed) ~ ln P(completed) - ln P(completed | tables) + ln P(observed | tables)

The completed table is one of expected counts, and its tables are those of EM. Where nothing is missing it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from jaxbn.inputs.graph import Parents
from jaxbn.model.inference.em import fit_by_em
from jaxbn.model.inference.network import Structure, positions
from jaxbn.scores.coded_table import CodedTable, Coding
from jaxbn.scores.evidence import Ledger
from jaxbn.scores.tables import k2_score

TOLERANCE = 1e-4
"""EM ends when a round gains less than this for each row, in nats."""


def observed_evidence(ledger: Ledger, data: CodedTable, parents: Parents, codings: Mapping[str, Coding]) -> float:
    """F of a network with its cuts and groups, given what each row of a table has.

    Args:
        ledger: of `data`.
        data: the table with its holes.
        parents: the structure.
        codings: cuts and groups.
    """
    names = list(data.names)
    columns = data.recoded(codings).columns
    codes = np.stack([columns[name].codes for name in names], axis=1)
    structure = Structure(positions({name: parents[name] for name in names}), tuple(columns[n].n_states for n in names))
    found = fit_by_em(structure, codes, tolerance=TOLERANCE)
    terms = [ledger.beside(parents, columns, codings), found.log_likelihood]
    for counts, logs in zip(found.counts, found.network.log_tables, strict=True):
        terms += [k2_score(counts), -float(counts.ravel() @ logs.ravel())]
    return math.fsum(terms)
