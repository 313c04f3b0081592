"""What a shell script sets: assignments, ``export``, ``unset``, and the options of launchers and containers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import OPEN, UNTOLD, ScriptCommand, Token, tokens_of
from rocdoctor.parsers.shell.options import option_settings, shell_text
from rocdoctor.parsers.shell.settings import Scope, Sheet, ShellSetting, filled, resolved

_ASSIGNMENT = regex(r"([A-Za-z_][A-Za-z0-9_]{0,255})(\+?)=(.*)\Z", re.S)
_MARKED = regex(f"{OPEN}([A-Za-z_][A-Za-z0-9_]*)")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]{0,255}\Z")
_PROFILE = regex(r"(?:bashrc|zshrc|profile|/environment|\.env|profile\.d/.{0,200})\Z")
_REDIRECTS = frozenset(("<", ">", ">>", "<<<", ">&", "<&", "&>", "&>>", ">|"))
_MAX_DEPTH, _MAX_COMMANDS = 200, 50_000
# Commands after which "&&" is a list of steps rather than a condition.
_STEPS = frozenset(
    (
        "export",
        "declare",
        "typeset",
        "unset",
        "setenv",
        "set",
        "cd",
        "source",
        ".",
        "echo",
        "printf",
        "module",
        "mkdir",
        "true",
        ":",
        "eval",
        "ulimit",
        "pip",
        "apt-get",
    )
)
# What sets variables or ends the script itself; what ssh and its like run sets nothing here.
_BUILTINS = frozenset(
    (
        *("export", "declare", "typeset", "local", "readonly", "unset", "unsetenv", "setenv", "set", "exit"),
        *("echo", "printf", "ssh", "pdsh", "clush", "alias"),
    )
)
_WRAPPERS = frozenset(("sudo", "nohup", "time", "exec", "command", "builtin", "nice", "stdbuf", "env", "doas"))


@dataclass(slots=True)
class _Frame:
    kind: str  # if, loop, case, sub, brace
    scope: int
    dead: bool
    condition: tuple[str, ...] = ()
    reading: bool = True  # still in the condition


class _Script:
    def __init__(self, sheet: Sheet, scope: int, depth: int, commands: list[ScriptCommand] | None = None) -> None:
        self.sheet, self.scope, self.depth, self.commands = sheet, scope, depth, commands
        self.piped = False
        self.dead = False
        self.frames: list[_Frame] = []
        self.plain: list[tuple[int, ShellSetting]] = []  # place in the list of settings, for those not exported yet
        self.exported: set[str] = set()
        self.all_exported = False
        self.values: dict[str, tuple[int, str]] = {}
        self.conditional = False
        self.function = False
        self.known_chains: dict[int, tuple[frozenset[int], bool]] = {}

    # -- structure

    def run(self, tokens: list[Token]) -> None:
        words: list[Token] = []
        targets: list[str] = []
        redirect = False
        skip = 0
        for place, token in enumerate(tokens):
            if skip:
                skip += (token.operator and token.text == "(") - (token.operator and token.text == ")")
                continue
            if not token.operator:
                if redirect:
                    targets.append(token.text)
                    redirect = False
                elif not words and token.bare and self._reserved(token.text):
                    pass
                else:
                    words.append(token)
                continue
            if token.text in _REDIRECTS:
                redirect = True
                continue
            redirect = False
            if token.text == "(" and words:
                if words[-1].text.endswith("="):  # an array
                    words.pop()
                    skip = 1
                elif len(words) == 1 and place + 1 < len(tokens) and tokens[place + 1].text == ")":
                    self.function, skip, words = True, 1, []
                continue
            self._finish(words, targets, token.text)
            words, targets = [], []
            self._operator(token.text)
        self._finish(words, targets, "\n")

    def _operator(self, text: str) -> None:
        top = self.frames[-1] if self.frames else None
        if text == "(" and not (top and top.kind == "case" and top.reading):
            self._push("sub")
            self.scope = self._open()
        elif text == ")" and top is not None:
            if top.kind == "sub":
                self._pop()
            elif top.kind == "case" and top.reading:
                top.reading = False
                self.scope = self._open(sure=False)
        elif text in (";;", ";&", ";;&") and top is not None and top.kind == "case":
            top.reading = True
            self.scope, self.dead = top.scope, top.dead

    def _reserved(self, word: str) -> bool:
        top = self.frames[-1] if self.frames else None
        if word in ("if", "while", "until", "for", "select", "case"):
            self._push("loop" if word in ("while", "until", "for", "select") else word)
            return word not in ("for", "select", "case")
        if word in ("then", "do") and top is not None and top.kind in ("if", "loop"):
            top.reading = False
            sure = top.condition in (("true",), (":",))
            self.scope = top.scope if sure else self._open(top.scope, sure=False)
            self.dead = top.dead or (top.condition == ("false",) and word == "then")
            return True
        if word == "elif" and top is not None and top.kind == "if":
            self.scope, self.dead = top.scope, top.dead
            top.condition, top.reading = (), True
            return True
        if word == "else" and top is not None and top.kind == "if":
            self.scope = top.scope if top.condition == ("false",) else self._open(top.scope, sure=False)
            self.dead = top.dead or top.condition in (("true",), (":",))
            return True
        if word == "{":
            self._push("brace")
            if self.function:
                self.scope, self.function = self._open(sure=False), False
            return True
        if word in ("fi", "done", "esac", "}"):
            if top is not None and top.kind == {"fi": "if", "done": "loop", "esac": "case"}.get(word, "brace"):
                self._pop()
            return True
        return word == "!"

    def _push(self, kind: str) -> None:
        if len(self.frames) < _MAX_DEPTH:
            self.frames.append(_Frame(kind, self.scope, self.dead))

    def _pop(self) -> None:
        frame = self.frames.pop()
        self.scope, self.dead = frame.scope, frame.dead

    def _open(self, parent: int | None = None, *, sure: bool = True) -> int:
        return self.sheet.open(self.scope if parent is None else parent, sure=sure)

    def _finish(self, words: list[Token], targets: list[str], operator: str) -> None:
        top = self.frames[-1] if self.frames else None
        if not words and operator == "\n" and not self.frames:
            return
        if words and top is not None and top.kind == "case" and top.reading:
            return  # the patterns, or "case word in"
        if words and words[0].bare and words[0].text in ("for", "select", "function"):
            self.function = self.function or words[0].text == "function"
            return
        if words and top is not None and top.kind in ("if", "loop") and top.reading and not top.condition:
            top.condition = tuple(word.text for word in words)
        scope, dead = self.scope, self.dead
        if self.conditional and words:
            self.scope = self._open(sure=False)
        if words and not dead:
            if self.commands is not None and len(self.commands) < _MAX_COMMANDS:
                self.commands.append(self._told(words, targets, scope))
            self._command(words, targets)
        if words:
            self.piped = operator == "|"
        if not (words and words[0].text == "exit"):
            self.dead = dead
        self.scope = scope
        if words or operator != "\n":
            step = bool(words) and (words[0].text in _STEPS or bool(_ASSIGNMENT.match(words[0].text)))
            self.conditional = (operator == "&&" and (self.conditional or not step)) or operator == "||"

    # -- commands

    def _command(self, words: list[Token], targets: list[str]) -> None:
        prefix: list[tuple[re.Match[str], int]] = []
        at = 0
        wrapped = False
        while at < len(words):
            text = words[at].text
            match = _ASSIGNMENT.match(text)
            if match:
                prefix.append((match, words[at].line))
            elif text in _WRAPPERS or (wrapped and text.startswith("-")):
                wrapped = True
            else:
                break
            at += 1
        rest = words[at:]
        if not rest:
            for match, line in prefix:
                if not wrapped:
                    self._assign(match, line, exported=False)
            return
        head = rest[0].text.rsplit("/", 1)[-1]
        if not self._builtin(head, rest, targets):
            self._program(prefix, rest)

    def _builtin(self, head: str, rest: list[Token], targets: list[str]) -> bool:
        if head not in _BUILTINS:
            return False
        options = "".join(word.text for word in rest[1:] if word.text.startswith("-"))
        names = [word for word in rest[1:] if not word.text.startswith("-")]
        if head in ("export", "declare", "typeset", "local", "readonly"):
            exported = head == "export" or "x" in options
            for word in names:
                match = _ASSIGNMENT.match(word.text)
                if match:
                    self._assign(match, word.line, exported=exported)
                elif exported and _NAME.match(word.text):
                    if "n" in options:
                        self._put(word.text, None, word.line)
                    else:
                        self.exported.add(word.text)
        elif head in ("unset", "unsetenv"):
            for word in names:
                if "f" not in options and _NAME.match(word.text):
                    self._put(word.text, None, word.line)
        elif head == "setenv" or (head == "set" and "x" in options and "e" not in options and len(names) > 1):
            if names and _NAME.match(names[0].text):
                self._put(names[0].text, " ".join(word.text for word in names[1:]), names[0].line)
        elif head == "set":
            if "-a" in options or any(word.text == "allexport" for word in names):
                self.all_exported = True
        elif head == "exit":
            self.dead = True
        elif head in ("echo", "printf") and any(_PROFILE.search(target) for target in targets):
            for word in names:
                self._nested(word, self._open(sure=False))
        return True

    def _program(self, prefix: list[tuple[re.Match[str], int]], rest: list[Token]) -> None:
        if len(rest) < 2 and not prefix:
            return
        fresh, told = option_settings(rest)
        script = shell_text(rest)
        if not prefix and not told and script is None:
            return
        scope = self.sheet.open(self.scope, passing=True)
        outer, self.scope = self.scope, scope
        for match, line in prefix:
            self._assign(match, line, exported=True)
        if fresh:
            self.scope = self.sheet.open(outer, passing=True, fresh=True)
        for name, value, line in told:
            self._put(name, value, line)
        if script is not None:
            self._nested(script, self.scope)
        self.scope = outer

    def _nested(self, word: Token, scope: int) -> None:
        if self.depth < 4:
            read_shell(self.sheet, word.text, word.line, scope, self.depth + 1, self.commands)

    def _told(self, words: list[Token], targets: list[str], scope: int) -> ScriptCommand:
        """The words with the values that hold here; one without quotes falls apart at its blanks."""
        chain, sure = self._chain(scope)
        marked = [text for text in (*[one.text for one in words], *targets) if OPEN in text]
        if not marked:
            return ScriptCommand(tuple(words), tuple(targets), sure, self.piped)
        named = {name for text in marked for name in _MARKED.findall(text)}
        known = {name: self.values[name][1] for name in named if name in self.values and self.values[name][0] in chain}
        found: list[Token] = []
        for word in words:
            text = filled(word.text, known) if OPEN in word.text else word.text
            parts = text.split() if word.bare and text is not word.text else [text]
            found += [Token(part, word.line, bare=word.bare) for part in parts]
        return ScriptCommand(tuple(found), tuple(filled(one, known) for one in targets), sure, self.piped)

    def _chain(self, scope: int) -> tuple[frozenset[int], bool]:
        """The scopes that a scope lies in, and whether it is sure to be reached; neither changes any more."""
        known = self.known_chains.get(scope)
        if known is None:
            chain = self.sheet.chain(scope)
            known = frozenset(chain), all(self.sheet.scopes[level].sure for level in chain)
            self.known_chains[scope] = known
        return known

    # -- values

    def _assign(self, match: re.Match[str], line: int, *, exported: bool) -> None:
        name = match[1]
        value = (UNTOLD if match[2] else "") + match[3]
        if exported or self.all_exported or name in self.exported:
            self.exported.add(name)
            self._put(name, value, line)
        else:
            self._put(name, value, line, plain=True)

    def _put(self, name: str, value: str | None, line: int, *, plain: bool = False) -> None:
        scope = self.scope
        if value is not None and OPEN in value:
            chain, _ = self._chain(scope)
            # Only the names that the value speaks of: scripts may set thousands.
            named = {key: self.values[key] for key in _MARKED.findall(value) if key in self.values}
            known = {key: told for key, (where, told) in named.items() if where in chain}
            value, default = resolved(value, known)
            if default:
                self._keep(ShellSetting(name, UNTOLD, line, scope), plain)
                scope = self.sheet.open(scope, sure=False)
        self.values[name] = (scope, UNTOLD if value is None else value)
        self._keep(ShellSetting(name, value, line, scope), plain)

    def _keep(self, setting: ShellSetting, plain: bool) -> None:
        if plain:
            self.plain.append((len(self.sheet.settings), setting))
        else:
            self.sheet.settings.append(setting)

    def close(self) -> None:
        """Assignments count when their name is exported anywhere in the script."""
        for place, setting in reversed(self.plain):
            if setting.name in self.exported:
                self.sheet.settings.insert(place, setting)


def read_shell(
    sheet: Sheet, text: str, line: int = 1, scope: int = 0, depth: int = 0, commands: list[ScriptCommand] | None = None
) -> None:
    """Add what a shell text sets to a sheet, its first line counted as ``line``, and its commands to a list."""
    script = _Script(sheet, scope, depth, commands)
    script.run(tokens_of(text, line))
    script.close()


@dataclass(frozen=True, slots=True)
class WholeScript:
    """All that a script sets and starts, in the order of its text."""

    settings: tuple[ShellSetting, ...]
    scopes: tuple[Scope, ...]
    commands: tuple[ScriptCommand, ...]


@lru_cache(maxsize=4)
def whole_script(text: str) -> WholeScript:
    """A script as a whole; kept for the next question about it, since settings and advice are read from the same."""
    sheet, commands = Sheet("", "shell"), list[ScriptCommand]()
    read_shell(sheet, text, commands=commands)
    return WholeScript(tuple(sheet.settings), tuple(sheet.scopes), tuple(commands))
