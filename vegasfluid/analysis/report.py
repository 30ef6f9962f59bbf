"""Equilibrium, fair alpha, stability, closed forms and certificate of one network, in one call.

What cannot be computed is left out, with the reason beside it. Where no stable equilibrium is
found, the means of a run of the fluid model stand in for it. The alpha that theory gives is also
tried on the packet simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from vegasfluid.analysis.applicable_formulas import Applied, applied, drop_tail_forms
from vegasfluid.analysis.equilibria.all_equilibria import Equilibria, all_equilibria
from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.equilibria.fair_alpha import Fair, fair_alpha, tuned_class, with_alpha
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
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.options import FluidOptions
from vegasfluid.network import Network

__all__ = ["Analysis", "Nearest", "Place", "analyse"]

NEAR_LARGEST, LARGE_ALPHA = 0.95, 1e6
"""Fraction of the largest ratio to come near; packets, above any useful alpha."""
ONE_LINK = 500
"""Boxes that a proof looks at on one link; where it succeeds, some ten are enough."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Place:
    """An equilibrium and its stability.

    Args:
        rest: the equilibrium.
        stability: of it; None where the linear system does not tell.
        untold: why it does not; empty where it does.
    """

    rest: Equilibrium
    stability: Stability | None
    untold: str = ""


@dataclass(frozen=True)
class Nearest:
    """The alpha that gives a tuned flow 95 % of the largest ratio that any alpha gives.

    Args:
        alpha: packets, in the measure of the dialect.
        ratio: that it gives in theory.
        largest: ratio that theory nears as alpha grows.
    """

    alpha: float
    ratio: float
    largest: float


@dataclass(frozen=True)
class Analysis:
    """What theory says of a network, and a few runs beside it.

    Args:
        network: that was analysed.
        here: its equilibrium as it is; None where none was found.
        no_equilibrium: why there is none; empty where there is.
        cycle: means of a run of the fluid model, where no stable equilibrium is known; else None.
        others: where else it may rest as it is.
        equilibria: how many there are, and whether these are proven to be all; None where untold.
        uncounted: why it is not; empty where it is.
        tuned: the Vegas class whose share is looked at; None: there is none.
        ratio: that its flows are to have.
        fair_alpha: packets, in the measure of the dialect; None where no alpha gives the ratio.
        there: where it rests with that alpha.
        nearest: where no alpha gives the ratio, the one that gives 95 % of the largest.
        packets: what that alpha, or the fair one, gives on packets; None where there is neither.
        caveats: why theory and packets may differ here.
        formulas: that speak of it.
        published: published formulas, beside the values of the equilibrium.
        certificate: of the alpha.
        unproven: why there is none; empty where there is.
    """

    network: Network
    here: Place | None
    no_equilibrium: str
    cycle: LimitCycle | None
    others: tuple[Place, ...]
    equilibria: Equilibria | None
    uncounted: str
    tuned: str | None
    ratio: float
    fair_alpha: float | None
    there: Place | None
    nearest: Nearest | None
    packets: PacketRatio | None
    caveats: tuple[str, ...]
    formulas: tuple[Applied, ...]
    published: tuple[PublishedValue, ...]
    certificate: Certificate | None
    unproven: str = ""


def analyse(
    network: Network,
    tune: str | None = None,
    ratio: float = 1.0,
    options: FluidOptions = THEORY,
    tell: Callable[[str], None] = lambda _: None,
) -> Analysis:
    """Analyse a network.

    Args:
        network: of links, and classes of flows that send without end.
        tune: the Vegas class whose alpha is looked for; None: the only one.
        ratio: of a tuned flow's goodput over that of a flow of the others.
        options: switches of the fluid model (`FluidOptions`).
        tell: is told what is being done.

    Raises:
        InvalidInput: for a class that is no Vegas, or a ratio that is not above 0.
    """
    if not ratio > 0:
        raise InvalidInput("analyse", "--ratio", "above 0", ratio)
    tuned = tuned_class(network, tune)
    tell("rest")
    rest, no_equilibrium = attempt(lambda: equilibrium(network, options))
    tell("all equilibria")
    several, uncounted, others = None, no_equilibrium, ()
    if rest is not None:
        several, uncounted = attempt(lambda: counted(rest))
        others = () if several is None else tuple(map(place, several.beside(rest)))
    tell("the fair alpha")
    alpha = find_alpha(network, tuned, ratio, options)
    tell("stability")
    here = None if rest is None else place(rest)
    tell("runs")
    cycle = None if stays_in_equilibrium(here) else attempt(lambda: limit_cycle(network))[0]
    at = rest if alpha.fair is None else alpha.fair.rest
    forms = [] if at is None else applied(at, tuned if alpha.fair else None, ratio)
    equal_share_alpha = alpha.fair.alpha if alpha.fair is not None and ratio == 1 else None
    return Analysis(
        network=network,
        here=here,
        no_equilibrium=no_equilibrium,
        cycle=cycle,
        others=others,
        equilibria=several,
        uncounted=uncounted,
        tuned=tuned,
        ratio=ratio,
        fair_alpha=None if alpha.fair is None else alpha.fair.alpha,
        there=None if alpha.fair is None else place(alpha.fair.rest),
        nearest=alpha.nearest,
        packets=on_packets(network, tuned, alpha),
        caveats=tuple(caveats(network, mean_windows(network, rest, cycle))),
        formulas=(*forms, *drop_tail_forms(network)),
        published=() if rest is None else published_formulas(rest, tuned, equal_share_alpha),
        certificate=alpha.certificate,
        unproven=alpha.unproven,
    )


