"""One file read for both judgements of the linter: the variables that it sets, and the advice that it follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rocdoctor.knowledge.messages.advice import PREFIX, all_advice
from rocdoctor.lint.advice.file_parts import parts_kind
from rocdoctor.lint.advice.file_rules import hits as hits_of_file
from rocdoctor.lint.advice.findings import Hit, verdicts_of
from rocdoctor.lint.config.manifests import unreadable
from rocdoctor.lint.config.trees import MAX_TEXT
from rocdoctor.lint.env_files import kind_of, read_sheet
from rocdoctor.lint.python.env_settings import commands_of, sheet_of
from rocdoctor.lint.python.rules import hits_in, index_of
from rocdoctor.lint.python.source import is_python, read_python, worth_reading
from rocdoctor.model.finding import Verdict
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.subject import Subject
from rocdoctor.parsers.shell.lexer import OPEN
from rocdoctor.parsers.shell.settings import Sheet

_IMPORT = regex(r"(?m)^(?:import|from) [A-Za-z_.]+(?: import .*|\s*)$")
_MAX_COMMAND = 4000


MOST_COMMANDS = 512 * 1024  # characters; a few seconds at worst


@dataclass(frozen=True, slots=True)
class Advised:
    """A file that was read: its settings, if it may set any, and a verdict for each place that follows advice."""

    path: str
    sheet: Sheet | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    text: str = ""  # kept where findings may quote it


def is_read(path: str) -> bool:
    """Whether a file of this name is read; in a folder nothing else tells."""
    return path.lower().endswith((".py", ".ipynb")) or parts_kind(path, "") is not None or kind_of(path, "") is not None


def bounded(path: str, text: str) -> str:
    """The text as far as it is judged: each command costs all rules, so scripts and lists of packages have a limit.

    Python, YAML and JSON stay whole: they mean nothing without their end.
    """
    if (
        len(text) <= MOST_COMMANDS
        or is_python(path, text)
        or path.lower().endswith((".yaml", ".yml", ".json", ".ipynb"))
    ):
        return text
    return text[: text.rfind("\n", 0, MOST_COMMANDS) + 1 or MOST_COMMANDS]


def read_advised(path: str, text: str, *, piped: bool = False) -> Advised | None:
    """What a file sets and follows, or None where it is of no kind that is read, or cannot be parsed.

    ``piped``: the text has no name that tells its kind.
    """
    if is_python(path, text) or (piped and kind_of(path, text) is None and _IMPORT.search(text[:65536])):
        return _python(path, text)
    sheet = read_sheet(path, text)
    if sheet is None and parts_kind(path, text) is None:
        return None
    try:
        verdicts = verdicts_of(path, hits_of_file(path, text))
        if not verdicts and (sheet is None or not sheet.settings) and not_understood(path, text):
            return None
        return Advised(path, sheet, verdicts, text)
    except Exception as problem:  # one file that a rule fails on never stops the others
        return Advised(path, sheet, [_crashed(path, problem)])


def not_understood(path: str, text: str) -> str:
    """Why a file of a kind that is read tells nothing, in words; "" where that is not so."""
    low = path.lower()
    if is_python(path, text):
        return "not valid Python 3"
    if low.endswith(".json") and len(text) > MAX_TEXT:
        return f"longer than {MAX_TEXT} characters"
    if low.endswith((".yaml", ".yml", ".json")) and unreadable(text):
        return "not valid JSON" if low.endswith(".json") else "not valid YAML"
    return ""


def wanted(verdicts: Iterable[Verdict], only: Iterable[str], skip: Iterable[str]) -> list[Verdict]:
    """Verdicts whose names are asked for; ``advice`` alone stands for all of them."""
    names, unwanted = set(only), set(skip)
    if "advice" in unwanted:
        return []
    every = not names or "advice" in names
    return [one for one in verdicts if (every or one.check in names) and one.check not in unwanted]


def unsaid(told: Iterable[Verdict], judged: Iterable[Verdict]) -> list[Verdict]:
    """Advice about settings that no check speaks of already: a variable is judged once, by what knows the machine."""
    said = {(one.subject, name) for one in judged if one.state == "fail" for name in _variables(one)}
    return [one for one in told if not any((one.subject, name) in said for name in _variables(one))]


def _variables(verdict: Verdict) -> list[str]:
    told = [one.value.partition("=") for one in verdict.finding.evidence] if verdict.finding is not None else []
    return [name for name, equals, _ in told if equals and name.isidentifier()]


def advice_names() -> list[str]:
    """Every name that findings of advice have."""
    return [PREFIX + one for one in all_advice()]


def _python(path: str, text: str) -> Advised | None:
    if not worth_reading(text):
        return Advised(path)
    source = read_python(path, text)
    index = index_of(source) if source is not None else None
    if index is None:
        return None
    sheet = sheet_of(path, index)
    try:
        hits = [*hits_in(index), *_of_commands(path, commands_of(index), sheet)]
    except Exception as problem:
        return Advised(path, sheet, [_crashed(path, problem)])
    return Advised(path, sheet, verdicts_of(path, hits), text)


def _of_commands(path: str, commands: list[tuple[int, str]], sheet: Sheet) -> list[Hit]:
    """What the commands and settings of a Python file follow, read as a script with each on its own line."""
    rows: dict[int, list[str]] = {}
    for number, told in commands:
        if "<<" not in told:
            rows.setdefault(number, []).append("; ".join(told[:_MAX_COMMAND].split("\n")))
    for one in sheet.settings:
        if one.value is not None and OPEN not in one.value and "'" not in one.value and "\n" not in one.value:
            rows.setdefault(one.line, []).append(f"export {one.name}='{one.value}'")
    if not rows or max(rows) > 500_000:
        return []
    lines = [""] * max(rows)
    for number, parts in rows.items():
        lines[number - 1] = "; ".join(parts)
    return hits_of_file(f"{path}.sh", "\n".join(lines) + "\n")


def _crashed(path: str, problem: Exception) -> Verdict:
    return Verdict("advice", Subject("file", name=path), "crashed", why=f"{type(problem).__name__}: {problem}")
