"""Flow queueing as Linux, FreeBSD and ns-3 write it, and how theirs differs from the model's.

Sources:
    tc-fq(8), tc-fq_codel(8) and Linux 6.1, net/sched/sch_fq.c, sch_fq_codel.c; ipfw(8) of FreeBSD
    11 and newer (`sched ... type fq_codel`); ns-3.45, src/traffic-control/model/
    fq-codel-queue-disc.cc (attributes). No code copied; of these systems Linux was run with them.
"""

from __future__ import annotations

from vegasfluid.aqm.fq import REFILL_DELAY, Fq
from vegasfluid.aqm.fq_codel import FqCoDel
from vegasfluid.errors import InvalidInput
from vegasfluid.export.codel_elsewhere import codel_attributes, time_words

__all__ = ["FLOWS", "flow_queue_notes", "flow_queues_in_ipfw", "flow_queues_in_ns3"]
__all__ += ["flow_queues_in_tc", "quantum_bytes"]

ETHERNET = 14
"""Bytes of the Ethernet header, which Linux counts in a quantum."""
LEAST_QUANTUM = 1
"""Smallest quantum, bytes."""
FLOWS = 65535
"""Queues to which flows are hashed (chosen: as many as ns-3, Linux and FreeBSD all take), so that
two of ten flows share one in one of 1500 cases."""
MOST_IN_DUMMYNET = 20480
"""Largest limit of FreeBSD's `fq_codel`, packets."""
HASH_NOTE = (
    f"Flows are hashed to {FLOWS} queues, so that two may share one; in the model each has its own."
)


def quantum_bytes(packets: float, packet_bytes: int, header: int = ETHERNET) -> int:
    """A quantum in whole bytes, at least one.

    Args:
        packets: the quantum, packets.
        packet_bytes: size of a data packet, bytes.
        header: bytes that the system counts in addition to each packet.

    >>> quantum_bytes(1, 1500)
    1514
    """
    return max(round(packets * (packet_bytes + header)), LEAST_QUANTUM)


def flow_queues_in_tc(law: Fq | FqCoDel, buffer: float, packet_bytes: int) -> str:
    """Flow queueing as words of tc, for a buffer in packets and packets of `packet_bytes` bytes.

    >>> flow_queues_in_tc(Fq(), 1000, 1500)
    'fq limit 1000 flow_limit 100 quantum 3028 initial_quantum 15140 refill_delay 40ms nopacing'
    """
    quantum = quantum_bytes(law.quantum, packet_bytes)
    if isinstance(law, Fq):
        first = quantum_bytes(law.initial_quantum, packet_bytes)
        return (
            f"fq limit {int(buffer)} flow_limit {int(law.flow_limit)} quantum {quantum} "
            f"initial_quantum {first} refill_delay {round(REFILL_DELAY * 1e3)}ms nopacing"
        )
    return (
        f"fq_codel limit {int(buffer)} flows {FLOWS} {time_words(law)} quantum {quantum} "
        f"{'ecn' if law.ecn else 'noecn'}"
    )


def flow_queues_in_ipfw(name: str, law: FqCoDel, buffer: float, packet_bytes: int) -> str:
    """FQ-CoDel as options of a dummynet scheduler.

    >>> flow_queues_in_ipfw("uplink", FqCoDel(), 1000, 1500)
    'type fq_codel target 5000us interval 100000us quantum 1500 limit 1000 flows 65535 noecn'

    Args:
        name: name of the link, for the error message.
        law: FQ-CoDel of the model.
        buffer: size of the buffer, packets.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for a buffer that dummynet does not support.
    """
    if buffer > MOST_IN_DUMMYNET:
        allowed = f"at most {MOST_IN_DUMMYNET} packets for fq_codel of freebsd"
        raise InvalidInput(f"links.{name}", "buffer", allowed, buffer)
    quantum = quantum_bytes(law.quantum, packet_bytes, header=0)
    return (
        f"type fq_codel {time_words(law)} quantum {quantum} limit {int(buffer)} flows {FLOWS} "
        f"{'ecn' if law.ecn else 'noecn'}"
    )


def flow_queues_in_ns3(law: FqCoDel, packets: int, packet_bytes: int) -> dict[str, str]:
    """Attributes of ns-3's FQ-CoDel by name, as texts.

    Its quantum is the MTU of the device.

    Args:
        law: FQ-CoDel of the model.
        packets: size of the buffer.
        packet_bytes: size of a data packet, bytes.
    """
    codel = codel_attributes(law, packets, packet_bytes)
    return {name: codel[name] for name in ("MaxSize", "Target", "Interval", "UseEcn")} | {
        "Flows": str(FLOWS)
    }


def flow_queue_notes() -> list[str]:
    """Sentences on differences between flow queueing elsewhere and that of the model."""
    return [HASH_NOTE]
