"""What is swept: numbers by name, with alpha and beta together, and choices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sweep.small import ALPHA, MODEL, small_sweep
from vegasfluid import Cbr, InvalidInput, Vegas
from vegasfluid.sweep import Choice, Numbers, Sweep
from vegasfluid.sweep.axes import with_numbers
from vegasfluid.sweep.axis_spec import numbers_from, size_from

BAND, BETA = "vegas.dead_band_packets", "vegas.beta_packets"


@pytest.mark.parametrize(
    ("given", "alpha", "beta"),
    [
        ({ALPHA: 30}, 30, 32),  # the model's dead band is 2
        ({ALPHA: 30, BETA: 40}, 30, 40),
        ({BETA: 9}, 2, 9),
        ({BAND: 5}, 2, 7),
        ({BAND: 0, ALPHA: 30}, 30, 30),
        ({"flows.vegas.law.dead_band_packets": 3, "flows.vegas.law.alpha_packets": 30}, 30, 33),
    ],
)
def test_beta_goes_with_alpha(given, alpha, beta):
    law = with_numbers(MODEL.network, given).flows["vegas"].law
    assert isinstance(law, Vegas)
    assert (law.alpha, law.beta) == (alpha, beta)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({BAND: 1, BETA: 9}, "left out where beta is swept"),
        ({"vegas.alpa_packets": 1}, "vegas.alpha_packets"),
        ({"reno.dead_band_packets": 1}, "a known one, such as"),
        ({ALPHA: 9, BETA: 5}, "alpha must be at most beta"),
    ],
)
def test_invalid_input_is_rejected(given, message):
    with pytest.raises(InvalidInput, match=message):
        with_numbers(MODEL.network, given)


def test_an_unknown_number_is_rejected_with_a_suggestion_before_anything_runs():
    with pytest.raises(InvalidInput) as error:
        small_sweep(axes=[Numbers("vegas.alfa_packets", [1])])
    assert error.value.allowed.count("vegas.") >= 2
    assert "vegas.alpha_packets" in error.value.allowed


def test_whole_packets_are_rounded_where_the_dialect_has_no_others():
    axes = [Numbers(ALPHA, [1.2, 1.4, 2.6]), Numbers("reno.count", [1.4, 2.2])]
    sweep = small_sweep(axes=axes)
    assert [axis.labels for axis in sweep.axes] == [(1.0, 3.0), (1.0, 2.0)]
    plain = replace(MODEL, network=MODEL.network.with_law("vegas", Vegas(2, 4)))
    assert Sweep(plain, axes[:1]).axes[0].labels == (1.2, 1.4, 2.6)


@pytest.mark.parametrize("values", [[], [1, 1], [float("nan")], [float("inf")]])
def test_values_are_finite_and_different(values):
    with pytest.raises(InvalidInput, match="one or more finite numbers, all different"):
        Numbers(ALPHA, values)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "x=", "=1", "x=a", "x=1,,2", "x=1:2", "x=1:2:x", "x=1:2:3:lin", "x=1:5:0"),
        *("x=5:1:3", "x=1:1:2", "x=0:1:3:log", "x=nan:1:2", "x=1:inf:2", "x=1:5:-2", "x=:::"),
    ],
)
def test_malformed_and_empty_ranges_are_rejected(text):
    for read in (numbers_from, size_from):
        with pytest.raises(InvalidInput, match="--over"):
            read(text)


def test_forms_of_a_range():
    assert numbers_from("x=1:400:40").values[:2] == (1.0, 11.2307692308)
    assert numbers_from("x=0.1:0.5:5").values == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert numbers_from("x=3:3:1").values == (3.0,)
    assert size_from("x=1:400:40") == size_from("x=1:400:40:log") == 40


def test_choices_make_models_and_are_dimensions():
    light = {"reno": Cbr(rate=50.0), "vegas": Cbr(rate=50.0)}

    def lighter(model):
        flows = {n: replace(group, traffic=light[n]) for n, group in model.network.flows.items()}
        return replace(model, network=replace(model.network, flows=flows))

    other = replace(MODEL, duration=40.0)
    axes = [
        Choice("network", {"short": MODEL, "long": other}),
        Choice("traffic", {"bulk": lambda model: model, "cbr": lighter}),
        Numbers(ALPHA, [1, 2, 3], dim="alpha"),
    ]
    sweep = small_sweep(axes=axes, until=None, chunk=None)
    assert sweep.shape == (2, 2, 3)
    assert sweep.chunk_shape == (1, 1, 3)  # models that differ so much are not computed together
    model = sweep.point((1, 1, 2)).model()
    assert model.duration == 40.0
    assert model.network.flows["reno"].traffic.name == "cbr"
    law = model.network.flows["vegas"].law
    assert isinstance(law, Vegas)
    assert law.alpha == 3


@pytest.mark.parametrize("label", ["seed", "link", "ratio", "status"])
def test_names_of_dimensions_are_not_taken_twice(label):
    with pytest.raises(InvalidInput, match="the name of a dimension must be different"):
        small_sweep(axes=[Numbers(ALPHA, [1], dim=label)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "ns2"}, "one of fluid, density, packets"),
        ({"seeds": ()}, "one or more, all different"),
        ({"seeds": (1, 1)}, "one or more, all different"),
        ({"engine": "fluid"}, "one seed for this engine"),
        ({"tune": "cubic"}, "one of reno, vegas"),
        ({"axes": []}, "one or more"),
        ({"warmup": 3.0}, "warmup must be below"),
    ],
)
def test_an_invalid_plan_is_rejected(options, message):
    with pytest.raises(InvalidInput, match=message):
        small_sweep(**options)
