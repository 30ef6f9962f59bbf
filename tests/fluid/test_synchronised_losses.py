"""Losses at a full buffer: of flows whose windows grow, once each; random where many grow."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from vegasfluid import DropTail, Flows, Link, Network, Red, Reno, Vegas, metrics, simulate_fluid
from vegasfluid import simulate_packets as simulate_in_packets
from vegasfluid.congestion.base import Window
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.fluid.parameters import build_parameters
from vegasfluid.fluid.queues import drop_tail_loss_bias
from vegasfluid.fluid.rtt_noise import RttNoise
from vegasfluid.fluid.senders import LossSignals, SenderSignals, law_signals, loss_events
from vegasfluid.traffic.cbr import Cbr

SENT, GROWN = np.array([300.0, 200.0]), np.array([6.0, 0.0])


OTHER = Flows(1, Vegas(3, 5), base_rtt=0.05)


def two(aqm=None, other: Flows = OTHER) -> tuple:
    """Four flows of Reno and one of another law behind one queue, as numbers and structure."""
    flows = {"reno": Flows(4, Reno(), base_rtt=0.05), "other": other}
    return build_parameters(Network(Link(1000.0, 50, aqm or DropTail()), flows))


def loss_bias(parameters, structure) -> np.ndarray:
    return np.asarray(
        drop_tail_loss_bias(jnp.array(SENT), jnp.array(GROWN), parameters, structure)
    ) * np.ones(2)


def test_as_much_is_lost_whomever_it_hits() -> None:
    parameters, structure = two()
    found, counts = loss_bias(parameters, structure), np.asarray(parameters.groups.count)
    assert float((found * SENT * counts).sum()) == pytest.approx((SENT * counts).sum(), rel=1e-9)


def test_who_does_not_grow_is_hit_only_by_chance() -> None:
    """4 flows grow by 6 of 300 packets/s each, one sends 200: 24 of 1400 packets are growth."""
    found = loss_bias(*two())
    assert found[1] == pytest.approx(24 / 1400, rel=1e-6)
    assert found[0] == pytest.approx(1 + (1 - 24 / 1400) * (1400 / 1200 - 1), rel=1e-6)


def test_where_nobody_asks_all_packets_are_alike() -> None:
    for aqm in (Red(10, 30), DropTail(losses="mm1k"), DropTail(losses="smooth")):
        np.testing.assert_array_equal(loss_bias(*two(aqm)), 1.0)


def test_who_has_no_clock_of_acks_is_hit_by_chance() -> None:
    source = Flows(1, Unresponsive(), base_rtt=0.05, traffic=Cbr(200.0))
    found = loss_bias(*two(other=source))
    np.testing.assert_allclose(found, 1.0)


def test_where_nobody_grows_chance_decides() -> None:
    parameters, structure = two()
    found = drop_tail_loss_bias(jnp.array(SENT), jnp.zeros(2), parameters, structure)
    assert np.all(np.isfinite(np.asarray(found)))
    assert float((np.asarray(found) * SENT * [4, 1]).sum()) == pytest.approx(1400, rel=1e-6)


def senders_with_losses(synchronised: float) -> SenderSignals:
    """Senders that find 0.5 losses/s, a fraction of them synchronised; none is in recovery."""
    zero = jnp.zeros(1)
    numbers = dict.fromkeys(SenderSignals._fields, zero) | {
        "rtt": zero + 0.1,
        "measured_rtt": zero + 0.1,
        "rate": zero + 1e7,
        "losses": LossSignals(zero + 0.5, zero + 1e-6),
        "noise": RttNoise(*(zero for _ in RttNoise._fields)),
        "rate_limit": zero + 1e9,
        "synchronised": np.array([synchronised]),
    }
    return SenderSignals(**numbers)


@pytest.mark.parametrize(("process", "factor"), [("periodic", 4 / 3), ("iid", 7 / 6)])
def test_synchronised_losses_take_half_of_a_window_for_any_loss_process(process, factor) -> None:
    """Reno loses W / 2 with each; the factor of the process is for losses that chance decides."""
    law, window = Reno(), Window(jnp.array([1e6]), jnp.zeros(1))
    for synchronised, expected in ((1.0, 0.5 / factor), (0.0, 0.5)):
        senders = senders_with_losses(synchronised)
        signals = law_signals(window, law, senders, FluidOptions(loss_process=process))
        assert float(loss_events(window, law, senders, signals).effective_rate[0]) == pytest.approx(
            expected
        )


def drops_for_each_sent(run, name: str) -> float:
    since = int(np.searchsorted(run["time"].values, run.attrs["warmup"]))
    gained = {key: run[key].sel(flow_class=name).values for key in ("dropped", "sent")}
    sums = {key: values[-1].sum() - values[since].sum() for key, values in gained.items()}
    return sums["dropped"] / sums["sent"]


LINUX_HOSTS = pytest.mark.xfail(
    strict=True, reason="Vegas of Linux hosts loses a larger part of its packets in packet runs"
)


@pytest.mark.parametrize(
    "simulate",
    [
        simulate_fluid,
        pytest.param(simulate_in_packets, marks=[pytest.mark.study, LINUX_HOSTS]),
    ],
)
def test_a_vegas_flow_at_equilibrium_loses_little_if_reno_fills_the_buffer(simulate) -> None:
    """As both simulators have it; with RED instead, they lose alike."""
    common = {"base_rtt": 0.09, "initial_ssthresh": 30.0, "send_overhead": 5e-4}
    flows = {
        "reno": Flows(4, Reno(recovery="sack"), **common),
        "vegas": Flows(4, Vegas(10, 12, dialect="linux"), **common),
    }
    run = simulate(Network(Link(2000.0, 150), flows), until=200.0)
    shares = [drops_for_each_sent(run, name) for name in ("vegas", "reno")]
    assert shares[1] > 1e-4
    assert shares[0] < 0.35 * shares[1]
    red = Red(30, 90, max_drop=0.05)
    run = simulate(Network(Link(2000.0, 300, red), flows), until=200.0)
    assert drops_for_each_sent(run, "vegas") > 0.6 * drops_for_each_sent(run, "reno")
    assert float(metrics.utilisation(run)[0]) > 0.98
