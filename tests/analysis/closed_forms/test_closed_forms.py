"""The closed forms against formulas typed from the theory sheet, and how each can be used."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

from vegasfluid.analysis import closed_forms as forms
from vegasfluid.analysis.closed_forms import branches
from vegasfluid.analysis.closed_forms.formula import quantities
from vegasfluid.analysis.closed_forms.roots import only_real_root, root_for_small
from vegasfluid.congestion.base import Window
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import InvalidInput

NAMES = (
    *("cwnd", "rtt", "base_rtt", "drop_prob", "capacity", "queue", "count", "alpha", "cut"),
    *("loss_factor", "loss_constant", "min_thresh", "max_thresh", "max_drop", "slope", "ratio"),
    *("buffer", "backlog", "rate", "competitors", "tuned"),
)
W, R, T, p, C, q, N, alpha, b, phi, c, low, high, top, L, r, B, d, x, N_r, N_v = map(
    forms.symbol, NAMES
)
OTHER = quantities(
    ("cubic_c", "C_cubic", "", ""),
    ("increase", "a", "", ""),
    ("softness", "epsilon", "", ""),
    ("share", "s", "", ""),
    ("lowest", "q_low", "", ""),
    ("filling", "beta_B", "", ""),
    ("false_queue", "q_0", "", ""),
    ("queue_per_alpha", "u", "", ""),
    ("low_window", "W_low", "", ""),
    ("high_window", "W_high", "", ""),
    ("low_prob", "p_low", "", ""),
    ("high_prob", "p_high", "", ""),
)
K, a, eps, s, low_q, beta, q_0, u, W_low, W_high, p_low, p_high = (
    item.symbol for item in OTHER.values()
)
y, A = C * T + q, C * T + low
recovering = 1 - phi * b * p * W**2
THREE_QUARTERS = sp.Rational(3, 4)

TYPED = {
    "reno_window": sp.sqrt(2 / (phi * p)),
    "reno_loss_constant": sp.sqrt(2 / phi),
    "aimd_factor_periodic": 2 / (2 - b),
    "aimd_factor_iid": 2 / (2 - b) * (1 - b / 4),
    "scalable_window": a / (b * p),
    "scalable_window_periodic": a / (p * sp.log(1 / (1 - b))),
    "highspeed_window": W_low
    * (p / p_low) ** (sp.log(W_high / W_low) / sp.log(p_high / p_low)),
    "cubic_window_meanfield": (K / b) ** sp.Rational(1, 4) * (R / p) ** THREE_QUARTERS,
    # (C (3 + beta) / (4 (1 - beta)))^(1/4) (R / p)^(3/4), beta = 1 - b
    "cubic_window_periodic": (K * (4 - b) / (4 * b)) ** sp.Rational(1, 4)
    * (R / p) ** THREE_QUARTERS,
    "cubic_window_reno_friendly_meanfield": sp.sqrt(3 / ((2 - b) * p)),
    "cubic_window_reno_friendly_periodic": sp.sqrt(sp.Rational(3, 2) / p),
    "cubic_crossover_periodic": sp.Rational(4, 9) * K * (4 - b) / (4 * b) * R**3,
    "vegas_lossless_window": alpha * R / (R - T),
    "vegas_lossless_rate": alpha * C / q,
    "vegas_lossless_window_linux": (alpha + sp.Rational(1, 2)) * T / (R - T),
    "vegas_lossless_rate_linux": (alpha + sp.Rational(1, 2)) * (C / q) * T / (T + q / C),
    "vegas_alpha": W * (R - T) / R * (1 - b / 2 * sp.log(recovering)),
    "vegas_small_alpha": W * (R - T) / R - eps * sp.log(recovering),
    "vegas_saturated_window": 1 / sp.sqrt(phi * b * p),
    "law_of_the_minimum": sp.Min(alpha * R / (R - T), 1 / sp.sqrt(phi * b * p)),
    "vegas_alpha_at_saturation": (1 - T / R) / sp.sqrt(phi * b * p),
    "vegas_alpha_of_share": s * (1 - T / R) / sp.sqrt(phi * b * p) * (1 - b / 2 * sp.log(1 - s**2)),
    "red_slope": sp.Rational(2, 3) * top / (high - low),
    "red_slope_no_wait": 2 * top / (high - low),
    "red_queue_expanded_1": low + c**2 * N**2 / (L * A**2),
    "red_queue_expanded_2": low + c**2 * N**2 / (L * A**2) - 2 * c**4 * N**4 / (L**2 * A**5),
    "red_queue_per_min_thresh": y / (y + 2 * (q - low)),
    "fair_alpha_lossless": r * q / (N_r + r * N_v),
    "fair_alpha_lossless_linux": r * q / (N_r + r * N_v) * (1 + q / (C * T)) - sp.Rational(1, 2),
    "fair_alpha_with_losses": r * q / (N_r + r * N_v)
    * (1 - b / 2 * sp.log(1 - phi * b * c**2 * r**2)),
    "largest_ratio": 1 / (c * sp.sqrt(phi * b)),
    "fair_alpha_of_rate": x * q / C,
    "fair_alpha_of_loss": c / sp.sqrt(p) * q / C / R,
    "fair_alpha_heuristic": low / N,
    "fair_alpha_expanded_1": low / N + c**2 * N / (L * A**2),
    "vegas_share_of_small_buffer": (B + 3 * d) / (4 * B),
    "vegas_share_of_large_buffer": 4 * d / (3 * B + d),
    "fair_backlog_of_small_buffer": B / 3,
    "fair_backlog_of_large_buffer": 3 * B / 7,
    "reno_utilisation": sp.Rational(3, 4) * (1 + beta) ** 2 / (1 + beta + beta**2),
    "rate_with_false_base": alpha * C / (q - q_0),
    "persistent_queue": alpha * u,
}  # fmt: skip
"""As the theory sheet has them, sections 3, 5 (b to e, g, h), 8 and 9; or as laws' sources do."""

