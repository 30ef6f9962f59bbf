"""Formulas of Vegas: alone, and where its packets are lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.formulas.beside import (
    COUNT,
    ENDLESS,
    HALF,
    LINUX,
    Deaf,
    answers,
    beside_reno,
    given,
    of,
    own_queue,
    ratio_of,
    ratio_row,
    rise_of,
    vegas,
)
from benchmarks.formulas.cases import (
    ENGINES,
    RESTS,
    Block,
    Group,
    Relation,
    Views,
    at,
)
from benchmarks.formulas.independent import C_RENO, IID
from vegasfluid.analysis.closed_forms import (
    Formula,
    fair_alpha_lossless,
    fair_alpha_of_rate,
    fair_alpha_with_losses,
    largest_ratio,
    law_of_the_minimum,
    over_red,
    vegas_alpha,
    vegas_alpha_at_saturation,
    vegas_alpha_of_share,
    vegas_lossless_rate,
    vegas_lossless_window,
    vegas_saturated_window,
    vegas_small_alpha,
)
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network

__all__ = ["vegas_blocks"]


# ---- nothing is lost -----------------------------------------------------------------------------

ALPHA = 8.0
NEAR, FAR = 0.1, 0.2
"""Propagation, s."""


def lossless_network() -> Network:
    """Vegas alone behind a long buffer, in two dialects, from two distances."""
    trips = (NEAR,) * 3 + (FAR,) * 3
    flows = {
        name: Flows(
            6,
            Vegas(ALPHA, ALPHA + 1 if name == "brakmo" else ALPHA, dialect=name),
            base_rtt=trips,
            initial_ssthresh=4,
            send_overhead=0.0,
        )
        for name in ("brakmo", "linux")
    }
    return Network(Link(4000.0, 2000, DropTail()), flows)


LOSSLESS = "12 Vegas flows (brakmo, linux; 0.1 and 0.2 s) over one buffer, no losses"


def lossless_windows(dialect: str, law: Vegas | None, alpha: float, base: float) -> list[Relation]:
    """Window and rate of the far flows of a dialect."""
    of_law = (law,) if law else ()
    window, rate = vegas_lossless_window(*of_law), vegas_lossless_rate(*of_law)
    far = f"{dialect}.1"

    def window_of(group: Group) -> float:
        return window(rtt=group.rtt, base_rtt=base, alpha=alpha)

    def rate_of(group: Group) -> float:
        known = {"capacity": 4000.0, "queue": group.queue, "base_rtt": base, "alpha": alpha}
        return rate(**{name: value for name, value in known.items() if name in rate.takes})

    return [
        Relation(
            f"{window.name}.alone",
            window,
            LOSSLESS,
            at("one", far, window_of),
            at("one", far, lambda group: group.cwnd),
        ),
        Relation(
            f"{rate.name}.alone",
            rate,
            LOSSLESS,
            at("one", far, rate_of),
            at("one", far, lambda group: group.rate),
        ),
    ]


def lossless_rates(near: float, far: float) -> list[Relation]:
    """What the near flows get beside the far ones, by the base RTTs, s; and the alpha of a rate."""
    return [
        Relation(
            "fair_alpha_of_rate",
            fair_alpha_of_rate(),
            LOSSLESS,
            at(
                "one",
                "brakmo",
                lambda of: fair_alpha_of_rate()(rate=of.rate, capacity=4000.0, queue=of.queue),
            ),
            lambda _: ALPHA + 0.5,
        ),
        Relation(
            "rtt_exponent.vegas",
            None,
            f"{LOSSLESS}: ratio of rates",
            lambda _: 1.0,
            lambda views: views["one"]["brakmo"].rate / views["one"]["brakmo.1"].rate,
            plain="x_1 / x_2 = 1",
        ),
        Relation(
            "rtt_exponent.vegas_linux",
            None,
            f"{LOSSLESS}: ratio of rates",
            lambda views: near / far * views["one"]["linux.1"].rtt / views["one"]["linux"].rtt,
            lambda views: views["one"]["linux"].rate / views["one"]["linux.1"].rate,
            plain="x_1 / x_2 = (T_1 / R_1) / (T_2 / R_2)",
        ),
    ]


def lossless_block() -> Block:
    """Vegas alone behind a long buffer, in two dialects, from two distances."""
    network = lossless_network()
    base_rtts = network.base_rtts("brakmo")
    near, far = base_rtts[0], base_rtts[5]
    found = [
        *lossless_windows("brakmo", None, ALPHA + 0.5, far),
        *lossless_windows("linux", LINUX, ALPHA, far),
        *lossless_rates(near, far),
    ]
    return Block("lossless", {"one": network}, found, until=400.0, packets_until=400.0)


# ---- beside Reno, over RED that marks ------------------------------------------------------------


def lossy_networks() -> dict[str, Network]:
    """Vegas that halves beside Reno, with alphas of all sizes."""
    known, rise = given(beside_reno(LINUX), HALF), rise_of("brakmo")
    asked = of(over_red(fair_alpha_with_losses()), known, **answers("brakmo"))
    edge = of(over_red(fair_alpha_lossless()), known, ratio=1.0)
    alphas = {"half": asked - rise, "edge": edge - rise, "full": ENDLESS, "small": 0.2}
    return {name: beside_reno(vegas(alpha)) for name, alpha in alphas.items()}


@dataclass(frozen=True)
class LossyRows:
    """Rows of the table about Vegas whose packets are marked.

    Args:
        networks: by name.
        where: what they have in common, in words.
    """

    networks: dict[str, Network]
    where: str

    @property
    def base(self) -> float:
        """The base RTT of Vegas, s."""
        return self.networks["half"].base_rtts("vegas")[0]

    def alpha(self, network: str) -> float:
        """Alpha of Vegas in a network, packets, with what the dialect adds to it."""
        tuned: Any = self.networks[network].flows["vegas"].law
        return tuned.alpha + rise_of("brakmo")

    def says(self, formula: Formula, group: Group, alpha: float) -> float:
        """What a formula says of a group of flows."""
        law = answers("brakmo")
        full = vegas_saturated_window()(drop_prob=group.drop_prob, **law)
        seen = {
            "cwnd": group.cwnd,
            "rtt": group.rtt,
            "base_rtt": self.base,
            "drop_prob": group.drop_prob,
        }
        return of(formula, seen, **law, softness=0.25, share=group.cwnd / full, alpha=alpha)

    def row(
        self, key: str, formula: Formula, network: str, words: str, has: Any, **more: Any
    ) -> Relation:
        """A formula beside what the flows of Vegas have in a network."""
        alpha = self.alpha(network)
        value: Any = has if callable(has) else (lambda _: has)
        return Relation(
            key,
            formula,
            f"{self.where}; {words}",
            at(network, "vegas", lambda group: self.says(formula, group, alpha)),
            at(network, "vegas", value),
            **more,
        )

    def window(self, group: Group) -> float:
        """The window, packets."""
        return group.cwnd

    def backlog(self, group: Group) -> float:
        """The packets of its own that a flow has in the queue."""
        return own_queue(group, self.base)

    def fair_alpha_of_queue(self, views: Views) -> float:
        """The alpha that has the ratio that is seen, by the queue that is seen."""
        ratio, queue = ratio_of("half")(views), views["half"]["vegas"].queue
        known = given(self.networks["half"], ratio) | answers("brakmo")
        return of(fair_alpha_with_losses(), known, queue=queue)


def lossy_windows(rows: LossyRows) -> list[Relation]:
    """Windows, and the alphas that have them."""
    large, row = f"alpha = {ENDLESS:g}", rows.row
    alphas = {name: rows.alpha(name) for name in ("half", "small")}
    minimum, at_saturation = law_of_the_minimum(), vegas_alpha_at_saturation()
    of_share, small = "alpha of W over the saturated W", "alpha of 0.7 packets"
    packets = {"free": ("packets",)}
    return [
        row("vegas_alpha", vegas_alpha(), "half", "alpha of W, R and p", alphas["half"]),
        row("vegas_alpha_of_share", vegas_alpha_of_share(), "half", of_share, alphas["half"]),
        row("vegas_small_alpha", vegas_small_alpha(), "small", small, alphas["small"], **packets),
        row("vegas_saturated_window", vegas_saturated_window(), "full", large, rows.window),
        row(
            "vegas_alpha_at_saturation",
            at_saturation,
            "full",
            f"{large}: the backlog",
            rows.backlog,
        ),
        row("law_of_the_minimum", minimum, "full", large, rows.window),
        row(
            "law_of_the_minimum.edge",
            minimum,
            "edge",
            "alpha at which both are equal",
            rows.window,
            free=ENGINES,
        ),
    ]


def lossy_block() -> Block:
    """Windows of Vegas where packets are marked, and alphas for them."""
    where = f"{COUNT} Reno and {COUNT} Vegas flows (brakmo) over RED that marks"
    rows = LossyRows(lossy_networks(), where)
    found = [
        *lossy_windows(rows),
        Relation(
            "fair_alpha_with_losses.queue",
            fair_alpha_with_losses(),
            f"{where}; alpha of q and the ratio",
            rows.fair_alpha_of_queue,
            lambda _: rows.alpha("half"),
        ),
        ratio_row(
            "fair_alpha_with_losses", over_red(fair_alpha_with_losses()), "half", HALF, where
        ),
        Relation(
            "largest_ratio.halving",
            largest_ratio(),
            f"{where}; alpha = {ENDLESS:g}: ratio of rates",
            lambda _: largest_ratio()(loss_constant=C_RENO, **answers("brakmo")),
            ratio_of("full"),
        ),
    ]
    return Block("lossy", rows.networks, found, until=400.0, options=IID, packets_until=400.0)


def linux_block(kind: type[Vegas]) -> Block:
    """The same in Linux's dialect, whose alpha is a whole number: it is asked for the ratio."""
    whole, deaf = 12, kind is Deaf
    law = LINUX if not deaf else None
    network = beside_reno(vegas(whole, "linux", kind))
    formula = fair_alpha_lossless(LINUX) if deaf else fair_alpha_with_losses(LINUX, "iid")
    known = given(network, 1.0)
    where = f"{COUNT} Reno and {COUNT} Vegas flows (linux) over RED that marks"
    where += "; Vegas does not respond to losses" if deaf else ""

    def says(views: Views) -> float:
        ratio, queue = ratio_of("one")(views), views["one"]["vegas"].queue
        return of(formula, known, ratio=ratio, queue=queue)

    found = [
        Relation(
            formula.name,
            formula,
            f"{where}; alpha of q and the ratio",
            says,
            lambda _: float(whole),
            RESTS if deaf else ENGINES,
        )
    ]
    if law is not None:
        exact = vegas_alpha(LINUX, "iid")
        found.append(
            Relation(
                exact.name,
                exact,
                f"{where}; alpha of W, R and p",
                at(
                    "one",
                    "vegas",
                    lambda group: exact(
                        cwnd=group.cwnd,
                        rtt=group.rtt,
                        base_rtt=known["base_rtt"],
                        drop_prob=group.drop_prob,
                    ),
                ),
                lambda _: float(whole),
            )
        )
    return Block(
        "linux_deaf" if deaf else "linux",
        {"one": network},
        found,
        until=400.0,
        options=IID,
        packets_until=400.0,
        long=deaf,
    )


def vegas_blocks() -> list[Block]:
    """All blocks of this file."""
    linux = [linux_block(kind) for kind in (Vegas, Deaf)]
    return [lossless_block(), lossy_block(), *linux]
