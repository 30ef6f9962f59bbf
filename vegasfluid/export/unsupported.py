"""Checks that a system supports a class of flows or a link; errors name the class or link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.network import Flows, Link

__all__ = [
    "equivalent",
    "linux_red_notes",
    "require_built_in_values",
    "require_computed_increase",
    "require_discipline",
    "require_no_jitter",
    "require_rfc_3649",
    "require_values",
]

BUILT_IN = {
    "cubic": ("C", "beta", "fast_convergence", "friendly"),
    "scalable": ("increase", "decrease"),
}
"""Parameters that Linux and FreeBSD fix at the model's default values, by congestion control."""
Entry = TypeVar("Entry")
"""Type of a system's equivalent of a congestion control."""
Discipline = TypeVar("Discipline", bound=QueueDiscipline)
"""Type of the queue disciplines that a system supports."""


def equivalent(table: Mapping[str, Entry], name: str, flows: Flows, system: str) -> Entry:
    """The entry of a table for the congestion control of a class.

    Args:
        table: a system's equivalents, by the names of congestion controls in the model.
        name: name of the class, for the error message.
        flows: the class.
        system: name of the system, for the error message.

    Raises:
        InvalidInput: for a congestion control that is not in the table.
    """
    law = flows.law.name
    if law not in table:
        known = f"one that {system} has (" + ", ".join(table) + ")"
        raise InvalidInput(f"flows.{name}", "law", known, law)
    return table[law]


def require_values(name: str, law: Any, system: str, **allowed: object) -> None:
    """Raise InvalidInput unless parameters of a congestion control have supported values.

    Args:
        name: name of the class, for the error message.
        law: congestion control of the class.
        system: name of the system, for the error message.
        allowed: the supported value of each parameter, by its name.
    """
    for key, value in allowed.items():
        if getattr(law, key) != value:
            given = getattr(law, key)
            raise InvalidInput(f"flows.{name}", f"law.{key}", f"{value} for {system}", given)


def require_computed_increase(name: str, law: Any, system: str) -> None:
    """Raise Unsupported if CUBIC (`law`) of class `name` has a `friendly_increase`.

    `system`, which is named in the message, computes it from beta.
    """
    if law.friendly_increase is not None:
        what = f"law.friendly_increase {law.friendly_increase:g}"
        raise Unsupported(f"flows.{name}", what, f"{system} computes it from beta")


def require_rfc_3649(name: str, law: Any, system: str) -> None:
    """Raise InvalidInput unless HighSpeed TCP (`law`) of class `name` is that of RFC 3649.

    `system` is named in the message.
    """
    usual = HighSpeed().parameters()
    require_values(name, law, system, **{key: usual[key] for key in usual if key != "recovery"})


def require_built_in_values(name: str, law: Any, system: str) -> None:
    """Raise an error unless a congestion control has the values that `system`, a kernel, fixes.

    They are the model's defaults of CUBIC, HighSpeed TCP and Scalable TCP. `law` is the congestion
    control of the class `name`.

    Raises:
        InvalidInput: for another value.
    """
    if law.name == "highspeed":
        require_rfc_3649(name, law, system)
    if law.name == "cubic":
        require_computed_increase(name, law, system)
    for key in BUILT_IN.get(law.name, ()):
        require_values(name, law, system, **{key: getattr(type(law)(), key)})


def require_no_jitter(name: str, link: Link, system: str) -> None:
    """Raise InvalidInput if link `name` has jitter, which `system` does not support."""
    if link.jitter:
        raise InvalidInput(f"links.{name}", "jitter", f"0 for {system}", link.jitter)


LINUX_RED_NOTE = (
    "Let p be the drop probability at the average queue. {}'s RED drops the next packet 1 to "
    "1/p - 1 packets after the last drop, Linux's RED 1 to 1/p packets after it. At the same "
    "average queue Linux drops slightly fewer packets."
)


def linux_red_notes(links: Iterable[Link], system: str) -> tuple[str, ...]:
    """Note on the difference between Linux's RED and that of `system`; empty without Linux's."""
    linux = any(isinstance(link.aqm, Red) and link.aqm.is_linux for link in links)
    return (LINUX_RED_NOTE.format(system),) if linux else ()


def require_discipline(
    name: str, link: Link, system: str, kinds: tuple[type[Discipline], ...]
) -> Discipline:
    """Return a link's queue discipline if the system supports it.

    Args:
        name: name of the link, for the error message.
        link: the link.
        system: name of the system, for the error message.
        kinds: classes of queue disciplines that the system supports, two or more.

    Raises:
        InvalidInput: for another queue discipline; the message lists the supported ones.
    """
    if not isinstance(link.aqm, kinds):
        *first, last = (kind.name for kind in kinds)
        allowed = f"{', '.join(first)} or {last} for {system}"
        raise InvalidInput(f"links.{name}", "aqm", allowed, link.aqm.name)
    return link.aqm
