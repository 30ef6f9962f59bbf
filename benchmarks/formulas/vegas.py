"""Formulas of Vegas: alone, and where its packets are lost."""

from __future__ import annotations

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


def lossless_block() -> Block:
    """Vegas alone behind a long buffer, in two dialects, from two distances."""
    trips = (NEAR,) * 3 + (FAR,) * 3
    flows = {
        name: Flows(
            6,
            Vegas(ALPHA, ALPHA + 1 if name == "brakmo" else ALPHA, dialect=name),
            base_rtt=trips,
            initial_ssthresh=4,
        )
        for name in ("brakmo", "linux")
    }
    network = Network(Link(4000.0, 2000, DropTail()), flows)
    base = {name: network.base_rtts("brakmo")[number] for name, number in (("", 0), (".1", 5))}
    where = "12 Vegas flows (brakmo, linux; 0.1 and 0.2 s) over one buffer, nothing lost"
    found = []
    for dialect, law, alpha in (("brakmo", None, ALPHA + 0.5), ("linux", LINUX, ALPHA)):
        window, rate = (
            (vegas_lossless_window(law), vegas_lossless_rate(law))
            if law
            else (vegas_lossless_window(), vegas_lossless_rate())
        )
        far = f"{dialect}.1"
        found += [
            Relation(
                f"{window.name}.alone",
                window,
                where,
                at(
                    "one",
                    far,
                    lambda of, f=window, a=alpha: f(rtt=of.rtt, base_rtt=base[".1"], alpha=a),
                ),
                at("one", far, lambda of: of.cwnd),
            ),
            Relation(
                f"{rate.name}.alone",
                rate,
                where,
                at(
                    "one",
                    far,
                    lambda of, f=rate, a=alpha: f(
                        **{
                            k: v
                            for k, v in {
                                "capacity": 4000.0,
                                "queue": of.queue,
                                "base_rtt": base[".1"],
                                "alpha": a,
                            }.items()
                            if k in f.takes
                        }
                    ),
                ),
                at("one", far, lambda of: of.rate),
            ),
        ]
    found += [
        Relation(
            "fair_alpha_of_rate",
            fair_alpha_of_rate(),
            where,
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
            f"{where}: rate over rate",
            lambda _: 1.0,
            lambda views: views["one"]["brakmo"].rate / views["one"]["brakmo.1"].rate,
            plain="x_1 / x_2 = 1",
        ),
        Relation(
            "rtt_exponent.vegas_linux",
            None,
            f"{where}: rate over rate",
            lambda views: (
                base[""] / base[".1"] * views["one"]["linux.1"].rtt / views["one"]["linux"].rtt
            ),
            lambda views: views["one"]["linux"].rate / views["one"]["linux.1"].rate,
            plain="x_1 / x_2 = (T_1 / R_1) / (T_2 / R_2)",
        ),
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


def lossy_block() -> Block:
    """Windows of Vegas where packets are marked, and alphas for them."""
    networks, law = lossy_networks(), answers("brakmo")
    base, rise = networks["half"].base_rtts("vegas")[0], rise_of("brakmo")
    where = f"{COUNT} Reno and {COUNT} Vegas flows (brakmo) over RED that marks"

    def full_window(group: Group) -> float:
        return vegas_saturated_window()(drop_prob=group.drop_prob, **law)

    def says(formula: Formula, group: Group, **more: float) -> float:
        seen = {
            "cwnd": group.cwnd,
            "rtt": group.rtt,
            "base_rtt": base,
            "drop_prob": group.drop_prob,
        }
        return of(
            formula, seen, **law, softness=0.25, share=group.cwnd / full_window(group), **more
        )

    def alpha_of(network: str) -> float:
        tuned: Any = networks[network].flows["vegas"].law
        return tuned.alpha + rise

    def row(
        key: str, formula: Formula, network: str, words: str, has: Any, **more: Any
    ) -> Relation:
        alpha, value = alpha_of(network), has if callable(has) else (lambda _: has)
        return Relation(
            key,
            formula,
            f"{where}; {words}",
            at(network, "vegas", lambda group: says(formula, group, alpha=alpha)),
            at(network, "vegas", value),
            **more,
        )

    def window(group: Group) -> float:
        return group.cwnd

    def backlog(group: Group) -> float:
        return own_queue(group, base)

    def of_queue(views: Views) -> float:
        ratio, queue = ratio_of("half")(views), views["half"]["vegas"].queue
        known = given(networks["half"], ratio) | law
        return of(fair_alpha_with_losses(), known, queue=queue)

    large = f"alpha = {ENDLESS:g}"
    return Block(
        "lossy",
        networks,
        [
            row("vegas_alpha", vegas_alpha(), "half", "alpha of W, R and p", alpha_of("half")),
            row(
                "vegas_alpha_of_share",
                vegas_alpha_of_share(),
                "half",
                "alpha of W over the saturated W",
                alpha_of("half"),
            ),
            row(
                "vegas_small_alpha",
                vegas_small_alpha(),
                "small",
                "alpha of 0.7 packets",
                alpha_of("small"),
                free=("packets",),
            ),
            row("vegas_saturated_window", vegas_saturated_window(), "full", large, window),
            row(
                "vegas_alpha_at_saturation",
                vegas_alpha_at_saturation(),
                "full",
                f"{large}: the backlog",
                backlog,
            ),
            row("law_of_the_minimum", law_of_the_minimum(), "full", large, window),
            row(
                "law_of_the_minimum.edge",
                law_of_the_minimum(),
                "edge",
                "alpha where both are alike",
                window,
                free=ENGINES,
            ),
            Relation(
                "fair_alpha_with_losses.queue",
                fair_alpha_with_losses(),
                f"{where}; alpha of q and the ratio",
                of_queue,
                lambda _: alpha_of("half"),
            ),
            ratio_row(
                "fair_alpha_with_losses", over_red(fair_alpha_with_losses()), "half", HALF, where
            ),
            Relation(
                "largest_ratio.halving",
                largest_ratio(),
                f"{where}; {large}: x over x",
                lambda _: largest_ratio()(loss_constant=C_RENO, **law),
                ratio_of("full"),
            ),
        ],
        until=400.0,
        closure=IID,
        packets_until=400.0,
    )


def linux_block(kind: type[Vegas]) -> Block:
    """The same in Linux's dialect, whose alpha is a whole number: it is asked for the ratio."""
    whole, deaf = 12, kind is Deaf
    law = LINUX if not deaf else None
    network = beside_reno(vegas(whole, "linux", kind))
    formula = fair_alpha_lossless(LINUX) if deaf else fair_alpha_with_losses(LINUX, "iid")
    known = given(network, 1.0)
    where = f"{COUNT} Reno and {COUNT} Vegas flows (linux) over RED that marks"
    where += "; Vegas answers none" if deaf else ""

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
        closure=IID,
        packets_until=400.0,
        long=deaf,
    )


def vegas_blocks() -> list[Block]:
    """All blocks of this file."""
    linux = [linux_block(kind) for kind in (Vegas, Deaf)]
    return [lossless_block(), lossy_block(), *linux]
