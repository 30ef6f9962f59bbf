"""Several links, both ways, applications, changes of delay and jitter: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fluid.common_grid import simulate_on_common_grid
from tests.networks import three_alphas
from vegasfluid import (
    Cbr,
    DropTail,
    Event,
    Flows,
    Fq,
    Link,
    Network,
    OnOff,
    Poisson,
    Red,
    Reno,
    Sessions,
    Unresponsive,
    Vegas,
    VegasRerouting,
    metrics,
    simulate_fluid,
    simulate_packets,
)

FAST = Link(4000.0, 400, Red(min_thresh=30, max_thresh=120), delay=0.005)
SLOW = Link(1000.0, 200, Red(min_thresh=30, max_thresh=120), delay=0.01)


BETWEEN_LINKS = {"lags": (0.005, 5.0), "step": 0.005}
"""The least lag is the time from queue to queue."""
BOTH_WAYS = {"lags": (0.01, 20.0), "step": 0.0099}


def udp(rate: float, **others) -> Flows:
    return Flows(1, Unresponsive(), base_rtt=0.05, traffic=Cbr(rate), **others)


@pytest.mark.parametrize("order", [("fast", "slow"), ("slow", "fast")])
def test_the_slower_of_two_links_decides(order: tuple[str, ...]) -> None:
    links = {name: {"fast": FAST, "slow": SLOW}[name] for name in order}
    flows = Flows(12, Reno(), base_rtt=0.06, path=order, initial_ssthresh=5.0)
    network = Network(links, {"reno": flows})
    run = simulate_on_common_grid(network, 60.0, **BETWEEN_LINKS)
    used = dict(zip(links, metrics.utilisation(run).values, strict=True))
    assert used["slow"] == pytest.approx(1.0, abs=0.01)
    assert used["fast"] == pytest.approx(0.25, abs=0.01)
    assert float(run["queue"].sel(link="fast").max()) < 1.0
    delivered = float(metrics.goodput(run)[0]) * 12
    assert delivered == pytest.approx(1000.0, rel=0.01)


def test_packets_are_kept_from_link_to_link() -> None:
    """What two classes bring to the second link is what the first admitted, less what waits."""
    links = {"first": Link(1000.0, 100, delay=0.005), "second": Link(900.0, 5000, delay=0.005)}
    flows = {
        "a": udp(800.0, path=("first", "second")),
        "b": udp(700.0, path=("first", "second"), start=1.0),
    }
    run = simulate_fluid(Network(links, flows), until=20.0, samples=201)
    first, second = (run.sel(link=name) for name in links)
    on_the_way = (first["admitted"] - first["queue"] - second["admitted"] - second["lost"]).values
    assert np.all(on_the_way > -1.0)
    assert on_the_way[-1] < 1000.0 * 0.005 + 30.0
    # The first sends 1000/s of 1500 offered, in proportion 8 : 7.
    late = {name: run["delivered"].sel(flow_class=name) for name in flows}
    rates = [float(late[n][-1] - late[n].sel(time=10.0)) / 10.0 for n in flows]
    assert rates[0] / rates[1] == pytest.approx(8 / 7, rel=0.01)
    assert sum(rates) == pytest.approx(1000.0, rel=0.01)  # admitted: the second's buffer fills


def test_three_classes_over_two_links_share_as_in_theory() -> None:
    """Vegas alone holds alpha packets in all queues of its way: a rate times delays (LPW 2002).

    Two links of one capacity, a long flow over both, a short one over each, all with alpha a:
    x (q1 + q2) = a on the long way and y q = a on each short one, x + y = C: x = y / 2.
    """
    link = Link(600.0, 500, delay=0.01)
    law = Vegas(alpha=12, beta=12, gamma=6)
    flows = {
        "long": Flows(1, law, base_rtt=0.08, path=("one", "two")),
        "left": Flows(1, law, base_rtt=0.08, path=("one",)),
        "right": Flows(1, law, base_rtt=0.08, path=("two",)),
    }
    run = simulate_fluid(Network({"one": link, "two": link}, flows), until=120.0, warmup=90.0)
    rates = dict(zip(flows, metrics.goodput(run).values, strict=True))
    assert rates["long"] == pytest.approx(200.0, rel=0.05)
    assert rates["left"] == pytest.approx(400.0, rel=0.05)


def both_ways(later: float = 0.0) -> Network:
    """The same flows each way over one link, those back beginning so many seconds later."""
    flows = {
        name: Flows(10, Reno(), base_rtt=0.06, direction=name, initial_ssthresh=5.0, start=start)
        for name, start in (("forward", 0.0), ("reverse", later))
    }
    return Network(SLOW, flows)


def test_both_ways_the_capacity_is_shared_with_acks() -> None:
    """C S / (S + S_ack) of data each way (theory sheet, section 12).

    That equilibrium is unstable: from round-off alone one way gains on the other after some 12 s.
    It is measured before.
    """
    run = simulate_on_common_grid(both_ways(), 60.0, samples=601, **BOTH_WAYS)
    run = run.sel(time=slice(0, 11))
    expected = 1000.0 * 1500 / 1540
    for rate in metrics.goodput(run, warmup=6.0).values:
        assert 10 * rate == pytest.approx(expected, rel=0.001)
    assert list(run["link"].values) == ["bottleneck", "bottleneck_reverse"]
    np.testing.assert_allclose(metrics.utilisation(run, warmup=6.0), 1.0, atol=0.01)


@pytest.mark.parametrize("aqm", [DropTail(), Fq()])
@pytest.mark.parametrize("directions", [["forward"], ["forward", "reverse"]])
@pytest.mark.parametrize("order", [("used", "idle"), ("idle", "used")])
def test_a_link_that_no_class_crosses_stays_empty(order, directions, aqm) -> None:
    """By hand: 300 of 1000 packets/s each way pass, whatever the link without flows does."""
    links = {"used": Link(1000.0, 100), "idle": Link(1000.0, 100, aqm)}
    flows = {name: udp(300.0, path=("used",), direction=name) for name in directions}
    run = simulate_fluid(Network({name: links[name] for name in order}, flows), 2.0)
    assert metrics.goodput(run).values == pytest.approx([300.0] * len(flows), rel=1e-6)
    assert list(run["link"].values)[:2] == list(order)
    assert not run["queue"].sel(link="idle").values.any()
    assert metrics.utilisation(run).sel(link="used").item() >= 0.3


def test_acks_are_those_of_data_that_came_through() -> None:
    """Passing ACKs on creates none, however the queues of data and ACKs oscillate."""
    deep = Link(2000.0, 4000, Red(min_thresh=800, max_thresh=3200, max_drop=1.0), delay=0.01)
    flows = {
        name: Flows(10, Reno(), base_rtt=0.06, direction=name, start=start)
        for name, start in (("forward", 0.0), ("reverse", 3.0))
    }
    run = simulate_on_common_grid(Network(deep, flows), 60.0, samples=601, **BOTH_WAYS)
    came = 10 * run["delivered"]
    assert run["queue"].values.max() > 1000
    for back, data in (("reverse", "forward"), ("forward", "reverse")):
        link = "bottleneck_reverse" if back == "reverse" else "bottleneck"
        acks = run["admitted"].sel(link=link) - came.sel(flow_class=back)
        assert (acks - came.sel(flow_class=data)).values.max() < 1.0
        assert float(acks[-1]) > 0.8 * float(came.sel(flow_class=data)[-1])


def swaying() -> np.ndarray:
    """Packets/s of a flow each way, where those back begin a little later."""
    run = simulate_on_common_grid(both_ways(later=0.1), 60.0, samples=601, **BOTH_WAYS)
    return metrics.goodput(run, warmup=20.0).values


def test_both_ways_queues_sway() -> None:
    """What is not begun at once sways: neither link is full."""
    assert np.all(10 * swaying() < 900.0)


@pytest.mark.study
def test_both_ways_queues_sway_and_packets_say_so_too() -> None:
    packets = simulate_packets(both_ways(later=0.1), until=60.0, warmup=20.0)
    np.testing.assert_allclose(swaying(), metrics.goodput(packets).values, rtol=0.05)


@pytest.mark.parametrize(
    ("traffic", "rate"),
    [
        (Cbr(40.0), 40.0),
        (Poisson(0.02), 50.0),
        (OnOff(on=0.03, off=0.07, rate=200.0), 60.0),
    ],
)
@pytest.mark.parametrize("law", [Reno(validates=True), Unresponsive()])
def test_applications_limit_what_is_sent(traffic, rate: float, law) -> None:
    flows = Flows(2, law, base_rtt=0.06, traffic=traffic)
    run = simulate_fluid(Network(SLOW, {"flows": flows}), until=30.0)
    np.testing.assert_allclose(metrics.goodput(run), rate, rtol=0.01)


def test_sessions_start_and_end_in_the_mean() -> None:
    """Of a transfer of S packets at rate x and a gap g, a share (S/x) / (S/x + g) is under way.

    The rate is limited by the advertised window: 10 packets each round trip.
    """
    traffic = Sessions(mean_gap=2.0, mean_size=3.0)
    flows = Flows(4, Reno(), base_rtt=0.1, max_window=10, traffic=traffic, initial_window=10)
    network = Network(Link(5000.0, 500), {"web": flows})
    run = simulate_fluid(network, until=2000.0)
    size, rate = 2000.5, 10 / network.base_rtts("web")[0]
    share = (size / rate) / (size / rate + 2.0)
    np.testing.assert_allclose(metrics.goodput(run), share * rate, rtol=0.01)


@pytest.mark.parametrize("overlapping", [True, False])
def test_sessions_that_overlap_offer_their_load(overlapping: bool) -> None:
    traffic = Sessions(mean_gap=50.0, mean_size=3.0, overlapping=overlapping)
    flows = Flows(4, Reno(), base_rtt=0.1, max_window=10, traffic=traffic, initial_window=10)
    run = simulate_fluid(Network(Link(5000.0, 500), {"web": flows}), until=2000.0)
    rate = 2000.5 / (50.0 if overlapping else 50.0 + 2000.5 / 97.4)
    np.testing.assert_allclose(metrics.goodput(run), rate, rtol=0.02)


@pytest.mark.parametrize("law", [Vegas(dialect="ns2"), VegasRerouting()])
def test_a_longer_way_starves_vegas_unless_it_notices(law) -> None:
    """La, Walrand and Anantharam, section 3: 22 ms become 242 ms at 20 s."""
    flows = Flows(1, law, access_delay=0.005, initial_ssthresh=20.0)
    network = Network(
        Link(1000.0, 200, delay=0.001),
        {"vegas": flows},
        events=(Event(20.0, "access", 0.06),),
    )
    run = simulate_fluid(network, until=80.0, warmup=60.0)
    window = 1 + 1000 * 0.022  # with which the short way was full
    rate = float(metrics.goodput(run)[0])
    rtt = float(run["rtt"][-1, 0])
    assert rtt == pytest.approx(0.242, rel=0.1)
    if law.name == "vegas":
        assert rate < 1.2 * window / 0.242
    else:
        assert rate > 2 * window / 0.242


def test_a_change_of_a_links_delay_moves_every_round_trip() -> None:
    flows = Flows(2, Reno(), base_rtt=0.06, max_window=3)
    network = Network(SLOW, {"reno": flows}, events=(Event(10.0, "bottleneck", 0.03),))
    run = simulate_fluid(network, until=20.0)
    early, late = (float(run["rtt"].sel(time=t, method="nearest")[0]) for t in (9.0, 19.0))
    assert late - early == pytest.approx(2 * (0.03 - 0.01), abs=1e-6)


@pytest.mark.parametrize(("reorders", "starved"), [(False, True), (True, False)])
def test_jitter_that_keeps_order_starves_vegas(reorders: bool, starved: bool) -> None:
    """As on Linux (simulator-notes, section 3): jitter in order 43 of 100 Mbit/s, else all."""
    link = Link(8333.0, 500, jitter=0.001, jitter_reorders=reorders)
    flows = Flows(1, Vegas(2, 4, dialect="linux"), base_rtt=0.02, initial_ssthresh=20.0)
    run = simulate_fluid(Network(link, {"vegas": flows}), until=60.0)
    assert (float(metrics.utilisation(run)[0]) < 0.7) == starved


def test_a_late_starter_takes_the_queue_for_propagation() -> None:
    """Persistent congestion (theory sheet, 5h): two flows, the second started into the queue.

    The first holds alpha, the second takes base T + alpha / C: u2 = 2.618 alpha in the queue, and
    the second has 1.62 times the rate of the first.
    """
    law = Vegas(alpha=50.5, beta=50.5, gamma=20)
    flows = Flows(2, law, base_rtt=0.1, start=(0.0, 60.0), initial_ssthresh=50.0)
    run = simulate_fluid(Network(Link(1000.0, 1000), {"vegas": flows}), until=200.0, warmup=180.0)
    rates = np.diff(run["flow_delivered"].values[[-40, -1]], axis=0)[0]
    assert rates[1] / rates[0] == pytest.approx(1.618, rel=0.05)
    alpha = law.equilibrium_backlogs[0]
    assert float(run["queue"][-1, 0]) == pytest.approx(2.618 * alpha, rel=0.05)


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_vegas_flows_without_a_dead_band_share_by_alpha(width: float) -> None:
    """Low, Peterson and Wang, alpha = beta: 72 packets, rates 1 : 2 : 3. Else by its middle."""
    run = simulate_fluid(three_alphas(width), until=200.0, warmup=150.0)
    backlog = np.array([3.0, 6.0, 9.0]) + width / 2
    assert float(run["queue"][-1, 0]) == pytest.approx(4 * backlog.sum(), rel=0.01)
    rates = np.diff(run["delivered"].values[[-40, -1]], axis=0)[0]
    assert rates / rates[0] == pytest.approx(backlog / backlog[0], rel=0.01)


def test_a_false_base_rtt_is_a_parameter() -> None:
    """With a base RTT of B a flow converges to W (R - B) / R = alpha, not W (R - T) / R = alpha."""
    law = Vegas(alpha=30.0, beta=33.0)
    network = Network(
        Link(1000.0, 1000), {"vegas": Flows(1, law, base_rtt=0.1, initial_ssthresh=40.0)}
    )
    run = simulate_fluid(network, until=120.0, base_rtt={"vegas": 0.09})
    cwnd, rtt = float(run["cwnd"][-1, 0]), float(run["rtt"][-1, 0])
    assert cwnd * (rtt - 0.09) / rtt == pytest.approx(law.equilibrium_backlogs[0], rel=0.02)
    honest = simulate_fluid(network, until=120.0)
    assert float(run["queue"][-1, 0]) < float(honest["queue"][-1, 0]) - 5.0


@pytest.mark.parametrize("losses", ["overflow", "synchronised", "smooth"])
def test_reno_over_drop_tail_fills_the_link(losses: str) -> None:
    link = Link(1000.0, 100, DropTail(losses=losses))
    network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.1, initial_ssthresh=8.0)})
    run = simulate_fluid(network, until=60.0)
    assert float(metrics.utilisation(run)[0]) > 0.9
    assert 0 < float(metrics.drop_share(run)[0]) < 0.1


def test_marks_are_answered_and_nothing_is_sent_again() -> None:
    aqm = Red(min_thresh=30, max_thresh=120, ecn=True)
    flows = Flows(10, Reno(), base_rtt=0.06, initial_ssthresh=5.0)
    run = simulate_fluid(Network(Link(1000.0, 400, aqm), {"reno": flows}), until=60.0, warmup=30.0)
    late = run.sel(time=slice(30, 60))
    assert float(late["marked"][-1, 0] - late["marked"][0, 0]) > 50
    assert float(metrics.drop_share(run)[0]) == 0.0
    assert float(metrics.utilisation(run)[0]) == pytest.approx(1.0, abs=0.01)


def test_adaptive_red_brings_the_average_into_its_band() -> None:
    """Between 0.4 and 0.6 of the way from min to max (Floyd, Gummadi and Shenker, 2001)."""
    flows = Flows(20, Reno(), base_rtt=0.06, initial_ssthresh=3.0)
    plain, adapted = (
        simulate_fluid(
            Network(
                Link(1000.0, 400, Red(30, 130, max_drop=0.02, adaptive=adaptive, gentle=True)),
                {"reno": flows},
            ),
            until=120.0,
        )
        for adaptive in (False, True)
    )
    assert float(plain["avg_queue"][-1, 0]) > 90.5
    assert 69.5 < float(adapted["avg_queue"][-1, 0]) < 90.5


def test_vegas_keeps_alpha_to_beta_packets_at_its_own_access_link() -> None:
    """A window W takes W / a over an access link of a packets/s: what exceeds a T waits there."""
    flows = Flows(1, Vegas(4, 8), access=50.0, access_delay=0.05)
    alone = Network(Link(1000.0, 500), {"slow": flows})
    cwnd = float(simulate_fluid(alone, until=30.0)["cwnd"][-1, 0])
    assert 4 < cwnd - 50.0 * alone.base_rtts("slow")[0] < 8
