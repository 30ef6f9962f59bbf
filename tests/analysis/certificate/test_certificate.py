"""Certificates of alpha: proven, held to the laws' own drifts, and refused where falsified."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series, ctx, fmpq
from scipy.optimize import brentq

from tests.paths import MODELS
from vegasfluid import (
    Cubic,
    Event,
    Flows,
    HighSpeed,
    InvalidInput,
    Link,
    Network,
    NewReno,
    OnOff,
    Red,
    Reno,
    Vegas,
    modelfile,
)
from vegasfluid.analysis.certificate import (
    Certificate,
    Enclosure,
    certify_alpha,
    matches,
    verify,
)
from vegasfluid.analysis.certificate.balls import enclosed_root, larger, lesser, value_of, variable
from vegasfluid.analysis.certificate.equations import Equations
from vegasfluid.analysis.certificate.posing import problem_of
from vegasfluid.analysis.certificate.problem import Competitor, Curve, Problem, Tuned
from vegasfluid.analysis.certificate.theorem import (
    NotProven,
    loss_elasticities,
    prove,
    require_falling_rates,
)
from vegasfluid.analysis.certificate.windows import Branch, WindowAtRest, window_at_rest
from vegasfluid.aqm.law import Average, QueueState
from vegasfluid.cli.certify import run
from vegasfluid.congestion.cubic import CubicWindow
from vegasfluid.congestion.law import Feedback, Window
from vegasfluid.congestion.vegas.law import VegasWindow
from vegasfluid.fluid import MISRA_GONG_TOWSLEY, simulate_fluid

PAPER = (2, 3, 4)
WIDE = 1e9
"""Packets; more than any window here."""


def of_the_paper(number: int) -> Network:
    return modelfile.load(MODELS / f"weigle_feng_network{number}.toml").network


def mixed(dialect: str = "ns2", **red: Any) -> Network:
    """Two laws against Vegas, each with its round-trip time; softness and CUBIC's C matter."""
    curve = {"min_thresh": 100, "max_thresh": 300, "max_drop": 0.2} | red
    flows = {
        "vegas": Flows(8, Vegas(dialect=dialect, softness=2.0), base_rtt=0.05),
        "reno": Flows(5, Reno(), base_rtt=0.04),
        "cubic": Flows(4, Cubic(), base_rtt=0.3),
    }
    return Network(Link(5000.0, 900, Red(**curve)), flows)


BASE = mixed()
VEGAS, RENO = BASE.flows["vegas"], BASE.flows["reno"]


# The laws' own drifts, solved with floats: an oracle that knows no formula of the package.


def state(law: Any, cwnd: float, base_rtt: float, seen: Feedback) -> Any:
    """A state whose other fields do not move: times since a loss are those of losses in a row."""
    if isinstance(law, Vegas):
        return VegasWindow(cwnd, 0.0, base_rtt, 0.0)
    if not isinstance(law, Cubic):
        return Window(cwnd, 0.0)
    mean = 1 / seen.loss_rate
    begun = law.after_loss(CubicWindow(cwnd, 0.0, 0.0, 0.0, 0.0), seen)
    return CubicWindow(cwnd, float(begun.k), mean, 2 * mean**2, 0.0)


def drift(law: Any, cwnd: float, base_rtt: float, rtt: float, prob: float, process: str) -> Any:
    rate = cwnd / rtt
    seen = Feedback(rtt, rate, prob * rate, WIDE, loss_process=process)
    return law.drift(state(law, cwnd, base_rtt, seen), seen)


def window(law: Any, base_rtt: float, rtt: float, prob: float, process: str) -> float:
    def growth(log_cwnd: float) -> float:
        return float(drift(law, math.exp(log_cwnd), base_rtt, rtt, prob, process).cwnd)

    return math.exp(brentq(growth, math.log(1e-3), math.log(WIDE), xtol=1e-14, rtol=1e-15))


def drop_prob(network: Network, queue: float) -> float:
    link = network.link
    seen = QueueState(queue, Average(queue), 0.0, link.capacity, link.buffer)
    return float(link.aqm.drop_prob(seen))


def marks(network: Network) -> bool:
    return network.link.aqm.ecn and all(of.ecn for of in network.flows.values())


def rates(network: Network, queue: float, process: str) -> dict[str, float]:
    prob, found = drop_prob(network, queue), {}
    for name, of in network.flows.items():
        base = network.base_rtts(name)[0]
        rtt = base + queue / network.link.capacity
        found[name] = window(of.law, base, rtt, prob, process) / rtt
    return found


def excess(network: Network, queue: float, process: str) -> float:
    kept = 1.0 if marks(network) else 1 - drop_prob(network, queue)
    sent = rates(network, queue, process)
    return kept * sum(network.flows[name].count * sent[name] for name in sent) - (
        network.link.capacity
    )


def with_alpha(network: Network, alpha: float) -> Network:
    """As a 0-dimensional array, a number that is not whole passes in every dialect."""
    law = network.flows["vegas"].law
    given = {"alpha": np.array(alpha), "beta": np.array(alpha + 2)}
    return network.with_law("vegas", replace(law, **given))


