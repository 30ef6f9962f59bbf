"""The errors that vegasfluid raises; their messages have one line."""

from __future__ import annotations

__all__ = ["ComputationFailed", "InvalidInput", "SolveFailed", "Unsupported", "VegasfluidError"]


class VegasfluidError(Exception):
    """Base class of all errors that vegasfluid raises; the command line prints them in one line."""


class InvalidInput(VegasfluidError, ValueError):
    """A parameter has a value outside its allowed range, or of a wrong type.

    Args:
        whose: the object or table that the parameter belongs to, such as `Vegas`.
        name: the parameter, such as `alpha`.
        allowed: the allowed values, such as `above 0`.
        given: the given value.

    >>> print(InvalidInput("Vegas", "alpha", "above 0", -1))
    Vegas: alpha must be above 0, but is -1.
    """

    def __init__(self, whose: str, name: str, allowed: str, given: object) -> None:
        self.whose, self.name, self.allowed, self.given = whose, name, allowed, given
        super().__init__(f"{whose}: {name} must be {allowed}, but is {given!r}.")


class Unsupported(InvalidInput):
    """A valid value that a method, a simulator or an export format does not support.

    Args:
        whose: the object or table that the value belongs to, such as `flows.vegas`.
        what: the parameter and its value, such as `law vegas_rerouting`.
        reason: why it is not supported, and by whom, such as `linux has reno and cubic`.

    >>> print(Unsupported("flows.vegas", "law vegas_rerouting", "linux has reno and cubic"))
    flows.vegas: law vegas_rerouting is not supported: linux has reno and cubic.
    """

    def __init__(self, whose: str, what: str, reason: str) -> None:
        super().__init__(whose, what, "supported", reason)
        self.args = (f"{whose}: {what} is not supported: {reason}.",)


class SolveFailed(VegasfluidError):
    """A numerical solve failed; the message gives the time or the parameter values."""


class ComputationFailed(VegasfluidError):
    """The machine stopped a computation: memory, disk, a process that died. It may work later."""
