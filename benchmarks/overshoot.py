"""The effect of ns-2's overshoot of slow start, reproduced by one wrong base RTT per network.

    python -m benchmarks.overshoot [--json] [--full]

If slow start fills the buffer (initial ssthresh 1e5), ns-2's Vegas uses rounds without a valid
sample as round-trip times, and its base RTT becomes too small. A part of the backlog that it then
keeps at alpha is propagation. In this benchmark the fluid model starts gently, and its Vegas
senders start with a wrong base RTT, one for all alpha of a network, fitted to ns-2's ratios by
least squares of their logarithms. The figures are this base RTT relative to the true one, and the
difference from ns-2's ratios with the true and the wrong one: the worst where ns-2's ratio is
between 0.2 and 2, and the mean; `--full` adds each row by name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.harness import Figures, run
from benchmarks.ns2_rows import NS2Row, model_of, ns2_rows
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.fluid import record_fluid
from vegasfluid.run_options import DEFAULT_SAMPLES
from vegasfluid.tuning.measurement import summary

__all__ = ["TUNED", "fitted", "measure", "overshoots", "ratio", "true_base_rtt"]

TUNED = "vegas"
GENTLE = 64.0
"""Initial ssthresh of a start that overshoots nothing, packets (ns-2's `gentle_start` rows)."""
WANTED = 0.1
SMALLEST = 0.05
"""The smallest base RTT that is tried, in units of the true one."""


def overshoots() -> dict[int, list[NS2Row]]:
    """ns-2's runs with an overshoot, by network; one seed of each, waiting between drops."""
    found: dict[int, list[NS2Row]] = {}
    for row in ns2_rows():
        if not row.gentle_start and row.wait and not row.name.endswith(("_s2", "_s3")):
            found.setdefault(row.network, []).append(row)
    return found


def true_base_rtt(row: NS2Row) -> float:
    """Of the row's Vegas flows, s."""
    return model_of(row).network.base_rtts(TUNED)[0]


def ratio(row: NS2Row, part: float) -> float:
    """The fluid's ratio, started gently, with a base RTT of `part` times the true one."""
    model = model_of(row._replace(initial_ssthresh=GENTLE))
    base_rtts = {TUNED: part * true_base_rtt(row)} if part < 1 else None
    recording = record_fluid(model.network, model.duration, DEFAULT_SAMPLES, base_rtt=base_rtts)
    return summary(recording, TUNED, model.warmup)["ratio"]


def differences(rows: list[NS2Row], part: float) -> dict[str, float]:
    """Return ln(fluid's ratio / ns-2's) by row."""
    return {row.name: math.log(ratio(row, part) / row.ratio) for row in rows}


def fitted(rows: list[NS2Row], tolerance: float) -> float:
    """Wrong base RTT that fits these rows best, relative to the true one."""

    def loss(part: float) -> float:
        return float(np.sum(np.square(list(differences(rows, part).values()))))

    minimum: Any = minimize_scalar(
        loss, bounds=(SMALLEST, 0.999), method="bounded", options={"xatol": tolerance}
    )
    return float(minimum.x)


def measure(full: bool) -> Figures:
    """Return the differences with true and with fitted base RTTs, for each network."""
    keep_compiled_equations()
    figures = Figures()
    for network, rows in overshoots().items():
        name, part = f"overshoot.network{network}", fitted(rows, 0.002 if full else 0.01)
        figures.add(f"{name}.base_rtt_over_true", part)
        for base, factor in (("true", 1.0), ("false", part)):
            found = {
                row_name: math.expm1(value) for row_name, value in differences(rows, factor).items()
            }
            sizes = [abs(value) for value in found.values()]
            fair = [abs(found[row.name]) for row in rows if 0.2 <= row.ratio <= 2]
            target = WANTED if base == "false" else None
            figures.add(f"{name}.with_{base}.worst_ratio", max(fair), at_most=target)
            figures.add(f"{name}.with_{base}.mean_ratio", float(np.mean(sizes)))
            if full:
                for row_name, value in found.items():
                    figures.add(f"{name}.with_{base}.{row_name}", value)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
