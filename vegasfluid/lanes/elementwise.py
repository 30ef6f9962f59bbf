"""JAX's operations on single numbers, as LLVM's instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from vegasfluid.lanes import elementary
from vegasfluid.lanes.builder import BOOL, REAL, Builder, Item, Unsupported, constant
from vegasfluid.lanes.folding import fold

__all__ = ["OPERATIONS", "convert", "operate"]

Operation = Callable[..., Item]
"""Writes an operation: maps builder, parameters of JAX's primitive and operands to its result."""

FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "add_any": "fadd"}
WHOLE = {"add": "add", "sub": "sub", "mul": "mul", "add_any": "add"}
BITS = {"and": "and", "or": "or", "xor": "xor"}
"""LLVM's instructions by JAX's operation: for floats (`FLOAT`), integers (`WHOLE`) and bits."""
COMPARED = {
    "lt": ("olt", "lt"),
    "le": ("ole", "le"),
    "gt": ("ogt", "gt"),
    "ge": ("oge", "ge"),
    "eq": ("oeq", "eq"),
    "ne": ("une", "ne"),
}
"""LLVM's comparisons of floats and of integers, by JAX's; with nan only `ne` is true."""
SHIFTS = {
    "shift_left": "shl",
    "shift_right_arithmetic": "ashr",
    "shift_right_logical": "lshr",
}
ROUNDINGS = {"floor": "floor", "ceil": "ceil", "sqrt": "sqrt", "abs": "fabs"}
FUNCTIONS = {
    "exp": elementary.exp,
    "expm1": elementary.expm1,
    "log": elementary.log,
    "log1p": elementary.log1p,
    "logistic": elementary.logistic,
    "tanh": elementary.tanh,
    "cbrt": elementary.cbrt,
}
"""Functions of `elementary`, by JAX's operation; they are computed in double precision."""


def is_float(item: Item) -> bool:
    """Whether a number of the program is a floating-point number."""
    return item.dtype.kind == "f"


def signedness(item: Item) -> str:
    """`s` for signed and `u` for unsigned integers, as in the names of LLVM's comparisons."""
    return "s" if item.dtype.kind == "i" else "u"


def arithmetic(name: str) -> Operation:
    """A function that writes code for JAX's operation `name`: add, add_any, sub, mul or div."""

    def build(b: Builder, _: Any, x: Item, y: Item) -> Item:
        if is_float(x):
            # A product and a sum may be fused, with one rounding less.
            fused = "arcp " if name == "div" else "contract "
            return b.apply(f"{FLOAT[name]} {fused}{{r}} {{0}}, {{1}}", x.dtype, x, y)
        if name == "div":
            return by_constant("div")(b, _, x, y)
        return b.apply(f"{WHOLE[name]} {{r}} {{0}}, {{1}}", x.dtype, x, y)

    return build


def by_constant(name: str) -> Operation:
    """Writer of integer `div` or `rem` by a constant that is not 0 or -1; else `Unsupported`."""

    def build(b: Builder, _: Any, x: Item, y: Item) -> Item:
        if is_float(x) or y.value is None or int(y.value) in (0, -1):
            raise Unsupported(f"an integer {name} by a number that is not constant")
        return b.apply(f"{signedness(x)}{name} {{r}} {{0}}, {{1}}", x.dtype, x, y)

    return build


def bitwise(name: str) -> Operation:
    """A function that writes JAX's operation `name`, bitwise: and, or, xor."""
    return lambda b, _, x, y: b.apply(f"{BITS[name]} {{r}} {{0}}, {{1}}", x.dtype, x, y)


def comparison(name: str) -> Operation:
    """A function that writes JAX's comparison `name`: lt, le, gt, ge, eq or ne."""

    def build(b: Builder, _: Any, x: Item, y: Item) -> Item:
        ordered, plain = COMPARED[name]
        if is_float(x):
            return b.apply(f"fcmp {ordered} {{t0}} {{0}}, {{1}}", BOOL, x, y)
        sign = "" if plain in ("eq", "ne") else signedness(x)
        return b.apply(f"icmp {sign}{plain} {{t0}} {{0}}, {{1}}", BOOL, x, y)

    return build