def ratio_at(network: Network, alpha: float, process: str) -> float:
    """The ratio at the rest of the laws' drifts, without the limit of two packets."""
    tuned, red = with_alpha(network, alpha), network.link.aqm
    low = red.min_thresh * (1 + 1e-9)
    end = (2 if red.gentle else 1) * red.max_thresh
    high = min(end, network.link.buffer - 1.0)
    queue = brentq(lambda at: excess(tuned, at, process), low, high, xtol=1e-12, rtol=1e-15)
    sent = rates(tuned, queue, process)
    others = [name for name in sent if name != "vegas"]
    count = sum(network.flows[name].count for name in others)
    mean = sum(network.flows[name].count * sent[name] for name in others) / count
    return sent["vegas"] / mean


def drawn(rng: np.random.Generator) -> tuple[Network, dict[str, Any]]:
    """A network with a mix of laws, and what to certify of it."""
    laws = (Reno(), NewReno(), Cubic(), Cubic(beta=0.8, fast_convergence=False))
    low = float(10 ** rng.uniform(1, 3))
    high = low * float(rng.uniform(1.5, 4))
    switches = {name: bool(rng.integers(2)) for name in ("gentle", "wait", "ecn")}
    red = Red(low, high, float(rng.choice([1.0, 0.5, 0.1])), **switches)
    vegas = Vegas(dialect=str(rng.choice(["brakmo", "ns2", "linux"])))
    flows = {
        "vegas": Flows(int(rng.integers(1, 40)), vegas, base_rtt=float(rng.uniform(0.01, 0.2)))
    }
    for number in range(int(rng.integers(1, 4))):
        law = laws[rng.integers(len(laws))]
        count, base = int(rng.integers(1, 40)), float(rng.uniform(0.01, 0.2))
        flows[f"other{number}"] = Flows(count, law, base_rtt=base)
    network = Network(Link(float(10 ** rng.uniform(3, 4.5)), 2 * high, red), flows)
    process = str(rng.choice(["meanfield", "periodic", "iid"]))
    return network, {"ratio": float(rng.uniform(0.2, 1.1)), "loss_process": process}


def drawn_and_certified(number: int) -> list[tuple[Network, Certificate]]:
    rng, found = np.random.default_rng(20), []
    while len(found) < number:
        network, wanted = drawn(rng)
        try:
            found.append((network, certify_alpha(network, **wanted)))
        except InvalidInput:
            continue
    return found


DRAWN = drawn_and_certified(20)


@pytest.fixture
def small() -> dict[str, Any]:
    return copy.deepcopy(EXAMPLE)


def test_drawn_networks_are_a_mix():
    dialects = {network.flows["vegas"].law.dialect for network, _ in DRAWN}
    laws = {type(of.law) for network, _ in DRAWN for of in network.flows.values()}
    assert dialects == {"brakmo", "ns2", "linux"}
    assert laws == {Vegas, Reno, NewReno, Cubic}
    for switch in ("gentle", "wait", "ecn"):
        assert {getattr(network.link.aqm, switch) for network, _ in DRAWN} == {True, False}
    assert {found.problem.loss_process for _, found in DRAWN} == {"meanfield", "periodic", "iid"}


def high_precision_alpha(network: Network) -> mpmath.mpf:
    """Equal flows of Reno and ns-2 Vegas at equal round trips, in 60 digits.

    The windows of all are sqrt(2/p), and they fill the link; half of f is the ratio squared.
    """
    link, red = network.link, network.link.aqm
    with mpmath.workdps(60):
        base, capacity = mpmath.mpf(network.base_rtts("vegas")[0]), mpmath.mpf(link.capacity)
        count = sum(network.counts)

        def prob(queue: mpmath.mpf) -> mpmath.mpf:
            gap = 3 * (mpmath.mpf(red.max_thresh) - red.min_thresh) / (queue - red.min_thresh) - 1
            return 2 / gap  # the gaps between drops are uniform from 1/p_b to 2/p_b - 1

        def missing(queue: mpmath.mpf) -> mpmath.mpf:
            held = capacity * base + queue
            return count**2 * (1 - prob(queue)) ** 2 * 2 - held**2 * prob(queue)

        low = red.min_thresh + mpmath.mpf(10) ** -6
        queue = mpmath.findroot(missing, (low, red.min_thresh + 100), solver="anderson")
        own = mpmath.sqrt(2 / prob(queue)) * queue / (capacity * base + queue)
        return own * (1 + mpmath.log(2) / 8)


@pytest.mark.parametrize("number", PAPER)
def test_networks_of_the_paper(number):
    network = of_the_paper(number)
    found = certify_alpha(network)
    verdict = verify(json.loads(json.dumps(found.document())))
    assert verdict.valid, verdict.refused
    assert verdict.digits > 15
    low, high = found.alpha.bounds
    truth = Fraction(mpmath.nstr(high_precision_alpha(network), 45))
    assert low < truth < high
    assert high - low < Fraction(1, 10**10)


def moves(network: Network, found: Certificate) -> dict[str, float]:
    """How fast each field of each state moves at the certified point, in units of its losses."""
    tuned = with_alpha(network, float(found.alpha))
    queue = float(found.claims["queue_packets",])
    prob, process, worst = drop_prob(network, queue), found.problem.loss_process, {}
    for name, of in tuned.flows.items():
        base = network.base_rtts(name)[0]
        rtt = base + queue / network.link.capacity
        cwnd = float(found.claims["classes", name, "cwnd_packets"])
        moved = drift(of.law, cwnd, base, rtt, prob, process)
        lost = prob * cwnd / rtt
        worst[name] = abs(float(moved.cwnd)) / (lost * cwnd)
        if isinstance(of.law, Cubic):
            seen = Feedback(rtt, cwnd / rtt, lost, WIDE)
            at = state(of.law, cwnd, base, seen)
            for field in ("k", "elapsed", "squared"):
                moving = abs(float(getattr(moved, field)))
                worst[f"{name}.{field}"] = moving / (lost * getattr(at, field))
    return worst


