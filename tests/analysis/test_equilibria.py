"""Equilibria against closed forms and runs of the equations, and how parameters move them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.formulas.vegas_and_reno import LossBlindVegas
from tests.networks import three_alphas
from vegasfluid import (
    Cubic,
    DropTail,
    Event,
    Flows,
    InvalidInput,
    Link,
    Network,
    Red,
    Reno,
    Scalable,
    Sessions,
    SolveFailed,
    Vegas,
    VegasRerouting,
    metrics,
    simulate_fluid,
)
from vegasfluid.analysis import closed_forms, equilibrium
from vegasfluid.analysis.equilibria import newton
from vegasfluid.analysis.equilibria.equilibrium import Equilibrium
from vegasfluid.analysis.linear_stability.disturbances import disturbed
from vegasfluid.fluid import FluidOptions

LONG = (pytest.mark.slow, pytest.mark.unoptimised)
"""Another structure of what a quick test looks at, too."""
MARKS = Red(min_thresh=50, max_thresh=450, max_drop=0.1, wait=False, ecn=True)


def network(flows, aqm=MARKS, capacity=1000.0, buffer=2000) -> Network:
    return Network(Link(capacity, buffer, aqm), flows)


def reno(count: int = 10, base_rtt: float = 0.1) -> dict[str, Flows]:
    return {"reno": Flows(count, Reno(), base_rtt=base_rtt)}


@pytest.mark.parametrize(("count", "base_rtt"), [(5, 0.05), (10, 0.1), (20, 0.2)])
def test_the_equilibrium_of_reno_with_marks_is_the_closed_form(count, base_rtt):
    """Marks lose nothing and `wait=False` doubles the curve: section 3 of the theory sheet."""
    made = network(reno(count, base_rtt))
    solution = equilibrium(made)
    queue = closed_forms.red_queue()(
        capacity=1000.0,
        base_rtt=made.base_rtts("reno")[0],
        count=count,
        loss_constant=2**0.5,
        min_thresh=50.0,
        slope=2 * 0.1 / 400,
    )
    assert solution.values.queue[0] == pytest.approx(queue, rel=1e-10)
    assert solution.mean("reno", "cwnd") == pytest.approx((2 / solution.values.drop_prob[0]) ** 0.5)
    assert solution.mean("reno", "goodput") * count == pytest.approx(1000.0, rel=1e-12)


def test_vegas_alone_has_a_set_of_equilibria_from_alpha_to_beta():
    """La, Walrand and Anantharam: a queue of N alpha to N beta, whatever the round trips are."""
    law, trips = Vegas(3, 5), (0.05, 0.1, 0.15)
    solution = equilibrium(network({"vegas": Flows(6, law, base_rtt=2 * trips)}, DropTail()))
    assert solution.upper is not None

    for end, backlog in zip((solution, solution.upper), law.equilibrium_backlogs, strict=True):
        assert end.values.queue[0] == pytest.approx(6 * backlog, rel=1e-6)
        assert end.values.backlog == pytest.approx(backlog, rel=1e-6)
        assert end.values.goodput == pytest.approx(1000.0 / 6, rel=1e-6)


@pytest.mark.parametrize("width", [0.0, pytest.param(0.5, marks=LONG), 1.0])
def test_a_dead_band_without_width_holds_as_many_packets_as_alpha(width):
    """Low, Peterson and Wang: with alpha = beta each flow has alpha packets in the queue, so that
    rates are as 1 : 2 : 3. Where a step leads over a dead band, windows end in its middle.
    """
    values = equilibrium(three_alphas(width)).values
    backlog = np.array([3.0, 6.0, 9.0]) + width / 2
    assert values.backlog == pytest.approx(backlog, rel=1e-6)
    assert values.queue[0] == pytest.approx(4 * backlog.sum(), rel=1e-6)
    assert values.goodput / values.goodput[0] == pytest.approx(backlog / backlog[0], rel=1e-6)


SIX_LAWS = network(
    {
        "cubic": Flows(5, Cubic(), base_rtt=0.23),
        **{
            dialect: Flows(2, Vegas(12, 14, dialect=dialect), base_rtt=0.1)
            for dialect in ("brakmo", "ns2", "linux")
        },
        "ns3": Flows(2, Vegas(9, 11, dialect="ns3"), base_rtt=0.1),
        "rerouting": Flows(2, VegasRerouting(9, 11), base_rtt=0.1),
    },
    Red(50, 450, max_drop=0.1),
)


@cache
def six_laws() -> Equilibrium:
    """CUBIC and Vegas of several kinds over a queue that drops."""
    return equilibrium(SIX_LAWS)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("dialect", ["brakmo", "ns2", "linux"])
def test_vegas_among_losses_has_the_alpha_of_the_closed_form(dialect):
    """With losses, alpha is an explicit function of the equilibrium window."""
    solution = six_laws()
    assert solution.upper is None
    assert solution.values.drop_prob[0] > 1e-4
    law = solution.network.flows[dialect].law
    known = {
        "cwnd": solution.mean(dialect, "cwnd"),
        "rtt": solution.mean(dialect, "rtt"),
        "base_rtt": solution.network.base_rtts(dialect)[0],
        "drop_prob": float(solution.values.drop_prob[0]),
        "cut": law.implementation.loss_cut,
        "loss_factor": 1.0,
    }
    assert closed_forms.vegas_alpha(law).evaluate(known) == pytest.approx(12.0, rel=1e-9)


TWO_TRIPS = network(
    reno() | {"far": Flows(5, Reno(), base_rtt=0.23)}, Red(50, 450, max_drop=0.1, weight=0.05)
)


@cache
def two_trips() -> Equilibrium:
    """With the default options, which follow packets best."""
    return equilibrium(TWO_TRIPS, FluidOptions())


@pytest.mark.parametrize("options", [pytest.param("theory", marks=LONG), "packets"])
def test_nothing_moves_at_equilibrium(options):
    """A run of the delay equations that begins in equilibrium stays there."""
    solution = two_trips() if options == "packets" else six_laws()
    _, windows = disturbed([solution], 2.0, by=0.0)
    assert windows.shape[-1] == len(solution.network.flows)
    assert np.ptp(windows[0], axis=0) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_several_links_share_out_what_each_has():
    """Both links are full, and the long flows, which lose on both, have less."""
    red = Red(50, 450, max_drop=0.05)
    links = {name: Link(1000.0, 2000, red, delay=0.01) for name in ("a", "b")}
    flows = {
        "long": Flows(5, Reno(), base_rtt=0.1, path=("a", "b")),
        "one": Flows(5, Reno(), base_rtt=0.05, path=("a",)),
        "two": Flows(5, Reno(), base_rtt=0.05, path=("b",)),
    }
    solution = equilibrium(Network(links, flows))
    rates = {name: solution.mean(name, "goodput") for name in flows}
    assert 5 * (rates["long"] + rates["two"]) == pytest.approx(1000.0, rel=1e-9)
    assert rates["long"] < rates["one"]
    assert solution.values.queue == pytest.approx(solution.values.queue[0], rel=0.05)


def test_a_long_run_converges_to_the_equilibrium():
    run = simulate_fluid(TWO_TRIPS, until=200.0)
    solution = two_trips()
    assert float(run["queue"][-1, 0]) == pytest.approx(solution.values.queue[0], rel=1e-3)
    windows = metrics.time_mean(run, "cwnd", warmup=190).values
    assert windows == pytest.approx(solution.values.cwnd, rel=1e-3)


def test_without_losses_windows_are_at_their_limit():
    flows = {"reno": Flows(2, Reno(), base_rtt=0.1, max_window=20)}
    solution = equilibrium(network(flows))
    assert solution.values.queue[0] == 0
    assert solution.mean("reno", "cwnd") == pytest.approx(20.0)


def test_a_full_drop_tail_buffer():
    """What comes above the capacity is lost: p = 1 - C / y, with W = sqrt(2 / p)."""
    solution = equilibrium(network(reno(), DropTail(), buffer=100))
    prob = float(solution.values.drop_prob[0])
    cwnd, rtt = solution.mean("reno", "cwnd"), solution.mean("reno", "rtt")
    assert solution.values.queue[0] == 100
    assert cwnd == pytest.approx((2 / prob) ** 0.5, rel=1e-9)
    assert prob == pytest.approx(1 - 1000.0 / (10 * cwnd / rtt), rel=1e-9)


NUMBERS = {"capacity": 1000.0, "base_rtt": 0.1, "alpha": 12.0, "low": 50.0}


def with_numbers(capacity: Any, base_rtt: Any, alpha: Any, low: Any) -> Network:
    flows = {
        "reno": Flows(5, Reno(), base_rtt=base_rtt),
        "vegas": Flows(5, replace(Vegas(12, 99), alpha=alpha), base_rtt=base_rtt),
    }
    return network(flows, Red(low, 450, max_drop=0.1), capacity)


@cache
def gradient() -> dict[str, float]:
    """The derivatives of the queue by all numbers, by the implicit function theorem."""
    solution = equilibrium(with_numbers(**NUMBERS))
    slopes = jax.grad(lambda numbers: solution.follow(with_numbers(**numbers)).queue[0])(NUMBERS)
    return {name: float(slope) for name, slope in slopes.items()}


@pytest.mark.parametrize("name", NUMBERS)
def test_implicit_gradients_are_the_differences(name):
    step = 1e-4 * NUMBERS[name]
    below, above = (
        equilibrium(with_numbers(**NUMBERS | {name: NUMBERS[name] + moved})).values.queue[0]
        for moved in (-step, step)
    )
    assert gradient()[name] == pytest.approx((above - below) / (2 * step), rel=1e-4)


def slopes(solution: Equilibrium, made: Callable[[Any], Network], at: Any) -> Any:
    """How the queue and the windows follow numbers, by the implicit function theorem."""

    def found(number: Any) -> Any:
        values = solution.follow(made(number))
        return jnp.concatenate([values.queue, values.cwnd])

    return np.asarray(jax.jacfwd(found)(at))


def largest(packets: Any) -> Network:
    """Ten Reno flows that their largest window limits."""
    return network({"reno": Flows(10, Reno(), base_rtt=0.05, max_window=packets)})


@pytest.mark.slow
@pytest.mark.unoptimised
def test_at_the_largest_window_the_window_follows_the_limit():
    """The queue is what the windows hold beyond the path: 10 (window) - 1000 (0.05)."""
    assert slopes(equilibrium(largest(7.0)), largest, 7.0) == pytest.approx([10.0, 1.0], rel=1e-9)


def full(packets: Any) -> Network:
    """Ten Reno flows over a buffer that is full in the mean."""
    return Network(Link(1000.0, packets), {"reno": Flows(10, Reno(), base_rtt=0.05)})


@pytest.mark.slow
@pytest.mark.unoptimised
def test_a_full_queue_follows_the_buffer():
    """The window follows as differences of two equilibria show."""
    found = slopes(equilibrium(full(40.0)), full, 40.0)
    ends = [equilibrium(full(buffer)).values.cwnd[0] for buffer in (39.9, 40.1)]
    assert found[0] == pytest.approx(1.0, rel=1e-9)
    assert found[1] == pytest.approx((ends[1] - ends[0]) / 0.2, rel=1e-4)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("dialect", ["brakmo", "ns2", "linux"])
def test_the_ends_of_a_set_follow_alpha_and_beta(dialect):
    """Ten Vegas flows alone: the queue is ten times alpha at one end and ten times beta at the
    other, but for constants; so it has no slope by the other one.
    """

    def made(alpha: Any, beta: Any) -> Network:
        law = replace(Vegas(3, 8, dialect=dialect), alpha=alpha, beta=beta)
        return network({"vegas": Flows(10, law, base_rtt=0.05)}, DropTail())

    lower = equilibrium(made(3, 8))
    assert lower.upper is not None
    for solution, wanted in ((lower, (1.0, 0.0)), (lower.upper, (0.0, 1.0))):
        by_both = slopes(solution, lambda x: made(*x), np.array([3.0, 8.0]))
        queue = solution.values.queue[0]
        parts = 1.0
        if dialect == "linux":  # over the base RTT d its backlog is queue (1 + queue / (C d)) / 10
            parts = 1 + 2 * queue / (1000.0 * solution.network.base_rtts("vegas")[0])
        assert by_both[0] == pytest.approx(
            [10 * item / parts for item in wanted], rel=1e-5, abs=1e-9
        )


def beside_deaf(alpha: Any, times: float = 1.0) -> Network:
    """A dead band of one point, beside Reno that is marked; capacity and queue times a factor."""
    law = replace(LossBlindVegas(8, 9), alpha=alpha, beta=alpha + 1)
    aqm = Red(50 * times, 450 * times, max_drop=0.1 / times**2, wait=False, ecn=True)
    flows = reno(5) | {"vegas": Flows(5, law, base_rtt=0.1)}
    return network(flows, aqm, 1000 * times, 2000 * times)


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("times", [1.0, 16.0])
def test_at_the_edge_of_the_dead_band_against_reno_windows_follow_alpha(times):
    """On one side of the edge nothing moves the window: the slopes are those of the other."""
    alpha, step = 8 * times, 1e-3 * times
    ends = [equilibrium(beside_deaf(alpha + moved, times)).values for moved in (-step, step)]
    below, above = (np.concatenate([end.queue, end.cwnd]) for end in ends)
    found = slopes(equilibrium(beside_deaf(alpha, times)), lambda x: beside_deaf(x, times), alpha)
    assert found == pytest.approx((above - below) / (2 * step), rel=1e-4)
    assert found[2] > 0.1 > -0.1 > found[1]


@pytest.mark.slow
@pytest.mark.unoptimised
@pytest.mark.parametrize("count", [6, 40])
@pytest.mark.parametrize("times", [1.0, 16.0])
def test_the_edge_of_a_dead_band_is_found_however_numbers_are_rounded(times, count):
    for number in range(count):
        solution = equilibrium(beside_deaf(8 * times * (1 + number * 2.0**-52), times))
        assert np.count_nonzero(solution.solution.offset) == 1


@pytest.mark.slow
@pytest.mark.unoptimised
def test_without_corners_the_solution_has_no_offset():
    assert not np.any(six_laws().solution.offset)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            network({"web": Flows(5, Reno(), base_rtt=0.1, traffic=Sessions(5.0, 0.1))}),
            "flows.web: traffic sessions is not supported",
        ),
        (network(reno(), replace(MARKS, adaptive=True)), "aqm.adaptive is not supported"),
    ],
    ids=["sessions", "adaptive"],
)
def test_a_network_without_equilibrium_is_rejected_in_one_line(made, words):
    with pytest.raises(InvalidInput, match=words) as error:
        equilibrium(made)
    assert "\n" not in str(error.value)


def test_events_are_past():
    """After rerouting the base RTT is the new one."""
    flows = {"reno": Flows(10, Reno(), access_delay=0.01)}
    made = Network(Link(1000.0, 2000, MARKS), flows, events=(Event(5.0, "access", 0.03),))
    later = Network(Link(1000.0, 2000, MARKS), {"reno": Flows(10, Reno(), access_delay=0.03)})
    found, wanted = equilibrium(made), equilibrium(later)
    assert found.values.queue[0] == pytest.approx(wanted.values.queue[0], rel=1e-12)


def test_another_structure_cannot_be_followed():
    solution = equilibrium(network(reno()))
    with pytest.raises(InvalidInput, match="another structure is not supported"):
        solution.follow(network(reno() | {"far": Flows(5, Reno(), base_rtt=0.2)}))


@pytest.mark.parametrize("capacity", [100.0, 4000.0, 1e4, 1e5])
def test_a_network_too_far_to_follow_gives_nan_and_no_other_number(capacity):
    """From 1000 packets/s Newton's method reaches the first two, and not the others."""
    there = network(reno(), capacity=capacity)
    queue = equilibrium(network(reno())).follow(there).queue
    if capacity < 1e4:
        np.testing.assert_allclose(queue, equilibrium(there).values.queue, rtol=1e-9)
    else:
        assert np.all(np.isnan(queue))


