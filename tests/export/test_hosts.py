"""Hosts of a model in ns-2 and ns-3: what they have, what replaces it, and what is rejected."""

from __future__ import annotations

from typing import Any

import pytest

import vegasfluid as vf
from tests.export.test_ns2 import needs_ns, run_ns2
from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint, export_model
from vegasfluid.export.document import Exported
from vegasfluid.model import Model

POINT = OperatingPoint(rtt_over_base=1.5, cwnd=20.0, drop_prob=1e-3)


def exported(system: str, reno: vf.Reno | None = None, **fields: Any) -> Exported:
    """A Reno and a Vegas class of Linux in another system."""
    fields = {"base_rtt": vf.ms(40), **fields}
    flows = {
        "reno": vf.Flows(2, reno or vf.Reno(), **fields),
        "vegas": vf.Flows(
            2, vf.Vegas(6, 8, dialect="linux"), base_rtt=vf.ms(40), host=fields.get("host")
        ),
    }
    model = Model(vf.Network(vf.Link(vf.mbps(10), 60), flows), duration=30, warmup=10)
    return export_model(model, system, points={"vegas": POINT})


def test_ns2_acknowledges_the_packets_that_linux_counts() -> None:
    """Its windows grow by ACKs: with one for each packet they grow as those of Linux."""
    found = exported("ns2")
    text = found.files["scenario.tcl"]
    assert "set sender(0) Agent/TCP/Sack1\n" in text
    assert "set receiver(0) Agent/TCPSink/Sack1\nset receiver_settings(0) {packetSize_ 52}" in text
    assert "windowInit_ 10 minrto_ 0.2" in text
    assert [note.split(" is ")[0].split(" by ")[0] for note in found.notes] == [
        *("In ns-2 each packet of reno", "ns-2 recovers from losses of reno"),
        *("In ns-2 each packet of vegas", "ns-2 recovers from losses of vegas"),
    ]


def test_what_the_model_gives_itself_ns2_must_have() -> None:
    text = exported("ns2", delayed_ack=vf.ms(100)).files["scenario.tcl"]
    assert "Agent/TCPSink/Sack1/DelAck\nset receiver_settings(0) {interval_ 0.1" in text
    with pytest.raises(InvalidInput, match="quick_acks must be 0 for ns-2, but is 16"):
        exported("ns2", delayed_ack=vf.ms(40), quick_acks=16)
    with pytest.raises(InvalidInput, match=r"law\.byte_counting must be False for ns-2"):
        exported("ns2", vf.Reno(byte_counting=True))


def test_ns2_does_not_validate_the_window() -> None:
    notes = exported("ns2", traffic=vf.Poisson(0.01)).notes
    assert any("the window of reno grows on every ACK" in note for note in notes)


def test_ns3_has_delayed_acks_and_timestamps_but_no_quick_acks() -> None:
    found = exported("ns3")
    attributes = found.files["attributes.txt"].splitlines()
    lines = dict(line.split(" ") for line in attributes if line.startswith("ns3::Tcp"))
    # 1500 bytes on the wire: 20 of IP, 20 of TCP, 12 of timestamps; times in ns.
    assert lines["ns3::TcpSocket::SegmentSize"] == "1448"
    assert lines["ns3::TcpSocketBase::Timestamp"] == "true"
    assert lines["ns3::TcpSocket::InitialCwnd"] == "10"
    assert lines["ns3::TcpSocket::DelAckCount"] == "2"
    assert lines["ns3::TcpSocket::DelAckTimeout"] == "40000000ns"
    # Linux has 0x7fffffff packets, ns-3 no more than 32 bits of bytes.
    assert lines["ns3::TcpSocket::InitialSlowStartThreshold"] == "4294967295"
    assert [note for note in found.notes if "ns-3 delays the ACKs of reno" in note]
    with pytest.raises(InvalidInput, match="quick_acks must be 0 for ns-3"):
        exported("ns3", quick_acks=16)


def test_ns3_may_have_no_timestamps() -> None:
    found = exported("ns3", host="ns2").files["attributes.txt"]
    assert "ns3::TcpSocketBase::Timestamp false\n" in found
    assert "ns3::TcpSocket::SegmentSize 1460\n" in found


@needs_ns
def test_ns2_runs_a_model_of_linux(tmp_path: Any) -> None:
    rates = run_ns2(exported("ns2").files["scenario.tcl"], tmp_path)
    assert sum(rates.values()) == pytest.approx(vf.mbps(10), rel=0.02)
