"""Send the flows of a test through network namespaces, and print their mean goodput.

Written by vegasfluid: python3 traffic.py PLAN PREFIX SEED, as root, where PLAN is a JSON file, and
PREFIX is the start of the names of the namespaces, which exist already. It needs nothing but the
standard library of Python 3.

One process has all sockets: a socket stays in the namespace in which it was made. The receivers
count bytes; the queues of the links are read from the kernel (rtnetlink).
"""

import contextlib
import ctypes
import heapq
import json
import os
import random
import selectors
import socket
import struct
import sys
import time

__all__ = ["Flow", "LinkQueue", "main", "run"]

NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of linux/sched.h."""
NOT_SENT_LOWAT = 25
"""TCP_NOTSENT_LOWAT of linux/tcp.h."""
UNSENT = 1 << 18
"""Bytes that wait in a sender's socket, at most (chosen)."""
CHUNK = bytes(1 << 18)
"""What the senders send."""
SPACE = bytearray(1 << 18)
"""Where the receivers put what they read (with MSG_TRUNC nothing is copied)."""
LEAD = 1.0
"""Time for connecting everything before the test begins, s (chosen)."""
LONGEST_ANSWER = 5.0
"""Time in which the kernel must answer, s (chosen)."""
GET_QDISC, REQUEST, ERROR = 38, 1 | 8, 2
"""RTM_GETQDISC, NLM_F_REQUEST with NLM_F_ECHO (without it nothing is answered), NLMSG_ERROR."""
STATS, BASIC, QUEUE = 7, 1, 3
"""TCA_STATS2, TCA_STATS_BASIC and TCA_STATS_QUEUE."""
PARENT = 0x10001
"""Parent of a link's queue discipline: class 1:1 of the token bucket."""


def enter(namespace):
    """Make this process use a network namespace: sockets made from now on belong to it."""
    handle = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(handle, NEW_NETWORK):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), namespace)
    os.close(handle)


class LinkQueue:
    """The queue discipline of a link, which is read from the kernel."""

    def __init__(self, link, prefix):
        enter(prefix + link["namespace"])
        self.name, self.index = link["name"], socket.if_nametoindex(link["device"])
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.settimeout(LONGEST_ANSWER)
        self.waiting, self.samples, self.before = 0, 0, (0, 0)

    def read(self):
        """Numbers of packets that wait now, and that were sent and dropped since the start."""
        message = struct.pack("=BxxxiIII", socket.AF_UNSPEC, self.index, 0, PARENT, 0)
        header = struct.pack("=IHHII", 16 + len(message), GET_QDISC, REQUEST, 1, 0)
        self.socket.send(header + message)
        answer = self.socket.recv(1 << 16)
        if struct.unpack_from("=H", answer, 4)[0] == ERROR:
            raise OSError(-struct.unpack_from("=i", answer, 16)[0], "no queue", self.name)
        statistics = attributes(attributes(answer[36:])[STATS])
        (sent,) = struct.unpack_from("=I", statistics[BASIC], 8)
        length, _, drops = struct.unpack_from("=III", statistics[QUEUE])
        return length, sent, drops

    def sample(self):
        """Add the number of packets that wait now to the sum for the mean queue."""
        self.waiting += self.read()[0]
        self.samples += 1

    def begin(self):
        """Store the numbers of packets sent and dropped at the end of the warm-up."""
        self.before = self.read()[1:]

    def line(self):
        """Mean queue and fraction of packets dropped after the warm-up, as text."""
        _, sent, dropped = self.read()
        sent, dropped = (sent - self.before[0]) % 2**32, (dropped - self.before[1]) % 2**32
        queue, share = self.waiting / max(self.samples, 1), dropped / max(sent + dropped, 1)
        return f"link {self.name} queue_packets {queue:.6g} drop_share {share:.6g}"


def attributes(data):
    """Attributes of a netlink message, by number."""
    found, place = {}, 0
    while place + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, place)
        if length < 4:
            break
        found[kind] = data[place + 4 : place + length]
        place += (length + 3) & ~3
    return found


