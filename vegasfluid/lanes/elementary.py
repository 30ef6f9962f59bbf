"""Exponentials, logarithms and powers of doubles, written with arithmetic only.

The same code is used for vectors of any width and for GPUs, for which LLVM lacks these functions.
Errors are a few units in the last place; those of a power grow with the size of its logarithm.
`tests/lanes/test_elementary.py` compares them with mpmath.

Sources:
    W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980, chapters 5 and 6
    (reduction of the argument with a constant in two parts); the logarithm by the series of
    2 artanh(f / (2 + f)); the polynomials are Taylor polynomials, exact up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from vegasfluid.lanes.builder import BOOL, INDEX, REAL, Builder, Item, Unsupported, constant

__all__ = ["cbrt", "exp", "expm1", "log", "log1p", "logistic", "power", "tanh"]

Function = Callable[..., Item]
"""Writes a function: maps builder and operands to the result."""
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 as a sum of two doubles; the first times a whole number up to 2000 is exact."""
HIGHEST, LOWEST = 710.0, -746.0
"""Bounds to which the argument of exp is clipped; beyond them the result is infinite or zero."""
TERMS_EXP, TERMS_LOG = 14, 12
"""Numbers of terms with which the series are exact up to rounding."""
USUAL = 700.0
"""Absolute argument of exp below which its result and the powers of two in it are normal."""
SMALL = 0.35
"""Absolute argument of expm1 below which its own series is used; from it on, exp(x) - 1."""
SUBNORMAL, SHIFT = 2.0**-1022, 54
"""The smallest normal double; the argument of log below it is scaled by 2 to the power 54."""
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
"""The bits of sqrt(1/2)."""


def real(value: float) -> Item:
    """A constant double of the program."""
    return constant(value, REAL)


def whole(value: int) -> Item:
    """A constant 64-bit integer of the program."""
    return constant(value, INDEX)


def checked(x: Item) -> None:
    """Raise `Unsupported` unless the number is a double."""
    if x.dtype != REAL:
        raise Unsupported(f"elementary functions of {x.dtype}")


