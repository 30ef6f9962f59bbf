"""Read a model file in steps (bytes, text, TOML, values), each with its own error message."""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
import tomllib
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from vegasfluid.bundled import bundled_models, model_path
from vegasfluid.errors import InvalidInput
from vegasfluid.limits import LARGEST_NETWORK
from vegasfluid.model import Model
from vegasfluid.modelfile.derived_models import (
    CONFIG,
    Reading,
    derived_fields,
    given_values,
    read_fields,
    reader,
)
from vegasfluid.modelfile.errors import (
    ModelFileError,
    model_file_error,
    network_error,
    validation_error,
    value_error,
)
from vegasfluid.modelfile.ranges import ranges_of
from vegasfluid.network import SINGLE_LINK, Link, Network

__all__ = ["load", "loads", "read_model"]

LARGEST_FILE = 1_000_000
"""Largest file in bytes; model files are about a page long."""

LARGEST_PACKET = 10**9
"""Largest packet size in bytes: more than any real packet, and exact as a float."""

MOST_PARTS = 50
"""Largest number of parts of a dotted key. Four are needed; tomllib's memory is quadratic in it."""

CHAINED_DOT = re.compile(r"""\.(?=[^.,]*\.)|["']\s*\.""")
"""A dot followed by another one, or after a quote: not the decimal point of a number."""

Document = dict[str, Any]
"""Tables of a model file as nested dicts, with numbers in the units of the file."""


