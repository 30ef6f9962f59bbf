"""Small inputs of each format, in the form in which the programs write them."""

import json
import struct

SS = """\
1700000000.000000000
State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
LISTEN 0      128          0.0.0.0:22          0.0.0.0:*
\t cubic cwnd:10
ESTAB 0      144800       10.0.0.1:40000      10.0.0.2:5201  users:(("iperf3 -c",pid=7,fd=5))
\t ts sack vegas wscale:7,7 rto:244 rtt:42.5/1.25 mss:1448 pmtu:1500 rcvmss:536 advmss:1448\
 cwnd:50 ssthresh:40 bytes_sent:200000 bytes_retrans:2896 bytes_acked:144801 segs_out:140\
 data_segs_out:138 send 13.6Mbps lastrcv:900 pacing_rate 16.3Mbps delivery_rate 12.1Mbps\
 delivered:101 busy:900ms unacked:38 retrans:1/2 lost:1 sacked:3 rcv_space:14480 minrtt:40.125
ESTAB 0 0 [::ffff:10.0.0.1]%eth0:5202 [::ffff:10.0.0.3]:40001 timer:(keepalive,30sec,0) uid:1 ino:9
\t sack cubic wscale:7,7 rto:204 rtt:3.1/1.5 mss:1448 cwnd:10 bytes_acked:38\
 bytes_received:500000 segs_in:400 minrtt:3
1700000000.500000000
State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
ESTAB 0      144800       10.0.0.1:40000      10.0.0.2:5201  users:(("iperf3 -c",pid=7,fd=5))
\t ts sack vegas wscale:7,7 rto:244 rtt:44/1.25 mss:1448 cwnd:51 ssthresh:40 bytes_sent:500000\
 bytes_retrans:2896 bytes_acked:434400 unacked:42 retrans:0/2 minrtt:40.125
ESTAB 0 0 [::ffff:10.0.0.1]%eth0:5202 [::ffff:10.0.0.3]:40001
\t sack cubic wscale:7,7 rto:204 rtt:3.1/1.5 mss:1448 cwnd:10 bytes_acked:38\
 bytes_received:900000 segs_in:700 minrtt:3
"""
"""A loop of `ss -tinp` with time stamps: a sender of Vegas and a receiver."""

STREAMS = [
    [(5, 0, 1.0, 1_000_000, 3, 144_800, 42_000), (7, 0, 1.0, 500_000, 0, 72_400, 41_000)],
    [(5, 1.0, 2.0, 1_250_000, 1, 147_696, 43_000), (7, 1.0, 2.0, 750_000, 2, 73_848, 42_500)],
]
"""Socket, start and end (s), bytes, retransmissions, window (bytes), RTT (us), by interval."""
KEYS = ("socket", "start", "end", "bytes", "retransmits", "snd_cwnd", "rtt")
START = {
    "connected": [
        {
            "socket": socket,
            "local_host": "10.0.0.1",
            "local_port": port,
            "remote_host": "10.0.0.2",
            "remote_port": 5201,
        }
        for socket, port in ((5, 40_000), (7, 40_002))
    ],
    "version": "iperf 3.9",
    "timestamp": {"time": "Tue, 14 Nov 2023 22:13:20 GMT", "timesecs": 1_700_000_000},
    "connecting_to": {"host": "10.0.0.2", "port": 5201},
    "tcp_mss_default": 1448,
    "test_start": {"protocol": "TCP", "num_streams": 2, "omit": 0, "reverse": 0},
}
INTERVALS = [
    {"streams": [dict(zip(KEYS, stream, strict=True)) for stream in streams], "sum": {}}
    for streams in STREAMS
]
END = {"sender_tcp_congestion": "cubic", "receiver_tcp_congestion": "reno"}
IPERF3 = json.dumps({"start": START, "intervals": INTERVALS, "end": END}, indent="\t")
"""Report of a client with two streams."""

RED = (
    '{"kind":"red","handle":"10:","dev":"eth0","parent":"1:1","options":{"limit":151400,"min":30280,'
    '"max":90840,"ecn":true,"adaptive":false,"harddrop":false,"ewma":5,"probability":0.1,'
    '"Scell_log":10},"bytes":BYTES,"packets":PACKETS,"drops":DROPS,"overlimits":25,"requeues":0,'
    '"backlog":4542,"qlen":3,"marked":7,"early":12,"pdrop":5,"other":0}'
)
CODEL = (
    '{"kind":"codel","handle":"8001:","dev":"eth1","root":true,"refcnt":2,"options":{"limit":1000,'
    '"target":4999,"interval":99999,"ecn":true},"bytes":500,"packets":4,"drops":6,"overlimits":0,'
    '"requeues":0,"backlog":0,"qlen":0,"count":2,"lastcount":1,"ldelay":1250,"drop_next":0,'
    '"maxpacket":1514,"ecn_mark":9,"drop_overlimit":1}'
)
NOQUEUE = '{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}}'


