"""Roots of cubics, and roots for small parameters, as expressions.

SymPy's own roots of a cubic go through complex numbers; where a cubic has one real root, Cardano's
formula can be written so that everything in it is real.

Sources:
    G. Cardano, Ars Magna, 1545, in today's textbook form (not checked against the original). The
    choice of the branch: derived for this project.
"""

from __future__ import annotations

import sympy as sp

from vegasfluid.analysis.closed_forms.formula import Expression

__all__ = ["only_real_root", "root_for_small"]


def only_real_root(cubic: Expression, unknown: sp.Symbol) -> Expression:
    """The root of a cubic that has one real root, by real operations only.

    With x^3 + P x + Q the depressed cubic, it is S - P / (3 S), S^3 = sqrt(Q^2/4 + P^3/27) - Q/2.
    Both roots in S are real where there is one real x and, besides, P > 0 or Q < 0.

    Args:
        cubic: in the unknown, of degree 3.
        unknown: for which the cubic is 0.

    >>> x, a = sp.symbols("x a", positive=True)
    >>> only_real_root(x**3 - a, x)
    a**(1/3)
    """
    _, a, b, c = sp.Poly(cubic, unknown).monic().all_coeffs()
    linear: Expression = sp.factor(b - a**2 / 3)
    constant: Expression = sp.factor(2 * a**3 / 27 - a * b / 3 + c)
    under = sp.factor(constant**2 / 4 + linear**3 / 27)
    part = sp.cbrt(sp.sqrt(under) - constant / 2)
    return part - linear / (3 * part) - a / 3


def root_for_small(
    equation: Expression, unknown: sp.Symbol, small: sp.Symbol, start: Expression, order: int
) -> Expression:
    """A root as a power series of a small parameter, term by term.

    Args:
        equation: a polynomial in the unknown and in the small parameter.
        unknown: for which the equation is 0.
        small: the parameter.
        start: the root where the parameter is 0, a simple one.
        order: of the last term.

    >>> x, e = sp.symbols("x e", positive=True)
    >>> root_for_small(x**2 - 1 - e, x, e, sp.Integer(1), 2)
    -e**2/8 + e/2 + 1
    """
    root, term = start, sp.Dummy()
    for power in range(1, order + 1):
        left = sp.expand(equation.subs(unknown, root + term * small**power))
        (found,) = sp.solve(left.coeff(small, power), term)
        root += sp.factor(found) * small**power
    return root