@pytest.mark.parametrize("number", PAPER)
def test_drifts_are_zero_at_the_paper_s_certified_rest(number):
    network = of_the_paper(number)
    found = certify_alpha(network)
    assert max(moves(network, found).values()) < 1e-9


@pytest.mark.parametrize(("network", "found"), DRAWN)
def test_drifts_are_zero_at_the_certified_rest(network, found):
    assert verify(found.document()).valid
    assert max(moves(network, found).values()) < 1e-9
    prob = drop_prob(network, float(found.claims["queue_packets",]))
    assert float(found.claims["drop_prob",]) == pytest.approx(prob, rel=1e-9)
    kept = 1.0 if marks(network) else 1 - prob
    sent = sum(
        of.count * float(found.claims["classes", name, "rate_packets_per_s"])
        for name, of in network.flows.items()
    )
    assert kept * sent == pytest.approx(network.link.capacity, rel=1e-9)


@pytest.mark.parametrize(("network", "found"), DRAWN)
def test_unfairness_is_as_bounded(network, found):
    problem = found.problem
    alpha, below, above = (
        float(found.claims[f"alpha{of}_packets",]) for of in ("", "_below", "_above")
    )

    def log_ratio(at: float) -> float:
        return math.log(ratio_at(network, at, problem.loss_process) / problem.ratio)

    assert log_ratio(alpha) == pytest.approx(0, abs=1e-8)
    assert log_ratio(below) == pytest.approx(-problem.epsilon, abs=1e-8)
    assert log_ratio(above) == pytest.approx(problem.epsilon, abs=1e-8)
    inside = [log_ratio(at) for at in np.linspace(below, above, 5)[1:-1]]
    outside = [log_ratio(at) for at in (below / 4, below * 0.9, above * 1.1, above * 1.5)]
    assert max(np.abs(inside)) < problem.epsilon < min(np.abs(outside))
    assert np.all(np.diff([*outside[:2], *inside, *outside[2:]]) > 0)


@pytest.mark.parametrize("found", [found for _, found in DRAWN])
def test_difference_quotients_lie_in_the_enclosed_slope(found):
    """By the mean value theorem, between the three certified alphas."""
    alpha, below, above = (
        found.claims[f"alpha{of}_packets",].bounds for of in ("", "_below", "_above")
    )
    low, high = found.claims["alpha_packets_per_log_ratio",].bounds
    epsilon = Fraction(found.problem.epsilon)
    for first, last in ((below, alpha), (alpha, above)):
        assert low < (last[0] - first[1]) / epsilon
        assert (last[1] - first[0]) / epsilon < high


@pytest.mark.parametrize(("max_drop", "queue"), [(0.01, 60), (0.005, None), (0.03, None)])
def test_rest_on_the_kink_of_a_gentle_curve(max_drop, queue):
    """Windows of 10 packets, 1 in 50 marked: just where the first curve has its kink."""
    red = Red(20, 60, max_drop, gentle=True, wait=False, ecn=True)
    propagation = 0.04 - (1 + 40 / 1500) / 1000  # the rest of 0.04 s is for sending
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=propagation),
        "reno": Flows(5, Reno(), base_rtt=propagation),
    }
    network = Network(Link(1000.0, 400, red), flows)
    found = certify_alpha(network)
    assert verify(found).valid
    rest = float(found.claims["queue_packets",])
    assert (rest < 60 - 1, rest > 60) == (max_drop > 0.01, max_drop < 0.01) or queue == 60
    if queue is not None:
        assert rest == pytest.approx(queue, rel=1e-12)
    test_drifts_are_zero_at_the_certified_rest(network, found)
    test_difference_quotients_lie_in_the_enclosed_slope(found)
    test_unfairness_is_as_bounded(network, found)


LOSS_BASED = [
    Reno(),
    NewReno(),
    Cubic(),
    Cubic(C=0.1, beta=0.8, fast_convergence=False),
    Cubic(beta=0.5, friendly=False),
]


@pytest.mark.parametrize("process", ["meanfield", "periodic", "iid"])
@pytest.mark.parametrize("law", LOSS_BASED, ids=repr)
def test_explicit_windows_are_those_of_the_drifts(law, process):
    """In every region: the cubic, the Reno-friendly one, and that of steepest growth."""
    flows = {"vegas": VEGAS, "other": Flows(1, law, base_rtt=0.1)}
    problem = problem_of(Network(BASE.link, flows), loss_process=process)
    explicit = window_at_rest(problem.competitors["other"], process)
    for prob in (1e-6, 1e-4, 1e-2, 0.3, 0.9):
        for rtt in (0.005, 0.1, 2.0):
            found = float(explicit(arb(prob), arb(rtt)))
            assert found == pytest.approx(window(law, 0.1, rtt, prob, process), rel=1e-11)


