"""The options of `solve` for a vector, from those for a state that is a pytree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import diffrax
import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from vegasfluid.dde.adaptive.arguments import is_part
from vegasfluid.dde.adaptive.bounds import Bound
from vegasfluid.dde.adaptive.resets import Reset
from vegasfluid.dde.adaptive.states import (
    SavedFunction,
    StateForm,
    VectorCondition,
    VectorEffect,
    VectorIndicator,
    VectorInitialHistory,
    VectorNorm,
    VectorProjection,
)
from vegasfluid.errors import InvalidInput, Unsupported, Words

__all__ = ["options_of_vector", "selected_bounds"]

OWNER = "dde.solve"
"""The function that error messages name."""
SELECTION = "a function of y that selects components, such as lambda y: y['queue']"
"""What `Bound.component` has to be where the state is a pytree."""


def options_of_vector(options: dict[str, Any], form: StateForm) -> dict[str, Any]:
    """All options with their functions of states as functions of vectors.

    Args:
        options: the options by name, with defaults for those not given. Values of wrong types are
            passed on; `checked_arguments` raises `InvalidInput` for them.
        form: the form of the state.
    """
    changed = dict(options)
    for name, wrap in (
        ("initial_history", VectorInitialHistory),
        ("guards", VectorIndicator),
        ("project", VectorProjection),
    ):
        if options[name] is not None:
            changed[name] = wrap(options[name], form)
    changed["resets"] = tuple(_reset(reset, form) for reset in options["resets"])
    changed["event"] = _event(options["event"], form)
    changed["saveat"] = _saveat(options["saveat"], form)
    changed["stepsize_controller"] = _controller(options["stepsize_controller"], form)
    return changed


def _reset(reset: Any, form: StateForm) -> Any:
    """The user's reset of a structured state, as a reset of the flat vector that holds it."""
    if not isinstance(reset, Reset):
        return reset
    indicator, effect = VectorIndicator(reset.indicator, form), VectorEffect(reset.effect, form)
    return Reset(indicator, effect, reset.direction)


def _event(event: Any, form: StateForm) -> Any:
    """The user's event of a structured state, as an event of the flat vector that holds it."""
    if not isinstance(event, diffrax.Event):
        return event
    conditions = jax.tree.map(
        lambda condition: VectorCondition(condition, form), event.cond_fn, is_leaf=callable
    )
    return eqx.tree_at(lambda tree: tree.cond_fn, event, conditions, is_leaf=callable)


def _saveat(saveat: diffrax.SaveAt, form: StateForm) -> diffrax.SaveAt:
    """The caller's `saveat`, with each `fn` wrapped to take the state as a flat vector."""

    def part(sub: diffrax.SubSaveAt) -> diffrax.SubSaveAt:
        return eqx.tree_at(lambda tree: tree.fn, sub, SavedFunction(sub.fn, form))

    parts = jax.tree.map(part, saveat.subs, is_leaf=is_part)
    return eqx.tree_at(lambda tree: tree.subs, saveat, parts, is_leaf=lambda node: node is None)


def _controller(controller: Any, form: StateForm) -> Any:
    """The step-size controller, with its norm as a function of the vector.

    Diffrax's default norm, and controllers without a norm, do not change.
    """
    if isinstance(controller, diffrax.ClipStepSizeController):
        inner = _controller(controller.controller, form)
        return eqx.tree_at(lambda tree: tree.controller, controller, inner)
    if not isinstance(controller, diffrax.PIDController):
        return controller
    if controller.norm is diffrax.PIDController(rtol=0.0, atol=0.0).norm:
        return controller
    return eqx.tree_at(lambda tree: tree.norm, controller, VectorNorm(controller.norm, form))


class BoundOfOne(eqx.Module):
    """The bound of one selected component, where a function of `args` gives those of all.

    Args:
        function: maps `args` to one bound for all selected components, or to an array of bounds.
        shape: shape of the selected components.
        number: number of this component among them, in C order.
    """

    function: Callable[[PyTree], Any]
    shape: tuple[int, ...] = eqx.field(static=True)
    number: int = eqx.field(static=True)

    def __call__(self, args: PyTree) -> Any:
        """The bound of this component, shape ()."""
        return _of_one(self.function(args), self.shape, self.number)


def selected_bounds(bounds: Sequence[Any], form: StateForm | None, size: int) -> tuple[Any, ...]:
    """Bounds of single components of the vector, from the user's bounds.

    Args:
        bounds: the user's bounds.
        form: the form of the state; None: it is a vector.
        size: number of components of the vector.

    Raises:
        InvalidInput: for an index where the state is a pytree, and for a function that does not
            select components.
        Unsupported: for bounds of complex components.
    """
    found: list[Any] = []
    for bound in bounds:
        if not isinstance(bound, Bound):
            found.append(bound)
        elif callable(bound.component):
            found += _selected(bound, np.arange(size) if form is None else form.indices())
        elif form is not None:
            given = f"Bound({bound.component}, ...)"
            raise InvalidInput(OWNER, "bounds", f"Bound({SELECTION}, ...)", given)
        else:
            found.append(bound)
    return tuple(found)


def _selected(bound: Bound, indices: PyTree) -> list[Bound]:
    """One bound for each component that `bound.component` selects from the state of `indices`.

    Raises:
        InvalidInput: if `bound.component` returns anything but indices of components.
        Unsupported: if it selects complex components.
    """
    assert callable(bound.component)
    chosen = [np.asarray(leaf) for leaf in jax.tree.leaves(bound.component(indices))]
    if not all(np.issubdtype(leaf.dtype, np.integer) for leaf in chosen):
        raise InvalidInput(
            OWNER, "bounds", SELECTION, Words("a function that computes other values")
        )
    numbers = np.concatenate([np.zeros(0, int), *(leaf.ravel() for leaf in chosen)])
    shape = chosen[0].shape if len(chosen) == 1 else numbers.shape
    if np.any(numbers < 0):
        advice = "they have no order; keep real and imaginary parts in separate leaves"
        raise Unsupported(OWNER, "a bound of complex components", advice)

    def value(given: Any, number: int) -> Any:
        if given is None:
            return None
        if callable(given):
            return BoundOfOne(given, shape, number)
        one = _of_one(given, shape, number)
        return one if isinstance(one, Tracer) else float(one)

    return [
        Bound(int(component), value(bound.lower, number), value(bound.upper, number))
        for number, component in enumerate(numbers)
    ]


def _of_one(values: Any, shape: tuple[int, ...], number: int) -> Any:
    """The bound of one of several components: element `number` of `values`, or its only number.

    Raises:
        InvalidInput: unless `values` is one number, or has this shape.
    """
    given = np.shape(values)
    if given == ():
        return values
    if given != shape:
        allowed = f"with limits of shape () or {shape}, that of the selected components"
        raise InvalidInput(OWNER, "bounds", allowed, Words(f"shape {given}"))
    return values.reshape(-1)[number] if hasattr(values, "reshape") else np.ravel(values)[number]