class Flow:
    """One connection: a sender without end, and a receiver that counts."""

    def __init__(self, plan, prefix, selector):
        self.plan, self.prefix, self.selector = plan, prefix, selector
        self.received, self.before = 0, 0
        enter(prefix + plan["to"])
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if plan["control"] == "dctcp":  # its receivers echo marks in another way
            self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dctcp")
        if plan["window_bytes"]:
            window = plan["window_bytes"]
            self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, window)
        self.listener.bind((plan["address"], plan["port"]))
        self.listener.listen(1)
        selector.register(self.listener, selectors.EVENT_READ, self.accept)

    def accept(self):
        """Accept the connection at the receiver, and read from it from now on."""
        self.selector.unregister(self.listener)
        self.receiver, _ = self.listener.accept()
        self.receiver.setblocking(False)
        self.selector.register(self.receiver, selectors.EVENT_READ, self.receive)

    def start(self):
        """Connect the sender."""
        enter(self.prefix + self.plan["from"])
        self.sender = socket.socket()
        control = self.plan["control"].encode()
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        self.sender.setsockopt(socket.IPPROTO_TCP, NOT_SENT_LOWAT, UNSENT)
        self.sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.sender.connect((self.plan["address"], self.plan["port"]))
        self.selector.register(self.sender, selectors.EVENT_WRITE, self.send)

    def send(self):
        """Write to the sender's socket until its buffer is full."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.sender.send(CHUNK)

    def receive(self):
        """Read what has arrived at the receiver, and count its bytes."""
        with contextlib.suppress(BlockingIOError):
            self.received += self.receiver.recv_into(SPACE, 0, socket.MSG_TRUNC)

    def begin(self):
        """Store the number of bytes received at the end of the warm-up."""
        self.before = self.received


def start_time(start, rng):
    """Start time of a flow, s: given, or random up to the spread of its class."""
    return rng.uniform(0.0, start["spread"]) if isinstance(start, dict) else start


def run(plan, prefix, seed):
    """Run the test; returns flows and queues with what they have counted."""
    selector = selectors.DefaultSelector()
    queues = [LinkQueue(link, prefix) for link in plan["links"]]
    flows = [Flow(flow, prefix, selector) for flow in plan["flows"]]
    agenda = []
    rng = random.Random(seed)
    for flow in flows:
        agenda.append((start_time(flow.plan["start"], rng), len(agenda), flow.start))
    for part in flows + queues:
        agenda.append((plan["warmup"], len(agenda), part.begin))
    steps = plan["queue_samples"]
    for step in range(steps):
        at = plan["warmup"] + (plan["duration"] - plan["warmup"]) * (step + 0.5) / steps
        agenda += [(at, len(agenda) + i, queue.sample) for i, queue in enumerate(queues)]
    heapq.heapify(agenda)
    origin = time.monotonic() + LEAD
    while True:
        now = time.monotonic() - origin
        while agenda and agenda[0][0] <= now:
            heapq.heappop(agenda)[2]()
        if now >= plan["duration"]:
            return flows, queues
        following = min(agenda[0][0], plan["duration"]) if agenda else plan["duration"]
        for key, _ in selector.select(max(following - now, 0.0)):
            key.data()


def main(path, prefix, seed):
    """Run the test of a plan, and print a line for each class and each link."""
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    flows, queues = run(plan, prefix, int(seed))
    seconds = plan["duration"] - plan["warmup"]
    for number, (name, count) in enumerate(plan["classes"]):
        received = sum(
            flow.received - flow.before for flow in flows if flow.plan["class"] == number
        )
        rate = received / plan["segment_bytes"] / count / seconds
        print(f"class {name} count {count} goodput_packets_per_s {rate:.6g}")
    for queue in queues:
        print(queue.line())


if __name__ == "__main__":
    main(*sys.argv[1:4])
