"""Real roots of cubics, and power series of roots in a small parameter, as expressions.

SymPy writes the roots of a cubic with complex numbers. If a cubic has one real root, Cardano's
formula for it needs real numbers only.

Sources:
    G. Cardano, Ars Magna, 1545, in the form of textbooks (not checked against the original). The
    choice of the branch: derived for this project.
"""

from __future__ import annotations

import sympy as sp

from vegasfluid.analysis.closed_forms.formula import Expression

__all__ = ["only_real_root", "only_solution", "root_for_small"]


def only_solution(expression: Expression, unknown: sp.Symbol) -> Expression:
    """The only value of a symbol for which an expression is zero.

    Raises:
        ValueError: if there is no such value or more than one.

    >>> x, a = sp.symbols("x a", positive=True)
    >>> only_solution(x**2 - a, x)
    sqrt(a)
    """
    (solution,) = sp.solve(expression, unknown)
    return solution


def only_real_root(cubic: Expression, unknown: sp.Symbol) -> Expression:
    """The root of a cubic with one real root, as an expression of real operations only.

    With x^3 + P x + Q the depressed cubic, it is S - P / (3 S), S^3 = sqrt(Q^2/4 + P^3/27) - Q/2.
    Both radicals in S are real if there is one real x and if P > 0 or Q < 0.

    Args:
        cubic: a polynomial of degree 3 in the unknown.
        unknown: the symbol to solve for.

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
    """A root of an equation in symbols, as a power series in a small parameter.

    Args:
        equation: a polynomial in the unknown and in the small parameter; zero at the root.
        unknown: the symbol to solve for.
        small: the parameter.
        start: the root at parameter 0, which is a simple root.
        order: power of the parameter in the last term; 0 gives `start`.

    >>> x, e = sp.symbols("x e", positive=True)
    >>> root_for_small(x**2 - 1 - e, x, e, sp.Integer(1), 2)
    -e**2/8 + e/2 + 1
    """
    root, term = start, sp.Dummy()
    for power in range(1, order + 1):
        left = sp.expand(equation.subs(unknown, root + term * small**power))
        (coefficient,) = sp.solve(left.coeff(small, power), term)
        root += sp.factor(coefficient) * small**power
    return root
