"""Fluid models whose queue disciplines converge for any constant queue.

A search for an equilibrium gives queues and lets everything else converge. The state of a
discipline with integral control does not: it changes unless the queue is exactly at its target, and
there no state changes. The search replaces its derivative by one that converges close to the
equilibrium; Newton's method on the true equations does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax

from vegasfluid.analysis.delegating import Delegating
from vegasfluid.aqm.base import QueueDiscipline, QueueState
from vegasfluid.fluid.model import FluidModel

__all__ = ["converging"]


@dataclass(frozen=True)
class Converging(Delegating):
    """A queue discipline whose state converges for any constant queue.

    Args:
        discipline: the discipline with integral control.
    """

    def derivative(self, state: QueueState) -> Any:
        """Rate of change of the AQM state, per second, in the search for an equilibrium.

        It is the discipline's `converging_derivative`: unlike the integral control (as PIE's), it
        converges for any constant queue.
        """
        return self.discipline.converging_derivative(state)


jax.tree_util.register_dataclass(Converging, data_fields=["discipline"], meta_fields=[])


def converging(model: FluidModel) -> FluidModel:
    """A copy of the fluid model for a search, in which all queue disciplines converge.

    Disciplines with integral control get their `converging_derivative`. If there are none, the
    result is `model` itself.
    """
    if not any(aqm.integrates for aqm in model.parameters.aqm):
        return model
    parts: tuple[QueueDiscipline, ...] = tuple(
        Converging(aqm) if aqm.integrates else aqm for aqm in model.parameters.aqm
    )
    return replace(model, parameters=model.parameters._replace(aqm=parts))
