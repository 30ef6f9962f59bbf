"""What a system does not have, refused in one line that names the class or the link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from vegasfluid.aqm.droptail import DropTail
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.errors import InvalidInput
from vegasfluid.network import Flows, Link

__all__ = ["red_of", "require_no_jitter", "require_plain", "require_rfc_3649", "stands_for"]

Entry = TypeVar("Entry")


def stands_for(table: Mapping[str, Entry], name: str, flows: Flows, system: str) -> Entry:
    """What stands for the law of a class in a system.

    Args:
        table: what the system has, by the names of laws.
        name: of the class.
        flows: the class.
        system: for refusals.

    Raises:
        InvalidInput: for a law that is not in the table.
    """
    law = flows.law.name
    if law not in table:
        known = f"one that {system} has (" + ", ".join(table) + ")"
        raise InvalidInput(f"flows.{name}", "law", known, law)
    return table[law]


def require_plain(name: str, law: Any, system: str, **allowed: object) -> None:
    """Hold fields of a class's law to the only values that a system has."""
    for key, value in allowed.items():
        if getattr(law, key) != value:
            given = getattr(law, key)
            raise InvalidInput(f"flows.{name}", f"law.{key}", f"{value} for {system}", given)


def require_rfc_3649(name: str, law: Any, system: str) -> None:
    """Hold HighSpeed TCP to the numbers of its RFC, whose table a system has."""
    usual = HighSpeed().parameters()
    require_plain(name, law, system, **{key: usual[key] for key in usual if key != "recovery"})


def require_no_jitter(name: str, link: Link, system: str) -> None:
    """Refuse jitter on a link."""
    if link.jitter:
        raise InvalidInput(f"links.{name}", "jitter", f"0 for {system}", link.jitter)


def red_of(name: str, link: Link, system: str) -> Red | None:
    """The RED of a link; None where its queue is drop-tail.

    Raises:
        InvalidInput: for another queue law.
    """
    if isinstance(link.aqm, DropTail):
        return None
    if not isinstance(link.aqm, Red):
        raise InvalidInput(f"links.{name}", "aqm", f"droptail or red for {system}", link.aqm.name)
    return link.aqm