HALVED = (B - d) * (C * T + B) / B / 2
LESS = C * T - d - HALVED
LOWEST = (-LESS + sp.sqrt(LESS**2 + 4 * d * C * T)) / 2

BY_NUMBERS = (
    *("cubic_window_iid", "cubic_window_reno_friendly_iid", "cubic_crossover_iid"),
    *("cubic_crossover_meanfield", "red_queue", "red_queue_spaced", "vegas_share"),
    "red_queue_linux",
    *("queue_after_halving", "fair_alpha_lossless_over_red", "fair_alpha_expanded_2"),
    "fair_alpha_with_losses_linux",
)
"""What has no one-line form on the sheet: zeros of drifts, sought by numbers, are its test."""

ROOTS_OF_CUBICS = {
    "red_queue": L * (q - low) * y**2 - c**2 * N**2,
    "red_queue_spaced": (2 * top * (q - low)) * y**2
    - c**2 * N**2 * (3 * (high - low) - top * (q - low)),
    "red_queue_linux": (2 * top * (q - low)) * y**2 - c**2 * N**2 * (high - low + top * (q - low)),
}

POINT = {
    **{"cwnd": 40.0, "rate": 300.0, "rtt": 0.13, "base_rtt": 0.1, "drop_prob": 2e-4},
    **{"capacity": 1000.0, "queue": 30.0, "buffer": 100.0, "count": 20.0, "competitors": 12.0},
    **{"tuned": 8.0, "ratio": 0.9, "alpha": 5.0, "backlog": 40.0, "cut": 0.25, "slope": 1e-3},
    **{"loss_constant": 1.3, "loss_factor": 1.1, "min_thresh": 20.0, "max_thresh": 80.0},
    **{"max_drop": 0.1, "cubic_c": 0.4, "increase": 0.01, "softness": 0.25, "share": 0.7},
    **{"lowest": 60.0, "filling": 0.5, "false_queue": 10.0, "queue_per_alpha": 2.6},
    **{"low_window": 38.0, "high_window": 83000.0, "low_prob": 1e-3, "high_prob": 1e-7},
}


def every_formula(function):
    return pytest.mark.parametrize("name", [*TYPED, *BY_NUMBERS])(function)


def values(formula: forms.Formula) -> list[float]:
    return [POINT[name] for name in formula.arguments]


def same(first: sp.Expr, second: sp.Expr) -> bool:
    """Whether two expressions are one: by SymPy where it can decide."""
    apart = sp.expand_log(sp.log(first) - sp.log(second), force=True)
    return sp.simplify(apart) == 0 or sp.simplify(first - second) == 0