@pytest.mark.parametrize("gentle", [False, True])
@pytest.mark.parametrize("wait", [False, True])
def test_elasticities_are_those_of_red(gentle, wait):
    """Against differences of the queue law's own curve."""
    network = mixed(gentle=gentle, wait=wait)
    equations = Equations(problem_of(network))
    for queue in (101.0, 150.0, 299.0, *((310.0, 400.0) if gentle else ())):
        step = 1e-4
        prob, more, less = (drop_prob(network, at) for at in (queue, queue + step, queue - step))
        (found,) = loss_elasticities(equations, arb(queue - 100))
        expected = (more - less) / (2 * step) / prob * (queue - 100)
        assert float(found) == pytest.approx(expected, rel=1e-6)
        assert float(equations.drop_prob(arb(queue))) == pytest.approx(prob, rel=1e-12)


@pytest.mark.parametrize(
    ("red", "top"),
    [
        ({}, 300),
        ({"gentle": True}, 600),
        ({"gentle": True, "max_drop": 1.0}, 300),
        ({"wait": False}, 300),
        ({"wait": False, "max_drop": 0.8}, 225),
        ({"wait": False, "gentle": True}, 300 * (1 + 0.3 / 0.8)),
        ({"gentle": True, "max_thresh": 800}, 899),
    ],
)
def test_box_ends_where_red_s_curve_or_the_buffer_does(red, top):
    """With `wait` the share of drops is 1 where the curve is, without where the curve is 1/2."""
    network = mixed(**red)
    end = float(Equations(problem_of(network)).top)
    assert end == pytest.approx(top, rel=1e-12)
    before, beyond = drop_prob(network, end * 0.999), drop_prob(network, end * 1.02)
    assert before < 1
    assert beyond == 1 or end == 899  # where only the buffer is full


def test_fluid_comes_to_the_certified_rest():
    """The equations that a run integrates, from their beginning, where this rest is stable."""
    network = mixed(min_thresh=50, max_thresh=450, max_drop=0.02)
    found = certify_alpha(network, ratio=0.8)
    tuned = with_alpha(network, float(found.alpha))
    last = simulate_fluid(tuned, until=300.0, closure=MISRA_GONG_TOWSLEY).isel(time=-1)
    assert float(last["queue"][0]) == pytest.approx(float(found.claims["queue_packets",]), rel=1e-9)
    for name in network.flows:
        cwnd = float(found.claims["classes", name, "cwnd_packets"])
        assert float(last["cwnd"].sel(flow_class=name)) == pytest.approx(cwnd, rel=1e-9)


THEORY_SHEET = {2: 134.263, 3: 89.542, 4: 89.507}
"""Section 5e: q*/N with p the curve itself (no spacing, max_drop 1) and nothing taken off by p."""


@pytest.mark.parametrize("number", PAPER)
def test_fair_backlog_of_the_theory_sheet(number):
    """Unspaced drops are RED's without `wait` at half the curve; marks take nothing off.

    alpha itself is larger, because Vegas loses packets too: f = 1/2, and by d/8 ln 2.
    """
    network = of_the_paper(number)
    unspaced = replace(network.link.aqm, max_drop=0.5, wait=False, ecn=True)
    link = replace(network.link, aqm=unspaced)
    found = certify_alpha(Network(link, {**network.flows}, network.packet_bytes))
    queue = float(found.claims["queue_packets",])
    backlog = queue / sum(network.counts)
    assert round(backlog, 3) == THEORY_SHEET[number]
    assert float(found.claims["climbing_share",]) == pytest.approx(0.5, rel=1e-15)
    assert float(found.alpha) == pytest.approx(backlog * (1 + math.log(2) / 8), rel=1e-14)


def test_little_of_vegas_loses_little_and_rests_at_its_backlog():
    """The lossless limit: with f towards 0, alpha is the backlog."""
    network = of_the_paper(2)
    excess_of = []
    for ratio in (0.1, 0.05, 0.025):
        claims = certify_alpha(network, ratio=ratio).claims
        rate = float(claims["classes", "vegas", "rate_packets_per_s"])
        backlog = rate * float(claims["queue_packets",]) / network.link.capacity
        excess_of.append(float(claims["alpha_packets",]) / backlog - 1)
    assert 0 < excess_of[2] < 1e-4
    assert np.allclose(np.array(excess_of[:2]) / excess_of[1:], 4, rtol=0.01)


@pytest.mark.parametrize(
    ("dialect", "ceiling"), [("brakmo", "1,"), ("linux", "1,"), ("ns2", "1.41421,")]
)
def test_plateau_of_the_theory_sheet(dialect, ceiling):
    """Section 5d: at equal round trips the ratio stays below 1, and below sqrt 2 with 1/4."""
    flows = {
        "vegas": Flows(5, Vegas(dialect=dialect), base_rtt=0.05),
        "reno": Flows(5, Reno(), base_rtt=0.05),
    }
    network = Network(Link(1000.0, 400, Red(50, 150, 0.1)), flows)
    with pytest.raises(InvalidInput, match=f"ratio must be below {ceiling} the largest that any"):
        certify_alpha(network, ratio=1.5)
    near = float(ceiling[:-1]) * 0.995
    with pytest.raises(InvalidInput, match=r"epsilon must be below 0.005"):
        certify_alpha(network, ratio=near)
    assert verify(certify_alpha(network, ratio=near, epsilon=0.004)).valid