class Alpha(NamedTuple):
    """What theory says of the alpha that gives a ratio.

    Args:
        fair: it, and the equilibrium with it; None where there is none.
        certificate: of it.
        unproven: why there is none; empty where there is.
        nearest: where no alpha gives the ratio.
    """

    fair: Fair | None
    certificate: Certificate | None
    unproven: str
    nearest: Nearest | None = None


def find_alpha(network: Network, tuned: str | None, ratio: float, options: FluidOptions) -> Alpha:
    """The alpha that gives the ratio, proven where proofs reach."""
    certificate, unproven = attempt(lambda: certified(network, tuned, ratio, options))
    if tuned is None:
        return Alpha(None, None, unproven)
    if certificate is not None:
        proven = float(certificate.alpha)
        rest = equilibrium(with_alpha(network, tuned, proven), options)
        return Alpha(Fair(proven, rest), certificate, unproven)
    fair, _ = attempt(lambda: fair_alpha(network, tuned, ratio, options))
    nearest, _ = (None, "") if fair else attempt(lambda: nearest_alpha(network, tuned, options))
    return Alpha(fair, None, unproven, nearest)


def on_packets(network: Network, tuned: str | None, alpha: Alpha) -> PacketRatio | None:
    """What packets give with the alpha that theory names, if it names one."""
    found = alpha.fair or alpha.nearest
    if found is None or tuned is None:
        return None
    return attempt(lambda: measure_ratio(network, tuned, found.alpha))[0]


def nearest_alpha(network: Network, tuned: str, options: FluidOptions) -> Nearest | None:
    """The alpha that gives 95 % of the largest ratio; None where even the smallest gives more."""
    largest = equilibrium(with_alpha(network, tuned, LARGE_ALPHA), options).ratio(tuned)
    found = fair_alpha(network, tuned, NEAR_LARGEST * largest, options)
    return None if found is None else Nearest(found.alpha, found.rest.ratio(tuned), largest)


def stays_in_equilibrium(here: Place | None) -> bool:
    """Whether an equilibrium was found that is not known to be unstable."""
    return here is not None and (here.stability is None or here.stability.stable)


def mean_windows(
    network: Network, rest: Equilibrium | None, cycle: LimitCycle | None
) -> dict[str, float]:
    """The mean window of each class, packets, by a run where there is one."""
    if cycle is not None:
        return cycle.cwnd
    return {} if rest is None else {name: rest.mean(name, "cwnd") for name in network.flows}


def counted(here: Equilibrium) -> Equilibria:
    """All equilibria of a network. On one link each queue has one load, so that one is all."""
    if len(here.network.links) > 1:
        return all_equilibria(here.network, here.options)
    return all_equilibria(here.network, here.options, starts=1, budget=ONE_LINK)


def certified(
    network: Network, tuned: str | None, ratio: float, options: FluidOptions
) -> Certificate | None:
    """A certificate of the fair alpha.

    Raises:
        InvalidInput: where proofs do not cover the network.
    """
    if tuned is None:
        raise InvalidInput("certificate", "flows", "one class of Vegas flows, and others", "not")
    if options.recovery or options.timeouts or options.whole_packets:
        raise InvalidInput("certificate", "options", "that of theory", "another")
    return certify_alpha(network, tuned, ratio, loss_process=options.loss_process)


def place(rest: Equilibrium) -> Place:
    """An equilibrium with its verdict."""
    found, untold = attempt(lambda: stability(rest))
    return Place(rest, found, untold)


def attempt(make: Callable[[], Found]) -> tuple[Found | None, str]:
    """What comes of something, or why nothing does."""
    try:
        return make(), ""
    except (InvalidInput, SolveFailed) as refused:
        return None, str(refused)
