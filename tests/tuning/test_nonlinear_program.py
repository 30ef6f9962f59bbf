"""Several parameters within limits, on outputs that are made up, so that the best is known.

Two groups of one flow each. With the parameters a and u the tuned flow gets a u / (1 + a u) of
100 packets/s; the queueing delay is a u^2 / 100 s, the loss ratio 0.01 / u.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from scipy.optimize import minimize

from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.tuning import AlphaFair, Constraints, JainIndex, ShareRatio, WorstFlow
from vegasfluid.tuning.fluid_gradients import OutputCorrection, Outputs
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.nonlinear_program import (
    NonlinearProgram,
    minimise_delay,
    solve_program,
)
from vegasfluid.tuning.parameters import AlphaParameter, RedParameter
from vegasfluid.tuning.space_mapping import map_to_packets

UTILISATION = 0.95


def outputs(a: float, u: float) -> Outputs:
    own = a * u / (1 + a * u)
    return Outputs(np.array([1 - own, own]) * 100, a * u**2 / 100, 0.01 / u, UTILISATION)


class MadeUp:
    """In the place of `DifferentiableFluid`; its derivatives are by hand."""

    count = np.ones(2)
    evaluations = 0
    seconds = 0.0

    def __init__(self, parameters: int) -> None:
        self.parameters = parameters

    def at(self, x: np.ndarray) -> tuple[Outputs, Outputs]:
        self.evaluations += 1
        a, u = math.exp(x[0]), math.exp(x[1]) if self.parameters > 1 else 1.0
        own = a * u / (1 + a * u)
        rate = 100 * own * (1 - own)
        slopes = Outputs(
            np.array([[-rate, -rate], [rate, rate]]),
            a * u**2 / 100 * np.array([1.0, 2.0]),
            0.01 / u * np.array([0.0, -1.0]),
            np.zeros(2),
        )
        return outputs(a, u), Outputs(*(slope[..., : self.parameters] for slope in slopes))


def problem(goal, constraints=Constraints(), parameters=1, **options) -> NonlinearProgram:  # noqa: B008
    return NonlinearProgram(
        cast(Any, MadeUp(parameters)),
        goal,
        constraints,
        np.array([0.0, 1.0]),
        fair=50.0,
        bounds=[(math.log(0.01), math.log(100))] * parameters,
        minimises_delay=parameters > 1,
        **options,
    )


STARTS = pytest.mark.parametrize(
    "start", [0.02, 3.0, *(pytest.param(start, marks=pytest.mark.slow) for start in (0.5, 60.0))]
)
"""From below and from above what is best; from nearer and from farther in the long tests."""


@STARTS
@pytest.mark.parametrize("goal", [ShareRatio(1.0), JainIndex(), AlphaFair(1.0), AlphaFair(2.0)])
def test_one_parameters(start, goal):
    """All goals are best where both flows have the same: a = 1."""
    result = solve_program(problem(goal), np.log([start]))
    assert np.exp(result[0]) == pytest.approx(1.0, rel=0.02)


@STARTS
def test_the_worst_flow(start):
    result = solve_program(problem(WorstFlow()), np.log([start]))
    assert np.exp(result[0]) == pytest.approx(1.0, rel=0.05)


@STARTS
def test_one_parameter_within_a_limit(start):
    """The delay is a / 100: at most 0.004 s allows a = 0.4, and the ratio 0.4."""
    result = solve_program(
        problem(ShareRatio(1.0), Constraints(queueing_delay=0.004)), np.log([start])
    )
    assert np.exp(result[0]) == pytest.approx(0.4, rel=0.003)


@STARTS
def test_a_limit_that_nothing_keeps_to(start):
    """The utilisation is what it is; alone it does not stand in the way of the goal."""
    result = solve_program(problem(ShareRatio(1.0), Constraints(utilisation=0.99)), np.log([start]))
    assert np.exp(result[0]) == pytest.approx(1.0, rel=0.02)


@STARTS
def test_two_parameters_find_the_smallest_delay(start):
    """Ratio 1 is a u = 1; the delay u / 100 then falls with u, until the loss ratio is 0.05."""
    result = solve_program(
        problem(ShareRatio(1.0), Constraints(drop_share=0.05), 2), np.log([start, 1.0])
    )
    a, u = np.exp(result)
    assert u == pytest.approx(0.2, rel=0.01)
    assert a * u == pytest.approx(1.0, abs=0.006)


def test_two_parameters_with_a_smooth_goal():
    """Against SciPy's Nelder-Mead on what is to be minimised, written anew."""
    limits = Constraints(drop_share=0.05)

    def objective(x: np.ndarray) -> float:
        a, u = np.exp(x)
        goodput, delay, drops, _ = outputs(a, u)
        spread = goodput.var() / goodput.mean() ** 2
        return 1000 * spread + math.log(delay) + 1e6 * max(math.log(drops / 0.05), 0) ** 2

    best = minimize(objective, np.log([4.0, 0.3]), method="Nelder-Mead", options={"xatol": 1e-6})
    result = solve_program(problem(JainIndex(), limits, 2), np.log([1.0, 1.0]))
    np.testing.assert_allclose(np.exp(result), np.exp(best.x), rtol=0.01)


def test_the_smallest_delay_whatever_the_goal():
    result = minimise_delay(
        problem(ShareRatio(1.0), Constraints(drop_share=0.05), 2), np.log([1.0, 1.0])
    )
    a, u = np.exp(result)
    assert a == pytest.approx(0.01, rel=0.01)
    assert u == pytest.approx(0.2, rel=0.01)


