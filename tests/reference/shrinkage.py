"""Weights of a fitted table by definition: every context leans on the best table with one parent fewer."""

from __future__ import annotations

import itertools
import math

import numpy as np


def shrunken_weights(counts):
    """Weights of the cells, by loops over contexts and states."""
    *parents, n_states = counts.shape
    if not parents:
        return np.ones(counts.shape)
    margin = [sum(counts[(*context, k)] for context in contexts(parents)) + 1 for k in range(n_states)]
    table = {(): [weight / sum(margin) for weight in margin]}
    used = ()
    while len(used) < len(parents):
        found = []
        for parent in range(len(parents)):
            if parent in used:
                continue
            chain = (*used, parent)
            own = summed(counts, chain)
            for strength in (n_states * 0.5 * 2**power for power in range(8)):
                weights = {
                    context: [strength * (0.75 * p + 0.25 / n_states) for p in table[context[:-1]]] for context in own
                }
                found.append((sum(log_evidence(own[c], weights[c]) for c in own), chain, own, weights))
        _, used, own, weights = max(found, key=lambda each: each[0])
        table = {
            c: [(n + w) / (sum(own[c]) + sum(weights[c])) for n, w in zip(own[c], weights[c], strict=True)] for c in own
        }
    result = np.empty(counts.shape)
    for context in contexts(parents):
        result[context] = weights[tuple(context[parent] for parent in used)]
    return result


def contexts(sizes):
    return itertools.product(*(range(size) for size in sizes))


def summed(counts, chain):
    """Counts of the child by the states of some parents, in the order of the chain."""
    *parents, n_states = counts.shape
    found = {}
    for context in contexts(parents):
        own = found.setdefault(tuple(context[parent] for parent in chain), [0] * n_states)
        for k in range(n_states):
            own[k] += int(counts[(*context, k)])
    return found


def log_evidence(counts, weights):
    """Log probability of a sequence with these counts, its parameters integrated out."""
    total = math.lgamma(sum(weights)) - math.lgamma(sum(weights) + sum(counts))
    return total + sum(math.lgamma(w + n) - math.lgamma(w) for n, w in zip(counts, weights, strict=True))