def add(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the sum x + y of doubles, which LLVM may fuse with a product; return it."""
    return b.apply("fadd contract {r} {0}, {1}", REAL, x, y)


def sub(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the difference x - y of doubles, which LLVM may fuse with a product."""
    return b.apply("fsub contract {r} {0}, {1}", REAL, x, y)


def mul(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the product x y of doubles, which LLVM may fuse with a sum; return it."""
    return b.apply("fmul contract {r} {0}, {1}", REAL, x, y)


def div(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the quotient x / y of doubles; return the result."""
    return b.apply("fdiv {r} {0}, {1}", REAL, x, y)


def less(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the comparison x < y of doubles, false if either is nan; return the result."""
    return b.apply("fcmp olt {t0} {0}, {1}", BOOL, x, y)


def choose(b: Builder, condition: Item, yes: Item, no: Item) -> Item:
    """Write code for a selection, `yes` where the condition holds, else `no`; return the result."""
    return b.apply("select {t0} {0}, {t1} {1}, {t2} {2}", yes.dtype, condition, yes, no)


def polynomial(b: Builder, x: Item, coefficients: list[float]) -> Item:
    """Write code for a polynomial in x with coefficients in ascending order; return its value.

    Neighbouring terms are joined in pairs (Estrin's scheme), so that the processor computes several
    at once; in Horner's scheme each product waits for the one before. The constant term is added
    last, so that the rounding errors of all others are multiplied by x.
    """
    terms, power = [real(coefficient) for coefficient in coefficients[1:]], x
    while len(terms) > 1:
        paired = zip(terms[::2], terms[1::2], strict=False)
        pairs = [add(b, mul(b, high, power), low) for low, high in paired]
        terms = pairs + terms[2 * len(pairs) :]
        power = mul(b, power, power) if len(terms) > 1 else power
    return add(b, mul(b, terms[0], x), real(coefficients[0]))


def power_of_two(b: Builder, exponent: Item) -> Item:
    """Write code for 2 to the power of a 64-bit integer from -1022 to 1023, as a double."""
    biased = b.apply("add {r} {0}, {1}", INDEX, exponent, whole(1023))
    bits = b.apply("shl {r} {0}, {1}", INDEX, biased, whole(52))
    return b.apply("bitcast {t0} {0} to {r}", REAL, bits)


def reduced(b: Builder, x: Item) -> tuple[Item, Item]:
    """Write code that reduces the argument of an exponential: x = k ln(2) + r.

    Returns the integer k and r, a double from -ln(2) / 2 to ln(2) / 2.
    """
    k = b.call("rint", REAL, mul(b, x, real(1 / math.log(2))))
    r = sub(b, x, mul(b, k, real(LN2_HIGH)))
    number = b.apply("fptosi {t0} {0} to {r}", INDEX, k)
    # An arbitrary number for nan, which stays nan in any product.
    number = b.apply("freeze {t0} {0}", INDEX, number)
    return number, sub(b, r, mul(b, k, real(LN2_LOW)))


def guarded(
    b: Builder, usual: Item, quick: Item, general: Function, operands: Sequence[Item]
) -> Item:
    """Write code for a function: `quick` where `usual` is true, else what `general` computes.

    The general code is in a branch that is rarely taken, so that nothing waits for its condition
    and its selections cost nothing. Returns the result.

    Args:
        b: builder of the program.
        usual: whether the operands are such that `quick` is the result.
        quick: the result then.
        general: writes code that is right for all operands.
        operands: the function's operands.
    """
    intrinsic = "llvm.expect.i1"
    b.declared[intrinsic] = f"declare i1 @{intrinsic}(i1, i1)"
    expected = b.emit(f"call i1 @{intrinsic}(i1 {usual.text}, i1 true)", BOOL, False)
    before, rare = b.block, b.name()
    b.write(f"br i1 {expected.text}, label %{rare}.done, label %{rare}")
    b.start(rare)
    result = general(b, *operands)
    b.write(f"br label %{rare}.done")
    b.start(f"{rare}.done")
    return b.emit(f"phi double [{quick.text}, %{before}], [{result.text}, %{rare}]", REAL, False)


def branches(b: Builder, *operands: Item) -> bool:
    """Whether functions of these numbers branch to general code where it is needed."""
    return b.width == 1 and not b.gpu and any(item.value is None for item in operands)


def exp(b: Builder, x: Item) -> Item:
    """Write code for the exponential function of a double; return the result."""
    checked(x)
    if not branches(b, x):
        return general_exp(b, x)
    usual = less(b, b.call("fabs", REAL, x), real(USUAL))
    return guarded(b, usual, quick_exp(b, x), general_exp, [x])


def quick_exp(b: Builder, x: Item) -> Item:
    """Write code for the exponential of a double from -700 to 710, infinity near 710; return it."""
    k, r = reduced(b, x)
    series = polynomial(b, r, [1 / math.factorial(n) for n in range(TERMS_EXP)])
    return mul(b, series, power_of_two(b, k))


def general_exp(b: Builder, x: Item) -> Item:
    """Write code for the exponential function of any double; return the result."""
    k, r = reduced(b, clipped(b, x, LOWEST, HIGHEST))
    series = polynomial(b, r, [1 / math.factorial(n) for n in range(TERMS_EXP)])
    half = b.apply("ashr {r} {0}, {1}", INDEX, k, whole(1))
    other_half = b.apply("sub {r} {0}, {1}", INDEX, k, half)
    return mul(b, mul(b, series, power_of_two(b, half)), power_of_two(b, other_half))


def clipped(b: Builder, x: Item, low: float, high: float) -> Item:
    """Write code for a double clipped to bounds, in two instructions; nan stays nan."""
    below = choose(b, less(b, real(high), x), real(high), x)
    return choose(b, less(b, below, real(low)), real(low), below)


def logistic(b: Builder, x: Item) -> Item:
    """Write code for 1 / (1 + exp(-x)) of a double, 0 if that is subnormal; return the result."""
    checked(x)
    negative = clipped(b, b.apply("fneg {t0} {0}", REAL, x), -USUAL, HIGHEST)
    return div(b, real(1.0), add(b, real(1.0), quick_exp(b, negative)))


def expm1(b: Builder, x: Item) -> Item:
    """Write code for exp(x) - 1 of a double, accurate for small x too; return the result."""
    checked(x)
    near = mul(b, x, polynomial(b, x, [1 / math.factorial(n + 1) for n in range(TERMS_EXP)]))
    small = less(b, b.call("fabs", REAL, x), real(SMALL))
    return choose(b, small, near, sub(b, exp(b, x), real(1.0)))


def log(b: Builder, x: Item) -> Item:
    """Write code for the natural logarithm of a double, -infinity at 0, nan below 0; return it."""
    checked(x)
    if not branches(b, x):
        return general_log(b, x)
    return guarded(b, is_normal(b, x), quick_log(b, x, real(0.0)), general_log, [x])


def is_normal(b: Builder, x: Item) -> Item:
    """Write code that checks whether a double is positive, finite and not subnormal."""
    above = b.apply("fcmp oge {t0} {0}, {1}", BOOL, x, real(SUBNORMAL))
    return b.apply("and {t0} {0}, {1}", BOOL, above, less(b, x, real(math.inf)))


def general_log(b: Builder, x: Item) -> Item:
    """Write code for the natural logarithm of any double; return the result."""
    tiny = less(b, x, real(SUBNORMAL))
    scaled = choose(b, tiny, mul(b, x, real(2.0**SHIFT)), x)
    result = quick_log(b, scaled, choose(b, tiny, real(float(SHIFT)), real(0.0)))
    infinite = b.apply("fcmp oeq {t0} {0}, {1}", BOOL, x, real(math.inf))
    result = choose(b, infinite, x, result)
    zero = b.apply("fcmp oeq {t0} {0}, {1}", BOOL, x, real(0.0))
    result = choose(b, zero, real(-math.inf), result)
    positive = b.apply("fcmp oge {t0} {0}, {1}", BOOL, x, real(0.0))
    return choose(b, positive, result, real(math.nan))


def quick_log(b: Builder, x: Item, shift: Item) -> Item:
    """Write code for the natural logarithm of a positive normal double, minus `shift` times ln 2.

    Returns the result.
    """
    bits = b.apply("bitcast {t0} {0} to {r}", INDEX, x)
    above = b.apply("sub {r} {0}, {1}", INDEX, bits, whole(ROOT_HALF_BITS))
    k = b.apply("ashr {r} {0}, {1}", INDEX, above, whole(52))
    back = b.apply("shl {r} {0}, {1}", INDEX, k, whole(52))
    mantissa = b.apply("sub {r} {0}, {1}", INDEX, bits, back)
    f = sub(b, b.apply("bitcast {t0} {0} to {r}", REAL, mantissa), real(1.0))
    exponent = b.apply("sitofp {t0} {0} to {r}", REAL, k)
    exponent = exponent if shift.value is not None else sub(b, exponent, shift)
    s = div(b, f, add(b, f, real(2.0)))
    z = mul(b, s, s)
    series = mul(b, z, polynomial(b, z, [2 / (2 * n + 3) for n in range(TERMS_LOG)]))
    # log(1 + f) = f - (f^2/2 - s (f^2/2 + series)); small terms are added first
    half = mul(b, mul(b, f, f), real(0.5))
    inner = add(b, mul(b, s, add(b, half, series)), mul(b, exponent, real(LN2_LOW)))
    return sub(b, mul(b, exponent, real(LN2_HIGH)), sub(b, sub(b, half, inner), f))


def log1p(b: Builder, x: Item) -> Item:
    """Write code for log(1 + x) of a double, accurate for small x too; return the result."""
    checked(x)
    u = b.apply("fadd {r} {0}, {1}", REAL, x, real(1.0))
    above = b.apply("fsub {r} {0}, {1}", REAL, u, real(1.0))
    correction = div(b, b.apply("fsub {r} {0}, {1}", REAL, x, above), u)
    finite = less(b, b.call("fabs", REAL, correction), real(math.inf))
    return add(b, log(b, u), choose(b, finite, correction, real(0.0)))


def power(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the power x^y of doubles; return the result.

    Its relative error is a few times 1e-16 times the absolute value of y log x. A negative x with a
    fractional y gives nan; 1^y and x^0 are 1, even for nan.
    """
    checked(x)
    if not branches(b, x, y):
        return general_power(b, x, y)
    product = mul(b, y, quick_log(b, x, real(0.0)))
    usual = less(b, b.call("fabs", REAL, product), real(USUAL))
    usual = b.apply("and {t0} {0}, {1}", BOOL, usual, is_normal(b, x))
    return guarded(b, usual, quick_exp(b, product), general_power, [x, y])


def general_power(b: Builder, x: Item, y: Item) -> Item:
    """Write code for the power x^y of any doubles; return the result."""
    size = general_exp(b, mul(b, y, general_log(b, b.call("fabs", REAL, x))))
    floor = b.call("floor", REAL, y)
    is_whole = b.apply("fcmp oeq {t0} {0}, {1}", BOOL, y, floor)
    half = mul(b, y, real(0.5))
    is_even = b.apply("fcmp oeq {t0} {0}, {1}", BOOL, half, b.call("floor", REAL, half))
    signed = choose(b, is_even, size, b.apply("fneg {t0} {0}", REAL, size))
    negative = choose(b, is_whole, signed, real(math.nan))
    result = choose(b, less(b, x, real(0.0)), negative, size)
    one = b.apply("fcmp oeq {t0} {0}, {1}", BOOL, x, real(1.0))
    zeroth = b.apply("fcmp oeq {t0} {0}, {1}", BOOL, y, real(0.0))
    either = b.apply("or {t0} {0}, {1}", BOOL, one, zeroth)
    return choose(b, either, real(1.0), result)


def cbrt(b: Builder, x: Item) -> Item:
    """Write code for the cube root of a double, a power and one step of Newton's method."""
    checked(x)
    size = b.call("fabs", REAL, x)
    root = exp(b, mul(b, log(b, size), real(1 / 3)))
    ratio = div(b, size, mul(b, mul(b, root, root), root))
    error = mul(b, sub(b, ratio, real(1.0)), real(1 / 3))
    usual = less(b, b.call("fabs", REAL, error), real(0.1))
    better = add(b, root, mul(b, root, error))
    result = choose(b, usual, better, size)  # 0, infinity and nan are their own cube roots
    return b.call("copysign", REAL, result, x)


def tanh(b: Builder, x: Item) -> Item:
    """Write code for the hyperbolic tangent of a double; return the result."""
    checked(x)
    size = b.call("fabs", REAL, x)
    twice = choose(b, less(b, size, real(20.0)), add(b, size, size), real(40.0))
    exp_minus_one = expm1(b, twice)
    result = div(b, exp_minus_one, add(b, exp_minus_one, real(2.0)))
    result = choose(b, b.apply("fcmp uno {t0} {0}, {0}", BOOL, x), x, result)
    return b.call("copysign", REAL, result, x)
