"""How a fitted network is saved, exported and drawn."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from jaxbn.model.fitted import Fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbn.model.bayesnet import BayesNet


class Written(Fitted):
    """The part of ``BayesNet`` that files and pictures are made with."""

    @property
    def _net(self) -> BayesNet:
        return cast("BayesNet", self)

    def state_labels(self, name: str) -> tuple[str, ...]:
        """Names of a variable's states in exported networks: unique, a letter, then letters, digits and underscores.

        Example:
            >>> import jaxbn
            >>> jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [0.5, 2.0]}).state_labels("x")
            ('below_0_5', 'from_0_5_to_2', 'from_2_or_more')
        """
        from jaxbn.formats.record import state_labels

        return state_labels(self._net, name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network as JSON, which ``jaxbn.load`` reads back bit for bit.

        Example:
            >>> import tempfile
            >>> import jaxbn
            >>> net = jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     net.save(f"{folder}/net.json")
            ...     jaxbn.load(f"{folder}/net.json").tables["x"].tolist()
            [0.6, 0.4]
        """
        from jaxbn.formats.json_file import save

        save(self._net, path)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the format that the ending of the file says; ``jaxbn.read`` reads it back.

        ``.json`` (as ``save``), ``.bif``, ``.xml`` (or ``.xmlbif``, ``.bifxml``: XMLBIF), ``.xdsl`` (GeNIe), ``.net``
        (Hugin), ``.uai``. Other programs see names and states reduced to letters, digits and underscores; a comment,
        which they skip, has the original ones, the cuts and whatever else such files cannot hold.

        Example:
            >>> import tempfile
            >>> import jaxbn
            >>> net = jaxbn.fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     net.write(f"{folder}/net.net")
            ...     jaxbn.read(f"{folder}/net.net") == net
            True
        """
        from jaxbn.formats.read import write

        write(self._net, path)

    def to_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the BIF format; names and states are reduced to letters, digits and underscores.

        ``jaxbn.read_bif`` restores the original ones.

        Example:
            >>> import tempfile
            >>> import jaxbn
            >>> net = jaxbn.fit({"the x": [0.0, 1.0, 4.0]}, {}, {"the x": [2.0]})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     net.to_bif(f"{folder}/net.bif")
            ...     jaxbn.read_bif(f"{folder}/net.bif").names
            ('the x',)
        """
        from jaxbn.formats.read import write_bif

        write_bif(self._net, path)

    def to_pgmpy(self) -> Any:
        """The network as a ``pgmpy.models.DiscreteBayesianNetwork``; states are named by ``state_labels``.

        Example:
            >>> model = net.to_pgmpy()  # doctest: +SKIP
            >>> model.get_cpds("size")  # doctest: +SKIP
        """
        from jaxbn.formats.export import to_pgmpy

        return to_pgmpy(self._net)

    def to_pyagrum(self, bins: Literal["ranges", "labels"] = "ranges") -> Any:
        """The network as a ``pyagrum.BayesNet``; states are named by ``state_labels``.

        Args:
            bins: ``"ranges"`` makes pyAgrum's discretized variables of bins, which take numbers as evidence, written as
                text: whole numbers are positions to pyAgrum. ``"labels"`` names bins by words, as all of pyAgrum's
                writers of files need it.

        Example:
            >>> model = net.to_pyagrum()  # doctest: +SKIP
            >>> pyagrum.getPosterior(model, target="species", evs={"body_mass_g": "5200"})  # doctest: +SKIP
        """
        from jaxbn.formats.export import to_pyagrum

        return to_pyagrum(self._net, bins)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        strengths: Mapping[tuple[str, str], float] | None = None,
        directions: Literal["class", "all"] = "class",
    ) -> Axes:
        """Draw the network with matplotlib: a box for each variable with its number of bins, discrete ones shaded.

        Args:
            ax: axes to draw on; new ones by default.
            strengths: share of resamples that have an arc, by (parent, child), written at the arcs; at a line the
                sum of both directions.
            directions: ``"class"`` draws an arrow where all equivalent networks have it in this direction
                (``net.compelled``), and a line where the rows cannot tell; ``"all"`` draws arrows only.

        Example:
            >>> net.plot().figure.savefig("network.svg")  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_network

        return plot_network(self._net, ax, strengths=strengths, directions=directions)

    def plot_influence(self, target: str, given: Mapping[str, Any] | None = None, ax: Axes | None = None) -> Axes:
        """Draw what a prediction rests on: a bar for each known value, the one that would be missed most on top.

        Args:
            target: the variable that is predicted.
            given: what is known; without, how much each variable tells: see ``influence``.
            ax: axes to draw on; new ones by default.

        Example:
            >>> net.plot_influence("mpg", {"weight": 2500, "cylinders": 4})  # doctest: +SKIP
        """
        from jaxbn.drawing.plots import plot_influence

        return plot_influence(self._net, target, given, ax)

    def _repr_html_(self) -> str:
        from jaxbn.drawing.notebook import network_html

        return network_html(self._net)
