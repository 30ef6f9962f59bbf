"""The number of flows that were not measured, by a fit of the fluid model, beside `observe`.

    python -m benchmarks.observe.fluid_fit [--json] [--full]

`observe` counts them from moments of the measurement. Here the fluid model of the network that it
finds from `ss` and `tc` is fitted to the same traces: others of Reno, CUBIC or Vegas (each alone),
whose number minimises the squared differences of logarithms between the fluid's means and the
measured ones (goodput of each measured class, queue, drop fraction), from three starts, with exact
derivatives. The kind is the one of the least misfit; intervals are Laplace's.

`fit.within` is the fraction of numbers within 1 or 20 %, `fit.covered` of 90 % intervals with the
true number, `fit.kind` of networks in which the kind is the commonest of the flows not measured;
`assumed.within` is `fit.within` with the kind that `observe` assumes, and `moments.*` are the
figures of `observe`. `fit.alike` is the fraction of fits in which the misfits of the best two kinds
differ by less than 1, so that the means do not distinguish them. `later.*` are networks that were
run after numbers of `observe` had been chosen. `scaled.change` is the largest relative change of
the goodput of a flow where a network of 2 Reno and 2 Vegas flows has twice the capacity, buffer
and flows: where the capacity is not known, the rate of a flow hardly shows how many there are.
Without `--full`, every sixth network.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

from benchmarks.harness import Figures, run
from benchmarks.observe.__main__ import CHOSEN_ON, COUNT, ONE, found_in
from benchmarks.observe.traces import Trace, traces
from vegasfluid import modelfile, observe
from vegasfluid.fluid import build
from vegasfluid.fluid.output import totals_after_warmup
from vegasfluid.network import Network
from vegasfluid.observe import NetworkEstimate
from vegasfluid.observe.estimated import NORMAL_QUANTILE

__all__ = ["fitted", "measure"]

KINDS = ("reno", "cubic", "vegas")
VEGAS = "alpha_packets = 2, beta_packets = 4, gamma_packets = 1, dialect = 'linux'"
"""Linux's parameters of Vegas."""
UNTIL, WARMUP = 40.0, 15.0
"""Length of a fluid run and of its beginning that is left out, s."""
GOODPUT, QUEUE, DROPS = 0.15, 0.3, 0.5
"""Standard deviations of the logarithms of a flow's goodput, of the queue and of the drop fraction:
chosen, as rough sizes of the differences between fluid and kernel."""
SMALL_QUEUE, SMALL_DROPS = 2.0, 1e-4
"""Packets and fraction that are added before logarithms are taken."""
FEWEST, MOST = 0.3, 60.0
"""Range of the number of others."""
STARTS = (1.0, 2.0, 0.5)
"""Starts, relative to the number that `observe` finds."""
ALIKE = 1.0
"""Difference of misfits (sums of squared standard deviations) that distinguishes nothing."""
EVERY = 6
"""Step between the networks of the quick version."""


class Fit(NamedTuple):
    """Fitted number of others of one kind: its logarithm, the error of this, and the misfit."""

    log_count: float
    error: float
    misfit: float

    def is_covered(self, true: float) -> bool:
        """Whether the 90 % interval contains the true number."""
        return abs(self.log_count - np.log(true)) <= NORMAL_QUANTILE * self.error


class Means(NamedTuple):
    """Means of a measurement: goodput of a flow of each measured class (packets/s), flows of each
    class, packets in the queue, and fraction of the packets that were dropped.
    """

    goodput: np.ndarray
    flows: np.ndarray
    queue: float
    drops: float


def measured(trace: Trace, found: NetworkEstimate) -> Means:
    """Means of a trace from 5 s on."""
    queue = trace.queue
    after = queue["t"] >= queue["t"][0] + 5.0
    dropped, packets = (float(np.ptp(queue[name][after])) for name in ("drops", "packets"))
    return Means(
        np.array([each.goodput for each in found.classes]),
        np.array([len(each.flows) for each in found.classes]),
        float(queue["qlen"][after].mean()),
        dropped / (dropped + packets),
    )


def network_with(found: NetworkEstimate, kind: str) -> Network:
    """The network that `observe` finds, with one flow of a kind that was not measured."""
    law = f"law = {{ name = '{kind}'{', ' + VEGAS if kind == 'vegas' else ''} }}"
    head, others = observe.model_text(found, add_vegas=False).split("[flows.others]")
    lines = [law if line.startswith("law") else line for line in others.splitlines()]
    network = modelfile.loads(head + "[flows.others]" + "\n".join(lines)).network
    flows = {name: replace(each, start=0.5) for name, each in network.flows.items()}
    flows["others"] = replace(flows["others"], count=1)
    return replace(network, flows=flows)


