"""What to measure next to know more."""

from __future__ import annotations

from vegasfluid.observe.estimate import NetworkEstimate

__all__ = ["next_measurements"]

LEAST_SPAN = 30.0
"""Shortest measurement that is not called short, s."""
SOMETIMES = 0.1
"""Fraction of time with a queue from which on the link is not called empty."""


def next_measurements(found: NetworkEstimate) -> list[str]:
    """Sentences on what to measure next, the most useful first; an empty list: nothing.

    Args:
        found: estimates from the measurement.
    """
    advice = []
    if not found.is_full and found.busy > SOMETIMES:
        advice.append(
            "Packets waited at times, but the rate of the link is not certain. Measure with ss -tin"
            " ten times a second for a minute or more, and on the router with tc -s -j qdisc show"
            " dev DEV."
        )
    elif not found.is_full:
        advice.append(
            "The link was not full, as far as this measurement shows. Fill it (iperf3 -c SERVER"
            " -P 4 -t 60), and measure with ss -tin ten times a second."
        )
    elif found.competitors is not None:
        advice.append(
            "Other flows share the link. On its router, tc -s -j qdisc show dev DEV once a second"
            " shows the capacity and the rate of the other flows."
        )
    if found.discipline.is_constant:
        advice.append(
            "The queue discipline is not known. tc -s -j qdisc show dev DEV on the router shows it."
            " So does a measurement with fewer flows, in which losses are rare."
        )
    elif found.discipline.name == "":
        advice.append(
            "The buffer and the queue discipline are not known. tc -s -j qdisc show dev DEV on the"
            " router shows both. So does a measurement with losses: add a flow of Reno or CUBIC."
        )
    elif not found.discipline.certain:
        advice.append(
            "The queue discipline is an estimate. tc -s -j qdisc show dev DEV on its router "
            "shows it."
        )
    if any(each.vegas is not None and not each.vegas.alpha.is_known for each in found.classes):
        advice.append(
            "Vegas's parameters are in /sys/module/tcp_vegas/parameters of its hosts (Linux)."
        )
    if found.span < LEAST_SPAN:
        advice.append(f"The measurement lasts {found.span:.0f} s; a minute or more is better.")
    return advice
