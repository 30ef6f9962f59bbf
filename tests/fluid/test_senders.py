"""What senders observe and how long they wait, by hand and by the sums that formulas stand for."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tests.fluid.test_synchronised_losses import senders_with_losses
from vegasfluid import Cubic, DropTail, Flows, Link, Network, Reno
from vegasfluid.congestion.base import Window
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.fluid.senders import (
    LossSignals,
    SenderSignals,
    law_signals,
    loss_events,
    signal_delay,
    timeout_duration,
)


def test_a_signal_is_as_old_as_the_way_from_its_queue_and_back() -> None:
    """A round trip, less the waits and delays on the way to the queue, by hand."""
    links = {name: Link(1000.0, 60, DropTail(), delay=0.001) for name in ("a", "b", "c")}
    network = Network(links, {"reno": Flows(1, Reno(), base_rtt=0.1, path=tuple(links))})
    structure = build_parameters(network)[1]
    waits, propagation = jnp.array([0.01, 0.02, 0.04]), jnp.array([0.0, 0.003, 0.005])
    ages = [signal_delay(hop, 0.2, waits, propagation, structure) for hop in range(3)]
    assert ages == pytest.approx([0.2, 0.2 - 0.013, 0.2 - 0.013 - 0.025])


def senders(rtt: float, min_rto: float, drop_prob: float = 0.0) -> SenderSignals:
    one = jnp.ones(1)
    losses = LossSignals(0 * one, drop_prob * one)
    return senders_with_losses(0.0)._replace(rtt=rtt * one, min_rto=min_rto * one, losses=losses)


@pytest.mark.parametrize(
    ("rtt", "min_rto", "timer"), [(0.1, 0.2, 0.2), (0.1, 0.15, 0.15), (0.4, 0.2, 0.6)]
)
def test_after_a_timeout_a_flow_waits_for_its_timer_and_half_of_slow_start(
    rtt: float, min_rto: float, timer: float
) -> None:
    """The timer is at least 1.5 round trips; slow start doubles 1 to half of 16 in three of them.

    A flow in slow start sends half of the time's packets: half of it counts as idle time.
    """
    duration = timeout_duration(jnp.array([16.0]), senders(rtt, min_rto))
    assert float(duration[0]) == pytest.approx(timer + 3 * rtt / 2)
    at_once = timeout_duration(jnp.array([2.0]), senders(rtt, min_rto))
    assert float(at_once[0]) == pytest.approx(timer)


@pytest.mark.parametrize("drop_prob", [0.05, 0.2, 0.45])
def test_timeouts_in_a_row_double_the_timer_up_to_sixty_four(drop_prob: float) -> None:
    """Padhye et al., SIGCOMM 1998: k timeouts in a row, with probability p^(k - 1) (1 - p)."""
    timers = np.minimum(2.0 ** np.arange(400), 64.0)
    in_a_row = drop_prob ** np.arange(400) * (1 - drop_prob)
    mean = float((in_a_row * np.cumsum(timers)).sum())
    duration = timeout_duration(jnp.array([2.0]), senders(0.1, 0.2, drop_prob))
    assert float(duration[0]) == pytest.approx(0.2 * mean, rel=1e-9)


@pytest.mark.parametrize(("law", "cut"), [(Reno(), 0.5), (Cubic(), 0.3)])
def test_flows_outside_recovery_have_larger_windows(law, cut: float) -> None:
    """Let W be the windows of those outside: W (1 - r) + W (1 - b) r is the mean, W (1 - r b).

    So each loss of theirs takes more of the mean, and only they, a part 1 - r, have loss events.
    """
    state = law.init(jnp.array([1e6]), jnp.array([0.1]))
    state = state._replace(slow_start=jnp.zeros(1))
    recovering = 0.4
    observed = senders_with_losses(0.0)._replace(in_recovery=jnp.array([recovering]))
    signals = law_signals(state, law, observed, FluidOptions())
    events = loss_events(state, law, observed, signals)
    assert float(events.rate[0]) == pytest.approx(0.5 * (1 - recovering))
    larger = 1 / ((1 - recovering) + (1 - cut) * recovering)
    assert float(events.effective_rate[0] / events.rate[0]) == pytest.approx(larger)


def test_a_window_beyond_what_is_sent_does_not_limit() -> None:
    """At 100 packets/s for 0.1 s a sender uses 10 packets of its window, more or less a twentieth.

    Whole packets are in flight: of a window that grows, half a packet less.
    """
    observed = senders_with_losses(0.0)._replace(rate_limit=jnp.array([100.0]))
    limited = []
    for in_flight in (9.0, 10.0, 10.25, 10.5, 12.0):
        state = Window(jnp.array([in_flight + 0.5]), jnp.zeros(1))
        signals = law_signals(state, Reno(), observed, FluidOptions())
        limited.append(float(signals.window_limited[0]))
    assert limited == pytest.approx([1.0, 1.0, 0.5, 0.0, 0.0], abs=1e-9)
