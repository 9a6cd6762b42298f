"""How probable states are, for pages and pictures: exactly, or from drawn rows where that would take too long."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.inference.elimination import Component, plan
from jaxbn.model.inference.questions import draw_codes, joint

MOST_SUMMED = 2_000_000  # numbers that exact answers sum over, for all variables, at most: a page asks hundreds
DRAWN = 20_000  # rows that are drawn where it would be more
Chances = Callable[[Sequence[str]], NDArray[np.float64]]  # from names of variables to the chances of their states


def chances_of(net: BayesNet) -> Chances:
    """How probable the states of a network's variables are."""
    if is_small(net):
        return lambda names: joint(net, names, {})
    codes = draw_codes(net, DRAWN, np.random.default_rng(0))

    def counted(names: Sequence[str]) -> NDArray[np.float64]:
        shape = [net.cardinalities[name] for name in names]
        cell = np.ravel_multi_index(tuple(codes[:, net.names.index(name)] for name in names), shape)
        return np.bincount(cell, minlength=math.prod(shape)).reshape(shape) / DRAWN

    return counted


def is_small(net: BayesNet) -> bool:
    """Whether hundreds of exact answers take no time."""
    return n_summed(net) <= MOST_SUMMED


def n_summed(net: BayesNet) -> int:
    """How many numbers all variables together are summed over."""
    whole = tuple(range(len(net.names)))
    return plan(net.network.structure, Component(whole, whole)).cells
