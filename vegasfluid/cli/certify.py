"""`vegasfluid certify`: verify a certificate of a fair alpha from scratch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from vegasfluid import modelfile
from vegasfluid.analysis.proofs import Certificate, Verification, matches, verify
from vegasfluid.analysis.simulation_checks import PacketRatio, measure_ratio
from vegasfluid.cli.analyse import packets_line
from vegasfluid.cli.output import console, print_json, table
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.errors import InvalidInput

__all__ = ["run"]

LARGEST_FILE = 1_000_000
"""Largest certificate in bytes; usual ones have some thousand."""
MOST_DIGITS = 100
"""Largest number of digits reported, for an alpha that is known exactly."""
SCOPE = (
    "This is a theorem about the mean-field equations. They have no single packets, no timeouts "
    "and no spread of windows. With --model the packet simulator measures the same alpha."
)
"""What the theorem does not cover, printed with every valid certificate."""
ROWS = (
    ("alpha, packets", "alpha_packets"),
    ("alpha at the lower ratio", "alpha_below_packets"),
    ("alpha at the higher ratio", "alpha_above_packets"),
    ("d alpha / d ln(ratio)", "alpha_packets_per_log_ratio"),
    ("queue, packets", "queue_packets"),
    ("drop probability", "drop_prob"),
)
"""Rows of the table: labels and keys of the claims."""
CLASS_ROWS = (
    ("cwnd of {}, packets", "cwnd_packets"),
    ("rate of {}, packets/s", "rate_packets_per_s"),
)
"""Rows for each flow class: labels and keys of the claims."""


def run(path: Path, *, model: str | None, as_json: bool) -> bool:
    """Verify a certificate, print what is proven or why it is rejected, return whether it is valid.

    Args:
        path: the certificate, a JSON file.
        model: file or name of the model that the certificate must be about; packet runs then also
            measure its goodput ratio at the certificate's alpha. None: any model.
        as_json: whether to print one JSON document instead of text.

    Raises:
        InvalidInput: if the file is no certificate, or is about another model.
    """
    document, packets = read(path), None
    certificate = Certificate.read(document)
    verification = verify(document)
    if model is not None:
        network = modelfile.read_model(model).network
        matches(certificate, network)
        if verification.valid:
            alpha = sum(certificate.alpha.bounds) / 2
            packets = measure_ratio(network, certificate.problem.tuned_name, float(alpha))
    if as_json:
        print_json(verification_document(path, model, verification, packets))
    else:
        show(path, model, verification, packets)
    return verification.valid


def read(path: Path) -> Any:
    """The JSON document in a file.

    Raises:
        InvalidInput: if the file is missing, too large or not JSON, repeats a key, or has NaN or
            an infinity.
    """
    if not path.is_file():
        raise InvalidInput("certify", "FILE", "an existing file", str(path))
    if path.stat().st_size > LARGEST_FILE:
        raise InvalidInput("certify", "FILE", f"a file of at most {LARGEST_FILE} bytes", str(path))
    try:
        return json.loads(
            path.read_text(encoding="utf-8"),
            object_pairs_hook=unique_keys,
            parse_constant=reject_constant,
        )
    except InvalidInput:
        raise
    except (ValueError, RecursionError):  # also for binary files and too long numbers
        raise InvalidInput("certify", "FILE", "a JSON document", str(path)) from None


def unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """JSON object of key-value pairs; raises InvalidInput for a repeated key."""
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            raise InvalidInput(
                "certificate", "key", "different from the other keys of its object", key
            )
        document[key] = value
    return document


def reject_constant(name: str) -> float:
    """Raise InvalidInput for NaN and infinities, which are not JSON."""
    raise InvalidInput("certificate", "number", "finite", name)


def verification_document(
    path: Path, model: str | None, verification: Verification, packets: PacketRatio | None
) -> dict[str, Any]:
    """JSON output of `vegasfluid certify`.

    Returns:
        `certificate` (its path), `model`, `valid`, `reasons` why not, `statement`, `alpha_packets`
        (bounds `low` and `high`), `digits` of alpha, `proves` (the scope), and `on_packets`: alpha
        (packets), goodput ratios and duration (s) of packet runs; None: no such runs.
    """
    certificate = verification.certificate
    return {
        "certificate": str(path),
        "model": model,
        "valid": verification.valid,
        "reasons": list(verification.reasons),
        "statement": certificate.statement,
        "alpha_packets": {"low": certificate.alpha.low, "high": certificate.alpha.high},
        "digits": verification.digits,
        "proves": SCOPE,
        "on_packets": None if packets is None else asdict(packets),
    }


def show(
    path: Path, model: str | None, verification: Verification, packets: PacketRatio | None
) -> None:
    """Print what a certificate proves, or why it is not valid, as text.

    Args:
        path: file of the certificate.
        model: model that it is about; None: not checked.
        verification: whether each claim is proven.
        packets: goodput ratio in packet runs with its alpha; None: not measured.
    """
    out, certificate = console(), verification.certificate
    if not verification.valid:
        out.print(f"{path} is not valid.", style="bold")
        for reason in verification.reasons:
            out.print(f"Not proven: {reason}.")
        return
    out.print(f"{path} is valid: everything in it is proven.", style="bold")
    if model is not None:
        out.print(f"It is about {model}.")
    out.print(f"\n{certificate.statement}\n")
    out.print(claims_table(certificate))
    digits = math.floor(min(verification.digits, MOST_DIGITS))
    out.print(f"\nalpha is proven to {digits} digits. {whole_alphas(certificate)}".rstrip())
    out.print(SCOPE)
    if packets is not None:
        out.print(packets_line(packets))


def claims_table(certificate: Certificate) -> Table:
    """Table of proven lower and upper bounds at equilibrium; units are in the labels.

    Alpha, queue, drop probability, and windows and rates of each class.
    """
    rows = table("at equilibrium", "at least", "at most")
    for label, key in ROWS:
        claim = certificate.claims[key,]
        rows.add_row(label, claim.low, claim.high)
    for name in certificate.problem.groups:
        for label, key in CLASS_ROWS:
            claim = certificate.claims["classes", name, key]
            rows.add_row(label.format(name), claim.low, claim.high)
    label = "queue range with no other equilibrium, packets"
    rows.add_row(label, certificate.box.low, certificate.box.high)
    return rows


def whole_alphas(certificate: Certificate) -> str:
    """Sentence on the whole-number alphas (packets) that give the certificate's ratio closely.

    The logarithm of their ratio differs from that of the wanted ratio by at most `epsilon` of the
    certificate. Empty for dialects that do not need whole packets.
    """
    problem, claims = certificate.problem, certificate.claims
    if not DIALECTS[problem.tuned.dialect].whole_packets:
        return ""
    low = math.ceil(claims["alpha_below_packets",].bounds[1])
    high = math.floor(claims["alpha_above_packets",].bounds[0])
    head = f"{problem.tuned.dialect} accepts whole numbers only: "
    if low > high:
        return f"{head}none gives the ratio within {problem.epsilon:g}."
    which = f"{low}" if low == high else f"{low} to {high}"
    return f"{head}{which} keeps the logarithm of the ratio within {problem.epsilon:g}."
