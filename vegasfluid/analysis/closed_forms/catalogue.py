"""All formulas by name, in the order of the documentation.

Formulas for given parameters (`equilibrium_window(law)`) are not here; of the dialects of Vegas
only Linux's is, because it divides by another round-trip time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from vegasfluid.analysis.closed_forms import (
    drop_tail,
    fair_alpha,
    persistent,
    red_equilibrium,
    windows_cubic,
    windows_loss_based,
    windows_vegas,
)
from vegasfluid.analysis.closed_forms.formula import Formula
from vegasfluid.congestion.base import LOSS_PROCESSES
from vegasfluid.congestion.vegas import Vegas

__all__ = ["catalogue"]

LINUX = Vegas(dialect="linux")
"""The dialect of Vegas whose formulas the catalogue has besides those for every dialect."""


@cache
def catalogue() -> dict[str, Formula]:
    """All closed forms by name, such as `reno_window`; the first call derives them (some seconds).

    >>> list(catalogue())[:3]
    ['reno_window', 'reno_loss_constant', 'aimd_factor_periodic']
    """
    parts = (
        loss_based_formulas,
        cubic_formulas,
        vegas_formulas,
        red_formulas,
        fair_alpha_formulas,
        drop_tail_formulas,
        persistent_formulas,
    )
    return {formula.name: formula for part in parts for formula in part()}


def loss_based_formulas() -> Iterator[Formula]:
    """Yield formulas of loss-based controls: equilibrium windows of Reno, Scalable TCP and
    HighSpeed TCP (packets), the constant c = W sqrt(p) of Reno (packets), and the factor phi on
    the loss rate (no unit) for periodic and for independent losses, with additive increase.
    """
    yield windows_loss_based.reno_window()
    yield windows_loss_based.reno_loss_constant()
    yield windows_loss_based.aimd_factor("periodic")
    yield windows_loss_based.aimd_factor("iid")
    yield windows_loss_based.scalable_window()
    yield windows_loss_based.scalable_window("periodic")
    yield windows_loss_based.highspeed_window()


def cubic_formulas() -> Iterator[Formula]:
    """Yield CUBIC's equilibrium windows (packets) and its crossover drop probability.

    There is one of each for every loss process. Formulas with fast convergence are left out, as
    their roots are long.
    """
    for process in reversed(LOSS_PROCESSES):
        yield windows_cubic.cubic_window(process)
        yield windows_cubic.reno_friendly_window(process)
        yield windows_cubic.cubic_crossover(process)


def vegas_formulas() -> Iterator[Formula]:
    """Yield formulas for equilibrium windows (packets), rates (packets/s) and alphas of Vegas."""
    yield windows_vegas.vegas_lossless_window()
    yield windows_vegas.vegas_lossless_rate()
    yield windows_vegas.vegas_lossless_window(LINUX)
    yield windows_vegas.vegas_lossless_rate(LINUX)
    yield windows_vegas.vegas_alpha()
    yield windows_vegas.vegas_small_alpha()
    yield windows_vegas.vegas_saturated_window()
    yield windows_vegas.law_of_the_minimum()
    yield windows_vegas.vegas_alpha_at_saturation()
    yield windows_vegas.vegas_alpha_of_share()


def red_formulas() -> Iterator[Formula]:
    """Yield formulas for RED's equilibrium queue (packets) and drop slope (1/packets)."""
    yield red_equilibrium.red_slope()
    yield red_equilibrium.red_slope(wait=False)
    yield red_equilibrium.red_queue()
    yield red_equilibrium.red_queue_spaced()
    yield red_equilibrium.red_queue_linux()
    yield red_equilibrium.red_queue_expanded(1)
    yield red_equilibrium.red_queue_expanded(2)
    yield red_equilibrium.red_queue_per_min_thresh()


def fair_alpha_formulas() -> Iterator[Formula]:
    """Yield formulas for the alpha (packets) that gives Vegas a wanted ratio of rates over RED."""
    yield fair_alpha.fair_alpha_lossless()
    yield fair_alpha.fair_alpha_lossless(LINUX)
    yield fair_alpha.over_red(fair_alpha.fair_alpha_lossless())
    yield fair_alpha.fair_alpha_with_losses()
    yield fair_alpha.fair_alpha_with_losses(LINUX)
    yield fair_alpha.largest_ratio()
    yield fair_alpha.fair_alpha_of_rate()
    yield fair_alpha.fair_alpha_of_loss()
    yield fair_alpha.fair_alpha_heuristic()
    yield fair_alpha.fair_alpha_expanded(1)
    yield fair_alpha.fair_alpha_expanded(2)


def drop_tail_formulas() -> Iterator[Formula]:
    """Yield formulas for one Reno flow at a drop-tail buffer, with one Vegas flow and alone.

    With Vegas: the queue after a halving and the fair backlogs (packets), and Vegas's fraction of
    the link. Alone: the fraction of the capacity that Reno uses.
    """
    yield drop_tail.queue_after_halving()
    yield drop_tail.vegas_share()
    yield drop_tail.vegas_share_of_small_buffer()
    yield drop_tail.vegas_share_of_large_buffer()
    yield drop_tail.fair_backlog_of_small_buffer()
    yield drop_tail.fair_backlog_of_large_buffer()
    yield drop_tail.reno_utilisation()


def persistent_formulas() -> Iterator[Formula]:
    """Yield formulas for the rate (packets/s) and the queue (packets) of Vegas flows that join one
    by one, so that each base RTT includes the queue at that time.
    """
    yield persistent.rate_with_false_base()
    yield persistent.persistent_queue()
