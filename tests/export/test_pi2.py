"""PI2 in files for Linux: options by tc-dualpi2(8); other systems have none."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model
from vegasfluid.model import Model


def exported(name: str, aqm: vf.Pi2, ecn: bool = False) -> Exported:
    flows = {"reno": vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=vf.ms(20), ecn=ecn)}
    link = vf.Link(vf.mbps(10), 100, aqm, delay=0.0047)
    return export_model(Model(vf.Network(link, flows), duration=20), name)


def test_tc_gets_every_number_and_rounding_is_shown() -> None:
    """Linux's own defaults are 41 and 819 of 256 parts."""
    given = exported("linux", vf.Pi2(target=0.03, t_update=0.02))
    text = "\n".join(given.files.values())
    words = "dualpi2 limit 100 target 30000us tupdate 20000us alpha 0.160156 beta 3.19922\n"
    assert words in text
    assert (41 / 256, 819 / 256) == (0.16015625, 3.19921875)
    assert "# alpha: 0.16 per s in the model, 0.160156 in tc (multiples of 1/256)." in text


def test_differences_from_linux_are_noted() -> None:
    notes = " ".join(exported("linux", vf.Pi2()).notes)
    assert "dualpi2 needs Linux 6.17 or later" in notes
    assert "set ecn = true" in notes
    notes = " ".join(exported("linux", vf.Pi2(ecn=True, mark_threshold=0.5), ecn=True).notes)
    assert "marks up to a probability of 0.25, the model's PI2 up to 0.5" in notes
    assert "set ecn = true" not in notes


@pytest.mark.parametrize("name", ["freebsd", "ns2", "ns3", "netns"])
def test_other_systems_have_no_pi2(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"aqm must be .* for .*, but is 'pi2'"):
        exported(name, vf.Pi2())
