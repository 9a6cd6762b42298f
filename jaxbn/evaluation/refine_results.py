"""A refined network and what was changed, as users see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxbn.model.bayesnet import BayesNet

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Refined:
    """A refined network, and what was changed.

    Attributes:
        net: the network, fitted to the data with the new cuts and weights.
        cuts: a row for each cut: ``variable``, ``cut`` (its number), ``before``, ``after``, and ``gap``, the width of
            the gap between two neighbouring values that it lies in (0 for a cut that has to stay).
        alpha: a row for each family: ``family`` (the child), ``before``, ``after``.
        rate: L before and after, if it was learned.
        parts: a row for each part that was learned, ``"rate"``, ``"alpha"`` or ``"cuts"``, with the log-likelihood of a
            held-out row ``before`` and ``after``. No part lowers its own; the parts have folds of different kinds, so
            it is the gains that can be compared.

    Example:
        >>> import jaxbn
        >>> iris = jaxbn.datasets.load("iris")
        >>> graph = iris.structures["paper"]
        >>> net = jaxbn.fit(iris.frame, graph, jaxbn.discretize(iris.frame, graph).binnings)
        >>> refined = jaxbn.refine(net, iris.frame)
        >>> refined.after > refined.before
        True
    """

    net: BayesNet
    cuts: pd.DataFrame
    alpha: pd.DataFrame
    rate: tuple[float, float] | None
    parts: pd.DataFrame

    @property
    def before(self) -> float:
        """Log-likelihood of a held-out row before anything was learned, on the folds of the first part."""
        return float(self.parts["before"].iloc[0])

    @property
    def after(self) -> float:
        """The same with the gains of all parts; never below ``before``."""
        return self.before + float((self.parts["after"] - self.parts["before"]).sum())

    def __repr__(self) -> str:
        lines = [f"Refined: log-likelihood of a held-out row {self.before:.4f} -> {self.after:.4f}"]
        width = max(map(len, self.parts.index))
        for part, before, after in self.parts.itertuples():
            lines.append(f"  {part:<{width}}  {after - before:+.4f}  {self._change(str(part))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        frames = [self.parts.reset_index(), self.alpha, self.cuts]
        tables = "".join(frame.to_html(index=False, float_format="{:.5g}".format) for frame in frames)
        return f"<div><p><b>Refined</b></p>{tables}</div>"

    def _change(self, part: str) -> str:
        if part == "rate" and self.rate is not None:
            return f"{self.rate[0]:.3g} -> {self.rate[1]:.3g}"
        frame = self.cuts if part == "cuts" else self.alpha
        moved = frame[frame["before"] != frame["after"]]
        if part == "cuts":
            share = ((moved["after"] - moved["before"]).abs() / moved["gap"]).mean() if len(moved) else 0.0
            return f"{len(moved)} of {len(frame)} cuts moved, by {share:.0%} of their gap on average"
        now = frame["after"]
        return f"{len(moved)} of {len(frame)} weights changed, now {now.min():.3g} to {now.max():.3g}"
