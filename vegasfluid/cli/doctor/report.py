"""What the doctor found, as text or as one document."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.text import Text

from vegasfluid.caches import cache_root, clear_caches
from vegasfluid.cli.doctor.checks import Check, checks, ran
from vegasfluid.cli.doctor.environment import Part, caches, machine, nvidia_gpu, packages, parts
from vegasfluid.cli.output import console, print_json, progress, table

__all__ = ["run"]

MEGABYTE = 1e6
WELL, WRONG = Text("well", style="green"), Text("WRONG", style="bold red")


def run(*, clear: bool, as_json: bool) -> bool:
    """Look at everything, run a little, and say what was found; whether all is well.

    Args:
        clear: whether to remove compiled code first.
        as_json: print one JSON document instead of text.
    """
    begin = time.perf_counter()
    if clear:
        clear_caches()
    with progress("doctor: a run of the fluid model, a run of packets"):
        trials = ran()
    kept, here = caches(), packages()
    found = checks(here, kept, trials)
    document = {
        "ok": all(check.ok for check in found),
        **machine(),
        "devices": trials["fluid"].numbers.get("devices", []),
        "packages": here,
        "caches": kept,
        "parts": [part._asdict() for part in parts()],
        "checks": [check._asdict() for check in found],
        "notes": notes(trials["fluid"].numbers.get("devices", [])),
        "seconds": time.perf_counter() - begin,
    }
    if as_json:
        print_json(document)
    else:
        show(document, parts(), found)
    return document["ok"]


def notes(devices: list[dict[str, str]]) -> list[str]:
    """What is not wrong, but a pity."""
    if nvidia_gpu() and devices and all(device["platform"] == "cpu" for device in devices):
        return ["An NVIDIA GPU is here, and JAX does not see it: pip install 'vegasfluid[cuda13]'."]
    return []


def show(document: dict[str, Any], optional: list[Part], found: list[Check]) -> None:
    """Everything as tables and sentences."""
    out = console()
    cores = f"{document['cores']} core{'s' * (document['cores'] != 1)}"
    out.print(
        f"vegasfluid {document['vegasfluid']}, Python {document['python']}, "
        f"{document['system']}, {document['processor']}, {cores}",
        style="bold",
    )
    devices = [f"{of['platform']} ({of['kind']})" for of in document["devices"]]
    out.print(f"JAX computes on: {', '.join(devices) or 'nothing'}")
    versions = [f"{of['name']} {of['version']}" for of in document["packages"]]
    out.print(f"Libraries: {', '.join(versions) or 'not listed: run from sources'}\n")
    show_caches(out, document["caches"])
    rows = table("optional", "here", "what for", "how to get it", texts=("here", "what for"))
    for part in optional:
        rows.add_row(part.name, "yes" if part.here else "no", part.purpose, part.get)
    rows.columns[-1].justify = "left"
    out.print(rows)
    out.print()
    show_checks(out, found)
    for note in document["notes"]:
        out.print(f"Note: {note}")
    out.print(verdict(document["ok"], document["seconds"]), style="bold")


def show_caches(out: Console, kept: list[dict[str, Any]]) -> None:
    """Where compiled code is kept, and how it is removed."""
    out.print(f"Compiled code is kept in {cache_root()} ($VEGASFLUID_CACHE_DIR):", soft_wrap=True)
    for of in kept:
        out.print(f"  {of['name']:<6} {of['files']} files, {of['bytes'] / MEGABYTE:.1f} MB")
    out.print("vegasfluid doctor --clear-caches removes it.\n")


def show_checks(out: Console, found: list[Check]) -> None:
    """What is well, what is not, and what to do about it."""
    rows = table("check", "", "found", "s", texts=("", "found"))
    for check in found:
        seconds = "" if check.seconds is None else f"{check.seconds:.1f}"
        rows.add_row(check.name, WELL if check.ok else WRONG, check.told, seconds)
    out.print(rows)
    out.print()
    for check in found:
        if not check.ok:
            out.print(f"{check.name}: {check.remedy}.", soft_wrap=True)


def verdict(ok: bool, seconds: float) -> str:
    """The last line."""
    if ok:
        return f"All is well ({seconds:.1f} s)."
    return f"Not all is well ({seconds:.1f} s): see above for what to do."
