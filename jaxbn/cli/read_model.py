"""A network, or an average of networks, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jaxbn.cli.errors import CommandError

if TYPE_CHECKING:
    from jaxbn.model.average import AverageNet
    from jaxbn.model.bayesnet import BayesNet


def read_model(path: str) -> BayesNet:
    """A network that ``learn`` wrote, or one of another program."""
    from jaxbn.model.bayesnet import BayesNet

    found = read_any_model(path)
    if not isinstance(found, BayesNet):
        raise CommandError(f"{path!r} is an average of networks, for query and sample; this command takes one network")
    return found


def read_any_model(path: str) -> BayesNet | AverageNet:
    """A network, or the average of networks that ``posterior`` wrote."""
    file = Path(path)
    if file.is_dir():
        raise CommandError(f"{path!r} is a directory; name the model file in it")
    if not file.exists():
        raise CommandError(f"there is no model file {path!r}; `jaxbn learn` writes one")
    from jaxbn.formats.read import read

    return read(file)
