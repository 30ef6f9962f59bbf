"""The distributions: what is in them, and that the wheel works where nothing of the sources is."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from benchmarks import first_use
from tests.paths import ROOT

USER = """
import vegasfluid as vf

model = vf.read_model("weigle_feng_network2")
reveal_type(model)
reveal_type(vf.mbps(10))
reveal_type(vf.Vegas(alpha=2).alpha)
vf.Vegas(alfa=2)
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the source distribution, and the wheel that is made of it."""
    try:
        first_use.uv()
    except RuntimeError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("dist")
    try:
        first_use.built(folder)
    except RuntimeError as failed:
        if "hatchling" in str(failed):
            pytest.skip("hatchling cannot be fetched")
        raise
    return folder


def test_the_wheel_holds_the_package_its_models_and_notebooks_and_nothing_else(dist):
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        metadata = message_from_string(
            wheel.read(next(n for n in names if n.endswith("/METADATA"))).decode()
        )
    sources = (ROOT / "vegasfluid").rglob("*.py*")
    modules = {str(path.relative_to(ROOT)) for path in sources if path.suffix in (".py", ".pyi")}
    bundled = [*(ROOT / "models").glob("*.toml"), *(ROOT / "notebooks").glob("*.ipynb")]
    data = {f"vegasfluid/{path.relative_to(ROOT)}" for path in bundled}
    inside = {name for name in names if ".dist-info/" not in name}
    folders = [ROOT / "vegasfluid" / folder for folder in ("explore/page", "observe/data")]
    beside = {str(path.relative_to(ROOT)) for folder in folders for path in folder.iterdir()}
    assert inside == modules | data | beside | {"vegasfluid/py.typed"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Keywords"]


def test_the_source_distribution_holds_what_tests_and_pages_need(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tops = {name.partition("/")[0] for name in names}
    wanted = {"vegasfluid", "models", "tests", "docs", "benchmarks", "examples", "paper_repro"}
    assert wanted | {"tools", "Makefile", "requirements.lock", "README.md", "LICENSE"} <= tops
    assert not any("__pycache__" in name or name.endswith(".pyc") for name in names)


@pytest.mark.slow
def test_the_wheel_alone_recommends_and_is_well(dist, tmp_path):
    """In a fresh environment and an empty folder: a built-in model, the doctor, types."""
    programs = first_use.installed(next(dist.glob("*.whl")), tmp_path / "env")
    here = tmp_path / "here"
    here.mkdir()
    cache = {"VEGASFLUID_CACHE_DIR": str(tmp_path / "cache")}

    def json_of(*arguments: str) -> dict:
        return json.loads(first_use.done(programs / "vegasfluid", *arguments, cwd=here, **cache))

    found = json_of("recommend", "weigle_feng_network2", "--out", "tuned.toml", "--json")
    assert found["reached"] is True
    assert 125 <= found["recommended"]["alpha_packets"] <= 170  # ns-2's own crossing: 147
    assert json_of("check", "tuned.toml", "--json")["ok"] is True
    health = json_of("doctor", "--json")
    assert health["ok"] is True
    names = {package["name"] for package in health["packages"]}
    assert names >= {"jax", "numba"}
    assert not names & {"dask", "zarr"}  # they come with the extra `sweep`
    grid = ("--over", "vegas.alpha_packets=1,2", "--out", "map.zarr")
    with pytest.raises(RuntimeError, match=r"pip install 'vegasfluid\[sweep\]'"):
        first_use.done(programs / "vegasfluid", "sweep", "tuned.toml", *grid, cwd=here, **cache)
    code = "import vegasfluid; print(vegasfluid.__file__)"
    where = first_use.done(programs / "python", "-c", code, cwd=here)
    assert str(tmp_path / "env") in where
    (here / "user.py").write_text(USER)
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyright",
            "--outputjson",
            "--pythonpath",
            str(programs / "python"),
            "user.py",
        ],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    messages = [one["message"] for one in json.loads(checked.stdout)["generalDiagnostics"]]
    assert [words for words in messages if "revealed" not in words and 'is "' not in words] == [
        'No parameter named "alfa"'
    ]
    assert 'Type of "model" is "Model"' in messages
    assert not any("Unknown" in message for message in messages)
