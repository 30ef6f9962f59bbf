"""The lock holds what pyproject.toml asks for; the page of licences what the lock holds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.utils import canonicalize_name

from tools import licences
from tools.lock import declared, pins, pins_at_run_time

PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}


def environment(python: str, system: str) -> dict[str, str]:
    """What markers ask for."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": system,
        "platform_system": SYSTEMS[system],
        "platform_machine": "x86_64",
        "os_name": "nt" if system == "win32" else "posix",
        "extra": "",
    }


def test_every_pin_has_hashes():
    for pin in pins():
        assert pin.hashes, pin.name
        assert len(set(pin.hashes)) == len(pin.hashes)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_asked_for_is_pinned_once_and_fits(python, system):
    here = environment(python, system)
    pinned: dict[str, str] = {}
    for pin in pins():
        if pin.is_for(here):
            assert pin.name not in pinned, f"{pin.name} is pinned twice"
            pinned[pin.name] = str(pin.version)
    for part, requirements in declared().items():
        for one in requirements:
            if one.marker is None or one.marker.evaluate(here):
                found = pinned.get(canonicalize_name(one.name))
                assert found is not None, f"{part}: {one} is not in the lock"
                assert one.specifier.contains(found), f"{part}: {one}, but {found} is locked"


def test_what_is_brought_along_is_a_part_of_the_lock():
    names = {pin.name for pin in pins_at_run_time()}
    assert {"jax", "jaxlib", "llvmlite", "tornado", "msgpack"} <= names
    assert not {"pytest", "jupyterlab", "sphinx", "ipywidgets"} & names


def test_the_page_of_licences_lists_what_the_lock_brings_along():
    rows = [line.split("|") for line in licences.PAGE.read_text().splitlines() if " | " in line]
    listed = {row[1].strip(): row[2].strip() for row in rows[1:]}
    assert listed == licences.versions(), "python -m tools.licences writes it anew"
    assert all(row[3].strip() not in ("", "not stated") for row in rows[1:])


def test_the_page_of_licences_is_what_the_metadata_say():
    for pin in pins_at_run_time():
        try:
            here = version(pin.name)
        except PackageNotFoundError:
            continue
        if here not in [str(item.version) for item in pins_at_run_time() if item.name == pin.name]:
            pytest.skip(f"{pin.name} {here} is here, and another one is locked")
    assert licences.document(licences.versions()) == licences.PAGE.read_text()
