"""``python tools/new.py KIND NAME``: what a new check, parser, tool, command ... begins with, and its first test.

That test fails until the work is done: its TODOs are the list of what to write. Nothing is overwritten; rows that the
new thing needs in a table are added there. Needs the standard library alone.
"""

from __future__ import annotations

import argparse
import keyword
import re
import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]
SKELETONS = Path(__file__).with_name("skeletons")


_LINE = r"\s{0,12}TODO \S"


# What a fact can belong to: fields of Machine with their records.
_RECORDS = {"kernel": "Kernel", "later": "Later", "os": "OperatingSystem", "memory": "Memory", "user": "User"}
# The fact that the first test of an output looks at.
_FACTS = {
    "parser": 'collect(open_text(PASTED, "a test")).kernel.release  # TODO: the fact that it tells',
    "tool": 'collect(open_text(PASTED, "a test")).gpus[0].name',
}


class Refused(Exception):
    """Why nothing was written."""


@dataclass(frozen=True, slots=True)
class Row:
    """Text that is put into a file that exists: before the first ``end`` after the only ``start`` ("": at the end)."""

    path: str
    start: str
    end: str
    text: str


@dataclass(frozen=True, slots=True)
class Kind:
    """What a new thing of a kind is made of: skeletons and where they go, rows, and what to do next.

    In all texts ``$name`` is the name with underscores, ``$title`` with hyphens, ``$Class`` as a class; ``$hint`` and
    ``$line``, both in quotes, tell how an output is known in pasted text, ``$until`` where it ends. ``tests``: those
    that look at all things of this kind, beside its own; ``$record``, ``$Record`` and ``$table`` say where it belongs.
    """

    about: str
    files: Mapping[str, str]
    rows: tuple[Row, ...] = ()
    next: tuple[str, ...] = ()
    tests: str = ""
    own: str = ""  # the test that fails, where it is none of the files
    name: str = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*"


_MESSAGE = """\
- kind: $title
  means: 'TODO: what it means, in one sentence.'
  source: 'TODO: owner/repository, path and day of the line that prints it, and the day that you read it'
  verified: false
  texts:
  - find: 'TODO $title'
    match: 'TODO $title of (?P<what>\\S{1,40})'
    example: 'TODO $title of x'
  says:
  - cause: TODO
    confidence: possible
    text: 'TODO: what it points to, with its values ({what}).'
    fix: 'TODO: what to do'
    command: 'TODO'
  ask:
  - command: 'TODO'
    why: 'TODO: what tells its causes apart'
"""
_OUTPUT = Row(
    "rocdoctor/paste/output_kinds.py",
    "KINDS: tuple[OutputKind, ...] = (",
    "\n)",
    '\n    OutputKind(\n        "run $command",\n        ($hint,),\n        regex(r$line),$until\n    ),',
)

