"""Pydantic models derived from the value classes: allowed keys of each table and their types."""

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
from vegasfluid.limits import Limit, broken_limit, limits_in
from vegasfluid.modelfile.errors import show_value, validation_error, value_error
from vegasfluid.modelfile.ranges import (
    may_be_uncertain,
    nominal_values,
    reject_lists,
)
from vegasfluid.modelfile.units import (
    choices,
    choosing_key,
    former_key,
    from_file_unit,
    key_of,
    to_file_unit,
)
from vegasfluid.quantities import Unit, hints_of, limits_of, unit_of
from vegasfluid.ranges import Range

__all__ = ["Reading", "derived_fields", "given_values", "read_fields", "reader"]

CONFIG = ConfigDict(extra="forbid", strict=True)
"""Settings of all models: no unknown keys and no conversion of types."""

FieldTypes = dict[str, Any]
"""Type and default of each field of a pydantic model."""


@dataclass(frozen=True)
class Reading:
    """State that pydantic's validators share while one file is read.

    Args:
        packet_bytes: packet size that converts rates, bytes.
        known: known keys of each table, by the table's `id`.
        ranges: fields of each table that are given as a range, by the table's `id`.
    """

    packet_bytes: int
    known: dict[int, list[str]] = field(default_factory=dict)
    ranges: dict[int, dict[str, Range]] = field(default_factory=dict)


def derived_fields(kind: type, *left_out: str) -> FieldTypes:
    """Fields of the pydantic model of a value class: type and default by model-file key.

    Args:
        kind: the value class, such as `Link`.
        left_out: names of fields that get no key.
    """
    return {
        key_of(kind, entry.name): (
            _field_reader(kind, entry.name),
            ... if _is_required(entry) else None,
        )
        for entry in fields(kind)
        if entry.name not in left_out
    }


def _field_reader(kind: type, name: str) -> Any:
    """Pydantic type of field `name` of class `kind`; accepts a range where one is allowed."""
    hint = hints_of(kind)[name]
    if not may_be_uncertain(kind, name):
        return reader(hint)
    end = _end_reader(unit_of(kind, name), limits_of(kind, name), hint)
    return Annotated[reader(hint), WrapValidator(partial(_read_range, _range_model(end)))]


def _end_reader(unit: Unit | None, limits: tuple[Limit, ...], hint: Any) -> Any:
    """Pydantic type that reads the key `low` or `high` of a range in a model file.

    It checks the limits and returns the number in the unit of the file.

    Args:
        unit: unit of the field; None for a field that is not a quantity.
        limits: limits of the field, in internal units.
        hint: annotation of the field, used only if `unit` is None.
    """
    if unit is None:
        return reader(hint)
    return Annotated[Any, PlainValidator(partial(_read_end, unit, limits))]


def _range_model(end: Any) -> type[BaseModel]:
    """Pydantic model of a table `{ low, high, spread }` whose ends have the type `end`."""
    spread = (hints_of(Range)["spread"], None)
    ends: FieldTypes = {"low": (end, ...), "high": (end, ...), "spread": spread}
    return create_model("Range", __config__=CONFIG, **ends)


def _read_range(
    model: type[BaseModel],
    given: Any,
    otherwise: ValidatorFunctionWrapHandler,
    info: ValidationInfo,
) -> Any:
    """A `Range` if a table is given, otherwise the value that `otherwise` reads.

    Args:
        model: pydantic model of the range's table.
        given: value in the file.
        otherwise: validator of the plain number.
        info: pydantic's context.
    """
    if not isinstance(given, dict):
        return otherwise(given)
    read = read_fields(model, given, _shared(info))
    try:
        return Range(**given_values(Range, read))
    except InvalidInput as error:
        raise value_error(error, Range, given, _shared(info).packet_bytes) from None


