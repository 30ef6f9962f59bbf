"""The plan: chunks cover the grid once, and follow from nothing but the plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweep.small import ALPHA, MODEL, small_sweep
from vegasfluid.errors import InvalidInput
from vegasfluid.sweep import Numbers, Sweep

NAMES = [ALPHA, "bottleneck.capacity_mbps", "reno.base_rtt_ms"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 40), st.integers(1, 4))
def test_every_point_is_in_one_chunk(sizes, chunk, seeds):
    axes = [Numbers(name, range(1, size + 1)) for name, size in zip(NAMES, sizes, strict=False)]
    sweep = Sweep(MODEL, axes, "packets", seeds=range(seeds), chunk=chunk)
    chunks = list(sweep.chunks())
    found = Counter(tuple(point.values.items()) for one in chunks for point in sweep.points_of(one))
    assert len(found) == sweep.points
    assert set(found.values()) == {1}
    assert sum(map(sweep.size, chunks)) == sweep.points
    assert max(map(sweep.size, chunks)) * seeds <= max(chunk, seeds)


def test_many_points_make_larger_chunks_and_not_more_files():
    axes = [Numbers(name, range(1, 216)) for name in NAMES]
    sweep = Sweep(MODEL, axes, "packets", seeds=range(30))
    assert sweep.runs > 2e8
    assert sum(1 for _ in sweep.chunks()) < 40_000


@pytest.mark.parametrize(
    "options",
    [
        {"seeds": (1, 3)},
        {"until": 3.0},
        {"warmup": 1.0},
        {"tune": "reno"},
        {"chunk": 2},
        {"axes": [Numbers(ALPHA, [1, 2])]},
    ],
)
def test_what_changes_a_number_makes_another_sweep(options):
    assert small_sweep(**options).fingerprint() != small_sweep().fingerprint()


def test_words_make_no_other_sweep():
    same = small_sweep(name="a.toml", command="vegasfluid sweep")
    assert same.fingerprint() == small_sweep().fingerprint()
    other = replace(MODEL, network=replace(MODEL.network, ack_bytes=41))
    axes = small_sweep().axes
    assert Sweep(other, axes).fingerprint() != Sweep(MODEL, axes).fingerprint()


def test_times_are_the_models_own_or_in_proportion():
    assert {(base.duration, base.warmup) for base in small_sweep(until=None).bases} == {(20.0, 5.0)}
    assert {(base.duration, base.warmup) for base in small_sweep(until=8.0).bases} == {(8.0, 2.0)}
    assert {base.warmup for base in small_sweep(until=8.0, warmup=1.0).bases} == {1.0}


def test_beta_is_given_once():
    """By beta or by the dead band; rejected before any point runs."""
    axes = [Numbers("vegas.beta_packets", [3, 6]), Numbers("vegas.dead_band_packets", [1, 2])]
    with pytest.raises(InvalidInput, match="dead_band_packets must be left out where beta is"):
        Sweep(MODEL, axes)