def residuals_of(network: Network, means: Means) -> Callable[[Any], tuple[Any, Any]]:
    """Residuals and their derivatives, a compiled function of log(number of others)."""
    model = build(network).as_floats()
    grid = model.time_grid(UNTIL)
    weights = np.sqrt(means.flows) / GOODPUT

    def residuals(log_count: Any) -> Any:
        """Differences of logarithms from the measured means, in standard deviations."""
        groups = model.parameters.groups
        groups = groups._replace(count=groups.count.at[-1].set(jnp.exp(log_count)))
        changed = replace(model, parameters=model.parameters._replace(groups=groups))
        solution, field = changed.integrate(grid), changed.vector_field
        totals = totals_after_warmup(field.saved.unpack(solution.ys), field, UNTIL, WARMUP)
        measured = list(model.structure.class_slices)[:-1]
        goodput = jnp.stack(
            [jnp.average(totals.goodput[part], weights=groups.count[part]) for part in measured]
        )
        drops = totals.over_path((0,)).drop_share + SMALL_DROPS
        queue = (totals.mean_queue[0] + SMALL_QUEUE) / (means.queue + SMALL_QUEUE)
        return jnp.concatenate(
            [
                weights * jnp.log(jnp.maximum(goodput, 1e-3) / means.goodput),
                jnp.log(queue)[None] / QUEUE,
                jnp.log(drops / (means.drops + SMALL_DROPS))[None] / DROPS,
            ]
        )

    return jax.jit(lambda x: (residuals(x), jax.jacfwd(residuals)(x)))


def fitted(network: Network, means: Means, start: float) -> Fit:
    """The number of others in a network that fits measured means best, from several starts."""
    function, known = residuals_of(network, means), {}

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals and derivatives at a point; each is computed once."""
        key = float(x[0])
        if key not in known:
            known[key] = tuple(np.nan_to_num(np.asarray(each), nan=1e3) for each in function(key))
        return known[key]

    ends = float(np.log(FEWEST)), float(np.log(MOST))
    results = [
        least_squares(
            lambda x: at(x)[0],
            [np.clip(np.log(start * factor), ends[0] + 1e-3, ends[1] - 1e-3)],
            jac=cast(Any, lambda x: at(x)[1][:, None]),
            bounds=ends,
            xtol=1e-3,
            ftol=1e-3,
            max_nfev=12,
        )
        for factor in STARTS
    ]
    best = min(results, key=lambda each: each.cost)
    slope = at(best.x)[1]
    return Fit(float(best.x[0]), float(slope @ slope + 1e-12) ** -0.5, 2.0 * best.cost)


def outcomes(trace: Trace) -> dict[str, float]:
    """Whether the numbers of a network with unmeasured flows are right, as 0 or 1; and seconds."""
    begin = time.perf_counter()
    found = found_in(trace, "tc")
    assert found.competitors is not None
    start = float(found.competitors.count.value or 1)
    means = measured(trace, found)
    fits = {kind: fitted(network_with(found, kind), means, start) for kind in KINDS}
    kinds = [each["algo"] for each in trace.scenario["flows"]]
    hidden = Counter(k for n, k in enumerate(kinds) if n not in trace.scenario["measured"])
    true = hidden.total()
    best = min(fits, key=lambda kind: fits[kind].misfit)
    misfits = sorted(fit.misfit for fit in fits.values())

    def is_near(count: float) -> bool:
        """Whether a number is near the true one; there is at least one other flow."""
        return abs(max(count, 1.0) - true) <= max(ONE, COUNT * true)

    assumed = fits.get(found.competitors.control, fits["cubic"])
    return {
        "fit.within": is_near(np.exp(fits[best].log_count)),
        "fit.covered": fits[best].is_covered(true),
        "fit.kind": hidden[best] == max(hidden.values()),
        "fit.alike": misfits[1] - misfits[0] < ALIKE,
        "fit.seconds": time.perf_counter() - begin,
        "assumed.within": is_near(np.exp(assumed.log_count)),
        "moments.within": is_near(start),
        "moments.kind": hidden[found.competitors.control] == max(hidden.values()),
        "moments.covered": found.competitors.count.low <= true <= found.competitors.count.high,
    }


SCALED = """
duration_s = 60
[bottleneck]
capacity_mbps = {capacity}
buffer_packets = {capacity}
[flows.reno]
count = {count}
base_rtt_ms = 40
law = {{ name = "reno" }}
[flows.vegas]
count = {count}
base_rtt_ms = 40
law = {{ name = "vegas", {vegas} }}
"""
"""A network whose capacity, buffer and numbers of flows change together."""


def change_when_scaled() -> float:
    """Largest relative change of a flow's goodput in a network of twice the size."""
    goodput = []
    for size in (1, 2):
        text = SCALED.format(capacity=40 * size, count=2 * size, vegas=VEGAS)
        model = build(modelfile.loads(text).network)
        goodput.append(np.asarray(model.goodput(model.solve(60.0, warmup=20.0))))
    return float(np.abs(goodput[1] / goodput[0] - 1).max())


def measure(full: bool) -> Figures:
    """All figures."""
    figures, rows = Figures(), defaultdict(list)
    hidden = [t for t in traces() if len(t.scenario["flows"]) > len(t.scenario["measured"])]
    for trace in hidden[:: 1 if full else EVERY]:
        prefix = "" if trace.number <= CHOSEN_ON else "later."
        for name, value in outcomes(trace).items():
            rows[prefix + name].append(value)
    for name, values in rows.items():
        figures.add(name, float(np.mean(values)))
    for prefix in ("", "later."):
        figures.add(f"{prefix}networks", len(rows[f"{prefix}fit.within"]))
    figures.add("scaled.change", change_when_scaled())
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
