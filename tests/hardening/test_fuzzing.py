"""Mutated model files: whatever is in one, `check` answers and refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.hardening.__main__ import documents, known_keys
from benchmarks.hardening.answers import Answer, fault
from benchmarks.hardening.mutations import DAMAGES, mutated
from benchmarks.hardening.worker import answered

MODELS = documents()
KEYS = known_keys()
RUN = {
    "classes": {"reno": {"goodput_mbps": 1.0, "retransmit_share": 0.0}},
    "links": {"bottleneck": {"utilisation": 1.0, "drop_share": 0.0}},
}
SIMULATE = ("simulate", "x.toml", "--json")


@settings(
    max_examples=200,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(model=st.sampled_from(MODELS), random=st.randoms(use_true_random=False))
def test_check_answers_whatever_is_in_a_file(model, random, tmp_path: Path) -> None:
    path = tmp_path / "network.toml"
    path.write_bytes(mutated(model, random, KEYS))
    answer = answered(("check", str(path), "--json"))
    assert fault(answer) == "", answer
    assert answer.status in (0, 2)


def test_a_seed_repeats_its_file_and_leaves_the_document_as_it_was():
    before = json.dumps(MODELS)
    for seed in range(50):
        first, second = (mutated(MODELS[0], Random(seed), KEYS) for _ in range(2))
        assert first == second
    assert json.dumps(MODELS) == before
    assert len({mutated(MODELS[0], Random(seed), KEYS) for seed in range(50)}) > 40


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_empty_file_can_be_damaged(damage):
    assert isinstance(damage(b"", Random(1)), bytes)


def changed(place: str, name: str, value: float | None) -> str:
    """The JSON of a run with another value."""
    (part,) = RUN[place]
    return json.dumps(RUN | {place: {part: RUN[place][part] | {name: value}}})


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Answer(SIMULATE, 0, json.dumps(RUN), "", 1.0), ""),
        (Answer(SIMULATE, 3, json.dumps(RUN), "vegasfluid: Warning: long", 1.0), ""),
        (Answer(SIMULATE, 2, "", "vegasfluid: x.toml: no.\n", 1.0), ""),
        (Answer(("check", "x", "--json"), 2, '{"ok": false, "errors": ["no"]}', "", 1.0), ""),
        (Answer(SIMULATE, None, "", "ZeroDivisionError", 1.0), "traceback"),
        (Answer(SIMULATE, 1, "", "Traceback (most recent", 1.0), "traceback"),
        (Answer(SIMULATE, 139, "", "", 1.0), "exit status 139"),
        (Answer(SIMULATE, 0, "", "", float("inf")), "hang"),
        (Answer(SIMULATE, 2, "", "vegasfluid: \x1b[2J", 1.0), "control character"),
        (Answer(SIMULATE, 2, "", "oh\n", 1.0), "error message without a line that begins"),
        (
            Answer(SIMULATE, 2, "", "vegasfluid: a\nvegasfluid: b\n", 1.0),
            "error message of several",
        ),
        (Answer(SIMULATE, 2, "{}", "vegasfluid: a\n", 1.0), "output of a failed command"),
        (Answer(SIMULATE, 2, "", "vegasfluid: " + 2000 * "x", 1.0), "long line"),
        (Answer(("check", "x", "--json"), 2, '{"ok": true, "errors": ["no"]}', "", 1.0), "invalid"),
        (Answer(("check", "x", "--json"), 2, '{"ok": false, "errors": []}', "", 1.0), "invalid"),
        (Answer(SIMULATE, 0, '{"a": NaN}', "", 1.0), "not JSON"),
        (Answer(("export", "x"), 0, "", "", 1.0), "no output"),
        (Answer(SIMULATE, 0, changed("links", "utilisation", 1.001), "", 1.0), "utilisation above"),
        (Answer(SIMULATE, 0, changed("links", "drop_share", -0.1), "", 1.0), "drop_share is neg"),
        (Answer(SIMULATE, 0, changed("classes", "goodput_mbps", None), "", 1.0), "goodput_mbps is"),
    ],
)
def test_faults_of_answers_are_found(answer, wanted):
    found = fault(answer)
    assert found.startswith(wanted)
    assert bool(found) == bool(wanted)
