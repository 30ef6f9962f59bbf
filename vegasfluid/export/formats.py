"""The systems that a model can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vegasfluid.errors import InvalidInput
from vegasfluid.export.document import Exported
from vegasfluid.export.freebsd import export_freebsd
from vegasfluid.export.linux import export_linux
from vegasfluid.export.ns2 import export_ns2
from vegasfluid.export.ns3 import export_ns3
from vegasfluid.export.settings import FREEBSD, SYSTEMS, System
from vegasfluid.export.spoken import Points, to_translate
from vegasfluid.model import Model

__all__ = ["FORMATS", "Format", "export_model", "needs_points"]

LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Format:
    """One system.

    Args:
        export: writes a model for it.
        system: how it turns a backlog into parameters.
    """

    export: Callable[[Model, Points, int], Exported]
    system: System


FORMATS = {
    "linux": Format(export_linux, SYSTEMS["linux"]),
    "freebsd": Format(export_freebsd, FREEBSD),
    "ns2": Format(export_ns2, SYSTEMS["ns2"]),
    "ns3": Format(export_ns3, SYSTEMS["ns3"]),
}
"""By name."""


def format_of(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise InvalidInput("export", "format", "one of " + ", ".join(FORMATS), name)
    return FORMATS[name]


def needs_points(model: Model, name: str) -> list[str]:
    """The classes whose Vegas parameters have to be translated for a format.

    >>> from vegasfluid import modelfile
    >>> needs_points(modelfile.load("models/weigle_feng_network2.toml"), "ns2")
    []
    """
    return to_translate(model.network, format_of(name).system)


def export_model(
    model: Model, name: str, *, points: Points | None = None, seed: int = 1
) -> Exported:
    """A model in another system's words.

    Args:
        model: what to export; as it stands, nothing is tuned.
        name: one of `FORMATS`.
        points: where the flows of the classes are that `needs_points` names; see
            `vegasfluid.tuning.operating_points`.
        seed: of the random numbers of a scenario.

    Raises:
        InvalidInput: for an unknown format, a missing point, or what the system cannot express.

    >>> from vegasfluid import modelfile
    >>> model = modelfile.load("models/weigle_feng_network2.toml")
    >>> list(export_model(model, "ns2").files)
    ['scenario.tcl']
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput("export", "seed", f"from 0 to {LARGEST_SEED}", seed)
    return format_of(name).export(model, points or {}, seed)
