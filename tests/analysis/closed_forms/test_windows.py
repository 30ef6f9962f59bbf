"""Equilibrium windows in closed form against the zeros of the congestion controls' drifts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from tests.analysis import drifts
from vegasfluid.analysis import closed_forms as forms
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.base import LOSS_PROCESSES, Signals
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.dctcp import Dctcp, DctcpWindow
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.newreno import NewReno
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.scalable import Scalable
from vegasfluid.congestion.vegas import DIALECTS, Vegas, VegasWindow
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput

POINTS = 20
WITH_LOSSES = ("brakmo", "ns2", "linux")
PATHS = {"rtt": (2e-3, 0.5), "prob": (1e-6, 3e-2)}
every_process = pytest.mark.parametrize("process", LOSS_PROCESSES)
every_dialect = pytest.mark.parametrize("dialect", WITH_LOSSES)


@every_process
@pytest.mark.parametrize("law", [Reno(), NewReno(), Reno(recovery="sack", byte_counting=True)])
def test_reno(law, process):
    formula = forms.equilibrium_window(law, process)
    for at in drifts.draws(POINTS, 1, **PATHS):
        found = drifts.window(law, at["rtt"], at["prob"], process)
        assert formula(drop_prob=at["prob"]) == pytest.approx(found, rel=1e-12)


@every_process
def test_scalable_above_its_legacy_window(process):
    spans = {"rtt": (2e-3, 0.5), "window": (20.0, 1e5), "step": (1e-3, 0.1), "cut": (0.02, 0.9)}
    for at in drifts.draws(POINTS, 2, **spans):
        law = Scalable(increase=at["step"], decrease=at["cut"])
        prob = at["step"] / (at["cut"] * at["window"])
        formula = forms.equilibrium_window(law, process)(drop_prob=prob)
        if formula > law.legacy_window + 1:
            found = drifts.window(law, at["rtt"], prob, process, low=law.legacy_window + 1)
            assert formula == pytest.approx(found, rel=1e-11)


@every_process
@pytest.mark.parametrize("law", [Dctcp(), Dctcp(recovery="rack")])
def test_dctcp_under_random_marks(law, process):
    """Bisection of the drift, with alpha where its rate is zero."""
    for at in drifts.draws(POINTS, 4, rtt=(1e-4, 0.1), prob=(1e-3, 0.2)):
        rtt, prob = at["rtt"], at["prob"]
        low, high = 1.01, 1e5
        for _ in range(100):
            window = (low + high) / 2
            rate = window / rtt
            seen = Signals(rtt, rate, prob * rate, 2.0, mark_prob=prob, marked=1.0)
            seen = seen._replace(loss_process=process)
            change = law.drift(DctcpWindow(window, 0.0, prob), seen)
            assert change.alpha == 0.0
            low, high = (window, high) if change.cwnd > 0 else (low, window)
        formula = forms.equilibrium_window(law, process)
        assert formula(drop_prob=prob) == pytest.approx(window, rel=1e-9)


def test_highspeed_with_periodic_losses():
    spans = {"rtt": (2e-3, 0.5), "prob": (2e-7, 9e-4), "cut": (0.05, 0.45)}
    for at in drifts.draws(POINTS, 3, **spans):
        law = HighSpeed(high_decrease=at["cut"])
        found = drifts.window(law, at["rtt"], at["prob"], "periodic")
        formula = forms.equilibrium_window(law, "periodic")
        assert formula(drop_prob=at["prob"]) == pytest.approx(found, rel=1e-11)


def test_highspeed_has_the_response_function_of_the_rfc():
    """RFC 3649, section 5: W = 0.12 / p^0.835, constants rounded to two and three digits."""
    formula = forms.equilibrium_window(HighSpeed(), "periodic")
    assert formula(drop_prob=1e-3) == pytest.approx(38, rel=1e-12)
    assert formula(drop_prob=1e-7) == pytest.approx(83000, rel=1e-12)
    slope = sp.diff(sp.log(formula.expression), forms.symbol("drop_prob"))
    exponent = slope.subs(forms.symbol("drop_prob"), 1e-5) * 1e-5
    assert round(float(exponent), 3) == -0.835
    assert round(formula(drop_prob=1e-5) * 1e-5**0.835, 2) == 0.12


def cubic_formula(law: Cubic, process: str, rtt: float, prob: float) -> float:
    """The formulas of both regions with numbers put in, and the larger one."""
    point = {"cubic_c": law.C, "cut": 1 - law.beta, "rtt": rtt, "drop_prob": prob}
    curve = forms.cubic_window(process, law.fast_convergence)(**point)
    reno = forms.reno_friendly_window(process)
    as_reno = reno.evaluate(point)
    return max(curve, as_reno) if law.friendly else curve


@every_process
@pytest.mark.parametrize("gives_way", [False, True])
@pytest.mark.parametrize("friendly", [False, True])
def test_cubic_from_all_of_its_states(process, gives_way, friendly):
    spans = {"rtt": (5e-3, 0.5), "prob": (1e-8, 1e-2), "C": (0.1, 2.0), "beta": (0.5, 0.9)}
    for at in drifts.draws(POINTS, 4, **spans):
        law = Cubic(at["C"], at["beta"], fast_convergence=gives_way, friendly=friendly)
        window = cubic_formula(law, process, at["rtt"], at["prob"])
        found = drifts.cubic_window(law, at["rtt"], at["prob"], process)
        assert window == pytest.approx(found, rel=1e-9)
        assert (1 - law.beta) * at["prob"] * window < 0.5  # as the formula states where it holds


@every_process
@pytest.mark.parametrize("gives_way", [False, True])
def test_cubic_with_its_own_numbers(process, gives_way):
    law = Cubic(0.7, 0.6180339887498949, fast_convergence=gives_way)
    formula = forms.equilibrium_window(law, process)
    assert formula.arguments == ("rtt", "drop_prob")
    for at in drifts.draws(POINTS, 10, rtt=(5e-3, 0.5), prob=(1e-8, 1e-2)):
        found = drifts.cubic_window(law, at["rtt"], at["prob"], process)
        assert formula(rtt=at["rtt"], drop_prob=at["prob"]) == pytest.approx(found, rel=1e-9)


@every_process
def test_cubics_crossover(process):
    """On one side of it the drift's window is that without friendliness, on the other it is not."""
    edge, spans = (
        forms.cubic_crossover(process),
        {"rtt": (0.02, 0.5), "C": (0.1, 2), "b": (0.1, 0.5)},
    )
    for at in drifts.draws(POINTS, 11, **spans):
        prob = edge(cubic_c=at["C"], cut=at["b"], rtt=at["rtt"])
        law = Cubic(at["C"], 1 - at["b"], fast_convergence=False)
        for side in (0.9, 1.1):
            found = [
                drifts.cubic_window(
                    replace(law, friendly=friendly), at["rtt"], side * prob, process
                )
                for friendly in (False, True)
            ]
            assert (found[0] == pytest.approx(found[1], rel=1e-9)) == (side < 1)


