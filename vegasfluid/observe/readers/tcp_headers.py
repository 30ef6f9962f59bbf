"""Headers of TCP packets in a capture, of which often only the first bytes were kept.

dpkt decodes whole packets into objects, which takes five times as long, and counts a packet's data
by the bytes that were kept; here the lengths in the headers count.

Sources:
    https://www.tcpdump.org/linktypes.html; RFC 791, RFC 8200, RFC 9293, RFC 7323.
"""

from __future__ import annotations

from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple

__all__ = ["LINK_TYPES", "TcpHeader", "address_of", "tcp_header"]

ETHERNET, LINUX_COOKED, LINUX_COOKED_2 = 1, 113, 276
RAW_IP, LOOPBACK = (12, 14, 101, 228, 229), (0, 108)
LINK_TYPES = frozenset({ETHERNET, LINUX_COOKED, LINUX_COOKED_2, *RAW_IP, *LOOPBACK})
"""Link types that are read: Ethernet, Linux's "cooked" captures (-i any), raw IP, loopback."""
IP = (0x0800, 0x86DD)
"""EtherTypes of IPv4 and IPv6."""
VLAN = (0x8100, 0x88A8, 0x9100)
"""EtherTypes of VLAN tags, which are 4 bytes long."""
TCP, FRAGMENT = 6, 44
"""IP protocol numbers of TCP and of IPv6's fragment header."""
EXTENSIONS = (0, 43, 60, 135)
"""IPv6 extension headers that may precede TCP, in units of 8 bytes."""
MOST_EXTENSIONS = 8
"""Largest number of VLAN tags or extension headers of a packet."""
SHORT = Struct(">H")
FIXED = Struct(">HHIIBB")
"""Ports, sequence and acknowledgement number, data offset, flags."""
STAMPS = Struct(">II")
"""TSval and TSecr."""
USUAL_OPTIONS = b"\x01\x01\x08\x0a"
"""Two no-operations and a time stamp: the options of most packets (RFC 7323, appendix A)."""


class TcpHeader(NamedTuple):
    """What the headers of a TCP packet have.

    Args:
        source: address and port of the sender as they are in the packet.
        target: address and port of the receiver as they are in the packet.
        seq: sequence number of the first byte.
        ack: acknowledgement number.
        flags: flags: 1 FIN, 2 SYN, 4 RST, 16 ACK.
        payload: bytes of data.
        tsval: time stamp; None: no such option.
        tsecr: time stamp of the other end that is echoed; 0: no such option.
        segment: maximum segment size that a SYN announces; None: no such option.
    """

    source: bytes
    target: bytes
    seq: int
    ack: int
    flags: int
    payload: int
    tsval: int | None
    tsecr: int
    segment: int | None


def address_of(end: bytes) -> str:
    """An address and port as text, such as `10.0.0.1:5201` or `[2001:db8::1]:443`."""
    address, port = ip_address(end[:-2]), SHORT.unpack(end[-2:])[0]
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def tcp_header(packet: bytes, link_type: int) -> TcpHeader | None:
    """Headers of a packet; None: it is no TCP, a fragment, or its headers are not complete.

    Args:
        packet: the bytes that were kept.
        link_type: one of `LINK_TYPES`.
    """
    try:
        begin = _ip_begin(packet, link_type)
        if begin < 0:
            return None
        found = (_ipv4 if packet[begin] >> 4 == 4 else _ipv6)(packet, begin)
        return None if found is None else _tcp(packet, *found)
    except (IndexError, ValueError):
        return None


def _short(packet: bytes, place: int) -> int:
    """The two bytes at a place as a number.

    Raises:
        IndexError: after the packet's end.
    """
    return packet[place] << 8 | packet[place + 1]


def _ip_begin(packet: bytes, link_type: int) -> int:
    """Place of the IP header; -1: there is none."""
    if link_type == ETHERNET:
        place = 12
    elif link_type == LINUX_COOKED:
        place = 14
    elif link_type == LINUX_COOKED_2:
        return 20 if _short(packet, 0) in IP else -1
    else:
        return 0 if link_type in RAW_IP else 4
    for _ in range(MOST_EXTENSIONS):
        kind = _short(packet, place)
        if kind in IP:
            return place + 2
        if kind not in VLAN:
            return -1
        place += 4
    return -1


Found = tuple[bytes, bytes, int, int]
"""Addresses of both ends, place of the TCP header, and place after the packet's data."""


def _ipv4(packet: bytes, begin: int) -> Found | None:
    """TCP in an IPv4 packet whose IP header starts at byte `begin`; None: there is none."""
    if packet[begin + 9] != TCP or _short(packet, begin + 6) & 0x1FFF:
        return None
    length = _short(packet, begin + 2) or len(packet) - begin  # 0: segmentation by the card
    header = (packet[begin] & 15) * 4
    source, target = packet[begin + 12 : begin + 16], packet[begin + 16 : begin + 20]
    return source, target, begin + header, begin + length


def _ipv6(packet: bytes, begin: int) -> Found | None:
    """TCP in an IPv6 packet whose IP header starts at byte `begin`; None: there is none."""
    if packet[begin] >> 4 != 6:
        return None
    length = _short(packet, begin + 4)
    end = begin + 40 + length if length else len(packet)
    kind, place = packet[begin + 6], begin + 40
    for _ in range(MOST_EXTENSIONS):
        if kind == TCP:
            return packet[begin + 8 : begin + 24], packet[begin + 24 : begin + 40], place, end
        if kind not in EXTENSIONS:
            return None
        kind, place = packet[place], place + 8 * (packet[place + 1] + 1)
    return None


def _tcp(packet: bytes, source: bytes, target: bytes, place: int, end: int) -> TcpHeader | None:
    """The header at a place; None: it is not complete."""
    if len(packet) < place + FIXED.size:
        return None
    _, _, seq, ack, offset, flags = FIXED.unpack_from(packet, place)
    options, data = place + 20, place + (offset >> 4) * 4
    payload = end - data
    if payload < 0 or data < options:
        return None
    stamps, segment = None, None
    if packet[options : options + 4] == USUAL_OPTIONS and len(packet) >= options + 12 <= data:
        stamps = STAMPS.unpack_from(packet, options + 4)
    elif data > options:
        stamps, segment = _options(packet[options:data])
    tsval, tsecr = stamps or (None, 0)
    return TcpHeader(
        source + packet[place : place + 2],
        target + packet[place + 2 : place + 4],
        seq,
        ack,
        flags,
        payload,
        tsval,
        tsecr,
        segment,
    )


def _options(options: bytes) -> tuple[tuple[int, int] | None, int | None]:
    """Time stamps and maximum segment size among the options of a header."""
    stamps, segment, place = None, None, 0
    while place < len(options) and options[place] != 0:
        if options[place] == 1:
            place += 1
            continue
        length = options[place + 1]
        if options[place] == 8 and length == 10 and place + 10 <= len(options):
            stamps = STAMPS.unpack_from(options, place + 2)
        elif options[place] == 2 and length == 4:
            segment = _short(options, place + 2)
        place += max(length, 2)
    return stamps, segment
