"""Formulas of Vegas without other flows, and with marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.formulas.cases import (
    ENGINES,
    WITHOUT_PACKETS,
    Block,
    Group,
    Relation,
    Views,
    of_group,
)
from benchmarks.formulas.independent import C_RENO, IID
from benchmarks.formulas.vegas_and_reno import (
    COUNT,
    ENDLESS,
    HALF,
    LINUX,
    LossBlindVegas,
    alpha_offset_of,
    beside_reno,
    evaluate,
    loss_response,
    own_queue,
    parameters_of,
    ratio_of,
    ratio_row,
    vegas,
)
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
"""Lower threshold without losses, packets."""
NEAR = 0.1
"""Short base round-trip time, s."""
FAR = 0.2
"""Long base round-trip time, s."""


def lossless_network() -> Network:
    """Return Vegas flows with a long buffer, two dialects and two base RTTs."""
    rtts = (NEAR,) * 3 + (FAR,) * 3
    flows = {
        name: Flows(
            6,
            Vegas(ALPHA, ALPHA + 1 if name == "brakmo" else ALPHA, dialect=name),
            base_rtt=rtts,
            host="textbook",
            initial_ssthresh=4,
            send_overhead=0.0,
        )
        for name in ("brakmo", "linux")
    }
    return Network(Link(4000.0, 2000, DropTail()), flows)


LOSSLESS = "12 Vegas flows (brakmo, linux; 0.1 and 0.2 s) over one buffer, no losses"
"""Description of the network for the page."""


def lossless_windows(dialect: str, law: Vegas | None, alpha: float, base: float) -> list[Relation]:
    """Return the relations of window and rate of the far flows of a dialect."""
    of_law = (law,) if law else ()
    window, rate = vegas_lossless_window(*of_law), vegas_lossless_rate(*of_law)
    far = f"{dialect}.1"

    def window_of(group: Group) -> float:
        return window(rtt=group.rtt, base_rtt=base, alpha=alpha)

    def rate_of(group: Group) -> float:
        parameters = {"capacity": 4000.0, "queue": group.queue, "base_rtt": base, "alpha": alpha}
        return rate(**{name: value for name, value in parameters.items() if name in rate.arguments})

    return [
        Relation(
            f"{window.name}.alone",
            window,
            LOSSLESS,
            of_group("one", far, window_of),
            of_group("one", far, lambda group: group.cwnd),
        ),
        Relation(
            f"{rate.name}.alone",
            rate,
            LOSSLESS,
            of_group("one", far, rate_of),
            of_group("one", far, lambda group: group.rate),
        ),
    ]


def lossless_rates(near: float, far: float) -> list[Relation]:
    """Return the relations of rates of near and far flows, from their base RTTs (s)."""
    return [
        Relation(
            "fair_alpha_of_rate",
            fair_alpha_of_rate(),
            LOSSLESS,
            of_group(
                "one",
                "brakmo",
                lambda group: fair_alpha_of_rate()(
                    rate=group.rate, capacity=4000.0, queue=group.queue
                ),
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
    """Return the block of Vegas without losses."""
    network = lossless_network()
    base_rtts = network.base_rtts("brakmo")
    near, far = base_rtts[0], base_rtts[5]
    relations = [
        *lossless_windows("brakmo", None, ALPHA + 0.5, far),
        *lossless_windows("linux", LINUX, ALPHA, far),
        *lossless_rates(near, far),
    ]
    return Block("lossless", {"one": network}, relations, until=400.0, packets_until=400.0)


# ---- beside Reno, over RED that marks ------------------------------------------------------------


def lossy_networks() -> dict[str, Network]:
    """Return networks of Vegas (brakmo) and Reno with small, fair and large alphas."""
    parameters, offset = parameters_of(beside_reno(LINUX), HALF), alpha_offset_of("brakmo")
    half_alpha = evaluate(over_red(fair_alpha_with_losses()), parameters, **loss_response("brakmo"))
    fair_alpha = evaluate(over_red(fair_alpha_lossless()), parameters, ratio=1.0)
    alphas = {
        "half": half_alpha - offset,
        "edge": fair_alpha - offset,
        "full": ENDLESS,
        "small": 0.2,
    }
    return {name: beside_reno(vegas(alpha)) for name, alpha in alphas.items()}


@dataclass(frozen=True)
class LossyRows:
    """Rows of the table about Vegas whose packets are marked.

    Args:
        networks: networks by name.
        where: description of the networks for the page.
    """

    networks: dict[str, Network]
    where: str

    @property
    def base(self) -> float:
        """Base RTT of Vegas, s."""
        return self.networks["half"].base_rtts("vegas")[0]

    def alpha(self, network: str) -> float:
        """Return alpha of Vegas in a network plus the dialect's offset, packets."""
        tuned: Any = self.networks[network].flows["vegas"].law
        return tuned.alpha + alpha_offset_of("brakmo")

    def prediction(self, formula: Formula, group: Group, alpha: float) -> float:
        """Return a formula's value for a group of flows."""
        response = loss_response("brakmo")
        saturated = vegas_saturated_window()(drop_prob=group.drop_prob, **response)
        measured = {
            "cwnd": group.cwnd,
            "rtt": group.rtt,
            "base_rtt": self.base,
            "drop_prob": group.drop_prob,
        }
        return evaluate(
            formula, measured, **response, softness=0.25, share=group.cwnd / saturated, alpha=alpha
        )

    def row(
        self, key: str, formula: Formula, network: str, words: str, measurement: Any, **more: Any
    ) -> Relation:
        """Return the relation of a formula with the Vegas flows of a network."""
        alpha = self.alpha(network)
        value: Any = measurement if callable(measurement) else (lambda _: measurement)
        return Relation(
            key,
            formula,
            f"{self.where}; {words}",
            of_group(network, "vegas", lambda group: self.prediction(formula, group, alpha)),
            of_group(network, "vegas", value),
            **more,
        )

    def window(self, group: Group) -> float:
        """Return the window, packets."""
        return group.cwnd

    def backlog(self, group: Group) -> float:
        """Return a flow's packets in the queue."""
        return own_queue(group, self.base)

    def fair_alpha_of_queue(self, views: Views) -> float:
        """Return the alpha for the measured ratio and queue, packets."""
        ratio, queue = ratio_of("half")(views), views["half"]["vegas"].queue
        parameters = parameters_of(self.networks["half"], ratio) | loss_response("brakmo")
        return evaluate(fair_alpha_with_losses(), parameters, queue=queue)