def test_cubic_with_symbols_for_its_parameters():
    c, beta = sp.symbols("C beta")
    formula = forms.equilibrium_window(Cubic(c, beta, friendly=False, fast_convergence=False))
    assert set(formula.arguments) == {"rtt", "drop_prob", "C", "beta"}
    found = drifts.cubic_window(Cubic(0.6, 0.8, False, False), 0.3, 1e-6, "meanfield")
    assert formula(rtt=0.3, drop_prob=1e-6, C=0.6, beta=0.8) == pytest.approx(found, rel=1e-10)


def at_rest_with(law: Vegas, rtt: float, base_rtt: float, cwnd: float) -> float:
    """Vegas's drift where nothing is lost."""
    state = VegasWindow(*map(np.float64, (cwnd, 0, base_rtt, 0)))
    return float(law.drift(state, Signals(rtt, cwnd / rtt, 0.0, 1e9)).cwnd)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_growing_vegas_without_losses_stops_at_the_window(dialect):
    for at in drifts.draws(POINTS, 5, base_rtt=(5e-3, 0.2), wait=(2e-3, 0.2), alpha=(2.0, 90.0)):
        alpha, rtt = float(round(at["alpha"])), at["base_rtt"] + at["wait"]
        law = Vegas(alpha=alpha, beta=alpha + 2, dialect=dialect)
        closed_form = forms.equilibrium_window(law)(rtt=rtt, base_rtt=at["base_rtt"])
        if closed_form > 4:  # where a round trip has samples enough
            assert at_rest_with(law, rtt, at["base_rtt"], closed_form * (1 - 1e-9)) > 0
            assert at_rest_with(law, rtt, at["base_rtt"], closed_form * (1 + 1e-9)) == 0


