"""States that are pytrees: the solver integrates one real vector of all their leaves.

The vector is made where `solve` is entered. The user's functions are wrapped, so that they get and
return states of the user's form. A state that is a vector already is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from vegasfluid.errors import InvalidInput, Words

__all__ = ["StateForm", "StructuredHistory", "vector_and_form"]

OWNER = "dde.solve"
"""The function that error messages name."""


@dataclass(frozen=True)
class StateForm:
    """The form of a state: its tree, and shape and kind of each leaf; hashable.

    Args:
        structure: the tree.
        shapes: shape of each leaf, without a batch axis.
        is_complex: whether each leaf is complex. The vector has its real parts, then its imaginary
            parts.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    is_complex: tuple[bool, ...]

    def tree(self, vector: Float[Array, "*lead n"]) -> PyTree:
        """The state that a vector holds; axes in front of the last are kept in front.

        >>> import jax
        >>> form = StateForm(jax.tree.structure({"a": 0, "b": 0}), ((), (1, 2)), (False, True))
        >>> state = form.tree(jnp.arange(5.0))
        >>> float(state["a"]), state["b"].tolist()
        (0.0, [[(1+3j), (2+4j)]])
        """
        leaves, first = [], 0
        for shape, is_complex in zip(self.shapes, self.is_complex, strict=True):
            parts = []
            for _ in range(1 + is_complex):
                part = vector[..., first : first + int(np.prod(shape))]
                parts.append(part.reshape(*vector.shape[:-1], *shape))
                first += int(np.prod(shape))
            leaves.append(jax.lax.complex(*parts) if is_complex else parts[0])
        return jax.tree.unflatten(self.structure, leaves)

    def vector(self, name: str, tree: PyTree) -> Float[Array, " n"]:
        """The vector of a state that the user's function `name` returned.

        Raises:
            InvalidInput: unless the state has this form.
        """
        paths, structure = jax.tree.flatten_with_path(tree)
        if structure != self.structure:
            allowed = f"a function that returns {_in_words(self.structure)}, as y0 is"
            raise InvalidInput(OWNER, name, allowed, _in_words(structure))
        parts = []
        for (path, leaf), shape, is_complex in zip(
            paths, self.shapes, self.is_complex, strict=True
        ):
            leaf = jnp.asarray(leaf)
            at = f" at {jax.tree_util.keystr(path)}" if path else ""
            where = f"a function that returns{at}"
            if leaf.shape != shape:
                raise InvalidInput(OWNER, name, f"{where} an array of shape {shape}", leaf.shape)
            if jnp.iscomplexobj(leaf) and not is_complex:
                raise InvalidInput(OWNER, name, f"{where} real numbers, as in y0", leaf.dtype)
            parts += _parts(leaf, is_complex)
        return jnp.concatenate(parts)

    def indices(self) -> PyTree:
        """A state whose numbers are the indices of its components in the vector.

        Components of complex leaves, which have two indices, get -1.
        """
        leaves, first = [], 0
        for shape, is_complex in zip(self.shapes, self.is_complex, strict=True):
            size = int(np.prod(shape))
            numbers = np.full(size, -1) if is_complex else np.arange(first, first + size)
            leaves.append(numbers.reshape(shape))
            first += size * (1 + is_complex)
        return jax.tree.unflatten(self.structure, leaves)


def _parts(leaf: Array, is_complex: bool) -> list[Array]:
    """The real numbers of one leaf, each array of one axis: itself, or real and imaginary parts."""
    if not is_complex:
        return [leaf.ravel()]
    return [jnp.real(leaf).ravel(), jnp.imag(leaf).ravel()]


def _in_words(structure: Any) -> str:
    """A tree as in messages: an array, or JAX's description of it, cut after 60 characters."""
    if structure == jax.tree.structure(0):
        return "an array"
    text = str(structure).removeprefix("PyTreeDef(").removesuffix(")")
    return text if len(text) <= 60 else f"{text[:57]}..."


