"""Pydantic models derived from the value classes: what a table may hold, and of which type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, astuple, dataclass, field, fields, is_dataclass
from decimal import Decimal
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainValidator,
    TypeAdapter,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from vegasfluid.errors import InvalidInput
from vegasfluid.modelfile.errors import as_refusal, refusal, show
from vegasfluid.modelfile.ranges import may_be_uncertain, nominal_values, require_possible
from vegasfluid.modelfile.units import choices, choosing_key, former_key, from_edge, key_of, to_edge
from vegasfluid.quantities import Limit, Unit, broken_limit, hints_of, limits_of, unit_of
from vegasfluid.ranges import Range

__all__ = ["Reading", "derived_fields", "given_values", "read_fields", "reader"]

CONFIG = ConfigDict(extra="forbid", strict=True)

FieldTypes = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """What validators share while one file is read.

    Args:
        packet_bytes: the size of a packet, for rates.
        known: the known keys of each table that was read, by the table's `id`.
        ranges: the fields of each table that are given by a range, by the table's `id`.
    """

    packet_bytes: int
    known: dict[int, list[str]] = field(default_factory=dict)
    ranges: dict[int, dict[str, Range]] = field(default_factory=dict)


def derived_fields(kind: type, *left_out: str) -> FieldTypes:
    """The fields of a pydantic model for a value class, by key: type and default."""
    return {
        key_of(kind, of.name): (_field_reader(kind, of.name), ... if _is_required(of) else None)
        for of in fields(kind)
        if of.name not in left_out
    }


def _field_reader(kind: type, name: str) -> Any:
    hint = hints_of(kind)[name]
    if not may_be_uncertain(kind, name):
        return reader(hint)
    end = _end_reader(unit_of(kind, name), limits_of(kind, name), hint)
    return Annotated[reader(hint), WrapValidator(partial(_read_range, _range_model(end)))]


def _end_reader(unit: Unit | None, limits: tuple[Limit, ...], hint: Any) -> Any:
    """The pydantic type of an end of a range, which stays in the file's unit."""
    if unit is None:
        return reader(hint)
    return Annotated[Any, PlainValidator(partial(_read_end, unit, limits))]


def _range_model(end: Any) -> type[BaseModel]:
    spread = (hints_of(Range)["spread"], None)
    ends: FieldTypes = {"low": (end, ...), "high": (end, ...), "spread": spread}
    return create_model("Range", __config__=CONFIG, **ends)


def _read_range(
    model: type[BaseModel],
    given: Any,
    otherwise: ValidatorFunctionWrapHandler,
    info: ValidationInfo,
) -> Any:
    """A range, where a table is given; or else what the field holds."""
    if not isinstance(given, dict):
        return otherwise(given)
    read = read_fields(model, given, _shared(info))
    try:
        return Range(**given_values(Range, read))
    except InvalidInput as error:
        raise as_refusal(error, Range, given, _shared(info).packet_bytes) from None


def given_values(kind: type, given: BaseModel) -> dict[str, Any]:
    """What a file gives for the fields of a value class, by name, in inside units."""
    keys = {of.name: key_of(kind, of.name) for of in fields(kind)}
    return {
        name: getattr(given, key) for name, key in keys.items() if key in given.model_fields_set
    }


def read_fields(model: type[BaseModel], table: Mapping[str, Any], reading: Reading) -> BaseModel:
    """Validate a table, and note its keys so that a refusal can suggest one."""
    reading.known[id(table)] = list(model.model_fields)
    return model.model_validate(table, context=reading)


def _shared(info: ValidationInfo) -> Reading:
    assert isinstance(info.context, Reading)
    return info.context


def _is_required(of: Field[Any]) -> bool:
    return of.default is MISSING and of.default_factory is MISSING


@cache
def _model(kind: type) -> type[BaseModel]:
    derived = derived_fields(kind)
    if chosen_by := choosing_key(kind):
        derived[chosen_by] = (str, ...)
    return create_model(kind.__name__, __config__=CONFIG, **derived)


def reader(hint: Any) -> Any:
    """The pydantic type that reads what a file gives for an annotation of a value class."""
    if get_origin(hint) is Annotated:
        return _quantity_reader(hint.__origin__, hint.__metadata__)
    if hint is float or hint is int:
        return _quantity_reader(hint, ())
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union_reader([one for one in arguments if one is not NoneType])
    if origin is tuple:
        return Annotated[list[reader(arguments[0])], AfterValidator(tuple)]
    if origin is Mapping:
        return dict[str, reader(arguments[1])]
    if isinstance(hint, type) and is_dataclass(hint):
        read = _read_value if choosing_key(hint) is None else _read_choice
        return Annotated[Any, PlainValidator(partial(read, hint))]
    return hint


