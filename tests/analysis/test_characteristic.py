"""The characteristic function by SymPy: against JAX's Jacobians, and against the theory's forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import sympy as sp

from tests.analysis.characteristic import characteristic, law_response, window_response
from vegasfluid.analysis import THEORY, equilibrium, linearise
from vegasfluid.analysis.charts.drift_derivatives import drift_derivatives, drop_prob_response
from vegasfluid.analysis.charts.flow_groups import flow_groups, link_drop_prob
from vegasfluid.analysis.closed_forms.branches import branch_at
from vegasfluid.analysis.closed_forms.formula import symbol
from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.base import Signals
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.unresponsive import Unresponsive
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput
from vegasfluid.fluid.options import MISRA_GONG_TOWSLEY, FluidOptions
from vegasfluid.fluid.pytrees import register_values
from vegasfluid.network import Flows, Link, Network
from vegasfluid.traffic.cbr import Cbr

W, R, T, p, C = (symbol(name) for name in ("cwnd", "rtt", "base_rtt", "drop_prob", "capacity"))
s, P, b = sp.Symbol("s"), sp.Symbol("P"), sp.Symbol("b")
LATE = sp.exp(-s * R)

MARKS = Red(min_thresh=50, max_thresh=150, weight=0.002, wait=False, ecn=True)
DROPS = Red(min_thresh=50, max_thresh=150, weight=0.001)


@cache
def reno(marked: bool) -> Any:
    """Reno over a queue that marks, or drops without spacing."""
    flows = Flows(10, Reno(), base_rtt=0.05, ecn=marked)
    return equilibrium(Network(Link(1000.0, 200, MARKS), {"reno": flows}))


@cache
def mixed(capacity: float, far: float = 0.2) -> Any:
    """Reno at two distances, Vegas and CUBIC (far away) over a queue that spaces its drops."""
    flows = {
        "reno": Flows(3, Reno(), base_rtt=(0.05, 0.08, 0.05)),
        "vegas": Flows(5, Vegas(alpha=4, beta=6), base_rtt=0.06),
        "cubic": Flows(3, Cubic(), base_rtt=far),
    }
    return equilibrium(Network(Link(capacity, 2000, DROPS), flows))


@dataclass(frozen=True)
class Loaded(Red):
    """A queue law that looks at its average and at what arrives."""

    def drop_prob(self, seen: QueueState) -> Any:
        """RED's, times the square of the load."""
        return super().drop_prob(seen) * (seen.arrival_rate / seen.capacity) ** 2


@cache
def unresponsive() -> Any:
    """Linux's Vegas at two distances and a constant stream; the queue looks at what arrives."""
    law = Vegas(alpha=30, beta=40, dialect="linux")
    flows = {
        "linux": Flows(5, law, base_rtt=(0.06, 0.09, 0.06, 0.06, 0.06)),
        "udp": Flows(1, Unresponsive(), base_rtt=0.1, traffic=Cbr(rate=100.0)),
    }
    options = replace(MISRA_GONG_TOWSLEY, loss_process="iid")
    law = Loaded(min_thresh=20, max_thresh=120, weight=0.001)
    return equilibrium(Network(Link(1000.0, 200, law), flows), options)


def points() -> np.ndarray:
    """Complex s on both sides of the axis, 1/s."""
    random = np.random.default_rng(11)
    return random.uniform(-3, 5, 15) + 1j * random.uniform(-20, 20, 15)


def ratios(point: Any) -> np.ndarray:
    """The determinant of the equations' own Jacobians over SymPy's function."""
    function = sp.lambdify(s, characteristic(point))
    closed = linearise(point).closed_loop
    return np.linalg.det(closed.characteristic(points())) / function(points())


# ---- networks: JAX's Jacobians of the equations that are integrated