def test_ratio_that_would_need_no_alpha():
    with pytest.raises(InvalidInput, match=r"ratio must be above .* alpha is 0"):
        certify_alpha(mixed("linux"), ratio=0.01)


# What a document must be, and what it may not claim.


def leaves(document: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(document, dict):
        return [path]
    return [leaf for key in document for leaf in leaves(document[key], (*path, key))]


def nodes(document: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(document, dict):
        return []
    below = [node for key in document for node in nodes(document[key], (*path, key))]
    return [*((*path, key) for key in document), *below]


def at(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def changed(document: Any, path: tuple[str, ...], value: Any) -> Any:
    other = copy.deepcopy(document)
    at(other, path[:-1])[path[-1]] = value
    return other


def restated(document: Any) -> Any:
    """The same claims with the sentence that they make."""
    return Certificate.read(document).document()


def times(number: str, factor: Fraction) -> str:
    """A decimal times a factor."""
    scaled = Fraction(number) * factor
    return mpmath.nstr(mpmath.mpf(scaled.numerator) / scaled.denominator, 40, min_fixed=-99)


EXAMPLE = certify_alpha(mixed(), ratio=0.8).document()
ALL_CLAIMS = leaves(EXAMPLE["claims"])
SLOPE = "alpha_packets_per_log_ratio"


@pytest.mark.parametrize("path", ALL_CLAIMS, ids=".".join)
def test_claims_that_leave_out_the_truth_are_refused_and_weaker_ones_hold(small, path):
    """A bound moved towards the other leaves the truth out; moved away it is true still."""
    place = ("claims", *path)
    inwards = Fraction(1, 10**6) if path[-1] == "low" else Fraction(-1, 10**6)
    if path[0] == SLOPE:
        inwards *= 50_000  # by 5 %: the slopes themselves are a few percent apart
    narrower = restated_or_none(changed(small, place, times(at(small, place), 1 + inwards)))
    weaker = restated_or_none(changed(small, place, times(at(small, place), 1 - inwards)))
    if path[0] == "box_packets":
        assert verify(narrower).valid  # a smaller box with the rest in it says less
        assert not verify(weaker).valid  # nothing is shown outside of RED's curve
        return
    assert narrower is None or not verify(narrower).valid
    assert verify(weaker).valid


def restated_or_none(document: Any) -> Any:
    """None where the bounds are not in order any more, which is refused before any proof."""
    try:
        return restated(document)
    except InvalidInput as refused:
        if "at most high" not in str(refused):
            raise
        return None


def test_enclosures_that_are_shifted_or_miss_the_truth_are_refused(small):
    alpha = at(small, ("claims", "alpha_packets"))
    low, high = Fraction(alpha["low"]), Fraction(alpha["high"])
    width = high - low
    for ends in ((low + 2 * width, high + 2 * width), (low, low), (high, high)):
        moved = dict(zip(("low", "high"), (times("1", end) for end in ends), strict=True))
        verdict = verify(restated(changed(small, ("claims", "alpha_packets"), moved)))
        assert not verdict.valid
        assert verdict.refused[0].startswith("alpha_packets is proven to be between")


def test_box_without_the_rest_and_beyond_the_curve_is_refused(small):
    for low, high in (("105", "200"), ("100", "101"), ("99", "300"), ("100", "301")):
        verdict = verify(changed(small, ("claims", "box_packets"), {"low": low, "high": high}))
        assert len(verdict.refused) == 1
        assert "box_packets" in verdict.refused[0]


PARAMETERS = [
    path for path in leaves(EXAMPLE["problem"]) if not isinstance(at(EXAMPLE["problem"], path), str)
]
WITHOUT_EFFECT = {
    "max_window_packets",
    "buffer_packets",
    "access_packets_per_s",
    "gentle",
    "friendly",
}
"""They bind nowhere near the rest, so that the claims are true for others too."""


@pytest.mark.parametrize("path", PARAMETERS, ids=".".join)
def test_other_parameters_are_refused(small, path):
    place = ("problem", *path)
    value = at(small, place)
    if value is None:
        other: Any = 1e4
    elif isinstance(value, bool):
        other = not value
    else:
        other = value + 1 if isinstance(value, int) else value * (1 + 1e-6)
    verdict = verify(restated(changed(small, place, other)))
    assert verdict.valid == (path[-1] in WITHOUT_EFFECT)


@pytest.mark.parametrize("law", ["newreno", "reno"])
def test_newreno_rests_as_reno(small, law):
    """The fluid knows no difference, so the claim is true; of CUBIC as Reno it is not."""
    document = changed(small, ("problem", "competitors", "reno", "law"), law)
    assert verify(restated(document)).valid


@pytest.mark.parametrize(
    ("key", "value"), [("dialect", "brakmo"), ("dialect", "linux"), ("loss_process", "iid")]
)
def test_other_words_are_refused(small, key, value):
    place = ("problem", "tuned", key) if key == "dialect" else ("problem", key)
    assert not verify(restated(changed(small, place, value))).valid


def test_seeded_falsifications(small):
    """Every number by a millionth: what is accepted is a weaker claim, or binds nowhere."""
    rng = np.random.default_rng(5)
    numbers = [("claims", *path) for path in ALL_CLAIMS] + [("problem", *p) for p in PARAMETERS]
    accepted = 0
    for _ in range(200):
        place = numbers[rng.integers(len(numbers))]
        value, by = at(small, place), float(rng.choice([-1e-6, 1e-6]))
        if isinstance(value, bool | int) or value is None:
            continue
        moved = times(value, 1 + Fraction(by)) if isinstance(value, str) else value * (1 + by)
        document = restated_or_none(changed(small, place, moved))
        if document is None or not verify(document).valid:
            continue
        accepted += 1
        weaker = (by < 0) == (place[-1] == "low")
        assert weaker or {"box_packets", SLOPE, *WITHOUT_EFFECT} & set(place), place
    assert 20 < accepted < 150


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("buffer_packets",), 90.0, "RED drops nothing before the buffer is full"),
        (("competitors", "reno", "flows"), 10**6, "not shown to be where RED's curve is"),
        (("ratio",), 5.0, "not shown to be below those of losses alone"),
        (("ratio",), 1e-3, "windows of vegas may be below 2 packets"),
        (("competitors", "reno", "max_window_packets"), 20.0, "reno may be limited by max_window"),
        (("tuned", "access_packets_per_s"), 100.0, "vegas may be limited by its access links"),
    ],
)
def test_what_the_theorem_assumes_is_checked(small, path, value, reason):
    """By the checker itself, whoever wrote the certificate."""
    verdict = verify(changed(small, ("problem", *path), value))
    assert len(verdict.refused) == 1
    assert reason in verdict.refused[0]


