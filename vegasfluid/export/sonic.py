"""Export to switches with SONiC: WRED profiles for CONFIG_DB, and queues that use them.

A profile has two thresholds in bytes and a probability in whole per cent. All packets are green
unless the switch colours them, so only the thresholds of green packets are set. SONiC has no field
for the weight of RED's average: its agent sets weight 0, with which the average is the current
queue. So step marking is exact (both thresholds between K and K + 1 packets), and RED is not.

Sources:
    sonic-net/sonic-buildimage: src/sonic-yang-models/yang-models/sonic-wred-profile.yang (fields,
    units, ranges), sonic-queue.yang (`QUEUE`, `wred_profile`), files/build_templates/
    qos_config.j2 (values as texts). sonic-net/sonic-swss, orchagent/qosorch.cpp (32-bit thresholds,
    SAI_WRED_ATTR_WEIGHT is 0). opencomputeproject/SAI, inc/saiwred.h (a threshold of 0 is the
    buffer). Mellanox/SAI-Implementation, mlnx_sai/src/mlnx_sai_wred.c (weight n is 2^-n). No code
    copied; not run on a switch.
"""

from __future__ import annotations

import json
import math

from vegasfluid.aqm.red import Red
from vegasfluid.aqm.step import StepMarking
from vegasfluid.errors import InvalidInput
from vegasfluid.export.dialects import Points
from vegasfluid.export.document import Exported, header_comments
from vegasfluid.export.quoting import comment
from vegasfluid.export.unsupported import require_discipline
from vegasfluid.model import Model
from vegasfluid.network import Link
from vegasfluid.quantities import bits_per_second

__all__ = ["export_sonic"]

LARGEST_SIZE = 2**31 - 1
"""Largest threshold, bytes: SONiC reads it into 32 bits with a sign."""
ROUNDED_TO_ZERO = 0.005
"""Largest probability that is rounded to 0 per cent."""
HOSTS_NOTE = "SONiC gets thresholds of queues only; settings of hosts: --format linux."
BUFFER_NOTE = "The buffer is not set: a switch shares it among ports (BUFFER_POOL, BUFFER_PROFILE)."
TRANSMISSION_NOTE = (
    "A switch may count the packet in transmission, which the model does not: it then marks from "
    "one packet less on."
)
WEIGHT_NOTE = (
    "SONiC's RED uses the current queue, the model's an average: SONiC sets weight 0 in every "
    "profile, and CONFIG_DB has no field for it."
)
SPACING_NOTE = (
    "SONiC does not define how far apart RED's drops are; the model spaces them by its "
    "`implementation`."
)
BYTES_NOTE = "SONiC's RED counts bytes where the model counts packets."
HEAD = """\
# WRED profiles for SONiC, written by vegasfluid. In wred.json replace PORT_1 by the port that sends
# into the link, such as Ethernet0, and QUEUE_1 by the queue of the traffic, such as 3. Then:
#   sudo config load wred.json -y; sudo config save -y"""


def export_sonic(model: Model, points: Points, seed: int) -> Exported:
    """Export the queues of a model to SONiC: `wred.json` for CONFIG_DB, and `notes.txt`.

    Args:
        model: the model.
        points: not used, as hosts are not exported.
        seed: not used, as nothing is random.

    Returns:
        Texts of the files, and notes on differences.

    Raises:
        InvalidInput: for a queue discipline or its options that SONiC does not have.
    """
    network = model.network.resolved()
    profiles: dict[str, dict[str, str]] = {}
    queues: dict[str, dict[str, str]] = {}
    notes, lines = [HOSTS_NOTE, BUFFER_NOTE], []
    for number, (name, link) in enumerate(network.links.items(), start=1):
        law = require_discipline(name, link, "sonic", (Red, StepMarking))
        profile = f"queue-{number}"
        queues[f"PORT_{number}|QUEUE_{number}"] = {"wred_profile": profile}
        lines += ["", *port_comments(profile, name, link, network.packet_bytes)]
        if isinstance(law, StepMarking):
            profiles[profile] = step_profile(name, law, network.packet_bytes)
            lines += comment(step_comment(law, network.packet_bytes))
            notes.append(TRANSMISSION_NOTE)
            continue
        profiles[profile] = red_profile(name, law, network.packet_bytes)
        lines += comment(red_rounding(law))
        notes += [WEIGHT_NOTE, SPACING_NOTE, *([] if law.counts_bytes else [BYTES_NOTE])]
    unique = tuple(dict.fromkeys(notes))
    tables = {"WRED_PROFILE": profiles, "QUEUE": queues}
    text = "\n".join([HEAD, *header_comments(model, unique, {}), *lines]) + "\n"
    files = {"wred.json": json.dumps(tables, indent=4) + "\n", "notes.txt": text}
    return Exported("sonic", files, notes=unique)


