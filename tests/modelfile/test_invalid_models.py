"""What makes no sense is rejected in one line: file, key path, what is allowed, what was given."""
# ruff: noqa: E501 (the names of tests are sentences; one case a line)

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

import pytest

from vegasfluid.aqm import queue_disciplines
from vegasfluid.congestion import congestion_controls
from vegasfluid.congestion.vegas import DIALECTS
from vegasfluid.modelfile import ModelFileError, load, loads

LAWS = ", ".join(sorted(congestion_controls()))

GOOD = """
duration_s = 200
warmup_s = 50

[bottleneck]
capacity_mbps = 155
delay_ms = 1.5
buffer_packets = 33554
aqm = { name = "red", min_thresh_packets = 6711, max_thresh_packets = 26843 }

[flows.reno]
count = 3
access_delay_ms = 1
law = { name = "reno" }

[flows.vegas]
count = 3
base_rtt_ms = [7, 8, 9]
start_s = { spread_s = 0.1 }
law = { name = "vegas", alpha_packets = 1, beta_packets = 3 }
traffic = { name = "cbr", rate_mbps = 10 }
"""

SEVERAL_LINKS = """
duration_s = 10
[links.up]
capacity_mbps = 1
buffer_packets = 9
[links.down]
capacity_mbps = 1
buffer_packets = 9
[flows.reno]
count = 1
base_rtt_ms = 7
path = ["up"]
law = { name = "reno" }
"""

EVENT = '\n[[events]]\nat_s = 5\nlink = "access"\nflows = "reno"\ndelay_ms = 9\n'