def _quantity_reader(base: Any, metadata: tuple[Any, ...]) -> Any:
    unit = next((one for one in metadata if isinstance(one, Unit)), None)
    limits = tuple(one for one in metadata if isinstance(one, Limit))
    if base is float:
        return Annotated[Any, PlainValidator(partial(_read_number, unit, limits))]
    return Annotated[base, AfterValidator(partial(_check_limits, None, limits))]


def _read_number(
    unit: Unit | None, limits: tuple[Limit, ...], written: Any, info: ValidationInfo
) -> float:
    """A number of the file in inside units."""
    _read_end(unit, limits, written, info)
    return from_edge(written, unit, _shared(info).packet_bytes)


def _read_end(
    unit: Unit | None, limits: tuple[Limit, ...], written: Any, info: ValidationInfo
) -> float:
    """A number of the file in its own unit; neither true nor text is a number."""
    if not _is_number(written):
        raise refusal("a number", show(written))
    if not _is_finite(written):
        raise refusal("a finite number", show(written))
    return float(_check_limits(unit, limits, written, info))


def _check_limits(
    unit: Unit | None, limits: tuple[Limit, ...], written: Any, info: ValidationInfo
) -> Any:
    """Hold a number against its limits in the file's unit, the narrowest (the last) first."""
    for limit in reversed(limits):
        bound = to_edge(astuple(limit)[0], unit, _shared(info).packet_bytes)
        if allowed := broken_limit(written, type(limit)(bound)):
            raise refusal(allowed, show(written))
    return written


def _is_number(written: object) -> bool:
    return isinstance(written, int | Decimal) and not isinstance(written, bool)


def _is_finite(written: int | Decimal) -> bool:
    """Whether a float can hold the number; an integer of a file may be of any size."""
    try:
        return math.isfinite(float(written))
    except OverflowError:
        return False


def _union_reader(hints: list[Any]) -> Any:
    """A reader that goes by the form of what is given: a number, a list or a table."""
    if len(hints) == 1:
        return reader(hints[0])
    options = {_form_of(hint): TypeAdapter(reader(hint)) for hint in hints}
    return Annotated[Any, PlainValidator(partial(_read_by_form, options))]


def _form_of(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return "a list"
    return "a table" if is_dataclass(hint) else "a number"


def _read_by_form(options: Mapping[str, TypeAdapter[Any]], given: Any, info: ValidationInfo) -> Any:
    form = "a number" if _is_number(given) else show(given)
    if form not in options:
        raise refusal(" or ".join(options), show(given))
    return options[form].validate_python(given, context=_shared(info))


def _read_choice(base: type, table: Any, info: ValidationInfo) -> Any:
    """A value of one of the kinds of an abstract class, chosen by one key of its table."""
    key, kinds = choosing_key(base), choices(base)
    assert key is not None
    if not isinstance(table, dict):
        raise refusal(f'a table such as {{ {key} = "{min(kinds)}" }}', show(table))
    former = former_key(base)
    if former is not None and former in table and key not in table:
        raise refusal(f"called {key} now", former, former)
    chosen = table.get(key)
    if not isinstance(chosen, str) or chosen not in kinds:
        given = show(chosen) if key in table else "missing"
        raise refusal("one of " + ", ".join(sorted(kinds)), given, key)
    return _read_value(kinds[chosen], table, info)


def _read_value(kind: Callable[..., Any], table: Any, info: ValidationInfo) -> Any:
    """A value of one class, from its table."""
    assert isinstance(kind, type)
    if not isinstance(table, dict):
        raise refusal("a table", show(table))
    reading = _shared(info)
    values = given_values(kind, read_fields(_model(kind), table, reading))
    ranges = {name: given for name, given in values.items() if isinstance(given, Range)}
    if ranges:
        require_possible(kind, values, ranges)
        reading.ranges[id(table)] = ranges
        values |= nominal_values(kind, ranges, reading.packet_bytes)
    try:
        return kind(**values)
    except InvalidInput as error:
        raise as_refusal(error, kind, table, _shared(info).packet_bytes) from None