def vector_and_form(owner: str, y0: PyTree, *, batch: bool) -> tuple[Array, StateForm | None]:
    """The state at t0 as a vector, shape (n,) or (batch, n), and its form.

    Args:
        owner: the function that was called, for messages.
        y0: the user's state: a pytree of floating or complex arrays.
        batch: whether each leaf has the batch axis first.

    Returns:
        The vector in the common dtype of all leaves; the form is None if y0 is such a vector.

    Raises:
        InvalidInput: for leaves that are no such arrays, and for an empty state.
    """
    paths, structure = jax.tree.flatten_with_path(y0)
    leaves = [_checked_leaf(owner, path, leaf) for path, leaf in paths]
    plain = structure == jax.tree.structure(0) and not jnp.iscomplexobj(leaves[0])
    if plain and leaves[0].ndim == 1 + batch:
        return leaves[0], None
    lead = leaves[0].shape[:1] if batch and leaves else ()
    if any(leaf.shape[:1] != lead for leaf in leaves if batch) or (batch and not lead):
        allowed = "a pytree whose leaves have one batch axis of the same length in front"
        raise InvalidInput(owner, "y0", allowed, Words(f"shapes {[leaf.shape for leaf in leaves]}"))
    if not sum(leaf.size for leaf in leaves):
        raise InvalidInput(owner, "y0", "a state with at least one number", Words("empty"))
    form = StateForm(
        structure,
        tuple(leaf.shape[batch:] for leaf in leaves),
        tuple(jnp.iscomplexobj(leaf) for leaf in leaves),
    )
    parts = [
        part.reshape(*lead, -1)
        for leaf, is_complex in zip(leaves, form.is_complex, strict=True)
        for part in _parts(leaf, is_complex)
    ]
    return jnp.concatenate(parts, axis=-1), form


def _checked_leaf(owner: str, path: Any, leaf: Any) -> Array:
    """One leaf of y0 as an array.

    Raises:
        InvalidInput: unless it is floating or complex.
    """
    where = f"y0{jax.tree_util.keystr(path)}"
    if not eqx.is_array_like(leaf):
        allowed = "a number or an array; use eqx.partition(y0, eqx.is_array) for other leaves"
        raise InvalidInput(owner, where, allowed, type(leaf).__name__)
    array = jnp.asarray(leaf)
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        allowed = "of a floating dtype (write 1.0 for 1, or use jnp.asarray(y0, float))"
        raise InvalidInput(owner, where, allowed, Words(array.dtype.name))
    return array


@jax.tree_util.register_static
@dataclass(frozen=True)
class StructuredHistory:
    """The history of a state that is a pytree: `history(s)` and `history.ago(lag)` return one.

    For an array of times, each leaf has the axes of the array in front.

    Args:
        history: the history of the vector.
        form: the form of the state.
    """

    history: Any
    form: StateForm

    def __call__(self, s: float | Float[Array, "*lags"]) -> PyTree:
        """The state y at time s, or at an array of times; s <= t, in the unit of t."""
        return self.form.tree(self.history(s))

    def ago(self, lag: float | Float[Array, "*lags"]) -> PyTree:
        """The state y at t - lag, for one lag or an array of lags; lag >= 0, in the unit of t."""
        return self.form.tree(self.history.ago(lag))

    def derivative(self, s: float | Float[Array, "*lags"]) -> PyTree:
        """The slope dy/dt, of the form of y, at time s or at times; s <= t, in the unit of t."""
        return self.form.tree(self.history.derivative(s))

    def derivative_ago(self, lag: float | Float[Array, "*lags"]) -> PyTree:
        """The slope dy/dt, of the form of y, at t - lag; one lag >= 0 or an array, unit of t."""
        return self.form.tree(self.history.derivative_ago(lag))

    def integral(
        self,
        start: Any,
        end: Any,
        integrand: Callable[[Array, PyTree], Array] | None = None,
        **options: int,
    ) -> Any:
        """The integral of `integrand(s, y(s))` over s from `start` to `end`: a distributed delay.

        Args:
            start: begin of the window, at most `end`, in the unit of t.
            end: end of the window, at most t.
            integrand: function of a time and the state there, to an array; None: the state.
            options: `nodes`, number of quadrature nodes in each panel (8), and `panels`, one more
                than the number of breaking points at which the window may be divided (3).

        Returns:
            The integral, of the shape that `integrand` returns; without it a state.
        """
        if integrand is None:
            return self.form.tree(self.history.integral(start, end, **options))
        return self.history.integral(
            start, end, lambda s, y: integrand(s, self.form.tree(y)), **options
        )


