"""Settings for other systems: checked by their integer rules, played out step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vegasfluid.congestion.vegas import DIALECTS, Vegas
from vegasfluid.export import OperatingPoint, translate

LOSSLESS = {"cwnd": 50.0, "drop_prob": 0.0}


@pytest.mark.parametrize("alpha", [3, 20, 141])
@pytest.mark.parametrize("stretch", [1.5, 4.0, 70.0])
def test_linux_alpha_is_stretched_by_the_round_trip(alpha, stretch):
    """Linux divides by the base RTT: alpha rtt / base, to rounding (half a packet each side)."""
    settings, missing = translate(Vegas(alpha, alpha + 2), OperatingPoint(stretch, **LOSSLESS))
    assert missing == {}
    assert abs(settings["linux"]["alpha"] - alpha * stretch) <= 0.5
    assert abs(settings["linux"]["beta"] - ((alpha + 2) * stretch - 1)) <= 0.5  # floor > beta


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_numbers_are_whole_where_the_system_takes_whole_numbers(dialect):
    law = Vegas(7, 9, 1, dialect=dialect)
    settings, missing = translate(law, OperatingPoint(3.3, **LOSSLESS))
    assert missing == {}
    assert set(settings) == {"brakmo", "ns2", "linux", "ns3"}
    for name in ("ns2", "linux", "ns3"):
        assert all(type(value) is int for value in settings[name].values())
    assert settings[dialect] == {"alpha": 7, "beta": 9, "gamma": 1}
    for values in settings.values():
        assert 0 < values["alpha"] <= values["beta"]


def estimate(system: str, cwnd: float, stretch: float) -> float:
    """The backlog as the system counts it, for a round-trip time of stretch * base."""
    backlog = cwnd * (1 - 1 / stretch)
    match system:
        case "ns3":
            return int(cwnd) - math.floor(cwnd / stretch)
        case "linux":
            return int(cwnd * (stretch - 1))
        case "ns2":
            return int(backlog + 0.5)
        case _:
            return backlog


def final_window(system: str, settings: dict[str, float], stretch: float, cwnd: float) -> float:
    """The textbook's backlog where the window stays, one packet a step from `cwnd`."""
    while True:
        backlog = estimate(system, cwnd, stretch)
        if backlog < settings["alpha"]:
            cwnd += 1
        elif backlog > settings["beta"]:
            cwnd -= 1
        else:
            return cwnd * (1 - 1 / stretch)


@pytest.mark.parametrize("dialect", ["brakmo", "ns2"])
@pytest.mark.parametrize("system", ["brakmo", "ns2", "ns3", "linux"])
@pytest.mark.parametrize("around", [2.0, 40.0])
def test_windows_of_the_system_have_the_equilibrium_of_the_law(dialect, system, around):
    """From below and from above, each by its own integer rule, played out packet by packet.

    In one case they differ by the rounding of the setting and of the window, a packet at most; in
    the mean over many by 0.04, or 0.15 where every setting ends in one half and is rounded to even
    (leaving out that Linux's steps are longer by rtt / base would make it 0.25 to 0.5).
    """
    low, high = [], []
    for alpha in range(10, 40):
        for stretch in around * np.linspace(0.95, 1.05, 21):
            law = {"alpha": alpha, "beta": alpha + 4}
            translated, _ = translate(
                Vegas(alpha, alpha + 4, dialect=dialect), OperatingPoint(stretch, **LOSSLESS)
            )
            settings = translated[system]
            low.append(
                final_window(system, settings, stretch, 2) - final_window(dialect, law, stretch, 2)
            )
            high.append(
                final_window(system, settings, stretch, 150)
                - final_window(dialect, law, stretch, 150)
            )
    assert np.abs(low).max() <= 1
    assert np.abs(high).max() <= 1
    halves = around > 10 and "ns2" in (dialect, system)
    assert abs(np.mean(low)) < (0.15 if halves else 0.04)
    assert abs(np.mean(high)) < (0.15 if halves else 0.04)


def test_linux_is_missing_where_its_cut_keeps_windows_below():
    """ns-2's Vegas gives up a quarter at a loss, Linux half: W <= 1 / sqrt(p / 2)."""
    point = OperatingPoint(3.0, cwnd=100.0, drop_prob=4e-4)
    settings, missing = translate(Vegas(30, 32, dialect="ns2"), point)
    assert set(settings) == {"ns2", "ns3"}
    assert set(missing) == {"brakmo", "linux"}
    assert "takes 50% of the window" in missing["linux"]
    assert f"below {1 / math.sqrt(2e-4):.0f} packets, but 100 are needed" in missing["linux"]


def test_linux_is_not_missing_where_it_can_follow():
    point = OperatingPoint(3.0, cwnd=70.0, drop_prob=4e-4)
    assert translate(Vegas(30, 32, dialect="ns2"), point)[1] == {}
    halving = OperatingPoint(3.0, cwnd=100.0, drop_prob=4e-4)
    assert translate(Vegas(30, 32, dialect="linux"), halving)[1] == {}
