"""Nobody but a sweep's own processes can talk to its cluster."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator

import pytest
from distributed import Client
from distributed.comm.core import CommClosedError

from benchmarks.hardening.ports import listening
from vegasfluid.memory import allowed_memory
from vegasfluid.sweep.packet_tasks import connect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """The client of a cluster of this machine."""
    with connect(workers=1, scheduler=None) as client:
        yield client


def test_its_processes_have_their_part_of_the_memory(cluster: Client):
    assert set(cluster.run(allowed_memory).values()) == {allowed_memory()}


def test_it_listens_on_the_loopback_interface_only(cluster: Client):
    assert cluster.submit(lambda number: number + 1, 1).result() == 2
    addresses = listening(os.getpid())
    assert len(addresses) > 2
    assert {address for address, _ in addresses} == {"127.0.0.1"}


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_other_users_cannot_connect(cluster: Client, protocol: str):
    """Another user knows the address, but has not the certificate."""
    _, place = cluster.scheduler.address.split("://")
    with pytest.raises((CommClosedError, TypeError, OSError)):
        Client(f"{protocol}://{place}", timeout=5, set_as_default=False)


def test_its_http_servers_answer_nothing(cluster: Client):
    pages = ("/", "/status", "/health", "/info/main/workers.html", "/json/identity.json")
    open_ports = []
    for address, port in listening(os.getpid()):
        for page in pages:
            try:
                with urllib.request.urlopen(f"http://{address}:{port}{page}", timeout=5) as answer:
                    open_ports.append((port, page, answer.read(80)))
            except OSError:  # of which urllib's errors are subclasses
                continue
    assert open_ports == []