@pytest.mark.parametrize("name", TYPED)
def test_the_formula_is_that_of_the_theory_sheet(name):
    assert same(forms.catalogue()[name].expression, TYPED[name])


@pytest.mark.parametrize("name", ROOTS_OF_CUBICS)
def test_the_root_of_a_cubic_is_one(name):
    """With rationals for symbols, so that SymPy can prove it."""
    numbers = {C: 1000, T: sp.Rational(1, 10), N: 20, c: 1, low: 20, high: 80}
    numbers |= {top: sp.Rational(1, 10), L: sp.Rational(1, 1000)}
    root = forms.catalogue()[name].expression.subs(numbers)
    assert root.is_real
    expected = sp.Poly(ROOTS_OF_CUBICS[name].subs(numbers), q).monic()
    assert sp.Poly(sp.minimal_polynomial(root, q), q).monic() == expected


def test_the_queue_after_halving_is_that_of_the_theory_sheet():
    formula = forms.queue_after_halving().expression
    for part, path in ((2, 3), (1, 20), (4, sp.Rational(1, 7))):
        numbers = {B: 100, C: 1000, T: sp.Rational(path) / 10, d: 20 * part}
        assert sp.simplify((formula - LOWEST).subs(numbers)) == 0


def test_vegas_share_is_the_theory_sheets_integral():
    """Int k/q dt / Int dt, dt = (CT + q)(1 + k CT / q^2) dq."""
    time = sp.expand((C * T + q) * (1 + d * C * T / q**2))
    share = forms.vegas_share().expression
    top_, bottom = (sp.integrate(item, (q, low_q, B)) for item in (sp.expand(time * d / q), time))
    assert sp.simplify(share - top_ / bottom) == 0


def test_every_formula_has_a_test():
    assert set(forms.catalogue()) == {*TYPED, *BY_NUMBERS}


def test_linuxs_alpha_is_the_textbooks_times_rtt_over_base():
    """But for where the dialects round."""
    laws = [Vegas(dialect=name) for name in ("linux", "brakmo")]
    for formula in (forms.fair_alpha_lossless, forms.fair_alpha_with_losses):
        kernel, textbook = (formula(law).expression + sp.Rational(1, 2) for law in laws)
        assert sp.simplify(kernel / textbook - (1 + q / (C * T))) == 0


def test_the_whole_cubic_is_the_theory_sheets():
    assert sp.expand(forms.red_balance() - (L * (q - low) * y**2 - c**2 * N**2)) == 0


def test_the_third_order_of_the_queue():
    """Lagrange: e = g / (A + e)^2 has e = g/A^2 - 2 g^2/A^5 + 7 g^3/A^8."""
    third = forms.red_queue_expanded(3).expression - forms.red_queue_expanded(2).expression
    assert sp.simplify(third - 7 * (c**2 * N**2 / L) ** 3 / A**8) == 0


@every_formula
def test_a_formula_has_a_description(name):
    formula = forms.catalogue()[name]
    assert formula.name == name
    for text in (formula.description, formula.validity, formula.source):
        assert len(text) > 3
    assert set(formula.arguments) <= set(POINT)
    assert not formula.expression.free_symbols - {item.symbol for item in formula.known.values()}
    assert formula.unit == formula.known[formula.quantity].unit


@every_formula
def test_its_text_reads_back(name):
    formula = forms.catalogue()[name]
    left, _, right = formula.text().partition(" = ")
    names = {str(item.symbol): item.symbol for item in formula.known.values()}
    assert names[left] == formula.lhs
    assert (sp.sympify(right, locals=names) - formula.expression).equals(0)


@every_formula
def test_its_latex_is_balanced(name):
    text = forms.catalogue()[name].latex()
    assert forms.catalogue()[name]._repr_latex_() == rf"$\displaystyle {text}$"  # in notebooks
    depth = np.cumsum([{"{": 1, "}": -1}.get(sign, 0) for sign in text.replace(r"\{", "")])
    assert depth.min() >= 0
    assert depth[-1] == 0
    assert text.count(r"\left") == text.count(r"\right")
    left, _, right = text.partition(" = ")
    assert left
    assert right


