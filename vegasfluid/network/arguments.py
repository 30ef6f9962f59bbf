"""Checks of the arguments of a network: types, names and numbers of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vegasfluid.errors import InvalidInput
from vegasfluid.limits import LARGEST_NETWORK
from vegasfluid.network.event import Event

__all__ = ["check_events", "check_parts"]


def check_parts(name: str, given: Any, kind: type) -> None:
    """Check that links or flows are a mapping of names to instances of their class.

    Args:
        name: `links` or `flows`, for the error message.
        given: the argument.
        kind: the class that each value must have.

    Raises:
        InvalidInput: for anything else, names with NUL characters, and more than 1000 parts.
    """
    allowed = f"a mapping of names to instances of {kind.__name__}"
    if not isinstance(given, Mapping):
        raise InvalidInput("Network", name, allowed, type(given).__name__)
    check_number(name, len(given))
    for key, part in given.items():
        if not isinstance(key, str) or "\0" in key:
            raise InvalidInput("Network", name, "named by text without NUL characters", key)
        if not isinstance(part, kind):
            shown = part.__name__ if isinstance(part, type) else type(part).__name__
            raise InvalidInput(
                "Network", f"{name}[{key!r}]", f"an instance of {kind.__name__}", shown
            )


def check_number(name: str, number: int) -> None:
    """Raise InvalidInput if a network has more than 1000 `links`, `flows` or `events`."""
    if number > LARGEST_NETWORK:
        raise InvalidInput("Network", name, f"at most {LARGEST_NETWORK}", number)


def check_events(given: Any) -> None:
    """Raise InvalidInput unless an argument is a list or tuple of at most 1000 events."""
    if not isinstance(given, Sequence) or not all(isinstance(event, Event) for event in given):
        raise InvalidInput("Network", "events", "a list of instances of Event", repr(given))
    check_number("events", len(given))