def where_newton_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step is smaller than nothing, so that Newton's method never ends by itself."""
    monkeypatch.setattr(newton, "TOLERANCE", 0.0)


def test_an_equilibrium_estimate_is_kept_if_newtons_method_fails(monkeypatch):
    """The search for it has solved the same equations; only the last digits are not polished."""
    made = network(reno())
    exact = equilibrium(made).values.queue
    where_newton_fails(monkeypatch)
    np.testing.assert_allclose(equilibrium(made).values.queue, exact, rtol=1e-6)


def test_a_failure_tells_the_estimate_from_which_it_sought(monkeypatch):
    where_newton_fails(monkeypatch)
    monkeypatch.setattr(newton, "SLOW", 0.0)
    message = r"near the estimate with queues of 64\.58\d+ and windows of 16\.\d+ packets"
    with pytest.raises(SolveFailed, match=message):
        equilibrium(network(reno()))


@pytest.mark.parametrize("capacity", [1000.0, 2000.0, 4000.0])
def test_scalable_tcp_has_one_equilibrium_however_numbers_are_rounded(capacity):
    """Kelly 2003: w = a / (b p). With l losses/s the rate of a window, a w / rtt - b w l, is zero
    for any w, but that is no continuum: l follows the windows.
    """
    point = equilibrium(
        network({"scalable": Flows(4, Scalable(), base_rtt=0.05)}, capacity=capacity)
    )
    assert point.upper is None
    assert point.values.cwnd * point.values.drop_prob == pytest.approx(0.01 / 0.125)
