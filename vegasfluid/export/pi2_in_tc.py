"""PI2 as Linux writes it: a `dualpi2` queue, which is a PI2 queue for Classic traffic.

Sources:
    tc-dualpi2(8), and Linux 6.17, net/sched/sch_dualpi2.c: alpha and beta are multiples of 1/256,
    Classic packets that can be marked are marked, from a probability of 1/4 on (with a coupling
    factor of 2) they are dropped. No code copied; Linux was not run with it here.
"""

from __future__ import annotations

from vegasfluid.aqm.pi2 import Pi2

__all__ = ["pi2_notes", "pi2_rounding", "pi2_words"]

PARTS = 256
"""tc's alpha and beta are kept in 1/256."""
MARK_THRESHOLD = Pi2.mark_threshold
"""Largest probability of marks in Linux, with a coupling factor of 2."""
KERNEL_NOTE = "dualpi2 needs Linux 6.17 or later, and iproute2 with it."
DUAL_NOTE = (
    "Packets with ECT(1) have a queue of their own in dualpi2; the model has none of them. Packets "
    "with ECT(0) are marked in any case, as with ecn = true."
)
ECN_NOTE = "The model drops packets with ECT(0), Linux's dualpi2 marks them: set ecn = true."
MARK_NOTE = "Linux's dualpi2 marks up to a probability of 0.25, the model's PI2 up to {:g}."
HEAD_NOTE = (
    "Linux's dualpi2 drops at the departure of a packet, and takes the waiting time of the packet "
    "at the head of the queue as the queueing delay; the model's PI2 drops at the arrival."
)


def kept(gain: float) -> float:
    """Alpha or beta (1/s) as Linux keeps it, in multiples of 1/256.

    >>> kept(0.16), kept(3.2)
    (0.16015625, 3.19921875)
    """
    return round(gain * PARTS) / PARTS


def pi2_words(law: Pi2, buffer: float) -> str:
    """PI2 as words of tc, for a buffer in packets.

    >>> pi2_words(Pi2(), 300)
    'dualpi2 limit 300 target 15000us tupdate 16000us alpha 0.160156 beta 3.19922'
    """
    target, interval = (max(round(time * 1e6), 1) for time in (law.target, law.t_update))
    return (
        f"dualpi2 limit {int(buffer)} target {target}us tupdate {interval}us "
        f"alpha {kept(law.alpha):.6g} beta {kept(law.beta):.6g}"
    )


def pi2_rounding(law: Pi2) -> list[str]:
    """Sentences on how Linux rounds alpha and beta of PI2."""
    return [
        f"{name}: {gain:g} per s in the model, {kept(gain):.6g} in tc (multiples of 1/256)."
        for name, gain in (("alpha", law.alpha), ("beta", law.beta))
    ]


def pi2_notes(law: Pi2) -> list[str]:
    """Sentences on differences between Linux's dualpi2 and the PI2 of the model."""
    differences = {
        KERNEL_NOTE: True,
        HEAD_NOTE: True,
        DUAL_NOTE: law.ecn,
        ECN_NOTE: not law.ecn,
        MARK_NOTE.format(law.mark_threshold): law.ecn and law.mark_threshold != MARK_THRESHOLD,
    }
    return [note for note, applies in differences.items() if applies]
