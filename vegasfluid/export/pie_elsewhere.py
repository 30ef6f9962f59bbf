"""PIE as Linux, FreeBSD and ns-3 write it, and how theirs differs from the model's.

Sources:
    tc-pie(8) and Linux 6.1, net/sched/sch_pie.c: alpha and beta are multiples of 1/16 up to 2, the
    burst allowance is 150 ms, marks end at a probability of 10 %. ipfw(8) of FreeBSD 11 and newer.
    ns-3.45, src/traffic-control/model/pie-queue-disc.cc (attributes and their defaults). No code
    copied; of these systems Linux and ns-3.44 were run with PIE here.
"""

from __future__ import annotations

from vegasfluid.aqm.pie import Pie

__all__ = ["ipfw_words", "microseconds", "ns3_attributes", "pie_notes", "tc_gains"]
__all__ += ["tc_rounding", "tc_words"]

PARTS, LARGEST = 16, 32
"""tc's alpha and beta are in 1/16, and at most 32 of these."""
BURST, MARK_THRESHOLD = Pie.max_burst, Pie.mark_threshold
"""Burst allowance, s, and largest probability of marks, in Linux."""
BURST_NOTE = "Linux's PIE allows bursts of 150 ms, the model's of {:g} ms."
MARK_NOTE = "Linux's PIE marks up to a probability of 0.1, the model's up to {:g}."
TIMESTAMPS_NOTE = (
    "Linux's PIE takes the waiting time of the packet that left last as the queueing delay; the "
    "model's PIE computes the delay from the packets that are in the queue now."
)


def tc_gain(gain: float) -> int:
    """Alpha or beta (1/s) as tc's whole number of 1/16, 0 to 32.

    >>> tc_gain(0.125), tc_gain(1.25)
    (2, 20)
    """
    return min(round(PARTS * gain), LARGEST)


def microseconds(seconds: float) -> str:
    """A time as tc and ipfw read it, in whole microseconds, at least one."""
    return f"{max(round(seconds * 1e6), 1)}us"


def tc_gains(law: Pie) -> str:
    """Update interval, alpha and beta as options of tc.

    >>> tc_gains(Pie())
    'tupdate 15000us alpha 2 beta 20'
    """
    gains = f"alpha {tc_gain(law.alpha)} beta {tc_gain(law.beta)}"
    return f"tupdate {microseconds(law.t_update)} {gains}"


def tc_words(law: Pie, buffer: float) -> str:
    """PIE as words of tc, for a buffer in packets.

    >>> tc_words(Pie(ecn=True), 300)
    'pie limit 300 target 15000us tupdate 15000us alpha 2 beta 20 ecn'
    """
    words = f"pie limit {int(buffer)} target {microseconds(law.target)} {tc_gains(law)}"
    return words + (" ecn" if law.ecn else "")


def tc_rounding(law: Pie) -> list[str]:
    """Sentences on how Linux rounds the parameters of PIE."""
    gains = (("alpha", law.alpha), ("beta", law.beta))
    parts = [
        f"{name}: {gain:g} per s in the model, {tc_gain(gain) / PARTS:g} in tc (multiples of 1/16)."
        for name, gain in gains
    ]
    interval = law.t_update * 1e3
    return [
        *parts,
        f"tupdate: {interval:g} ms in the model, whole jiffies (1 to 10 ms) in the kernel.",
    ]


def pie_notes(law: Pie) -> list[str]:
    """Sentences on differences between Linux's PIE and that of the model."""
    differences = {
        TIMESTAMPS_NOTE: True,
        BURST_NOTE.format(law.max_burst * 1e3): law.max_burst != BURST,
        MARK_NOTE.format(law.mark_threshold): law.ecn and law.mark_threshold != MARK_THRESHOLD,
    }
    return [note for note, applies in differences.items() if applies]


def ipfw_words(law: Pie) -> str:
    """PIE as options of FreeBSD's ipfw, with the RFC's limits, spaced drops and timestamps.

    >>> ipfw_words(Pie())
    'pie target 15000us tupdate 15000us alpha 0.125 beta 1.25 max_burst 150000us \
max_ecnth 0.1 noecn capdrop drand ts'
    """
    return (
        f"pie target {microseconds(law.target)} tupdate {microseconds(law.t_update)} "
        f"alpha {law.alpha:g} beta {law.beta:g} max_burst {microseconds(law.max_burst)} "
        f"max_ecnth {law.mark_threshold:g} {'ecn' if law.ecn else 'noecn'} capdrop drand ts"
    )


def ns3_attributes(law: Pie, packets: int, packet_bytes: int) -> dict[str, str]:
    """Attributes of ns-3's PIE by name, as texts.

    Args:
        law: PIE of the model.
        packets: size of the buffer.
        packet_bytes: size of a data packet, bytes.
    """

    def time(seconds: float) -> str:
        """A time as ns-3 reads it."""
        return f"{round(seconds * 1e9)}ns"

    return {
        "MaxSize": f"{packets}p",
        "MeanPktSize": str(packet_bytes),
        "QueueDelayReference": time(law.target),
        "Tupdate": time(law.t_update),
        "A": repr(float(law.alpha)),
        "B": repr(float(law.beta)),
        "MaxBurstAllowance": time(law.max_burst),
        "UseEcn": str(law.ecn).lower(),
        "MarkEcnThreshold": repr(float(law.mark_threshold)),
        "UseCapDropAdjustment": "true",
        "UseDerandomization": "true",
        "UseDequeueRateEstimator": "false",
    }
