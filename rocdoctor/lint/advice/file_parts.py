"""A file in the parts that advice is matched on: commands, installs, images, keys, parameters, settings.

What stands in comments, here-documents and arguments of echo is no part of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocdoctor.lint.advice.package_requests import (
    Install,
    conda_install,
    environment_installs,
    pip_install,
    project_installs,
    requirement_file,
)
from rocdoctor.lint.advice.told_commands import ToldCommand, told_command
from rocdoctor.lint.config import containers
from rocdoctor.lint.config.toml_text import toml_tree
from rocdoctor.lint.config.trees import Tree, walk, yaml_trees
from rocdoctor.lint.env_files import instructions, kind_of, read_sheet
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import OPEN, ScriptCommand, Token, tokens_of
from rocdoctor.parsers.shell.script import read_shell, whole_script
from rocdoctor.parsers.shell.settings import Sheet, ShellSetting, filled

_REQUIREMENTS = regex(r"(?:.*[-_.])?(?:requirements?|constraints?|reqs?)(?:[-_.].*)?\.(?:txt|in)\Z")
_OPTIONS = regex(r"\s{0,20}options\s+([a-z0-9_\-]{1,60})\s+(?!\s)(.*)\Z", re.I)
_PARAMETER = regex(r"([a-z0-9_\-]{1,60})\.([a-z0-9_\-]{1,80})=(\S{1,200})\Z", re.I)
_SBATCH = regex(r"#SBATCH\s+(--?[A-Za-z\-]+)(?:[= ]\s*)?(\S*)")
_EXEC = regex(r"\s{0,20}Exec\w{1,20}=[-@:+!]{0,3}(.*)\Z")
_INSTRUCTION = regex(r"\s{0,20}(FROM|ARG|ENV|RUN|CMD|ENTRYPOINT|COPY)\s+(?!\s)(.*)\Z", re.S | re.I)
_FLAGS = regex(r"\A(?:--[a-z]{1,20}=\S+\s+)*")
_HEREDOC = regex(r"<<-?\s?[\"']?([A-Za-z_]\w{0,60})[\"']?")
_RUNS_SHELL = frozenset(("run", "script", "setup", "prerun", "before_script", "after_script", "worker_setup_commands"))


@dataclass(frozen=True, slots=True)
class Image:
    """A container image that is named: repository without its registry, and tag ("" when none is given)."""

    repository: str
    tag: str
    line: int
    stage: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel or module parameter."""

    module: str
    name: str
    value: str
    line: int


@dataclass(slots=True)
class Parts:
    """What a file tells, in the order of its text. ``batch``: options of #SBATCH lines with their lines."""

    path: str
    kind: str
    commands: list[ScriptCommand] = field(default_factory=list)
    installs: list[Install] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    settings: list[ShellSetting] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)
    containers: list[containers.ManifestContainer] = field(default_factory=list)
    batch: dict[str, tuple[str, int]] = field(default_factory=dict)
    stages: dict[int, int] = field(default_factory=dict)  # stage of a Dockerfile: the number of the one below it
    places: list[int] = field(default_factory=list)  # for each command the stage
    own_index: bool = False  # variables tell pip or uv where to look
    told_so_far: list[ToldCommand] = field(default_factory=list)

    def told(self) -> list[ToldCommand]:
        """The commands with what each tells, made once for all rules."""
        self.told_so_far += map(told_command, self.commands[len(self.told_so_far) :])
        return self.told_so_far


def parts_kind(path: str, text: str) -> str | None:
    """The kind of a file that advice is looked for in; None for all others."""
    whole = path.replace("\\", "/").lower()
    name = whole.rsplit("/", 1)[-1]
    if _REQUIREMENTS.match(name):
        return "requirements"
    if name == "pyproject.toml" or name.endswith(".toml"):
        return "toml"
    if name.endswith(".json"):
        return "json"
    if "modprobe.d" in whole and name.endswith(".conf"):
        return "modprobe"
    if name == "grub" or ("grub.d/" in whole and name.endswith(".cfg")):
        return "grub"
    if name == "cmdline" and "kernel" in whole:
        return "cmdline"
    return kind_of(path, text)


def read_parts(path: str, text: str) -> Parts | None:
    """The parts of a file, or None when it is of no kind that is read."""
    kind = parts_kind(path, text)
    if kind is None:
        return None
    text = text.replace("\r\n", "\n")
    parts = Parts(path, kind)
    if kind in ("shell", "slurm", "grub"):
        _shell(parts, text)
    elif kind == "dockerfile":
        _dockerfile(parts, text)
    elif kind in ("yaml", "json"):
        _yaml(parts, text)
    elif kind == "toml":
        parts.trees = [toml_tree(text)]
        parts.installs = project_installs(parts.trees[0])
    elif kind == "requirements":
        parts.installs = [requirement_file(text)]
    elif kind == "unit":
        _units(parts, text)
    elif kind in ("modprobe", "cmdline"):
        _parameters(parts, text)
    sheet = read_sheet(path, text) if kind in ("dockerfile", "yaml", "env", "unit") else None
    if sheet is not None:
        parts.settings, parts.kind = sheet.settings, sheet.kind
    for place, told in enumerate(parts.told()):
        words = told.words
        stage = parts.places[place] if place < len(parts.places) else 0
        install = pip_install(words, stage) or conda_install(words)
        if install is not None:
            parts.installs.append(install)
    return parts


def image_of(text: str, line: int, stage: int = 0) -> Image | None:
    """An image as its parts; None when the file does not tell its name."""
    text = text.removeprefix("docker://").partition("@")[0].strip()
    first, slash, rest = text.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        text = rest
    repository, _, tag = text.partition(":")
    if not repository or OPEN in repository or "$" in repository or "{" in repository:
        return None
    return Image(repository.lower(), "" if OPEN in tag or "$" in tag else tag, line, stage)


