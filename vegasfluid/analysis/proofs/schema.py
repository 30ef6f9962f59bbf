"""The JSON document of a certificate as pydantic models: its keys, units and types.

Each model has the fields of a class of `problem`; a key ends in the unit of its field. Only the
form is checked here; `problem` checks that the parameters make sense, and `verify` proves the
claims. pydantic is imported here and nowhere else in the analysis, when a document is read or
written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from vegasfluid.analysis.proofs.enclosure import Enclosure, Key, is_decimal
from vegasfluid.analysis.proofs.problem import (
    CubicFlows,
    FairAlphaProblem,
    LossBasedFlows,
    RedProfile,
    VegasFlows,
)
from vegasfluid.errors import InvalidInput, Words

__all__ = [
    "FORMAT",
    "VERSION",
    "CertificateDocument",
    "claims_document",
    "claims_from",
    "problem_document",
    "problem_from",
    "read_document",
]

FORMAT, VERSION = "vegasfluid alpha certificate", 1
"""What the keys `format` and `version` of a certificate contain."""
LONGEST_TEXT = 200
"""Characters of a name or of the program's version; also of a value that a message repeats."""
MAX_CLASSES = 100
"""Competing classes in a certificate: bounds the time that a foreign file can take."""
TEXT = f"a text of 1 to {LONGEST_TEXT} characters"
"""The form of a name, as messages word it."""
ALLOWED = {
    "missing": "given",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": TEXT,
    "string_too_short": TEXT,
    "string_too_long": TEXT,
    "dict_type": f"a JSON object of 1 to {MAX_CLASSES} classes",
    "too_short": f"a JSON object of 1 to {MAX_CLASSES} classes",
    "too_long": f"a JSON object of 1 to {MAX_CLASSES} classes",
    "model_type": "a JSON object",
    "model_attributes_type": "a JSON object",
    "extra_forbidden": "left out, as a certificate has no such key",
    "union_tag_not_found": "given",
    "union_tag_invalid": "reno, newreno or cubic",
}
"""What each error type of pydantic allows, in the words of a message."""


def invalid(allowed: str) -> PydanticCustomError:
    """An error that a pydantic validator raises for a value of a wrong form.

    Args:
        allowed: what is allowed, as the message words it.
    """
    return PydanticCustomError("not_allowed", "invalid", {"allowed": allowed})


def exact_double(value: Any) -> float:
    """A JSON number as a double.

    Raises:
        PydanticCustomError: for another type, and for a number that no finite double equals.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid("a number")
    try:
        double = float(value)
    except OverflowError:
        raise invalid("a number of at most 1.8e308") from None
    if not math.isfinite(double) or double != value:
        raise invalid("a finite number that fits a double")
    return double


def decimal_text(value: Any) -> str:
    """A value from a document, unchanged, if it is a decimal number in text, as in claims.

    Raises:
        PydanticCustomError: for any other value.
    """
    if not is_decimal(value):
        raise invalid("a decimal number in quotes")
    return value


def constant(expected: str | int) -> BeforeValidator:
    """A pydantic validator that accepts the value `expected` and raises an error for any other."""

    def check(value: Any) -> Any:
        if value != expected or isinstance(value, bool):
            raise invalid(repr(expected))
        return value

    return BeforeValidator(check)


Double = Annotated[float, BeforeValidator(exact_double)]
"""A JSON number that a double represents exactly."""
Decimal = Annotated[str, BeforeValidator(decimal_text)]
"""A decimal number in text, which need not be a double."""
Text = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_TEXT)]
"""A text of 1 to `LONGEST_TEXT` characters."""


class Record(BaseModel):
    """A JSON object that has exactly the keys of its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RedRecord(Record):
    """The parameters of RED, a `RedProfile`."""

    min_thresh: Double = Field(alias="min_thresh_packets")
    max_thresh: Double = Field(alias="max_thresh_packets")
    max_drop: Double
    gentle: StrictBool
    wait: StrictBool
    marks: StrictBool
    implementation: Text = "ns2"  # left out where it is


