"""Shell text as words and operators, with the line of each: what the linter reads scripts with.

POSIX shell and bash as far as assignments need it: quotes, escapes, comments, continued lines, here-documents,
substitutions. Nothing is run. Linear in the length of the text; never raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rocdoctor.model.lazy_re import regex

MAX_TOKENS = 400_000
# Private-use characters around what the shell would fill in: "\ue000NAME\ue001"; "?" for what cannot be told.
OPEN, CLOSE = "\ue000", "\ue001"
UNTOLD = f"{OPEN}?{CLOSE}"
# Signs that mean nothing but themselves, also at the start of a word.
_PLAIN = regex(rf"[^\\'\"$` \t\r#\n;&|()<>{OPEN}{CLOSE}]+")
_OPERATORS = ("<<<", "<<-", "&>>", ";;&", "<<", ">>", "&&", "||", ";;", ";&", ">&", "<&", "&>", ">|")
_SECOND = frozenset("<>&|;")


class Token(NamedTuple):
    """A word (``operator`` False) or an operator; a line end is the operator "\\n". ``bare``: no quotes in it."""

    text: str
    line: int
    operator: bool = False
    bare: bool = True


@dataclass(frozen=True, slots=True)
class ScriptCommand:
    """One command as it would run: its words with what the script tells put in, and the files that it writes to.

    ``sure`` false: in a branch, a loop, a function. ``piped``: it reads what the command before it wrote.
    """

    words: tuple[Token, ...]
    targets: tuple[str, ...]
    sure: bool
    piped: bool


class _Reader:
    def __init__(self, text: str, line: int) -> None:
        self.text, self.at, self.line = text, 0, line
        self.tokens: list[Token] = []
        self.word: list[str] = []
        self.started, self.bare, self.word_line = False, True, line
        self.heredocs: list[tuple[str, bool]] = []
        self.awaiting = ""

    def run(self) -> list[Token]:
        text, end = self.text, len(self.text)
        while self.at < end and len(self.tokens) < MAX_TOKENS:
            char = text[self.at]
            if char == "\\":
                self._escape()
            elif char == "'":
                self._single()
            elif char == '"':
                self._double()
            elif char in "$`":
                self._begin()
                self.word.append(self._expansion())
            elif char in " \t\r":
                if self.started:
                    self._end()
                self.at += 1
            elif char == "#" and not self.started:
                stop = text.find("\n", self.at)
                self.at = end if stop < 0 else stop
            elif char in "\n;&|()<>":
                self._operator(char)
            else:
                if not self.started:
                    self.started, self.bare, self.word_line = True, True, self.line
                plain = _PLAIN.match(text, self.at)
                if plain is not None:
                    self.word.append(plain[0])
                    self.at = plain.end()
                    continue
                self.word.append(char if char not in (OPEN, CLOSE) else "?")
                self.at += 1
        self._end()
        return self.tokens

    def _begin(self) -> None:
        if not self.started:
            self.started, self.bare, self.word_line = True, True, self.line

    def _end(self) -> None:
        if not self.started:
            return
        word = self.word[0] if len(self.word) == 1 else "".join(self.word)
        if self.awaiting:
            self.heredocs.append((word, self.awaiting == "<<-"))
            self.awaiting = ""
        else:
            self.tokens.append(Token(word, self.word_line, False, self.bare))
        self.word, self.started = [], False

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if self.text.startswith("\\\r\n", self.at):
            self.at += 3
            self.line += 1
            return
        if following == "\n":
            self.at += 2
            self.line += 1
            return
        self._begin()
        self.bare = False
        self.word.append(following)
        self.at += 2

    def _single(self) -> None:
        self._begin()
        self.bare = False
        stop = self.text.find("'", self.at + 1)
        stop = len(self.text) if stop < 0 else stop
        part = self.text[self.at + 1 : stop]
        self.word.append(part)
        self.line += part.count("\n")
        self.at = stop + 1

    def _double(self) -> None:
        self._begin()
        self.bare = False
        self.at += 1
        text, end = self.text, len(self.text)
        while self.at < end and text[self.at] != '"':
            char = text[self.at]
            if char == "\\" and text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                if text[self.at + 1] == "\n":
                    self.line += 1
                else:
                    self.word.append(text[self.at + 1])
                self.at += 2
            elif char in "$`":
                self.word.append(self._expansion())
            else:
                self.line += char == "\n"
                self.word.append(char)
                self.at += 1
        self.at += 1

    def _expansion(self) -> str:
        """What stands at a dollar sign or a backtick, as marked text; moves behind it."""
        text, at = self.text, self.at
        if text[at] == "`":
            return self._skip_to("`", at + 1)
        following = text[at + 1 : at + 2]
        if following == "'":  # $'...': escapes that nobody uses in settings
            return self._skip_to("'", at + 2)
        if following == "{":
            return self._braces(at + 2)
        if following == "(":
            self._skip_parentheses(at + 1)
            return UNTOLD
        if following.isalpha() or following == "_":
            stop = at + 1
            while stop < len(text) and (text[stop].isalnum() or text[stop] == "_"):
                stop += 1
            self.at = stop
            return f"{OPEN}{text[at + 1 : stop]}{CLOSE}"
        if following and following in "0123456789@*#?$!-":
            self.at = at + 2
            return UNTOLD
        self.at = at + 1
        return "$"

    def _skip_to(self, mark: str, start: int) -> str:
        stop = self.text.find(mark, start)
        stop = len(self.text) if stop < 0 else stop
        self.line += self.text.count("\n", start, stop)
        self.at = stop + 1
        return UNTOLD

    def _braces(self, start: int) -> str:
        depth, at, text = 1, start, self.text
        while at < len(text) and depth:
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        body = text[start : at - 1] if not depth else text[start:at]
        self.line += body.count("\n")
        self.at = at
        simple = len(body) < 500 and not any(char in body for char in "$`{}'\"\\\n" + OPEN + CLOSE)
        return f"{OPEN}{body}{CLOSE}" if simple and body else UNTOLD

    def _skip_parentheses(self, start: int) -> None:
        depth, at, text = 0, start, self.text
        while at < len(text):
            char = text[at]
            if char == "\\":
                self.line += text[at + 1 : at + 2] == "\n"
                at += 2
                continue
            if char == "'":
                stop = text.find("'", at + 1)
                stop = len(text) if stop < 0 else stop
                self.line += text.count("\n", at, stop)
                at = stop + 1
                continue
            depth += (char == "(") - (char == ")")
            self.line += char == "\n"
            at += 1
            if not depth:
                break
        self.at = at

    def _operator(self, char: str) -> None:
        text = self.text
        if char in "<>" and self.started and "".join(self.word).isdigit():
            self.word, self.started = [], False  # the number of a stream: 2>
        if self.started:
            self._end()
        alone = char in "\n()" or text[self.at + 1 : self.at + 2] not in _SECOND
        operator = char if alone else next((one for one in _OPERATORS if text.startswith(one, self.at)), char)
        self.at += len(operator)
        if operator in ("<<", "<<-"):
            self.awaiting = operator
            return
        self.tokens.append(Token(operator, self.line, True))
        if operator == "\n":
            self.line += 1
            if self.heredocs:
                for delimiter, tabs in self.heredocs:
                    self._skip_heredoc(delimiter, tabs)
                self.heredocs = []

    def _skip_heredoc(self, delimiter: str, tabs: bool) -> None:
        text = self.text
        while self.at < len(text):
            stop = text.find("\n", self.at)
            stop = len(text) if stop < 0 else stop
            line = text[self.at : stop].rstrip("\r")
            self.at = min(stop + 1, len(text))
            self.line += 1
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return


def tokens_of(text: str, line: int = 1) -> list[Token]:
    """The tokens of a shell text whose first line has this number."""
    return list(_tokens(text, line))


@lru_cache(maxsize=4)
def _tokens(text: str, line: int) -> tuple[Token, ...]:
    """Kept for the next question about the same text: settings and advice are read one after the other."""
    return tuple(_Reader(text, line).run())