def _shell(parts: Parts, text: str) -> None:
    script = whole_script(text)
    parts.commands += script.commands
    parts.settings = list(script.settings)
    parts.own_index = any(_own_index(one.name) for one in script.settings)
    for number, line in enumerate(text.split("\n")[:20_000], 1):
        match = _SBATCH.match(line)
        if match is not None:
            parts.batch.setdefault(match[1], (match[2], number))
    if parts.kind == "grub":
        for one in parts.commands:
            for word in one.words:
                name, equals, value = word.text.partition("=")
                if equals and name.startswith("GRUB_CMDLINE_LINUX"):
                    parts.parameters += _of_line(value, word.line)
    _container_commands(parts)


def _own_index(name: str) -> bool:
    return name.startswith(("PIP_", "UV_")) and name.endswith(("INDEX", "_URL", "_LINKS", "CONFIG_FILE", "BACKEND"))


def _of_line(text: str, line: int) -> Iterator[Parameter]:
    for word in text.split():
        match = _PARAMETER.match(word)
        if match is not None:
            yield Parameter(match[1].replace("-", "_"), match[2], match[3], line)


def _parameters(parts: Parts, text: str) -> None:
    for number, line in enumerate(text.split("\n")[:20_000], 1):
        if line.lstrip().startswith("#"):
            continue
        match = _OPTIONS.match(line)
        words = match[2].partition("#")[0].split() if match else ()
        for word in words:
            name, equals, value = word.partition("=")
            if equals and match is not None:
                parts.parameters.append(Parameter(match[1].replace("-", "_"), name, value, number))
        if parts.kind == "cmdline":
            parts.parameters += _of_line(line, number)


def _units(parts: Parts, text: str) -> None:
    for number, line in enumerate(text.split("\n")[:20_000], 1):
        match = _EXEC.match(line)
        if match is not None:
            read_shell(Sheet(parts.path, parts.kind), match[1], number, commands=parts.commands)
    _container_commands(parts)


def _yaml(parts: Parts, text: str) -> None:
    parts.trees = yaml_trees(text)
    for tree in parts.trees:
        for path, one in walk(tree):
            if path and path[-1] in _RUNS_SHELL and parts.kind == "yaml":
                for script, line in one.words():
                    read_shell(Sheet(parts.path, parts.kind), script, line, commands=parts.commands)
        if parts.kind == "yaml":
            parts.containers += containers.containers_of(tree)
        if tree.get("dependencies").items and ("channels" in tree.mapping or "name" in tree.mapping):
            parts.installs += environment_installs(tree)
    for box in parts.containers:
        parts.commands += box.commands
        image = image_of(box.image, box.image_line)
        if image is not None:
            parts.images.append(image)
    _container_commands(parts)


def _container_commands(parts: Parts) -> None:
    for told in parts.told():
        box = containers.started(told.words)
        image = image_of(box.image, box.image_line) if box is not None else None
        if box is not None and image is not None:
            parts.images.append(image)
            parts.containers.append(box)


def _dockerfile(parts: Parts, text: str) -> None:
    known: dict[str, str] = {}
    names: dict[str, int] = {}
    stage = 0
    awaited = ""
    script: list[str] = []
    runs = False
    start = 0
    for number, line in instructions(text):
        if awaited:
            if line.strip() == awaited:
                awaited = ""
                if runs:
                    _add(parts, "\n".join(script), start, stage, known)
            else:
                script += [""] * (number - start - len(script)) + line.split("\n")
            continue
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        word, rest = match[1].upper(), match[2]
        if word == "FROM":
            stage = _from(parts, rest, number, names, known)
        elif word in ("ARG", "ENV"):
            for token in tokens_of(rest, number):
                name, equals, value = token.text.partition("=")
                if equals and not token.operator:
                    known[name] = filled(value, known)
                parts.own_index = parts.own_index or _own_index(name)
        else:
            heredoc = _HEREDOC.search(rest) if word in ("RUN", "COPY") else None
            if heredoc is not None:
                awaited, script, runs, start = heredoc[1], [], word == "RUN", number + 1
            elif word != "COPY":
                _add(parts, _FLAGS.sub("", rest, count=1), number, stage, known)


def _from(parts: Parts, rest: str, number: int, names: dict[str, int], known: dict[str, str]) -> int:
    words = [token for token in tokens_of(rest, number) if not token.text.startswith("--")]
    stage = len(parts.stages) + 1
    base = filled(words[0].text, known) if words else ""
    parts.stages[stage] = names.get(base.lower(), 0)
    if len(words) > 2 and words[1].text.upper() == "AS":
        names[words[2].text.lower()] = stage
    image = image_of(base, number, stage) if not parts.stages[stage] else None
    if image is not None:
        parts.images.append(image)
    return stage


def _add(parts: Parts, text: str, line: int, stage: int, known: dict[str, str]) -> None:
    found: list[ScriptCommand] = []
    if text.lstrip().startswith("["):
        rows = yaml_trees(text.replace("\\\n", " "))
        found = containers.exec_commands([Token(word, line) for tree in rows for word, _ in tree.words()])
    else:
        read_shell(Sheet(parts.path, "dockerfile"), text, line, commands=found)
    for one in found:
        words = tuple(
            Token(filled(word.text, known), word.line, bare=word.bare) if OPEN in word.text else word
            for word in one.words
        )
        parts.commands.append(ScriptCommand(words, one.targets, one.sure, one.piped))
        parts.places.append(stage)