def load(path: str | os.PathLike[str]) -> Model:
    """Read and validate a model file.

    Args:
        path: a TOML file in UTF-8, of at most 1 MB.

    Returns:
        The model: network, duration, warm-up and ranges.

    Raises:
        ModelFileError: if the file cannot be read or is invalid.

    >>> load("models/weigle_feng_network2.toml").network.flows["vegas"].count
    25
    """
    name = os.fspath(path)
    try:
        return loads(_read(Path(path), name).decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"{name}: must be UTF-8 text, but byte {error.start + 1} is not"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{name}: {_unreadable_message(error)}") from None


def read_model(name: str | os.PathLike[str]) -> Model:
    """Read a model file, or a built-in model, by its path or name.

    Args:
        name: path of a model file, or name of a built-in model. An existing path wins.

    Returns:
        The model: network, duration, warm-up and ranges.

    Raises:
        ModelFileError: if the model does not exist, cannot be read or is invalid.

    >>> read_model("weigle_feng_network2").network.flows["vegas"].count
    25
    """
    text = os.fspath(name)
    if "\0" in text or (path := model_path(text)) is None:
        raise ModelFileError(f"{text}: {_model_not_found(text)}")
    return load(text if path == Path(text) else path)


def _model_not_found(text: str) -> str:
    """Error message for a missing model; suggests the most similar built-in one."""
    wanted = Path(text).name.removesuffix(".toml")
    close = difflib.get_close_matches(wanted, bundled_models(), n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    either = "a model file" if wanted != text else "a model file or the name of a built-in model"
    problem = "there is no such file" if wanted != text else "there is neither"
    return f"must be {either}, but {problem}; {hint}vegasfluid models lists the built-in models"


def loads(text: str, name: str = "<text>") -> Model:
    """Read and validate a model from the text of a model file.

    Args:
        text: TOML.
        name: name of the file in error messages.

    Returns:
        The model: network, duration, warm-up and ranges.

    Raises:
        ModelFileError: if the text is invalid.

    >>> loads("duration_s = 0")
    Traceback (most recent call last):
    vegasfluid.modelfile.errors.ModelFileError: <text>: line 1: duration_s: must be above 0, but...
    """
    document = _toml(text, name)
    reading = Reading(_packet_bytes(document))
    try:
        return _model(document, reading)
    except ValidationError as error:
        raise model_file_error(name, text, error, document, reading.known) from None


def _read(path: Path, name: str) -> bytes:
    """Bytes of the file at `path`, which must be a regular file of at most 1 MB.

    Otherwise raises ModelFileError with `name` as the file's name.
    """
    if "\0" in name:
        raise ModelFileError(f"{name}: must be a file name, but contains a NUL character")
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ModelFileError(f"{name}: must be a model file, but is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{name}: must be a regular file, but is a device or a pipe")
    if status.st_size > LARGEST_FILE:
        raise ModelFileError(
            f"{name}: must be at most {LARGEST_FILE} bytes, but is {status.st_size} bytes"
        )
    return path.read_bytes()


def _unreadable_message(error: OSError) -> str:
    """Error message (without the file's name) for an OSError while reading a file."""
    if isinstance(error, FileNotFoundError):
        return "must be a model file, but there is no such file"
    return f"must be a readable file, but is not: {(error.strerror or str(error)).lower()}"


def _toml(text: str, name: str) -> Document:
    """Tables of a TOML text as dicts; numbers with fractions are exact decimals.

    Raises ModelFileError, with `name` as the file's name, if the text is not TOML.
    """
    _require_short_keys(text, name)
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        raise ModelFileError(f"{name}: {_toml_error_message(str(error), text)}") from None
    except RecursionError:
        raise ModelFileError(f"{name}: must be TOML, but is nested too deeply") from None
    except ValueError:  # an integer of more digits than Python reads
        allowed = f"must have integers of at most {sys.get_int_max_str_digits()} digits"
        raise ModelFileError(f"{name}: {allowed}, but has a longer one") from None


def _decimal(text: str) -> Decimal:
    """Decimal of a number's text; infinite or zero if its exponent is too large for a Decimal."""
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond even decimals: infinite, or zero
        return Decimal(float(text))


def _require_short_keys(text: str, name: str) -> None:
    """Raise ModelFileError if a dotted key of the text has more than 50 parts.

    This bounds the memory of tomllib, which parses the text afterwards.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") <= MOST_PARTS or line.lstrip().startswith("#"):
            continue
        if len(CHAINED_DOT.findall(line)) > MOST_PARTS:
            allowed = f"line {number}: must have keys of at most {MOST_PARTS} parts"
            raise ModelFileError(f"{name}: {allowed}, but has more")


def _toml_error_message(message: str, text: str) -> str:
    """Error message of tomllib with line and column first, also at the end of the text."""
    match = re.fullmatch(r"(?P<why>.*) \(at (?P<place>line \d+, column \d+|end of document)\)",
                         message, re.DOTALL)  # fmt: skip
    if match is None:
        return f"must be TOML, but is not: {message}"
    position = match["place"]
    if position == "end of document":
        lines = text.split("\n")
        position = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    return f"{position}: must be TOML, but is not: {match['why']}"


def _packet_bytes(document: Document) -> int:
    """Packet size of a document, bytes; the default if its value is missing or invalid."""
    given = document.get("packet_bytes")
    return given if type(given) is int and 0 < given <= LARGEST_PACKET else Network.packet_bytes


@cache
def _document() -> type[BaseModel]:
    """Pydantic model of a whole file: allowed keys of a model, its network and links."""
    link_fields = {SINGLE_LINK: (reader(Link), None), "links": (dict[str, reader(Link)], None)}
    network_fields = derived_fields(Network, "links")
    allowed = derived_fields(Model, "network", "ranges") | link_fields | network_fields
    return create_model("Document", __config__=CONFIG, **allowed)


def _model(document: Document, reading: Reading) -> Model:
    """Validate a parsed document and build its `Model`; raises ValidationError.

    Args:
        document: tables of the file.
        reading: packet size, and a record of known keys and ranges.
    """
    _require_few_parts(document)
    given = read_fields(_document(), document, reading)
    _require_one_kind_of_links(document)
    values = given_values(Model, given)
    network = _network(document, given)
    ranges = ranges_of(document, network, reading.ranges)
    try:
        return Model(network, ranges=ranges, **values)
    except InvalidInput as error:
        if error.whose.startswith("flows."):
            raise network_error(error, document) from None
        raise value_error(error, Model, document, reading.packet_bytes) from None


def _require_few_parts(document: Document) -> None:
    """Raise ValidationError if a file has more than 1000 links, flow classes or events.

    It is checked first, because reading many thousands would take minutes.
    """
    for key in ("links", "flows", "events"):
        given = document.get(key)
        if isinstance(given, dict | list) and len(given) > LARGEST_NETWORK:
            raise validation_error(f"at most {LARGEST_NETWORK} tables", f"{len(given)} tables", key)


def _require_one_kind_of_links(document: Document) -> None:
    """Raise ValidationError unless the file has either `bottleneck` or `links`."""
    if SINGLE_LINK in document and "links" in document:
        raise validation_error(f"left out if {SINGLE_LINK} is given", "a table", "links")
    if SINGLE_LINK not in document and "links" not in document:
        raise validation_error("given, unless links is", "missing", SINGLE_LINK)


def _network(document: Document, given: BaseModel) -> Network:
    """Network of a document, with nominal values in place of ranges.

    Args:
        document: tables of the file, for error messages.
        given: its validated values.
    """
    values = given_values(Network, given)
    links = values.pop("links", None)
    try:
        return Network(getattr(given, SINGLE_LINK) if links is None else links, **values)
    except InvalidInput as error:
        raise network_error(error, document) from None
