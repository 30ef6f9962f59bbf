"""The line that an error names, counted by hand."""

from __future__ import annotations

import tomllib

import pytest

from vegasfluid.modelfile import ModelFileError, loads
from vegasfluid.modelfile.line_numbers import MOST_PARSED, lines_of

TEXT = """# a comment
title = "[not.a.table] = 1"
duration_s = 5
long = [
  1,
  2, # b = 3
]
text = '''
b = 4
'''

[flows . "a b"]  # with a comment
law = { name = "vegas", alpha_packets = 3 }
traffic.on_ms = 2
[[events]]
at_s = 1

[[events]]
at_s = 2
[events.inner]
deep = 1
[[lists.of]]
[[lists.of]]
x = 1
"""


def line_of(text, path):
    (line,) = lines_of(text, [path])
    return line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("duration_s",), 3),
        (("long", 1), 4),
        (("text",), 8),
        (("b",), None),
        (("flows", "a b"), 12),
        (("flows", "a b", "count"), 12),
        (("flows", "a b", "law"), 13),
        (("flows", "a b", "law", "alpha_packets"), 13),
        (("flows", "a b", "traffic", "on_ms"), 14),
        (("flows", "a b", "traffic", "off_ms"), 12),
        (("events", 0, "at_s"), 16),
        (("events", 1), 18),
        (("events", 1, "at_s"), 19),
        (("events", 1, "inner", "deep"), 21),
        (("lists", "of", 1, "x"), 24),
        (("none",), None),
    ],
)
def test_the_line_of_a_path(path, line):
    assert tomllib.loads(TEXT)
    assert line_of(TEXT, path) == line
    assert line_of(TEXT.replace("\n", "\r\n"), path) == line


def test_the_first_and_the_last_line_and_a_text_without_end():
    assert line_of("a = 1", ("a",)) == 1
    assert line_of("\n\na = 1", ("a",)) == 3


def test_a_hostile_text_is_given_up():
    """A list over many lines is read again with each line, until the bound on what is parsed."""
    text = "a = [\n" + "1,\n" * 100_000 + "]\nb = 2\n"
    assert line_of(text, ("b",)) is None
    assert line_of("c = 1\n" + text, ("c",)) == 1
    assert len(text) > MOST_PARSED / 2


def test_a_file_with_many_errors_is_read_once():
    text = "\n".join(f"unknown_{number} = {number}" for number in range(10_000))
    with pytest.raises(ModelFileError) as error:
        loads(text, "a.toml")
    unknown = [line for line in error.value.lines if "unknown key" in line]
    assert len(unknown) == 10_000
    assert unknown[9_999].startswith("a.toml: line 10000: unknown_9999: unknown key")


def test_an_error_names_its_line():
    with pytest.raises(ModelFileError, match=r"^a.toml: line 3: duration_s: must be above 0"):
        loads("\n\nduration_s = -1", "a.toml")
    with pytest.raises(ModelFileError, match=r"^a.toml: duration_s: must be given"):
        loads("", "a.toml")
