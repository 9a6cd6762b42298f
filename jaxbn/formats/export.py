"""The same network in other programs: pgmpy and pyAgrum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbn.inputs import checks

if TYPE_CHECKING:
    from jaxbn.model.bayesnet import BayesNet


def to_pgmpy(net: BayesNet) -> Any:
    """The network as a ``pgmpy.models.DiscreteBayesianNetwork``.

    Variables keep their names; states are named by ``net.state_labels``. Needs pgmpy, from the ``export`` extra.
    """
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    except ImportError as error:
        raise ImportError("to_pgmpy needs pgmpy; install jaxbn[export]") from error

    model = DiscreteBayesianNetwork()
    model.add_nodes_from(net.names)
    model.add_edges_from((parent, child) for child, found in net.parents.items() for parent in found)
    labels = {name: list(net.state_labels(name)) for name in net.names}
    for name, found in net.parents.items():
        table = net.tables[name].reshape(-1, net.cardinalities[name]).T  # pgmpy: one column a parent configuration
        cards = [net.cardinalities[parent] for parent in found]
        states = {v: labels[v] for v in (name, *found)}
        model.add_cpds(TabularCPD(name, len(labels[name]), table, list(found) or None, cards or None, states))
    model.check_model()
    return model


def to_pyagrum(net: BayesNet, bins: str = "ranges") -> Any:
    """The network as a ``pyagrum.BayesNet``, see ``BayesNet.to_pyagrum``."""
    try:
        import pyagrum
    except ImportError as error:
        raise ImportError("to_pyagrum needs pyagrum; install jaxbn[export]") from error

    checks.one_of("bins", bins, ("ranges", "labels"))
    model = pyagrum.BayesNet("jaxbn")
    for name in net.names:
        cuts = net.bin_edges(name) if bins == "ranges" and name in net.binnings else np.zeros(1)
        if len(cuts) > 2 and (np.diff(cuts) > 0).all():
            variable = pyagrum.DiscretizedVariable(name, name, cuts.tolist())
            variable.setEmpirical(True)  # what lies outside falls into the outer bins, as here
        else:
            variable = pyagrum.LabelizedVariable(name, name, list(net.state_labels(name)))
        model.add(variable)
    for child, found in net.parents.items():
        for parent in found:
            model.addArc(parent, child)
    for name, found in net.parents.items():
        # pyAgrum's arrays run through the variables of a table from the last to the first, the child being the first
        axes = (*reversed(range(len(found))), len(found))
        model.cpt(name)[:] = np.ascontiguousarray(net.tables[name].transpose(axes))
    return model
