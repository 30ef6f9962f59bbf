"""PIE in files for Linux, FreeBSD and ns-3: options by tc-pie(8), ipfw(8) and ns-3's sources."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model
from vegasfluid.model import Model


def exported(name: str, aqm: vf.Pie) -> Exported:
    flows = {"reno": vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=vf.ms(20))}
    link = vf.Link(vf.mbps(10), 100, aqm, delay=0.0047)
    return export_model(Model(vf.Network(link, flows), duration=20), name)


@pytest.mark.parametrize("name", ["linux", "netns"])
def test_tc_gets_sixteenths_and_the_rest_is_noted(name: str) -> None:
    """0.3 is 4.8/16, and 3 above the largest value, 2."""
    law = vf.Pie(target=0.03, t_update=0.016, alpha=0.3, beta=3.0, ecn=True)
    given = exported(name, law)
    text = "\n".join(given.files.values())
    assert "pie limit 100 target 30000us tupdate 16000us alpha 5 beta 32 ecn\n" in text
    assert [note.split()[0] for note in given.notes if "PIE" in note] == ["Linux's"]
    if name == "linux":
        assert "# alpha: 0.3 per s in the model, 0.3125 in tc (multiples of 1/16)." in text
        assert "# beta: 3 per s in the model, 2 in tc (multiples of 1/16)." in text


def test_what_linux_has_no_option_for_is_noted() -> None:
    notes = exported("linux", vf.Pie(max_burst=0.05, mark_threshold=0.2, ecn=True)).notes
    assert "Linux's PIE allows bursts of 150 ms, the model's of 50 ms." in notes
    assert "Linux's PIE marks up to a probability of 0.1, the model's up to 0.2." in notes


def test_ipfw_gets_every_number() -> None:
    law = vf.Pie(target=0.03, alpha=0.3, max_burst=0.05, mark_threshold=0.2, ecn=True)
    text = exported("freebsd", law).files["tune.sh"]
    assert (
        "queue 100 pie target 30000us tupdate 15000us alpha 0.3 beta 1.25 max_burst 50000us "
        "max_ecnth 0.2 ecn capdrop drand ts\n"
    ) in text


def test_ns3_gets_every_number() -> None:
    law = vf.Pie(target=0.03, alpha=0.3, max_burst=0.05, mark_threshold=0.2, ecn=True)
    text = exported("ns3", law).files["attributes.txt"]
    expected = ("MaxSize 99p", "QueueDelayReference 30000000ns", "Tupdate 15000000ns", "A 0.3")
    expected += ("B 1.25", "MaxBurstAllowance 50000000ns", "UseEcn true", "MarkEcnThreshold 0.2")
    for attribute in (*expected, "UseDerandomization true", "UseCapDropAdjustment true"):
        assert f"ns3::PieQueueDisc::{attribute}\n" in text


def test_ns2_has_no_pie() -> None:
    allowed = "aqm must be droptail, pi, red or step for ns-2"
    with pytest.raises(InvalidInput, match=f"{allowed}, but is 'pie'"):
        exported("ns2", vf.Pie())
