"""The pages as their reader would follow them: every block of code is run, read or looked up.

`Reader(page, folder).follow()` goes through a page from top to bottom in a separate folder, in
which `network.toml` ("your network") and a copy of `models/` lie; `look()` runs nothing, but sees
that code compiles, that models can be read, and that commands and their options exist.

- `python` blocks run one after another, with the same names. One with a file for its caption is
  written there, and can be imported as a part of the package.
- `sh` blocks: lines that begin with `vegasfluid` run in this process and have to end well, or with
  the status that a comment states (`# exit status 3`); what else a reader may type (`KNOWN`) is not
  run, but what it names has to be there.
- `crosscheck` runs if its references are here, and may end with status 3; otherwise its options are
  looked up, and the `text` behind it must have the form of what it prints.
- `explore` runs until Ctrl-C, and `init` asks: only their options are looked up.
- `text` blocks are what the command before them prints.
- `console` blocks are typed on other machines; the programs must be known.
- `toml` blocks are models, or parts of one, and are read; `json` blocks are parsed.
- Directives of the site (`DIRECTIVES`) are the site's business; anything else is an error.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
import yaml
from markdown_it import MarkdownIt

from tests.docs.other_machines import check_form, crosscheck_here, programs_are_known
from tests.docs.shell_programs import KNOWN
from tests.paths import ROOT
from vegasfluid import modelfile
from vegasfluid.cli.app import run_app

__all__ = ["DIRECTIVES", "NETWORK", "Block", "Reader", "blocks"]

DIRECTIVES = {
    "{agreement}",
    "{benchmarks}",
    "{citation}",
    "{command-options}",
    "{explorer}",
    "{gallery}",
    "{glossary}",
    "{notebooks}",
    "{paper-table}",
    "{references}",
    "{toctree}",
    "{work-precision}",
}
TIMING = re.compile(r"^\d+(\.\d+)? s\b")
OWN = ("network.toml", "mine.toml")
"""What pages call such a file."""
MEASUREMENTS = {
    "ss.txt": "droptail_ss.txt",
    "tc.txt": "droptail_tc.txt",
    "before.txt": "vegas_before_ss.txt",
    "after.txt": "vegas_after_ss.txt",
    "iperf-3.0.11.json": "iperf-3.0.11.json",
}
"""What pages call measurements of a reader, and the files in `tests/observe/data` that they are."""
PUBLIC = ROOT / "tests" / "observe" / "data" / "public"
MEASUREMENTS |= {file.name: f"public/{file.name}" for file in PUBLIC.glob("*_*")}


class Block(NamedTuple):
    """A block of code.

    Args:
        kind: the language, or a directive in braces.
        caption: the file that it is, where it states this.
        text: what it holds.
        before: the paragraph before it.
        line: where it stands.
    """

    kind: str
    caption: str
    text: str
    before: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page; an indented one has no kind."""
    before = ""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text()):
        if token.type == "inline":
            before = token.content
        if token.type not in ("fence", "code_block"):
            continue
        words = token.info.split()
        caption, text = "", token.content
        if words[:1] == ["{code-block}"]:
            option, _, text = text.partition("\n\n")
            caption, words = option.removeprefix(":caption:").strip(), words[1:]
        yield Block(words[0] if words else "", caption, text, before, (token.map or [0])[0] + 1)


