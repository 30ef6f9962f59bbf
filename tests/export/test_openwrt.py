"""Queues in UCI for OpenWrt's SQM: options by the sources of sqm-scripts, read back by words."""

from __future__ import annotations

import shlex

import pytest

import vegasfluid as vf
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model, needs_points
from vegasfluid.model import Model

ADVANCED = {"qdisc_advanced": "1", "qdisc_really_really_advanced": "1"}
"""SQM's page in LuCI keeps limits and targets only with these."""
LIMITS = {"ilimit": "100", "elimit": "100"}
COMMON = {
    "enabled": "1",
    "interface": "DEVICE_1",
    "upload": "10000",
    "download": "0",
    "script": "simplest.qos",
    "linklayer": "none",
    **ADVANCED,
    **LIMITS,
}


def model(aqm: QueueDiscipline, rate: float = 10.0, name: str = "reno", two_way: bool = False):
    flows = {name: vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=vf.ms(20))}
    if two_way:
        flows["back"] = vf.Flows(1, vf.Reno(), base_rtt=vf.ms(20), direction="reverse")
    link = vf.Link(vf.mbps(rate), 100, aqm, delay=0.0047)
    return Model(vf.Network({name: link}, flows), duration=20, title=name, source=name)


def exported(*arguments, **options) -> Exported:
    return export_model(model(*arguments, **options), "openwrt")


def sections(text: str) -> dict[str, dict[str, str]]:
    """Options of each section of type `queue`, by its name; UCI quotes words as shells do."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        match shlex.split(line, comments=True):
            case ["config", "queue", name]:
                options = found[name] = {}
            case ["option", key, value]:
                options[key] = value
            case words:
                assert words == []
    return found


BOTH = {
    "codel": (
        vf.CoDel(target=0.012, interval=0.2, ecn=True),
        ("ECN", "12000us", "interval 200000us"),
    ),
    "pie": (vf.Pie(target=0.02), ("NOECN", "20000us", "tupdate 15000us alpha 2 beta 20")),
}


@pytest.mark.parametrize("name", list(BOTH))
def test_every_number_is_exported_in_both_directions(name: str) -> None:
    law, (ecn, target, options) = BOTH[name]
    (queue,) = sections(exported(law).files["sqm.uci"]).values()
    assert queue == COMMON | {
        "qdisc": name,
        "ingress_ecn": ecn,
        "egress_ecn": ecn,
        "itarget": target,
        "etarget": target,
        "iqdisc_opts": options,
        "eqdisc_opts": options,
    }


def test_droptail_is_a_pfifo() -> None:
    (queue,) = sections(exported(vf.DropTail()).files["sqm.uci"]).values()
    assert queue == COMMON | {"qdisc": "pfifo"}


def test_the_other_direction_is_shaped_where_data_are_sent_in_it() -> None:
    (queue,) = sections(exported(vf.CoDel(), two_way=True).files["sqm.uci"]).values()
    assert (queue["upload"], queue["download"]) == ("10000", "10000")


def test_each_link_has_a_section() -> None:
    links = {name: vf.Link(vf.mbps(rate), 50, vf.CoDel()) for name, rate in (("a", 10), ("b", 20))}
    flows = {"reno": vf.Flows(1, vf.Reno(), base_rtt=vf.ms(20), path=("a", "b"))}
    text = export_model(Model(vf.Network(links, flows), duration=9), "openwrt").files["sqm.uci"]
    found = sections(text)
    assert {name: queue["interface"] for name, queue in found.items()} == {
        "queue_1": "DEVICE_1",
        "queue_2": "DEVICE_2",
    }
    assert [queue["upload"] for queue in found.values()] == ["10000", "20000"]


def test_rounding_is_shown() -> None:
    text = exported(vf.Pie(alpha=0.15), rate=10.0004).files["sqm.uci"]
    assert "# rate: 10000.4 kbit/s in the model, 10000 kbit/s in SQM (whole kbit/s).\n" in text
    assert "# alpha: 0.15 per s in the model, 0.125 in tc (multiples of 1/16).\n" in text
    assert "# rate:" not in exported(vf.CoDel()).files["sqm.uci"]


def test_differences_are_noted() -> None:
    notes = " ".join(exported(vf.CoDel()).notes)
    assert "takes space until then" in notes
    assert "bursts of up to 1 ms" in notes
    assert "settings of hosts: --format linux" in notes


ALLOWED = "aqm must be codel, droptail, fq_codel or pie for openwrt"


@pytest.mark.parametrize(
    ("aqm", "rate", "message"),
    [
        (
            vf.Red(20, 80),
            10.0,
            f"{ALLOWED}, but is 'red'.",
        ),
        (vf.Pi2(), 10.0, f"{ALLOWED}, but is 'pi2'."),
        (
            vf.StepMarking(20),
            10.0,
            f"{ALLOWED}, but is 'step'.",
        ),
        (vf.CoDel(), 0.0004, "capacity must be at least 1 kbit/s for openwrt, but is 0.0333"),
    ],
)
def test_what_sqm_does_not_have_is_rejected(
    aqm: QueueDiscipline, rate: float, message: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        exported(aqm, rate=rate)
    assert str(caught.value).startswith(f"links.reno: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["a'\nconfig queue 'x'", "'", '"', "a\\", "x\n\toption enabled '0'", "`id`", "\x1b[2J#"]
)
def test_nothing_in_a_name_is_an_option(name: str) -> None:
    text = exported(vf.CoDel(), name=name).files["sqm.uci"]
    (queue,) = sections(text).values()
    assert queue["enabled"] == "1"
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    assert len(lines) == 1 + len(queue)
    assert text.isascii()
    assert not any(line.endswith("\\") for line in text.splitlines())


def test_no_operating_points_are_needed() -> None:
    """Hosts are not exported, so that Vegas is not translated."""
    other = model(vf.CoDel())
    network = other.network.with_law("reno", vf.Vegas(2, 4, dialect="ns2"))
    assert needs_points(Model(network, duration=9), "openwrt") == []
    assert export_model(Model(network, duration=9), "openwrt").vegas == {}