KINDS: Mapping[str, Kind] = {
    "check": Kind(
        "a judgement over facts",
        {"check": "checks/$name.py", "check_test": "tests/checks/test_$name.py"},
        next=(".venv/bin/python -m tools.docs checks",),
        tests="tests/golden tests/tui/findings tests/tools/test_docs_pages.py",
    ),
    "parser": Kind(
        "the output of a program, or a file, as values",
        {"parser": "rocdoctor/parsers/$room/$name.py", "parser_test": "tests/parsers/$room/test_$name.py"},
        (_OUTPUT,),
        ("in rocdoctor/collect/, the module of its subject: ask for it, and make facts of its values",),
        "tests/paste tests/patterns tests/parsers/test_every_parser.py tests/collect",
    ),
    "tool": Kind(
        "a program that tells of single GPUs: its parser, and its values joined with what others say of the same GPU",
        {
            "parser": "rocdoctor/parsers/$room/$name.py",
            "tool": "rocdoctor/collect/gpus/tools/$name.py",
            "parser_test": "tests/parsers/$room/test_$name.py",
        },
        (_OUTPUT,),
        tests="tests/paste tests/patterns tests/parsers/test_every_parser.py tests/collect",
    ),
    "fact": Kind(
        "a field of a record of the machine",
        {"fact_test": "tests/collect/test_$name.py"},
        (
            Row(
                "rocdoctor/model/facts/system.py",
                "class $Record:\n",
                "\n\n\n",
                "\n    $name: Fact[str] = NOT_ASKED  # TODO",
            ),
        ),
        (
            "in rocdoctor/collect/, the module of its record: ask for it, and give it its source",
            "what reads it: a check, a plan, or the summary of the machine",
            ".venv/bin/pytest -n0 --update-golden tests/golden, if a recorded machine tells it; look at all of it",
        ),
        "tests/collect tests/golden",
    ),
    "message": Kind(
        "a message of a program that the reader of reports should know",
        {"healthy": "tests/texts/healthy/$name.txt"},
        (Row("rocdoctor/knowledge/tables/messages_$table.yaml", "messages:\n", "", _MESSAGE),),
        ("docs/threads_read.txt: the public threads that you learned it from",),
        "tests/patterns tests/whole/test_healthy_texts.py",
        own="tests/knowledge/test_message_answers.py",
    ),
    "command": Kind(
        "what stands behind rocdoctor",
        {"command": "rocdoctor/cli/commands/$name.py", "command_test": "tests/cli/commands/test_$name.py"},
        (
            Row(
                "rocdoctor/cli/commands/__init__.py",
                "COMMANDS: Mapping[str, ListedCommand] = {",
                "\n}",
                '\n    "$name": ListedCommand("TODO: what it does, for rocdoctor --help", True),',
            ),
        ),
        (
            "README.md: its row in the table of commands",
            "tests/supply/test_no_network.py: its row (tests/cli/test_arguments.py: where --from is not enough)",
            "docs/schemas/$name.schema.json and its rows in tests/project/test_schemas.py, if it prints JSON",
        ),
        "tests/cli/test_arguments.py tests/supply/test_no_network.py",
        name=r"[a-z]+",
    ),
    "mode": Kind(
        "a smoke test",
        {
            "mode": "rocdoctor/train/smoke/worker/modes/$name.py",
            "mode_test": "tests/train/smoke/modes/test_$name.py",
        },
        next=(".venv/bin/python -m tools.docs smoke",),
        tests="tests/tui/smoke tests/train/smoke/worker tests/tools/test_docs_pages.py",
    ),
    "target": Kind(
        "files that emit writes",
        {"target": "rocdoctor/train/emit/targets/$name.py", "target_test": "tests/train/emit/targets/test_$name.py"},
        (
            Row(
                "rocdoctor/train/emit/targets/__init__.py",
                "TARGETS: Mapping[str, str] = {",
                "\n}",
                '\n    "$name": "TODO: what the files are",',
            ),
        ),
        (
            "a test marked reader in tests/train/emit/readers/",
            "README.md: the list of targets",
            ".venv/bin/pytest -n0 --update-golden tests/tui/recommend: the list of targets; look at the picture",
        ),
        "tests/train/emit tests/cli/commands/test_emit.py tests/tui/recommend",
        name=r"[a-z]+",
    ),
    "format": Kind(
        "a form of the report",
        {"format": "rocdoctor/report/diagnosis/$name.py", "format_test": "tests/report/diagnosis/test_$name.py"},
        (
            Row("rocdoctor/service/options.py", "Format = Literal[", "]", ', "$name"'),
            Row("rocdoctor/cli/commands/check.py", "FORMATS: tuple[Format, ...] = (", ")", ', "$name"'),
            Row(
                "rocdoctor/cli/commands/check.py",
                "def show(",
                "    else:\n",
                '    elif form == "$name":\n'
                "        from rocdoctor.report.diagnosis.$name import render as render_$name\n\n"
                "        output.show(render_$name(diagnosis))\n",
            ),
        ),
        (
            "FORMATS of the other commands that can print it",
            "tests/cli/test_arguments.py: in _SIGNS, what the form is known by",
            "tests/report/test_hostile_words.py: in _forms, so that it is given hostile words",
            "docs/stable.md: which page describes the form",
        ),
        "tests/cli/test_arguments.py tests/report",
        name=r"[a-z]+",
    ),
    "screen": Kind(
        "a screen",
        {
            "screen": "rocdoctor/tui/$name/screen.py",
            "screen_init": "rocdoctor/tui/$name/__init__.py",
            "screen_test": "tests/tui/$name/test_$name.py",
            "empty": "tests/tui/$name/__init__.py",
        },
        (
            Row(
                "rocdoctor/tui/areas.py",
                "AREAS = (",
                "\n)",
                '\n    Area("$name", "$Class", "$Class", "TODO: what it is for"),',
            ),
            Row("pyproject.toml", "packages = [", "\n]", '\n  "rocdoctor.tui.$name",'),
            Row("docs/screens.md", "# The screens", "", "\n## $key $Class\n\nTODO: what one sees and can do.\n"),
        ),
        (
            "tools/docs/pictures.py: its picture, then .venv/bin/python -m tools.docs pictures",
            ".venv/bin/pytest -n0 --update-golden tests/tui/test_app.py: the bar of all screens; look at the picture",
        ),
        "tests/tui",
        name=r"[a-z]+",
    ),
}


