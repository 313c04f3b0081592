"""What commands and requirement files ask package managers for: names, versions, indexes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocdoctor.lint.config.trees import Tree, walk
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import OPEN, Token

_SPEC = regex(r"([A-Za-z0-9][A-Za-z0-9._\-]{0,100})\s{0,20}(?:\[[^\]]{0,200}\])?\s{0,20}(.*)\Z", re.S)
_OPERATOR = regex(r"(?:[=<>!~]=?=?|@)")
_PIP = regex(r"pip(?:\d+(?:\.\d+)?)?\Z")
_PYTHON = regex(r"(?:python|pypy)(?:\d+(?:\.\d+)?)?\Z")
_WITH_VALUE = frozenset(
    (
        "-r",
        "--requirement",
        "-c",
        "--constraint",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-t",
        "--target",
        "--prefix",
        "--root",
        "--python",
        "-p",
        "-e",
        "--editable",
        "--no-binary",
        "--only-binary",
        "--platform",
        "--trusted-host",
        "--cache-dir",
        "--timeout",
        "--retries",
        "--progress-bar",
        "--index-strategy",
        "--torch-backend",
        "-C",
        "--config-settings",
        "--config-setting",
        "--global-option",
        "--install-option",
        "--upgrade-strategy",
        "--abi",
        "--implementation",
        "--python-version",
        "--extra",
        "--group",
        "--index",
        "--default-index",
        "--proxy",
        "--log",
        "--no-build-isolation-package",
        "--override",
        "--prerelease",
        "--resolution",
        "--exclude-newer",
        "--link-mode",
        "--root-user-action",
        "--src",
        "-P",
        "--upgrade-package",
        "--reinstall-package",
        "--optional",
        "--package",
        "-o",
    )
)
_INDEXES = {
    "-i": False,
    "--index-url": False,
    "--default-index": False,
    "--extra-index-url": True,
    "--index": True,
    "-f": True,
    "--find-links": True,
}
_SYSTEM = frozenset(("apt", "apt-get", "aptitude", "yum", "dnf", "microdnf", "zypper", "tdnf"))


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that is asked for: its name in lower case with "-", the version limits as written, and the line."""

    name: str
    limits: str
    line: int


@dataclass(frozen=True, slots=True)
class Install:
    """One command or one requirement file. ``indexes``: each with whether it only adds to the usual one.

    ``how``: pip, uv, conda, list (a requirement file). ``options``: the words of the command that are options.
    """

    requirements: tuple[Requirement, ...]
    indexes: tuple[tuple[str, bool], ...]
    line: int
    how: str
    options: tuple[str, ...] = ()
    stage: int = 0


def requirement(text: str, line: int) -> Requirement | None:
    """A requirement as pip reads it; None for paths, links and anything else."""
    text = text.partition(";")[0].partition(" #")[0].strip()
    match = _SPEC.match(text)
    if match is None or OPEN in match[1] or "://" in text.partition("@")[0] or text.startswith((".", "/", "-")):
        return None
    rest = match[2].strip()
    if rest and _OPERATOR.match(rest) is None:
        return None
    if match[1].lower().endswith((".whl", ".txt", ".zip", ".gz")):
        return None
    return Requirement(re.sub(r"[-_.]+", "-", match[1]).lower(), rest.replace(" ", ""), line)


def pip_install(words: Sequence[Token], stage: int = 0) -> Install | None:
    """What a pip or uv command installs, or None when it is no such command."""
    names = [word.text.rsplit("/", 1)[-1] for word in words[:6]]
    at = next((place for place, name in enumerate(names) if _PIP.match(name) or name == "uv"), None)
    if at is None or at + 1 >= len(words) or (at > 0 and names[at - 1] == "-m" and at < 2):
        return None
    if at > 0 and not (names[at - 1] == "-m" and _PYTHON.match(names[at - 2]) is not None):
        return None
    how = "uv" if names[at] == "uv" else "pip"
    at += 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 1
    if how == "uv" and at < len(words) and words[at].text == "pip":
        at += 1
    if at >= len(words) or words[at].text not in (("install", "add") if how == "uv" else ("install", "download")):
        return None
    return _arguments(words[at + 1 :], how, words[0].line, stage)


