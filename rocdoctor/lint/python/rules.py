"""Rules of ``advice_python.yaml`` held against the index of a Python file.

``match.python`` is one alternative or a list of them. An alternative looks for one of

- ``call``: full names of functions, ``method``: names of methods of any object
- ``uses``: full names used or imported from their module, ``import``: modules (and what lies in them)
- ``text``: an expression searched in texts that are no comments, ``keys``: an expression for keys of a dictionary
  (``at_least`` of them, 1)
- ``find``: a predicate of ``python_predicates`` by its name, with the alternative's other keys as its options

and narrows it by

- ``with``: arguments that must be given, each with ``name`` and ``position``, and one of ``matches`` (expression for
  the whole text), ``code`` (expression searched in the code), ``names`` (full names), ``is`` (true, false, null),
  ``at_least`` and ``at_most`` (numbers), ``kind`` (dict, text, lambda, call); ``without``: arguments that are surely
  not given; ``fewer_than``: number of arguments
- ``has``: identifiers that the file holds, each of them, ``has_any``: one of them, ``lacks``: none of them;
  ``lacks_text``: an expression that the file does not hold; ``calls``: full names, one of which the file calls

``possible: true`` makes the finding a possible one. What a test for a release guards is left out unless the rule says
``guarded: true``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.knowledge.messages.advice import Advice, advice_for
from rocdoctor.lint.advice.findings import Hit
from rocdoctor.lint.python.file_index import CodePlace, FileIndex, build
from rocdoctor.lint.python.predicates import PREDICATES
from rocdoctor.lint.python.source import SourceCode
from rocdoctor.lint.python.values import UNTOLD, argument, constant, known, shown, text

Rule = Mapping[str, Any]
_KINDS: Mapping[str, tuple[type, ...]] = {
    "dict": (ast.Dict,),
    "text": (ast.Constant, ast.JoinedStr),
    "lambda": (ast.Lambda,),
    "call": (ast.Call,),
}
_MAX_HITS = 20


def index_of(source: SourceCode) -> FileIndex | None:
    """The index of a file with the public names that the table tells."""
    same = load_table("advice_python").get("same_names") or {}
    return build(source, tuple(same.items()))


def hits_in(index: FileIndex, advice: Iterable[Advice] | None = None) -> list[Hit]:
    """What a file follows, by line; at most 20 places for each piece of advice."""
    found: list[Hit] = []
    for one in advice_for("python") if advice is None else advice:
        rules = one.match["python"]
        for rule in rules if isinstance(rules, list) else [rules]:
            possible = bool(rule.get("possible"))
            for number, (place, value) in enumerate(_matches(index, rule)):
                if number >= _MAX_HITS:
                    break
                found.append(Hit(one, index.source.line(place.line), value, possible))
    return sorted(found, key=lambda hit: (hit.line, hit.advice.id, hit.possible))


def _matches(index: FileIndex, rule: Rule) -> Iterator[tuple[CodePlace, str]]:
    if not _file_fits(index, rule):
        return
    for place, value in _candidates(index, rule):
        if place.block.guarded and not rule.get("guarded"):
            continue
        if isinstance(place.node, ast.Call):
            seen = _arguments(index, place, rule)
            if seen is not None:
                yield place, seen or value
        else:
            yield place, value


def _file_fits(index: FileIndex, rule: Rule) -> bool:
    if not index.words.issuperset(words(rule.get("has"))) or not index.words.isdisjoint(words(rule.get("lacks"))):
        return False
    if "has_any" in rule and index.words.isdisjoint(rule["has_any"]):
        return False
    if "calls" in rule and not any(name in index.by_name for name in words(rule["calls"])):
        return False
    return "lacks_text" not in rule or re.search(rule["lacks_text"], index.source.text) is None


def _candidates(index: FileIndex, rule: Rule) -> Iterator[tuple[CodePlace, str]]:
    for name in words(rule.get("call")):
        yield from ((one, name) for one in index.by_name.get(name, []))
    for name in words(rule.get("method")):
        yield from ((one, name) for one in index.by_method.get(name, []))
    if "uses" in rule:
        yield from _uses(index, words(rule["uses"]))
    for name in words(rule.get("import")):
        below = name + "."
        yield from ((one, name) for one in index.imports if one.name == name or one.name.startswith(below))
    if "text" in rule:
        pattern = re.compile(rule["text"])
        for one in index.texts:
            value = constant(one.node) if isinstance(one.node, ast.Constant) else None
            match = pattern.search(value[:4000]) if isinstance(value, str) else None
            if match is not None:
                yield one, match[0]
    if "keys" in rule:
        yield from _dicts(index, rule)
    if "find" in rule:
        yield from PREDICATES[rule["find"]](index, rule)


def _uses(index: FileIndex, names: Sequence[str]) -> Iterator[tuple[CodePlace, str]]:
    """Chains that begin with the name, and imports of it; a name that was imported is not told twice."""
    below = tuple(name + "." for name in names)
    for one in index.imports:
        if isinstance(one.node, ast.ImportFrom) and one.name in names:
            yield one, one.name
    for one in index.uses:
        if isinstance(one.node, ast.Attribute) and (one.name in names or one.name.startswith(below)):
            yield one, one.name


def _dicts(index: FileIndex, rule: Rule) -> Iterator[tuple[CodePlace, str]]:
    pattern = re.compile(rule["keys"])
    for one in index.dicts:
        assert isinstance(one.node, ast.Dict)
        keys = [key for node in one.node.keys[:2000] if isinstance(key := constant(node), str)]
        seen = [key for key in keys if pattern.fullmatch(key)]
        if len(seen) >= rule.get("at_least", 1):
            yield one, ", ".join(seen)


def _arguments(index: FileIndex, place: CodePlace, rule: Rule) -> str | None:
    """The value of the last argument that a rule names; None when the call does not fit, "" when none is named."""
    call = place.node
    assert isinstance(call, ast.Call)
    value = ""
    for wanted in rule.get("with", ()):
        node = argument(index, call, place.block, wanted["name"], wanted.get("position"))
        if isinstance(node, str) or not _fits(index, node, place, wanted):
            return None
        value = shown(index.value(node, place.block))
    if any(argument(index, call, place.block, name, None) != "absent" for name in words(rule.get("without"))):
        return None
    if "fewer_than" in rule:
        spread = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
        if spread or len(call.args) + len(call.keywords) >= rule["fewer_than"]:
            return None
    return value


def _fits(index: FileIndex, node: ast.expr, place: CodePlace, wanted: Rule) -> bool:
    if "matches" in wanted:
        words_of = text(index, node, place.block)
        return words_of is not None and UNTOLD not in words_of and re.fullmatch(wanted["matches"], words_of) is not None
    if "names" in wanted:
        return index.dotted(index.value(node, place.block), place.block) in words(wanted["names"])
    value = known(index, node, place.block)
    if "is" in wanted:
        return value is wanted["is"]
    if "code" in wanted:
        return re.search(wanted["code"], shown(node)) is not None
    if "kind" in wanted:
        told = index.value(node, place.block)
        plain = not isinstance(told, ast.Constant) or isinstance(value, str)
        return plain and isinstance(told, _KINDS[wanted["kind"]])
    if "at_least" in wanted or "at_most" in wanted:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return bool(wanted.get("at_least", value) <= value <= wanted.get("at_most", value))
    return True
