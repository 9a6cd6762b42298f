"""A network's variables and states in words, for everything that shows them."""

from __future__ import annotations

from jaxbn.cuts.words import bin_words, cut_texts, few_cuts
from jaxbn.model.fitted import Fitted

NOT_CUT = "not cut"


def is_cut(net: Fitted, name: str) -> bool:
    """Whether a continuous variable has cuts that mean something.

    One bin is not a cut, nor are the bins in which a search begins, which a variable without neighbours keeps.
    """
    binning = net.binnings[name]
    alone = not net.parents[name] and not any(name in found for found in net.parents.values())
    return binning.is_cut or (binning.n_bins > 1 and not alone)


def count_states(net: Fitted, name: str) -> str:
    """Number of bins, groups or levels in words."""
    if name in net.binnings and not is_cut(net, name):
        return NOT_CUT
    n = net.cardinalities[name]
    kind = "bin" if name in net.binnings else "group" if name in net.groupings else "level"
    return f"{n} {kind}{'s' * (n != 1)}"


def cuts_in_words(net: Fitted, name: str, separator: str = ", ") -> str:
    """The cuts of a continuous variable in a line, or that it was not cut."""
    if not is_cut(net, name):
        return NOT_CUT
    binning, step = net.binnings[name], net.inside(name).recording.step
    return few_cuts(cut_texts(binning.cuts.tolist(), net.bounds[name], binning.unit, step), separator)


def state_texts(net: Fitted, name: str) -> list[str]:
    """Each state as people read it: a level, the first levels of a group, the label of a bin or its ends."""
    if name in net.groupings:
        return list(net.groupings[name].labels)
    if name in net.levels:
        return [str(level) for level in net.levels[name]]
    binning = net.binnings[name]
    if binning.labels:
        return list(binning.labels)
    return bin_words(binning.cuts.tolist(), *net.bounds[name], binning.unit, net.inside(name).recording.step)


def worth(net: Fitted) -> str:
    """What the search maximized, by name; empty where it is not known, or belongs to a completed table."""
    if net.search is None or net.em_trace:
        return ""
    if net.search.method == "evidence":
        return f"log evidence {net.search.criterion:,.2f}"
    return f"K2 score {net.score:,.2f}" if net.search.search == "k2" else ""
