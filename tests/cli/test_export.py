"""`export`: what it shows, what it writes, what it refuses."""

from __future__ import annotations

import vegasfluid as vf
from tests.cli.commands import SMALL, assert_invalid_input, document, edited, written
from vegasfluid import modelfile
from vegasfluid.tuning import operating_points


def test_export_shows_a_single_file_as_it_is(run, small):
    status, out, err = run("export", small, "--format", "ns2", "--seed", "7")
    assert (status, err) == (0, "")
    model = modelfile.load(small)
    assert out == vf.export.export_model(model, "ns2", seed=7).files["scenario.tcl"]
    assert "\nset seed 7\n" in out


def test_export_json(run, small, tmp_path):
    """Linux has another dialect than the model: packet runs give its operating point."""
    status, out, err = run("export", small, "--format", "linux", "--json")
    result = document(out)
    assert (status, err) == (0, "")
    keys = {"model", "version", "seed", "format", "vegas", "notes", "files", "written"}
    assert set(result) == keys
    assert (result["model"], result["format"], result["written"]) == (small, "linux", [])
    assert list(result["files"]) == ["tune.sh", "tcp_vegas.conf"]
    vegas = result["vegas"]["vegas"]
    assert (vegas["from_dialect"], vegas["translated"]) == ("ns2", True)
    settings, _ = vf.export.translate(
        vf.Vegas(2, 4, dialect="ns2"),
        operating_points(modelfile.load(small))["vegas"],
    )
    assert {key: vegas[key] for key in ("alpha", "beta", "gamma")} == settings["linux"]
    assert vegas["alpha"] > 2
    (line,) = [x for x in result["files"]["tcp_vegas.conf"].splitlines() if x[0] != "#"]
    assert line == "options tcp_vegas alpha={alpha} beta={beta} gamma={gamma}".format(**vegas)


def test_export_writes_into_folders_and_files(run, small, tmp_path):
    folder, file = tmp_path / "made", tmp_path / "my.py"
    for _ in range(2):  # also where the folder is there
        status, out, err = run("export", small, "--format", "linux", "--out", str(folder))
        assert (status, err) == (0, "")
    assert {path.name for path in folder.iterdir()} == {"tune.sh", "tcp_vegas.conf"}
    status, out, err = run("export", small, "--format", "ns3", "--out", str(file))
    assert (status, err) == (0, "")
    assert f"Written: {file}\n" in out
    compile(file.read_text(), str(file), "exec")
    assert "ns3::TcpVegas::Alpha" in (tmp_path / "my-attributes.txt").read_text()


def test_export_rejects_in_one_line_what_a_system_cannot_do(run, tmp_path):
    jitter = edited("buffer_packets = 100", "buffer_packets = 100\njitter_ms = 1")
    path = written(tmp_path, jitter)
    assert_invalid_input(
        run("export", path, "--format", "ns2"), "links.bottleneck: jitter must be 0 for ns-2"
    )
    rerouting = SMALL[: SMALL.rindex("law =")] + 'law = { name = "vegas_rerouting" }'
    path = written(tmp_path, rerouting)
    for system in ("linux", "freebsd", "ns2", "ns3"):
        target = tmp_path / system
        assert_invalid_input(
            run("export", path, "--format", system, "--out", str(target)),
            "flows.vegas: law must be one that",
        )
        assert not target.exists()