def given_values(kind: type, given: BaseModel) -> dict[str, Any]:
    """Validated values that a file gives for fields of class `kind`, by field name.

    Numbers are in internal units, but a `Range` keeps the unit of the file. Fields that the file
    leaves out are not in the dict.
    """
    keys = {entry.name: key_of(kind, entry.name) for entry in fields(kind)}
    return {
        name: getattr(given, key) for name, key in keys.items() if key in given.model_fields_set
    }


def read_fields(model: type[BaseModel], table: Mapping[str, Any], reading: Reading) -> BaseModel:
    """Validate a table and return its values; record its known keys for error messages."""
    reading.known[id(table)] = list(model.model_fields)
    return model.model_validate(table, context=reading)


def _shared(info: ValidationInfo) -> Reading:
    """State of the current reading, taken from pydantic's context."""
    assert isinstance(info.context, Reading)
    return info.context


def _is_required(entry: Field[Any]) -> bool:
    """Whether a dataclass field has no default, so that a file must give it."""
    return entry.default is MISSING and entry.default_factory is MISSING


@cache
def _model(kind: type) -> type[BaseModel]:
    """Pydantic model of the table of value class `kind`, with the key that selects a subclass."""
    derived = derived_fields(kind)
    if chosen_by := choosing_key(kind):
        derived[chosen_by] = (str, ...)
    return create_model(kind.__name__, __config__=CONFIG, **derived)


def reader(hint: Any) -> Any:
    """Pydantic type that reads a file's value for the annotation `hint` of a value class.

    Numbers are converted to internal units and checked; tables become value objects.
    """
    if get_origin(hint) is Annotated:
        return _quantity_reader(hint.__origin__, hint.__metadata__)
    if hint is float or hint is int:
        return _quantity_reader(hint, ())
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union_reader([argument for argument in arguments if argument is not NoneType])
    if origin is tuple:
        return Annotated[list[reader(arguments[0])], AfterValidator(tuple)]
    if origin is Mapping:
        return dict[str, reader(arguments[1])]
    if isinstance(hint, type) and is_dataclass(hint):
        read = _read_value if choosing_key(hint) is None else _read_choice
        return Annotated[Any, PlainValidator(partial(read, hint))]
    return hint


def _quantity_reader(base: Any, metadata: tuple[Any, ...]) -> Any:
    """Pydantic type of a number of type `base` with the unit and limits in `metadata`."""
    unit = next((item for item in metadata if isinstance(item, Unit)), None)
    limits = limits_in(metadata)
    if base is float:
        return Annotated[Any, PlainValidator(partial(_read_number, unit, limits))]
    return Annotated[base, AfterValidator(partial(_check_limits, None, limits))]


def _read_number(
    unit: Unit | None, limits: tuple[Limit, ...], written: Any, info: ValidationInfo
) -> float:
    """Check a number of the file and convert it to internal units.

    Args:
        unit: unit of the field; None: no conversion.
        limits: limits in internal units.
        written: number in the file.
        info: pydantic's context, with the packet size.
    """
    _read_end(unit, limits, written, info)
    return from_file_unit(written, unit, _shared(info).packet_bytes)


def _read_end(
    unit: Unit | None, limits: tuple[Limit, ...], written: Any, info: ValidationInfo
) -> float:
    """Check a finite number of the file and return it in its own unit.

    Args:
        unit: unit of the field; None: no conversion of the limits.
        limits: limits in internal units.
        written: value in the file; booleans and text are rejected.
        info: pydantic's context, with the packet size.
    """
    if not _is_number(written):
        raise validation_error("a number", show_value(written))
    if not _is_finite(written):
        raise validation_error("a finite number", show_value(written))
    return float(_check_limits(unit, limits, written, info))