def typed(text: str) -> list[list[str]]:
    """The lines of a `sh` block as words, without comments."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


STATUS = re.compile(r"# exit status (\d+)$")
"""A comment with the exit status of the command before it."""


def statuses(text: str) -> list[int | None]:
    """The exit status that is stated for each line of a `sh` block; None: it has to end well."""
    lines = text.replace("\\\n", " ").splitlines()
    found = [STATUS.search(line.rstrip()) for line in lines if shlex.split(line, comments=True)]
    return [int(each[1]) if each else None for each in found]


def on_a_cluster(words: list[str]) -> list[str] | None:
    """A command behind a scheduler (`srun ... vegasfluid ...`), or None."""
    return words[words.index("vegasfluid") :] if words[0] == "srun" else None


def demo() -> list[list[str]]:
    """What `make demo` runs."""
    (recipe,) = re.findall(r"^demo:.*\n\t\$\(BIN\)/(.*)", (ROOT / "Makefile").read_text(), re.M)
    return [shlex.split(recipe)]


def squeezed(text: str) -> str:
    """Text with one space wherever there is white space, so that line breaks do not matter."""
    return " ".join(text.split())


def beginners_model() -> str:
    """The model that the first page has its reader write."""
    return next(block.text for block in blocks(ROOT / "docs" / "start.md") if block.kind == "toml")


NETWORK = beginners_model()
"""What a reader's own file holds."""


