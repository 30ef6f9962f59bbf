"""Everything at once: rest, fair alpha, stability, closed forms, certificate of one network.

What cannot be said of a network is left out, with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from vegasfluid.analysis.applied import Applied, applied
from vegasfluid.analysis.certificate import Certificate, certify_alpha
from vegasfluid.analysis.equilibria import THEORY, Equilibrium, equilibrium
from vegasfluid.analysis.fair import Fair, fair_alpha, tuned_class, with_alpha
from vegasfluid.analysis.several import STARTS, Equilibria, all_equilibria
from vegasfluid.analysis.verdicts import Stability, stability
from vegasfluid.errors import InvalidInput, SolveFailed
from vegasfluid.fluid.closure import Closure
from vegasfluid.network import Network

__all__ = ["Analysis", "Place", "analyse"]

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
class Analysis:
    """What can be said of a network without running it.

    Args:
        here: where it rests as it is.
        others: where else it may rest as it is.
        equilibria: how many there are, and whether these are proven to be all; None where untold.
        uncounted: why it is not; empty where it is.
        tuned: the Vegas class whose share is looked at; None: there is none.
        ratio: that its flows are to have.
        fair_alpha: packets, in the measure of the dialect; None where no alpha gives the ratio.
        there: where it rests with that alpha.
        formulas: that speak of it.
        certificate: of the alpha.
        unproven: why there is none; empty where there is.
    """

    here: Place
    others: tuple[Place, ...]
    equilibria: Equilibria | None
    uncounted: str
    tuned: str | None
    ratio: float
    fair_alpha: float | None
    there: Place | None
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
        InvalidInput: where something in the network never rests; for a class that is no Vegas.
        SolveFailed: where no rest is found.
    """
    if not ratio > 0:
        raise InvalidInput("analyse", "--ratio", "above 0", ratio)
    tuned = tuned_class(network, tune)
    tell("rest")
    here = equilibrium(network, closure)
    tell("all equilibria")
    several, uncounted = attempt(lambda: counted(here))
    tell("the fair alpha")
    certificate, unproven = attempt(lambda: certified(network, tuned, ratio, closure))
    fair = None
    if certificate is not None and tuned is not None:
        alpha = float(certificate.alpha)
        fair = Fair(alpha, equilibrium(with_alpha(network, tuned, alpha), closure))
    elif tuned is not None:
        fair = fair_alpha(network, tuned, ratio, closure)
    tell("stability")
    there = None if fair is None else place(fair.rest)
    at = here if fair is None else fair.rest
    return Analysis(
        here=place(here),
        others=tuple(map(place, [] if several is None else several.beside(here))),
        equilibria=several,
        uncounted=uncounted,
        tuned=tuned,
        ratio=ratio,
        fair_alpha=None if fair is None else fair.alpha,
        there=there,
        formulas=tuple(applied(at, tuned if fair else None, ratio)),
        certificate=certificate,
        unproven=unproven,
    )


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