def _arguments(words: Sequence[Token], how: str, line: int, stage: int) -> Install:
    wanted: list[Requirement] = []
    indexes: list[tuple[str, bool]] = []
    options: list[str] = []
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
            continue
        name, equals, value = word.text.partition("=")
        if word.text.startswith("-"):
            options.append(name)
            if not equals and name in _WITH_VALUE and place + 1 < len(words):
                value, skip = words[place + 1].text, True
            if name in _INDEXES and value:
                indexes.append((value, _INDEXES[name]))
            continue
        one = requirement(word.text, word.line)
        if one is not None:
            wanted.append(one)
    return Install(tuple(wanted), tuple(indexes), line, how, tuple(options), stage)


def conda_install(words: Sequence[Token]) -> Install | None:
    """What a conda or mamba command installs."""
    texts = [word.text for word in words[:3]]
    if not texts or texts[0].rsplit("/", 1)[-1] not in ("conda", "mamba", "micromamba") or "install" not in texts[1:]:
        return None
    found = [requirement(word.text, word.line) for word in words[2:] if not word.text.startswith("-")]
    return Install(tuple(one for one in found if one is not None), (), words[0].line, "conda")


def system_packages(words: Sequence[Token]) -> list[tuple[str, int]]:
    """The packages of an install command of the distribution, with their lines."""
    if not words or words[0].text.rsplit("/", 1)[-1] not in _SYSTEM:
        return []
    at = next((place for place, word in enumerate(words) if word.text in ("install", "in", "reinstall")), None)
    return [(word.text, word.line) for word in words[at + 1 :] if not word.text.startswith("-")] if at else []


def requirement_file(text: str) -> Install:
    """A requirement file of pip."""
    wanted: list[Requirement] = []
    indexes: list[tuple[str, bool]] = []
    for number, line in enumerate(text.split("\n")[:50_000], 1):
        told = line.strip()
        if told.startswith("-"):
            name, _, value = told.replace("=", " ", 1).partition(" ")
            if name in _INDEXES and value:
                indexes.append((value.split("#")[0].strip(), _INDEXES[name]))
        elif told and not told.startswith("#"):
            one = requirement(told.rstrip("\\").split(" --hash")[0], number)
            if one is not None:
                wanted.append(one)
    return Install(tuple(wanted), tuple(indexes), 1, "list")


def project_installs(tree: Tree) -> list[Install]:
    """The requirements of a pyproject.toml: of the project, its extras and groups, its build, poetry's tables."""
    lists = [tree.get("project", "dependencies"), tree.get("build-system", "requires")]
    for table in (tree.get("project", "optional-dependencies"), tree.get("dependency-groups")):
        lists += table.mapping.values()
    found = [_install(one.words(), "list") for one in lists]
    for path, one in walk(tree.get("tool", "poetry")):
        if path and path[-1].endswith("dependencies"):
            rows = [(f"{name} {_poetry(value)}", value.line) for name, value in one.mapping.items()]
            found.append(_install(rows, "list"))
    tool = tree.get("tool")
    elsewhere = {re.sub(r"[-_.]+", "-", name).lower() for name in tool.get("uv", "sources").mapping}
    # Names that the project takes from a place of its own are no requests to the usual index.
    own = any(tool.get(*keys).items for keys in (("uv", "index"), ("poetry", "source"), ("pdm", "source")))
    indexes = (("of the project", True),) if own else ()
    return [
        replace(one, requirements=tuple(row for row in one.requirements if row.name not in elsewhere), indexes=indexes)
        for one in found
    ]


def _poetry(value: Tree) -> str:
    limits = value.text if value.text is not None else value.get("version").text or ""
    return f"=={limits}" if limits[:1].isdigit() else "" if limits[:1] in ("^", "*") else limits


def environment_installs(tree: Tree) -> list[Install]:
    """The requirements of a conda environment file: those of conda, and those of pip below them."""
    rows = tree.get("dependencies")
    found = [_install([(one.text, one.line) for one in rows.items if one.text is not None], "conda")]
    found += [_pip_rows(one.get("pip")) for one in rows.items if "pip" in one.mapping]
    return found


def _pip_rows(rows: Tree) -> Install:
    texts = {line: text for text, line in rows.words()}
    last = max(texts, default=0)
    return requirement_file("\n".join(texts.get(number, "") for number in range(1, min(last, 50_000) + 1)))


def _install(rows: Sequence[tuple[str, int]], how: str) -> Install:
    found = [requirement(text, line) for text, line in rows]
    return Install(tuple(one for one in found if one is not None), (), rows[0][1] if rows else 1, how)