def _check_limits(
    unit: Unit | None, limits: tuple[Limit, ...], written: Any, info: ValidationInfo
) -> Any:
    """Check a number against limits, the narrowest (the last) first, and return it.

    Args:
        unit: unit that converts the limits to the file's unit.
        limits: limits in internal units.
        written: number in the unit of the file.
        info: pydantic's context, with the packet size.
    """
    for limit in reversed(limits):
        if allowed := broken_limit(written, _in_file_unit(limit, unit, _shared(info).packet_bytes)):
            raise validation_error(allowed, show_value(written))
    return written


@cache
def _in_file_unit(limit: Limit, unit: Unit | None, packet_bytes: int) -> Limit:
    """A limit in the unit of the file.

    Args:
        limit: the limit, in internal units.
        unit: its unit; None: no conversion.
        packet_bytes: packet size that converts rates, bytes.
    """
    bound, *others = astuple(limit)
    converted: Any = to_file_unit(bound, unit, packet_bytes)
    return type(limit)(converted, *others)


def _is_number(written: object) -> bool:
    """Whether a value is a number; booleans are not."""
    return isinstance(written, int | Decimal) and not isinstance(written, bool)


def _is_finite(written: int | Decimal) -> bool:
    """Whether the number is finite as a float; integers of a file may have any size."""
    try:
        return math.isfinite(float(written))
    except OverflowError:
        return False


def _union_reader(hints: list[Any]) -> Any:
    """Pydantic type of a union of annotations, chosen by the value's form.

    The form is a number, a list or a table.
    """
    if len(hints) == 1:
        return reader(hints[0])
    options = {_form_of(hint): TypeAdapter(reader(hint)) for hint in hints}
    return Annotated[Any, PlainValidator(partial(_read_by_form, options))]


def _form_of(hint: Any) -> str:
    """Form of the file's values for an annotation: `a number`, `a list` or `a table`."""
    if get_origin(hint) is tuple:
        return "a list"
    return "a table" if is_dataclass(hint) else "a number"


def _read_by_form(options: Mapping[str, TypeAdapter[Any]], given: Any, info: ValidationInfo) -> Any:
    """Read a value with the type that `options` has for its form (`a number`, ...).

    Raises ValidationError for a value of another form.
    """
    form = "a number" if _is_number(given) else show_value(given)
    if form not in options:
        raise validation_error(" or ".join(options), show_value(given))
    return options[form].validate_python(given, context=_shared(info))


def _read_choice(base: type, table: Any, info: ValidationInfo) -> Any:
    """Value of the subclass of `base` that the key `name` of a table selects.

    Raises ValidationError for an unknown or missing name.
    """
    key, classes = choosing_key(base), choices(base)
    assert key is not None
    if not isinstance(table, dict):
        raise validation_error(f'a table such as {{ {key} = "{min(classes)}" }}', show_value(table))
    former = former_key(base)
    if former is not None and former in table and key not in table:
        raise validation_error(f"called {key} now", former, former)
    chosen = table.get(key)
    if not isinstance(chosen, str) or chosen not in classes:
        given = show_value(chosen) if key in table else "missing"
        raise validation_error("one of " + ", ".join(sorted(classes)), given, key)
    return _read_value(classes[chosen], table, info)


def _read_value(kind: Callable[..., Any], table: Any, info: ValidationInfo) -> Any:
    """Object of the value class `kind`, read from its table, with nominal values for ranges.

    Records the ranges by the `id` of the table; raises ValidationError for invalid values.
    """
    assert isinstance(kind, type)
    if not isinstance(table, dict):
        raise validation_error("a table", show_value(table))
    reading = _shared(info)
    values = given_values(kind, read_fields(_model(kind), table, reading))
    ranges = {name: given for name, given in values.items() if isinstance(given, Range)}
    if ranges:
        reject_lists(kind, values, ranges)
        reading.ranges[id(table)] = ranges
        values |= nominal_values(kind, ranges, reading.packet_bytes)
    try:
        return kind(**values)
    except InvalidInput as error:
        raise value_error(error, kind, table, _shared(info).packet_bytes) from None