def planned(
    kind: str,
    name: str,
    room: str = "listings",
    command: str = "",
    hint: str = "TODO",
    line: str = _LINE,
    block: bool = False,
    table: str = "program_lines",
    record: str = "kernel",
) -> tuple[dict[Path, str], list[str]]:
    """(text by path of all files that are written or changed, what to do next); raises Refused."""
    of = KINDS[kind]
    plain = name.replace("-", "_")
    if not re.fullmatch(of.name, plain) or keyword.iskeyword(plain):
        raise Refused(f"'{name}' is no name for a {kind}: lower case, a letter first{_parts(of)}")
    if not re.fullmatch(r"[a-z_]+", table):
        raise Refused(f"'{table}' is no table of messages")
    if not re.fullmatch(r"[a-z]+", room):
        raise Refused(f"'{room}' is no folder below rocdoctor/parsers")
    if not re.fullmatch(r"[\w./ -]*", command, re.ASCII):
        raise Refused(f"'{command}' is no plain command")
    if not re.fullmatch(r"[^\\\n]+", hint) or not _quoted(hint):
        raise Refused("--hint is a word of the output, without backslashes, and with one kind of quotes at most")
    if not _is_pattern(line):
        raise Refused("--line is an expression with one kind of quotes at most")
    words = {
        "name": plain,
        "title": plain.replace("_", "-"),
        "Class": "".join(map(str.capitalize, plain.split("_"))),
        "room": room,
        "command": command or plain.replace("_", "-"),
        "program": (command or plain.replace("_", "-")).split()[0].rsplit("/", 1)[-1],
        "fact": _FACTS.get(kind, ""),
        "hint": _quoted(hint),
        "line": _quoted(line),
        "until": "\n        until=_NEVER,\n        before=1," if block else "",
        "key": _next_key(),
        "table": table,
        "record": record,
        "Record": _RECORDS[record],
    }
    texts: dict[Path, str] = {}
    for skeleton, where in of.files.items():
        path = ROOT / Template(where).substitute(words)
        if path.exists():
            raise Refused(f"{path.relative_to(ROOT)} exists")
        if kind != "screen" and not path.parent.is_dir():  # a screen brings its own folder
            raise Refused(f"there is no folder {path.parent.relative_to(ROOT)}")
        texts[path] = Template((SKELETONS / f"{skeleton}.txt").read_text(encoding="utf-8")).substitute(words)
    for row in of.rows:
        path = ROOT / Template(row.path).substitute(words)
        if not path.is_file():
            raise Refused(f"there is no {path.relative_to(ROOT)}")
        texts[path] = _with_row(texts.get(path, path.read_text(encoding="utf-8")), row, words)
    made = [path for skeleton, path in zip(of.files, texts, strict=False) if skeleton.endswith("_test")]
    test = of.own or made[0].relative_to(ROOT)
    todo = f".venv/bin/pytest -n0 {test}: it fails; its TODOs and those of the code say what to write"
    steps = [todo, *(Template(one).substitute(words) for one in of.next)]
    if kind == "check" and (lost := _without_area(words["title"])):
        steps.append(lost)
    steps.append(f".venv/bin/pytest {of.tests} tests/project: they look at all of its kind")
    return texts, steps


