"""A congestion control: a drift for the fluid model, rules for packets.

A congestion control is a frozen dataclass of its parameters. Its `drift` is the mean effect of its
`rules`; `tests/congestion/test_contract.py` tests this. Neither depends on queues, JAX or Numba:
the fluid model traces the drift, the packet simulator compiles the rules.

Sources:
    M. Mathis et al., ACM CCR 27(3), 1997 (periodic losses); T. Ott, J. Kemperman and M. Mathis,
    "The stationary behavior of ideal TCP congestion avoidance", 1996 (independent losses: 1.3098
    sqrt(1/p) for a cut of one half; neither checked against the original). The products for other
    cuts follow from the moments of the same process; tests simulate it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

from vegasfluid import smooth
from vegasfluid.congestion.loss_recovery import SMALLEST_SSTHRESH
from vegasfluid.congestion.packet_rules import PacketRules
from vegasfluid.quantities import Value

__all__ = [
    "LOSS_PROCESSES",
    "CongestionControl",
    "PacketRules",
    "Signals",
    "Window",
    "aimd_loss_factor",
    "leaves_slow_start",
    "loss_based_growth",
    "whole_part",
]

Real = smooth.Real
"""A float, a NumPy or JAX array of any shape, or a SymPy expression."""

LOSS_PROCESSES = ("iid", "periodic", "meanfield")
"""How losses of a flow are spaced: independently, at equal distances, or only by their mean (every
flow then has the mean window)."""


class Window(NamedTuple):
    """State of a flow, or the mean state of a group of flows, or its time derivative.

    A congestion control with more state has its own tuple, which also has `slow_start`.

    Args:
        cwnd: congestion window, packets.
        slow_start: fraction of the flows that are in slow start.
    """

    cwnd: Real
    slow_start: Real


class Signals(NamedTuple):
    """What a sender observes now; rates are those of one flow.

    Args:
        rtt: round-trip time, mean over its packets, s.
        ack_rate: packets acknowledged, packets/s.
        loss_rate: loss events (at most one per window) of one round trip ago, 1/s.
        initial_ssthresh: window at which the first slow start ends, packets.
        ack_every: packets that an ACK acknowledges.
        growing: fraction of the flows that are not in recovery, so that their windows may grow.
        window_limited: fraction of the growing flows that the window limits, not the application.
        timeout_rate: timeouts that end now with a restart of the sender, 1/s.
        min_rtt_offset: mean minus smallest round-trip time without jitter, s.
        jitter: width of the uniform noise of single round-trip times, s.
        reordering: fraction of the time in which packets overtake each other.
        mark_prob: fraction of the packets acknowledged now that are marked, 0 to 1.
        marked: fraction of the loss events that are marks, not losses. Both are 0 unless the
            control `distinguishes_marks`.
        loss_process: how losses are spaced, a name in `LOSS_PROCESSES`.
    """

    rtt: Real
    ack_rate: Real
    loss_rate: Real
    initial_ssthresh: Real
    ack_every: Real = 1
    growing: Real = 1
    window_limited: Real = 1
    timeout_rate: Real = 0
    min_rtt_offset: Real = 0
    jitter: Real = 0
    reordering: Real = 0
    mark_prob: Real = 0
    marked: Real = 0
    loss_process: str = "meanfield"


@dataclass(frozen=True)
class CongestionControl(Value):
    """A congestion control with its parameters.

    The fluid model has two parts: `growth`, the rate of change of a flow's state between losses,
    and `after_loss`, the state after a loss. The density model applies them to a distribution of
    states; `drift` applies them to the mean state of a group of flows.
    """

    name: ClassVar[str]
    """Name in model files."""
    sources: ClassVar[tuple[str, ...]]
    """Literature and source code that define it."""

    domains: ClassVar[Mapping[str, tuple[float, float]]] = {"slow_start": (0.0, 1.0)}
    """Smallest and largest value of fields of the state, by field name; without `cwnd`, which
    `clip` bounds by its argument. Fields that are not named have no bounds."""

    learns_base_rtt: ClassVar[bool] = False
    """Whether flows measure their base RTT; then `base_rtt` is a field of the state."""

    has_dead_band: ClassVar[bool] = False
    """Whether the window is constant for backlogs between the parameters `alpha` and `beta`."""

    distinguishes_marks: ClassVar[bool] = False
    """Whether flows respond to ECN marks in another way than to losses."""

    host_defaults: ClassVar[Mapping[str, Any]] = {}
    """Values, by parameter name, that `on_host` sets where both the parameter and the host's field
    of the same name are None."""

    @property
    def counts_acks(self) -> bool:
        """Whether growth after slow start depends on the number of ACKs, so that delayed ACKs
        slow it down.
        """
        return True

    @property
    def usual_host(self) -> str | None:
        """Name of the kind of host (in `HOSTS`) whose implementation this is, or None.

        None means that the congestion control may be on any host.
        """
        return None

    def on_host(self, host: Any) -> Self:
        """Copy in which parameters that are None have the values of a host.

        Where the host's value is None, too, it is that of `host_defaults`. A parameter that is no
        field of the host stays None. Without any such parameter the control itself is returned.

        Args:
            host: a `vegasfluid.network.hosts.Host`; its fields have the names of parameters.
        """
        names = [entry.name for entry in fields(self) if getattr(self, entry.name) is None]
        values = {name: getattr(host, name) for name in names if hasattr(host, name)}
        for name, value in values.items():
            values[name] = self.host_defaults.get(name) if value is None else value
        return replace(self, **values) if values else self

    @property
    def label(self) -> str:
        """Name for tables and plots, with the implementation where there are several."""
        return self.name

    @property
    def whole_thresholds(self) -> bool:
        """Whether alpha, beta and gamma must be whole numbers of packets, as in some dialects."""
        return False

    def init(self, cwnd: Real, rtt: Real) -> Any:
        """Initial state of a flow, in slow start.

        Args:
            cwnd: initial window, packets.
            rtt: round-trip time of its first packet, s.

        Returns:
            A named tuple with `cwnd` (packets), `slow_start` (1) and the fields of the control.
        """
        return Window(cwnd, cwnd / cwnd)

    def cwnd_of(self, window: Any, rtt: Real) -> Real:
        """Congestion window of a flow's state `window` at a round-trip time (s), packets."""
        return window.cwnd

    def in_flight(self, window: Any, rtt: Real) -> Real:
        """Packets in flight that a state allows: the mean whole part of a growing window.

        A sender does not send a fraction of a packet; the mean fraction of a window that grows
        steadily is one half.

        Args:
            window: state of a flow.
            rtt: round-trip time, s.
        """
        return whole_part(self.cwnd_of(window, rtt), 1.0)

    def clip(self, window: Any, largest: Real) -> Any:
        """State with `cwnd` clipped to 2 to `largest` packets and other fields to their `domains`.

        The exact solution never leaves these ranges, but a step of a solver may.

        Args:
            window: state of a flow; fields that `domains` does not name are not clipped.
            largest: largest window, packets.
        """
        fields = {
            name: smooth.clip(getattr(window, name), *bounds)
            for name, bounds in self.domains.items()
        }
        return window._replace(cwnd=smooth.clip(window.cwnd, SMALLEST_SSTHRESH, largest), **fields)

    def stationary_fields(self, window: Any, rtt: Real, base_rtt: Real) -> dict[str, Real]:
        """Fields of the state that no longer change at equilibrium, with their values after a run.

        Args:
            window: the state.
            rtt: round-trip time at equilibrium, s.
            base_rtt: base RTT that the flow has measured, s.

        Returns:
            Values by field name; by default `slow_start`, 0.
        """
        return {"slow_start": 0 * window.cwnd}

    def upper_variant(self) -> CongestionControl:
        """A control whose only equilibrium is the one with the largest window of this control.

        Vegas has a range of equilibria between alpha and beta; others have only one, and return
        themselves.
        """
        return self

    @abstractmethod
    def growth(self, window: Any, signals: Signals) -> Any:
        """Rate of change of a flow's state between losses.

        Args:
            window: the state; all fields have the same shape.
            signals: what the sender observes, of the same shape.

        Returns:
            d(window)/dt, each field in its unit per second (`cwnd` in packets/s).
        """

    @abstractmethod
    def after_loss(self, window: Any, signals: Signals) -> Any:
        """State of a flow after one loss event, from its state before the event.

        Args:
            window: state before the loss; all fields have the same shape.
            signals: what the sender observes, of the same shape.

        Returns:
            A tuple such as `window`, with the smaller `cwnd` (packets).
        """

    def loss_factor(self, process: str, window: Any) -> Real:
        """Factor, without unit, by which `drift` multiplies the loss rate of a mean window.

        Windows vary between losses, so the mean of their square is not the square of their mean.
        The factor corrects the equilibrium window for this; by default it is 1.

        Args:
            process: a name in `LOSS_PROCESSES`.
            window: the state.
        """
        return 1

    def drift(self, window: Any, signals: Signals) -> Any:
        """Mean rate of change of the state of a group of flows, by growth and by losses.

        Args:
            window: mean state of a group of flows; all fields have the same shape.
            signals: what the senders observe, of the same shape.

        Returns:
            d(window)/dt, each field in its unit per second (`cwnd` in packets/s).
        """
        return self.with_losses(window, self.growth(window, signals), signals)

    def with_losses(self, window: Any, growth: Any, signals: Signals) -> Any:
        """Mean rate of change of a state: growth of the flows not in recovery, plus losses.

        growing * growth + loss_rate * loss_factor * (after_loss - window), where `loss_factor` is
        the method's value for the process `signals.loss_process`.

        Args:
            window: mean state of a group of flows.
            growth: its rate of change between losses, each field in its unit per second.
            signals: what the senders observe, of which `growing`, `loss_rate`, `loss_process` and
                what `after_loss` reads are used.

        Returns:
            d(window)/dt, each field in its unit per second.
        """
        loss_rate = signals.loss_rate * self.loss_factor(signals.loss_process, window)
        fields = zip(window, growth, self.after_loss(window, signals), strict=True)
        rates = (
            signals.growing * increase + loss_rate * (after - value)
            for value, increase, after in fields
        )
        return type(window)(*rates)

    @property
    def recovery_scheme(self) -> str:
        """Name of the recovery scheme that sets the fraction of losses that end in a timeout.

        It is a name in `loss_recovery.TIMEOUTS`.
        """
        return self.rules.recovery

    @property
    @abstractmethod
    def rules(self) -> PacketRules:
        """The packet simulator's rules, functions on a flow's record for ACKs and losses."""

    def packet_parameters(self) -> dict[str, float]:
        """Parameters that `rules` reads from the flow's record, by field name; by default none.

        Windows and thresholds are in packets, times in ps, switches 0 or 1.
        """
        return {}