def test_the_modified_vegas_has_the_equilibrium_of_vegas():
    law, at = VegasRerouting(alpha=5, beta=7), {"rtt": 0.12, "base_rtt": 0.1}
    assert forms.equilibrium_window(law)(**at) == forms.equilibrium_window(law.plain)(**at)


@every_process
@every_dialect
def test_vegas_with_losses(dialect, process):
    """From alpha to the window by the drift, and back by the formula."""
    spans = {"base_rtt": (0.02, 0.2), "wait": (5e-3, 0.03), "alpha": (8, 90), "prob": (1e-6, 3e-4)}
    shares = []
    for at in drifts.draws(POINTS, 6, **spans):
        alpha, rtt = float(round(at["alpha"])), at["base_rtt"] + at["wait"]
        law = Vegas(alpha=alpha, beta=alpha + 2, dialect=dialect)
        cwnd = drifts.vegas_window(law, rtt, at["base_rtt"], at["prob"], process)
        point = {"cwnd": cwnd, "rtt": rtt, "base_rtt": at["base_rtt"], "drop_prob": at["prob"]}
        assert forms.vegas_alpha(law, process)(**point) == pytest.approx(alpha, rel=1e-9)
        cut, phi = law.implementation.loss_cut, float(law.loss_factor(process, None))
        general = forms.vegas_alpha()(**point, cut=cut, loss_factor=phi)
        factor = rtt / at["base_rtt"] if law.implementation.divides_by_base_rtt else 1.0
        assert general * factor == pytest.approx(alpha + law.implementation.alpha_offset, rel=1e-9)
        shares.append(phi * cut * at["prob"] * cwnd**2)
    assert min(shares) < 0.3
    assert max(shares) > 0.8


@every_dialect
def test_vegas_with_losses_and_a_backlog_below_the_softness(dialect):
    spans = {"base_rtt": (0.05, 0.2), "wait": (2e-3, 0.01), "alpha": (1, 4), "prob": (1e-5, 1e-3)}
    for at in drifts.draws(POINTS, 7, **spans):
        alpha, rtt = float(round(at["alpha"])), at["base_rtt"] + at["wait"]
        law = Vegas(alpha=alpha, beta=alpha + 9, dialect=dialect, softness=3.0)
        cwnd = drifts.vegas_window(law, rtt, at["base_rtt"], at["prob"])
        point = {"cwnd": cwnd, "rtt": rtt, "base_rtt": at["base_rtt"], "drop_prob": at["prob"]}
        point |= {"cut": law.implementation.loss_cut, "loss_factor": 1.0, "softness": 3.0}
        divided = at["base_rtt"] if law.implementation.divides_by_base_rtt else rtt
        more = cwnd * at["wait"] * (1 / divided - 1 / rtt)  # Linux's backlog over the textbook's
        small = forms.vegas_small_alpha()(**point) + more
        assert small == pytest.approx(alpha + law.implementation.alpha_offset, rel=1e-9)


def test_vegas_nears_its_saturated_window_and_never_has_it():
    law, prob = Vegas(alpha=1e5, beta=2e5), 1e-4
    full = forms.vegas_saturated_window()(drop_prob=prob, cut=0.5, loss_factor=1.0)
    found = drifts.vegas_window(law, 0.1, 0.05, prob)
    assert found == pytest.approx(full, rel=1e-12)
    point = {"rtt": 0.1, "base_rtt": 0.05, "drop_prob": prob, "cut": 0.5, "loss_factor": 1.0}
    for share in np.linspace(0.05, 0.99, POINTS):
        alpha = forms.vegas_alpha_of_share()(**point, share=share) - 0.5
        cwnd = drifts.vegas_window(Vegas(alpha=alpha, beta=1e5), 0.1, 0.05, prob)
        assert cwnd == pytest.approx(share * full, rel=1e-9)