def extreme(ordered: str, plain: str) -> Operation:
    """A function that writes the larger ("gt") or smaller ("lt") of two numbers; nan if one is."""

    def build(b: Builder, _: Any, x: Item, y: Item) -> Item:
        if x.dtype == BOOL:
            return b.apply(f"{'or' if plain == 'gt' else 'and'} {{r}} {{0}}, {{1}}", BOOL, x, y)
        if not is_float(x):
            first = b.apply(f"icmp {signedness(x)}{plain} {{t0}} {{0}}, {{1}}", BOOL, x, y)
            return elementary.choose(b, first, x, y)
        if y.value is not None:
            x, y = y, x
        if x.value is None and not b.gpu and x.dtype == REAL:
            # Zeros of both signs are equal, which spares instructions.
            return b.call("maximum" if plain == "gt" else "minimum", x.dtype, x, y, flags="nsz ")
        # If y is nan the comparison is false, and y is the result.
        first = b.apply(f"fcmp {ordered} {{t0}} {{0}}, {{1}}", BOOL, x, y)
        result = elementary.choose(b, first, x, y)
        if x.value is not None:
            return result
        undefined = b.apply("fcmp uno {t0} {0}, {0}", BOOL, x)
        return elementary.choose(b, undefined, x, result)

    return build


OTHERWISE = {"lt": ("gt", "min"), "gt": ("lt", "max")}
"""For the outer comparison of `chosen_extreme`: the inner one, and the extreme."""


def chosen_extreme(b: Builder, which: Item, no: Item, yes: Item) -> Item | None:
    """The minimum or maximum of two numbers, if a selection of `yes` or `no` by `which` is one.

    `vegasfluid.smooth` selects x where x < y, else y where x > y, else their mean. One comparison
    replaces it. None for other selections.
    """
    name, compared = b.made.get(which.text, ("", ()))
    if name not in OTHERWISE or yes != compared[0]:
        return None
    x, y = compared
    other, extreme_of = OTHERWISE[name]
    inner, operands = b.made.get(no.text, ("", ()))
    if inner != "select_n" or operands[2] != y or operands[1].dtype.kind != "f":
        return None
    if b.made.get(operands[0].text) != (other, (x, y)):
        return None
    half, halved = b.made.get(operands[1].text, ("", ()))
    if half != "div" or halved[1].value != 2 or b.made.get(halved[0].text) != ("add", (x, y)):
        return None
    return OPERATIONS[extreme_of](b, None, x, y)


def shift(name: str) -> Operation:
    """A function that writes code for JAX's shift `name` by less than the integer's bits."""
    return lambda b, _, x, y: b.apply(f"{SHIFTS[name]} {{r}} {{0}}, {{1}}", x.dtype, x, y)


def rounding(name: str) -> Operation:
    """A function that writes JAX's operation `name` on one number: floor, ceil, sqrt or abs."""

    def build(b: Builder, _: Any, x: Item) -> Item:
        if not is_float(x):
            if name != "abs":
                raise Unsupported(f"{name} of {x.dtype}")
            return elementary.choose(
                b, comparison("lt")(b, _, x, constant(0, x.dtype)), negated(b, _, x), x
            )
        return b.call(ROUNDINGS[name], x.dtype, x)

    return build


def nearest(b: Builder, params: Any, x: Item) -> Item:
    """Write code for the float x rounded to a whole number, halves as `params` state; return it."""
    even = params["rounding_method"] == jax.lax.RoundingMethod.TO_NEAREST_EVEN
    return b.call("roundeven" if even else "round", x.dtype, x)


def trigonometric(name: str) -> Operation:
    """A function that writes the sine or cosine (`name`) from the C library, which GPUs lack."""

    def build(b: Builder, _: Any, x: Item) -> Item:
        if b.gpu:
            raise Unsupported(f"{name} on a GPU")
        return b.call(name, x.dtype, x)

    return build


