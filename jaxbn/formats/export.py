"""The same network in other programs: pgmpy and pyAgrum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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


def to_pyagrum(net: BayesNet) -> Any:
    """The network as a ``pyagrum.BayesNet``.

    Variables keep their names; states are named by ``net.state_labels``. Needs pyAgrum, from the ``export`` extra.
    """
    try:
        import pyagrum
    except ImportError as error:
        raise ImportError("to_pyagrum needs pyagrum; install jaxbn[export]") from error

    model = pyagrum.BayesNet("jaxbn")
    for name in net.names:
        model.add(pyagrum.LabelizedVariable(name, name, list(net.state_labels(name))))
    for child, found in net.parents.items():
        for parent in found:
            model.addArc(parent, child)
    for name, found in net.parents.items():
        # pyAgrum's arrays run through the variables of a table from the last to the first, the child being the first
        axes = (*reversed(range(len(found))), len(found))
        model.cpt(name)[:] = np.ascontiguousarray(net.tables[name].transpose(axes))
    return model