def _without_area(title: str) -> str:
    """What to do about a name that no area of the findings screen knows a word of, "" where one does."""
    parts = runpy.run_path(str(ROOT / "rocdoctor" / "tui" / "findings" / "machine_parts.py"))
    if parts["area_of"](title) != parts["OTHER"]:
        return ""
    return "rocdoctor/tui/findings/machine_parts.py: a word of its name at its area, unless its cause has one"


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return bool(_quoted(text)) and text.isprintable() and not text.endswith("\\")


def _quoted(text: str) -> str:
    """The text between the quotes that it does not hold, "" where it holds both."""
    return next((f"{one}{text}{one}" for one in ('"', "'") if one not in text), "")


def _parts(of: Kind) -> str:
    return ", parts joined by hyphens or underscores" if "_" in of.name else ", one word"


def _next_key() -> str:
    """The key of the next screen: the tenth has 0."""
    areas = (ROOT / "rocdoctor" / "tui" / "areas.py").read_text(encoding="utf-8")
    return str((areas.count("\n    Area(") + 1) % 10)


def _with_row(text: str, row: Row, words: Mapping[str, str]) -> str:
    added, start = Template(row.text).substitute(words), Template(row.start).substitute(words)
    if text.count(start) != 1:
        raise Refused(f"{row.path} has no single '{start}': this tool must learn where the row goes now")
    if not row.end:
        return text + added
    at = text.find(row.end, text.index(start) + len(start))
    if at < 0:
        raise Refused(f"{row.path}: nothing ends what begins with '{start}'")
    return text[:at] + added + text[at:]


def main(arguments: list[str]) -> int:
    """Write the files and say which, and what to do next; 2 where nothing was written."""
    parser = argparse.ArgumentParser(prog="tools/new.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=KINDS, help="; ".join(f"{name}: {kind.about}" for name, kind in KINDS.items()))
    parser.add_argument("name", metavar="NAME", help="pcie-link-narrow or pcie_link_narrow")
    parser.add_argument(
        "--room", default="listings", help="of a parser or tool: the folder below rocdoctor/parsers (listings)"
    )
    parser.add_argument(
        "--command", default="", help="of a parser or tool: the command whose output it reads (its name)"
    )
    parser.add_argument("--hint", default="TODO", help="of a parser or tool: a word that stands in each such output")
    parser.add_argument(
        "--line", default=_LINE, help="of a parser or tool: an expression for a line of the output, from its start"
    )
    parser.add_argument(
        "--block",
        action="store_true",
        help="of a parser or tool: what follows such a line belongs to it, however it looks, and a bracket above",
    )
    parser.add_argument(
        "--table",
        default="program_lines",
        help="of a message: that of its program, messages_TABLE.yaml (program_lines)",
    )
    parser.add_argument("--record", default="kernel", choices=_RECORDS, help="of a fact: whose it is (kernel)")
    options = parser.parse_args(arguments)
    try:
        texts, steps = planned(**vars(options))
    except Refused as why:
        print(f"tools/new.py: {why}", file=sys.stderr)
        return 2
    for path, text in texts.items():
        word = "changed" if path.exists() else "wrote"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{word:<7}  {path.relative_to(ROOT)}")
    for step in steps:
        print(f"next     {step}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
