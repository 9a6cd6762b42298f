"""``jaxbn export``: a network for other programs, or as a picture."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxbn.cli import options, output
from jaxbn.cli.errors import UsageError
from jaxbn.cli.read_model import read_model

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet

NETWORKS = ("json", "bif", "xml", "xmlbif", "bifxml", "xdsl", "net", "uai")
FORMATS = (*NETWORKS, "dot", "svg", "png", "pdf")


def export(
    model: options.Model,
    out: Annotated[Path, typer.Option("--out", "-o", help=f"File; its ending says the format: {', '.join(FORMATS)}.")],
    force: options.Force = False,
) -> None:
    """Write a network for other programs (bif, xml, xdsl, net, uai, dot) or as a picture (svg, png, pdf)."""
    kind = out.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise UsageError(f"--out {str(out)!r} must end in one of {', '.join('.' + each for each in FORMATS)}")
    output.check_free((out,), force)
    net = read_model(model)
    if kind in NETWORKS:
        output.write(out, net.write)
    elif kind in ("dot", "svg"):
        output.write_text(out, _dot(net) if kind == "dot" else _svg(net))
    else:
        output.write_bytes(out, _picture(net, kind))


def _svg(net: BayesNet) -> str:
    """The drawing of the report in black, without a background."""
    from jaxbn.drawing.svg import network_svg

    return network_svg(net).replace("<svg ", '<svg color="black" ', 1) + "\n"


def _dot(net: BayesNet) -> str:
    # Graphviz quotes as JSON does
    nodes = [f"  {json.dumps(name)};" for name in net.names]
    arcs = [f"  {json.dumps(p)} -> {json.dumps(child)};" for child, found in net.parents.items() for p in found]
    return "\n".join(["digraph jaxbn {", *nodes, *arcs, "}"]) + "\n"


def _picture(net: BayesNet, kind: str) -> bytes:
    import matplotlib as mpl

    mpl.use("Agg")
    figure: Any = net.plot().figure
    picture = BytesIO()
    figure.savefig(picture, format=kind, dpi=160)
    return picture.getvalue()