def aimd_loss_factor(process: str, cut: Real) -> Real:
    """Factor of the loss rate of a mean window, for additive increase, multiplicative decrease.

    With periodic losses the mean window is sqrt((2 - b) / (2 b p)), with independent losses
    sqrt(2 / (pi p)) / prod((1 - u^(2k-1)) / (1 - u^(2k))), u = 1 - b; the mean-field equation gives
    sqrt(1 / (b p)). A fraction replaces the product; its error is at most 0.2 %.

    Args:
        process: a name in `LOSS_PROCESSES`.
        cut: fraction b of the window that a loss takes away.

    Returns:
        The factor, without unit, with which the mean-field equation has the mean window of the
        process; 1 for `meanfield`.

    >>> round(aimd_loss_factor("periodic", 0.5), 4), round(aimd_loss_factor("iid", 0.5), 4)
    (1.3333, 1.1667)
    """
    if process == "meanfield":
        return 1
    periodic = 2 / (2 - cut)
    return periodic if process == "periodic" else periodic * (1 - cut / 4)


def whole_part(cwnd: Real, growing: Real) -> Real:
    """Mean of the whole parts of windows, packets, at least the smaller of the window and 1.

    Args:
        cwnd: mean window, packets.
        growing: fraction of the windows that grow and are not whole: they lose 1/2 on average.
    """
    return smooth.maximum(cwnd - growing / 2, smooth.minimum(cwnd, 1.0))