@every_formula
def test_it_computes_a_number_alike_everywhere(name):
    """NumPy, JAX (also traced arrays) and SymPy's own 30 digits."""
    formula = forms.catalogue()[name]
    point = dict(zip(formula.arguments, values(formula), strict=True))
    there = {formula.known[item].symbol: sp.Rational(str(value)) for item, value in point.items()}
    exact = float(formula.expression.subs(there).evalf(30))
    assert np.isfinite(exact)
    assert exact > 0
    assert float(formula(**point)) == pytest.approx(exact, rel=1e-12)
    with_jax = formula.compiled("jax")
    assert float(with_jax(*values(formula))) == pytest.approx(exact, rel=1e-12)
    traced = with_jax(*(jnp.asarray([value, value]) for value in values(formula)))
    assert np.broadcast_to(np.asarray(traced), (2,)) == pytest.approx(exact, rel=1e-12)


def test_names_are_unique_and_their_order_stays():
    names = list(forms.catalogue())
    assert len(names) == len(set(names)) == len(forms.catalogue())
    assert names[0] == "reno_window"
    assert names[-1] == "persistent_queue"


def test_a_branch_is_that_of_its_witness():
    x_, y_ = sp.symbols("x y", positive=True)
    kinked = sp.Max(x_, 0.1 * y_) * sp.Min(3.0, sp.Max(x_ - y_, 0.5))
    for at, expected in (
        ({x_: 1, y_: 20}, y_ / 20),
        ({x_: 2, y_: 1}, x_ * (x_ - y_)),
        ({x_: 9, y_: 1}, 3 * x_),
    ):
        branch = branches.branch_at(kinked, at)
        assert sp.simplify(branch.expression - expected) == 0
        assert all(condition.subs(at) > 0 for condition in branch.conditions)
        assert not branch.expression.atoms(sp.Float)


def test_a_witness_must_be_off_the_edge_and_complete():
    x_, y_ = sp.symbols("x y", positive=True)
    with pytest.raises(
        InvalidInput, match=r"witness must be a point at which the arguments of Max\(x, y\)"
    ):
        branches.branch_at(sp.Max(x_, y_), {x_: 1, y_: 1})
    with pytest.raises(InvalidInput, match=r"witness must be a number for all symbols of Max"):
        branches.branch_at(sp.Max(x_, y_), {x_: 1})


def test_a_root_of_a_cubic_is_real_and_right():
    z = sp.Symbol("z")
    random = np.random.default_rng(1)
    for _ in range(20):
        first, second = (sp.Rational(int(item), 16) for item in random.integers(-40, 40, 2))
        # (z^2 + z f + f^2/4 + 1)(z - root): one real root, with P above 0 or not
        cubic = sp.expand((z**2 + first * z + first**2 / 4 + 1) * (z - second))
        depressed = sp.Poly(cubic.subs(z, z - sp.Poly(cubic, z).all_coeffs()[1] / 3), z)
        _, _, linear, constant = depressed.all_coeffs()
        if linear > 0 or constant < 0:  # as the function says
            assert float(only_real_root(cubic, z)) == pytest.approx(float(second), abs=1e-12)


def test_a_root_for_a_small_parameter_is_a_series():
    z, small = sp.symbols("z e", positive=True)
    found = root_for_small(z**2 + small * z - 4, z, small, sp.Integer(2), 4)
    series = sp.series(-small / 2 + sp.sqrt(4 + small**2 / 4), small, 0, 5).removeO()
    assert sp.expand(found - series) == 0


def test_equilibrium_drifts_have_their_conditions():
    at = {W: 10, R: 0.1, p: 1e-2}
    drift = forms.equilibrium_drift(
        Reno(), Window(W, sp.Integer(0)), branches.equilibrium_signals(), at
    )
    assert drift["slow_start"].expression == 0
    assert sp.simplify(drift["cwnd"].expression - (1 / R - W * W * p / R / 2)) == 0


def test_invalid_numbers():
    with pytest.raises(InvalidInput, match="exact_term: number must be from 1 to 3"):
        forms.exact_term(4)
    for invalid in (0, 2.5):
        with pytest.raises(InvalidInput, match="number must be a whole number, at least 1"):
            forms.queue_per_alpha(invalid)
    with pytest.raises(InvalidInput, match="fair_backlog: base_rtt must be above 0"):
        forms.fair_backlog(10.0, 100.0, 0.0)