class Reader:
    """Someone who follows a page.

    Args:
        page: the page.
        folder: where to.
    """

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed: str | None = ""
        for own in OWN:
            (folder / own).write_text(NETWORK)
        (folder / "models").symlink_to(ROOT / "models")
        for own, data in MEASUREMENTS.items():
            (folder / own).symlink_to(ROOT / "tests" / "observe" / "data" / data)

    def follow(self) -> None:
        """Go through the page."""
        for block in blocks(self.page):
            with self.where(block):
                self.follow_one(block)

    def look(self) -> None:
        """Go through the page without running anything."""
        for block in blocks(self.page):
            with self.where(block):
                if block.kind == "sh":
                    look_at_commands(block.text)
                elif block.kind == "python":
                    compile(block.text, str(self.page), "exec")
                elif block.kind == "toml":
                    self.read(block)
                elif block.kind == "json":
                    json.loads(block.text)
                elif block.kind == "yaml":
                    settings_are_known(yaml.safe_load(block.text))
                elif block.kind == "console":
                    programs_are_known(block.text)
                else:
                    assert block.kind == "text" or block.kind in DIRECTIVES, unknown(block)

    @contextlib.contextmanager
    def where(self, block: Block) -> Iterator[None]:
        """Add the page and the line to an error."""
        try:
            yield
        except BaseException as wrong:
            wrong.add_note(f"{self.page.relative_to(ROOT)}, line {block.line}")
            raise

    def follow_one(self, block: Block) -> None:
        """One block."""
        if block.kind == "sh":
            self.type(block.text)
        elif block.kind == "text":
            self.compare(block.text)
        elif block.kind == "python":
            self.run(block)
        elif block.kind == "toml":
            self.read(block)
        elif block.kind == "json":
            json.loads(block.text)
        elif block.kind == "yaml":
            settings_are_known(yaml.safe_load(block.text))
        elif block.kind == "console":
            programs_are_known(block.text)
        else:
            assert block.kind in DIRECTIVES, unknown(block)

    def run(self, block: Block) -> None:
        """Python: at once, or into a file that can be imported."""
        if not block.caption:
            exec(compile(block.text, str(self.page), "exec"), self.names)
            return
        path = self.folder / block.caption
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        package = importlib.import_module(".".join(Path(block.caption).parts[:-1]))
        package.__path__.append(str(path.parent))  # as if it lay in the package
        for found in vars(package).values():
            if hasattr(found, "cache_clear"):  # looks for the package's files anew
                found.cache_clear()

    def type(self, text: str) -> None:
        """The lines of a shell."""
        for words, status in zip(typed(text), statuses(text), strict=True):
            program = Path(words[0]).name
            behind = on_a_cluster(words)
            if behind is not None:
                options_are_known(behind)
            elif program == "vegasfluid":
                self.command(words[1:], status)
            else:
                assert program in KNOWN, f"a command that nothing is done with: {program}"
                KNOWN[program]([program, *words[1:]])
                if words == ["make", "demo"]:
                    self.command(demo()[0][1:])

    def command(self, arguments: list[str], stated: int | None = None) -> None:
        """A command of ours; `stated`: its exit status, if the page gives one.

        Then what it prints includes the message of an error.
        """
        as_typed = " ".join(arguments)
        if arguments[0] in ("explore", "init"):  # until Ctrl-C, and with answers
            options_are_known(["vegasfluid", *arguments])
            self.printed = None
            return
        if arguments[0] == "crosscheck":
            arguments = crosscheck_here(arguments)
            if not arguments:
                options_are_known(["vegasfluid", *shlex.split(as_typed)])
                self.printed = None
                return
        copied = self.folder / arguments[-1] if arguments[0] == "models" else None
        if copied and copied.name in OWN:
            copied.unlink()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.ExitStack() as stack:
            if stated is not None:
                stack.enter_context(contextlib.redirect_stderr(out))
            status = run_app(arguments)
        allowed = (0, 3) if arguments[0] == "crosscheck" else (stated or 0,)
        assert status in allowed, f"vegasfluid {as_typed}: exit {status}\n{out.getvalue()}"
        self.printed = out.getvalue()
        if copied and copied.name in OWN:  # made the reader's own: a network with short runs
            copied.write_text(NETWORK)

    def compare(self, text: str) -> None:
        """What is quoted, line by line and in order, with what was printed, but for times."""
        if self.printed is None:
            check_form(text)
            return
        printed, place = squeezed(self.printed), 0
        for line in filter(None, map(squeezed, text.splitlines())):
            if not TIMING.match(line):
                found = printed.find(line, place)
                assert found >= 0, f"not printed (any more): {line}\n{self.printed}"
                place = found + len(line)

    def read(self, block: Block) -> None:
        """A model, or a part of one, laid over `network.toml`."""
        given = tomllib.loads(block.text)
        if "duration_s" in given:
            modelfile.loads(block.text)
            if named := re.search(r"into `(\w+\.toml)`", block.before):
                (self.folder / named[1]).write_text(block.text)
            return
        if "law" in given:
            given = {"flows": {"vegas": given}}
        whole = merged(tomllib.loads(NETWORK), given)
        modelfile.loads(tomli_w.dumps(whole))


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Tables laid over tables; everything else is replaced."""
    both = {
        key: merged(base[key], value) if isinstance(value, dict) else value
        for key, value in over.items()
        if isinstance(base.get(key), dict)
    }
    return base | over | both


def unknown(block: Block) -> str:
    """What is wrong with a block that is of no use here."""
    return f"a block that nothing is done with: {block.kind or 'indented'}"


def settings_are_known(settings: dict[str, Any], above: str = "") -> None:
    """Settings of Dask, each of which has a default."""
    import dask.config
    import distributed  # noqa: F401 (adds its settings)

    for key, value in settings.items():
        if isinstance(value, dict):
            settings_are_known(value, f"{above}{key}.")
        else:
            dask.config.get(f"{above}{key}")


def look_at_commands(text: str) -> None:
    """The lines of a shell: what they name exists, and commands have the options that they get."""
    for words in typed(text):
        program = Path(words[0]).name
        behind = on_a_cluster(words) or (words if program == "vegasfluid" else None)
        if behind is not None:
            options_are_known(behind)
        else:
            assert program in KNOWN, f"a command that nothing is done with: {program}"
            KNOWN[program]([program, *words[1:]])


def options_are_known(words: list[str]) -> None:
    """Hold the options of a command that cannot run here against those that it has."""
    out = io.StringIO()
    command = [] if words[1].startswith("--") else [words[1]]
    with contextlib.redirect_stdout(out):
        assert run_app([*command, "--help"]) == 0, " ".join(words)
    for word in words[2:]:
        assert not word.startswith("--") or word in out.getvalue(), word


def main() -> None:
    """Follow pages in a separate process: `python -m tests.docs.pages FOLDER PAGE...`."""
    folder, *pages = map(Path, sys.argv[1:])
    for page in pages:
        own = folder / page.stem
        own.mkdir()
        with contextlib.chdir(own):
            Reader(page, own).follow()


if __name__ == "__main__":
    main()
