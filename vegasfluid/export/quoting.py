"""Quoting of names and texts of a model file in other languages, so that none of it is executed.

A title or a name may contain any character. In comments it stays on its line; elsewhere it is a
literal.

Sources:
    Tcl(n), rules 4 to 10 (a backslash at the end of a comment joins the next line to it).
"""

from __future__ import annotations

import textwrap

__all__ = ["comment", "plain_text", "tcl_number", "tcl_word"]

WIDTH = 92
"""Width at which comments are wrapped, characters (chosen)."""
LARGEST_IN_TCL = 0xFFFF
"""Largest character code of Tcl 8's \\u, which has four digits."""
HARMLESS = frozenset(" _-.,:=/")
"""Characters, besides letters and digits, that need no escape in a quoted word of Tcl."""


def plain_text(text: str) -> str:
    r"""The text on one line, without control characters.

    >>> plain_text("a\n  b\x00")
    'a b'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def comment(text: str, mark: str = "#") -> list[str]:
    r"""Lines with the text as a comment, wrapped at 92 characters; none ends in a backslash.

    Args:
        text: any text.
        mark: start of each line.

    >>> comment("two\nlines\\")
    ['# two lines\\ .']
    """
    lines = textwrap.wrap(plain_text(text), WIDTH, break_on_hyphens=False)
    return [f"{mark} {line} ." if line.endswith("\\") else f"{mark} {line}" for line in lines]


def tcl_word(text: str) -> str:
    r"""The text as a quoted word of Tcl, in which nothing is substituted.

    Line breaks and control characters become spaces.

    >>> tcl_word("a[exit]")
    '"a\\u005bexit\\u005d"'
    """
    return '"' + "".join(map(_in_tcl, plain_text(text))) + '"'


def _in_tcl(character: str) -> str:
    """One character as part of a quoted word of Tcl: itself, escaped, or a question mark."""
    if character in HARMLESS or (character.isascii() and character.isalnum()):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= LARGEST_IN_TCL else "?"


def tcl_number(value: float) -> str:
    """The number as text of Tcl, with all its digits; whole numbers without a point.

    >>> tcl_number(0.1), tcl_number(5.0)
    ('0.1', '5')
    """
    value = float(value)  # NumPy's would name their type
    return str(int(value)) if value.is_integer() and abs(value) < 2**31 else repr(value)
