"""Numbers given as ranges: read, rejected, written again, and what the other commands make of them."""
# ruff: noqa: E501 (one case a line)

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vegasfluid.cli.app import run_app
from vegasfluid.errors import InvalidInput
from vegasfluid.modelfile import ModelFileError, dumps, loads
from vegasfluid.modelfile.parameters import parameter_of, with_values
from vegasfluid.network import Link
from vegasfluid.ranges import Range

TEXT = """
duration_s = 60
warmup_s = 15

[bottleneck]
capacity_mbps = { low = 8, high = 12 }
delay_ms = { low = 1, high = 2 }
buffer_packets = 150

[flows.reno]
count = { low = 10, high = 40, spread = "log_uniform" }
base_rtt_ms = { low = 10.5, high = 40 }
law = { name = "reno" }

[flows.vegas]
count = 4
access_delay_ms = { low = 0, high = 5 }
access_mbps = { low = 10, high = 1000, spread = "log_uniform" }
law = { name = "vegas", dialect = "ns2" }
"""


def test_the_network_has_the_nominal_numbers() -> None:
    """By hand: middles, the geometric one of 10 and 1000, and of 10 and 40 flows."""
    network = loads(TEXT).network
    reno, vegas = network.flows["reno"], network.flows["vegas"]
    assert network.link == Link(10e6 / 12000, 150, delay=0.0015)
    assert (reno.count, type(reno.count), reno.base_rtt) == (20, int, 0.02525)
    assert vegas.access_delay == 0.0025
    assert vegas.access == pytest.approx(100e6 / 12000, rel=1e-12)


def test_ranges_are_kept_by_name_in_the_units_of_the_file() -> None:
    assert loads(TEXT).ranges == {
        "bottleneck.capacity_mbps": Range(8, 12),
        "bottleneck.delay_ms": Range(1, 2),
        "reno.count": Range(10, 40, "log_uniform"),
        "reno.base_rtt_ms": Range(10.5, 40),
        "vegas.access_delay_ms": Range(0, 5),
        "vegas.access_mbps": Range(10, 1000, "log_uniform"),
    }


def test_rounded_middle_of_whole_numbers() -> None:
    count = loads(TEXT.replace("low = 10, high = 40", "low = 2, high = 7")).network.counts[0]
    assert count == 4  # the square root of 14 is 3.74


def test_several_links() -> None:
    text = TEXT.replace("[bottleneck]", "[links.up]") + 'path = ["up"]\n'
    text = text.replace("[flows.reno]", '[flows.reno]\npath = ["up"]')
    model = loads(text)
    assert model.ranges["up.capacity_mbps"] == Range(8, 12)
    assert loads(dumps(model)) == model


def test_what_is_written_reads_back_equal() -> None:
    model = loads(TEXT)
    assert loads(dumps(model)) == model
    assert dumps(loads(dumps(model))) == dumps(model)
    assert loads(dumps(replace(model, ranges={}))).ranges == {}


@given(st.floats(1e-6, 1e8), st.floats(1e-6, 1e8), st.sampled_from(["uniform", "log_uniform"]))
def test_any_range_of_a_rate(one: float, other: float, spread: str) -> None:
    """Also where the middle is no short decimal."""
    low, high = sorted((one, other))
    if low == high:
        return
    table = f'{{ low = {low!r}, high = {high!r}, spread = "{spread}" }}'
    model = loads(TEXT.replace("{ low = 8, high = 12 }", table))
    assert model.ranges["bottleneck.capacity_mbps"] == Range(low, high, spread)  # type: ignore[arg-type]
    assert loads(dumps(model)) == model


