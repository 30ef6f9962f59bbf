"""Networks that several folders of tests share, so that their programs are compiled once.

Answers that are known from elsewhere stand beside them. Use one of these before you write another
network, and keep `until`, `samples` and what does not matter at their defaults: another structure
or another grid of times is another program to compile.
"""

from __future__ import annotations

from typing import Any

from vegasfluid import Flows, Link, Model, Network, Red, Reno, UniformStart, Vegas
from vegasfluid.modelfile import dumps

__all__ = ["CAPACITY", "LOSSY", "MARKING", "office", "office_model", "pair_of_classes"]
__all__ += ["three_alphas"]

CAPACITY = 10e6 / 12000
"""packets/s: 10 Mbit/s in packets of 1500 bytes."""
MARKING = Red(min_thresh=50, max_thresh=450, max_drop=0.1, wait=False, ecn=True)
"""RED that marks where queues are in equilibrium, so that nothing is lost."""
LOSSY = Red(min_thresh=50, max_thresh=450, max_drop=0.1)
"""The same, dropping, with its gaps drawn uniformly."""


def office(
    dialect: str = "ns2",
    *,
    aqm: Any = None,
    buffer: int = 150,
    count: int = 4,
    base_rtts: tuple[float, float] = (0.02, 0.02),
    **vegas: Any,
) -> Network:
    """Reno and Vegas in equal numbers over 10 Mbit/s with RED: small, and fair at some alpha.

    Args:
        dialect: of Vegas.
        aqm: the queue discipline; None: RED from 40 to 120 packets.
        buffer: packets.
        count: flows in each class.
        base_rtts: of Reno and of Vegas, s.
        vegas: further arguments of Vegas's `Flows`.
    """
    aqm = Red(min_thresh=40, max_thresh=120) if aqm is None else aqm
    started: dict[str, Any] = {"start": UniformStart(0.1)}
    flows = {
        "reno": Flows(count, Reno(), base_rtt=base_rtts[0], **started),
        "vegas": Flows(
            count, Vegas(dialect=dialect), **{"base_rtt": base_rtts[1], **started, **vegas}
        ),
    }
    return Network(Link(CAPACITY, buffer, aqm), flows)


def office_model(dialect: str = "ns2", **law: Any) -> str:
    """The text of a model file: the office for 60 s, of which 15 s are left out.

    Args:
        dialect: of Vegas.
        law: further arguments of `Vegas`.
    """
    network = office(dialect).with_law("vegas", Vegas(dialect=dialect, **law))
    return dumps(Model(network, duration=60.0, warmup=15.0))


def pair_of_classes(
    alpha: float = 12.0, *, aqm: Any = MARKING, count: int = 5, dialect: str = "brakmo"
) -> Network:
    """Reno and Vegas over 1000 packets/s with a round trip of 0.1 s, where windows are large.

    Under MARKING a Reno window in equilibrium is sqrt(2/p) packets, and the queue solves
    `closed_forms.red_queue` (theory: Misra, Gong and Towsley, 2000).
    """
    flows = {
        "reno": Flows(count, Reno(), base_rtt=0.1),
        "vegas": Flows(count, Vegas(alpha, alpha + 2, dialect=dialect), base_rtt=0.1),
    }
    return Network(Link(1000.0, 2000, aqm), flows)


def three_alphas(width: float) -> Network:
    """Twelve Vegas flows alone over a large buffer, with three alphas and narrow dead bands.

    Nothing is lost, and each flow has alpha packets in the queue (S. Low, L. Peterson and L. Wang,
    JACM 49(2), 2002, of alpha = beta): 72 packets and rates of 1 : 2 : 3 where `width` is 0.

    Args:
        width: beta less alpha, packets.
    """
    classes = {
        f"of {alpha}": Flows(4, Vegas(alpha, alpha + width), base_rtt=0.05) for alpha in (3, 6, 9)
    }
    return Network(Link(1000.0, 2000), classes)
