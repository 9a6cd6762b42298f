"""The fitted network and the questions that it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from jaxbn.inputs import checks
from jaxbn.inputs.columns import MISSING, Level
from jaxbn.inputs.frames import in_kind_of
from jaxbn.inputs.later import pd
from jaxbn.inputs.states import missing_flag_name
from jaxbn.model import queries
from jaxbn.model.effects import effect, influence
from jaxbn.model.fitted import Fitted
from jaxbn.model.imputing.impute import Strategy, impute
from jaxbn.model.inference import answers
from jaxbn.model.inference.questions import joint
from jaxbn.model.lines.rows import lean, lean_of_rows
from jaxbn.model.most_probable import MostProbable, most_probable
from jaxbn.model.observations import Unknown, as_given, encode_frame, frame_of, observation_weights, tell_absent
from jaxbn.model.rows.sampling import InFiles, in_batches, intervened, sample
from jaxbn.model.rows.scores import RowScores, score_samples
from jaxbn.model.rows.updating import update
from jaxbn.model.words import count_states
from jaxbn.runtime.deprecated import old_keywords
from jaxbn.runtime.memory import MAX_MEMORY, within_memory


@dataclass(frozen=True, eq=False, repr=False)
class BayesNet(Fitted, InFiles):
    """A discrete Bayesian network over binned continuous and discrete variables.

    Made by ``fit`` or ``learn``, or read by ``load``. Values outside the fitted range fall into the outer bins.
    The examples of its methods are about the network of the example below. Several methods have these arguments:

    - ``data``: rows with the variables as columns; other columns are ignored.
    - ``given``: what is known, as ``query`` takes it.
    - ``unknown``: levels that were not fitted: ``"error"``, or ``"missing"`` to treat them as missing.
    - ``seed``: of the draws.
    - ``max_memory``: bytes that one array may take; a MemoryError says so if it would be more.

    Attributes:
        parents: parents of every variable, in column order.
        binnings: cuts of the continuous variables.
        levels: levels of the discrete variables.
        tables: P(variable | parents), float64 [parent cardinalities ..., own cardinality].
        bounds: (smallest, largest) value of each continuous variable, the outer edges of its density.
        score: ln P(D*|G), the K2 score of the coded data the network was fitted to; NaN if it was not fitted.
        n_rows: rows it was fitted to.
        alpha: Dirichlet weight of each cell of the tables, or ``"auto"`` where the weights follow from the counts.
        alphas: weights of the tables that have their own, by child; with ``"auto"``, those of a cell on average.
        trace: how the evidence rose while the network was learned with ``method="evidence"``; it is not saved.
        search: how ``learn`` found the network and what is known of its arcs, saved with it; None if it was fitted.
        em_trace: where the data lacked entries, the log-likelihood of what was observed, with the log prior of the
            tables, at the start and after each round of EM; it never falls, and is not saved. Of a network of ``learn``
            it has the evidence of numbers inside their bins, up to a constant (``fit(inside_bins=True)``).
        lines: how numbers follow others inside bins, of the variables for which that has evidence;
            states and their probabilities do not depend on it (``jaxbn.model.lines``).
        groupings: groups of the discrete variables whose levels were merged; their tables are over groups.
        shares: P(level | its group) for each level of these variables.
        counts: how often each cell of the tables occurred, in expectation where entries were missing; ``update`` goes
            on from them. Empty if the network was not fitted.
        level_counts: how often each level of the grouped variables occurred.

    Example:
        >>> data = {"kind": ["a", "a", "b", "b"], "size": [1.0, 2.0, 7.0, 9.0]}
        >>> net = jaxbn.fit(data, {"size": ["kind"]}, {"size": [4.5]})
        >>> net.tables["size"].tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        >>> net
        BayesNet: 2 variables (1 continuous), 1 arc, fitted to 4 rows, score -5.60
          kind             2 levels
          size <- kind     2 bins
    """

    @in_batches
    @within_memory
    def log_likelihood(
        self, data: Any, *, unknown: Unknown = "error", max_memory: float = MAX_MEMORY
    ) -> NDArray[np.float64]:
        """Log density of each row in original units, float64 [rows].

        ln P(codes) plus the log density of each continuous value inside its bin, by its parents' values where there is
        a line, plus ln P(level | group) of each grouped one. Missing entries (NaN, None) are integrated out exactly,
        but for lines: those that need one are left out. A bin without width (of a constant column, or of a cut
        at the largest value) is an atom: it contributes its probability alone.

        Example:
            >>> np.exp(net.log_likelihood({"kind": ["a", "a", None], "size": [1.5, None, None]})).round(6).tolist()
            [0.107143, 0.5, 1.0]
        """
        frame = frame_of(self, data)
        codes = encode_frame(self, frame, unknown)
        result = answers.log_likelihood(self.network, codes)
        for inside in queries.log_inside_states(self, frame, codes, unknown).T:
            result += inside
        return result

    def update(self, data: Any, *, tell: bool = True) -> BayesNet:
        """The network with new rows added to its tables: for complete rows exactly as if it had been fitted once.

        Structure and cuts stay. Levels that are new are taken in; those of a grouped variable join its largest group.
        Missing entries count by what the network so far expects of them. It warns, unless it is not to `tell`, if many
        of the rows are odd for the network so far, or lie outside its range.

        Example:
            >>> net.update({"kind": ["b", "c"], "size": [8.0, 3.0]}).tables["kind"].round(3).tolist()
            [0.333, 0.444, 0.222]
        """
        return update(self, data, tell)

    @within_memory
    def score_samples(
        self,
        data: Any,
        *,
        simulations: int = 1000,
        seed: int | np.random.Generator = 0,
        unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> RowScores:
        """How odd each row is, and by which variables, missing entries integrated out.

        Returns:
            The log density of each row, the share that each variable has in it, p-values among so many `simulations`,
            rows that the network draws, and reasons in words.

        Example:
            >>> net.score_samples({"kind": ["a", "b"], "size": [1.5, 1.5]}).shares["size"].round(3).tolist()
            [-1.54, -2.639]
        """
        return score_samples(self, data, simulations, seed, unknown)

    @within_memory
    def query(
        self,
        targets: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        *,
        do: Mapping[str, Any] | None = None,
        max_memory: float = MAX_MEMORY,
    ) -> pd.Series:
        """Exact posterior of one or several variables.

        Args:
            targets: a variable, or several for their joint distribution.
            given: what is known, in original units: a value or level; a set or list of them; of numbers also an
                interval ``(low, high)`` (None: open) or a ``pandas.Interval``. Bins are weighed by the share that it
                covers, by their line where they have one; of levels that are numbers, a pair takes both ends in. What
                lies outside the fitted range falls into the outer bin. What is known only in part is a mapping of
                values, levels or intervals to likelihoods, P(what was seen | state) up to a factor, or a Series like
                the answer of a query.
            do: variables that are set from outside, whatever their parents say: a value or level each. It tells what
                would happen only as far as the arcs are causes.
            max_memory: refuse with a MemoryError when one array would take more bytes than this.

        Returns:
            Probabilities, which sum to 1, indexed by level or left-closed interval; a MultiIndex for several targets.
            Levels of a grouped variable share the probability of their group.

        Example:
            >>> net.query("kind", {"size": 1.5})
            kind
            a    0.75
            b    0.25
            Name: probability, dtype: float64
            >>> float(net.query("size", {"kind": "b"})[8.0])
            0.75
            >>> net.query("size", {"kind": {"a": 3, "b": 1}}).tolist()  # three times as likely from an a
            [0.625, 0.375]
            >>> net.query("kind", do={"size": 1.5}).tolist()  # size does not act on kind
            [0.5, 0.5]
        """
        net, given = intervened(self, as_given(do, "do"), as_given(given))
        wanted = queries.listed_targets(targets)
        queries.check_targets(net, wanted, given)
        chances = joint(net, wanted, observation_weights(net, given), queries.weighed_by_ranges(net, given))
        for axis, name in enumerate(wanted):
            chances = queries.over_levels(net, name, chances, axis)
        return queries.as_series(chances, [queries.states(net, name) for name in wanted])

    @within_memory
    def effect(
        self, cause: str, outcome: str, *, level: Level | None = None, max_memory: float = MAX_MEMORY
    ) -> pd.DataFrame:
        """The mean of a variable for each state that another one is set to, from outside.

        It may be believed as far as the arcs are causes: nothing that acts on both variables is missing from the
        table, the rows were not selected by what comes after them, nothing acts back on its own cause, and the links
        are right. Directions need not be known: ``low`` and ``high`` are the range over all equivalent networks,
        which fit the rows as well, but for those that break the constraints given to ``learn``. Where they are far
        apart, rows like these cannot tell.

        Args:
            cause: the variable that is set.
            outcome: a continuous variable, or one whose levels are numbers; with `level`, any discrete one.
            level: of a discrete outcome, whose probability is wanted in place of a mean.
            max_memory: refuse with a MemoryError when one array would take more bytes than this.

        Returns:
            A row for each state of the cause: the ``mean`` by the arcs as they point, and ``low`` and ``high``. NaN
            where the state never occurs with something that has to be adjusted for.

        Example:
            >>> net.effect("kind", "size")  # or else size acts on kind, and kind does nothing
                  mean   low  high
            kind
            a     3.75  3.75  4.75
            b     5.75  4.75  5.75
        """
        return effect(self, cause, outcome, level)

    @within_memory
    def influence(
        self, target: str, given: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> pd.DataFrame:
        """What a prediction rests on: how much each known value moves a variable, the target.

        Returns:
            A row for each known value, the one that would be missed most first. ``alone``: how much the probability of
            the state that is most probable given all (``.attrs["state"]``) changes if this is all that is known;
            ``left_out``: how much it changes if this becomes known last; ``alone_nats`` and ``left_out_nats``: how far
            the whole distribution moves then, its Kullback-Leibler divergence. Without `given`, a row for each
            variable: its ``mutual_information`` with the target in nats.

        Example:
            >>> net.influence("kind", {"size": 8.0}).round(3).to_dict("records")
            [{'alone': 0.25, 'left_out': 0.25, 'alone_nats': 0.131, 'left_out_nats': 0.131}]
            >>> net.influence("kind").round(3)["mutual_information"].to_dict()
            {'size': 0.131}
        """
        return influence(self, target, as_given(given))

    @overload
    def most_probable(
        self, given: Mapping[str, Any] | None = None, *, k: None = None, max_memory: float = MAX_MEMORY
    ) -> MostProbable: ...
    @overload
    def most_probable(
        self, given: Mapping[str, Any] | None = None, *, k: int, max_memory: float = MAX_MEMORY
    ) -> list[MostProbable]: ...
    @within_memory
    def most_probable(
        self, given: Mapping[str, Any] | None = None, *, k: int | None = None, max_memory: float = MAX_MEMORY
    ) -> MostProbable | list[MostProbable]:
        """The most probable states of all variables together, exactly.

        These need not be the most probable states of each variable by itself, which ``query`` gives.

        Args:
            given: what is known, as ``query`` takes it. A variable of which several states are possible is given the
                one that goes best with the others.
            k: give a list of the k most probable assignments, best first; fewer where no more are possible.
            max_memory: refuse with a MemoryError when one array would take more bytes than this.

        Returns:
            ``states``, ``probability`` and ``tied``, see ``MostProbable``; intervals are compared by probability, not
            density.

        Example:
            >>> net.most_probable({"size": (5, None)}).states
            {'kind': 'b', 'size': Interval(4.5, inf, closed='left')}
            >>> net.most_probable().tied
            ('kind', 'size')
            >>> [round(found.probability, 3) for found in net.most_probable(k=3)]
            [0.375, 0.375, 0.125]
        """
        if k is not None:
            checks.at_least("k", k, 1)
        found = most_probable(self, as_given(given), k)
        return found[0] if k is None else found

    @within_memory
    def density(
        self, target: str, given: Mapping[str, Any] | None = None, *, max_memory: float = MAX_MEMORY
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior density of a continuous variable: its edges [bins + 1] and the density inside each bin [bins].

        There are more edges where the shape of the column changes inside bins, and where the variable has a line and
        its continuous parents are given as numbers.

        Example:
            >>> edges, density = net.density("size", {"kind": "a"})
            >>> edges.tolist(), density.round(4).tolist()
            ([1.0, 4.5, 9.0], [0.2143, 0.0556])
        """
        given = as_given(given)
        queries.check_targets(self, [target], given)
        edges = self.bin_edges(target)
        if edges[0] == edges[-1]:
            raise ValueError(f"{target!r} is constant ({edges[0]:g}) and has no density; use query instead")
        if edges[-2] == edges[-1]:
            raise ValueError(
                f"{target!r} has a cut at its largest value {edges[-1]:g}, an atom without density; use query instead"
            )
        chances = joint(self, [target], observation_weights(self, given), queries.weighed_by_ranges(self, given))
        leaning = lean(self, target, *queries.as_row(self, given)) if target in self.lines else None
        pieces, of, share = self.inside(target).pieces(leaning and leaning.take(0))
        return pieces, chances[of] * share / np.diff(pieces)

    @in_batches
    @within_memory
    def predict_proba(
        self,
        data: Any,
        target: str,
        *,
        soft: Mapping[str, Any] | None = None,
        unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> pd.DataFrame:
        """Posterior of one variable for every row, given all the others.

        Missing entries and absent columns are summed out exactly; the target's own column, if there, is not looked at.

        Args:
            data: rows; columns that are not variables are ignored.
            target: the variable to predict.
            soft: likelihoods of the states of variables that are known only in part, in place of their columns: a
                mapping of states to numbers, as ``query`` takes it, or a table [rows, states], states in the order of
                the index of ``query``.
            unknown: levels that were not fitted: ``"error"``, or ``"missing"`` to treat them as missing.
            max_memory: bytes that one array may take.

        Returns:
            Probabilities [rows, states], columns as in the index of ``query``, rows as in ``data``.

        Example:
            >>> net.predict_proba({"size": [1.5, None]}, "kind")
            kind     a     b
            0     0.75  0.25
            1     0.50  0.50
            >>> net.predict_proba({"size": [None]}, "kind", soft={"size": [[0.1, 0.9]]}).round(3).to_numpy().tolist()
            [[0.3, 0.7]]
        """
        queries.check_targets(self, [target], {})
        soft, frame = as_given(soft, "soft"), frame_of(self, data, target)
        asked = (target, missing_flag_name(target))  # whether the target is missing is not looked at
        told = {*asked, *soft, *frame.columns}
        tell_absent(self, [name for name in self.names if name not in told])
        codes = encode_frame(self, frame, unknown, optional=self.names)
        evidence = {}
        for name, value in soft.items():
            queries.check_targets(self, [name], {target: None})
            evidence[self.names.index(name)] = queries.log_likelihoods(self, name, value, len(codes))
            codes[:, self.names.index(name)] = MISSING
        logs = answers.log_posterior(self.network, codes, self.names.index(target), evidence=evidence)
        chances = queries.over_levels(self, target, np.asarray(softmax(logs, axis=1)), 1)
        index = data.index if isinstance(data, pd.DataFrame) else None
        return pd.DataFrame(chances, index=index, columns=queries.states(self, target))

    @old_keywords({"give": "returns"}, {})
    @in_batches
    @within_memory
    def predict(
        self, data: Any, target: str, *, returns: queries.Returns = "state", unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> pd.Series | pd.DataFrame:  # fmt: skip
        """Most probable level, or interval, of one variable for every row; see ``predict_proba``.

        For a continuous variable, `returns` may be ``"mean"``, ``"median"``, a quantile or a list of them (one column
        each), of the density of the network: inside bins it has the shape of the column, and follows lines.

        Example:
            >>> net.predict({"size": [1.5, 8.0]}, "kind").tolist()
            ['a', 'b']
        """
        queries.quantile_levels(returns)  # refuses others
        chances = self.predict_proba(data, target, unknown=unknown)
        if isinstance(returns, str) and returns == "state":
            return pd.Series(chances.columns.take(chances.to_numpy().argmax(axis=1)), index=chances.index, name=target)
        return queries.points(self, chances, target, returns, lean=lean_of_rows(self, data, target, unknown))

    @old_keywords({"how": "strategy"}, {})
    @in_batches
    @within_memory
    def impute(
        self,
        data: Any,
        strategy: Strategy = "mean",
        *,
        seed: int | np.random.Generator = 0,
        unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> pd.DataFrame:
        """The data with their missing entries filled in, by the exact posterior given what each row has.

        Args:
            data: rows; a DataFrame keeps its index, its types, and its other columns as they are.
            strategy: ``"mean"``: each entry by itself, the mean of a number's posterior or the most probable level,
                which errs least. ``"regression"``: the same beside linear regressions on the other columns and the
                rows that look most alike, fitted to ``data`` and weighed by how well each tells rows that it has not
                seen; they tell values inside a bin apart: better where there are enough rows.
                ``"most_probable"``: what is most probable together, numbers in the middle of their bin. ``"draw"``:
                drawn from the joint posterior, for several imputed tables that differ as much as they are unsure.
            seed: of the draws.
            unknown: levels that were not fitted: ``"error"``, or ``"missing"`` to treat them as missing; they stay.
            max_memory: bytes that one array may take.

        Example:
            >>> net.impute({"kind": ["a", None], "size": [None, 8.0]})
              kind  size
            0    a   4.0
            1    b   8.0
        """
        return in_kind_of(data, impute(self, data, strategy, seed, unknown))

    @within_memory
    def complete(
        self,
        data: Any,
        n: int = 1,
        seed: int | np.random.Generator = 0,
        *,
        unknown: Unknown = "error",
        max_memory: float = MAX_MEMORY,
    ) -> pd.DataFrame:
        """Several completions of the data, as ``impute`` draws them: n of them, from the exact joint posterior.

        Returns:
            All completions below each other, indexed by ``draw`` (from 0) and the rows of the data.

        Example:
            >>> net.complete({"kind": ["a", None], "size": [3.0, 8.0]}, 3)["kind"].groupby("draw").agg("".join).tolist()
            ['ab', 'ab', 'aa']
        """
        checks.at_least("n", n, 1)
        rng = np.random.default_rng(seed)
        drawn = [impute(self, data, "draw", rng, unknown) for _ in range(n)]
        return pd.concat(drawn, keys=range(n), names=["draw"])

    def cpt(self, name: str) -> pd.DataFrame:
        """The conditional table of a variable: a row for each state of its parents, a column for each of its own.

        States are labelled as ``query`` labels them, groups of levels by all their levels.

        Example:
            >>> net.cpt("size")
            size  [-inf, 4.5)  [4.5, inf)
            kind
            a            0.75        0.25
            b            0.25        0.75
        """
        queries.check_targets(self, [name], {})

        def labels(of: str) -> pd.Index:
            if of not in self.groupings:
                return queries.states(self, of)
            return pd.Index([", ".join(map(str, group)) for group in self.groupings[of].groups], name=of)

        table, found = self.tables[name], self.parents[name]
        axes = [labels(parent) for parent in found]
        index = pd.MultiIndex.from_product(axes, names=found) if len(axes) > 1 else axes[0] if axes else None
        return pd.DataFrame(table.reshape(-1, table.shape[-1]), index=index, columns=labels(name))

    @within_memory
    def sample(
        self,
        n: int,
        seed: int | np.random.Generator = 0,
        *,
        given: Mapping[str, Any] | None = None,
        do: Mapping[str, Any] | None = None,
        max_memory: float = MAX_MEMORY,
    ) -> pd.DataFrame:
        """Draw n rows in original units: states of all variables, then values inside bins and levels of groups.

        What is `given` is known of every row, and states come from their exact joint posterior; what `do` says is set
        in every row, as in ``query``.

        Example:
            >>> rows = net.sample(9, given={"size": (5, None)})
            >>> list(rows), bool(rows["size"].min() >= 5)
            (['kind', 'size'], True)
        """
        net, given = intervened(self, as_given(do, "do"), as_given(given))
        return sample(net, n, seed, given)

    def __repr__(self) -> str:
        arcs = sum(map(len, self.parents.values()))
        fitted = f", fitted to {self.n_rows} rows, score {self.score:.2f}" if self.n_rows else ""
        count = f"{len(self.names)} variable{'s' * (len(self.names) != 1)} ({len(self.binnings)} continuous)"
        heads = [f"{name} <- {', '.join(found)}" if found else name for name, found in self.parents.items()]
        sizes = [
            count_states(self, name) + (f" of {len(self.levels[name])} levels" if name in self.groupings else "")
            for name in self.names
        ]
        width = max(map(len, heads)) + 4
        lines = [f"  {head:<{width}} {size}" for head, size in zip(heads, sizes, strict=True)]
        return "\n".join([f"BayesNet: {count}, {arcs} arc{'s' * (arcs != 1)}{fitted}", *lines])
