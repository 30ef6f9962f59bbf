"""Pictures: what is drawn is what was run, and nothing lies over anything else."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from vegasfluid import Flows, Link, Network, Red, Reno, plot
from vegasfluid.metrics import time_mean
from vegasfluid.plot.live_figures import RunPanels
from vegasfluid.trajectory import CLASS_VARIABLES, LINK_VARIABLES, Recording, make_trajectory

TIMES = np.linspace(0.0, 10.0, 21)


LINK = Link(1000.0, 100, Red(min_thresh=20, max_thresh=80))


def recorded(scale: float = 1.0, links: Link | dict[str, Link] = LINK) -> Recording:
    path = tuple(links) if isinstance(links, dict) else None
    classes = {name: Flows(2, Reno(), base_rtt=0.04, path=path) for name in ("one", "other")}
    network = Network(links, classes)
    values = scale * TIMES[:, None] ** 2 * [1.0, 1.0, 2.0, 2.0]
    flows = {name: values.copy() for name in CLASS_VARIABLES}
    rows = np.repeat(scale * TIMES[:, None], len(network.links), axis=1)
    queues = {name: rows for name in LINK_VARIABLES if name != "capacity"}
    return Recording(network, TIMES, flows, queues)


def made(engine: str, scale: float = 1.0, links: Link | dict[str, Link] = LINK) -> xr.Dataset:
    attributes = {"engine": engine, "warmup": 2.5, "title": "A $title$"}
    return make_trajectory(recorded(scale, links), attributes)


def labels(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_one_run():
    figure = plot.trajectory(made("packets"))
    windows, queue, delay, drops, rate = figure.axes
    assert figure.get_suptitle() == "A $title$: packet simulator"
    assert labels(windows) == labels(delay) == labels(rate) == ["one", "other"]
    assert labels(queue) == ["bottleneck", "average"]
    np.testing.assert_allclose(windows.lines[1].get_ydata(), 2 * TIMES**2)
    np.testing.assert_allclose(queue.lines[0].get_ydata(), TIMES)
    np.testing.assert_allclose(delay.lines[1].get_ydata(), 1000 * 2 * TIMES**2)
    assert labels(drops) == ["bottleneck"]
    lost = np.diff(drops.patches[0].get_data().edges)  # of three packets, two are lost or marked
    np.testing.assert_allclose(drops.patches[0].get_data().values, 1.0)
    assert lost.sum() == 10.0
    middles = (TIMES[1:] + TIMES[:-1]) / 2  # where the slope of t^2 is 2 t, differences included
    np.testing.assert_allclose(rate.lines[0].get_xdata(), middles)
    megabits = 1500 * 8 / 1e6
    np.testing.assert_allclose(rate.lines[0].get_ydata(), 2 * middles * megabits)
    assert rate.get_title(loc="left") == "goodput per flow, Mbit/s"


def test_each_line_of_two_links_has_its_name_and_colour():
    """The sliders in a notebook (`RunPanels`) have the same colours."""
    axes = plot.queues(made("packets", links={"up": LINK, "down": LINK}))
    names = ["up", "up (average)", "down", "down (average)"]
    assert labels(axes) == names
    drawn = {line.get_label(): line.get_color() for line in axes.lines}
    assert len(set(drawn.values())) == 4
    live = Figure().subplots(2)
    RunPanels(live, recorded(links={"up": LINK, "down": LINK}), warmup=2.5)
    assert {line.get_label(): line.get_color() for line in live[1].lines} == drawn


def test_two_runs_are_distinguished():
    figure = plot.compare(made("fluid"), made("packets", 3.0))
    windows, queue, _, drops, _ = figure.axes
    assert labels(drops) == ["bottleneck (fluid)", "bottleneck (packets)"]
    assert figure.get_suptitle() == "A $title$: fluid model and packet simulator"
    assert labels(windows) == ["one (fluid)", "other (fluid)", "one (packets)", "other (packets)"]
    assert labels(queue)[2:] == ["bottleneck (packets)", "average (packets)"]
    looks = [(line.get_color(), line.get_linestyle()) for line in windows.lines]
    assert len(set(looks)) == 4
    assert windows.get_ylim()[1] >= 600


def test_runs_of_one_engine_are_called_by_their_label():
    runs = [made("fluid").assign_attrs(label=f"alpha = {alpha}") for alpha in (1, 4)]
    panel = plot.goodputs(*runs, made("packets"))
    named = ["one (alpha = 1)", "one (alpha = 4)", "one (packets)"]
    assert labels(panel)[::2] == named
    assert labels(plot.phase_plane(*runs, made("packets"))) == ["alpha = 1", "alpha = 4", "packets"]


def test_the_grid_is_as_faint_on_axes_that_are_given():
    own, given = plot.queues(made("fluid")), Figure().subplots()
    plot.queues(made("fluid"), ax=given)
    assert {line.get_alpha() for axes in (own, given) for line in axes.get_ygridlines()} == {0.3}


@pytest.mark.parametrize("runs", [1, 2])
def test_nothing_overlaps_and_nothing_is_cut_off(runs):
    figure = plot.compare(*[made("packets") for _ in range(runs)])
    figure.draw_without_rendering()
    legends = [axes.get_legend().get_window_extent() for axes in figure.axes]
    boxes = [axes.get_window_extent() for axes in figure.axes] + legends
    for i, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:i])
    assert all(box.width > figure.bbox.width / 2 for box in boxes[:3])


def test_slow_start_does_not_flatten_what_is_measured():
    """The window is 500 in the first 2.5 s and 20 afterwards: the axis ends near 20."""
    run = made("fluid")
    run["cwnd"][:] = np.where(TIMES[:, None] < 2.5, 500.0, 20.0)
    assert plot.windows(run).get_ylim()[1] == pytest.approx(32.0)
    assert plot.windows(run.assign_attrs(warmup=0.0)).get_ylim()[1] > 500


def test_classes_have_the_colours_of_their_congestion_controls():
    run = made("fluid").assign_coords(control=("flow_class", ["vegas", "reno"]))
    colours = [line.get_color() for line in plot.windows(run).lines]
    assert colours == ["#0072B2", "#D55E00"]
    older = run.drop_vars("control").assign_coords(flow_class=["reno", "vegas"])
    assert [line.get_color() for line in plot.windows(older).lines] == colours[::-1]


def test_goodputs_of_an_older_file_are_in_packets():
    """Its packet size is unknown; and two units on one axis would be wrong."""
    older = made("packets")
    del older.attrs["packet_bytes"]
    axes = plot.goodputs(older, made("packets"))
    assert axes.get_title(loc="left") == "goodput per flow, packets/s"
    middles = (TIMES[1:] + TIMES[:-1]) / 2
    for line in axes.lines[::2]:
        np.testing.assert_allclose(line.get_ydata(), 2 * middles)


def test_the_distribution_is_that_of_the_times_after_the_warmup():
    """The round-trip time is t^2, from 2.5 s: 16 of 21 samples, as in the mean of the tables."""
    axes = plot.delay_distribution(made("packets"))
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(x[1:], 1000 * TIMES[5:] ** 2)
    np.testing.assert_allclose(y[1:], np.arange(1, 17) / 16)
    assert np.mean(x[1:]) == pytest.approx(1000 * float(time_mean(made("packets"), "rtt")[0]))
    assert labels(axes) == ["one", "other"]


@pytest.mark.parametrize("end", [2.01, 2.49])
def test_the_end_of_the_warmup_makes_no_spike(end):
    """A packet in the 10 ms beside it would be 100 packets/s."""
    run = made("packets")
    run["delivered"][:] = np.round(40 * TIMES)[:, None]
    more = run.isel(time=[4]).assign_coords(time=[end])
    more["delivered"][:] = run["delivered"].sel(time=2.0).values + (1.0 if end < 2.4 else 19.0)
    packets = xr.concat([run, more], "time", data_vars="minimal").sortby("time")
    packets.attrs = {**run.attrs, "packet_bytes": 125_000}  # one packet is a megabit
    for line in plot.goodputs(packets).lines:
        np.testing.assert_allclose(line.get_ydata(), 40.0, atol=4.0)
