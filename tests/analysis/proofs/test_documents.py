"""What a document must be, and whether it is of a given model."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace

import pytest

from tests.analysis.proofs.documents import KEYS, LEAVES, TEXTS, at, changed, leaves
from tests.analysis.proofs.oracle import of_the_paper, with_alpha
from vegasfluid import Cubic, InvalidInput, Network
from vegasfluid.analysis.proofs import Certificate, certify_alpha, matches, verify


def test_keys_are_those_of_the_example(small):
    assert sorted(leaves(small)) == sorted(LEAVES)
    texts = {path[-1] for path in LEAVES if isinstance(at(small, path), str)}
    assert texts - {"low", "high"} == {"format", "software", "statement", *TEXTS}


@pytest.mark.parametrize("path", KEYS, ids=".".join)
def test_every_key_is_needed_and_no_other_is_known(small, path):
    document = copy.deepcopy(small)
    at(document, path[:-1])[path[-1] + "_"] = at(document, path)
    with pytest.raises(InvalidInput) as error:
        verify(document)
    assert "\n" not in str(error.value)
    del at(document, path[:-1])[path[-1]]
    with pytest.raises(InvalidInput) as error:
        verify(document)
    assert "\n" not in str(error.value)


BAD_VALUES = [
    (("version",), 2, "version must be 1"),
    (("version",), True, "version must be 1"),
    (("format",), "another", "format must be"),
    (("software",), 5, "software must be a text"),
    (("problem",), [], "problem must be a JSON object"),
    (("problem", "ratio"), "1.0", "problem.ratio must be a number"),
    (("problem", "ratio"), True, "problem.ratio must be a number"),
    (("problem", "ratio"), math.nan, "finite number"),
    (("problem", "ratio"), math.inf, "finite number"),
    (("problem", "ratio"), -1.0, "ratio must be above 0"),
    (("problem", "ratio"), 10**400, "at most 1.8e308"),
    (("problem", "ratio"), 2**53 + 1, "that fits a double"),
    (("problem", "epsilon"), 2.0, "epsilon must be at most 1"),
    (("problem", "epsilon"), 0.0, "epsilon must be above 0"),
    (("problem", "loss_process"), "often", "loss_process must be one of"),
    (("problem", "red", "gentle"), 1, "gentle must be true or false"),
    (("problem", "red", "max_drop"), 1.5, "max_drop must be at most 1"),
    (("problem", "red", "max_thresh_packets"), 50.0, "min_thresh must be below max_thresh"),
    (("problem", "tuned", "flows"), 8.5, "flows must be a whole number"),
    (("problem", "tuned", "flows"), 0, "count must be at least 1"),
    (("problem", "tuned", "dialect"), "ns3", "dialect must be one of brakmo, ns2, linux"),
    (("problem", "tuned", "name"), "reno", "another class than its competitors"),
    (("problem", "competitors"), {}, "1 to 100 classes"),
    (("problem", "competitors", "reno"), 3, "competitors.reno must be a JSON object"),
    (("problem", "competitors", "reno", "law"), "highspeed", "reno, newreno or cubic"),
    (("claims", "alpha_packets"), 5.0, "alpha_packets must be a JSON object"),
    (("claims", "alpha_packets", "low"), 5.0, "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "nan", "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "1E9999999", "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "9" * 500, "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "1/3", "a decimal number in quotes"),
    (("claims", "alpha_packets", "low"), "99", "low must be at most high"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD_VALUES)
def test_malformed_documents_are_rejected_in_one_line(small, path, value, message):
    with pytest.raises(InvalidInput) as error:
        verify(changed(small, path, value))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_what_is_no_json_object_is_rejected(document):
    with pytest.raises(InvalidInput, match="the document must be a JSON object"):
        verify(document)


def test_a_certificate_of_another_model_is_reported():
    document = certify_alpha(of_the_paper(3)).document()
    matches(document, of_the_paper(3))
    matches(document, with_alpha(of_the_paper(3), 77.0))
    with pytest.raises(InvalidInput, match=r"base_rtt_s must be 0\.1\d* as in the model"):
        matches(document, of_the_paper(4))
    with pytest.raises(InvalidInput, match=r"competitors.cubic must be .* but is missing"):
        matches(document, replaced_flows(of_the_paper(3)))


def replaced_flows(network: Network) -> Network:
    cubic = replace(network.flows["reno"], law=Cubic())
    return Network(network.link, {**network.flows, "cubic": cubic}, network.packet_bytes)


def test_file_holds_what_was_certified(tmp_path, small):
    found = Certificate.read(small)
    found.save(tmp_path / "alpha.json")
    read = json.loads((tmp_path / "alpha.json").read_text())
    assert read == small
    assert Certificate.read(read) == found


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "certificate: format must be given, but is missing."),
        ([1] * 99, "the document must be .*, but is \\[1, 1, 1, .* \\.\\.\\.\\."),
    ],
)
def test_what_was_given_is_quoted_once(document, message):
    with pytest.raises(InvalidInput, match=message):
        verify(document)
