"""The errors that vegasfluid raises; their messages have one line."""

from __future__ import annotations

from numbers import Real

from vegasfluid.limits import short_number

__all__ = ["ComputationFailed", "InvalidInput", "NotInstalled", "SolveFailed", "TooLarge"]
__all__ += ["Unsupported", "VegasfluidError", "Words", "printable"]

LONGEST_NUMBER = 20
"""Number of characters up to which a given number is printed in full."""
LARGEST_INTEGER = 10**15
"""Largest given integer of which all digits are printed."""


def printable(text: str, keep: str = "") -> str:
    r"""The text with control characters as escapes, so that they do nothing to a terminal.

    Args:
        text: any text, such as a name in a model file.
        keep: characters that stay as they are, such as a line break.

    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    parts = (
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )
    return "".join(parts)


class VegasfluidError(Exception):
    """Base class of all errors that vegasfluid raises; the command line prints them in one line."""

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages that a terminal shows, a line each; several for an invalid model file."""
        return (str(self),)


class Words(str):
    """What was given, in words instead of as a value: error messages print it without quotes.

    >>> print(InvalidInput("Flows", "base_rtt", "given", Words("missing")))
    Flows: base_rtt must be given, but is missing.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """The words as they are."""
        return str(self)


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
        super().__init__(f"{whose}: {name} must be {allowed}, but is {_shown(given)}.")


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


class NotInstalled(VegasfluidError):
    """A program or a permission that a command needs is missing on this machine.

    Args:
        whose: the command, such as `crosscheck`.
        what: the option that needs it, such as `--with ns2`.
        needed: what is missing.
        remedy: how to get it.

    >>> print(NotInstalled("crosscheck", "--with ns2", "the program ns", "apt-get install ns2"))
    crosscheck: --with ns2 needs the program ns (apt-get install ns2).
    """

    def __init__(self, whose: str, what: str, needed: str, remedy: str) -> None:
        super().__init__(f"{whose}: {what} needs {needed} ({remedy}).")


class SolveFailed(VegasfluidError):
    """A numerical solve failed; the message gives the time or the parameter values."""


class ComputationFailed(VegasfluidError):
    """The machine stopped a computation: memory, disk, a process that died. It may work later."""


class TooLarge(VegasfluidError):
    """A run that needs more memory, steps or time than the machine or the simulator has."""


def _shown(given: object) -> str:
    """A given value as text, a long number with four digits."""
    if isinstance(given, bool) or not isinstance(given, int | Real):
        return repr(given)
    if isinstance(given, int):
        return repr(given) if abs(given) <= LARGEST_INTEGER else short_number(given)
    return repr(given) if len(repr(given)) <= LONGEST_NUMBER else short_number(given)