CASES = [
    # numbers: type, limits, finite
    ("capacity_mbps = 155", "capacity_mbps = -155", "bottleneck.capacity_mbps: must be above 0, but is -155"),
    ("capacity_mbps = 155", "capacity_mbps = 0.00", "bottleneck.capacity_mbps: must be above 0, but is 0.00"),
    ("capacity_mbps = 155", 'capacity_mbps = "155"', 'bottleneck.capacity_mbps: must be a number, but is "155"'),
    ("capacity_mbps = 155", "capacity_mbps = true", "bottleneck.capacity_mbps: must be a number, but is true"),
    ("capacity_mbps = 155", "capacity_mbps = nan", "bottleneck.capacity_mbps: must be a finite number, but is nan"),
    ("capacity_mbps = 155", "capacity_mbps = -inf", "bottleneck.capacity_mbps: must be a finite number, but is -inf"),
    ("capacity_mbps = 155", "capacity_mbps = 1e999", "bottleneck.capacity_mbps: must be a finite number, but is 1E+999"),
    ("capacity_mbps = 155", "capacity_mbps = 1e-999999999", "bottleneck.capacity_mbps: must be at least 1.2e-08 (the packet clock counts picoseconds in 64 bits), but is 1E-999999999"),
    ("capacity_mbps = 155", "capacity_mbps = 1e" + 30 * "9", "bottleneck.capacity_mbps: must be a finite number, but is inf"),
    ("capacity_mbps = 155", "capacity_mbps = 1" + 400 * "0", "bottleneck.capacity_mbps: must be a finite number, but is a huge number"),
    ("capacity_mbps = 155", "capacity_mbps = 1e308", "bottleneck.capacity_mbps: must be at most 1.2e+08 (the packet clock counts picoseconds in 64 bits), but is 1E+308"),
    ("capacity_mbps = 155", "capacity_mbps = [155]", "bottleneck.capacity_mbps: must be a number, but is a list"),
    ("capacity_mbps = 155", "capacity_mbps = 2001-01-01", "bottleneck.capacity_mbps: must be a number, but is 2001-01-01"),
    ("delay_ms = 1.5", "delay_ms = -1e-3", "bottleneck.delay_ms: must be at least 0, but is -0.001"),
    ("buffer_packets = 33554", "buffer_packets = 0.5", "bottleneck.buffer_packets: must be at least 1, but is 0.5"),
    ("access_delay_ms = 1", "access_delay_ms = 1\ninitial_ssthresh_packets = 1", "flows.reno.initial_ssthresh_packets: must be at least 2, but is 1"),
    ("access_delay_ms = 1", "access_delay_ms = 1\nmin_rto_s = 0", "flows.reno.min_rto_s: must be above 0, but is 0"),
    ("access_delay_ms = 1", 'access_delay_ms = 1\nhost = "windows"', 'flows.reno.host: must be one of linux, freebsd, ns2, ns3, textbook, but is "windows"'),
    ("access_delay_ms = 1", "access_delay_ms = 1\nhost = true", "flows.reno.host: must be one of linux, freebsd, ns2, ns3, textbook, but is true"),
    ("count = 3\naccess", "count = 0\naccess", "flows.reno.count: must be at least 1, but is 0"),
    ("count = 3\naccess", "count = 3.0\naccess", "flows.reno.count: must be a whole number, but is 3.0"),
    ("count = 3\naccess", "count = true\naccess", "flows.reno.count: must be a whole number, but is true"),
    ("duration_s = 200", "duration_s = 0", "duration_s: must be above 0, but is 0"),
    ("duration_s = 200", "duration_s = 200\npacket_bytes = 0", "packet_bytes: must be at least 1, but is 0"),
    ("duration_s = 200", "duration_s = 200\nack_bytes = 40.5", "ack_bytes: must be a whole number, but is 40.5"),
    ("max_thresh_packets = 26843", "max_thresh_packets = 26843, max_drop = 1.5", "bottleneck.aqm.max_drop: must be at most 1, but is 1.5"),
    ("max_thresh_packets = 26843", "max_thresh_packets = 26843, weight = 1", "bottleneck.aqm.weight: must be below 1, but is 1"),
    ("rate_mbps = 10", "rate_mbps = 0", "flows.vegas.traffic.rate_mbps: must be above 0, but is 0"),
    # other types
    ("duration_s = 200", "duration_s = 200\ntitle = 7", "title: must be text in quotes, but is 7"),
    ("max_thresh_packets = 26843", "max_thresh_packets = 26843, wait = 1", "bottleneck.aqm.wait: must be true or false, but is 1"),
    ("[7, 8, 9]", '"7"', 'flows.vegas.base_rtt_ms: must be a number or a list, but is "7"'),
    ("[7, 8, 9]", "[7, 8, false]", "flows.vegas.base_rtt_ms[2]: must be a number, but is false"),
    ("[7, 8, 9]", "[7, 0, 9]", "flows.vegas.base_rtt_ms[1]: must be above 0, but is 0"),
    ("[7, 8, 9]", "[7, 8]", "flows.vegas.base_rtt_ms: must be one value, or 3 values, but is 2 values"),
    ("{ spread_s = 0.1 }", '"random"', 'flows.vegas.start_s: must be a number or a list or a table, but is "random"'),
    ("{ spread_s = 0.1 }", "{ spread_s = -1 }", "flows.vegas.start_s.spread_s: must be at least 0, but is -1"),
    ("{ spread_s = 0.1 }", "{ spread = 1 }", "flows.vegas.start_s.spread: unknown key; did you mean spread_s? (and 1 more error)"),
    ("{ spread_s = 0.1 }", "200", "flows.vegas.start_s: must be below the simulated time (200 s), but is 200"),
    ("{ spread_s = 0.1 }", "[0, 1, 300]", "flows.vegas.start_s[2]: must be below the simulated time (200 s), but is 300"),
    ("{ spread_s = 0.1 }", "[0, 1, 2, 3]", "flows.vegas.start_s: must be one value, or 3 values, but is 4 values"),
    ("access_delay_ms = 1", 'access_delay_ms = 1\npath = "bottleneck"', 'flows.reno.path: must be a list, but is "bottleneck"'),
    ("access_delay_ms = 1", 'access_delay_ms = 1\ndirection = "up"', 'flows.reno.direction: must be one of forward, reverse, but is "up"'),
    # tables that choose a law or a kind
    ('law = { name = "reno" }', 'law = "reno"', f'flows.reno.law: must be a table such as {{ name = "{LAWS.split(", ")[0]}" }}, but is "reno"'),
    ('law = { name = "reno" }', "law = {}", f"flows.reno.law.name: must be one of {LAWS}, but is missing"),
    ('law = { name = "reno" }', 'law = { name = "tahoe" }', f'flows.reno.law.name: must be one of {LAWS}, but is "tahoe"'),
    ('law = { name = "reno" }', 'law = { name = ["reno"] }', f"flows.reno.law.name: must be one of {LAWS}, but is a list"),
    ('law = { name = "reno" }', "", "flows.reno.law: must be given, but is missing"),
    ('name = "red"', 'name = "cake"', f'bottleneck.aqm.name: must be one of {", ".join(sorted(queue_disciplines()))}, but is "cake"'),
    ('name = "red"', 'law = "red"', 'bottleneck.aqm.law: must be called name now, but is law'),
    ('name = "cbr"', 'kind = "cbr"', 'flows.vegas.traffic.kind: must be called name now, but is kind'),
    ('name = "cbr"', 'name = "tbr"', 'flows.vegas.traffic.name: must be one of bulk, cbr, on_off, poisson, sessions, but is "tbr"'),
    ('name = "cbr", rate_mbps = 10', 'name = "on_off", times = "weibull", on_ms = 5, off_ms = 5, rate_mbps = 1', 'flows.vegas.traffic.times: must be one of pareto, exponential, but is "weibull"'),
    ("beta_packets = 3", 'beta_packets = 3, dialect = "bsd"', f'flows.vegas.law.dialect: must be one of {", ".join(DIALECTS)}, but is "bsd"'),
    # keys
    ("capacity_mbps = 155", "capacity = 155", "bottleneck.capacity: unknown key; did you mean capacity_mbps? (and 1 more error)"),
    ("beta_packets = 3", "beta_packets = 3, delta_packets = 2", "flows.vegas.law.delta_packets: unknown key; did you mean beta_packets?"),
    ('law = { name = "reno" }', 'law = { name = "reno", zzz = 1 }', "flows.reno.law.zzz: unknown key; known are recovery, byte_counting, validates, name"),
    ("[bottleneck]", "[bottelneck]", "bottelneck: unknown key; did you mean bottleneck?"),
    ("[flows.vegas]", '[flows."odd name"]\nwindow = 1', 'flows."odd name".window: unknown key; did you mean max_window_packets?'),
    ("duration_s = 200", "", "duration_s: must be given, but is missing"),
    ("count = 3\naccess", "access", "flows.reno.count: must be given, but is missing"),
    # combinations
    ("alpha_packets = 1", "alpha_packets = 4.50", "flows.vegas.law.alpha_packets: must be at most beta_packets (3), but is 4.50"),
    ("alpha_packets = 1, beta_packets = 3", "beta_packets = 0.5", "flows.vegas.law.alpha_packets: must be at most beta_packets (0.5), but is 1 (the default)"),
    ("alpha_packets = 1, beta_packets = 3", "alpha_packets = 5", "flows.vegas.law.alpha_packets: must be at most beta_packets (3), but is 5"),
    ("alpha_packets = 1", 'alpha_packets = 1.5, dialect = "linux"', "flows.vegas.law.alpha_packets: must be a whole number in the dialect linux, but is 1.5"),
    ("min_thresh_packets = 6711", "min_thresh_packets = 26843", "bottleneck.aqm.min_thresh_packets: must be below max_thresh_packets (26843), but is 26843"),
    ("max_thresh_packets = 26843", "max_thresh_packets = 26843, ecn = 1", "bottleneck.aqm.ecn: must be true or false, but is 1"),
    ("max_thresh_packets = 26843", "max_thresh_packets = 26843, adaptive = 1", "bottleneck.aqm.adaptive: must be true or false, but is 1"),
    ("access_delay_ms = 1", "access_delay_ms = 1\nbase_rtt_ms = 7", "flows.reno.base_rtt_ms: must be left out where access_delay_ms is given, but is 7"),
    ("access_delay_ms = 1", "", "flows.reno.base_rtt_ms: must be given, or else access_delay_ms, but is missing"),
    ("warmup_s = 50", "warmup_s = 200.5", "warmup_s: must be below duration_s (200), but is 200.5"),
    ("[bottleneck]", "[links.a]\ncapacity_mbps = 1\nbuffer_packets = 1\n[bottleneck]", "links: must be left out if bottleneck is given, but is a table"),
    ("access_delay_ms = 1", 'access_delay_ms = 1\npath = ["bottleneck", "up"]', 'flows.reno.path[1]: must be one of bottleneck, but is "up"'),
]  # fmt: skip

