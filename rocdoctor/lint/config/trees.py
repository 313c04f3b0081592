"""YAML, JSON and TOML texts as trees whose values know their lines: what is matched on keys, not on text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from rocdoctor.lint.config.manifests import documents
from rocdoctor.model.lazy_re import regex

MAX_TEXT = 1_000_000
_MAX_NODES, _MAX_DEPTH = 100_000, 60
_TABLE = regex(r"\[\[?\s{0,60}([^\[\]]{1,300}?)\s{0,60}\]\]?\Z")
_KEY = regex(r"""["']?([A-Za-z0-9_.\-]{1,200})["']?\s*=\s*(?!\s)(.*)\Z""", re.S)
_MARK = regex(r"[\"'#\]]")


@dataclass(slots=True)
class Tree:
    """A value of a text: a mapping, a list, or a scalar as it is written (without its quotes), and its line."""

    line: int
    mapping: dict[str, Tree] = field(default_factory=dict)
    items: list[Tree] = field(default_factory=list)
    text: str | None = None

    def get(self, *keys: str) -> Tree:
        """What lies below these keys; an empty tree when one is missing."""
        found = self
        for key in keys:
            following = found.mapping.get(key)
            if following is None:
                return Tree(found.line)
            found = following
        return found

    def words(self) -> list[tuple[str, int]]:
        """The texts of a list, or the text of a scalar, with their lines."""
        told = [self, *self.items]
        return [(one.text, one.line) for one in told if one.text is not None]


def walk(tree: Tree) -> Iterator[tuple[tuple[str, ...], Tree]]:
    """Every value with the keys above it, each once; items of a list have the keys of the list."""
    seen: set[int] = set()
    pending: list[tuple[tuple[str, ...], Tree]] = [((), tree)]
    while pending:
        path, one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield path, one
        below = [((*path, key), value) for key, value in one.mapping.items()] + [(path, value) for value in one.items]
        pending += reversed(below)


def yaml_trees(text: str) -> list[Tree]:
    """The documents of a YAML or JSON text; none when it is too long or no YAML."""
    if len(text) > MAX_TEXT:
        return []
    # JSON may be indented with tabs, which YAML refuses.
    return [_from_node(node, {}, 0) for node in documents(text.replace("\t", " "))]


def _from_node(node: yaml.Node, known: dict[int, Tree], depth: int) -> Tree:
    # An alias leads to the tree of its anchor, also when that is not finished.
    found = known.get(id(node))
    if found is not None:
        return found
    tree = Tree(node.start_mark.line + 1)
    known[id(node)] = tree
    if depth > _MAX_DEPTH or len(known) > _MAX_NODES:
        return tree
    if isinstance(node, yaml.ScalarNode):
        tree.text = str(node.value)
        # The text of a block begins on the line below its mark.
        tree.line += node.style in ("|", ">")
    elif isinstance(node, yaml.SequenceNode):
        tree.items = [_from_node(one, known, depth + 1) for one in node.value]
    elif isinstance(node, yaml.MappingNode):
        merged = [value for key, value in node.value if isinstance(key, yaml.ScalarNode) and key.value == "<<"]
        for value in merged:
            tree.mapping.update(_from_node(value, known, depth + 1).mapping)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                tree.mapping[str(key.value)] = _from_node(value, known, depth + 1)
    return tree


def toml_tree(text: str) -> Tree:
    """Tables, texts, numbers and lists of texts of a TOML text, as far as requirements and settings need them."""
    root = Tree(1)
    table = root
    lines = text[:MAX_TEXT].split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        header = _TABLE.match(_without_comment(line))
        if header is not None:
            table = _below(root, header[1], at)
            continue
        match = _KEY.match(line)
        if match is None:
            continue
        start, value = at, match[2].strip()
        quotes = next((mark for mark in ('"""', "'''") if value.startswith(mark)), None)
        if quotes is not None:
            while value.count(quotes) < 2 and at < len(lines):
                value, at = quotes + (quotes if quotes in lines[at] else ""), at + 1
            continue
        tree = Tree(start)
        if value.startswith("["):
            at = _list(tree, value[1:], lines, at)
        elif value.startswith("{"):
            for name, told in re.findall(
                r"""([A-Za-z0-9_.\-]{1,100})\s{0,20}=\s{0,20}["']([^"'\n]{0,300})["']""", value
            ):
                tree.mapping[name] = Tree(start, text=told)
        else:
            tree.text = _without_comment(value).strip().strip("\"'")
        parent, _, name = match[1].rpartition(".")
        (_below(table, parent, start) if parent else table).mapping[name] = tree
    return root


def _list(tree: Tree, text: str, lines: list[str], at: int) -> int:
    """Add the texts of a list that begins in a text and may go on in the lines; the place behind it."""
    while True:
        place = 0
        while (match := _MARK.search(text, place)) is not None:
            mark = match[0]
            if mark == "]":
                return at
            if mark == "#":
                break
            stop = text.find(mark, match.end())
            stop = len(text) if stop < 0 else stop
            tree.items.append(Tree(at, text=text[match.end() : stop]))
            place = stop + 1
        if at >= len(lines):
            return at
        text = lines[at].strip()
        at += 1


def _below(tree: Tree, dotted: str, line: int) -> Tree:
    for part in dotted.split(".")[:20]:
        tree = tree.mapping.setdefault(part.strip().strip("\"'"), Tree(line))
    return tree


def _without_comment(text: str) -> str:
    """A line without its comment; a mark inside quotes is none."""
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return text[:at].rstrip()
    return text
