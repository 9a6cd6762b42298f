"""Write the list of public signatures into ``stability.md``: ``python docs/signatures.py``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import jaxbn
import jaxbn.sklearn

PAGE = Path(__file__).parent / "stability.md"
MADE = tuple(
    f"jaxbn.{name}"
    for name in ("Evidence", "Bayesian", "MDL", "K2", "Orders", "Constraints", "Columns", "Binning", "Grouping")
)
"""Classes that users make objects of, options first; of others only what they can do is promised."""

BEGIN, END = "```text\n", "```\n"


def signatures() -> list[str]:
    """Every public function, class and method with its arguments and their defaults, by name."""
    places = {f"jaxbn.{name}": getattr(jaxbn, name) for name in sorted(jaxbn.__all__) if name != "__version__"}
    places |= {f"jaxbn.sklearn.{name}": getattr(jaxbn.sklearn, name) for name in sorted(jaxbn.sklearn.__all__)}
    places |= {f"jaxbn.datasets.{name}": getattr(jaxbn.datasets, name) for name in sorted(jaxbn.datasets.__all__)}
    found = []
    for name, thing in places.items():
        if inspect.isclass(thing) and issubclass(thing, Warning):
            found.append(name)
        elif inspect.isclass(thing):
            found.append(name + (_arguments(thing) if name in MADE or "sklearn" in name else ""))
            found += (
                [] if name in MADE[:7] else [f"{name}.{each}{_arguments(method)}" for each, method in _methods(thing)]
            )
        elif callable(thing):
            found.append(name + _arguments(thing))
    return found


def _methods(thing: Any) -> list[tuple[str, Any]]:
    own = inspect.getmembers(thing, inspect.isfunction)
    return [(name, each) for name, each in own if not name.startswith("_") and each.__module__.startswith("jaxbn")]


def _arguments(thing: Any) -> str:
    """The arguments without their types."""
    kept = [each.replace(annotation=each.empty) for each in inspect.signature(thing).parameters.values()]
    return str(inspect.Signature([each for each in kept if each.name != "self"]))


def page(text: str) -> str:
    """The page with the list as it is now."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n".join(signatures()) + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
