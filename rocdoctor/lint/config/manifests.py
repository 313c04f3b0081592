"""Variables in YAML: compose files, Kubernetes manifests, job files of launchers and continuous integration."""

from __future__ import annotations

import re
from typing import Any

import yaml

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.script import read_shell
from rocdoctor.parsers.shell.settings import Sheet, ShellSetting

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ENV_KEYS = frozenset(("environment", "env", "envs", "env_vars", "env_variables", "environment_variables"))
_SCRIPT_KEYS = frozenset(("command", "args", "run", "script", "setup", "entrypoint", "prerun", "worker_setup_commands"))
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]{0,255}\Z")
_TEMPLATE = regex(r"\{\{[^{}\n]{0,400}\}\}|\{%[^%\n]{0,400}%\}")
_BRACKET = regex(r"[\[\]{}]")
_MAX_NODES, _MAX_DEPTH, _MAX_NESTING = 100_000, 60, 200
_NOTHING = ("#", "---", "...", "%")
_LEADING = regex(rf"(?m)^[ \t?:\-]{{{_MAX_NESTING}}}")


def documents(text: str) -> list[yaml.Node]:
    """The documents of a YAML text as nodes with their lines, templates filled in blindly; none of what is no YAML."""
    if "\n" in text and ("{{" in text or "{%" in text):
        # A template: lines that hold nothing else go, values that it fills in are not told.
        lines = [("" if not _TEMPLATE.sub("", line).strip() else line) for line in text.split("\n")]
        text = _TEMPLATE.sub("$TEMPLATE", "\n".join(lines))
    try:
        if _suspicious(text) and _deep(text):
            return []
        return [one for one in yaml.compose_all(text, Loader=_Loader) if one is not None]
    except (yaml.YAMLError, ValueError, RecursionError):
        return []


def unreadable(text: str) -> bool:
    """Whether a text holds something, and none of it is YAML (or it nests deeper than anybody writes)."""
    held = (_TEMPLATE.sub("", line).strip() for line in text.split("\n"))
    return any(line and not line.startswith(_NOTHING) for line in held) and not documents(text.replace("\t", " "))


def _suspicious(text: str) -> bool:
    """Whether a text could nest deeper than anybody writes: by brackets, or by marks and blanks that begin a line."""
    if _LEADING.search(text) is not None:
        return True
    depth = 0
    for match in _BRACKET.finditer(text):
        depth = depth + 1 if match[0] in "[{" else max(depth - 1, 0)
        if depth > _MAX_NESTING:
            return True
    return False


def _deep(text: str) -> bool:
    # Nodes are composed by recursion in C, which ends the process; events come one by one.
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_NESTING:
            return True
    return False


def read_yaml(sheet: Sheet, text: str) -> None:
    """Add what a YAML text sets; each container or service is a scope of its own. What is no YAML adds nothing."""
    sheet.kind = "kubernetes" if re.search(r"(?m)^apiVersion:", text) else "compose"
    walker = _Walker(sheet)
    for document in documents(text):
        walker.walk(document, 0, 0)


class _Walker:
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.seen: set[int] = set()

    def walk(self, node: yaml.Node, scope: int, depth: int) -> None:
        # An alias leads to a node that was walked already.
        if id(node) in self.seen or depth > _MAX_DEPTH or len(self.seen) > _MAX_NODES:
            return
        self.seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for one in node.value:
                self.walk(one, scope, depth + 1)
            return
        if not isinstance(node, yaml.MappingNode):
            return
        pairs = [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        if any(key in _ENV_KEYS or key in _SCRIPT_KEYS for key, _ in pairs):
            scope = self.sheet.open(scope)
        for key, value in pairs:
            if key in _ENV_KEYS:
                self._environment(value, scope)
        for key, value in pairs:
            if key in _SCRIPT_KEYS:
                self._script(value, scope)
            elif key not in _ENV_KEYS:
                self.walk(value, scope, depth + 1)

    def _environment(self, node: yaml.Node, scope: int) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode):
                    self._put(key.value, value.value, key, scope)
        elif isinstance(node, yaml.SequenceNode):
            for one in node.value:
                if isinstance(one, yaml.ScalarNode):
                    name, equals, value = str(one.value).partition("=")
                    if equals:
                        self._put(name, value, one, scope)
                elif isinstance(one, yaml.MappingNode):
                    told = {key.value: value for key, value in one.value if isinstance(key, yaml.ScalarNode)}
                    key, held = told.get("name"), told.get("value")
                    if isinstance(key, yaml.ScalarNode) and isinstance(held, yaml.ScalarNode):
                        self._put(key.value, held.value, held, scope)

    def _put(self, name: str, value: str, node: yaml.Node, scope: int) -> None:
        if _NAME.match(name) and "$" not in value:
            self.sheet.settings.append(ShellSetting(name, value, node.start_mark.line + 1, scope))

    def _script(self, node: yaml.Node, scope: int) -> None:
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for one in items[:200]:
            if isinstance(one, yaml.ScalarNode) and isinstance(one.value, str) and "=" in one.value:
                # The text of a block begins on the line below its mark.
                block = one.style in ("|", ">")
                read_shell(self.sheet, one.value, one.start_mark.line + (2 if block else 1), self.sheet.open(scope))
