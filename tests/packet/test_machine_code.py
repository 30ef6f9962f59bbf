"""Machine code on disk: what is damaged is compiled again, and nothing is written elsewhere."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import numba
import pytest

from tests.files import DAMAGES
from tests.paths import ROOT
from vegasfluid import Flows, Link, Network, Reno
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit import kernel, machine_code, self_test

SIGNATURE = (numba.int64,)


def seventh(number: int) -> int:
    return 7 * number


def build(cache: bool) -> Any:
    return numba.njit(cache=cache)(seventh)


def kept(folder: Path) -> Any:
    return machine_code.kept_in(folder, build, SIGNATURE)


def test_it_is_compiled_once(tmp_path):
    first, second = (kept(tmp_path / "code") for _ in range(2))
    assert (first(6), second(6)) == (42, 42)
    assert not first.stats.cache_hits
    assert second.stats.cache_hits
    assert os.listdir(tmp_path) == ["code"]


@pytest.mark.parametrize("ending", ["*.nbi", "*.nbc", "digests.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_again(tmp_path, ending, damage):
    kept(tmp_path / "code")
    [file] = (tmp_path / "code").rglob(ending)
    damage(file)
    again = kept(tmp_path / "code")
    assert again(6) == 42
    assert not again.stats.cache_hits
    assert kept(tmp_path / "code").stats.cache_hits
    assert os.listdir(tmp_path) == ["code"]


def test_code_of_a_package_with_other_times_is_kept_again(tmp_path, monkeypatch):
    """Numba compares the time of the function's file, too."""
    kept(tmp_path / "code")
    stamp = "numba.core.caching._SourceFileBackedLocatorMixin.get_source_stamp"
    monkeypatch.setattr(stamp, lambda self: (1.0, 2))
    assert not kept(tmp_path / "code").stats.cache_hits
    assert kept(tmp_path / "code").stats.cache_hits


def test_what_killed_processes_left_is_deleted(tmp_path):
    for name, age in {".new-old": 2 * 3600, ".new-young": 60}.items():
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, times=(time.time() - age,) * 2)
    kept(tmp_path / "code")
    assert sorted(os.listdir(tmp_path)) == [".new-young", "code"]


@pytest.mark.parametrize("failing", ["os.replace", "os.makedirs", "pathlib.Path.rename"])
def test_code_that_cannot_be_kept_runs(tmp_path, monkeypatch, failing):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(failing, full)
    assert kept(tmp_path / "code")(6) == 42
    assert os.listdir(tmp_path) == []
    assert not list(Path(__file__).parent.rglob("*.nb?"))


@pytest.mark.parametrize("what", ["a file", "others may write"])
def test_an_unusable_folder_is_not_used(tmp_path, monkeypatch, what):
    """A kernel that is not run: Numba decides at its decoration where it would write."""
    folder = tmp_path / "cache"
    if what == "a file":
        folder.write_text("")
    else:
        (folder / "numba").mkdir(parents=True)
        (folder / "numba").chmod(0o777)
    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(folder))
    monkeypatch.setattr(self_test, "internals_work", lambda: True)
    used = []
    monkeypatch.setattr(
        "vegasfluid.packet.jit.optimised.kept_in", lambda *given: used.append(given)
    )
    flows = {"reno": Flows(1, Reno(), base_rtt=0.04)}
    rules = initial_state(Network(Link(1000.0, 30), flows), 1).rules
    with pytest.warns(RuntimeWarning, match="compiled code is not kept"):
        kernel.compile_kernel(rules)
    assert used == []
    assert not list((ROOT / "vegasfluid").rglob("*.nb?"))
    if what == "others may write":
        assert os.listdir(folder / "numba") == []