@pytest.mark.parametrize("marked", [True, False])
def test_jax_and_sympy_agree_on_reno(marked):
    assert ratios(reno(marked)) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_jax_and_sympy_agree_on_reno_at_two_distances_vegas_and_cubic():
    """CUBIC with all four of its states."""
    assert mixed(6000.0).mean("cubic", "cwnd") > 1.05 * np.sqrt(2 / mixed(6000.0).values.drop_prob)
    assert linearise(mixed(6000.0)).closed_loop.state_matrix.shape == (9, 9)
    assert ratios(mixed(6000.0)) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_friendly_cubic_has_two_states_that_nothing_hears_of():
    """K and the mean square of ages then follow the losses, and die at the rate of these."""
    point = mixed(2000.0, far=0.02)
    assert linearise(point).closed_loop.state_matrix.shape == (7, 7)
    cwnd, rtt = point.mean("cubic", "cwnd"), point.mean("cubic", "rtt")
    losses = point.values.drop_prob[0] * cwnd / rtt
    assert ratios(point) * (points() + losses) ** 2 == pytest.approx(1.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_jax_and_sympy_agree_for_queues_that_measure_arrivals():
    assert unresponsive().values.drop_prob > 1e-3
    assert ratios(unresponsive()) == pytest.approx(1.0, rel=1e-9)


def test_groups_are_those_of_the_equations():
    found = list(flow_groups(unresponsive()))
    assert [(item.name, item.count) for item in found] == [("linux", 4), ("linux", 1), ("udp", 1)]
    values = unresponsive().values
    assert [item.values["cwnd"] for item in found] == values.cwnd.tolist()
    assert [item.values["rtt"] for item in found] == pytest.approx(values.rtt.tolist(), rel=1e-12)


# ---- laws: JAX's Jacobians of their drifts, and a linear system solved by numbers

HERE = {"cwnd": 60.0, "rtt": 0.11, "base_rtt": 0.1, "drop_prob": 1e-4}
LAWS = {
    "reno": (Reno(), {}),
    "brakmo": (Vegas(alpha=7, beta=9), {}),
    "ns2": (Vegas(alpha=7, beta=9, dialect="ns2"), {}),
    "linux": (Vegas(alpha=7, beta=9, dialect="linux"), {}),
    "ns3": (Vegas(alpha=7, beta=9, dialect="ns3"), {"threshold": 40.0}),
    "saturated": (Vegas(alpha=30, beta=40), {}),
    "cubic": (Cubic(), {"k": 2.0, "elapsed": 5.0, "squared": 26.0}),
    "friendly": (Cubic(), {"k": 0.5, "elapsed": 0.6, "squared": 0.37}),
    "unfriendly": (Cubic(friendly=False), {"k": 0.5, "elapsed": 0.6, "squared": 0.37}),
    "scalable": (Scalable(), {}),
    "legacy scalable": (Scalable(legacy_window=70), {}),
    "scalable at its step": (Scalable(legacy_window=59.4), {}),
    "highspeed": (HighSpeed(), {}),
    "highspeed as reno": (HighSpeed(low_window=70), {}),
}


PROCESSES = ("meanfield", "periodic", "iid")


@jax.jit
def jacobians(law: Any, place: dict[str, Any]) -> dict[str, Any]:
    """By loss process, of a law's drift: to its states, the delay it samples, ACKs and losses."""
    cwnd, rtt, prob = place["cwnd"], place["rtt"], place["drop_prob"]
    begun = law.init(jnp.ones(()), jnp.ones(()))._replace(cwnd=cwnd)
    window = begun._replace(**law.stationary_fields(begun, rtt, place["base_rtt"]))
    fields = fields_of(window, place)

    def drift(process: str, states: Any, sampled: Any, acks: Any, losses: Any) -> Any:
        moved = window._replace(**dict(zip(fields, states, strict=True)))
        seen = Signals(sampled, acks, losses, 1e9, loss_process=process)
        found = law.drift(moved, seen)
        return jnp.stack([jnp.asarray(getattr(found, name), float) for name in fields])

    states = jnp.stack([place[name] for name in fields])
    seen = rtt, cwnd / rtt, prob * cwnd / rtt
    by_process = {
        process: jax.jacfwd(partial(drift, process), argnums=(0, 1, 2, 3)) for process in PROCESSES
    }
    return {item: slope(states, *seen) for item, slope in by_process.items()}


def fields_of(window: Any, place: dict[str, Any]) -> list[str]:
    """The fields of a law's state that move, in its order."""
    return [name for name in window._fields if name in place and name != "base_rtt"]


@cache
def jacobians_here(name: str) -> dict[str, Any]:
    """Those of one of `LAWS`, as NumPy arrays; one program serves all laws of the same kind."""
    law, states = LAWS[name]
    register_values()  # so that laws are pytrees whichever test runs first
    numbers = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), (law, HERE | states))
    return jax.tree.map(np.asarray, jacobians(*numbers))


