"""What a network says once about the data it is asked with: values far outside its range, columns that are absent."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jaxbn.cuts.words import short_numbers
from jaxbn.inputs.units import in_words

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

FAR = 1.0
"""Values further outside the fitted range than this multiple of its width are pointed out."""


def tell_once(net: BayesNet, about: Hashable, message: str) -> None:
    """Warn, but never twice about the same thing for the same network; the line named is the caller's own."""
    told = net.__dict__.setdefault("_told", set())
    if about in told:
        return
    told.add(about)
    warn_caller(message)


def warn_caller(message: str) -> None:
    """Warn; the line named is that which called the package."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "jaxbn":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=depth)


def tell_far(net: BayesNet, name: str, values: NDArray[np.float64]) -> None:
    """Point out values of a continuous variable far outside the range it was fitted to; NaN is not looked at."""
    low, high = net.bounds[name]
    reach = FAR * (high - low)
    if not (0 < reach < np.inf):
        return
    far = values[(values < low - reach) | (values > high + reach)]
    if not len(far):
        return
    unit = net.binnings[name].unit
    ends = " to ".join(short_numbers([low, high], unit=unit))
    count = f"a value of {name!r} lies" if len(far) == 1 else f"{len(far)} values of {name!r} lie"
    tell_once(
        net,
        ("far", name),
        f"{count} far outside the range the network was fitted to, {ends}: {in_words(far[0], unit)}, which counts as "
        "the outermost bin; are these the units of the fitted data?",
    )


def tell_absent(net: BayesNet, names: Sequence[str]) -> None:
    """Point out variables without a column in the data."""
    if names:
        shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
        tell_once(
            net,
            ("absent", tuple(names)),
            f"the data lacks {shown} of the network: what is not there is summed out, as if missing in every row",
        )
