"""The licences of all that `pip install vegasfluid` brings: `python -m tools.licences`.

It writes THIRD-PARTY-LICENSES.md: names and versions from requirements.lock, licences from the
metadata of what is installed here. Run it after `make lock`; a test holds the page to the lock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from tools.lock import ROOT, pins_at_run_time

__all__ = ["PAGE", "document", "main", "versions"]

PAGE = ROOT / "THIRD-PARTY-LICENSES.md"
ELSEWHERE = {"colorama": "BSD-3-Clause", "msgspec": "BSD-3-Clause"}
"""Licences of what other systems and newer Pythons need, read in its metadata on PyPI."""
COPYLEFT = {
    "GNU LESSER GENERAL PUBLIC LICENSE VERSION": "LGPL",
    "GNU AFFERO GENERAL PUBLIC LICENSE VERSION": "AGPL",
    "GNU GENERAL PUBLIC LICENSE VERSION": "GPL",
    "MOZILLA PUBLIC LICENSE VERSION": "MPL",
    "GCC RUNTIME LIBRARY EXCEPTION": "GCC's runtime exception",
}
"""How their texts begin; in running text there is a comma before the version."""
HEAD = """# Licences of what vegasfluid brings along

Written by `python -m tools.licences` from requirements.lock and the metadata of the libraries.
vegasfluid itself is under Apache-2.0 ([LICENSE](LICENSE)) and has no code of theirs. *Texts beside
it* are copyleft licences whose text is among the licence files of a wheel, for something that is
linked or copied into it. None of them reaches what only imports these libraries. What to know if
you pass the wheels on:

- **python-flint** has FLINT, MPFR and GMP inside, which are under the LGPL.
- **numpy** and **scipy** have GCC's Fortran libraries inside, under the GPL with GCC's runtime
  exception (and libquadmath, under the LGPL).
- **jaxlib** and **ml-dtypes** have parts of Eigen inside, which is under the MPL 2.0.
- **matplotlib**'s files name the GPL as one of two licences that FreeType may be had under;
  **pillow**'s name the texts that come with XZ Utils, of which it has the part without a licence.
- The extra `cuda13` brings NVIDIA's own libraries, under NVIDIA's licence; they are not listed.

| library | versions | licence | texts beside it |
|---|---|---|---|
"""
"""The page up to its rows."""


def versions() -> dict[str, str]:
    """What is brought along: the pinned versions by name."""
    found: dict[str, list[str]] = {}
    for pin in pins_at_run_time():
        found.setdefault(pin.name, []).append(str(pin.version))
    return {name: ", ".join(found[name]) for name in sorted(found)}


def licence(found: Distribution) -> str:
    """The licence in the metadata: an SPDX expression, or else their words for it."""
    metadata = found.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    trove = [
        line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or [] if "License" in line
    ]
    text = (metadata.get("License") or "").strip()
    if text and "\n" not in text and len(text) <= 40:
        return text
    return ", ".join(trove) or text.partition("\n")[0] or "not stated"


def copyleft(found: Distribution) -> str:
    """What the licence files of a wheel name of copyleft licences."""
    names = set()
    for file in found.files or []:
        if (
            re.search(r"licen[cs]e|copying|notice", file.name, re.IGNORECASE)
            and file.suffix != ".py"
        ):
            try:
                text = " ".join(file.read_text(encoding="utf-8").upper().split())
            except (OSError, UnicodeDecodeError):
                continue
            names |= {short for words, short in COPYLEFT.items() if words in text}
    return ", ".join(sorted(names))


def row(name: str, versions: str) -> str:
    """A library's line."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return f"| {name} | {versions} | {ELSEWHERE[name]} | |"
    return f"| {name} | {versions} | {licence(found)} | {copyleft(found)} |"


def document(libraries: Mapping[str, str]) -> str:
    """The whole page."""
    return HEAD + "\n".join(row(name, library) for name, library in libraries.items()) + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(document(versions()), encoding="utf-8")


if __name__ == "__main__":
    main()
