"""`vegasfluid init`: write a model file from the answers to six questions."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import after_check, show_next, show_written
from vegasfluid.cli.output import print_json
from vegasfluid.cli.targets import check_target
from vegasfluid.errors import InvalidInput, Words, printable
from vegasfluid.output_files import write_text
from vegasfluid.version import package_version

__all__ = ["run"]

Answers = Mapping[str, str]
"""Answers by the name of the question."""

PACKET_BITS = 12_000.0
"""Bits of a packet of 1500 bytes, the default of model files."""


class Question(NamedTuple):
    """A question about the network.

    Args:
        name: its name among the answers.
        text: what is asked.
        default: returns the answer to an empty line, given the earlier answers.
    """

    name: str
    text: str
    default: Callable[[Answers], str]


def bandwidth_delay(answers: Answers) -> str:
    """Bandwidth-delay product of `capacity` (Mbit/s) and `rtt` (ms) as text.

    A whole number of packets of 1500 bytes, at least 10.
    """
    bits = number(answers["capacity"]) * 1e6 * number(answers["rtt"]) * 1e-3
    return str(max(round(bits / PACKET_BITS), 10))


QUESTIONS = (
    Question("capacity", "Capacity of the bottleneck, Mbit/s", lambda _: "100"),
    Question("rtt", "Round-trip time while the queue is empty, ms", lambda _: "40"),
    Question("buffer", "Buffer of the bottleneck, packets", bandwidth_delay),
    Question(
        "queue", "Queue discipline: droptail, red, codel, fq_codel or pie", lambda _: "droptail"
    ),
    Question("others", "Flows beside Vegas, such as 4 cubic or 4 reno", lambda _: "4 cubic"),
    Question(
        "vegas", "Vegas flows and their system, such as 4 linux or 4 ns2", lambda _: "4 linux"
    ),
)
"""All questions, in the order in which they are asked."""

TEMPLATE = """\
# Written by vegasfluid {version}, init: change what you like; vegasfluid check explains it.
duration_s = {duration:.12g}
warmup_s = {warmup:.12g}

[bottleneck]
capacity_mbps = {capacity}
buffer_packets = {buffer}
aqm = {{ name = "{queue}"{thresholds} }}

[flows.{others}]
count = {other_count}
base_rtt_ms = {rtt}
start_s = {{ spread_s = 1 }}
law = {{ name = "{others}" }}

[flows.vegas]
count = {vegas_count}
base_rtt_ms = {rtt}
start_s = {{ spread_s = 1 }}
law = {{ name = "vegas", dialect = "{dialect}" }}
"""
"""Text of the new model file, with fields for the answers and numbers that follow from them."""
ROUND_TRIPS = 1000.0
"""Simulated time of the new model in round-trip times; it is at least 60 s."""
RED_THRESHOLDS = (0.2, 0.6)
"""RED's thresholds as fractions of the buffer (chosen; S. Floyd recommends a factor of three
between them: "RED: discussions of setting parameters", 1997)."""


def run(out: Path | None, *, as_json: bool, force: bool) -> None:
    """Ask six questions and write a model file with the answers.

    Args:
        out: the file; None: `network.toml` in this folder.
        as_json: whether to print one JSON document; questions go to standard error in any case.
        force: whether a file that vegasfluid has not written is replaced.

    Raises:
        InvalidInput: if the file may not be written, or the input ends before the last answer.
    """
    out = Path("network.toml") if out is None else out
    check_target("init", "--out", out, (".toml",), force=force)
    answers: dict[str, str] = {}
    for question in QUESTIONS:
        answers[question.name] = valid_answer(question, answers)
    text = model_text(answers)
    write_text(out, text)
    if as_json:
        print_json({"written": str(out), "answers": answers})
        return
    show_written(out)
    show_next(
        f"vegasfluid check {shlex.quote(str(out))}",
        after_check(str(out), modelfile.loads(text).network),
    )


def valid_answer(question: Question, before: Answers) -> str:
    """Ask a question on standard error until the answer is valid; an empty line takes the default.

    `before` has the earlier answers.

    Raises:
        InvalidInput: if standard input ends before a valid answer.
    """
    default = question.default(before)
    while True:
        print(f"{question.text} [{default}]: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            given = Words("missing at the end of the input")
            raise InvalidInput("init", question.name, "given", given)
        answer = line.strip() or default
        error = error_in({**before, question.name: answer})
        if error is None:
            return answer
        print(printable(error), file=sys.stderr)


def error_in(given: Answers) -> str | None:
    """Why a model file with these answers is not valid, as text; None: it is valid.

    Questions without an answer get their defaults. All answers but the last are known to be valid,
    so the error is about the last one.
    """
    answers = dict(given)
    try:
        for question in QUESTIONS:
            if question.name not in answers:
                answers[question.name] = question.default(answers)
        modelfile.loads(model_text(answers))
    except modelfile.ModelFileError as error:
        path, why = error.places[0]
        return f"{path.rpartition('.')[2]} {why}"
    except ValueError as error:
        return str(error)
    return None


def model_text(answers: Answers) -> str:
    """Text of the model file from the answers to all questions; the duration is at least 60 s.

    Raises:
        ValueError: for an answer that is not a number, not a number and a name, or not the name of
            a queue, or if the other flows are Vegas. Other errors are found when it is read.
    """
    numbers = {name: number(answers[name]) for name in ("capacity", "rtt", "buffer")}
    other_count, others = count_and_name(answers["others"])
    vegas_count, dialect = count_and_name(answers["vegas"])
    if others == "vegas":
        raise ValueError("must be another congestion control than vegas")
    queue = answers["queue"].lower()
    if not queue.replace("_", "").isalpha():
        raise ValueError("must be droptail, red, codel, fq_codel or pie")
    low, high = (
        max(round(part * numbers["buffer"]), 1 + k) for k, part in enumerate(RED_THRESHOLDS)
    )
    thresholds = f", min_thresh_packets = {low}, max_thresh_packets = {high}"
    duration = max(60.0, ROUND_TRIPS * numbers["rtt"] * 1e-3)
    return TEMPLATE.format(
        version=package_version(),
        duration=duration,
        warmup=duration / 3,
        queue=queue,
        thresholds=thresholds if queue == "red" else "",
        others=others,
        other_count=other_count,
        vegas_count=vegas_count,
        dialect=dialect,
        **{name: f"{value:.12g}" for name, value in numbers.items()},
    )


def number(text: str) -> float:
    """A user's answer as a finite number, in the question's unit; ValueError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise ValueError("must be a number, such as 100")
    return value


def count_and_name(text: str) -> tuple[str, str]:
    """Number and lower-case name, both as text, of an answer such as `4 cubic`.

    Raises:
        ValueError: for anything else.
    """
    found = re.fullmatch(r"(\d{1,9})\s+([A-Za-z0-9_]{1,40})", text, re.ASCII)
    if found is None:
        raise ValueError("must be a number of flows and a name, such as 4 cubic")
    return str(int(found[1])), found[2].lower()