def by_numbers(name: str, process: str, late: bool, at: complex) -> Any:
    """H(s) with P = 0 and with P = 1, from `jax.jacfwd` of the law's drift."""
    law, states = LAWS[name]
    place, capacity = HERE | states, 1000.0
    cwnd, rtt, prob = place["cwnd"], place["rtt"], place["drop_prob"]
    fields = fields_of(law.init(np.ones(()), np.ones(())), place)
    inside, sampled, acks, losses = jacobians_here(name)[process]
    ago = np.exp(-at * rtt)
    reads = np.array([float(name == "cwnd") for name in fields])
    felt = acks + ago * prob * losses
    matrix = at * np.eye(len(fields)) - inside - np.outer(felt, reads) / rtt
    delay = sampled * (ago if late else 1) / capacity - felt * cwnd / (rtt**2 * capacity)
    both = delay, delay + ago * losses * cwnd / rtt
    return [-(reads @ np.linalg.solve(matrix, item)) for item in both]


@cache
def slopes_here(name: str, process: str) -> Any:
    """The partial derivatives of the drift of one of `LAWS`, by SymPy."""
    law, states = LAWS[name]
    return drift_derivatives(law, HERE | states, process)


@pytest.mark.parametrize("late", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "process", ["meanfield", *(pytest.param(one, marks=pytest.mark.slow) for one in PROCESSES[1:])]
)
@pytest.mark.parametrize("name", LAWS)
def test_the_response_of_a_window_is_that_of_jax(name, process, late):
    """`response`, in 30 digits at two places."""
    numbers = {sp.Symbol(item, positive=True): value for item, value in LAWS[name][1].items()}
    numbers |= {symbol(item): value for item, value in HERE.items()} | {C: 1000}
    transfer = window_response(slopes_here(name, process), late).transfer
    function = sp.lambdify([*numbers, s, P], transfer, "mpmath")
    for at in (0.7 + 3.1j, -1.2 + 11.0j):
        with mpmath.workdps(30):
            here = [mpmath.mpf(str(value)) for value in numbers.values()]
            found = [complex(function(*here, mpmath.mpc(at), item)) for item in (0, 1)]
        assert found == pytest.approx(by_numbers(name, process, late, at), rel=1e-9)


# ---- the theory's forms


def test_renos_response_is_that_of_the_theory():
    """At equilibrium p W^2 = 2."""
    wanted = (1 - LATE) / (C * R**2) + W**2 / (2 * R) * P * LATE
    wanted /= s + (1 + LATE) / (R * W)
    found = law_response(Reno()).transfer.subs(p, 2 / W**2)
    assert sp.simplify(found - wanted) == 0


@pytest.mark.parametrize(("dialect", "cut"), [("brakmo", "1/2"), ("ns2", "1/4")])
@pytest.mark.parametrize("late", [True, False])
def test_vegas_response_is_that_of_the_theory(dialect, cut, late):
    """For Vegas's recovering fraction f(d), with slope -G at equilibrium, where f = b p W^2."""
    law, cut = Vegas(alpha=20, beta=30, dialect=dialect), sp.Rational(cut)
    d = sp.Symbol("d", positive=True)
    recovering = branch_at(law.recovering_fraction(d), {d: 18}).expression
    backlog = W * (R - T) / R
    f, gain = (item.subs(d, backlog) for item in (recovering, -recovering.diff(d)))
    seen = LATE if late else 1
    wanted = f * (1 - LATE) / (C * R**2) + gain / R * W * T / (R**2 * C) * seen
    wanted += cut * W**2 / R * P * LATE
    wanted /= s + gain / R * (1 - T / R) + cut * W * p / R * (1 + LATE)
    place = {"cwnd": 180, "rtt": 0.1, "base_rtt": 0.09, "drop_prob": 1e-5}
    found = law_response(law, place, delayed_rtt=late).transfer
    for cwnd, trip, at in ((180, "0.1", "1/3 + 7*I"), (155, "0.102", "-2 + 40*I")):
        numbers = {W: cwnd, R: sp.Rational(trip), T: sp.Rational("0.09"), s: sp.sympify(at)}
        numbers |= {P: sp.Rational("0.003"), C: 1000}
        numbers[p] = (f / (cut * W**2)).subs(numbers)
        values = (complex(item.subs(numbers).evalf(30)) for item in (found, wanted))
        assert next(values) == pytest.approx(next(values), rel=1e-13)


