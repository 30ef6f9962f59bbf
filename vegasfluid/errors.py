"""What can go wrong, said in one form: whose, what is allowed, what was given."""

from __future__ import annotations

__all__ = ["InvalidInput", "SolveFailed", "VegasfluidError"]


class VegasfluidError(Exception):
    """Any failure that vegasfluid explains in one line."""


class InvalidInput(VegasfluidError, ValueError):
    """A value that makes no sense.

    Args:
        whose: the object or place that the value belongs to, such as `Vegas`.
        name: the parameter, such as `alpha`.
        allowed: what the parameter must be, such as `above 0`.
        given: the value that was given.
    """

    def __init__(self, whose: str, name: str, allowed: str, given: object) -> None:
        self.whose, self.name, self.allowed, self.given = whose, name, allowed, given
        super().__init__(f"{whose}: {name} must be {allowed}, but is {given!r}.")


class SolveFailed(VegasfluidError):
    """A numerical solve that went wrong; the message says when and where."""
