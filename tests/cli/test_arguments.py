"""Arguments, options and formats of every command: what is accepted is honoured, and what is not is refused."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints
from xml.etree import ElementTree

import pytest

from rocdoctor.cli import commands
from rocdoctor.cli.arguments import Named, Parser, options_of, places_in
from rocdoctor.cli.commands import COMMANDS, command
from rocdoctor.cli.main import run
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import write
from rocdoctor.host.live import silent_places
from rocdoctor.model.facts import ModeResult, SmokeRun
from rocdoctor.parsers.own.smoke_results import to_text
from rocdoctor.service.errors import UsageError
from rocdoctor.service.options import Format
from tests.fleet.kit import fleet_of
from tests.kit import ROOT

_FIXTURE = str(ROOT / "fixtures" / "rx6600.capture")
_FORMATS: tuple[Format, ...] = get_args(Format)
_PRINTING = [name for name in COMMANDS if command(name).FORMATS]
_MODEL = ("--gpus", "8xMI300X", "--model", "llama-3.1-8b")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Arguments with which each command succeeds, or finds something; one that is not named here takes ``--from``."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "log.txt").write_text("RuntimeError: HIP error: invalid device function\n")
    (folder / "run.sh").write_text("export AMD_SERIALIZE_KERNEL=3\n")
    (folder / "spec.json").write_text('{"model": "llama-3.2-1b", "gpu": "MI300X", "seq": 2048, "gpus": 1}')
    smoke = to_text([SmokeRun(2, "gloo", "cpu", "2.13.0", 1.0, (ModeResult("ddp", "pass", 0.1),))])
    (folder / "smoke.capture").write_text(write([Answer("smoke quick", "ok", smoke.encode())], {}))
    return {name: ["--from", _FIXTURE] for name in _PRINTING} | {
        "read": [str(folder / "log.txt")],
        "lint": ["--no-machine", str(folder / "run.sh")],
        "setup": ["--from", str(ROOT / "fixtures" / "cpu-only-laptop.capture")],  # with steps left, for any form
        "smoke": ["--from", str(folder / "smoke.capture")],
        "recommend": [*_MODEL],
        "estimate": [str(folder / "spec.json")],
        "emit": ["env", *_MODEL],
        "bundle": ["--from", _FIXTURE, "--show"],
        "diff": [_FIXTURE, _FIXTURE],
        "explain": ["gpu-without-driver"],
        "list": [],
        "fleet": ["judge", str(fleet_of(folder / "fleet"))],
        "gate": ["--record", str(folder / "none.json")],
    }


def _is_json(text: str) -> bool:
    try:
        return bool(str(json.loads(text)["schema"]).startswith("rocdoctor."))
    except (ValueError, KeyError, TypeError):
        return False


def _is_junit(text: str) -> bool:
    try:
        return ElementTree.fromstring(text).tag in ("testsuite", "testsuites")
    except ElementTree.ParseError:
        return False


def _is_sarif(text: str) -> bool:
    try:
        return bool(json.loads(text)["version"] == "2.1.0")
    except (ValueError, KeyError, TypeError):
        return False


def _is_markdown(text: str) -> bool:
    return re.search(r"^(?:#{1,3} |\*\*|\| --- \||```)", text, re.MULTILINE) is not None


_SIGNS: dict[str, Callable[[str], bool]] = {
    "json": _is_json,
    "junit": _is_junit,
    "sarif": _is_sarif,
    "ansible": lambda text: text.startswith("---\n") and "  hosts: rocdoctor" in text,
    "cloud-init": lambda text: text.startswith("#cloud-config\n"),
    "dockerfile": lambda text: "\nFROM " in text and text.startswith("# Setup for"),
}


def _form(text: str, may_be_markdown: bool = True) -> str:
    """The format of what was printed; a script or a bundle has lines that only look like markdown."""
    found = next((form for form, fits in _SIGNS.items() if fits(text)), "text" if text.strip() else "nothing")
    return "markdown" if found == "text" and may_be_markdown and _is_markdown(text) else found


def _refused(name: str, form: str, said: str) -> bool:
    return f"invalid choice: '{form}'" in said and all(one in said.partition("choose")[2] for one in _formats(name))


def _formats(name: str) -> tuple[Format, ...]:
    return command(name).FORMATS


@pytest.mark.parametrize("form", _FORMATS)
@pytest.mark.parametrize("name", _PRINTING)
def test_a_format_is_honoured_or_refused(
    name: str, form: Format, inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    status = run([name, *inputs[name], "--format", form])
    out, err = capsys.readouterr()
    if form in _formats(name):
        assert status in (0, 1), err
        assert _form(out, "markdown" in _formats(name)) == form
    else:
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert _refused(name, form, err)


@pytest.mark.parametrize("name", _PRINTING)
def test_json_is_short_for_the_format(
    name: str, inputs: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    status = run([name, *inputs[name], "--json"])
    out, err = capsys.readouterr()
    assert _form(out) == "json" if "json" in _formats(name) else (status, _refused(name, "json", err)) == (2, True)
    assert run([name, *inputs[name], "--format", "text", "--json"]) == (status if "json" in _formats(name) else 2)
    assert "json" not in _formats(name) or _form(capsys.readouterr().out) == "text", "--format decides"


def test_the_list_of_modes_has_the_format_too(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json", "markdown"):
        assert run(["smoke", "--list", "--format", form]) == 0
        out = capsys.readouterr().out
        assert _form(out) == form
        assert "ddp" in out
    assert run(["smoke", "--list", "--format", "junit"]) == 2
    assert "--list prints text, json or markdown" in capsys.readouterr().err


def test_what_a_mode_shows_has_the_format_too(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json", "markdown"):
        assert run(["smoke", "--explain", "ddp", "--format", form]) == 0
        out = capsys.readouterr().out
        assert _form(out) == form
        assert "double precision" in " ".join(out.split())
    assert run(["smoke", "--explain", "--format", "junit"]) == 2
    assert "--explain prints text, json or markdown" in capsys.readouterr().err


def test_over_nodes_a_format_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smoke", "--nnodes", "2", "--format", "junit"]) == 2
    assert capsys.readouterr().err == "rocdoctor: --nnodes prints text, json or markdown, not junit\n"


def test_the_screens_have_no_format() -> None:
    with pytest.raises(UsageError, match="unrecognized arguments: --json"):
        options_of("tui", command("tui"), ["--json"])


# -- arguments and options


def _actions(name: str) -> list[argparse.Action]:
    parser = Parser(argument_default=argparse.SUPPRESS)
    command(name).arguments(parser)
    return [one for one in parser._actions if one.dest != "help"]


_MADE = {
    "Named": str,
    "seconds": float,
    "percent": float,
    "when": int,
    "_pid": int,
    "whole_seconds": int,
    "how_many": int,
}


def _stored(action: argparse.Action) -> Any:
    """The type of what an argument stores, without None."""
    if action.choices is not None:
        return set(action.choices)
    if isinstance(action, argparse._StoreTrueAction):
        return bool
    if isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+") or isinstance(action.nargs, int):
        return tuple[str, ...]
    return _MADE.get(getattr(action.type, "__name__", ""), action.type) or str


def _declared(hint: Any) -> Any:
    kinds = [one for one in get_args(hint) if one is not NoneType] if NoneType in get_args(hint) else [hint]
    (kind,) = kinds
    return set(get_args(kind)) if get_origin(kind) is Literal else kind


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_an_option_of_its_type(name: str) -> None:
    options = command(name).Options
    hints, known = get_type_hints(options), {one.name: one for one in fields(options)}
    for action in _actions(name):
        stored, declared = _stored(action), _declared(hints[action.dest])
        assert stored <= declared if action.dest == "format" else stored == declared, action.dest
        required = action.required and action.nargs != "*"
        assert (known[action.dest].default is MISSING) == required, action.dest


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_can_be_given(name: str) -> None:
    given = {one.dest for one in _actions(name)}
    shared = {"format", "pid"}  # of all commands that print, or read evidence
    assert {one.name for one in fields(command(name).Options)} - given - shared == set()


def test_lists_are_tuples_and_what_is_not_given_has_its_default() -> None:
    from rocdoctor.cli.commands import lint, recommend

    options = options_of("lint", lint, ["a", "b", "--only", "x", "--only", "y"])
    assert (options.files, options.only, options.skip, options.fail_on) == (("a", "b"), ("x", "y"), (), "never")
    assert options_of("recommend", recommend, []) == recommend.Options()
    assert options_of("recommend", recommend, ["--glob", "8", "--js"]).global_batch == 8, "options can be abbreviated"


# -- the list of commands, and what a cold start loads


def test_the_list_has_every_command_with_its_own_words() -> None:
    folder = Path(str(commands.__file__)).parent
    own = {path.stem for path in folder.glob("*.py") if re.search("^HELP", path.read_text(), re.MULTILINE)}
    assert own == set(COMMANDS)
    assert {name: line.help for name, line in COMMANDS.items()} == {name: command(name).HELP for name in COMMANDS}


@pytest.mark.parametrize(
    ("arguments", "loaded"), [(["--version"], []), (["--help"], []), (["chek"], []), (["list", "--help"], ["list"])]
)
def test_a_cold_start_loads_no_other_command(arguments: list[str], loaded: list[str]) -> None:
    program = (
        "import sys\n"
        "from rocdoctor.cli.main import run\n"
        "try: run(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    modules = done.stderr.splitlines()
    assert "rocdoctor.cli.commands" in modules
    prefix = "rocdoctor.cli.commands."
    assert [one.removeprefix(prefix) for one in modules if one.startswith(prefix)] == loaded
    assert "rocdoctor.host.base" not in modules


# Files of other machines, or of the job to come; --python and --record have a deadline of their own.
_ELSEWHERE = {"--program", "--records", "--python", "--record", ("fleet", "--key"), ("emit", "--script")}
_NAMES_PLACE = re.compile(r"FILE|DIR|PATH|FOLDER|STORE|INPUT|MORE|\bA\b|\.yaml|\.json")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_argument_that_names_a_file_is_seen_to_answer(name: str) -> None:
    parser = Parser(argument_default=argparse.SUPPRESS)
    command(name).arguments(parser)
    for action in parser._actions:
        told = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar or ""
        written = action.option_strings[-1] if action.option_strings else action.dest
        if _NAMES_PLACE.search(told) and not {written, (name, written)} & _ELSEWHERE:
            assert action.type is Named, written


def test_a_place_that_gives_no_answer_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(silent_places, "silent_place", lambda names, _: next(iter(names)))
    assert run(["check", "--from", "/gone/a.txt"]) == 2
    assert "/gone/a.txt: no answer within 5 s" in capsys.readouterr().err


def test_what_is_no_file_is_not_looked_at() -> None:
    options = options_of("check", command("check"), ["--from", "-", "--add", "run dmesg=/a/b", "--timeout", "3"])
    assert places_in(options) == ["run dmesg=/a/b", "/a/b"]
