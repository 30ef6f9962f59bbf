"""Read, written, read again: the same model, to the last bit and in the same order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.paths import MODELS
from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.congestion.vegas.fluid import DIALECTS
from vegasfluid.congestion.vegas_rerouting import VegasRerouting
from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.modelfile import dumps, load, loads
from vegasfluid.modelfile.units import from_file_unit, to_file_unit
from vegasfluid.network import HOSTS, Event, Flows, Link, Network, UniformStart
from vegasfluid.quantities import mbps, ms, unit_of
from vegasfluid.traffic.bulk import Bulk
from vegasfluid.traffic.cbr import Cbr
from vegasfluid.traffic.on_off import OnOff
from vegasfluid.traffic.poisson import Poisson
from vegasfluid.traffic.sessions import Sessions

FILES = sorted(MODELS.glob("*.toml"))

positive = st.floats(1e-9, 1e9)
non_negative = st.one_of(st.just(0.0), positive)
seconds = st.one_of(st.just(0.0), st.floats(1e-9, 1e5))
capacities = st.floats(1e-6, 1e10)
fractions = st.floats(1e-12, 1, exclude_max=True)
texts = st.text(st.characters(codec="utf-8"), max_size=8)
names = texts.map(lambda text: text.replace("\0", ""))

reds = st.builds(
    lambda low, more, **others: Red(low, low + 1 + more, **others),
    non_negative,
    non_negative,
    max_drop=fractions,
    weight=fractions,
    gentle=st.booleans(),
    wait=st.booleans(),
    ecn=st.booleans(),
    adaptive=st.booleans(),
    in_bytes=st.booleans(),
)
laws = st.one_of(
    st.builds(
        Reno,
        recovery=st.sampled_from([None, "reno", "newreno", "sack"]),
        byte_counting=st.none() | st.booleans(),
        validates=st.none() | st.booleans(),
    ),
    st.builds(Vegas, dialect=st.sampled_from(sorted(DIALECTS))),
    st.sampled_from(sorted(congestion_controls())).map(lambda name: congestion_controls()[name]()),
    st.builds(
        Cubic,
        C=positive,
        beta=fractions,
        fast_convergence=st.booleans(),
        friendly=st.booleans(),
        friendly_increase=st.none() | positive,
        recovery=st.sampled_from([None, "reno", "newreno", "sack"]),
    ),
    st.builds(
        lambda low, more, **others: VegasRerouting(low, low + more, **others),
        positive,
        non_negative,
        learning=st.floats(1, 1e3),
        group=st.floats(1, 1e3),
        groups=st.integers(1, 10),
        delta=fractions,
        margin=st.floats(1e-9, 1e5),
    ),
    st.builds(
        lambda low, more, **others: Vegas(low, low + more, **others),
        positive,
        non_negative,
        gamma=positive,
        softness=positive,
    ),
)
LONGEST = 1e-3
"""s: of a link; a round trip over three of them is longer than twice their sum."""
round_trips = st.floats(6 * LONGEST, 1e5)
above_one = st.floats(1.01, 1e3)
times = st.floats(1e-9, 1e5)
rates = st.one_of(
    st.builds(Cbr, capacities),
    st.builds(Poisson, times),
    st.builds(
        lambda on, off, packets, *others: OnOff(on, off, packets / on, *others),
        st.floats(1e-3, 1e3),
        times,
        st.floats(1.01, 1e3),
        above_one,
        st.sampled_from(["pareto", "exponential"]),
    ),
    st.builds(Sessions, times, positive, above_one, st.booleans()),
)
traffics = st.just(Bulk()) | rates


@st.composite
def flow_classes(draw: st.DrawFn, links: list[str]) -> Flows:
    count = draw(st.integers(1, 5))

    def each(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, ...]]:
        return st.lists(values, min_size=count, max_size=count).map(tuple)

    propagation: dict[str, Any] = draw(
        st.one_of(
            st.fixed_dictionaries({"access_delay": seconds}),
            st.fixed_dictionaries({"base_rtt": st.one_of(round_trips, each(round_trips))}),
        )
    )
    law = draw(laws)
    path = st.lists(st.sampled_from(links), min_size=1, max_size=3).map(tuple)
    return Flows(
        count,
        law,
        access=draw(st.none() | capacities),
        start=draw(st.one_of(seconds, each(seconds), st.builds(UniformStart, seconds))),
        traffic=draw(traffics if law.rules.reliable else rates),
        direction=draw(st.sampled_from(["forward", "reverse"])),
        path=draw(path if len(links) > 1 else st.none() | path),
        max_window=draw(st.floats(1, 1e6)),
        host=draw(st.none() | st.sampled_from(sorted(HOSTS))),
        initial_window=draw(st.none() | st.floats(1, 100)),
        initial_ssthresh=draw(st.none() | st.floats(2, 1e6)),
        min_rto=draw(st.none() | times),
        initial_rto=draw(st.none() | times),
        delayed_ack=draw(st.none() | seconds),
        quick_acks=draw(st.none() | st.integers(0, 100)),
        send_overhead=draw(seconds),
        ecn=draw(st.booleans()),
        **propagation,
    )


@st.composite
def networks(draw: st.DrawFn) -> Network:
    link = st.builds(
        Link,
        capacities,
        st.floats(1, 1e6),
        aqm=st.one_of(st.just(DropTail()), reds),
        delay=st.just(0.0) | st.floats(1e-9, LONGEST),
        jitter=seconds,
        jitter_reorders=st.booleans(),
    )
    links = draw(st.one_of(link, st.dictionaries(names, link, min_size=1, max_size=3)))
    link_names = ["bottleneck"] if isinstance(links, Link) else list(links)
    flows = draw(st.dictionaries(names, flow_classes(link_names), min_size=1, max_size=3))
    event = st.builds(
        Event,
        seconds,
        st.sampled_from(["access", *link_names]),
        round_trips,
        st.none() | st.sampled_from(list(flows)),
    )
    events = sorted(draw(st.lists(event, max_size=3)), key=lambda one: one.at)
    sizes = st.integers(1, 10_000)
    packet, ack = draw(sizes), draw(sizes)
    try:
        return Network(links, flows, packet, ack, tuple(events))
    except InvalidInput as error:  # delays that do not fit those of earlier events
        assume(not str(error).startswith("events["))
        raise


def latest_start(network: Network) -> float:
    """When the last flow starts that does not start at random, s."""
    given = [flows.start for flows in network.flows.values()]
    return max(
        (
            at
            for item in given
            if not isinstance(item, UniformStart)
            for at in np.atleast_1d(np.array(item, float)).tolist()
        ),
        default=0.0,
    )


@st.composite
def models(draw: st.DrawFn) -> Model:
    network = draw(networks())
    duration = max(draw(times), math.nextafter(latest_start(network), math.inf))
    warmup = draw(st.floats(0, 0.99)) * duration
    return Model(network, duration, warmup if warmup > 1e-9 else 0.0, draw(texts), draw(texts))


@given(models())
def test_any_model(model: Model) -> None:
    again = loads(dumps(model))
    assert again == model
    assert list(again.network.flows) == list(model.network.flows)
    assert list(again.network.links) == list(model.network.links)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_model_of_the_package(path: Path) -> None:
    model = load(path)
    assert loads(dumps(model)) == model
    assert dumps(loads(dumps(model))) == dumps(model)


def test_there_are_models() -> None:
    assert len(FILES) >= 4


@given(st.floats(1e-12, 1e12))
def test_any_delay_can_be_written_in_milliseconds(seconds: float) -> None:
    unit = unit_of(Link, "delay")
    assert from_file_unit(to_file_unit(seconds, unit, 1500), unit, 1500) == seconds


@given(st.floats(1e-6, 1e12), st.integers(1, 65_535))
@example(1.0, 249)  # 0.001992 Mbit/s, which float arithmetic turns into 0.9999999999999999
def test_any_rate_can_be_written_in_mbps(rate: float, packet_bytes: int) -> None:
    unit = unit_of(Link, "capacity")
    assert from_file_unit(to_file_unit(rate, unit, packet_bytes), unit, packet_bytes) == rate


@given(st.integers(1, 10**9), st.integers(0, 6))
def test_what_a_person_writes_is_written_back(digits: int, places: int) -> None:
    """A decimal of at most 15 digits survives, so a file does not fray when it is rewritten."""
    written = digits / 10**places
    for name, inside in (("delay", ms(written)), ("capacity", mbps(written, 1500))):
        assert float(to_file_unit(inside, unit_of(Link, name), 1500)) == pytest.approx(
            written, rel=1e-15
        )


def test_a_delay_that_is_no_float_of_milliseconds() -> None:
    """Just above 1.1 s floats lie closer together than thousandths of floats do."""
    stranded = [1.1 + step * 2**-52 for step in range(50)]
    reached = [value * 1000 / 1000 == value for value in stranded]
    assert not all(reached)
    unit = unit_of(Link, "delay")
    assert [
        from_file_unit(to_file_unit(value, unit, 1500), unit, 1500) for value in stranded
    ] == stranded
