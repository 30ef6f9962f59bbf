"""The state of the adaptive loop, and its static sizes and limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
from jaxtyping import Array, Bool, Float, Int32

from vegasfluid.dde.adaptive.breaking_points import BreakingPoints
from vegasfluid.dde.adaptive.history_ring import Piece, Ring
from vegasfluid.dde.adaptive.node import Node
from vegasfluid.dde.adaptive.save_times import Saved
from vegasfluid.dde.adaptive.tape import Tape

__all__ = ["Limits", "State"]


class Limits(NamedTuple):
    """Static sizes and limits of a solve.

    Args:
        rows: number of pieces in the ring; a power of two, or more than there can be steps.
        breaks: number of breaking points after t0 that are kept, a power of two.
        max_steps: largest number of attempted steps.
        meter: progress meter.
        save_block: number of save times that are evaluated together.
        taped: whether to record the tape for the reverse pass.
    """

    rows: int
    breaks: int
    max_steps: int
    meter: diffrax.AbstractProgressMeter
    save_block: int
    taped: bool = False


class State(NamedTuple):
    """The loop's state.

    Args:
        ring: the pieces before `row`.
        row: row of the newest piece of each instance, shape (batch,).
        piece: the newest pieces, not yet in the ring.
        breaks: all breaking points so far.
        node: time and state of each instance.
        step: length of the next step, shape (batch,).
        uncut_step: the step's length before an event shortened it, else 0; shape (batch,).
        control: state of the step-size controller.
        outcome: an `Outcome`, shape (batch,).
        chatter_count: number of consecutive events without a step in between, shape (batch,).
        saved: the solution at the save times so far.
        flushed: the row up to which save times have been evaluated, shape (batch,).
        steps: number of accepted steps, shape (batch,).
        rejected: number of rejected attempts, shape (batch,).
        landed: number of steps that ended at an event, shape (batch,).
        ended: whether each condition of `event` has ended the solve, shape (events, batch).
        attempts: number of iterations of the loop: attempted steps of the slowest instance.
        tape: the tape for the reverse pass; None without one.
    """

    ring: Ring
    row: Int32[Array, " batch"]
    piece: Piece
    breaks: BreakingPoints
    node: Node
    step: Float[Array, " batch"]
    uncut_step: Float[Array, " batch"]
    control: Any
    outcome: Int32[Array, " batch"]
    chatter_count: Int32[Array, " batch"]
    saved: Saved
    flushed: Int32[Array, " batch"]
    steps: Int32[Array, " batch"]
    rejected: Int32[Array, " batch"]
    landed: Int32[Array, " batch"]
    ended: Bool[Array, "events batch"]
    attempts: Int32[Array, ""]
    tape: Tape | None
