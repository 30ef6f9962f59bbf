"""A hand-worked trace: one Reno flow in slow start over a link that is empty at first.

The access links send a packet in 1 ms, the link in 2 ms. On the way to the queue lies 1 ms, from
the link to the receiver's access link 5 + 1 ms; an ACK has a tenth of a packet's bytes and needs
7 ms of propagation and 0.1 (1 + 2 + 1) ms of sending. So a packet reaches the queue 2 ms after
the sender starts to send it, and its ACK is back 6 + 1 + 7.4 = 14.4 ms after it left the link.

Packet 0 stands for the handshake: its ACK opens no window. Every later ACK opens it by one packet
and so releases two. All times in ms:

    packets   ACK of ...  comes at    reach the queue    leave the link
    0         (start)      0           2                  4
    1         0           18.4        20.4               22.4
    2, 3      1           36.8        38.8, 39.8         40.8, 42.8
    4, 5      2           55.2        57.2, 58.2         59.2, 61.2
    6, 7      3           57.2        59.2, 60.2         63.2, 65.2
    8, 9      4           73.6        75.6, 76.6         77.6, 79.6
    10, 11    5           75.6        77.6, 78.6         81.6, 83.6
    12, 13    6           77.6        79.6, 80.6         85.6, 87.6
    14, 15    7           79.6        81.6, 82.6         89.6, 91.6
"""

from __future__ import annotations

import numpy as np

from tests.packet.end_state import execute
from vegasfluid.congestion.reno import Reno
from vegasfluid.network import Flows, Link, Network
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit import compiled

NETWORK = Network(
    Link(500.0, 100, delay=0.005),
    {"reno": Flows(1, Reno(), access=1000.0, access_delay=0.001)},
    packet_bytes=1000,
    ack_bytes=100,
)
ARRIVALS = [
    *(2, 20.4, 38.8, 39.8, 57.2, 58.2, 59.2, 60.2),
    *(75.6, 76.6, 77.6, 78.6, 79.6, 80.6, 81.6, 82.6),
]
DEPARTURES = [
    *(4, 22.4, 40.8, 42.8, 59.2, 61.2, 63.2, 65.2),
    *(77.6, 79.6, 81.6, 83.6, 85.6, 87.6, 89.6, 91.6),
]
ACKS = [18.4, 36.8, 55.2, 57.2, 73.6, 75.6, 77.6, 79.6]
"""Of packets 0 to 7, ms."""
ONE_PS = 1e-12


def around(times: list[float]) -> np.ndarray:
    """One picosecond before each time, and the time itself, s."""
    seconds = np.array(times) * 1e-3
    return np.unique(np.round(np.concatenate([seconds - ONE_PS, seconds]), 12))


def run(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    begin = initial_state(NETWORK, 1)
    sim = execute(NETWORK, begin, times, compiled(begin.rules))
    return sim.flow_samples, sim.link_samples[:, 0]


def test_packets_reach_the_queue_and_wait_as_worked_by_hand() -> None:
    _, link = run(around(ARRIVALS))
    numbers = np.arange(len(ARRIVALS))
    np.testing.assert_array_equal(link["admitted"][0::2], numbers)
    np.testing.assert_array_equal(link["admitted"][1::2], numbers + 1)
    waits = np.array(DEPARTURES) - 2 - ARRIVALS
    assert max(waits) == 7.0
    np.testing.assert_allclose(link["waited"][1::2], np.cumsum(waits) * 1e9, atol=1)
    begins = np.array(DEPARTURES) - 2  # in transmission for 2 ms
    waiting = [int(np.sum(begins[: n + 1] > now)) for n, now in enumerate(ARRIVALS)]
    np.testing.assert_array_equal(link["queue"][1::2], waiting)
    assert max(waiting) == 4


def test_packets_are_delivered_as_worked_by_hand() -> None:
    """They leave the receiver's access link 7 ms after the link, where they come 2 ms apart."""
    flows, _ = run(around([time + 7 for time in DEPARTURES]))
    np.testing.assert_array_equal(flows["delivered"][0::2, 0], np.arange(len(DEPARTURES)))
    np.testing.assert_array_equal(flows["delivered"][1::2, 0], np.arange(len(DEPARTURES)) + 1)


def test_acks_open_the_window_as_calculated_by_hand() -> None:
    flows, _ = run(around(ACKS))
    before, after = flows[0::2, 0], flows[1::2, 0]
    windows = [1, 2, 3, 4, 5, 6, 7, 8]
    np.testing.assert_array_equal(after["cwnd"], windows)
    np.testing.assert_array_equal(before["cwnd"], [1, *windows[:-1]])
    assert not after["dropped"].any()
    # One packet at a time is timed: 0, 1, 2, then 4 (from 55.2 to 73.6). None of them waited.
    np.testing.assert_array_equal(after["rtt"], 18.4e9)
    assert NETWORK.base_rtts("reno") == (0.0184,)