class GroupRecord(Record):
    """The parameters of identical flows, a `FlowGroup`."""

    count: StrictInt = Field(alias="flows")
    base_rtt: Double = Field(alias="base_rtt_s")
    max_window: Double = Field(alias="max_window_packets")
    access: Double | None = Field(alias="access_packets_per_s")


class VegasRecord(GroupRecord):
    """The parameters of the tuned class, `VegasFlows`, without its name."""

    dialect: Text
    softness: Double = Field(alias="softness_packets")


class TunedRecord(VegasRecord):
    """The tuned class with its name."""

    name: Text


class LossBasedRecord(GroupRecord):
    """The parameters of `LossBasedFlows`."""

    law: Literal["reno", "newreno"]


class CubicRecord(GroupRecord):
    """The parameters of `CubicFlows`."""

    law: Literal["cubic"]
    C: Double = Field(alias="c_packets_per_s3")
    beta: Double
    fast_convergence: StrictBool
    friendly: StrictBool
    implementation: Literal["rfc9438", "rfc8312", "linux", "ns2", "ns3"]


Competitor = Annotated[LossBasedRecord | CubicRecord, Field(discriminator="law")]
"""A competing class; its key `law` decides which record it is."""


class ProblemRecord(Record):
    """The parameters of a `FairAlphaProblem`."""

    capacity: Double = Field(alias="capacity_packets_per_s")
    buffer: Double = Field(alias="buffer_packets")
    loss_process: Text
    ratio: Double
    epsilon: Double
    red: RedRecord
    tuned: TunedRecord
    competitors: dict[Text, Competitor] = Field(min_length=1, max_length=MAX_CLASSES)


class BoundsRecord(Record):
    """The two ends of a claimed interval, decimals in text."""

    low: Decimal
    high: Decimal


class ClassClaims(Record):
    """The claims about a flow of a class in equilibrium: window, round-trip time and rate."""

    cwnd_packets: BoundsRecord
    rtt_s: BoundsRecord
    rate_packets_per_s: BoundsRecord


class Claims(Record):
    """All claims of a certificate: two bounds for each number, in the unit that ends its key."""

    alpha_packets: BoundsRecord
    alpha_below_packets: BoundsRecord
    alpha_above_packets: BoundsRecord
    alpha_packets_per_log_ratio: BoundsRecord
    box_packets: BoundsRecord
    queue_packets: BoundsRecord
    drop_prob: BoundsRecord
    recovering_fraction: BoundsRecord
    classes: dict[str, ClassClaims]


class CertificateDocument(Record):
    """The whole JSON document of a certificate."""

    format: Annotated[str, constant(FORMAT)]
    version: Annotated[int, constant(VERSION)]
    software: Text
    statement: Any
    problem: ProblemRecord
    claims: Claims


def read_document(document: Any) -> CertificateDocument:
    """A certificate's JSON document as a pydantic model; only its keys and types are checked.

    Args:
        document: a parsed JSON document.

    Raises:
        InvalidInput: with the first key that is missing, unknown or of a wrong form.
    """
    try:
        return CertificateDocument.model_validate(document)
    except ValidationError as error:
        raise in_one_line(error.errors(include_url=False)[0]) from None


def in_one_line(error: ErrorDetails) -> InvalidInput:
    """The `InvalidInput` of one pydantic error: path of the key, what is allowed, what was given.

    Args:
        error: the first of a `ValidationError`.
    """
    error_type, given = error["type"], error["input"]
    path = [str(key) for key in error["loc"]]
    if path[:2] == ["problem", "competitors"] and len(path) > 4:
        del path[3]  # the name of the law, by which pydantic selects the class
    if path[-1:] == ["[key]"]:
        path = ["a class's name"]
    if error_type.startswith("union_tag"):
        path.append("law")
        given = given.get("law")
    if error_type in ("missing", "union_tag_not_found"):
        given = Words("missing")
    allowed = error.get("ctx", {}).get("allowed") or ALLOWED.get(error_type, error["msg"])
    return invalid_document(".".join(path) or "the document", allowed, given)


