"""Certificates that claim what is not proven are not accepted, and weaker claims are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.analysis.proofs.documents import (
    CLAIMS,
    PARAMETERS,
    SLOPE,
    at,
    changed,
    restated,
    restated_or_none,
    times,
)
from vegasfluid import Cubic, Flows, InvalidInput, Link, Network, Red, Reno, Vegas
from vegasfluid.analysis.proofs import certify_alpha, verify


@pytest.mark.parametrize("path", CLAIMS, ids=".".join)
def test_claims_without_the_true_value_are_rejected_and_weaker_ones_hold(small, path):
    """A bound moved towards the other leaves the truth out; moved away it is true still."""
    place = ("claims", *path)
    inwards = Fraction(1, 10**6) if path[-1] == "low" else Fraction(-1, 10**6)
    if path[0] == SLOPE:
        inwards *= 50_000  # by 5 %: the slopes themselves are a few percent apart
    narrower = restated_or_none(changed(small, place, times(at(small, place), 1 + inwards)))
    weaker = restated_or_none(changed(small, place, times(at(small, place), 1 - inwards)))
    if path[0] == "box_packets":
        assert verify(narrower).valid  # a smaller box with the equilibrium in it claims less
        assert not verify(weaker).valid  # nothing is shown outside of RED's curve
        return
    assert narrower is None or not verify(narrower).valid
    assert verify(weaker).valid


def test_enclosures_that_are_shifted_or_miss_the_true_value_are_rejected(small):
    alpha = at(small, ("claims", "alpha_packets"))
    low, high = Fraction(alpha["low"]), Fraction(alpha["high"])
    width = high - low
    for ends in ((low + 2 * width, high + 2 * width), (low, low), (high, high)):
        moved = dict(zip(("low", "high"), (times("1", end) for end in ends), strict=True))
        verification = verify(restated(changed(small, ("claims", "alpha_packets"), moved)))
        assert not verification.valid
        assert verification.reasons[0].startswith("alpha_packets is proven to be between")


def test_a_box_without_the_equilibrium_and_beyond_the_curve_is_rejected(small):
    for low, high in (("105", "200"), ("100", "101"), ("99", "300"), ("100", "301")):
        verification = verify(changed(small, ("claims", "box_packets"), {"low": low, "high": high}))
        assert len(verification.reasons) == 1
        assert "box_packets" in verification.reasons[0]


WITHOUT_EFFECT = {
    "max_window_packets",
    "buffer_packets",
    "access_packets_per_s",
    "gentle",
    "friendly",
}
"""They bind nowhere near the equilibrium, so that the claims are true for others too."""


@pytest.mark.parametrize("path", PARAMETERS, ids=".".join)
def test_other_parameters_are_rejected(small, path):
    place = ("problem", *path)
    value = at(small, place)
    if value is None:
        other: Any = 1e4
    elif isinstance(value, bool):
        other = not value
    else:
        other = value + 1 if isinstance(value, int) else value * (1 + 1e-6)
    verification = verify(restated(changed(small, place, other)))
    assert verification.valid == (path[-1] in WITHOUT_EFFECT)


@pytest.mark.parametrize("law", ["newreno", "reno"])
def test_newreno_has_the_equilibrium_of_reno(small, law):
    """The fluid knows no difference, so the claim is true; of CUBIC as Reno it is not."""
    document = changed(small, ("problem", "competitors", "reno", "law"), law)
    assert verify(restated(document)).valid


@pytest.mark.parametrize(
    ("key", "value"), [("dialect", "brakmo"), ("dialect", "linux"), ("loss_process", "iid")]
)
def test_other_words_are_rejected(small, key, value):
    place = ("problem", "tuned", key) if key == "dialect" else ("problem", key)
    assert not verify(restated(changed(small, place, value))).valid


@pytest.mark.slow
def test_seeded_falsifications(small):
    """Every number by a millionth: what is accepted is a weaker claim, or binds nowhere."""
    rng = np.random.default_rng(5)
    numbers = [("claims", *path) for path in CLAIMS] + [("problem", *p) for p in PARAMETERS]
    accepted = 0
    for _ in range(200):
        place = numbers[rng.integers(len(numbers))]
        value, by = at(small, place), float(rng.choice([-1e-6, 1e-6]))
        if isinstance(value, bool | int) or value is None:
            continue
        moved = times(value, 1 + Fraction(by)) if isinstance(value, str) else value * (1 + by)
        document = restated_or_none(changed(small, place, moved))
        if document is None or not verify(document).valid:
            continue
        accepted += 1
        weaker = (by < 0) == (place[-1] == "low")
        assert weaker or {"box_packets", SLOPE, *WITHOUT_EFFECT} & set(place), place
    assert 20 < accepted < 150


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("buffer_packets",), 90.0, "RED drops nothing before the buffer is full"),
        (("competitors", "reno", "flows"), 10**6, "not proven to be on RED's curve"),
        (("ratio",), 5.0, "not proven to be below those of losses alone"),
        (("ratio",), 1e-3, "windows of vegas may be below 2 packets"),
        (("competitors", "reno", "max_window_packets"), 20.0, "reno may be limited by max_window"),
        (("tuned", "access_packets_per_s"), 100.0, "vegas may be limited by its access links"),
    ],
)
def test_what_the_theorem_assumes_is_checked(small, path, value, reason):
    """By the checker itself, whoever wrote the certificate."""
    verification = verify(changed(small, ("problem", *path), value))
    assert len(verification.reasons) == 1
    assert reason in verification.reasons[0]


def test_alpha_below_zero_is_not_certified():
    """If a dialect's equilibrium is above alpha, a small ratio would need an alpha below 0."""
    flows = {
        "vegas": Flows(2, Vegas(dialect="linux"), base_rtt=0.2),
        "reno": Flows(2, Reno(), base_rtt=0.2),
    }
    network = Network(Link(1000.0, 90, Red(5, 30, 0.01)), flows)
    document = certify_alpha(network, ratio=0.5).document()
    verification = verify(changed(document, ("problem", "ratio"), 0.05))
    assert verification.reasons == ("alpha is not proven to be above 0 at the lower ratio",)


def test_linux_needs_three_samples_a_round_trip():
    """Below three packets it grows as Reno, whatever alpha is; ns-2 does not."""
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=0.2),
        "reno": Flows(5, Reno(), base_rtt=0.2),
    }
    network = Network(Link(80.0, 400, Red(5, 30, 0.5)), flows)
    document = certify_alpha(network, ratio=0.7).document()
    assert 2 < float(document["claims"]["classes"]["vegas"]["cwnd_packets"]["low"]) < 3
    verification = verify(changed(document, ("problem", "tuned", "dialect"), "linux"))
    assert verification.reasons == ("windows of vegas may be below 3 packets",)


def test_the_fluid_counts_two_losses_a_round_trip():
    """CUBIC that takes a twentieth at a loss, over a long way, bears more."""
    flows = {
        "vegas": Flows(5, Vegas(dialect="ns2"), base_rtt=60.0),
        "cubic": Flows(5, Cubic(beta=0.95), base_rtt=5.0),
    }
    network = Network(Link(5.0, 400, Red(5, 100, 0.9)), flows)
    with pytest.raises(InvalidInput, match="cubic may lose more than 2 packets per round trip"):
        certify_alpha(network, ratio=0.02)


def test_another_sentence_is_rejected(small):
    statement = small["statement"].replace("at least 0.01", "at least 0.5")
    assert statement != small["statement"]
    verification = verify(small | {"statement": statement})
    assert verification.reasons == ("statement does not match the claims",)
