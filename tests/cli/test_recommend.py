"""`recommend`: its JSON document, its exit status, and what it needs."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from tests.cli.commands import SMALL, WITHOUT_VEGAS, assert_invalid_input, document, edited, written


def test_recommend_json(run, small):
    status, out, err = run("recommend", small, "--runs", "3", "--json")
    result = document(out)
    assert (status, err) == (0, "")
    assert set(result) == {
        "model", "version", "tuned", "goal", "reached", "reason", "recommended", "before", "fluid",
        "packets", "fluid_alpha_packets", "settings", "settings_missing", "seconds",
        "assumed", "warnings", "disagreements",
    }  # fmt: skip
    assert (result["model"], result["tuned"], result["goal"]) == (small, "vegas", {"ratio": 1.0})
    assert result["version"] == vf.__version__
    assert result["reached"] is True
    assert result["packets"]["runs"] in (
        3,
        6,
        12,
        24,
        48,
        96,
    )  # doubled while the interval is too wide


def test_recommend_out_of_reach_exits_with_3_and_a_reason(run, small):
    status, out, err = run("recommend", small, "--runs", "2", "--ratio", "50")
    assert (status, err) == (3, "")
    assert "Goal not reached: even with the largest setting" in " ".join(out.split())


def test_recommend_needs_a_class_to_tune_and_another(run, tmp_path):
    path = written(tmp_path, WITHOUT_VEGAS)
    assert_invalid_input(
        run("recommend", path),
        "law must be vegas in at least one class, but is 'reno",
    )
    lonely = edited('[flows.reno]\ncount = 2\nbase_rtt_ms = 20\nlaw = { name = "reno" }', "")
    path = written(tmp_path, lonely)
    assert_invalid_input(
        run("recommend", path), "the number of classes must be at least 2, but is 1"
    )
    two = SMALL.replace('law = { name = "reno" }', 'law = { name = "vegas" }')
    path = written(tmp_path, two)
    assert_invalid_input(run("recommend", path), "tune must be given, as one of reno, vegas")


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """Caches of a user who has not asked for a recommendation yet; compiled code is the tests'."""
    folder = tmp_path / "caches"
    monkeypatch.setattr("vegasfluid.cli.last_recommendation.cache_root", lambda: folder)
    return folder


def test_the_last_recommendation_is_written_without_a_search(run, small, tmp_path, caches):
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    search = ["recommend", small, "--runs", "3", "--until", "15"]
    status, out, _ = run(*search, "--out", str(first))
    assert status == 0
    status, out, err = run("recommend", "--last", "--out", str(second))
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"Recommended by: vegasfluid recommend {small} --runs 3 --until 15.0",
        f"Written: {second}",
        f"Next: vegasfluid export {second} --format linux",
    ]
    assert second.read_bytes() == first.read_bytes()
    status, out, _ = run("recommend", "--last", "--out", str(second), "--json")
    assert document(out) == {
        "command": f"vegasfluid recommend {small} --runs 3 --until 15.0",
        "out": str(second),
    }
    assert ((caches / "recommend").stat().st_mode & 0o777) == 0o700


def test_what_last_does_not_go_with_is_refused(run, small, tmp_path, caches):
    target = str(tmp_path / "tuned.toml")
    for damage in (None, "", "{}", '{"command": "x", "model": "y"}', "[1]", "\x00"):
        if damage is not None:
            caches.mkdir(mode=0o700, exist_ok=True)
            (caches / "recommend").mkdir(mode=0o700, exist_ok=True)
            (caches / "recommend" / "last.json").write_text(damage)
        assert_invalid_input(
            run("recommend", "--last", "--out", target), "--last must be given after a"
        )
    assert_invalid_input(
        run("recommend"), "MODEL must be given: a model file, or the name of a built-in model"
    )
    assert_invalid_input(run("recommend", "--last"), "--last must be given with --out FILE")
    assert_invalid_input(
        run("recommend", small, "--last", "--out", target), "--last with MODEL is not supported"
    )
    for option in (["--runs", "3"], ["--tune-queue"], ["--pareto"], ["--plot", "a.png"]):
        given = run("recommend", "--last", "--out", target, *option)
        assert_invalid_input(given, f"--last with {option[0]} is not supported: it writes the last")
    assert not (tmp_path / "tuned.toml").exists()


