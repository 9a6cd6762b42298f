"""Rows with missing entries by enumeration of all their completions, from the definitions.

A network is a list of parents (positions) and a list of tables [parents' states ..., own states].
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def completions(sizes, row):
    """All complete rows that agree with a row where it is not missing (-1)."""
    yield from itertools.product(*([c] if c >= 0 else range(n) for c, n in zip(row, sizes, strict=True)))


def probability(parents, tables, row):
    """P(a complete row): one entry of each table, multiplied."""
    return math.prod(
        float(table[(*(row[p] for p in found), row[child])])
        for child, (found, table) in enumerate(zip(parents, tables, strict=True))
    )


def posterior(parents, tables, row, evidence=None):
    """All completions of a row with their probabilities, and the probability of the row.

    `evidence` has, for some variables, the logarithm of the likelihood of each state, which counts where it is missing.
    """
    sizes = [table.shape[-1] for table in tables]
    found = {full: probability(parents, tables, full) for full in completions(sizes, row)}
    for v, logs in (evidence or {}).items():
        if row[v] < 0:
            found = {full: p * math.exp(logs[full[v]]) for full, p in found.items()}
    total = math.fsum(found.values())
    return {full: p / total for full, p in found.items()}, total


def expected_counts(parents, tables, rows, evidence=None):
    """Expected counts of every family, and the log-likelihood of what the rows have, `evidence` [rows, K] included."""
    counts = [np.zeros(table.shape) for table in tables]
    log_likelihood = 0.0
    for i, row in enumerate(rows):
        chances, total = posterior(parents, tables, row, {v: logs[i] for v, logs in (evidence or {}).items()})
        log_likelihood += math.log(total)
        for full, chance in chances.items():
            for child, found in enumerate(parents):
                counts[child][(*(full[p] for p in found), full[child])] += chance
    return counts, log_likelihood


def em_round(parents, tables, rows, alpha, evidence=None):
    """The tables after one round of EM, and the objective before it: log-likelihood plus alpha times all logarithms."""
    counts, log_likelihood = expected_counts(parents, tables, rows, evidence)
    objective = log_likelihood + alpha * sum(float(np.log(table).sum()) for table in tables)
    weights = [found + alpha for found in counts]
    return [w / w.sum(axis=-1, keepdims=True) for w in weights], objective
