"""DCTCP in the units of Linux, FreeBSD and ns-3.

Sources:
    Linux 6.1, net/ipv4/tcp_dctcp.c (dctcp_shift_g from 0 to 10; dctcp_alpha_on_init in 1/1024);
    FreeBSD 14, sys/netinet/cc/cc_dctcp.c (shift_g, alpha in 1/1024); ns-3.44,
    src/internet/model/tcp-dctcp.cc (DctcpShiftG is g itself). None checked against the original.
"""

from __future__ import annotations

import math

from vegasfluid.congestion.dctcp import LINUX_STEPS, Dctcp
from vegasfluid.errors import InvalidInput
from vegasfluid.export.quoting import comment

__all__ = ["freebsd_lines", "linux_lines", "ns3_attributes"]

LARGEST_SHIFT = 10
"""Largest exponent k of a gain g = 2^-k in both kernels."""
BOTH_ENDS = (
    "Receivers need DCTCP, too, as it changes how they echo marks. The queues on the path must "
    "mark above a threshold."
)


def shift_of(name: str, law: Dctcp, system: str) -> int:
    """Exponent k of the gain g = 2^-k of class `name`, from 0 to 10.

    Raises:
        InvalidInput: for a gain that is no such power; the message names the class and `system`.
    """
    shift = -round(math.log2(law.gain))
    if law.gain != 2.0**-shift or shift > LARGEST_SHIFT:
        allowed = f"a power of two from 1/{2**LARGEST_SHIFT} to 1 for {system}"
        raise InvalidInput(f"flows.{name}", "law.gain", allowed, law.gain)
    return shift


def linux_lines(name: str, law: Dctcp) -> list[str]:
    """Shell commands that set the Linux kernel's parameters of DCTCP to those of class `name`.

    Raises:
        InvalidInput: for a gain that is not a power of two from 1/1024 to 1.
    """
    folder = "/sys/module/tcp_dctcp/parameters"
    return [
        *comment(BOTH_ENDS),
        f"echo {shift_of(name, law, 'Linux')} > {folder}/dctcp_shift_g",
        f"echo {round(law.initial_alpha * LINUX_STEPS)} > {folder}/dctcp_alpha_on_init",
    ]


def freebsd_lines(name: str, law: Dctcp) -> list[str]:
    """Shell commands that set FreeBSD's parameters of DCTCP to those of class `name`.

    Raises:
        InvalidInput: for a gain that is not a power of two from 1/1024 to 1.
    """
    variables = "net.inet.tcp.cc.dctcp"
    return [
        *comment(BOTH_ENDS),
        "sysctl net.inet.tcp.ecn.enable=1",
        f"sysctl {variables}.shift_g={shift_of(name, law, 'FreeBSD')}",
        f"sysctl {variables}.alpha={round(law.initial_alpha * LINUX_STEPS)}",
    ]


def ns3_attributes(law: Dctcp) -> dict[str, str]:
    """Attributes of the type ns3::TcpDctcp, as texts by name.

    >>> ns3_attributes(Dctcp())
    {'DctcpShiftG': '0.0625', 'DctcpAlphaOnInit': '1.0'}
    """
    return {"DctcpShiftG": repr(law.gain), "DctcpAlphaOnInit": repr(law.initial_alpha)}
