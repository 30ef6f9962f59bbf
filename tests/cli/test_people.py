"""The command line as people meet it: models by name, examples, next steps, pipes, terminals."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

import vegasfluid as vf
from tests.cli.commands import SMALL
from tests.cli.typed import command_on_path, on_a_terminal
from tests.docs.pages import MEASUREMENTS
from tests.paths import ROOT
from vegasfluid import modelfile
from vegasfluid.cli import output
from vegasfluid.cli.app import app, run_app
from vegasfluid.cli.examples import EXAMPLES
from vegasfluid.cli.greeting import FIRST_STEPS
from vegasfluid.cli.next_steps import after_recommend
from vegasfluid.cli.recommend import delay_cost, suggestions
from vegasfluid.tuning.constraints import NO_CONSTRAINTS

COMMANDS = [str(command.name) for command in app.registered_commands]
NAME = "weigle_feng_network1"
BOXES = re.compile("[\u2500-\u257f]")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder; its exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def one(*arguments: str) -> tuple[int, str, str]:
        status = run_app([*arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return one


def words(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


# Models by name


def test_a_shipped_model_is_read_by_its_name(run):
    status, out, err = run("check", NAME, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["model"] == NAME
    assert vf.read_model(NAME) == modelfile.load(modelfile.bundled_models()[NAME])


def test_every_shipped_model_is_there_under_its_name():
    assert NAME in modelfile.bundled_models()
    for name, path in modelfile.bundled_models().items():
        assert path.name == f"{name}.toml"
        assert vf.read_model(name) == modelfile.load(path)


def test_a_path_that_exists_wins(run):
    Path(NAME).write_text(SMALL)
    assert json.loads(run("check", NAME, "--json")[1])["flows"] == {"reno": 2, "vegas": 2}
    assert vf.read_model(Path(NAME)).duration == 20
    Path(NAME).unlink()
    Path(NAME).mkdir()
    assert "but is a folder" in run("check", NAME)[2]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("weigle_feng_netwrk1", ("a model file or the name of a built-in model", f"mean {NAME}?")),
        (f"{NAME}.toml", ("must be a model file, but there is no such file", f"mean {NAME}?")),
        (f"models/{NAME}.toml", ("there is no such file", f"mean {NAME}?")),
        (f"./{NAME}", ("there is no such file", f"mean {NAME}?")),
        ("zzz", ("there is neither; vegasfluid models lists the built-in models",)),
        ("", ("must be",)),
        ("a\0b", ("must be",)),
        ("x" * 5000, ("must be",)),
    ],
)
@pytest.mark.parametrize("command", ["check", "recommend", "analyse"])
def test_what_is_no_model_is_rejected_in_one_line(run, command, given, parts):
    status, out, err = run(command, given)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert all(part in err for part in parts)


def test_models_are_listed_shown_and_copied(run):
    listed = run("models")[1]
    document = json.loads(run("models", "--json")[1])
    for entry in document["models"]:
        assert entry["name"] in listed
        assert entry["shows"] in listed
        assert modelfile.load(entry["path"]).title == entry["title"]
    text = modelfile.bundled_models()[NAME].read_text()
    assert run("models", NAME) == (0, text, "")
    assert json.loads(run("models", NAME, "--json")[1])["text"] == text
    status, out, err = run("models", NAME, "--out", "mine.toml")
    assert (status, err, Path("mine.toml").read_text()) == (0, "", text)
    assert "Next: vegasfluid check mine.toml" in out
    assert "Next: vegasfluid check 'my own.toml'" in run("models", NAME, "--out", "my own.toml")[1]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("models", "wiegle_feng_network1"), "did you mean weigle_feng_network1?"),
        (("models", NAME, "--out", "there.toml"), "a new file"),
        (("models", NAME, "--out", "mine.txt"), "named *.toml"),
        (("models", "--out", "mine.toml"), "NAME must be given with --out"),
        (("recommend", "there.toml", "--out", "there.toml"), "a file other than MODEL"),
        (("recommend", NAME, "--out", "no/such/folder.toml"), "in an existing folder"),
        (
            ("recommend", NAME, "--pareto", "--out", "x.toml"),
            "--pareto is not supported",
        ),
    ],
)
def test_files_that_are_there_stay_as_they_are(run, arguments, part):
    Path("there.toml").write_text(SMALL)
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert part in err
    assert Path("there.toml").read_text() == SMALL


# What is shown first, and what comes next


def test_without_a_command_people_are_greeted(run):
    status, out, err = run()
    assert (status, err) == (0, "")
    for line, purpose in FIRST_STEPS:
        assert re.search(f"{re.escape(line)} +{re.escape(purpose)}", out)
        assert parsed(line) == 0


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"vegasfluid {vf.__version__}\n", "")


def parsed(line: str) -> int:
    """Parse a command line without doing anything; unknown options and bad values are rejected."""
    program, name, *arguments = shlex.split(line)
    assert program == "vegasfluid"
    command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    command.make_context(name, arguments).close()
    return 0


def test_every_command_has_examples_and_help_shows_them(run):
    assert set(EXAMPLES) == set(COMMANDS)
    for name, examples in EXAMPLES.items():
        shown = run(name, "--help")[1]
        for example in examples:
            assert example.line.startswith(f"vegasfluid {name}")
            assert f"\n    {example.line}\n        {example.purpose}\n" in shown
            assert parsed(example.line) == 0
            assert len(example.line) <= 76  # so that no terminal breaks it


@pytest.mark.slow
@pytest.mark.unoptimised
def test_every_example_runs_in_its_order_in_an_empty_folder(run, tmp_path, monkeypatch):
    for command, examples in EXAMPLES.items():
        if command == "crosscheck" and shutil.which("ns") is None:
            continue
        if command in ("explore", "init"):  # until Ctrl-C, and with answers: their own tests
            continue
        if command == "observe":
            for name, data in MEASUREMENTS.items():
                shutil.copy(ROOT / "tests/observe/data" / data, name)
        for example in examples:
            if "--clear-caches" in example.line:
                monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path / "cache"))
            status, out, err = run(*shlex.split(example.line)[1:])
            assert (status, err) == (0, ""), example.line
            assert out
            if "--out mine.toml" in example.line:  # the reader's own: a network with short runs
                # Its runs are longer, as losses of 1 % are few in 15 s.
                Path("mine.toml").write_text(SMALL.replace("duration_s = 20", "duration_s = 40"))


@pytest.mark.slow
@pytest.mark.unoptimised
def test_what_recommend_keeps_is_a_model_with_its_numbers_and_can_be_exported(run):
    Path("quick.toml").write_text(SMALL)
    status, out, err = run("recommend", "quick.toml", "--runs", "3", "--out", "tuned.toml")
    assert (status, err) == (0, "")
    assert "Written: tuned.toml\nNext: vegasfluid export tuned.toml --format linux" in out
    before, tuned = vf.read_model("quick.toml"), vf.read_model("tuned.toml")
    law = tuned.network.flows["vegas"].law
    assert f"alpha = {law.alpha:g}, beta = {law.beta:g}" in out
    assert law.alpha > before.network.flows["vegas"].law.alpha
    assert (tuned.duration, tuned.network.links) == (before.duration, before.network.links)
    assert tuned.network.flows["reno"] == before.network.flows["reno"]
    status, out, err = run("export", "tuned.toml", "--format", "ns2")
    assert (status, err) == (0, "")
    assert f"{law.alpha:g}" in out


def test_each_command_suggests_the_next_one(run):
    Path("my model.toml").write_text(SMALL)
    assert run("check", "my model.toml")[1].endswith("Next: vegasfluid recommend 'my model.toml'\n")
    alone = SMALL[: SMALL.index("[flows.vegas]")]
    Path("alone.toml").write_text(alone)
    assert run("check", "alone.toml")[1].endswith("Next: vegasfluid simulate alone.toml\n")
    out = run("export", "alone.toml", "--format", "ns2", "--out", "s.tcl")[1]
    assert out.endswith("Next: ns s.tcl\n")


@pytest.mark.slow
def test_a_goal_out_of_reach_has_suggestions(run):
    Path("small.toml").write_text(SMALL)
    status, out, _ = run("recommend", "small.toml", "--runs", "2", "--ratio", "50")
    assert status == 3
    assert "Suggestions:\n- a --ratio nearer to " in out


@pytest.mark.parametrize(
    ("aqm", "tuned", "suggested"),
    [
        (vf.Red(min_thresh=20, max_thresh=80), False, "--tune-queue, which"),
        (vf.Red(min_thresh=20, max_thresh=80), True, None),
        (vf.DropTail(), False, "another queue discipline in the model"),
    ],
)
def test_only_red_is_suggested_for_tuning(aqm, tuned, suggested):
    """Over drop-tail `--tune-queue` was suggested, and then refused."""
    flows = {"vegas": vf.Flows(1, vf.Vegas(), base_rtt=0.04)}
    result = SimpleNamespace(
        network=vf.Network(vf.Link(1000.0, 100, aqm), flows),
        constraints=NO_CONSTRAINTS,
        queue_tuned=tuned,
        after=SimpleNamespace(packets=SimpleNamespace(ratio=0.5)),
    )
    middle = suggestions(result)[1:-1]
    assert len(middle) == (suggested is not None)
    assert all(text.startswith(suggested) for text in middle)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.0580, 0.0645, "The recommendation adds 6.5 ms of queueing delay;"),
        (0.4847, 0.5059, ""),
        (0.05, 0.02, ""),
        (0.0, 0.0, ""),
    ],
)
def test_a_setting_that_adds_delay_is_said_to(before, after, said):
    """Users of Vegas want little delay: 4 % more on network 2 is not mentioned, 11 % are."""
    means = [SimpleNamespace(means=lambda d=d: {"queueing_delay_s": d}) for d in (before, after)]
    runs = [SimpleNamespace(packets=each) for each in means]
    sentence = delay_cost(SimpleNamespace(before=runs[0], after=runs[1]))
    assert sentence.startswith(said)
    assert bool(sentence) == bool(said)


# Pipes and terminals


def test_a_pipe_gets_whole_plain_lines(run):
    for arguments in (("laws",), ("models",), ("check", NAME), ("recommend", "--help"), ()):
        status, out, err = run(*arguments)
        assert (status, err) == (0, "")
        assert "\x1b" not in out
        assert not BOXES.search(out)
        assert not re.search(" $", out, re.MULTILINE)
    out = run("models")[1]
    assert len(max(out.splitlines(), key=len)) > 120
    assert len(run("recommend", "--help")[1].split("--max-drop-share SHARE", 1)[1].split("\n")) > 1


def test_the_line_width_follows_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run("models")[1].splitlines())) <= 60


@pytest.mark.parametrize("command", ["laws", "laws --json", "--help", f"models {NAME}"])
def test_a_reader_that_leaves_is_no_error(tmp_path, command):
    """As `vegasfluid laws | head -1`: nothing on standard error, and the status of SIGPIPE."""
    line = f"{command_on_path(tmp_path) / 'vegasfluid'} {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_gets_colours_and_groups_that_fit(tmp_path, columns):
    status, text = on_a_terminal(["recommend", "--help"], columns, tmp_path)
    assert status == 0
    assert "\x1b[" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= columns
    for title in ("Parameters to tune", "Goal and constraints", "Results", "General"):
        assert f" {title} " in plain
    assert "vegasfluid recommend mine.toml --tune-queue --max-drop-share 0.01\n" in re.sub(
        r" +\n", "\n", plain
    )


COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-9](?:;\d+)*m")


def test_no_color_and_dumb_terminals_are_heeded(tmp_path):
    text = on_a_terminal(["recommend", "--help"], 80, tmp_path, NO_COLOR="1")[1]
    assert BOXES.search(text)
    assert not COLOUR.search(text)
    dumb = on_a_terminal(["check", NAME], 80, tmp_path, TERM="dumb")[1]
    assert "\x1b" not in dumb
    dumb = on_a_terminal(["--help"], 80, tmp_path, TERM="dumb")[1]
    assert "\x1b" not in dumb
    assert not BOXES.search(dumb)


def test_force_color_is_heeded(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in run("check", NAME)[1]
    assert BOXES.search(run("check", "--help")[1])


def test_the_next_step_after_a_recommendation_is_one_that_can_be_taken():
    assert after_recommend("m.toml", None, {"ns2", "linux"})[1].endswith("--format linux")
    assert after_recommend("m.toml", Path("t.toml"), {"brakmo", "ns3", "ns2"}) == [
        "vegasfluid export t.toml --format ns2"
    ]
    assert after_recommend("m.toml", Path("t.toml"), {"brakmo"}) == []


def test_quiet_prints_the_result_without_commands_to_go_on_with(run):
    status, shown, _ = run("check", "weigle_feng_network2")
    assert status == 0
    result, next_line, _ = shown.partition("Next: ")
    assert next_line
    for option in ("--quiet", "-q"):
        assert run("check", "weigle_feng_network2", option) == (0, result, "")
    assert "Next: " in run("check", "weigle_feng_network2")[1]  # quiet until the command ends


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_a_terminal_but_not_with_quiet(monkeypatch, capsys, quiet):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with output.quiet() if quiet else nullcontext():
        with output.progress("recommend", output.COMPILING):
            pass
        with output.progress("observe") as report:
            report("reading")
    shown = capsys.readouterr().err
    assert ("recommend: compiling the simulators" in shown) is not quiet
    assert ("observe" in shown) is not quiet