def invalid_document(where: str, allowed: str, given: object) -> InvalidInput:
    """The `InvalidInput` for a value of a certificate; only the beginning of a long value is shown.

    Args:
        where: path of the key in the document.
        allowed: what is allowed there, in words.
        given: the value.
    """
    shown = given if len(repr(given)) <= LONGEST_TEXT else Words(repr(given)[:60] + " ...")
    return InvalidInput("certificate", where, allowed, shown)


def problem_from(record: ProblemRecord) -> FairAlphaProblem:
    """The parameters in a document as a `FairAlphaProblem`, in the units of its fields.

    Raises:
        InvalidInput: for the first parameter outside its range.
    """
    parameters = record.model_dump(exclude={"red", "tuned", "competitors"})
    return FairAlphaProblem(
        **parameters,
        red=RedProfile(**record.red.model_dump()),
        tuned_name=record.tuned.name,
        tuned=VegasFlows(**record.tuned.model_dump(exclude={"name"})),
        competitors={
            name: (CubicFlows if isinstance(flows, CubicRecord) else LossBasedFlows)(
                **flows.model_dump()
            )
            for name, flows in record.competitors.items()
        },
    )


def claims_from(record: Claims, classes: tuple[str, ...]) -> dict[Key, Enclosure]:
    """The claimed bounds of all numbers, by the keys that lead to each claim.

    Args:
        record: the claims.
        classes: names of the classes in the problem.

    Raises:
        InvalidInput: for bounds that are not in order, and classes that differ from the problem's.
    """
    for name in classes:
        if name not in record.classes:
            raise invalid_document(f"claims.classes.{name}", "given", Words("missing"))
    for name in record.classes:
        if name not in classes:
            raise invalid_document("a key of claims.classes", "one of " + ", ".join(classes), name)
    claims: dict[Key, Enclosure] = {
        (key,): enclosure(bounds, f"claims.{key}") for key, bounds in record if key != "classes"
    }
    for name in classes:
        for key, bounds in record.classes[name]:
            where = f"claims.classes.{name}.{key}"
            claims["classes", name, key] = enclosure(bounds, where)
    return claims


def enclosure(bounds: BoundsRecord, where: str) -> Enclosure:
    """A claimed interval as an `Enclosure`.

    Args:
        bounds: its ends, as decimals in text.
        where: its path in the document, for the message.

    Raises:
        InvalidInput: where the lower end is above the upper one.
    """
    claim = Enclosure(bounds.low, bounds.high)
    low, high = claim.bounds
    if low > high:
        raise invalid_document(f"{where}.low", f"at most high ({claim.high})", claim.low)
    return claim


def with_keys(record: type[Record], value: object) -> dict[str, Any]:
    """The attributes of a value that are fields of a record, by their keys in the document.

    Args:
        record: the pydantic model; its aliases are the keys, with units.
        value: such as a `RedProfile`; fields that it lacks are left out, and those in which it has
            the model's default.
    """
    return {
        field.alias or name: getattr(value, name)
        for name, field in record.model_fields.items()
        if hasattr(value, name) and getattr(value, name) != field.default
    }


def problem_document(problem: FairAlphaProblem) -> dict[str, Any]:
    """The parameters of a problem as a JSON object; keys end in units (`base_rtt_s`)."""
    competitors = {
        name: {"law": flows.law}
        | with_keys(CubicRecord if isinstance(flows, CubicFlows) else LossBasedRecord, flows)
        for name, flows in problem.competitors.items()
    }
    return with_keys(ProblemRecord, problem) | {
        "red": with_keys(RedRecord, problem.red),
        "tuned": {"name": problem.tuned_name, **with_keys(VegasRecord, problem.tuned)},
        "competitors": competitors,
    }


def claims_document(claims: Mapping[Key, Enclosure]) -> dict[str, Any]:
    """Claims as nested JSON objects; each claim has `low` and `high`, decimals in text.

    Args:
        claims: by the keys that lead to them, which end in units.
    """
    document: dict[str, Any] = {}
    for key, claim in claims.items():
        table = document
        for part in key[:-1]:
            table = table.setdefault(part, {})
        table[key[-1]] = {"low": claim.low, "high": claim.high}
    return document