def port_comments(profile: str, name: str, link: Link, packet_bytes: int) -> list[str]:
    """Comment lines: the port to which a profile belongs.

    Args:
        profile: name of the profile.
        name: name of the link.
        link: the link, whose rate is that of the port.
        packet_bytes: size of a data packet, bytes.
    """
    rate = bits_per_second(link.capacity, packet_bytes) / 1e6
    return comment(f"{profile}: the port that sends into {name}, at {rate:.10g} Mbit/s.")


def fields(low: int, high: int, percent: int, ecn: bool) -> dict[str, str]:
    """Fields of a profile for green packets: thresholds (bytes) and probability (per cent).

    With `ecn`, packets that are ECN capable are marked; others are dropped.
    """
    return {
        "wred_green_enable": "true",
        "ecn": "ecn_green" if ecn else "ecn_none",
        "green_min_threshold": str(low),
        "green_max_threshold": str(high),
        "green_drop_probability": str(percent),
    }


def require_size(name: str, key: str, size: int) -> int:
    """The threshold `key` of link `name`, `size` bytes; raises InvalidInput if it is too large."""
    if size > LARGEST_SIZE:
        raise InvalidInput(f"links.{name}", key, f"at most {LARGEST_SIZE} bytes for sonic", size)
    return size


def step_profile(name: str, law: StepMarking, packet_bytes: int) -> dict[str, str]:
    """Fields of the profile for step marking.

    Both thresholds are half a packet above K packets. So a switch marks a packet that finds K + 1
    full packets, whether it compares with "above" or "at least", and even if it rounds sizes up to
    its cells. Raises InvalidInput if the thresholds do not fit into SONiC's 31 bits.

    >>> step_profile("core", StepMarking(20), 1500)["green_min_threshold"]
    '30750'
    """
    size = require_size(name, "aqm.threshold", step_bytes(law, packet_bytes))
    return fields(size, size, 100, ecn=True)


def step_bytes(law: StepMarking, packet_bytes: int) -> int:
    """Size between the largest queue that is not marked and one packet more, bytes."""
    return round((math.floor(law.threshold) + 0.5) * packet_bytes)


def step_comment(law: StepMarking, packet_bytes: int) -> str:
    """A sentence on the threshold of step marking, for data packets of `packet_bytes`.

    >>> step_comment(StepMarking(20), 1500)
    'threshold: above 20 packets in the model, 30750 bytes in SONiC, which is half a packet more.'
    """
    return (
        f"threshold: above {law.threshold:g} packets in the model, "
        f"{step_bytes(law, packet_bytes)} bytes in SONiC, which is half a packet more."
    )


def red_profile(name: str, law: Red, packet_bytes: int) -> dict[str, str]:
    """Fields of the profile for RED.

    Args:
        name: name of the link, for error messages.
        law: RED of the model.
        packet_bytes: size of a data packet, bytes.

    Raises:
        InvalidInput: for options that SONiC does not have, or numbers outside of its ranges.
    """
    switches = {
        "gentle": law.gentle,
        "adaptive": law.adaptive,
        "hard_drop": law.ecn and law.hard_drop,
    }
    for key, value in switches.items():
        if value:
            raise InvalidInput(f"links.{name}", f"aqm.{key}", "False for sonic", value)
    if law.max_drop <= ROUNDED_TO_ZERO:
        allowed = f"above {ROUNDED_TO_ZERO} for sonic"
        raise InvalidInput(f"links.{name}", "aqm.max_drop", allowed, law.max_drop)
    low, high = (max(round(packet_bytes * one), 1) for one in (law.min_thresh, law.max_thresh))
    require_size(name, "aqm.max_thresh", high)
    return fields(low, max(low, high), round(100 * law.max_drop), law.ecn)


def red_rounding(law: Red) -> str:
    """Sentences on RED's weight and drop probability in SONiC.

    >>> red_rounding(Red(20, 80))
    'weight: 0.002 in the model, 1 in SONiC. probability: 0.1 in the model, 0.1 in SONiC \
(whole per cent).'
    """
    probability = round(100 * law.max_drop) / 100
    return (
        f"weight: {law.average_weight:g} in the model, 1 in SONiC. "
        f"probability: {law.max_drop:g} in the model, {probability:g} in SONiC (whole per cent)."
    )
