"""The packet rules of a congestion control; loss recovery is the sender's.

A congestion control defines how its window grows on an ACK and the window after a loss. Duplicate
ACKs, fast retransmit, recovery, ECN echoes and timeouts have the same handlers for all, in
`vegasfluid.congestion.loss_recovery`. Each handler is copied here, with the functions of one
congestion control for its undefined names, so that the packet simulator compiles direct calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import FunctionType
from typing import Any

from vegasfluid.congestion import loss_recovery
from vegasfluid.errors import Unsupported

__all__ = ["OPEN", "RECOVERY", "PacketRules"]

OPEN = 0
"""State of a sender with RACK-TLP recovery that misses no packet (see `on_state`)."""
RECOVERY = 3
"""State of a sender with RACK-TLP recovery that retransmits after fast retransmit."""

Handler = Callable[..., Any]
"""A scalar function on a flow record."""


@cache
def specialise(handler: FunctionType, functions: tuple[tuple[str, Handler], ...]) -> Handler:
    """A copy of a handler that calls the functions of one congestion control.

    Args:
        handler: a function of `vegasfluid.congestion.loss_recovery`.
        functions: the functions that replace its undefined names, by these names.

    Returns:
        The copy; its name ends in a hash of the functions' names.
    """
    copy = FunctionType(
        handler.__code__, {**handler.__globals__, **dict(functions)}, handler.__name__
    )
    names = " ".join(f"{name}={f.__module__}.{f.__qualname__}" for name, f in functions)
    digest = hashlib.sha256(names.encode()).hexdigest()[:8]
    copy.__qualname__, copy.__module__ = f"{handler.__name__}_{digest}", handler.__module__
    return copy


def no_rtt_sample(flow: Any, rtt: float) -> None:
    """Do nothing with an RTT sample (ps): the congestion control does not use it."""


def no_restart(flow: Any, now: int) -> None:
    """Do nothing: the congestion control has no state that a timeout changes."""


def no_state(flow: Any, state: int) -> None:
    """Do nothing: the congestion control does not use the state of the sender."""


def no_flight_start(flow: Any, now: int) -> None:
    """Do nothing: the congestion control does not use when a sender starts anew."""


def no_count(flow: Any, acked: int, marked: int) -> None:
    """Do nothing: the congestion control does not count marks."""


def no_recovery_end(flow: Any) -> None:
    """Do nothing: the congestion control has no state that a recovery changes."""


@dataclass(frozen=True)
class PacketRules:
    """A congestion control for packets: plain scalar functions on the `flow` record of a sender.

    Every flow record has the fields of `vegasfluid.packet.records.FLOW`, and those of `state`;
    times in it are integer picoseconds, windows are packets.

    Args:
        increase_window: `(flow, now, acked) -> None`: grow `flow.cwnd` on an ACK of `acked` new
            packets outside recovery; `flow.una` already includes them.
        window_after_loss: `(flow, window) -> float`: window after a loss, given the window in use,
            packets.
        window_after_mark: `(flow, window) -> float`: window after an ECN echo, at most once per
            window of data; None: `window_after_loss`.
        window_after_timeout: `(flow, window) -> float`: window at which the slow start after a
            timeout ends; None: `window_after_loss`.
        on_rtt_sample: `(flow, rtt) -> None`, called first for each ACK whose last packet was sent
            only once, with its RTT in ps; None: no samples are needed.
        on_recovery_end: `(flow) -> None`, called when a recovery by NewReno or SACK ends.
        on_restart: `(flow, now) -> None`, called after a timeout has set the windows.
        on_state: `(flow, state) -> None`, called with RACK-TLP recovery when the sender's state
            changes: 0 open, 1 packets out of order, 2 reducing, 3 in recovery, 4 after a timeout.
        on_flight_start: `(flow, now) -> None`, called with RACK-TLP recovery before a packet is
            sent while nothing is in flight.
        count_marks: `(flow, acked, marked) -> None`, called where queues mark, before all others,
            for each ACK of `acked` new packets, which `flow.una` does not include yet; `marked` is
            1 if it echoes a mark, else 0.
        exact_echo: whether the receiver echoes the marks of all packets exactly (RFC 8257, section
            3.2), instead of one mark until the sender has responded (RFC 3168).
        handlers: replacements for handlers of `loss_recovery`, by name, where retransmission
            differs: `on_ack(flow, now, acked) -> int` and `on_duplicate_ack(flow, now) -> int`
            return the sender's actions, a sum of `RETRANSMIT`, `RESEND`, `SEND` and `SEND_ONE`.
            RACK-TLP recovery does not call them.
        state: fields of the record that the rules add, with their initial values.
        places: names of fields in `state` that are packet numbers: a new connection counts them
            from its own first packet.
        counters: names of fields in `state` that are variables of a trajectory.
        recovery: loss recovery: reno, newreno, sack, rack, or fine (a fine-grained timer, by
            `handlers`).
        reliable: whether packets are acknowledged and lost ones retransmitted.

    Raises:
        Unsupported: for `handlers` with RACK-TLP recovery, which would not be called.
    """

    increase_window: Handler
    window_after_loss: Handler
    window_after_mark: Handler | None = None
    window_after_timeout: Handler | None = None
    on_rtt_sample: Handler | None = None
    on_recovery_end: Handler = no_recovery_end
    on_restart: Handler = no_restart
    on_state: Handler = no_state
    on_flight_start: Handler = no_flight_start
    count_marks: Handler = no_count
    exact_echo: bool = False
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    state: Mapping[str, int | float] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    recovery: str = "reno"
    reliable: bool = True

    def __post_init__(self) -> None:
        if self.handlers and self.recovery == "rack":
            reason = "RACK-TLP recovery does not call them; give another recovery"
            raise Unsupported("PacketRules", f"handlers of {', '.join(self.handlers)}", reason)

    @cached_property
    def decisions(self) -> tuple[tuple[str, Handler], ...]:
        """Functions of the congestion control, with the names by which the handlers call them.

        Missing ones are replaced by `window_after_loss`, or by functions that do nothing.
        """
        return (
            ("increase_window", self.increase_window),
            ("window_after_loss", self.window_after_loss),
            ("window_after_mark", self.window_after_mark or self.window_after_loss),
            ("window_after_timeout", self.window_after_timeout or self.window_after_loss),
            ("on_rtt_sample", self.on_rtt_sample or no_rtt_sample),
            ("on_recovery_end", self.on_recovery_end),
            ("on_restart", self.on_restart),
            ("on_state", self.on_state),
            ("on_flight_start", self.on_flight_start),
            ("count_marks", self.count_marks),
        )

    def _handler(self, handler: Any) -> Handler:
        """A handler of `loss_recovery` for this control: its replacement, or a specialised copy."""
        if handler.__name__ in self.handlers:
            return self.handlers[handler.__name__]
        return specialise(handler, self.decisions)

    @cached_property
    def on_ack(self) -> Handler:
        """Function `(flow, now, acked) -> int` that returns the actions for an ACK of new packets.

        `now` is in ps, `acked` in packets; the actions are a sum of `RETRANSMIT`, `RESEND`, `SEND`
        and `SEND_ONE`.
        """
        return self._handler(loss_recovery.on_ack)

    @cached_property
    def on_duplicate_ack(self) -> Handler:
        """Function `(flow, now) -> int` that returns the sender's actions for a duplicate ACK.

        `now` is in ps; the actions are a sum of `RETRANSMIT`, `RESEND`, `SEND` and `SEND_ONE`.
        """
        return self._handler(loss_recovery.on_duplicate_ack)

    @cached_property
    def on_ecn_echo(self) -> Handler:
        """Function `(flow, now) -> None` that reduces the window for an ECN echo; `now` in ps.

        The sender calls it at most once per window of data.
        """
        return self._handler(loss_recovery.on_ecn_echo)

    @cached_property
    def on_timeout(self) -> Handler:
        """Function `(flow, now) -> None` that sets the windows after a timeout; `now` in ps.

        The sender then restarts at the oldest packet.
        """
        return self._handler(loss_recovery.on_timeout)

    @property
    def functions(self) -> tuple[Handler, ...]:
        """All functions that the packet simulator compiles.

        They are the handlers of ACKs, duplicate ACKs, timeouts and ECN echoes, in this order, and
        the functions of the congestion control that these call (`decisions`).
        """
        return (
            *(self.on_ack, self.on_duplicate_ack, self.on_timeout, self.on_ecn_echo),
            *(function for _, function in self.decisions),
        )

    @property
    def recovery_number(self) -> int:
        """Number of the recovery scheme in the flow record.

        It is RENO, NEWRENO, SACK, FINE or RACK_TLP of `vegasfluid.congestion.loss_recovery`.
        """
        return loss_recovery.RECOVERY_NUMBERS[self.recovery]

    @property
    def keeps_send_times(self) -> bool:
        """Whether the sender stores when and how often it sent each packet.

        RTT samples, replaced `handlers`, SACK and RACK-TLP recovery need these times.
        """
        return bool(self.on_rtt_sample or self.handlers) or self.recovery in ("sack", "rack")
