"""Compiled code is loaded only from folders that nobody else can write to."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import jax
import pytest

from vegasfluid import caches
from vegasfluid.lanes import cpu
from vegasfluid.private_folders import WARNED, folder_error, private_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners and modes")


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_new_folders_are_private(tmp_path):
    folder = tmp_path / "above" / "code"
    before = os.umask(0)
    try:
        assert private_folder(folder) == folder
    finally:
        os.umask(before)
    assert mode(folder) == mode(folder.parent) == 0o700
    assert os.listdir(folder) == []


def test_a_folder_that_others_can_read_becomes_private(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir(mode=0o755)
    assert private_folder(folder) == folder
    assert mode(folder) == 0o700


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777, 0o1777])
def test_others_may_not_write(tmp_path, bits):
    folder = tmp_path / "code"
    folder.mkdir()
    folder.chmod(bits)
    assert folder_error(folder) == f"other users can write to {folder} (mode {bits:04o})"
    assert mode(folder) == bits


@pytest.mark.parametrize(("bits", "usable"), [(0o777, False), (0o775, False), (0o1777, True)])
def test_nor_replace_the_folder(tmp_path, bits, usable):
    """In a folder like /tmp nobody can."""
    tmp_path.chmod(bits)
    assert (folder_error(tmp_path / "code") == "") == usable


class Another:
    """Another user than the owner of the files."""

    def __init__(self, real: int) -> None:
        self.real = real

    def __call__(self) -> int:
        return self.real + 1


def test_another_user_s_folder_is_not_used(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    assert folder_error(folder) == ""
    monkeypatch.setattr(os, "geteuid", Another(os.geteuid()))
    owner = folder.stat().st_uid
    above = tmp_path if owner else folder  # in the folder above, root's is as good as the own one
    assert folder_error(folder) == f"{above} belongs to another user (UID {owner})"


def test_one_warning_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path))
    for folder in caches.cache_folders().values():
        folder.mkdir()
        folder.chmod(0o777)
    kept = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        caches.keep_compiled_equations()
        assert caches.usable_cache("numba") is None
        assert caches.usable_cache("jax") is None
    assert jax.config.jax_compilation_cache_dir == kept  # type: ignore[attr-defined]
    [warning] = caught
    jax_folder = caches.cache_folders()["jax"]
    assert f"other users can write to {jax_folder}" in str(warning.message)
    WARNED.discard(tmp_path)


def test_a_signal_deletes_what_jax_may_not_have_finished(tmp_path):
    for name, age in {"old-cache": 60.0, "new-cache": 0.0}.items():
        (tmp_path / name).write_bytes(b"code")
        os.utime(tmp_path / name, times=(time.time() - age,) * 2)
    (tmp_path / "lanes").mkdir()
    caches.delete_recent(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["lanes", "old-cache"]


DAMAGED = """
import os
import jax
from vegasfluid import caches
caches.keep_compiled_equations()
caches.keep_compiled_equations()
for damage in (lambda c: b"", lambda c: c[:99], lambda c: c[:99] + b"x" + c[100:]):
    double = jax.jit(lambda x: 2 * x)
    before = double(3.0)
    [file] = caches.cache_folders()["jax"].glob("*lambda*-cache")
    damaged = damage(file.read_bytes())
    file.write_bytes(damaged)
    os.utime(file, (0, 0))
    jax.clear_caches()
    print(double(3.0) == before, file.read_bytes() != damaged)
    jax.clear_caches()
    print(double(3.0) == before)
"""
"""A program that damages a file of JAX's cache, and computes twice."""


@pytest.mark.slow
def test_damaged_equations_are_named_and_compiled_again(tmp_path):
    """JAX warned of such a file in each process and left it as it was."""
    python = [sys.executable, "-W", "always", "-c", DAMAGED]
    variables = os.environ | {"VEGASFLUID_CACHE_DIR": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    found = subprocess.run(python, capture_output=True, text=True, env=variables, check=True)
    assert found.stdout.split("\n") == ["True True", "True"] * 3 + [""]
    assert found.stderr.count(f"compiled code in {tmp_path / 'jax'} is damaged") == 3
    assert "Error" not in found.stderr


@pytest.mark.parametrize(("age", "shown", "left"), [(0.0, 0, 4), (60.0, 1, 3)])
def test_a_file_that_another_process_is_writing_is_left_alone(tmp_path, age, shown, left):
    """JAX writes in place, so that a second process may read half a file.

    Files of other functions stay, also where their names begin alike.
    """
    for name in ("jit_run-0a-cache", "jit_run_all-0b-cache", "jit_other-0c-cache", "jit_other-0c"):
        (tmp_path / name).write_bytes(b"code")
    os.utime(tmp_path / "jit_run-0a-cache", times=(time.time() - age,) * 2)
    message, warned = f"{caches.UNREADABLE} for 'jit_run': ZstdError: cut short", []
    caches.show_and_delete(tmp_path, message, UserWarning, "", 1, show=lambda *a: warned.append(a))
    assert len(warned) == shown
    assert len(os.listdir(tmp_path)) == left


def test_lane_kernels_are_not_loaded_from_there(tmp_path, monkeypatch):
    class Named:
        name, width = "0" * 16, 4

    jax_folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        file = cpu.cache_file(Named())  # type: ignore[arg-type]
        assert file is not None
        assert file.parent == tmp_path / "lanes"
        (tmp_path / "lanes").chmod(0o777)
        with pytest.warns(RuntimeWarning, match="other users can write to"):
            assert cpu.cache_file(Named()) is None  # type: ignore[arg-type]
    finally:
        jax.config.update("jax_compilation_cache_dir", jax_folder)
