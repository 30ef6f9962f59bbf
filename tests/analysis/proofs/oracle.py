"""The laws' own drifts, solved with floats: an oracle that knows no formula of the package."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tests.paths import MODELS
from vegasfluid import Cubic, Flows, Link, Network, Red, Reno, Vegas, modelfile
from vegasfluid.aqm.base import Average, QueueState
from vegasfluid.congestion.base import Signals, Window
from vegasfluid.congestion.cubic import CubicWindow
from vegasfluid.congestion.vegas.fluid import VegasWindow

PAPER = (2, 3, 4)
WIDE = 1e9
"""Packets; more than any window here."""


def of_the_paper(number: int) -> Network:
    return modelfile.load(MODELS / f"weigle_feng_network{number}.toml").network


def mixed(dialect: str = "ns2", **red: Any) -> Network:
    """Two laws against Vegas, each with its round-trip time; softness and CUBIC's C matter."""
    curve = {"min_thresh": 100, "max_thresh": 300, "max_drop": 0.2} | red
    flows = {
        "vegas": Flows(8, Vegas(dialect=dialect, softness=2.0), base_rtt=0.05),
        "reno": Flows(5, Reno(), base_rtt=0.04),
        "cubic": Flows(4, Cubic(), base_rtt=0.3),
    }
    return Network(Link(5000.0, 900, Red(**curve)), flows)


BASE = mixed()
VEGAS, RENO = BASE.flows["vegas"], BASE.flows["reno"]


def state(law: Any, cwnd: float, base_rtt: float, seen: Signals) -> Any:
    """A state whose other fields do not move: times since a loss are those of losses in a row."""
    if isinstance(law, Vegas):
        return VegasWindow(cwnd, 0.0, base_rtt, 0.0)
    if not isinstance(law, Cubic):
        return Window(cwnd, 0.0)
    mean = 1 / seen.loss_rate
    begun = law.after_loss(CubicWindow(cwnd, 0.0, 0.0, 0.0, 0.0), seen)
    return CubicWindow(cwnd, float(begun.k), mean, 2 * mean**2, 0.0)


def drift(law: Any, cwnd: float, base_rtt: float, rtt: float, prob: float, process: str) -> Any:
    rate = cwnd / rtt
    seen = Signals(rtt, rate, prob * rate, WIDE, loss_process=process)
    return law.drift(state(law, cwnd, base_rtt, seen), seen)


def window(law: Any, base_rtt: float, rtt: float, prob: float, process: str) -> float:
    def growth(log_cwnd: float) -> float:
        return float(drift(law, math.exp(log_cwnd), base_rtt, rtt, prob, process).cwnd)

    return math.exp(brentq(growth, math.log(1e-3), math.log(WIDE), xtol=1e-14, rtol=1e-15))


def drop_prob(network: Network, queue: float) -> float:
    link = network.link
    seen = QueueState(queue, Average(queue), 0.0, link.capacity, link.buffer)
    return float(link.aqm.drop_prob(seen))


def marks(network: Network) -> bool:
    return network.link.aqm.ecn and all(group.ecn for group in network.flows.values())


def rates(network: Network, queue: float, process: str) -> dict[str, float]:
    prob, found = drop_prob(network, queue), {}
    for name, group in network.resolved().flows.items():
        base = network.base_rtts(name)[0]
        rtt = base + queue / network.link.capacity
        found[name] = window(group.law, base, rtt, prob, process) / rtt
    return found


def excess(network: Network, queue: float, process: str) -> float:
    kept = 1.0 if marks(network) else 1 - drop_prob(network, queue)
    sent = rates(network, queue, process)
    return kept * sum(network.flows[name].count * sent[name] for name in sent) - (
        network.link.capacity
    )


def with_alpha(network: Network, alpha: float) -> Network:
    """As a 0-dimensional array, a number that is not whole passes in every dialect."""
    law = network.flows["vegas"].law
    given = {"alpha": np.array(alpha), "beta": np.array(alpha + 2)}
    return network.with_law("vegas", replace(law, **given))


def ratio_at(network: Network, alpha: float, process: str) -> float:
    """The ratio at the equilibrium of the controls' drifts, without the limit of two packets."""
    tuned, red = with_alpha(network, alpha), network.link.aqm
    low = red.min_thresh * (1 + 1e-9)
    end = (2 if red.gentle else 1) * red.max_thresh
    high = min(end, network.link.buffer - 1.0)
    queue = brentq(lambda at: excess(tuned, at, process), low, high, xtol=1e-12, rtol=1e-15)
    sent = rates(tuned, queue, process)
    others = [name for name in sent if name != "vegas"]
    count = sum(network.flows[name].count for name in others)
    mean = sum(network.flows[name].count * sent[name] for name in others) / count
    return sent["vegas"] / mean