def test_alpha_below_zero_is_not_certified():
    """Where a dialect rests above alpha, a small share would take an alpha below 0."""
    flows = {
        "vegas": Flows(2, Vegas(dialect="linux"), base_rtt=0.2),
        "reno": Flows(2, Reno(), base_rtt=0.2),
    }
    network = Network(Link(1000.0, 90, Red(5, 30, 0.01)), flows)
    document = certify_alpha(network, ratio=0.5).document()
    verdict = verify(changed(document, ("problem", "ratio"), 0.05))
    assert verdict.refused == ("alpha is not shown to be above 0 at the lower ratio",)


def test_linux_needs_three_samples_a_round_trip():
    """Below three packets it grows as Reno, whatever alpha is; ns-2 does not."""
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.2),
        "reno": Flows(5, Reno(), base_rtt=0.2),
    }
    network = Network(Link(80.0, 400, Red(5, 30, 0.5)), flows)
    document = certify_alpha(network, ratio=0.7).document()
    assert 2 < float(document["claims"]["classes"]["vegas"]["cwnd_packets"]["low"]) < 3
    verdict = verify(changed(document, ("problem", "tuned", "dialect"), "linux"))
    assert verdict.refused == ("windows of vegas may be below 3 packets",)


def test_the_fluid_counts_two_losses_a_round_trip():
    """CUBIC that takes a twentieth at a loss, over a long way, bears more."""
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=60.0),
        "cubic": Flows(5, Cubic(beta=0.95), base_rtt=5.0),
    }
    network = Network(Link(5.0, 400, Red(5, 100, 0.9)), flows)
    with pytest.raises(InvalidInput, match="cubic may lose more than 2 packets a round trip"):
        certify_alpha(network, ratio=0.02)


@pytest.mark.parametrize(
    ("branch", "reason"),
    [
        (Branch(arb(1), fmpq(1, 2), fmpq(3)), "not shown to fall"),
        (Branch(arb(1), fmpq(0), fmpq(0)), "not shown to grow without bound"),
        (Branch(arb(-1), fmpq(1, 2), fmpq(0)), "not shown to grow without bound"),
    ],
)
def test_laws_whose_rates_may_rise_with_the_queue_are_not_covered(branch, reason):
    """A window in proportion to the third power of the round-trip time, say."""
    equations = Equations(problem_of(BASE))
    require_falling_rates(equations)
    equations.laws["reno"] = WindowAtRest((branch,))
    with pytest.raises(NotProven, match=reason):
        require_falling_rates(equations)


def test_another_sentence_is_refused(small):
    said = small["statement"].replace("at least 0.01", "at least 0.5")
    assert said != small["statement"]
    verdict = verify(small | {"statement": said})
    assert verdict.refused == ("statement is not the sentence that the claims make",)


@pytest.mark.parametrize("path", nodes(EXAMPLE), ids=".".join)
def test_every_key_is_needed_and_no_other_is_known(small, path):
    document = copy.deepcopy(small)
    at(document, path[:-1])[path[-1] + "_"] = at(document, path)
    with pytest.raises(InvalidInput) as refused:
        verify(document)
    assert "\n" not in str(refused.value)
    del at(document, path[:-1])[path[-1]]
    with pytest.raises(InvalidInput) as refused:
        verify(document)
    assert "\n" not in str(refused.value)


