"""Models as JSON documents with the tables and keys of model files, which the page's form edits."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tomli_w

from vegasfluid import modelfile
from vegasfluid.errors import InvalidInput, Words
from vegasfluid.model import Model

__all__ = ["NOMINAL", "document_of_text", "errors_of", "model_of", "model_of_text"]

NAME = "model"
"""Name of the model in error messages about the whole file."""
NOMINAL = "Ranges of uncertain parameters are left out: explore uses their nominal values."
"""Note on a model with ranges."""

Document = dict[str, Any]
"""Tables of a model file as nested dicts, with numbers in the units of the file."""


def document_of_text(text: str) -> Document:
    """Tables in the text of a valid model file, with numbers in its units (ms, Mbit/s)."""
    return tomllib.loads(text)


def model_of_text(text: str) -> Model:
    """The model in the text of a model file, with nominal values in place of ranges.

    Raises:
        ModelFileError: if the text is invalid.
    """
    return replace(modelfile.loads(text, NAME), ranges={})


def model_of(document: object) -> Model:
    """The model in a JSON document with the tables and keys of a model file, in its units.

    A null stands for a key that is left out. Ranges are replaced by their nominal values.

    Raises:
        InvalidInput: for something that no model file can contain.
        ModelFileError: if the model is invalid.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput(
            "explore", "document", "a table", Words(f"of type {type(document).__name__}")
        )
    try:
        text = tomli_w.dumps(without_nulls(document))
    except (TypeError, ValueError, RecursionError):
        allowed = "of tables, lists, text and numbers"
        raise InvalidInput("explore", "document", allowed, Words("of other types, too")) from None
    return model_of_text(text)


def without_nulls(table: Mapping[str, Any]) -> Document:
    """A copy of nested tables without the keys whose value is None; lists are not searched."""
    return {
        str(key): without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in table.items()
        if value is not None
    }


def errors_of(error: Exception) -> list[dict[str, str]]:
    """Errors as the page shows them: `path` of the key (empty: none) and `message`, one line each.

    Args:
        error: what reading or running a model raised. Only a `ModelFileError` has paths and can
            give several entries.
    """
    if isinstance(error, modelfile.ModelFileError):
        return [{"path": path, "message": text} for path, text in error.places]
    return [{"path": "", "message": " ".join(str(error).split())}]