def test_a_gain_margin_by_differences():
    """It is 2 / a: at least 4 allows a = 0.5."""
    program = problem(
        ShareRatio(1.0), Constraints(gain_margin=4.0), gain_margin=lambda x: 2 / math.exp(x[0])
    )
    result = solve_program(program, np.log([0.1]))
    assert np.exp(result[0]) == pytest.approx(0.5, rel=0.005)


def test_a_solution_stays_within_reach():
    result = solve_program(problem(ShareRatio(1.0), trust_radius=0.5), np.log([0.1]))
    assert result[0] == pytest.approx(math.log(0.1) + 0.5)


def correction(at: float) -> OutputCorrection:
    offset = Outputs(np.array([0.1, -0.2]), 0.3, 0.0, 0.0)
    gradient = Outputs(np.array([[0.5], [1.0]]), np.array([0.2]), np.zeros(1), np.zeros(1))
    return OutputCorrection(np.array([at]), offset, gradient)


def test_a_correction_corrects_outputs_and_derivatives():
    x, width = np.array([0.3]), 1e-6
    program = problem(ShareRatio(1.0), correction=correction(0.1))
    result, slopes = program.outputs(x)
    plain, _ = MadeUp(1).at(x)
    np.testing.assert_allclose(result.goodput, plain.goodput * np.exp([0.1 + 0.1, -0.2 + 0.2]))
    above, below = program.outputs(x + width)[0], program.outputs(x - width)[0]
    for name in Outputs._fields:
        difference = (np.asarray(getattr(above, name)) - getattr(below, name)) / (2 * width)
        np.testing.assert_allclose(getattr(slopes, name)[..., 0], difference, atol=1e-6)


def test_a_correction_turns_so_that_it_holds_at_both_measurements():
    before, after = correction(0.1), Outputs(np.array([0.7, 0.1]), 0.0, 0.1, 0.0)
    updated = before.updated(np.array([0.4]), after)
    back = [
        np.asarray(offset + gradient @ (before.at - updated.at))
        for offset, gradient in zip(updated.offset, updated.gradient, strict=True)
    ]
    for result, expected in zip(back, before.offset, strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-12)


NETWORK = Network(
    Link(100.0, 100, Red(min_thresh=10, max_thresh=20)),
    {"reno": Flows(1, Reno(), base_rtt=0.1), "vegas": Flows(1, Vegas(), base_rtt=0.1)},
)
PARAMETERS = (AlphaParameter("vegas", 1, 2.0), RedParameter("max_drop"))


def truth(a: float, u: float) -> Outputs:
    """Stands for packets: the tuned flow gets less and less of its goodput in the fluid."""
    share = a * u / 2 / (1 + a * u / 2) ** 1.2
    return outputs(a, u)._replace(
        goodput=np.array([1 - share, share]) * 100, queueing_delay=1.5 * a**1.3 * u**2 / 100
    )


def measured(network: Network, parameters: int, noise: float = 1e-3) -> Measurement:
    law: Any = network.flows["vegas"].law
    result = truth(
        float(law.alpha), cast(Red, network.link.aqm).max_drop if parameters > 1 else 1.0
    )
    links = {
        "queueing_delay_s": float(result.queueing_delay),
        "drop_share": float(result.drop_share),
        "utilisation": UTILISATION,
    }
    ratio = float(result.goodput[1] / result.goodput[0])
    delays = links["queueing_delay_s"] * (1 + noise * np.array([-1.0, -0.3, 0.3, 1.0]))
    runs = tuple({"ratio": ratio, **links, "queueing_delay_s": float(delay)} for delay in delays)
    return Measurement(runs, (result.goodput,) * 4)


def test_adaptation_reaches_the_goal_on_packets():
    alphas: list[float] = []

    def measure(network: Network) -> Measurement:
        alphas.append(float(cast(Any, network.flows["vegas"].law).alpha))
        return measured(network, 1)

    adapted = map_to_packets(
        problem(ShareRatio(1.0)), NETWORK, PARAMETERS[:1], measure, np.log([1.0])
    )
    assert adapted.measurement.ratio == pytest.approx(1.0, rel=0.02)
    assert alphas[0] == pytest.approx(1.0, rel=0.02)  # the fluid's own
    assert float(cast(Any, adapted.network.flows["vegas"].law).alpha) == pytest.approx(
        min(
            alphas, key=lambda a: abs(math.log(truth(a, 1.0).goodput[1] / truth(a, 1.0).goodput[0]))
        )
    )
    assert len(alphas) <= 6


@pytest.mark.parametrize("noise", [1e-3, 0.05])
def test_adaptation_keeps_to_limits_as_far_as_it_is_sure(noise):
    limits = Constraints(queueing_delay=0.02, drop_share=0.05)
    program = replace(problem(ShareRatio(1.0), limits, 2), bounds=[(-3.0, 3.0), (-3.0, 0.0)])
    adapted = map_to_packets(
        program,
        NETWORK,
        PARAMETERS,
        lambda network: measured(network, 2, noise),
        np.log([1.0, 0.5]),
    )
    means = adapted.measurement.means()
    assert (
        means["queueing_delay_s"]
        * (1 + adapted.measurement.relative_half_width("queueing_delay_s"))
        < 0.0202
    )
    assert means["drop_share"] <= 0.0505
    assert adapted.measurement.ratio == pytest.approx(1.0, rel=0.05)
