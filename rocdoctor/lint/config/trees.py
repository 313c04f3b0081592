"""Trees whose values know their lines, for what is matched on keys and not on text; those of YAML and JSON texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from rocdoctor.lint.config.manifests import documents

MAX_TEXT = 1_000_000
_MAX_NODES, _MAX_DEPTH = 100_000, 60


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
