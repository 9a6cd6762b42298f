"""``jaxbn query``: the posterior of variables, given what is known of others."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated

import typer

from jaxbn.cli import options, output, show
from jaxbn.cli.observations import observations
from jaxbn.cli.read_model import read_any_model
from jaxbn.cli.read_table import names_in

if TYPE_CHECKING:
    from jaxbn.model.average import AverageNet
    from jaxbn.model.bayesnet import BayesNet


def query(
    model: options.Model,
    targets: Annotated[list[str], typer.Argument(help="Variables; several for their joint distribution.")],
    given: Annotated[
        list[str], typer.Option("--given", help="What is known: weight=3000, horsepower=70:100 or origin=1,2.")
    ] = [],  # noqa: B006 (typer copies it)
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Take values beyond the fitted range for the outer bin.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Ask a network, or an average of networks: the exact posterior of variables, given others in original units."""
    asked = read_any_model(model)
    net = asked.networks[0] if hasattr(asked, "networks") else asked
    wanted = names_in(targets, "TARGETS", net.names, "variable of the network")
    known = observations(net, given, allow_outside)
    answer = asked.query(wanted, known)
    labels = [", ".join(states) for states in product(*(_states(asked, name) for name in wanted))]
    if as_json:
        states = [{"state": label, "probability": p} for label, p in zip(labels, answer.tolist(), strict=True)]
        output.put_json({"targets": wanted, "given": known, "posterior": states})
    else:
        show.posterior(answer, labels)


def _states(net: BayesNet | AverageNet, name: str) -> list[str]:
    """The states of a posterior in words; those of a grouped variable are its levels."""
    from jaxbn.model.average import AverageNet
    from jaxbn.model.words import state_texts

    if isinstance(net, AverageNet):
        return [str(state) for state in net.query(name).index]
    if name in net.groupings:
        return [str(level) for level in net.levels[name]]
    return state_texts(net, name)
