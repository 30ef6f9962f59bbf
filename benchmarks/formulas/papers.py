"""Fair alphas without losses of Vegas, and on Weigle and Feng's networks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.formulas.cases import (
    MODELS,
    WITHOUT_FLUID,
    WITHOUT_PACKETS,
    Block,
    Group,
    Relation,
    of_group,
)
from benchmarks.formulas.independent import C_RENO, IID
from benchmarks.formulas.vegas_and_reno import (
    CAPACITY,
    COUNT,
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
from benchmarks.harness import root
from vegasfluid import modelfile
from vegasfluid.analysis.closed_forms import (
    Formula,
    fair_alpha_lossless,
    fair_alpha_of_loss,
    fair_alpha_with_losses,
    largest_ratio,
    over_red,
)
from vegasfluid.network import Network

__all__ = ["paper_blocks"]


def model(number: int) -> Network:
    """Return Weigle and Feng's network from its model file."""
    return modelfile.load(MODELS / f"weigle_feng_network{number}.toml").network


def marked(network: Network) -> Network:
    """Return the network with marks in place of drops, so that nothing is lost."""
    link = network.link
    return replace(network, links={"bottleneck": replace(link, aqm=replace(link.aqm, ecn=True))})


def gentle(network: Network) -> Network:
    """Return the network with simultaneous starts and a slow start that does not overshoot."""
    flows = {
        name: replace(group, initial_ssthresh=64, start=0.0)
        for name, group in network.flows.items()
    }
    return replace(network, flows=flows)


NUMBERS = (2, 3, 4)
"""Numbers of the networks."""


def ratio_at(alpha: float, parameters: dict[str, float]) -> float:
    """Return the ratio for which a formula gives an alpha."""

    def excess(ratio: float) -> float:
        return (
            evaluate(
                over_red(fair_alpha_with_losses()), parameters, ratio=ratio, **loss_response("ns2")
            )
            - alpha
        )

    return root(excess, 0.5, 1.4)


def papers_block() -> Block:
    """Return networks 2 to 4 at the formula's alpha; packet runs use the model files."""
    networks, fluids, packets, relations = {}, {}, {}, []
    for number in NUMBERS:
        file, where = (
            model(number),
            f"Weigle and Feng's network {number} (ns2; solver and fluid: marks)",
        )
        marking, parameters = marked(file), parameters_of(file, 1.0, wait=True)
        formula = over_red(fair_alpha_with_losses())
        fair_alpha = evaluate(formula, parameters, **loss_response("ns2"))
        alphas = {"fair": round(fair_alpha), "full": 5000}
        for name, alpha in alphas.items():
            key, law = f"{number}.{name}", vegas(alpha, "ns2")
            packets[key] = file.with_law("vegas", law)
            networks[key] = gentle(marking.with_law("vegas", law))
        fluids[f"{number}.fair"] = networks[f"{number}.fair"]
        ratio = ratio_at(alphas["fair"], parameters)
        relations += [
            Relation(
                f"fair_alpha_with_losses.network{number}",
                formula,
                f"{where}; ratio of rates at alpha = {alphas['fair']}",
                lambda _, r=ratio: r,
                ratio_of(f"{number}.fair"),
                free=("fluid",),
            ),
            Relation(
                f"largest_ratio.network{number}",
                largest_ratio(),
                f"{where}; ratio of rates at alpha = 5000",
                lambda _: largest_ratio()(loss_constant=C_RENO, **loss_response("ns2")),
                ratio_of(f"{number}.full"),
                WITHOUT_FLUID,
            ),
        ]
    return Block(
        "papers",
        networks,
        relations,
        until=300.0,
        options=IID,
        fluids=fluids,
        packets=packets,
        packets_until=200.0,
    )


# ---- Vegas that does not respond to losses -------------------------------------------------------


def loss_blind_networks(formula: Formula) -> tuple[dict[str, Network], dict[str, Network]]:
    """Return networks at fair alphas whose Vegas ignores marks, and those for packets."""
    parameters, offset = parameters_of(beside_reno(LINUX), HALF), alpha_offset_of("brakmo")
    networks, packets = {}, {}
    for name, ratio in (("half", HALF), ("fair", 1.0)):
        alpha = evaluate(formula, parameters, ratio=ratio) - offset
        networks[name] = beside_reno(vegas(alpha, kind=LossBlindVegas))
        packets[name] = beside_reno(vegas(alpha))
    for number in NUMBERS:
        file = model(number)
        alpha = evaluate(formula, parameters_of(file, 1.0, wait=True))
        tuned = vegas(alpha - offset, kind=LossBlindVegas)
        networks[str(number)] = gentle(marked(file).with_law("vegas", tuned))
        packets[str(number)] = file.with_law("vegas", vegas(round(alpha), "ns2"))
    return networks, packets


def loss_blind_block() -> Block:
    """Return the fair alphas without losses of Vegas."""
    formula = over_red(fair_alpha_lossless())
    networks, packets = loss_blind_networks(formula)
    base = networks["fair"].base_rtts("vegas")[0]
    flows = f"{COUNT} Reno and {COUNT} Vegas flows over RED that marks"
    where = f"{flows}; Vegas does not respond to losses"

    def of_loss(group: Group) -> float:
        return fair_alpha_of_loss()(
            rtt=group.rtt,
            drop_prob=group.drop_prob,
            capacity=CAPACITY,
            queue=group.queue,
            loss_constant=C_RENO,
        )

    relations = [
        ratio_row(
            "fair_alpha_lossless", fair_alpha_lossless(), "half", HALF, where, free=("packets",)
        ),
        ratio_row("fair_alpha_lossless_over_red", formula, "fair", 1.0, where, free=("packets",)),
        Relation(
            "fair_alpha_of_loss",
            fair_alpha_of_loss(),
            f"{where}; at the fair alpha",
            of_group("fair", "vegas", of_loss),
            of_group("fair", "vegas", lambda group: own_queue(group, base)),
            WITHOUT_PACKETS,
        ),
    ]
    relations += [
        ratio_row(
            f"{formula.name}.network{number}",
            formula,
            str(number),
            1.0,
            f"Weigle and Feng's network {number} (solver and fluid: marks, Vegas does not "
            "respond to losses; packets: ns2, alpha rounded)",
            engines=WITHOUT_FLUID,
            free=("packets",),
        )
        for number in NUMBERS
    ]
    fluids = {name: networks[name] for name in ("half", "fair")}
    return Block(
        "deaf",
        networks,
        relations,
        until=400.0,
        options=IID,
        fluids=fluids,
        packets=packets,
        packets_until=400.0,
    )


def paper_blocks() -> list[Block]:
    """Return all blocks of this module."""
    return [loss_blind_block(), papers_block()]
