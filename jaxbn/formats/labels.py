"""Names for other programs: a letter, then letters, digits and underscores, and never the same one twice.

All writers of pyAgrum and GeNIe ask for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxbn.model.words import state_texts

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


# words of the BIF format, which its readers look for anywhere
RESERVED = {"network", "variable", "probability", "property", "type", "discrete", "default", "table"}


def state_labels(net: BayesNet, name: str) -> tuple[str, ...]:
    """Labels of a variable's states, see ``BayesNet.state_labels``."""
    if name in net.groupings:
        return unique_labels(label.replace(",", "") for label in net.groupings[name].labels)
    if name not in net.binnings:
        return unique_labels(map(str, net.levels[name]))
    texts = state_texts(net, name)
    if net.binnings[name].labels:
        return unique_labels(texts)
    words = map(_word, texts) if net.binnings[name].unit.kind == "number" else texts
    return unique_labels(re.sub(r"^(?=[0-9])", "from_", text) for text in words)


def variable_labels(names: Iterable[str]) -> dict[str, str]:
    """A label for each variable.

    Example:
        >>> variable_labels(["miles per gallon", "2nd", "miles-per-gallon"])
        {'miles per gallon': 'miles_per_gallon', '2nd': 'x2nd', 'miles-per-gallon': 'miles_per_gallon_2'}
    """
    originals = list(names)
    return dict(zip(originals, unique_labels(originals), strict=True))


def unique_labels(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts with other characters replaced by underscores, and a number appended where two would coincide.

    Example:
        >>> unique_labels(["a b", "a-b", "", "a_b", "3"])
        ('a_b', 'a_b_2', 'x', 'a_b_3', 'x3')
    """
    cleaned = [_clean(text) for text in texts]
    taken: set[str] = set()
    result = []
    for label in cleaned:
        candidate, number = label, 2
        while candidate in taken or (candidate != label and candidate in cleaned):
            candidate, number = f"{label}_{number}", number + 1
        taken.add(candidate)
        result.append(candidate)
    return tuple(result)


def _clean(text: str) -> str:
    label = re.sub(r"^(?![A-Za-z])", "x", re.sub(r"[^A-Za-z0-9_]", "_", text))
    return f"{label}_" if label.lower() in RESERVED else label


def _word(number: str) -> str:
    """15.25 as 15_25, -3 as minus_3, 1e-05 as 1eminus_05."""
    return number.replace("-", "minus_").replace("+", "").replace(".", "_")