CASES_OF_LINKS = [
    ('path = ["up"]', "", "flows.reno.path: must be given where there are several links, but is missing"),
    ('path = ["up"]', 'path = ["up", "dwon"]', 'flows.reno.path[1]: must be one of up, down, but is "dwon"'),
    ("[links.down]", "[links.down]\nspeed = 1", "links.down.speed: unknown key; known are capacity_mbps, buffer_packets, aqm, delay_ms, jitter_ms, jitter_reorders"),
    ("link = \"access\"", "link = \"side\"", 'events[0].link: must be access or one of up, down, but is "side"'),
    ("flows = \"reno\"", "flows = \"vegas\"", 'events[0].flows: must be one of reno, but is "vegas"'),
    ("at_s = 5", "at_s = -5", "events[0].at_s: must be at least 0, but is -5"),
    ("at_s = 5\n", "", "events[0].at_s: must be given, but is missing"),
    ("delay_ms = 9\n", "delay_ms = 9\n" + EVENT.replace("5", "4.5"), "events[1].at_s: must be at least 5, the time of the previous event, but is 4.5"),
    ("[[events]]", "[events]", "events: must be a list, but is a table"),
    ("buffer_packets = 9\n[links.down]", "buffer_packets = 9\ndelay_ms = 4\n[links.down]", "flows.reno.base_rtt_ms: must be at least twice the delay of its links (0.008 s), but is 7"),
    ("path = [\"up\"]", "path = [\"up\"]\ntraffic = { name = \"on_off\", on_ms = 5, off_ms = 5, rate_mbps = 1, mean_gap_s = 1 }", "flows.reno.traffic.mean_size_mb: must be given with mean_gap_s, but is missing"),
    ('law = { name = "reno" }', 'law = { name = "udp" }', "flows.reno.traffic: must be other than bulk with the law udp, but is bulk"),
]  # fmt: skip