@pytest.mark.parametrize(("dialect", "share"), [("brakmo", 0.80), ("ns2", 0.86)])
def test_at_the_sharp_edges_alpha_our_drift_has_a_part_of_the_saturated_window(dialect, share):
    cut, offset = DIALECTS[dialect].loss_cut, DIALECTS[dialect].alpha_offset
    point = {"rtt": 0.5, "base_rtt": 0.1, "cut": cut, "loss_factor": 1.0}
    # so that alpha is a whole number, which ns-2 wants: 0.8 / sqrt(b p) = 1000
    prob = (0.8 / 1000) ** 2 / cut
    alpha = forms.vegas_alpha_at_saturation()(**point, drop_prob=prob)
    assert alpha == pytest.approx(1000, rel=1e-12)
    law = Vegas(alpha=round(alpha) - offset, beta=2000, dialect=dialect)
    full = forms.vegas_saturated_window()(drop_prob=prob, cut=cut, loss_factor=1.0)
    assert round(drifts.vegas_window(law, 0.5, 0.1, prob) / full, 2) == share


def test_the_law_of_the_minimum_is_the_limit_of_no_width(monkeypatch):
    """A dialect that loses next to nothing at next to every packet has no width."""
    cut = 1e-9
    sharp = replace(
        DIALECTS["brakmo"], name="sharp", loss_cut=cut, alpha_offset=0.0, beta_offset=0.0
    )
    monkeypatch.setitem(DIALECTS, "sharp", sharp)
    spans = {"base_rtt": (0.05, 0.2), "wait": (5e-3, 0.2), "alpha": (2, 40), "prob": (1e-5, 1e-2)}
    saturated = 0
    for at in drifts.draws(POINTS, 8, **spans):
        law = Vegas(alpha=at["alpha"], beta=99, dialect="sharp", softness=1e-9)
        rtt, prob = at["base_rtt"] + at["wait"], at["prob"] / cut
        found = drifts.vegas_window(law, rtt, at["base_rtt"], prob)
        point = {"rtt": rtt, "base_rtt": at["base_rtt"], "alpha": at["alpha"]}
        losses = {"drop_prob": at["prob"], "cut": 1.0, "loss_factor": 1.0}
        assert forms.law_of_the_minimum()(**point, **losses) == pytest.approx(found, rel=1e-6)
        losses |= {name: point[name] for name in ("rtt", "base_rtt")}
        saturated += at["alpha"] > forms.vegas_alpha_at_saturation()(**losses)
    assert 0 < saturated < POINTS


@every_process
def test_the_factor_of_losses_is_the_laws(process):
    for at in drifts.draws(POINTS, 9, prob=(1e-6, 1e-2)):
        phi = float(Reno().loss_factor(process, None))
        window = forms.reno_window()(loss_factor=phi, drop_prob=at["prob"])
        assert window == pytest.approx(drifts.window(Reno(), 0.1, at["prob"], process), rel=1e-12)
    constant = float(forms.loss_constant(Reno(), process))
    assert constant == pytest.approx(np.sqrt(2 / phi), rel=1e-12)


def test_every_law_has_a_window_or_is_rejected_in_one_line():
    invalid = {}
    for name, law in congestion_controls().items():
        try:
            assert forms.equilibrium_window(law()).quantity == "cwnd"
        except InvalidInput as error:
            invalid[name] = str(error)
    assert invalid == {
        "highspeed": "equilibrium_window: law must be one with a closed form; highspeed has one "
        "for periodic losses only, but is 'highspeed'.",
        "udp": "equilibrium_window: law must be one with a window that responds to losses or "
        "delays, but is 'udp'.",
    }


def test_invalid_input():
    with pytest.raises(InvalidInput, match="loss_process must be one of iid, periodic, meanfield"):
        forms.equilibrium_window(Reno(), "bursts")
    with pytest.raises(InvalidInput, match="law must be one whose window is c / sqrt"):
        forms.loss_constant(Cubic())
    with pytest.raises(InvalidInput, match=r"law must be of a dialect that does not keep .* 'ns3'"):
        forms.vegas_alpha(Vegas(dialect="ns3"))
    with pytest.raises(InvalidInput, match=r"law must be of a dialect that does not keep .* 'ns3'"):
        forms.fair_alpha_with_losses(Vegas(dialect="ns3"))