BAD_VALUES = [
    (("version",), 2, "version must be 1"),
    (("version",), True, "version must be 1"),
    (("format",), "another", "format must be"),
    (("software",), 5, "software must be a text"),
    (("problem",), [], "problem must be a JSON object"),
    (("problem", "ratio"), "1.0", "problem.ratio must be a number"),
    (("problem", "ratio"), True, "problem.ratio must be a number"),
    (("problem", "ratio"), math.nan, "finite number"),
    (("problem", "ratio"), math.inf, "finite number"),
    (("problem", "ratio"), -1.0, "ratio must be above 0"),
    (("problem", "ratio"), 10**400, "at most 1.8e308"),
    (("problem", "ratio"), 2**53 + 1, "that a double holds"),
    (("problem", "epsilon"), 2.0, "epsilon must be at most 1"),
    (("problem", "epsilon"), 0.0, "epsilon must be above 0"),
    (("problem", "loss_process"), "often", "loss_process must be one of"),
    (("problem", "red", "gentle"), 1, "gentle must be true or false"),
    (("problem", "red", "max_drop"), 1.5, "max_drop must be at most 1"),
    (("problem", "red", "max_thresh_packets"), 50.0, "min_thresh must be below max_thresh"),
    (("problem", "tuned", "flows"), 8.5, "flows must be a whole number"),
    (("problem", "tuned", "flows"), 0, "count must be at least 1"),
    (("problem", "tuned", "dialect"), "ns3", "dialect must be one of brakmo, ns2, linux"),
    (("problem", "tuned", "name"), "reno", "another class than its competitors"),
    (("problem", "competitors"), {}, "1 to 100 classes"),
    (("problem", "competitors", "reno"), 3, "competitors.reno must be a JSON object"),
    (("problem", "competitors", "reno", "law"), "highspeed", "reno, newreno or cubic"),
    (("claims", "alpha_packets"), 5.0, "alpha_packets must be a JSON object"),
    (("claims", "alpha_packets", "low"), 5.0, "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "nan", "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "1E9999999", "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "9" * 500, "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "1/3", "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "99", "low must be at most high"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD_VALUES)
def test_malformed_documents_are_refused_in_one_line(small, path, value, message):
    with pytest.raises(InvalidInput) as refused:
        verify(changed(small, path, value))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_what_is_no_object_is_refused(document):
    with pytest.raises(InvalidInput, match="the document must be a JSON object"):
        verify(document)


def with_link(**given: Any) -> Network:
    return Network(replace(BASE.link, **given), BASE.flows)


def with_flows(**given: Any) -> Network:
    return Network(BASE.link, {**BASE.flows, **given})


def with_two_links() -> Network:
    flows = {name: replace(of, path=("a", "b")) for name, of in BASE.flows.items()}
    return Network({"a": BASE.link, "b": BASE.link}, flows)


RED = BASE.link.aqm
REFUSED = {
    "drop-tail": (Network(Link(5000.0, 900), BASE.flows), "queue law must be red"),
    "adaptive": (with_link(aqm=replace(RED, adaptive=True)), "adaptive must be false"),
    "in bytes": (with_link(aqm=replace(RED, in_bytes=True)), "in_bytes must be false"),
    "jitter": (with_link(jitter=0.001), "jitter must be 0"),
    "links": (with_two_links(), "links must be one link here"),
    "events": (
        Network(BASE.link, BASE.flows, events=(Event(1.0, "access", 0.1, "reno"),)),
        "events must be none",
    ),
    "highspeed": (with_flows(fast=Flows(1, HighSpeed(), base_rtt=0.05)), "law must be reno"),
    "other Vegas": (with_flows(more=VEGAS), "law must be reno"),
    "alone": (Network(BASE.link, {"vegas": VEGAS}), "at least one class, but is 'none'"),
    "not Vegas": (with_flows(vegas=RENO), "law must be vegas to be tuned"),
    "no such class": (Network(BASE.link, {"reno": RENO}), "tuned must be one of reno"),
    "ns-3": (mixed("ns3"), "dialect must be one of brakmo, ns2, linux"),
    "round trips": (
        with_flows(reno=replace(RENO, base_rtt=(0.04,) * 4 + (0.05,))),
        "base_rtt must be the same for all flows",
    ),
    "traffic": (
        with_flows(reno=replace(RENO, traffic=OnOff(1.0, 1.0, 100.0))),
        "traffic must be bulk",
    ),
    "reverse": (with_flows(reno=replace(RENO, direction="reverse")), "direction must be forward"),
    "delayed ACKs": (with_flows(reno=replace(RENO, delayed_ack=0.1)), "delayed_ack must be 0"),
    "never drops": (with_link(buffer=90), "min_thresh must be below 89"),
    "too many flows": (
        with_flows(reno=replace(RENO, count=5000)),
        "queue at rest must be at most 300 packets",
    ),
    "max_window": (with_flows(reno=replace(RENO, max_window=20)), "may be limited by max_window"),
    "access": (with_flows(reno=replace(RENO, access=300.0)), "limited by its access links"),
    "some marked": (
        Network(
            replace(BASE.link, aqm=replace(RED, ecn=True)),
            {**BASE.flows, "reno": replace(RENO, ecn=False)},
        ),
        "ecn must be the same in all classes",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_networks_that_the_proof_does_not_cover(case):
    network, message = REFUSED[case]
    with pytest.raises(InvalidInput) as refused:
        certify_alpha(network, ratio=0.8)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ratio": 0.0}, "ratio must be above 0"),
        ({"ratio": math.nan}, "ratio must be a finite number"),
        ({"epsilon": 1.5}, "epsilon must be at most 1"),
        ({"loss_process": "often"}, "loss_process must be one of"),
    ],
)
def test_wishes_that_make_no_sense(given, message):
    with pytest.raises(InvalidInput, match=message):
        certify_alpha(BASE, **given)


def test_certificate_of_another_model_is_told():
    document = certify_alpha(of_the_paper(3)).document()
    matches(document, of_the_paper(3))
    matches(document, with_alpha(of_the_paper(3), 77.0))
    with pytest.raises(InvalidInput, match=r"base_rtt_s must be 0\.1\d* as in the model"):
        matches(document, of_the_paper(4))
    with pytest.raises(InvalidInput, match=r"competitors.cubic must be .* but is 'missing'"):
        matches(document, replaced_flows(of_the_paper(3)))


def replaced_flows(network: Network) -> Network:
    cubic = replace(network.flows["reno"], law=Cubic())
    return Network(network.link, {**network.flows, "cubic": cubic}, network.packet_bytes)


def test_file_holds_what_was_certified(tmp_path, small):
    found = Certificate.read(small)
    found.save(tmp_path / "alpha.json")
    read = json.loads((tmp_path / "alpha.json").read_text())
    assert read == small
    assert Certificate.read(read) == found


# Numbers.


def test_decimals_enclose_the_ball():
    with ctx.workprec(200):
        third = arb(1) / 3
        values = (third, -third, third / 10**30, third * 10**30, arb(5), arb(0))
    for value in values:
        found = Enclosure.around(value)
        low, high = found.bounds
        assert found.contains(value)
        assert 0 < high - low <= max(abs(high), 1) * Fraction(4, 10**19)
        assert not Enclosure(found.high, found.high).contains(value)
    assert not Enclosure("0", "1").contains(arb(0.5, 1))
    assert not Enclosure("0", "1").contains(arb.nan())


def test_root_that_bisection_meets():
    """On it no sign is certain; it is enclosed from both sides all the same."""
    for root in (arb(2), arb(1), arb(0.3)):
        found = enclosed_root(
            lambda point, root=root: (root - point) * arb(1, 1e-9), arb(0), arb(4)
        )
        assert found.contains(root)
        assert found.rad() < 1e-12


def test_rest_in_the_middle_of_the_box():
    """All numbers are exact: windows of 16, 1 packet in 128 marked, 64 packets in the queue."""
    red = Curve(0.0, 128.0, 1 / 128, gentle=False, wait=False, marks=True)
    numbers = {"count": 5, "base_rtt": 96 / 1024, "max_window": 1e5, "access": None}
    tuned = Tuned(**numbers, dialect="ns2", softness=0.25)
    others = {"reno": Competitor(**numbers, law="reno")}
    proof = prove(Problem(1024.0, 500.0, red, "vegas", tuned, others, "meanfield", 1.0, 0.01))
    assert proof.rest.queue.contains(64)
    assert proof.rest.queue.rad() < 1e-60
    assert proof.rest.windows["vegas"].contains(16)
    assert proof.rest.climbing.contains(0.5)


def test_open_comparisons_cover_both_branches():
    wide = variable(arb(0, 1))
    both = larger(2 * wide, 3 * wide)
    assert both[1].contains(arb(2))
    assert both[1].contains(arb(3))
    assert value_of(both).contains(arb(3))
    assert lesser(wide, arb(5)) is not None
    assert isinstance(lesser(wide, arb(0.5)), arb_series)
    assert lesser(wide, arb(0.5))[1].contains(arb(0))
    assert lesser(arb(1), arb(2)) == 1


# The command.


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    certify_alpha(of_the_paper(2)).save(Path("alpha.json"))
    return Path("alpha.json")


def test_command_shows_what_is_proven(file, capsys):
    assert run(file, model=MODELS / "weigle_feng_network2.toml", as_json=False)
    shown = capsys.readouterr().out
    assert "holds: everything in it is proven" in shown
    assert "145.935773957531904" in shown
    assert "145 to 147" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_command_prints_json(file, capsys):
    assert run(file, model=None, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["valid"]
    assert printed["refused"] == []
    assert printed["digits"] > 15


def test_command_says_why_it_refuses(file, capsys):
    document = json.loads(file.read_text())
    file.write_text(json.dumps(changed(document, ("problem", "epsilon"), 0.02)))
    assert not run(file, model=None, as_json=False)
    shown = capsys.readouterr().out
    assert "does not hold" in shown
    assert "Not proven: alpha_below_packets is proven to be between" in shown
    assert not run(file, model=None, as_json=True)
    assert not json.loads(capsys.readouterr().out)["valid"]


def test_command_refuses_another_model(file):
    with pytest.raises(InvalidInput, match=r"capacity_packets_per_s must be .* as in the model"):
        run(file, model=MODELS / "weigle_feng_network3.toml", as_json=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "a file that exists"),
        (b"{", "a JSON document"),
        (b"\xff\xfe", "a JSON document"),
        (b"[" * 100_000, "a JSON document"),
        (b"1" * 5000, "a JSON document"),
        (b" " * 1_000_001, "at most 1000000 bytes"),
        (b'{"format": 1, "format": 2}', "there once in its object"),
        (b'{"format": NaN}', "finite"),
        (b"[]", "a JSON object"),
        (b"{}", "format must be given"),
    ],
)
def test_command_refuses_other_files_in_one_line(tmp_path, content, message):
    path = tmp_path / "alpha.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message) as refused:
        run(path, model=None, as_json=False)
    assert "\n" not in str(refused.value)
