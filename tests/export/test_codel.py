"""CoDel in files for Linux, FreeBSD and ns-3: options by tc-codel(8), ipfw(8), ns-3's sources."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model
from vegasfluid.model import Model


def exported(name: str, aqm: vf.CoDel) -> Exported:
    flows = {"reno": vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=vf.ms(20))}
    link = vf.Link(vf.mbps(10), 100, aqm, delay=0.0047)
    return export_model(Model(vf.Network(link, flows), duration=20), name)


LAW = vf.CoDel(target=0.012, interval=0.2, ecn=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linux", "codel limit 100 target 12000us interval 200000us ecn\n"),
        ("netns", "codel limit 100 target 12000us interval 200000us ecn\n"),
        ("freebsd", "queue 100 codel target 12000us interval 200000us ecn\n"),
        ("ns3", "ns3::CoDelQueueDisc::Interval 200000000ns\n"),
        ("ns3", "ns3::CoDelQueueDisc::Target 12000000ns\n"),
        ("ns3", "ns3::CoDelQueueDisc::UseEcn true\n"),
    ],
)
def test_every_number_is_exported(name: str, words: str) -> None:
    assert words in "\n".join(exported(name, LAW).files.values())


@pytest.mark.parametrize("name", ["linux", "netns", "freebsd"])
def test_the_difference_is_noted(name: str) -> None:
    assert any("takes space until then" in note for note in exported(name, LAW).notes)


def test_ns2_has_no_codel() -> None:
    allowed = "aqm must be droptail, pi, red or step for ns-2"
    with pytest.raises(InvalidInput, match=f"{allowed}, but is 'codel'"):
        exported("ns2", LAW)
