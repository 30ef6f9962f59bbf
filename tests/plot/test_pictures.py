"""Each kind of picture beside one that was looked at: `baseline/`, which
`python -m tests.plot.test_pictures` draws anew. What is drawn is made up, and nothing is simulated.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

import vegasfluid as vf
from vegasfluid import observe, plot
from vegasfluid.analysis.charts import RenoPoint, VegasPoint
from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium
from vegasfluid.analysis.equilibria.quantities import Quantities
from vegasfluid.errors import InvalidInput
from vegasfluid.trajectory import CLASS_VARIABLES, LINK_VARIABLES, Recording, make_trajectory
from vegasfluid.tuning.constraints import NO_CONSTRAINTS
from vegasfluid.tuning.measurement import Measurement
from vegasfluid.tuning.objectives import JainIndex, ShareRatio
from vegasfluid.tuning.pareto import Front, FrontPoint
from vegasfluid.tuning.result import Evaluation, Recommendation
from vegasfluid.tuning.scalar_root import FluidOptimum

BASELINE = Path(__file__).parent / "baseline"
OBSERVED = Path(__file__).parents[1] / "observe" / "data"
DOTS = 80
TOLERANCE = 6.0
"""Root mean square over 255 levels: another version of the font's rasteriser makes 1 to 3, a
missing line or another colour more (`test_another_plot_is_distinguished_from_the_baseline`)."""
TIMES = np.linspace(0.0, 40.0, 401)
VEGAS = vf.Vegas(alpha=4, beta=6, gamma=1, dialect="ns2")


def network() -> vf.Network:
    link = vf.Link(1000.0, 100, vf.Red(min_thresh=20, max_thresh=80))
    flows = {
        "reno": vf.Flows(2, vf.Reno(), base_rtt=0.04),
        "vegas": vf.Flows(2, VEGAS, base_rtt=0.04),
    }
    return vf.Network(link, flows)


def run(engine: str = "fluid", shift: float = 0.0) -> xr.Dataset:
    """Damped oscillations, as if they had been simulated."""
    oscillation = np.exp(-TIMES / 15) * np.sin(TIMES + shift)
    late = np.exp(-TIMES / 15) * np.sin(TIMES + shift - 1)
    rates = np.array([300.0, 300.0, 200.0, 200.0])
    delivered = np.cumsum(rates * (1 + 0.5 * oscillation[:, None]) * 0.1, axis=0)
    flows = {name: np.zeros((TIMES.size, 4)) for name in CLASS_VARIABLES}
    flows |= {
        "delivered": delivered,
        "sent": 1.01 * delivered,
        "cwnd": np.stack(
            [20 + 8 * oscillation, 20 + 8 * oscillation, 14 + 5 * late, 14 + 5 * late], axis=1
        ),
        "cwnd_spread": np.full((TIMES.size, 4), 3.0),
        "rtt": 0.04 * (2 + 0.5 * oscillation)[:, None] * [1.0, 1.0, 1.1, 1.1],
    }
    links = {name: np.zeros((TIMES.size, 1)) for name in LINK_VARIABLES if name != "capacity"}
    links |= {
        "queue": 40 * (1 + 0.5 * oscillation)[:, None],
        "avg_queue": 40 * (1 + 0.3 * oscillation)[:, None],
        "admitted": delivered.sum(axis=1, keepdims=True),
        "lost": 0.01 * delivered.sum(axis=1, keepdims=True) * (1 + 0.2 * oscillation[:, None]),
    }
    attributes = {"engine": engine, "warmup": 10.0, "title": "Two against two, $made up$"}
    return make_trajectory(Recording(network(), TIMES, flows, links), attributes)


def swept() -> xr.Dataset:
    """The ratio over alpha and a buffer, and a seed."""
    alpha, buffer = np.geomspace(1, 100, 12), np.linspace(50, 500, 8)
    ratio = 20 * alpha[None, :] / buffer[:, None]
    coords = {"buffer": buffer, "alpha": alpha, "seed": [1]}
    data = xr.Dataset({"ratio": (("buffer", "alpha", "seed"), ratio[..., None])}, coords)
    data["alpha"].attrs["units"] = data["buffer"].attrs["units"] = "packets"
    return data.assign_attrs(title="Vegas beside Reno")


def measured(ratios: list[float], delay: float) -> Measurement:
    numbers = {"jain_index": 0.95, "utilisation": 0.999, "queue_packets": 1000 * delay}
    others = {"queueing_delay_s": delay, "drop_share": 1e-3, "retransmit_share": 1e-3}
    return Measurement(tuple({"ratio": ratio, **numbers, **others} for ratio in ratios))


def recommendation() -> Recommendation:
    before = Evaluation(vf.Vegas(alpha=1, beta=3), {}, measured([0.11, 0.12, 0.14], 0.03))
    after = Evaluation(VEGAS, {}, measured([0.96, 1.0, 1.05], 0.04))
    optimum = FluidOptimum(4.0, 1.0, 1.0, True, 5)
    head = (network(), "vegas", ShareRatio(1.0), NO_CONSTRAINTS, False, True, "")
    return Recommendation(*head, before, after, optimum, {}, {}, None, (), {})


def front() -> Front:
    points = [
        FrontPoint(
            {"vegas.alpha_packets": alpha},
            network(),
            jain,
            delay,
            measured([1.0, 1.0], 1.05 * delay),
            np.array([jain - 0.02, jain - 0.01]),
        )
        for alpha, jain, delay in [(40.0, 0.99, 0.05), (20.0, 0.93, 0.03), (5.0, 0.8, 0.012)]
    ]
    return Front(JainIndex(), tuple(points))


def points() -> dict[str, Any]:
    return {"slow": RenoPoint(15.0, 1.3, 0.25), "ten": VegasPoint(0.9, 2.0, 0.0)}


def figure_of(axes: Any) -> Figure:
    return cast(Figure, axes.get_figure())


def beside_a_measurement() -> Figure:
    """What a flow of CUBIC measured on a Linux host, and a made-up model of it."""
    measurement = observe.read_files([OBSERVED / "droptail_ss.txt"])
    modelled = run().isel(flow_class=[0]).assign_coords(flow_class=["cubic"])
    return plot.measured_and_modelled(observe.estimate(measurement), measurement, modelled)


PICTURES = {
    "trajectory": lambda: plot.trajectory(run("density")),
    "compare": lambda: plot.compare(run(), run("packets", 0.5)),
    "windows": lambda: figure_of(plot.windows(run())),
    "queues": lambda: figure_of(plot.queues(run(), run("packets", 0.5))),
    "delays": lambda: figure_of(plot.delays(run())),
    "delay_distribution": lambda: figure_of(plot.delay_distribution(run(), run("packets", 0.5))),
    "drops": lambda: figure_of(plot.drops(run())),
    "goodputs": lambda: figure_of(plot.goodputs(run())),
    "phase_plane": lambda: figure_of(plot.phase_plane(run(), run("packets", 0.5))),
    "phase_plane_of_queue": lambda: figure_of(plot.phase_plane(run(), x="queue", y="cwnd:vegas")),
    "fairness_map": lambda: figure_of(plot.fairness_map(swept())),
    "sweep_panels": lambda: plot.sweep_panels(swept().isel(buffer=[0, 7]), over=["alpha"]),
    "stability_charts": lambda: plot.stability_charts(points()),
    "reno_chart": lambda: figure_of(plot.reno_chart({"slow": RenoPoint(15.0, 1.3, 0.25)})),
    "vegas_chart": lambda: figure_of(plot.vegas_chart({"ten": VegasPoint(0.9, 2.0, 0.0)})),
    "front": lambda: figure_of(plot.front(front())),
    "card": lambda: figure_of(plot.card(recommendation())),
    "measured_and_modelled": beside_a_measurement,
    "before_and_after": lambda: plot.before_and_after(run(), run(shift=2.0), recommendation()),
}
"""Every function that draws, by the name of its picture."""
IN_THE_DARK = ("compare", "fairness_map", "stability_charts", "front", "card", "phase_plane")


def drawn(name: str, theme: str, folder: Path) -> Path:
    """Draw a picture into a file."""
    file = folder / f"{name}{'_dark' * (theme == 'dark')}.png"
    with plot.theme(theme):  # type: ignore[arg-type]
        PICTURES[name]().savefig(file, dpi=DOTS)
    return file


ALL = [(name, "light") for name in PICTURES] + [(name, "dark") for name in IN_THE_DARK]


@pytest.mark.parametrize(("name", "theme"), ALL)
def test_a_plot_is_that_of_the_baseline(name, theme, tmp_path):
    file = drawn(name, theme, tmp_path)
    assert compare_images(str(BASELINE / file.name), str(file), TOLERANCE) is None


def test_every_public_function_has_a_picture():
    assert set(plot.__all__) - {"theme", "explore", "Explorer"} == set(PICTURES) & set(plot.__all__)


def test_another_plot_is_distinguished_from_the_baseline(tmp_path):
    """Without one of two runs, of which the lines of the other remain."""
    file = tmp_path / "other.png"
    figure_of(plot.queues(run())).savefig(file, dpi=DOTS)
    assert compare_images(str(BASELINE / "queues.png"), str(file), TOLERANCE) is not None


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (lambda ax: plot.windows(run(), ax=ax), 1),
        (lambda ax: plot.phase_plane(run(), ax=ax), 1),
        (lambda ax: plot.fairness_map(swept(), ax=ax), 1),
        (lambda ax: plot.front(front(), ax=ax), 1),
        (lambda ax: plot.card(recommendation(), ax=ax), 1),
        (lambda ax: plot.reno_chart(ax=ax), 1),
        (lambda ax: plot.vegas_chart(ax=ax), 1),
        (lambda ax: plot.stability_charts(points(), ax=ax), 2),
        (lambda ax: plot.compare(run(), ax=ax), 5),
    ],
)
def test_what_is_given_is_drawn_on(draw, count):
    figure = Figure()
    axes = [figure.subplots()] if count == 1 else list(figure.subplots(count, 1))
    returned = draw(axes[0] if count == 1 else axes)
    assert returned is (axes[0] if count == 1 else figure)
    assert all(ax.has_data() for ax in axes)


def test_a_map_is_the_data_and_its_line_is_where_they_are_one():
    axes = plot.fairness_map(swept())
    mesh, line = axes.collections
    np.testing.assert_allclose(mesh.get_array().reshape(8, 12), swept()["ratio"][..., 0])
    chosen = plot.fairness_map(swept().sel(seed=1, drop=True)).collections[0]
    np.testing.assert_array_equal(chosen.get_array(), mesh.get_array())
    alpha, buffer = np.concatenate(line.get_paths()[0].to_polygons(closed_only=False)).T
    on_rows = np.isin(np.round(buffer, 6), np.round(swept()["buffer"], 6))  # else it is a chord
    assert on_rows.sum() == 8
    np.testing.assert_allclose(alpha[on_rows], buffer[on_rows] / 20)


def test_a_map_has_a_dot_at_each_point_that_was_run():
    data = swept()
    data["ratio"][2, 3] = np.nan
    [dots] = plot.fairness_map(data).lines
    x, y = np.meshgrid(data["alpha"], data["buffer"])
    there = np.isfinite(data["ratio"].mean("seed", skipna=True).values)
    assert np.sum(~there) == 1
    np.testing.assert_array_equal(dots.get_xydata(), np.stack([x[there], y[there]], axis=-1))


def test_one_dimension_of_a_ratio_has_a_line_at_one():
    figure = plot.sweep_panels(swept().isel(buffer=[0]))
    level, curve = figure.axes[0].lines
    assert set(level.get_ydata()) == {1.0}
    assert len(curve.get_xdata()) == 12


def test_ratios_at_the_colour_bar_are_plain_numbers():
    figure = figure_of(plot.fairness_map(swept()))
    figure.canvas.draw()
    low, high = figure.axes[-1].get_ylim()
    beside = zip(figure.axes[-1].get_yticks(), figure.axes[-1].get_yticklabels(), strict=True)
    shown = [text.get_text() for at, text in beside if low <= at <= high]
    assert shown == ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]


def equilibrium() -> Equilibrium:
    """As if it had been solved for: 40 packets wait, windows are of 20 and 14 packets."""
    each = {name: np.zeros(2) for name in Quantities._fields}
    values = {**each, "queue": np.array([40.0]), "cwnd": np.array([20.0, 14.0])}
    return Equilibrium(network(), THEORY, Quantities(**values), cast(Any, None))


def test_the_equilibrium_is_marked_at_its_values():
    axes = plot.phase_plane(run(), x="queue", y="cwnd:vegas", equilibrium=equilibrium())
    np.testing.assert_allclose(axes.lines[-1].get_xydata(), [[40.0, 14.0]])
    axes = plot.phase_plane(run(), x="queue", y="cwnd:reno", equilibrium=equilibrium())
    np.testing.assert_allclose(axes.lines[-1].get_xydata(), [[40.0, 20.0]])


def test_the_card_has_the_interval_and_the_numbers():
    axes = plot.card(recommendation())
    ratio = recommendation().after.packets.ratio
    assert axes.lines[0].get_xdata()[0] == pytest.approx(ratio)
    texts = [cell.get_text().get_text() for cell in axes.tables[0].get_celld().values()]
    assert {"30.0 ms", "40.0 ms", "99.9 %", "0.950"} <= set(texts)
    assert "alpha = 4, beta = 6" in axes.get_title(loc="left")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot.compare(), "one trajectory or more"),
        (lambda: plot.windows(), "one trajectory or more"),
        (lambda: plot.phase_plane(), "one trajectory or more"),
        (
            lambda: plot.compare(run(), ax=[Figure().subplots()]),
            "the number of axes must be 5, but is 1",
        ),
        (lambda: plot.phase_plane(run(), x="cwnd:nobody"), "cwnd:vegas"),
        (lambda: plot.phase_plane(run(), x="nothing"), "one of queue:bottleneck"),
        (lambda: plot.fairness_map(swept(), over=["alpha"]), "two dimensions"),
        (lambda: plot.fairness_map(swept(), metric="nothing"), "one of ratio"),
        (lambda: plot.theme("grey").__enter__(), "light or dark"),
    ],
)
def test_bad_input_is_rejected(draw, message):
    with pytest.raises(InvalidInput, match=message):
        draw()


if __name__ == "__main__":
    for name, theme in ALL:
        print(drawn(name, theme, BASELINE), file=sys.stderr)
