"""Closed forms of equilibria, derived with SymPy from the drift of each congestion control."""

from vegasfluid.analysis.closed_forms.branches import Branch, branch_at, equilibrium_drift
from vegasfluid.analysis.closed_forms.catalogue import catalogue
from vegasfluid.analysis.closed_forms.drop_tail import (
    fair_backlog,
    fair_backlog_of_large_buffer,
    fair_backlog_of_small_buffer,
    queue_after_halving,
    reno_utilisation,
    vegas_share,
    vegas_share_of_large_buffer,
    vegas_share_of_small_buffer,
)
from vegasfluid.analysis.closed_forms.fair_alpha import (
    fair_alpha_expanded,
    fair_alpha_heuristic,
    fair_alpha_lossless,
    fair_alpha_of_loss,
    fair_alpha_of_rate,
    fair_alpha_with_losses,
    largest_ratio,
    over_red,
)
from vegasfluid.analysis.closed_forms.formula import SYMBOLS, Formula, Quantity, symbol
from vegasfluid.analysis.closed_forms.persistent import (
    exact_term,
    last_over_first,
    persistent_queue,
    queue_per_alpha,
    rate_with_false_base,
)
from vegasfluid.analysis.closed_forms.red_equilibrium import (
    red_balance,
    red_queue,
    red_queue_expanded,
    red_queue_per_min_thresh,
    red_queue_spaced,
    red_slope,
)
from vegasfluid.analysis.closed_forms.windows import equilibrium_window, loss_constant
from vegasfluid.analysis.closed_forms.windows_cubic import (
    cubic_crossover,
    cubic_window,
    reno_friendly_window,
)
from vegasfluid.analysis.closed_forms.windows_loss_based import (
    aimd_factor,
    highspeed_window,
    reno_loss_constant,
    reno_window,
    scalable_window,
)
from vegasfluid.analysis.closed_forms.windows_vegas import (
    law_of_the_minimum,
    vegas_alpha,
    vegas_alpha_at_saturation,
    vegas_alpha_of_share,
    vegas_lossless_rate,
    vegas_lossless_window,
    vegas_saturated_window,
    vegas_small_alpha,
)

__all__ = [
    "SYMBOLS",
    "Branch",
    "Formula",
    "Quantity",
    "aimd_factor",
    "branch_at",
    "catalogue",
    "cubic_crossover",
    "cubic_window",
    "equilibrium_drift",
    "equilibrium_window",
    "exact_term",
    "fair_alpha_expanded",
    "fair_alpha_heuristic",
    "fair_alpha_lossless",
    "fair_alpha_of_loss",
    "fair_alpha_of_rate",
    "fair_alpha_with_losses",
    "fair_backlog",
    "fair_backlog_of_large_buffer",
    "fair_backlog_of_small_buffer",
    "highspeed_window",
    "largest_ratio",
    "last_over_first",
    "law_of_the_minimum",
    "loss_constant",
    "over_red",
    "persistent_queue",
    "queue_after_halving",
    "queue_per_alpha",
    "rate_with_false_base",
    "red_balance",
    "red_queue",
    "red_queue_expanded",
    "red_queue_per_min_thresh",
    "red_queue_spaced",
    "red_slope",
    "reno_friendly_window",
    "reno_loss_constant",
    "reno_utilisation",
    "reno_window",
    "scalable_window",
    "symbol",
    "vegas_alpha",
    "vegas_alpha_at_saturation",
    "vegas_alpha_of_share",
    "vegas_lossless_rate",
    "vegas_lossless_window",
    "vegas_saturated_window",
    "vegas_share",
    "vegas_share_of_large_buffer",
    "vegas_share_of_small_buffer",
    "vegas_small_alpha",
]