def error_of(text: str) -> str:
    """The message without the number of the line, which other tests look at."""
    with pytest.raises(ModelFileError) as error:
        loads(text, "a.toml")
    return re.sub(r"^a\.toml: line \d+: (?!must)", "a.toml: ", str(error.value))


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(("old", "new", "line"), CASES, ids=[line for _, _, line in CASES])
def test_one_line_for(old: str, new: str, line: str) -> None:
    assert error_of(changed(GOOD, old, new)) == f"a.toml: {line}"


@pytest.mark.parametrize(("old", "new", "line"), CASES_OF_LINKS)
def test_one_line_for_links_and_events(old: str, new: str, line: str) -> None:
    assert error_of(changed(SEVERAL_LINKS + EVENT, old, new)) == f"a.toml: {line}"


def test_one_line_for_a_way_that_becomes_shorter_than_its_links() -> None:
    text = (SEVERAL_LINKS + EVENT).replace("mbps = 1\n", "mbps = 1\ndelay_ms = 3\n", 1)
    assert loads(text).network.events[0].delay == 0.009
    line = "a.toml: events[0].delay_ms: must be at least twice the delay of its links (0.006 s), but is 5"
    assert error_of(changed(text, "delay_ms = 9", "delay_ms = 5")) == line


def test_the_text_that_the_cases_change_is_good() -> None:
    assert loads(GOOD).network.flows["vegas"].count == 3
    assert loads(SEVERAL_LINKS + EVENT).network.events[0].delay == 0.009


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "duration_s: must be given, but is missing (and 1 more error)"),
        (
            "duration_s = 1\n[flows.a]\ncount = 1\nbase_rtt_ms = 1\nlaw.name = 'reno'",
            "bottleneck: must be given, unless links is, but is missing",
        ),
        ("duration_s = 1\nflows = 3", "flows: must be a table, but is 3"),
        ("duration_s = 1\nbottleneck = 3\nflows = {}", "bottleneck: must be a table, but is 3"),
        ("duration_s = 1\nflows = {}\nlinks = {}", "links: must be at least one link, but is none"),
        (
            "duration_s = 1\nflows = {}\nlinks.a = { capacity_mbps = 1, buffer_packets = 1 }",
            "flows: must be at least one class of flows, but is none",
        ),
        ("a = [1,\n2", "line 2, column 2: must be TOML, but is not: Unclosed array"),
        ("a = 1\nb == 2", "line 2, column 4: must be TOML, but is not: Invalid value"),
        ("a = 1\na = 2", "line 2, column 6: must be TOML, but is not: Cannot overwrite a value"),
        ("a = " + 50000 * "[", "must be TOML, but is nested too deeply"),
    ],
)
def test_one_line_for_a_whole_text(text: str, line: str) -> None:
    assert error_of(text) == f"a.toml: {line}"


@pytest.mark.parametrize(
    "key", ["a" + 400_000 * ".a", "[" + 100_000 * '"a,b" . ' + "a]", 90 * "1."]
)
def test_keys_of_very_many_parts_are_rejected_before_they_take_memory(key: str) -> None:
    assert error_of(f"duration_s = 1\n{key} = 1") == (
        "a.toml: line 2: must have keys of at most 50 parts, but has more"
    )


