"""Fair alphas, where Vegas answers no losses, and on Weigle and Feng's networks."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.formulas.beside import (
    CAPACITY,
    COUNT,
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
    MODELS,
    RESTS,
    SETTLED,
    Block,
    Group,
    Relation,
    at,
)
from benchmarks.formulas.independent import C_RENO, IID
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
    """Weigle and Feng's network, as its file has it."""
    return modelfile.load(MODELS / f"weigle_feng_network{number}.toml").network


def marked(network: Network) -> Network:
    """With marks in place of drops, so that nothing is lost."""
    link = network.link
    return replace(network, links={"bottleneck": replace(link, aqm=replace(link.aqm, ecn=True))})


def gentle(network: Network) -> Network:
    """With a slow start that does not overshoot, all at once."""
    flows = {
        name: replace(of, initial_ssthresh=64, start=0.0) for name, of in network.flows.items()
    }
    return replace(network, flows=flows)


NUMBERS = (2, 3, 4)


def ratio_at(alpha: float, known: dict[str, float]) -> float:
    """The ratio for which a formula has an alpha."""

    def above(ratio: float) -> float:
        return of(over_red(fair_alpha_with_losses()), known, ratio=ratio, **answers("ns2")) - alpha

    return root(above, 0.5, 1.4)


def papers_block() -> Block:
    """Networks 2 to 4: the ratio at the alpha that a formula has; packets as the files say."""
    networks, fluids, packets, found = {}, {}, {}, []
    for number in NUMBERS:
        file, where = (
            model(number),
            f"Weigle and Feng's network {number} (ns2; solver and fluid: marks)",
        )
        marking, known = marked(file), given(file, 1.0, wait=True)
        formula = over_red(fair_alpha_with_losses())
        exact = of(formula, known, **answers("ns2"))
        alphas = {"fair": round(exact), "full": 5000}
        for name, alpha in alphas.items():
            key, law = f"{number}.{name}", vegas(alpha, "ns2")
            packets[key] = file.with_law("vegas", law)
            networks[key] = gentle(marking.with_law("vegas", law))
        fluids[f"{number}.fair"] = networks[f"{number}.fair"]
        near = ratio_at(alphas["fair"], known)
        found += [
            Relation(
                f"fair_alpha_with_losses.network{number}",
                formula,
                f"{where}; ratio of rates at alpha = {alphas['fair']}",
                lambda _, r=near: r,
                ratio_of(f"{number}.fair"),
                free=("fluid",),
            ),
            Relation(
                f"largest_ratio.network{number}",
                largest_ratio(),
                f"{where}; ratio of rates at alpha = 5000",
                lambda _: largest_ratio()(loss_constant=C_RENO, **answers("ns2")),
                ratio_of(f"{number}.full"),
                SETTLED,
            ),
        ]
    return Block(
        "papers",
        networks,
        found,
        until=300.0,
        options=IID,
        fluids=fluids,
        packets=packets,
        packets_until=200.0,
    )


# ---- Vegas that answers no losses ----------------------------------------------------------------


def deaf_networks(formula: Formula) -> tuple[dict[str, Network], dict[str, Network]]:
    """Networks whose Vegas answers no mark, each at its fair alpha; and those for packets."""
    known, rise = given(beside_reno(LINUX), HALF), rise_of("brakmo")
    networks, heard = {}, {}
    for name, ratio in (("half", HALF), ("fair", 1.0)):
        alpha = of(formula, known, ratio=ratio) - rise
        networks[name] = beside_reno(vegas(alpha, kind=Deaf))
        heard[name] = beside_reno(vegas(alpha))
    for number in NUMBERS:
        file = model(number)
        alpha = of(formula, given(file, 1.0, wait=True))
        tuned = vegas(alpha - rise, kind=Deaf)
        networks[str(number)] = gentle(marked(file).with_law("vegas", tuned))
        heard[str(number)] = file.with_law("vegas", vegas(round(alpha), "ns2"))
    return networks, heard


def deaf_block() -> Block:
    """Fair alphas as they are without losses of Vegas's own."""
    formula = over_red(fair_alpha_lossless())
    networks, heard = deaf_networks(formula)
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

    found = [
        ratio_row(
            "fair_alpha_lossless", fair_alpha_lossless(), "half", HALF, where, free=("packets",)
        ),
        ratio_row("fair_alpha_lossless_over_red", formula, "fair", 1.0, where, free=("packets",)),
        Relation(
            "fair_alpha_of_loss",
            fair_alpha_of_loss(),
            f"{where}; at the fair alpha",
            at("fair", "vegas", of_loss),
            at("fair", "vegas", lambda group: own_queue(group, base)),
            RESTS,
        ),
    ]
    found += [
        ratio_row(
            f"{formula.name}.network{number}",
            formula,
            str(number),
            1.0,
            f"Weigle and Feng's network {number} (solver and fluid: marks, Vegas does not "
            "respond to losses; packets: ns2, alpha rounded)",
            engines=SETTLED,
            free=("packets",),
        )
        for number in NUMBERS
    ]
    fluids = {name: networks[name] for name in ("half", "fair")}
    return Block(
        "deaf",
        networks,
        found,
        until=400.0,
        options=IID,
        fluids=fluids,
        packets=heard,
        packets_until=400.0,
    )


def paper_blocks() -> list[Block]:
    """All blocks of this file."""
    return [deaf_block(), papers_block()]
