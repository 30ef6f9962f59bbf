"""Where a fluid model and the packet simulator stand side by side and differ: what, by how much,
the likely reason, and which to believe.

The bounds are those beyond which a reader would act differently. The reasons are where the fluid
models' assumptions end (`vegasfluid.fluid.validity`), in the order in which they weigh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vegasfluid.network import Network

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["RunMeans", "compare", "disagreements", "run_means"]

RATIO_APART, QUEUE_APART = 0.25, 0.5
"""Ratios that are further apart than this, and queues, as parts of those of packets."""
SMALL_QUEUE = 1.0
"""Packets: queues that are less apart are not."""
STARVED = 0.05
"""A flow that gets less of what another gets is starved."""


class RunMeans(NamedTuple):
    """What a simulator shows of a network.

    Args:
        ratios: by classes, the goodput of a flow over that of a flow of the others; of a network
            with one class empty.
        queues: by links, their mean, packets.
        windows: by classes, their mean, packets; empty where they are not known.
        timeouts: by classes.
        lost: by classes, the share of packets that was sent again.
    """

    ratios: Mapping[str, float]
    queues: Mapping[str, float]
    windows: Mapping[str, float] = {}
    timeouts: Mapping[str, float] = {}
    lost: Mapping[str, float] = {}


def run_means(document: Mapping[str, Any]) -> RunMeans:
    """What the JSON document of a run shows (see `vegasfluid.metrics.summarise`)."""
    classes = document["classes"]
    total = sum(of["count"] * of["goodput_packets_per_s"] for of in classes.values())
    flows = sum(of["count"] for of in classes.values())
    ratios = {}
    for name, of in classes.items():
        others = flows - of["count"]
        if others:
            rest = (total - of["count"] * of["goodput_packets_per_s"]) / others
            ratios[name] = of["goodput_packets_per_s"] / max(rest, 1e-12)
    return RunMeans(
        ratios,
        {name: of["queue_packets"] for name, of in document["links"].items()},
        {name: of["cwnd_packets"] for name, of in classes.items()},
        {name: of["timeouts"] for name, of in classes.items()},
        {name: of["retransmit_share"] for name, of in classes.items()},
    )


def disagreements(network: Network, fluid: xr.Dataset, packets: xr.Dataset) -> list[str]:
    """What a fluid model and packets say differently of a network, a sentence each.

    A ratio of goodputs that is more than a quarter apart, a mean queue that is more than half of
    it apart, a class that either starves, timeouts of the fluid model where it loses nothing.

    Args:
        network: that both simulated.
        fluid: the trajectory of a fluid model.
        packets: the trajectory of the packet simulator.

    Returns:
        Sentences with both numbers, the likely reason and which to believe; none where they agree.

    >>> from vegasfluid import Flows, Link, Red, Reno, simulate_fluid, simulate_packets
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> disagreements(network, simulate_fluid(network, 20), simulate_packets(network, 20))
    []
    """
    from vegasfluid.metrics import summarise

    return compare(network, *(run_means(summarise(run, network)) for run in (fluid, packets)))


def compare(network: Network, fluid: RunMeans, packets: RunMeans) -> list[str]:
    """As `disagreements`, of what is known of two runs."""
    told = [*ratio_differences(fluid, packets), *queue_differences(fluid, packets)]
    if told:
        told[-1] += f" {likely_reason(network, packets)}"
    return [*told, *starved_classes(fluid, packets), *timeouts_without_losses(fluid)]


def ratio_differences(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """Shares that differ; of two classes the first one's tells both."""
    names = list(packets.ratios)[: 1 if len(packets.ratios) == 2 else None]
    for name in names:
        ours, theirs = fluid.ratios[name], packets.ratios[name]
        if abs(ours - theirs) > RATIO_APART * theirs:
            yield (
                f"{name}: a flow gets {ours:.3g} times what a flow of the others gets by the fluid "
                f"model, and {theirs:.3g} times on packets."
            )


def queue_differences(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """Queues that differ."""
    for name, theirs in packets.queues.items():
        ours = fluid.queues[name]
        if abs(ours - theirs) > max(QUEUE_APART * theirs, SMALL_QUEUE):
            yield (
                f"{name}: the mean queue is {ours:.3g} packets by the fluid model, and "
                f"{theirs:.3g} on packets."
            )


def likely_reason(network: Network, packets: RunMeans) -> str:
    """Why a fluid model and packets are likely to differ, and which to believe."""
    from vegasfluid.fluid.validity import FEW_FLOWS, FEW_PACKETS  # not before a fluid model ran

    flows = min(network.flow_count(name) for name in network.links)
    small = [name for name, of in packets.windows.items() if of < FEW_PACKETS]
    tails = [name for name, link in network.links.items() if not link.aqm.drops_by_chance]
    synchronised = tails and not any(map(network.send_overhead, network.flows))
    if synchronised:
        return (
            "Nothing is random at a drop-tail queue here, so that on packets phases decide who "
            "loses; believe neither before send_overhead_ms is set."
        )
    if small:
        why = f"windows of {', '.join(small)} are below {FEW_PACKETS:g} packets"
    elif tails:
        why = "at a drop-tail queue the order of single packets decides who loses"
    elif flows < FEW_FLOWS:
        why = f"each of {flows} flows feels every loss, and the fluid model knows only their mean"
    else:
        why = "the fluid model knows only the mean of windows and queues"
        if any(flows.law.name.startswith("vegas") for flows in network.flows.values()):
            why = "a Vegas flow that starts into a queue takes it for a longer base RTT"
    return f"Likely because {why}; believe the packets."


def starved_classes(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """Classes that get next to nothing."""
    for name, theirs in packets.ratios.items():
        ours = fluid.ratios[name]
        if min(ours, theirs) < STARVED:
            yield (
                f"{name} starves: a flow gets {ours:.2g} times what a flow of the others gets by "
                f"the fluid model, and {theirs:.2g} times on packets."
            )


def timeouts_without_losses(fluid: RunMeans) -> Iterator[str]:
    """Timeouts of a class that loses nothing."""
    for name, timeouts in fluid.timeouts.items():
        if timeouts > 0 and fluid.lost.get(name, 0.0) == 0:
            yield (
                f"{name}: {timeouts:.3g} timeouts by the fluid model, though it loses nothing; "
                "believe the packets."
            )
