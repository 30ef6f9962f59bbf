"""Report of the doctor, as text or as one JSON document."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.text import Text

from vegasfluid.caches import cache_root, clear_caches
from vegasfluid.cli.doctor.checks import Check, checks, run_engines
from vegasfluid.cli.doctor.environment import Part, caches, machine, nvidia_gpu, packages, parts
from vegasfluid.cli.output import console, print_json, progress, table

__all__ = ["run"]

MEGABYTE = 1e6
"""Bytes of a megabyte."""
OK, FAILED = Text("OK", style="green"), Text("FAILED", style="bold red")
"""Results of a check in the report, in colour."""


def run(*, clear: bool, as_json: bool) -> bool:
    """Check the installation, print the report, and return whether all checks passed.

    Args:
        clear: whether to delete compiled code first.
        as_json: whether to print one JSON document instead of text.
    """
    begin = time.perf_counter()
    if clear:
        clear_caches()
    with progress("doctor: running both engines (up to a minute, as code is compiled)"):
        outcomes = run_engines()
    cache_entries, package_entries = caches(), packages()
    results = checks(package_entries, cache_entries, outcomes)
    document = {
        "ok": all(check.ok for check in results),
        **machine(),
        "devices": outcomes["fluid"].numbers.get("devices", []),
        "packages": package_entries,
        "caches": cache_entries,
        "parts": [part._asdict() for part in parts()],
        "checks": [check._asdict() for check in results],
        "notes": notes(outcomes["fluid"].numbers.get("devices", [])),
        "seconds": time.perf_counter() - begin,
    }
    if as_json:
        print_json(document)
    else:
        show(document, parts(), results)
    return document["ok"]


def notes(devices: list[dict[str, str]]) -> list[str]:
    """Advice, empty if there is none: the machine has an NVIDIA GPU that JAX does not use.

    `devices` are those of JAX, each with its `platform`, such as `cpu`; empty: no advice.
    """
    if nvidia_gpu() and devices and all(device["platform"] == "cpu" for device in devices):
        return [
            "JAX does not use the NVIDIA GPU of this machine: pip install 'vegasfluid[cuda13]'."
        ]
    return []


def show(document: dict[str, Any], optional: list[Part], results: list[Check]) -> None:
    """Print the doctor's report as tables and sentences.

    Args:
        document: JSON document of the report.
        optional: optional components.
        results: results of the checks.
    """
    out = console()
    cores = f"{document['cores']} core{'s' * (document['cores'] != 1)}"
    out.print(
        f"vegasfluid {document['vegasfluid']}, Python {document['python']}, "
        f"{document['system']}, {document['processor']}, {cores}",
        style="bold",
    )
    devices = [f"{device['platform']} ({device['kind']})" for device in document["devices"]]
    out.print(f"JAX devices: {', '.join(devices) or 'none'}")
    versions = [f"{package['name']} {package['version']}" for package in document["packages"]]
    out.print(f"Libraries: {', '.join(versions) or 'not listed: not installed as a package'}\n")
    show_caches(out, document["caches"])
    rows = table("optional", "found", "purpose", "how to install", texts=("found", "purpose"))
    for part in optional:
        rows.add_row(part.name, "yes" if part.installed else "no", part.purpose, part.get)
    rows.columns[-1].justify = "left"
    out.print(rows)
    out.print()
    show_checks(out, results)
    for note in document["notes"]:
        out.print(f"Note: {note}")
    out.print(verdict(document["ok"], document["seconds"]), style="bold")


def show_caches(out: Console, cache_entries: list[dict[str, Any]]) -> None:
    """Print where compiled code is stored, its size (MB), and how to delete it."""
    out.print(f"Compiled code is stored in {cache_root()} ($VEGASFLUID_CACHE_DIR):", soft_wrap=True)
    for cache in cache_entries:
        out.print(
            f"  {cache['name']:<6} {cache['files']} files, {cache['bytes'] / MEGABYTE:.1f} MB"
        )
    out.print("vegasfluid doctor --clear-caches deletes it.\n")


def show_checks(out: Console, results: list[Check]) -> None:
    """Print the result of each check, its time (s), and what to do if it failed."""
    rows = table("check", "result", "details", "s", texts=("result", "details"))
    for check in results:
        seconds = "" if check.seconds is None else f"{check.seconds:.1f}"
        rows.add_row(check.name, OK if check.ok else FAILED, check.finding, seconds)
    out.print(rows)
    out.print()
    for check in results:
        if not check.ok:
            out.print(f"{check.name}: {check.remedy}.", soft_wrap=True)


def verdict(ok: bool, seconds: float) -> str:
    """Last line of the report: whether all checks passed, and the time (s)."""
    if ok:
        return f"All checks passed ({seconds:.1f} s)."
    return f"Some checks failed ({seconds:.1f} s). See above for what to do."
