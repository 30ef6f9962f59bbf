"""Tables as HTML, which notebooks show for networks, recommendations and equilibria."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """HTML text of a table with a title; texts are escaped, and the first column names the rows.

    Args:
        title: text above the table.
        header: name of each column.
        rows: cells of each row, as many as there are columns.

    >>> html_table("a", ["x"], [["<b>"]]).splitlines()[-1]
    '<tbody><tr><th>&lt;b&gt;</th></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table>"
    )
