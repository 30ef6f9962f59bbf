"""The command that shows whether a certificate is valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.proofs.documents import changed
from tests.analysis.proofs.oracle import of_the_paper
from tests.paths import MODELS
from vegasfluid import InvalidInput
from vegasfluid.analysis.proofs import certify_alpha
from vegasfluid.cli.certify import run


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    certify_alpha(of_the_paper(2)).save(Path("alpha.json"))
    return Path("alpha.json")


def test_command_shows_what_is_proven(file, capsys):
    assert run(file, model=MODELS / "weigle_feng_network2.toml", as_json=False)
    shown = capsys.readouterr().out
    assert "is valid: everything in it is proven" in shown
    assert "145.935773957531904" in shown
    assert "145 to 147" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_command_prints_json(file, capsys):
    assert run(file, model=None, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["valid"]
    assert printed["reasons"] == []
    assert printed["digits"] > 15


def test_the_command_reports_why_it_rejects(file, capsys):
    document = json.loads(file.read_text())
    file.write_text(json.dumps(changed(document, ("problem", "epsilon"), 0.02)))
    assert not run(file, model=None, as_json=False)
    shown = capsys.readouterr().out
    assert "is not valid" in shown
    assert "Not proven: alpha_below_packets is proven to be between" in shown
    assert not run(file, model=None, as_json=True)
    assert not json.loads(capsys.readouterr().out)["valid"]


def test_the_command_rejects_another_model(file):
    with pytest.raises(InvalidInput, match=r"capacity_packets_per_s must be .* as in the model"):
        run(file, model=MODELS / "weigle_feng_network3.toml", as_json=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "an existing file"),
        (b"{", "a JSON document"),
        (b"\xff\xfe", "a JSON document"),
        (b"[" * 100_000, "a JSON document"),
        (b"1" * 5000, "a JSON document"),
        (b" " * 1_000_001, "at most 1000000 bytes"),
        (b'{"format": 1, "format": 2}', "different from the other keys of its object"),
        (b'{"format": NaN}', "finite"),
        (b"[]", "a JSON object"),
        (b"{}", "format must be given"),
    ],
)
def test_the_command_rejects_other_files_in_one_line(tmp_path, content, message):
    path = tmp_path / "alpha.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message) as error:
        run(path, model=None, as_json=False)
    assert "\n" not in str(error.value)
