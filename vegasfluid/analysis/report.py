"""Equilibrium, fair alpha, stability, closed forms and certificate of one network, in one call.

What cannot be computed is missing, and the result states why. Where no stable equilibrium is
found, averages of a fluid run replace it. The packet simulator checks the alpha that theory gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from vegasfluid.analysis.applicable_formulas import (
    ApplicableFormula,
    applicable_formulas,
    drop_tail_formulas,
)
from vegasfluid.analysis.equilibria.all_equilibria import Equilibria, all_equilibria
from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.equilibria.fair_alpha import (
    FairAlpha,
    fair_alpha,
    network_with_alpha,
    tuned_class,
)
from vegasfluid.analysis.linear_stability.stability import Stability, stability
from vegasfluid.analysis.literature import PublishedValue, published_formulas
from vegasfluid.analysis.proofs import Certificate, certify_alpha
from vegasfluid.analysis.simulation_checks import (
    LimitCycle,
    PacketRatio,
    caveats,
    limit_cycle,
    measure_ratio,
)
from vegasfluid.errors import InvalidInput, SolveFailed, Unsupported
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["AnalysedEquilibrium", "Analysis", "NearestAlpha", "analyse"]

NEAR_LARGEST = 0.95
"""Fraction of the largest ratio that the nearest alpha gives."""
LARGE_ALPHA = 1e6
"""An alpha above any useful one, packets; its ratio counts as the largest."""
ONE_LINK_BUDGET = 500
"""Bound on the boxes of a proof for one link; if it succeeds, it needs about ten."""

Result = TypeVar("Result")
"""Type of what `attempt` computes."""


@dataclass(frozen=True)
class AnalysedEquilibrium:
    """An equilibrium and its stability.

    Args:
        equilibrium: the equilibrium.
        stability: its linear stability; None if it could not be computed.
        stability_missing: why `stability` is None, in words; empty if it is not None.
    """

    equilibrium: Equilibrium
    stability: Stability | None
    stability_missing: str = ""


@dataclass(frozen=True)
class NearestAlpha:
    """The alpha that gives 95 % of the largest ratio, where no alpha gives the wanted one.

    Args:
        alpha: the dialect's parameter, packets.
        ratio: goodput ratio with this alpha, in theory.
        largest: goodput ratio with an alpha of a million packets, in theory.
    """

    alpha: float
    ratio: float
    largest: float


@dataclass(frozen=True)
class Analysis:
    """Theory of a network, checked by a few runs.

    Args:
        network: the analysed network.
        present: its equilibrium with its present parameters; None if none was found.
        no_equilibrium: why `present` is None, in words; empty if it is not None.
        cycle: averages of a fluid run, if no equilibrium was found or `present` is unstable; else,
            or if the run fails, None.
        others: further equilibria with its present parameters.
        equilibria: all equilibria that were found, and whether they are proven to be all; None
            if there is none or the search failed.
        equilibria_missing: why `equilibria` is None, in words; empty if it is not None.
        tuned: name of the Vegas class whose alpha is varied; None if there is none.
        ratio: the wanted ratio of goodputs of a tuned flow and a flow of the other classes.
        fair_alpha: the dialect's parameter with that ratio, packets; None if none was found.
        at_fair_alpha: the equilibrium with `fair_alpha`; None without one.
        nearest: if no fair alpha was found, the alpha for 95 % of the largest ratio; else, or if
            that was not found, None.
        packets: ratio in packet runs with the fair alpha, or else with the nearest; None without
            either, or if the runs fail.
        caveats: reasons why theory and packets may differ, a clause each.
        formulas: closed forms that apply to the network, with their values. Their equilibrium is
            `at_fair_alpha`, or without a fair alpha `present`.
        published: published formulas, beside the values of `present`; empty without it.
        certificate: proof of the fair alpha; None if there is none.
        certificate_missing: why `certificate` is None, in words; empty if it is not None.
    """

    network: Network
    present: AnalysedEquilibrium | None
    no_equilibrium: str
    cycle: LimitCycle | None
    others: tuple[AnalysedEquilibrium, ...]
    equilibria: Equilibria | None
    equilibria_missing: str
    tuned: str | None
    ratio: float
    fair_alpha: float | None
    at_fair_alpha: AnalysedEquilibrium | None
    nearest: NearestAlpha | None
    packets: PacketRatio | None
    caveats: tuple[str, ...]
    formulas: tuple[ApplicableFormula, ...]
    published: tuple[PublishedValue, ...]
    certificate: Certificate | None
    certificate_missing: str = ""


def analyse(
    network: Network,
    tune: str | None = None,
    ratio: float = 1.0,
    options: FluidOptions = THEORY,
    tell: Callable[[str], None] = lambda _: None,
) -> Analysis:
    """Analyse a network: equilibria, fair alpha, closed forms, proof and runs, as an `Analysis`.

    Args:
        network: links, and classes of flows that send without end.
        tune: name of the Vegas class whose alpha is varied. None: the only Vegas class, or no class
            if there are several or no other classes.
        ratio: wanted ratio of the goodputs of a tuned flow and a flow of the other classes.
        options: switches of the fluid model for theory (`FluidOptions`); runs use the defaults.
        tell: called with the name of each step before it starts.

    Raises:
        InvalidInput: for a class that is not Vegas, or a ratio that is not above 0.
    """
    if not ratio > 0:
        raise InvalidInput("analyse", "--ratio", "above 0", ratio)
    tuned = tuned_class(network, tune)
    tell("equilibrium")
    point, no_equilibrium = attempt(lambda: equilibrium(network, options))
    tell("all equilibria")
    several, equilibria_missing, others = None, no_equilibrium, ()
    if point is not None:
        several, equilibria_missing = attempt(lambda: search_all(point))
        others = () if several is None else tuple(map(with_stability, several.other_than(point)))
    tell("the fair alpha")
    alpha = find_alpha(network, tuned, ratio, options)
    tell("stability")
    present = None if point is None else with_stability(point)
    tell("runs")
    cycle = None if stays_in_equilibrium(present) else attempt(lambda: limit_cycle(network))[0]
    fair = alpha.fair
    state = point if fair is None else fair.equilibrium
    formulas = [] if state is None else applicable_formulas(state, tuned if fair else None, ratio)
    equal_share_alpha = fair.alpha if fair is not None and ratio == 1 else None
    return Analysis(
        network=network,
        present=present,
        no_equilibrium=no_equilibrium,
        cycle=cycle,
        others=others,
        equilibria=several,
        equilibria_missing=equilibria_missing,
        tuned=tuned,
        ratio=ratio,
        fair_alpha=None if fair is None else fair.alpha,
        at_fair_alpha=None if fair is None else with_stability(fair.equilibrium),
        nearest=alpha.nearest,
        packets=packet_ratio(network, tuned, alpha),
        caveats=tuple(caveats(network, mean_windows(network, point, cycle))),
        formulas=(*formulas, *drop_tail_formulas(network)),
        published=() if point is None else published_formulas(point, tuned, equal_share_alpha),
        certificate=alpha.certificate,
        certificate_missing=alpha.certificate_missing,
    )


class AlphaResult(NamedTuple):
    """The alpha that gives a ratio, in theory.

    Args:
        fair: the alpha and its equilibrium; None if no alpha was found.
        certificate: proof of the alpha; None if there is none.
        certificate_missing: why `certificate` is None, in words; empty if it is not None.
        nearest: the alpha for 95 % of the largest ratio, if `fair` is None and it was found.
    """

    fair: FairAlpha | None
    certificate: Certificate | None
    certificate_missing: str
    nearest: NearestAlpha | None = None


def find_alpha(
    network: Network, tuned: str | None, ratio: float, options: FluidOptions
) -> AlphaResult:
    """The alpha (packets) of class `tuned` that gives a goodput ratio, with a proof if possible.

    `ratio` is the goodput of a tuned flow divided by that of a flow of the other classes. Alpha is
    taken from a proof where proofs cover the network. Without a proof, or if no equilibrium is
    found with that alpha, it is found numerically. If none is found or proven, `nearest` has the
    alpha for 95 % of the largest ratio. If `tuned` is None, so are all of these.
    """
    certificate, missing = attempt(lambda: certify(network, tuned, ratio, options))
    if tuned is None:
        return AlphaResult(None, None, missing)
    fair = None
    if certificate is not None:
        fair, _ = attempt(
            lambda: with_equilibrium(network, tuned, float(certificate.alpha), options)
        )
    if fair is None:
        fair, _ = attempt(lambda: fair_alpha(network, tuned, ratio, options))
    if fair is not None or certificate is not None:
        return AlphaResult(fair, certificate, missing)
    nearest, _ = attempt(lambda: nearest_alpha(network, tuned, options))
    return AlphaResult(None, None, missing, nearest)


def with_equilibrium(
    network: Network, tuned: str, alpha: float, options: FluidOptions
) -> FairAlpha:
    """An alpha (packets) of class `tuned`, with the equilibrium of the network with it.

    Raises:
        SolveFailed: if no equilibrium is found.
    """
    return FairAlpha(alpha, equilibrium(network_with_alpha(network, tuned, alpha), options))


def packet_ratio(network: Network, tuned: str | None, result: AlphaResult) -> PacketRatio | None:
    """The goodput ratio that the packet simulator gives with an alpha from theory.

    The alpha of class `tuned` is `result.fair`, or else `result.nearest`. None if there is neither,
    if `tuned` is None, or if the simulation fails.
    """
    setting = result.fair or result.nearest
    if setting is None or tuned is None:
        return None
    return attempt(lambda: measure_ratio(network, tuned, setting.alpha))[0]


def nearest_alpha(network: Network, tuned: str, options: FluidOptions) -> NearestAlpha | None:
    """The alpha (packets) of class `tuned` that gives 95 % of the largest goodput ratio in theory.

    The largest ratio is the one with an alpha of a million packets. The result is None if an alpha
    of half a packet already gives more than 95 % of it.
    """
    largest = equilibrium(network_with_alpha(network, tuned, LARGE_ALPHA), options).ratio(tuned)
    fair = fair_alpha(network, tuned, NEAR_LARGEST * largest, options)
    if fair is None:
        return None
    return NearestAlpha(fair.alpha, fair.equilibrium.ratio(tuned), largest)


def stays_in_equilibrium(present: AnalysedEquilibrium | None) -> bool:
    """Whether `present` is an equilibrium that is stable or of unknown stability, and not None."""
    return present is not None and (present.stability is None or present.stability.stable)


def mean_windows(
    network: Network, point: Equilibrium | None, cycle: LimitCycle | None
) -> dict[str, float]:
    """The mean window of each class, packets: from `cycle` if there is one, else at `point`.

    Empty if both are None.
    """
    if cycle is not None:
        return cycle.cwnd
    return {} if point is None else {name: point.mean(name, "cwnd") for name in network.flows}


def search_all(point: Equilibrium) -> Equilibria:
    """All equilibria of the network of `point`, with a proof that there are no others if possible.

    With one link there is only one equilibrium, so the search starts once.

    Raises:
        Unsupported: if the proof does not cover the network.
        SolveFailed: if no equilibrium is found.
    """
    if len(point.network.links) > 1:
        return all_equilibria(point.network, point.options)
    return all_equilibria(point.network, point.options, starts=1, budget=ONE_LINK_BUDGET)


def certify(
    network: Network, tuned: str | None, ratio: float, options: FluidOptions
) -> Certificate:
    """A proof of the alpha (packets) with which a flow of class `tuned` has a goodput ratio.

    `ratio` is relative to a flow of the other classes.

    Raises:
        InvalidInput: if proofs do not cover the network or the options (`Unsupported`), if `tuned`
            is None, or if no alpha gives the ratio.
        SolveFailed: if the checker does not confirm the proof.
    """
    if tuned is None:
        reason = "a proof needs exactly one class of Vegas flows, and other flows"
        raise Unsupported("certificate", "this network", reason)
    if options.recovery or options.timeouts or options.whole_packets:
        what = "recovery, timeouts or whole packets"
        raise Unsupported("certificate", what, "a proof covers mean windows only")
    return certify_alpha(network, tuned, ratio, loss_process=options.loss_process)


def with_stability(point: Equilibrium) -> AnalysedEquilibrium:
    """An equilibrium with its linear stability, or with the reason (text) why that is missing."""
    return AnalysedEquilibrium(point, *attempt(lambda: stability(point)))


def attempt(compute: Callable[[], Result]) -> tuple[Result | None, str]:
    """The result of `compute()` and an empty string; None and the message if it raises.

    Only `InvalidInput` (which includes `Unsupported`) and `SolveFailed` are caught.
    """
    try:
        return compute(), ""
    except (InvalidInput, SolveFailed) as error:
        return None, str(error)
