"""CoDel as Linux, FreeBSD and ns-3 write it, and how theirs differs from the model's.

Sources:
    tc-codel(8) and Linux 6.1, net/sched/sch_codel.c; ipfw(8) of FreeBSD 11 and newer; ns-3.45,
    src/traffic-control/model/codel-queue-disc.cc (attributes). No code copied; of these systems
    Linux and ns-3.44 were run with CoDel here.
"""

from __future__ import annotations

from vegasfluid.aqm.codel import CoDel, ControlledDelay

__all__ = ["codel_attributes", "codel_in_ipfw", "codel_in_tc", "codel_notes", "codel_times"]
__all__ += ["time_words"]

BUFFER_NOTE = (
    "CoDel drops a packet when it leaves the queue, so that it takes space until then; in the "
    "model it takes none."
)


def codel_times(law: ControlledDelay) -> tuple[str, str]:
    """Target and interval as tc and ipfw read them, in whole microseconds, at least one.

    >>> codel_times(CoDel())
    ('5000us', '100000us')
    """
    target, interval = (max(round(time * 1e6), 1) for time in (law.target, law.interval))
    return f"{target}us", f"{interval}us"


def time_words(law: ControlledDelay) -> str:
    """Target and interval as options of tc and ipfw.

    >>> time_words(CoDel())
    'target 5000us interval 100000us'
    """
    target, interval = codel_times(law)
    return f"target {target} interval {interval}"


def codel_in_tc(law: CoDel, buffer: float) -> str:
    """CoDel as words of tc, for a buffer in packets, which is rounded down.

    >>> codel_in_tc(CoDel(ecn=True), 300)
    'codel limit 300 target 5000us interval 100000us ecn'
    """
    return f"codel limit {int(buffer)} {time_words(law)} {'ecn' if law.ecn else 'noecn'}"


def codel_in_ipfw(law: CoDel) -> str:
    """CoDel as options of FreeBSD's ipfw.

    >>> codel_in_ipfw(CoDel())
    'codel target 5000us interval 100000us noecn'
    """
    return f"codel {time_words(law)} {'ecn' if law.ecn else 'noecn'}"


def codel_attributes(law: ControlledDelay, packets: int, packet_bytes: int) -> dict[str, str]:
    """Attributes of ns-3's CoDel by name, as texts.

    Args:
        law: CoDel of the model.
        packets: size of the buffer.
        packet_bytes: size of a data packet, bytes: what may stay in the queue without drops.
    """
    return {
        "MaxSize": f"{packets}p",
        "MinBytes": str(packet_bytes),
        "Target": f"{round(law.target * 1e9)}ns",
        "Interval": f"{round(law.interval * 1e9)}ns",
        "UseEcn": str(law.ecn).lower(),
    }


def codel_notes() -> list[str]:
    """Sentences on differences between CoDel elsewhere and that of the model."""
    return [BUFFER_NOTE]
