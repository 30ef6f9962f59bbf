"""Numbers on the page are those of the library, and invalid input is shown by its field."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import vegasfluid as vf
from tests.cli.commands import SMALL, TWO_LINKS, WITHOUT_VEGAS
from tests.explore.conftest import Client
from vegasfluid.explore.fluid_runs import meaning, path_numbers, path_of, rounded
from vegasfluid.metrics import summarise
from vegasfluid.modelfile import loads
from vegasfluid.modelfile.parameters import with_values

MODEL = loads(SMALL)
POINT = {"vegas.alpha_packets": 5, "vegas.beta_packets": 9}


def simulated(numbers: dict[str, float], tolerance: float | None) -> tuple[Any, vf.Network]:
    """The small network with other numbers, simulated by the library."""
    network = with_values(MODEL.network, numbers)
    run = vf.simulate_fluid(network, MODEL.duration, warmup=MODEL.warmup, tolerance=tolerance)
    return run, network


def check_equal(found: Any, run: Any, network: vf.Network) -> None:
    """The averages of an answer are those of `metrics`, whose formulas are applied to a Dataset."""
    assert found["ratio"] == pytest.approx(vf.metrics.goodput_ratio(run, "vegas"), rel=1e-12)
    expected = summarise(run, network)
    assert found["jain_index"] == pytest.approx(expected["jain_index"], rel=1e-12)
    for group in ("classes", "links"):
        assert found[group].keys() == expected[group].keys()
        for name, numbers in found[group].items():
            wanted = {key: expected[group][name][key] for key in numbers}
            assert numbers == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_a_move_has_the_numbers_of_simulate_fluid(client: Client, document):
    found = client.ask("run", document=document, set=POINT, tab="moves")
    check_equal(found, *simulated(POINT, None))
    law = found["document"]["flows"]["vegas"]["law"]
    assert (law["alpha_packets"], law["beta_packets"]) == (5, 9)
    assert loads(found["text"]).network == with_values(MODEL.network, POINT)


def test_at_rest_the_numbers_are_those_of_the_command_simulate(client: Client, document):
    found = client.ask("run", document=document, accurate=True)
    run, network = simulated({}, 0.01)
    check_equal(found, run, network)
    assert found["warnings"] == [*network.warnings(), *run.attrs.get("warnings", "").splitlines()]


def test_the_course_of_the_run_is_that_of_the_trajectory(client: Client, document):
    found = client.ask("run", document=document, set=POINT)["series"]
    run, _ = simulated(POINT, None)
    assert found["time"] == pytest.approx(run["time"].values, rel=1e-4)
    assert found["queue"]["bottleneck"] == pytest.approx(run["queue"].values[:, 0], rel=1e-4)
    for number, name in enumerate(("reno", "vegas")):
        assert found["cwnd"][name] == pytest.approx(run["cwnd"].values[:, number], rel=1e-4)
        assert found["rtt_ms"][name] == pytest.approx(1e3 * run["rtt"].values[:, number], rel=1e-4)
        # the integral of the goodput is what was delivered
        rates, steps = np.array(found["goodput_mbps"][name]), np.diff(run["time"].values)
        delivered = float(run["delivered"][-1, number]) * 8 * 1500 / 1e6
        assert float(np.sum(rates * steps)) == pytest.approx(delivered, rel=1e-3)
    assert found["controls"] == {"reno": "reno", "vegas": "vegas"}


def test_alpha_alone_takes_beta_along_as_in_a_sweep(client: Client, document):
    found = client.ask("run", document=document, set={"vegas.alpha_packets": 7})
    assert found["document"]["flows"]["vegas"]["law"]["beta_packets"] == 9


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("bottleneck.capacity_mbps", "fast", 'must be a number, but is "fast"'),
        ("bottleneck.buffer_packets", None, "must be given, but is missing"),
        ("bottleneck.aqm.max_drop", 2, "must be at most 1, but is 2"),
        ("flows.vegas.count", 0, "must be at least 1, but is 0"),
        ("flows.vegas.law.alpha_packets", 5, "must be at most beta_packets (4), but is 5"),
        ("flows.reno.colour", 1, "unknown key; "),
        ("warmup_s", 30, "must be below duration_s (20), but is 30"),
    ],
)
def test_invalid_input_is_one_line_with_the_key_of_its_field(
    client: Client, document, path, value, message
):
    *keys, last = path.split(".")
    table = document
    for key in keys:
        table = table[key]
    table[last] = value
    for request in ("read", "run"):
        [error] = client.ask(request, document=document)["errors"]
        assert error["path"] == path
        assert error["message"].startswith(message)
        assert "\n" not in error["message"]


def test_all_errors_come_at_once(client: Client, document):
    document["bottleneck"]["capacity_mbps"] = -1
    document["flows"]["reno"]["count"] = "two"
    errors = client.ask("read", document=document)["errors"]
    assert {error["path"] for error in errors} == {"bottleneck.capacity_mbps", "flows.reno.count"}


@pytest.mark.parametrize(
    "request_",
    [
        {"document": 5},
        {"document": {"a": [{"b": None}]}},
        {"text": "not TOML"},
        {"text": ""},
        {"model": "../../etc/passwd"},
        {"model": 7},
    ],
    ids=str,
)
def test_what_is_no_model_is_an_error_of_one_line(client: Client, request_):
    errors = client.ask("read", **request_)["errors"]
    assert errors
    assert all(error["message"] and "\n" not in error["message"] for error in errors)


@pytest.mark.parametrize(
    "numbers", [{"vegas.alfa": 1}, {"vegas.alpha_packets": "x"}, [1], {"reno.count": math.pi * 1e9}]
)
def test_numbers_that_cannot_be_set_are_errors(client: Client, document, numbers):
    [error] = client.ask("run", document=document, set=numbers)["errors"]
    assert error["message"]


def test_a_model_is_read_from_text_and_by_name(client: Client):
    found = client.ask("read", text=SMALL)
    assert loads(found["text"]) == MODEL
    found = client.ask("read", model="weigle_feng_network2")
    assert found["document"]["bottleneck"]["capacity_mbps"] == 155
    assert found["notes"] == []
    high = next(one["high"] for one in found["numbers"] if one["name"] == "vegas.alpha_packets")
    assert 142 < high < 500  # the fair alpha is on the plane


def test_an_uncertain_model_is_shown_with_its_nominal_values(client: Client):
    found = client.ask("read", model="uncertain_office_uplink")
    assert "nominal" in found["notes"][0]
    assert loads(found["text"]).ranges == {}


def test_each_number_leads_to_its_place_in_the_document(client: Client):
    for text in (SMALL, TWO_LINKS):
        found = client.ask("read", text=text)
        network = loads(text).network
        for number in found["numbers"]:
            table: Any = found["document"]
            for key in number["path"]:
                table = table.get(key) if table else None
            if table is not None:
                assert table == pytest.approx(number["value"])
            changed = 2 if number["whole"] else 1.01 * number["value"]
            if number["name"].endswith(("capacity_mbps", "count")):
                assert replace(loads(text), network=with_values(network, {number["name"]: changed}))


def test_one_class_has_no_ratio(client: Client):
    document = client.ask("read", text=WITHOUT_VEGAS)["document"]
    found = client.ask("run", document=document)
    assert found["ratio"] is None
    assert found["classes"]["reno"]["goodput_mbps"] == pytest.approx(5, rel=0.1)


def test_a_ratio_is_told_in_words():
    network = MODEL.network
    assert meaning(0.0154, "vegas", network) == (
        "A vegas flow gets 1.5 % of the goodput of a reno flow."
    )
    assert meaning(1.02, "vegas", network) == (
        "A vegas flow and a reno flow get about the same goodput."
    )
    assert meaning(2.5, "vegas", network) == (
        "A vegas flow gets 2.5 times the goodput of a reno flow."
    )
    assert meaning(math.inf, "vegas", network) == "The vegas flows have all of the goodput."


def test_a_run_without_deliveries_has_no_ratio_and_says_so(client: Client):
    """It ends after a second, and an ACK takes three."""
    text = SMALL.replace("duration_s = 20", "duration_s = 1").replace(
        "warmup_s = 5", "warmup_s = 0"
    )
    document = client.ask("read", text=text.replace("base_rtt_ms = 20", "base_rtt_ms = 3000"))
    found = client.ask("run", document=document["document"])
    assert found["ratio"] is None
    assert found["meaning"] == "No flow delivers anything after the warm-up."


def test_delays_of_a_path_add_up_and_drops_multiply():
    links = {
        name: {"queueing_delay_s": delay, "drop_share": drops, "utilisation": use}
        for name, delay, drops, use in (("a", 0.1, 0.5, 0.2), ("b", 0.2, 0.5, 0.9), ("c", 9, 1, 1))
    }
    expected = {"queueing_delay_s": 0.3, "drop_share": 0.75, "utilisation": 0.9}
    assert path_numbers(links, ("a", "b")) == pytest.approx(expected)


def test_the_path_of_a_class_has_the_direction_of_its_data():
    """Data in the reverse direction cross the last link first, and wait in its reverse queue."""
    link = vf.Link(1000.0, 100)
    down = vf.Flows(1, vf.Reno(), base_rtt=0.1, path=("a", "b"))
    flows = {"down": down, "up": replace(down, direction="reverse")}
    network = vf.Network({"a": link, "b": link}, flows)
    assert path_of(network, "down") == ("a", "b")
    assert path_of(network, "up") == ("b_reverse", "a_reverse")
    assert path_of(network, None) == ("a", "b")


def test_samples_have_five_digits():
    values = rounded(np.array([0.0, 123456.0, -0.00123456, 1e-12]))
    assert values == pytest.approx([0.0, 123460.0, -0.0012346, 1e-12], rel=1e-12)