def test_the_form_for_one_class_of_reno_is_that_of_the_theory():
    """The sheet's sum, by hand from the network's numbers, times what stands before it."""
    point = reno(True)
    (group,) = flow_groups(point)
    cwnd, rtt, prob = (group.values[name] for name in ("cwnd", "rtt", "drop_prob"))
    rate, slope = -np.log1p(-MARKS.weight) * 1000, 2 * MARKS.max_drop / 100
    function = sp.lambdify(s, characteristic(point))
    for at in points():
        late, own = np.exp(-at * rtt), at + (1 + np.exp(-at * rtt)) / (rtt * cwnd)
        answer = (1 - late) / (1000 * rtt**2)
        answer += cwnd**2 / (2 * rtt) * slope * rate / (at + rate) * late
        wanted = at + 10 * cwnd / (rtt**2 * 1000) + 10 / rtt * answer / own
        assert function(at) == pytest.approx((at + rate) * own * wanted, rel=1e-9)
    assert prob * cwnd**2 == pytest.approx(2, rel=1e-9)


# ---- queue laws


@pytest.mark.parametrize(
    "law",
    [
        DROPS,
        MARKS,
        Red(min_thresh=20, max_thresh=60, weight=0.002, gentle=True),
        Red(min_thresh=20, max_thresh=79.5, weight=0.002),
    ],
)
def test_a_red_queue_signals_its_slope_through_its_average(law):
    place = {"queue": 80.0, "avg_queue": 80.0, "arrivals": 1e3, "capacity": 1e3, "buffer": 200.0}
    found = drop_prob_response(law, "loss_signal_prob", place)
    ends = [
        float(law.drop_prob(QueueState(80.0, Average(np.float64(item)), 1e3, 1e3, 200.0)))
        for item in (80 - 1e-5, 80 + 1e-5)
    ]
    rate = -np.log1p(-law.weight) * 1e3
    for at in (0.0, 2.0j):
        wanted = (ends[1] - ends[0]) / 2e-5 * rate / (at + rate)
        assert complex((found.queue / found.denominator).subs(s, at)) == pytest.approx(
            wanted, rel=1e-7
        )
    assert float(found.value) == pytest.approx(sum(ends) / 2, rel=1e-9)
    assert found.arrivals == 0


def test_marked_packets_are_not_lost():
    assert float(link_drop_prob(reno(True), "forced_prob").value) == 0
    marked = reno(True).values.drop_prob[0]
    assert float(link_drop_prob(reno(True)).value) == pytest.approx(marked, rel=1e-12)
    assert marked > 0.01


def test_a_queue_discipline_that_measures_arrivals_responds_to_them():
    """(1 - C/y) (q/B)^20, and its two slopes."""
    place = {"queue": 90.0, "arrivals": 1100.0, "capacity": 1000.0, "buffer": 100.0}
    found = drop_prob_response(DropTail(losses="smooth"), "drop_prob", place)
    filled = 0.9**20
    assert float(found.denominator) == 1
    assert float(found.value) == pytest.approx((1 - 1 / 1.1) * filled)
    assert float(found.queue) == pytest.approx((1 - 1 / 1.1) * 20 * filled / 90)
    assert float(found.arrivals) == pytest.approx(1000 / 1100**2 * filled)


# ---- invalid input


def test_unsupported_equilibria_are_rejected():
    point = reno(True)
    link = point.network.link
    two = {"first": link, "second": link}
    flows = replace(point.network.flows["reno"], path=("first", "second"))
    limited = replace(point.network.flows["reno"], access=50.0)
    back = replace(point.network.flows["reno"], direction="reverse")
    full = point.values._replace(queue=np.array([200.0]))
    for changed, item in (
        ({"upper": point}, "no set"),
        ({"options": FluidOptions()}, "options must be"),
        ({"network": Network(two, {"reno": flows})}, "a single link"),
        ({"network": Network(link, {"reno": limited})}, "below what limits it"),
        ({"network": Network(link, {"reno": back})}, "direction reverse is not supported"),
        ({"network": Network(replace(link, jitter=0.001), point.network.flows)}, "jitter must be"),
        ({"values": full}, "queue must be"),
        ({"values": point.values._replace(cwnd=point.values.cwnd / 2)}, "zero of its drift"),
    ):
        with pytest.raises(InvalidInput, match=item):
            characteristic(replace(point, **changed))


def test_a_law_that_compares_needs_a_place():
    with pytest.raises(InvalidInput, match="witness must be a number"):
        law_response(Vegas())


def test_theory_is_late():
    assert THEORY.delayed_rtt