def test_the_next_step_repeats_the_options_that_were_given(run, small, monkeypatch):
    """Where the last recommendation cannot be kept: without them another setting is written."""
    monkeypatch.setattr("vegasfluid.cli.recommend.keep", lambda *kept: False)
    status, out, err = run(
        "recommend", small, "--runs", "3", "--seed", "5", "--until", "15", "--max-drop-share", "0.5"
    )
    assert (status, err) == (0, "")
    given = "--max-drop-share 0.5 --runs 3 --until 15.0 --seed 5"
    assert f"Next: vegasfluid recommend {small} {given} --out tuned.toml\n" in out


def test_a_picture_before_and_after(run, small, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(
        "vegasfluid.cli.recommend.save_picture", lambda figure, out: figures.append(figure)
    )
    target = tmp_path / "result.png"
    status, out, err = run("recommend", small, "--runs", "3", "--plot", str(target))
    assert (status, err) == (0, "")
    assert f"Written: {target}\n" in out
    before, after, card = figures[0].axes[:3]
    assert before.get_title(loc="left").startswith("before (fluid)")
    assert after.get_title(loc="left").startswith("recommended (fluid)")
    ends = [[line.get_ydata()[-1] for line in axes.lines] for axes in (before, after)]
    gaps = [abs(reno - vegas) / reno for reno, vegas in ends]
    assert gaps[1] < 0.15 < gaps[0]
    assert card.get_title(loc="left").startswith("vegas (ns2): alpha = ")


ANY = ("--tune", "bottleneck.buffer_packets=50:100", "--goal", "delay")
BUSY = ("--min-utilisation", "0.9", "--runs", "2")


def test_what_any_number_needs(run, tmp_path):
    """The goal needs a bound, and the theory of alpha does not apply."""
    path = written(tmp_path, WITHOUT_VEGAS)
    assert_invalid_input(
        run("recommend", path, *ANY), "--min-utilisation must be given with the goal delay"
    )
    assert_invalid_input(
        run("recommend", path, *ANY, *BUSY, "--explain"), "--explain with named parameters"
    )
    assert_invalid_input(
        run("recommend", path, *ANY, *BUSY, "--pareto"),
        "objective must be fairness among all flows",
    )


@pytest.mark.slow
@pytest.mark.unoptimised
def test_any_number_is_tuned_without_vegas(run, tmp_path):
    """RED keeps the queue shorter than any of these buffers: nothing changes."""
    path = written(tmp_path, WITHOUT_VEGAS)
    target = tmp_path / "tuned.toml"
    status, out, err = run("recommend", path, *ANY, *BUSY, "--out", str(target))
    assert (status, err) == (0, "")
    assert "bottleneck.buffer_packets does not matter" in " ".join(out.split())
    assert "Goal reached." in out
    assert vf.read_model(target).network == vf.read_model(path).network
    status, out, err = run("recommend", path, *ANY, *BUSY, "--json")
    result = document(out)
    number = result["parameters"]["bottleneck.buffer_packets"]
    assert (number["before"], number["recommended"], number["range"]) == (100, 100, [50, 100])
    assert number["matters"] is False
    assert result["recommended"]["alpha_packets"] is result["packets"]["ratio"] is None
    assert result["goal"] == {"queueing_delay_s": "smallest"}
    status, out, err = run("recommend", path, *ANY, *BUSY)
    assert "Next: vegasfluid recommend --last --out tuned.toml" in out
