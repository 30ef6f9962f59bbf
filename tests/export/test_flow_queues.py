"""fq and FQ-CoDel in files for other systems: options by the manual pages of tc and ipfw, ns-3."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model
from vegasfluid.model import Model

CODEL = vf.FqCoDel(target=0.012, interval=0.2, ecn=True, quantum=2)
FQ = vf.Fq(flow_limit=40, quantum=1, initial_quantum=4)


def exported(name: str, aqm: vf.FqCoDel | vf.Fq, buffer: int = 300) -> Exported:
    flows = {"reno": vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=vf.ms(20))}
    link = vf.Link(vf.mbps(10), buffer, aqm, delay=0.0047)
    return export_model(Model(vf.Network(link, flows), duration=20), name)


IN_TC = "fq_codel limit 300 flows 65535 target 12000us interval 200000us quantum 3028 ecn\n"
FQ_IN_TC = (
    "fq limit 300 flow_limit 40 quantum 1514 initial_quantum 6056 refill_delay 40ms nopacing\n"
)


@pytest.mark.parametrize(
    ("name", "aqm", "words"),
    [
        ("linux", CODEL, IN_TC),
        ("netns", CODEL, IN_TC),
        ("linux", FQ, FQ_IN_TC),
        ("netns", FQ, FQ_IN_TC),
        ("freebsd", CODEL, "type fq_codel target 12000us interval 200000us quantum 3000 limit 300"),
        ("freebsd", CODEL, "ipfw queue 1 config sched 1\n    ipfw add queue 1 ip from any to any"),
        ("openwrt", CODEL, "option qdisc 'fq_codel'\n"),
        ("openwrt", CODEL, "option eqdisc_opts 'interval 200000us flows 65535 quantum 3028'\n"),
        ("ns3", CODEL, "ns3::FqCoDelQueueDisc::Interval 200000000ns\n"),
        ("ns3", CODEL, "ns3::FqCoDelQueueDisc::Flows 65535\n"),
        ("ns3", CODEL, "ns3::FqCoDelQueueDisc::UseEcn true\n"),
    ],
)
def test_every_number_is_exported(name: str, aqm: vf.FqCoDel | vf.Fq, words: str) -> None:
    assert words in "\n".join(exported(name, aqm).files.values())


@pytest.mark.parametrize("name", ["linux", "netns", "freebsd", "openwrt"])
def test_the_hash_is_noted(name: str) -> None:
    assert any("two may share one" in note for note in exported(name, CODEL).notes)


@pytest.mark.parametrize(
    ("name", "aqm"),
    [("ns2", FQ), ("ns2", CODEL), ("ns3", FQ), ("freebsd", FQ), ("openwrt", FQ), ("sonic", CODEL)],
)
def test_other_systems_have_none(name: str, aqm: vf.FqCoDel | vf.Fq) -> None:
    with pytest.raises(InvalidInput, match=f"aqm must be .*but is '{aqm.name}'"):
        exported(name, aqm)


def test_dummynet_holds_so_many_packets() -> None:
    with pytest.raises(InvalidInput, match="buffer must be at most 20480 packets for fq_codel"):
        exported("freebsd", CODEL, buffer=30_000)