def test_many_points_of_numbers_and_in_comments_are_no_keys() -> None:
    many = ", ".join(200 * ["7.5"])
    text = f"# {200 * '.'}\n" + GOOD.replace("[7, 8, 9]", f"[{many}]")
    line = "a.toml: flows.vegas.base_rtt_ms: must be one value, or 3 values, but is 200 values"
    assert error_of(text) == line


def test_an_integer_of_too_many_digits_is_one_line() -> None:
    line = error_of("duration_s = " + 5000 * "9")
    assert line.startswith("a.toml: must have integers of at most 4300 digits, but has")


def test_a_hexadecimal_integer_of_any_size_is_one_line() -> None:
    text = GOOD.replace("duration_s = 200", "duration_s = 0x" + 9000 * "f")
    assert error_of(text) == "a.toml: duration_s: must be a finite number, but is a huge number"


def test_a_packet_of_any_size_is_no_failure() -> None:
    text = "packet_bytes = 0x" + 500 * "f" + GOOD.replace("155", "-1", 1)
    line = "a.toml: bottleneck.capacity_mbps: must be above 0, but is -1 (and 1 more error)"
    assert error_of(text) == line


def test_several_errors_are_counted_and_kept() -> None:
    text = GOOD.replace("capacity_mbps = 155", "capacity_mbps = -1").replace(
        "count = 3", "count = 0"
    )
    with pytest.raises(ModelFileError) as error:
        loads(text, "a.toml")
    assert error.value.lines == (
        "a.toml: line 6: bottleneck.capacity_mbps: must be above 0, but is -1",
        "a.toml: line 12: flows.reno.count: must be at least 1, but is 0",
        "a.toml: line 17: flows.vegas.count: must be at least 1, but is 0",
    )
    assert str(error.value) == error.value.lines[0] + " (and 2 more errors)"


def test_names_cannot_break_the_line_or_act_on_a_terminal() -> None:
    text = GOOD.replace("[flows.reno]", '[flows."a\\nb\\u001b[2J\\u2028"]\nzap = 1')
    line = error_of(text)
    assert line.isprintable()
    assert line.startswith(r'a.toml: flows."a\nb\u001b[2J\u2028".zap: unknown key;')


def test_long_texts_are_shortened() -> None:
    line = error_of(GOOD.replace('"reno"', '"' + 10000 * "x" + '"'))
    assert len(line) < 200
    assert len(error_of(GOOD + "y" * 10000 + " = 1")) < 400


def test_expressions_are_text_like_any_other() -> None:
    line = error_of(GOOD.replace("capacity_mbps = 155", "capacity_mbps = \"__import__('os')\""))
    assert line.endswith("must be a number, but is \"__import__('os')\"")


def error_of_file(path: Path | str) -> str:
    with pytest.raises(ModelFileError) as error:
        load(path)
    return str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert error_of_file(path) == f"{path}: must be a model file, but there is no such file"


def test_a_folder(tmp_path: Path) -> None:
    assert error_of_file(tmp_path) == f"{tmp_path}: must be a model file, but is a folder"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert error_of_file(path) == f"{path}: must be a regular file, but is a device or a pipe"


def test_a_file_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    path = tmp_path / "a" / "b.toml"
    assert error_of_file(path) == f"{path}: must be a readable file, but is not: not a directory"


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Path) -> bytes:  # root, as in a container, could read the file itself
        raise PermissionError(13, "Permission denied", str(path))

    path = tmp_path / "a.toml"
    path.write_text(GOOD)
    monkeypatch.setattr(Path, "read_bytes", deny)
    assert error_of_file(path) == (
        f"{path}: must be a readable file, but is not: permission denied"
    )


def test_a_name_that_no_file_has() -> None:
    assert error_of_file("a\0b") == r"a\x00b: must be a file name, but contains a NUL character"
    assert error_of_file("x" * 5000).endswith("is not: file name too long")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"title = '\xff'")
    assert error_of_file(path) == f"{path}: must be UTF-8 text, but byte 10 is not"


def test_a_huge_file_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert error_of_file(path) == f"{path}: must be at most 1000000 bytes, but is 100000000 bytes"
    grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kilobytes < 50_000


def test_the_file_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.toml").write_text(GOOD.replace("155", "-155", 1))
    monkeypatch.chdir(tmp_path)
    assert error_of_file("./b.toml") == (
        "./b.toml: line 6: bottleneck.capacity_mbps: must be above 0, but is -155"
    )
