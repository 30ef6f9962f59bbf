"""The model file that is written from an estimate, and what to measure next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.observe.made import BASE, BUFFER, CAPACITY, TIMES, drop_tail, samples
from vegasfluid import CoDel, Cubic, DropTail, Fq, FqCoDel, Pie, Red, Reno, Vegas, modelfile
from vegasfluid.errors import InvalidInput
from vegasfluid.observe import Estimated, Measurement, estimate, model_text, next_measurements
from vegasfluid.observe.bottleneck_queue import Discipline
from vegasfluid.observe.competitors import Competitors


@pytest.fixture(scope="module")
def found():
    return estimate(drop_tail())


def test_the_model_has_what_was_found_with_ranges_and_sources(found):
    text = model_text(found, ["ss.txt", 'a "strange" name'])
    model = modelfile.loads(text)
    network = model.network
    assert network.link.capacity == pytest.approx(CAPACITY, rel=1e-3)
    assert isinstance(network.link.aqm, DropTail)
    buffer = model.ranges["bottleneck.buffer_packets"]
    assert buffer.low < BUFFER < buffer.high
    reno = network.flows["reno"]
    assert (reno.count, reno.base_rtt) == (2, pytest.approx(BASE, rel=1e-2))
    assert isinstance(reno.law, Reno)
    assert model.source == "measured: ss.txt, a 'strange' name"
    assert "# delay at which packets were lost, less the base RTT, times the capacity; " in text


def test_a_vegas_flow_to_tune_is_added_where_none_was_measured(found):
    text = model_text(found)
    flows = modelfile.loads(text).network.flows
    assert isinstance(flows["vegas"].law, Vegas)
    assert flows["vegas"].count == 1
    assert "# not measured: a flow to tune" in text
    assert set(modelfile.loads(model_text(found, add_vegas=False)).network.flows) == {"reno"}


def test_flows_that_were_not_measured_are_a_class_with_a_range(found):
    count = Estimated(5.0, 3.0, 9.0, "correlation of the rates of 2 flows")
    others = Competitors(count, count, "cubic", count)
    model = modelfile.loads(model_text(replace(found, competitors=others)))
    assert isinstance(model.network.flows["others"].law, Cubic)
    assert (model.ranges["others.count"].low, model.ranges["others.count"].high) == (3, 9)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("red", Red), ("codel", CoDel), ("fq_codel", FqCoDel), ("fq", Fq), ("cake", Pie)],
)
def test_early_drops_are_red_or_what_tc_shows_or_pie_in_place_of_others(found, name, kind):
    queue = Discipline(name, True, f"tc shows {name}", {})
    text = model_text(replace(found, discipline=queue, early_drops=(10.0, 30.0, 0.1)))
    aqm = modelfile.loads(text).network.link.aqm
    assert isinstance(aqm, kind)
    if isinstance(aqm, Red):
        assert (aqm.min_thresh, aqm.max_thresh, aqm.max_drop) == (10, 30, 0.1)
    elif isinstance(aqm, Pie):
        assert aqm.target == pytest.approx(found.queueing_delay, rel=0.01)
        assert "cake is not in the models" in text
    else:
        assert aqm == kind()


def test_an_unknown_control_is_cubic_and_the_comment_tells():
    flows = tuple(replace(flow, congestion_control="bbr") for flow in drop_tail().flows)
    text = model_text(estimate(Measurement(flows)))
    assert isinstance(modelfile.loads(text).network.flows["bbr"].law, Cubic)
    assert "# bbr: not in the models, cubic in its place" in text


def test_a_buffer_that_never_filled_is_a_wide_range(found):
    none = np.zeros(len(TIMES))
    flows = tuple(replace(flow, retransmitted_packets=none) for flow in drop_tail().flows)
    model = modelfile.loads(model_text(estimate(Measurement(flows))))
    given = model.ranges["bottleneck.buffer_packets"]
    assert given.spread == "log_uniform"
    assert given.high >= 9 * given.low > 0


def test_no_model_without_a_capacity():
    flow = samples("a > x", TIMES, 0.3, rtt_s=np.full(len(TIMES), BASE))
    idle = estimate(Measurement((flow,)))
    with pytest.raises(InvalidInput, match="capacity of the link must be known"):
        model_text(idle)
    assert next_measurements(idle)[0].startswith("The link was not full, as far as")


def test_what_to_measure_next_follows_from_what_is_not_known(found):
    (line,) = next_measurements(found)
    assert "queue discipline is an estimate" in line
    sure = replace(found, discipline=found.discipline._replace(certain=True))
    assert next_measurements(sure) == []
    count = Estimated(5.0, 3.0, 9.0, "")
    shared = replace(sure, competitors=Competitors(count, count, "reno", count), span=10.0)
    first, second = next_measurements(shared)
    assert "Other flows share the link" in first
    assert "10 s" in second


def test_all_flows_of_vegas_are_one_class_with_a_base_rtt_each():
    """A host has one alpha: two classes would have two, and `recommend` would ask which to tune."""
    flows = tuple(
        samples(f"{base} > x", TIMES, 0.5, base=base, control="vegas") for base in (BASE, 2 * BASE)
    )
    (vegas,) = estimate(Measurement(flows)).classes
    assert not vegas.has_one_rtt
    network = modelfile.loads(model_text(estimate(Measurement(flows)))).network
    assert network.flows["vegas"].base_rtt == pytest.approx(vegas.base_rtts, rel=1e-3)
    assert vegas.base_rtt.low <= min(vegas.base_rtts)
    assert max(vegas.base_rtts) <= vegas.base_rtt.high
    reno = tuple(replace(flow, congestion_control="reno") for flow in flows)
    assert [each.has_one_rtt for each in estimate(Measurement(reno)).classes] == [True, True]
