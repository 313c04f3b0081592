"""Files that set environment variables: which kind each is, and its settings."""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.lint.config.manifests import read_yaml
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import OPEN, tokens_of
from rocdoctor.parsers.shell.script import whole_script
from rocdoctor.parsers.shell.settings import Sheet, ShellSetting, resolved
from rocdoctor.paste.env_settings import is_known

KINDS = ("shell", "slurm", "dockerfile", "yaml", "env", "unit")
_SHEBANG = regex(r"#!.{0,60}\b(?:ba|z|k|da|fi|c|tc)?sh\b")
_ENV_LINE = regex(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]{0,255})=(.*)\Z")
_SLURM = regex(r"(?m)^#SBATCH\s")
_EXPORT = regex(r"#SBATCH\s+--export[= ](\S+)")
_DOCKER = regex(r"(?i)\s{0,20}(FROM|ENV)\s+(?!\s)(.*)\Z", re.S)
_STAGE = regex(r"(?i)(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?")
_UNIT = regex(r"\s*Environment=(.*)\Z")
_OTHER = regex(
    r"\.(?:py|pyc|c|cc|cpp|h|hpp|cu|hip|md|rst|txt|html?|js|ts|json|toml|ipynb|pl|rb|go|rs|java|cmake|png|jpg|gz|so)\Z",
    re.IGNORECASE,
)
# What batch systems set tells who starts the job; other names below unknown prefixes matter to no check.
_JOBS = (
    "SLURM_",
    "PBS_",
    "LSB_",
    "FLUX_",
    "OAR_",
    "COBALT_",
    "SGE_",
    "RAY_",
    "PMI_",
    "PMIX_",
    "OMPI_",
    "GOMP_",
    "NNODES",
    "GROUP_",
)
MAX_LINES = 200_000


def kind_of(path: str, text: str) -> str | None:
    """The kind of a file by its name, else by its content; None where it is none that sets variables."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    low = name.lower()
    if re.match(r"(?:dockerfile|containerfile)(?:[.-]|\Z)", low) or low.endswith((".dockerfile", ".containerfile")):
        return "dockerfile"
    if low.endswith((".yaml", ".yml")):
        return "yaml"
    if low.endswith((".service", ".conf")) and re.search(r"(?m)^\s{0,20}Environment=", text) is not None:
        return "unit"
    if (re.search(r"(?:\A|\.)env(?:\.|\Z)", low) and not _OTHER.search(low)) or name == "environment":
        return "env" if not _SHEBANG.match(text) else "shell"
    if _SLURM.search(text[:65536]):
        return "slurm"
    if _SHEBANG.match(text) or low.endswith((".sh", ".bash", ".zsh", ".fish", ".csh", ".ksh", ".sbatch", ".slurm")):
        return "shell"
    if "bashrc" in low or "profile" in low or low in (".zshrc", ".zshenv", "zshenv", "zshrc", ".bash_login"):
        return "shell"
    if _OTHER.search(low) or text.startswith("#!"):
        return None
    return _by_content(text)


def _by_content(text: str) -> str | None:
    lines = [line.strip() for line in text[:65536].splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return None
    exports = any(re.match(r"(?:export|setenv)\s+[A-Za-z_]+[= ]", line) for line in lines)
    if not exports and all(_ENV_LINE.match(line) for line in lines):
        return "env"
    if re.match(r"(?i)FROM\s+\S", lines[0]):
        return "dockerfile"
    if exports:
        return "shell"
    return None


def read_sheet(path: str, text: str) -> Sheet | None:
    """What a file sets, or None when it is no kind that sets variables."""
    kind = kind_of(path, text)
    if kind is None:
        return None
    sheet = Sheet(path, kind)
    _READERS[kind](sheet, text.replace("\r\n", "\n"))
    sheet.settings = [one for one in sheet.settings if is_known(one.name) or one.name.startswith(_JOBS)]
    return sheet


def _shell(sheet: Sheet, text: str) -> None:
    script = whole_script(text)
    sheet.settings += script.settings
    sheet.scopes = list(script.scopes)


def _slurm(sheet: Sheet, text: str) -> None:
    for number, line in enumerate(text.split("\n")[:MAX_LINES], 1):
        match = _EXPORT.match(line)
        for part in match[1].split(",") if match else ():
            name, equals, value = part.partition("=")
            if equals:
                sheet.settings.append(ShellSetting(name, value, number))
    _shell(sheet, text)


def _env(sheet: Sheet, text: str) -> None:
    for number, line in enumerate(text.split("\n")[:MAX_LINES], 1):
        match = _ENV_LINE.match(line.strip())
        if match is None:
            continue
        words = tokens_of(line.strip(), number)
        if words and words[0].text == "export":
            words = words[1:]
        value = words[0].text.partition("=")[2] if words else ""
        sheet.settings.append(ShellSetting(match[1], resolved(value, {})[0], number))


def _unit(sheet: Sheet, text: str) -> None:
    for number, line in enumerate(text.split("\n")[:MAX_LINES], 1):
        match = _UNIT.match(line)
        for token in tokens_of(match[1], number) if match else ():
            name, equals, value = token.text.partition("=")
            if equals and not token.operator:
                sheet.settings.append(ShellSetting(name, value, number))


def _dockerfile(sheet: Sheet, text: str) -> None:
    """ENV of the last stage and of the stages that it is built on."""
    stages: dict[str, list[ShellSetting]] = {}
    stage: list[ShellSetting] = []
    known: dict[str, str] = {}
    for number, line in instructions(text):
        match = _DOCKER.match(line)
        if match is None:
            continue
        if match[1].upper() == "FROM":
            base = _STAGE.match(match[2])
            stage = list(stages.get(base[1].lower(), [])) if base else []
            known = {one.name: one.value or "" for one in stage}
            if base and base[2]:
                stages[base[2].lower()] = stage
            continue
        for name, value, at in _env_words(match[2], number):
            told = resolved(value, known)[0]
            known[name] = told
            stage.append(ShellSetting(name, told, at))
    sheet.settings += stage


def _env_words(rest: str, number: int) -> list[tuple[str, str, int]]:
    words = [token for token in tokens_of(rest, number) if not token.operator]
    if words and "=" not in words[0].text:
        return [(words[0].text, " ".join(word.text for word in words[1:]), number)] if OPEN not in words[0].text else []
    pairs = [(*word.text.partition("="), word.line) for word in words]
    return [(name, value, line) for name, equals, value, line in pairs if equals and name.isidentifier()]


def instructions(text: str) -> list[tuple[int, str]]:
    """Instructions with the numbers of their first lines; continued lines stay apart by line ends."""
    found: list[tuple[int, str]] = []
    pending: list[str] = []
    start = 0
    for number, line in enumerate(text.split("\n")[:MAX_LINES], 1):
        if line.lstrip().startswith("#"):
            if pending:
                pending.append("\\\n")
            continue
        if not pending:
            start = number
        stripped = line.rstrip()
        if stripped.endswith("\\"):
            pending.append(stripped + "\n")
            continue
        found.append((start, "".join([*pending, line])))
        pending = []
    if pending:
        found.append((start, "".join(pending)))
    return found


_READERS: dict[str, Callable[[Sheet, str], None]] = {
    "shell": _shell,
    "slurm": _slurm,
    "dockerfile": _dockerfile,
    "env": _env,
    "unit": _unit,
    "yaml": read_yaml,
}