def elementary_function(name: str) -> Operation:
    """A function that writes `name` of `elementary` in double precision, for any float."""

    def build(b: Builder, _: Any, x: Item) -> Item:
        return convert(b, FUNCTIONS[name](b, convert(b, x, REAL)), x.dtype)

    return build


def before(b: Builder, _: Any, x: Item, y: Item) -> Item:
    """Write code that checks whether x is before y in sorted order, with nan last; return it."""
    if not is_float(x):
        return comparison("lt")(b, _, x, y)
    less = comparison("lt")(b, _, x, y)
    defined = b.apply("fcmp ord {t0} {0}, {0}", BOOL, x)
    last = b.apply("fcmp uno {t0} {0}, {0}", BOOL, y)
    alone = b.apply("and {r} {0}, {1}", BOOL, defined, last)
    return b.apply("or {r} {0}, {1}", BOOL, less, alone)


def negated(b: Builder, _: Any, x: Item) -> Item:
    """Write code for the number with its sign changed; return the result."""
    if is_float(x):
        return b.apply("fneg {t0} {0}", x.dtype, x)
    return b.apply("sub {r} {0}, {1}", x.dtype, constant(0, x.dtype), x)


def inverted(b: Builder, _: Any, x: Item) -> Item:
    """Write code for the logical not of a truth value, or the bitwise not of an integer."""
    return b.apply("xor {r} {0}, {1}", x.dtype, x, constant(x.dtype == BOOL or -1, x.dtype))


def sign(b: Builder, _: Any, x: Item) -> Item:
    """Write code for the sign of a number: -1, 0, 1 or nan; return the result."""
    zero, one = constant(0, x.dtype), constant(1, x.dtype)
    above = comparison("gt")(b, _, x, zero)
    below = comparison("lt")(b, _, x, zero)
    other = elementary.choose(b, below, constant(-1, x.dtype), x)
    return elementary.choose(b, above, one, other)


def select(b: Builder, _: Any, which: Item, *cases: Item) -> Item:
    """Write code for the case that a truth value (false: the first) or an integer selects."""
    if which.value is not None:
        return cases[int(which.value)]
    if which.dtype == BOOL:
        no, yes = cases
        known = chosen_extreme(b, which, no, yes)
        if known is not None:
            return known
        return elementary.choose(b, which, yes, no)
    result = cases[-1]
    for number in reversed(range(len(cases) - 1)):
        here = comparison("le")(b, _, which, constant(number, which.dtype))
        result = elementary.choose(b, here, cases[number], result)
    return result


def whole_power(b: Builder, params: Any, x: Item) -> Item:
    """Write code for x to the integer power `params["y"]`, by repeated squaring; return it."""
    multiply, exponent = arithmetic("mul"), abs(params["y"])
    product, square = None, x
    while exponent:
        if exponent & 1:
            product = square if product is None else multiply(b, None, product, square)
        exponent >>= 1
        square = multiply(b, None, square, square) if exponent else square
    one = constant(1, x.dtype)
    if product is None:
        return one
    return arithmetic("div")(b, None, one, product) if params["y"] < 0 else product


def square(b: Builder, _: Any, x: Item) -> Item:
    """Write code for x times x; return the item with the result."""
    return arithmetic("mul")(b, None, x, x)


def one_minus_square(b: Builder, _: Any, x: Item) -> Item:
    """Write code for 1 - x^2 as (1 - x) (1 + x), accurate for x near 1; return the result."""
    one = constant(1, x.dtype)
    below, above = (arithmetic(name)(b, None, one, x) for name in ("sub", "add"))
    return arithmetic("mul")(b, None, below, above)


def power(b: Builder, _: Any, x: Item, y: Item) -> Item:
    """Write code for the power x^y, computed in double precision; return the result."""
    result = elementary.power(b, convert(b, x, REAL), convert(b, y, REAL))
    return convert(b, result, x.dtype)


def reciprocal_root(b: Builder, _: Any, x: Item) -> Item:
    """Write code for 1 / sqrt(x); return the result."""
    return arithmetic("div")(b, None, constant(1, x.dtype), b.call("sqrt", x.dtype, x))


