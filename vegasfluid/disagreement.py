"""Disagreements between a fluid model and the packet simulator: what, by how much and why.

The thresholds are those beyond which a reader would act differently. The reasons are the limits of
the fluid models' assumptions (`vegasfluid.fluid.validity`), most important first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vegasfluid.metric_formulas import IntervalTotals
from vegasfluid.network import Network
from vegasfluid.trajectory import ENGINES

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["RunMeans", "compare", "disagreements", "run_means"]

FLUID, PACKETS = ENGINES["fluid"], ENGINES["packets"]
"""Names of the engines in the sentences."""
RATIO_DIFFERENCE = 0.25
"""Difference of goodput ratios above which it is reported, relative to the packet run's."""
QUEUE_DIFFERENCE = 0.5
"""Difference of mean queues above which it is reported, relative to the packet run's."""
SMALL_QUEUE = 1.0
"""Difference of mean queues, packets, up to which it is never reported."""
STARVATION_RATIO = 0.05
"""Goodput of a flow over that of flows of other classes below which it starves."""
NOTHING = 1e-9
"""Goodput ratio up to which a flow gets nothing, and over whose inverse it gets everything; far
below what a packet in a run makes, and above the 1e-12 to which recommendations clip ratios."""


class RunMeans(NamedTuple):
    """Averages of one run of a network, by class or link.

    Args:
        ratios: goodput of a flow / goodput of a flow of the other classes, by class; infinite where
            those deliver nothing, NaN where no flow does; empty with one class.
        queues: mean queue of each link, packets.
        windows: mean window of each class, packets; empty if unknown.
        timeouts: number of timeouts of all flows of each class; empty if unknown.
        lost: fraction of each class's packets that was retransmitted; empty if unknown.
    """

    ratios: Mapping[str, float]
    queues: Mapping[str, float]
    windows: Mapping[str, float] = {}
    timeouts: Mapping[str, float] = {}
    lost: Mapping[str, float] = {}


def run_means(document: Mapping[str, Any]) -> RunMeans:
    """Averages of a run after the warm-up: goodput ratios, queues, windows, timeouts, losses.

    Args:
        document: JSON document of the run, from `vegasfluid.metrics.summarise`.

    Returns:
        The ratios by class, queues (packets) by link, and by class mean windows (packets), numbers
        of timeouts and fractions of packets that were retransmitted.
    """
    classes = document["classes"]
    totals = IntervalTotals(
        1.0,
        count=[flow["count"] for flow in classes.values()],
        delivered=np.array([flow["goodput_packets_per_s"] for flow in classes.values()]),
    )
    several = len(classes) > 1
    return RunMeans(
        {name: totals.goodput_ratio(i) for i, name in enumerate(classes)} if several else {},
        {name: link["queue_packets"] for name, link in document["links"].items()},
        {name: flow["cwnd_packets"] for name, flow in classes.items()},
        {name: flow["timeouts"] for name, flow in classes.items()},
        {name: flow["retransmit_share"] for name, flow in classes.items()},
    )


def disagreements(network: Network, fluid: xr.Dataset, packets: xr.Dataset) -> list[str]:
    """Sentences on how a fluid run and a packet run of a network disagree, after their warm-ups.

    Reported are goodput ratios that differ by more than a quarter of the packet run's, mean queues
    that differ by more than half of the packet run's (and one packet), a class that starves in
    either (a flow has less than 0.05 times the goodput of other flows), and fluid timeouts of a
    class without losses.

    Args:
        network: network that both simulated.
        fluid: trajectory of a fluid model, from `simulate_fluid` or `simulate_density`.
        packets: trajectory of the packet simulator, from `simulate_packets`.

    Returns:
        Sentences with both values, the likely reason and which to trust; empty if they agree.

    >>> from vegasfluid import Flows, Link, Red, Reno, simulate_fluid, simulate_packets
    >>> link = Link(1000.0, 200, Red(min_thresh=50, max_thresh=150))
    >>> network = Network(link, {"reno": Flows(10, Reno(), base_rtt=0.05)})
    >>> disagreements(network, simulate_fluid(network, 20), simulate_packets(network, 20))
    []
    """
    from vegasfluid.metrics import summarise

    return compare(network, *(run_means(summarise(run, network)) for run in (fluid, packets)))


def compare(network: Network, fluid: RunMeans, packets: RunMeans) -> list[str]:
    """Sentences on how the averages of a fluid run and of a packet run of a network disagree.

    They concern goodput ratios, mean queues, starved classes and fluid timeouts without losses; the
    last sentence on ratios or queues also names the likely reason. None begins with a name. Empty
    if the runs agree.
    """
    sentences = [
        *runs_without_deliveries(fluid, packets),
        *ratio_differences(fluid, packets),
        *queue_differences(fluid, packets),
    ]
    if sentences:
        sentences[-1] += f" {likely_reason(network, packets)}"
    return [*sentences, *starved_classes(fluid, packets), *timeouts_without_losses(fluid)]


