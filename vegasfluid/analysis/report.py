"""Everything at once: rest, fair alpha, stability, closed forms, certificate of one network.

What cannot be said of a network is left out, with the reason beside it. Where it comes to no rest,
a run of the fluid model tells the means; what theory says of an alpha is held against packets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from vegasfluid.analysis.applied import Applied, applied, of_drop_tail
from vegasfluid.analysis.certificate import Certificate, certify_alpha
from vegasfluid.analysis.equilibria import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.fair import Fair, fair_alpha, tuned_class, with_alpha
from vegasfluid.analysis.runs import Cycle, Measured, caveats, cycle_of, measured
from vegasfluid.analysis.several import STARTS, Equilibria, all_equilibria
from vegasfluid.analysis.verdicts import Stability, stability
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.closure import Closure
from vegasfluid.network import Network

__all__ = ["Analysis", "Nearest", "Place", "analyse"]

NEARLY, ENDLESS = 0.95, 1e6
"""The part of the largest ratio that is nearly all; an alpha (packets) as good as endless."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Place:
    """An equilibrium, and whether it lasts.

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
    """The alpha that gives a tuned flow nearly all that any alpha does.

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
    """What can be said of a network with hardly a run of it.

    Args:
        network: that was analysed.
        here: where it rests as it is; None where no rest was found.
        restless: why there is none; empty where there is.
        cycle: means of a run of the fluid model, where it does not rest or may not; else None.
        others: where else it may rest as it is.
        equilibria: how many there are, and whether these are proven to be all; None where untold.
        uncounted: why it is not; empty where it is.
        tuned: the Vegas class whose share is looked at; None: there is none.
        ratio: that its flows are to have.
        fair_alpha: packets, in the measure of the dialect; None where no alpha gives the ratio.
        there: where it rests with that alpha.
        nearest: where no alpha gives the ratio, the one that gives nearly all that any does.
        packets: what that alpha, or the fair one, gives on packets; None where there is neither.
        caveats: why theory and packets may part here.
        formulas: that speak of it.
        certificate: of the alpha.
        unproven: why there is none; empty where there is.
    """

    network: Network
    here: Place | None
    restless: str
    cycle: Cycle | None
    others: tuple[Place, ...]
    equilibria: Equilibria | None
    uncounted: str
    tuned: str | None
    ratio: float
    fair_alpha: float | None
    there: Place | None
    nearest: Nearest | None
    packets: Measured | None
    caveats: tuple[str, ...]
    formulas: tuple[Applied, ...]
    certificate: Certificate | None
    unproven: str = ""


def analyse(
    network: Network,
    tune: str | None = None,
    ratio: float = 1.0,
    closure: Closure = THEORY,
    tell: Callable[[str], None] = lambda _: None,
) -> Analysis:
    """Analyse a network.

    Args:
        network: of links, and classes of flows that send without end.
        tune: the Vegas class whose alpha is looked for; None: the only one.
        ratio: of a tuned flow's goodput over that of a flow of the others.
        closure: how losses are counted.
        tell: is told what is being done.

    Raises:
        InvalidInput: for a class that is no Vegas, or a ratio that is not above 0.
    """
    if not ratio > 0:
        raise InvalidInput("analyse", "--ratio", "above 0", ratio)
    tuned = tuned_class(network, tune)
    tell("rest")
    rest, restless = attempt(lambda: equilibrium(network, closure))
    tell("all equilibria")
    several, uncounted, others = None, restless, ()
    if rest is not None:
        several, uncounted = attempt(lambda: counted(rest))
        others = () if several is None else tuple(map(place, several.beside(rest)))
    tell("the fair alpha")
    alpha = alpha_of(network, tuned, ratio, closure)
    tell("stability")
    here = None if rest is None else place(rest)
    tell("runs")
    cycle = None if lasts(here) else attempt(lambda: cycle_of(network))[0]
    at = rest if alpha.fair is None else alpha.fair.rest
    forms = [] if at is None else applied(at, tuned if alpha.fair else None, ratio)
    return Analysis(
        network=network,
        here=here,
        restless=restless,
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
        caveats=tuple(caveats(network, windows_of(network, rest, cycle))),
        formulas=(*forms, *of_drop_tail(network)),
        certificate=alpha.certificate,
        unproven=alpha.unproven,
    )


class Alpha(NamedTuple):
    """What theory says of the alpha that gives a ratio.

    Args:
        fair: it, and where the network rests with it; None where there is none.
        certificate: of it.
        unproven: why there is none; empty where there is.
        nearest: where no alpha gives the ratio.
    """

    fair: Fair | None
    certificate: Certificate | None
    unproven: str
    nearest: Nearest | None = None


def alpha_of(network: Network, tuned: str | None, ratio: float, closure: Closure) -> Alpha:
    """The alpha that gives the ratio, proven where proofs reach."""
    certificate, unproven = attempt(lambda: certified(network, tuned, ratio, closure))
    if tuned is None:
        return Alpha(None, None, unproven)
    if certificate is not None:
        proven = float(certificate.alpha)
        rest = equilibrium(with_alpha(network, tuned, proven), closure)
        return Alpha(Fair(proven, rest), certificate, unproven)
    fair, _ = attempt(lambda: fair_alpha(network, tuned, ratio, closure))
    nearest, _ = (None, "") if fair else attempt(lambda: nearly(network, tuned, closure))
    return Alpha(fair, None, unproven, nearest)


def on_packets(network: Network, tuned: str | None, alpha: Alpha) -> Measured | None:
    """What packets give with the alpha that theory names, if it names one."""
    found = alpha.fair or alpha.nearest
    if found is None or tuned is None:
        return None
    return attempt(lambda: measured(network, tuned, found.alpha))[0]


def nearly(network: Network, tuned: str, closure: Closure) -> Nearest | None:
    """The alpha that gives nearly all that any does; None where even the smallest gives more."""
    largest = equilibrium(with_alpha(network, tuned, ENDLESS), closure).ratio(tuned)
    found = fair_alpha(network, tuned, NEARLY * largest, closure)
    return None if found is None else Nearest(found.alpha, found.rest.ratio(tuned), largest)


def lasts(here: Place | None) -> bool:
    """Whether a network rests, and stays at rest as far as is known."""
    return here is not None and (here.stability is None or here.stability.stable)


def windows_of(network: Network, rest: Equilibrium | None, cycle: Cycle | None) -> dict[str, float]:
    """The mean window of each class, packets, by a run where there is one."""
    if cycle is not None:
        return cycle.cwnd
    return {} if rest is None else {name: rest.mean(name, "cwnd") for name in network.flows}


def counted(here: Equilibrium) -> Equilibria:
    """All equilibria of a network. On one link each queue has one load, so that one is all."""
    starts = STARTS if len(here.network.links) > 1 else 1
    return all_equilibria(here.network, here.closure, starts)


def certified(
    network: Network, tuned: str | None, ratio: float, closure: Closure
) -> Certificate | None:
    """A certificate of the fair alpha.

    Raises:
        InvalidInput: where proofs do not cover the network.
    """
    if tuned is None:
        raise InvalidInput("certificate", "flows", "one class of Vegas flows, and others", "not")
    if closure.repairs or closure.timeouts or closure.whole_packets:
        raise InvalidInput("certificate", "closure", "that of theory", "another")
    return certify_alpha(network, tuned, ratio, loss_process=closure.loss_process)


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