def finite(b: Builder, _: Any, x: Item) -> Item:
    """Write code that checks whether x is finite: neither infinite nor nan; return the result."""
    size = b.call("fabs", x.dtype, x)
    return b.apply("fcmp olt {t0} {0}, {1}", BOOL, size, constant(np.inf, x.dtype))


def clamp(b: Builder, _: Any, low: Item, x: Item, high: Item) -> Item:
    """Write code for the number x clipped to the bounds `low` and `high`; return the result."""
    return OPERATIONS["min"](b, None, OPERATIONS["max"](b, None, x, low), high)


def convert(b: Builder, x: Item, dtype: Any) -> Item:
    """Write code for the number x converted to the NumPy type `dtype`; return the result."""
    dtype = np.dtype(dtype)
    if dtype == x.dtype:
        return x
    if x.value is not None:
        return constant(x.value, dtype)
    source, target = x.dtype, dtype
    if target == BOOL:
        return comparison("ne")(b, None, x, constant(0, source))
    if source.kind == "f" and target.kind == "f":
        how = "fpext" if target.itemsize > source.itemsize else "fptrunc"
    elif source.kind == "f":
        number = b.apply(
            f"fpto{'si' if target.kind == 'i' else 'ui'} {{t0}} {{0}} to {{r}}", target, x
        )
        return b.apply("freeze {t0} {0}", target, number)  # an arbitrary number for nan
    elif target.kind == "f":
        how = "sitofp" if source.kind == "i" else "uitofp"
    elif b.type_of(source) == b.type_of(target):
        return Item(x.text, target, x.varying)
    elif source != BOOL and target.itemsize < source.itemsize:
        how = "trunc"
    else:
        how = "sext" if source.kind == "i" else "zext"
    return b.apply(f"{how} {{t0}} {{0}} to {{r}}", target, x)


def converted(b: Builder, params: Any, x: Item) -> Item:
    """Write code for the number converted to the type `params["new_dtype"]`; return the result."""
    return convert(b, x, params["new_dtype"])


OPERATIONS: dict[str, Operation] = {
    **{name: arithmetic(name) for name in FLOAT},
    **{name: bitwise(name) for name in BITS},
    **{name: comparison(name) for name in COMPARED},
    **{name: shift(name) for name in SHIFTS},
    **{name: rounding(name) for name in ROUNDINGS},
    **{name: elementary_function(name) for name in FUNCTIONS},
    "max": extreme("ogt", "gt"),
    "min": extreme("olt", "lt"),
    "sin": trigonometric("sin"),
    "cos": trigonometric("cos"),
    "lt_to": before,
    "le_to": lambda b, _, x, y: inverted(b, _, before(b, _, y, x)),
    "rem": by_constant("rem"),
    "neg": negated,
    "not": inverted,
    "sign": sign,
    "round": nearest,
    "select_n": select,
    "integer_pow": whole_power,
    "square": square,
    "one_minus_square": one_minus_square,
    "pow": power,
    "rsqrt": reciprocal_root,
    "is_finite": finite,
    "clamp": clamp,
    "convert_element_type": converted,
}
"""The operations on single numbers, by the name of JAX's primitive."""


def operate(b: Builder, name: str, params: Any, dtype: Any, *items: Item) -> Item:
    """The result, of type `dtype`, of JAX's operation `name` with `params` on single numbers.

    Constants among the `items` may be computed at once; else lines are added to the program.

    Raises:
        Unsupported: for an unknown operation, or types for which it is not supported.
    """
    known = fold(name, np.dtype(dtype), items)
    if known is not None:
        return known
    if name not in OPERATIONS:
        raise Unsupported(name)
    result = OPERATIONS[name](b, params, *items)
    result = convert(b, result, dtype)
    if name in REMEMBERED:
        b.made[result.text] = (name, items)
    return result


REMEMBERED = {"add", "div", "lt", "gt", "select_n"}
"""Operations that `chosen_extreme` looks up in `Builder.made`."""