def red(sent: int, packets: int, drops: int) -> str:
    counters = {"BYTES": sent, "PACKETS": packets, "DROPS": drops}
    text = RED
    for name, value in counters.items():
        text = text.replace(name, str(value))
    return text


TC = (
    f"2023-11-14T22:13:20+00:00\n[{NOQUEUE},{red(1000, 10, 17)},{CODEL}]\n"
    f"2023-11-14T22:13:21,5+00:00\n[\n{NOQUEUE},\n{red(9000, 20, 19)},{{}}]\n"
)
"""A loop of `tc -s -j qdisc show` with time stamps."""

CSV = "time,cwnd,rtt_ms,bytes_acked,retrans\n0.0,10,40,0,0\n0.1,12,41.5,14480,1\n"
"""A trace."""

TCP_PROBE = """\
0.040100250 10.0.0.1:40000 10.0.0.2:5201 32 0x10000b50 0x10000000 10 2147483647 65160 40100 29312
0.080300500 10.0.0.1:40000 10.0.0.2:5201 32 0x100016a0 0x10000b50 12 2147483647 65160 40125 29312
0.120500750 10.0.0.1:40000 10.0.0.2:5201 32 0x100021f0 0x100016a0 14 14 65160 40250 29312
"""
"""Log of the module tcp_probe: a sender with two packets of 1448 B in flight."""

TCP_PROBE_EVENTS = """\
# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
          iperf3-3829    [003] ..s1.  1892.576997: tcp_probe: family=AF_INET src=10.0.1.1:58760\
 dest=10.0.0.1:5201 mark=0x0 data_len=0 snd_nxt=0x35a5a298 snd_una=0x35a4a298 snd_cwnd=10\
 ssthresh=2147483647 snd_wnd=65536 srtt=105 rcv_wnd=65536 sock_cookie=ab41
          <idle>-0       [003] ..s1.  1892.577000: tcp_retransmit_skb: family=AF_INET sport=58760\
 dport=5201 saddr=10.0.1.1 daddr=10.0.0.1
CPU:3 [LOST 12 EVENTS]
          <idle>-0       [003] ..s1.  1892.577097: tcp_probe: family=AF_INET src=10.0.1.1:58760\
 dest=10.0.0.1:5201 mark=0x0 data_len=0 snd_nxt=0x35a6a298 snd_una=0x35a5a298 snd_cwnd=11\
 ssthresh=2147483647 snd_wnd=65536 srtt=110 rcv_wnd=65536 sock_cookie=ab41
"""
"""Log of the trace event tcp_probe, with another event and lost ones."""

SENDER, RECEIVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PORTS = (40_000, 5201)
SYN, ACK = 2, 16


def tcp_packet(
    is_forward: bool, seq: int, ack: int, flags: int, size: int, stamps: tuple[int, int] | None
) -> bytes:
    """An Ethernet frame with a TCP packet, of which the first 96 bytes are kept."""
    ends = (SENDER, RECEIVER) if is_forward else (RECEIVER, SENDER)
    ports = PORTS if is_forward else PORTS[::-1]
    options = b"" if stamps is None else b"\x01\x01\x08\x0a" + struct.pack(">II", *stamps)
    if flags & SYN:
        options += b"\x02\x04" + struct.pack(">H", 1460)
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, 65_535, 0, 0) + options
    length = 20 + len(tcp) + size
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 1, 0, 64, 6, 0) + ends[0] + ends[1]
    return (bytes(12) + b"\x08\x00" + ip + tcp + bytes(size))[:96]


def pcap(packets: list[tuple[float, bytes]]) -> bytes:
    """A capture in the format of libpcap, with the times (s) and bytes of its packets."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)]
    for time, data in packets:
        micros = round(time * 1e6)
        header = struct.pack("<IIII", micros // 10**6, micros % 10**6, len(data), len(data) + 1404)
        parts.append(header + data)
    return b"".join(parts)


def pcapng(packets: list[tuple[float, bytes]]) -> bytes:
    """The same in the format pcapng."""
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    parts = [section, struct.pack("<IIHHII", 1, 20, 1, 0, 96, 20)]
    for time, data in packets:
        micros = round(time * 1e6)
        length = 32 + (len(data) + 3) // 4 * 4
        body = data.ljust(length - 32, b"\0")
        fixed = (6, length, 0, micros >> 32, micros & 0xFFFFFFFF, len(data), len(data) + 1404)
        parts.append(struct.pack("<IIIIIII", *fixed) + body + struct.pack("<I", length))
    return b"".join(parts)