def lossy_windows(rows: LossyRows) -> list[Relation]:
    """Return the relations of windows, and of the alphas for them."""
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
    """Return the block of Vegas with marks."""
    where = f"{COUNT} Reno and {COUNT} Vegas flows (brakmo) over RED that marks"
    rows = LossyRows(lossy_networks(), where)
    relations = [
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
            lambda _: largest_ratio()(loss_constant=C_RENO, **loss_response("brakmo")),
            ratio_of("full"),
        ),
    ]
    return Block("lossy", rows.networks, relations, until=400.0, options=IID, packets_until=400.0)


def linux_block(kind: type[Vegas]) -> Block:
    """Return the same in Linux's dialect: alpha is an integer, so the formula gets the ratio."""
    alpha, loss_blind = 12, kind is LossBlindVegas
    law = LINUX if not loss_blind else None
    network = beside_reno(vegas(alpha, "linux", kind))
    formula = fair_alpha_lossless(LINUX) if loss_blind else fair_alpha_with_losses(LINUX, "iid")
    parameters = parameters_of(network, 1.0)
    where = f"{COUNT} Reno and {COUNT} Vegas flows (linux) over RED that marks"
    where += "; Vegas does not respond to losses" if loss_blind else ""

    def prediction(views: Views) -> float:
        ratio, queue = ratio_of("one")(views), views["one"]["vegas"].queue
        return evaluate(formula, parameters, ratio=ratio, queue=queue)

    relations = [
        Relation(
            formula.name,
            formula,
            f"{where}; alpha of q and the ratio",
            prediction,
            lambda _: float(alpha),
            WITHOUT_PACKETS if loss_blind else ENGINES,
        )
    ]
    if law is not None:
        exact = vegas_alpha(LINUX, "iid")
        relations.append(
            Relation(
                exact.name,
                exact,
                f"{where}; alpha of W, R and p",
                of_group(
                    "one",
                    "vegas",
                    lambda group: exact(
                        cwnd=group.cwnd,
                        rtt=group.rtt,
                        base_rtt=parameters["base_rtt"],
                        drop_prob=group.drop_prob,
                    ),
                ),
                lambda _: float(alpha),
            )
        )
    return Block(
        "linux_deaf" if loss_blind else "linux",
        {"one": network},
        relations,
        until=400.0,
        options=IID,
        packets_until=400.0,
        long=loss_blind,
    )


def vegas_blocks() -> list[Block]:
    """Return all blocks of this module."""
    linux = [linux_block(kind) for kind in (Vegas, LossBlindVegas)]
    return [lossless_block(), lossy_block(), *linux]
