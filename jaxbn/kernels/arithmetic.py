"""Elementary functions, those that compilers for CPUs make slow among them: the logarithm and the running sum."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.polynomial import Chebyshev, Polynomial

LN_2 = 0.6931471805599453
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
MANTISSA_BITS = 52
SERIES_DEGREE = 7  # of the polynomial in s² for artanh(s) / s: it is within 1e-16 where |s| <= (√2 - 1) / (√2 + 1)
SHIFT = 7  # Stirling's series is used from here on: there five terms of it are as exact as a float64

_LARGEST_SQUARE = ((np.sqrt(2) - 1) / (np.sqrt(2) + 1)) ** 2
_FIT = Chebyshev.interpolate(lambda z: np.arctanh(np.sqrt(z)) / np.sqrt(z), SERIES_DEGREE, [0, _LARGEST_SQUARE])
_ARTANH = np.append(_FIT.convert(kind=Polynomial).coef[:0:-1], 1.0)
"""Coefficients of artanh(s) / s in powers of s², the highest first, by interpolation at Chebyshev's points."""

SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)

TINY = 1e-300  # replaces a width or a ratio of zero
ROWS_AT_ONCE = 4  # rows summed one after the other before the groups are


def log(x: Array) -> Array:
    """Ln x of positive normal float64 numbers, within two units in the last place.

    x = m 2^e with m in [√½, √2), and ln m = 2 artanh((m - 1) / (m + 1)) by a polynomial: plain arithmetic, of which a
    compiler makes vector instructions. `jnp.log` calls a scalar function on CPUs and takes three times as long.
    """
    # Taking off the bits of √½ first puts the border between two exponents at √½ instead of 1: so m is around 1, where
    # the series is short, and ln x of an x near 1 is no difference of two larger numbers.
    bits = lax.bitcast_convert_type(x, jnp.int64)
    exponent = (bits - SQRT_HALF_BITS) >> MANTISSA_BITS
    mantissa = lax.bitcast_convert_type(bits - (exponent << MANTISSA_BITS), jnp.float64)
    s = (mantissa - 1) / (mantissa + 1)
    series = jnp.polyval(_ARTANH, s * s, unroll=len(_ARTANH))
    return exponent.astype(jnp.float64) * LN_2 + 2 * s * series


def log_gamma(x: Array) -> Array:
    """Ln Γ of positive numbers, by Stirling's series."""
    # ln Γ(x) = ln Γ(x + 7) - ln x (x + 1) … (x + 6): the series is good for large numbers only
    y = x + SHIFT
    product = x
    for i in range(1, SHIFT):
        product = product * (x + i)
    inverse = 1 / y
    square, tail = inverse * inverse, jnp.zeros_like(x)
    for factor in reversed(SERIES):
        tail = tail * square + factor
    return (y - 0.5) * jnp.log(y) - y + 0.5 * jnp.log(2 * jnp.pi) + tail * inverse - jnp.log(product)


def running_sum(rows: Array) -> Array:
    """Cumulative sum down the rows, [B, W] with B a multiple of `ROWS_AT_ONCE`.

    Within small groups row by row, over the groups as a sum of those before: on CPUs `cumsum` takes seven times, and
    one large triangle four times as long.
    """
    n, width = rows.shape
    groups = kept(rows).reshape(n // ROWS_AT_ONCE, ROWS_AT_ONCE, width)
    sums = [groups[:, 0]]
    for i in range(1, ROWS_AT_ONCE):
        sums.append(sums[-1] + groups[:, i])
    whole = kept(sums[-1])
    number = np.arange(len(groups))[:, None]
    before = sum(jnp.where(number > g, whole[g], 0.0) for g in range(len(groups) - 1))
    return jnp.stack([some + before for some in sums], axis=1).reshape(n, width)


def log_width(mass: Array, width: Array) -> Array:
    """The n ln width of an interval: minus the log density of n values spread evenly over an interval."""
    return jnp.where(mass > 0, mass * log(jnp.maximum(width, TINY)), 0.0)


def rounding(cost: Array) -> Array:
    """Costs closer than this are equal (docs/maths.md, "Ties and rounding")."""
    return jnp.where(jnp.isfinite(cost), tolerance(cost), 0)


def tolerance(score: Any) -> Any:
    """A gain up to this may be rounding error: of a finite cost or score, on the host too."""
    return 1e-11 * (1 + abs(score))


def settled(earlier: Array, inside: Array, prices: Array) -> Array:
    """Least cost up to each end of a block [P, B], where `prices` [P, B] are of an interval that ends there.

    `earlier` [P, B] is the least cost with a start before the block, or at its first end; `inside` [B, S] is that of
    the interval from after the end s to the end t at [t, s], +inf for t <= s. Each turn of the loop allows one more
    interval to begin inside the block; few are of use.
    """

    def with_one_more(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        best = carry[0]
        better = jnp.minimum(earlier, (best[:, None, : inside.shape[1]] + inside).min(axis=2)) + prices
        return better, jnp.any(better < best)

    return lax.while_loop(lambda carry: carry[1], with_one_more, (earlier + prices, jnp.array(True)))[0]


@jax.jit
def stable_order(values: Array) -> Array:
    """Places [n] in ascending order of their values [n]: equal ones as they come, NaN last."""
    return lax.sort((values, lax.iota("int32", len(values))), num_keys=1, is_stable=True)[1]


def kept(array: Array) -> Array:
    """The same array, worked out once: a compiler may choose to do it again for every use."""
    return lax.optimization_barrier(array)  # type: ignore[no-untyped-call]