COUNT = "low = 10, high = 40"
RATE = "{ low = 8, high = 12 }"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (COUNT, "low = 50, high = 40", "flows.reno.count.low: must be below high (40), but is 50"),
        (COUNT, "low = 40, high = 40", "flows.reno.count.low: must be below high (40), but is 40"),
        (COUNT, "low = 0, high = 40", "flows.reno.count.low: must be at least 1, but is 0"),
        (COUNT, "low = 1.5, high = 40", "flows.reno.count.low: must be a whole number, but is 1.5"),
        (COUNT, "low = 1, high = 2000000", "flows.reno.count.high: must be at most 1000000, but is 2000000"),
        (COUNT, "high = 40", "flows.reno.count.low: must be given, but is missing"),
        (COUNT, COUNT + ", hihg = 9", "flows.reno.count.hihg: unknown key; did you mean high?"),
        ('"log_uniform" }\nbase', '"normal" }\nbase', 'flows.reno.count.spread: must be one of uniform, log_uniform, but is "normal"'),
        (RATE, "{ low = 0, high = 12 }", "bottleneck.capacity_mbps.low: must be above 0, but is 0"),
        (RATE, "{ low = 8, high = inf }", "bottleneck.capacity_mbps.high: must be a finite number, but is inf"),
        (RATE, '{ low = 8, high = "x" }', 'bottleneck.capacity_mbps.high: must be a number, but is "x"'),
        (RATE, "{ low = true, high = 2 }", "bottleneck.capacity_mbps.low: must be a number, but is true"),
        ("low = 1, high = 2", 'low = 0, high = 2, spread = "log_uniform"', "bottleneck.delay_ms.low: must be above 0 where spread is log_uniform, but is 0"),
        ("low = 10.5", "low = 3.9", "flows.reno.base_rtt_ms: must be at least twice the delay of its links (0.004 s), but is 0.0039"),
        ('law = { name = "reno" }', 'law = { name = "reno" }\nstart_s = [0, 1]', "flows.reno.start_s: must be one value if count is a range, but is a list"),
        ("base_rtt_ms = { low = 10.5, high = 40 }", "base_rtt_ms = [20, 30]", "flows.reno.base_rtt_ms: must be one value if count is a range, but is a list"),
        ("count = 4", "count = 4\nbase_rtt_ms = { low = 20, high = 30 }", "flows.vegas.base_rtt_ms: must be left out where access_delay_ms is given, but is a table"),
        ("count = 4", "count = 4\nmax_window_packets = { low = 20, high = 30 }", "flows.vegas.max_window_packets: must be a number, but is a table"),
    ],
)  # fmt: skip
def test_invalid_input_is_rejected(old: str, new: str, line: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(ModelFileError) as error:
        loads(TEXT.replace(old, new), "model.toml")
    assert re.sub(r"line \d+: ", "", str(error.value)) == f"model.toml: {line}"


def test_a_network_that_is_not_the_nominal_one_cannot_be_written() -> None:
    model = loads(TEXT)
    other = replace(model, network=with_values(model.network, {"reno.count": 30}))
    with pytest.raises(InvalidInput, match=r"around the network's reno.count \(30\)"):
        dumps(other)
    with pytest.raises(
        InvalidInput, match="a parameter with a range must be one of count, base_rtt_ms"
    ):
        dumps(replace(model, ranges={"vegas.alpha_packets": Range(0.5, 1.5)}))


def test_numbers_are_placed_together() -> None:
    """One after the other the link would be too long for the round trip, or this too short."""
    model = loads(TEXT)
    network = with_values(model.network, {"bottleneck.delay_ms": 20, "reno.base_rtt_ms": 40})
    assert network.flows["reno"].base_rtt == pytest.approx(0.04)
    back = with_values(network, {"reno.base_rtt_ms": 10, "bottleneck.delay_ms": 1})
    assert back.link.delay == pytest.approx(0.001)
    with pytest.raises(InvalidInput, match="at least twice the delay"):
        with_values(model.network, {"bottleneck.delay_ms": 20})


def test_a_number_of_flows_stays_whole() -> None:
    network = loads(TEXT).network
    count = parameter_of(network, "reno.count")
    assert count.value(network) == 20
    put = count.with_value(network, 12.6).flows["reno"].count
    assert (put, type(put)) == (13, int)
    with pytest.raises(InvalidInput, match="count must be at least 1"):
        count.with_value(network, 0)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"low": 2.0, "high": 1.0}, "Range: low must be below high (1), but is 2.0."),
        ({"low": 0.0, "high": float("inf")}, "Range: high must be a finite number, but is inf."),
        ({"low": 0, "high": 1, "spread": "log_uniform"}, "Range: low must be above 0 where spread is log_uniform, but is 0."),
        ({"low": 0, "high": 1, "spread": "x"}, "Range: spread must be uniform or log_uniform, but is 'x'."),
    ],
)  # fmt: skip
def test_ranges_that_make_no_sense(values: dict, line: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Range(**values)
    assert str(error.value) == line


@given(st.floats(1e-3, 1e3), st.floats(1.001, 1e3), st.floats(0, 1), st.booleans())
def test_shares_of_a_spread(low: float, ratio: float, share: float, log: bool) -> None:
    """The distribution function of the spread, at the number of a share, is that share."""
    distribution = Range(low, low * ratio, "log_uniform" if log else "uniform")
    at = distribution.at(share)
    assert distribution.low <= at * (1 + 1e-12)
    assert at <= distribution.high * (1 + 1e-12)
    # P(number < at), as the densities 1 / (high - low) and 1 / (number log(high / low)) have it
    below = (
        math.log(at / distribution.low) / math.log(ratio)
        if log
        else (at - distribution.low) / (distribution.high - distribution.low)
    )
    assert below == pytest.approx(share, abs=1e-9)


def test_check_tells_the_ranges(tmp_path, capsys) -> None:
    path = tmp_path / "model.toml"
    path.write_text(TEXT)
    assert run_app(["check", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ranges"]["reno.count"] == {
        "low": 10, "high": 40, "spread": "log_uniform", "nominal": 20,
    }  # fmt: skip
    assert found["ranges"]["bottleneck.capacity_mbps"]["nominal"] == 10
    assert run_app(["check", str(path)]) == 0
    output = capsys.readouterr().out
    assert "reno.base_rtt_ms" in output
    assert "simulate, analyse, sweep and export use the nominal values" in output
    path.write_text(dumps(replace(loads(TEXT), ranges={})))
    assert run_app(["check", str(path)]) == 0
    assert "nominal" not in capsys.readouterr().out
