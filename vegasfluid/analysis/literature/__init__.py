"""Published measures: throughput formulas, utilities, fairness indices, recovery from losses."""

from __future__ import annotations

from vegasfluid.analysis.literature.assumptions import Assumption, Path, Range
from vegasfluid.analysis.literature.fairness import (
    alpha_fair_utility,
    harm,
    jain_index,
    max_min_ratio,
    unfairness,
)
from vegasfluid.analysis.literature.price import price_arguments, price_of
from vegasfluid.analysis.literature.recovery import Recovery, growth_time, recovery_time
from vegasfluid.analysis.literature.rtt_bias import rtt_exponent, rtt_exponent_of_shared_losses
from vegasfluid.analysis.literature.throughput import (
    MATHIS_RANGE,
    PFTK_RANGE,
    TFRC_RANGE,
    mathis,
    mathis_constant,
    pftk,
    tfrc,
)
from vegasfluid.analysis.literature.utility import (
    arctan_price,
    arctan_utility,
    fairness_exponent,
    utility_of,
)

__all__ = [
    "MATHIS_RANGE",
    "PFTK_RANGE",
    "TFRC_RANGE",
    "Assumption",
    "Path",
    "Range",
    "Recovery",
    "alpha_fair_utility",
    "arctan_price",
    "arctan_utility",
    "fairness_exponent",
    "growth_time",
    "harm",
    "jain_index",
    "mathis",
    "mathis_constant",
    "max_min_ratio",
    "pftk",
    "price_arguments",
    "price_of",
    "recovery_time",
    "rtt_exponent",
    "rtt_exponent_of_shared_losses",
    "tfrc",
    "unfairness",
    "utility_of",
]
