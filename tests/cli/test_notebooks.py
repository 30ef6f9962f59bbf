"""`notebooks`: what it lists, what it copies, and what it does not replace."""

from __future__ import annotations

from tests.cli.commands import assert_invalid_input, document
from tests.paths import ROOT

NOTEBOOKS = {path.name: path.read_bytes() for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_they_are_listed_with_their_questions(run):
    status, out, err = run("notebooks")
    assert (status, err) == (0, "")
    assert "01_two_flows_one_queue" in out
    assert out.count("?") >= len(NOTEBOOKS)
    result = document(run("notebooks", "--json")[1])
    assert {f"{each['name']}.ipynb" for each in result["notebooks"]} == set(NOTEBOOKS)
    assert all(each["question"].endswith("?") for each in result["notebooks"])
    assert result["written"] == []


def test_they_are_copied_as_they_are_and_changed_ones_kept(run, tmp_path):
    folder = tmp_path / "of mine"
    status, out, err = run("notebooks", "--out", str(folder))
    assert (status, err) == (0, "")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == NOTEBOOKS
    assert out.count("Written: ") == len(NOTEBOOKS)
    assert f"Next: jupyter lab '{folder}'" in out
    assert document(run("notebooks", "--out", str(folder), "--json")[1])["written"]
    last, first = folder / max(NOTEBOOKS), folder / min(NOTEBOOKS)
    last.write_text("mine")
    first.unlink()
    assert_invalid_input(
        run("notebooks", "--out", str(folder)), "without changed notebooks", last.name
    )
    assert last.read_text() == "mine"
    assert not first.exists()
    assert run("notebooks", "--out", str(folder), "--force")[0] == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == NOTEBOOKS


def test_places_that_cannot_be(run, tmp_path):
    assert_invalid_input(
        run("notebooks", "--out", str(tmp_path / "no" / "where")), "in an existing folder"
    )
    (tmp_path / "file").write_text("")
    assert_invalid_input(run("notebooks", "--out", str(tmp_path / "file")), "must be a folder")
    (tmp_path / min(NOTEBOOKS)).mkdir()
    assert_invalid_input(run("notebooks", "--out", str(tmp_path)), "are not those of folders")
