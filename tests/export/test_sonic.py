"""WRED profiles for SONiC: fields, units and ranges of sonic-wred-profile.yang."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import vegasfluid as vf
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model
from vegasfluid.model import Model

NAME_OF_PROFILE = re.compile(r"[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})")
"""Pattern of names in sonic-wred-profile.yang."""


def exported(aqm: QueueDiscipline, name: str = "core", packet_bytes: int = 1500) -> Exported:
    flows = {"fast": vf.Flows(2, vf.Dctcp(), base_rtt=1e-4)}
    link = vf.Link(1e10 / 8 / packet_bytes, 400, aqm)
    network = vf.Network({name: link}, flows, packet_bytes=packet_bytes)
    return export_model(Model(network, duration=2, title=name, source=name), "sonic")


def tables(*arguments: Any, **options: Any) -> dict[str, Any]:
    return json.loads(exported(*arguments, **options).files["wred.json"])


@pytest.mark.parametrize(
    ("threshold", "packet_bytes", "size"),
    [(65, 1500, "98250"), (65.5, 1500, "98250"), (0, 1500, "750"), (20, 9000, "184500")],
)
def test_step_marking_has_both_thresholds_between_two_queues(
    threshold: float, packet_bytes: int, size: str
) -> None:
    found = tables(vf.StepMarking(threshold), packet_bytes=packet_bytes)
    assert found == {
        "WRED_PROFILE": {
            "queue-1": {
                "wred_green_enable": "true",
                "ecn": "ecn_green",
                "green_min_threshold": size,
                "green_max_threshold": size,
                "green_drop_probability": "100",
            }
        },
        "QUEUE": {"PORT_1|QUEUE_1": {"wred_profile": "queue-1"}},
    }
    assert int(threshold) * packet_bytes < int(size) < (int(threshold) + 1) * packet_bytes


@pytest.mark.parametrize(("ecn", "mode"), [(True, "ecn_green"), (False, "ecn_none")])
def test_red_has_bytes_and_whole_per_cent(ecn: bool, mode: str) -> None:
    done = exported(vf.Red(20, 80, max_drop=0.052, ecn=ecn))
    assert json.loads(done.files["wred.json"])["WRED_PROFILE"]["queue-1"] == {
        "wred_green_enable": "true",
        "ecn": mode,
        "green_min_threshold": "30000",
        "green_max_threshold": "120000",
        "green_drop_probability": "5",
    }
    text = " ".join(done.files["notes.txt"].replace("\n# ", " ").split())
    assert "weight: 0.002 in the model, 1 in SONiC." in text
    assert "probability: 0.052 in the model, 0.05 in SONiC (whole per cent)." in text
    assert "CONFIG_DB has no field for it" in " ".join(done.notes)


def test_notes_name_port_threshold_and_what_is_not_set() -> None:
    done = exported(vf.StepMarking(65))
    text = " ".join(done.files["notes.txt"].replace("\n# ", " ").split())
    assert "queue-1: the port that sends into core, at 10000 Mbit/s." in text
    assert "threshold: above 65 packets in the model, 98250 bytes in SONiC" in text
    assert any("BUFFER_POOL" in note for note in done.notes)
    assert not any("average" in note for note in done.notes)


def test_each_link_has_a_profile_with_a_valid_name() -> None:
    links = {name: vf.Link(1e5, 50, vf.StepMarking(20)) for name in ("a b", "\u202e\n")}
    flows = {"fast": vf.Flows(1, vf.Dctcp(), base_rtt=vf.ms(1), path=tuple(links))}
    done = export_model(Model(vf.Network(links, flows), duration=2), "sonic")
    found = json.loads(done.files["wred.json"])
    assert list(found["WRED_PROFILE"]) == ["queue-1", "queue-2"]
    assert all(NAME_OF_PROFILE.fullmatch(name) for name in found["WRED_PROFILE"])
    assert list(found["QUEUE"]) == ["PORT_1|QUEUE_1", "PORT_2|QUEUE_2"]


@pytest.mark.parametrize(
    ("aqm", "message"),
    [
        (vf.Red(20, 80, gentle=True), "aqm.gentle must be False for sonic, but is True."),
        (vf.Red(20, 80, adaptive=True), "aqm.adaptive must be False for sonic, but is True."),
        (
            vf.Red(20, 80, ecn=True, hard_drop=True),
            "aqm.hard_drop must be False for sonic, but is True.",
        ),
        (vf.Red(20, 80, max_drop=0.004), "aqm.max_drop must be above 0.005 for sonic, but is"),
        (vf.Red(20, 80, max_drop=0.005), "aqm.max_drop must be above 0.005 for sonic, but is"),
        (vf.Red(20, 2e6), "aqm.max_thresh must be at most 2147483647 bytes for sonic, but is"),
        (vf.StepMarking(2e6), "aqm.threshold must be at most 2147483647 bytes for sonic, but is"),
        (vf.CoDel(), "aqm must be red or step for sonic, but is 'codel'."),
        (vf.DropTail(), "aqm must be red or step for sonic, but is 'droptail'."),
    ],
)
def test_what_sonic_does_not_have_is_rejected(aqm: QueueDiscipline, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        exported(aqm)
    assert str(caught.value).startswith(f"links.core: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ['"}, "x": {"', "a\nconfig reload", "a\\", "\u202e", "\x1b[2J"])
def test_names_stand_in_comments_only(name: str) -> None:
    done = exported(vf.StepMarking(20), name=name)
    assert list(json.loads(done.files["wred.json"])) == ["WRED_PROFILE", "QUEUE"]
    assert "x" not in json.loads(done.files["wred.json"])
    lines = done.files["notes.txt"].splitlines()
    assert all(line == "" or line.startswith("#") for line in lines)
    assert all(character.isprintable() for line in lines for character in line)
