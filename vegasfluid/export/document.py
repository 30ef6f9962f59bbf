"""The result of an export: files, Vegas parameters, and notes on differences from the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vegasfluid.export.dialects import VegasParameters
from vegasfluid.export.quoting import comment
from vegasfluid.model import Model

__all__ = ["Exported", "header_comments"]


@dataclass(frozen=True)
class Exported:
    """A model as files for another system.

    Args:
        format: name of the system.
        files: texts by file name; the first is the one to run.
        vegas: alpha, beta and gamma (packets) of each Vegas class for the system, by its name.
        notes: differences between the system and the model, one sentence each.
    """

    format: str
    files: Mapping[str, str]
    vegas: Mapping[str, VegasParameters] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The JSON output of `vegasfluid export`.

        Returns:
            `format`; `vegas` (by class: alpha, beta and gamma in packets, `from_dialect`,
            `translated`); `notes`; and `files`, texts by file name.
        """
        return {
            "format": self.format,
            "vegas": {
                name: {
                    **parameters.values,
                    "from_dialect": parameters.dialect,
                    "translated": parameters.translated,
                }
                for name, parameters in self.vegas.items()
            },
            "notes": list(self.notes),
            "files": dict(self.files),
        }


def header_comments(
    model: Model, notes: tuple[str, ...], vegas: Mapping[str, VegasParameters]
) -> list[str]:
    """Comment lines (`# ...`): the model's title and source, if any, Vegas parameters, and notes.

    Args:
        model: the model.
        notes: differences between the system and the model, one sentence each.
        vegas: alpha, beta and gamma (packets) of each Vegas class, by its name.
    """
    lines = comment(f"Model: {model.title}") if model.title else []
    lines += comment(f"Source: {model.source}") if model.source else []
    for name, parameters in vegas.items():
        values = ", ".join(f"{key} {value:g}" for key, value in parameters.values.items())
        lines += comment(f"Vegas parameters of {name}: {values}; {parameters.origin}.")
    for note in notes:
        lines += comment(note)
    return lines
