"""Rings of packets: what is not used takes no memory, and results do not depend on their pages."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from vegasfluid.congestion.reno import Reno
from vegasfluid.network import Flows, Link, Network
from vegasfluid.packet import ring_memory, simulate_packets

SLOT = np.dtype([("time", np.int64), ("header", np.int64)])
PAGE = 4096


def resident() -> int:
    """Memory that this process holds now, bytes."""
    return PAGE * int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_slots_that_no_packet_reaches_take_no_memory() -> None:
    """1 GiB of rings, of which each holds one packet: a page of 4 KiB for each."""
    rings, slots = 2**10, 2**16
    before = resident()
    array = ring_memory.zeros((rings, slots), SLOT)
    assert not array[:, -1]["time"].any()
    array[:, 0]["time"] = 1
    taken = resident() - before
    assert taken < 4 * PAGE * rings
    assert PAGE * rings <= ring_memory.used_bytes((rings, slots), SLOT.itemsize, 1.0) < 2 * taken


def test_memory_of_rings_by_hand() -> None:
    """Ten packets of 16 bytes at each of three hops, and a page for each ring; or all of it."""
    large = (2, 3, 2**24)
    assert ring_memory.used_bytes(large, 16, 10.0) == 16 * 3 * 10 + ring_memory.mmap.PAGESIZE * 6
    assert ring_memory.used_bytes(large, 16, 1e30) == 16 * 6 * 2**24
    assert ring_memory.used_bytes((2, 3, 256), 16, 10.0) == 16 * 6 * 256


def test_runs_are_the_same_in_pages_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(Link(1000.0, 1500), {"reno": Flows(5, Reno(), base_rtt=0.1)})
    usual = simulate_packets(network, until=10)
    monkeypatch.setattr(ring_memory, "LARGE", 0)
    assert simulate_packets(network, until=10).identical(usual)
