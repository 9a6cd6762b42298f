"""``jaxbn predict``: a variable predicted for every row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import options, output
from jaxbn.cli.errors import UsageError
from jaxbn.cli.library import reads_rows
from jaxbn.cli.read_model import read_model
from jaxbn.cli.read_table import names_in, read

if TYPE_CHECKING:
    import pandas as pd

    from jaxbn.model.bayesnet import BayesNet


@reads_rows
def predict(
    model: options.Model,
    data: options.Data,
    target: Annotated[str, typer.Argument(help="The variable to predict; its own column is not looked at.")],
    out: options.Out = None,
    returns: Annotated[
        str,
        typer.Option(
            "--returns",
            "--give",
            help="state: the most probable; proba: all chances; of numbers also mean, median or 0.1,0.9.",
        ),
    ] = "state",
    unknown: options.Unknown = "error",
    written: Any = None,
    force: options.Force = False,
) -> None:
    """Predict a variable for every row, given what the row has: a CSV with a line for each."""
    output.check_free((out,), force)
    net = read_model(model)
    names_in([target], "TARGET", net.names, "variable of the network")
    source = read(data, written)
    output.put_csv(_predicted(net, source.frame, target, returns, unknown), out)


def _predicted(net: BayesNet, frame: pd.DataFrame, target: str, returns: str, unknown: Any) -> pd.DataFrame:
    import pandas as pd

    from jaxbn.model.words import state_texts

    if returns in ("state", "proba"):
        chances = net.predict_proba(frame, target, unknown=unknown)
        words = state_texts(net, target) if target in net.binnings else list(map(str, net.levels[target]))
        if returns == "proba":
            return chances.set_axis(words, axis=1)
        best = chances.to_numpy().argmax(axis=1)
        return pd.DataFrame({target: [words[i] for i in best]})
    found = net.predict(frame, target, returns=_points(returns), unknown=unknown)
    return found if isinstance(found, pd.DataFrame) else found.to_frame(target)


def _points(returns: str) -> Any:
    """Mean, median or quantiles, as a text has them."""
    if returns in ("mean", "median"):
        return returns
    try:
        quantiles = [float(part) for part in returns.split(",")]
    except ValueError:
        raise UsageError(
            f"--returns must be state, proba, mean, median or quantiles such as 0.1,0.9, got {returns!r}"
        ) from None
    return quantiles[0] if len(quantiles) == 1 else quantiles
