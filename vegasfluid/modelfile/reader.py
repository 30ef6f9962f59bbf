"""Reading a model file: bytes, text, TOML, values; each step says in one line why it refuses."""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from vegasfluid.bundled import bundled_models, model_path
from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.modelfile.errors import (
    ModelFileError,
    as_refusal,
    network_refusal,
    refusal,
    refused,
)
from vegasfluid.modelfile.ranges import ranges_of
from vegasfluid.modelfile.schema import (
    CONFIG,
    Reading,
    derived_fields,
    given_values,
    read_fields,
    reader,
)
from vegasfluid.network import SINGLE_LINK, Link, Network

__all__ = ["load", "loads", "read_model"]

LARGEST_FILE = 1_000_000
"""Bytes. A model file is a page long; what is larger was not meant."""

LARGEST_PACKET = 10**9
"""Bytes, beyond any packet, and not beyond a float."""

MOST_PARTS = 50
"""Parts of a key; ours have four. tomllib takes memory with the square of their number."""

CHAINED_DOT = re.compile(r"""\.(?=[^.,]*\.)|["']\s*\.""")
"""A dot with another one behind it, or behind a quote: not the point of a number in a list."""

Document = dict[str, Any]


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Args:
        path: a TOML file in UTF-8, of at most 1 MB.

    Raises:
        ModelFileError: for a file that cannot be read or is refused.

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
        raise ModelFileError(f"{name}: {_why_unreadable(error)}") from None


def read_model(name: str | os.PathLike[str]) -> Model:
    """Read a model file, or a model that comes with vegasfluid.

    Args:
        name: the path of a model file, or the name of a shipped model. A path that exists wins.

    Raises:
        ModelFileError: for a file that cannot be read or is refused, and for what is neither.

    >>> read_model("weigle_feng_network2").network.flows["vegas"].count
    25
    """
    text = os.fspath(name)
    if "\0" in text or (path := model_path(text)) is None:
        raise ModelFileError(f"{text}: {_why_no_model(text)}")
    return load(text if path == Path(text) else path)


def _why_no_model(text: str) -> str:
    """What was looked for, the nearest shipped model, and how to list them all."""
    wanted = Path(text).name.removesuffix(".toml")
    close = difflib.get_close_matches(wanted, bundled_models(), n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    either = "a model file" if wanted != text else "a model file or the name of a shipped model"
    found = "there is no such file" if wanted != text else "there is neither"
    return f"must be {either}, but {found}; {hint}vegasfluid models lists what is shipped"


def loads(text: str, name: str = "<text>") -> Model:
    """Read the text of a model file.

    Args:
        text: TOML.
        name: what refusals call the file.

    Raises:
        ModelFileError: for text that is refused.

    >>> loads("duration_s = 0")
    Traceback (most recent call last):
    vegasfluid.modelfile.errors.ModelFileError: <text>: duration_s: must be above 0, but is 0...
    """
    document = _toml(text, name)
    reading = Reading(_packet_bytes(document))
    try:
        return _model(document, reading)
    except ValidationError as error:
        raise refused(name, error, document, reading.known) from None


def _read(path: Path, name: str) -> bytes:
    """The bytes of a file, whose size and kind are looked at before it is opened."""
    if "\0" in name:
        raise ModelFileError(f"{name}: must be a file name, but holds a NUL character")
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise ModelFileError(f"{name}: must be a model file, but is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise ModelFileError(f"{name}: must be a regular file, but is a device or a pipe")
    if found.st_size > LARGEST_FILE:
        raise ModelFileError(
            f"{name}: must be at most {LARGEST_FILE} bytes, but is {found.st_size} bytes"
        )
    return path.read_bytes()


def _why_unreadable(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "must be a model file, but there is no such file"
    return f"must be a readable file, but is not: {(error.strerror or str(error)).lower()}"


def _toml(text: str, name: str) -> Document:
    """The tables of the text; fractions stay decimals until they are scaled, to lose nothing."""
    _require_short_keys(text, name)
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        raise ModelFileError(f"{name}: {_why_not_toml(str(error), text)}") from None
    except RecursionError:
        raise ModelFileError(f"{name}: must be TOML, but is nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise ModelFileError(f"{name}: must be TOML, but is not: {error}") from None


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond even decimals: infinite, or zero
        return Decimal(float(text))


def _require_short_keys(text: str, name: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") <= MOST_PARTS or line.lstrip().startswith("#"):
            continue
        if len(CHAINED_DOT.findall(line)) > MOST_PARTS:
            allowed = f"line {number}: must have keys of at most {MOST_PARTS} parts"
            raise ModelFileError(f"{name}: {allowed}, but has more")


def _why_not_toml(message: str, text: str) -> str:
    """Python's message, with the place in front; it has none for the end of the text."""
    found = re.fullmatch(r"(?P<why>.*) \(at (?P<place>line \d+, column \d+|end of document)\)",
                         message, re.DOTALL)  # fmt: skip
    if found is None:
        return f"must be TOML, but is not: {message}"
    place = found["place"]
    if place == "end of document":
        lines = text.split("\n")
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    return f"{place}: must be TOML, but is not: {found['why']}"


def _packet_bytes(document: Document) -> int:
    """The packet size that rates are read with; where it is refused, they do not matter."""
    given = document.get("packet_bytes")
    return given if type(given) is int and 0 < given <= LARGEST_PACKET else Network.packet_bytes


@cache
def _document() -> type[BaseModel]:
    """The tables and keys of a whole file: those of a model and of its network."""
    ways_of_links = {SINGLE_LINK: (reader(Link), None), "links": (dict[str, reader(Link)], None)}
    sizes_and_flows = derived_fields(Network, "links")
    allowed = derived_fields(Model, "network", "ranges") | ways_of_links | sizes_and_flows
    return create_model("Document", __config__=CONFIG, **allowed)


def _model(document: Document, reading: Reading) -> Model:
    given = read_fields(_document(), document, reading)
    _require_one_way_of_links(document)
    values = given_values(Model, given)
    network = _network(document, given)
    ranges = ranges_of(document, network, reading.ranges)
    try:
        return Model(network, ranges=ranges, **values)
    except InvalidInput as error:
        if error.whose.startswith("flows."):
            raise network_refusal(error, document) from None
        raise as_refusal(error, Model, document, reading.packet_bytes) from None


def _require_one_way_of_links(document: Document) -> None:
    if SINGLE_LINK in document and "links" in document:
        raise refusal(f"left out where {SINGLE_LINK} is given", "a table", "links")
    if SINGLE_LINK not in document and "links" not in document:
        raise refusal("given, or else links", "missing", SINGLE_LINK)


def _network(document: Document, given: BaseModel) -> Network:
    values = given_values(Network, given)
    links = values.pop("links", None)
    try:
        return Network(getattr(given, SINGLE_LINK) if links is None else links, **values)
    except InvalidInput as error:
        raise network_refusal(error, document) from None
