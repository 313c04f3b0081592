"""Rules that hold a digit, asked whether they would fit a text with other digits: ``lynx[01-04]``, ``100000:65536``.

What changes nothing in a text changes nothing in one that differs in its digits alone, but for these rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rocdoctor.host.masking.rules import load_tables, pattern_of
from rocdoctor.knowledge.load import kept, knowledge_folder
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

_PARTS = regex(
    r"\\x..|\\u....|\\.|\{\d{1,5}(?:,\d{0,5})?\}|\[\^?\]?(?:\\.|[^\]\\]){0,200}\]|[0-9]|[^\\\[{0-9()]+|.", re.DOTALL
)
_RANGE = regex(r"(?P<e>\\x..|\\u....)|\d-\d|\d")
_NOT = regex(r"\(\?<?!")


@lru_cache(maxsize=1024)
def any_digit(expression: str) -> str:
    """The expression with any digit where it has one; itself where it has none."""
    return "".join(_part(part[0]) for part in _PARTS.finditer(expression))


def _part(part: str) -> str:
    if part.isdigit():
        return "[0-9]"
    if part[0] != "[" or part[1:2] == "^" or "0-9" in part or r"\d" in part:
        return part
    rest = _RANGE.sub(lambda one: one["e"] or "", part[1:-1])
    return part if rest == part[1:-1] else f"[0-9{rest}]"


# With any digit; as it is; what tells whether the rule fits: a "line", a "command" of several, or a whole "text".
Told = tuple[str, str, str]


_KEPT_FORM = 2  # another number where other expressions are made of the same tables


@lru_cache(maxsize=1)
def _expressions() -> tuple[dict[str, list[Told]], list[Told]]:
    """By their words the expressions of rules that treat digits differently; and those of rules without a word.

    From their kept form where that is of these tables.
    """
    path = knowledge_folder() / "masking.yaml"
    status = path.stat()
    found = kept(path, "digits", (_KEPT_FORM, status.st_mtime_ns, status.st_size), made_expressions)
    return found or made_expressions()


def made_expressions() -> tuple[dict[str, list[Told]], list[Told]]:
    """What ``_expressions`` says, made of the tables."""
    tables = load_tables()
    rows: list[tuple[tuple[str, ...], str, str]] = [
        *((rule.literals, rule.expression, "text" if rule.span else "line") for rule in tables.secrets),
        *((one.words, f"(?m:{one.expression})", "command" if one.continued else "line") for one in tables.places),
        *((command.words, re.escape(command.program), "text") for command in tables.commands),
    ]
    found: dict[str, list[Told]] = {}
    for words, expression, reach in rows:
        wide = any_digit(expression)
        told = any(any(map(str.isdigit, word)) for word in words)
        if wide == expression and not told:
            continue
        # Where a digit must not stand, any digit would be too few texts.
        wide = "" if wide != expression and any(map(str.isdigit, "".join(_forbidden(expression)))) else wide
        for word in words or ("",):
            found.setdefault(word, []).append((wide, expression, reach))
    return found, found.pop("", [])


def _forbidden(expression: str) -> Iterator[str]:
    """What an expression says must not stand somewhere, without its classes and numbers of times."""
    for start in _NOT.finditer(expression):
        depth = 1
        for part in _PARTS.finditer(expression, start.end()):
            depth += {"(": 1, ")": -1}.get(part[0], 0)
            if depth <= 0:
                break
            if any_digit(part[0]) != part[0]:
                yield part[0]


@lru_cache(maxsize=1)
def _span_words() -> tuple[tuple[str, str], ...]:
    """The words of rules that reach over line ends, with their digits made equal too."""
    return tuple((word, alike(word)) for word in load_tables().span_literals)


_OF_RULES = ("mlx5", "hfi1", "1pass")  # what expressions outside the tables take for no name


@lru_cache(maxsize=1)
def numbered_words() -> re.Pattern[str]:
    """Words with digits that are no names, where those with other digits may be: ``k8s.io``, ``gdm3``."""
    tables = load_tables()
    known = (tables.common_words, tables.folders, tables.services, tables.public_domains, tables.public_accounts)
    words = {word for one in (*known, tables.system_groups) for word in one if any(map(str.isdigit, word))}
    return re.compile("|".join(map(re.escape, sorted({*words, *_OF_RULES}))), re.IGNORECASE)


def telling_digits(shape: str, command: bool = False) -> tuple[re.Pattern[str], ...] | None:
    """What finds in a line whether its digits tell: the rules that may fit it, by its shape, with some digits.

    () where no rule asks for digits, None where one does of which a line alone does not say whether it fits.
    ``command``: the line is known to be no part of a command that goes on in the next one.
    """
    by_word, always = _expressions()
    tables, low = load_tables(), shape.lower()
    present = [*tables.words_in(low), *(word for word, zeros in _span_words() if zeros in low)]
    told = dict.fromkeys([*always, *(one for word in present for one in by_word.get(word, ()))])
    fitting = [(own, reach) for wide, own, reach in told if pattern_of(wide).search(shape)]
    sure = all(reach == "line" or (command and reach == "command") for _, reach in fitting)
    return tuple(pattern_of(own) for own, _ in fitting) if sure else None


def tells(patterns: tuple[re.Pattern[str], ...], line: str) -> bool:
    """Whether a rule fits a line, as the last one of a text or with its end."""
    return any(one.search(line) or one.search(f"{line}\n") for one in patterns)