def runs_without_deliveries(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """One sentence if no flow delivers anything in one run, but some do in the other."""
    idle = [any(map(math.isnan, run.ratios.values())) for run in (fluid, packets)]
    if idle[0] != idle[1]:
        first, second = (FLUID, PACKETS) if idle[0] else (PACKETS, FLUID)
        yield f"No flow delivers anything in the {first}, but some do in the {second}."


def in_words(ratios: Sequence[float], digits: int) -> list[str]:
    """What a flow gets at each of these goodput ratios, which have this many significant digits.

    >>> in_words((0.0, 0.25, 2.0), 2)
    ['nothing', '0.25 times the goodput of other flows', '2 times']
    """
    texts, unit = [], " the goodput of other flows"
    for ratio in ratios:
        if NOTHING < ratio < 1 / NOTHING:
            texts.append(f"{ratio:.{digits}g} times{unit}")
            unit = ""
        else:
            texts.append("nothing" if ratio <= NOTHING else "all of the goodput")
    return texts


def compared_ratios(fluid: RunMeans, packets: RunMeans) -> dict[str, tuple[float, float]]:
    """Goodput ratios of both runs by class, from 1e-9 to 1e9; without those that are NaN in one."""
    pairs = {name: (fluid.ratios[name], packets.ratios[name]) for name in packets.ratios}
    return {
        name: (min(max(one, NOTHING), 1 / NOTHING), min(max(other, NOTHING), 1 / NOTHING))
        for name, (one, other) in pairs.items()
        if not (math.isnan(one) or math.isnan(other))
    }


def ratio_differences(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """One sentence for each class whose goodput ratio differs by over 25 % of the packet run's.

    The ratio is the goodput of a flow over that of a flow of the other classes. With two classes
    only the first is compared, as its ratio is the inverse of the second one's.
    """
    ratios = compared_ratios(fluid, packets)
    for name in list(ratios)[: 1 if len(packets.ratios) == 2 else None]:
        fluid_value, packet_value = ratios[name]
        if abs(fluid_value - packet_value) > RATIO_DIFFERENCE * packet_value:
            one, other = in_words(ratios[name], 3)
            yield (f"A flow of {name} gets {one} in the {FLUID}, but {other} in the {PACKETS}.")


def queue_differences(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """One sentence for each link whose mean queues in the two runs differ too much.

    They do if the difference exceeds half of the packet run's mean queue, and one packet.
    """
    for name, packet_value in packets.queues.items():
        fluid_value = fluid.queues[name]
        if abs(fluid_value - packet_value) > max(QUEUE_DIFFERENCE * packet_value, SMALL_QUEUE):
            yield (
                f"The mean queue of {name} is {fluid_value:.3g} packets in the fluid model, but "
                f"{packet_value:.3g} in the packet simulator."
            )


def likely_reason(network: Network, packets: RunMeans) -> str:
    """One or two sentences: why the fluid model probably differs from packets, and which to trust.

    Args:
        network: the simulated network; its AQMs, flow counts and send overheads suggest the reason.
        packets: averages of the packet run, of which the mean windows (packets) are used.
    """
    from vegasfluid.fluid.validity import FEW_FLOWS, FEW_PACKETS  # slow to import

    flows = min(network.flow_count(name) for name in network.links)
    small = [name for name, window in packets.windows.items() if window < FEW_PACKETS]
    tails = [name for name, link in network.links.items() if link.aqm.shares_full_buffer]
    synchronised = tails and not any(map(network.send_overhead, network.flows))
    if synchronised:
        return (
            "Nothing is random at this drop-tail queue, so in the packet simulator the phases of "
            "the flows decide which one loses. Trust neither until send_overhead_ms is set."
        )
    if small:
        reason = f"windows of {', '.join(small)} are below {FEW_PACKETS:g} packets"
    elif tails:
        reason = "at a drop-tail queue the order of single packets decides which flow loses"
    elif flows < FEW_FLOWS:
        reason = f"single losses matter with {flows} flows, but the fluid model has only averages"
    else:
        reason = "the fluid model has only the averages of windows and queues"
        if any(flows.law.learns_base_rtt for flows in network.flows.values()):
            reason = "a Vegas flow that starts with a queue measures too long a base RTT"
    return f"The likely reason: {reason}. Trust the packet simulator."


def starved_classes(fluid: RunMeans, packets: RunMeans) -> Iterator[str]:
    """One sentence for each class whose goodput ratio is below 0.05 in either run.

    The ratio is the goodput of a flow over that of a flow of the other classes.
    """
    for name, ratios in compared_ratios(fluid, packets).items():
        if min(ratios) < STARVATION_RATIO:
            one, other = in_words(ratios, 2)
            yield (
                f"A flow of {name} starves: it gets {one} in the {FLUID}, and {other} in the "
                f"{PACKETS}."
            )


def timeouts_without_losses(fluid: RunMeans) -> Iterator[str]:
    """One sentence for each class with timeouts in a fluid run but no retransmitted packets."""
    for name, timeouts in fluid.timeouts.items():
        if timeouts > 0 and fluid.lost.get(name, 0.0) == 0:
            yield (
                f"The fluid model has {timeouts:.3g} timeouts of {name} although nothing is lost. "
                "Trust the packet simulator."
            )
