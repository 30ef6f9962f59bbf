"""The user's functions of one solve as an `Equation`.

They are traced once. A function that closes over a traced array could not be differentiated within
the solver, so such arrays become arguments, like those in `args`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, PyTree

from vegasfluid.dde.adaptive.arguments import Arguments, TracedArguments
from vegasfluid.dde.adaptive.history import History
from vegasfluid.dde.adaptive.indicators import event_directions, indicators
from vegasfluid.dde.adaptive.method import method_of
from vegasfluid.dde.adaptive.problem import Equation
from vegasfluid.dde.adaptive.program import Program, traced_program
from vegasfluid.dde.shape_checks import check_shape
from vegasfluid.errors import InvalidInput

__all__ = ["AllArgs", "traced_equation"]


class AllArgs(NamedTuple):
    """All arguments of the functions of a solve; in a batch each array has its axis first.

    Args:
        given: the user's `args`, without leaves that are no arrays.
        y0: state at t0, which is the default initial history.
        closed_over: traced arrays that the user's functions close over.
    """

    given: PyTree
    y0: Array
    closed_over: tuple[Array, ...]


def traced_equation(
    arguments: Arguments, traced: TracedArguments, args: PyTree
) -> tuple[Equation, tuple[Array, ...]]:
    """The equation of a solve, whose functions take `AllArgs`, and its field `closed_over`.

    Args:
        arguments: static arguments of `solve`, with the functions.
        traced: t0 and states at t0, the batch axis first.
        args: the user's arguments, each leaf with the batch axis first.

    Returns:
        The equation, and the traced arrays that its functions close over, without a batch axis.

    Raises:
        InvalidInput: if one of the user's functions returns another shape than it must, and for
            bounds of components that do not exist or that occur twice.
    """
    t, y, args = jax.tree.map(lambda leaf: leaf[0], (traced.t0, traced.y0, args))
    history, full, closed_over = History(y.size, y.dtype), arguments.all_args, []
    directions = event_directions(arguments.event)
    rhs_indicators, total = None, 0
    if arguments.guards is not None or arguments.resets or directions:
        rhs_indicators = traced_program(
            lambda t, y, args: indicators(arguments, t, y, history, full(args)), t, y, args
        )
        total = rhs_indicators.shapes.shape[0]
    guards = total - len(arguments.resets) - len(directions)
    above = () if arguments.guards is None else (jnp.zeros(guards, bool),)
    rhs = traced_program(
        lambda t, y, args, *above: arguments.rhs(t, y, history, full(args), *above),
        *(t, y, args, *above),
    )
    check_shape("rhs", rhs.shapes, y.shape)
    jumps = arguments.times("jump_ts", float).shape[0]
    programs = (rhs,) if rhs_indicators is None else (rhs, rhs_indicators)
    equation = Equation(
        rhs=_reading(rhs, closed_over),
        initial_history=_initial_history(arguments, (t, y, args), closed_over),
        guards=None if rhs_indicators is None else _reading(rhs_indicators, closed_over),
        signs_of_rhs=None if arguments.guards is None else guards,
        resets=_resets(arguments, (t, y, args), closed_over),
        event_directions=directions,
        jump_count=jumps,
        project=_projection(arguments, (t, y, args), closed_over),
        guard_count=total + jumps,
        bounded=_bounded(arguments, y.size),
        method=method_of(arguments.solver),
        delayed=any(program.reads() for program in programs),
        neutral=any(program.reads(derivative=True) for program in programs),
    )
    return equation, tuple(closed_over)


def _explicit(program: Program, closed_over: list[Array]) -> Callable[..., PyTree]:
    """A program as a function without hidden inputs.

    Its arguments are a function that reads the history, `AllArgs`, and the program's own arguments.
    Constants of the program that JAX traces are appended to `closed_over`.
    """
    places = {}
    for number, constant in enumerate(program.constants):
        if isinstance(constant, Tracer):
            places[number] = len(closed_over)
            closed_over.append(cast(Array, constant))

    def call(reader: Any, args: AllArgs, *given: PyTree) -> PyTree:
        constants = [
            args.closed_over[places[number]] if number in places else constant
            for number, constant in enumerate(program.constants)
        ]
        return program.run(reader, constants, *given)

    return call


def _reading(program: Program, closed_over: list[Array]) -> Callable[..., Array]:
    """A traced program of (t, y, args, *above) as a function that reads the history by `reader`.

    The function takes (t, y, reader, all args, *above); `above` are the signs of guards.
    """
    call = _explicit(program, closed_over)
    return lambda t, y, reader, args, *above: call(reader, args, t, y, args.given, *above)


def _initial_history(
    arguments: Arguments, example: tuple[Array, Array, PyTree], closed_over: list[Array]
) -> Callable[[Array, AllArgs], Array]:
    """The state before t0 as a function of a time s and all args; without a history, always y0.

    Args:
        arguments: the user's functions, of which `initial_history` is used.
        example: (t, y, args) with which they are traced.
        closed_over: list to which the traced arrays are appended that the function closes over.

    Returns:
        The function, whose result has the shape of y.

    Raises:
        InvalidInput: if the history has another shape.
    """
    before = arguments.initial_history
    if before is None:
        return lambda s, args: args.y0
    t, y, args = example
    program = traced_program(lambda s, args: before(s, arguments.all_args(args)), t, args)
    check_shape("initial_history", program.shapes, y.shape)
    call = _explicit(program, closed_over)
    return lambda s, args: call(None, args, s, args.given)


def _projection(
    arguments: Arguments, example: tuple[Array, Array, PyTree], closed_over: list[Array]
) -> Callable[[Array, AllArgs], Array] | None:
    """The projection as a function of (y, all args); None if there is none.

    It is traced with `example`, (t, y, args). Traced arrays that it closes over are appended to
    `closed_over`.

    Raises:
        InvalidInput: unless it returns the shape of y.
    """
    project = arguments.project
    if project is None:
        return None
    program = traced_program(lambda y, args: project(y, arguments.all_args(args)), *example[1:])
    check_shape("project", program.shapes, example[1].shape)
    call = _explicit(program, closed_over)
    return lambda y, args: call(None, args, y, args.given)


def _resets(
    arguments: Arguments, example: tuple[Array, Array, PyTree], closed_over: list[Array]
) -> tuple[Any, ...]:
    """The resets, with effects that are functions of (t, y, all args).

    They are traced with `example`, (t, y, args). Traced arrays that they close over are appended to
    `closed_over`.

    Raises:
        InvalidInput: unless each effect returns the shape of y.
    """

    def effect(reset: Any) -> Callable[[Array, Array, AllArgs], Array]:
        program = traced_program(
            lambda t, y, args: reset.effect(t, y, arguments.all_args(args)), *example
        )
        check_shape("resets", program.shapes, example[1].shape)
        call = _explicit(program, closed_over)
        return lambda t, y, args: call(None, args, t, y, args.given)

    return tuple(reset._replace(effect=effect(reset)) for reset in arguments.resets)


def _bounded(arguments: Arguments, size: int) -> tuple[int, ...]:
    """The indices of the bounded components of a state with `size` components.

    Raises:
        InvalidInput: for components that do not exist or that occur twice.
    """
    bounded = tuple(cast(int, bound.component) for bound in arguments.bounds)  # not a selector
    if any(not 0 <= component < size for component in bounded):
        raise InvalidInput("dde.solve", "bounds", f"for components 0 to {size - 1}", bounded)
    if len(set(bounded)) < len(bounded):
        raise InvalidInput("dde.solve", "bounds", "of different components", bounded)
    return bounded
