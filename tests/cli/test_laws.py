"""`laws`: the list agrees with what model files accept."""

from __future__ import annotations

from tests.cli.commands import document, edited, written


def test_laws_json(run):
    status, out, err = run("laws", "--json")
    result = document(out)
    assert (status, err) == (0, "")
    names = {part: [entry["name"] for entry in entries] for part, entries in result.items()}
    laws = {
        "cubic",
        "dctcp",
        "highspeed",
        "newreno",
        "reno",
        "scalable",
        "udp",
        "vegas",
        "vegas_rerouting",
    }
    assert set(names["congestion_controls"]) == laws
    assert {"droptail", "red"} <= set(names["queue_disciplines"])
    assert set(names["traffic_sources"]) == {"bulk", "cbr", "poisson", "on_off", "sessions"}
    dialects = {entry["name"]: entry["defaults"] for entry in result["vegas_dialects"]}
    assert dialects["ns2"] == {"alpha": 1, "beta": 3, "gamma": 1}
    assert dialects["linux"] == dialects["ns3"] == {"alpha": 2, "beta": 4, "gamma": 1}
    red = next(entry for entry in result["queue_disciplines"] if entry["name"] == "red")
    parameters = {entry["name"]: entry for entry in red["parameters"]}
    assert parameters["min_thresh"] == {
        "name": "min_thresh",
        "key": "min_thresh_packets",
        "units": "packets",
        "default": None,
        "default_in_file": None,
        "required": True,
    }
    assert parameters["max_drop"]["default"] == 0.1
    assert parameters["weight"]["default"] is None  # as the implementation does
    for key in ("congestion_controls", "queue_disciplines", "vegas_dialects"):
        assert all(entry["sources"] for entry in result[key])


def test_every_law_of_the_list_can_be_used_in_a_model_file(run, tmp_path):
    """`laws` and the reader of model files agree on names and keys."""
    kinds = document(run("laws", "--json")[1])["traffic_sources"]
    for kind in kinds:
        required = [entry["key"] for entry in kind["parameters"] if entry["required"]]
        keys = "".join(f", {key} = 2" for key in required)
        traffic = f'traffic = {{ name = "{kind["name"]}"{keys} }}'
        path = written(tmp_path, edited("count = 2", f"count = 2\n{traffic}"))
        assert run("check", path)[0] == 0


def test_defaults_are_shown_in_the_unit_of_the_key(run):
    """PIE's target is 0.015 s in Python, and 15 in a model file, where the key ends in `_ms`."""
    out = " ".join(run("laws")[1].split())
    assert "target_ms 15 s" in out
    assert "alpha_per_s 0.125 1/s" in out
    disciplines = document(run("laws", "--json")[1])["queue_disciplines"]
    [pie] = [entry for entry in disciplines if entry["name"] == "pie"]
    target = next(each for each in pie["parameters"] if each["name"] == "target")
    assert (target["default"], target["default_in_file"]) == (0.015, 15.0)
