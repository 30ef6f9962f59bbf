"""Every formula by its name, in the order in which a page would have them.

Formulas that only a given law has are not here: `window_at_rest(law)`, and those of Vegas and of
fair alphas in the dialects but Linux's, which divides by another round-trip time.
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


@cache
def catalogue() -> dict[str, Formula]:
    """All formulas by name; the first call derives them, which takes some seconds.

    >>> list(catalogue())[:3]
    ['reno_window', 'reno_loss_constant', 'aimd_factor_periodic']
    """
    parts = (of_losses, of_cubic, of_vegas, of_red, of_fair_alphas, of_drop_tail, of_persistent)
    return {formula.name: formula for part in parts for formula in part()}


def of_losses() -> Iterator[Formula]:
    """Windows of the laws that know losses only."""
    yield windows_loss_based.reno_window()
    yield windows_loss_based.reno_loss_constant()
    yield windows_loss_based.aimd_factor("periodic")
    yield windows_loss_based.aimd_factor("iid")
    yield windows_loss_based.scalable_window()
    yield windows_loss_based.scalable_window("periodic")
    yield windows_loss_based.highspeed_window()


def of_cubic() -> Iterator[Formula]:
    """CUBIC without fast convergence, whose roots are short."""
    for process in reversed(LOSS_PROCESSES):
        yield windows_cubic.cubic_window(process)
        yield windows_cubic.reno_friendly_window(process)
        yield windows_cubic.cubic_crossover(process)


def of_vegas() -> Iterator[Formula]:
    """Vegas at rest."""
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


def of_red() -> Iterator[Formula]:
    """RED at rest."""
    yield red_equilibrium.red_slope()
    yield red_equilibrium.red_slope(wait=False)
    yield red_equilibrium.red_queue()
    yield red_equilibrium.red_queue_spaced()
    yield red_equilibrium.red_queue_expanded(1)
    yield red_equilibrium.red_queue_expanded(2)
    yield red_equilibrium.red_queue_per_min_thresh()


def of_fair_alphas() -> Iterator[Formula]:
    """Fair alphas over RED."""
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


def of_drop_tail() -> Iterator[Formula]:
    """Drop-tail buffers."""
    yield drop_tail.queue_after_halving()
    yield drop_tail.vegas_share()
    yield drop_tail.vegas_share_of_small_buffer()
    yield drop_tail.vegas_share_of_large_buffer()
    yield drop_tail.fair_backlog_of_small_buffer()
    yield drop_tail.fair_backlog_of_large_buffer()
    yield drop_tail.reno_utilisation()


def of_persistent() -> Iterator[Formula]:
    """Persistent congestion."""
    yield persistent.rate_with_false_base()
    yield persistent.persistent_queue()