class StructuredDenseOutput(eqx.Module):
    """Dense output of a state that is a pytree.

    Args:
        curve: the dense output of the vector.
        form: the form of the state.
    """

    curve: Any
    form: StateForm = eqx.field(static=True)

    def evaluate(self, times: Array, left: bool) -> PyTree:
        """The states y at any times between t0 and t1, in the unit of t0.

        Each leaf has the axes of the batch and of the times in front. `left` chooses the state
        before a jump.
        """
        return self.form.tree(self.curve.evaluate(times, left))

    def derivative(self, times: Array, left: bool) -> PyTree:
        """The derivatives dy/dt at any times between t0 and t1, in the unit of t0.

        Each leaf has the axes of the batch and of the times in front. `left` chooses the
        derivative before a jump.
        """
        return self.form.tree(self.curve.derivative(times, left))


class _Wrapped(eqx.Module):
    """A user's function of states, as a function of vectors; equal for equal functions."""

    function: Callable[..., Any]
    form: StateForm = eqx.field(static=True)


class VectorRightHandSide(_Wrapped):
    """The user's right-hand side as a function of vectors, to a vector."""

    def __call__(self, t: Any, y: Array, history: Any, args: PyTree, *above: Array) -> Array:
        """The slope dy/dt, shape (n,)."""
        state, history = self.form.tree(y), StructuredHistory(history, self.form)
        return self.form.vector("rhs", self.function(t, state, history, args, *above))


class VectorIndicator(_Wrapped):
    """The user's guards, or the indicator of a reset, as a function of a vector."""

    def __call__(self, t: Any, y: Array, history: Any, args: PyTree) -> Any:
        """The indicators of the guards, shape (m,), or of the reset, shape ()."""
        return self.function(t, self.form.tree(y), StructuredHistory(history, self.form), args)


class VectorCondition(_Wrapped):
    """A condition of `diffrax.Event` as a function of a vector."""

    def __call__(self, t: Any, y: Array, args: PyTree, *, history: Any) -> Any:
        """The number that is zero at the event, shape ()."""
        past = StructuredHistory(history, self.form)
        return self.function(t, self.form.tree(y), args, history=past)


class VectorInitialHistory(_Wrapped):
    """The user's initial history as a function that returns a vector."""

    def __call__(self, s: Any, args: PyTree) -> Array:
        """The state before t0, shape (n,)."""
        return self.form.vector("initial_history", self.function(s, args))


class VectorEffect(_Wrapped):
    """The effect of a reset as a function of a vector, to a vector."""

    def __call__(self, t: Any, y: Array, args: PyTree) -> Array:
        """The state after the event, shape (n,)."""
        return self.form.vector("resets", self.function(t, self.form.tree(y), args))


class VectorProjection(_Wrapped):
    """The user's projection as a function of a vector, to a vector."""

    def __call__(self, y: Array, args: PyTree) -> Array:
        """The allowed state, shape (n,)."""
        return self.form.vector("project", self.function(self.form.tree(y), args))


class SavedFunction(_Wrapped):
    """The `fn` of a `SaveAt` as a function of a vector."""

    def __call__(self, t: Any, y: Array, args: PyTree) -> Any:
        """The values to save at time t: any pytree of arrays."""
        return self.function(t, self.form.tree(y), args)


class VectorNorm(_Wrapped):
    """The norm of a step-size controller as a function of a vector."""

    def __call__(self, y: Array) -> Any:
        """The norm, shape (), of the state that the vector holds."""
        return self.function(self.form.tree(y))