def leaves_slow_start(cwnd: Real, signals: Signals) -> Real:
    """Fraction, 0 to 1, to which a window has reached the ssthresh of the first slow start.

    It rises smoothly from 0 to 1 over one packet above `signals.initial_ssthresh`.

    Args:
        cwnd: congestion window, packets.
        signals: what the sender observes.
    """
    return smooth.step(cwnd - signals.initial_ssthresh, 1.0)


def loss_based_growth(window: Window, signals: Signals, increase: Real) -> Window:
    """Rate of change between losses: slow start, then a constant increase per round trip.

    In slow start the window grows by one packet per ACK. Slow start ends within about a round trip
    above the initial ssthresh.

    Args:
        window: the state.
        signals: what the sender observes; `ack_rate`, `ack_every`, `initial_ssthresh` and `rtt`
            are used.
        increase: growth after slow start, packets per round trip if each packet has its own ACK.

    Returns:
        d(cwnd)/dt, packets/s, and d(slow_start)/dt, 1/s.
    """
    stop = leaves_slow_start(window.cwnd, signals)
    doubling = window.slow_start * (1 - stop)
    acks = signals.ack_rate / signals.ack_every
    growth = (doubling + (1 - doubling) * increase / window.cwnd) * acks
    return Window(growth, -window.slow_start * stop / signals.rtt)
