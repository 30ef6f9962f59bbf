"""`vegasfluid certify`: prove a certificate of a fair alpha from scratch, and say what holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from vegasfluid import modelfile
from vegasfluid.analysis.proofs import Certificate, Verdict, matches, verify
from vegasfluid.analysis.simulation_checks import PacketRatio, measure_ratio
from vegasfluid.cli.analyse import packets_line
from vegasfluid.cli.output import console, print_json, table
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.errors import InvalidInput

__all__ = ["run"]

LARGEST_FILE = 1_000_000
"""Bytes; a certificate has some thousands."""
MOST_DIGITS = 100
OF_THEORY = (
    "That is a theorem about theory's mean-field equations, which know no single packet, no "
    "timeout and no spread of windows; --model measures what packets make of it."
)
ROWS = (
    ("alpha, packets", "alpha_packets"),
    ("alpha at the lower ratio", "alpha_below_packets"),
    ("alpha at the higher ratio", "alpha_above_packets"),
    ("d alpha / d ln ratio", "alpha_packets_per_log_ratio"),
    ("queue, packets", "queue_packets"),
    ("drop probability", "drop_prob"),
)
CLASS_ROWS = (
    ("cwnd of {}, packets", "cwnd_packets"),
    ("rate of {}, packets/s", "rate_packets_per_s"),
)


def run(path: Path, *, model: str | None, as_json: bool) -> bool:
    """Check a certificate, and show what is proven or why it is refused; whether it holds.

    Args:
        path: the certificate, a JSON file.
        model: a model that it has to speak of, or None.
        as_json: print one JSON document instead of text.

    Raises:
        InvalidInput: for a file that holds no certificate, or one of another model.
    """
    document, packets = read(path), None
    certificate = Certificate.read(document)
    verdict = verify(document)
    if model is not None:
        network = modelfile.read_model(model).network
        matches(certificate, network)
        if verdict.valid:
            middle = sum(certificate.alpha.bounds) / 2
            packets = measure_ratio(network, certificate.problem.tuned_name, float(middle))
    if as_json:
        print_json(explain(path, model, verdict, packets))
    else:
        show(path, model, verdict, packets)
    return verdict.valid


def read(path: Path) -> Any:
    """The JSON document in a file.

    Raises:
        InvalidInput: for a file that is missing, too large, or holds no JSON.
    """
    if not path.is_file():
        raise InvalidInput("certify", "FILE", "a file that exists", str(path))
    if path.stat().st_size > LARGEST_FILE:
        raise InvalidInput("certify", "FILE", f"of at most {LARGEST_FILE} bytes", str(path))
    try:
        return json.loads(
            path.read_text(encoding="utf-8"),
            object_pairs_hook=once_each,
            parse_constant=not_a_number,
        )
    except InvalidInput:
        raise
    except (ValueError, RecursionError):  # also what is no text, and numbers of too many digits
        raise InvalidInput("certify", "FILE", "a JSON document", str(path)) from None


def once_each(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand in it once: of two, a reader may see the other one."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput("certificate", "a key", "there once in its object", key)
        found[key] = value
    return found


def not_a_number(name: str) -> float:
    """NaN and infinities are no JSON."""
    raise InvalidInput("certificate", "a number", "finite", name)


def explain(
    path: Path, model: str | None, verdict: Verdict, packets: PacketRatio | None
) -> dict[str, Any]:
    """The verdict as one document."""
    certificate = verdict.certificate
    return {
        "certificate": str(path),
        "model": model,
        "valid": verdict.valid,
        "refused": list(verdict.refused),
        "statement": certificate.statement,
        "alpha_packets": {"low": certificate.alpha.low, "high": certificate.alpha.high},
        "digits": verdict.digits,
        "proves": OF_THEORY,
        "on_packets": None if packets is None else asdict(packets),
    }


def show(path: Path, model: str | None, verdict: Verdict, packets: PacketRatio | None) -> None:
    """The verdict in words."""
    out, certificate = console(), verdict.certificate
    if not verdict.valid:
        out.print(f"{path} does not hold.", style="bold")
        for reason in verdict.refused:
            out.print(f"Not proven: {reason}.")
        return
    out.print(f"{path} holds: everything in it is proven.", style="bold")
    if model is not None:
        out.print(f"It speaks of {model}.")
    out.print(f"\n{certificate.statement}\n")
    out.print(claims_table(certificate))
    digits = math.floor(min(verdict.digits, MOST_DIGITS))
    out.print(f"\nalpha is proven to {digits} digits. {whole_alphas(certificate)}".rstrip())
    out.print(OF_THEORY)
    if packets is not None:
        out.print(packets_line(packets))


def claims_table(certificate: Certificate) -> Table:
    """What is proven of the rest, from and to."""
    rows = table("at rest", "at least", "at most")
    for label, key in ROWS:
        claim = certificate.claims[key,]
        rows.add_row(label, claim.low, claim.high)
    for name in certificate.problem.groups:
        for label, key in CLASS_ROWS:
            claim = certificate.claims["classes", name, key]
            rows.add_row(label.format(name), claim.low, claim.high)
    rows.add_row("no other such rest, queue", certificate.box.low, certificate.box.high)
    return rows


def whole_alphas(certificate: Certificate) -> str:
    """For a dialect of whole packets: which of its alphas are within epsilon."""
    problem, claims = certificate.problem, certificate.claims
    if not DIALECTS[problem.tuned.dialect].whole_packets:
        return ""
    low = math.ceil(claims["alpha_below_packets",].bounds[1])
    high = math.floor(claims["alpha_above_packets",].bounds[0])
    head = f"Of the whole numbers that {problem.tuned.dialect} takes, "
    if low > high:
        return f"{head}none gives the ratio within {problem.epsilon:g}."
    which = f"{low}" if low == high else f"{low} to {high}"
    return f"{head}{which} give the ratio within {problem.epsilon:g} (of its logarithm)."
