"""The average of many networks: a mixture that is asked as one network is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jaxbn.inputs.columns import Level
from jaxbn.model import average_answers
from jaxbn.model.bayesnet import BayesNet
from jaxbn.model.observations import Unknown
from jaxbn.model.point_predictions import Give
from jaxbn.runtime.memory import MAX_MEMORY

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class AverageNet:
    """Many networks over the same variables, each with the same weight: their average density.

    Made by ``jaxbn.sample_posterior`` or ``jaxbn.bootstrap`` (``.average``), or read by ``jaxbn.load``. An average of
    networks is not a network: it has no arcs or cuts of its own, but it answers as one does. What a network says counts
    by the probability it gives to what is known, so the answers are those of the averaged density.

    Attributes:
        networks: the networks.

    Example:
        >>> import jaxbn
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> nets = [jaxbn.fit(data, {"size": ["kind"]}, {"size": [cut]}) for cut in (4.5, 8.0)]
        >>> jaxbn.AverageNet(nets)
        AverageNet: 2 networks of 2 variables (1 continuous), fitted to 4 rows
    """

    networks: tuple[BayesNet, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "networks", tuple(self.networks))
        average_answers.check_networks(self.networks)

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, in column order."""
        return self.networks[0].names

    def log_likelihood(
        self, data: Any, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> NDArray[np.float64]:
        """Log of the average density of each row in original units, float64 [rows]; see ``BayesNet.log_likelihood``.

        Example:
            >>> import jaxbn
            >>> nets = [jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": cuts}) for cuts in ([2.0], [])]
            >>> np.exp(jaxbn.AverageNet(nets).log_likelihood({"x": [0.5]})).round(6).tolist()  # of 0.3 and 0.25
            [0.275]
        """
        return average_answers.log_likelihood(self.networks, data, unknown, max_memory)

    def predict_proba(
        self, data: Any, target: str, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> pd.DataFrame:
        """Probabilities of one variable for every row, given all the others; see ``BayesNet.predict_proba``.

        The bins of a continuous target are those between the cuts of all networks.

        Example:
            >>> import jaxbn
            >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
            >>> nets = [jaxbn.fit(data, {"size": ["kind"]}, {"size": [cut]}) for cut in (4.5, 8.0)]
            >>> jaxbn.AverageNet(nets).predict_proba({"size": [1.5]}, "kind").round(3).to_numpy().tolist()
            [[0.692, 0.308]]
        """
        return average_answers.predict_proba(self.networks, data, target, unknown, max_memory)

    def predict(
        self, data: Any, target: str, *, give: Give = "state", unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> pd.Series | pd.DataFrame:  # fmt: skip
        """The most probable level of one variable for every row; of a continuous one the interval of highest density.

        For a continuous variable, `give` may be ``"mean"``, ``"median"``, a quantile or a list of them.

        Example:
            >>> import jaxbn
            >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
            >>> nets = [jaxbn.fit(data, {"size": ["kind"]}, {"size": [cut]}) for cut in (4.5, 8.0)]
            >>> jaxbn.AverageNet(nets).predict({"size": [1.5, 8.5]}, "kind").tolist()
            ['a', 'b']
        """
        return average_answers.predict(self.networks, data, target, give, unknown, max_memory)

    def query(
        self, targets: str | Sequence[str], given: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> pd.Series:
        """Probabilities of one or several variables given some others; see ``BayesNet.query``.

        Example:
            >>> import jaxbn
            >>> nets = [jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [cut]}) for cut in (2.0, 3.0)]
            >>> jaxbn.AverageNet(nets).query("x").round(3).tolist()  # below 2, from 2 to 3, from 3 on
            [0.5, 0.2, 0.3]
        """
        return average_answers.query(self.networks, targets, given or {}, max_memory)

    def density(
        self, target: str, given: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Density of a continuous variable: the edges of all networks [bins + 1] and the density between [bins].

        Example:
            >>> import jaxbn
            >>> nets = [jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [cut]}) for cut in (2.0, 3.0)]
            >>> edges, density = jaxbn.AverageNet(nets).density("x")
            >>> edges.tolist(), density.round(3).tolist()
            ([0.0, 2.0, 3.0, 4.0], [0.25, 0.2, 0.3])
        """
        return average_answers.density(self.networks, target, given or {}, max_memory)

    def effect(
        self,
        cause: str,
        outcome: str,
        *,
        level: Level | None = None,
        coverage: float = 0.9,
        seed: int | np.random.Generator = 0,
        max_memory: float = MAX_MEMORY,
    ) -> pd.DataFrame:
        """The mean of a variable where another one is set; see ``BayesNet.effect`` for when it may be believed.

        Each network answers by its arcs as they point: where rows leave a direction open, draws have it both ways. For
        the range its tables are drawn from their posterior, so that it tells of few rows too. Bins say nothing of what
        happens inside of them, which makes effects look somewhat smaller than they are.

        Args:
            cause: the variable that is set.
            outcome: a continuous variable, or one whose levels are numbers; with `level`, any discrete one.
            level: of a discrete outcome, whose probability is wanted in place of a mean.
            coverage: the share of the networks between ``low`` and ``high``.
            seed: of the tables' draws.
            max_memory: refuse with a MemoryError when one array would take more bytes than this.

        Returns:
            A row for each level of the cause, or each bin between the cuts of all networks: the ``mean`` over
            the networks, and ``low`` and ``high``.

        Example:
            >>> import jaxbn
            >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
            >>> nets = [jaxbn.fit(data, graph, {"size": [4.5]}) for graph in ({"size": ["kind"]}, {"kind": ["size"]})]
            >>> jaxbn.AverageNet(nets).effect("kind", "size")["mean"].tolist()
            [4.25, 5.25]
        """
        return average_answers.effect(self.networks, cause, outcome, level, coverage, seed, max_memory)

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> pd.DataFrame:
        """Draw rows in original units: a network by chance for each, then a row from it.

        Example:
            >>> import jaxbn
            >>> nets = [jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [cut]}) for cut in (2.0, 3.0)]
            >>> len(jaxbn.AverageNet(nets).sample(5))
            5
        """
        return average_answers.sample(self.networks, n, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all networks into one JSON file, which ``jaxbn.load`` reads back bit for bit.

        Example:
            >>> import tempfile
            >>> import jaxbn
            >>> net = jaxbn.fit({"x": [0.0, 1.0, 4.0]}, {}, {"x": [2.0]})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     jaxbn.AverageNet([net, net]).save(f"{folder}/average.json")
            ...     jaxbn.load(f"{folder}/average.json")
            AverageNet: 2 networks of 1 variable (1 continuous), fitted to 3 rows
        """
        from jaxbn.formats.json_file import save

        save(self, path)

    def __eq__(self, other: object) -> bool:
        return self.networks == other.networks if isinstance(other, AverageNet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.networks)

    def __repr__(self) -> str:
        first = self.networks[0]
        count = f"{len(self.networks)} network{'s' * (len(self.networks) != 1)}"
        variables = f"{len(self.names)} variable{'s' * (len(self.names) != 1)} ({len(first.binnings)} continuous)"
        return f"AverageNet: {count} of {variables}, fitted to {first.n_rows} rows"
