"""The systems to which a model can be exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vegasfluid.errors import InvalidInput
from vegasfluid.export.dialects import Points, classes_to_translate
from vegasfluid.export.document import Exported
from vegasfluid.export.freebsd import export_freebsd
from vegasfluid.export.linux import export_linux
from vegasfluid.export.netns import export_netns
from vegasfluid.export.ns2 import export_ns2
from vegasfluid.export.ns3 import export_ns3
from vegasfluid.export.openwrt import export_openwrt
from vegasfluid.export.settings import FREEBSD, SYSTEMS, System
from vegasfluid.export.sonic import export_sonic
from vegasfluid.model import Model

__all__ = ["FORMATS", "Format", "export_model", "needs_points"]

LARGEST_SEED = 2**32 - 1
"""Largest seed of an exported scenario: 32 bits."""


@dataclass(frozen=True)
class Format:
    """An export format.

    Args:
        export: function that exports a model; its other arguments are operating points and a seed.
        system: the system's dialect of Vegas; None if hosts are not exported.
    """

    export: Callable[[Model, Points, int], Exported]
    system: System | None = None


FORMATS = {
    "linux": Format(export_linux, SYSTEMS["linux"]),
    "freebsd": Format(export_freebsd, FREEBSD),
    "openwrt": Format(export_openwrt),
    "sonic": Format(export_sonic),
    "netns": Format(export_netns, SYSTEMS["linux"]),
    "ns2": Format(export_ns2, SYSTEMS["ns2"]),
    "ns3": Format(export_ns3, SYSTEMS["ns3"]),
}
"""Export formats by name."""


def format_of(name: str) -> Format:
    """The export format called `name`; raises InvalidInput if there is none."""
    if name not in FORMATS:
        raise InvalidInput("export", "format", "one of " + ", ".join(FORMATS), name)
    return FORMATS[name]


def needs_points(model: Model, name: str) -> list[str]:
    """Names of the classes whose Vegas parameters must be translated for a format.

    For these, `export_model` needs operating points.

    Args:
        model: the model to export.
        name: one of `FORMATS`.

    Raises:
        InvalidInput: for an unknown format.

    >>> from vegasfluid import modelfile
    >>> needs_points(modelfile.load("models/weigle_feng_network2.toml"), "ns2")
    []
    """
    system = format_of(name).system
    return [] if system is None else classes_to_translate(model.network, system)


def export_model(
    model: Model, name: str, *, points: Points | None = None, seed: int = 1
) -> Exported:
    """Export a model, with the parameters that it has, to another system.

    Args:
        model: the model.
        name: one of `FORMATS`.
        points: operating points of the classes that `needs_points` returns; see
            `vegasfluid.tuning.operating_points`.
        seed: seed of a scenario's random numbers, from 0 to 2^32 - 1; only `netns`, `ns2` and `ns3`
            use it.

    Returns:
        Texts of the files, the Vegas parameters in them (packets), and notes on differences.

    Raises:
        InvalidInput: for an unknown format, another seed, a missing operating point, or a part of
            the model that the system does not support.

    >>> from vegasfluid import modelfile
    >>> model = modelfile.load("models/weigle_feng_network2.toml")
    >>> list(export_model(model, "ns2").files)
    ['scenario.tcl']
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput("export", "seed", f"from 0 to {LARGEST_SEED}", seed)
    return format_of(name).export(model, points or {}, seed)
